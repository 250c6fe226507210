// Shapes of row programs and matrix products: pure functions of facts; and the kernels' text for devices that are not
// here.
#include "backend/vulkan/device/plan/pretend.h"
#include "backend/vulkan/drivers/software/software_driver.h"
#include "backend/vulkan/lower/products/dot.h"
#include "backend/vulkan/lower/tuning/tuner.h"
#include "backend/vulkan/lower/tuning/tuning.h"
#include "core/passes/base/pipeline.h"
#include "tests/codegen/codegen_test_support.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

DeviceFacts LoopLimitFacts() {
  DeviceFacts facts = FullFacts();
  facts.quirks.loop_iteration_limit = 65535;
  facts.subgroup_size = 8;
  facts.subgroup_shuffle = true;
  facts.max_shared_bytes = 32768;
  return facts;
}

DeviceFacts GpuFacts() {
  DeviceFacts facts = LoopLimitFacts();
  PretendGpu(facts);
  facts.quirks = {};
  facts.subgroup_size = 32;
  facts.max_shared_bytes = 49152;
  return facts;
}

// NVIDIA, AMD, Intel, Apple, Arm, Qualcomm and one that nobody knows.
constexpr uint32_t kVendors[] = {0x10DE, 0x1002, 0x8086, 0x106B, 0x13B5, 0x5143, 0xABCD};

DeviceFacts GpuOf(uint32_t vendor, DeviceFacts::Kind kind = DeviceFacts::Kind::kDiscrete) {
  DeviceFacts facts = GpuFacts();
  facts.vendor_id = vendor;
  facts.kind = kind;
  return facts;
}

std::vector<DeviceFacts> AllFacts() {
  std::vector<DeviceFacts> all = {LoopLimitFacts()};
  for (uint32_t vendor : kVendors) {
    for (auto kind : {DeviceFacts::Kind::kDiscrete, DeviceFacts::Kind::kIntegrated}) all.push_back(GpuOf(vendor, kind));
  }
  return all;
}

constexpr int64_t kSizes[] = {1, 2, 7, 64, 1000, 4096, 65536, 100003, 1 << 24};

template <typename Function>
void ForEachWork(Function&& function) {
  for (int64_t rows : kSizes) {
    for (int64_t row_size : kSizes) {
      if (rows * row_size > (int64_t{1} << 31) - 1) continue;
      for (bool contiguous : {false, true}) {
        for (int passes : {1, 3}) function(RowWork{rows, row_size, contiguous, passes, 8, 8});
      }
    }
  }
}

TEST(TuneRowsTest, EveryStepBelongsToOneShare) {
  for (const DeviceFacts& facts : AllFacts()) {
    ForEachWork([&](const RowWork& work) {
      const RowShape shape = TuneRows(facts, work);
      const int64_t along = shape.along_rows ? work.rows : work.row_size;
      ASSERT_EQ(along % shape.width, 0);
      const int64_t steps = shape.along_rows ? work.row_size : work.row_size / shape.width;
      EXPECT_GE(shape.splits * shape.chunk, steps);
      EXPECT_LT((shape.splits - 1) * shape.chunk, steps) << "an empty share";
      EXPECT_LE(shape.lanes * shape.rows_per_group, facts.max_workgroup_invocations);
      EXPECT_TRUE(shape.lanes == 1 || shape.rows_per_group == 1);
    });
  }
}

TEST(TuneRowsTest, LoopsStayBelowTheDevicesLimit) {
  const DeviceFacts facts = LoopLimitFacts();
  ForEachWork([&](const RowWork& work) {
    const RowShape shape = TuneRows(facts, work);
    const int64_t turns = (shape.chunk + shape.lanes - 1) / shape.lanes;
    // Each block of 64 steps is one more iteration.
    EXPECT_LT(work.passes * (turns + turns / 64 + 2), facts.quirks.loop_iteration_limit)
        << work.rows << " rows of " << work.row_size;
  });
}

