// The pretty forms: each fills the operation as the generic form would.

#include <algorithm>
#include <cstdio>

#include "core/host/delimited_list.h"
#include "core/host/real_text.h"
#include "core/mlir/reader/operation_parser.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

// What a name of a pretty form is called in the generic one.
struct PrettyName {
  std::string_view operation, pretty, generic;
};
constexpr PrettyName kPrettyNames[] = {
    {"broadcast_in_dim", "dims", "broadcast_dimensions"},
    {"dynamic_broadcast_in_dim", "dims", "broadcast_dimensions"},
    {"broadcast", "sizes", "broadcast_sizes"},
    {"iota", "dim", "iota_dimension"},
    {"dynamic_iota", "dim", "iota_dimension"},
    {"transpose", "dims", "permutation"},
    {"concatenate", "dim", "dimension"},
    {"reverse", "dims", "dimensions"},
    {"dynamic_slice", "sizes", "slice_sizes"},
    {"pad", "low", "edge_padding_low"},
    {"pad", "high", "edge_padding_high"},
    {"pad", "interior", "interior_padding"},
    {"fft", "type", "fft_type"},
    {"fft", "length", "fft_length"},
    {"rng_bit_generator", "algorithm", "rng_algorithm"},
    {"rng", "distribution", "rng_distribution"},
    {"dot", "precision", "precision_config"},
    {"dot_general", "precision", "precision_config"},
    {"get_dimension_size", "dim", "dimension"},
    {"set_dimension_size", "dim", "dimension"},
    {"einsum", "config", "einsum_config"},
    {"unary_einsum", "config", "einsum_config"},
    {"torch_index_select", "dim", "dim"},
};

std::string_view GenericName(std::string_view operation, std::string_view name) {
  operation.remove_prefix(operation.find('.') + 1);
  for (const PrettyName& row : kPrettyNames) {
    if (row.operation == operation && row.pretty == name) return row.generic;
  }
  return name;
}

}  // namespace

std::string_view FullName(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kShort[] = {
      {"module", "builtin.module"}, {"func", "func.func"},          {"return", "func.return"},
      {"call", "func.call"},        {"constant", "arith.constant"}, {"yield", "tensor.yield"}};
  const auto found = std::ranges::find(kShort, name, [](const auto& pair) { return pair.first; });
  return found == std::end(kShort) ? name : found->second;
}

OperationParser::Form OperationParser::FormOf(std::string_view name) {
  using P = OperationParser;
  constexpr std::pair<std::string_view, Form> kForms[] = {
      {"builtin.module", &P::ParseModule},
      {"func.func", &P::ParseFunction},
      {"func.return", &P::ParseReturn},
      {"stablehlo.return", &P::ParseReturn},
      {"sdy.return", &P::ParseReturn},
      {"func.call", &P::ParseCall},
      {"stablehlo.constant", &P::ParseConstant},
      {"chlo.constant", &P::ParseConstant},
      {"arith.constant", &P::ParseConstant},
      {"stablehlo.convolution", &P::ParseConvolution},
      {"stablehlo.reduce", &P::ParseReduce},
      {"stablehlo.while", &P::ParseWhile},
      {"chlo.scan", &P::ParseScan},
      {"stablehlo.custom_call", &P::ParseCustomCall},
      {"stablehlo.composite", &P::ParseComposite},
      {"sdy.mesh", &P::ParseMesh},
      {"sdy.manual_computation", &P::ParseManualComputation},
      {"sdy.sharding_constraint", &P::ParseShardingConstraint},
      {"sdy.sharding_group", &P::ParseShardingGroup},
  };
  const auto found = std::ranges::find(kForms, name, [](const auto& pair) { return pair.first; });
  if (found != std::end(kForms)) return found->second;
  if (name.starts_with("check.") || name == "interpreter.print") return &P::ParseCheck;
  if (const Form form = TensorFormOf(name); form != nullptr) return form;
  for (const std::string_view dialect : {"stablehlo.", "chlo.", "interpreter."}) {
    if (name.starts_with(dialect)) return &P::ParseItems;
  }
  return nullptr;
}

