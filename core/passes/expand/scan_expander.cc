// scan as a running window where its steps only join their inputs one after another; else as a while whose state holds
// the step's number, the inputs, the outputs as far as they are, and the carries.
#include <algorithm>

#include "core/numerics/reducer_facts.h"
#include "core/passes/base/expansion.h"
#include "core/passes/expand/expanders.h"

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
    steps_ = scan->operand(0)->shape().dimension(dimension_);
  }

  Instruction* Expand() {
    std::vector<Instruction*> state{Zeros(kStep)};
    for (size_t k = 0; k < inputs_; ++k) state.push_back(instruction().operand(k));
    for (size_t k = 0; k < outputs_; ++k) state.push_back(Zeros(shapes_[k]));
    for (size_t k = 0; k < carries_; ++k) state.push_back(instruction().operand(inputs_ + k));
    Instruction* const initial = TupleOf(state);
    Computation* const condition = Condition(initial->shape());
    Computation* const body = Body(initial->shape());
    Instruction* const loop = Add(Opcode::kWhile, initial->shape(), {initial}, NoAttributes{}, {condition, body});
    std::vector<Instruction*> results;
    for (size_t k = 0; k < shapes_.size(); ++k) results.push_back(Element(loop, static_cast<int64_t>(1 + inputs_ + k)));
    return instruction().shape().IsTuple() ? TupleOf(results) : results[0];
  }

 private:
  Computation* Condition(const Shape& state) {
    Computation& condition = *module_.AddComputation("scan_goes_on");
    Expansion in(condition);
    Instruction* const number = in.Element(in.Parameter(state, 0), 0);
    in.Compare(ComparisonDirection::kLt, number, in.Number(ElementType::kS32, steps_));
    return &condition;
  }

  // Where the slices of an array of this rank lie at a step.
  static std::vector<Instruction*> Starts(Instruction* step, Instruction* zero, const Shape& array, int64_t dimension) {
    std::vector<Instruction*> starts(static_cast<size_t>(array.rank()), zero);
    starts[dimension] = step;
    return starts;
  }

  Computation* Body(const Shape& state) {
    Computation* const made = module_.AddComputation("scan_step");
    Expansion body(*made);
    const auto constant = [&](int64_t value) { return body.Number(ElementType::kS32, value); };
    Instruction* const all = body.Parameter(state, 0);
    const auto element = [&](size_t k) { return body.Element(all, static_cast<int64_t>(k)); };
    Instruction* const number = element(0);
    Instruction* const zero = constant(0);
    Instruction* step = number;
    if (attributes_.is_reverse) step = body.Minus(constant(steps_ - 1), number);
    const Computation& called = *instruction().called(0);
    std::vector<Instruction*> arguments, next{body.Plus(number, constant(1))};
    for (size_t k = 0; k < inputs_; ++k) {
      Instruction* const input = element(1 + k);
      next.push_back(input);
      IntList sizes = SizesOf(input->shape());
      sizes[dimension_] = 1;
      std::vector<Instruction*> operands = Starts(step, zero, input->shape(), dimension_);
      operands.insert(operands.begin(), input);
      Instruction* const slice = body.Add(Opcode::kDynamicSlice, Shape(input->shape().element_type(), sizes), operands,
                                          DynamicSliceAttributes{sizes});
      arguments.push_back(body.Add(Opcode::kReshape, called.parameter(k)->shape(), {slice}));
    }
    for (size_t k = 0; k < carries_; ++k) arguments.push_back(element(1 + inputs_ + outputs_ + k));
    const std::vector<Instruction*> given = body.Called(instruction().called(0), arguments);
    for (size_t k = 0; k < shapes_.size(); ++k) {
      Instruction* const value = given[k];
      if (k >= outputs_) {
        next.push_back(value);
        continue;
      }
      Instruction* const output = element(1 + inputs_ + k);
      IntList sizes = SizesOf(output->shape());
      sizes[dimension_] = 1;
      std::vector<Instruction*> operands = Starts(step, zero, output->shape(), dimension_);
      operands.insert(operands.begin(), {output, body.Reshaped(value, sizes)});
      next.push_back(body.Add(Opcode::kDynamicUpdateSlice, output->shape(), operands));
    }
    body.TupleOf(next);
    return made;
  }

  inline static const Shape kStep{ElementType::kS32};

  Module& module_;
  const ScanAttributes attributes_;
  std::vector<Shape> shapes_;
  size_t inputs_ = 0, outputs_ = 0, carries_ = 0;
  int64_t dimension_ = 0, steps_ = 0;
};

// A scan each of whose carries is joined with an input at each step by one associative operation: outputs are the carry
// before the step, after it, or an input. Sums and products of floats depend on the order of the steps, unless the
// program says that they are associative.
class RunningScan : private Expansion {
 public:
  // Null: it is not of that kind.
  static Instruction* Expand(Module& module, Computation& computation, Instruction* scan) {
    RunningScan running(module, computation, scan);
    return running.Read() ? running.Rewrite() : nullptr;
  }

 private:
  struct Carry {
    Opcode operation;
    int64_t input;
    Literal identity;
    Instruction *after = nullptr, *before = nullptr;  // of all steps
  };

  RunningScan(Module& module, Computation& computation, Instruction* scan)
      : Expansion(computation, scan),
        module_(module),
        body_(*scan->called(0)),
        attributes_(scan->attributes<ScanAttributes>()),
        inputs_(scan->operand_count() - attributes_.num_carries),
        dimension_(attributes_.dimensions.at(0)) {
    const Instruction& root = *body_.root();
    if (root.opcode() == Opcode::kTuple) {
      results_.assign(root.operands().begin(), root.operands().end());
    } else if (!root.shape().IsTuple()) {
      results_ = {&root};
    }
  }

