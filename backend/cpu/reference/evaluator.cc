#include "backend/cpu/reference/evaluator.h"

#include "backend/cpu/reference/dynamic.h"
#include "backend/cpu/reference/eval.h"
#include "core/devices/replica_groups.h"
#include "core/host/guarded.h"
#include "core/ir/module.h"
#include "core/mlir/importer/dynamic_program.h"
#include "core/sizes/live_sizes.h"

namespace VXLA_NAMESPACE {
namespace {

EvalFunction* FunctionOf(Opcode opcode) {
  static constexpr EvalFunction* kFunctions[] = {
#define VXLA_ROW(Name, ...) &Eval##Name,
#define UNEVALUATED(...) nullptr,
// clang-format off
#include "core/ir/opcode_rows.h"
#include "core/ir/opcode.def"
#include "core/ir/opcode_rows_end.h"
      // clang-format on
  };
  return kFunctions[static_cast<int>(opcode)];
}

Status CheckArguments(const Computation& entry, std::span<const Literal* const> arguments) {
  if (arguments.size() != entry.parameters().size()) {
    return InvalidArgument("{} arguments given to {}, which takes {}", arguments.size(), entry.name(),
                           entry.parameters().size());
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Shape& want = entry.parameter(static_cast<int64_t>(i))->shape();
    if (!FitsWithin(*arguments[i], want)) {
      return InvalidArgument("argument {} is {}, but parameter {} of {} is {}", i, arguments[i]->shape().ToString(), i,
                             entry.name(), want.ToString());
    }
  }
  return OkStatus();
}

void Observe(const EvaluateOptions& options, const Instruction& instruction, const Value& value) {
  if (value.IsTuple()) return options.observe(instruction, Value(value).ToLiteral());
  options.observe(instruction, value.literal());
}

std::optional<Result<Value>> Replaced(const EvaluateOptions& options, const Instruction& instruction,
                                      std::span<const Value> operands) {
  std::vector<const Literal*> arrays;
  for (const Value& operand : operands) {
    if (operand.IsTuple()) return std::nullopt;
    arrays.push_back(&operand.literal());
  }
  std::optional<Result<Literal>> result = options.replace(instruction, arrays);
  if (!result) return std::nullopt;
  if (!result->ok()) return Result<Value>(result->status());
  if (!(*result)->shape().IsTuple()) return Result<Value>(Value(std::move(**result)));
  std::vector<Value> elements;
  for (Literal& element : (*result)->mutable_tuple_elements()) elements.emplace_back(std::move(element));
  return Result<Value>(Value::Tuple(std::move(elements)));
}

}  // namespace

bool HasEvaluation(Opcode opcode) { return FunctionOf(opcode) != nullptr; }

const ComputationSchedule& EvalContext::ScheduleOf(const Computation& computation) {
  std::unique_ptr<ComputationSchedule>& slot = schedules_[&computation];
  if (slot) return *slot;
  slot = std::make_unique<ComputationSchedule>();
  std::unordered_map<const Instruction*, int> position;
  for (const auto& instruction : computation.instructions()) {
    position[instruction.get()] = static_cast<int>(slot->steps.size());
    ComputationSchedule::Step step;
    step.instruction = instruction.get();
    for (const Instruction* operand : instruction->operands()) step.operands.push_back(position.at(operand));
    step.last_use.assign(step.operands.size(), false);
    slot->steps.push_back(std::move(step));
  }
  slot->root = position.at(computation.root());
  std::vector<bool> used(slot->steps.size(), false);
  used[slot->root] = true;
  for (auto step = slot->steps.rbegin(); step != slot->steps.rend(); ++step) {
    step->dead = !used[position.at(step->instruction)];
    for (size_t i = step->operands.size(); i-- > 0;) {
      step->last_use[i] = !used[step->operands[i]];
      used[step->operands[i]] = true;
    }
  }
  return *slot;
}

Result<DeviceState*> EvalContext::DeviceFor(const Instruction& instruction) {
  if (device_ != nullptr) {
    const int64_t device = instruction.notes().device;
    if (device == 0 || device == device_->device) return device_;
    const DeviceState first{device_->link, device, options_.seed, static_cast<uint64_t>(device)};
    return &stated_devices_.try_emplace(device, first).first->second;
  }
  return Unsupported("{} {}: not inside a computation that is applied element by element",
                     OpcodeText(instruction.opcode()), instruction.name());
}

Result<Value> EvalContext::RunInstruction(const Instruction& instruction, std::span<Value> operands) {
  EvalFunction* function = FunctionOf(instruction.opcode());
  if (function == nullptr) {
    return Unsupported("{} {}: the CPU reference does not evaluate this op", OpcodeText(instruction.opcode()),
                       instruction.name())
        .At(instruction.location());
  }
  if (device_ != nullptr) VXLA_RETURN_IF_ERROR(device_->link.Begin(instruction, device_->device));
  const bool live = NeedsLiveSizes(instruction, operands);
  if (options_.replace) {
    if (auto replaced = Replaced(options_, instruction, operands)) return std::move(*replaced);
  }
  Result<Value> result = [&]() -> Result<Value> {
    try {
      return live ? EvaluateLive(*this, instruction, operands, function) : function(*this, instruction, operands);
    } catch (const HostMemoryExhausted& error) {
      return ResourceExhausted("{} {} of {}: {}", OpcodeText(instruction.opcode()), instruction.name(),
                               instruction.shape().ToString(), error.what());
    }
  }();
  if (!result.ok()) return Status(result.status()).At(instruction.location());
  return result;
}

Result<Value> EvalContext::Run(const Computation& computation, std::span<Value> arguments, bool observe) {
  const ComputationSchedule& schedule = ScheduleOf(computation);
  std::vector<Value> values(schedule.steps.size());
  std::vector<Value> operands;
  for (size_t i = 0; i < schedule.steps.size(); ++i) {
    const ComputationSchedule::Step& step = schedule.steps[i];
    const Instruction& instruction = *step.instruction;
    if (observe && options_.starting) options_.starting(instruction, i, schedule.steps.size());
    if (instruction.opcode() == Opcode::kParameter) {
      VXLA_ASSIGN_OR_RETURN(
          values[i],
          WithStatedFlags(instruction, std::move(arguments[static_cast<size_t>(instruction.parameter_number())]),
                          instruction.shape()));
    } else {
      operands.clear();
      for (size_t k = 0; k < step.operands.size(); ++k) {
        Value& operand = values[step.operands[k]];
        if (step.last_use[k]) {
          operands.push_back(std::move(operand));
        } else {
          operands.push_back(operand);
        }
      }
      VXLA_ASSIGN_OR_RETURN(values[i], RunInstruction(instruction, operands));
      operands.clear();
    }
    if (observe && options_.observe) Observe(options_, instruction, values[i]);
    if (step.dead) values[i] = Value();
  }
  return std::move(values[schedule.root]);
}

namespace {

Result<Literal> RunEntry(const Module& module, std::span<const Literal* const> arguments,
                         const EvaluateOptions& options, ReplicaLink& link, int64_t device) {
  DeviceState state{link, device, options.seed, static_cast<uint64_t>(device)};
  EvalContext context(options, &state);
  std::vector<Value> values;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Shape& stated = module.entry()->parameter(static_cast<int64_t>(i))->shape();
    const bool as_stated = !stated.IsDynamic() && !arguments[i]->shape().IsDynamic();
    values.push_back(as_stated ? Value::Borrow(*arguments[i]) : Value(ConformTo(*arguments[i], stated)));
  }
  VXLA_ASSIGN_OR_RETURN(Value result, context.Run(*module.entry(), values, device == 0));
  return std::move(result).ToLiteral();
}

Result<std::vector<Literal>> EvaluateOrThrow(const Module& module, const DeviceGrid& grid,
                                             std::span<const std::vector<const Literal*>> arguments,
                                             const EvaluateOptions& options) {
  if (grid.replicas < 1 || grid.partitions < 1 || grid.replicas > DeviceGrid::kMost / grid.partitions) {
    return InvalidArgument("{} replicas times {} partitions: 1 to {} devices are possible", grid.replicas,
                           grid.partitions, DeviceGrid::kMost);
  }
  if (static_cast<int64_t>(arguments.size()) != grid.count()) {
    return InvalidArgument("arguments for {} devices given, {} needed", arguments.size(), grid.count());
  }
  if (mlir::IsDynamicProgram(module)) {
    VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<Module> refined, RefineOnCpu(module, arguments[0], options));
    return EvaluateOrThrow(*refined, grid, arguments, options);
  }
  for (const auto& of_device : arguments) VXLA_RETURN_IF_ERROR(CheckArguments(*module.entry(), of_device));
  VXLA_RETURN_IF_ERROR(CheckCollectives(module, grid));
  VXLA_RETURN_IF_ERROR(CheckCustomCalls(module, options.custom_calls));
  const std::unique_ptr<ReplicaLink> link = MakeReplicaLink(grid, options.collective_timeout, options.host);
  std::vector<Literal> results(arguments.size());
  VXLA_RETURN_IF_ERROR(link->Run([&](int64_t device) -> Status {
    const auto d = static_cast<size_t>(device);
    VXLA_ASSIGN_OR_RETURN(results[d], RunEntry(module, arguments[d], options, *link, device));
    return OkStatus();
  }));
  return results;
}

}  // namespace

