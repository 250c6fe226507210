// Which variant of a bundle a device runs.
#include <algorithm>
#include <optional>
#include <tuple>

#include "scheduler/bundle/bundle.h"

namespace VXLA_NAMESPACE {
namespace {

bool SameDriver(const DeviceFacts& a, const DeviceFacts& b) {
  return a.name == b.name && a.driver == b.driver && a.driver_version == b.driver_version &&
         a.vendor_id == b.vendor_id && a.device_id == b.device_id && a.device_uuid == b.device_uuid &&
         a.driver_uuid == b.driver_uuid;
}

// What probes find of a device holds for it and its driver, so a library without probes takes it from a variant that
// was made there.
DeviceFacts WithProbesOf(const DeviceFacts& made_for, DeviceFacts device) {
  device.quirks = made_for.quirks;
  device.fused_multiply_add = made_for.fused_multiply_add;
  device.native_f16 = made_for.native_f16;
  const auto keep = [](std::vector<MatrixShape>& matrices, const std::vector<MatrixShape>& known) {
    std::erase_if(matrices, [&](const MatrixShape& shape) { return std::ranges::find(known, shape) == known.end(); });
  };
  keep(device.matrices, made_for.matrices);
  keep(device.group_matrices, made_for.group_matrices);
  return device;
}

bool DividesNatively(const DeviceFacts& facts) { return facts.division_f32 == DeviceFacts::Division::kNative; }

// How the sentence ends that names what is missing, by who decides: the host or the user, the driver's word, a probe.
constexpr const char *kSwitch = "which is not enabled", *kSwitches = "which are not enabled",
                     *kWord = "which the driver does not promise", *kProbe = "which no probe of the driver confirmed";

struct Feature {
  bool DeviceFacts::*fact;
  const char* name;
  const char* missing;
};
constexpr Feature kFeatures[] = {
    {&DeviceFacts::int64, "64-bit integers", kSwitches},
    {&DeviceFacts::float64, "64-bit floats", kSwitches},
    {&DeviceFacts::float16, "16-bit floats", kSwitches},
    {&DeviceFacts::storage16, "16-bit storage", kSwitch},
    {&DeviceFacts::storage8, "8-bit storage", kSwitch},
    {&DeviceFacts::buffer_addresses, "buffer addresses", kSwitches},
    {&DeviceFacts::buffer_arrays, "arrays of storage buffers", kSwitches},
    {&DeviceFacts::signed_zero_inf_nan_preserve_32, "signed zeros, infinities and NaN of f32", kWord},
    {&DeviceFacts::signed_zero_inf_nan_preserve_16, "signed zeros, infinities and NaN of f16", kWord},
    {&DeviceFacts::signed_zero_inf_nan_preserve_64, "signed zeros, infinities and NaN of f64", kWord},
    {&DeviceFacts::rounding_rte_32, "rounding of f32 to nearest even", kWord},
    {&DeviceFacts::rounding_rte_16, "rounding of f16 to nearest even", kWord},
    {&DeviceFacts::rounding_rte_64, "rounding of f64 to nearest even", kWord},
    {&DeviceFacts::denorm_preserve_32, "denormals of f32", kWord},
    {&DeviceFacts::denorm_preserve_16, "denormals of f16", kWord},
    {&DeviceFacts::denorm_preserve_64, "denormals of f64", kWord},
    {&DeviceFacts::fused_multiply_add, "fused multiply-add", kProbe},
    {&DeviceFacts::native_f16, "exact conversions of f16", kProbe},
    {&DeviceFacts::integer_dot_product, "integer dot products", "which are not enabled, or not fast"},
    {&DeviceFacts::wide_atomics, "atomics of 64 bits", kSwitches},
    {&DeviceFacts::subgroup_shuffle, "full subgroups with shuffles", "which the device lacks or has not enabled"},
    {&DeviceFacts::spirv_1_6, "SPIR-V 1.6", "which takes Vulkan 1.3 with maintenance4 enabled"},
};

// How many of the device's features the kernels were made to use, beside the way to bind.
int64_t FeatureCount(const DeviceFacts& made_for) {
  return std::ranges::count_if(kFeatures,
                               [&](const Feature& feature) {
                                 return feature.fact != &DeviceFacts::buffer_addresses && made_for.*feature.fact;
                               }) +
         (DividesNatively(made_for) ? 1 : 0) + (made_for.matrices.empty() ? 0 : 1);
}

// A limit of the kernels that the device's is below.
std::string Exceeded(const DeviceFacts& made_for, const DeviceFacts& device) {
  std::string text;
  const auto below = [&](uint64_t has, uint64_t needs, const char* what) {
    if (text.empty() && has < needs) text = fmt::format("{} {}, {} needed", what, has, needs);
  };
  below(device.max_workgroup_invocations, made_for.max_workgroup_invocations, "workgroups of");
  for (size_t axis = 0; axis < 3; ++axis) {
    below(device.max_workgroup_size[axis], made_for.max_workgroup_size[axis], "workgroups of");
    below(device.max_group_count[axis], made_for.max_group_count[axis], "workgroup counts of");
  }
  below(device.max_shared_bytes, made_for.max_shared_bytes, "bytes of shared memory:");
  below(device.max_storage_buffers, made_for.max_storage_buffers, "storage buffers:");
  below(device.max_storage_range_bytes, made_for.max_storage_range_bytes, "bytes of a storage buffer:");
  if (text.empty() && device.storage_offset_alignment > made_for.storage_offset_alignment) {
    text = fmt::format("offsets are multiples of {}, its are of {}", device.storage_offset_alignment,
                       made_for.storage_offset_alignment);
  }
  if (text.empty() && made_for.subgroup_shuffle && made_for.subgroup_size != device.subgroup_size)
    text = fmt::format("subgroups of {}, {} needed", device.subgroup_size, made_for.subgroup_size);
  // Plain code that stands in for the units runs anywhere.
  const auto has = [&](const MatrixShape& shape) {
    const auto& own = shape.invocations == 0 ? device.matrices : device.group_matrices;
    return std::ranges::find(own, shape) != own.end();
  };
  if (text.empty() && !made_for.matrices_stand_in && !made_for.matrices.empty() &&
      (!std::ranges::all_of(made_for.matrices, has) || !std::ranges::all_of(made_for.group_matrices, has) ||
       made_for.matrix_lanes != device.matrix_lanes || device.matrices_stand_in))
    text = device.matrices.empty() ? "it needs matrix units, which the device lacks or has not enabled"
                                   : "its matrix units are others";
  return text;
}

}  // namespace

std::string WhyNot(const BundleVariant& variant, const DeviceFacts& opened) {
  const DeviceFacts& made_for = variant.made_for;
  if (!variant.generic && !SameDriver(made_for, opened))
    return fmt::format("it is for {} with the driver {} {}", made_for.name, made_for.driver, made_for.driver_version);
  const DeviceFacts device = variant.generic || opened.probed ? opened : WithProbesOf(made_for, opened);
  for (const auto& [fact, name, missing] : kFeatures) {
    if (made_for.*fact && !(device.*fact)) return fmt::format("it needs {}, {}", name, missing);
  }
  if (variant.generic && DividesNatively(made_for)) {
    const bool f64 = !made_for.float64 || device.division_f64 == DeviceFacts::Division::kNative;
    if (!DividesNatively(device) || !f64) return "it needs division that rounds correctly";
  }
  const int64_t limit = device.quirks.loop_iteration_limit, kept = made_for.quirks.loop_iteration_limit;
  if (limit != 0 && (kept == 0 || kept > limit))
    return fmt::format("the driver stops loops after {} iterations", limit);
  const int64_t reach = device.quirks.copy_reach_bytes, held = made_for.quirks.copy_reach_bytes;
  if (reach != 0 && (held == 0 || held > reach)) return fmt::format("the driver copies no bytes beyond {}", reach);
  return Exceeded(made_for, device);
}

std::string WhyNot(const BundleVariant& variant, const DeviceFacts& opened, std::span<const BindingMode> modes) {
  const std::string reason = WhyNot(variant, opened);
  const bool bound = std::ranges::find(modes, variant.plan.bindings) != modes.end();
  return !reason.empty() || bound ? reason : "the device was not opened for this way to bind";
}

Result<size_t> ChooseVariant(const Bundle& bundle, const DeviceFacts& device, std::span<const BindingMode> modes) {
  std::optional<size_t> best;
  std::string reasons;
  const auto rank = [&](size_t i) {
    const BundleVariant& variant = bundle.variants[i];
    return std::tuple(variant.generic, std::ranges::find(modes, variant.plan.bindings) - modes.begin(),
                      -FeatureCount(variant.made_for));
  };
  for (size_t i = 0; i < bundle.variants.size(); ++i) {
    const BundleVariant& variant = bundle.variants[i];
    const std::string reason = WhyNot(variant, device, modes);
    if (reason.empty()) {
      if (!best || rank(i) < rank(*best)) best = i;
    } else {
      reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", variant.ToString(), reason);
    }
  }
  if (best) return *best;
  return Unsupported("no variant of the bundle runs on {}: {}", device.name, reasons);
}

}  // namespace VXLA_NAMESPACE
