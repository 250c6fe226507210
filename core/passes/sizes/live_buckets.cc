#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "core/ops/op_support.h"
#include "core/ops/ops.h"
#include "core/passes/base/control_flow.h"
#include "core/passes/base/expansion.h"
#include "core/passes/sizes/dynamic_padder.h"
#include "core/sizes/live_instruction.h"

namespace VXLA_NAMESPACE {
namespace {

// Instructions in all branches together.
constexpr size_t kMostInstructions = 600;
constexpr int64_t kMostConstantElements = 64;

// Data movement and arithmetic that is the same whatever the bounds are.
bool FollowsItsBounds(const Instruction& i) {
  if (Has(i.opcode(), Trait::kStatesSizes)) return false;
  const std::string_view family = FactsOf(i.opcode()).family;
  if (family == "collectives" || family == "host_transfer" || family == "control_flow") {
    if (i.opcode() != Opcode::kGetTupleElement) return false;
  }
  if (HasSideEffect(i) || i.HasControlEdges()) return false;
  return std::ranges::none_of(i.called(), [](const Computation* f) {
    return std::ranges::any_of(f->instructions(), [](const auto& inner) { return inner->shape().IsDynamic(); });
  });
}

// Its kernels go through the bound, however little of it lives along `d` of an operand.
bool IsHeavy(const Instruction& i, int64_t d) { return d != 0 || Has(i.opcode(), Trait::kWholeBounds); }

int64_t ElementsOf(const Shape& shape) {
  if (shape.IsArray()) return shape.ElementCount();
  int64_t count = 0;
  for (const Shape& element : shape.tuple_elements()) count = std::max(count, ElementsOf(element));
  return count;
}

// The last one; -1: none.
int64_t DynamicDimensionOf(const Shape& shape) {
  int64_t last = -1;
  for (int d = 0; shape.IsArray() && d < shape.rank(); ++d) {
    if (shape.is_dynamic_dimension(d)) last = d;
  }
  return last;
}

// A dimension of a value that what is outlined takes from outside.
struct Source {
  Instruction* value = nullptr;
  int d = 0;
};

// Instructions in a row that depend on sources, and the values that they take and give.
struct Region {
  std::vector<Source> sources;  // of one live size
  int64_t bound = 0;
  std::vector<Instruction*> members, inputs, outputs;
  std::vector<Instruction*> constants;  // small ones, which branches have themselves: kernels are chosen by them
  bool heavy = false;
};

// The members at another bound, in a computation of one parameter, the tuple of inputs.
class BoundedWork {
 public:
  BoundedWork(Module& module, const Region& region, int64_t bound)
      : module_(module), region_(region), bound_(bound), made_(std::make_unique<Computation>("live_work")) {}

  // Null: the bound does not suit an instruction.
  Computation* Make() {
    Instruction* const parameter = Expansion(*made_).Parameter(TupleShapeOf(region_.inputs), 0);
    for (size_t k = 0; k < region_.inputs.size(); ++k) {
      Instruction* const input = region_.inputs[k];
      Expansion at(*made_, *input);
      values_[input] = at.Element(parameter, static_cast<int64_t>(k));
      values_[input]->mutable_shape() = input->shape();
    }
    for (Instruction* const constant : region_.constants) {
      values_[constant] = made_->Add(Opcode::kConstant, constant->shape(), {}, constant->attributes());
    }
    for (const Source& source : region_.sources) {
      Instruction*& value = values_.at(source.value);
      value = Cut(*source.value, value, source.d, bound_);
    }
    for (const Instruction* member : region_.members) {
      if (!Copy(*member)) return nullptr;
    }
    std::vector<Instruction*> results;
    for (const Instruction* output : region_.outputs) {
      results.push_back(Widened(*output, values_.at(output)));
      if (results.back() == nullptr) return nullptr;
    }
    Expansion end(*made_, *region_.members.back());
    made_->set_root(end.TupleOf(std::move(results)));
    return module_.AddComputation(std::move(made_));
  }

 private:
  // The first `size` elements along a dimension, with as much living of them.
  Instruction* Cut(const Instruction& like, Instruction* value, int64_t d, int64_t size) {
    const Shape& shape = value->shape();
    if (shape.dimension(d) == size) return value;
    Expansion at(*made_, like);
    Instruction* const slice = at.Slice(value, d, 0, size);
    for (int k = 0; k < shape.rank(); ++k) {
      slice->mutable_shape().set_dynamic_dimension(k, shape.is_dynamic_dimension(k));
    }
    return slice;
  }

