#include "core/mlir/bytecode/entries.h"

#include <algorithm>
#include <cstring>

#include "core/host/ranges.h"
#include "core/limits.h"
#include "core/mlir/rewrite/quantized.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

Attribute FloatAttribute(double value) {
  Attribute attribute(Attribute::Kind::kFloat);
  attribute.real = value;
  attribute.type = Type(Type::Kind::kElement, Shape(ElementType::kF64));
  return attribute;
}

// What VHLO writes as MLIR's own dialect does.
constexpr std::pair<VhloAttribute, BuiltinAttribute> kSameAttributes[] = {
    {VhloAttribute::kArray, BuiltinAttribute::kArray},   {VhloAttribute::kDictionary, BuiltinAttribute::kDictionary},
    {VhloAttribute::kFloat, BuiltinAttribute::kFloat},   {VhloAttribute::kInteger, BuiltinAttribute::kInteger},
    {VhloAttribute::kString, BuiltinAttribute::kString}, {VhloAttribute::kTensor, BuiltinAttribute::kDenseElements},
    {VhloAttribute::kType, BuiltinAttribute::kType}};
constexpr std::pair<VhloType, BuiltinType> kSameTypes[] = {
    {VhloType::kComplex, BuiltinType::kComplex}, {VhloType::kFunction, BuiltinType::kFunction},
    {VhloType::kNone, BuiltinType::kNone},       {VhloType::kTensor, BuiltinType::kTensor},
    {VhloType::kTf32, BuiltinType::kTf32},       {VhloType::kTensorWithEncoding, BuiltinType::kTensorWithEncoding},
    {VhloType::kTuple, BuiltinType::kTuple},     {VhloType::kUnrankedTensor, BuiltinType::kUnrankedTensor}};

// i1 is packed, eight to a byte with the first one lowest.
std::vector<std::byte> UnpackBits(std::string_view bytes, int64_t count) {
  std::vector<std::byte> out(static_cast<size_t>(count));
  for (size_t i = 0; i < out.size(); ++i) out[i] = std::byte((static_cast<uint8_t>(bytes[i / 8]) >> (i % 8) & 1) != 0);
  return out;
}

}  // namespace

Status BytecodeEntries::Read(const std::vector<std::string_view>& dialects) {
  budget_ = (int64_t{1} << 16) + 16 * static_cast<int64_t>(file_.size());
  VXLA_RETURN_IF_ERROR(ReadOffsets(dialects));
  return ReadResources(dialects.size());
}

// Groups of entries of one dialect: attributes, then types; the bodies lie back to back.
Status BytecodeEntries::ReadOffsets(const std::vector<std::string_view>& dialects) {
  ByteReader in(file_, *container_.sections[static_cast<size_t>(SectionId::kAttrTypeOffset)]);
  ByteReader bodies(file_, *container_.sections[static_cast<size_t>(SectionId::kAttrType)]);
  VXLA_ASSIGN_OR_RETURN(const uint64_t attributes, in.Count("the number of attributes"));
  VXLA_ASSIGN_OR_RETURN(const uint64_t types, in.Count("the number of types"));
  const auto read = [&](auto& entries, uint64_t count) -> Status {
    while (entries.size() < count) {
      VXLA_ASSIGN_OR_RETURN(const uint64_t dialect, in.Index("an entry's dialect", dialects.size()));
      VXLA_ASSIGN_OR_RETURN(const uint64_t group, in.Count("the size of a group of entries"));
      if (group > count - entries.size())
        return in.Error("a group of {} entries, {} are to come", group, count - entries.size());
      for (uint64_t i = 0; i < group; ++i) {
        VXLA_ASSIGN_OR_RETURN(const uint64_t size, in.Varint("an entry's size"));
        auto& entry = entries.emplace_back();
        entry.dialect = dialects[dialect];
        entry.has_encoding = (size & 1) != 0;
        VXLA_ASSIGN_OR_RETURN(entry.body, bodies.Take(size >> 1, "an attribute or type"));
      }
    }
    return OkStatus();
  };
  VXLA_RETURN_IF_ERROR(read(attributes_, attributes));
  VXLA_RETURN_IF_ERROR(read(types_, types));
  return in.ExpectEnd("the last type");
}

