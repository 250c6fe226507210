// Instructions without a shader in the middle of programs on a device: evaluated by the CPU reference, between kernels.
#include <gmock/gmock.h>

#include <set>

#include "backend/cpu/reference/evaluator.h"
#include "backend/cpu/reference/library/custom_call.h"
#include "backend/device.h"
#include "core/ir/module.h"
#include "core/library/library_calls.h"
#include "core/sizes/live_sizes.h"
#include "scheduler/plan/plan.h"
#include "scheduler/plan/plan_printer.h"
#include "scheduler/replicas/feed_queues.h"
#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kComputations[] = R"(HloModule m
add { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT s = f32[] add(x, y) }
less { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT c = pred[] compare(x, y), direction=LT }
greater { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT c = pred[] compare(x, y), direction=GE }
less2 { a = f32[] parameter(0)  b = f32[] parameter(1)  c = s32[] parameter(2)  d = s32[] parameter(3)
        ROOT r = pred[] compare(a, b), direction=LT }
scan_step { x = f32[] parameter(0)  c = f32[] parameter(1)  s = f32[] add(x, c)  ROOT p = (f32[], f32[]) tuple(s, s) }
negate { v = f32[3] parameter(0)  ROOT n = f32[3] negate(v) }
)";

// The entry's instructions: `a` and `b` are made on the device, and what `h` gives is used there. The root comes last.
struct HostCase {
  const char* opcode;
  const char* entry;
};

