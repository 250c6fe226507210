// Product chains: sums over the keys of a row, a product or a reduction, of what is made element by element of other
// products. What those make, an element for each row and key, never leaves the kernel; each kernel computes it for
// itself. So the gradients of attention become one kernel for the queries and one for keys and values, and a reduction
// of a product's rows needs no array of the product.
#pragma once

#include <optional>
#include <vector>

#include "core/ir/module.h"
#include "core/ir/target_info.h"
#include "core/passes/products/attention.h"

namespace VXLA_NAMESPACE {

// A comparison of places that makes weights nothing where it does not hold. Paths lead from the weights.
struct ChainMask {
  const Instruction* compare = nullptr;
  OperandPath path;
  bool later_keys = false;  // it hides later keys from earlier rows, rather than earlier keys from later rows
  // The factor that is to be nothing then, and what it is made of that has one value wherever the mask hides it. None:
  // the mask itself makes weights zero.
  const Instruction *factor = nullptr, *hidden = nullptr;
  OperandPath to_factor, to_hidden;
  OperandPath to_statistic;  // which the factor depends on besides
  double hidden_value = 0;
};

// What is summed up over the keys of each row.
struct ChainSum {
  const Instruction* hero = nullptr;  // a dot, or a reduction by sum, maximum or minimum
  int chained = 0;                    // which operand of a dot is made of the products
  int64_t columns = 1;                // of a dot: what the other operand's free dimensions count
  std::vector<bool> in_batch;         // of a reduction's result: dimensions that belong to the batch, not to the row
  // A reduction over batches, as the gradient of a bias is: each result belongs to a row and a key, and takes so many
  // batches, neighbours among those of the chain; which dimensions of its result belong to the key.
  int64_t parts = 0;
  std::vector<bool> of_key;
  std::optional<ChainMask> mask;  // of sums
  bool is_product() const { return hero->opcode() == Opcode::kDot; }
  bool over_batches() const { return parts > 0; }
  const Instruction& weights() const { return *hero->operand(chained); }
};

// One of the products that the weights are made of.
struct ChainProduct {
  const Instruction* dot = nullptr;
  OperandPath path;  // from the weights of the chain's first sum
  int rows = 0;      // the operand that belongs to the row; the other belongs to the key
  int64_t depth = 1;
};

struct ProductChain {
  std::vector<ChainSum> sums;  // reductions or products, all of them
  std::vector<ChainProduct> products;
  int64_t batches = 1, rows = 1, keys = 1;
  // What the weights are made of, the products among it.
  std::vector<const Instruction*> members;
};

// Where things are read for a row and a key: the place's depth counts what a product sums over, its column the free
// dimensions of a sum's other operand.
MultiIndex WeightsIndex(const ChainSum& sum, IndexSpace& space, const AttentionPlace& at);
MultiIndex ValueIndex(const ChainSum& sum, IndexSpace& space, const AttentionPlace& at);
// Where a product is read, and its operand.
MultiIndex ScoreIndex(const ProductChain& chain, const ChainProduct& product, IndexSpace& space,
                      const AttentionPlace& at);
MultiIndex TermIndex(const ProductChain& chain, const ChainProduct& product, int operand, IndexSpace& space,
                     const AttentionPlace& at);
// Where the mask's comparison, factor, hidden value and statistic are read.
MultiIndex MaskIndex(const ChainSum& sum, const OperandPath& path, IndexSpace& space, const AttentionPlace& at);
// Whether the sums' masks hide the same keys of the same rows: whole blocks of them may be left out.
bool HidesBlocks(const ProductChain& chain);
// The row-major index of a result.
IndexExpression ResultIndex(const ProductChain& chain, const ChainSum& sum, IndexSpace& space,
                            const AttentionPlace& at);

// What moves a product's result behind it, as MovesBehind (core/passes/products/attention.h).
std::vector<const Instruction*> MovesBehind(const ProductChain& chain, const ChainSum& sum);

// Whether it is one reduction of each row. What follows that element by element is of its kernel too.
bool ReducesRows(const ProductChain& chain);

// The chain that ends in this instruction, if one does; of a dot, in this operand. Others may read its members.
std::optional<ProductChain> MatchChain(const Instruction& hero, int chained);
// Both by one kernel, which computes the products of either once: where they have products in common at the same
// places.
std::optional<ProductChain> JoinChains(const ProductChain& a, const ProductChain& b);
// Whether a product, element by element, is part of what a reduction reads.
bool ReducesProducts(const Instruction& reduce);
// Nothing but the chain's sums, through their weights, reads its members.
bool IsClosed(const ProductChain& chain);
// Worth a kernel of its own: large, with short sums inside, and, if it ends in a product, around an exponential: what
// a product makes of another one without is as fast by two kernels of products.
bool IsWorthwhile(const ProductChain& chain, const TargetInfo& target);
// Of worthwhile chains, those that share members and go together by one kernel, together. `reorder`: the terms of
// products may be brought into another order for it.
std::vector<ProductChain> JoinChains(std::vector<ProductChain> chains, bool reorder);
// All worthwhile ones of these instructions, alone.
std::vector<ProductChain> FindChains(const std::vector<Instruction*>& order, const TargetInfo& target);

}  // namespace VXLA_NAMESPACE
