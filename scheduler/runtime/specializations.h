// Programs with bounded dynamic dimensions: an executable of static shapes for each choice of live sizes that arguments
// came with (core/passes/sizes/live_specializer.h). Where a size depends on data, one executable takes all sizes
// (core/passes/sizes/dynamic_padder.h) if it needs no host steps; else a part of the program runs first, up to the
// scalar that says the size, and only that is read back.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/passes/sizes/live_specializer.h"
#include "scheduler/runtime/size_dependent.h"

namespace VXLA_NAMESPACE {

class Specializations : public SizeDependent {
 public:
  using CompileStatic = std::function<Result<std::shared_ptr<Executable>>(const Module&)>;

  // `compile` compiles a program of static shapes, `compile_general` the program itself, with host steps for what live
  // sizes touch. Unsupported if sizes change within a loop or come from the host.
  static Result<std::unique_ptr<Specializations>> Create(const Module& module, FoldInstruction fold,
                                                         CompileStatic compile, CompileStatic compile_general);

  // The program at its bounds, for whoever looks at plans.
  Executable& shown() const override { return *shown_; }
  Result<Execution> Execute(const Device& device, std::span<const Argument> arguments,
                            const ExecuteOptions& options) override;
  Result<StaticProgram> ProgramFor(const Device& device, std::span<const Argument> arguments) override;

 private:
  // By live sizes of the parameters' leaves, and answers.
  using Key = std::vector<int64_t>;
  struct Specialization {
    std::shared_ptr<Executable> executable;
    bool is_question = false, is_general = false;
    int64_t parameter = -1;  // that answers the question
    std::vector<std::vector<int64_t>> result_sizes;
  };

  Specializations(const Module& module, FoldInstruction fold, CompileStatic compile, CompileStatic compile_general);
  // Arguments of a static program, and how much lives of each leaf.
  struct StaticArguments {
    std::vector<Literal> literals;  // in the place of those that are not static
    std::vector<Argument> arguments;
    std::vector<std::vector<int64_t>> sizes;
  };

  bool AsksData() const;
  std::shared_ptr<Executable> General();
  Result<StaticArguments> MakeStatic(const Device& device, std::span<const Argument> arguments) const;
  static Status AddLiteral(const Literal& literal, const Shape& wanted, StaticArguments& made);
  static Status AddValues(const Argument& argument, StaticArguments& made);
  // The one for these arguments, questions asked.
  Result<std::shared_ptr<const Specialization>> Find(StaticArguments& made, std::span<const Argument> arguments,
                                                     const ExecuteOptions& options);
  Result<Literal> Answer(const Specialization& question, const StaticArguments& made,
                         std::span<const Argument> arguments, const ExecuteOptions& options);
  Result<std::shared_ptr<const Specialization>> Make(const LiveFacts& facts);

  const std::unique_ptr<Module> module_;
  const FoldInstruction fold_;
  const CompileStatic compile_, compile_general_;
  std::shared_ptr<Executable> shown_;
  std::optional<std::shared_ptr<Executable>> general_;
  std::mutex mutex_;
  MadeForSizes<Specialization> made_;
};

}  // namespace VXLA_NAMESPACE