constexpr HostCase kCases[] = {
    {"stochastic-convert",
     "p = f32[5] parameter(0)\n q = u32[5] parameter(1)\n a = f32[5] negate(p)\n"
     "h = s8[5] stochastic-convert(a, q)\n z = s8[5] negate(h)\n ROOT r = (s8[5], s8[5]) tuple(z, h)"},
    {"dynamic-slice",
     "p = f32[6,5] parameter(0)\n i = s32[] parameter(1)\n a = f32[6,5] negate(p)\n j = s32[] add(i, i)\n"
     "h = f32[2,3] dynamic-slice(a, i, j), dynamic_slice_sizes={2,3}\n z = f32[2,3] add(h, h)\n"
     "ROOT r = (f32[2,3], f32[2,3]) tuple(z, h)"},
    {"dynamic-update-slice",
     "p = f32[7] parameter(0)\n i = s32[] parameter(1)\n u = f32[2] parameter(2)\n a = f32[7] negate(p)\n"
     "h = f32[7] dynamic-update-slice(a, u, i)\n ROOT z = f32[7] add(h, a)"},
    {"gather",
     "p = f32[6,5] parameter(0)\n i = s32[4,1] parameter(1)\n a = f32[6,5] negate(p)\n"
     "h = f32[4,5] gather(a, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
     "slice_sizes={1,5}\n ROOT z = f32[4,5] negate(h)"},
    {"scatter",
     "p = f32[6,5] parameter(0)\n i = s32[4,1] parameter(1)\n u = f32[4,5] parameter(2)\n a = f32[6,5] negate(p)\n"
     "h = f32[6,5] scatter(a, i, u), update_window_dims={1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, "
     "index_vector_dim=1, to_apply=add\n ROOT z = f32[6,5] add(h, a)"},
    {"ragged-dot",
     "p = f32[11,3] parameter(0)\n b = f32[2,3,5] parameter(1)\n g = s64[2] constant({4, 7})\n a = f32[11,3] "
     "negate(p)\n"
     "h = f32[11,5] ragged-dot(a, b, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, "
     "rhs_group_dims={0}\n ROOT z = f32[11,5] negate(h)"},
    {"scaled-dot",
     "p = f8e4m3fn[2,32] parameter(0)\n b = f8e4m3fn[5,32] parameter(1)\n s = f8e8m0fnu[2,1] constant({{1},{2}})\n"
     "t = f8e8m0fnu[5,1] constant({{1},{2},{4},{1},{0.5}})\n h = f32[2,5] scaled-dot(p, b, s, t), "
     "lhs_contracting_dims={1}, "
     "rhs_contracting_dims={1}\n ROOT z = f32[2,5] negate(h)"},
    {"convolution",
     "p = f32[2,4,9,9] parameter(0)\n k = f32[6,2,3,3] parameter(1)\n a = f32[2,4,9,9] negate(p)\n"
     "h = f32[2,6,5,9] convolution(a, k), window={size=3x3 stride=2x1 pad=1_1x2_2 rhs_dilate=1x2}, "
     "dim_labels=bf01_oi01->bf01, feature_group_count=2\n ROOT z = f32[2,6,5,9] negate(h)"},
    {"select-and-scatter",
     "p = f32[2,7] parameter(0)\n s = f32[2,3] parameter(1)\n o = f32[] constant(0)\n a = f32[2,7] negate(p)\n"
     "h = f32[2,7] select-and-scatter(a, s, o), window={size=1x3 stride=1x2}, select=greater, scatter=add\n"
     "ROOT z = f32[2,7] add(h, a)"},
    {"scan",
     "p = f32[7] parameter(0)\n o = f32[] constant(0)\n a = f32[7] negate(p)\n h = (f32[7], f32[]) scan(a, o), "
     "dimensions={0}, "
     "num_carries=1, to_apply=scan_step\n s = f32[7] get-tuple-element(h), index=0\n z = f32[7] negate(s)\n"
     "ROOT r = (f32[7], (f32[7], f32[])) tuple(z, h)"},
    {"sort",
     "p = f32[2,7] parameter(0)\n i = s32[2,7] iota(), iota_dimension=1\n a = f32[2,7] negate(p)\n"
     "h = (f32[2,7], s32[2,7]) sort(a, i), dimensions={1}, is_stable=true, to_apply=less2\n"
     "v = f32[2,7] get-tuple-element(h), index=0\n k = s32[2,7] get-tuple-element(h), index=1\n z = f32[2,7] add(v, "
     "a)\n"
     "ROOT r = (f32[2,7], s32[2,7], f32[2,7]) tuple(z, k, v)"},
    {"topk",
     "p = f32[2,7] parameter(0)\n a = f32[2,7] negate(p)\n h = (f32[2,3], s32[2,3]) topk(a), k=3, largest=true\n"
     "v = f32[2,3] get-tuple-element(h), index=0\n z = f32[2,3] negate(v)\n ROOT r = (f32[2,3], (f32[2,3], s32[2,3])) "
     "tuple(z, h)"},
    {"fft",
     "p = f32[2,11] parameter(0)\n a = f32[2,11] negate(p)\n h = c64[2,6] fft(a), fft_type=RFFT, fft_length={11}\n"
     "x = f32[2,6] real(h)\n ROOT r = (f32[2,6], c64[2,6]) tuple(x, h)"},
    {"cholesky",
     "a = f32[3,3] constant({{4, 1, 1}, {1, 5, 2}, {1, 2, 6}})\n p = f32[3,3] parameter(0)\n s = f32[3,3] multiply(p, "
     "p)\n"
     "h = f32[3,3] cholesky(a), lower=true\n ROOT z = f32[3,3] multiply(h, s)"},
    {"triangular-solve",
     "p = f32[3,3] parameter(0)\n b = f32[3,5] parameter(1)\n a = f32[3,3] negate(p)\n"
     "h = f32[3,5] triangular-solve(a, b), left_side=true, lower=true, unit_diagonal=true, transpose_a=NO_TRANSPOSE\n"
     "ROOT z = f32[3,5] negate(h)"},
    {"batch-norm-grad",
     "p = f32[5,3] parameter(0)\n s = f32[3] parameter(1)\n g = f32[5,3] parameter(2)\n v = f32[3] multiply(s, s)\n"
     "a = f32[5,3] negate(p)\n h = (f32[5,3], f32[3], f32[3]) batch-norm-grad(a, s, s, v, g), epsilon=0.001, "
     "feature_index=1\n"
     "d = f32[5,3] get-tuple-element(h), index=0\n z = f32[5,3] negate(d)\n ROOT r = (f32[5,3], (f32[5,3], f32[3], "
     "f32[3])) tuple(z, h)"},
    {"batch-norm-inference",
     "p = f32[5,3] parameter(0)\n s = f32[3] parameter(1)\n v = f32[3] multiply(s, s)\n a = f32[5,3] negate(p)\n"
     "h = f32[5,3] batch-norm-inference(a, s, s, s, v), epsilon=0.001, feature_index=1\n ROOT z = f32[5,3] negate(h)"},
    {"batch-norm-training",
     "p = f32[5,3] parameter(0)\n s = f32[3] parameter(1)\n a = f32[5,3] negate(p)\n"
     "h = (f32[5,3], f32[3], f32[3]) batch-norm-training(a, s, s), epsilon=0.001, feature_index=1\n"
     "y = f32[5,3] get-tuple-element(h), index=0\n m = f32[3] get-tuple-element(h), index=1\n"
     "v = f32[3] get-tuple-element(h), index=2\n z = f32[3] add(m, v)\n ROOT r = (f32[3], f32[5,3]) tuple(z, y)"},
    {"rng-bit-generator",
     "p = u64[2] parameter(0)\n a = u64[2] add(p, p)\n h = (u64[2], u32[7]) rng-bit-generator(a), "
     "algorithm=rng_three_fry\n"
     "b = u32[7] get-tuple-element(h), index=1\n s = u64[2] get-tuple-element(h), index=0\n z = u32[7] add(b, b)\n"
     "ROOT r = (u32[7], u64[2], u32[7]) tuple(z, s, b)"},
    {"rng",
     "p = f32[] parameter(0)\n a = f32[] multiply(p, p)\n q = f32[] negate(a)\n h = f32[7] rng(q, a), "
     "distribution=rng_uniform\n"
     "k = f32[7] rng(q, a), distribution=rng_uniform\n z = f32[7] subtract(h, k)\n ROOT r = (f32[7], f32[7]) tuple(z, "
     "h)"},
    {"rng-get-and-update-state",
     "p = u64[2] parameter(0)\n h = u64[2] rng-get-and-update-state(), delta=3\n"
     "k = u64[2] rng-get-and-update-state(), delta=5\n z = u64[2] subtract(k, h)\n s = u64[2] add(z, p)\n"
     "ROOT r = (u64[2], u64[2], u64[2]) tuple(s, h, k)"},
    {"copy-start",
     "p = f32[3] parameter(0)\n a = f32[3] negate(p)\n s = (f32[3], f32[3], u32[]) copy-start(a)\n h = f32[3] "
     "copy-done(s)\n"
     "ROOT z = f32[3] negate(h)"},
    {"dynamic-reshape",
     "p = f32[6] parameter(0)\n n = s32[] constant(3)\n t = s32[] constant(2)\n a = f32[6] negate(p)\n"
     "h = f32[2,3] dynamic-reshape(a, t, n)\n ROOT z = f32[2,3] negate(h)"},
    {"get-dimension-size",
     "p = f32[6,5] parameter(0)\n a = f32[6,5] negate(p)\n h = s32[] get-dimension-size(a), dimensions={1}\n"
     "z = s32[] add(h, h)\n ROOT r = (s32[], f32[6,5]) tuple(z, a)"},
    {"async-start",
     "p = f32[3] parameter(0)\n a = f32[3] negate(p)\n s = ((f32[3]), f32[3], s32[]) async-start(a), calls=negate\n"
     "u = ((f32[3]), f32[3], s32[]) async-update(s)\n h = f32[3] async-done(u)\n ROOT z = f32[3] add(h, a)"},
    {"add-dependency",
     "p = f32[3] parameter(0)\n a = f32[3] negate(p)\n t = token[] after-all()\n u = token[] after-all(t)\n"
     "h = f32[3] add-dependency(a, u)\n ROOT z = f32[3] multiply(h, p)"},
    {"domain",
     "p = f32[3] parameter(0)\n a = f32[3] negate(p)\n h = f32[3] domain(a), domain={kind=\"sharding\", "
     "entry={replicated}, exit={manual}}\n"
     "ROOT z = f32[3] multiply(h, p)"},
    {"all-gather",
     "p = f32[3] parameter(0)\n a = f32[3] negate(p)\n h = f32[3] all-gather(a), replica_groups={}, dimensions={0}\n "
     "ROOT z = f32[3] negate(h)"},
    {"all-gather-start",
     "p = f32[3] parameter(0)\n a = f32[3] negate(p)\n s = (f32[3], f32[3]) all-gather-start(a), replica_groups={}, "
     "dimensions={0}\n"
     "h = f32[3] all-gather-done(s)\n ROOT z = f32[3] negate(h)"},
    {"all-reduce",
     "p = f32[3] parameter(0)\n a = f32[3] negate(p)\n h = f32[3] all-reduce(a), replica_groups={}, to_apply=add\n "
     "ROOT z = f32[3] negate(h)"},
    {"all-reduce-start",
     "p = f32[3] parameter(0)\n a = f32[3] negate(p)\n s = f32[3] all-reduce-start(a), replica_groups={}, "
     "to_apply=add\n"
     "h = f32[3] all-reduce-done(s)\n ROOT z = f32[3] negate(h)"},
    {"all-to-all",
     "p = f32[4] parameter(0)\n a = f32[4] negate(p)\n h = f32[4] all-to-all(a), replica_groups={}, dimensions={0}\n "
     "ROOT z = f32[4] negate(h)"},
    {"collective-broadcast",
     "p = f32[4] parameter(0)\n a = f32[4] negate(p)\n h = f32[4] collective-broadcast(a), replica_groups={{0}}\n ROOT "
     "z = f32[4] negate(h)"},
    {"collective-permute",
     "p = f32[4] parameter(0)\n a = f32[4] negate(p)\n h = f32[4] collective-permute(a), source_target_pairs={{0,0}}\n "
     "ROOT z = f32[4] negate(h)"},
    {"collective-permute-start",
     "p = f32[4] parameter(0)\n a = f32[4] negate(p)\n s = (f32[4], f32[4]) collective-permute-start(a), "
     "source_target_pairs={{0,0}}\n h = f32[4] collective-permute-done(s)\n ROOT z = f32[4] negate(h)"},
    {"collective-reduce",
     "p = f32[4] parameter(0)\n a = f32[4] negate(p)\n h = f32[4] collective-reduce(a), replica_groups={{0}}, "
     "to_apply=add\n ROOT z = f32[4] negate(h)"},
    {"partition-id", "p = u32[] parameter(0)\n h = u32[] partition-id()\n ROOT z = u32[] add(h, p)"},
    {"replica-id", "p = u32[] parameter(0)\n h = u32[] replica-id()\n ROOT z = u32[] add(h, p)"},
    {"ragged-all-to-all",
     "p = f32[9] parameter(0)\n o = f32[9] parameter(1)\n i = s32[1] constant({0})\n n = s32[1] constant({4})\n a = "
     "f32[9] negate(p)\n"
     "h = f32[9] ragged-all-to-all(a, o, i, n, i, n), replica_groups={{0}}\n ROOT z = f32[9] negate(h)"},
    {"reduce-scatter",
     "p = f32[4] parameter(0)\n a = f32[4] negate(p)\n h = f32[4] reduce-scatter(a), replica_groups={{0}}, "
     "dimensions={0}, to_apply=add\n"
     "ROOT z = f32[4] negate(h)"},
    {"send",
     "p = f32[3] parameter(0)\n a = f32[3] negate(p)\n t = token[] after-all()\n s = (f32[3], u32[], token[]) send(a, "
     "t), channel_id=16\n"
     "u = token[] send-done(s), channel_id=16\n v = (f32[3], u32[], token[]) recv(u), channel_id=16\n"
     "w = (f32[3], token[]) recv-done(v), channel_id=16\n h = f32[3] get-tuple-element(w), index=0\n ROOT z = f32[3] "
     "negate(h)"},
};
// These need a caller's functions or sizes at run time, or end what the cases above begin.
const std::set<std::string> kElsewhere = {"set-dimension-size",
                                          "custom-call",
                                          "infeed",
                                          "outfeed",
                                          "after-all",
                                          "copy-done",
                                          "async-update",
                                          "async-done",
                                          "all-gather-done",
                                          "all-reduce-done",
                                          "collective-permute-done",
                                          "send-done",
                                          "recv",
                                          "recv-done"};

