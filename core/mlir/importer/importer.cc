#include "core/mlir/importer/importer.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/devices/replica_groups.h"
#include "core/host/guarded.h"
#include "core/limits.h"
#include "core/mlir/importer/dynamic_program.h"
#include "core/mlir/importer/import_state.h"
#include "core/mlir/reader/parser.h"
#include "core/mlir/rewrite/structured_control.h"
#include "core/ops/ops.h"
#include "core/passes/base/prepare.h"
#include "core/passes/sharding/partitioner.h"

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

const std::unordered_map<std::string_view, Opcode>& StablehloOpcodes() {
  static const auto* const opcodes = [] {
    auto* map = new std::unordered_map<std::string_view, Opcode>;
    for (int i = 0; i < OpcodeCount(); ++i) {
      const OpcodeFacts& facts = FactsOf(static_cast<Opcode>(i));
      if (!facts.stablehlo_text.empty()) map->emplace(facts.stablehlo_text, static_cast<Opcode>(i));
    }
    return map;
  }();
  return *opcodes;
}

// A name as HLO text can have it.
std::string CleanName(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool fits =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
    out += fits ? c : '_';
  }
  return out.empty() || (out[0] >= '0' && out[0] <= '9') || out[0] == '.' || out[0] == '-' ? "_" + out : out;
}

}  // namespace

// Names of the text that are numbers say less than the opcode.
std::string InstructionName(std::string_view name) {
  return name.empty() || (name[0] >= '0' && name[0] <= '9') ? std::string() : CleanName(name);
}

std::string SymbolOf(const Operation& operation) {
  const Attribute* name = operation.Find("sym_name");
  return name == nullptr ? "" : name->text;
}

Result<std::unique_ptr<Module>> Importer::Run() {
  VXLA_RETURN_IF_ERROR(CollectFunctions());
  VXLA_RETURN_IF_ERROR(SetModuleAttributes(program_, *module_));
  if (int64_t& partitions = module_->mutable_attributes().num_partitions; partitions == 1) partitions = partitions_;
  VXLA_ASSIGN_OR_RETURN(const Operation* const entry, EntryOf(program_));
  if (IsPartitioned() && !refines()) VXLA_RETURN_IF_ERROR(ReadEntryShardings(*entry));
  VXLA_ASSIGN_OR_RETURN(Computation* const computation, ImportFunction(SymbolOf(*entry), entry->location));
  module_->set_entry(computation);
  if (module_->name().empty()) module_->set_name(computation->name());
  VXLA_ASSIGN_OR_RETURN(module_, Partitioned(std::move(module_)));
  VXLA_RETURN_IF_ERROR(SetEntryAttributes(*entry));
  VXLA_RETURN_IF_ERROR(CheckCallDepth(*module_));
  return std::move(module_);
}

Status Importer::CollectFunctions() {
  const Operation& top = program_.module;
  if (top.name != "builtin.module") return InvalidArgument("'{}' is no module", top.name).At(top.location);
  for (const Region& region : top.regions) {
    for (const Block& block : region.blocks) {
      for (const Operation& operation : block.operations) {
        if (operation.name == "sdy.mesh") continue;
        if (operation.name != "func.func") {
          return InvalidArgument("a module holds functions (func.func), not '{}'", operation.name)
              .At(operation.location);
        }
        std::string name = SymbolOf(operation);
        if (!functions_.emplace(name, &operation).second)
          return InvalidArgument("duplicate function '@{}'", name).At(operation.location);
      }
    }
  }
  return OkStatus();
}

Result<const Operation*> EntryOf(const Program& program) {
  const Operation *found = nullptr, *main = nullptr;
  int count = 0;
  for (const Region& region : program.module.regions) {
    for (const Block& block : region.blocks) {
      for (const Operation& function : block.operations) {
        if (function.name != "func.func") continue;
        if (SymbolOf(function) == "main") main = &function;
        const Attribute* visibility = function.Find("sym_visibility");
        if (visibility != nullptr && visibility->text == "private") continue;
        found = &function;
        ++count;
      }
    }
  }
  if (main != nullptr) return main;
  if (count == 1) return found;
  return InvalidArgument("the module has no function @main, and {} public functions where one is needed", count)
      .At(program.module.location);
}

