// Constraints of products, windows, reductions, sorts, transforms and random numbers.
#include "tests/infer/constraint_test_support.h"

namespace VXLA_NAMESPACE {
namespace constraints_numeric_test {

// clang-format off
constexpr std::string_view kRows = R"(
dot_c1: x=f32[2]; y=s32[2] => dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}
! dot: f32 and s32 are not of one kind
dot_c2: x=f32[2] => s32[] dot(x, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}
! dot: a result of s32 from operands of f32
dot_c3: x=f32[2,3] => dot(x, x), lhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_contracting_dims={1}
! dot: 1 batch dimensions of lhs, 0 of rhs
dot_c4: x=f32[2,3] => dot(x, x), lhs_contracting_dims={0,1}, rhs_contracting_dims={1}
! dot: 2 contracting dimensions of lhs, 1 of rhs
dot_c5 dot_c6: x=f32[2,2] => dot(x, x), lhs_batch_dims={0}, lhs_contracting_dims={0}, rhs_batch_dims={0},
  rhs_contracting_dims={1}
! dot: lhs_batch_dims and lhs_contracting_dims {0,0} names 0 twice
dot_c7 dot_c8: x=f32[2,2] => dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={2}
! dot: rhs_batch_dims and rhs_contracting_dims 2 is not a dimension of f32[2,2]
dot_c9: x=f32[2,3]; y=f32[4,3] => dot(x, y), lhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_batch_dims={0},
  rhs_contracting_dims={1}
! dot: batch dimension 0 of f32[2,3] and 0 of f32[4,3] differ in size
dot_c10: x=f32[2,3]; y=f32[4,5] => dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
! dot: contracting dimension 1 of f32[2,3] and 0 of f32[4,5] differ in size
precision_c1: x=f32[2] => dot(x, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}, operand_precision={high}
! dot: 1 entries of operand_precision, one for each of 2 operands needed
dot_algorithm_c2: x=c64[2] => dot(x, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}, algorithm=dot_f32_f32_f32
! dot: algorithm dot_f32_f32_f32 takes no operand of c64, only integers and floating types
dot_algorithm_c2: x=bf16[2] => dot(x, x), lhs_contracting_dims={0}, rhs_contracting_dims={0},
  algorithm=dot_any_f8_any_f8_f32
! dot: algorithm dot_any_f8_any_f8_f32 takes no operand of bf16, only f8 types
ragged_dot_c1: x=f32[4,3]; y=f32[2,3,5]; g=s32[2] => ragged-dot(x, y, g), lhs_contracting_dims={1},
  rhs_contracting_dims={1}, rhs_group_dims={0}
! ragged-dot: 0 ragged dimensions, 1 needed
ragged_dot_c2: x=f32[4,3]; y=f32[3,5]; g=s32[2] => ragged-dot(x, y, g), lhs_contracting_dims={1},
  rhs_contracting_dims={0}, lhs_ragged_dims={0}
! ragged-dot: 0 group dimensions of rhs, 1 needed
ragged_dot_c3: x=f32[4,3]; y=f32[2,3,5]; g=f32[2] => ragged-dot(x, y, g), lhs_contracting_dims={1},
  rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}
! ragged-dot: group sizes f32[2] are not an array of integers
ragged_dot_c4: x=f32[4,3]; y=f32[2,3,5]; g=s32[3] => ragged-dot(x, y, g), lhs_contracting_dims={1},
  rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}
! ragged-dot: dimension 0 of f32[2,3,5] is not the number of groups 3
scaled_dot_c2: x=f32[2,4]; s=f32[2,3] => f32[2,2] scaled-dot(x, x, s, s), lhs_contracting_dims={1},
  rhs_contracting_dims={1}
! scaled-dot: scales f32[2,3] do not cut f32[2,4] into blocks
scaled_dot_c1: x=f32[2,4]; s=s32[2,1] => f32[2,2] scaled-dot(x, x, s, s), lhs_contracting_dims={1},
  rhs_contracting_dims={1}
! scaled-dot: operand 2 is of s32, a floating type needed
stated_c2: x=f32[2,4]; s=f32[2,1] => f32[2,3] scaled-dot(x, x, s, s), lhs_contracting_dims={1},
  rhs_contracting_dims={1}
