#include "core/mlir/bytecode/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "core/host/guarded.h"
#include "core/mlir/bytecode/container.h"
#include "core/mlir/bytecode/tables.h"
#include "core/mlir/ir.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

uint64_t BytecodeVersionOf(VhloVersion target) {
  constexpr std::pair<VhloVersion, uint64_t> kVersions[] = {{VhloVersion::Of(0, 15), 6},
                                                            {VhloVersion::Of(0, 14), 4},
                                                            {VhloVersion::Of(0, 12), 3},
                                                            {VhloVersion::Of(0, 10), 1}};
  for (const auto& [since, version] : kVersions) {
    if (since <= target) return version;
  }
  return 0;
}

class BytecodeWriter {
 public:
  BytecodeWriter(const Program& program, VhloVersion target)
      : program_(program), target_(target), version_(BytecodeVersionOf(target)), tables_(target) {}

  Result<std::string> Write();

 private:
  Status WriteModule(std::string& out);
  Status WriteRegion(std::string& out, const Region& region);
  Status WriteBlock(std::string& out, const Block& block);
  Status WriteOperation(std::string& out, Operation operation);
  Status WriteRegions(std::string& out, const Operation& operation);
  // The form of the operation in the target, after its attributes are those of VHLO.
  Result<const VhloOperation*> FormOf(const Operation& operation, std::string_view name) const;
  // Takes what the form states off the operation's attributes.
  Result<NamedNumbers> TakeProperties(Operation& operation, const VhloOperation& form);
  Result<uint64_t> PropertyNumber(const Operation& operation, const VhloProperty& property);
  Result<uint64_t> ListNumber(const Operation& operation, const VhloProperty& property, const Attribute* value,
                              size_t spatial);
  Result<uint64_t> KeywordOf(const Operation& operation, const VhloProperty& property, const VhloKeywords& keywords,
                             const Attribute* value);
  Result<uint64_t> AccuracyOf(const Attribute* value);
  Result<uint64_t> ElementsOf(const Operation& operation, const VhloProperty& property, const Attribute& list);
  void AppendAttributes(std::string& out, uint8_t& mask, NamedNumbers properties, NamedNumbers others,
                        bool has_properties);
  void AppendSections(std::string& out, const std::string& ir);
  uint64_t Name(char dialect, std::string_view name) { return names_.NumberOf(dialect + std::string(name)); }

  const Program& program_;
  VhloVersion target_;
  uint64_t version_;
  BytecodeTables tables_;
  Numbering names_, properties_;
  std::unordered_map<ValueId, uint64_t> values_;
  uint64_t scope_ = 0;  // values of the regions around
};

// What stands for nothing on its own: meshes, and constraints on where values lie.
bool IsSkipped(const Operation& operation) {
  const bool places = operation.name == "sdy.mesh" || operation.name == "sdy.sharding_constraint";
  return operation.name == "sdy.sharding_group" || (places && operation.operands.size() == operation.results.size());
}

size_t ValuesOf(const Region& region) {
  size_t count = 0;
  for (const Block& block : region.blocks) {
    count += block.arguments.size();
    for (const Operation& operation : block.operations) count += IsSkipped(operation) ? 0 : operation.results.size();
  }
  return count;
}

// "stablehlo.add", "func.call" and "func.return" as "add", "call" and "return". Empty: VHLO has no such operation.
std::string_view VhloName(std::string_view name) {
  for (const std::string_view dialect : {"stablehlo.", "func."}) {
    if (name.starts_with(dialect)) return name.substr(dialect.size());
  }
  return {};
}

Result<std::string> BytecodeWriter::Write() {
  std::string ir;
  AppendVarint(ir, 1 << 1);
  VXLA_RETURN_IF_ERROR(WriteModule(ir));
  std::string out(kBytecodeMagic);
  AppendVarint(out, version_);
  out += "StableHLO_v" + target_.ToString();
  out += '\0';
  AppendSections(out, ir);
  return out;
}

// ---- operations