Result<std::vector<Literal>> EvaluateReplicated(const Module& module, const DeviceGrid& grid,
                                                std::span<const std::vector<const Literal*>> arguments,
                                                const EvaluateOptions& options) {
  return Guarded([&] { return EvaluateOrThrow(module, grid, arguments, options); });
}

Result<Literal> EvaluateDevice(const Module& module, std::span<const Literal* const> arguments,
                               const EvaluateOptions& options, ReplicaLink& link, int64_t device) {
  return Guarded([&]() -> Result<Literal> {
    VXLA_RETURN_IF_ERROR(CheckArguments(*module.entry(), arguments));
    return RunEntry(module, arguments, options, link, device);
  });
}

Result<Literal> Evaluate(const Module& module, std::span<const Literal* const> arguments,
                         const EvaluateOptions& options) {
  return Guarded([&]() -> Result<Literal> {
    const std::vector<const Literal*> of_device(arguments.begin(), arguments.end());
    VXLA_ASSIGN_OR_RETURN(std::vector<Literal> results, EvaluateOrThrow(module, {}, {&of_device, 1}, options));
    return std::move(results[0]);
  });
}

Result<std::unique_ptr<Module>> RefineOnCpu(const Module& module, std::span<const Literal* const> arguments,
                                            const EvaluateOptions& options) {
  const auto fold = [](const Instruction& instruction, std::span<const Literal* const> operands) {
    return EvaluateInstruction(instruction, operands);
  };
  const auto run = [&](const Module& question, std::span<const Literal* const> values) {
    EvaluateOptions quiet = options;
    quiet.starting = nullptr;
    quiet.observe = nullptr;
    return Evaluate(question, values, quiet);
  };
  return mlir::RefineFor(module, arguments, fold, run);
}