// External groups and then those of dialects, whose running number a dense_resource says.
Status BytecodeEntries::ReadResources(size_t dialect_count) {
  const auto& offsets = container_.sections[static_cast<size_t>(SectionId::kResourceOffset)];
  const auto& data = container_.sections[static_cast<size_t>(SectionId::kResource)];
  if (!offsets || !data) return OkStatus();
  ByteReader in(file_, *offsets), bodies(file_, *data);
  VXLA_ASSIGN_OR_RETURN(uint64_t external, in.Count("the number of external resource groups"));
  while (in.left() != 0) {
    if (external > 0) {
      VXLA_RETURN_IF_ERROR(in.Index("a resource group's provider", container_.strings.size()).status());
    } else {
      VXLA_RETURN_IF_ERROR(in.Index("a resource group's dialect", dialect_count).status());
    }
    VXLA_ASSIGN_OR_RETURN(const uint64_t count, in.Count("the number of resources"));
    for (uint64_t i = 0; i < count; ++i) {
      Resource resource;
      VXLA_ASSIGN_OR_RETURN(const uint64_t key, in.Index("a resource's key", container_.strings.size()));
      resource.key = container_.strings[key];
      VXLA_ASSIGN_OR_RETURN(const uint64_t size, in.Varint("a resource's size"));
      VXLA_ASSIGN_OR_RETURN(resource.kind, in.Byte("a resource's kind"));
      VXLA_ASSIGN_OR_RETURN(resource.bytes, bodies.Take(size, "a resource"));
      if (external == 0) resources_.push_back(resource);
    }
    if (external > 0) --external;
  }
  return OkStatus();
}

Status BytecodeEntries::Spend(const ByteReader& in, int64_t nodes) {
  spent_ += nodes;
  if (spent_ <= budget_) return OkStatus();
  return in.Error("the attributes and types stand for too much");
}

template <typename T>
Result<const T*> BytecodeEntries::Get(const ByteReader& in, Entry<T>& entry) {
  if (!entry.known) {
    if (depth_ >= kMaxTextNesting)
      return in.Error("attributes and types nest more than {} levels deep", kMaxTextNesting);
    ++depth_;
    const int64_t before = spent_;
    ByteReader body(file_, entry.body);
    VXLA_RETURN_IF_ERROR(Decode(body, entry, entry.value));
    --depth_;
    entry.nodes = 1 + spent_ - before;
    entry.known = true;
  }
  VXLA_RETURN_IF_ERROR(Spend(in, entry.nodes));
  return &std::as_const(entry.value);
}

Result<const Attribute*> BytecodeEntries::AttributeAt(const ByteReader& in, uint64_t index) {
  if (index >= attributes_.size()) return in.Error("an attribute is number {} of {}", index, attributes_.size());
  return Get(in, attributes_[index]);
}

Result<const Type*> BytecodeEntries::TypeAt(const ByteReader& in, uint64_t index) {
  if (index >= types_.size()) return in.Error("a type is number {} of {}", index, types_.size());
  return Get(in, types_[index]);
}

Result<const Attribute*> BytecodeEntries::ReadAttribute(ByteReader& in) {
  VXLA_ASSIGN_OR_RETURN(const uint64_t index, in.Varint("an attribute"));
  return AttributeAt(in, index);
}

Result<const Attribute*> BytecodeEntries::ReadOptionalAttribute(ByteReader& in) {
  VXLA_ASSIGN_OR_RETURN(const uint64_t number, in.Varint("an attribute"));
  if ((number & 1) == 0) return static_cast<const Attribute*>(nullptr);
  return AttributeAt(in, number >> 1);
}

Result<const Type*> BytecodeEntries::ReadType(ByteReader& in) {
  VXLA_ASSIGN_OR_RETURN(const uint64_t index, in.Varint("a type"));
  return TypeAt(in, index);
}

Result<std::vector<Type>> BytecodeEntries::ReadTypes(ByteReader& in) {
  VXLA_ASSIGN_OR_RETURN(const uint64_t count, in.Count("the number of types"));
  std::vector<Type> types;
  for (uint64_t i = 0; i < count; ++i) {
    VXLA_ASSIGN_OR_RETURN(const Type* const type, ReadType(in));
    types.push_back(*type);
  }
  return types;
}

Result<std::string> BytecodeEntries::ReadString(ByteReader& in) {
  VXLA_ASSIGN_OR_RETURN(const uint64_t index, in.Index("a string", container_.strings.size()));
  VXLA_RETURN_IF_ERROR(Spend(in, static_cast<int64_t>(container_.strings[index].size() / 64)));
  return std::string(container_.strings[index]);
}

Result<Dictionary> BytecodeEntries::ReadDictionary(ByteReader& in) {
  VXLA_ASSIGN_OR_RETURN(const uint64_t count, in.Count("the number of a dictionary's entries"));
  Dictionary dictionary;
  for (uint64_t i = 0; i < count; ++i) {
    VXLA_ASSIGN_OR_RETURN(const Attribute* const name, ReadAttribute(in));
    if (name->kind != Attribute::Kind::kString) return in.Error("the name of a dictionary's entry is no string");
    VXLA_ASSIGN_OR_RETURN(const Attribute* const value, ReadAttribute(in));
    dictionary.push_back({name->text, *value});
  }
  return dictionary;
}

