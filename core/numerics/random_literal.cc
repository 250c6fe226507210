#include "core/numerics/random_literal.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/data/float_formats.h"

namespace VXLA_NAMESPACE {
namespace {

// Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
std::array<uint32_t, 4> Philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * counter[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return counter;
}

// ln x for x in (0, 1], by the series of atanh on the mantissa; good to about 1e-15. The C library's may differ by
// machine.
double Log(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  const double t = (m - 1) / (m + 1), t2 = t * t;
  double sum = 0;
  for (int k = 31; k >= 1; k -= 2) sum = sum * t2 + 1.0 / k;
  return 2 * t * sum + exponent * 0.69314718055994531;
}

// cos(2 pi x) for x in [0, 1), by its Taylor series on a quarter turn.
double CosTurns(double x) {
  x = std::fabs(x - 0.5);  // cos(2 pi x) = -cos(2 pi |x - 1/2|), the argument now in [0, 1/2]
  const bool flip = x > 0.25;
  const double y = 6.2831853071795865 * (flip ? 0.5 - x : x);
  const double y2 = y * y;
  double term = 1, sum = 1;
  for (int k = 1; k <= 12; ++k) {
    term *= -y2 / ((2 * k - 1) * (2 * k));
    sum += term;
  }
  return flip ? sum : -sum;
}

// A normal deviate (Box and Muller) from two words.
double Normal(uint32_t a, uint32_t b) {
  const double u = (a + 1.0) / 4294967296.0;  // in (0, 1]
  return std::sqrt(-2 * Log(u)) * CosTurns(b / 4294967296.0);
}

using Words = std::array<uint32_t, 4>;

// Draws beside the one that every element has are told apart by the counter's last word.
enum Draw : uint32_t {
  kElement = 0,
  kAgain = 1,
  kOrdinary = 0x40000000,
  kSecondPart = 0x20000000,
  kOrder = 0x80000000
};

class Generator {
 public:
  Generator(uint64_t seed, uint32_t array)
      : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)}, array_(array) {}
  Words operator()(int64_t position, uint32_t draw) const {
    return Philox(
        {static_cast<uint32_t>(position), static_cast<uint32_t>(static_cast<uint64_t>(position) >> 32), array_, draw},
        key_);
  }

 private:
  std::array<uint32_t, 2> key_;
  uint32_t array_;
};

// Of all finite encodings of the type. `draw`, and those that follow it, must be free.
double AnyFinite(ElementType type, const Generator& generator, int64_t i, uint32_t draw) {
  for (;; draw += kAgain) {
    const Words words = generator(i, draw);
    const uint64_t bits = uint64_t{words[1]} << 32 | words[0];
    const double value = DecodeFloat(type, bits & (~uint64_t{0} >> (64 - BitWidth(type))));
    if (std::isfinite(value)) return value;
  }
}

// What a float of the type can be at its edges; those that it cannot be are not among them.
std::vector<double> SpecialFloats(ElementType type) {
  const FloatFormat& format = FormatOf(type);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double most = MaxFinite(type), least_normal = std::ldexp(1.0, 1 - format.bias),
               least = std::ldexp(1.0, 1 - format.bias - format.mantissa_bits);
  std::vector<double> special;
  Literal one(Shape(type, {}));
  const auto add = [&](double value) {
    one.SetDouble(0, value);
    const double kept = one.GetDouble(0);
    const auto same = [](double a, double b) {
      return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
    };
    const bool known = std::ranges::any_of(special, [&](double other) { return same(value, other); });
    if (same(value, kept) && !known) special.push_back(value);
  };
  add(std::numeric_limits<double>::quiet_NaN());
  for (const double magnitude : {kInfinity, 0.0, most, least_normal, least_normal - least, least}) {
    add(magnitude);
    add(-magnitude);
  }
  if (format.specials == FloatSpecials::kExponent) add(std::ldexp(1.0, -format.bias));
  return special;
}

std::vector<int64_t> SpecialIntegers(ElementType type) {
  std::vector<int64_t> special;
  const auto add = [&](int64_t value) {
    if (std::ranges::find(special, value) == special.end()) special.push_back(value);
  };
  if (IsSigned(type)) {
    const int64_t least = MinSigned(type), most = MaxSigned(type);
    for (const int64_t value : {least, most, int64_t{-1}, int64_t{0}, std::min<int64_t>(most, 1), least + 1, most - 1})
      if (least <= value && value <= most) add(value);
  } else {
    const uint64_t most = MaxUnsigned(type);
    for (const uint64_t value : {uint64_t{0}, most, uint64_t{1}, most - 1, most / 2, most / 2 + 1})
      if (value <= most) add(static_cast<int64_t>(value));
  }
  return special;
}

// Elements in blocks, each of which holds every special value at places of its own.
template <typename T>
class SpecialPlaces {
 public:
  SpecialPlaces(std::vector<T> special, const Generator& generator, uint32_t part)
      : special_(std::move(special)), generator_(generator), part_(part) {
    taken_ = special_.size() * std::max<size_t>(1, kBlock / 2 / std::max<size_t>(1, special_.size()));
  }
  // Null: an ordinary value goes there.
  const T* At(int64_t i) {
    const int64_t block = i / kBlock;
    if (block != block_) Deal(block);
    const size_t place = order_[i % kBlock];
    return place < taken_ ? &special_[place % special_.size()] : nullptr;
  }

