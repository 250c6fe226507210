#include "core/devices/mesh.h"

#include <algorithm>

#include "core/host/ranges.h"
#include "core/ir/attributes.h"

namespace VXLA_NAMESPACE {
namespace {

struct Part {
  size_t axis = 0;
  int64_t before = 1, size = 1;
};

Result<Part> Resolve(std::span<const MeshAxis> axes, const MeshPart& part) {
  const auto axis = std::ranges::find(axes, part.name, &MeshAxis::name);
  if (axis == axes.end()) return InvalidArgument("the mesh has no axis {}", part.name);
  const Part found{static_cast<size_t>(axis - axes.begin()), part.before, part.size == 0 ? axis->size : part.size};
  const bool divides = found.before >= 1 && found.size >= 1 && axis->size % found.before == 0 &&
                       axis->size / found.before % found.size == 0;
  if (!divides) {
    return InvalidArgument("{}:({}){} is no part of {}={}", part.name, found.before, found.size, part.name, axis->size);
  }
  return found;
}

// A dimension of the mesh once its axes are cut where parts begin and end.
struct Dimension {
  int64_t size = 1, stride = 1;
  int part = -1;  // which part it is; -1: of none
};

// The dimensions in the order of the devices; an error if parts overlap.
Result<std::vector<Dimension>> CutAxes(std::span<const MeshAxis> axes, const std::vector<Part>& parts) {
  std::vector<Dimension> dimensions;
  for (size_t a = 0; a < axes.size(); ++a) {
    std::vector<int> of_axis;
    for (size_t p = 0; p < parts.size(); ++p) {
      if (parts[p].axis == a) of_axis.push_back(static_cast<int>(p));
    }
    std::ranges::sort(of_axis, {}, [&parts](int p) { return parts[p].before; });
    int64_t done = 1;
    for (int p : of_axis) {
      const Part& part = parts[p];
      if (part.before % done != 0) return InvalidArgument("parts of axis {} overlap", axes[a].name);
      dimensions.push_back({part.before / done, 1, -1});
      dimensions.push_back({part.size, 1, p});
      done = part.before * part.size;
    }
    dimensions.push_back({axes[a].size / done, 1, -1});
  }
  int64_t stride = 1;
  for (size_t d = dimensions.size(); d-- > 0; stride *= dimensions[d].size) dimensions[d].stride = stride;
  return dimensions;
}

std::vector<IntList> Expand(const std::vector<Dimension>& dimensions, size_t parts, std::span<const int64_t> ids) {
  std::vector<Dimension> order;  // groups first, members last
  for (const Dimension& d : dimensions) {
    if (d.part < 0) order.push_back(d);
  }
  for (size_t p = 0; p < parts; ++p) {
    order.push_back(*std::ranges::find(dimensions, static_cast<int>(p), &Dimension::part));
  }
  int64_t count = 1, members = 1;
  for (const Dimension& d : order) (d.part < 0 ? count : members) *= d.size;
  std::vector<IntList> groups;
  for (int64_t i = 0; i < count * members; ++i) {
    if (i % members == 0) groups.emplace_back();
    int64_t rest = i, device = 0;
    for (size_t d = order.size(); d-- > 0; rest /= order[d].size) device += rest % order[d].size * order[d].stride;
    groups.back().push_back(ids.empty() ? device : ids[device]);
  }
  return groups;
}

}  // namespace

Result<int64_t> MeshDevices(std::span<const MeshAxis> axes) {
  std::vector<int64_t> sizes;
  for (size_t a = 0; a < axes.size(); ++a) {
    if (std::ranges::find(axes.first(a), axes[a].name, &MeshAxis::name) != axes.begin() + static_cast<ptrdiff_t>(a))
      return InvalidArgument("axis {} occurs twice", axes[a].name);
    if (axes[a].size < 1) return InvalidArgument("axis {} of size {}", axes[a].name, axes[a].size);
    sizes.push_back(axes[a].size);
  }
  return CheckedElementCount(sizes);
}

Result<std::vector<IntList>> MeshGroups(std::span<const MeshAxis> axes, std::span<const int64_t> ids,
                                        std::span<const MeshPart> parts) {
  VXLA_ASSIGN_OR_RETURN(const int64_t devices, MeshDevices(axes));
  if (!ids.empty()) {
    IntList sorted(ids.begin(), ids.end());
    std::ranges::sort(sorted);
    const bool distinct = std::ranges::adjacent_find(sorted) == sorted.end();
    if (std::ssize(sorted) != devices || !distinct || sorted.front() < 0)
      return InvalidArgument("device_ids ({}) must be {} different devices", JoinInts(ids), devices);
  }
  VXLA_ASSIGN_OR_RETURN(auto found, Transformed(parts, [&](const MeshPart& part) { return Resolve(axes, part); }));
  VXLA_ASSIGN_OR_RETURN(const std::vector<Dimension> dimensions, CutAxes(axes, found));
  return Expand(dimensions, found.size(), ids);
}

}  // namespace VXLA_NAMESPACE
