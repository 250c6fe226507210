// The tensor dialect and programs of unknown sizes on the reference: each example of the dialect's document, sizes that
// arguments and data decide, and what is refused.
#include "backend/cpu/reference/checked_run.h"
#include "tests/mlir/mlir_test_support.h"
#include "tests/support/tensor_programs.h"

namespace VXLA_NAMESPACE {
namespace tensor_dialect_test {

using tensor_programs::Counting;
using tensor_programs::Floats;
using tensor_programs::IndexOf;

std::vector<const Literal*> Pointers(const std::vector<Literal>& arguments) {
  std::vector<const Literal*> pointers;
  for (const Literal& argument : arguments) pointers.push_back(&argument);
  return pointers;
}

Result<Literal> RunText(const std::string& text, const std::vector<Literal>& arguments) {
  VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<Module> module, mlir::ParseStablehlo(text));
  return Evaluate(*module, Pointers(arguments));
}

std::string Printed(const std::string& text, const std::vector<Literal>& arguments) {
  const Result<Literal> result = RunText(text, arguments);
  return result.ok() ? PrintLiteral(*result) : Place(result.status());
}

// What --checked says.
std::string Checked(const std::string& text, const std::vector<Literal>& arguments) {
  const Result<std::unique_ptr<Module>> module = mlir::ParseStablehlo(text);
  if (!module.ok()) return Place(module.status());
  const Result<std::unique_ptr<Module>> refined = RefineOnCpu(**module, Pointers(arguments));
  const Status status = refined.ok() ? CheckPlaces(**refined, Pointers(arguments), {}) : AsChecked(refined.status());
  EXPECT_EQ(status.code(), status.ok() ? StatusCode::kOk : StatusCode::kMismatch) << status.message();
  return status.ok() ? "defined" : Place(status);
}

TEST(TensorDialectTest, EachExampleOfTheDocumentGivesWhatItSays) {
  for (const tensor_programs::TensorProgram& program : tensor_programs::TensorPrograms()) {
    SCOPED_TRACE(program.name + "\n" + program.text());
    const Result<Literal> result = RunText(program.text(), program.arguments);
    if (!result.ok()) {
      ADD_FAILURE() << Place(result.status());
      continue;
    }
    EXPECT_EQ(tensor_programs::FirstWrong(program, *result), "");
    EXPECT_EQ(Checked(program.text(), program.arguments), "defined");
  }
}

// Each element of a generate takes one branch: what the other one would read is nobody's fault.
TEST(TensorDialectTest, ExtractsOfBranchesThatAreNotTakenAreNoFaults) {
  const auto program = [](std::string_view limit, std::string_view index) {
    return fmt::format(R"(
func.func @main(%a: tensor<3xf32>, %n: index) -> tensor<5xf32> {{
  %c9 = arith.constant 9 : index
  %limit = arith.constant {} : index
  %zero = arith.constant -1.0 : f32
  %0 = tensor.generate {{
  ^bb0(%i: index):
    %in = arith.cmpi slt, %i, %limit : index
    %e = scf.if %in -> (f32) {{
      %x = tensor.extract %a[{}] : tensor<3xf32>
      scf.yield %x : f32
    }} else {{
      scf.yield %zero : f32
    }}
    tensor.yield %e : f32
  }} : tensor<5xf32>
  return %0 : tensor<5xf32>
}})",
                       limit, index);
  };
  const Literal a = Literal::FromVector<float>(Shape(ElementType::kF32, {3}), std::vector<float>{1, 2, 3});
  const Literal n = Literal::ScalarInt(ElementType::kS64, 7);
  EXPECT_EQ(Checked(program("3", "%i"), {a, n}), "defined");
  EXPECT_EQ(Printed(program("3", "%i"), {a, n}), "{1, 2, 3, -1, -1}");
  EXPECT_THAT(Checked(program("4", "%i"), {a, n}), ::testing::HasSubstr("index 3 is out of bounds"));
  // The same index for all elements: nobody takes the branch, then some do.
  for (const std::string_view index : {"%c9", "%n"}) {
    EXPECT_EQ(Checked(program("0", index), {a, n}), "defined");
    EXPECT_EQ(Printed(program("0", index), {a, n}), "{-1, -1, -1, -1, -1}");
    EXPECT_THAT(Checked(program("1", index), {a, n}), ::testing::HasSubstr("is out of bounds"));
  }
}

