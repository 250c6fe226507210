#include "tests/support/live_programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include "core/sizes/live_sizes.h"

namespace VXLA_NAMESPACE::testing {
namespace {

constexpr std::string_view kComputations = R"(HloModule m
sum {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT r = f32[] add(x, y)
}
ge {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT r = pred[] compare(x, y), direction=GE
}
less2 {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  i = s32[] parameter(2)
  j = s32[] parameter(3)
  ROOT r = pred[] compare(x, y), direction=LT
}
twice {
  v = f32[$7|4,3] parameter(0)
  s = f32[$7|4,3] sine(v)
  ROOT r = f32[$7|4,3] add(s, v)
}
totals {
  v = f32[$7|4,3] parameter(0)
  z = f32[] constant(0)
  s = f32[3] reduce(v, z), dimensions={0}, to_apply=sum
  b = f32[#7|4,3] broadcast(s), dimensions={1}
  ROOT r = f32[$7|4,3] multiply(b, v)
}
scan_step {
  x = f32[$5|3] parameter(0)
  carry = f32[$5|3] parameter(1)
  s = f32[$5|3] add(x, carry)
  ROOT pair = (f32[$5|3], f32[$5|3]) tuple(s, s)
}
three_rounds {
  state = (s32[], f32[$7|4,3], f32[]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  n = s32[] constant(3)
  ROOT r = pred[] compare(i, n), direction=LT
}
round {
  state = (s32[], f32[$7|4,3], f32[]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  v = f32[$7|4,3] get-tuple-element(state), index=1
  c = f32[$7|4,3] cosine(v)
  total = f32[] get-tuple-element(state), index=2
  t = f32[] reduce(c, total), dimensions={0,1}, to_apply=sum
  ROOT r = (s32[], f32[$7|4,3], f32[]) tuple(next, c, t)
}
ENTRY main {
)";

struct Row {
  std::string_view opcode, entry;
};

constexpr Row kMovement[] = {
    {"bitcast-convert", "a = f32[$7|4,3] parameter(0)\n ROOT r = s32[$7|4,3] bitcast-convert(a)"},
    {"bitcast-convert", "a = f32[$7|4,3] parameter(0)\n ROOT r = u8[$7|4,3,4] bitcast-convert(a)"},
    {"reshape", "a = f32[$7|4,3] parameter(0)\n ROOT r = f32[$21|12] reshape(a)"},
    {"reshape", "a = f32[2,$6|3,$5|3] parameter(0)\n ROOT r = f32[$4|2,1,3,$5|3] reshape(a)"},
    {"bitcast", "a = f32[$7|4,3] parameter(0)\n ROOT r = f32[$21|12] bitcast(a)"},
    {"bitcast", "a = f32[$7|4,3] parameter(0)\n ROOT r = s32[$7|4,3] bitcast(a)"},
    {"broadcast", "a = f32[$7|4] parameter(0)\n ROOT r = f32[2,$7|4] broadcast(a), dimensions={1}"},
    {"concatenate",
     "a = f32[$7|4,3] parameter(0)\n b = f32[2,3] parameter(1)\n"
     "ROOT r = f32[$16|10,3] concatenate(a, b, a), dimensions={0}"},
    {"concatenate",
     "a = f32[$7|4,3] parameter(0)\n b = f32[$7|4,2] parameter(1)\n"
     "ROOT r = f32[$7|4,5] concatenate(a, b), dimensions={1}"},
    {"copy", "a = f32[$7|4,3] parameter(0)\n ROOT r = f32[$7|4,3] copy(a)"},
    {"pad",
     "a = f32[$7|4,3] parameter(0)\n z = f32[] constant(9)\n ROOT r = f32[$16|10,4] pad(a, z), padding=1_2_1x0_1"},
    {"pad", "a = f32[$7|4,3] parameter(0)\n z = f32[] constant(9)\n ROOT r = f32[$5|2,3] pad(a, z), padding=-1_-1x0_0"},
    {"reverse", "a = f32[$7|4,3] parameter(0)\n ROOT r = f32[$7|4,3] reverse(a), dimensions={0,1}"},
    {"slice", "a = f32[$7|4,3] parameter(0)\n ROOT r = f32[$3|2,2] slice(a), slice={[1:#7|4:2], [0:2]}"},
    {"transpose", "a = f32[$7|4,3] parameter(0)\n ROOT r = f32[3,$7|4] transpose(a), dimensions={1,0}"},
    {"copy-start", "a = f32[$7|4,3] parameter(0)\n ROOT s = (f32[$7|4,3], f32[$7|4,3], u32[]) copy-start(a)"},
    {"copy-done",
     "a = f32[$7|4,3] parameter(0)\n s = (f32[$7|4,3], f32[$7|4,3], u32[]) copy-start(a)\n"
     "ROOT r = f32[$7|4,3] copy-done(s)"},
    {"dynamic-reshape",
     "a = f32[$6|4] parameter(0)\n n = s32[] constant(2)\n ROOT r = f32[$3|2,2] dynamic-reshape(a, n, n)"},
    {"get-dimension-size", "a = f32[$7|4,3] parameter(0)\n ROOT r = s32[] get-dimension-size(a), dimensions={0}"},
    {"set-dimension-size",
     "a = f32[$7|4,3] parameter(0)\n n = s32[] constant(2)\n"
     "ROOT r = f32[$7|4,<=3] set-dimension-size(a, n), dimensions={1}"},
    {"dynamic-slice",
     "a = f32[$7|4,5] parameter(0)\n i = s32[] parameter(1)\n j = s32[] parameter(2)\n"
     "ROOT r = f32[$7|4,2] dynamic-slice(a, i, j), dynamic_slice_sizes={#7|4,2}"},
    {"dynamic-slice",
     "a = f32[$7|4,5] parameter(0)\n i = s32[] constant(5)\n"
     "ROOT r = f32[2,3] dynamic-slice(a, i, i), dynamic_slice_sizes={2,3}"},
    {"dynamic-update-slice",
     "a = f32[$7|4,3] parameter(0)\n u = f32[$3|2,3] parameter(1)\n i = s32[] constant(5)\n"
     "ROOT r = f32[$7|4,3] dynamic-update-slice(a, u, i, i)"},
    {"gather",
     "a = f32[$7|4,$5|3] parameter(0)\n i = s32[$6|3,1] parameter(1)\n"
     "ROOT r = f32[$6|3,$5|3] gather(a, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
     "index_vector_dim=1, slice_sizes={1,#5|3}"},
    {"gather",
     "a = f32[$6|3,$7|4] parameter(0)\n i = s32[$6|3,2,1] parameter(1)\n"
     "ROOT r = f32[$6|3,2] gather(a, i), offset_dims={}, collapsed_slice_dims={1}, start_index_map={1}, "
     "operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=2, slice_sizes={1,1}"},
    {"scatter",
     "a = f32[$7|4,$5|3] parameter(0)\n i = s32[$6|3,1] parameter(1)\n u = f32[$6|3,$5|3] parameter(2)\n"
     "ROOT r = f32[$7|4,$5|3] scatter(a, i, u), update_window_dims={1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum"},
};

constexpr Row kCompute[] = {
    {"stochastic-convert",
     "a = f32[$7|4,3] parameter(0)\n b = u32[$7|4,3] parameter(1)\n"
     "ROOT r = s8[$7|4,3] stochastic-convert(a, b)"},
    {"dot",
     "a = f32[$7|4,$5|3] parameter(0)\n b = f32[$5|3,2] parameter(1)\n"
     "ROOT r = f32[$7|4,2] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
    {"dot",
     "a = f32[$3|2,4,$5|3] parameter(0)\n b = f32[$3|2,$5|3,$7|4] parameter(1)\n"
     "ROOT r = f32[$3|2,4,$7|4] dot(a, b), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, "
     "rhs_contracting_dims={1}"},
    {"ragged-dot",
     "a = f32[$11|8,3] parameter(0)\n b = f32[$4|2,3,5] parameter(1)\n g = s32[$4|2] parameter(2)\n"
     "ROOT r = f32[$11|8,5] ragged-dot(a, b, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
     "lhs_ragged_dims={0}, rhs_group_dims={0}"},
    {"ragged-dot",
     "a = f32[3,$11|8] parameter(0)\n b = f32[$11|8,5] parameter(1)\n g = s32[$4|2] parameter(2)\n"
     "ROOT r = f32[$4|2,3,5] ragged-dot(a, b, g), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
     "lhs_ragged_dims={1}"},
    {"scaled-dot",
     "a = f8e4m3fn[2,$96|64] parameter(0)\n b = f8e4m3fn[5,$96|64] parameter(1)\n"
     "s = f8e8m0fnu[2,$3|2] parameter(2)\n t = f8e8m0fnu[5,$3|2] parameter(3)\n"
     "ROOT r = f32[2,5] scaled-dot(a, b, s, t), lhs_contracting_dims={1}, rhs_contracting_dims={1}"},
    {"scaled-dot",
     "a = f8e4m3fn[$6|4,32] parameter(0)\n b = f8e4m3fn[5,32] parameter(1)\n"
     "s = f8e8m0fnu[$3|2,1] parameter(2)\n t = f8e8m0fnu[5,1] parameter(3)\n"
     "ROOT r = f32[$6|4,5] scaled-dot(a, b, s, t), lhs_contracting_dims={1}, rhs_contracting_dims={1}"},
    {"convolution",
     "a = f32[$3|2,$9|6,$4|3] parameter(0)\n k = f32[3,$4|3,5] parameter(1)\n"
     "ROOT r = f32[$3|2,$5|3,5] convolution(a, k), window={size=3 stride=2 pad=1_1}, dim_labels=b0f_0io->b0f"},
    {"reduce",
     "a = f32[$7|4,3] parameter(0)\n z = f32[] constant(0)\n ROOT r = f32[3] reduce(a, z), dimensions={0}, "
     "to_apply=sum"},
    {"reduce",
     "a = f32[$7|4,3] parameter(0)\n z = f32[] constant(0)\n ROOT r = f32[$7|4] reduce(a, z), dimensions={1}, "
     "to_apply=sum"},
    {"reduce-window",
     "a = f32[$7|4,3] parameter(0)\n z = f32[] constant(0)\n ROOT r = f32[$4|2,3] reduce-window(a, z), "
     "window={size=3x2 stride=2x1 pad=1_1x0_1}, to_apply=sum"},
    {"select-and-scatter",
     "a = f32[$8|4,3] parameter(0)\n s = f32[$4|2,3] parameter(1)\n z = f32[] constant(0)\n"
     "ROOT r = f32[$8|4,3] select-and-scatter(a, s, z), window={size=2x1 stride=2x1}, select=ge, scatter=sum"},
    {"scan",
     "a = f32[$7|4,$5|3] parameter(0)\n z = f32[$5|3] parameter(1)\n"
     "ROOT r = (f32[$7|4,$5|3], f32[$5|3]) scan(a, z), dimensions={0}, num_carries=1, to_apply=scan_step"},
    {"scan",
     "a = f32[$5|3,$7|4] parameter(0)\n z = f32[$5|3] parameter(1)\n"
     "ROOT r = (f32[$5|3,$7|4], f32[$5|3]) scan(a, z), dimensions={1}, is_reverse=true, num_carries=1, "
     "to_apply=scan_step"},
    {"sort",
     "a = f32[$7|4,3] parameter(0)\n i = s32[$7|4,3] parameter(1)\n"
     "ROOT r = (f32[$7|4,3], s32[$7|4,3]) sort(a, i), dimensions={0}, is_stable=true, to_apply=less2"},
    {"topk", "a = f32[3,$7|4] parameter(0)\n ROOT r = (f32[3,2], s32[3,2]) topk(a), k=2, largest=true"},
    {"fft", "a = c64[$7|4,5] parameter(0)\n ROOT r = c64[$7|4,5] fft(a), fft_type=FFT, fft_length={5}"},
    {"fft", "a = f32[$7|4,8] parameter(0)\n ROOT r = c64[$7|4,5] fft(a), fft_type=RFFT, fft_length={8}"},
    {"cholesky",
     "p = f32[$5|3,$5|3] parameter(0)\n d = f32[$5|3,$5|3] dot(p, p), lhs_contracting_dims={1}, "
     "rhs_contracting_dims={1}\n"
     "i = s32[#5|3,#5|3] iota(), iota_dimension=0\n j = s32[#5|3,#5|3] iota(), iota_dimension=1\n"
     "e = pred[#5|3,#5|3] compare(i, j), direction=EQ\n c = f32[#5|3,#5|3] convert(e)\n"
     "a = f32[$5|3,$5|3] add(d, c)\n ROOT r = f32[$5|3,$5|3] cholesky(a), lower=true"},
    {"triangular-solve",
     "p = f32[$5|3,$5|3] parameter(0)\n b = f32[$5|3,$4|2] parameter(1)\n"
     "i = s32[#5|3,#5|3] iota(), iota_dimension=0\n j = s32[#5|3,#5|3] iota(), iota_dimension=1\n"
     "e = pred[#5|3,#5|3] compare(i, j), direction=EQ\n c = f32[#5|3,#5|3] convert(e)\n k = f32[#5|3,#5|3] add(c, c)\n"
     "s = f32[$5|3,$5|3] sine(p)\n a = f32[$5|3,$5|3] add(s, k)\n"
     "ROOT r = f32[$5|3,$4|2] triangular-solve(a, b), left_side=true, lower=true, unit_diagonal=false, "
     "transpose_a=NO_TRANSPOSE"},
    {"batch-norm-training",
     "x = f32[$7|4,$3|2] parameter(0)\n s = f32[$3|2] parameter(1)\n"
     "ROOT r = (f32[$7|4,$3|2], f32[$3|2], f32[$3|2]) batch-norm-training(x, s, s), epsilon=0.001, feature_index=1"},
    {"batch-norm-inference",
     "x = f32[$7|4,$3|2] parameter(0)\n s = f32[$3|2] parameter(1)\n v = f32[$3|2] multiply(s, s)\n"
     "ROOT r = f32[$7|4,$3|2] batch-norm-inference(x, s, s, s, v), epsilon=0.001, feature_index=1"},
    {"batch-norm-grad",
     "x = f32[$7|4,$3|2] parameter(0)\n s = f32[$3|2] parameter(1)\n g = f32[$7|4,$3|2] parameter(2)\n"
     "v = f32[$3|2] multiply(s, s)\n"
     "ROOT r = (f32[$7|4,$3|2], f32[$3|2], f32[$3|2]) batch-norm-grad(x, s, s, v, g), epsilon=0.001, feature_index=1"},
    {"rng-bit-generator",
     "s = u64[$3|2] parameter(0)\n ROOT r = (u64[$3|2], u32[7]) rng-bit-generator(s), algorithm=rng_philox"},
};

constexpr Row kControl[] = {
    {"fusion", "a = f32[$7|4,3] parameter(0)\n ROOT r = f32[$7|4,3] fusion(a), kind=kLoop, calls=totals"},
    {"call", "a = f32[$7|4,3] parameter(0)\n ROOT r = f32[$7|4,3] call(a), to_apply=totals"},
    {"map", "a = f32[$7|4,3] parameter(0)\n ROOT r = f32[$7|4,3] map(a, a), dimensions={0,1}, to_apply=sum"},
    {"tuple",
     "a = f32[$7|4,3] parameter(0)\n b = f32[$7|4,3] negate(a)\n u = (f32[$7|4,3], f32[$7|4,3]) tuple(a, b)\n"
     "ROOT r = (f32[$7|4,3], (f32[$7|4,3], f32[$7|4,3])) tuple(b, u)"},
    {"get-tuple-element",
     "t = (f32[2], f32[$7|4,3]) parameter(0)\n ROOT r = f32[$7|4,3] get-tuple-element(t), index=1"},
    {"opt-barrier", "t = (f32[2], f32[$7|4,3]) parameter(0)\n ROOT r = (f32[2], f32[$7|4,3]) opt-barrier(t)"},
    {"conditional",
     "a = f32[$7|4,3] parameter(0)\n p = pred[] parameter(1)\n"
     "ROOT r = f32[$7|4,3] conditional(p, a, a), true_computation=twice, false_computation=totals"},
    {"conditional",
     "a = f32[$7|4,3] parameter(0)\n p = s32[] parameter(1)\n n = f32[$7|4,3] negate(a)\n"
     "ROOT r = f32[$7|4,3] conditional(p, a, n, n), branch_computations={twice, totals, twice}"},
    {"while",
     "a = f32[$7|4,3] parameter(0)\n i = s32[] constant(0)\n z = f32[] constant(0)\n"
     "s = (s32[], f32[$7|4,3], f32[]) tuple(i, a, z)\n"
     "ROOT r = (s32[], f32[$7|4,3], f32[]) while(s), condition=three_rounds, body=round"},
    {"add-dependency",
     "a = f32[$7|4,3] parameter(0)\n t = token[] after-all()\n ROOT r = f32[$7|4,3] add-dependency(a, t)"},
    {"domain",
     "a = f32[$7|4,3] parameter(0)\n ROOT r = f32[$7|4,3] domain(a), domain={kind=\"sharding\", entry={replicated}, "
     "exit={manual}}"},
    {"async-start",
     "a = f32[$7|4,3] parameter(0)\n"
     "ROOT s = ((f32[$7|4,3]), f32[$7|4,3], s32[]) async-start(a), calls=totals"},
    {"async-update",
     "a = f32[$7|4,3] parameter(0)\n s = ((f32[$7|4,3]), f32[$7|4,3], s32[]) async-start(a), calls=totals\n"
     "ROOT u = ((f32[$7|4,3]), f32[$7|4,3], s32[]) async-update(s)"},
    {"async-done",
     "a = f32[$7|4,3] parameter(0)\n s = ((f32[$7|4,3]), f32[$7|4,3], s32[]) async-start(a), calls=totals\n"
     "ROOT r = f32[$7|4,3] async-done(s)"},
};

constexpr Row kExchange[] = {
    {"all-gather",
     "a = f32[$7|4,3] parameter(0)\n ROOT r = f32[$7d|4d,3] all-gather(a), replica_groups={}, dimensions={0}"},
    {"all-gather",
     "a = f32[$7|4,3] parameter(0)\n ROOT r = f32[$7|4,#3d|3d] all-gather(a), replica_groups={}, dimensions={1}"},
    {"all-gather-start",
     "a = f32[$7|4,3] parameter(0)\n"
     "ROOT s = (f32[$7|4,3], f32[$7d|4d,3]) all-gather-start(a), replica_groups={}, dimensions={0}"},
    {"all-gather-done",
     "a = f32[$7|4,3] parameter(0)\n"
     "s = (f32[$7|4,3], f32[$7d|4d,3]) all-gather-start(a), replica_groups={}, dimensions={0}\n"
     "ROOT r = f32[$7d|4d,3] all-gather-done(s)"},
    {"all-reduce",
     "a = f32[$7|4,3] parameter(0)\n b = f32[$5|3] parameter(1)\n"
     "ROOT r = (f32[$7|4,3], f32[$5|3]) all-reduce(a, b), replica_groups={}, to_apply=sum"},
    {"all-reduce-start",
     "a = f32[$7|4,3] parameter(0)\n ROOT s = f32[$7|4,3] all-reduce-start(a), replica_groups={}, to_apply=sum"},
    {"all-reduce-done",
     "a = f32[$7|4,3] parameter(0)\n s = f32[$7|4,3] all-reduce-start(a), replica_groups={}, to_apply=sum\n"
     "ROOT r = f32[$7|4,3] all-reduce-done(s)"},
    {"all-to-all",
     "a = f32[$4d|2d,$5|3] parameter(0)\n ROOT r = f32[$4d|2d,$5|3] all-to-all(a), replica_groups={}, dimensions={0}"},
    {"collective-broadcast",
     "a = f32[$7|4,3] parameter(0)\n ROOT r = f32[$7|4,3] collective-broadcast(a), replica_groups={{0}}"},
    {"collective-permute",
     "a = f32[$7|4,3] parameter(0)\n ROOT r = f32[$7|4,3] collective-permute(a), source_target_pairs={{0,0}}"},
    {"collective-permute-start",
     "a = f32[$7|4,3] parameter(0)\n"
     "ROOT s = (f32[$7|4,3], f32[$7|4,3]) collective-permute-start(a), source_target_pairs={{0,0}}"},
    {"collective-permute-done",
     "a = f32[$7|4,3] parameter(0)\n"
     "s = (f32[$7|4,3], f32[$7|4,3]) collective-permute-start(a), source_target_pairs={{0,0}}\n"
     "ROOT r = f32[$7|4,3] collective-permute-done(s)"},
    {"collective-reduce",
     "a = f32[$7|4,3] parameter(0)\n ROOT r = f32[$7|4,3] collective-reduce(a), replica_groups={}, to_apply=sum"},
    {"reduce-scatter",
     "a = f32[$4d|2d,$5|3] parameter(0)\n"
     "ROOT r = f32[$4|2,$5|3] reduce-scatter(a), replica_groups={}, dimensions={0}, to_apply=sum"},
    {"ragged-all-to-all",
     "a = f32[$9|6,$5|3] parameter(0)\n o = f32[$8|4,$5|3] parameter(1)\n i = s32[#1d|1d] iota(), iota_dimension=0\n"
     "two = s32[] constant(2)\n n = s32[#1d|1d] broadcast(two), dimensions={}\n id = u32[] replica-id()\n"
     "me = s32[] convert(id)\n row = s32[] multiply(me, two)\n at = s32[#1d|1d] broadcast(row), dimensions={}\n"
     "ROOT r = f32[$8|4,$5|3] ragged-all-to-all(a, o, i, n, at, n), replica_groups={}"},
    {"send",
     "a = f32[$7|4,3] parameter(0)\n t = token[] after-all()\n"
     "s = (f32[$7|4,3], u32[], token[]) send(a, t), channel_id=16\n u = token[] send-done(s), channel_id=16\n"
     "v = (f32[$7|4,3], u32[], token[]) recv(u), channel_id=16\n"
     "w = (f32[$7|4,3], token[]) recv-done(v), channel_id=16\n ROOT r = f32[$7|4,3] get-tuple-element(w), index=0"},
};

std::string UnaryEntry(std::string_view from, std::string_view to, std::string_view opcode, std::string_view operands,
                       std::string_view attributes = {}) {
  return fmt::format("a = {0}[$7|4,3] parameter(0)\n b = {0}[$7|4,3] parameter(1)\n ROOT r = {1}[$7|4,3] {2}({3}){4}",
                     from, to, opcode, operands, attributes);
}

// A row for an element-wise opcode that takes f32 and gives it, or what the table says.
std::string ElementwiseEntry(const OpcodeFacts& facts) {
  const std::string_view name = facts.hlo_text;
  const std::string_view operands = facts.operand_count == 1 ? "a" : "a, b";
  static const std::map<std::string_view, std::string> special = {
      {"real", UnaryEntry("c64", "f32", "real", "a")},
      {"imag", UnaryEntry("c64", "f32", "imag", "a")},
      {"complex", UnaryEntry("f32", "c64", "complex", "a, b")},
      {"convert", UnaryEntry("f32", "s32", "convert", "a")},
      {"is-finite", UnaryEntry("f32", "pred", "is-finite", "a")},
      {"compare", UnaryEntry("f32", "pred", "compare", "a, b", ", direction=LT")},
      {"reduce-precision", UnaryEntry("f32", "f32", "reduce-precision", "a", ", exponent_bits=5, mantissa_bits=10")},
      {"clamp", UnaryEntry("f32", "f32", "clamp", "a, b, b")},
      {"select", "p = pred[$7|4,3] parameter(0)\n a = f32[$7|4,3] parameter(1)\n ROOT r = f32[$7|4,3] select(p, a, a)"},
  };
  const auto found = special.find(name);
  if (found != special.end()) return found->second;
  const bool integers = name.starts_with("shift") || name == "and" || name == "or" || name == "xor" || name == "not" ||
                        name == "mulhi" || name == "popcnt" || name == "count-leading-zeros";
  const std::string_view type = integers ? "s32" : "f32";
  return UnaryEntry(type, type, name, operands);
}

std::string Expand(const std::string& text, int64_t devices, bool exact) {
  static const std::regex choice(R"(([$#])(\d+)(d?)\|(\d+)(d?))");
  std::string expanded;
  auto last = text.cbegin();
  for (std::sregex_iterator at(text.begin(), text.end(), choice), end; at != end; ++at) {
    const std::smatch& m = *at;
    expanded.append(last, m[0].first);
    last = m[0].second;
    const int64_t number = std::stoll(exact ? m[4] : m[2]) * (m[exact ? 5 : 3].length() > 0 ? devices : 1);
    if (m[1] == "$" && !exact) expanded += "<=";
    expanded += std::to_string(number);
  }
  expanded.append(last, text.cend());
  return expanded;
}

void SetPoison(Literal& literal, int64_t i) {
  const ElementType type = literal.shape().element_type();
  if (IsComplex(type)) {
    literal.SetComplex(i, {NAN, NAN});
  } else if (IsFloating(type)) {
    literal.SetDouble(i, NAN);
  } else {
    literal.SetInt(i, IsSigned(type) ? INT64_MAX >> (64 - BitWidth(type)) : -1);
  }
}

Literal Poisoned(const Literal& exact, const Shape& bounded) {
  if (bounded.IsTuple()) {
    std::vector<Literal> elements;
    for (size_t i = 0; i < bounded.tuple_elements().size(); ++i) {
      elements.push_back(Poisoned(exact.tuple_elements()[i], bounded.tuple_elements()[i]));
    }
    return Literal::Tuple(std::move(elements));
  }
  if (!bounded.IsDynamic()) return exact;
  Literal literal = PadToBounds(exact, bounded);
  const std::vector<int64_t> strides = RowMajorStrides(bounded.dimensions());
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    bool live = true;
    for (int d = 0; d < bounded.rank(); ++d) {
      live = live && i / strides[static_cast<size_t>(d)] % bounded.dimension(d) < exact.shape().dimension(d);
    }
    if (!live) SetPoison(literal, i);
  }
  return literal;
}

Literal Filled(const Shape& shape, uint64_t seed) {
  if (shape.IsTuple()) {
    std::vector<Literal> elements;
    for (const Shape& element : shape.tuple_elements()) elements.push_back(Filled(element, ++seed));
    return Literal::Tuple(std::move(elements));
  }
  Literal literal(shape);
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    const auto number = static_cast<int64_t>((static_cast<uint64_t>(i) * 37 + seed * 11 + 5) % 29);
    const ElementType type = shape.element_type();
    if (type == ElementType::kF8E8M0FNU) {
      literal.SetDouble(i, std::ldexp(1.0, static_cast<int>(number % 5) - 2));
    } else if (IsComplex(type)) {
      literal.SetComplex(i, {static_cast<double>(number) / 8 - 1.5, static_cast<double>(number % 7)});
    } else if (IsFloating(type)) {
      literal.SetDouble(i, static_cast<double>(number) / 8 - 1.5);
    } else {
      literal.SetInt(i, number % 5);
    }
  }
  return literal;
}

}  // namespace

std::vector<LiveProgram> LivePrograms() {
  std::vector<LiveProgram> programs;
  auto add = [&](std::string_view opcode, std::string_view entry) {
    programs.push_back({std::string(opcode), fmt::format("{}{}\n}}\n", kComputations, entry)});
  };
  for (const Row& row : kMovement) add(row.opcode, row.entry);
  for (const Row& row : kCompute) add(row.opcode, row.entry);
  for (const Row& row : kControl) add(row.opcode, row.entry);
  for (const Row& row : kExchange) add(row.opcode, row.entry);
  for (int i = 0; i < OpcodeCount(); ++i) {
    const OpcodeFacts& facts = FactsOf(static_cast<Opcode>(i));
    if (facts.kind == OpcodeKind::kElementwise) add(facts.hlo_text, ElementwiseEntry(facts));
  }
  return programs;
}

std::map<std::string, std::string> OpcodesWithoutLiveSizes() {
  return {
      {"parameter", "takes no operand; every program has them"},
      {"constant", "takes no operand"},
      {"iota", "takes no operand"},
      {"rng-get-and-update-state", "takes no operand"},
      {"partition-id", "takes no operand"},
      {"replica-id", "takes no operand"},
      {"after-all", "its operands are tokens"},
      {"rng", "its operands are scalars"},
      {"shuffle", "nothing evaluates it"},
      {"send-done", "in the programs of send"},
      {"recv", "in the programs of send"},
      {"recv-done", "in the programs of send"},
      {"infeed", "LiveTransferTest, which plays the host"},
      {"outfeed", "LiveTransferTest, which plays the host"},
      {"custom-call", "LiveTransferTest, which has the functions"},
  };
}

std::string BoundedText(const LiveProgram& program, int64_t devices) { return Expand(program.text, devices, false); }
std::string ExactText(const LiveProgram& program, int64_t devices) { return Expand(program.text, devices, true); }

std::vector<Literal> ExactArguments(const Module& exact, uint64_t seed) {
  std::vector<Literal> arguments;
  for (const Instruction* parameter : exact.entry()->parameters()) {
    arguments.push_back(Filled(parameter->shape(), 7 * seed + arguments.size()));
  }
  return arguments;
}

std::vector<Literal> PoisonedArguments(const Module& bounded, const std::vector<Literal>& exact) {
  std::vector<Literal> arguments;
  for (size_t i = 0; i < exact.size(); ++i) {
    arguments.push_back(Poisoned(exact[i], bounded.entry()->parameter(static_cast<int64_t>(i))->shape()));
  }
  return arguments;
}

}  // namespace VXLA_NAMESPACE::testing
