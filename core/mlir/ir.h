// A program in MLIR's generic structure, whatever it was read from (text, bytecode): operations by name with their
// values, attributes and regions. core/mlir/importer/importer.h makes a module of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/data/dimension_numbers.h"
#include "core/data/literal.h"
#include "core/data/shape.h"
#include "core/host/ranges.h"
#include "core/ir/opcode.h"

namespace VXLA_NAMESPACE::mlir {

// What the integers of a quantized tensor stand for: (integer - zero_point) * scale.
struct Quantization {
  ElementType storage, expressed;
  int64_t min = 0, max = 0;  // of the integers
  int64_t axis = -1;         // -1: one scale for all
  std::vector<double> scales;
  std::vector<int64_t> zero_points;
};

struct Type {
  enum class Kind : uint8_t {
    kNone,
    kShape,     // tensor<...>, tuple<...>, !stablehlo.token
    kElement,   // i32, f32, index, complex<f32>: `shape` is a scalar of it
    kFunction,  // (inputs) -> (results)
    kOther,     // any other, as written
  };
  Kind kind = Kind::kNone;
  Shape shape;
  bool unranked = false;  // tensor<*xf32>: `shape` is a scalar of its elements
  bool buffer = false;    // memref<...>: a tensor whose memory is its own
  bool index = false;     // `index`, or a tensor of it: what lists and counts places, s64 here
  std::vector<Type> inputs, results;
  std::string text;
  std::shared_ptr<const Quantization> quantization;  // of a tensor, whose shape is that of its integers

  Type() = default;
  Type(Kind of, Shape as) : kind(of), shape(std::move(as)) {}
  Type(Kind of, std::string_view as) : kind(of), text(as) {}
};

struct NamedAttribute;
using Dictionary = std::vector<NamedAttribute>;  // as ordered in the text

struct Attribute {
  enum class Kind : uint8_t {
    kUnit,
    kBool,        // integer
    kInteger,     // integer, of `type`
    kFloat,       // real, of `type`
    kString,      // text
    kSymbol,      // text without '@'
    kKeyword,     // text: LT of #stablehlo<comparison_direction LT>
    kArray,       // elements
    kDictionary,  // entries
    kType,        // type
    kElements,    // dense<...>, array<...> (text: "array"): literal; or else the resource called `text`
    kDialect,     // #dialect.name<...>: text is its name, entries what it holds (key = value), or elements
    kRaw,         // text: what nothing here looks into
  };
  Kind kind = Kind::kUnit;
  int64_t integer = 0;
  double real = 0;
  std::string text;
  std::vector<Attribute> elements;
  Dictionary entries;
  Type type;
  std::shared_ptr<const Literal> literal;  // a scalar: all elements of `type` are that

  Attribute() = default;
  explicit Attribute(Kind of, std::string_view as = {});
  const Attribute* Find(std::string_view name) const;  // among the entries
};

struct NamedAttribute {
  std::string name;
  Attribute value;
};
inline Attribute::Attribute(Kind of, std::string_view as) : kind(of), text(as) {}

const Attribute* FindAttribute(const Dictionary& dictionary, std::string_view name);
void SetAttribute(Dictionary& dictionary, std::string name, Attribute value);
Attribute KeywordAttribute(std::string_view text);
Attribute StringAttribute(std::string_view text);
Attribute IntegerAttribute(int64_t value);
Attribute IntListAttribute(std::span<const int64_t> values);
Attribute TypeAttribute(Type type);
Type IndexType();

// A value: the number of a row of Program::values.
using ValueId = uint32_t;
struct Value {
  Type type;
  std::string name;              // as the text has it, without '%'; may be empty
  SourceLocation location = {};  // of a block's argument in the text
};

struct Operation;
struct Block {
  std::vector<ValueId> arguments;
  std::vector<Operation> operations;
};
struct Region {
  std::vector<Block> blocks;
};

struct Operation {
  std::string name;  // "stablehlo.add"
  std::vector<ValueId> operands, results;
  Dictionary attributes;  // properties among them
  std::vector<Region> regions;
  SourceLocation location;
  // What structured_control.h notes: the loop that a scf.forall became, or that a parallel_insert_slice stood in, and
  // which of its results that writes; -1: none.
  int64_t forall = -1, forall_result = -1;

  const Attribute* Find(std::string_view attribute) const { return FindAttribute(attributes, attribute); }