// One generate in a branch of another's, and a branch in a branch.
TEST(TensorDialectTest, ExtractsOfBranchesInBranchesAreCheckedWhereBothAreTaken) {
  const auto program = [](std::string_view limit) {
    return fmt::format(R"(
func.func @main(%a: tensor<3xf32>) -> tensor<4x4xf32> {{
  %limit = arith.constant {} : index
  %three = arith.constant 3 : index
  %zero = arith.constant -1.0 : f32
  %0 = tensor.generate {{
  ^bb0(%i: index, %j: index):
    %row = arith.cmpi slt, %i, %limit : index
    %e = scf.if %row -> (f32) {{
      %column = arith.cmpi sge, %j, %three : index
      %f = scf.if %column -> (f32) {{
        scf.yield %zero : f32
      }} else {{
        %k = arith.addi %i, %j : index
        %x = tensor.extract %a[%k] : tensor<3xf32>
        scf.yield %x : f32
      }}
      scf.yield %f : f32
    }} else {{
      scf.yield %zero : f32
    }}
    tensor.yield %e : f32
  }} : tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}})",
                       limit);
  };
  const Literal a = Literal::FromVector<float>(Shape(ElementType::kF32, {3}), std::vector<float>{1, 2, 3});
  EXPECT_EQ(Checked(program("1"), {a}), "defined");
  EXPECT_THAT(Checked(program("2"), {a}), ::testing::HasSubstr("index 3 is out of bounds"));
}

TEST(TensorDialectTest, GenericFormsAreThoseOfMlir) {
  EXPECT_EQ(Printed(R"("builtin.module"() ({
  "func.func"() <{function_type = (tensor<?xf32>, index) -> tensor<?xf32>, sym_name = "main"}> ({
  ^bb0(%a: tensor<?xf32>, %o: index):
    %0 = "tensor.extract_slice"(%a, %o) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, static_offsets = array<i64: -9223372036854775808>, static_sizes = array<i64: 2>, static_strides = array<i64: 2>}> : (tensor<?xf32>, index) -> tensor<2xf32>
    %1 = "tensor.pad"(%0) <{operandSegmentSizes = array<i32: 1, 0, 0>, static_low = array<i64: 1>, static_high = array<i64: 0>}> ({
    ^bb0(%i: index):
      %c = "arith.constant"() <{value = 9.0 : f32}> : () -> f32
      "tensor.yield"(%c) : (f32) -> ()
    }) : (tensor<2xf32>) -> tensor<?xf32>
    "func.return"(%1) : (tensor<?xf32>) -> ()
  }) : () -> ()
}) : () -> ())",
                    {Floats({6}), IndexOf(1)}),
            "{9, 1, 3}");
}

TEST(TensorDialectTest, ArithmeticOfSignedUnsignedAndRoundedKinds) {
  const std::string text = R"(func.func @main(%a: i32, %b: i32) -> tensor<8xi32> {
    %0 = arith.divsi %a, %b : i32
    %1 = arith.floordivsi %a, %b : i32
    %2 = arith.ceildivsi %a, %b : i32
    %3 = arith.divui %a, %b : i32
    %4 = arith.maxui %a, %b : i32
    %5 = arith.shrui %a, %b : i32
    %c = arith.cmpi ult, %a, %b : i32
    %6 = arith.extsi %c : i1 to i32
    %d = arith.cmpi slt, %a, %b : i32
    %7 = arith.extsi %d : i1 to i32
    %r = tensor.from_elements %0, %1, %2, %3, %4, %5, %6, %7 : tensor<8xi32>
    return %r : tensor<8xi32>
  })";
  const auto number = [](int64_t value) { return Literal::ScalarInt(ElementType::kS32, value); };
  EXPECT_EQ(Printed(text, {number(-7), number(2)}), "{-3, -4, -3, 2147483644, -7, 1073741822, 0, -1}");
  EXPECT_EQ(Printed(text, {number(7), number(2)}), "{3, 3, 4, 3, 7, 1, 0, 0}");
}

