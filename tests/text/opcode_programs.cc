#include "tests/text/opcode_programs.h"

#include <fmt/format.h>

#include "core/ir/opcode.h"

namespace VXLA_NAMESPACE {
namespace {

// What the bodies below call.
constexpr std::string_view kComputations = R"(
add_f32 {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT sum = f32[] add(x, y)
}
less_f32 {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT less = pred[] compare(x, y), direction=LT
}
greater_equal_f32 {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT ge = pred[] compare(x, y), direction=GE
}
scan_step {
  x = f32[] parameter(0)
  carry = f32[] parameter(1)
  sum = f32[] add(x, carry)
  ROOT pair = (f32[], f32[]) tuple(sum, sum)
}
small {
  state = (s32[], f32[3]{0}) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  n = s32[] constant(5)
  ROOT less = pred[] compare(i, n), direction=LT
}
step {
  state = (s32[], f32[3]{0}) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  v = f32[3]{0} get-tuple-element(state), index=1
  ROOT result = (s32[], f32[3]{0}) tuple(next, v)
}
negate_vector {
  v = f32[3]{0} parameter(0)
  ROOT n = f32[3]{0} negate(v)
}
copy_vector {
  v = f32[3]{0} parameter(0)
  ROOT c = f32[3]{0} copy(v)
}
)";

// Bodies of entries: parameters first, then the instruction that the body is about.
constexpr std::string_view kBodies[] = {
    "a = f32[2,3]{1,0} parameter(0)\n b = pred[2,3]{1,0} parameter(1)\n c = f32[2,3]{1,0} parameter(2)\n"
    "ROOT r = f32[2,3]{1,0} select(b, a, c)",
    "a = f32[] parameter(0)\n b = f32[5]{0} parameter(1)\n ROOT r = f32[5]{0} clamp(a, b, a)",
    "a = f32[5]{0} parameter(0)\n ROOT r = pred[5]{0} compare(a, a), direction=NE, type=TOTALORDER",
    "a = f32[5]{0} parameter(0)\n ROOT r = f32[5]{0} reduce-precision(a), exponent_bits=5, mantissa_bits=10",
    "a = f32[5]{0} parameter(0)\n ROOT r = bf16[5]{0} convert(a)",
    "a = f32[5]{0} parameter(0)\n ROOT r = pred[5]{0} is-finite(a)",
    "a = c64[5]{0} parameter(0)\n ROOT r = f32[5]{0} imag(a)",
    "a = c64[5]{0} parameter(0)\n ROOT r = f32[5]{0} real(a)",
    "a = f32[5]{0} parameter(0)\n ROOT r = c64[5]{0} complex(a, a)",
    "a = s32[5]{0} parameter(0)\n ROOT r = s32[5]{0} not(a)",
    "a = u8[5]{0} parameter(0)\n ROOT r = u8[5]{0} popcnt(a)",
    "a = u8[5]{0} parameter(0)\n ROOT r = u8[5]{0} count-leading-zeros(a)",
    "a = f32[5]{0} parameter(0)\n ROOT r = f32[5]{0} tanh(a), result_accuracy={mode=highest}",
    "a = f32[5]{0} parameter(0)\n b = u32[5]{0} parameter(1)\n ROOT r = s8[5]{0} stochastic-convert(a, b)",
    "a = f32[5]{0} parameter(0)\n ROOT r = s32[5]{0} bitcast-convert(a)",
    "a = f32[6]{0} parameter(0)\n ROOT r = f32[2,3]{1,0} reshape(a)",
    "a = f32[6]{0} parameter(0)\n ROOT r = f32[2,3]{1,0} bitcast(a)",
    "a = f32[3]{0} parameter(0)\n ROOT r = f32[2,3]{1,0} broadcast(a), dimensions={1}",
    "a = f32[] parameter(0)\n ROOT r = f32[2,3]{1,0} broadcast(a), dimensions={}",
    "a = f32[2,3]{1,0} parameter(0)\n ROOT r = f32[4,3]{1,0} concatenate(a, a), dimensions={0}",
    "a = f32[2,3]{1,0} parameter(0)\n ROOT r = f32[2,3]{0,1} copy(a)",
    "ROOT r = s32[7,2]{1,0} iota(), iota_dimension=0",
    "a = f32[2,3]{1,0} parameter(0)\n z = f32[] constant(0)\n ROOT r = f32[4,1]{1,0} pad(a, z), padding=1_1x0_-2",
    "a = f32[2,3]{1,0} parameter(0)\n z = f32[] constant(-0)\n ROOT r = f32[3,3]{1,0} pad(a, z), padding=0_0_1x0_0_0",
    "a = f32[] parameter(0)\n z = f32[] constant(-inf)\n ROOT r = f32[] pad(a, z), padding={}",
    "a = f32[2,3]{1,0} parameter(0)\n ROOT r = f32[2,3]{1,0} reverse(a), dimensions={0,1}",
    "a = f32[2,9]{1,0} parameter(0)\n ROOT r = f32[1,4]{1,0} slice(a), slice={[1:2], [0:8:2]}",
    "a = f32[2,9]{1,0} parameter(0)\n ROOT r = f32[1,8]{1,0} slice(a), slice={[1:2], [0:8]}",
    "a = f32[2,3,5]{2,1,0} parameter(0)\n ROOT r = f32[5,2,3]{2,1,0} transpose(a), dimensions={2,0,1}",
    "a = f32[3]{0} parameter(0)\n ROOT r = (f32[3]{0:S(1)}, f32[3]{0}, u32[]) copy-start(a), "
    "cross_program_prefetch_index=0",
    "a = f32[3]{0} parameter(0)\n s = (f32[3]{0:S(1)}, f32[3]{0}, u32[]) copy-start(a)\n ROOT r = f32[3]{0:S(1)} "
    "copy-done(s)",
    "a = f32[<=6]{0} parameter(0)\n n = s32[] parameter(1)\n ROOT r = f32[<=2,3]{1,0} dynamic-reshape(a, n, n)",
    "a = f32[<=6]{0} parameter(0)\n ROOT r = s32[] get-dimension-size(a), dimensions={0}",
    "a = f32[6]{0} parameter(0)\n n = s32[] parameter(1)\n ROOT r = f32[<=6]{0} set-dimension-size(a, n), "
    "dimensions={0}",
    "a = f32[6]{0} parameter(0)\n ROOT r = f32[6]{0} shuffle(a)",
    "a = f32[6,5]{1,0} parameter(0)\n i = s32[] parameter(1)\n"
    "ROOT r = f32[2,5]{1,0} dynamic-slice(a, i, i), dynamic_slice_sizes={2,5}",
    "a = f32[6]{0} parameter(0)\n i = s32[] parameter(1)\n u = f32[2]{0} parameter(2)\n"
    "ROOT r = f32[6]{0} dynamic-update-slice(a, u, i)",
    "a = f32[6,5]{1,0} parameter(0)\n i = s32[4,1]{1,0} parameter(1)\n ROOT r = f32[4,5]{1,0} gather(a, i), "
    "offset_dims={1}, "
    "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,5}, indices_are_sorted=true",
    "a = f32[7,6,5]{2,1,0} parameter(0)\n i = s32[7,4,1]{2,1,0} parameter(1)\n ROOT r = f32[7,4,5]{2,1,0} gather(a, "
    "i), "
    "offset_dims={2}, collapsed_slice_dims={1}, start_index_map={1}, operand_batching_dims={0}, "
    "start_indices_batching_dims={0}, index_vector_dim=2, slice_sizes={1,1,5}",
    "a = f32[6,5]{1,0} parameter(0)\n i = s32[4,1]{1,0} parameter(1)\n u = f32[4,5]{1,0} parameter(2)\n"
    "ROOT r = f32[6,5]{1,0} scatter(a, i, u), update_window_dims={1}, inserted_window_dims={0}, "
    "scatter_dims_to_operand_dims={0}, index_vector_dim=1, unique_indices=true, to_apply=add_f32",
    "a = f32[4,2,3]{2,1,0} parameter(0)\n b = f32[4,3,5]{2,1,0} parameter(1)\n ROOT r = f32[4,2,5]{2,1,0} dot(a, b), "
    "lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}, "
    "operand_precision={highest,default}, algorithm=dot_f32_f32_f32",
    "a = f32[11,3]{1,0} parameter(0)\n b = f32[2,3,5]{2,1,0} parameter(1)\n g = s64[2]{0} parameter(2)\n"
    "ROOT r = f32[11,5]{1,0} ragged-dot(a, b, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
    "lhs_ragged_dims={0}, "
    "rhs_group_dims={0}",
    "a = f8e4m3fn[2,32]{1,0} parameter(0)\n b = f8e4m3fn[5,32]{1,0} parameter(1)\n s = f8e8m0fnu[2,1]{1,0} "
    "parameter(2)\n"
    "t = f8e8m0fnu[5,1]{1,0} parameter(3)\n ROOT r = f32[2,5]{1,0} scaled-dot(a, b, s, t), lhs_contracting_dims={1}, "
    "rhs_contracting_dims={1}",
    "a = f32[2,4,9,9]{3,2,1,0} parameter(0)\n k = f32[6,2,3,3]{3,2,1,0} parameter(1)\n"
    "ROOT r = f32[2,6,5,9]{3,2,1,0} convolution(a, k), window={size=3x3 stride=2x1 pad=1_1x2_2 rhs_dilate=1x2 "
    "rhs_reversal=0x1}, dim_labels=bf01_oi01->bf01, feature_group_count=2, operand_precision={high,default}",
    "a = f32[2,4]{1,0} parameter(0)\n k = f32[4,6]{1,0} parameter(1)\n"
    "ROOT r = f32[2,6]{1,0} convolution(a, k), dim_labels=bf_io->bf",
    "a = f32[2,7]{1,0} parameter(0)\n z = f32[] constant(0)\n ROOT r = f32[2]{0} reduce(a, z), dimensions={1}, "
    "to_apply=add_f32",
    "a = f32[2,7]{1,0} parameter(0)\n z = f32[] constant(0)\n ROOT r = f32[2,3]{1,0} reduce-window(a, z), "
    "window={size=1x3 stride=1x2}, to_apply=add_f32",
    "a = f32[2,7]{1,0} parameter(0)\n s = f32[2,3]{1,0} parameter(1)\n z = f32[] constant(0)\n ROOT r = f32[2,7]{1,0} "
    "select-and-scatter(a, s, z), window={size=1x3 stride=1x2}, select=greater_equal_f32, scatter=add_f32",
    "a = f32[7]{0} parameter(0)\n z = f32[] constant(0)\n ROOT r = (f32[7]{0}, f32[]) scan(a, z), dimensions={0}, "
    "is_reverse=true, is_associative=true, num_carries=1, to_apply=scan_step",
    "a = f32[2,7]{1,0} parameter(0)\n ROOT r = f32[2,7]{1,0} sort(a), dimensions={1}, is_stable=true, "
    "to_apply=less_f32",
    "a = f32[2,7]{1,0} parameter(0)\n ROOT r = (f32[2,3]{1,0}, s32[2,3]{1,0}) topk(a), k=3, largest=false",
    "a = f32[2,8]{1,0} parameter(0)\n ROOT r = c64[2,5]{1,0} fft(a), fft_type=RFFT, fft_length={8}",
    "a = f32[2,3,3]{2,1,0} parameter(0)\n ROOT r = f32[2,3,3]{2,1,0} cholesky(a), lower=true",
    "a = f32[3,3]{1,0} parameter(0)\n b = f32[3,5]{1,0} parameter(1)\n ROOT r = f32[3,5]{1,0} triangular-solve(a, b), "
    "left_side=true, lower=true, unit_diagonal=true, transpose_a=ADJOINT",
    "x = f32[5,3]{1,0} parameter(0)\n s = f32[3]{0} parameter(1)\n g = f32[5,3]{1,0} parameter(2)\n"
    "ROOT r = (f32[5,3]{1,0}, f32[3]{0}, f32[3]{0}) batch-norm-grad(x, s, s, s, g), epsilon=0.001, feature_index=1",
    "x = f32[5,3]{1,0} parameter(0)\n s = f32[3]{0} parameter(1)\n"
    "ROOT r = f32[5,3]{1,0} batch-norm-inference(x, s, s, s, s), epsilon=1e-05, feature_index=1",
    "x = f32[5,3]{1,0} parameter(0)\n s = f32[3]{0} parameter(1)\n"
    "ROOT r = (f32[5,3]{1,0}, f32[3]{0}, f32[3]{0}) batch-norm-training(x, s, s), epsilon=0, feature_index=1",
    "s = u64[2]{0} parameter(0)\n ROOT r = (u64[2]{0}, u32[7]{0}) rng-bit-generator(s), algorithm=rng_three_fry",
    "a = f32[] parameter(0)\n ROOT r = f32[7]{0} rng(a, a), distribution=rng_uniform",
    "ROOT r = u64[2]{0} rng-get-and-update-state(), delta=4096",
    "a = f32[3]{0} parameter(0)\n ROOT r = f32[3]{0} fusion(a), kind=kLoop, output_to_operand_aliasing={{}: (0, {})}, "
    "calls=negate_vector",
    "ROOT r = f32[2,2]{1,0} constant({ { 1, -0 }, { inf, nan } })",
    "a = (f32[3]{0}, s32[]) parameter(0)\n ROOT r = s32[] get-tuple-element(a), index=1",
    "a = (f32[3]{0}, s32[]) parameter(0)\n ROOT r = (f32[3]{0}, s32[]) opt-barrier(a)",
    "a = f32[3]{0} parameter(0), sharding={replicated}, parameter_replication={true}\n"
    "ROOT r = (f32[3]{0}, f32[3]{0}) tuple(a, a)",
    "a = f32[3]{0} parameter(0)\n ROOT r = f32[3]{0} call(a), to_apply=negate_vector, is_composite=true",
    "a = f32[3]{0} parameter(0)\n ROOT r = f32[3]{0} map(a, a), dimensions={0}, to_apply=add_f32",
    "p = pred[] parameter(0)\n a = f32[3]{0} parameter(1)\n ROOT r = f32[3]{0} conditional(p, a, a), "
    "true_computation=negate_vector, false_computation=copy_vector",
    "p = s32[] parameter(0)\n a = f32[3]{0} parameter(1)\n ROOT r = f32[3]{0} conditional(p, a, a, a), "
    "branch_computations={negate_vector, copy_vector, negate_vector}",
    "a = (s32[], f32[3]{0}) parameter(0)\n ROOT r = (s32[], f32[3]{0}) while(a), condition=small, body=step",
    "a = f32[3]{0} parameter(0)\n t = token[] after-all()\n ROOT r = f32[3]{0} add-dependency(a, t)",
    "t = token[] after-all()\n ROOT r = token[] after-all(t, t)",
    "a = f32[3]{0} parameter(0)\n s = ((f32[3]{0}), f32[3]{0}, s32[]) async-start(a), async_execution_thread=\"side\", "
    "calls=negate_vector\n u = ((f32[3]{0}), f32[3]{0}, s32[]) async-update(s)\n ROOT r = f32[3]{0} async-done(u)",
    "a = f32[3]{0} parameter(0)\n ROOT r = f32[3]{0} domain(a), domain={kind=\"sharding\", entry={replicated}, "
    "exit={manual}}",
    "a = f32[3]{0} parameter(0)\n ROOT r = f32[6]{0} all-gather(a), channel_id=1, replica_groups={{0,1}}, "
    "dimensions={0}, "
    "use_global_device_ids=true",
    "a = f32[3]{0} parameter(0)\n s = (f32[3]{0}, f32[6]{0}) all-gather-start(a), channel_id=1, "
    "replica_groups={{0,1}}, "
    "dimensions={0}\n ROOT r = f32[6]{0} all-gather-done(s)",
    "a = f32[3]{0} parameter(0)\n ROOT r = f32[3]{0} all-reduce(a), channel_id=1, replica_groups=[2,4]<=[4,2]T(1,0), "
    "to_apply=add_f32, mode=cross_replica",
    "a = f32[3]{0} parameter(0)\n s = f32[3]{0} all-reduce-start(a), replica_groups={}, constrain_layout=true, "
    "to_apply=add_f32\n ROOT r = f32[3]{0} all-reduce-done(s)",
    "a = f32[4,3]{1,0} parameter(0)\n ROOT r = f32[4,3]{1,0} all-to-all(a), replica_groups={{0,1},{2,3}}, "
    "dimensions={0}",
    "a = f32[4]{0} parameter(0)\n ROOT r = (f32[4]{0}, f32[4]{0}) all-to-all(a, a), channel_id=7, "
    "replica_groups={{0,1}}",
    "a = f32[4]{0} parameter(0)\n ROOT r = f32[4]{0} collective-broadcast(a), replica_groups={{1,0}}, channel_id=3",
    "a = f32[4]{0} parameter(0)\n ROOT r = f32[4]{0} collective-permute(a), channel_id=3, "
    "source_target_pairs={{0,1},{1,0}}",
    "a = f32[4]{0} parameter(0)\n s = (f32[4]{0}, f32[4]{0}, u32[], u32[]) collective-permute-start(a), "
    "source_target_pairs={{0,1},{1,0}}\n ROOT r = f32[4]{0} collective-permute-done(s)",
    "a = f32[4]{0} parameter(0)\n b = f32[6]{0} parameter(1)\n i = s32[] parameter(2)\n t = (s32[]) tuple(i)\n "
    "s = (f32[4]{0}, f32[6]{0}, u32[], u32[]) collective-permute-start(a, b, t, t), "
    "source_target_pairs={{0,1},{1,0}}, slice_sizes={{4}}\n ROOT r = f32[6]{0} collective-permute-done(s)",
    "a = f32[4]{0} parameter(0)\n ROOT r = f32[4]{0} collective-reduce(a), replica_groups={{0,1}}, to_apply=add_f32",
    "ROOT r = u32[] partition-id()",
    "ROOT r = u32[] replica-id()",
    "a = f32[9]{0} parameter(0)\n o = f32[9]{0} parameter(1)\n i = s32[2]{0} parameter(2)\n ROOT r = f32[9]{0} "
    "ragged-all-to-all(a, o, i, i, i, i), replica_groups={{0,1}}",
    "a = f32[4]{0} parameter(0)\n ROOT r = f32[2]{0} reduce-scatter(a), replica_groups=[1,2]<=[2], dimensions={0}, "
    "to_apply=add_f32",
    "a = f32[2,3]{1,0} parameter(0)\n ROOT r = (f32[2,3]{1,0}, u8[16]{0}) custom-call(a, a), window={size=3x3}, "
    "dim_labels=bf01_oi01->bf01, feature_group_count=3, custom_call_target=\"f\\\"oo\", "
    "operand_layout_constraints={f32[2,3]{1,0}, "
    "f32[2,3]{1,0}}, custom_call_has_side_effect=true, padding_type=PADDING_VALID, literal=s32[2]{0} {1, 2}, "
    "operand_precision={high,high}, schedule=SCHEDULE_LATEST, api_version=API_VERSION_TYPED_FFI, "
    "output_to_operand_aliasing={{0}: (0, {})}, called_computations={add_f32, less_f32}",
    "t = token[] after-all()\n ROOT r = (f32[3]{0}, token[]) infeed(t), infeed_config=\"a\\nb\"",
    "a = f32[3]{0} parameter(0)\n t = token[] after-all()\n ROOT r = token[] outfeed(a, t), outfeed_shape=f32[3]{0}, "
    "outfeed_config=\"c\"",
    "t = token[] after-all()\n s = (f32[3]{0}, u32[], token[]) recv(t), channel_id=15, is_host_transfer=true\n"
    "ROOT r = (f32[3]{0}, token[]) recv-done(s), channel_id=15, is_host_transfer=true",
    "a = f32[3]{0} parameter(0)\n t = token[] after-all()\n s = (f32[3]{0}, u32[], token[]) send(a, t), channel_id=16\n"
    "ROOT r = token[] send-done(s), channel_id=16",
};

}  // namespace

