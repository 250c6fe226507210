// Each Vulkan call that can fail fails in turn, from opening a device to closing it: the failure has a name, nothing
// leaks or hangs, and the next client works. VXLA_TEST_LONG=1 tries every call with every result.
#include <gmock/gmock.h>

#include <cstdlib>
#include <set>

#include "backend/cpu/reference/evaluator.h"
#include "backend/vulkan/device/api/vk_status.h"
#include "core/text/hlo_parser.h"
#include "scheduler/plan/plan.h"
#include "scheduler/runtime/client.h"
#include "tests/support/faulty_loader.h"
#include "tests/vulkan/vulkan_test_support.h"

namespace VXLA_NAMESPACE::vulkan {
namespace fault_layer_test {

using ::testing::ContainsRegex;
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

// What a failure may leave unharmed: it costs time only, there is another way, or all is over anyway.
bool MaySucceedAfter(const std::string& call, const std::string& result, bool for_good) {
  static const std::set<std::string> never = {"vkDeviceWaitIdle", "vkCreatePipelineCache", "vkGetPipelineCacheData",
                                              "vkSetDebugUtilsObjectNameEXT", "vkGetSemaphoreCounterValue"};
  // A block of memory, or a pool of descriptors, that is not to be had may be had smaller, or another.
  static const std::set<std::string> once = {"vkAllocateMemory", "vkCreateBuffer", "vkBindBufferMemory", "vkMapMemory",
                                             "vkAllocateDescriptorSets"};
  // Who waits in steps, as the thread that waits for runs does, waits again.
  const bool waits_again = call == "vkWaitSemaphores" && result == "VK_TIMEOUT";
  return never.contains(call) || (!for_good && (once.contains(call) || waits_again));
}

class FaultLayerTest : public DeviceTest {
 protected:
  void SetUp() override { ASSERT_TRUE(loader_.open()) << testing::FaultyLoader::Path(); }

  OpenOptions Faulty() const {
    OpenOptions options = Options();
    options.loader_path = testing::FaultyLoader::Path();
    options.cache_dir = SharedCacheFolder();
    options.memory_limit_bytes = 64 << 20;  // small blocks: SwiftShader clears each
    return options;
  }

