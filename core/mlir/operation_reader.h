// Reads what an operation says of itself, with messages that name it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/mlir/ir.h"

namespace VXLA_NAMESPACE::mlir {

class OperationReader {
 public:
  explicit OperationReader(const Operation& operation) : operation_(operation) {}

  template <typename... Args>
  Status Error(fmt::format_string<Args...> format, Args&&... args) const {
    return InvalidArgument("{}: {}", operation_.name, fmt::format(format, std::forward<Args>(args)...))
        .At(operation_.location);
  }
  template <typename... Args>
  Status NotSupported(fmt::format_string<Args...> format, Args&&... args) const {
    return Unsupported("{}: {}", operation_.name, fmt::format(format, std::forward<Args>(args)...))
        .At(operation_.location);
  }

  Status ExpectOperands(size_t count) const;
  Status ExpectOperandsAtLeast(size_t count) const;
  Status ExpectResults(size_t count) const;
  Status ExpectRegions(size_t count) const;

  Result<const Attribute*> Required(std::string_view name) const;
  Result<int64_t> Int(std::string_view name) const;
  Result<int64_t> Int(std::string_view name, int64_t otherwise) const;
  Result<bool> Bool(std::string_view name, bool otherwise) const;
  // Lists of integers: arrays, array<i64: ...>, dense<...>; absent: `otherwise`.
  Result<IntList> Ints(std::string_view name) const;
  Result<IntList> Ints(std::string_view name, IntList otherwise) const;
  Result<std::string> Text(std::string_view name) const;  // a string, symbol or keyword
  Result<std::string> Text(std::string_view name, std::string_view otherwise) const;
  // A keyword of `words`, by its place among them.
  Result<int> Word(std::string_view name, std::span<const std::string_view> words, int otherwise = -1) const;
  Result<IntList> IntsOf(std::string_view name, const Attribute& attribute) const;
  // A list of one of the numbers of a dialect attribute; absent: empty.
  Result<IntList> Part(const Attribute& numbers, std::string_view name) const;

 private:
  const Operation& operation_;
};

// Of the attribute dimension_numbers, in the form of texts of today or of older ones.
Result<ConvolutionDimensions> ConvolutionDimensionsOf(const OperationReader& reader);

}  // namespace VXLA_NAMESPACE::mlir
