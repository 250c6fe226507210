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

int TimesNamed(std::string_view text, std::string_view name) {
  int count = 0;
  for (size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    const size_t end = at + name.size();
    count += (at == 0 || !IsPartOfName(text[at - 1])) && (end == text.size() || !IsPartOfName(text[end]));
  }
  return count;
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
    case Kind::kClose:
    case Kind::kEndFunction:
      break;
  }
  return out + "}\n";
}

int Statement::Mentions(std::string_view local) const {
  switch (kind) {
    case Kind::kDeclare:
      return (name == local ? 1 : 0) + (value ? TimesNamed(value->text, local) : 0);
    case Kind::kStore: {
      int count = TimesNamed(index, local);
      for (const Stored& stored : values)
        count += stored.pair ? TimesNamed(stored.pair->low, local) + TimesNamed(stored.pair->high, local)
                             : TimesNamed(stored.text, local);
      return count;
    }
    default:
      return TimesNamed(text, local);
  }
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

int64_t Code::size() const {
  int64_t size = 0;
  for (const Statement& statement : statements_) size += std::ssize(statement.Print());
  return size;
}

int64_t Code::lines() const {
  int64_t lines = 0;
  for (const Statement& statement : statements_)
    lines += statement.kind == Statement::Kind::kRaw ? std::ranges::count(statement.text, '\n') : 1;
  return lines;
}

}  // namespace VXLA_NAMESPACE::vulkan
