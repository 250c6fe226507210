#include <algorithm>
#include <set>

#include "core/devices/permute_slices.h"
#include "core/ops/op_support.h"

namespace VXLA_NAMESPACE {
namespace {

// Whether shapes depend on the size of the groups, so that all groups must be of one size.
bool NeedsEqualGroups(Opcode opcode) {
  using enum Opcode;
  return !IsAnyOf(opcode, kAllReduce, kAllReduceStart, kCollectiveBroadcast, kCollectiveReduce);
}

// Groups name each participant at most once. Empty groups mean one group of all.
Status CheckGroups(const Instruction& instruction, const ReplicaGroups& groups) {
  std::set<int64_t> seen;
  for (const IntList& group : groups.groups) {
    for (int64_t id : group) {
      if (id < 0) return OpError(instruction, "replica_groups name {}", id);                         // group_c1
      if (!seen.insert(id).second) return OpError(instruction, "replica_groups name {} twice", id);  // group_c2
    }
    if (NeedsEqualGroups(instruction.opcode()) && group.size() != groups.groups[0].size()) {  // group_c3
      return OpError(instruction, "replica_groups of {} and {} members", groups.groups[0].size(), group.size());
    }
  }
  return OkStatus();
}

// The members of a group where the text tells: with groups of flattened ids or of replicas alone.
std::optional<int64_t> GroupSize(const Instruction& instruction) {
  const auto& a = instruction.attributes<CollectiveAttributes>();
  if (a.channel_id && !a.use_global_device_ids) return std::nullopt;  // times the partitions, which the module knows
  if (a.replica_groups.groups.empty() || a.replica_groups.groups[0].empty()) return std::nullopt;
  return static_cast<int64_t>(a.replica_groups.groups[0].size());
}

Status CheckCollective(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectOperandsAtLeast(instruction, 1));
  VXLA_RETURN_IF_ERROR(ExpectAllArrays(instruction));
  return CheckGroups(instruction, instruction.attributes<CollectiveAttributes>().replica_groups);
}

// (T, T) -> T over scalars of the operands' type.
Status CheckReducer(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectCalled(instruction, 1));
  for (int k = 0; k < instruction.operand_count(); ++k) {
    const std::vector<Shape> two(2, ScalarOf(instruction.operand(k)->shape()));
    VXLA_RETURN_IF_ERROR(ExpectSignature(instruction, *instruction.called(0), two, &two[0]));  // all_reduce_c5
  }
  return OkStatus();
}

// The stated shapes (one, or a tuple of one for each operand) equal the operands' but for one dimension, where the
// larger is a multiple of the smaller by one factor.
Result<Shape> InferScaled(const Instruction& instruction, const Shape& stated, bool grows) {
  VXLA_RETURN_IF_ERROR(CheckCollective(instruction));
  const IntList& dimensions = instruction.attributes<CollectiveAttributes>().dimensions;
  VXLA_RETURN_IF_ERROR(ExpectOneDimension(instruction, dimensions, instruction.operand_count()));
  const int along = static_cast<int>(dimensions[0]);
  const std::optional<int64_t> members = GroupSize(instruction);
  std::vector<Shape> results;
  for (int k = 0; k < instruction.operand_count(); ++k) {
    const Shape& from = instruction.operand(k)->shape();
    const bool tuple =
        stated.IsTuple() && stated.tuple_elements().size() == static_cast<size_t>(instruction.operand_count());
    const Shape& to = tuple ? stated.tuple_elements()[k] : stated;
    bool agree = to.IsArray() && to.element_type() == from.element_type() && to.rank() == from.rank();
    for (int i = 0; agree && i < from.rank(); ++i) agree = i == along || to.dimension(i) == from.dimension(i);
    if (!agree) {  // all_gather_c1
      return OpError(instruction, "{} cannot become {} along dimension {}", from.ToString(), to.ToString(), along);
    }
    const int64_t small = grows ? from.dimension(along) : to.dimension(along);
    const int64_t large = grows ? to.dimension(along) : from.dimension(along);
    if (small == 0 ? large != 0 : large % small != 0 || (members && large / small != *members)) {  // all_gather_c6
      return OpError(instruction, "dimension {} of {} does not become that of {} over the groups", along,
                     from.ToString(), to.ToString());
    }
    results.push_back(to.WithoutLayout());
    AddFlags(results.back(), from);
  }
  if (stated.IsTuple()) return Shape::Tuple(std::move(results));
  return Collate(std::move(results));
}

