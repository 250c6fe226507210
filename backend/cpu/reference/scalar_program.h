// ScalarProgram: a computation of scalars (a reducer, a comparator, a map) compiled to a list of block ops, so that it
// runs on up to kBlockSize elements at a time and costs no Literal per element. Calls and fusions are inlined; an op
// that is not element-wise runs on the evaluator, lane by lane.
#pragma once

#include <vector>

#include "backend/cpu/reference/arithmetic/block.h"
#include "backend/cpu/reference/arithmetic/block_ops.h"
#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

class ScalarProgram {
 public:
  struct Step {
    BlockOp run;
    ElementType type;          // of the result, for the rounding after the op
    bool rounds = true;        // false where the op's results are exact in the type
    std::vector<int> inputs;   // registers
    std::vector<int> outputs;  // one, but for an op that runs on the evaluator
    const Instruction* source = nullptr;
    bool general = false;  // `source` is evaluated lane by lane; there is no `run`
  };

  // kEach: every op rounds to its type, as written. kWide: float ops other than conversions keep double, for reducers
  // whose accumulator must not lose a bit a step.
  enum class Rounding : uint8_t { kEach, kWide };
  // Parameters and results are flattened depth first; each leaf has one element.
  static Result<ScalarProgram> Compile(const Computation& computation, Rounding rounding = Rounding::kEach);

  const std::vector<int>& inputs() const { return inputs_; }  // registers by flattened parameter
  const std::vector<int>& outputs() const { return outputs_; }
  const std::vector<ElementType>& input_types() const { return input_types_; }
  const std::vector<Step>& steps() const { return steps_; }

  // The one op of a computation op(parameter 0, parameter 1), in either order if the op commutes; else nullptr.
  const Instruction* single_op() const { return single_op_; }

  // The registers of one thread. Write the inputs, Run, read the outputs (which may be an input's register).
  class Frame {
   public:
    explicit Frame(const ScalarProgram& program);
    void* input(int i) { return registers_[program_->inputs_[i]].bytes; }
    void* output(int i) { return registers_[program_->outputs_[i]].bytes; }
    void* reg(int i) { return registers_[i].bytes; }
    void Run(int64_t n);
    void RunStep(const Step& step, int64_t n);
    // Run does this; needed before steps that are run on their own.
    void FillConstants(int64_t n);

   private:
    const ScalarProgram* program_;
    std::vector<Block> registers_;
    int64_t splat_ = 0;  // lanes of the constants that are filled
  };

 private:
  friend class ScalarCompiler;
  std::vector<Step> steps_;
  std::vector<int> inputs_, outputs_;
  std::vector<ElementType> input_types_;
  std::vector<std::pair<int, const Literal*>> constants_;
  int register_count_ = 0;
  const Instruction* single_op_ = nullptr;
};

}  // namespace VXLA_NAMESPACE
