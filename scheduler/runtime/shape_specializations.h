// Programs whose sizes are known with their arguments only (core/mlir/dynamic_program.h): an executable for each choice
// of argument shapes. Where data decide a size, a part of the program runs first, and only that number is read back.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/mlir/dynamic_program.h"
#include "scheduler/runtime/size_dependent.h"

namespace VXLA_NAMESPACE {

class ShapeSpecializations : public SizeDependent {
 public:
  using CompileModule = std::function<Result<std::shared_ptr<Executable>>(const Module&)>;

  // `compile` compiles a prepared module; `fold` evaluates what sizes are computed with.
  static Result<std::unique_ptr<ShapeSpecializations>> Create(const Module& module, FoldInstruction fold,
                                                              CompileModule compile);

  // The one that ran first; of nothing before the first run. Neither goes before this does: whoever looks at them holds
  // references, while other threads run other shapes.
  Executable& shown() const override;
  Result<Execution> Execute(const Device& device, std::span<const Argument> arguments,
                            const ExecuteOptions& options) override;
  Result<StaticProgram> ProgramFor(const Device& device, std::span<const Argument> arguments) override;

 private:
  using Key = std::vector<int64_t>;  // argument shapes, and answers
  struct Specialization {
    std::shared_ptr<Executable> executable;
    bool is_question = false;
    int64_t parameter = -1;  // that answers the question
  };

  ShapeSpecializations(mlir::DynamicProgram program, FoldInstruction fold, CompileModule compile)
      : program_(std::move(program)), fold_(std::move(fold)), compile_(std::move(compile)) {}
  Result<std::shared_ptr<Executable>> Find(std::span<const Argument> arguments, const ExecuteOptions& options);
  Result<std::shared_ptr<const Specialization>> Make(const mlir::ProgramFacts& facts) const;
  static Result<Literal> Answer(const Specialization& question, std::span<const Argument> arguments,
                                const ExecuteOptions& options);

  const mlir::DynamicProgram program_;
  const FoldInstruction fold_;
  const CompileModule compile_;
  mutable std::mutex mutex_;
  std::shared_ptr<Executable> nothing_, first_;
  MadeForSizes<Specialization> made_;
};

}  // namespace VXLA_NAMESPACE
