#include <algorithm>

#include "backend/vulkan/drivers/known_faults.h"
#include "backend/vulkan/lower/tuning/tuner.h"
#include "core/ceil_divide.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

constexpr int64_t kFewElements = 4096;

LoopTuning TableLoop(const DeviceFacts& facts, int64_t element_count, int64_t cost, bool single_accesses) {
  // An invocation costs far more than a loop step, so each takes many elements; small tensors stay in one small group.
  if (element_count <= 64) return {64, 1, 1};
  if (element_count <= kFewElements) return {256, 4, 1};
  // Lavapipe loads and stores lane by lane, so a lane that takes a group of neighbours saves most of the work (add of
  // 16M f32 on one core, CPU time: 1 wide 62 ms, 4 wide 41, 8 wide, as pairs of words, 42; where the CPU has no AVX-512
  // 289, 264 and 140). A group repeats the body, which the driver compiles for longer. Split addresses gain by single
  // accesses instead (64 ms for them, 218 for plain addresses of any width).
  const bool single = single_accesses || element_count < (1 << 18) || cost > 256;
  const uint32_t most = single ? 1 : facts.int64 && cost <= 64 ? 8 : 4;
  const uint32_t width = WidthThatDivides(element_count, most);
  // Steps of 4 KiB: a multiple keeps loads of one lane clear of its stack stores' addresses modulo 4096.
  return {width == 8 ? 256 : 1024 / width, width == 1 ? 16u : 4u, width};
}

}  // namespace

RowTraits SoftwareTuner::Rows(const DeviceFacts&) const {
  return {
      .lanes = 512, .held_lanes = 256, .turns = 32, .groups = 32, .column_groups = 4, .column_chunk = 256, .walks = 16};
}

LoopTuning SoftwareTuner::Loop(const DeviceFacts& facts, BindingMode bindings, int64_t element_count,
                               int64_t cost) const {
  LoopTuning tuning = TableLoop(facts, element_count, cost, SplitsAddresses(facts, bindings));
  if (element_count <= kFewElements) return tuning;
  if (facts.tuned.loop_group != 0) tuning.workgroup_size = facts.tuned.loop_group;
  if (facts.tuned.loop_items != 0) tuning.items = facts.tuned.loop_items;
  return tuning;
}

// Rows of more columns touch more lines of the operand than a core's cache and page tables hold: by strips of columns
// those of a strip are still there for the next row.
int64_t SoftwareTuner::StripOfGroups(int64_t elements, int64_t row, int64_t width) const {
  constexpr int64_t kMostColumns = 128, kLeastColumns = 16, kLeastElements = 1 << 22;
  if (elements < kLeastElements || row <= kMostColumns) return 0;
  int64_t strip = std::max<int64_t>(kMostColumns / width, 1);
  while (row / width % strip != 0) --strip;
  return strip * width < kLeastColumns ? 0 : strip;
}

LoopTuning SoftwareTuner::NeighboursInTurn(LoopTuning tuning, int64_t element_count, int64_t group_bytes) const {
  // Where lanes lie side by side, an access of eight lanes waits for four lines of one row, and its row is come back to
  // for the next ones; with a run of 4 KiB for each lane it waits for eight lines of eight rows, each the next of its
  // row (gather of 65,536 rows of 1 KiB, CPU time: side by side 46 ms, runs of 1 KiB 34, 2 KiB 29, 4 KiB 24).
  constexpr int64_t kRunBytes = 4096, kLeastBytes = 1024, kInvocations = 4096;
  const int64_t groups = element_count / tuning.width;
  int64_t items = std::max<int64_t>(kRunBytes / group_bytes, 1);
  while (items > 1 && groups < items * kInvocations) items /= 2;
  if (items * group_bytes < kLeastBytes) return tuning;
  tuning.workgroup_size = std::min<uint32_t>(tuning.workgroup_size, 64);
  tuning.items = static_cast<uint32_t>(items);
  tuning.neighbours_in_turn = true;
  return tuning;
}

