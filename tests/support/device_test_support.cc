#include "tests/support/device_test_support.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <mutex>
#include <sstream>
#include <stdexcept>

#include "backend/cpu/reference/evaluator.h"
#include "backend/cpu/reference/op_bound.h"
#include "backend/device.h"
#include "backend/vulkan/device/vulkan_device.h"
#include "backend/vulkan/lower/lower.h"
#include "core/data/float_formats.h"
#include "core/ir/module.h"
#include "core/numerics/random_literal.h"
#include "core/passes/base/verifier.h"
#include "core/text/hlo_parser.h"
#include "scheduler/plan/plan.h"
#include "scheduler/plan/plan_printer.h"
#include "tests/support/validation_environment.h"

namespace VXLA_NAMESPACE::testing {
namespace {

// Every device that a test opened, until nobody else uses it and it is looked through; the list is kept, as drivers may
// be unloaded before static objects go.
struct Watched {
  std::shared_ptr<Device> device;
  size_t messages_seen = 0;
};
std::mutex watched_mutex;
auto* const watched = new std::vector<Watched>;

// Fails the running test for each message of the validation layers that no test has had yet. Devices that are done with
// are closed: a driver lets a process open some tens at once (NVIDIA 580: VK_ERROR_INITIALIZATION_FAILED for one more).
void ExpectNoNewValidationMessages() {
  std::lock_guard lock(watched_mutex);
  for (Watched& each : *watched) {
    const auto messages = each.device->validation_messages();
    for (; each.messages_seen < messages.size(); ++each.messages_seen)
      ADD_FAILURE() << "validation: " << messages[each.messages_seen];
  }
  std::erase_if(*watched, [](const Watched& each) { return each.device.use_count() == 1; });
}

// Tests that run their programs themselves are watched too.
class ValidationWatch : public ::testing::EmptyTestEventListener {
  void OnTestEnd(const ::testing::TestInfo&) override { ExpectNoNewValidationMessages(); }
};
[[maybe_unused]] const bool validation_is_watched = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new ValidationWatch);
  return true;
}();

struct Opened {
  std::unique_ptr<Client> client;
  Status status;
};

Opened& OpenedFor(BindingMode mode) {
  static std::mutex mutex;
  // Never destroyed: drivers may be unloaded before static objects go.
  static auto* opened = new std::map<BindingMode, Opened>;
  std::lock_guard lock(mutex);
  const auto [at, fresh] = opened->try_emplace(mode);
  if (fresh) {
    auto device = OpenTestDevice(TestOptions(mode));
    if (device.ok()) {
      at->second.client = MakeTestClient(*device);
    } else {
      at->second.status = device.status();
    }
  }
  return at->second;
}
// Says at the end how many programs ran in each mode.
class RunCounts : public ::testing::Environment {
 public:
  void Count(BindingMode mode) { ++counts_[mode]; }
  void TearDown() override {
    for (const auto& [mode, count] : counts_) {
      std::printf("%lld programs ran under %s\n", static_cast<long long>(count),
                  mode == BindingMode::kAddresses ? "addresses" : "descriptors");
    }
  }

 private:
  std::map<BindingMode, int64_t> counts_;
};

// A variant of a suite is its variables: without one of them it would pass as something else (vxla_test_cases).
class VariantVariables : public ::testing::Environment {
 public:
  void SetUp() override {
    const char* variant = std::getenv("VXLA_TEST_VARIANT");
    std::istringstream names(variant != nullptr ? variant : "");
    for (std::string name; std::getline(names, name, ',');)
      EXPECT_NE(std::getenv(name.c_str()), nullptr) << name << " is not set, which VXLA_TEST_VARIANT names";
  }
};
[[maybe_unused]] ::testing::Environment* const variant_variables =
    ::testing::AddGlobalTestEnvironment(new VariantVariables);

RunCounts* const run_counts = static_cast<RunCounts*>(::testing::AddGlobalTestEnvironment(new RunCounts));

const char* ModeName(BindingMode mode) { return mode == BindingMode::kAddresses ? "addresses" : "descriptors"; }

