#include "backend/vulkan/spirv/inline_functions.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "backend/vulkan/spirv/module.h"
#include "backend/vulkan/spirv/spirv_words.h"

namespace VXLA_NAMESPACE::vulkan::spirv {
namespace {

struct Function {
  Instructions head;  // what stands before its blocks: itself and its parameters
  std::vector<uint32_t> parameters;
  std::vector<Block> blocks;
  bool known = true;    // every instruction is one whose operands are known here
  bool copied = false;  // its blocks may stand where it is called
  bool done = false;    // its own calls are replaced
};

class Inliner {
 public:
  Inliner(const Words& words, bool branching) : branching_(branching), module_(words) { Split(module_.functions); }

  Words Run() {
    for (Function& function : functions_) Finish(function);
    DropUncalled();
    Instructions left;
    for (const Function& function : functions_) {
      if (!gone_.contains(function.head[0].words[2])) AppendFunction(function, &left);
    }
    return module_.With(left, [&](uint32_t id) { return gone_.contains(id); });
  }

 private:
  void Split(const Instructions& instructions) {
    Function* current = nullptr;
    for (size_t at = 0; at < instructions.size();) {
      const Instruction& instruction = instructions[at];
      if (instruction.op() == OpLabel) {
        current->blocks = TakeBlocks(instructions, &at);
        Classify(*current);
        continue;
      }
      if (instruction.op() == OpFunction) {
        index_of_[instruction.words[2]] = functions_.size();
        current = &functions_.emplace_back();
      }
      if (instruction.op() == OpFunctionParameter) current->parameters.push_back(instruction.words[2]);
      if (instruction.op() != OpFunctionEnd) current->head.push_back(instruction);
      ++at;
    }
  }

  void Classify(Function& function) const {
    bool initialised = false;
    int returns = 0;
    for (Instruction& instruction : InstructionsOf(function.blocks)) {
      const uint32_t op = instruction.op();
      function.known &= VisitOperands(instruction, [](uint32_t&) {}) && op != OpSwitch;
      initialised |= op == OpVariable && instruction.words.size() > 4;
      returns += op == OpReturn || op == OpReturnValue ? 1 : 0;
    }
    if (function.blocks.empty() || function.blocks.back().body.empty() || returns != 1) return;
    const uint32_t last = function.blocks.back().body.back().op();
    function.copied = function.known && !initialised && (last == OpReturn || last == OpReturnValue) &&
                      (function.blocks.size() == 1 || branching_);
  }

  // Replaces the calls in this function, after those in what it calls. No function calls itself in a shader.
  void Finish(Function& function) {
    if (function.done) return;
    function.done = true;
    if (!function.known || function.blocks.empty()) return;
    std::unordered_set<uint32_t> continues;
    for (const Instruction& instruction : InstructionsOf(function.blocks)) {
      if (instruction.op() == OpLoopMerge) continues.insert(instruction.words[2]);
    }
    Caller caller;
    for (Block& block : function.blocks) {
      // What a loop's head and the place where it goes on may consist of is limited.
      const bool whole =
          continues.contains(block.label) ||
          std::ranges::any_of(block.body, [](const Instruction& each) { return each.op() == OpLoopMerge; });
      caller.blocks.push_back({block.label, {}});
      for (Instruction& instruction : block.body) {
        const auto called = instruction.op() == OpFunctionCall ? index_of_.find(instruction.words[3]) : index_of_.end();
        Function* callee = called == index_of_.end() ? nullptr : &functions_[called->second];
        if (callee != nullptr && callee->copied) Finish(*callee);
        if (callee == nullptr || !callee->copied || (whole && callee->blocks.size() > 1)) {
          caller.blocks.back().body.push_back(std::move(instruction));
        } else {
          Copy(*callee, instruction, &caller);
        }
      }
      caller.ends[block.label] = caller.blocks.back().label;
    }
    function.blocks = std::move(caller.blocks);
    FollowEnds(function, caller.ends);
    Block& entry = function.blocks[0];
    entry.body.insert(entry.body.begin(), caller.variables.begin(), caller.variables.end());
    ReadAs(caller.same, &function.blocks);
  }

