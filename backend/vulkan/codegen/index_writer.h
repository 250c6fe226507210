// Writes indices (core/maps/index_map.h) as statements: what a loop variable, a quotient or a digit of it is called,
// each computed once in the block that needs it.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "backend/vulkan/codegen/kernel_builder.h"
#include "core/maps/index_map.h"

namespace VXLA_NAMESPACE::vulkan {

std::string KeyOf(const IndexExpression& expression);

class IndexWriter : protected CodeWriter {
 public:
  IndexWriter(KernelBuilder& kernel, IndexSpace& space) : kernel_(kernel), space_(space) {}

  // The GLSL uint that holds a loop variable. Every variable that an index mentions must be bound; temporaries are
  // emitted.
  void Bind(int variable, std::string glsl_name);
  // A new one of so many values.
  int NewVariable(std::string glsl_name, int64_t size);
  // An index expression as a GLSL uint: a local's name or "0u". Memoised. It may be below zero, modulo 2^32, if all its
  // values are below 2^31.
  std::string Index(const IndexExpression& expression);
  // Which element of a tensor a linear index is, for KernelBuilder's Load and Store: beyond 2^31 elements a uint64_t
  // where tensors are reached by address. Memoised.
  std::string Place(const IndexExpression& linear);
  // The row-major linear index of `index` in `shape`.
  std::string LinearIndex(const MultiIndex& index, const Shape& shape);
  // Whether the expression, modulo 2^32, is below `size`: text. Memoised.
  std::string Below(const IndexExpression& expression, int64_t size);
  // The expression, modulo 2^32, where it is below `size` (above 0), else size - 1: a place that exists. Memoised.
  IndexExpression Clamped(const IndexExpression& expression, int64_t size);

  KernelBuilder& kernel() { return kernel_; }
  IndexSpace& space() { return space_; }

  // Statements of the caller's own, in which locals of the writer may be used.
  using CodeWriter::Add, CodeWriter::Assign, CodeWriter::Barrier, CodeWriter::Declare, CodeWriter::Line;
  // A local that the caller's own statements may change.
  std::string Assignable(ElementType type, const std::string& value) { return Local(CarrierType(type), value); }
  // A block that the following values live in: OpenBlock("if (x < P(0))") ... CloseBlock(). Locals of a block end with
  // it.
  void OpenBlock(const std::string& head);
  template <Formattable... Args>
  void OpenBlock(fmt::format_string<Args...> format, Args&&... args) {
    OpenBlock(fmt::format(format, std::forward<Args>(args)...));
  }
  void CloseBlock(int count = 1);

 protected:
  // The local that `make` gives for the key, made once: it ends with the block that it is made in.
  template <typename Make>
  std::string Once(const std::string& key, const Make& make) {
    if (const std::string* known = Find(key)) return *known;
    std::string local = make();
    return scopes_.back()[key] = std::move(local);
  }
  // Likewise a variable of so many values, a local uint.
  template <typename Make>
  IndexExpression VariableOnce(const std::string& key, int64_t size, const Make& make) {
    const std::string local = Once(key, [&] {
      const std::string made = Local("uint", make());
      variables_[made] = NewVariable(made, size);
      return made;
    });
    return space_.Variable(variables_.at(local));
  }
  std::string Digit(const IndexTerm& term);
  // A local's name that is new.
  std::string NewName() { return "v" + std::to_string(next_local_++); }
  std::string Local(std::string_view glsl_type, Expression value, bool precise = false);
  std::string Local(std::string_view glsl_type, std::string value) {
    return Local(glsl_type, Expression{std::move(value)});
  }
  // A local without a value yet, for branches to assign.
  std::string Declare(ElementType type);
  // The statements so far; the writer starts afresh (bindings stay).
  Code Take();

  KernelBuilder& kernel_;
  IndexSpace& space_;

 private:
  // Locals that hold what was computed before, by a text key.
  using Scope = std::unordered_map<std::string, std::string>;
  const std::string* Find(const std::string& key) const;
  std::string FarPlace(const IndexExpression& linear);
  std::string VariableName(int variable);
  std::string Quotient(int variable, int64_t divisor);

  std::unordered_map<int, std::string> bound_;
  std::vector<Scope> scopes_{1};
  std::unordered_map<std::string, int> variables_;  // of the index space, by the local that each is
  int next_local_ = 0;
};

}  // namespace VXLA_NAMESPACE::vulkan
