#include "backend/vulkan/spirv/inline_functions.h"

#include <unordered_map>
#include <unordered_set>

#include "backend/vulkan/spirv/spirv_words.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

using namespace spirv;

struct Function {
  Instruction head, end;
  std::vector<uint32_t> parameters;
  Instructions parameter_instructions;
  std::vector<Block> blocks;
  bool known = true;      // every instruction is one whose operands are known here
  bool straight = false;  // one block that may stand where it is called
  bool done = false;      // its own calls are replaced
};

class Inliner {
 public:
  explicit Inliner(const Words& words)
      : header_(words.begin(), words.begin() + kHeaderWords), bound_(words[kBoundWord]) {
    Split(Read(words));
  }

  Words Run() {
    for (Function& function : functions_) Finish(function);
    DropUncalled();
    Words out = header_;
    out[kBoundWord] = bound_;
    for (const Instruction& instruction : declarations_) {
      const uint32_t op = instruction.op();
      if ((op != kDecorate && op != kName) || !gone_.contains(instruction.words[1])) Append(instruction, &out);
      if (op != kDecorate) continue;
      for (uint32_t copy : copies_of_[instruction.words[1]]) {  // NoContraction
        if (gone_.contains(copy)) continue;
        Instruction decoration = instruction;
        decoration.words[1] = copy;
        Append(decoration, &out);
      }
    }
    for (const Function& function : functions_) {
      if (!gone_.contains(function.head.words[2])) AppendFunction(function, &out);
    }
    return out;
  }

 private:
  void Split(const Instructions& instructions) {
    Function* current = nullptr;
    for (const Instruction& instruction : instructions) {
      const uint32_t op = instruction.op();
      if (op == kFunction) {
        index_of_[instruction.words[2]] = functions_.size();
        current = &functions_.emplace_back();
        current->head = instruction;
      } else if (current == nullptr) {
        if (op == kDecorate) decorated_as_[instruction.words[1]] = instruction.words[1];
        if (op == kEntryPoint) entries_.push_back(instruction.words[2]);
        declarations_.push_back(instruction);
      } else if (op == kFunctionEnd) {
        current->end = instruction;
        Classify(*current);
      } else if (op == kFunctionParameter) {
        current->parameters.push_back(instruction.words[2]);
        current->parameter_instructions.push_back(instruction);
      } else if (op == kLabel) {
        current->blocks.push_back({instruction.words[1], {}});
      } else if (!current->blocks.empty()) {
        current->blocks.back().body.push_back(instruction);
      }
    }
  }

  static void Classify(Function& function) {
    bool initialised = false;
    for (Block& block : function.blocks) {
      for (Instruction& instruction : block.body) {
        function.known &= VisitOperands(instruction, [](uint32_t&) {});
        initialised |= instruction.op() == kVariable && instruction.words.size() > 4;
      }
    }
    if (function.blocks.size() != 1 || function.blocks[0].body.empty()) return;
    const uint32_t last = function.blocks[0].body.back().op();
    function.straight = function.known && !initialised && (last == kReturn || last == kReturnValue);
  }

  // Replaces the calls of straight functions in this one, after those in them. No function calls itself in a shader.
  void Finish(Function& function) {
    if (function.done) return;
    function.done = true;
    if (!function.known || function.blocks.empty()) return;
    Instructions variables;
    std::unordered_map<uint32_t, uint32_t> same;  // results of calls, as the value that was returned
    for (Block& block : function.blocks) {
      Instructions body;
      for (Instruction& instruction : block.body) {
        const auto callee = instruction.op() == kFunctionCall ? index_of_.find(instruction.words[3]) : index_of_.end();
        if (callee == index_of_.end() || !functions_[callee->second].straight) {
          body.push_back(std::move(instruction));
          continue;
        }
        Finish(functions_[callee->second]);
        Copy(functions_[callee->second], instruction, &body, &variables, &same);
      }
      block.body = std::move(body);
    }
    Block& entry = function.blocks[0];
    entry.body.insert(entry.body.begin(), variables.begin(), variables.end());
    Substitute(function, same);
  }

