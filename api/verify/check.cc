#include "api/verify/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>

#include "api/devices.h"
#include "api/verify/observer.h"
#include "core/devices/replica_groups.h"
#include "core/host/ranges.h"
#include "core/ir/observation.h"
#include "core/mlir/reader/parser.h"
#include "core/passes/base/pipeline.h"
#include "core/passes/devices/device_merger.h"
#include "scheduler/runtime/programs/merged.h"

namespace VXLA_NAMESPACE {
namespace {

using mlir::CheckFunction;
using mlir::CheckStage;
using mlir::ParallelRun;
using mlir::ValueId;

// ---- runs

using Values = std::map<ValueId, std::shared_ptr<const Literal>>;

Result<std::vector<const Literal*>> Find(const Values& values, const std::vector<ValueId>& wanted) {
  std::vector<const Literal*> found;
  for (const ValueId value : wanted) {
    const auto it = values.find(value);
    if (it == values.end()) return Internal("a value of the check has not been computed");
    found.push_back(it->second.get());
  }
  return found;
}

std::vector<Literal> ListOf(Literal literal) {
  std::vector<Literal> one(1);
  one[0] = std::move(literal);
  return one;
}

std::vector<Literal> ResultsOf(Literal result, size_t count) {
  return count == 1 ? ListOf(std::move(result)) : std::move(result.mutable_tuple_elements());
}

// One run of a function: what it shows its host, and what it takes from there, are its own.
class FunctionRun {
 public:
  FunctionRun(const CheckFunction& function, const CheckTarget& target)
      : function_(function), target_(target), observer_(function), evaluate_(target.evaluate) {
    if (target.evaluate.custom_calls != nullptr) registry_ = *target.evaluate.custom_calls;
    registry_.RegisterEvaluator(OwnCall(CallKind::kObservation).custom_call_target,
                                [this](const Instruction& call, std::span<const Literal> inputs, Literal& agrees,
                                       CustomCallStatus& status) { observer_.See(call, inputs, agrees, status); });
    evaluate_.custom_calls = &registry_;
    evaluate_.host.infeed = [this](int64_t, const Shape& shape) { return TakeItem(shape); };
    // What leaves the grid is done with; MeetInTheGrid (core/mlir/importer/import_checks.cc) leaves no other transfers.
    evaluate_.host.outfeed = [](int64_t, Literal) { return OkStatus(); };
    evaluate_.host.send_to_host = [](int64_t, int64_t, Literal) { return OkStatus(); };
    evaluate_.host.recv_from_host = [](int64_t, int64_t channel, const Shape&) -> Result<Literal> {
      return InvalidArgument("recv: no program of the grid sends on channel {}", channel);
    };
    if (target.client != nullptr) client_ = MakeClient(target.client->shared_device(), evaluate_);
  }
  FunctionRun(const FunctionRun&) = delete;

  Status Run();
  // The answer to the function's question. What the run to it shows counts for nothing.
  Result<Literal> Ask();
  const Observer& observer() const { return observer_; }

 private:
  Status RunStages();
  Status RunStage(const CheckStage& stage);
  Status RunOnGrid(const ParallelRun& run);
  Status MakeItems(const ParallelRun& run);
  Result<Literal> TakeItem(const Shape& shape);
  Result<std::vector<Literal>> RunMerged(const ParallelRun& run, const DeviceGrid& grid,
                                         const std::vector<std::vector<const Literal*>>& arguments);

