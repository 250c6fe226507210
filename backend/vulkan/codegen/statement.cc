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

void ForEachNameOf(const Statement& statement, const std::function<void(std::string_view)>& function) {
  switch (statement.kind) {
    case Statement::Kind::kDeclare:
      function(statement.name);
      if (statement.value) ForEachName(statement.value->source(), function);
      break;
    case Statement::Kind::kStore:
      ForEachName(statement.target.index, function);
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

// A place as raw text names it. Of an element whose address is taken none is loaded or stored.
struct RawAccess {
  size_t begin = 0, end = 0;  // of the tensor's name
  int count = 0;
};
template <typename Function>
void ForEachAccess(std::string_view raw, Function&& function) {
  constexpr std::pair<std::string_view, bool> kWords[] = {{"LOAD(", true}, {"STORE(", true}, {"ELEMENT(", false}};
  for (const auto& [word, moves] : kWords) {
    for (size_t at = raw.find(word); at != raw.npos; at = raw.find(word, at + 1)) {
      const size_t begin = at + word.size();
      size_t end = begin;
      while (end < raw.size() && IsPartOfName(raw[end])) ++end;
      if (end == begin || end == raw.size() || raw[end] != ',') continue;
      const std::string_view view = raw.substr(end + 1, raw.find(',', end + 1) - end - 1);
      function(RawAccess{begin, end, !moves ? 0 : view.ends_with("x4") ? 4 : view.ends_with("x2") ? 2 : 1});
    }
  }
}

void ForEachTensor(std::string& raw, const std::function<void(std::string&)>& function) {
  std::vector<RawAccess> accesses;
  ForEachAccess(raw, [&](const RawAccess& access) { accesses.push_back(access); });
  if (accesses.empty()) return;
  std::ranges::sort(accesses, {}, &RawAccess::begin);
  std::string all;
  size_t done = 0;
  for (const RawAccess& access : accesses) {
    std::string tensor = raw.substr(access.begin, access.end - access.begin);
    function(tensor);
    all += raw.substr(done, access.begin - done) + tensor;
    done = access.end;
  }
  raw = all + raw.substr(done);
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
  for (Statement& statement : code.statements()) {
    if (statement.kind == Statement::Kind::kStore) function(statement.target.tensor);
    for (std::string* text : {&statement.text, &statement.target.index}) ForEachTensor(*text, function);
    if (statement.value) {
      if (statement.value->loaded) function(statement.value->loaded->tensor);
      ForEachTensor(statement.value->text, function);
    }
    for (Stored& stored : statement.values) ForEachTensor(stored.text, function);
  }
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
      fmt::format_to(to, "STORE({}, {});\n", target.Print(),
                     values.size() == 1 ? all : fmt::format("{}({})", target.type(), all));
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

int64_t Code::barriers() const {
  return std::ranges::count(statements_, Statement::Kind::kBarrier, &Statement::kind);
}

int64_t Code::accesses() const {
  int64_t count = 0;
  const auto raw = [&](const std::string& text) {
    ForEachAccess(text, [&](const RawAccess& access) { count += access.count; });
  };
  for (const Statement& statement : statements_) {
    if (statement.kind == Statement::Kind::kStore) count += statement.target.count;
    if (statement.value)
      statement.value->loaded ? void(count += statement.value->loaded->count) : raw(statement.value->text);
    raw(statement.text);
    for (const Stored& stored : statement.values) raw(stored.text);
  }
  return count;
}

Code Barrier(int depth) { return Code({{.kind = Statement::Kind::kBarrier, .depth = depth}}); }

}  // namespace VXLA_NAMESPACE::vulkan
