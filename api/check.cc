#include "api/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <mutex>

#include "core/literal_compare.h"
#include "core/mlir/parser.h"
#include "core/passes/device_merger.h"
#include "core/passes/prepare.h"
#include "core/replica_groups.h"
#include "core/text/literal_text.h"

namespace VXLA_NAMESPACE {
namespace {

using mlir::Check;
using mlir::CheckFunction;
using mlir::CheckStage;
using mlir::ParallelRun;
using mlir::ValueId;

// ---- comparisons

// Complex numbers as pairs of reals: checks look at the parts one by one.
Literal InParts(const Literal& literal) {
  const ElementType type = literal.shape().element_type();
  if (type != ElementType::kC64 && type != ElementType::kC128) return literal;
  std::vector<int64_t> sizes(literal.shape().dimensions().begin(), literal.shape().dimensions().end());
  sizes.push_back(2);
  return literal.Reshaped(Shape(type == ElementType::kC64 ? ElementType::kF32 : ElementType::kF64, std::move(sizes)));
}

// A scalar that stands for an array of many.
Literal Filled(const Literal& value, const Shape& shape) {
  if (value.shape() == shape || !value.shape().IsScalar()) return value;
  Literal out(shape);
  const size_t size = value.bytes().size();
  for (size_t at = 0; size > 0 && at + size <= out.bytes().size(); at += size)
    std::memcpy(out.mutable_bytes().data() + at, value.bytes().data(), size);
  return out;
}

std::string WhatDiffers(const Check& check, const Comparison& comparison, std::string_view limit) {
  std::string reason = fmt::format("{} at {}:{}: ", check.operation, check.location.line, check.location.column);
  if (!comparison.shapes_match) return fmt::format("{}the shapes differ: {}", reason, comparison.shapes);
  if (comparison.worst.empty()) return reason + "the values differ";
  const ElementDifference& worst = comparison.worst.front();
  reason += fmt::format("[{}] is {}, want {}", worst.where, worst.actual, worst.expected);
  if (worst.ulp > 0) reason += fmt::format(" ({:g} ulp off{})", worst.ulp, limit);
  return reason + fmt::format("; {} of {} elements differ", comparison.mismatches, comparison.elements);
}

Status Judge(const Check& check, const Literal& got_value, const Literal& want_value) {
  const Literal got = InParts(got_value), want = InParts(want_value);
  Tolerance tolerance;
  std::string limit;
  if (check.kind == Check::Kind::kAlmostEqual) {
    tolerance.atol = check.tolerance;
    limit = fmt::format(", {:g} allowed", check.tolerance);
  } else if (check.kind == Check::Kind::kClose) {
    tolerance.ulp = static_cast<double>(check.max_ulp);
    limit = fmt::format(", {} allowed", check.max_ulp);
  }
  const Comparison comparison = Compare(got, want, tolerance);
  if (!comparison.agrees()) return Mismatch("{}", WhatDiffers(check, comparison, limit));
  if (check.kind != Check::Kind::kClose || check.min_ulp == 0) return OkStatus();
  tolerance.ulp = static_cast<double>(check.min_ulp) - 1;
  const Comparison least = Compare(got, want, tolerance);
  if (least.mismatches == least.elements) return OkStatus();
  return Mismatch("{} at {}:{}: {} of {} elements are closer than {} ulp", check.operation, check.location.line,
                  check.location.column, least.elements - least.mismatches, least.elements, check.min_ulp);
}

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

std::vector<Literal> ResultsOf(Literal result, size_t count) {
  if (count == 1) {
    std::vector<Literal> one;
    one.push_back(std::move(result));
    return one;
  }
  return std::move(result.mutable_tuple_elements());
}

Status RunStage(const CheckStage& stage, const CheckTarget& target, Values& values) {
  if (stage.outputs.empty()) return OkStatus();
  VXLA_ASSIGN_OR_RETURN(const std::vector<const Literal*> arguments, Find(values, stage.inputs));
  Literal result;
  if (target.client == nullptr) {
    VXLA_RETURN_IF_ERROR(CheckCustomCalls(*stage.module, target.evaluate.custom_calls));
    VXLA_ASSIGN_OR_RETURN(result, Evaluate(*stage.module, arguments, target.evaluate));
  } else {
    VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<Executable> executable,
                          target.client->Compile(*stage.module, target.compile));
    VXLA_ASSIGN_OR_RETURN(result, executable->Run(arguments));
  }
  std::vector<Literal> results = ResultsOf(std::move(result), stage.outputs.size());
  for (size_t i = 0; i < stage.outputs.size(); ++i)
    values[stage.outputs[i]] = std::make_shared<const Literal>(std::move(results.at(i)));
  return OkStatus();
}

// The devices take turns at one queue of what the infeed functions give.
Result<std::vector<Literal>> InfeedItems(const ParallelRun& run, const EvaluateOptions& options) {
  std::vector<Literal> items;
  for (const auto& module : run.infeeds) {
    VXLA_ASSIGN_OR_RETURN(Literal item, Evaluate(*module, {}, options));
    items.push_back(std::move(item));
  }
  return items;
}

bool HasFeeds(const Module& module) {
  return std::ranges::any_of(module.computations(), [](const auto& computation) {
    return std::ranges::any_of(computation->instructions(), [](const auto& instruction) {
      return instruction->opcode() == Opcode::kInfeed || instruction->opcode() == Opcode::kOutfeed;
    });
  });
}

// All devices on the client's one. kUnsupported: it cannot.
Result<std::vector<Literal>> RunMerged(const ParallelRun& run, const DeviceGrid& grid,
                                       const std::vector<std::vector<const Literal*>>& arguments,
                                       const CheckTarget& target) {
  if (target.client == nullptr || HasFeeds(*run.module)) return Unsupported("the reference runs it");
  const std::vector<bool> shared(arguments[0].size(), run.shared);
  const Result<MergedProgram> merge = MergeDevices(*run.module, grid, shared);
  // What is wrong with the programs the reference says too; sends from one to another it runs.
  if (!merge.ok()) return Unsupported("{}", merge.status().message());
  const MergedProgram& merged = *merge;
  VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<Executable> executable,
                        target.client->Compile(*merged.module, target.compile));
  std::vector<const Literal*> pointers;
  for (const auto& [device, parameter] : merged.parameters)
    pointers.push_back(arguments[static_cast<size_t>(device)][static_cast<size_t>(parameter)]);
  VXLA_ASSIGN_OR_RETURN(const Literal result, executable->Run(pointers));
  std::vector<Literal> results;
  const Result<std::vector<std::vector<const Literal*>>> by_device = LeavesByDevice(merged, result);
  if (!by_device.ok()) return Unsupported("{}", by_device.status().message());  // devices have parted
  for (const auto& leaves : *by_device) {
    std::vector<Literal> of_device;
    for (const Literal* leaf : leaves) of_device.push_back(*leaf);
    const bool tuple = run.module->entry()->root()->shape().IsTuple();
    results.push_back(tuple ? Literal::Tuple(std::move(of_device)) : std::move(of_device[0]));
  }
  return results;
}

