#include "backend/vulkan/drivers/break_blocks.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "backend/vulkan/spirv/module.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

using namespace spirv;

constexpr uint32_t kNever = 0xffffffffu;

// An input that numbers invocations or workgroups, which are never so many that it is kNever.
struct Index {
  uint32_t variable = 0, vector_type = 0, uint_type = 0, bool_type = 0;
};

bool NumbersInvocations(uint32_t built_in) {
  return built_in >= BuiltInWorkgroupId && built_in <= BuiltInGlobalInvocationId;
}

class Breaker {
 public:
  Breaker(const Words& words, size_t most) : words_(words), module_(words), most_(std::max<size_t>(most, 1)) {}

  Words Run() {
    const auto index = FindIndex();
    if (!index || !AnyIsLong()) return words_;
    index_ = *index;
    const uint32_t never = module_.ids.Fresh();
    if (index_.bool_type == 0) index_.bool_type = module_.Declare(Make(OpTypeBool, {module_.ids.Fresh()}));
    module_.Declare(Make(OpConstant, {index_.uint_type, never, kNever}));
    return module_.Run([&](std::vector<Block> blocks, uint32_t function) {
      return entries_.contains(function) ? Broken(blocks, never) : blocks;
    });
  }

 private:
  std::optional<Index> FindIndex() {
    std::unordered_map<uint32_t, uint32_t> built_in, pointee;
    Index index;
    for (const Instruction& instruction : module_.declarations) {
      const Words& w = instruction.words;
      switch (instruction.op()) {
        case OpEntryPoint:
          entries_.insert(w[2]);
          break;
        case OpDecorate:
          if (w[2] == DecorationBuiltIn) built_in[w[1]] = w[3];
          break;
        case OpTypeBool:
          index.bool_type = w[1];
          break;
        case OpTypeInt:
          if (w[2] == 32 && w[3] == 0) index.uint_type = w[1];
          break;
        case OpTypePointer:
          pointee[w[1]] = w[3];
          break;
        case OpVariable:
          if (w[3] != StorageClassInput || !built_in.contains(w[2]) || !NumbersInvocations(built_in[w[2]])) break;
          index.variable = w[2];
          index.vector_type = pointee[w[1]];
          break;
        default:
          break;
      }
    }
    return index.variable != 0 && index.uint_type != 0 ? std::optional(index) : std::nullopt;
  }

  bool AnyIsLong() const {
    size_t length = 0, longest = 0;
    for (const Instruction& instruction : module_.functions) {
      length = instruction.op() == OpLabel || instruction.op() == OpFunctionEnd ? 0 : length + 1;
      longest = std::max(longest, length);
    }
    return longest > 2 * most_;
  }

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

  std::vector<Block> Broken(std::vector<Block>& blocks, uint32_t never) {
    const std::unordered_set<uint32_t> loops = LabelsOfLoops(blocks);
    std::unordered_map<uint32_t, uint32_t> last_of;  // a block's label, and that of its last part
    const uint32_t again = InsertCondition(blocks[0], never);
    std::vector<Block> broken;
    for (Block& block : blocks) {
      const uint32_t label = block.label;
      if (loops.contains(label) || block.body.size() <= 2 * most_) {
        broken.push_back(std::move(block));
      } else {
        Break(block, again, &broken);
        last_of[label] = broken.back().label;
      }
    }
    for (Block& block : broken) {
      for (Instruction& instruction : block.body) {
        VisitOrigins(instruction, [&](uint32_t& from) {
          if (const auto last = last_of.find(from); last != last_of.end()) from = last->second;
        });
      }
    }
    return broken;
  }

  static size_t FirstBehindVariables(const Block& block) {
    size_t at = 0;
    while (at < block.body.size() && (block.body[at].op() == OpVariable || block.body[at].op() == OpPhi)) ++at;
    return at;
  }

  uint32_t InsertCondition(Block& entry, uint32_t never) {
    const uint32_t vector = module_.ids.Fresh(), number = module_.ids.Fresh(), again = module_.ids.Fresh();
    const Instruction condition[] = {Make(OpLoad, {index_.vector_type, vector, index_.variable}),
                                     Make(OpCompositeExtract, {index_.uint_type, number, vector, 0}),
                                     Make(OpIEqual, {index_.bool_type, again, number, never})};
    entry.body.insert(entry.body.begin() + static_cast<std::ptrdiff_t>(FirstBehindVariables(entry)),
                      std::begin(condition), std::end(condition));
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

  const Words& words_;
  Module module_;
  const size_t most_;
  Index index_;
  std::unordered_set<uint32_t> entries_;
};

}  // namespace

std::vector<uint32_t> BreakLongBlocks(const std::vector<uint32_t>& words, size_t most) {
  return Breaker(words, most).Run();
}

}  // namespace VXLA_NAMESPACE::vulkan
