#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/ir/module_edits.h"
#include "core/passes/base/expansion.h"
#include "core/passes/products/attention.h"
#include "core/passes/products/product_chain.h"
#include "core/passes/products/products.h"

namespace VXLA_NAMESPACE {
namespace {

using InstructionMap = std::unordered_map<const Instruction*, Instruction*>;

// A kernel to be, and what it is made of. `passive`: of an attention, what spreads its statistics over the rows again.
struct ChainKernel {
  std::vector<ChainSum> sums;  // of an attention its product
  std::vector<const Instruction*> members;
  std::unordered_set<const Instruction*> computes, passive;
  bool attention = false;
  const Instruction *largest = nullptr, *total = nullptr;
};

// What was written in another way for the kernel of `hero`: undone where that is none after all.
struct ChainRewrite {
  Instruction *original = nullptr, *replacement = nullptr;
  const Instruction* hero = nullptr;
  bool writes_elements = false;
};

ChainKernel KernelOf(const Attention& a) {
  ChainKernel kernel;
  kernel.attention = true;
  ChainSum& sum = kernel.sums.emplace_back();
  sum.hero = a.product, sum.chained = a.weights, sum.columns = a.columns;
  kernel.members = a.members;
  kernel.largest = a.largest, kernel.total = a.total;
  for (const OperandPath* path : {&a.to_total, &a.to_largest}) {
    bool behind = false;
    for (const auto& [instruction, operand] : *path) {
      if (behind) kernel.passive.insert(instruction);
      behind |= operand == 1 && IsAnyOf(instruction->opcode(), Opcode::kDivide, Opcode::kSubtract);
    }
  }
  kernel.passive.insert(a.guards.begin(), a.guards.end());
  for (const Instruction* i : a.members) {
    if (!kernel.passive.contains(i)) kernel.computes.insert(i);
  }
  return kernel;
}

ChainKernel KernelOf(const ProductChain& chain) {
  ChainKernel kernel;
  kernel.sums = chain.sums;
  kernel.members = chain.members;
  kernel.computes.insert(chain.members.begin(), chain.members.end());
  return kernel;
}

class ChainSeparator {
 public:
  ChainSeparator(Computation& entry, const TargetInfo& target)
      : entry_(entry), target_(target), order_(InstructionList(entry)) {}

  void Run() {
    FindKernels();
    SplitReductions();
    WriteElements();
    do {
      while (DropOpenKernels()) {
      }
    } while (UndoRewrites());
    for (const ChainKernel& kernel : kernels_) {
      const auto is_shared = [&](const Instruction* i) { return computed_by_.at(i) > 1; };
      if (!kernel.attention && std::ranges::any_of(kernel.computes, is_shared)) GiveCopies(kernel);
    }
    for (const ChainKernel& kernel : kernels_) {
      if (kernel.attention) OwnPassives(kernel);
    }
  }

 private:
  void FindKernels() {
    std::unordered_set<const Instruction*> taken;
    for (const Instruction* i : order_) {
      if (i->opcode() != Opcode::kDot) continue;
      const std::optional<Attention> a = MatchAttention(*i, false);
      if (!a || !a->IsWorthwhile(target_) || taken.contains(a->exponential)) continue;
      kernels_.push_back(KernelOf(*a));
      taken.insert({a->product, a->exponential, a->largest, a->total});
    }
    std::vector<ProductChain> chains = FindChains(order_, target_);
    std::erase_if(chains, [&](const ProductChain& chain) { return taken.contains(chain.sums[0].hero); });
    for (const ProductChain& chain : JoinChains(std::move(chains), true)) kernels_.push_back(KernelOf(chain));
  }

  bool SharesMembers(const ProductChain& chain) const {
    return std::ranges::any_of(kernels_, [&](const ChainKernel& kernel) {
      return std::ranges::any_of(chain.members, [&](const Instruction* i) { return kernel.computes.contains(i); });
    });
  }

  // A sum over keys or rows and over more, as the gradient of a bias of each key or of a head's scale, of what other
  // kernels compute: by a kernel over some of its dimensions, as many elements as it can, and a sum of those.
  void SplitReductions() {
    for (Instruction* const i : order_) {
      const bool may = i->opcode() == Opcode::kReduce && i->dimensions().size() > 1 && i->dimensions().size() <= 4 &&
                       i->operand(0)->shape().ElementCount() >= target_.attention_min_scores && !i->HasControlEdges();
      const auto is_sum = [&](const ChainKernel& kernel) {
        return std::ranges::find(kernel.sums, i, &ChainSum::hero) != kernel.sums.end();
      };
      if (may && std::ranges::none_of(kernels_, is_sum) && ReducesProducts(*i)) Split(i);
    }
  }

