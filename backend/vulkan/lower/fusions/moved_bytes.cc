#include "backend/vulkan/lower/fusions/moved_bytes.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "core/passes/base/fusion_rules.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Elements of values inside a fusion that something of it needs: an upper bound.
class Needs {
 public:
  explicit Needs(const FusionDescription& body) : body_(body) {
    for (const Instruction* i : body.computed) {
      for (int k = 0; k < i->operand_count(); ++k) reads_[i->operand(k)].push_back({i, k});
    }
  }

  int64_t Of(const Instruction& value) {
    if (const auto known = known_.find(&value); known != known_.end()) return known->second;
    const int64_t all = value.shape().IsArray() ? value.shape().ElementCount() : 0;
    int64_t needed = std::ranges::find(body_.roots, &value) != body_.roots.end() ? all : 0;
    for (const auto& [reader, operand] : reads_[&value]) {
      if (needed < all) needed += By(*reader, operand, all);
    }
    return known_[&value] = std::min(needed, all);
  }
  // Elements of array `array` of the hero that it changes where they lie.
  int64_t Changed(int array) const {
    const Instruction& hero = *body_.hero;
    const bool slice = hero.opcode() == Opcode::kDynamicUpdateSlice;
    return hero.operand(slice ? 1 : hero.operand_count() / 2 + 1 + array)->shape().ElementCount();
  }

 private:
  struct Read {
    const Instruction* reader;
    int operand;
  };

  int64_t By(const Instruction& reader, int operand, int64_t all) {
    if (&reader == body_.hero) {  // what it changes where it lies: Changed()
      const bool lies_there = operand < UpdatedArrays(reader) && body_.OperandOf(*reader.operand(operand)) != nullptr;
      return lies_there ? 0 : all;
    }
    switch (reader.opcode()) {
      case Opcode::kSlice:
      case Opcode::kDynamicSlice:
      case Opcode::kGather:
        return operand == 0 ? Of(reader) : all;
      case Opcode::kReshape:
      case Opcode::kTranspose:
      case Opcode::kReverse:
      case Opcode::kCopy:
      case Opcode::kBroadcast:
        return Of(reader);
      default:
        return IsElementwise(reader.opcode()) ? Of(reader) : all;
    }
  }

  const FusionDescription& body_;
  std::unordered_map<const Instruction*, std::vector<Read>> reads_;
  std::unordered_map<const Instruction*, int64_t> known_;
};

}  // namespace

void CountMovedBytes(const FusionDescription& body, BufferMap& buffers, std::span<Step> steps) {
  struct Part {
    BufferSlice of;
    int64_t bytes;
  };
  std::vector<Part> parts;
  Needs needs(body);
  const auto add = [&](const BufferSlice& slice, int64_t elements, const Shape& shape) {
    const int64_t bytes = elements * std::max<int64_t>(1, StorageBytes(shape.element_type()));
    const auto known = std::ranges::find(parts, slice, &Part::of);
    if (known == parts.end())
      parts.push_back({slice, bytes});
    else
      known->bytes += bytes;
  };
  for (const auto& [inside, operand] : body.operands) {
    if (operand->shape().IsArray()) add(buffers.SliceOf(*operand, 0), needs.Of(*inside), operand->shape());
  }
  const int updated = body.hero == nullptr ? 0 : UpdatedArrays(*body.hero);
  for (int array = 0; array < updated; ++array) {
    const int leaf = body.LeafOf(*body.hero, array);
    if (leaf >= 0)
      add(buffers.SliceOf(*body.instruction, leaf), needs.Changed(array), body.hero->operand(array)->shape());
  }
  for (Step& step : steps) {
    int64_t moved = 0;
    for (const Binding& binding : step.bindings) {
      int64_t bytes = binding.slice.size_bytes;
      const auto part = std::ranges::find(parts, binding.slice, &Part::of);
      // An array that is written as a whole before parts of it change is bound for writing alone.
      if (part != parts.end() && binding.access != Access::kWrite) bytes = std::min(bytes, part->bytes);
      moved += bytes * (binding.access == Access::kReadWrite ? 2 : 1);
    }
    step.part_bytes = moved;
  }
}

}  // namespace VXLA_NAMESPACE::vulkan
