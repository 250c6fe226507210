#include "core/mlir/reader/attribute_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/host/delimited_list.h"
#include "core/limits.h"
#include "core/mlir/dense_text.h"
#include "core/mlir/rewrite/mesh_groups.h"
#include "core/mlir/rewrite/quantized.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

Type ElementTypeOf(ElementType type) { return Type(Type::Kind::kElement, Shape(type)); }

Type ShapeType(Shape shape) { return Type(Type::Kind::kShape, std::move(shape)); }

Type OtherType(std::string text) { return Type(Type::Kind::kOther, std::move(text)); }

bool StartsType(const MlirToken& token) {
  if (token.kind == TokenKind::kBang) return true;
  if (token.kind == TokenKind::kPunctuation) return token.text == "(";
  if (token.kind != TokenKind::kWord) return false;
  for (const std::string_view word : {"tensor", "tuple", "complex", "none", "vector", "memref"}) {
    if (token.text == word) return true;
  }
  // i17 and f80 are types too, if not of this program.
  std::string_view digits = token.text;
  const size_t letters = std::min(digits.find_first_of("0123456789"), digits.size());
  const std::string_view stem = digits.substr(0, letters);
  digits.remove_prefix(letters);
  const bool number = !digits.empty() && std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
  return (number && (stem == "i" || stem == "si" || stem == "ui" || stem == "f" || stem == "tf")) ||
         ParseElementWord(token.text).has_value();
}

int64_t NodesOf(const Type& type) {
  int64_t nodes = 1 + static_cast<int64_t>(FlattenTuple(type.shape).size());
  for (const Type& part : type.inputs) nodes += NodesOf(part);
  for (const Type& part : type.results) nodes += NodesOf(part);
  return nodes;
}

int64_t NodesOf(const Attribute& attribute) {
  int64_t nodes = 1 + NodesOf(attribute.type);
  for (const Attribute& part : attribute.elements) nodes += NodesOf(part);
  for (const NamedAttribute& part : attribute.entries) nodes += NodesOf(part.value);
  return nodes;
}

}  // namespace

Status AttributeParser::CheckNesting() const {
  if (depth_ <= kMaxTextNesting) return OkStatus();
  return lexer_.Error("types, attributes and regions nest more than {} levels deep", kMaxTextNesting);
}

Status AttributeParser::Spend(int64_t nodes) {
  budget_ -= nodes;
  if (budget_ >= 0) return OkStatus();
  return lexer_.Error("the aliases of the text stand for too much");
}

// ---- types

Result<Type> AttributeParser::ParseType() {
  const Nested nested(depth_);
  VXLA_RETURN_IF_ERROR(CheckNesting());
  if (lexer_.At("(")) return ParseFunctionType();
  if (lexer_.token().kind == TokenKind::kBang) return ParseDialectType();
  if (lexer_.token().kind != TokenKind::kWord || !StartsType(lexer_.token())) return lexer_.Expected("a type");
  const std::string word(lexer_.token().text);
  if (word == "tensor") return ParseTensorType();
  if (word == "complex") return ParseComplexType();
  if (word == "tuple") return ParseTupleType();
  if (word == "memref") return ParseBufferType();
  if (word == "vector") {
    lexer_.Next();
    if (!lexer_.At("<")) return lexer_.Expected("'<'");
    VXLA_ASSIGN_OR_RETURN(const std::string rest, lexer_.TakeGroup());
    return OtherType(word + rest);
  }
  const std::optional<ElementType> element = ParseElementWord(word);
  lexer_.Next();
  if (!element) return OtherType(word);
  return word == "index" ? IndexType() : ElementTypeOf(*element);
}

Result<Type> AttributeParser::ParseComplexType() {
  lexer_.Next();
  VXLA_RETURN_IF_ERROR(lexer_.Expect("<"));
  const std::optional<ElementType> part = ParseElementWord(lexer_.token().text);
  if (part != ElementType::kF32 && part != ElementType::kF64) return lexer_.Expected("f32 or f64 of complex");
  lexer_.Next();
  VXLA_RETURN_IF_ERROR(lexer_.Expect(">"));
  return ElementTypeOf(part == ElementType::kF32 ? ElementType::kC64 : ElementType::kC128);
}

Result<Type> AttributeParser::ParseTupleType() {
  lexer_.Next();
  std::vector<Shape> elements;
  VXLA_RETURN_IF_ERROR(TakeList(lexer_, "<", ">", [&]() -> Status {
    VXLA_ASSIGN_OR_RETURN(const Type element, ParseType());
    if (element.kind != Type::Kind::kShape) return lexer_.Error("a tuple's element is no tensor, tuple or token");
    elements.push_back(element.shape);
    return OkStatus();
  }));
  int64_t nodes = 1;
  int depth = 0;
  for (const Shape& element : elements) depth = std::max(depth, TupleDepth(element, nodes));
  if (depth + 1 > kMaxTupleDepth || nodes > kMaxTupleNodes)
    return lexer_.Error("a tuple of more than {} levels or {} elements", kMaxTupleDepth, kMaxTupleNodes);
  return ShapeType(Shape::Tuple(std::move(elements)));
}

