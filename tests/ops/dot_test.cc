// Matrix products on the device against the CPU reference.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "backend/cpu/reference/op_bound.h"
#include "backend/vulkan/device/plan/device_plan.h"
#include "backend/vulkan/lower/products/product.h"
#include "core/numerics/dot_algorithm.h"
#include "core/passes/expand/expanders.h"
#include "tests/support/gpu_client.h"
#include "tests/support/lowered_run.h"

namespace VXLA_NAMESPACE::testing {
namespace dot_test {

constexpr char kPlain[] = "lhs_contracting_dims={1}, rhs_contracting_dims={0}";

// In a shape of the test's choice. K at least 1.
Result<std::vector<Step>> LowerDotAs(const vulkan::LowerContext& context, const FusionDescription& body,
                                     BufferMap& buffers, const vulkan::DotShape& shape) {
  return vulkan::LowerProductAs(context, *vulkan::ReadDot(body), buffers, shape);
}

std::string Dot(const std::string& lhs, const std::string& rhs, const std::string& result,
                const std::string& attributes) {
  return fmt::format("ENTRY e {{ x = {} parameter(0)  y = {} parameter(1)  ROOT r = {} dot(x, y), {} }}", lhs, rhs,
                     result, attributes);
}

void ExpectBoth(const std::string& text, int dispatches = -1) {
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  RunOptions options;
  options.dispatches = dispatches;
  RunBoth(text, RandomArguments(*module), options);
}

TEST(DotTest, EveryOrderOfDimensions) {
  ExpectBoth(Dot("f32[67,129]", "f32[129,37]", "f32[67,37]", kPlain), 1);
  ExpectBoth(Dot("f32[40,64]", "f32[48,64]", "f32[40,48]", "lhs_contracting_dims={1}, rhs_contracting_dims={1}"), 1);
  ExpectBoth(Dot("f32[64,40]", "f32[64,48]", "f32[40,48]", "lhs_contracting_dims={0}, rhs_contracting_dims={0}"), 1);
  ExpectBoth(Dot("f32[64,40]", "f32[48,64]", "f32[40,48]", "lhs_contracting_dims={0}, rhs_contracting_dims={1}"), 1);
  ExpectBoth(Dot("f32[6,7,8]", "f32[7,8,10]", "f32[6,10]", "lhs_contracting_dims={1,2}, rhs_contracting_dims={0,1}"),
             1);
  ExpectBoth(Dot("f32[6,7,8]", "f32[8,10,7]", "f32[6,10]", "lhs_contracting_dims={1,2}, rhs_contracting_dims={2,0}"),
             1);
  ExpectBoth(Dot("f32[2,16,3,64]", "f32[2,24,3,64]", "f32[2,3,16,24]",
                 "lhs_batch_dims={0,2}, rhs_batch_dims={0,2}, lhs_contracting_dims={3}, rhs_contracting_dims={3}"),
             1);
}

TEST(DotTest, VectorsOuterProductsAndNothing) {
  ExpectBoth(Dot("f32[501,700]", "f32[700]", "f32[501]", kPlain));
  ExpectBoth(Dot("f32[700]", "f32[700,512]", "f32[512]", "lhs_contracting_dims={0}, rhs_contracting_dims={0}"));
  ExpectBoth(Dot("f32[4099]", "f32[4099]", "f32[]", "lhs_contracting_dims={0}, rhs_contracting_dims={0}"));
  ExpectBoth(Dot("f32[30]", "f32[50]", "f32[30,50]", "lhs_contracting_dims={}, rhs_contracting_dims={}"));
  ExpectBoth(Dot("f32[6,0]", "f32[0,7]", "f32[6,7]", kPlain));
  ExpectBoth(Dot("f32[0,5]", "f32[5,7]", "f32[0,7]", kPlain), 0);
  ExpectBoth(Dot("f32[3,5,64]", "f32[3,64]", "f32[3,5]",
                 "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}"));
}

// No workgroup for each of them, which had one result or two for each lane.
TEST(DotTest, ManySmallProducts) {
  const std::string first =
      "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}";
  for (const auto& [batches, rows, k, columns] : std::vector<std::array<int, 4>>{
           {8, 3, 3, 3}, {1031, 3, 3, 3}, {1000, 4, 4, 4}, {77, 4, 1, 4}, {77, 8, 3, 1}, {77, 1, 8, 2}}) {
    const std::string text =
        Dot(fmt::format("f32[{},{},{}]", batches, rows, k), fmt::format("f32[{},{},{}]", batches, k, columns),
            fmt::format("f32[{},{},{}]", batches, rows, columns), first);
    ExpectBoth(text, 1);
    auto executable = DeviceClient(BindingMode::kAddresses)->Compile(*ParseModule(text));
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    EXPECT_EQ((*executable)->plan().kernels.at(0).algorithm, "elementwise/fused_loop.comp") << text;
  }
  ExpectBoth(Dot("f32[3,40,4]", "f32[4,2,40]", "f32[40,3,2]",
                 "lhs_batch_dims={1}, rhs_batch_dims={2}, lhs_contracting_dims={2}, rhs_contracting_dims={0}"),
             1);
  for (const char* type : {"f64", "bf16", "c64", "s8", "pred"}) {
    ExpectBoth(
        Dot(fmt::format("{}[50,3,4]", type), fmt::format("{}[50,4,4]", type), fmt::format("{}[50,3,4]", type), first),
        1);
  }
  ExpectBoth(Dot("s8[50,3,4]", "s8[50,4,4]", "s32[50,3,4]", first), 1);
  ExpectBoth(R"(ENTRY e { x = f32[70,3,3] parameter(0)  y = f32[70,3] parameter(1)  b = f32[70,3] parameter(2)
  z = f32[70,3] sine(y)  d = f32[70,3] dot(x, z), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1},
  rhs_contracting_dims={1}  s = f32[70,3] add(d, b)  t = f32[210] reshape(d)
  ROOT r = (f32[70,3], f32[210]) tuple(s, t) })");
}

// One product, or several of what the operands are split into.
TEST(DotTest, EveryAlgorithm) {
  for (const DotAlgorithm& algorithm : DotAlgorithms()) {
    SCOPED_TRACE(algorithm.name);
    const std::string attributes = fmt::format("{}, algorithm={}", kPlain, algorithm.name);
    const auto product = [&](const char* type, const char* result) {
      ExpectBoth(Dot(fmt::format("{}[23,40]", type), fmt::format("{}[40,24]", type), fmt::format("{}[23,24]", result),
                     attributes));
    };
    if (algorithm.takes_f8()) {
      product("f8e5m2", "f32");
      product("f8e4m3fn", "bf16");
      continue;
    }
    product("f32", "f32");
    product("bf16", "bf16");
    product("s32", "s32");
    ExpectBoth(Dot("f64[3,0]", "f64[0,2]", "f32[3,2]", attributes));
    if (algorithm.parts() == 3) continue;
    product("f64", "f32");
    product("u8", "s16");
  }
}

