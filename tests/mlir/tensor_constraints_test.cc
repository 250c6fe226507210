// What the tensor dialect's document demands of an operation, each with the message of its rejection and what is still
// taken.
#include "tests/mlir/mlir_test_support.h"

namespace VXLA_NAMESPACE {
namespace tensor_constraints_test {

// How the operation is judged as a program is read: "" where it is taken.
std::string Judged(std::string_view arguments, std::string_view operation) {
  const std::string text = fmt::format("func.func @main({}) {{\n{}\n  return\n}}\n", arguments, operation);
  const Result<mlir::Program> program = mlir::ParseMlir(text);
  return program.ok() ? "" : Place(program.status());
}

struct Case {
  std::string_view arguments, operation, message;
};

void ExpectJudged(std::initializer_list<Case> cases) {
  for (const Case& c : cases) {
    const std::string want =
        c.message.empty() || c.message.find(':') < 3 ? std::string(c.message) : fmt::format("2:3: {}", c.message);
    EXPECT_EQ(Judged(c.arguments, fmt::format("  {}", c.operation)), want) << c.operation;
  }
}

TEST(TensorConstraintsTest, BitcastAndCast) {
  ExpectJudged({
      {"%a: tensor<4xui32>", "%0 = tensor.bitcast %a : tensor<4xui32> to tensor<4xf32>", ""},
      {"%a: tensor<?xui32>", "%0 = tensor.bitcast %a : tensor<?xui32> to tensor<4xf32>", ""},
      {"%a: tensor<4xi32>", "tensor.bitcast %a : tensor<4xi32> to tensor<4xi16>",
       "tensor.bitcast: tensor<4xi32> has elements of 32 bits, tensor<4xi16> of 16"},
      {"%a: tensor<4xi64>", "tensor.bitcast %a : tensor<4xi64> to tensor<4xindex>",
       "tensor.bitcast: tensor<4xindex> is no tensor of integers or floats"},
      {"%a: tensor<4xcomplex<f32>>", "tensor.bitcast %a : tensor<4xcomplex<f32>> to tensor<4xf64>",
       "tensor.bitcast: tensor<4xcomplex<f32>> is no tensor of integers or floats"},
      {"%a: tensor<4xi32>", "tensor.bitcast %a : tensor<4xi32> to tensor<5xf32>",
       "tensor.bitcast: tensor<4xi32> and tensor<5xf32> have other sizes"},
      {"%a: tensor<4xi32>", "tensor.bitcast %a : tensor<4xi32> to tensor<2x2xf32>",
       "tensor.bitcast: tensor<4xi32> and tensor<2x2xf32> have other sizes"},
      {"%a: tensor<*xf32>", "%0 = tensor.cast %a : tensor<*xf32> to tensor<?x?xf32>", ""},
      {"%a: tensor<?x?xf32>", "%0 = tensor.cast %a : tensor<?x?xf32> to tensor<4x?xf32>", ""},
      {"%a: tensor<4xf32>", "tensor.cast %a : tensor<4xf32> to tensor<5xf32>",
       "tensor.cast: tensor<4xf32> and tensor<5xf32> have other sizes"},
      {"%a: tensor<4xindex>", "tensor.cast %a : tensor<4xindex> to tensor<?xi64>",
       "tensor.cast: the result tensor<?xi64> has other elements than tensor<4xindex>"},
  });
}

TEST(TensorConstraintsTest, CollapseAndExpandShape) {
  ExpectJudged({
      {"%a: tensor<?x4x?xf32>", "%0 = tensor.collapse_shape %a [[0, 1], [2]] : tensor<?x4x?xf32> into tensor<?x?xf32>",
       ""},
      {"%a: tensor<1x1xf32>", "%0 = tensor.collapse_shape %a [] : tensor<1x1xf32> into tensor<f32>", ""},
      {"%a: tensor<2x3xf32>", "tensor.collapse_shape %a [[0, 1]] : tensor<2x3xf32> into tensor<7xf32>",
       "tensor.collapse_shape: dimension 0 of tensor<7xf32> is [7], its group in tensor<2x3xf32> gives [6]"},
      {"%a: tensor<?x3xf32>", "tensor.collapse_shape %a [[0, 1]] : tensor<?x3xf32> into tensor<6xf32>",
       "tensor.collapse_shape: dimension 0 of tensor<6xf32> is [6], its group in tensor<?x3xf32> gives [?]"},
      {"%a: tensor<2x3xf32>", "tensor.collapse_shape %a [[0]] : tensor<2x3xf32> into tensor<2xf32>",
       "tensor.collapse_shape: reassociation has 1 dimensions, tensor<2x3xf32> has 2"},
      {"%a: tensor<2x3xf32>", "tensor.collapse_shape %a [[1, 0]] : tensor<2x3xf32> into tensor<6xf32>",
       "tensor.collapse_shape: reassociation is not 0, 1, 2 ... in groups"},
      {"%a: tensor<2x3xf32>", "tensor.collapse_shape %a [[0, 1], []] : tensor<2x3xf32> into tensor<6x1xf32>",
       "tensor.collapse_shape: reassociation has an empty group"},
      {"%a: tensor<2x3xf32>", "tensor.collapse_shape %a [[0, 1]] : tensor<2x3xf32> into tensor<2x3xf32>",
       "tensor.collapse_shape: reassociation has 1 groups, tensor<2x3xf32> has 2 dimensions"},
      {"%a: tensor<?x32xf32>, %m: index, %n: index",
       "%0 = tensor.expand_shape %a [[0, 1], [2]] output_shape [%m, %n, 32] : tensor<?x32xf32> into tensor<?x?x32xf32>",
       ""},
      {"%a: tensor<10xf32>, %n: index",
       "tensor.expand_shape %a [[0, 1]] output_shape [%n, 2] : tensor<10xf32> into tensor<5x2xf32>",
       "tensor.expand_shape: output_shape states [?x2], the result is tensor<5x2xf32>"},
      {"%a: tensor<?xf32>", "tensor.expand_shape %a [[0, 1]] output_shape [5, 2] : tensor<?xf32> into tensor<?x2xf32>",
       "tensor.expand_shape: output_shape states [5x2], the result is tensor<?x2xf32>"},
      {"%a: tensor<?xf32>, %n: i64",
       "tensor.expand_shape %a [[0, 1]] output_shape [%n, 2] : tensor<?xf32> into tensor<?x2xf32>",
       "tensor.expand_shape: operand 1 is i64, an index needed"},
      {"%a: tensor<10xf32>",
       "tensor.expand_shape %a [[0, 1]] output_shape [5, 3] : tensor<10xf32> into tensor<5x3xf32>",
       "tensor.expand_shape: dimension 0 of tensor<10xf32> is [10], its group in tensor<5x3xf32> gives [15]"},
  });
}

TEST(TensorConstraintsTest, ConcatDimRankAndReshape) {
  ExpectJudged({
      {"%a: tensor<3x?xf32>, %b: tensor<3x2xf32>",
       "%0 = tensor.concat dim(1) %a, %b : (tensor<3x?xf32>, tensor<3x2xf32>) -> tensor<3x10xf32>", ""},
      {"%a: tensor<3x6xf32>", "tensor.concat dim(2) %a : (tensor<3x6xf32>) -> tensor<3x6xf32>",
       "tensor.concat: dim 2 is no dimension of tensor<3x6xf32>, which has 2"},
      {"%a: tensor<3x6xf32>", "tensor.concat dim(0) %a, %a : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<7x6xf32>",
       "tensor.concat: the operands have 6 along dimension 0, tensor<7x6xf32> has 7"},
      {"%a: tensor<3x6xf32>, %b: tensor<3x5xf32>",
       "tensor.concat dim(0) %a, %b : (tensor<3x6xf32>, tensor<3x5xf32>) -> tensor<6x6xf32>",
       "tensor.concat: operand 1 is tensor<3x5xf32>, of which tensor<6x6xf32> is no concatenation along dimension 0"},
      {"%a: tensor<3xf32>, %b: tensor<3x1xf32>",
       "tensor.concat dim(0) %a, %b : (tensor<3xf32>, tensor<3x1xf32>) -> tensor<6xf32>",
       "tensor.concat: operand 1 is tensor<3x1xf32>, of which tensor<6xf32> is no concatenation along dimension 0"},
      {"%a: tensor<3xf32>, %b: tensor<3xi32>",
       "tensor.concat dim(0) %a, %b : (tensor<3xf32>, tensor<3xi32>) -> tensor<6xf32>",
       "tensor.concat: the result tensor<6xf32> has other elements than tensor<3xi32>"},
      {"%a: tensor<4x?xf32>, %i: index", "%0 = tensor.dim %a, %i : tensor<4x?xf32>", ""},
      {"%a: tensor<f32>, %i: index", "tensor.dim %a, %i : tensor<f32>", "tensor.dim: tensor<f32> has no dimensions"},
      {"%a: tensor<4xf32>, %i: i32", "tensor.dim %a, %i : tensor<4xf32>",
       "tensor.dim: operand 1 is i32, an index needed"},
      {"%a: tensor<4xf32>, %i: index", R"("tensor.dim"(%a, %i) : (tensor<4xf32>, index) -> i64)",
       "tensor.dim: the result is i64, index needed"},
      {"%a: tensor<*xf32>", "%0 = tensor.rank %a : tensor<*xf32>", ""},
      {"%a: f32", "tensor.rank %a : f32", "tensor.rank: operand 0 is f32, a tensor needed"},
      {"%a: tensor<4x1xf32>, %s: tensor<2xi32>",
       "%0 = tensor.reshape %a(%s) : (tensor<4x1xf32>, tensor<2xi32>) -> tensor<2x2xf32>", ""},
      {"%a: tensor<?xf32>, %s: tensor<?xindex>",
       "%0 = tensor.reshape %a(%s) : (tensor<?xf32>, tensor<?xindex>) -> tensor<*xf32>", ""},
      {"%a: tensor<4xf32>, %s: tensor<?xi32>",
       "tensor.reshape %a(%s) : (tensor<4xf32>, tensor<?xi32>) -> tensor<2x2xf32>",
       "tensor.reshape: the shape tensor<?xi32> has an open size, the result tensor<2x2xf32> has a rank"},
      {"%a: tensor<4xf32>, %s: tensor<3xi32>",
       "tensor.reshape %a(%s) : (tensor<4xf32>, tensor<3xi32>) -> tensor<2x2xf32>",
       "tensor.reshape: the shape tensor<3xi32> has 3 entries for tensor<2x2xf32>"},
      {"%a: tensor<4xf32>, %s: tensor<1xi32>",
       "tensor.reshape %a(%s) : (tensor<4xf32>, tensor<1xi32>) -> tensor<5xf32>",
       "tensor.reshape: tensor<4xf32> has 4 elements, tensor<5xf32> has 5"},
      {"%a: tensor<4xf32>, %s: tensor<1xui32>",
       "tensor.reshape %a(%s) : (tensor<4xf32>, tensor<1xui32>) -> tensor<4xf32>",
       "tensor.reshape: the shape is tensor<1xui32>, a list of signless integers needed"},
      {"%a: tensor<4xf32>, %s: tensor<1xf32>",
       "tensor.reshape %a(%s) : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>",
       "tensor.reshape: the shape is tensor<1xf32>, a list of signless integers needed"},
      {"%a: tensor<4xf32>, %s: tensor<1xi32>",
       "tensor.reshape %a(%s) : (tensor<4xf32>, tensor<1xi32>) -> tensor<4xi32>",
       "tensor.reshape: the result tensor<4xi32> has other elements than tensor<4xf32>"},
  });
}

TEST(TensorConstraintsTest, EmptySplatAndFromElements) {
  ExpectJudged({
      {"%m: index", "%0 = tensor.empty(%m) : tensor<?x4xf32>", ""},
      {"%m: index", "tensor.empty(%m) : tensor<4xf32>", "tensor.empty: 1 sizes, tensor<4xf32> leaves 0 open"},
      {"", "tensor.empty() : tensor<?xf32>", "tensor.empty: 0 sizes, tensor<?xf32> leaves 1 open"},
      {"%m: i32", "tensor.empty(%m) : tensor<?xf32>", "tensor.empty: operand 0 is i32, an index needed"},
      {"", "tensor.empty() : tensor<*xf32>", "tensor.empty: the result tensor<*xf32> is no ranked tensor"},
      {"%s: f32, %m: index", "%0 = tensor.splat %s[%m] : tensor<?x20xf32>", ""},
      {"%s: f32", "tensor.splat %s : tensor<4xi32>",
       "tensor.splat: operand 0 is f32, an element of tensor<4xi32> needed"},
      {"%s: f32, %m: index", "tensor.splat %s[%m] : tensor<4xf32>",
       "tensor.splat: 1 sizes, tensor<4xf32> leaves 0 open"},
      {"%a: f32, %b: f32", "%0 = tensor.from_elements %a, %b : tensor<2xf32>", ""},
      {"%a: f32", "tensor.from_elements %a : tensor<2xf32>", "tensor.from_elements: 1 elements for tensor<2xf32>"},
      {"%a: f32", "tensor.from_elements %a : tensor<?xf32>",
       "tensor.from_elements: the result tensor<?xf32> leaves sizes open"},
      {"%a: i64", "tensor.from_elements %a : tensor<1xindex>",
       "tensor.from_elements: operand 0 is i64, an element of tensor<1xindex> needed"},
      {"%a: tensor<f32>", "tensor.from_elements %a : tensor<1xf32>",
       "tensor.from_elements: operand 0 is tensor<f32>, an element of tensor<1xf32> needed"},
  });
}

TEST(TensorConstraintsTest, ExtractAndInsert) {
  ExpectJudged({
      {"%t: tensor<?x?xi32>, %i: index", "%0 = tensor.extract %t[%i, %i] : tensor<?x?xi32>", ""},
      {"%t: tensor<4x4xi32>, %i: index", "tensor.extract %t[%i] : tensor<4x4xi32>",
       "tensor.extract: 1 indices for tensor<4x4xi32>"},
      {"%t: tensor<4xi32>, %i: i64", "tensor.extract %t[%i] : tensor<4xi32>",
       "tensor.extract: operand 1 is i64, an index needed"},
      {"%t: tensor<*xi32>, %i: index", "tensor.extract %t[%i] : tensor<*xi32>",
       "tensor.extract: operand 0 is tensor<*xi32>, a tensor with a rank needed"},
      {"%t: tensor<4xi32>, %i: index", R"("tensor.extract"(%t, %i) : (tensor<4xi32>, index) -> f32)",
       "tensor.extract: the result is f32, an element of tensor<4xi32> needed"},
      {"%v: i32, %t: tensor<4xi32>, %i: index", "%0 = tensor.insert %v into %t[%i] : tensor<4xi32>", ""},
      {"%v: f32, %t: tensor<4xi32>, %i: index", "tensor.insert %v into %t[%i] : tensor<4xi32>",
       "tensor.insert: operand 0 is f32, an element of tensor<4xi32> needed"},
      {"%v: i32, %t: tensor<4xi32>", "tensor.insert %v into %t[] : tensor<4xi32>",
       "tensor.insert: 0 indices for tensor<4xi32>"},
      {"%v: i32, %t: tensor<4xi32>, %i: index", "tensor.insert %v into %t[%i] : tensor<?xi32>",
       "tensor.insert: the result is tensor<?xi32>, tensor<4xi32> needed"},
  });
}

TEST(TensorConstraintsTest, Slices) {
  ExpectJudged({
      {"%t: tensor<8x16x4xf32>, %o: index, %n: index",
       "%0 = tensor.extract_slice %t[%o, 4, %o][1, %n, 1][1, %n, 1] : tensor<8x16x4xf32> to tensor<1x?xf32>", ""},
      {"%t: tensor<8x16x4xf32>",
       "%0 = tensor.extract_slice %t[0, 0, 0][1, 16, 4][1, 1, 1] : tensor<8x16x4xf32> to tensor<16x4xf32>", ""},
      {"%t: tensor<8xf32>", "tensor.extract_slice %t[0][4][1] : tensor<8xf32> to tensor<5xf32>",
       "tensor.extract_slice: the slice is [4], of which tensor<5xf32> is no reduction"},
      {"%t: tensor<8xf32>", "tensor.extract_slice %t[0][4][1] : tensor<8xf32> to tensor<?xf32>",
       "tensor.extract_slice: the slice is [4], of which tensor<?xf32> is no reduction"},
      {"%t: tensor<8x2xf32>", "tensor.extract_slice %t[0, 0][4, 2][1, 1] : tensor<8x2xf32> to tensor<4xf32>",
       "tensor.extract_slice: the slice is [4x2], of which tensor<4xf32> is no reduction"},
      {"%t: tensor<8xf32>", "tensor.extract_slice %t[0, 0][4, 1][1, 1] : tensor<8xf32> to tensor<4xf32>",
       "tensor.extract_slice: static_offsets has 2 entries for 1 dimensions"},
      {"%t: tensor<8xf32>, %o: i32", "tensor.extract_slice %t[%o][4][1] : tensor<8xf32> to tensor<4xf32>",
       "tensor.extract_slice: operand 1 is i32, an index needed"},
      {"%t: tensor<8xf32>", "tensor.extract_slice %t[0][4][1] : tensor<8xf32> to tensor<4xi32>",
       "tensor.extract_slice: the result tensor<4xi32> has other elements than tensor<8xf32>"},
      {"%s: tensor<16x4xf32>, %t: tensor<8x16x4xf32>",
       "%0 = tensor.insert_slice %s into %t[0, 0, 0][1, 16, 4][1, 1, 1] : tensor<16x4xf32> into tensor<8x16x4xf32>",
       ""},
      {"%s: tensor<3xf32>, %t: tensor<8xf32>",
       "tensor.insert_slice %s into %t[0][4][1] : tensor<3xf32> into tensor<8xf32>",
       "tensor.insert_slice: tensor<3xf32> is no slice of sizes [4]"},
      {"%s: tensor<4xi32>, %t: tensor<8xf32>",
       "tensor.insert_slice %s into %t[0][4][1] : tensor<4xi32> into tensor<8xf32>",
       "tensor.insert_slice: tensor<4xi32> has other elements than tensor<8xf32>"},
      {"%s: tensor<4xf32>, %t: tensor<8xf32>",
       "tensor.parallel_insert_slice %s into %t[0][4][1] : tensor<4xf32> into tensor<8xf32>",
       "tensor.parallel_insert_slice: stands in scf.forall.in_parallel alone"},
  });
}

TEST(TensorConstraintsTest, GatherAndScatter) {
  ExpectJudged({
      {"%t: tensor<3x4x5xf32>, %i: tensor<6x7x1xui32>",
       "tensor.gather %t[%i] gather_dims([1]) : (tensor<3x4x5xf32>, tensor<6x7x1xui32>) -> tensor<6x7x3x5xf32>",
       "tensor.gather: the indices are tensor<6x7x1xui32>, signless integers needed"},
      {"%t: tensor<3x4x5xf32>, %i: tensor<6x1xindex>",
       "tensor.gather %t[%i] gather_dims([]) : (tensor<3x4x5xf32>, tensor<6x1xindex>) -> tensor<6x3x5xf32>",
       "tensor.gather: gather_dims is empty"},
      {"%t: tensor<3x4x5xf32>, %i: tensor<6x1xindex>",
       "tensor.gather %t[%i] gather_dims([3]) : (tensor<3x4x5xf32>, tensor<6x1xindex>) -> tensor<6x3x5xf32>",
       "tensor.gather: gather_dims holds 3, which is no dimension of tensor<3x4x5xf32>"},
      {"%t: tensor<3x4x5xf32>, %i: tensor<6x2xindex>",
       "tensor.gather %t[%i] gather_dims([1, 0]) : (tensor<3x4x5xf32>, tensor<6x2xindex>) -> tensor<6x5xf32>",
       "tensor.gather: gather_dims is not in increasing order"},
      {"%t: tensor<3x4x5xf32>, %i: tensor<6x2xindex>",
       "tensor.gather %t[%i] gather_dims([1]) : (tensor<3x4x5xf32>, tensor<6x2xindex>) -> tensor<6x3x5xf32>",
       "tensor.gather: the last dimension of the indices tensor<6x2xindex> is not 1, the number of gather_dims"},
      {"%t: tensor<3x4x5xf32>, %i: tensor<6x1xindex>",
       "tensor.gather %t[%i] gather_dims([1]) : (tensor<3x4x5xf32>, tensor<6x1xindex>) -> tensor<6x3x4xf32>",
       "tensor.gather: the slices are tensor<6x3x4xf32>, sizes [6x3x1x5] or [6x3x5] needed"},
      {"%s: tensor<3x6xf32>, %t: tensor<5x6xf32>, %i: tensor<3x1xindex>",
       "tensor.scatter %s into %t[%i] scatter_dims([0]) : (tensor<3x6xf32>, tensor<5x6xf32>, tensor<3x1xindex>) -> "
       "tensor<5x6xf32>",
       "tensor.scatter: the attribute unique is missing"},
      {"%s: tensor<3x6xf32>, %t: tensor<5x6xf32>, %i: tensor<3x1xindex>",
       "tensor.scatter %s into %t[%i] scatter_dims([0]) unique : (tensor<3x6xf32>, tensor<5x6xf32>, tensor<3x1xindex>) "
       "-> tensor<6x6xf32>",
       "tensor.scatter: the result is tensor<6x6xf32>, tensor<5x6xf32> needed"},
      {"%s: tensor<2x6xf32>, %t: tensor<5x6xf32>, %i: tensor<3x1xindex>",
       "tensor.scatter %s into %t[%i] scatter_dims([0]) unique : (tensor<2x6xf32>, tensor<5x6xf32>, tensor<3x1xindex>) "
       "-> tensor<5x6xf32>",
       "tensor.scatter: the slices are tensor<2x6xf32>, sizes [3x1x6] or [3x6] needed"},
  });
}

TEST(TensorConstraintsTest, RegionsOfGenerateAndPad) {
  const auto generate = [](std::string_view arguments, std::string_view yield, std::string_view type) {
    return fmt::format("%0 = tensor.generate {{\n  ^bb0({}):\n    {}\n  }} : {}", arguments, yield, type);
  };
  const std::string f = "%f: f32, %n: i32";
  EXPECT_EQ(Judged(f, generate("%i: index", "tensor.yield %f : f32", "tensor<4xf32>")), "");
  EXPECT_EQ(Judged(f, generate("%i: index, %j: i32", "tensor.yield %f : f32", "tensor<4x2xf32>")),
            "3:19: tensor.generate: argument 1 of the region is i32, an index needed");
  EXPECT_EQ(Judged(f, generate("%i: i64", "tensor.yield %f : f32", "tensor<4xf32>")),
            "3:8: tensor.generate: argument 0 of the region is i64, an index needed");
  EXPECT_EQ(Judged(f, generate("%i: index", "tensor.yield %f : f32", "tensor<4x2xf32>")),
            "2:6: tensor.generate: the region has 1 arguments, 2 needed");
  EXPECT_EQ(Judged(f, generate("%i: index", "tensor.yield %n : i32", "tensor<4xf32>")),
            "4:5: tensor.yield: operand 0 is i32, an element of tensor<4xf32> needed");
  EXPECT_EQ(Judged(f, generate("%i: index", "tensor.yield %f, %f : f32, f32", "tensor<4xf32>")),
            "4:5: tensor.yield: 2 values yielded, one needed");
  EXPECT_EQ(Judged(f, generate("%i: index", "stablehlo.return %f : f32", "tensor<4xf32>")),
            "2:6: tensor.generate: the region does not end with tensor.yield");
  EXPECT_EQ(Judged(f, generate("%i: index", "tensor.yield %f : f32", "tensor<?xf32>")),
            "2:6: tensor.generate: 0 sizes, tensor<?xf32> leaves 1 open");
  EXPECT_EQ(Judged(f, generate("%i: index", "tensor.yield %f : f32", "tensor<*xf32>")),
            "2:6: tensor.generate: the result tensor<*xf32> is no ranked tensor");
  EXPECT_EQ(Judged(f, "  tensor.yield %f : f32"), "2:3: tensor.yield: stands in tensor.generate and tensor.pad alone");
  const auto pad = [](std::string_view amounts, std::string_view arguments, std::string_view types) {
    return fmt::format("%0 = tensor.pad %t {} {{\n  ^bb0({}):\n    tensor.yield %f : f32\n  }} : {}", amounts,
                       arguments, types);
  };
  const std::string t = "%t: tensor<2x?xf32>, %f: f32, %n: index";
  EXPECT_EQ(Judged(t, pad("low[1, 2] high[%n, 3]", "%i: index, %j: index", "tensor<2x?xf32> to tensor<?x?xf32>")), "");
  EXPECT_EQ(Judged(t, pad("low[1, 2] high[1, 3]", "%i: index, %j: index", "tensor<2x?xf32> to tensor<5x?xf32>")),
            "2:6: tensor.pad: tensor<2x?xf32> with low [1x2] and high [1x3] does not give tensor<5x?xf32>");
  EXPECT_EQ(Judged(t, pad("low[1] high[1, 3]", "%i: index, %j: index", "tensor<2x?xf32> to tensor<4x?xf32>")),
            "2:6: tensor.pad: static_low has 1 entries for 2 dimensions");
  EXPECT_EQ(Judged(t, pad("low[1, 2] high[1, 3]", "%i: index", "tensor<2x?xf32> to tensor<4x?xf32>")),
            "2:6: tensor.pad: the region has 1 arguments, 2 needed");
  EXPECT_EQ(Judged(t, pad("low[1, 2] high[1, 3]", "%i: index, %j: i1", "tensor<2x?xf32> to tensor<4x?xf32>")),
            "3:19: tensor.pad: argument 1 of the region is i1, an index needed");
}

// What bytecode says of `index` is what text says.
TEST(TensorConstraintsTest, IndexStaysIndexInBytecode) {
  const Result<mlir::Program> program = mlir::ParseMlir(
      "func.func @main(%n: index, %t: tensor<2xindex>, %u: tensor<*xindex>) -> index {\n"
      "  return %n : index\n}\n");
  ASSERT_TRUE(program.ok()) << Place(program.status());
  const Result<std::string> bytecode = mlir::WriteBytecode(*program, mlir::kNewestVhlo);
  ASSERT_TRUE(bytecode.ok()) << bytecode.status().message();
  const Result<mlir::Program> read = mlir::ParseMlir(*bytecode);
  ASSERT_TRUE(read.ok()) << Place(read.status());
  std::string types;
  for (const mlir::Value& value : read->values) types += PrintType(value.type) + " ";
  EXPECT_THAT(types, ::testing::HasSubstr("index tensor<2xindex> tensor<*xindex>"));
}

// Names of vxla's own cannot be said: they were taken for what passes write, and crashed.
TEST(ReservedNamesTest, AreRefusedInStablehlo) {
  const auto judged = [](std::string_view call) {
    return StablehloError(fmt::format(
        "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{\n  %0 = {}\n  return %0 : tensor<2xf32>\n}}\n", call));
  };
  const std::string type = " : (tensor<2xf32>) -> tensor<2xf32>";
  EXPECT_EQ(
      judged("stablehlo.custom_call @vxla.dynamic_program(%x)" + type),
      "2:8: stablehlo.custom_call: call_target_name \"vxla.dynamic_program\": names that begin with \"vxla.\" are "
      "vxla's own");
  EXPECT_EQ(judged("stablehlo.custom_call @f(%x) {backend_config = \"vxla.sizes_in_range\"}" + type),
            "2:8: stablehlo.custom_call: backend_config \"vxla.sizes_in_range\": names that begin with \"vxla.\" are "
            "vxla's own");
  EXPECT_EQ(judged("stablehlo.negate %x {vxla.forall = 1 : i64} : tensor<2xf32>"),
            "2:8: stablehlo.negate: the attribute \"vxla.forall\": names that begin with \"vxla.\" are vxla's own");
  EXPECT_EQ(judged("stablehlo.custom_call @vxla_of_mine(%x)" + type), "(read)");
}

}  // namespace tensor_constraints_test
}  // namespace VXLA_NAMESPACE
