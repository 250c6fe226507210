#include "core/passes/base/cse.h"

#include <algorithm>
#include <type_traits>

#include "core/host/hash.h"
#include "core/ir/module_edits.h"

namespace VXLA_NAMESPACE {
namespace {

bool IsBarrier(const Instruction& instruction) { return instruction.opcode() == Opcode::kOptimizationBarrier; }

// What must not be merged, here or in what is called.
struct Apart {
  EqualCollectives collectives;
  SideEffects effects;
  DeepProperty barriers{IsBarrier};
  bool Of(const Instruction& instruction) { return effects.Of(instruction) || barriers.Of(instruction); }
};

bool MayMerge(const Instruction& instruction, Apart& apart) {
  using enum Opcode;
  const Opcode opcode = instruction.opcode();
  if (IsAnyOf(opcode, kAllGather, kAllReduce, kAllToAll, kCollectiveBroadcast, kCollectivePermute, kReduceScatter))
    return apart.collectives == EqualCollectives::kMerged && instruction.control_predecessors().empty();
  if (IsAnyOf(opcode, kParameter, kCopyStart, kCopyDone, kAsyncStart, kAsyncUpdate, kAsyncDone, kAfterAll,
              kAddDependency, kDomain))
    return false;
  const std::string_view family = FactsOf(opcode).family;
  if ((family == "collectives" || family == "host_transfer") && !IsAnyOf(opcode, kPartitionId, kReplicaId, kCustomCall))
    return false;
  return instruction.control_predecessors().empty() && !apart.Of(instruction);
}

bool SameLayouts(const Shape& a, const Shape& b) {
  return a.MinorToMajor() == b.MinorToMajor() &&
         std::ranges::equal(a.tuple_elements(), b.tuple_elements(), SameLayouts);
}

void Mix(size_t& hash, size_t value) { hash = SplitMix(hash ^ (value + kSplitMixStep)); }

// Fields of other types are left to the comparison.
struct FieldHash {
  size_t& hash;

  void operator()(const char*, const auto& field, FieldKind) const { Add(field); }
  template <typename T>
  void Add(const T& field) const {
    if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      Mix(hash, static_cast<size_t>(field));
    } else if constexpr (std::is_same_v<T, std::string>) {
      Mix(hash, std::hash<std::string>{}(field));
    }
  }
  template <typename T>
  void Add(const std::vector<T>& list) const {
    for (const T& item : list) Add(item);
  }
  void Add(const SliceDimension& d) const {
    for (int64_t part : {d.start, d.limit, d.stride}) Mix(hash, static_cast<size_t>(part));
  }
  void Add(const PaddingDimension& d) const {
    for (int64_t part : {d.low, d.high, d.interior}) Mix(hash, static_cast<size_t>(part));
  }
  void Add(const WindowDimension& d) const {
    for (int64_t part : {d.size, d.stride, d.pad_low, d.pad_high}) Mix(hash, static_cast<size_t>(part));
  }
};

// Equal instructions have equal hashes. A program may have thousands of slices of one value or of constants, so these
// must not fall together.
size_t HashOf(const Instruction& instruction) {
  size_t hash = static_cast<size_t>(instruction.opcode());
  Mix(hash, static_cast<size_t>(instruction.shape().element_type()));
  for (int64_t size : instruction.shape().dimensions()) Mix(hash, static_cast<size_t>(size));
  for (const Instruction* operand : instruction.operands()) Mix(hash, std::hash<const void*>{}(operand));
  for (const Computation* called : instruction.called()) Mix(hash, called->instructions().size());
  if (instruction.known_literal() != nullptr) {
    for (const Literal* leaf : FlattenLiteral(instruction.literal())) {
      const auto bytes = leaf->bytes();
      Mix(hash, std::hash<std::string_view>{}({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
    }
  }
  std::visit(
      [&](const auto& attributes) { std::decay_t<decltype(attributes)>::VisitFields(attributes, FieldHash{hash}); },
      instruction.attributes());
  return hash;
}

bool SameButForOperands(const Instruction& a, const Instruction& b) {
  if (a.opcode() != b.opcode() || !(a.shape() == b.shape()) || !SameLayouts(a.shape(), b.shape())) return false;
  if (a.called().size() != b.called().size() || !(a.attributes() == b.attributes())) return false;
  // Elided constants have no value, so they equal nothing.
  if (a.opcode() == Opcode::kConstant && a.known_literal() == nullptr) return false;
  if (a.opcode() == Opcode::kCustomCall && !(a.common().backend_config == b.common().backend_config)) return false;
  return true;
}

// Whether computations compute the same; equal pairs are remembered, so that what two nests share is compared once.
class Comparison {
 public:
  bool Same(const Instruction& a, const Instruction& b) {
    return SameButForOperands(a, b) &&
           std::ranges::equal(a.called(), b.called(),
                              [&](const Computation* x, const Computation* y) { return Same(*x, *y); });
  }

  bool Same(const Computation& a, const Computation& b) {
    if (&a == &b || equal_[&a].contains(&b)) return true;
    if (a.instructions().size() != b.instructions().size() || a.parameters().size() != b.parameters().size())
      return false;
    std::unordered_map<const Instruction*, const Instruction*> twin;
    auto twins = [&](const Instruction* p, const Instruction* q) { return twin.at(p) == q; };
    for (auto i = a.instructions().begin(), j = b.instructions().begin(); i != a.instructions().end(); ++i, ++j) {
      const Instruction &x = **i, &y = **j;
      if (!SameButForOperands(x, y) || !std::ranges::equal(x.operands(), y.operands(), twins)) return false;
      if (!std::ranges::equal(x.control_predecessors(), y.control_predecessors(), twins)) return false;
      if (!Same(x, y) || effects_.Of(x)) return false;
      twin[&x] = &y;
    }
    if (twin.at(a.root()) != b.root()) return false;
    equal_[&a].insert(&b);
    return true;
  }

 private:
  std::unordered_map<const Computation*, std::unordered_set<const Computation*>> equal_;
  SideEffects effects_;
};

bool MergeIn(Computation& computation, Comparison& comparison, Apart& apart) {
  std::unordered_map<size_t, std::vector<Instruction*>> seen;
  bool changed = false;
  for (Instruction* instruction : InstructionList(computation)) {  // operands come first, so theirs are merged already
    if (!MayMerge(*instruction, apart)) continue;
    std::vector<Instruction*>& candidates = seen[HashOf(*instruction)];
    auto same = std::ranges::find_if(candidates, [&](const Instruction* other) {
      return std::ranges::equal(instruction->operands(), other->operands()) && comparison.Same(*instruction, *other);
    });
    if (same == candidates.end()) {
      candidates.push_back(instruction);
      continue;
    }
    computation.ReplaceAllUses(instruction, *same);
    if (Has(instruction->opcode(), Trait::kMeets)) computation.Remove(instruction);
    changed = true;
  }
  if (changed) computation.RemoveDead();
  return changed;
}

}  // namespace

bool SameStructure(const Computation& a, const Computation& b) { return Comparison().Same(a, b); }

bool EliminateCommonSubexpressions(Module& module, EqualCollectives collectives) {
  bool changed = false;
  Comparison comparison;
  Apart apart{collectives, {}};
  for (const auto& computation : module.computations()) changed |= MergeIn(*computation, comparison, apart);
  if (changed) module.RemoveUnusedComputations();
  return changed;
}

}  // namespace VXLA_NAMESPACE
