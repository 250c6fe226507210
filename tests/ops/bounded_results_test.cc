// The dynamic_* operations whose results have bounds: what lives of them is what the operand of sizes says when the
// program runs, on the reference and on devices in both binding modes.
#include <gmock/gmock.h>

#include "core/mlir/importer.h"
#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace bounded_results_test {

// x: f32[<=8,3] of which `rows` live, 1, 2, 3 ...; n: s32.
Literal Rows(int64_t rows, int64_t bound = 8, int64_t width = 3) {
  Shape shape(ElementType::kF32, {bound, width});
  shape.set_dynamic_dimension(0, true);
  Literal literal(shape);
  for (int64_t i = 0; i < bound * width; ++i) literal.SetDouble(i, i < rows * width ? static_cast<double>(i + 1) : 1e9);
  literal.set_dynamic_size(0, rows);
  return literal;
}

Literal Whole(std::vector<int64_t> sizes) {
  Literal literal(Shape(ElementType::kF32, std::move(sizes)));
  for (int64_t i = 0; i < literal.element_count(); ++i) literal.SetDouble(i, static_cast<double>(i + 1));
  return literal;
}
Literal Number(int64_t value) { return Literal::ScalarInt(ElementType::kS32, value); }

struct Program {
  std::string name, text;
  std::vector<Literal> arguments;
  std::vector<int64_t> sizes;    // of the result, live
  std::vector<double> elements;  // those that live
};

std::string Main(std::string_view signature, std::string_view body) {
  return fmt::format("func.func @main{} {{\n{}}}\n", signature, body);
}

// [rows of %x, 3] as %shape.
constexpr std::string_view kShapeOfX = R"(
  %three = stablehlo.constant dense<3> : tensor<1xi32>
  %rows = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf32, #stablehlo.bounds<8, ?>>) -> tensor<i32>
  %list = stablehlo.reshape %rows : (tensor<i32>) -> tensor<1xi32>
  %shape = stablehlo.concatenate %list, %three, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
)";
constexpr std::string_view kX = "tensor<?x3xf32, #stablehlo.bounds<8, ?>>";

