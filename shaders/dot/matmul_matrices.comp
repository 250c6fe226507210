// Matrix product on the device's matrix units: result[batch, m, n] = sum over k of lhs[batch, m, k] * rhs[batch, k,
// n], of terms of 16 bits in sums of f32, or of bytes in sums of 32-bit integers.
//
// A workgroup of SUBGROUPS_Y by SUBGROUPS_X subgroups of LANES invocations owns a tile of SUBGROUPS_Y * TM rows and
// SUBGROUPS_X * TN columns and walks along k in steps of TK. A strip of each operand, TK values of k deep, lies in
// shared memory row by row (column by column for rhs) along k, in words of neighbouring values; 16 bytes lie between
// two rows, so that lanes that read neighbouring rows meet different banks. There are two strips of each operand, so
// that the next are read from memory while these are multiplied, and a step needs one barrier. A subgroup keeps TM by
// TN sums in matrices of M rows and N columns; each takes a product of M x K and K x N terms at a time.
//
// An operand that lies along k in memory comes 16 bytes at a time. One that lies across k comes as four rows (columns)
// of one k and those of the next three, and is turned on its way.
//
// Whole tiles know no tests: rows and columns beyond the end are those at the end again, whose results nobody stores.
// Only where TK does not divide k (K_TAIL) are values beyond the end zeros, of both operands, so that nothing comes of
// them. Sums leave through shared memory, M rows of a subgroup at a time, so that the epilogue takes four neighbours.
//
// Accuracy and order: one sum for each result, from zero, K ascending terms at a time. How the unit adds up K products
// and a sum is its own affair; the stand-in adds one after the other, each rounded. Integers are exact modulo 2^32.
//
// P(0) workgroups, P(1) tiles of rows, P(2) tiles of columns, P(3) rows, P(4) units of four columns, P(5) values of k,
// P(6) shares of k, P(7) values of k of a share, a multiple of TK unless it is all.
//
// The generated part defines Sum, BITS_OF(sum) and SUM_OF(bits), BYTES (terms are bytes), LANES, SUBGROUPS_X,
// SUBGROUPS_Y, TM, TN, TK, M, N, K, LHS_ALONG_K, RHS_ALONG_K, K_TAIL, SPLIT, COLUMNS, STAND_IN with TERM_OF(word, i),
// or TERM, SUM and SIGNS of the unit and MATRIX, what SPIR-V asks for, load_lhs(batch, row, k, part) and
// load_rhs(batch, k, column, part) of LHS_WORDS and RHS_WORDS words, where the dimension that lies along memory counts
// what is loaded at a time and k of one that lies across counts four, and store(batch, row, unit, share, sums).
#include "generated"

#define X (LANES * SUBGROUPS_X * SUBGROUPS_Y)
#define TILE_ROWS (SUBGROUPS_Y * TM)
#define TILE_COLUMNS (SUBGROUPS_X * TN)
// Words of four values of k of a row; in fours of words: a row of a strip, what lies from one to the next, both strips.
#if BYTES
#define FOUR_WORDS 1u
#else
#define FOUR_WORDS 2u
#endif
#define ROW (TK * FOUR_WORDS / 16u)
#define STRIDE (ROW + 1u)
#define STRIPS (STRIDE * (TILE_ROWS + TILE_COLUMNS))
// Loads of each invocation for a strip.
#define LHS_LOADS (TILE_ROWS * ROW * 4u / (LHS_WORDS * X))
#define RHS_LOADS (TILE_COLUMNS * ROW * 4u / (RHS_WORDS * X))
// Values that are loaded along k at a time.
#define ALONG (16u / FOUR_WORDS)
// A subgroup's sums on their way out, M rows, in fours.
#define SUMS_STRIDE (TN / 4u + 1u)
shared uvec4 strips[2u * STRIPS];

#if STAND_IN
#define MATRIX_A uint
#define MATRIX_B uint
struct MATRIX_C {
  Sum v[M * N / LANES];
};
#define BARRIER() barrier()
#define PUT(place, value) place = value
#define PUT_WORD(place, value) place = value
#define SUBGROUP (gl_LocalInvocationIndex / LANES)
#define LANE (gl_LocalInvocationIndex % LANES)

