// Matrix product on matrices of whole workgroups (VK_NV_cooperative_matrix2): result[batch, m, n] = sum over k of
// lhs[batch, m, k] * rhs[batch, k, n], of terms of 16 bits or of bytes as they lie in memory.
//
// A workgroup of X invocations owns a tile of M rows and N columns and takes K values of k at a time: the driver brings
// them from memory to the units, by layouts that say where rows lie, and spreads the tile over its invocations. Where a
// tile, or a step along k, lies inside of the operands their layouts are plain; else they give zeros for what lies
// outside, and store none of it. An operand whose rows are not the matrix's is turned by a view.
//
// Sums leave as they are, or finished by the epilogue and converted, by a layout too (RESULT); or element by element,
// each by the epilogue's stores (STORES).
//
// Accuracy and order: as dot/matmul_matrices.comp: one sum for each result, from zero, K ascending terms at a time, in
// what order and by how many products is the unit's own affair; the stand-in adds one after the other, each rounded.
//
// GROUP_COUNT workgroups, ROW_TILES tiles of rows, COLUMN_TILES tiles of columns, ROW_COUNT rows, COLUMNS columns,
// STEP_COUNT values of k, SHARES shares of k, SHARE_STEPS values of k of a share, a multiple of K unless it is all.
//
// The generated part defines Sum, BITS_OF(sum) and SUM_OF(bits), BYTES (terms are bytes), X, M, N, K, RASTER, SPLIT,
// EDGES (0: all tiles are whole), LHS_ALONG_K and RHS_ALONG_K, STAND_IN with TERM_OF(word, i), or TERM, SUM and SIGNS of
// the unit and MATRIX, what SPIR-V asks for; of both operands LHS(i), the first TERM_ELEMENT of the i-th sixteen bytes in
// memory (the i-th word for plain code), LHS_FIRST(batch), the sixteen bytes that a batch begins with, and LHS_STRIDE,
// elements from one row in memory to the next. FINISHES: there is
// finish(batch, row, column, share, sum), the value to store. STORES: there is store(batch, row, column, share, sum).
// RESULT_TYPE: 0 (none is stored by a layout), 1 (sums are), 2 (they are converted to terms first); with RESULT(i) of
// RESULT_ELEMENT and RESULT_FIRST(batch, share) like those of operands, RESULT_ALONG elements in sixteen bytes, and
// PUT_RESULT(i, value), which stores an element.
#include "generated"