struct InstructionEvaluator::State {
  explicit State(EvaluateOptions given)
      : options(std::move(given)),
        own_link(MakeReplicaLink({}, options.collective_timeout, options.host)),
        link(*own_link),
        device{link, 0, options.seed, 0},
        context(options, &device) {}
  State(EvaluateOptions given, ReplicaLink& of_run, int64_t number)
      : options(std::move(given)),
        link(of_run),
        device{link, number, options.seed, static_cast<uint64_t>(number)},
        context(options, &device) {}

  const EvaluateOptions options;
  const std::unique_ptr<ReplicaLink> own_link;
  ReplicaLink& link;
  DeviceState device;
  EvalContext context;
};

InstructionEvaluator::InstructionEvaluator(EvaluateOptions options)
    : state_(std::make_unique<State>(std::move(options))) {}
InstructionEvaluator::InstructionEvaluator(EvaluateOptions options, ReplicaLink& link, int64_t device)
    : state_(std::make_unique<State>(std::move(options), link, device)) {}
InstructionEvaluator::~InstructionEvaluator() = default;

Result<Literal> InstructionEvaluator::Evaluate(const Instruction& instruction,
                                               std::span<const Literal* const> operands) {
  return Run(instruction, operands, /*gathers=*/false);
}

Result<Literal> InstructionEvaluator::Gather(const Instruction& collective, std::span<const Literal* const> operands) {
  return Run(collective, operands, /*gathers=*/true);
}

Result<Literal> InstructionEvaluator::Run(const Instruction& instruction, std::span<const Literal* const> operands,
                                          bool gathers) {
  if (operands.size() != instruction.operands().size()) {
    return InvalidArgument("{}: {} operands given, {} needed", instruction.name(), operands.size(),
                           instruction.operands().size());
  }
  Result<Literal> result = Guarded([&]() -> Result<Literal> {
    std::vector<Value> values;
    for (const Literal* operand : operands) values.push_back(Value::Borrow(*operand));
    VXLA_ASSIGN_OR_RETURN(Value value, gathers ? GatherGroup(state_->context, instruction, values)
                                               : state_->context.RunInstruction(instruction, values));
    return std::move(value).ToLiteral();
  });
  if (result.ok()) return result;
  const Status stopped = state_->link.failure();  // a wait in vain says here why
  return stopped.ok() ? result : stopped;
}

Result<Literal> EvaluateInstruction(const Instruction& instruction, std::span<const Literal* const> operands,
                                    const EvaluateOptions& options) {
  return Guarded([&] { return InstructionEvaluator(options).Evaluate(instruction, operands); });
}

}  // namespace VXLA_NAMESPACE
