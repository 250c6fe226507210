#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_set>

#include "core/host/ranges.h"
#include "core/maps/dot_sides.h"
#include "core/numerics/reducer_facts.h"
#include "core/passes/base/control_flow.h"
#include "core/passes/base/expansion.h"
#include "core/passes/scans/scans.h"

namespace VXLA_NAMESPACE {
namespace {

// Entries of an array's element, terms of an entry's sum, and instructions of a function that is looked through.
constexpr int64_t kMostEntries = 16, kMostTerms = 16;
constexpr size_t kMostOfFunction = 256;
// A lane of the scan's kernel holds a few values of each.
constexpr int kMostArrays = 20;

int64_t ExtentOf(const Instruction& i, int dimension) { return dimension < 0 ? 1 : i.shape().dimension(dimension); }

int64_t StrideOf(const Shape& shape, int dimension) {
  int64_t stride = 1;
  for (int d = dimension + 1; d < shape.rank(); ++d) stride *= shape.dimension(d);
  return stride;
}

int64_t LinearOf(const Shape& shape, const IntList& index) {
  int64_t linear = 0;
  for (int d = 0; d < shape.rank(); ++d) linear = linear * shape.dimension(d) + index[d];
  return linear;
}

IntList IndexOf(const Shape& shape, int64_t linear) {
  IntList index(static_cast<size_t>(shape.rank()));
  for (int d = shape.rank(); d-- > 0;) {
    index[d] = linear % shape.dimension(d);
    linear /= shape.dimension(d);
  }
  return index;
}

// The recursion of one scan, entry by entry. An entry of an array is s32[n] or the like: the elements along the
// dimension that is scanned, at one index of the others; where n is 1 the array may lack the dimension (-1).
class EntryWriter : private Expansion {
 public:
  EntryWriter(Computation& computation, Instruction* root, int64_t extent, bool wide)
      : Expansion(computation, root), extent_(extent), wide_(wide) {}

  // Of the result; null where something else than a recursion makes it.
  Instruction* ResultEntry(Instruction* root, int dimension, const IntList& index) {
    std::vector<Instruction*> parts;
    seen_.insert(root);
    for (Instruction* const pad : root->operands()) {
      seen_.insert(pad);
      parts.push_back(Padded(*pad, dimension, index));
      if (parts.back() == nullptr) return nullptr;
    }
    return Binary(root->opcode(), parts[0], parts[1]);
  }
  // Whether nothing else needs what the levels compute (a gradient does): the scan would be work on top of it.
  bool StandsAlone(const Computation& computation) const {
    const auto counts = [&](const Instruction* user) {
      const bool empty = user->shape().IsArray() && user->shape().ElementCount() == 0;
      return !empty && (!user->users().empty() || user == computation.root());
    };
    return std::ranges::all_of(inner_, [&](const Instruction* i) {
      return i != computation.root() && std::ranges::all_of(i->users(), [&](const Instruction* user) {
               return seen_.contains(user) || made_.contains(user) || !counts(user);
             });
    });
  }
  using Expansion::Concatenated;
  using Expansion::Reshaped;
  using Expansion::Transposed;

 private:
  Instruction* Entry(Instruction* i, int dimension, const IntList& index) {
    const auto key = std::tuple(static_cast<const Instruction*>(i), dimension, index);
    if (const auto known = entries_.find(key); known != entries_.end()) return known->second;
    const bool taken = ExtentOf(*i, dimension) == extent_;
    seen_.insert(i);
    if (!taken && i->shape().rank() > 0) inner_.insert(i);
    Instruction* const entry = taken ? Taken(i, dimension, index) : Computed(*i, dimension, index);
    made_.insert(entry);
    return entries_[key] = entry;
  }

  // Of what is scanned, and of what is as long.
  Instruction* Taken(Instruction* i, int dimension, const IntList& index) {
    SliceAttributes attributes;
    IntList sizes;
    for (int d = 0; d < i->shape().rank(); ++d) {
      const int64_t start = d == dimension ? 0 : index[d];
      sizes.push_back(d == dimension ? extent_ : 1);
      attributes.slice.push_back({.start = start, .limit = start + sizes.back(), .stride = 1});
    }
    Instruction* const slice = Add(Opcode::kSlice, Shape(i->shape().element_type(), sizes), {i}, attributes);
    return Reshaped(slice, {extent_});
  }