  // All of it: open, compile, run, download, close.
  Status RunAll(const OpenOptions& options) const {
    VXLA_ASSIGN_OR_RETURN(std::shared_ptr<Device> device, OpenDevice(GetParam().index, options));
    auto evaluator = std::make_shared<InstructionEvaluator>(EvaluateOptions{});
    Client client(device, [evaluator](const Instruction& instruction, std::span<const Literal* const> operands) {
      return evaluator->Evaluate(instruction, operands);
    });
    const auto module = ParseHlo(kProgram);
    VXLA_CHECK(module.ok(), module.status().message());
    CompileOptions compile;
    compile.profile = true;
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

  // Fails call number `call` and says whether there was one.
  bool Fails(int64_t call, int variant, bool for_good) {
    loader_.FailAt(call, variant, for_good);
    const Status status = RunAll(Faulty());
    int32_t number = 0;
    const std::string failed = loader_.failed(number);
    const std::string result = ResultName(static_cast<VkResult>(number));
    const std::string what = fmt::format("call {} ({}, {}{})", call, failed, result, for_good ? ", for good" : "");
    EXPECT_EQ(loader_.leaks(), "") << what;
    if (failed.empty()) {
      EXPECT_TRUE(status.ok()) << status.message();
      return false;
    }
    if (status.ok()) {
      EXPECT_TRUE(MaySucceedAfter(failed, result, for_good)) << what << " had no consequence";
    } else {
      EXPECT_THAT(status.message(), HasSubstr(failed)) << what;
      EXPECT_THAT(status.message(), HasSubstr(result)) << what;
    }
    return true;
  }

  const testing::FaultyLoader loader_;
};
INSTANTIATE_TEST_SUITE_P(All, FaultLayerTest, ::testing::ValuesIn(DeviceCases()), CaseName);

TEST_P(FaultLayerTest, EveryFailureIsReportedAndLeaksNothing) {
  loader_.FailAt(-1);
  VXLA_ASSERT_OK(RunAll(Faulty()));
  EXPECT_EQ(loader_.leaks(), "");
  const bool all = std::getenv("VXLA_TEST_LONG") != nullptr;
  const int64_t stride = all ? 1 : 4;
  bool reached = true;
  for (int64_t call = 0; reached; call += stride) {
    for (int variant = 0; variant < (all ? 7 : 1); ++variant) {
      reached = Fails(call, all ? variant : static_cast<int>(call / stride), all ? variant % 2 : call % 2);
    }
  }
  loader_.FailAt(-1);
  VXLA_ASSERT_OK(RunAll(Faulty()));
}

TEST_P(FaultLayerTest, ALostDeviceSaysSoAndAnotherCanBeOpenedBesideIt) {
  loader_.FailAt(-1);
  OpenOptions options = Faulty();
  options.emulate.synchronization2 = GetParam().mode == BindingMode::kDescriptors;
  auto device = OpenDevice(GetParam().index, options);
  VXLA_ASSERT_OK(device.status());
  const std::string name = (*device)->facts().name;
  auto commands = (*device)->CreateCommandBuffer(0);
  VXLA_ASSERT_OK(commands.status());
  VXLA_ASSERT_OK((*commands)->Begin());
  VXLA_ASSERT_OK((*commands)->End());
  loader_.FailAt(0, 2);
  EXPECT_EQ((*device)->Submit(**commands, {}).status().message(),
            fmt::format("device {} was lost: vkQueueSubmit{}: VK_ERROR_DEVICE_LOST (-4); open it again", name,
                        options.emulate.synchronization2 ? "" : "2"));
  const Status later = (*device)->Allocate(16, MemoryKind::kDevice).status();
  EXPECT_EQ(later.code(), StatusCode::kDeviceFailure);
  EXPECT_EQ(later.message(), fmt::format("device {} was lost; open it again", name));
  VXLA_ASSERT_OK(RunAll(Faulty()));
  commands->reset();
  device->reset();
  EXPECT_EQ(loader_.leaks(), "");
}

TEST_P(FaultLayerTest, ARefusalOfMemorySaysWhatWasWantedAndWhatIsHeld) {
  loader_.FailAt(-1);
  auto device = OpenDevice(GetParam().index, Faulty());
  VXLA_ASSERT_OK(device.status());
  loader_.FailAt(1, 1, /*for_good=*/true);  // after vkCreateBuffer
  const Status status = (*device)->Allocate(30'000'128, MemoryKind::kDevice).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(),
              HasSubstr("refuses 30000128 bytes of memory heap 0 (device-local): this program holds"));
  EXPECT_THAT(status.message(), ContainsRegex("of its [0-9]+ bytes(; its budget is [0-9]+ bytes now, [0-9]+ of them in "
                                              "use)? \\(vkAllocateMemory: VK_ERROR_OUT_OF_DEVICE_MEMORY\\)"));
}

// A driver without its GPU takes submissions and runs none (Mesa's drivers over stand-ins for the kernel's part).
TEST_P(FaultLayerTest, ADeviceThatRunsNothingIsToCompileForOnly) {
  loader_.FailAt(-1);
  loader_.RunNothing(true);
  OpenOptions options = Faulty();
  options.cache = false;  // what was found of the device that runs
  const Status refused = OpenDevice(GetParam().index, options).status();
  options.compile_only = true;
  const auto device = OpenDevice(GetParam().index, options);
  loader_.RunNothing(false);
  EXPECT_EQ(refused.code(), StatusCode::kDeviceFailure);
  EXPECT_THAT(refused.message(), HasSubstr("null hardware, for which kernels compile"));
  VXLA_ASSERT_OK(device.status());
  EXPECT_TRUE((*device)->facts().compile_only);
  EXPECT_TRUE((*device)->facts().fused_multiply_add);
  options.compile_only = false;
  VXLA_ASSERT_OK(OpenDevice(GetParam().index, options).status());
}

}  // namespace fault_layer_test
}  // namespace VXLA_NAMESPACE::vulkan