// 2x3xf32, with the first dimension after the '<' that is the current token.
Result<Type> AttributeParser::ParseTensorType() {
  const size_t start = lexer_.token().offset;
  lexer_.Next();
  if (!lexer_.At("<")) return lexer_.Expected("'<'");
  const std::string_view text = lexer_.text();
  size_t at = lexer_.position();
  std::vector<int64_t> sizes;
  std::vector<bool> dynamic;
  while (at < text.size()) {
    while (at < text.size() && text[at] == ' ') ++at;
    int64_t size = kUnboundedSize;
    const bool unbounded = text.substr(at, 2) == "?x";
    if (unbounded) {
      at += 2;
    } else {
      const auto parsed = std::from_chars(text.data() + at, text.data() + text.size(), size);
      if (parsed.ec == std::errc::invalid_argument || text[at] == '-') break;
      if (parsed.ec != std::errc()) {
        lexer_.Seek(at);
        return lexer_.Error("the size of dimension {} exceeds 64 bits", sizes.size());
      }
      at = static_cast<size_t>(parsed.ptr - text.data());
      if (at >= text.size() || text[at] != 'x') {
        lexer_.Seek(at);
        return lexer_.Expected("'x' after a dimension's size");
      }
      ++at;
    }
    sizes.push_back(size);
    dynamic.push_back(unbounded);
    if (sizes.size() > static_cast<size_t>(kMaxRank))
      return lexer_.Error("a tensor of more than {} dimensions", kMaxRank);
  }
  lexer_.Seek(at);
  if (lexer_.At("*")) return ParseUnranked();
  if (lexer_.token().kind == TokenKind::kBang) {
    Shape shape(ElementType::kS8, std::move(sizes));
    for (int i = 0; i < shape.rank(); ++i) shape.set_dynamic_dimension(i, dynamic[i]);
    return ParseQuantizedTensor(std::move(shape), start);
  }
  if (lexer_.AtWord("tuple")) {
    lexer_.Seek(start);
    lexer_.Next();
    VXLA_ASSIGN_OR_RETURN(const std::string rest, lexer_.TakeGroup());
    return OtherType("tensor" + rest);
  }
  VXLA_ASSIGN_OR_RETURN(const Type element, ParseType());
  if (element.kind != Type::Kind::kElement) return lexer_.Error("tensors of {} are not supported", PrintType(element));
  Shape shape(element.shape.element_type(), std::move(sizes));
  for (int i = 0; i < shape.rank(); ++i) shape.set_dynamic_dimension(i, dynamic[i]);
  if (lexer_.Eat(",")) VXLA_RETURN_IF_ERROR(ParseBounds(shape));
  VXLA_RETURN_IF_ERROR(lexer_.Expect(">"));
  if (std::ranges::find(shape.dimensions(), kUnboundedSize) == shape.dimensions().end()) {
    if (const Status status = CheckShape(shape); !status.ok()) return lexer_.Error("{}", status.message());
  }
  Type type = ShapeType(std::move(shape));
  type.index = element.index;
  return type;
}

// memref<2x3xf32>, whose memory space says nothing to vxla.
Result<Type> AttributeParser::ParseBufferType() {
  const size_t start = lexer_.token().offset;
  VXLA_ASSIGN_OR_RETURN(Type type, ParseTensorType());
  const bool plain = type.kind == Type::Kind::kShape && !type.unranked && type.quantization == nullptr;
  if (!plain || type.shape.IsDynamic()) {
    lexer_.Seek(start);
    return lexer_.Error("a memref is an array of known sizes");
  }
  type.buffer = true;
  return type;
}

// The rest of tensor<2x!quant.uniform<...>>, which began at `start`.
Result<Type> AttributeParser::ParseQuantizedTensor(Shape shape, size_t start) {
  VXLA_ASSIGN_OR_RETURN(const Type element, ParseDialectType());
  if (!element.text.starts_with("!quant.")) {
    lexer_.Seek(start);
    lexer_.Next();
    VXLA_ASSIGN_OR_RETURN(const std::string rest, lexer_.TakeGroup());
    return OtherType("tensor" + rest);
  }
  Result<std::shared_ptr<const Quantization>> quantization = ParseQuantization(element.text);
  if (!quantization.ok()) return Status(quantization.status()).At(lexer_.LocationOf(start));
  VXLA_RETURN_IF_ERROR(lexer_.Expect(">"));
  Result<Type> type = QuantizedTensor(shape, *quantization, element.text);
  if (!type.ok()) return Status(type.status()).At(lexer_.LocationOf(start));
  return type;
}

