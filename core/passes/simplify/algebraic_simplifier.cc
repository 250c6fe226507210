#include <algorithm>

#include "core/host/ranges.h"
#include "core/ir/module_edits.h"
#include "core/numerics/reducer_facts.h"
#include "core/passes/base/control_flow.h"
#include "core/passes/base/expansion.h"
#include "core/passes/base/fusion_rules.h"
#include "core/passes/simplify/simplifiers.h"

namespace VXLA_NAMESPACE {
namespace {

bool IsIdentitySlice(const Instruction& slice) {
  const auto& dims = slice.attributes<SliceAttributes>().slice;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d].start != 0 || dims[d].stride != 1) return false;
  }
  return SameDimensions(slice.shape(), slice.operand(0)->shape());
}

bool IsIdentityPad(const Instruction& pad) {
  return std::ranges::all_of(pad.attributes<PadAttributes>().padding,
                             [](const PaddingDimension& p) { return p == PaddingDimension{}; });
}

bool IsIdentityReverse(const Instruction& reverse) {
  return std::ranges::all_of(reverse.dimensions(), [&](int64_t d) { return reverse.shape().dimension(d) == 1; });
}

// The operand that an instruction passes on unchanged, or null.
Instruction* PassedOn(const Instruction& i) {
  Instruction* operand = i.operand_count() > 0 ? i.operand(0) : nullptr;
  switch (i.opcode()) {
    case Opcode::kCopy:
      return operand;
    case Opcode::kConvert:
    case Opcode::kBitcastConvert:
      return operand->shape().element_type() == i.shape().element_type() ? operand : nullptr;
    case Opcode::kReshape:
      return SameDimensions(i.shape(), operand->shape()) ? operand : nullptr;
    case Opcode::kTranspose:
    case Opcode::kBroadcast:
      return SameDimensions(i.shape(), operand->shape()) && i.dimensions() == UpTo(i.shape().rank()) ? operand
                                                                                                     : nullptr;
    case Opcode::kSlice:
      return IsIdentitySlice(i) ? operand : nullptr;
    case Opcode::kPad:
      return IsIdentityPad(i) ? operand : nullptr;
    case Opcode::kReverse:
      return IsIdentityReverse(i) ? operand : nullptr;
    case Opcode::kConcatenate:
      return i.operand_count() == 1 ? operand : nullptr;
    case Opcode::kGetTupleElement:
      return operand->opcode() == Opcode::kTuple ? operand->operand(i.attributes<GetTupleElementAttributes>().index)
                                                 : nullptr;
    default:
      return nullptr;
  }
}

class Rewriter {
 public:
  Rewriter(Computation& entry, const TargetInfo& target) : entry_(entry), target_(target) {}

  // What is ordered stays, and so does what is read through something ordered: its order would be lost.
  bool Visit(Instruction* i) {
    if (i->HasControlEdges() || (i->operand_count() > 0 && i->operand(0)->HasControlEdges())) return false;
    if (Instruction* same = PassedOn(*i)) {
      entry_.ReplaceAllUses(i, same);
      return true;
    }
    switch (i->opcode()) {
      case Opcode::kReshape:
        return MergeReshapes(i);
      case Opcode::kTranspose:
        return MergeTransposes(i) || TransposeOfBroadcast(i) || TransposeToReshape(i) || TransposeOfDot(i) ||
               TransposeOfEpilogue(i);
      case Opcode::kBroadcast:
        return MergeBroadcasts(i);
      case Opcode::kSlice:
        return MergeSlices(i);
      case Opcode::kPad:
        return PadToSlice(i);
      case Opcode::kReduce:
        return ReduceOfOneElement(i) || ReduceOfTranspose(i);
      default:
        return false;
    }
  }

 private:
  void Replace(Instruction* old, Opcode opcode, Instruction* operand, Attributes attributes) {
    entry_.ReplaceAllUses(old, Expansion(entry_, old).Add(opcode, old->shape(), {operand}, std::move(attributes)));
  }

