#include "backend/vulkan/codegen/statements/carriers.h"

#include <fmt/format.h>

#include <bit>
#include <complex>
#include <cstring>

#include "core/data/float_formats.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

uint64_t BitsOf(const void* bytes, int count) {
  uint64_t bits = 0;
  std::memcpy(&bits, bytes, static_cast<size_t>(count));
  return bits;
}

std::string FloatText(uint32_t bits) { return fmt::format("uintBitsToFloat(0x{:08x}u)", bits); }
// A 64-bit value from its words, the high one first.
std::string WordsText(std::string_view suffix, uint64_t bits) {
  return fmt::format("from_words_{}(0x{:08x}u, 0x{:08x}u)", suffix, static_cast<uint32_t>(bits >> 32),
                     static_cast<uint32_t>(bits));
}

}  // namespace

std::string_view CarrierSuffix(ElementType type) {
  if (type == ElementType::kPred) return "pred";
  if (type == ElementType::kC64) return "c64";
  if (type == ElementType::kC128) return "c128";
  if (type == ElementType::kF64) return "f64";
  if (IsFloating(type)) return "f32";
  const bool wide = BitWidth(type) == 64;
  return IsSigned(type) ? (wide ? "i64" : "i32") : (wide ? "u64" : "u32");
}

std::string_view CarrierType(ElementType type) {
  if (type == ElementType::kPred) return "bool";
  if (type == ElementType::kC64) return "vec2";
  if (type == ElementType::kC128) return "c128_t";
  if (type == ElementType::kF64) return "f64_t";
  if (IsFloating(type)) return "float";
  const bool wide = BitWidth(type) == 64;
  return IsSigned(type) ? (wide ? "i64_t" : "int") : (wide ? "u64_t" : "uint");
}

bool HasWideCarrier(ElementType type) {
  return RealPart(type) == ElementType::kF64 || (IsInteger(type) && BitWidth(type) == 64);
}

bool ShuffleTakes(ElementType type) {
  const std::string_view suffix = CarrierSuffix(type);
  return suffix == "f32" || suffix == "i32" || suffix == "u32" || suffix == "pred" || suffix == "c64";
}

std::string ZeroText(ElementType type) {
  if (type == ElementType::kPred) return "false";
  if (type == ElementType::kC128) return "complex_f64(from_words_f64(0u, 0u), from_words_f64(0u, 0u))";
  if (HasWideCarrier(type)) return fmt::format("from_words_{}(0u, 0u)", CarrierSuffix(type));
  return fmt::format("{}(0)", CarrierType(type));
}

std::string SumText(ElementType type, const std::string& a, const std::string& b) {
  if (type == ElementType::kPred) return fmt::format("{} || {}", a, b);
  if (HasWideCarrier(type)) return fmt::format("add_{}({}, {})", CarrierSuffix(type), a, b);
  return fmt::format("{} + {}", a, b);
}

std::string ProductText(ElementType type, const std::string& a, const std::string& b) {
  if (type == ElementType::kPred) return fmt::format("{} && {}", a, b);
  if (HasWideCarrier(type) || IsComplex(type)) return fmt::format("multiply_{}({}, {})", CarrierSuffix(type), a, b);
  return fmt::format("{} * {}", a, b);
}

std::string_view StorageTag(ElementType type) {
  if (StorageBytes(type) == 1) return "u8";
  if (StorageBytes(type) == 2) return "u16";
  return CarrierSuffix(type);
}

std::string FromStorage(ElementType type, const std::string& stored) {
  if (type == ElementType::kPred) return fmt::format("({} != 0u)", stored);
  if (IsNarrowFloat(type)) return fmt::format("decode_{}({})", ElementTypeName(type), stored);
  if (!IsNarrowInteger(type)) return stored;
  const int unused = 32 - BitWidth(type);
  if (IsSigned(type)) return fmt::format("(int({} << {}) >> {})", stored, unused, unused);
  return BitWidth(type) < 8 ? fmt::format("({} & {}u)", stored, MaxUnsigned(type)) : stored;
}