// *xf32> of tensor<*xf32>
Result<Type> AttributeParser::ParseUnranked() {
  const size_t at = lexer_.position();
  if (lexer_.text().substr(at, 1) != "x") return lexer_.Expected("'*x'");
  lexer_.Seek(at + 1);
  VXLA_ASSIGN_OR_RETURN(Type element, ParseType());
  if (element.kind != Type::Kind::kElement) return lexer_.Error("tensors of {} are not supported", PrintType(element));
  VXLA_RETURN_IF_ERROR(lexer_.Expect(">"));
  element.kind = Type::Kind::kShape;
  element.unranked = true;
  return element;
}

// The encoding: #stablehlo.bounds<?, 8>, or #stablehlo.type_extensions<bounds = [?, 8]>; others say nothing to vxla.
Status AttributeParser::ParseBounds(Shape& shape) {
  VXLA_ASSIGN_OR_RETURN(const Attribute encoding, ParseAttribute());
  if (encoding.kind != Attribute::Kind::kDialect) return OkStatus();
  const Attribute* const listed = encoding.text.ends_with(".type_extensions") ? encoding.Find("bounds") : nullptr;
  if (listed == nullptr && !encoding.text.ends_with(".bounds")) return OkStatus();
  const std::vector<Attribute>& bounds = listed == nullptr ? encoding.elements : listed->elements;
  if (bounds.size() != static_cast<size_t>(shape.rank()))
    return lexer_.Error("{} bounds for {} dimensions", bounds.size(), shape.rank());
  for (int i = 0; i < shape.rank(); ++i) {
    const Attribute& bound = bounds[i];
    if (bound.kind != Attribute::Kind::kInteger) continue;
    if (!shape.is_dynamic_dimension(i)) return lexer_.Error("a bound for dimension {}, which is static", i);
    shape.set_dimension(i, bound.integer);
  }
  return OkStatus();
}

Result<Type> AttributeParser::ParseFunctionType() {
  Type type;
  type.kind = Type::Kind::kFunction;
  VXLA_ASSIGN_OR_RETURN(type.inputs, ParseTypeOrList());
  VXLA_RETURN_IF_ERROR(lexer_.Expect("->"));
  VXLA_ASSIGN_OR_RETURN(type.results, ParseTypeOrList());
  return type;
}

Result<std::vector<Type>> AttributeParser::ParseTypeOrList() {
  std::vector<Type> types;
  if (!lexer_.Eat("(")) {
    VXLA_ASSIGN_OR_RETURN(types.emplace_back(), ParseType());
    return types;
  }
  if (lexer_.Eat(")")) return types;
  VXLA_ASSIGN_OR_RETURN(types, ParseTypeList());
  VXLA_RETURN_IF_ERROR(lexer_.Expect(")"));
  return types;
}

Result<std::vector<Type>> AttributeParser::ParseTypeList() {
  std::vector<Type> types;
  do {
    VXLA_ASSIGN_OR_RETURN(types.emplace_back(), ParseType());
  } while (lexer_.Eat(","));
  return types;
}

Result<Type> AttributeParser::ParseDialectType() {
  const std::string name(lexer_.token().text);
  if (const auto alias = type_aliases_.find(name); alias != type_aliases_.end()) {
    VXLA_RETURN_IF_ERROR(Spend(NodesOf(alias->second)));
    lexer_.Next();
    return alias->second;
  }
  lexer_.Next();
  if (name == "stablehlo.token" || name == "mhlo.token") return ShapeType(Shape::Token());
  if (name == "shape.size") return IndexType();
  std::string text = "!" + name;
  if (lexer_.At("<")) {
    VXLA_ASSIGN_OR_RETURN(const std::string rest, lexer_.TakeGroup());
    text += rest;
  }
  return OtherType(std::move(text));
}

// ---- attributes

