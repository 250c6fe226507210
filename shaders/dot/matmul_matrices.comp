// Matrix product on the device's matrix units: result[batch, m, n] = sum over k of lhs[batch, m, k] * rhs[batch, k,
// n], of terms of 16 bits in sums of f32, or of bytes in sums of 32-bit integers.
//
// A workgroup of SUBGROUPS_Y by SUBGROUPS_X subgroups of LANES invocations owns a tile of SUBGROUPS_Y * TM rows and
// SUBGROUPS_X * TN columns and walks along k in steps of TK. A strip of each operand, TK values of k deep, lies in
// shared memory row by row (column by column for rhs) along k, in words of neighbouring values; 16 bytes lie between
// two rows, so that lanes that read neighbouring rows meet different banks. There are two strips of each operand, so
// that the next are read from memory while these are multiplied, and a step needs one barrier. With AHEAD of 2 those
// after the next are on their way too. A subgroup keeps TM by TN sums in matrices of M rows and N columns; each takes a
// product of M x K and K x N terms at a time.
//
// An operand that lies along k in memory comes 16 bytes at a time. One that lies across k comes as four rows (columns)
// of one k and those of the next three, and is turned on its way. With RHS_ROWS rhs lies across k in memory and in its
// strips, one k after another, and comes 16 bytes at a time too: the units turn it. With TERMS_AHEAD a subgroup reads the
// next terms of rhs before the products of these, and those of lhs once it needs these no more, which takes no more
// registers. With RASTER that many tiles of rows take their first tile of columns one after another, then their second
// one: workgroups that run at once read fewer terms than those of whole rows of tiles.
//
// Whole tiles know no tests: rows and columns beyond the end are those at the end again, whose results nobody stores.
// Only where TK does not divide k (K_TAIL) are values beyond the end zeros, of both operands, so that nothing comes of
// them. Sums leave through shared memory, M rows of a subgroup at a time, so that the epilogue takes four neighbours.
//
// Accuracy and order: one sum for each result, from zero, K ascending terms at a time. How the unit adds up K products
// and a sum is its own affair; the stand-in adds one after the other, each rounded. Integers are exact modulo 2^32.
//
// GROUP_COUNT workgroups, ROW_TILES tiles of rows, COLUMN_TILES tiles of columns, ROW_COUNT rows, UNIT_COUNT units of
// four columns, STEP_COUNT values of k, SHARES shares of k, SHARE_STEPS values of k of a share, a multiple of TK unless
// it is all.
//
// The generated part defines Sum, BITS_OF(sum) and SUM_OF(bits), BYTES (terms are bytes), LANES, SUBGROUPS_X,
// SUBGROUPS_Y, TM, TN, TK, M, N, K, LHS_ALONG_K, RHS_ALONG_K, RHS_ROWS, K_TAIL, AHEAD, TERMS_AHEAD, RASTER, SPLIT, COLUMNS,
// EACH_ROW(f), which is f(0u) f(1u) ... of TM / M rows of matrices,
// STAND_IN with TERM_OF(word, i),
// or TERM, SUM and SIGNS of the unit and MATRIX, what SPIR-V asks for, load_lhs(batch, row, strip, k, part) and
// load_rhs(batch, strip, k, column, part) of LHS_WORDS and RHS_WORDS words, where the dimension that lies along memory
// counts what is loaded at a time and k, that of a strip, of one that lies across counts four, and store(batch, row,
// unit, share, sums).
#include "generated"