// done(start): element `index` of the start's tuple, or the start's shape where that is no tuple of them.
Result<Shape> InferDone(const Instruction& instruction, Opcode start, int index) {
  VXLA_RETURN_IF_ERROR(ExpectOperandIs(instruction, start));
  const Shape& shape = instruction.operand(0)->shape();
  if (index < 0) return shape;
  if (static_cast<int>(shape.tuple_elements().size()) <= index) {  // done_c2
    return OpError(instruction, "operand 0 {} has no element {}", shape.ToString(), index);
  }
  return shape.tuple_elements()[index];
}

// Element 1 of the stated ((operands), result, ...), which must be there.
Result<Shape> StartedResult(const Instruction& instruction, const Shape& operands) {
  const Shape& stated = instruction.shape();
  if (stated.tuple_elements().size() < 2 || !Compatible(stated.tuple_elements()[0], operands)) {  // start_c1
    return OpError(instruction, "the stated shape {} does not begin with {}", stated.ToString(), operands.ToString());
  }
  return stated.tuple_elements()[1];
}

// The stated tuple with the flags of the operands and of the result that they give.
Shape Started(const Instruction& instruction, const Shape& operands, const Shape& result) {
  Shape shape = instruction.shape();
  std::vector<Shape>& elements = shape.mutable_tuple_elements();
  elements[0] = WithFlagsOf(std::move(elements[0]), operands);
  elements[1] = WithFlagsOf(std::move(elements[1]), result);
  return shape;
}

Status CheckPermute(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectOperandsAtLeast(instruction, 1));
  std::set<int64_t> sources, targets;
  for (const auto& [source, target] : instruction.attributes<CollectivePermuteAttributes>().source_target_pairs) {
    if (source < 0 || target < 0) {  // collective_permute_c4
      return OpError(instruction, "source_target_pairs name {}", std::min(source, target));
    }
    if (!sources.insert(source).second)
      return OpError(instruction, "source {} occurs twice", source);  // collective_permute_c2
    if (!targets.insert(target).second)
      return OpError(instruction, "target {} occurs twice", target);  // collective_permute_c3
  }
  return OkStatus();
}

// A tuple of one integer scalar per dimension.
bool IsStart(const Shape& start, const Shape& array) {
  return start.IsTuple() && static_cast<int>(start.tuple_elements().size()) == array.rank() &&
         std::ranges::all_of(start.tuple_elements(),
                             [](const Shape& s) { return s.IsScalar() && IsInteger(s.element_type()); });
}

Status CheckStarts(const Instruction& instruction, int operand, const std::vector<Shape>& arrays) {
  const Shape& starts = instruction.operand(operand)->shape();
  const size_t wanted = instruction.attributes<CollectivePermuteAttributes>().slice_sizes.size();
  const std::vector<PermuteSlice> slices = PermuteSlices(instruction.operand(0)->shape(), starts);
  bool fits = slices.size() == wanted;
  for (const PermuteSlice& slice : slices) fits = fits && IsStart(*PartOf(starts, slice.path), arrays[slice.array]);
  if (fits) return OkStatus();
  // collective_permute_c7
  return OpError(instruction, "operand {} is {}, which does not start {} slices of {}", operand, starts.ToString(),
                 wanted, instruction.operand(operand - 2)->shape().ToString());
}

