// Attention: softmax(f(queries x keys)) x values, found by its structure whatever the layouts: which instructions make
// one up, and where each of them is read for a row of queries and a key. The scores f may scale, mask and bias as they
// like, element by element.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "core/ir/target_info.h"
#include "core/passes/base/element_walk.h"

namespace VXLA_NAMESPACE {

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
  // The softmax's own result. Where `scaled`, what lies between it and the product multiplies each weight by a factor
  // of its own, dropout's.
  const Instruction* quotient = nullptr;
  bool scaled = false;
  // Logits subtract 0 where the largest is infinite, as logsumexp has it: what tells, besides the path to the largest.
  std::vector<const Instruction*> guards;
  int weights = 0, queries = 0;  // which operands of the products
  // Of each row; they may be read elsewhere too, and are results of the kernel then.
  const Instruction *largest = nullptr, *total = nullptr;
  OperandPath to_quotient, to_exponential, to_logits, to_scores;
  OperandPath to_largest, to_total;         // from the exponential, from the weights
  std::vector<const Instruction*> members;  // all but the product: nothing else reads those that are no statistics
  int64_t batches = 1, rows = 1, keys = 1, depth = 1, columns = 1;
  std::optional<CausalMask> causal;

  bool IsWorthwhile(const TargetInfo& target) const {
    if (target.attention_min_scores == INT64_MAX) return false;
    if (keys >= target.attention_long_row) return true;
    return rows >= target.attention_min_rows && batches * rows * keys >= target.attention_min_scores;
  }
};

// Where things are read for a key of a row: `depth` counts what the scores are summed over, `column` the values' free
// dimensions.
struct AttentionPlace {
  enum Variable { kBatch, kRow, kKey, kDepth, kColumn, kCount };
  IndexExpression batch, row, key, depth, column;
};
// The variables of a new space, of these sizes.
AttentionPlace NewAttentionPlace(IndexSpace& space, const std::array<int64_t, AttentionPlace::kCount>& sizes);
struct AttentionIndices {
  MultiIndex logits, scores, query, key, value;
};
AttentionIndices IndicesOf(const Attention& attention, IndexSpace& space, const AttentionPlace& at);
// Where the causal mask's comparison is read; the attention has one.
MultiIndex CausalIndexOf(const Attention& attention, IndexSpace& space, const AttentionPlace& at);
// Where the softmax's result is read; logits are read at `logits` for it.
MultiIndex QuotientIndex(const Attention& attention, IndexSpace& space, const AttentionPlace& at);
// Where the row's largest logit, or its total, lies in their arrays.
MultiIndex StatisticIndex(const Attention& attention, IndexSpace& space, const AttentionPlace& at, bool of_total);
// The row-major index of a result of the product.
IndexExpression ResultIndex(const Attention& attention, IndexSpace& space, const AttentionPlace& at);
// Of a product of so many rows and columns whose left operand has the rows, or the columns.
IndexExpression ResultIndex(IndexSpace& space, const AttentionPlace& at, bool rows_first, int64_t rows,
                            int64_t columns);

// Transposes, reshapes and conversions behind the product, one after another, that nothing else reads the results of:
// the kernel writes its results where the last transpose puts them.
std::vector<const Instruction*> MovesBehind(const Attention& attention);
// The same of any product whose result at `begin` is looked at.
std::vector<const Instruction*> MovesBehind(const Instruction& product, const IndexSpace& space,
                                            const MultiIndex& begin);
// Where a result lies behind them.
MultiIndex IndexBehind(const std::vector<const Instruction*>& moves, IndexSpace& space, MultiIndex index);

// The attention that ends in this dot, if it does. `closed`: and if nothing else reads what it is made of.
std::optional<Attention> MatchAttention(const Instruction& product, bool closed = true);

}  // namespace VXLA_NAMESPACE
