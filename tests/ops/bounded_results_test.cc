// The dynamic_* operations and custom calls whose results have bounds: what lives of them is what the operand of sizes
// says when the program runs, on the reference and on devices in both binding modes.
#include <gmock/gmock.h>

#include "core/mlir/importer/importer.h"
#include "core/sizes/live_sizes.h"
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

std::string Bounded(int64_t bound, std::string_view type = "f32") {
  return fmt::format("tensor<?x{}, #stablehlo.bounds<{}>>", type, bound);
}

Literal Live(std::vector<double> elements, int64_t bound) {
  Shape shape(ElementType::kF32, {bound});
  shape.set_dynamic_dimension(0, true);
  Literal literal(shape);
  for (int64_t i = 0; i < bound; ++i)
    literal.SetDouble(i, i < std::ssize(elements) ? elements[static_cast<size_t>(i)] : 1e9);
  literal.set_dynamic_size(0, std::ssize(elements));
  return literal;
}

// x, of type `from`, at the sizes %n.
std::string BroadcastTo(const std::string& from, const std::string& to, std::string_view dims) {
  return Main("(%x: " + from + ", %n: tensor<2xi32>) -> " + to,
              fmt::format("  %0 = stablehlo.dynamic_broadcast_in_dim %x, %n, dims = [{}] : ({}, tensor<2xi32>) -> {}\n"
                          "  return %0 : {}\n",
                          dims, from, to, to));
}
Literal Pair(int32_t a, int32_t b) {
  return Literal::FromVector<int32_t>(Shape(ElementType::kS32, {2}), std::vector<int32_t>{a, b});
}

Literal List(int32_t value) {
  return Literal::FromVector<int32_t>(Shape(ElementType::kS32, {1}), std::vector<int32_t>{value});
}

// Operands whose live size, known as the program runs, is 1 or what the list says.
std::vector<Program> Broadcasts() {
  const std::string to = "tensor<2x?xf32, #stablehlo.bounds<?, 4>>";
  const std::string both = "tensor<?x?xf32, #stablehlo.bounds<3, 4>>";
  const std::string column = "tensor<1x?xf32, #stablehlo.bounds<?, 4>>";
  Shape row(ElementType::kF32, {1, 4});
  row.set_dynamic_dimension(1, true);
  Literal one(row);
  one.SetDouble(0, 5);
  one.set_dynamic_size(1, 1);
  std::vector<Program> all;
  all.push_back(
      {"live size 1", BroadcastTo(Bounded(4), to, "1"), {Live({7}, 4), Pair(2, 3)}, {2, 3}, {7, 7, 7, 7, 7, 7}});
  all.push_back({"the live size of the list",
                 BroadcastTo(Bounded(4), to, "1"),
                 {Live({7, 8, 9}, 4), Pair(2, 3)},
                 {2, 3},
                 {7, 8, 9, 7, 8, 9}});
  all.push_back(
      {"another bound", BroadcastTo(Bounded(6), to, "1"), {Live({7, 8}, 6), Pair(2, 2)}, {2, 2}, {7, 8, 7, 8}});
  all.push_back({"a smaller bound",
                 BroadcastTo(Bounded(2), to, "1"),
                 {Live({7}, 2), Pair(2, 4)},
                 {2, 4},
                 {7, 7, 7, 7, 7, 7, 7, 7}});
  all.push_back(
      {"below the bound", BroadcastTo("tensor<3xf32>", to, "1"), {Whole({3}), Pair(2, 3)}, {2, 3}, {1, 2, 3, 1, 2, 3}});
  all.push_back({"none", BroadcastTo(Bounded(4), to, "1"), {Live({}, 4), Pair(2, 0)}, {2, 0}, {}});
  all.push_back({"one to none", BroadcastTo(Bounded(4), to, "1"), {Live({7}, 4), Pair(2, 0)}, {2, 0}, {}});
  all.push_back(
      {"two dimensions", BroadcastTo(column, both, "0, 1"), {std::move(one), Pair(2, 3)}, {2, 3}, {5, 5, 5, 5, 5, 5}});
  return all;
}

// A slice, and padding of two in front and one between and behind, of what lives.
std::string SliceOf(const std::string& from) {
  const std::string to = Bounded(4);
  return Main("(%x: " + from + ", %s: tensor<1xi32>, %l: tensor<1xi32>) -> " + to,
              fmt::format("  %one = stablehlo.constant dense<1> : tensor<1xi32>\n"
                          "  %0 = stablehlo.real_dynamic_slice %x, %s, %l, %one : ({}, tensor<1xi32>, tensor<1xi32>, "
                          "tensor<1xi32>) -> {}\n  return %0 : {}\n",
                          from, to, to));
}
std::string PadOf(const std::string& from) {
  const std::string to = Bounded(12);
  return Main("(%x: " + from + ", %n: tensor<1xi32>) -> " + to,
              fmt::format("  %z = stablehlo.constant dense<-1.0> : tensor<f32>\n"
                          "  %one = stablehlo.constant dense<1> : tensor<1xi32>\n"
                          "  %0 = stablehlo.dynamic_pad %x, %z, %n, %one, %one : ({}, tensor<f32>, tensor<1xi32>, "
                          "tensor<1xi32>, tensor<1xi32>) -> {}\n  return %0 : {}\n",
                          from, to, to));
}

