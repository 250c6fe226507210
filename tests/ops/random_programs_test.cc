// Random programs plan without a fault of fusion or codegen, and run on the device as on the CPU reference.
#include "tests/support/random_programs.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "backend/vulkan/device/plan/pretend.h"
#include "core/passes/base/pipeline.h"
#include "scheduler/compile.h"
#include "scheduler/memory/result_copies.h"
#include "scheduler/plan/plan_printer.h"
#include "tests/codegen/codegen_test_support.h"
#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace random_programs_test {

// As many programs run on the device; tools/test.sh --full asks for more.
int ProgramsToRun() {
  const char* wanted = std::getenv("VXLA_TEST_RANDOM_PROGRAMS");
  return wanted != nullptr ? std::max(5, std::atoi(wanted)) : 250;
}

struct Target {
  const char* name;
  DeviceFacts facts;
  BindingMode bindings;
};

std::vector<Target> Targets() {
  DeviceFacts software = vulkan::FullFacts();
  software.subgroup_size = 8;
  software.subgroup_shuffle = true;
  DeviceFacts discrete = software;
  vulkan::PretendGpu(discrete);
  discrete.subgroup_size = 32;
  DeviceFacts bare = vulkan::BareFacts();
  bare.max_storage_buffers = 8;
  return {{"software", software, BindingMode::kAddresses},
          {"discrete", discrete, BindingMode::kAddresses},
          {"bare", bare, BindingMode::kDescriptors}};
}

// The faults of planning the program, and an error that it ends in.
std::vector<std::string> FaultsOf(const Module& module, const Target& target) {
  auto optimized = Optimize(module, TargetOf(target.facts, target.bindings, true));
  if (!optimized.ok()) return {optimized.status().message()};
  const auto lowering = vulkan::MakeLowering(target.facts, target.bindings);
  CopySharedResults(**optimized, *lowering);
  PlanOptions options;
  options.bindings = target.bindings;
  const auto plan = MakePlan(**optimized, *lowering, target.facts, options);
  if (!plan.ok()) return {plan.status().message()};
  std::vector<std::string> faults;
  for (const PlanFault& fault : plan->faults) faults.push_back(ToText(fault));
  return faults;
}

TEST(RandomProgramsTest, OfAThousandNoneHasAFaultOfFusionOrCodegen) {
  const std::vector<Target> targets = Targets();
  int faults = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    RandomProgramOptions options;
    options.families = seed % 2 == 1;
    const RandomProgram program = MakeRandomProgram(seed, options);
    const auto module = ParseModule(program.text);
    ASSERT_NE(module, nullptr) << "seed " << seed;
    for (const Target& target : targets) {
      for (const std::string& fault : FaultsOf(*module, target)) {
        ++faults;
        std::printf("seed %d for %s: %s\n", static_cast<int>(seed), target.name, fault.c_str());
      }
    }
  }
  EXPECT_EQ(faults, 0);
}

TEST(RandomProgramsTest, TheSameSeedIsTheSameProgramAndOthersDiffer) {
  EXPECT_EQ(MakeRandomProgram(7).text, MakeRandomProgram(7).text);
  EXPECT_NE(MakeRandomProgram(7).text, MakeRandomProgram(8).text);
}

