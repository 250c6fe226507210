#include "backend/vulkan/device/memory/free_list.h"

#include "core/check.h"

namespace VXLA_NAMESPACE::vulkan {

std::map<int64_t, int64_t>::const_iterator FreeList::Find(int64_t size) const {
  auto best = ranges_.end();
  for (auto it = ranges_.begin(); it != ranges_.end(); ++it) {
    if (it->second >= size && (best == ranges_.end() || it->second < best->second)) best = it;
  }
  return best;
}

std::optional<int64_t> FreeList::BestFit(int64_t size) const {
  const auto it = Find(size);
  if (it == ranges_.end()) return std::nullopt;
  return it->second;
}

int64_t FreeList::Take(int64_t size) {
  const auto it = Find(size);
  VXLA_CHECK(it != ranges_.end(), "no free range holds the size");
  const int64_t offset = it->first, left = it->second - size;
  ranges_.erase(it);
  if (left > 0) ranges_[offset + size] = left;
  return offset;
}

void FreeList::Give(int64_t offset, int64_t size) {
  auto next = ranges_.lower_bound(offset);
  VXLA_CHECK(offset >= 0 && offset + size <= size_, "freed range outside its block");
  VXLA_CHECK(next == ranges_.end() || offset + size <= next->first, "range freed twice");
  if (next != ranges_.begin()) {
    auto previous = std::prev(next);
    VXLA_CHECK(previous->first + previous->second <= offset, "range freed twice");
    if (previous->first + previous->second == offset) {
      offset = previous->first;
      size += previous->second;
      ranges_.erase(previous);
    }
  }
  if (next != ranges_.end() && offset + size == next->first) {
    size += next->second;
    ranges_.erase(next);
  }
  ranges_[offset] = size;
}

}  // namespace VXLA_NAMESPACE::vulkan
