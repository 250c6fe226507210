// The pretty forms of the dialects tensor, arith, scf and shape: each fills the operation as the generic form would.
#include <fmt/format.h>

#include "core/host/delimited_list.h"
#include "core/mlir/reader/operation_parser.h"

namespace VXLA_NAMESPACE::mlir {

OperationParser::Form OperationParser::TensorFormOf(std::string_view name) {
  using P = OperationParser;
  static const std::unordered_map<std::string_view, Form> kForms{
      {"tensor.bitcast", &P::ParseConversion},
      {"tensor.cast", &P::ParseConversion},
      {"tensor.collapse_shape", &P::ParseReassociation},
      {"tensor.concat", &P::ParseConcat},
      {"tensor.dim", &P::ParseQuery},
      {"tensor.empty", &P::ParseSized},
      {"tensor.expand_shape", &P::ParseReassociation},
      {"tensor.extract", &P::ParseExtract},
      {"tensor.extract_slice", &P::ParseExtractSlice},
      {"tensor.from_elements", &P::ParseSized},
      {"tensor.gather", &P::ParseGatherScatter},
      {"tensor.generate", &P::ParseGenerate},
      {"tensor.insert", &P::ParseInsert},
      {"tensor.insert_slice", &P::ParseInsertSlice},
      {"tensor.pad", &P::ParsePad},
      {"tensor.parallel_insert_slice", &P::ParseInsertSlice},
      {"tensor.rank", &P::ParseQuery},
      {"tensor.reshape", &P::ParseTensorReshape},
      {"tensor.scatter", &P::ParseGatherScatter},
      {"tensor.splat", &P::ParseSized},
      {"tensor.yield", &P::ParseReturn},
      {"cf.br", &P::ParseBranch},
      {"cf.cond_br", &P::ParseBranch},
      {"scf.yield", &P::ParseReturn},
      {"scf.for", &P::ParseFor},
      {"scf.if", &P::ParseIf},
      {"scf.forall", &P::ParseForall},
      {"scf.forall.in_parallel", &P::ParseInParallel},
  };
  if (const auto found = kForms.find(name); found != kForms.end()) return found->second;
  if (name.starts_with("arith.")) return &P::ParseArith;
  if (name.starts_with("shape.")) return &P::ParseShape;
  return nullptr;
}

Type OperationParser::ElementOf(const Type& tensor) const {
  Type type(Type::Kind::kElement, Shape(tensor.shape.element_type()));
  type.index = tensor.index;
  return type;
}

Status OperationParser::ParseValuesIn(Operation& operation, std::string_view open, std::string_view close) {
  return TakeList(lexer_, open, close, [&] { return AddOperand(operation); });
}

Result<IntList> OperationParser::ParseMixedList(std::vector<ValueId>& dynamic, std::string_view open,
                                                std::string_view close) {
  IntList list;
  VXLA_RETURN_IF_ERROR(TakeList(lexer_, open, close, [&]() -> Status {
    if (lexer_.token().kind == TokenKind::kValue) {
      VXLA_ASSIGN_OR_RETURN(dynamic.emplace_back(), ParseOperand());
      list.push_back(kUnboundedSize);
    } else {
      VXLA_ASSIGN_OR_RETURN(list.emplace_back(), lexer_.TakeInt("a number or a value"));
    }
    return OkStatus();
  }));
  return list;
}

Result<Type> OperationParser::ParseOneType(Operation& operation) {
  VXLA_RETURN_IF_ERROR(ParseOptionalDictionary(operation));
  VXLA_RETURN_IF_ERROR(lexer_.Expect(":"));
  return ParseType();
}

Status OperationParser::ParseTypesAround(Operation& operation, std::string_view word) {
  VXLA_ASSIGN_OR_RETURN(Type from, ParseOneType(operation));
  VXLA_RETURN_IF_ERROR(lexer_.ExpectWord(word));
  VXLA_ASSIGN_OR_RETURN(Type to, ParseType());
  if (operation.operands.empty()) return lexer_.Error("{}: an operand is needed", operation.name);
  const Operation first{operation.name, {operation.operands[0]}, {}, {}, {}, {}};
  VXLA_RETURN_IF_ERROR(CheckOperandTypes(first, {from}));
  result_types_ = {std::move(to)};
  return OkStatus();
}

// %a : T to T
Status OperationParser::ParseConversion(Operation& operation) {
  VXLA_RETURN_IF_ERROR(ParseOperands(operation));
  return ParseTypesAround(operation, "to");
}

// %a [[0, 1], [2]] output_shape [%m, 32] : T into T
Status OperationParser::ParseReassociation(Operation& operation) {
  VXLA_RETURN_IF_ERROR(AddOperand(operation));
  VXLA_RETURN_IF_ERROR(Set(operation, "reassociation", ParseAttribute()));
  if (lexer_.EatWord("output_shape")) {
    VXLA_ASSIGN_OR_RETURN(const IntList sizes, ParseMixedList(operation.operands, "[", "]"));
    SetAttribute(operation.attributes, "static_output_shape", IntListAttribute(sizes));
  }
  return ParseTypesAround(operation, "into");
}

// dim(0) %a, %b : (T, T) -> T
Status OperationParser::ParseConcat(Operation& operation) {
  VXLA_RETURN_IF_ERROR(lexer_.ExpectWord("dim"));
  VXLA_RETURN_IF_ERROR(lexer_.Expect("("));
  VXLA_ASSIGN_OR_RETURN(const int64_t dimension, lexer_.TakeInt("a dimension"));
  SetAttribute(operation.attributes, "dim", IntegerAttribute(dimension));
  VXLA_RETURN_IF_ERROR(lexer_.Expect(")"));
  VXLA_RETURN_IF_ERROR(ParseOperands(operation));
  return ParseAttributesAndTypes(operation);
}

// empty(%m, %n) : T; from_elements %a, %b : T; splat %a[%m] : T
Status OperationParser::ParseSized(Operation& operation) {
  if (lexer_.At("(")) {
    VXLA_RETURN_IF_ERROR(ParseValuesIn(operation, "(", ")"));
  } else {
    VXLA_RETURN_IF_ERROR(ParseOperands(operation));
    if (lexer_.At("[")) VXLA_RETURN_IF_ERROR(ParseValuesIn(operation, "[", "]"));
  }
  VXLA_RETURN_IF_ERROR(ParseOptionalDictionary(operation));
  VXLA_RETURN_IF_ERROR(lexer_.Expect(":"));
  VXLA_ASSIGN_OR_RETURN(result_types_, ParseTypeOrList());
  return OkStatus();
}

// dim %a, %i : T; rank %a : T
Status OperationParser::ParseQuery(Operation& operation) {
  VXLA_RETURN_IF_ERROR(ParseOperands(operation));
  VXLA_RETURN_IF_ERROR(ParseOneType(operation).status());
  result_types_ = {IndexType()};
  return OkStatus();
}

// %a[%i, %j] : T
Status OperationParser::ParseExtract(Operation& operation) {
  VXLA_RETURN_IF_ERROR(AddOperand(operation));
  VXLA_RETURN_IF_ERROR(ParseValuesIn(operation, "[", "]"));
  VXLA_ASSIGN_OR_RETURN(const Type type, ParseOneType(operation));
  result_types_ = {ElementOf(type)};
  return OkStatus();
}

// %v into %a[%i, %j] : T
Status OperationParser::ParseInsert(Operation& operation) {
  VXLA_RETURN_IF_ERROR(AddOperand(operation));
  VXLA_RETURN_IF_ERROR(lexer_.ExpectWord("into"));
  VXLA_RETURN_IF_ERROR(AddOperand(operation));
  VXLA_RETURN_IF_ERROR(ParseValuesIn(operation, "[", "]"));
  VXLA_ASSIGN_OR_RETURN(Type type, ParseOneType(operation));
  result_types_ = {std::move(type)};
  return OkStatus();
}

// [offsets][sizes][strides], with the segments of operands behind the `leading` ones.
Status OperationParser::ParseSliceLists(Operation& operation, size_t leading) {
  IntList segments(leading, 1);
  for (const char* name : {"static_offsets", "static_sizes", "static_strides"}) {
    const size_t before = operation.operands.size();
    VXLA_ASSIGN_OR_RETURN(const IntList list, ParseMixedList(operation.operands, "[", "]"));
    segments.push_back(operation.operands.size() - before);
    SetAttribute(operation.attributes, name, IntListAttribute(list));
  }
  SetAttribute(operation.attributes, "operandSegmentSizes", IntListAttribute(segments));
  return OkStatus();
}

Status OperationParser::ParseExtractSlice(Operation& operation) {
  VXLA_RETURN_IF_ERROR(AddOperand(operation));
  VXLA_RETURN_IF_ERROR(ParseSliceLists(operation, 1));
  return ParseTypesAround(operation, "to");
}

// %t into %a[..][..][..] : T into T
Status OperationParser::ParseInsertSlice(Operation& operation) {
  VXLA_RETURN_IF_ERROR(AddOperand(operation));
  VXLA_RETURN_IF_ERROR(lexer_.ExpectWord("into"));
  VXLA_RETURN_IF_ERROR(AddOperand(operation));
  VXLA_RETURN_IF_ERROR(ParseSliceLists(operation, 2));
  VXLA_RETURN_IF_ERROR(ParseTypesAround(operation, "into"));
  if (operation.name == "tensor.parallel_insert_slice") result_types_.clear();
  return OkStatus();
}

// gather %a[%i] gather_dims([0]) unique : types; scatter %a into %b[%i] scatter_dims([0]) unique : types
Status OperationParser::ParseGatherScatter(Operation& operation) {
  const bool scatters = operation.name == "tensor.scatter";
  VXLA_RETURN_IF_ERROR(AddOperand(operation));
  if (scatters) {
    VXLA_RETURN_IF_ERROR(lexer_.ExpectWord("into"));
    VXLA_RETURN_IF_ERROR(AddOperand(operation));
  }
  VXLA_RETURN_IF_ERROR(ParseValuesIn(operation, "[", "]"));
  const char* const word = scatters ? "scatter_dims" : "gather_dims";
  VXLA_RETURN_IF_ERROR(lexer_.ExpectWord(word));
  VXLA_RETURN_IF_ERROR(lexer_.Expect("("));
  VXLA_ASSIGN_OR_RETURN(const IntList dimensions, ParseIntList());
  VXLA_RETURN_IF_ERROR(lexer_.Expect(")"));
  SetAttribute(operation.attributes, word, IntListAttribute(dimensions));
  if (lexer_.EatWord("unique")) SetAttribute(operation.attributes, "unique", Attribute());
  return ParseAttributesAndTypes(operation);
}

// { ... } with the block's arguments defined by the text, or by `block`; `terminator` is added where it is left out.
Status OperationParser::ParseRegionInto(Operation& operation, Block block, std::string_view terminator) {
  Region region;
  if (!block.arguments.empty() || !terminator.empty()) region.blocks.push_back(std::move(block));
  VXLA_RETURN_IF_ERROR(lexer_.Expect("{"));
  VXLA_RETURN_IF_ERROR(ParseBlocks(region));
  if (region.blocks.size() > 1 && region.blocks[0].operations.empty() && region.blocks[0].arguments.empty())
    region.blocks.erase(region.blocks.begin());  // the text names its first block
  if (!terminator.empty() && !region.blocks.empty()) {
    Block& last = region.blocks.back();
    if (last.operations.empty() || last.operations.back().name != terminator) {
      last.operations.push_back({std::string(terminator), {}, {}, {}, {}, operation.location});
    }
  }
  operation.regions.push_back(std::move(region));
  return OkStatus();
}

Status OperationParser::ParseBody(Operation& operation, std::string_view terminator) {
  const Scope scope(*this, false);
  return ParseRegionInto(operation, {}, terminator);
}

// %m, %n { ^bb0(%i: index, ...): ... } : T
Status OperationParser::ParseGenerate(Operation& operation) {
  VXLA_RETURN_IF_ERROR(ParseOperands(operation));
  VXLA_RETURN_IF_ERROR(ParseBody(operation, ""));
  VXLA_ASSIGN_OR_RETURN(Type type, ParseOneType(operation));
  result_types_ = {std::move(type)};
  return OkStatus();
}

// %a nofold low[..] high[..] { ... } : T to T
Status OperationParser::ParsePad(Operation& operation) {
  VXLA_RETURN_IF_ERROR(AddOperand(operation));
  if (lexer_.EatWord("nofold")) SetAttribute(operation.attributes, "nofold", Attribute());
  IntList segments{1};
  for (const char* word : {"low", "high"}) {
    VXLA_RETURN_IF_ERROR(lexer_.ExpectWord(word));
    const size_t before = operation.operands.size();
    VXLA_ASSIGN_OR_RETURN(const IntList list, ParseMixedList(operation.operands, "[", "]"));
    segments.push_back(operation.operands.size() - before);
    SetAttribute(operation.attributes, fmt::format("static_{}", word), IntListAttribute(list));
  }
  SetAttribute(operation.attributes, "operandSegmentSizes", IntListAttribute(segments));
  VXLA_RETURN_IF_ERROR(ParseBody(operation, ""));
  return ParseTypesAround(operation, "to");
}

// %a(%shape) : (T, T) -> T
Status OperationParser::ParseTensorReshape(Operation& operation) {
  VXLA_RETURN_IF_ERROR(AddOperand(operation));
  VXLA_RETURN_IF_ERROR(ParseValuesIn(operation, "(", ")"));
  return ParseAttributesAndTypes(operation);
}

// addi %a, %b overflow<nsw> : T; cmpi slt, %a, %b : T; select %c, %a, %b : T; index_cast %a : T to T
Status OperationParser::ParseArith(Operation& operation) {
  const bool compares = operation.name == "arith.cmpi" || operation.name == "arith.cmpf";
  if (compares) {
    if (lexer_.token().kind != TokenKind::kWord) return lexer_.Expected("a predicate (slt, eq, olt ...)");
    SetAttribute(operation.attributes, "predicate", KeywordAttribute(lexer_.token().text));
    lexer_.Next();
    VXLA_RETURN_IF_ERROR(lexer_.Expect(","));
  }
  VXLA_RETURN_IF_ERROR(ParseOperands(operation));
  while (lexer_.token().kind == TokenKind::kWord) {  // overflow<..>, fastmath<..>, exact, rounding modes
    lexer_.Next();
    if (lexer_.At("<")) VXLA_RETURN_IF_ERROR(lexer_.TakeGroup().status());
  }
  VXLA_RETURN_IF_ERROR(ParseOptionalDictionary(operation));
  VXLA_RETURN_IF_ERROR(lexer_.Expect(":"));
  VXLA_ASSIGN_OR_RETURN(std::vector<Type> types, ParseTypeList());
  if (lexer_.EatWord("to")) {
    VXLA_ASSIGN_OR_RETURN(Type to, ParseType());
    result_types_ = {std::move(to)};
    return CheckOperandTypes(operation, types);
  }
  Type type = types.back();  // of select: the condition's, then the values'
  if (operation.name == "arith.select") {
    if (operation.operands.size() != 3) return lexer_.Error("{}: 3 operands needed", operation.name);
    result_types_ = {type};
    return CheckOperandTypes(operation, {program_.values[operation.operands[0]].type, type, type});
  }
  VXLA_RETURN_IF_ERROR(CheckOperandTypes(operation, std::vector<Type>(operation.operands.size(), type)));
  if (compares) {
    type.shape.set_element_type(ElementType::kPred);
    type.index = false;
  }
  result_types_ = {std::move(type)};
  return OkStatus();
}

// %i = %a to %b step %s iter_args(%x = %y, ...) -> (T, ...) : T { ... }
Status OperationParser::ParseFor(Operation& operation) {
  if (lexer_.token().kind != TokenKind::kValue) return lexer_.Expected("the loop's variable (%name)");
  std::vector<MlirToken> names{lexer_.token()};
  lexer_.Next();
  VXLA_RETURN_IF_ERROR(lexer_.Expect("="));
  for (const char* word : {"to", "step", ""}) {
    VXLA_RETURN_IF_ERROR(AddOperand(operation));
    if (*word != '\0') VXLA_RETURN_IF_ERROR(lexer_.ExpectWord(word));
  }
  if (lexer_.EatWord("iter_args")) VXLA_RETURN_IF_ERROR(ParseCarried(operation, names));
  std::vector<Type> types{program_.values[operation.operands[0]].type};
  if (lexer_.Eat(":")) VXLA_SET_OR_RETURN(types[0], ParseType());
  const std::vector<Type> results = result_types_;
  types.insert(types.end(), results.begin(), results.end());
  if (types.size() != names.size())
    return lexer_.Error("{}: {} values are carried, {} types stated", operation.name, names.size() - 1, results.size());
  const Scope scope(*this, false);
  Block block;
  VXLA_RETURN_IF_ERROR(DefineArguments(block, names, types));
  VXLA_RETURN_IF_ERROR(ParseRegionInto(operation, std::move(block), "scf.yield"));
  result_types_ = results;
  return ParseOptionalDictionary(operation);
}

// %c -> (T, ...) { ... } else { ... }
Status OperationParser::ParseIf(Operation& operation) {
  VXLA_RETURN_IF_ERROR(ParseOperands(operation));
  if (lexer_.Eat("->")) VXLA_SET_OR_RETURN(result_types_, ParseTypeOrList());
  const std::vector<Type> results = result_types_;
  VXLA_RETURN_IF_ERROR(ParseBody(operation, "scf.yield"));
  if (lexer_.EatWord("else")) VXLA_RETURN_IF_ERROR(ParseBody(operation, "scf.yield"));
  result_types_ = results;
  return ParseOptionalDictionary(operation);
}

// (%o = %t) -> (T)
Status OperationParser::ParseCarried(Operation& operation, std::vector<MlirToken>& names) {
  VXLA_RETURN_IF_ERROR(ParseInitialValues(operation, names));
  VXLA_RETURN_IF_ERROR(lexer_.Expect("->"));
  VXLA_ASSIGN_OR_RETURN(result_types_, ParseTypeOrList());
  return OkStatus();
}

// (%i, %j) in (%m, 4) shared_outs(%o = %t) -> (T) { ... }; or = (0, 0) to (%m, 4) step (1, 1)
Status OperationParser::ParseForall(Operation& operation) {
  std::vector<MlirToken> names;
  VXLA_RETURN_IF_ERROR(lexer_.Expect("("));
  while (lexer_.token().kind == TokenKind::kValue) {
    names.push_back(lexer_.token());
    lexer_.Next();
    if (!lexer_.Eat(",")) break;
  }
  VXLA_RETURN_IF_ERROR(lexer_.Expect(")"));
  const size_t rank = names.size();
  IntList lower(rank, 0), upper, step(rank, 1), segments(4, 0);
  const auto list = [&](size_t segment, IntList& into) -> Status {
    const size_t before = operation.operands.size();
    VXLA_ASSIGN_OR_RETURN(into, ParseMixedList(operation.operands, "(", ")"));
    segments[segment] = static_cast<int64_t>(operation.operands.size() - before);
    if (into.size() != rank) return lexer_.Error("{}: {} bounds, {} needed", operation.name, into.size(), rank);
    return OkStatus();
  };
  if (lexer_.Eat("=")) {
    VXLA_RETURN_IF_ERROR(list(0, lower));
    VXLA_RETURN_IF_ERROR(lexer_.ExpectWord("to"));
    VXLA_RETURN_IF_ERROR(list(1, upper));
    VXLA_RETURN_IF_ERROR(lexer_.ExpectWord("step"));
    VXLA_RETURN_IF_ERROR(list(2, step));
  } else {
    VXLA_RETURN_IF_ERROR(lexer_.ExpectWord("in"));
    VXLA_RETURN_IF_ERROR(list(1, upper));
  }
  if (lexer_.EatWord("shared_outs")) VXLA_RETURN_IF_ERROR(ParseCarried(operation, names));
  segments[3] = static_cast<int64_t>(names.size() - rank);
  const std::vector<Type> results = result_types_;
  if (results.size() != names.size() - rank)
    return lexer_.Error("{}: {} shared outs, {} types", operation.name, names.size() - rank, results.size());
  SetAttribute(operation.attributes, "staticLowerBound", IntListAttribute(lower));
  SetAttribute(operation.attributes, "staticUpperBound", IntListAttribute(upper));
  SetAttribute(operation.attributes, "staticStep", IntListAttribute(step));
  SetAttribute(operation.attributes, "operandSegmentSizes", IntListAttribute(segments));
  {
    const Scope scope(*this, false);
    Block block;
    std::vector<Type> types(rank, IndexType());
    types.insert(types.end(), results.begin(), results.end());
    VXLA_RETURN_IF_ERROR(DefineArguments(block, names, types));
    VXLA_RETURN_IF_ERROR(ParseRegionInto(operation, std::move(block), "scf.forall.in_parallel"));
  }
  result_types_ = results;
  return ParseOptionalDictionary(operation);
}

Status OperationParser::ParseInParallel(Operation& operation) {
  if (!lexer_.At("{")) return OkStatus();
  VXLA_RETURN_IF_ERROR(ParseBody(operation, ""));
  result_types_.clear();
  return OkStatus();
}

// shape_of %a : T -> T; const_shape [1, 2] : T; num_elements %s : T -> index; get_extent %s, %i : T, index -> index;
// index_to_size %i; size_to_index %s : T
Status OperationParser::ParseShape(Operation& operation) {
  if (lexer_.At("[")) {
    VXLA_ASSIGN_OR_RETURN(const IntList sizes, ParseIntList());
    SetAttribute(operation.attributes, "shape", IntListAttribute(sizes));
  }
  VXLA_RETURN_IF_ERROR(ParseOperands(operation));
  if (operation.name != "shape.index_to_size") return ParseAttributesAndTypes(operation);
  result_types_ = {IndexType()};
  return ParseOptionalDictionary(operation);
}

}  // namespace VXLA_NAMESPACE::mlir