// The k-th value of a row.
Sum term(uint row, uint k) {
  uint word = k * FOUR_WORDS / 4u;
  return Sum(TERM_OF(strips[row + word / 4u][word % 4u], k % (4u / FOUR_WORDS)));
}
// Matrices of terms stay in the strips. Written out they would only take software drivers' compilers time.
#define EACH_MATRIX
#define LOAD_A(m, at) m = at
#define LOAD_B(m, at) m = at
MATRIX_C clear_matrix() {
  MATRIX_C c;
  for (uint e = 0u; e < M * N / LANES; ++e) c.v[e] = Sum(0);
  return c;
}
MATRIX_C multiply_add_matrices(uint a, uint b, MATRIX_C c) {
  for (uint e = 0u; e < M * N / LANES; ++e) {
    uint place = e * LANES + LANE;
    for (uint k = 0u; k < K; ++k) {
      precise Sum product = term(a + place / N * STRIDE, k) * term(b + place % N * STRIDE, k);
      precise Sum next = c.v[e] + product;
      c.v[e] = next;
    }
  }
  return c;
}
void store_matrix(uint base, uint column, MATRIX_C c) {
  for (uint e = 0u; e < M * N / LANES; ++e) {
    uint place = e * LANES + LANE, at = column + place % N;
    strips[base + place / N * SUMS_STRIDE + at / 4u][at % 4u] = BITS_OF(c.v[e]);
  }
}
#else
#pragma use_vulkan_memory_model
// Constants, as SPIR-V wants ids. A barrier acquires and releases all of shared memory and makes it available and
// visible (0x6108), so that loads and stores need only say that it is not private (0x20): those that are made available
// or visible by themselves, as GLSL's own are, wait for each other.
const uint kComponent = TERM, kSums = SUM, kSubgroup = 3u, kWorkgroup = 2u, kRows = M, kColumns = N, kTerms = K;
const uint kA = 0u, kB = 1u, kC = 2u, kRowMajor = 0u, kColumnMajor = 1u;
const uint kStride = STRIDE, kSumsStride = SUMS_STRIDE, kSemantics = 0x6108u;
#define MATRIX_A spirv_type(MATRIX, id = 4456, kComponent, kSubgroup, kRows, kTerms, kA)
#define MATRIX_B spirv_type(MATRIX, id = 4456, kComponent, kSubgroup, kTerms, kColumns, kB)
#define MATRIX_C spirv_type(MATRIX, id = 4456, kSums, kSubgroup, kRows, kColumns, kC)
#define NOT_PRIVATE 0x20
spirv_instruction(id = 224)
void control_barrier(uint execution, uint memory, uint semantics);
#define BARRIER() control_barrier(kWorkgroup, kWorkgroup, kSemantics)
spirv_instruction(id = 62)
void store_four(spirv_by_reference uvec4 at, uvec4 value, spirv_literal int operands);
spirv_instruction(id = 62)
void store_word(spirv_by_reference uint at, uint value, spirv_literal int operands);
#define PUT(place, value) store_four(place, value, NOT_PRIVATE)
#define PUT_WORD(place, value) store_word(place, value, NOT_PRIVATE)
spirv_instruction(id = 4457)
MATRIX_A load_matrix_a(spirv_by_reference uvec4 at, uint order, uint stride, spirv_literal int operands);
spirv_instruction(id = 4457)
MATRIX_B load_matrix_b(spirv_by_reference uvec4 at, uint order, uint stride, spirv_literal int operands);
spirv_instruction(id = 4458)
void store_matrix_c(spirv_by_reference uvec4 at, MATRIX_C c, uint order, uint stride, spirv_literal int operands);
spirv_instruction(id = 4459)
MATRIX_C multiply_add_signed(MATRIX_A a, MATRIX_B b, MATRIX_C c, spirv_literal int signs);
spirv_instruction(id = 80)  // OpCompositeConstruct
MATRIX_C matrix_of(Sum value);
#define EACH_MATRIX [[unroll]]
#define SUBGROUP gl_SubgroupID
#define LANE gl_SubgroupInvocationID
#define LOAD_A(m, at) m = load_matrix_a(strips[at], kRowMajor, kStride, NOT_PRIVATE)
#define LOAD_B(m, at) m = load_matrix_b(strips[at], kColumnMajor, kStride, NOT_PRIVATE)
#define clear_matrix() matrix_of(Sum(0))
#define multiply_add_matrices(a, b, c) multiply_add_signed(a, b, c, SIGNS)
#define store_matrix(base, column, c) \
  store_matrix_c(strips[(base) + (column) / 4u], c, kRowMajor, kSumsStride, NOT_PRIVATE)
#endif

