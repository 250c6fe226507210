// Parameters, constants, tuples, calls, fusions, map, conditional and while.
#include "core/passes/base/control_flow.h"

#include <algorithm>

#include "backend/cpu/reference/scalar_program.h"
#include "backend/cpu/reference/eval.h"

namespace VXLA_NAMESPACE {
namespace {

bool ReadPred(const Value& value) { return value.literal().GetInt(0) != 0; }

}  // namespace

// Parameters are bound by EvalContext::Run; one that is evaluated alone has no value.
EvalResult EvalParameter(EvalContext&, const Instruction& instruction, std::span<Value>) {
  return InvalidArgument("parameter {}: a parameter has no value outside of its computation", instruction.name());
}

EvalResult EvalConstant(EvalContext&, const Instruction& instruction, std::span<Value>) {
  if (instruction.attributes<ConstantAttributes>().literal == nullptr) {
    return InvalidArgument("constant {}: its value was elided as {{...}} in the text", instruction.name());
  }
  return Value::Borrow(instruction.literal());
}

EvalResult EvalTuple(EvalContext&, const Instruction&, std::span<Value> operands) {
  return Value::Tuple({std::make_move_iterator(operands.begin()), std::make_move_iterator(operands.end())});
}

EvalResult EvalGetTupleElement(EvalContext&, const Instruction& instruction, std::span<Value> operands) {
  const int64_t index = instruction.attributes<GetTupleElementAttributes>().index;
  if (index < 0 || index >= static_cast<int64_t>(operands[0].elements().size())) {
    return InvalidArgument("get-tuple-element: index {} of a tuple of {}", index, operands[0].elements().size());
  }
  return std::move(operands[0].elements()[static_cast<size_t>(index)]);
}

EvalResult EvalOptimizationBarrier(EvalContext&, const Instruction&, std::span<Value> operands) {
  return std::move(operands[0]);
}

EvalResult EvalFusion(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  return context.Run(*instruction.called(0), operands);
}

EvalResult EvalCall(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  return context.Run(*instruction.called(0), operands);
}

EvalResult EvalConditional(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  const int branch = BranchOf(operands[0].literal(), std::ssize(instruction.called()));
  return context.Run(*instruction.called(static_cast<int>(branch)),
                     operands.subspan(static_cast<size_t>(branch) + 1, 1));
}

EvalResult EvalWhile(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  const int64_t limit = context.options().max_loop_iterations;
  Value state = std::move(operands[0]);
  for (int64_t iteration = 0;; ++iteration) {
    Value seen = state;  // shares the arrays
    VXLA_ASSIGN_OR_RETURN(Value go_on, context.Run(*instruction.called(0), {&seen, 1}));
    seen = Value();
    if (!ReadPred(go_on)) return state;
    if (limit >= 0 && iteration >= limit) {
      return Mismatch("while: iteration limit {} reached by {}", limit, instruction.name());
    }
    VXLA_ASSIGN_OR_RETURN(state, context.Run(*instruction.called(1), {&state, 1}));
  }
}

EvalResult EvalMap(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  VXLA_ASSIGN_OR_RETURN(ScalarProgram program, ScalarProgram::Compile(*instruction.called(0)));
  Literal result = Literal::Uninitialized(instruction.shape());
  const int64_t count = result.element_count();
  context.For(count, 16 * kBlockSize, [&](int64_t begin, int64_t end) {
    ScalarProgram::Frame frame(program);
    for (int64_t at = begin; at < end; at += kBlockSize) {
      const int64_t n = std::min<int64_t>(kBlockSize, end - at);
      for (size_t k = 0; k < operands.size(); ++k) {
        LoadBlock(operands[k].literal(), at, n, frame.input(static_cast<int>(k)));
      }
      frame.Run(n);
      StoreBlock(frame.output(0), n, result, at);
    }
  });
  return result;
}

}  // namespace VXLA_NAMESPACE
