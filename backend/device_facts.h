// DeviceFacts: what a device can do and how it misbehaves. Plain data: choosing devices, tiles and plans are pure
// functions of it, tested with made-up facts and no GPU.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/timeline.h"
#include "core/data/element_type.h"

namespace VXLA_NAMESPACE {

enum class BindingMode : uint8_t { kAddresses, kDescriptors };

// What a software driver that is taken for a GPU has the facts of; backend/vulkan/device/plan/pretend.h.
enum class GpuFamily : uint8_t { kAny, kGcn, kRdna2, kRdna3, kNvidia, kIntel, kApple, kAdreno, kMali, kMobile };

// What kernels do without though the device may have it (--emulate); backend/vulkan/device/plan/device_plan.h.
struct Emulation {
  bool i64 = false;        // 64-bit integers
  bool f64 = false;        // f64 and c128
  bool f16 = false;        // 16-bit floats and 16-bit storage
  bool narrow = false;     // 8- and 16-bit integers and storage
  bool subgroups = false;  // operations between the lanes of a subgroup
  // / and sqrt of floats: integers put them right, as where the device's own are not correctly rounded.
  bool division = false;
  // A software driver is taken for a discrete GPU: the kernels, tiles and accesses of GPUs run on it.
  bool gpu = false;
  GpuFamily family = GpuFamily::kAny;
  // With gpu: the kernels for matrix units run too, with plain GLSL in the units' place.
  bool matrices = false;
  // The device's one queue stands for several of them, and everything that can run beside something else does.
  bool queues = false;
  // With gpu: loops have barriers of the whole grid wherever they can, however little they gain by it.
  bool grid = false;
  bool vulkan11 = false;          // what came with Vulkan 1.2 and 1.3 and has no extension that the device lists
  bool synchronization2 = false;  // barriers and submissions are those of Vulkan 1.0
  friend bool operator==(const Emulation&, const Emulation&) = default;
};

// What the units do with the bits of a float sum that do not fit, as a probe found
// (backend/vulkan/device/probes/matrix_probe.h).
enum class MatrixRounding : uint8_t { kUnmeasured, kNearest, kCut };

// A product of the matrix units: rows x k terms times k x columns of the same type, added to sums.
struct MatrixShape {
  ElementType term = ElementType::kF16, sum = ElementType::kF32;
  uint32_t rows = 16, columns = 16, k = 16;
  uint32_t invocations = 0;  // of the workgroup that computes it together; 0: a subgroup does
  MatrixRounding rounding = MatrixRounding::kUnmeasured;
  // What it multiplies; how it rounds is known later.
  friend bool operator==(const MatrixShape& a, const MatrixShape& b) {
    return a.term == b.term && a.sum == b.sum && a.rows == b.rows && a.columns == b.columns && a.k == b.k &&
           a.invocations == b.invocations;
  }
};

// Values in the place of those that tuning takes from tables (backend/vulkan/lower/tuning/tuning.h), as `vxla bench
// --tune` measured them on the device. 0: the table's.
struct DeviceTuning {
  uint32_t loop_group = 0, loop_items = 0, dot_lanes = 0, dot_tile = 0, dot_k_step = 0;
  uint32_t row_lanes = 0, busy_groups = 0;  // these change the order of sums, so that results round otherwise
  friend bool operator==(const DeviceTuning&, const DeviceTuning&) = default;
};
struct TuningField {
  const char* name;
  uint32_t DeviceTuning::*value;
};
inline constexpr TuningField kTuningFields[] = {
    {"loop_group", &DeviceTuning::loop_group},  {"loop_items", &DeviceTuning::loop_items},
    {"dot_lanes", &DeviceTuning::dot_lanes},    {"dot_tile", &DeviceTuning::dot_tile},
    {"dot_k_step", &DeviceTuning::dot_k_step},  {"row_lanes", &DeviceTuning::row_lanes},
    {"busy_groups", &DeviceTuning::busy_groups}};

// A queue that is opened: Vulkan's family and number in it.
struct QueueFacts {
  bool computes = true;  // else it copies
  uint32_t family = 0, index = 0;
  friend bool operator==(const QueueFacts&, const QueueFacts&) = default;
};

struct DeviceFacts {
  std::string name, driver, driver_version;
  uint32_t api_version = 0;  // as Vulkan packs it
  uint32_t vendor_id = 0, device_id = 0;
  std::array<uint8_t, 16> device_uuid{}, driver_uuid{};
  enum class Kind : uint8_t { kOther, kIntegrated, kDiscrete, kVirtual, kSoftware } kind = Kind::kOther;
  // Null hardware: kernels compile for it, and there is no memory, no queue, nothing that runs.
  bool compile_only = false;
  // For what chooses and describes devices; what kernels are shaped by is asked of `costs`.
  bool is_software() const { return kind == Kind::kSoftware; }
  // A generic bundle's target: whichever device loads the kernels compiles them then.
  bool is_any_device() const { return compile_only && kind == Kind::kOther; }
  // Multiply-adds that a GPU does beside what it reads for them, whoever else wants them: more with memory of its own.
  int64_t small_work() const { return kind == Kind::kDiscrete ? 1 << 26 : 1 << 22; }

