// Constraints of the element-wise ops, of moving elements and of indexing.
#include "tests/infer/constraint_test_support.h"

namespace VXLA_NAMESPACE {
namespace constraints_movement_test {

// clang-format off
constexpr std::string_view kRows = R"(
array_c1: t=(f32[2], f32[2]) => negate(t)
! negate: operand 0 is (f32[2], f32[2]), not an array
array_c1: t=token[] => f32[2] reshape(t)
! reshape: operand 0 is token[], not an array
token_c1 add_dependency_c1: x=f32[2]; y=f32[2] => add-dependency(x, y)
! add-dependency: operand 1 is f32[2], not a token
scalar_c1: x=f32[2]; v=f32[1] => f32[4] pad(x, v), padding=1_1
! pad: operand 1 is f32[1], not a scalar
text: x=f32[2] => add(x)
! add: 1 operands, expected 2
arity_c2 concatenate_c3: => f32[2] concatenate(), dimensions={0}
! concatenate: 0 operands, at least 1 needed
arity_c2: x=f32[2] => reduce(x), dimensions={0}, to_apply=add
! reduce: 1 operands, at least 2 needed
text: x=f32[2]; z=f32[] => reduce(x, z), dimensions={0}
! reduce: the attribute to_apply is missing
stated_c1: x=f32[2] => (f32[2]) convert(x)
! convert: the stated shape (f32[2]) is not an array
stated_c2: x=f32[2] => f32[3] negate(x)
! negate: the stated shape f32[3] should be f32[2]
stated_c2: x=f32[2] => s32[2] negate(x)
! negate: the stated shape s32[2] should be f32[2]
same_type_c1 binary_c2: x=f32[2]; y=s32[2] => add(x, y)
! add: operand 0 is of f32, operand 1 of s32
same_dimensions_c1 binary_c1: x=f32[2]; y=f32[3] => add(x, y)
! add: operand 0 f32[2] and operand 1 f32[3] differ in their dimensions
type_c1 binary_c3: x=f32[2] => and(x, x)
! and: operand 0 is of f32, an integer type or pred needed
type_c1 binary_c3: x=c64[2] => remainder(x, x)
! remainder: operand 0 is of c64, an integer or floating type needed
type_c1 unary_c1: x=s32[2] => exponential(x)
! exponential: operand 0 is of s32, a floating or complex type needed
abs_c1 type_c1: x=u32[2] => abs(x)
! abs: operand 0 is of u32, a signed, floating or complex type needed
type_c1 unary_c1: x=f32[2] => popcnt(x)
! popcnt: operand 0 is of f32, an integer type needed
type_c1 unary_c1: x=c64[2] => floor(x)
! floor: operand 0 is of c64, a floating type needed
type_c1 unary_c1: x=pred[2] => negate(x)
! negate: operand 0 is of pred, an integer, floating or complex type needed
type_c1: x=c64[2] => remainder(x, x)
! remainder: operand 0 is of c64, an integer or floating type needed
type_c1: x=s32[2] => is-finite(x)
! is-finite: operand 0 is of s32, a floating type needed
type_c1: x=s32[2] => real(x)
! real: operand 0 is of s32, a floating or complex type needed
dimension_c1: x=f32[2] => reverse(x), dimensions={1}
! reverse: dimensions 1 is not a dimension of f32[2]
dimension_c2 reverse_c2: x=f32[2,3] => reverse(x), dimensions={1,1}
! reverse: dimensions {1,1} names 1 twice
dimension_c3 transpose_c2: x=f32[2,3] => transpose(x), dimensions={1}
! transpose: dimensions has 1 entries for the 2 dimensions of f32[2,3]
transpose_c2: x=f32[2,3] => transpose(x), dimensions={1,1}
! transpose: dimensions {1,1} names 1 twice
one_dimension_c1: x=f32[2] => concatenate(x, x), dimensions={0,0}
! concatenate: 2 dimensions, 1 needed
one_dimension_c1: x=f32[2] => get-dimension-size(x), dimensions={}
! get-dimension-size: 0 dimensions, 1 needed
signature_c1: x=f32[2]; z=f32[] => reduce(x, z), dimensions={0}, to_apply=neg
! reduce: computation neg has 1 parameters, 2 needed
signature_c3 reduce_c6: x=s32[2]; z=s32[] => reduce(x, z), dimensions={0}, to_apply=add
! reduce: parameter 0 of computation add is f32[], s32[] needed
signature_c5 reduce_c6: x=f32[2]; z=f32[] => reduce(x, z), dimensions={0}, to_apply=lt
! reduce: computation lt returns pred[], f32[] needed
shape_c1: x=f32[?] => negate(x)
! negate: f32[?] has an unbounded dimension, which cannot be compiled
text: x=f32[4294967296,4294967296] => negate(x)
! the product of the sizes above 0 of f32[4294967296,4294967296] exceeds the limit of 2^63-1
text: x=f64[2305843009213693952] => negate(x)
! f64[2305843009213693952] takes more than 17592186044416 bytes, the limit of an array
compare_c1: x=f32[2]; y=f64[2] => compare(x, y), direction=EQ
! compare: operand 0 is of f32, operand 1 of f64
compare_c2: x=f32[2]; y=f32[1] => compare(x, y), direction=EQ
! compare: operand 0 f32[2] and operand 1 f32[1] differ in their dimensions
compare_c3: x=s32[2] => compare(x, x), direction=LT, type=TOTALORDER
! compare: the comparison type does not fit operands of s32
compare_c3: x=f32[2] => compare(x, x), direction=LT, type=SIGNED
! compare: the comparison type does not fit operands of f32
compare_c4: x=c64[2] => compare(x, x), direction=LT
! compare: c64 has no order, direction EQ or NE needed
complex_c1: x=f16[2] => complex(x, x)
! complex: operand 0 is of f16, f32 or f64 needed
clamp_c1: a=f32[3]; x=f32[2]; b=f32[] => clamp(a, x, b)
! clamp: operand 0 f32[3] and operand 1 f32[2] differ in their dimensions
clamp_c2: a=f32[]; x=f32[2]; b=f32[1] => clamp(a, x, b)
! clamp: operand 2 f32[1] and operand 1 f32[2] differ in their dimensions
clamp_c3: a=s32[]; x=f32[2]; b=f32[] => clamp(a, x, b)
! clamp: operand 0 is of s32, operand 1 of f32
select_c1: p=pred[3]; x=f32[2] => select(p, x, x)
! select: operand 0 pred[3] and operand 1 f32[2] differ in their dimensions
select_c2: p=pred[]; x=f32[2]; y=f32[3] => select(p, x, y)
! select: operand 1 f32[2] and operand 2 f32[3] differ in their dimensions
select_c3: p=s32[]; x=f32[2] => select(p, x, x)
! select: operand 0 is of s32, pred needed
convert_c1: x=c64[2] => f32[2] convert(x)
! convert: from c64 to f32: take real or imag of a complex array
stochastic_convert_c1: x=f32[2]; b=u16[2] => bf16[2] stochastic-convert(x, b)
! stochastic-convert: operand 1 of u16 has not the width of f32
stochastic_convert_c2: x=f32[2]; b=u32[2] => c64[2] stochastic-convert(x, b)
! stochastic-convert: to c64: an integer or floating type needed
stochastic_convert_c2: x=f32[2]; b=u32[2] => f6e3m2fn[2] stochastic-convert(x, b)
! stochastic-convert: to f6e3m2fn: no integer type has its width
reduce_precision_c2: x=f32[2] => f32[2] reduce-precision(x), exponent_bits=0, mantissa_bits=3
! reduce-precision: exponent_bits 0 is below 1
reduce_precision_c4: x=f32[2] => f32[2] reduce-precision(x), exponent_bits=9223372036854775807, mantissa_bits=3
! reduce-precision: 9223372036854775807 bits, at most 2147483647 are possible
reduce_precision_c4: x=f32[2] => f32[2] reduce-precision(x), exponent_bits=5, mantissa_bits=2147483648
! reduce-precision: 2147483648 bits, at most 2147483647 are possible
reduce_precision_c3: x=f32[2] => f32[2] reduce-precision(x), exponent_bits=5, mantissa_bits=-1
! reduce-precision: mantissa_bits -1 is negative
bitcast_convert_c1: x=f16[3,4] => f32[3] bitcast-convert(x)
! bitcast-convert: the last dimension of f16[3,4] must be 2 to become f32
bitcast_convert_c1: x=u8[3] => f6e2m3fn[3] bitcast-convert(x)
! bitcast-convert: from u8 to f6e2m3fn: widths of 8 and 6 bits
bitcast_convert_c2: x=c64[3] => f64[3] bitcast-convert(x)
! bitcast-convert: from c64 to f64: both or neither must be complex
reshape_c1: x=f32[6] => f32[4] reshape(x)
! reshape: f32[6] has 6 elements, f32[4] has 4
reshape_c2: x=f32[6] => s32[6] reshape(x)
! reshape: the element types of f32[6] and s32[6] differ
dynamic_reshape_c2: x=f32[6]; n=f32[] => f32[<=6] dynamic-reshape(x, n)
! dynamic-reshape: operand 1 is f32[], not a scalar integer
dynamic_reshape_c3: x=f32[6]; n=s32[] => f32[<=5] dynamic-reshape(x, n)
! dynamic-reshape: f32[6] cannot become f32[<=5]
bitcast_c1: x=f32[6] => f32[5] bitcast(x)
! bitcast: f32[6] and f32[5] differ in size
broadcast_in_dim_c1: x=f32[2] => s32[2,2] broadcast(x), dimensions={0}
! broadcast: the element types of f32[2] and s32[2,2] differ
broadcast_in_dim_c2: x=f32[2] => f32[2,2] broadcast(x), dimensions={}
! broadcast: dimensions has 0 entries for the 1 dimensions of f32[2]
broadcast_in_dim_c3: x=f32[2] => f32[2,2] broadcast(x), dimensions={2}
! broadcast: dimensions 2 is not a dimension of f32[2,2]
broadcast_in_dim_c4: x=f32[2,2] => f32[2,2] broadcast(x), dimensions={0,0}
! broadcast: dimensions {0,0} names 0 twice
broadcast_in_dim_c5: x=f32[1] => f32[2,2] broadcast(x), dimensions={0}
! broadcast: dimension 0 of f32[1] has not the size of dimension 0 of f32[2,2]
concatenate_c1: x=f32[2]; y=s32[2] => concatenate(x, y), dimensions={0}
! concatenate: operand 1 is of s32, operand 0 of f32
concatenate_c2: x=f32[2,3]; y=f32[2,4] => concatenate(x, y), dimensions={0}
! concatenate: operand 1 f32[2,4] and operand 0 f32[2,3] differ outside of dimension 0
concatenate_c4: x=f32[2] => concatenate(x, x), dimensions={1}
! concatenate: dimension 1 is not a dimension of f32[2]
concatenate_c4: x=f32[] => concatenate(x, x), dimensions={0}
! concatenate: dimension 0 is not a dimension of f32[]
text: x=s8[0,9223372036854775807] => concatenate(x, x), dimensions={1}
! s8[0,9223372036854775807] takes more than 17592186044416 bytes, the limit of an array
iota_c1: => s32[2] iota(), iota_dimension=1
! iota: iota_dimension 1 is not a dimension of s32[2]
iota_c2: => pred[2] iota(), iota_dimension=0
! iota: pred has no consecutive values
iota_c3: => s32[] iota(), iota_dimension=0
! iota: s32[] has no dimension to count along
pad_c1: x=f32[2]; v=s32[] => pad(x, v), padding=1_1
! pad: operand 0 is of f32, operand 1 of s32
pad_c2: x=f32[2]; v=f32[] => pad(x, v), padding=1_1x0_0
! pad: padding has 2 entries for the 1 dimensions of f32[2]
pad_c3: x=f32[2]; v=f32[] => pad(x, v), padding=1_1_-1
! pad: interior padding -1 of dimension 0 is negative
pad_c4: x=f32[2]; v=f32[] => pad(x, v), padding=-2_-1
! pad: padding -2_-1_0 gives dimension 0 of f32[2] a size outside of 0 to 2^63-1
pad_c5: x=f32[2]; v=f32[] => pad(x, v), padding=-9223372036854775808_9223372036854775807
! pad: padding -9223372036854775808 of dimension 0 exceeds the limit of 2^44
pad_c5: x=f32[2]; v=f32[] => pad(x, v), padding=0_0_9223372036854775807
! pad: padding 9223372036854775807 of dimension 0 exceeds the limit of 2^44
pad_c5: x=f32[]; v=f32[] => pad(x, v), padding={}
! (accepted)
slice_c2: x=f32[2] => f32[1] slice(x), slice={[0:1],[0:1]}
! slice: slice has 2 entries for the 1 dimensions of f32[2]
slice_c3: x=f32[4,8] => f32[4,9] slice(x), slice={[0:4],[0:9]}
! slice: limit 9 exceeds dimension 1 of f32[4,8]
slice_c3: x=f32[4] => f32[2] slice(x), slice={[-1:1]}
! slice: start -1 of dimension 0 of f32[4] is negative
slice_c3: x=f32[4] => f32[0] slice(x), slice={[3:2]}
! slice: start 3 exceeds limit 2 in dimension 0 of f32[4]
slice_c4: x=f32[4] => f32[4] slice(x), slice={[0:4:0]}
! slice: stride 0 of dimension 0 of f32[4] is below 1
slice_c5: x=f32[5] => f32[2] slice(x), slice={[0:5:2]}
! slice: the stated shape f32[2] should be f32[3]
copy_start_c1: x=f32[2] => (f32[2], f32[3], u32[]) copy-start(x)
! copy-start: the stated shape (f32[2], f32[3], u32[]) is not (f32[2], f32[2], u32[])
copy_done_c1: x=(f32[2], f32[2], u32[]) => f32[2] copy-done(x)
! copy-done: operand 0 is not a copy-start
get_dimension_size_c1: x=f32[2] => get-dimension-size(x), dimensions={1}
! get-dimension-size: dimension 1 is not a dimension of f32[2]
set_dimension_size_c1: x=f32[2]; n=s64[] => set-dimension-size(x, n), dimensions={0}
! set-dimension-size: operand 1 is s64[], s32[] needed
dynamic_slice_c1: x=f32[4,8]; i=s32[3] => f32[1,1] dynamic-slice(x, i), dynamic_slice_sizes={1,1}
! dynamic-slice: start indices s32[3] do not hold one integer for each dimension of f32[4,8]
dynamic_slice_c2: x=f32[4,8]; i=s32[] => f32[1,1] dynamic-slice(x, i), dynamic_slice_sizes={1,1}
! dynamic-slice: the list of start indices has 1 entries for the 2 dimensions of f32[4,8]
dynamic_slice_c3: x=f32[4]; i=f32[] => f32[1] dynamic-slice(x, i), dynamic_slice_sizes={1}
! dynamic-slice: start index 0 is f32[], not a scalar integer
dynamic_slice_c4: x=f32[4]; i=s32[] => f32[5] dynamic-slice(x, i), dynamic_slice_sizes={5}
! dynamic-slice: size 5 is not in 0 to 4, dimension 0 of f32[4]
dynamic_update_slice_c2: x=f32[4]; u=s32[2]; i=s32[] => f32[4] dynamic-update-slice(x, u, i)
! dynamic-update-slice: operand 1 is of s32, operand 0 of f32
dynamic_update_slice_c3: x=f32[4]; u=f32[]; i=s32[] => f32[4] dynamic-update-slice(x, u, i)
! dynamic-update-slice: update f32[] has not the rank of f32[4]
dynamic_update_slice_c6: x=f32[4]; u=f32[5]; i=s32[] => f32[4] dynamic-update-slice(x, u, i)
! dynamic-update-slice: dimension 0 of update f32[5] exceeds that of f32[4]
index_type_c1: x=f32[4]; i=f32[2,1] => gather(x, i), offset_dims={1}, collapsed_slice_dims={}, start_index_map={0},
  index_vector_dim=1, slice_sizes={2}
! gather: start indices are of f32, an integer type needed
gather_c1: x=f32[4]; i=s32[2,1] => gather(x, i), offset_dims={}, collapsed_slice_dims={}, start_index_map={0},
  index_vector_dim=1, slice_sizes={2}
! gather: offset_dims has 0 entries for 1 dimensions of the slice
gather_c2: x=f32[4]; i=s32[2,1] => gather(x, i), offset_dims={1}, collapsed_slice_dims={}, start_index_map={0},
  index_vector_dim=3, slice_sizes={2}
! gather: index_vector_dim 3 is not in 0 to 2, the rank of s32[2,1]
gather_c3: x=f32[4]; i=s32[2,2] => gather(x, i), offset_dims={1}, collapsed_slice_dims={}, start_index_map={0},
  index_vector_dim=1, slice_sizes={2}
! gather: start_index_map has 1 entries for index vectors of length 2
gather_c4: x=f32[4,5]; i=s32[2,1] => gather(x, i), offset_dims={1,1}, collapsed_slice_dims={}, start_index_map={0},
  index_vector_dim=1, slice_sizes={2,2}
! gather: offset_dims names 1 twice
gather_c5: x=f32[4]; i=s32[2,1] => gather(x, i), offset_dims={2}, collapsed_slice_dims={}, start_index_map={0},
  index_vector_dim=1, slice_sizes={2}
! gather: offset_dims 2 is not in 0 to 1
sorted_c1: x=f32[4,5]; i=s32[2,1] => gather(x, i), offset_dims={2,1}, collapsed_slice_dims={}, start_index_map={0},
  index_vector_dim=1, slice_sizes={2,2}
! gather: offset_dims {2,1} is not sorted
disjoint_c1: x=f32[4,5]; i=s32[4,1] => gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={1},
  operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=1, slice_sizes={1,2}
! gather: dimension 0 is in both collapsed_slice_dims and operand_batching_dims
gather_c8: x=f32[4]; i=s32[2,1] => gather(x, i), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0},
  index_vector_dim=1, slice_sizes={2}
! gather: slice size 2 of the collapsed or batching dimension 0 exceeds 1
gather_c8: x=f32[4,5]; i=s32[3,1] => gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0},
  index_vector_dim=1, slice_sizes={0,5}
