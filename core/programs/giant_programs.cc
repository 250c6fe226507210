#include "core/programs/giant_programs.h"

#include <algorithm>
#include <bit>
#include <numbers>

#include "core/ceil_divide.h"
#include "core/numerics/accuracy.h"
#include "core/programs/matrix_ops.h"
#include "core/programs/program_builder.h"

namespace VXLA_NAMESPACE {
namespace {

using namespace matrix_ops;  // NOLINT: as the programs of library calls
using enum ElementType;

// More parts would take longer to compile than anyone waits.
constexpr int64_t kMostParts = 4096;

XlaOp Block(XlaOp matrices, int64_t row, int64_t row_end, int64_t column, int64_t column_end) {
  return Slice(matrices, {0, row, column}, {Sizes(matrices)[0], row_end, column_end});
}

// l11 = cholesky(a11); l21 = a21 l11^-H; l22 = cholesky(a22 - l21 l21^H): the two factors are of half the size. What is
// taken from the triangle that nobody reads does not matter.
XlaOp CholeskyOfQuarters(XlaOp a, bool lower) {
  const int64_t n = Sizes(a)[1], half = n / 2;
  const XlaOp first = Cholesky(Block(a, 0, half, 0, half), lower);
  const XlaOp side = lower ? Block(a, half, n, 0, half) : Block(a, 0, half, half, n);
  const XlaOp factor = TriangularSolve(first, side, !lower, lower, false, TransposeKind::kAdjoint);
  const XlaOp square = lower ? Product(factor, Adjoint(factor)) : AdjointProduct(factor, factor);
  const XlaOp second = Cholesky(Sub(Block(a, half, n, half, n), square), lower);
  const XlaOp none = Full(a.builder(), TypeOf(a), lower ? IntList{1, half, n - half} : IntList{1, n - half, half}, 0);
  const XlaOp above = ConcatInDim(a.builder(), {first, lower ? none : factor}, 2);
  const XlaOp below = ConcatInDim(a.builder(), {lower ? factor : none, second}, 2);
  return ConcatInDim(a.builder(), {above, below}, 1);
}

// One half of x from half of the matrix; the other from what that half leaves of b.
XlaOp SolutionOfQuarters(XlaOp a, XlaOp b, const TriangularSolveAttributes& how) {
  const int64_t n = Sizes(a)[1], half = n / 2;
  const bool transposed = how.transpose_a != TransposeKind::kNoTranspose;
  const auto part_of_b = [&](int64_t start, int64_t limit) {
    return SliceInDim(b, start, limit, 1, how.left_side ? 1 : 2);
  };
  const auto solve = [&](int64_t start, int64_t limit, XlaOp right) {
    return TriangularSolve(Block(a, start, limit, start, limit), right, how.left_side, how.lower, how.unit_diagonal,
                           how.transpose_a);
  };
  // The quarter that is not zero, as op(a) has it.
  XlaOp corner = how.lower ? Block(a, half, n, 0, half) : Block(a, 0, half, half, n);
  if (how.transpose_a == TransposeKind::kAdjoint) corner = Adjoint(corner);
  if (how.transpose_a == TransposeKind::kTranspose) corner = Transpose(corner, {0, 2, 1});
  // Of op(a) x = b with a lower triangle the first rows depend on no others; of x op(a) = b the last columns.
  const bool first_half_first = (how.lower != transposed) == how.left_side;
  const int64_t start = first_half_first ? 0 : half, limit = first_half_first ? half : n;
  const XlaOp known = solve(start, limit, part_of_b(start, limit));
  const XlaOp taken = how.left_side ? Product(corner, known) : Product(known, corner);
  const int64_t rest = first_half_first ? half : 0, rest_limit = first_half_first ? n : half;
  const XlaOp other = solve(rest, rest_limit, Sub(part_of_b(rest, rest_limit), taken));
  return ConcatInDim(a.builder(), first_half_first ? std::vector{known, other} : std::vector{other, known},
                     how.left_side ? 1 : 2);
}

// Transforms of lines, [lines, n], complex.
class Lines {
 public:
  Lines(bool inverse, int64_t most) : inverse_(inverse), most_(most) {}

