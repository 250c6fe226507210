#include "backend/cpu/reference/arithmetic/block.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/data/float_formats.h"

namespace VXLA_NAMESPACE {
namespace {

template <typename Stored, typename T>
void Widen(const std::byte* source, int64_t n, T* out) {
  const Stored* from = reinterpret_cast<const Stored*>(source);
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(from[i]);
}

template <typename Stored, typename T>
void Narrow(const T* from, int64_t n, std::byte* target) {
  Stored* to = reinterpret_cast<Stored*>(target);
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<Stored>(from[i]);
}

// Sub-byte integers: one element a byte, zeros above the value's bits.
int64_t SignExtend(uint64_t bits, int width) { return static_cast<int64_t>(bits << (64 - width)) >> (64 - width); }

void LoadSigned(ElementType type, const std::byte* source, int64_t n, int64_t* out) {
  switch (type) {
    case ElementType::kS8:
      return Widen<int8_t>(source, n, out);
    case ElementType::kS16:
      return Widen<int16_t>(source, n, out);
    case ElementType::kS32:
      return Widen<int32_t>(source, n, out);
    case ElementType::kS64:
      return Widen<int64_t>(source, n, out);
    default:
      for (int64_t i = 0; i < n; ++i) out[i] = SignExtend(static_cast<uint64_t>(source[i]), BitWidth(type));
  }
}

void StoreSigned(ElementType type, const int64_t* from, int64_t n, std::byte* target) {
  switch (type) {
    case ElementType::kS8:
      return Narrow<int8_t>(from, n, target);
    case ElementType::kS16:
      return Narrow<int16_t>(from, n, target);
    case ElementType::kS32:
      return Narrow<int32_t>(from, n, target);
    case ElementType::kS64:
      return Narrow<int64_t>(from, n, target);
    default:
      for (int64_t i = 0; i < n; ++i) {
        target[i] = static_cast<std::byte>(static_cast<uint64_t>(from[i]) & MaxUnsigned(type));
      }
  }
}

void LoadUnsigned(ElementType type, const std::byte* source, int64_t n, uint64_t* out) {
  switch (type) {
    case ElementType::kU8:
      return Widen<uint8_t>(source, n, out);
    case ElementType::kU16:
      return Widen<uint16_t>(source, n, out);
    case ElementType::kU32:
      return Widen<uint32_t>(source, n, out);
    case ElementType::kU64:
      return Widen<uint64_t>(source, n, out);
    case ElementType::kPred:
      for (int64_t i = 0; i < n; ++i) out[i] = source[i] != std::byte{0};
      return;
    default:
      for (int64_t i = 0; i < n; ++i) out[i] = static_cast<uint64_t>(source[i]) & MaxUnsigned(type);
  }
}

void StoreUnsigned(ElementType type, const uint64_t* from, int64_t n, std::byte* target) {
  switch (type) {
    case ElementType::kU8:
      return Narrow<uint8_t>(from, n, target);
    case ElementType::kU16:
      return Narrow<uint16_t>(from, n, target);
    case ElementType::kU32:
      return Narrow<uint32_t>(from, n, target);
    case ElementType::kU64:
      return Narrow<uint64_t>(from, n, target);
    case ElementType::kPred:
      for (int64_t i = 0; i < n; ++i) target[i] = static_cast<std::byte>(from[i] != 0);
      return;
    default:
      for (int64_t i = 0; i < n; ++i) target[i] = static_cast<std::byte>(from[i] & MaxUnsigned(type));
  }
}

// f16 and bf16 keep a fast path for normal numbers; zeros, subnormals, infinities and NaNs take the general one.
template <ElementType kType, int kExponentBits, int kMantissaBits>
struct HalfFormat {
  static constexpr uint64_t kMaxExponent = (1 << kExponentBits) - 1;
  static constexpr uint64_t kRebias = 1023 - kMaxExponent / 2;
  static constexpr int kShift = 52 - kMantissaBits;

