#include "core/mlir/importer/bounded_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/cpu/reference/evaluator.h"
#include "core/mlir/importer/importer.h"
#include "core/passes/sizes/dynamic_padder.h"

namespace VXLA_NAMESPACE {
namespace {

namespace bounded_program_test {

using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

// As JAX writes `x @ w + c, concatenate([x, y], 0)` of x f32[b, 2] and y f32[2*b, 2].
constexpr char kExported[] = R"(module @jit_f {
  func.func public @main(%x: tensor<?x2xf32>, %w: tensor<2x3xf32>, %c: tensor<3xf32>, %y: tensor<?x2xf32>)
      -> (tensor<?x3xf32>, tensor<?x2xf32>) {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %two = stablehlo.constant dense<2> : tensor<i32>
    %b = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x2xf32>) -> tensor<i32>
    %m = stablehlo.get_dimension_size %y, dim = 0 : (tensor<?x2xf32>) -> tensor<i32>
    %some = stablehlo.compare GE, %b, %one, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%some, %b) {api_version = 2 : i32, error_message = "b is {0}", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
    %n = stablehlo.convert %b : tensor<i32>
    %twice = stablehlo.multiply %n, %two : tensor<i32>
    %fits = stablehlo.compare EQ, %m, %twice, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%fits, %m) {api_version = 2 : i32, error_message = "2*b is {0}", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
    %r:2 = call @wrapped(%b, %x, %w, %c, %y) : (tensor<i32>, tensor<?x2xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<?x2xf32>) -> (tensor<?x3xf32>, tensor<?x2xf32>)
    return %r#0, %r#1 : tensor<?x3xf32>, tensor<?x2xf32>
  }
  func.func private @wrapped(%b: tensor<i32> {jax.global_constant = "b"}, %x: tensor<?x2xf32>, %w: tensor<2x3xf32>, %c: tensor<3xf32>, %y: tensor<?x2xf32>) -> (tensor<?x3xf32>, tensor<?x2xf32>) {
    %three = stablehlo.constant dense<3> : tensor<1xi32>
    %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<?x2xf32>, tensor<2x3xf32>) -> tensor<?x3xf32>
    %row = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<3xf32>) -> tensor<1x3xf32>
    %size = stablehlo.reshape %b : (tensor<i32>) -> tensor<1xi32>
    %sizes = stablehlo.concatenate %size, %three, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %rows = stablehlo.dynamic_broadcast_in_dim %row, %sizes, dims = [0, 1] : (tensor<1x3xf32>, tensor<2xi32>) -> tensor<?x3xf32>
    %s = stablehlo.add %p, %rows : tensor<?x3xf32>
    %j = stablehlo.concatenate %x, %y, dim = 0 : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>
    return %s, %j : tensor<?x3xf32>, tensor<?x2xf32>
  }
}
)";

Result<std::unique_ptr<Module>> Bounded(std::string_view text, std::string_view bounds) {
  VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<Module> open, mlir::ParseStablehlo(text));
  VXLA_ASSIGN_OR_RETURN(const std::vector<mlir::SizeBound> sizes, mlir::ParseSizeBounds(bounds));
  return mlir::WithBounds(*open, sizes, [](const Instruction& i, std::span<const Literal* const> operands) {
    return EvaluateInstruction(i, operands);
  });
}

std::string ErrorOf(std::string_view text, std::string_view bounds) {
  const Result<std::unique_ptr<Module>> made = Bounded(text, bounds);
  return made.ok() ? "no error" : std::string(made.status().message());
}

Literal Counted(const Shape& shape) {
  Literal literal(shape);
  const std::span<float> values = literal.mutable_data<float>();
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return literal;
}

// The first so many of an array's rows live.
Literal Rows(int64_t rows, int64_t room) {
  Shape shape(ElementType::kF32, {room, 2});
  shape.set_dynamic_dimension(0, true);
  Literal literal = Counted(shape);
  literal.set_dynamic_size(0, rows);
  return literal;
}

Result<Literal> RunFor(const Module& module, int64_t rows_of_x, int64_t rows_of_y) {
  const Literal x = Rows(rows_of_x, 5), y = Rows(rows_of_y, 10);
  const Literal w = Counted(Shape(ElementType::kF32, {2, 3})), c = Counted(Shape(ElementType::kF32, {3}));
  const std::vector<const Literal*> arguments = {&x, &w, &c, &y};
  return Evaluate(module, arguments);
}