std::vector<Program> Programs() {
  std::vector<Program> all;
  const std::string x(kX), shape(kShapeOfX);
  all.push_back({"broadcast",
                 Main("(%x: " + x + ", %b: tensor<3xf32>) -> " + x,
                      shape +
                          "  %0 = stablehlo.dynamic_broadcast_in_dim %b, %shape, dims = [1] : (tensor<3xf32>, "
                          "tensor<2xi32>) -> " +
                          x + "\n  %1 = stablehlo.add %x, %0 : " + x + "\n  return %1 : " + x + "\n"),
                 {Rows(2), Whole({3})},
                 {2, 3},
                 {2, 4, 6, 5, 7, 9}});
  all.push_back(
      {"iota",
       Main("(%x: " + x + ") -> " + x, shape + "  %0 = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<2xi32>) -> " +
                                           x + "\n  %1 = stablehlo.add %x, %0 : " + x + "\n  return %1 : " + x + "\n"),
       {Rows(2)},
       {2, 3},
       {1, 2, 3, 5, 6, 7}});
  const std::string flat = "tensor<?xf32, #stablehlo.bounds<24>>";
  all.push_back({"reshape",
                 Main("(%x: " + x + ") -> " + flat,
                      shape +
                          "  %n = stablehlo.constant dense<3> : tensor<i32>\n  %m = stablehlo.multiply %rows, %n : "
                          "tensor<i32>\n  %l = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>\n  %0 = "
                          "stablehlo.dynamic_reshape %x, %l : (" +
                          x + ", tensor<1xi32>) -> " + flat + "\n  return %0 : " + flat + "\n"),
                 {Rows(2)},
                 {6},
                 {1, 2, 3, 4, 5, 6}});
  const std::string list = "tensor<?xf32, #stablehlo.bounds<12>>";
  // low = n, high = 1, interior = 1 of f32[3]
  all.push_back({"pad",
                 Main("(%x: tensor<3xf32>, %n: tensor<i32>) -> " + list, R"(
  %z = stablehlo.constant dense<-1.0> : tensor<f32>
  %one = stablehlo.constant dense<1> : tensor<1xi32>
  %l = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %0 = stablehlo.dynamic_pad %x, %z, %l, %one, %one : (tensor<3xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> )" +
                                                                             list + "\n  return %0 : " + list + "\n"),
                 {Whole({3}), Number(2)},
                 {8},
                 {-1, -1, 1, -1, 2, -1, 3, -1}});
  all.push_back({"pad by a negative number",
                 Main("(%x: tensor<3xf32>, %n: tensor<i32>) -> " + list, R"(
  %z = stablehlo.constant dense<-1.0> : tensor<f32>
  %one = stablehlo.constant dense<1> : tensor<1xi32>
  %l = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %0 = stablehlo.dynamic_pad %x, %z, %l, %one, %one : (tensor<3xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> )" +
                                                                             list + "\n  return %0 : " + list + "\n"),
                 {Whole({3}), Number(-2)},
                 {4},
                 {2, -1, 3, -1}});
  all.push_back({"slice",
                 Main("(%x: tensor<10xf32>, %a: tensor<i32>, %b: tensor<i32>) -> " + list,
                      R"(
  %two = stablehlo.constant dense<2> : tensor<1xi32>
  %s = stablehlo.reshape %a : (tensor<i32>) -> tensor<1xi32>
  %l = stablehlo.reshape %b : (tensor<i32>) -> tensor<1xi32>
  %0 = stablehlo.real_dynamic_slice %x, %s, %l, %two : (tensor<10xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> )" +
                          list + "\n  return %0 : " + list + "\n"),
                 {Whole({10}), Number(1), Number(6)},
                 {3},
                 {2, 4, 6}});
  const std::string rows = "tensor<2x?xf32, #stablehlo.bounds<?, 4>>";
  // Two windows of n elements; the second is moved back into the array.
  all.push_back(
      {"gather",
       Main("(%x: tensor<5xf32>, %i: tensor<2x1xi32>, %n: tensor<i32>) -> " + rows,
            R"(
  %l = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %0 = "stablehlo.dynamic_gather"(%x, %i, %l) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>}> : (tensor<5xf32>, tensor<2x1xi32>, tensor<1xi32>) -> )" +
                rows + "\n  return %0 : " + rows + "\n"),
       {Whole({5}), Literal::FromVector<int32_t>(Shape(ElementType::kS32, {2, 1}), std::vector<int32_t>{1, 4}),
        Number(3)},
       {2, 3},
       {2, 3, 4, 3, 4, 5}});
  const std::string image = "tensor<1x?x1xf32, #stablehlo.bounds<?, 8, ?>>";
  all.push_back({"convolution",
                 Main("(%x: tensor<1x4x1xf32>, %k: tensor<2x1x1xf32>, %n: tensor<i32>) -> " + image,
                      R"(
  %one = stablehlo.constant dense<1> : tensor<1xi32>
  %l = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %c = stablehlo.concatenate %l, %one, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %p = stablehlo.reshape %c : (tensor<2xi32>) -> tensor<1x2xi32>
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{window_strides = array<i64: 1>, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x4x1xf32>, tensor<2x1x1xf32>, tensor<1x2xi32>) -> )" +
                          image + "\n  return %0 : " + image + "\n"),
                 {Whole({1, 4, 1}), Whole({2, 1, 1}), Number(2)},
                 {1, 6, 1},
                 {0, 2, 5, 8, 11, 4}});
  return all;
}

std::unique_ptr<Module> Read(const std::string& text) {
  auto module = mlir::ParseStablehlo(text);
  EXPECT_TRUE(module.ok()) << module.status().message() << text;
  return module.ok() ? std::move(*module) : nullptr;
}

