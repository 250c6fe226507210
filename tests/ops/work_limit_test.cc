// Programs of every family on a device that takes few workgroups along an axis, and with so small a time budget that
// their dispatches run in parts: the same bits as in whole dispatches. VXLA_TEST_LONG=1: descriptors too.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <tuple>

#include "core/ir/module.h"
#include "scheduler/plan/plan.h"
#include "scheduler/plan/plan_printer.h"
#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace work_limit_test {

constexpr uint32_t kMostGroups = 3;
constexpr char kAdd[] = "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n";
constexpr char kGreater[] =
    "most { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }\n"
    "ge { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=GE }\n";

struct Case {
  const char* name;
  std::string text;
};

std::vector<Case> Cases() {
  const std::string add = kAdd, greater = kGreater;
  return {
      {"Elementwise",
       "ENTRY e { x = f32[300007] parameter(0)  n = f32[300007] exponential(x)  ROOT r = f32[300007] "
       "multiply(n, x) }"},
      {"Emulated",
       "ENTRY e { x = s64[100003] parameter(0)  n = s64[100003] multiply(x, x)  ROOT r = s64[100003] add(n, x) }"},
      {"Transpose",
       "ENTRY e { x = f32[101,53,67] parameter(0)  ROOT r = f32[67,101,53] transpose(x), dimensions={2,0,1} }"},
      {"ReduceRows",
       add + "ENTRY e { x = f32[3001,67] parameter(0)  z = f32[] constant(0)  ROOT r = f32[3001] reduce(x, z), "
             "dimensions={1}, to_apply=add }"},
      {"ReduceColumns", add + "ENTRY e { x = f32[67,20011] parameter(0)  z = f32[] constant(0)  ROOT r = f32[20011] "
                              "reduce(x, z), dimensions={0}, to_apply=add }"},
      {"Dot",
       "ENTRY e { x = f32[13,97,31] parameter(0)  w = f32[13,31,89] parameter(1)  ROOT r = f32[13,97,89] dot(x, w), "
       "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1} }"},
      {"Convolution",
       "ENTRY e { x = f32[5,29,31,7] parameter(0)  w = f32[3,3,7,11] parameter(1)  ROOT r = f32[5,29,31,11] "
       "convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f }"},
      {"Windows", add + "ENTRY e { x = f32[61,67,13] parameter(0)  z = f32[] constant(0)  ROOT r = f32[60,66,13] "
                        "reduce-window(x, z), window={size=2x2x1}, to_apply=add }"},
      {"RunningSums", add + "ENTRY e { x = f32[37,2003] parameter(0)  z = f32[] constant(0)  ROOT r = f32[37,2003] "
                            "reduce-window(x, z), window={size=1x2003 pad=0_0x2002_0}, to_apply=add }"},
      {"SelectAndScatter", add + greater +
                               "ENTRY e { x = f32[62,66,26] parameter(0)  s = f32[31,33,26] parameter(1)  z = f32[] "
                               "constant(0)  ROOT r = f32[62,66,26] select-and-scatter(x, s, z), window={size=2x2x1 "
                               "stride=2x2x1}, select=ge, scatter=add }"},
      {"SortRows",
       "less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=LT }\n"
       "ENTRY e { x = f32[211,37] parameter(0)  ROOT r = f32[211,37] sort(x), dimensions={1}, to_apply=less }"},
      {"SortLong",
       "less { a = s32[] parameter(0)  b = s32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=LT }\n"
       "ENTRY e { x = s32[9,20011] parameter(0)  ROOT r = s32[9,20011] sort(x), dimensions={1}, to_apply=less }"},
      {"TopK", "ENTRY e { x = f32[40,5003] parameter(0)  ROOT r = (f32[40,9], s32[40,9]) topk(x), k=9, largest=true }"},
      {"Fft", "ENTRY e { x = c64[97,360] parameter(0)  ROOT r = c64[97,360] fft(x), fft_type=FFT, fft_length={360} }"},
      {"FftOfManyLines",
       "ENTRY e { x = c64[523,256] parameter(0)  ROOT r = c64[523,256] fft(x), fft_type=IFFT, fft_length={256} }"},
      {"FftOfAPrime",
       "ENTRY e { x = f32[31,509] parameter(0)  ROOT r = c64[31,255] fft(x), fft_type=RFFT, fft_length={509} }"},
      {"Cholesky",
       "ENTRY e { x = f32[43,24,24] parameter(0)  t = f32[43,24,24] transpose(x), dimensions={0,2,1}\n"
       "p = f32[43,24,24] dot(x, t), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
       "rhs_contracting_dims={1}\n"
       "c = f32[43,24,24] cholesky(p), lower=true  b = f32[43,24,5] parameter(1)\n"
       "ROOT r = f32[43,24,5] triangular-solve(c, b), left_side=true, lower=true, unit_diagonal=true, "
       "transpose_a=NO_TRANSPOSE }"},
      {"Gather",
       "ENTRY e { t = f32[503,67] parameter(0)  i = s32[2003] parameter(1)  ROOT r = f32[2003,67] gather(t, i), "
       "offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,67} }"},
      {"Scatter",
       add + "ENTRY e { t = f32[503,67] parameter(0)  i = s32[2003] parameter(1)  u = f32[2003,67] parameter(2)\n"
             "ROOT r = f32[503,67] scatter(t, i, u), update_window_dims={1}, inserted_window_dims={0}, "
             "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add }"},
      {"UpdateSlice",
       "ENTRY e { t = f32[2503,67] parameter(0)  u = f32[2401,61] parameter(1)  a = s32[] parameter(2)  b = s32[] "
       "parameter(3)  ROOT r = f32[2503,67] dynamic-update-slice(t, u, a, b) }"},
      {"RandomBits",
       "ENTRY e { s = u64[2] parameter(0)  ROOT r = (u64[2], u32[100003]) rng-bit-generator(s), "
       "algorithm=rng_three_fry }"},
      {"Loop",
       "go { p = (s32[], f32[70001]) parameter(0)  i = s32[] get-tuple-element(p), index=0  n = s32[] constant(5)  "
       "ROOT r = pred[] compare(i, n), direction=LT }\n"
       "step { p = (s32[], f32[70001]) parameter(0)  i = s32[] get-tuple-element(p), index=0  x = f32[70001] "
       "get-tuple-element(p), index=1  one = s32[] constant(1)  j = s32[] add(i, one)  y = f32[70001] cosine(x)  "
       "ROOT r = (s32[], f32[70001]) tuple(j, y) }\n"
       "ENTRY e { i = s32[] parameter(0)  x = f32[70001] parameter(1)  t = (s32[], f32[70001]) tuple(i, x)  "
       "ROOT w = (s32[], f32[70001]) while(t), condition=go, body=step }"},
  };
}

