#include "core/host/hash.h"
#include "integrations/pjrt/plugin.h"

namespace VXLA_NAMESPACE::pjrt {
namespace {

Status TopologyDescription_PlatformName(PJRT_TopologyDescription_PlatformName_Args& args) {
  args.platform_name = kPlatform.data();
  args.platform_name_size = kPlatform.size();
  return OkStatus();
}

Status TopologyDescription_PlatformVersion(PJRT_TopologyDescription_PlatformVersion_Args& args) {
  args.platform_version = args.topology->version.data();
  args.platform_version_size = args.topology->version.size();
  return OkStatus();
}

Status TopologyDescription_GetDeviceDescriptions(PJRT_TopologyDescription_GetDeviceDescriptions_Args& args) {
  args.descriptions = args.topology->descriptions.data();
  args.num_descriptions = args.topology->descriptions.size();
  return OkStatus();
}

Status TopologyDescription_Attributes(PJRT_TopologyDescription_Attributes_Args& args) {
  args.attributes = nullptr;
  args.num_attributes = 0;
  return OkStatus();
}

Status TopologyDescription_Fingerprint(PJRT_TopologyDescription_Fingerprint_Args& args) {
  args.fingerprint = HashText(args.topology->version).low;
  return OkStatus();
}

Status TopologyDescription_GetMemorySpaceKindIds(PJRT_TopologyDescription_GetMemorySpaceKindIds_Args& args) {
  static constexpr int kIds[] = {static_cast<int>(BufferMemory::kDevice), static_cast<int>(BufferMemory::kPinnedHost)};
  args.memory_space_kind_ids = kIds;
  args.num_memory_space_kind_ids = std::size(kIds);
  return OkStatus();
}

}  // namespace

void AddTopologySlots(PJRT_Api& api) {
  VXLA_PJRT_SLOT(api, TopologyDescription_PlatformName);
  VXLA_PJRT_SLOT(api, TopologyDescription_PlatformVersion);
  VXLA_PJRT_SLOT(api, TopologyDescription_GetDeviceDescriptions);
  VXLA_PJRT_SLOT(api, TopologyDescription_Attributes);
  VXLA_PJRT_SLOT(api, TopologyDescription_Fingerprint);
  VXLA_PJRT_SLOT(api, TopologyDescription_GetMemorySpaceKindIds);
}

}  // namespace VXLA_NAMESPACE::pjrt