Result<Attribute> AttributeParser::ParseAttribute() {
  const Nested nested(depth_);
  VXLA_RETURN_IF_ERROR(CheckNesting());
  Attribute attribute;
  switch (lexer_.token().kind) {
    case TokenKind::kInt:
    case TokenKind::kDecimal:
      return ParseNumber();
    case TokenKind::kString: {
      VXLA_ASSIGN_OR_RETURN(attribute.text, lexer_.TakeString("a string"));
      attribute.kind = Attribute::Kind::kString;
      if (lexer_.Eat(":")) VXLA_SET_OR_RETURN(attribute.type, ParseType());
      return attribute;
    }
    case TokenKind::kSymbol:
      return ParseSymbol();
    case TokenKind::kHash:
      return ParseHashAttribute();
    case TokenKind::kWord:
      return ParseWordAttribute();
    default:
      break;
  }
  if (lexer_.At("[")) {
    VXLA_RETURN_IF_ERROR(ParseArray(attribute));
    return attribute;
  }
  if (lexer_.At("{")) {
    attribute.kind = Attribute::Kind::kDictionary;
    VXLA_RETURN_IF_ERROR(ParseDictionary(attribute.entries));
    return attribute;
  }
  if (lexer_.At("<")) return ParseDialectBody("");  // a parameter of a custom form, without its name
  if (!StartsType(lexer_.token())) return lexer_.Expected("an attribute");
  VXLA_ASSIGN_OR_RETURN(Type type, ParseType());
  return TypeAttribute(std::move(type));
}

Status AttributeParser::ParseArray(Attribute& attribute) {
  attribute.kind = Attribute::Kind::kArray;
  return TakeList(lexer_, "[", "]", [&]() -> Status {
    if (lexer_.Eat("?")) {  // an open one among sizes
      attribute.elements.push_back(KeywordAttribute("?"));
    } else {
      VXLA_ASSIGN_OR_RETURN(attribute.elements.emplace_back(), ParseAttribute());
    }
    return OkStatus();
  });
}

// 1, -1 : i32, 1.0, 0x7FC00000 : f32
Result<Attribute> AttributeParser::ParseNumber() {
  Attribute attribute;
  const MlirToken token = lexer_.token();
  lexer_.Next();
  const bool decimal = token.kind == TokenKind::kDecimal;
  attribute.type = ElementTypeOf(decimal ? ElementType::kF64 : ElementType::kS64);
  if (lexer_.Eat(":")) VXLA_SET_OR_RETURN(attribute.type, ParseType());
  const ElementType type =
      attribute.type.kind == Type::Kind::kElement ? attribute.type.shape.element_type() : ElementType::kS64;
  if (IsComplex(type)) return lexer_.Error("{} is no complex number", token.text);
  Literal value{Shape(type)};
  const Status status = ParseDenseNumber(token.text, type, value.mutable_bytes().data());
  if (!status.ok()) return Status(status).At(lexer_.LocationOf(token.offset));
  attribute.kind = IsFloating(type) ? Attribute::Kind::kFloat : Attribute::Kind::kInteger;
  if (IsFloating(type)) {
    attribute.real = value.GetDouble(0);
  } else {
    attribute.integer = value.GetInt(0);
  }
  return attribute;
}

Result<Attribute> AttributeParser::ParseSymbol() {
  Attribute attribute(Attribute::Kind::kSymbol);
  const std::string_view text = lexer_.token().text;
  if (text.starts_with('"')) {
    VXLA_ASSIGN_OR_RETURN(attribute.text, UnquoteMlir(text));
  } else {
    attribute.text = text;
  }
  lexer_.Next();
  while (lexer_.Eat("::")) {
    if (lexer_.token().kind != TokenKind::kSymbol) return lexer_.Expected("a nested symbol");
    attribute.text += fmt::format("::@{}", lexer_.token().text);
    lexer_.Next();
  }
  return attribute;
}

Result<Attribute> AttributeParser::ParseWordAttribute() {
  const std::string_view word = lexer_.token().text;
  Attribute attribute;
  if (word == "true" || word == "false") {
    attribute.kind = Attribute::Kind::kBool;
    attribute.integer = word == "true";
    lexer_.Next();
    if (lexer_.Eat(":")) VXLA_SET_OR_RETURN(attribute.type, ParseType());
    return attribute;
  }
  if (word == "unit") {
    lexer_.Next();
    return attribute;
  }
  if (word == "dense") return ParseDense();
  if (word == "dense_resource") return ParseDenseResource();
  if (word == "array") return ParseNumberArray();
  if (word == "loc" || word == "affine_map" || word == "affine_set" || word == "strided" || word == "sparse" ||
      word == "opaque" || word == "distinct") {
    attribute.kind = Attribute::Kind::kRaw;
    attribute.text = word;
    lexer_.Next();
    if (!lexer_.At("(") && !lexer_.At("<") && !lexer_.At("[")) return lexer_.Expected("a bracket");
    while (lexer_.At("(") || lexer_.At("<") || lexer_.At("[")) {
      VXLA_ASSIGN_OR_RETURN(const std::string group, lexer_.TakeGroup());
      attribute.text += group;
    }
    if (lexer_.Eat(":")) VXLA_SET_OR_RETURN(attribute.type, ParseType());
    return attribute;
  }
  if (StartsType(lexer_.token())) {
    VXLA_ASSIGN_OR_RETURN(Type type, ParseType());
    return TypeAttribute(std::move(type));
  }
  attribute = KeywordAttribute(word);
  lexer_.Next();
  return attribute;
}