// Infinities stay where they are, the largest numbers finite. (Drivers may flush denormals: docs/reference/devices.md.)
TEST(DotTest, AlgorithmsKeepSpecialValues) {
  const float inf = std::numeric_limits<float>::infinity(), largest = std::numeric_limits<float>::max();
  const std::vector<float> values{inf, -inf, std::nanf(""), largest, -largest, 1e-30f, 0.0f, -0.0f, 1.5f, 3e-5f};
  const Literal row = Literal::FromVector<float>(Shape(ElementType::kF32, {10}), values);
  const Literal column = Literal::FromVector<float>(Shape(ElementType::kF32, {4}), std::vector<float>{1, -0.5, 0, inf});
  for (const DotAlgorithm& algorithm : DotAlgorithms()) {
    if (algorithm.takes_f8() || algorithm.operand == ElementType::kF16) continue;
    SCOPED_TRACE(algorithm.name);
    RunBoth(Dot("f32[10]", "f32[4]", "f32[10,4]",
                fmt::format("lhs_contracting_dims={{}}, rhs_contracting_dims={{}}, algorithm={}", algorithm.name)),
            {row, column});
  }
}

// What a target makes of a product by an algorithm.
std::unique_ptr<Module> ExpandedFor(const TargetInfo& target, std::string_view algorithm,
                                    const char* operands = "f32") {
  std::unique_ptr<Module> module =
      ParseModule(Dot(fmt::format("{}[32,40]", operands), fmt::format("{}[40,16]", operands), "f32[32,16]",
                      fmt::format("{}, algorithm={}", kPlain, algorithm)));
  EXPECT_TRUE(ExpandDots(*module, target));
  return module;
}

int64_t DotsOf(const Module& module) {
  return std::ranges::count_if(module.entry()->instructions(),
                               [](const auto& i) { return i->opcode() == Opcode::kDot; });
}

TargetInfo TargetOfUnits(double rate) {
  TargetInfo target;
  target.free_dot_algorithms = true;
  target.matrix_terms = {ElementType::kBF16};
  target.matrix_rate = rate;
  target.matrix_parts_least_work = 0;
  return target;
}

// By how many products: as it says, on vector units, and on matrix units 5, 8 and 16 times as fast.
TEST(DotTest, AlgorithmsTakePartsWhereMatrixUnitsPayForThem) {
  struct Case {
    std::string_view algorithm;
    int64_t said, vector, five, eight, sixteen;
  };
  for (const Case& c : {Case{"dot_bf16_bf16_f32_x3", 3, 1, 3, 3, 3}, Case{"dot_bf16_bf16_f32_x6", 6, 1, 1, 6, 6},
                        Case{"dot_bf16_bf16_f32_x9", 9, 1, 1, 1, 9}, Case{"dot_tf32_tf32_f32", 1, 1, 4, 4, 4},
                        Case{"dot_tf32_tf32_f32_x3", 3, 1, 1, 6, 6}, Case{"dot_bf16_bf16_f32", 1, 1, 1, 1, 1}}) {
    SCOPED_TRACE(c.algorithm);
    EXPECT_EQ(DotsOf(*ExpandedFor({}, c.algorithm)), c.said);
    EXPECT_EQ(DotsOf(*ExpandedFor(TargetOfUnits(2), c.algorithm)), c.vector);
    EXPECT_EQ(DotsOf(*ExpandedFor(TargetOfUnits(5), c.algorithm)), c.five);
    EXPECT_EQ(DotsOf(*ExpandedFor(TargetOfUnits(8), c.algorithm)), c.eight);
    EXPECT_EQ(DotsOf(*ExpandedFor(TargetOfUnits(16), c.algorithm)), c.sixteen);
    // Operands that are what parts would be need no others.
    EXPECT_EQ(DotsOf(*ExpandedFor(TargetOfUnits(16), c.algorithm, "bf16")), 1);
    TargetInfo small = TargetOfUnits(16);
    small.matrix_parts_least_work = 32 * 40 * 16 + 1;
    EXPECT_EQ(DotsOf(*ExpandedFor(small, c.algorithm)), 1);
  }
}

// Infinities, NaN, what bf16 and tf32 round away and the largest numbers among f32 operands, each in a row of its own.
std::vector<Literal> ArgumentsWithSpecialRows(const Module& module) {
  std::vector<Literal> arguments = RandomArguments(module);
  int64_t row = 0;
  for (const double value : {HUGE_VAL, -HUGE_VAL, std::nan(""), double{std::numeric_limits<float>::max()}, 1e-30,
                             1 + 0x1p-9, 1 + 0x1p-11, 0.0, -3.40e38})
    arguments[0].SetDouble(40 * row++ + 5, value);
  for (int64_t column = 0; column < 16; ++column)  // not 0, nor so large that a sum may overflow
    arguments[1].SetDouble(16 * 5 + column, (column % 2 == 0 ? 0.75 : -0.3) * (1 + static_cast<double>(column) / 64));
  return arguments;
}

// On the kernels of vector and of matrix units, with what the reference's parts may differ by and no more.
TEST(DotTest, AlgorithmsOfGpusKeepToTheirBounds) {
  for (const bool matrices : {false, true}) {
    const auto client = GpuClient(BindingMode::kAddresses, matrices ? MatrixUnits::kStoodInFor : MatrixUnits::kNone);
    ASSERT_NE(client, nullptr);
    for (const DotAlgorithm& algorithm : DotAlgorithms()) {
      if (algorithm.takes_f8() || algorithm.sum == ElementType::kF64) continue;
      SCOPED_TRACE(fmt::format("{}, {}", algorithm.name, matrices ? "matrix units" : "vector units"));
      const auto module = ParseModule(
          Dot("f32[32,40]", "f32[40,16]", "f32[32,16]", fmt::format("{}, algorithm={}", kPlain, algorithm.name)));
      const auto expanded = ExpandedFor(TargetOfUnits(matrices ? 16 : 0), algorithm.name);
      const std::vector<Literal> arguments = ArgumentsWithSpecialRows(*module);
      std::vector<const Literal*> pointers;
      for (const Literal& argument : arguments) pointers.push_back(&argument);
      const auto expected = RunOnCpu(*module, arguments);
      ASSERT_TRUE(expected);
      const auto bound = BoundOfProgram(*module, pointers, *expected);
      ASSERT_TRUE(bound);
      RunOptions judged;
      judged.leaf_tolerances = bound->leaves;
      ExpectOnGpu(*client, *expanded, arguments, judged, 100, *expected);
      const auto executable = client->Compile(*expanded);
      const int64_t by_units = std::ranges::count_if((*executable)->plan().kernels, [](const KernelKey& kernel) {
        return kernel.algorithm == "dot/matmul_matrices.comp";
      });
      EXPECT_EQ(by_units > 0, matrices && algorithm.precision != "f32");
    }
  }
}

