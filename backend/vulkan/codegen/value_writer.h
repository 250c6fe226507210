// Writes the body of a fusion as statements: values of instructions at symbolic indices (core/maps/index_map.h).
//
// Use: one FusionDescription per instruction, one KernelBuilder per kernel, one ValueWriter per GLSL function body.
//   ValueWriter writer(kernel, body, buffers, space);
//   writer.Bind(o, "o"); writer.Bind(r, "r");            // loop variables are GLSL uints
//   writer.Override(*reduce, row_index, "acc");          // a value that the algorithm has already
//   std::string value = writer.Value(*root, index);      // emits statements, returns the name of a local
//   writer.Line(kernel.Store(k, writer.Index(linear), value));
//   kernel.Define("void store_row(uint o, float acc)", writer.Take());
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "backend/lowering.h"
#include "backend/vulkan/codegen/move_writer.h"

namespace VXLA_NAMESPACE::vulkan {

class ValueWriter : public MoveWriter {
 public:
  ValueWriter(KernelBuilder& kernel, const FusionDescription& body, BufferMap& buffers, IndexSpace& space);

  // Value() answers `glsl_value` (a carrier value) for this instruction. It CHECK-fails if the instruction is read at
  // another index than `at`, but several indices may be given. A tuple-shaped hero (variadic reduce) is overridden per
  // element through `leaf`.
  void Override(const Instruction& instruction, MultiIndex at, std::string glsl_value, int leaf = 0);
  // The same of a value of type `from`, which is converted to the instruction's.
  void Override(const Instruction& instruction, MultiIndex at, ElementType from, const std::string& value);
  // An operand of one element is kept in `glsl_value` instead of memory.
  void Hold(const Instruction& operand, std::string glsl_value) { held_[&operand] = std::move(glsl_value); }
  // The number of the tensor that a result of the fusion, one of the instruction's leaves, is stored in.
  int ResultTensor(int leaf);

  std::string Value(const Instruction& instruction, const MultiIndex& index) override;
  // Of each of several instructions, those of `width` neighbours from a linear index on.
  std::vector<std::vector<std::string>> Values(std::span<const Instruction* const> instructions,
                                               const IndexExpression& first, int64_t width);
  // Its leaf: a result of a variadic reduce that is overridden, or itself.
  std::string LeafValue(const Instruction& instruction, int leaf, const MultiIndex& index);
  // The words that a group of neighbouring elements, of less than a word each, makes in memory: those of an instruction
  // from `index` on, where plain maps lead to an operand that is read in such groups. Empty: it is not. Memoised.
  std::vector<std::string> GroupWords(const Instruction& instruction, MultiIndex index);

  // Neither loaded, nor a constant or an iota, nor elements of these.
  bool IsComputed(const Instruction& value) const;

  // The statements so far; the writer starts afresh (bindings and overrides stay).
  using TensorWriter::Take;

 private:
  struct OverriddenValue {
    IndexExpression at;  // linear
    std::string value;
  };
  bool IsGiven(const Instruction& instruction) const override;
  void AfterStore(int k, const IndexExpression& first, std::span<const std::string> values) override;
  const std::string* FindOverride(const Instruction& instruction, int leaf, const MultiIndex& index) const;
  std::string Compute(const Instruction& instruction, const MultiIndex& index);
  bool HasCommonBits(const Instruction& instruction);
  // An elementwise result. Where it is rounded, so that any NaN becomes the one, operands need not keep a NaN's bits.
  std::string Elementwise(const Instruction& instruction, std::vector<std::string> operands);
  // A local of the type.
  std::string Named(ElementType type, Expression value);
  std::string ConstantValue(const Instruction& instruction);
  std::string IotaValue(const Instruction& instruction, const MultiIndex& index);
  std::string LoadOperand(const Instruction& operand, const Shape& shape, const MultiIndex& index);

  BufferMap& buffers_;
  std::optional<std::unordered_set<const Instruction*>> common_bits_;
  std::map<std::pair<const Instruction*, int>, std::vector<OverriddenValue>> overrides_;
  std::unordered_map<const Instruction*, std::string> held_;
};

}  // namespace VXLA_NAMESPACE::vulkan
