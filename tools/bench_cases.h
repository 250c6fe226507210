// The programs that `vxla bench` measures by name.
#pragma once

#include <string>
#include <vector>

namespace VXLA_NAMESPACE {

struct BenchCase {
  std::string name;
  std::string hlo;
  double flop = 0;  // per run
  bool fusion = true;
  bool on_cpu = false;               // measures the CPU reference
  std::string emulate = {};          // as --emulate
  std::string against = {};          // HLO text that the same device runs as the peer, with its features
  std::string peer = "the f32 add";  // what that is called
  bool wide_accumulation = false;    // --accumulation wide; its peer runs without
};

// add, sum, dot_512, dot_1024, cholesky_512, softmax, transpose, tanh_mul_add, replay_1000,
// {exp,log,sin,tanh}_vs_builtin, emulated_i64_add, emulated_f64_add, wide_sum, wide_dot_512, sort, conv_3x3,
// conv_input_gradient, conv_filter_gradient, depthwise_3x3, max_pool, gather_rows, scatter_add_rows,
// update_slice, cumsum, cumsum_one_row, cumsum_columns, moving_sum, fft_64x4096, rnn_128, predicated_loop, cpu_dot_512,
// cpu_add.
std::vector<BenchCase> BenchCases();

}  // namespace VXLA_NAMESPACE