// Stood-in units of no known GPU do, those of GeForce do not. A GPU is of its own family and has its own units in the
// second turn, whose rate decides.
TEST(DotTest, ProductsOfTf32RunOnMatrixUnitsWhereTheyPay) {
  const auto module = ParseModule(
      Dot("f32[1024,512]", "f32[512,1024]", "f32[1024,1024]", fmt::format("{}, algorithm=dot_tf32_tf32_f32", kPlain)));
  for (const GpuFamily family : {GpuFamily::kAny, GpuFamily::kNvidia}) {
    vulkan::OpenOptions options = TestOptions(BindingMode::kAddresses);
    options.emulate.gpu = true;
    options.emulate.matrices = RunsOnSoftware() || family == GpuFamily::kAny;
    options.emulate.family = family;
    auto device = OpenTestDevice(options);
    ASSERT_TRUE(device.ok()) << device.status().message();
    const DeviceFacts& facts = (*device)->facts();
    const bool brains = std::ranges::any_of(facts.matrices, [](const MatrixShape& shape) {
      return shape.term == ElementType::kBF16 && shape.sum == ElementType::kF32;
    });
    constexpr double kRateForFourProducts = 4.8;
    const bool pays = brains && facts.matrix_rate >= kRateForFourProducts;
    if (options.emulate.matrices) {
      EXPECT_EQ(pays, family == GpuFamily::kAny);
    }
    const auto executable = MakeTestClient(*device)->Compile(*module);
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    const bool by_units = std::ranges::any_of((*executable)->plan().kernels, [](const KernelKey& kernel) {
      return kernel.algorithm == "dot/matmul_matrices.comp";
    });
    EXPECT_EQ(by_units, pays);
    // The parts are written as bf16, so that three of the dots are one kernel of such operands.
    if (by_units) {
      EXPECT_EQ((*executable)->plan().kernels.size(), 4u);
    }
  }
}

TEST(DotTest, EveryElementType) {
  for (const char* type :
       {"s8", "u8", "s16", "s32", "u32", "s64", "u64", "bf16", "f16", "f64", "c64", "c128", "pred"}) {
    SCOPED_TRACE(type);
    ExpectBoth(
        Dot(fmt::format("{}[13,24]", type), fmt::format("{}[24,20]", type), fmt::format("{}[13,20]", type), kPlain));
  }
}

TEST(DotTest, PreferredElementTypes) {
  ExpectBoth(Dot("s8[33,64]", "s8[64,20]", "s32[33,20]", kPlain));
  ExpectBoth(Dot("bf16[33,64]", "bf16[64,20]", "f32[33,20]", kPlain));
  ExpectBoth(Dot("f32[33,64]", "f32[64,20]", "f64[33,20]", kPlain));
}

TEST(DotTest, LongContractionsAreSharedAndAccurate) {
  // Lavapipe's subgroups of 8 make so few tiles of it that the sums are shared out.
  const bool shared = DeviceClient(BindingMode::kDescriptors)->device().facts().subgroup_size == 8;
  ExpectBoth(Dot("f32[16,30000]", "f32[30000,24]", "f32[16,24]", kPlain), shared ? 2 : -1);
  ExpectBoth(Dot("f32[64,4096]", "f32[4096,16]", "f32[64,16]", kPlain));
}

// The taller tiles of software drivers, beyond 2^26 and from 2^27 products on: k that a step divides or not, lhs along
// either dimension, every column of a tile of 64 or not, and an epilogue; narrow and integer terms.
TEST(DotTest, LargeProductsTakeTallerTiles) {
  const auto agrees = [](const std::string& program) { ExpectBoth(program, -1); };  // (GPUs share long sums out)
  const std::string along_m = "lhs_contracting_dims={0}, rhs_contracting_dims={0}";
  agrees(Dot("f32[48,2201]", "f32[2201,640]", "f32[48,640]", kPlain));
  agrees(Dot("f32[2200,48]", "f32[2200,648]", "f32[48,648]", along_m));
  agrees(Dot("f32[64,2101]", "f32[2101,1000]", "f32[64,1000]", kPlain));
  agrees(Dot("f32[96,1400]", "f32[1024,1400]", "f32[96,1024]", "lhs_contracting_dims={1}, rhs_contracting_dims={1}"));
  agrees(Dot("s8[64,2104]", "s8[2104,1000]", "s32[64,1000]", kPlain));
  agrees(Dot("bf16[32,4200]", "bf16[4200,1000]", "f32[32,1000]", kPlain));
  agrees(R"(ENTRY e { x = f32[128,1100] parameter(0)  y = f32[1100,1000] parameter(1)  b = f32[1000] parameter(2)
  d = f32[128,1000] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  bb = f32[128,1000] broadcast(b), dimensions={1}  ROOT s = f32[128,1000] add(d, bb) })");
}

TEST(DotTest, InfinityTimesZeroIsNan) {
  Literal x(Shape(ElementType::kF32, {8, 4})), y(Shape(ElementType::kF32, {4, 8}));
  for (float& value : x.mutable_data<float>()) value = 1;
  x.mutable_data<float>()[5] = INFINITY;
  const auto result = RunBoth(Dot("f32[8,4]", "f32[4,8]", "f32[8,8]", kPlain), {x, y});
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(std::isnan(result->GetDouble(8)));
  EXPECT_EQ(result->GetDouble(0), 0);
}

TEST(DotTest, ProducersAndEpilogueAreOneDispatch) {
  ExpectBoth(R"(ENTRY e { x = f32[32,196] parameter(0)  y = f32[196,10] parameter(1)  b = f32[10] parameter(2)
  n = f32[32,196] negate(x)  d = f32[32,10] dot(n, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  bb = f32[32,10] broadcast(b), dimensions={1}  s = f32[32,10] add(d, bb)  ROOT r = f32[32,10] multiply(s, s) })",
             1);
}

// The kernel for GPUs on whatever device there is.
TEST(DotTest, TiledKernelAgrees) {
  for (BindingMode mode : {BindingMode::kAddresses, BindingMode::kDescriptors}) {
    ASSERT_NE(DeviceClient(mode), nullptr);
    DeviceFacts facts = AsGpu(mode);
    ExpectLoweredAgrees(Dot("f32[67,129]", "f32[129,37]", "f32[67,37]", kPlain), mode, facts);
    ExpectLoweredAgrees(
        Dot("f32[130,70]", "f32[300,130]", "f32[70,300]", "lhs_contracting_dims={0}, rhs_contracting_dims={1}"), mode,
        facts);
    ExpectLoweredAgrees(
        Dot("c128[3,17,19]", "c128[3,19,18]", "c128[3,17,18]",
            "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}"),
        mode, facts);
    const int steps = ExpectLoweredAgrees(Dot("f32[20,3000]", "f32[3000,24]", "f32[20,24]", kPlain), mode, facts);
    EXPECT_EQ(steps, 2);
  }
}

