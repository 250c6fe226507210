// Cholesky factors of small matrices, in shared memory: L with A = L L^H, as L or as its transpose.
//
// MATRIX_COUNT matrices of N by N; a workgroup of LANES by MATRICES invocations owns MATRICES of them, LANES lanes each, which
// take every LANES-th row. Of A the named triangle is read; of the result both are written, the other one with zeros.
// Columns come in blocks of T: each row takes off what the columns before the block make of it (every product in order
// of k, into T sums), then every lane factors the block's T by T corner for itself, which costs less than waiting for
// one that does, and solves its own rows with it. Two barriers a block.
//
// With AHEAD (GPUs, whose lanes wait for shared memory most of the time) a lane has one row, and PHASES lanes share it: a
// block is taken off all later columns as soon as it is known, each lane taking every PHASES-th column, where otherwise
// as many products would wait for one another as there are columns before the block. A column of the corner is divided
// with the row's own element. Each element's products stay in order of k: the bits are the same.
//
// A root of what is not positive is NaN, which spreads to all that depends on it and to nothing else.
//
// GROUP_COUNT workgroups, MATRIX_COUNT matrices, UNKNOWNS N; the source: SOURCE_FIRST first element, SOURCE_MATRIX from
// matrix to matrix, SOURCE_ROW from row to row; the result: RESULT_FIRST, RESULT_MATRIX and RESULT_ROW likewise. UPPER:
// element (i, j) of L lies in column i of row j.
//
// The generated part defines Value, Real, ZERO, T, LANES, AHEAD, PHASES (1 without AHEAD), MATRICES, SIZE (elements of a
// triangle in shared memory: (N + T) (N + T + 1) / 2 at most), UPPER, WHOLE (T divides N), load(i), store(i, value),
// subtract_product(x, a, b) (x - a conj(b)), root(x) (of the real part), as_value(real), and scale_down(x, real) or, with
// AHEAD, scale_all(T values, real) and EACH_COLUMN(f), which is f(0u) .. f(T - 1).

#include "generated"

shared Value factor[MATRICES * SIZE];
shared Value corner[MATRICES * T * T];

// Rows of the lower triangle one after another.
uint place(uint i, uint j) { return ((i * (i + 1u)) >> 1) + j; }

// Rows and columns beyond N are copies that nothing reads.
#if WHOLE
#define ROW_OF(i) (i)
#define IS_ROW(i) true
#else
#define ROW_OF(i) min(i, UNKNOWNS - 1u)
#define IS_ROW(i) ((i) < UNKNOWNS)
#endif

#if AHEAD

// Several rows are under way at once.
#define ROWS_LOADED 8u
void load_triangle(uint lane, uint phase, uint own, uint matrix) {
  for (uint start = phase; start < UNKNOWNS; start += PHASES * ROWS_LOADED) {
    Value found[ROWS_LOADED];
    [[unroll]] for (uint k = 0u; k < ROWS_LOADED; ++k) {
      uint row = min(start + k * PHASES, UNKNOWNS - 1u);
#if UPPER
      uint column = clamp(lane, row, UNKNOWNS - 1u);
#else
      uint column = min(lane, row);
#endif
      SITE(k);
      found[k] = load(SOURCE_FIRST + matrix * SOURCE_MATRIX + row * SOURCE_ROW + column);
    }
    [[unroll]] for (uint k = 0u; k < ROWS_LOADED; ++k) {
      uint row = start + k * PHASES;
#if UPPER
      if (lane >= row && lane < UNKNOWNS) factor[own + place(lane, row)] = found[k];
#else
      if (lane <= row && row < UNKNOWNS) factor[own + place(row, lane)] = found[k];
#endif
    }
  }
}

// Column t of the corner and of the lane's row. (Text for each column: no loop is written out that has another in it, as
// scale_all may.)
#define SOLVE_COLUMN(t) { \
  Real pivot = root(block[t * T + t]); \
  Value column[T]; \
  [[unroll]] for (uint u = 0u; u < T; ++u) column[u] = u > t ? block[u * T + t] : mine[t]; \
  scale_all(column, pivot); \
  mine[t] = column[t]; \
  [[unroll]] for (uint u = 0u; u < T; ++u) { \
    if (u > t) mine[u] = subtract_product(mine[u], mine[t], column[u]); \
    [[unroll]] for (uint v = 0u; v < T; ++v) { \
      if (v > t && u >= v) block[u * T + v] = subtract_product(block[u * T + v], column[u], column[v]); \
    } \
  } \
  if (stored && first + t <= i) factor[row + t] = first + t < i ? mine[t] : as_value(pivot); \
}

// The factor of the corner, and with it the block's columns of the lane's row. What lies beyond N or the diagonal is
// computed and not stored.
void solve_rows(uint lane, uint own, uint own_corner, uint first) {
  uint i = min(first + lane, UNKNOWNS - 1u), row = own + place(i, first);
  bool stored = first + lane < UNKNOWNS;
  Value block[T * T], mine[T];
  [[unroll]] for (uint t = 0u; t < T * T; ++t) block[t] = corner[own_corner + t];
  [[unroll]] for (uint t = 0u; t < T; ++t) mine[t] = factor[row + min(t, i - first)];
  EACH_COLUMN(SOLVE_COLUMN)
}

// Takes the block off all later columns of the lane's row; the next block's own rows into the corner, too.
void update_rest(uint lane, uint phase, uint own, uint own_corner, uint first) {
  uint next = first + T, i = next + lane;
  if (i < UNKNOWNS) {
    uint row = own + place(i, 0u);
    Value left[T];
    [[unroll]] for (uint t = 0u; t < T; ++t) left[t] = factor[row + first + t];
    for (uint j = next + phase; j <= i; j += PHASES) {
      uint above = own + place(j, first);
      Value rest = factor[row + j];
      [[unroll]] for (uint t = 0u; t < T; ++t) rest = subtract_product(rest, left[t], factor[above + t]);
      factor[row + j] = rest;
      if (i < next + T) corner[own_corner + (i - next) * T + (j - next)] = rest;
    }
  }
}