! gather: slice size 0 of the collapsed dimension 0 of f32[4,5], 1 needed
gather_c8: x=f32[0,5]; i=s32[3,1] => gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0},
  index_vector_dim=1, slice_sizes={0,5}
! gather: slice size 0 of the collapsed dimension 0 of f32[0,5], 1 needed
gather_c8: x=f32[4,5]; i=s32[3,1] => gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0},
  index_vector_dim=1, slice_sizes={0,0}
! (accepted)
gather_c8: x=f32[4,5]; i=s32[0,1] => gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0},
  index_vector_dim=1, slice_sizes={0,5}
! (accepted)
gather_c12: x=f32[4,5]; i=s32[4,1] => gather(x, i), offset_dims={1}, collapsed_slice_dims={}, start_index_map={1},
  operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=1, slice_sizes={0,2}
! gather: slice size 0 of the batching dimension 0 of f32[4,5], 1 needed
gather_c12: x=f32[4,5]; i=s32[4,1] => gather(x, i), offset_dims={1}, collapsed_slice_dims={}, start_index_map={1},
  operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=1, slice_sizes={2,2}
! gather: slice size 2 of the collapsed or batching dimension 0 exceeds 1
gather_c15: x=f32[4,5]; i=s32[4,1] => gather(x, i), offset_dims={1}, collapsed_slice_dims={}, start_index_map={1},
  operand_batching_dims={0}, start_indices_batching_dims={1}, index_vector_dim=1, slice_sizes={1,2}
