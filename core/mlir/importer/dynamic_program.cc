#include "core/mlir/importer/dynamic_program.h"

#include <algorithm>

#include "core/mlir/importer/import_state.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

// Whether operations of these names compute with sizes.
bool ComputesSizes(const Operation& operation) {
  for (const std::string_view dialect : {"tensor.", "arith.", "scf.", "shape.", "index."}) {
    if (operation.name.starts_with(dialect))
      return operation.name != "arith.constant" && operation.name != "tensor.cast";
  }
  return std::ranges::any_of(Inside(operation), ComputesSizes);
}

}  // namespace

bool NeedsRefinement(const Program& program) {
  for (const Value& value : program.values) {
    if (value.type.kind == Type::Kind::kElement || value.type.unranked || HasUnknownSize(value.type.shape)) return true;
  }
  return ComputesSizes(program.module);
}

bool IsDynamicProgram(const Module& module) {
  return module.entry() != nullptr && module.entry()->root()->call_kind() == CallKind::kProgram;
}

struct DynamicProgram::Source {
  Program program;
  std::string text;
  std::vector<Type> parameters;
};

// The call's last operand is an empty array, whose owner this is: it goes with the last copy of the call.
struct DynamicProgram::Keeper {
  std::shared_ptr<const Source> source;
  void operator()(const Literal* literal) const { delete literal; }
};

Result<std::unique_ptr<Module>> MakeDynamicProgram(Program parsed, std::string_view text) {
  const auto source = std::make_shared<DynamicProgram::Source>();
  source->program = std::move(parsed);
  source->text = text;
  const Program& program = source->program;
  VXLA_ASSIGN_OR_RETURN(const Operation* const entry, EntryOf(program));
  const Attribute* const type = entry->Find("function_type");
  if (type == nullptr) return InvalidArgument("a function without its type").At(entry->location);
  source->parameters = type->type.inputs;
  auto module = std::make_unique<Module>("");
  VXLA_RETURN_IF_ERROR(SetModuleAttributes(program, *module));
  Computation* const computation = module->AddComputation(SymbolOf(*entry));
  Instructions operands;
  for (const Type& parameter : type->type.inputs) {
    const auto number = static_cast<int64_t>(operands.size());
    operands.push_back(computation->Add(Opcode::kParameter, parameter.shape, {}, ParameterAttributes{number}));
    operands.back()->set_location(entry->location);
  }
  const Shape none(ElementType::kU8, {0});
  std::shared_ptr<const Literal> kept(new Literal(none), DynamicProgram::Keeper{source});
  operands.push_back(computation->Add(Opcode::kConstant, none, {}, ConstantAttributes{std::move(kept)}));
  std::vector<Shape> results;
  for (const Type& result : type->type.results) results.push_back(result.shape);
  computation->set_root(computation->Add(Opcode::kCustomCall,
                                         results.size() == 1 ? results[0] : Shape::Tuple(std::move(results)),
                                         std::move(operands), OwnCall(CallKind::kProgram)));
  computation->root()->set_location(entry->location);
  module->set_entry(computation);
  if (module->name().empty()) module->set_name(computation->name());
  return module;
}

DynamicProgram DynamicProgram::Of(const Module& module) {
  VXLA_CHECK(IsDynamicProgram(module), "a program whose sizes are all known");
  const Instruction& constant = *module.entry()->root()->operands().back();
  const auto* const keeper = std::get_deleter<Keeper>(constant.attributes<ConstantAttributes>().literal);
  VXLA_CHECK(keeper != nullptr, "a program whose call has lost what it calls");
  return DynamicProgram(keeper->source);
}

std::string_view DynamicProgram::source() const { return source_->text; }
const Program& DynamicProgram::program() const { return source_->program; }
const std::vector<Type>& DynamicProgram::parameters() const { return source_->parameters; }

Result<SpecializedModule> DynamicProgram::Refine(const ProgramFacts& facts, const FoldInstruction& fold) const {
  return RefineMlir(program(), facts, fold);
}

Result<std::unique_ptr<Module>> RefineFor(const Module& module, std::span<const Literal* const> arguments,
                                          const FoldInstruction& fold, const RunModule& run) {
  const DynamicProgram program = DynamicProgram::Of(module);
  ProgramFacts facts;
  for (const Literal* argument : arguments) facts.arguments.push_back(argument->shape());
  while (true) {
    VXLA_ASSIGN_OR_RETURN(SpecializedModule refined, program.Refine(facts, fold));
    if (!refined.is_question) return std::move(refined.module);
    if (refined.parameter >= 0) {
      facts.answers.push_back(*arguments[refined.parameter]);
      continue;
    }
    VXLA_ASSIGN_OR_RETURN(facts.answers.emplace_back(), run(*refined.module, arguments));
  }
}

}  // namespace VXLA_NAMESPACE::mlir
