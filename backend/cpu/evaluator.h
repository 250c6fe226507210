// The CPU reference: evaluates modules and single instructions on the host, for every element type and rank. It is the
// truth that other devices are compared with: plain loops, libm, accumulators wider than the result, and the same bits
// whatever the thread count.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "core/literal.h"
#include "core/module.h"
#include "core/status.h"

namespace vxla {

struct EvaluateOptions {
  int threads = 0;                   // 0: one per processor
  int64_t max_loop_iterations = -1;  // of each while; -1: no limit. Beyond it: Mismatch
  // Called with the value of each instruction of the entry computation, in order; not for nested computations.
  std::function<void(const Instruction&, const Literal&)> observe;
};

// Runs the entry computation; `arguments` by its parameter numbers. The result is the root's value.
Result<Literal> Evaluate(const Module& module, std::span<const Literal* const> arguments,
                         const EvaluateOptions& options = {});

// One instruction, with the computations it calls. `operands` in the order of instruction.operands().
Result<Literal> EvaluateInstruction(const Instruction& instruction, std::span<const Literal* const> operands,
                                    const EvaluateOptions& options = {});

// False for the rows of core/opcode.def that are UNEVALUATED.
bool HasEvaluation(Opcode opcode);

}  // namespace vxla