! gather: index_vector_dim 1 is an indices batching dimension
gather_c16: x=f32[4,5]; i=s32[4,1] => gather(x, i), offset_dims={1}, collapsed_slice_dims={}, start_index_map={1},
  operand_batching_dims={0}, start_indices_batching_dims={}, index_vector_dim=1, slice_sizes={1,2}
! gather: 1 batching dimensions of the array, 0 of the indices
gather_c17: x=f32[4,5]; i=s32[3,1] => gather(x, i), offset_dims={1}, collapsed_slice_dims={}, start_index_map={1},
  operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=1, slice_sizes={1,2}
! gather: batching dimension 0 of f32[4,5] and 0 of s32[3,1] differ in size
gather_c20: x=f32[4]; i=s32[2,1] => gather(x, i), offset_dims={1}, collapsed_slice_dims={}, start_index_map={0},
  index_vector_dim=1, slice_sizes={2,2}
! gather: slice_sizes has 2 entries for the 1 dimensions of f32[4]
gather_c21: x=f32[4]; i=s32[2,1] => gather(x, i), offset_dims={1}, collapsed_slice_dims={}, start_index_map={0},
  index_vector_dim=1, slice_sizes={5}
! gather: slice size 5 is not in 0 to 4, dimension 0 of f32[4]
scatter_c1: x=f32[4]; y=f32[5]; i=s32[2,1]; u=f32[2] => scatter(x, y, i, u, u), update_window_dims={},
  inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