  bool MergeReshapes(Instruction* i) {
    if (i->operand(0)->opcode() != Opcode::kReshape) return false;
    Replace(i, Opcode::kReshape, i->operand(0)->operand(0), NoAttributes{});
    return true;
  }

  bool MergeTransposes(Instruction* i) {
    const Instruction* inner = i->operand(0);
    if (inner->opcode() != Opcode::kTranspose) return false;
    IntList merged = Transformed(i->dimensions(), [&](int64_t d) { return inner->dimensions()[d]; });
    Replace(i, Opcode::kTranspose, inner->operand(0), DimensionsAttributes{merged});
    return true;
  }

  bool TransposeOfBroadcast(Instruction* i) {
    const Instruction* broadcast = i->operand(0);
    if (broadcast->opcode() != Opcode::kBroadcast) return false;
    IntList dimensions;
    for (int64_t d : broadcast->dimensions())
      dimensions.push_back(std::ranges::find(i->dimensions(), d) - i->dimensions().begin());
    if (!std::ranges::is_sorted(dimensions)) return false;
    Replace(i, Opcode::kBroadcast, broadcast->operand(0), DimensionsAttributes{dimensions});
    return true;
  }

  // A transpose that moves only dimensions of size 1 keeps the order of the elements.
  bool TransposeToReshape(Instruction* i) {
    IntList moving;
    for (int64_t d : i->dimensions()) {
      if (i->operand(0)->shape().dimension(d) != 1) moving.push_back(d);
    }
    if (!std::ranges::is_sorted(moving)) return false;
    Replace(i, Opcode::kReshape, i->operand(0), NoAttributes{});
    return true;
  }

  // Whether the permutation exchanges the free dimensions of a dot's operands.
  static bool ExchangesFree(const Instruction& dot, const IntList& permutation) {
    const auto& attributes = dot.attributes<DotAttributes>();
    const auto batch = std::ssize(attributes.lhs_batch_dims);
    const int64_t lhs_free = dot.operand(0)->shape().rank() - batch - std::ssize(attributes.lhs_contracting_dims);
    const int64_t rank = dot.shape().rank();
    IntList exchanged = UpTo(batch);
    for (int64_t d = batch + lhs_free; d < rank; ++d) exchanged.push_back(d);
    for (int64_t d = batch; d < batch + lhs_free; ++d) exchanged.push_back(d);
    return permutation == exchanged;
  }

  // transpose(dot(a, b)) that exchanges the free dimensions of a and b is dot(b, a): the products commute, their order
  // stays.
  bool TransposeOfDot(Instruction* i) {
    Instruction* dot = i->operand(0);
    if (dot->opcode() != Opcode::kDot || dot->users().size() != 1) return false;
    if (!ExchangesFree(*dot, i->dimensions())) return false;
    const auto& attributes = dot->attributes<DotAttributes>();
    DotAttributes swapped = attributes;
    std::swap(swapped.lhs_batch_dims, swapped.rhs_batch_dims);
    std::swap(swapped.lhs_contracting_dims, swapped.rhs_contracting_dims);
    if (swapped.operand_precision.size() == 2) std::swap(swapped.operand_precision[0], swapped.operand_precision[1]);
    auto instruction = dot->CloneWith({dot->operand(1), dot->operand(0)}, i->shape());
    instruction->mutable_attributes() = swapped;
    entry_.ReplaceAllUses(i, entry_.InsertBefore(i, std::move(instruction)));
    return true;
  }

