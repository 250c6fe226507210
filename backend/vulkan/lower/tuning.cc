#include "backend/vulkan/lower/tuning.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "backend/vulkan/drivers/software_tuning.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

enum Vendor : uint32_t {
  kAmd = 0x1002,
  kImagination = 0x1010,
  kApple = 0x106B,
  kNvidia = 0x10DE,
  kArm = 0x13B5,
  kBroadcom = 0x14E4,
  kQualcomm = 0x5143,
  kIntel = 0x8086,
};

// Whose tiles decide the order of sums; nobody's where all devices shall have the same.
uint32_t VendorOf(const DeviceFacts& facts) { return facts.same_bits ? 0 : facts.vendor_id; }

LoopTuning TuneGpuLoop(const GpuTraits& traits, int64_t element_count) {
  // Enough invocations to hide memory latency come first; then a few elements each spare index arithmetic.
  // The few elements lie side by side: one load of 16 bytes each, and nothing to wait for between them.
  const bool large = element_count >= traits.busy_groups * traits.loop_group * traits.loop_items;
  const uint32_t width = large ? WidthThatDivides(element_count, traits.loop_items) : 1;
  return {traits.loop_group, large && width == 1 ? traits.loop_items : 1, width};
}

}  // namespace

int64_t MostSteps(const DeviceFacts& facts, int passes) {
  const int64_t limit = facts.quirks.loop_iteration_limit;
  if (limit == 0) return int64_t{1} << 30;
  return std::max<int64_t>(limit * 3 / 4 / std::max(passes, 1) - 64, 16);
}

namespace {

// Rows side by side in memory: an invocation per row, or per group of neighbouring rows.
RowShape TuneColumns(const DeviceFacts& facts, const RowWork& work) {
  const RowTraits traits = RowTraitsOf(facts);
  RowShape shape;
  const bool large = work.rows * work.row_size >= 4096;
  const uint32_t most = facts.costs.accesses_by_lane ? (large ? 8 : 1) : work.rows >= (1 << 20) ? 4 : 1;
  shape.width = WidthThatDivides(work.rows, std::min(most, work.most_width));
  shape.along_rows = true;
  shape.rows_per_group = 64;
  const int64_t groups = CeilDivide(work.rows, int64_t{shape.width} * shape.rows_per_group);
  const int64_t wanted = traits.column_groups;
  if (groups < wanted)
    shape.splits = std::clamp<int64_t>(work.row_size / traits.column_chunk, 1, CeilDivide(wanted, groups));
  shape.splits = std::max(shape.splits, CeilDivide(work.row_size, MostSteps(facts, work.passes)));
  shape.chunk = CeilDivide(work.row_size, shape.splits);
  shape.splits = CeilDivide(work.row_size, shape.chunk);
  return shape;
}

// Rows of several passes that a workgroup can hold in registers. Softmax of 4096 x 4096 f32 on one core of lavapipe:
// 125 ms with a loop for each pass.
bool HoldRow(const DeviceFacts& facts, const RowWork& work, int64_t steps, RowShape* shape) {
  if (!work.holds || shape->width == 1) return false;
  if (facts.costs.dear_text && (work.rows < 64 || work.rows * work.row_size < (1 << 20))) return false;
  const int64_t most_lanes =
      std::min({facts.max_workgroup_invocations, facts.max_workgroup_size[0], RowTraitsOf(facts).held_lanes});
  for (const int64_t held : {4, 3, 2, 5, 6, 7, 8, 1}) {
    const int64_t lanes = steps / held;
    const bool whole = steps % held == 0 && (lanes & (lanes - 1)) == 0;
    if (!whole || lanes < 8 || lanes > most_lanes ||
        lanes * work.accumulator_bytes * work.passes > facts.max_shared_bytes)
      continue;
    shape->lanes = static_cast<uint32_t>(lanes);
    shape->held = static_cast<uint32_t>(held);
    shape->chunk = steps;
    return true;
  }
  return false;
}

// Workgroups that are resident on the whole device, as its driver counts its units; `otherwise` where it does not say.
int64_t ResidentGroups(const DeviceFacts& facts, uint32_t group, int64_t otherwise) {
  const int64_t invocations = int64_t{facts.compute_units} * facts.unit_invocations;
  return invocations == 0 ? otherwise : std::clamp<int64_t>(invocations / group, 32, 4096);
}

// From the vendors' published sizes of register files, subgroups and compute units; nothing here has been measured yet.
// What a unit holds: NVIDIA 2,048 invocations (Volta, A100, Hopper), 1,536 (other Ampere, Ada, Blackwell), 1,024
// (Turing), by the table of compute capabilities in the CUDA C++ Programming Guide; AMD 2,560 (GCN: 4 SIMDs of 10 waves
// of 64), 2,560 (RDNA1: 2 SIMDs of 20), 2,048 (RDNA2 and later: 2 of 16), by AMD's ISA documents and Mesa's
// ac_gpu_info.c. Drivers that list their units say the same.
GpuTraits TableTraits(const DeviceFacts& facts) {
  const bool discrete = facts.kind == DeviceFacts::Kind::kDiscrete || facts.kind == DeviceFacts::Kind::kVirtual;
  GpuTraits traits;
  switch (VendorOf(facts)) {
    case kNvidia:  // 255 registers a thread, up to 144 multiprocessors with several workgroups each
      traits.dot_tile = 8;
      traits.busy_groups = discrete ? 1024 : 128;
      break;
    case kAmd:  // 256 vector registers, subgroups of 32 or 64, up to 96 compute units
      traits.dot_tile = 8;
      traits.busy_groups = discrete ? 768 : 96;
      // GCN and RDNA1: strips of 16 take 33 of a unit's 64 KiB, so that a second workgroup does not fit: one wave a
      // SIMD, for which Mesa's compiler spends 224 registers where 110 would do.
      if (facts.unit_invocations > 2048) traits.dot_k_step = 8;
      break;
    case kIntel:  // 128 registers of 8 to 16 lanes: small tiles, workgroups that fit one core's threads
      traits.loop_group = 128;
      traits.row_lanes = 128;
      traits.busy_groups = discrete ? 256 : 96;
      traits.dot_k_step = 8;
      break;
    case kApple:  // wide subgroups, 32 KiB of shared memory, unified memory
      traits.busy_groups = 256;
      break;
    case kArm:
    case kBroadcom:
    case kImagination:
    case kQualcomm:  // few cores; large workgroups and much shared memory cost occupancy
      traits.loop_group = 64;
      traits.loop_items = 2;
      traits.row_lanes = 64;
      traits.busy_groups = 64;
      traits.dot_lanes = 8;
      traits.dot_k_step = 8;
      break;
    default:
      break;
  }
  traits.busy_groups = ResidentGroups(facts, traits.loop_group, traits.busy_groups);
  return traits;
}

}  // namespace

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