  // False: a prime length that is too long.
  static bool CanTransform(int64_t n, int64_t most) {
    return n <= most || n < int64_t{1} << 32 || (Factor(n) > 1 && CanTransform(n / Factor(n), most));
  }

  XlaOp Transform(XlaOp x) const {
    const int64_t n = Sizes(x)[1];
    if (n <= most_) return Fft(x, inverse_ ? FftType::kIfft : FftType::kFft, {n});
    return Factor(n) > 1 ? OfColumnsAndRows(x, Factor(n)) : ByChirp(x);
  }

 private:
  // The largest divisor up to the square root.
  static int64_t Factor(int64_t n) {
    int64_t factor = 1;
    for (int64_t d = 2; d * d <= n; ++d) {
      if (n % d == 0) factor = d;
    }
    return factor;
  }

  // exp(-2 pi i turns / n), of the conjugate's sign for inverse transforms; s64 turns in [0, n). By eighths of a
  // circle, which integers tell apart: no angle is larger than pi / 4, so its rounding moves the result by less than an
  // ulp.
  XlaOp Rotation(XlaOp turns, int64_t n, ElementType type, bool inverse) const {
    XlaBuilder* const b = turns.builder();
    const IntList sizes = Sizes(turns);
    const auto number = [&](int64_t value) { return Spread(ConstantR0<int64_t>(b, value), sizes); };
    XlaOp rest = Mul(turns, number(8));
    const auto beyond = [&](int64_t limit) {
      const XlaOp is = Ge(rest, number(limit));
      rest = Select(is, Sub(rest, number(limit)), rest);
      return is;
    };
    const XlaOp half = beyond(4 * n), quarter = beyond(2 * n), eighth = beyond(n);
    rest = Select(eighth, Sub(number(n), rest), rest);
    const ElementType real = type == kC64 ? kF32 : kF64;
    const double step = std::numbers::pi / 4 / static_cast<double>(n);
    const XlaOp angle = Mul(ConvertElementType(rest, real), Full(b, real, sizes, step));
    const XlaOp cosine = Cos(angle), sine = Sin(angle), swapped = Ne(quarter, eighth);
    const XlaOp x = Select(swapped, sine, cosine), y = Select(swapped, cosine, sine);
    const XlaOp below = inverse ? half : Not(half);
    return Complex(Select(Ne(half, quarter), Neg(x), x), Select(below, Neg(y), y));
  }

  // Element j1 n2 + j2 gives k1 + n1 k2 (the four-step method): transforms over j1, rotations by j2 k1 / n, transforms
  // over j2.
  XlaOp OfColumnsAndRows(XlaOp x, int64_t n1) const {
    const int64_t lines = Sizes(x)[0], n = Sizes(x)[1], n2 = n / n1;
    const ElementType type = TypeOf(x);
    const XlaOp columns = Transpose(Reshape(x, {lines, n1, n2}), {0, 2, 1});
    const XlaOp over_j1 = Reshape(Transform(Reshape(columns, {lines * n2, n1})), {lines, n2, n1});
    XlaBuilder* const b = x.builder();
    const XlaOp turns = Mul(Iota(b, Shape(kS64, {n2, n1}), 0), Iota(b, Shape(kS64, {n2, n1}), 1));
    const XlaOp rotation = BroadcastInDim(Rotation(turns, n, type, inverse_), {lines, n2, n1}, {1, 2});
    const XlaOp rows = Reshape(Transpose(Mul(over_j1, rotation), {0, 2, 1}), {lines * n1, n2});
    return Reshape(Transpose(Reshape(Transform(rows), {lines, n1, n2}), {0, 2, 1}), {lines, n});
  }