#if STAND_IN
// What layouts and views mean, by plain code.
#if BYTES
#define PER_WORD 4u
#else
#define PER_WORD 2u
#endif
struct Rows {
  uvec2 size, first;  // of the whole, and of what is read
  uint stride;
  bool clamped;
};
struct MATRIX_C {
  Sum v[M * N / X];
};
#define PLAIN Rows
#define CLAMPED Rows
#define MATRIX_A Rows
#define MATRIX_B Rows
#define CREATE_PLAIN(rows, columns, stride) Rows(uvec2(rows, columns), uvec2(0u), stride, false)
#define CREATE_CLAMPED(rows, columns, stride) Rows(uvec2(rows, columns), uvec2(0u), stride, true)
Rows slice(Rows of, uint row, uint column) {
  of.first += uvec2(row, column);
  return of;
}
#define LOAD_LHS(kind, a, of, k) a = LHS_SLICE(of, k)
#define LOAD_RHS(kind, b, of, k) b = RHS_SLICE(of, k)
#if LHS_ALONG_K
#define LHS_SLICE(of, k) slice(of, first_row, k)
#define LHS_TURN(at) (at)
#else
#define LHS_SLICE(of, k) slice(of, k, first_row)
#define LHS_TURN(at) (at).yx
#endif
#if RHS_ALONG_K
#define RHS_SLICE(of, k) slice(of, first_column, k)
#define RHS_TURN(at) (at).yx
#else
#define RHS_SLICE(of, k) slice(of, k, first_column)
#define RHS_TURN(at) (at)
#endif
// The term at a place; what lies outside of a plain layout is not defined: a term that makes sums wrong.
#define READ_TERM(OPERAND, term, begin, rows, place)                                                  \
  bool term##_inside = all(lessThan(place, (rows).size));                                             \
  uint term##_at = term##_inside ? place.x * (rows).stride + place.y : 0u;                            \
  Sum term = Sum(TERM_OF(OPERAND(4u * (begin) + term##_at / PER_WORD), term##_at % PER_WORD));        \
  term = term##_inside ? term : Sum((rows).clamped ? 0 : 3);
#define MULTIPLY_ADD_MATRICES(a, b, sums)                                                             \
  [[dont_unroll]] for (uint e = 0u; e < M * N / X; ++e) {                                             \
    uint at = e * X + gl_LocalInvocationIndex;                                                        \
    uvec2 of_a = a.first + LHS_TURN(uvec2(at / N, 0u)), of_b = b.first + RHS_TURN(uvec2(0u, at % N)); \
    Sum sum = sums.v[e];                                                                              \
    [[dont_unroll]] for (uint term = 0u; term < K; ++term) {                                          \
      READ_TERM(LHS, lhs_term, lhs_first, a, of_a)                                                    \
      READ_TERM(RHS, rhs_term, rhs_first, b, of_b)                                                    \
      precise Sum product = lhs_term * rhs_term;                                                      \
      precise Sum next = sum + product;                                                               \
      sum = next;                                                                                     \
      of_a += LHS_TURN(uvec2(0u, 1u));                                                                \
      of_b += RHS_TURN(uvec2(1u, 0u));                                                                \
    }                                                                                                 \
    sums.v[e] = sum;                                                                                  \
  }
MATRIX_C clear_matrix() {
  MATRIX_C c;
  [[dont_unroll]] for (uint e = 0u; e < M * N / X; ++e) c.v[e] = Sum(0);
  return c;
}
#define EACH_ELEMENT(sums)                                                                               \
  [[dont_unroll]] for (uint e = 0u; e < M * N / X; ++e) {                                                \
    uint place = e * X + gl_LocalInvocationIndex;                                                        \
    sums.v[e] = finish_element(place / N, place % N, sums.v[e], batch, first_row, first_column, share);  \
  }
#define STORE_MATRIX(kind, of, sums)                                                                  \
  [[dont_unroll]] for (uint e = 0u; e < M * N / X; ++e) {                                             \
    uvec2 place = uvec2(first_row, first_column) + uvec2((e * X + gl_LocalInvocationIndex) / N,        \
                                                         (e * X + gl_LocalInvocationIndex) % N);       \
    if ((of).clamped && any(greaterThanEqual(place, (of).size))) continue;                            \
    uint element = result_first * RESULT_ALONG + place.x * (of).stride + place.y;                     \
    PUT_RESULT(element, sums.v[e]);                                                                   \
  }
#else
#pragma use_vulkan_memory_model
// Constants, as SPIR-V wants ids. The workgroup's size stands before all types already. Layouts of two dimensions that
// do not look where they read (0), or read zeros outside (1); a view that swaps both.
const uint kComponent = TERM, kSums = SUM, kWorkgroup = 2u, kRows = M, kColumns = N, kTerms = K;
const uint kA = 0u, kB = 1u, kC = 2u, kDimensions = 2u, kUndefined = 0u, kZeros = 1u, kFirst = 0u, kSecond = 1u;
const bool kOwnDimensions = false;
#define TENSORS extensions = ["SPV_NV_tensor_addressing"], capabilities = [5439]
#define MATRICES2 extensions = ["SPV_NV_cooperative_matrix2"], capabilities = [5433]
#define MATRIX_A spirv_type(MATRIX, id = 4456, kComponent, kWorkgroup, kRows, kTerms, kA)
#define MATRIX_B spirv_type(MATRIX, id = 4456, kComponent, kWorkgroup, kTerms, kColumns, kB)
#define MATRIX_C spirv_type(MATRIX, id = 4456, kSums, kWorkgroup, kRows, kColumns, kC)
#define PLAIN spirv_type(TENSORS, id = 5370, kDimensions, kUndefined)
#define CLAMPED spirv_type(TENSORS, id = 5370, kDimensions, kZeros)
#define TURN spirv_type(TENSORS, id = 5371, kDimensions, kOwnDimensions, kSecond, kFirst)
// Accesses say that they are aligned (2) to 16 bytes.
#define ALIGNED 2, 16
spirv_instruction(id = 5377)
TURN create_turn();
#define LAYOUT_FUNCTIONS(kind, Layout)                                                                               \
  spirv_instruction(id = 5372) Layout create_##kind();                                                               \
  spirv_instruction(id = 5373) Layout with_size_##kind(Layout of, uint rows, uint columns);                          \
  spirv_instruction(id = 5374) Layout with_stride_##kind(Layout of, uint of_rows, uint of_columns);                  \
  spirv_instruction(id = 5375) Layout slice_##kind(Layout of, uint row, uint rows, uint column, uint columns);       \
  spirv_instruction(MATRICES2, id = 5367) MATRIX_A load_a_##kind(                                                    \
      spirv_by_reference TERM_ELEMENT at, MATRIX_A clipped, Layout of, spirv_literal int access, spirv_literal int aligned, \
      spirv_literal int operands);                                                                                   \
  spirv_instruction(MATRICES2, id = 5367) MATRIX_A turn_a_##kind(                                                    \
      spirv_by_reference TERM_ELEMENT at, MATRIX_A clipped, Layout of, spirv_literal int access, spirv_literal int aligned, \
      spirv_literal int operands, TURN view);                                                                        \
  spirv_instruction(MATRICES2, id = 5367) MATRIX_B load_b_##kind(                                                    \
      spirv_by_reference TERM_ELEMENT at, MATRIX_B clipped, Layout of, spirv_literal int access, spirv_literal int aligned, \
      spirv_literal int operands);                                                                                   \
  spirv_instruction(MATRICES2, id = 5367) MATRIX_B turn_b_##kind(                                                    \
      spirv_by_reference TERM_ELEMENT at, MATRIX_B clipped, Layout of, spirv_literal int access, spirv_literal int aligned, \
      spirv_literal int operands, TURN view);