RowTraits RowTraitsOf(const DeviceFacts& facts) {
  if (facts.costs.few_workgroups) return SoftwareRowTraits();
  const GpuTraits traits = TraitsOf(facts);
  RowTraits rows;
  rows.lanes = rows.held_lanes = traits.row_lanes;
  rows.groups = rows.column_groups = traits.busy_groups;
  rows.walks = traits.busy_groups * 64;
  return rows;
}

RowShape TuneRows(const DeviceFacts& facts, const RowWork& work) {
  if (work.row_size == 0) return {1, 64, 1, false, 1, 1};
  if (work.rows_contiguous && work.rows > 1) return TuneColumns(facts, work);
  const DeviceFacts::Costs& costs = facts.costs;
  const RowTraits traits = RowTraitsOf(facts);
  RowShape shape;
  const uint32_t most = !costs.accesses_by_lane ? 4 : work.rows * work.row_size >= 4096 ? 8 : 1;
  shape.width = WidthThatDivides(work.row_size, std::min(most, work.most_width));
  const int64_t steps = work.row_size / shape.width;
  if (HoldRow(facts, work, steps, &shape)) return shape;
  if (InterleaveShares(facts, work, steps, &shape)) return shape;
  const int64_t most_steps = MostSteps(facts, work.passes);
  if (steps <= traits.turns && work.rows > 1) {
    shape.rows_per_group = 64;
    shape.chunk = steps;
    return shape;
  }
  uint32_t limit = std::min({facts.max_workgroup_invocations, facts.max_workgroup_size[0], traits.lanes});
  while (limit > 1 && int64_t{limit} * work.accumulator_bytes * work.passes > facts.max_shared_bytes) limit /= 2;
  const bool many = work.rows >= traits.groups / 2;
  shape.lanes = 1;
  // Sums of whole arrays have one kernel whatever their size, so that those of many arrays are one dispatch.
  shape.alike = !costs.cheap_dispatches && work.rows == 1 && work.passes == 1 && !work.ordered;
  // A workgroup of one subgroup needs no barrier.
  const int64_t wanted = shape.alike                   ? int64_t{limit}
                         : many && costs.dear_barriers ? std::min<int64_t>(facts.subgroup_size, limit)
                                                       : std::min<int64_t>(limit, CeilDivide(steps, 4));
  while (int64_t{shape.lanes} * 2 <= wanted) shape.lanes *= 2;
  while (shape.lanes * 2 <= limit && CeilDivide(steps, shape.lanes) > most_steps) shape.lanes *= 2;
  // Few long rows are shared out; shares of a whole number of turns of all lanes.
  const int64_t turn = shape.lanes, turns = CeilDivide(steps, turn), most_shares = 16 * traits.groups;
  if (!many) shape.splits = std::clamp<int64_t>(turns / traits.turns, 1, std::max<int64_t>(1, most_shares / work.rows));
  shape.splits = std::max(shape.splits, CeilDivide(turns, most_steps));
  shape.chunk = CeilDivide(turns, shape.splits) * turn;
  shape.splits = CeilDivide(steps, shape.chunk);
  shape.ordered = work.ordered && shape.lanes > 1;
  return shape;
}