  const CheckFunction& function_;
  const CheckTarget& target_;
  Observer observer_;
  CustomCallRegistry registry_;
  EvaluateOptions evaluate_;
  std::unique_ptr<Client> client_;  // null: the reference
  Values values_;
  std::mutex mutex_;
  std::vector<Literal> items_;  // of infeeds: the devices take turns at one queue
  size_t taken_ = 0;
};

Status FunctionRun::Run() {
  const Status status = RunStages();
  observer_.End();  // of a run that failed: what it showed until then
  return status.ok() ? observer_.verdict() : status;
}

Status FunctionRun::RunStages() {
  for (const auto& [value, constant] : function_.constants)
    values_[value] = std::make_shared<const Literal>(Filled(*constant.literal, constant.shape));
  for (const CheckStage& stage : function_.stages) {
    VXLA_RETURN_IF_ERROR(RunStage(stage));
    if (stage.parallel != nullptr) VXLA_RETURN_IF_ERROR(RunOnGrid(*stage.parallel));
  }
  return OkStatus();
}

Result<Literal> FunctionRun::Ask() {
  observer_.Begin({1, 1});
  return Evaluate(*function_.question, {}, evaluate_);
}

bool ShowsNothing(const CheckStage& stage) {
  SideEffects effects;
  return stage.outputs.empty() &&
         std::ranges::none_of(stage.module->entry()->instructions(), [&](const auto& i) { return effects.Of(*i); });
}

Status FunctionRun::RunStage(const CheckStage& stage) {
  if (ShowsNothing(stage)) return OkStatus();
  VXLA_ASSIGN_OR_RETURN(const std::vector<const Literal*> arguments, Find(values_, stage.inputs));
  observer_.Begin({1, 1});
  Literal result;
  if (client_ == nullptr) {
    VXLA_RETURN_IF_ERROR(CheckCustomCalls(*stage.module, evaluate_.custom_calls));
    VXLA_ASSIGN_OR_RETURN(result, Evaluate(*stage.module, arguments, evaluate_));
  } else {
    VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<Executable> executable,
                          client_->Compile(*stage.module, target_.compile));
    VXLA_ASSIGN_OR_RETURN(result, executable->Run(arguments));
  }
  observer_.End();
  std::vector<Literal> results = ResultsOf(std::move(result), stage.outputs.size());
  for (size_t i = 0; i < stage.outputs.size(); ++i)
    values_[stage.outputs[i]] = std::make_shared<const Literal>(std::move(results.at(i)));
  return OkStatus();
}

Status FunctionRun::MakeItems(const ParallelRun& run) {
  items_.clear();
  for (const auto& module : run.infeeds) {
    observer_.Begin({1, 1});
    VXLA_ASSIGN_OR_RETURN(Literal item, Evaluate(*module, {}, evaluate_));
    observer_.End();
    items_.push_back(std::move(item));
  }
  return OkStatus();
}

Result<Literal> FunctionRun::TakeItem(const Shape& shape) {
  const std::lock_guard lock(mutex_);
  if (taken_ >= items_.size()) return InvalidArgument("infeed: all {} items are taken", items_.size());
  Literal item = items_[taken_++];
  if (shape.IsTuple() && !item.shape().IsTuple()) item = Literal::Tuple(ListOf(std::move(item)));
  if (Compatible(item.shape(), shape)) return item;
  return InvalidArgument("infeed: item {} is {}, {} is wanted", taken_ - 1, item.shape().ToString(), shape.ToString());
}

// All devices on the client's one. kUnsupported: it cannot.
Result<std::vector<Literal>> FunctionRun::RunMerged(const ParallelRun& run, const DeviceGrid& grid,
                                                    const std::vector<std::vector<const Literal*>>& arguments) {
  if (client_ == nullptr) return Unsupported("the reference runs it");
  const std::vector<bool> shared(arguments[0].size(), run.shared);
  Result<MergedProgram> merged = MergeDevices(*run.module, grid, shared);
  // What is wrong with the programs the reference says too; sends from one to another it runs.
  if (merged.status().code() == StatusCode::kInternal) return merged.status();
  if (!merged.ok()) return Unsupported("{}", merged.status().message());
  VXLA_ASSIGN_OR_RETURN(std::shared_ptr<Executable> executable, client_->Compile(*merged->module, target_.compile));
  MergedDevices devices(*std::move(merged), run.module->entry()->root()->shape(), std::move(executable));
  const Attempt attempt = devices.Try(LentArguments(arguments), nullptr);
  if (attempt.how == Attempt::How::kFailed) return attempt.status;
  if (attempt.how != Attempt::How::kDone) return Unsupported("{}", attempt.status.message());
  return Transformed(attempt.launch.by_device, &Execution::ToLiteral);
}

Status FunctionRun::RunOnGrid(const ParallelRun& run) {
  const DeviceGrid grid{run.replicas, run.partitions};
  VXLA_ASSIGN_OR_RETURN(const std::vector<const Literal*> operands, Find(values_, run.operands));
  VXLA_RETURN_IF_ERROR(MakeItems(run));
  const size_t devices = static_cast<size_t>(grid.count());
  std::vector<std::vector<const Literal*>> arguments(devices, operands);
  if (!run.shared) {
    const size_t each = operands.size() / devices;
    for (size_t d = 0; d < devices; ++d)
      arguments[d].assign(operands.begin() + static_cast<ptrdiff_t>(d * each),
                          operands.begin() + static_cast<ptrdiff_t>((d + 1) * each));
  }
  const auto begin = [&] {
    observer_.Begin(grid);
    taken_ = 0;
  };
  begin();
  Result<std::vector<Literal>> given = RunMerged(run, grid, arguments);
  if (given.status().code() == StatusCode::kUnsupported) {
    begin();
    given = EvaluateReplicated(*run.module, grid, arguments, evaluate_);
  }
  VXLA_ASSIGN_OR_RETURN(std::vector<Literal> results, std::move(given));
  observer_.End();
  const size_t each = run.results.size() / devices;
  for (size_t i = 0; i < run.results.size(); ++i) {
    Literal& of_device = results[run.owners[i]];
    const bool one = !run.shared && each == 1;
    const size_t index = run.shared ? i : i % each;
    values_[run.results[i]] = std::make_shared<const Literal>(one ? of_device : of_device.tuple_element(index));
  }
  return OkStatus();
}

Status PrepareAll(const CheckFunction& function) {
  for (const CheckStage& stage : function.stages) {
    VXLA_RETURN_IF_ERROR(Prepare(*stage.module));
    if (stage.parallel == nullptr) continue;
    VXLA_RETURN_IF_ERROR(Prepare(*stage.parallel->module));
    for (const auto& infeed : stage.parallel->infeeds) VXLA_RETURN_IF_ERROR(Prepare(*infeed));
  }
  return OkStatus();
}

// The function with all its sizes known: those that data decide are computed on the reference first.
Result<CheckFunction> Import(const mlir::Program& program, const std::string& name, const EvaluateOptions& evaluate) {
  const auto fold = [](const Instruction& instruction, std::span<const Literal* const> operands) {
    return EvaluateInstruction(instruction, operands);
  };
  std::vector<Literal> answers;
  while (true) {
    VXLA_ASSIGN_OR_RETURN(CheckFunction function, mlir::ImportCheck(program, name, answers, fold));
    if (function.question == nullptr) return function;
    VXLA_RETURN_IF_ERROR(Prepare(*function.question));
    const CheckTarget reference{nullptr, {}, evaluate};
    VXLA_ASSIGN_OR_RETURN(answers.emplace_back(), FunctionRun(function, reference).Ask());
  }
}

// ---- what is to be rejected

struct ExpectedError {
  int line = 0;
  std::string text;
};

// expected-error@+1 {{text}}: on the comment's line, or as many lines below (above) it.
std::vector<ExpectedError> ExpectedErrors(std::string_view text, int first_line) {
  constexpr std::string_view kWord = "expected-error";
  std::vector<ExpectedError> expected;
  size_t counted = 0;
  int line = first_line;
  for (size_t at = text.find(kWord); at != std::string_view::npos; at = text.find(kWord, at + 1)) {
    line += static_cast<int>(
        std::count(text.begin() + static_cast<ptrdiff_t>(counted), text.begin() + static_cast<ptrdiff_t>(at), '\n'));
    counted = at;
    std::string_view rest = text.substr(at + kWord.size());
    rest = rest.substr(0, rest.find('\n'));
    if (rest.starts_with("-re")) rest.remove_prefix(3);
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    int offset = 0;
    if (rest.starts_with("@below")) offset = 1;
    if (rest.starts_with("@above")) offset = -1;
    if (rest.starts_with("@+") || rest.starts_with("@-")) {
      std::from_chars(rest.data() + 2, rest.data() + rest.size(), offset);
      if (rest[1] == '-') offset = -offset;
    }
    const size_t open = rest.find("{{"), close = rest.rfind("}}");
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) continue;
    expected.push_back({line + offset, std::string(rest.substr(open + 2, close - open - 2))});
  }
  return expected;
}