// Every way of the quad kernel of GPUs: which way operands lie, tiles at the edges, k that strips do not divide, sums
// in blocks, shares, narrow and integer types, with and without fused multiply-adds.
TEST(DotTest, QuadShapesAgree) {
  for (BindingMode mode : {BindingMode::kAddresses, BindingMode::kDescriptors}) {
    ASSERT_NE(DeviceClient(mode), nullptr);
    DeviceFacts facts = AsGpu(mode);
    const vulkan::LowerContext context{facts, mode};
    struct Case {
      const char *type, *result;
      int lhs, rhs;  // the contracted dimension
      int rows, k, columns;
      uint32_t tile;
      int64_t splits;
    };
    for (const Case& c : std::vector<Case>{{"f32", "f32", 1, 0, 67, 36, 40, 4, 1},
                                           {"f32", "f32", 1, 1, 33, 32, 41, 8, 1},
                                           {"f32", "f32", 0, 1, 36, 44, 70, 4, 3},
                                           {"f32", "f32", 0, 0, 128, 16, 128, 8, 1},
                                           {"f32", "f32", 1, 0, 20, 300, 24, 4, 1},
                                           {"f16", "f32", 0, 1, 20, 520, 24, 4, 2},
                                           {"s32", "s32", 1, 0, 5, 20, 8, 4, 1},
                                           {"s8", "s32", 0, 1, 12, 48, 9, 4, 2},
                                           {"u8", "s32", 0, 0, 8, 20, 12, 4, 1},
                                           {"f16", "f16", 1, 0, 17, 52, 36, 4, 1},
                                           {"bf16", "f32", 0, 0, 8, 8, 4, 8, 1}}) {
      vulkan::DotShape shape;
      shape.tiled = shape.quads = true;
      shape.lanes = shape.lanes_y = 8;
      shape.tile_rows = shape.tile_columns = c.tile;
      shape.k_step = c.tile == 8 ? 4 : 8;
      shape.splits = c.splits;
      shape.terms_ahead = shape.compact_lanes = mode == BindingMode::kAddresses;
      const std::string lhs =
          c.lhs == 1 ? fmt::format("{}[{},{}]", c.type, c.rows, c.k) : fmt::format("{}[{},{}]", c.type, c.k, c.rows);
      const std::string rhs = c.rhs == 1 ? fmt::format("{}[{},{}]", c.type, c.columns, c.k)
                                         : fmt::format("{}[{},{}]", c.type, c.k, c.columns);
      const std::string text =
          Dot(lhs, rhs, fmt::format("{}[{},{}]", c.result, c.rows, c.columns),
              fmt::format("lhs_contracting_dims={{{}}}, rhs_contracting_dims={{{}}}", c.lhs, c.rhs));
      for (const bool fused : {true, false}) {
        if (fused && facts.quirks.unfused_multiply_add) continue;
        facts.fused_multiply_add = fused;
        ExpectLoweredByAgrees(text, mode, [&](const Instruction& root, BufferMap& memory) {
          const auto body = DescribeFusion(root);
          return LowerDotAs(context, *body, memory, shape);
        });
        if (c.splits != 3) break;  // once is enough: a kernel takes lavapipe half a second
      }
    }
  }
}

// A long epilogue (gelu) was written out for each of 64 results: 152 KB of code on AMD's GPUs.
TEST(DotTest, LongEpiloguesAreWrittenOnce) {
  const std::string text = R"(
gelu { x = f32[70,36] parameter(0)  y = f32[36,44] parameter(1)  b = f32[44] parameter(2)
  d = f32[70,44] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  bb = f32[70,44] broadcast(b), dimensions={1}  s = f32[70,44] add(d, bb)  e = f32[70,44] erf(s)  t = f32[70,44] tanh(e)
  ROOT r = f32[70,44] multiply(s, t) }
ENTRY e { x = f32[70,36] parameter(0)  y = f32[36,44] parameter(1)  b = f32[44] parameter(2)
  ROOT r = f32[70,44] fusion(x, y, b), kind=kOutput, calls=gelu })";
  for (BindingMode mode : {BindingMode::kAddresses, BindingMode::kDescriptors}) {
    ASSERT_NE(DeviceClient(mode), nullptr);
    const DeviceFacts facts = AsGpu(mode);
    const vulkan::LowerContext context{facts, mode};
    for (const auto& [tile, quads] : {std::pair{4u, true}, {8u, true}, {4u, false}}) {
      vulkan::DotShape shape;
      shape.tiled = true;
      shape.quads = quads;
      shape.lanes = shape.lanes_y = 4;
      shape.tile_rows = shape.tile_columns = tile;
      shape.k_step = 4;
      ExpectLoweredByAgrees(text, mode, [&](const Instruction& root, BufferMap& memory) {
        const auto body = DescribeFusion(root);
        auto steps = LowerDotAs(context, *body, memory, shape);
        const bool rolled = steps.ok() && steps->at(0).kernel.generated.find("#define ROLLED 1") != std::string::npos;
        EXPECT_TRUE(rolled);
        return steps;
      });
    }
  }
}

// The matrix units of AMD's RDNA3 and of NVIDIA's Turing and later, as their drivers list them, with plain GLSL in
// their place.
DeviceFacts WithMatrices(DeviceFacts facts, bool nvidia) {
  using enum ElementType;
  facts.vendor_id = nvidia ? 0x10DE : 0x1002;
  facts.matrices = nvidia
                       ? std::vector<MatrixShape>{{kF16, kF32, 16, 8, 16},
                                                  {kBF16, kF32, 16, 8, 8},
                                                  {kS8, kS32, 16, 8, 32},
                                                  {kU8, kU32, 16, 8, 32}}
                       : std::vector<MatrixShape>{{kF16, kF32}, {kBF16, kF32}, {kS8, kS32}, {kU8, kS32}, {kU8, kU32}};
  facts.matrix_lanes = 32;
  facts.matrices_stand_in = true;
  facts.byte_offsets = true;  // as GPUs have them: narrow types are read as words
  facts.same_bits = false;
  return facts;
}

// With units of f8 beside them, as RDNA4's driver lists them and NVIDIA's since Ada.
DeviceFacts WithF8Matrices(DeviceFacts facts, bool nvidia) {
  facts = WithMatrices(std::move(facts), nvidia);
  for (const ElementType term : {ElementType::kF8E4M3FN, ElementType::kF8E5M2})
    facts.matrices.push_back({term, ElementType::kF32, 16, nvidia ? 8u : 16u, nvidia ? 32u : 16u});
  return facts;
}