// ---- attributes

Status BytecodeEntries::Decode(ByteReader& in, const Entry<Attribute>& entry, Attribute& out) {
  const bool vhlo = entry.dialect == "vhlo", stablehlo = entry.dialect == "stablehlo", chlo = entry.dialect == "chlo";
  const bool sdy = entry.dialect == "sdy";
  if (!entry.has_encoding || (!vhlo && !stablehlo && !chlo && !sdy && entry.dialect != "builtin")) {
    out = Attribute(Attribute::Kind::kRaw, fmt::format("#{}<...>", entry.dialect));
    return OkStatus();
  }
  VXLA_ASSIGN_OR_RETURN(const uint64_t code, in.Varint("an attribute's code"));
  if (sdy) {
    out = Attribute(Attribute::Kind::kRaw, "#sdy<...>");
    VXLA_RETURN_IF_ERROR(DecodeSdyAttribute(in, static_cast<SdyAttribute>(code), out));
  } else if (vhlo) {
    VXLA_RETURN_IF_ERROR(DecodeVhloAttribute(in, static_cast<VhloAttribute>(code), out));
  } else if (stablehlo) {
    VXLA_RETURN_IF_ERROR(DecodeStablehloAttribute(in, static_cast<StablehloAttribute>(code), out));
  } else if (chlo) {
    VXLA_RETURN_IF_ERROR(DecodeChloAttribute(in, static_cast<ChloAttribute>(code), out));
  } else {
    VXLA_RETURN_IF_ERROR(DecodeBuiltinAttribute(in, static_cast<BuiltinAttribute>(code), out));
  }
  return out.kind == Attribute::Kind::kRaw ? OkStatus() : in.ExpectEnd("an attribute");
}

Status BytecodeEntries::ReadArray(ByteReader& in, Attribute& out) {
  out.kind = Attribute::Kind::kArray;
  VXLA_ASSIGN_OR_RETURN(const uint64_t count, in.Count("the number of a list's entries"));
  for (uint64_t i = 0; i < count; ++i) {
    VXLA_ASSIGN_OR_RETURN(const Attribute* const element, ReadAttribute(in));
    out.elements.push_back(*element);
  }
  return OkStatus();
}

Result<Literal> BytecodeEntries::ReadScalar(ByteReader& in, ElementType type) {
  uint64_t bits = 0;
  if (BitWidth(type) <= 8) {
    VXLA_ASSIGN_OR_RETURN(bits, in.Byte("a number"));
  } else {
    VXLA_ASSIGN_OR_RETURN(const int64_t value, in.SignedVarint("a number"));
    bits = static_cast<uint64_t>(value);
  }
  const std::span<const std::byte> bytes = std::as_bytes(std::span(&bits, 1));
  VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<const Literal> scalar,
                        LiteralFromBytes(Shape(type), bytes.first(static_cast<size_t>(StorageBytes(type)))));
  return Literal(*scalar);
}

Result<double> BytecodeEntries::ReadDouble(ByteReader& in) {
  VXLA_ASSIGN_OR_RETURN(const Literal value, ReadScalar(in, ElementType::kF64));
  return value.GetDouble(0);
}

// The type and then the bits of an integer or float.
Status BytecodeEntries::ReadNumber(ByteReader& in, Attribute& out) {
  VXLA_ASSIGN_OR_RETURN(const Type* const type, ReadType(in));
  const ElementType element = type->shape.element_type();
  if (type->kind != Type::Kind::kElement || IsComplex(element)) return in.Error("a number of {}", PrintType(*type));
  out.type = *type;
  VXLA_ASSIGN_OR_RETURN(const Literal value, ReadScalar(in, element));
  if (IsFloating(element)) {
    out.kind = Attribute::Kind::kFloat;
    out.real = value.GetDouble(0);
  } else {
    out.kind = element == ElementType::kPred ? Attribute::Kind::kBool : Attribute::Kind::kInteger;
    out.integer = value.GetInt(0);
  }
  return OkStatus();
}

