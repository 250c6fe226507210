#include "backend/vulkan/spirv/forward_stores.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "backend/vulkan/spirv/module.h"

namespace VXLA_NAMESPACE::vulkan::spirv {
namespace {

// Which blocks of a function come before which on every path (A Simple, Fast Dominance Algorithm; Cooper, Harvey and
// Kennedy, 2001).
class Dominators {
 public:
  explicit Dominators(const std::vector<Block>& blocks) : order_(blocks.size(), kNone), parent_(blocks.size(), kNone) {
    std::unordered_map<uint32_t, size_t> at;
    for (size_t b = 0; b < blocks.size(); ++b) at[blocks[b].label] = b;
    std::vector<std::vector<size_t>> after(blocks.size()), before(blocks.size());
    for (size_t b = 0; b < blocks.size(); ++b) {
      Instruction last = blocks[b].body.back();
      VisitLabels(last, [&](uint32_t& label) {
        after[b].push_back(at.at(label));
        before[at.at(label)].push_back(b);
      });
    }
    const std::vector<size_t> finished = Finish(after);
    parent_[0] = 0;
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = finished.size() - 1; i-- > 0;) {  // all but the first block, which finishes last
        const size_t block = finished[i];
        size_t parent = kNone;
        for (size_t each : before[block]) {
          if (parent_[each] != kNone) parent = parent == kNone ? each : Meeting(parent, each);
        }
        changed |= parent_[block] != parent;
        parent_[block] = parent;
      }
    }
  }

  // Nothing comes before a block that is never reached.
  bool Precedes(size_t first, size_t block) const {
    if (parent_[block] == kNone) return false;
    while (order_[block] < order_[first]) block = parent_[block];
    return block == first;
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;

  // The blocks that are reached, each after those that it branches to, but for loops.
  std::vector<size_t> Finish(const std::vector<std::vector<size_t>>& after) {
    std::vector<size_t> finished, next(after.size(), 0), path = {0};
    std::vector<bool> seen(after.size(), false);
    seen[0] = true;
    while (!path.empty()) {
      const size_t block = path.back();
      if (next[block] == after[block].size()) {
        order_[block] = finished.size();
        finished.push_back(block);
        path.pop_back();
      } else if (const size_t to = after[block][next[block]++]; !seen[to]) {
        seen[to] = true;
        path.push_back(to);
      }
    }
    return finished;
  }

  size_t Meeting(size_t a, size_t b) const {
    while (a != b) {
      while (order_[a] < order_[b]) a = parent_[a];
      while (order_[b] < order_[a]) b = parent_[b];
    }
    return a;
  }

  std::vector<size_t> order_;   // in which blocks finish: the first one last
  std::vector<size_t> parent_;  // the last block before each
};

class Forwarder {
 public:
  std::vector<Block> Run(std::vector<Block> blocks) {
    variables_.clear();
    if (!FindWholeVariables(blocks, &variables_)) return blocks;
    FindOnlyStores(blocks);
    Forward(blocks);
    DropUnused(blocks);
    return blocks;
  }

 private:
  struct Store {
    size_t count = 0, block = 0;
    uint32_t value = 0;
  };

  void FindOnlyStores(const std::vector<Block>& blocks) {
    stores_.clear();
    for (size_t b = 0; b < blocks.size(); ++b) {
      for (const Instruction& each : blocks[b].body) {
        if (each.op() != OpStore || !variables_.contains(each.words[1])) continue;
        Store& store = stores_[each.words[1]];
        store = {store.count + 1, b, each.words[2]};
      }
    }
  }

  void Forward(std::vector<Block>& blocks) {
    const Dominators dominators(blocks);
    std::unordered_map<uint32_t, uint32_t> same;  // results of loads, as the value that they load
    for (size_t b = 0; b < blocks.size(); ++b) {
      std::unordered_map<uint32_t, uint32_t> held;  // by variable, in this block
      std::erase_if(blocks[b].body, [&](const Instruction& each) {
        if (each.op() == OpStore && variables_.contains(each.words[1])) held[each.words[1]] = each.words[2];
        if (each.op() != OpLoad || !variables_.contains(each.words[3])) return false;
        const auto only = stores_.find(each.words[3]);
        if (const auto it = held.find(each.words[3]); it != held.end()) {
          same[each.words[2]] = it->second;
        } else if (only != stores_.end() && only->second.count == 1 && only->second.block != b &&
                   dominators.Precedes(only->second.block, b)) {
          same[each.words[2]] = only->second.value;
        } else {
          held[each.words[3]] = each.words[2];
          return false;
        }
        return true;
      });
    }
    ReadAs(same, &blocks);
  }

  // What nothing reads: stores to variables that are not loaded, and what is computed, from the end on.
  void DropUnused(std::vector<Block>& blocks) const {
    std::unordered_map<uint32_t, size_t> uses;  // of a variable: but for stores
    auto count = [&](Instruction& each, size_t by) {
      const uint32_t stored_to = each.op() == OpStore && variables_.contains(each.words[1]) ? each.words[1] : 0;
      VisitOperands(each, [&](uint32_t& id) {
        if (id != stored_to) uses[id] += by;
      });
    };
    for (Instruction& each : InstructionsOf(blocks)) count(each, 1);
    for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
      std::vector<bool> unused(block->body.size(), false);
      for (size_t i = block->body.size(); i-- > 0;) {
        Instruction& each = block->body[i];
        const uint32_t op = each.op();
        const bool store = op == OpStore && variables_.contains(each.words[1]);
        const bool pure = (op == OpLoad && each.words.size() == 4) || op == OpAccessChain || op == OpBitcast ||
                          op == OpCompositeExtract || (op >= OpIAdd && op <= kLastArithmetic);
        unused[i] = (store || pure) && uses[each.words[store ? 1 : 2]] == 0;
        if (unused[i]) count(each, static_cast<size_t>(-1));
      }
      size_t i = 0;
      std::erase_if(block->body, [&](const Instruction&) { return unused[i++]; });
    }
    auto unread = [&](uint32_t id) { return variables_.contains(id) && uses[id] == 0; };
    for (Block& block : blocks) {
      std::erase_if(block.body, [&](const Instruction& each) {
        return (each.op() == OpStore && unread(each.words[1])) || (each.op() == OpVariable && unread(each.words[2]));
      });
    }
  }

  std::unordered_set<uint32_t> variables_;  // of the function at hand
  std::unordered_map<uint32_t, Store> stores_;
};

}  // namespace

std::vector<uint32_t> ForwardStores(const std::vector<uint32_t>& words) {
  Forwarder forwarder;
  return Module(words).Run([&](std::vector<Block> blocks, uint32_t) { return forwarder.Run(std::move(blocks)); });
}

}  // namespace VXLA_NAMESPACE::vulkan::spirv
