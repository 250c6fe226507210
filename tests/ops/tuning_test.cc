// What `vxla bench --tune` keeps: programs take it, and it changes no bits.
#include "backend/vulkan/lower/tuning/tuning.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "backend/vulkan/device/probes/kept_tuning.h"
#include "backend/vulkan/drivers/software/software_driver.h"
#include "tests/support/gpu_client.h"
#include "tests/support/lowered_run.h"

namespace VXLA_NAMESPACE::testing {
namespace {

std::shared_ptr<Device> Tuned(const DeviceTuning& tuning, bool as_gpu, const std::string& cache_dir = {},
                              GpuFamily family = GpuFamily::kAny) {
  vulkan::OpenOptions options = TestOptions(BindingMode::kDescriptors);
  options.emulate.gpu = as_gpu;
  options.emulate.family = family;
  if (cache_dir.empty()) {
    options.tuning = tuning;
  } else {
    options.cache = true;
    options.cache_dir = cache_dir;
  }
  auto device = OpenTestDevice(options);
  EXPECT_TRUE(device.ok()) << device.status().message();
  return device.ok() ? *device : nullptr;
}

struct TunedRun {
  std::string kernel;
  Literal result;
};
// Nothing, and a failed test, where it does not run.
std::optional<TunedRun> RunTuned(const DeviceTuning& tuning, bool as_gpu, const Module& module,
                                 const std::vector<Literal>& arguments, GpuFamily family = GpuFamily::kAny) {
  std::shared_ptr<Device> device = Tuned(tuning, as_gpu, {}, family);
  if (device == nullptr) return std::nullopt;
  const std::unique_ptr<Client> client = MakeTestClient(std::move(device));
  const auto executable = client->Compile(module);
  EXPECT_TRUE(executable.ok()) << executable.status().message();
  if (!executable.ok()) return std::nullopt;
  std::vector<const Literal*> pointers;
  for (const Literal& argument : arguments) pointers.push_back(&argument);
  Result<Literal> result = (*executable)->Run(pointers);
  EXPECT_TRUE(result.ok()) << result.status().message();
  if (!result.ok()) return std::nullopt;
  const KernelKey& key = (*executable)->plan().kernels.at(0);
  std::string kernel = key.generated;
  for (const uint32_t constant : key.constants) kernel += fmt::format("|{}", constant);
  return TunedRun{std::move(kernel), std::move(*result)};
}

DeviceTuning With(uint32_t DeviceTuning::*value, uint32_t number) {
  DeviceTuning tuning;
  tuning.*value = number;
  return tuning;
}

TEST(TuningTest, WorkgroupsThatKeepADeviceBusyAreThoseThatItsUnitsHold) {
  DeviceFacts facts;
  facts.kind = DeviceFacts::Kind::kDiscrete;
  facts.vendor_id = 0x10DE;
  const int64_t table = vulkan::TraitsOf(facts).busy_groups;
  // A GeForce RTX 4090, a GTX 1650: their drivers list 128 units of 48 subgroups, 14 of 32.
  facts.compute_units = 128, facts.unit_invocations = 1536;
  EXPECT_EQ(vulkan::TraitsOf(facts).busy_groups, 768);
  facts.compute_units = 14, facts.unit_invocations = 1024;
  EXPECT_EQ(vulkan::TraitsOf(facts).busy_groups, 56);
  facts.compute_units = 1 << 20;
  EXPECT_EQ(vulkan::TraitsOf(facts).busy_groups, 4096) << "no driver's number makes grids that only cost";
  facts.tuned.busy_groups = 300;
  EXPECT_EQ(vulkan::TraitsOf(facts).busy_groups, 300) << "what was measured comes first";
  EXPECT_NE(table, 768);
}

TEST(TuningTest, TwoWorkgroupsOfAProductFitAUnitsSharedMemory) {
  DeviceFacts facts;
  facts.kind = DeviceFacts::Kind::kDiscrete;
  facts.vendor_id = 0x1002;
  facts.max_shared_bytes = 65536, facts.max_workgroup_invocations = 1024;
  vulkan::DotWork work;
  work.rows = work.columns = work.k = 4096;
  work.quads = true;
  const auto shared = [&] {
    const vulkan::DotShape shape = vulkan::TuneDot(facts, work);
    EXPECT_TRUE(shape.quads);
    return 2 * shape.k_step * (shape.lanes_y * shape.tile_rows + shape.lanes * shape.tile_columns + 4) * 4;
  };
  facts.unit_invocations = 2560;  // Vega: a unit has 64 KiB
  EXPECT_LE(shared(), 32768u);
  facts.unit_invocations = 2048;  // RDNA: two units share 128
  EXPECT_GT(shared(), 32768u);
}

TEST(TuningTest, SubgroupsOfAProductOnMatrixUnitsHave64ColumnsWhereUnitsAreQuick) {
  DeviceFacts facts;
  facts.kind = DeviceFacts::Kind::kDiscrete;
  facts.vendor_id = 0x10DE;
  facts.max_shared_bytes = 49152, facts.max_workgroup_invocations = facts.max_workgroup_size[0] = 1024;
  facts.matrix_lanes = 32;
  facts.compute_units = 132;
  vulkan::DotWork work;
  work.rows = work.columns = work.k = 4096;
  work.matrix = MatrixShape{ElementType::kBF16, ElementType::kF32, 16, 16, 16};
  work.rhs_along_k = false;
  const auto columns = [&](uint32_t unit_invocations) {
    facts.unit_invocations = unit_invocations;
    const vulkan::DotShape shape = vulkan::TuneDot(facts, work);
    EXPECT_EQ(shape.lanes * shape.tile_columns, 128u);
    EXPECT_TRUE(shape.rhs_rows);
    return shape.tile_columns;
  };
  EXPECT_EQ(columns(2048), 64u);
  EXPECT_EQ(columns(1536), 32u);
  work.columns = 4100;
  EXPECT_FALSE(vulkan::TuneDot(facts, work).rhs_rows) << "no whole groups of 16 bytes";
  work.columns = work.rows = 1024;  // 64 workgroups: more subgroups each
  facts.unit_invocations = 2048;
  EXPECT_LT(vulkan::TuneDot(facts, work).tile_columns, 64u);
}

TEST(TuningTest, LoopsOfOtherShapesGiveTheSameBits) {
  const auto module = ParseModule(
      "ENTRY e { x = f32[100,999] parameter(0)  y = f32[100,999] parameter(1)  s = f32[100,999] multiply(x, y)\n"
      "ROOT r = f32[100,999] tanh(s) }");
  ASSERT_NE(module, nullptr);
  const std::vector<Literal> arguments = RandomArguments(*module);
  for (const bool as_gpu : {false, true}) {
    const std::shared_ptr<Device> device = Tuned({}, as_gpu);
    ASSERT_NE(device, nullptr);
    const DeviceFacts& facts = device->facts();
    const uint32_t other_group = vulkan::TraitsOf(facts).loop_group == 128 ? 64 : 128;
    const auto plain = RunTuned({}, as_gpu, *module, arguments);
    ASSERT_TRUE(plain);
    for (const auto& tuning : {With(&DeviceTuning::loop_group, other_group), With(&DeviceTuning::loop_items, 2)}) {
      const auto other = RunTuned(tuning, as_gpu, *module, arguments);
      ASSERT_TRUE(other);
      EXPECT_EQ(other->result, plain->result);
      // So few elements are one an invocation where many of those run at once.
      if (!facts.costs.subgroups_in_turn && tuning.loop_items != 0) continue;
      EXPECT_NE(other->kernel, plain->kernel);
    }
  }
}

// Sums of one piece keep their order whatever the tile; others keep their tile.
TEST(TuningTest, ProductsOfOtherTilesGiveTheSameBits) {
  const auto product = [](int n, int k) {
    return ParseModule(
        fmt::format("ENTRY e {{ x = f32[{0},{1}] parameter(0)  y = f32[{1},{0}] parameter(1)\n"
                    "ROOT r = f32[{0},{0}] dot(x, y), lhs_contracting_dims={{1}}, "
                    "rhs_contracting_dims={{0}} }}",
                    n, k));
  };
  const DeviceTuning tunings[] = {With(&DeviceTuning::dot_lanes, 8), With(&DeviceTuning::dot_tile, 8),
                                  With(&DeviceTuning::dot_k_step, 8)};
  for (const auto& [n, k] : {std::pair(772, 36), std::pair(128, 2048)}) {
    const auto module = product(n, k);
    ASSERT_NE(module, nullptr);
    const std::vector<Literal> arguments = RandomArguments(*module);
    const auto plain = RunTuned({}, true, *module, arguments);
    ASSERT_TRUE(plain);
    bool differs = false;
    for (const DeviceTuning& tuning : tunings) {
      const auto other = RunTuned(tuning, true, *module, arguments);
      ASSERT_TRUE(other);
      EXPECT_EQ(other->result, plain->result);
      differs |= other->kernel != plain->kernel;
    }
    EXPECT_EQ(differs, k < 2048);
    if (k == 2048) continue;
    // Terms that are read ahead by lanes in another order.
    const auto nvidia = RunTuned({}, true, *module, arguments, GpuFamily::kNvidia);
    ASSERT_TRUE(nvidia);
    EXPECT_EQ(nvidia->result, plain->result);
    EXPECT_NE(nvidia->kernel.find("#define TERMS_AHEAD 1\n#define COMPACT_LANES 1"), std::string::npos);
  }
}

// A device may have some of the costs of a host's processor and others of a GPU: each is asked for where it alone
// matters.
TEST(TuningTest, EachCostAloneMakesKernelsThatAreRight) {
  const std::string add = "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n";
  const std::string less =
      "less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=LT }\n";
  const std::string programs[] = {
      add +
          "ENTRY e { x = f32[6,4096] parameter(0)  z = f32[] constant(0)\n"
          "ROOT r = f32[6] reduce(x, z), dimensions={1}, to_apply=add }",
      add +
          "ENTRY e { x = f32[1000,64] parameter(0)  z = f32[] constant(0)\n"
          "ROOT r = f32[64] reduce(x, z), dimensions={0}, to_apply=add }",
      add +
          "ENTRY e { x = f32[3,2000] parameter(0)  z = f32[] constant(0)\n"
          "ROOT r = f32[3,2000] reduce-window(x, z), window={size=1x2000 pad=0_0x1999_0}, to_apply=add }",
      less + "ENTRY e { x = f32[3,3000] parameter(0)  ROOT r = f32[3,3000] sort(x), dimensions={1}, to_apply=less }",
      "ENTRY e { x = f32[64,96] parameter(0)  y = f32[96,64] parameter(1)\n"
      "ROOT r = f32[64,64] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }",
      "ENTRY e { x = c64[64,512] parameter(0)  ROOT r = c64[64,512] fft(x), fft_type=FFT, fft_length={512} }",
      "ENTRY e { x = f32[300,704] parameter(0)  ROOT r = f32[704,300] transpose(x), dimensions={1,0} }"};
  using Costs = DeviceFacts::Costs;
  constexpr bool Costs::*kCosts[] = {&Costs::accesses_by_lane, &Costs::subgroups_in_turn, &Costs::plain_arithmetic,
                                     &Costs::dear_text};
  for (const auto cost : kCosts) {
    for (const bool of_gpu : {true, false}) {
      DeviceFacts facts = AsGpu(BindingMode::kDescriptors);
      if (!of_gpu) vulkan::NoteSoftwareCosts(facts);
      facts.costs.*cost = of_gpu;
      for (const std::string& program : programs)
        EXPECT_GT(ExpectLoweredAgrees(program, BindingMode::kDescriptors, facts), 0) << of_gpu << program;
    }
  }
}

TEST(TuningTest, IsKeptForTheDeviceAndItsDriver) {
  const std::string folder =
      (std::filesystem::temp_directory_path() / fmt::format("vxla-tuning-{}", ::getpid())).string();
  const std::shared_ptr<Device> device = Tuned({}, false);
  ASSERT_NE(device, nullptr);
  DeviceTuning tuning = With(&DeviceTuning::loop_group, 128);
  tuning.row_lanes = 64;
  vulkan::DiskCache disk(folder, true);
  EXPECT_TRUE(vulkan::KeepTuning(disk, device->facts(), tuning));
  const auto kept = [&](bool as_gpu) {
    const std::shared_ptr<Device> again = Tuned({}, as_gpu, folder);
    return again != nullptr ? std::optional(again->facts().tuned) : std::nullopt;
  };
  EXPECT_EQ(kept(false), tuning);
  EXPECT_EQ(kept(true), RunsOnSoftware() ? DeviceTuning{} : tuning);  // another kind of device, but for a GPU
  DeviceFacts newer = device->facts();
  newer.driver_version += "1";
  EXPECT_EQ(vulkan::LoadTuning(disk, newer), DeviceTuning{});
  // What the device cannot take is not taken.
  EXPECT_FALSE(vulkan::KeepTuning(disk, device->facts(), With(&DeviceTuning::loop_group, 1 << 15)));
  EXPECT_EQ(kept(false), DeviceTuning{});
  EXPECT_FALSE(vulkan::KeepTuning(disk, device->facts(), With(&DeviceTuning::loop_items, 3)));
  EXPECT_TRUE(vulkan::KeepTuning(disk, device->facts(), {}));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
