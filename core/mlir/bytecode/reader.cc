#include "core/mlir/bytecode/reader.h"

#include <algorithm>
#include <charconv>

#include "core/host/guarded.h"
#include "core/limits.h"
#include "core/mlir/bytecode/entries.h"
#include "core/mlir/bytecode/stablehlo_properties.h"
#include "core/mlir/bytecode/vhlo.h"
#include "core/mlir/rewrite/block_control.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

class BytecodeReader {
 public:
  BytecodeReader(std::string_view file, const BytecodeContainer& container)
      : file_(file), container_(container), entries_(file, container) {}

  Result<Program> Read();

 private:
  struct OperationName {
    std::string_view dialect, name;
  };
  // Values of a region in the order of their definition: arguments and results, without those of regions inside.
  struct ValueScope {
    uint64_t first = 0, count = 0;
    std::vector<ValueId> values;
  };
  using Scopes = std::vector<ValueScope>;

  ByteReader Section(SectionId id) const { return {file_, *container_.sections[static_cast<size_t>(id)]}; }
  Status ReadDialects();
  Status ReadPropertyBodies();
  Status ReadBlock(ByteReader& in, Scopes& scopes, Block& block, std::string_view parent);
  Status ReadArguments(ByteReader& in, Scopes& scopes, Block& block);
  Status ReadRegions(ByteReader& in, Scopes& scopes, Operation& operation);
  Status ReadRegion(ByteReader& in, Scopes& scopes, Operation& operation);
  // An unrealized cast gives its operand another dialect's type: here both are the same, and it adds no operation.
  Status ReadOperation(ByteReader& in, Scopes& scopes, Block& block, std::string_view parent);
  Status ReadAttributes(ByteReader& in, uint8_t mask, const VhloOperation* form, Operation& operation);
  Status ReadProperties(ByteReader& in, const VhloOperation* form, Operation& operation);
  Status ReadNativeProperties(ByteReader& in, std::string_view names, Operation& operation);
  Result<IntList> ReadSegmentSizes(ByteReader& in, size_t segments);
  Status ReadOperands(ByteReader& in, const Scopes& scopes, Operation& operation);
  Status ReadSuccessors(ByteReader& in, Operation& operation);
  Status SkipUseLists(ByteReader& in, size_t values);
  Status Define(const ByteReader& in, Scopes& scopes, ValueId value);

  std::string_view file_;
  const BytecodeContainer& container_;
  BytecodeEntries entries_;
  std::vector<std::string_view> dialects_;
  std::vector<OperationName> names_;
  std::vector<std::string_view> properties_;
  Program program_;
  int depth_ = 0;
};

// StableHLO's name, and the form that says the properties.
Result<std::string> NameOf(const ByteReader& in, std::string_view dialect, std::string_view name,
                           std::string_view parent, const VhloOperation*& form, std::string_view producer) {
  form = nullptr;
  if (dialect != "vhlo") return fmt::format("{}.{}", dialect, name);
  form = FindVhloOperation(name);
  if (form == nullptr) {
    return Unsupported("MLIR bytecode: byte {}: VHLO up to {} has no operation 'vhlo.{}'; the file is of {}", in.at(),
                       kNewestVhlo.ToString(), name, producer);
  }
  const std::string_view stem = name.substr(0, name.rfind("_v"));
  const bool in_function = parent == "func.func";
  if (stem == "func" || stem == "call" || (stem == "return" && in_function)) return fmt::format("func.{}", stem);
  return fmt::format("stablehlo.{}", stem);
}

Result<Program> BytecodeReader::Read() {
  VXLA_RETURN_IF_ERROR(ReadDialects());
  VXLA_RETURN_IF_ERROR(entries_.Read(dialects_));
  VXLA_RETURN_IF_ERROR(ReadPropertyBodies());
  ByteReader in = Section(SectionId::kIr);
  Block top;
  Scopes scopes(1);
  VXLA_RETURN_IF_ERROR(ReadBlock(in, scopes, top, ""));
  VXLA_RETURN_IF_ERROR(in.ExpectEnd("the module"));
  if (top.operations.size() != 1)
    return in.Error("{} operations in the file, one module is needed", top.operations.size());
  program_.module = std::move(top.operations[0]);
  return std::move(program_);
}

