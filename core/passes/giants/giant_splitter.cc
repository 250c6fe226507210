#include "core/passes/giants/giant_splitter.h"

#include <algorithm>
#include <optional>

#include "core/ceil_divide.h"
#include "core/maps/dot_sides.h"
#include "core/maps/running_window.h"
#include "core/numerics/accuracy.h"
#include "core/numerics/reducer_facts.h"
#include "core/passes/base/control_flow.h"
#include "core/passes/base/fusion_rules.h"
#include "core/passes/expand/scatter_form.h"
#include "core/passes/giants/giant_rows.h"
#include "core/passes/scans/scans.h"

namespace VXLA_NAMESPACE {
namespace {

// A program with more parts would take longer to compile than anyone waits: the operation is left to the host.
constexpr int kMostParts = 4096;
constexpr int64_t kWhole = -1;  // an operand that every part reads as a whole

using Values = std::vector<Instruction*>;

bool IsPlain(const WindowDimension& w) { return w == WindowDimension{}; }

// Along which an operation falls into parts.
struct Axis {
  enum class Kind : uint8_t {
    kFree,     // the same operation on slices
    kWindow,   // positions of a window: their slices overlap
    kRunning,  // of a running window: each part goes on from the one before
    kPlaces,   // of a scatter: index vectors count from the part's first place
    kUpdates,  // of a scatter: each part updates what the one before gives
  };
  Kind kind = Kind::kFree;
  int64_t units = 0;        // cut between any two of them
  IntList operand_dims;     // by operand; a unit is so many of its elements as go into the dimension's size
  int64_t result_dim = -1;  // -1: the parts' results are no slices
  size_t which = 0;         // of the window's dimensions; of the elements of an index vector
  int64_t least_units = 1;  // of a part
};

class AxisFinder {
 public:
  explicit AxisFinder(const Instruction& instruction) : i_(instruction) {}

  std::vector<Axis> Find() {
    switch (i_.opcode()) {
      case Opcode::kDot:
        OfDot();
        break;
      case Opcode::kConvolution:
        OfConvolution();
        break;
      case Opcode::kReduceWindow:
        OfReduceWindow();
        break;
      case Opcode::kSelectAndScatter:
        for (size_t d = 0; d < Rank(); ++d) {
          const WindowDimension& w = i_.attributes<WindowAttributes>().window[d];
          const int64_t at = static_cast<int64_t>(d), windows = Operand(1).dimension(d);
          WindowDimension apart;  // windows that share no element
          apart.size = apart.stride = w.stride;
          const bool whole = w == apart && windows * w.stride == Operand(0).dimension(d);
          if (whole) Add(Axis::Kind::kFree, windows, {at, at, kWhole}, at);
        }
        break;
      case Opcode::kSort:
        AddAllBut(i_.attributes<SortAttributes>().dimensions.at(0));
        break;
      case Opcode::kTopK:
        AddAllBut(static_cast<int64_t>(Rank()) - 1);
        break;
      case Opcode::kFft:
        AddLeading(Rank() - i_.attributes<FftAttributes>().fft_length.size());
        break;
      case Opcode::kCholesky:
        AddLeading(Rank() - 2);
        break;
      case Opcode::kTriangularSolve: {
        AddLeading(Rank() - 2);
        const auto last = static_cast<int64_t>(Rank()) - 1;
        const int64_t column = i_.attributes<TriangularSolveAttributes>().left_side ? last : last - 1;
        AddFree({kWhole, column}, column);
        break;
      }
      case Opcode::kScatter:
        OfScatter();
        break;
      default:
        break;
    }
    return std::move(axes_);
  }

 private:
  const Shape& Operand(int k) const { return i_.operand(k)->shape(); }
  size_t Rank() const { return static_cast<size_t>(Operand(0).rank()); }
  size_t Operands() const { return static_cast<size_t>(i_.operand_count()); }