#define X (LANES * SUBGROUPS_X * SUBGROUPS_Y)
#define INVOCATIONS X
#define TILE_ROWS (SUBGROUPS_Y * TM)
#define TILE_COLUMNS (SUBGROUPS_X * TN)
// In fours of words: a row of a strip, what lies from one to the next, both strips.
#define ROW (TK * FOUR_WORDS / 16u)
#define STRIDE (ROW + 1u)
#if RHS_ROWS
#define RHS_STRIDE (TILE_COLUMNS / ALONG + 1u)
#define STRIPS (STRIDE * TILE_ROWS + RHS_STRIDE * TK)
#else
#define RHS_STRIDE STRIDE
#define STRIPS (STRIDE * (TILE_ROWS + TILE_COLUMNS))
#endif
// Loads of each invocation for a strip.
#define LHS_LOADS (TILE_ROWS * ROW * 4u / (LHS_WORDS * X))
#define RHS_LOADS (TILE_COLUMNS * ROW * 4u / (RHS_WORDS * X))
// Values that are loaded along k at a time.
#define ALONG (16u / FOUR_WORDS)
// A subgroup's sums on their way out, M rows, in fours, and how many of these a lane stores between two tests.
#define OUT_FOURS (TN / 4u)
#define SUMS_STRIDE (OUT_FOURS + 1u)
#define OUT_TOGETHER clamp(M * OUT_FOURS / LANES, 1u, 4u)
#define SHARED_FOURS (2u * STRIPS)

#if RHS_ROWS
#define B_ACROSS_K
#endif
#include "shaders/dot/matrix_units.glsl"
#include "shaders/dot/places.glsl"
#include "shaders/dot/strips.glsl"

// Where an invocation's p-th load of a strip of an operand that lies along k, or across it, belongs: 64 neighbouring
// bytes across k go to eight neighbours, whose writes of turned units then meet few banks.
#define ALONG_ROW(p) PLACE_OVER(p, TK / ALONG)
#define ALONG_K(p) PLACE_MODULO(p, TK / ALONG)
#define ACROSS_ROWS(p) (PLACE_OVER(p, 8u * TK / 4u) * 8u + PLACE_MODULO(p, 8u))
#define ACROSS_K(p) (PLACE_MODULO(p, 8u * TK / 4u) / 8u)
#define ROWS_K(p) PLACE_OVER(p, TILE_COLUMNS / ALONG)
#define ROWS_COLUMN(p) PLACE_MODULO(p, TILE_COLUMNS / ALONG)
// Where it goes in a strip; the first of an invocation is known when the loop begins.
#define ALONG_PUT(p) (ALONG_ROW(p) * STRIDE + ALONG_K(p))
#define ACROSS_WORD(p) (ACROSS_K(p) * FOUR_WORDS)
#define ACROSS_PUT(p) (4u * ACROSS_ROWS(p) * STRIDE + ACROSS_WORD(p) / 4u)
#define ROWS_PUT(p) (ROWS_K(p) * RHS_STRIDE + ROWS_COLUMN(p))
#define ALONG_FROM(first, p) FROM_FIRST(p, TK / ALONG, STRIDE, first, (first) + ALONG_PUT(p) - ALONG_PUT(0u))
#define ACROSS_FROM(first, p) FROM_FIRST(p, 8u * TK / 4u, 32u * STRIDE, first, (first) + ACROSS_PUT(p) - ACROSS_PUT(0u))
#define ROWS_FROM(first, p) FROM_FIRST(p, TILE_COLUMNS / ALONG, RHS_STRIDE, first, (first) + ROWS_PUT(p) - ROWS_PUT(0u))
#if LHS_ALONG_K
#define LHS_PUT ALONG_PUT(0u)
#else
#define LHS_PUT ACROSS_PUT(0u)
#endif
#if RHS_ALONG_K
#define RHS_PUT (STRIDE * TILE_ROWS + ALONG_PUT(0u))
#elif RHS_ROWS
#define RHS_PUT (STRIDE * TILE_ROWS + ROWS_PUT(0u))
#else
#define RHS_PUT (STRIDE * TILE_ROWS + ACROSS_PUT(0u))
#endif