  // The transpose of what is made of one dot element by element, as above: it moves ahead to the dot, so that what
  // follows it is one epilogue. Beside the dot there is nothing but numbers and broadcasts, which cost the same either
  // way round; arrays would be read against their order. A product whose operands both lie against their order takes
  // up to 1.4 times as long, which is more than another dispatch where those are cheap.
  bool TransposeOfEpilogue(Instruction* i) {
    if (target_.cheap_dispatches) return false;
    constexpr size_t kMostLinks = 64;
    std::vector<Instruction*> links, work{i->operand(0)};  // links: readers first
    int dots = 0;
    while (!work.empty()) {
      Instruction* value = work.back();
      work.pop_back();
      const bool broadcast = value->opcode() == Opcode::kBroadcast &&
                             value->operand(0)->shape().ElementCount() < value->shape().ElementCount();
      if (broadcast || value->shape().rank() == 0 || Contains(links, value)) continue;
      const bool dot = value->opcode() == Opcode::kDot;
      if ((!dot && !IsElementwise(value->opcode())) || value->users().size() != 1 || value->HasControlEdges() ||
          TouchesLiveSizes(*value) || links.size() == kMostLinks) {
        return false;
      }
      if (dot && !ExchangesFree(*value, i->dimensions())) return false;
      dots += dot ? 1 : 0;
      if (dot) continue;
      links.push_back(value);
      work.insert(work.end(), value->operands().begin(), value->operands().end());
    }
    if (dots != 1 || links.empty()) return false;
    // Operands before their readers; each link has one.
    std::unordered_map<const Instruction*, Instruction*> moved;
    const auto transposed = [&](Instruction* value) {
      if (value->shape().rank() == 0) return value;
      if (const auto known = moved.find(value); known != moved.end()) return known->second;
      return moved[value] = Expansion(entry_, i).Transposed(value, i->dimensions());
    };
    for (auto link = links.rbegin(); link != links.rend(); ++link) {
      auto operands = Transformed((*link)->operands(), [&](Instruction* operand) { return transposed(operand); });
      Shape shape((*link)->shape().element_type(), SizesOf(i->shape()));
      moved[*link] = entry_.InsertBefore(i, (*link)->CloneWith(std::move(operands), std::move(shape)));
    }
    entry_.ReplaceAllUses(i, moved.at(links.front()));
    return true;
  }

  bool MergeBroadcasts(Instruction* i) {
    const Instruction* inner = i->operand(0);
    if (inner->opcode() != Opcode::kBroadcast) return false;
    IntList merged = Transformed(inner->dimensions(), [&](int64_t d) { return i->dimensions()[d]; });
    Replace(i, Opcode::kBroadcast, inner->operand(0), DimensionsAttributes{merged});
    return true;
  }

  static SliceDimension SliceOf(int64_t start, int64_t count, int64_t stride) {
    if (count == 0) return {0, 0, 1};
    if (count == 1) return {start, start + 1, 1};
    return {start, start + (count - 1) * stride + 1, stride};
  }

  bool MergeSlices(Instruction* i) {
    const Instruction* inner = i->operand(0);
    if (inner->opcode() != Opcode::kSlice) return false;
    const auto &of = inner->attributes<SliceAttributes>().slice, &part = i->attributes<SliceAttributes>().slice;
    SliceAttributes merged;
    for (size_t d = 0; d < part.size(); ++d) {
      const int64_t count = i->shape().dimension(d);
      const int64_t start = count > 0 ? of[d].start + of[d].stride * part[d].start : 0;
      merged.slice.push_back(SliceOf(start, count, count > 1 ? of[d].stride * part[d].stride : 1));
    }
    Replace(i, Opcode::kSlice, inner->operand(0), std::move(merged));
    return true;
  }

  // What only takes elements away needs no value to put in their place.
  bool PadToSlice(Instruction* i) {
    SliceAttributes slice;
    for (const PaddingDimension& p : i->attributes<PadAttributes>().padding) {
      if (p.low > 0 || p.high > 0 || p.interior != 0) return false;
      const int64_t count = i->shape().dimension(slice.slice.size());
      slice.slice.push_back(SliceOf(-p.low, count, 1));
    }
    Replace(i, Opcode::kSlice, i->operand(0), std::move(slice));
    return true;
  }

