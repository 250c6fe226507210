// Matrix product through shared memory: result[batch, m, n] = sum over k of lhs[batch, m, k] * rhs[batch, k, n], for
// GPUs.
//
// A workgroup of X by Y invocations owns a tile of Y * TM rows and X * TN columns. It walks along k in steps of TK: all
// invocations load a TM-tall strip of lhs and of rhs into shared memory (each element once for the whole tile), then
// each adds TM x TN products per k to its registers. Invocation (x, y) owns rows y + Y * i and columns x + X * j, so
// that neighbours read neighbouring columns (no bank is hit twice) and store neighbouring results. The lhs strip is
// kept with a padded stride, since it is written along k and read along m.
//
// Accuracy and order: as in matmul_registers.comp, a running total takes the sum of every BLOCK steps.
//
// GROUP_COUNT workgroups, ROW_TILES tiles of rows, COLUMN_TILES tiles of columns, ROW_COUNT rows, UNIT_COUNT columns,
// STEP_COUNT values of k, SHARES shares of k, SHARE_STEPS values of k of a share.
//
// The generated part defines Sum, CLEAR, ADD, MULTIPLY_ADD(sum, a, b), X, Y, TM, TN, TK, LHS_ALONG_K (lhs lies along k
// in memory), RHS_ALONG_K, SPLIT, ROLLED (results are stored in a loop, the sums moving up: their epilogue is written
// once), load_lhs(batch, m, k), load_rhs(batch, k, n) and store(batch, row, column, share,
// sum).
layout(constant_id = 3) const uint BLOCK = 16;

#include "generated"

#define ROWS (Y * TM)
#define COLUMNS (X * TN)
#define STRIDE (ROWS + 1)
shared Sum lhs_strip[TK * STRIDE];
shared Sum rhs_strip[TK * (COLUMNS + 1)];

void main() {
  load_arguments();
  uint group = WORKGROUP;
  if (group >= GROUP_COUNT) return;
  uint column_tile = group % COLUMN_TILES;
  group = group / COLUMN_TILES;
  uint row_tile = group % ROW_TILES;
  group = group / ROW_TILES;
  uint share = 0u;
#if SPLIT
  share = group % SHARES;
  group = group / SHARES;
#endif
  uint batch = group;
  uint first_row = row_tile * ROWS, first_column = column_tile * COLUMNS;
  uint x = gl_LocalInvocationID.x, y = gl_LocalInvocationID.y, invocation = gl_LocalInvocationIndex;
  uint begin = share * SHARE_STEPS, end = min(STEP_COUNT, begin + SHARE_STEPS);

  Sum sums[TM * TN], totals[TM * TN];
  [[unroll]] for (uint i = 0u; i < TM * TN; ++i) {
    sums[i] = CLEAR;
    totals[i] = CLEAR;
  }
  uint steps = 0u;
  for (uint k = begin; k < end; k += TK) {
    for (uint e = invocation; e < TK * ROWS; e += X * Y) {
      // Neighbouring invocations take neighbours in memory.
#if LHS_ALONG_K
      uint kk = e % TK, row = e / TK;
#else
      uint row = e % ROWS, kk = e / ROWS;
#endif
      Sum value = CLEAR;
      if (k + kk < end && first_row + row < ROW_COUNT) value = load_lhs(batch, first_row + row, k + kk);
      lhs_strip[kk * STRIDE + row] = value;
    }
    for (uint e = invocation; e < TK * COLUMNS; e += X * Y) {
#if RHS_ALONG_K
      uint kk = e % TK, column = e / TK;
#else
      uint column = e % COLUMNS, kk = e / COLUMNS;
#endif
      Sum value = CLEAR;
      if (k + kk < end && first_column + column < UNIT_COUNT) value = load_rhs(batch, k + kk, first_column + column);
      rhs_strip[kk * (COLUMNS + 1) + column] = value;
    }
    barrier();
    // Products of what lies beyond the end are left out, since 0 * inf is not 0.
    uint count = min(TK, end - k);
    for (uint kk = 0u; kk < count; ++kk) {
      Sum a[TM], b[TN];
      [[unroll]] for (uint i = 0u; i < TM; ++i) a[i] = lhs_strip[kk * STRIDE + y + Y * i];
      [[unroll]] for (uint j = 0u; j < TN; ++j) b[j] = rhs_strip[kk * (COLUMNS + 1) + x + X * j];
      [[unroll]] for (uint i = 0u; i < TM; ++i) {
        [[unroll]] for (uint j = 0u; j < TN; ++j) MULTIPLY_ADD(sums[i * TN + j], a[i], b[j]);
      }
    }
    barrier();
    steps += 1u;
    if (steps == BLOCK) {
      steps = 0u;
      [[unroll]] for (uint i = 0u; i < TM * TN; ++i) {
        ADD(totals[i], sums[i]);
        sums[i] = CLEAR;
      }
    }
  }
#if ROLLED
  [[unroll]] for (uint i = 0u; i < TM * TN; ++i) ADD(totals[i], sums[i]);
  [[dont_unroll]] for (uint n = 0u; n < TM * TN; ++n) {
    uint row = first_row + y + Y * (n / TN), column = first_column + x + X * (n % TN);
    Sum total = totals[0];
    [[unroll]] for (uint m = 0u; m + 1u < TM * TN; ++m) totals[m] = totals[m + 1u];
    if (row < ROW_COUNT && column < UNIT_COUNT) store(batch, row, column, share, total);
  }
#else
  [[unroll]] for (uint i = 0u; i < TM; ++i) {
    [[unroll]] for (uint j = 0u; j < TN; ++j) {
      uint row = first_row + y + Y * i, column = first_column + x + X * j;
      ADD(totals[i * TN + j], sums[i * TN + j]);
      if (row < ROW_COUNT && column < UNIT_COUNT) store(batch, row, column, share, totals[i * TN + j]);
    }
  }
#endif
}
