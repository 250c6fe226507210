// Row programs: ROWS units of rows, STEPS steps each; passes of reductions whose results the next pass reads at its own
// row.
//
// A workgroup of X lanes by Y units owns Y units (or one of SPLITS shares of them): lanes of one unit take every X-th
// step, so neighbouring lanes read neighbouring memory, and X = 1 gives each invocation units of its own (the workgroup is
// a row of Y then: UNITS_ALONG_X, as lavapipe fills its vectors along x alone). A step is
// WIDTH elements of a row, or one element of each of WIDTH rows (SLOTS rows a unit); either way WIDTH independent
// accumulators.
//
// Accuracy and order: an accumulator takes at most BLOCK steps before it is added to the one above, lanes are joined
// pairwise (lane and lane + 1, + 2, + 4 ...) whatever the subgroup size, and shares are joined by a second dispatch of
// this file. So the order is a function of the shape alone, and the error of a sum grows with BLOCK + R / (BLOCK * X *
// WIDTH * SPLITS).
//
// With LIVE_UNITS there is nothing to do for units from there on, and with LIVE_STEPS no step from there on adds anything;
// both are known on the device only.
//
// With SEVERAL_PIECES several reductions share the dispatch, and load_arguments() found the one that the workgroup
// belongs to.
//
// With IN_ORDER, for reducers that do not associate, LANES and SHARES are 1: accumulators start as the initial values, or
// as what a dispatch before this one has left, and take SHARE_STEPS steps from FIRST_STEP on, one after the other.
//
// GROUP_COUNT workgroups, UNIT_COUNT units, STEP_COUNT steps of a row, SHARE_STEPS steps of a share, SHARES shares.
//
// The generated part defines WIDTH, SLOTS, PASSES(X), UNIT_GROUP(g) (g / SHARES), STORES_ELEMENTS, JOIN_LANES(p) and for
// each pass p of PASSES: Acc_p, reset_p, accumulate_p, merge_p (block into running), fold_p (WIDTH to SLOTS), join_p
// (two accumulators in order), shuffle_p, finish_p; prepare(); and elements() if STORES_ELEMENTS. All lanes need the
// results of passes before LAST_SHARED (SLOTS is 1 where lanes share a row). With HELD the passes are written out in
// held(): each lane takes HELD steps and keeps what it read and computed from pass to pass, so that an element is read
// once and its functions are evaluated once. With ORDERED, for reducers that do not commute, lanes take neighbouring
// steps instead of every X-th. With INTERLEAVED above 1 a workgroup owns so many shares of one unit, Y apart in steps
// of all its invocations: no lane waits for another subgroup, and lanes still step far enough. With TURNS each lane
// takes exactly so many steps, written out. JOIN_LANES is JOIN_LANES_0: one lane; _1: the lanes are of one subgroup; _2:
// of whole subgroups, which join by shuffles and then in shared memory; or _3: shared memory. Which invocations make up
// a subgroup is the device's to choose: with BY_SUBGROUP (1 and 2) subgroups are full, the workgroup is one row of X * Y
// invocations, and lane and unit are the place in the sequence of its subgroups.
layout(constant_id = 3) const uint BLOCK = 64;
layout(constant_id = 4) const uint LANES = 1;
layout(constant_id = 5) const uint UNITS = 1;

#include "shaders/reduce/join_lanes.glsl"

#include "generated"

#define PASS(p) \
  { \
    Acc_##p running[WIDTH]; \
    reset_##p(running); \
    ACCUMULATE(p) \
    Acc_##p total[SLOTS]; \
    fold_##p(running, total); \
    JOIN_LANES(p) \
    finish_##p(unit, share, lane == 0u, total); \
  }

