// The fault drill: kernels that are wrong on purpose (a wrong function, a missing barrier, a wrong index), each to be
// found and named by diff. The wrong text goes in through the device's source hook, which no option of the command
// reaches.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <string>

#include "api/verify/diff.h"
#include "api/verify/diff_side.h"
#include "api/verify/seeded_arguments.h"
#include "backend/cpu/twin/shader_functions.h"
#include "backend/cpu/twin/shader_math.h"
#include "backend/device.h"
#include "backend/vulkan/device/vulkan_device.h"
#include "backend/vulkan/lower/lower.h"
#include "backend/vulkan/shader/shader_source.h"
#include "core/passes/base/verifier.h"
#include "core/text/hlo_parser.h"

namespace VXLA_NAMESPACE::testing {
namespace {

// What is wrong with a kernel's text: the first place of `find` becomes `replace`, or every place.
struct Fault {
  std::string find, replace;
  bool everywhere = false;
  std::string only_beside = {};  // in kernels that have this text too
};

struct Drilled {
  DiffOutcome outcome;
  int kernels_changed = 0;
};

void Edit(std::string& text, const Fault& fault, int* changed) {
  size_t at = text.find(fault.find);
  if (text.find(fault.only_beside) == std::string::npos) return;
  if (at == std::string::npos) return;
  ++*changed;
  do {
    text.replace(at, fault.find.size(), fault.replace);
    at = text.find(fault.find, at + fault.replace.size());
  } while (fault.everywhere && at != std::string::npos);
}

std::unique_ptr<DiffSide> OpenFaulty(const Fault& fault, std::shared_ptr<std::atomic<int>> changed) {
  const auto devices = vulkan::ListDevices();
  if (!devices.ok()) return nullptr;
  const char* wanted = std::getenv("VXLA_TEST_DEVICE");
  const auto index = vulkan::ChooseDevice(*devices, wanted != nullptr ? wanted : "vulkan");
  if (!index.ok()) return nullptr;
  vulkan::OpenOptions options;
  options.cache = false;
  auto source = [fault, changed](const KernelKey& key, const DeviceFacts& facts,
                                 BindingMode mode) -> Result<std::string> {
    VXLA_ASSIGN_OR_RETURN(std::string text, vulkan::AssembleShader(key, facts, mode));
    int edits = 0;
    if (!fault.find.empty()) Edit(text, fault, &edits);
    *changed += edits;
    return text;
  };
  auto device = vulkan::OpenDeviceWith(*index, options, {source, vulkan::MakeLowering});
  if (!device.ok()) return nullptr;
  return std::make_unique<DiffSide>(MakeClient(std::shared_ptr<Device>(std::move(*device)), EvaluateOptions()),
                                    CompileOptions());
}

std::optional<Drilled> Drill(const std::string& hlo, const Fault& fault) {
  auto module = ParseHlo(hlo);
  if (!module.ok() || !Verify(**module).ok()) {
    ADD_FAILURE() << (module.ok() ? Verify(**module).message() : module.status().message());
    return std::nullopt;
  }
  auto arguments = SeededArguments(**module, 3);
  auto changed = std::make_shared<std::atomic<int>>(0);
  const auto device = OpenFaulty(fault, changed);
  if (device == nullptr || !arguments.ok()) {
    ADD_FAILURE() << "no device";
    return std::nullopt;
  }
  std::vector<const Literal*> pointers;
  for (const Literal& argument : *arguments) pointers.push_back(&argument);
  auto outcome = RunDiff(**module, pointers, *device, nullptr, std::nullopt, {});
  if (!outcome.ok()) {
    ADD_FAILURE() << outcome.status().message();
    return std::nullopt;
  }
  return Drilled{std::move(*outcome), changed->load()};
}

// Instructions before and after, so that naming the right one says something.
constexpr char kPointwise[] =
    "ENTRY e { x = f32[37,41] parameter(0)  y = f32[37,41] parameter(1)\n"
    "  before = f32[37,41] multiply(x, y)  wrong = f32[37,41] exponential(before)  after = f32[37,41] subtract(wrong, "
    "y)\n"
    "  ROOT t = f32[37,41] tanh(after) }";

void WrongExponential(const void* const* in, void* out, int64_t n, const int*) {
  for (int64_t i = 0; i < n; ++i)
    static_cast<float*>(out)[i] = shader_math::exponential_f32(static_cast<const float*>(in[0])[i] * 1.0009765625f);
}

Fault WrongExponentialInGlsl() {
  return {"exponential_f32(float x) {", "exponential_f32(float x) {\n  x = x * 1.0009765625f;"};
}

TEST(FaultDrillTest, SoundKernelsShowNothing) {
  const auto drilled = Drill(kPointwise, {});
  ASSERT_TRUE(drilled.has_value());
  EXPECT_TRUE(drilled->outcome.agrees());
  EXPECT_EQ(drilled->outcome.fault, "");
  for (const LeafReport& leaf : drilled->outcome.leaves) EXPECT_TRUE(leaf.driver->agrees());
}

TEST(FaultDrillTest, AWrongFunctionOnBothMachinesIsTheAlgorithms) {
  ReplaceShaderFunctionForTest("exponential_f32", WrongExponential);
  const auto drilled = Drill(kPointwise, WrongExponentialInGlsl());
  ReplaceShaderFunctionForTest("exponential_f32", nullptr);
  ASSERT_TRUE(drilled.has_value());
  EXPECT_GT(drilled->kernels_changed, 0);
  EXPECT_EQ(drilled->outcome.fault, "algorithm");
  EXPECT_EQ(drilled->outcome.first_bad, "wrong");
  for (const LeafReport& leaf : drilled->outcome.leaves) EXPECT_TRUE(leaf.driver->agrees());
}

TEST(FaultDrillTest, AWrongFunctionOnTheDeviceAloneIsTheDrivers) {
  const auto drilled = Drill(kPointwise, WrongExponentialInGlsl());
  ASSERT_TRUE(drilled.has_value());
  EXPECT_GT(drilled->kernels_changed, 0);
  EXPECT_EQ(drilled->outcome.fault, "driver");
  EXPECT_EQ(drilled->outcome.first_bad, "wrong");
}

TEST(FaultDrillTest, AMissingBarrierIsFoundInTheReduction) {
  // 64-bit integers join their lanes through shared memory; three rows are few enough to have many lanes each.
  const char* hlo =
      "sum { a = s64[] parameter(0)  b = s64[] parameter(1)  ROOT r = s64[] add(a, b) }\n"
      "ENTRY e { x = s64[3,4096] parameter(0)  zero = s64[] constant(0)  before = s64[3,4096] multiply(x, x)\n"
      "  sums = s64[3] reduce(before, zero), dimensions={1}, to_apply=sum  ROOT after = s64[3] negate(sums) }";
  const auto drilled = Drill(hlo, {"barrier();", "", true});
  ASSERT_TRUE(drilled.has_value());
  EXPECT_GT(drilled->kernels_changed, 0);
  EXPECT_FALSE(drilled->outcome.agrees());
  EXPECT_EQ(drilled->outcome.fault, "driver");
  EXPECT_EQ(drilled->outcome.first_bad, "sums");
}

TEST(FaultDrillTest, AWrongIndexIsFoundInTheProduct) {
  const char* hlo =
      "ENTRY e { a = f32[37,41] parameter(0)  b = f32[41,43] parameter(1)  before = f32[37,41] negate(a)\n"
      "  product = f32[37,43] dot(before, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}  ROOT after = "
      "f32[37,43] abs(product) }";
  const auto drilled = Drill(hlo, {"min(first_row + i", "min(first_row + 1u + i", true});
  ASSERT_TRUE(drilled.has_value());
  EXPECT_GT(drilled->kernels_changed, 0);
  EXPECT_EQ(drilled->outcome.fault, "driver");
  EXPECT_EQ(drilled->outcome.first_bad, "product");
}

TEST(FaultDrillTest, AFaultThatOnlyTheFusedKernelHasIsFoundInThePlan) {
  Fault fault = WrongExponentialInGlsl();
  fault.only_beside = "tanh_f32(float x) {";
  const auto drilled = Drill(kPointwise, fault);
  ASSERT_TRUE(drilled.has_value());
  EXPECT_GT(drilled->kernels_changed, 0);
  EXPECT_EQ(drilled->outcome.fault, "driver");
  EXPECT_EQ(drilled->outcome.first_bad.substr(0, 6), "fusion");
  EXPECT_EQ(drilled->outcome.bad_instruction(), nullptr);
}

// Forty steps of a map that doubles each error leave nothing of a number's bits: rounding explains any result, so that
// only the instruction by itself shows the fault.
constexpr char kChaotic[] =
    "condition { s = (s32[], f32[500]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(40)  "
    "ROOT c "
    "= pred[] compare(i, n), direction=LT }\n"
    "body { s = (s32[], f32[500]) parameter(0)  i = s32[] get-tuple-element(s), index=0  x = f32[500] "
    "get-tuple-element(s), "
    "index=1  one = s32[] constant(1)\n"
    "  k = f32[] constant(3.9)  kk = f32[500] broadcast(k), dimensions={}  u = f32[] constant(1)  uu = f32[500] "
    "broadcast(u), dimensions={}\n"
    "  y = f32[500] subtract(uu, x)  z = f32[500] multiply(x, y)  w = f32[500] multiply(kk, z)  next = s32[] add(i, "
    "one)  "
    "ROOT t = (s32[], f32[500]) tuple(next, w) }\n"
    "ENTRY e { p = f32[500] parameter(0)  zero = s32[] constant(0)  a = f32[500] abs(p)  before = f32[500] negate(a)\n"
    "  wrong = f32[500] exponential(before)  s = (s32[], f32[500]) tuple(zero, wrong)  l = (s32[], f32[500]) while(s), "
    "condition=condition, body=body\n"
    "  ROOT r = f32[500] get-tuple-element(l), index=1 }";

TEST(FaultDrillTest, AChaoticProgramOfSoundKernelsAgrees) {
  const auto drilled = Drill(kChaotic, {});
  ASSERT_TRUE(drilled.has_value());
  EXPECT_TRUE(drilled->outcome.agrees()) << drilled->outcome.first_bad << " " << drilled->outcome.fault;
  EXPECT_GT(drilled->outcome.amplification().value_or(0), 1e4);
}

// One in ten thousand is far more than an exponential's bound, and far less than what the program does to rounding
// errors.
Fault SmallFaultInGlsl() { return {"exponential_f32(float x) {", "exponential_f32(float x) {\n  x = x + 0.0001;"}; }

TEST(FaultDrillTest, ASmallFaultIsNotTakenForAmplifiedRounding) {
  for (const bool both_machines : {false, true}) {
    if (both_machines) {
      ReplaceShaderFunctionForTest("exponential_f32", [](const void* const* in, void* out, int64_t n, const int*) {
        for (int64_t i = 0; i < n; ++i)
          static_cast<float*>(out)[i] = shader_math::exponential_f32(static_cast<const float*>(in[0])[i] + 0.0001f);
      });
    }
    const auto drilled = Drill(kChaotic, SmallFaultInGlsl());
    ReplaceShaderFunctionForTest("exponential_f32", nullptr);
    ASSERT_TRUE(drilled.has_value());
    EXPECT_GT(drilled->kernels_changed, 0);
    EXPECT_FALSE(drilled->outcome.agrees());
    EXPECT_EQ(drilled->outcome.first_bad, "wrong");
    EXPECT_EQ(drilled->outcome.fault, both_machines ? "algorithm" : "driver");
  }
}

TEST(FaultDrillTest, ASmallFaultBesideALongProductIsNamed) {
  const char* hlo =
      "ENTRY e { x = f32[32,2048] parameter(0)  w = f32[2048,48] parameter(1)\n"
      "  d = f32[32,48] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}  h = f32[32,48] tanh(d)  wrong = "
      "f32[32,48] exponential(h)  ROOT r = f32[32,48] log(wrong) }";
  const auto drilled = Drill(hlo, SmallFaultInGlsl());
  ASSERT_TRUE(drilled.has_value());
  EXPECT_GT(drilled->kernels_changed, 0);
  EXPECT_FALSE(drilled->outcome.agrees());
  EXPECT_EQ(drilled->outcome.first_bad, "wrong");
  EXPECT_EQ(drilled->outcome.fault, "driver");
}

TEST(FaultDrillTest, TheSmallProgramShowsTheSameDifference) {
  const auto module = ParseHlo(kPointwise);
  ASSERT_TRUE(module.ok());
  const auto drilled = Drill(kPointwise, WrongExponentialInGlsl());
  ASSERT_TRUE(drilled.has_value());
  const InstructionReport* bad = drilled->outcome.bad_instruction();
  ASSERT_NE(bad, nullptr);
  ASSERT_NE(bad->program, nullptr);
  const auto device = OpenFaulty(WrongExponentialInGlsl(), std::make_shared<std::atomic<int>>(0));
  ASSERT_NE(device, nullptr);
  const std::vector<const Literal*> pointers = bad->program->pointers();
  const auto again = RunDiff(*bad->program->module, pointers, *device, nullptr, std::nullopt, {});
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_FALSE(again->agrees());
  EXPECT_EQ(again->leaves.at(0).comparison.mismatches, bad->device.mismatches);
  EXPECT_EQ(again->leaves.at(0).comparison.max_ulp, bad->device.max_ulp);
  EXPECT_EQ(again->fault, "driver");
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