// Elements of a tensor, whose type is read already.
Status BytecodeEntries::ReadTensor(ByteReader& in, std::string_view bytes, Attribute& out) {
  out.kind = Attribute::Kind::kElements;
  if (out.type.kind != Type::Kind::kShape || out.type.unranked || !out.type.shape.IsArray())
    return in.Error("elements of {}, a tensor needed", PrintType(out.type));
  const Shape& shape = out.type.shape;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape.is_dynamic_dimension(i)) return in.Error("elements of {}: a size is open", PrintType(shape));
  }
  std::span<const std::byte> elements = std::as_bytes(std::span(bytes));
  std::vector<std::byte> unpacked;
  const int64_t count = shape.ElementCount();
  // One byte 0xff is all true whatever their number; as many bytes as elements are a byte each.
  if (shape.element_type() == ElementType::kPred && bytes != "\xff" && static_cast<int64_t>(bytes.size()) != count &&
      static_cast<int64_t>(bytes.size()) == (count + 7) / 8) {
    unpacked = UnpackBits(bytes, count);
    elements = unpacked;
  }
  Result<std::shared_ptr<const Literal>> literal = LiteralFromBytes(shape, elements);
  if (!literal.ok()) return in.Error("{}", literal.status().message());
  out.literal = *std::move(literal);
  return OkStatus();
}

Status BytecodeEntries::ReadNumberArray(ByteReader& in, Attribute& out) {
  VXLA_ASSIGN_OR_RETURN(const Type* const element, ReadType(in));
  if (element->kind != Type::Kind::kElement) return in.Error("an array of {}", PrintType(*element));
  VXLA_ASSIGN_OR_RETURN(const uint64_t count, in.Varint("the size of an array"));
  VXLA_ASSIGN_OR_RETURN(const std::string_view bytes, in.Blob("an array"));
  const ElementType type = element->shape.element_type();
  if (bytes.size() % static_cast<size_t>(StorageBytes(type)) != 0 ||
      bytes.size() / static_cast<size_t>(StorageBytes(type)) != count)
    return in.Error("{} bytes for an array of {} {}", bytes.size(), count, PrintType(*element));
  out.kind = Attribute::Kind::kElements;
  out.text = "array";
  out.type = Type(Type::Kind::kShape, Shape(type, {static_cast<int64_t>(count)}));
  Literal literal(out.type.shape);
  if (!bytes.empty()) std::memcpy(literal.mutable_bytes().data(), bytes.data(), bytes.size());
  out.literal = std::make_shared<const Literal>(std::move(literal));
  return OkStatus();
}

Status BytecodeEntries::ReadResourceElements(ByteReader& in, Attribute& out) {
  VXLA_ASSIGN_OR_RETURN(const Type* const type, ReadType(in));
  out.type = *type;
  VXLA_ASSIGN_OR_RETURN(const uint64_t index, in.Index("a resource", resources_.size()));
  const Resource& resource = resources_[index];
  if (resource.kind != 0) return in.Error("resource '{}' is no blob", resource.key);
  ByteReader data(file_, resource.bytes);
  VXLA_ASSIGN_OR_RETURN(const uint64_t alignment, data.Varint("a blob's alignment"));
  VXLA_ASSIGN_OR_RETURN(const uint64_t size, data.Varint("a blob's size"));
  VXLA_RETURN_IF_ERROR(data.Align(alignment));
  VXLA_ASSIGN_OR_RETURN(const std::string_view bytes, data.Take(size, "a blob"));
  VXLA_RETURN_IF_ERROR(Spend(in, static_cast<int64_t>(bytes.size() / 16)));
  return ReadTensor(in, bytes, out);
}

Result<IntList> BytecodeEntries::ReadInts(ByteReader& in, std::string_view what) {
  VXLA_ASSIGN_OR_RETURN(const uint64_t count, in.Count(what));
  return Transformed(Counted<uint64_t>(count), [&](uint64_t) { return in.SignedVarint(what); });
}

Status BytecodeEntries::ReadAlias(ByteReader& in, Attribute& out) {
  out = Attribute(Attribute::Kind::kDialect, "stablehlo.output_operand_alias");
  VXLA_ASSIGN_OR_RETURN(const IntList output, ReadInts(in, "an alias's output indices"));
  VXLA_ASSIGN_OR_RETURN(const int64_t operand, in.SignedVarint("an alias's operand"));
  VXLA_ASSIGN_OR_RETURN(const IntList part, ReadInts(in, "an alias's operand indices"));
  SetAttribute(out.entries, "output_tuple_indices", IntListAttribute(output));
  SetAttribute(out.entries, "operand_index", IntegerAttribute(operand));
  SetAttribute(out.entries, "operand_tuple_indices", IntListAttribute(part));
  return OkStatus();
}

