#include "core/passes/running_windows.h"

#include <algorithm>
#include <bit>

#include "core/passes/control_flow.h"
#include "core/reducer_facts.h"
#include "core/reducer_identity.h"

namespace VXLA_NAMESPACE {
namespace {

// Below it one kernel costs no more than the parts do.
constexpr int64_t kShortest = 64;
constexpr int kMostBlockBits = 5;

using Values = std::vector<Instruction*>;

struct Running {
  int dimension = 0;
  bool reverse = false;  // from the last element to the first
};

std::optional<Running> RunningOf(const Instruction& i) {
  const Window& window = i.attributes<WindowAttributes>().window;
  const Shape& shape = i.operand(0)->shape();
  std::optional<Running> running;
  for (int d = 0; d < shape.rank(); ++d) {
    const WindowDimension& w = window[static_cast<size_t>(d)];
    if (w == WindowDimension{}) continue;
    const bool forward = w.pad_low == w.size - 1 && w.pad_high == 0,
               reverse = w.pad_high == w.size - 1 && w.pad_low == 0;
    const bool plain = w.stride == 1 && w.lhs_dilate == 1 && w.rhs_dilate == 1 && !w.reversal;
    const int64_t size = shape.dimension(d);
    if (running || !plain || forward == reverse || size < kShortest || w.size < size) return std::nullopt;
    running = Running{d, reverse};
  }
  return running;
}

// Scalar operations of one value each, so that they can be said of whole arrays.
bool HasArrayForm(const Computation& reducer, const Instruction& window) {
  const size_t count = static_cast<size_t>(window.operand_count()) / 2;
  if (reducer.parameters().size() != 2 * count) return false;
  for (size_t p = 0; p < 2 * count; ++p) {
    const Shape& shape = reducer.parameter(static_cast<int64_t>(p))->shape();
    if (shape != Shape(window.operand(static_cast<int>(p % count))->shape().element_type())) return false;
  }
  return std::ranges::all_of(reducer.instructions(), [&](const auto& i) {
    if (i.get() == reducer.root() && i->opcode() == Opcode::kTuple) return true;
    if (!i->shape().IsScalar() || !i->called().empty()) return false;
    return i->opcode() == Opcode::kParameter || i->opcode() == Opcode::kConstant || IsElementwise(i->opcode());
  });
}

bool IsIdempotent(std::optional<Opcode> operation) {
  return operation == Opcode::kMaximum || operation == Opcode::kMinimum || operation == Opcode::kAnd ||
         operation == Opcode::kOr;
}

bool MayFoldAgain(const Instruction& window) {
  const Computation& reducer = *window.called(0);
  if (IsIdempotent(SingleOperation(reducer))) return true;
  std::vector<const Literal*> initial_values;
  for (int i = window.operand_count() / 2; i < window.operand_count(); ++i) {
    const Instruction& value = *window.operand(i);
    if (value.opcode() != Opcode::kConstant || value.attributes<ConstantAttributes>().literal == nullptr) return false;
    initial_values.push_back(&value.literal());
  }
  return IsIdentityOf(reducer, initial_values);
}

bool CanBlock(const Instruction& i, bool wide) {
  if (i.opcode() != Opcode::kReduceWindow || i.shape().IsDynamic() || !i.control_predecessors().empty()) return false;
  if (i.operand(0)->shape().ElementCount() == 0 || !RunningOf(i) || !HasArrayForm(*i.called(0), i)) return false;
  const ReducerFacts facts = FactsOfReducer(*i.called(0));
  if (wide && facts.adds_floats && facts.types[0] == ElementType::kF32) return false;
  return MayFoldAgain(i);
}

// The fewest levels of blocks of at most 2^kMostBlockBits elements, then blocks as small as these levels allow.
int64_t BlockSize(int64_t size) {
  const int bits = std::bit_width(static_cast<uint64_t>(size - 1));
  const int levels = std::max(2, (bits + kMostBlockBits - 1) / kMostBlockBits);
  return int64_t{1} << ((bits + levels - 1) / levels);
}

class Blocker {
 public:
  Blocker(Computation& computation, Instruction* window)
      : computation_(computation), window_(window), running_(*RunningOf(*window)), reducer_(window->called(0)) {}

