// StableHLO text in: what JAX prints and the generic forms, by their results on the reference.
#include <fmt/format.h>

#include "tests/mlir/mlir_test_support.h"

namespace VXLA_NAMESPACE {
namespace {

Literal Floats(std::vector<float> values) {
  return Literal::FromVector<float>(Shape(ElementType::kF32, {static_cast<int64_t>(values.size())}), values);
}
Literal Ints(std::vector<int32_t> values) {
  return Literal::FromVector<int32_t>(Shape(ElementType::kS32, {static_cast<int64_t>(values.size())}), values);
}

TEST(StablehloTest, ModuleWithFunctionsCallsAndAttributes) {
  EXPECT_EQ(RunStablehlo(R"(
#loc = loc(unknown)
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3xf32> {mhlo.layout_mode = "default"} loc("x")) -> (tensor<3xf32> {jax.result_info = "result[0]"}, tensor<i32>) {
    %0:2 = call @g(%arg0) : (tensor<3xf32>) -> (tensor<3xf32>, tensor<i32>) loc(#loc)
    return %0#0, %0#1 : tensor<3xf32>, tensor<i32> loc(#loc)
  } loc(#loc)
  func.func private @g(%arg0: tensor<3xf32>) -> (tensor<3xf32>, tensor<i32>) {
    %c = stablehlo.constant dense<-7> : tensor<i32>
    %0 = stablehlo.add %arg0, %arg0 : tensor<3xf32>
    return %0, %c : tensor<3xf32>, tensor<i32>
  }
} loc(#loc))",
                         {Floats({1, 2, 3})}),
            "({2, 4, 6}, -7)");
}

TEST(StablehloTest, WhileTakesValuesFromAroundIt) {
  EXPECT_EQ(RunStablehlo(Function(R"((%n: tensor<3xi32>) -> tensor<3xi32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %limit = stablehlo.constant dense<4> : tensor<i32>
    %0:2 = stablehlo.while(%i = %c, %x = %n) : tensor<i32>, tensor<3xi32>
    cond {
      %1 = stablehlo.compare LT, %i, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = stablehlo.add %x, %n : tensor<3xi32>
      %2 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %2, %1 : tensor<i32>, tensor<3xi32>
    }
    return %0#1 : tensor<3xi32>
  })"),
                         {Ints({1, 2, -3})}),
            "{5, 10, -15}");
}

TEST(StablehloTest, BranchesTakeValuesFromAroundThem) {
  const std::string text = Function(R"((%i: tensor<1xi32>, %x: tensor<2xf32>) -> tensor<2xf32> {
    %k = stablehlo.reshape %i : (tensor<1xi32>) -> tensor<i32>
    %0 = "stablehlo.case"(%k) ({
      %1 = stablehlo.negate %x : tensor<2xf32>
      stablehlo.return %1 : tensor<2xf32>
    }, {
      stablehlo.return %x : tensor<2xf32>
    }, {
      %c = stablehlo.constant dense<5.0> : tensor<2xf32>
      stablehlo.return %c : tensor<2xf32>
    }) : (tensor<i32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  })");
  EXPECT_EQ(RunStablehlo(text, {Ints({0}), Floats({1, 2})}), "{-1, -2}");
  EXPECT_EQ(RunStablehlo(text, {Ints({1}), Floats({1, 2})}), "{1, 2}");
  EXPECT_EQ(RunStablehlo(text, {Ints({9}), Floats({1, 2})}), "{5, 5}");
}

TEST(StablehloTest, ReduceInBothForms) {
  EXPECT_EQ(RunStablehlo(Function(R"((%x: tensor<4xf32>) -> (tensor<f32>, tensor<f32>, tensor<i32>) {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %zi = stablehlo.constant dense<0> : tensor<i32>
    %i = stablehlo.iota dim = 0 : tensor<4xi32>
    %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    %1:2 = stablehlo.reduce(%x init: %low), (%i init: %zi) across dimensions = [0] : (tensor<4xf32>, tensor<4xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
     reducer(%a: tensor<f32>, %b: tensor<f32>) (%j: tensor<i32>, %k: tensor<i32>)  {
      %2 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %3 = stablehlo.select %2, %a, %b : tensor<i1>, tensor<f32>
      %4 = stablehlo.select %2, %j, %k : tensor<i1>, tensor<i32>
      stablehlo.return %3, %4 : tensor<f32>, tensor<i32>
    }
    return %0, %1#0, %1#1 : tensor<f32>, tensor<f32>, tensor<i32>
  })"),
                         {Floats({1, 7, 3, 2})}),
            "(13, 7, 1)");
}

TEST(StablehloTest, DataMovementInPrettyForms) {
  EXPECT_EQ(
      RunStablehlo(
          Function(
              R"((%x: tensor<4xf32>) -> (tensor<2xf32>, tensor<6xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<2xf32>, tensor<8xf32>, tensor<2x2xf32>, tensor<2x3xf32>) {
    %z = stablehlo.constant dense<9.0> : tensor<f32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.slice %x [0:4:2] : (tensor<4xf32>) -> tensor<2xf32>
    %1 = stablehlo.pad %x, %z, low = [1], high = [1], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<6xf32>
    %2 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<4xf32>) -> tensor<2x4xf32>
    %3 = stablehlo.reverse %x, dims = [0] : tensor<4xf32>
    %4 = stablehlo.dynamic_slice %x, %one, sizes = [2] : (tensor<4xf32>, tensor<i32>) -> tensor<2xf32>
    %5 = stablehlo.concatenate %x, %3, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
    %6 = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<2x2xf32>
    %7 = stablehlo.transpose %6, dims = [1, 0] : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %8 = stablehlo.reshape %0 : (tensor<2xf32>) -> tensor<2x1xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<2x1xf32>) -> tensor<2x3xf32>
    return %0, %1, %2, %3, %4, %5, %7, %9 : tensor<2xf32>, tensor<6xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<2xf32>, tensor<8xf32>, tensor<2x2xf32>, tensor<2x3xf32>
  })"),
          {Floats({1, 2, 3, 4})}),
      "({1, 3}, {9, 1, 2, 3, 4, 9}, { {1, 2, 3, 4}, {1, 2, 3, 4} }, {4, 3, 2, 1}, {2, 3}, {1, 2, 3, 4, 4, 3, 2, 1}, "
      "{ {1, 3}, {2, 4} }, { {1, 1, 1}, {3, 3, 3} })");
}