LAYOUT_FUNCTIONS(plain, PLAIN)
LAYOUT_FUNCTIONS(clamped, CLAMPED)
#define CREATE_PLAIN(rows, columns, stride) with_stride_plain(with_size_plain(create_plain(), rows, columns), stride, 1u)
#define CREATE_CLAMPED(rows, columns, stride) \
  with_stride_clamped(with_size_clamped(create_clamped(), rows, columns), stride, 1u)
spirv_instruction(id = 4459)
MATRIX_C multiply_add_signed(MATRIX_A a, MATRIX_B b, MATRIX_C c, spirv_literal int signs);
spirv_instruction(id = 80)  // OpCompositeConstruct
MATRIX_C matrix_of(Sum value);
#define clear_matrix() matrix_of(Sum(0))
#define MULTIPLY_ADD_MATRICES(a, b, sums) sums = multiply_add_signed(a, b, sums, SIGNS);
// What a view would leave out of a matrix stays as it is: nothing.
#if LHS_ALONG_K
#define LOAD_LHS(kind, a, of, k) \
  a = load_a_##kind(LHS(lhs_first), a, slice_##kind(of, first_row, M, k, K), ALIGNED, 0)
#else
#define LOAD_LHS(kind, a, of, k) \
  a = turn_a_##kind(LHS(lhs_first), a, slice_##kind(of, k, K, first_row, M), ALIGNED, 1, create_turn())
#endif
#if RHS_ALONG_K
#define LOAD_RHS(kind, b, of, k) \
  b = turn_b_##kind(RHS(rhs_first), b, slice_##kind(of, first_column, N, k, K), ALIGNED, 1, create_turn())
#else
#define LOAD_RHS(kind, b, of, k) \
  b = load_b_##kind(RHS(rhs_first), b, slice_##kind(of, k, K, first_column, N), ALIGNED, 0)
#endif
// Of a call of the function to be applied, whose first three arguments the elements take the place of
// (backend/vulkan/spirv/matrix_types.h).
spirv_instruction(extensions = ["SPV_NV_cooperative_matrix2"], capabilities = [5432], id = 5369)
MATRIX_C for_each_element(MATRIX_C sums, Sum called);
#define EACH_ELEMENT(sums) \
  sums = for_each_element(sums, finish_element(0u, 0u, Sum(0), batch, first_row, first_column, share));
#if RESULT_TYPE == 2
// Units have accumulators of few types, and terms of every one: the result is a matrix as lhs is.
#define MATRIX_R spirv_type(MATRIX, id = 4456, kComponent, kWorkgroup, kRows, kColumns, kA)
spirv_instruction(extensions = ["SPV_NV_cooperative_matrix2"], capabilities = [5431], id = 115)  // OpFConvert
MATRIX_R result_of(MATRIX_C sums);
#else
#define MATRIX_R MATRIX_C
#define result_of(sums) sums
#endif
#if RESULT_TYPE
#define STORE_FUNCTION(kind, Layout)                                                                               \
  spirv_instruction(MATRICES2, id = 5368) void store_##kind(spirv_by_reference RESULT_ELEMENT at, MATRIX_R result, Layout of, \
                                                            spirv_literal int access, spirv_literal int aligned,     \
                                                            spirv_literal int operands);
