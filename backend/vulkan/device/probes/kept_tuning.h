// What `vxla bench --tune` measured on a device, kept in the cache folder for it and its driver.
#pragma once

#include "backend/device_facts.h"
#include "backend/vulkan/shader/disk_cache.h"

namespace VXLA_NAMESPACE::vulkan {

// Nothing kept, or nothing that the device takes: the table's values.
DeviceTuning LoadTuning(DiskCache& disk, const DeviceFacts& facts);
// False: it could not be written, and disk.note() says why.
bool KeepTuning(DiskCache& disk, const DeviceFacts& facts, const DeviceTuning& tuning);

}  // namespace VXLA_NAMESPACE::vulkan
