// The text of each kind of attribute field: one ParseValue and one AppendValue per C++ type. Which field belongs to
// which name is told by VisitFields (core/attributes.h) alone.
#pragma once

#include <string>

#include "core/attributes.h"
#include "core/text/lexer.h"

namespace VXLA_NAMESPACE {

// Each is called with the attribute's token ("name=") current and leaves the token after the value current.
Status ParseValue(Lexer& lexer, bool& value);
Status ParseValue(Lexer& lexer, int64_t& value);
Status ParseValue(Lexer& lexer, float& value);
Status ParseValue(Lexer& lexer, std::string& value);  // quoted
Status ParseWord(Lexer& lexer, std::string& value);   // without quotes
Status ParseValue(Lexer& lexer, RawText& value);
Status ParseValue(Lexer& lexer, IntList& value);
Status ParseValue(Lexer& lexer, ComparisonDirection& value);
Status ParseValue(Lexer& lexer, ComparisonType& value);
Status ParseValue(Lexer& lexer, FusionKind& value);
Status ParseValue(Lexer& lexer, FftType& value);
Status ParseValue(Lexer& lexer, RngDistribution& value);
Status ParseValue(Lexer& lexer, RngAlgorithm& value);
Status ParseValue(Lexer& lexer, TransposeKind& value);
Status ParseValue(Lexer& lexer, CallKind& value);
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
void AppendValue(std::string& out, ComparisonDirection value);
void AppendValue(std::string& out, ComparisonType value);
void AppendValue(std::string& out, FusionKind value);
void AppendValue(std::string& out, FftType value);
void AppendValue(std::string& out, RngDistribution value);
void AppendValue(std::string& out, RngAlgorithm value);
void AppendValue(std::string& out, TransposeKind value);
void AppendValue(std::string& out, CallKind value);
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
