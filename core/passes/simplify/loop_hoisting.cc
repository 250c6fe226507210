#include <algorithm>
#include <unordered_map>

#include "core/host/ranges.h"
#include "core/passes/base/control_flow.h"
#include "core/passes/base/expansion.h"
#include "core/passes/base/fusion_rules.h"
#include "core/passes/simplify/simplifiers.h"

namespace VXLA_NAMESPACE {
namespace {

// What is kept for the whole loop takes memory that a trip's own value does not.
constexpr int64_t kMostHoistedBytes = int64_t{1} << 28;
constexpr int kCostOfFunctions = 4;

// A product of an invariant value and a slice of another, one along dimension 0 for each trip.
struct SlicedProduct {
  Instruction* dot = nullptr;
  int side = 0;  // the operand that is sliced
  Instruction* slice = nullptr;
  // Where the slices lie side by side in the product of the whole.
  int64_t place = 0;
};

class Hoister {
 public:
  Hoister(Computation& computation, Instruction* loop)
      : computation_(computation), loop_(*loop), body_(*loop->called(1)), trips_(StaticTripCount(*loop)) {}

  bool Run() {
    Instruction* const initial = loop_.operand(0);
    if (initial->opcode() != Opcode::kTuple || body_.root()->opcode() != Opcode::kTuple || loop_.HasControlEdges() ||
        body_.parameter(0) == body_.root())
      return false;
    FindInvariants();
    std::vector<Instruction*> wanted;
    std::vector<SlicedProduct> products;
    for (const auto& i : body_.instructions()) {
      if (IsWanted(*i)) wanted.push_back(i.get());
      if (i->opcode() == Opcode::kDot && !invariant_.contains(i.get())) {
        if (const auto product = SlicedProductOf(i.get())) products.push_back(*product);
      }
    }
    if (wanted.empty() && products.empty()) return false;
    for (Instruction* i : wanted) body_.ReplaceAllUses(i, ReadInstead(i, Outside(i)));
    for (const SlicedProduct& product : products) Hoist(product);
    body_.RemoveDead();
    CarryThroughLoop(computation_, &loop_, hoisted_);
    return true;
  }

 private:
  void FindInvariants() {
    SideEffects effects;
    for (const auto& owned : body_.instructions()) {
      const Instruction& i = *owned;
      const int64_t element = i.opcode() == Opcode::kGetTupleElement ? StateElement(i) : -1;
      if (element >= 0 && PassesOn(body_, element) && !i.shape().IsDynamic()) {
        invariant_[&i] = loop_.operand(0)->operand(element);
        continue;
      }
      const bool arrays = i.shape().IsArray() || i.opcode() == Opcode::kSort || i.opcode() == Opcode::kTopK;
      if (i.opcode() == Opcode::kParameter || !arrays || i.shape().IsDynamic() || i.HasControlEdges() || effects.Of(i))
        continue;
      const bool all =
          std::ranges::all_of(i.operands(), [&](const Instruction* operand) { return invariant_.contains(operand); });
      // Iotas and constants too; what makes another value at each trip does so by an operand.
      if (all) invariant_[&i] = nullptr;
    }
  }

  // Worth its place in memory: more than moving elements, and not more elements than it is made of.
  bool IsWorthwhile(const Instruction& i) const {
    const auto known = invariant_.find(&i);
    if (known == invariant_.end() || known->second != nullptr || i.operand_count() == 0 || !i.shape().IsArray())
      return false;
    if (i.shape().SizeBytes() > kMostHoistedBytes) return false;
    if (std::ranges::any_of(i.users(), [&](const Instruction* user) { return HasRunStarts(*user, i); })) return true;
    using enum Opcode;
    if (IsAnyOf(i.opcode(), kDot, kConvolution, kReduce, kReduceWindow, kFft, kCholesky, kTriangularSolve, kSort, kTopK,
                kScatter))
      return true;
    if (i.opcode() == kGetTupleElement) return IsOfSort(i);
    // What is read in a new order each time may as well lie in it.
    if (i.opcode() == kGather) return IsOfSort(*i.operand(1)) && i.shape().ElementCount() <= LargestSource(i);
    return IsElementwise(i.opcode()) && ElementCost(i) >= kCostOfFunctions && i.shape().ElementCount() > 1 &&
           i.shape().ElementCount() <= LargestSource(i);
  }
  static bool IsOfSort(const Instruction& i) {
    return i.opcode() == Opcode::kGetTupleElement && IsAnyOf(i.operand(0)->opcode(), Opcode::kSort, Opcode::kTopK);
  }
  static bool HasRunStarts(const Instruction& user, const Instruction& i) {
    return user.notes().run_starts && user.operand(user.operand_count() / 2) == &i;
  }
  int64_t LargestSource(const Instruction& i) const {
    int64_t largest = 0;
    std::vector<const Instruction*> pending{&i};
    for (size_t at = 0; at < pending.size() && at < 64; ++at) {
      if (invariant_.at(pending[at]) != nullptr)
        largest = std::max(largest, pending[at]->shape().ElementCount());
      else
        pending.insert(pending.end(), pending[at]->operands().begin(), pending[at]->operands().end());
    }
    return largest;
  }
  // Read by something that stays.
  bool IsWanted(const Instruction& i) const {
    return IsWorthwhile(i) &&
           std::ranges::any_of(i.users(), [&](const Instruction* user) { return !IsWorthwhile(*user); });
  }

