// Perturbation: Monte Carlo arithmetic (D. S. Parker, 1997). The CPU reference runs with every result that rounding
// touches moved at random within what its own operation may leave, so that a few runs show how far rounding alone can
// move what the program computes. The same seed gives the same bits.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <unordered_map>

#include "backend/cpu/reference/evaluator.h"
#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

struct PerturbationOptions {
  EvaluateOptions evaluate;
  // Zeros in place of denormals that a device flushes, of operands and results where it may (MayFlush); null: the value
  // stays as it is. Empty: nothing is flushed.
  std::function<std::shared_ptr<const Literal>(const Literal&)> flush;
  // Sums move by what rounding leaves of terms in an order that does not depend on them (a random walk of the partial
  // sums); with this, by what no order exceeds (AccumulationOf of the terms' magnitudes).
  bool any_order = false;
};

// Not thread-safe.
class Perturbation {
 public:
  explicit Perturbation(PerturbationOptions options);
  ~Perturbation();
  Perturbation(const Perturbation&) = delete;

  // A run of the program. Its calls and maps must be inlined (InlineCalls): what a scalar region rounds is not moved.
  Result<Literal> Run(const Module& module, std::span<const Literal* const> arguments, uint64_t seed);
  // One instruction by itself.
  Result<Literal> RunInstruction(const Instruction& instruction, std::span<const Literal* const> operands,
                                 uint64_t seed);

 private:
  struct Twin;
  enum class Way : uint8_t { kNone, kFunction, kSum, kOperands };
  static Way WayOf(const Instruction& instruction);
  const Twin& TwinOf(const Instruction& instruction);
  // Nullopt: rounding does not touch it.
  std::optional<Result<Literal>> Move(const Instruction& instruction, std::span<const Literal* const> operands);
  Result<Literal> MoveFunction(const Instruction& instruction, std::span<const Literal* const> operands, uint64_t key);
  Result<Literal> MoveSum(const Instruction& instruction, std::span<const Literal* const> operands, uint64_t key);
  Result<Literal> MoveOperands(const Instruction& instruction, std::span<const Literal* const> operands, uint64_t key);

  const PerturbationOptions options_;
  // `plain_`: for sums that are rounded to less than f64 or tell magnitudes only.
  std::unique_ptr<InstructionEvaluator> evaluator_, plain_;
  std::unordered_map<const Instruction*, std::unique_ptr<Twin>> twins_;
  uint64_t seed_ = 0, moves_ = 0;
};

}  // namespace VXLA_NAMESPACE