  // What is ENABLED on the logical device, not merely supported.
  bool int64 = false, float64 = false, float16 = false;
  bool storage16 = false, storage8 = false;
  bool buffer_addresses = false;
  bool buffer_arrays = false;  // kernels choose from arrays of storage buffers by values that a workgroup shares
  bool signed_zero_inf_nan_preserve_32 = false, signed_zero_inf_nan_preserve_16 = false,
       signed_zero_inf_nan_preserve_64 = false;
  bool rounding_rte_32 = false, rounding_rte_16 = false, rounding_rte_64 = false;
  bool denorm_preserve_32 = false, denorm_preserve_16 = false, denorm_preserve_64 = false;
  // Whether / and sqrt of the type round correctly. Vulkan lets them be 2.5 ulp off, so the device is asked when it is
  // opened (backend/vulkan/device/probes/division.h). f16 and narrower types are divided in f32.
  enum class Division : uint8_t {
    kUnmeasured,
    kNative,
    kCorrected
  };  // corrected: by integers, in shaders/include/math
  Division division_f32 = Division::kUnmeasured, division_f64 = Division::kUnmeasured;
  // fma of f32 rounds once, as a probe found. Products then use it, unless same_bits asks for the bits that every
  // device can give (docs/reference/numerics.md).
  bool fused_multiply_add = false, same_bits = false;
  // Conversions between f32 and f16 are the device's own: a probe found that they round to nearest even, keep denormals
  // and are not folded away (shaders/include/math/narrow.glsl).
  bool native_f16 = false;
  // 64-bit integers in buffers are compared and exchanged (shaderBufferInt64Atomics).
  bool wide_atomics = false;
  // Sums of four products of bytes in one instruction (SPV_KHR_integer_dot_product).
  bool integer_dot_product = false;
  // Products of matrices by a subgroup of matrix_lanes together (VK_KHR_cooperative_matrix), best first; none: it has
  // no matrix units.
  std::vector<MatrixShape> matrices;
  uint32_t matrix_lanes = 0;
  // Products of whole workgroups (VK_NV_cooperative_matrix2), of each type the largest first.
  std::vector<MatrixShape> group_matrices;
  // Products of 16-bit floats on them in the time of one of f32 on the vector units, roughly.
  double matrix_rate = 0;
  // Plain GLSL computes them, so that their kernels run on devices that have none; in tests.
  bool matrices_stand_in = false;
  // Kernels reach elements by a 32-bit offset in bytes from the tensor's address, which GPUs keep in scalar registers.
  bool byte_offsets = false;
  // Shuffles and broadcasts between the lanes of a subgroup. The pipelines that use them require full subgroups of
  // subgroup_size, so a workgroup whose size along x is a multiple of it has no other lanes; which invocation is which
  // lane only gl_SubgroupID and gl_SubgroupInvocationID tell.
  bool subgroup_shuffle = false;
  bool spirv_1_6 = false;  // Vulkan 1.3; else kernels are compiled for Vulkan 1.1 (SPIR-V 1.3)