TEST(TensorDialectTest, WhatTheDocumentLeavesUndefinedIsNamedByChecks) {
  const std::string loop = R"(func.func @main(%t: tensor<4x4xi32>, %n: index) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0 : i32
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%a = %z) -> (i32) {
    %v = tensor.extract %t[%k, %c1] : tensor<4x4xi32>
    %s = arith.addi %a, %v : i32
    scf.yield %s : i32
  }
  return %r : i32
})";
  const Literal t = Counting(ElementType::kS32, {4, 4});
  EXPECT_EQ(Printed(loop, {t, IndexOf(4)}), "28");
  EXPECT_EQ(Checked(loop, {t, IndexOf(4)}), "defined");
  EXPECT_EQ(Checked(loop, {t, IndexOf(5)}),
            "6:10: tensor.extract: index 4 is out of bounds: dimension 0 of s32[4,4] has 4");
  const std::string insert = R"(func.func @main(%v: i32, %t: tensor<?xi32>, %i: index) -> tensor<?xi32> {
  %r = tensor.insert %v into %t[%i] : tensor<?xi32>
  return %r : tensor<?xi32>
})";
  const Literal list = Counting(ElementType::kS32, {4}), one = Literal::ScalarInt(ElementType::kS32, 1);
  EXPECT_EQ(Checked(insert, {one, list, IndexOf(-1)}),
            "2:8: tensor.insert: index -1 is out of bounds: dimension 0 of s32[4] has 4");
  const std::string slice = R"(func.func @main(%t: tensor<?xi32>, %i: index) -> tensor<2xi32> {
  %r = tensor.extract_slice %t[%i][2][2] : tensor<?xi32> to tensor<2xi32>
  return %r : tensor<2xi32>
})";
  EXPECT_EQ(Checked(slice, {list, IndexOf(2)}),
            "2:8: tensor.extract_slice: offset 2 with an extent of 3 is out of bounds: dimension 0 of s32[4] has 4");
  const std::string scatter =
      R"(func.func @main(%s: tensor<2xi32>, %t: tensor<?xi32>, %i: tensor<2x1xindex>) -> tensor<?xi32> {
  %r = tensor.scatter %s into %t[%i] scatter_dims([0]) unique : (tensor<2xi32>, tensor<?xi32>, tensor<2x1xindex>) -> tensor<?xi32>
  return %r : tensor<?xi32>
})";
  const Literal pair = Counting(ElementType::kS32, {2});
  EXPECT_EQ(Checked(scatter, {pair, list, tensor_programs::IndexList({2, 1}, {1, 1})}),
            "2:8: tensor.scatter: the index [1] comes twice, which unique rules out");
  EXPECT_EQ(Checked(scatter, {pair, list, tensor_programs::IndexList({2, 1}, {1, 4})}),
            "2:8: tensor.scatter: index 4 is out of bounds: dimension 0 of s32[4] has 4");
  const std::string dim = R"(func.func @main(%t: tensor<?xi32>, %i: index) -> index {
  %r = tensor.dim %t, %i : tensor<?xi32>
  return %r : index
})";
  EXPECT_EQ(Checked(dim, {list, IndexOf(1)}), "2:8: tensor.dim: index 1 is no dimension of tensor<4xi32>, which has 1");
}

TEST(TensorDialectTest, ParallelUpdatesOfOneElementAreNamedByChecks) {
  // Twice three loops of two by two updates of every fourth element; the outer loop may write again what it wrote.
  const auto text = [](std::string_view trips) {
    return fmt::format(R"(func.func @main(%i: tensor<4xi32>, %trips: index) -> tensor<16xi32> {{
  %e = arith.constant dense<0> : tensor<16xi32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %o = scf.for %t = %c0 to {} step %c1 iter_args(%acc = %e) -> (tensor<16xi32>) {{
    %r = scf.forall (%k, %l) in (2, 2) shared_outs(%out = %acc) -> (tensor<16xi32>) {{
      %p = arith.muli %k, %c3 : index
      %at = tensor.extract %i[%p] : tensor<4xi32>
      %x = arith.index_cast %at : i32 to index
      %q = arith.addi %x, %l : index
      %v = arith.constant dense<7> : tensor<2xi32>
      scf.forall.in_parallel {{
        tensor.parallel_insert_slice %v into %out[%q] [2] [4] : tensor<2xi32> into tensor<16xi32>
      }}
    }}
    scf.yield %r : tensor<16xi32>
  }}
  return %o : tensor<16xi32>
}})",
                       trips);
  };
  const auto list = [](int last) {
    const std::vector<int32_t> values{0, 9, 9, last};
    return Literal::FromVector<int32_t>(Shape(ElementType::kS32, {4}), values);
  };
  for (const char* trips : {"%c3", "%trips"}) {
    EXPECT_EQ(Checked(text(trips), {list(2), IndexOf(2)}), "defined");
    EXPECT_EQ(Checked(text(trips), {list(4), IndexOf(2)}),
              "14:9: tensor.parallel_insert_slice: the element [4] of s32[16] is written twice by parallel updates");
    EXPECT_EQ(Checked(text(trips), {list(13), IndexOf(2)}),
              "14:9: tensor.parallel_insert_slice: offset 13 with an extent of 5 is out of bounds: dimension 0 of "
              "s32[16] has 16");
  }
}