// dense<...> : type. The elements come before the type that says what they are.
Result<Attribute> AttributeParser::ParseDense() {
  Attribute attribute(Attribute::Kind::kElements);
  lexer_.Next();
  if (!lexer_.At("<")) return lexer_.Expected("'<'");
  const size_t open = lexer_.position(), dense_offset = lexer_.token().offset;
  const std::string_view text = lexer_.text();
  lexer_.Next();
  const bool is_string = lexer_.token().kind == TokenKind::kString;
  std::string_view elements;
  if (is_string) {
    elements = lexer_.token().text;
    lexer_.Next();
  } else {
    const size_t close = text.find('>', open);
    if (close == std::string_view::npos) {
      return InvalidArgument("dense<...> is never closed").At(lexer_.LocationOf(dense_offset));
    }
    elements = text.substr(open, close - open);
    lexer_.Seek(close);
  }
  VXLA_RETURN_IF_ERROR(lexer_.Expect(">"));
  if (implied_type_ != nullptr && !lexer_.At(":")) {
    attribute.type = *implied_type_;
  } else {
    VXLA_RETURN_IF_ERROR(lexer_.Expect(":"));
    VXLA_ASSIGN_OR_RETURN(attribute.type, ParseType());
  }
  if (attribute.type.kind != Type::Kind::kShape || !attribute.type.shape.IsArray())
    return lexer_.Error("dense elements of {}, a tensor needed", PrintType(attribute.type));
  const Shape& shape = attribute.type.shape;
  size_t offset = 0;
  Result<std::shared_ptr<const Literal>> literal = std::shared_ptr<const Literal>();
  if (is_string) {
    offset = 0;
    if (!elements.starts_with("\"0x"))
      return lexer_.Error("dense<\"...\"> without 0x: tensors of strings are not supported");
    literal = LiteralFromHex(shape, elements.substr(3, elements.size() - 4));
  } else {
    literal = ParseDenseText(elements, shape, offset);
  }
  if (!literal.ok()) return Status(literal.status()).At(lexer_.LocationOf(open + offset));
  attribute.literal = *std::move(literal);
  return attribute;
}

Result<Attribute> AttributeParser::ParseDenseResource() {
  Attribute attribute(Attribute::Kind::kElements);
  lexer_.Next();
  VXLA_RETURN_IF_ERROR(lexer_.Expect("<"));
  const bool quoted = lexer_.token().kind == TokenKind::kString;
  if (!quoted && lexer_.token().kind != TokenKind::kWord) return lexer_.Expected("a resource's name");
  attribute.text = lexer_.token().text;
  if (quoted) VXLA_SET_OR_RETURN(attribute.text, UnquoteMlir(attribute.text));
  lexer_.Next();
  VXLA_RETURN_IF_ERROR(lexer_.Expect(">"));
  VXLA_RETURN_IF_ERROR(lexer_.Expect(":"));
  VXLA_ASSIGN_OR_RETURN(attribute.type, ParseType());
  if (attribute.type.kind != Type::Kind::kShape || !attribute.type.shape.IsArray())
    return lexer_.Error("a resource of {}, a tensor needed", PrintType(attribute.type));
  return attribute;
}

// array<i64: 1, 2>
Result<Attribute> AttributeParser::ParseNumberArray() {
  Attribute attribute(Attribute::Kind::kElements);
  lexer_.Next();
  VXLA_RETURN_IF_ERROR(lexer_.Expect("<"));
  VXLA_ASSIGN_OR_RETURN(const Type element, ParseType());
  if (element.kind != Type::Kind::kElement) return lexer_.Error("an array of {}", PrintType(element));
  const ElementType type = element.shape.element_type();
  std::vector<std::byte> bytes;
  const size_t size = static_cast<size_t>(StorageBytes(type));
  if (lexer_.Eat(":")) {
    do {
      bytes.resize(bytes.size() + size);
      const Status status = ParseDenseNumber(lexer_.token().text, type, bytes.data() + bytes.size() - size);
      if (!status.ok()) return Status(status).At(lexer_.LocationOf(lexer_.token().offset));
      lexer_.Next();
    } while (lexer_.Eat(","));
  }
  VXLA_RETURN_IF_ERROR(lexer_.Expect(">"));
  Literal literal{Shape(type, {static_cast<int64_t>(bytes.size() / size)})};
  if (!bytes.empty()) std::memcpy(literal.mutable_bytes().data(), bytes.data(), bytes.size());
  attribute.text = "array";
  attribute.type = ShapeType(literal.shape());
  attribute.literal = std::make_shared<const Literal>(std::move(literal));
  return attribute;
}

