#include "core/passes/sizes/live_rows.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/ir/module_edits.h"
#include "core/numerics/reducer_facts.h"
#include "core/passes/base/control_flow.h"
#include "core/passes/base/expansion.h"
#include "core/passes/base/fusion_rules.h"
#include "core/passes/sizes/dynamic_padder.h"

namespace VXLA_NAMESPACE {
namespace {

// Less is not worth a kernel that reads a size first.
constexpr int64_t kLeastElements = 16;

// Which rows of a value are read: none so far, those below a size, or all. A row is what has an index along one
// dimension, the first one where nothing else is said.
struct Demand {
  enum class Kind : uint8_t { kNone, kLive, kAll };
  Kind kind = Kind::kNone;
  Instruction* size = nullptr;
  int64_t d = 0;
  bool live() const { return kind == Kind::kLive; }
  friend bool operator==(const Demand&, const Demand&) = default;
};
constexpr Demand kAllRows{Demand::Kind::kAll, nullptr, 0};

// The less of a size and a number is asked for as the size: more is read than is asked for, and what asks for either
// agrees.
Demand Below(Instruction* size, int64_t d = 0) {
  if (size == nullptr) return kAllRows;
  while (size->opcode() == Opcode::kMinimum && size->operand(1)->opcode() == Opcode::kConstant) size = size->operand(0);
  return {Demand::Kind::kLive, size, d};
}

bool SameRows(const Instruction& a, const Instruction& b) {
  return a.shape().IsArray() && b.shape().IsArray() && a.shape().rank() > 0 && b.shape().rank() > 0 &&
         a.shape().dimension(0) == b.shape().dimension(0);
}

// Rows of the operand are the first ones of the result, or the other way around.
bool BeginsWithRows(const Instruction& user, size_t d = 0) {
  if (user.opcode() == Opcode::kSlice) {
    const SliceDimension& rows = user.attributes<SliceAttributes>().slice.at(d);
    return rows.start == 0 && rows.stride == 1;
  }
  if (user.opcode() != Opcode::kPad) return false;
  const PaddingDimension& rows = user.attributes<PadAttributes>().padding.at(d);
  return rows.low == 0 && rows.high >= 0 && rows.interior == 0;
}

bool LeavesRowsAlone(const Instruction& user) {
  switch (user.opcode()) {
    case Opcode::kBroadcast:
    case Opcode::kTranspose:
      return !user.dimensions().empty() && user.dimensions()[0] == 0;
    case Opcode::kReduce:
    case Opcode::kReverse:
    case Opcode::kConcatenate:
      return std::ranges::find(user.dimensions(), 0) == user.dimensions().end();
    case Opcode::kSlice:
    case Opcode::kPad:
      return BeginsWithRows(user);
    case Opcode::kReshape:
    case Opcode::kCopy:
    case Opcode::kBitcastConvert:
      return true;
    default:
      return IsElementwise(user.opcode());
  }
}

// Operand k of a gather, the indices, row by row of the result.
bool GathersByRow(const Instruction& gather, int k) {
  const auto& a = gather.attributes<GatherAttributes>();
  return k == 1 && a.index_vector_dim != 0 && std::ranges::find(a.offset_dims, 0) == a.offset_dims.end();
}

// Row i of the product is made from row i of the operand.
bool MultipliesByRow(const Instruction& dot, int k) {
  const auto& a = dot.attributes<DotAttributes>();
  const IntList& batch = k == 0 ? a.lhs_batch_dims : a.rhs_batch_dims;
  if (!batch.empty()) return batch[0] == 0;
  return k == 0 && std::ranges::find(a.lhs_contracting_dims, 0) == a.lhs_contracting_dims.end();
}

// Of a sort: how many elements live, where nothing is asked of the others but to come last.
Instruction* LiveSizeOfSort(const Instruction& sort) {
  return sort.notes().live_come_first ? LiveSizeOfMask(*sort.operands().back(), 0) : nullptr;
}

Demand BelowOfSetSize(const Instruction& set) {
  const IntList& dimensions = set.dimensions();
  auto at = std::ranges::find(dimensions, 0);
  if (at == dimensions.end() && dimensions.size() == 1) at = dimensions.begin();
  return at == dimensions.end() ? kAllRows : Below(set.operand(1 + static_cast<int>(at - dimensions.begin())), *at);
}

Demand BelowOfMask(const Instruction& mask) {
  for (int64_t d = 0; d < mask.shape().rank(); ++d) {
    if (Instruction* const size = LiveSizeOfMask(mask, d)) return Below(size, d);
  }
  return kAllRows;
}

// What a user of which `of_user` is read reads of its operand k.
Demand DemandOn(const Instruction& user, int k, const Demand& of_user) {
  const Instruction& operand = *user.operand(k);
  if (user.opcode() == Opcode::kSetDimensionSize && k == 0 && user.notes().sizes_in_range) return BelowOfSetSize(user);
  if (of_user.kind == Demand::Kind::kNone) return {};
  if (!operand.shape().IsArray() || operand.shape().rank() == 0) return kAllRows;
  if (user.opcode() == Opcode::kSelect && k == 1 && !of_user.live()) return BelowOfMask(*user.operand(0));
  if (user.opcode() == Opcode::kSort && user.attributes<SortAttributes>().dimensions.at(0) == 0) {
    // What says that an element does not live is read where it does not.
    return LiveSizeOfMask(operand, 0) != nullptr ? kAllRows : Below(LiveSizeOfSort(user));
  }
  if (!of_user.live()) return kAllRows;
  if (k == 0 && BeginsWithRows(user, static_cast<size_t>(of_user.d))) return of_user;
  if (of_user.d != 0) {
    const bool same = IsElementwise(user.opcode()) && SameDimensions(user.shape(), operand.shape());
    return same ? of_user : kAllRows;
  }
  if (user.opcode() == Opcode::kGather) return GathersByRow(user, k) && SameRows(user, operand) ? of_user : kAllRows;
  if (user.opcode() == Opcode::kDot) return MultipliesByRow(user, k) && SameRows(user, operand) ? of_user : kAllRows;
  const bool alike = user.opcode() == Opcode::kReduce ? operand.shape().rank() > 0 : SameRows(user, operand);
  return alike && LeavesRowsAlone(user) ? of_user : kAllRows;
}

using Demands = std::unordered_map<const Instruction*, Demand>;

void Join(Demand& of_value, const Demand& wanted) {
  if (wanted.kind == Demand::Kind::kNone || of_value == wanted) return;
  of_value = of_value.kind == Demand::Kind::kNone ? wanted : kAllRows;
}

std::vector<Instruction*> InOrder(Computation& computation) {
  computation.SortTopologically();
  return InstructionList(computation);
}

// What is asked for in a computation and in the branches of its conditionals: of what a branch gives no more than is
// asked for where the conditional stands, and of what it takes no more than it asks for itself.
class RowReader {
 public:
  explicit RowReader(Demands& demands) : demands_(demands) {}

