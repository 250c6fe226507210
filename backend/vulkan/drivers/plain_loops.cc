#include "backend/vulkan/drivers/plain_loops.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "backend/vulkan/spirv/module.h"

namespace VXLA_NAMESPACE::vulkan::spirv {
namespace {

// The comparison of integers that is true where this one is false.
uint32_t OppositeOf(uint32_t op) {
  constexpr std::pair<uint32_t, uint32_t> kOpposites[] = {{OpIEqual, OpINotEqual},
                                                          {OpUGreaterThan, OpULessThanEqual},
                                                          {OpSGreaterThan, OpSLessThanEqual},
                                                          {OpUGreaterThanEqual, OpULessThan},
                                                          {OpSGreaterThanEqual, OpSLessThan}};
  for (const auto& [one, other] : kOpposites) {
    if (op == one) return other;
    if (op == other) return one;
  }
  return OpNop;
}

class FunctionLoops {
 public:
  FunctionLoops(std::vector<Block> blocks, Module& module, LoopForm form)
      : blocks_(std::move(blocks)), module_(module), form_(form) {}

  std::vector<Block> Run() {
    EndEarly();
    for (size_t i = 0; i < blocks_.size(); ++i) {
      Instructions& body = blocks_[i].body;
      if (body.size() < 2 || body[body.size() - 2].op() != OpLoopMerge) continue;
      uint32_t& hint = body[body.size() - 2].words[3];
      if (form_.keeps_loops && hint == LoopControlMaskNone) hint = LoopControlDontUnrollMask;
      if (form_.any_device && hint == LoopControlUnrollMask) hint = LoopControlMaskNone;
      if (form_.any_device && hint == LoopControlDontUnrollMask) HideStarts(blocks_[i]);
      EmptyContinueOf(i);
    }
    LeaveByThen();
    FindBuffersOnce();
    Instructions& first = blocks_[0].body;
    first.insert(std::ranges::find_if(first, [](const Instruction& each) { return each.op() != OpVariable; }),
                 starts_.begin(), starts_.end());
    first.insert(first.begin(), variables_.begin(), variables_.end());
    return std::move(blocks_);
  }

 private:
  size_t At(uint32_t label) const { return std::ranges::find(blocks_, label, &Block::label) - blocks_.begin(); }
  // Whether control goes from the block to the label, and by nothing else than a branch without a condition.
  static bool GoesTo(const Block& block, uint32_t label, bool* plainly) {
    const Words& end = block.body.back().words;
    *plainly = block.body.back().op() == OpBranch;
    if (*plainly) return end[1] == label;
    const bool branches = block.body.back().op() == OpBranchConditional || block.body.back().op() == OpSwitch;
    return branches && std::find(end.begin() + 2, end.end(), label) != end.end();
  }
  static void AddToEnd(Block& block, Instruction instruction) {
    auto end = block.body.end() - 1;
    if (end != block.body.begin() && ((end - 1)->op() == OpLoopMerge || (end - 1)->op() == OpSelectionMerge)) --end;
    block.body.insert(end, std::move(instruction));
  }