namespace {

// Two strips of each operand, in quads with a padded stride; every invocation takes as many whole quads of a strip.
void FitQuads(const DeviceFacts& facts, DotShape* shape) {
  const auto fits = [&](int64_t k_step) {
    const int64_t quads =
        2 * k_step * (shape->lanes_y * shape->tile_rows / 4 + shape->lanes * shape->tile_columns / 4 + 2);
    return 16 * quads < facts.max_shared_bytes && k_step * shape->tile_rows % (4 * shape->lanes) == 0 &&
           k_step * shape->tile_columns % (4 * shape->lanes_y) == 0;
  };
  // Small tiles need longer strips for that.
  while (shape->k_step < 16 && shape->k_step * shape->tile_rows % (4 * shape->lanes) != 0) shape->k_step *= 2;
  while (shape->k_step > 4 && !fits(shape->k_step)) shape->k_step /= 2;
  shape->quads = fits(shape->k_step);
}

// Of a workgroup: two strips of each operand, rows padded by 16 bytes; every invocation takes as many whole loads, of
// 16 values or of 16 bytes. Sums take 64 registers of a lane at most; a row of matrices of them takes the strips' place
// in the end.
bool FitsMatrices(const DeviceFacts& facts, const DotShape& shape) {
  const MatrixShape& matrix = *shape.matrix;
  const int64_t row_bytes = int64_t{shape.k_step} * StorageBytes(matrix.term) + 16;
  const int64_t rows = shape.lanes_y * shape.tile_rows, columns = shape.lanes * shape.tile_columns;
  const int64_t subgroups = int64_t{shape.lanes} * shape.lanes_y, invocations = subgroups * facts.matrix_lanes;
  const int64_t shared = 2 * row_bytes * (rows + columns),
                sums = subgroups * matrix.rows * (shape.tile_columns + 4) * 4;
  const auto loads = [&](int64_t extent) { return extent * shape.k_step % (16 * invocations) == 0; };
  constexpr int64_t kMostSums = 64;
  if (int64_t{shape.tile_rows} * shape.tile_columns > kMostSums * facts.matrix_lanes) return false;
  return std::max(shared, sums) <= facts.max_shared_bytes && sums <= shared && loads(rows) && loads(columns) &&
         invocations <= std::min(facts.max_workgroup_invocations, facts.max_workgroup_size[0]) &&
         shape.tile_rows % matrix.rows == 0 && shape.tile_columns % matrix.columns == 0 && shape.k_step % matrix.k == 0;
}

// The largest tile that still gives every part of the device something to do, on the matrix units.
std::optional<DotShape> TuneMatrices(const DeviceFacts& facts, const DotWork& work) {
  const GpuTraits traits = TraitsOf(facts);
  if (!work.matrix || facts.same_bits || work.rows < 16 || work.columns < 16) return std::nullopt;
  std::optional<DotShape> fit;
  for (const auto& [lanes, lanes_y, rows, columns] :
       {std::array{4u, 2u, 64u, 32u}, std::array{2u, 2u, 32u, 32u}, std::array{2u, 1u, 32u, 16u}}) {
    DotShape shape;
    shape.tiled = true;
    shape.matrix = work.matrix;
    shape.lanes = lanes;
    shape.lanes_y = lanes_y;
    shape.tile_rows = rows;
    shape.tile_columns = columns;
    shape.k_step = 64 / static_cast<uint32_t>(StorageBytes(work.matrix->term));
    if (!FitsMatrices(facts, shape)) continue;
    fit = shape;
    const int64_t tiles =
        work.batches * CeilDivide(work.rows, lanes_y * rows) * CeilDivide(work.columns, lanes * columns);
    const int64_t wanted = traits.busy_groups / 4;
    if (tiles < wanted) fit->splits = std::clamp<int64_t>(work.k / 512, 1, CeilDivide(wanted, tiles));
    if (tiles >= wanted) break;
  }
  return fit;
}

DotShape TuneTiles(const DeviceFacts& facts, const GpuTraits& traits, const DotWork& work) {
  DotShape shape;
  shape.tiled = true;
  shape.lanes = shape.lanes_y =
      facts.max_workgroup_invocations >= traits.dot_lanes * traits.dot_lanes ? traits.dot_lanes : 8;
  // The largest tile that still gives every part of the device something to do; wide sums take twice the registers.
  const uint32_t most = work.sum_bytes > 4 ? std::min(traits.dot_tile, 4u) : traits.dot_tile;
  const bool quads = work.quads && !facts.same_bits && most >= 4;
  for (uint32_t tile = work.in_pairs ? 1 : most;; tile /= 2) {
    shape.tile_rows = shape.tile_columns = tile;
    const int64_t extent = int64_t{shape.lanes} * tile;
    const int64_t groups = work.batches * CeilDivide(work.rows, extent) * CeilDivide(work.columns, extent);
    if (tile <= 2 || groups >= traits.busy_groups / 4) break;
    // Results in groups of four are worth more than workgroups of many invocations: a quarter as many have as many
    // tiles.
    if (quads && tile == 4) {
      shape.lanes = shape.lanes_y = std::min(shape.lanes, 8u);
      break;
    }
  }
  // Small workgroups have short strips, so that many of them fit.
  shape.k_step = shape.lanes < traits.dot_lanes ? std::min(traits.dot_k_step, 8u) : traits.dot_k_step;
  auto shared_bytes = [&] {
    return int64_t{shape.k_step} * (shape.lanes_y * shape.tile_rows + shape.lanes * shape.tile_columns + 2) *
           work.sum_bytes;
  };
  while (shape.k_step > 1 && shared_bytes() > std::min(facts.max_shared_bytes, 32768u)) shape.k_step /= 2;
  const int64_t tiles = work.batches * CeilDivide(work.rows, shape.lanes_y * shape.tile_rows) *
                        CeilDivide(work.columns, shape.lanes * shape.tile_columns);
  shape.quads = quads && shape.tile_rows >= 4 && shape.k_step % 4 == 0;
  if (shape.quads) FitQuads(facts, &shape);
  const int64_t wanted = traits.busy_groups / 4;
  if (tiles < wanted) shape.splits = std::clamp<int64_t>(work.k / 512, 1, CeilDivide(wanted, tiles));
  return shape;
}

DotShape TuneGpuDot(const DeviceFacts& facts, const DotWork& work) {
  if (const auto matrices = TuneMatrices(facts, work)) return *matrices;
  const GpuTraits traits = TraitsOf(facts), table = TableTraits(facts);
  GpuTraits plain = traits;
  plain.dot_lanes = table.dot_lanes;
  plain.dot_tile = table.dot_tile;
  plain.dot_k_step = table.dot_k_step;
  const DotShape shape = TuneTiles(facts, plain, work), measured = TuneTiles(facts, traits, work);
  // Only where each sum is one sum in ascending k does the tile leave the bits alone.
  const auto sums_alone = [](const DotShape& s) { return s.quads && s.splits == 1; };
  return sums_alone(shape) && sums_alone(measured) ? measured : shape;
}

}  // namespace