Status SetModuleAttributes(const Program& program, Module& module) {
  const OperationReader reader(program.module);
  const std::string name = SymbolOf(program.module);
  if (!name.empty()) module.set_name(CleanName(name));
  ModuleAttributes& attributes = module.mutable_attributes();
  VXLA_ASSIGN_OR_RETURN(attributes.num_partitions, reader.Int("mhlo.num_partitions", 1));
  VXLA_ASSIGN_OR_RETURN(attributes.replica_count, reader.Int("mhlo.num_replicas", 1));
  return OkStatus();
}

// What the arguments' attributes say of the whole program: shardings, and results that take an argument's memory.
Status Importer::SetEntryAttributes(const Operation& function) {
  const Attribute* arguments = function.Find("arg_attrs");
  if (arguments == nullptr) return OkStatus();
  for (size_t i = 0; i < arguments->elements.size() && i < module_->entry()->parameters().size(); ++i) {
    const Attribute& argument = arguments->elements[i];
    if (const Attribute* sharding = argument.Find("mhlo.sharding"))
      module_->entry()->parameter(static_cast<int64_t>(i))->mutable_common().sharding.text = sharding->text;
    if (const Attribute* alias = argument.Find("tf.aliasing_output")) AddAliasing(i, alias->integer);
  }
  for (size_t i = 0; i < arguments->elements.size() && i < module_->entry()->parameters().size(); ++i) {
    const Attribute* const donor = arguments->elements[i].Find("jax.buffer_donor");
    if (donor != nullptr && donor->integer != 0) AddDonor(i);
  }
  return OkStatus();
}

void Importer::AddAliasing(size_t argument, int64_t result) {
  // Tiles of an argument and of a result that is as large may differ.
  const std::vector<const Shape*> leaves = FlattenTuple(module_->entry()->root()->shape());
  const Shape& given = module_->entry()->parameter(static_cast<int64_t>(argument))->shape();
  const bool fits =
      result >= 0 && result < std::ssize(leaves) && Compatible(*leaves[static_cast<size_t>(result)], given);
  if (IsPartitioned() && !fits) return;
  Aliasing aliasing;
  aliasing.operand = static_cast<int64_t>(argument);
  aliasing.kind = "may-alias";
  if (module_->entry()->root()->shape().IsTuple()) aliasing.output_index = {result};
  module_->mutable_attributes().input_output_alias.push_back(std::move(aliasing));
}

// Its memory is that of the first result like it which takes no other argument's.
void Importer::AddDonor(size_t argument) {
  const ModuleAttributes& attributes = module_->attributes();
  const Shape& given = module_->entry()->parameter(static_cast<int64_t>(argument))->shape();
  const std::vector<const Shape*> leaves = FlattenTuple(module_->entry()->root()->shape());
  for (size_t i = 0; i < leaves.size(); ++i) {
    const bool taken = std::ranges::any_of(attributes.input_output_alias, [&](const Aliasing& alias) {
      return alias.output_index.empty() || alias.output_index[0] == static_cast<int64_t>(i);
    });
    if (!taken && Compatible(*leaves[i], given)) return AddAliasing(argument, static_cast<int64_t>(i));
  }
  // JAX counts on it that an argument as large as a result is gone.
  const bool as_large =
      std::ranges::any_of(leaves, [&](const Shape* leaf) { return leaf->SizeBytes() == given.SizeBytes(); });
  if (as_large) module_->mutable_attributes().buffer_donor.emplace_back(static_cast<int64_t>(argument), IntList());
}

// ---- functions and blocks

Result<const Operation*> Importer::Enter(const std::string& name, SourceLocation use) {
  const auto found = functions_.find(name);
  if (found == functions_.end()) return InvalidArgument("no function '@{}' in the module", name).At(use);
  if (!open_.insert(name).second) return Unsupported("'@{}' calls itself: recursion is not supported", name).At(use);
  if (open_.size() > static_cast<size_t>(kMaxCallDepth))
    return Unsupported("functions call one another more than {} deep", kMaxCallDepth).At(use);
  return found->second;
}

Result<Computation*> Importer::ImportFunction(const std::string& name, SourceLocation use) {
  if (const auto known = imported_.find(name); known != imported_.end()) return known->second;
  VXLA_ASSIGN_OR_RETURN(const Operation* const function, Enter(name, use));
  VXLA_ASSIGN_OR_RETURN(Computation* const computation, BuildFunction(*function));
  open_.erase(name);
  return imported_[name] = computation;
}

