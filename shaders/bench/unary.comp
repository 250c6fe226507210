// The driver's own function, peer of `vxla bench exp_vs_builtin` and the like: tensor 1 = FUNCTION(tensor 0), f32, of
// exactly groups * workgroup size * ITEMS elements. A workgroup owns a contiguous piece; an invocation takes ITEMS
// elements a workgroup size apart. Accuracy: what the driver gives, up to thousands of units in the last place.
#include "generated"

void main() {
  load_arguments();
  uint first = gl_WorkGroupID.x * (gl_WorkGroupSize.x * ITEMS) + gl_LocalInvocationID.x;
  for (uint i = 0u; i < ITEMS; ++i) {
    uint at = first + i * gl_WorkGroupSize.x;
    STORE(1, f32, at, FUNCTION(LOAD(0, f32, at)));
  }
}
