// scan as a while whose state holds the step's number, the inputs, the outputs as far as they are, and the carries.
#include "core/passes/expanders.h"
#include "core/passes/expansion.h"

namespace VXLA_NAMESPACE {
namespace {

class Scan : private Expansion {
 public:
  Scan(Module& module, Computation& computation, Instruction* scan)
      : Expansion(computation, scan), module_(module), attributes_(scan->attributes<ScanAttributes>()) {
    shapes_ = scan->shape().IsTuple() ? scan->shape().tuple_elements() : std::vector{scan->shape()};
    carries_ = static_cast<size_t>(attributes_.num_carries);
    inputs_ = static_cast<size_t>(scan->operand_count()) - carries_;
    outputs_ = shapes_.size() - carries_;
    dimension_ = attributes_.dimensions[0];
    steps_ = scan->operand(0)->shape().dimension(static_cast<int>(dimension_));
  }

  Instruction* Expand() {
    std::vector<Instruction*> state{Zeros(kStep)};
    for (size_t k = 0; k < inputs_; ++k) state.push_back(instruction().operand(static_cast<int>(k)));
    for (size_t k = 0; k < outputs_; ++k) state.push_back(Zeros(shapes_[k]));
    for (size_t k = 0; k < carries_; ++k) state.push_back(instruction().operand(static_cast<int>(inputs_ + k)));
    Instruction* const initial = TupleOf(state);
    Computation* const condition = Condition(initial->shape());
    Computation* const body = Body(initial->shape());
    Instruction* const loop = Add(Opcode::kWhile, initial->shape(), {initial}, NoAttributes{}, {condition, body});
    std::vector<Instruction*> results;
    for (size_t k = 0; k < shapes_.size(); ++k) results.push_back(Element(loop, static_cast<int64_t>(1 + inputs_ + k)));
    return instruction().shape().IsTuple() ? TupleOf(results) : results[0];
  }

 private:
  static Instruction* Number(Computation& in, int64_t value) {
    return in.Add(Opcode::kConstant, kStep, {},
                  ConstantAttributes{std::make_shared<Literal>(Literal::ScalarInt(ElementType::kS32, value))});
  }
  static Instruction* ElementIn(Computation& in, Instruction* tuple, size_t index) {
    return in.Add(Opcode::kGetTupleElement, tuple->shape().tuple_elements().at(index), {tuple},
                  GetTupleElementAttributes{static_cast<int64_t>(index)});
  }

  Computation* Condition(const Shape& state) {
    Computation& condition = *module_.AddComputation("scan_goes_on");
    Instruction* const all = condition.Add(Opcode::kParameter, state, {}, ParameterAttributes{0});
    CompareAttributes below;
    below.direction = ComparisonDirection::kLt;
    condition.Add(Opcode::kCompare, Shape(ElementType::kPred),
                  {ElementIn(condition, all, 0), Number(condition, steps_)}, below);
    return &condition;
  }

  // Where the slices of an array of this rank lie at a step.
  static std::vector<Instruction*> Starts(Instruction* step, Instruction* zero, const Shape& array, int64_t dimension) {
    std::vector<Instruction*> starts(static_cast<size_t>(array.rank()), zero);
    starts[static_cast<size_t>(dimension)] = step;
    return starts;
  }

  Computation* Body(const Shape& state) {
    Computation& body = *module_.AddComputation("scan_step");
    Instruction* const all = body.Add(Opcode::kParameter, state, {}, ParameterAttributes{0});
    Instruction* const number = ElementIn(body, all, 0);
    Instruction* const zero = Number(body, 0);
    Instruction* step = number;
    if (attributes_.is_reverse) step = body.Add(Opcode::kSubtract, kStep, {Number(body, steps_ - 1), number});
    const Computation& called = *instruction().called(0);
    std::vector<Instruction*> arguments, next{body.Add(Opcode::kAdd, kStep, {number, Number(body, 1)})};
    for (size_t k = 0; k < inputs_; ++k) {
      Instruction* const input = ElementIn(body, all, 1 + k);
      next.push_back(input);
      IntList sizes = SizesOf(input->shape());
      sizes[static_cast<size_t>(dimension_)] = 1;
      std::vector<Instruction*> operands = Starts(step, zero, input->shape(), dimension_);
      operands.insert(operands.begin(), input);
      Instruction* const slice = body.Add(Opcode::kDynamicSlice, Shape(input->shape().element_type(), sizes), operands,
                                          DynamicSliceAttributes{sizes});
      arguments.push_back(body.Add(Opcode::kReshape, called.parameter(static_cast<int64_t>(k))->shape(), {slice}));
    }
    for (size_t k = 0; k < carries_; ++k) arguments.push_back(ElementIn(body, all, 1 + inputs_ + outputs_ + k));
    Instruction* const given =
        body.Add(Opcode::kCall, called.root()->shape(), arguments, CallAttributes{}, {instruction().called(0)});
    for (size_t k = 0; k < shapes_.size(); ++k) {
      Instruction* const value = given->shape().IsTuple() ? ElementIn(body, given, k) : given;
      if (k >= outputs_) {
        next.push_back(value);
        continue;
      }
      Instruction* const output = ElementIn(body, all, 1 + inputs_ + k);
      IntList sizes = SizesOf(output->shape());
      sizes[static_cast<size_t>(dimension_)] = 1;
      std::vector<Instruction*> operands = Starts(step, zero, output->shape(), dimension_);
      operands.insert(operands.begin(),
                      {output, body.Add(Opcode::kReshape, Shape(output->shape().element_type(), sizes), {value})});
      next.push_back(body.Add(Opcode::kDynamicUpdateSlice, output->shape(), operands));
    }
    body.Add(Opcode::kTuple, state, next);
    return &body;
  }

  inline static const Shape kStep{ElementType::kS32};

  Module& module_;
  const ScanAttributes attributes_;
  std::vector<Shape> shapes_;
  size_t inputs_ = 0, outputs_ = 0, carries_ = 0;
  int64_t dimension_ = 0, steps_ = 0;
};

}  // namespace

bool ExpandScans(Module& module) {
  std::vector<Computation*> all;
  for (const auto& computation : module.computations()) all.push_back(computation.get());
  const bool changed = ExpandEach(all, [&](Computation& computation, Instruction* instruction) -> Instruction* {
    return instruction->opcode() == Opcode::kScan ? Scan(module, computation, instruction).Expand() : nullptr;
  });
  if (changed) module.SortComputations();
  return changed;
}

}  // namespace VXLA_NAMESPACE
