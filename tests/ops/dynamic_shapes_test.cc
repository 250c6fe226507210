// Programs whose sizes their arguments decide, on devices in both binding modes: what the reference gives, one program
// for every size, and no second recording for sizes that came before.
#include <gmock/gmock.h>

#include <thread>

#include "core/mlir/importer/importer.h"
#include "scheduler/plan/plan_printer.h"
#include "tests/support/device_test_support.h"
#include "tests/support/tensor_programs.h"

namespace VXLA_NAMESPACE::testing {
namespace {

std::unique_ptr<Module> ReadMlir(const std::string& text) {
  auto module = mlir::ParseStablehlo(text);
  EXPECT_TRUE(module.ok()) << module.status().message();
  return module.ok() ? std::move(*module) : nullptr;
}

void ExpectSameOnDevices(const std::string& text, const std::vector<Literal>& arguments,
                         const std::optional<Tolerance>& tolerance = {}) {
  const std::unique_ptr<Module> module = ReadMlir(text);
  ASSERT_TRUE(module != nullptr);
  const std::optional<Literal> want = RunOnCpu(*module, arguments);
  ASSERT_TRUE(want.has_value());
  RunOptions options;
  options.tolerance = tolerance;
  for (const BindingMode mode : ModesToRun()) {
    const std::optional<Literal> got = RunOnDevice(mode, *module, arguments, options);
    ASSERT_TRUE(got.has_value());
    ExpectAgreement(*got, *want, options, "on the device");
  }
}

TEST(DynamicShapesTest, EachExampleOfTheTensorDialectIsWhatTheReferenceGives) {
  for (const tensor_programs::TensorProgram& program : tensor_programs::TensorPrograms()) {
    SCOPED_TRACE(program.name);
    ExpectSameOnDevices(program.text(), program.arguments, Tolerance{});
  }
}

// jax.export of softmax over a symbolic batch, in short.
constexpr char kSoftmax[] = R"(
module @m {
  func.func public @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %b = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
    %ge = stablehlo.compare GE, %b, %one, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%ge, %b) {api_version = 2 : i32, error_message = "b is {0}, at least 1 is needed", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
    %0 = call @inner(%b, %x) : (tensor<i32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    return %0 : tensor<?x4xf32>
  }
  func.func private @inner(%b: tensor<i32>, %x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %four = stablehlo.constant dense<4> : tensor<1xi32>
    %e = stablehlo.exponential %x : tensor<?x4xf32>
    %s = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [1] : (tensor<?x4xf32>, tensor<f32>) -> tensor<?xf32>
    %n = stablehlo.reshape %b : (tensor<i32>) -> tensor<1xi32>
    %shape = stablehlo.concatenate %n, %four, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %w = stablehlo.dynamic_broadcast_in_dim %s, %shape, dims = [0] : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x4xf32>
    %r = stablehlo.divide %e, %w : tensor<?x4xf32>
    return %r : tensor<?x4xf32>
  }
})";

TEST(DynamicShapesTest, OneProgramServesEverySizeAndReplaysThoseThatItKnows) {
  const std::unique_ptr<Module> module = ReadMlir(kSoftmax);
  ASSERT_TRUE(module != nullptr);
  for (const BindingMode mode : ModesToRun()) {
    auto executable = DeviceClient(mode)->Compile(*module);
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    for (const int64_t batch : {3, 8, 3, 8}) {
      const Literal x = RandomLiteral(tensor_programs::F32({batch, 4}), 1);
      const Literal* const pointer = &x;
      RunStatistics statistics;
      const Result<Literal> got = (*executable)->Run({&pointer, 1}, &statistics);
      ASSERT_TRUE(got.ok()) << got.status().message();
      EXPECT_EQ(got->shape(), tensor_programs::F32({batch, 4}));
      const std::optional<Literal> want = RunOnCpu(*module, {x});
      ASSERT_TRUE(want.has_value());
      ExpectAgreement(*got, *want, RunOptions(), "softmax");
    }
    const Literal x = RandomLiteral(tensor_programs::F32({3, 4}), 2);
    RunStatistics statistics;
    const Literal* const pointer = &x;
    ASSERT_TRUE((*executable)->Run({&pointer, 1}, &statistics).ok());
    EXPECT_EQ(statistics.recorded, 0);
    EXPECT_EQ(statistics.compiled, 0);
    const Literal none(tensor_programs::F32({0, 4}));
    const Literal* const empty = &none;
    EXPECT_THAT((*executable)->Run({&empty, 1}).status().message(),
                ::testing::HasSubstr("b is 0, at least 1 is needed"));
  }
}

// As many elements as are positive: the count is read back, and the rest compiled for it.
TEST(DynamicShapesTest, WhatDataDecideIsReadBackAlone) {
  const std::string text = R"(
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %zi = stablehlo.constant dense<0> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<1xi32>
  %one = stablehlo.constant dense<1> : tensor<1xi32>
  %b = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %n = stablehlo.reshape %b : (tensor<i32>) -> tensor<1xi32>
  %zs = stablehlo.dynamic_broadcast_in_dim %z, %n, dims = [] : (tensor<f32>, tensor<1xi32>) -> tensor<?xf32>
  %p = stablehlo.compare GT, %x, %zs : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xi1>
  %i = stablehlo.convert %p : (tensor<?xi1>) -> tensor<?xi32>
  %c = stablehlo.reduce(%i init: %zi) applies stablehlo.add across dimensions = [0] : (tensor<?xi32>, tensor<i32>) -> tensor<i32>
  %k = stablehlo.reshape %c : (tensor<i32>) -> tensor<1xi32>
  %s = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %gt = stablehlo.compare GT, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %gt : tensor<i1>
  }) : (tensor<?xf32>) -> tensor<?xf32>
  %top = stablehlo.real_dynamic_slice %s, %zero, %k, %one : (tensor<?xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
  return %top : tensor<?xf32>
})";
  const auto values = [](std::vector<float> list) {
    return Literal::FromVector<float>(tensor_programs::F32({static_cast<int64_t>(list.size())}), list);
  };
  ExpectSameOnDevices(text, {values({3, -1, 4, -1, 5})}, Tolerance{});
  ExpectSameOnDevices(text, {values({-3, -1})}, Tolerance{});
  ExpectSameOnDevices(text, {Literal(tensor_programs::F32({0}))}, Tolerance{});
}

