// What StableHLO text is refused for: the place, the operation and what was expected; and mutants, which crash nothing.
#include <cstdlib>
#include <random>

#include "tests/mlir/mlir_test_support.h"

namespace VXLA_NAMESPACE {
namespace {

std::string BodyError(std::string_view line) {
  return StablehloError(
      fmt::format("func.func @main(%a: tensor<4xf32>, %b: tensor<2xf32>) -> tensor<4xf32> {{\n  {}\n  return %a : "
                  "tensor<4xf32>\n}}",
                  line));
}

TEST(StablehloRejectionTest, SaysWhereAndWhatWasExpected) {
  EXPECT_EQ(StablehloError("module @m {"), "1:12: expected an operation, found the end of the text");
  EXPECT_EQ(StablehloError("module @m {\n  func.func @main(%a tensor<f32>) {\n}}"), "2:22: expected ':', found tensor");
  EXPECT_EQ(StablehloError("func.func @f() {\n return\n}\nfunc.func @g() {\n return\n}"),
            "1:1: the module has no function @main, and 2 public functions where one is needed");
  EXPECT_EQ(BodyError("%0 = stablehlo.add %a, %c : tensor<4xf32>"), "2:26: '%c' is not defined before its use");
  EXPECT_EQ(BodyError("%0 = stablehlo.add %a, %a, : tensor<4xf32>"),
            "2:30: expected an operand or an attribute, found :");
  EXPECT_EQ(BodyError("%0 = stablehlo.slice %a [0:4,] : (tensor<4xf32>) -> tensor<4xf32>"),
            "2:32: nothing between ',' and ']'");
  EXPECT_EQ(BodyError("%0 = \"stablehlo.negate\"(%a,) : (tensor<4xf32>) -> tensor<4xf32>"),
            "2:30: nothing between ',' and ')'");
  EXPECT_EQ(BodyError("%0 = stablehlo.frobnicate %a : tensor<4xf32>"), "2:8: unknown operation 'stablehlo.frobnicate'");
  EXPECT_EQ(BodyError("%0 = scf.forall %a"), "2:19: expected '(', found %a");
  EXPECT_EQ(BodyError("%0 = linalg.fill %a"),
            "2:8: unknown operation 'linalg.fill'; others are read in their generic form, \"linalg.fill\"(...)");
  EXPECT_EQ(BodyError("%0 = stablehlo.add %a, %b : tensor<4xf32>"),
            "2:8: stablehlo.add: add: operand 0 f32[4] and operand 1 f32[2] differ in their dimensions");
  EXPECT_EQ(BodyError("%0 = stablehlo.negate %a : (tensor<5xf32>) -> tensor<5xf32>"),
            "2:8: stablehlo.negate: operand 0 is tensor<5xf32> here and tensor<4xf32> where %a is defined");
  EXPECT_EQ(BodyError("%0 = stablehlo.negate %a : tensor<5xf32>"),
            "2:8: stablehlo.negate: result 0 is stated as tensor<5xf32>, the operands give tensor<4xf32>");
  EXPECT_EQ(BodyError("%0 = stablehlo.slice %a [0:9] : (tensor<4xf32>) -> tensor<9xf32>"),
            "2:8: stablehlo.slice: slice: limit 9 exceeds dimension 0 of f32[4]");
  EXPECT_EQ(BodyError("%0 = \"stablehlo.transpose\"(%a) : (tensor<4xf32>) -> tensor<4xf32>"),
            "2:8: stablehlo.transpose: the attribute permutation is missing");
  EXPECT_EQ(BodyError("%0 = stablehlo.compare LESS, %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>"),
            "2:8: stablehlo.compare: comparison_direction is LESS, expected one of EQ, NE, GE, GT, LE, LT");
  EXPECT_EQ(BodyError("%0 = call @nowhere(%a) : (tensor<4xf32>) -> tensor<4xf32>"),
            "2:8: no function '@nowhere' in the module");
  EXPECT_EQ(BodyError("%0 = call @main(%a, %b) : (tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>"),
            "2:8: '@main' calls itself: recursion is not supported");
  EXPECT_EQ(
      BodyError("%s = stablehlo.constant dense<[2, 2]> : tensor<2xi32>\n  %0 = stablehlo.dynamic_reshape %a, %s : "
                "(tensor<4xf32>, tensor<2xi32>) -> tensor<1x4xf32>"),
      "3:8: stablehlo.dynamic_reshape: operand 1 says 2 for dimension 0, the result is stated as tensor<1x4xf32>");
  EXPECT_EQ(
      BodyError("%s = stablehlo.constant dense<[2, 2]> : tensor<2xi32>\n  %0 = stablehlo.dynamic_iota %s, dim = 0 "
                ": (tensor<2xi32>) -> tensor<4xf32>"),
      "3:8: stablehlo.dynamic_iota: operand 0 is tensor<2xi32>, the sizes of tensor<4xf32> needed");
  EXPECT_EQ(BodyError("%0:2 = \"chlo.scan\"(%a, %b) <{dimension = 0 : i64, operandSegmentSizes = array<i32: 2, 1>}> "
                      "({\n  ^bb0(%x: tensor<f32>, %c: tensor<2xf32>):\n    stablehlo.return %x, %c : tensor<f32>, "
                      "tensor<2xf32>\n  }) : (tensor<4xf32>, tensor<2xf32>) -> (tensor<4xf32>, tensor<2xf32>)"),
            "2:10: chlo.scan: operandSegmentSizes are [2, 1], two that make 2 needed");
  EXPECT_EQ(BodyError("%0 = stablehlo.unary_einsum %a, config = \"i->ii\" : (tensor<4xf32>) -> tensor<4x4xf32>"),
            "2:8: stablehlo.unary_einsum: einsum_config \"i->ii\" names a dimension of the result twice");
  EXPECT_EQ(BodyError("%0 = \"stablehlo.collective_reduce\"(%a, %b) ({\n  ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
                      "    stablehlo.return %x : tensor<f32>\n  }) {has_dynamic_root = true, replica_groups = "
                      "dense<0> : tensor<1x1xi64>} : (tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>"),
            "2:8: stablehlo.collective_reduce: with has_dynamic_root the last operand is tensor<2xf32>, tensor<1xi32> "
            "needed");
  EXPECT_EQ(BodyError("%0 = stablehlo.constant dense_resource<__elided__> : tensor<4xf32>"),
            "2:8: stablehlo.constant: its value was left out when the text was printed");
  EXPECT_EQ(BodyError("%0 = chlo.scan(%a) init(%b) dimension=0 {"), "2:22: expected 'inits', found init");
  EXPECT_EQ(BodyError("%0 = chlo.broadcast_select %p, %a, %b : (tensor<i1>, tensor<4xf32>, tensor<2xf32>) -> "
                      "tensor<4xf32>"),
            "2:30: '%p' is not defined before its use");
  EXPECT_EQ(BodyError("%p = stablehlo.constant dense<true> : tensor<i1>\n  %0 = chlo.broadcast_select %p, %a, %b : "
                      "(tensor<i1>, tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>"),
            "3:8: chlo.broadcast_select: broadcast: dimension 0 of f32[2] is neither 1 nor 4");
  EXPECT_EQ(
      BodyError("%t = stablehlo.create_token : !stablehlo.token\n  %0 = \"stablehlo.send\"(%a, %t) <{channel_handle = "
                "#stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[0, 1, 1]> : "
                "tensor<3xi64>}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token"),
      "3:8: stablehlo.send: source_target_pairs hold 3 numbers");
  EXPECT_EQ(BodyError("%0:2 = stablehlo.negate %a : tensor<4xf32>"),
            "2:10: stablehlo.negate: 2 results have names, the operation has 1");
  EXPECT_EQ(BodyError("%0 = stablehlo.custom_call @f(%a) {backend_config = \"x : (tensor<4xf32>) -> tensor<4xf32>"),
            "2:55: a string without its closing quote");
}

TEST(StablehloRejectionTest, ShardingsThatDoNotFitAreNamed) {
  const auto error = [](int partitions, const char* sharding) {
    return StablehloError(fmt::format(
        "module attributes {{mhlo.num_partitions = {} : i32}} {{\n  sdy.mesh @mesh = <[\"i\"=2]>\n  func.func "
        "@main(%a: tensor<4x3xf32> {{sdy.sharding = #sdy.sharding<{}>}}) -> tensor<4x3xf32> {{\n    return %a : "
        "tensor<4x3xf32>\n  }}\n}}",
        partitions, sharding));
  };
  const char* const halves = "@mesh, [{\"i\"}, {}]";
  EXPECT_EQ(error(2, halves), "(read)");
  EXPECT_EQ(error(1, halves), "(read)");
  EXPECT_THAT(
      StablehloError(
          "module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 2 : i32} {\n  sdy.mesh @mesh = "
          "<[\"i\"=2]>\n  func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, "
          "[{\"i\"}]>}) -> tensor<4xf32> {\n    return %a : tensor<4xf32>\n  }\n}"),
      testing::HasSubstr("arrays that are cut, in a program of 2 replicas"));
  EXPECT_EQ(error(3, halves), "3:3: func.func: sdy.sharding: a mesh of 2 devices in a program of 3 partitions");
  EXPECT_EQ(error(2, "@mesh, [{}, {\"i\"}]"),
            "3:3: func.func: argument 0: dimension 1 of f32[4,3] is not 2 equal parts");
  EXPECT_EQ(error(2, "@mesh, [{\"i\"}]"), "3:3: func.func: sdy.sharding: 1 dimensions of tensor<4x3xf32>");
  EXPECT_EQ(error(2, "@other, [{\"i\"}, {}]"), "3:3: func.func: sdy.sharding: the module has no mesh '@other'");
  EXPECT_EQ(error(2, "@mesh, [{\"j\"}, {}]"), "3:3: func.func: sdy.sharding: the mesh has no axis \"j\"");
  EXPECT_EQ(error(2, "@mesh, [{\"i\"}, {\"i\"}]"), "3:3: func.func: sdy.sharding: parts of axis \"i\" overlap");
  std::string often = "\"i\"";
  for (int i = 0; i < 70; ++i) often += ", \"i\"";
  EXPECT_EQ(error(2, ("@mesh, [{" + often + "}, {}]").c_str()),
            "3:3: func.func: sdy.sharding: more than 1048576 tiles");
  EXPECT_EQ(error(2, "@mesh, [{}, {}], unreduced={\"j\"}"), "3:3: func.func: sdy.sharding: the mesh has no axis \"j\"");
  EXPECT_EQ(error(2, "@mesh, [{i}, {}]"), "3:78: expected an axis of the mesh (\"x\"), found i");
}

TEST(StablehloRejectionTest, CustomCallsOfChloAreItsOperations) {
  EXPECT_EQ(
      RunStablehlo("func.func @main() -> tensor<1xf32> {\n  %a = stablehlo.constant dense<0.0> : tensor<1xf32>\n  %0 = "
                   "stablehlo.custom_call @chlo.erf_inv(%a) : (tensor<1xf32>) -> tensor<1xf32>\n  return %0 : "
                   "tensor<1xf32>\n}"),
      "{0}");
}

TEST(StablehloRejectionTest, QuantizedTypesThatAreNoneAreNamed) {
  EXPECT_THAT(StablehloError("func.func @main(%a: tensor<4x!quant.uniform<i64:f32, 0.1:3>>) {\n return\n}"),
              testing::HasSubstr("!quant.uniform<i64:f32, 0.1:3>: the storage type has more than 32 bits"));
  EXPECT_THAT(StablehloError("func.func @main(%a: tensor<4x!quant.uniform<i8:f32, 0.1:300>>) {\n return\n}"),
              testing::HasSubstr("the zero point 300 is not in -128 to 127"));
}

TEST(StablehloRejectionTest, DeepNestingHugeSizesAndDoublingAliasesAreBounded) {
  std::string nested;
  for (int i = 0; i < 100000; ++i) nested += "[";
  EXPECT_THAT(StablehloError("#a = " + nested), testing::HasSubstr("nest more than 200 levels deep"));
  EXPECT_THAT(BodyError("%0 = stablehlo.iota dim = 0 : tensor<99999999999999999999xf32>"),
              testing::HasSubstr("the size of dimension 0 exceeds 64 bits"));
  EXPECT_THAT(BodyError("%0 = stablehlo.iota dim = 0 : tensor<9999999999x9999999999xf32>"),
              testing::HasSubstr("exceeds the limit of 2^63-1"));
  std::string doubling = "#a0 = [1, 1]\n";
  for (int i = 1; i < 60; ++i) doubling += fmt::format("#a{} = [#a{}, #a{}]\n", i, i - 1, i - 1);
  EXPECT_THAT(StablehloError(doubling), testing::HasSubstr("the aliases of the text stand for too much"));
}

TEST(StablehloRejectionTest, ConstantsThatAreNotWhatTheirTypeSaysAreNamed) {
  const auto error = [](std::string_view value) {
    return BodyError(fmt::format("%0 = stablehlo.constant {} : tensor<4xf32>", value));
  };
  EXPECT_EQ(error("dense<\"0x0000803F00\">"), "2:33: 5 bytes for tensor<4xf32>, which has 16");
  EXPECT_EQ(error("dense<\"0x0000803F000\">"), "2:33: 11 hexadecimal digits, an even number needed");
  EXPECT_EQ(error("dense<\"0x0000803G\">"), "2:33: character 10 of the hexadecimal string is no digit");
  EXPECT_EQ(error("dense<[1.0, 2.0, 3.0]>"), "2:48: dense: 3 elements in dimension 0 of f32[4], expected 4");
  EXPECT_EQ(error("dense<[1.0, 2.0, 3.0, 0x123456789]>"), "2:48: dense: 0x123456789 are no 32 bits of f32");
  EXPECT_EQ(error("dense<[1, 2, 3, true]>"), "2:42: dense: true for f32");
  EXPECT_EQ(error("dense_resource<x>"), "2:8: stablehlo.constant: no resource 'x' in the file");
}

TEST(StablehloRejectionTest, BlocksThatMakeNoBranchesAndLoopsAreNamed) {
  const auto error = [](std::string_view blocks) {
    return StablehloError(
        fmt::format("func.func @main(%c: tensor<i1>, %a: tensor<i32>) -> tensor<i32> {{\n{}\n}}", blocks));
  };
  EXPECT_EQ(error("cf.br ^gone(%a : tensor<i32>)\n^here(%b: tensor<i32>):\nreturn %b : tensor<i32>"),
            "2:1: cf.br: no block '^gone' here");
  EXPECT_EQ(error("cf.br ^here\n^here(%b: tensor<i32>):\nreturn %b : tensor<i32>"),
            "2:1: cf.br: 0 operands for block 1, which takes 1");
  EXPECT_EQ(error("cf.br ^x\n^x:\ncf.br ^x\n^y:\nreturn %a : tensor<i32>"),
            "4:1: cf.br: no return is reached from here");
  EXPECT_EQ(error("%t = stablehlo.create_token : !stablehlo.token\ncf.cond_br %c, ^x(%t : !stablehlo.token), ^y\n"
                  "^x(%u: !stablehlo.token):\ncf.cond_br %c, ^y, ^z\n^y:\ncf.cond_br %c, ^x(%t : !stablehlo.token), "
                  "^z\n^z:\nreturn %a : tensor<i32>"),
            "3:1: blocks that are left or entered in more than one place carry !stablehlo.token: arrays of known "
            "sizes only");
}

TEST(StablehloRejectionTest, AfterAllTakesTokensOnly) {
  EXPECT_EQ(StablehloError("func.func @main(%x: tensor<2xf32>) -> !stablehlo.token {\n"
                           "%t = \"stablehlo.after_all\"(%x) : (tensor<2xf32>) -> !stablehlo.token\n"
                           "return %t : !stablehlo.token\n}"),
            "2:6: stablehlo.after_all: operand 0 is f32[2], not a token");
}

TEST(StablehloRejectionTest, SeveralProgramsInAFileAreCounted) {
  EXPECT_EQ(StablehloError("func.func @main() {\n return\n}\n// -----\nfunc.func @main() {\n return\n}"),
            "4:1: the file holds 2 programs between '// -----' lines, one is needed");
}

constexpr std::string_view kSeed =
    R"(#a = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>
module @m attributes {mhlo.num_partitions = 1 : i32} {
  func.func public @main(%x: tensor<3xf32> {jax.x = "y"}, %i: tensor<2x1xi32>) -> (tensor<2xf32>, tensor<f32>) {
    %c = stablehlo.constant dense<[1.0, 0x7FC00000, -2.5e3]> : tensor<3xf32>
    %h = stablehlo.constant dense<"0x0000803F0000004000004040"> : tensor<3xf32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.add %x, %c : tensor<3xf32>
    %1 = "stablehlo.gather"(%0, %i) <{dimension_numbers = #a, slice_sizes = array<i64: 1>}> : (tensor<3xf32>, tensor<2x1xi32>) -> tensor<2xf32>
    %2 = stablehlo.slice %h [0:3:2] : (tensor<3xf32>) -> tensor<2xf32>
    %3 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
    %4:2 = stablehlo.while(%k = %3, %v = %2) : tensor<f32>, tensor<2xf32>
    cond {
      %5 = stablehlo.compare LT, %k, %z, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %5 : tensor<i1>
    } do {
      %5 = stablehlo.add %v, %1 : tensor<2xf32>
      stablehlo.return %k, %5 : tensor<f32>, tensor<2xf32>
    }
    %6 = call @f(%4#1) : (tensor<2xf32>) -> tensor<2xf32>
    return %6, %3 : tensor<2xf32>, tensor<f32>
  }
  func.func private @f(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = chlo.erf %x : tensor<2xf32> -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
)";

constexpr std::string_view kBlockSeed =
    R"(func.func @main(%n: tensor<i32>, %a: tensor<4xi8>) -> (tensor<i32>, tensor<i32>) {
  %z = stablehlo.constant dense<0> : tensor<i32>
  cf.br ^head(%z, %n : tensor<i32>, tensor<i32>)
^head(%i: tensor<i32>, %s: tensor<i32>):
  %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  cf.cond_br %c, ^body(%s : tensor<i32>), ^done
^body(%t: tensor<i32>):
  %p = stablehlo.compare GT, %t, %z : (tensor<i32>, tensor<i32>) -> tensor<i1>
  cf.cond_br %p, ^less(%t : tensor<i32>), ^meet(%t : tensor<i32>)
^less(%u: tensor<i32>):
  %v = stablehlo.subtract %u, %i : tensor<i32>
  cf.br ^meet(%v : tensor<i32>)
^meet(%w: tensor<i32>):
  %x = stablehlo.add %i, %w : tensor<i32>
  cf.br ^head(%x, %w : tensor<i32>, tensor<i32>)
^done:
  %b = stablehlo.constant dense<1> : tensor<i8>
  %r = stablehlo.reduce(%a init: %b) across dimensions = [0] : (tensor<4xi8>, tensor<i8>) -> tensor<i32>
   reducer(%e: tensor<i32>, %f: tensor<i32>) {
    %g = stablehlo.maximum %f, %n : tensor<i32>
    %h = stablehlo.add %e, %g : tensor<i32>
    stablehlo.return %h : tensor<i32>
  }
  return %s, %r : tensor<i32>, tensor<i32>
}
)";

// Each mutant is read or refused; what is read prints, and reads back.
TEST(StablehloMutationTest, MutantsAreReadOrRefused) {
  constexpr std::string_view kSeeds[] = {kSeed, kBlockSeed};
  for (const std::string_view seed : kSeeds) ASSERT_EQ(StablehloError(seed), "(read)");
  std::mt19937 random(1);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  constexpr std::string_view kBytes = "{}()[]<>,=:%\"'-.0123456789x_*?#!@^/ \nabf";
  int read = 0;
  const int mutants = std::getenv("VXLA_TEST_LONG") != nullptr ? 100000 : 3000;
  for (int mutant = 0; mutant < mutants; ++mutant) {
    std::string text(kSeeds[below(std::size(kSeeds))]);
    for (size_t edits = 1 + below(3); edits > 0 && !text.empty(); --edits) {
      const size_t at = below(text.size());
      switch (below(5)) {
        case 0:
          text[at] = kBytes[below(kBytes.size())];
          break;
        case 1:
          text.erase(at, 1 + below(8));
          break;
        case 2:
          text.insert(at, 1, kBytes[below(kBytes.size())]);
          break;
        case 3:
          text.insert(at, text.substr(below(text.size()), below(60)));
          break;
        default:
          text.resize(at + 1);
      }
    }
    const auto module = ReadStablehlo(text);
    if (!module.ok()) {
      EXPECT_FALSE(module.status().message().empty());
      EXPECT_NE(module.status().code(), StatusCode::kInternal) << Place(module.status()) << "\n" << text;
      continue;
    }
    ++read;
    const Result<std::string> printed = mlir::PrintStablehlo(**module);
    ASSERT_TRUE(printed.ok()) << Place(printed.status()) << "\n" << text;
    EXPECT_EQ(StablehloError(*printed), "(read)") << *printed;
  }
  EXPECT_GT(read, 10);
}

}  // namespace
}  // namespace VXLA_NAMESPACE
