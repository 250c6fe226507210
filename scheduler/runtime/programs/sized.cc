#include "scheduler/runtime/programs/sized.h"

#include <utility>

#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

Result<std::unique_ptr<SizedProgram>> SizedProgram::Create(std::unique_ptr<SizeSource> source, CompileModule compile) {
  std::unique_ptr<SizedProgram> made(new SizedProgram(std::move(source), std::move(compile)));
  const SizeSource& sizes = *made->source_;
  if (sizes.general() == nullptr) return made;
  if (sizes.AsksData()) {
    if (const auto general = made->GeneralOnDevice()) made->shown_ = general->executable;
  }
  if (made->shown_ != nullptr) return made;
  VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<Module> likely, sizes.Likely());
  if (likely != nullptr) {
    VXLA_ASSIGN_OR_RETURN(made->shown_, made->compile_(*likely));
  } else {
    // A program whose sizes are right at none of those has to be run to be known.
    VXLA_ASSIGN_OR_RETURN(const auto general, made->General());
    made->shown_ = general->executable;
  }
  return made;
}

const Executable* SizedProgram::shown() const {
  const std::lock_guard lock(mutex_);
  return shown_.get();
}

SizedProgram::Found SizedProgram::General() {
  const auto compile = [&]() -> Found {
    auto made = std::make_shared<Specialization>();
    made->is_general = true;
    VXLA_ASSIGN_OR_RETURN(made->executable, compile_(*source_->general()));
    return std::shared_ptr<const Specialization>(std::move(made));
  };
  const auto found =
      general_.Get({}, [&]() -> MadeForSizes<Found>::Outcome { return std::make_shared<const Found>(compile()); });
  VXLA_RETURN_IF_ERROR(found.status());
  return **found;
}

std::shared_ptr<const SizedProgram::Specialization> SizedProgram::GeneralOnDevice() {
  if (source_->general() == nullptr) return nullptr;
  const Found general = General();
  return general.ok() && (*general)->executable->fallbacks().empty() ? *general : nullptr;
}

SizedProgram::Found SizedProgram::Make(const SizedArguments& arguments, const std::vector<Literal>& answers) {
  Result<SpecializedModule> refined = source_->Refine(arguments, answers);
  if (refined.status().code() == StatusCode::kUnsupported && source_->general() != nullptr) return General();
  VXLA_RETURN_IF_ERROR(refined.status());
  if (refined->is_question && refined->parameter < 0) {
    // One program for all answers waits for none.
    if (auto general = GeneralOnDevice()) return general;
  }
  auto made = std::make_shared<Specialization>();
  made->is_question = refined->is_question;
  made->parameter = refined->parameter;
  made->result_sizes = std::move(refined->result_sizes);
  if (made->parameter < 0) VXLA_SET_OR_RETURN(made->executable, compile_(*refined->module));
  return std::shared_ptr<const Specialization>(std::move(made));
}

Result<Literal> SizedProgram::Answer(const Specialization& question, const SizedArguments& arguments,
                                     const ExecuteOptions& options) {
  if (question.parameter >= 0) {
    const Argument& argument = arguments.arguments[question.parameter];
    if (argument.literal != nullptr) return *argument.literal;
    return argument.leaves.at(0).ToLiteral();
  }
  std::vector<Argument> kept = arguments.arguments;
  for (Argument& argument : kept) argument.keep = true;  // the program itself needs them too
  ExecuteOptions of_question = options;
  of_question.statistics = nullptr;
  VXLA_ASSIGN_OR_RETURN(const Execution execution, question.executable->Execute(kept, of_question));
  return execution.ToLiteral();
}

SizedProgram::Found SizedProgram::Find(const SizedArguments& arguments, const ExecuteOptions& options) {
  std::vector<int64_t> key = arguments.key;
  std::vector<Literal> answers;
  while (true) {
    const Found found = made_.Get(key, [&] { return Make(arguments, answers); });
    if (!found.ok()) return found;
    if (!(*found)->is_question) {
      const std::lock_guard lock(mutex_);
      if (shown_ == nullptr) shown_ = (*found)->executable;
      return found;
    }
    VXLA_ASSIGN_OR_RETURN(Literal answer, Answer(**found, arguments, options));
    key.push_back(answer.element_count());  // none at all is an answer too
    for (int64_t i = 0; i < answer.element_count(); ++i) key.push_back(answer.GetInt(i));
    answers.push_back(std::move(answer));
  }
}

Result<Execution> SizedProgram::Execute(const Device& device, std::span<const Argument> arguments,
                                        const ExecuteOptions& options) {
  VXLA_ASSIGN_OR_RETURN(const SizedArguments taken, source_->Take(device, arguments));
  VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<const Specialization> found, Find(taken, options));
  if (found->is_general) return found->executable->Execute(arguments, options);
  VXLA_ASSIGN_OR_RETURN(Execution execution, found->executable->Execute(taken.arguments, options));
  if (found->result_sizes.empty()) return execution;
  execution.shape = source_->general()->entry()->root()->shape();
  const std::vector<const Shape*> leaves = FlattenTuple(execution.shape);
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (!leaves[i]->IsDynamic()) continue;
    execution.leaves[i] = DeviceBuffer(*leaves[i], execution.leaves[i].memory(), found->result_sizes.at(i));
  }
  return execution;
}

Result<StaticProgram> SizedProgram::ProgramFor(const Device& device, std::span<const Argument> arguments) {
  VXLA_ASSIGN_OR_RETURN(const SizedArguments taken, source_->Take(device, arguments));
  VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<const Specialization> found, Find(taken, {}));
  StaticProgram program{found->executable, {}, found->result_sizes};
  for (const Argument& argument : found->is_general ? arguments : std::span<const Argument>(taken.arguments)) {
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
      if (shape.is_dynamic_dimension(d)) sized.set_dynamic_size(d, result_sizes.at(leaves.size())[d]);
    }
    leaves.push_back(std::move(sized));
  }
  return UnflattenLiteral(stated, leaves);
}

}  // namespace VXLA_NAMESPACE
