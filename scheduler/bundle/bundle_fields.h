// What a bundle says of each struct: one list for writing and reading, so that the two cannot differ. A new field is a
// new version of the format (bundle_format.h).
#pragma once

#include "scheduler/bundle/bundle.h"

namespace VXLA_NAMESPACE {

// The values of an enum, 0 to N - 1.
template <typename Enum>
inline constexpr int kEnumCount = 0;
template <>
inline constexpr int kEnumCount<MemorySpace> = 4;
template <>
inline constexpr int kEnumCount<Access> = 3;
template <>
inline constexpr int kEnumCount<BindingMode> = 2;
template <>
inline constexpr int kEnumCount<HostDecide::Kind> = 2;
template <>
inline constexpr int kEnumCount<DeviceFacts::Kind> = 5;
template <>
inline constexpr int kEnumCount<DeviceFacts::Division> = 3;
template <>
inline constexpr int kEnumCount<ElementType> = kElementTypeCount;

void Fields(auto& a, BundlePart& v) { a(v.offset, v.size); }
void Fields(auto& a, BufferSlice& v) { a(v.buffer, v.offset_bytes, v.size_bytes); }
void Fields(auto& a, Placement& v) { a(v.space, v.index, v.offset_bytes); }
void Fields(auto& a, PlanBuffer& v) { a(v.name, v.size_bytes, v.placement, v.first_use, v.last_use); }
void Fields(auto& a, PlanParameter& v) { a(v.shape, v.number, v.buffer, v.donated_to); }
void Fields(auto& a, PlanResult& v) { a(v.shape, v.buffer); }
void Fields(auto& a, PlanConstant& v) { a(v.buffer); }
void Fields(auto& a, KernelKey& v) {
  a(v.algorithm, v.constants, v.buffer_count, v.param_count, v.written_array, v.piece_tensors, v.in_parts,
    v.small_subgroups);
}
void Fields(auto& a, Binding& v) { a(v.slice, v.access); }
void Fields(auto& a, Step& v) { a(v.name, v.bindings, v.params, v.groups, v.flop); }
void Fields(auto& a, Dispatch& v) { a(v.step, v.part, v.parts, v.groups_at); }
void Fields(auto& a, CopyBytes& v) { a(v.source, v.target); }
void Fields(auto&, Barrier&) {}
void Fields(auto& a, GpuCommands& v) { a(v.queue, v.commands); }
// Steps for the host are not in bundles: nothing of them is written, and CheckVariant refuses one.
void Fields(auto&, HostEvaluate&) {}
void Fields(auto& a, HostDecide& v) {
  a(v.kind, v.instruction, v.selector, v.selector_is_pred, v.trip_count, v.ahead, v.batch, v.region_ends);
}
void Fields(auto& a, Plan& v) {
  a(v.name, v.bindings, v.buffers, v.parameters, v.results, v.result_shape, v.constants, v.kernels, v.steps,
    v.kernel_of_step, v.segments, v.constant_block_bytes, v.scratch_block_bytes, v.peak_bytes, v.lower_bound_bytes,
    v.size_messages);
}
void Fields(auto& a, DeviceFacts::Quirks& v) { a(v.copy_reach_bytes, v.loop_iteration_limit); }
void Fields(auto& a, MatrixShape& v) { a(v.term, v.sum, v.rows, v.columns, v.k, v.invocations); }
void Fields(auto& a, DeviceFacts& v) {
  a(v.name, v.driver, v.driver_version, v.api_version, v.vendor_id, v.device_id, v.device_uuid, v.driver_uuid, v.kind);
  a(v.int64, v.float64, v.float16, v.storage16, v.storage8, v.buffer_addresses, v.buffer_arrays);
  a(v.signed_zero_inf_nan_preserve_32, v.signed_zero_inf_nan_preserve_16, v.signed_zero_inf_nan_preserve_64);
  a(v.rounding_rte_32, v.rounding_rte_16, v.rounding_rte_64);
  a(v.denorm_preserve_32, v.denorm_preserve_16, v.denorm_preserve_64);
  a(v.fused_multiply_add, v.same_bits, v.native_f16, v.integer_dot_product, v.wide_atomics, v.byte_offsets,
    v.subgroup_shuffle, v.spirv_1_6);
  a(v.division_f32, v.division_f64, v.matrices, v.group_matrices, v.matrix_lanes, v.matrices_stand_in);
  a(v.subgroup_size, v.max_workgroup_invocations, v.max_workgroup_size, v.max_group_count, v.max_shared_bytes,
    v.max_storage_range_bytes, v.storage_offset_alignment, v.max_storage_buffers, v.quirks);
}
void Fields(auto& a, BundleVariant& v) { a(v.generic, v.made_for, v.plan, v.modules, v.constants); }
void Fields(auto& a, BundleConversion& v) { a(v.argument, v.leaf, v.format, v.bundle); }
void Fields(auto& a, Bundle& v) { a(v.producer, v.parameters, v.result, v.variants, v.conversions); }

}  // namespace VXLA_NAMESPACE
