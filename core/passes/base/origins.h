// Origins: where the leaves of a value come from, once tuples, barriers and same-bytes ops are looked through.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "core/ir/instruction.h"

namespace VXLA_NAMESPACE {

struct LeafOrigin {
  const Instruction* instruction = nullptr;
  int leaf = 0;
  friend bool operator==(const LeafOrigin&, const LeafOrigin&) = default;
};

// Asking for every leaf of a module's values takes time that grows with their number: what is found is kept. The values
// that were asked for must not change.
class Origins {
 public:
  LeafOrigin Of(const Instruction& instruction, int leaf);

 private:
  std::span<const LeafOrigin> Leaves(const Instruction& instruction);
  // By element of a tuple the number of its first leaf, and the number of leaves at the end.
  const std::vector<int>& StartsOf(const Instruction& instruction);

  std::unordered_map<const Instruction*, std::vector<LeafOrigin>> leaves_;
  std::unordered_map<const Instruction*, std::vector<int>> starts_;
};

// The number of leaves of a shape, and of those before the part that an index names ({1,0}; the shape has it).
int LeafCount(const Shape& shape);
int FirstLeafAt(const Shape& shape, std::span<const int64_t> index);
// Whether the result is its operand's bytes under another shape. Sub-byte types are left out: their upper bits are not
// free.
bool IsSameBytes(const Instruction& instruction);
// The result is nothing but its operands' memory.
bool HandsOn(const Instruction& instruction);
// Values of two shapes lie in device memory alike: with the same live sizes behind them.
bool SameFlags(const Shape& a, const Shape& b);

}  // namespace VXLA_NAMESPACE