DotShape TuneDot(const DeviceFacts& facts, const DotWork& work) {
  return facts.costs.accesses_by_lane ? TuneSoftwareDot(facts, work) : TuneGpuDot(facts, work);
}

RunningShape TuneRunning(const DeviceFacts& facts, const RunningWork& work) {
  const bool by_lane = facts.costs.accesses_by_lane, alone = facts.costs.dear_barriers;
  const bool neighbours = work.side_by_side == 1;
  const RowTraits traits = RowTraitsOf(facts);
  // An element is written out with all that is computed for it.
  const bool small = !work.in_pairs && work.values <= 8;
  RunningShape shape;
  if (neighbours) {
    // A lane that reads alone takes a whole line of the cache at once: the next lane's row may be 2^k bytes away.
    shape.items = !small ? 2 : by_lane ? 16 : work.length >= 2048 ? 8 : 4;
    shape.width = small ? WidthThatDivides(work.length, by_lane && facts.int64 ? 8 : 4) : 1;
  } else {
    const uint32_t most = !by_lane || !small ? 1 : work.rows >= 1024 ? 8 : 4;
    shape.columns = WidthThatDivides(work.side_by_side, most);
    shape.items = small ? 4 : 1;
  }
  if (neighbours && !alone) {
    const int64_t most_lanes = std::min({facts.max_workgroup_invocations, facts.max_workgroup_size[0], traits.lanes});
    const auto fits = [&](int64_t lanes) {
      return lanes <= most_lanes && lanes * work.accumulator_bytes <= facts.max_shared_bytes;
    };
    while (int64_t{shape.lanes} * shape.items < work.length && fits(int64_t{shape.lanes} * 2)) shape.lanes *= 2;
  }
  const int64_t tiles = CeilDivide(work.length, int64_t{shape.lanes} * shape.items);
  const int64_t walks = work.rows / shape.columns;
  // A chunk's start is the sum of those before it.
  constexpr int64_t kMostChunks = 128, kFewestTiles = 16;
  const int64_t wanted = shape.lanes > 1 ? traits.groups : traits.walks;
  // Workgroups wait for others that began before them, which these vendors' desktop devices let run on.
  const uint32_t vendor = VendorOf(facts);
  const bool lets_run = vendor == kNvidia || vendor == kAmd || vendor == kIntel;
  constexpr int64_t kFewestToShare = 8, kMostState = int64_t{1} << 28;
  if (walks < wanted / 2 && tiles >= kFewestToShare && shape.lanes >= 64 && small && lets_run && work.carry_words > 0 &&
      tiles * work.rows * work.carry_words < kMostState) {
    shape.one_pass = true;
    shape.chunks = tiles;
    return shape;
  }
  if (walks < wanted / 2) {
    shape.chunks = std::clamp<int64_t>(std::min(CeilDivide(wanted, walks), tiles / kFewestTiles), 1, kMostChunks);
  }
  // What is more than an operation rounds in each: a chain of all tiles would gather the errors of all of them.
  constexpr int64_t kLongestChain = 256;
  if (!small && tiles > kLongestChain) {
    const auto root = static_cast<int64_t>(std::sqrt(static_cast<double>(tiles)));
    shape.chunks = std::max(shape.chunks, std::min(root, kMostChunks));
  }
  shape.chunks = std::max(shape.chunks, CeilDivide(tiles, MostSteps(facts, 2)));
  shape.chunk = CeilDivide(tiles, shape.chunks);
  shape.chunks = CeilDivide(tiles, shape.chunk);
  const uint32_t group = alone ? std::max(facts.subgroup_size, 1u) : 64;
  const bool whole = shape.lanes > 1 && shape.chunks > 1;  // a workgroup for each chunk
  const uint32_t most_units = std::min(group, facts.max_workgroup_size[shape.lanes > 1 ? 1 : 0]);
  const auto may_double = [&] {
    const int64_t units = int64_t{shape.units} * 2;
    if (units > most_units || shape.lanes * units > group || shape.units >= walks * shape.chunks) return false;
    return shape.lanes == 1 ||
           (walks % units == 0 && shape.lanes * units * work.accumulator_bytes <= facts.max_shared_bytes);
  };
  while (!whole && may_double()) shape.units *= 2;
  return shape;
}