  // A function whose calls are being replaced.
  struct Caller {
    std::vector<Block> blocks;  // the last one is being written
    Instructions variables;
    std::unordered_map<uint32_t, uint32_t> same;  // results of calls, as the value that was returned
    std::unordered_map<uint32_t, uint32_t> ends;  // its own blocks, as what each goes on as after its calls
  };

  // The phis of the function's own blocks: what was copied comes from where it stands.
  static void FollowEnds(Function& function, const std::unordered_map<uint32_t, uint32_t>& ends) {
    for (Block& block : function.blocks) {
      if (!ends.contains(block.label)) continue;
      for (Instruction& instruction : block.body)
        VisitOrigins(instruction, [&](uint32_t& from) { from = ends.at(from); });
    }
  }

  void Copy(const Function& callee, const Instruction& call, Caller* caller) {
    std::unordered_map<uint32_t, uint32_t> renamed;
    for (size_t i = 0; i < callee.parameters.size(); ++i) renamed[callee.parameters[i]] = call.words[4 + i];
    RenameCopies(callee.blocks, &module_.ids, &renamed);  // loops name values before these stand
    renamed[callee.blocks[0].label] = caller->blocks.back().label;
    for (const Block& block : callee.blocks) {
      if (&block != callee.blocks.data()) caller->blocks.push_back({renamed.at(block.label), {}});
      for (const Instruction& original : block.body) {
        const uint32_t op = original.op();
        if (op == OpReturn) continue;
        Instruction copy = Renamed(original, renamed);
        if (op == OpReturnValue) {
          caller->same[call.words[2]] = copy.words[1];
          continue;
        }
        if (HasResult(op)) copy.words[2] = renamed.at(copy.words[2]);
        (op == OpVariable ? caller->variables : caller->blocks.back().body).push_back(std::move(copy));
      }
    }
  }

  void DropUncalled() {
    std::vector<bool> called(functions_.size(), false);
    std::vector<uint32_t> work;
    for (const Instruction& each : module_.declarations) {
      if (each.op() == OpEntryPoint) work.push_back(each.words[2]);
    }
    while (!work.empty()) {
      const auto at = index_of_.find(work.back());
      work.pop_back();
      if (at == index_of_.end() || called[at->second]) continue;
      called[at->second] = true;
      for (const Instruction& instruction : InstructionsOf(functions_[at->second].blocks)) {
        if (instruction.op() == OpFunctionCall) work.push_back(instruction.words[3]);
        if (instruction.op() == kCooperativeMatrixPerElementOp) work.push_back(instruction.words[4]);
      }
    }
    for (size_t i = 0; i < functions_.size(); ++i) {
      if (called[i]) continue;
      gone_.insert(functions_[i].head[0].words[2]);
      gone_.insert(functions_[i].parameters.begin(), functions_[i].parameters.end());
      for (const Block& block : functions_[i].blocks) {
        gone_.insert(block.label);
        for (const Instruction& instruction : block.body) {
          if (HasResult(instruction.op())) gone_.insert(instruction.words[2]);
        }
      }
    }
  }

  static void AppendFunction(const Function& function, Instructions* out) {
    out->insert(out->end(), function.head.begin(), function.head.end());
    for (const Block& block : function.blocks) {
      out->push_back(Make(OpLabel, {block.label}));
      out->insert(out->end(), block.body.begin(), block.body.end());
    }
    out->push_back(Make(OpFunctionEnd, {}));
  }

  const bool branching_;
  Module module_;
  std::vector<Function> functions_;
  std::unordered_map<uint32_t, size_t> index_of_;
  std::unordered_set<uint32_t> gone_;  // ids of functions that nothing calls any more
};

}  // namespace

std::vector<uint32_t> InlineStraightFunctions(const std::vector<uint32_t>& words) {
  return Inliner(words, /*branching=*/false).Run();
}
std::vector<uint32_t> InlineFunctions(const std::vector<uint32_t>& words) {
  return Inliner(words, /*branching=*/true).Run();
}

}  // namespace VXLA_NAMESPACE::vulkan::spirv
