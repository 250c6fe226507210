// How a Fourier transform of one length is made: a pure decision.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/device_facts.h"
#include "core/data/element_type.h"

namespace VXLA_NAMESPACE::vulkan {

// One pass over memory: transforms of `radix` points, after which lines of radix times as many points are transformed.
struct FftPass {
  int64_t radix = 1;
  // An invocation adds up one result in a loop, instead of computing all results of a butterfly in registers.
  bool direct = false;
  // Radices of stages through shared memory, or none: `lanes` invocations share a transform, a workgroup takes
  // `transforms` of them.
  std::vector<int64_t> stages = {};
  int64_t lanes = 1, transforms = 1;
  bool padded = false;  // shared memory has room for padding between banks
  // A subgroup of eight lanes holds the whole line (shaders/software/subgroup_line.comp).
  bool by_subgroup = false;
  friend bool operator==(const FftPass&, const FftPass&) = default;
};

struct FftShape {
  // The passes transform this many points: the length itself or, of a chirp transform (L. I. Bluestein, 1970), at
  // least twice as many less one.
  int64_t points = 1;
  bool chirp = false;
  std::vector<FftPass> passes;  // their radices multiply to `points`
  friend bool operator==(const FftShape&, const FftShape&) = default;
};

struct FftWork {
  int64_t length = 1;
  int64_t lines = 1;
  bool strided = false;  // values of a line are not neighbours in memory
  ElementType type = ElementType::kC64;
  bool in_pairs = false;  // the type is emulated, so arithmetic is hundreds of operations
  bool real = false;      // real values come in or go out
  bool plain = false;     // as many complex values come in as go out, and nothing but swaps and a scale is done to them
  // One workgroup makes all of it beside other things: each pass by butterflies through memory.
  bool one_workgroup = false;
};
FftShape TuneFft(const DeviceFacts& facts, const FftWork& work);

}  // namespace VXLA_NAMESPACE::vulkan