TEST(StablehloTest, GenericFormsWithPropertiesAndRegions) {
  EXPECT_EQ(RunStablehlo(R"("builtin.module"() ({
  "func.func"() <{function_type = (tensor<3xf32>, tensor<2x1xi32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<2xf32>), sym_name = "main"}> ({
  ^bb0(%x: tensor<3xf32>, %i: tensor<2x1xi32>):
    %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %4 = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%4) : (tensor<i1>) -> ()
    }) : (tensor<3xf32>) -> tensor<3xf32>
    %u = "stablehlo.constant"() {value = dense<[10.0, 20.0]> : tensor<2xf32>} : () -> tensor<2xf32>
    %1 = "stablehlo.scatter"(%x, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %4 = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%4) : (tensor<f32>) -> ()
    }) : (tensor<3xf32>, tensor<2x1xi32>, tensor<2xf32>) -> tensor<3xf32>
    %2 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<3xf32>, tensor<2x1xi32>) -> tensor<2xf32>
    "func.return"(%0, %1, %2) : (tensor<3xf32>, tensor<3xf32>, tensor<2xf32>) -> ()
  }) : () -> ()
}) : () -> ())",
                         {Floats({2, 5, 3}),
                          Literal::FromVector<int32_t>(Shape(ElementType::kS32, {2, 1}), std::vector<int32_t>{2, 0})}),
            "({5, 3, 2}, {22, 5, 13}, {3, 2})");
}

TEST(StablehloTest, ProductsConvolutionsAndWindows) {
  EXPECT_EQ(RunStablehlo(Function(R"((%x: tensor<4xf32>) -> (tensor<2x2xf32>, tensor<1x3x1xf32>, tensor<2xf32>) {
    %0 = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<2x2xf32>
    %1 = stablehlo.dot_general %0, %0, contracting_dims = [1] x [0], precision = [DEFAULT, HIGHEST] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %2 = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<1x4x1xf32>
    %3 = stablehlo.constant dense<[[[1.0]], [[-1.0]]]> : tensor<2x1x1xf32>
    %4 = stablehlo.convolution(%2, %3) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1], pad = [[0, 0]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x4x1xf32>, tensor<2x1x1xf32>) -> tensor<1x3x1xf32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %5 = "stablehlo.reduce_window"(%x, %z) <{padding = dense<0> : tensor<1x2xi64>, window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %6 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %6 : tensor<f32>
    }) : (tensor<4xf32>, tensor<f32>) -> tensor<2xf32>
    return %1, %4, %5 : tensor<2x2xf32>, tensor<1x3x1xf32>, tensor<2xf32>
  })"),
                         {Floats({1, 2, 4, 7})}),
            "({ {9, 16}, {32, 57} }, { /*i0=0*/ { {-1}, {-2}, {-3} } }, {3, 11})");
}

// Two products of a row and a matrix: b is of a batch, i is summed over.
TEST(StablehloTest, AnEinsumWithABatch) {
  EXPECT_EQ(RunStablehlo(Function(R"((%x: tensor<4xf32>) -> tensor<2x2xf32> {
    %0 = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<2x2xf32>
    %1 = stablehlo.constant dense<[[[1.0, 10.0], [100.0, 1000.0]], [[2.0, 0.0], [0.0, 3.0]]]> : tensor<2x2x2xf32>
    %2 = stablehlo.einsum %0, %1, config = "bi,bij->bj" : (tensor<2x2xf32>, tensor<2x2x2xf32>) -> tensor<2x2xf32>
    return %2 : tensor<2x2xf32>
  })"),
                         {Floats({1, 2, 4, 7})}),
            "{ {201, 2010}, {8, 21} }");
}

