// The first KEPT of each chunk of a row, in order, for few KEPT and devices whose invocations run one after another
// (software drivers): each invocation walks over CHUNK neighbours and keeps the best so far in shared memory, best first;
// most elements cost one comparison, with the worst of them.
//
// PART_COUNT chunks in all, LENGTH elements of a row, ROW_PARTS chunks of a row. The result has KEPT elements of each chunk side by
// side (of the last chunk of a row as many as there are), equal ones in the order of the row.
//
// The generated part defines CHUNK, KEPT, LANES (the workgroup's size), BY_CHUNKS(g) (g / ROW_PARTS), Key, Item,
// key_of(Item), before(Key, Key), read_item(row, place in the row), GROUP, READ_GROUP and EACH_ITEM as for
// software/radix_chunks.comp, get_item and put_item of shared memory with room for KEPT * LANES items, and
// emit_item(row, place in the row of the result, Item).
#include "generated"

#define BEST(i) ((i) * LANES + gl_LocalInvocationID.x)
#define NOTE_WANTED(item) wanted = or_pred(wanted, before(key_of(item), worst));
#define TAKE(item) { \
    Item taken = item; \
    if (before(key_of(taken), worst)) { \
      insert(KEPT - 1u, taken); \
      worst = key_of(get_item(BEST(KEPT - 1u))); \
    } }

// Moves an item up from place i of the best.
void insert(uint i, Item item) {
  Key key = key_of(item);
  while (i > 0u) {
    Item above = get_item(BEST(i - 1u));
    if (!before(key, key_of(above))) break;
    put_item(BEST(i), above);
    --i;
  }
  put_item(BEST(i), item);
}

void main() {
  load_arguments();
  uint group = WORKGROUP;
  uint chunk = group * LANES + gl_LocalInvocationID.x;
  if (chunk >= PART_COUNT) return;
  uint row = BY_CHUNKS(chunk);
  uint number = chunk - row * ROW_PARTS;
  uint begin = number * CHUNK;
  uint end = min(begin + CHUNK, LENGTH);
  uint found = min(KEPT, end - begin);
  for (uint i = 0u; i < found; ++i) insert(i, read_item(row, begin + i));
  Key worst = key_of(get_item(BEST(found - 1u)));
  // Groups begin at multiples of their size.
  uint e = begin + (found + uint(GROUP) - 1u) / uint(GROUP) * uint(GROUP);
  for (uint i = begin + found; i < min(e, end); ++i) TAKE(read_item(row, i))
#if GROUP > 1
  for (; e + uint(GROUP) <= end; e += uint(GROUP)) {
    READ_GROUP(row, e)
    bool wanted = false;
    EACH_ITEM(NOTE_WANTED)
    if (wanted) {
      for (uint i = 0u; i < uint(GROUP); ++i) TAKE(read_item(row, e + i))
    }
  }
#endif
  for (; e < end; ++e) TAKE(read_item(row, e))
  for (uint i = 0u; i < found; ++i) emit_item(row, number * KEPT + i, get_item(BEST(i)));
}
