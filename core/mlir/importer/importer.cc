#include "core/mlir/importer/importer.h"

#include <algorithm>

#include "core/host/guarded.h"
#include "core/limits.h"
#include "core/mlir/importer/dynamic_program.h"
#include "core/mlir/importer/import_operations.h"
#include "core/mlir/reader/parser.h"
#include "core/passes/base/pipeline.h"
#include "core/passes/sharding/partitioner.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

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
  if (int64_t& partitions = module_->mutable_attributes().num_partitions; partitions == 1)
    partitions = shardings_.partitions();
  VXLA_ASSIGN_OR_RETURN(const Operation* const entry, EntryOf(program_));
  if (shardings_.IsPartitioned() && !refines()) VXLA_RETURN_IF_ERROR(shardings_.ReadEntry(*entry));
  VXLA_ASSIGN_OR_RETURN(Computation* const computation, ImportFunction(SymbolOf(*entry), entry->location));
  module_->set_entry(computation);
  if (module_->name().empty()) module_->set_name(computation->name());
  VXLA_ASSIGN_OR_RETURN(module_, shardings_.Partitioned(std::move(module_)));
  VXLA_RETURN_IF_ERROR(SetEntryAttributes(*entry));
  VXLA_RETURN_IF_ERROR(CheckCallDepth(*module_));
  return std::move(module_);
}

void Importer::Begin(std::string_view module) {
  module_ = std::make_unique<Module>(std::string(module));
  imported_.clear();
}

Status Importer::CollectFunctions() {
  const Operation& top = program_.module;
  if (top.name != "builtin.module") return InvalidArgument("'{}' is no module", top.name).At(top.location);
  for (const Operation& operation : Inside(top)) {
    if (operation.name == "sdy.mesh") continue;
    if (operation.name != "func.func")
      return InvalidArgument("a module holds functions (func.func), not '{}'", operation.name).At(operation.location);
    std::string name = SymbolOf(operation);
    if (!functions_.emplace(name, &operation).second)
      return InvalidArgument("duplicate function '@{}'", name).At(operation.location);
  }
  return OkStatus();
}

Result<const Operation*> EntryOf(const Program& program) {
  const Operation *found = nullptr, *main = nullptr;
  int count = 0;
  for (const Operation& function : Inside(program.module)) {
    if (function.name != "func.func") continue;
    if (SymbolOf(function) == "main") main = &function;
    const Attribute* visibility = function.Find("sym_visibility");
    if (visibility != nullptr && visibility->text == "private") continue;
    found = &function;
    ++count;
  }
  if (main != nullptr) return main;
  if (count == 1) return found;
  return InvalidArgument("the module has no function @main, and {} public functions where one is needed", count)
      .At(program.module.location);
}

Status SetModuleAttributes(const Program& program, Module& module) {
  const std::string name = SymbolOf(program.module);
  if (!name.empty()) module.set_name(CleanName(name));
  ModuleAttributes& attributes = module.mutable_attributes();
  VXLA_ASSIGN_OR_RETURN(attributes.num_partitions, program.module.Int("mhlo.num_partitions", 1));
  VXLA_ASSIGN_OR_RETURN(attributes.replica_count, program.module.Int("mhlo.num_replicas", 1));
  return OkStatus();
}