// GPU-assisted checks look each address up with 64-bit integers, in loops. A device without such integers has no check,
// and one whose loops stop early (lavapipe 22) finds live buffers to be out of bounds as soon as a kernel has loops of
// its own.
bool ChecksCanFollowAddresses() {
  if (!ValidationAskedFor("gpu")) return true;
  const Client* client = DeviceClient(BindingMode::kAddresses);
  return client != nullptr && client->device().facts().int64 &&
         client->device().facts().quirks.loop_iteration_limit == 0;
}

// A driver that may crash under addresses runs them where they are asked for.
bool AddressesMayCrash() {
  const Client* client = DeviceClient(BindingMode::kDescriptors);
  return client != nullptr && client->device().facts().quirks.loads_where_off;
}

const char* WantedDevice() {
  const char* wanted = std::getenv("VXLA_TEST_DEVICE");
  return wanted != nullptr ? wanted : "vulkan";
}

}  // namespace

vulkan::OpenOptions TestOptions(BindingMode mode) {
  vulkan::OpenOptions options;
  const char* emulate = std::getenv("VXLA_TEST_EMULATE");
  const Result<Emulation> emulation = vulkan::ParseEmulation(emulate != nullptr ? emulate : "");
  VXLA_CHECK(emulation.ok(), emulation.status().message());
  options.emulate = *emulation;
  options.bindings = mode;
  options.poison = true;
  // Kernels are kept between test programs, but apart from the user's.
  options.cache_dir = (std::filesystem::temp_directory_path() / "vxla-test-cache").string();
  return options;
}

Result<std::shared_ptr<Device>> OpenTestDevice(vulkan::OpenOptions options,
                                               const std::function<void(DeviceFacts&)>& pretend,
                                               const std::function<void(DeviceFacts&)>& found) {
  VXLA_ASSIGN_OR_RETURN(const auto devices, vulkan::ListDevices());
  VXLA_ASSIGN_OR_RETURN(const int index, vulkan::ChooseDevice(devices, WantedDevice()));
  ValidateAsAsked(options);
  ExpectNoNewValidationMessages();
  vulkan::DeviceHooks hooks = vulkan::AllHooks();
  if (pretend) {
    hooks.lowering = [pretend](DeviceFacts facts, BindingMode mode, const CustomKernels& kernels) {
      pretend(facts);
      return vulkan::MakeLowering(facts, mode, kernels);
    };
  }
  if (found) {
    hooks.probe = [found, probe = hooks.probe](const vulkan::ProbeTools& tools, vulkan::DiskCache& disk,
                                               DeviceFacts& facts) {
      const Status status = probe(tools, disk, facts);
      found(facts);
      return status;
    };
  }
  VXLA_ASSIGN_OR_RETURN(std::shared_ptr<Device> device, vulkan::OpenDevice(index, options, hooks));
  std::lock_guard lock(watched_mutex);
  watched->push_back({device});
  return device;
}

std::unique_ptr<Client> MakeTestClient(std::shared_ptr<Device> device) {
  const auto evaluator = []() -> HostEvaluator {
    auto run = std::make_shared<InstructionEvaluator>(EvaluateOptions{});
    return [run](const Instruction& instruction, std::span<const Literal* const> operands) {
      return run->Evaluate(instruction, operands);
    };
  };
  ClientOptions client_options;
  client_options.evaluator_of_run = evaluator;
  return std::make_unique<Client>(std::move(device), evaluator(), client_options);
}

Client* DeviceClient(BindingMode mode) {
  Opened& opened = OpenedFor(mode);
  // Ends the test, whatever it would do without a device.
  if (opened.client == nullptr) throw std::runtime_error("no Vulkan device: " + opened.status.message());
  return opened.client.get();
}

bool RunsOnSoftware() {
  const auto devices = vulkan::ListDevices();
  const auto index = devices.ok() ? vulkan::ChooseDevice(*devices, WantedDevice()) : Result<int>(devices.status());
  if (!index.ok()) throw std::runtime_error("no Vulkan device: " + index.status().message());
  return (*devices)[static_cast<size_t>(*index)].is_software();
}

