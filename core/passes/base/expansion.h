// Expansion: other instructions in the place of one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/module.h"

namespace VXLA_NAMESPACE {

// Puts instructions before one that they will take the place of, or at the end of a computation (of another module,
// perhaps) in which they stand for it, under its name and location. Sizes and types of results follow from the operands
// where they can.
class Expansion {
 public:
  Expansion(Computation& computation, const Instruction* instruction)
      : computation_(computation), instruction_(*instruction), before_(instruction) {}
  Expansion(Computation& end_of, const Instruction& instruction) : computation_(end_of), instruction_(instruction) {}

  const Instruction& instruction() const { return instruction_; }

  Instruction* Add(Opcode opcode, Shape shape, std::vector<Instruction*> operands,
                   Attributes attributes = NoAttributes{}, std::vector<Computation*> called = {});
  Instruction* Add(std::unique_ptr<Instruction> added);

  Instruction* Constant(Literal literal);
  // `scalar` in an array of these sizes; itself if there are none.
  Instruction* Spread(Instruction* scalar, IntList sizes);
  // All bits zero; tokens as they are.
  Instruction* Zeros(const Shape& shape);
  // 0, 1, 2 ... along a dimension.
  Instruction* Iota(ElementType type, IntList sizes, int64_t dimension);

  // In the shape of `a`.
  Instruction* Binary(Opcode opcode, Instruction* a, Instruction* b);
  Instruction* Compare(ComparisonDirection direction, Instruction* a, Instruction* b);
  Instruction* Converted(Instruction* value, ElementType type);
  Instruction* Reshaped(Instruction* value, IntList sizes);
  Instruction* Transposed(Instruction* value, const IntList& permutation);
  // Elements start to limit of one dimension, whole the others; of a dynamic one what lives there, but one element is
  // picked wherever it lies.
  Instruction* Slice(Instruction* value, int64_t dimension, int64_t start, int64_t limit);
  Instruction* Concatenated(const std::vector<Instruction*>& values, int64_t dimension);

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
  // What a -start form gives: (`first`, `second`, contexts ...).
  Instruction* Started(Instruction* first, Instruction* second);

 private:
  Computation& computation_;
  const Instruction& instruction_;
  const Instruction* before_ = nullptr;
};

// A computation of two scalars that is one operation.
Computation* AddCombiner(Module& module, Opcode opcode, ElementType type);

// The dimensions of an array as a list.
inline IntList SizesOf(const Shape& shape) { return {shape.dimensions().begin(), shape.dimensions().end()}; }

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