// Interleaved shares have no barrier, so lanes must be able to join by shuffles.
TEST(TuneRowsTest, SharesBySubgroupNeedShuffles) {
  RowWork work{1, 1 << 24, false, 1, 8, 8};
  const RowShape shape = TuneRows(LoopLimitFacts(), work);
  EXPECT_EQ(shape.interleaved * shape.lanes, 512u);
  EXPECT_EQ(shape.splits * shape.chunk * shape.width, work.row_size);
  work.shuffles = false;
  EXPECT_EQ(TuneRows(LoopLimitFacts(), work).interleaved, 1u);
}

TEST(TuneDotTest, LoopsStayBelowTheDevicesLimitAndSharesAreWhole) {
  for (int64_t k : {int64_t{1}, int64_t{509}, int64_t{65537}, int64_t{1000003}, int64_t{1} << 24}) {
    const DotWork work{1, 16, 16, k, 4, true};
    const DotShape shape = TuneDot(LoopLimitFacts(), work);
    ASSERT_EQ(k % shape.k_step, 0);
    const int64_t steps = k / shape.k_step, share = (steps + shape.splits - 1) / shape.splits;
    EXPECT_LT(share + share / 8, 65535) << k;
    EXPECT_TRUE(TuneDot(GpuFacts(), work).tiled);
  }
}

TEST(TuneDotTest, SharedMemoryFits) {
  DeviceFacts facts = GpuFacts();
  facts.max_shared_bytes = 16384;
  const DotShape shape = TuneDot(facts, {1, 1024, 1024, 1024, 16, false});
  EXPECT_LE(shape.k_step * (shape.lanes_y * shape.tile_rows + shape.lanes * shape.tile_columns + 2) * 16,
            facts.max_shared_bytes);
}

TEST(TuneGpuTest, VendorsHaveAnswersOfTheirOwn) {
  const DotWork large{1, 4096, 4096, 4096, 4, true};
  EXPECT_EQ(TuneDot(GpuOf(0x10DE), large).tile_rows, 8u);
  EXPECT_EQ(TuneDot(GpuOf(0x8086), large).tile_rows, 4u);
  EXPECT_EQ(TuneDot(GpuOf(0x13B5, DeviceFacts::Kind::kIntegrated), large).lanes, 8u);
  EXPECT_EQ(TuneLoop(GpuOf(0x10DE), BindingMode::kAddresses, 1 << 24).workgroup_size, 256u);
  // Phones': Arm's, Qualcomm's. Four neighbours are one access.
  EXPECT_EQ(TuneLoop(GpuOf(0x13B5), BindingMode::kAddresses, 1 << 24).workgroup_size, 64u);
  EXPECT_EQ(TuneLoop(GpuOf(0x5143), BindingMode::kAddresses, 1 << 24).workgroup_size, 128u);
  EXPECT_EQ(TuneLoop(GpuOf(0x5143), BindingMode::kAddresses, 1 << 24).width, 4u);
  // A sum of one long row is spread over as many workgroups as the device is wide.
  const RowWork row{1, 1 << 27, false, 1, 4, 4};
  EXPECT_GT(TuneRows(GpuOf(0x10DE), row).splits, TuneRows(GpuOf(0x10DE, DeviceFacts::Kind::kIntegrated), row).splits);
}

TEST(TuneLoopTest, SoftwareTakesNeighboursInTurnWhereRowsLieAllOverAnArray) {
  DeviceFacts facts = GpuFacts();
  const LoopTuning loop{256, 4, 8};
  EXPECT_FALSE(TunerOf(facts).NeighboursInTurn(loop, 1 << 24, 32).neighbours_in_turn);
  NoteSoftwareCosts(facts);
  const LoopTuning large = TunerOf(facts).NeighboursInTurn(loop, 1 << 24, 32);
  EXPECT_TRUE(large.neighbours_in_turn);
  EXPECT_EQ(large.items * 32, 4096u);
  EXPECT_EQ(large.workgroup_size, 64u);
  // Fewer elements are shorter runs, so that there are workgroups for many cores, or none.
  EXPECT_EQ(TunerOf(facts).NeighboursInTurn(loop, 1 << 20, 32).items * 32, 1024u);
  EXPECT_FALSE(TunerOf(facts).NeighboursInTurn(loop, 1 << 19, 32).neighbours_in_turn);
}

