#include "core/builder/builder.h"
#include "core/builder/emit.h"
#include "core/ir/module.h"
#include "core/ir/reserved_names.h"
#include "core/text/lexer.h"

namespace VXLA_NAMESPACE {
namespace {

CollectiveAttributes Collective(const ReplicaGroups& groups, std::optional<int64_t> channel_id, IntList dimensions = {},
                                std::optional<bool> use_global_device_ids = {}) {
  CollectiveAttributes attributes;
  attributes.channel_id = channel_id;
  attributes.replica_groups = groups;
  attributes.dimensions = std::move(dimensions);
  attributes.use_global_device_ids = use_global_device_ids.value_or(false);
  return attributes;
}

Result<XlaComputation> ScalarAdd(ElementType type) {
  XlaBuilder builder("add");
  const XlaOp x = Parameter(&builder, 0, Shape(type), "x");
  const XlaOp y = Parameter(&builder, 1, Shape(type), "y");
  return builder.Build(Add(x, y));
}

// Applies `one` to an array, or to each element of a tuple.
XlaOp ForEachElement(XlaOp operand, const std::function<Result<XlaOp>(XlaBuilder&, XlaOp)>& one) {
  return RunBuild(nullptr, {{operand}}, [&](XlaBuilder& b) -> Result<XlaOp> {
    if (!operand.shape().IsTuple()) return one(b, operand);
    std::vector<XlaOp> results;
    for (size_t i = 0; i < operand.shape().tuple_elements().size(); ++i) {
      VXLA_ASSIGN_OR_RETURN(const XlaOp element, Emit(b, Opcode::kGetTupleElement, {{operand}}, {},
                                                      GetTupleElementAttributes{static_cast<int64_t>(i)}));
      VXLA_ASSIGN_OR_RETURN(results.emplace_back(), one(b, element));
    }
    return Emit(b, Opcode::kTuple, results);
  });
}

// The operand's shape with one dimension multiplied or divided.
Result<Shape> Scaled(const char* what, const Shape& shape, int64_t dimension, int64_t count, bool grows) {
  if (dimension < 0 || dimension >= shape.rank()) {  // shard_c1
    return InvalidArgument("{}: dimension {} is not a dimension of {}", what, dimension, shape.ToString());
  }
  if (count < 1) return InvalidArgument("{}: shard count {} is below 1", what, count);  // shard_c2
  const int64_t size = shape.dimension(dimension);
  if (!grows && size % count != 0) {  // shard_c3
    return InvalidArgument("{}: dimension {} of {} does not split into {}", what, dimension, shape.ToString(), count);
  }
  if (grows && size > INT64_MAX / count) {  // shard_c4
    return InvalidArgument("{}: {} times dimension {} of {} exceeds the limit of 2^63-1", what, count, dimension,
                           shape.ToString());
  }
  Shape result = shape;
  result.set_layout(std::nullopt);
  result.set_dimension(dimension, grows ? size * count : size / count);
  return result;
}

// Of what `begins` a transfer.
SendRecvAttributes ChannelOf(XlaOp context, Opcode begins) {
  const bool begun = context.valid() && context.instruction()->opcode() == begins;
  return begun ? context.instruction()->attributes<SendRecvAttributes>() : SendRecvAttributes{};
}

}  // namespace

XlaOp AllReduce(XlaOp operand, const XlaComputation& computation, const ReplicaGroups& replica_groups,
                std::optional<int64_t> channel_id, const std::optional<Shape>&,
                std::optional<bool> use_global_device_ids) {
  return ForEachElement(operand, [&](XlaBuilder& b, XlaOp element) {
    return Emit(b, Opcode::kAllReduce, {{element}}, {},
                Collective(replica_groups, channel_id, {}, use_global_device_ids), {{computation}});
  });
}

XlaOp CrossReplicaSum(XlaOp operand, const ReplicaGroups& replica_groups) {
  return ForEachElement(operand, [&](XlaBuilder& b, XlaOp element) -> Result<XlaOp> {
    VXLA_ASSIGN_OR_RETURN(const XlaComputation add, ScalarAdd(element.shape().element_type()));
    return Emit(b, Opcode::kAllReduce, {{element}}, {}, Collective(replica_groups, {}), {{add}});
  });
}

XlaOp AllGather(XlaOp operand, int64_t all_gather_dim, int64_t shard_count, const ReplicaGroups& replica_groups,
                std::optional<int64_t> channel_id, const std::optional<Layout>&,
                std::optional<bool> use_global_device_ids) {
  return ForEachElement(operand, [&](XlaBuilder& b, XlaOp element) -> Result<XlaOp> {
    VXLA_ASSIGN_OR_RETURN(Shape shape, Scaled("all-gather", element.shape(), all_gather_dim, shard_count, true));
    return Emit(b, Opcode::kAllGather, {{element}}, shape,
                Collective(replica_groups, channel_id, {all_gather_dim}, use_global_device_ids));
  });
}

XlaOp ReduceScatter(XlaOp operand, const XlaComputation& computation, int64_t scatter_dimension, int64_t shard_count,
                    const ReplicaGroups& replica_groups, std::optional<int64_t> channel_id,
                    const std::optional<Layout>&, std::optional<bool> use_global_device_ids) {
  return ForEachElement(operand, [&](XlaBuilder& b, XlaOp element) -> Result<XlaOp> {
    VXLA_ASSIGN_OR_RETURN(Shape shape,
                          Scaled("reduce-scatter", element.shape(), scatter_dimension, shard_count, false));
    return Emit(b, Opcode::kReduceScatter, {{element}}, shape,
                Collective(replica_groups, channel_id, {scatter_dimension}, use_global_device_ids), {{computation}});
  });
}

// HLO's all-to-all splits and concatenates along one dimension; another concat dimension is a transpose after it.
XlaOp AllToAll(XlaOp operand, int64_t split_dimension, int64_t concat_dimension, int64_t split_count,
               const ReplicaGroups& replica_groups, const std::optional<Layout>&, std::optional<int64_t> channel_id) {
  return RunBuild(nullptr, {{operand}}, [&](XlaBuilder& b) -> Result<XlaOp> {
    const Shape shape = operand.shape();
    VXLA_ASSIGN_OR_RETURN(Shape result, Scaled("all-to-all", shape, split_dimension, split_count, false));
    VXLA_ASSIGN_OR_RETURN(result, Scaled("all-to-all", result, concat_dimension, split_count, true));
    VXLA_ASSIGN_OR_RETURN(XlaOp exchanged, Emit(b, Opcode::kAllToAll, {{operand}}, {},
                                                Collective(replica_groups, channel_id, {split_dimension})));
    if (split_dimension == concat_dimension) return exchanged;
    // The blocks become a dimension, which moves to just before concat_dimension and is merged into it.
    IntList sizes, permutation;
    for (int i = 0; i < shape.rank(); ++i) {
      if (i == split_dimension) sizes.push_back(split_count);
      sizes.push_back(i == split_dimension ? shape.dimension(i) / split_count : shape.dimension(i));
    }
    VXLA_ASSIGN_OR_RETURN(exchanged, Emit(b, Opcode::kReshape, {{exchanged}}, Shape(shape.element_type(), sizes)));
    for (int64_t i = 0; i < shape.rank(); ++i) {
      if (i == concat_dimension) permutation.push_back(split_dimension);
      permutation.push_back(i < split_dimension ? i : i + 1);
    }
    VXLA_ASSIGN_OR_RETURN(exchanged, Emit(b, Opcode::kTranspose, {{exchanged}}, {}, DimensionsAttributes{permutation}));
    return Emit(b, Opcode::kReshape, {{exchanged}}, result);
  });
}

XlaOp AllToAllTuple(const std::vector<XlaOp>& operands, const ReplicaGroups& replica_groups,
                    std::optional<int64_t> channel_id) {
  return EmitOne(nullptr, Opcode::kAllToAll, operands, {}, Collective(replica_groups, channel_id));
}

XlaOp RaggedAllToAll(XlaOp input, XlaOp output, XlaOp input_offsets, XlaOp send_sizes, XlaOp output_offsets,
                     XlaOp recv_sizes, const ReplicaGroups& replica_groups, std::optional<int64_t> channel_id) {
  return EmitOne(nullptr, Opcode::kRaggedAllToAll,
                 {input, output, input_offsets, send_sizes, output_offsets, recv_sizes}, {},
                 Collective(replica_groups, channel_id));
}

XlaOp CollectivePermute(XlaOp operand, const std::vector<std::pair<int64_t, int64_t>>& source_target_pairs,
                        std::optional<int64_t> channel_id) {
  return EmitOne(nullptr, Opcode::kCollectivePermute, {operand}, {},
                 CollectivePermuteAttributes{channel_id, source_target_pairs, {}});
}

XlaOp CollectiveBroadcast(XlaOp operand, const ReplicaGroups& replica_groups, std::optional<int64_t> channel_id) {
  return EmitOne(nullptr, Opcode::kCollectiveBroadcast, {operand}, {}, Collective(replica_groups, channel_id));
}

XlaOp ReplicaId(XlaBuilder* builder) { return EmitOne(builder, Opcode::kReplicaId, {}); }
XlaOp PartitionId(XlaBuilder* builder) { return EmitOne(builder, Opcode::kPartitionId, {}); }

XlaOp Infeed(XlaBuilder* builder, const Shape& shape, const std::string& config) {
  const XlaOp both = EmitOne(builder, Opcode::kInfeed, {AfterAll(builder, {})}, Shape::Tuple({shape, Shape::Token()}),
                             InfeedAttributes{config});
  return GetTupleElement(both, 0);
}

XlaOp Outfeed(XlaOp operand, const Shape& shape, const std::string& outfeed_config) {
  return EmitOne(nullptr, Opcode::kOutfeed, {operand, AfterAll(operand.builder(), {})}, Shape::Token(),
                 OutfeedAttributes{shape, outfeed_config});
}

XlaOp SendWithToken(XlaOp operand, XlaOp token, int64_t channel_id) {
  return EmitOne(nullptr, Opcode::kSend, {operand, token}, {}, SendRecvAttributes{channel_id, false});
}

XlaOp SendDone(XlaOp context) {
  return EmitOne(nullptr, Opcode::kSendDone, {context}, {}, ChannelOf(context, Opcode::kSend));
}

XlaOp RecvWithToken(XlaOp token, const Shape& shape, int64_t channel_id) {
  return EmitOne(nullptr, Opcode::kRecv, {token}, Shape::Tuple({shape, Shape(ElementType::kU32), Shape::Token()}),
                 SendRecvAttributes{channel_id, false});
}

XlaOp RecvDone(XlaOp context) {
  return EmitOne(nullptr, Opcode::kRecvDone, {context}, {}, ChannelOf(context, Opcode::kRecv));
}

XlaOp Send(XlaOp operand, int64_t channel_id) {
  return SendDone(SendWithToken(operand, AfterAll(operand.builder(), {}), channel_id));
}

XlaOp Recv(XlaBuilder* builder, const Shape& shape, int64_t channel_id) {
  return GetTupleElement(RecvDone(RecvWithToken(AfterAll(builder, {}), shape, channel_id)), 0);
}

XlaOp CustomCall(XlaBuilder* builder, const std::string& target_name, const std::vector<XlaOp>& operands,
                 const Shape& shape, const std::string& opaque, bool has_side_effect) {
  for (const auto& [what, name] : {std::pair("custom_call_target", target_name), std::pair("backend_config", opaque)}) {
    if (const Status status = CheckNotReserved(what, name); !status.ok() && builder != nullptr)
      return builder->Record(status);
  }
  CustomCallAttributes attributes;
  attributes.custom_call_target = target_name;
  attributes.custom_call_has_side_effect = has_side_effect;
  const XlaOp call = EmitOne(builder, Opcode::kCustomCall, operands, shape, attributes);
  if (call.valid() && !opaque.empty()) call.instruction()->mutable_common().backend_config.text = Quote(opaque);
  return call;
}

}  // namespace VXLA_NAMESPACE
