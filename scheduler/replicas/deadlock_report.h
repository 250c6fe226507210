// Deadlock report: who waits at what for whom, when devices of a run wait in vain.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include "core/replica_groups.h"
#include "core/status.h"

namespace VXLA_NAMESPACE {

// What a device does.
struct DeviceSituation {
  enum class State : uint8_t { kRunning, kWaiting, kEnded };
  State state = State::kRunning;
  const Instruction* at = nullptr;  // that it computes or waits at; null: it has not started
  IntList waits_for;                // devices
};

// kDeviceFailure, where the device waits: for whom, and what up to 16 other devices do. waited: not given, if no device
// can go on. Pure.
Status DeadlockReport(const DeviceGrid& grid, int64_t device, std::optional<std::chrono::milliseconds> waited,
                      const std::function<DeviceSituation(int64_t device)>& situation_of);
// `from` has sent data to a device (nobody in particular: -1) that did not take them.
Status UntakenReport(const DeviceGrid& grid, const Instruction& at, int64_t from, int64_t to);

}  // namespace VXLA_NAMESPACE
