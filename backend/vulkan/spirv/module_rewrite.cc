#include "backend/vulkan/spirv/module_rewrite.h"

namespace VXLA_NAMESPACE::vulkan::spirv {

ModuleRewrite::ModuleRewrite(const Words& words)
    : header(words.begin(), words.begin() + kHeaderWords), ids(words[kBoundWord]) {
  for (Instruction& instruction : Read(words)) {
    const bool before = functions.empty() && instruction.op() != kFunction;
    if (before) ids.Declare(instruction);
    (before ? declarations : functions).push_back(std::move(instruction));
  }
}

Words ModuleRewrite::Run(const std::function<std::vector<Block>(std::vector<Block>)>& rewrite) {
  Words rewritten;
  std::unordered_set<uint32_t> were, are;  // results
  auto note = [](const Instruction& each, std::unordered_set<uint32_t>* ids_of) {
    if (each.op() == kLabel) ids_of->insert(each.words[1]);
    if (HasResult(each.op()) && each.words.size() > 2) ids_of->insert(each.words[2]);
  };
  auto write = [&](const Instruction& each) {
    note(each, &are);
    Append(each, &rewritten);
  };
  for (const Instruction& instruction : functions) note(instruction, &were);
  for (size_t at = 0; at < functions.size();) {
    if (functions[at].op() != kLabel) {
      write(functions[at++]);
      continue;
    }
    for (const Block& block : rewrite(TakeBlocks(functions, &at))) {
      write(Make(kLabel, {block.label}));
      for (const Instruction& each : block.body) write(each);
    }
  }
  Words out = header;
  out[kBoundWord] = ids.bound();
  const uint32_t old_bound = header[kBoundWord];
  ids.Append(
      declarations, [&](uint32_t id) { return (id >= old_bound || were.contains(id)) && !are.contains(id); }, &out);
  out.insert(out.end(), rewritten.begin(), rewritten.end());
  return out;
}

bool FindWholeVariables(std::vector<Block>& blocks, std::unordered_set<uint32_t>* variables) {
  std::unordered_set<uint32_t> others;
  for (Block& block : blocks) {
    for (Instruction& instruction : block.body) {
      const uint32_t op = instruction.op();
      if (op == kSwitch) return false;
      if (op == kVariable && instruction.words.size() == 4) variables->insert(instruction.words[2]);
      if (op == kLoad) continue;
      if (op == kStore) {
        others.insert(instruction.words[2]);
      } else if (!VisitOperands(instruction, [&](uint32_t& id) { others.insert(id); })) {
        return false;
      }
    }
  }
  std::erase_if(*variables, [&](uint32_t id) { return others.contains(id); });
  return true;
}

}  // namespace VXLA_NAMESPACE::vulkan::spirv
