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
// GROUP_COUNT workgroups, SHARES workgroups of a matrix, UNKNOWNS N, SIDES right-hand sides of a matrix. Of M (FACTOR), b
// (KNOWN), x (SOLVED), and with ZEROS of places of x's sizes that are set to zero (CLEARED): the first element (_FIRST), and
// what it is from matrix to matrix, from unknown to unknown (_ROW; of M from row to row) and from right-hand side to
// right-hand side (_COLUMN; of M from column to column).
//
// The generated part defines Value, ZERO, T, R, LANES, WHOLE (T divides N), UNIT_DIAGONAL, ZEROS, SHARE, BY_SHARES(g) (g /
// SHARES), load_matrix(i), load_known(i), load_solved(i), store(i, value), store_zero(i), subtract_product(x, a, b) (x -
// a b) and divide(x, pivot).

#include "generated"

// Rows beyond N are copies that are not stored.
#if WHOLE
#define ROW_OF(i) (i)
#define IS_ROW(i) true
#else
#define ROW_OF(i) min(i, UNKNOWNS - 1u)
#define IS_ROW(i) ((i) < UNKNOWNS)
#endif

// Column c of the block's T rows of M, and the element of one of these rows.
#if SHARE
#define COLUMN(c) Value column_ = load_matrix(own_row + (c) * FACTOR_COLUMN)
#define OF_ROW(t, c) subgroupShuffle(column_, t)
#else
#define COLUMN(c)
#define OF_ROW(t, c) load_matrix(row[t] + (c) * FACTOR_COLUMN)
#endif

void main() {
  load_arguments();
  uint group = WORKGROUP;
  if (group >= GROUP_COUNT) return;
  uint matrix = BY_SHARES(group);
#if SHARE
  uint lane = gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
  uint own_place = min(gl_SubgroupInvocationID, T - 1u);
#else
  uint lane = gl_LocalInvocationID.x;
#endif
  uint own = (group - matrix * SHARES) * (LANES * R) + lane;
#if !SHARE
  if (own >= SIDES) return;
#endif
  uint m = FACTOR_FIRST + matrix * FACTOR_MATRIX, known[R], solved[R], cleared[R];
  [[unroll]] for (uint r = 0u; r < R; ++r) {
    uint side = min(own + r * LANES, SIDES - 1u);
    known[r] = KNOWN_FIRST + matrix * KNOWN_MATRIX + side * KNOWN_COLUMN;
    solved[r] = SOLVED_FIRST + matrix * SOLVED_MATRIX + side * SOLVED_COLUMN;
#if ZEROS
    cleared[r] = CLEARED_FIRST + matrix * CLEARED_MATRIX + side * CLEARED_COLUMN;
#endif
  }
  for (uint first = 0u; first < UNKNOWNS; first += T) {
    Value rest[R * T];
    uint row[T];
    [[unroll]] for (uint t = 0u; t < T; ++t) {
      row[t] = m + ROW_OF(first + t) * FACTOR_ROW;
      [[unroll]] for (uint r = 0u; r < R; ++r) {
        SITE(t * R + r);
        rest[r * T + t] = load_known(known[r] + ROW_OF(first + t) * KNOWN_ROW);
      }
    }
#if SHARE
    uint own_row = m + ROW_OF(first + own_place) * FACTOR_ROW;
#endif
    for (uint k = 0u; k < first; ++k) {
      Value x[R];
      [[unroll]] for (uint r = 0u; r < R; ++r) {
        SITE(r);
        x[r] = load_solved(solved[r] + k * SOLVED_ROW);
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
      Value column_ = load_matrix(own_row + (own_place < u ? ROW_OF(first + own_place) : c) * FACTOR_COLUMN);
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
      if (own + r * LANES < SIDES) {
        [[unroll]] for (uint t = 0u; t < T; ++t) {
          if (IS_ROW(first + t)) {
            SITE(t * R + r);
            store(solved[r] + (first + t) * SOLVED_ROW, rest[r * T + t]);
#if ZEROS
            store_zero(cleared[r] + (first + t) * CLEARED_ROW);
#endif
          }
        }
      }
    }
  }
}