// Values: Abramowitz and Stegun's tables; zeta(2, 1) = pi^2 / 6; the next float after 1.
std::string DotWith(std::string_view algorithm, std::string_view precision = "DEFAULT") {
  return fmt::format(
      "func.func @main(%a: tensor<2x3xf32>, %b: tensor<3x2xf32>) -> tensor<2x2xf32> {{\n"
      "  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], precision = [{}, {}], algorithm = <{}> : "
      "(tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>\n"
      "  return %0 : tensor<2x2xf32>\n}}",
      precision, precision, algorithm);
}

std::string Algorithm(std::string_view type, int parts, int products, std::string_view imprecise = "false") {
  return fmt::format(
      "lhs_precision_type = {0}, rhs_precision_type = {0}, accumulation_type = f32, lhs_component_count = {1}, "
      "rhs_component_count = {1}, num_primitive_operations = {2}, allow_imprecise_accumulation = {3}",
      type, parts, products, imprecise);
}

TEST(StablehloTest, DotAlgorithmsKeepTheirNames) {
  const auto name = [](const std::string& text) {
    const Result<std::unique_ptr<Module>> module = ReadStablehlo(text);
    return module.ok() ? (*module)->entry()->root()->attributes<DotAttributes>().algorithm : Place(module.status());
  };
  EXPECT_EQ(name(DotWith(Algorithm("bf16", 1, 1))), "dot_bf16_bf16_f32");
  EXPECT_EQ(name(DotWith(Algorithm("bf16", 1, 3))), "dot_bf16_bf16_f32_x3");
  EXPECT_EQ(name(DotWith(Algorithm("bf16", 3, 6))), "dot_bf16_bf16_f32_x6");  // as the specification writes it
  EXPECT_EQ(name(DotWith(Algorithm("tf32", 1, 3))), "dot_tf32_tf32_f32_x3");
  EXPECT_EQ(
      name(DotWith(Algorithm("bf16", 1, 4))),
      "2:8: stablehlo.dot_general: there is no algorithm of bf16 by bf16 in 1 and 1 parts, 4 products and sums in f32");
  EXPECT_EQ(name(DotWith(Algorithm("bf16", 0, 1))),
            "2:8: stablehlo.dot_general: algorithm: lhs_component_count is 0, at least 1 needed");
  EXPECT_EQ(name(DotWith(Algorithm("bf16", 1, 1), "HIGH")),
            "2:8: stablehlo.dot_general: precision_config is not DEFAULT beside an algorithm");
  EXPECT_EQ(name(DotWith(Algorithm("f8E5M2", 1, 1, "true"))),
            "2:8: stablehlo.dot_general: dot: algorithm dot_any_f8_any_f8_f32_fast_accum takes no operand of f32, only "
            "f8 types");
  // 1 + 2^-9 is 1 as bf16, and itself in two parts; the program is run in all its forms.
  const Literal a =
      Literal::FromVector<float>(Shape(ElementType::kF32, {2, 3}), std::vector<float>{1.001953125f, 0, 0, 0, 2, 0});
  const Literal b = Literal::FromVector<float>(Shape(ElementType::kF32, {3, 2}), std::vector<float>{1, 0, 0, 1, 0, 0});
  EXPECT_EQ(RunStablehlo(DotWith(Algorithm("bf16", 1, 1)), {a, b}), "{ {1, 0}, {0, 2} }");
  EXPECT_EQ(RunStablehlo(DotWith(Algorithm("bf16", 1, 3)), {a, b}), "{ {1.0019531, 0}, {0, 2} }");
  EXPECT_EQ(RunStablehlo(DotWith(Algorithm("tf32", 1, 1)), {a, b}), "{ {1.0019531, 0}, {0, 2} }");
}