// What the programs are there for is in them.
TEST(RandomProgramsTest, EveryKindOfOperationAndTypeOccurs) {
  std::string all;
  RandomProgramOptions options;
  options.families = true;
  for (uint64_t seed = 0; seed < 200; ++seed)
    all += MakeRandomProgram(seed).text + MakeRandomProgram(seed, options).text;
  for (const char* piece : {" dot(",
                            " dynamic-slice(",
                            " dynamic-update-slice(",
                            " gather(",
                            " scatter(",
                            " sort(",
                            " convolution(",
                            " fft(",
                            " cholesky(",
                            " triangular-solve(",
                            " topk(",
                            " select-and-scatter(",
                            " batch-norm-inference(",
                            " rng-bit-generator(",
                            " conditional(",
                            " call(",
                            " map(",
                            " reduce-precision(",
                            " clamp(",
                            "lhs_batch_dims",
                            " reduce(",
                            "to_apply=largest",
                            " reduce-window(",
                            " while(",
                            " reshape(",
                            " transpose(",
                            " slice(",
                            " concatenate(",
                            " pad(",
                            " reverse(",
                            " broadcast(",
                            " select(",
                            " convert(",
                            " divide(",
                            "bf16[",
                            "f16[",
                            "f64[",
                            "c64[",
                            "s4[",
                            "u4[",
                            "s8[",
                            "u8[",
                            "s16[",
                            "u16[",
                            "s32[",
                            "u32[",
                            "s64[",
                            "u64[",
                            "pred[",
                            " remainder(",
                            " power(",
                            " shift-left(",
                            " shift-right-logical(",
                            " shift-right-arithmetic(",
                            " bitcast-convert(",
                            "[0",
                            "13"}) {
    EXPECT_NE(all.find(piece), std::string::npos) << piece;
  }
}

// Elements that are apart by more than `error`.
int64_t Apart(const Literal& actual, const Literal& expected, double error) {
  if (error == 0) return Compare(actual, expected, Tolerance{}).mismatches;
  Tolerance tolerance;
  tolerance.atol = error;
  return Compare(actual, expected, tolerance).mismatches;
}

void RunOne(int seed, const RandomProgramOptions& options) {
  const std::vector<BindingMode> modes = ModesToRun();
  const RandomProgram program = MakeRandomProgram(static_cast<uint64_t>(seed), options);
  SCOPED_TRACE(fmt::format("seed {}\n{}", seed, program.text));
  const auto module = ParseModule(program.text);
  ASSERT_NE(module, nullptr);
  const std::vector<Literal> arguments = RandomArguments(*module, static_cast<uint64_t>(seed));
  const auto expected = RunOnCpu(*module, arguments);
  // One of the modes: the other seeds take the other one.
  const auto actual = RunOnDevice(modes[static_cast<size_t>(seed) % modes.size()], *module, arguments);
  ASSERT_TRUE(expected.has_value() && actual.has_value());
  const auto want = FlattenLiteral(*expected), got = FlattenLiteral(*actual);
  for (size_t k = 0; k < want.size(); ++k) {
    EXPECT_EQ(Apart(*got[k], *want[k], program.errors[k]), 0)
        << "result " << k << ", a " << want[k]->shape().ToString() << ", by more than " << program.errors[k];
  }
}

// `seeds` of them from `first` on, until five have failed. VXLA_TEST_RANDOM_FIRST is added to each seed.
void RunAll(int first, int seeds, const RandomProgramOptions& options) {
  const char* from = std::getenv("VXLA_TEST_RANDOM_FIRST");
  if (from != nullptr) first += std::atoi(from);
  const ::testing::TestResult& result = *::testing::UnitTest::GetInstance()->current_test_info()->result();
  int failed = 0;
  for (int seed = first; seed < first + seeds && failed < 5; ++seed) {
    const int parts = result.total_part_count();
    RunOne(seed, options);
    failed += result.total_part_count() > parts ? 1 : 0;
  }
}

// Of them a fifth is small and dense in what fusion meets; the others are of all families, up to 40 operations each,
// as two tests that run side by side.
void RunOfAllFamilies(int part) {
  RandomProgramOptions options;
  options.steps = 16;
  options.families = true;
  const int count = 2 * ProgramsToRun() / 5;
  RunAll(part * count, count, options);
}

TEST(RandomProgramsTest, SmallOnesAreAsOnTheReference) { RunAll(0, ProgramsToRun() / 5, {}); }
TEST(RandomProgramsTest, OfAllFamiliesTheyAreAsOnTheReference) { RunOfAllFamilies(0); }
TEST(RandomProgramsTest, OfAllFamiliesMoreAreAsOnTheReference) { RunOfAllFamilies(1); }

}  // namespace random_programs_test
}  // namespace VXLA_NAMESPACE::testing