std::string TextOf(const HostCase& c) { return std::string(kComputations) + "ENTRY main {\n" + c.entry + "\n}\n"; }

// A pending row that gets a shader drops out by itself: its case then runs on the device.
TEST(HostStepTest, EveryInstructionWithoutAShaderHasACase) {
  std::set<std::string> covered = kElsewhere;
  for (const HostCase& c : kCases) covered.insert(c.opcode);
  for (int i = 0; i < OpcodeCount(); ++i) {
    const OpcodeFacts& facts = FactsOf(static_cast<Opcode>(i));
    if (facts.kind != OpcodeKind::kPending) continue;
    EXPECT_TRUE(covered.contains(std::string(facts.hlo_text))) << facts.hlo_text;
  }
}

class HostStepCaseTest : public ::testing::TestWithParam<HostCase> {};

INSTANTIATE_TEST_SUITE_P(Rows, HostStepCaseTest, ::testing::ValuesIn(kCases), [](const auto& info) {
  std::string name = info.param.opcode;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST_P(HostStepCaseTest, RunsBetweenKernels) {
  const std::string text = TextOf(GetParam());
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  RunOptions options;
  options.allow_fallbacks = true;
  const auto arguments = RandomArguments(*module, 3);
  ASSERT_TRUE(RunBoth(text, arguments, options).has_value());
  options.fusion = false;
  RunBoth(text, arguments, options);

  auto executable = DeviceClient(BindingMode::kAddresses)->Compile(*module);
  ASSERT_TRUE(executable.ok());
  EXPECT_GT((*executable)->plan().dispatch_count(), 0);
  const auto fallbacks = (*executable)->fallbacks();
  for (const Fallback& fallback : fallbacks) EXPECT_THAT(fallback.reason, ::testing::Not(::testing::IsEmpty()));
  const auto opcode = ParseOpcode(GetParam().opcode);
  ASSERT_TRUE(opcode.has_value());
  // Passes put the operand in the place of these two: nothing of them is left to run.
  const bool vanishes = opcode == Opcode::kAddDependency || opcode == Opcode::kDomain;
  // Its sizes are data: no pass rewrites it.
  const bool on_host = KindOf(*opcode) == OpcodeKind::kPending || opcode == Opcode::kDynamicReshape;
  if (!on_host || vanishes) {
    EXPECT_TRUE(fallbacks.empty()) << "it needs no host, and ran there";
    return;
  }
  ASSERT_FALSE(fallbacks.empty()) << "it has no shader: what ran?";
  EXPECT_THAT(ToJson((*executable)->plan())["fallbacks"].dump(), HasSubstr(GetParam().opcode));
  CompileOptions strict;
  strict.require_gpu = true;
  const auto refused = DeviceClient(BindingMode::kAddresses)->Compile(*module, strict);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kDeviceFailure);
}

TEST(HostStepTest, EmptyArraysNeedNoStep) {
  RunOptions options;
  options.allow_fallbacks = true;
  RunBoth(std::string(kComputations) + R"(ENTRY main {
  p = f32[0,7] parameter(0)
  q = f32[3] parameter(1)
  i = s32[0,7] iota(), iota_dimension=1
  s = (f32[0,7], s32[0,7]) sort(p, i), dimensions={1}, to_apply=less2
  v = f32[0,7] get-tuple-element(s), index=0
  n = f32[0,7] negate(v)
  e = f32[0] slice(q), slice={[1:1]}
  t = f32[0] sort(e), dimensions={0}, to_apply=less
  g = (f32[3], s32[3]) topk(q), k=3
  u = f32[3] get-tuple-element(g), index=0
  c = f32[3] concatenate(u, t), dimensions={0}
  ROOT r = (f32[0,7], f32[0], f32[3], (f32[0,7], s32[0,7])) tuple(n, t, c, s)
})",
          {Literal(Shape(ElementType::kF32, {0, 7})), RandomLiteral(Shape(ElementType::kF32, {3}), 1)}, options);
}

