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
// 2016). The last tile of each BLOCK leaves their sum, for which it waits for no tile of another block; the last of each
// BLOCK blocks, a span, what all tiles of the row up to it came to. Lanes ask for all totals of the own block before the
// tile at once, then for all sums of the blocks of the span before: so a row of BLOCK * BLOCK tiles waits twice, and
// only spans are a chain. One lane adds up, in the order of the tiles, so that every run has the same bits. Tickets give
// tiles in the order in which workgroups begin. A workgroup that has asked POLLS times in vain computes what it misses.
//
// Order and accuracy: a function of the shape alone. Sums of f32 are carried from tile to tile in two floats, so that
// the error of an element does not grow with what lies before it.
//
// GROUP_COUNT workgroups, UNIT_COUNT units, CHUNK_UNITS units of one chunk number, CHUNK_TILES tiles of a chunk, ROW_TILES tiles of a row.
//
// The generated part defines LANES, UNITS, COLUMNS, UNIT_CHUNK(u) (u / CHUNK_UNITS), SURPLUS_GROUPS, SURPLUS_UNITS, CHUNKS
// (rows are cut), the structs Acc (of elements) and Carry, running_start(o, chunk, carry), running_tile(o, tile, lane,
// carry) and running_end(o, chunk, lane, carry); with ONE_PASS, where LANES is at least 2 BLOCK and UNITS and COLUMNS are 1, also
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

// The state: the next ticket; a flag for each total, each block's sum and each span's end; then these.
shared uint ticket, missing, missing_sums;
shared bool late;
shared Acc totals_before[BLOCK];
shared Carry sums_before[BLOCK], end_before, tile_before;

// (lavapipe 22 goes wrong where some lanes return from inside the loop.)
bool arrived(uint flag) {
  bool set = false;
  for (uint poll = 0u; poll < POLLS && !set; ++poll) set = add_state(flag, 0u) != 0u;
  memoryBarrierBuffer();
  return set;
}

void leave_carry(uint flag, uint at, Carry value) {
  put_carry(at, value);
  memoryBarrierBuffer();
  add_state(flag, 1u);
}

// The sum of a block by the workgroup itself.
Carry block_sum(uint o, uint block, uint lane) {
  Carry sum;
  for (uint k = 0u; k < BLOCK; ++k) {
    Acc found = running_total(o, block * BLOCK + k, lane);
    if (k == 0u) {
      sum = first_carry(found);
    } else {
      sum = running_advanced(sum, found);
    }
  }
  return sum;
}

// What the tiles before this one, whose total is `total`, came to.
Carry running_look_back(uint o, uint tile, uint lane, Acc total, Carry initial) {
  uint block = tile / BLOCK, place = tile % BLOCK;
  uint span = block / BLOCK, first = span * BLOCK;
  uint blocks = (ROW_TILES + BLOCK - 1u) / BLOCK, spans = (blocks + BLOCK - 1u) / BLOCK;
  uint sum_flags = 1u + UNIT_COUNT, end_flags = sum_flags + blocks * CHUNK_UNITS;
  uint totals = end_flags + spans * CHUNK_UNITS, sums = totals + UNIT_COUNT * ACC_WORDS;
  uint ends = sums + blocks * CHUNK_UNITS * CARRY_WORDS;
  if (lane == 0u) {
    missing = 0u;
    missing_sums = 0u;
    late = false;
    end_before = initial;
    uint unit = tile * CHUNK_UNITS + o;
    put_acc(totals + unit * ACC_WORDS, total);
    memoryBarrierBuffer();
    add_state(1u + unit, 1u);
  }
  barrier();
  if (lane < place) {
    uint unit = (block * BLOCK + lane) * CHUNK_UNITS + o;
    if (arrived(1u + unit)) {
      totals_before[lane] = get_acc(totals + unit * ACC_WORDS);
    } else {
      atomicOr(missing, 1u << lane);
    }
  }
  barrier();
  for (uint k = 0u; k < place; ++k) {
    if (((missing >> k) & 1u) != 0u) {
      Acc found = running_total(o, block * BLOCK + k, lane);
      if (lane == 0u) totals_before[k] = found;
    }
  }
  // Others wait for this sum: it is left before lanes wait for those before it.
  Carry sum = initial;
  if (lane == 0u && place > 0u) {
    sum = first_carry(totals_before[0]);
    for (uint k = 1u; k < place; ++k) sum = running_advanced(sum, totals_before[k]);
    if (place == BLOCK - 1u) {
      uint unit = block * CHUNK_UNITS + o;
      leave_carry(sum_flags + unit, sums + unit * CARRY_WORDS, running_advanced(sum, total));
    }
  }
  if (lane >= BLOCK && lane - BLOCK < block - first) {
    uint unit = (first + lane - BLOCK) * CHUNK_UNITS + o;
    if (arrived(sum_flags + unit)) {
      sums_before[lane - BLOCK] = get_carry(sums + unit * CARRY_WORDS);
    } else {
      atomicOr(missing_sums, 1u << (lane - BLOCK));
    }
  }
  // A span has at most BLOCK - 1 blocks before the own one.
  if (lane == 2u * BLOCK - 1u && span > 0u) {
    uint unit = (span - 1u) * CHUNK_UNITS + o;
    if (arrived(end_flags + unit)) {
      end_before = get_carry(ends + unit * CARRY_WORDS);
    } else {
      late = true;
    }
  }
  barrier();
  for (uint b = late ? 0u : first; b < block; ++b) {
    if (b < first || ((missing_sums >> (b - first)) & 1u) != 0u) {
      Carry found = block_sum(o, b, lane);
      if (lane == 0u) {
        if (b < first) {
          end_before = running_sum(end_before, found);
        } else {
          sums_before[b - first] = found;
        }
      }
    }
  }
  if (lane == 0u) {
    Carry before = end_before;
    for (uint b = first; b < block; ++b) before = running_sum(before, sums_before[b - first]);
    tile_before = before;
    if (place > 0u) tile_before = running_sum(before, sum);
    if (place == BLOCK - 1u && block - first == BLOCK - 1u) {
      uint unit = span * CHUNK_UNITS + o;
      leave_carry(end_flags + unit, ends + unit * CARRY_WORDS, running_sum(before, running_advanced(sum, total)));
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
  uint group = WORKGROUP;
#endif
  // What may not run makes lavapipe test every lane of every later access, so it is left out where it cannot be.
#if SURPLUS_GROUPS
  if (group >= GROUP_COUNT) return;
#endif
#if UNITS_ALONG_X
  uint lane = 0u, own = gl_LocalInvocationID.x;
#else
  uint lane = gl_LocalInvocationID.x, own = gl_LocalInvocationID.y;
#endif
  uint unit = group * UNITS + own;
#if SURPLUS_UNITS
  if (unit >= UNIT_COUNT) return;
#endif
  uint chunk = UNIT_CHUNK(unit);
  uint o = unit - chunk * CHUNK_UNITS;
#if CHUNKS
  uint first = chunk * CHUNK_TILES, end = min(first + CHUNK_TILES, ROW_TILES);
#else
  const uint first = 0u;
  uint end = ROW_TILES;
#endif
  Carry carry[COLUMNS];
  running_start(o, chunk, carry);
  for (uint t = first; t < end; ++t) running_tile(o, t, lane, carry);
  running_end(o, chunk, lane, carry);
}
