#include "core/passes/chain_separation.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/passes/attention.h"
#include "core/passes/product_chain.h"

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
      behind |=
          operand == 1 && (instruction->opcode() == Opcode::kDivide || instruction->opcode() == Opcode::kSubtract);
    }
  }
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
  ChainSeparator(Computation& entry, const TargetInfo& target) : entry_(entry), target_(target) {
    for (const auto& i : entry.instructions()) order_.push_back(i.get());
  }

  void Run() {
    FindKernels();
    while (DropOpenKernels()) {
    }
    for (const ChainKernel& kernel : kernels_) {
      const auto is_shared = [&](const Instruction* i) { return computed_by_.at(i) > 1; };
      if (!kernel.attention && std::ranges::any_of(kernel.computes, is_shared)) GiveCopies(kernel);
    }
    for (const ChainKernel& kernel : kernels_) {
      if (kernel.attention) OwnPassives(kernel);
    }
    entry_.RemoveDead();
    entry_.SortTopologically();
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
      return std::ranges::any_of(kernels_, [&](const ChainKernel& kernel) { return ReadsOwn(kernel, user, i); }) &&
             (!all || std::ranges::none_of(kernels_, [&](const ChainKernel& kernel) {
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
    auto copy = std::make_unique<Instruction>(i->opcode(), i->shape(), std::move(operands), i->attributes(),
                                              std::vector<Computation*>(i->called().begin(), i->called().end()));
    copy->set_name(i->name());
    copy->set_location(i->location());
    copy->mutable_common() = i->common();
    return entry_.InsertBefore(i, std::move(copy));
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
    for (const ChainSum& sum : kernel.sums) {
      auto* hero = const_cast<Instruction*>(sum.hero);
      hero->ReplaceOperand(sum.chained, OwnValue(kernel.computes, hero->operand(sum.chained), copies));
    }
  }

  // Others that read a statistic of an attention keep what spreads it; the attention spreads it for itself.
  void OwnPassives(const ChainKernel& kernel) {
    InstructionMap copies;
    for (const Instruction* member : kernel.computes) {
      auto* user = const_cast<Instruction*>(member);
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
  std::unordered_map<const Instruction*, int> computed_by_;
};

}  // namespace

void SeparateChains(Computation& entry, const TargetInfo& target) {
  if (target.attention_min_scores == INT64_MAX || !target.fusion) return;
  ChainSeparator(entry, target).Run();
}

}  // namespace VXLA_NAMESPACE