Status BytecodeEntries::ReadAccuracy(ByteReader& in, Attribute& out) {
  out = Attribute(Attribute::Kind::kDialect, "stablehlo.result_accuracy");
  for (const std::string_view name : {"atol", "rtol"}) {
    VXLA_ASSIGN_OR_RETURN(const double value, ReadDouble(in));
    SetAttribute(out.entries, std::string(name), FloatAttribute(value));
  }
  VXLA_ASSIGN_OR_RETURN(const int64_t ulps, in.SignedVarint("an accuracy's ulps"));
  SetAttribute(out.entries, "ulps", IntegerAttribute(ulps));
  VXLA_ASSIGN_OR_RETURN(const Attribute* const mode, ReadAttribute(in));
  SetAttribute(out.entries, "mode", *mode);
  return OkStatus();
}

Status BytecodeEntries::ReadKeyword(ByteReader& in, const VhloKeywords& keywords, Attribute& out) {
  VXLA_ASSIGN_OR_RETURN(const uint64_t value, in.Varint("a keyword"));
  if (value >= keywords.words.size() || keywords.words[value].empty())
    return in.Error("keyword {} of VHLO attribute {} is not known", value, static_cast<uint64_t>(keywords.code));
  const bool api = keywords.code == VhloAttribute::kApiVersion;
  out = api ? IntegerAttribute(static_cast<int64_t>(value)) : KeywordAttribute(keywords.words[value]);
  return OkStatus();
}

Status BytecodeEntries::ReadBounds(ByteReader& in, Attribute& out) {
  VXLA_ASSIGN_OR_RETURN(const IntList bounds, ReadInts(in, "the bounds of a tensor"));
  out = IntListAttribute(bounds);
  return OkStatus();
}

Status BytecodeEntries::DecodeVhloAttribute(ByteReader& in, VhloAttribute kind, Attribute& out) {
  if (const VhloKeywords* const keywords = FindVhloKeywords(kind)) return ReadKeyword(in, *keywords, out);
  for (const auto& [code, same] : kSameAttributes) {
    if (code == kind) return DecodeBuiltinAttribute(in, same, out);
  }
  const auto mesh = std::ranges::find(kMeshCodes, kind, &MeshCodes::vhlo);
  if (mesh != std::end(kMeshCodes)) return DecodeMesh(in, mesh->kind, true, out);
  switch (kind) {
    case VhloAttribute::kBool: {
      VXLA_ASSIGN_OR_RETURN(const uint64_t value, in.Index("a truth value", 2));
      out.kind = Attribute::Kind::kBool;
      out.integer = static_cast<int64_t>(value);
      return OkStatus();
    }
    case VhloAttribute::kOutputOperandAlias:
      return ReadAlias(in, out);
    case VhloAttribute::kTypeExtensions:
      return ReadBounds(in, out);
    case VhloAttribute::kResultAccuracy:
      return ReadAccuracy(in, out);
    default:
      return in.Error("VHLO attribute {} is not known (the newest version known is {})", static_cast<uint64_t>(kind),
                      kNewestVhlo.ToString());
  }
}

Status BytecodeEntries::DecodeBuiltinAttribute(ByteReader& in, BuiltinAttribute kind, Attribute& out) {
  switch (kind) {
    case BuiltinAttribute::kArray:
      return ReadArray(in, out);
    case BuiltinAttribute::kDictionary: {
      out.kind = Attribute::Kind::kDictionary;
      VXLA_ASSIGN_OR_RETURN(out.entries, ReadDictionary(in));
      return OkStatus();
    }
    case BuiltinAttribute::kString:
    case BuiltinAttribute::kTypedString: {
      VXLA_ASSIGN_OR_RETURN(const std::string text, ReadString(in));
      out = StringAttribute(text);
      return kind == BuiltinAttribute::kTypedString ? ReadType(in).status() : OkStatus();
    }
    case BuiltinAttribute::kFlatSymbol: {
      VXLA_ASSIGN_OR_RETURN(const Attribute* const name, ReadAttribute(in));
      out = StringAttribute(name->text);
      out.kind = Attribute::Kind::kSymbol;
      return OkStatus();
    }
    case BuiltinAttribute::kType: {
      VXLA_ASSIGN_OR_RETURN(const Type* const type, ReadType(in));
      out = TypeAttribute(*type);
      return OkStatus();
    }
    case BuiltinAttribute::kUnit:
      return OkStatus();
    case BuiltinAttribute::kInteger:
    case BuiltinAttribute::kFloat:
      return ReadNumber(in, out);
    case BuiltinAttribute::kDenseResource:
      return ReadResourceElements(in, out);
    case BuiltinAttribute::kDenseArray:
      return ReadNumberArray(in, out);
    case BuiltinAttribute::kDenseElements: {
      VXLA_ASSIGN_OR_RETURN(const Type* const type, ReadType(in));
      out.type = *type;
      VXLA_ASSIGN_OR_RETURN(const std::string_view bytes, in.Blob("a tensor's elements"));
      return ReadTensor(in, bytes, out);
    }
    default:  // locations, maps, sets: nothing here looks into them
      out = Attribute(Attribute::Kind::kRaw, fmt::format("builtin attribute {}", static_cast<uint64_t>(kind)));
      return OkStatus();
  }
}

