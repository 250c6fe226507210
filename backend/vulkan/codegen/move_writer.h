// Writes values that are elements of others at places that are known as the kernel runs, or of one of several: pads,
// concatenates, slices, updates and gathers.
#pragma once

#include <span>
#include <string>

#include "backend/vulkan/codegen/tensor_writer.h"
#include "core/ir/module.h"
#include "core/passes/fuse/fusion_description.h"

namespace VXLA_NAMESPACE::vulkan {

std::string KeyOf(const Instruction& instruction, const MultiIndex& index);

class MoveWriter : public TensorWriter {
 public:
  MoveWriter(KernelBuilder& kernel, const FusionDescription& body, IndexSpace& space)
      : TensorWriter(kernel, space), body_(body) {}

  // The carrier value of an instruction of the body at an index: a local's name. Memoised per (instruction, index).
  virtual std::string Value(const Instruction& instruction, const MultiIndex& index) = 0;
  // The element of `indices` at an index, clamped to [0, most]: where a window starts. Memoised.
  IndexExpression ClampedStart(const Instruction& indices, const MultiIndex& at, int64_t most);
  // Where the window of a dynamic-slice or a dynamic-update-slice starts: `first` is its first operand of indices.
  MultiIndex WindowStart(const Instruction& instruction, int first, const Shape& whole, const Shape& window);
  // Stores `width` neighbours of a dynamic-update-slice's part, from this linear index of it on, where they belong in
  // the whole array.
  void StoreUpdate(int k, const Instruction& update, const IndexExpression& first, int64_t width);

 protected:
  // Whether the algorithm gives the instruction's value, at places of its own.
  virtual bool IsGiven(const Instruction& instruction) const = 0;
  std::string PadValue(const Instruction& instruction, const MultiIndex& index);
  std::string ConcatenateValue(const Instruction& instruction, const MultiIndex& index);
  std::string DynamicSliceValue(const Instruction& instruction, const MultiIndex& index);
  std::string GatherValue(const Instruction& instruction, const MultiIndex& index);

  const FusionDescription& body_;

 private:
  struct ConcatenatePart {
    const Instruction* operand;
    int64_t begin, end;
  };
  bool IsOneComputation(const Instruction& concatenate, std::span<const ConcatenatePart> parts) const;
  std::string ClampedText(ElementType type, const std::string& value, int64_t most);
};

}  // namespace VXLA_NAMESPACE::vulkan
