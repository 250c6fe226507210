// Live sizes are never lost unseen: what a program states static must be, where inference can know it.
#include "core/passes/base/verifier.h"
#include "core/text/hlo_parser.h"
#include "tests/infer/constraint_test_support.h"
#include "tests/infer/infer_test_support.h"

namespace VXLA_NAMESPACE {
namespace constraints_dynamic_test {

// clang-format off
constexpr std::string_view kRows = R"(
dynamic_c1: x=f32[<=4] => f32[4] negate(x)
! negate: the stated shape f32[4] should be f32[<=4]
dynamic_c1: x=f32[<=4,3]; y=f32[4,<=3] => f32[<=4,3] add(x, y)
! add: the stated shape f32[<=4,3] should be f32[<=4,<=3]
dynamic_c1: x=f32[<=4] => f32[2,4] broadcast(x), dimensions={1}
! broadcast: the stated shape f32[2,4] should be f32[2,<=4]
dynamic_c1: x=f32[<=4,3]; z=f32[] => f32[4] reduce(x, z), dimensions={1}, to_apply=add
! reduce: the stated shape f32[4] should be f32[<=4]
dynamic_c1: x=f32[2,4,3]; y=f32[<=2,3,5] => f32[2,4,5] dot(x, y), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}
! (accepted)
dynamic_c1: x=f32[<=2,4,3]; y=f32[2,3,5] => f32[2,4,5] dot(x, y), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}
! dot: the stated shape f32[2,4,5] should be f32[<=2,4,5]
dynamic_c1: p=pred[4]; x=f32[<=4] => f32[4] select(p, x, x)
! (accepted)
dynamic_c1: p=pred[<=4]; x=f32[4] => f32[4] select(p, x, x)
! select: the stated shape f32[4] should be f32[<=4]
dynamic_c1: x=f32[4]; y=s32[<=4] => (f32[4], s32[<=4]) tuple(x, y), sharding={replicated}
! (accepted)
dynamic_c1: x=f32[4]; y=s32[<=4] => (f32[4], s32[4]) tuple(x, y)
! tuple: the stated shape (f32[4], s32[4]) should be (f32[4], s32[<=4])
dynamic_c1: x=f32[4] => f32[<=4] negate(x)
! (accepted)
dynamic_c1: x=f32[<=4] => f32[8] all-gather(x), replica_groups={{0,1}}, dimensions={0}
! all-gather: the stated shape f32[8] should be f32[<=8]
dynamic_c1: x=f32[<=4,3] => f32[2,3] reduce-scatter(x), replica_groups={{0,1}}, dimensions={0}, to_apply=add
! reduce-scatter: the stated shape f32[2,3] should be f32[<=2,3]
dynamic_c1: x=f32[4]; y=f32[<=4] => (f32[4], f32[<=4]) all-to-all(x, y), replica_groups={{0,1}}
! all-to-all: the stated shape (f32[4], f32[<=4]) should be (f32[<=4], f32[<=4])
dynamic_c1: x=f32[<=4] => (f32[4], f32[<=4], u32[]) copy-start(x)
! copy-start: the stated shape (f32[4], f32[<=4], u32[]) should be (f32[<=4], f32[<=4], u32[])
dynamic_c1: x=f32[<=4] => (f32[<=4], f32[4]) collective-permute-start(x), source_target_pairs={{0,0}}
! collective-permute-start: the stated shape (f32[<=4], f32[4]) should be (f32[<=4], f32[<=4])
dynamic_c1: x=f32[3]; y=f32[<=3] => f32[3] map(x, y), dimensions={0}, to_apply=add
! (accepted)
dynamic_c1: a=f32[<=3,3]; b=f32[<=3,2] => f32[3,2] triangular-solve(a, b), left_side=true, lower=true, unit_diagonal=false, transpose_a=NO_TRANSPOSE
! triangular-solve: the stated shape f32[3,2] should be f32[<=3,2]
dynamic_c1: x=f32[5,<=3]; s=f32[3] => (f32[5,<=3], f32[3], f32[<=3]) batch-norm-training(x, s, s), epsilon=0, feature_index=1
! batch-norm-training: the stated shape (f32[5,<=3], f32[3], f32[<=3]) should be (f32[5,<=3], f32[<=3], f32[<=3])
dynamic_c1: x=f32[<=5]; y=s32[5] => (f32[<=5], s32[5]) sort(x, y), dimensions={0}, to_apply=lt2
! (accepted)
dynamic_c1: x=f32[<=5]; y=s32[5] => (f32[5], s32[5]) sort(x, y), dimensions={0}, to_apply=lt2
! sort: the stated shape (f32[5], s32[5]) should be (f32[<=5], s32[5])
dynamic_c1: s=u64[<=2] => (u64[2], u32[7]) rng-bit-generator(s), algorithm=rng_three_fry
! rng-bit-generator: the stated shape (u64[2], u32[7]) should be (u64[<=2], u32[7])
signature_c6: x=f32[<=4] => call(x), to_apply=four
! call: parameter 0 of computation four is f32[4], f32[<=4] needed
signature_c6: x=f32[<=4] => f32[4] fusion(x), kind=kLoop, calls=four
! fusion: parameter 0 of computation four is f32[4], f32[<=4] needed
signature_c6: x=f32[4] => while(x), condition=go_on, body=shrink
! while: parameter 0 of computation go_on is f32[4], f32[<=4] needed
dynamic_c1: x=f32[4]; p=pred[] => f32[4] conditional(p, x, x), true_computation=four, false_computation=shrink
! conditional: the stated shape f32[4] should be f32[<=4]
reshape_c3: x=f32[<=8] => f32[4,2] reshape(x)
! reshape: dimension 0 of f32[<=8] is dynamic, and nothing is in f32[4,2] that it becomes
reshape_c3: x=f32[3,<=4,5] => f32[<=3,20] reshape(x)
! reshape: dimension 1 of f32[3,<=4,5] is dynamic, and nothing is in f32[<=3,20] that it becomes
reshape_c3: x=f32[<=1,4] => f32[4] reshape(x)
! (accepted)
reshape_c3: x=f32[<=8,3] => f32[<=4,2,3] reshape(x)
! (accepted)
dimension_size_c1: x=pred[2147483648] => get-dimension-size(x), dimensions={0}
! get-dimension-size: dimension 0 of pred[2147483648] exceeds the limit of 2^31-1
dimension_size_c1: x=pred[2147483648]; n=s32[] => set-dimension-size(x, n), dimensions={0}
! set-dimension-size: dimension 0 of pred[2147483648] exceeds the limit of 2^31-1
dynamic_c1: x=f32[<=4]; n=s32[] => f32[4] set-dimension-size(x, n), dimensions={0}
! (accepted)
dynamic_c1: x=f32[<=4,<=3]; n=s32[] => f32[4,3] set-dimension-size(x, n), dimensions={0}
! set-dimension-size: the stated shape f32[4,3] should be f32[4,<=3]
scan_c7: x=f32[7,<=3]; z=f32[<=3] => (f32[7,<=3], f32[<=3]) scan(x, z), dimensions={0}, num_carries=1, to_apply=step
! scan: parameter 0 of computation step is f32[3], f32[<=3] needed
scan_c8: x=f32[7]; z=f32[] => (f32[7], f32[2]) scan(x, z), dimensions={0}, num_carries=1, to_apply=widen
! scan: carry 0 begins as f32[] and becomes f32[2]
start_c2: x=f32[3]; y=f32[3] => ((f32[3], f32[3]), f32[6]) all-gather-start(x, y), replica_groups={{0,1}}, dimensions={0}
! all-gather-start: f32[3] becomes f32[6]
dynamic_c1: x=f32[<=7,3]; z=f32[3] => (f32[7,3], f32[3]) scan(x, z), dimensions={0}, num_carries=1, to_apply=step
! scan: the stated shape (f32[7,3], f32[3]) should be (f32[<=7,3], f32[3])
)";
// clang-format on

