#include "core/mlir/reader/operation_parser.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/host/delimited_list.h"
#include "core/host/guarded.h"
#include "core/ir/reserved_names.h"
#include "core/limits.h"
#include "core/mlir/bytecode/container.h"
#include "core/mlir/bytecode/reader.h"
#include "core/mlir/dense_text.h"
#include "core/mlir/ir.h"
#include "core/mlir/reader/parser.h"
#include "core/mlir/rewrite/block_control.h"
#include "core/mlir/rewrite/mesh_groups.h"
#include "core/mlir/rewrite/quantized.h"
#include "core/mlir/rewrite/region_invariants.h"
#include "core/mlir/rewrite/structured_control.h"
#include "core/mlir/rewrite/tensor_constraints.h"

namespace VXLA_NAMESPACE::mlir {

Result<Program> OperationParser::Parse() {
  Operation top;
  top.name = "builtin.module";
  top.location = lexer_.LocationOf(lexer_.token().offset);
  Block body;
  {
    const Scope scope(*this, true);
    while (lexer_.token().kind != TokenKind::kEnd) {
      if (lexer_.token().kind == TokenKind::kHash || lexer_.token().kind == TokenKind::kBang) {
        VXLA_RETURN_IF_ERROR(DefineAlias());
      } else if (lexer_.At("{-#")) {
        VXLA_RETURN_IF_ERROR(ParseResources());
      } else {
        VXLA_ASSIGN_OR_RETURN(body.operations.emplace_back(), ParseOperation());
      }
    }
  }
  if (body.operations.empty()) return lexer_.Error("no operation in the text");
  if (body.operations.size() == 1 && body.operations[0].name == "builtin.module") {
    program_.module = std::move(body.operations[0]);
  } else {
    top.regions.emplace_back().blocks.push_back(std::move(body));
    program_.module = std::move(top);
  }
  return std::move(program_);
}

// {-# dialect_resources: { builtin: { name: "0x..." } } #-}
Status OperationParser::ParseResources() {
  VXLA_RETURN_IF_ERROR(lexer_.Expect("{-#"));
  while (!lexer_.At("#-}")) {
    if (lexer_.token().kind != TokenKind::kWord) return lexer_.Expected("dialect_resources");
    const bool blobs = lexer_.AtWord("dialect_resources");
    lexer_.Next();
    VXLA_RETURN_IF_ERROR(lexer_.Expect(":"));
    if (!lexer_.At("{")) return lexer_.Expected("'{'");
    if (!blobs) {
      VXLA_RETURN_IF_ERROR(lexer_.TakeGroup().status());
    } else {
      lexer_.Next();
      while (!lexer_.At("}")) {
        lexer_.Next();  // the dialect
        VXLA_RETURN_IF_ERROR(lexer_.Expect(":"));
        VXLA_RETURN_IF_ERROR(TakeList(lexer_, "{", "}", [&]() -> Status {
          std::string name(lexer_.token().text);
          if (lexer_.token().kind == TokenKind::kString) VXLA_SET_OR_RETURN(name, UnquoteMlir(name));
          lexer_.Next();
          VXLA_RETURN_IF_ERROR(lexer_.Expect(":"));
          const std::string_view blob = lexer_.token().text;
          if (lexer_.token().kind != TokenKind::kString || !blob.starts_with("\"0x") || blob.size() < 12)
            return lexer_.Expected("a blob \"0x...\" that begins with its alignment");
          Result<HostBytes> bytes = ParseHexBytes(blob.substr(11, blob.size() - 12));  // after 4 bytes of alignment
          if (!bytes.ok()) return lexer_.Error("resource {}: {}", name, bytes.status().message());
          program_.resources[name] = std::make_shared<const HostBytes>(*std::move(bytes));
          lexer_.Next();
          return OkStatus();
        }));
        if (!lexer_.Eat(",")) break;
      }
      VXLA_RETURN_IF_ERROR(lexer_.Expect("}"));
    }
    if (!lexer_.Eat(",")) break;
  }
  return lexer_.Expect("#-}");
}

// ---- values

Status OperationParser::Define(std::string_view name, size_t offset, ValueId first, uint32_t count) {
  if (!names_->emplace(name, Definition{first, count}).second) {
    return InvalidArgument("duplicate name '%{}'", name).At(lexer_.LocationOf(offset));
  }
  defined_->emplace_back(name, offset);
  return OkStatus();
}

// %name or %name#2
Result<ValueId> OperationParser::ParseOperand() {
  if (lexer_.token().kind != TokenKind::kValue) return lexer_.Expected("a value (%name)");
  const std::string_view name = lexer_.token().text;
  const size_t offset = lexer_.token().offset;
  const auto found = names_->find(name);
  if (found == names_->end()) return lexer_.Error("'%{}' is not defined before its use", name);
  const Definition definition = found->second;
  lexer_.Next();
  uint32_t index = 0;
  if (lexer_.token().kind == TokenKind::kHash) {
    const std::string_view digits = lexer_.token().text;
    uint64_t value = 0;
    for (const char c : digits) {
      if (c < '0' || c > '9' || value > UINT32_MAX) return lexer_.Expected("the number of a result");
      value = value * 10 + static_cast<uint64_t>(c - '0');
    }
    if (value >= definition.count)
      return lexer_.Error("'%{}' has {} results, number {} is asked for", name, definition.count, value);
    index = static_cast<uint32_t>(value);
    lexer_.Next();
  } else if (definition.count != 1) {
    return InvalidArgument("'%{}' has {} results: %{}#N is needed", name, definition.count, name)
        .At(lexer_.LocationOf(offset));
  }
  return definition.first + index;
}

Status OperationParser::AddOperand(Operation& operation) {
  VXLA_ASSIGN_OR_RETURN(operation.operands.emplace_back(), ParseOperand());
  return OkStatus();
}

Status OperationParser::ParseOperandsIn(Operation& operation, std::string_view open, std::string_view close) {
  VXLA_RETURN_IF_ERROR(lexer_.Expect(open));
  VXLA_RETURN_IF_ERROR(ParseOperands(operation));
  return lexer_.Expect(close);
}

Status OperationParser::Set(Operation& operation, std::string_view name, Result<Attribute> read) {
  VXLA_RETURN_IF_ERROR(read.status());
  SetAttribute(operation.attributes, std::string(name), *std::move(read));
  return OkStatus();
}

Status OperationParser::ParseOperands(Operation& operation) {
  if (lexer_.token().kind != TokenKind::kValue) return OkStatus();
  do {
    VXLA_RETURN_IF_ERROR(AddOperand(operation));
  } while (lexer_.Eat(","));
  return OkStatus();
}

namespace {

bool SameType(const Type& a, const Type& b) {
  if (a.kind != b.kind) return false;
  if ((a.quantization == nullptr) != (b.quantization == nullptr)) return false;
  if (a.quantization != nullptr) return a.shape == b.shape && a.text == b.text;
  if (a.kind == Type::Kind::kShape || a.kind == Type::Kind::kElement)
    return a.unranked == b.unranked && a.index == b.index && a.buffer == b.buffer && a.shape == b.shape;
  return PrintType(a) == PrintType(b);
}

}  // namespace

Status OperationParser::CheckOperandTypes(const Operation& operation, const std::vector<Type>& types) {
  if (types.size() != operation.operands.size()) {
    return InvalidArgument("{}: {} operands, {} types of operands", operation.name, operation.operands.size(),
                           types.size())
        .At(operation.location);
  }
  for (size_t i = 0; i < types.size(); ++i) {
    const Value& value = program_.values[operation.operands[i]];
    if (SameType(value.type, types[i])) continue;
    return InvalidArgument("{}: operand {} is {} here and {} where %{} is defined", operation.name, i,
                           PrintType(types[i]), PrintType(value.type), value.name)
        .At(operation.location);
  }
  return OkStatus();
}

// ---- operations

Result<std::vector<OperationParser::Result_>> OperationParser::ParseResultNames() {
  std::vector<Result_> names;
  if (lexer_.token().kind != TokenKind::kValue) return names;
  do {
    if (lexer_.token().kind != TokenKind::kValue) return lexer_.Expected("a result's name");
    Result_ result{lexer_.token().text, 1, lexer_.token().offset};
    lexer_.Next();
    if (lexer_.Eat(":")) {
      VXLA_ASSIGN_OR_RETURN(const int64_t count, lexer_.TakeInt("the number of results"));
      if (count < 1 || count > kMaxTupleNodes) return lexer_.Error("{} results of one name", count);
      result.count = static_cast<uint32_t>(count);
    }
    names.push_back(result);
  } while (lexer_.Eat(","));
  VXLA_RETURN_IF_ERROR(lexer_.Expect("="));
  return names;
}

Result<Operation> OperationParser::ParseOperation() {
  VXLA_ASSIGN_OR_RETURN(const std::vector<Result_> names, ParseResultNames());
  Operation operation;
  operation.location = lexer_.LocationOf(lexer_.token().offset);
  result_types_.clear();
  if (lexer_.token().kind == TokenKind::kString) {
    VXLA_RETURN_IF_ERROR(ParseGeneric(operation));
  } else if (lexer_.token().kind == TokenKind::kWord) {
    VXLA_RETURN_IF_ERROR(ParsePretty(operation));
  } else {
    return lexer_.Expected("an operation");
  }
  const std::vector<Type> types = std::move(result_types_);
  VXLA_RETURN_IF_ERROR(DefineResults(operation, names, types));
  VXLA_RETURN_IF_ERROR(SkipLocation());
  return operation;
}

Status OperationParser::DefineResults(Operation& operation, const std::vector<Result_>& names,
                                      const std::vector<Type>& types) {
  size_t named = 0;
  for (const Result_& name : names) named += name.count;
  if (!names.empty() && named != types.size()) {
    return InvalidArgument("{}: {} results have names, the operation has {}", operation.name, named, types.size())
        .At(operation.location);
  }
  for (const Type& type : types) operation.results.push_back(program_.NewValue(type));
  size_t at = 0;
  for (const Result_& name : names) {
    VXLA_RETURN_IF_ERROR(Define(name.name, name.offset, operation.results[at], name.count));
    for (uint32_t i = 0; i < name.count; ++i) {
      program_.values[operation.results[at + i]].name =
          name.count == 1 ? std::string(name.name) : fmt::format("{}#{}", name.name, i);
    }
    at += name.count;
  }
  return OkStatus();
}

// "name"(%a, %b) <{properties}> ({region}, {region}) {attributes} : (T, T) -> T
Status OperationParser::ParseGeneric(Operation& operation) {
  VXLA_ASSIGN_OR_RETURN(operation.name, lexer_.TakeString("an operation's name"));
  VXLA_RETURN_IF_ERROR(ParseOperandsIn(operation, "(", ")"));
  if (lexer_.At("[")) VXLA_RETURN_IF_ERROR(ParseSuccessors(operation));
  if (lexer_.Eat("<")) {
    VXLA_RETURN_IF_ERROR(ParseDictionary(operation.attributes));
    VXLA_RETURN_IF_ERROR(lexer_.Expect(">"));
  }
  if (lexer_.At("(")) VXLA_RETURN_IF_ERROR(ParseRegions(operation));
  VXLA_RETURN_IF_ERROR(ParseOptionalDictionary(operation));
  VXLA_RETURN_IF_ERROR(lexer_.Expect(":"));
  VXLA_ASSIGN_OR_RETURN(const std::vector<Type> operands, ParseTypeOrList());
  VXLA_RETURN_IF_ERROR(CheckOperandTypes(operation, operands));
  VXLA_RETURN_IF_ERROR(lexer_.Expect("->"));
  VXLA_ASSIGN_OR_RETURN(result_types_, ParseTypeOrList());
  return OkStatus();
}

Status OperationParser::ParseOptionalDictionary(Operation& operation) {
  return lexer_.At("{") ? ParseDictionary(operation.attributes) : OkStatus();
}

// ({region}, {region})
Status OperationParser::ParseRegions(Operation& operation) {
  VXLA_RETURN_IF_ERROR(lexer_.Expect("("));
  const bool isolated = operation.name == "func.func" || operation.name == "builtin.module";
  do {
    const Scope scope(*this, isolated);
    VXLA_ASSIGN_OR_RETURN(operation.regions.emplace_back(), ParseRegion());
  } while (lexer_.Eat(","));
  return lexer_.Expect(")");
}

// { operations ^bb0(%a: T): operations }
Result<Region> OperationParser::ParseRegion() {
  VXLA_RETURN_IF_ERROR(lexer_.Expect("{"));
  Region region;
  VXLA_RETURN_IF_ERROR(ParseBlocks(region));
  return region;
}

Status OperationParser::ParseBlocks(Region& region) {
  const Nested nested(depth_);
  VXLA_RETURN_IF_ERROR(CheckNesting());
  std::unordered_map<std::string, int64_t> labels;
  while (!lexer_.At("}")) {
    if (lexer_.token().kind == TokenKind::kCaret) {
      if (!labels.emplace(lexer_.token().text, static_cast<int64_t>(region.blocks.size())).second)
        return lexer_.Error("duplicate block '^{}'", lexer_.token().text);
      lexer_.Next();
      Block& block = region.blocks.emplace_back();
      if (lexer_.At("(")) VXLA_RETURN_IF_ERROR(ParseBlockArguments(block));
      VXLA_RETURN_IF_ERROR(lexer_.Expect(":"));
      continue;
    }
    if (region.blocks.empty()) region.blocks.emplace_back();
    VXLA_ASSIGN_OR_RETURN(region.blocks.back().operations.emplace_back(), ParseOperation());
  }
  for (Block& block : region.blocks) {
    if (!block.operations.empty()) VXLA_RETURN_IF_ERROR(NumberSuccessors(block.operations.back(), labels));
  }
  return lexer_.Expect("}");
}

Status OperationParser::NumberSuccessors(Operation& operation, const std::unordered_map<std::string, int64_t>& labels) {
  const Attribute* const names = operation.Find(kSuccessors);
  if (names == nullptr) return OkStatus();
  IntList numbers;
  for (const Attribute& name : names->elements) {
    const auto found = labels.find(name.text);
    if (found == labels.end()) return operation.Error("no block '^{}' here", name.text);
    numbers.push_back(found->second);
  }
  SetAttribute(operation.attributes, std::string(kSuccessors), IntListAttribute(numbers));
  return OkStatus();
}

// [^bb1, ^bb2] behind the operands, which operandSegmentSizes (condition, first, second) deals out.
Status OperationParser::ParseSuccessors(Operation& operation) {
  VXLA_RETURN_IF_ERROR(lexer_.Expect("["));
  Attribute names(Attribute::Kind::kArray);
  do {
    if (lexer_.token().kind != TokenKind::kCaret) return lexer_.Expected("a block (^name)");
    names.elements.push_back(KeywordAttribute(lexer_.token().text));
    lexer_.Next();
  } while (lexer_.Eat(","));
  SetAttribute(operation.attributes, std::string(kSuccessors), std::move(names));
  return lexer_.Expect("]");
}

// cf.br ^bb1(%a : T)    cf.cond_br %condition, ^bb1(%a : T), ^bb2
Status OperationParser::ParseBranch(Operation& operation) {
  if (operation.name == "cf.cond_br") {
    VXLA_RETURN_IF_ERROR(AddOperand(operation));
    VXLA_RETURN_IF_ERROR(lexer_.Expect(","));
  }
  Attribute names(Attribute::Kind::kArray);
  IntList counts;
  do {
    if (lexer_.token().kind != TokenKind::kCaret) return lexer_.Expected("a block (^name)");
    names.elements.push_back(KeywordAttribute(lexer_.token().text));
    lexer_.Next();
    Operation given;
    given.name = operation.name;
    given.location = operation.location;
    if (lexer_.Eat("(")) {
      VXLA_RETURN_IF_ERROR(ParseOperands(given));
      VXLA_RETURN_IF_ERROR(lexer_.Expect(":"));
      VXLA_ASSIGN_OR_RETURN(const std::vector<Type> types, ParseTypeList());
      VXLA_RETURN_IF_ERROR(CheckOperandTypes(given, types));
      VXLA_RETURN_IF_ERROR(lexer_.Expect(")"));
    }
    counts.push_back(given.operands.size());
    operation.operands.insert(operation.operands.end(), given.operands.begin(), given.operands.end());
  } while (lexer_.Eat(","));
  SetAttribute(operation.attributes, std::string(kSuccessors), std::move(names));
  SetAttribute(operation.attributes, std::string(kSuccessorOperands), IntListAttribute(counts));
  return ParseOptionalDictionary(operation);
}

Status OperationParser::ParseBlockArguments(Block& block) {
  return TakeList(lexer_, "(", ")", [&]() -> Status {
    if (lexer_.token().kind != TokenKind::kValue) return lexer_.Expected("an argument (%name: type)");
    const MlirToken name = lexer_.token();
    lexer_.Next();
    VXLA_RETURN_IF_ERROR(lexer_.Expect(":"));
    VXLA_ASSIGN_OR_RETURN(Type type, ParseType());
    block.arguments.push_back(program_.NewValue(std::move(type), name.text));
    program_.values.back().location = lexer_.LocationOf(name.offset);
    VXLA_RETURN_IF_ERROR(Define(name.text, name.offset, block.arguments.back(), 1));
    VXLA_RETURN_IF_ERROR(SkipLocation());
    return OkStatus();
  });
}

// ---- module and functions

// module @name attributes {...} { ... }
Status OperationParser::ParseModule(Operation& operation) {
  if (lexer_.token().kind == TokenKind::kSymbol) {
    VXLA_RETURN_IF_ERROR(Set(operation, "sym_name", ParseAttribute()));
  }
  if (lexer_.EatWord("attributes")) VXLA_RETURN_IF_ERROR(ParseDictionary(operation.attributes));
  const Scope scope(*this, true);
  VXLA_ASSIGN_OR_RETURN(operation.regions.emplace_back(), ParseRegion());
  return OkStatus();
}

// func.func public @name(%a: T {attributes}, ...) -> (T {attributes}, ...) attributes {...} { ... }
Status OperationParser::ParseFunction(Operation& operation) {
  for (const std::string_view visibility : {"public", "private", "nested"}) {
    if (lexer_.EatWord(visibility)) SetAttribute(operation.attributes, "sym_visibility", StringAttribute(visibility));
  }
  if (lexer_.token().kind != TokenKind::kSymbol) return lexer_.Expected("the function's name (@name)");
  VXLA_ASSIGN_OR_RETURN(Attribute name, ParseAttribute());
  SetAttribute(operation.attributes, "sym_name", StringAttribute(name.text));
  const Scope scope(*this, true);
  Type type;
  type.kind = Type::Kind::kFunction;
  Region region;
  Block& block = region.blocks.emplace_back();
  Attribute argument_attributes, result_attributes;
  argument_attributes.kind = result_attributes.kind = Attribute::Kind::kArray;
  const auto dictionary = [&](Attribute& list) -> Status {
    Attribute& attributes = list.elements.emplace_back();
    attributes.kind = Attribute::Kind::kDictionary;
    if (lexer_.At("{")) VXLA_RETURN_IF_ERROR(ParseDictionary(attributes.entries));
    return SkipLocation();
  };
  VXLA_RETURN_IF_ERROR(TakeList(lexer_, "(", ")", [&]() -> Status {
    std::string_view argument;
    if (lexer_.token().kind == TokenKind::kValue) {
      const MlirToken token = lexer_.token();
      argument = token.text;
      lexer_.Next();
      VXLA_RETURN_IF_ERROR(lexer_.Expect(":"));
      VXLA_RETURN_IF_ERROR(Define(argument, token.offset, static_cast<ValueId>(program_.values.size()), 1));
    }
    VXLA_ASSIGN_OR_RETURN(Type argument_type, ParseType());
    type.inputs.push_back(argument_type);
    block.arguments.push_back(program_.NewValue(std::move(argument_type), argument));
    VXLA_RETURN_IF_ERROR(dictionary(argument_attributes));
    return OkStatus();
  }));
  if (lexer_.Eat("->")) {
    const bool list = lexer_.Eat("(");
    while (!list || !lexer_.At(")")) {
      VXLA_ASSIGN_OR_RETURN(type.results.emplace_back(), ParseType());
      if (list) VXLA_RETURN_IF_ERROR(dictionary(result_attributes));
      if (!list || !lexer_.Eat(",")) break;
    }
    if (list) VXLA_RETURN_IF_ERROR(lexer_.Expect(")"));
  }
  if (lexer_.EatWord("attributes")) VXLA_RETURN_IF_ERROR(ParseDictionary(operation.attributes));
  SetAttribute(operation.attributes, "function_type", TypeAttribute(std::move(type)));
  SetAttribute(operation.attributes, "arg_attrs", std::move(argument_attributes));
  SetAttribute(operation.attributes, "res_attrs", std::move(result_attributes));
  if (lexer_.At("{")) {
    lexer_.Next();
    VXLA_RETURN_IF_ERROR(ParseBlocks(region));
  } else {
    region.blocks.clear();  // declared only
  }
  operation.regions.push_back(std::move(region));
  return OkStatus();
}

namespace {

// What passes tell one another is no program's to say.
Status CheckNames(const Operation& operation) {
  for (const NamedAttribute& attribute : operation.attributes) {
    Status status = CheckNotReserved("the attribute", attribute.name);
    const std::string_view name = attribute.name;
    const bool of_call = name == "call_target_name" || name == "backend_config" || name == "mhlo.backend_config";
    if (status.ok() && of_call) status = CheckNotReserved(name, attribute.value.text);
    if (!status.ok()) return std::move(status).WithPrefix(operation.name + ": ").At(operation.location);
  }
  for (const Operation& inner : Inside(operation)) VXLA_RETURN_IF_ERROR(CheckNames(inner));
  return OkStatus();
}

}  // namespace

Result<Program> ParseMlir(std::string_view text, int first_line) {
  return Guarded([&]() -> Result<Program> {
    VXLA_ASSIGN_OR_RETURN(Program program, text.starts_with(kBytecodeMagic)
                                               ? ReadBytecode(text)
                                               : OperationParser(text, first_line).Parse());
    VXLA_RETURN_IF_ERROR(CheckNames(program.module));
    VXLA_RETURN_IF_ERROR(ExpandMeshGroups(program));
    HoistRegionInvariants(program);
    VXLA_RETURN_IF_ERROR(LowerBlocks(program));
    VXLA_RETURN_IF_ERROR(LegalizeQuantized(program));
    VXLA_RETURN_IF_ERROR(CheckTensorDialect(program));
    VXLA_RETURN_IF_ERROR(LowerStructuredControl(program));
    return program;
  });
}

std::vector<MlirSection> SplitMlir(std::string_view text) {
  if (text.starts_with(kBytecodeMagic)) return {{text, 1}};
  std::vector<MlirSection> sections;
  size_t start = 0;
  int line = 1, first_line = 1;
  // A split stands at the beginning of a line: a look at each '/' after a line's end would be slow in 200 MB.
  for (size_t at = text.starts_with("// -----") ? 0 : text.find("\n// -----");; at = text.find("\n// -----", at + 1)) {
    const size_t end = std::min(at, text.size());
    sections.push_back({text.substr(start, end - start), first_line});
    if (at == std::string_view::npos) return sections;
    for (size_t i = start; i < end + 1 && i < text.size(); ++i) line += text[i] == '\n';
    start = at + (text[at] == '\n');
    first_line = line;
  }
}

}  // namespace VXLA_NAMESPACE::mlir
