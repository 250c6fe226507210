// The optimizer's table of passes: what it tells of each, and that each leaves a module that the verifier takes.
#include "core/passes/base/pipeline.h"

#include <gmock/gmock.h>

#include <set>

#include "core/passes/base/verifier.h"
#include "core/passes/expand/expanders.h"
#include "core/text/hlo_parser.h"

namespace VXLA_NAMESPACE::testing {
namespace pipeline_test {

using ::testing::HasSubstr;

// A loop over a map, a scatter, a product and a sort: something for most passes.
constexpr std::string_view kProgram = R"(
HloModule many
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=LT }
twice { a = f32[] parameter(0)  ROOT r = f32[] add(a, a) }
body {
  s = (s32[], f32[8,8]) parameter(0)  i = s32[] get-tuple-element(s), index=0  one = s32[] constant(1)
  next = s32[] add(i, one)  x = f32[8,8] get-tuple-element(s), index=1  y = f32[8,8] map(x), dimensions={0,1}, to_apply=twice
  t = f32[8,8] tanh(y)  ROOT r = (s32[], f32[8,8]) tuple(next, t)
}
condition {
  s = (s32[], f32[8,8]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT
}
ENTRY main {
  x = f32[8,8] parameter(0)  k = s32[2,1] parameter(1)  u = f32[2,8] parameter(2)  zero = s32[] constant(0)
  start = (s32[], f32[8,8]) tuple(zero, x)  loop = (s32[], f32[8,8]) while(start), condition=condition, body=body
  y = f32[8,8] get-tuple-element(loop), index=1
  d = f32[8,8] dot(y, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f32[8,8] dot(y, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  sum = f32[8,8] add(d, e)
  put = f32[8,8] scatter(sum, k, u), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0},
    index_vector_dim=1, to_apply=add
  sorted = f32[8,8] sort(put), dimensions={1}, to_apply=less  init = f32[] constant(0)
  ROOT r = f32[8] reduce(sorted, init), dimensions={1}, to_apply=add
})";

std::unique_ptr<Module> Parsed() {
  auto module = ParseHlo(kProgram);
  EXPECT_TRUE(module.ok()) << module.status().message();
  return module.ok() ? std::move(*module) : nullptr;
}

TEST(PipelineTest, TellsOfEachPassInItsOrder) {
  const auto module = Parsed();
  ASSERT_NE(module, nullptr);
  std::vector<std::string_view> seen;
  int last_round = 0;
  bool merged = false;
  const auto optimized = Optimize(*module, {}, [&](const PassRun& run, const Module&) {
    if (std::ranges::find(seen, run.name) == seen.end()) seen.push_back(run.name);
    last_round = std::max(last_round, run.round);
    EXPECT_GE(run.seconds, 0);
    merged |= run.name == "merge-equal-instructions" && run.changed;
    return OkStatus();
  });
  ASSERT_TRUE(optimized.ok()) << optimized.status().message();
  EXPECT_TRUE(merged);  // d and e
  EXPECT_GE(last_round, 2);
  const auto names = PassNames();
  EXPECT_EQ(std::set(seen.begin(), seen.end()), std::set(names.begin(), names.end()));
  EXPECT_EQ(names.size(), std::set(names.begin(), names.end()).size());
  EXPECT_EQ(seen.front(), names.front());
  EXPECT_EQ(names.front(), "drop-order-of-copies");
}

TEST(PipelineTest, EachPassLeavesAModuleThatTheVerifierTakes) {
  const auto module = Parsed();
  ASSERT_NE(module, nullptr);
  const auto optimized = Optimize(*module, {}, [&](const PassRun& run, const Module& after) {
    const Status status = Verify(after);
    EXPECT_TRUE(status.ok()) << "after " << run.name << ": " << status.message();
    return OkStatus();
  });
  EXPECT_TRUE(optimized.ok()) << optimized.status().message();
}

TEST(PipelineTest, AnErrorOfTheCallersEndsIt) {
  const auto module = Parsed();
  ASSERT_NE(module, nullptr);
  int calls = 0;
  const auto optimized = Optimize(*module, {}, [&](const PassRun& run, const Module&) {
    ++calls;
    return run.name == "inline-calls" ? Internal("enough") : OkStatus();
  });
  ASSERT_FALSE(optimized.ok());
  EXPECT_THAT(optimized.status().message(), HasSubstr("enough"));
  const auto names = PassNames();
  EXPECT_EQ(calls, std::ranges::find(names, "inline-calls") - names.begin() + 1);
}

TEST(PipelineTest, NarrowLinearAlgebraIsComputedInF32) {
  auto module = ParseHlo(R"(ENTRY e { a = bf16[5,5] parameter(0)  b = bf16[5,2] parameter(1)
    l = bf16[5,5] cholesky(a), lower=true
    ROOT x = bf16[5,2] triangular-solve(l, b), left_side=true, lower=true, unit_diagonal=false, transpose_a=NO_TRANSPOSE
  })");
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_TRUE(WidenLinearAlgebra(**module));
  const Instruction* root = (*module)->entry()->root();
  EXPECT_EQ(root->opcode(), Opcode::kConvert);
  EXPECT_EQ(root->shape().ToString(), "bf16[5,2]");
  EXPECT_EQ(root->operand(0)->opcode(), Opcode::kTriangularSolve);
  EXPECT_EQ(root->operand(0)->shape().ToString(), "f32[5,2]");
  const Status status = Verify(**module);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_FALSE(WidenLinearAlgebra(**module));
}

}  // namespace pipeline_test
}  // namespace VXLA_NAMESPACE::testing