// A function of one line, with its error.
std::string LineError(const std::string& line, const std::vector<Literal>& arguments) {
  return Printed("func.func @main(%a: tensor<?x4xf32>) -> tensor<?x4xf32> {\n  %c7 = arith.constant 7 : index\n  " +
                     line + "\n  return %a : tensor<?x4xf32>\n}",
                 arguments);
}

TEST(TensorDialectTest, SaysWhatDoesNotFit) {
  const std::vector<Literal> a{Floats({3, 4})};
  EXPECT_EQ(LineError("%0 = tensor.cast %a : tensor<?x4xf32> to tensor<2x4xf32>", a),
            "3:8: tensor.cast: result 0 is stated as tensor<2x4xf32>, the operands give tensor<3x4xf32>");
  EXPECT_EQ(LineError("%0 = tensor.collapse_shape %a [[0], [2]] : tensor<?x4xf32> into tensor<?x?xf32>", a),
            "3:8: tensor.collapse_shape: reassociation is not 0, 1, 2 ... in groups");
  EXPECT_EQ(LineError("%0 = tensor.collapse_shape %a [] : tensor<?x4xf32> into tensor<f32>", a),
            "3:8: tensor.collapse_shape: reassociation has 0 dimensions, tensor<?x4xf32> has 2");
  EXPECT_EQ(LineError("%s = arith.constant dense<1.0> : tensor<f32>\n"
                      "  %0 = tensor.expand_shape %s [] output_shape [1, 2] : tensor<f32> into tensor<1x2xf32>",
                      a),
            "4:8: tensor.expand_shape: reassociation has 0 dimensions, tensor<1x2xf32> has 2");
  EXPECT_EQ(
      LineError(
          "%0 = tensor.expand_shape %a [[0, 1], [2]] output_shape [2, 2, 4] : tensor<?x4xf32> into tensor<2x2x4xf32>",
          a),
      "3:8: tensor.expand_shape: dimension 0 of tensor<?x4xf32> is [?], its group in tensor<2x2x4xf32> gives [4]");
  EXPECT_EQ(
      LineError("%0 = tensor.extract_slice %a[1, 0][3, 4][1, 1] : tensor<?x4xf32> to tensor<3x4xf32>", a),
      "3:8: tensor.extract_slice: offset 1, size 3, stride 1 are out of bounds: dimension 0 of tensor<3x4xf32> has 3");
  EXPECT_EQ(LineError("%0 = tensor.bitcast %a : tensor<?x4xf32> to tensor<?x4xi64>", a),
            "3:8: tensor.bitcast: tensor<?x4xf32> has elements of 32 bits, tensor<?x4xi64> of 64");
  EXPECT_EQ(LineError("%i = tensor.extract %a[%c7, %c7] : tensor<?x4xf32>\n  %0 = tensor.splat %i : tensor<2xf32>", a),
            "3:8: tensor.extract: index 7 is out of bounds: dimension 0 of tensor<3x4xf32> has 3");
  EXPECT_EQ(LineError("%0 = tensor.cast %a : tensor<?x4xf32> to tensor<*xf32>", {Floats({3, 5})}),
            "1:1: func.func: argument 0 is tensor<3x5xf32>, tensor<?x4xf32> needed");
  EXPECT_EQ(LineError("%0 = tensor.splat %c7 : tensor<2xf32>", a),
            "3:8: tensor.splat: operand 0 is index, an element of tensor<2xf32> needed");
}

TEST(TensorDialectTest, LoopsWhoseSizesChangeEnd) {
  const std::string program = R"(func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %t = stablehlo.constant dense<true> : tensor<i1>
  %r = stablehlo.while(%a = %x) : tensor<?xf32>
    cond {
      stablehlo.return %t : tensor<i1>
    } do {
      %b = stablehlo.slice %a [0:1] : (tensor<?xf32>) -> tensor<?xf32>
      stablehlo.return %b : tensor<?xf32>
    }
  return %r : tensor<?xf32>
})";
  EXPECT_EQ(Printed(program, {Floats({3})}),
            "3:8: stablehlo.while: more than 1000 trips of loops whose sizes change from trip to trip");
}

