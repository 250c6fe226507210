// Random programs, the same on every machine: elementwise ops of all types, index maps, products, reductions, windows
// and loops over prime, small and empty shapes, put together as fusion likes to meet them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace VXLA_NAMESPACE::testing {

struct RandomProgram {
  std::string text;  // HLO
  // By result: how far apart two right implementations may be, absolutely, for arguments of RandomArguments:
  // first-order analysis of the rounding errors of every operation. Zero: the same value (NaN where NaN).
  std::vector<double> errors;
};

struct RandomProgramOptions {
  int steps = 9;          // each adds one operation or a small pattern of them (softmax, a product and what follows it)
  bool loops = true;      // whiles
  bool families = false;  // slices and updates at indices that are data, sorts, convolutions, transforms, factors,
                          // branches ... besides
  bool even_sizes = false;  // mostly powers of two, which several devices can share
  bool wide_types = true;  // f64 and c64, which some devices compute with pairs of words
};

RandomProgram MakeRandomProgram(uint64_t seed, const RandomProgramOptions& options = {});

}  // namespace VXLA_NAMESPACE::testing