// Strips fit, and every invocation takes whole quads of them.
TEST(TuneGpuTest, LargeProductsGoByQuads) {
  for (uint32_t vendor : kVendors) {
    DeviceFacts facts = GpuOf(vendor);
    DotWork work{1, 4096, 4096, 4096, 4, true};
    EXPECT_FALSE(TuneDot(facts, work).quads) << vendor;
    work.quads = true;
    const DotShape shape = TuneDot(facts, work);
    EXPECT_TRUE(shape.quads) << vendor;
    EXPECT_EQ(shape.k_step * shape.tile_rows % (4 * shape.lanes), 0u) << vendor;
    EXPECT_EQ(shape.k_step * shape.tile_columns % (4 * shape.lanes_y), 0u) << vendor;
    facts.same_bits = true;
    EXPECT_FALSE(TuneDot(facts, work).quads) << vendor;
  }
}

// Where tiles of large workgroups were too few, results came one by one.
TEST(TuneGpuTest, ProductsOfSomeHundredsGoByQuads) {
  for (uint32_t vendor : kVendors) {
    for (const int64_t size : {64, 128, 512, 768}) {
      DotWork work{1, size, size, size, 4, true};
      work.quads = true;
      const DotShape shape = TuneDot(GpuOf(vendor), work);
      EXPECT_TRUE(shape.quads) << vendor;
      EXPECT_GE(shape.tile_rows, 4u) << vendor;
      EXPECT_EQ(shape.k_step * shape.tile_rows % (4 * shape.lanes), 0u) << vendor;
      EXPECT_EQ(shape.k_step * shape.tile_columns % (4 * shape.lanes_y), 0u) << vendor;
    }
  }
}

// Subgroups of 8 lanes (Intel's) keep as few sums in a lane as those of 32.
TEST(TuneGpuTest, SumsOfMatrixUnitsStayInRegisters) {
  DeviceFacts facts = GpuOf(0x8086);
  facts.max_shared_bytes = 65536;
  DotWork work{1, 4096, 4096, 4096, 4, true};
  work.matrix = MatrixShape{ElementType::kF16, ElementType::kF32, 8, 8, 16};
  for (const uint32_t lanes : {8u, 16u, 32u}) {
    facts.matrix_lanes = lanes;
    const DotShape shape = TuneDot(facts, work);
    ASSERT_TRUE(shape.matrix);
    EXPECT_EQ(shape.tile_rows * shape.tile_columns, 64 * lanes);
  }
}

// Whole products of the units, and whole loads of every invocation.
TEST(TuneGpuTest, ProductsGoByMatrixUnitsWhereTheyFit) {
  DeviceFacts facts = GpuOf(0x1002);
  facts.matrix_lanes = 32;
  DotWork work{1, 4096, 4096, 4096, 4, true};
  EXPECT_FALSE(TuneDot(facts, work).matrix);
  for (const MatrixShape& matrix : {MatrixShape{}, MatrixShape{ElementType::kS8, ElementType::kS32, 16, 8, 32}}) {
    for (const uint32_t shared : {32768u, 65536u}) {
      facts.max_shared_bytes = shared;
      work.matrix = matrix;
      for (const int64_t size : {16, 100, 1024, 4096}) {
        work.rows = work.columns = size;
        const DotShape shape = TuneDot(facts, work);
        ASSERT_EQ(shape.matrix, matrix) << size;
        EXPECT_EQ(shape.tile_rows % matrix.rows + shape.tile_columns % matrix.columns + shape.k_step % matrix.k, 0u);
        for (const uint32_t extent : {shape.lanes_y * shape.tile_rows, shape.lanes * shape.tile_columns})
          EXPECT_EQ(extent * shape.k_step % (16 * 32 * shape.lanes * shape.lanes_y), 0u) << size;
        EXPECT_EQ(shape.lanes_y * shape.tile_rows, size < 1024 ? 32u : size == 1024 ? 64u : 128u);
        // Two strips of 128 x 128 are 40 KiB.
        const uint32_t most_columns = shared == 32768 ? 64 : 128;
        EXPECT_LE(shape.lanes * shape.tile_columns, most_columns) << size;
      }
      work.rows = 15;
      EXPECT_FALSE(TuneDot(facts, work).matrix);
      facts.same_bits = true;
      work.rows = 4096;
      EXPECT_FALSE(TuneDot(facts, work).matrix);
      facts.same_bits = false;
    }
  }
}

