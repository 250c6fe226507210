// Each Vulkan call that can fail fails in turn, from opening a device to closing it: the failure has a name, nothing
// leaks or hangs, and the next client works. VXLA_TEST_LONG=1 tries every call; else a few are left out.
#include <gmock/gmock.h>

#include <cstdlib>
#include <map>
#include <set>

#include "backend/cpu/reference/evaluator.h"
#include "backend/vulkan/device/vk_status.h"
#include "core/text/hlo_parser.h"
#include "scheduler/client.h"
#include "scheduler/plan.h"
#include "tests/support/faulty_loader.h"
#include "tests/vulkan/vulkan_test_support.h"

namespace VXLA_NAMESPACE::vulkan {
namespace fault_layer_test {

using ::testing::HasSubstr;

// Constants, a sum over a workgroup, a loop whose end the device computes, two results.
constexpr char kProgram[] = R"(HloModule m
add { a = s32[] parameter(0) b = s32[] parameter(1) ROOT s = s32[] add(a, b) }
condition {
  p = (s32[64], s32[]) parameter(0)
  x = s32[64] get-tuple-element(p), index=0
  n = s32[] get-tuple-element(p), index=1
  zero = s32[] constant(0)
  total = s32[] reduce(x, zero), dimensions={0}, to_apply=add
  ROOT go = pred[] compare(total, n), direction=LT
}
body {
  p = (s32[64], s32[]) parameter(0)
  x = s32[64] get-tuple-element(p), index=0
  n = s32[] get-tuple-element(p), index=1
  steps = s32[64] iota(), iota_dimension=0
  y = s32[64] add(x, steps)
  ROOT t = (s32[64], s32[]) tuple(y, n)
}
ENTRY main {
  x = s32[64] parameter(0)
  n = s32[] constant(5000)
  start = (s32[64], s32[]) tuple(x, n)
  end = (s32[64], s32[]) while(start), condition=condition, body=body
  y = s32[64] get-tuple-element(end), index=0
  twice = s32[64] add(y, y)
  ROOT r = (s32[64], s32[64]) tuple(y, twice)
})";

// Their failure costs time only, or comes when everything is over anyway.
bool MaySucceedAfter(const std::string& call) {
  static const std::set<std::string> calls = {
      "vkDeviceWaitIdle",        "vkCreatePipelineCache",        "vkGetPipelineCacheData",
      "vkAllocateMemory",        "vkSetDebugUtilsObjectNameEXT", "vkGetSemaphoreCounterValue",
      "vkAllocateDescriptorSets"};
  return calls.contains(call);
}

class FaultLayerTest : public DeviceTest {
 protected:
  void SetUp() override { ASSERT_TRUE(loader_.open()) << testing::FaultyLoader::Path(); }

  OpenOptions Faulty() const {
    OpenOptions options = Options();
    options.loader_path = testing::FaultyLoader::Path();
    options.cache_dir = SharedCacheFolder();
    return options;
  }

  // All of it: open, compile, run, download, close.
  Status RunAll(const OpenOptions& options, bool profile = true) const {
    VXLA_ASSIGN_OR_RETURN(std::shared_ptr<Device> device, OpenDevice(GetParam().index, options));
    auto evaluator = std::make_shared<InstructionEvaluator>(EvaluateOptions{});
    Client client(device, [evaluator](const Instruction& instruction, std::span<const Literal* const> operands) {
      return evaluator->Evaluate(instruction, operands);
    });
    const auto module = ParseHlo(kProgram);
    VXLA_CHECK(module.ok(), module.status().message());
    CompileOptions compile;
    compile.profile = profile;
    VXLA_ASSIGN_OR_RETURN(const auto executable, client.Compile(**module, compile));
    if (!executable->plan().faults.empty()) return Internal("planning failed: {}", executable->plan().faults[0].error);
    Literal x(Shape(ElementType::kS32, {64}));
    const Literal* arguments[] = {&x};
    for (int run = 0; run < 2; ++run) {
      RunStatistics statistics;
      VXLA_ASSIGN_OR_RETURN(const Literal result, executable->Run(arguments, &statistics));
      for (int64_t i = 0; i < 64; ++i) {
        EXPECT_EQ(FlattenLiteral(result)[0]->GetInt(i), 3 * i);
        EXPECT_EQ(FlattenLiteral(result)[1]->GetInt(i), 6 * i);
      }
    }
    return OkStatus();
  }

  // Fails call number `call`, and says whether there was one.
  bool FailOnce(int64_t call, int variant, const OpenOptions& options) {
    loader_.FailAt(call, variant);
    const Status status = RunAll(options);
    int32_t result = 0;
    const std::string failed = loader_.failed(result);
    const std::string what = fmt::format("call {} ({}, {})", call, failed, ResultName(static_cast<VkResult>(result)));
    EXPECT_EQ(loader_.leaks(), "") << what;
    if (failed.empty()) {
      EXPECT_TRUE(status.ok()) << status.message();
      return false;
    }
    ++tried_[failed];
    if (status.ok()) {
      EXPECT_TRUE(MaySucceedAfter(failed)) << what << " had no consequence";
    } else {
      EXPECT_THAT(status.message(), HasSubstr(failed)) << what;
      EXPECT_THAT(status.message(), HasSubstr(ResultName(static_cast<VkResult>(result)))) << what;
    }
    return true;
  }

  const testing::FaultyLoader loader_;
  std::map<std::string, int> tried_;
};
INSTANTIATE_TEST_SUITE_P(All, FaultLayerTest, ::testing::ValuesIn(DeviceCases()), CaseName);

bool TriesAll() { return std::getenv("VXLA_TEST_LONG") != nullptr; }

TEST_P(FaultLayerTest, EveryFailureIsReportedAndLeaksNothing) {
  loader_.FailAt(-1, 0);
  VXLA_ASSERT_OK(RunAll(Faulty()));
  EXPECT_EQ(loader_.leaks(), "");
  const int variants = TriesAll() ? 6 : 1;
  for (int64_t call = 0;; ++call) {
    bool reached = false;
    for (int variant = 0; variant < variants; ++variant) {
      reached = FailOnce(call, variants == 1 ? static_cast<int>(call) : variant, Faulty());
    }
    if (!reached) break;
  }
  for (const char* call : {"vkCreateInstance", "vkCreateDevice", "vkAllocateMemory", "vkCreateComputePipelines",
                           "vkQueueSubmit2", "vkWaitSemaphores", "vkGetQueryPoolResults"}) {
    EXPECT_GT(tried_[call], 0) << call;
  }
  loader_.FailAt(-1, 0);
  VXLA_ASSERT_OK(RunAll(Faulty()));
}

}  // namespace fault_layer_test
}  // namespace VXLA_NAMESPACE::vulkan