constexpr char kCounted[] = R"(
func.func @main(%x: tensor<?xf32>, %k: tensor<1xi32>) -> (tensor<?xi32>, tensor<?xf32>) {
  %one = stablehlo.constant dense<1> : tensor<1xi32>
  %zero = stablehlo.constant dense<0> : tensor<1xi32>
  %i = stablehlo.dynamic_iota %k, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
  %l = stablehlo.multiply %k, %one : tensor<1xi32>
  %s = stablehlo.real_dynamic_slice %x, %zero, %l, %one : (tensor<?xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
  return %i, %s : tensor<?xi32>, tensor<?xf32>
})";

TEST(DynamicProgramTest, SizesComeFromShapesAndFromValues) {
  EXPECT_EQ(Printed(kCounted, {Floats({4}), Counting(ElementType::kS32, {1}, 3)}), "({0, 1, 2}, {0, 1, 2})");
  EXPECT_EQ(Printed(kCounted, {Floats({5}), Counting(ElementType::kS32, {1}, 0)}), "({}, {})");
  EXPECT_EQ(Printed(kCounted, {Floats({2}), Counting(ElementType::kS32, {1}, 3)}),
            "7:8: stablehlo.real_dynamic_slice: slice: limit 3 exceeds dimension 0 of f32[2]");
}

// What programs of open sizes are as bytecode, and that as text, gives the same.
TEST(DynamicProgramTest, BytecodeOfOpenSizesIsPrinted) {
  const std::string text = R"(module @open {
  func.func private @twice(%x: tensor<?x2xf32>) -> tensor<?x2xf32> {
    %0 = stablehlo.exponential %x {result_accuracy = #stablehlo.result_accuracy<ulps = 4, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<?x2xf32>
    %1 = stablehlo.compare GT, %0, %x, FLOAT : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x2xi1>
    %2 = stablehlo.add %x, %x : tensor<?x2xf32>
    %3 = stablehlo.select %1, %2, %x : tensor<?x2xi1>, tensor<?x2xf32>
    return %3 : tensor<?x2xf32>
  }
  func.func @main(%x: tensor<?x2xf32> {jax.arg_info = "x"}) -> (tensor<?x?xf32>, tensor<2xf32>, tensor<?x2xf32>, tensor<1x?x1xf32>) {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %t = call @twice(%x) : (tensor<?x2xf32>) -> tensor<?x2xf32>
    %d = stablehlo.dot_general %t, %x, contracting_dims = [1] x [1], precision = [HIGHEST, DEFAULT] : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x?xf32>
    %s = stablehlo.reduce(%t init: %z) applies stablehlo.add across dimensions = [0] : (tensor<?x2xf32>, tensor<f32>) -> tensor<2xf32>
    %o = "stablehlo.sort"(%t) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }) {dimension = 0 : i64, is_stable = true} : (tensor<?x2xf32>) -> tensor<?x2xf32>
    %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x2xf32>) -> tensor<i32>
    %n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
    %one1 = stablehlo.reshape %one : (tensor<i32>) -> tensor<1xi32>
    %two1 = stablehlo.constant dense<2> : tensor<1xi32>
    %size = stablehlo.concatenate %one1, %n1, %two1, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %r = stablehlo.dynamic_reshape %t, %size : (tensor<?x2xf32>, tensor<3xi32>) -> tensor<1x?x2xf32>
    %k = stablehlo.constant dense<[[[1.0], [-1.0]]]> : tensor<1x2x1xf32>
    %v = stablehlo.convolution(%r, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[0, 0]], rhs_dilate = [1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x?x2xf32>, tensor<1x2x1xf32>) -> tensor<1x?x1xf32>
    return %d, %s, %o, %v : tensor<?x?xf32>, tensor<2xf32>, tensor<?x2xf32>, tensor<1x?x1xf32>
  }
})";
  const Result<mlir::Program> program = mlir::ParseMlir(text);
  ASSERT_TRUE(program.ok()) << Place(program.status());
  const Result<std::string> bytecode = mlir::WriteBytecode(*program, mlir::kNewestVhlo);
  ASSERT_TRUE(bytecode.ok()) << Place(bytecode.status());
  const Result<mlir::Program> read = mlir::ParseMlir(*bytecode);
  ASSERT_TRUE(read.ok()) << Place(read.status());
  const Result<std::string> printed = mlir::PrintProgram(*read);
  ASSERT_TRUE(printed.ok()) << Place(printed.status());
  for (const int64_t rows : {1, 3}) {
    const std::vector<Literal> arguments{Floats({rows, 2})};
    EXPECT_EQ(Printed(*printed, arguments), Printed(text, arguments)) << *printed;
    EXPECT_EQ(Printed(*bytecode, arguments), Printed(text, arguments));
  }
  EXPECT_THAT(Printed(text, {Floats({1, 2})}), testing::StartsWith("({"));
}

