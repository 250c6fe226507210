#include "core/text/hlo_parser.h"

#include <algorithm>

#include "core/host/delimited_list.h"
#include "core/host/guarded.h"
#include "core/ir/reserved_names.h"
#include "core/limits.h"
#include "core/ops/ops.h"
#include "core/text/attribute_fields.h"
#include "core/text/hlo_parser_impl.h"
#include "core/text/literal_text.h"
#include "core/text/module_header.h"
#include "core/text/shape_text.h"

namespace VXLA_NAMESPACE {
namespace parsing {
namespace {

std::optional<AsyncForm> ParseAsyncOpcode(std::string_view text) {
  constexpr std::pair<std::string_view, Opcode> kSteps[] = {
      {"-start", Opcode::kAsyncStart}, {"-update", Opcode::kAsyncUpdate}, {"-done", Opcode::kAsyncDone}};
  for (const auto& [suffix, step] : kSteps) {
    if (!text.ends_with(suffix)) continue;
    const std::optional<Opcode> wrapped = ParseOpcode(text.substr(0, text.size() - suffix.size()));
    if (!wrapped || FactsOf(*wrapped).operand_count == 0 || OpcodeText(*wrapped).starts_with("async-"))
      return std::nullopt;
    return AsyncForm{*wrapped, step};
  }
  return std::nullopt;
}

// Counts one level of nesting for as long as it lives.
class Nesting {
 public:
  explicit Nesting(int& depth) : depth_(++depth) {}
  Nesting(const Nesting&) = delete;
  ~Nesting() { --depth_; }
  Status Check(const Lexer& lexer) const {
    if (depth_ <= kMaxTextNesting) return OkStatus();
    return lexer.Error("operands and bodies nest more than {} levels deep", kMaxTextNesting);
  }

