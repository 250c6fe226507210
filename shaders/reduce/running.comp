// Running reductions: each element of a row becomes the reduction of all elements up to it.
//
// A unit is a chunk of a row (of COLUMNS neighbouring rows), walked in tiles by LANES invocations that hold neighbouring
// elements each: a lane folds its own, lanes hand their totals on through shared memory, and what the tiles before came
// to is carried along. So a row is read once and written once. Where rows are too few to keep the device busy they are
// cut into chunks: a first kernel leaves the totals of all chunks but the last, and a unit begins with the totals before
// it.
//
// With ONE_PASS rows are cut into tiles, and memory is read once: a workgroup leaves the total of its tile for others and
// looks back at those of the tiles before (Merrill, Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back",
// 2016), at most BLOCK of them; the last tile of each BLOCK hands on what all tiles up to it came to, so that the order
// of additions is the same on every run. Tickets give tiles in the order in which workgroups begin. A workgroup that has
// asked POLLS times in vain computes what it misses.
//
// Order and accuracy: a function of the shape alone. Sums of f32 are carried from tile to tile in two floats, so that
// the error of an element does not grow with what lies before it.
//
// P(0) workgroups, P(1) units, P(2) units of one chunk number, P(3) tiles of a chunk, P(4) tiles of a row.
//
// The generated part defines LANES, UNITS, COLUMNS, UNIT_CHUNK(u) (u / P(2)), SURPLUS_GROUPS, SURPLUS_UNITS, CHUNKS
// (rows are cut), the structs Acc (of elements) and Carry, running_start(o, chunk, carry), running_tile(o, tile, lane,
// carry) and running_end(o, chunk, lane, carry); with ONE_PASS, where LANES is above BLOCK and UNITS and COLUMNS are 1, also
// running_total(o, tile, lane), first_carry(acc), and the words of the state: add_state(at, n), put_ and get_acc (of
// ACC_WORDS) and put_ and get_carry (of CARRY_WORDS). Several lanes: no surplus units, and UNITS is 1 or all units have the
// same tiles, so that barriers are met by all. One lane: UNITS_ALONG_X, the workgroup is a row of UNITS invocations, as lavapipe
// fills its vectors along x alone.

// own: the reduction of the elements of this lane; afterwards shared_totals holds that of all lanes up to each.
#define SCAN_LANES(own) \
  barrier(); \
  shared_totals[slot] = own; \
  barrier(); \
  for (uint m = 1u; m < LANES; m *= 2u) { \
    Acc before = shared_totals[lane >= m ? slot - m : slot]; \
    barrier(); \
    if (lane >= m) { \
      own = running_join(before, own); \
      shared_totals[slot] = own; \
    } \
    barrier(); \
  }

#include "generated"

#if ONE_PASS

// The state: the next ticket, a flag for each total and for each block's end, then the totals and the blocks' ends.
shared uint ticket, missing;
shared bool late;
shared Acc totals_before[BLOCK];
shared Carry block_before, tile_before;

// (lavapipe 22 goes wrong where some lanes return from inside the loop.)
bool arrived(uint flag) {
  bool set = false;
  for (uint poll = 0u; poll < POLLS && !set; ++poll) set = add_state(flag, 0u) != 0u;
  memoryBarrierBuffer();
  return set;
}

// What the tiles before this one, whose total is `total`, came to.
Carry running_look_back(uint o, uint tile, uint lane, Acc total, Carry initial) {
  uint block = tile / BLOCK, place = tile % BLOCK;
  uint totals = 1u + P(1) + (P(4) + BLOCK - 1u) / BLOCK * P(2);
  uint ends = totals + P(1) * ACC_WORDS;
  if (lane == 0u) {
    missing = 0u;
    late = false;
    uint unit = tile * P(2) + o;
    put_acc(totals + unit * ACC_WORDS, total);
    memoryBarrierBuffer();
    add_state(1u + unit, 1u);
  }
  barrier();
  if (lane < place) {
    uint unit = (block * BLOCK + lane) * P(2) + o;
    if (arrived(1u + unit)) {
      totals_before[lane] = get_acc(totals + unit * ACC_WORDS);
    } else {
      atomicOr(missing, 1u << lane);
    }
  }
  if (lane == BLOCK) {
    block_before = initial;
    if (block > 0u) {
      uint unit = (block - 1u) * P(2) + o;
      if (arrived(1u + P(1) + unit)) {
        block_before = get_carry(ends + unit * CARRY_WORDS);
      } else {
        late = true;
      }
    }
  }
  barrier();
  for (uint k = 0u; k < place; ++k) {
    if (((missing >> k) & 1u) != 0u) {
      Acc found = running_total(o, block * BLOCK + k, lane);
      if (lane == 0u) totals_before[k] = found;
    }
  }
  if (late) {
    Carry before = initial;
    for (uint b = 0u; b < block; ++b) {
      Carry sum = first_carry(running_total(o, b * BLOCK, lane));
      for (uint k = 1u; k < BLOCK; ++k) sum = running_advanced(sum, running_total(o, b * BLOCK + k, lane));
      before = running_sum(before, sum);
    }
    if (lane == 0u) block_before = before;
  }
  barrier();
  if (lane == 0u) {
    tile_before = block_before;
    if (place > 0u) {
      Carry sum = first_carry(totals_before[0]);
      for (uint k = 1u; k < place; ++k) sum = running_advanced(sum, totals_before[k]);
      tile_before = running_sum(block_before, sum);
      if (place == BLOCK - 1u) {
        uint unit = block * P(2) + o;
        put_carry(ends + unit * CARRY_WORDS, running_sum(block_before, running_advanced(sum, total)));
        memoryBarrierBuffer();
        add_state(1u + P(1) + unit, 1u);
      }
    }
  }
  barrier();
  return tile_before;
}

#endif

void main() {
  load_arguments();
#if ONE_PASS
  if (gl_LocalInvocationID.x == 0u) ticket = add_state(0u, 1u);
  barrier();
  uint group = ticket;
#else
  uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
#endif
  // What may not run makes lavapipe test every lane of every later access, so it is left out where it cannot be.
#if SURPLUS_GROUPS
  if (group >= P(0)) return;
#endif
#if UNITS_ALONG_X
  uint lane = 0u, own = gl_LocalInvocationID.x;
#else
  uint lane = gl_LocalInvocationID.x, own = gl_LocalInvocationID.y;
#endif
  uint unit = group * UNITS + own;
#if SURPLUS_UNITS
  if (unit >= P(1)) return;
#endif
  uint chunk = UNIT_CHUNK(unit);
  uint o = unit - chunk * P(2);
#if CHUNKS
  uint first = chunk * P(3), end = min(first + P(3), P(4));
#else
  const uint first = 0u;
  uint end = P(4);
#endif
  Carry carry[COLUMNS];
  running_start(o, chunk, carry);
  for (uint t = first; t < end; ++t) running_tile(o, t, lane, carry);
  running_end(o, chunk, lane, carry);
}
