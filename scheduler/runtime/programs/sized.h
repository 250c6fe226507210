// SizedProgram: a program whose sizes are known with its arguments only: an executable of static shapes for each choice
// of sizes that arguments came with. Where data decide a size, one executable takes all sizes (core/passes/sizes/
// dynamic_padder.h) if there is one that needs no host steps; else a part of the program runs first, up to what says
// the size, and only that is read back.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "scheduler/runtime/programs/size_dependent.h"
#include "scheduler/runtime/programs/size_source.h"

namespace VXLA_NAMESPACE {

class SizedProgram : public SizeDependent {
 public:
  using CompileModule = std::function<Result<std::shared_ptr<Executable>>(const Module&)>;

  // `compile` compiles a prepared module: one of static shapes, or the source's general one, with host steps for what
  // live sizes touch. Unsupported if only the latter will do.
  static Result<std::unique_ptr<SizedProgram>> Create(std::unique_ptr<SizeSource> source, CompileModule compile);

  // What is likely, if that can be told; else the one that ran first, none before. It does not go before this does:
  // whoever looks at it holds references, while other threads run other sizes.
  const Executable* shown() const override;
  Result<Execution> Execute(const Device& device, std::span<const Argument> arguments,
                            const ExecuteOptions& options) override;
  Result<StaticProgram> ProgramFor(const Device& device, std::span<const Argument> arguments) override;

 private:
  struct Specialization {
    std::shared_ptr<Executable> executable;
    bool is_question = false, is_general = false;
    int64_t parameter = -1;                          // that answers the question
    std::vector<std::vector<int64_t>> result_sizes;  // by leaf; none where results say their sizes
  };
  using Found = Result<std::shared_ptr<const Specialization>>;

  SizedProgram(std::unique_ptr<SizeSource> source, CompileModule compile)
      : source_(std::move(source)), compile_(std::move(compile)) {}
  // The one for all sizes, made once, as is why there is none.
  Found General();
  // The same, if it is the device's work alone; null else.
  std::shared_ptr<const Specialization> GeneralOnDevice();
  Found Make(const SizedArguments& arguments, const std::vector<Literal>& answers);
  // The one for these arguments, questions asked.
  Found Find(const SizedArguments& arguments, const ExecuteOptions& options);
  static Result<Literal> Answer(const Specialization& question, const SizedArguments& arguments,
                                const ExecuteOptions& options);

  const std::unique_ptr<const SizeSource> source_;
  const CompileModule compile_;
  MadeForSizes<Found> general_;
  MadeForSizes<Specialization> made_;  // by the arguments' key, and answers
  mutable std::mutex mutex_;
  std::shared_ptr<const Executable> shown_;
};

}  // namespace VXLA_NAMESPACE
