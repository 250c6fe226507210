// A fused loop: element(i) computes and stores element i of every result, for i < P(0), or for i < LIVE_END where that is
// less and known on the device only.
//
// A workgroup owns a contiguous chunk of workgroup size * ITEMS elements; each of its invocations takes ITEMS of them,
// a workgroup size apart, so that neighbours touch neighbours. On lavapipe many items per invocation are what makes it
// fast (a dispatch costs little, an invocation much); on GPUs one to four.
// With IN_RUNS its items are neighbours instead.
// Groups are numbered along x, then y, so that more than 65,535 fit; surplus groups find nothing to do.
// With SEVERAL_PIECES several loops share the dispatch, and load_arguments() found the one that the workgroup belongs to.
// With WHOLE_ITEMS (= ITEMS) every group is whole and there are no surplus groups, so that no step needs a check. With
// ONE_ITEM ITEMS is 1: a test in the place of a loop.
layout(constant_id = 3) const uint ITEMS = 1;

#include "generated"

#ifdef LIVE_END
#undef WHOLE_ITEMS
#else
#define LIVE_END P(0)
#endif

void main() {
  load_arguments();
#ifdef SEVERAL_PIECES
  uint group = group_of_piece;
#else
  uint group = WORKGROUP;
#endif
#ifdef IN_RUNS
  uint first = (group * gl_WorkGroupSize.x + gl_LocalInvocationID.x) * ITEMS, apart = 1u, behind = first + ITEMS;
#else
  uint first = group * (gl_WorkGroupSize.x * ITEMS) + gl_LocalInvocationID.x, apart = gl_WorkGroupSize.x;
  uint behind = first + gl_WorkGroupSize.x * ITEMS;
#endif
#if defined(WHOLE_ITEMS) && !defined(SPLIT_ADDRESSES)  // split addresses need one copy of each access
  for (uint k = 0u; k < WHOLE_ITEMS; ++k) element(first + k * apart);
#elif defined(ONE_ITEM)
  if (first < LIVE_END) element(first);
#else
  uint end = min(LIVE_END, behind);
  for (uint i = first; i < end; i += apart) {
    element(i);
  }
#endif
}