  static double Decode(uint16_t bits) {
    const uint64_t exponent = (bits >> kMantissaBits) & kMaxExponent;
    if (exponent == 0 || exponent == kMaxExponent) return DecodeNarrowFloat(kType, bits);
    const uint64_t magnitude = bits & 0x7fff;
    return std::bit_cast<double>((uint64_t{bits} >> 15 << 63) | ((magnitude << kShift) + (kRebias << 52)));
  }
  static uint16_t Encode(double value) {
    const uint64_t bits = std::bit_cast<uint64_t>(value);
    const uint64_t exponent = (bits >> 52) & 0x7ff;
    if (exponent <= kRebias || exponent >= kRebias + kMaxExponent) {
      return static_cast<uint16_t>(EncodeNarrowFloat(kType, value));
    }
    const uint64_t magnitude = (bits & ~(uint64_t{1} << 63)) - (kRebias << 52);
    const uint64_t half = (uint64_t{1} << (kShift - 1)) - 1 + ((magnitude >> kShift) & 1);
    // A carry into the exponent is right as it is: the largest finite value rounds up to infinity.
    return static_cast<uint16_t>((bits >> 63 << 15) | ((magnitude + half) >> kShift));
  }
};
using F16 = HalfFormat<ElementType::kF16, 5, 10>;
using BF16 = HalfFormat<ElementType::kBF16, 8, 7>;

// Decoded values of all encodings of a format of 4, 6 or 8 bits.
const std::array<double, 256>& DecodeTable(ElementType type) {
  static const auto tables = [] {
    constexpr int first = static_cast<int>(ElementType::kF4E2M1FN);
    constexpr int last = static_cast<int>(ElementType::kF8E8M0FNU);
    std::array<std::array<double, 256>, last - first + 1> all{};
    for (int t = first; t <= last; ++t) {
      const ElementType type = static_cast<ElementType>(t);
      for (uint32_t bits = 0; bits < 256; ++bits) {
        all[t - first][bits] = DecodeNarrowFloat(type, bits & ((1u << BitWidth(type)) - 1));
      }
    }
    return all;
  }();
  return tables[static_cast<int>(type) - static_cast<int>(ElementType::kF4E2M1FN)];
}

// f32 in a double and back, a NaN's payload below the double's quiet bit (core/data/float_formats.cc): what is only moved
// keeps its bits, which a conversion would make quiet.
double WidenF32(float x) {
  if (x == x) return static_cast<double>(x);
  const uint64_t bits = std::bit_cast<uint32_t>(x);
  return std::bit_cast<double>((bits >> 31 << 63) | (uint64_t{0x7ff8} << 48) | (bits & 0x7fffff) << 28);
}
float NarrowF32(double x) {
  if (x == x) return static_cast<float>(x);
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  const uint32_t payload = static_cast<uint32_t>(bits >> 28) & 0x7fffff;
  const uint32_t sign = static_cast<uint32_t>(bits >> 63 << 31);
  return std::bit_cast<float>(sign | 0x7f800000u | (payload == 0 ? 0x400000u : payload));
}

void LoadReal(ElementType type, const std::byte* source, int64_t n, double* out) {
  const uint16_t* halves = reinterpret_cast<const uint16_t*>(source);
  switch (type) {
    case ElementType::kF32: {
      const float* floats = reinterpret_cast<const float*>(source);
      for (int64_t i = 0; i < n; ++i) out[i] = WidenF32(floats[i]);
      return;
    }
    case ElementType::kF64:
      return Widen<double>(source, n, out);
    case ElementType::kF16:
      for (int64_t i = 0; i < n; ++i) out[i] = F16::Decode(halves[i]);
      return;
    case ElementType::kBF16:
      for (int64_t i = 0; i < n; ++i) out[i] = BF16::Decode(halves[i]);
      return;
    default: {
      const auto& table = DecodeTable(type);
      for (int64_t i = 0; i < n; ++i) out[i] = table[static_cast<uint8_t>(source[i])];
    }
  }
}

void StoreReal(ElementType type, const double* from, int64_t n, std::byte* target) {
  uint16_t* halves = reinterpret_cast<uint16_t*>(target);
  switch (type) {
    case ElementType::kF32: {
      float* floats = reinterpret_cast<float*>(target);
      for (int64_t i = 0; i < n; ++i) floats[i] = NarrowF32(from[i]);
      return;
    }
    case ElementType::kF64:
      return Narrow<double>(from, n, target);
    case ElementType::kF16:
      for (int64_t i = 0; i < n; ++i) halves[i] = F16::Encode(from[i]);
      return;
    case ElementType::kBF16:
      for (int64_t i = 0; i < n; ++i) halves[i] = BF16::Encode(from[i]);
      return;
    default:
      for (int64_t i = 0; i < n; ++i) target[i] = static_cast<std::byte>(EncodeNarrowFloat(type, from[i]));
  }
}

template <typename Stored>
void GatherRaw(const std::byte* source, const int64_t* offsets, int64_t n, std::byte* out) {
  const Stored* from = reinterpret_cast<const Stored*>(source);
  Stored* to = reinterpret_cast<Stored*>(out);
  for (int64_t i = 0; i < n; ++i) to[i] = from[offsets[i]];
}

template <typename Stored>
void ScatterRaw(const std::byte* source, const int64_t* offsets, int64_t n, std::byte* target) {
  const Stored* from = reinterpret_cast<const Stored*>(source);
  Stored* to = reinterpret_cast<Stored*>(target);
  for (int64_t i = 0; i < n; ++i) to[offsets[i]] = from[i];
}

template <typename Stored>
void StridedRaw(const std::byte* source, int64_t stride, int64_t n, std::byte* out) {
  const Stored* from = reinterpret_cast<const Stored*>(source);
  Stored* to = reinterpret_cast<Stored*>(out);
  for (int64_t i = 0; i < n; ++i) to[i] = from[i * stride];
}

struct alignas(8) Bytes16 {
  uint64_t words[2];
};

// Calls f with a type of the storage size.
template <typename F>
void WithStorage(ElementType type, F&& f) {
  switch (StorageBytes(type)) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    case 8:
      return f(uint64_t{});
    default:
      return f(Bytes16{});
  }
}

std::string Astray(const Literal& literal, int64_t at, int64_t n) {
  return fmt::format("elements {} to {} of the {} of {}", at, at + n - 1, literal.element_count(),
                     literal.shape().ToString());
}

void CheckOffsets(const Literal& literal, const int64_t* offsets, int64_t n) {
  const auto count = static_cast<uint64_t>(literal.element_count());
  bool inside = true;  // without a branch, so that the loop is done in vectors
  for (int64_t i = 0; i < n; ++i) inside &= static_cast<uint64_t>(offsets[i]) < count;
  if (inside) return;
  for (int64_t i = 0; i < n; ++i) {
    VXLA_CHECK(static_cast<uint64_t>(offsets[i]) < count, Astray(literal, offsets[i], 1));
  }
}

template <typename T>
void RoundIntegers(ElementType type, T* values, int64_t n) {
  if (type == ElementType::kPred) {
    for (int64_t i = 0; i < n; ++i) values[i] = values[i] != 0;
    return;
  }
  const int unused = 64 - BitWidth(type);
  if (unused == 0) return;
  for (int64_t i = 0; i < n; ++i)
    values[i] = static_cast<T>(static_cast<T>(static_cast<uint64_t>(values[i]) << unused) >> unused);
}

}  // namespace