Status OperationParser::ParsePretty(Operation& operation) {
  operation.name = FullName(lexer_.token().text);
  const Form form = FormOf(operation.name);
  if (form == nullptr) {
    return lexer_.Error("unknown operation '{}'; others are read in their generic form, \"{}\"(...)", operation.name,
                        operation.name);
  }
  lexer_.Next();
  return (this->*form)(operation);
}

// ---- the form of most: operands and name = value pairs, attributes, types

Status OperationParser::ParseItems(Operation& operation) {
  std::vector<std::string> keywords;
  const bool parenthesized = lexer_.Eat("(");
  if (!lexer_.At(":") && !lexer_.At("{") && !lexer_.At(")")) {
    do {
      VXLA_RETURN_IF_ERROR(ParseItem(operation, keywords));
    } while (lexer_.Eat(","));
  }
  if (parenthesized) VXLA_RETURN_IF_ERROR(lexer_.Expect(")"));
  VXLA_RETURN_IF_ERROR(ParseOptionalDictionary(operation));
  // optimization_barrier() of nothing has no types.
  if (parenthesized && operation.operands.empty() && keywords.empty() && !lexer_.At(":")) return OkStatus();
  if (operation.name == "stablehlo.compare") {
    if (keywords.empty() || keywords.size() > 2)
      return lexer_.Error("{}: a direction (EQ, NE, GE ...) is needed", operation.name);
    SetAttribute(operation.attributes, "comparison_direction", KeywordAttribute(keywords[0]));
    if (keywords.size() == 2) SetAttribute(operation.attributes, "compare_type", KeywordAttribute(keywords[1]));
  } else if (!keywords.empty()) {
    return lexer_.Error("{}: unexpected word '{}'", operation.name, keywords[0]);
  }
  return ParseTrailingTypes(operation);
}

Status OperationParser::ParseItem(Operation& operation, std::vector<std::string>& keywords) {
  if (lexer_.token().kind == TokenKind::kValue) {
    VXLA_RETURN_IF_ERROR(AddOperand(operation));
    if (!lexer_.At("[")) return OkStatus();
    if (operation.name == "stablehlo.slice") return ParseSliceRanges(operation);
    if (operation.name == "stablehlo.get_tuple_element") {
      VXLA_ASSIGN_OR_RETURN(const IntList index, ParseIntList());
      if (index.size() != 1) return lexer_.Error("{}: {} indices, one needed", operation.name, index.size());
      SetAttribute(operation.attributes, "index", IntegerAttribute(index[0]));
      return OkStatus();
    }
    return lexer_.Expected("',' or ':'");
  }
  if (lexer_.token().kind != TokenKind::kWord) return lexer_.Expected("an operand or an attribute");
  std::string name(lexer_.token().text);
  lexer_.Next();
  if (lexer_.Eat("=")) return ParseNamedItem(operation, std::move(name));
  keywords.push_back(std::move(name));
  return OkStatus();
}