// An instruction that only the host can run splits the chain that would otherwise be one kernel.
TEST(HostStepTest, FusionsEndAtAHostStep) {
  const auto module = ParseModule(std::string(kComputations) + R"(ENTRY main {
  p = f32[101] parameter(0)
  a = f32[101] negate(p)
  b = f32[101] multiply(a, p)
  s = f32[101] custom-call(b), custom_call_target="the_callers_own"
  c = f32[101] add(s, b)
  ROOT d = f32[101] multiply(c, p)
})");
  auto executable = DeviceClient(BindingMode::kAddresses)->Compile(*module);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  EXPECT_EQ((*executable)->fallbacks().size(), 1u);
  EXPECT_EQ((*executable)->plan().dispatch_count(), 2);
  EXPECT_EQ((*executable)->plan().segments.size(), 3u);
}

std::vector<float> Values(const Literal& literal) {
  const auto data = literal.data<float>();
  return {data.begin(), data.end()};
}

Literal Three(float first) {
  const std::vector<float> values{first, first + 1, first + 2};
  return Literal::FromVector<float>(Shape(ElementType::kF32, {3}), std::span<const float>(values));
}

// A client whose runs share what the test gives them.
std::unique_ptr<Client> ClientWith(const EvaluateOptions& options) {
  // The device is the shared client's: it outlives this one.
  const std::shared_ptr<Device> device(&DeviceClient(BindingMode::kAddresses)->device(), [](Device*) {});
  ClientOptions client_options;
  client_options.seed = options.seed;
  client_options.evaluator_of_run = [options]() -> HostEvaluator {
    auto run = std::make_shared<InstructionEvaluator>(options);
    return [run](const Instruction& instruction, std::span<const Literal* const> operands) {
      return run->Evaluate(instruction, operands);
    };
  };
  client_options.check_program = [options](const Module& module) {
    return CheckCustomCalls(module, options.custom_calls);
  };
  return std::make_unique<Client>(device, client_options.evaluator_of_run(), client_options);
}