  Axis& Add(Axis::Kind kind, int64_t units, IntList operand_dims, int64_t result_dim) {
    return axes_.emplace_back(Axis{kind, units, std::move(operand_dims), result_dim});
  }
  void AddFree(IntList operand_dims, int64_t result_dim) {
    const int64_t units = FlattenTuple(i_.shape())[0]->dimension(result_dim);
    Add(Axis::Kind::kFree, units, std::move(operand_dims), result_dim);
  }
  void AddLeading(size_t count) {
    for (size_t d = 0; d < count; ++d) AddFree(IntList(Operands(), static_cast<int64_t>(d)), static_cast<int64_t>(d));
  }
  void AddAllBut(int64_t dimension) {
    for (int64_t d = 0; d < static_cast<int64_t>(Rank()); ++d) {
      if (d != dimension) AddFree(IntList(Operands(), d), d);
    }
  }

  void OfDot() {
    const auto& dot = i_.attributes<DotAttributes>();
    int64_t result_dim = 0;
    for (size_t k = 0; k < dot.lhs_batch_dims.size(); ++k)
      AddFree({dot.lhs_batch_dims[k], dot.rhs_batch_dims[k]}, result_dim++);
    for (const int64_t d : SideOf(i_, 0).free.dimensions) AddFree({d, kWhole}, result_dim++);
    for (const int64_t d : SideOf(i_, 1).free.dimensions) AddFree({kWhole, d}, result_dim++);
  }

  void OfConvolution() {
    const auto& convolution = i_.attributes<ConvolutionAttributes>();
    const ConvolutionDimensions& dims = *convolution.dim_labels;
    const int64_t features = convolution.feature_group_count, batches = convolution.batch_group_count;
    if (batches == 1) AddFree({dims.input_batch, kWhole}, dims.output_batch);
    for (size_t s = 0; s < convolution.window.size(); ++s) {
      const int64_t positions = i_.shape().dimension(dims.output_spatial[s]);
      Add(Axis::Kind::kWindow, positions, {dims.input_spatial[s], kWhole}, dims.output_spatial[s]).which = s;
    }
    if (features == 1 && batches == 1) {
      AddFree({kWhole, dims.kernel_output_feature}, dims.output_feature);
    } else if (batches == 1) {
      Add(Axis::Kind::kFree, features, {dims.input_feature, dims.kernel_output_feature}, dims.output_feature);
    } else {
      Add(Axis::Kind::kFree, batches, {dims.input_batch, dims.kernel_output_feature}, dims.output_feature);
    }
  }

  void OfReduceWindow() {
    const Window& window = i_.attributes<WindowAttributes>().window;
    const size_t arrays = Operands() / 2;
    const std::optional<RunningWindow> running = RunningWindowOf(i_);
    for (size_t d = 0; d < window.size(); ++d) {
      const auto at = static_cast<int64_t>(d);
      IntList dims(Operands(), kWhole);
      std::fill_n(dims.begin(), arrays, at);
      const int64_t positions = FlattenTuple(i_.shape())[0]->dimension(d);
      Axis::Kind kind = IsPlain(window[d]) ? Axis::Kind::kFree : Axis::Kind::kWindow;
      if (running && running->dimension == static_cast<int>(d)) kind = Axis::Kind::kRunning;
      if (kind == Axis::Kind::kRunning && !CanGoOn()) continue;
      Add(kind, positions, dims, at).which = d;
    }
  }

  // What one operation on narrow floats adds up is wider than what a part leaves to the next.
  bool CanGoOn() const {
    const auto leaves = FlattenTuple(i_.shape());
    const std::optional<Opcode> operation = SingleOperation(*i_.called(0));
    const bool picks = operation == Opcode::kMaximum || operation == Opcode::kMinimum;
    const auto narrow = [](const Shape* leaf) { return IsNarrowFloat(leaf->element_type()); };
    return HasArrayForm(*i_.called(0), i_) && (!operation || picks || std::ranges::none_of(leaves, narrow));
  }