Status OperationParser::ParseNamedItem(Operation& operation, std::string name) {
  if (name == "batching_dims" || name == "contracting_dims") {
    VXLA_ASSIGN_OR_RETURN(const IntList lhs, ParseIntList());
    VXLA_RETURN_IF_ERROR(lexer_.ExpectWord("x"));
    VXLA_ASSIGN_OR_RETURN(const IntList rhs, ParseIntList());
    const std::string stem = name == "batching_dims" ? "batching_dimensions" : "contracting_dimensions";
    Attribute numbers;
    if (const Attribute* known = operation.Find("dot_dimension_numbers")) numbers = *known;
    numbers.kind = Attribute::Kind::kDialect;
    numbers.text = "stablehlo.dot";
    SetAttribute(numbers.entries, "lhs_" + stem, IntListAttribute(lhs));
    SetAttribute(numbers.entries, "rhs_" + stem, IntListAttribute(rhs));
    SetAttribute(operation.attributes, "dot_dimension_numbers", std::move(numbers));
    return OkStatus();
  }
  if (name == "format") {  // e5m10
    const std::string_view word = lexer_.token().text;
    int exponent = 0, mantissa = 0, read = 0;
    const bool fits = lexer_.token().kind == TokenKind::kWord && word.size() < 24 &&
                      std::sscanf(std::string(word).c_str(), "e%9dm%9d%n", &exponent, &mantissa, &read) == 2 &&
                      read == static_cast<int>(word.size());
    if (!fits) return lexer_.Expected("a format like e5m10");
    SetAttribute(operation.attributes, "exponent_bits", IntegerAttribute(exponent));
    SetAttribute(operation.attributes, "mantissa_bits", IntegerAttribute(mantissa));
    lexer_.Next();
    return OkStatus();
  }
  // A number, string or truth value has no type of its own here: a ':' after it begins the operation's types.
  Attribute value;
  if (lexer_.token().kind == TokenKind::kInt) {
    VXLA_ASSIGN_OR_RETURN(const int64_t number, lexer_.TakeInt("an integer"));
    value = IntegerAttribute(number);
  } else if (lexer_.token().kind == TokenKind::kString) {
    VXLA_ASSIGN_OR_RETURN(const std::string text, lexer_.TakeString("a string"));
    value = StringAttribute(text);
  } else if (lexer_.token().kind == TokenKind::kDecimal) {
    value.kind = Attribute::Kind::kFloat;
    const std::string_view text = lexer_.token().text;
    if (RealFromChars(text.data(), text.data() + text.size(), value.real).ec != std::errc())
      return lexer_.Expected("a number that f64 holds");
    value.type = Type(Type::Kind::kElement, Shape(ElementType::kF64));
    lexer_.Next();
  } else if (lexer_.AtWord("true") || lexer_.AtWord("false")) {
    value.kind = Attribute::Kind::kBool;
    value.integer = lexer_.AtWord("true");
    lexer_.Next();
  } else {
    VXLA_ASSIGN_OR_RETURN(value, ParseAttribute());
  }
  SetAttribute(operation.attributes, std::string(GenericName(operation.name, name)), std::move(value));
  return OkStatus();
}

// [start:limit:stride, ...]
Status OperationParser::ParseSliceRanges(Operation& operation) {
  IntList starts, limits, strides;
  VXLA_RETURN_IF_ERROR(TakeList(lexer_, "[", "]", [&]() -> Status {
    VXLA_ASSIGN_OR_RETURN(starts.emplace_back(), lexer_.TakeInt("the start of a slice"));
    VXLA_RETURN_IF_ERROR(lexer_.Expect(":"));
    VXLA_ASSIGN_OR_RETURN(limits.emplace_back(), lexer_.TakeInt("the limit of a slice"));
    strides.push_back(1);
    if (lexer_.Eat(":")) VXLA_SET_OR_RETURN(strides.back(), lexer_.TakeInt("the stride of a slice"));
    return OkStatus();
  }));
  SetAttribute(operation.attributes, "start_indices", IntListAttribute(starts));
  SetAttribute(operation.attributes, "limit_indices", IntListAttribute(limits));
  SetAttribute(operation.attributes, "strides", IntListAttribute(strides));
  return OkStatus();
}

// : T            operands and result are of one type
// : T, T         select (predicate, result), optimization_barrier (all)
// : (T, T) -> T  operands and results
// : T, T -> T    the same, as CHLO has it
Status OperationParser::ParseTrailingTypes(Operation& operation) {
  VXLA_RETURN_IF_ERROR(lexer_.Expect(":"));
  std::vector<Type> types;
  if (lexer_.At("(")) {
    VXLA_ASSIGN_OR_RETURN(types, ParseTypeOrList());
    if (!lexer_.At("->")) return lexer_.Expected("'->'");
  } else {
    VXLA_ASSIGN_OR_RETURN(types, ParseTypeList());
  }
  if (lexer_.Eat("->")) {
    VXLA_RETURN_IF_ERROR(CheckOperandTypes(operation, types));
    VXLA_ASSIGN_OR_RETURN(result_types_, ParseTypeOrList());
    return OkStatus();
  }
  if (operation.name == "stablehlo.select") {
    if (types.size() == 1 && operation.operands.size() == 3) {
      types.insert(types.begin(), program_.values[operation.operands[0]].type);
    }
    if (types.size() != 2)
      return InvalidArgument("{}: {} types, 2 needed", operation.name, types.size()).At(operation.location);
    result_types_ = {types[1]};
    types.push_back(types[1]);
    return CheckOperandTypes(operation, types);
  }
  if (operation.name == "stablehlo.optimization_barrier") {
    result_types_ = types;
    return CheckOperandTypes(operation, types);
  }
  if (types.size() != 1)
    return InvalidArgument("{}: {} types, 1 needed", operation.name, types.size()).At(operation.location);
  result_types_ = std::move(types);
  return OkStatus();
}