! scatter: operand 1 f32[5] and operand 0 f32[4] differ in their dimensions
scatter_c2: x=f32[4]; i=s32[2,1]; u=f32[2] => scatter(x, i, u), update_window_dims={}, inserted_window_dims={},
  scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
! scatter: update_window_dims has 0 entries for 1 window dimensions of f32[4]
scatter_c3: x=f32[4]; i=s32[2,1]; u=f32[2]; v=f32[3] => scatter(x, x, i, u, v), update_window_dims={},
  inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
! scatter: operand 4 f32[3] and operand 3 f32[2] differ in their dimensions
scatter_c4: x=f32[4]; i=s32[2,1]; u=f32[3] => scatter(x, i, u), update_window_dims={}, inserted_window_dims={0},
  scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
! scatter: dimension 0 of updates f32[3] is not 2
scatter_c4: x=f32[4]; i=s32[2,1]; u=f32[2,5] => scatter(x, i, u), update_window_dims={1}, inserted_window_dims={},
  scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
! scatter: dimension 1 of updates f32[2,5] exceeds 4
scatter_c5: x=f32[4]; i=s32[2,1]; u=f32[2] => scatter(x, x, i, u), update_window_dims={}, inserted_window_dims={0},
  scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
! scatter: 4 operands are not N arrays, indices and N updates
scatter_c6: x=f32[4]; i=s32[2,1]; u=s32[2] => scatter(x, i, u), update_window_dims={}, inserted_window_dims={0},
  scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
