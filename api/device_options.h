// Which device, and how it is used.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cpu/reference/evaluator.h"
#include "scheduler/runtime/client.h"

#pragma GCC visibility push(default)
namespace VXLA_NAMESPACE {

struct DeviceOptions {
  // In any case of letters: "vulkan" or "gpu": the best device; "vulkan:N" or N: number N; a UUID (32 hexadecimal
  // digits, dashes aside); "lavapipe"; else a part of a name. "cpu" (the reference) is a device of Diff only: nothing
  // is opened for it.
  std::string device = "vulkan";
  std::string bindings = "auto";  // how kernels reach memory: "auto" (what is faster), "addresses", "descriptors"
  std::string validate;           // validation layers: "core,sync,gpu" or some of them, with ',' or '+' between
  // What kernels do without: "i64,f64,f16,narrow,subgroups,division,gpu,matrices,queues" or some.
  std::string emulate;
  // Null hardware (a driver without its GPU) is opened too, to compile for: Client::Compile works, nothing runs.
  bool compile_only = false;
  // Products round as on every other device, instead of by what this one does fastest (docs/reference/numerics.md).
  bool same_bits = false;
  bool capture_executables = false;  // Device::KernelExecutables answers; not every driver can
  bool cache = true;                 // keep compiled kernels and probe results on disk
  std::string cache_folder;          // empty: the user's cache folder
  // Milliseconds: dispatches and submissions that would take longer by a low estimate of the device's speed are cut,
  // for systems stop a device that is busy for too long. 0: nothing is cut. Below 0: 200, and 0 on software drivers.
  double work_budget_ms = -1;
  int queues = 0;           // open so many of the device's queues at most; 0: all that are of use
  std::string loader_path;  // another Vulkan loader library; empty: the platform's
  // Told where long calls of the client stand, from the threads that work, several at a time.
  std::function<void(const CallProgress&)> progress;
};

bool IsCpu(std::string_view device);         // "cpu", in any case of letters
bool IsAllDevices(std::string_view device);  // "all", likewise: for what takes several devices

// The names of this machine's devices, in the order of "vulkan:N". kDeviceFailure where there is no loader or no
// driver.
Result<std::vector<std::string>> DeviceNames();

// A client of one device. What the device cannot run is evaluated by the CPU reference (Executable::fallbacks says what
// and why) with `host_steps`: its custom calls, feeds and seed. kInvalidArgument: a word that is none of those above.
// kNotFound: there is no such device. kDeviceFailure: it does not open, or there is none at all.
Result<std::unique_ptr<Client>> OpenClient(const DeviceOptions& options, const EvaluateOptions& host_steps = {});

}  // namespace VXLA_NAMESPACE
#pragma GCC visibility pop
