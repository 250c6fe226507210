#include "core/mlir/bytecode/tables.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/host/ranges.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

// A body, or its beginning: the number of an attribute or type, and those of its parts.
template <typename Kind, typename... Numbers>
std::string Code(Kind kind, Numbers... numbers) {
  std::string body;
  AppendVarint(body, static_cast<uint64_t>(kind));
  (AppendVarint(body, numbers), ...);
  return body;
}

void AppendInts(std::string& out, std::span<const int64_t> values) {
  AppendVarint(out, values.size());
  for (const int64_t value : values) AppendSignedVarint(out, value);
}

// The bits of an integer or float of a known type.
void AppendBits(std::string& out, ElementType type, uint64_t bits) {
  if (BitWidth(type) <= 8) {
    out += static_cast<char>(bits);
  } else {
    AppendSignedVarint(out, static_cast<int64_t>(bits));
  }
}

uint64_t BitsOf(const Literal& scalar) {
  uint64_t bits = 0;
  std::memcpy(&bits, scalar.bytes().data(), scalar.bytes().size());
  return bits;
}

uint64_t IntegerBits(int64_t value, ElementType type) {
  const int width = BitWidth(type);
  return static_cast<uint64_t>(value) & (width < 64 ? (uint64_t{1} << width) - 1 : ~uint64_t{0});
}

void AppendDouble(std::string& out, double value) {
  AppendBits(out, ElementType::kF64, std::bit_cast<uint64_t>(value));
}

// The payload: i1 packed and 0xff for all true, types below 8 bits in the low bits of a byte; one element for all.
std::string Payload(const Literal& literal, int64_t count) {
  const ElementType type = literal.shape().element_type();
  const auto* bytes = reinterpret_cast<const char*>(literal.bytes().data());
  const size_t size = static_cast<size_t>(StorageBytes(type)), total = literal.bytes().size();
  const bool splat = total > 0 && std::memcmp(bytes, bytes + size, total - size) == 0;
  std::string out(bytes, splat ? size : total);
  if (type == ElementType::kPred) {
    if (count == 1) return out;
    if (splat) return std::string(1, out[0] != 0 ? '\xff' : '\0');
    std::string packed((total + 7) / 8, '\0');
    for (size_t i = 0; i < total; ++i) packed[i / 8] = static_cast<char>(packed[i / 8] | (bytes[i] != 0) << (i % 8));
    return packed;
  }
  if (BitWidth(type) < 8) {
    for (char& c : out) c = static_cast<char>(static_cast<uint64_t>(c) & ((uint64_t{1} << BitWidth(type)) - 1));
  }
  return out;
}

}  // namespace