TEST(StablehloTest, ChloOperations) {
  EXPECT_EQ(
      RunStablehlo(Function(
          R"(() -> (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f32>, tensor<2xi1>, tensor<2x3xf32>, tensor<2xf32>, tensor<2xi32>) {
    %one = stablehlo.constant dense<1.0> : tensor<f64>
    %two = stablehlo.constant dense<2.0> : tensor<f64>
    %onef = stablehlo.constant dense<1.0> : tensor<f32>
    %twof = stablehlo.constant dense<2.0> : tensor<f32>
    %0 = chlo.erf %one : tensor<f64> -> tensor<f64>
    %1 = chlo.zeta %two, %one : tensor<f64>, tensor<f64> -> tensor<f64>
    %2 = chlo.bessel_i1e %one : tensor<f64> -> tensor<f64>
    %3 = chlo.next_after %onef, %twof : tensor<f32>, tensor<f32> -> tensor<f32>
    %v = stablehlo.constant dense<[1.0, 0xFF800000]> : tensor<2xf32>
    %4 = chlo.is_neg_inf %v : tensor<2xf32> -> tensor<2xi1>
    %a = stablehlo.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
    %b = stablehlo.constant dense<[10.0, 20.0, 30.0]> : tensor<3xf32>
    %5 = chlo.broadcast_add %a, %b : (tensor<2x1xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %values, %indices = chlo.top_k(%b, k = 2) : tensor<3xf32> -> (tensor<2xf32>, tensor<2xi32>)
    return %0, %1, %2, %3, %4, %5, %values, %indices : tensor<f64>, tensor<f64>, tensor<f64>, tensor<f32>, tensor<2xi1>, tensor<2x3xf32>, tensor<2xf32>, tensor<2xi32>
  })")),
      "(0.8427007929497149, 1.6449340668482264, 0.2079104153497085, 1.0000001, {0, 1}, { {11, 21, 31}, {12, 22, 32} "
      "}, {30, 20}, {2, 1})");
}

TEST(StablehloTest, ComplexNumbersAreOrderedByTheirRealPartsFirst) {
  EXPECT_EQ(RunStablehlo(Function(R"(() -> (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>, tensor<3xi1>) {
    %a = stablehlo.constant dense<[(1.0,2.0), (3.0,0.0), (1.0,5.0)]> : tensor<3xcomplex<f32>>
    %b = stablehlo.constant dense<[(1.0,3.0), (2.0,9.0), (1.0,5.0)]> : tensor<3xcomplex<f32>>
    %0 = stablehlo.maximum %a, %b : tensor<3xcomplex<f32>>
    %1 = stablehlo.minimum %a, %b : tensor<3xcomplex<f32>>
    %2 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<3xi1>
    return %0, %1, %2 : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>, tensor<3xi1>
  })")),
            "({(1, 3), (3, 0), (1, 5)}, {(1, 2), (2, 9), (1, 5)}, {0, 1, 1})");
}

TEST(StablehloTest, ComplexNumbersAreClampedByThatOrder) {
  EXPECT_EQ(RunStablehlo(Function(R"(() -> (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) {
    %x = stablehlo.constant dense<[(1.0,2.0), (3.0,0.0), (2.0,5.0)]> : tensor<3xcomplex<f32>>
    %low = stablehlo.constant dense<(1.0,3.0)> : tensor<complex<f32>>
    %lows = stablehlo.constant dense<(1.0,3.0)> : tensor<3xcomplex<f32>>
    %high = stablehlo.constant dense<(2.0,1.0)> : tensor<complex<f32>>
    %0 = stablehlo.clamp %low, %x, %high : (tensor<complex<f32>>, tensor<3xcomplex<f32>>, tensor<complex<f32>>) -> tensor<3xcomplex<f32>>
    %1 = "stablehlo.clamp"(%lows, %x, %high) : (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>, tensor<complex<f32>>) -> tensor<3xcomplex<f32>>
    return %0, %1 : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>
  })")),
            "({(1, 3), (2, 1), (2, 1)}, {(1, 3), (2, 1), (2, 1)})");
  EXPECT_EQ(
      StablehloError(Function(R"((%x: tensor<3xcomplex<f32>>, %y: tensor<2xcomplex<f32>>) -> tensor<3xcomplex<f32>> {
    %0 = "stablehlo.clamp"(%y, %x, %x) : (tensor<2xcomplex<f32>>, tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
    return %0 : tensor<3xcomplex<f32>>
  })")),
      "2:10: stablehlo.clamp: clamp: operand 0 c64[2] and operand 1 c64[3] differ in their dimensions");
}

TEST(StablehloTest, CompositesRunTheirDecomposition) {
  EXPECT_EQ(RunStablehlo(R"(
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.composite "my.op" %x {composite_attributes = {n = 1 : i64}, decomposition = @d, version = 1 : i32} : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
  func.func private @d(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.multiply %x, %x : tensor<2xf32>
    return %0 : tensor<2xf32>
  })",
                         {Floats({3, 4})}),
            "{9, 16}");
}

// The sizes of the dynamic forms are constants here; what is started is done by async_done at the latest.
TEST(StablehloTest, DynamicFormsWithConstantsAndAsynchronousOperations) {
  EXPECT_EQ(
      RunStablehlo(
          Function(
              R"((%x: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<6xf32>, tensor<2xf32>, tensor<1x5x1xf32>, tensor<4xf32>) {
    %shape = stablehlo.constant dense<[2, 4]> : tensor<2xi64>
    %c0 = stablehlo.constant dense<0> : tensor<1xi64>
    %c1 = stablehlo.constant dense<1> : tensor<1xi64>
    %c3 = stablehlo.constant dense<3> : tensor<1xi64>
    %z = stablehlo.constant dense<9.0> : tensor<f32>
    %0 = stablehlo.dynamic_broadcast_in_dim %x, %shape, dims = [1] : (tensor<4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
    %1 = stablehlo.dynamic_pad %x, %z, %c1, %c1, %c0 : (tensor<4xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<6xf32>
    %2 = stablehlo.real_dynamic_slice %x, %c1, %c3, %c1 : (tensor<4xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2xf32>
    %3 = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<1x4x1xf32>
    %k = stablehlo.constant dense<[[[1.0]], [[1.0]]]> : tensor<2x1x1xf32>
    %p = stablehlo.constant dense<[[1, 1]]> : tensor<1x2xi64>
    %4 = "stablehlo.dynamic_conv"(%3, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw
      input_batch_dimension = 0, input_feature_dimension = 2, input_spatial_dimensions = [1],
      kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 2, kernel_spatial_dimensions = [0],
      output_batch_dimension = 0, output_feature_dimension = 2, output_spatial_dimensions = [1]>, feature_group_count = 1 : i64}> : (tensor<1x4x1xf32>, tensor<2x1x1xf32>, tensor<1x2xi64>) -> tensor<1x5x1xf32>
    %5 = "stablehlo.async_start"(%x) ({
    ^bb0(%a: tensor<4xf32>):
      %7 = stablehlo.negate %a : tensor<4xf32>
      stablehlo.return %7 : tensor<4xf32>
    }) : (tensor<4xf32>) -> !stablehlo.future<tensor<4xf32>>
    %6 = "stablehlo.async_done"(%5) : (!stablehlo.future<tensor<4xf32>>) -> tensor<4xf32>
    return %0, %1, %2, %4, %6 : tensor<2x4xf32>, tensor<6xf32>, tensor<2xf32>, tensor<1x5x1xf32>, tensor<4xf32>
  })"),
          {Floats({1, 2, 3, 4})}),
      "({ {1, 2, 3, 4}, {1, 2, 3, 4} }, {9, 1, 2, 3, 4, 9}, {2, 3}, { /*i0=0*/ { {1}, {3}, {5}, {7}, {4} } }, {-1, "
      "-2, -3, -4})");
}

TEST(StablehloTest, CustomCallsKeepTheirLayoutsAndConfig) {
  const auto module = ReadStablehlo(Function(R"((%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
    %0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%x) {mhlo.backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>]} : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<i32>)
    return %0#0 : tensor<2x2xf32>
  })"));
  ASSERT_TRUE(module.ok()) << Place(module.status());
  const std::string text = PrintHlo(**module);
  for (const char* part :
       {"custom_call_target=\"lapack_spotrf_ffi\"", "operand_layout_constraints={f32[2,2]{0,1}}",
        "api_version=API_VERSION_TYPED_FFI", "uplo = 76 : ui8", "output_to_operand_aliasing={{0}: (0, {})}"}) {
    EXPECT_THAT(text, testing::HasSubstr(part));
  }
}

