#include "backend/vulkan/codegen/statements/statement.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "backend/vulkan/codegen/statements/carriers.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

bool IsPartOfName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

void ForEachNameOf(const Statement& statement, const std::function<void(std::string_view)>& function) {
  switch (statement.kind) {
    case Statement::Kind::kDeclare:
    case Statement::Kind::kAssign:
      function(statement.name);
      if (statement.value) ForEachName(statement.value->source(), function);
      break;
    case Statement::Kind::kStore:
    case Statement::Kind::kElement:
      ForEachName(statement.text, function);
      ForEachName(statement.target.index, function);
      if (statement.value) ForEachName(statement.value->text, function);
      for (const Stored& stored : statement.values) {
        ForEachName(stored.text, function);
        if (stored.moved) ForEachName(stored.moved->index, function);
        if (stored.pair) {
          ForEachName(stored.pair->low, function);
          ForEachName(stored.pair->high, function);
        }
      }
      break;
    default:
      ForEachName(statement.text, function);
  }
}

// What a statement says that it reads, stores or changes in memory.
template <typename AStatement, typename Function>
void ForEachAccess(AStatement& statement, Function&& function) {
  if (statement.kind == Statement::Kind::kStore || statement.kind == Statement::Kind::kElement)
    function(statement.target);
  if (statement.value && statement.value->loaded) function(*statement.value->loaded);
  for (auto& stored : statement.values) {
    if (stored.moved) function(*stored.moved);
  }
}

}  // namespace

void ForEachName(std::string_view text, const std::function<void(std::string_view)>& function) {
  for (size_t i = 0; i < text.size();) {
    const size_t begin = i;
    while (i < text.size() && IsPartOfName(text[i])) ++i;
    if (i > begin) function(text.substr(begin, i - begin));
    // What stands behind a dot is a component, or digits.
    if (i < text.size() && text[i] == '.') {
      for (++i; i < text.size() && IsPartOfName(text[i]);) ++i;
    } else if (i == begin) {
      ++i;
    }
  }
}

void ForEachTensor(Code& code, const std::function<void(std::string&)>& function) {
  for (Statement& statement : code.statements())
    ForEachAccess(statement, [&](Elements& elements) { function(elements.tensor); });
}

bool IsPlain(std::string_view operand) {
  return !operand.empty() && std::ranges::all_of(operand, [](char c) { return IsPartOfName(c) || c == '.'; });
}

std::string Elements::Print() const {
  return count == 1 ? fmt::format("{}, {}, {}", tensor, tag, index)
                    : fmt::format("{}, {}x{}, {}", tensor, tag, count, index);
}

int Elements::words() const { return count * (tag == "c128" ? 4 : tag.ends_with("64") ? 2 : 1); }

std::string Elements::type() const {
  const std::string_view kind = tag == "f32" ? "" : tag == "i32" ? "i" : tag == "u32" ? "u" : tag;
  if (count > 1) return fmt::format("{}vec{}", kind, count);
  return tag == "f32" ? "float" : tag == "i32" ? "int" : tag == "u32" ? "uint" : fmt::format("{}_t", tag);
}

std::string Expression::Print() const {
  if (!loaded) return rounded ? Narrowed(*rounded, text) : text;
  const std::string all = fmt::format("LOAD({})", loaded->Print());
  return decoded ? FromStorage(*decoded, all) : all;
}

std::string Stored::Print() const {
  if (moved) return fmt::format("LOAD({})", moved->Print());
  return pair ? fmt::format("encode_rounded_pair_{}({}, {})", ElementTypeName(pair->type), pair->low, pair->high)
              : text;
}

