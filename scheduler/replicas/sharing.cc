#include "scheduler/replicas/sharing.h"

#include <algorithm>

namespace VXLA_NAMESPACE {

SharingWay ChooseSharing(std::span<const DeviceFacts* const> places) {
  const auto all = [&](auto holds) {
    return std::ranges::all_of(places, [&](const DeviceFacts* facts) { return facts != nullptr && holds(*facts); });
  };
  if (places.size() < 2) return SharingWay::kStaging;
  const bool one = all([&](const DeviceFacts& facts) {
    return facts.shares_memory && facts.device_uuid == places[0]->device_uuid &&
           facts.driver_uuid == places[0]->driver_uuid && facts.name == places[0]->name;
  });
  if (one) return SharingWay::kExternalMemory;
  return all([](const DeviceFacts& facts) { return facts.host_pointer_alignment != 0; }) ? SharingWay::kHostPointer
                                                                                         : SharingWay::kStaging;
}

std::string_view SharingText(SharingWay way) {
  switch (way) {
    case SharingWay::kExternalMemory:
      return "memory that both devices open";
    case SharingWay::kHostPointer:
      return "pages of the host that each device takes as memory of its own";
    case SharingWay::kStaging:
      break;
  }
  return "downloads and uploads";
}

}  // namespace VXLA_NAMESPACE
