// Which dimensions of an operation's operands and results go together, as Shardy's documents have it: each is a product
// of factors, and a factor may be divided among devices in all arrays at once.
#pragma once

#include <optional>
#include <vector>

#include "core/ir/instruction.h"

namespace VXLA_NAMESPACE {

struct FactorRule {
  struct Factor {
    int64_t size = 1;
    bool is_reduced = false;   // no result has it: devices have addends of the results, or what else `joins` joins
    bool is_whole = false;     // each device has all of it
    bool is_indexed = false;   // of these, the rows that a gather takes: a device has those of its tile
    bool is_shifted = false;   // results are made of elements at other places of the operand: ShiftOf
    bool is_reversed = false;  // results have the elements in the opposite order
    bool may_pad = false;      // alone in each of its dimensions, of which the last tiles may be filled up
    IntList parts{};           // of a shifted one: sizes between the ends of the runs that arrays have of it
  };
  // By dimension, its factors, major to minor. None: the operation needs the dimension whole.
  struct ArrayFactors {
    // The dimension of a slice, or what is joined or padded, as one of the dimension that has all elements.
    struct Run {
      size_t dimension;
      int factor;
      int64_t start = 0, size = 0;
    };
    std::vector<std::vector<int>> dimensions;
    std::vector<Run> runs;

    explicit ArrayFactors(size_t rank) : dimensions(rank) {}
    size_t size() const { return dimensions.size(); }
    std::vector<int>& operator[](size_t d) { return dimensions[d]; }
    const std::vector<int>& operator[](size_t d) const { return dimensions[d]; }
  };
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

// Of a factor that is_shifted: element j of the result is made of `reach` places from j * stride - low on, of which
// each `every` has an element of the operand.
struct DimensionShift {
  int64_t results = 0;
  int64_t low = 0, stride = 1, reach = 1, every = 1;
};
DimensionShift ShiftOf(const Instruction& instruction, size_t operand, int dimension);

// What the device at place p needs of the operand for `results` results: `size` elements from p * step - low on, with
// such padding around their places. Nothing: places of other devices begin between elements.
struct TileSource {
  int64_t step = 0, size = 0, low = 0;
  int64_t pad_low = 0, pad_high = 0;
};
std::optional<TileSource> SourceOf(const DimensionShift& shift, int64_t results);

// Of an instruction that has a rule: its attributes where operands and results are tiles.
Attributes TileAttributes(const Instruction& instruction, const std::vector<Shape>& operands, const Shape& result);

}  // namespace VXLA_NAMESPACE