  void Split(Instruction* reduce) {
    const IntList& dimensions = reduce->dimensions();
    const Shape& shape = reduce->operand(0)->shape();
    IntList best;
    int64_t best_count = 0;
    for (unsigned subset = 1; subset + 1 < 1u << dimensions.size(); ++subset) {
      IntList inner;
      int64_t count = 1;
      for (size_t k = 0; k < dimensions.size(); ++k) {
        if ((subset >> k & 1) != 0) inner.push_back(dimensions[k]), count *= shape.dimension(dimensions[k]);
      }
      if (count <= best_count) continue;
      Instruction* sum = Reduction(reduce, reduce->operand(0), inner);
      const auto chain = MatchChain(*sum, 0);
      if (chain && IsWorthwhile(*chain, target_) && SharesMembers(*chain)) best = inner, best_count = count;
      entry_.Remove(sum);
    }
    if (best.empty()) return;
    Instruction* sum = Reduction(reduce, reduce->operand(0), best);
    IntList outer;
    for (int64_t d = 0, kept = 0; d < shape.rank(); ++d) {
      if (std::ranges::find(sum->dimensions(), d) != sum->dimensions().end()) continue;
      if (std::ranges::find(dimensions, d) != dimensions.end()) outer.push_back(kept);
      ++kept;
    }
    Instruction* all = Reduction(reduce, sum, outer);
    entry_.ReplaceAllUses(reduce, all);
    rewrites_.push_back({reduce, all, sum});
    replaced_.insert(reduce);
    kernels_.push_back(KernelOf(*MatchChain(*sum, 0)));
  }

  // As `reduce` does, of another array, over other dimensions.
  Instruction* Reduction(const Instruction* reduce, Instruction* of, IntList dimensions) {
    IntList kept;
    for (int64_t d = 0; d < of->shape().rank(); ++d) {
      if (std::ranges::find(dimensions, d) == dimensions.end()) kept.push_back(of->shape().dimension(d));
    }
    auto sum = reduce->CloneWith({of, reduce->operand(1)}, Shape(of->shape().element_type(), kept));
    sum->mutable_attributes() = DimensionsAttributes{std::move(dimensions)};
    return entry_.InsertBefore(reduce, std::move(sum));
  }

  // What others read of the elements that kernels compute, as the gradient of a bias of the scores' size, is written by
  // a kernel of its own: a sum over batches of one part each.
  void WriteElements() {
    constexpr int kMostOfAKernel = 2;
    std::unordered_map<const Instruction*, int> computed;
    for (const ChainKernel& kernel : kernels_) {
      for (const Instruction* i : kernel.computes) ++computed[i];
    }
    std::unordered_set<const Instruction*> seen;
    for (const Instruction* i : order_) {
      if (computed.contains(i) && !IsStatistic(i) && !MayHide(i, false)) seen.insert(i);
    }
    for (const ChainKernel& kernel : kernels_) {
      std::vector<const Instruction*> own;
      std::ranges::copy_if(seen, std::back_inserter(own),
                           [&](const Instruction* i) { return kernel.computes.contains(i); });
      if (own.size() > kMostOfAKernel) {
        for (const Instruction* i : own) seen.erase(i);
      }
    }
    for (Instruction* const i : order_) {
      if (seen.contains(i)) WriteElement(i);
    }
  }

  void WriteElement(Instruction* i) {
    const Instruction* like = SumOfType(i->shape().element_type());
    if (like == nullptr || i->HasControlEdges()) return;
    IntList sizes = SizesOf(i->shape());
    sizes.insert(sizes.begin(), 1);
    Instruction* part = Expansion(entry_, i).Reshaped(i, sizes);
    Instruction* sum = Reduction(like, part, {0});
    const auto chain = MatchChain(*sum, 0);
    if (!chain || !chain->sums[0].over_batches() || !IsWorthwhile(*chain, target_)) {
      entry_.Remove(sum);
      entry_.Remove(part);
      return;
    }
    kernels_.push_back(KernelOf(*chain));
    rewrites_.push_back({i, sum, sum, true});
    for (Instruction* user : std::vector<Instruction*>(i->users().begin(), i->users().end())) {
      if (!IsReadByAKernel(user, i)) user->ReplaceOperand(i, sum);
    }
    if (entry_.root() == i) entry_.set_root(sum);
  }

  // One of the kernels' sums, of that type.
  const Instruction* SumOfType(ElementType type) const {
    for (const ChainKernel& kernel : kernels_) {
      for (const Instruction* i : {kernel.total, kernel.sums[0].hero}) {
        if (i != nullptr && i->shape().element_type() == type && IsReductionBy(*i, Opcode::kAdd, 0)) return i;
      }
    }
    return nullptr;
  }

  bool IsReadByAKernel(const Instruction* user, const Instruction* i) const {
    return replaced_.contains(user) ||
           std::ranges::any_of(kernels_, [&](const ChainKernel& kernel) { return ReadsOwn(kernel, user, i); });
  }

