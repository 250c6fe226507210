#include "core/devices/permute_slices.h"

#include <algorithm>

namespace VXLA_NAMESPACE {
namespace {

void AppendSlices(const Shape& starts, size_t array, std::vector<int64_t> path, std::vector<PermuteSlice>& slices) {
  const std::vector<Shape>& elements = starts.tuple_elements();
  if (std::ranges::none_of(elements, &Shape::IsTuple)) {
    slices.push_back({array, std::move(path)});
    return;
  }
  path.push_back(0);
  for (size_t i = 0; i < elements.size(); ++i) {
    path.back() = static_cast<int64_t>(i);
    slices.push_back({array, path});
  }
}

}  // namespace

std::vector<PermuteSlice> PermuteSlices(const Shape& arrays, const Shape& starts) {
  std::vector<PermuteSlice> slices;
  if (!starts.IsTuple()) return slices;
  if (!arrays.IsTuple()) {
    AppendSlices(starts, 0, {}, slices);
    return slices;
  }
  const size_t count = std::min(arrays.tuple_elements().size(), starts.tuple_elements().size());
  for (size_t k = 0; k < count; ++k) {
    if (starts.tuple_elements()[k].IsTuple())
      AppendSlices(starts.tuple_elements()[k], k, {static_cast<int64_t>(k)}, slices);
  }
  return slices;
}

}  // namespace VXLA_NAMESPACE
