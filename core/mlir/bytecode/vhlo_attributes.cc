// From VHLO's attributes to StableHLO's and back. There numbers are grouped, and what is absent is not stated.
#include <algorithm>

#include "core/mlir/bytecode/vhlo.h"
#include "core/mlir/ir.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

Attribute Taken(Operation& operation, std::string_view name) {
  const auto found = std::ranges::find(operation.attributes, name, &NamedAttribute::name);
  Attribute value = std::move(found->value);
  operation.attributes.erase(found);
  return value;
}

bool IsEmpty(const Attribute& attribute) {
  switch (attribute.kind) {
    case Attribute::Kind::kString:
      return attribute.text.empty();
    case Attribute::Kind::kArray:
      return attribute.elements.empty();
    case Attribute::Kind::kDictionary:
      return attribute.entries.empty();
    default:
      return false;
  }
}

void GroupChannel(Operation& operation) {
  if (operation.Find("channel_id") == nullptr) return;
  Attribute handle(Attribute::Kind::kDialect, "stablehlo.channel_handle");
  SetAttribute(handle.entries, "handle", Taken(operation, "channel_id"));
  const bool typed = operation.Find("channel_type") != nullptr;
  SetAttribute(handle.entries, "type", typed ? Taken(operation, "channel_type") : IntegerAttribute(0));
  SetAttribute(operation.attributes, "channel_handle", std::move(handle));
}

void GroupNumbers(Operation& operation, std::string_view name) {
  for (const VhloGroup& group : VhloGroups()) {
    if (group.operation != name) continue;
    Attribute numbers(Attribute::Kind::kDialect, group.dialect_name);
    bool stated = false;
    for (const std::string_view part : group.parts) {
      if (operation.Find(part) == nullptr) continue;
      Attribute value = Taken(operation, part);
      stated = stated || value.kind != Attribute::Kind::kType || value.type.kind != Type::Kind::kNone;
      SetAttribute(numbers.entries, std::string(part), std::move(value));
    }
    if (stated) SetAttribute(operation.attributes, std::string(group.attribute), std::move(numbers));
  }
}

}  // namespace

void ToStablehlo(Operation& operation, const VhloOperation& form) {
  const std::string_view name = std::string_view(operation.name).substr(operation.name.find('.') + 1);
  GroupChannel(operation);
  GroupNumbers(operation, name);
  if (name == "dynamic_conv" && form.version == 1) Taken(operation, "padding");  // its third operand says it
  for (const std::string_view optional :
       {"sym_visibility", "backend_config", "operand_layouts", "result_layouts", "result_tilings"}) {
    const Attribute* const value = operation.Find(optional);
    if (value != nullptr && IsEmpty(*value)) Taken(operation, optional);
  }
  if (name != "call" && name != "composite" && name != "custom_call") return;
  for (const std::string_view symbol : {"callee", "decomposition"}) {
    for (NamedAttribute& attribute : operation.attributes) {
      if (attribute.name == symbol && attribute.value.kind == Attribute::Kind::kString)
        attribute.value.kind = Attribute::Kind::kSymbol;
    }
  }
}

// ---- back

namespace {

// CHLO's operations under the names that XLA has for them as custom calls.
void ToCustomCall(Operation& operation) {
  const std::string name = operation.name.substr(operation.name.find('.') + 1);
  if (!operation.name.starts_with("chlo.") || (name != "top_k" && !ParseChlo(name))) return;
  Attribute given(Attribute::Kind::kDictionary);
  given.entries = std::move(operation.attributes);
  if (name == "top_k") {
    Attribute largest(Attribute::Kind::kBool);
    largest.integer = 1;
    SetAttribute(given.entries, "largest", std::move(largest));
  }
  operation.name = "stablehlo.custom_call";
  operation.attributes = {{"call_target_name", StringAttribute("mhlo." + (name == "top_k" ? "topk" : name))},
                          {"mhlo.attributes", std::move(given)},
                          {"mhlo.version", IntegerAttribute(1)}};
}

Status SpreadConvolution(Operation& operation) {
  VXLA_ASSIGN_OR_RETURN(const ConvolutionDimensions n, ConvolutionDimensionsOf(operation));
  Taken(operation, "dimension_numbers");
  VisitParts(n, [&](std::string_view name, const auto& part) {
    if constexpr (std::is_same_v<decltype(part), const IntList&>) {
      SetAttribute(operation.attributes, std::string(name), IntListAttribute(part));
    } else {
      SetAttribute(operation.attributes, std::string(name), IntegerAttribute(part));
    }
  });
  return OkStatus();
}

// The types of what it takes and returns, as the values have them; no lists of attributes where nothing has any.
void SpreadFunction(Operation& operation, const Program& program) {
  if (operation.regions.size() == 1 && operation.regions[0].blocks.size() == 1 &&
      !operation.regions[0].blocks[0].operations.empty()) {
    const Block& block = operation.regions[0].blocks[0];
    Type type;
    type.kind = Type::Kind::kFunction;
    for (const ValueId value : block.arguments) type.inputs.push_back(program.values[value].type);
    for (const ValueId value : block.operations.back().operands) type.results.push_back(program.values[value].type);
    SetAttribute(operation.attributes, "function_type", TypeAttribute(std::move(type)));
  }
  for (const std::string_view name : {"arg_attrs", "res_attrs"}) {
    const Attribute* const list = operation.Find(name);
    if (list != nullptr && std::ranges::all_of(list->elements, IsEmpty)) Taken(operation, name);
  }
}

}  // namespace

bool SaysNothing(const Attribute& attribute) {
  if (attribute.kind == Attribute::Kind::kElements)
    return attribute.literal != nullptr && attribute.literal->element_count() == 0;
  if (attribute.kind == Attribute::Kind::kBool) return attribute.integer == 0;
  if (const Attribute* const mode = attribute.Find("mode")) return mode->text == "DEFAULT";
  return attribute.text == "DEFAULT" || (attribute.kind != Attribute::Kind::kString && IsEmpty(attribute));
}

Status ToVhlo(Operation& operation, const Program& program) {
  ToCustomCall(operation);
  const std::string name = operation.name.substr(operation.name.find('.') + 1);
  if (operation.name == "func.func") SpreadFunction(operation, program);
  if (const Attribute* const handle = operation.Find("channel_handle")) {
    const Attribute *const id = handle->Find("handle"), *const type = handle->Find("type");
    if (id != nullptr) SetAttribute(operation.attributes, "channel_id", Attribute(*id));
    if (type != nullptr && (name == "send" || name == "recv"))
      SetAttribute(operation.attributes, "channel_type", Attribute(*type));
    Taken(operation, "channel_handle");
  }
  if (name == "convolution" || name == "dynamic_conv") return SpreadConvolution(operation);
  for (const VhloGroup& group : VhloGroups()) {
    if (group.operation != name || operation.Find(group.attribute) == nullptr) continue;
    for (NamedAttribute& part : Taken(operation, group.attribute).entries)
      SetAttribute(operation.attributes, std::move(part.name), std::move(part.value));
  }
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE::mlir