  // Those that are no kernel, and those whose elements no other kernel computes. True: there were any.
  bool UndoRewrites() {
    const auto kernel_of = [&](const ChainRewrite& rewrite) {
      return std::ranges::find_if(kernels_,
                                  [&](const ChainKernel& kernel) { return kernel.sums[0].hero == rewrite.hero; });
    };
    const auto is_alone = [&](const ChainKernel& own) {
      return std::ranges::none_of(kernels_, [&](const ChainKernel& kernel) {
        return kernel.sums[0].is_product() && std::ranges::any_of(own.computes, [&](const Instruction* i) {
                 return i->opcode() == Opcode::kExp && kernel.computes.contains(i);
               });
      });
    };
    return std::erase_if(rewrites_, [&](const ChainRewrite& rewrite) {
             const auto kernel = kernel_of(rewrite);
             if (kernel != kernels_.end() && !(rewrite.writes_elements && is_alone(*kernel))) return false;
             if (kernel != kernels_.end()) kernels_.erase(kernel);
             entry_.ReplaceAllUses(rewrite.replacement, rewrite.original);
             replaced_.erase(rewrite.original);
             Instruction* below = rewrite.replacement->operand(0);
             entry_.Remove(rewrite.replacement);
             entry_.Remove(below);
             return true;
           }) > 0;
  }

  // Whether a kernel computes what it reads of `i` here for itself.
  static bool ReadsOwn(const ChainKernel& kernel, const Instruction* user, const Instruction* i) {
    if (!kernel.computes.contains(i)) return false;
    if (kernel.computes.contains(user)) return true;
    const auto sum = std::ranges::find(kernel.sums, user, &ChainSum::hero);
    if (sum == kernel.sums.end() || &sum->weights() != i) return false;
    return !sum->is_product() || user->operand(1 - sum->chained) != i;
  }

  // Every user computes it for itself; `all`: in each kernel that computes the user.
  bool MayHide(const Instruction* i, bool all) const {
    if (i == entry_.root()) return false;
    return std::ranges::all_of(i->users(), [&](const Instruction* user) {
      return IsReadByAKernel(user, i) && (!all || std::ranges::none_of(kernels_, [&](const ChainKernel& kernel) {
               return kernel.computes.contains(user) && !kernel.computes.contains(i);
             }));
    });
  }

  // A kernel that is open by itself goes first: it may be all that another one is open to.
  bool DropOpenKernels() { return DropOpenKernels(false) || DropOpenKernels(true); }
  bool DropOpenKernels(bool all) {
    computed_by_.clear();
    for (const ChainKernel& kernel : kernels_) {
      for (const Instruction* i : kernel.computes) ++computed_by_[i];
    }
    std::unordered_set<const Instruction*> seen;
    for (const auto& [i, count] : computed_by_) {
      if (!IsStatistic(i) && !MayHide(i, all)) seen.insert(i);
    }
    return std::erase_if(kernels_, [&](const ChainKernel& kernel) {
             return std::ranges::any_of(kernel.computes, [&](const Instruction* i) { return seen.contains(i); });
           }) > 0;
  }

  bool IsStatistic(const Instruction* i) const {
    return std::ranges::any_of(kernels_,
                               [&](const ChainKernel& kernel) { return i == kernel.largest || i == kernel.total; });
  }
  Instruction* CopyOf(const Instruction* i, std::vector<Instruction*> operands) {
    return entry_.InsertBefore(i, i->CloneWith(std::move(operands)));
  }

  // The value, made of copies of what `which` holds.
  Instruction* OwnValue(const std::unordered_set<const Instruction*>& which, Instruction* i, InstructionMap& copies) {
    if (const auto known = copies.find(i); known != copies.end()) return known->second;
    if (!which.contains(i)) return copies[i] = i;
    std::vector<Instruction*> operands;
    for (Instruction* operand : i->operands()) operands.push_back(OwnValue(which, operand, copies));
    return copies[i] = CopyOf(i, std::move(operands));
  }

  void GiveCopies(const ChainKernel& kernel) {
    InstructionMap copies;
    const std::vector<Instruction*> all = InstructionList(entry_);  // order_ lacks what SplitReductions made
    for (const ChainSum& sum : kernel.sums) {
      Instruction* const hero = *std::ranges::find(all, sum.hero);
      hero->ReplaceOperand(sum.chained, OwnValue(kernel.computes, hero->operand(sum.chained), copies));
    }
  }

  // Others that read a statistic of an attention keep what spreads it; the attention spreads it for itself.
  void OwnPassives(const ChainKernel& kernel) {
    InstructionMap copies;
    for (Instruction* const user : order_) {  // the set's order is that of pointers
      if (!kernel.computes.contains(user)) continue;
      for (int k = 0; k < user->operand_count(); ++k) {
        if (!kernel.passive.contains(user->operand(k))) continue;
        user->ReplaceOperand(k, OwnValue(kernel.passive, user->operand(k), copies));
      }
    }
  }

  Computation& entry_;
  const TargetInfo& target_;
  std::vector<Instruction*> order_;
  std::vector<ChainKernel> kernels_;
  std::vector<ChainRewrite> rewrites_;
  std::unordered_set<const Instruction*> replaced_;  // sums that nothing reads for now
  std::unordered_map<const Instruction*, int> computed_by_;
};

}  // namespace

bool SeparateChains(Computation& entry, const TargetInfo& target) {
  ChainSeparator(entry, target).Run();
  return true;
}

}  // namespace VXLA_NAMESPACE