  void ReadAll(Computation& computation) { Read(computation, {}); }

 private:
  // of_root: of its elements, if it is a tuple and that is known.
  void Read(Computation& computation, const std::vector<Demand>& of_root) {
    const std::vector<Instruction*> order = InOrder(computation);
    Instruction* const root = computation.root();
    demands_[root] = kAllRows;
    if (!of_root.empty()) of_elements_[root] = of_root;
    for (auto i = order.rbegin(); i != order.rend(); ++i) Visit(**i);
  }

  void Visit(const Instruction& user) {
    Demand demand = demands_[&user];
    if (user.HasControlEdges() || user.opcode() == Opcode::kCustomCall) demand = kAllRows;
    if (user.opcode() == Opcode::kConditional) ReadBranches(user);
    const auto elements = of_elements_.find(&user);
    for (int k = 0; k < user.operand_count(); ++k) {
      const bool by_element = elements != of_elements_.end() && user.operand(k)->shape().IsArray();
      Join(demands_[user.operand(k)], by_element ? elements->second[k] : DemandOn(user, k, demand));
    }
  }

  static bool IsArgument(const Instruction& tuple, const Instruction& conditional) {
    return tuple.opcode() == Opcode::kTuple &&
           std::ranges::all_of(tuple.users(), [&](const Instruction* user) { return user == &conditional; });
  }

  void ReadBranches(const Instruction& conditional) {
    if (conditional.HasControlEdges() || !conditional.shape().IsTuple()) return ReadWhole(conditional);
    for (int k = 0; k < static_cast<int>(conditional.called().size()); ++k) {
      Computation& branch = *conditional.called(k);
      Read(branch, OfResults(conditional, branch));
      const Instruction& argument = *conditional.operand(k + 1);
      if (IsArgument(argument, conditional)) TakeArguments(argument, *branch.parameter(0));
    }
  }
  void ReadWhole(const Instruction& conditional) {
    for (Computation* branch : conditional.called()) Read(*branch, {});
  }

