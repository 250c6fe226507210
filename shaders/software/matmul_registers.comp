// Matrix product in registers: result[batch, m, n] = sum over k of lhs[batch, m, k] * rhs[batch, k, n], for drivers
// without fast shared memory.
//
// A workgroup is one row of LANES lanes (one full subgroup where SHARE is 1 or 2, and a lane is its place there). It
// owns TM rows and LANES * W columns: W neighbouring columns a lane, so a lane keeps TM * W sums. Each step takes KS
// values of k. The lhs values of a step are the same for all lanes; on lavapipe every load runs lane by lane, so with
// SHARE the lanes load different ones and hand them round by shuffles (a shuffle of 32 bits is one instruction there, a
// broadcast a loop that looks for a lane that is active).
//
//   SHARE 0  each lane loads all TM * KS values
//   SHARE 1  lane l loads rows l, l + LANES ... : KS neighbours along k
//   SHARE 2  lane l loads k = KS * step + l (KS == LANES): WM neighbouring rows at a time
//   RHS_BLOCK 0  rhs is read W neighbouring columns at a time; 1: KS neighbours along k for each column
//
// Accuracy and order: with BLOCKED, sums of BLOCK steps (about sqrt(K) values) go into a running total: the error grows
// with sqrt(K), not with K. The order is a function of the shape. Rows and columns beyond the edge are computed from
// the last ones and not stored.
//
// GROUP_COUNT workgroups, ROW_TILES tiles of rows, COLUMN_TILES tiles of columns, ROW_COUNT rows, UNIT_COUNT units of W
// columns, STEP_COUNT steps, SHARES shares of the steps, SHARE_STEPS steps of a share.
//
// The generated part defines BY_ROW_TILES(g) (g / ROW_TILES), BY_COLUMN_TILES and BY_SHARES, Sum (the accumulator's type),
// CLEAR, MULTIPLY_ADD(sum, a, b), the constants above, load_lhs, load_rhs and store(batch, row, unit, share, sums).
layout(constant_id = 3) const uint BLOCK = 32;

#include "generated"

#if SHARE == 0
#define LANE gl_LocalInvocationID.x
#else
#define LANE gl_SubgroupInvocationID
#endif
#if SHARE == 0
#define LHS_COUNT (TM * KS)
#define LHS(i, kk) lhs[(i) * KS + (kk)]
#elif SHARE == 1
#define LHS_COUNT (TM / LANES * KS)
#define LHS(i, kk) subgroupShuffle(lhs[(i) / LANES * KS + (kk)], (i) % LANES)
#else
#define LHS_COUNT TM
#define LHS(i, kk) subgroupShuffle(lhs[i], kk)
#endif

void take_step(uint batch, uint first_row, uint unit, uint step, inout Sum sums[TM * W]) {
  uint lane = LANE;
  Sum lhs[LHS_COUNT];
#if SHARE == 0
  [[unroll]] for (uint i = 0u; i < TM; ++i) {
    Sum part[KS];
    SITE(i);
    load_lhs(batch, min(first_row + i, ROW_COUNT - 1u), step, part);
    [[unroll]] for (uint kk = 0u; kk < KS; ++kk) lhs[i * KS + kk] = part[kk];
  }
#elif SHARE == 1
  [[unroll]] for (uint i = 0u; i < TM / LANES; ++i) {
    Sum part[KS];
    SITE(i);
    load_lhs(batch, min(first_row + i * LANES + lane, ROW_COUNT - 1u), step, part);
    [[unroll]] for (uint kk = 0u; kk < KS; ++kk) lhs[i * KS + kk] = part[kk];
  }
#else
  [[unroll]] for (uint i = 0u; i < TM / WM; ++i) {
    Sum part[WM];
    SITE(i);
    load_lhs(batch, min(first_row / WM + i, ROW_COUNT / WM - 1u), step * KS + lane, part);
    [[unroll]] for (uint j = 0u; j < WM; ++j) lhs[i * WM + j] = part[j];
  }
#endif
#if RHS_BLOCK
#define RHS(kk, j) rhs[(j) * KS + (kk)]
  Sum rhs[KS * W];
  load_rhs(batch, step, unit, rhs);
#else
#define RHS(kk, j) rhs[(kk) * W + (j)]
  Sum rhs[KS * W];
  [[unroll]] for (uint kk = 0u; kk < KS; ++kk) {
    Sum part[W];
    SITE(kk);
    load_rhs(batch, step * KS + kk, unit, part);
    [[unroll]] for (uint j = 0u; j < W; ++j) rhs[kk * W + j] = part[j];
  }
#endif
  ADD_PRODUCTS
}

void main() {
  load_arguments();
  uint group = WORKGROUP;
#if SURPLUS_GROUPS
  if (group >= GROUP_COUNT) return;
#endif
  // Neighbouring groups share a panel of rhs columns, which then stays in the cache.
  uint rest = BY_ROW_TILES(group);
  uint row_tile = group - rest * ROW_TILES;
  group = rest;
  rest = BY_COLUMN_TILES(group);
  uint column_tile = group - rest * COLUMN_TILES;
  group = rest;
  uint share = 0u;
#if SPLIT
  rest = BY_SHARES(group);
  share = group - rest * SHARES;
  group = rest;
#endif
  uint batch = group;
  uint first_row = row_tile * TM;
  uint own_unit = column_tile * LANES + LANE;
  uint unit = min(own_unit, UNIT_COUNT - 1u);
  uint begin = share * SHARE_STEPS;
  uint end = min(STEP_COUNT, begin + SHARE_STEPS);

  Sum sums[TM * W];
  [[unroll]] for (uint i = 0u; i < TM * W; ++i) sums[i] = CLEAR;
#if BLOCKED
  Sum totals[TM * W];
  [[unroll]] for (uint i = 0u; i < TM * W; ++i) totals[i] = CLEAR;
  for (uint start = begin; start < end; start += BLOCK) {
    uint stop = min(end, start + BLOCK);
    for (uint step = start; step < stop; ++step) take_step(batch, first_row, unit, step, sums);
    [[unroll]] for (uint i = 0u; i < TM * W; ++i) {
      ADD(totals[i], sums[i]);
      sums[i] = CLEAR;
    }
  }
  [[unroll]] for (uint i = 0u; i < TM * W; ++i) sums[i] = totals[i];
#else
  for (uint step = begin; step < end; ++step) take_step(batch, first_row, unit, step, sums);
#endif
  if (own_unit >= UNIT_COUNT) return;
  [[unroll]] for (uint i = 0u; i < TM; ++i) {
    if (first_row + i < ROW_COUNT) {
      Sum row[W];
      [[unroll]] for (uint j = 0u; j < W; ++j) row[j] = sums[i * W + j];
      store(batch, first_row + i, unit, share, row);
    }
  }
}
