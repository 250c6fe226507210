// Hand-written peer of `vxla bench dot_512` and `dot_1024`: tensor 2 = tensor 0 x tensor 1, row-major f32 squares of
// SIZE, a multiple of the tiles. A workgroup of LANES lanes owns ROWS rows and LANES * COLUMNS columns; a lane keeps
// ROWS * COLUMNS sums. SHARED_LHS: lane l loads rows l, l + LANES ... and lanes hand the values round by shuffles
// (LANES is the subgroup size); else each lane loads all. WIDE: eight neighbours a load, as pairs of words; else four.
// No shared memory.
#include "generated"

#if WIDE
#define K 8u
#define LOAD_GROUP(k, at, group) { \
    u64vec4 words = LOAD(k, u64x4, at); \
    [[unroll]] for (uint w = 0u; w < 4u; ++w) { \
      vec2 pair = uintBitsToFloat(unpackUint2x32(words[w])); \
      group[2u * w] = pair.x; \
      group[2u * w + 1u] = pair.y; \
    } \
  }
#else
#define K 4u
#define LOAD_GROUP(k, at, group) { \
    vec4 words = LOAD(k, f32x4, at); \
    [[unroll]] for (uint w = 0u; w < 4u; ++w) group[w] = words[w]; \
  }
#endif
#if SHARED_LHS
#define LANE gl_SubgroupInvocationID
#define LHS_ROWS (ROWS / LANES)
#define LHS(i, kk) subgroupShuffle(lhs[(i) / LANES * K + (kk)], (i) % LANES)
#else
#define LANE gl_LocalInvocationID.x
#define LHS_ROWS ROWS
#define LHS(i, kk) lhs[(i) * K + (kk)]
#endif

void main() {
  load_arguments();
  uint unit = (gl_WorkGroupID.x * LANES + LANE) * (COLUMNS / K), row = gl_WorkGroupID.y * ROWS;
  float sums[ROWS * COLUMNS];
  [[unroll]] for (uint i = 0u; i < ROWS * COLUMNS; ++i) sums[i] = 0.0f;
  for (uint k = 0u; k < SIZE; k += K) {
    float lhs[LHS_ROWS * K];
    [[unroll]] for (uint i = 0u; i < LHS_ROWS; ++i) {
#if SHARED_LHS
      uint lhs_row = row + i * LANES + LANE;
#else
      uint lhs_row = row + i;
#endif
      float group[K];
      LOAD_GROUP(0, (lhs_row * SIZE + k) / K, group)
      [[unroll]] for (uint kk = 0u; kk < K; ++kk) lhs[i * K + kk] = group[kk];
    }
    float rhs[K * COLUMNS];
    [[unroll]] for (uint kk = 0u; kk < K; ++kk) {
      [[unroll]] for (uint g = 0u; g < COLUMNS / K; ++g) {
        float group[K];
        LOAD_GROUP(1, (k + kk) * (SIZE / K) + unit + g, group)
        [[unroll]] for (uint j = 0u; j < K; ++j) rhs[kk * COLUMNS + g * K + j] = group[j];
      }
    }
    // Four sums at a time take all values of k.
    [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
      [[unroll]] for (uint kk = 0u; kk < K; ++kk) {
        float a = LHS(i, kk);
        [[unroll]] for (uint j = 0u; j < 4u; ++j) sums[i * COLUMNS + j] += a * rhs[kk * COLUMNS + j];
      }
      [[unroll]] for (uint kk = 0u; kk < K; ++kk) {
        float a = LHS(i, kk);
        [[unroll]] for (uint j = 4u; j < COLUMNS; ++j) sums[i * COLUMNS + j] += a * rhs[kk * COLUMNS + j];
      }
    }
  }
  [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
    [[unroll]] for (uint j = 0u; j < COLUMNS; j += 4u) {
      uint at = ((row + i) * SIZE + unit * K + j) / 4u, s = i * COLUMNS + j;
      STORE(2, f32x4, at, vec4(sums[s], sums[s + 1u], sums[s + 2u], sums[s + 3u]));
    }
  }
}
