// rng as operations over a counter that the device keeps: the numbers that docs/guides/several_devices.md states,
// Philox of the draw's number and the element's, by arithmetic in 64 bits whose every rounding is stated.
#include <numbers>

#include "core/ir/module_edits.h"
#include "core/passes/base/control_flow.h"
#include "core/passes/expand/counter_bits.h"
#include "core/passes/expand/expanders.h"

namespace VXLA_NAMESPACE {
namespace {

using enum ElementType;

// What all elements of one draw share, as scalars: u64, u64, and bounds of f64 (of u64 for integers).
struct DrawInputs {
  Instruction *stream = nullptr, *key = nullptr, *low = nullptr, *high = nullptr;
};

class DrawWriter : private CounterBits {
 public:
  // Before `place`, numbers for an array like `result`.
  DrawWriter(Computation& computation, Instruction* place, const Shape& result)
      : CounterBits(computation, place), type_(result.element_type()), sizes_(SizesOf(result)) {}

  // The number of the draw, and the key that the seed and the device give.
  DrawInputs Begin(Instruction* place, Instruction* a, Instruction* b) {
    Instruction* const state =
        Add(Opcode::kRngGetAndUpdateState, Shape(kU64, {2}), {}, RngGetAndUpdateStateAttributes{1});
    state->mutable_notes().draws_of_rng = true;
    state->mutable_notes().device = place->notes().device;
    MoveControlEdges(place, state);  // the count of draws stands where the draw stood
    DrawInputs inputs{Reshaped(Slice(state, 0, 0, 1), {}), Mixed(Reshaped(Slice(state, 0, 1, 2), {})), nullptr,
                      nullptr};
    inputs.low = IsFloating(type_) ? Converted(a, kF64) : Wide(a);
    inputs.high = IsFloating(type_) ? Converted(b, kF64) : Wide(b);
    return inputs;
  }

  Instruction* Integers(const DrawInputs& inputs, Instruction* a, Instruction* b) {
    Instruction* const low = Spread(inputs.low, sizes_);
    Instruction* const span = Spread(Minus(inputs.high, inputs.low), sizes_);
    Instruction* const scaled = Binary(Opcode::kMulhi, Words(inputs, nullptr)[0], span);
    Instruction* const value = Narrow(Plus(low, scaled));
    return Select(Spread(Compare(ComparisonDirection::kLe, b, a), sizes_), Spread(a, sizes_), value);
  }

  // Box and Muller's transform.
  Instruction* Normals(const DrawInputs& inputs) {
    const std::array<Instruction*, 2> words = Words(inputs, nullptr);
    Instruction* const one = Real(1);
    Instruction* const logarithm = Unary(Opcode::kLog, Minus(one, Unit(words[0])));
    Instruction* const radius = Unary(Opcode::kSqrt, Product(Real(-2), logarithm));
    Instruction* const angle = Unary(Opcode::kCos, Product(Real(2 * std::numbers::pi), Unit(words[1])));
    Instruction* const scaled = Product(Spread(inputs.high, sizes_), Product(radius, angle));
    return Converted(Plus(Spread(inputs.low, sizes_), scaled), type_);
  }

  // One draw of [low, high) after another: a number that rounds up to `high` gives way to the next.
  struct Uniform {
    Instruction *value = nullptr, *refused = nullptr;
  };
  Uniform FirstUniform(const DrawInputs& inputs) { return Next({}, inputs, nullptr); }
  // The two draws of a later block of words, where the ones before were refused.
  Uniform Next(Uniform current, const DrawInputs& inputs, Instruction* block) {
    for (Instruction* word : Words(inputs, block)) {
      Instruction* const u = Unit(word);
      Instruction* const from_low = Product(Spread(inputs.low, sizes_), Minus(Real(1), u));
      Instruction* const value = Converted(Plus(from_low, Product(Spread(inputs.high, sizes_), u)), type_);
      Instruction* const refused =
          Compare(ComparisonDirection::kGe, Converted(value, kF64), Spread(inputs.high, sizes_));
      if (current.value == nullptr) {
        current = {value, refused};
      } else {
        current = {Select(current.refused, value, current.value), And(current.refused, refused)};
      }
    }
    return current;
  }
  // An empty interval gives `low`, and so does one in which no number was found.
  Instruction* Settled(const Uniform& last, Instruction* a, Instruction* b) {
    Instruction* const empty = Spread(Compare(ComparisonDirection::kLe, b, a), sizes_);
    return Select(Or(empty, last.refused), Spread(a, sizes_), last.value);
  }

  using CounterBits::Add;
  using CounterBits::Element;
  using CounterBits::Number;
  using CounterBits::Plus;
  using CounterBits::TupleOf;

 private:
  Instruction* Unary(Opcode opcode, Instruction* a) { return Add(opcode, a->shape(), {a}); }
  Instruction* Product(Instruction* a, Instruction* b) { return Expansion::Times(a, b); }
  Instruction* Real(double value) { return Spread(Constant(Literal::Scalar(kF64, value)), sizes_); }
  // Integers modulo 2^64, and the other way.
  Instruction* Wide(Instruction* value) { return Converted(Converted(value, IsSigned(type_) ? kS64 : kU64), kU64); }
  Instruction* Narrow(Instruction* value) { return Converted(IsSigned(type_) ? Converted(value, kS64) : value, type_); }
  // In [0, 1), 53 bits.
  Instruction* Unit(Instruction* word) { return Product(Converted(Right(word, 11), kF64), Real(0x1p-53)); }

