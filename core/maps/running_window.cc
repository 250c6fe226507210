#include "core/maps/running_window.h"

#include "core/numerics/reducer_facts.h"
#include "core/numerics/reducer_identity.h"

namespace VXLA_NAMESPACE {
namespace {

// Shorter windows are kernels that write every tap out.
constexpr int64_t kShortest = 16;

std::optional<RunningWindow> RunningByItsWindow(const Instruction& i) {
  const Window& window = i.attributes<WindowAttributes>().window;
  const Shape& shape = i.operand(0)->shape();
  std::optional<RunningWindow> running;
  for (int d = 0; d < shape.rank(); ++d) {
    const WindowDimension& w = window[d];
    if (w == WindowDimension{}) continue;
    const bool forward = w.pad_low == w.size - 1 && w.pad_high == 0,
               reverse = w.pad_high == w.size - 1 && w.pad_low == 0;
    const bool plain = w.stride == 1 && w.lhs_dilate == 1 && w.rhs_dilate == 1 && !w.reversal;
    const int64_t size = shape.dimension(d);
    if (running || !plain || forward == reverse || size < kShortest || w.size < size) return std::nullopt;
    running = RunningWindow{d, reverse};
  }
  return running;
}

bool IsIdempotent(std::optional<Opcode> operation) {
  return operation == Opcode::kMaximum || operation == Opcode::kMinimum || operation == Opcode::kAnd ||
         operation == Opcode::kOr;
}

}  // namespace

bool MayBeGrouped(const Instruction& window) {
  const Computation& reducer = *window.called(0);
  if (IsIdempotent(SingleOperation(reducer))) return true;
  std::vector<const Literal*> initial_values;
  for (int i = window.operand_count() / 2; i < window.operand_count(); ++i) {
    initial_values.push_back(window.operand(i)->known_literal());
    if (initial_values.back() == nullptr) return false;
  }
  return IsIdentityOf(reducer, initial_values) && OrderOf(reducer) != CombinerOrder::kInOrder;
}

std::optional<RunningWindow> RunningWindowOf(const Instruction& i) {
  if (i.opcode() != Opcode::kReduceWindow || i.shape().IsDynamic()) return std::nullopt;
  if (i.operand(0)->shape().ElementCount() == 0) return std::nullopt;
  const std::optional<RunningWindow> running = RunningByItsWindow(i);
  return running && MayBeGrouped(i) ? running : std::nullopt;
}

}  // namespace VXLA_NAMESPACE
