#include <cctype>
#include <charconv>
#include <optional>

#include "backend/vulkan/device/open.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

int Rank(DeviceFacts::Kind kind) {
  switch (kind) {
    case DeviceFacts::Kind::kDiscrete:
      return 4;
    case DeviceFacts::Kind::kIntegrated:
      return 3;
    case DeviceFacts::Kind::kVirtual:
      return 2;
    case DeviceFacts::Kind::kOther:
      return 1;
    case DeviceFacts::Kind::kSoftware:
      return 0;
  }
  return 0;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

std::string Listing(std::span<const DeviceFacts> devices) {
  std::string text;
  for (size_t i = 0; i < devices.size(); ++i) {
    text += fmt::format("{}vulkan:{} {}", i == 0 ? "" : ", ", i, devices[i].name);
  }
  return text;
}

// The best of those that `fits` accepts; -1 if none.
template <typename Fits>
int Best(std::span<const DeviceFacts> devices, Fits fits) {
  int best = -1;
  for (int i = 0; i < static_cast<int>(devices.size()); ++i) {
    if (!fits(devices[i])) continue;
    auto key = [&](int k) {
      const DeviceFacts& facts = devices[k];
      const int native = facts.int64 + facts.float64 + facts.storage16 + facts.storage8;
      return std::tuple(!facts.compile_only, Rank(facts.kind), facts.memory_bytes, native);
    };
    if (best < 0 || key(i) > key(best)) best = i;
  }
  return best;
}

// The 32 digits of a UUID in lower case; nothing if the text is something else.
std::string UuidDigits(std::string_view text) {
  std::string digits = Lower(text);
  std::erase(digits, '-');
  const bool all = digits.find_first_not_of("0123456789abcdef") == std::string::npos;
  return all && digits.size() == 32 ? digits : "";
}

}  // namespace

std::string UuidText(const std::array<uint8_t, 16>& uuid) {
  std::string text;
  for (size_t i = 0; i < uuid.size(); ++i) {
    text += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
  }
  return text;
}

namespace {

// "there is 1 device: vulkan:0 llvmpipe", "there are 2 devices: ..."
std::string CountAndListing(std::span<const DeviceFacts> devices) {
  return fmt::format("there {} {} device{}: {}", devices.size() == 1 ? "is" : "are", devices.size(),
                     devices.size() == 1 ? "" : "s", Listing(devices));
}

// The number that the whole text is; nothing if it is none, or has a sign.
std::optional<int> NumberIn(std::string_view text) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

}  // namespace

Result<int> ChooseDevice(std::span<const DeviceFacts> devices, std::string_view given) {
  if (devices.empty()) return DeviceFailure("no Vulkan device present (asked for '{}')", given);
  const std::string wanted = Lower(given);
  // The best device is a GPU where there is one.
  if (wanted == "vulkan" || wanted == "gpu") return Best(devices, [](const DeviceFacts&) { return true; });
  constexpr std::string_view kNumbered = "vulkan:";
  const int count = static_cast<int>(devices.size());
  if (wanted.starts_with(kNumbered)) {
    const std::string_view text = std::string_view(wanted).substr(kNumbered.size());
    const std::optional<int> number = NumberIn(text);
    if (number && *number < count) return *number;
    const bool digits = !text.empty() && text.find_first_not_of("-0123456789") == std::string_view::npos;
    if (digits) return NotFound("device '{}': {}", given, CountAndListing(devices));
    return InvalidArgument("device '{}': '{}' is no number; {}", given, text, CountAndListing(devices));
  }
  // A number alone too; where there is no such device it may be a part of a name.
  if (const std::optional<int> number = NumberIn(wanted); number && *number < count) return *number;
  if (const std::string uuid = UuidDigits(wanted); !uuid.empty()) {
    for (size_t i = 0; i < devices.size(); ++i) {
      if (UuidDigits(UuidText(devices[i].device_uuid)) == uuid) return static_cast<int>(i);
    }
    return NotFound("no device has the UUID {}; {}", given, CountAndListing(devices));
  }
  // Mesa's software driver is called lavapipe, and its device by the library that it draws with.
  const std::string part = wanted == "lavapipe" ? "llvmpipe" : wanted;
  const int found = part.empty() ? -1 : Best(devices, [&](const DeviceFacts& facts) {
    return Lower(facts.name).find(part) != std::string::npos;
  });
  if (found < 0) return NotFound("no device is named like '{}'; {}", given, CountAndListing(devices));
  return found;
}

}  // namespace VXLA_NAMESPACE::vulkan
