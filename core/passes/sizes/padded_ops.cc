#include "core/passes/sizes/padded_ops.h"

#include <fmt/format.h>

#include "core/host/ranges.h"
#include "core/numerics/reducer_facts.h"
#include "core/ops/op_support.h"
#include "core/passes/sizes/padded_op.h"

namespace VXLA_NAMESPACE {

bool PaddedOp::AnyLives(int k) {
  for (size_t d = 0; d < Operand(k).sizes.size(); ++d) {
    if (Lives(Operand(k), static_cast<int64_t>(d))) return true;
  }
  return false;
}

std::vector<Instruction*> PaddedOp::Arrays() const { return Transformed(operands_, &PaddedArray::array); }

Instruction* PaddedOp::Static(std::vector<Instruction*> operands) {
  return Add(instruction().CloneWith(std::move(operands), AtBounds(instruction().shape())));
}

PaddedOp::Result PaddedOp::Elementwise() {
  int widest = 0;
  for (int k = 0; k < Count(); ++k) {
    if (ShapeOf(k).rank() > ShapeOf(widest).rank()) widest = k;
  }
  return Sameness(widest);
}

PaddedOp::Result PaddedOp::Sameness(int operand) {
  Sizes sizes = Count() == 0 ? Sizes() : Operand(operand).sizes;
  return One(Static(), std::move(sizes));
}

// Those of the batch and of what neither side sums over; of a ragged product's groups none.
PaddedOp::Sizes PaddedOp::SizesOfProduct() {
  const auto& a = instruction().attributes<DotAttributes>();
  Sizes sizes;
  for (const int64_t d : a.lhs_batch_dims) sizes.push_back(Operand(0).sizes[d]);
  for (int k = 0; k < 2; ++k) {
    const IntList& batch = k == 0 ? a.lhs_batch_dims : a.rhs_batch_dims;
    const IntList& contracting = k == 0 ? a.lhs_contracting_dims : a.rhs_contracting_dims;
    for (int64_t d = 0; d < ShapeOf(k).rank(); ++d) {
      const bool group = k == 1 && Contains(a.rhs_group_dims, d);
      if (!Contains(batch, d) && !Contains(contracting, d) && !group) sizes.push_back(Operand(k).sizes[d]);
    }
  }
  return sizes;
}

PaddedOp::Result PaddedOp::Dot() {
  const auto& a = instruction().attributes<DotAttributes>();
  Sizes sizes = SizesOfProduct();
  // Padding may hold infinities, so both sides are cleared.
  Instruction* const lhs = MaskedBy(0, a.lhs_contracting_dims, Zero(ShapeOf(0).element_type()));
  Instruction* const rhs = MaskedBy(1, a.rhs_contracting_dims, Zero(ShapeOf(1).element_type()));
  return One(Static({lhs, rhs}), std::move(sizes));
}

// Rows behind the last group are zeros, groups that do not live have no rows.
PaddedOp::Result PaddedOp::RaggedDot() {
  const auto& a = instruction().attributes<DotAttributes>();
  const int64_t groups = ShapeOf(2).rank() - 1;
  Sizes sizes;
  if (Contains(a.lhs_contracting_dims, a.lhs_ragged_dims.at(0))) {
    sizes.push_back(Operand(2).sizes[groups]);
  }
  const Sizes product = SizesOfProduct();
  sizes.insert(sizes.end(), product.begin(), product.end());
  if (static_cast<int>(sizes.size()) != instruction().shape().rank()) return std::nullopt;
  Instruction* const lhs = MaskedBy(0, a.lhs_contracting_dims, Zero(ShapeOf(0).element_type()));
  Instruction* const rhs = MaskedBy(1, a.rhs_contracting_dims, Zero(ShapeOf(1).element_type()));
  Instruction* const rows = MaskedBy(2, {groups}, Zero(ShapeOf(2).element_type()));
  return One(Static({lhs, rhs, rows}), std::move(sizes));
}

PaddedOp::Result PaddedOp::ScaledDot() {
  // A scale that does not live may be NaN.
  for (const int side : {0, 1}) {
    Instruction* const one = Constant(Literal::Scalar(ShapeOf(side + 2).element_type(), 1));
    Operand(side + 2).array = MaskedBy(side + 2, UpTo(ShapeOf(side + 2).rank()), one);
  }
  const auto& a = instruction().attributes<DotAttributes>();
  Operand(0).array = MaskedBy(0, a.lhs_contracting_dims, Zero(ShapeOf(0).element_type()));
  Operand(1).array = MaskedBy(1, a.rhs_contracting_dims, Zero(ShapeOf(1).element_type()));
  std::optional<std::vector<PaddedArray>> product = Dot();
  (*product)[0].array = Static();
  return product;
}

PaddedOp::Result PaddedOp::Convolution() {
  const auto& a = instruction().attributes<ConvolutionAttributes>();
  const ConvolutionDimensions& labels = *a.dim_labels;
  const bool grouped = a.feature_group_count > 1 || a.batch_group_count > 1;
  for (const int64_t d : labels.kernel_spatial) {
    if (Lives(Operand(1), d)) return std::nullopt;  // a window whose size is a value
  }
  if (grouped && (Lives(Operand(0), labels.input_feature) || Lives(Operand(0), labels.input_batch) ||
                  Lives(Operand(1), labels.kernel_output_feature))) {
    return std::nullopt;
  }
  IntList cleared = labels.input_spatial;
  cleared.push_back(labels.input_feature);
  Sizes sizes(static_cast<size_t>(instruction().shape().rank()));
  sizes[labels.output_batch] = Operand(0).sizes[labels.input_batch];
  sizes[labels.output_feature] = Operand(1).sizes[labels.kernel_output_feature];
  if (grouped) sizes.assign(sizes.size(), nullptr);
  for (size_t i = 0; i < labels.input_spatial.size(); ++i) {
    Instruction* const size = Operand(0).sizes[labels.input_spatial[i]];
    if (size == nullptr) continue;
    sizes[labels.output_spatial[i]] = rules_.WindowPositions(size, a.window[i]);
  }
  Instruction* const input = MaskedBy(0, cleared, Zero(ShapeOf(0).element_type()));
  Instruction* const kernel = MaskedBy(1, {labels.kernel_input_feature}, Zero(ShapeOf(1).element_type()));
  return One(Static({input, kernel}), std::move(sizes));
}

// The value that leaves a reduction's accumulator alone, null where none is known.
Instruction* PaddedOp::IdentityOf(int operand) {
  const ReducerFacts facts = FactsOfReducer(*instruction().called(0));
  if (!facts.identity || Count() != 2) return nullptr;
  return Converted(Constant(*facts.identity), ShapeOf(operand).element_type());
}

Instruction* PaddedOp::FlaggedReduction(const std::vector<Instruction*>& masks, const IntList& result_sizes) {
  const int n = Count() / 2;
  std::vector<Instruction*> operands = Arrays();
  Instruction* const flag = Expansion::Number(ElementType::kPred, 1);
  operands.insert(operands.begin() + n, masks[0]);
  operands.push_back(flag);
  const Shape at_bounds = AtBounds(instruction().shape());
  std::vector<Shape> shapes = at_bounds.IsTuple() ? at_bounds.tuple_elements() : std::vector{at_bounds};
  shapes.emplace_back(ElementType::kPred, result_sizes);
  return Add(instruction().opcode(), Shape::Tuple(std::move(shapes)), operands, instruction().attributes(),
             {AddFlaggedForm(context_.module, instruction().called(0), n, true)});
}

PaddedOp::Result PaddedOp::Reduce() {
  const int n = Count() / 2;
  Sizes sizes, reduced(Operand(0).sizes.size());
  bool masks = false;
  for (int64_t d = 0; d < ShapeOf(0).rank(); ++d) {
    Instruction* const size = Operand(0).sizes[d];
    if (!Contains(instruction().dimensions(), d)) {
      sizes.push_back(size);
    } else if (Lives(Operand(0), d)) {
      reduced[d] = size;
      masks = true;
    }
  }
  const Shape& stated = instruction().shape();
  if (!masks || n == 1) {
    Instruction* const identity = masks ? IdentityOf(0) : nullptr;
    if (!masks || identity != nullptr) {
      std::vector<Instruction*> operands = Arrays();
      if (masks) operands[0] = MaskedBy(0, instruction().dimensions(), identity);
      Instruction* const result = Static(operands);
      return stated.IsTuple() ? Each(result, n, sizes) : One(result, sizes);
    }
  }
  const Shape& first = stated.IsTuple() ? stated.tuple_elements()[0] : stated;
  Instruction* const result = FlaggedReduction({LiveMask(SizesOf(ShapeOf(0)), reduced)}, SizesOf(first));
  return Each(result, n, sizes);
}

PaddedOp::Result PaddedOp::ReduceWindow() {
  const int n = Count() / 2;
  Window window = instruction().attributes<WindowAttributes>().window;
  window.resize(Operand(0).sizes.size());
  Sizes sizes(window.size());
  for (size_t d = 0; d < window.size(); ++d) {
    if (Operand(0).sizes[d] != nullptr) sizes[d] = rules_.WindowPositions(Operand(0).sizes[d], window[d]);
  }
  const Shape& stated = instruction().shape();
  Instruction* const identity = n == 1 ? IdentityOf(0) : nullptr;
  if (identity != nullptr && !stated.IsTuple()) {
    return One(Static({MaskedBy(0, UpTo(std::ssize(window)), identity), Operand(1).array}), std::move(sizes));
  }
  const Shape& first = stated.IsTuple() ? stated.tuple_elements()[0] : stated;
  Instruction* const result = FlaggedReduction({LiveMask(SizesOf(ShapeOf(0)), Operand(0).sizes)}, SizesOf(first));
  return Each(result, n, sizes);
}

// What does not live comes after what does; elements that do not live are equal among each other.
Computation* PaddedOp::FlaggedOrder(Computation* f) {
  Computation& flagged = *context_.module.AddComputation(f->name() + "_of_live");
  Expansion in(flagged);
  const Shape flag(ElementType::kPred);
  std::vector<Instruction*> arguments;
  int64_t number = 0;
  for (const Instruction* parameter : f->parameters()) arguments.push_back(in.Parameter(parameter->shape(), number++));
  Instruction* const a = in.Parameter(flag, number);
  Instruction* const b = in.Parameter(flag, number + 1);
  Instruction* const less = in.Called(f, std::move(arguments))[0];
  Instruction* const dead = in.Add(Opcode::kNot, flag, {b});
  in.And(a, in.Or(dead, less));
  return &flagged;
}

PaddedOp::Result PaddedOp::Sort() {
  const int64_t along = instruction().attributes<SortAttributes>().dimensions.at(0);
  const Sizes sizes = Operand(0).sizes;
  const Shape& stated = instruction().shape();
  std::vector<Instruction*> sorted;
  const IntList bounds = SizesOf(ShapeOf(0));
  if (Lives(Operand(0), along)) {
    Sizes along_only(sizes.size());
    along_only[along] = sizes[along];
    std::vector<Instruction*> operands = Arrays();
    operands.push_back(LiveMask(bounds, along_only));
    Instruction* const sort = Add(Opcode::kSort, TupleShapeOf(operands), operands, instruction().attributes(),
                                  {FlaggedOrder(instruction().called(0))});
    sort->mutable_notes().live_come_first = true;
    for (int k = 0; k < Count(); ++k) sorted.push_back(Element(sort, k));
  } else {
    Instruction* const sort = Static();
    for (int k = 0; k < Count(); ++k) sorted.push_back(stated.IsTuple() ? Element(sort, k) : sort);
  }
  std::vector<PaddedArray> values;
  for (int k = 0; k < Count(); ++k) {
    if (instruction().operand(k)->shape().IsDynamic()) {
      values.push_back({sorted[k], sizes});
    } else {  // beyond the live elements it is as it was, and all of it lives, whatever the result is stated to be
      Instruction* const whole = Operand(k).array;
      values.push_back({Select(LiveMask(bounds, sizes), sorted[k], whole), Sizes(sizes.size())});
    }
  }
  return values;
}

PaddedOp::Result PaddedOp::TopK() {
  const auto& a = instruction().attributes<TopKAttributes>();
  const int64_t last = ShapeOf(0).rank() - 1;
  Sizes sizes = Operand(0).sizes;
  const IntList bounds = SizesOf(ShapeOf(0));
  if (!Lives(Operand(0), last)) {
    sizes.back() = nullptr;
    Instruction* const top = Static();
    return std::vector<PaddedArray>{{Element(top, 0), sizes}, {Element(top, 1), sizes}};
  }
  Instruction* const size = sizes.back();
  Require(ComparisonDirection::kGe, size, Number(a.k),
          fmt::format("dimension {} of operand 0 has the live size {{0}}, k is {}", last, a.k), size, size);
  Sizes along(sizes.size());
  along.back() = size;
  Instruction* const numbers = Iota(ElementType::kS32, bounds, last);
  Instruction* const mask = LiveMask(bounds, along);
  SortAttributes attributes;
  attributes.dimensions = {last};
  attributes.is_stable = true;
  Instruction* const sort =
      Add(Opcode::kSort, Shape::Tuple({ShapeOf(0), numbers->shape(), mask->shape()}), {Operand(0).array, numbers, mask},
          attributes, {FlaggedOrder(AddTopKOrder(context_.module, ShapeOf(0).element_type(), a.largest))});
  sort->mutable_notes().live_come_first = true;
  sizes.back() = nullptr;
  return std::vector<PaddedArray>{{Expansion::Slice(Element(sort, 0), last, 0, a.k), sizes},
                                  {Expansion::Slice(Element(sort, 1), last, 0, a.k), sizes}};
}

// Windows that end before the padding see live elements alone; sources of windows that do not live add nothing.
PaddedOp::Result PaddedOp::SelectAndScatter() {
  Window window = instruction().attributes<WindowAttributes>().window;
  window.resize(Operand(0).sizes.size());
  PaddedArray source = Operand(1);
  for (size_t d = 0; d < window.size(); ++d) {
    const auto dimension = static_cast<int64_t>(d);
    Instruction* const size = Operand(0).sizes[d];
    if (size == nullptr) continue;
    if (Lives(Operand(0), dimension) && window[d].pad_high > 0) return std::nullopt;
    Instruction* const positions = rules_.WindowPositions(size, window[d]);
    if (source.sizes[d] != nullptr) {
      RequireEqual(source.sizes[d], positions,
                   fmt::format("dimension {} of operand 1 has the live size {{0}}, operand 0 has {{1}} windows", d));
    } else {
      source.sizes[d] = positions;
    }
  }
  const ReducerFacts facts = FactsOfReducer(*instruction().called(1));
  if (!facts.identity) return std::nullopt;
  Instruction* const nothing = Converted(Constant(*facts.identity), ShapeOf(1).element_type());
  return One(Static({Operand(0).array, Masked(source, UpTo(std::ssize(window)), nothing), Operand(2).array}),
             Operand(0).sizes);
}

PaddedOp::Result PaddedOp::Fft() {
  const auto& a = instruction().attributes<FftAttributes>();
  const int64_t first = ShapeOf(0).rank() - static_cast<int64_t>(a.fft_length.size());
  Sizes sizes = Operand(0).sizes;
  for (int64_t d = first; d < ShapeOf(0).rank(); ++d) {
    if (sizes[d] == nullptr) continue;
    RequireEqual(sizes[d], Number(Bound(0, d)),
                 fmt::format("dimension {} of operand 0 has the live size {{0}}, the transform takes {{1}}", d));
    sizes[d] = nullptr;
  }
  return One(Static(), std::move(sizes));
}

// Beyond the live rows and columns the matrix is the identity, so the live part is factored by itself.
PaddedOp::Result PaddedOp::Linalg() {
  const int64_t rank = ShapeOf(0).rank();
  std::vector<Instruction*> operands = Arrays();
  if (Lives(Operand(0), rank - 1)) {
    Sizes live(static_cast<size_t>(rank));
    for (const int64_t d : {rank - 2, rank - 1}) live[d] = Operand(0).sizes[d];
    const IntList bounds = SizesOf(ShapeOf(0));
    Instruction* const row = Iota(ElementType::kS32, bounds, rank - 2);
    Instruction* const column = Iota(ElementType::kS32, bounds, rank - 1);
    Instruction* const diagonal = Compare(ComparisonDirection::kEq, row, column);
    const ElementType type = ShapeOf(0).element_type();
    Instruction* const unit = Converted(diagonal, type);
    operands[0] = Select(LiveMask(bounds, live), Operand(0).array, unit);
    if (instruction().opcode() == Opcode::kTriangularSolve) {
      const bool left = instruction().attributes<TriangularSolveAttributes>().left_side;
      operands[1] = MaskedBy(1, {left ? rank - 2 : rank - 1}, Zero(ShapeOf(1).element_type()));
    }
  }
  return One(Static(operands), Operand(Count() - 1).sizes);
}

PaddedOp::Result PaddedOp::ByFamily() {
  static const std::unordered_map<Opcode, Result (PaddedOp::*)()> rules{
      {Opcode::kDot, &PaddedOp::Dot},
      {Opcode::kRaggedDot, &PaddedOp::RaggedDot},
      {Opcode::kScaledDot, &PaddedOp::ScaledDot},
      {Opcode::kConvolution, &PaddedOp::Convolution},
      {Opcode::kReduce, &PaddedOp::Reduce},
      {Opcode::kReduceWindow, &PaddedOp::ReduceWindow},
      {Opcode::kSort, &PaddedOp::Sort},
      {Opcode::kSelectAndScatter, &PaddedOp::SelectAndScatter},
      {Opcode::kTopK, &PaddedOp::TopK},
      {Opcode::kFft, &PaddedOp::Fft},
      {Opcode::kCholesky, &PaddedOp::Linalg},
      {Opcode::kTriangularSolve, &PaddedOp::Linalg},
      {Opcode::kBroadcast, &PaddedOp::Broadcast},
      {Opcode::kSlice, &PaddedOp::Slice},
      {Opcode::kConcatenate, &PaddedOp::Concatenate},
      {Opcode::kPad, &PaddedOp::Pad},
      {Opcode::kReverse, &PaddedOp::Reverse},
      {Opcode::kTranspose, &PaddedOp::Transpose},
      {Opcode::kBitcastConvert, &PaddedOp::BitcastConvert},
      {Opcode::kBitcast, &PaddedOp::Bitcast},
      {Opcode::kReshape, &PaddedOp::Reshape},
      {Opcode::kDynamicReshape, &PaddedOp::DynamicReshape},
      {Opcode::kSetDimensionSize, &PaddedOp::SetDimensionSize},
      {Opcode::kDynamicSlice, &PaddedOp::DynamicSlice},
      {Opcode::kDynamicUpdateSlice, &PaddedOp::DynamicUpdateSlice},
      {Opcode::kGather, &PaddedOp::Gather},
      {Opcode::kScatter, &PaddedOp::Scatter},
  };
  const Opcode opcode = instruction().opcode();
  if (const auto rule = rules.find(opcode); rule != rules.end()) return (this->*rule->second)();
  switch (opcode) {
    case Opcode::kGetDimensionSize:
      return One(SizeOf(Operand(0), instruction().dimensions()[0]), {});
    case Opcode::kCopy:
    case Opcode::kBatchNormInference:
    case Opcode::kAddDependency:
      return Sameness(0);
    case Opcode::kDomain:
      return std::vector{Operand(0)};
    case Opcode::kIota:
    case Opcode::kRng:
      return One(Static(), Sizes(static_cast<size_t>(instruction().shape().rank())));
    case Opcode::kMap:
    case Opcode::kStochasticConvert:
      return Elementwise();
    default:
      return IsElementwise(opcode) ? Elementwise() : std::nullopt;
  }
}

PaddedOp::Result PaddedOp::Form() {
  rules_.Agree();
  Result values = ByFamily();
  if (!values || context_.refused) return std::nullopt;
  const std::vector<const Shape*> stated = FlattenTuple(instruction().shape());
  if (stated.size() != values->size()) return std::nullopt;
  for (size_t k = 0; k < stated.size(); ++k) {
    // A scatter of many dimensions keeps what its operands are.
    (*values)[k] = UnderStated(*this, std::move((*values)[k]), *stated[k]);
  }
  return values;
}

PaddedArray UnderStated(SizeMath& math, PaddedArray value, const Shape& stated) {
  if (!stated.IsArray()) return value;
  for (int d = 0; d < stated.rank(); ++d) {
    Instruction*& size = value.sizes.at(static_cast<size_t>(d));
    const int64_t bound = stated.dimension(d);
    if (stated.is_dynamic_dimension(d)) {
      if (size == nullptr) size = math.Number(bound);
      math.NoteLimit(size, bound);
    } else if (size != nullptr) {
      math.RequireEqual(size, math.Number(bound),
                        fmt::format("dimension {} of {} comes out with the live size {{0}}", d, stated.ToString()));
      size = nullptr;
    }
  }
  return value;
}

std::optional<std::vector<PaddedArray>> PaddedForm(SizeContext& context, Computation& computation,
                                                   Instruction* instruction, std::vector<PaddedArray> operands) {
  const SizeFault before = context.fault;
  context.refused = false;
  PaddedOp op(context, computation, instruction, std::move(operands));
  auto values = op.Form();
  if (values && !context.refused) return values;
  context.fault = before;
  return std::nullopt;
}

}  // namespace VXLA_NAMESPACE
