#include "backend/vulkan/spirv/unroll_loops.h"

#include <algorithm>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "backend/vulkan/spirv/module.h"
#include "backend/vulkan/spirv/spirv_words.h"

namespace VXLA_NAMESPACE::vulkan::spirv {
namespace {

constexpr size_t kMostTurns = 32;  // what drivers unroll: RADV's limit
// Loops beyond this are left to the driver: a guard against the product of many.
constexpr size_t kMostInstructions = 50000;

class Unroller {
 public:
  explicit Unroller(const Words& words) : module_(words) {}

  Words Run() {
    return module_.Run([&](std::vector<Block> blocks, uint32_t) {
      counters_.clear();
      written_ = 0;
      for (Instruction& each : InstructionsOf(blocks)) Count(each);
      return FindWholeVariables(blocks, &counters_) ? Expanded(std::move(blocks)) : blocks;
    });
  }

 private:
  struct Loop {
    size_t test = 0, first = 0, end = 0;     // blocks: the one that tests, and those of a turn, the step in the last
    uint32_t head = 0, next = 0, after = 0;  // labels: of the header, of the step, and where the loop ends
    uint32_t counter = 0;
    std::vector<uint32_t> values;  // of the counter, by turn, the first ones
    bool all_known = false;        // whether these are all
  };

  void Count(Instruction& instruction) {
    ++written_;
    VisitOperands(instruction, [&](uint32_t& id) { ++uses_[id]; });
  }

  std::vector<Block> Expanded(std::vector<Block> blocks) {
    std::vector<Block> out;
    for (size_t at = 0; at < blocks.size();) {
      const auto loop = out.empty() ? std::nullopt : LoopAt(blocks, at, out.back());
      if (!loop || !IsWrittenOut(blocks, at, *loop)) {
        if (loop && CanTestLast(blocks, *loop)) TestLast(*loop, blocks[at], blocks);
        if (!blocks[at].body.empty()) out.push_back(std::move(blocks[at]));
        ++at;
        continue;
      }
      for (uint32_t value : loop->values) {
        std::vector<Block> copy = Turn(blocks, *loop, value);
        out.back().body.back() = Make(OpBranch, {copy[0].label});
        copy = Expanded(std::move(copy));
        std::ranges::move(copy, std::back_inserter(out));
      }
      out.back().body.back() = Make(OpBranch, {loop->after});
      at = loop->end;
    }
    return out;
  }

  // The loop whose header stands at blocks[at], of the form of a `for` whose counter begins as a constant in the block
  // that comes before.
  std::optional<Loop> LoopAt(const std::vector<Block>& blocks, size_t at, const Block& before) const {
    const Instructions& header = blocks[at].body;
    if (header.size() != 2 || header[0].op() != OpLoopMerge || header[1].op() != OpBranch || at + 3 >= blocks.size() ||
        header[1].words[1] != blocks[at + 1].label || before.body.back().op() != OpBranch ||
        before.body.back().words[1] != blocks[at].label)
      return std::nullopt;
    Loop loop;
    loop.head = blocks[at].label;
    loop.after = header[0].words[1];
    loop.next = header[0].words[2];
    loop.test = at + 1;
    loop.first = at + 2;
    for (loop.end = loop.first; loop.end < blocks.size() && blocks[loop.end].label != loop.after;) ++loop.end;
    const Instruction& branch = blocks[loop.test].body.back();
    if (loop.end == blocks.size() || loop.end == loop.first || blocks[loop.end - 1].label != loop.next ||
        branch.op() != OpBranchConditional || branch.words[2] != blocks[loop.first].label ||
        branch.words[3] != loop.after || blocks[loop.end].body[0].op() == OpPhi ||
        blocks[loop.end - 1].body.back().op() != OpBranch)
      return std::nullopt;
    for (const Instruction& each : blocks[loop.end - 1].body) {
      if (each.op() == OpStore) loop.counter = each.words[1];
    }
    if (!counters_.contains(loop.counter)) return std::nullopt;
    CountTurns(blocks, before, &loop);
    return loop;
  }

  bool IsWrittenOut(const std::vector<Block>& blocks, size_t at, const Loop& loop) const {
    if (blocks[at].body[0].words[3] != LoopControlUnrollMask || !loop.all_known || !EndsByItsTest(blocks, loop))
      return false;
    size_t instructions = 0;
    for (size_t b = loop.first; b < loop.end; ++b) {
      instructions += blocks[b].body.size();
      for (const Instruction& each : blocks[b].body) {
        if (each.op() == OpLoopMerge && each.words[3] != LoopControlUnrollMask) return false;
      }
    }
    return written_ + instructions * loop.values.size() <= kMostInstructions;
  }

  // Whether nothing leaves a turn but its end, which is reached from one place, and only the step changes the counter.
  static bool EndsByItsTest(const std::vector<Block>& blocks, const Loop& loop) {
    std::unordered_set<uint32_t> inside;
    for (size_t b = loop.first; b < loop.end; ++b) inside.insert(blocks[b].label);
    bool within = GoesOnOnce(blocks, loop);
    for (size_t b = loop.first; b < loop.end; ++b) {
      const bool step = b + 1 == loop.end;
      for (const Instruction& each : blocks[b].body) {
        within &= each.op() != OpVariable && (step || each.op() != OpStore || each.words[1] != loop.counter);
      }
      Instruction last = blocks[b].body.back();
      within &= last.op() == OpBranch || last.op() == OpBranchConditional;
      VisitLabels(last, [&](uint32_t& label) { within &= step ? label == loop.head : inside.contains(label); });
    }
    return within;
  }