  // Bluestein's method: 2 j k = j^2 + k^2 - (k - j)^2 makes of a transform a convolution, done at a power of two.
  XlaOp ByChirp(XlaOp x) const {
    const int64_t lines = Sizes(x)[0], n = Sizes(x)[1];
    const auto m = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(2 * n - 1)));
    const ElementType type = TypeOf(x);
    XlaBuilder* const b = x.builder();
    const XlaOp k = Iota(b, Shape(kU64, {n}), 0);
    const XlaOp turns =
        AsType(Rem(Mul(k, k), Spread(ConstantR0<uint64_t>(b, static_cast<uint64_t>(2 * n)), {n})), kS64);
    const XlaOp chirp = Rotation(turns, 2 * n, type, inverse_);
    const XlaOp zero = Number(b, type, 0);
    const XlaOp back = Conjugate(chirp);
    const XlaOp mirrored = Rev(SliceInDim(back, 1, n, 1, 0), {0});
    const XlaOp kernel = ConcatInDim(b, {PadInDim(back, zero, 0, 0, m - 2 * n + 1), mirrored}, 0);
    const auto along = [&](XlaOp values, int64_t size) { return BroadcastInDim(values, {lines, size}, {1}); };
    const Lines forward(false, most_), backward(true, most_);
    const XlaOp spectrum = forward.Transform(PadInDim(Mul(x, along(chirp, n)), zero, 1, 0, m - n));
    const XlaOp filter = Reshape(forward.Transform(Reshape(kernel, {1, m})), {m});
    const XlaOp convolved = backward.Transform(Mul(spectrum, along(filter, m)));
    const XlaOp result = Mul(SliceInDim(convolved, 0, n, 1, 1), along(chirp, n));
    return inverse_ ? Mul(result, Full(b, type, Sizes(result), 1.0 / static_cast<double>(n))) : result;
  }

  bool inverse_;
  int64_t most_;
};

// One dimension after the other: the real one first going to frequencies, last coming back from them.
class Transforms {
 public:
  Transforms(const FftAttributes& how, int64_t most)
      : how_(how), lines_(how.fft_type == FftType::kIfft || how.fft_type == FftType::kIrfft, most), most_(most) {}

  // [transforms, lengths ...]
  XlaOp Of(XlaOp x) const {
    const auto last = static_cast<int64_t>(how_.fft_length.size());
    if (how_.fft_type == FftType::kRfft) x = FromReal(x);
    for (int64_t d = last; d > 0; --d) {
      const bool real = d == last && (how_.fft_type == FftType::kRfft || how_.fft_type == FftType::kIrfft);
      if (!real) x = Along(x, d);
    }
    return how_.fft_type == FftType::kIrfft ? ToReal(x) : x;
  }

 private:
  XlaOp Along(XlaOp x, int64_t dimension) const {
    IntList order, swapped;
    for (int64_t d = 0; d < static_cast<int64_t>(Sizes(x).size()); ++d) order.push_back(d);
    std::swap(order[dimension], order.back());
    const XlaOp turned = Transpose(x, order);
    return Transpose(Reshape(lines_.Transform(AsLines(turned)), Sizes(turned)), order);
  }

  static XlaOp AsLines(XlaOp x) {
    const IntList sizes = Sizes(x);
    int64_t lines = 1;
    for (size_t d = 0; d + 1 < sizes.size(); ++d) lines *= sizes[d];
    return Reshape(x, {lines, sizes.back()});
  }

  static XlaOp WithLast(XlaOp lines, IntList sizes) {
    sizes.back() = Sizes(lines)[1];
    return Reshape(lines, sizes);
  }

  XlaOp FromReal(XlaOp x) const {
    const int64_t n = how_.fft_length.back();
    const XlaOp lines = AsLines(x);
    if (n <= most_) return WithLast(Fft(lines, FftType::kRfft, {n}), Sizes(x));
    const XlaOp all = lines_.Transform(Complex(lines, Full(x.builder(), TypeOf(x), Sizes(lines), 0)));
    return WithLast(SliceInDim(all, 0, n / 2 + 1, 1, 1), Sizes(x));
  }

  // The frequencies that were left out are conjugates. What the imaginary parts of the first and the middle one give
  // is imaginary.
  XlaOp ToReal(XlaOp x) const {
    const int64_t n = how_.fft_length.back();
    const XlaOp lines = AsLines(x);
    if (n <= most_) return WithLast(Fft(lines, FftType::kIrfft, {n}), Sizes(x));
    const XlaOp others = Conjugate(Rev(SliceInDim(lines, 1, n - n / 2, 1, 1), {1}));
    return WithLast(Real(lines_.Transform(ConcatInDim(x.builder(), {lines, others}, 1))), Sizes(x));
  }