! scaled-dot: the stated shape f32[2,3] should be f32[2,2]
convolution_c2: x=f32[1,1,4]; k=f32[1,1,2] => convolution(x, k), window={size=2x2}, dim_labels=bf0_oi0->bf0
! convolution: the window has 2 dimensions for 1 spatial ones
convolution_c3: x=f32[1,1,4]; k=f32[1,1,2] => convolution(x, k), window={size=3}, dim_labels=bf0_oi0->bf0
! convolution: window size 3 of spatial dimension 0 is not 2, that of kernel f32[1,1,2]
dimension_c3: x=f32[1,1,4,4]; k=f32[1,1,2] => convolution(x, k), window={size=2}, dim_labels=bf0_oi0->bf0
! convolution: dim_labels has 3 entries for the 4 dimensions of f32[1,1,4,4]
convolution_c10: x=f32[3,1,4]; k=f32[2,1,2] => convolution(x, k), window={size=2}, dim_labels=bf0_oi0->bf0,
  batch_group_count=2
! convolution: batch 3 of f32[3,1,4] is no multiple of batch_group_count 2
convolution_c11: x=f32[1,3,4]; k=f32[2,1,2] => convolution(x, k), window={size=2}, dim_labels=bf0_oi0->bf0,
  feature_group_count=2
! convolution: 3 input features of f32[1,3,4] are no multiple of feature_group_count 2
convolution_c14: x=f32[1,3,4]; k=f32[2,2,2] => convolution(x, k), window={size=2}, dim_labels=bf0_oi0->bf0
! convolution: 2 input features of kernel f32[2,2,2], 3 needed
convolution_c15: x=f32[2,1,4]; k=f32[3,1,2] => convolution(x, k), window={size=2}, dim_labels=bf0_oi0->bf0,
  batch_group_count=2
! convolution: 3 output features of kernel f32[3,1,2] are no multiple of the group count 2
convolution_c16: x=f32[1,2,4]; k=f32[3,1,2] => convolution(x, k), window={size=2}, dim_labels=bf0_oi0->bf0,
  feature_group_count=2
! convolution: 3 output features of kernel f32[3,1,2] are no multiple of the group count 2
convolution_c21: x=f32[1,2,4]; k=f32[2,2,2] => convolution(x, k), window={size=2}, dim_labels=bf0_oi0->bf0,
  feature_group_count=0
! convolution: feature_group_count 0 is below 1
convolution_c22: x=f32[1,2,4]; k=f32[2,2,2] => convolution(x, k), window={size=2}, dim_labels=bf0_oi0->bf0,
  batch_group_count=-1
! convolution: batch_group_count -1 is below 1
convolution_c23: x=f32[2,2,4]; k=f32[2,1,2] => convolution(x, k), window={size=2}, dim_labels=bf0_oi0->bf0,
  feature_group_count=2, batch_group_count=2
! convolution: feature_group_count 2 and batch_group_count 2 are both above 1
convolution_c25: x=f32[1,1,4]; k=f32[1,1,2] => f32[1,1,4] convolution(x, k), window={size=2}, dim_labels=bf0_oi0->bf0
! convolution: the stated shape f32[1,1,4] should be f32[1,1,3]
convolution_c27: x=f32[1,1,4]; k=s32[1,1,2] => convolution(x, k), window={size=2}, dim_labels=bf0_oi0->bf0
! convolution: f32 and s32 are not of one kind
precision_c1: x=f32[1,1,4]; k=f32[1,1,2] => convolution(x, k), window={size=2}, dim_labels=bf0_oi0->bf0,
  operand_precision={high,high,high}
! convolution: 3 entries of operand_precision, one for each of 2 operands needed
window_c1: x=f32[4]; z=f32[] => reduce-window(x, z), window={size=0}, to_apply=add
! reduce-window: window size 0 of dimension 0 is below 1
window_c2: x=f32[4]; z=f32[] => reduce-window(x, z), window={size=2 stride=0}, to_apply=add
! reduce-window: window stride 0 of dimension 0 is below 1
window_c3: x=f32[4]; z=f32[] => reduce-window(x, z), window={size=2 lhs_dilate=0}, to_apply=add
! reduce-window: base dilation 0 of dimension 0 is below 1
window_c4: x=f32[4]; z=f32[] => reduce-window(x, z), window={size=2 rhs_dilate=-1}, to_apply=add
! reduce-window: window dilation -1 of dimension 0 is below 1
window_c5: x=f32[4]; z=f32[] => reduce-window(x, z), window={size=17592186044416 rhs_dilate=17592186044416},
  to_apply=add
