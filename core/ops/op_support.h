// What the families' shape inference shares: messages and the checks that several ops have in common.
#pragma once

#include <fmt/format.h>

#include <span>
#include <string_view>
#include <vector>

#include "core/host/ranges.h"
#include "core/ir/module.h"
#include "core/ops/ops.h"

namespace VXLA_NAMESPACE {

// "slice: ..."
template <typename... Args>
Status OpError(const Instruction& instruction, fmt::format_string<Args...> format, Args&&... args) {
  return InvalidArgument("{}: {}", OpcodeText(instruction.opcode()), fmt::format(format, std::forward<Args>(args)...));
}

// "operand 0 is (f32[2], token[]), not an array"
Status ExpectArray(const Instruction& instruction, int operand);
Status ExpectAllArrays(const Instruction& instruction);
Status ExpectToken(const Instruction& instruction, int operand);
Status ExpectScalar(const Instruction& instruction, int operand);
Status ExpectOperandIs(const Instruction& instruction, Opcode opcode);
Status ExpectOperandsAtLeast(const Instruction& instruction, int count);
Status ExpectCalled(const Instruction& instruction, int count);
// The stated shape is an array (and not what an absent shape leaves behind).
Status ExpectStatedArray(const Instruction& instruction);
// Same element type and same dimensions.
Status ExpectSameShape(const Instruction& instruction, int operand, int other);
Status ExpectSameDimensions(const Instruction& instruction, int operand, int other);
Status ExpectSameType(const Instruction& instruction, int operand, int other);
// 0 <= dimension < rank. `what` names the attribute.
Status ExpectDimension(const Instruction& instruction, std::string_view what, int64_t dimension, const Shape& shape);
// Each in range, none twice.
Status ExpectUniqueDimensions(const Instruction& instruction, std::string_view what,
                              std::span<const int64_t> dimensions, const Shape& shape);
// One dimension, which the first `operands` have.
Status ExpectOneDimension(const Instruction& instruction, const IntList& dimensions, int operands = 1);
// One entry per dimension of the shape.
Status ExpectOnePerDimension(const Instruction& instruction, std::string_view what, size_t count, const Shape& shape);
// The computation takes these parameters, dynamic where they are, and, if given, returns this result but for the flags.
Status ExpectSignature(const Instruction& instruction, const Computation& computation,
                       std::span<const Shape> parameters, const Shape* result = nullptr);
// The stated shape and `expected` agree but for layouts and dynamic flags.
Status ExpectStated(const Instruction& instruction, const Shape& expected);

Shape ScalarOf(const Shape& shape);
Shape WithElementType(const Shape& shape, ElementType type);
// Dimensions `begin` to `end` (-1: all others) become dynamic where they are in `other`.
void AddFlags(Shape& shape, const Shape& other, int begin = 0, int end = -1);
// `shape` with the dimensions dynamic that are in either of two shapes; as it is where their dimensions differ.
Shape WithFlagsOf(Shape shape, const Shape& other);
// Operand 0, dynamic where any of the first `count` operands of its dimensions is: such arrays share their live sizes.
Shape WithFlagsOfOperands(const Instruction& instruction, int count);
// Where operands that share their sizes are dynamic in part, XLA's inference looks at some of them only and programs
// state what it says: `least` is what they must state, `all` what follows where they state nothing.
Shape StatedOr(const Instruction& instruction, Shape least, Shape all);
// Nothing that is dynamic in `given` is static in `stated`, of equal dimensions: live sizes are never lost unseen.
bool KeepsFlags(const Shape& given, const Shape& stated);
// One shape, or a tuple of them if there are several.
Shape Collate(std::vector<Shape> shapes);
// The operands' shapes [from, from + count).
std::vector<Shape> OperandShapes(const Instruction& instruction, int from = 0, int count = -1);

// No precision, or one for each factor of a product.
Status ExpectPrecision(const Instruction& instruction, const std::vector<PrecisionLevel>& levels);

// The part of a shape that an index path of nested tuples names, or null.
const Shape* PartOf(const Shape& shape, const IntList& index);
// Each alias names a part of the result and a part of an operand, of one shape.
Status ExpectAliases(const Instruction& instruction, const std::vector<Aliasing>& aliases, const Shape& result);

// The element type of a sum of products of operands 0 and 1. They may differ in precision, not in kind; the stated
// shape may ask for another type of the kind, or for floats from integers (quantized products).
Result<ElementType> ProductElementType(const Instruction& instruction);

// How many positions a window takes along a dimension, after checking the window: size, strides and dilations must be
// positive. Exact for any int64 values; an error if the padded size exceeds int64.
Result<int64_t> WindowPositions(const Instruction& instruction, int dimension, int64_t size,
                                const WindowDimension& window);
// size elements, one every `dilation` places; 128 bits because the text is hostile.
__int128 DilatedSize(int64_t size, int64_t dilation);

// Of reduce and reduce-window: N arrays, then N initial values; the computation takes N accumulators, then N values.
// Gives N.
Result<int> ExpectArraysAndInits(const Instruction& instruction);
// Their results, which have the sizes of `reduced`, or state those of `least` (StatedOr).
Result<Shape> InferReduced(const Instruction& instruction, const Shape& reduced, const Shape& least);

}  // namespace VXLA_NAMESPACE
