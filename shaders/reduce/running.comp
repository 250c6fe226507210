// Running reductions: each element of a row becomes the reduction of all elements up to it.
//
// A unit is a chunk of a row (of COLUMNS neighbouring rows), walked in tiles by LANES invocations that hold neighbouring
// elements each: a lane folds its own, lanes hand their totals on through shared memory, and what the tiles before came
// to is carried along. So a row is read once and written once. Where rows are too few to keep the device busy they are
// cut into chunks: a first kernel leaves the totals of all chunks but the last, and a unit begins with the totals before
// it.
//
// Order and accuracy: a function of the shape alone. Sums of f32 are carried from tile to tile in two floats, so that
// the error of an element does not grow with what lies before it.
//
// P(0) workgroups, P(1) units, P(2) units of one chunk number, P(3) tiles of a chunk, P(4) tiles of a row.
//
// The generated part defines LANES, UNITS, COLUMNS, UNIT_CHUNK(u) (u / P(2)), SURPLUS_GROUPS, SURPLUS_UNITS, CHUNKS
// (rows are cut), the structs Acc (of elements) and Carry, running_start(o, chunk, carry), running_tile(o, tile, lane,
// carry) and running_end(o, chunk, lane, carry). Several lanes: no surplus units, and UNITS is 1 or all units have the
// same tiles, so that barriers are met by all.

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

void main() {
  load_arguments();
  uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
  // What may not run makes lavapipe test every lane of every later access, so it is left out where it cannot be.
#if SURPLUS_GROUPS
  if (group >= P(0)) return;
#endif
  uint lane = gl_LocalInvocationID.x;
  uint unit = group * UNITS + gl_LocalInvocationID.y;
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
