// ProgramBuilder: a program that stands for one instruction.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/ir/module.h"
#include "core/programs/matrix_ops.h"

namespace VXLA_NAMESPACE::matrix_ops {

// The operands of an instruction as parameters, its results as a root.
class ProgramBuilder {
 public:
  ProgramBuilder(std::string name, const Instruction& instruction)
      : builder_(std::move(name)), instruction_(instruction) {
    for (int k = 0; k < instruction.operand_count(); ++k)
      operands_.push_back(Parameter(&builder_, k, instruction.operand(k)->shape().WithoutLayout()));
  }

  XlaBuilder* get() { return &builder_; }
  const Instruction& instruction() const { return instruction_; }
  XlaOp operand(int k) const { return operands_[k]; }

  // [batch, ...] with all dimensions before the last `kept` as one.
  XlaOp Stacked(int k, int kept) const {
    const IntList sizes = Sizes(operand(k));
    int64_t batch = 1;
    for (size_t d = 0; d + static_cast<size_t>(kept) < sizes.size(); ++d) batch *= sizes[d];
    IntList flat{batch};
    flat.insert(flat.end(), sizes.end() - kept, sizes.end());
    return Reshape(operand(k), flat);
  }

  // Each value in the shape that the instruction states for it.
  Result<std::shared_ptr<const Module>> Build(const std::vector<XlaOp>& values) {
    const Shape& shape = instruction_.shape();
    std::vector<XlaOp> results;
    for (size_t k = 0; k < values.size(); ++k) {
      const Shape& stated = shape.IsTuple() ? shape.tuple_elements()[k] : shape;
      results.push_back(Reshape(values[k], IntList(stated.dimensions().begin(), stated.dimensions().end())));
    }
    return Finish(shape.IsTuple() ? Tuple(&builder_, results) : results[0]);
  }
  Result<std::shared_ptr<const Module>> Finish(XlaOp root) {
    VXLA_ASSIGN_OR_RETURN(const XlaComputation computation, builder_.Build(root));
    return std::shared_ptr<const Module>(computation.CloneModule());
  }

 private:
  XlaBuilder builder_;
  const Instruction& instruction_;
  std::vector<XlaOp> operands_;
};

}  // namespace VXLA_NAMESPACE::matrix_ops