// The older signature, and the newer one with a configuration and a status; results of one array and of a tuple.
TEST(HostStepTest, CustomCallsRunBetweenKernels) {
  CustomCallRegistry registry;
  registry.Register("twice", [](void* out, void** in) {
    for (int i = 0; i < 3; ++i) static_cast<float*>(out)[i] = 2 * static_cast<const float*>(in[0])[i];
  });
  registry.Register("divide", [](void* out, const void** in, std::string_view opaque, CustomCallStatus& status) {
    const float *x = static_cast<const float*>(in[0]), *y = static_cast<const float*>(in[1]);
    float* quotients = static_cast<float*>(static_cast<void**>(out)[0]);
    int32_t& count = *static_cast<int32_t*>(static_cast<void**>(out)[1]);
    count = static_cast<int32_t>(opaque.size());
    for (int i = 0; i < 3; ++i) {
      if (y[i] == 0) return status.SetFailure("zero at " + std::to_string(i));
      quotients[i] = x[i] / y[i];
    }
  });
  EvaluateOptions options;
  options.custom_calls = &registry;
  const auto client = ClientWith(options);
  const auto module = ParseModule(R"(HloModule m
ENTRY main {
  p = f32[3] parameter(0)
  q = f32[3] parameter(1)
  a = f32[3] add(p, q)
  b = f32[3] custom-call(a), custom_call_target="twice", api_version=API_VERSION_ORIGINAL
  c = f32[3] negate(b)
  d = (f32[3], s32[]) custom-call(c, q), custom_call_target="divide", backend_config="four", api_version=API_VERSION_STATUS_RETURNING
  e = f32[3] get-tuple-element(d), index=0
  f = f32[3] add(e, p)
  n = s32[] get-tuple-element(d), index=1
  m = s32[] add(n, n)
  ROOT r = (f32[3], s32[], f32[3]) tuple(f, m, e)
})");
  ASSERT_NE(module, nullptr);
  auto executable = client->Compile(*module);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  EXPECT_EQ((*executable)->fallbacks().size(), 2u);
  EXPECT_GE((*executable)->plan().dispatch_count(), 3);
  const Literal p = Three(1), q = Three(2);
  const auto result = (*executable)->Run(std::vector<const Literal*>{&p, &q});
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_THAT(Values(result->tuple_elements()[0]), ElementsAre(-2, 2 - 10.0f / 3, -0.5));
  EXPECT_EQ(result->tuple_elements()[1].GetInt(0), 8);
  const Literal zero = Three(-1);
  const auto failed = (*executable)->Run(std::vector<const Literal*>{&p, &zero});
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.status().code(), StatusCode::kInvalidArgument);  // the command's exit code 2
  EXPECT_EQ(failed.status().message(), "custom-call d: divide failed: zero at 1");
  EXPECT_TRUE((*executable)->Run(std::vector<const Literal*>{&p, &q}).ok());  // a failed run leaves nothing behind
}