namespace {

// Of few workgroups each takes a part of the keys, at least so many of them; and of so many keys that an invocation's
// loops would come to the device's limit, whatever the workgroups, whole blocks below it.
void ShareOutKeys(const DeviceFacts& facts, const AttentionWork& work, int64_t least, AttentionShape* shape) {
  const int64_t groups = work.batches * CeilDivide(work.rows, shape->rows()),
                blocks = CeilDivide(work.keys, shape->keys());
  const int64_t wanted = TraitsOf(facts).busy_groups;
  if (groups < wanted / 4 && !work.causal) {
    shape->parts = std::clamp<int64_t>(CeilDivide(wanted, groups), 1, std::max<int64_t>(1, work.keys / least));
  }
  // Of a block: itself, its loads, a step for each depth, three for each key, its weights and their exponentials.
  const int64_t loads = CeilDivide(shape->keys() * (work.depth + work.columns), 4 * shape->lanes * shape->lanes_y),
                steps = 4 + loads + work.depth + 3 * shape->keys() + shape->tile_keys * (shape->tile_rows + 1);
  const int64_t most_blocks = std::max<int64_t>(1, MostSteps(facts, 1) / steps);
  shape->part_keys = std::min(CeilDivide(blocks, shape->parts), most_blocks) * shape->keys();
  shape->parts = CeilDivide(work.keys, shape->part_keys);
}

// Whether subgroups can work on rows of one product each, `keys` of a row at a time, with one to four lanes a row.
bool FitsMatrixTiles(const DeviceFacts& facts, const MatrixShape& matrix, int64_t keys, uint32_t subgroups) {
  const uint32_t partners = facts.matrix_lanes / matrix.rows, invocations = facts.matrix_lanes * subgroups;
  return partners >= 1 && partners <= 4 && partners * matrix.rows == facts.matrix_lanes && keys % (4 * partners) == 0 &&
         keys % matrix.columns == 0 && keys % matrix.k == 0 && keys >= 2 * matrix.columns && keys % 8 == 0 &&
         matrix.k % 8 == 0 && matrix.columns % 4 == 0 &&
         invocations <= std::min(facts.max_workgroup_invocations, facts.max_workgroup_size[0]);
}

// Of a workgroup: queries, a block of keys and its values, rows padded by 16 bytes, and a tile of each subgroup, in
// shared memory; of a subgroup: its results in registers, 64 of a lane at most.
bool FitsAttention(const DeviceFacts& facts, const AttentionWork& work, const AttentionShape& shape) {
  const MatrixShape& matrix = *shape.matrix;
  const int64_t depths = CeilDivide(work.depth, matrix.k) * matrix.k,
                columns = CeilDivide(work.columns, matrix.columns) * matrix.columns, keys = shape.lanes;
  const int64_t shared =
      (shape.rows() + keys) * (2 * depths + 16) + columns * (2 * keys + 16) + shape.rows() * (4 * keys + 16) + 16;
  constexpr int64_t kMostSums = 64;
  return FitsMatrixTiles(facts, matrix, keys, shape.lanes_y) &&
         columns * matrix.rows <= kMostSums * facts.matrix_lanes && shared <= facts.max_shared_bytes;
}

// Rows of a product's matrices at least, where they are not mostly idle.
std::optional<AttentionShape> TuneAttentionMatrices(const DeviceFacts& facts, const AttentionWork& work) {
  if (!work.matrix || facts.same_bits || work.depth % 8 != 0 || work.columns % 4 != 0) return std::nullopt;
  if (2 * work.rows <= work.matrix->rows) return std::nullopt;
  for (const uint32_t subgroups : {4u, 2u, 1u}) {
    AttentionShape shape;
    shape.lanes = 32;
    shape.lanes_y = subgroups;
    shape.matrix = work.matrix;
    if (subgroups > 1 && shape.rows() / 2 >= work.rows) continue;  // half of it would be idle
    if (!FitsAttention(facts, work, shape)) continue;
    ShareOutKeys(facts, work, 512, &shape);
    return shape;
  }
  return std::nullopt;
}

}  // namespace