// What JAX's pinned values become: arrays whose memory is their own, in calls and round loops.
TEST(StablehloTest, BuffersAreTensorsWhoseMemoryIsTheirOwn) {
  EXPECT_EQ(RunStablehlo(Function(R"((%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2x2xi8>) {
    %n = stablehlo.constant dense<3> : tensor<i32>
    %0 = stablehlo.custom_call @Pin(%x) : (tensor<2xf32>) -> memref<2xf32, 1 : i32>
    %1:2 = stablehlo.while(%i = %n, %b = %0) : tensor<i32>, memref<2xf32>
      cond {
        %c = stablehlo.constant dense<0> : tensor<i32>
        %p = stablehlo.compare GT, %i, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        %c = stablehlo.constant dense<-1> : tensor<i32>
        %j = stablehlo.add %i, %c : tensor<i32>
        %u = stablehlo.custom_call @Unpin(%b) : (memref<2xf32>) -> tensor<2xf32>
        %v = stablehlo.add %u, %u : tensor<2xf32>
        %w = stablehlo.custom_call @Pin(%v) : (tensor<2xf32>) -> memref<2xf32>
        stablehlo.return %j, %w : tensor<i32>, memref<2xf32>
      }
    %2 = stablehlo.custom_call @Unpin(%1#1) : (memref<2xf32>) -> tensor<2xf32>
    %3 = stablehlo.custom_call @CreateBuffer() : () -> memref<2x2xi8>
    %4 = stablehlo.custom_call @Unpin(%3) : (memref<2x2xi8>) -> tensor<2x2xi8>
    return %2, %4 : tensor<2xf32>, tensor<2x2xi8>
  })"),
                         {Floats({1, 2})}),
            "({8, 16}, { {0, 0}, {0, 0} })");
  const auto error = [](const char* body) {
    return StablehloError(fmt::format(
        "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {{\n  {}\n  return %a : tensor<4xf32>\n}}", body));
  };
  const std::string pinned = "%b = stablehlo.custom_call @Pin(%a) : (tensor<4xf32>) -> memref<4xf32>\n  ";
  EXPECT_EQ(error((pinned + "%0 = stablehlo.negate %b : memref<4xf32>").c_str()),
            "3:8: stablehlo.negate: memref<4xf32>, where a tensor is wanted");
  EXPECT_EQ(error((pinned + "%0 = stablehlo.custom_call @Unpin(%b) : (tensor<4xf32>) -> tensor<4xf32>").c_str()),
            "3:8: stablehlo.custom_call: operand 0 is tensor<4xf32> here and memref<4xf32> where %b is defined");
  EXPECT_EQ(error("%0 = stablehlo.custom_call @Pin(%a) : (tensor<4xf32>) -> memref<?xf32>"),
            "2:60: a memref is an array of known sizes");
  EXPECT_THAT(RunStablehlo(Function(R"((%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.custom_call @CreateBuffer(%x) : (tensor<2xf32>) -> memref<2xf32>
    %1 = stablehlo.custom_call @Unpin(%0) : (memref<2xf32>) -> tensor<2xf32>
    return %1 : tensor<2xf32>
  })"),
                           {Floats({1, 2})}),
              testing::HasSubstr("1 operands"));
}