// Every way of the kernel for matrix units: which way operands lie, tiles at the edges, k that strips do not divide,
// shares, each type.
TEST(DotTest, MatrixShapesAgree) {
  struct Case {
    const char *type, *result;
    int lhs, rhs;  // the contracted dimension
    int rows, k, columns;
    uint32_t subgroups_x, subgroups_y, tile_rows, tile_columns;
    int64_t splits;
    bool nvidia;
    bool ahead = false;  // as GpuTraits have it of NVIDIA: terms read ahead, rhs across k, bands of tiles
    bool of_f8 = false;
  };
  const BindingMode mode = BindingMode::kDescriptors;
  ASSERT_NE(DeviceClient(mode), nullptr);
  for (const Case& c :
       std::vector<Case>{{"f16", "f16", 1, 0, 67, 72, 40, 2, 1, 32, 16, 1, false},
                         {"f16", "f32", 0, 1, 36, 1040, 41, 2, 1, 32, 16, 3, true},
                         {"bf16", "bf16", 1, 1, 33, 40, 37, 2, 2, 32, 32, 1, false},
                         {"bf16", "f32", 0, 0, 64, 64, 64, 2, 2, 32, 32, 2, true},
                         {"f8e4m3fn", "f32", 1, 0, 67, 72, 40, 2, 1, 32, 16, 1, false},
                         {"f8e5m2", "f32", 0, 1, 36, 80, 41, 2, 1, 32, 16, 1, true},
                         {"f8e5m2fnuz", "f32", 1, 1, 33, 40, 37, 2, 2, 32, 32, 1, false},
                         {"f8e3m4", "f16", 0, 0, 64, 64, 64, 2, 2, 32, 32, 2, true},
                         {"s8", "s32", 1, 0, 67, 80, 40, 2, 1, 32, 16, 1, false},
                         {"s8", "s32", 0, 1, 40, 144, 33, 2, 1, 32, 16, 2, true},
                         {"u8", "u32", 1, 1, 33, 64, 16, 2, 1, 32, 16, 1, true},
                         {"u8", "s32", 0, 0, 20, 16, 36, 2, 1, 32, 16, 1, false},
                         {"f16", "f32", 1, 0, 60, 72, 72, 2, 1, 64, 64, 1, true, true},
                         {"bf16", "bf16", 0, 0, 100, 40, 72, 2, 1, 32, 16, 2, true, true},
                         {"f8e5m2", "f32", 1, 0, 70, 32, 40, 2, 1, 32, 16, 1, false, true},
                         {"s8", "s32", 1, 0, 60, 80, 72, 2, 1, 64, 64, 1, true, true},
                         {"f8e4m3fn", "f32", 1, 0, 67, 80, 40, 2, 1, 32, 16, 1, false, false, true},
                         {"f8e4m3fn", "bf16", 0, 1, 40, 144, 33, 2, 1, 32, 16, 2, true, false, true},
                         {"f8e5m2", "f32", 1, 1, 33, 64, 16, 2, 1, 32, 16, 1, true, false, true},
                         {"f8e5m2", "f16", 0, 0, 20, 1040, 36, 2, 1, 32, 16, 3, false, false, true},
                         {"f8e4m3fn", "f8e4m3fn", 0, 0, 60, 80, 72, 2, 1, 64, 64, 1, true, true, true}}) {
    const DeviceFacts facts = c.of_f8 ? WithF8Matrices(AsGpu(mode), c.nvidia) : WithMatrices(AsGpu(mode), c.nvidia);
    const vulkan::LowerContext context{facts, mode};
    const auto text = [&](int contracted, int free) {
      return contracted == 1 ? fmt::format("{}[{},{}]", c.type, free, c.k)
                             : fmt::format("{}[{},{}]", c.type, c.k, free);
    };
    const std::string program =
        Dot(text(c.lhs, c.rows), text(c.rhs, c.columns), fmt::format("{}[{},{}]", c.result, c.rows, c.columns),
            fmt::format("lhs_contracting_dims={{{}}}, rhs_contracting_dims={{{}}}", c.lhs, c.rhs));
    ExpectLoweredByAgrees(program, mode, [&](const Instruction& root, BufferMap& memory) {
      vulkan::DotShape shape;
      shape.tiled = true;
      shape.lanes = c.subgroups_x;
      shape.lanes_y = c.subgroups_y;
      shape.tile_rows = c.tile_rows;
      shape.tile_columns = c.tile_columns;
      shape.splits = c.splits;
      for (const MatrixShape& matrix : facts.matrices) {
        const std::string_view term = std::string_view(c.type).starts_with("f8") && !c.of_f8 ? "f16" : c.type;
        if (ElementTypeName(matrix.term) == term && (IsFloating(matrix.sum) || ElementTypeName(matrix.sum) == c.result))
          shape.matrix = matrix;
      }
      shape.k_step = 64 / static_cast<uint32_t>(StorageBytes(shape.matrix->term));
      shape.terms_ahead = c.ahead;
      shape.rhs_rows = c.ahead && StorageBytes(shape.matrix->term) == 2;
      shape.raster = c.ahead ? 3 : 0;
      return LowerDotAs(context, *DescribeFusion(root), memory, shape);
    });
  }
}

// Chosen by the facts alone: batches, an epilogue, operands that are turned on their way, and what the units do not
// take.
TEST(DotTest, MatrixUnitsAreChosenByFacts) {
  const BindingMode mode = BindingMode::kDescriptors;
  ASSERT_NE(DeviceClient(mode), nullptr);
  const DeviceFacts facts = WithMatrices(AsGpu(mode), false);
  const auto kernel = [&](const std::string& text, const DeviceFacts& device) {
    const auto module = ParseModule(text);
    std::string algorithm;
    ExpectLoweredByAgrees(text, mode, [&](const Instruction& root, BufferMap& memory) {
      const auto lowering = vulkan::MakeLowering(device, mode);
      auto steps = lowering->Lower(root, memory);
      if (steps.ok()) algorithm = (*steps)[0].kernel.algorithm;
      return steps;
    });
    return algorithm;
  };
  constexpr const char* kUnits = "dot/matmul_matrices.comp";
  const std::string batched = Dot("f16[3,20,32]", "f16[3,32,24]", "f16[3,20,24]",
                                  "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
                                  "rhs_contracting_dims={1}");
  EXPECT_EQ(kernel(batched, facts), kUnits);
  EXPECT_EQ(kernel(R"(
f { p = bf16[24,32] parameter(0)  q = bf16[24,40] parameter(1)  c = bf16[40] parameter(2)
  t = bf16[32,24] transpose(p), dimensions={1,0}
  d = bf16[32,40] dot(t, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b = bf16[32,40] broadcast(c), dimensions={1}  s = bf16[32,40] add(d, b)  ROOT r = bf16[32,40] tanh(s) }
ENTRY e { a = bf16[24,32] parameter(0)  b = bf16[24,40] parameter(1)  c = bf16[40] parameter(2)
  ROOT r = bf16[32,40] fusion(a, b, c), kind=kOutput, calls=f })",
                   facts),
            kUnits);
  // Operands that are computed on their way, and convolutions, whose terms are packed in the kernel.
  EXPECT_EQ(kernel(R"(
f { p = f16[32,24] parameter(0)  q = f32[24,40] parameter(1)  m = f16[32,24] negate(p)  c = f16[24,40] convert(q)
  ROOT d = f16[32,40] dot(m, c), lhs_contracting_dims={1}, rhs_contracting_dims={0} }
ENTRY e { a = f16[32,24] parameter(0)  b = f32[24,40] parameter(1)
  ROOT r = f16[32,40] fusion(a, b), kind=kOutput, calls=f })",
                   facts),
            kUnits);
  EXPECT_EQ(kernel(R"(
f { p = s8[32,48] parameter(0)  q = s32[40,48] parameter(1)  c = s8[40,48] convert(q)
  ROOT d = s32[32,40] dot(p, c), lhs_contracting_dims={1}, rhs_contracting_dims={1} }
ENTRY e { a = s8[32,48] parameter(0)  b = s32[40,48] parameter(1)
  ROOT r = s32[32,40] fusion(a, b), kind=kOutput, calls=f })",
                   facts),
            kUnits);
  for (const char* types : {"bf16 bf16", "s8 s32", "f8e5m2 f32"}) {
    const std::string from(types, std::strcspn(types, " ")), to(types + from.size() + 1);
    EXPECT_EQ(kernel(fmt::format("ENTRY e {{ x = {0}[2,7,9,16] parameter(0)  w = {0}[3,3,16,20] parameter(1)\n"
                                 "  ROOT r = {1}[2,7,9,20] convolution(x, w), window={{size=3x3 pad=1_1x1_1}}, "
                                 "dim_labels=b01f_01io->b01f }}",
                                 from, to),
                     facts),
              kUnits)
        << types;
  }
  // f8 as it is given, each operand of a type of its own: f16 holds all of their values.
  EXPECT_EQ(kernel(Dot("f8e4m3fn[32,40]", "f8e5m2[40,24]", "f32[32,24]",
                       std::string(kPlain) + ", algorithm=dot_any_f8_any_f8_f32"),
                   facts),
            kUnits);
  EXPECT_EQ(kernel(Dot("f8e4m3b11fnuz[32,40]", "f16[40,24]", "f32[32,24]", kPlain), facts), kUnits);
  EXPECT_NE(kernel(Dot("f8e8m0fnu[32,40]", "f8e8m0fnu[40,24]", "f32[32,24]", kPlain), facts), kUnits);
  DeviceFacts same_bits = facts;
  same_bits.same_bits = true;
  EXPECT_NE(kernel(batched, same_bits), kUnits);
  EXPECT_NE(kernel(Dot("f32[32,32]", "f32[32,32]", "f32[32,32]", kPlain), facts), kUnits);
  EXPECT_NE(kernel(Dot("f16[32,36]", "f16[36,32]", "f16[32,32]", kPlain), facts), kUnits);  // no whole 16 bytes of k
  EXPECT_NE(kernel(Dot("f16[4,32]", "f16[32,32]", "f16[4,32]", kPlain), facts), kUnits);    // few rows
}

