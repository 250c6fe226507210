// One digit of a stable radix sort of rows, least digit first, for devices whose invocations run one after another and
// reach memory through caches (software drivers): each invocation owns CHUNK neighbours of a row and a column of
// counters, so nothing is shared and nothing waits.
//
// PHASE 0 counts the digits of each chunk; 1 turns the counts of a row into where each chunk puts its first element of
// each digit, a workgroup of RADIX invocations for each row; 2 moves the elements. Counts lie as [row][chunk][digit].
// P(0) chunks (rows in phase 1), P(1) elements of a row, P(2) chunks of a row, P(3) the digit's lowest bit.
//
// The generated part defines PHASE, RADIX, CHUNK, LANES (the workgroup's size), BY_CHUNKS(g) (g / P(2)), load_count(i)
// and store_count(i, n), and in phases 0 and 2 Key, Item, key_of(Item), KEY_WORD(key) (the word that has the digit),
// read_item(row, place in the row) and, in phase 2, emit_item(row, place in the row, Item).
#include "generated"

#if PHASE == 1

shared uint totals[RADIX];

void main() {
  load_arguments();
  uint row = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
  uint digit = gl_LocalInvocationID.x;
  uint begin = row * P(2) * RADIX + digit;
  bool live = row < P(0);
  uint chunks = live ? P(2) : 0u;
  uint total = 0u;
  for (uint chunk = 0u; chunk < chunks; ++chunk) total += load_count(begin + chunk * RADIX);
  totals[digit] = total;
  barrier();
  for (uint reach = 1u; reach < RADIX; reach *= 2u) {
    uint below = totals[digit >= reach ? digit - reach : digit];
    barrier();
    totals[digit] += digit >= reach ? below : 0u;
    barrier();
  }
  uint place = totals[digit] - total;
  for (uint chunk = 0u; chunk < chunks; ++chunk) {
    uint count = load_count(begin + chunk * RADIX);
    store_count(begin + chunk * RADIX, place);
    place += count;
  }
}

#else

shared uint places[RADIX * LANES];

uint digit_of(Key key) {
  return (KEY_WORD(key) >> P(3)) & (RADIX - 1u);
}

void main() {
  load_arguments();
  uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
  uint lane = gl_LocalInvocationID.x;
  uint chunk = group * LANES + lane;
  if (chunk >= P(0)) return;
  uint row = BY_CHUNKS(chunk);
  uint begin = (chunk - row * P(2)) * CHUNK;
  uint end = min(begin + CHUNK, P(1));
#if PHASE == 0
#define TAKE(item) { \
    uint at = digit_of(key_of(item)) * LANES + lane; \
    places[at] += 1u; }
  for (uint digit = 0u; digit < RADIX; ++digit) places[digit * LANES + lane] = 0u;
#else
#define TAKE(item) { \
    uint at = digit_of(key_of(item)) * LANES + lane; \
    uint place = places[at]; \
    places[at] = place + 1u; \
    emit_item(row, place, item); }
  for (uint digit = 0u; digit < RADIX; ++digit) places[digit * LANES + lane] = load_count(chunk * RADIX + digit);
#endif
  uint e = begin;
#if READS_GROUPS
  for (; e + 4u <= end; e += 4u) {
    Item item_0, item_1, item_2, item_3;
    read_group(row, e, item_0, item_1, item_2, item_3);
    TAKE(item_0)
    TAKE(item_1)
    TAKE(item_2)
    TAKE(item_3)
  }
#endif
  for (; e < end; ++e) {
    Item item = read_item(row, e);
    TAKE(item)
  }
#if PHASE == 0
  for (uint digit = 0u; digit < RADIX; ++digit) store_count(chunk * RADIX + digit, places[digit * LANES + lane]);
#endif
}

#endif
