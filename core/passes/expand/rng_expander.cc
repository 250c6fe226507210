// rng-bit-generator as integer operations over counters: ThreeFry2x32 and Philox4x32 of J. Salmon et al., "Parallel
// random numbers: as easy as 1, 2, 3" (SC 2011), with XLA's counters and order of results.
#include <array>

#include "core/passes/base/control_flow.h"
#include "core/passes/expand/counter_bits.h"
#include "core/passes/expand/expanders.h"

namespace VXLA_NAMESPACE {
namespace {

using enum ElementType;

class Generator : private CounterBits {
 public:
  using CounterBits::CounterBits;

  // (state, bits), or null: what has no such form stays.
  Instruction* Expand() {
    const Shape& state = instruction().operand(0)->shape();
    const Shape& result = instruction().shape();
    if (state.element_type() != kU64 || state.ElementCount() < 2 || !result.IsTuple()) return nullptr;
    const Shape& bits = result.tuple_elements().at(1);
    if (IsComplex(bits.element_type()) || bits.element_type() == kPred) return nullptr;
    state_ = Reshaped(instruction().operand(0), {state.ElementCount()});
    const bool three_fry = instruction().attributes<RngBitGeneratorAttributes>().algorithm == RngAlgorithm::kThreeFry;
    Instruction* const values = three_fry ? ThreeFryBits(bits) : PhiloxBits(bits);
    Instruction* const next = Reshaped(three_fry ? AdvancedByThreeFry() : AdvancedByPhilox(), SizesOf(state));
    return TupleOf({next, values});
  }

 private:
  // Word i of the state, for every one of so many calls.
  Instruction* Word(int64_t i, const IntList& sizes) { return Spread(Reshaped(Slice(state_, 0, i, i + 1), {}), sizes); }
  // The numbers of the calls, row by row.
  Instruction* Calls(const IntList& sizes) {
    if (sizes.empty()) return Number(0, Word(0, {}));
    return Reshaped(Iota(kU64, {ElementCountOf(sizes)}, 0), sizes);
  }

  // Values of [outer, calls, inner] side by side: [outer, calls, values, inner].
  Instruction* Interleaved(const std::vector<Instruction*>& values) {
    const IntList sizes = SizesOf(values[0]->shape());
    std::vector<Instruction*> columns;
    for (Instruction* value : values) columns.push_back(Reshaped(value, {sizes[0], sizes[1], 1, sizes[2]}));
    const auto count = static_cast<int64_t>(values.size());
    Instruction* const all = Concatenated(columns, 2);
    return Reshaped(all, {sizes[0], sizes[1] * count, sizes[2]});
  }

  // u32 or u64 as the type that is wanted: narrower ones keep the low bits.
  Instruction* InType(Instruction* bits, const Shape& shape) {
    const ElementType type = shape.element_type();
    bits = Reshaped(bits, SizesOf(shape));
    const int width = BitWidth(type);
    ElementType carrier = kU64;
    for (const ElementType narrow : {kU32, kU16, kU8, kU4, kU2, kU1}) {
      if (BitWidth(narrow) >= width) carrier = narrow;
    }
    if (width < 32) bits = And(bits, Number((uint64_t{1} << width) - 1, bits));
    if (width != BitWidth(bits->shape().element_type())) bits = Converted(bits, carrier);
    if (type == carrier) return bits;
    return Add(Opcode::kBitcastConvert, Shape(type, SizesOf(shape)), {bits});
  }

  std::array<Instruction*, 2> ThreeFry(const IntList& sizes) {
    constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    Instruction* const counter = Plus(Word(1, sizes), Calls(sizes));
    Instruction* const key = Word(0, sizes);
    Instruction* const low = Low(key);
    Instruction* const high = High(key);
    Instruction* const keys[3] = {low, high, Xor(Number(0x1BD11BDA, low), Xor(low, high))};
    Instruction* a = Plus(Low(counter), keys[0]);
    Instruction* b = Plus(High(counter), keys[1]);
    for (uint32_t group = 0; group < 5; ++group) {
      for (const int rotation : kRotations[group % 2]) {
        a = Plus(a, b);
        b = Xor(Rotated(b, rotation), a);
      }
      a = Plus(a, keys[(group + 1) % 3]);
      b = Plus(Plus(b, keys[(group + 2) % 3]), Number(group + 1, b));
    }
    return {a, b};
  }

