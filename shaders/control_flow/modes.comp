// The mode that a nest of loops is in, and with it which of the commands that follow do something: gate g of tensor 1 is
// as in gates.comp, open if tensor 0 says that it belongs to the mode.
//
// The first gate holds whether the mode is not 0, and the mode; the gates behind it, P(1) with the first, count the trips
// of loops. If the mode is P(2) (START: whatever it is), it becomes P(3); READS: but only if tensor 2 says 0 for a
// branch or something else than 0 for a condition (TRUTH), else P(4) or, by branches, the last of which takes what is out
// of range, P(4) + branch - 1; COUNTS: but only if fewer than P(8) trips have been made, as word P(7) of tensor 1 counts
// them, else P(4), and the count begins anew.
//
// P(0) gates, P(5) the selector's bits in its word, P(6) branches. One workgroup.
#include "generated"

void main() {
  load_arguments();
  uint lane = gl_LocalInvocationID.x, next = P(3);
#if START
  const bool here = true;
  for (uint gate = 1u + lane; gate < P(1); gate += LANES) STORE(1, u32, 4u * gate, 0u);
#else
  bool here = LOAD(1, u32, 1u) == P(2);
#endif
#if READS
  uint selector = LOAD(2, u32, 0u) & P(5);
#if TRUTH
  if (selector == 0u) next = P(4);
#else
  uint branch = min(selector, P(6) - 1u);
  if (branch > 0u) next = P(4) + branch - 1u;
#endif
#endif
#if COUNTS
  uint trips = LOAD(1, u32, P(7));
  if (trips >= P(8)) next = P(4);
#endif
  barrier();  // all have read
  if (!here) return;
#if COUNTS
  if (lane == 0u) STORE(1, u32, P(7), trips >= P(8) ? 0u : trips + 1u);
#endif
  if (lane == 0u) {
    STORE(1, u32, 0u, next != 0u ? 1u : 0u);
    STORE(1, u32, 1u, next);
  }
  for (uint gate = P(1) + lane; gate < P(0); gate += LANES) {
    uint at = 4u * gate;
    bool open = LOAD(0, u32, at) == next;
    STORE(1, u32, at, open ? 1u : 0u);
    STORE(1, u32, at + 1u, open ? LOAD(0, u32, at + 1u) : 0u);
    STORE(1, u32, at + 2u, open ? LOAD(0, u32, at + 2u) : 0u);
    STORE(1, u32, at + 3u, open ? LOAD(0, u32, at + 3u) : 0u);
  }
}