Status BytecodeWriter::WriteModule(std::string& out) {
  const Operation& module = program_.module;
  NamedNumbers entries, name;
  for (const NamedAttribute& entry : module.attributes) {
    const Attribute& value = entry.value;
    if (entry.name == "sym_name") {
      if (!value.text.empty()) name.emplace_back(entry.name, tables_.BuiltinString(value.text));
    } else if (value.kind == Attribute::Kind::kString) {
      entries.emplace_back(entry.name, tables_.BuiltinString(value.text));
    } else if (value.kind == Attribute::Kind::kBool) {
      entries.emplace_back(entry.name, tables_.BuiltinInteger(value.integer, ElementType::kPred));
    } else if (value.kind == Attribute::Kind::kInteger && value.type.kind == Type::Kind::kElement) {
      entries.emplace_back(entry.name, tables_.BuiltinInteger(value.integer, value.type.shape.element_type()));
    }
  }
  AppendVarint(out, Name(kBuiltinDialect, "module"));
  uint8_t mask = kHasRegions;
  std::string rest;
  AppendVarint(rest, tables_.UnknownLocation());
  if (version_ < 5) {
    entries.insert(entries.end(), name.begin(), name.end());
  } else {
    mask |= kHasProperties;
  }
  if (!entries.empty()) {
    mask |= kHasAttributes;
    AppendVarint(rest, tables_.BuiltinDictionary(std::move(entries)));
  }
  if (version_ >= 5) {
    std::string body;  // name and visibility, each with a flag that it is there
    AppendVarint(body, name.empty() ? 0 : name[0].second << 1 | 1);
    AppendVarint(body, 0);
    AppendVarint(rest, properties_.NumberOf(std::move(body)));
  }
  out += static_cast<char>(mask);
  out += rest;
  return WriteRegions(out, module);
}

Status BytecodeWriter::WriteRegions(std::string& out, const Operation& operation) {
  AppendVarint(out, operation.regions.size() << 1);
  for (const Region& region : operation.regions) VXLA_RETURN_IF_ERROR(WriteRegion(out, region));
  return OkStatus();
}

Status BytecodeWriter::WriteRegion(std::string& out, const Region& region) {
  AppendVarint(out, region.blocks.size());
  if (region.blocks.empty()) return OkStatus();
  const uint64_t first = scope_;
  uint64_t next = first;
  for (const Block& block : region.blocks) {
    for (const ValueId value : block.arguments) values_[value] = next++;
    for (const Operation& operation : block.operations) {
      for (size_t i = 0; i < operation.results.size(); ++i)
        values_[operation.results[i]] = IsSkipped(operation) ? values_[operation.operands[i]] : next++;
    }
  }
  AppendVarint(out, ValuesOf(region));
  scope_ = next;
  for (const Block& block : region.blocks) VXLA_RETURN_IF_ERROR(WriteBlock(out, block));
  scope_ = first;
  return OkStatus();
}

Status BytecodeWriter::WriteBlock(std::string& out, const Block& block) {
  const auto skipped = static_cast<size_t>(std::ranges::count_if(block.operations, IsSkipped));
  AppendVarint(out, (block.operations.size() - skipped) << 1 | (block.arguments.empty() ? 0 : 1));
  if (!block.arguments.empty()) {
    AppendVarint(out, block.arguments.size());
    for (const ValueId value : block.arguments) {
      VXLA_ASSIGN_OR_RETURN(const uint64_t type, tables_.TypeNumber(program_.values[value].type));
      AppendVarint(out, version_ >= 4 ? type << 1 : type);
      if (version_ < 4) AppendVarint(out, tables_.UnknownLocation());
    }
    if (version_ >= 3) out += '\0';
  }
  for (const Operation& operation : block.operations) {
    if (!IsSkipped(operation)) VXLA_RETURN_IF_ERROR(WriteOperation(out, operation));
  }
  return OkStatus();
}