  bool Copy(const Instruction& member) {
    std::vector<Instruction*> operands;
    LiveDimensions live;
    for (const Instruction* operand : member.operands()) {
      Instruction* const value = values_.at(operand);
      operands.push_back(value);
      if (operand->shape().IsTuple()) continue;
      live.Add(operand->shape(), {value->shape().dimensions().begin(), value->shape().dimensions().end()});
    }
    Shape shape;
    Attributes attributes = member.attributes();
    if (member.opcode() == Opcode::kGetTupleElement) {
      const auto index = static_cast<size_t>(member.attributes<GetTupleElementAttributes>().index);
      shape = operands[0]->shape().tuple_elements().at(index);
    } else if (member.opcode() == Opcode::kGetDimensionSize) {
      shape = member.shape();
    } else {
      LiveInstruction bounded(member, std::move(live));
      if (!bounded.Build().ok()) return false;
      for (size_t k = 0; k < operands.size(); ++k) {
        const auto& sizes = bounded.sizes()[k];
        for (size_t d = 0; d < sizes.size(); ++d) {
          if (operands[k]->shape().dimension(d) < sizes[d]) return false;
          operands[k] = Cut(member, operands[k], static_cast<int64_t>(d), sizes[d]);
        }
      }
      shape = bounded.instruction().shape();
      attributes = bounded.instruction().attributes();
      if (!TakeFlags(member.shape(), shape)) return false;
    }
    auto copy = member.CloneWith(std::move(operands), shape);
    copy->mutable_attributes() = std::move(attributes);
    // A window as wide as the bound is the whole of a dimension.
    const Result<Shape> inferred = InferShape(*copy);
    if (!inferred.ok() || !Compatible(*inferred, shape) || !KeepsFlags(*inferred, shape)) return false;
    values_[&member] = made_->Add(std::move(copy));
    return true;
  }

  // What is stated of the shape at the old bounds; false if a static dimension has changed.
  static bool TakeFlags(const Shape& stated, Shape& shape) {
    if (stated.IsTuple()) {
      for (size_t k = 0; k < stated.tuple_elements().size(); ++k) {
        if (!TakeFlags(stated.tuple_elements()[k], shape.mutable_tuple_elements()[k])) return false;
      }
      return true;
    }
    for (int d = 0; d < stated.rank(); ++d) {
      if (!stated.is_dynamic_dimension(d) && shape.dimension(d) != stated.dimension(d)) return false;
      if (shape.dimension(d) > stated.dimension(d)) return false;
      shape.set_dynamic_dimension(d, stated.is_dynamic_dimension(d));
    }
    return true;
  }

  // At the old bounds, with the live sizes that it has.
  Instruction* Widened(const Instruction& output, Instruction* value) {
    const Shape& stated = output.shape();
    if (SameDimensions(value->shape(), stated)) return value;
    Expansion at(*made_, output);
    PadAttributes pad;
    pad.padding.resize(static_cast<size_t>(stated.rank()));
    Instruction* whole = value;
    std::vector<Instruction*> sizes(static_cast<size_t>(stated.rank()));
    for (int d = 0; d < stated.rank(); ++d) {
      const int64_t bound = value->shape().dimension(d);
      pad.padding[d].high = stated.dimension(d) - bound;
      if (!stated.is_dynamic_dimension(d)) continue;
      sizes[d] = at.LiveSize(value, d);
      whole = at.AtBound(whole, d);
    }
    whole = at.Add(Opcode::kPad, WithoutFlags(stated), {whole, at.Zero(stated.element_type())}, pad);
    for (int d = 0; d < stated.rank(); ++d) {
      if (sizes[d] != nullptr) whole = at.WithLiveSize(whole, d, sizes[d]);
    }
    return whole;
  }

  Module& module_;
  const Region& region_;
  const int64_t bound_;
  std::unique_ptr<Computation> made_;
  std::unordered_map<const Instruction*, Instruction*> values_;
};

class Bounder {
 public:
  Bounder(Module& module, Computation& computation, const LiveBounds& bounds)
      : module_(module), computation_(computation), bounds_(bounds) {}