  Instruction* Computed(Instruction& i, int dimension, const IntList& index) {
    if (!i.shape().IsArray() || i.HasControlEdges() || !i.called().empty()) return nullptr;
    switch (i.opcode()) {
      case Opcode::kPad:
        return Padded(i, dimension, index);
      case Opcode::kSlice:
        return Sliced(i, dimension, index);
      case Opcode::kConcatenate:
        return Joined(i, dimension, index);
      case Opcode::kReshape:
        return OfReshape(i, dimension, index);
      case Opcode::kTranspose: {
        IntList inner(index.size());
        int along = -1;
        for (size_t d = 0; d < inner.size(); ++d) {
          inner[i.dimensions()[d]] = index[d];
          if (static_cast<int>(d) == dimension) along = static_cast<int>(i.dimensions()[d]);
        }
        return Entry(i.operand(0), along, inner);
      }
      case Opcode::kBroadcast:
        return OfBroadcast(i, dimension, index);
      case Opcode::kDot:
        return Product(i, dimension, index);
      default:
        return IsElementwise(i.opcode()) ? Elementwise(i, dimension, index) : nullptr;
    }
  }

  Instruction* Padded(const Instruction& i, int dimension, const IntList& index) {
    const auto& padding = i.attributes<PadAttributes>().padding;
    for (size_t d = 0; d < padding.size(); ++d) {
      if (static_cast<int>(d) != dimension && padding[d] != PaddingDimension{}) return nullptr;
    }
    Instruction* const entry = Entry(i.operand(0), dimension, index);
    if (entry == nullptr || dimension < 0) return entry;
    const Shape shape(i.shape().element_type(), {i.shape().dimension(dimension)});
    return Add(Opcode::kPad, shape, {entry, i.operand(1)}, PadAttributes{{padding[dimension]}});
  }

  Instruction* Sliced(const Instruction& i, int dimension, const IntList& index) {
    const auto& slice = i.attributes<SliceAttributes>().slice;
    IntList inner = index;
    for (size_t d = 0; d < inner.size(); ++d) {
      if (static_cast<int>(d) != dimension) inner[d] = slice[d].start + index[d] * slice[d].stride;
    }
    Instruction* const entry = Entry(i.operand(0), dimension, inner);
    if (entry == nullptr || dimension < 0) return entry;
    const Shape shape(i.shape().element_type(), {i.shape().dimension(dimension)});
    return Add(Opcode::kSlice, shape, {entry}, SliceAttributes{{slice[dimension]}});
  }

  Instruction* Joined(const Instruction& i, int dimension, const IntList& index) {
    const int64_t along = i.dimensions()[0];
    if (along != dimension) {
      IntList inner = index;
      int64_t& place = inner[along];
      for (Instruction* const operand : i.operands()) {
        const int64_t size = operand->shape().dimension(along);
        if (place < size) return Entry(operand, dimension, inner);
        place -= size;
      }
      return nullptr;
    }
    std::vector<Instruction*> entries;
    for (Instruction* const operand : i.operands()) {
      if (operand->shape().dimension(dimension) == 0) continue;
      entries.push_back(Entry(operand, dimension, index));
      if (entries.back() == nullptr) return nullptr;
    }
    if (entries.size() == 1) return entries[0];
    return entries.empty() ? nullptr : Concatenated(entries, 0);
  }

  Instruction* OfReshape(const Instruction& i, int dimension, const IntList& index) {
    const Shape &from = i.operand(0)->shape(), &to = i.shape();
    IntList first = index;
    if (dimension >= 0) first[dimension] = 0;
    const int64_t extent = ExtentOf(i, dimension);
    std::optional<int> along;
    if (extent == 1) {
      along = -1;
      for (int d = from.rank(); d-- > 0;) {
        if (from.dimension(d) == 1 && (along == -1 || along != dimension)) along = d;
      }
    } else {
      for (int d = 0; d < from.rank(); ++d) {
        if (from.dimension(d) == extent && StrideOf(from, d) == StrideOf(to, dimension)) along = d;
      }
    }
    return along ? Entry(i.operand(0), *along, IndexOf(from, LinearOf(to, first))) : nullptr;
  }

