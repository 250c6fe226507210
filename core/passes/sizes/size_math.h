// Live sizes as instructions: s32 scalars that fold where they are known, and the checks between them.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/passes/base/expansion.h"

namespace VXLA_NAMESPACE {

// An array at its bounds, and by dimension how much of it lives; null: all, and no program can say otherwise.
struct PaddedArray {
  Instruction* array = nullptr;
  std::vector<Instruction*> sizes;
};

// The first check of a computation that failed: its number from 1 on, or 0, and two sizes. Null: nothing was checked.
struct SizeFault {
  Instruction *number = nullptr, *first = nullptr, *second = nullptr;
};

// What the instructions of one computation share.
struct SizeContext {
  Module& module;
  std::vector<std::string>& messages;
  bool may_fail = true;  // a loop's condition has no way to tell
  bool refused = false;  // a check was wanted where there is none
  SizeFault fault = {};
  std::map<std::tuple<Opcode, Instruction*, Instruction*>, Instruction*> known = {};
  std::map<int64_t, Instruction*> constants = {};
  std::unordered_map<const Instruction*, int64_t> limits = {};  // of sizes: at least 0, at most this
};

class SizeMath : protected Expansion {
 public:
  SizeMath(SizeContext& context, Computation& computation, Instruction* instruction)
      : Expansion(computation, instruction), context_(context) {}

  Instruction* Number(int64_t value);
  static bool IsNumber(const Instruction* size);
  static bool IsNumber(const Instruction* size, int64_t value);

  Instruction* Sum(Instruction* a, Instruction* b) { return Joined(Opcode::kAdd, a, b); }
  Instruction* Difference(Instruction* a, Instruction* b) { return Joined(Opcode::kSubtract, a, b); }
  Instruction* Product(Instruction* a, Instruction* b) { return Joined(Opcode::kMultiply, a, b); }
  // Of numbers from 0 on; a divisor of 0 counts as 1.
  Instruction* Quotient(Instruction* a, Instruction* b) { return Joined(Opcode::kDivide, a, Most(b, Number(1))); }
  Instruction* Remainder(Instruction* a, Instruction* b) { return Joined(Opcode::kRemainder, a, Most(b, Number(1))); }
  Instruction* Least(Instruction* a, Instruction* b) { return Joined(Opcode::kMinimum, a, b); }
  Instruction* Most(Instruction* a, Instruction* b) { return Joined(Opcode::kMaximum, a, b); }
  // Pred: a is more than b.
  Instruction* Chosen(ComparisonDirection direction, Instruction* a, Instruction* b, Instruction* yes, Instruction* no);

  Instruction* IfLess(Instruction* a, Instruction* b, Instruction* yes, Instruction* no) {
    return Chosen(ComparisonDirection::kLt, a, b, yes, no);
  }

  // The live size of a dimension, its bound where it is static.
  Instruction* SizeOf(const PaddedArray& value, int64_t dimension);
  static bool Lives(const PaddedArray& value, int64_t dimension);  // in part, as far as is known
  void NoteLimit(const Instruction* size, int64_t bound);

  // Fails with the message, {0} and {1} in it replaced by the two sizes, where `a direction b` does not hold.
  void Require(ComparisonDirection direction, Instruction* a, Instruction* b, std::string message, Instruction* first,
               Instruction* second);
  void RequireEqual(Instruction* a, Instruction* b, std::string message, Instruction* first, Instruction* second) {
    Require(ComparisonDirection::kEq, a, b, std::move(message), first, second);
  }
  void RequireEqual(Instruction* a, Instruction* b, std::string message) {
    RequireEqual(a, b, std::move(message), a, b);
  }
  void RequireWithin(Instruction* size, int64_t bound, const std::string& message);
  // A fault of something that ran after what is known so far.
  void Merge(const SizeFault& later);

  // pred[sizes]: whether all of an element's coordinates are below these sizes (null: whatever they are).
  Instruction* LiveMask(const IntList& bounds, const std::vector<Instruction*>& sizes);
  // The array with another value wherever an index along one of `dimensions` is not live.
  Instruction* Masked(const PaddedArray& value, const IntList& dimensions, Instruction* scalar);

  using Expansion::Select;
  // An element of the array at each of s32[...] row-major positions.
  Instruction* At(Instruction* array, Instruction* positions);

 protected:
  SizeContext& context_;

 private:
  Instruction* Joined(Opcode opcode, Instruction* a, Instruction* b);
  Instruction* Simplified(Opcode opcode, Instruction* a, Instruction* b);
};

// Without dynamic flags and layouts.
Shape AtBounds(const Shape& shape);

}  // namespace VXLA_NAMESPACE