TEST(TuneGpuTest, SmallProductsTakeSmallTilesAndSplitLongSums) {
  for (uint32_t vendor : kVendors) {
    const DeviceFacts facts = GpuOf(vendor);
    EXPECT_EQ(TuneDot(facts, {1, 64, 64, 64, 4, true}).tile_rows, 2u) << vendor;
    EXPECT_GT(TuneDot(facts, {1, 16, 16, 1 << 20, 4, true}).splits, 1) << vendor;
    for (int sum_bytes : {4, 8, 16}) {
      for (int64_t size : {1, 100, 1000, 10000}) {
        const DotShape shape = TuneDot(facts, {1, size, size, size, sum_bytes, true});
        EXPECT_LE(shape.lanes * shape.lanes_y, facts.max_workgroup_invocations);
        EXPECT_LE(int64_t{shape.k_step} * (shape.lanes_y * shape.tile_rows + shape.lanes * shape.tile_columns + 2) *
                      sum_bytes,
                  facts.max_shared_bytes);
      }
    }
  }
}

constexpr char kSum[] = "f { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n";

TEST(RowProgramTextTest, KernelsForGpusCompile) {
  const std::string text = std::string(kSum) +
                           "ENTRY e { x = f32[1000,1000] parameter(0)  z = f32[] constant(0)\n"
                           "ROOT r = f32[1000] reduce(x, z), dimensions={1}, to_apply=f }";
  DeviceFacts facts = GpuFacts();
  for (bool shuffle : {true, false}) {
    facts.subgroup_shuffle = shuffle;
    for (const Step& step : LowerRoot(text, facts)) EXPECT_NE(Compiled(step, facts).find("shared"), std::string::npos);
  }
  for (const Step& step :
       LowerRoot("ENTRY e { x = f64[100,64] parameter(0)  y = f64[64,80] parameter(1)\n"
                 "ROOT r = f64[100,80] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }",
                 facts)) {
    Compiled(step, facts, BindingMode::kDescriptors);
  }
}

// A sum whose lanes are more than one subgroup, and one whose lanes are a part of one.
TEST(RowProgramTextTest, LanesAreNumberedBySubgroupAndOnlyWhereSubgroupsAreFull) {
  for (const char* rows : {"3", "64"}) {
    const std::string text =
        std::string(kSum) + fmt::format(
                                "ENTRY e {{ x = f32[{0},4096] parameter(0)  z = f32[] constant(0)\n"
                                "ROOT r = f32[{0}] reduce(x, z), dimensions={{1}}, to_apply=f }}",
                                rows);
    for (DeviceFacts facts : {GpuFacts(), LoopLimitFacts()}) {
      const Step with = LowerRoot(text, facts).at(0);
      const uint32_t lanes = with.kernel.constants.at(4);
      EXPECT_GT(lanes, 1u);
      // One row of invocations, of whole subgroups.
      EXPECT_EQ(with.kernel.constants[0] % facts.subgroup_size, 0u);
      EXPECT_EQ(with.kernel.constants[1], 1u);
      EXPECT_EQ(Count(with.kernel.generated, "#define BY_SUBGROUP 1"), 1);
      EXPECT_EQ(Count(with.kernel.generated,
                      fmt::format("#define JOIN_LANES(p) JOIN_LANES_{}(p)", lanes <= facts.subgroup_size ? 1 : 2)),
                1);
      EXPECT_GT(Count(Compiled(with, facts), "gl_SubgroupInvocationID"), 0);
      facts.subgroup_shuffle = false;
      const Step without = LowerRoot(text, facts).at(0);
      EXPECT_EQ(Count(without.kernel.generated, "#define BY_SUBGROUP 0"), 1);
      EXPECT_EQ(Count(without.kernel.generated, "#define JOIN_LANES(p) JOIN_LANES_3(p)"), 1);
      EXPECT_EQ(Count(without.kernel.generated, "subgroupShuffle"), 0);
      // The same order: the shape does not depend on how lanes join.
      EXPECT_EQ(with.accumulations, without.accumulations);
    }
  }
}