std::string ToStorage(ElementType type, const std::string& value) {
  if (type == ElementType::kPred) return fmt::format("({} ? 1u : 0u)", value);
  if (IsNarrowFloat(type)) return fmt::format("encode_{}({})", ElementTypeName(type), value);
  if (!IsNarrowInteger(type)) return value;
  return fmt::format("(uint({}) & {}u)", value, (uint64_t{1} << BitWidth(type)) - 1);
}

std::string Narrowed(ElementType type, const std::string& value) {
  if (IsNarrowFloat(type)) return fmt::format("round_{}({})", ElementTypeName(type), value);
  if (IsNarrowInteger(type)) return fmt::format("wrap_{}({})", ElementTypeName(type), value);
  return value;
}

std::string ConstantText(ElementType type, const void* bytes) {
  const uint64_t bits = BitsOf(bytes, std::min(StorageBytes(type), 8));
  switch (type) {
    case ElementType::kPred:
      return bits != 0 ? "true" : "false";
    case ElementType::kF32:
      return FloatText(static_cast<uint32_t>(bits));
    case ElementType::kF64:
      return WordsText("f64", bits);
    case ElementType::kC64:
      return fmt::format("vec2({}, {})", FloatText(static_cast<uint32_t>(bits)),
                         FloatText(static_cast<uint32_t>(bits >> 32)));
    case ElementType::kC128:
      return fmt::format("complex_f64({}, {})", WordsText("f64", bits),
                         WordsText("f64", BitsOf(static_cast<const char*>(bytes) + 8, 8)));
    default:
      break;
  }
  if (IsNarrowFloat(type)) {
    const float value = static_cast<float>(DecodeNarrowFloat(type, static_cast<uint32_t>(bits)));
    return FloatText(std::bit_cast<uint32_t>(value));
  }
  const int width = BitWidth(type);
  if (width == 64) return WordsText(CarrierSuffix(type), bits);
  if (IsUnsigned(type)) return fmt::format("{}u", bits & MaxUnsigned(type));
  const int64_t value = static_cast<int64_t>(bits << (64 - width)) >> (64 - width);
  // The most negative int has no literal of its own.
  return value >= 0 ? fmt::format("{}", value) : fmt::format("int(0x{:x}u)", static_cast<uint32_t>(value));
}

std::string ConstantText(const Literal& scalar, bool every) {
  const ElementType type = scalar.shape().element_type();
  const std::byte* const bytes = scalar.bytes().data();
  const auto unknown = [](uint32_t word) { return fmt::format("unknown_u32({}u)", word); };
  const auto part = [&](double value, const std::byte* at) {
    const ElementType real = RealPart(type);
    if (value != 0 && !every) return ConstantText(real, at);
    if (real != ElementType::kF64)
      return fmt::format("uintBitsToFloat({})", unknown(std::bit_cast<uint32_t>(static_cast<float>(value))));
    const auto bits = std::bit_cast<uint64_t>(value);
    const auto low = static_cast<uint32_t>(bits);
    return fmt::format("from_words_f64({}, {})", unknown(static_cast<uint32_t>(bits >> 32)),
                       low == 0 ? "0u" : unknown(low));
  };
  if (IsFloating(type)) return part(scalar.GetDouble(0), bytes);
  if (!IsComplex(type)) return ConstantText(type, bytes);
  const std::complex<double> value = scalar.GetComplex(0);
  return fmt::format("{}({}, {})", type == ElementType::kC64 ? "vec2" : "complex_f64", part(value.real(), bytes),
                     part(value.imag(), bytes + StorageBytes(type) / 2));
}

std::string UnknownText(ElementType type, const std::string& value) {
  return fmt::format("unknown_{}({})", CarrierSuffix(type), value);
}

Status CheckElementType(ElementType type) {
  return IsArrayElement(type) ? OkStatus() : Unsupported("{} values have no kernels", ElementTypeName(type));
}

bool IsPacked(ElementType type, const DeviceFacts& facts) {
  return (StorageBytes(type) == 1 && !facts.storage8) || (StorageBytes(type) == 2 && !facts.storage16);
}

bool IsEmulated(ElementType type, const DeviceFacts& facts) {
  if (IsPacked(type, facts)) return true;
  if (RealPart(type) == ElementType::kF64) return !facts.float64;
  return IsInteger(type) && BitWidth(type) == 64 && !facts.int64;
}

}  // namespace VXLA_NAMESPACE::vulkan