  // Selections by a switch without cases whose merge block only returns.
  void EndEarly() {
    for (size_t i = 0; i < blocks_.size(); ++i) {
      const Instructions& body = blocks_[i].body;
      if (body.size() < 2 || body.back().op() != OpSwitch || body.back().words.size() != 3) continue;
      if (body[body.size() - 2].op() != OpSelectionMerge) continue;
      const uint32_t end = body[body.size() - 2].words[1], first = body.back().words[2];
      const size_t at = At(end);
      bool plain = end != first && blocks_[at].body.size() == 1 && blocks_[at].body[0].op() == OpReturn;
      for (const Block& block : blocks_) {
        bool plainly = false;
        plain = plain && (!GoesTo(block, end, &plainly) || plainly);
      }
      if (!plain) continue;
      for (Block& block : blocks_) {
        bool plainly = false;
        if (GoesTo(block, end, &plainly)) block.body.back() = Make(OpReturn, {});
      }
      blocks_[i].body.resize(blocks_[i].body.size() - 2);
      blocks_[i].body.push_back(Make(OpBranch, {first}));
      blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }

  // A condition under which a loop ends, or what follows is not done, becomes the opposite one where Mesa would turn
  // it.
  void LeaveByThen() {
    std::map<uint32_t, std::pair<Instruction*, int>> comparisons;  // and how often they are read
    for (Instruction& instruction : InstructionsOf(blocks_)) {
      if (OppositeOf(instruction.op()) != OpNop) comparisons.emplace(instruction.words[2], std::pair(&instruction, 0));
    }
    for (Instruction& instruction : InstructionsOf(blocks_)) {
      const bool known = VisitOperands(instruction, [&](uint32_t& id) {
        if (const auto it = comparisons.find(id); it != comparisons.end()) ++it->second.second;
      });
      if (!known) return;
    }
    std::set<uint32_t> ends;
    for (const Instruction& each : InstructionsOf(blocks_)) {
      if (each.op() == OpLoopMerge) ends.insert(each.words[1]);
    }
    for (Block& block : blocks_) {
      if (block.body.size() < 2 || block.body.back().op() != OpBranchConditional) continue;
      const Instruction& merge = *(block.body.end() - 2);
      Words& branch = block.body.back().words;
      const bool loop_ends = ends.contains(branch[3]) && !ends.contains(branch[2]);
      const bool rest_follows = merge.op() == OpSelectionMerge && branch[2] != branch[3] &&
                                (branch[2] == merge.words[1] || blocks_[At(branch[2])].body.front().op() == OpReturn);
      if ((!loop_ends && !rest_follows) || branch.size() != 4) continue;  // with weights of the sides: more
      if (const auto it = comparisons.find(branch[1]); it != comparisons.end() && it->second.second == 1) {
        uint32_t& head = it->second.first->words[0];
        head = (head & ~0xffffu) | OppositeOf(head & 0xffffu);
      } else {
        continue;
      }
      std::swap(branch[2], branch[3]);
    }
  }

  // A pointer to the member of a buffer that a constant names, or 0.
  uint32_t PointerToMember(uint32_t buffer, uint32_t index) {
    const auto variable = std::ranges::find_if(module_.declarations, [&](const Instruction& each) {
      return each.op() == OpVariable && each.words[2] == buffer && each.words[3] == StorageClassStorageBuffer;
    });
    const auto constant = module_.Value(index);
    if (variable == module_.declarations.end() || !constant) return 0;
    const uint32_t type = module_.DeclarationOf(variable->words[1]).words[3];
    if (module_.KindOf(type) != OpTypeStruct) return 0;
    return module_.PointerTo(module_.DeclarationOf(type).words.at(2 + *constant), StorageClassStorageBuffer);
  }
  bool IsValue(uint32_t type) const {
    const uint32_t op = module_.KindOf(type);
    return op >= OpTypeBool && op <= OpTypeVector;
  }

  // The way to a member of a buffer that several ways lead through.
  void FindBuffersOnce() {
    std::map<std::pair<uint32_t, uint32_t>, std::vector<Instruction*>> ways;
    for (Instruction& instruction : InstructionsOf(blocks_)) {
      const Words& w = instruction.words;
      if (instruction.op() == OpAccessChain && w.size() > 5) ways[{w[3], w[4]}].push_back(&instruction);
    }
    Instructions found;
    for (auto& [member, from] : ways) {
      const uint32_t pointer = from.size() > 1 ? PointerToMember(member.first, member.second) : 0;
      if (pointer == 0) continue;
      const uint32_t array = module_.ids.Fresh();
      found.push_back(Make(OpAccessChain, {pointer, array, member.first, member.second}));
      for (Instruction* way : from) {
        Words& w = way->words;
        w[3] = array;
        w.erase(w.begin() + 4);
        w[0] -= kOneWord;
      }
    }
    Instructions& body = blocks_[0].body;
    body.insert(std::ranges::find_if(body, [](const Instruction& each) { return each.op() != OpVariable; }),
                found.begin(), found.end());
  }

  // What a loop that drivers leave begins with, where that is a known integer.
  void HideStarts(Block& header) {
    const uint32_t next = (header.body.end() - 2)->words[2];
    for (Instruction& phi : header.body) {
      if (phi.op() != OpPhi) return;
      for (size_t i = 3; i < phi.words.size(); i += 2) {
        if (phi.words[i + 1] != next && module_.TypeOf(phi.words[i]) != 0) phi.words[i] = Hidden(phi.words[i]);
      }
    }
  }

  // A constant, as the sum with a zero of which no driver knows that it is one: the first bit of a workgroup's number.
  uint32_t Hidden(uint32_t constant) {
    if (const auto it = hidden_.find(constant); it != hidden_.end()) return it->second;
    const uint32_t number = module_.Unsigned(), type = module_.TypeOf(constant);
    if (zero_ == 0) {
      const uint32_t value = module_.LoadWorkgroup(2, &starts_);
      zero_ = module_.ids.Fresh();
      starts_.push_back(Make(OpShiftRightLogical, {number, zero_, value, module_.ConstantOf(number, 31)}));
    }
    uint32_t sum = zero_;
    if (type != number) starts_.push_back(Make(OpBitcast, {type, sum = module_.ids.Fresh(), zero_}));
    if (module_.Value(constant) != 0u) {
      const uint32_t added = module_.ids.Fresh();
      starts_.push_back(Make(OpIAdd, {type, added, sum, constant}));
      sum = added;
    }
    return hidden_[constant] = sum;
  }

  // What stands in the continue block moves to the end of the body, if that has one end; so does a test after each
  // turn.
  void EmptyContinueOf(size_t header) {
    const uint32_t head_label = blocks_[header].label;
    uint32_t& in_merge = (blocks_[header].body.end() - 2)->words[2];
    const uint32_t label = in_merge;
    if (label == head_label) return;  // the loop is one block
    const size_t at = At(label);
    Instructions& body = blocks_[at].body;
    bool goes_on = false, goes_on_plainly = false;
    goes_on = GoesTo(blocks_[at], head_label, &goes_on_plainly);
    if (!goes_on || body[0].op() == OpPhi) return;
    size_t before = blocks_.size();
    bool plainly = false;
    for (size_t i = 0; i < blocks_.size(); ++i) {
      bool plainly_here = false;
      if (!GoesTo(blocks_[i], label, &plainly_here)) continue;
      if (before != blocks_.size()) return;  // several ends
      before = i, plainly = plainly_here;
    }
    if (before == blocks_.size() || (!plainly && (before != header || !goes_on_plainly))) return;
    uint32_t from = label;
    size_t last = before;
    if (plainly) {
      MoveToEnd(at, before, head_label, goes_on_plainly);
    } else {
      // The block is all of the body: an empty one behind it.
      from = in_merge = module_.ids.Fresh();
      body.back() = Make(OpBranch, {from});
      last = at;
      blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                     Block{from, {Make(OpBranch, {head_label})}});
    }
    HandOnInVariables(header, label, from, last);
  }

