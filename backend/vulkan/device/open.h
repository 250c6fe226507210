// Vulkan devices: list, choose, open. No Vulkan type shows here.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/device.h"
#include "backend/device_facts.h"
#include "backend/vulkan/device/plan/pretended_gpu.h"
#include "core/status.h"

namespace VXLA_NAMESPACE::vulkan {

struct OpenOptions {
  // Not given: the way that is faster on the device (descriptors on lavapipe 22, and addresses there for programs that
  // exceed a descriptor's limits; else addresses where the device has them).
  std::optional<BindingMode> bindings;
  // VK_LAYER_KHRONOS_validation: its core checks, synchronization checks, GPU-assisted checks.
  bool validate_core = false, validate_sync = false, validate_gpu = false;
  Emulation emulate;
  bool same_bits = false;  // only what gives the same bits on every device (docs/reference/numerics.md)
  bool cache = true;       // keep SPIR-V, pipelines and probe results on disk
  std::string cache_dir;   // empty: the user's cache folder
  // Memory is filled with kPoisonWord when it is handed out. VXLA_POISON=1 in the environment does the same.
  bool poison = false;
  // Run the quirk probes (their results are cached). VXLA_NO_PROBES=1 in the environment: none, the device is sane.
  bool probe = true;
  // Null hardware is opened too; its kernels are all that can be had of it. Other devices are opened as ever.
  bool compile_only = false;
  // Device::KernelExecutables answers. kDeviceFailure where the driver has no VK_KHR_pipeline_executable_properties.
  bool capture_executables = false;
  std::optional<DeviceTuning> tuning;  // instead of what was measured on the device and kept
  int most_queues = kMostQueues;       // of the device's
  PretendedMemory pretend = PretendedMemory::kNone;
  uint64_t memory_limit_bytes = ~uint64_t{0};     // of each heap, as if it had no more
  int64_t max_elements = (int64_t{1} << 31) - 1;  // of an array that is not cut, as if indices reached no more
  // Dispatches and submissions that would take longer are cut; 0: none is. Not given: 0.2 s, and 0 on software drivers.
  std::optional<double> work_budget_seconds;
  std::string loader_path;  // another Vulkan loader library; empty: the platform's
};

// A NaN in f16, bf16, f32 and f64 alike, and a large negative integer.
inline constexpr uint32_t kPoisonWord = 0xFFF5FFF5u;

// Pure. "i64,f64,f16,narrow,subgroups,division,gpu,matrices,queues" or some of them. Another name: kInvalidArgument.
Result<Emulation> ParseEmulation(std::string_view names);

// All devices of all drivers, as they would be after opening (quirks are known only after opening). No loader or no
// driver: kDeviceFailure that says so.
// Another loader than the platform's may be named.
Result<std::vector<DeviceFacts>> ListDevices(const std::string& loader_path = {});

// Pure, and without regard to case. "vulkan" or "gpu": the best (discrete, integrated, virtual, software; then the
// larger memory; then the one that emulates fewer types); "vulkan:N" or N: number N; a UUID: 32 hexadecimal digits,
// dashes aside; "lavapipe": llvmpipe; else a part of a name. kNotFound, with a list of the devices: none is meant.
// kInvalidArgument: N is no number.
// kDeviceFailure: there is none at all.
Result<int> ChooseDevice(std::span<const DeviceFacts> devices, std::string_view wanted);

// "6c6c766d-7069-7065-5555-494400000000"
std::string UuidText(const std::array<uint8_t, 16>& uuid);

Result<std::unique_ptr<Device>> OpenDevice(int index, const OpenOptions& options);

// Whether all that was submitted to the device has finished.
bool IsIdle(Device& device);

}  // namespace VXLA_NAMESPACE::vulkan