void AppendVarint(std::string& out, uint64_t value) {
  int more = 0;
  while (more < 8 && value >> (7 * (more + 1)) != 0) ++more;
  if (more == 8) {
    out += '\0';
  } else {
    value = more == 7 ? value : (value << (more + 1)) | (uint64_t{1} << more);
    if (more == 7) out += '\x80';
  }
  const int bytes = more == 7 ? 7 : more == 8 ? 8 : more + 1;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

void AppendSignedVarint(std::string& out, int64_t value) {
  AppendVarint(out, (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
}

Status BytecodeTables::CheckSince(VhloVersion since, std::string_view what) const {
  if (since <= target_) return OkStatus();
  return Unsupported("{} is in VHLO since version {}, {} is asked for", what, since.ToString(), target_.ToString());
}

// ---- types

uint64_t BytecodeTables::ElementNumber(ElementType type) {
  if (IsComplex(type)) return Type_(kVhloDialect, Code(VhloType::kComplex, ElementNumber(RealPart(type))));
  const auto rows = VhloElementTypes();
  return Type_(kVhloDialect, Code(std::ranges::find(rows, type, &VhloElementType::type)->code));
}

Result<uint64_t> BytecodeTables::ShapeNumber(const Shape& shape, bool index) {
  if (shape.IsToken()) return Type_(kVhloDialect, Code(VhloType::kToken));
  if (shape.IsTuple()) {
    std::string body = Code(VhloType::kTuple, shape.tuple_elements().size());
    for (const Shape& element : shape.tuple_elements()) {
      VXLA_ASSIGN_OR_RETURN(const uint64_t number, ShapeNumber(element));
      AppendVarint(body, number);
    }
    return Type_(kVhloDialect, std::move(body));
  }
  Type element(Type::Kind::kElement, Shape(shape.element_type()));
  element.index = index;
  VXLA_ASSIGN_OR_RETURN(const uint64_t element_number, TypeNumber(element));
  std::vector<int64_t> sizes, bounds;
  bool bounded = false;
  for (int i = 0; i < shape.rank(); ++i) {
    const bool dynamic = shape.is_dynamic_dimension(i);
    sizes.push_back(dynamic ? kUnboundedSize : shape.dimension(i));
    bounds.push_back(dynamic ? shape.dimension(i) : kUnboundedSize);
    bounded = bounded || bounds.back() != kUnboundedSize;
  }
  std::string body = Code(bounded ? VhloType::kTensorWithEncoding : VhloType::kTensor);
  if (bounded) {
    std::string encoding = Code(VhloAttribute::kTypeExtensions);
    AppendInts(encoding, bounds);
    AppendVarint(body, Attribute_(kVhloDialect, std::move(encoding)));
  }
  AppendInts(body, sizes);
  AppendVarint(body, element_number);
  return Type_(kVhloDialect, std::move(body));
}

Result<uint64_t> BytecodeTables::TypeNumber(const Type& type) {
  switch (type.kind) {
    case Type::Kind::kNone:
      VXLA_RETURN_IF_ERROR(CheckSince(VhloVersion::Of(1, 6), "the type none"));
      return Type_(kVhloDialect, Code(VhloType::kNone));
    case Type::Kind::kElement: {
      if (type.index) return Type_(kVhloDialect, Code(VhloType::kIndex));
      const ElementType element = type.shape.element_type();
      const ElementType part = IsComplex(element) ? RealPart(element) : element;
      const auto rows = VhloElementTypes();
      const auto row = std::ranges::find(rows, part, &VhloElementType::type);
      if (row == rows.end()) return Unsupported("VHLO has no {}", ElementTypeName(element));
      VXLA_RETURN_IF_ERROR(CheckSince(row->since, ElementTypeName(element)));
      return ElementNumber(element);
    }
    case Type::Kind::kFunction: {
      std::string body = Code(VhloType::kFunction);
      for (const std::vector<Type>* list : {&type.inputs, &type.results}) {
        AppendVarint(body, list->size());
        for (const Type& part : *list) {
          VXLA_ASSIGN_OR_RETURN(const uint64_t number, TypeNumber(part));
          AppendVarint(body, number);
        }
      }
      return Type_(kVhloDialect, std::move(body));
    }
    case Type::Kind::kShape: {
      if (!type.unranked) return ShapeNumber(type.shape, type.index);
      const uint64_t element =
          type.index ? Type_(kVhloDialect, Code(VhloType::kIndex)) : ElementNumber(type.shape.element_type());
      return Type_(kVhloDialect, Code(VhloType::kUnrankedTensor, element));
    }
    case Type::Kind::kOther:
      if (type.text == "tf32") {  // of a dot's algorithm
        VXLA_RETURN_IF_ERROR(CheckSince(VhloVersion::Of(1, 6), "the type tf32"));
        return Type_(kVhloDialect, Code(VhloType::kTf32));
      }
      break;
  }
  return Unsupported("the type {} has no form in bytecode", PrintType(type));
}

// ---- attributes

uint64_t BytecodeTables::StringNumber(std::string_view text) {
  return Attribute_(kVhloDialect, Code(VhloAttribute::kString, strings.NumberOf(std::string(text))));
}

uint64_t BytecodeTables::IntegerNumber(int64_t value, ElementType type) {
  std::string body = Code(VhloAttribute::kInteger, ElementNumber(type));
  AppendBits(body, type, IntegerBits(value, type));
  return Attribute_(kVhloDialect, std::move(body));
}

uint64_t BytecodeTables::FloatNumber(double value, ElementType type) {
  std::string body = Code(VhloAttribute::kFloat, ElementNumber(type));
  AppendBits(body, type, BitsOf(Literal::Scalar(type, value)));
  return Attribute_(kVhloDialect, std::move(body));
}

uint64_t BytecodeTables::BoolNumber(bool value) { return KeywordNumber(VhloAttribute::kBool, value ? 1 : 0); }

uint64_t BytecodeTables::KeywordNumber(VhloAttribute code, uint64_t value) {
  return Attribute_(kVhloDialect, Code(code, value));
}

uint64_t BytecodeTables::ArrayNumber(std::span<const uint64_t> elements) {
  std::string body = Code(VhloAttribute::kArray, elements.size());
  for (const uint64_t element : elements) AppendVarint(body, element);
  return Attribute_(kVhloDialect, std::move(body));
}

uint64_t BytecodeTables::AliasNumber(std::span<const int64_t> output, int64_t operand, std::span<const int64_t> part) {
  std::string body = Code(VhloAttribute::kOutputOperandAlias);
  AppendInts(body, output);
  AppendSignedVarint(body, operand);
  AppendInts(body, part);
  return Attribute_(kVhloDialect, std::move(body));
}

uint64_t BytecodeTables::AccuracyNumber(double atol, double rtol, int64_t ulps, uint64_t mode) {
  std::string body = Code(VhloAttribute::kResultAccuracy);
  AppendDouble(body, atol);
  AppendDouble(body, rtol);
  AppendSignedVarint(body, ulps);
  AppendVarint(body, KeywordNumber(VhloAttribute::kResultAccuracyMode, mode));
  return Attribute_(kVhloDialect, std::move(body));
}

uint64_t BytecodeTables::NoTypeNumber() {
  return Attribute_(kVhloDialect, Code(VhloAttribute::kType, Type_(kVhloDialect, Code(VhloType::kNone))));
}

uint64_t BytecodeTables::I64TensorNumber(const std::vector<int64_t>& sizes, uint64_t element) {
  std::string body = Code(VhloType::kTensor);
  AppendInts(body, sizes);
  AppendVarint(body, element);
  return Type_(kVhloDialect, std::move(body));
}

uint64_t BytecodeTables::IntsNumber(std::span<const int64_t> values, const std::vector<int64_t>& sizes, bool index) {
  const uint64_t element = index ? Type_(kVhloDialect, Code(VhloType::kIndex)) : ElementNumber(ElementType::kS64);
  const Literal literal =
      Literal::FromVector<int64_t>(Shape(ElementType::kS64, {static_cast<int64_t>(values.size())}), values);
  const std::string payload = Payload(literal, literal.element_count());
  return Attribute_(kVhloDialect,
                    Code(VhloAttribute::kTensor, I64TensorNumber(sizes, element), payload.size()) + payload);
}

uint64_t BytecodeTables::BoolsNumber(std::span<const int64_t> values) {
  Literal literal(Shape(ElementType::kPred, {static_cast<int64_t>(values.size())}));
  for (size_t i = 0; i < values.size(); ++i) literal.SetInt(static_cast<int64_t>(i), values[i]);
  const std::string payload = Payload(literal, literal.element_count());
  const uint64_t type = I64TensorNumber({literal.element_count()}, ElementNumber(ElementType::kPred));
  return Attribute_(kVhloDialect, Code(VhloAttribute::kTensor, type, payload.size()) + payload);
}

Result<uint64_t> BytecodeTables::TensorNumber(const Type& type, const Literal& literal) {
  VXLA_ASSIGN_OR_RETURN(const uint64_t number, TypeNumber(type));
  const std::string payload = Payload(literal, type.shape.ElementCount());
  return Attribute_(kVhloDialect, Code(VhloAttribute::kTensor, number, payload.size()) + payload);
}

Result<uint64_t> BytecodeTables::AttributeNumber(const Attribute& attribute) {
  const ElementType element =
      attribute.type.kind == Type::Kind::kElement ? attribute.type.shape.element_type() : ElementType::kS64;
  switch (attribute.kind) {
    case Attribute::Kind::kUnit:
      return BoolNumber(true);
    case Attribute::Kind::kBool:
      return BoolNumber(attribute.integer != 0);
    case Attribute::Kind::kInteger:
      VXLA_RETURN_IF_ERROR(TypeNumber(attribute.type).status());
      return IntegerNumber(attribute.integer, element);
    case Attribute::Kind::kFloat:
      VXLA_RETURN_IF_ERROR(TypeNumber(attribute.type).status());
      return FloatNumber(attribute.real, element);
    case Attribute::Kind::kString:
    case Attribute::Kind::kSymbol:
      return StringNumber(attribute.text);
    case Attribute::Kind::kArray: {
      VXLA_ASSIGN_OR_RETURN(std::vector<uint64_t> elements, Transformed(attribute.elements, [&](const Attribute& part) {
                              return AttributeNumber(part);
                            }));
      return ArrayNumber(elements);
    }
    case Attribute::Kind::kDictionary: {
      std::vector<const NamedAttribute*> entries;
      for (const NamedAttribute& entry : attribute.entries) {
        if (entry.value.kind != Attribute::Kind::kRaw) entries.push_back(&entry);  // other dialects' go
      }
      std::ranges::sort(entries, {}, &NamedAttribute::name);
      std::string body = Code(VhloAttribute::kDictionary, entries.size());
      for (const NamedAttribute* entry : entries) {
        AppendVarint(body, StringNumber(entry->name));
        VXLA_ASSIGN_OR_RETURN(const uint64_t value, AttributeNumber(entry->value));
        AppendVarint(body, value);
      }
      return Attribute_(kVhloDialect, std::move(body));
    }
    case Attribute::Kind::kType: {
      VXLA_ASSIGN_OR_RETURN(const uint64_t type, TypeNumber(attribute.type));
      return Attribute_(kVhloDialect, Code(VhloAttribute::kType, type));
    }
    case Attribute::Kind::kElements:
      if (attribute.literal != nullptr) return TensorNumber(attribute.type, *attribute.literal);
      break;
    case Attribute::Kind::kKeyword:
    case Attribute::Kind::kDialect:
    case Attribute::Kind::kRaw:
      break;
  }
  return Unsupported("the attribute {} has no form in bytecode", PrintAttribute(attribute));
}

// ---- builtin

uint64_t BytecodeTables::UnknownLocation() {
  return Attribute_(kBuiltinDialect, Code(BuiltinAttribute::kUnknownLocation));
}

uint64_t BytecodeTables::BuiltinString(std::string_view text) {
  return Attribute_(kBuiltinDialect, Code(BuiltinAttribute::kString, strings.NumberOf(std::string(text))));
}

uint64_t BytecodeTables::BuiltinInteger(int64_t value, ElementType type) {
  std::string integer = Code(BuiltinType::kInteger, static_cast<uint64_t>(BitWidth(type)) << 2);
  std::string body = Code(BuiltinAttribute::kInteger, Type_(kBuiltinDialect, std::move(integer)));
  AppendBits(body, type, IntegerBits(value, type));
  return Attribute_(kBuiltinDialect, std::move(body));
}

uint64_t BytecodeTables::BuiltinDictionary(NamedNumbers entries) {
  std::ranges::sort(entries);
  std::string body = Code(BuiltinAttribute::kDictionary, entries.size());
  for (const auto& [name, value] : entries) {
    AppendVarint(body, BuiltinString(name));
    AppendVarint(body, value);
  }
  return Attribute_(kBuiltinDialect, std::move(body));
}

}  // namespace VXLA_NAMESPACE::mlir