// Operands of which some, all or nothing lives.
std::vector<Program> OfWhatLives() {
  const std::string slice = SliceOf(Bounded(4)), pad = PadOf(Bounded(4));
  std::vector<Program> all;
  all.push_back({"a slice", slice, {Live({7, 8, 9}, 4), List(1), List(3)}, {2}, {8, 9}});
  all.push_back({"a slice of all", slice, {Live({7, 8, 9, 6}, 4), List(0), List(4)}, {4}, {7, 8, 9, 6}});
  all.push_back({"a slice of nothing", slice, {Live({}, 4), List(0), List(0)}, {0}, {}});
  all.push_back({"an empty slice", slice, {Live({7, 8}, 4), List(2), List(2)}, {0}, {}});
  all.push_back({"padding", pad, {Live({7, 8}, 4), List(2)}, {6}, {-1, -1, 7, -1, 8, -1}});
  all.push_back({"padding of nothing", pad, {Live({}, 4), List(2)}, {3}, {-1, -1, -1}});
  all.push_back({"less than nothing in front", pad, {Live({7, 8, 9}, 4), List(-2)}, {4}, {8, -1, 9, -1}});
  return all;
}

std::string TopK(const std::string& from, int64_t bound, bool places) {
  const std::string values = Bounded(bound), numbers = Bounded(bound, "i32");
  return Main(
      "(%x: " + from + ", %k: tensor<i32>) -> " + values,
      fmt::format("  %0:2 = stablehlo.custom_call @stablehlo.dynamic_top_k(%x, %k) : ({}, tensor<i32>) -> ({}, {})\n"
                  "  %1 = stablehlo.convert %0#1 : ({}) -> {}\n  return %{} : {}\n",
                  from, values, numbers, numbers, values, places ? "1" : "0#0", values));
}

std::vector<Program> TopKs() {
  const auto x = [] {
    return Literal::FromVector<float>(Shape(ElementType::kF32, {5}), std::vector<float>{3, 9, 1, 9, 4});
  };
  std::vector<Program> all;
  all.push_back({"values", TopK("tensor<5xf32>", 4, false), {x(), Number(3)}, {3}, {9, 9, 4}});
  all.push_back({"places", TopK("tensor<5xf32>", 4, true), {x(), Number(3)}, {3}, {1, 3, 4}});
  all.push_back({"none", TopK("tensor<5xf32>", 4, false), {x(), Number(0)}, {0}, {}});
  all.push_back({"a wider bound", TopK("tensor<5xf32>", 9, true), {x(), Number(5)}, {5}, {1, 3, 4, 0, 2}});
  all.push_back({"of what lives", TopK(Bounded(6), 6, false), {Live({3, 9, 1}, 6), Number(2)}, {2}, {9, 3}});
  all.push_back({"places of what lives", TopK(Bounded(6), 4, true), {Live({3, 9, 1}, 6), Number(3)}, {3}, {1, 0, 2}});
  return all;
}

