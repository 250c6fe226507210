// Stable merge sort of rows by any comparison, one of two ways.
//
// TILE_PASS 1: each tile of TILE neighbours of a row (the last one shorter) is read from the operands and sorted in
// shared memory. LANES invocations share a tile, TILE = LANES * RUN, and a workgroup owns ROWS of them: each lane sorts
// RUN neighbours (by insertion; with IN_REGISTERS in registers, by exchanging neighbours, which keeps equal ones in order
// and has a longer text), then runs of twice the length
// are merged until one is left. PART_COUNT tiles in all, LENGTH elements of a row, ROW_PARTS tiles of a row. The first KEPT elements of
// each tile are the result, side by side.
// TILE_PASS 0: runs of SORTED_RUN sorted neighbours are merged in pairs; an invocation makes UNIT neighbours of the merged run.
// PART_COUNT units in all, LENGTH elements of a row, ROW_PARTS units of a row.
//
// Where an invocation begins in the two runs a binary search tells (merge path: Odeh, Green, Mwassi, Shmueli, Birk,
// "Merge Path - Parallel Merging Made Simple", 2012). It is right for every order; with ANY_ORDER nothing says that
// the comparison is one, and each invocation searches from the middle of the merged run down to its own part, both ends,
// so that the parts of all invocations fit together and the result is a permutation, whatever the comparison answers.
//
// The generated part defines the constants above, BY_UNITS(g) (g / ROW_PARTS), Key, Item (what is moved), key_of(Item),
// before(Key, Key), emit_item(row, place in the row, Item) and either load_item(place in all rows) or read_item(row, place
// in the row), get_item and put_item of shared memory with room for 2 * ROWS * TILE items and, with IN_REGISTERS:
// READS_RUNS (whether lanes read their own RUN neighbours; else neighbouring lanes read neighbours), EACH(F),
// EVEN_PAIRS(F) and ODD_PAIRS(F), which say F(0) F(1) .., F(0, 1) F(2, 3) .. and F(1, 2) F(3, 4) .., EXCHANGE(i, j), which
// exchanges item_i and key_i with item_j and key_j if `exchanged`, and LAST_KEY, which comes before no other key.
#include "generated"

#if TILE_PASS
#define ITEM_AT(i) get_item(i)
#else
#define ITEM_AT(i) load_item(i)
#endif

// Of the first d of A (from a) and B (from b) merged, how many are of A; it is known to be in [low, high].
uint split_of(uint a, uint b, uint d, uint low, uint high) {
  while (low < high) {
    uint middle = (low + high) >> 1;
    bool right_first = before(key_of(ITEM_AT(b + (d - 1u - middle))), key_of(ITEM_AT(a + middle)));
    low = right_first ? low : middle + 1u;
    high = right_first ? middle : high;
  }
  return low;
}

// What one unit takes of A and of B.
struct Part {
  uint a, a_end, b, b_end;
};

// Of [first, middle) and [middle, end) merged: unit `unit` of `units`, which may reach beyond the end.
Part part_of(uint first, uint middle, uint end, uint unit, uint units) {
  uint in_a = middle - first;
  uint in_b = end - middle;
#if ANY_ORDER
  uint low = 0u, high = units;
  uint a_low = 0u, a_high = in_a, b_low = 0u, b_high = in_b;
  while (high - low > 1u) {
    uint half_way = (low + high) >> 1;
    uint d = min(half_way * UNIT, in_a + in_b);
    uint a = split_of(first, middle, d, max(a_low, d - min(d, b_high)), min(a_high, d - b_low));
    bool below = unit < half_way;
    low = below ? low : half_way;
    a_low = below ? a_low : a;
    b_low = below ? b_low : d - a;
    high = below ? half_way : high;
    a_high = below ? a : a_high;
    b_high = below ? d - a : b_high;
  }
  return Part(first + a_low, first + a_high, middle + b_low, middle + b_high);
#else
  uint d = min(unit * UNIT, in_a + in_b);
  uint a = split_of(first, middle, d, d - min(d, in_b), min(d, in_a));
  return Part(first + a, middle, middle + (d - a), end);
#endif
}

// Merges `count` items; `last` is the last place that can be read, OUT(j, item) takes item j.
#define MERGE(part, count, last, OUT) \
  if (count > 0u) { \
    uint a = part.a, b = part.b; \
    Item x = ITEM_AT(min(a, last)); \
    Item y = ITEM_AT(min(b, last)); \
    Key x_key = key_of(x); \
    Key y_key = key_of(y); \
    for (uint j = 0u; j < count; ++j) { \
      bool right = before(y_key, x_key); \
      right = or_pred(a >= part.a_end, and_pred(b < part.b_end, right)); \
      Item taken = y; \
      if (!right) taken = x; \
      OUT(j, taken); \
      a += right ? 0u : 1u; \
      b += right ? 1u : 0u; \
      Item next = ITEM_AT(min(right ? b : a, last)); \
      Key next_key = key_of(next); \
      if (right) { \
        y = next; \
        y_key = next_key; \
      } else { \
        x = next; \
        x_key = next_key; \
      } \
    } \
  }

