// What kernels for matrix units have in common: matrices of terms and of sums, which the lanes of a subgroup hold
// together, and shared memory, SHARED_FOURS of uvec4. Matrices of terms are loaded from rows along k (columns along k
// for B) that lie `stride` uvec4 apart, from strips[at] on, or, with LOAD_B_ROWS, which wants B_ACROSS_K, from rows of B;
// matrices of sums from and to rows of 32 bits.
//
// The generated part defines Sum, BITS_OF(sum) and SUM_OF(bits), BYTES (terms are bytes), LANES, M, N, K, STAND_IN with
// TERM_OF(word, i), or TERM, SUM and SIGNS of the unit and MATRIX, what SPIR-V asks for.

// Words of four values of k of a row.
#if BYTES
#define FOUR_WORDS 1u
#else
#define FOUR_WORDS 2u
#endif
shared uvec4 strips[SHARED_FOURS];

#if STAND_IN
#define MATRIX_A uvec2
#define MATRIX_B uvec2
struct MATRIX_C {
  Sum v[M * N / LANES];
};
#define BARRIER() barrier()
#define SUBGROUP_BARRIER() barrier()
#define PUT(place, value) place = value
#define PUT_WORD(place, value) place = value
#define GET(place) place
#define SUBGROUP (gl_LocalInvocationIndex / LANES)
#define LANE (gl_LocalInvocationIndex % LANES)

// The k-th value of a row.
Sum term(uint row, uint k) {
  uint word = k * FOUR_WORDS / 4u;
  return Sum(TERM_OF(strips[row + word / 4u][word % 4u], k % (4u / FOUR_WORDS)));
}
// Matrices of terms stay in the strips. Written out they would only take software drivers' compilers time.
#define EACH_MATRIX
#define LOAD_A(m, at, stride) m = uvec2(at, stride)
#define LOAD_B(m, at, stride) m = uvec2(at, stride)
#define LOAD_B_ROWS(m, at, stride) m = uvec2(at, stride)
#ifdef B_ACROSS_K
#define TERM_OF_B(b, k, column) term(b.x + (k)*b.y, column)
#else
#define TERM_OF_B(b, k, column) term(b.x + (column)*b.y, k)
#endif
MATRIX_C clear_matrix() {
  MATRIX_C c;
  for (uint e = 0u; e < M * N / LANES; ++e) c.v[e] = Sum(0);
  return c;
}
MATRIX_C multiply_add_matrices(uvec2 a, uvec2 b, MATRIX_C c) {
  for (uint e = 0u; e < M * N / LANES; ++e) {
    uint place = e * LANES + LANE;
    for (uint k = 0u; k < K; ++k) {
      precise Sum product = term(a.x + place / N * a.y, k) * TERM_OF_B(b, k, place % N);
      precise Sum next = c.v[e] + product;
      c.v[e] = next;
    }
  }
  return c;
}
MATRIX_C multiply_elements(MATRIX_C a, MATRIX_C b) {
  for (uint e = 0u; e < M * N / LANES; ++e) a.v[e] *= b.v[e];
  return a;
}
MATRIX_C load_sums(uint at, uint stride) {
  MATRIX_C c;
  for (uint e = 0u; e < M * N / LANES; ++e) {
    uint place = e * LANES + LANE;
    c.v[e] = SUM_OF(strips[at + place / N * stride + place % N / 4u][place % 4u]);
  }
  return c;
}
void store_matrix(uint base, uint stride, uint column, MATRIX_C c) {
  for (uint e = 0u; e < M * N / LANES; ++e) {
    uint place = e * LANES + LANE, at = column + place % N;
    strips[base + place / N * stride + at / 4u][at % 4u] = BITS_OF(c.v[e]);
  }
}
#else
#pragma use_vulkan_memory_model
// Constants, as SPIR-V wants ids. A barrier acquires and releases all of shared memory and makes it available and
// visible (0x6108), so that loads and stores need only say that it is not private (0x20): those that are made available
// or visible by themselves, as GLSL's own are, wait for each other.
const uint kComponent = TERM, kSums = SUM, kSubgroup = 3u, kWorkgroup = 2u, kRows = M, kColumns = N, kTerms = K;
const uint kA = 0u, kB = 1u, kC = 2u, kRowMajor = 0u, kColumnMajor = 1u, kSemantics = 0x6108u;
#define MATRIX_A spirv_type(MATRIX, id = 4456, kComponent, kSubgroup, kRows, kTerms, kA)
#define MATRIX_B spirv_type(MATRIX, id = 4456, kComponent, kSubgroup, kTerms, kColumns, kB)
#define MATRIX_C spirv_type(MATRIX, id = 4456, kSums, kSubgroup, kRows, kColumns, kC)
#define NOT_PRIVATE 0x20
spirv_instruction(id = 224)
void control_barrier(uint execution, uint memory, uint semantics);
#define BARRIER() control_barrier(kWorkgroup, kWorkgroup, kSemantics)
#define SUBGROUP_BARRIER() control_barrier(kSubgroup, kSubgroup, kSemantics)
spirv_instruction(id = 61)
uvec4 load_four(spirv_by_reference uvec4 at, spirv_literal int operands);
spirv_instruction(id = 62)
void store_four(spirv_by_reference uvec4 at, uvec4 value, spirv_literal int operands);
spirv_instruction(id = 62)
void store_word(spirv_by_reference uint at, uint value, spirv_literal int operands);
#define PUT(place, value) store_four(place, value, NOT_PRIVATE)
#define PUT_WORD(place, value) store_word(place, value, NOT_PRIVATE)
#define GET(place) load_four(place, NOT_PRIVATE)
spirv_instruction(id = 4457)
MATRIX_A load_matrix_a(spirv_by_reference uvec4 at, uint order, uint stride, spirv_literal int operands);
spirv_instruction(id = 4457)
MATRIX_B load_matrix_b(spirv_by_reference uvec4 at, uint order, uint stride, spirv_literal int operands);
spirv_instruction(id = 4457)
MATRIX_C load_matrix_c(spirv_by_reference uvec4 at, uint order, uint stride, spirv_literal int operands);
spirv_instruction(id = 4458)
void store_matrix_c(spirv_by_reference uvec4 at, MATRIX_C c, uint order, uint stride, spirv_literal int operands);
spirv_instruction(id = 4459)
MATRIX_C multiply_add_signed(MATRIX_A a, MATRIX_B b, MATRIX_C c, spirv_literal int signs);
spirv_instruction(id = 133)  // OpFMul
MATRIX_C multiply_elements(MATRIX_C a, MATRIX_C b);
spirv_instruction(id = 80)  // OpCompositeConstruct
MATRIX_C matrix_of(Sum value);
#define EACH_MATRIX [[unroll]]
#define SUBGROUP gl_SubgroupID
#define LANE gl_SubgroupInvocationID
#define LOAD_A(m, at, stride) m = load_matrix_a(strips[at], kRowMajor, stride, NOT_PRIVATE)
#define LOAD_B(m, at, stride) m = load_matrix_b(strips[at], kColumnMajor, stride, NOT_PRIVATE)
#define LOAD_B_ROWS(m, at, stride) m = load_matrix_b(strips[at], kRowMajor, stride, NOT_PRIVATE)
#define load_sums(at, stride) load_matrix_c(strips[at], kRowMajor, stride, NOT_PRIVATE)
#define clear_matrix() matrix_of(Sum(0))
#define multiply_add_matrices(a, b, c) multiply_add_signed(a, b, c, SIGNS)
#define store_matrix(base, stride, column, c) \
  store_matrix_c(strips[(base) + (column) / 4u], c, kRowMajor, stride, NOT_PRIVATE)
