// What a bytecode file that is being written refers to by number: strings, attributes and types, each once.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "core/mlir/bytecode/vhlo.h"

namespace VXLA_NAMESPACE::mlir {

void AppendVarint(std::string& out, uint64_t value);
void AppendSignedVarint(std::string& out, int64_t value);

// Different texts in the order they were first asked for.
class Numbering {
 public:
  uint64_t NumberOf(std::string text) {
    const auto [place, added] = numbers_.emplace(std::move(text), texts_.size());
    if (added) texts_.push_back(&place->first);
    return place->second;
  }
  const std::vector<const std::string*>& texts() const { return texts_; }

 private:
  std::unordered_map<std::string, uint64_t> numbers_;
  std::vector<const std::string*> texts_;
};

// The dialects of a file, by their numbers in it.
inline constexpr char kBuiltinDialect = 0, kVhloDialect = 1;
inline constexpr std::string_view kBytecodeDialects[] = {"builtin", "vhlo"};

// Attributes by name: their numbers.
using NamedNumbers = std::vector<std::pair<std::string, uint64_t>>;

class BytecodeTables {
 public:
  explicit BytecodeTables(VhloVersion target) : target_(target) {}

  // Numbers of: strings; bodies of attributes and types, behind the dialect they are of.
  Numbering strings, attributes, types;

  Result<uint64_t> TypeNumber(const Type& type);
  Result<uint64_t> AttributeNumber(const Attribute& attribute);  // by its kind
  Result<uint64_t> TensorNumber(const Type& type, const Literal& literal);
  uint64_t IntsNumber(std::span<const int64_t> values, const std::vector<int64_t>& sizes, bool index = false);
  uint64_t BoolsNumber(std::span<const int64_t> values);
  uint64_t StringNumber(std::string_view text);
  uint64_t IntegerNumber(int64_t value, ElementType type);
  uint64_t FloatNumber(double value, ElementType type);
  uint64_t BoolNumber(bool value);
  uint64_t KeywordNumber(VhloAttribute code, uint64_t value);
  uint64_t ArrayNumber(std::span<const uint64_t> elements);
  uint64_t AliasNumber(std::span<const int64_t> output, int64_t operand, std::span<const int64_t> part);
  uint64_t AccuracyNumber(double atol, double rtol, int64_t ulps, uint64_t mode);
  uint64_t NoTypeNumber();  // type_v1 of none

  uint64_t UnknownLocation();
  // Of names, which are sorted, and numbers of attributes.
  uint64_t BuiltinDictionary(NamedNumbers entries);
  uint64_t BuiltinString(std::string_view text);
  uint64_t BuiltinInteger(int64_t value, ElementType type);

 private:
  uint64_t Attribute_(char dialect, std::string body) { return attributes.NumberOf(dialect + std::move(body)); }
  uint64_t Type_(char dialect, std::string body) { return types.NumberOf(dialect + std::move(body)); }
  uint64_t ElementNumber(ElementType type);
  uint64_t I64TensorNumber(const std::vector<int64_t>& sizes, uint64_t element);
  Status CheckSince(VhloVersion since, std::string_view what) const;
  Result<uint64_t> ShapeNumber(const Shape& shape, bool index = false);  // index: of a tensor of those

  VhloVersion target_;
};

}  // namespace VXLA_NAMESPACE::mlir