  Instruction* OfBroadcast(const Instruction& i, int dimension, const IntList& index) {
    Instruction* const operand = i.operand(0);
    if (operand->shape().rank() == 0) return Spread(operand, {ExtentOf(i, dimension)});
    const IntList& places = i.dimensions();
    IntList inner = Transformed(places, [&](const int64_t place) { return index[place]; });
    const auto at = std::ranges::find(places, dimension);
    if (at == places.end() && ExtentOf(i, dimension) != 1) return nullptr;
    return Entry(operand, at == places.end() ? -1 : static_cast<int>(at - places.begin()), inner);
  }

  // Where the result's dimensions come from: of each side the index, and the dimension that is scanned.
  struct Side {
    IntList index;
    int dimension = -1;
  };
  std::optional<std::pair<Side, Side>> SidesOf(const Instruction& dot, int dimension, const IntList& index) const {
    const auto& a = dot.attributes<DotAttributes>();
    std::pair<Side, Side> sides;
    size_t at = 0;
    const auto take = [&](Side& side, int64_t d) {
      side.index[d] = index[at];
      if (static_cast<int>(at) == dimension) side.dimension = static_cast<int>(d);
    };
    const auto frees = [&](Side& side, int operand) {
      for (const int64_t d : SideOf(dot, operand).free.dimensions) {
        take(side, d);
        ++at;
      }
    };
    sides.first.index.resize(static_cast<size_t>(dot.operand(0)->shape().rank()));
    sides.second.index.resize(static_cast<size_t>(dot.operand(1)->shape().rank()));
    for (size_t b = 0; b < a.lhs_batch_dims.size(); ++b, ++at) {
      take(sides.first, a.lhs_batch_dims[b]);
      take(sides.second, a.rhs_batch_dims[b]);
    }
    frees(sides.first, 0);
    frees(sides.second, 1);
    const int64_t extent = ExtentOf(dot, dimension);
    const bool both = ExtentOf(*dot.operand(0), sides.first.dimension) == extent &&
                      ExtentOf(*dot.operand(1), sides.second.dimension) == extent;
    return both ? std::optional(sides) : std::nullopt;
  }

  Instruction* Product(const Instruction& dot, int dimension, const IntList& index) {
    const auto& a = dot.attributes<DotAttributes>();
    auto sides = SidesOf(dot, dimension, index);
    if (!sides || !a.algorithm.empty() || (wide_ && DotSumType(dot) == ElementType::kF32)) return nullptr;
    auto terms =
        Transformed(a.lhs_contracting_dims, [&](const int64_t d) { return dot.operand(0)->shape().dimension(d); });
    const Shape summed(ElementType::kPred, terms);
    if (summed.ElementCount() == 0 || summed.ElementCount() > kMostTerms) return nullptr;
    const ElementType type = DotSumType(dot);
    Instruction* sum = nullptr;
    for (int64_t k = 0; k < summed.ElementCount(); ++k) {
      const IntList place = IndexOf(summed, k);
      for (size_t c = 0; c < place.size(); ++c) {
        sides->first.index[a.lhs_contracting_dims[c]] = place[c];
        sides->second.index[a.rhs_contracting_dims[c]] = place[c];
      }
      Instruction* const left = Entry(dot.operand(0), sides->first.dimension, sides->first.index);
      Instruction* const right = Entry(dot.operand(1), sides->second.dimension, sides->second.index);
      if (left == nullptr || right == nullptr) return nullptr;
      Instruction* const term = Times(Converted(left, type), Converted(right, type));
      sum = sum == nullptr ? term : Plus(sum, term);
    }
    return Converted(sum, dot.shape().element_type());
  }

  Instruction* Elementwise(const Instruction& i, int dimension, const IntList& index) {
    std::vector<Instruction*> operands;
    for (Instruction* const operand : i.operands()) {
      const bool scalar = operand->shape().rank() == 0 && i.shape().rank() > 0;
      operands.push_back(scalar ? operand : Entry(operand, dimension, index));
      if (operands.back() == nullptr) return nullptr;
    }
    const Shape shape(i.shape().element_type(), {ExtentOf(i, dimension)});
    return Add(i.opcode(), shape, std::move(operands), i.attributes());
  }

