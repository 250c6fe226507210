// Expansion: other instructions in the place of one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

// The dimensions of an array as a list.
inline IntList SizesOf(const Shape& shape) { return {shape.dimensions().begin(), shape.dimensions().end()}; }

// 0, 1 ... count - 1.
IntList UpTo(int64_t count);
// Of a tuple of these values.
Shape TupleShapeOf(std::span<Instruction* const> values);
ElementType UnsignedOfWidth(int bits);

// Puts instructions before one that they will take the place of, or at the end of a computation (of another module,
// perhaps) in which they stand for it, under its name and location; or at the end of one for themselves. Sizes and
// types of results follow from the operands where they can.
class Expansion {
 public:
  Expansion(Computation& computation, const Instruction* instruction)
      : computation_(computation), instruction_(instruction), before_(instruction) {}
  Expansion(Computation& end_of, const Instruction& instruction) : computation_(end_of), instruction_(&instruction) {}
  Expansion(Computation& end_of) : computation_(end_of) {}
  // `location`: where it is when they are added.
  Expansion(Computation& end_of, const SourceLocation& location) : computation_(end_of), location_(&location) {}

  void set_root(Instruction* root) { computation_.set_root(root); }
  const Instruction& instruction() const { return *instruction_; }

  Instruction* Add(Opcode opcode, Shape shape, std::vector<Instruction*> operands = {},
                   Attributes attributes = NoAttributes{}, std::vector<Computation*> called = {});
  Instruction* Add(std::unique_ptr<Instruction> added);

  Instruction* Parameter(Shape shape, int64_t number) {
    return Add(Opcode::kParameter, std::move(shape), {}, ParameterAttributes{number});
  }
  Instruction* Constant(Literal literal);
  Instruction* Number(ElementType type, int64_t value);  // a scalar
  Instruction* Number(int64_t value, const Instruction* like) {
    return Spread(Number(like->shape().element_type(), value), SizesOf(like->shape()));
  }
  Instruction* Zero(ElementType type) { return Constant(Literal(Shape(type))); }
  // `scalar` in an array of these sizes; itself if there are none.
  Instruction* Spread(Instruction* scalar, IntList sizes);
  // In an array of the sizes of `like`; itself if it has them.
  Instruction* SpreadAs(Instruction* value, const Shape& like) {
    return SameDimensions(value->shape(), like) ? value : Spread(value, SizesOf(like));
  }
  // Dimension i of the value becomes dimension dimensions[i].
  Instruction* Broadcast(Instruction* value, IntList sizes, IntList dimensions) {
    const ElementType type = value->shape().element_type();
    return Add(Opcode::kBroadcast, Shape(type, std::move(sizes)), {value}, DimensionsAttributes{std::move(dimensions)});
  }
  // All bits zero; tokens as they are.
  Instruction* Zeros(const Shape& shape);
  // 0, 1, 2 ... along a dimension.
  Instruction* Iota(ElementType type, IntList sizes, int64_t dimension);

