// One digit of a stable radix sort of rows, least digit first, for GPUs: a workgroup owns a tile of TILE = LANES * ITEMS
// neighbours of a row and moves it by way of shared memory, so that neighbours in memory are read and written together.
//
// PHASE 0 counts the digits of each tile; 1 turns the counts of a row into how many elements with the same digit stand in
// tiles before, and adds up the totals, DIGITS digits and STRIPS strips of tiles to a workgroup; 2 moves the elements.
// Counts lie as [row][tile][digit], totals as [row][digit].
// PART_COUNT tiles in all (in phase 1 workgroups that have work), LENGTH elements of a row, ROW_PARTS tiles of a row, DIGIT_LOW the digit's
// lowest bit.
//
// Phase 2 ranks by subgroups, which own ITEMS * SUBGROUP neighbours each: lanes with the same digit find each other by a
// ballot for each bit of it, and the first of them counts for all (Ashkiani, Davidson, Meyer, Owens, "GPU Multisplit",
// 2016; Adinets, Merrill, "Onesweep", 2022).
//
// The generated part defines PHASE, RADIX, DIGIT_BITS, LANES (RADIX or more), ITEMS, SUBGROUP (32 or 64 lanes, or fewer), DIGITS, STRIPS,
// BY_TILES(g) (g / ROW_PARTS), load_count(i) and store_count(i, n), load_total(i) and store_total(i, n), and in phases 0 and 2
// Key, Item, key_of(Item), KEY_WORD(key) (the word that has the digit), read_item(row, place in the row); in phase 2
// emit_item(row, place in the row, Item), EACH(F), which says F(0) F(1) .. for ITEMS numbers, get_item and put_item of
// shared memory with room for TILE items.
#include "generated"

#define TILE (LANES * ITEMS)
#define DIGIT_OF(item) ((KEY_WORD(key_of(item)) >> DIGIT_LOW) & (RADIX - 1u))

#if PHASE == 0

shared uint tile_counts[RADIX];

void main() {
  load_arguments();
  uint tile = WORKGROUP;
  uint lane = gl_LocalInvocationID.x;
  uint row = BY_TILES(tile);
  uint begin = (tile - row * ROW_PARTS) * TILE;
  uint count = tile < PART_COUNT ? min(TILE, LENGTH - begin) : 0u;
  for (uint digit = lane; digit < RADIX; digit += LANES) tile_counts[digit] = 0u;
  barrier();
  for (uint i = 0u; i < ITEMS; ++i) {
    uint e = i * LANES + lane;
    if (e < count) atomicAdd(tile_counts[DIGIT_OF(read_item(row, begin + e))], 1u);
  }
  barrier();
  if (tile >= PART_COUNT) return;
  for (uint digit = lane; digit < RADIX; digit += LANES) store_count(tile * RADIX + digit, tile_counts[digit]);
}

#elif PHASE == 1

shared uint strip_totals[DIGITS * STRIPS];

void main() {
  load_arguments();
  uint group = WORKGROUP;
  uint lane = gl_LocalInvocationID.x;
  uint row = group / (RADIX / DIGITS);
  uint digit = (group - row * (RADIX / DIGITS)) * DIGITS + lane % DIGITS;
  uint strip = lane / DIGITS;
  uint each = (ROW_PARTS + STRIPS - 1u) / STRIPS;
  uint tile = min(strip * each, ROW_PARTS);
  uint end = group < PART_COUNT ? min(tile + each, ROW_PARTS) : tile;
  uint at = (row * ROW_PARTS + tile) * RADIX + digit;
  uint total = 0u;
  for (uint t = tile; t < end; ++t) total += load_count(at + (t - tile) * RADIX);
  strip_totals[lane] = total;
  barrier();
  uint place = 0u;
  for (uint s = 0u; s < strip; ++s) place += strip_totals[s * DIGITS + lane % DIGITS];
  if (strip == STRIPS - 1u && group < PART_COUNT) store_total(row * RADIX + digit, place + total);
  for (uint t = tile; t < end; ++t) {
    uint counter = at + (t - tile) * RADIX;
    uint count = load_count(counter);
    store_count(counter, place);
    place += count;
  }
}

#else