STORE_FUNCTION(plain, PLAIN)
STORE_FUNCTION(clamped, CLAMPED)
#endif
#define STORE_MATRIX(kind, of, sums) \
  store_##kind(RESULT(result_first), result_of(sums), slice_##kind(of, first_row, M, first_column, N), ALIGNED, 0);
#endif

#if FINISHES || STORES
Sum finish_element(const in uint at_row, const in uint at_column, const in Sum sum, const in uint batch,
                   const in uint first_row, const in uint first_column, const in uint share) {
  uint row = first_row + at_row, column = first_column + at_column;
#if STORES
  if (row < ROW_COUNT && column < COLUMNS) store(batch, row, column, share, sum);
#endif
#if FINISHES
  return finish(batch, min(row, ROW_COUNT - 1u), min(column, COLUMNS - 1u), share, sum);
#else
  return sum;
#endif
}
#endif

// Of an operand in memory: rows, and elements of a row.
#if LHS_ALONG_K
#define LHS_SIZE ROW_COUNT, STEP_COUNT
#else
#define LHS_SIZE STEP_COUNT, ROW_COUNT
#endif
#if RHS_ALONG_K
#define RHS_SIZE COLUMNS, STEP_COUNT
#else
#define RHS_SIZE STEP_COUNT, COLUMNS
#endif
// Twice as macros: a list of arguments counts only once it stands there.
#define PLAIN_OF(size, stride) CREATE_PLAIN(size, stride)
#define CLAMPED_OF(size, stride) CREATE_CLAMPED(size, stride)

#define MULTIPLY(kind, Layout, CREATE_OF, from, to)                       \
  {                                                                       \
    Layout lhs = CREATE_OF(LHS_SIZE, LHS_STRIDE);                         \
    Layout rhs = CREATE_OF(RHS_SIZE, RHS_STRIDE);                         \
    for (uint k = from; k < to; k += K) {                                 \
      MATRIX_A a;                                                         \
      MATRIX_B b;                                                         \
      LOAD_LHS(kind, a, lhs, k);                                          \
      LOAD_RHS(kind, b, rhs, k);                                          \
      MULTIPLY_ADD_MATRICES(a, b, sums)                                   \
    }                                                                     \
  }

void main() {
  load_arguments();
  uint group = WORKGROUP;
  if (group >= GROUP_COUNT) return;
  uint tile = group % (ROW_TILES * COLUMN_TILES);
  group = group / (ROW_TILES * COLUMN_TILES);
  uint most = uint(RASTER), first_of_band = tile / (most * COLUMN_TILES) * most;
  tile -= first_of_band * COLUMN_TILES;
  uint band = min(most, ROW_TILES - first_of_band);
  uint first_row = (first_of_band + tile % band) * M, first_column = tile / band * N;
  uint share = 0u;
#if SPLIT
  share = group % SHARES;
  group = group / SHARES;
#endif
  uint batch = group;
  // Shares begin with whole steps, which compilers cannot know.
  uint begin = share * SHARE_STEPS & ~(K - 1u);
  uint end = min(STEP_COUNT, begin + SHARE_STEPS);
  uint lhs_first = LHS_FIRST(batch), rhs_first = RHS_FIRST(batch);

  MATRIX_C sums = clear_matrix();
#if EDGES
  bool inside = first_row + M <= ROW_COUNT && first_column + N <= COLUMNS;
  uint whole = inside ? begin + (end - begin) / K * K : begin;
  MULTIPLY(plain, PLAIN, PLAIN_OF, begin, whole)
  MULTIPLY(clamped, CLAMPED, CLAMPED_OF, whole, end)
#else
  MULTIPLY(plain, PLAIN, PLAIN_OF, begin, end)
#endif
#if FINISHES || STORES
  EACH_ELEMENT(sums)
#endif
#if RESULT_TYPE
  uint result_first = RESULT_FIRST(batch, share);
#if EDGES
  CLAMPED result = CREATE_CLAMPED(ROW_COUNT, COLUMNS, COLUMNS);
  STORE_MATRIX(clamped, result, sums)
#else
  PLAIN result = CREATE_PLAIN(ROW_COUNT, COLUMNS, COLUMNS);
  STORE_MATRIX(plain, result, sums)
#endif
#endif
}