  void Run() {
    computation_.SortTopologically();
    while (const Start next = NextStart()) {
      tried_.insert(next.size != nullptr ? next.size : next.value);
      if (const std::optional<Region> region = RegionOf(next)) Outline(*region, next);
    }
  }

 private:
  // A size that data decide, which all values get that are cut to it; or a value that brings its own along, from a
  // loop's state or from outside of a program that is compiled for all live sizes.
  struct Start {
    Instruction *size = nullptr, *value = nullptr;
    explicit operator bool() const { return size != nullptr || value != nullptr; }
  };
  Start NextStart() const {
    for (const auto& i : computation_.instructions()) {
      if (i->opcode() != Opcode::kSetDimensionSize || !i->shape().IsDynamic()) continue;
      Instruction* const size = i->operand(1);
      if (size->opcode() != Opcode::kConstant && !tried_.contains(size)) return {size, nullptr};
    }
    for (const auto& i : computation_.instructions()) {
      const bool comes = i->opcode() == Opcode::kParameter ||
                         (i->opcode() == Opcode::kGetTupleElement && IsOfControlFlow(*i->operand(0)));
      if (comes && HasOneLiveSize(i->shape()) && !i->HasControlEdges() && !tried_.contains(i.get())) {
        return {nullptr, i.get()};
      }
    }
    return {};
  }
  static bool IsOfControlFlow(const Instruction& i) {
    return i.opcode() == Opcode::kParameter || i.opcode() == Opcode::kWhile || i.opcode() == Opcode::kConditional;
  }
  static bool HasOneLiveSize(const Shape& shape) {
    int64_t count = 0;
    for (int d = 0; shape.IsArray() && d < shape.rank(); ++d) count += shape.is_dynamic_dimension(d) ? 1 : 0;
    return count == 1;
  }

  std::optional<Region> RegionOf(const Start& start) const {
    Region region;
    enum class Kind : uint8_t { kOutside, kMember, kBeyond };
    std::unordered_map<const Instruction*, Kind> kinds;
    for (const auto& i : computation_.instructions()) {
      const bool cut = start.size != nullptr && i->opcode() == Opcode::kSetDimensionSize &&
                       i->operand(1) == start.size && i->shape().IsDynamic() && !i->HasControlEdges() &&
                       kinds[i->operand(0)] == Kind::kOutside;
      if (cut || i.get() == start.value) {
        const auto d = static_cast<int>(cut ? i->dimensions()[0] : DynamicDimensionOf(i->shape()));
        if (!i->shape().is_dynamic_dimension(d)) return std::nullopt;
        if (region.bound != 0 && region.bound != i->shape().dimension(d)) continue;
        region.bound = i->shape().dimension(d);
        region.sources.push_back({i.get(), d});
        continue;
      }
      bool takes = false, beyond = false, foreign = false;
      for (const Instruction* operand : i->operands()) {
        const bool of_source = IsSource(region, operand);
        takes = takes || of_source || kinds[operand] == Kind::kMember;
        beyond = beyond || kinds[operand] == Kind::kBeyond;
        foreign = foreign || (!of_source && kinds[operand] == Kind::kOutside && operand->shape().IsDynamic());
      }
      if (!takes && !beyond) continue;
      const bool member = takes && !beyond && !foreign && FollowsItsBounds(*i);
      kinds[i.get()] = member ? Kind::kMember : Kind::kBeyond;
      if (!member) continue;
      region.members.push_back(i.get());
      region.heavy = region.heavy || WeighsEnough(*i);
    }
    if (region.bound < bounds_.least_bound || !region.heavy) return std::nullopt;
    FindEdges(region);
    return region;
  }

  static bool IsSource(const Region& region, const Instruction* value) {
    return std::ranges::any_of(region.sources, [&](const Source& source) { return source.value == value; });
  }

  bool WeighsEnough(const Instruction& i) const {
    int64_t most = ElementsOf(i.shape()), d = -1;
    const bool across = DynamicDimensionOf(i.shape()) > 0;
    for (const Instruction* operand : i.operands()) {
      most = std::max(most, ElementsOf(operand->shape()));
      d = std::max(d, DynamicDimensionOf(operand->shape()));
    }
    return most >= bounds_.least_elements && d >= 0 && (bounds_.light_work || across || IsHeavy(i, d));
  }

