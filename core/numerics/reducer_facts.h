// Facts of accumulations that every device that follows a plan's order must share: what a reducer adds up in and what
// leaves it alone, and what products are summed in.
#pragma once

#include <optional>
#include <vector>

#include "core/data/literal.h"
#include "core/ir/module.h"
#include "core/numerics/combiner_order.h"

namespace VXLA_NAMESPACE {

struct ReducerFacts {
  // Accumulators. One associative operation on narrow floats accumulates in f32 and an addition rounds once, at the
  // end: HLO lets the steps round, XLA's own backends do not, and a sum in bf16 stops growing at 256 times its addend.
  std::vector<ElementType> types;
  // A value that leaves the accumulator of a single operation unchanged, where one is known.
  std::optional<Literal> identity;
  // The computation is one addition of floats: steps are additions in the accumulator's type.
  bool adds_floats = false;
  // computation(a, b) is computation(b, a) by its text: else devices keep the elements' order, as
  // HLO asks for associativity alone.
  bool commutes = false;
  CombinerOrder order = CombinerOrder::kUnknown;
  bool in_order() const { return order == CombinerOrder::kInOrder; }
};
// What a reduction of elements of that type may begin with as well, bit by bit: of sums of floats it is -0. Nothing: no
// such value is known.
std::optional<Literal> NeutralElement(const Computation& reducer, ElementType type);
// Whether the instruction has the same result with its two operands exchanged.
bool Commutes(const Instruction& instruction);
ReducerFacts FactsOfReducer(const Computation& computation);
// The operation of a computation that is one binary operation of its two parameters, in either order.
std::optional<Opcode> SingleOperation(const Computation& computation);

// What a dot sums its products in: wide enough for the operands and the result. Integers wrap, so the result's width
// will do.
ElementType DotSumType(ElementType lhs, ElementType rhs, ElementType result);
// Of a dot or convolution; a dot's algorithm may say it.
ElementType DotSumType(const Instruction& product);

// DotAlgorithm::apart of a dot's algorithm; 0: it has none, or is no dot.
double DotAlgorithmApart(const Instruction& instruction);
// What the whole sum is rounded to: narrower than the result where a dot's algorithm says so.
ElementType SumRoundedTo(const Instruction& instruction);

// What a reduce or reduce-window accumulates in where that is two floats for each, a complex type: sums so marked, and
// products of many factors. Near 1 all roundings of a plain product go one way: (1 + a)(1 + b) loses a b.
std::optional<ElementType> PairTypeOf(const Instruction& instruction);
// --accumulation wide: notes (Notes::wide_sum) of every reduce, reduce-window, dot or convolution that sums f32, or
// narrower floats, which accumulate in f32, that its sums are kept in two floats.
void MarkWideAccumulations(Module& module);

}  // namespace VXLA_NAMESPACE