#if TILE_PASS

#if READS_RUNS
#define RUN_ITEM(i) read_item(row, begin + i)
#else
#define RUN_ITEM(i) get_item(from + i)
#endif
#if !IN_REGISTERS

// By insertion: ties of a comparison that says "not after" come out one way, turned round as by merging.
void sort_run(uint first, uint end) {
  for (uint i = first + 1u; i < end; ++i) {
    Item moving = get_item(i);
    Key key = key_of(moving);
    uint j = i;
    while (j > first) {
      Item left = get_item(j - 1u);
      if (!before(key, key_of(left))) break;
      put_item(j, left);
      --j;
    }
    put_item(j, moving);
  }
}

#else

// Where the tile ends its last item is read again, and stays behind.
#define READ_ONE(i) \
  Item item_##i = RUN_ITEM(min(at + uint(i), count - 1u)); \
  Key key_##i = key_of(item_##i); \
  key_##i = at + uint(i) < count ? key_##i : LAST_KEY;
#define IN_ORDER(i, j) { \
    bool exchanged = before(key_##j, key_##i); \
    EXCHANGE(i, j) }
#define WRITE_ONE(i) put_item(from + at + uint(i), item_##i);

#endif

#define TO_SHARED(j, item) put_item(to + at + j, item)

void main() {
  load_arguments();
  uint group = WORKGROUP;
#if ROWS_SIDE_BY_SIDE
  uint slot = gl_LocalInvocationID.x % ROWS, lane = gl_LocalInvocationID.x / ROWS;
#else
  uint slot = gl_LocalInvocationID.x / LANES, lane = gl_LocalInvocationID.x % LANES;
#endif
  uint tile = group * ROWS + slot;
  uint row = BY_UNITS(tile);
  uint begin = (tile - row * ROW_PARTS) * TILE;
  uint count = tile < PART_COUNT ? min(TILE, LENGTH - begin) : 0u;
  uint from = slot * TILE, to = (ROWS + slot) * TILE;
  uint at = lane * RUN;
#if !IN_REGISTERS || !READS_RUNS
  for (uint i = lane; i < count; i += LANES) put_item(from + i, read_item(row, begin + i));
  barrier();
#endif
#if !IN_REGISTERS
  sort_run(from + at, from + min(at + RUN, count));
#else
  if (at < count) {
    EACH(READ_ONE)
    for (uint round = 0u; round < RUN; round += 2u) {
      EVEN_PAIRS(IN_ORDER)
      ODD_PAIRS(IN_ORDER)
    }
    EACH(WRITE_ONE)
  }
#endif
  barrier();
  // As many rounds for all invocations: every tile is at most this long.
  uint longest = min(TILE, LENGTH);
  for (uint width = RUN; width < longest; width *= 2u) {
    uint first = at & ~(2u * width - 1u);
    uint size = at < count ? min(RUN, count - at) : 0u;
    if (size > 0u) {
      Part part = part_of(from + first, from + min(first + width, count), from + min(first + 2u * width, count),
                          (at - first) / RUN, 2u * width / RUN);
      uint last = from + count - 1u;
      MERGE(part, size, last, TO_SHARED)
    }
    uint other = from;
    from = to;
    to = other;
    barrier();
  }
  uint kept = min(count, KEPT);
  uint place = (tile - row * ROW_PARTS) * KEPT;
  for (uint i = lane; i < kept; i += LANES) emit_item(row, place + i, get_item(from + i));
}

#else

#define TO_MEMORY(j, item) emit_item(row, at + j, item)

void main() {
  load_arguments();
  uint group = WORKGROUP;
  uint unit = group * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (unit >= PART_COUNT) return;
  uint row = BY_UNITS(unit);
  uint at = (unit - row * ROW_PARTS) * UNIT;
  uint width = SORTED_RUN;
  uint first = at & ~(2u * width - 1u);
  uint base = row * LENGTH;
  uint size = min(UNIT, LENGTH - at);
  Part part = part_of(base + first, base + min(first + width, LENGTH), base + min(first + 2u * width, LENGTH),
                      (at - first) / UNIT, 2u * width / UNIT);
  uint last = base + LENGTH - 1u;
  MERGE(part, size, last, TO_MEMORY)
}

#endif