std::vector<std::string> OpcodePrograms() {
  std::vector<std::string> programs;
  auto add = [&](std::string_view body) {
    programs.push_back(fmt::format("HloModule m\n{}\nENTRY main {{\n{}\n}}\n", kComputations, body));
  };
  for (const std::string_view body : kBodies) add(body);
  // The element-wise ones that need nothing special.
  for (int i = 0; i < OpcodeCount(); ++i) {
    const OpcodeFacts& facts = FactsOf(static_cast<Opcode>(i));
    if (facts.kind != OpcodeKind::kElementwise) continue;
    bool covered = false;
    for (const std::string_view body : kBodies) {
      covered |= body.find(fmt::format(" {}(", facts.hlo_text)) != std::string_view::npos;
    }
    if (covered) continue;
    const bool bitwise = facts.hlo_text.starts_with("shift") || facts.hlo_text == "and" || facts.hlo_text == "or" ||
                         facts.hlo_text == "xor" || facts.hlo_text == "mulhi";
    const std::string_view shape = bitwise ? "s32[2,3]{1,0}" : "f32[2,3]{1,0}";
    add(fmt::format("a = {} parameter(0)\n ROOT r = {} {}({})", shape, shape, facts.hlo_text,
                    facts.operand_count == 1 ? "a" : "a, a"));
  }
  return programs;
}

}  // namespace VXLA_NAMESPACE