  // In the shape of `a`.
  Instruction* Binary(Opcode opcode, Instruction* a, Instruction* b);
  Instruction* Plus(Instruction* a, Instruction* b) { return Binary(Opcode::kAdd, a, b); }
  Instruction* Minus(Instruction* a, Instruction* b) { return Binary(Opcode::kSubtract, a, b); }
  Instruction* Times(Instruction* a, Instruction* b) { return Binary(Opcode::kMultiply, a, b); }
  Instruction* Over(Instruction* a, Instruction* b) { return Binary(Opcode::kDivide, a, b); }
  Instruction* Larger(Instruction* a, Instruction* b) { return Binary(Opcode::kMaximum, a, b); }
  Instruction* Smaller(Instruction* a, Instruction* b) { return Binary(Opcode::kMinimum, a, b); }
  Instruction* And(Instruction* a, Instruction* b) { return Binary(Opcode::kAnd, a, b); }
  Instruction* Or(Instruction* a, Instruction* b) { return Binary(Opcode::kOr, a, b); }
  Instruction* Xor(Instruction* a, Instruction* b) { return Binary(Opcode::kXor, a, b); }
  Instruction* Compare(ComparisonDirection direction, Instruction* a, Instruction* b);
  Instruction* Select(Instruction* condition, Instruction* yes, Instruction* no) {
    return Add(Opcode::kSelect, yes->shape(), {condition, yes, no});
  }
  Instruction* Converted(Instruction* value, ElementType type);
  Instruction* Reshaped(Instruction* value, IntList sizes);
  Instruction* Transposed(Instruction* value, const IntList& permutation);
  // Elements start to limit of one dimension, whole the others; of a dynamic one what lives there, but one element is
  // picked wherever it lies.
  Instruction* Slice(Instruction* value, int64_t dimension, int64_t start, int64_t limit);
  Instruction* Concatenated(const std::vector<Instruction*>& values, int64_t dimension);
  // Zeros before and behind the elements of a static dimension.
  Instruction* Padded(Instruction* value, int64_t dimension, int64_t low, int64_t high);

  // Over dimensions, which are in order.
  Instruction* Reduce(Instruction* value, Instruction* initial, IntList dimensions, Computation* combiner);

  // Rows (along dimension 0) of a value in the order of s32[count].
  Instruction* Rows(Instruction* values, Instruction* order);

  // How much of a dimension lives; the value with `size` of it alive; and with all of it, a static dimension.
  Instruction* LiveSize(Instruction* value, int64_t dimension);
  Instruction* WithLiveSize(Instruction* value, int64_t dimension, Instruction* size);
  Instruction* AtBound(Instruction* value, int64_t dimension);

  Instruction* TupleOf(std::vector<Instruction*> values);
  // The value itself if it is one.
  Instruction* Together(std::vector<Instruction*> values);
  Instruction* Element(Instruction* tuple, int64_t index);
  // Of a tuple; of another value itself.
  std::vector<Instruction*> Elements(Instruction* value);
  // The value, or the elements, that a computation gives for these.
  std::vector<Instruction*> Called(Computation* called, std::vector<Instruction*> arguments);
  // What a -start form gives: (`first`, `second`, contexts ...).
  Instruction* Started(Instruction* first, Instruction* second);
  // What pairs of starts and dones come to where a start does all of it, and of exchanges what is given: null of
  // others.
  Instruction* DoneAtOnce();

 private:
  Computation& computation_;
  const Instruction *instruction_ = nullptr, *before_ = nullptr;
  const SourceLocation* location_ = nullptr;
};

// A computation of two scalars that is one operation; without a name that of the operation.
Computation* AddCombiner(Module& module, Opcode opcode, ElementType type, std::string name = {});
// (value, value, number, number): whether the first value comes first for topk, NaN and signs of zeros included.
Computation* AddTopKOrder(Module& module, ElementType type, bool largest, std::string name = "precedes");
// A combiner of so many pairs, of two that live, else of the one that does; a flag more in each place says whether any
// did. counts: else the first ones always live, and their flag stays as it is.
Computation* AddFlaggedForm(Module& module, Computation* combiner, int64_t count, bool counts);

// In each computation, an instruction for which `expand` gives a value is replaced by it; null leaves it. Returns
// whether any was. Instructions on arrays with live sizes are left alone, unless `expand` knows them.
enum class LiveSizesIn : uint8_t { kLeft, kExpanded };
bool ExpandEach(const std::vector<Computation*>& computations,
                const std::function<Instruction*(Computation&, Instruction*)>& expand,
                LiveSizesIn live_sizes = LiveSizesIn::kLeft);
// The same in all that a module runs step by step (ControlComputations), with its computations in order again.
bool ExpandEach(Module& module, const std::function<Instruction*(Computation&, Instruction*)>& expand,
                LiveSizesIn live_sizes = LiveSizesIn::kLeft);
std::vector<Computation*> AllComputations(const Module& module);

}  // namespace VXLA_NAMESPACE