  void OfScatter() {
    if (i_.notes().run_starts) return;
    const ScatterForm form(i_);
    const auto arrays = static_cast<size_t>(form.arrays);
    for (size_t d = 0; d < Rank(); ++d) {
      const int64_t window = form.window_of[d], batch = form.batch_of[d], index = form.index_of[d];
      const auto at = static_cast<int64_t>(d);
      const int64_t size = Operand(0).dimension(d);
      const int64_t covered = window < 0 ? 1 : form.window_sizes[window];
      IntList dims(Operands(), kWhole);
      std::fill_n(dims.begin(), arrays, at);
      if (index >= 0) {
        Axis& axis = Add(Axis::Kind::kPlaces, size, dims, at);
        axis.which = static_cast<size_t>(index);
        axis.least_units = std::max<int64_t>(covered, 1);
      } else if (batch >= 0) {
        dims[arrays] = form.indices_dims[batch];
        std::fill(dims.begin() + form.arrays + 1, dims.end(), form.batch_dims[batch]);
        Add(Axis::Kind::kFree, size, dims, at);
      } else if (index < 0 && window >= 0 && covered == size) {
        std::fill(dims.begin() + form.arrays + 1, dims.end(), form.window_dims[window]);
        Add(Axis::Kind::kFree, size, dims, at);
      }
    }
    for (size_t b = 0; b < form.batch_dims.size(); ++b) {
      if (std::ranges::find(form.batch_of, static_cast<int64_t>(b)) != form.batch_of.end()) continue;
      IntList dims(Operands(), kWhole);
      dims[arrays] = form.indices_dims[b];
      std::fill(dims.begin() + form.arrays + 1, dims.end(), form.batch_dims[b]);
      Add(Axis::Kind::kUpdates, form.batch_sizes[b], dims, -1);
    }
  }

  const Instruction& i_;
  std::vector<Axis> axes_;
};

class Cutter : private Expansion {
 public:
  Cutter(Computation& computation, Instruction* instruction, int64_t most)
      : Expansion(computation, instruction), most_(most) {}

  // Null: no cuts make it small enough.
  Instruction* Cut() {
    const Values values = Cut(instruction());
    if (values.empty()) return nullptr;
    const auto leaves = FlattenTuple(instruction().shape());
    for (size_t k = 0; k < values.size(); ++k) values[k]->mutable_shape().set_layout(leaves[k]->layout());
    return instruction().shape().IsTuple() ? Add(Opcode::kTuple, instruction().shape(), values) : values[0];
  }

 private:
  // The results; none where it cannot be done.
  Values Cut(const Instruction& whole) {
    const std::optional<Axis> axis = BestAxis(whole);
    if (!axis && whole.opcode() == Opcode::kDot) return DotReaches(whole) ? Values{AsReduction(whole)} : Values();
    if (!axis) return SmallerThan(*this, *instruction().parent()->module(), whole, most_);
    const int64_t units = std::max(axis->least_units, UnitsThatFit(whole, *axis));
    int64_t parts = CeilDivide(axis->units, units);
    if (axis->least_units > 1) parts = std::min(parts, axis->units / axis->least_units);
    if (parts < 2 || parts > kMostParts) return {};
    std::vector<Values> results;
    for (int64_t p = 0; p < parts; ++p) {
      const bool from_the_end = axis->kind == Axis::Kind::kRunning && RunningWindowOf(whole)->reverse;
      const int64_t at = from_the_end ? parts - 1 - p : p;
      // No part is empty, none longer than one more than another.
      const int64_t start = at * (axis->units / parts) + std::min(at, axis->units % parts);
      const int64_t limit = (at + 1) * (axis->units / parts) + std::min(at + 1, axis->units % parts);
      Values part = PartOf(whole, *axis, start, limit, results.empty() ? Values() : results.back());
      if (part.empty()) return {};
      results.push_back(std::move(part));
    }
    if (axis->kind == Axis::Kind::kUpdates) return results.back();
    if (axis->kind == Axis::Kind::kRunning && RunningWindowOf(whole)->reverse) std::ranges::reverse(results);
    Values joined;
    for (size_t leaf = 0; leaf < results[0].size(); ++leaf) {
      Values slices;
      for (const Values& part : results) slices.push_back(part[leaf]);
      joined.push_back(Concatenated(slices, axis->result_dim));
    }
    return joined;
  }