! reduce-window: the padded or dilated size of dimension 0 exceeds the limit of 2^61
window_c6: x=f32[4]; z=f32[] => reduce-window(x, z), window={size=2 pad=9223372036854775807_-9223372036854775807},
  to_apply=add
! reduce-window: 9223372036854775807 in the window's dimension 0 exceeds the limit of 2^44
window_c6: x=f32[4]; z=f32[] => reduce-window(x, z), window={size=2 pad=0_-9223372036854775808}, to_apply=add
! reduce-window: -9223372036854775808 in the window's dimension 0 exceeds the limit of 2^44
window_c6: x=f32[4]; z=f32[] => reduce-window(x, z), window={size=9223372036854775807}, to_apply=add
! reduce-window: 9223372036854775807 in the window's dimension 0 exceeds the limit of 2^44
window_c6: x=f32[1,1,4]; k=f32[1,1,2] => convolution(x, k), window={size=2 stride=9223372036854775807},
  dim_labels=bf0_oi0->bf0
! convolution: 9223372036854775807 in the window's dimension 0 exceeds the limit of 2^44
window_c7: x=f32[1,1]; z=f32[] => reduce-window(x, z), window={size=4294967296x4294967296
  pad=4294967296_0x4294967296_0}, to_apply=add
! reduce-window: a window of more than 2^61 elements
reduce_c1: x=f32[4]; y=f32[5]; z=f32[] => reduce(x, y, z, z), dimensions={0}, to_apply=add
! reduce: operand 1 f32[5] and operand 0 f32[4] differ in their dimensions
reduce_c2: x=f32[4]; z=f64[] => reduce(x, z), dimensions={0}, to_apply=add
! reduce: operand 1 is of f64, operand 0 of f32
reduce_c3: x=f32[4]; z=f32[] => reduce(x, x, z), dimensions={0}, to_apply=add
! reduce: 3 operands are not N arrays and N initial values
reduce_c4: x=f32[4]; z=f32[] => reduce(x, z), dimensions={1}, to_apply=add
! reduce: dimensions 1 is not a dimension of f32[4]
reduce_c5: x=f32[4,4]; z=f32[] => reduce(x, z), dimensions={1,1}, to_apply=add
! reduce: dimensions {1,1} names 1 twice
reduce_c7: x=f32[4,5]; z=f32[] => f32[5] reduce(x, z), dimensions={1}, to_apply=add
! reduce: the stated shape f32[5] should be f32[4]
reduce_window_c1: x=f32[4]; z=f32[] => reduce-window(x, x, z), window={size=2}, to_apply=add
! reduce-window: 3 operands are not N arrays and N initial values
reduce_window_c2: x=f32[4]; y=f32[5]; z=f32[] => reduce-window(x, y, z, z), window={size=2}, to_apply=add
! reduce-window: operand 1 f32[5] and operand 0 f32[4] differ in their dimensions
reduce_window_c3: x=f32[4]; z=s32[] => reduce-window(x, z), window={size=2}, to_apply=add
! reduce-window: operand 1 is of s32, operand 0 of f32
reduce_window_c4: x=f32[4]; z=f32[] => reduce-window(x, z), window={size=2 rhs_reversal=1}, to_apply=add
! reduce-window: a reversed window has no meaning here
reduce_window_c13: x=f32[4]; z=f32[] => reduce-window(x, z), window={size=2}, to_apply=lt
! reduce-window: computation lt returns pred[], f32[] needed
reduce_window_c15: x=f32[4]; z=f32[] => f32[4] reduce-window(x, z), window={size=2}, to_apply=add
! reduce-window: the stated shape f32[4] should be f32[3]
dimension_c3: x=f32[4]; z=f32[] => reduce-window(x, z), window={size=2x2}, to_apply=add
! reduce-window: window has 2 entries for the 1 dimensions of f32[4]
select_and_scatter_c1: x=f32[4]; s=s32[2]; z=f32[] => select-and-scatter(x, s, z), window={size=2 stride=2},
  select=lt, scatter=add
! select-and-scatter: operand 1 is of s32, operand 0 of f32
select_and_scatter_c2: x=f32[4]; s=f32[3]; z=f32[] => select-and-scatter(x, s, z), window={size=2 stride=2},
  select=lt, scatter=add
