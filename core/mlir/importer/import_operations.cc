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

template <auto kMember>
Status OfSharding(Frame& frame, const Operation& operation, Instructions& operands) {
  return (frame.importer.shardings().*kMember)(frame, operation, operands);
}

using Handlers = std::unordered_map<std::string_view, HandlerRow>;

// By their names without the dialect.
const Handlers& StablehloHandlers() {
  static const Handlers handlers{
      {"constant", {ImportConstant, 0, 1}},
      {"broadcast_in_dim", {ImportBroadcastInDim, AtLeast(1), 1}},
      {"dynamic_broadcast_in_dim", {ImportBroadcastInDim, AtLeast(1), 1}},
      {"broadcast", {ImportBroadcast, 1}},
      {"reshape", {ImportReshape, AtLeast(1), 1}},
      {"dynamic_reshape", {ImportReshape, AtLeast(1), 1}},
      {"iota", {ImportIota, kAny, 1}},
      {"dynamic_iota", {ImportIota, kAny, 1}},
      {"dynamic_pad", {ImportDynamicPad, 5}},
      {"real_dynamic_slice", {ImportRealDynamicSlice, 4}},
      {"dynamic_gather", {ImportDynamicGather, 3}},
      {"dynamic_conv", {ImportDynamicConvolution, 3}},
      {"async_start", {ImportAsyncStart, kAny, 1}},
      {"async_done", {ImportAsyncDone, 1}},
      {"dot", {ImportDot, 2}},
      {"einsum", {ImportEinsum, 2}},
      {"unary_einsum", {ImportEinsum, 1}},
      {"torch_index_select", {ImportTorchIndexSelect, 2}},
      {"compare", {ImportCompare, 2}},
      {"rng", {ImportRng, 3}},
      {"optimization_barrier", {ImportBarrier}},
      {"while", {ImportWhile, kAny, kAny, 2}},
      {"if", {ImportBranches, 1, kAny, 2}},
      {"case", {ImportBranches, 1}},
      {"reduce", {ImportAlong, kAny, kAny, 1}},
      {"reduce_window", {ImportWindowed, AtLeast(2), kAny, 1}},
      {"scatter", {ImportScatter, kAny, kAny, 1}},
      {"select_and_scatter", {ImportWindowed, 3, kAny, 2}},
      {"sort", {ImportSort, AtLeast(1), kAny, 1}},
      {"map", {ImportAlong, kAny, kAny, 1}},
      {"all_reduce", {ImportReducingCollective, kAny, kAny, 1}},
      {"reduce_scatter", {ImportReducingCollective, kAny, kAny, 1}},
      {"all_to_all", {ImportAllToAll, AtLeast(1)}},
      {"collective_broadcast", {ImportCollectiveBroadcast, kAny, kAny, 0}},
      {"collective_reduce", {ImportCollectiveReduce, AtLeast(1), kAny, 1}},
      {"cross-replica-sum", {ImportCrossReplicaSum, 1, kAny, 0}},
      {"composite", {ImportComposite}},
      {"custom_call", {ImportCustomCall}},
      {"get_dimension_size", {ImportGetDimensionSize, 1, 1}},
      {"set_dimension_size", {ImportSetDimensionSize, 2, 1}},
      {"infeed", {ImportInfeed}},
      {"outfeed", {ImportOutfeed, AtLeast(1)}},
      {"send", {ImportSend, AtLeast(1)}},
      {"recv", {ImportRecv}},
      {"convert", {ImportConvert, 1, 1, 0}},
      {"call", {ImportCall}},
  };
  return handlers;
}

const Handlers& OtherHandlers() {
  static const Handlers handlers{
      {"arith.constant", {ImportArithConstant, 0, 1}},
      {"func.call", {ImportCall}},
      {"interpreter.probe", {ImportCheck, 1}},
      {"interpreter.print", {ImportCheck}},
      {"chlo.constant", {ImportConstant, 0, 1}},
      {"chlo.dynamic_reshape", {ImportReshape, AtLeast(1), 1}},
      {"chlo.constant_like", {ImportConstantLike, 1, 1}},
      {"chlo.ragged_dot", {ImportRaggedDot, 3}},
      {"chlo.scan", {ImportScan, kAny, kAny, 1}},
      {"chlo.top_k", {ImportTopK}},
      {"sdy.mesh", {ImportNothing}},
      {"sdy.sharding_constraint", {OfSharding<&ShardingImporter::ImportConstraint>, 1, 1}},
      {"sdy.sharding_group", {OfSharding<&ShardingImporter::ImportGroup>, 1, 0}},
      {"sdy.manual_computation", {OfSharding<&ShardingImporter::ImportManualComputation>}},
  };
  return handlers;
}

HandlerRow HandlerOf(std::string_view name) {
  const std::string_view stablehlo = StablehloName(name);
  const Handlers& handlers = stablehlo.empty() ? OtherHandlers() : StablehloHandlers();
  const auto found = handlers.find(stablehlo.empty() ? name : stablehlo);
  if (found != handlers.end()) return found->second;
  if (!stablehlo.empty()) return {};
  if (const HandlerRow row = TensorHandlerOf(name); row.handler != nullptr) return row;
  if (name.starts_with("check.")) return {ImportCheck};
  return {name.starts_with("chlo.") ? ImportChlo : nullptr};
}

Status CheckCounts(const Operation& operation, const HandlerRow& row) {
  if (row.regions != kAny) VXLA_RETURN_IF_ERROR(operation.ExpectRegions(row.regions));
  if (row.operands < kAny) VXLA_RETURN_IF_ERROR(operation.ExpectOperandsAtLeast(kAny - row.operands));
  if (row.operands > kAny) VXLA_RETURN_IF_ERROR(operation.ExpectOperands(row.operands));
  return row.results == kAny ? OkStatus() : operation.ExpectResults(row.results);
}

Status ImportUnsharded(Frame& frame, const Operation& operation) {
  frame.importer.set_location(operation.location);
  for (const ValueId result : operation.results)
    VXLA_RETURN_IF_ERROR(frame.importer.CheckType(operation, frame.importer.program().values[result].type));
  VXLA_RETURN_IF_ERROR(CheckBuffers(frame, operation));
  if (!frame.importer.lanes().sizes.empty() && !RunsForLanes(operation.name) && HasLanes(frame, operation))
    return operation.NotSupported("values that differ from element to element of a region are not supported");
  if (const HandlerRow row = HandlerOf(operation.name); row.handler != nullptr) {
    VXLA_RETURN_IF_ERROR(CheckCounts(operation, row));
    VXLA_ASSIGN_OR_RETURN(Instructions operands, Operands(frame, operation));
    return row.handler(frame, operation, operands);
  }
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

Result<Instructions> RunBlock(Frame& frame, const Block& block) {
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
  VXLA_ASSIGN_OR_RETURN(Instructions operands, Operands(frame, operation));
  for (size_t i = 0; opcode == Opcode::kAfterAll && i < operands.size(); ++i) {  // HLO's takes any values
    const Shape& shape = operands[i]->shape();
    if (!shape.IsToken()) return operation.Error("operand {} is {}, not a token", i, shape.ToString());
  }
  VXLA_ASSIGN_OR_RETURN(Attributes attributes, AttributesFor(opcode, operation, frame.importer.typed()));
  return BindInferred(frame, operation, opcode, std::move(operands), std::move(attributes), {},
                      frame.importer.ResultShape(operation));
}

}  // namespace VXLA_NAMESPACE::mlir
