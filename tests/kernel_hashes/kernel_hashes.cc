// Prints a hash of the kernels that programs become on made-up devices, so that two states of the code can be compared:
//   kernel_hashes [--keep FOLDER] [--validate] [FILE ...] > before
// A line for each program and device: its name, how many kernels it has, and a hash of their whole texts as they are
// given to shaderc, of the counts and constants that name them in the cache, and of what the steps pass to them. Of a
// C++ file, each raw string that is a whole program is one. The programs of `vxla bench` are always among them.
// --keep writes each text into the folder once, named by its hash, and which texts a line stands for. --validate takes
// the devices that bundles are made for alone, in SPIR-V 1.3 too, and says which of the modules that a bundle or a
// driver gets is not valid; it exits with 1 if there is one.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "api/program.h"
#include "backend/vulkan/device/plan/pretend.h"
#include "backend/vulkan/device/target.h"
#include "backend/vulkan/drivers/software/software_driver.h"
#include "backend/vulkan/lower/lower.h"
#include "backend/vulkan/shader/module_compiler.h"
#include "backend/vulkan/shader/shader_source.h"
#include "core/host/hash.h"
#include "core/passes/base/pipeline.h"
#include "core/text/hlo_printer.h"
#include "scheduler/compile.h"
#include "scheduler/memory/result_copies.h"
#include "tests/support/spirv_validity.h"
#include "tools/bench/cases.h"

namespace VXLA_NAMESPACE {
namespace {

struct Program {
  std::string name, text;
};

struct MadeUpDevice {
  std::string name;
  DeviceFacts facts;
  BindingMode mode = BindingMode::kAddresses;
};

DeviceFacts AllFacts() {
  DeviceFacts facts;
  facts.name = "made up";
  facts.kind = DeviceFacts::Kind::kDiscrete;
  facts.int64 = facts.float64 = facts.float16 = true;
  facts.storage16 = facts.storage8 = facts.buffer_addresses = facts.buffer_arrays = facts.spirv_1_6 = true;
  facts.signed_zero_inf_nan_preserve_16 = facts.signed_zero_inf_nan_preserve_32 =
      facts.signed_zero_inf_nan_preserve_64 = true;
  facts.rounding_rte_16 = facts.rounding_rte_32 = facts.rounding_rte_64 = true;
  facts.denorm_preserve_16 = facts.denorm_preserve_32 = facts.denorm_preserve_64 = true;
  facts.division_f32 = facts.division_f64 = DeviceFacts::Division::kNative;
  facts.subgroup_shuffle = true;
  facts.subgroup_size = 32;
  facts.max_storage_buffers = 32;
  facts.max_workgroup_invocations = 1024;
  facts.max_workgroup_size = {1024, 1024, 64};
  facts.memory_bytes = facts.max_allocation_bytes = uint64_t{1} << 34;
  facts.probed = true;
  return facts;
}

DeviceFacts Corrected(DeviceFacts facts) {
  facts.division_f32 = facts.division_f64 = DeviceFacts::Division::kCorrected;
  facts.fused_multiply_add = facts.native_f16 = true;
  return facts;
}

std::vector<MadeUpDevice> Devices() {
  constexpr auto kDescriptors = BindingMode::kDescriptors, kAddresses = BindingMode::kAddresses;
  std::vector<MadeUpDevice> devices;
  for (const auto mode : {kAddresses, kDescriptors}) {
    const char* suffix = mode == kAddresses ? "" : "_descriptors";
    DeviceFacts software = AllFacts();
    software.kind = DeviceFacts::Kind::kSoftware;
    vulkan::NoteSoftwareCosts(software);
    devices.push_back({std::string("software") + suffix, software, mode});
    devices.push_back({std::string("generic") + suffix, vulkan::GenericFacts(mode), mode});
    devices.push_back({std::string("gpu") + suffix, Corrected(AllFacts()), mode});
  }
  auto generic = vulkan::GenericFactsOf(kAddresses, "generic+i64+f64+f16+storage16+storage8+fma+subgroups32");
  if (generic.ok()) devices.push_back({"generic_all", *generic, kAddresses});
  for (const char* family : {"gcn", "rdna3", "nvidia", "apple", "mobile"}) {
    DeviceFacts facts = Corrected(AllFacts());
    facts.matrices = {{ElementType::kF16, ElementType::kF32, 16, 16, 16},
                      {ElementType::kBF16, ElementType::kF32, 16, 16, 16}};
    facts.matrix_lanes = 32;
    facts.matrices_stand_in = true;
    facts.byte_offsets = true;
    vulkan::PretendFamily(*vulkan::GpuFamilyOf(family), facts);
    devices.push_back({family, facts, kAddresses});
  }
  DeviceFacts least = Corrected(AllFacts());
  vulkan::PretendLeastDevice(least);
  devices.push_back({"same_bits", least, kAddresses});
  return devices;
}

// Those that bundles are made for, and a driver that wants flat kernels of Vulkan 1.1.
std::vector<MadeUpDevice> OlderDevices() {
  std::vector<MadeUpDevice> devices;
  for (const auto mode : {BindingMode::kAddresses, BindingMode::kDescriptors}) {
    devices.push_back({"generic", vulkan::GenericFacts(mode), mode});
    DeviceFacts flat = vulkan::GenericFacts(mode);
    flat.kind = DeviceFacts::Kind::kSoftware;
    flat.quirks.walks_every_path = true;
    devices.push_back({"flat", flat, mode});
    auto all = vulkan::GenericFactsOf(mode, "generic+i64+f64+f16+storage16+storage8+fma+subgroups32");
    if (all.ok()) devices.push_back({"generic_all", *all, mode});
  }
  return devices;
}

class KernelHashes {
 public:
  KernelHashes(std::string folder, bool validates)
      : folder_(std::move(folder)), validates_(validates), devices_(validates ? OlderDevices() : Devices()) {
    if (!folder_.empty()) std::filesystem::create_directories(folder_);
  }