Result<Computation*> Importer::BuildFunction(const Operation& function) {
  VXLA_ASSIGN_OR_RETURN(const Block* block, OnlyBlock(function, 0));
  Frame frame;
  frame.computation = std::make_unique<Computation>(CleanName(SymbolOf(function)));
  if (entry_frame_ == nullptr && checks_ == nullptr) entry_frame_ = &frame;
  for (size_t i = 0; i < block->arguments.size(); ++i) {
    const Value& value = program_.values[block->arguments[i]];
    VXLA_RETURN_IF_ERROR(CheckType(function, value.type));
    std::string name = InstructionName(value.name);
    location_ = function.location;
    name_hint_ = {};
    VXLA_ASSIGN_OR_RETURN(Shape shape, ArgumentShape(function, i, value.type));
    SetActual(block->arguments[i], shape);
    Instruction* const parameter = frame.computation->Add(
        Opcode::kParameter, shape, {}, ParameterAttributes{static_cast<int64_t>(i)}, {}, std::move(name));
    parameter->set_location(function.location);
    frame.values[block->arguments[i]] = parameter;
  }
  VXLA_ASSIGN_OR_RETURN(std::vector<Instruction*> results, RunBlock(frame, *block));
  VXLA_RETURN_IF_ERROR(CheckResultTypes(function, results));
  frame.computation->set_root(TupleOrOne(frame, std::move(results)));
  return module_->AddComputation(std::move(frame.computation));
}

Status Importer::CheckResultTypes(const Operation& function, const std::vector<Instruction*>& results) const {
  const OperationReader reader(function);
  const Attribute* type = function.Find("function_type");
  if (type == nullptr) return OkStatus();
  const auto& stated = type->type.results;
  if (stated.size() != results.size())
    return reader.Error("'@{}' returns {} values, its type says {}", SymbolOf(function), results.size(), stated.size());
  for (size_t i = 0; i < stated.size(); ++i) {
    if (Fits(stated[i], results[i]->shape())) continue;
    return reader.Error("'@{}' returns {} as result {}, its type says {}", SymbolOf(function),
                        PrintType(results[i]->shape()), i, PrintType(stated[i]));
  }
  return OkStatus();
}

Result<const Block*> Importer::OnlyBlock(const Operation& operation, size_t region) const {
  const OperationReader reader(operation);
  if (region >= operation.regions.size())
    return reader.Error("{} regions, region {} is missing", operation.regions.size(), region);
  const auto& blocks = operation.regions[region].blocks;
  if (blocks.size() == 1) return &blocks[0];
  if (blocks.empty()) return reader.Error("a body is needed");
  return reader.NotSupported("a region of {} blocks", blocks.size());
}

Result<std::vector<Instruction*>> Importer::RunBlock(Frame& frame, const Block& block) {
  for (const Operation& operation : block.operations) {
    if (!IsReturn(operation.name)) {
      VXLA_RETURN_IF_ERROR(ImportOperation(frame, operation));
      continue;
    }
    if (&operation != &block.operations.back())
      return InvalidArgument("{}: operations follow it", operation.name).At(operation.location);
    return Operands(frame, operation);
  }
  const SourceLocation end = block.operations.empty() ? program_.module.location : block.operations.back().location;
  return InvalidArgument("a block does not end with a return").At(end);
}

// ---- values

Status Importer::CheckType(const Operation& operation, const Type& type) const {
  const OperationReader reader(operation);
  if (type.kind == Type::Kind::kOther && type.text.starts_with("!stablehlo.future<")) return OkStatus();
  if (refines() && (type.kind == Type::Kind::kElement || type.unranked)) return OkStatus();
  if (type.kind != Type::Kind::kShape || type.unranked)
    return reader.NotSupported("the type {} is not supported", PrintType(type));
  for (const Shape* leaf : FlattenTuple(type.shape)) {
    if (!HasUnknownSize(*leaf)) continue;
    if (refines()) return OkStatus();
    return reader.NotSupported("{} has a dimension of unknown size (?), which is not supported yet", PrintType(type));
  }
  if (const Status status = CheckShape(type.shape); !status.ok()) return reader.Error("{}", status.message());
  return OkStatus();
}

