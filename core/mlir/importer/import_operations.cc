#include "core/mlir/importer/import_operations.h"

#include "core/mlir/rewrite/structured_control.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

bool IsReturn(std::string_view name) {
  return name == "func.return" || name.ends_with("hlo.return") || name == "sdy.return" || name.ends_with(".yield");
}

// StableHLO's name without its dialect; empty for other dialects. MHLO's ops have the same names.
std::string_view StablehloName(std::string_view name) {
  for (const std::string_view dialect : {"stablehlo.", "mhlo."}) {
    if (name.starts_with(dialect)) return name.substr(dialect.size());
  }
  return {};
}

// An array whose memory is its own is for calls, and for what hands values on.
Status CheckBuffers(Frame& frame, const Operation& operation) {
  const std::string_view name = StablehloName(operation.name);
  for (const std::string_view taker : {"custom_call", "while", "case", "if", "optimization_barrier", "composite"}) {
    if (name == taker) return OkStatus();
  }
  if (operation.name.starts_with("func.")) return OkStatus();
  for (const std::vector<ValueId>* const values : {&operation.operands, &operation.results}) {
    for (const ValueId value : *values) {
      const Type& type = frame.importer.program().values[value].type;
      if (type.buffer) return operation.Error("{}, where a tensor is wanted", PrintType(type));
    }
  }
  return OkStatus();
}

template <Status (ShardingImporter::*kMember)(Frame& frame, const Operation& operation)>
Status OfSharding(Frame& frame, const Operation& operation) {
  return (frame.importer.shardings().*kMember)(frame, operation);
}

using Handlers = std::unordered_map<std::string_view, Handler*>;

// By their names without the dialect.
const Handlers& StablehloHandlers() {
  static const Handlers handlers{
      {"constant", ImportConstant},
      {"broadcast_in_dim", ImportBroadcastInDim},
      {"dynamic_broadcast_in_dim", ImportBroadcastInDim},
      {"broadcast", ImportBroadcast},
      {"reshape", ImportReshape},
      {"dynamic_reshape", ImportReshape},
      {"iota", ImportIota},
      {"dynamic_iota", ImportIota},
      {"dynamic_pad", ImportDynamicPad},
      {"real_dynamic_slice", ImportRealDynamicSlice},
      {"dynamic_gather", ImportDynamicGather},
      {"dynamic_conv", ImportDynamicConvolution},
      {"async_start", ImportAsyncStart},
      {"async_done", ImportAsyncDone},
      {"dot", ImportDot},
      {"einsum", ImportEinsum},
      {"unary_einsum", ImportEinsum},
      {"torch_index_select", ImportTorchIndexSelect},
      {"compare", ImportCompare},
      {"rng", ImportRng},
      {"optimization_barrier", ImportBarrier},
      {"while", ImportWhile},
      {"if", ImportBranches},
      {"case", ImportBranches},
      {"reduce", ImportAlong},
      {"reduce_window", ImportWindowed},
      {"scatter", ImportScatter},
      {"select_and_scatter", ImportWindowed},
      {"sort", ImportSort},
      {"map", ImportAlong},
      {"all_reduce", ImportReducingCollective},
      {"reduce_scatter", ImportReducingCollective},
      {"all_to_all", ImportAllToAll},
      {"collective_broadcast", ImportCollectiveBroadcast},
      {"collective_reduce", ImportCollectiveReduce},
      {"cross-replica-sum", ImportCrossReplicaSum},
      {"composite", ImportComposite},
      {"custom_call", ImportCustomCall},
      {"get_dimension_size", ImportGetDimensionSize},
      {"set_dimension_size", ImportSetDimensionSize},
      {"infeed", ImportInfeed},
      {"outfeed", ImportOutfeed},
      {"send", ImportSend},
      {"recv", ImportRecv},
      {"convert", ImportConvert},
      {"call", ImportCall},
  };
  return handlers;
}

const Handlers& OtherHandlers() {
  static const Handlers handlers{
      {"func.call", ImportCall},
      {"interpreter.probe", ImportCheck},
      {"interpreter.print", ImportCheck},
      {"chlo.constant", ImportConstant},
      {"chlo.dynamic_reshape", ImportReshape},
      {"chlo.constant_like", ImportConstantLike},
      {"chlo.ragged_dot", ImportRaggedDot},
      {"chlo.scan", ImportScan},
      {"chlo.top_k", ImportTopK},
      {"sdy.mesh", ImportNothing},
      {"sdy.sharding_constraint", OfSharding<&ShardingImporter::ImportConstraint>},
      {"sdy.sharding_group", OfSharding<&ShardingImporter::ImportGroup>},
      {"sdy.manual_computation", OfSharding<&ShardingImporter::ImportManualComputation>},
  };
  return handlers;
}