Status BytecodeWriter::WriteOperation(std::string& out, Operation operation) {
  const auto placed = [&](const Status& status) {
    return status.ok() ? status : Status(status).WithPrefix(operation.name + ": ").At(operation.location);
  };
  VXLA_RETURN_IF_ERROR(ToVhlo(operation, program_));
  const std::string_view name = VhloName(operation.name);
  VXLA_ASSIGN_OR_RETURN(const VhloOperation* const form, FormOf(operation, name));
  Result<NamedNumbers> properties = TakeProperties(operation, *form);
  if (!properties.ok()) return properties.status();
  NamedNumbers others;
  for (const NamedAttribute& entry : operation.attributes) {
    // Beside those of the operation stand attributes with a dialect's name, and what is told to a custom call.
    const bool stays = operation.name.ends_with("custom_call") || entry.name.find('.') != std::string::npos;
    if (!stays || entry.value.kind == Attribute::Kind::kRaw) continue;
    const Result<uint64_t> value = tables_.AttributeNumber(entry.value);
    if (!value.ok()) return placed(value.status());
    others.emplace_back(entry.name, *value);
  }
  uint8_t mask = 0;
  std::string rest;
  AppendVarint(rest, tables_.UnknownLocation());
  AppendAttributes(rest, mask, *std::move(properties), std::move(others), !form->properties.empty());
  if (!operation.results.empty()) {
    mask |= kHasResults;
    AppendVarint(rest, operation.results.size());
    for (const ValueId result : operation.results) {
      const Result<uint64_t> type = tables_.TypeNumber(program_.values[result].type);
      if (!type.ok()) return placed(type.status());
      AppendVarint(rest, *type);
    }
  }
  if (!operation.operands.empty()) {
    mask |= kHasOperands;
    AppendVarint(rest, operation.operands.size());
    for (const ValueId operand : operation.operands) AppendVarint(rest, values_.at(operand));
  }
  AppendVarint(out, Name(kVhloDialect, fmt::format("{}_v{}", name, form->version)));
  if (!operation.regions.empty()) mask |= kHasRegions;
  out += static_cast<char>(mask);
  out += rest;
  return operation.regions.empty() ? OkStatus() : WriteRegions(out, operation);
}

Result<const VhloOperation*> BytecodeWriter::FormOf(const Operation& operation, std::string_view name) const {
  std::optional<VhloVersion> since;
  const VhloOperation* const form = FindVhloOperation(name, target_, &since);
  if (form == nullptr && since)
    return operation.NotSupported("in VHLO since version {}, {} is asked for", since->ToString(), target_.ToString());
  if (form == nullptr) return operation.NotSupported("VHLO has no such operation");
  for (const std::string_view variadic : {"all_gather", "all_reduce", "all_to_all"}) {
    if (name == variadic && form->version == 1 && operation.operands.size() != 1)
      return operation.NotSupported("{} operands need VHLO {}, {} is asked for", operation.operands.size(),
                                    VhloVersion::Of(1, 5).ToString(), target_.ToString());
  }
  // What newer forms say and this one cannot.
  const VhloOperation* const newest = FindVhloOperation(name, kNewestVhlo, &since);
  for (std::string_view rest = newest == nullptr ? "" : newest->properties; !rest.empty();) {
    const VhloProperty property = NextVhloProperty(rest);
    const Attribute* const value = operation.Find(property.name);
    const bool known =
        fmt::format(" {}", form->properties).find(fmt::format(" {}:", property.name)) != std::string::npos;
    if (value != nullptr && !known && !SaysNothing(*value))
      return operation.NotSupported("{} needs VHLO {}, {} is asked for", property.name, newest->since.ToString(),
                                    target_.ToString());
  }
  return form;
}

// Before version 5 all attributes are in one dictionary.
void BytecodeWriter::AppendAttributes(std::string& out, uint8_t& mask, NamedNumbers properties, NamedNumbers others,
                                      bool has_properties) {
  const bool apart = version_ >= 5;
  if (!apart) others.insert(others.end(), properties.begin(), properties.end());
  if (!others.empty()) {
    mask |= kHasAttributes;
    AppendVarint(out, tables_.BuiltinDictionary(std::move(others)));
  }
  if (!apart || !has_properties) return;
  mask |= kHasProperties;
  std::string body;
  for (const auto& [name, value] : properties) AppendVarint(body, value);
  AppendVarint(out, properties_.NumberOf(std::move(body)));
}

