// Matrix product through shared memory in groups of four, for GPUs: result[batch, m, n] = sum over k of
// lhs[batch, m, k] * rhs[batch, k, n], with sums of 32 bits.
//
// A workgroup of X by Y invocations owns a tile of Y * TM rows and X * TN columns and walks along k in steps of TK. A
// strip of each operand, TK values of k deep, lies in shared memory as quads: four neighbouring rows, or columns, of
// one k. There are two of each, so that the next strips are read from memory while these are multiplied, and a step
// needs one barrier. Every invocation loads LHS_QUADS and RHS_QUADS quads of memory for a strip, all before the first is
// used. Invocation (x, y) owns the rows 4 * (y + Y * i) + (0, 1, 2, 3) and the columns 4 * (x + X * j) + (0, 1, 2, 3):
// neighbours read neighbouring quads, 16 bytes a lane.
//
// With COMPACT_LANES 32 neighbours are 4 rows by 8 columns of invocations, each eight of them 4 by 2. For one k they read
// 4 quads of lhs and 8 of rhs where a row of 16 and the next read 2 and 16: hardware that reads a word once for all lanes
// that want it then takes a pass for each. With TERMS_AHEAD the terms of the next k are read before those of this one are
// multiplied, and the loop over a strip is written out.
//
// An operand that lies along k in memory is turned while it is written: its quads are four values of k of one row, so
// the strip's stride is one quad longer.
//
// Whole tiles know no tests: rows and columns beyond the end are those at the end again, whose results nobody stores.
// Only where TK does not divide k (K_TAIL) are values beyond the end zeros, of both operands, so that nothing comes of
// them.
//
// With FOUR_BYTES a term is four: words of four bytes along k, which MULTIPLY_ADD multiplies and adds up. All that counts
// values of k then counts such words. An operand that lies across k comes as four words of four rows, or columns, of one
// k each, and is turned while it is written.
//
// With ROLLED what follows the product is written once, for one quad: the sums move up by one, and the first is stored. A
// function written out for each of 64 results is more code (150 KB) than a GPU's instruction cache holds (32).
//
// Accuracy and order: one sum for each result, from zero, k ascending; FUSED: each product and its sum round once. With
// BLOCK above 0 a sum of every so many strips is added to a total: the error grows with BLOCK * TK + k / (BLOCK * TK), for
// as many registers again as there are results, which small tiles have to spare.
//
// GROUP_COUNT workgroups, ROW_TILES tiles of rows, COLUMN_TILES tiles of columns, ROW_COUNT rows, UNIT_COUNT units of
// four columns, STEP_COUNT values of k, SHARES shares of k, SHARE_STEPS values of k of a share, a multiple of TK unless
// it is all.
//
// The generated part defines Sum, Quad (four of them), CLEAR, FOUR_BYTES, TermQuad (four terms), HELD values of type Held
// that a quad is fetched as, FETCHED(next, p), the p-th of those fetched, MULTIPLY_ADD(quad, a, quad), X, Y, TM, TN, TK,
// LHS_ALONG_K, RHS_ALONG_K, K_TAIL, K_LOOP (how the loop over a strip is unrolled), TERMS_AHEAD, COMPACT_LANES, SPLIT, ROLLED,
// BLOCK,
// load_lhs(batch, row, strip, k, part) and load_rhs(batch, strip, k, column, part), where the dimension that lies along
// memory counts quads, and store(batch, row, unit, share, sums).
#include "generated"

#define INVOCATIONS (X * Y)
#include "shaders/dot/places.glsl"
#include "shaders/dot/strips.glsl"

#define ROW_QUADS (Y * TM / 4u)
#define COLUMN_QUADS (X * TN / 4u)
#define LHS_STRIDE (ROW_QUADS + LHS_ALONG_K)
#define RHS_STRIDE (COLUMN_QUADS + RHS_ALONG_K)
#define LHS_QUADS (TK * ROW_QUADS / (X * Y))
#define RHS_QUADS (TK * COLUMN_QUADS / (X * Y))
shared TermQuad lhs_strips[2u * TK * LHS_STRIDE];
shared TermQuad rhs_strips[2u * TK * RHS_STRIDE];

