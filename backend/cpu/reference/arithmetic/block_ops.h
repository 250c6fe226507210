// BlockOp: the loop of one element-wise op over blocks of carriers. One MakeX per ELEMENTWISE row of core/ir/opcode.def.
#pragma once

#include <functional>

#include "backend/cpu/reference/arithmetic/block.h"
#include "core/ir/instruction.h"

namespace VXLA_NAMESPACE {

// in: a carrier array per operand; out: carriers of the result type, not yet wrapped or rounded to it. out may be one
// of the inputs only if the carriers have the same size.
using BlockOp = std::function<void(const void* const* in, void* out, int64_t n)>;

#define ELEMENTWISE(Name, ...) Result<BlockOp> Make##Name(const Instruction& instruction);
// clang-format off
#include "core/ir/opcode_rows.h"
#include "core/ir/opcode.def"
#include "core/ir/opcode_rows_end.h"
// clang-format on

// By the instruction's opcode, which must be element-wise.
Result<BlockOp> MakeBlockOp(const Instruction& instruction);

inline ElementType OperandType(const Instruction& instruction, int i = 0) {
  return instruction.operand(i)->shape().element_type();
}

// "exponential e.1: not defined for s32"
inline Status UndefinedFor(const Instruction& instruction) {
  return Unsupported("{} {}: not defined for {}", OpcodeText(instruction.opcode()), instruction.name(),
                     ElementTypeName(OperandType(instruction)));
}

// Loops over carriers. R is the result's carrier.
template <typename T, typename R = T, typename F>
BlockOp UnaryLoop(F f) {
  return [f](const void* const* in, void* out, int64_t n) {
    const T* a = static_cast<const T*>(in[0]);
    R* r = static_cast<R*>(out);
    for (int64_t i = 0; i < n; ++i) r[i] = static_cast<R>(f(a[i]));
  };
}
template <typename T, typename R = T, typename F>
BlockOp BinaryLoop(F f) {
  return [f](const void* const* in, void* out, int64_t n) {
    const T* a = static_cast<const T*>(in[0]);
    const T* b = static_cast<const T*>(in[1]);
    R* r = static_cast<R*>(out);
    for (int64_t i = 0; i < n; ++i) r[i] = static_cast<R>(f(a[i], b[i]));
  };
}

}  // namespace VXLA_NAMESPACE