! scatter: operand 2 is of s32, operand 0 of f32
scatter_c7: x=f32[4]; i=s32[2,1]; u=f32[2,2] => scatter(x, i, u), update_window_dims={2}, inserted_window_dims={},
  scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
! scatter: update_window_dims 2 is not in 0 to 1
scatter_c8: x=f32[4,5]; i=s32[2,1]; u=f32[2,2,2] => scatter(x, i, u), update_window_dims={1,1},
  inserted_window_dims={}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
! scatter: update_window_dims names 1 twice
scatter_c9: x=f32[4]; i=s32[2,1]; u=f32[2,2] => scatter(x, i, u), update_window_dims={}, inserted_window_dims={0},
  scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
! scatter: updates f32[2,2] need rank 1
scatter_c14: x=f32[4,5]; i=s32[4,1]; u=f32[4] => scatter(x, i, u), update_window_dims={}, inserted_window_dims={1},
  scatter_dims_to_operand_dims={1}, input_batching_dims={0}, scatter_indices_batching_dims={1}, index_vector_dim=1,
  to_apply=add
! scatter: index_vector_dim 1 is an indices batching dimension
scatter_c15: x=f32[4,5]; i=s32[4,1]; u=f32[4] => scatter(x, i, u), update_window_dims={}, inserted_window_dims={1},
  scatter_dims_to_operand_dims={1}, input_batching_dims={0}, index_vector_dim=1, to_apply=add
