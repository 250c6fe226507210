#include "core/passes/base/expansion.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "core/host/ranges.h"
#include "core/ir/module_edits.h"
#include "core/passes/base/control_flow.h"
#include "core/passes/base/fusion_rules.h"

namespace VXLA_NAMESPACE {
namespace {

void AddFlags(Shape& shape, const Shape& other) {
  for (int d = 0; d < other.rank(); ++d) {
    if (other.is_dynamic_dimension(d)) shape.set_dynamic_dimension(d, true);
  }
}

}  // namespace

IntList UpTo(int64_t count) {
  IntList numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

Shape TupleShapeOf(std::span<Instruction* const> values) {
  return Shape::Tuple(Transformed(values, &Instruction::shape));
}

ElementType UnsignedOfWidth(int bits) {
  return static_cast<ElementType>(static_cast<int>(ElementType::kU1) + std::countr_zero(static_cast<unsigned>(bits)));
}

Instruction* Expansion::Add(Opcode opcode, Shape shape, std::vector<Instruction*> operands, Attributes attributes,
                            std::vector<Computation*> called) {
  return Add(std::make_unique<Instruction>(opcode, std::move(shape), std::move(operands), std::move(attributes),
                                           std::move(called)));
}

Instruction* Expansion::Add(std::unique_ptr<Instruction> added) {
  if (instruction_ != nullptr) {
    added->set_name(instruction_->name());
    added->set_location(instruction_->location());
  } else if (location_ != nullptr) {
    added->set_location(*location_);
  }
  return before_ == nullptr ? computation_.Add(std::move(added)) : computation_.InsertBefore(before_, std::move(added));
}

Instruction* Expansion::Constant(Literal literal) {
  const Shape shape = literal.shape();
  return Add(Opcode::kConstant, shape, {}, ConstantAttributes{std::make_shared<Literal>(std::move(literal))});
}

Instruction* Expansion::Number(ElementType type, int64_t value) { return Constant(Literal::ScalarInt(type, value)); }

Instruction* Expansion::Spread(Instruction* scalar, IntList sizes) {
  if (sizes.empty()) return scalar;
  return Broadcast(scalar, std::move(sizes), {});
}

Instruction* Expansion::Zeros(const Shape& shape) {
  if (shape.IsToken()) return Add(Opcode::kAfterAll, shape, {});
  if (shape.IsTuple()) {
    return TupleOf(Transformed(shape.tuple_elements(), [&](const Shape& element) { return Zeros(element); }));
  }
  Instruction* const zero = Constant(Literal(Shape(shape.element_type())));
  return shape.IsScalar() ? zero : Add(Opcode::kBroadcast, shape, {zero}, DimensionsAttributes{});
}

Instruction* Expansion::Iota(ElementType type, IntList sizes, int64_t dimension) {
  return Add(Opcode::kIota, Shape(type, std::move(sizes)), {}, IotaAttributes{dimension});
}

Instruction* Expansion::Binary(Opcode opcode, Instruction* a, Instruction* b) {
  Shape shape = a->shape();
  AddFlags(shape, b->shape());
  return Add(opcode, std::move(shape), {a, b});
}

Instruction* Expansion::Compare(ComparisonDirection direction, Instruction* a, Instruction* b) {
  Shape shape(ElementType::kPred, SizesOf(a->shape()));
  for (const Instruction* operand : {a, b}) AddFlags(shape, operand->shape());
  return Add(Opcode::kCompare, std::move(shape), {a, b}, CompareAttributes{direction});
}

Instruction* Expansion::Converted(Instruction* value, ElementType type) {
  if (value->shape().element_type() == type) return value;
  Shape shape = value->shape();
  shape.set_element_type(type);
  shape.set_layout(std::nullopt);
  return Add(Opcode::kConvert, std::move(shape), {value});
}

Instruction* Expansion::Reshaped(Instruction* value, IntList sizes) {
  if (std::ranges::equal(value->shape().dimensions(), sizes)) return value;
  return Add(Opcode::kReshape, Shape(value->shape().element_type(), std::move(sizes)), {value});
}

Instruction* Expansion::Transposed(Instruction* value, const IntList& permutation) {
  if (std::ranges::is_sorted(permutation)) return value;
  auto sizes = Transformed(permutation, [&](const int64_t d) { return value->shape().dimension(d); });
  return Add(Opcode::kTranspose, Shape(value->shape().element_type(), std::move(sizes)), {value},
             DimensionsAttributes{permutation});
}

Instruction* Expansion::Slice(Instruction* value, int64_t dimension, int64_t start, int64_t limit) {
  IntList sizes = SizesOf(value->shape());
  const auto d = static_cast<size_t>(dimension);
  if (start == 0 && limit == sizes[d]) return value;
  SliceAttributes attributes;
  for (const int64_t size : sizes) attributes.slice.push_back({0, size, 1});
  attributes.slice[d] = {start, limit, 1};
  sizes[d] = limit - start;
  Shape shape(value->shape().element_type(), std::move(sizes));
  AddFlags(shape, value->shape());
  if (limit - start == 1) shape.set_dynamic_dimension(dimension, false);
  return Add(Opcode::kSlice, std::move(shape), {value}, attributes);
}

Instruction* Expansion::Concatenated(const std::vector<Instruction*>& values, int64_t dimension) {
  if (values.size() == 1) return values[0];
  IntList sizes = SizesOf(values[0]->shape());
  int64_t& size = sizes[dimension];
  size = 0;
  for (const Instruction* value : values) size += value->shape().dimension(dimension);
  Shape shape(values[0]->shape().element_type(), std::move(sizes));
  for (const Instruction* value : values) AddFlags(shape, value->shape());
  return Add(Opcode::kConcatenate, std::move(shape), values, DimensionsAttributes{{dimension}});
}

Instruction* Expansion::Padded(Instruction* value, int64_t dimension, int64_t low, int64_t high) {
  if (low == 0 && high == 0) return value;
  Shape shape = value->shape();
  const int d = static_cast<int>(dimension);
  PadAttributes pad;
  pad.padding.resize(static_cast<size_t>(shape.rank()));
  pad.padding[d] = {low, high, 0};
  shape.set_dimension(d, shape.dimension(d) + low + high);
  return Add(Opcode::kPad, shape, {value, Constant(Literal(Shape(shape.element_type())))}, std::move(pad));
}

Instruction* Expansion::Reduce(Instruction* value, Instruction* initial, IntList dimensions, Computation* combiner) {
  IntList sizes = SizesOf(value->shape());
  for (auto d = dimensions.rbegin(); d != dimensions.rend(); ++d) sizes.erase(sizes.begin() + *d);
  return Add(Opcode::kReduce, Shape(value->shape().element_type(), std::move(sizes)), {value, initial},
             DimensionsAttributes{std::move(dimensions)}, {combiner});
}

Instruction* Expansion::Rows(Instruction* values, Instruction* order) {
  IntList sizes = SizesOf(values->shape());
  GatherAttributes gather;
  gather.slice_sizes = sizes;
  gather.slice_sizes[0] = 1;
  sizes[0] = order->shape().dimension(0);
  for (int64_t d = 1; d < values->shape().rank(); ++d) gather.offset_dims.push_back(d);
  gather.collapsed_slice_dims = gather.start_index_map = {0};
  gather.index_vector_dim = 1;
  Shape shape(values->shape().element_type(), sizes);
  AddFlags(shape, values->shape());
  shape.set_dynamic_dimension(0, order->shape().is_dynamic_dimension(0));
  return Add(Opcode::kGather, std::move(shape), {values, order}, gather);
}

Instruction* Expansion::LiveSize(Instruction* value, int64_t dimension) {
  return Add(Opcode::kGetDimensionSize, Shape(ElementType::kS32), {value}, DimensionsAttributes{{dimension}});
}

Instruction* Expansion::WithLiveSize(Instruction* value, int64_t dimension, Instruction* size) {
  Shape shape = value->shape();
  shape.set_dynamic_dimension(dimension, true);
  return Add(Opcode::kSetDimensionSize, std::move(shape), {value, size}, DimensionsAttributes{{dimension}});
}

Instruction* Expansion::AtBound(Instruction* value, int64_t dimension) {
  const auto d = static_cast<int>(dimension);
  if (!value->shape().is_dynamic_dimension(d)) return value;
  Shape shape = value->shape();
  shape.set_dynamic_dimension(d, false);
  Instruction* const bound = Number(ElementType::kS32, shape.dimension(d));
  return Add(Opcode::kSetDimensionSize, std::move(shape), {value, bound}, DimensionsAttributes{{dimension}});
}

Instruction* Expansion::TupleOf(std::vector<Instruction*> values) {
  Shape shape = TupleShapeOf(values);
  return Add(Opcode::kTuple, std::move(shape), std::move(values));
}

Instruction* Expansion::Together(std::vector<Instruction*> values) {
  return values.size() == 1 ? values[0] : TupleOf(std::move(values));
}

Instruction* Expansion::Element(Instruction* tuple, int64_t index) {
  const Shape shape = tuple->shape().tuple_elements().at(static_cast<size_t>(index));
  return Add(Opcode::kGetTupleElement, shape, {tuple}, GetTupleElementAttributes{index});
}

std::vector<Instruction*> Expansion::Elements(Instruction* value) {
  if (!value->shape().IsTuple()) return {value};
  if (value->opcode() == Opcode::kTuple) return {value->operands().begin(), value->operands().end()};
  std::vector<Instruction*> elements;
  for (size_t k = 0; k < value->shape().tuple_elements().size(); ++k)
    elements.push_back(Element(value, static_cast<int64_t>(k)));
  return elements;
}

Instruction* Expansion::Started(Instruction* first, Instruction* second) {
  std::vector<Instruction*> elements{first, second};
  const std::vector<Shape>& shapes = instruction_->shape().tuple_elements();
  for (size_t i = 2; i < shapes.size(); ++i) elements.push_back(Zeros(shapes[i]));
  return TupleOf(std::move(elements));
}

Instruction* Expansion::DoneAtOnce() {
  const std::vector<Instruction*> operands(instruction_->operands().begin(), instruction_->operands().end());
  switch (instruction_->opcode()) {
    case Opcode::kCopyStart:  // (destination, source, context)
      return Started(operands[0], operands[0]);
    case Opcode::kCopyDone:
      return Element(operands[0], 0);
    case Opcode::kAsyncStart: {
      const Shape& result = instruction_->shape().tuple_elements()[1];
      Instruction* const given = Add(Opcode::kCall, result, operands, CallAttributes{}, {instruction_->called(0)});
      return Started(TupleOf(operands), given);
    }
    case Opcode::kAsyncUpdate:
    case Opcode::kAllReduceDone:
      return operands[0];
    case Opcode::kAsyncDone:
    case Opcode::kAllGatherDone:
    case Opcode::kCollectivePermuteDone:
      return Element(operands[0], 1);
    default:
      return nullptr;
  }
}

std::vector<Instruction*> Expansion::Called(Computation* called, std::vector<Instruction*> arguments) {
  return Elements(Add(Opcode::kCall, called->root()->shape(), std::move(arguments), CallAttributes{}, {called}));
}

Computation* AddCombiner(Module& module, Opcode opcode, ElementType type, std::string name) {
  if (name.empty()) name = OpcodeText(opcode);
  Computation* const combiner = module.AddComputation(std::move(name));
  Expansion in(*combiner);
  Instruction* const a = in.Parameter(Shape(type), 0);
  Instruction* const b = in.Parameter(Shape(type), 1);
  in.Binary(opcode, a, b);
  return combiner;
}

Computation* AddTopKOrder(Module& module, ElementType type, bool largest, std::string name) {
  Computation* const order = module.AddComputation(std::move(name));
  Expansion in(*order);
  std::vector<Instruction*> values;
  for (int64_t k = 0; k < 4; ++k) values.push_back(in.Parameter(Shape(k < 2 ? type : ElementType::kS32), k));
  CompareAttributes compare{largest ? ComparisonDirection::kGt : ComparisonDirection::kLt};
  if (IsFloating(type)) compare.type = ComparisonType::kTotalOrder;
  order->set_root(in.Add(Opcode::kCompare, Shape(ElementType::kPred), {values[0], values[1]}, compare));
  return order;
}

Computation* AddFlaggedForm(Module& module, Computation* combiner, int64_t count, bool counts) {
  Computation* const flagged = module.AddComputation(combiner->name() + "_of_live");
  Expansion in(*flagged);
  const Shape flag(ElementType::kPred);
  std::vector<Instruction*> before, element;
  for (int64_t k = 0; k < count; ++k) before.push_back(in.Parameter(combiner->parameter(k)->shape(), k));
  Instruction* const had = in.Parameter(flag, count);
  for (int64_t k = 0; k < count; ++k)
    element.push_back(in.Parameter(combiner->parameter(count + k)->shape(), count + 1 + k));
  Instruction* const lives = in.Parameter(flag, 2 * count + 1);
  std::vector<Instruction*> arguments = before;
  arguments.insert(arguments.end(), element.begin(), element.end());
  std::vector<Instruction*> results = in.Called(combiner, std::move(arguments));
  for (size_t k = 0; k < results.size(); ++k) {
    results[k] = in.Select(lives, results[k], before[k]);
    if (counts) results[k] = in.Select(had, results[k], element[k]);
  }
  results.push_back(counts ? in.Or(had, lives) : had);
  flagged->set_root(in.TupleOf(std::move(results)));
  return flagged;
}

bool ExpandEach(const std::vector<Computation*>& computations,
                const std::function<Instruction*(Computation&, Instruction*)>& expand, LiveSizesIn live_sizes) {
  bool changed = false;
  for (Computation* computation : computations) {
    for (Instruction* instruction : InstructionList(*computation)) {
      if (live_sizes == LiveSizesIn::kLeft && TouchesLiveSizes(*instruction)) continue;
      Instruction* const value = expand(*computation, instruction);
      if (value == nullptr) continue;
      computation->ReplaceAllUses(instruction, value);
      computation->Remove(instruction);
      changed = true;
    }
  }
  return changed;
}

bool ExpandEach(Module& module, const std::function<Instruction*(Computation&, Instruction*)>& expand,
                LiveSizesIn live_sizes) {
  const bool changed = ExpandEach(ControlComputations(module), expand, live_sizes);
  if (changed) module.SortComputations();
  return changed;
}

std::vector<Computation*> AllComputations(const Module& module) {
  return Transformed(module.computations(), [&](const auto& computation) { return computation.get(); });
}

}  // namespace VXLA_NAMESPACE
