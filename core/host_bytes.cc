#include "core/host_bytes.h"

#include <cstring>
#include <new>
#include <utility>

#include "core/guarded.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace VXLA_NAMESPACE {
namespace {

constexpr std::align_val_t kAlignment{64};
constexpr size_t kHugePage = size_t{2} << 20;

std::align_val_t AlignmentFor(size_t size) { return size >= 2 * kHugePage ? std::align_val_t{kHugePage} : kAlignment; }

}  // namespace

HostBytes::HostBytes(size_t size) : size_(size) {
  if (size == 0) return;
  data_ = static_cast<std::byte*>(::operator new(size, AlignmentFor(size), std::nothrow));
  if (data_ == nullptr) throw HostMemoryExhausted(size);
#ifdef __linux__
  // Advice: where it is refused the pages are small and everything still works.
  if (size >= 2 * kHugePage) (void)madvise(data_, size / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
}

HostBytes HostBytes::Zeros(size_t size) {
  HostBytes bytes(size);
  if (size > 0) std::memset(bytes.data_, 0, size);
  return bytes;
}

HostBytes::HostBytes(const HostBytes& other) : HostBytes(other.size_) {
  if (size_ > 0) std::memcpy(data_, other.data_, size_);
}

HostBytes::HostBytes(HostBytes&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

HostBytes& HostBytes::operator=(HostBytes other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

HostBytes::~HostBytes() {
  if (data_ != nullptr) ::operator delete(data_, AlignmentFor(size_));
}

bool operator==(const HostBytes& a, const HostBytes& b) {
  return a.size_ == b.size_ && (a.size_ == 0 || std::memcmp(a.data_, b.data_, a.size_) == 0);
}

}  // namespace VXLA_NAMESPACE