bool HasSoftwareKernels() {
  const Client* client = DeviceClient(BindingMode::kDescriptors);
  return client != nullptr && client->device().facts().is_software();
}

std::unique_ptr<Module> ParseModule(const std::string& hlo_text) {
  auto module = ParseHlo(hlo_text);
  if (!module.ok()) {
    ADD_FAILURE() << module.status().location().line << ":" << module.status().location().column << ": "
                  << module.status().message() << "\n"
                  << hlo_text;
    return nullptr;
  }
  if (const Status status = Verify(**module); !status.ok()) {
    ADD_FAILURE() << status.message() << "\n" << hlo_text;
    return nullptr;
  }
  return std::move(*module);
}

std::optional<Literal> RunOnCpu(const Module& module, const std::vector<Literal>& arguments) {
  std::vector<const Literal*> pointers;
  for (const Literal& argument : arguments) pointers.push_back(&argument);
  auto value = Evaluate(module, pointers);
  if (!value.ok()) {
    ADD_FAILURE() << "CPU reference: " << value.status().message();
    return std::nullopt;
  }
  return std::move(*value);
}

std::optional<Literal> RunOnClient(Client& client, const Module& module, const std::vector<Literal>& arguments) {
  auto executable = client.Compile(module);
  EXPECT_TRUE(executable.ok()) << executable.status().message();
  if (!executable.ok()) return std::nullopt;
  for (const Fallback& fallback : (*executable)->fallbacks())
    ADD_FAILURE() << fallback.instruction << ": " << fallback.reason;
  std::vector<const Literal*> pointers;
  for (const Literal& argument : arguments) pointers.push_back(&argument);
  auto value = (*executable)->Run(pointers);
  EXPECT_TRUE(value.ok()) << value.status().message();
  if (!value.ok()) return std::nullopt;
  return std::move(*value);
}

std::optional<Literal> RunOnDevice(BindingMode mode, const Module& module, const std::vector<Literal>& arguments,
                                   const RunOptions& options) {
  Client* client = DeviceClient(mode);
  if (client == nullptr) return std::nullopt;
  CompileOptions compile;
  compile.fusion = options.fusion;
  compile.loop_kernels = options.loop_kernels;
  auto executable = client->Compile(module, compile);
  if (!executable.ok()) {
    ADD_FAILURE() << ModeName(mode) << ": " << executable.status().message();
    return std::nullopt;
  }
  for (const Fallback& fallback : (*executable)->fallbacks()) {
    if (options.allow_fallbacks) break;
    ADD_FAILURE() << ModeName(mode) << ": " << fallback.opcode << " " << fallback.instruction
                  << " runs on the host: " << fallback.reason;
  }
  if (options.report != nullptr) *options.report = {(*executable)->plan().dispatch_count(), (*executable)->fallbacks()};
  for (const PlanFault& fault : (*executable)->plan().faults) ADD_FAILURE() << ModeName(mode) << ": " << ToText(fault);
  if (options.dispatches >= 0) {
    EXPECT_EQ((*executable)->plan().dispatch_count(), options.dispatches) << ModeName(mode);
  }
  run_counts->Count(mode);
  std::vector<const Literal*> pointers;
  for (const Literal& argument : arguments) pointers.push_back(&argument);
  std::optional<Literal> last;
  for (int run = 0; run < 2; ++run) {
    auto value = (*executable)->Run(pointers);
    if (!value.ok()) {
      ADD_FAILURE() << ModeName(mode) << ": " << value.status().message();
      return std::nullopt;
    }
    if (last.has_value()) {
      EXPECT_TRUE(*last == *value) << ModeName(mode) << ": the replay gave other bits";
    }
    last = std::move(*value);
  }
  ExpectNoNewValidationMessages();
  return last;
}

