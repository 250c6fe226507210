// Substitution: x with M x = b for a triangular M of N by N and many right-hand sides.
//
// An invocation owns R right-hand sides, LANES apart, so that neighbours take neighbouring ones. Unknowns come in
// blocks of T: the products with the unknowns before the block go into R x T sums, in order of k, each element of M and
// each unknown being read once for all of them; then the block's own triangle is solved in registers. Unknowns are read
// back from the result, where the same invocation wrote them. No lane waits for another.
//
// With SHARE the lanes of a subgroup load elements of different rows of M, T of them, and hand them round by shuffles:
// for drivers that load what all lanes want once for each lane. Subgroups are full, LANES a multiple of their size.
//
// M is solved forwards, from a lower triangle; an upper one is one whose rows and columns are counted from the end, by
// steps below zero (modulo 2^32). Nothing depends on its other triangle, or with UNIT_DIAGONAL on its diagonal.
//
// P(0) workgroups, P(1) workgroups of a matrix, P(2) N, P(3) right-hand sides of a matrix; then each time the first
// element and what it is from matrix to matrix, and from unknown to unknown (of M from row to row) and from right-hand
// side to right-hand side (of M from column to column): P(4..7) M, P(8..11) b, P(12..15) x, and with ZEROS P(16..19)
// places of x's sizes that are set to zero.
//
// The generated part defines Value, ZERO, T, R, LANES, WHOLE (T divides N), UNIT_DIAGONAL, ZEROS, SHARE, BY_SHARES(g) (g /
// P(1)), load_matrix(i), load_known(i), load_solved(i), store(i, value), store_zero(i), subtract_product(x, a, b) (x -
// a b) and divide(x, pivot).

#include "generated"

// Rows beyond N are copies that are not stored.
#if WHOLE
#define ROW_OF(i) (i)
#define IS_ROW(i) true
#else
#define ROW_OF(i) min(i, P(2) - 1u)
#define IS_ROW(i) ((i) < P(2))
#endif

// Column c of the block's T rows of M, and the element of one of these rows.
#if SHARE
#define COLUMN(c) Value column_ = load_matrix(own_row + (c) * P(7))
#define OF_ROW(t, c) subgroupShuffle(column_, t)
#else
#define COLUMN(c)
#define OF_ROW(t, c) load_matrix(row[t] + (c) * P(7))
#endif

void main() {
  load_arguments();
  uint group = WORKGROUP;
  if (group >= P(0)) return;
  uint matrix = BY_SHARES(group);
#if SHARE
  uint lane = gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
  uint own_place = min(gl_SubgroupInvocationID, T - 1u);
#else
  uint lane = gl_LocalInvocationID.x;
#endif
  uint own = (group - matrix * P(1)) * (LANES * R) + lane;
#if !SHARE
  if (own >= P(3)) return;
#endif
  uint m = P(4) + matrix * P(5), known[R], solved[R], cleared[R];
  [[unroll]] for (uint r = 0u; r < R; ++r) {
    uint side = min(own + r * LANES, P(3) - 1u);
    known[r] = P(8) + matrix * P(9) + side * P(11);
    solved[r] = P(12) + matrix * P(13) + side * P(15);
#if ZEROS
    cleared[r] = P(16) + matrix * P(17) + side * P(19);
#endif
  }
  for (uint first = 0u; first < P(2); first += T) {
    Value rest[R * T];
    uint row[T];
    [[unroll]] for (uint t = 0u; t < T; ++t) {
      row[t] = m + ROW_OF(first + t) * P(6);
      [[unroll]] for (uint r = 0u; r < R; ++r) {
        SITE(t * R + r);
        rest[r * T + t] = load_known(known[r] + ROW_OF(first + t) * P(10));
      }
    }
#if SHARE
    uint own_row = m + ROW_OF(first + own_place) * P(6);
#endif
    for (uint k = 0u; k < first; ++k) {
      Value x[R];
      [[unroll]] for (uint r = 0u; r < R; ++r) {
        SITE(r);
        x[r] = load_solved(solved[r] + k * P(14));
      }
      COLUMN(k);
      [[unroll]] for (uint t = 0u; t < T; ++t) {
        SITE(t);
        Value a = OF_ROW(t, k);
        [[unroll]] for (uint r = 0u; r < R; ++r) rest[r * T + t] = subtract_product(rest[r * T + t], a, x[r]);
      }
    }
    [[unroll]] for (uint u = 0u; u < T; ++u) {
      uint c = ROW_OF(first + u);
#if SHARE
      // Rows above the diagonal load their own diagonal instead.
      SITE(u);
      Value column_ = load_matrix(own_row + (own_place < u ? ROW_OF(first + own_place) : c) * P(7));
#endif
#if !UNIT_DIAGONAL
      SITE(u);
      Value pivot = OF_ROW(u, c);
      [[unroll]] for (uint r = 0u; r < R; ++r) rest[r * T + u] = divide(rest[r * T + u], pivot);
#endif
      // A bound that is a constant: drivers unroll the inner loop first.
      [[unroll]] for (uint t = 0u; t < T; ++t) {
        if (t > u) {
          SITE(t * T + u);
          Value a = OF_ROW(t, c);
          [[unroll]] for (uint r = 0u; r < R; ++r) {
            rest[r * T + t] = subtract_product(rest[r * T + t], a, rest[r * T + u]);
          }
        }
      }
    }
    [[unroll]] for (uint r = 0u; r < R; ++r) {
      if (own + r * LANES < P(3)) {
        [[unroll]] for (uint t = 0u; t < T; ++t) {
          if (IS_ROW(first + t)) {
            SITE(t * R + r);
            store(solved[r] + (first + t) * P(14), rest[r * T + t]);
#if ZEROS
            store_zero(cleared[r] + (first + t) * P(18));
#endif
          }
        }
      }
    }
  }
}