Status OperationParser::ParseAttributesAndTypes(Operation& operation) {
  VXLA_RETURN_IF_ERROR(ParseOptionalDictionary(operation));
  return ParseTrailingTypes(operation);
}

// ---- func and constants

Status OperationParser::ParseReturn(Operation& operation) {
  VXLA_RETURN_IF_ERROR(ParseOptionalDictionary(operation));
  VXLA_RETURN_IF_ERROR(ParseOperands(operation));
  if (operation.operands.empty() && !lexer_.At(":")) return OkStatus();
  VXLA_RETURN_IF_ERROR(ParseOptionalDictionary(operation));
  VXLA_RETURN_IF_ERROR(lexer_.Expect(":"));
  VXLA_ASSIGN_OR_RETURN(const std::vector<Type> types, ParseTypeList());
  return CheckOperandTypes(operation, types);
}

// call @f(%a) : (T) -> T
Status OperationParser::ParseCall(Operation& operation) {
  if (lexer_.token().kind != TokenKind::kSymbol) return lexer_.Expected("a function (@name)");
  VXLA_RETURN_IF_ERROR(Set(operation, "callee", ParseAttribute()));
  VXLA_RETURN_IF_ERROR(ParseOperandsIn(operation, "(", ")"));
  return ParseAttributesAndTypes(operation);
}

// constant dense<1.0> : T; constant 1 : i32; the older constant() {value = ...} : () -> T
Status OperationParser::ParseConstant(Operation& operation) {
  if (lexer_.Eat("(")) VXLA_RETURN_IF_ERROR(lexer_.Expect(")"));
  VXLA_RETURN_IF_ERROR(ParseOptionalDictionary(operation));
  if (operation.Find("value") != nullptr) return ParseTrailingTypes(operation);
  VXLA_ASSIGN_OR_RETURN(Attribute value, ParseAttribute());
  if (value.kind == Attribute::Kind::kBool && value.type.kind == Type::Kind::kNone)
    value.type = Type(Type::Kind::kElement, Shape(ElementType::kPred));
  result_types_ = {value.type};
  SetAttribute(operation.attributes, "value", std::move(value));
  return OkStatus();
}

// ---- convolution

// (%a, %b) dim_numbers = [..]x[..]->[..], window = {...} {attributes} : types
Status OperationParser::ParseConvolution(Operation& operation) {
  VXLA_RETURN_IF_ERROR(ParseOperandsIn(operation, "(", ")"));
  VXLA_RETURN_IF_ERROR(lexer_.ExpectWord("dim_numbers"));
  VXLA_RETURN_IF_ERROR(lexer_.Expect("="));
  VXLA_RETURN_IF_ERROR(Set(operation, "dimension_numbers", ParseConvolutionDimensions()));
  VXLA_RETURN_IF_ERROR(lexer_.Expect(","));
  VXLA_RETURN_IF_ERROR(lexer_.ExpectWord("window"));
  VXLA_RETURN_IF_ERROR(lexer_.Expect("="));
  VXLA_RETURN_IF_ERROR(ParseWindow(operation));
  return ParseAttributesAndTypes(operation);
}

// {stride = [..], pad = [[..], ..], lhs_dilate = [..], rhs_dilate = [..], reverse = [..]}
Status OperationParser::ParseWindow(Operation& operation) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {{"stride", "window_strides"},
                                                                      {"pad", "padding"},
                                                                      {"lhs_dilate", "lhs_dilation"},
                                                                      {"rhs_dilate", "rhs_dilation"},
                                                                      {"reverse", "window_reversal"}};
  Dictionary window;
  const SourceLocation location = lexer_.LocationOf(lexer_.token().offset);
  VXLA_RETURN_IF_ERROR(ParseDictionary(window));
  for (NamedAttribute& entry : window) {
    const auto found = std::ranges::find(kNames, entry.name, [](const auto& pair) { return pair.first; });
    if (found == std::end(kNames)) {
      return InvalidArgument("{}: unknown part '{}' of the window", operation.name, entry.name).At(location);
    }
    SetAttribute(operation.attributes, std::string(found->second), std::move(entry.value));
  }
  return OkStatus();
}