// JAX calls what comes from a lambda so.
TEST(StablehloTest, NamesBecomeThoseThatHloTextCanHave) {
  const auto module = ReadStablehlo(
      "module @\"a b\" {\nfunc.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n %0 = call @\"<lambda>\"(%x) : "
      "(tensor<2xf32>) -> tensor<2xf32>\n return %0 : tensor<2xf32>\n}\n"
      "func.func private @\"<lambda>\"(%x: tensor<2xf32>) -> tensor<2xf32> {\n return %x : tensor<2xf32>\n}\n}");
  ASSERT_TRUE(module.ok()) << Place(module.status());
  EXPECT_EQ((*module)->name(), "a_b");
  EXPECT_EQ((*module)->entry()->root()->called(0)->name(), "_lambda_");
}

TEST(StablehloTest, AliasesAndShardingsOfArgumentsStay) {
  const auto module = ReadStablehlo(
      "func.func @main(%x: tensor<2xf32> {tf.aliasing_output = 0 : i32, mhlo.sharding = \"{replicated}\"}) -> "
      "tensor<2xf32> {\n return %x : tensor<2xf32>\n}");
  ASSERT_TRUE(module.ok()) << Place(module.status());
  EXPECT_THAT(PrintHlo(**module), testing::AllOf(testing::HasSubstr("input_output_alias={{}: (0, {}, may-alias)}"),
                                                 testing::HasSubstr("sharding={replicated}")));
}

// Operations of a region that take nothing of the region are done once, before it.
TEST(StablehloTest, RegionsTakeWhatIsTheSameForAllElements) {
  const auto reduce = [](const std::string& inside) {
    return RunStablehlo(R"(func.func @main(%x: tensor<5xf32>, %w: tensor<3xf32>, %v: tensor<65xf32>) -> tensor<f32> {
  %z = stablehlo.constant dense<-9.0> : tensor<f32>
  %r = "stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
)" + inside + R"(
    %m = stablehlo.maximum %b, %t : tensor<f32>
    %u = stablehlo.maximum %a, %m : tensor<f32>
    stablehlo.return %u : tensor<f32>
  }) : (tensor<5xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
})",
                        {Floats({1, 2, 3, 4, 5}), Floats({6, 7, 9}), Floats(std::vector<float>(65))});
  };
  EXPECT_EQ(reduce("%s = stablehlo.slice %w [1:2] : (tensor<3xf32>) -> tensor<1xf32>\n"
                   "%t = stablehlo.reshape %s : (tensor<1xf32>) -> tensor<f32>"),
            "7");
  EXPECT_EQ(reduce("%i = stablehlo.constant dense<2> : tensor<i32>\n"
                   "%s = stablehlo.dynamic_slice %w, %i, sizes = [1] : (tensor<3xf32>, tensor<i32>) -> tensor<1xf32>\n"
                   "%t = stablehlo.reshape %s : (tensor<1xf32>) -> tensor<f32>"),
            "9");
  EXPECT_EQ(reduce("%t = stablehlo.reduce(%w init: %z) applies stablehlo.add across dimensions = [0] : (tensor<3xf32>, "
                   "tensor<f32>) -> tensor<f32>"),
            "13");
  EXPECT_EQ(reduce("%i = stablehlo.convert %b : (tensor<f32>) -> tensor<i32>\n"
                   "%s = stablehlo.dynamic_slice %w, %i, sizes = [1] : (tensor<3xf32>, tensor<i32>) -> tensor<1xf32>\n"
                   "%t = stablehlo.reshape %s : (tensor<1xf32>) -> tensor<f32>"),
            "9");
  EXPECT_EQ(reduce("%i = stablehlo.convert %b : (tensor<f32>) -> tensor<i32>\n"
                   "%s = stablehlo.dynamic_slice %v, %i, sizes = [1] : (tensor<65xf32>, tensor<i32>) -> tensor<1xf32>\n"
                   "%t = stablehlo.reshape %s : (tensor<1xf32>) -> tensor<f32>"),
            "6:6: stablehlo.dynamic_slice: %v, tensor<65xf32>, comes from around the region, which only constants, "
            "scalars and arrays of up to 64 elements of some operations may");
}

// One collective_broadcast of a program of 8 devices, its groups over the axes of a mesh.
Result<std::string> MeshGroupsOf(const std::string& groups) {
  const auto module = ReadStablehlo(
      "module attributes {mhlo.num_replicas = 8 : i32} {\n  sdy.mesh @m = <[\"x\"=2, \"y\"=4]>\n"
      "  \"sdy.mesh\"() <{mesh = #sdy.mesh<[\"z\"=8], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>, sym_name = \"n\"}> : () -> "
      "()\n"
      "  func.func @main(%a: tensor<1xf32>) -> tensor<1xf32> {\n"
      "    %0 = \"stablehlo.collective_broadcast\"(%a) <{replica_groups = " +
      groups + "}> : (tensor<1xf32>) -> tensor<1xf32>\n    return %0 : tensor<1xf32>\n  }\n}");
  if (!module.ok()) return module.status();
  const std::string text = PrintHlo(**module);
  const size_t at = text.find("replica_groups=");
  return text.substr(at + 15, text.find("}}", at) - at - 13);
}