  const FftAttributes& how_;
  Lines lines_;
  int64_t most_;
};

// [1, n]: the best of each part's best; or, where these are many, the first of the sorted row.
std::vector<XlaOp> TopOf(XlaOp row, const TopKAttributes& how, int64_t most) {
  const int64_t n = Sizes(row)[1], parts = CeilDivide(n, most);
  XlaBuilder* const b = row.builder();
  if (2 * parts * how.k > n) {
    const XlaOp sorted = Sort({row, Iota(b, Shape(kS64, {1, n}), 1)}, InOrder(TypeOf(row), how.largest, kS64), 1, true);
    const auto first = [&](int64_t k) { return SliceInDim(GetTupleElement(sorted, k), 0, how.k, 1, 1); };
    return {first(0), ConvertElementType(first(1), kS32)};
  }
  std::vector<XlaOp> values, positions;
  for (int64_t p = 0; p < parts; ++p) {
    const int64_t start = p * (n / parts) + std::min(p, n % parts);
    const int64_t limit = (p + 1) * (n / parts) + std::min(p + 1, n % parts);
    const XlaOp best = TopK(SliceInDim(row, start, limit, 1, 1), how.k, how.largest);
    values.push_back(GetTupleElement(best, 0));
    positions.push_back(Add(GetTupleElement(best, 1), ConstantR0<int32_t>(b, static_cast<int32_t>(start))));
  }
  const XlaOp best = TopK(ConcatInDim(b, values, 1), how.k, how.largest);
  return {GetTupleElement(best, 0), TakeElements(ConcatInDim(b, positions, 1), GetTupleElement(best, 1))};
}

}  // namespace

std::shared_ptr<const Module> SmallerProgramOf(const Instruction& instruction, int64_t most) {
  ProgramBuilder program("parts", instruction);
  std::vector<XlaOp> results;
  const Shape& shape = instruction.operand(0)->shape();
  switch (instruction.opcode()) {
    case Opcode::kCholesky:
    case Opcode::kTriangularSolve: {
      if (Sizes(program.Stacked(0, 2))[0] != 1 || shape.dimension(shape.rank() - 1) < 2) return nullptr;
      // Narrow floats round once.
      const ElementType type = shape.element_type(), carried = IsNarrowFloat(type) ? kF32 : type;
      const XlaOp a = AsType(program.Stacked(0, 2), carried);
      const XlaOp result = instruction.opcode() == Opcode::kCholesky
                               ? CholeskyOfQuarters(a, instruction.attributes<CholeskyAttributes>().lower)
                               : SolutionOfQuarters(a, AsType(program.Stacked(1, 2), carried),
                                                    instruction.attributes<TriangularSolveAttributes>());
      results = {AsType(result, type)};
      break;
    }
    case Opcode::kFft: {
      const auto& how = instruction.attributes<FftAttributes>();
      const int lengths = static_cast<int>(how.fft_length.size());
      const bool longest = std::ranges::all_of(how.fft_length, [&](int64_t n) { return Lines::CanTransform(n, most); });
      const bool one_line = lengths == 1 && how.fft_length[0] <= most;
      if (Sizes(program.Stacked(0, lengths))[0] != 1 || one_line || !longest) return nullptr;
      results = {Transforms(how, most).Of(program.Stacked(0, lengths))};
      break;
    }
    case Opcode::kTopK: {
      const int64_t n = shape.dimension(shape.rank() - 1);
      if (Sizes(program.Stacked(0, 1))[0] != 1 || n <= most || CeilDivide(n, most) > kMostParts) return nullptr;
      results = TopOf(program.Stacked(0, 1), instruction.attributes<TopKAttributes>(), most);
      break;
    }
    default:
      return nullptr;
  }
  Result<std::shared_ptr<const Module>> module = program.Build(results);
  VXLA_CHECK(module.ok(), module.status().message());
  return *std::move(module);
}

}  // namespace VXLA_NAMESPACE