// An array whose memory is its own is for calls, and for what hands values on.
Status Importer::CheckBuffers(const Operation& operation) const {
  const std::string_view name = StablehloName(operation.name);
  for (const std::string_view taker : {"custom_call", "while", "case", "if", "optimization_barrier", "composite"}) {
    if (name == taker) return OkStatus();
  }
  if (operation.name.starts_with("func.")) return OkStatus();
  for (const std::vector<ValueId>* const values : {&operation.operands, &operation.results}) {
    for (const ValueId value : *values) {
      const Type& type = program_.values[value].type;
      if (type.buffer) return OperationReader(operation).Error("{}, where a tensor is wanted", PrintType(type));
    }
  }
  return OkStatus();
}

Result<Instruction*> Importer::Lookup(Frame& frame, const Operation& operation, ValueId value) {
  const auto found = frame.values.find(value);
  if (found != frame.values.end()) return found->second;
  const Value& outside = program_.values[value];
  return OperationReader(operation).NotSupported(
      "%{}, {}, comes from around the region, which only constants, scalars and arrays of up to 64 elements of some "
      "operations may",
      outside.name, PrintType(outside.type));
}

Result<std::vector<Instruction*>> Importer::Operands(Frame& frame, const Operation& operation) {
  std::vector<Instruction*> operands;
  for (const ValueId value : operation.operands) {
    VXLA_ASSIGN_OR_RETURN(Instruction* const operand, Lookup(frame, operation, value));
    operands.push_back(operand);
  }
  return operands;
}

Result<std::vector<Instruction*>> Importer::Operands(Frame& frame, const Operation& operation, size_t count,
                                                     std::optional<size_t> results) {
  const OperationReader reader(operation);
  VXLA_RETURN_IF_ERROR(reader.ExpectOperands(count));
  if (results) VXLA_RETURN_IF_ERROR(reader.ExpectResults(*results));
  return Operands(frame, operation);
}

Instruction* Importer::Add(Frame& frame, Opcode opcode, Shape shape, std::vector<Instruction*> operands,
                           Attributes attributes, std::vector<Computation*> called) {
  Instruction* const added =
      frame.computation->Add(opcode, std::move(shape), std::move(operands), std::move(attributes), std::move(called));
  added->set_location(location_);
  return added;
}

Result<Instruction*> Importer::AddInferred(Frame& frame, const Operation& operation, Opcode opcode,
                                           std::vector<Instruction*> operands, Attributes attributes,
                                           std::vector<Computation*> called, Shape stated) {
  const int expected = FactsOf(opcode).operand_count;
  if (expected >= 0 && operands.size() != static_cast<size_t>(expected))
    return OperationReader(operation).Error("{} operands, expected {}", operands.size(), expected);
  // Operations that take more than the element type from the stated shape were given a complete one.
  if (refines() && stated.IsArray() && HasUnknownSize(stated)) stated = Shape(stated.element_type());
  auto instruction = std::make_unique<Instruction>(opcode, std::move(stated), std::move(operands),
                                                   std::move(attributes), std::move(called));
  Result<Shape> shape = InferShape(*instruction);
  if (!shape.ok()) {
    return Status(shape.status()).WithPrefix(operation.name + ": ").At(operation.location);
  }
  instruction->mutable_shape() = *std::move(shape);
  instruction->set_location(operation.location);
  if (std::holds_alternative<CollectiveAttributes>(instruction->attributes())) {
    const Result<GroupMode> mode = GroupModeOf(*instruction);
    if (!mode.ok()) return Status(mode.status()).At(operation.location);  // all_gather_c5
    if (*mode == GroupMode::kCrossReplicaAndPartition) instruction->mutable_notes().by_partition = true;
  }
  return frame.computation->Add(std::move(instruction));
}

Instruction* Importer::Element(Frame& frame, Instruction* tuple, int64_t index) {
  return Add(frame, Opcode::kGetTupleElement, tuple->shape().tuple_elements()[static_cast<size_t>(index)], {tuple},
             GetTupleElementAttributes{index});
}

Instruction* Importer::TupleOrOne(Frame& frame, std::vector<Instruction*> values) {
  if (values.size() == 1) return values[0];
  std::vector<Shape> shapes;
  for (const Instruction* value : values) shapes.push_back(value->shape());
  return Add(frame, Opcode::kTuple, Shape::Tuple(std::move(shapes)), std::move(values));
}

