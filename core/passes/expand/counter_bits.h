// CounterBits: what random bits are made of, integer operations over counters.
#pragma once

#include <array>
#include <map>
#include <string>
#include <utility>

#include "core/passes/base/expansion.h"

namespace VXLA_NAMESPACE {

class CounterBits : protected Expansion {
 protected:
  using Expansion::Expansion;

  static Shape WithType(const Instruction* value, ElementType type) { return Shape(type, SizesOf(value->shape())); }

  // One number, as large as `like`.
  Instruction* Number(uint64_t value, const Instruction* like) {
    const Shape shape = WithType(like, like->shape().element_type());
    Instruction*& constant = constants_[{value, shape.ToString()}];
    if (constant == nullptr) {
      constant =
          Spread(Constant(Literal::ScalarInt(shape.element_type(), static_cast<int64_t>(value))), SizesOf(shape));
    }
    return constant;
  }
  Instruction* Times(Instruction* a, uint64_t b) { return Binary(Opcode::kMultiply, a, Number(b, a)); }
  Instruction* TimesHigh(Instruction* a, uint64_t b) { return Binary(Opcode::kMulhi, a, Number(b, a)); }
  Instruction* Left(Instruction* a, int by) { return Binary(Opcode::kShiftLeft, a, Number(by, a)); }
  Instruction* Right(Instruction* a, int by) { return Binary(Opcode::kShiftRightLogical, a, Number(by, a)); }
  Instruction* Rotated(Instruction* a, int by) { return Or(Left(a, by), Right(a, 32 - by)); }
  Instruction* Low(Instruction* a) { return Converted(a, ElementType::kU32); }  // of u64, modulo 2^32
  Instruction* High(Instruction* a) { return Converted(Right(a, 32), ElementType::kU32); }
  Instruction* Joined(Instruction* low, Instruction* high) {
    return Or(Converted(low, ElementType::kU64), Left(Converted(high, ElementType::kU64), 32));
  }

  // Philox4x32 of 10 rounds: the counter's words, low first, and the key's.
  std::array<Instruction*, 4> PhiloxRounds(std::array<Instruction*, 4> x, Instruction* key0, Instruction* key1) {
    for (int round = 0; round < 10; ++round) {
      constexpr uint64_t kFirst = 0xD2511F53, kSecond = 0xCD9E8D57;
      x = {Xor(Xor(TimesHigh(x[2], kSecond), x[1]), key0), Times(x[2], kSecond),
           Xor(Xor(TimesHigh(x[0], kFirst), x[3]), key1), Times(x[0], kFirst)};
      key0 = Plus(key0, Number(0x9E3779B9, key0));
      key1 = Plus(key1, Number(0xBB67AE85, key1));
    }
    return x;
  }

 private:
  std::map<std::pair<uint64_t, std::string>, Instruction*> constants_;
};

}  // namespace VXLA_NAMESPACE