  // A demand whose size is an element of `outer`, in terms of the tuple that is its value.
  static Demand Within(const Demand& demand, const Instruction& outer, const Instruction& tuple) {
    if (!demand.live()) return demand;
    const Instruction& size = *demand.size;
    if (size.opcode() != Opcode::kGetTupleElement || size.operand(0) != &outer) return kAllRows;
    const auto at = static_cast<int>(size.attributes<GetTupleElementAttributes>().index);
    return Below(tuple.operand(at), demand.d);
  }

  // In terms of the branch's own sizes.
  std::vector<Demand> OfResults(const Instruction& conditional, const Computation& branch) {
    const Instruction& root = *branch.root();
    if (root.opcode() != Opcode::kTuple) return {};
    std::vector<Demand> asked(conditional.shape().tuple_elements().size());
    for (const Instruction* user : conditional.users()) {
      if (user->opcode() != Opcode::kGetTupleElement) return {};
      const auto index = static_cast<size_t>(user->attributes<GetTupleElementAttributes>().index);
      const Demand demand = user->HasControlEdges() ? kAllRows : demands_[user];
      Join(asked[index], Within(demand, conditional, root));
    }
    return asked;
  }

  void TakeArguments(const Instruction& argument, const Instruction& parameter) {
    std::vector<Demand> asked(static_cast<size_t>(argument.operand_count()));
    for (const Instruction* user : parameter.users()) {
      const bool element = user->opcode() == Opcode::kGetTupleElement;
      for (size_t k = 0; !element && k < asked.size(); ++k) asked[k] = kAllRows;
      if (!element) break;
      Join(asked[user->attributes<GetTupleElementAttributes>().index], Within(demands_[user], parameter, argument));
    }
    auto [known, fresh] = of_elements_.emplace(&argument, asked);
    for (size_t k = 0; !fresh && k < asked.size(); ++k) Join(known->second[k], asked[k]);
  }

  Demands& demands_;
  std::unordered_map<const Instruction*, std::vector<Demand>> of_elements_;  // of tuples
};

class RowMarker {
 public:
  RowMarker(Computation& computation, Demands& demands) : computation_(computation), demands_(demands) {}

  void Run() {
    const std::vector<Instruction*> order = InOrder(computation_);
    for (Instruction* const i : order) {
      if (IsWorthMarking(*i)) Mark(i);
    }
    for (Instruction* const i : order) OwnMask(i);
  }

 private:
  bool IsWorthMarking(const Instruction& i) {
    const auto found = demands_.find(&i);
    if (found == demands_.end() || !found->second.live() || !i.shape().IsArray() || i.shape().IsDynamic()) return false;
    if (i.shape().ElementCount() < kLeastElements || IsFree(i) || i.HasControlEdges()) return false;
    const bool computed = IsFusible(i) || (IsHero(i) && TakesEpilogue(i)) || IsHeroElement(i);
    if (!computed || i.opcode() == Opcode::kConstant || i.opcode() == Opcode::kParameter) return false;
    const Instruction* const size = found->second.size;
    if (size->opcode() == Opcode::kConstant) return false;
    // Of a chain the last one is stored.
    if (i.users().size() == 1) {
      const auto& user = *i.users()[0];
      if (IsElementwise(user.opcode()) && demands_[&user] == found->second) return false;
    }
    return !NeededFor(size).contains(&i);
  }

  // What a size is computed from.
  const std::unordered_set<const Instruction*>& NeededFor(const Instruction* size) {
    auto& needed = needed_for_[size];
    std::vector<const Instruction*> open;
    if (needed.insert(size).second) open.push_back(size);
    while (!open.empty()) {
      const Instruction* const next = open.back();
      open.pop_back();
      const auto add = [&](const Instruction* before) {
        if (needed.insert(before).second) open.push_back(before);
      };
      for (const Instruction* operand : next->operands()) add(operand);
      for (const Instruction* before : next->control_predecessors()) add(before);
    }
    return needed;
  }

  void Mark(Instruction* value) {
    const auto [kind, size, d] = demands_.at(value);
    const std::vector<Instruction*> users(value->users().begin(), value->users().end());
    Expansion made(computation_, *value);
    Instruction* const root = computation_.root();
    const IntList bounds = SizesOf(value->shape());
    Instruction* const index = made.Iota(ElementType::kS32, bounds, d);
    Instruction* const lives = made.Compare(ComparisonDirection::kLt, index, made.Spread(size, bounds));
    Instruction* const mark = made.Add(Opcode::kSelect, value->shape(), {lives, value, value});
    mark->mutable_notes().live_rows = d;
    computation_.set_root(root);
    for (Instruction* const user : users) user->ReplaceOperand(value, mark);
  }