Status RunOnGrid(const ParallelRun& run, const CheckTarget& target, Values& values) {
  const DeviceGrid grid{run.replicas, run.partitions};
  VXLA_ASSIGN_OR_RETURN(const std::vector<const Literal*> operands, Find(values, run.operands));
  VXLA_ASSIGN_OR_RETURN(std::vector<Literal> items, InfeedItems(run, target.evaluate));
  EvaluateOptions evaluate = target.evaluate;
  std::mutex mutex;
  size_t taken = 0;
  evaluate.host.infeed = [&](int64_t, const Shape& shape) -> Result<Literal> {
    const std::lock_guard lock(mutex);
    if (taken >= items.size()) return InvalidArgument("infeed: all {} items are taken", items.size());
    Literal item = items[taken++];
    if (shape.IsTuple() && !item.shape().IsTuple()) {
      std::vector<Literal> one;
      one.push_back(std::move(item));
      item = Literal::Tuple(std::move(one));
    }
    if (Compatible(item.shape(), shape)) return item;
    return InvalidArgument("infeed: item {} is {}, {} is wanted", taken - 1, item.shape().ToString(), shape.ToString());
  };
  evaluate.host.outfeed = [](int64_t, Literal) { return OkStatus(); };
  const size_t devices = static_cast<size_t>(grid.count());
  std::vector<std::vector<const Literal*>> arguments(devices, operands);
  if (!run.shared) {
    const size_t each = operands.size() / devices;
    for (size_t d = 0; d < devices; ++d)
      arguments[d].assign(operands.begin() + static_cast<ptrdiff_t>(d * each),
                          operands.begin() + static_cast<ptrdiff_t>((d + 1) * each));
  }
  Result<std::vector<Literal>> given = RunMerged(run, grid, arguments, target);
  if (given.status().code() == StatusCode::kUnsupported)
    given = EvaluateReplicated(*run.module, grid, arguments, evaluate);
  VXLA_ASSIGN_OR_RETURN(std::vector<Literal> results, std::move(given));
  const size_t each = run.results.size() / devices;
  for (size_t i = 0; i < run.results.size(); ++i) {
    Literal& of_device = results[static_cast<size_t>(run.owners[i])];
    const bool one = !run.shared && each == 1;
    const size_t index = run.shared ? i : i % each;
    values[run.results[i]] =
        std::make_shared<const Literal>(one ? of_device : of_device.tuple_element(static_cast<int64_t>(index)));
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

Status RunFunction(const CheckFunction& function, const mlir::Program& program, const CheckTarget& target,
                   std::vector<std::string>& printed) {
  Values values;
  for (const auto& [value, constant] : function.constants)
    values[value] = std::make_shared<const Literal>(Filled(*constant.literal, constant.shape));
  for (const CheckStage& stage : function.stages) {
    VXLA_RETURN_IF_ERROR(RunStage(stage, target, values));
    if (stage.parallel != nullptr) VXLA_RETURN_IF_ERROR(RunOnGrid(*stage.parallel, target, values));
  }
  for (const Check& check : function.checks) {
    VXLA_ASSIGN_OR_RETURN(const std::vector<const Literal*> got, Find(values, {check.got}));
    if (check.kind == Check::Kind::kPrint) {
      printed.push_back(fmt::format("%{} = {}", program.values[check.got].name, PrintLiteral(*got[0])));
    } else if (check.expected != nullptr) {
      VXLA_RETURN_IF_ERROR(Judge(check, *got[0], Filled(*check.expected, got[0]->shape())));
    } else {
      VXLA_ASSIGN_OR_RETURN(const std::vector<const Literal*> want, Find(values, {check.want}));
      VXLA_RETURN_IF_ERROR(Judge(check, *got[0], *want[0]));
    }
  }
  return OkStatus();
}

// The function with all its sizes known: those that data decide are computed on the reference first.
Result<CheckFunction> Import(const mlir::Program& program, const std::string& name, const EvaluateOptions& options) {
  const auto fold = [](const Instruction& instruction, std::span<const Literal* const> operands) {
    return EvaluateInstruction(instruction, operands);
  };
  std::vector<Literal> answers;
  while (true) {
    VXLA_ASSIGN_OR_RETURN(CheckFunction function, mlir::ImportCheck(program, name, answers, fold));
    if (function.question == nullptr) return function;
    VXLA_RETURN_IF_ERROR(Prepare(*function.question));
    VXLA_ASSIGN_OR_RETURN(Literal answer, Evaluate(*function.question, {}, options));
    answers.push_back(std::move(answer));
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
  if (status.ok()) status = RunFunction(*function, program, target, verdict.printed);
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