// A dispatch and its barrier cost some five microseconds, in which a thread does fewer than 2^16 operations; a few
// times as many are no great loss. Where many threads would share the work, less.
int64_t SoftwareTuner::MostOfAPhase(const DeviceFacts& facts, BindingMode, bool) const {
  return int64_t{1} << (facts.hardware_threads > 4 ? 17 : 19);
}

bool SoftwareTuner::InterleaveShares(const DeviceFacts& facts, const RowWork& work, int64_t steps,
                                     RowShape* shape) const {
  constexpr int64_t kTurns = 32, kInvocations = 512, kMostShares = 16384;
  const int64_t lanes = facts.subgroup_size, interleaved = kInvocations / std::max<int64_t>(lanes, 1);
  if (!work.shuffles || work.passes > 1) return false;
  if (work.rows > 4 || work.ordered || interleaved < 2) return false;
  // Where lanes do not join by shuffles they join in shared memory.
  if (kInvocations * work.accumulator_bytes > facts.max_shared_bytes) return false;
  if (kInvocations > facts.max_workgroup_invocations || interleaved > facts.max_workgroup_size[1]) return false;
  const int64_t chunk = kTurns * lanes, splits = steps / chunk;
  if (splits == 0 || steps % (chunk * interleaved) != 0 || splits > kMostShares) return false;
  shape->lanes = static_cast<uint32_t>(lanes);
  shape->interleaved = static_cast<uint32_t>(interleaved);
  shape->splits = splits;
  shape->chunk = chunk;
  return true;
}

// Lavapipe 22.3.6, one core, f32, descriptors, 512 x 512 x 512 in ms, and the first run of 448 x 448 x 448 in seconds,
// of which the shader's compilation is most: 32 rows x 8 columns a lane by 4 values of k 7.9, 0.83; 16 x 8 by 8 8.9,
// 0.70; by 4 9.7, 0.52; 8 x 4 by 4 20, 0.34. A training step has a dozen different products, so large tiles are for
// products whose runs soon make up for it.
DotShape SoftwareTuner::Dot(const DeviceFacts& facts, const DotWork& work) const {
  DotShape shape;
  shape.repeated = work.repeated;
  const int64_t products = work.batches * work.rows * work.columns * work.k;
  const bool large = work.repeated || products >= int64_t{1} << 27;
  shape.lanes = std::max(facts.subgroup_size, 4u);
  // The tile does not depend on how lhs values reach the lanes: emulated subgroups give the same bits.
  const bool shareable =
      work.lanes_can_share && work.rows >= 8 && shape.lanes == facts.subgroup_size && shape.lanes <= 16;
  shape.share_lhs = facts.subgroup_shuffle && shareable && !work.in_pairs;
  const uint32_t wide = work.sum_bytes == 4 ? 8 : 4;
  const bool whole = work.columns % wide == 0 && work.columns >= wide * shape.lanes;
  const bool shares_rows = wide == 8 && whole && shareable;
  // More rows read each column less often; they take fewer values of k at a time, so that the code stays as long.
  const bool tall = large && shares_rows && work.along_k && work.rows % 32 == 0;
  const bool medium = !large && shares_rows && work.rows % 16 == 0 && products > int64_t{1} << 26;
  shape.tile_columns = work.columns < 4 ? 1 : (large || medium) && whole ? wide : 4;
  const uint32_t rows = tall ? 32 : medium || (large && work.rows > 8) ? 16 : 8;
  shape.tile_rows = shareable ? std::max(shape.lanes, rows) : static_cast<uint32_t>(std::min<int64_t>(work.rows, 4));
  shape.k_step = WidthThatDivides(work.k, (large && !tall) || (medium && !work.along_k) ? wide : 4);
  const bool lane_by_lane = shape.share_lhs && !work.along_k && shape.k_step == shape.lanes && work.rows % 4 == 0;
  if (work.k_run != 0 && !lane_by_lane) shape.k_step = WidthThatDivides(work.k_run, shape.k_step);
  if (work.in_pairs) shape.tile_rows = shape.tile_columns = shape.k_step = 1;
  const int64_t tiles = work.batches * CeilDivide(work.rows, shape.tile_rows) *
                        CeilDivide(work.columns, int64_t{shape.tile_columns} * shape.lanes);
  const int64_t steps = work.k / shape.k_step;
  if (tiles < 4) shape.splits = std::clamp<int64_t>(steps / 256, 1, 8);
  shape.splits = std::max(shape.splits, CeilDivide(steps, MostSteps(facts, 1)));
  return shape;
}