// JAX's calls of the host's functions in programs of open sizes: the last operands say the sizes of the results.
TEST(DynamicProgramTest, CustomCallsTakeSizesOfResultsAsOperands) {
  const std::string text = R"(func.func @main(%a: tensor<?x2x2xf32>) -> (tensor<?x2x2xf32>, tensor<?xi32>) {
  %n = stablehlo.get_dimension_size %a, dim = 0 : (tensor<?x2x2xf32>) -> tensor<i32>
  %n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %two = stablehlo.constant dense<2> : tensor<1xi32>
  %size = stablehlo.concatenate %n1, %two, %two, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
  %r:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a, %size, %n1) {indices_of_shape_operands = dense<[$]> : tensor<2xi64>, mhlo.backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>, dense<0> : tensor<1xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<?x2x2xf32>, tensor<3xi32>, tensor<1xi32>) -> (tensor<?x2x2xf32>, tensor<?xi32>)
  return %r#0, %r#1 : tensor<?x2x2xf32>, tensor<?xi32>
})";
  const auto with = [&](std::string_view places) { return std::string(text).replace(text.find('$'), 1, places); };
  const std::vector<float> values{4, 2, 2, 5};
  const std::vector<Literal> arguments{Literal::FromVector<float>(Shape(ElementType::kF32, {1, 2, 2}), values)};
  EXPECT_EQ(Printed(with("1, 2"), arguments), "({ /*i0=0*/ { {2, 2}, {1, 2} } }, {0})");
  EXPECT_EQ(Printed(with("0, 2"), arguments),
            "6:10: stablehlo.custom_call: indices_of_shape_operands are 0, 2, the last 2 of 3 operands needed");
}

TEST(DynamicProgramTest, LoopsTakeSizesFromAroundThem) {
  const std::string text = R"(func.func @main(%a: tensor<?xf32>, %n: index, %size: index) -> tensor<?xf32> {
  %0 = scf.forall (%i) = (0) to (%n) step (3) shared_outs(%o = %a) -> (tensor<?xf32>) {
    %c1 = arith.constant 1 : index
    %s = arith.subi %size, %c1 : index
    %x = tensor.extract_slice %a[%i] [%s] [1] : tensor<?xf32> to tensor<?xf32>
    %y = arith.addf %x, %x : tensor<?xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %y into %o[%i] [%s] [1] : tensor<?xf32> into tensor<?xf32>
    }
  }
  return %0 : tensor<?xf32>
})";
  EXPECT_EQ(Printed(text, {Floats({6}), IndexOf(6), IndexOf(3)}), "{0, 2, 2, 6, 8, 5}");
  EXPECT_EQ(Printed(text, {Floats({4}), IndexOf(2), IndexOf(2)}), "{0, 1, 2, 3}");
}

TEST(DynamicProgramTest, AssertionsOfShapesFillInTheirValues) {
  EXPECT_EQ(Printed(R"(func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %rest = stablehlo.remainder %n, %two : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %even = stablehlo.compare EQ, %rest, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%even, %n) {error_message = "{0} is odd, {1}"} : (tensor<i1>, tensor<i32>) -> ()
  return %x : tensor<?xf32>
})",
                    {Floats({3})}),
            "7:3: 3 is odd, {1}");
}

TEST(DynamicProgramTest, BranchesThatSizesDecideAreTheOnesThatRun) {
  const std::string text = R"(func.func @main(%x: tensor<?xf32>) -> tensor<2xf32> {
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %is = stablehlo.compare EQ, %n, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %r = "stablehlo.if"(%is) ({
    %y = tensor.cast %x : tensor<?xf32> to tensor<2xf32>
    stablehlo.return %y : tensor<2xf32>
  }, {
    %z = stablehlo.constant dense<9.0> : tensor<2xf32>
    stablehlo.return %z : tensor<2xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  return %r : tensor<2xf32>
})";
  EXPECT_EQ(Printed(text, {Floats({2})}), "{0, 1}");
  EXPECT_EQ(Printed(text, {Floats({3})}), "{9, 9}");
}

}  // namespace tensor_dialect_test
}  // namespace VXLA_NAMESPACE
