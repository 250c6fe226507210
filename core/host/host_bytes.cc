#include "core/host/host_bytes.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include "core/host/guarded.h"

#ifdef __linux__
#include <sys/mman.h>
#endif
#ifdef _WIN32
#include "core/host/windows_api.h"
#else
#include <unistd.h>
#endif

namespace VXLA_NAMESPACE {
namespace {

constexpr std::align_val_t kAlignment{64};
constexpr size_t kHugePage = size_t{2} << 20;

std::align_val_t AlignmentFor(size_t size) { return size >= 2 * kHugePage ? std::align_val_t{kHugePage} : kAlignment; }

// What the machine has, and what all values together hold of it. Systems promise more than there is, and end whoever
// uses it: so nothing that cannot fit is asked for.
std::atomic<uint64_t> held{0};

uint64_t MemoryOfMachine() {
#ifdef _WIN32
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof(status);
  if (GlobalMemoryStatusEx(&status) != 0) return status.ullTotalPhys;
#elif defined(_SC_PHYS_PAGES)
  const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page_bytes > 0) return static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_bytes);
#endif
  return UINT64_MAX;
}

class MoreThanTheMachineHas : public HostMemoryExhausted {
 public:
  MoreThanTheMachineHas(size_t bytes, uint64_t before, uint64_t all) : HostMemoryExhausted(bytes) {
    *fmt::format_to_n(text_, sizeof(text_) - 1,
                      "out of host memory: {} bytes asked for, {} are held of the machine's {}", bytes, before, all)
         .out = '\0';
  }
  const char* what() const noexcept override { return text_; }

 private:
  char text_[160];
};

// Counts the bytes as held, or throws.
void Take(size_t size) {
  static const uint64_t all = MemoryOfMachine();
  const uint64_t before = held.fetch_add(size);
  if (size <= all && before <= all - size) return;
  held.fetch_sub(size);
  throw MoreThanTheMachineHas(size, before, all);
}

}  // namespace

HostBytes::HostBytes(size_t size) : size_(size) {
  if (size == 0) return;
  Take(size);
  data_ = static_cast<std::byte*>(::operator new(size, AlignmentFor(size), std::nothrow));
  if (data_ == nullptr) {
    held.fetch_sub(size);
    throw HostMemoryExhausted(size);
  }
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
  if (data_ == nullptr) return;
  ::operator delete(data_, AlignmentFor(size_));
  held.fetch_sub(size_);
}

bool operator==(const HostBytes& a, const HostBytes& b) {
  return a.size_ == b.size_ && (a.size_ == 0 || std::memcmp(a.data_, b.data_, a.size_) == 0);
}

}  // namespace VXLA_NAMESPACE
