// Types and attributes as text.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/mlir/dense_text.h"
#include "core/mlir/ir.h"
#include "core/mlir/lexer.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

constexpr std::pair<std::string_view, ElementType> kElementWords[] = {
    {"i1", ElementType::kPred},
    {"i2", ElementType::kS2},
    {"i4", ElementType::kS4},
    {"i8", ElementType::kS8},
    {"i16", ElementType::kS16},
    {"i32", ElementType::kS32},
    {"i64", ElementType::kS64},
    {"ui1", ElementType::kU1},
    {"ui2", ElementType::kU2},
    {"ui4", ElementType::kU4},
    {"ui8", ElementType::kU8},
    {"ui16", ElementType::kU16},
    {"ui32", ElementType::kU32},
    {"ui64", ElementType::kU64},
    {"f4E2M1FN", ElementType::kF4E2M1FN},
    {"f6E2M3FN", ElementType::kF6E2M3FN},
    {"f6E3M2FN", ElementType::kF6E3M2FN},
    {"f8E3M4", ElementType::kF8E3M4},
    {"f8E4M3", ElementType::kF8E4M3},
    {"f8E4M3FN", ElementType::kF8E4M3FN},
    {"f8E4M3B11FNUZ", ElementType::kF8E4M3B11FNUZ},
    {"f8E4M3FNUZ", ElementType::kF8E4M3FNUZ},
    {"f8E5M2", ElementType::kF8E5M2},
    {"f8E5M2FNUZ", ElementType::kF8E5M2FNUZ},
    {"f8E8M0FNU", ElementType::kF8E8M0FNU},
    {"f16", ElementType::kF16},
    {"bf16", ElementType::kBF16},
    {"f32", ElementType::kF32},
    {"f64", ElementType::kF64},
    // Other words for the same, read only.
    {"si2", ElementType::kS2},
    {"si4", ElementType::kS4},
    {"si8", ElementType::kS8},
    {"si16", ElementType::kS16},
    {"si32", ElementType::kS32},
    {"si64", ElementType::kS64},
    {"index", ElementType::kS64},
};

}  // namespace

std::optional<ElementType> ParseElementWord(std::string_view word) {
  const auto found = std::ranges::find(kElementWords, word, [](const auto& pair) { return pair.first; });
  if (found == std::end(kElementWords)) return std::nullopt;
  return found->second;
}

std::string_view ElementWord(ElementType type) {
  if (type == ElementType::kS1) return "i1";
  return std::ranges::find(kElementWords, type, [](const auto& pair) { return pair.second; })->first;
}

namespace {

std::string ElementText(ElementType type) {
  if (type == ElementType::kC64) return "complex<f32>";
  if (type == ElementType::kC128) return "complex<f64>";
  return std::string(ElementWord(type));
}

std::string JoinTypes(const std::vector<Type>& types) {
  std::string out = "(";
  for (size_t i = 0; i < types.size(); ++i) out += (i > 0 ? ", " : "") + PrintType(types[i]);
  return out + ")";
}

std::string PrintEntries(const Dictionary& entries) {
  std::string out = "{";
  for (const NamedAttribute& entry : entries) {
    if (out.size() > 1) out += ", ";
    const bool bare = !entry.name.empty() &&
                      entry.name.find_first_not_of(
                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$") == std::string::npos;
    out += bare ? entry.name : QuoteMlir(entry.name);
    if (entry.value.kind != Attribute::Kind::kUnit) out += " = " + PrintAttribute(entry.value);
  }
  return out + "}";
}

std::string PrintElements(const Attribute& attribute) {
  if (attribute.literal == nullptr)
    return fmt::format("dense_resource<{}> : {}", attribute.text, PrintType(attribute.type));
  if (attribute.text != "array")
    return fmt::format("dense<{}> : {}", PrintDense(*attribute.literal), PrintType(attribute.type));
  const Literal& literal = *attribute.literal;
  const ElementType type = literal.shape().element_type();
  std::string out = "array<" + ElementText(type);
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    out += i == 0 ? ": " : ", ";
    if (IsFloating(type)) {
      out += fmt::format("{:#}", literal.GetDouble(i));
    } else if (type == ElementType::kPred) {
      out += literal.GetInt(i) != 0 ? "true" : "false";
    } else {
      out += fmt::format("{}", literal.GetInt(i));
    }
  }
  return out + ">";
}

}  // namespace

