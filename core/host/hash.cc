#include "core/host/hash.h"

#include <fmt/core.h>

#define XXH_INLINE_ALL  // no library to link
#include <xxhash.h>

namespace VXLA_NAMESPACE {

std::string Hash128::Hex() const { return fmt::format("{:016x}{:016x}", high, low); }

Hash128 HashBytes(std::span<const std::byte> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

Hash128 HashText(std::string_view text) { return HashBytes(std::as_bytes(std::span(text.data(), text.size()))); }

}  // namespace VXLA_NAMESPACE