// An invocation's quads of the strips that begin at k, from memory.
void fetch(uint batch, uint first_row, uint first_column, uint k, uint end, out Held lhs_next[HELD * LHS_QUADS],
           out Held rhs_next[HELD * RHS_QUADS]) {
  [[unroll]] for (uint p = 0u; p < LHS_QUADS; ++p) {
    Held part[HELD];
#if LHS_ALONG_K
    uint quad = PLACE_MODULO(p, TK / 4u), at = OF_STRIP(k, 4u, quad), place = k + 4u * quad;
    uint row = min(first_row + PLACE_OVER(p, TK / 4u), ROW_COUNT - 1u);
#else
    uint across = PLACE_OVER(p, ROW_QUADS), at = OF_STRIP(k, 1u, across), place = k + across;
    uint row = min(first_row / 4u + PLACE_MODULO(p, ROW_QUADS), ROW_COUNT / 4u - 1u);
#endif
    load_lhs(batch, row, STRIP(k), at, part);
    [[unroll]] for (uint j = 0u; j < HELD; ++j)
      lhs_next[HELD * p + j] = !bool(K_TAIL) || place < end ? part[j] : Held(0);
  }
  [[unroll]] for (uint p = 0u; p < RHS_QUADS; ++p) {
    Held part[HELD];
#if RHS_ALONG_K
    uint quad = PLACE_MODULO(p, TK / 4u), at = OF_STRIP(k, 4u, quad), place = k + 4u * quad;
    uint column = min(first_column + PLACE_OVER(p, TK / 4u), COLUMNS - 1u);
#else
    uint across = PLACE_OVER(p, COLUMN_QUADS), at = OF_STRIP(k, 1u, across), place = k + across;
    uint column = min(first_column / 4u + PLACE_MODULO(p, COLUMN_QUADS), UNIT_COUNT - 1u);
#endif
    load_rhs(batch, STRIP(k), at, column, part);
    [[unroll]] for (uint j = 0u; j < HELD; ++j)
      rhs_next[HELD * p + j] = !bool(K_TAIL) || place < end ? part[j] : Held(0);
  }
}

#if FOUR_BYTES
// Byte j of word i becomes byte i of word j.
uvec4 ACROSS_K(uvec4 w) {
  const uint even = 0x00ff00ffu;
  uint a = (w.x & even) | ((w.y & even) << 8), b = ((w.x >> 8) & even) | (w.y & ~even);
  uint c = (w.z & even) | ((w.w & even) << 8), d = ((w.z >> 8) & even) | (w.w & ~even);
  return uvec4((a & 0xffffu) | (c << 16), (b & 0xffffu) | (d << 16), (a >> 16) | (c & 0xffff0000u),
               (b >> 16) | (d & 0xffff0000u));
}
#else
#define ACROSS_K(quad) quad
#endif

// What was fetched, into the strips `which`.
void put(uint which, Held lhs_next[HELD * LHS_QUADS], Held rhs_next[HELD * RHS_QUADS]) {
  [[unroll]] for (uint p = 0u; p < LHS_QUADS; ++p) {
    uint base = which * (TK * LHS_STRIDE);
#if LHS_ALONG_K
    uint kk = 4u * PLACE_MODULO(p, TK / 4u), row = PLACE_OVER(p, TK), of_four = PLACE_MODULO(p, TK) / (TK / 4u);
    TermQuad quad = FETCHED(lhs_next, p);
    [[unroll]] for (uint j = 0u; j < 4u; ++j) lhs_strips[base + (kk + j) * LHS_STRIDE + row][of_four] = quad[j];
#else
    lhs_strips[base + PLACE(p)] = ACROSS_K(FETCHED(lhs_next, p));
#endif
  }
  [[unroll]] for (uint p = 0u; p < RHS_QUADS; ++p) {
    uint base = which * (TK * RHS_STRIDE);
#if RHS_ALONG_K
    uint kk = 4u * PLACE_MODULO(p, TK / 4u), column = PLACE_OVER(p, TK), of_four = PLACE_MODULO(p, TK) / (TK / 4u);
    TermQuad quad = FETCHED(rhs_next, p);
    [[unroll]] for (uint j = 0u; j < 4u; ++j) rhs_strips[base + (kk + j) * RHS_STRIDE + column][of_four] = quad[j];
#else
    rhs_strips[base + PLACE(p)] = ACROSS_K(FETCHED(rhs_next, p));
#endif
  }
}

// The terms of an invocation's results of one k of strips, and their products.
#define READ_TERMS(a, b) { \
    [[unroll]] for (uint i = 0u; i < TM / 4u; ++i) a[i] = lhs_strips[lhs_at + Y * i]; \
    [[unroll]] for (uint j = 0u; j < TN / 4u; ++j) b[j] = rhs_strips[rhs_at + X * j]; \
  }
#define ADD_PRODUCTS(a, b) { \
    [[unroll]] for (uint i = 0u; i < TM; ++i) { \
      [[unroll]] for (uint j = 0u; j < TN / 4u; ++j) MULTIPLY_ADD(sums[i * (TN / 4u) + j], a[i / 4u][i % 4u], b[j]); \
    } \
  }