TEST(HostStepTest, AnUnknownCustomCallIsRefusedBeforeCompiling) {
  const auto module = ParseModule(
      "HloModule m\nENTRY main { p = f32[3] parameter(0)  a = f32[3] negate(p)\n"
      "ROOT r = f32[3] custom-call(a), custom_call_target=\"other\" }");
  CustomCallRegistry registry;
  registry.Register("twice", [](void*, void**) {});
  EvaluateOptions options;
  auto message = [&] {
    const auto executable = ClientWith(options)->Compile(*module);
    EXPECT_EQ(executable.status().code(), StatusCode::kUnsupported);
    EXPECT_EQ(executable.status().location().line, 3);
    return executable.status().message();
  };
  EXPECT_EQ(
      message(),
      "custom-call r: no function is registered for \"other\"; none are registered (--custom-call and --kernel, or "
      "CustomCallRegistry, "
      "EvaluateOptions::custom_calls); known without one: " +
          LibraryCallNames());
  options.custom_calls = &registry;
  EXPECT_EQ(message(),
            "custom-call r: no function is registered for \"other\"; registered: twice; known without one: " +
                LibraryCallNames());
}

// Called computations, loops and branches draw in the program's order on a device too, whatever the passes make of
// them.
TEST(HostStepTest, StatefulRandomNumbersFollowTheSeedAndTheProgramsOrder) {
  const std::string text = R"(HloModule m
draw { z = f32[] constant(0)  o = f32[] constant(1)  u = f32[3] rng(z, o), distribution=rng_uniform
       s = u64[2] rng-get-and-update-state(), delta=2  ROOT t = (f32[3], u64[2]) tuple(u, s) }
more { p = (s32[], f32[3]) parameter(0)  i = s32[] get-tuple-element(p), index=0  n = s32[] constant(3)
       ROOT c = pred[] compare(i, n), direction=LT }
step { p = (s32[], f32[3]) parameter(0)  i = s32[] get-tuple-element(p), index=0  x = f32[3] get-tuple-element(p), index=1
       one = s32[] constant(1)  j = s32[] add(i, one)  d = (f32[3], u64[2]) call(), to_apply=draw  u = f32[3] get-tuple-element(d), index=0
       y = f32[3] add(x, u)  ROOT r = (s32[], f32[3]) tuple(j, y) }
left { x = f32[3] parameter(0)  d = (f32[3], u64[2]) call(), to_apply=draw  ROOT u = f32[3] get-tuple-element(d), index=0 }
right { x = f32[3] parameter(0)  ROOT n = f32[3] negate(x) }
ENTRY main {
  x = f32[3] parameter(0)
  z = f32[] constant(0)
  o = f32[] constant(1)
  i = s32[] constant(0)
  a = f32[3] rng(z, o), distribution=rng_normal
  d = (f32[3], u64[2]) call(), to_apply=draw
  b = f32[3] rng(z, o), distribution=rng_uniform
  e = (f32[3], u64[2]) call(), to_apply=draw
  s = (s32[], f32[3]) tuple(i, x)
  loop = (s32[], f32[3]) while(s), condition=more, body=step
  l = f32[3] get-tuple-element(loop), index=1
  c = pred[] constant(true)
  k = f32[3] conditional(c, l, l), true_computation=left, false_computation=right
  g = f32[3] rng(z, o), distribution=rng_uniform
  m = f32[3] subtract(a, b)
  ROOT r = (f32[3], f32[3], f32[3], (f32[3], u64[2]), (f32[3], u64[2]), f32[3], f32[3], f32[3]) tuple(a, b, m, d, e, l, k, g)
})";
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  const Literal x = Three(0);
  const Literal* arguments[] = {&x};
  std::vector<Literal> drawn;
  for (const uint64_t seed : {uint64_t{0}, uint64_t{7}, uint64_t{1} << 60}) {
    EvaluateOptions options;
    options.seed = seed;
    const auto on_cpu = Evaluate(*module, arguments, options);
    ASSERT_TRUE(on_cpu.ok()) << on_cpu.status().message();
    const auto client = ClientWith(options);
    auto executable = client->Compile(*module);
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    for (int run = 0; run < 2; ++run) {
      const auto on_device = (*executable)->Run(arguments);
      ASSERT_TRUE(on_device.ok()) << on_device.status().message();
      EXPECT_TRUE(*on_device == *on_cpu) << "seed " << seed << " run " << run;
    }
    for (const Literal& before : drawn) {
      for (const size_t k : {0u, 1u, 3u, 4u, 5u, 6u, 7u})
        EXPECT_FALSE(before.tuple_elements()[k] == on_cpu->tuple_elements()[k]) << k;
    }
    drawn.push_back(*on_cpu);
  }
}