// ---- properties

Result<NamedNumbers> BytecodeWriter::TakeProperties(Operation& operation, const VhloOperation& form) {
  NamedNumbers properties;
  for (std::string_view rest = form.properties; !rest.empty();) {
    const VhloProperty property = NextVhloProperty(rest);
    const Result<uint64_t> number = PropertyNumber(operation, property);
    if (!number.ok()) {
      const Status& status = number.status();
      return status.message().starts_with(operation.name)
                 ? status
                 : Status(status).WithPrefix(operation.name + ": ").At(operation.location);
    }
    properties.emplace_back(property.name, *number);
  }
  for (const auto& property : properties)
    std::erase_if(operation.attributes, [&](const NamedAttribute& entry) { return entry.name == property.first; });
  return properties;
}

Result<uint64_t> BytecodeWriter::PropertyNumber(const Operation& operation, const VhloProperty& property) {
  const std::string_view kind = property.kind, name = property.name;
  const Attribute* const value = operation.Find(name);
  if (value == nullptr && !property.optional) return operation.Error("the attribute {} is missing", name);
  if (kind == "i" || kind == "i32") {
    const int64_t otherwise = property.otherwise.empty() ? 0 : property.otherwise == "-1" ? -1 : 1;
    VXLA_ASSIGN_OR_RETURN(const int64_t number, operation.Int(name, otherwise));
    return tables_.IntegerNumber(number, kind == "i" ? ElementType::kS64 : ElementType::kS32);
  }
  if (kind == "b") {
    VXLA_ASSIGN_OR_RETURN(const bool truth, operation.Bool(name, false));
    return tables_.BoolNumber(truth);
  }
  if (kind == "f") return tables_.FloatNumber(value->real, ElementType::kF32);
  if (kind == "s" || kind == "y") {
    VXLA_ASSIGN_OR_RETURN(const std::string text, operation.Text(name, ""));
    return tables_.StringNumber(text);
  }
  if (kind == "t") return value == nullptr ? tables_.NoTypeNumber() : tables_.AttributeNumber(*value);
  if (kind == "acc") return AccuracyOf(value);
  if (kind == "B" || kind == "D") {
    Attribute none;
    const Attribute* const version = operation.Find("api_version");
    const bool typed = kind == "D" || (version != nullptr && version->integer == 4);
    none.kind = typed ? Attribute::Kind::kDictionary : Attribute::Kind::kString;
    return tables_.AttributeNumber(value == nullptr ? none : *value);
  }
  if (kind == "v" && value->kind != Attribute::Kind::kElements)
    return operation.NotSupported("the value {} is no tensor", PrintAttribute(*value));
  if (kind == "v" && value->literal == nullptr) {
    const auto resource = program_.resources.find(value->text);
    if (resource == program_.resources.end()) return operation.Error("no resource '{}' in the file", value->text);
    VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<const Literal> literal,
                          LiteralFromBytes(value->type.shape, *resource->second));
    return tables_.TensorNumber(value->type, *literal);
  }
  if (kind == "g" && value->type.shape.rank() != 2)
    return operation.NotSupported("replica_groups are {}, a matrix is needed", PrintAttribute(*value));
  if (kind == "v" || kind == "g") return tables_.AttributeNumber(*value);
  if (kind == "d" || kind == "d2" || kind == "w") {
    const Attribute* window = operation.Find("window_dimensions");
    if (window == nullptr) window = operation.Find("kernel_spatial_dimensions");
    IntList sizes;
    if (window != nullptr && value == nullptr) VXLA_SET_OR_RETURN(sizes, operation.IntsOf(name, *window));
    return ListNumber(operation, property, value, sizes.size());
  }
  const VhloKeywords* const keywords = FindVhloKeywords(kind);
  if (keywords != nullptr && kind != "P") return KeywordOf(operation, property, *keywords, value);
  Attribute empty(Attribute::Kind::kArray);
  return ElementsOf(operation, property, value == nullptr ? empty : *value);
}