// ---- types

Status BytecodeEntries::Decode(ByteReader& in, const Entry<Type>& entry, Type& out) {
  if (!entry.has_encoding && entry.dialect == "quant") {
    VXLA_ASSIGN_OR_RETURN(out.text, in.Terminated("a type's text"));
    return ParseQuantized(in, out);
  }
  const bool vhlo = entry.dialect == "vhlo", stablehlo = entry.dialect == "stablehlo";
  if (!entry.has_encoding || (!vhlo && !stablehlo && entry.dialect != "builtin")) {
    out = Type(Type::Kind::kOther, fmt::format("!{}<...>", entry.dialect));
    return OkStatus();
  }
  VXLA_ASSIGN_OR_RETURN(const uint64_t code, in.Varint("a type's code"));
  if (vhlo) {
    VXLA_RETURN_IF_ERROR(DecodeVhloType(in, static_cast<VhloType>(code), out));
  } else if (!stablehlo) {
    VXLA_RETURN_IF_ERROR(DecodeBuiltinType(in, static_cast<BuiltinType>(code), out));
  } else if (static_cast<StablehloType>(code) == StablehloType::kToken) {
    out = Type(Type::Kind::kShape, Shape::Token());
  } else {
    return in.Error("StableHLO type {} is not known", code);
  }
  return out.kind == Type::Kind::kOther ? OkStatus() : in.ExpectEnd("a type");
}

Result<ElementType> BytecodeEntries::ReadElementType(ByteReader& in) {
  VXLA_ASSIGN_OR_RETURN(const Type* const type, ReadType(in));
  if (type->kind != Type::Kind::kElement) return in.Error("elements of {} are not supported", PrintType(*type));
  return type->shape.element_type();
}

// [bounds,] sizes, element type; a size of -2^63 is open.
Status BytecodeEntries::ReadTensorType(ByteReader& in, bool with_encoding, Type& out) {
  const Attribute* encoding = nullptr;
  if (with_encoding) VXLA_SET_OR_RETURN(encoding, ReadAttribute(in));
  VXLA_ASSIGN_OR_RETURN(const IntList sizes, ReadInts(in, "the dimensions of a tensor"));
  if (sizes.size() > static_cast<size_t>(kMaxRank)) return in.Error("a tensor of more than {} dimensions", kMaxRank);
  std::vector<bool> dynamic;
  for (const int64_t size : sizes) {
    dynamic.push_back(size == kUnboundedSize);
    if (size < 0 && !dynamic.back()) return in.Error("the size of dimension {} is {}", dynamic.size() - 1, size);
  }
  VXLA_ASSIGN_OR_RETURN(const Type* const element, ReadType(in));
  const bool quantized = element->quantization != nullptr;
  if (element->kind != Type::Kind::kElement && !quantized)
    return in.Error("tensors of {} are not supported", PrintType(*element));
  Shape shape(element->shape.element_type(), sizes);
  for (int i = 0; i < shape.rank(); ++i) shape.set_dynamic_dimension(i, dynamic[i]);
  if (encoding != nullptr && encoding->kind == Attribute::Kind::kArray) {
    if (encoding->elements.size() != static_cast<size_t>(shape.rank()))
      return in.Error("{} bounds for {} dimensions", encoding->elements.size(), shape.rank());
    for (int i = 0; i < shape.rank(); ++i) {
      const int64_t bound = encoding->elements[i].integer;
      if (bound == kUnboundedSize) continue;
      if (!shape.is_dynamic_dimension(i)) return in.Error("a bound for dimension {}, which is static", i);
      if (bound < 0) return in.Error("the bound of dimension {} is {}", i, bound);
      shape.set_dimension(i, bound);
    }
  }
  if (!Contains(shape.dimensions(), kUnboundedSize)) {
    if (const Status status = CheckShape(shape); !status.ok()) return in.Error("{}", status.message());
  }
  if (quantized) {
    Result<Type> tensor = QuantizedTensor(shape, element->quantization, element->text);
    if (!tensor.ok()) return in.Error("{}", tensor.status().message());
    out = *std::move(tensor);
    return OkStatus();
  }
  out.kind = Type::Kind::kShape;
  out.shape = std::move(shape);
  out.index = element->index;
  return OkStatus();
}

