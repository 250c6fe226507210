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
// GROUP_COUNT .. CLEARED_COLUMN as in linalg/solve_block.comp.
//
// The generated part defines Value, ZERO, T, LANES, ROWS, TRIANGLE (elements of M), UNIT_DIAGONAL, ZEROS, BY_SHARES(g)
// (g / SHARES), MATRIX_ACROSS (rows of M are neighbours in memory, else columns), KNOWN_ALONG and SOLVED_ALONG
// (unknowns of a side are, else sides), and the functions that linalg/solve_block.comp has.

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
  for (uint start = 0u; start < UNKNOWNS; start += UNDER_WAY) {
    Value found[UNDER_WAY];
    [[unroll]] for (uint q = 0u; q < UNDER_WAY; ++q) {
      uint other = min(start + q, UNKNOWNS - 1u), own = min(lane, UNKNOWNS - 1u);
#if MATRIX_ACROSS
      uint row = max(own, other), column = other;
#else
      uint row = other, column = min(own, other);
#endif
      SITE(q);
      found[q] = load_matrix(m + row * FACTOR_ROW + column * FACTOR_COLUMN);
    }
    [[unroll]] for (uint q = 0u; q < UNDER_WAY; ++q) {
#if MATRIX_ACROSS
      uint row = lane, column = start + q;
#else
      uint row = start + q, column = lane;
#endif
      if (row < UNKNOWNS && column <= row) triangle[place(row, column)] = found[q];
    }
  }
}

// The number of turns, and the unknown and the side of a lane in one.
#if KNOWN_ALONG
#define KNOWN_TURNS min(LANES, SIDES - first_side)
#define KNOWN_UNKNOWN(turn) lane
#define KNOWN_SIDE(turn) (turn)
#else
#define KNOWN_TURNS UNKNOWNS
#define KNOWN_UNKNOWN(turn) (turn)
#define KNOWN_SIDE(turn) lane
#endif
#if SOLVED_ALONG
#define SOLVED_TURNS min(LANES, SIDES - first_side)
#define SOLVED_UNKNOWN(turn) lane
#define SOLVED_SIDE(turn) (turn)
#else
#define SOLVED_TURNS UNKNOWNS
#define SOLVED_UNKNOWN(turn) (turn)
#define SOLVED_SIDE(turn) lane
#endif

void load_sides(uint lane, uint first_side, uint known) {
  for (uint start = 0u; start < KNOWN_TURNS; start += UNDER_WAY) {
    Value found[UNDER_WAY];
    [[unroll]] for (uint q = 0u; q < UNDER_WAY; ++q) {
      uint k = min(KNOWN_UNKNOWN(start + q), UNKNOWNS - 1u), side = min(first_side + KNOWN_SIDE(start + q), SIDES - 1u);
      SITE(q);
      found[q] = load_known(known + k * KNOWN_ROW + side * KNOWN_COLUMN);
    }
    [[unroll]] for (uint q = 0u; q < UNDER_WAY; ++q) {
      uint k = KNOWN_UNKNOWN(start + q), side = KNOWN_SIDE(start + q);
      if (k < UNKNOWNS && side < LANES) unknowns[k * APART + side] = found[q];
    }
  }
}

void store_sides(uint lane, uint first_side, uint solved) {
  for (uint turn = 0u; turn < SOLVED_TURNS; ++turn) {
    uint k = SOLVED_UNKNOWN(turn), side = SOLVED_SIDE(turn);
    if (k < UNKNOWNS && first_side + side < SIDES) {
      store(solved + k * SOLVED_ROW + (first_side + side) * SOLVED_COLUMN, unknowns[k * APART + side]);
    }
  }
}

// Rows beyond N of a last block are whatever lies there: nothing reads what comes of them.
void solve_side(uint lane) {
  for (uint first = 0u; first < UNKNOWNS; first += T) {
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
  if (group >= GROUP_COUNT) return;
  uint matrix = BY_SHARES(group), lane = gl_LocalInvocationID.x;
  uint first_side = (group - matrix * SHARES) * LANES;
  load_triangle(lane, FACTOR_FIRST + matrix * FACTOR_MATRIX);
  load_sides(lane, first_side, KNOWN_FIRST + matrix * KNOWN_MATRIX);
  barrier();
  solve_side(lane);
  barrier();
  store_sides(lane, first_side, SOLVED_FIRST + matrix * SOLVED_MATRIX);
#if ZEROS
  if (first_side + lane < SIDES) {
    uint cleared = CLEARED_FIRST + matrix * CLEARED_MATRIX + (first_side + lane) * CLEARED_COLUMN;
    for (uint k = 0u; k < UNKNOWNS; ++k) store_zero(cleared + k * CLEARED_ROW);
  }
#endif
}