// Every error of the section: the one that ended its reading, else one for each function that has one.
std::vector<Status> ErrorsOf(const Result<mlir::Program>& program) {
  if (!program.ok()) return {program.status()};
  std::vector<Status> errors;
  for (const mlir::CheckEntry& entry : mlir::CheckEntries(*program)) {
    const Result<CheckFunction> function = Import(*program, entry.name, {});
    const Status status = function.ok() ? PrepareAll(*function) : function.status();
    if (!status.ok()) errors.push_back(status);
  }
  return errors;
}

CheckVerdict JudgeRejection(const std::vector<ExpectedError>& expected, const Result<mlir::Program>& program,
                            CheckVerdict verdict) {
  verdict.kind = CheckVerdict::Kind::kFailed;
  verdict.code = StatusCode::kMismatch;
  verdict.line = expected[0].line;
  const std::vector<Status> errors = ErrorsOf(program);
  if (errors.empty()) {
    verdict.reason =
        fmt::format("line {}: an error was expected, the program was taken: {}", expected[0].line, expected[0].text);
    return verdict;
  }
  for (const Status& error : errors) {
    const bool there =
        std::ranges::any_of(expected, [&](const ExpectedError& e) { return e.line == error.location().line; });
    if (there && error.code() == StatusCode::kInvalidArgument) continue;
    verdict.reason = fmt::format("{}:{}: {}{}", error.location().line, error.location().column, error.message(),
                                 there ? "" : fmt::format("; an error on line {} was expected", expected[0].line));
    return verdict;
  }
  verdict.kind = CheckVerdict::Kind::kPassed;
  verdict.code = StatusCode::kOk;
  return verdict;
}