Result<uint64_t> BytecodeWriter::ListNumber(const Operation& operation, const VhloProperty& property,
                                            const Attribute* value, size_t spatial) {
  IntList list;
  const bool pairs = property.kind == "d2";
  if (value == nullptr && !property.otherwise.empty()) {
    list.assign(pairs ? 2 * spatial : spatial, property.otherwise == "1" ? 1 : 0);
  } else if (value != nullptr) {
    VXLA_ASSIGN_OR_RETURN(list, operation.IntsOf(property.name, *value));
  }
  const auto count = static_cast<int64_t>(list.size());
  if (property.kind == "w") return tables_.BoolsNumber(list);
  if (pairs && count % 2 != 0) return operation.Error("{} hold {} numbers, pairs needed", property.name, count);
  return pairs ? tables_.IntsNumber(list, {count / 2, 2}) : tables_.IntsNumber(list, {count});
}

Result<uint64_t> BytecodeWriter::KeywordOf(const Operation& operation, const VhloProperty& property,
                                           const VhloKeywords& keywords, const Attribute* value) {
  if (keywords.kind == "api") {
    VXLA_ASSIGN_OR_RETURN(const int64_t version, operation.Int(property.name, 1));
    if (version < 0 || version > 4) return operation.Error("api_version {} is not in 0 to 4", version);
    if (version == 4 && target_ < VhloVersion::Of(1, 3))
      return operation.NotSupported("api_version 4 needs VHLO {}, {} is asked for", VhloVersion::Of(1, 3).ToString(),
                                    target_.ToString());
    return tables_.KeywordNumber(keywords.code, static_cast<uint64_t>(version));
  }
  if (value == nullptr) return tables_.KeywordNumber(keywords.code, 0);
  VXLA_ASSIGN_OR_RETURN(const int word, operation.Word(property.name, keywords.words));
  return tables_.KeywordNumber(keywords.code, static_cast<uint64_t>(word));
}

Result<uint64_t> BytecodeWriter::AccuracyOf(const Attribute* value) {
  const auto entry = [&](std::string_view name) { return value == nullptr ? nullptr : value->Find(name); };
  const Attribute *atol = entry("atol"), *rtol = entry("rtol"), *ulps = entry("ulps"), *mode = entry("mode");
  const auto words = FindVhloKeywords("mode")->words;
  const std::string word = mode != nullptr ? mode->text : value != nullptr ? value->text : "";
  const auto found = std::ranges::find(words, word);
  return tables_.AccuracyNumber(atol == nullptr ? 0 : atol->real, rtol == nullptr ? 0 : rtol->real,
                                ulps == nullptr ? 0 : ulps->integer,
                                found == words.end() ? 0 : static_cast<uint64_t>(found - words.begin()));
}

// Lists of precisions, layouts, aliases, symbols, others.
Result<uint64_t> BytecodeWriter::ElementsOf(const Operation& operation, const VhloProperty& property,
                                            const Attribute& list) {
  std::vector<uint64_t> elements;
  for (const Attribute& element : list.elements) {
    if (property.kind == "P") {
      const VhloKeywords& precisions = *FindVhloKeywords("P");
      const auto found = std::ranges::find(precisions.words, element.text);
      if (found == precisions.words.end())
        return operation.Error("{} holds {}", property.name, PrintAttribute(element));
      elements.push_back(
          tables_.KeywordNumber(precisions.code, static_cast<uint64_t>(found - precisions.words.begin())));
    } else if (property.kind == "L") {
      VXLA_ASSIGN_OR_RETURN(const IntList order, operation.IntsOf(property.name, element));
      elements.push_back(tables_.IntsNumber(order, {static_cast<int64_t>(order.size())}, /*index=*/true));
    } else if (property.kind == "al") {
      const Attribute *output = element.Find("output_tuple_indices"), *operand = element.Find("operand_index"),
                      *part = element.Find("operand_tuple_indices");
      if (output == nullptr || operand == nullptr || part == nullptr)
        return operation.Error("{} holds {}", property.name, PrintAttribute(element));
      VXLA_ASSIGN_OR_RETURN(const IntList to, operation.IntsOf("output_tuple_indices", *output));
      VXLA_ASSIGN_OR_RETURN(const IntList from, operation.IntsOf("operand_tuple_indices", *part));
      elements.push_back(tables_.AliasNumber(to, operand->integer, from));
    } else {
      VXLA_ASSIGN_OR_RETURN(elements.emplace_back(), tables_.AttributeNumber(element));
    }
  }
  if (property.kind == "P" && elements.empty()) elements.assign(2, tables_.KeywordNumber(VhloAttribute::kPrecision, 0));
  return tables_.ArrayNumber(elements);
}