// ---- reduce

// (%a init: %b), (%c init: %d) applies stablehlo.add across dimensions = [0] : types
// (%a init: %b) across dimensions = [0] : types reducer(%x: T, %y: T) ... { ... }
Status OperationParser::ParseReduce(Operation& operation) {
  std::vector<ValueId> inits;
  do {
    VXLA_RETURN_IF_ERROR(lexer_.Expect("("));
    VXLA_ASSIGN_OR_RETURN(const ValueId operand, ParseOperand());
    VXLA_RETURN_IF_ERROR(lexer_.ExpectWord("init"));
    VXLA_RETURN_IF_ERROR(lexer_.Expect(":"));
    VXLA_ASSIGN_OR_RETURN(const ValueId init, ParseOperand());
    operation.operands.push_back(operand);
    inits.push_back(init);
    VXLA_RETURN_IF_ERROR(lexer_.Expect(")"));
  } while (lexer_.Eat(","));
  const size_t count = inits.size();
  operation.operands.insert(operation.operands.end(), inits.begin(), inits.end());
  std::string applied;
  if (lexer_.EatWord("applies")) {
    applied = lexer_.token().text;
    lexer_.Next();
  }
  VXLA_RETURN_IF_ERROR(lexer_.ExpectWord("across"));
  VXLA_RETURN_IF_ERROR(lexer_.ExpectWord("dimensions"));
  VXLA_RETURN_IF_ERROR(lexer_.Expect("="));
  VXLA_ASSIGN_OR_RETURN(const IntList dimensions, ParseIntList());
  SetAttribute(operation.attributes, "dimensions", IntListAttribute(dimensions));
  VXLA_RETURN_IF_ERROR(ParseOptionalDictionary(operation));
  VXLA_RETURN_IF_ERROR(ParseTrailingTypes(operation));
  const std::vector<Type> types = result_types_;
  if (applied.empty()) {
    VXLA_RETURN_IF_ERROR(ParseReducer(operation, count));
    result_types_ = types;
    return OkStatus();
  }
  if (count != 1 || types.size() != 1) return lexer_.Error("{}: applies is for one operand", operation.name);
  Type scalar = types[0];
  scalar.shape = Shape(scalar.shape.element_type());
  Block block;
  for (int i = 0; i < 2; ++i) block.arguments.push_back(program_.NewValue(scalar));
  const ValueId result = program_.NewValue(scalar);
  block.operations.push_back({applied, block.arguments, {result}, {}, {}, operation.location});
  block.operations.push_back({"stablehlo.return", {result}, {}, {}, {}, operation.location});
  operation.regions.emplace_back().blocks.push_back(std::move(block));
  return OkStatus();
}

// reducer(%x0: T, %y0: T) (%x1: T, %y1: T) { ... }: the block's arguments are all x, then all y.
Status OperationParser::ParseReducer(Operation& operation, size_t count) {
  VXLA_RETURN_IF_ERROR(lexer_.ExpectWord("reducer"));
  Block pairs;
  const Scope scope(*this, false);
  for (size_t i = 0; i < count; ++i) VXLA_RETURN_IF_ERROR(ParseBlockArguments(pairs));
  if (pairs.arguments.size() != 2 * count)
    return lexer_.Error("{}: {} arguments of the reducer, {} needed", operation.name, pairs.arguments.size(),
                        2 * count);
  Block block;
  for (size_t half = 0; half < 2; ++half) {
    for (size_t i = 0; i < count; ++i) block.arguments.push_back(pairs.arguments[2 * i + half]);
  }
  return ParseRegionInto(operation, std::move(block), "");
}

// ---- scan

