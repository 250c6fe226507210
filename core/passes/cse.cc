#include "core/passes/cse.h"

#include <algorithm>
#include <cstring>

namespace vxla {
namespace {

bool MayMerge(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kParameter:
    case Opcode::kOptimizationBarrier:
    case Opcode::kCopyStart:
    case Opcode::kCopyDone:
    case Opcode::kAsyncStart:
    case Opcode::kAsyncUpdate:
    case Opcode::kAsyncDone:
    case Opcode::kAfterAll:
    case Opcode::kAddDependency:
    case Opcode::kDomain:
      return false;
    case Opcode::kPartitionId:
    case Opcode::kReplicaId:
    case Opcode::kCustomCall:
      break;
    default: {
      const std::string_view family = FactsOf(instruction.opcode()).family;
      if (family == "collectives" || family == "host_transfer") return false;
    }
  }
  return instruction.control_predecessors().empty() && !HasSideEffect(instruction);
}

bool SameLayouts(const Shape& a, const Shape& b) {
  return a.MinorToMajor() == b.MinorToMajor() &&
         std::ranges::equal(a.tuple_elements(), b.tuple_elements(), SameLayouts);
}

void Mix(size_t& hash, size_t value) { hash ^= value + 0x9e3779b97f4a7c15 + (hash << 6) + (hash >> 2); }

// Equal instructions have equal hashes; attributes are left to the comparison, but for the values of constants, of
// which a program may have thousands.
size_t HashOf(const Instruction& instruction) {
  size_t hash = static_cast<size_t>(instruction.opcode());
  Mix(hash, static_cast<size_t>(instruction.shape().element_type()));
  for (int64_t size : instruction.shape().dimensions()) Mix(hash, static_cast<size_t>(size));
  for (const Instruction* operand : instruction.operands()) Mix(hash, std::hash<const void*>{}(operand));
  if (instruction.opcode() == Opcode::kConstant && instruction.attributes<ConstantAttributes>().literal != nullptr) {
    for (const Literal* leaf : FlattenLiteral(instruction.literal())) {
      const auto bytes = leaf->bytes();
      Mix(hash, std::hash<std::string_view>{}({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
    }
  } else if (instruction.opcode() == Opcode::kGetTupleElement) {
    Mix(hash, static_cast<size_t>(instruction.attributes<GetTupleElementAttributes>().index));
  }
  return hash;
}

bool SameButForOperands(const Instruction& a, const Instruction& b) {
  if (a.opcode() != b.opcode() || !(a.shape() == b.shape()) || !SameLayouts(a.shape(), b.shape())) return false;
  if (a.called().size() != b.called().size() || !(a.attributes() == b.attributes())) return false;
  // Elided constants have no value, so they equal nothing.
  if (a.opcode() == Opcode::kConstant && a.attributes<ConstantAttributes>().literal == nullptr) return false;
  if (a.opcode() == Opcode::kCustomCall && !(a.common().backend_config == b.common().backend_config)) return false;
  return std::ranges::equal(a.called(), b.called(),
                            [](const Computation* x, const Computation* y) { return x == y || SameStructure(*x, *y); });
}

bool MergeIn(Computation& computation) {
  std::unordered_map<size_t, std::vector<Instruction*>> seen;
  std::vector<Instruction*> instructions;
  for (const auto& instruction : computation.instructions()) instructions.push_back(instruction.get());
  bool changed = false;
  for (Instruction* instruction : instructions) {  // operands come first, so theirs are merged already
    if (!MayMerge(*instruction)) continue;
    std::vector<Instruction*>& candidates = seen[HashOf(*instruction)];
    auto same = std::ranges::find_if(candidates, [&](const Instruction* other) {
      return std::ranges::equal(instruction->operands(), other->operands()) && SameButForOperands(*instruction, *other);
    });
    if (same == candidates.end()) {
      candidates.push_back(instruction);
      continue;
    }
    computation.ReplaceAllUses(instruction, *same);
    changed = true;
  }
  if (changed) computation.RemoveDead();
  return changed;
}

}  // namespace

bool SameStructure(const Computation& a, const Computation& b) {
  if (&a == &b) return true;
  if (a.instructions().size() != b.instructions().size() || a.parameters().size() != b.parameters().size())
    return false;
  std::unordered_map<const Instruction*, const Instruction*> twin;
  for (size_t i = 0; i < a.instructions().size(); ++i) {
    const Instruction& x = *a.instructions()[i];
    const Instruction& y = *b.instructions()[i];
    if (!SameButForOperands(x, y) || HasSideEffect(x)) return false;
    auto twins = [&](const Instruction* p, const Instruction* q) { return twin.at(p) == q; };
    if (!std::ranges::equal(x.operands(), y.operands(), twins)) return false;
    if (!std::ranges::equal(x.control_predecessors(), y.control_predecessors(), twins)) return false;
    twin[&x] = &y;
  }
  return twin.at(a.root()) == b.root();
}

bool EliminateCommonSubexpressions(Module& module) {
  bool changed = false;
  for (const auto& computation : module.computations()) changed |= MergeIn(*computation);
  if (changed) module.RemoveUnusedComputations();
  return changed;
}

}  // namespace vxla