  // The dimension whose neighbours share one call: the first even one, else the largest.
  static int SplitDimension(const Shape& shape) {
    int largest = 0;
    for (int d = 0; d < shape.rank(); ++d) {
      if (shape.dimension(d) % 2 == 0) return d;
      if (shape.dimension(d) > shape.dimension(largest)) largest = d;
    }
    return largest;
  }

  Instruction* ThreeFryBits(const Shape& shape) {
    if (StorageBytes(shape.element_type()) == 8) {
      calls_ = shape.ElementCount();
      const auto [a, b] = ThreeFry(SizesOf(shape));
      return InType(Joined(a, b), shape);
    }
    if (shape.rank() == 0) {
      calls_ = 1;
      return InType(ThreeFry({})[0], shape);
    }
    const int split = SplitDimension(shape);
    const int64_t size = shape.dimension(split);
    int64_t outer = 1, inner = 1;
    for (int d = 0; d < split; ++d) outer *= shape.dimension(d);
    for (int d = split + 1; d < shape.rank(); ++d) inner *= shape.dimension(d);
    const IntList sizes{outer, (size + 1) / 2, inner};
    calls_ = sizes[0] * sizes[1] * sizes[2];
    const auto [a, b] = ThreeFry(sizes);
    return InType(Slice(Interleaved({a, b}), 1, 0, size), shape);
  }
  Instruction* AdvancedByThreeFry() {
    Literal steps(state_->shape());
    steps.SetInt(1, calls_);
    return Plus(state_, Constant(std::move(steps)));
  }

  // u64[3]: key, counter low, counter high. u64[2]: key and counter low; the key is the counter's high word too.
  bool HasThreeWords() const { return state_->shape().ElementCount() >= 3; }
  Instruction* IsBelow(Instruction* a, Instruction* b) {
    return Converted(Compare(ComparisonDirection::kLt, a, b), kU64);
  }

  // Each call of a 128-bit counter gives four words: four elements, or two of 64 bits.
  Instruction* PhiloxBits(const Shape& shape) {
    const bool wide = StorageBytes(shape.element_type()) == 8;
    const int64_t count = shape.ElementCount(), words = count * (wide ? 2 : 1);
    calls_ = (words + 3) / 4;
    const IntList sizes{1, calls_, 1};
    Instruction* const start = Word(1, sizes);
    Instruction* const counter = Plus(start, Calls(sizes));
    Instruction* const high = Plus(Word(HasThreeWords() ? 2 : 0, sizes), IsBelow(counter, start));
    Instruction* const key0 = Low(Word(0, sizes));
    Instruction* const key1 = High(Word(0, sizes));
    std::array<Instruction*, 4> x = {Low(counter), High(counter), Low(high), High(high)};
    x = PhiloxRounds(x, key0, key1);
    Instruction* bits = Slice(Interleaved({x[0], x[1], x[2], x[3]}), 1, 0, words);
    if (wide) {
      bits = Reshaped(bits, {count, 2});
      bits = Joined(Slice(bits, 1, 0, 1), Slice(bits, 1, 1, 2));
    }
    return InType(bits, shape);
  }
  Instruction* AdvancedByPhilox() {
    Instruction* const low = Slice(state_, 0, 1, 2);
    Instruction* const next = Plus(low, Number(static_cast<uint64_t>(calls_), low));
    std::vector<Instruction*> words{Slice(state_, 0, 0, 1), next};
    const int64_t count = state_->shape().ElementCount();
    if (HasThreeWords()) words.push_back(Plus(Slice(state_, 0, 2, 3), IsBelow(next, low)));
    if (count > 3) words.push_back(Slice(state_, 0, 3, count));
    return Concatenated(words, 0);
  }

  Instruction* state_ = nullptr;
  int64_t calls_ = 0;
};

}  // namespace

bool ExpandRngBitGenerators(Module& module) {
  return ExpandEach(ControlComputations(module), [](Computation& computation, Instruction* instruction) {
    const bool generator = instruction->opcode() == Opcode::kRngBitGenerator;
    return generator ? Generator(computation, instruction).Expand() : nullptr;
  });
}

}  // namespace VXLA_NAMESPACE
