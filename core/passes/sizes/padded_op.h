// The rules' class; its families are in padded_ops.cc (the rule of each opcode), padded_movement.cc (data movement) and
// padded_indexing.cc (slices at run time, gather, scatter). It is one class because each rule is written in the
// operations of SizeMath on one instruction, and has no state but its operands.
#pragma once

#include <algorithm>

#include "core/host/ranges.h"
#include "core/passes/sizes/padded_ops.h"
#include "core/sizes/size_rules.h"

namespace VXLA_NAMESPACE {

class PaddedOp : public SizeMath {
 public:
  using Result = std::optional<std::vector<PaddedArray>>;
  using Size = Instruction*;  // of SizeRules

  PaddedOp(SizeContext& context, Computation& computation, Instruction* instruction, std::vector<PaddedArray> operands)
      : SizeMath(context, computation, instruction), operands_(std::move(operands)) {}

  Result Form();

  // What SizeRules ask for.
  bool IsOpen(int k, int64_t d) { return Operand(k).sizes.at(static_cast<size_t>(d)) != nullptr; }
  Instruction* LiveSize(int k, int64_t d) { return SizeOf(Operand(k), d); }
  bool IsPartial(int k, int64_t d) { return Lives(Operand(k), d); }
  void SetLiveSize(int k, int64_t d, Instruction* size) { Operand(k).sizes.at(static_cast<size_t>(d)) = size; }

 private:
  using Sizes = std::vector<Instruction*>;

  using Rule = Result();
  Rule ByFamily;

  int Count() const { return static_cast<int>(operands_.size()); }
  PaddedArray& Operand(int k) { return operands_.at(static_cast<size_t>(k)); }
  const Shape& ShapeOf(int k) const { return operands_.at(static_cast<size_t>(k)).array->shape(); }
  int64_t Bound(int k, int64_t d) const { return ShapeOf(k).dimension(d); }
  bool AnyLives(int k);
  bool IsStated(int64_t d) const { return instruction().shape().is_dynamic_dimension(d); }
  std::vector<Instruction*> Arrays() const;
  // The same op on these operands, at the bounds.
  Instruction* Static(std::vector<Instruction*> operands);
  Instruction* Static() { return Static(Arrays()); }
  Result One(Instruction* array, Sizes sizes) { return std::vector{PaddedArray{array, std::move(sizes)}}; }
  Result Each(Instruction* tuple, int count, const Sizes& sizes) {
    return Transformed(Counted<int>(static_cast<size_t>(count)), [&](int k) {
      return PaddedArray{Element(tuple, k), sizes};
    });
  }
  Instruction* MaskedBy(int k, const IntList& dimensions, Instruction* scalar) {
    return Masked(Operand(k), dimensions, scalar);
  }

  // padded_ops.cc
  Rule Elementwise, Dot, RaggedDot, ScaledDot, Convolution, Reduce, ReduceWindow, Sort, TopK, SelectAndScatter, Fft,
      Linalg;
  Result Sameness(int operand);  // the operand's sizes
  Sizes SizesOfProduct();
  // Where no identity of a reducer is known: each element comes with a flag, and who does not live is passed over.
  Instruction* FlaggedReduction(const std::vector<Instruction*>& masks, const IntList& result_sizes);
  Instruction* IdentityOf(int operand);
  Computation* FlaggedOrder(Computation* f);

  // padded_movement.cc
  Rule Broadcast, Slice, Concatenate, Pad, Reverse, Transpose, BitcastConvert, Bitcast, Reshape, DynamicReshape,
      SetDimensionSize;
  // The elements of an array of these live sizes, in row-major order under other sizes.
  Instruction* Reordered(const PaddedArray& from, const Shape& to, const Sizes& sizes,
                         const std::vector<std::pair<std::pair<int, int>, std::pair<int, int>>>& groups);

  // padded_indexing.cc
  Rule DynamicSlice, DynamicUpdateSlice, Gather, Scatter;
  // Of update windows what lives, where it may fall among live elements.
  Instruction* ScatterOfFlagged(std::vector<Instruction*> operands, Instruction* lives);
  // Starts of a window in the live part of a dimension; `start` is a scalar.
  Instruction* StartWithin(Instruction* start, Instruction* last);
  Instruction* IndicesWithin(Instruction* indices, int64_t vector_dimension, const Sizes& last);
  Instruction* IndicesOrNone(Instruction* indices, Instruction* lives);

  std::vector<PaddedArray> operands_;
  SizeRules<PaddedOp> rules_{instruction(), *this};
};

}  // namespace VXLA_NAMESPACE