Status BytecodeReader::ReadDialects() {
  ByteReader in = Section(SectionId::kDialect);
  VXLA_ASSIGN_OR_RETURN(const uint64_t count, in.Count("the number of dialects"));
  for (uint64_t i = 0; i < count; ++i) {
    VXLA_ASSIGN_OR_RETURN(uint64_t name, in.Varint("a dialect's name"));
    const bool has_version = container_.version >= 1 && (name & 1) != 0;
    if (container_.version >= 1) name >>= 1;
    if (name >= container_.strings.size())
      return in.Error("a dialect's name is string {} of {}", name, container_.strings.size());
    dialects_.push_back(container_.strings[name]);
    if (has_version) VXLA_RETURN_IF_ERROR(ReadBytecodeSection(in).status());
  }
  if (container_.version >= 4) VXLA_RETURN_IF_ERROR(in.Varint("the number of operation names").status());
  while (in.left() != 0) {
    VXLA_ASSIGN_OR_RETURN(const uint64_t dialect, in.Index("an operation's dialect", dialects_.size()));
    VXLA_ASSIGN_OR_RETURN(const uint64_t group, in.Count("the number of operation names"));
    for (uint64_t i = 0; i < group; ++i) {
      VXLA_ASSIGN_OR_RETURN(uint64_t name, in.Varint("an operation's name"));
      if (container_.version >= 5) name >>= 1;
      if (name >= container_.strings.size())
        return in.Error("an operation's name is string {} of {}", name, container_.strings.size());
      names_.push_back({dialects_[dialect], container_.strings[name]});
    }
  }
  return OkStatus();
}

Status BytecodeReader::ReadPropertyBodies() {
  if (container_.version < 5) return OkStatus();
  ByteReader in = Section(SectionId::kProperties);
  VXLA_ASSIGN_OR_RETURN(const uint64_t count, in.Count("the number of properties"));
  for (uint64_t i = 0; i < count; ++i) VXLA_SET_OR_RETURN(properties_.emplace_back(), in.Blob("properties"));
  return in.ExpectEnd("the last properties");
}

// ---- blocks and values

Status BytecodeReader::Define(const ByteReader& in, Scopes& scopes, ValueId value) {
  ValueScope& scope = scopes.back();
  if (scope.values.size() >= scope.count)
    return in.Error("a region defines more than the {} values it states", scope.count);
  scope.values.push_back(value);
  return OkStatus();
}

Status BytecodeReader::ReadBlock(ByteReader& in, Scopes& scopes, Block& block, std::string_view parent) {
  VXLA_ASSIGN_OR_RETURN(const uint64_t head, in.Varint("the number of a block's operations"));
  if ((head & 1) != 0) VXLA_RETURN_IF_ERROR(ReadArguments(in, scopes, block));
  if (head >> 1 > in.left()) return in.Error("{} operations in a block, {} bytes are left", head >> 1, in.left());
  for (uint64_t i = 0; i < head >> 1; ++i) VXLA_RETURN_IF_ERROR(ReadOperation(in, scopes, block, parent));
  return OkStatus();
}

Status BytecodeReader::ReadArguments(ByteReader& in, Scopes& scopes, Block& block) {
  VXLA_ASSIGN_OR_RETURN(const uint64_t count, in.Count("the number of a block's arguments"));
  for (uint64_t i = 0; i < count; ++i) {
    bool has_location = true;
    const Type* type = nullptr;
    if (container_.version >= 4) {
      // A type's number and a flag in one: what is behind the flag is read as if it stood alone.
      VXLA_ASSIGN_OR_RETURN(const uint64_t number, in.Varint("an argument's type"));
      has_location = (number & 1) != 0;
      VXLA_ASSIGN_OR_RETURN(type, entries_.TypeAt(in, number >> 1));
    } else {
      VXLA_ASSIGN_OR_RETURN(type, entries_.ReadType(in));
    }
    if (has_location) VXLA_RETURN_IF_ERROR(in.Index("a location", entries_.attribute_count()).status());
    block.arguments.push_back(program_.NewValue(*type));
    VXLA_RETURN_IF_ERROR(Define(in, scopes, block.arguments.back()));
  }
  if (container_.version < 3) return OkStatus();
  VXLA_ASSIGN_OR_RETURN(const uint8_t has_orders, in.Byte("whether arguments have use lists"));
  return has_orders != 0 ? SkipUseLists(in, block.arguments.size()) : OkStatus();
}