// What the arguments' attributes say of the whole program: shardings, and results that take an argument's memory.
Status Importer::SetEntryAttributes(const Operation& function) {
  const Attribute* arguments = function.Find("arg_attrs");
  if (arguments == nullptr) return OkStatus();
  for (size_t i = 0; i < arguments->elements.size() && i < module_->entry()->parameters().size(); ++i) {
    const Attribute& argument = arguments->elements[i];
    if (const Attribute* sharding = argument.Find("mhlo.sharding"))
      module_->entry()->parameter(i)->mutable_common().sharding.text = sharding->text;
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
  const Shape& given = module_->entry()->parameter(argument)->shape();
  const bool fits = result >= 0 && result < std::ssize(leaves) && Compatible(*leaves[result], given);
  if (shardings_.IsPartitioned() && !fits) return;
  Aliasing aliasing;
  aliasing.operand = static_cast<int64_t>(argument);
  aliasing.kind = "may-alias";
  if (module_->entry()->root()->shape().IsTuple()) aliasing.output_index = {result};
  module_->mutable_attributes().input_output_alias.push_back(std::move(aliasing));
}

// Its memory is that of the first result like it which takes no other argument's.
void Importer::AddDonor(size_t argument) {
  const ModuleAttributes& attributes = module_->attributes();
  const Shape& given = module_->entry()->parameter(argument)->shape();
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
  Frame frame(*this, CleanName(SymbolOf(function)));
  if (entry_frame_ == nullptr && checks_ == nullptr) entry_frame_ = &frame;
  for (size_t i = 0; i < block->arguments.size(); ++i) {
    const Value& value = program_.values[block->arguments[i]];
    VXLA_RETURN_IF_ERROR(CheckType(function, value.type));
    std::string name = InstructionName(value.name);
    location_ = function.location;
    VXLA_ASSIGN_OR_RETURN(Shape shape, ArgumentShape(function, i, value.type));
    SetActual(block->arguments[i], shape);
    Instruction* const parameter = frame.computation->Add(
        Opcode::kParameter, shape, {}, ParameterAttributes{static_cast<int64_t>(i)}, {}, std::move(name));
    parameter->set_location(function.location);
    frame.values[block->arguments[i]] = parameter;
  }
  VXLA_ASSIGN_OR_RETURN(Instructions results, RunBlock(frame, *block));
  VXLA_RETURN_IF_ERROR(CheckResultTypes(function, results));
  frame.computation->set_root(frame.Together(std::move(results)));
  return module_->AddComputation(std::move(frame.computation));
}

Status Importer::CheckResultTypes(const Operation& function, const Instructions& results) const {
  const Attribute* type = function.Find("function_type");
  if (type == nullptr) return OkStatus();
  const auto& stated = type->type.results;
  if (stated.size() != results.size())
    return function.Error("'@{}' returns {} values, its type says {}", SymbolOf(function), results.size(),
                          stated.size());
  for (size_t i = 0; i < stated.size(); ++i) {
    if (Fits(stated[i], results[i]->shape())) continue;
    return function.Error("'@{}' returns {} as result {}, its type says {}", SymbolOf(function),
                          PrintType(results[i]->shape()), i, PrintType(stated[i]));
  }
  return OkStatus();
}

Status Importer::CheckType(const Operation& operation, const Type& type) const {
  if (type.kind == Type::Kind::kOther && type.text.starts_with("!stablehlo.future<")) return OkStatus();
  if (refines() && (type.kind == Type::Kind::kElement || type.unranked)) return OkStatus();
  if (type.kind != Type::Kind::kShape || type.unranked)
    return operation.NotSupported("the type {} is not supported", PrintType(type));
  for (const Shape* leaf : FlattenTuple(type.shape)) {
    if (!HasUnknownSize(*leaf)) continue;
    if (refines()) return OkStatus();
    return operation.NotSupported("{} has a dimension of unknown size (?), which is not supported yet",
                                  PrintType(type));
  }
  if (const Status status = CheckShape(type.shape); !status.ok()) return operation.Error("{}", status.message());
  return OkStatus();
}

Shape Importer::ResultShape(const Operation& operation) const {
  std::vector<Shape> shapes;
  for (const ValueId result : operation.results) shapes.push_back(Completed(operation, program_.ShapeOf(result)));
  return shapes.size() == 1 ? shapes[0] : Shape::Tuple(std::move(shapes));
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

Result<PartitionedProgram> ParsePartitioned(std::string_view text, int64_t partitions, bool lists_arrays) {
  VXLA_ASSIGN_OR_RETURN(Program program, ParseOne(text));
  PartitionedProgram partitioned;
  if (NeedsRefinement(program)) {
    VXLA_ASSIGN_OR_RETURN(partitioned.module, MakeDynamicProgram(std::move(program), text));
    return partitioned;
  }
  return Guarded([&]() -> Result<PartitionedProgram> {
    Importer importer(program);
    ShardingImporter& shardings = importer.shardings();
    shardings.set_partitions(partitions);
    shardings.set_lists_arrays(lists_arrays);
    VXLA_ASSIGN_OR_RETURN(partitioned.module, importer.Run());
    partitioned.parameters = shardings.of_parameters();
    partitioned.results = shardings.of_results();
    partitioned.arrays = shardings.arrays();
    for (size_t i = 0; i < shardings.answers().size(); ++i)
      partitioned.answers.push_back({shardings.stated().questions[i].asker, shardings.answers()[i]});
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
