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

// What splitmix64 adds to its state for each number, and what it makes of the state.
inline constexpr uint64_t kSplitMixStep = 0x9e3779b97f4a7c15u;
constexpr uint64_t SplitMix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace VXLA_NAMESPACE