  // A row of one element: computation(init, x), element by element.
  bool ReduceOfOneElement(Instruction* i) {
    const Shape& operand = i->operand(0)->shape();
    const bool single = std::ranges::all_of(i->dimensions(), [&](int64_t d) { return operand.dimension(d) == 1; });
    if (i->operand_count() != 2 || !single || operand.IsDynamic()) return false;
    Expansion at(entry_, i);
    Instruction* init = at.Add(Opcode::kBroadcast, i->shape(), {i->operand(1)}, DimensionsAttributes{});
    Instruction* value = at.Add(Opcode::kReshape, i->shape(), {i->operand(0)});
    entry_.ReplaceAllUses(i, at.Add(Opcode::kMap, i->shape(), {init, value},
                                    DimensionsAttributes{UpTo(i->shape().rank())}, {i->called(0)}));
    return true;
  }

  // reduce(transpose(x), dims) is reduce(x, permuted dims), transposed where the kept dimensions change their order.
  // Only where nothing but reduces reads the transpose: beside an elementwise reader it is better to keep their element
  // spaces equal, so that they fuse. Elements must keep their order, unless the reducer commutes and associates.
  bool ReduceOfTranspose(Instruction* i) {
    const int inputs = i->operand_count() / 2;
    const Instruction* first = i->operand(0);
    if (inputs != 1 || first->opcode() != Opcode::kTranspose || !OnlyReducesRead(first)) return false;
    const IntList& permutation = first->dimensions();
    IntList reduced, kept;  // in the untransposed operand's numbering
    for (size_t d = 0; d < permutation.size(); ++d) {
      const bool is_reduced = Contains(i->dimensions(), static_cast<int64_t>(d));
      (is_reduced ? reduced : kept).push_back(permutation[d]);
    }
    if (!std::ranges::is_sorted(reduced)) {
      const ReducerFacts facts = FactsOfReducer(*i->called(0));
      if (!facts.commutes || facts.in_order()) return false;
      std::ranges::sort(reduced);
    }
    IntList sorted = kept;
    std::ranges::sort(sorted);
    IntList sizes, back;
    for (int64_t d : sorted) sizes.push_back(first->operand(0)->shape().dimension(d));
    for (int64_t d : kept) back.push_back(std::ranges::find(sorted, d) - sorted.begin());
    auto reduce = i->CloneWith({first->operand(0), i->operand(1)}, Shape(i->shape().element_type(), sizes));
    reduce->mutable_attributes() = DimensionsAttributes{reduced};
    Instruction* added = entry_.InsertBefore(i, std::move(reduce));
    Replace(i, Opcode::kTranspose, added, DimensionsAttributes{back});
    return true;
  }

  // Asked of a transpose once: it may have thousands of readers.
  bool OnlyReducesRead(const Instruction* transpose) {
    const auto [at, fresh] = only_reduces_read_.emplace(transpose, false);
    if (fresh) {
      at->second = std::ranges::all_of(transpose->users(),
                                       [](const Instruction* user) { return user->opcode() == Opcode::kReduce; });
    }
    return at->second;
  }

  Computation& entry_;
  const TargetInfo& target_;
  std::unordered_map<const Instruction*, bool> only_reduces_read_;
};

}  // namespace

bool SimplifyAlgebra(Module& module, const TargetInfo& target) {
  bool changed = false;
  for (Computation* computation : ControlComputations(module)) {
    Rewriter rewriter(*computation, target);
    for (Instruction* instruction : InstructionList(*computation)) {
      const bool live = !instruction->users().empty() || instruction == computation->root();
      if (live && instruction->opcode() != Opcode::kParameter && !TouchesLiveSizes(*instruction))
        changed |= rewriter.Visit(instruction);
    }
    computation->RemoveDead();
  }
  return changed;
}

}  // namespace VXLA_NAMESPACE
