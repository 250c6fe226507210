// Order without values: tokens, domains, and the pairs of starts and dones, whose starts do all of the work.
#include "backend/cpu/reference/eval.h"

namespace VXLA_NAMESPACE {
namespace {

void AppendContexts(const Instruction& instruction, std::vector<Value>& elements) {
  for (size_t i = elements.size(); i < instruction.shape().tuple_elements().size(); ++i) {
    elements.emplace_back(Literal(instruction.shape().tuple_elements()[i]));
  }
}

}  // namespace

EvalResult EvalAfterAll(EvalContext&, const Instruction&, std::span<Value>) { return Literal(Shape::Token()); }

EvalResult EvalAddDependency(EvalContext&, const Instruction&, std::span<Value> operands) {
  return std::move(operands[0]);
}

EvalResult EvalDomain(EvalContext&, const Instruction&, std::span<Value> operands) { return std::move(operands[0]); }

// ((operands), result, contexts ...)
EvalResult EvalAsyncStart(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  std::vector<Value> elements;
  elements.push_back(Value::Tuple({operands.begin(), operands.end()}));
  VXLA_ASSIGN_OR_RETURN(Value result, context.Run(*instruction.called(0), operands));
  elements.push_back(std::move(result));
  AppendContexts(instruction, elements);
  return Value::Tuple(std::move(elements));
}

EvalResult EvalAsyncUpdate(EvalContext&, const Instruction&, std::span<Value> operands) {
  return std::move(operands[0]);
}

EvalResult EvalAsyncDone(EvalContext&, const Instruction&, std::span<Value> operands) {
  return std::move(operands[0].elements()[1]);
}

// (destination, source, context)
EvalResult EvalCopyStart(EvalContext&, const Instruction& instruction, std::span<Value> operands) {
  std::vector<Value> elements{operands[0], operands[0]};
  AppendContexts(instruction, elements);
  return Value::Tuple(std::move(elements));
}

EvalResult EvalCopyDone(EvalContext&, const Instruction&, std::span<Value> operands) {
  return std::move(operands[0].elements()[0]);
}

}  // namespace VXLA_NAMESPACE
