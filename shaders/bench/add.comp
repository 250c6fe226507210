// Hand-written peer of `vxla bench add`: tensor 2 = tensor 0 + tensor 1, f32, of exactly groups * workgroup size *
// ITEMS * WIDTH elements. A workgroup owns a contiguous piece; an invocation takes ITEMS groups of WIDTH (1, 4 or 8)
// neighbours, a workgroup size apart, or side by side where ADJACENT.
#include "generated"

void main() {
  load_arguments();
  uint first = gl_WorkGroupID.x * (gl_WorkGroupSize.x * ITEMS);
#if ADJACENT
  first += gl_LocalInvocationID.x * ITEMS;
  const uint stride = 1u;
#else
  first += gl_LocalInvocationID.x;
  uint stride = gl_WorkGroupSize.x;
#endif
  for (uint i = 0u; i < ITEMS; ++i) {
    uint at = first + i * stride;
#if WIDTH == 1
    STORE(2, f32, at, LOAD(0, f32, at) + LOAD(1, f32, at));
#elif WIDTH == 4
    STORE(2, f32x4, at, LOAD(0, f32x4, at) + LOAD(1, f32x4, at));
#else
    u64vec4 a = LOAD(0, u64x4, at), b = LOAD(1, u64x4, at), c;
    [[unroll]] for (int j = 0; j < 4; ++j) {
      vec2 sum = uintBitsToFloat(unpackUint2x32(a[j])) + uintBitsToFloat(unpackUint2x32(b[j]));
      c[j] = packUint2x32(floatBitsToUint(sum));
    }
    STORE(2, u64x4, at, c);
#endif
  }
}