#define FINISH_QUAD(i, j, sum) { \
    uint row = first_row + 4u * (y + Y * ((i) / 4u)) + (i) % 4u, unit = first_column / 4u + x + X * (j); \
    Quad own = sum; \
    Sum four[4] = Sum[4](own.x, own.y, own.z, own.w); \
    if (row < ROW_COUNT && unit < UNIT_COUNT) store(batch, row, unit, share, four); \
  }

void main() {
  load_arguments();
  uint group = WORKGROUP;
  if (group >= GROUP_COUNT) return;
  uint first_column = group % COLUMN_TILES * (X * TN);
  group = group / COLUMN_TILES;
  uint first_row = group % ROW_TILES * (Y * TM);
  group = group / ROW_TILES;
  uint share = 0u;
#if SPLIT
  share = group % SHARES;
  group = group / SHARES;
#endif
  uint batch = group;
#if COMPACT_LANES
  uint lane = gl_LocalInvocationIndex % 32u, part = gl_LocalInvocationIndex / 32u;
  uint x = part % (X / 8u) * 8u + lane / 8u * 2u + lane % 2u, y = part / (X / 8u) * 4u + lane / 2u % 4u;
#else
  uint x = gl_LocalInvocationID.x, y = gl_LocalInvocationID.y;
#endif
  uint begin = share * SHARE_STEPS;
  uint end = min(STEP_COUNT, begin + SHARE_STEPS);

  Quad sums[TM * TN / 4u];
  [[unroll]] for (uint i = 0u; i < TM * TN / 4u; ++i) sums[i] = Quad(CLEAR);
#if BLOCK > 0
  uint strips = 0u;
  precise Quad totals[TM * TN / 4u];
  [[unroll]] for (uint i = 0u; i < TM * TN / 4u; ++i) totals[i] = Quad(CLEAR);
#endif
  Held lhs_next[HELD * LHS_QUADS], rhs_next[HELD * RHS_QUADS];
  fetch(batch, first_row, first_column, begin, end, lhs_next, rhs_next);
  uint which = 0u;
  for (uint k = begin; k < end; k += TK) {
    put(which, lhs_next, rhs_next);
    barrier();
    // The last turn fetches its own strips again, so that there is no test around the loads.
    fetch(batch, first_row, first_column, k + TK < end ? k + TK : k, end, lhs_next, rhs_next);
    uint lhs_at = which * (TK * LHS_STRIDE) + y, rhs_at = which * (TK * RHS_STRIDE) + x;
#if TERMS_AHEAD
    TermQuad a[TM / 4u], b[TN / 4u], a_next[TM / 4u], b_next[TN / 4u];
    READ_TERMS(a, b)
    [[unroll]] for (uint kk = 1u; kk < TK; ++kk) {
      lhs_at += LHS_STRIDE;
      rhs_at += RHS_STRIDE;
      READ_TERMS(a_next, b_next)
      ADD_PRODUCTS(a, b)
      a = a_next;
      b = b_next;
    }
    ADD_PRODUCTS(a, b)
#else
    K_LOOP for (uint kk = 0u; kk < TK; ++kk) {
      TermQuad a[TM / 4u], b[TN / 4u];
      READ_TERMS(a, b)
      ADD_PRODUCTS(a, b)
      lhs_at += LHS_STRIDE;
      rhs_at += RHS_STRIDE;
    }
#endif
    which ^= 1u;
#if BLOCK > 0
    if (++strips == BLOCK) {
      strips = 0u;
      [[unroll]] for (uint i = 0u; i < TM * TN / 4u; ++i) {
        totals[i] += sums[i];
        sums[i] = Quad(CLEAR);
      }
    }
#endif
  }
#if BLOCK > 0
  [[unroll]] for (uint i = 0u; i < TM * TN / 4u; ++i) sums[i] = totals[i] + sums[i];
#endif
#if ROLLED
  [[dont_unroll]] for (uint n = 0u; n < TM * TN / 4u; ++n) {
    uint i = n / (TN / 4u), j = n % (TN / 4u);
    Quad sum = sums[0];
    [[unroll]] for (uint m = 0u; m + 1u < TM * TN / 4u; ++m) sums[m] = sums[m + 1u];
    FINISH_QUAD(i, j, sum)
  }
#else
  [[unroll]] for (uint i = 0u; i < TM; ++i) {
    [[unroll]] for (uint j = 0u; j < TN / 4u; ++j) FINISH_QUAD(i, j, sums[i * (TN / 4u) + j])
  }
#endif
}
