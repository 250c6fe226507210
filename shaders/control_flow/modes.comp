// The mode that a nest of loops is in, and with it which of the commands that follow do something: gate g of tensor 1 is
// as in gates.comp, open if tensor 0 says that it belongs to the mode.
//
// The first gate holds whether the mode is not 0, and the mode; the gates behind it, OWN_GATES with the first, count the trips
// of loops. If the mode is MODE_HERE (START: whatever it is), it becomes MODE_FIRST; READS: but only if tensor 2 says 0 for a
// branch or something else than 0 for a condition (TRUTH), else MODE_OTHERS or, by branches, the last of which takes what is out
// of range, MODE_OTHERS + branch - 1; COUNTS: but only if fewer than TRIPS trips have been made, as word TRIP_WORD of tensor 1 counts
// them, else MODE_OTHERS, and the count begins anew.
//
// GATE_COUNT gates, SELECTOR_BITS the selector's bits in its word, BRANCHES branches. One workgroup.
#include "generated"

void main() {
  load_arguments();
  uint lane = gl_LocalInvocationID.x, next = MODE_FIRST;
#if START
  const bool here = true;
  for (uint gate = 1u + lane; gate < OWN_GATES; gate += LANES) STORE(1, u32, 4u * gate, 0u);
#else
  bool here = LOAD(1, u32, 1u) == MODE_HERE;
#endif
#if READS
  uint selector = LOAD(2, u32, 0u) & SELECTOR_BITS;
#if TRUTH
  if (selector == 0u) next = MODE_OTHERS;
#else
  uint branch = min(selector, BRANCHES - 1u);
  if (branch > 0u) next = MODE_OTHERS + branch - 1u;
#endif
#endif
#if COUNTS
  uint trips = LOAD(1, u32, TRIP_WORD);
  if (trips >= TRIPS) next = MODE_OTHERS;
#endif
  barrier();  // all have read
  if (!here) return;
#if COUNTS
  if (lane == 0u) STORE(1, u32, TRIP_WORD, trips >= TRIPS ? 0u : trips + 1u);
#endif
  if (lane == 0u) {
    STORE(1, u32, 0u, next != 0u ? 1u : 0u);
    STORE(1, u32, 1u, next);
  }
  for (uint gate = OWN_GATES + lane; gate < GATE_COUNT; gate += LANES) {
    uint at = 4u * gate;
    bool open = LOAD(0, u32, at) == next;
    STORE(1, u32, at, open ? 1u : 0u);
    STORE(1, u32, at + 1u, open ? LOAD(0, u32, at + 1u) : 0u);
    STORE(1, u32, at + 2u, open ? LOAD(0, u32, at + 2u) : 0u);
    STORE(1, u32, at + 3u, open ? LOAD(0, u32, at + 3u) : 0u);
  }
}