TEST(StablehloTest, GroupsOverTheAxesOfAMesh) {
  const auto over = [](const std::string& mesh, const std::string& axes) {
    const Result<std::string> groups =
        MeshGroupsOf("#stablehlo.replica_group_mesh_axes<mesh = " + mesh + ", axes = [" + axes + "]>");
    return groups.ok() ? *groups : std::string(groups.status().message());
  };
  const std::string x = "#stablehlo.axis_ref<name = \"x\">", y = "#stablehlo.axis_ref<name = \"y\">";
  EXPECT_EQ(over("@m", y), "{{0,1,2,3},{4,5,6,7}}");
  EXPECT_EQ(over("@m", x), "{{0,4},{1,5},{2,6},{3,7}}");
  EXPECT_EQ(over("@m", y + ", " + x), "{{0,4,1,5,2,6,3,7}}");
  EXPECT_EQ(over("@m", "#stablehlo.axis_ref<name = \"y\", sub_axis_info = (2)2>"), "{{0,1},{2,3},{4,5},{6,7}}");
  EXPECT_EQ(over("@n", "#stablehlo.axis_ref<name = \"z\", sub_axis_info = (1)2>"), "{{7,3},{6,2},{5,1},{4,0}}");
  const std::string inlined =
      "#stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = \"a\", size = 2>, <name = \"b\", size = 4>], "
      "device_ids = dense<[0, 2, 4, 6, 1, 3, 5, 7]> : tensor<8xi64>>";
  EXPECT_EQ(over(inlined, "#stablehlo.axis_ref<name = \"a\">"), "{{0,1},{2,3},{4,5},{6,7}}");
  const std::string op = "stablehlo.collective_broadcast: replica_groups: ";
  EXPECT_EQ(over("@k", x), op + "the module has no mesh '@k'");
  EXPECT_EQ(over("@m", "#stablehlo.axis_ref<name = \"w\">"), op + "the mesh has no axis \"w\"");
  EXPECT_EQ(over("@m", "#stablehlo.axis_ref<name = \"y\", sub_axis_info = (3)2>"),
            op + "\"y\":(3)2 is no part of \"y\"=4");
  EXPECT_EQ(over("@m", y + ", " + y), op + "parts of axis \"y\" overlap");
  EXPECT_EQ(over("#stablehlo.mesh<axes = [<name = \"a\", size = 2>], device_ids = dense<[0, 0]> : tensor<2xi64>>",
                 "<name = \"a\">"),
            op + "device_ids (0,0) must be 2 different devices");
  EXPECT_EQ(over("#stablehlo.mesh<axes = [<name = \"a\", size = 99999999>]>", "<name = \"a\">"),
            op + "a mesh of 99999999 devices, 1048576 at most");
}

// On several devices, a function that is one manual computation is what a partition runs.
TEST(StablehloTest, ManualComputationIsThePartitionsProgram) {
  EXPECT_EQ(RunStablehlo(R"(module @m attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["i"=2]> {stablehlo.mesh = {axes = [{name = "i", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"i"}]>] out_shardings=[<@mesh, [{"i"}]>] manual_axes={"i"} (%arg1: tensor<2xf32>) {
      %1 = stablehlo.negate %arg1 : tensor<2xf32>
      sdy.return %1 : tensor<2xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
})",
                         {Floats({1, 2})}),
            "{-1, -2}");
}

// The program of a partition, as HLO.
std::string PartitionOf(const std::string& sharding, const std::string& body) {
  const auto module = ReadStablehlo(
      "module @m attributes {mhlo.num_partitions = 4 : i32} {\n  sdy.mesh @mesh = <[\"x\"=2, \"y\"=2]>\n"
      "  func.func @main(%a: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, " +
      sharding + ">}) -> tensor<4x8xf32> {\n" + body + "\n  }\n}");
  return module.ok() ? PrintHlo(**module) : std::string(module.status().message());
}

// What wants all of its dimension 0 on a device.
std::string Sorted(const std::string& operand, const std::string& type) {
  return fmt::format(
      "\"stablehlo.sort\"({}) <{{dimension = 0 : i64}}> ({{\n    ^bb0(%p: tensor<f32>, %q: tensor<f32>):\n      %l = "
      "stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>\n      stablehlo.return %l : "
      "tensor<i1>\n    }}) : ({}) -> {}\n",
      operand, type, type);
}

TEST(StablehloTest, WholeArraysAreGatheredWhereTheyAreWantedWhole) {
  const std::string sort = "%0 = " + Sorted("%a", "tensor<4x8xf32>") + "    return %0 : tensor<4x8xf32>";
  const std::string both = PartitionOf("[{\"x\"}, {\"y\"}]", sort);
  EXPECT_THAT(both, testing::HasSubstr("a = f32[2,4] parameter(0)"));
  EXPECT_THAT(both, testing::HasSubstr("f32[4,4] all-gather(a), channel_id=1, replica_groups={{0,2},{1,3}}"));
  EXPECT_THAT(both, testing::HasSubstr("ROOT sort = f32[4,4] sort"));  // along the other dimension tiles stay
  // Major to minor, and with copies of each tile.
  EXPECT_THAT(PartitionOf("[{\"y\", \"x\"}, {}]", sort), testing::HasSubstr("replica_groups={{0,2,1,3}}"));
  EXPECT_THAT(PartitionOf("[{\"y\"}, {?}]", sort), testing::HasSubstr("replica_groups={{0,1},{2,3}}"));
}

