// What runs of the reference with perturbed roundings say of one result (Monte Carlo arithmetic).
#pragma once

#include <cstdint>

#pragma GCC visibility push(default)
namespace VXLA_NAMESPACE {

struct Conditioning {
  int runs = 0;              // perturbed ones
  int64_t outside = 0;       // elements of the judged value beyond the tolerance and beyond what the runs spread over
  double unseen = 0;         // so many would be expected of one more perturbed run
  int64_t undetermined = 0;  // elements of integers or pred, or between a number and NaN or infinity: runs disagree
  // The largest spread of an element (root mean square), in roundings of the result's largest magnitude: 1 is what its
  // last rounding alone does. 0 for integers.
  double amplification = 0;
  bool explains = false;  // what the judged value is off by, rounding can do
};

}  // namespace VXLA_NAMESPACE
#pragma GCC visibility pop