// The in-place form (core/devices/permute_slices.h).
Status CheckSlicedPermute(const Instruction& instruction) {
  if (instruction.operand_count() != 4) {  // collective_permute_c5
    return OpError(instruction, "{} operands, 4 needed with slice_sizes", instruction.operand_count());
  }
  const Shape &in = instruction.operand(0)->shape(), &out = instruction.operand(1)->shape();
  const std::vector<Shape> inputs = Parts(in), outputs = Parts(out);
  const bool alike =
      in.IsTuple() == out.IsTuple() && std::ranges::equal(inputs, outputs, [](const Shape& a, const Shape& b) {
        return a.IsArray() && b.IsArray() && a.element_type() == b.element_type() && a.rank() == b.rank();
      });
  if (!alike) {  // collective_permute_c6
    return OpError(instruction, "slices of operand 0 {} do not fit operand 1 {}", in.ToString(), out.ToString());
  }
  VXLA_RETURN_IF_ERROR(CheckStarts(instruction, 2, inputs));
  VXLA_RETURN_IF_ERROR(CheckStarts(instruction, 3, outputs));
  const std::vector<IntList>& sizes = instruction.attributes<CollectivePermuteAttributes>().slice_sizes;
  const std::vector<PermuteSlice> slices = PermuteSlices(in, instruction.operand(2)->shape());
  const std::vector<PermuteSlice> targets = PermuteSlices(out, instruction.operand(3)->shape());
  for (size_t k = 0; k < slices.size(); ++k) {
    if (slices[k].array != targets[k].array) {  // collective_permute_c9
      return OpError(instruction, "slice {} is of array {} of operand 0 and of array {} of operand 1", k,
                     slices[k].array, targets[k].array);
    }
    const Shape &from = inputs[slices[k].array], &to = outputs[slices[k].array];
    VXLA_RETURN_IF_ERROR(ExpectOnePerDimension(instruction, "slice_sizes", sizes[k].size(), from));
    for (int d = 0; d < from.rank(); ++d) {
      const int64_t size = sizes[k][d], most = std::min(from.dimension(d), to.dimension(d));
      if (size < 0 || size > most) {  // collective_permute_c8
        return OpError(instruction, "slice size {} of dimension {} is not in 0 to {} for {} and {}", size, d, most,
                       from.ToString(), to.ToString());
      }
    }
  }
  return OkStatus();
}

bool IsSliced(const Instruction& instruction) {
  return !instruction.attributes<CollectivePermuteAttributes>().slice_sizes.empty();
}

}  // namespace

Result<Shape> InferAllGather(const Instruction& instruction) {
  return InferScaled(instruction, instruction.shape(), /*grows=*/true);
}

Result<Shape> InferAllGatherStart(const Instruction& instruction) {
  VXLA_ASSIGN_OR_RETURN(const Shape stated, StartedResult(instruction, Collate(OperandShapes(instruction))));
  VXLA_ASSIGN_OR_RETURN(const Shape result, InferScaled(instruction, stated, /*grows=*/true));
  if (!Compatible(result, stated)) {  // start_c2
    return OpError(instruction, "{} becomes {}", instruction.operand(0)->shape().ToString(), stated.ToString());
  }
  return Started(instruction, Collate(OperandShapes(instruction)), result);
}

Result<Shape> InferAllGatherDone(const Instruction& instruction) {
  return InferDone(instruction, Opcode::kAllGatherStart, 1);
}

Result<Shape> InferAllReduce(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(CheckCollective(instruction));
  VXLA_RETURN_IF_ERROR(CheckReducer(instruction));
  return Collate(OperandShapes(instruction));
}

Result<Shape> InferAllReduceStart(const Instruction& instruction) { return InferAllReduce(instruction); }

Result<Shape> InferAllReduceDone(const Instruction& instruction) {
  return InferDone(instruction, Opcode::kAllReduceStart, -1);
}

Result<Shape> InferReduceScatter(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(CheckReducer(instruction));
  return InferScaled(instruction, instruction.shape(), /*grows=*/false);
}