// The order in which passes see uses, which says nothing about the program.
Status BytecodeReader::SkipUseLists(ByteReader& in, size_t values) {
  uint64_t count = 1;
  if (values > 1) VXLA_SET_OR_RETURN(count, in.Count("the number of use lists"));
  for (uint64_t i = 0; i < count; ++i) {
    if (values > 1) VXLA_RETURN_IF_ERROR(in.Index("a use list's value", values).status());
    VXLA_ASSIGN_OR_RETURN(const uint64_t head, in.Varint("the size of a use list"));
    if (head >> 1 > in.left()) return in.Error("a use list of {} entries, {} bytes are left", head >> 1, in.left());
    for (uint64_t k = 0; k < head >> 1; ++k) VXLA_RETURN_IF_ERROR(in.Varint("a use").status());
  }
  return OkStatus();
}

Status BytecodeReader::ReadRegions(ByteReader& in, Scopes& scopes, Operation& operation) {
  if (depth_ >= kMaxTextNesting) return in.Error("regions nest more than {} levels deep", kMaxTextNesting);
  ++depth_;
  VXLA_ASSIGN_OR_RETURN(const uint64_t head, in.Varint("the number of regions"));
  if (head >> 1 > in.left()) return in.Error("{} regions, {} bytes are left", head >> 1, in.left());
  const bool isolated = (head & 1) != 0;
  if (isolated) {
    Scopes own;
    ByteReader* inside = &in;
    ByteReader nested("");
    if (container_.version >= 2) {
      VXLA_ASSIGN_OR_RETURN(const BytecodeSection section, ReadBytecodeSection(in));
      if (section.id != SectionId::kIr) return in.Error("section {} where regions are", static_cast<int>(section.id));
      nested = ByteReader(file_, section.bytes);
      inside = &nested;
    }
    for (uint64_t i = 0; i < head >> 1; ++i) VXLA_RETURN_IF_ERROR(ReadRegion(*inside, own, operation));
    if (inside == &nested) VXLA_RETURN_IF_ERROR(nested.ExpectEnd("the last region"));
  } else {
    for (uint64_t i = 0; i < head >> 1; ++i) VXLA_RETURN_IF_ERROR(ReadRegion(in, scopes, operation));
  }
  --depth_;
  return OkStatus();
}

Status BytecodeReader::ReadRegion(ByteReader& in, Scopes& scopes, Operation& operation) {
  Region& region = operation.regions.emplace_back();
  VXLA_ASSIGN_OR_RETURN(const uint64_t blocks, in.Count("the number of blocks"));
  if (blocks == 0) return OkStatus();
  VXLA_ASSIGN_OR_RETURN(const uint64_t values, in.Count("the number of values"));
  const uint64_t first = scopes.empty() ? 0 : scopes.back().first + scopes.back().count;
  scopes.push_back({first, values, {}});
  for (uint64_t i = 0; i < blocks; ++i)
    VXLA_RETURN_IF_ERROR(ReadBlock(in, scopes, region.blocks.emplace_back(), operation.name));
  if (scopes.back().values.size() != values)
    return in.Error("a region defines {} values, it states {}", scopes.back().values.size(), values);
  scopes.pop_back();
  return OkStatus();
}

// ---- operations

Status BytecodeReader::ReadOperands(ByteReader& in, const Scopes& scopes, Operation& operation) {
  VXLA_ASSIGN_OR_RETURN(const uint64_t count, in.Count("the number of operands"));
  for (uint64_t i = 0; i < count; ++i) {
    VXLA_ASSIGN_OR_RETURN(const uint64_t number, in.Varint("an operand"));
    const auto after = std::ranges::upper_bound(scopes, number, {}, &ValueScope::first);
    const ValueScope* scope = after == scopes.begin() ? nullptr : &*std::prev(after);
    if (scope == nullptr || number - scope->first >= scope->values.size())
      return in.Error("{}: operand {} is value {}, which is not defined there", operation.name, i, number);
    operation.operands.push_back(scope->values[number - scope->first]);
  }
  return OkStatus();
}