// Every load goes lane by lane, so results that share operands come in large tiles.
LoopTile SoftwareTuner::LoopDot(const DeviceFacts& facts, const DotWork& work, uint32_t lanes, int64_t) const {
  const auto divisor = [](int64_t value, int64_t one, int64_t other) {
    return value % one == 0 ? one : value % other == 0 ? other : 1;
  };
  LoopTile tile{.columns = divisor(work.columns, 8, 4), .k_step = divisor(work.k, 8, 4), .in_turn = true};
  tile.shares = facts.subgroup_shuffle && work.lanes_can_share && lanes == facts.subgroup_size &&
                work.rows % lanes == 0 && lanes <= 8 && work.columns / tile.columns % lanes == 0;
  // A load takes as long as a dozen multiply-adds, so columns are read for as many rows as there are.
  tile.rows = !tile.shares ? divisor(work.rows, 4, 2) : work.rows % (2 * lanes) == 0 ? 2 * lanes : lanes;
  return tile;
}

RadixShape SoftwareTuner::Radix(const DeviceFacts& facts, const SortShape&, const RadixWork& work) const {
  const auto& [rows, length, item_bytes, key_words, bits] = work;
  RadixShape shape;
  constexpr int64_t kLeastLength = 1 << 14, kLong = 1 << 18, kMostChunk = 32768, kMostScan = 48 << 10;
  if (length < kLeastLength * key_words || facts.max_workgroup_invocations < 256 || facts.max_workgroup_size[0] < 256)
    return shape;
  // Wide digits are fewer passes, and counters that have to be worth their own passes.
  const bool wide = length >= kLong;
  const int passes = (bits + (wide ? 10 : 7)) / (wide ? 11 : 8);
  shape.digit_bits = static_cast<int>(CeilDivide(bits, passes));
  int64_t chunk = wide ? 16384 : 2048;
  while (chunk < kMostChunk && chunk * 32 < length) chunk *= 2;
  // An invocation walks over a chunk and its counters once, and twice over the counters of a row's chunks of some
  // digits.
  const int64_t chunks = CeilDivide(length, chunk);
  const int64_t each = shape.radix() / shape.scan_lanes();
  shape.lanes = std::max(facts.subgroup_size, 4u);
  if (2 * each * chunks <= kMostScan && rows * chunks * shape.radix() < int64_t{1} << 31) shape.chunk = chunk;
  return shape;
}

SelectShape SoftwareTuner::Select(const DeviceFacts& facts, int64_t length, int64_t kept, int64_t item_bytes) const {
  SelectShape shape;
  constexpr int64_t kMostKept = 16, kLeastLength = 1 << 12, kMostSteps = 32768;
  if (kept > kMostKept || length < kLeastLength) return shape;
  shape.lanes = std::max(facts.subgroup_size, 4u);
  if (kept * item_bytes * shape.lanes > facts.max_shared_bytes) return shape;
  // In an ascending row every element goes past all that are kept.
  shape.chunk = std::clamp<int64_t>(CeilDivide(length, 64), 512, kMostSteps / std::max<int64_t>(kept + 1, 4)) / 8 * 8;
  return shape;
}

}  // namespace VXLA_NAMESPACE::vulkan