void ExpectLive(const Literal& got, const Program& program, const std::string& where) {
  SCOPED_TRACE(program.name + " " + where);
  std::vector<int64_t> sizes;
  for (int d = 0; d < got.shape().rank(); ++d) sizes.push_back(got.dynamic_size(d));
  ASSERT_EQ(sizes, program.sizes);
  std::vector<double> elements;
  for (int64_t i = 0; i < got.element_count(); ++i) {
    int64_t rest = i;
    bool lives = true;
    for (int d = got.shape().rank() - 1; d >= 0; --d) {
      lives = lives && rest % got.shape().dimension(d) < sizes[static_cast<size_t>(d)];
      rest /= got.shape().dimension(d);
    }
    if (lives) elements.push_back(got.GetDouble(i));
  }
  EXPECT_EQ(elements, program.elements);
}

TEST(BoundedResultsTest, SizesAreWhatTheirOperandSays) {
  for (const Program& program : Programs()) {
    SCOPED_TRACE(program.name);
    const std::unique_ptr<Module> module = Read(program.text);
    if (module == nullptr) continue;
    const std::optional<Literal> want = RunOnCpu(*module, program.arguments);
    ASSERT_TRUE(want.has_value());
    ExpectLive(*want, program, "on the reference");
    for (const BindingMode mode : ModesToRun()) {
      const std::optional<Literal> got = RunOnDevice(mode, *module, program.arguments, RunOptions());
      ASSERT_TRUE(got.has_value());
      ExpectLive(*got, program, "on the device");
    }
  }
}

// One program for all sizes, which asks for nothing first: what bundles and recordings hold.
TEST(BoundedResultsTest, OneProgramOnTheDeviceTakesAllSizes) {
  for (const Program& program : Programs()) {
    SCOPED_TRACE(program.name);
    const std::unique_ptr<Module> module = Read(program.text);
    if (module == nullptr) continue;
    for (const BindingMode mode : ModesToRun()) {
      CompileOptions options;
      options.sizes_on_device = true;
      options.require_gpu = true;
      const auto executable = DeviceClient(mode)->Compile(*module, options);
      ASSERT_TRUE(executable.ok()) << executable.status().message();
      std::vector<const Literal*> pointers;
      for (const Literal& argument : program.arguments) pointers.push_back(&argument);
      const Result<Literal> got = (*executable)->Run(pointers);
      ASSERT_TRUE(got.ok()) << got.status().message();
      ExpectLive(*got, program, "with sizes on the device");
    }
  }
}

// A size beyond the bound is refused, a wide one that wraps into it too.
TEST(BoundedResultsTest, SizesBeyondTheBoundAreRefused) {
  const std::string list = "tensor<?xi32, #stablehlo.bounds<4>>";
  const std::unique_ptr<Module> module =
      Read(Main("(%n: tensor<1xi64>) -> " + list, "  %0 = stablehlo.dynamic_iota %n, dim = 0 : (tensor<1xi64>) -> " +
                                                      list + "\n  return %0 : " + list + "\n"));
  ASSERT_TRUE(module != nullptr);
  for (const int64_t size : {int64_t{5}, int64_t{-1}, (int64_t{1} << 32) + 2}) {
    const Literal n = Literal::FromVector<int64_t>(Shape(ElementType::kS64, {1}), std::vector<int64_t>{size});
    const Literal* const pointer = &n;
    EXPECT_THAT(Evaluate(*module, {&pointer, 1}).status().message(), ::testing::HasSubstr("set-dimension-size"));
    for (const BindingMode mode : ModesToRun()) {
      const auto executable = DeviceClient(mode)->Compile(*module);
      ASSERT_TRUE(executable.ok()) << executable.status().message();
      EXPECT_THAT((*executable)->Run({&pointer, 1}).status().message(), ::testing::HasSubstr("set-dimension-size"));
    }
  }
}

}  // namespace bounded_results_test
}  // namespace VXLA_NAMESPACE::testing