// Joining pairs of values, of which neither is known to come first, is long text.
TEST(RowProgramTextTest, LanesOfALoopJoinSingleValuesWrittenOutAndPairsInALoop) {
  const auto module = Optimize(*Parse(R"(
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
most {
  a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  above = pred[] compare(a, b), direction=GT
  c = f32[] select(above, a, b)
  k = s32[] select(above, i, j)
  ROOT r = (f32[], s32[]) tuple(c, k)
}
condition {
  s = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  limit = s32[] constant(90)
  ROOT goes_on = pred[] compare(i, limit), direction=LT
}
body {
  s = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = f32[64] get-tuple-element(s), index=1
  places = s32[64] iota(), iota_dimension=0
  zero = f32[] constant(0)
  first = s32[] constant(0)
  m = (f32[], s32[]) reduce(x, places, zero, first), dimensions={0}, to_apply=most
  place = s32[] get-tuple-element(m), index=1
  shift = f32[] convert(place)
  total = f32[] reduce(x, zero), dimensions={0}, to_apply=sum
  scale = f32[] add(total, shift)
  scales = f32[64] broadcast(scale), dimensions={}
  y = f32[64] multiply(x, scales)
  ROOT r = (s32[], f32[64]) tuple(next, y)
}
ENTRY main {
  x = f32[64] parameter(0)
  i = s32[] constant(0)
  start = (s32[], f32[64]) tuple(i, x)
  ROOT loop = (s32[], f32[64]) while(start), condition=condition, body=body
}
)"),
                               {});
  ASSERT_TRUE(module.ok()) << module.status().message();
  const DeviceFacts facts = GpuFacts();
  PlainBuffers buffers;
  const auto lowered = MakeLowering(facts, BindingMode::kAddresses)->LowerLoop(*(*module)->entry()->root(), buffers);
  ASSERT_TRUE(lowered.ok()) << lowered.status().message();
  const std::string text = Compiled(lowered->steps.at(0), facts);
  EXPECT_EQ(Count(text, "[[unroll]] for (uint m = 1u;"), 1) << text;
  EXPECT_EQ(Count(text, "[[dont_unroll]] for (uint m = 1u;"), 1) << text;
}

TEST(TuneDotTest, LanesHandValuesRoundOnlyWhereSubgroupsAreFull) {
  DeviceFacts facts = LoopLimitFacts();
  const DotWork work{1, 64, 64, 64};
  const DotShape with = TuneDot(facts, work);
  facts.subgroup_shuffle = false;
  const DotShape without = TuneDot(facts, work);
  EXPECT_TRUE(with.share_lhs);
  EXPECT_FALSE(without.share_lhs);
  EXPECT_EQ(with.tile_rows, without.tile_rows);
}

TEST(RowProgramTextTest, NeighboursAreLoadedAsGroups) {
  const std::string text = std::string(kSum) +
                           "ENTRY e { x = f32[64,4096] parameter(0)  z = f32[] constant(0)\n"
                           "ROOT r = f32[64] reduce(x, z), dimensions={1}, to_apply=f }";
  const std::vector<Step> steps = LowerRoot(text, LoopLimitFacts(), BindingMode::kDescriptors);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(Count(steps[0].kernel.generated, "LOAD(0, u64x4"), 1);
  EXPECT_EQ(Count(steps[0].kernel.generated, "LOAD(0, f32,"), 0);
}

