#include <algorithm>
#include <bit>

#include "backend/vulkan/lower/tuning/tuner.h"
#include "backend/vulkan/lower/tuning/tuning.h"

namespace VXLA_NAMESPACE::vulkan {
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
  const int64_t wanted = facts.costs.subgroups_in_turn ? 64 : TraitsOf(facts).loop_group;
  const int64_t tiles = rows * CeilDivide(length, shape.tile());
  while (int64_t{shape.lanes} * shape.rows_per_group < wanted && shape.rows_per_group < tiles &&
         fits(shape.lanes, int64_t{shape.rows_per_group} * 2))
    shape.rows_per_group *= 2;
  shape.unit = facts.costs.subgroups_in_turn ? (searches_far ? 1024 : 256) : (searches_far ? 64 : 16);
  return shape;
}

// A pass reads items twice and writes them once, all neighbour by neighbour; a merge reads and writes them once, but in
// short pieces after a search.
RadixShape GpuTuner::Radix(const DeviceFacts& facts, const SortShape& merging, const RadixWork& work) const {
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
  const int passes = CeilDivide(work.bits, shape.digit_bits);
  shape.digit_bits = static_cast<int>(CeilDivide(work.bits, passes));
  const int64_t left = shared - (4 * subgroups + kDigitBytes) * shape.radix();
  const int64_t items = std::bit_floor(static_cast<uint64_t>(std::min(left / (kLanes * work.item_bytes), kMostItems)));
  int64_t merges = 0;
  for (int64_t width = merging.tile(); width < work.length; width *= 2) ++merges;
  const bool pays = 3 * passes * work.key_words <= 4 * (merges + 1);
  if (pays && items > 0 && work.rows * CeilDivide(work.length, kLanes * items) * shape.radix() < int64_t{1} << 31)
    shape.chunk = items;
  return shape;
}

RadixShape TuneRadix(const DeviceFacts& facts, const SortShape& merging, int64_t rows, int64_t length,
                     int64_t item_bytes, int key_words, int bits) {
  if (key_words == 0) return {};
  return TunerOf(facts).Radix(facts, merging, {rows, length, item_bytes, key_words, bits});
}

DigitSelectShape TuneDigitSelect(const DeviceFacts& facts, int64_t rows, int64_t length, int64_t kept, int64_t tile,
                                 int key_words, int bits) {
  DigitSelectShape shape;
  constexpr int64_t kLeastLength = 1 << 14, kMostChunks = 2048, kFew = 1 << 18;
  const bool few = facts.costs.subgroups_in_turn;
  shape.lanes = few ? 64 : 256;
  shape.each = few ? 32 : 16;
  // Counting in shared memory goes lane by lane too.
  if (key_words == 0 || length < kLeastLength || kept == 0 || kept > length / (facts.costs.accesses_by_lane ? 8 : 4) ||
      facts.max_workgroup_invocations < shape.lanes || facts.max_workgroup_size[0] < shape.lanes)
    return shape;
  // Sorting tiles is two dispatches of much arithmetic, where few are kept; this is six or more that read.
  if (2 * kept <= tile && !facts.costs.subgroups_in_turn && rows * length < kFew) return shape;
  const int passes = CeilDivide(bits, 11);
  shape.digit_bits = std::max<int>(8, CeilDivide(bits, passes));
  // The last pass adds up what all chunks before its own have.
  int64_t chunk = few ? 16384 : 4096;
  while (chunk * kMostChunks < length) chunk *= 2;
  if (rows * CeilDivide(length, chunk) < int64_t{1} << 30) shape.chunk = chunk;
  return shape;
}

}  // namespace VXLA_NAMESPACE::vulkan