! scatter: 1 batching dimensions of the array, 0 of the indices
scatter_c16: x=f32[4,5]; i=s32[3,1]; u=f32[3] => scatter(x, i, u), update_window_dims={}, inserted_window_dims={1},
  scatter_dims_to_operand_dims={1}, input_batching_dims={0}, scatter_indices_batching_dims={0}, index_vector_dim=1,
  to_apply=add
! scatter: batching dimension 0 of f32[4,5] and 0 of s32[3,1] differ in size
scatter_c19: x=f32[4]; i=s32[2,2]; u=f32[2] => scatter(x, i, u), update_window_dims={}, inserted_window_dims={0},
  scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
! scatter: scatter_dims_to_operand_dims has 1 entries for index vectors of length 2
scatter_c22: x=f32[4]; i=s32[2,1]; u=f32[2] => scatter(x, i, u), update_window_dims={}, inserted_window_dims={0},
  scatter_dims_to_operand_dims={0}, index_vector_dim=-1, to_apply=add
! scatter: index_vector_dim -1 is not in 0 to 2, the rank of s32[2,1]
scatter_c23: x=s32[4]; i=s32[2,1]; u=s32[2] => scatter(x, i, u), update_window_dims={}, inserted_window_dims={0},
  scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
! scatter: parameter 0 of computation add is f32[], s32[] needed
)";
// clang-format on

TEST(ConstraintsTest, Movement) { ExpectRefusals(kRows); }

}  // namespace constraints_movement_test
}  // namespace VXLA_NAMESPACE
