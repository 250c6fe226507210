// Hashes (XXH3): the same on every machine; no defence against those who look for collisions, so what must be right
// compares the bytes too.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace VXLA_NAMESPACE {

struct Hash128 {
  uint64_t high = 0, low = 0;
  friend auto operator<=>(const Hash128&, const Hash128&) = default;
  std::string Hex() const;
};
Hash128 HashBytes(std::span<const std::byte> bytes);
Hash128 HashText(std::string_view text);

}  // namespace VXLA_NAMESPACE