// What an invocation loads of the strips that begin at k.
void fetch(uint batch, uint first_row, uint first_column, uint k, uint end, out uint lhs_next[LHS_WORDS * LHS_LOADS],
           out uint rhs_next[RHS_WORDS * RHS_LOADS]) {
  [[unroll]] for (uint p = 0u; p < LHS_LOADS; ++p) {
    uint part[LHS_WORDS];
#if LHS_ALONG_K
    uint at = OF_STRIP(k, ALONG, ALONG_K(p)), place = k + ALONG * ALONG_K(p);
    uint row = min(first_row + ALONG_ROW(p), ROW_COUNT - 1u);
#else
    uint at = OF_STRIP(k, 4u, ACROSS_K(p)), place = k + 4u * ACROSS_K(p);
    uint row = min(first_row / 4u + ACROSS_ROWS(p), ROW_COUNT / 4u - 1u);
#endif
    load_lhs(batch, row, STRIP(k), at, part);
    [[unroll]] for (uint j = 0u; j < LHS_WORDS; ++j)
      lhs_next[LHS_WORDS * p + j] = !bool(K_TAIL) || place < end ? part[j] : 0u;
  }
  [[unroll]] for (uint p = 0u; p < RHS_LOADS; ++p) {
    uint part[RHS_WORDS];
#if RHS_ALONG_K
    uint at = OF_STRIP(k, ALONG, ALONG_K(p)), place = k + ALONG * ALONG_K(p);
    uint column = min(first_column + ALONG_ROW(p), COLUMNS - 1u);
#elif RHS_ROWS
    uint at = OF_STRIP(k, 1u, ROWS_K(p)), place = k + ROWS_K(p);
    uint column = min(first_column / ALONG + ROWS_COLUMN(p), COLUMNS / ALONG - 1u);
#else
    uint at = OF_STRIP(k, 4u, ACROSS_K(p)), place = k + 4u * ACROSS_K(p);
    uint column = min(first_column / 4u + ACROSS_ROWS(p), UNIT_COUNT - 1u);
#endif
    load_rhs(batch, STRIP(k), at, column, part);
    [[unroll]] for (uint j = 0u; j < RHS_WORDS; ++j)
      rhs_next[RHS_WORDS * p + j] = !bool(K_TAIL) || place < end ? part[j] : 0u;
  }
}

// What was fetched, into the strips from `base` on; an invocation's first loads go to `lhs_put` and `rhs_put` of these.
void put(uint base, uint lhs_put, uint rhs_put, uint lhs_next[LHS_WORDS * LHS_LOADS],
         uint rhs_next[RHS_WORDS * RHS_LOADS]) {
  [[unroll]] for (uint p = 0u; p < LHS_LOADS; ++p) {
#if LHS_ALONG_K
    PUT_ALONG(base + ALONG_FROM(lhs_put, p), lhs_next, p);
#else
    PUT_ACROSS(base + ACROSS_FROM(lhs_put, p), STRIDE, ACROSS_WORD(p) % 4u, lhs_next, p);
#endif
  }
  [[unroll]] for (uint p = 0u; p < RHS_LOADS; ++p) {
#if RHS_ALONG_K
    PUT_ALONG(base + ALONG_FROM(rhs_put, p), rhs_next, p);
#elif RHS_ROWS
    PUT_ALONG(base + ROWS_FROM(rhs_put, p), rhs_next, p);
#else
    PUT_ACROSS(base + ACROSS_FROM(rhs_put, p), STRIDE, ACROSS_WORD(p) % 4u, rhs_next, p);
#endif
  }
}

// Where a subgroup's terms of rhs begin, and those of its j-th matrix of columns from kk on lie from there.
#if RHS_ROWS
#define RHS_BEGIN (sub_column / ALONG)
#define RHS_PLACE(j, kk) (N * (j) / ALONG + (kk)*RHS_STRIDE)
#define LOAD_RHS LOAD_B_ROWS
#else
#define RHS_BEGIN (sub_column * STRIDE)
#define RHS_PLACE(j, kk) (N * (j)*STRIDE + (kk)*FOUR_WORDS / 16u)
#define LOAD_RHS LOAD_B
#endif