Shape Importer::ResultShape(const Operation& operation) const {
  std::vector<Shape> shapes;
  for (const ValueId result : operation.results) shapes.push_back(Completed(operation, program_.ShapeOf(result)));
  return shapes.size() == 1 ? shapes[0] : Shape::Tuple(std::move(shapes));
}

Status Importer::BindValues(Frame& frame, const Operation& operation, const std::vector<Instruction*>& values) {
  const OperationReader reader(operation);
  if (values.size() != operation.results.size())
    return reader.Error("{} results are stated, {} follow from the operands", operation.results.size(), values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const Value& result = program_.values[operation.results[i]];
    const Shape& shape = values[i]->shape();
    if (refines() ? !Fits(result.type, shape) : !Compatible(result.type.shape, shape)) {
      return reader.Error("result {} is stated as {}, the operands give {}", i, PrintType(result.type),
                          PrintType(values[i]->shape()));
    }
    Instruction* const value = Folded(frame, values[i]);
    SetActual(operation.results[i], value->shape());
    frame.values[operation.results[i]] = value;
    if (!lane_axes_.empty()) lane_axes_.erase(operation.results[i]);
    std::string name = InstructionName(result.name);
    if (!name.empty() && value->name().starts_with(OpcodeText(value->opcode())))
      frame.computation->Rename(value, std::move(name));
  }
  return OkStatus();
}

Status Importer::BindResults(Frame& frame, const Operation& operation, Instruction* instruction) {
  if (operation.results.size() == 1) return BindValues(frame, operation, {instruction});
  if (!instruction->shape().IsTuple() || instruction->shape().tuple_elements().size() != operation.results.size()) {
    return OperationReader(operation).Error("{} results are stated, the operands give {}", operation.results.size(),
                                            PrintType(instruction->shape()));
  }
  std::vector<Instruction*> elements;
  for (size_t i = 0; i < operation.results.size(); ++i)
    elements.push_back(Element(frame, instruction, static_cast<int64_t>(i)));
  return BindValues(frame, operation, elements);
}

Result<std::vector<Instruction*>> Importer::Inline(Frame& frame, const XlaComputation& program,
                                                   const std::vector<Instruction*>& arguments) {
  for (const auto& callee : program.module().computations()) {
    if (callee.get() == program.module().entry()) continue;
    Computation* const copy = module_->AddComputation(callee->name());
    copy->set_root(CloneInto(*callee, *copy, {}, [&](Computation* called) { return inlined_callees_.at(called); }));
    inlined_callees_[callee.get()] = copy;
  }
  Instruction* const root = CloneInto(*program.module().entry(), *frame.computation, arguments,
                                      [&](Computation* called) { return inlined_callees_.at(called); });
  inlined_callees_.clear();
  return std::vector<Instruction*>{root};
}

// ---- operations