int64_t CarrierBytes(ElementType type) { return IsComplex(type) ? sizeof(ComplexDouble) : sizeof(double); }

void LoadElements(ElementType type, const std::byte* source, int64_t n, void* carriers) {
  switch (CarrierOf(type)) {
    case Carrier::kInt64:
      return LoadSigned(type, source, n, static_cast<int64_t*>(carriers));
    case Carrier::kUint64:
      return LoadUnsigned(type, source, n, static_cast<uint64_t*>(carriers));
    case Carrier::kDouble:
      return LoadReal(type, source, n, static_cast<double*>(carriers));
    case Carrier::kComplexDouble:
      return LoadReal(RealPart(type), source, 2 * n, static_cast<double*>(carriers));
    case Carrier::kNone:
      return;
  }
}

void StoreElements(ElementType type, const void* carriers, int64_t n, std::byte* target) {
  switch (CarrierOf(type)) {
    case Carrier::kInt64:
      return StoreSigned(type, static_cast<const int64_t*>(carriers), n, target);
    case Carrier::kUint64:
      return StoreUnsigned(type, static_cast<const uint64_t*>(carriers), n, target);
    case Carrier::kDouble:
      return StoreReal(type, static_cast<const double*>(carriers), n, target);
    case Carrier::kComplexDouble:
      return StoreReal(RealPart(type), static_cast<const double*>(carriers), 2 * n, target);
    case Carrier::kNone:
      return;
  }
}

const std::byte* ElementsAt(const Literal& literal, int64_t at, int64_t n) {
  const int size = StorageBytes(literal.shape().element_type());
  const auto count = static_cast<int64_t>(literal.bytes().size()) / size;
  VXLA_CHECK(at >= 0 && n >= 0 && n <= count && at <= count - n, Astray(literal, at, n));
  return literal.bytes().data() + at * size;
}

std::byte* ElementsAt(Literal& literal, int64_t at, int64_t n) {
  return const_cast<std::byte*>(ElementsAt(std::as_const(literal), at, n));
}

void CopyRun(const Literal& source, int64_t from, Literal& target, int64_t to, int64_t n) {
  std::byte* const out = ElementsAt(target, to, n);
  const std::byte* const in = ElementsAt(source, from, n);
  if (n > 0) std::memcpy(out, in, static_cast<size_t>(n * StorageBytes(source.shape().element_type())));
}

void GatherElements(const Literal& source, const int64_t* offsets, int64_t n, void* carriers) {
  CheckOffsets(source, offsets, n);
  const ElementType type = source.shape().element_type();
  Block raw;
  WithStorage(type, [&](auto stored) { GatherRaw<decltype(stored)>(source.bytes().data(), offsets, n, raw.bytes); });
  LoadElements(type, raw.bytes, n, carriers);
}