  void FindEdges(Region& region) const {
    const std::unordered_set<const Instruction*> members(region.members.begin(), region.members.end());
    std::unordered_set<const Instruction*> seen;
    for (Instruction* const member : region.members) {
      for (Instruction* const operand : member->operands()) {
        if (members.contains(operand) || !seen.insert(operand).second) continue;
        const bool small = operand->opcode() == Opcode::kConstant && operand->shape().IsArray() &&
                           !operand->shape().IsDynamic() && operand->shape().ElementCount() <= kMostConstantElements;
        (small ? region.constants : region.inputs).push_back(operand);
      }
      const bool leaves = member == computation_.root() || std::ranges::any_of(member->users(), [&](const auto* user) {
                            return !members.contains(user);
                          });
      if (leaves) region.outputs.push_back(member);
    }
    std::erase_if(region.sources, [&](const Source& source) { return !seen.contains(source.value); });
  }

  // From the smallest on.
  std::vector<int64_t> BoundsFor(const Region& region) const {
    int64_t shrink = bounds_.shrink;
    const auto bounds_by = [&] {
      std::vector<int64_t> bounds{region.bound};
      for (;;) {
        const int64_t next = (bounds.back() / shrink + bounds_.unit - 1) / bounds_.unit * bounds_.unit;
        if (next < bounds_.smallest || next >= bounds.back()) break;
        bounds.push_back(next);
      }
      std::ranges::reverse(bounds);
      return bounds;
    };
    std::vector<int64_t> bounds = bounds_by();
    while (bounds.size() > 2 && bounds.size() * region.members.size() > kMostInstructions) {
      shrink *= bounds_.shrink;
      bounds = bounds_by();
    }
    return bounds;
  }

  void Outline(const Region& region, const Start& start) {
    // A tuple cannot leave a branch as one of several results, and a value that a tuple of inputs holds is no tuple.
    const auto tuple = [](const Instruction* i) { return i->shape().IsTuple() || i->shape().IsToken(); };
    if (std::ranges::any_of(region.outputs, tuple) || std::ranges::any_of(region.inputs, tuple)) return;
    if (region.members.size() * 2 > kMostInstructions) return;
    std::vector<int64_t> bounds;
    std::vector<Computation*> branches;
    for (const int64_t bound : BoundsFor(region)) {
      Computation* const branch = BoundedWork(module_, region, bound).Make();
      if (branch == nullptr) continue;
      bounds.push_back(bound);
      branches.push_back(branch);
    }
    if (branches.size() < 2 || bounds.back() != region.bound) return;
    Instruction* const last = region.members.back();
    Expansion at(computation_, last);
    Instruction *size = start.size, *index = nullptr;
    if (size == nullptr) size = at.LiveSize(start.value, region.sources.at(0).d);
    for (size_t k = 0; k + 1 < bounds.size(); ++k) {
      Instruction* const bound = at.Number(ElementType::kS32, bounds[k]);
      Instruction* const more = at.Converted(at.Compare(ComparisonDirection::kGt, size, bound), ElementType::kS32);
      index = index == nullptr ? more : at.Add(Opcode::kAdd, Shape(ElementType::kS32), {index, more});
    }
    std::vector<Instruction*> operands{index};
    for (size_t k = 0; k < branches.size(); ++k) operands.push_back(at.TupleOf(region.inputs));
    Instruction* const chosen =
        at.Add(Opcode::kConditional, TupleShapeOf(region.outputs), std::move(operands), NoAttributes{}, branches);
    for (size_t k = 0; k < region.outputs.size(); ++k) {
      Instruction* const result = at.Element(chosen, static_cast<int64_t>(k));
      computation_.ReplaceAllUses(region.outputs[k], result);
    }
    for (auto i = region.members.rbegin(); i != region.members.rend(); ++i) {
      if ((*i)->users().empty() && computation_.root() != *i) computation_.Remove(*i);
    }
    computation_.SortTopologically();
  }

  Module& module_;
  Computation& computation_;
  const LiveBounds bounds_;
  std::unordered_set<const Instruction*> tried_;
};

}  // namespace

void BoundLiveWork(Module& module, const LiveBounds& bounds) {
  for (Computation* computation : ControlComputations(module)) Bounder(module, *computation, bounds).Run();
  module.SortComputations();
}

}  // namespace VXLA_NAMESPACE
