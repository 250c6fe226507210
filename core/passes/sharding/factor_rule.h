// Which dimensions of an operation's operands and results go together, as Shardy's documents have it: each is a product
// of factors, and a factor may be divided among devices in all arrays at once.
#pragma once

#include <optional>
#include <vector>

#include "core/instruction.h"

namespace VXLA_NAMESPACE {

struct FactorRule {
  struct Factor {
    int64_t size = 1;
    bool is_reduced = false;  // no result has it: devices have addends of the results, or what else `joins` joins
    bool has_halo = false;    // windows reach over the edges of tiles, into
    int64_t least = 1;        // the next ones only: each device has at least as much
    bool is_whole = false;    // each device has all of it
    bool is_indexed = false;  // of these, the rows that a gather takes: a device has those of its tile
    bool is_shifted = false;  // elements lie at other places of the result: ShiftOf
    bool may_pad = false;     // alone in each of its dimensions, of which the last tiles may be filled up
  };
  // By dimension, its factors, major to minor. None: the operation needs the dimension whole.
  using ArrayFactors = std::vector<std::vector<int>>;
  std::vector<Factor> factors;
  std::vector<ArrayFactors> operands, results;  // results: by leaf
  Opcode joins = Opcode::kAdd;
  bool is_elementwise = false;  // results have the factors of each operand that is no scalar

  int AddFactor(int64_t size, bool is_reduced = false) {
    factors.push_back({size, is_reduced});
    return static_cast<int>(factors.size()) - 1;
  }
};

// Nothing: the operation needs all of its operands whole. Bounded dynamic dimensions are never divided.
std::optional<FactorRule> RuleOf(const Instruction& instruction);

// Of a factor that is_shifted: element j of the result is element j * stride - low of the operand.
struct DimensionShift {
  int64_t low = 0, stride = 1;
};
DimensionShift ShiftOf(const Instruction& instruction, size_t operand, int dimension);

// Of a factor that has_halo: how many elements of the next tile windows reach. Of the one before it is pad_low.
int64_t HighHalo(const WindowDimension& window);

// Of an instruction that has a rule: its attributes where operands and results are tiles.
Attributes TileAttributes(const Instruction& instruction, const std::vector<Shape>& operands, const Shape& result);

}  // namespace VXLA_NAMESPACE