// Adds the products of the strips from `base` on.
#if TERMS_AHEAD
#define MULTIPLY_STRIPS(base)                                                                                          \
  {                                                                                                                    \
    uint lhs_at = (base) + sub_row * STRIDE, rhs_at = (base) + TILE_ROWS * STRIDE + RHS_BEGIN;                         \
    MATRIX_A a[TM / M];                                                                                                \
    MATRIX_B b[TN / N], b_next[TN / N];                                                                                \
    EACH_MATRIX for (uint i = 0u; i < TM / M; ++i) LOAD_A(a[i], lhs_at + M * i * STRIDE, STRIDE);                      \
    EACH_MATRIX for (uint j = 0u; j < TN / N; ++j) LOAD_RHS(b[j], rhs_at + RHS_PLACE(j, 0u), RHS_STRIDE);              \
    EACH_MATRIX for (uint kk = K; kk < TK; kk += K) {                                                                  \
      uint along = kk * FOUR_WORDS / 16u;                                                                              \
      EACH_MATRIX for (uint j = 0u; j < TN / N; ++j) LOAD_RHS(b_next[j], rhs_at + RHS_PLACE(j, kk), RHS_STRIDE);       \
      EACH_MATRIX for (uint i = 0u; i < TM / M; ++i) {                                                                 \
        EACH_MATRIX for (uint j = 0u; j < TN / N; ++j)                                                                 \
          sums[i * (TN / N) + j] = multiply_add_matrices(a[i], b[j], sums[i * (TN / N) + j]);                          \
        LOAD_A(a[i], lhs_at + M * i * STRIDE + along, STRIDE);                                                         \
      }                                                                                                                \
      EACH_MATRIX for (uint j = 0u; j < TN / N; ++j) b[j] = b_next[j];                                                 \
    }                                                                                                                  \
    EACH_MATRIX for (uint i = 0u; i < TM / M; ++i) {                                                                   \
      EACH_MATRIX for (uint j = 0u; j < TN / N; ++j)                                                                   \
        sums[i * (TN / N) + j] = multiply_add_matrices(a[i], b[j], sums[i * (TN / N) + j]);                            \
    }                                                                                                                  \
  }
#else
#define MULTIPLY_STRIPS(base)                                                                                          \
  {                                                                                                                    \
    uint lhs_at = (base) + sub_row * STRIDE, rhs_at = (base) + TILE_ROWS * STRIDE + RHS_BEGIN;                         \
    EACH_MATRIX for (uint kk = 0u; kk < TK; kk += K) {                                                                 \
      MATRIX_A a[TM / M];                                                                                              \
      MATRIX_B b[TN / N];                                                                                              \
      uint along = kk * FOUR_WORDS / 16u;                                                                              \
      EACH_MATRIX for (uint i = 0u; i < TM / M; ++i) LOAD_A(a[i], lhs_at + M * i * STRIDE + along, STRIDE);            \
      EACH_MATRIX for (uint j = 0u; j < TN / N; ++j) LOAD_RHS(b[j], rhs_at + RHS_PLACE(j, kk), RHS_STRIDE);            \
      EACH_MATRIX for (uint i = 0u; i < TM / M; ++i) {                                                                 \
        EACH_MATRIX for (uint j = 0u; j < TN / N; ++j)                                                                 \
          sums[i * (TN / N) + j] = multiply_add_matrices(a[i], b[j], sums[i * (TN / N) + j]);                          \
      }                                                                                                                \
    }                                                                                                                  \
  }
#endif

// What was fetched for the step from k on goes to the strips from `base` on, and what a later one needs is fetched: the
// last steps fetch their own strips again, so that there is no test around the loads.
#define STEP(base, k, lhs, rhs)                                                                                        \
  put(base, lhs_put, rhs_put, lhs, rhs);                                                                               \
  BARRIER();                                                                                                           \
  fetch(batch, first_row, first_column, (k) + AHEAD * TK < end ? (k) + AHEAD * TK : (k), end, lhs, rhs);               \
  MULTIPLY_STRIPS(base)

// Puts the i-th row of matrices where the epilogue reads it, if that is the turn's. A macro: matrices that are chosen by a
// variable lie in memory.
#define PUT_SUMS(i)                                                                                                  \
  if (turn == i) {                                                                                                   \
    EACH_MATRIX for (uint j = 0u; j < TN / N; ++j)                                                                   \
      store_matrix(out_at, SUMS_STRIDE, N * j, sums[i * (TN / N) + j]);                                              \
  }