std::string Statement::Print() const {
  std::string out(2 * static_cast<size_t>(depth), ' ');
  const auto to = std::back_inserter(out);
  switch (kind) {
    case Kind::kRaw:
      return text;
    case Kind::kDeclare:
      fmt::format_to(to, "{}{} {}", precise ? "precise " : "", type, name);
      if (value) fmt::format_to(to, " = {}", value->Print());
      return out + ";\n";
    case Kind::kAssign:
      fmt::format_to(to, "{} = {};\n", name, value->Print());
      return out;
    case Kind::kElement:
      fmt::format_to(to, "{}ELEMENT({}){}\n", text, target.Print(), value->text);
      return out;
    case Kind::kStore: {
      std::vector<std::string> printed;
      for (const Stored& stored : values) printed.push_back(stored.Print());
      const std::string all = fmt::format("{}", fmt::join(printed, ", "));
      fmt::format_to(to, "STORE({}, {});\n", target.Print(),
                     values.size() == 1 ? all : fmt::format("{}({})", target.type(), all));
      return out;
    }
    case Kind::kOpen:
    case Kind::kFunction:
      return out + text + " {\n";
    case Kind::kBarrier:
      return out + std::string(of_grid ? kGridBarrier : kBarrier) + '\n';
    case Kind::kClose:
    case Kind::kEndFunction:
      break;
  }
  return out + "}\n";
}

int Statement::Mentions(std::string_view local) const {
  int count = 0;
  ForEachNameOf(*this, [&](std::string_view each) { count += each == local; });
  return count;
}

bool Statement::MentionsAnyOf(const std::set<std::string, std::less<>>& locals) const {
  bool any = false;
  if (!locals.empty()) ForEachNameOf(*this, [&](std::string_view each) { any |= locals.contains(each); });
  return any;
}

Code& Code::operator+=(Code code) {
  if (statements_.empty()) {
    statements_ = std::move(code.statements_);
  } else {
    statements_.insert(statements_.end(), std::make_move_iterator(code.statements_.begin()),
                       std::make_move_iterator(code.statements_.end()));
  }
  return *this;
}

Code& Code::operator+=(std::string raw) {
  if (!raw.empty()) statements_.push_back({.kind = Statement::Kind::kRaw, .text = std::move(raw)});
  return *this;
}

Code Code::Function(const std::string& head, Code body) {
  Code code;
  code.Add({.kind = Statement::Kind::kFunction, .text = head});
  code += std::move(body);
  code.Add({.kind = Statement::Kind::kEndFunction});
  return code;
}

std::string Code::Print() const {
  std::string text;
  for (const Statement& statement : statements_) text += statement.Print();
  return text;
}

int64_t Code::lines() const {
  int64_t lines = 0;
  for (const Statement& statement : statements_)
    lines += statement.kind == Statement::Kind::kRaw ? std::ranges::count(statement.text, '\n') : 1;
  return lines;
}

int64_t Code::barriers() const { return std::ranges::count(statements_, Statement::Kind::kBarrier, &Statement::kind); }

int64_t Code::accesses() const {
  int64_t count = 0;
  for (const Statement& statement : statements_) {
    if (statement.kind == Statement::Kind::kElement) continue;  // none is loaded or stored
    ForEachAccess(statement, [&](const Elements& elements) { count += elements.count; });
  }
  return count;
}

void CodeWriter::Add(Statement statement) {
  statement.depth = depth_;
  code_.Add(std::move(statement));
}

void CodeWriter::Line(std::string_view statement) { code_ += fmt::format("{:{}}{}\n", "", 2 * depth_, statement); }

void CodeWriter::Line(std::string before, Elements element, std::string behind) {
  Add({.kind = Statement::Kind::kElement,
       .text = std::move(before),
       .value = Expression(std::move(behind)),
       .target = std::move(element)});
}

void CodeWriter::Declare(std::string_view glsl_type, std::string name, Expression value, bool precise) {
  Add({.kind = Statement::Kind::kDeclare,
       .precise = precise,
       .type = std::string(glsl_type),
       .name = std::move(name),
       .value = std::move(value)});
}

void CodeWriter::Assign(std::string name, Expression value) {
  Add({.kind = Statement::Kind::kAssign, .name = std::move(name), .value = std::move(value)});
}

Code Barrier(int depth, bool of_grid) {
  return Code({{.kind = Statement::Kind::kBarrier, .depth = depth, .of_grid = of_grid}});
}

}  // namespace VXLA_NAMESPACE::vulkan
