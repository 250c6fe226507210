// The first KEPT of each chunk of a row, in order, for few KEPT and devices whose invocations run one after another
// (software drivers): each invocation walks over CHUNK neighbours and keeps the best so far in shared memory, best first;
// most elements cost one comparison, with the worst of them.
//
// P(0) chunks in all, P(1) elements of a row, P(2) chunks of a row. The result has KEPT elements of each chunk side by
// side (of the last chunk of a row as many as there are), equal ones in the order of the row.
//
// The generated part defines CHUNK, KEPT, LANES (the workgroup's size), BY_CHUNKS(g) (g / P(2)), Key, Item,
// key_of(Item), before(Key, Key), read_item(row, place in the row), GROUP, READ_GROUP and EACH_ITEM as for
// sort/radix_chunks.comp, get_item and put_item of shared memory with room for KEPT * LANES items, and
// emit_item(row, place in the row of the result, Item).
#include "generated"

#define BEST(i) ((i) * LANES + gl_LocalInvocationID.x)
#define NOTE_WANTED(item) wanted = or_pred(wanted, before(key_of(item), worst));

uint found = 0u;
Key worst;

// Puts an item among the best if it is better than the worst of them.
void take(Item item) {
  Key key = key_of(item);
  bool better = before(key, worst);
  if (found < KEPT || better) {
    uint i = min(found, KEPT - 1u);
    while (i > 0u) {
      Item above = get_item(BEST(i - 1u));
      if (!before(key, key_of(above))) break;
      put_item(BEST(i), above);
      --i;
    }
    put_item(BEST(i), item);
    found = min(found + 1u, KEPT);
    worst = key_of(get_item(BEST(found - 1u)));
  }
}

void main() {
  load_arguments();
  uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
  uint chunk = group * LANES + gl_LocalInvocationID.x;
  if (chunk >= P(0)) return;
  uint row = BY_CHUNKS(chunk);
  uint number = chunk - row * P(2);
  uint e = number * CHUNK;
  uint end = min(e + CHUNK, P(1));
  worst = key_of(read_item(row, e));
#if GROUP > 1
  for (; e + uint(GROUP) <= end; e += uint(GROUP)) {
    READ_GROUP(row, e)
    bool wanted = found < KEPT;
    EACH_ITEM(NOTE_WANTED)
    if (wanted) {
      for (uint i = 0u; i < uint(GROUP); ++i) take(read_item(row, e + i));
    }
  }
#endif
  for (; e < end; ++e) take(read_item(row, e));
  for (uint i = 0u; i < found; ++i) emit_item(row, number * KEPT + i, get_item(BEST(i)));
}
