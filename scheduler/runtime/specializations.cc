#include "scheduler/runtime/specializations.h"

#include <algorithm>

#include "core/passes/devices/one_device.h"
#include "core/sizes/live_instruction.h"
#include "core/sizes/live_sizes.h"
#include "scheduler/runtime/argument_check.h"
#include "scheduler/runtime/buffer_pool.h"
#include "scheduler/runtime/live_values.h"

namespace VXLA_NAMESPACE {
namespace {

// The leaf's elements, as wide as the bounds.
Result<Literal> AtBounds(const Literal& given, const Shape& wanted) {
  if (!wanted.IsArray()) return given;
  const Literal conformed = ConformTo(given, wanted);
  return Literal(conformed).Reshaped(WithoutFlags(wanted));
}

}  // namespace

Specializations::Specializations(const Module& module, FoldInstruction fold, CompileStatic compile,
                                 CompileStatic compile_general)
    : module_(module.Clone()),
      fold_(std::move(fold)),
      compile_(std::move(compile)),
      compile_general_(std::move(compile_general)) {
  // Sizes pass through what one device does for itself alone.
  ExpandForOneDevice(*module_);
}

Result<std::unique_ptr<Specializations>> Specializations::Create(const Module& module, FoldInstruction fold,
                                                                 CompileStatic compile, CompileStatic compile_general) {
  std::unique_ptr<Specializations> made(
      new Specializations(module, std::move(fold), std::move(compile), std::move(compile_general)));
  if (made->AsksData()) made->shown_ = made->General();
  if (made->shown_ != nullptr) return made;
  VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<Module> shown, SpecializeAtLikelySizes(*made->module_, made->fold_));
  // A program whose sizes are right at none of those has to be run to be known.
  VXLA_ASSIGN_OR_RETURN(made->shown_, shown != nullptr ? made->compile_(*shown) : made->compile_general_(module));
  return made;
}

// Whether a size is computed, at the bounds.
bool Specializations::AsksData() const {
  const auto specialized = SpecializeLiveSizes(*module_, {BoundsOfParameters(*module_), {}}, fold_);
  return specialized.ok() && specialized->is_question && specialized->parameter < 0;
}

// The program for all sizes, if it is the device's work alone; null else.
std::shared_ptr<Executable> Specializations::General() {
  const std::lock_guard lock(mutex_);
  if (!general_.has_value()) {
    auto compiled = compile_general_(*module_);
    const bool on_device = compiled.ok() && (*compiled)->fallbacks().empty();
    general_ = on_device ? std::move(*compiled) : nullptr;
  }
  return *general_;
}

Result<std::shared_ptr<const Specializations::Specialization>> Specializations::Make(const LiveFacts& facts) {
  auto made = std::make_shared<Specialization>();
  auto specialized = SpecializeLiveSizes(*module_, facts, fold_);
  const bool asks_data = specialized.ok() && specialized->is_question && specialized->parameter < 0;
  // One program for all answers waits for none.
  if (asks_data) made->executable = General();
  if (made->executable != nullptr) {
    made->is_general = true;
  } else if (specialized.ok()) {
    made->is_question = specialized->is_question;
    made->parameter = specialized->parameter;
    made->result_sizes = std::move(specialized->result_sizes);
    if (made->parameter < 0) {
      VXLA_ASSIGN_OR_RETURN(made->executable, compile_(*specialized->module));
    }
  } else if (specialized.status().code() == StatusCode::kUnsupported) {
    made->is_general = true;
    VXLA_ASSIGN_OR_RETURN(made->executable, compile_general_(*module_));
  } else {
    return specialized.status();
  }
  return std::shared_ptr<const Specialization>(std::move(made));
}

Status Specializations::AddLiteral(const Literal& literal, const Shape& wanted, StaticArguments& made) {
  const std::vector<const Literal*> given = FlattenLiteral(literal);
  const std::vector<const Shape*> leaves = FlattenTuple(wanted);
  for (size_t i = 0; i < leaves.size(); ++i) {
    made.sizes.push_back(leaves[i]->IsArray() ? LiveSizes(*given[i]) : std::vector<int64_t>());
  }
  if (!wanted.IsDynamic()) {
    made.arguments.emplace_back(literal);
    return OkStatus();
  }
  std::vector<Literal> dense;
  for (size_t i = 0; i < leaves.size(); ++i) {
    VXLA_ASSIGN_OR_RETURN(Literal leaf, AtBounds(*given[i], *leaves[i]));
    dense.push_back(std::move(leaf));
  }
  made.literals.push_back(UnflattenLiteral(WithoutFlags(wanted), dense));
  made.arguments.emplace_back(made.literals.back());
  return OkStatus();
}