// Nothing but comments: a module without functions.
bool HoldsNothing(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    if (!line.empty() && !line.starts_with("//")) return false;
  }
  return true;
}

std::string Placed(const Status& status) {
  const SourceLocation at = status.location();
  return at.line == 0 ? status.message() : fmt::format("{}:{}: {}", at.line, at.column, status.message());
}

CheckVerdict JudgeFunction(const mlir::CheckEntry& entry, const mlir::Program& program, const CheckTarget& target,
                           CheckVerdict verdict) {
  verdict.function = entry.name;
  verdict.line = entry.location.line;
  if (entry.arguments > 0) {
    verdict.kind = CheckVerdict::Kind::kSkipped;
    verdict.reason = fmt::format("it takes {} arguments", entry.arguments);
    return verdict;
  }
  const Result<CheckFunction> function = Import(program, entry.name, target.evaluate);
  Status status = function.ok() ? PrepareAll(*function) : function.status();
  if (status.ok()) {
    FunctionRun run(*function, target);
    status = run.Run();
    verdict.printed = run.observer().printed();
  }
  if (status.ok()) return verdict;
  verdict.kind = CheckVerdict::Kind::kFailed;
  verdict.code = status.code();
  verdict.reason = Placed(status);
  return verdict;
}

}  // namespace

std::vector<CheckVerdict> CheckSection(std::string_view text, int first_line, size_t section,
                                       const CheckTarget& target) {
  const Result<mlir::Program> program = mlir::ParseMlir(text, first_line);
  CheckVerdict start;
  start.section = section;
  start.line = first_line;
  if (const auto expected = ExpectedErrors(text, first_line); !expected.empty())
    return {JudgeRejection(expected, program, std::move(start))};
  std::vector<CheckVerdict> verdicts;
  if (!program.ok()) {
    if (HoldsNothing(text)) return {};
    start.kind = CheckVerdict::Kind::kFailed;
    start.code = program.status().code();
    start.reason = Placed(program.status());
    return {start};
  }
  for (const mlir::CheckEntry& entry : mlir::CheckEntries(*program))
    verdicts.push_back(JudgeFunction(entry, *program, target, start));
  return verdicts;
}

}  // namespace VXLA_NAMESPACE
