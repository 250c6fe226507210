// A copy, peer of `vxla bench collectives`: tensor 1 = tensor 0, f32, of exactly groups * workgroup size * ITEMS * WIDTH
// elements, WIDTH (1 or 4) at a time. An invocation takes ITEMS of them a workgroup size apart.
#include "generated"

void main() {
  load_arguments();
  uint first = gl_WorkGroupID.x * (gl_WorkGroupSize.x * ITEMS) + gl_LocalInvocationID.x;
  for (uint i = 0u; i < ITEMS; ++i) {
    uint at = first + i * gl_WorkGroupSize.x;
#if WIDTH == 4
    STORE(1, f32x4, at, LOAD(0, f32x4, at));
#else
    STORE(1, f32, at, LOAD(0, f32, at));
#endif
  }
}
