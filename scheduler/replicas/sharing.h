// Sharing: by which memory places give one another what their devices exchange.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "backend/device_facts.h"
#include "core/passes/devices/device_merger.h"

namespace VXLA_NAMESPACE {

enum class SharingWay : uint8_t {
  kExternalMemory,  // logical devices of one physical device: memory of one of them that the others open
  kHostPointer,     // pages of the host that each device takes as memory of its own
  kStaging,         // downloads and uploads
};
// How a device learns that another one's data are there, and that its own were taken.
enum class TellingWay : uint8_t {
  kHost,      // the host waits for one and tells the other
  kInTurn,    // semaphores that are signalled and waited for in turn
  kCounting,  // semaphores that count
};
// Of places with such devices that all exchange with each other; null: the reference. Pure.
SharingWay ChooseSharing(std::span<const DeviceFacts* const> places);
std::string_view SharingText(SharingWay way);
PlaceLink LinkOf(SharingWay way);
// Of such places, which exchange in that way. Pure.
TellingWay ChooseTelling(SharingWay way, std::span<const DeviceFacts* const> places);
std::string_view TellingText(TellingWay way);
// Of the places that an exchange has. devices: by place.
SharingWay ChooseSharing(const PlaceExchange& exchange, std::span<const DeviceFacts* const> devices);
TellingWay ChooseTelling(const PlaceExchange& exchange, SharingWay way, std::span<const DeviceFacts* const> devices);
// "all-reduce ar (channel_id 7): memory that both devices open; semaphores that count", of one exchange.
std::string ExchangeText(std::string_view what, SharingWay way, TellingWay telling);
// A line for each exchange, with the most that a place receives.
std::string ExchangesText(std::span<const PlaceExchange> exchanges, std::span<const DeviceFacts* const> devices);

}  // namespace VXLA_NAMESPACE
