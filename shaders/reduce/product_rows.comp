// Row programs of a product: their rows are those of lhs[row, k] * rhs[k, column], which lie in a workgroup's memory
// alone.
//
// A workgroup of LANES * UNITS invocations computes ROWS whole rows of the product into shared memory and then reads
// them, UNITS at a time, as rows.comp does with HELD: LANES lanes of a subgroup a row, each with HELD steps of four
// columns in registers.
//
// The product: an invocation owns four neighbouring columns of ROWS_OWN rows. WIDE of them lie side by side, so a
// subgroup reads neighbouring quads of rhs from memory, those of the next four terms while these are multiplied; the
// terms of lhs lie in shared memory in strips of STRIP quads along k, which invocations of the same rows read together.
// There are two strips, so that one is filled while the other is multiplied and a strip needs one barrier.
//
// Where the terms of a column of rhs lie side by side (RHS_ALONG_K, x @ w.T) neighbouring invocations would read places
// far apart: strips of rhs go through shared memory too, read along k, where the product will lie if all its columns
// are computed in one turn. An invocation then owns four columns WIDE apart, and a place within a column's strip is
// moved by the column, so that neighbours read different banks.
//
// BATCHED: rows fall into batches of BATCH_ROWS, each with a rhs of its own; a workgroup's rows are of one.
//
// Accuracy and order: one sum for each element of the product, from zero, k ascending, each step as MULTIPLY_ADD; sums
// over rows as in rows.comp.
//
// GROUP_COUNT workgroups, UNIT_COUNT units, STEP_COUNT steps of a row.
//
// The generated part defines what rows.comp says of HELD, MULTIPLY_ADD(quad, a, quad), TERM_QUADS, quads along k of all
// terms, COLUMN_QUADS, ROWS, INVOCATIONS, ROWS_OWN, WIDE, STRIP (a power of two up to 8), BATCH_OF(workgroup) and
// ROW_GROUPS of a batch, load_lhs(row, quad along k) and load_rhs(k, quad of columns), or load_rhs(quad along k, column)
// if RHS_ALONG_K, vec4 all. These read product_batch.
layout(constant_id = 3) const uint BLOCK = 64;
layout(constant_id = 4) const uint LANES = 1;
layout(constant_id = 5) const uint UNITS = 1;

uint own_row;  // among the workgroup's
uint product_batch = 0u;
vec4 product_at(uint step);

#include "shaders/reduce/join_lanes.glsl"

#include "generated"

#define STRIP_QUADS (ROWS * STRIP)
#define FETCHES ((STRIP_QUADS + INVOCATIONS - 1u) / INVOCATIONS)
#define PRODUCT_QUADS (ROWS * COLUMN_QUADS)
#define ONE_TURN (WIDE >= COLUMN_QUADS)
shared vec4 lhs_strips[2u * STRIP_QUADS];

#if RHS_ALONG_K
#define RHS_QUADS (4u * WIDE * STRIP)
#define RHS_FETCHES ((RHS_QUADS + INVOCATIONS - 1u) / INVOCATIONS)
const uint kRhsAt = ONE_TURN ? 0u : PRODUCT_QUADS;
shared vec4 product_tile[max(PRODUCT_QUADS, kRhsAt + RHS_QUADS)];

uint column_of(uint base, uint j) { return 4u * base + gl_LocalInvocationIndex % WIDE + j * WIDE; }

uint rhs_place(uint column, uint q) { return kRhsAt + column * STRIP + (q ^ (column * STRIP / 8u % STRIP)); }

void fetch_columns(uint base, uint k, out vec4 next[RHS_FETCHES]) {
  [[unroll]] for (uint p = 0u; p < RHS_FETCHES; ++p) {
    uint e = min(gl_LocalInvocationIndex + p * INVOCATIONS, RHS_QUADS - 1u);
    next[p] = load_rhs(min(k + e % STRIP, TERM_QUADS - 1u), min(4u * base + e / STRIP, 4u * COLUMN_QUADS - 1u));
  }
}

void keep_columns(vec4 next[RHS_FETCHES]) {
  [[unroll]] for (uint p = 0u; p < RHS_FETCHES; ++p) {
    uint e = gl_LocalInvocationIndex + p * INVOCATIONS;
    if (e < RHS_QUADS) product_tile[rhs_place(e / STRIP, e % STRIP)] = next[p];
  }
}

void take_terms(uint q, out vec4 terms[4]) {
  vec4 own[4];
  [[unroll]] for (uint j = 0u; j < 4u; ++j) own[j] = product_tile[rhs_place(column_of(0u, j), q)];
  [[unroll]] for (uint t = 0u; t < 4u; ++t) terms[t] = vec4(own[0][t], own[1][t], own[2][t], own[3][t]);
}

