// What the op families of the reference share: the context of an evaluation and one EvalX per evaluated row of
// core/ir/opcode.def. A row without its body is a linker error that names it.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "backend/cpu/reference/arithmetic/parallel.h"
#include "backend/cpu/reference/evaluator.h"
#include "backend/cpu/reference/value.h"
#include "backend/replica_link.h"
#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

// What running a computation needs to know, worked out once: loops run their bodies many times.
struct ComputationSchedule {
  struct Step {
    const Instruction* instruction = nullptr;
    std::vector<int> operands;   // steps
    std::vector<bool> last_use;  // by operand: the value dies here
    bool dead = false;           // nothing uses the result
  };
  std::vector<Step> steps;
  int root = 0;
};

// The device that an evaluation stands for, with what lasts from instruction to instruction.
struct DeviceState {
  ReplicaLink& link;
  int64_t device = 0;
  uint64_t rng_state_low = 0, rng_state_high = 0;  // of rng-get-and-update-state
  uint64_t rng_draws = 0;                          // how many rng instructions have run
};

class EvalContext {
 public:
  // Without a device (a scalar region, evaluated on any thread) the instructions that need one are errors.
  explicit EvalContext(const EvaluateOptions& options, DeviceState* device = nullptr)
      : options_(options), device_(device) {}

  const EvaluateOptions& options() const { return options_; }
  Result<DeviceState*> DeviceFor(const Instruction& instruction);
  void For(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& fn) const {
    ParallelFor(count, grain, options_.threads, fn);
  }
  // Runs a computation. Arguments are by parameter number and are consumed.
  Result<Value> Run(const Computation& computation, std::span<Value> arguments, bool observe = false);
  Result<Value> RunInstruction(const Instruction& instruction, std::span<Value> operands);

 private:
  const ComputationSchedule& ScheduleOf(const Computation& computation);

  const EvaluateOptions& options_;
  DeviceState* device_;
  std::map<int64_t, DeviceState> stated_devices_;  // of a program in which one device stands for several
  std::unordered_map<const Computation*, std::unique_ptr<ComputationSchedule>> schedules_;
};

// As InstructionEvaluator::Gather.
Result<Value> GatherGroup(EvalContext& context, const Instruction& instruction, std::span<Value> operands);

// No function is registered for a custom call: what is, and what to do.
Status UnknownTarget(const Instruction& instruction, const CustomCallRegistry* registry);

// One call of a registered function. `inputs` and `result` are as it sees them: laid out, dynamic arrays as buffers.
Status CallFunction(const Instruction& instruction, const CustomCallRegistry::Target& function,
                    std::span<const Literal> inputs, Literal& result);

// A Result<Value> that a Literal converts to as well.
class [[nodiscard]] EvalResult : public Result<Value> {
 public:
  using Result<Value>::Result;
  EvalResult(Literal literal) : Result<Value>(Value(std::move(literal))) {}
  EvalResult(Result<Value> result) : Result<Value>(std::move(result)) {}
};

using EvalFunction = EvalResult(EvalContext& context, const Instruction& instruction, std::span<Value> operands);

#define VXLA_ROW(Name, ...) EvalFunction Eval##Name;
#define UNEVALUATED(...)
// clang-format off
#include "core/ir/opcode_rows.h"
#include "core/ir/opcode.def"
#include "core/ir/opcode_rows_end.h"
// clang-format on

}  // namespace VXLA_NAMESPACE