  static bool GoesOnOnce(const std::vector<Block>& blocks, const Loop& loop) {
    size_t ends = 0;
    for (size_t b = loop.first; b < loop.end; ++b) {
      Instruction last = blocks[b].body.back();
      VisitLabels(last, [&](uint32_t& label) { ends += label == loop.next ? 1 : 0; });
    }
    return ends == 1;
  }

  // The values that the counter takes if nothing but the step changes it, as far as they follow from constants.
  void CountTurns(const std::vector<Block>& blocks, const Block& before, Loop* loop) const {
    std::optional<uint32_t> value;
    for (const Instruction& each : before.body) {
      if (each.op() == OpStore && each.words[1] == loop->counter) value = ValueOf(each.words[2], {});
    }
    while (value && loop->values.size() <= kMostTurns) {
      std::optional<uint32_t> next = value;
      const auto condition = Evaluate(blocks[loop->test], loop->counter, &next);
      loop->all_known = condition == 0u;
      if (!condition || *condition == 0) return;
      loop->values.push_back(*value);
      Evaluate(blocks[loop->end - 1], loop->counter, &next);
      value = next;
    }
  }

  // Whether the loop has a first turn for certain, and what tests is used for nothing else.
  bool CanTestLast(const std::vector<Block>& blocks, const Loop& loop) {
    if (loop.values.empty() || !GoesOnOnce(blocks, loop)) return false;
    std::unordered_map<uint32_t, size_t> tested;
    for (const Instruction& each : blocks[loop.test].body) {
      const uint32_t op = each.op();
      if (op == OpBranchConditional) continue;
      if (op != OpLoad && (op < kFirstArithmetic || op > kLastArithmetic)) return false;
      tested.emplace(each.words[2], 0);
    }
    for (Instruction each : blocks[loop.test].body) {
      VisitOperands(each, [&](uint32_t& id) {
        if (const auto it = tested.find(id); it != tested.end()) ++it->second;
      });
    }
    return std::ranges::all_of(tested, [&](const auto& each) { return uses_[each.first] == each.second; });
  }

  // Moves the test behind the step.
  static void TestLast(const Loop& loop, Block& header, std::vector<Block>& blocks) {
    Instructions& step = blocks[loop.end - 1].body;
    Instructions& test = blocks[loop.test].body;
    header.body.back() = Make(OpBranch, {blocks[loop.first].label});
    step.pop_back();
    std::ranges::move(test, std::back_inserter(step));
    step.back().words[2] = loop.head;
    test.clear();
  }

  using Values = std::unordered_map<uint32_t, uint32_t>;
  std::optional<uint32_t> ValueOf(uint32_t id, const Values& computed) const {
    if (const auto it = computed.find(id); it != computed.end()) return it->second;
    return module_.Value(id);
  }

  // Runs a block for a value of the counter, which a store changes: the condition on which it branches, if it does.
  std::optional<uint32_t> Evaluate(const Block& block, uint32_t counter, std::optional<uint32_t>* value) const {
    Values computed;
    for (const Instruction& each : block.body) {
      const uint32_t op = each.op();
      if (op == OpLoad && each.words[3] == counter && *value) {
        computed[each.words[2]] = **value;
      } else if (op == OpStore && each.words[1] == counter) {
        *value = ValueOf(each.words[2], computed);
      } else if (const auto result = ResultOf(each, computed)) {
        computed[each.words[2]] = *result;
      }
    }
    const Instruction& last = block.body.back();
    return last.op() == OpBranchConditional ? ValueOf(last.words[1], computed) : std::nullopt;
  }

  std::optional<uint32_t> ResultOf(const Instruction& instruction, const Values& computed) const {
    if (!HasResult(instruction.op()) || instruction.words.size() < 4) return std::nullopt;
    const auto a = ValueOf(instruction.words[3], computed);
    if (instruction.op() == OpBitcast) return a;
    if (!a || instruction.words.size() != 5) return std::nullopt;
    const auto b = ValueOf(instruction.words[4], computed);
    return b ? Calculated(instruction.op(), *a, *b) : std::nullopt;
  }

  // The blocks of one turn, in which the counter is a constant.
  std::vector<Block> Turn(const std::vector<Block>& blocks, const Loop& loop, uint32_t value) {
    std::unordered_map<uint32_t, uint32_t> renamed;
    const std::span copied = std::span(blocks).subspan(loop.first, loop.end - loop.first);
    RenameCopies(copied, &module_.ids, &renamed);  // phis name values before these stand
    std::vector<Block> turn;
    for (const Block& block : copied) {
      turn.push_back({renamed.at(block.label), {}});
      for (const Instruction& original : block.body) {
        const uint32_t op = original.op();
        if (op == OpLoad && original.words[3] == loop.counter) {
          renamed[original.words[2]] = module_.ConstantOf(original.words[1], value);
          continue;
        }
        Instruction copy = Renamed(original, renamed);
        if (HasResult(op)) {
          const auto result = module_.IsInteger(copy.words[1]) ? ResultOf(copy, {}) : std::nullopt;
          if (result) {
            renamed[original.words[2]] = module_.ConstantOf(copy.words[1], *result);
            continue;
          }
          copy.words[2] = renamed.at(copy.words[2]);
        }
        Count(copy);
        turn.back().body.push_back(std::move(copy));
      }
    }
    return turn;
  }

  Module module_;
  std::unordered_set<uint32_t> counters_;      // of the function at hand: variables
  std::unordered_map<uint32_t, size_t> uses_;  // of what was read or written
  size_t written_ = 0;                         // instructions of the function at hand
};

}  // namespace

std::vector<uint32_t> UnrollLoops(const std::vector<uint32_t>& words) { return Unroller(words).Run(); }

}  // namespace VXLA_NAMESPACE::vulkan::spirv
