// Argument blocks: where each step of a plan finds its addresses and parameters, and which words change between runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "scheduler/plan/plan.h"

namespace VXLA_NAMESPACE {

// All blocks of a plan lie in one buffer.
struct ArgumentLayout {
  std::vector<int64_t> offset_of_step;
  std::vector<int64_t> size_of_step;
  int64_t total_bytes = 0;
  // An address in a parameter's or a result's buffer: all that a replay rewrites.
  struct Patch {
    int64_t position = 0;      // in the buffer of blocks
    int64_t offset_bytes = 0;  // in the memory that the address points into
  };
  std::vector<std::vector<Patch>> parameter_patches, result_patches;  // by leaf
};

// `alignment` of each block: 16, or the offset alignment of storage buffers where blocks are bound as such.
ArgumentLayout LayOutArguments(const Plan& plan, int64_t alignment);

// Asks for any valid memory of at least 16 bytes.
inline constexpr int kNoPlace = -1;
// The device address of a memory space's part (scratch or constant).
using AddressOf = std::function<uint64_t(MemorySpace space, int index)>;
// Fills in everything but the patches.
void WriteArguments(const Plan& plan, const ArgumentLayout& layout, const AddressOf& address_of,
                    std::span<std::byte> blocks);
// Rewrites the addresses of one leaf's buffer.
void PatchArguments(std::span<const ArgumentLayout::Patch> patches, uint64_t base_address, std::span<std::byte> blocks);

}  // namespace VXLA_NAMESPACE