void keep_sums(uint row, uint base, vec4 sums) {
  [[unroll]] for (uint j = 0u; j < 4u; ++j) {
    uint column = column_of(base, j);
    if (column < 4u * COLUMN_QUADS) product_tile[row * COLUMN_QUADS + column / 4u][column % 4u] = sums[j];
  }
}
#else
shared vec4 product_tile[PRODUCT_QUADS];

void fetch_terms(uint k, uint column, out vec4 terms[4]) {
  [[unroll]] for (uint j = 0u; j < 4u; ++j) terms[j] = load_rhs(4u * k + j, column);
}

void keep_sums(uint row, uint base, vec4 sums) {
  uint column = base + gl_LocalInvocationIndex % WIDE;
  if (column < COLUMN_QUADS) product_tile[row * COLUMN_QUADS + column] = sums;
}
#endif

vec4 product_at(uint step) { return product_tile[own_row * COLUMN_QUADS + step]; }

void fetch_strip(uint first_row, uint k, out vec4 next[FETCHES]) {
  [[unroll]] for (uint p = 0u; p < FETCHES; ++p) {
    uint e = min(gl_LocalInvocationIndex + p * INVOCATIONS, STRIP_QUADS - 1u);
    next[p] = load_lhs(min(first_row + e / STRIP, BATCH_ROWS - 1u), min(k + e % STRIP, TERM_QUADS - 1u));
  }
}

void multiply_rows(uint first_row) {
  uint first = gl_LocalInvocationIndex / WIDE * ROWS_OWN;
  for (uint base = 0u; base < COLUMN_QUADS; base += WIDE) {
    vec4 sums[ROWS_OWN], terms[4], next[FETCHES];
    [[unroll]] for (uint i = 0u; i < ROWS_OWN; ++i) sums[i] = vec4(0.0f);
#if RHS_ALONG_K
    vec4 next_columns[RHS_FETCHES];
    fetch_columns(base, 0u, next_columns);
#else
    uint read = min(base + gl_LocalInvocationIndex % WIDE, COLUMN_QUADS - 1u);
    fetch_terms(0u, read, terms);
#endif
    fetch_strip(first_row, 0u, next);
    uint which = 0u;
    for (uint k = 0u; k < TERM_QUADS; k += STRIP) {
      [[unroll]] for (uint p = 0u; p < FETCHES; ++p) {
        uint e = gl_LocalInvocationIndex + p * INVOCATIONS;
        if (e < STRIP_QUADS) lhs_strips[which + e] = next[p];
      }
#if RHS_ALONG_K
      keep_columns(next_columns);
#endif
      barrier();
      fetch_strip(first_row, k + STRIP, next);
#if RHS_ALONG_K
      fetch_columns(base, k + STRIP, next_columns);
#endif
      uint end = min(STRIP, TERM_QUADS - k);
      for (uint q = 0u; q < end; ++q) {
#if RHS_ALONG_K
        take_terms(q, terms);
#else
        vec4 later[4];
        fetch_terms(min(k + q + 1u, TERM_QUADS - 1u), read, later);
#endif
        [[unroll]] for (uint i = 0u; i < ROWS_OWN; ++i) {
          vec4 a = lhs_strips[which + min(first + i, ROWS - 1u) * STRIP + q];
          [[unroll]] for (uint j = 0u; j < 4u; ++j) MULTIPLY_ADD(sums[i], a[j], terms[j]);
        }
#if !RHS_ALONG_K
        terms = later;
#endif
      }
#if RHS_ALONG_K
      barrier();  // there is one strip of rhs
#endif
      which = STRIP_QUADS - which;
    }
    [[unroll]] for (uint i = 0u; i < ROWS_OWN; ++i) {
      if (first + i < ROWS) keep_sums(first + i, base, sums[i]);
    }
    barrier();
  }
}

void main() {
  load_arguments();
  uint group = WORKGROUP;
#if SURPLUS_GROUPS
  if (group >= GROUP_COUNT) return;
#endif
  uint place = gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID, lane = place % LANES;
#if BATCHED
  product_batch = BATCH_OF(group);
  group -= product_batch * ROW_GROUPS;
#endif
  multiply_rows(group * ROWS);
  [[dont_unroll]] for (own_row = place / LANES; own_row < ROWS; own_row += UNITS) {
    uint row = group * ROWS + own_row;
#if SURPLUS_UNITS
    if (row >= BATCH_ROWS) return;
#endif
    uint unit = product_batch * BATCH_ROWS + row;
    prepare(unit);
    held(unit, lane);
  }
}
