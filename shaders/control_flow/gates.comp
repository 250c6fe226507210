// Gates of dispatches: which of the commands that follow do something. Gate g is four words of tensor 2: whether it is
// open, and the counts of workgroups that the device reads there, zeros where it is not. Tensor 1 has the branch that the
// gate belongs to and the counts.
//
// LOOP: tensor 0 is the loop's condition; gates that are closed stay so, whatever it says. Else it is a conditional's
// selector: a pred that holds takes branch 0, an index out of range the last of BRANCHES. With NESTED, the conditional is in
// a branch or a loop whose gate is word PARENT_GATE of tensor 3, and takes no branch if that one is closed.
//
// GATE_COUNT gates, SELECTOR_BITS the selector's bits in its word. One workgroup.
#include "generated"

void main() {
  load_arguments();
  uint selector = LOAD(0, u32, 0u) & SELECTOR_BITS;
#if LOOP
  bool open = selector != 0u && LOAD(2, u32, 0u) != 0u;
  barrier();  // all have read it
#else
#if IS_PRED
  uint branch = selector != 0u ? 0u : 1u;
#else
  uint branch = min(selector, BRANCHES - 1u);
#endif
#if NESTED
  bool reached = LOAD(3, u32, PARENT_GATE) != 0u;
#else
  const bool reached = true;
#endif
#endif
  for (uint gate = gl_LocalInvocationID.x; gate < GATE_COUNT; gate += LANES) {
    uint at = 4u * gate;
#if !LOOP
    bool open = reached && LOAD(1, u32, at) == branch;
#endif
    STORE(2, u32, at, open ? 1u : 0u);
    STORE(2, u32, at + 1u, open ? LOAD(1, u32, at + 1u) : 0u);
    STORE(2, u32, at + 2u, open ? LOAD(1, u32, at + 2u) : 0u);
    STORE(2, u32, at + 3u, open ? LOAD(1, u32, at + 3u) : 0u);
  }
}