! select-and-scatter: source f32[3] is not f32[2], the windows' shape
select_and_scatter_c3: x=f32[4]; s=f32[2]; z=s32[] => select-and-scatter(x, s, z), window={size=2 stride=2},
  select=lt, scatter=add
! select-and-scatter: operand 2 is of s32, operand 0 of f32
select_and_scatter_c9: x=f32[4]; s=f32[2]; z=f32[] => select-and-scatter(x, s, z), window={size=2 stride=2},
  select=add, scatter=add
! select-and-scatter: computation add returns f32[], pred[] needed
select_and_scatter_c10: x=f32[4]; s=f32[2]; z=f32[] => select-and-scatter(x, s, z), window={size=2 stride=2},
  select=lt, scatter=neg
! select-and-scatter: computation neg has 1 parameters, 2 needed
select_and_scatter_c11: x=f32[4]; s=f32[2]; z=f32[] => select-and-scatter(x, s, z), window={size=2 stride=2
  rhs_dilate=2}, select=lt, scatter=add
! select-and-scatter: a dilated or reversed window has no meaning here
scan_c1: x=f32[4]; z=f32[] => (f32[4], f32[]) scan(x, z), dimensions={0}, num_carries=2, to_apply=both
! scan: num_carries 2 is not in 0 to 1, one less than the operands
scan_c2: x=f32[4]; z=f32[] => (f32[4], f32[]) scan(x, z), dimensions={0}, num_carries=1, to_apply=neg
! scan: computation neg has 1 parameters, 2 needed
scan_c2: x=f32[4]; z=f32[] => (f32[4], f32[]) scan(x, z), dimensions={0}, num_carries=1, to_apply=add
! scan: computation add has 1 results, 2 needed
scan_c3: x=f32[4]; z=s32[] => (f32[4], s32[]) scan(x, z), dimensions={0}, num_carries=1, to_apply=both
! scan: carry 0 is f32[] among the parameters of both, s32[] needed
scan_c4: x=f32[4]; z=f32[] => (f32[5], f32[]) scan(x, z), dimensions={0}, num_carries=1, to_apply=both
! scan: f32[5] has not 4 steps along dimension 0
scan_c5: x=f32[4,2]; z=f32[] => (f32[4,2], f32[]) scan(x, z), dimensions={0}, num_carries=1, to_apply=both
! scan: f32[] among the parameters of both is no slice of f32[4,2] along dimension 0
scan_c6: x=f32[4]; z=f32[] => () scan(x, z), dimensions={0}, num_carries=1, to_apply=both
! scan: the stated shape () holds no 1 carries
dimension_c1: x=f32[4]; z=f32[] => (f32[4], f32[]) scan(x, z), dimensions={1}, num_carries=1, to_apply=both
! scan: dimension 1 is not a dimension of f32[4]
one_dimension_c1: x=f32[4]; z=f32[] => (f32[4], f32[]) scan(x, z), dimensions={}, num_carries=1, to_apply=both
! scan: 0 dimensions, 1 needed
sort_c1: => sort(), dimensions={0}, to_apply=lt
! sort: 0 operands, at least 1 needed
sort_c3: x=f32[4]; y=f32[5] => sort(x, y), dimensions={0}, to_apply=lt
! sort: operand 1 f32[5] and operand 0 f32[4] differ in their dimensions
sort_c4: x=f32[4] => sort(x), dimensions={1}, to_apply=lt
! sort: dimension 1 is not a dimension of f32[4]
sort_c5: x=f32[4] => sort(x), dimensions={0}, to_apply=add
! sort: computation add returns f32[], pred[] needed
topk_c1: x=f32[4] => topk(x), k=5
! topk: k 5 is not in 0 to 4, dimension 0 of f32[4]
topk_c2: x=f32[] => topk(x), k=0
! topk: operand 0 is f32[], a scalar
topk_c3: x=c64[4] => topk(x), k=1
! topk: operand 0 is of c64, a type with an order needed
fft_c1: x=c64[4] => fft(x), fft_type=FFT, fft_length={4,4}
! fft: 2 entries of fft_length for c64[4]
fft_c2: x=f32[4] => fft(x), fft_type=FFT, fft_length={4}
! fft: operand 0 is of f32, a complex type needed
fft_c2: x=c64[4] => fft(x), fft_type=RFFT, fft_length={4}
! fft: operand 0 is of c64, f32 or f64 needed
fft_c3: x=c64[1,1,1,1] => fft(x), fft_type=FFT, fft_length={1,1,1,1}
! fft: 4 entries of fft_length, 1 to 3 needed
fft_c4: x=c64[4] => fft(x), fft_type=FFT, fft_length={5}
! fft: dimension 0 of c64[4] should be 5 for fft_length 5
fft_c5: x=c64[4] => fft(x), fft_type=IRFFT, fft_length={5}
! fft: dimension 0 of c64[4] should be 3 for fft_length 5
fft_c6: x=c64[4] => fft(x), fft_type=FFT, fft_length={-4}
! fft: fft_length -4 is negative
square_c1 cholesky_c2: x=s32[2,2] => cholesky(x), lower=true
! cholesky: operand 0 is of s32, a floating or complex type needed
square_c2 cholesky_c3: x=f32[2,3] => cholesky(x)
! cholesky: operand 0 f32[2,3] does not hold square matrices
square_c2: x=f32[3]; b=f32[3,1] => triangular-solve(x, b), left_side=true
! triangular-solve: operand 0 f32[3] does not hold square matrices
triangular_solve_c1: x=f32[3,3]; b=f64[3,1] => triangular-solve(x, b), left_side=true
! triangular-solve: operand 1 is of f64, operand 0 of f32
triangular_solve_c2: x=f32[2,3,3]; b=f32[4,3,1] => triangular-solve(x, b), left_side=true
! triangular-solve: operand 1 f32[4,3,1] does not fit the matrices f32[2,3,3] on the left side
triangular_solve_c3: x=f32[3,3]; b=f32[4,3] => triangular-solve(x, b), left_side=true
! triangular-solve: operand 1 f32[4,3] does not fit the matrices f32[3,3] on the left side
batch_norm_c1: x=f32[2,3]; s=f32[3] => batch-norm-training(x, s, s), epsilon=0, feature_index=2
! batch-norm-training: feature_index 2 is not a dimension of f32[2,3]
batch_norm_c2: x=f32[2,3]; s=f32[2] => batch-norm-training(x, s, s), epsilon=0, feature_index=1
! batch-norm-training: operand 1 is f32[2], f32[3] needed
batch_norm_c3: x=s32[2,3]; s=s32[3] => batch-norm-training(x, s, s), epsilon=0, feature_index=1
! batch-norm-training: operand 0 is of s32, a floating type needed
batch_norm_grad_c3: x=f32[2,3]; s=f32[3] => batch-norm-grad(x, s, s, s, s), epsilon=0, feature_index=1
! batch-norm-grad: operand 4 f32[3] and operand 0 f32[2,3] differ in their dimensions
rng_c1: x=f32[2] => f32[4] rng(x, x), distribution=rng_uniform
! rng: operand 0 is f32[2], not a scalar
rng_c2: x=s32[] => s32[4] rng(x, x), distribution=rng_normal
! rng: no such distribution over s32
rng_c3: x=f32[] => f32[4] rng(x), distribution=rng_normal
! rng: 1 operands, 2 needed
rng_c4: x=f64[] => f32[4] rng(x, x), distribution=rng_normal
! rng: operand 0 is of f64, the result of f32
rng_bit_generator_c1: s=u64[2] => (u64[2], pred[4]) rng-bit-generator(s), algorithm=rng_three_fry
! rng-bit-generator: bits of pred: an integer or floating type needed
rng_bit_generator_c1: s=u64[2] => (u64[2], f6e2m3fn[4]) rng-bit-generator(s), algorithm=rng_three_fry
! rng-bit-generator: bits of f6e2m3fn: no integer type has its width
rng_bit_generator_c2: s=u64[3] => (u64[3], u32[4]) rng-bit-generator(s), algorithm=rng_three_fry
! rng-bit-generator: a state of u64[3] does not fit the algorithm
rng_bit_generator_c3: s=u64[2] => u32[4] rng-bit-generator(s), algorithm=rng_three_fry
! rng-bit-generator: the stated shape u32[4] is not (u64[2], an array)
stated_c2: => u64[3] rng-get-and-update-state(), delta=1
! rng-get-and-update-state: the stated shape u64[3] should be u64[2]
)";
// clang-format on

TEST(ConstraintsTest, Numeric) { ExpectRefusals(kRows); }

}  // namespace constraints_numeric_test
}  // namespace VXLA_NAMESPACE