  void Rewrite() {
    const int count = window_->operand_count() / 2;
    Values inputs(window_->operands().begin(), window_->operands().begin() + count);
    initial_.assign(window_->operands().begin() + count, window_->operands().end());
    const ElementType type = inputs[0]->shape().element_type();
    const std::optional<Opcode> operation = SingleOperation(*reducer_);
    const bool widened = IsNarrowFloat(type) && operation && !IsIdempotent(operation);
    if (widened) {
      reducer_ = ReducerOf(*operation);
      inputs = {Converted(inputs[0], ElementType::kF32)};
      initial_ = {Converted(initial_[0], ElementType::kF32)};
    }
    Values results = RunningReduction(inputs, running_.dimension);
    if (widened) results = {Converted(results[0], type)};
    const auto leaves = FlattenTuple(window_->shape());
    for (size_t i = 0; i < results.size(); ++i) results[i]->mutable_shape().set_layout(leaves[i]->layout());
    computation_.ReplaceAllUses(
        window_, window_->shape().IsTuple() ? Add(Opcode::kTuple, window_->shape(), results) : results[0]);
  }

 private:
  Instruction* Add(Opcode opcode, Shape shape, Values operands, Attributes attributes = NoAttributes{},
                   std::vector<Computation*> called = {}) {
    auto instruction = std::make_unique<Instruction>(opcode, std::move(shape), std::move(operands),
                                                     std::move(attributes), std::move(called));
    instruction->set_name(window_->name());
    instruction->set_location(window_->location());
    return computation_.InsertBefore(window_, std::move(instruction));
  }

  Instruction* Converted(Instruction* value, ElementType type) {
    const auto sizes = value->shape().dimensions();
    return Add(Opcode::kConvert, Shape(type, IntList(sizes.begin(), sizes.end())), {value});
  }

  Computation* ReducerOf(Opcode operation) {
    Computation* reducer = computation_.module()->AddComputation(reducer_->name() + ".f32");
    const Shape scalar(ElementType::kF32);
    Instruction* a = reducer->Add(Opcode::kParameter, scalar, {}, ParameterAttributes{0});
    Instruction* b = reducer->Add(Opcode::kParameter, scalar, {}, ParameterAttributes{1});
    const bool crossed = reducer_->root()->operand(0) != reducer_->parameter(0);
    reducer->Add(operation, scalar, crossed ? Values{b, a} : Values{a, b});
    return reducer;
  }

  static IntList SizesOf(const Instruction& value) {
    const auto sizes = value.shape().dimensions();
    return IntList(sizes.begin(), sizes.end());
  }

  Values Reshaped(const Values& values, const IntList& sizes) {
    Values results;
    for (Instruction* v : values)
      results.push_back(Add(Opcode::kReshape, Shape(v->shape().element_type(), sizes), {v}));
    return results;
  }

  Values Padded(const Values& values, int dimension, int64_t low, int64_t high) {
    IntList sizes = SizesOf(*values[0]);
    sizes[static_cast<size_t>(dimension)] += low + high;
    PadAttributes attributes;
    attributes.padding.resize(sizes.size());
    attributes.padding[static_cast<size_t>(dimension)] = {.low = low, .high = high};
    Values results;
    for (size_t i = 0; i < values.size(); ++i) {
      results.push_back(
          Add(Opcode::kPad, Shape(values[i]->shape().element_type(), sizes), {values[i], initial_[i]}, attributes));
    }
    return results;
  }

  Values Sliced(const Values& values, int dimension, int64_t start, int64_t limit) {
    IntList sizes = SizesOf(*values[0]);
    SliceAttributes attributes;
    for (int64_t size : sizes) attributes.slice.push_back({.start = 0, .limit = size});
    attributes.slice[static_cast<size_t>(dimension)] = {.start = start, .limit = limit};
    sizes[static_cast<size_t>(dimension)] = limit - start;
    Values results;
    for (Instruction* v : values)
      results.push_back(Add(Opcode::kSlice, Shape(v->shape().element_type(), sizes), {v}, attributes));
    return results;
  }

  // One kernel: the window as long as the dimension.
  Values Windowed(const Values& values, int dimension) {
    const IntList sizes = SizesOf(*values[0]);
    const int64_t size = sizes[static_cast<size_t>(dimension)];
    WindowAttributes attributes;
    attributes.window.resize(sizes.size());
    attributes.window[static_cast<size_t>(dimension)] = {
        .size = size, .pad_low = running_.reverse ? 0 : size - 1, .pad_high = running_.reverse ? size - 1 : 0};
    std::vector<Shape> shapes;
    for (Instruction* v : values) shapes.emplace_back(v->shape().element_type(), sizes);
    Values operands = values;
    operands.insert(operands.end(), initial_.begin(), initial_.end());
    const bool variadic = window_->shape().IsTuple();
    Instruction* window =
        Add(Opcode::kReduceWindow, variadic ? Shape::Tuple(shapes) : shapes[0], operands, attributes, {reducer_});
    if (!variadic) return {window};
    Values results;
    for (size_t i = 0; i < shapes.size(); ++i) {
      results.push_back(
          Add(Opcode::kGetTupleElement, shapes[i], {window}, GetTupleElementAttributes{static_cast<int64_t>(i)}));
    }
    return results;
  }

