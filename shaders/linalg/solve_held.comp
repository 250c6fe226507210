// Substitution on GPUs: x with M x = b for a triangular M of N by N that fits shared memory, and many right-hand sides.
//
// A workgroup of LANES invocations, at least N of them, owns a right-hand side each. M and b come into shared memory, many
// elements at once, and x goes back from there, so that a lane waits for no memory while it solves; lanes load what lies
// side by side in memory, whichever way matrices lie. Unknowns come in blocks of T, as in linalg/solve_block.comp: the
// products with those before the block in order of k, then the block's own triangle in registers. The bits are the same.
//
// M is solved forwards, as there; nothing depends on its other triangle, or with UNIT_DIAGONAL on its diagonal. M lies by
// columns, those of a block from the block's first row on to ROWS (N rounded up to T), and 4 elements more: T of a column
// are read at a time, and lanes that write a row do not all meet one bank. So it is with unknowns, an odd number of
// elements apart.
//
// P(0) .. P(19) as in linalg/solve_block.comp.
//
// The generated part defines Value, ZERO, T, LANES, ROWS, TRIANGLE (elements of M), UNIT_DIAGONAL, ZEROS, BY_SHARES(g) (g / P(1)), MATRIX_ACROSS (rows of M
// are neighbours in memory, else columns), KNOWN_ALONG and SOLVED_ALONG (unknowns of a side are, else sides), and the
// functions that linalg/solve_block.comp has.

#include "generated"

#define APART (LANES + 1u)
#define UNDER_WAY 8u

shared Value triangle[TRIANGLE];
shared Value unknowns[ROWS * APART];

// From a column of a block that begins there to the next.
uint next_column(uint first) { return ROWS + 4u - first; }
uint place(uint row, uint column) {
  uint block = column / T, first = block * T;
  uint before = first * (ROWS + 4u) - T * T * (block * (block - 1u) / 2u);
  return before + (column - first) * next_column(first) + (row - first);
}

void load_triangle(uint lane, uint m) {
  for (uint start = 0u; start < P(2); start += UNDER_WAY) {
    Value found[UNDER_WAY];
    [[unroll]] for (uint q = 0u; q < UNDER_WAY; ++q) {
      uint other = min(start + q, P(2) - 1u), own = min(lane, P(2) - 1u);
#if MATRIX_ACROSS
      uint row = max(own, other), column = other;
#else
      uint row = other, column = min(own, other);
#endif
      SITE(q);
      found[q] = load_matrix(m + row * P(6) + column * P(7));
    }
    [[unroll]] for (uint q = 0u; q < UNDER_WAY; ++q) {
#if MATRIX_ACROSS
      uint row = lane, column = start + q;
#else
      uint row = start + q, column = lane;
#endif
      if (row < P(2) && column <= row) triangle[place(row, column)] = found[q];
    }
  }
}

// The number of turns, and the unknown and the side of a lane in one.
#if KNOWN_ALONG
#define KNOWN_TURNS min(LANES, P(3) - first_side)
#define KNOWN_UNKNOWN(turn) lane
#define KNOWN_SIDE(turn) (turn)
#else
#define KNOWN_TURNS P(2)
#define KNOWN_UNKNOWN(turn) (turn)
#define KNOWN_SIDE(turn) lane
#endif
#if SOLVED_ALONG
#define SOLVED_TURNS min(LANES, P(3) - first_side)
#define SOLVED_UNKNOWN(turn) lane
#define SOLVED_SIDE(turn) (turn)
#else
#define SOLVED_TURNS P(2)
#define SOLVED_UNKNOWN(turn) (turn)
#define SOLVED_SIDE(turn) lane
#endif

void load_sides(uint lane, uint first_side, uint known) {
  for (uint start = 0u; start < KNOWN_TURNS; start += UNDER_WAY) {
    Value found[UNDER_WAY];
    [[unroll]] for (uint q = 0u; q < UNDER_WAY; ++q) {
      uint k = min(KNOWN_UNKNOWN(start + q), P(2) - 1u), side = min(first_side + KNOWN_SIDE(start + q), P(3) - 1u);
      SITE(q);
      found[q] = load_known(known + k * P(10) + side * P(11));
    }
    [[unroll]] for (uint q = 0u; q < UNDER_WAY; ++q) {
      uint k = KNOWN_UNKNOWN(start + q), side = KNOWN_SIDE(start + q);
      if (k < P(2) && side < LANES) unknowns[k * APART + side] = found[q];
    }
  }
}

void store_sides(uint lane, uint first_side, uint solved) {
  for (uint turn = 0u; turn < SOLVED_TURNS; ++turn) {
    uint k = SOLVED_UNKNOWN(turn), side = SOLVED_SIDE(turn);
    if (k < P(2) && first_side + side < P(3)) {
      store(solved + k * P(14) + (first_side + side) * P(15), unknowns[k * APART + side]);
    }
  }
}

// Rows beyond N of a last block are whatever lies there: nothing reads what comes of them.
void solve_side(uint lane) {
  for (uint first = 0u; first < P(2); first += T) {
    Value rest[T];
    [[unroll]] for (uint t = 0u; t < T; ++t) rest[t] = unknowns[(first + t) * APART + lane];
    for (uint block = 0u; block < first; block += T) {
      uint column = place(first, block);
      [[unroll]] for (uint k = 0u; k < T; ++k) {
        Value x = unknowns[(block + k) * APART + lane];
        [[unroll]] for (uint t = 0u; t < T; ++t) {
          rest[t] = subtract_product(rest[t], triangle[column + k * next_column(block) + t], x);
        }
      }
    }
    [[unroll]] for (uint u = 0u; u < T; ++u) {
      uint column = place(first, first) + u * next_column(first);
#if !UNIT_DIAGONAL
      rest[u] = divide(rest[u], triangle[column + u]);
#endif
      [[unroll]] for (uint t = 0u; t < T; ++t) {
        if (t > u) rest[t] = subtract_product(rest[t], triangle[column + t], rest[u]);
      }
    }
    [[unroll]] for (uint t = 0u; t < T; ++t) unknowns[(first + t) * APART + lane] = rest[t];
  }
}

void main() {
  load_arguments();
  uint group = WORKGROUP;
  if (group >= P(0)) return;
  uint matrix = BY_SHARES(group), lane = gl_LocalInvocationID.x;
  uint first_side = (group - matrix * P(1)) * LANES;
  load_triangle(lane, P(4) + matrix * P(5));
  load_sides(lane, first_side, P(8) + matrix * P(9));
  barrier();
  solve_side(lane);
  barrier();
  store_sides(lane, first_side, P(12) + matrix * P(13));
#if ZEROS
  if (first_side + lane < P(3)) {
    uint cleared = P(16) + matrix * P(17) + (first_side + lane) * P(19);
    for (uint k = 0u; k < P(2); ++k) store_zero(cleared + k * P(18));
  }
#endif
}