void ScatterElements(const void* carriers, const int64_t* offsets, int64_t n, Literal& target) {
  CheckOffsets(target, offsets, n);
  const ElementType type = target.shape().element_type();
  Block raw;
  StoreElements(type, carriers, n, raw.bytes);
  WithStorage(type,
              [&](auto stored) { ScatterRaw<decltype(stored)>(raw.bytes, offsets, n, target.mutable_bytes().data()); });
}

void LoadStrided(const Literal& source, int64_t at, int64_t stride, int64_t n, void* carriers) {
  const ElementType type = source.shape().element_type();
  if (stride == 1) return LoadElements(type, ElementsAt(source, at, n), n, carriers);
  if (n <= 0) return;
  ElementsAt(source, at + (n - 1) * stride, 1);
  Block raw;
  WithStorage(type,
              [&](auto stored) { StridedRaw<decltype(stored)>(ElementsAt(source, at, 1), stride, n, raw.bytes); });
  LoadElements(type, raw.bytes, n, carriers);
}

void RoundElements(ElementType type, void* carriers, int64_t n) {
  double* reals = static_cast<double*>(carriers);
  if (IsComplex(type)) return RoundElements(RealPart(type), carriers, 2 * n);
  switch (CarrierOf(type)) {
    case Carrier::kInt64:
      return RoundIntegers(type, static_cast<int64_t*>(carriers), n);
    case Carrier::kUint64:
      return RoundIntegers(type, static_cast<uint64_t*>(carriers), n);
    default:
      break;
  }
  switch (type) {
    case ElementType::kF64:
      return;
    case ElementType::kF32:
      for (int64_t i = 0; i < n; ++i) reals[i] = static_cast<double>(static_cast<float>(reals[i]));
      return;
    case ElementType::kF16:
      for (int64_t i = 0; i < n; ++i) reals[i] = F16::Decode(F16::Encode(reals[i]));
      return;
    case ElementType::kBF16:
      for (int64_t i = 0; i < n; ++i) reals[i] = BF16::Decode(BF16::Encode(reals[i]));
      return;
    default:
      for (int64_t i = 0; i < n; ++i) reals[i] = DecodeNarrowFloat(type, EncodeNarrowFloat(type, reals[i]));
  }
}

namespace {

// The real part where a complex number becomes a real one.
template <typename T, typename From>
T Converted(const From& value) {
  if constexpr (std::is_arithmetic_v<T> && std::is_same_v<From, ComplexDouble>) {
    return static_cast<T>(value.real());
  } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<From, ComplexDouble>) {
    return static_cast<T>(value);
  } else {
    return T(static_cast<typename T::value_type>(value));
  }
}

}  // namespace

template <typename T>
void LoadAs(ElementType type, const std::byte* source, int64_t n, T* out) {
  Block carriers;
  auto convert = [&](auto from) {
    using From = decltype(from);
    for (int64_t at = 0; at < n; at += kBlockSize) {
      const int64_t count = std::min<int64_t>(kBlockSize, n - at);
      LoadElements(type, source + at * StorageBytes(type), count, carriers.bytes);
      const From* values = carriers.as<From>();
      for (int64_t i = 0; i < count; ++i) out[at + i] = Converted<T>(values[i]);
    }
  };
  switch (CarrierOf(type)) {
    case Carrier::kInt64:
      return convert(int64_t{});
    case Carrier::kUint64:
      return convert(uint64_t{});
    case Carrier::kDouble:
      if constexpr (std::is_same_v<T, double>) return LoadReal(type, source, n, out);
      return convert(double{});
    case Carrier::kComplexDouble:
      return convert(ComplexDouble{});
    case Carrier::kNone:
      return;
  }
}
template void LoadAs(ElementType, const std::byte*, int64_t, double*);
template void LoadAs(ElementType, const std::byte*, int64_t, int64_t*);
template void LoadAs(ElementType, const std::byte*, int64_t, uint64_t*);
template void LoadAs(ElementType, const std::byte*, int64_t, std::complex<double>*);

void LoadSplat(const Literal& literal, int64_t at, int64_t n, void* carriers) {
  LoadBlock(literal, at, 1, carriers);
  if (IsComplex(literal.shape().element_type())) {
    std::fill_n(static_cast<ComplexDouble*>(carriers) + 1, n - 1, *static_cast<ComplexDouble*>(carriers));
  } else {
    std::fill_n(static_cast<uint64_t*>(carriers) + 1, n - 1, *static_cast<uint64_t*>(carriers));
  }
}

}  // namespace VXLA_NAMESPACE
