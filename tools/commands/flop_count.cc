#include "tools/commands/flop_count.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/maps/running_window.h"
#include "core/numerics/accuracy.h"

namespace VXLA_NAMESPACE {
namespace {

double Elements(const Shape& shape) {
  double count = 0;
  for (const Shape* leaf : FlattenTuple(shape))
    count += leaf->IsArray() ? static_cast<double>(leaf->ElementCount()) : 0;
  return count;
}

double FirstLeafElements(const Shape& shape) { return Elements(*FlattenTuple(shape).front()); }

// Of one call of a reducer.
double OperationsOf(const Computation& reducer) {
  double count = 0;
  for (const auto& instruction : reducer.instructions()) count += IsElementwise(instruction->opcode()) ? 1 : 0;
  return std::max(count, 1.0);
}

}  // namespace

double FlopOf(const Instruction& instruction) {
  const Shape& shape = instruction.shape();
  const auto length = static_cast<double>(AccumulationLength(instruction));
  switch (instruction.opcode()) {
    case Opcode::kDot:
    case Opcode::kRaggedDot:
    case Opcode::kScaledDot:
    case Opcode::kConvolution:
      return 2 * Elements(shape) * length;
    case Opcode::kReduceWindow:
      if (RunningWindowOf(instruction)) return FirstLeafElements(shape) * OperationsOf(*instruction.called(0));
      [[fallthrough]];
    case Opcode::kReduce:
      return FirstLeafElements(shape) * length * OperationsOf(*instruction.called(0));
    case Opcode::kSelectAndScatter:
      return Elements(instruction.operand(1)->shape()) * length * OperationsOf(*instruction.called(0));
    case Opcode::kScatter:
      return Elements(instruction.operand(instruction.operand_count() - 1)->shape()) *
             OperationsOf(*instruction.called(0));
    case Opcode::kFft:
      return 5 * Elements(shape) * std::log2(std::max(length, 1.0));
    case Opcode::kCholesky:
      return Elements(shape) * length / 3;
    case Opcode::kTriangularSolve:
      return Elements(shape) * length;
    case Opcode::kBatchNormInference:
      return 4 * Elements(instruction.operand(0)->shape());
    case Opcode::kBatchNormTraining:
      return 7 * Elements(instruction.operand(0)->shape());
    case Opcode::kBatchNormGrad:
      return 11 * Elements(instruction.operand(0)->shape());
    default:
      return IsElementwise(instruction.opcode()) ? Elements(shape) : 0;
  }
}

Result<CountedRun> RunAndCount(const Module& module, std::span<const Literal* const> arguments,
                               EvaluateOptions options) {
  CountedRun counted;
  // Asked before each instruction, in nested computations too; the reference goes on by itself.
  options.replace = [&](const Instruction& instruction,
                        std::span<const Literal* const>) -> std::optional<Result<Literal>> {
    counted.flop += FlopOf(instruction);
    return std::nullopt;
  };
  const auto start = std::chrono::steady_clock::now();
  VXLA_RETURN_IF_ERROR(Evaluate(module, arguments, options).status());
  counted.ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return counted;
}

}  // namespace VXLA_NAMESPACE
