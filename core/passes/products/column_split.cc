#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/host/ranges.h"
#include "core/passes/base/element_walk.h"
#include "core/passes/base/expansion.h"
#include "core/passes/base/fusion_rules.h"
#include "core/passes/products/products.h"

namespace VXLA_NAMESPACE {
namespace {

constexpr size_t kMostSplitInstructions = 256;
constexpr int64_t kMostExtraColumns = 16;  // of the smaller part

using ColumnParts = std::array<Instruction*, 2>;

class ColumnSplitter {
 public:
  ColumnSplitter(Computation& entry, Instruction* whole)
      : entry_(entry),
        whole_(whole),
        along_(whole->dimensions()[0]),
        sizes_{whole->operand(0)->shape().dimension(along_), whole->operand(1)->shape().dimension(along_)} {}

  bool Run() {
    if (!FindRegion()) return false;
    for (Instruction* sink : sinks_) Replace(sink);
    return true;
  }

 private:
  // All that is computed of the whole, and where it ends.
  bool FindRegion() {
    std::vector<Instruction*> pending{whole_};
    region_.insert(whole_);
    const auto add = [&](Instruction* i) {
      if (region_.insert(i).second) pending.push_back(i);
    };
    while (!pending.empty()) {
      Instruction* i = pending.back();
      pending.pop_back();
      if (region_.size() > kMostSplitInstructions || i == entry_.root() || i->HasControlEdges() || TouchesLiveSizes(*i))
        return false;
      for (Instruction* operand : i->operands()) {
        if (i != whole_ && i->opcode() != Opcode::kPad && IsOfPad(*operand)) add(operand);
      }
      for (Instruction* user : i->users()) {
        if (IsElementwise(user->opcode()) && user->shape().IsArray() &&
            std::ranges::equal(user->shape().dimensions(), whole_->shape().dimensions())) {
          add(user);
        } else if (SlicedPart(*user) || IsReduction(*user)) {
          if (!Contains(sinks_, user)) sinks_.push_back(user);
        } else {
          return false;
        }
      }
    }
    return true;
  }

  // Whether it is one part filled up, as a gradient of that part is, changed element by element.
  bool IsOfPad(const Instruction& i, int links = 0) const {
    constexpr int kMostPadLinks = 8;
    if (i.opcode() == Opcode::kPad) return PaddedPart(i).has_value();
    if (links == kMostPadLinks || !IsElementwise(i.opcode()) || i.shape().IsTuple()) return false;
    return std::ranges::any_of(i.operands(), [&](const Instruction* operand) { return IsOfPad(*operand, links + 1); });
  }

  // Which part a slice takes, or a pad fills up with one number; none: neither.
  std::optional<int> SlicedPart(const Instruction& i) const {
    if (i.opcode() != Opcode::kSlice || i.HasControlEdges() || i.shape().rank() != whole_->shape().rank())
      return std::nullopt;
    const auto& slice = i.attributes<SliceAttributes>();
    if (std::ranges::any_of(slice.slice, [](const SliceDimension& d) { return d.stride != 1; })) return std::nullopt;
    for (int64_t d = 0; d < i.shape().rank(); ++d) {
      if (d != along_ && i.shape().dimension(d) != whole_->shape().dimension(d)) return std::nullopt;
    }
    const int64_t start = slice.slice[along_].start, size = i.shape().dimension(along_);
    for (int part : {0, 1}) {
      if (start == (part == 0 ? 0 : sizes_[0]) && size == sizes_[part]) return part;
    }
    return std::nullopt;
  }
  std::optional<int> PaddedPart(const Instruction& i) const {
    if (!SplatOf(*i.operand(1)) || !std::ranges::equal(i.shape().dimensions(), whole_->shape().dimensions()))
      return std::nullopt;
    const Shape& of = i.operand(0)->shape();
    const auto& padding = i.attributes<PadAttributes>().padding;
    for (int64_t d = 0; d < of.rank(); ++d) {
      const auto& at = padding[d];
      if (at.interior != 0 || (d != along_ && (at.low != 0 || at.high != 0))) return std::nullopt;
    }
    const auto& at = padding[along_];
    for (int part : {0, 1}) {
      if (of.dimension(along_) == sizes_[part] && at.low == (part == 0 ? 0 : sizes_[0]) &&
          at.high == (part == 0 ? sizes_[1] : 0))
        return part;
    }
    return std::nullopt;
  }