  int64_t Largest(const Instruction& i, const Axis& axis) const {
    int64_t largest = 0;
    for (int k = 0; k < i.operand_count(); ++k) {
      if (axis.operand_dims[k] != kWhole) largest = std::max(largest, i.operand(k)->shape().ElementCount());
    }
    if (axis.result_dim < 0) return largest;
    for (const Shape* leaf : FlattenTuple(i.shape())) largest = std::max(largest, leaf->ElementCount());
    return largest;
  }

  int64_t UnitsThatFit(const Instruction& i, const Axis& axis) const {
    const int64_t of_one = (Largest(i, axis) + axis.units - 1) / axis.units;
    return std::max<int64_t>(1, most_ / std::max<int64_t>(1, of_one));
  }

  // The first (its parts lie in one piece) along which a giant falls into parts that are small enough, or which are cut
  // again; but those whose parts wait for each other last.
  std::optional<Axis> BestAxis(const Instruction& i) const {
    std::vector<Axis> axes = AxisFinder(i).Find();
    std::erase_if(axes, [&](const Axis& axis) {
      return axis.units < std::max<int64_t>(2, 2 * axis.least_units) || Largest(i, axis) <= most_;
    });
    const auto rank = [&](const Axis& axis) {
      const bool waits = axis.kind == Axis::Kind::kRunning || axis.kind == Axis::Kind::kUpdates;
      return 2 * waits + (Largest(i, axis) / axis.units > most_);
    };
    const auto best = std::ranges::min_element(axes, {}, rank);
    return best == axes.end() ? std::nullopt : std::optional(*best);
  }

  Values PartOf(const Instruction& whole, const Axis& axis, int64_t start, int64_t limit, const Values& before) {
    Values operands(whole.operands().begin(), whole.operands().end());
    Attributes attributes = whole.attributes();
    if (axis.kind == Axis::Kind::kWindow) {
      CutWindow(axis, start, limit, &operands, &attributes);
    } else {
      for (size_t k = 0; k < operands.size(); ++k) {
        const int64_t d = axis.operand_dims[k];
        if (d == kWhole) continue;
        const int64_t unit = operands[k]->shape().dimension(d) / axis.units;
        operands[k] = Slice(operands[k], d, start * unit, limit * unit);
      }
    }
    if (axis.kind == Axis::Kind::kRunning) {
      WindowDimension& w = std::get<WindowAttributes>(attributes).window[axis.which];
      const int64_t size = limit - start;
      const bool reverse = RunningWindowOf(whole)->reverse;
      w = {.size = size, .pad_low = reverse ? 0 : size - 1, .pad_high = reverse ? size - 1 : 0};
    }
    if (auto* convolution = std::get_if<ConvolutionAttributes>(&attributes); convolution != nullptr) {
      const bool groups =
          axis.kind == Axis::Kind::kFree && axis.operand_dims[0] != kWhole && axis.operand_dims[1] != kWhole;
      if (groups && convolution->feature_group_count > 1) convolution->feature_group_count = limit - start;
      if (groups && convolution->batch_group_count > 1) convolution->batch_group_count = limit - start;
    }
    if (axis.kind == Axis::Kind::kPlaces) CountFrom(whole, axis.which, start, &operands);
    if (axis.kind == Axis::Kind::kUpdates) std::ranges::copy(before, operands.begin());
    Instruction* const part = Add(whole.CloneWith(std::move(operands), ShapeOfPart(whole, axis, start, limit)));
    part->mutable_attributes() = std::move(attributes);
    if (++parts_ > kMostParts) return {};
    Values values = Results(part);
    if (!values.empty() && axis.kind == Axis::Kind::kRunning && !before.empty())
      values = GoOn(whole, axis, before, values);
    return values;
  }