 private:
  static constexpr int64_t kBlock = 32;

  // Fisher and Yates.
  void Deal(int64_t block) {
    block_ = block;
    for (size_t k = 0; k < order_.size(); ++k) order_[k] = static_cast<uint8_t>(k);
    Words words{};
    for (uint32_t k = 0; k + 1 < order_.size(); ++k) {
      if (k % 4 == 0) words = generator_(block, kOrder + part_ + k / 4);
      const uint32_t left = static_cast<uint32_t>(order_.size()) - k;
      std::swap(order_[k], order_[k + words[k % 4] % left]);
    }
  }

  std::vector<T> special_;
  const Generator& generator_;
  uint32_t part_;
  size_t taken_ = 0;
  int64_t block_ = -1;
  std::array<uint8_t, kBlock> order_{};
};

int64_t SmallInteger(ElementType type, uint32_t word) {
  const uint64_t largest = type == ElementType::kPred ? 1
                           : IsSigned(type)           ? static_cast<uint64_t>(MaxSigned(type))
                                                      : MaxUnsigned(type);
  return static_cast<int64_t>(word % (std::min<uint64_t>(largest, 7) + 1));
}

int64_t AnyInteger(ElementType type, const Words& words) {
  // Storing wraps to the type's width. pred has one bit, and any that is set would do.
  return type == ElementType::kPred ? words[0] & 1 : static_cast<int64_t>(uint64_t{words[1]} << 32 | words[0]);
}

void FillIntegers(Literal& literal, const Generator& generator, ArgumentFill fill) {
  const ElementType type = literal.shape().element_type();
  SpecialPlaces<int64_t> places(
      fill == ArgumentFill::kSpecial && type != ElementType::kPred ? SpecialIntegers(type) : std::vector<int64_t>(),
      generator, 0);
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    const Words words = generator(i, kElement);
    if (fill == ArgumentFill::kSmall || type == ElementType::kPred) {
      literal.SetInt(i, SmallInteger(type, words[0]));
    } else if (const int64_t* special = fill == ArgumentFill::kSpecial ? places.At(i) : nullptr) {
      literal.SetInt(i, *special);
    } else {
      const bool small = fill == ArgumentFill::kSpecial && (words[3] & 1) != 0;
      literal.SetInt(i, small ? SmallInteger(type, words[2]) : AnyInteger(type, words));
    }
  }
}

// One part of numbers of type `real`: part 0 of all, part 1 of complex ones.
class FloatPart {
 public:
  FloatPart(ElementType real, const Generator& generator, ArgumentFill fill, uint32_t part)
      : real_(real),
        generator_(generator),
        fill_(fill),
        part_(part),
        draw_(part * kSecondPart),
        places_(fill == ArgumentFill::kSpecial ? SpecialFloats(real) : std::vector<double>(), generator,
                part * kSecondPart) {}

  double At(int64_t i) {
    if (fill_ == ArgumentFill::kFullRange) return AnyFinite(real_, generator_, i, draw_);
    if (fill_ == ArgumentFill::kSpecial) {
      if (const double* special = places_.At(i)) return *special;
      const Words words = generator_(i, kOrdinary + draw_);
      if ((words[2] & 1) != 0) return AnyFinite(real_, generator_, i, draw_);
      return Normal(words[0], words[1]);
    }
    const Words words = generator_(i, kElement);
    return Normal(words[2 * part_], words[2 * part_ + 1]);
  }

 private:
  ElementType real_;
  const Generator& generator_;
  ArgumentFill fill_;
  uint32_t part_, draw_;
  SpecialPlaces<double> places_;
};

constexpr std::array<std::string_view, 3> kFillNames = {"small", "full-range", "special"};

}  // namespace

std::string_view FillName(ArgumentFill fill) { return kFillNames[static_cast<size_t>(fill)]; }

std::optional<ArgumentFill> ParseFill(std::string_view name) {
  const auto it = std::ranges::find(kFillNames, name);
  if (it == kFillNames.end()) return std::nullopt;
  return static_cast<ArgumentFill>(it - kFillNames.begin());
}

Literal RandomLiteral(const Shape& shape, uint64_t seed, uint32_t array, ArgumentFill fill) {
  Literal literal(shape);
  const ElementType type = shape.element_type();
  const Generator generator(seed, array);
  if (!IsFloating(type) && !IsComplex(type)) {
    FillIntegers(literal, generator, fill);
    return literal;
  }
  FloatPart real(RealPart(type), generator, fill, 0), imaginary(RealPart(type), generator, fill, 1);
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    if (IsFloating(type)) {
      literal.SetDouble(i, real.At(i));
    } else {
      const double re = real.At(i);
      literal.SetComplex(i, {re, imaginary.At(i)});
    }
  }
  return literal;
}

}  // namespace VXLA_NAMESPACE
