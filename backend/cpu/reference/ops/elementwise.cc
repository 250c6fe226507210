// Element-wise ops over whole arrays: blocks through the op's loop, with direct loops for the commonest ones.
#include <algorithm>
#include <array>
#include <optional>

#include "backend/cpu/reference/arithmetic/block_ops.h"
#include "backend/cpu/reference/eval.h"

namespace VXLA_NAMESPACE {
namespace {

constexpr int64_t kGrain = 32 * kBlockSize;

template <typename T, typename F>
void DirectLoop(const EvalContext& context, const Literal& a, const Literal& b, Literal& result, F f) {
  const T* x = a.data<T>().data();
  const T* y = b.data<T>().data();
  T* r = result.mutable_data<T>().data();
  context.For(result.element_count(), 1 << 17, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) r[i] = f(x[i], y[i]);
  });
}

// One IEEE operation in float equals the same in double rounded to float; integers wrap.
template <typename T>
bool DirectArithmetic(const EvalContext& context, Opcode opcode, const Literal& a, const Literal& b, Literal& result) {
  switch (opcode) {
    case Opcode::kAdd:
      DirectLoop<T>(context, a, b, result, [](T x, T y) { return x + y; });
      return true;
    case Opcode::kSubtract:
      DirectLoop<T>(context, a, b, result, [](T x, T y) { return x - y; });
      return true;
    case Opcode::kMultiply:
      DirectLoop<T>(context, a, b, result, [](T x, T y) { return x * y; });
      return true;
    default:
      return false;
  }
}

bool DirectBinary(const EvalContext& context, Opcode opcode, const Literal& a, const Literal& b, Literal& result) {
  switch (result.shape().element_type()) {
    case ElementType::kF32:
      return DirectArithmetic<float>(context, opcode, a, b, result);
    case ElementType::kF64:
      return DirectArithmetic<double>(context, opcode, a, b, result);
    case ElementType::kS32:
    case ElementType::kU32:
      return DirectArithmetic<uint32_t>(context, opcode, a, b, result);
    case ElementType::kS64:
    case ElementType::kU64:
      return DirectArithmetic<uint64_t>(context, opcode, a, b, result);
    default:
      return false;
  }
}

// An operand whose storage the result can take over: unique, of the result's shape, read only at the place written.
Value* ReusableOperand(const Instruction& instruction, std::span<Value> operands) {
  for (Value& operand : operands) {
    if (operand.IsUnique() && operand.shape() == instruction.shape()) return &operand;
  }
  return nullptr;
}

bool IsSplat(const Value& operand, int64_t count) { return operand.literal().element_count() == 1 && count != 1; }

void RunBlocks(const EvalContext& context, const BlockOp& op, std::span<const Literal* const> operands,
               Literal& result) {
  const int64_t count = result.element_count();
  context.For(count, kGrain, [&](int64_t begin, int64_t end) {
    Block blocks[3], target;
    const void* in[3] = {blocks[0].bytes, blocks[1].bytes, blocks[2].bytes};
    for (size_t k = 0; k < operands.size(); ++k) {
      if (operands[k]->element_count() != count) LoadSplat(*operands[k], 0, kBlockSize, blocks[k].bytes);
    }
    for (int64_t at = begin; at < end; at += kBlockSize) {
      const int64_t n = std::min<int64_t>(kBlockSize, end - at);
      for (size_t k = 0; k < operands.size(); ++k) {
        if (operands[k]->element_count() == count) LoadBlock(*operands[k], at, n, blocks[k].bytes);
      }
      op(in, target.bytes, n);
      StoreBlock(target.bytes, n, result, at);
    }
  });
}

template <typename T>
void SelectRaw(const uint8_t* which, const std::byte* a, const std::byte* b, std::byte* out, int64_t begin,
               int64_t end) {
  const T* x = reinterpret_cast<const T*>(a);
  const T* y = reinterpret_cast<const T*>(b);
  T* r = reinterpret_cast<T*>(out);
  for (int64_t i = begin; i < end; ++i) r[i] = which[i] ? x[i] : y[i];
}

