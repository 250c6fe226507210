#include "tests/spec/spec_test_support.h"

#include <algorithm>

#include "core/passes/base/verifier.h"
#include "core/text/hlo_parser.h"
#include "core/text/hlo_printer.h"
#include "core/text/literal_text.h"
#include "core/text/shape_text.h"
#include "tests/support/module_equal.h"

namespace VXLA_NAMESPACE::testing {
namespace {

Result<Literal> ParseShaped(const std::string& text) {
  Lexer lexer(text);
  VXLA_ASSIGN_OR_RETURN(const Shape shape, ParseShape(lexer, LayoutRule::kBeforeLiteral));
  VXLA_ASSIGN_OR_RETURN(const auto literal, ParseLiteral(lexer, shape));
  if (literal == nullptr) return InvalidArgument("an elided value");
  return *literal;
}

std::unique_ptr<Module> ParsedAgain(const Module& module) {
  const std::string text = PrintHlo(module);
  auto parsed = ParseHlo(text);
  if (!parsed.ok()) {
    ADD_FAILURE() << parsed.status().message() << "\n" << text;
    return nullptr;
  }
  std::string difference;
  EXPECT_TRUE(Equal(module, **parsed, &difference)) << difference << "\n" << text;
  return std::move(*parsed);
}

Result<Literal> Evaluated(const Module& module, const std::vector<Literal>& arguments,
                          const EvaluateOptions& options = {}) {
  VXLA_RETURN_IF_ERROR(Verify(module));
  const std::unique_ptr<Module> again = ParsedAgain(module);
  if (again == nullptr) return Internal("the program's text does not parse");
  std::vector<const Literal*> pointers;
  for (const Literal& argument : arguments) pointers.push_back(&argument);
  VXLA_ASSIGN_OR_RETURN(Literal value, Evaluate(*again, pointers, options));
  if (DeviceCheck() != nullptr) DeviceCheck()(*again, arguments, value);
  return value;
}

}  // namespace

DeviceCheckFunction& DeviceCheck() {
  static DeviceCheckFunction check = nullptr;
  return check;
}

Literal Value(const std::string& text) {
  Result<Literal> value = ParseShaped(text);
  if (value.ok()) return *std::move(value);
  ADD_FAILURE() << value.status().message() << " in " << text;
  return Literal();
}

std::string Show(const Literal& literal) {
  std::string text;
  if (literal.shape().IsTuple()) {
    for (const Literal& element : literal.tuple_elements()) text += (text.empty() ? "" : ",") + Show(element);
    return "(" + text + ")";
  }
  text = literal.shape().ToString() + PrintLiteral(literal);
  for (size_t at; (at = text.find("/*")) != std::string::npos;) text.erase(at, text.find("*/", at) + 2 - at);
  for (size_t at; (at = text.find("-nan")) != std::string::npos;) text.erase(at, 1);  // a NaN's sign is free
  std::erase(text, ' ');
  return text;
}

XlaOp Program::Arg(const std::string& text) { return Arg(Value(text)); }

XlaOp Program::Arg(Literal value) {
  arguments_.push_back(std::move(value));
  return Parameter(&builder_, static_cast<int64_t>(arguments_.size()) - 1, arguments_.back().shape());
}

std::string Program::Run(XlaOp root) {
  const Result<XlaComputation> built = builder_.Build(root);
  if (!built.ok()) return built.status().message();
  const Result<Literal> value = Evaluated(built->module(), arguments_, options_);
  return value.ok() ? Show(*value) : value.status().message();
}

Literal Program::RunLiteral(XlaOp root) {
  const Result<XlaComputation> built = builder_.Build(root);
  Result<Literal> value =
      built.ok() ? Evaluated(built->module(), arguments_, options_) : Result<Literal>(built.status());
  if (value.ok()) return *std::move(value);
  ADD_FAILURE() << value.status().message();
  return Literal();
}

std::vector<std::string> Program::RunOn(DeviceGrid grid, XlaOp root,
                                        const std::vector<std::vector<std::string>>& arguments) {
  const Result<XlaComputation> built = builder_.Build(root);
  if (!built.ok()) return {built.status().message()};
  if (const Status verified = Verify(built->module()); !verified.ok()) return {verified.message()};
  const std::unique_ptr<Module> module = ParsedAgain(built->module());
  std::vector<std::vector<Literal>> values(grid.count(), arguments_);
  for (size_t d = 0; d < arguments.size(); ++d) {
    values[d].clear();
    for (const std::string& argument : arguments[d]) values[d].push_back(Value(argument));
  }
  std::vector<std::vector<const Literal*>> pointers(values.size());
  for (size_t d = 0; d < values.size(); ++d) {
    for (const Literal& value : values[d]) pointers[d].push_back(&value);
  }
  const Result<std::vector<Literal>> results = EvaluateReplicated(*module, grid, pointers, options_);
  if (!results.ok()) return {results.status().message()};
  std::vector<std::string> texts;
  for (const Literal& result : *results) texts.push_back(Show(result));
  return texts;
}

namespace {

std::string AsModule(const std::string& text) {
  return text.starts_with("HloModule") ? text : "HloModule t\nENTRY e {\n" + text + "\n}\n";
}

Result<Literal> TryRun(const std::string& text, const std::vector<Literal>& arguments) {
  VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<Module> module, ParseHlo(AsModule(text)));
  return Evaluated(*module, arguments);
}

}  // namespace

std::string RunText(const std::string& text, const std::vector<std::string>& arguments) {
  std::vector<Literal> values;
  for (const std::string& argument : arguments) values.push_back(Value(argument));
  const Result<Literal> value = TryRun(text, values);
  return value.ok() ? Show(*value) : value.status().message();
}

Literal RunLiterals(const std::string& text, const std::vector<Literal>& arguments) {
  Result<Literal> value = TryRun(text, arguments);
  if (value.ok()) return *std::move(value);
  ADD_FAILURE() << value.status().message() << "\n" << text;
  return Literal();
}

XlaComputation Scalar(ElementType type, XlaOp (*op)(XlaOp, XlaOp, const IntList&)) {
  XlaBuilder builder("scalar");
  const XlaOp x = Parameter(&builder, 0, Shape(type));
  const XlaOp y = Parameter(&builder, 1, Shape(type));
  return *builder.Build(op(x, y, {}));
}

std::string ErrorOf(XlaOp op) { return op.builder() == nullptr ? "no builder" : op.builder()->first_error().message(); }

std::string Refusal(const std::string& text) {
  const auto module = ParseHlo(AsModule(text));
  if (!module.ok()) return module.status().message();
  const std::string message = Verify(**module).message();
  return message.substr(0, message.rfind(" (in "));
}

}  // namespace VXLA_NAMESPACE::testing
