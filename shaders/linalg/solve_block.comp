// Substitution: x with M x = b for a triangular M of N by N and many right-hand sides.
//
// An invocation owns R right-hand sides, LANES apart, so that neighbours take neighbouring ones. Unknowns come in
// blocks of T: the products with the unknowns before the block go into R x T sums, in order of k, each element of M and
// each unknown being read once for all of them; then the block's own triangle is solved in registers. Unknowns are read
// back from the result, where the same invocation wrote them. No lane waits for another.
//
// M is solved forwards, from a lower triangle; an upper one is one whose rows and columns are counted from the end, by
// steps below zero (modulo 2^32). Its other triangle is never read, its diagonal neither with UNIT_DIAGONAL.
//
// P(0) workgroups, P(1) workgroups of a matrix, P(2) N, P(3) right-hand sides of a matrix; then each time the first
// element and what it is from matrix to matrix, and from unknown to unknown (of M from row to row) and from right-hand
// side to right-hand side (of M from column to column): P(4..7) M, P(8..11) b, P(12..15) x, and with ZEROS P(16..19)
// places of x's sizes that are set to zero.
//
// The generated part defines Value, ZERO, T, R, LANES, WHOLE (T divides N), UNIT_DIAGONAL, ZEROS, BY_SHARES(g) (g /
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

void main() {
  load_arguments();
  uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
  if (group >= P(0)) return;
  uint matrix = BY_SHARES(group);
  uint own = (group - matrix * P(1)) * (LANES * R) + gl_LocalInvocationID.x;
  if (own >= P(3)) return;
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
    for (uint k = 0u; k < first; ++k) {
      Value x[R];
      [[unroll]] for (uint r = 0u; r < R; ++r) {
        SITE(r);
        x[r] = load_solved(solved[r] + k * P(14));
      }
      [[unroll]] for (uint t = 0u; t < T; ++t) {
        SITE(t);
        Value a = load_matrix(row[t] + k * P(7));
        [[unroll]] for (uint r = 0u; r < R; ++r) rest[r * T + t] = subtract_product(rest[r * T + t], a, x[r]);
      }
    }
    [[unroll]] for (uint t = 0u; t < T; ++t) {
      // Bounds that are constants: drivers unroll the inner loop first.
      [[unroll]] for (uint u = 0u; u < T; ++u) {
        if (u < t) {
          SITE(t * T + u);
          Value a = load_matrix(row[t] + ROW_OF(first + u) * P(7));
          [[unroll]] for (uint r = 0u; r < R; ++r) {
            rest[r * T + t] = subtract_product(rest[r * T + t], a, rest[r * T + u]);
          }
        }
      }
#if !UNIT_DIAGONAL
      SITE(t * T + t);
      Value pivot = load_matrix(row[t] + ROW_OF(first + t) * P(7));
      [[unroll]] for (uint r = 0u; r < R; ++r) rest[r * T + t] = divide(rest[r * T + t], pivot);
#endif
      if (IS_ROW(first + t)) {
        [[unroll]] for (uint r = 0u; r < R; ++r) {
          if (r == 0u || own + r * LANES < P(3)) {
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