 private:
  int& depth_;
};

// Protocol buffers, archives and other binaries hold control bytes that no text has.
Status CheckIsText(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    if ((c < ' ' && (c < '\t' || c > '\r')) || c == 0x7f) {
      return InvalidArgument("not HLO text: byte 0x{:02x} at offset {}", c, i);
    }
  }
  return OkStatus();
}

}  // namespace

Result<std::unique_ptr<Module>> HloParser::Parse() {
  const SourceLocation start = lexer_.token().location;
  const bool has_header = lexer_.AtIdentifier("HloModule");
  if (has_header) VXLA_RETURN_IF_ERROR(ParseModuleHeader(lexer_, *module_));
  VXLA_RETURN_IF_ERROR(ParseStackFrames(lexer_, *module_));
  if (!has_header && AtInstruction()) VXLA_RETURN_IF_ERROR(ParseLoneInstruction());
  while (lexer_.token().kind != TokenKind::kEnd) VXLA_RETURN_IF_ERROR(ParseComputation());
  if (module_->computations().empty()) return lexer_.Error("no computation in the text");
  if (module_->entry() == nullptr) module_->set_entry(module_->computations().back().get());
  for (const auto& [computation, wanted] : unnamed_computations_) module_->Rename(computation, std::string(wanted));
  if (!has_header) module_->set_name(module_->entry()->name());
  VXLA_RETURN_IF_ERROR(CheckEntryLayout(*module_, start));
  VXLA_RETURN_IF_ERROR(CheckCallDepth(*module_));
  return std::move(module_);
}

Result<std::string_view> HloParser::TakeName(std::string_view what) {
  if (lexer_.token().kind != TokenKind::kIdentifier && lexer_.token().kind != TokenKind::kName)
    return lexer_.Expected(what);
  const std::string_view name = lexer_.token().text;
  lexer_.Next();
  return name;
}

// ---- computations

bool HloParser::AtInstruction() {
  const TokenKind kind = lexer_.token().kind;
  if (kind == TokenKind::kAttribute || lexer_.AtIdentifier("ROOT") || AtShape(lexer_)) return true;
  return (kind == TokenKind::kName || kind == TokenKind::kIdentifier) && lexer_.PeekChar() == '=';
}

// (name =)? shape opcode(shape name?, ...), attributes
Status HloParser::ParseLoneInstruction() {
  auto computation = std::make_unique<Computation>("entry");
  Scope scope;
  scope.computation = computation.get();
  scope.is_instruction = true;
  scope_ = &scope;
  VXLA_RETURN_IF_ERROR(ParseInstruction());
  scope_ = nullptr;
  if (lexer_.token().kind != TokenKind::kEnd) return lexer_.Expected("the end of the one instruction");
  computation->set_root(computation->instructions().back().get());
  for (Instruction* instruction : scope.unnamed) {
    computation->Rename(instruction, std::string(OpcodeText(instruction->opcode())));
  }
  module_->set_entry(module_->AddComputation(std::move(computation)));
  return OkStatus();
}

Status HloParser::ParseComputation() {
  const bool is_entry = lexer_.AtIdentifier("ENTRY");
  if (is_entry && module_->entry() != nullptr) return lexer_.Error("a second ENTRY computation");
  if (is_entry) lexer_.Next();
  const SourceLocation location = lexer_.token().location;
  VXLA_ASSIGN_OR_RETURN(const std::string_view name, TakeName("a computation"));
  if (computations_.contains(name)) {
    return InvalidArgument("duplicate computation '{}'", name).At(location);
  }
  std::optional<Signature> signature;
  if (lexer_.At("(")) VXLA_SET_OR_RETURN(signature, ParseSignature());
  auto computation = std::make_unique<Computation>(std::string(name));
  VXLA_RETURN_IF_ERROR(ParseBody(*computation));
  if (signature) VXLA_RETURN_IF_ERROR(CheckSignature(*signature, *computation));
  if (lexer_.Eat(",")) {
    if (lexer_.token().kind != TokenKind::kAttribute || lexer_.token().text != "execution_thread") {
      return lexer_.Expected("'execution_thread='");
    }
    std::string thread;
    VXLA_RETURN_IF_ERROR(ParseValue(lexer_, thread));
    computation->set_execution_thread(std::move(thread));
  }
  computations_[name] = module_->AddComputation(std::move(computation));
  if (is_entry) module_->set_entry(computations_[name]);
  return OkStatus();
}

// (name: shape, ...) -> shape, at '('.
Result<HloParser::Signature> HloParser::ParseSignature() {
  Signature signature;
  signature.location = lexer_.token().location;
  const auto parameter = [&]() -> Result<Shape> {
    const TokenKind kind = lexer_.token().kind;
    if (kind != TokenKind::kName && kind != TokenKind::kLabel) return lexer_.Expected("a parameter's name");
    lexer_.Next();
    if (kind == TokenKind::kName) VXLA_RETURN_IF_ERROR(lexer_.Expect(":"));
    return ParseShape(lexer_);
  };
  VXLA_ASSIGN_OR_RETURN(signature.parameters, TakeListOf(lexer_, "(", ")", parameter));
  VXLA_RETURN_IF_ERROR(lexer_.Expect("->"));
  VXLA_ASSIGN_OR_RETURN(signature.result, ParseShape(lexer_));
  return signature;
}

Status HloParser::CheckSignature(const Signature& signature, const Computation& computation) const {
  const auto& parameters = computation.parameters();
  if (signature.parameters.size() != parameters.size()) {
    return InvalidArgument("{}: the signature has {} parameters, the body {}", computation.name(),
                           signature.parameters.size(), parameters.size())
        .At(signature.location);
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (Compatible(signature.parameters[i], parameters[i]->shape())) continue;
    return InvalidArgument("{}: parameter {} is {} in the signature and {} in the body", computation.name(), i,
                           signature.parameters[i].ToString(), parameters[i]->shape().ToString())
        .At(signature.location);
  }
  if (Compatible(signature.result, computation.root()->shape())) return OkStatus();
  return InvalidArgument("{}: the result is {} in the signature and {} in the body", computation.name(),
                         signature.result.ToString(), computation.root()->shape().ToString())
      .At(signature.location);
}

// { instruction ... }
Status HloParser::ParseBody(Computation& computation) {
  Nesting nesting(depth_);
  VXLA_RETURN_IF_ERROR(nesting.Check(lexer_));
  const SourceLocation location = lexer_.token().location;
  VXLA_RETURN_IF_ERROR(lexer_.Expect("{"));
  Scope scope;
  scope.computation = &computation;
  Scope* const outer = std::exchange(scope_, &scope);
  while (!lexer_.At("}")) VXLA_RETURN_IF_ERROR(ParseInstruction());
  scope_ = outer;
  if (computation.instructions().empty()) return lexer_.Error("a computation without instructions");
  VXLA_RETURN_IF_ERROR(CheckParameters(computation, location));
  computation.set_root(scope.root != nullptr ? scope.root : computation.instructions().back().get());
  for (Instruction* instruction : scope.unnamed) {
    computation.Rename(instruction, std::string(OpcodeText(instruction->opcode())));
  }
  return lexer_.Expect("}");
}

Status HloParser::CheckParameters(const Computation& computation, SourceLocation location) const {
  const auto& parameters = computation.parameters();
  const auto gap = std::ranges::find(parameters, nullptr);
  if (gap == parameters.end()) return OkStatus();
  return InvalidArgument("parameter({}) is missing, parameter({}) is there", gap - parameters.begin(),
                         parameters.size() - 1)
      .At(location);
}

// ---- instructions

// ROOT? name = shape? opcode(operands), attributes
Status HloParser::ParseInstruction() {
  const bool is_root = lexer_.AtIdentifier("ROOT");
  if (is_root && scope_->root != nullptr) return lexer_.Error("a second ROOT instruction");
  if (is_root) lexer_.Next();
  Draft draft{};
  draft.location = lexer_.token().location;
  std::string_view name = lexer_.token().text;
  const bool is_unnamed = scope_->is_instruction && AtShape(lexer_);
  if (is_unnamed) {
    name = {};
  } else if (lexer_.token().kind == TokenKind::kAttribute) {  // name=shape, without blanks
    lexer_.Next();
  } else {
    VXLA_ASSIGN_OR_RETURN(name, TakeName("an instruction or '}'"));
    VXLA_RETURN_IF_ERROR(lexer_.Expect("="));
  }
  if (scope_->names.contains(name)) {
    return InvalidArgument("duplicate name '{}' in the computation", name).At(draft.location);
  }
  if (AtShape(lexer_)) VXLA_SET_OR_RETURN(draft.shape, ParseShape(lexer_));
  if (lexer_.token().kind != TokenKind::kIdentifier) return lexer_.Expected("an opcode");
  const std::string_view opcode_text = lexer_.token().text;
  const std::optional<Opcode> opcode = ParseOpcode(opcode_text);
  const std::optional<AsyncForm> async = opcode ? std::nullopt : ParseAsyncOpcode(opcode_text);
  if (!opcode && !async) return lexer_.Error("unknown opcode '{}'", opcode_text);
  lexer_.Next();
  if (async) {
    draft.opcode = async->step == Opcode::kAsyncStart ? async->wrapped : async->step;
    VXLA_RETURN_IF_ERROR(ParseOperands(draft));
    draft.opcode = async->wrapped;
    draft.attributes = DefaultAttributes(draft.opcode);
    AsyncAttributes attributes;
    const bool is_start = async->step == Opcode::kAsyncStart;
    VXLA_RETURN_IF_ERROR(ParseAttributes(draft, &attributes, is_start ? Completeness::kWhole : Completeness::kPartial));
    VXLA_RETURN_IF_ERROR(FinishAsync(draft, *async, std::move(attributes)));
  } else {
    draft.opcode = *opcode;
    draft.attributes = DefaultAttributes(*opcode);
    VXLA_RETURN_IF_ERROR(ParseOperands(draft));
    VXLA_RETURN_IF_ERROR(ParseAttributes(draft, nullptr, Completeness::kWhole));
  }
  VXLA_ASSIGN_OR_RETURN(Instruction* const instruction,
                        Build(std::move(draft), is_unnamed ? TemporaryName() : std::string(name)));
  if (is_unnamed) scope_->unnamed.push_back(instruction);
  scope_->names[name] = instruction;
  if (is_root) scope_->root = instruction;
  return OkStatus();
}

// At '('.
Status HloParser::ParseOperands(Draft& draft) {
  Nesting nesting(depth_);
  VXLA_RETURN_IF_ERROR(nesting.Check(lexer_));
  VXLA_RETURN_IF_ERROR(lexer_.Expect("("));
  if (draft.opcode == Opcode::kParameter) return ParseParameterNumber(draft);
  if (draft.opcode == Opcode::kConstant) {
    if (!draft.shape) return lexer_.Error("constant: the shape must be stated");
    VXLA_ASSIGN_OR_RETURN(draft.attributes.emplace<ConstantAttributes>().literal, ParseLiteral(lexer_, *draft.shape));
    return lexer_.Expect(")");
  }
  while (!lexer_.At(")")) {
    VXLA_ASSIGN_OR_RETURN(draft.operands.emplace_back(), ParseOperand());
    if (!lexer_.Eat(",")) break;
  }
  const int expected = FactsOf(draft.opcode).operand_count;
  const size_t found = draft.operands.size();
  if (expected >= 0 && found != static_cast<size_t>(expected) && lexer_.At(")")) {
    return lexer_.Error("{}: {} operands, expected {}", OpcodeText(draft.opcode), found, expected);
  }
  return lexer_.Expect(")");
}

Status HloParser::ParseParameterNumber(Draft& draft) {
  VXLA_ASSIGN_OR_RETURN(const int64_t number, lexer_.TakeInt("the parameter's number"));
  const auto& parameters = scope_->computation->parameters();
  // A computation has no more parameters than its text has characters; the gap would cost memory.
  if (number < 0 || number > static_cast<int64_t>(parameters.size() + lexer_.remaining())) {
    return lexer_.Error("parameter({}) is not a number that this text can reach", number);
  }
  if (number < static_cast<int64_t>(parameters.size()) && parameters[number] != nullptr) {
    return lexer_.Error("duplicate parameter({}): {} has that number", number, parameters[number]->name());
  }
  draft.attributes = ParameterAttributes{number};
  return lexer_.Expect(")");
}

// shape? name, or a nested shape? opcode(operands).
Result<Instruction*> HloParser::ParseOperand() {
  std::optional<Shape> shape;
  const SourceLocation location = lexer_.token().location;
  if (AtShape(lexer_)) VXLA_SET_OR_RETURN(shape, ParseShape(lexer_));
  if (lexer_.token().kind == TokenKind::kIdentifier && lexer_.PeekChar() == '(')
    return ParseNestedOperand(std::move(shape));
  if (scope_->is_instruction && shape && !scope_->names.contains(lexer_.token().text))
    return ParseParameterOperand(std::move(*shape));
  VXLA_ASSIGN_OR_RETURN(Instruction* const operand, TakeInstruction("an operand"));
  if (shape && !Compatible(*shape, operand->shape())) {
    return InvalidArgument("operand '{}' is stated as {}, but is {}", operand->name(), shape->ToString(),
                           operand->shape().ToString())
        .At(location);
  }
  return operand;
}

Result<Instruction*> HloParser::ParseNestedOperand(std::optional<Shape> shape) {
  Draft draft{};
  draft.location = lexer_.token().location;
  draft.shape = std::move(shape);
  const std::optional<Opcode> opcode = ParseOpcode(lexer_.token().text);
  if (!opcode) return lexer_.Error("unknown opcode '{}'", lexer_.token().text);
  draft.opcode = *opcode;
  draft.attributes = DefaultAttributes(*opcode);
  lexer_.Next();
  VXLA_RETURN_IF_ERROR(ParseOperands(draft));
  VXLA_RETURN_IF_ERROR(CompleteAttributes(draft, {}));
  VXLA_ASSIGN_OR_RETURN(Instruction* const instruction, Build(std::move(draft), TemporaryName()));
  scope_->unnamed.push_back(instruction);
  return instruction;
}

// What one instruction alone takes, with a name or without.
Result<Instruction*> HloParser::ParseParameterOperand(Shape shape) {
  Draft draft{};
  draft.location = lexer_.token().location;
  draft.opcode = Opcode::kParameter;
  draft.shape = std::move(shape);
  draft.attributes = ParameterAttributes{static_cast<int64_t>(scope_->computation->parameters().size())};
  if (lexer_.token().kind != TokenKind::kIdentifier && lexer_.token().kind != TokenKind::kName) {
    VXLA_ASSIGN_OR_RETURN(Instruction* const parameter, Build(std::move(draft), TemporaryName()));
    scope_->unnamed.push_back(parameter);
    return parameter;
  }
  const std::string_view name = lexer_.token().text;
  lexer_.Next();
  VXLA_ASSIGN_OR_RETURN(scope_->names[name], Build(std::move(draft), std::string(name)));
  return scope_->names[name];
}

Result<Instruction*> HloParser::TakeInstruction(std::string_view what) {
  const SourceLocation location = lexer_.token().location;
  VXLA_ASSIGN_OR_RETURN(const std::string_view name, TakeName(what));
  const auto found = scope_->names.find(name);
  if (found == scope_->names.end()) {
    return InvalidArgument("'{}' is not defined before its use{}", name,
                           scope_->is_instruction ? ": operands of one instruction alone state their shapes" : "")
        .At(location);
  }
  Instruction* taken = found->second;
  while (lexer_.At("#")) VXLA_SET_OR_RETURN(taken, TakeElement(taken));
  return taken;
}

// At '#': the index of an element, whose get-tuple-element the text leaves out (XLA's compact_gte).
Result<Instruction*> HloParser::TakeElement(Instruction* tuple) {
  Draft draft{};
  draft.location = lexer_.token().location;
  lexer_.Next();
  VXLA_ASSIGN_OR_RETURN(const int64_t index, lexer_.TakeInt("the index of an element"));
  Instruction*& element = scope_->elements[{tuple, index}];
  if (element != nullptr) return element;
  draft.opcode = Opcode::kGetTupleElement;
  draft.operands = {tuple};
  draft.attributes = GetTupleElementAttributes{index};
  VXLA_ASSIGN_OR_RETURN(element, Build(std::move(draft), TemporaryName()));
  scope_->unnamed.push_back(element);
  return element;
}

Result<Instruction*> HloParser::Build(Draft draft, std::string name) {
  const bool has_shape = draft.shape.has_value();
  if (!has_shape && !ShapeCanBeInferred(draft.opcode)) {
    return InvalidArgument("{}: the shape must be stated", OpcodeText(draft.opcode)).At(draft.location);
  }
  auto instruction =
      std::make_unique<Instruction>(draft.opcode, has_shape ? std::move(*draft.shape) : Shape(),
                                    std::move(draft.operands), std::move(draft.attributes), std::move(draft.called));
  instruction->set_name(std::move(name));
  instruction->set_location(draft.location);
  instruction->mutable_common() = std::move(draft.common);
  instruction->mutable_notes() = std::move(draft.notes);
  Status names = CheckNotReserved("backend_config", instruction->common().backend_config.text);
  if (names.ok() && instruction->call_kind() == CallKind::kNamed && draft.opcode == Opcode::kCustomCall) {
    names = CheckNotReserved("custom_call_target", instruction->attributes<CustomCallAttributes>().custom_call_target);
  }
  if (!names.ok()) return std::move(names).At(draft.location);
  if (!has_shape) {
    Result<Shape> shape = InferShape(*instruction);
    if (!shape.ok()) return Status(shape.status()).At(draft.location);
    instruction->mutable_shape() = std::move(*shape);
  }
  Instruction* const added = scope_->computation->Add(std::move(instruction));
  for (Instruction* before : draft.control_predecessors) added->AddControlPredecessor(before);
  return added;
}

}  // namespace parsing

Result<std::unique_ptr<Module>> ParseHlo(std::string_view text, TextOf text_of) {
  VXLA_RETURN_IF_ERROR(parsing::CheckIsText(text));
  return Guarded([&] { return parsing::HloParser(text, text_of).Parse(); });
}

}  // namespace VXLA_NAMESPACE