  Values Results(Instruction* part) { return TouchesGiant(*part, most_) ? Cut(*part) : Elements(part); }

  static Shape ShapeOfPart(const Instruction& whole, const Axis& axis, int64_t start, int64_t limit) {
    std::vector<Shape> shapes;
    for (const Shape* leaf : FlattenTuple(whole.shape())) {
      IntList sizes = SizesOf(*leaf);
      if (axis.result_dim >= 0) {
        int64_t& size = sizes[axis.result_dim];
        size = (limit - start) * (size / axis.units);
      }
      shapes.emplace_back(leaf->element_type(), std::move(sizes));
    }
    return whole.shape().IsTuple() ? Shape::Tuple(std::move(shapes)) : shapes[0];
  }

  // Of the positions from start to limit: the elements that their windows cover, padded by what they reach beyond.
  void CutWindow(const Axis& axis, int64_t start, int64_t limit, Values* operands, Attributes* attributes) {
    auto* convolution = std::get_if<ConvolutionAttributes>(attributes);
    Window& window = convolution != nullptr ? convolution->window : std::get<WindowAttributes>(*attributes).window;
    WindowDimension& w = window[axis.which];
    const size_t array = static_cast<size_t>(
        std::ranges::find_if(axis.operand_dims, [](int64_t d) { return d != kWhole; }) - axis.operand_dims.begin());
    const int64_t size = (*operands)[array]->shape().dimension(axis.operand_dims[array]);
    // Places among the dilated elements.
    const int64_t from = start * w.stride - w.pad_low;
    const int64_t to = (limit - 1) * w.stride - w.pad_low + (w.size - 1) * w.rhs_dilate + 1;
    const int64_t dilate = w.lhs_dilate;
    const int64_t first = std::min(size, (std::max<int64_t>(from, 0) + dilate - 1) / dilate);
    const int64_t end = to <= 0 ? 0 : std::min(size, (to - 1) / dilate + 1);
    const bool none = end <= first;  // padding only: one element, cut off again, so that no operand is empty
    const int64_t begin = none ? 0 : first, behind = none ? std::min<int64_t>(size, 1) : end;
    if (none) {
      w.pad_low = to - from;
      w.pad_high = behind > 0 ? -1 : 0;
    } else {
      w.pad_low = begin * dilate - from;
      w.pad_high = to - ((behind - 1) * dilate + 1);
    }
    for (size_t k = 0; k < operands->size(); ++k) {
      if (axis.operand_dims[k] != kWhole) (*operands)[k] = Slice((*operands)[k], axis.operand_dims[k], begin, behind);
    }
  }

  // The index vectors' element counts from `start`, in 64 bits, so that nothing comes back from out of reach.
  void CountFrom(const Instruction& scatter, size_t element, int64_t start, Values* operands) {
    Instruction*& indices = (*operands)[ScatterForm(scatter).arrays];
    if (indices->shape().element_type() == ElementType::kU64)
      indices = Smaller(indices, Number(int64_t{1} << 62, indices));
    indices = Converted(indices, ElementType::kS64);
    if (start == 0) return;
    Instruction* first = Number(start, indices);
    const int64_t vector_dim = scatter.attributes<ScatterAttributes>().index_vector_dim;
    if (vector_dim < indices->shape().rank()) {
      Instruction* const which = Iota(ElementType::kS64, SizesOf(indices->shape()), vector_dim);
      Instruction* const here = Compare(ComparisonDirection::kEq, which, Number(static_cast<int64_t>(element), which));
      first = Add(Opcode::kSelect, indices->shape(), {here, first, Number(0, indices)});
    }
    // What lies at the lower end of the type stays out of reach.
    indices = Larger(indices, Number(-(int64_t{1} << 62), indices));
    indices = Minus(indices, first);
  }

