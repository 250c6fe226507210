#include "backend/vulkan/codegen/statement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "backend/vulkan/codegen/carriers.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

bool IsPartOfName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Every name in a text, of components the name before the dot.
template <typename Function>
void ForEachName(std::string_view text, Function&& function) {
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
template <typename Function>
void ForEachName(const Statement& statement, Function&& function) {
  switch (statement.kind) {
    case Statement::Kind::kDeclare:
      function(statement.name);
      if (statement.value) ForEachName(statement.value->text, function);
      break;
    case Statement::Kind::kStore:
      ForEachName(statement.index, function);
      for (const Stored& stored : statement.values) {
        ForEachName(stored.text, function);
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

}  // namespace

bool IsPlain(std::string_view operand) {
  return !operand.empty() && std::ranges::all_of(operand, [](char c) { return IsPartOfName(c) || c == '.'; });
}

std::string Expression::Print() const { return rounded ? Narrowed(*rounded, text) : text; }

std::string Stored::Print() const {
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
    case Kind::kStore: {
      std::vector<std::string> printed;
      for (const Stored& stored : values) printed.push_back(stored.Print());
      const std::string all = fmt::format("{}", fmt::join(printed, ", "));
      fmt::format_to(to, "STORE({}, {}, {}, {});\n", tensor, view, index,
                     constructor.empty() ? all : fmt::format("{}({})", constructor, all));
      return out;
    }
    case Kind::kOpen:
    case Kind::kFunction:
      return out + text + " {\n";
    case Kind::kBarrier:
      return out + std::string(kBarrier) + '\n';
    case Kind::kClose:
    case Kind::kEndFunction:
      break;
  }
  return out + "}\n";
}

int Statement::Mentions(std::string_view local) const {
  int count = 0;
  ForEachName(*this, [&](std::string_view each) { count += each == local; });
  return count;
}

bool Statement::MentionsAnyOf(const std::set<std::string, std::less<>>& locals) const {
  bool any = false;
  if (!locals.empty()) ForEachName(*this, [&](std::string_view each) { any |= locals.contains(each); });
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

int64_t Code::barriers() const {
  return std::ranges::count(statements_, Statement::Kind::kBarrier, &Statement::kind);
}

int64_t Code::accesses() const {
  int64_t count = 0;
  const std::string text = Print();
  const auto add = [&](std::string_view words, int64_t each) {
    for (size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) count += each;
  };
  for (const std::string_view access : {"LOAD(", "STORE("}) add(access, 1);
  add("x2, ", 1);
  add("x4, ", 3);
  return count;
}

Code Barrier(int depth) { return Code({{.kind = Statement::Kind::kBarrier, .depth = depth}}); }

}  // namespace VXLA_NAMESPACE::vulkan
