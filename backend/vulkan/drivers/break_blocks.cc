#include "backend/vulkan/drivers/break_blocks.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "backend/vulkan/spirv/module.h"

namespace VXLA_NAMESPACE::vulkan::spirv {
namespace {

constexpr uint32_t kNever = 0xffffffffu;  // workgroups are never so many

class Breaker {
 public:
  Breaker(const Words& words, size_t most) : module_(words), most_(std::max<size_t>(most, 1)) {}

  Words Run() {
    return module_.Run([&](std::vector<Block> blocks, uint32_t) {
      const bool any_is_long = std::ranges::any_of(blocks, [&](const Block& each) { return IsLong(each); });
      return any_is_long ? Broken(blocks) : blocks;
    });
  }

 private:
  bool IsLong(const Block& block) const { return block.body.size() > 2 * most_; }

  // The blocks' labels that a loop begins or continues at: their last block must stay theirs.
  static std::unordered_set<uint32_t> LabelsOfLoops(const std::vector<Block>& blocks) {
    std::unordered_set<uint32_t> labels;
    for (const Block& block : blocks) {
      if (block.body.size() < 2 || block.body[block.body.size() - 2].op() != OpLoopMerge) continue;
      labels.insert(block.label);
      labels.insert(block.body[block.body.size() - 2].words[2]);
    }
    return labels;
  }

  std::vector<Block> Broken(std::vector<Block>& blocks) {
    const std::unordered_set<uint32_t> loops = LabelsOfLoops(blocks);
    std::unordered_map<uint32_t, uint32_t> last_of;  // a block's label, and that of its last part
    const uint32_t again = InsertCondition(blocks[0]);
    std::vector<Block> broken;
    for (Block& block : blocks) {
      const uint32_t label = block.label;
      if (loops.contains(label) || !IsLong(block)) {
        broken.push_back(std::move(block));
      } else {
        Break(block, again, &broken);
        last_of[label] = broken.back().label;
      }
    }
    for (Instruction& instruction : InstructionsOf(broken)) {
      VisitOrigins(instruction, [&](uint32_t& from) {
        if (const auto last = last_of.find(from); last != last_of.end()) from = last->second;
      });
    }
    return broken;
  }

  static size_t FirstBehindVariables(const Block& block) {
    size_t at = 0;
    while (at < block.body.size() && (block.body[at].op() == OpVariable || block.body[at].op() == OpPhi)) ++at;
    return at;
  }

  uint32_t InsertCondition(Block& entry) {
    Instructions condition;
    const uint32_t number = module_.LoadWorkgroup(0, &condition), again = module_.ids.Fresh();
    condition.push_back(
        Make(OpIEqual, {module_.Type(OpTypeBool, {}), again, number, module_.ConstantOf(module_.Unsigned(), kNever)}));
    entry.body.insert(entry.body.begin() + static_cast<std::ptrdiff_t>(FirstBehindVariables(entry)), condition.begin(),
                      condition.end());
    return again;
  }

  // Stretches in turn outside and inside a loop; the block's own ending stays outside.
  void Break(const Block& block, uint32_t again, std::vector<Block>* broken) {
    const Instructions& body = block.body;
    size_t ending = body.size() - 1;
    if (ending > 0 && body[ending - 1].op() == OpSelectionMerge) --ending;
    broken->push_back({block.label, {}});
    const size_t first = FirstBehindVariables(block);
    auto take = [&](size_t begin, size_t end) {
      Instructions& to = broken->back().body;
      to.insert(to.end(), body.begin() + static_cast<std::ptrdiff_t>(begin),
                body.begin() + static_cast<std::ptrdiff_t>(end));
    };
    size_t at = std::min(first + most_, ending);
    take(0, at);
    while (at < ending) {
      const uint32_t head = module_.ids.Fresh(), back = module_.ids.Fresh(), behind = module_.ids.Fresh();
      broken->back().body.push_back(Make(OpBranch, {head}));
      broken->push_back({head, {}});
      const size_t end = std::min(at + most_, ending);
      take(at, end);
      broken->back().body.push_back(Make(OpLoopMerge, {behind, back, 0}));
      broken->back().body.push_back(Make(OpBranch, {back}));
      broken->push_back({back, {Make(OpBranchConditional, {again, head, behind})}});
      broken->push_back({behind, {}});
      at = std::min(end + most_, ending);
      take(end, at);
    }
    take(ending, body.size());
  }

  Module module_;
  const size_t most_;
};

}  // namespace

std::vector<uint32_t> BreakLongBlocks(const std::vector<uint32_t>& words, size_t most) {
  return Breaker(words, most).Run();
}

}  // namespace VXLA_NAMESPACE::vulkan::spirv
