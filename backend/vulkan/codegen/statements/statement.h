// Code: what codegen writes, as statements. Passes (codegen/passes) work on statements, and the text of a kernel is
// printed once, at the end (KernelBuilder::Finish). Which tensors a statement reads and stores it says itself. A line
// of a caller's own is raw: passes see that something stands there, and no more. Tensors that its text names are not
// counted and keep their names.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/data/element_type.h"

namespace VXLA_NAMESPACE::vulkan {

// What a value is made by, of what passes look for: constants, operations of f32, and halves of words.
enum class MadeBy : uint8_t {
  kOther,
  kConstant,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kExponential,
  kHalf,       // the lower f16 of the word that is the operand, as it is
  kUpperHalf,  // the upper one
  kHalfOfAnyNan,
  kUpperHalfOfAnyNan  // the same, NaNs as the device makes them
};

// Elements in memory: so many of a storage type that lie side by side, at an index that counts as many at a time.
struct Elements {
  std::string tensor;
  std::string_view tag;  // StorageTag
  int count = 1;
  std::string index;
  // As what loads or stores them takes it: "3, f32x4, v2".
  std::string Print() const;
  int words() const;
  // GLSL's type of them.
  std::string type() const;
};

struct Expression {
  Expression() = default;
  Expression(std::string text, MadeBy by = MadeBy::kOther, std::vector<std::string> operands = {},
             std::optional<ElementType> rounded = {})
      : text(std::move(text)), by(by), operands(std::move(operands)), rounded(rounded) {}
  Expression(const char* text) : Expression(std::string(text)) {}
  // What is loaded, decoded where it is one of such elements.
  explicit Expression(Elements loaded, std::optional<ElementType> decoded = {})
      : loaded(std::move(loaded)), decoded(decoded) {}

  std::string text;  // unless loaded
  MadeBy by = MadeBy::kOther;
  std::vector<std::string> operands;  // unless kOther or kConstant
  // Of `text`, the value is what rounding to the type gives: f16 or bf16.
  std::optional<ElementType> rounded;
  std::optional<Elements> loaded;
  std::optional<ElementType> decoded;

  std::string Print() const;
  // All that it is calculated from.
  const std::string& source() const { return loaded ? loaded->index : text; }
};

// A value that is stored: text, two values, rounded to f16 or bf16, that make a word, or elements as they lie in
// memory.
struct Stored {
  struct Pair {
    ElementType type = ElementType::kF16;
    std::string low, high;
    friend bool operator==(const Pair&, const Pair&) = default;
  };
  Stored(std::string text) : text(std::move(text)) {}
  Stored(Pair pair) : pair(std::move(pair)) {}
  Stored(Elements moved) : moved(std::move(moved)) {}
  std::string Print() const;

  std::string text;
  std::optional<Pair> pair;
  std::optional<Elements> moved;
};

struct Statement {
  enum class Kind : uint8_t {
    kRaw,         // `text`, lines that end with a line break
    kDeclare,     // a local: precise? type name = value; and none for one that branches assign
    kAssign,      // name = value;
    kStore,       // STORE(target, vector(values)), or one value: an element or a vector of all
    kElement,     // text ELEMENT(target) value: a raw line around an element, as atomic operations take it
    kOpen,        // text {
    kClose,       // }
    kBarrier,     // where lanes wait for each other, or workgroups (of_grid)
    kFunction,    // text {, at file scope: names of locals begin afresh
    kEndFunction  // }
  };
  Kind kind = Kind::kRaw;
  int depth = 0;  // of the block that it stands in
  std::string text = {};
  bool precise = false, of_grid = false;
  std::string type = {}, name = {};
  std::optional<Expression> value = {};
  Elements target = {};
  std::vector<Stored> values = {};

  std::string Print() const;
  bool Declares() const { return kind == Kind::kDeclare && value.has_value(); }
  bool Loads() const { return Declares() && value->loaded.has_value(); }
  // A value of f32, as it is calculated.
  bool DeclaresFloat() const { return Declares() && precise && type == "float"; }
  // How often the local is named, itself or a component of it.
  int Mentions(std::string_view local) const;
  bool MentionsAnyOf(const std::set<std::string, std::less<>>& locals) const;
};

class Code {
 public:
  Code() = default;
  Code(std::string raw) { *this += std::move(raw); }
  Code(const char* raw) : Code(std::string(raw)) {}
  explicit Code(std::vector<Statement> statements) : statements_(std::move(statements)) {}
  // A function that consists of the body.
  static Code Function(const std::string& head, Code body);

  Code& operator+=(Code code);
  Code& operator+=(std::string raw);
  Code& operator+=(const char* raw) { return *this += std::string(raw); }
  void Add(Statement statement) { statements_.push_back(std::move(statement)); }
  friend Code operator+(Code a, Code b) { return std::move(a += std::move(b)); }

  bool empty() const { return statements_.empty(); }
  const std::vector<Statement>& statements() const { return statements_; }
  std::vector<Statement>& statements() { return statements_; }
  std::vector<Statement> TakeStatements() { return std::exchange(statements_, {}); }
  std::string Print() const;
  // Of the printed text.
  int64_t lines() const;
  int64_t barriers() const;
  // Elements that it reads or writes in memory, each of a vector one.
  int64_t accesses() const;

 private:
  std::vector<Statement> statements_;
};

// What fmt prints.
template <typename T>
concept Formattable = fmt::is_formattable<std::remove_cvref_t<T>>::value;

// Writes code line by line, each as deep as the blocks that it stands in.
class CodeWriter {
 public:
  // A statement of the caller's own, which passes do not look into.
  void Line(std::string_view statement);
  // As fmt::format makes it; so does OpenBlock.
  template <Formattable... Args>
  void Line(fmt::format_string<Args...> format, Args&&... args) {
    Line(std::string_view(fmt::format(format, std::forward<Args>(args)...)));
  }
  // The same around an element whose address is taken.
  void Line(std::string before, Elements element, std::string behind);
  void OpenBlock(const std::string& head) { Add({.kind = Statement::Kind::kOpen, .text = head}), ++depth_; }
  template <Formattable... Args>
  void OpenBlock(fmt::format_string<Args...> format, Args&&... args) {
    OpenBlock(fmt::format(format, std::forward<Args>(args)...));
  }
  void CloseBlock(int count = 1) {
    for (; count > 0; --count) --depth_, Add({.kind = Statement::Kind::kClose});
  }
  // A local of the caller's own name.
  void Declare(std::string_view glsl_type, std::string name, Expression value, bool precise = false);
  void Assign(std::string name, Expression value);
  void Barrier(bool of_grid = false) { Add({.kind = Statement::Kind::kBarrier, .of_grid = of_grid}); }
  void Add(Statement statement);
  void Add(Code code) { code_ += std::move(code); }
  Code Take() { return std::exchange(code_, {}); }

 protected:
  Code code_;
  int depth_ = 1;
};

// What barriers are printed as: a macro, of which the kernel says what it is, and that of all workgroups of a dispatch
// that run (control_flow/grid_loop.comp).
constexpr std::string_view kBarrier = "PHASE", kGridBarrier = "grid_barrier();";
Code Barrier(int depth = 0, bool of_grid = false);

// Every name in a text; of components the name before the dot.
void ForEachName(std::string_view text, const std::function<void(std::string_view)>& function);
// The tensor of every access, which may be given another name.
void ForEachTensor(Code& code, const std::function<void(std::string& tensor)>& function);

// A name or a component of one, or a number: nothing that has to be calculated.
bool IsPlain(std::string_view operand);

}  // namespace VXLA_NAMESPACE::vulkan
