#include "core/mlir/ir.h"

#include "core/mlir/dense_text.h"

namespace VXLA_NAMESPACE::mlir {

const Attribute* FindAttribute(const Dictionary& dictionary, std::string_view name) {
  const auto found = std::ranges::find(dictionary, name, &NamedAttribute::name);
  return found == dictionary.end() ? nullptr : &found->value;
}

const Attribute* Attribute::Find(std::string_view name) const { return FindAttribute(entries, name); }

void SetAttribute(Dictionary& dictionary, std::string name, Attribute value) {
  const auto found = std::ranges::find(dictionary, name, &NamedAttribute::name);
  if (found != dictionary.end()) {
    found->value = std::move(value);
  } else {
    dictionary.push_back({std::move(name), std::move(value)});
  }
}

Attribute KeywordAttribute(std::string_view text) { return Attribute(Attribute::Kind::kKeyword, text); }

Attribute StringAttribute(std::string_view text) { return Attribute(Attribute::Kind::kString, text); }

Attribute IntegerAttribute(int64_t value) {
  Attribute attribute(Attribute::Kind::kInteger);
  attribute.integer = value;
  attribute.type = Type(Type::Kind::kElement, Shape(ElementType::kS64));
  return attribute;
}

Attribute IntListAttribute(std::span<const int64_t> values) {
  Attribute attribute(Attribute::Kind::kArray);
  for (const int64_t value : values) attribute.elements.push_back(IntegerAttribute(value));
  return attribute;
}

Type IndexType() {
  Type type(Type::Kind::kElement, Shape(ElementType::kS64));
  type.index = true;
  return type;
}

Attribute TypeAttribute(Type type) {
  Attribute attribute(Attribute::Kind::kType);
  attribute.type = std::move(type);
  return attribute;
}

std::optional<Opcode> ParseChlo(std::string_view name) {
  std::string hlo(name);
  std::ranges::replace(hlo, '_', '-');
  const std::optional<Opcode> opcode = ParseOpcode(hlo);
  const bool lacks = opcode && (FactsOf(*opcode).stablehlo_text.empty() || *opcode == Opcode::kTan);
  return lacks && IsElementwise(*opcode) ? opcode : std::nullopt;
}

Result<std::shared_ptr<const Literal>> LiteralFromBytes(const Shape& shape, std::span<const std::byte> bytes) {
  VXLA_RETURN_IF_ERROR(CheckShape(shape));
  const size_t element = static_cast<size_t>(StorageBytes(shape.element_type()));
  const int64_t count = shape.ElementCount();
  const bool splat = bytes.size() == element && count != 1;
  if (!splat && static_cast<int64_t>(bytes.size()) != shape.SizeBytes()) {
    return InvalidArgument("{} bytes for {}, which has {}", bytes.size(), PrintType(shape), shape.SizeBytes());
  }
  const bool keep = splat && count > kMaxExpandedSplat;
  Literal literal = Literal::Uninitialized(keep ? Shape(shape.element_type()) : shape);
  std::byte* to = literal.mutable_bytes().data();
  if (!splat) {
    if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  } else {
    for (int64_t i = keep ? 1 : count; i > 0; --i, to += element) std::memcpy(to, bytes.data(), element);
  }
  // Storage has no bits beyond the type's width.
  const int width = BitWidth(shape.element_type());
  if (width < 8) {
    for (std::byte& b : literal.mutable_bytes()) {
      const int value = std::to_integer<int>(b);
      if (shape.element_type() == ElementType::kPred) {
        b = std::byte(value != 0);
      } else if (IsSigned(shape.element_type())) {
        b = std::byte(
            static_cast<uint8_t>(static_cast<int8_t>(static_cast<uint8_t>(value << (8 - width))) >> (8 - width)));
      } else {
        b = std::byte(value & ((1 << width) - 1));
      }
    }
  }
  return std::make_shared<const Literal>(std::move(literal));
}

}  // namespace VXLA_NAMESPACE::mlir
