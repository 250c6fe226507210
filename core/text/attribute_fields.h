// The text of each kind of attribute field: one ParseValue and one AppendValue per C++ type. Which field belongs to
// which name is told by VisitFields (core/ir/attributes.h) alone.
#pragma once

#include <array>
#include <span>
#include <string>
#include <type_traits>

#include "core/ir/attributes.h"
#include "core/text/lexer.h"

namespace VXLA_NAMESPACE {

// Enums: their texts, in the order of the enumerators.
constexpr auto TextsOf(ComparisonDirection) {
  return std::to_array<std::string_view>({"EQ", "NE", "GE", "GT", "LE", "LT"});
}
constexpr auto TextsOf(ComparisonType) {  // the default is never written
  return std::to_array<std::string_view>({"", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"});
}
constexpr auto TextsOf(FusionKind) {
  return std::to_array<std::string_view>({"kLoop", "kInput", "kOutput", "kCustom"});
}
constexpr auto TextsOf(FftType) { return std::to_array<std::string_view>({"FFT", "IFFT", "RFFT", "IRFFT"}); }
constexpr auto TextsOf(RngDistribution) { return std::to_array<std::string_view>({"rng_uniform", "rng_normal"}); }
constexpr auto TextsOf(RngAlgorithm) {
  return std::to_array<std::string_view>({"rng_default", "rng_three_fry", "rng_philox"});
}
constexpr auto TextsOf(TransposeKind) {
  return std::to_array<std::string_view>({"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"});
}
constexpr auto TextsOf(CallKind) {
  return std::to_array<std::string_view>(
      {"named", "program", "observation", "size_check", "exchange", "device_call", "elsewhere"});
}
constexpr auto TextsOf(PrecisionLevel) { return std::to_array<std::string_view>({"default", "high", "highest"}); }
// At the word, which becomes its place among the texts.
Result<size_t> TakeOneOf(Lexer& lexer, std::span<const std::string_view> texts);

// Each is called with the attribute's token ("name=") current and leaves the token after the value current.
Status ParseValue(Lexer& lexer, bool& value);
Status ParseValue(Lexer& lexer, int64_t& value);
Status ParseValue(Lexer& lexer, float& value);
Status ParseValue(Lexer& lexer, std::string& value);  // quoted
Status ParseWord(Lexer& lexer, std::string& value);   // without quotes
Status ParseValue(Lexer& lexer, RawText& value);
Status ParseValue(Lexer& lexer, IntList& value);
template <typename E>
requires std::is_enum_v<E> Status ParseValue(Lexer& lexer, E& value) {
  lexer.Next();
  VXLA_ASSIGN_OR_RETURN(const size_t place, TakeOneOf(lexer, TextsOf(value)));
  value = static_cast<E>(place);
  return OkStatus();
}
Status ParseValue(Lexer& lexer, std::vector<std::string>& value);  // quoted
Status ParseValue(Lexer& lexer, std::vector<PrecisionLevel>& value);
Status ParseValue(Lexer& lexer, std::vector<SliceDimension>& value);
Status ParseValue(Lexer& lexer, std::vector<PaddingDimension>& value);
Status ParseValue(Lexer& lexer, Window& value);
Status ParseValue(Lexer& lexer, std::optional<Window>& value);
Status ParseValue(Lexer& lexer, std::optional<ConvolutionDimensions>& value);
Status ParseValue(Lexer& lexer, ReplicaGroups& value);
// [2,4]T(1,0): into iota_reshape and iota_transpose.
Status ParseIotaReshape(Lexer& lexer, ReplicaGroups& value);
// The devices 0, 1, ... laid out as iota_reshape, transposed, cut into the groups of iota_dimensions.
Status ExpandIota(Lexer& lexer, ReplicaGroups& value);
Status ParseValue(Lexer& lexer, std::vector<Aliasing>& value);
Status ParseValue(Lexer& lexer, std::optional<int64_t>& value);
Status ParseValue(Lexer& lexer, std::vector<std::pair<int64_t, int64_t>>& value);
Status ParseValue(Lexer& lexer, std::vector<IntList>& value);
Status ParseValue(Lexer& lexer, std::optional<Shape>& value);
Status ParseValue(Lexer& lexer, std::optional<std::vector<Shape>>& value);
Status ParseValue(Lexer& lexer, std::optional<ShapedLiteral>& value);

void AppendValue(std::string& out, bool value);
void AppendValue(std::string& out, int64_t value);
void AppendValue(std::string& out, float value);
void AppendValue(std::string& out, const std::string& value);
void AppendValue(std::string& out, const RawText& value);
void AppendValue(std::string& out, const IntList& value);
template <typename E>
requires std::is_enum_v<E>
void AppendValue(std::string& out, E value) { out += TextsOf(value)[static_cast<size_t>(value)]; }
void AppendValue(std::string& out, const std::vector<std::string>& value);
void AppendValue(std::string& out, const std::vector<PrecisionLevel>& value);
void AppendValue(std::string& out, const std::vector<SliceDimension>& value);
void AppendValue(std::string& out, const std::vector<PaddingDimension>& value);
void AppendValue(std::string& out, const Window& value);
void AppendValue(std::string& out, const ConvolutionDimensions& value);
void AppendValue(std::string& out, const ReplicaGroups& value);
void AppendValue(std::string& out, const std::vector<Aliasing>& value);
void AppendValue(std::string& out, const std::vector<std::pair<int64_t, int64_t>>& value);
void AppendValue(std::string& out, const std::vector<IntList>& value);
void AppendValue(std::string& out, const Shape& value);
void AppendValue(std::string& out, const std::vector<Shape>& value);
void AppendValue(std::string& out, const ShapedLiteral& value);
template <typename T>
void AppendValue(std::string& out, const std::optional<T>& value) {
  if (value) AppendValue(out, *value);
}

// Structs are shared by several opcodes; whether this opcode has the field, and whether it must be stated.
enum class Presence : uint8_t { kUnknown, kOptional, kRequired };
Presence PresenceOf(Opcode opcode, std::string_view field, FieldKind kind);

// The names of the called computations in the order of Instruction::called; a conditional on a branch index and a
// custom-call have a list instead, and async-update and async-done may repeat what their async-start calls.
struct CalledNames {
  std::vector<std::string_view> names;
  std::string_view list;
  bool required = true;
};
CalledNames CalledNamesOf(Opcode opcode);

}  // namespace VXLA_NAMESPACE