Status BytecodeReader::ReadOperation(ByteReader& in, Scopes& scopes, Block& block, std::string_view parent) {
  VXLA_ASSIGN_OR_RETURN(const uint64_t name, in.Index("an operation's name", names_.size()));
  Operation operation;
  const VhloOperation* form = nullptr;
  VXLA_ASSIGN_OR_RETURN(operation.name,
                        NameOf(in, names_[name].dialect, names_[name].name, parent, form, container_.producer));
  VXLA_ASSIGN_OR_RETURN(const uint8_t mask, in.Byte("an operation's mask"));
  VXLA_RETURN_IF_ERROR(in.Index("a location", entries_.attribute_count()).status());
  VXLA_RETURN_IF_ERROR(ReadAttributes(in, mask, form, operation));
  std::vector<Type> results;
  if ((mask & kHasResults) != 0) VXLA_SET_OR_RETURN(results, entries_.ReadTypes(in));
  if ((mask & kHasOperands) != 0) VXLA_RETURN_IF_ERROR(ReadOperands(in, scopes, operation));
  if ((mask & kHasSuccessors) != 0) VXLA_RETURN_IF_ERROR(ReadSuccessors(in, operation));
  const bool is_cast = operation.name == "builtin.unrealized_conversion_cast";
  if (is_cast && operation.operands.size() != results.size())
    return in.Error("{}: {} operands for {} results", operation.name, operation.operands.size(), results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    operation.results.push_back(is_cast ? operation.operands[i] : program_.NewValue(results[i]));
    VXLA_RETURN_IF_ERROR(Define(in, scopes, operation.results.back()));
  }
  if ((mask & kHasUseLists) != 0) VXLA_RETURN_IF_ERROR(SkipUseLists(in, results.size()));
  if ((mask & kHasRegions) != 0) VXLA_RETURN_IF_ERROR(ReadRegions(in, scopes, operation));
  if (form != nullptr) ToStablehlo(operation, *form);
  if (!is_cast) block.operations.push_back(std::move(operation));
  return OkStatus();
}

Status BytecodeReader::ReadSuccessors(ByteReader& in, Operation& operation) {
  VXLA_ASSIGN_OR_RETURN(const uint64_t count, in.Count("the number of successors"));
  IntList blocks;
  for (uint64_t i = 0; i < count; ++i) {
    VXLA_ASSIGN_OR_RETURN(const uint64_t block, in.Varint("a successor"));
    blocks.push_back(block);
  }
  SetAttribute(operation.attributes, std::string(kSuccessors), IntListAttribute(blocks));
  return OkStatus();
}

Status BytecodeReader::ReadAttributes(ByteReader& in, uint8_t mask, const VhloOperation* form, Operation& operation) {
  if ((mask & kHasAttributes) != 0) {
    VXLA_ASSIGN_OR_RETURN(const Attribute* const dictionary, entries_.ReadAttribute(in));
    if (dictionary->kind != Attribute::Kind::kDictionary)
      return in.Error("{}: its attributes are no dictionary", operation.name);
    operation.attributes = dictionary->entries;
  }
  if ((mask & kHasProperties) != 0) {
    VXLA_ASSIGN_OR_RETURN(const uint64_t index, in.Index("properties", properties_.size()));
    ByteReader body(file_, properties_[index]);
    VXLA_RETURN_IF_ERROR(ReadProperties(body, form, operation));
  }
  for (std::string_view rest = form == nullptr ? "" : form->properties; !rest.empty();) {
    const VhloProperty property = NextVhloProperty(rest);
    if (operation.Find(property.name) == nullptr)
      return in.Error("{}: the attribute {} is missing", operation.name, property.name);
  }
  return OkStatus();
}

Status BytecodeReader::ReadProperties(ByteReader& in, const VhloOperation* form, Operation& operation) {
  if (form != nullptr) {
    for (std::string_view rest = form->properties; !rest.empty();) {
      const VhloProperty property = NextVhloProperty(rest);
      VXLA_ASSIGN_OR_RETURN(const Attribute* const value, entries_.ReadAttribute(in));
      SetAttribute(operation.attributes, std::string(property.name), *value);
    }
    return OkStatus();
  }
  if (const std::optional<std::string> names = StablehloProperties(operation.name))
    return ReadNativeProperties(in, *names, operation);
  const std::string_view dialect = std::string_view(operation.name).substr(0, operation.name.find('.'));
  constexpr std::string_view kSkipped[] = {"sdy", "mhlo"};
  if (operation.name != "builtin.module") {
    if (std::ranges::find(kSkipped, dialect) != std::end(kSkipped)) return OkStatus();
    return Unsupported("MLIR bytecode: byte {}: the properties of {} are not known", in.at(), operation.name);
  }
  VXLA_ASSIGN_OR_RETURN(const uint64_t name, in.Varint("a module's name"));
  if ((name & 1) == 0) return OkStatus();
  VXLA_ASSIGN_OR_RETURN(const Attribute* const value, entries_.AttributeAt(in, name >> 1));
  SetAttribute(operation.attributes, "sym_name", *value);
  return OkStatus();
}