#endif

// Writes values of k of rows that lie `stride` apart from strips[at] on, of a matrix that lies across k in memory. Four
// values, at word `w`: of four rows; `w0` to `w3` hold four rows of one k after another.
#if BYTES
void put_across(uint at, uint stride, uint w, uint w0, uint w1, uint w2, uint w3) {
  [[unroll]] for (uint j = 0u; j < 4u; ++j) {
    uint shift = 8u * j;
    uint word = (w0 >> shift & 0xffu) | (w1 >> shift & 0xffu) << 8 | (w2 >> shift & 0xffu) << 16 | (w3 >> shift) << 24;
    PUT_WORD(strips[at + j * stride][w], word);
  }
}
#define PUT_ACROSS(at, stride, w, next, p) \
  put_across(at, stride, w, next[4u * (p)], next[4u * (p) + 1u], next[4u * (p) + 2u], next[4u * (p) + 3u])
#else
// Two of the rows.
void put_pair(uint at, uint stride, uint w, uint w0, uint w1, uint w2, uint w3) {
  PUT_WORD(strips[at][w], (w0 & 0xffffu) | w1 << 16);
  PUT_WORD(strips[at][w + 1u], (w2 & 0xffffu) | w3 << 16);
  PUT_WORD(strips[at + stride][w], w0 >> 16 | (w1 & 0xffff0000u));
  PUT_WORD(strips[at + stride][w + 1u], w2 >> 16 | (w3 & 0xffff0000u));
}
#define PUT_ACROSS(at, stride, w, next, p)                                                                \
  put_pair(at, stride, w, next[8u * (p)], next[8u * (p) + 2u], next[8u * (p) + 4u], next[8u * (p) + 6u]); \
  put_pair((at) + 2u * (stride), stride, w, next[8u * (p) + 1u], next[8u * (p) + 3u], next[8u * (p) + 5u], \
           next[8u * (p) + 7u])
#endif
// 16 bytes of k of one row.
#define PUT_ALONG(at, next, p) \
  PUT(strips[at], uvec4(next[4u * (p)], next[4u * (p) + 1u], next[4u * (p) + 2u], next[4u * (p) + 3u]))