// Where an invocation's p-th load of a strip of an operand that lies along k, or across it, belongs: 64 neighbouring
// bytes across k go to eight neighbours, whose writes of turned units then meet few banks.
#define PLACE(p) (gl_LocalInvocationIndex + (p)*X)
#define ALONG_ROW(p) (PLACE(p) / (TK / ALONG))
#define ALONG_K(p) (PLACE(p) % (TK / ALONG))
#define ACROSS_ROWS(p) (PLACE(p) / (8u * TK / 4u) * 8u + PLACE(p) % 8u)
#define ACROSS_K(p) (PLACE(p) / 8u % (TK / 4u))

// What an invocation loads of the strips that begin at k.
void fetch(uint batch, uint first_row, uint first_column, uint k, uint end, out uint lhs_next[LHS_WORDS * LHS_LOADS],
           out uint rhs_next[RHS_WORDS * RHS_LOADS]) {
  [[unroll]] for (uint p = 0u; p < LHS_LOADS; ++p) {
    uint part[LHS_WORDS];
#if LHS_ALONG_K
    uint at = k / ALONG + ALONG_K(p), most = P(5) / ALONG - 1u, place = ALONG * at;
    uint row = min(first_row + ALONG_ROW(p), P(3) - 1u);
#else
    uint at = k / 4u + ACROSS_K(p), most = P(5) / 4u - 1u, place = 4u * at;
    uint row = min(first_row / 4u + ACROSS_ROWS(p), P(3) / 4u - 1u);
#endif
    load_lhs(batch, row, bool(K_TAIL) ? min(at, most) : at, part);
    [[unroll]] for (uint j = 0u; j < LHS_WORDS; ++j)
      lhs_next[LHS_WORDS * p + j] = !bool(K_TAIL) || place < end ? part[j] : 0u;
  }
  [[unroll]] for (uint p = 0u; p < RHS_LOADS; ++p) {
    uint part[RHS_WORDS];
#if RHS_ALONG_K
    uint at = k / ALONG + ALONG_K(p), most = P(5) / ALONG - 1u, place = ALONG * at;
    uint column = min(first_column + ALONG_ROW(p), COLUMNS - 1u);
#else
    uint at = k / 4u + ACROSS_K(p), most = P(5) / 4u - 1u, place = 4u * at;
    uint column = min(first_column / 4u + ACROSS_ROWS(p), P(4) - 1u);
#endif
    load_rhs(batch, bool(K_TAIL) ? min(at, most) : at, column, part);
    [[unroll]] for (uint j = 0u; j < RHS_WORDS; ++j)
      rhs_next[RHS_WORDS * p + j] = !bool(K_TAIL) || place < end ? part[j] : 0u;
  }
}

// Writes four values of k, at word `w` of four rows (columns): `next` holds four rows of one k after another.
#if BYTES
void put_across(uint at, uint w, uint w0, uint w1, uint w2, uint w3) {
  [[unroll]] for (uint j = 0u; j < 4u; ++j) {
    uint shift = 8u * j;
    uint word = (w0 >> shift & 0xffu) | (w1 >> shift & 0xffu) << 8 | (w2 >> shift & 0xffu) << 16 | (w3 >> shift) << 24;
    PUT_WORD(strips[at + j * STRIDE][w], word);
  }
}
#define PUT_ACROSS(at, w, next, p) \
  put_across(at, w, next[4u * (p)], next[4u * (p) + 1u], next[4u * (p) + 2u], next[4u * (p) + 3u])
#else
// Two of the rows.
void put_pair(uint at, uint w, uint w0, uint w1, uint w2, uint w3) {
  PUT_WORD(strips[at][w], (w0 & 0xffffu) | w1 << 16);
  PUT_WORD(strips[at][w + 1u], (w2 & 0xffffu) | w3 << 16);
  PUT_WORD(strips[at + STRIDE][w], w0 >> 16 | (w1 & 0xffff0000u));
  PUT_WORD(strips[at + STRIDE][w + 1u], w2 >> 16 | (w3 & 0xffff0000u));
}
#define PUT_ACROSS(at, w, next, p)                                                                \
  put_pair(at, w, next[8u * (p)], next[8u * (p) + 2u], next[8u * (p) + 4u], next[8u * (p) + 6u]); \
  put_pair((at) + 2u * STRIDE, w, next[8u * (p) + 1u], next[8u * (p) + 3u], next[8u * (p) + 5u], next[8u * (p) + 7u])
#endif
#define PUT_ALONG(at, next, p) \
  PUT(strips[at], uvec4(next[4u * (p)], next[4u * (p) + 1u], next[4u * (p) + 2u], next[4u * (p) + 3u]))