  // The units that run workgroups (compute units, multiprocessors), and how many invocations each holds at once; 0: the
  // driver does not say (VK_AMD_shader_core_properties, VK_NV_shader_sm_builtins, VK_ARM_shader_core_builtins).
  uint32_t compute_units = 0, unit_invocations = 0;
  uint32_t subgroup_size = 1;
  uint32_t max_workgroup_invocations = 128;
  std::array<uint32_t, 3> max_workgroup_size{128, 128, 64}, max_group_count{65535, 65535, 65535};
  uint32_t max_shared_bytes = 16384;
  uint64_t max_storage_range_bytes = uint64_t{1} << 27;
  uint64_t max_allocation_bytes = uint64_t{1} << 30;
  uint64_t memory_bytes = 0;  // of the largest device-local heap
  // The host cannot write into device memory: kernels read what MemoryKind::kArguments holds over the bus.
  bool arguments_over_bus = false;
  uint32_t storage_offset_alignment = 256;
  uint32_t max_storage_buffers = 4;  // per stage
  // Of an array in kernels whose element indices are 32-bit and take part in signed address arithmetic; less in tests.
  int64_t max_elements = (int64_t{1} << 31) - 1;
  // How often a workgroup asks for another one's result before it computes that itself; less in tests.
  uint32_t look_back_polls = 1 << 14;
  float timestamp_period_ns = 0;  // 0: no timestamps
  // A system stops a device that is busy with one submission for too long (about 2 s on a desktop), so dispatches and
  // submissions that would take longer than this are cut. 0: they are not. The rates are low estimates.
  double work_budget_seconds = 0;
  double flop_per_second = 1e9, bytes_per_second = 1e9;
  // Those that compute, then one for copies between the host and the device if there is one. Never empty.
  std::vector<QueueFacts> queues = {QueueFacts{}};
  int compute_queues() const { return static_cast<int>(std::ranges::count(queues, true, &QueueFacts::computes)); }
  // Its number; the first queue if there is none for copies.
  int transfer_queue() const { return queues.back().computes ? 0 : static_cast<int>(queues.size()) - 1; }
  // What one queue's waiting for another one takes; below 0: it is worth it whatever it takes.
  double queue_switch_seconds = 30e-6;
  // Its memory can be opened by another logical device of the same physical device; it takes the host's memory from
  // addresses that are multiples of this for its own (0: it does not).
  bool shares_memory = false;
  uint64_t host_pointer_alignment = 0;
  // What another logical device of the same physical device can wait for: nothing, signals that are given and taken in
  // turn, or such as count.
  enum class SharedSignals : uint8_t { kNone, kInTurn, kCounting };
  SharedSignals shares_signals = SharedSignals::kNone;
  // So many workgroups keep the whole device busy.
  int64_t busy_workgroups = 256;
  int hardware_threads = 1;  // software drivers: the threads that run kernels
  bool host_avx512 = false;  // software drivers: the processor that runs kernels has AVX-512
  // Scalar operations, all functions inlined, that the driver's compiler takes in one kernel without ado.
  int64_t kernel_operations = 1 << 15;

  // What things cost kernels, where lowerings weigh one form against another: questions that do not follow from each
  // other. A class of devices is a row of answers; these are GPUs', and known drivers have theirs where they are known
  // (backend/vulkan/drivers).
  struct Costs {
    // How lanes reach memory: a load or store goes lane by lane and takes a lane as long for 32 bytes of neighbours as
    // for one element, so an invocation takes neighbours; that lanes side by side do gains nothing.
    bool accesses_by_lane = false;
    // How subgroups run: a few threads run them one after another. Their values lie in memory, where many of them take
    // no registers from others. At a barrier each stops and puts all its values by, shared memory is memory as any
    // other, and a turn of a loop takes about as long as an access. A few workgroups keep such a device busy, each more
    // costs as much as a turn though it find nothing to do, and a dispatch costs less than what would spare it.
    bool subgroups_in_turn = false;
    // What arithmetic is quick: fma, isnan, f16 in pairs and one test for several values, which GPUs have instructions
    // for, take no less time than the text without.
    bool plain_arithmetic = false;
    // What compiling costs: text that is written out takes longer to compile than small work earns.
    bool dear_text = false;
    // A kernel copies much memory several times as fast as the driver's copy of buffers does.
    bool slow_copies = false;
    // A barrier of all workgroups costs nothing: for tests.
    bool free_grid_barriers = false;
    friend bool operator==(const Costs&, const Costs&) = default;
  } costs;

  // What was measured on it and kept.
  DeviceTuning tuned;

  // Whether probes could ask it how it computes. A library without a compiler has none, so that it relies on nothing
  // that they find.
  bool probed = true;
  // Faults of the driver.
  struct Quirks {
    // Known by its name and version (backend/vulkan/drivers/known_faults.h).
    bool vectors_of_addresses = false;  // its compiler is slow at loads and stores through 64-bit addresses
    bool loads_where_off = false;       // a load through an address that all lanes share is made where none takes part
    bool walks_every_path = false;      // its compiler's time doubles with each branch
    bool slow_long_blocks = false;      // its compiler's time grows with the square of a block's length
    bool folds_zeros = false;           // where it finds out a zero, x * 0 and 0 / x are zero to it, whatever x is
    int64_t copy_reach_bytes = 0;       // 0: none; else it copies no bytes of a buffer beyond so many (kernels can)
    // Found by probes that run a kernel when the device is opened (DeviceFacts::probed).
    uint32_t loop_iteration_limit = 0;  // 0: none; else an invocation's loops stop silently after so many iterations
    bool unfused_multiply_add = false;  // fma rounds its product (Vulkan lets it)
    bool flushes_f32_denormals = false;
    bool flushes_fused_denormals = false;  // fma of f32 does
    bool flushes_f16_denormals = false;
    bool loses_nan = false;      // isnan of f32 misses some, takes other numbers for one, or does not compile
    bool inexact_f16 = false;    // conversions of f16 round otherwise than to nearest even, or not at all
    bool folds_f16 = false;      // conversions to f16 and back are dropped, unless something unknown lies between them
    bool other_f16_nan = false;  // f32's NaN becomes another f16 NaN than by its upper bits
    bool flushes_f64_denormals = false;
    std::vector<std::string> notes;  // a line each for `vxla devices`
  } quirks;
};

}  // namespace VXLA_NAMESPACE
