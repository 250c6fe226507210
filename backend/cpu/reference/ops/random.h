// The counter-based generators that the random ops share.
#pragma once

#include <array>
#include <cstdint>

namespace VXLA_NAMESPACE {

// Philox4x32 with 10 rounds: four words from a 128-bit counter and a 64-bit key.
std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter, uint64_t key);

}  // namespace VXLA_NAMESPACE