TEST(BoundedProgramTest, OneModuleServesAllSizes) {
  const auto module = Bounded(kExported, "b=5");
  ASSERT_TRUE(module.ok()) << module.status().message();
  const auto& parameters = (*module)->entry()->parameters();
  EXPECT_EQ(parameters[0]->shape().ToString(), "f32[<=5,2]");
  EXPECT_EQ(parameters[3]->shape().ToString(), "f32[<=10,2]");  // 2*b
  EXPECT_EQ((*module)->entry()->root()->shape().ToString(), "(f32[<=5,3], f32[<=15,2])");
  for (const int64_t b : {1, 3, 5}) {
    const Result<Literal> result = RunFor(**module, b, 2 * b);
    ASSERT_TRUE(result.ok()) << result.status().message();
    const std::vector<const Literal*> leaves = FlattenLiteral(*result);
    EXPECT_EQ(leaves[0]->dynamic_size(0), b);
    EXPECT_EQ(leaves[1]->dynamic_size(0), 3 * b);
    EXPECT_EQ(leaves[0]->GetDouble(2), 0 * 2 + 1 * 5 + 2);  // row 0 of x by column 2 of w, and c[2]
    EXPECT_EQ(leaves[1]->GetDouble(2 * b - 1), 2 * b - 1);  // the last of x
    EXPECT_EQ(leaves[1]->GetDouble(2 * b + 3), 3);          // y behind it
  }
}

TEST(BoundedProgramTest, WhatTheProgramAssertsIsCheckedWhenItRuns) {
  const auto module = Bounded(kExported, "b=5");
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_EQ(RunFor(**module, 2, 3).status().message(), "2*b is ?");
  EXPECT_EQ(RunFor(**module, 0, 0).status().message(), "b is ?");
  // A device tells which of these messages it is.
  PadDynamicDimensions(**module, true);
  EXPECT_THAT(SizeFaultMessages(**module), IsSupersetOf({"b is ?", "2*b is ?"}));
}

TEST(BoundedProgramTest, SizesHaveNamesOrNumbers) {
  EXPECT_EQ(ErrorOf(kExported, "0.0=5"), "no error");
  EXPECT_EQ(ErrorOf(kExported, "3.0=10,b=5"), "no error");
  EXPECT_THAT(ErrorOf(kExported, "n=5"),
              HasSubstr("bound of 'n': no size of the program is called so; b is dimension 0 of argument 0"));
  EXPECT_THAT(ErrorOf(kExported, "0.1=5"), HasSubstr("bound of '0.1': dimension 1 of argument 0 is no open size"));
  EXPECT_THAT(ErrorOf(kExported, "b=5,0.0=6"), HasSubstr("or has a bound already"));
  EXPECT_THAT(ErrorOf(kExported, "b=0"), HasSubstr("bound of 'b': 0 is not in 1 to 2147483647"));
  EXPECT_THAT(ErrorOf(kExported, "3.0=6"), HasSubstr("nothing bounds its dimension 0; '0.0' names it"));
  EXPECT_THAT(ErrorOf(kExported, "b"), HasSubstr("bound 'b': NAME=NUMBER is wanted"));
  EXPECT_THAT(ErrorOf(kExported, "b=5x"), HasSubstr("bound 'b=5x': NAME=NUMBER is wanted"));
  EXPECT_THAT(ErrorOf(kExported, "b=5,"), HasSubstr("bound '': NAME=NUMBER is wanted"));
}

TEST(BoundedProgramTest, WhatDoesNotHoldAtTheBoundsIsRefused) {
  EXPECT_THAT(ErrorOf(kExported, "b=5,3.0=11"), HasSubstr("2*b is 11"));
}

TEST(BoundedProgramTest, OperationsWithoutTheirOperandsAreRefused) {
  const auto error = [](const std::string& operation) {
    return ErrorOf(
        "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
        "  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>\n" +
            operation + "  return %x : tensor<?xf32>\n}",
        "0.0=8");
  };
  EXPECT_THAT(error("  %m = \"stablehlo.get_dimension_size\"() {dimension = 0 : i64} : () -> tensor<i32>\n"),
              HasSubstr("stablehlo.get_dimension_size: 0 operands"));
  const auto compare = [](const std::string& second, const std::string& type) {
    return "  %e = \"stablehlo.compare\"(%n" + second +
           ") {comparison_direction = #stablehlo<comparison_direction EQ>} : (tensor<i32>" + type + ") -> tensor<i1>\n";
  };
  EXPECT_THAT(error(compare("", "")), HasSubstr("stablehlo.compare: 1 operand"));
  EXPECT_THAT(error("  %c = \"stablehlo.convert\"() : () -> tensor<i32>\n" + compare(", %c", ", tensor<i32>")),
              HasSubstr("stablehlo.convert: 0 operands"));
}

TEST(BoundedProgramTest, DataThatDecideSizesHaveNoBounds) {
  EXPECT_THAT(ErrorOf(R"(func.func @main(%x: tensor<?xf32>, %n: tensor<1xi32>) -> tensor<?xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.dynamic_broadcast_in_dim %z, %n, dims = [] : (tensor<f32>, tensor<1xi32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
})",
                      "0.0=8"),
              HasSubstr("data decide sizes of the program"));
}

}  // namespace bounded_program_test
}  // namespace
}  // namespace VXLA_NAMESPACE