// What was fetched, into the strips from `base` on.
void put(uint base, uint lhs_next[LHS_WORDS * LHS_LOADS], uint rhs_next[RHS_WORDS * RHS_LOADS]) {
  [[unroll]] for (uint p = 0u; p < LHS_LOADS; ++p) {
#if LHS_ALONG_K
    PUT_ALONG(base + ALONG_ROW(p) * STRIDE + ALONG_K(p), lhs_next, p);
#else
    uint word = ACROSS_K(p) * FOUR_WORDS;
    PUT_ACROSS(base + 4u * ACROSS_ROWS(p) * STRIDE + word / 4u, word % 4u, lhs_next, p);
#endif
  }
  base += STRIDE * TILE_ROWS;
  [[unroll]] for (uint p = 0u; p < RHS_LOADS; ++p) {
#if RHS_ALONG_K
    PUT_ALONG(base + ALONG_ROW(p) * STRIDE + ALONG_K(p), rhs_next, p);
#else
    uint word = ACROSS_K(p) * FOUR_WORDS;
    PUT_ACROSS(base + 4u * ACROSS_ROWS(p) * STRIDE + word / 4u, word % 4u, rhs_next, p);
#endif
  }
}

void main() {
  load_arguments();
  uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
  if (group >= P(0)) return;
  uint first_column = group % P(2) * TILE_COLUMNS;
  group = group / P(2);
  uint first_row = group % P(1) * TILE_ROWS;
  group = group / P(1);
  uint share = 0u;
#if SPLIT
  share = group % P(6);
  group = group / P(6);
#endif
  uint batch = group;
  uint begin = share * P(7);
  uint end = min(P(5), begin + P(7));
  uint sub_row = SUBGROUP / SUBGROUPS_X * TM, sub_column = SUBGROUP % SUBGROUPS_X * TN;

  MATRIX_C sums[TM / M * (TN / N)];
  EACH_MATRIX for (uint i = 0u; i < TM / M * (TN / N); ++i) sums[i] = clear_matrix();
  uint lhs_next[LHS_WORDS * LHS_LOADS], rhs_next[RHS_WORDS * RHS_LOADS];
  fetch(batch, first_row, first_column, begin, end, lhs_next, rhs_next);
  uint base = 0u;
  for (uint k = begin; k < end; k += TK) {
    put(base, lhs_next, rhs_next);
    BARRIER();
    // The last turn fetches its own strips again, so that there is no test around the loads.
    fetch(batch, first_row, first_column, k + TK < end ? k + TK : k, end, lhs_next, rhs_next);
    uint lhs_at = base + sub_row * STRIDE, rhs_at = base + (TILE_ROWS + sub_column) * STRIDE;
    EACH_MATRIX for (uint kk = 0u; kk < TK; kk += K) {
      MATRIX_A a[TM / M];
      MATRIX_B b[TN / N];
      EACH_MATRIX for (uint i = 0u; i < TM / M; ++i) LOAD_A(a[i], lhs_at + M * i * STRIDE + kk * FOUR_WORDS / 16u);
      EACH_MATRIX for (uint j = 0u; j < TN / N; ++j) LOAD_B(b[j], rhs_at + N * j * STRIDE + kk * FOUR_WORDS / 16u);
      EACH_MATRIX for (uint i = 0u; i < TM / M; ++i) {
        EACH_MATRIX for (uint j = 0u; j < TN / N; ++j)
          sums[i * (TN / N) + j] = multiply_add_matrices(a[i], b[j], sums[i * (TN / N) + j]);
      }
    }
    base = STRIPS - base;
  }
  uint out_at = SUBGROUP * (M * SUMS_STRIDE);
  EACH_MATRIX for (uint i = 0u; i < TM / M; ++i) {
    BARRIER();
    EACH_MATRIX for (uint j = 0u; j < TN / N; ++j) store_matrix(out_at, N * j, sums[i * (TN / N) + j]);
    BARRIER();
    for (uint q = LANE; q < M * TN / 4u; q += LANES) {
      uvec4 bits = strips[out_at + q / (TN / 4u) * SUMS_STRIDE + q % (TN / 4u)];
      uint row = first_row + sub_row + M * i + q / (TN / 4u);
      uint unit = (first_column + sub_column) / 4u + q % (TN / 4u);
      Sum four[4];
      [[unroll]] for (uint j = 0u; j < 4u; ++j) four[j] = SUM_OF(bits[j]);
      if (row < P(3) && unit < P(4)) store(batch, row, unit, share, four);
    }
  }
}