Result<Attribute> AttributeParser::ParseHashAttribute() {
  const std::string name(lexer_.token().text);
  if (const auto alias = attribute_aliases_.find(name); alias != attribute_aliases_.end()) {
    VXLA_RETURN_IF_ERROR(Spend(NodesOf(alias->second)));
    lexer_.Next();
    return alias->second;
  }
  lexer_.Next();
  if (!lexer_.At("<")) {
    if (name.find('.') == std::string::npos) return lexer_.Error("'#{}' is not defined before its use", name);
    return Attribute(Attribute::Kind::kDialect, name);
  }
  return ParseDialectBody(name);
}

// transpose NO_TRANSPOSE>, or of #stablehlo<dot <...>>
Result<Attribute> AttributeParser::ParseKindAndValue(const std::string& dialect) {
  const std::string name = dialect + "." + std::string(lexer_.token().text);
  lexer_.Next();
  Attribute attribute;
  if (lexer_.token().kind == TokenKind::kWord) {
    attribute = KeywordAttribute(lexer_.token().text);
    lexer_.Next();
  } else if (lexer_.At("<")) {
    VXLA_ASSIGN_OR_RETURN(attribute, ParseDialectBody(name));
  } else {
    return lexer_.Expected("a keyword");
  }
  VXLA_RETURN_IF_ERROR(lexer_.Expect(">"));
  return attribute;
}

// <transpose NO_TRANSPOSE>, <key = value, ...>, <8, ?>, at '<'.
Result<Attribute> AttributeParser::ParseDialectBody(std::string name) {
  Attribute attribute(Attribute::Kind::kDialect, name);
  const std::string& dialect = attribute.text;
  const bool known = dialect.empty() || dialect.starts_with("stablehlo") || dialect.starts_with("mhlo") ||
                     dialect.starts_with("chlo") || dialect.starts_with("vhlo");
  if (dialect == "sdy.mesh") return ParseMeshBody();
  if (dialect == "sdy.sharding") return ParseShardingBody();
  if (dialect == "sdy.sharding_per_value" || dialect == "sdy") {
    lexer_.Next();
    const bool axes = dialect == "sdy" && lexer_.EatWord("manual_axes");
    if (dialect == "sdy" && !axes) return lexer_.Expected("manual_axes");
    VXLA_ASSIGN_OR_RETURN(attribute, axes ? ParseAxes("}") : ParseShardings());
    VXLA_RETURN_IF_ERROR(lexer_.Expect(">"));
    return attribute;
  }
  if (!known) {
    attribute.kind = Attribute::Kind::kRaw;
    VXLA_ASSIGN_OR_RETURN(const std::string group, lexer_.TakeGroup());
    attribute.text = "#" + dialect + group;
    return attribute;
  }
  lexer_.Next();
  if (lexer_.At("[") && dialect.ends_with(".conv")) {
    VXLA_ASSIGN_OR_RETURN(attribute, ParseConvolutionDimensions());
    VXLA_RETURN_IF_ERROR(lexer_.Expect(">"));
    return attribute;
  }
  if (dialect == "stablehlo" || dialect == "mhlo" || dialect == "chlo") return ParseKindAndValue(dialect);
  if (dialect.ends_with(".conv")) lexer_.EatWord("raw");  // the older form, with a name for each number
  VXLA_RETURN_IF_ERROR(TakeItems(lexer_, ">", [&]() -> Status {
    if (lexer_.Eat("?")) {
      attribute.elements.push_back(KeywordAttribute("?"));
    } else if (lexer_.token().kind == TokenKind::kWord && !StartsType(lexer_.token()) && !lexer_.AtWord("dense")) {
      const std::string key(lexer_.token().text);
      lexer_.Next();
      if (lexer_.Eat("=")) {
        VXLA_ASSIGN_OR_RETURN(Attribute value, lexer_.At("(") ? ParseSubAxis() : ParseAttribute());
        SetAttribute(attribute.entries, key, std::move(value));
      } else {
        attribute.elements.push_back(KeywordAttribute(key));
      }
    } else {
      VXLA_ASSIGN_OR_RETURN(attribute.elements.emplace_back(), ParseAttribute());
    }
    return OkStatus();
  }));
  // A keyword alone: <TOLERANCE>, #stablehlo.precision<DEFAULT>.
  const bool keyword = attribute.entries.empty() && attribute.elements.size() == 1 &&
                       attribute.elements[0].kind == Attribute::Kind::kKeyword && attribute.elements[0].text != "?";
  if (keyword) return Attribute(attribute.elements[0]);
  return attribute;
}