namespace {

std::string PrintShape(const Shape& shape, std::string_view element);

}  // namespace

std::string PrintType(const Shape& shape) { return PrintShape(shape, {}); }

namespace {

// `element`: where it is not the shape's.
std::string PrintShape(const Shape& shape, std::string_view element) {
  if (shape.IsToken()) return "!stablehlo.token";
  if (shape.IsTuple()) {
    std::string out = "tuple<";
    for (size_t i = 0; i < shape.tuple_elements().size(); ++i)
      out += (i > 0 ? ", " : "") + PrintType(shape.tuple_elements()[i]);
    return out + ">";
  }
  if (!shape.IsArray()) return "!opaque";
  std::string out = "tensor<", bounds;
  bool bounded = false;
  for (int i = 0; i < shape.rank(); ++i) {
    const bool known = shape.dimension(i) != kUnboundedSize;
    const bool dynamic = shape.is_dynamic_dimension(i);
    out += dynamic ? "?x" : fmt::format("{}x", shape.dimension(i));
    bounds += (i > 0 ? ", " : "") + (dynamic && known ? fmt::format("{}", shape.dimension(i)) : "?");
    bounded = bounded || (dynamic && known);
  }
  out += element.empty() ? ElementText(shape.element_type()) : std::string(element);
  if (bounded) out += ", #stablehlo.bounds<" + bounds + ">";
  return out + ">";
}

std::string ElementText(const Type& type) { return type.index ? "index" : ElementText(type.shape.element_type()); }

}  // namespace

std::string PrintType(const Type& type) {
  switch (type.kind) {
    case Type::Kind::kShape:
      if (type.quantization != nullptr) return type.text;
      if (type.buffer) return "memref" + PrintShape(type.shape, "").substr(std::string_view("tensor").size());
      return type.unranked ? "tensor<*x" + ElementText(type) + ">" : PrintShape(type.shape, type.index ? "index" : "");
    case Type::Kind::kElement:
      return ElementText(type);
    case Type::Kind::kFunction:
      return JoinTypes(type.inputs) + " -> " + JoinTypes(type.results);
    case Type::Kind::kOther:
      return type.text;
    case Type::Kind::kNone:
      return "none";
  }
  return "none";
}

std::string PrintAttribute(const Attribute& attribute) {
  switch (attribute.kind) {
    case Attribute::Kind::kUnit:
      return "unit";
    case Attribute::Kind::kBool:
      return attribute.integer != 0 ? "true" : "false";
    case Attribute::Kind::kInteger: {
      const bool is_unsigned = IsUnsigned(attribute.type.shape.element_type());
      return (is_unsigned ? fmt::format("{}", static_cast<uint64_t>(attribute.integer))
                          : fmt::format("{}", attribute.integer)) +
             " : " + PrintType(attribute.type);
    }
    case Attribute::Kind::kFloat:
      return fmt::format("{:#} : {}", attribute.real, PrintType(attribute.type));
    case Attribute::Kind::kString:
      return QuoteMlir(attribute.text);
    case Attribute::Kind::kSymbol:
      return "@" + attribute.text;
    case Attribute::Kind::kKeyword:
    case Attribute::Kind::kRaw:
      return attribute.text;
    case Attribute::Kind::kArray: {
      std::string out = "[";
      for (const Attribute& element : attribute.elements) out += (out.size() > 1 ? ", " : "") + PrintAttribute(element);
      return out + "]";
    }
    case Attribute::Kind::kDictionary:
      return PrintEntries(attribute.entries);
    case Attribute::Kind::kType:
      return PrintType(attribute.type);
    case Attribute::Kind::kElements:
      return PrintElements(attribute);
    case Attribute::Kind::kDialect:
      return "#" + attribute.text + "<...>";
  }
  return {};
}

}  // namespace VXLA_NAMESPACE::mlir