AttentionShape TuneAttention(const DeviceFacts& facts, const AttentionWork& work) {
  if (const auto matrices = TuneAttentionMatrices(facts, work)) return *matrices;
  // Few rows, as of one query a head and group: a row has a subgroup's lanes, and each its own key.
  constexpr int64_t kFewRows = 8;
  const auto few = static_cast<uint32_t>(std::bit_ceil(static_cast<uint64_t>(std::min(work.rows, kFewRows))));
  std::vector<AttentionShape> shapes;
  if (work.rows < kFewRows) shapes = {{64, few, 1, 1}, {32, few, 1, 1}, {16, few, 1, 1}};
  shapes.insert(shapes.end(),
                {{16, 16, 4, 2}, {16, 8, 4, 2}, {16, 8, 4, 1}, {16, 4, 4, 1}, {8, 8, 2, 1}, {8, 4, 1, 1}});
  for (AttentionShape shape : shapes) {
    if (shape.rows() > 16 && shape.rows() / 2 >= work.rows) continue;  // half of it would be idle
    const int64_t depth = CeilDivide(work.depth, 4) * 4 + 1, columns = CeilDivide(work.columns, 4) * 4 + 1;
    const int64_t words =
        shape.rows() * depth + shape.keys() * std::max(depth, columns) + shape.rows() * (shape.keys() + 1) + 1;
    if (shape.lanes * shape.lanes_y > facts.max_workgroup_invocations || 4 * words > facts.max_shared_bytes) continue;
    ShareOutKeys(facts, work, work.rows < kFewRows ? 128 : 512, &shape);
    return shape;
  }
  return {};
}

namespace {

// What a workgroup of chain_matrices.comp holds in shared memory, rows padded by 16 bytes, and a subgroup in registers.
bool FitsChain(const DeviceFacts& facts, const ChainWork& work, const ChainShape& shape) {
  const MatrixShape& matrix = *shape.matrix;
  const int64_t keys = shape.lanes, tiles = static_cast<int64_t>(std::max(work.depths.size(), work.columns.size()));
  int64_t shared = tiles * shape.rows() * (4 * keys + 16) + 16, columns = 0;
  for (int64_t depth : work.depths) shared += (shape.rows() + keys) * (2 * CeilDivide(depth, matrix.k) * matrix.k + 16);
  for (int64_t sum : work.columns) columns += CeilDivide(sum, matrix.columns) * matrix.columns;
  shared += columns * (2 * keys + 16);
  return FitsMatrixTiles(facts, matrix, keys, shape.lanes_y) && columns * matrix.rows <= 128 * facts.matrix_lanes &&
         shared <= facts.max_shared_bytes;
}

std::optional<ChainShape> TuneChainMatrices(const DeviceFacts& facts, const ChainWork& work) {
  const auto is_whole = [](int64_t unit) { return [unit](int64_t size) { return size % unit == 0; }; };
  if (!work.matrix || facts.same_bits || 2 * work.rows <= work.matrix->rows) return std::nullopt;
  if (!std::ranges::all_of(work.depths, is_whole(8)) || !std::ranges::all_of(work.columns, is_whole(4)))
    return std::nullopt;
  for (const uint32_t subgroups : {4u, 2u, 1u}) {
    ChainShape shape;
    shape.lanes = 32;
    shape.lanes_y = subgroups;
    shape.matrix = work.matrix;
    if (subgroups > 1 && shape.rows() / 2 >= work.rows) continue;  // half of it would be idle
    if (FitsChain(facts, work, shape)) return shape;
  }
  return std::nullopt;
}

}  // namespace