  const int64_t extent_;
  const bool wide_;  // sums of f32 are to be in two floats: the terms written out are not
  std::map<std::tuple<const Instruction*, int, IntList>, Instruction*> entries_;
  std::unordered_set<const Instruction*> seen_, inner_, made_;
};

// Whether the function that makes the elements of the level below multiplies matrices.
bool HasProduct(const Instruction& joined, int64_t extent) {
  std::vector<const Instruction*> open{&joined};
  for (size_t n = 0; n < open.size() && n < kMostOfFunction; ++n) {
    const Instruction& i = *open[n];
    if (i.opcode() == Opcode::kDot) return true;
    if (i.opcode() == Opcode::kSlice || !i.shape().IsArray()) continue;
    const auto dimensions = i.shape().dimensions();
    if (Contains(dimensions, extent)) continue;
    for (const Instruction* operand : i.operands()) {
      if (!Contains(open, operand)) open.push_back(operand);
    }
  }
  return false;
}

struct MatrixScan {
  Instruction* root = nullptr;
  int dimension = 0;
  std::vector<Instruction*> entries;
};

// The entries side by side.
Instruction* Together(EntryWriter& writer, const MatrixScan& scan) {
  const Shape& shape = scan.root->shape();
  const int64_t extent = shape.dimension(scan.dimension);
  std::vector<Instruction*> columns;
  for (Instruction* const entry : scan.entries) columns.push_back(writer.Reshaped(entry, {extent, 1}));
  Instruction* together = columns.size() == 1 ? columns[0] : writer.Concatenated(columns, 1);
  IntList sizes{extent}, permutation;
  for (int d = 0; d < shape.rank(); ++d) {
    if (d != scan.dimension) sizes.push_back(shape.dimension(d));
    permutation.push_back(d == scan.dimension ? 0 : d < scan.dimension ? d + 1 : d);
  }
  together = writer.Reshaped(together, sizes);
  return scan.dimension == 0 ? together : writer.Transposed(together, permutation);
}

bool SplitIn(Computation& computation, int most_arrays, bool wide) {
  std::vector<MatrixScan> scans;
  std::map<int64_t, std::vector<MatrixScan>> by_extent;
  for (const auto& i : computation.instructions()) {
    if (!i->shape().IsArray() || i->shape().IsDynamic() || i->operand_count() != 2) continue;
    for (int d = 0; d < i->shape().rank(); ++d) {
      const int64_t extent = i->shape().dimension(d);
      if (extent == 0 || i->shape().ElementCount() / extent > kMostEntries) continue;
      const Instruction* const joined = JoinedNeighboursOf(*i, d);
      if (joined == nullptr || !HasProduct(*joined, extent)) continue;
      by_extent[extent].push_back({i.get(), d, {}});
    }
  }
  if (by_extent.empty()) return false;
  // The levels below are scans too, of what one longer scan computes.
  auto& [extent, longest] = *by_extent.rbegin();
  EntryWriter writer(computation, longest.back().root, extent, wide);
  Instruction* const computation_root = computation.root();
  for (MatrixScan& scan : longest) {
    const Shape& shape = scan.root->shape();
    bool whole = true;
    for (int64_t e = 0; whole && e < shape.ElementCount() / extent; ++e) {
      IntList sizes = SizesOf(shape);
      sizes[scan.dimension] = 1;
      Instruction* const entry =
          writer.ResultEntry(scan.root, scan.dimension, IndexOf(Shape(shape.element_type(), sizes), e));
      const int arrays = entry == nullptr ? 0 : ArraysOfScan(*entry);
      whole = arrays > 0 && arrays <= most_arrays;
      scan.entries.push_back(entry);
    }
    if (whole) scans.push_back(std::move(scan));
  }
  if (!writer.StandsAlone(computation)) scans.clear();
  auto results = Transformed(scans, [&](const MatrixScan& scan) { return Together(writer, scan); });
  computation.set_root(computation_root);
  for (size_t s = 0; s < scans.size(); ++s) computation.ReplaceAllUses(scans[s].root, results[s]);
  computation.SortTopologically();
  computation.RemoveDead();
  return !scans.empty();
}

}  // namespace

bool SplitMatrixScans(Module& module, int most_buffers, bool wide) {
  // A kernel of the scan reads and writes each, and reads what the parts before its own came to.
  const int most_arrays = std::min(kMostArrays, (most_buffers - 4) / 3);
  bool changed = false;
  for (Computation* computation : ControlComputations(module)) changed |= SplitIn(*computation, most_arrays, wide);
  return changed;
}

}  // namespace VXLA_NAMESPACE
