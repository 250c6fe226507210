#include "scheduler/replicas/sharing.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

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

SharingWay ChooseSharing(const PlaceExchange& exchange, std::span<const DeviceFacts* const> devices) {
  std::vector<const DeviceFacts*> taking_part;
  for (const int64_t place : exchange.places) taking_part.push_back(devices[static_cast<size_t>(place)]);
  return ChooseSharing(taking_part);
}

std::string ExchangesText(std::span<const PlaceExchange> exchanges, std::span<const DeviceFacts* const> devices) {
  std::string text;
  for (const PlaceExchange& exchange : exchanges)
    text += fmt::format("{}: {}\n", exchange.what, SharingText(ChooseSharing(exchange, devices)));
  return text;
}

}  // namespace VXLA_NAMESPACE