// (%a, %b) inits(%c) dimension=0 attributes {is_reverse = true} { ^bb0(...): ... } : (T, T, T) -> (T, T)
Status OperationParser::ParseScan(Operation& operation) {
  IntList segments;
  for (const std::string_view word : {"", "inits"}) {
    if (!word.empty()) VXLA_RETURN_IF_ERROR(lexer_.ExpectWord(word));
    VXLA_RETURN_IF_ERROR(lexer_.Expect("("));
    const size_t before = operation.operands.size();
    VXLA_RETURN_IF_ERROR(ParseOperands(operation));
    segments.push_back(operation.operands.size() - before);
    VXLA_RETURN_IF_ERROR(lexer_.Expect(")"));
  }
  SetAttribute(operation.attributes, "operandSegmentSizes", IntListAttribute(segments));
  VXLA_RETURN_IF_ERROR(lexer_.ExpectWord("dimension"));
  VXLA_RETURN_IF_ERROR(lexer_.Expect("="));
  VXLA_ASSIGN_OR_RETURN(const int64_t dimension, lexer_.TakeInt("the dimension of a scan"));
  SetAttribute(operation.attributes, "dimension", IntegerAttribute(dimension));
  if (lexer_.EatWord("attributes")) VXLA_RETURN_IF_ERROR(ParseDictionary(operation.attributes));
  VXLA_RETURN_IF_ERROR(ParseBody(operation, ""));
  return ParseTrailingTypes(operation);
}

// ---- while

Status OperationParser::ParseInitialValues(Operation& operation, std::vector<MlirToken>& names) {
  return TakeList(lexer_, "(", ")", [&]() -> Status {
    if (lexer_.token().kind != TokenKind::kValue) return lexer_.Expected("a loop variable (%name = %value)");
    names.push_back(lexer_.token());
    lexer_.Next();
    VXLA_RETURN_IF_ERROR(lexer_.Expect("="));
    VXLA_RETURN_IF_ERROR(AddOperand(operation));
    return OkStatus();
  });
}

Status OperationParser::DefineArguments(Block& block, const std::vector<MlirToken>& names,
                                        const std::vector<Type>& types) {
  for (size_t i = 0; i < types.size(); ++i) {
    block.arguments.push_back(program_.NewValue(types[i], names[i].text));
    VXLA_RETURN_IF_ERROR(Define(names[i].text, names[i].offset, block.arguments.back(), 1));
  }
  return OkStatus();
}

// (%x = %a, %y = %b) : T, T attributes {...} cond { ... } do { ... }
Status OperationParser::ParseWhile(Operation& operation) {
  std::vector<MlirToken> names;
  VXLA_RETURN_IF_ERROR(ParseInitialValues(operation, names));
  std::vector<Type> types;
  if (lexer_.Eat(":")) VXLA_SET_OR_RETURN(types, ParseTypeList());
  VXLA_RETURN_IF_ERROR(CheckOperandTypes(operation, types));
  if (lexer_.EatWord("attributes")) VXLA_RETURN_IF_ERROR(ParseDictionary(operation.attributes));
  for (const std::string_view word : {"cond", "do"}) {
    VXLA_RETURN_IF_ERROR(lexer_.ExpectWord(word));
    const Scope scope(*this, false);
    Block block;
    VXLA_RETURN_IF_ERROR(DefineArguments(block, names, types));
    VXLA_RETURN_IF_ERROR(ParseRegionInto(operation, std::move(block), ""));
  }
  result_types_ = std::move(types);
  return OkStatus();
}

// ---- calls

// @target(%a, %b) {attributes} : types
Status OperationParser::ParseCustomCall(Operation& operation) {
  if (lexer_.token().kind != TokenKind::kSymbol) return lexer_.Expected("the target (@name)");
  VXLA_ASSIGN_OR_RETURN(const Attribute target, ParseAttribute());
  SetAttribute(operation.attributes, "call_target_name", StringAttribute(target.text));
  VXLA_RETURN_IF_ERROR(ParseOperandsIn(operation, "(", ")"));
  return ParseAttributesAndTypes(operation);
}

// "name" %a, %b ({regions}) {composite_attributes = {..}, decomposition = @f} : types
Status OperationParser::ParseComposite(Operation& operation) {
  VXLA_ASSIGN_OR_RETURN(const std::string name, lexer_.TakeString("the composite's name"));
  SetAttribute(operation.attributes, "name", StringAttribute(name));
  VXLA_RETURN_IF_ERROR(ParseOperands(operation));
  if (lexer_.At("(")) VXLA_RETURN_IF_ERROR(ParseRegions(operation));
  return ParseAttributesAndTypes(operation);
}

// ---- check, interpreter.print

