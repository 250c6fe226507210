#include "backend/vulkan/lower/tuning/tuning.h"

#include "backend/gpu_vendors.h"
#include "backend/vulkan/lower/tuning/tuner.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

constexpr uint32_t kDatacentreInvocations = 2048;  // that a unit of NVIDIA's GPUs for data centres holds

// Whose tiles decide the order of sums; nobody's where all devices shall have the same.
uint32_t VendorOf(const DeviceFacts& facts) { return facts.same_bits ? 0 : facts.vendor_id; }

// Workgroups that are resident on the whole device, as its driver counts its units; `otherwise` where it does not say.
int64_t ResidentGroups(const DeviceFacts& facts, uint32_t group, int64_t otherwise) {
  const int64_t invocations = int64_t{facts.compute_units} * facts.unit_invocations;
  return invocations == 0 ? otherwise : std::clamp<int64_t>(invocations / group, 32, 4096);
}

}  // namespace

int64_t MostSteps(const DeviceFacts& facts, int passes) {
  const int64_t limit = facts.quirks.loop_iteration_limit;
  if (limit == 0) return int64_t{1} << 30;
  return std::max<int64_t>(limit * 3 / 4 / std::max(passes, 1) - 64, 16);
}

// From the vendors' published sizes of register files, subgroups and compute units, but where a measurement is named.
// What a unit holds: NVIDIA 2,048 invocations (Volta, A100, Hopper), 1,536 (other Ampere, Ada, Blackwell), 1,024
// (Turing), by the table of compute capabilities in the CUDA C++ Programming Guide; AMD 2,560 (GCN: 4 SIMDs of 10 waves
// of 64), 2,560 (RDNA1: 2 SIMDs of 20), 2,048 (RDNA2 and later: 2 of 16), by AMD's ISA documents and Mesa's
// ac_gpu_info.c. Drivers that list their units say the same.
GpuTraits GpuTuner::Table(const DeviceFacts& facts) const {
  const bool discrete = facts.kind == DeviceFacts::Kind::kDiscrete || facts.kind == DeviceFacts::Kind::kVirtual;
  GpuTraits traits;
  switch (VendorOf(facts)) {
    case kNvidia:  // 255 registers a thread, up to 144 multiprocessors with several workgroups each
      traits.look_back = true;
      traits.dot_tile = 8;
      // Measured on an H100: strips of 8 leave room for two workgroups of 8 x 8 results (f32 of 4096: 4.0 ms, 4.3 with
      // 16), longer ones hide more of their loads in small workgroups (dot_512 0.018, 0.024 ms), which pay only where
      // large ones are fewer than the units (dot_1024 0.073, 0.096 ms); and on the matrix units the loads of one strip
      // take as long as the products of two (bf16 of 4096: 0.77, 1.25 ms).
      traits.dot_k_step = 8;
      traits.small_k_step = 16;
      traits.small_below = 8;
      traits.matrix_ahead = 2;
      // Not measured yet. Subgroups whose lanes are 4 x 8 read 12 quads for 64 multiply-adds of a lane, in as many
      // passes of shared memory, where 2 x 16 take 18 passes, and a multiply-add takes 1/4 of a pass. Terms of the next
      // k are what every quick kernel of f32 reads ahead of this one's products (SGEMM_CUDA, sgemm.cu: the last 4 to 10
      // %).
      traits.dot_terms_ahead = traits.dot_compact_lanes = true;
      // Not measured yet. For 16 k of 64 x 32 results a subgroup reads 3 KiB in 24 clocks, which is what the units'
      // products take: 495 TFLOP/s of an H100's 640 at best. 64 x 64 results read 4 KiB in twice as many. They take 128
      // registers of sums, and other units are fed by half as much (an RTX 5090's reach 0.94 of their rate with 64 x
      // 32).
      if (facts.unit_invocations >= kDatacentreInvocations) traits.matrix_columns = 64;
      // The units turn 16 bits as they load them (ldmatrix.trans); PUT_ACROSS takes four times the stores.
      traits.matrix_rhs_rows = true;
      traits.matrix_raster = 8;
      traits.attention_quads = true;
      traits.busy_groups = discrete ? 1024 : 128;
      break;
    case kAmd:  // 256 vector registers, subgroups of 32 or 64, up to 96 compute units
      traits.look_back = true;
      traits.dot_tile = 8;
      traits.busy_groups = discrete ? 768 : 96;
      // GCN and RDNA1: strips of 16 take 33 of a unit's 64 KiB, so that a second workgroup does not fit: one wave a
      // SIMD, for which Mesa's compiler spends 224 registers where 110 would do.
      if (facts.unit_invocations > 2048) traits.dot_k_step = 8;
      // By RADV's code (docs/internals/isa.md): without, a k waits for all of its reads; with, reads of two k are on
      // their way while a third one is multiplied, for 32 to 48 registers more.
      // Not on GCN, where small tiles lose one of 4 waves to it.
      traits.dot_terms_ahead = facts.unit_invocations <= 2048;
      // The same says of attention: 1.3 vector instructions and 0.16 reads of shared memory a multiply-add, where
      // attention/forward.comp takes 2.3 and 0.7. On GCN 40 KiB leave a unit's 64 to one workgroup of two waves.
      traits.attention_quads = facts.unit_invocations <= 2048;
      break;
    case kIntel:  // 128 registers of 8 to 16 lanes: small tiles, workgroups that fit one core's threads
      traits.look_back = true;
      traits.loop_group = 128;
      traits.row_lanes = 128;
      traits.busy_groups = discrete ? 256 : 96;
      traits.dot_k_step = 8;
      break;
    default:
      break;
  }
  return traits;
}

