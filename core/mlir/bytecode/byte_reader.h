// The primitives of MLIR bytecode: bytes, varints, NUL-terminated text and padding, each with a message that says at
// which byte of the file it is missing.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

#include "core/status.h"

namespace VXLA_NAMESPACE::mlir {

// Reads a part of a file; the whole file stays in view, because alignment counts from its beginning.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes), end_(bytes.size()) {}
  ByteReader(std::string_view file, std::string_view part)
      : bytes_(file), at_(static_cast<size_t>(part.data() - file.data())), end_(at_ + part.size()) {}

  size_t at() const { return at_; }
  size_t left() const { return end_ - at_; }

  template <typename... Args>
  Status Error(fmt::format_string<Args...> format, Args&&... args) const {
    return Failure(fmt::format(format, std::forward<Args>(args)...));
  }

  Result<uint8_t> Byte(std::string_view what);
  // The trailing zero bits of the first byte say how many bytes follow it.
  Result<uint64_t> Varint(std::string_view what);
  Result<int64_t> SignedVarint(std::string_view what);  // zigzag
  // A number of things that take a byte or more each: no more of them than bytes are left.
  Result<uint64_t> Count(std::string_view what);
  // A place in a table of `size` entries.
  Result<uint64_t> Index(std::string_view what, size_t size);
  Result<std::string_view> Take(uint64_t size, std::string_view what);
  Result<std::string_view> Blob(std::string_view what);  // its size, then its bytes
  Result<std::string_view> Terminated(std::string_view what);
  Status Align(uint64_t alignment);
  Status ExpectEnd(std::string_view what) const;

 private:
  Status Failure(std::string_view what) const;

  std::string_view bytes_;
  size_t at_ = 0, end_ = 0;
};

}  // namespace VXLA_NAMESPACE::mlir