TEST(RowProgramTextTest, OrderOfASumIsAFunctionOfTheShape) {
  const std::string text = std::string(kSum) +
                           "ENTRY e { x = f32[4000000] parameter(0)  z = f32[] constant(0)\n"
                           "ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=f }";
  const auto first = LowerRoot(text, LoopLimitFacts()), second = LowerRoot(text, LoopLimitFacts());
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].kernel, second[0].kernel);
  EXPECT_EQ(first[1].kernel, second[1].kernel);
}

// Results that hold a sum have a device's own bits, so functions that reach none but them may have them, too.
TEST(RowProgramTextTest, FunctionsThatReachSumsAloneAreOfFusedTerms) {
  constexpr char kHead[] = R"(
most { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] maximum(a, b) }
f { x = f32[64,256] parameter(0)  z = f32[] constant(0)  n = f32[] constant(-inf)
    m = f32[64] reduce(x, n), dimensions={1}, to_apply=most  mm = f32[64,256] broadcast(m), dimensions={0}
    d = f32[64,256] subtract(x, mm)  e = f32[64,256] exponential(d)
)";
  constexpr char kSoftmax[] =
      "s = f32[64] reduce(e, z), dimensions={1}, to_apply=sum  ss = f32[64,256] broadcast(s), dimensions={0}\n"
      "q = f32[64,256] divide(e, ss)\n";
  const auto counts = [&](const std::string& body, const std::string& shape, const DeviceFacts& facts) {
    const std::string text =
        "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n" + std::string(kHead) +
        body + "}\nENTRY e { x = f32[64,256] parameter(0)\nROOT r = " + shape + " fusion(x), kind=kInput, calls=f }";
    const std::vector<Step> steps = LowerRoot(text, facts);
    EXPECT_EQ(steps.size(), 1u) << text;
    if (steps.size() != 1) return std::pair(0, 0);
    Compiled(steps[0], facts);
    const std::string& kernel = steps[0].kernel.generated;
    return std::pair(Count(kernel, "exponential_by_fma_f32("),
                     Count(kernel, "exponential_f32(") + Count(kernel, "exponential_middle_f32("));
  };
  DeviceFacts facts = GpuFacts();
  facts.fused_multiply_add = true;
  const auto only = [](std::pair<int, int> count) { return count.first > 0 && count.second == 0; };
  const auto none = [](std::pair<int, int> count) { return count.first == 0 && count.second > 0; };
  const std::string softmax = kSoftmax;
  EXPECT_TRUE(only(counts(softmax + "ROOT t = f32[64,256] negate(q)", "f32[64,256]", facts)));
  EXPECT_TRUE(only(counts("ROOT s = f32[64] reduce(e, z), dimensions={1}, to_apply=sum", "f32[64]", facts)));
  // The exponential is a result too, or is it by way of what every device computes alike.
  EXPECT_TRUE(
      none(counts(softmax + "ROOT t = (f32[64,256], f32[64,256]) tuple(q, e)", "(f32[64,256], f32[64,256])", facts)));
  EXPECT_TRUE(none(counts(softmax + "h = f32[64,256] multiply(e, e)  ROOT t = (f32[64,256], f32[64,256]) tuple(q, h)",
                          "(f32[64,256], f32[64,256])", facts)));
  EXPECT_TRUE(none(counts("ROOT s = f32[64] reduce(e, n), dimensions={1}, to_apply=most", "f32[64]", facts)));
  // One of two, which holds the other's sum.
  const auto both = counts(softmax + "i = f32[64,256] exponential(q)  ROOT t = (f32[64,256], f32[64,256]) tuple(i, e)",
                           "(f32[64,256], f32[64,256])", facts);
  EXPECT_GT(both.first, 0);
  EXPECT_GT(both.second, 0);
  DeviceFacts same = facts;
  same.same_bits = true;
  EXPECT_TRUE(none(counts(softmax + "ROOT t = f32[64,256] negate(q)", "f32[64,256]", same)));
  // Of a product, and of its operands, which other kernels may read as well.
  const auto of_product = [&](const std::string& body) {
    const std::vector<Step> steps =
        LowerRoot("f { x = f32[64,64] parameter(0)  w = f32[64,64] parameter(1)\n" + body +
                      "}\nENTRY e { x = f32[64,64] parameter(0)  w = f32[64,64] parameter(1)\n"
                      "ROOT r = f32[64,64] fusion(x, w), kind=kOutput, calls=f }",
                  facts);
    EXPECT_EQ(steps.size(), 1u);
    if (steps.size() != 1) return std::string();
    Compiled(steps[0], facts);
    return steps[0].kernel.generated;
  };
  const std::string dims = ", lhs_contracting_dims={1}, rhs_contracting_dims={0}\n";
  const std::string behind =
      of_product("d = f32[64,64] dot(x, w)" + dims +
                 "t = f32[64,64] tanh(d)  l = f32[64,64] logistic(d)  ROOT p = f32[64,64] multiply(t, l)");
  EXPECT_GT(Count(behind, " tanh_by_fma_f32("), 0);
  EXPECT_GT(Count(behind, " logistic_by_fma_f32("), 0);
  EXPECT_EQ(Count(behind, " tanh_f32(") + Count(behind, " logistic_f32("), 0);
  facts.fused_multiply_add = false;
  EXPECT_TRUE(none(counts(softmax + "ROOT t = f32[64,256] negate(q)", "f32[64,256]", facts)));
}