// On storage, not carriers: select moves bits, and a signalling NaN would not survive the widening.
Literal SelectBytes(const EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  Literal result = Literal::Uninitialized(instruction.shape());
  const uint8_t* which = operands[0].literal().data<uint8_t>().data();
  const std::byte* a = operands[1].literal().bytes().data();
  const std::byte* b = operands[2].literal().bytes().data();
  std::byte* out = result.mutable_bytes().data();
  const int size = StorageBytes(instruction.shape().element_type());
  context.For(result.element_count(), kGrain, [=](int64_t begin, int64_t end) {
    switch (size) {
      case 1:
        return SelectRaw<uint8_t>(which, a, b, out, begin, end);
      case 2:
        return SelectRaw<uint16_t>(which, a, b, out, begin, end);
      case 4:
        return SelectRaw<uint32_t>(which, a, b, out, begin, end);
      case 8:
        return SelectRaw<uint64_t>(which, a, b, out, begin, end);
      default:
        return SelectRaw<std::array<uint64_t, 2>>(which, a, b, out, begin, end);
    }
  });
  return result;
}

EvalResult SelectBits(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  const int64_t count = instruction.shape().ElementCount();
  for (size_t k = 1; k < 3; ++k) {
    if (operands[k].literal().element_count() != count) {
      return InvalidArgument("select: operand {} is {}, the result {}", k, operands[k].shape().ToString(),
                             instruction.shape().ToString());
    }
  }
  if (operands[0].literal().element_count() == count) return SelectBytes(context, instruction, operands);
  Value& chosen = operands[operands[0].literal().GetInt(0) != 0 ? 1 : 2];
  if (chosen.shape().layout() == instruction.shape().layout()) return std::move(chosen);
  return std::move(chosen).Take().Reshaped(instruction.shape());
}

EvalResult EvalElementwise(EvalContext& context, const Instruction& instruction, std::span<Value> operands,
                           const Result<BlockOp>& op) {
  if (!op.ok()) return op.status();
  if (instruction.opcode() == Opcode::kSelect) return SelectBits(context, instruction, operands);
  const int64_t count = instruction.shape().ElementCount();
  for (size_t k = 0; k < operands.size(); ++k) {
    if (operands[k].literal().element_count() != count && !IsSplat(operands[k], count)) {
      return InvalidArgument("{}: operand {} is {}, the result {}", OpcodeText(instruction.opcode()), k,
                             operands[k].shape().ToString(), instruction.shape().ToString());
    }
  }
  std::vector<const Literal*> literals;
  for (const Value& operand : operands) literals.push_back(&operand.literal());
  // Blocks are loaded whole before they are stored, and the direct loops read what they write only at the same index.
  std::optional<Literal> reused;
  size_t reused_index = 0;
  if (Value* operand = ReusableOperand(instruction, operands)) {
    reused_index = static_cast<size_t>(operand - operands.data());
    reused = std::move(*operand).Take();
  }
  Literal result = reused ? std::move(*reused) : Literal::Uninitialized(instruction.shape());
  if (reused) {
    if (result.shape().layout() != instruction.shape().layout())
      result = std::move(result).Reshaped(instruction.shape());
    literals[reused_index] = &result;
  }
  if (literals.size() != 2 || literals[0]->element_count() != literals[1]->element_count() ||
      !DirectBinary(context, instruction.opcode(), *literals[0], *literals[1], result)) {
    RunBlocks(context, *op, literals, result);
  }
  return result;
}

}  // namespace

#define ELEMENTWISE(Name, ...)                                                                             \
  EvalResult Eval##Name(EvalContext& context, const Instruction& instruction, std::span<Value> operands) { \
    return EvalElementwise(context, instruction, operands, MakeBlockOp(instruction));                      \
  }
// clang-format off
#include "core/ir/opcode_rows.h"
#include "core/ir/opcode.def"
#include "core/ir/opcode_rows_end.h"
// clang-format on

}  // namespace VXLA_NAMESPACE
