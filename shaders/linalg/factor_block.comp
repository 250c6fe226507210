// Cholesky factors of small matrices, in shared memory: L with A = L L^H, as L or as its transpose.
//
// P(1) matrices of N by N; a workgroup of LANES by MATRICES invocations owns MATRICES of them, LANES lanes each, which
// take every LANES-th row. Of A the named triangle is read; of the result both are written, the other one with zeros.
// Columns come in blocks of T: each row takes off what the columns before the block make of it (every product in order
// of k, into T sums), then every lane factors the block's T by T corner for itself, which costs less than waiting for
// one that does, and solves its own rows with it. Two barriers a block.
//
// A root of what is not positive is NaN, which spreads to all that depends on it and to nothing else.
//
// P(0) workgroups, P(1) matrices, P(2) N; the source: P(3) first element, P(4) from matrix to matrix, P(5) from row to
// row; the result: P(6), P(7) and P(8) likewise. UPPER: element (i, j) of L lies in column i of row j.
//
// The generated part defines Value, Real, ZERO, T, LANES, MATRICES, SIZE (elements of a triangle in shared memory: (N +
// T) (N + T + 1) / 2 at most), UPPER, WHOLE (T divides N), load(i), store(i, value), subtract_product(x, a, b) (x - a
// conj(b)), root(x) (of the real part), scale_down(x, real) and as_value(real).

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
#define ROW_OF(i) min(i, P(2) - 1u)
#define IS_ROW(i) ((i) < P(2))
#endif

void load_triangle(uint lane, uint own, uint matrix) {
  for (uint row = 0u; row < P(2); ++row) {
    uint first = P(3) + matrix * P(4) + row * P(5);
#if UPPER
    for (uint column = row + lane; column < P(2); column += LANES) {
      factor[own + place(column, row)] = load(first + column);
    }
#else
    for (uint column = lane; column <= row; column += LANES) {
      factor[own + place(row, column)] = load(first + column);
    }
#endif
  }
}

// Both triangles.
void store_rows(uint lane, uint own, uint matrix) {
  for (uint row = 0u; row < P(2); ++row) {
    uint first = P(6) + matrix * P(7) + row * P(8);
    for (uint column = lane; column < P(2); column += LANES) {
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

// Takes the columns before `first` off the rows from there on; the block's own rows into the corner, too.
void update_rows(uint lane, uint own, uint own_corner, uint first) {
  for (uint i = first + lane; i < P(2); i += LANES) {
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
  for (uint i = first + lane; i < P(2); i += LANES) {
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

void main() {
  load_arguments();
  uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
  if (group >= P(0)) return;
  // Matrices lie along x as well: lavapipe fills its vectors along it alone.
  uint lane = gl_LocalInvocationID.x % LANES, among = gl_LocalInvocationID.x / LANES;
  uint own_matrix = group * MATRICES + among, own = among * SIZE, own_corner = among * (T * T);
  // What has no matrix of its own computes the last one again and does not store it: all have to reach the barriers.
  uint matrix = min(own_matrix, P(1) - 1u);
  load_triangle(lane, own, matrix);
  for (uint first = 0u; first < P(2); first += T) {
    barrier();
    update_rows(lane, own, own_corner, first);
    barrier();
    solve_rows(lane, own, own_corner, first);
  }
  barrier();
  if (own_matrix < P(1)) store_rows(lane, own, matrix);
}
