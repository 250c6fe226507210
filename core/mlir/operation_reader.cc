#include "core/mlir/import_state.h"

namespace VXLA_NAMESPACE::mlir {

Status OperationReader::ExpectOperands(size_t count) const {
  if (operation_.operands.size() == count) return OkStatus();
  return Error("{} operands, expected {}", operation_.operands.size(), count);
}

Status OperationReader::ExpectOperandsAtLeast(size_t count) const {
  if (operation_.operands.size() >= count) return OkStatus();
  return Error("{} operands, expected {} at least", operation_.operands.size(), count);
}

Status OperationReader::ExpectResults(size_t count) const {
  if (operation_.results.size() == count) return OkStatus();
  return Error("{} results, expected {}", operation_.results.size(), count);
}

Status OperationReader::ExpectRegions(size_t count) const {
  if (operation_.regions.size() == count) return OkStatus();
  return Error("{} regions, expected {}", operation_.regions.size(), count);
}

Result<const Attribute*> OperationReader::Required(std::string_view name) const {
  const Attribute* attribute = operation_.Find(name);
  if (attribute == nullptr) return Error("the attribute {} is missing", name);
  return attribute;
}

Result<int64_t> OperationReader::Int(std::string_view name) const {
  VXLA_ASSIGN_OR_RETURN(const Attribute* const attribute, Required(name));
  if (attribute->kind == Attribute::Kind::kInteger) return attribute->integer;
  return Error("{} is {}, an integer needed", name, PrintAttribute(*attribute));
}

Result<int64_t> OperationReader::Int(std::string_view name, int64_t otherwise) const {
  return operation_.Find(name) == nullptr ? otherwise : Int(name);
}

Result<bool> OperationReader::Bool(std::string_view name, bool otherwise) const {
  const Attribute* attribute = operation_.Find(name);
  if (attribute == nullptr) return otherwise;
  if (attribute->kind == Attribute::Kind::kUnit) return true;
  if (attribute->kind == Attribute::Kind::kBool || attribute->kind == Attribute::Kind::kInteger)
    return attribute->integer != 0;
  return Error("{} is {}, true or false needed", name, PrintAttribute(*attribute));
}

Result<IntList> OperationReader::IntsOf(std::string_view name, const Attribute& attribute) const {
  IntList values;
  if (attribute.kind == Attribute::Kind::kElements && attribute.literal != nullptr) {
    const Literal& literal = *attribute.literal;
    const ElementType type = literal.shape().element_type();
    if (!IsFloating(type) && !IsComplex(type)) {
      if (literal.shape().rank() != attribute.type.shape.rank())
        return Error("{} has {} entries", name, attribute.type.shape.ElementCount());
      if (literal.element_count() > (1 << 20)) return Error("{} has {} entries", name, literal.element_count());
      for (int64_t i = 0; i < literal.element_count(); ++i) values.push_back(literal.GetInt(i));
      return values;
    }
  }
  if (attribute.kind == Attribute::Kind::kArray) {
    for (const Attribute& element : attribute.elements) {
      if (element.kind == Attribute::Kind::kArray) {  // [[1, 2], [3, 4]]
        VXLA_ASSIGN_OR_RETURN(const IntList inner, IntsOf(name, element));
        values.insert(values.end(), inner.begin(), inner.end());
        continue;
      }
      if (element.kind != Attribute::Kind::kInteger && element.kind != Attribute::Kind::kBool)
        return Error("{} holds {}, integers needed", name, PrintAttribute(element));
      values.push_back(element.integer);
    }
    return values;
  }
  return Error("{} is {}, a list of integers needed", name, PrintAttribute(attribute));
}

Result<IntList> OperationReader::Ints(std::string_view name) const {
  VXLA_ASSIGN_OR_RETURN(const Attribute* const attribute, Required(name));
  return IntsOf(name, *attribute);
}

Result<IntList> OperationReader::Ints(std::string_view name, IntList otherwise) const {
  return operation_.Find(name) == nullptr ? otherwise : Ints(name);
}

Result<std::string> OperationReader::Text(std::string_view name) const {
  VXLA_ASSIGN_OR_RETURN(const Attribute* const attribute, Required(name));
  switch (attribute->kind) {
    case Attribute::Kind::kString:
    case Attribute::Kind::kSymbol:
    case Attribute::Kind::kKeyword:
      return attribute->text;
    default:
      return Error("{} is {}, a name needed", name, PrintAttribute(*attribute));
  }
}

Result<std::string> OperationReader::Text(std::string_view name, std::string_view otherwise) const {
  return operation_.Find(name) == nullptr ? std::string(otherwise) : Text(name);
}

Result<int> OperationReader::Word(std::string_view name, std::span<const std::string_view> words, int otherwise) const {
  if (operation_.Find(name) == nullptr && otherwise >= 0) return otherwise;
  VXLA_ASSIGN_OR_RETURN(const std::string text, Text(name));
  std::string all;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == text) return static_cast<int>(i);
    all += (i > 0 ? ", " : "") + std::string(words[i]);
  }
  return Error("{} is {}, expected one of {}", name, text, all);
}

}  // namespace VXLA_NAMESPACE::mlir