Status BytecodeEntries::ReadTuple(ByteReader& in, Type& out) {
  VXLA_ASSIGN_OR_RETURN(const std::vector<Type> elements, ReadTypes(in));
  std::vector<Shape> shapes;
  int64_t nodes = 1;
  int depth = 0;
  for (const Type& element : elements) {
    if (element.kind != Type::Kind::kShape || element.unranked)
      return in.Error("a tuple's element is no tensor, tuple or token");
    depth = std::max(depth, TupleDepth(element.shape, nodes));
    if (depth + 1 > kMaxTupleDepth || nodes > kMaxTupleNodes)
      return in.Error("a tuple of more than {} levels or {} elements", kMaxTupleDepth, kMaxTupleNodes);
    shapes.push_back(element.shape);
  }
  out = Type(Type::Kind::kShape, Shape::Tuple(std::move(shapes)));
  return OkStatus();
}

// As text, which is checked where text is.
Status BytecodeEntries::ReadQuantized(ByteReader& in, bool per_axis, Type& out) {
  VXLA_ASSIGN_OR_RETURN(const uint64_t flags, in.Varint("a quantized type's flags"));
  VXLA_ASSIGN_OR_RETURN(const Type* const storage, ReadType(in));
  VXLA_ASSIGN_OR_RETURN(const Type* const expressed, ReadType(in));
  std::string scales, axis;
  IntList limits, zero_points;
  std::vector<double> factors;
  if (!per_axis) {
    VXLA_ASSIGN_OR_RETURN(const double scale, ReadDouble(in));
    VXLA_ASSIGN_OR_RETURN(const int64_t zero_point, in.SignedVarint("a zero point"));
    factors.push_back(scale);
    zero_points.push_back(zero_point);
  } else {
    VXLA_ASSIGN_OR_RETURN(const uint64_t dimension, in.Varint("a quantized dimension"));
    axis = fmt::format(":{}", dimension);
  }
  for (int i = 0; i < 2; ++i) VXLA_SET_OR_RETURN(limits.emplace_back(), in.SignedVarint("a storage limit"));
  if (per_axis) {
    VXLA_ASSIGN_OR_RETURN(const uint64_t count, in.Count("the number of scales"));
    for (uint64_t i = 0; i < count; ++i) VXLA_SET_OR_RETURN(factors.emplace_back(), ReadDouble(in));
    VXLA_ASSIGN_OR_RETURN(zero_points, ReadInts(in, "the zero points"));
    if (zero_points.size() != factors.size())
      return in.Error("{} scales and {} zero points", factors.size(), zero_points.size());
  }
  for (size_t i = 0; i < factors.size(); ++i)
    scales += fmt::format("{}{}:{}", i > 0 ? ", " : "", factors[i], zero_points[i]);
  const bool reads_unsigned =
      (flags & 1) == 0 && storage->kind == Type::Kind::kElement && IsSigned(storage->shape.element_type());
  out.text = fmt::format("!quant.uniform<{}{}<{}:{}>:{}{}, {}>", reads_unsigned ? "u" : "", PrintType(*storage),
                         limits[0], limits[1], PrintType(*expressed), axis, per_axis ? "{" + scales + "}" : scales);
  return ParseQuantized(in, out);
}

Status BytecodeEntries::ParseQuantized(const ByteReader& in, Type& out) {
  Result<std::shared_ptr<const Quantization>> quantization = ParseQuantization(out.text);
  if (!quantization.ok()) return in.Error("{}", quantization.status().message());
  out.kind = Type::Kind::kOther;
  out.quantization = *std::move(quantization);
  out.shape = Shape(out.quantization->storage);
  return OkStatus();
}

Status BytecodeEntries::DecodeVhloType(ByteReader& in, VhloType kind, Type& out) {
  const auto rows = VhloElementTypes();
  if (const auto row = std::ranges::find(rows, kind, &VhloElementType::code); row != rows.end()) {
    out = Type(Type::Kind::kElement, Shape(row->type));
    out.index = kind == VhloType::kIndex;
    return OkStatus();
  }
  for (const auto& [code, same] : kSameTypes) {
    if (code == kind) return DecodeBuiltinType(in, same, out);
  }
  switch (kind) {
    case VhloType::kToken:
      out = Type(Type::Kind::kShape, Shape::Token());
      return OkStatus();
    case VhloType::kQuantized:
    case VhloType::kQuantizedPerAxis:
      return ReadQuantized(in, kind == VhloType::kQuantizedPerAxis, out);
    case VhloType::kWitness:
      out = Type(Type::Kind::kOther, "!shape.witness");
      return OkStatus();
    case VhloType::kBuffer:
      VXLA_RETURN_IF_ERROR(ReadTensorType(in, /*with_encoding=*/false, out));
      out.buffer = out.kind == Type::Kind::kShape && out.quantization == nullptr && !out.shape.IsDynamic();
      return out.buffer ? OkStatus() : in.Error("a memref is an array of known sizes");
    case VhloType::kFuture: {
      VXLA_ASSIGN_OR_RETURN(const std::vector<Type> types, ReadTypes(in));
      std::string text;
      for (const Type& type : types) text += (text.empty() ? "" : ", ") + PrintType(type);
      out = Type(Type::Kind::kOther, "!stablehlo.future<" + text + ">");
      return OkStatus();
    }
    default:
      return in.Error("VHLO type {} is not known (the newest version known is {})", static_cast<uint64_t>(kind),
                      kNewestVhlo.ToString());
  }
}

