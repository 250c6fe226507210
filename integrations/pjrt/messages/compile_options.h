// CompileOptionsProto, as far as the plugin heeds it, DeviceAssignmentProto and OpSharding.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/ir/sharding.h"
#include "core/status.h"

namespace VXLA_NAMESPACE::pjrt {

struct CompileOptionsProto {
  int64_t device_ordinal = -1;
  int64_t num_replicas = 1, num_partitions = 1;
  std::vector<std::vector<int64_t>> assignment;  // device ids by partition and replica; none: the caller gives none
  bool tupled_arguments = false;
  bool portable = false;                         // any device, which is named when the program is run
  std::map<std::string, std::string> overrides;  // compiler_options={...}: values as text
};

// kInvalidArgument: no such message.
Result<CompileOptionsProto> ReadCompileOptions(std::string_view bytes);
std::string WriteSharding(const Sharding& sharding);
// device ids by partition and replica.
std::string WriteDeviceAssignment(const std::vector<std::vector<int64_t>>& assignment);

}  // namespace VXLA_NAMESPACE::pjrt
