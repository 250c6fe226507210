// For tests that run programs on a real Vulkan device, in both binding modes, against the CPU reference.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/device.h"
#include "backend/vulkan/device/open.h"
#include "core/data/literal.h"
#include "core/ir/module.h"
#include "core/numerics/literal_compare.h"
#include "scheduler/runtime/client.h"

namespace VXLA_NAMESPACE::testing {

// One client per binding mode, opened once per process with poisoned memory and without disk caches of the user's. The
// device is OpenTestDevice's; VXLA_TEST_EMULATE=i64,f64 as --emulate. On a machine without a device it throws, which
// fails and ends the test.
Client* DeviceClient(BindingMode mode);

// Whether the test device is a software driver, whatever VXLA_TEST_EMULATE has it taken for.
bool RunsOnSoftware();

// Whether it has the kernels of software drivers, not those of GPUs, which divide some work into other dispatches.
bool HasSoftwareKernels();

// As DeviceClient's: poisoned memory, VXLA_TEST_EMULATE.
vulkan::OpenOptions TestOptions(BindingMode mode);

// The first of VXLA_TEST_DEVICE (a name or a number, as --device takes) or the best. VXLA_TEST_VALIDATE=core,sync,gpu
// turns the layers on: a test that makes them speak on such a device fails.
// `pretend` changes the facts that kernels are chosen by; `found` those of the device itself, as its probes do, so what
// is fused and planned for it too.
Result<std::shared_ptr<Device>> OpenTestDevice(vulkan::OpenOptions options,
                                               const std::function<void(DeviceFacts&)>& pretend = {},
                                               const std::function<void(DeviceFacts&)>& found = {});
// A client of the device whose host steps are the CPU reference's.
std::unique_ptr<Client> MakeTestClient(std::shared_ptr<Device> device);

// How a program ran.
struct RunReport {
  int64_t dispatches = 0;
  std::vector<Fallback> fallbacks;
};

struct RunOptions {
  // Default: a program of one operation by its own bound (backend/cpu/reference/op_bound.h), others by
  // Tolerance::DefaultFor each result. Exact: Tolerance{}.
  std::optional<Tolerance> tolerance;
  std::vector<Tolerance> leaf_tolerances = {};  // by result, before all of these; RunBoth fills it in
  bool allow_fallbacks = false;                 // else an instruction that would run on the host fails the test
  bool fusion = true;
  bool loop_kernels = true;
  int dispatches = -1;          // expected count; -1: any
  RunReport* report = nullptr;  // filled in by RunOnDevice
};

// Parses and verifies; a failure fails the test and gives null.
std::unique_ptr<Module> ParseModule(const std::string& hlo_text);
// The CPU reference's value of the unoptimised program.
std::optional<Literal> RunOnCpu(const Module& module, const std::vector<Literal>& arguments);
std::optional<Literal> RunOnDevice(BindingMode mode, const Module& module, const std::vector<Literal>& arguments,
                                   const RunOptions& options = {});
// On a client of the test's own. A fallback fails the test; null where compiling or running fails.
std::optional<Literal> RunOnClient(Client& client, const Module& module, const std::vector<Literal>& arguments);
// Fails the test with counts, the worst elements and `label` unless every leaf agrees.
void ExpectAgreement(const Literal& actual, const Literal& expected, const RunOptions& options,
                     const std::string& label);

// Both, or the one that VXLA_TEST_BINDINGS names; under GPU-assisted checks that cannot follow the device's addresses
// descriptors alone.
std::vector<BindingMode> ModesToRun();

// The whole of it: text in, CPU and ModesToRun() (where the device has them), each run twice so that the replay is
// tested too, agreement expected, no message of the validation layers expected. Gives the CPU's value.
std::optional<Literal> RunBoth(const std::string& hlo_text, const std::vector<Literal>& arguments,
                               const RunOptions& options = {});

// What seeded arguments are: pred is fair in all of them.
enum class Fill {
  kSmall,      // ArgumentFill::kSmall: integers in [0, 8), for indices, sizes and what becomes a float that must stay small
  kFullRange,  // integers any of their type's, both signs, so that sums and products wrap round; floats roughly normal
  kSpecial,    // ArgumentFill::kSpecial: of each two one an end of the range: zeros, extremes, infinities, NaN
};

// Seeded values (core/numerics/random_literal.h).
Literal RandomLiteral(const Shape& shape, uint64_t seed, Fill fill = Fill::kFullRange);
std::vector<Literal> RandomArguments(const Module& module, uint64_t seed = 0, Fill fill = Fill::kFullRange);

}  // namespace VXLA_NAMESPACE::testing