// An empty list of sizes was no answer: it was asked for until memory ran out.
TEST(DynamicShapesTest, AnEmptyListOfSizesIsAnAnswer) {
  const std::string text = R"(
func.func @main(%x: tensor<?xf32>, %shape: tensor<?xi32>) -> tensor<*xf32> {
  %0 = tensor.reshape %x(%shape) : (tensor<?xf32>, tensor<?xi32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
})";
  const Literal one = RandomLiteral(tensor_programs::F32({1}), 1);
  ExpectSameOnDevices(text, {one, Literal(Shape(ElementType::kS32, {0}))});
  ExpectSameOnDevices(text, {one, Literal::FromVector<int32_t>(Shape(ElementType::kS32, {2}), std::vector{1, 1})});
}

// A program for known sizes is prepared as one that was read with them.
TEST(DynamicShapesTest, NamedCallsRunBesideOpenSizes) {
  ExpectSameOnDevices(R"(
func.func @main(%x: tensor<5x2xf32>, %y: tensor<?xf32>) -> (tensor<?x2xf32, #stablehlo.bounds<5, ?>>, tensor<?xf32>) {
  %n = stablehlo.constant dense<3> : tensor<i32>
  %m = stablehlo.constant dense<2> : tensor<i32>
  %0 = stablehlo.custom_call @SliceToDynamic(%x, %n, %m) : (tensor<5x2xf32>, tensor<i32>, tensor<i32>) -> tensor<?x2xf32, #stablehlo.bounds<5, ?>>
  %1 = stablehlo.negate %y : tensor<?xf32>
  return %0, %1 : tensor<?x2xf32, #stablehlo.bounds<5, ?>>, tensor<?xf32>
})",
                      {RandomLiteral(tensor_programs::F32({5, 2}), 1), RandomLiteral(tensor_programs::F32({4}), 2)});
}

// Whoever looks at the plan holds a reference, while other threads run more shapes than are kept.
TEST(DynamicShapesTest, APlanOutlivesTheShapesThatAreForgotten) {
  const std::unique_ptr<Module> module = ReadMlir(
      "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
      "  %0 = stablehlo.negate %x : tensor<?xf32>\n  return %0 : tensor<?xf32>\n}\n");
  ASSERT_TRUE(module != nullptr);
  const auto executable = DeviceClient(ModesToRun()[0])->Compile(*module);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  const Plan& before = (*executable)->plan();
  const std::string nothing = ToText(before);
  const auto run = [&](int64_t from, int64_t to) {
    for (int64_t size = from; size < to; ++size) {
      const Literal x(tensor_programs::F32({size}));
      const Literal* const pointer = &x;
      EXPECT_TRUE((*executable)->Run({&pointer, 1}).ok());
    }
  };
  run(1, 2);
  const Plan& first = (*executable)->plan();
  const std::string text = ToText(first);
  std::thread other([&] { run(100, 230); });
  run(230, 360);
  EXPECT_EQ(ToText(first), text);
  other.join();
  EXPECT_EQ(ToText(first), text);
  EXPECT_EQ(ToText(before), nothing);
  EXPECT_EQ(&(*executable)->plan(), &first);
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
