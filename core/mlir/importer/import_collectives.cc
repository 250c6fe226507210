// Collectives whose root says who gets the result, or who gives it.
#include <algorithm>

#include "core/host/ranges.h"
#include "core/mlir/importer/import_operations.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

// The groups with member `first` of each in front.
CollectiveAttributes WithFirst(CollectiveAttributes attributes, size_t first) {
  for (IntList& group : attributes.replica_groups.groups) {
    if (first < group.size()) std::swap(group[0], group[first]);
  }
  return attributes;
}

size_t MembersOf(const CollectiveAttributes& attributes) {
  size_t members = 0;
  for (const IntList& group : attributes.replica_groups.groups) members = std::max(members, group.size());
  return members;
}

// Whether this device is member `root` of its group; false for those of no group.
Instruction* IsMember(Frame& frame, const CollectiveAttributes& attributes, Instruction* root) {
  const Shape scalar(ElementType::kU32);
  Instruction* const id = frame.Add(attributes.channel_id ? Opcode::kPartitionId : Opcode::kReplicaId, scalar);
  Instruction* is = frame.Number(ElementType::kPred, 0);
  for (const IntList& group : attributes.replica_groups.groups) {
    for (size_t k = 0; k < group.size(); ++k) {
      Instruction* const me = frame.Compare(ComparisonDirection::kEq, id, frame.Number(ElementType::kU32, group[k]));
      Instruction* const chosen =
          frame.Compare(ComparisonDirection::kEq, root, frame.Number(ElementType::kS32, static_cast<int64_t>(k)));
      is = frame.Or(is, frame.And(me, chosen));
    }
  }
  return is;
}

// The operands of a collective, and apart from them, where the last one names them, the roots, a scalar each.
Result<Instructions> TakeRoots(Frame& frame, const Operation& operation, Instructions& operands) {
  Instructions roots;
  VXLA_ASSIGN_OR_RETURN(const bool dynamic, operation.Bool("has_dynamic_root", false));
  if (!dynamic) {
    roots.assign(operands.size(), frame.Number(ElementType::kS32, 0));
    return roots;
  }
  VXLA_RETURN_IF_ERROR(operation.ExpectOperandsAtLeast(2));
  Instruction* const list = operands.back();
  operands.pop_back();
  const Shape wanted(ElementType::kS32, {static_cast<int64_t>(operands.size())});
  if (!(list->shape() == wanted))  // collective_broadcast_c4
    return operation.Error("with has_dynamic_root the last operand is {}, {} needed", PrintType(list->shape()),
                           PrintType(wanted));
  return Scalars(frame, operation, list);
}

// Each operand as the members of its group have it, in their order: `join` makes one of what was and what comes.
Result<Instructions> JoinMembers(
    Frame& frame, const Operation& operation, const Instructions& operands, const CollectiveAttributes& attributes,
    const std::function<Result<Instruction*>(size_t member, size_t i, Instruction* before, Instruction* given)>& join) {
  Instructions results;
  for (size_t member = 0; member < MembersOf(attributes); ++member) {
    CollectiveAttributes turned = WithFirst(attributes, member);
    turned.use_global_device_ids = false;
    VXLA_ASSIGN_OR_RETURN(Instructions given, Transformed(operands, [&](Instruction* operand) {
                            return AddInferred(frame, operation, Opcode::kCollectiveBroadcast, {operand}, turned);
                          }));
    for (size_t i = 0; i < given.size() && member > 0; ++i)
      VXLA_SET_OR_RETURN(given[i], join(member, i, results[i], given[i]));
    results = std::move(given);
  }
  return results;
}

}  // namespace

// (operands..., roots) -> results
Status ImportCollectiveBroadcast(Frame& frame, const Operation& operation, Instructions& operands) {
  VXLA_ASSIGN_OR_RETURN(const bool dynamic, operation.Bool("has_dynamic_root", false));
  if (!dynamic) return ImportPlain(frame, operation, Opcode::kCollectiveBroadcast);
  VXLA_ASSIGN_OR_RETURN(Attributes any, AttributesFor(Opcode::kCollectiveBroadcast, operation, frame.importer.typed()));
  const auto& attributes = std::get<CollectiveAttributes>(any);
  VXLA_ASSIGN_OR_RETURN(const Instructions roots, TakeRoots(frame, operation, operands));
  if (MembersOf(attributes) == 0) return operation.NotSupported("a root without replica_groups that name the members");
  const auto choose = [&](size_t member, size_t i, Instruction* before, Instruction* given) {
    Instruction* const root = frame.Number(ElementType::kS32, static_cast<int64_t>(member));
    Instruction* const is = frame.SpreadAs(frame.Compare(ComparisonDirection::kEq, roots[i], root), given->shape());
    return frame.Select(is, given, before);
  };
  VXLA_ASSIGN_OR_RETURN(const Instructions results, JoinMembers(frame, operation, operands, attributes, choose));
  return BindValues(frame, operation, results);
}

// What each device of a group has, joined by the region in the order of the group, for the root; zeros for the others.
Status ImportCollectiveReduce(Frame& frame, const Operation& operation, Instructions& operands) {
  VXLA_ASSIGN_OR_RETURN(Attributes any, AttributesFor(Opcode::kCollectiveReduce, operation, frame.importer.typed()));
  auto& attributes = std::get<CollectiveAttributes>(any);
  VXLA_ASSIGN_OR_RETURN(const Instructions roots, TakeRoots(frame, operation, operands));
  if (attributes.use_global_device_ids)
    return operation.NotSupported(
        "use_global_device_ids: its groups are of replicas or, with a channel, of partitions");
  if (MembersOf(attributes) == 0) return operation.NotSupported("replica_groups that name no members");
  Instructions captures;
  VXLA_ASSIGN_OR_RETURN(Computation* const reducer,
                        ImportScalarRegion(frame, operation, 0, Takes::kConstants, captures));
  Promote(frame, Opcode::kCollectiveReduce, *reducer, operands);
  const auto combine = [&](size_t /*member*/, size_t /*i*/, Instruction* before, Instruction* given) {
    DimensionsAttributes all;
    for (int64_t d = 0; d < given->shape().rank(); ++d) all.dimensions.push_back(d);
    return AddInferred(frame, operation, Opcode::kMap, {before, given}, std::move(all), {reducer});
  };
  VXLA_ASSIGN_OR_RETURN(Instructions results, JoinMembers(frame, operation, operands, attributes, combine));
  for (size_t i = 0; i < results.size(); ++i) {
    const Shape& shape = results[i]->shape();
    Instruction* const mine = frame.SpreadAs(IsMember(frame, attributes, roots[i]), shape);
    Instruction* const nothing = frame.SpreadAs(frame.Zero(shape.element_type()), shape);
    results[i] = frame.Select(mine, results[i], nothing);
  }
  return BindValues(frame, operation, results);
}

// The sum over each group, an operation of before all_reduce.
Status ImportCrossReplicaSum(Frame& frame, const Operation& operation, Instructions& operands) {
  VXLA_ASSIGN_OR_RETURN(Attributes attributes, AttributesFor(Opcode::kAllReduce, operation, frame.importer.typed()));
  if (!operands[0]->shape().IsArray()) return operation.Error("an array is needed");
  Computation* const reducer =
      AddCombiner(frame.importer.module(), Opcode::kAdd, operands[0]->shape().element_type(), "sum");
  return BindInferred(frame, operation, Opcode::kAllReduce, {operands[0]}, std::move(attributes), {reducer});
}

}  // namespace VXLA_NAMESPACE::mlir