#else

void load_triangle(uint lane, uint own, uint matrix) {
  for (uint row = 0u; row < UNKNOWNS; ++row) {
    uint first = SOURCE_FIRST + matrix * SOURCE_MATRIX + row * SOURCE_ROW;
#if UPPER
    for (uint column = row + lane; column < UNKNOWNS; column += LANES) {
      factor[own + place(column, row)] = load(first + column);
    }
#else
    for (uint column = lane; column <= row; column += LANES) {
      factor[own + place(row, column)] = load(first + column);
    }
#endif
  }
}

// Takes the columns before `first` off the rows from there on; the block's own rows into the corner, too.
void update_rows(uint lane, uint own, uint own_corner, uint first) {
  for (uint i = first + lane; i < UNKNOWNS; i += LANES) {
    uint row = own + place(i, 0u);
    Value rest[T];
    uint above[T];
    [[unroll]] for (uint t = 0u; t < T; ++t) {
      above[t] = own + place(ROW_OF(first + t), 0u);
      rest[t] = factor[row + min(first + t, i)];
    }
    for (uint k = 0u; k < first; ++k) {
      Value left = factor[row + k];
      [[unroll]] for (uint t = 0u; t < T; ++t) rest[t] = subtract_product(rest[t], left, factor[above[t] + k]);
    }
    [[unroll]] for (uint t = 0u; t < T; ++t) {
      if (first + t <= i) factor[row + first + t] = rest[t];
    }
    if (i < first + T) {
      [[unroll]] for (uint t = 0u; t < T; ++t) corner[own_corner + (i - first) * T + t] = rest[t];
    }
  }
}

// The factor of the corner, and with it the block's columns of the lane's rows.
void solve_rows(uint lane, uint own, uint own_corner, uint first) {
  Value block[T * T];
  Real pivot[T];
  // Column by column, what a column leaves of the later ones at once.
  [[unroll]] for (uint t = 0u; t < T * T; ++t) block[t] = corner[own_corner + t];
  [[unroll]] for (uint t = 0u; t < T; ++t) {
    pivot[t] = root(block[t * T + t]);
    [[unroll]] for (uint u = 0u; u < T; ++u) {
      if (u > t) block[u * T + t] = scale_down(block[u * T + t], pivot[t]);
    }
    [[unroll]] for (uint u = 0u; u < T; ++u) {
      [[unroll]] for (uint v = 0u; v < T; ++v) {
        if (v > t && u >= v) block[u * T + v] = subtract_product(block[u * T + v], block[u * T + t], block[v * T + t]);
      }
    }
  }
  for (uint i = first + lane; i < UNKNOWNS; i += LANES) {
    uint row = own + place(i, 0u) + first;
    Value solved[T];
    [[unroll]] for (uint t = 0u; t < T; ++t) {
      Value x = factor[row + min(t, i - first)];
      [[unroll]] for (uint u = 0u; u < T; ++u) {
        if (u < t) x = subtract_product(x, solved[u], block[t * T + u]);
      }
      solved[t] = scale_down(x, pivot[t]);
      if (first + t < i) {
        factor[row + t] = solved[t];
      } else if (first + t == i) {
        factor[row + t] = as_value(pivot[t]);
      }
    }
  }
}

#endif

// Both triangles.
void store_rows(uint lane, uint phase, uint own, uint matrix) {
  for (uint row = phase; row < UNKNOWNS; row += PHASES) {
    uint first = RESULT_FIRST + matrix * RESULT_MATRIX + row * RESULT_ROW;
    for (uint column = lane; column < UNKNOWNS; column += LANES) {
      Value value = ZERO;
#if UPPER
      if (column >= row) value = factor[own + place(column, row)];
#else
      if (column <= row) value = factor[own + place(row, column)];
#endif
      store(first + column, value);
    }
  }
}

void main() {
  load_arguments();
  uint group = WORKGROUP;
  if (group >= GROUP_COUNT) return;
  // Matrices lie along x as well: lavapipe fills its vectors along it alone.
  uint lane = gl_LocalInvocationID.x % LANES, phase = gl_LocalInvocationID.x / LANES % PHASES;
  uint among = gl_LocalInvocationID.x / (LANES * PHASES);
  uint own_matrix = group * MATRICES + among, own = among * SIZE, own_corner = among * (T * T);
  // What has no matrix of its own computes the last one again and does not store it: all have to reach the barriers.
  uint matrix = min(own_matrix, MATRIX_COUNT - 1u);
#if AHEAD
  load_triangle(lane, phase, own, matrix);
  barrier();
  if (lane < min(T, UNKNOWNS) && phase == 0u) {
    for (uint j = 0u; j <= lane; ++j) corner[own_corner + lane * T + j] = factor[own + place(lane, j)];
  }
  for (uint first = 0u; first < UNKNOWNS; first += T) {
    barrier();
    if (phase == 0u) solve_rows(lane, own, own_corner, first);
    barrier();
    update_rest(lane, phase, own, own_corner, first);
  }
#else
  load_triangle(lane, own, matrix);
  for (uint first = 0u; first < UNKNOWNS; first += T) {
    barrier();
    update_rows(lane, own, own_corner, first);
    barrier();
    solve_rows(lane, own, own_corner, first);
  }
  barrier();
#endif
  if (own_matrix < MATRIX_COUNT) store_rows(lane, phase, own, matrix);
}