// Units of f8 take operands of one such type as they are, words of four; where k is in no whole sixteens, or operands
// differ, those of f16 do.
TEST(DotTest, F8UnitsTakeF8AsItIs) {
  const BindingMode mode = BindingMode::kDescriptors;
  ASSERT_NE(DeviceClient(mode), nullptr);
  for (const std::string type : {"f8e4m3fn", "f8e5m2"}) {
    const DeviceFacts facts = WithF8Matrices(AsGpu(mode), type == "f8e5m2");
    const auto term = [&](const std::string& text) {
      SCOPED_TRACE(text);
      std::string kernel, algorithm;
      ExpectLoweredByAgrees(text, mode, [&](const Instruction& root, BufferMap& memory) {
        auto steps = vulkan::MakeLowering(facts, mode)->Lower(root, memory);
        if (steps.ok()) kernel = (*steps)[0].kernel.generated, algorithm = (*steps)[0].kernel.algorithm;
        return steps;
      });
      EXPECT_EQ(algorithm, "dot/matmul_matrices.comp");
      const size_t at = kernel.find("#define TERM_OF(word, i) decode_") + 32;
      return at < 32 ? "" : kernel.substr(at, kernel.find('(', at) - at);
    };
    const auto dot = [&](int k) {
      return Dot(fmt::format("{}[35,{}]", type, k), fmt::format("{}[{},24]", type, k), "f32[35,24]", kPlain);
    };
    EXPECT_EQ(term(dot(48)), type);
    EXPECT_EQ(term(dot(40)), "f16") << "units of f8 take 16 of k";
    EXPECT_EQ(term(Dot(type + "[3,20,32]", type + "[3,24,32]", type + "[3,20,24]",
                       "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}")),
              type);
    // A bias and a function behind a turned operand.
    EXPECT_EQ(term(fmt::format(R"(
f {{ p = {0}[48,32] parameter(0)  q = {0}[48,40] parameter(1)  c = bf16[40] parameter(2)
  t = {0}[32,48] transpose(p), dimensions={{1,0}}
  d = bf16[32,40] dot(t, q), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  b = bf16[32,40] broadcast(c), dimensions={{1}}  s = bf16[32,40] add(d, b)  ROOT r = bf16[32,40] tanh(s) }}
ENTRY e {{ a = {0}[48,32] parameter(0)  b = {0}[48,40] parameter(1)  c = bf16[40] parameter(2)
  ROOT r = bf16[32,40] fusion(a, b, c), kind=kOutput, calls=f }})",
                               type)),
              type);
    // An operand that becomes f8 on its way: its values are packed as f16.
    EXPECT_EQ(term(fmt::format(R"(
f {{ p = f32[32,48] parameter(0)  q = {0}[40,48] parameter(1)  c = {0}[32,48] convert(p)
  ROOT d = f32[32,40] dot(c, q), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}} }}
ENTRY e {{ a = f32[32,48] parameter(0)  b = {0}[40,48] parameter(1)
  ROOT r = f32[32,40] fusion(a, b), kind=kOutput, calls=f }})",
                               type)),
              "f16");
    // Convolutions: sixteen terms are of one tap, or else packed as f16; padding, groups, holes, either order of w.
    const auto convolution = [&](const char* x, const char* w, const char* result, const char* attributes) {
      return fmt::format(
          "ENTRY e {{ x = {0}[{1}] parameter(0)  w = {0}[{2}] parameter(1)\n"
          "  ROOT r = f32[{3}] convolution(x, w), {4} }}",
          type, x, w, result, attributes);
    };
    EXPECT_EQ(term(convolution("2,7,9,16", "3,3,16,32", "2,7,9,32",
                               "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f")),
              type);
    EXPECT_EQ(term(convolution("2,7,9,32", "40,3,3,16", "2,4,5,40",
                               "window={size=3x3 stride=2x2 pad=1_1x1_1}, dim_labels=b01f_o01i->b01f, "
                               "feature_group_count=2")),
              type);
    EXPECT_EQ(term(convolution("2,7,9,16", "4,4,16,32", "2,14,18,32",
                               "window={size=4x4 pad=2_2x2_2 lhs_dilate=2x2}, dim_labels=b01f_01io->b01f")),
              type);
    EXPECT_EQ(term(convolution("2,7,9,8", "4,4,8,20", "2,6,8,20",
                               "window={size=4x4 pad=1_1x1_1}, dim_labels=b01f_01io->b01f")),
              "f16");
    EXPECT_EQ(term(Dot("f8e4m3fn[32,48]", "f8e5m2[48,24]", "f32[32,24]", kPlain)), "f16");
    EXPECT_EQ(term(Dot("f8e4m3fnuz[32,48]", "f8e4m3fnuz[48,24]", "f32[32,24]", kPlain)), "f16");
  }
}

// The products of whole workgroups of NVIDIA's driver, with plain GLSL in their place.
DeviceFacts WithGroupMatrices(DeviceFacts facts) {
  facts = WithF8Matrices(std::move(facts), true);
  for (MatrixShape form : vulkan::GroupMatrixForms()) {
    for (const MatrixShape& matrix : facts.matrices) {
      form.term = matrix.term;
      form.sum = matrix.sum;
      facts.group_matrices.push_back(form);
    }
  }
  return facts;
}