TEST(StablehloTest, ElementwiseOperationsAndConstraintsTakeTilesAsTheyAre) {
  const std::string text = PartitionOf("[{\"x\"}, {\"y\"}]", R"(    %c = stablehlo.constant dense<2.0> : tensor<f32>
    %b = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %0 = stablehlo.multiply %a, %b : tensor<4x8xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {"y"}]> : tensor<4x8xf32>
    %2 = stablehlo.add %1, %a : tensor<4x8xf32>
    return %2 : tensor<4x8xf32>)");
  EXPECT_THAT(text, testing::HasSubstr("= f32[2,4] add"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("all-gather")));
}

TEST(StablehloTest, WhatIsStatedOfAResultCutsIt) {
  const Result<mlir::PartitionedProgram> program =
      mlir::ParsePartitioned(R"(module @m attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2], device_ids=[3, 1, 0, 2]>
  func.func @main(%a: tensor<8xf32>) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}, tensor<8xf32>, tensor<8xf32>) {
    %0 = sdy.sharding_constraint %a <@mesh, [{"x", "y"}]> : tensor<8xf32>
    %1 = )" + Sorted("%0", "tensor<8xf32>") +
                             R"(    %2 = sdy.sharding_constraint %1 <@mesh, [{"x"}]> : tensor<8xf32>
    return %0, %2, %1 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  }
})");
  ASSERT_TRUE(program.ok()) << program.status().message();
  // Arguments and results of which nothing is said are cut as those that they come from or go to.
  EXPECT_EQ(program->parameters, (std::vector<Sharding>{{{4}, 1, {3, 1, 0, 2}}}));
  EXPECT_EQ(program->results,
            (std::vector<Sharding>{{{2}, 1, {3, 0, 1, 2}}, {{2}, 1, {3, 1, 0, 2}}, {{2}, 1, {3, 1, 0, 2}}}));
  const std::string text = PrintHlo(*program->module);
  EXPECT_THAT(text, testing::HasSubstr("ENTRY main {\n  a = f32[2] parameter(0)"));
  EXPECT_THAT(text, testing::HasSubstr("s32[4] constant({0, 4, 4, 0})"));
  EXPECT_THAT(text, testing::HasSubstr("s32[4] constant({4, 0, 4, 0})"));
  EXPECT_THAT(text, testing::HasSubstr("(f32[4], f32[4], f32[4]) tuple"));
}

TEST(StablehloTest, AddendsAreSummedWhereTheSumIsWanted) {
  const std::string text =
      PartitionOf("[{\"y\"}, {}], unreduced={\"x\"}", R"(    %0 = stablehlo.negate %a : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>)");
  EXPECT_THAT(text, testing::HasSubstr("all-reduce(a), channel_id=1, replica_groups={{0,2},{1,3}}"));
  EXPECT_THAT(text, testing::HasSubstr("ROOT negate = f32[2,8] negate(all-reduce)"));
}

TEST(StablehloTest, EffectsOfWholeArraysHappenOnce) {
  const std::string once = "frontend_attributes={vxla=\"once=true\"}";
  const std::string call =
      "stablehlo.custom_call @f(%a) {has_side_effect = true} : (tensor<4x8xf32>) -> tensor<4x8xf32>\n";
  EXPECT_THAT(PartitionOf("[{\"x\"}, {}]", "%0 = " + call + "return %0 : tensor<4x8xf32>"), testing::HasSubstr(once));
  const std::string inside =
      "%0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{}, {}]>] out_shardings=[<@mesh, [{}, "
      "{}]>] manual_axes={\"x\"} (%b: tensor<4x8xf32>) {\n%1 = " +
      call +
      "sdy.return %1 : tensor<4x8xf32>\n} : (tensor<4x8xf32>) -> tensor<4x8xf32>\nreturn %0 : "
      "tensor<4x8xf32>";
  EXPECT_THAT(PartitionOf("[{\"x\"}, {}]", inside), testing::Not(testing::HasSubstr(once)));
}

TEST(StablehloTest, ManualComputationsStandAmongOtherOperations) {
  const std::string text = PartitionOf(
      "[{\"x\"}, {}]",
      R"(    %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x", ?}, {?}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<2x8xf32>) {
      %1 = stablehlo.negate %b : tensor<2x8xf32>
      sdy.return %1 : tensor<2x8xf32>
    } : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %2 = stablehlo.reverse %0, dims = [0] : tensor<4x8xf32>
    return %2 : tensor<4x8xf32>)");
  EXPECT_THAT(text, testing::HasSubstr("f32[2,8] negate(a)"));
  EXPECT_THAT(text, testing::HasSubstr("f32[2,8] collective-permute(negate"));
}

}  // namespace
}  // namespace VXLA_NAMESPACE