  // An invariant value before the loop.
  Instruction* Outside(const Instruction* i) {
    Instruction*& known = invariant_.at(i);
    if (known != nullptr) return known;
    return invariant_.at(i) = computation_.InsertBefore(
               &loop_,
               i->CloneWith(Transformed(i->operands(), [&](const Instruction* operand) { return Outside(operand); })));
  }

  // What the body reads instead of a value that was computed before the loop: a parameter, which CarryThroughLoop
  // makes an element of the loop's state.
  Instruction* ReadInstead(const Instruction* like, Instruction* value) {
    auto parameter = std::make_unique<Instruction>(Opcode::kParameter, value->shape(), std::vector<Instruction*>{},
                                                   ParameterAttributes{1 + std::ssize(hoisted_)});
    parameter->set_name(like->name());
    parameter->set_location(like->location());
    hoisted_.push_back(value);
    Instruction* const read = body_.InsertBefore(body_.instructions().front().get(), std::move(parameter));
    invariant_[read] = value;  // what else leaves the loop may be made of it
    return read;
  }

  std::optional<SlicedProduct> SlicedProductOf(Instruction* dot) const {
    for (const int side : {0, 1}) {
      const Instruction* operand = dot->operand(side);
      if (!invariant_.contains(dot->operand(1 - side)) || operand->opcode() != Opcode::kReshape) continue;
      Instruction* slice = operand->operand(0);
      if (slice->opcode() != Opcode::kDynamicSlice || !IsOneOfMany(*slice, operand->shape())) continue;
      const auto& attributes = dot->attributes<DotAttributes>();
      const auto batch = std::ssize(attributes.lhs_batch_dims);
      const auto contracting = std::ssize(attributes.lhs_contracting_dims);
      SlicedProduct product{dot, side, slice, batch};
      if (side == 1) product.place += dot->operand(0)->shape().rank() - batch - contracting;
      const int64_t slices = slice->operand(0)->shape().dimension(0);
      const bool fits = dot->shape().SizeBytes() <= kMostHoistedBytes / slices;
      if (fits && !dot->HasControlEdges() && !slice->HasControlEdges()) return product;
    }
    return std::nullopt;
  }
  // A slice that leaves out all but one along dimension 0 of an invariant array, most of which the trips go through.
  bool IsOneOfMany(const Instruction& slice, const Shape& as) const {
    const Shape &whole = slice.operand(0)->shape(), &part = slice.shape();
    if (!invariant_.contains(slice.operand(0)) || whole.rank() != as.rank() + 1 || part.dimension(0) != 1) return false;
    for (int d = 1; d < whole.rank(); ++d) {
      if (part.dimension(d) != whole.dimension(d) || as.dimension(d - 1) != whole.dimension(d)) return false;
    }
    return whole.dimension(0) > 1 && trips_ && 2 * *trips_ >= whole.dimension(0);
  }

  void Hoist(const SlicedProduct& product) {
    const int side = product.side;
    const Instruction& dot = *product.dot;
    DotAttributes attributes = dot.attributes<DotAttributes>();
    for (IntList* list : {side == 0 ? &attributes.lhs_batch_dims : &attributes.rhs_batch_dims,
                          side == 0 ? &attributes.lhs_contracting_dims : &attributes.rhs_contracting_dims}) {
      for (int64_t& d : *list) ++d;
    }
    Instruction* const whole = Outside(product.slice->operand(0));
    Instruction* const other = Outside(dot.operand(1 - side));
    IntList sizes = SizesOf(dot.shape());
    sizes.insert(sizes.begin() + product.place, whole->shape().dimension(0));
    Instruction* const all = computation_.InsertBefore(
        &loop_, dot.CloneWith(side == 0 ? std::vector{whole, other} : std::vector{other, whole},
                              Shape(dot.shape().element_type(), sizes)));
    all->mutable_attributes() = attributes;
    // The same slice of it: the start is clamped alike.
    Expansion inside(body_, product.dot);
    Instruction* const start = product.slice->operand(1);
    Instruction* const zero = inside.Constant(Literal(Shape(start->shape().element_type())));
    std::vector<Instruction*> operands{ReadInstead(&dot, all)};
    for (int64_t d = 0; d < std::ssize(sizes); ++d) operands.push_back(d == product.place ? start : zero);
    sizes[product.place] = 1;
    Instruction* const one = inside.Add(Opcode::kDynamicSlice, Shape(dot.shape().element_type(), sizes),
                                        std::move(operands), DynamicSliceAttributes{sizes});
    body_.ReplaceAllUses(product.dot, inside.Reshaped(one, SizesOf(dot.shape())));
  }

  Computation& computation_;
  Instruction& loop_;
  Computation& body_;
  const std::optional<int64_t> trips_;
  // Values of the body that are the same in every trip; where they are before the loop, once they are there.
  std::unordered_map<const Instruction*, Instruction*> invariant_;
  std::vector<Instruction*> hoisted_;
};

}  // namespace

bool HoistFromLoops(Module& module) {
  bool changed = false;
  std::vector<Computation*> computations = ControlComputations(module);
  // Inner loops first: what leaves them may leave the loop around them too.
  for (auto computation = computations.rbegin(); computation != computations.rend(); ++computation) {
    std::vector<Instruction*> loops;
    for (const auto& i : (*computation)->instructions()) {
      if (i->opcode() == Opcode::kWhile) loops.push_back(i.get());
    }
    for (Instruction* loop : loops) changed |= Hoister(**computation, loop).Run();
  }
  if (changed) {
    module.RemoveUnusedComputations();
    module.SortComputations();
  }
  return changed;
}

}  // namespace VXLA_NAMESPACE