void main() {
  load_arguments();
  uint group = WORKGROUP;
  if (group >= GROUP_COUNT) return;
#if RASTER
  uint tile = group % (ROW_TILES * COLUMN_TILES);
  group = group / (ROW_TILES * COLUMN_TILES);
  uint most = uint(RASTER), first_of_band = tile / (most * COLUMN_TILES) * most;
  tile -= first_of_band * COLUMN_TILES;
  uint band = min(most, ROW_TILES - first_of_band);
  uint first_row = (first_of_band + tile % band) * TILE_ROWS, first_column = tile / band * TILE_COLUMNS;
#else
  uint first_column = group % COLUMN_TILES * TILE_COLUMNS;
  group = group / COLUMN_TILES;
  uint first_row = group % ROW_TILES * TILE_ROWS;
  group = group / ROW_TILES;
#endif
  uint share = 0u;
#if SPLIT
  share = group % SHARES;
  group = group / SHARES;
#endif
  uint batch = group;
  uint begin = share * SHARE_STEPS;
  uint end = min(STEP_COUNT, begin + SHARE_STEPS);
  uint lhs_put = LHS_PUT, rhs_put = RHS_PUT;
  uint sub_row = SUBGROUP / SUBGROUPS_X * TM, sub_column = SUBGROUP % SUBGROUPS_X * TN;

  MATRIX_C sums[TM / M * (TN / N)];
  EACH_MATRIX for (uint i = 0u; i < TM / M * (TN / N); ++i) sums[i] = clear_matrix();
  uint lhs_next[LHS_WORDS * LHS_LOADS], rhs_next[RHS_WORDS * RHS_LOADS];
  fetch(batch, first_row, first_column, begin, end, lhs_next, rhs_next);
#if TERMS_AHEAD
  uint base = 0u;
  for (uint k = begin; k < end; k += TK) {
    STEP(base, k, lhs_next, rhs_next)
    base = STRIPS - base;
  }
#else
#if AHEAD == 2
  uint lhs_later[LHS_WORDS * LHS_LOADS], rhs_later[RHS_WORDS * RHS_LOADS];
  fetch(batch, first_row, first_column, begin + TK < end ? begin + TK : begin, end, lhs_later, rhs_later);
#else
#define lhs_later lhs_next
#define rhs_later rhs_next
#endif
  // Two steps a turn, so that each knows where its strips are. An odd one stands behind the loop: where a loop has two ends
  // the sums and what was fetched are moved to other registers and back.
  uint k = begin;
  for (; k + TK < end; k += 2u * TK) {
    STEP(0u, k, lhs_next, rhs_next)
    STEP(STRIPS, k + TK, lhs_later, rhs_later)
  }
  if (k < end) {
    STEP(0u, k, lhs_next, rhs_next)
  }
#endif
  uint out_at = SUBGROUP * (M * SUMS_STRIDE);
  // The epilogue, which may be long, stands here once.
  [[dont_unroll]] for (uint turn = 0u; turn < TM / M; ++turn) {
    BARRIER();
    EACH_ROW(PUT_SUMS)
    BARRIER();
    [[dont_unroll]] for (uint first = LANE; first < M * OUT_FOURS; first += OUT_TOGETHER * LANES) {
      [[unroll]] for (uint p = 0u; p < OUT_TOGETHER; ++p) {
        uint out_row = (first + p * LANES) / OUT_FOURS, q = (first + p * LANES) % OUT_FOURS;
        uint row = first_row + sub_row + M * turn + out_row, unit = (first_column + sub_column) / 4u + q;
        uvec4 bits = strips[out_at + out_row * SUMS_STRIDE + q];
        Sum four[4];
        [[unroll]] for (uint j = 0u; j < 4u; ++j) four[j] = SUM_OF(bits[j]);
        if (row < ROW_COUNT && unit < UNIT_COUNT) store(batch, row, unit, share, four);
      }
    }
  }
}
