#include "scheduler/replicas/sharing.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace VXLA_NAMESPACE {

namespace {

bool AllOf(std::span<const DeviceFacts* const> places, auto holds) {
  return std::ranges::all_of(places, [&](const DeviceFacts* facts) { return facts != nullptr && holds(*facts); });
}

// Opaque handles are for one physical device and driver.
bool AreOne(std::span<const DeviceFacts* const> places) {
  return AllOf(places, [&](const DeviceFacts& facts) {
    return facts.device_uuid == places[0]->device_uuid && facts.driver_uuid == places[0]->driver_uuid &&
           facts.name == places[0]->name;
  });
}

std::vector<const DeviceFacts*> FactsOf(const PlaceExchange& exchange, std::span<const DeviceFacts* const> devices) {
  std::vector<const DeviceFacts*> taking_part;
  for (const int64_t place : exchange.places) taking_part.push_back(devices[place]);
  return taking_part;
}

}  // namespace

SharingWay ChooseSharing(std::span<const DeviceFacts* const> places) {
  if (places.size() < 2) return SharingWay::kStaging;
  const bool share = AllOf(places, [](const DeviceFacts& facts) { return facts.shares_memory; });
  if (share && AreOne(places)) return SharingWay::kExternalMemory;
  return AllOf(places, [](const DeviceFacts& facts) { return facts.host_pointer_alignment != 0; })
             ? SharingWay::kHostPointer
             : SharingWay::kStaging;
}

TellingWay ChooseTelling(SharingWay way, std::span<const DeviceFacts* const> places) {
  using Signals = DeviceFacts::SharedSignals;
  if (way == SharingWay::kStaging || places.size() < 2 || !AreOne(places)) return TellingWay::kHost;
  if (AllOf(places, [](const DeviceFacts& facts) { return facts.shares_signals == Signals::kCounting; }))
    return TellingWay::kCounting;
  return AllOf(places, [](const DeviceFacts& facts) { return facts.shares_signals == Signals::kInTurn; })
             ? TellingWay::kInTurn
             : TellingWay::kHost;
}

std::string_view TellingText(TellingWay way) {
  if (way == TellingWay::kInTurn) return "binary semaphores of the devices";
  return way == TellingWay::kCounting ? "timeline semaphores of the devices" : "the host";
}

std::string_view SharingText(SharingWay way) {
  if (way == SharingWay::kExternalMemory) return "memory that both devices open";
  return way == SharingWay::kHostPointer ? "pages of the host that each device takes as memory of its own"
                                         : "downloads and uploads";
}

PlaceLink LinkOf(SharingWay way) {
  if (way == SharingWay::kExternalMemory) return PlaceLink::kDeviceMemory;
  return way == SharingWay::kHostPointer ? PlaceLink::kHostPages : PlaceLink::kStaging;
}

SharingWay ChooseSharing(const PlaceExchange& exchange, std::span<const DeviceFacts* const> devices) {
  return ChooseSharing(FactsOf(exchange, devices));
}

TellingWay ChooseTelling(const PlaceExchange& exchange, SharingWay way, std::span<const DeviceFacts* const> devices) {
  return ChooseTelling(way, FactsOf(exchange, devices));
}

std::string ExchangeText(std::string_view what, SharingWay way, TellingWay telling) {
  const std::string text = fmt::format("{}: {}", what, SharingText(way));
  return way == SharingWay::kStaging ? text : fmt::format("{}, told by {}", text, TellingText(telling));
}

std::string ExchangesText(std::span<const PlaceExchange> exchanges, std::span<const DeviceFacts* const> devices) {
  std::string text;
  for (const PlaceExchange& exchange : exchanges) {
    const SharingWay way = ChooseSharing(exchange, devices);
    int64_t most = 0;
    for (const int64_t place : exchange.places) most = std::max(most, exchange.BytesReceived(place));
    text += fmt::format("{}; a place receives up to {} bytes\n",
                        ExchangeText(exchange.what, way, ChooseTelling(exchange, way, devices)), most);
  }
  return text;
}

}  // namespace VXLA_NAMESPACE