Importer::Handler Importer::HandlerOf(std::string_view name) {
  using I = Importer;
  static const std::unordered_map<std::string_view, Handler> kHandlers{
      {"constant", &I::ImportConstant},
      {"broadcast_in_dim", &I::ImportBroadcastInDim},
      {"dynamic_broadcast_in_dim", &I::ImportBroadcastInDim},
      {"broadcast", &I::ImportBroadcast},
      {"reshape", &I::ImportReshape},
      {"dynamic_reshape", &I::ImportReshape},
      {"iota", &I::ImportIota},
      {"dynamic_iota", &I::ImportIota},
      {"dynamic_pad", &I::ImportDynamicPad},
      {"real_dynamic_slice", &I::ImportRealDynamicSlice},
      {"dynamic_gather", &I::ImportDynamicGather},
      {"dynamic_conv", &I::ImportDynamicConvolution},
      {"async_start", &I::ImportAsyncStart},
      {"async_done", &I::ImportAsyncDone},
      {"dot", &I::ImportDot},
      {"einsum", &I::ImportEinsum},
      {"unary_einsum", &I::ImportEinsum},
      {"torch_index_select", &I::ImportTorchIndexSelect},
      {"compare", &I::ImportCompare},
      {"rng", &I::ImportRng},
      {"optimization_barrier", &I::ImportBarrier},
      {"while", &I::ImportWhile},
      {"if", &I::ImportBranches},
      {"case", &I::ImportBranches},
      {"reduce", &I::ImportReduce},
      {"reduce_window", &I::ImportWindowed},
      {"scatter", &I::ImportScatter},
      {"select_and_scatter", &I::ImportWindowed},
      {"sort", &I::ImportSort},
      {"map", &I::ImportMap},
      {"all_reduce", &I::ImportReducingCollective},
      {"reduce_scatter", &I::ImportReducingCollective},
      {"all_to_all", &I::ImportAllToAll},
      {"collective_broadcast", &I::ImportCollectiveBroadcast},
      {"collective_reduce", &I::ImportCollectiveReduce},
      {"cross-replica-sum", &I::ImportCrossReplicaSum},
      {"composite", &I::ImportComposite},
      {"custom_call", &I::ImportCustomCall},
      {"get_dimension_size", &I::ImportGetDimensionSize},
      {"set_dimension_size", &I::ImportSetDimensionSize},
      {"infeed", &I::ImportInfeed},
      {"outfeed", &I::ImportOutfeed},
      {"send", &I::ImportSend},
      {"recv", &I::ImportRecv},
      {"convert", &I::ImportConvert},
      {"call", &I::ImportCall},
  };
  static const std::unordered_map<std::string_view, Handler> kOthers{
      {"func.call", &I::ImportCall},
      {"interpreter.probe", &I::ImportCheck},
      {"interpreter.print", &I::ImportCheck},
      {"chlo.constant", &I::ImportConstant},
      {"chlo.dynamic_reshape", &I::ImportReshape},
      {"chlo.constant_like", &I::ImportConstantLike},
      {"chlo.ragged_dot", &I::ImportRaggedDot},
      {"chlo.scan", &I::ImportScan},
      {"chlo.top_k", &I::ImportTopK},
      {"sdy.mesh", &I::ImportNothing},
      {"sdy.sharding_constraint", &I::ImportShardingConstraint},
      {"sdy.sharding_group", &I::ImportShardingGroup},
      {"sdy.manual_computation", &I::ImportManualComputation},
  };
  const std::string_view stablehlo = StablehloName(name);
  if (!stablehlo.empty()) {
    const auto found = kHandlers.find(stablehlo);
    return found == kHandlers.end() ? nullptr : found->second;
  }
  const auto found = kOthers.find(name);
  if (found != kOthers.end()) return found->second;
  if (const Handler handler = TensorHandlerOf(name); handler != nullptr) return handler;
  if (name.starts_with("check.")) return &I::ImportCheck;
  return name.starts_with("chlo.") ? &I::ImportChlo : nullptr;
}

Status Importer::ImportOperation(Frame& frame, const Operation& operation) {
  VXLA_RETURN_IF_ERROR(ImportUnsharded(frame, operation));
  return IsPartitioned() && applied_ == 0 ? ConstrainResults(frame, operation) : OkStatus();
}

Status Importer::ImportUnsharded(Frame& frame, const Operation& operation) {
  location_ = operation.location;
  for (const ValueId result : operation.results)
    VXLA_RETURN_IF_ERROR(CheckType(operation, program_.values[result].type));
  VXLA_RETURN_IF_ERROR(CheckBuffers(operation));
  if (!lane_sizes_.empty() && !RunsForLanes(operation.name) && HasLanes(operation)) {
    return OperationReader(operation).NotSupported(
        "values that differ from element to element of a region are not supported");
  }
  if (const Handler handler = HandlerOf(operation.name)) return (this->*handler)(frame, operation);
  const std::string_view stablehlo = StablehloName(operation.name);
  if (stablehlo == "create_token") return ImportPlain(frame, operation, Opcode::kAfterAll);
  const auto found = StablehloOpcodes().find(stablehlo);
  if (found != StablehloOpcodes().end()) return ImportPlain(frame, operation, found->second);
  if (operation.name.starts_with("interpreter.")) {
    return Unsupported("{}: stands only in the function that `vxla check` runs, not in a region or a called function",
                       operation.name)
        .At(operation.location);
  }
  return Unsupported("unknown operation '{}'", operation.name).At(operation.location);
}

