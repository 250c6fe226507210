// One digit of a stable radix sort of rows, least digit first, for devices whose invocations run one after another and
// reach memory through caches (software drivers): each invocation owns CHUNK neighbours of a row and counters of its own,
// so nothing is shared and nothing waits.
//
// PHASE 0 counts the digits of each chunk; 1 turns the counts of a row into where each chunk puts its first element of
// each digit, a workgroup of LANES invocations for each row; 2 moves the elements. Counts lie as [row][chunk][digit].
// PART_COUNT chunks (rows in phase 1), LENGTH elements of a row, ROW_PARTS chunks of a row, DIGIT_LOW the digit's lowest bit.
//
// On lavapipe 22 a value that a lane reads costs 20 to 30 cycles (it is put into a vector on the stack, and the vector
// is read before that store is done) and one that it writes next to none. So keys come in groups, two to a load, and
// digits are wide.
//
// The generated part defines PHASE, RADIX, CHUNK, LANES (the workgroup's size), BY_CHUNKS(g) (g / ROW_PARTS), load_count(i)
// and store_count(i, n), and in phases 0 and 2 Key, Item, key_of(Item), KEY_WORD(key) (the word that has the digit),
// read_item(row, place in the row), GROUP and, if it is above 1, READ_GROUP(row, place), which declares so many items
// side by side and reads them, and EACH_ITEM(F), which says F(item) of each; in phase 2 emit_item(row, place in the row,
// Item).
#include "generated"

#if PHASE == 1

// Digits of each invocation.
#define EACH (RADIX / LANES)

shared uint totals[LANES];

void main() {
  load_arguments();
  uint row = WORKGROUP;
  uint lane = gl_LocalInvocationID.x;
  uint begin = row * ROW_PARTS * RADIX + lane * EACH;
  uint chunks = row < PART_COUNT ? ROW_PARTS : 0u;
  uint total = 0u;
  for (uint digit = 0u; digit < EACH; ++digit) {
    for (uint chunk = 0u; chunk < chunks; ++chunk) total += load_count(begin + digit + chunk * RADIX);
  }
  totals[lane] = total;
  barrier();
  for (uint reach = 1u; reach < LANES; reach *= 2u) {
    uint below = lane >= reach ? totals[lane - reach] : 0u;
    barrier();
    totals[lane] += below;
    barrier();
  }
  uint place = totals[lane] - total;
  for (uint digit = 0u; digit < EACH; ++digit) {
    for (uint chunk = 0u; chunk < chunks; ++chunk) {
      uint at = begin + digit + chunk * RADIX;
      uint count = load_count(at);
      store_count(at, place);
      place += count;
    }
  }
}

#else

#if PHASE == 0
#define TAKE(item) { \
    uint at = counts + ((KEY_WORD(key_of(item)) >> DIGIT_LOW) & (RADIX - 1u)); \
    store_count(at, load_count(at) + 1u); }
#else
#define TAKE(item) { \
    uint at = counts + ((KEY_WORD(key_of(item)) >> DIGIT_LOW) & (RADIX - 1u)); \
    uint place = load_count(at); \
    store_count(at, place + 1u); \
    emit_item(row, place, item); }
#endif

void main() {
  load_arguments();
  uint group = WORKGROUP;
  uint chunk = group * LANES + gl_LocalInvocationID.x;
  if (chunk >= PART_COUNT) return;
  uint row = BY_CHUNKS(chunk);
  uint e = (chunk - row * ROW_PARTS) * CHUNK;
  uint end = min(e + CHUNK, LENGTH);
  uint counts = chunk * RADIX;
#if PHASE == 0
  for (uint digit = 0u; digit < RADIX; ++digit) store_count(counts + digit, 0u);
#endif
#if GROUP > 1
  for (; e + uint(GROUP) <= end; e += uint(GROUP)) {
    READ_GROUP(row, e)
    EACH_ITEM(TAKE)
  }
#endif
  for (; e < end; ++e) {
    Item item = read_item(row, e);
    TAKE(item)
  }
}

#endif