  // What is wrong with it, or not supported, in messages that name it.
  template <typename... Args>
  Status Error(fmt::format_string<Args...> format, Args&&... args) const {
    return InvalidArgument("{}: {}", name, fmt::format(format, std::forward<Args>(args)...)).At(location);
  }
  template <typename... Args>
  Status NotSupported(fmt::format_string<Args...> format, Args&&... args) const {
    return Unsupported("{}: {}", name, fmt::format(format, std::forward<Args>(args)...)).At(location);
  }
  Status ExpectOperands(size_t count) const;
  Status ExpectOperandsAtLeast(size_t count) const;
  Status ExpectResults(size_t count) const;
  Status ExpectRegions(size_t count) const;

  // What its attributes say.
  Result<const Attribute*> Required(std::string_view key) const;
  Result<int64_t> Int(std::string_view key) const;
  Result<int64_t> Int(std::string_view key, int64_t otherwise) const;
  Result<bool> Bool(std::string_view key, bool otherwise) const;
  // Lists of integers: arrays, array<i64: ...>, dense<...>; absent: `otherwise`.
  Result<IntList> Ints(std::string_view key) const;
  Result<IntList> Ints(std::string_view key, IntList otherwise) const;
  Result<std::string> Text(std::string_view key) const;  // a string, symbol or keyword
  Result<std::string> Text(std::string_view key, std::string_view otherwise) const;
  // A keyword of `words`, by its place among them.
  Result<int> Word(std::string_view key, std::span<const std::string_view> words, int otherwise = -1) const;
  Result<IntList> IntsOf(std::string_view key, const Attribute& list) const;
  // Numbers and lists of them in a dialect attribute; what is absent stays as it is.
  using NumbersPart = std::pair<std::string_view, std::variant<int64_t*, IntList*>>;
  Status ReadParts(const Attribute& numbers, std::initializer_list<NumbersPart> parts) const;
};

// The operations that stand directly in its regions, in order.
template <typename Of>
auto Inside(Of& operation) {
  return Joined(Joined(operation.regions, &Region::blocks), &Block::operations);
}

// Each operand of an operation and of those in its regions.
template <typename Of>
void ForEachOperand(Of& operation, const auto& visit) {
  for (auto& operand : operation.operands) visit(operand);
  for (auto& inner : Inside(operation)) ForEachOperand(inner, visit);
}
// Whether it holds of one of them.
bool AnyOperand(const Operation& operation, const auto& holds) {
  return std::ranges::any_of(operation.operands, holds) ||
         std::ranges::any_of(Inside(operation), [&](const Operation& inner) { return AnyOperand(inner, holds); });
}

// The dimension numbers of a convolution under StableHLO's names.
void VisitParts(auto& numbers, const auto& visit) {
  visit("input_batch_dimension", numbers.input_batch);
  visit("input_feature_dimension", numbers.input_feature);
  visit("input_spatial_dimensions", numbers.input_spatial);
  visit("kernel_input_feature_dimension", numbers.kernel_input_feature);
  visit("kernel_output_feature_dimension", numbers.kernel_output_feature);
  visit("kernel_spatial_dimensions", numbers.kernel_spatial);
  visit("output_batch_dimension", numbers.output_batch);
  visit("output_feature_dimension", numbers.output_feature);
  visit("output_spatial_dimensions", numbers.output_spatial);
}
// Of the attribute dimension_numbers, in the form of texts of today or of older ones.
Result<ConvolutionDimensions> ConvolutionDimensionsOf(const Operation& operation);

struct Program {
  std::vector<Value> values;
  Operation module;                                                                // builtin.module
  std::map<std::string, std::shared_ptr<const HostBytes>, std::less<>> resources;  // of dense_resource

  const Shape& ShapeOf(ValueId value) const { return values[value].type.shape; }
  ValueId NewValue(Type type, std::string_view name = {}) {
    values.push_back({std::move(type), std::string(name)});
    return static_cast<ValueId>(values.size() - 1);
  }
};

// The bytes of a blob as elements of `shape`; a splat where they are one element (core/mlir/dense_text.h: large ones
// stay a scalar).
Result<std::shared_ptr<const Literal>> LiteralFromBytes(const Shape& shape, std::span<const std::byte> bytes);

// The elementwise operation that CHLO has under this name, and StableHLO does not (tan: since a later version).
std::optional<Opcode> ParseChlo(std::string_view name);

// The name of an element type as MLIR has it (f8E4M3FN, ui32, index as s64); and back.
std::optional<ElementType> ParseElementWord(std::string_view word);
std::string_view ElementWord(ElementType type);

// tensor<2x3xf32>, tuple<...>, i32 ...
std::string PrintType(const Shape& shape);
std::string PrintType(const Type& type);
std::string PrintAttribute(const Attribute& attribute);

}  // namespace VXLA_NAMESPACE::mlir