Status Importer::ImportPlain(Frame& frame, const Operation& operation, Opcode opcode) {
  const OperationReader reader(operation);
  VXLA_RETURN_IF_ERROR(reader.ExpectRegions(0));
  VXLA_ASSIGN_OR_RETURN(std::vector<Instruction*> operands, Operands(frame, operation));
  for (size_t i = 0; opcode == Opcode::kAfterAll && i < operands.size(); ++i) {  // HLO's takes any values
    const Shape& shape = operands[i]->shape();
    if (!shape.IsToken()) return reader.Error("operand {} is {}, not a token", i, shape.ToString());
  }
  VXLA_ASSIGN_OR_RETURN(Attributes attributes, AttributesFor(opcode, operation, typed()));
  VXLA_ASSIGN_OR_RETURN(Instruction* const instruction, AddInferred(frame, operation, opcode, std::move(operands),
                                                                    std::move(attributes), {}, ResultShape(operation)));
  return BindResults(frame, operation, instruction);
}

Result<SpecializedModule> RefineMlir(const Program& program, const ProgramFacts& facts, const FoldInstruction& fold) {
  VXLA_ASSIGN_OR_RETURN(SpecializedModule refined,
                        Guarded([&] { return Importer(program, facts, fold).RunRefined(); }));
  if (refined.module != nullptr) VXLA_RETURN_IF_ERROR(Prepare(*refined.module));
  return refined;
}

namespace {

// What an attribute of the function's arguments or results says of each of them.
std::vector<std::string> TextsOf(const Operation& function, const char* list, const char* name, size_t count) {
  std::vector<std::string> texts(count);
  const Attribute* const attributes = function.Find(list);
  for (size_t i = 0; attributes != nullptr && i < std::min(count, attributes->elements.size()); ++i) {
    const Attribute* const said = attributes->elements[i].Find(name);
    if (said != nullptr) texts[i] = said->text;
  }
  return texts;
}

Result<Program> ParseOne(std::string_view text) {
  const std::vector<MlirSection> sections = SplitMlir(text);
  if (sections.size() == 1 || sections.empty()) return ParseMlir(text);
  return Unsupported("the file holds {} programs between '// -----' lines, one is needed", sections.size())
      .At({sections[1].first_line, 1});
}

}  // namespace

Result<std::string> PrintShardingsOf(std::string_view text, int64_t partitions) {
  VXLA_ASSIGN_OR_RETURN(const Program program, ParseOne(text));
  if (NeedsRefinement(program)) return std::string();
  return Guarded([&]() -> Result<std::string> {
    Importer importer(program);
    importer.set_partitions(partitions);
    VXLA_RETURN_IF_ERROR(importer.Run().status());
    if (importer.whole() == nullptr) return std::string();
    return PrintShardings(*importer.whole(), importer.stated());
  });
}

Result<PartitionedProgram> ParsePartitioned(std::string_view text, int64_t partitions) {
  VXLA_ASSIGN_OR_RETURN(Program program, ParseOne(text));
  PartitionedProgram partitioned;
  if (NeedsRefinement(program)) {
    VXLA_ASSIGN_OR_RETURN(partitioned.module, MakeDynamicProgram(std::move(program), text));
    return partitioned;
  }
  return Guarded([&]() -> Result<PartitionedProgram> {
    Importer importer(program);
    importer.set_partitions(partitions);
    VXLA_ASSIGN_OR_RETURN(partitioned.module, importer.Run());
    partitioned.parameters = importer.parameter_shardings();
    partitioned.results = importer.result_shardings();
    for (size_t i = 0; i < importer.answers().size(); ++i)
      partitioned.answers.push_back({importer.stated().questions[i].asker, importer.answers()[i]});
    VXLA_ASSIGN_OR_RETURN(const Operation* const entry, EntryOf(program));
    const Computation& made = *partitioned.module->entry();
    const size_t parameters = made.parameters().size(), results = FlattenTuple(made.root()->shape()).size();
    partitioned.parameter_memories = TextsOf(*entry, "arg_attrs", "mhlo.memory_kind", parameters);
    partitioned.result_memories = TextsOf(*entry, "res_attrs", "mhlo.memory_kind", results);
    partitioned.parameter_layouts = TextsOf(*entry, "arg_attrs", "mhlo.layout_mode", parameters);
    partitioned.result_layouts = TextsOf(*entry, "res_attrs", "mhlo.layout_mode", results);
    return std::move(partitioned);
  });
}

Result<std::unique_ptr<Module>> ParseStablehlo(std::string_view text) {
  VXLA_ASSIGN_OR_RETURN(PartitionedProgram program, ParsePartitioned(text));
  return std::move(program.module);
}

}  // namespace VXLA_NAMESPACE::mlir