  // The finaliser of splitmix64.
  Instruction* Mixed(Instruction* x) {
    x = Times(Xor(x, Right(x, 30)), 0xBF58476D1CE4E5B9u);
    x = Times(Xor(x, Right(x, 27)), 0x94D049BB133111EBu);
    return Xor(x, Right(x, 31));
  }

  // The two 64-bit words of each element's block; null is the first one. The block's number takes the top 16 bits of
  // the element's half of the counter.
  std::array<Instruction*, 2> Words(const DrawInputs& inputs, Instruction* block) {
    Instruction* high = Reshaped(Iota(kU64, {ElementCountOf(sizes_)}, 0), sizes_);
    if (block != nullptr) high = Or(high, Spread(Left(block, 48), sizes_));
    Instruction* const stream = Spread(inputs.stream, sizes_);
    Instruction* const key = Spread(inputs.key, sizes_);
    const auto x = PhiloxRounds({Low(stream), High(stream), Low(high), High(high)}, Low(key), High(key));
    return {Joined(x[0], x[1]), Joined(x[2], x[3])};
  }

  const ElementType type_;
  const IntList sizes_;
};

// The loop that draws again as long as a number was refused: block, stream, key, low, high, value, refused.
class Redraw {
 public:
  Redraw(Module& module, const Shape& result) : module_(module), result_(result) {}

  DrawWriter::Uniform Add(DrawWriter& at, const DrawInputs& inputs, const DrawWriter::Uniform& first) {
    Instruction* const one = at.Number(1, inputs.stream);
    Instruction* const state =
        at.TupleOf({one, inputs.stream, inputs.key, inputs.low, inputs.high, first.value, first.refused});
    Instruction* const loop = at.Add(Opcode::kWhile, state->shape(), {state}, NoAttributes{},
                                     {Condition(state->shape()), Body(state->shape())});
    return {at.Element(loop, 5), at.Element(loop, 6)};
  }

 private:
  Computation* Condition(const Shape& state) {
    constexpr int64_t kMostBlocks = 32;  // 64 draws
    Computation* const either = AddCombiner(module_, Opcode::kOr, kPred, "either");
    Computation& condition = *module_.AddComputation("draws_again");
    Expansion in(condition);
    Instruction* const all = in.Parameter(state, 0);
    Instruction* const refused = in.Element(all, 6);
    Instruction* const any = in.Reduce(refused, in.Number(kPred, 0), UpTo(result_.rank()), either);
    Instruction* const block = in.Element(all, 0);
    in.And(any, in.Compare(ComparisonDirection::kLt, block, in.Number(kU64, kMostBlocks)));
    return &condition;
  }

  Computation* Body(const Shape& state) {
    Computation& body = *module_.AddComputation("draw_again");
    Expansion in(body);
    const std::vector<Instruction*> leaves = in.Elements(in.Parameter(state, 0));
    Instruction* const root = in.TupleOf(leaves);
    DrawWriter at(body, root, result_);
    const DrawWriter::Uniform next =
        at.Next({leaves[5], leaves[6]}, {leaves[1], leaves[2], leaves[3], leaves[4]}, leaves[0]);
    root->ReplaceOperand(0, at.Plus(leaves[0], at.Number(1, leaves[0])));
    root->ReplaceOperand(5, next.value);
    root->ReplaceOperand(6, next.refused);
    return &body;
  }

  Module& module_;
  const Shape result_;
};

Instruction* ExpandRng(Module& module, Computation& computation, Instruction* rng) {
  const Shape& shape = rng->shape();
  const bool real = IsFloating(shape.element_type());
  const bool normal = rng->attributes<RngAttributes>().distribution == RngDistribution::kNormal;
  if (IsComplex(shape.element_type()) || (normal && !real)) return nullptr;  // the reference says that it is an error
  DrawWriter at(computation, rng, shape);
  Instruction* const a = rng->operand(0);
  Instruction* const b = rng->operand(1);
  const DrawInputs inputs = at.Begin(rng, a, b);
  if (!real) return at.Integers(inputs, a, b);
  if (normal) return at.Normals(inputs);
  return at.Settled(Redraw(module, shape).Add(at, inputs, at.FirstUniform(inputs)), a, b);
}

bool DrawsNumbers(const Instruction& i) { return IsAnyOf(i.opcode(), Opcode::kRng, Opcode::kRngGetAndUpdateState); }

}  // namespace

void OrderRandomNumbers(Module& module) { KeepOrder(module, DrawsNumbers); }

bool ExpandRngs(Module& module) {
  return ExpandEach(module, [&](Computation& computation, Instruction* instruction) {
    return instruction->opcode() == Opcode::kRng ? ExpandRng(module, computation, instruction) : nullptr;
  });
}

}  // namespace VXLA_NAMESPACE