  void Copy(const Function& callee, const Instruction& call, Instructions* body, Instructions* variables,
            std::unordered_map<uint32_t, uint32_t>* same) {
    std::unordered_map<uint32_t, uint32_t> renamed;
    for (size_t i = 0; i < callee.parameters.size(); ++i) renamed[callee.parameters[i]] = call.words[4 + i];
    auto rename = [&](uint32_t& id) {
      if (const auto it = renamed.find(id); it != renamed.end()) id = it->second;
    };
    for (const Instruction& original : callee.blocks[0].body) {
      const uint32_t op = original.op();
      if (op == kReturn) continue;
      Instruction copy = original;
      VisitOperands(copy, rename);
      if (op == kReturnValue) {
        (*same)[call.words[2]] = copy.words[1];
        continue;
      }
      if (HasResult(op)) {
        const uint32_t fresh = bound_++;
        renamed[original.words[2]] = copy.words[2] = fresh;
        if (const auto decorated = decorated_as_.find(original.words[2]); decorated != decorated_as_.end()) {
          const uint32_t first = decorated->second;
          copies_of_[first].push_back(fresh);
          decorated_as_[fresh] = first;
        }
      }
      (op == kVariable ? variables : body)->push_back(std::move(copy));
    }
  }

  static void Substitute(Function& function, const std::unordered_map<uint32_t, uint32_t>& same) {
    if (same.empty()) return;
    auto resolve = [&](uint32_t& id) {
      for (auto it = same.find(id); it != same.end(); it = same.find(id)) id = it->second;
    };
    for (Block& block : function.blocks) {
      for (Instruction& instruction : block.body) VisitOperands(instruction, resolve);
    }
  }

  void DropUncalled() {
    std::vector<bool> called(functions_.size(), false);
    std::vector<uint32_t> work = entries_;
    while (!work.empty()) {
      const auto at = index_of_.find(work.back());
      work.pop_back();
      if (at == index_of_.end() || called[at->second]) continue;
      called[at->second] = true;
      for (const Block& block : functions_[at->second].blocks) {
        for (const Instruction& instruction : block.body) {
          if (instruction.op() == kFunctionCall) work.push_back(instruction.words[3]);
        }
      }
    }
    for (size_t i = 0; i < functions_.size(); ++i) {
      if (called[i]) continue;
      gone_.insert(functions_[i].head.words[2]);
      gone_.insert(functions_[i].parameters.begin(), functions_[i].parameters.end());
      for (const Block& block : functions_[i].blocks) {
        gone_.insert(block.label);
        for (const Instruction& instruction : block.body) {
          if (HasResult(instruction.op())) gone_.insert(instruction.words[2]);
        }
      }
    }
  }

  static void AppendFunction(const Function& function, Words* out) {
    Append(function.head, out);
    for (const Instruction& parameter : function.parameter_instructions) Append(parameter, out);
    for (const Block& block : function.blocks) {
      Append(Make(kLabel, {block.label}), out);
      for (const Instruction& instruction : block.body) Append(instruction, out);
    }
    Append(function.end, out);
  }

  Words header_;
  uint32_t bound_;
  Instructions declarations_;
  std::vector<Function> functions_;
  std::unordered_map<uint32_t, size_t> index_of_;
  std::vector<uint32_t> entries_;
  std::unordered_map<uint32_t, uint32_t>
      decorated_as_;  // an id with decorations, and the one of the text that it copies
  std::unordered_map<uint32_t, std::vector<uint32_t>> copies_of_;
  std::unordered_set<uint32_t> gone_;  // ids of functions that nothing calls any more
};

}  // namespace

std::vector<uint32_t> InlineStraightFunctions(const std::vector<uint32_t>& words) { return Inliner(words).Run(); }

}  // namespace VXLA_NAMESPACE::vulkan
