#include "core/text/mesh_groups.h"

#include <algorithm>

#include "core/text/attribute_fields.h"

namespace VXLA_NAMESPACE {
namespace {

struct Axis {
  std::string name;  // with its quotes
  int64_t size = 1;
};
// `size` of the positions of an axis, which stand below `before` positions and above those that are left.
struct Part {
  size_t axis = 0;
  int64_t before = 1, size = 1;
};

Result<std::string> TakeAxisName(Lexer& lexer) {
  if (lexer.token().kind != TokenKind::kString) return lexer.Expected("an axis of the mesh in quotes");
  std::string name(lexer.token().text);
  lexer.Next();
  return name;
}

Result<std::vector<Axis>> TakeAxes(Lexer& lexer) {
  std::vector<Axis> axes;
  VXLA_RETURN_IF_ERROR(lexer.Expect("["));
  while (!lexer.At("]")) {
    VXLA_ASSIGN_OR_RETURN(std::string name, TakeAxisName(lexer));
    if (std::ranges::find(axes, name, &Axis::name) != axes.end())
      return lexer.Error("replica_groups: axis {} occurs twice", name);
    VXLA_RETURN_IF_ERROR(lexer.Expect("="));
    VXLA_ASSIGN_OR_RETURN(const int64_t size, lexer.TakeInt("the size of an axis"));
    if (size < 1) return lexer.Error("replica_groups: axis {} of size {}", name, size);
    axes.push_back({std::move(name), size});
    if (!lexer.Eat(",")) break;
  }
  VXLA_RETURN_IF_ERROR(lexer.Expect("]"));
  return axes;
}

// The devices in the order in which they fill a mesh of `count`: device_ids=([2,4]T(1,0)) or (0,2,1,3).
Result<IntList> TakeDeviceIds(Lexer& lexer, int64_t count) {
  if (lexer.token().kind != TokenKind::kAttribute || lexer.token().text != "device_ids")
    return lexer.Expected("device_ids=(...)");
  lexer.Next();
  VXLA_RETURN_IF_ERROR(lexer.Expect("("));
  ReplicaGroups ids;
  if (lexer.At("[")) {
    VXLA_RETURN_IF_ERROR(ParseIotaReshape(lexer, ids));
    ids.iota_dimensions = {1, count};
    VXLA_RETURN_IF_ERROR(ExpandIota(lexer, ids));
  } else {
    IntList& list = ids.groups.emplace_back();
    do {
      VXLA_ASSIGN_OR_RETURN(const int64_t id, lexer.TakeInt("the id of a device"));
      list.push_back(id);
    } while (lexer.Eat(","));
  }
  IntList sorted = ids.groups[0];
  std::ranges::sort(sorted);
  const bool distinct = std::ranges::adjacent_find(sorted) == sorted.end();
  if (std::ssize(sorted) != count || !distinct || sorted.front() < 0)
    return lexer.Error("replica_groups: device_ids ({}) must be {} different devices", JoinInts(ids.groups[0]), count);
  VXLA_RETURN_IF_ERROR(lexer.Expect(")"));
  return ids.groups[0];
}

Result<Part> TakePart(Lexer& lexer, const std::vector<Axis>& axes) {
  VXLA_ASSIGN_OR_RETURN(const std::string name, TakeAxisName(lexer));
  const auto axis = std::ranges::find(axes, name, &Axis::name);
  if (axis == axes.end()) return lexer.Error("replica_groups: the mesh has no axis {}", name);
  Part part{static_cast<size_t>(axis - axes.begin()), 1, axis->size};
  if (!lexer.Eat(":")) return part;
  VXLA_RETURN_IF_ERROR(lexer.Expect("("));
  VXLA_ASSIGN_OR_RETURN(part.before, lexer.TakeInt("a size"));
  VXLA_RETURN_IF_ERROR(lexer.Expect(")"));
  VXLA_ASSIGN_OR_RETURN(part.size, lexer.TakeInt("a size"));
  const bool divides =
      part.before >= 1 && part.size >= 1 && axis->size % part.before == 0 && axis->size / part.before % part.size == 0;
  if (!divides)
    return lexer.Error("replica_groups: {}:({}){} is no part of {}={}", name, part.before, part.size, name, axis->size);
  return part;
}

// A dimension of the mesh once its axes are cut where parts begin and end.
struct Dimension {
  int64_t size = 1, stride = 1;
  int part = -1;  // which part it is; -1: of none
};

// The dimensions in the order of the devices; an error if parts overlap.
Result<std::vector<Dimension>> CutAxes(const Lexer& lexer, const std::vector<Axis>& axes,
                                       const std::vector<Part>& parts) {
  std::vector<Dimension> dimensions;
  for (size_t a = 0; a < axes.size(); ++a) {
    std::vector<int> of_axis;
    for (size_t p = 0; p < parts.size(); ++p) {
      if (parts[p].axis == a) of_axis.push_back(static_cast<int>(p));
    }
    std::ranges::sort(of_axis, {}, [&parts](int p) { return parts[static_cast<size_t>(p)].before; });
    int64_t done = 1;
    for (int p : of_axis) {
      const Part& part = parts[static_cast<size_t>(p)];
      if (part.before % done != 0) return lexer.Error("replica_groups: parts of axis {} overlap", axes[a].name);
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

void Expand(const std::vector<Dimension>& dimensions, size_t parts, ReplicaGroups& value) {
  std::vector<Dimension> order;  // groups first, members last
  for (const Dimension& d : dimensions) {
    if (d.part < 0) order.push_back(d);
  }
  for (size_t p = 0; p < parts; ++p) {
    order.push_back(*std::ranges::find(dimensions, static_cast<int>(p), &Dimension::part));
  }
  int64_t groups = 1, members = 1;
  for (const Dimension& d : order) (d.part < 0 ? groups : members) *= d.size;
  for (int64_t i = 0; i < groups * members; ++i) {
    if (i % members == 0) value.groups.emplace_back();
    int64_t rest = i, device = 0;
    for (size_t d = order.size(); d-- > 0; rest /= order[d].size) device += rest % order[d].size * order[d].stride;
    value.groups.back().push_back(device);
  }
}

}  // namespace

Status ParseMeshGroups(Lexer& lexer, ReplicaGroups& value) {
  lexer.Next();
  VXLA_ASSIGN_OR_RETURN(const std::vector<Axis> axes, TakeAxes(lexer));
  std::vector<int64_t> sizes;
  for (const Axis& axis : axes) sizes.push_back(axis.size);
  VXLA_ASSIGN_OR_RETURN(const int64_t devices, CheckedElementCount(sizes));
  if (!lexer.Spend(devices)) return lexer.Error("replica_groups: {} devices are too many for this text", devices);
  IntList ids;
  if (lexer.Eat(",")) {
    VXLA_ASSIGN_OR_RETURN(ids, TakeDeviceIds(lexer, devices));
  }
  std::vector<Part> parts;
  VXLA_RETURN_IF_ERROR(lexer.Expect("{"));
  while (!lexer.At("}")) {
    VXLA_ASSIGN_OR_RETURN(const Part part, TakePart(lexer, axes));
    parts.push_back(part);
    if (!lexer.Eat(",")) break;
  }
  VXLA_RETURN_IF_ERROR(lexer.Expect("}"));
  VXLA_ASSIGN_OR_RETURN(const std::vector<Dimension> dimensions, CutAxes(lexer, axes, parts));
  Expand(dimensions, parts.size(), value);
  if (ids.empty()) return OkStatus();
  for (IntList& group : value.groups) {
    for (int64_t& device : group) device = ids[static_cast<size_t>(device)];
  }
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE
