// TargetInfo: what the passes need to know of the device that a module is compiled for. Pure data, so passes run
// without one.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "core/data/element_type.h"

namespace VXLA_NAMESPACE {

struct TargetInfo {
  bool cheap_dispatches = true;  // a dispatch costs less than what would spare it
  bool accesses_by_lane = true;  // side by side they gain nothing
  int max_fusion_buffers = 24;   // tensors that one kernel may read and write (descriptor limits, register pressure)
  // As above, of a kernel that computes many small results side by side: a value or two of each is held at a time.
  int max_joined_buffers = 256;
  // That a concatenate's kernel binds beside its argument block.
  int max_kernel_buffers = 256;
  int max_fusion_instructions = 512;  // instructions in one fused computation: compile time grows with them
  // What a fused computation comes to in scalar operations once its functions are inlined (fusion_rules.h): drivers'
  // compilers take time and memory for them.
  int64_t max_kernel_operations = 1 << 15;
  int64_t max_elements = INT32_MAX;                 // what kernels tell apart by 32-bit indices (giant_splitter.h)
  bool emulates_i64 = false, emulates_f64 = false;  // these are pairs of words there
  bool wide_atomics = false;                        // words of 64 bits are compared and exchanged in memory
  // A row program that reads a reduction's result back over the elements runs its rows in parallel only: with fewer
  // rows than this and longer ones than that, separate kernels are faster.
  int64_t row_program_min_rows = 8;
  int64_t row_program_short_row = 4096;
  // Attention of at least so many scores (rows of queries by keys) and rows is one kernel, which writes none of them;
  // of fewer where rows have so many keys.
  int64_t attention_min_scores = INT64_MAX, attention_min_rows = 8, attention_long_row = 1024;
  // A product of so many terms, or of so many multiply-adds in all, is computed where a row program reads its rows
  // (core/passes/fuse/product_rows.h); 0: none is.
  int64_t product_rows_most_terms = 0, product_rows_small_work = 0;
  std::set<ElementType> matrix_terms;  // whose products matrix units add up in f32
  // How many products of bf16 the units make in the time of one of f32 on the vector units, and the multiply-adds of a
  // dot below which several of them are not worth their dispatches (core/passes/expand/dot_expander.cc).
  double matrix_rate = 0;
  int64_t matrix_parts_least_work = int64_t{1} << 29;
  // A dot's algorithm may be another one that is no less accurate.
  bool free_dot_algorithms = false;
  // Dispatches of the same kernel at different sizes are merged afterwards (scheduler/plan/merged_dispatches.h).
  bool merges_loops = false;
  bool wide_accumulation = false;  // f32 sums of reductions and products are kept in two floats
  bool fusion = true;              // --no-fusion: every instruction is a fusion of its own
  bool unroll_loops = true;        // whiles of a few elementwise trips are written out
  bool pairs_trips = false;        // barriers are dear: loops go two trips at a time where that spares some
  bool sizes_tell_faults = false;  // live sizes that do not agree make those of the results -1, where there are any
  // Targets of custom calls for which the caller has functions of its own: they stay calls, whatever they mean here.
  std::set<std::string> host_functions;
};

}  // namespace VXLA_NAMESPACE