// A lane's steps from `from` on, below `to`. With STEPS_AT_ONCE, so many are written out in the same order, so that
// their loads are all under way before the first value is used: one load at a time leaves most of a GPU's memory idle.
#ifdef STEPS_AT_ONCE
#define WALK(p, sum, from, to) { \
    uint step = from; \
    for (; step + (STEPS_AT_ONCE - 1u) * LANES < to; step += STEPS_AT_ONCE * LANES) { \
      [[unroll]] for (uint s = 0u; s < STEPS_AT_ONCE; ++s) accumulate_##p(sum, unit, step + s * LANES); \
    } \
    for (; step < to; step += LANES) accumulate_##p(sum, unit, step); \
  }
#else
#define WALK(p, sum, from, to) for (uint step = from; step < to; step += LANES) accumulate_##p(sum, unit, step);
#endif

#ifdef TURNS
#define ACCUMULATE(p) \
  EACH_TURN for (uint turn = 0u; turn < TURNS; ++turn) { \
    SITE(turn); \
    accumulate_##p(running, unit, begin + lane + turn * (LANES * INTERLEAVED)); \
  }
#elif ORDERED
#define ACCUMULATE(p) \
  uint each = (SHARE_STEPS + LANES - 1u) / LANES; \
  uint last = min(end, begin + (lane + 1u) * each); \
  for (uint start = begin + lane * each; start < last; start += BLOCK) { \
    uint stop = min(last, start + BLOCK); \
    Acc_##p block[WIDTH]; \
    reset_##p(block); \
    for (uint step = start; step < stop; ++step) accumulate_##p(block, unit, step); \
    merge_##p(running, block); \
  }
#elif BLOCKED
#define ACCUMULATE(p) \
  for (uint start = begin; start < end; start += LANES * BLOCK) { \
    uint stop = min(end, start + LANES * BLOCK); \
    Acc_##p block[WIDTH]; \
    reset_##p(block); \
    WALK(p, block, start + lane, stop) \
    merge_##p(running, block); \
  }
#else
#define ACCUMULATE(p) \
  WALK(p, running, begin + lane, end)
#endif

void main() {
  load_arguments();
#ifdef SEVERAL_PIECES
  uint group = group_of_piece;
#else
  uint group = WORKGROUP;
#endif
  // A return that may happen makes lavapipe test every lane of every later load, so it is left out where it cannot.
#if SURPLUS_GROUPS
  if (group >= GROUP_COUNT) return;
#endif
  uint share = 0u;
#if SPLIT
  uint unit_group = UNIT_GROUP(group);
  share = group - unit_group * (SHARES / INTERLEAVED);
  group = unit_group;
#endif
#if BY_SUBGROUP
  uint place = gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
  uint lane = place % LANES, own = place / LANES;
#elif UNITS_ALONG_X
  uint lane = 0u, own = gl_LocalInvocationID.x;
#else
  uint lane = gl_LocalInvocationID.x, own = gl_LocalInvocationID.y;
#endif
#if INTERLEAVED > 1
  uint unit = group;
  uint begin = share * INTERLEAVED * SHARE_STEPS + own * LANES;
  share = share * INTERLEAVED + own;
#else
  uint unit = group * UNITS + own;
#if IN_ORDER
  uint begin = FIRST_STEP;
#else
  uint begin = share * SHARE_STEPS;
#endif
#endif
  // Units without rows exist only where lanes do not wait for each other (JOIN_LANES_0 and _1).
#if SURPLUS_UNITS
  if (unit >= UNIT_COUNT) return;
#endif
#ifdef LIVE_UNITS
  // The whole workgroup or none of it, so that no lane waits for others.
#if INTERLEAVED > 1
  if (group >= LIVE_UNITS) return;
#else
  if (group * UNITS >= LIVE_UNITS) return;
#endif
#endif
#ifdef LIVE_STEPS
  uint end = min(min(STEP_COUNT, LIVE_STEPS), begin + SHARE_STEPS);
#else
  uint end = min(STEP_COUNT, begin + SHARE_STEPS);
#endif
  prepare(unit);
#if HELD
  held(unit, lane);
  return;
#else
  PASSES(PASS)
#if STORES_ELEMENTS
  for (uint step = begin + lane; step < end; step += LANES) elements(unit, step);
#endif
#endif
}