  // The reducer of arrays, element by element.
  Values Joined(const Values& before, const Values& after) {
    const IntList sizes = SizesOf(*before[0]);
    std::unordered_map<const Instruction*, Instruction*> arrays;
    for (const auto& i : reducer_->instructions()) {
      if (i->opcode() == Opcode::kTuple) continue;
      if (i->opcode() == Opcode::kParameter) {
        const size_t p = static_cast<size_t>(i->parameter_number());
        arrays[i.get()] = p < before.size() ? before[p] : after[p - before.size()];
        continue;
      }
      const Shape shape(i->shape().element_type(), sizes);
      if (i->opcode() == Opcode::kConstant) {
        Instruction* constant = Add(Opcode::kConstant, i->shape(), {}, i->attributes());
        arrays[i.get()] = Add(Opcode::kBroadcast, shape, {constant}, DimensionsAttributes{});
        continue;
      }
      Values operands;
      for (const Instruction* operand : i->operands()) operands.push_back(arrays.at(operand));
      arrays[i.get()] = Add(i->opcode(), shape, operands, i->attributes());
    }
    const Instruction* root = reducer_->root();
    if (root->opcode() != Opcode::kTuple) return {arrays.at(root)};
    Values results;
    for (const Instruction* result : root->operands()) results.push_back(arrays.at(result));
    return results;
  }

  // What each block begins with: all blocks before it (behind it, if reverse), in the shape of the blocks.
  Values Carried(const Values& blocks, int dimension) {
    const IntList sizes = SizesOf(*blocks[0]);
    const int64_t last = sizes[static_cast<size_t>(dimension) + 1] - 1;
    IntList counts = sizes, kept;
    counts.erase(counts.begin() + dimension + 1);
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (static_cast<int>(d) != dimension + 1) kept.push_back(static_cast<int64_t>(d));
    }
    const int64_t at = running_.reverse ? 0 : last, shift = running_.reverse ? -1 : 1;
    const Values totals = Reshaped(Sliced(blocks, dimension + 1, at, at + 1), counts);
    Values carried = Padded(RunningReduction(totals, dimension), dimension, shift, -shift);
    for (Instruction*& v : carried) {
      v = Add(Opcode::kBroadcast, Shape(v->shape().element_type(), sizes), {v}, DimensionsAttributes{kept});
    }
    return carried;
  }

  Values RunningReduction(const Values& inputs, int dimension) {
    const IntList sizes = SizesOf(*inputs[0]);
    const size_t d = static_cast<size_t>(dimension);
    const int64_t size = sizes[d];
    if (size < kShortest) return Windowed(inputs, dimension);
    const int64_t block = BlockSize(size), count = (size + block - 1) / block;
    IntList split = sizes, joined = sizes;
    split[d] = count;
    split.insert(split.begin() + dimension + 1, block);
    joined[d] = count * block;
    const bool exact = count * block == size;
    const Values blocks =
        Windowed(Reshaped(exact ? inputs : Padded(inputs, dimension, 0, count * block - size), split), dimension + 1);
    const Values carried = Carried(blocks, dimension);
    const Values whole = Reshaped(running_.reverse ? Joined(blocks, carried) : Joined(carried, blocks), joined);
    return exact ? whole : Sliced(whole, dimension, 0, size);
  }

  Computation& computation_;
  Instruction* window_;
  const Running running_;
  Computation* reducer_;
  Values initial_;
};

}  // namespace

bool BlockRunningWindows(Module& module, bool wide) {
  bool changed = false;
  for (Computation* computation : ControlComputations(module)) {
    Values windows;
    for (const auto& instruction : computation->instructions()) {
      if (CanBlock(*instruction, wide)) windows.push_back(instruction.get());
    }
    for (Instruction* window : windows) Blocker(*computation, window).Rewrite();
    computation->RemoveDead();
    changed |= !windows.empty();
  }
  if (changed) module.SortComputations();
  return changed;
}

}  // namespace VXLA_NAMESPACE