// Of sub_axis_info: (2)4.
Result<Attribute> AttributeParser::ParseSubAxis() {
  Attribute attribute(Attribute::Kind::kDialect, "stablehlo.sub_axis_info");
  VXLA_RETURN_IF_ERROR(lexer_.Expect("("));
  VXLA_ASSIGN_OR_RETURN(const int64_t before, lexer_.TakeInt("the size before a part of an axis"));
  VXLA_RETURN_IF_ERROR(lexer_.Expect(")"));
  VXLA_ASSIGN_OR_RETURN(const int64_t size, lexer_.TakeInt("the size of a part of an axis"));
  SetAttribute(attribute.entries, "pre_size", IntegerAttribute(before));
  SetAttribute(attribute.entries, "size", IntegerAttribute(size));
  return attribute;
}

// Shardy's <["x"=2, "y"=4], device_ids=[..]>, at '<'.
Result<Attribute> AttributeParser::ParseMeshBody() {
  Attribute ids;
  VXLA_RETURN_IF_ERROR(lexer_.Expect("<"));
  const auto axis = [&]() -> Result<Attribute> {
    VXLA_RETURN_IF_ERROR(Spend(1));
    if (lexer_.token().kind != TokenKind::kString) return lexer_.Expected("an axis of the mesh (\"x\"=2)");
    VXLA_ASSIGN_OR_RETURN(const Attribute name, ParseAttribute());
    VXLA_RETURN_IF_ERROR(lexer_.Expect("="));
    VXLA_ASSIGN_OR_RETURN(const int64_t size, lexer_.TakeInt("the size of an axis"));
    return MeshAxisAttribute(name.text, size);
  };
  VXLA_ASSIGN_OR_RETURN(std::vector<Attribute> axes, TakeListOf(lexer_, "[", "]", axis));
  if (lexer_.Eat(",")) {
    if (!lexer_.EatWord("device_ids")) return lexer_.Expected("device_ids=[...]");
    VXLA_RETURN_IF_ERROR(lexer_.Expect("="));
    VXLA_ASSIGN_OR_RETURN(const IntList list, ParseIntList());
    ids = IntListAttribute(list);
  }
  VXLA_RETURN_IF_ERROR(lexer_.Expect(">"));
  return MeshAttribute(std::move(axes), std::move(ids));
}

Result<Attribute> AttributeParser::ParseAxes(std::string_view end) {
  Attribute list(Attribute::Kind::kArray);
  lexer_.Next();
  while (!lexer_.At(end)) {
    VXLA_RETURN_IF_ERROR(Spend(1));
    if (lexer_.Eat("?")) {
      SetAttribute(list.entries, "is_open", IntegerAttribute(1));
      break;
    }
    VXLA_ASSIGN_OR_RETURN(const std::string name, lexer_.TakeString("an axis of the mesh (\"x\")"));
    Attribute part;
    if (lexer_.Eat(":")) VXLA_SET_OR_RETURN(part, ParseSubAxis());
    list.elements.push_back(AxisAttribute(name, std::move(part)));
    if (!lexer_.Eat(",")) break;
  }
  VXLA_RETURN_IF_ERROR(lexer_.Expect(end));
  return list;
}

// Shardy's <@mesh, [{"x"}, {"y", ?}p1], replicated={"z"}, unreduced={"w"}>, at '<'.
Result<Attribute> AttributeParser::ParseShardingBody() {
  Attribute mesh, dimensions, replicated, unreduced;
  dimensions.kind = Attribute::Kind::kArray;
  VXLA_RETURN_IF_ERROR(lexer_.Expect("<"));
  if (lexer_.EatWord("mesh")) {
    VXLA_ASSIGN_OR_RETURN(mesh, ParseMeshBody());
  } else {
    if (lexer_.token().kind != TokenKind::kSymbol) return lexer_.Expected("a mesh (@name)");
    VXLA_ASSIGN_OR_RETURN(mesh, ParseAttribute());
  }
  VXLA_RETURN_IF_ERROR(lexer_.Expect(","));
  VXLA_RETURN_IF_ERROR(lexer_.Expect("["));
  while (lexer_.At("{")) {
    VXLA_ASSIGN_OR_RETURN(Attribute axes, ParseAxes("}"));
    if (lexer_.token().kind == TokenKind::kWord) {
      VXLA_ASSIGN_OR_RETURN(const int64_t priority, ParsePriority());
      SetAttribute(axes.entries, "priority", IntegerAttribute(priority));
    }
    dimensions.elements.push_back(std::move(axes));
    if (!lexer_.Eat(",")) break;
  }
  VXLA_RETURN_IF_ERROR(lexer_.Expect("]"));
  while (lexer_.Eat(",")) {
    const bool sums = lexer_.AtWord("unreduced");
    if (!sums && !lexer_.AtWord("replicated")) return lexer_.Expected("replicated or unreduced");
    lexer_.Next();
    VXLA_RETURN_IF_ERROR(lexer_.Expect("="));
    if (!lexer_.At("{")) return lexer_.Expected("'{'");
    VXLA_ASSIGN_OR_RETURN(Attribute axes, ParseAxes("}"));
    (sums ? unreduced : replicated) = std::move(axes);
  }
  VXLA_RETURN_IF_ERROR(lexer_.Expect(">"));
  return ShardingAttribute(std::move(mesh), std::move(dimensions), std::move(replicated), std::move(unreduced));
}