TEST(DynamicConstraintsTest, RefuseStaticShapesForLiveSizes) { ExpectRefusals(kRows); }

std::string RefusalOf(const std::string& lines) {
  const auto module = ParseHlo("HloModule m\nENTRY e {\n" + lines + "\n}\n");
  if (!module.ok()) return module.status().message();
  const Status status = Verify(**module);
  return status.ok() ? "(accepted)" : status.message().substr(0, status.message().rfind(" (in "));
}

TEST(DynamicConstraintsTest, SizesThatAreConstantsMustFit) {
  auto set = [](const std::string& size, const std::string& result) {
    return RefusalOf("x = f32[<=4] parameter(0)\n n = s32[] constant(" + size + ")\n ROOT r = " + result +
                     " set-dimension-size(x, n), dimensions={0}");
  };
  EXPECT_EQ(set("4", "f32[4]"), "(accepted)");
  EXPECT_EQ(set("0", "f32[<=4]"), "(accepted)");
  // set_dimension_size_c2
  EXPECT_EQ(set("5", "f32[<=4]"), "set-dimension-size: size 5 is not in 0 to 4, the bound of dimension 0 of f32[<=4]");
  EXPECT_EQ(set("-1", "f32[<=4]"),
            "set-dimension-size: size -1 is not in 0 to 4, the bound of dimension 0 of f32[<=4]");
  // set_dimension_size_c3
  EXPECT_EQ(set("3", "f32[4]"), "set-dimension-size: size 3 for dimension 0 of f32[4], which is static");
  auto reshape = [](const std::string& size, const std::string& result) {
    return RefusalOf("x = f32[<=6] parameter(0)\n n = s32[] constant(" + size +
                     ")\n k = s32[] constant(2)\n ROOT r = " + result + " dynamic-reshape(x, n, k)");
  };
  EXPECT_EQ(reshape("3", "f32[<=3,2]"), "(accepted)");
  // dynamic_reshape_c4
  EXPECT_EQ(reshape("4", "f32[<=3,2]"), "dynamic-reshape: size 4 does not fit dimension 0 of f32[<=3,2]");
  EXPECT_EQ(reshape("2", "f32[3,2]"), "dynamic-reshape: size 2 does not fit dimension 0 of f32[3,2]");
  EXPECT_EQ(reshape("-1", "f32[<=3,2]"), "dynamic-reshape: size -1 does not fit dimension 0 of f32[<=3,2]");
}

// As XLA's builder: the constant that is the bound takes the dimension's flag away.
TEST(DynamicConstraintsTest, TheBoundMakesADimensionStaticAgain) {
  XlaBuilder b("b");
  const XlaOp x = Parameter(&b, 0, Shape(kF32, {4}));
  const XlaOp live = SetDimensionSize(x, ConstantR0<int32_t>(&b, 3), 0);
  EXPECT_EQ(ShapeOrError(live), "f32[<=4]");
  EXPECT_EQ(ShapeOrError(SetDimensionSize(live, ConstantR0<int32_t>(&b, 4), 0)), "f32[4]");
  EXPECT_EQ(ShapeOrError(SetDimensionSize(live, ConstantR0<int32_t>(&b, 2), 0)), "f32[<=4]");
}

}  // namespace constraints_dynamic_test
}  // namespace VXLA_NAMESPACE
