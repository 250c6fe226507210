#include <algorithm>
#include <cmath>

#include "backend/vulkan/lower/tuning/tuner.h"
#include "backend/vulkan/lower/tuning/tuning.h"

namespace VXLA_NAMESPACE::vulkan {
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

// Rows whose elements are taken one after the other. Their loops stay below the device's limit and, as a dispatch of
// one workgroup cannot be cut, below what its work budget allows.
RowShape TuneInOrder(const DeviceFacts& facts, const RowWork& work) {
  constexpr double kSecondsPerStep = 2e-6;  // a load from memory that nothing hides, and a function
  RowShape shape;
  shape.in_order = true;
  shape.rows_per_group = 64;
  if (work.rows_contiguous && work.rows > 1) {
    const uint32_t most = facts.costs.accesses_by_lane && work.rows * work.row_size >= 4096 ? 8 : 1;
    shape.width = WidthThatDivides(work.rows, std::min(most, work.most_width));
    shape.along_rows = true;
  }
  int64_t most_steps = MostSteps(facts, work.passes);
  if (facts.work_budget_seconds > 0) {
    const double in_time = facts.work_budget_seconds / kSecondsPerStep / work.passes;
    most_steps = std::min(most_steps, std::max<int64_t>(1024, static_cast<int64_t>(in_time)));
  }
  shape.chunk = CeilDivide(work.row_size, CeilDivide(work.row_size, most_steps));
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

}  // namespace

RowTraits RowTraitsOf(const DeviceFacts& facts) { return TunerOf(facts).Rows(facts); }

RowTraits GpuTuner::Rows(const DeviceFacts& facts) const {
  const GpuTraits traits = TraitsOf(facts);
  RowTraits rows;
  rows.lanes = rows.held_lanes = traits.row_lanes;
  rows.groups = rows.column_groups = traits.busy_groups;
  rows.walks = traits.busy_groups * 64;
  rows.look_back = traits.look_back;
  return rows;
}

RowShape TuneRows(const DeviceFacts& facts, const RowWork& work) {
  if (work.row_size == 0) return {1, 64, 1, false, 1, 1};
  if (work.in_order) return TuneInOrder(facts, work);
  if (work.rows_contiguous && work.rows > 1) return TuneColumns(facts, work);
  const DeviceFacts::Costs& costs = facts.costs;
  const RowTraits traits = RowTraitsOf(facts);
  RowShape shape;
  const uint32_t most = !costs.accesses_by_lane ? 4 : work.rows * work.row_size >= 4096 ? 8 : 1;
  shape.width = WidthThatDivides(work.row_size, std::min(most, work.most_width));
  const int64_t steps = work.row_size / shape.width;
  if (HoldRow(facts, work, steps, &shape)) return shape;
  if (TunerOf(facts).InterleaveShares(facts, work, steps, &shape)) return shape;
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
  shape.alike = !costs.subgroups_in_turn && work.rows == 1 && work.passes == 1 && !work.ordered;
  // A workgroup of one subgroup needs no barrier.
  const int64_t wanted = shape.alike                       ? int64_t{limit}
                         : many && costs.subgroups_in_turn ? std::min<int64_t>(facts.subgroup_size, limit)
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

RunningShape TuneRunning(const DeviceFacts& facts, const RunningWork& work) {
  const bool by_lane = facts.costs.accesses_by_lane, alone = facts.costs.subgroups_in_turn;
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
  constexpr int64_t kFewestToShare = 8, kMostState = int64_t{1} << 28;
  if (walks < wanted / 2 && tiles >= kFewestToShare && shape.lanes >= 64 && small && traits.look_back &&
      work.carry_words > 0 && tiles * work.rows * work.carry_words < kMostState) {
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

}  // namespace VXLA_NAMESPACE::vulkan