void ExpectAgreement(const Literal& actual, const Literal& expected, const RunOptions& options,
                     const std::string& label) {
  const auto got = FlattenLiteral(actual), wanted = FlattenLiteral(expected);
  ASSERT_EQ(got.size(), wanted.size()) << label;
  for (size_t k = 0; k < got.size(); ++k) {
    const Tolerance tolerance = !options.leaf_tolerances.empty()
                                    ? options.leaf_tolerances[k]
                                    : options.tolerance.value_or(Tolerance::DefaultFor(*wanted[k]));
    const Comparison comparison = Compare(*got[k], *wanted[k], tolerance);
    if (comparison.agrees()) continue;
    std::string text = fmt::format("{}, result {}: {} given, {} expected; {} of {} elements differ, at worst {} ulp",
                                   label, k, got[k]->shape().ToString(), wanted[k]->shape().ToString(),
                                   comparison.mismatches, comparison.elements, comparison.max_ulp);
    for (const ElementDifference& worst : comparison.worst) {
      text +=
          fmt::format("\n  at [{}]: {} instead of {} ({} ulp)", worst.where, worst.actual, worst.expected, worst.ulp);
    }
    ADD_FAILURE() << text;
  }
}

std::vector<BindingMode> ModesToRun() {
  const char* asked = std::getenv("VXLA_TEST_BINDINGS");
  const std::string_view only = asked != nullptr ? asked : "";
  VXLA_CHECK(only.empty() || only == "addresses" || only == "descriptors",
             fmt::format("VXLA_TEST_BINDINGS: {} is neither addresses nor descriptors", only));
  std::vector<BindingMode> modes;
  const bool addresses = only == "addresses" || (only.empty() && !AddressesMayCrash());
  if (addresses && ChecksCanFollowAddresses()) modes.push_back(BindingMode::kAddresses);
  if (only != "addresses" || modes.empty()) modes.push_back(BindingMode::kDescriptors);
  return modes;
}

std::optional<Literal> RunBoth(const std::string& hlo_text, const std::vector<Literal>& arguments,
                               const RunOptions& options) {
  const auto module = ParseModule(hlo_text);
  if (module == nullptr) return std::nullopt;
  auto expected = RunOnCpu(*module, arguments);
  if (!expected.has_value()) return std::nullopt;
  std::vector<const Literal*> pointers;
  for (const Literal& argument : arguments) pointers.push_back(&argument);
  const std::optional<OpBound> bound = options.tolerance ? std::nullopt : BoundOfProgram(*module, pointers, *expected);
  RunOptions judged = options;
  if (bound) judged.leaf_tolerances = bound->leaves;
  for (BindingMode mode : ModesToRun()) {
    const auto actual = RunOnDevice(mode, *module, arguments, options);
    if (actual.has_value()) ExpectAgreement(*actual, *expected, judged, ModeName(mode));
  }
  return expected;
}

namespace {

// Arrays are numbered depth first.
Literal Numbered(const Shape& shape, uint64_t seed, uint32_t& array, Fill fill) {
  const ElementType type = shape.element_type();
  if (shape.IsTuple()) {
    std::vector<Literal> elements;
    for (const Shape& element : shape.tuple_elements()) elements.push_back(Numbered(element, seed, array, fill));
    return Literal::Tuple(std::move(elements));
  }
  if (!IsArrayElement(type)) return Literal(shape);
  const bool normal = fill == Fill::kSmall || (fill == Fill::kFullRange && (IsFloating(type) || IsComplex(type)));
  return vxla::RandomLiteral(shape, seed, array++,
                             normal                     ? ArgumentFill::kSmall
                             : fill == Fill::kFullRange ? ArgumentFill::kFullRange
                                                        : ArgumentFill::kSpecial);
}

}  // namespace

Literal RandomLiteral(const Shape& shape, uint64_t seed, Fill fill) {
  uint32_t array = 0;
  return Numbered(shape, seed, array, fill);
}

std::vector<Literal> RandomArguments(const Module& module, uint64_t seed, Fill fill) {
  std::vector<Literal> arguments;
  uint32_t array = 0;
  for (const Instruction* parameter : module.entry()->parameters())
    arguments.push_back(Numbered(parameter->shape(), seed, array, fill));
  return arguments;
}

}  // namespace VXLA_NAMESPACE::testing
