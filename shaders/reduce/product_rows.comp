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
// Accuracy and order: one sum for each element of the product, from zero, k ascending, each step as MULTIPLY_ADD; sums
// over rows as in rows.comp.
//
// P(0) workgroups, P(1) units, P(2) steps of a row.
//
// The generated part defines what rows.comp says of HELD, MULTIPLY_ADD(quad, a, quad), TERM_QUADS, quads along k of all
// terms, COLUMN_QUADS, ROWS, INVOCATIONS, ROWS_OWN, WIDE, STRIP, load_lhs(row, quad along k) and load_rhs(k, quad of
// columns), vec4 both.
layout(constant_id = 3) const uint BLOCK = 64;
layout(constant_id = 4) const uint LANES = 1;
layout(constant_id = 5) const uint UNITS = 1;

uint own_row;  // among the workgroup's
vec4 product_at(uint step);

#include "shaders/reduce/join_lanes.glsl"

#include "generated"

#define STRIP_QUADS (ROWS * STRIP)
#define FETCHES ((STRIP_QUADS + INVOCATIONS - 1u) / INVOCATIONS)
shared vec4 lhs_strips[2u * STRIP_QUADS];
shared vec4 product_tile[ROWS * COLUMN_QUADS];

vec4 product_at(uint step) { return product_tile[own_row * COLUMN_QUADS + step]; }

void fetch_strip(uint first_row, uint k, out vec4 next[FETCHES]) {
  [[unroll]] for (uint p = 0u; p < FETCHES; ++p) {
    uint e = min(gl_LocalInvocationIndex + p * INVOCATIONS, STRIP_QUADS - 1u);
    next[p] = load_lhs(min(first_row + e / STRIP, P(1) - 1u), min(k + e % STRIP, TERM_QUADS - 1u));
  }
}

void fetch_terms(uint k, uint column, out vec4 terms[4]) {
  [[unroll]] for (uint j = 0u; j < 4u; ++j) terms[j] = load_rhs(4u * k + j, column);
}

void multiply_rows(uint first_row) {
  uint first = gl_LocalInvocationIndex / WIDE * ROWS_OWN;
  for (uint base = 0u; base < COLUMN_QUADS; base += WIDE) {
    uint column = base + gl_LocalInvocationIndex % WIDE, read = min(column, COLUMN_QUADS - 1u);
    vec4 sums[ROWS_OWN], terms[4], next[FETCHES];
    [[unroll]] for (uint i = 0u; i < ROWS_OWN; ++i) sums[i] = vec4(0.0f);
    fetch_terms(0u, read, terms);
    fetch_strip(first_row, 0u, next);
    uint which = 0u;
    for (uint k = 0u; k < TERM_QUADS; k += STRIP) {
      [[unroll]] for (uint p = 0u; p < FETCHES; ++p) {
        uint e = gl_LocalInvocationIndex + p * INVOCATIONS;
        if (e < STRIP_QUADS) lhs_strips[which + e] = next[p];
      }
      barrier();
      fetch_strip(first_row, k + STRIP, next);
      uint end = min(STRIP, TERM_QUADS - k);
      for (uint q = 0u; q < end; ++q) {
        vec4 later[4];
        fetch_terms(min(k + q + 1u, TERM_QUADS - 1u), read, later);
        [[unroll]] for (uint i = 0u; i < ROWS_OWN; ++i) {
          vec4 a = lhs_strips[which + min(first + i, ROWS - 1u) * STRIP + q];
          [[unroll]] for (uint j = 0u; j < 4u; ++j) MULTIPLY_ADD(sums[i], a[j], terms[j]);
        }
        terms = later;
      }
      which = STRIP_QUADS - which;
    }
    [[unroll]] for (uint i = 0u; i < ROWS_OWN; ++i) {
      if (first + i < ROWS && column < COLUMN_QUADS) product_tile[(first + i) * COLUMN_QUADS + column] = sums[i];
    }
    barrier();
  }
}

void main() {
  load_arguments();
  uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
#if SURPLUS_GROUPS
  if (group >= P(0)) return;
#endif
  uint place = gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID, lane = place % LANES;
  multiply_rows(group * ROWS);
  [[dont_unroll]] for (own_row = place / LANES; own_row < ROWS; own_row += UNITS) {
    uint unit = group * ROWS + own_row;
#if SURPLUS_UNITS
    if (unit >= P(1)) return;
#endif
    prepare(unit);
    held(unit, lane);
  }
}