// ---- sections

void AppendSection(std::string& out, SectionId id, const std::string& bytes) {
  out += static_cast<char>(id);
  AppendVarint(out, bytes.size());
  out += bytes;
}

// The entries' dialects and sizes, a group for each run of one dialect; and then the same with other facts.
void AppendGroups(std::string& out, const Numbering& entries, const auto& append) {
  const auto& texts = entries.texts();
  for (size_t first = 0, last = 0; first < texts.size(); first = last) {
    while (last < texts.size() && (*texts[last])[0] == (*texts[first])[0]) ++last;
    AppendVarint(out, static_cast<uint64_t>((*texts[first])[0]));
    AppendVarint(out, last - first);
    for (size_t i = first; i < last; ++i) append(std::string_view(*texts[i]).substr(1));
  }
}

void BytecodeWriter::AppendSections(std::string& out, const std::string& ir) {
  std::string dialects, offsets, bodies, strings, properties;
  AppendVarint(dialects, std::size(kBytecodeDialects));
  for (const std::string_view dialect : kBytecodeDialects)
    AppendVarint(dialects, tables_.strings.NumberOf(std::string(dialect)) << (version_ >= 1 ? 1 : 0));
  if (version_ >= 4) AppendVarint(dialects, names_.texts().size());
  AppendGroups(dialects, names_, [&](std::string_view name) {
    const uint64_t number = tables_.strings.NumberOf(std::string(name));
    AppendVarint(dialects, version_ >= 5 ? number << 1 | 1 : number);  // 1: registered
  });
  AppendVarint(offsets, tables_.attributes.texts().size());
  AppendVarint(offsets, tables_.types.texts().size());
  for (const Numbering* entries : {&tables_.attributes, &tables_.types}) {
    AppendGroups(offsets, *entries, [&](std::string_view body) {
      AppendVarint(offsets, body.size() << 1 | 1);  // 1: in its dialect's encoding
      bodies += body;
    });
  }
  const auto& texts = tables_.strings.texts();
  AppendVarint(strings, texts.size());
  for (size_t i = texts.size(); i-- > 0;) AppendVarint(strings, texts[i]->size() + 1);
  for (const std::string* text : texts) strings.append(*text).push_back('\0');
  AppendVarint(properties, properties_.texts().size());
  for (const std::string* body : properties_.texts()) {
    AppendVarint(properties, body->size());
    properties += *body;
  }
  AppendSection(out, SectionId::kDialect, dialects);
  AppendSection(out, SectionId::kAttrTypeOffset, offsets);
  AppendSection(out, SectionId::kAttrType, bodies);
  AppendSection(out, SectionId::kIr, ir);
  AppendSection(out, SectionId::kString, strings);
  if (version_ >= 5) AppendSection(out, SectionId::kProperties, properties);
}

}  // namespace

Result<std::string> WriteBytecode(const Program& program, VhloVersion target) {
  return Guarded([&] { return BytecodeWriter(program, target).Write(); });
}

}  // namespace VXLA_NAMESPACE::mlir