Status BytecodeReader::ReadNativeProperties(ByteReader& in, std::string_view names, Operation& operation) {
  while (!names.empty()) {
    const size_t end = std::min(names.find(' '), names.size());
    std::string_view name = names.substr(0, end);
    names.remove_prefix(std::min(end + 1, names.size()));
    if (name.starts_with(kSegmentSizes)) {
      VXLA_ASSIGN_OR_RETURN(const IntList sizes, ReadSegmentSizes(in, static_cast<size_t>(name.back() - '0')));
      SetAttribute(operation.attributes, std::string(kSegmentSizes), IntListAttribute(sizes));
      continue;
    }
    const Attribute* value = nullptr;
    if (name.ends_with('?')) {
      if (in.left() == 0) return OkStatus();  // a version that has no such property yet
      name.remove_suffix(1);
      VXLA_ASSIGN_OR_RETURN(value, entries_.ReadOptionalAttribute(in));
    } else {
      VXLA_ASSIGN_OR_RETURN(value, entries_.ReadAttribute(in));
    }
    if (value != nullptr) SetAttribute(operation.attributes, std::string(name), *value);
  }
  if (in.left() == 0) return OkStatus();
  return in.Error("{} bytes behind the properties of {}", in.left(), operation.name);
}

// A list of i32: all of them, or the places and values of those that are not 0.
Result<IntList> BytecodeReader::ReadSegmentSizes(ByteReader& in, size_t segments) {
  VXLA_ASSIGN_OR_RETURN(const uint64_t head, in.Varint("segment sizes"));
  const bool sparse = (head & 1) != 0;
  if (head >> 1 > segments) return in.Error("{} segment sizes", head >> 1);
  IntList sizes(segments, 0);
  uint64_t place_bits = 0;
  if (sparse) VXLA_SET_OR_RETURN(place_bits, in.Index("the width of a place", 8));
  for (uint64_t i = 0; i < head >> 1; ++i) {
    VXLA_ASSIGN_OR_RETURN(const uint64_t value, in.Varint("a segment's size"));
    const uint64_t place = sparse ? value & ((uint64_t{1} << place_bits) - 1) : i;
    if (place >= segments) return in.Error("the size of segment {} of {}", place, segments);
    sizes[place] = static_cast<int64_t>(value >> place_bits);
  }
  return sizes;
}

// What a later version means by the operations that it shares with those known here is not known either.
Status CheckProducer(std::string_view producer) {
  constexpr std::string_view kArtifact = "StableHLO_v";
  if (!producer.starts_with(kArtifact)) return OkStatus();
  const std::string_view text = producer.substr(kArtifact.size());
  const char* const end = text.data() + text.size();
  int major = 0, minor = 0;
  const auto first = std::from_chars(text.data(), end, major);
  const bool dot = first.ec == std::errc() && first.ptr != end && *first.ptr == '.';
  if (!dot || std::from_chars(first.ptr + 1, end, minor).ec != std::errc()) return OkStatus();
  const bool newer = major > 1 || (major == 1 && minor > kNewestVhlo.number - VhloVersion::Of(1, 0).number);
  if (!newer) return OkStatus();
  return Unsupported("the artifact is of VHLO {}, the newest version known is {}", text, kNewestVhlo.ToString());
}

}  // namespace

Result<Program> ReadBytecode(std::string_view bytes) {
  return Guarded([&]() -> Result<Program> {
    VXLA_ASSIGN_OR_RETURN(const BytecodeContainer container, ReadContainer(bytes));
    VXLA_RETURN_IF_ERROR(CheckProducer(container.producer));
    return BytecodeReader(bytes, container).Read();
  });
}

}  // namespace VXLA_NAMESPACE::mlir