#define SUBGROUPS (LANES / SUBGROUP)
#if SUBGROUP > 32
#define MASK uvec2
#define BALLOT(set) subgroupBallot(set).xy
#define LANES_BEFORE gl_SubgroupLtMask.xy
#define COUNT(mask) uint(bitCount((mask).x) + bitCount((mask).y))
#define FIRST(mask) uint((mask).x != 0u ? findLSB((mask).x) : 32 + findLSB((mask).y))
#else
#define MASK uint
#define BALLOT(set) subgroupBallot(set).x
#define LANES_BEFORE gl_SubgroupLtMask.x
#define COUNT(mask) uint(bitCount(mask))
#define FIRST(mask) uint(findLSB(mask))
#endif

shared uint counters[SUBGROUPS * RADIX];
shared uvec2 sums[RADIX];   // how many of the tile, and of the row, have a smaller digit
shared uint places[RADIX];  // where the tile's elements with a digit go, less their place in the tile

// How many elements of the subgroup's, of those seen until now, have this digit; and counts this one.
uint rank_in_subgroup(uint digit, uint counter, MASK all, MASK before) {
  MASK same = all;
  for (uint bit = 0u; bit < DIGIT_BITS; ++bit) {
    bool set = ((digit >> bit) & 1u) != 0u;
    MASK with = BALLOT(set);
    same &= set ? with : ~with;
  }
  uint earlier = COUNT(same & before);
  uint seen = 0u;
  if (earlier == 0u) seen = atomicAdd(counters[counter], COUNT(same));
  return subgroupShuffle(seen, FIRST(same)) + earlier;
}

// Beyond the tile's end, which is the row's, stand copies of its last element with the largest digit: they come last.
#define READ_ONE(i) \
  Item item_##i = read_item(row, begin + min(at + uint(i) * SUBGROUP, last)); \
  uint digit_##i = at + uint(i) * SUBGROUP <= last ? DIGIT_OF(item_##i) : RADIX - 1u;
#define RANK_ONE(i) \
  uint rank_##i = rank_in_subgroup(digit_##i, own + digit_##i, all, before);
#define PLACE_ONE(i) put_item(sums[digit_##i].x + counters[own + digit_##i] + rank_##i, item_##i);

void main() {
  load_arguments();
  uint group = WORKGROUP;
  uint tile = min(group, PART_COUNT - 1u);
  uint lane = gl_LocalInvocationID.x;
  uint row = BY_TILES(tile);
  uint begin = (tile - row * ROW_PARTS) * TILE;
  uint last = min(TILE, LENGTH - begin) - 1u;
  uint own = gl_SubgroupID * RADIX;
  uint at = gl_SubgroupID * (SUBGROUP * ITEMS) + gl_SubgroupInvocationID;
  for (uint i = lane; i < SUBGROUPS * RADIX; i += LANES) counters[i] = 0u;
  EACH(READ_ONE)
  barrier();
  MASK all = BALLOT(true);
  MASK before = LANES_BEFORE;
  EACH(RANK_ONE)
  barrier();

  // A subgroup's counters become what the subgroups before it have.
  uvec2 total = uvec2(0u);
  if (lane < RADIX) {
    for (uint s = 0u; s < SUBGROUPS; ++s) {
      uint counter = s * RADIX + lane;
      uint count = counters[counter];
      counters[counter] = total.x;
      total.x += count;
    }
    total.y = load_total(row * RADIX + lane);
    sums[lane] = total;
  }
  barrier();
  for (uint reach = 1u; reach < RADIX; reach *= 2u) {
    uvec2 below = uvec2(0u);
    if (lane >= reach && lane < RADIX) below = sums[lane - reach];
    barrier();
    if (lane < RADIX) sums[lane] += below;
    barrier();
  }
  if (lane < RADIX) {
    uvec2 first = sums[lane] - total;
    sums[lane] = first;
    places[lane] = first.y + load_count(tile * RADIX + lane) - first.x;
  }
  barrier();
  EACH(PLACE_ONE)
  barrier();
  uint count = group < PART_COUNT ? last + 1u : 0u;
  for (uint i = lane; i < count; i += LANES) {
    Item item = get_item(i);
    emit_item(row, places[DIGIT_OF(item)] + i, item);
  }
}

#endif