  static bool IsAssociative(Opcode operation, ElementType type, bool stated) {
    const bool exact = !IsFloating(type) && !IsComplex(type);
    const bool chooses = operation == Opcode::kMaximum || operation == Opcode::kMinimum;
    return Has(operation, Trait::kAssociates) && (exact || chooses || stated);
  }

  // Which parameter of the body it is; -1: none.
  static int64_t ParameterNumber(const Instruction& i) {
    return i.opcode() == Opcode::kParameter ? i.parameter_number() : -1;
  }

  bool ReadCarry(int64_t number) {
    const Instruction& next = *results_[results_.size() - static_cast<size_t>(attributes_.num_carries - number)];
    const Shape& shape = next.shape();
    if (!shape.IsArray() || next.operand_count() != 2) return false;
    if (!IsAssociative(next.opcode(), shape.element_type(), attributes_.is_associative.text == "true")) return false;
    int64_t carry = ParameterNumber(*next.operand(0)), input = ParameterNumber(*next.operand(1));
    if (carry != inputs_ + number) std::swap(carry, input);
    if (carry != inputs_ + number || input < 0 || input >= inputs_) return false;
    if (next.operand(0)->shape() != next.operand(1)->shape()) return false;
    // A narrow float's identity is the accumulator's, and its carries round at every step.
    Computation* const reducer = AddCombiner(module_, next.opcode(), shape.element_type(), "scan_join");
    const auto identity = FactsOfReducer(*reducer).identity;
    if (!identity || identity->shape().element_type() != shape.element_type()) return false;
    carries_.push_back({next.opcode(), input, *identity});
    return true;
  }

  bool Read() {
    if (attributes_.num_carries == 0 || results_.size() < static_cast<size_t>(attributes_.num_carries)) return false;
    if (instruction().operand(0)->shape().dimension(dimension_) == 0) return false;
    for (int64_t j = 0; j < attributes_.num_carries; ++j) {
      if (!ReadCarry(j)) return false;
    }
    return std::all_of(results_.begin(), results_.end() - attributes_.num_carries, [&](const Instruction* result) {
      return ParameterNumber(*result) >= 0 ||
             std::find(results_.end() - attributes_.num_carries, results_.end(), result) != results_.end();
    });
  }

  void RunCarry(Carry& carry, Instruction* initial) {
    Instruction* const input = instruction().operand(carry.input);
    const IntList sizes = SizesOf(input->shape());
    const auto d = static_cast<size_t>(dimension_);
    const ElementType type = input->shape().element_type();
    const int64_t size = sizes[d];
    WindowAttributes window;
    window.window.resize(sizes.size());
    const int64_t pad = size - 1;
    window.window[d] = {
        .size = size, .pad_low = attributes_.is_reverse ? 0 : pad, .pad_high = attributes_.is_reverse ? pad : 0};
    Instruction* const sums = Add(Opcode::kReduceWindow, Shape(type, sizes), {input, Constant(carry.identity)}, window,
                                  {AddCombiner(module_, carry.operation, type, "scan_join")});
    IntList kept, one = sizes;
    one[d] = 1;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (i != d) kept.push_back(i);
    }
    Instruction* const first = Broadcast(initial, sizes, kept);
    carry.after = Binary(carry.operation, first, sums);
    Instruction* const start = Reshaped(initial, one);
    if (size == 1) {
      carry.before = start;
    } else if (attributes_.is_reverse) {
      carry.before = Concatenated({Slice(carry.after, dimension_, 1, size), start}, dimension_);
    } else {
      carry.before = Concatenated({start, Slice(carry.after, dimension_, 0, size - 1)}, dimension_);
    }
  }

  Instruction* Rewrite() {
    for (size_t j = 0; j < carries_.size(); ++j) {
      RunCarry(carries_[j], instruction().operand(static_cast<int>(inputs_) + static_cast<int>(j)));
    }
    std::vector<Instruction*> values;
    const auto first_carry = results_.end() - attributes_.num_carries;
    for (auto result = results_.begin(); result != first_carry; ++result) {
      const int64_t parameter = ParameterNumber(**result);
      if (parameter < 0) {
        values.push_back(carries_[std::find(first_carry, results_.end(), *result) - first_carry].after);
      } else if (parameter < inputs_) {
        values.push_back(instruction().operand(parameter));
      } else {
        values.push_back(carries_[parameter - inputs_].before);
      }
    }
    for (size_t j = 0; j < carries_.size(); ++j) {
      const int64_t size = carries_[j].after->shape().dimension(dimension_);
      const int64_t last = attributes_.is_reverse ? 0 : size - 1;
      values.push_back(Reshaped(Slice(carries_[j].after, dimension_, last, last + 1),
                                SizesOf(first_carry[static_cast<int64_t>(j)]->shape())));
    }
    return instruction().shape().IsTuple() ? TupleOf(values) : values[0];
  }

  Module& module_;
  const Computation& body_;
  const ScanAttributes attributes_;
  const int64_t inputs_, dimension_;
  std::vector<const Instruction*> results_;  // of a step
  std::vector<Carry> carries_;
};

}  // namespace

bool ExpandScans(Module& module) {
  const bool changed =
      ExpandEach(AllComputations(module), [&](Computation& computation, Instruction* instruction) -> Instruction* {
        if (instruction->opcode() != Opcode::kScan) return nullptr;
        Instruction* const running = RunningScan::Expand(module, computation, instruction);
        return running != nullptr ? running : Scan(module, computation, instruction).Expand();
      });
  if (changed) module.SortComputations();
  return changed;
}

}  // namespace VXLA_NAMESPACE
