// Random programs as HLO text: the same number gives the same program on every machine.
#pragma once

#include <cstdint>
#include <string>

namespace VXLA_NAMESPACE::testing {

struct RandomGraphOptions {
  int instructions = 24;        // about so many beside parameters and constants
  int64_t max_elements = 4096;  // of any value
  bool loops = true;
};

// A DAG of elementwise operations, comparisons and selects, conversions, products, reductions (variadic ones and custom
// combiners too), windows, data movement and loops over f32, bf16, f16, f64, s32 and pred. It verifies, and takes
// parameters that seeded values suit.
std::string RandomGraph(uint64_t number, const RandomGraphOptions& options = {});

}  // namespace vxla::testing