// Every way of the kernel for products of workgroups: which way operands lie, whole tiles and such at the edges, parts
// of steps, shares, batches; sums that leave by layouts, converted or not, finished before, and one by one.
TEST(DotTest, GroupMatrixShapesAgree) {
  struct Case {
    const char *type, *result;
    int lhs, rhs;  // the contracted dimension
    int batch, rows, k, columns;
    MatrixShape form;
    int64_t splits = 1;
    uint32_t raster = 1;
    bool by_layout = true;
  };
  const auto small = [](uint32_t rows, uint32_t columns, uint32_t k, uint32_t invocations) {
    return MatrixShape{.rows = rows, .columns = columns, .k = k, .invocations = invocations};
  };
  const MatrixShape tile = small(32, 32, 16, 64), wide = small(16, 64, 32, 128);
  const BindingMode mode = BindingMode::kDescriptors;
  ASSERT_NE(DeviceClient(mode), nullptr);
  const DeviceFacts facts = WithGroupMatrices(AsGpu(mode));
  for (const Case& c :
       std::vector<Case>{{"f16", "f16", 1, 0, 0, 67, 72, 40, tile, 1, 2},
                         {"f16", "f32", 1, 1, 0, 33, 104, 41, wide, 3, 1, false},  // shares begin anywhere
                         {"f16", "f32", 0, 1, 0, 40, 40, 37, tile},
                         {"bf16", "bf16", 0, 0, 0, 64, 64, 96, tile},
                         {"bf16", "f32", 0, 1, 0, 48, 128, 64, wide, 2, 2},
                         {"bf16", "bf16", 1, 0, 3, 35, 24, 40, tile},
                         {"f16", "f16", 1, 1, 2, 35, 24, 35, tile, 1, 1, false},
                         {"s8", "s32", 1, 0, 0, 67, 80, 48, tile},
                         {"u8", "u32", 0, 1, 0, 48, 80, 33, wide},
                         {"f8e4m3fn", "f32", 1, 0, 0, 67, 80, 48, tile},
                         {"f8e4m3fn", "f8e4m3fn", 1, 1, 2, 35, 48, 40, wide, 1, 1, false},
                         {"f8e5m2", "f32", 0, 1, 0, 48, 160, 64, wide, 2, 2},
                         {"f8e5m2", "f32", 0, 0, 0, 64, 80, 32, tile},
                         {"bf16", "bf16", 1, 1, 0, 70, 136, 72, vulkan::GroupMatrixForms()[2]}}) {
    const auto operand = [&](int contracted, int free) {
      const std::string batch = c.batch == 0 ? "" : fmt::format("{},", c.batch);
      return contracted == 1 ? fmt::format("{}[{}{},{}]", c.type, batch, free, c.k)
                             : fmt::format("{}[{}{},{}]", c.type, batch, c.k, free);
    };
    const int first = c.batch == 0 ? 0 : 1;
    const std::string program =
        Dot(operand(c.lhs, c.rows), operand(c.rhs, c.columns),
            fmt::format("{}[{}{},{}]", c.result, c.batch == 0 ? "" : fmt::format("{},", c.batch), c.rows, c.columns),
            fmt::format("{}lhs_contracting_dims={{{}}}, rhs_contracting_dims={{{}}}",
                        c.batch == 0 ? "" : "lhs_batch_dims={0}, rhs_batch_dims={0}, ", first + c.lhs, first + c.rhs));
    SCOPED_TRACE(program);
    ExpectLoweredByAgrees(program, mode, [&](const Instruction& root, BufferMap& memory) {
      vulkan::DotShape shape;
      shape.tiled = true;
      shape.lanes = 1;
      shape.splits = c.splits;
      shape.raster = c.raster;
      shape.matrix = c.form;
      for (const MatrixShape& matrix : facts.matrices) {
        if (ElementTypeName(matrix.term) != c.type) continue;
        shape.matrix->term = matrix.term;
        shape.matrix->sum = matrix.sum;
      }
      shape.tile_rows = c.form.rows;
      shape.tile_columns = c.form.columns;
      shape.k_step = c.form.k;
      auto steps = LowerDotAs({facts, mode}, *DescribeFusion(root), memory, shape);
      const std::string stores = fmt::format("#define STORES {}\n", c.by_layout ? 0 : 1);
      EXPECT_TRUE(steps.ok() && steps->at(0).kernel.generated.find(stores) != std::string::npos);
      return steps;
    });
  }
}

