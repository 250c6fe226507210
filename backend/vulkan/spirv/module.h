// A SPIR-V module as the passes see it that rewrite its functions.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "backend/vulkan/spirv/spirv_words.h"

namespace VXLA_NAMESPACE::vulkan::spirv {

// New ids, and those of copies, which are decorated as what they copy.
class CopiedIds {
 public:
  explicit CopiedIds(uint32_t bound) : bound_(bound) {}

  // Before any copy: an instruction of the module's that stands before its functions.
  void Declare(const Instruction& instruction) {
    if (instruction.op() == OpDecorate) decorated_as_[instruction.words[1]] = instruction.words[1];
  }

  uint32_t bound() const { return bound_; }
  uint32_t Fresh() { return bound_++; }
  uint32_t CopyOf(uint32_t original) {
    const uint32_t fresh = bound_++;
    if (const auto decorated = decorated_as_.find(original); decorated != decorated_as_.end()) {
      const uint32_t first = decorated->second;
      copies_of_[first].push_back(fresh);
      decorated_as_[fresh] = first;
    }
    return fresh;
  }

  // The declarations, with those decorations (NoContraction) and names that are of ids that are still there.
  void Append(const Instructions& declarations, const std::function<bool(uint32_t)>& gone, Words* out) const {
    for (const Instruction& instruction : declarations) {
      const uint32_t op = instruction.op();
      if ((op != OpDecorate && op != OpName) || !gone(instruction.words[1])) spirv::Append(instruction, out);
      const auto copies = op == OpDecorate ? copies_of_.find(instruction.words[1]) : copies_of_.end();
      if (copies == copies_of_.end()) continue;
      for (uint32_t copy : copies->second) {
        if (gone(copy)) continue;
        Instruction decoration = instruction;
        decoration.words[1] = copy;
        spirv::Append(decoration, out);
      }
    }
  }

 private:
  uint32_t bound_;
  std::unordered_map<uint32_t, uint32_t>
      decorated_as_;  // an id with decorations, and the one of the text that it copies
  std::unordered_map<uint32_t, std::vector<uint32_t>> copies_of_;
};

class Module {
 public:
  explicit Module(const Words& words);
  // The blocks of a function, by its id, as they become.
  using Rewrite = std::function<std::vector<Block>(std::vector<Block>, uint32_t function)>;
  // The whole module, each function rewritten. What its declarations say of ids that are gone goes too.
  Words Run(const Rewrite& rewrite);
  // The same with other instructions in the place of all functions; `gone` says of which ids nothing is left.
  Words With(const Instructions& rewritten, const std::function<bool(uint32_t)>& gone) const;

  uint32_t version() const { return header_[kVersionWord]; }
  // Constants that are integers of 32 bits, and such a constant, which is declared where it was not.
  bool IsInteger(uint32_t type) const { return integers_.contains(type); }
  std::optional<uint32_t> Value(uint32_t constant) const;
  uint32_t TypeOf(uint32_t constant) const;  // 0: it is none
  uint32_t ConstantOf(uint32_t type, uint32_t value);
  // A type of those operands, which is declared where it was not; what declares it, and that one's operation, which is
  // OpNop where the id is no type of these.
  uint32_t Type(uint32_t op, std::initializer_list<uint32_t> operands);
  const Instruction& DeclarationOf(uint32_t type) const { return declarations_of_.at(type); }
  uint32_t KindOf(uint32_t type) const {
    return declarations_of_.contains(type) ? DeclarationOf(type).op() : uint32_t{OpNop};
  }
  uint32_t Unsigned() { return Type(OpTypeInt, {32, 0}); }
  uint32_t PointerTo(uint32_t type, uint32_t storage_class) { return Type(OpTypePointer, {storage_class, type}); }
  // The number of the workgroup on an axis, which an entry point reads by the instructions added.
  uint32_t LoadWorkgroup(uint32_t axis, Instructions* to);

  CopiedIds ids;
  Instructions declarations;  // what stands before the functions
  Instructions functions;

 private:
  void Note(const Instruction& declaration);
  uint32_t Declare(Instruction declaration);  // the id of its result

  Words header_;
  std::unordered_set<uint32_t> declared_;                               // by Declare
  std::unordered_set<uint32_t> integers_;                               // types of 32 bits
  std::unordered_map<uint32_t, std::pair<uint32_t, uint32_t>> values_;  // of their constants: type and value
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> constants_;         // by type and value
  std::map<Words, uint32_t> types_;                                     // by their words, 0 in the place of the id
  std::unordered_map<uint32_t, Instruction> declarations_of_;           // of types
  uint32_t workgroup_ = 0;                                              // the input that numbers workgroups
};

// Gives each label and result of the blocks a new id, as which `renamed` has it; and an instruction with the ids
// renamed that it names, but for its own.
void RenameCopies(std::span<const Block> blocks, CopiedIds* ids, std::unordered_map<uint32_t, uint32_t>* renamed);
Instruction Renamed(Instruction instruction, const std::unordered_map<uint32_t, uint32_t>& renamed);
// Each value that is another is read as that one, which may itself be another.
void ReadAs(const std::unordered_map<uint32_t, uint32_t>& same, std::vector<Block>* blocks);

// The function's variables that are only loaded and stored as a whole, of those blocks; false where not all operands
// are known, or a switch is among them.
bool FindWholeVariables(std::vector<Block>& blocks, std::unordered_set<uint32_t>* variables);

}  // namespace VXLA_NAMESPACE::vulkan::spirv