  // A mask that others need too would be read from memory, where nothing shows what it is.
  void OwnMask(Instruction* select) {
    if (select->opcode() != Opcode::kSelect || select->operand(0)->users().size() == 1) return;
    const Instruction& mask = *select->operand(0);
    if (mask.opcode() != Opcode::kCompare || mask.HasControlEdges() || LiveSizeOfMask(mask, 0) == nullptr) return;
    Expansion made(computation_, select);
    Instruction* const root = computation_.root();
    const IntList bounds = SizesOf(mask.shape());
    Instruction* const size = made.Spread(mask.operand(1)->operand(0), bounds);
    Instruction* const own = made.Compare(ComparisonDirection::kLt, made.Iota(ElementType::kS32, bounds, 0), size);
    computation_.set_root(root);
    select->ReplaceOperand(0, own);
  }

  Computation& computation_;
  Demands& demands_;
  std::unordered_map<const Instruction*, std::unordered_set<const Instruction*>> needed_for_;
};

bool SetsLiveSizes(const Computation& computation) {
  return std::ranges::any_of(computation.instructions(), [](const auto& i) {
    return (i->opcode() == Opcode::kSelect && BelowOfMask(*i->operand(0)).live()) ||
           (i->opcode() == Opcode::kSetDimensionSize && i->notes().sizes_in_range);
  });
}

}  // namespace

Instruction* LiveSizeOfMask(const Instruction& mask, int64_t d) {
  if (mask.shape().rank() <= d) return nullptr;
  if (mask.opcode() == Opcode::kAnd) {
    Instruction* const first = LiveSizeOfMask(*mask.operand(0), d);
    return first != nullptr ? first : LiveSizeOfMask(*mask.operand(1), d);
  }
  if (mask.opcode() == Opcode::kBroadcast) {
    const IntList& dimensions = mask.dimensions();
    const auto at = std::ranges::find(dimensions, d);
    if (at == dimensions.end()) return nullptr;
    return LiveSizeOfMask(*mask.operand(0), at - dimensions.begin());
  }
  if (mask.opcode() != Opcode::kCompare || mask.attributes<CompareAttributes>().direction != ComparisonDirection::kLt ||
      mask.operand(0)->shape().element_type() != ElementType::kS32) {
    return nullptr;
  }
  const Instruction& index = *mask.operand(0);
  Instruction* const size = mask.operand(1)->opcode() == Opcode::kBroadcast ? mask.operand(1)->operand(0) : nullptr;
  if (index.opcode() != Opcode::kIota || index.attributes<IotaAttributes>().iota_dimension != d) return nullptr;
  return size != nullptr && size->shape().rank() == 0 ? size : nullptr;
}

const Instruction* LiveRowsOf(const Instruction& instruction, int64_t d) {
  return instruction.notes().live_rows == d ? LiveSizeOfMask(*instruction.operand(0), d) : nullptr;
}

Instruction* LiveSizeOfIdentities(const Instruction& reduce, int64_t d) {
  const Instruction& array = *reduce.operand(0);
  if (reduce.operand_count() != 2 || array.opcode() != Opcode::kSelect) return nullptr;
  const Instruction* other = array.operand(2);
  while (other->opcode() == Opcode::kBroadcast || other->opcode() == Opcode::kConvert) other = other->operand(0);
  const Literal* const value = other->shape().rank() == 0 ? other->known_literal() : nullptr;
  const ReducerFacts facts = FactsOfReducer(*reduce.called(0));
  if (value == nullptr || !facts.identity) return nullptr;
  const ElementType type = value->shape().element_type(), wanted = facts.identity->shape().element_type();
  const bool floats = IsFloating(type) && IsFloating(wanted);
  const bool same = floats ? value->GetDouble(0) == facts.identity->GetDouble(0) : *value == *facts.identity;
  return same ? LiveSizeOfMask(*array.operand(0), d) : nullptr;
}

void MarkLiveRows(Module& module) {
  Demands demands;
  RowReader reader(demands);
  const std::vector<Computation*> computations = ControlComputations(module);
  std::unordered_set<const Computation*> branches;
  for (const Computation* computation : computations) {
    for (const auto& i : computation->instructions()) {
      if (i->opcode() == Opcode::kConditional) branches.insert(i->called().begin(), i->called().end());
    }
  }
  for (Computation* computation : computations) {
    if (!branches.contains(computation)) reader.ReadAll(*computation);
  }
  for (Computation* computation : computations) {
    if (branches.contains(computation) || SetsLiveSizes(*computation)) RowMarker(*computation, demands).Run();
  }
}

}  // namespace VXLA_NAMESPACE