// A reducer of `body`, and windows of %w, strides %s and low padding %l; one of high padding, no dilation.
std::string Windows(const std::string& from, int64_t bound, std::string_view body) {
  const std::string to = Bounded(bound);
  return fmt::format(
             "func.func private @f(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {{\n{}  return %r : "
             "tensor<f32>\n}}\n",
             body) +
         Main("(%x: " + from + ", %i: tensor<f32>, %w: tensor<1xi32>, %s: tensor<1xi32>, %l: tensor<1xi32>) -> " + to,
              fmt::format(R"(
  %one = stablehlo.constant dense<1> : tensor<1xi32>
  %q = stablehlo.concatenate %l, %one, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %p = stablehlo.reshape %q : (tensor<2xi32>) -> tensor<1x2xi32>
  %0 = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%x, %i, %w, %s, %one, %one, %p) {{called_computations = [@f]}} : ({0}, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1x2xi32>) -> {1}
  return %0 : {1}
)",
                          from, to));
}
std::vector<Program> ReduceWindows() {
  constexpr std::string_view kSum = "  %r = stablehlo.add %a, %b : tensor<f32>\n";
  // The second of two: it associates, does not commute, and nothing leaves it alone.
  constexpr std::string_view kSecond =
      "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "  %y = stablehlo.multiply %a, %z : tensor<f32>\n"
      "  %r = stablehlo.add %y, %b : tensor<f32>\n";
  const auto f32 = [](double value) { return Literal::Scalar(ElementType::kF32, value); };
  std::vector<Program> all;
  all.push_back({"sums",
                 Windows("tensor<6xf32>", 8, kSum),
                 {Whole({6}), f32(0), List(3), List(1), List(1)},
                 {6},
                 {3, 6, 9, 12, 15, 11}});
  all.push_back({"from 100",
                 Windows("tensor<6xf32>", 8, kSum),
                 {Whole({6}), f32(100), List(2), List(2), List(0)},
                 {3},
                 {103, 107, 111}});
  all.push_back({"of what lives",
                 Windows(Bounded(6), 8, kSum),
                 {Live({1, 2, 3, 4}, 6), f32(0), List(2), List(1), List(1)},
                 {5},
                 {1, 3, 5, 7, 4}});
  all.push_back({"in order",
                 Windows("tensor<6xf32>", 8, kSecond),
                 {Whole({6}), f32(7), List(2), List(2), List(1)},
                 {4},
                 {1, 3, 5, 6}});
  all.push_back({"windows that are too wide",
                 Windows("tensor<6xf32>", 8, kSum),
                 {Whole({6}), f32(0), List(9), List(1), List(1)},
                 {0},
                 {}});
  all.back().sizes = {0};
  const std::string rows = "tensor<2x?xf32, #stablehlo.bounds<?, 4>>";
  all.push_back({"rows",
                 fmt::format(R"(
func.func private @f(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {{
  %r = stablehlo.maximum %a, %b : tensor<f32>
  return %r : tensor<f32>
}}
func.func @main(%x: tensor<2x4xf32>, %w: tensor<1xi32>) -> {0} {{
  %i = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %one = stablehlo.constant dense<1> : tensor<1xi32>
  %ones = stablehlo.constant dense<1> : tensor<2xi32>
  %p = stablehlo.constant dense<0> : tensor<2x2xi32>
  %l = stablehlo.concatenate %one, %w, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %0 = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%x, %i, %l, %ones, %ones, %ones, %p) {{called_computations = [@f]}} : (tensor<2x4xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2x2xi32>) -> {0}
  return %0 : {0}
}}
)",
                             rows),
                 {Whole({2, 4}), List(3)},
                 {2, 2},
                 {3, 4, 7, 8}});
  return all;
}

std::vector<Program> AllPrograms() {
  std::vector<Program> all = Programs();
  for (auto* more : {Broadcasts, OfWhatLives, TopKs, ReduceWindows}) {
    for (Program& program : more()) all.push_back(std::move(program));
  }
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
  for (const Program& program : AllPrograms()) {
    SCOPED_TRACE(program.name);
    const std::unique_ptr<Module> module = Read(program.text);
    if (module == nullptr) continue;
    const std::optional<Literal> want = RunOnCpu(*module, program.arguments);
    ASSERT_TRUE(want.has_value());
    ExpectLive(*want, program, "on the reference");
  }
  for (const Program& program : Programs()) {
    SCOPED_TRACE(program.name);
    const std::unique_ptr<Module> module = Read(program.text);
    if (module == nullptr) continue;
    for (const BindingMode mode : ModesToRun()) {
      const std::optional<Literal> got = RunOnDevice(mode, *module, program.arguments, RunOptions());
      ASSERT_TRUE(got.has_value());
      ExpectLive(*got, program, "on the device");
    }
  }
}