  // Each element of a part joined with the last one of the part before it.
  Values GoOn(const Instruction& whole, const Axis& axis, const Values& before, const Values& part) {
    const bool reverse = RunningWindowOf(whole)->reverse;
    const int64_t d = axis.result_dim;
    Values carried;
    for (Instruction* value : before) {
      const int64_t size = value->shape().dimension(d), last = reverse ? 0 : size - 1;
      Instruction* edge = Slice(value, d, last, last + 1);
      IntList kept, along;
      for (int64_t k = 0; k < edge->shape().rank(); ++k) {
        if (k == d) continue;
        kept.push_back(edge->shape().dimension(k));
        along.push_back(k);
      }
      carried.push_back(
          Add(Opcode::kBroadcast, part[carried.size()]->shape(), {Reshaped(edge, kept)}, DimensionsAttributes{along}));
    }
    const Values &first = reverse ? part : carried, &second = reverse ? carried : part;
    return JoinedArrays(*this, *whole.called(0), first, second);
  }

  // A sum of products over more than the kernels of products index, as a reduction, which reaches them all.
  bool DotReaches(const Instruction& dot) const {
    return dot.shape().ElementCount() <= most_ && dot.attributes<DotAttributes>().algorithm.empty();
  }

  Instruction* AsReduction(const Instruction& whole) {
    const auto& dot = whole.attributes<DotAttributes>();
    const ElementType type = whole.shape().element_type();
    const ElementType sum = IsNarrowFloat(type) ? ElementType::kF32 : type;
    IntList sizes = SizesOf(whole.shape()), reduced;
    const auto results = static_cast<int64_t>(sizes.size());
    for (const int64_t d : dot.lhs_contracting_dims) {
      reduced.push_back(sizes.size());
      sizes.push_back(whole.operand(0)->shape().dimension(d));
    }
    Values factors;
    int64_t next = static_cast<int64_t>(dot.lhs_batch_dims.size());
    for (int side = 0; side < 2; ++side) {
      const DotSide of = SideOf(whole, side);
      IntList order, along;
      const auto add = [&](const DotSide::Group& group, int64_t first) {
        for (const int64_t d : group.dimensions) {
          order.push_back(d);
          along.push_back(first++);
        }
        return first;
      };
      add(of.batch, 0);
      next = add(of.free, next);
      add(of.contracting, results);
      Instruction* const factor = Transposed(Converted(whole.operand(side), sum), order);
      factors.push_back(Add(Opcode::kBroadcast, Shape(sum, sizes), {factor}, DimensionsAttributes{along}));
    }
    Instruction* const products = Times(factors[0], factors[1]);
    Computation* const add = AddCombiner(*instruction().parent()->module(), Opcode::kAdd, sum);
    Instruction* const total = Add(Opcode::kReduce, Shape(sum, SizesOf(whole.shape())), {products, Zeros(Shape(sum))},
                                   DimensionsAttributes{reduced}, {add});
    return Converted(total, type);
  }

  const int64_t most_;
  int parts_ = 0;
};

}  // namespace

bool TouchesGiant(const Instruction& instruction, int64_t most) {
  const auto giant = [most](const Instruction* i) {
    return std::ranges::any_of(FlattenTuple(i->shape()),
                               [&](const Shape* leaf) { return leaf->IsArray() && leaf->ElementCount() > most; });
  };
  return giant(&instruction) || std::ranges::any_of(instruction.operands(), giant);
}

bool ReachesGiants(Opcode hero) { return hero == Opcode::kReduce || hero == Opcode::kDynamicUpdateSlice; }

bool SplitGiants(Module& module, int64_t most) {
  return ExpandEach(module, [&](Computation& computation, Instruction* i) -> Instruction* {
    if (!HeroKind(i->opcode()) || ReachesGiants(i->opcode()) || !i->control_predecessors().empty()) return nullptr;
    return TouchesGiant(*i, most) ? Cutter(computation, i, most).Cut() : nullptr;
  });
}

}  // namespace VXLA_NAMESPACE