// One array split and concatenated along one dimension keeps its shape; without a dimension, one operand goes to each
// member and the result is a tuple.
Result<Shape> InferAllToAll(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(CheckCollective(instruction));
  const auto& a = instruction.attributes<CollectiveAttributes>();
  const std::optional<int64_t> members = GroupSize(instruction);
  if (a.dimensions.empty()) {
    for (int k = 0; k < instruction.operand_count(); ++k) VXLA_RETURN_IF_ERROR(ExpectSameShape(instruction, k, 0));
    if (members && *members != instruction.operand_count()) {  // all_to_all_c3
      return OpError(instruction, "{} operands for groups of {}", instruction.operand_count(), *members);
    }
    const Shape shape = WithFlagsOfOperands(instruction, instruction.operand_count());
    return Shape::Tuple(std::vector<Shape>(static_cast<size_t>(instruction.operand_count()), shape));
  }
  VXLA_RETURN_IF_ERROR(ExpectOneDimension(instruction, a.dimensions, instruction.operand_count()));
  if (instruction.operand_count() != 1) {  // all_to_all_c4
    return OpError(instruction, "{} operands, 1 needed with a dimension", instruction.operand_count());
  }
  const Shape& shape = instruction.operand(0)->shape();
  if (members && shape.dimension(a.dimensions[0]) % *members != 0) {  // all_to_all_c2
    return OpError(instruction, "dimension {} of {} does not split into {}", a.dimensions[0], shape.ToString(),
                   *members);
  }
  return shape.WithoutLayout();
}

Result<Shape> InferCollectiveBroadcast(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(CheckCollective(instruction));
  return Collate(OperandShapes(instruction));
}

Result<Shape> InferCollectiveReduce(const Instruction& instruction) { return InferAllReduce(instruction); }

Result<Shape> InferCollectivePermute(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(CheckPermute(instruction));
  if (IsSliced(instruction)) {
    VXLA_RETURN_IF_ERROR(CheckSlicedPermute(instruction));
    return instruction.operand(1)->shape();
  }
  VXLA_RETURN_IF_ERROR(ExpectAllArrays(instruction));
  return Collate(OperandShapes(instruction));
}

// ((operands), result, contexts ...); of the in-place form (input, output, contexts ...).
Result<Shape> InferCollectivePermuteStart(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(CheckPermute(instruction));
  const bool sliced = IsSliced(instruction);
  if (sliced) VXLA_RETURN_IF_ERROR(CheckSlicedPermute(instruction));
  const Shape from = sliced ? instruction.operand(0)->shape() : Collate(OperandShapes(instruction));
  const Shape& to = sliced ? instruction.operand(1)->shape() : from;
  VXLA_ASSIGN_OR_RETURN(const Shape result, StartedResult(instruction, from));
  if (!Compatible(result, to)) {  // start_c2
    return OpError(instruction, "{} becomes {}", to.ToString(), result.ToString());
  }
  return Started(instruction, from, to);
}

Result<Shape> InferCollectivePermuteDone(const Instruction& instruction) {
  return InferDone(instruction, Opcode::kCollectivePermuteStart, 1);
}

Result<Shape> InferPartitionId(const Instruction&) { return Shape(ElementType::kU32); }

Result<Shape> InferReplicaId(const Instruction&) { return Shape(ElementType::kU32); }

// ragged-all-to-all(input, output, input offsets, send sizes, output offsets, receive sizes)
Result<Shape> InferRaggedAllToAll(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(CheckCollective(instruction));
  VXLA_RETURN_IF_ERROR(ExpectSameType(instruction, 1, 0));
  const Shape& input = instruction.operand(0)->shape();
  const Shape& output = instruction.operand(1)->shape();
  bool rows_agree = input.rank() >= 1 && output.rank() == input.rank();
  for (int i = 1; rows_agree && i < input.rank(); ++i) rows_agree = input.dimension(i) == output.dimension(i);
  if (!rows_agree) {  // ragged_all_to_all_c2
    return OpError(instruction, "rows of {} do not fit {}", input.ToString(), output.ToString());
  }
  for (int i = 2; i < 6; ++i) {
    const Shape& shape = instruction.operand(i)->shape();
    if (!IsInteger(shape.element_type()) || shape.rank() < 1) {  // ragged_all_to_all_c1
      return OpError(instruction, "operand {} is {}, an array of integers needed", i, shape.ToString());
    }
    VXLA_RETURN_IF_ERROR(ExpectSameShape(instruction, i, 2));
  }
  Shape result = output.WithoutLayout();
  AddFlags(result, input, 1);  // rows of one size
  return result;
}

}  // namespace VXLA_NAMESPACE
