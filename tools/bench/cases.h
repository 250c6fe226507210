// The programs that `vxla bench` measures by name.
#pragma once

#include <cstdint>
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
  bool records = false;              // measures what recording costs the host
  int64_t replicas = 1;              // as one program of the device
};

// What the programs reduce with.
inline constexpr char kReducers[] =
    "max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }\n"
    "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n";

// add, sum, dot_512, dot_1024, cholesky_512, softmax, transpose, tanh_mul_add, replay_1000, embed (the host's cost of
// recording), {exp,log,sin,tanh}_vs_builtin, emulated_i64_add, emulated_f64_add, wide_sum, wide_dot_512, sort,
// conv_3x3, conv_input_gradient, conv_filter_gradient, depthwise_3x3, max_pool, gather_rows, scatter_add_rows,
// scatter_add_elements, scatter_set_elements, update_slice, cumsum, cumsum_one_row, cumsum_columns, moving_sum,
// fft_64x4096, rnn_128, predicated_loop, cpu_dot_512, cpu_add.
std::vector<BenchCase> BenchCases();

// all_reduce_N, all_gather_N and all_to_all_N over 2, 4 and 8 replicas, of 64 MiB: what each of them gives to be reduced
// or dealt out, and what gathered blocks come to.
std::vector<BenchCase> CollectiveCases();

// What fills a GPU: elementwise work of 16 million elements, rows of 4,096, products and convolutions on matrix units and
// off them, attention and its gradient, a sort. Of docs/benchmarks' tables beside XLA and of docs/internals/isa.md.
std::vector<BenchCase> KernelCases();

}  // namespace VXLA_NAMESPACE