// Opened once for all cases; kept, as drivers may be unloaded before static objects go.
Client* ClientOf(BindingMode mode, bool few_groups, bool in_parts) {
  static auto* clients = new std::map<std::tuple<BindingMode, bool, bool>, std::unique_ptr<Client>>;
  std::unique_ptr<Client>& client = (*clients)[{mode, few_groups, in_parts}];
  if (client == nullptr) {
    vulkan::OpenOptions options = TestOptions(mode);
    if (in_parts) options.work_budget_seconds = 1e-7;
    auto device = OpenTestDevice(options, [few_groups](DeviceFacts& facts) {
      if (few_groups) facts.max_group_count[0] = kMostGroups;
    });
    EXPECT_TRUE(device.ok()) << device.status().message();
    if (device.ok()) client = MakeTestClient(*device);
  }
  return client.get();
}

struct Ran {
  std::optional<Literal> value;
  int most_parts = 0;
  uint32_t most_groups = 0;
};

Ran RunWith(Client* client, const Module& module, const std::vector<Literal>& arguments) {
  Ran ran;
  if (client == nullptr) return ran;
  CompileOptions options;
  options.loop_kernels = false;  // a loop in one workgroup has nothing to cut
  auto executable = client->Compile(module, options);
  EXPECT_TRUE(executable.ok()) << executable.status().message();
  if (!executable.ok()) return ran;
  const Plan& plan = (*executable)->plan();
  EXPECT_TRUE(plan.fallbacks.empty() && plan.faults.empty()) << ToText(plan);
  for (const Segment& segment : plan.segments) {
    const auto* gpu = std::get_if<GpuCommands>(&segment);
    if (gpu == nullptr) continue;
    for (const GpuCommand& command : gpu->commands) {
      const auto* dispatch = std::get_if<Dispatch>(&command);
      if (dispatch != nullptr) ran.most_parts = std::max(ran.most_parts, dispatch->parts);
      if (dispatch != nullptr && dispatch->parts > 1) {
        EXPECT_EQ(gpu->commands.size(), 1u) << "a part shares its submission";
      }
    }
  }
  for (const Step& step : plan.steps) ran.most_groups = std::max(ran.most_groups, step.groups[0]);
  std::vector<const Literal*> pointers;
  for (const Literal& argument : arguments) pointers.push_back(&argument);
  for (int run = 0; run < 2; ++run) {
    auto value = (*executable)->Run(pointers);
    EXPECT_TRUE(value.ok()) << value.status().message();
    if (value.ok()) ran.value = std::move(*value);
  }
  return ran;
}

class WorkLimitTest : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(All, WorkLimitTest, ::testing::ValuesIn(Cases()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(WorkLimitTest, FewGroupsAndPartsGiveTheSameBits) {
  const auto module = ParseModule(GetParam().text);
  ASSERT_NE(module, nullptr);
  const std::vector<Literal> arguments = RandomArguments(*module);
  std::vector<BindingMode> modes = {BindingMode::kAddresses};
  if (std::getenv("VXLA_TEST_LONG") != nullptr) modes.push_back(BindingMode::kDescriptors);
  for (const BindingMode mode : modes) {
    const Ran whole = RunWith(ClientOf(mode, false, false), *module, arguments);
    const Ran few = RunWith(ClientOf(mode, true, false), *module, arguments);
    const Ran parts = RunWith(ClientOf(mode, true, true), *module, arguments);
    ASSERT_TRUE(whole.value && few.value && parts.value);
    EXPECT_GT(whole.most_groups, kMostGroups);
    EXPECT_LE(few.most_groups, kMostGroups);
    EXPECT_EQ(whole.most_parts, 1);
    EXPECT_GT(parts.most_parts, 1);
    EXPECT_TRUE(*whole.value == *few.value) << "with few workgroups along an axis";
    EXPECT_TRUE(*whole.value == *parts.value) << "in parts";
  }
}

}  // namespace work_limit_test
}  // namespace VXLA_NAMESPACE::testing