// Chosen by the facts alone: what lies in memory as matrices of whole sixteen bytes, but for products of few rows.
TEST(DotTest, GroupMatricesAreChosenByFacts) {
  const BindingMode mode = BindingMode::kDescriptors;
  ASSERT_NE(DeviceClient(mode), nullptr);
  DeviceFacts facts = WithGroupMatrices(AsGpu(mode));
  facts.compute_units = 2;
  const auto chosen = [&](const std::string& text) {
    std::string kernel;
    ExpectLoweredByAgrees(text, mode, [&](const Instruction& root, BufferMap& memory) {
      auto steps = vulkan::MakeLowering(facts, mode)->Lower(root, memory);
      if (steps.ok()) kernel = fmt::format("{} {}", (*steps)[0].kernel.algorithm, (*steps)[0].kernel.constants[0]);
      return steps;
    });
    return kernel;
  };
  constexpr const char* kOf128 = "dot/matmul_tensors.comp 128";
  EXPECT_EQ(chosen(Dot("bf16[40,32]", "bf16[32,72]", "bf16[40,72]", kPlain)), kOf128);
  EXPECT_EQ(chosen(Dot("s8[40,80]", "s8[80,48]", "s32[40,48]", kPlain)), kOf128);
  EXPECT_EQ(chosen(Dot("f8e4m3fn[40,80]", "f8e4m3fn[80,48]", "f32[40,48]", kPlain)), kOf128);
  EXPECT_EQ(chosen(Dot("f8e5m2[40,80]", "f8e5m2[80,48]", "bf16[40,48]", kPlain)), kOf128);
  // A bias, a function of all and another type behind it; a slice of rows, and a turned one, in front of it.
  EXPECT_EQ(chosen(R"(
f { p = bf16[24,64] parameter(0)  q = bf16[24,80] parameter(1)  c = bf16[72] parameter(2)
  s = bf16[24,40] slice(p), slice={[0:24], [16:56]}  t = bf16[40,24] transpose(s), dimensions={1,0}
  u = bf16[24,72] slice(q), slice={[0:24], [8:80]}
  d = bf16[40,72] dot(t, u), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b = bf16[40,72] broadcast(c), dimensions={1}  a = bf16[40,72] add(d, b)  ROOT r = bf16[40,72] tanh(a) }
ENTRY e { a = bf16[24,64] parameter(0)  b = bf16[24,80] parameter(1)  c = bf16[72] parameter(2)
  ROOT r = bf16[40,72] fusion(a, b, c), kind=kOutput, calls=f })"),
            kOf128);
  EXPECT_EQ(chosen(R"(
f { p = f16[40,24] parameter(0)  q = f16[24,72] parameter(1)
  d = f32[40,72] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  n = f32[40,72] negate(d)  c = s32[40,72] convert(d)  ROOT r = (f32[40,72], s32[40,72]) tuple(n, c) }
ENTRY e { a = f16[40,24] parameter(0)  b = f16[24,72] parameter(1)
  ROOT r = (f32[40,72], s32[40,72]) fusion(a, b), kind=kOutput, calls=f })"),
            kOf128);
  const auto others = [&](const std::string& text) { return !chosen(text).starts_with("dot/matmul_tensors.comp"); };
  EXPECT_TRUE(others(R"(
f { p = f16[40,24] parameter(0)  q = f16[24,72] parameter(1)  n = f16[40,24] negate(p)
  ROOT d = f16[40,72] dot(n, q), lhs_contracting_dims={1}, rhs_contracting_dims={0} }
ENTRY e { a = f16[40,24] parameter(0)  b = f16[24,72] parameter(1)
  ROOT r = f16[40,72] fusion(a, b), kind=kOutput, calls=f })"));
  EXPECT_TRUE(others(Dot("f16[32,24]", "f16[24,72]", "f16[32,72]", kPlain))) << "half of the tile would be idle";
  EXPECT_TRUE(others(Dot("f16[40,24]", "f16[24,68]", "f16[40,68]", kPlain))) << "rows of 136 bytes";
  facts.same_bits = true;
  EXPECT_TRUE(others(Dot("bf16[40,32]", "bf16[32,72]", "bf16[40,72]", kPlain)));
}

// The largest form that all units have one of, else shares of the smallest one.
TEST(DotTest, GroupMatricesFillTheDevice) {
  DeviceFacts facts = WithGroupMatrices({});
  facts.kind = DeviceFacts::Kind::kDiscrete;
  facts.compute_units = 132;
  facts.unit_invocations = 2048;
  const auto shape = [&](int64_t rows, int64_t columns, int64_t k, int64_t batches = 1) {
    vulkan::DotWork work;
    work.batches = batches;
    work.rows = rows;
    work.columns = columns;
    work.k = k;
    std::ranges::copy_if(facts.group_matrices, std::back_inserter(work.group_matrices),
                         [](const MatrixShape& matrix) { return matrix.term == ElementType::kBF16; });
    const vulkan::DotShape chosen = vulkan::TuneDot(facts, work);
    return fmt::format("{}x{} {}", chosen.tile_rows, chosen.tile_columns, chosen.splits);
  };
  EXPECT_EQ(shape(4096, 4096, 4096), "128x256 1");
  EXPECT_EQ(shape(4096, 128, 4096, 8), "128x128 1") << "half of 256 columns would be idle";
  EXPECT_EQ(shape(1024, 1024, 1024), "64x64 1");
  EXPECT_EQ(shape(512, 512, 512), "64x64 1");
  EXPECT_EQ(shape(512, 512, 4096), "64x64 3");
  EXPECT_EQ(shape(1024, 1024, 1024, 16), "128x256 1");
  facts.compute_units = 0;
  EXPECT_EQ(shape(1024, 1024, 1024), "64x64 1");
}

// Opened with units that plain code stands in for, the same both times.
TEST(DotTest, MatrixUnitsAreStoodInFor) {
  for (BindingMode mode : {BindingMode::kAddresses, BindingMode::kDescriptors}) {
    const auto client = GpuClient(mode, MatrixUnits::kStoodInFor);
    ASSERT_NE(client, nullptr);
    for (const std::string type : {"f16", "f8e4m3fn", "f8e5m2"}) {
      const auto module = ParseModule(Dot(type + "[36,48]", type + "[48,20]", "f32[36,20]", kPlain));
      const auto executable = client->Compile(*module);
      ASSERT_TRUE(executable.ok()) << executable.status().message();
      const KernelKey& kernel = (*executable)->plan().kernels.at(0);
      EXPECT_EQ(kernel.algorithm, "dot/matmul_matrices.comp");
      EXPECT_NE(kernel.generated.find("TERM_OF(word, i) decode_" + type), std::string::npos);
      const std::vector<Literal> arguments = RandomArguments(*module);
      const auto expected = RunOnCpu(*module, arguments);
      ASSERT_TRUE(expected);
      ExpectOnGpu(*client, *module, arguments, {}, 1, *expected);
    }
  }
}

// Every way of the register kernel: who loads lhs, which way operands lie, columns that do not fill a unit, shares.
// Each of the 256 values by one, through matrix units of f16: decoded in pairs, with and without the device's own f16;
// and through those of f8.
TEST(DotTest, EveryF8ReachesMatrixUnitsAsItIs) {
  const BindingMode mode = BindingMode::kDescriptors;
  ASSERT_NE(DeviceClient(mode), nullptr);
  DeviceFacts facts = WithMatrices(AsGpu(mode), false);
  for (const ElementType type : {ElementType::kF8E4M3FN, ElementType::kF8E5M2}) {
    Literal codes(Shape(type, {256}));
    for (size_t code = 0; code < 256; ++code) codes.mutable_bytes()[code] = static_cast<std::byte>(code);
    std::string rows, ones;
    for (int row = 0; row < 256; ++row) {
      rows += row == 0 ? "{" : ", {";
      for (int k = 0; k < 16; ++k)
        rows += fmt::format("{}{}", k == 0 ? "" : ", ", k == row % 16 ? codes.GetDouble(row) : 0);
      rows += "}";
    }
    for (int k = 0; k < 16; ++k) {
      ones += k == 0 ? "{" : ", {";
      for (int j = 0; j < 16; ++j) ones += fmt::format("{}{}", j == 0 ? "" : ", ", j == k ? 1 : 0);
      ones += "}";
    }
    const std::string name(ElementTypeName(type));
    const auto text = [&](bool along_k) {
      return fmt::format(
          "ENTRY e {{ a = {0}[256,16] constant({{{1}}})  b = {0}[16,16] constant({{{2}}})\n"
          "ROOT r = f32[{3}] dot({4}), lhs_contracting_dims={{{5}}}, rhs_contracting_dims={{{6}}} }}",
          name, rows, ones, along_k ? "256,16" : "16,256", along_k ? "a, b" : "b, a", along_k ? 1 : 0, along_k ? 0 : 1);
    };
    for (const bool native : {false, facts.float16 && !facts.quirks.inexact_f16}) {
      facts.native_f16 = native;
      for (const bool along_k : {true, false}) {
        ExpectLoweredByAgrees(text(along_k), mode, [&](const Instruction& root, BufferMap& memory) {
          auto steps = vulkan::MakeLowering(facts, mode)->Lower(root, memory);
          const bool decodes =
              steps.ok() && steps->at(0).kernel.generated.find("pair_f16_of_" + name) != std::string::npos;
          EXPECT_TRUE(decodes);
          return steps;
        });
      }
    }
    for (const bool along_k : {true, false}) {
      ExpectLoweredByAgrees(text(along_k), mode, [&](const Instruction& root, BufferMap& memory) {
        return vulkan::MakeLowering(WithF8Matrices(facts, false), mode)->Lower(root, memory);
      });
    }
  }
}

TEST(DotTest, RegisterShapesAgree) {
  ASSERT_NE(DeviceClient(BindingMode::kDescriptors), nullptr);
  const DeviceFacts& facts = DeviceClient(BindingMode::kDescriptors)->device().facts();
  const vulkan::LowerContext context{facts, BindingMode::kDescriptors};
  for (const bool share : {false, true}) {
    if (share && !facts.subgroup_shuffle) continue;
    for (const uint32_t k_step : {1u, 4u, 8u}) {
      vulkan::DotShape shape;
      shape.lanes = facts.subgroup_size;
      shape.tile_rows = share ? 2 * facts.subgroup_size : 3;
      shape.tile_columns = k_step == 8 ? 8 : 4;
      shape.k_step = k_step;
      shape.share_lhs = share;
      shape.splits = k_step == 4 ? 2 : 1;
      for (const char* attributes : {"lhs_contracting_dims={1}, rhs_contracting_dims={0}",
                                     "lhs_contracting_dims={0}, rhs_contracting_dims={1}"}) {
        const bool plain = std::string(attributes) == kPlain;
        for (const int n : {40, 41}) {
          const std::string text = Dot(plain ? "f32[24,136]" : "f32[136,24]",
                                       plain ? fmt::format("f32[136,{}]", n) : fmt::format("f32[{},136]", n),
                                       fmt::format("f32[24,{}]", n), attributes);
          ExpectLoweredByAgrees(text, BindingMode::kDescriptors, [&](const Instruction& root, BufferMap& memory) {
            const auto body = DescribeFusion(root);
            return LowerDotAs(context, *body, memory, shape);
          });
        }
      }
    }
  }
}

}  // namespace dot_test
}  // namespace VXLA_NAMESPACE::testing