GpuTraits TableTraits(const DeviceFacts& facts) {
  GpuTraits traits = TunerOf(facts).Table(facts);
  traits.busy_groups = ResidentGroups(facts, traits.loop_group, traits.busy_groups);
  return traits;
}

GpuTraits TraitsOf(const DeviceFacts& facts) {
  GpuTraits traits = TableTraits(facts);
  const DeviceTuning& tuned = facts.tuned;
  const auto take = [](auto& value, uint32_t measured) {
    if (measured != 0) value = measured;
  };
  take(traits.loop_group, tuned.loop_group);
  take(traits.loop_items, tuned.loop_items);
  take(traits.row_lanes, tuned.row_lanes);
  take(traits.busy_groups, tuned.busy_groups);
  take(traits.dot_lanes, tuned.dot_lanes);
  take(traits.dot_tile, tuned.dot_tile);
  take(traits.dot_k_step, tuned.dot_k_step);
  return traits;
}

// Where accesses go lane by lane a processor is what runs the lanes.
const Tuner& TunerOf(const DeviceFacts& facts) {
  static const GpuTuner gpu;
  static const MobileTuner mobile;
  static const SoftwareTuner software;
  if (facts.costs.accesses_by_lane) return software;
  return MobileTuner::Knows(VendorOf(facts)) ? mobile : gpu;
}

LoopTuning GpuTuner::Loop(const DeviceFacts& facts, BindingMode, int64_t element_count, int64_t) const {
  // Enough invocations to hide memory latency come first; then a few elements each spare index arithmetic.
  // The few elements lie side by side: one load of 16 bytes each, and nothing to wait for between them.
  const GpuTraits traits = TraitsOf(facts);
  const bool large = element_count >= traits.busy_groups * traits.loop_group * traits.loop_items;
  const uint32_t width = large ? WidthThatDivides(element_count, traits.loop_items) : 1;
  return {traits.loop_group, large && width == 1 ? traits.loop_items : 1, width};
}

// A dispatch and its barrier cost some five microseconds, in which one workgroup does about 2^16 operations; a few
// times as many are no great loss. Where many units would share the work, less. Of an H100's 132 one takes 3 to 7 us
// for phases of 147,000 to 263,000 (training of a small net, bodies, transforms, a recurrent net), and 22 for one of
// 295,000 (points of the Mandelbrot set); a dispatch and its barrier take 6 there under addresses. Not measured yet:
// under descriptors they take 2.2, in which a unit does some 100,000.
int64_t GpuTuner::MostOfAPhase(const DeviceFacts& facts, BindingMode bindings, bool counted) const {
  constexpr uint32_t kManyUnits = 32;
  if (facts.compute_units < kManyUnits) return int64_t{1} << 19;
  return counted && bindings == BindingMode::kDescriptors ? 100'000 : 270'000;
}

// Not measured yet. A trip of one workgroup with so many elements, some twenty operations each, takes about 2 us and a
// barrier or two; two steps and their barriers, 5 us, make 32 trips and more.
int64_t GpuTuner::LeastInChunks() const { return 1024; }

LoopTuning TuneLoop(const DeviceFacts& facts, BindingMode bindings, int64_t element_count, int64_t cost) {
  LoopTuning tuning = TunerOf(facts).Loop(facts, bindings, element_count, cost);
  const uint32_t limit = std::min(facts.max_workgroup_invocations, facts.max_workgroup_size[0]);
  while (tuning.workgroup_size > limit) tuning.workgroup_size /= 2;
  return tuning;
}

bool PairsInstructions(const DeviceFacts& facts) { return facts.vendor_id == kAmd; }

LoopTuning Widened(const DeviceFacts& facts, LoopTuning tuning, const ElementBytes& bytes, int64_t element_count,
                   int64_t cost) {
  // The text repeats the body for each element of a group: what computes much gains nothing by wider loads.
  constexpr int64_t kMostCost = 16;
  if (tuning.width != 4 || cost > kMostCost || !facts.byte_offsets) return tuning;
  const uint32_t wanted = bytes.most == 1 ? 16 : bytes.least == 2 && bytes.most <= 4 ? 8 : 4;
  const GpuTraits traits = TraitsOf(facts);
  // As many workgroups as keep the device busy come first.
  while (tuning.width < wanted && element_count % (2 * tuning.width) == 0 &&
         element_count >= traits.busy_groups * traits.loop_group * 2 * tuning.width)
    tuning.width *= 2;
  return tuning;
}

std::optional<TurnShape> TuneTurn(const DeviceFacts& facts, const TurnWork& work) {
  constexpr int64_t kLeastElements = 1 << 16;  // smaller tensors stay in the cache that lines are read again from
  if (facts.costs.accesses_by_lane || work.elements < kLeastElements) return std::nullopt;
  const uint32_t width = work.groups && work.x % 4 == 0 && work.t % 4 == 0 ? 4 : 1;
  for (const uint32_t tile : {64u, 32u}) {
    if (tile == 64 && width == 1) continue;
    const int64_t padded = CeilDivide(work.x, tile) * tile * CeilDivide(work.t, tile) * tile;
    const int64_t most_padded = work.x * work.t * (tile == 64 ? 4 : 6) / 3;
    if (padded > most_padded || tile * (tile + 1) * work.bytes > std::min(facts.max_shared_bytes, 32768u)) continue;
    TurnShape shape{tile, width, tile};
    const uint32_t lanes = tile / width, most = std::min(TraitsOf(facts).loop_group, facts.max_workgroup_invocations);
    while (shape.lanes_y > 1 && (lanes * shape.lanes_y > most || shape.lanes_y > facts.max_workgroup_size[1]))
      shape.lanes_y /= 2;
    return shape;
  }
  return std::nullopt;
}

}  // namespace VXLA_NAMESPACE::vulkan
