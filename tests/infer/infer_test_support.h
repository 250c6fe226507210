// What the shape inference tests share: instructions built straight from shapes, and matchers for results.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/builder/builder.h"
#include "core/ir/module.h"
#include "core/ops/ops.h"

namespace VXLA_NAMESPACE {

using enum ElementType;
using ::testing::HasSubstr;

// An instruction over parameters of the given shapes, in a module of its own.
class OneOp {
 public:
  OneOp(Opcode opcode, std::vector<Shape> operands, Attributes attributes = NoAttributes{}, Shape stated = {},
        std::vector<XlaComputation> called = {})
      : module_("one_op") {
    Computation* computation = nullptr;
    std::vector<Computation*> callees;
    for (const XlaComputation& callee : called) {
      callees.push_back(module_.AddComputation(callee.name()));
      callees.back()->set_root(
          CloneInto(*callee.module().entry(), *callees.back(), {}, [](Computation* c) { return c; }));
    }
    computation = module_.AddComputation("main");
    std::vector<Instruction*> inputs;
    for (size_t i = 0; i < operands.size(); ++i) {
      inputs.push_back(
          computation->Add(Opcode::kParameter, operands[i], {}, ParameterAttributes{static_cast<int64_t>(i)}));
    }
    instruction_ = computation->Add(opcode, std::move(stated), inputs, std::move(attributes), callees);
  }
  Result<Shape> Infer() const { return InferShape(*instruction_); }

 private:
  Module module_;
  Instruction* instruction_;
};

inline std::string Inferred(Opcode opcode, std::vector<Shape> operands, Attributes attributes = NoAttributes{},
                            Shape stated = {}, std::vector<XlaComputation> called = {}) {
  const Result<Shape> shape =
      OneOp(opcode, std::move(operands), std::move(attributes), std::move(stated), std::move(called)).Infer();
  return shape.ok() ? shape->ToString() : shape.status().message();
}

// A computation of two scalars: "add" of a type by default.
inline XlaComputation ScalarComputation(ElementType type, XlaOp (*op)(XlaOp, XlaOp, const IntList&) = Add) {
  XlaBuilder builder("scalar");
  const XlaOp x = Parameter(&builder, 0, Shape(type));
  const XlaOp y = Parameter(&builder, 1, Shape(type));
  return *builder.Build(op(x, y, {}));
}

// What a built op's shape or the builder's error is.
inline std::string ShapeOrError(XlaOp op) {
  if (op.valid()) return op.shape().ToString();
  return op.builder() == nullptr ? "no builder" : op.builder()->first_error().message();
}

}  // namespace VXLA_NAMESPACE