ChainShape TuneChain(const DeviceFacts& facts, const ChainWork& work) {
  if (const auto matrices = TuneChainMatrices(facts, work)) return *matrices;
  constexpr int64_t kMostUnits = 2;  // of four rows each, for two sums: 64 registers
  // Wide results take more lanes a row.
  // In little shared memory, as all devices have, fewer depths at a time leave room for them.
  // Two wide sums at once, two units each, leave 256 invocations no registers on RDNA 3 by older drivers: one unit
  // each.
  const ChainShape shapes[] = {{16, 16}, {32, 8}, {64, 4}, {16, 8}, {8, 8},    {16, 4},
                               {32, 4},  {8, 4},  {16, 2}, {32, 2}, {8, 4, 4}, {32, 2, 4}};
  for (ChainShape shape : shapes) {
    const int64_t invocations = int64_t{shape.lanes} * shape.lanes_y;
    if (shape.rows() > 16 && shape.rows() / 2 >= work.rows) continue;  // half of it would be idle
    int64_t quads = shape.chunk * (shape.lanes + shape.lanes_y + 2);
    if (!work.reduces) {
      shape.column_units = CeilDivide(CeilDivide(work.most_columns(), 4), shape.lanes);
      const int64_t row = shape.lanes * shape.column_units;
      shape.value_keys = std::clamp<int64_t>(shape.lanes * shape.lanes_y / row, 4, shape.keys());
      quads += shape.keys() * (shape.lanes_y + 1) + shape.value_keys * row;
    } else {
      quads += shape.rows() * shape.lanes / 4;
    }
    const bool crowded = invocations > 128 && static_cast<int64_t>(work.columns.size()) * shape.column_units > 2;
    const bool fits = invocations <= facts.max_workgroup_invocations && 16 * quads < facts.max_shared_bytes &&
                      shape.column_units <= kMostUnits && !crowded;
    if (fits) return shape;
  }
  return {};
}

int64_t ChainSteps(const ChainShape& shape, const ChainWork& work) {
  const int64_t invocations = int64_t{shape.lanes} * shape.lanes_y, sums = std::ssize(work.columns);
  constexpr int64_t kOfWeights = 20;  // four keys, each of them with a step for four rows where their text is long
  int64_t products = kOfWeights;
  for (int64_t depth : work.depths) products += CeilDivide(depth, shape.chunk) * (1 + shape.chunk / 4);
  if (work.parts > 0) return work.parts * (1 + products);
  const int64_t loads = CeilDivide(shape.value_keys * shape.lanes * shape.column_units, invocations),
                values = CeilDivide(shape.keys(), shape.value_keys) * (1 + loads) + shape.keys();
  return CeilDivide(work.keys, shape.keys()) * (1 + products + sums * values);
}

SortShape TuneSort(const DeviceFacts& facts, int64_t rows, int64_t length, int64_t item_bytes, int key_words) {
  SortShape shape;
  const bool by_lane = facts.costs.accesses_by_lane, searches_far = key_words == 0;
  // Exchanges in registers cost next to nothing beside what lavapipe reads, lane by lane (65,536 rows of 16: a third of
  // the time with runs of 16 instead of 8); but they cost it compilation, which small sorts do not earn.
  constexpr int64_t kLarge = 1 << 16;
  shape.in_registers = key_words > 0 && rows * length >= kLarge;
  if (by_lane && shape.in_registers) {
    const uint32_t most_run = key_words == 1 && item_bytes <= 8 ? 32 : 16;
    while (shape.run < most_run && shape.run < length) shape.run *= 2;
  }
  const int64_t most_lanes = std::min({facts.max_workgroup_invocations, facts.max_workgroup_size[0], 256u});
  // Two copies of each item: those read and those written.
  const int64_t most_items = std::min(facts.max_shared_bytes, 32768u) / (2 * item_bytes);
  const auto fits = [&](int64_t lanes, int64_t tiles) {
    return lanes * tiles <= most_lanes && lanes * tiles * shape.run <= most_items;
  };
  while (shape.run > 1 && !fits(1, 1)) shape.run /= 2;
  while (shape.tile() < length && fits(int64_t{shape.lanes} * 2, 1)) shape.lanes *= 2;
  const int64_t wanted = facts.costs.few_workgroups ? 64 : TraitsOf(facts).loop_group;
  const int64_t tiles = rows * CeilDivide(length, shape.tile());
  while (int64_t{shape.lanes} * shape.rows_per_group < wanted && shape.rows_per_group < tiles &&
         fits(shape.lanes, int64_t{shape.rows_per_group} * 2))
    shape.rows_per_group *= 2;
  shape.unit = facts.costs.few_workgroups ? (searches_far ? 1024 : 256) : (searches_far ? 64 : 16);
  return shape;
}

