#include <fmt/format.h>

#include <algorithm>

#include "core/host/ranges.h"
#include "core/mlir/ir.h"

namespace VXLA_NAMESPACE::mlir {

Status Operation::ExpectOperands(size_t count) const {
  if (operands.size() == count) return OkStatus();
  return Error("{} operands, expected {}", operands.size(), count);
}

Status Operation::ExpectOperandsAtLeast(size_t count) const {
  if (operands.size() >= count) return OkStatus();
  return Error("{} operands, expected {} at least", operands.size(), count);
}

Status Operation::ExpectResults(size_t count) const {
  if (results.size() == count) return OkStatus();
  return Error("{} results, expected {}", results.size(), count);
}

Status Operation::ExpectRegions(size_t count) const {
  if (regions.size() == count) return OkStatus();
  return Error("{} regions, expected {}", regions.size(), count);
}

Result<const Attribute*> Operation::Required(std::string_view key) const {
  const Attribute* attribute = Find(key);
  if (attribute == nullptr) return Error("the attribute {} is missing", key);
  return attribute;
}

Result<int64_t> Operation::Int(std::string_view key) const {
  VXLA_ASSIGN_OR_RETURN(const Attribute* const attribute, Required(key));
  if (attribute->kind == Attribute::Kind::kInteger) return attribute->integer;
  return Error("{} is {}, an integer needed", key, PrintAttribute(*attribute));
}

Result<int64_t> Operation::Int(std::string_view key, int64_t otherwise) const {
  return Find(key) == nullptr ? otherwise : Int(key);
}

Result<bool> Operation::Bool(std::string_view key, bool otherwise) const {
  const Attribute* attribute = Find(key);
  if (attribute == nullptr) return otherwise;
  if (attribute->kind == Attribute::Kind::kUnit) return true;
  if (attribute->kind == Attribute::Kind::kBool || attribute->kind == Attribute::Kind::kInteger)
    return attribute->integer != 0;
  return Error("{} is {}, true or false needed", key, PrintAttribute(*attribute));
}

Result<IntList> Operation::IntsOf(std::string_view key, const Attribute& attribute) const {
  IntList values;
  if (attribute.kind == Attribute::Kind::kElements && attribute.literal != nullptr) {
    const Literal& literal = *attribute.literal;
    const ElementType type = literal.shape().element_type();
    if (!IsFloating(type) && !IsComplex(type)) {
      if (literal.shape().rank() != attribute.type.shape.rank())
        return Error("{} has {} entries", key, attribute.type.shape.ElementCount());
      if (literal.element_count() > (1 << 20)) return Error("{} has {} entries", key, literal.element_count());
      for (int64_t i = 0; i < literal.element_count(); ++i) values.push_back(literal.GetInt(i));
      return values;
    }
  }
  if (attribute.kind == Attribute::Kind::kArray) {
    for (const Attribute& element : attribute.elements) {
      if (element.kind == Attribute::Kind::kArray) {  // [[1, 2], [3, 4]]
        VXLA_ASSIGN_OR_RETURN(const IntList inner, IntsOf(key, element));
        values.insert(values.end(), inner.begin(), inner.end());
        continue;
      }
      if (element.kind != Attribute::Kind::kInteger && element.kind != Attribute::Kind::kBool)
        return Error("{} holds {}, integers needed", key, PrintAttribute(element));
      values.push_back(element.integer);
    }
    return values;
  }
  return Error("{} is {}, a list of integers needed", key, PrintAttribute(attribute));
}

Result<IntList> Operation::Ints(std::string_view key) const {
  VXLA_ASSIGN_OR_RETURN(const Attribute* const attribute, Required(key));
  return IntsOf(key, *attribute);
}

Result<IntList> Operation::Ints(std::string_view key, IntList otherwise) const {
  return Find(key) == nullptr ? otherwise : Ints(key);
}

Result<std::string> Operation::Text(std::string_view key) const {
  VXLA_ASSIGN_OR_RETURN(const Attribute* const attribute, Required(key));
  switch (attribute->kind) {
    case Attribute::Kind::kString:
    case Attribute::Kind::kSymbol:
    case Attribute::Kind::kKeyword:
      return attribute->text;
    default:
      return Error("{} is {}, a key needed", key, PrintAttribute(*attribute));
  }
}

Result<std::string> Operation::Text(std::string_view key, std::string_view otherwise) const {
  return Find(key) == nullptr ? std::string(otherwise) : Text(key);
}

Result<int> Operation::Word(std::string_view key, std::span<const std::string_view> words, int otherwise) const {
  if (Find(key) == nullptr && otherwise >= 0) return otherwise;
  VXLA_ASSIGN_OR_RETURN(const std::string text, Text(key));
  const auto found = std::ranges::find(words, text);
  if (found != words.end()) return static_cast<int>(found - words.begin());
  return Error("{} is {}, expected one of {}", key, text, fmt::join(words, ", "));
}

Status Operation::ReadParts(const Attribute& numbers, std::initializer_list<NumbersPart> parts) const {
  for (const auto& [key, field] : parts) {
    const Attribute* const part = numbers.Find(key);
    if (part == nullptr) continue;
    if (auto* const number = std::get_if<int64_t*>(&field)) **number = part->integer;
    if (auto* const list = std::get_if<IntList*>(&field)) VXLA_SET_OR_RETURN(**list, IntsOf(key, *part));
  }
  return OkStatus();
}

namespace {

// [b, 0, 1, f]: where b, f (or o, i) and each spatial dimension stand.
struct Labels {
  int64_t first = -1, second = -1;
  IntList spatial;
};
Result<Labels> LabelsOf(const Operation& operation, const Attribute& list, std::string_view first,
                        std::string_view second) {
  Labels labels;
  labels.spatial.assign(list.elements.size() < 2 ? 0 : list.elements.size() - 2, -1);
  for (size_t i = 0; i < list.elements.size(); ++i) {
    const std::string& text = list.elements[i].text;
    const int64_t place = static_cast<int64_t>(i);
    if (text == first) {
      labels.first = place;
    } else if (text == second) {
      labels.second = place;
    } else {
      const bool number =
          !text.empty() && text.size() < 4 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
      const size_t spatial = number ? std::stoul(text) : labels.spatial.size();
      if (spatial >= labels.spatial.size()) return operation.Error("dimension_numbers hold '{}'", text);
      labels.spatial[spatial] = place;
    }
  }
  const bool whole = labels.first >= 0 && labels.second >= 0 && !Contains(labels.spatial, -1);
  if (!whole) return operation.Error("dimension_numbers lack {}, {} or a spatial dimension", first, second);
  return labels;
}

}  // namespace

// Generic form of older texts: #stablehlo.conv<raw> with entries input_batch_dimension = 0 ...
Result<ConvolutionDimensions> ConvolutionDimensionsOf(const Operation& operation) {
  VXLA_ASSIGN_OR_RETURN(const Attribute* const numbers, operation.Required("dimension_numbers"));
  ConvolutionDimensions out{0, 0, 0, 0, 0, 0, {}, {}, {}};
  if (numbers->elements.size() == 3) {
    VXLA_ASSIGN_OR_RETURN(const Labels input, LabelsOf(operation, numbers->elements[0], "b", "f"));
    VXLA_ASSIGN_OR_RETURN(const Labels kernel, LabelsOf(operation, numbers->elements[1], "i", "o"));
    VXLA_ASSIGN_OR_RETURN(const Labels output, LabelsOf(operation, numbers->elements[2], "b", "f"));
    out = {input.first,   input.second,  kernel.first,   kernel.second, output.first,
           output.second, input.spatial, kernel.spatial, output.spatial};
    return out;
  }
  Status status;
  VisitParts(out, [&](std::string_view name, auto& part) {
    if (status.ok()) status = operation.ReadParts(*numbers, {{name, &part}});
  });
  VXLA_RETURN_IF_ERROR(status);
  return out;
}

}  // namespace VXLA_NAMESPACE::mlir