Status Specializations::AddValues(const Argument& argument, StaticArguments& made) {
  Argument copy(std::vector<DeviceBuffer>{});
  copy.keep = argument.keep;
  for (const DeviceBuffer& leaf : argument.leaves) {
    VXLA_ASSIGN_OR_RETURN(made.sizes.emplace_back(), leaf.LiveSizes());
    copy.leaves.emplace_back(WithoutFlags(leaf.shape()), leaf.memory());
  }
  made.arguments.push_back(std::move(copy));
  return OkStatus();
}

Result<Specializations::StaticArguments> Specializations::MakeStatic(const Device& device,
                                                                     std::span<const Argument> arguments) const {
  VXLA_RETURN_IF_ERROR(CheckArguments(*module_, device, arguments));
  StaticArguments made;
  made.literals.reserve(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Shape& wanted = module_->entry()->parameter(static_cast<int64_t>(i))->shape();
    VXLA_RETURN_IF_ERROR(arguments[i].literal != nullptr ? AddLiteral(*arguments[i].literal, wanted, made)
                                                         : AddValues(arguments[i], made));
  }
  return made;
}

Result<Literal> Specializations::Answer(const Specialization& question, const StaticArguments& made,
                                        std::span<const Argument> arguments, const ExecuteOptions& options) {
  if (question.parameter < 0) {
    VXLA_ASSIGN_OR_RETURN(const Execution execution, question.executable->Execute(made.arguments, AsQuestion(options)));
    return execution.ToLiteral();
  }
  const Argument& argument = arguments[static_cast<size_t>(question.parameter)];
  if (argument.literal != nullptr) return *argument.literal;
  return argument.leaves.at(0).ToLiteral();
}

Result<std::shared_ptr<const Specializations::Specialization>> Specializations::Find(
    StaticArguments& made, std::span<const Argument> arguments, const ExecuteOptions& options) {
  Key key;
  for (const std::vector<int64_t>& sizes : made.sizes) key.insert(key.end(), sizes.begin(), sizes.end());
  LiveFacts facts{made.sizes, {}};
  while (true) {
    VXLA_ASSIGN_OR_RETURN(std::shared_ptr<const Specialization> found, made_.Get(key, [&] { return Make(facts); }));
    if (!found->is_question) return found;
    VXLA_ASSIGN_OR_RETURN(Literal answer, Answer(*found, made, arguments, options));
    key.push_back(answer.GetInt(0));
    facts.answers.push_back(std::move(answer));
  }
}

Result<Execution> Specializations::Execute(const Device& device, std::span<const Argument> arguments,
                                           const ExecuteOptions& options) {
  VXLA_ASSIGN_OR_RETURN(StaticArguments made, MakeStatic(device, arguments));
  VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<const Specialization> found, Find(made, arguments, options));
  if (found->is_general) return found->executable->Execute(arguments, options);
  VXLA_ASSIGN_OR_RETURN(Execution execution, found->executable->Execute(made.arguments, options));
  execution.shape = module_->entry()->root()->shape();
  const std::vector<const Shape*> leaves = FlattenTuple(execution.shape);
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (!leaves[i]->IsDynamic()) continue;
    execution.leaves[i] = DeviceBuffer(*leaves[i], execution.leaves[i].memory(), found->result_sizes.at(i));
  }
  return execution;
}

Result<StaticProgram> Specializations::ProgramFor(const Device& device, std::span<const Argument> arguments) {
  VXLA_ASSIGN_OR_RETURN(StaticArguments made, MakeStatic(device, arguments));
  VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<const Specialization> found, Find(made, arguments, {}));
  StaticProgram program{found->executable, {}, found->result_sizes};
  for (const Argument& argument : found->is_general ? arguments : std::span<const Argument>(made.arguments)) {
    VXLA_CHECK(argument.literal != nullptr, "a static program of device values");
    program.arguments.push_back(*argument.literal);
  }
  return program;
}

Literal StaticProgram::WithSizes(const Literal& result, const Shape& stated) const {
  if (result_sizes.empty()) return result;
  std::vector<Literal> leaves;
  const std::vector<const Shape*> shapes = FlattenTuple(stated);
  for (const Literal* leaf : FlattenLiteral(result)) {
    const Shape& shape = *shapes.at(leaves.size());
    Literal sized = Literal(*leaf).Reshaped(shape);
    for (int d = 0; d < shape.rank(); ++d) {
      if (shape.is_dynamic_dimension(d))
        sized.set_dynamic_size(d, result_sizes.at(leaves.size())[static_cast<size_t>(d)]);
    }
    leaves.push_back(std::move(sized));
  }
  return UnflattenLiteral(stated, leaves);
}

}  // namespace VXLA_NAMESPACE