TEST(ReduceWindowTextTest, SaysWhatIsTooLarge) {
  const std::string text =
      std::string(kSum) +
      "ENTRY e { x = f32[10] parameter(0)  z = f32[] constant(0)\n"
      "ROOT r = f32[3000000001] reduce-window(x, z), window={size=10 pad=1500000000_1500000000}, to_apply=f }";
  const std::string reason = RefusalOf(text, FullFacts());
  EXPECT_NE(reason.find("2147483647"), std::string::npos) << reason;
}

// A depthwise 3 x 3 of tiles of 8 features x 4 rows reads 6 places and 9 weights once, and then 6 places for 4 results.
TEST(RowProgramTest, TilesOfWindowsMoveAndReadEachPlaceOnce) {
  const auto text = [](const DeviceFacts& facts, const std::string& window) {
    const auto steps = LowerRoot(
        "ENTRY e { x = f32[64,64,64,32] parameter(0)  w = f32[3,3,1,32] parameter(1)\n"
        "ROOT r = f32[64,64,64,32] convolution(x, w), window={size=3x3 " +
            window + "}, dim_labels=b01f_01io->b01f, feature_group_count=32 }",
        facts, BindingMode::kDescriptors);
    return steps.size() == 1 ? steps[0].kernel.generated : std::string();
  };
  const std::string moving = text(FullFacts(), "pad=1_1x1_1");
  const size_t loop = moving.find("for (uint move = 0u;");
  ASSERT_NE(loop, std::string::npos);
  EXPECT_EQ(Count(moving.substr(0, loop), "LOAD("), 9 + 12);
  EXPECT_EQ(Count(moving.substr(loop), "LOAD("), 6);
  EXPECT_EQ(moving.find("LOAD(", moving.find("combine(", loop)), std::string::npos) << "loads come first";
  EXPECT_EQ(Count(moving, "STORE(2, u64x4"), 4);
  EXPECT_EQ(Count(moving, "STORE(2, f32x4"), 0);
  // A step that is no multiple of the dilation shows other places.
  EXPECT_EQ(text(FullFacts(), "pad=2_2x2_2 rhs_dilate=2x2").find("uint move"), std::string::npos);
  DeviceFacts gpu = FullFacts();
  PretendGpu(gpu);
  EXPECT_NE(text(gpu, "pad=1_1x1_1").find("uint move"), std::string::npos);
  gpu.busy_workgroups = 1 << 20;
  EXPECT_EQ(text(gpu, "pad=1_1x1_1").find("uint move"), std::string::npos) << "too few invocations";
}

}  // namespace
}  // namespace VXLA_NAMESPACE::vulkan