  // All of a continue block to the block before it.
  void MoveToEnd(size_t at, size_t before, uint32_t head_label, bool plainly) {
    Instructions rest = std::move(blocks_[at].body);
    const uint32_t label = blocks_[at].label;
    blocks_[at].body = {Make(OpBranch, {head_label})};
    Instruction branch = std::move(rest.back());
    rest.pop_back();
    for (Instruction& each : rest) AddToEnd(blocks_[before], std::move(each));
    if (plainly) return;
    // Whoever took the other way came from here.
    for (size_t i = 2; i < 4; ++i) {
      if (branch.words[i] == head_label) {
        branch.words[i] = label;
        continue;
      }
      for (Instruction& phi : blocks_[At(branch.words[i])].body) {
        if (phi.op() != OpPhi) break;
        VisitOrigins(phi, [&](uint32_t& origin) { origin = origin == label ? blocks_[before].label : origin; });
      }
    }
    blocks_[before].body.back() = std::move(branch);
  }

  // The header's phis of values, of which one comes from the continue block, which was `was` and is `from`. `last` ends
  // the body.
  void HandOnInVariables(size_t header, uint32_t was, uint32_t from, size_t last) {
    Instructions kept, loads, rest;
    Instructions old = std::move(blocks_[header].body);
    std::vector<std::pair<size_t, Instruction>> stores;
    for (Instruction& instruction : old) {
      Words& w = instruction.words;
      if (instruction.op() != OpPhi) {
        rest.push_back(std::move(instruction));
        continue;
      }
      VisitOrigins(instruction, [&](uint32_t& origin) { origin = origin == was ? from : origin; });
      if (w.size() != 7 || !IsValue(w[1])) {
        kept.push_back(std::move(instruction));
        continue;
      }
      const uint32_t variable = module_.ids.Fresh();
      variables_.push_back(
          Make(OpVariable, {module_.PointerTo(w[1], StorageClassFunction), variable, StorageClassFunction}));
      for (size_t i = 3; i < 7; i += 2)
        stores.emplace_back(w[i + 1] == from ? last : At(w[i + 1]), Make(OpStore, {variable, w[i]}));
      loads.push_back(Make(OpLoad, {w[1], w[2], variable}));
    }
    Instructions& body = blocks_[header].body;
    body = std::move(kept);
    body.insert(body.end(), loads.begin(), loads.end());
    body.insert(body.end(), rest.begin(), rest.end());
    for (auto& [block, store] : stores) AddToEnd(blocks_[block], std::move(store));
  }

  std::vector<Block> blocks_;
  Module& module_;
  LoopForm form_;
  Instructions variables_;
  Instructions starts_;  // what computes hidden constants, at the function's beginning
  std::map<uint32_t, uint32_t> hidden_;
  uint32_t zero_ = 0;
};

}  // namespace

std::vector<uint32_t> PlainLoops(const std::vector<uint32_t>& words, LoopForm form) {
  Module module(words);
  return module.Run(
      [&](std::vector<Block> blocks, uint32_t) { return FunctionLoops(std::move(blocks), module, form).Run(); });
}

}  // namespace VXLA_NAMESPACE::vulkan::spirv
