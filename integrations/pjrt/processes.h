// Processes: those of a job (jax.distributed), which learn of one another through the key-value store of whoever
// creates their clients, and what devices each of them has.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "core/status.h"
#include "scheduler/replicas/sockets/socket_group.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace VXLA_NAMESPACE::pjrt {

// What every process knows of a device.
struct DeviceWords {
  std::string kind, driver, driver_version;
  int64_t memory_bytes = 0;
};

struct Processes {
  std::shared_ptr<Connections> connections;       // null: there is one process
  std::vector<std::vector<DeviceWords>> devices;  // by process
};

// own: of this process's devices, or why it has none, which the others are told. kInvalidArgument: several processes
// without a key-value store; kDeviceFailure: which process does not come, or has no devices.
Result<Processes> MeetProcesses(const PJRT_Client_Create_Args& store, JobRank self,
                                Result<std::vector<DeviceWords>> own, std::chrono::milliseconds timeout);

}  // namespace VXLA_NAMESPACE::pjrt
