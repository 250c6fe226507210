// Hand-written peer of `vxla bench sum`: each workgroup adds a contiguous piece of tensor 0, exactly workgroup size *
// ITEMS * WIDTH elements of f32, and stores the sum at its number in tensor 1. A second dispatch of one workgroup adds
// those. Invocations take ITEMS groups of WIDTH neighbours, a workgroup size apart; subgroups add theirs, invocation 0
// the rest.
#include "generated"

shared float subgroup_sums[THREADS];

void main() {
  load_arguments();
  uint first = gl_WorkGroupID.x * (THREADS * ITEMS) + gl_LocalInvocationID.x;
  float sum;
#if WIDTH == 1
  float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  for (uint i = 0u; i < ITEMS; i += 4u) {
    [[unroll]] for (uint j = 0u; j < 4u; ++j) {
      if (i + j < ITEMS) sums[j] += LOAD(0, f32, first + (i + j) * THREADS);
    }
  }
  sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
#elif WIDTH == 4
  vec4 sums = vec4(0.0f);
  for (uint i = 0u; i < ITEMS; ++i) sums += LOAD(0, f32x4, first + i * THREADS);
  sum = (sums.x + sums.y) + (sums.z + sums.w);
#else
  vec4 low = vec4(0.0f), high = vec4(0.0f);
  for (uint i = 0u; i < ITEMS; ++i) {
    u64vec4 words = LOAD(0, u64x4, first + i * THREADS);
    low += vec4(uintBitsToFloat(unpackUint2x32(words.x)), uintBitsToFloat(unpackUint2x32(words.y)));
    high += vec4(uintBitsToFloat(unpackUint2x32(words.z)), uintBitsToFloat(unpackUint2x32(words.w)));
  }
  low += high;
  sum = (low.x + low.y) + (low.z + low.w);
#endif
  for (uint m = gl_SubgroupSize / 2u; m > 0u; m /= 2u) sum += subgroupShuffleXor(sum, m);
  if (gl_SubgroupInvocationID == 0u) subgroup_sums[gl_SubgroupID] = sum;
  barrier();
  if (gl_LocalInvocationID.x == 0u) {
    float total = 0.0f;
    for (uint i = 0u; i < gl_NumSubgroups; ++i) total += subgroup_sums[i];
    STORE(1, f32, gl_WorkGroupID.x, total);
  }
}
