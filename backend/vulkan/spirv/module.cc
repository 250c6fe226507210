#include "backend/vulkan/spirv/module.h"

#include <algorithm>

namespace VXLA_NAMESPACE::vulkan::spirv {

Module::Module(const Words& words) : ids(words[kBoundWord]), header_(words.begin(), words.begin() + kHeaderWords) {
  for (Instruction& instruction : Read(words)) {
    const bool before = functions.empty() && instruction.op() != OpFunction;
    if (before) {
      ids.Declare(instruction);
      Note(instruction);
    }
    (before ? declarations : functions).push_back(std::move(instruction));
  }
}

void Module::Note(const Instruction& declaration) {
  const Words& w = declaration.words;
  if (declaration.op() == OpDecorate && w[2] == DecorationBuiltIn && w[3] == BuiltInWorkgroupId) workgroup_ = w[1];
  if (IsType(declaration.op())) {
    Words named = w;
    named[1] = 0;
    types_.try_emplace(std::move(named), w[1]);
    declarations_of_.emplace(w[1], declaration);
  }
  if (declaration.op() == OpTypeInt && w[2] == 32) integers_.insert(w[1]);
  if (declaration.op() != OpConstant || !integers_.contains(w[1])) return;
  values_[w[2]] = {w[1], w[3]};
  constants_.try_emplace({w[1], w[3]}, w[2]);
}

uint32_t Module::Declare(Instruction declaration) {
  Note(declaration);
  const uint32_t id = declaration.words[IsType(declaration.op()) ? 1 : 2];
  declarations.push_back(std::move(declaration));
  declared_.insert(id);
  return id;
}

std::optional<uint32_t> Module::Value(uint32_t constant) const {
  const auto it = values_.find(constant);
  return it == values_.end() ? std::nullopt : std::optional(it->second.second);
}

uint32_t Module::TypeOf(uint32_t constant) const {
  const auto it = values_.find(constant);
  return it == values_.end() ? 0 : it->second.first;
}

uint32_t Module::ConstantOf(uint32_t type, uint32_t value) {
  const auto it = constants_.find({type, value});
  return it != constants_.end() ? it->second : Declare(Make(OpConstant, {type, ids.Fresh(), value}));
}

uint32_t Module::Type(uint32_t op, std::initializer_list<uint32_t> operands) {
  Instruction type = Make(op, operands);
  type.words.insert(type.words.begin() + 1, 0);
  type.words[0] += kOneWord;
  if (const auto it = types_.find(type.words); it != types_.end()) return it->second;
  type.words[1] = ids.Fresh();
  return Declare(std::move(type));
}

uint32_t Module::LoadWorkgroup(uint32_t axis, Instructions* to) {
  const uint32_t number = Unsigned();
  if (workgroup_ == 0) {
    const uint32_t pointer = PointerTo(Type(OpTypeVector, {number, 3}), StorageClassInput);
    workgroup_ = Declare(Make(OpVariable, {pointer, ids.Fresh(), StorageClassInput}));
    for (Instruction& each : declarations) {
      if (each.op() == OpEntryPoint) AddOperand(each, workgroup_);
    }
    // In front of the first decoration; a kernel has some.
    declarations.insert(std::ranges::find(declarations, uint32_t{OpDecorate}, &Instruction::op),
                        Make(OpDecorate, {workgroup_, DecorationBuiltIn, BuiltInWorkgroupId}));
  }
  const uint32_t pointer = ids.Fresh(), value = ids.Fresh();
  to->push_back(
      Make(OpAccessChain, {PointerTo(number, StorageClassInput), pointer, workgroup_, ConstantOf(number, axis)}));
  to->push_back(Make(OpLoad, {number, value, pointer}));
  return value;
}

Words Module::Run(const Rewrite& rewrite) {
  Instructions rewritten;
  std::unordered_set<uint32_t> were, are;  // results
  auto note = [](const Instruction& each, std::unordered_set<uint32_t>* ids_of) {
    if (each.op() == OpLabel) ids_of->insert(each.words[1]);
    if (HasResult(each.op()) && each.words.size() > 2) ids_of->insert(each.words[2]);
  };
  auto write = [&](Instruction each) {
    note(each, &are);
    rewritten.push_back(std::move(each));
  };
  const uint32_t old_bound = ids.bound();
  for (const Instruction& instruction : functions) note(instruction, &were);
  uint32_t function = 0;
  for (size_t at = 0; at < functions.size();) {
    if (functions[at].op() == OpFunction) function = functions[at].words[2];
    if (functions[at].op() != OpLabel) {
      write(functions[at++]);
      continue;
    }
    for (Block& block : rewrite(TakeBlocks(functions, &at), function)) {
      write(Make(OpLabel, {block.label}));
      for (Instruction& each : block.body) write(std::move(each));
    }
  }
  return With(rewritten, [&](uint32_t id) {
    return (id >= old_bound || were.contains(id)) && !are.contains(id) && !declared_.contains(id);
  });
}

Words Module::With(const Instructions& rewritten, const std::function<bool(uint32_t)>& gone) const {
  Words out = header_;
  out[kBoundWord] = ids.bound();
  ids.Append(declarations, gone, &out);
  for (const Instruction& each : rewritten) spirv::Append(each, &out);
  return out;
}

void RenameCopies(std::span<const Block> blocks, CopiedIds* ids, std::unordered_map<uint32_t, uint32_t>* renamed) {
  for (const Block& block : blocks) {
    (*renamed)[block.label] = ids->Fresh();
    for (const Instruction& each : block.body) {
      if (HasResult(each.op())) (*renamed)[each.words[2]] = ids->CopyOf(each.words[2]);
    }
  }
}

Instruction Renamed(Instruction instruction, const std::unordered_map<uint32_t, uint32_t>& renamed) {
  const auto rename = [&](uint32_t& id) {
    if (const auto it = renamed.find(id); it != renamed.end()) id = it->second;
  };
  VisitOperands(instruction, rename);
  VisitLabels(instruction, rename);
  return instruction;
}

void ReadAs(const std::unordered_map<uint32_t, uint32_t>& same, std::vector<Block>* blocks) {
  if (same.empty()) return;
  for (Instruction& instruction : InstructionsOf(*blocks)) {
    VisitOperands(instruction, [&](uint32_t& id) {
      for (auto it = same.find(id); it != same.end(); it = same.find(id)) id = it->second;
    });
  }
}

bool FindWholeVariables(std::vector<Block>& blocks, std::unordered_set<uint32_t>* variables) {
  std::unordered_set<uint32_t> others;
  for (Instruction& instruction : InstructionsOf(blocks)) {
    const uint32_t op = instruction.op();
    if (op == OpSwitch) return false;
    if (op == OpVariable && instruction.words.size() == 4) variables->insert(instruction.words[2]);
    if (op == OpLoad) continue;
    if (op == OpStore) {
      others.insert(instruction.words[2]);
    } else if (!VisitOperands(instruction, [&](uint32_t& id) { others.insert(id); })) {
      return false;
    }
  }
  std::erase_if(*variables, [&](uint32_t id) { return others.contains(id); });
  return true;
}

}  // namespace VXLA_NAMESPACE::vulkan::spirv
