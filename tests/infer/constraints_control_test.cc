// Constraints of tuples, calls, control flow, collectives and transfers.
#include "tests/infer/constraint_test_support.h"

namespace VXLA_NAMESPACE {
namespace constraints_control_test {

// clang-format off
constexpr std::string_view kRows = R"(
text: => f32[2] constant({1, 2, 3})
! literal: more than 2 elements in dimension 0 of f32[2]
get_tuple_element_c1: t=(f32[2]) => get-tuple-element(t), index=1
! get-tuple-element: index 1 is not in 0 to 0 of (f32[2])
get_tuple_element_c2: t=f32[2] => get-tuple-element(t), index=0
! get-tuple-element: operand 0 is f32[2], not a tuple
call_c1: x=f32[2] => call(x), to_apply=neg
! call: parameter 0 of computation neg is f32[], f32[2] needed
alias_c1: x=f32[] => f32[] fusion(x), kind=kLoop, calls=neg, output_to_operand_aliasing={{}: (1, {})}
! fusion: output_to_operand_aliasing names operand 1 of 1
alias_c2: x=f32[] => f32[] fusion(x), kind=kLoop, calls=neg, output_to_operand_aliasing={{0}: (0, {})}
! fusion: output_to_operand_aliasing: f32[] has no part {0}
alias_c2: x=f32[2] => (f32[2]) custom-call(x), custom_call_target="f", output_to_operand_aliasing={{0}: (0, {3})}
! custom-call: output_to_operand_aliasing: f32[2] has no part {3}
alias_c3: x=f32[2] => (f32[3]) custom-call(x), custom_call_target="f", output_to_operand_aliasing={{0}: (0, {})}
! custom-call: output_to_operand_aliasing: result {0} is f32[3], operand 0 {} is f32[2]
map_c1: x=f32[2]; y=f32[3] => map(x, y), dimensions={0}, to_apply=add
! map: operand 1 f32[3] and operand 0 f32[2] differ in their dimensions
map_c2: x=f32[2] => map(x), dimensions={0}, to_apply=pair
! map: computation pair returns (f32[], f32[]), a scalar needed
map_c3: x=f32[2,2] => map(x, x), dimensions={1,0}, to_apply=add
! map: dimensions {1,0} are not all those of f32[2,2]
map_c4: x=s32[2] => map(x, x), dimensions={0}, to_apply=add
! map: parameter 0 of computation add is f32[], s32[] needed
while_c1: x=f32[] => while(x), condition=neg, body=neg
! while: computation neg returns f32[], pred[] needed
while_c2: x=f32[] => while(x), condition=finite, body=finite
! while: computation finite returns pred[], f32[] needed
text: i=s32[] => f32[] conditional(i), branch_computations={}
! conditional: the attribute true_computation is missing
case_c2: i=s32[]; x=s32[] => conditional(i, x, x), branch_computations={neg, neg}
! conditional: parameter 0 of computation neg is f32[], s32[] needed
case_c3: i=s32[]; x=f32[] => conditional(i, x, x), branch_computations={neg, finite}
! conditional: computation finite returns pred[], f32[] needed
case_c4: i=s64[]; x=f32[] => conditional(i, x, x), branch_computations={neg, neg}
! conditional: operand 0 is s64[], pred[] or s32[] needed
case_c5: i=pred[]; x=f32[] => conditional(i, x, x, x), branch_computations={neg, neg, neg}
! conditional: 3 branches for a pred, 2 needed
case_c6: i=s32[]; x=f32[] => conditional(i, x), branch_computations={neg, neg}
! conditional: 2 branches for 1 arguments
async_start_c1: x=f32[] => ((f32[]), f32[2], s32[]) async-start(x), calls=neg
! async-start: the stated shape ((f32[]), f32[2], s32[]) does not begin with (f32[]), f32[]
async_done_c1: x=((f32[]), f32[], s32[]) => f32[] async-done(x)
! async-done: operand 0 is not an async-start or async-update
group_c1: x=f32[2] => f32[2] all-reduce(x), replica_groups={{0,-1}}, to_apply=add
! all-reduce: replica_groups name -1
group_c2: x=f32[2] => f32[2] all-reduce(x), replica_groups={{0,1},{1}}, to_apply=add
! all-reduce: replica_groups name 1 twice
group_c3: x=f32[2] => f32[4] all-gather(x), replica_groups={{0,1},{2}}, dimensions={0}
! all-gather: replica_groups of 2 and 1 members
one_dimension_c1: x=f32[2] => f32[4] all-gather(x), replica_groups={}, dimensions={0,0}
! all-gather: 2 dimensions, 1 needed
all_gather_c1: x=f32[2,3] => f32[4,4] all-gather(x), replica_groups={}, dimensions={0}
! all-gather: f32[2,3] cannot become f32[4,4] along dimension 0
all_gather_c6: x=f32[2] => f32[6] all-gather(x), replica_groups={{0,1}}, dimensions={0}
! all-gather: dimension 0 of f32[2] does not become that of f32[6] over the groups
all_gather_c6: x=f32[4] => f32[3] reduce-scatter(x), replica_groups={}, dimensions={0}, to_apply=add
! reduce-scatter: dimension 0 of f32[4] does not become that of f32[3] over the groups
all_reduce_c5: x=s32[2] => s32[2] all-reduce(x), replica_groups={}, to_apply=add
! all-reduce: parameter 0 of computation add is f32[], s32[] needed
done_c1: x=f32[2] => f32[2] all-reduce-done(x)
! all-reduce-done: operand 0 is parameter, all-reduce-start needed
start_c1: x=f32[2] => (f32[2]) collective-permute-start(x), source_target_pairs={}
! collective-permute-start: the stated shape (f32[2]) does not begin with f32[2]
start_c1: x=f32[2] => (f32[3], f32[4]) all-gather-start(x), replica_groups={}, dimensions={0}
! all-gather-start: the stated shape (f32[3], f32[4]) does not begin with f32[2]
start_c2: x=f32[2] => (f32[2], f32[3]) collective-permute-start(x), source_target_pairs={{0,1}}
! collective-permute-start: f32[2] becomes f32[3]
start_c2: x=f32[2]; y=f32[3]; t=(s32[]) => (f32[2], f32[2]) collective-permute-start(x, y, t, t), source_target_pairs={{0,1}},
  slice_sizes={{1}}
! collective-permute-start: f32[3] becomes f32[2]
all_to_all_c2: x=f32[3] => f32[3] all-to-all(x), replica_groups={{0,1}}, dimensions={0}
! all-to-all: dimension 0 of f32[3] does not split into 2
all_to_all_c3: x=f32[3] => (f32[3]) all-to-all(x), replica_groups={{0,1}}
! all-to-all: 1 operands for groups of 2
all_to_all_c4: x=f32[2] => f32[2] all-to-all(x, x), replica_groups={{0,1}}, dimensions={0}
! all-to-all: 2 operands, 1 needed with a dimension
collective_permute_c2: x=f32[2] => f32[2] collective-permute(x), source_target_pairs={{0,1},{0,2}}
! collective-permute: source 0 occurs twice
collective_permute_c3: x=f32[2] => f32[2] collective-permute(x), source_target_pairs={{0,1},{2,1}}
! collective-permute: target 1 occurs twice
collective_permute_c4: x=f32[2] => f32[2] collective-permute(x), source_target_pairs={{0,-1}}
! collective-permute: source_target_pairs name -1
collective_permute_c5: x=f32[2] => f32[2] collective-permute(x), source_target_pairs={{0,1}}, slice_sizes={{1}}
! collective-permute: 1 operands, 4 needed with slice_sizes
collective_permute_c6: x=f32[2]; y=s32[2]; t=(s32[]) => s32[2] collective-permute(x, y, t, t), source_target_pairs={{0,1}},
  slice_sizes={{1}}
! collective-permute: slices of operand 0 f32[2] do not fit operand 1 s32[2]
collective_permute_c7: x=f32[2,2]; t=(s32[]) => f32[2,2] collective-permute(x, x, t, t), source_target_pairs={{0,1}},
  slice_sizes={{1,1}}
! collective-permute: operand 2 is (s32[]), which does not start 1 slices of f32[2,2]
collective_permute_c7: x=f32[2]; t=(s32[]); u=((s32[]), (s32[])) => f32[2] collective-permute(x, x, t, u),
  source_target_pairs={{0,1}}, slice_sizes={{1}}
! collective-permute: operand 3 is ((s32[]), (s32[])), which does not start 1 slices of f32[2]
collective_permute_c8: x=f32[3]; y=f32[2]; t=(s32[]) => f32[2] collective-permute(x, y, t, t), source_target_pairs={{0,1}},
  slice_sizes={{3}}
! collective-permute: slice size 3 of dimension 0 is not in 0 to 2 for f32[3] and f32[2]
collective_permute_c9: x=(f32[3], f32[3]); t=(((s32[]), (s32[])), (s32[])); u=((s32[]), ((s32[]), (s32[]))) => (f32[3], f32[3])
  collective-permute(x, x, t, u), source_target_pairs={{0,1}}, slice_sizes={{1},{1},{1}}
! collective-permute: slice 1 is of array 0 of operand 0 and of array 1 of operand 1
ragged_all_to_all_c1: x=f32[2]; i=f32[1] => f32[2] ragged-all-to-all(x, x, i, i, i, i), replica_groups={}
! ragged-all-to-all: operand 2 is f32[1], an array of integers needed
ragged_all_to_all_c2: x=f32[2,3]; y=f32[2,4]; i=s32[1] => f32[2,4] ragged-all-to-all(x, y, i, i, i, i),
  replica_groups={}
! ragged-all-to-all: rows of f32[2,3] do not fit f32[2,4]
infeed_c1: t=token[] => f32[2] infeed(t)
! infeed: the stated shape f32[2] is not (data, token[])
infeed_c2: t=token[] => ((((f32[2]))), token[]) infeed(t)
! infeed: (((f32[2]))) holds a nested tuple
infeed_c3: t=token[] => ((f32[2], token[]), token[]) infeed(t)
! infeed: (f32[2], token[]) holds no array but token[]
outfeed_c1: x=f32[2]; t=token[] => token[] outfeed(x, t), outfeed_shape=f32[3]
! outfeed: outfeed_shape f32[3] for f32[2]
recv_c2: t=token[] => (f32[2], s32[], token[]) recv(t), channel_id=1
! recv: the stated shape (f32[2], s32[], token[]) is not (data, u32[], token[])
custom_call_c1: x=f32[2] => f32[2] custom-call(x, x), custom_call_target="f", operand_layout_constraints={f32[2]{0}}
! custom-call: 1 operand_layout_constraints for 2 operands
text: x=f32[2,3] => f32[2,3]{0,0} copy(x)
! the layout {0,0} is not a permutation of the dimensions of f32[2,3]
)";
// clang-format on

TEST(ConstraintsTest, Control) { ExpectRefusals(kRows); }

}  // namespace constraints_control_test
}  // namespace VXLA_NAMESPACE
