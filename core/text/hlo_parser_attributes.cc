#include <algorithm>

#include "core/host/delimited_list.h"
#include "core/ops/ops.h"
#include "core/text/attribute_fields.h"
#include "core/text/hlo_parser_impl.h"

namespace VXLA_NAMESPACE::parsing {
namespace {

// Parses the field called `name` of the struct that VisitFields walks.
struct FieldParser {
  Lexer& lexer;
  Opcode opcode;
  std::string_view name;
  TextOf text_of;
  bool found = false;
  Status status{};

  template <typename T>
  void operator()(std::string_view field, T& value, FieldKind kind) {
    if (found || field != name || PresenceOf(opcode, field, kind) == Presence::kUnknown) return;
    found = true;
    if (kind == FieldKind::kOwn && text_of == TextOf::kUser) {
      status = lexer.Error("{}: no program says that of itself", name);
      return;
    }
    if constexpr (std::is_same_v<T, std::string>) {
      status = kind == FieldKind::kWord ? ParseWord(lexer, value) : ParseValue(lexer, value);
    } else {
      status = ParseValue(lexer, value);
    }
  }
};

// The first required field of the struct that is not among `seen`.
struct MissingFinder {
  Opcode opcode;
  const std::vector<std::string_view>& seen;
  std::string_view missing;