// %a, %b, name = value : types; of the _const forms the second is dense<...>, with its type or with that of %a. No
// results.
Status OperationParser::ParseCheck(Operation& operation) {
  std::vector<std::string> keywords;
  while (!lexer_.At(":") && !lexer_.At("{")) {
    if (!lexer_.AtWord("dense") && !lexer_.AtWord("dense_resource")) {
      VXLA_RETURN_IF_ERROR(ParseItem(operation, keywords));
    } else {
      const Type like = operation.operands.empty() ? Type() : program_.values[operation.operands[0]].type;
      implied_type_ = &like;
      Result<Attribute> value = ParseAttribute();
      implied_type_ = nullptr;
      if (!value.ok()) return value.status();
      SetAttribute(operation.attributes, "value", *std::move(value));
    }
    if (!lexer_.Eat(",")) break;
  }
  if (!keywords.empty()) return lexer_.Error("{}: unexpected word '{}'", operation.name, keywords[0]);
  VXLA_RETURN_IF_ERROR(ParseOptionalDictionary(operation));
  result_types_.clear();
  if (!lexer_.Eat(":")) return OkStatus();
  std::vector<Type> types;
  if (lexer_.At("(")) {
    VXLA_ASSIGN_OR_RETURN(const Type signature, ParseType());
    types = signature.inputs;
  } else {
    VXLA_ASSIGN_OR_RETURN(types, ParseTypeList());
  }
  if (types.size() == 1) types.resize(operation.operands.size(), Type(types[0]));
  return CheckOperandTypes(operation, types);
}

// ---- sdy, as far as JAX writes it

// sdy.mesh @mesh = <["x"=2]> {attributes}
Status OperationParser::ParseMesh(Operation& operation) {
  if (lexer_.token().kind != TokenKind::kSymbol) return lexer_.Expected("the mesh's name (@name)");
  VXLA_ASSIGN_OR_RETURN(const Attribute name, ParseAttribute());
  SetAttribute(operation.attributes, "sym_name", StringAttribute(name.text));
  VXLA_RETURN_IF_ERROR(lexer_.Expect("="));
  VXLA_RETURN_IF_ERROR(Set(operation, "mesh", ParseMeshBody()));
  return ParseOptionalDictionary(operation);
}

// sdy.sharding_constraint %a <@mesh, [{}]> : T
Status OperationParser::ParseShardingConstraint(Operation& operation) {
  VXLA_RETURN_IF_ERROR(ParseOperands(operation));
  VXLA_RETURN_IF_ERROR(Set(operation, "sharding", ParseShardingBody()));
  return ParseAttributesAndTypes(operation);
}

// sdy.sharding_group %a group_id=0 : T
Status OperationParser::ParseShardingGroup(Operation& operation) {
  VXLA_RETURN_IF_ERROR(ParseOperands(operation));
  if (!lexer_.EatWord("group_id")) return lexer_.Expected("'group_id'");
  VXLA_RETURN_IF_ERROR(lexer_.Expect("="));
  VXLA_ASSIGN_OR_RETURN(const int64_t number, lexer_.TakeInt("the group's number"));
  SetAttribute(operation.attributes, "group_id", IntegerAttribute(number));
  VXLA_ASSIGN_OR_RETURN(Type type, ParseOneType(operation));
  return CheckOperandTypes(operation, {std::move(type)});
}

// (%a, %b) in_shardings=[..] out_shardings=[..] manual_axes={..} (%x: T, %y: T) { ... } : types
Status OperationParser::ParseManualComputation(Operation& operation) {
  VXLA_RETURN_IF_ERROR(ParseOperandsIn(operation, "(", ")"));
  while (lexer_.token().kind == TokenKind::kWord) {
    std::string name(lexer_.token().text);
    lexer_.Next();
    VXLA_RETURN_IF_ERROR(lexer_.Expect("="));
    if (!lexer_.At("[") && !lexer_.At("{")) return lexer_.Expected("'[' or '{'");
    VXLA_ASSIGN_OR_RETURN(Attribute value, lexer_.At("{") ? ParseAxes("}") : ParseShardings());
    SetAttribute(operation.attributes, std::move(name), std::move(value));
  }
  {
    const Scope scope(*this, false);
    Block block;
    VXLA_RETURN_IF_ERROR(ParseBlockArguments(block));
    VXLA_RETURN_IF_ERROR(ParseRegionInto(operation, std::move(block), ""));
  }
  return ParseAttributesAndTypes(operation);
}

}  // namespace VXLA_NAMESPACE::mlir