namespace {

// A pass reads items twice and writes them once, all neighbour by neighbour; a merge reads and writes them once, but in
// short pieces after a search.
RadixShape TuneRadixTiles(const DeviceFacts& facts, const SortShape& merging, int64_t rows, int64_t length,
                          int64_t item_bytes, int key_words, int bits) {
  RadixShape shape;
  constexpr uint32_t kLanes = 256;
  constexpr int64_t kMostShared = 32768, kDigitBytes = 12, kMostItems = 16;
  if (!facts.subgroup_shuffle || facts.subgroup_size > 64 || kLanes % facts.subgroup_size != 0 ||
      facts.max_workgroup_invocations < kLanes || facts.max_workgroup_size[0] < kLanes)
    return shape;
  shape.by_tiles = true;
  shape.lanes = kLanes;
  const int64_t shared = std::min<int64_t>(facts.max_shared_bytes, kMostShared),
                subgroups = kLanes / facts.subgroup_size;
  // Every subgroup counts its own digits, in at most a third of the memory.
  while (3 * 4 * subgroups * shape.radix() > shared) --shape.digit_bits;
  const int passes = CeilDivide(bits, shape.digit_bits);
  shape.digit_bits = static_cast<int>(CeilDivide(bits, passes));
  const int64_t left = shared - (4 * subgroups + kDigitBytes) * shape.radix();
  const int64_t items = std::bit_floor(static_cast<uint64_t>(std::min(left / (kLanes * item_bytes), kMostItems)));
  int64_t merges = 0;
  for (int64_t width = merging.tile(); width < length; width *= 2) ++merges;
  const bool pays = 3 * passes * key_words <= 4 * (merges + 1);
  if (pays && items > 0 && rows * CeilDivide(length, kLanes * items) * shape.radix() < int64_t{1} << 31)
    shape.chunk = items;
  return shape;
}

}  // namespace

RadixShape TuneRadix(const DeviceFacts& facts, const SortShape& merging, int64_t rows, int64_t length,
                     int64_t item_bytes, int key_words, int bits) {
  if (key_words == 0) return {};
  return facts.costs.dear_barriers ? TuneRadixChunks(facts, rows, length, key_words, bits)
                                   : TuneRadixTiles(facts, merging, rows, length, item_bytes, key_words, bits);
}

DigitSelectShape TuneDigitSelect(const DeviceFacts& facts, int64_t rows, int64_t length, int64_t kept, int64_t tile,
                                 int key_words, int bits) {
  DigitSelectShape shape;
  constexpr int64_t kLeastLength = 1 << 14, kMostChunks = 2048, kFew = 1 << 18;
  const bool few = facts.costs.few_workgroups;
  shape.lanes = few ? 64 : 256;
  shape.each = few ? 32 : 16;
  // Counting in shared memory goes lane by lane too.
  if (key_words == 0 || length < kLeastLength || kept == 0 || kept > length / (facts.costs.accesses_by_lane ? 8 : 4) ||
      facts.max_workgroup_invocations < shape.lanes || facts.max_workgroup_size[0] < shape.lanes)
    return shape;
  // Sorting tiles is two dispatches of much arithmetic, where few are kept; this is six or more that read.
  if (2 * kept <= tile && !facts.costs.cheap_dispatches && rows * length < kFew) return shape;
  const int passes = CeilDivide(bits, 11);
  shape.digit_bits = std::max<int>(8, CeilDivide(bits, passes));
  // The last pass adds up what all chunks before its own have.
  int64_t chunk = few ? 16384 : 4096;
  while (chunk * kMostChunks < length) chunk *= 2;
  if (rows * CeilDivide(length, chunk) < int64_t{1} << 30) shape.chunk = chunk;
  return shape;
}

LoopTuning TuneLoop(const DeviceFacts& facts, BindingMode bindings, int64_t element_count, int64_t cost) {
  LoopTuning tuning = facts.costs.few_workgroups ? TuneSoftwareLoop(facts, bindings, element_count, cost)
                                                 : TuneGpuLoop(TraitsOf(facts), element_count);
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

std::array<uint32_t, 3> GroupGrid(const DeviceFacts& facts, int64_t count) {
  const int64_t most = facts.max_group_count[0];
  const int64_t rows = (count + most - 1) / most;
  return {static_cast<uint32_t>((count + rows - 1) / std::max<int64_t>(rows, 1)), static_cast<uint32_t>(rows), 1};
}

}  // namespace VXLA_NAMESPACE::vulkan
