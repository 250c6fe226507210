#include "backend/cpu/evaluator.h"

#include <new>

#include "backend/cpu/eval.h"

namespace vxla {
namespace {

EvalFunction* FunctionOf(Opcode opcode) {
  static constexpr EvalFunction* kFunctions[] = {
#define VXLA_ROW(Name, ...) &Eval##Name,
#define UNEVALUATED(...) nullptr,
// clang-format off
#include "core/opcode_rows.h"
#include "core/opcode.def"
#include "core/opcode_rows_end.h"
      // clang-format on
  };
  return kFunctions[static_cast<int>(opcode)];
}

// The reference works on static sizes; a value whose live size is below its bound would need masking everywhere.
Status CheckStatic(const Instruction& instruction) {
  if (!instruction.shape().IsDynamic()) return OkStatus();
  return Unsupported("{} {}: the bounded dynamic shape {} has no evaluation", OpcodeText(instruction.opcode()),
                     instruction.name(), instruction.shape().ToString());
}

// Internal errors and memory exhaustion become statuses here, at the public boundary.
template <typename F>
Result<Literal> Guarded(F&& run) {
  try {
    return run();
  } catch (const InternalError& error) {
    return Internal("{}", error.what());
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("out of host memory");
  }
}

Status CheckArguments(const Computation& entry, std::span<const Literal* const> arguments) {
  if (arguments.size() != entry.parameters().size()) {
    return InvalidArgument("{} arguments given to {}, which takes {}", arguments.size(), entry.name(),
                           entry.parameters().size());
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Shape& want = entry.parameter(static_cast<int64_t>(i))->shape();
    if (!Compatible(want, arguments[i]->shape())) {
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

Result<Value> EvalContext::RunInstruction(const Instruction& instruction, std::span<Value> operands) {
  EvalFunction* function = FunctionOf(instruction.opcode());
  if (function == nullptr) {
    return Unsupported("{} {}: the CPU reference does not evaluate this op", OpcodeText(instruction.opcode()),
                       instruction.name())
        .At(instruction.location());
  }
  if (Status status = CheckStatic(instruction); !status.ok()) return std::move(status).At(instruction.location());
  Result<Value> result = function(*this, instruction, operands);
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
    if (instruction.opcode() == Opcode::kParameter) {
      values[i] = std::move(arguments[static_cast<size_t>(instruction.parameter_number())]);
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

Result<Literal> Evaluate(const Module& module, std::span<const Literal* const> arguments,
                         const EvaluateOptions& options) {
  return Guarded([&]() -> Result<Literal> {
    VXLA_RETURN_IF_ERROR(CheckArguments(*module.entry(), arguments));
    EvalContext context(options);
    std::vector<Value> values;
    for (const Literal* argument : arguments) values.push_back(Value::Borrow(*argument));
    VXLA_ASSIGN_OR_RETURN(Value result, context.Run(*module.entry(), values, true));
    return std::move(result).ToLiteral();
  });
}

Result<Literal> EvaluateInstruction(const Instruction& instruction, std::span<const Literal* const> operands,
                                    const EvaluateOptions& options) {
  return Guarded([&]() -> Result<Literal> {
    if (operands.size() != instruction.operands().size()) {
      return InvalidArgument("{}: {} operands given, {} needed", instruction.name(), operands.size(),
                             instruction.operands().size());
    }
    EvalContext context(options);
    std::vector<Value> values;
    for (const Literal* operand : operands) values.push_back(Value::Borrow(*operand));
    VXLA_ASSIGN_OR_RETURN(Value result, context.RunInstruction(instruction, values));
    return std::move(result).ToLiteral();
  });
}

}  // namespace vxla