  void operator()(std::string_view field, const auto&, FieldKind kind) {
    if (!missing.empty() || PresenceOf(opcode, field, kind) != Presence::kRequired) return;
    if (std::ranges::find(seen, field) == seen.end()) missing = field;
  }
};

// The instruction that began what `instruction` continues, or null.
const Instruction* AsyncStartOf(const Instruction* instruction) {
  while (instruction->opcode() == Opcode::kAsyncUpdate && instruction->operand_count() > 0)
    instruction = instruction->operand(0);
  return instruction->opcode() == Opcode::kAsyncStart ? instruction : nullptr;
}

// {mode=highest}, {mode=default}, {tolerance={rtol=0.5, atol=1.0, ulps=2}} or some of these three.
bool IsAccuracy(std::string_view text) {
  Lexer lexer(text);
  const auto at = [&](std::string_view name) {
    return lexer.token().kind == TokenKind::kAttribute && lexer.token().text == name;
  };
  if (!lexer.Eat("{")) return false;
  if (at("mode")) {
    lexer.Next();
    if (!lexer.AtIdentifier("default") && !lexer.AtIdentifier("highest")) return false;
    lexer.Next();
  } else {
    if (!at("tolerance")) return false;
    lexer.Next();
    if (!lexer.Eat("{")) return false;
    while (at("rtol") || at("atol") || at("ulps")) {
      lexer.Next();
      if (lexer.token().kind != TokenKind::kInt && lexer.token().kind != TokenKind::kDecimal) return false;
      lexer.Next();
      if (!lexer.Eat(",")) break;
    }
    if (!lexer.Eat("}")) return false;
  }
  return lexer.Eat("}") && lexer.token().kind == TokenKind::kEnd;
}

}  // namespace

Status HloParser::ParseAttributes(Draft& draft, AsyncAttributes* async, Completeness completeness) {
  std::vector<std::string_view> seen;
  while (lexer_.Eat(",")) {
    if (lexer_.token().kind != TokenKind::kAttribute) return lexer_.Expected("an attribute");
    const std::string_view name = lexer_.token().text;
    const SourceLocation location = lexer_.token().location;
    if (std::ranges::find(seen, name) != seen.end()) return lexer_.Error("duplicate attribute '{}'", name);
    seen.push_back(name);
    if (name == "control-predecessors") {
      lexer_.Next();
      VXLA_ASSIGN_OR_RETURN(draft.control_predecessors,
                            TakeListOf(lexer_, "{", "}", [&] { return TakeInstruction("an instruction"); }));
      continue;
    }
    if (name == "inferred_dimension" && draft.opcode == Opcode::kReshape) {  // the shape's flag, which it may leave out
      lexer_.Next();
      VXLA_ASSIGN_OR_RETURN(const int64_t dimension, lexer_.TakeInt("a dimension"));
      if (draft.shape && draft.shape->IsArray() && dimension >= 0 && dimension < draft.shape->rank())
        draft.shape->set_dynamic_dimension(dimension, true);
      continue;
    }
    if (name == "output_to_operand_aliasing" && draft.opcode == Opcode::kAsyncStart) {  // of no use here
      VXLA_RETURN_IF_ERROR(lexer_.TakeRawAfter().status());
      continue;
    }
    bool found = false;
    VXLA_RETURN_IF_ERROR(ParseCalled(draft, name, found));
    if (found) continue;
    FieldParser parser{lexer_, draft.opcode, name, text_of_};
    std::visit([&](auto& attributes) { attributes.VisitFields(attributes, parser); }, draft.attributes);
    if (!parser.found) CommonAttributes::VisitFields(draft.common, parser);
    if (!parser.found && async != nullptr) AsyncAttributes::VisitFields(*async, parser);
    if (!parser.found) return lexer_.Error("unknown attribute '{}' of {}", name, OpcodeText(draft.opcode));
    VXLA_RETURN_IF_ERROR(parser.status);
    if (name == "frontend_attributes") {
      // Places in the notes are of no use to who reads the file.
      if (const Status notes = TakeNotes(draft); !notes.ok()) return Status(notes.code(), notes.message(), location);
    }
    if (name != "result_accuracy") continue;
    const std::string& accuracy = std::get<UnaryAttributes>(draft.attributes).result_accuracy.text;
    if (IsAccuracy(accuracy)) continue;
    return InvalidArgument(
               "result_accuracy is {}, expected {{mode=default}}, {{mode=highest}} or {{tolerance={{rtol=0.5, "
               "atol=1.0, ulps=2}}}}",
               accuracy)
        .At(location);
  }
  // The later steps of an asynchronous op may leave out what its start states.
  return completeness == Completeness::kPartial ? OkStatus() : CompleteAttributes(draft, seen);
}

// The first entry of frontend_attributes, where it is vxla="...".
Status HloParser::TakeNotes(Draft& draft) {
  const std::string written = draft.common.frontend_attributes.text;
  Lexer entry(written);
  if (!entry.Eat("{") || entry.token().kind != TokenKind::kAttribute || entry.token().text != "vxla") return OkStatus();
  entry.Next();
  VXLA_ASSIGN_OR_RETURN(const std::string text, entry.TakeString("notes in quotes"));
  const bool others = entry.Eat(",");
  draft.common.frontend_attributes.text =
      others ? "{" + written.substr(static_cast<size_t>(entry.token().text.data() - written.data())) : "";
  Lexer lexer(text);
  while (lexer.token().kind == TokenKind::kAttribute) {
    const std::string name(lexer.token().text);
    FieldParser parser{lexer, draft.opcode, name, text_of_};
    Notes::VisitFields(draft.notes, parser);
    if (!parser.found) return lexer.Error("vxla: there is no note '{}'", name);
    VXLA_RETURN_IF_ERROR(parser.status);
    if (!lexer.Eat(",")) break;
  }
  return lexer.token().kind == TokenKind::kEnd ? OkStatus() : lexer.Expected("the end of vxla's notes");
}

Status HloParser::ParseCalled(Draft& draft, std::string_view name, bool& found) {
  const CalledNames called = CalledNamesOf(draft.opcode);
  if (!called.list.empty() && name == called.list) {
    found = true;
    if (!draft.called.empty()) return lexer_.Error("{} beside other called computations", name);
    draft.called_by_list = true;
    lexer_.Next();
    VXLA_ASSIGN_OR_RETURN(draft.called, TakeListOf(lexer_, "{", "}", [&] { return TakeComputation(); }));
    return OkStatus();
  }
  const auto slot = std::ranges::find(called.names, name);
  if (slot == called.names.end()) return OkStatus();
  found = true;
  if (draft.called_by_list) return lexer_.Error("{} beside other called computations", name);
  lexer_.Next();
  VXLA_ASSIGN_OR_RETURN(Computation* const computation, TakeComputation());
  draft.called.resize(called.names.size());
  draft.called[slot - called.names.begin()] = computation;
  return OkStatus();
}

// A computation's name or its body.
Result<Computation*> HloParser::TakeComputation() {
  const SourceLocation location = lexer_.token().location;
  if (lexer_.At("{")) {
    auto computation = std::make_unique<Computation>(TemporaryName());
    VXLA_RETURN_IF_ERROR(ParseBody(*computation));
    Computation* const added = module_->AddComputation(std::move(computation));
    unnamed_computations_.emplace_back(added, "region");
    return added;
  }
  VXLA_ASSIGN_OR_RETURN(const std::string_view name, TakeName("a computation"));
  const auto found = computations_.find(name);
  if (found != computations_.end()) return found->second;
  return InvalidArgument("computation '{}' is not defined before its use", name).At(location);
}

// Everything that must be stated is, and what follows from the operands is filled in.
Status HloParser::CompleteAttributes(Draft& draft, const std::vector<std::string_view>& seen) {
  const std::string_view opcode = OpcodeText(draft.opcode);
  MissingFinder finder{draft.opcode, seen, {}};
  std::visit([&](const auto& attributes) { attributes.VisitFields(attributes, finder); }, draft.attributes);
  const bool has_dimensions = std::ranges::find(seen, "dimensions") != seen.end();
  if (draft.opcode == Opcode::kBroadcast && !has_dimensions && !draft.operands[0]->shape().IsScalar()) {
    finder.missing = "dimensions";
  }
  if (draft.opcode == Opcode::kMap && !has_dimensions && !draft.operands.empty()) {
    IntList& dimensions = std::get<DimensionsAttributes>(draft.attributes).dimensions;
    for (int i = 0; i < draft.operands[0]->shape().rank(); ++i) dimensions.push_back(i);
  }
  const CalledNames called = CalledNamesOf(draft.opcode);
  if (called.required && draft.called.empty()) finder.missing = called.names.front();
  for (size_t i = 0; i < draft.called.size(); ++i) {
    if (draft.called[i] == nullptr) finder.missing = called.names[i];
  }
  if (finder.missing.empty()) return OkStatus();
  return InvalidArgument("{}: the attribute {} is missing", opcode, finder.missing).At(draft.location);
}

// ---- asynchronous operations

Status HloParser::FinishAsync(Draft& draft, const AsyncForm& form, AsyncAttributes async) {
  if (form.step == Opcode::kAsyncStart) return WrapAsync(draft, std::move(async));
  const Instruction* start = draft.operands.empty() ? nullptr : AsyncStartOf(draft.operands[0]);
  if (start == nullptr || start->called(0)->root()->opcode() != form.wrapped) {
    return InvalidArgument("{}: the operand is no asynchronous {}", OpcodeText(form.step), OpcodeText(form.wrapped))
        .At(draft.location);
  }
  // The start states the rest.
  draft.opcode = form.step;
  draft.attributes = std::move(async);
  draft.called.clear();
  return OkStatus();
}

// Moves the drafted operation into a computation of its own, which an async-start calls.
Status HloParser::WrapAsync(Draft& draft, AsyncAttributes async) {
  if (!draft.shape || draft.shape->tuple_elements().size() < 2) {
    return InvalidArgument("{}-start: the shape ((operands), result, ...) must be stated", OpcodeText(draft.opcode))
        .At(draft.location);
  }
  auto computation = std::make_unique<Computation>(TemporaryName());
  computation->set_execution_thread(async.async_execution_thread);
  std::vector<Instruction*> parameters;
  for (const Instruction* operand : draft.operands) {
    const int64_t number = static_cast<int64_t>(parameters.size());
    parameters.push_back(computation->Add(Opcode::kParameter, operand->shape(), {}, ParameterAttributes{number}, {},
                                          fmt::format("param_{}", number)));
  }
  Instruction* wrapped = computation->Add(draft.opcode, draft.shape->tuple_elements()[1], std::move(parameters),
                                          std::move(draft.attributes), std::move(draft.called));
  wrapped->set_location(draft.location);
  draft.called = {module_->AddComputation(std::move(computation))};
  unnamed_computations_.emplace_back(draft.called[0], "async_wrapped");
  draft.opcode = Opcode::kAsyncStart;
  draft.attributes = std::move(async);
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE::parsing
