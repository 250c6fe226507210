#include "scheduler/runtime/shape_specializations.h"

namespace VXLA_NAMESPACE {
namespace {

Result<Shape> ShapeOf(const Argument& argument) {
  if (argument.literal != nullptr) return argument.literal->shape();
  if (argument.leaves.size() != 1) return InvalidArgument("tuples of unknown sizes are not supported");
  return argument.leaves[0].shape();
}

}  // namespace

Result<std::unique_ptr<ShapeSpecializations>> ShapeSpecializations::Create(const Module& module, FoldInstruction fold,
                                                                           CompileModule compile) {
  VXLA_ASSIGN_OR_RETURN(mlir::DynamicProgram program, mlir::DynamicProgram::Of(module));
  std::unique_ptr<ShapeSpecializations> made(
      new ShapeSpecializations(std::move(program), std::move(fold), std::move(compile)));
  Module nothing(module.name());
  Computation* const entry = nothing.AddComputation("main");
  entry->set_root(entry->Add(Opcode::kTuple, Shape::Tuple({})));
  nothing.set_entry(entry);
  VXLA_ASSIGN_OR_RETURN(made->nothing_, made->compile_(nothing));
  return made;
}

Executable& ShapeSpecializations::shown() const {
  const std::lock_guard lock(mutex_);
  return first_ != nullptr ? *first_ : *nothing_;
}

Result<std::shared_ptr<const ShapeSpecializations::Specialization>> ShapeSpecializations::Make(
    const mlir::ProgramFacts& facts) const {
  auto made = std::make_shared<Specialization>();
  VXLA_ASSIGN_OR_RETURN(const mlir::RefinedProgram refined, program_.Refine(facts, fold_));
  made->is_question = refined.is_question;
  made->parameter = refined.parameter;
  if (refined.module != nullptr) {
    VXLA_ASSIGN_OR_RETURN(made->executable, compile_(*refined.module));
  }
  return std::shared_ptr<const Specialization>(std::move(made));
}

Result<Literal> ShapeSpecializations::Answer(const Specialization& question, std::span<const Argument> arguments,
                                             const ExecuteOptions& options) {
  if (question.parameter >= 0) {
    const Argument& argument = arguments[static_cast<size_t>(question.parameter)];
    if (argument.literal != nullptr) return *argument.literal;
    return argument.leaves.at(0).ToLiteral();
  }
  std::vector<Argument> kept(arguments.begin(), arguments.end());
  for (Argument& argument : kept) argument.keep = true;  // the program itself needs them too
  VXLA_ASSIGN_OR_RETURN(const Execution execution, question.executable->Execute(kept, AsQuestion(options)));
  return execution.ToLiteral();
}

Result<std::shared_ptr<Executable>> ShapeSpecializations::Find(std::span<const Argument> arguments,
                                                               const ExecuteOptions& options) {
  if (arguments.size() != program_.parameters().size())
    return InvalidArgument("{} arguments given, the program wants {}", arguments.size(), program_.parameters().size());
  Key key;
  mlir::ProgramFacts facts;
  for (const Argument& argument : arguments) {
    VXLA_ASSIGN_OR_RETURN(const Shape shape, ShapeOf(argument));
    key.push_back(static_cast<int64_t>(shape.element_type()));
    key.push_back(shape.rank());
    key.insert(key.end(), shape.dimensions().begin(), shape.dimensions().end());
    facts.arguments.push_back(shape);
  }
  while (true) {
    VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<const Specialization> found,
                          made_.Get(key, [&] { return Make(facts); }));
    if (!found->is_question) {
      const std::lock_guard lock(mutex_);
      if (first_ == nullptr) first_ = found->executable;
      return found->executable;
    }
    VXLA_ASSIGN_OR_RETURN(Literal answer, Answer(*found, arguments, options));
    key.push_back(answer.element_count());  // none at all is an answer too
    for (int64_t i = 0; i < answer.element_count(); ++i) key.push_back(answer.GetInt(i));
    facts.answers.push_back(std::move(answer));
  }
}

Result<Execution> ShapeSpecializations::Execute(const Device&, std::span<const Argument> arguments,
                                                const ExecuteOptions& options) {
  VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<Executable> executable, Find(arguments, options));
  return executable->Execute(arguments, options);
}

Result<StaticProgram> ShapeSpecializations::ProgramFor(const Device&, std::span<const Argument> arguments) {
  StaticProgram program;
  VXLA_ASSIGN_OR_RETURN(program.executable, Find(arguments, {}));
  for (const Argument& argument : arguments) {
    VXLA_CHECK(argument.literal != nullptr, "a static program of device values");
    program.arguments.push_back(*argument.literal);
  }
  return program;
}

}  // namespace VXLA_NAMESPACE