Handler* HandlerOf(std::string_view name) {
  const std::string_view stablehlo = StablehloName(name);
  if (!stablehlo.empty()) {
    const auto found = StablehloHandlers().find(stablehlo);
    return found == StablehloHandlers().end() ? nullptr : found->second;
  }
  if (const auto found = OtherHandlers().find(name); found != OtherHandlers().end()) return found->second;
  if (Handler* const handler = TensorHandlerOf(name); handler != nullptr) return handler;
  if (name.starts_with("check.")) return ImportCheck;
  return name.starts_with("chlo.") ? ImportChlo : nullptr;
}

Status ImportUnsharded(Frame& frame, const Operation& operation) {
  frame.importer.set_location(operation.location);
  for (const ValueId result : operation.results)
    VXLA_RETURN_IF_ERROR(frame.importer.CheckType(operation, frame.importer.program().values[result].type));
  VXLA_RETURN_IF_ERROR(CheckBuffers(frame, operation));
  if (!frame.importer.lanes().sizes.empty() && !RunsForLanes(operation.name) && HasLanes(frame, operation))
    return operation.NotSupported("values that differ from element to element of a region are not supported");
  if (Handler* const handler = HandlerOf(operation.name)) return (*handler)(frame, operation);
  const std::string_view stablehlo = StablehloName(operation.name);
  if (stablehlo == "create_token") return ImportPlain(frame, operation, Opcode::kAfterAll);
  if (const auto opcode = ParseOpcode(stablehlo, &OpcodeFacts::stablehlo_text))
    return ImportPlain(frame, operation, *opcode);
  if (operation.name.starts_with("interpreter.")) {
    return Unsupported("{}: stands only in the function that `vxla check` runs, not in a region or a called function",
                       operation.name)
        .At(operation.location);
  }
  return Unsupported("unknown operation '{}'", operation.name).At(operation.location);
}

}  // namespace

Result<const Block*> OnlyBlock(const Operation& operation, size_t region) {
  if (region >= operation.regions.size())
    return operation.Error("{} regions, region {} is missing", operation.regions.size(), region);
  const auto& blocks = operation.regions[region].blocks;
  if (blocks.size() == 1) return &blocks[0];
  if (blocks.empty()) return operation.Error("a body is needed");
  return operation.NotSupported("a region of {} blocks", blocks.size());
}

Result<std::vector<Instruction*>> RunBlock(Frame& frame, const Block& block) {
  for (const Operation& operation : block.operations) {
    if (!IsReturn(operation.name)) {
      VXLA_RETURN_IF_ERROR(ImportOperation(frame, operation));
      continue;
    }
    if (&operation != &block.operations.back())
      return InvalidArgument("{}: operations follow it", operation.name).At(operation.location);
    return Operands(frame, operation);
  }
  const SourceLocation end =
      block.operations.empty() ? frame.importer.program().module.location : block.operations.back().location;
  return InvalidArgument("a block does not end with a return").At(end);
}

Status ImportOperation(Frame& frame, const Operation& operation) {
  VXLA_RETURN_IF_ERROR(ImportUnsharded(frame, operation));
  ShardingImporter& shardings = frame.importer.shardings();
  return shardings.IsPartitioned() && frame.importer.lanes().applied == 0 ? shardings.ConstrainResults(frame, operation)
                                                                          : OkStatus();
}

Status ImportPlain(Frame& frame, const Operation& operation, Opcode opcode) {
  VXLA_RETURN_IF_ERROR(operation.ExpectRegions(0));
  VXLA_ASSIGN_OR_RETURN(std::vector<Instruction*> operands, Operands(frame, operation));
  for (size_t i = 0; opcode == Opcode::kAfterAll && i < operands.size(); ++i) {  // HLO's takes any values
    const Shape& shape = operands[i]->shape();
    if (!shape.IsToken()) return operation.Error("operand {} is {}, not a token", i, shape.ToString());
  }
  VXLA_ASSIGN_OR_RETURN(Attributes attributes, AttributesFor(opcode, operation, frame.importer.typed()));
  return BindInferred(frame, operation, opcode, std::move(operands), std::move(attributes), {},
                      frame.importer.ResultShape(operation));
}

}  // namespace VXLA_NAMESPACE::mlir