  bool IsReduction(const Instruction& i) const {
    return PlainReductionOf(i) && !i.HasControlEdges() && region_.contains(i.operand(0)) &&
           Contains(i.dimensions(), along_);
  }

  Shape PartShape(const Instruction& i, int part) const {
    IntList sizes = SizesOf(i.shape());
    sizes[along_] = sizes_[part];
    return Shape(i.shape().element_type(), sizes);
  }

  Instruction* Make(const Instruction* like, Opcode opcode, Shape shape, std::vector<Instruction*> operands,
                    Attributes attributes = NoAttributes{}) {
    return Expansion(entry_, like).Add(opcode, std::move(shape), std::move(operands), std::move(attributes));
  }

  Instruction* SliceOf(Instruction* i, int part) {
    const int64_t start = part == 1 ? sizes_[0] : 0;
    return Expansion(entry_, i).Slice(i, along_, start, start + sizes_[part]);
  }

  ColumnParts PartsOf(Instruction* i) {
    if (const auto known = parts_.find(i); known != parts_.end()) return known->second;
    ColumnParts parts{};
    std::optional<int> padded;
    if (i == whole_) {
      parts = {i->operand(0), i->operand(1)};
    } else if (i->opcode() == Opcode::kPad && (padded = PaddedPart(*i))) {
      parts[*padded] = i->operand(0);
      parts[1 - *padded] =
          Make(i, Opcode::kBroadcast, PartShape(*i, 1 - *padded), {i->operand(1)}, DimensionsAttributes{});
    } else if (region_.contains(i)) {
      for (int part : {0, 1}) {
        std::vector<Instruction*> operands;
        for (Instruction* operand : i->operands()) operands.push_back(PartsOf(operand)[part]);
        parts[part] = entry_.InsertBefore(i, i->CloneWith(std::move(operands), PartShape(*i, part)));
      }
    } else {
      const bool even = i->opcode() == Opcode::kBroadcast && !Contains(i->dimensions(), along_);
      for (int part : {0, 1}) {
        parts[part] = i->shape().rank() == 0 ? i
                      : even ? entry_.InsertBefore(i, i->CloneWith({i->operand(0)}, PartShape(*i, part)))
                             : SliceOf(i, part);
      }
    }
    return parts_[i] = parts;
  }

  void Replace(Instruction* sink) {
    const ColumnParts parts = PartsOf(sink->operand(0));
    if (const std::optional<int> part = SlicedPart(*sink)) return entry_.ReplaceAllUses(sink, parts[*part]);
    ColumnParts reduced{};
    for (int part : {0, 1}) {
      const bool single = sizes_[part] == 1 && sink->dimensions().size() == 1;
      reduced[part] = single ? Make(sink, Opcode::kReshape, sink->shape(), {parts[part]})
                             : entry_.InsertBefore(sink, sink->CloneWith({parts[part], sink->operand(1)}));
    }
    entry_.ReplaceAllUses(sink, Make(sink, *PlainReductionOf(*sink), sink->shape(), {reduced[0], reduced[1]}));
  }

  Computation& entry_;
  Instruction* const whole_;
  const int64_t along_;
  const std::array<int64_t, 2> sizes_;
  std::unordered_set<const Instruction*> region_;
  std::vector<Instruction*> sinks_;
  std::unordered_map<const Instruction*, ColumnParts> parts_;
};

}  // namespace

bool SplitColumns(Computation& entry, const TargetInfo& target) {
  std::vector<Instruction*> wholes;
  for (const auto& i : entry.instructions()) {
    if (i->opcode() != Opcode::kConcatenate || i->operand_count() != 2 || !IsRealFloat(*i)) continue;
    if (i->shape().ElementCount() < target.attention_min_scores) continue;
    const int64_t along = i->dimensions()[0];
    const int large = i->operand(0)->shape().dimension(along) >= i->operand(1)->shape().dimension(along) ? 0 : 1;
    const bool few = i->operand(1 - large)->shape().dimension(along) <= kMostExtraColumns;
    if (few && IsMadeOfProduct(*i->operand(large))) wholes.push_back(i.get());
  }
  bool any = false;
  for (Instruction* whole : wholes) any |= ColumnSplitter(entry, whole).Run();
  return any;
}

}  // namespace VXLA_NAMESPACE
