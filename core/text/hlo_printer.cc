#include "core/text/hlo_printer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <unordered_set>

#include "core/text/attribute_fields.h"
#include "core/text/literal_text.h"
#include "core/text/module_header.h"
#include "core/text/shape_text.h"

namespace VXLA_NAMESPACE {
namespace {

// Words that this parser or XLA's would take for something else than a name.
bool IsReserved(std::string_view name) {
  constexpr std::string_view kWords[] = {"ENTRY",         "ROOT",          "HloModule",  "FileNames",
                                         "FunctionNames", "FileLocations", "StackFrames"};
  return std::ranges::find(kWords, name) != std::end(kWords) || (name != "tuple" && ParseElementType(name).has_value());
}

// '%' is written only where a bare name would be read as something else.
void AppendName(std::string& out, std::string_view name) {
  const bool bare =
      !name.empty() && (std::isalpha(static_cast<unsigned char>(name[0])) || name[0] == '_') && !IsReserved(name);
  if (!bare) out += '%';
  out += name;
}

struct FieldPrinter {
  std::vector<std::string> values;
  std::vector<std::string_view> names;
  std::vector<FieldKind> kinds;

  template <typename T>
  void operator()(std::string_view name, const T& value, FieldKind kind) {
    names.push_back(name);
    kinds.push_back(kind);
    std::string& text = values.emplace_back();
    if constexpr (std::is_same_v<T, std::string>) {
      if (kind == FieldKind::kWord) {
        text = value;
        return;
      }
    }
    AppendValue(text, value);
  }
};

// The texts of T's defaults, which are not printed.
template <typename T>
const std::vector<std::string>& DefaultTexts() {
  static const std::vector<std::string> texts = [] {
    const T defaults;
    FieldPrinter printer;
    T::VisitFields(defaults, printer);
    return printer.values;
  }();
  return texts;
}

template <typename T>
void AppendFields(std::string& out, const T& attributes, Opcode opcode) {
  FieldPrinter printer;
  T::VisitFields(attributes, printer);
  const std::vector<std::string>& defaults = DefaultTexts<T>();
  for (size_t i = 0; i < printer.values.size(); ++i) {
    const FieldKind kind = printer.kinds[i];
    const bool optional = kind != FieldKind::kRequired && kind != FieldKind::kPrinted;
    const Presence presence = PresenceOf(opcode, printer.names[i], kind);
    if (presence == Presence::kUnknown) continue;
    if (optional && presence != Presence::kRequired && printer.values[i] == defaults[i]) continue;
    fmt::format_to(std::back_inserter(out), ", {}={}", printer.names[i], printer.values[i]);
  }
}

void AppendNames(std::string& out, std::string_view name, const auto& named) {
  fmt::format_to(std::back_inserter(out), ", {}={{", name);
  for (size_t i = 0; i < named.size(); ++i) {
    if (i > 0) out += ", ";
    AppendName(out, named[i]->name());
  }
  out += '}';
}

void AppendCalled(std::string& out, const Instruction& instruction) {
  const std::span<Computation* const> called = instruction.called();
  if (called.empty()) return;
  const CalledNames texts = CalledNamesOf(instruction.opcode());
  // A conditional on a pred has a true and a false computation, one on an index a list.
  const bool named = instruction.opcode() == Opcode::kConditional && called.size() == 2 &&
                     instruction.operand_count() > 0 &&
                     instruction.operand(0)->shape().element_type() == ElementType::kPred;
  if (!texts.list.empty() && !named) return AppendNames(out, texts.list, called);
  for (size_t i = 0; i < called.size() && i < texts.names.size(); ++i) {
    fmt::format_to(std::back_inserter(out), ", {}=", texts.names[i]);
    AppendName(out, called[i]->name());
  }
}

// Notes are the first entry of frontend_attributes.
CommonAttributes WithNotes(const Instruction& instruction) {
  CommonAttributes common = instruction.common();
  std::string notes;
  AppendFields(notes, instruction.notes(), instruction.opcode());
  if (notes.empty()) return common;
  std::string& text = common.frontend_attributes.text;
  const bool others = text.size() > 2;  // than {}
  text = fmt::format("{{vxla={}{}", Quote(notes.substr(2)), others ? "," + text.substr(1) : "}");
  return common;
}

void AppendAttributes(std::string& out, const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  std::visit([&](const auto& attributes) { AppendFields(out, attributes, opcode); }, instruction.attributes());
  AppendCalled(out, instruction);
  if (!instruction.control_predecessors().empty())
    AppendNames(out, "control-predecessors", instruction.control_predecessors());
  AppendFields(out, WithNotes(instruction), opcode);
}

void AppendInstruction(std::string& out, const Instruction& instruction) {
  AppendName(out, instruction.name());
  out += " = ";
  AppendShape(out, instruction.shape());
  fmt::format_to(std::back_inserter(out), " {}(", OpcodeText(instruction.opcode()));
  if (instruction.opcode() == Opcode::kParameter) {
    fmt::format_to(std::back_inserter(out), "{}", instruction.parameter_number());
  } else if (instruction.opcode() == Opcode::kConstant) {
    const auto& literal = instruction.attributes<ConstantAttributes>().literal;
    out += literal == nullptr ? (instruction.shape().IsTuple() ? "..." : "{...}") : PrintLiteral(*literal);
  }
  for (int i = 0; i < instruction.operand_count(); ++i) {
    if (i > 0) out += ", ";
    AppendName(out, instruction.operand(i)->name());
  }
  out += ')';
  AppendAttributes(out, instruction);
}

void AppendComputation(std::string& out, const Computation& computation, bool is_entry) {
  if (is_entry) out += "ENTRY ";
  AppendName(out, computation.name());
  out += " {\n";
  for (const auto& instruction : computation.instructions()) {
    out += instruction.get() == computation.root() ? "  ROOT " : "  ";
    AppendInstruction(out, *instruction);
    out += '\n';
  }
  out += '}';
  if (!computation.execution_thread().empty()) {
    out += ", execution_thread=";
    AppendValue(out, computation.execution_thread());
  }
  out += "\n\n";
}

// Callees first: the text must define a computation before its use. Modules in order stay so.
void PlaceCallees(const Computation* computation, std::unordered_set<const Computation*>& placed,
                  std::vector<const Computation*>& order) {
  if (!placed.insert(computation).second) return;
  for (const auto& instruction : computation->instructions()) {
    for (const Computation* called : instruction->called()) PlaceCallees(called, placed, order);
  }
  order.push_back(computation);
}

}  // namespace

std::string PrintHlo(const Module& module) {
  std::string out;
  AppendModuleHeader(out, module);
  std::unordered_set<const Computation*> placed;
  std::vector<const Computation*> order;
  for (const auto& computation : module.computations()) PlaceCallees(computation.get(), placed, order);
  for (const Computation* computation : order) AppendComputation(out, *computation, computation == module.entry());
  return out;
}

}  // namespace VXLA_NAMESPACE