// The results of the loop depend on neither.
TEST(HostStepTest, EffectsOfASmallLoopThatNothingReadsHappen) {
  const auto module = ParseModule(R"(HloModule m
body {
  s = (s32[], f32[3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[3] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  t = token[] after-all()
  o = token[] outfeed(x, t), outfeed_shape=f32[3]
  k = s32[] custom-call(i), custom_call_target="note", custom_call_has_side_effect=true
  y = f32[3] add(x, x)
  ROOT r = (s32[], f32[3]) tuple(next, y)
}
condition {
  s = (s32[], f32[3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT
}
ENTRY main {
  x = f32[3] parameter(0)
  i = s32[] constant(0)
  s = (s32[], f32[3]) tuple(i, x)
  loop = (s32[], f32[3]) while(s), condition=condition, body=body
  ROOT y = f32[3] get-tuple-element(loop), index=1
})");
  FeedQueues feeds;
  std::vector<int32_t> noted;
  CustomCallRegistry registry;
  registry.Register("note", [&](void* out, const void** in) {
    noted.push_back(*static_cast<const int32_t*>(in[0]));
    *static_cast<int32_t*>(out) = 0;
  });
  EvaluateOptions options;
  options.host = feeds.transfers();
  options.custom_calls = &registry;
  const auto client = ClientWith(options);
  auto executable = client->Compile(*module);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  const Literal x = Three(1);
  const Literal* pointers[] = {&x};
  const auto result = (*executable)->Run(pointers);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_THAT(noted, ElementsAre(0, 1, 2));
  for (const float scale : {1.0f, 2.0f, 4.0f}) {
    const auto sent = feeds.PopOutfeed(0);
    ASSERT_TRUE(sent.ok()) << sent.status().message();
    EXPECT_EQ(sent->GetDouble(0), scale * x.GetDouble(0));
  }
}

TEST(HostStepTest, FeedsKeepTheirOrderInALoop) {
  const auto module = ParseModule(R"(HloModule m
body {
  s = (s32[], f32[3], token[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[3] get-tuple-element(s), index=1
  t = token[] get-tuple-element(s), index=2
  one = s32[] constant(1)
  next = s32[] add(i, one)
  in = (f32[3], token[]) infeed(t)
  v = f32[3] get-tuple-element(in), index=0
  u = token[] get-tuple-element(in), index=1
  y = f32[3] add(x, v)
  o = token[] outfeed(y, u), outfeed_shape=f32[3]
  ROOT r = (s32[], f32[3], token[]) tuple(next, y, o)
}
condition {
  s = (s32[], f32[3], token[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT
}
ENTRY main {
  x = f32[3] parameter(0)
  i = s32[] constant(0)
  t = token[] after-all()
  s = (s32[], f32[3], token[]) tuple(i, x, t)
  loop = (s32[], f32[3], token[]) while(s), condition=condition, body=body
  y = f32[3] get-tuple-element(loop), index=1
  ROOT z = f32[3] negate(y)
})");
  FeedQueues feeds;
  for (float first : {10.0f, 100.0f, 1000.0f}) feeds.PushInfeed(0, Three(first));
  EvaluateOptions options;
  options.host = feeds.transfers();
  const auto client = ClientWith(options);
  auto executable = client->Compile(*module);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  const Literal x = Three(0);
  const Literal* pointers[] = {&x};
  const auto result = (*executable)->Run(pointers);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_THAT(Values(*result), ElementsAre(-1110, -1114, -1118));
  ASSERT_EQ(feeds.OutfeedSize(0), 3);
  EXPECT_THAT(Values(*feeds.PopOutfeed(0)), ElementsAre(10, 12, 14));
  EXPECT_THAT(Values(*feeds.PopOutfeed(0)), ElementsAre(110, 113, 116));
  EXPECT_THAT(Values(*feeds.PopOutfeed(0)), ElementsAre(1110, 1114, 1118));
  const auto starved = (*executable)->Run(pointers);
  ASSERT_FALSE(starved.ok());
  EXPECT_THAT(starved.status().message(), HasSubstr("infeed"));
}

// Room for 4 floats, then how many live: one less comes back.
void DropLast(void* out, const void** in) {
  int32_t live = 0;
  std::memcpy(&live, static_cast<const std::byte*>(in[0]) + 16, 4);
  live -= 1;
  std::memcpy(out, in[0], 4 * static_cast<size_t>(live));
  std::memcpy(static_cast<std::byte*>(out) + 16, &live, 4);
}

// Feeds and custom calls between kernels, of arrays that live in part.
TEST(LiveTransferTest, FeedsAndCustomCallsKeepLiveSizesThroughDeviceMemory) {
  const auto module = ParseModule(R"(HloModule m
ENTRY main {
  w = f32[3] parameter(0)
  t = token[] after-all()
  in = (f32[<=4], token[]) infeed(t)
  v = f32[<=4] get-tuple-element(in), index=0
  u = token[] get-tuple-element(in), index=1
  c = f32[<=4] custom-call(v), custom_call_target="drop_last"
  o = token[] outfeed(c, u), outfeed_shape=f32[<=4]
  n = f32[3] negate(w)
  ROOT r = (f32[<=4], f32[3], token[]) tuple(c, n, o)
})");
  FeedQueues feeds;
  feeds.PushInfeed(0, Three(10));
  CustomCallRegistry registry;
  registry.Register("drop_last", &DropLast);
  EvaluateOptions options;
  options.host = feeds.transfers();
  options.custom_calls = &registry;
  const auto client = ClientWith(options);
  auto executable = client->Compile(*module);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  EXPECT_EQ((*executable)->plan().dispatch_count(), 1);
  const Literal w = Three(1);
  const Literal* pointers[] = {&w};
  const auto result = (*executable)->Run(pointers);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_THAT(Values(CutToLiveSizes(result->tuple_elements()[0])), ElementsAre(10, 11));
  EXPECT_THAT(Values(result->tuple_elements()[1]), ElementsAre(-1, -2, -3));
  const auto sent = feeds.PopOutfeed(0);
  ASSERT_TRUE(sent.ok());
  EXPECT_THAT(Values(CutToLiveSizes(*sent)), ElementsAre(10, 11));
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