// One program for all sizes, which asks for nothing first: what bundles and recordings hold.
TEST(BoundedResultsTest, OneProgramOnTheDeviceTakesAllSizes) {
  for (const Program& program : AllPrograms()) {
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

// What a program draws is what one of these very sizes draws, and so is the state after it.
TEST(BoundedResultsTest, RandomBitsAreThoseOfTheLiveSizes) {
  struct Case {
    std::string_view algorithm, type;
    int rank;
  };
  const Case cases[] = {{"THREE_FRY", "ui32", 2}, {"THREE_FRY", "ui64", 2}, {"PHILOX", "ui32", 2},
                        {"PHILOX", "ui64", 1},    {"THREE_FRY", "ui16", 1}, {"THREE_FRY", "ui32", 3}};
  for (const Case& c : cases) {
    const std::string sizes = c.rank == 1 ? "{0}x" : c.rank == 2 ? "{0}x{1}x" : "{0}x{1}x3x";
    const std::string bounded = fmt::format("tensor<{}{}, #stablehlo.bounds<{}>>",
                                            c.rank == 1   ? "?x"
                                            : c.rank == 2 ? "?x?x"
                                                          : "?x?x3x",
                                            c.type,
                                            c.rank == 1   ? "5"
                                            : c.rank == 2 ? "5, 4"
                                                          : "5, 4, ?");
    const std::string list = fmt::format("tensor<{}xi32>", c.rank);
    for (const bool state : {false, true}) {
      const int words = c.algorithm == "PHILOX" ? 3 : 2;
      const std::string key_type = fmt::format("tensor<{}xui64>", words), result = state ? key_type : bounded;
      const std::unique_ptr<Module> module = Read(Main(
          "(%s: " + key_type + ", %n: " + list + ") -> " + result,
          fmt::format("  %0:2 = stablehlo.custom_call @stablehlo.dynamic_rng_bit_generator(%s, %n) {{rng_algorithm = "
                      "#stablehlo<rng_algorithm {0}>}} : ({1}, {2}) -> ({1}, {3})\n  return %0#{4} : {5}\n",
                      c.algorithm, key_type, list, bounded, state ? 0 : 1, result)));
      ASSERT_TRUE(module != nullptr);
      for (const auto& live : {std::pair(5, 3), std::pair(4, 2), std::pair(3, 4), std::pair(1, 1)}) {
        const std::string fixed =
            fmt::format("tensor<{}{}>", fmt::format(fmt::runtime(sizes), live.first, live.second), c.type);
        const std::unique_ptr<Module> whole =
            Read(Main("(%s: " + key_type + ") -> " + (state ? result : fixed),
                      fmt::format("  %0:2 = stablehlo.rng_bit_generator %s, algorithm = {0} : ({1}) -> ({1}, {2})\n"
                                  "  return %0#{3} : {4}\n",
                                  c.algorithm, key_type, fixed, state ? 0 : 1, state ? result : fixed)));
        ASSERT_TRUE(whole != nullptr);
        SCOPED_TRACE(fmt::format("{} {} of {}", c.algorithm, fixed, bounded));
        Literal key(Shape(ElementType::kU64, {words}));
        for (int i = 0; i < words; ++i) key.SetInt(i, i == 1 ? -2 : 77 - i);
        Literal n(Shape(ElementType::kS32, {c.rank}));
        const int numbers[] = {live.first, live.second, 3};
        for (int d = 0; d < c.rank; ++d) n.SetInt(d, numbers[d]);
        const std::vector<Literal> arguments = {key, n};
        const std::optional<Literal> want = RunOnCpu(*whole, {key});
        const std::optional<Literal> got = RunOnCpu(*module, arguments);
        ASSERT_TRUE(want.has_value() && got.has_value());
        EXPECT_EQ(CutToLiveSizes(*got), *want);
        if (live.first != 3) continue;
        for (const BindingMode mode : ModesToRun()) {
          const std::optional<Literal> device = RunOnDevice(mode, *module, arguments, RunOptions());
          ASSERT_TRUE(device.has_value());
          EXPECT_EQ(CutToLiveSizes(*device), *want);
        }
      }
    }
  }
}

// Sizes that do not go together, and more than there is.
TEST(BoundedResultsTest, SizesThatDoNotFitAreNamed) {
  struct Case {
    std::string text;
    std::vector<Literal> arguments;
    std::string message;
  };
  std::vector<Case> cases;
  const std::string to = "tensor<2x?xf32, #stablehlo.bounds<?, 4>>";
  cases.push_back({BroadcastTo(Bounded(4), to, "1"), {Live({7, 8}, 4), Pair(2, 3)}, "has the live size 3"});
  cases.push_back({BroadcastTo(Bounded(4), to, "1"), {Live({7}, 4), Pair(2, 5)}, "set-dimension-size: size 5"});
  cases.push_back({TopK("tensor<5xf32>", 4, false), {Whole({5}), Number(5)}, "set-dimension-size: size 5"});
  cases.push_back({TopK(Bounded(6), 4, false), {Live({1, 2}, 6), Number(3)}, "has the live size 3"});
  cases.push_back({Windows("tensor<6xf32>", 4, "  %r = stablehlo.add %a, %b : tensor<f32>\n"),
                   {Whole({6}), Literal::Scalar(ElementType::kF32, 0), List(1), List(1), List(0)},
                   "set-dimension-size: size 7"});
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    const std::unique_ptr<Module> module = Read(c.text);
    ASSERT_TRUE(module != nullptr);
    std::vector<const Literal*> pointers;
    for (const Literal& argument : c.arguments) pointers.push_back(&argument);
    EXPECT_THAT(Evaluate(*module, pointers).status().message(), ::testing::HasSubstr(c.message));
    for (const BindingMode mode : ModesToRun()) {
      const auto executable = DeviceClient(mode)->Compile(*module);
      ASSERT_TRUE(executable.ok()) << executable.status().message();
      EXPECT_THAT((*executable)->Run(pointers).status().message(), ::testing::HasSubstr(c.message));
    }
  }
}

}  // namespace bounded_results_test
}  // namespace VXLA_NAMESPACE::testing
