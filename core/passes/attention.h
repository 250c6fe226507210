// Attention: softmax(f(queries x keys)) x values, found by its structure whatever the layouts: which instructions make
// one up, and where each of them is read for a row of queries and a key. The scores f may scale, mask and bias as they
// like, element by element.
#pragma once

#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/index_map.h"
#include "core/instruction.h"

namespace VXLA_NAMESPACE {

// From an instruction to one that it is made of: which operand leads there, at each link.
using OperandPath = std::vector<std::pair<const Instruction*, int>>;

// A comparison of places that hides keys from rows: once false for a row and a key, it is so for every later key and
// every earlier row. The logits of hidden keys are all `hidden`.
struct CausalMask {
  const Instruction* compare = nullptr;
  OperandPath path;  // from the logits
  double hidden = 0;
};

struct Attention {
  const Instruction* product = nullptr;  // weights x values, the hero
  const Instruction* exponential = nullptr;
  const Instruction* logits = nullptr;  // what softmax is taken of
  const Instruction* scores = nullptr;  // queries x keys
  int weights = 0, queries = 0;         // which operands of the products
  OperandPath to_exponential, to_logits, to_scores;
  std::vector<const Instruction*> members;  // all but the product: nothing else reads them
  int64_t batches = 1, rows = 1, keys = 1, depth = 1, columns = 1;
  std::optional<CausalMask> causal;
};

// Where things are read for a key of a row: `depth` counts what the scores are summed over, `column` the values' free
// dimensions.
struct AttentionPlace {
  IndexExpression batch, row, key, depth, column;
};
struct AttentionIndices {
  MultiIndex logits, scores, query, key, value;
};
AttentionIndices IndicesOf(const Attention& attention, IndexSpace& space, const AttentionPlace& at);
// Where the causal mask's comparison is read; the attention has one.
MultiIndex CausalIndexOf(const Attention& attention, IndexSpace& space, const AttentionPlace& at);
// The row-major index of a result of the product.
IndexExpression ResultIndex(const Attention& attention, IndexSpace& space, const AttentionPlace& at);

// Transposes, reshapes and conversions behind the product, one after another, that nothing else reads the results of:
// the kernel writes its results where the last transpose puts them.
std::vector<const Instruction*> MovesBehind(const Attention& attention);
// Where a result lies behind them.
MultiIndex IndexBehind(const std::vector<const Instruction*>& moves, IndexSpace& space, MultiIndex index);

// The attention that ends in this dot, if it does.
std::optional<Attention> MatchAttention(const Instruction& product);

}  // namespace VXLA_NAMESPACE
