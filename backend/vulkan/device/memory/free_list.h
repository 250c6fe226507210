// FreeList: which parts of one memory block are free. Pure bookkeeping; neighbours that become free are merged.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace VXLA_NAMESPACE::vulkan {

class FreeList {
 public:
  explicit FreeList(int64_t size) : size_(size) { ranges_[0] = size; }

  // The smallest free range that holds `size`, if any: its size.
  std::optional<int64_t> BestFit(int64_t size) const;
  // Takes `size` from the smallest range that holds it; returns the offset. BestFit must have found one.
  int64_t Take(int64_t size);
  void Give(int64_t offset, int64_t size);
  bool AllFree() const { return ranges_.size() == 1 && ranges_.begin()->second == size_; }
  size_t range_count() const { return ranges_.size(); }

 private:
  std::map<int64_t, int64_t>::const_iterator Find(int64_t size) const;
  int64_t size_;
  std::map<int64_t, int64_t> ranges_;  // offset -> size
};

}  // namespace VXLA_NAMESPACE::vulkan