namespace {

// Elements as text has them.
constexpr std::pair<BuiltinType, std::string_view> kBuiltinElements[] = {{BuiltinType::kIndex, "index"},
                                                                         {BuiltinType::kBf16, "bf16"},
                                                                         {BuiltinType::kF16, "f16"},
                                                                         {BuiltinType::kF32, "f32"},
                                                                         {BuiltinType::kF64, "f64"},
                                                                         {BuiltinType::kTf32, "tf32"},
                                                                         {BuiltinType::kF8E5M2, "f8E5M2"},
                                                                         {BuiltinType::kF8E4M3, "f8E4M3"},
                                                                         {BuiltinType::kF8E4M3FN, "f8E4M3FN"},
                                                                         {BuiltinType::kF8E5M2FNUZ, "f8E5M2FNUZ"},
                                                                         {BuiltinType::kF8E4M3FNUZ, "f8E4M3FNUZ"},
                                                                         {BuiltinType::kF8E4M3B11FNUZ, "f8E4M3B11FNUZ"},
                                                                         {BuiltinType::kF8E3M4, "f8E3M4"},
                                                                         {BuiltinType::kF4E2M1FN, "f4E2M1FN"},
                                                                         {BuiltinType::kF6E2M3FN, "f6E2M3FN"},
                                                                         {BuiltinType::kF6E3M2FN, "f6E3M2FN"},
                                                                         {BuiltinType::kF8E8M0FNU, "f8E8M0FNU"}};

}  // namespace

Status BytecodeEntries::DecodeBuiltinType(ByteReader& in, BuiltinType kind, Type& out) {
  const auto element = std::ranges::find(kBuiltinElements, kind, &std::pair<BuiltinType, std::string_view>::first);
  std::string word(element == std::end(kBuiltinElements) ? "" : element->second);
  if (kind == BuiltinType::kInteger) {
    VXLA_ASSIGN_OR_RETURN(const uint64_t width, in.Varint("an integer's width"));
    word = fmt::format("{}{}", (width & 3) == 2 ? "ui" : "i", width >> 2);
  }
  if (!word.empty()) {
    const std::optional<ElementType> type = ParseElementWord(word);
    out = type ? Type(Type::Kind::kElement, Shape(*type)) : Type(Type::Kind::kOther, word);
    out.index = kind == BuiltinType::kIndex;
    return OkStatus();
  }
  switch (kind) {
    case BuiltinType::kFunction: {
      out.kind = Type::Kind::kFunction;
      VXLA_ASSIGN_OR_RETURN(out.inputs, ReadTypes(in));
      VXLA_ASSIGN_OR_RETURN(out.results, ReadTypes(in));
      return OkStatus();
    }
    case BuiltinType::kComplex: {
      VXLA_ASSIGN_OR_RETURN(const ElementType part, ReadElementType(in));
      if (part != ElementType::kF32 && part != ElementType::kF64)
        return in.Error("complex numbers of {}, f32 or f64 needed", ElementTypeName(part));
      out = Type(Type::Kind::kElement, Shape(part == ElementType::kF32 ? ElementType::kC64 : ElementType::kC128));
      return OkStatus();
    }
    case BuiltinType::kNone:
      return OkStatus();
    case BuiltinType::kTensor:
    case BuiltinType::kTensorWithEncoding:
      return ReadTensorType(in, kind == BuiltinType::kTensorWithEncoding, out);
    case BuiltinType::kTuple:
      return ReadTuple(in, out);
    case BuiltinType::kUnrankedTensor: {
      VXLA_ASSIGN_OR_RETURN(const Type* const element, ReadType(in));
      if (element->kind != Type::Kind::kElement)
        return in.Error("elements of {} are not supported", PrintType(*element));
      out = *element;
      out.kind = Type::Kind::kShape;
      out.unranked = true;
      return OkStatus();
    }
    default:
      out = Type(Type::Kind::kOther, fmt::format("builtin type {}", static_cast<uint64_t>(kind)));
      return OkStatus();
  }
}

}  // namespace VXLA_NAMESPACE::mlir