// p1
Result<int64_t> AttributeParser::ParsePriority() {
  const std::string_view word = lexer_.token().text;
  int64_t priority = 0;
  const char* const end = word.data() + word.size();
  const auto read = std::from_chars(word.data() + 1, end, priority);
  if (word[0] != 'p' || read.ec != std::errc() || read.ptr != end || priority < 0)
    return lexer_.Expected("a priority (p0)");
  lexer_.Next();
  return priority;
}

Result<Attribute> AttributeParser::ParseShardings() {
  Attribute list(Attribute::Kind::kRaw, "#sdy.sharding_per_value<...>");
  VXLA_RETURN_IF_ERROR(lexer_.Expect("["));
  while (lexer_.At("<")) {
    VXLA_RETURN_IF_ERROR(Spend(1));
    VXLA_ASSIGN_OR_RETURN(list.elements.emplace_back(), ParseShardingBody());
    if (!lexer_.Eat(",")) break;
  }
  VXLA_RETURN_IF_ERROR(lexer_.Expect("]"));
  return list;
}

// Three lists of keywords and numbers, as elements.
Result<Attribute> AttributeParser::ParseConvolutionDimensions() {
  Attribute attribute(Attribute::Kind::kDialect, "stablehlo.conv");
  for (int list = 0; list < 3; ++list) {
    if (list == 1) VXLA_RETURN_IF_ERROR(lexer_.ExpectWord("x"));
    if (list == 2) VXLA_RETURN_IF_ERROR(lexer_.Expect("->"));
    VXLA_RETURN_IF_ERROR(lexer_.Expect("["));
    Attribute& names = attribute.elements.emplace_back();
    names.kind = Attribute::Kind::kArray;
    VXLA_RETURN_IF_ERROR(TakeItems(lexer_, "]", [&]() -> Status {
      const TokenKind kind = lexer_.token().kind;
      if (kind != TokenKind::kWord && kind != TokenKind::kInt && !lexer_.At("?"))
        return lexer_.Expected("b, f, i, o or the number of a spatial dimension");
      names.elements.push_back(KeywordAttribute(lexer_.token().text));
      lexer_.Next();
      return OkStatus();
    }));
  }
  return attribute;
}

Status AttributeParser::ParseDictionary(Dictionary& dictionary) {
  VXLA_RETURN_IF_ERROR(lexer_.Expect("{"));
  return ParseEntries(dictionary, "}");
}

Status AttributeParser::ParseEntries(Dictionary& dictionary, std::string_view end) {
  return TakeItems(lexer_, end, [&]() -> Status {
    std::string name(lexer_.token().text);
    if (lexer_.token().kind == TokenKind::kString) {
      VXLA_ASSIGN_OR_RETURN(name, UnquoteMlir(name));
    } else if (lexer_.token().kind != TokenKind::kWord && lexer_.token().kind != TokenKind::kInt) {
      return lexer_.Expected("an attribute's name");
    }
    if (FindAttribute(dictionary, name) != nullptr) return lexer_.Error("duplicate attribute '{}'", name);
    lexer_.Next();
    Attribute value;
    if (lexer_.Eat("=")) VXLA_SET_OR_RETURN(value, ParseAttribute());
    SetAttribute(dictionary, std::move(name), std::move(value));
    return OkStatus();
  });
}

Result<IntList> AttributeParser::ParseIntList() {
  return TakeListOf(lexer_, "[", "]", [&] { return lexer_.TakeInt("an integer"); });
}

Status AttributeParser::SkipLocation() {
  if (!lexer_.EatWord("loc")) return OkStatus();
  if (!lexer_.At("(")) return lexer_.Expected("'('");
  return lexer_.TakeGroup().status();
}

Status AttributeParser::DefineAlias() {
  const bool is_type = lexer_.token().kind == TokenKind::kBang;
  const std::string name(lexer_.token().text);
  lexer_.Next();
  VXLA_RETURN_IF_ERROR(lexer_.Expect("="));
  if (is_type) {
    VXLA_ASSIGN_OR_RETURN(type_aliases_[name], ParseType());
    return OkStatus();
  }
  VXLA_ASSIGN_OR_RETURN(attribute_aliases_[name], ParseAttribute());
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE::mlir