  int invalid() const { return invalid_; }

  void Add(const Program& program) {
    const auto module = ParseProgram(program.text);
    if (!module.ok() || !seen_.insert(PrintHlo(**module)).second) return;
    for (const MadeUpDevice& device : devices_) {
      const Result<std::string> hash = HashOn(**module, device, program.name);
      fmt::print("{} {} {}\n", program.name, device.name,
                 hash.ok() ? *hash : "- " + hash.status().message().substr(0, 60));
      std::fflush(stdout);
    }
  }

 private:
  Result<std::string> HashOn(const Module& module, const MadeUpDevice& device, const std::string& name) {
    VXLA_ASSIGN_OR_RETURN(const auto optimized, Optimize(module, TargetOf(device.facts, device.mode, true)));
    const auto lowering = vulkan::MakeLowering(device.facts, device.mode);
    CopySharedResults(*optimized, *lowering);
    VXLA_ASSIGN_OR_RETURN(const Plan plan, MakePlan(*optimized, *lowering, device.facts, {.bindings = device.mode}));
    std::string all, index;
    for (const KernelKey& key : plan.kernels) {
      VXLA_ASSIGN_OR_RETURN(const std::string text, vulkan::AssembleShader(key, device.facts, device.mode));
      const std::string hash = HashText(text).Hex();
      if (validates_ && texts_.insert(hash + device.name).second) {
        VXLA_RETURN_IF_ERROR(Validate(key, text, device, name));
      }
      all += fmt::format("{} {} {} {} {}\n", hash, key.buffer_count, key.param_count, fmt::join(key.constants, ","),
                         key.algorithm);
      index += fmt::format("{} {} {}\n", name, device.name, hash);
      if (!folder_.empty() && texts_.insert(hash).second) std::ofstream(folder_ + "/" + hash + ".comp") << text;
    }
    for (size_t s = 0; s < plan.steps.size(); ++s) {
      const Step& step = plan.steps[s];
      all += fmt::format("{} {} {} {}\n", step.name, plan.kernel_of_step[s], fmt::join(step.params, ","),
                         fmt::join(step.groups, ","));
    }
    if (!folder_.empty()) std::ofstream(folder_ + "/index", std::ios::app) << index;
    return fmt::format("{} {}", plan.kernels.size(), HashText(all).Hex());
  }

  // As a driver gets the module, and as a bundle holds it.
  Status Validate(const KernelKey& key, const std::string& text, const MadeUpDevice& device, const std::string& name) {
    const vulkan::ModuleTarget target(device.facts, device.mode);
    VXLA_ASSIGN_OR_RETURN(const auto words, compiler_.compile(key, text, target));
    for (const auto& module : {words, compiler_.optimize(words, key, target)}) {
      const std::string complaints = vulkan::ComplaintsOf(module);
      if (complaints.empty()) continue;
      ++invalid_;
      fmt::print("{} {} {}: not valid: {}\n", name, device.name, key.algorithm, complaints);
    }
    return OkStatus();
  }

  const std::string folder_;
  const bool validates_;
  const std::vector<MadeUpDevice> devices_;
  const vulkan::ModuleCompiler compiler_ = vulkan::ShadercCompiler();
  int invalid_ = 0;
  std::set<std::string> seen_, texts_;
};

// The raw strings of a C++ file that have an entry.
void AddProgramsOf(const std::string& file, const std::string& text, std::vector<Program>& programs) {
  int count = 0;
  for (size_t at = text.find("R\""); at != text.npos; at = text.find("R\"", at + 2)) {
    const size_t open = text.find('(', at);
    if (open == text.npos) return;
    const std::string end = ")" + text.substr(at + 2, open - at - 2) + "\"";
    const size_t close = text.find(end, open);
    if (close == text.npos) continue;
    programs.push_back({fmt::format("{}#{}", file, count++), text.substr(open + 1, close - open - 1)});
    at = close;
  }
}

int Run(const std::vector<std::string>& arguments) {
  std::string folder;
  bool validates = false;
  std::vector<Program> programs;
  for (const BenchCase& bench : BenchCases()) programs.push_back({"bench:" + bench.name, bench.hlo});
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--keep" && i + 1 < arguments.size()) {
      folder = arguments[++i];
      continue;
    }
    if (arguments[i] == "--validate") {
      validates = true;
      continue;
    }
    std::ifstream in(arguments[i], std::ios::binary);
    if (!in) {
      std::cerr << "kernel_hashes: " << arguments[i] << ": cannot be read\n";
      return 1;
    }
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    if (arguments[i].ends_with(".cc") || arguments[i].ends_with(".h")) {
      AddProgramsOf(arguments[i], text, programs);
    } else {
      programs.push_back({arguments[i], text});
    }
  }
  KernelHashes hashes(folder, validates);
  for (const Program& program : programs) hashes.Add(program);
  return hashes.invalid() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace VXLA_NAMESPACE

int main(int count, char** values) { return vxla::Run(std::vector<std::string>(values + 1, values + count)); }
