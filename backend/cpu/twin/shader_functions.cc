#include "backend/cpu/twin/shader_functions.h"

#include <fmt/format.h>

#include <cstring>
#include <unordered_map>

#include "backend/cpu/twin/shader_math.h"
#include "core/numerics/accuracy.h"

namespace VXLA_NAMESPACE {
namespace {

using glm::dvec2;
using glm::vec2;

template <auto kFunction, int kImmediates>
struct Loop;

template <typename R, typename... A, R (*kFunction)(A...), int kImmediates>
struct Loop<kFunction, kImmediates> {
  static constexpr int kOperands = static_cast<int>(sizeof...(A)) - kImmediates;
  template <size_t k, typename T>
  static T Argument(const void* const* in, int64_t i, const int* immediates) {
    if constexpr (k < static_cast<size_t>(kOperands)) {
      return static_cast<const T*>(in[k])[i];
    } else {
      return static_cast<T>(immediates[k - kOperands]);
    }
  }
  template <size_t... k>
  static void RunAll(const void* const* in, void* out, int64_t n, const int* immediates, std::index_sequence<k...>) {
    R* results = static_cast<R*>(out);
    for (int64_t i = 0; i < n; ++i) results[i] = kFunction(Argument<k, A>(in, i, immediates)...);
  }
  static void Run(const void* const* in, void* out, int64_t n, const int* immediates) {
    RunAll(in, out, n, immediates, std::make_index_sequence<sizeof...(A)>());
  }
};

template <auto kFunction, int kImmediates = 0>
ShaderFunction Make() {
  return {&Loop<kFunction, kImmediates>::Run, Loop<kFunction, kImmediates>::kOperands, kImmediates};
}

// Not functions of their own in the shaders.
template <typename T>
T SelectOf(bool which, T yes, T no) {
  return which ? yes : no;
}

using Table = std::unordered_map<std::string_view, ShaderFunction>;

Table MakeTable() {
  namespace m = shader_math;
  return {
#define ROW(name) {#name, Make<&m::name>()},
#define WITH(count, name) {#name, Make<&m::name, count>()},
// clang-format off
#define FLOATS(op) ROW(op##_f32) ROW(op##_f64)
#define COMPLEX(op) ROW(op##_c64) ROW(op##_c128)
#define FLOATING(op) FLOATS(op) COMPLEX(op)
#define INTEGERS(op) ROW(op##_i32) ROW(op##_u32) ROW(op##_i64) ROW(op##_u64)
#define REALS(op) FLOATS(op) INTEGERS(op)
#define NUMBERS(op) FLOATING(op) INTEGERS(op)
      NUMBERS(abs) NUMBERS(negate) NUMBERS(sign) NUMBERS(add) NUMBERS(subtract) NUMBERS(multiply) NUMBERS(divide)
      REALS(maximum) REALS(minimum) REALS(clamp) REALS(remainder) NUMBERS(power)
      FLOATING(sqrt) FLOATING(rsqrt) FLOATING(cbrt) FLOATING(exponential) FLOATING(exponential_minus_one)
      FLOATING(logistic)
      FLOATING(log) FLOATING(log_plus_one) FLOATING(tanh) FLOATING(sinh) FLOATING(cosh) FLOATING(asinh) FLOATING(acosh)
      FLOATING(atanh) FLOATING(sine) FLOATING(cosine) FLOATING(tan) FLOATING(asin) FLOATING(acos) FLOATING(atan)
      FLOATING(atan2)
      FLOATS(floor) FLOATS(ceil) FLOATS(round_nearest_even) FLOATS(round_nearest_afz) FLOATS(erf) FLOATING(is_finite)
      FLOATS(erfc) FLOATS(erf_inv) FLOATS(lgamma) FLOATS(digamma)
      INTEGERS(not) INTEGERS(and) INTEGERS(or) INTEGERS(xor) INTEGERS(shift_left) INTEGERS(shift_right_logical)
      INTEGERS(shift_right_arithmetic) INTEGERS(popcnt) INTEGERS(count_leading_zeros) INTEGERS(mulhi)
      ROW(not_pred) ROW(and_pred) ROW(or_pred) ROW(xor_pred) ROW(add_pred) ROW(multiply_pred) ROW(maximum_pred)
      ROW(minimum_pred)
      ROW(clamp_pred)
      ROW(add_wide_f32) ROW(multiply_wide_f32)
      FLOATS(multiply_pair) FLOATS(multiply_into_pair)
      // Those of HasF16Variant.
      ROW(exponential_f16) ROW(exponential_minus_one_f16) ROW(log_f16) ROW(log_plus_one_f16) ROW(logistic_f16)
      ROW(sinh_f16)
      ROW(cosh_f16) ROW(asinh_f16) ROW(acosh_f16) ROW(sine_f16) ROW(cosine_f16) ROW(tan_f16) ROW(acos_f16) ROW(atan_f16)
      ROW(erf_f16) ROW(cbrt_f16) ROW(erfc_f16) ROW(erf_inv_f16) ROW(lgamma_f16) ROW(digamma_f16)
      // Those of HasOddVariant.
      ROW(power_f32_odd) ROW(atan2_f32_odd)
#define COMPARISONS(direction) \
  REALS(compare_##direction) ROW(compare_##direction##_pred) FLOATS(compare_total_##direction)
      COMPARISONS(eq) COMPARISONS(ne) COMPARISONS(ge) COMPARISONS(gt) COMPARISONS(le) COMPARISONS(lt)
      COMPLEX(compare_eq) COMPLEX(compare_ne)
#define WIDTHS(op) WITH(1, op##_i32_width) WITH(1, op##_u32_width)
      WIDTHS(shift_left) WIDTHS(shift_right_logical) WIDTHS(shift_right_arithmetic) WIDTHS(count_leading_zeros)
      WIDTHS(popcnt)
      WIDTHS(mulhi) WITH(2, reduce_precision_f32) WITH(2, reduce_precision_f64)
      ROW(wrap_s1) ROW(wrap_s2) ROW(wrap_s4) ROW(wrap_s8) ROW(wrap_s16) ROW(wrap_u1) ROW(wrap_u2) ROW(wrap_u4)
      ROW(wrap_u8)
      ROW(wrap_u16)
#define NARROW(type) ROW(round_##type) ROW(decode_##type) ROW(encode_##type) ROW(round_from_f64_##type) \
  WITH(2, reduce_precision_##type)
      NARROW(f16) NARROW(bf16) NARROW(f8e5m2) NARROW(f8e4m3) NARROW(f8e3m4) NARROW(f8e4m3fn) NARROW(f8e4m3b11fnuz)
      NARROW(f8e4m3fnuz) NARROW(f8e5m2fnuz) NARROW(f8e8m0fnu) NARROW(f4e2m1fn)
      NARROW(f6e2m3fn) NARROW(f6e3m2fn)
#define CONVERSION(a, b) ROW(convert_##a##_##b) ROW(convert_##b##_##a)
      CONVERSION(f32, i32) CONVERSION(f32, u32) CONVERSION(f32, i64) CONVERSION(f32, u64) CONVERSION(f32, f64)
      CONVERSION(f32, pred) CONVERSION(f64, i32) CONVERSION(f64, u32) CONVERSION(f64, i64) CONVERSION(f64, u64)
      CONVERSION(f64, pred) CONVERSION(i32, u32) CONVERSION(i32, i64) CONVERSION(i32, u64) CONVERSION(i32, pred)
      CONVERSION(u32, i64) CONVERSION(u32, u64) CONVERSION(u32, pred) CONVERSION(i64, u64) CONVERSION(i64, pred)
      CONVERSION(u64, pred) CONVERSION(c64, c128)
      ROW(convert_i32_f32_odd) ROW(convert_u32_f32_odd) ROW(convert_i64_f32_odd) ROW(convert_u64_f32_odd)
      WITH(2, convert_f32_int_saturate) WITH(2, convert_f64_int_saturate)
#define BITCAST(a, b) ROW(bitcast_##a##_##b) ROW(bitcast_##b##_##a)
      BITCAST(f32, i32) BITCAST(f32, u32) BITCAST(i32, u32) BITCAST(f64, i64) BITCAST(f64, u64) BITCAST(i64, u64)
// clang-format on
#undef ROW
#undef WITH
#undef FLOATS
#undef COMPLEX
#undef FLOATING
#undef INTEGERS
#undef REALS
#undef NUMBERS
#undef COMPARISONS
#undef WIDTHS
#undef NARROW
#undef CONVERSION
#undef BITCAST
                                                                                  {"real_c64", Make<&m::real_c64>()},
      {"imag_c64", Make<&m::imag_c64>()},
      {"complex_f32", Make<&m::complex_f32>()},
      {"real_c128", Make<&m::real_c128>()},
      {"imag_c128", Make<&m::imag_c128>()},
      {"complex_f64", Make<&m::complex_f64>()},
      {"imag_f32", Make<&m::imag_f32>()},
      {"imag_f64", Make<&m::imag_f64>()},
      {"convert_f32_c64", Make<&m::convert_f32_c64>()},
      {"convert_f64_c128", Make<&m::convert_f64_c128>()},
      {"select_pred", Make<&SelectOf<bool>>()},
      {"select_i32", Make<&SelectOf<int>>()},
      {"select_u32", Make<&SelectOf<uint32_t>>()},
      {"select_i64", Make<&SelectOf<int64_t>>()},
      {"select_u64", Make<&SelectOf<uint64_t>>()},
      {"select_f32", Make<&SelectOf<float>>()},
      {"select_f64", Make<&SelectOf<double>>()},
      {"select_c64", Make<&SelectOf<vec2>>()},
      {"select_c128", Make<&SelectOf<dvec2>>()},
  };
}

Table& TheTable() {
  static Table table = MakeTable();
  return table;
}

Result<ShaderCall> Call(std::string name, std::array<int, 2> immediates = {}) {
  const ShaderFunction function = FindShaderFunction(name);
  if (function.run == nullptr) return Unsupported("the shaders have no {}", name);
  return ShaderCall{std::move(name), function, immediates};
}

Status Append(std::vector<ShaderCall>& calls, std::string name, std::array<int, 2> immediates = {}) {
  VXLA_ASSIGN_OR_RETURN(ShaderCall call, Call(std::move(name), immediates));
  calls.push_back(std::move(call));
  return OkStatus();
}

Status AppendNarrowing(std::vector<ShaderCall>& calls, ElementType type) {
  if (IsNarrowFloat(type)) return Append(calls, fmt::format("round_{}", ElementTypeName(type)));
  if (IsNarrowInteger(type)) return Append(calls, fmt::format("wrap_{}", ElementTypeName(type)));
  return OkStatus();
}

Status AppendToNarrowInteger(std::vector<ShaderCall>& calls, ElementType from, ElementType to) {
  if (IsFloating(from)) {
    const int low = IsSigned(to) ? static_cast<int>(MinSigned(to)) : 0;
    const int high = static_cast<int>(IsSigned(to) ? MaxSigned(to) : static_cast<int64_t>(MaxUnsigned(to)));
    VXLA_RETURN_IF_ERROR(Append(calls, fmt::format("convert_{}_int_saturate", ShaderSuffix(from)), {low, high}));
    return IsSigned(to) ? OkStatus() : Append(calls, "bitcast_i32_u32");
  }
  if (ShaderSuffix(from) != ShaderSuffix(to)) {
    VXLA_RETURN_IF_ERROR(Append(calls, fmt::format("convert_{}_{}", ShaderSuffix(from), ShaderSuffix(to))));
  }
  return AppendNarrowing(calls, to);
}

Status AppendToNarrowFloat(std::vector<ShaderCall>& calls, ElementType from, ElementType to) {
  if (from == ElementType::kF64) return Append(calls, fmt::format("round_from_f64_{}", ElementTypeName(to)));
  if (!IsFloating(from)) {
    const bool inexact = IsInteger(from) && BitWidth(from) > 16;
    VXLA_RETURN_IF_ERROR(Append(calls, fmt::format("convert_{}_f32{}", ShaderSuffix(from), inexact ? "_odd" : "")));
  }
  return AppendNarrowing(calls, to);
}

Status AppendConversion(std::vector<ShaderCall>& calls, ElementType from, ElementType to) {
  if (from == to) return OkStatus();
  if (IsComplex(from) && !IsComplex(to)) {
    VXLA_RETURN_IF_ERROR(Append(calls, fmt::format("real_{}", ShaderSuffix(from))));
    return AppendConversion(calls, RealPart(from), to);
  }
  if (!IsComplex(from) && IsComplex(to)) {
    VXLA_RETURN_IF_ERROR(AppendConversion(calls, from, RealPart(to)));
    return Append(calls, to == ElementType::kC64 ? "convert_f32_c64" : "convert_f64_c128");
  }
  if (IsNarrowFloat(to)) return AppendToNarrowFloat(calls, from, to);
  if (IsNarrowInteger(to)) return AppendToNarrowInteger(calls, from, to);
  if (ShaderSuffix(from) == ShaderSuffix(to)) return OkStatus();
  return Append(calls, fmt::format("convert_{}_{}", ShaderSuffix(from), ShaderSuffix(to)));
}

std::string ComparisonName(const Instruction& instruction) {
  static constexpr const char* kDirections[] = {"eq", "ne", "ge", "gt", "le", "lt"};
  const auto& attributes = instruction.attributes<CompareAttributes>();
  const ElementType type = instruction.operand(0)->shape().element_type();
  const bool total = attributes.type == ComparisonType::kTotalOrder && IsFloating(type);
  return fmt::format("compare_{}{}_{}", total ? "total_" : "", kDirections[static_cast<int>(attributes.direction)],
                     ShaderSuffix(type));
}

// The operations that are more, or less, than a function of their own name.
Result<bool> AppendSpecial(std::vector<ShaderCall>& calls, const Instruction& instruction) {
  const ElementType result = instruction.shape().element_type();
  const ElementType type = instruction.operand(0)->shape().element_type();
  Status status;
  switch (instruction.opcode()) {
    case Opcode::kConvert:
      status = AppendConversion(calls, type, result);
      break;
    case Opcode::kCompare:
      status = Append(calls, ComparisonName(instruction));
      break;
    case Opcode::kSelect:
      status = Append(calls, fmt::format("select_{}", ShaderSuffix(result)));
      break;
    case Opcode::kComplex:
      status = Append(calls, fmt::format("complex_{}", ShaderSuffix(type)));
      break;
    case Opcode::kReal:
      if (IsComplex(type)) status = Append(calls, fmt::format("real_{}", ShaderSuffix(type)));
      break;
    case Opcode::kImag:
      status = Append(calls, fmt::format("imag_{}", ShaderSuffix(type)));
      break;
    case Opcode::kReducePrecision: {
      const ReducedBits bits = ReducedBitsOf(instruction);
      const std::string_view format = IsNarrowFloat(type) ? ElementTypeName(type) : ShaderSuffix(type);
      status = Append(calls, fmt::format("reduce_precision_{}", format), {bits.exponent, bits.mantissa});
      if (status.ok()) status = AppendNarrowing(calls, result);
      break;
    }
    default:
      return false;
  }
  if (!status.ok()) return status;
  return true;
}

}  // namespace

ShaderCarrier ShaderCarrierOf(ElementType type) {
  if (type == ElementType::kPred) return ShaderCarrier::kPred;
  if (type == ElementType::kC64) return ShaderCarrier::kC64;
  if (type == ElementType::kC128) return ShaderCarrier::kC128;
  if (type == ElementType::kF64) return ShaderCarrier::kF64;
  if (IsFloating(type)) return ShaderCarrier::kF32;
  const bool wide = BitWidth(type) == 64;
  if (IsSigned(type)) return wide ? ShaderCarrier::kI64 : ShaderCarrier::kI32;
  return wide ? ShaderCarrier::kU64 : ShaderCarrier::kU32;
}

int ShaderCarrierBytes(ShaderCarrier carrier) {
  constexpr int kBytes[] = {1, 4, 4, 8, 8, 4, 8, 8, 16};
  return kBytes[static_cast<int>(carrier)];
}

std::string_view ShaderSuffix(ElementType type) {
  constexpr std::string_view kSuffixes[] = {"pred", "i32", "u32", "i64", "u64", "f32", "f64", "c64", "c128"};
  return kSuffixes[static_cast<int>(ShaderCarrierOf(type))];
}

ShaderFunction FindShaderFunction(std::string_view name) {
  const auto it = TheTable().find(name);
  return it == TheTable().end() ? ShaderFunction() : it->second;
}

void ReplaceShaderFunctionForTest(std::string_view name, ShaderLoop replacement) {
  static const Table originals = MakeTable();
  TheTable().at(name).run = replacement != nullptr ? replacement : originals.at(name).run;
}

Result<std::vector<ShaderCall>> ShaderConversion(ElementType from, ElementType to) {
  std::vector<ShaderCall> calls;
  VXLA_RETURN_IF_ERROR(AppendConversion(calls, from, to));
  return calls;
}

Result<std::vector<ShaderCall>> ShaderCallsOf(const Instruction& instruction) {
  std::vector<ShaderCall> calls;
  VXLA_ASSIGN_OR_RETURN(const bool special, AppendSpecial(calls, instruction));
  if (special) return calls;
  const Opcode opcode = instruction.opcode();
  const ElementType type = instruction.operand(0)->shape().element_type();
  std::string name(OpcodeText(opcode));
  for (char& c : name) c = c == '-' ? '_' : c;
  const bool width = IsNarrowInteger(type) && HasWidthVariant(opcode);
  const bool f16 = type == ElementType::kF16 && HasF16Variant(opcode),
             odd = IsNarrowFloat(type) && HasOddVariant(opcode);
  const std::string_view suffix = f16 ? "f16" : (odd ? "f32_odd" : ShaderSuffix(type));
  VXLA_RETURN_IF_ERROR(
      Append(calls, fmt::format("{}_{}{}", name, suffix, width ? "_width" : ""), {width ? BitWidth(type) : 0, 0}));
  VXLA_RETURN_IF_ERROR(AppendNarrowing(calls, instruction.shape().element_type()));
  return calls;
}

namespace {

void LoadNarrowFloats(ElementType type, const std::byte* source, int64_t n, void* carriers) {
  const ShaderFunction decode = FindShaderFunction(fmt::format("decode_{}", ElementTypeName(type)));
  VXLA_CHECK(decode.run != nullptr, "a narrow float without decode_");
  const int bytes = StorageBytes(type);
  uint32_t words[256];
  for (int64_t begin = 0; begin < n; begin += 256) {
    const int64_t count = std::min<int64_t>(256, n - begin);
    for (int64_t i = 0; i < count; ++i) {
      uint32_t word = 0;
      std::memcpy(&word, source + (begin + i) * bytes, static_cast<size_t>(bytes));
      words[i] = word;
    }
    const void* in[] = {words};
    decode.run(in, static_cast<float*>(carriers) + begin, count, nullptr);
  }
}

void StoreNarrowFloats(ElementType type, const void* carriers, int64_t n, std::byte* target) {
  const ShaderFunction encode = FindShaderFunction(fmt::format("encode_{}", ElementTypeName(type)));
  VXLA_CHECK(encode.run != nullptr, "a narrow float without encode_");
  const int bytes = StorageBytes(type);
  uint32_t words[256];
  for (int64_t begin = 0; begin < n; begin += 256) {
    const int64_t count = std::min<int64_t>(256, n - begin);
    const void* in[] = {static_cast<const float*>(carriers) + begin};
    encode.run(in, words, count, nullptr);
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(target + (begin + i) * bytes, &words[i], static_cast<size_t>(bytes));
  }
}

}  // namespace

void LoadShaderCarriers(ElementType type, const std::byte* source, int64_t n, void* carriers) {
  if (n == 0) return;
  if (IsNarrowFloat(type)) return LoadNarrowFloats(type, source, n, carriers);
  const int bytes = StorageBytes(type), bits = BitWidth(type);
  if (type != ElementType::kPred && !IsNarrowInteger(type)) {
    std::memcpy(carriers, source, static_cast<size_t>(n * bytes));
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    uint32_t word = 0;
    std::memcpy(&word, source + i * bytes, static_cast<size_t>(bytes));
    if (type == ElementType::kPred) {
      static_cast<bool*>(carriers)[i] = word != 0;
    } else if (IsSigned(type)) {
      static_cast<int32_t*>(carriers)[i] = static_cast<int32_t>(word << (32 - bits)) >> (32 - bits);
    } else {
      static_cast<uint32_t*>(carriers)[i] = word & ((1u << bits) - 1);
    }
  }
}

void StoreShaderCarriers(ElementType type, const void* carriers, int64_t n, std::byte* target) {
  if (n == 0) return;
  if (IsNarrowFloat(type)) return StoreNarrowFloats(type, carriers, n, target);
  const int bytes = StorageBytes(type), bits = BitWidth(type);
  if (type != ElementType::kPred && !IsNarrowInteger(type)) {
    std::memcpy(target, carriers, static_cast<size_t>(n * bytes));
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t word = type == ElementType::kPred ? static_cast<uint32_t>(static_cast<const bool*>(carriers)[i])
                                                     : static_cast<const uint32_t*>(carriers)[i] & ((1u << bits) - 1);
    std::memcpy(target + i * bytes, &word, static_cast<size_t>(bytes));
  }
}

Result<std::vector<std::byte>> ShaderCarriersOf(const Literal& literal, ElementType type) {
  const ElementType from = literal.shape().element_type();
  VXLA_ASSIGN_OR_RETURN(const std::vector<ShaderCall> calls, ShaderConversion(from, type));
  const int64_t count = literal.element_count();
  std::vector<std::byte> carriers(static_cast<size_t>(count * ShaderCarrierBytes(ShaderCarrierOf(from))));
  LoadShaderCarriers(from, literal.bytes().data(), count, carriers.data());
  for (const ShaderCall& call : calls) {
    std::vector<std::byte> next(static_cast<size_t>(count) * 16);  // no carrier is wider
    const void* in[] = {carriers.data()};
    call.function.run(in, next.data(), count, call.immediates.data());
    carriers = std::move(next);
  }
  carriers.resize(static_cast<size_t>(count * ShaderCarrierBytes(ShaderCarrierOf(type))));
  return carriers;
}

}  // namespace VXLA_NAMESPACE
