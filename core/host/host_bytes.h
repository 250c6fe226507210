// HostBytes: the memory behind a Literal. Not filled unless asked, aligned for any vector load, large blocks on huge
// pages where the system has them: writing fresh memory costs a page fault per page, more than the writing itself.
#pragma once

#include <cstddef>
#include <span>

#pragma GCC visibility push(default)
namespace VXLA_NAMESPACE {

class HostBytes {
 public:
  HostBytes() = default;
  explicit HostBytes(size_t size);  // unspecified contents; throws std::bad_alloc
  static HostBytes Zeros(size_t size);

  HostBytes(const HostBytes& other);
  HostBytes(HostBytes&& other) noexcept;
  HostBytes& operator=(HostBytes other) noexcept;
  ~HostBytes();

  size_t size() const { return size_; }
  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  operator std::span<std::byte>() { return {data_, size_}; }
  operator std::span<const std::byte>() const { return {data_, size_}; }

  friend bool operator==(const HostBytes& a, const HostBytes& b);

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace VXLA_NAMESPACE
#pragma GCC visibility pop
