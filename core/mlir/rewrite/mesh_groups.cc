#include "core/mlir/rewrite/mesh_groups.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

constexpr std::string_view kGroups = "replica_groups";

Result<const Attribute*> MeshCalled(const Operation& operation, const Program& program, std::string_view name,
                                    std::string_view what) {
  const Attribute* found = nullptr;
  for (const Operation& mesh : Inside(program.module)) {
    const Attribute* const symbol = mesh.Find("sym_name");
    if (mesh.name != "sdy.mesh" || symbol == nullptr || symbol->text != name) continue;
    if (found != nullptr) return operation.Error("{}: the module has two meshes '@{}'", what, name);
    found = mesh.Find("mesh");
  }
  if (found == nullptr) return operation.Error("{}: the module has no mesh '@{}'", what, name);
  return found;
}

Result<std::string> NameOf(const Operation& operation, const Attribute& axis, std::string_view what) {
  const Attribute* const name = axis.Find("name");
  if (name == nullptr) return operation.Error("{}: {} names no axis", what, PrintAttribute(axis));
  return "\"" + name->text + "\"";
}

class MeshExpander {
 public:
  explicit MeshExpander(Program& program) : program_(program) {}

  Status Expand(Operation& operation) {
    const Attribute* const groups = operation.Find(kGroups);
    if (groups != nullptr && groups->kind == Attribute::Kind::kDialect) {
      VXLA_ASSIGN_OR_RETURN(Attribute matrix, MatrixOf(operation, *groups));
      SetAttribute(operation.attributes, std::string(kGroups), std::move(matrix));
    }
    for (Operation& inner : Inside(operation)) VXLA_RETURN_IF_ERROR(Expand(inner));
    return OkStatus();
  }

 private:
  Result<Attribute> MatrixOf(const Operation& operation, const Attribute& groups) const {
    const Attribute *const mesh = groups.Find("mesh"), *const parts = groups.Find("axes");
    if (mesh == nullptr || parts == nullptr)
      return operation.Error("replica_groups are {}, ids of devices or axes of a mesh are needed",
                             PrintAttribute(groups));
    VXLA_ASSIGN_OR_RETURN(const DeviceMesh read, ReadMesh(operation, program_, *mesh, kGroups));
    std::vector<MeshPart> named;
    for (const Attribute& axis : parts->elements)
      VXLA_SET_OR_RETURN(named.emplace_back(), ReadMeshPart(operation, axis, kGroups));
    const Result<std::vector<IntList>> found = MeshGroups(read.axes, read.ids, named);
    if (!found.ok()) return operation.Error("replica_groups: {}", found.status().message());
    return Matrix(*found);
  }

  // Groups over a mesh are of one size.
  static Attribute Matrix(const std::vector<IntList>& groups) {
    const auto rows = static_cast<int64_t>(groups.size());
    Literal ids(Shape(ElementType::kS64, {rows, std::ssize(groups[0])}));
    int64_t at = 0;
    for (const IntList& group : groups) {
      for (const int64_t id : group) ids.SetInt(at++, id);
    }
    Attribute attribute(Attribute::Kind::kElements);
    attribute.type = Type(Type::Kind::kShape, ids.shape());
    attribute.literal = std::make_shared<const Literal>(std::move(ids));
    return attribute;
  }

  Program& program_;
};

Attribute EmptyDialect(std::string_view name) { return Attribute(Attribute::Kind::kDialect, name); }

}  // namespace

Attribute MeshAxisAttribute(std::string_view name, int64_t size) {
  Attribute axis = EmptyDialect("stablehlo.mesh_axis");
  SetAttribute(axis.entries, "name", StringAttribute(name));
  SetAttribute(axis.entries, "size", IntegerAttribute(size));
  return axis;
}

Attribute AxisAttribute(std::string_view name, Attribute part) {
  Attribute axis = EmptyDialect("stablehlo.axis_ref");
  SetAttribute(axis.entries, "name", StringAttribute(name));
  if (part.kind != Attribute::Kind::kUnit) SetAttribute(axis.entries, "sub_axis_info", std::move(part));
  return axis;
}

Attribute ShardingAttribute(Attribute mesh, Attribute dimensions, Attribute replicated, Attribute unreduced) {
  Attribute sharding;
  sharding.kind = Attribute::Kind::kRaw;  // it says nothing of values: whoever writes a program leaves it out
  sharding.text = "#sdy.sharding<...>";
  SetAttribute(sharding.entries, "mesh", std::move(mesh));
  SetAttribute(sharding.entries, "dimensions", std::move(dimensions));
  if (!replicated.elements.empty()) SetAttribute(sharding.entries, "replicated", std::move(replicated));
  if (!unreduced.elements.empty()) SetAttribute(sharding.entries, "unreduced", std::move(unreduced));
  return sharding;
}

Attribute MeshAttribute(std::vector<Attribute> axes, Attribute device_ids) {
  Attribute mesh = EmptyDialect("stablehlo.mesh"), list;
  list.kind = Attribute::Kind::kArray;
  list.elements = std::move(axes);
  SetAttribute(mesh.entries, "axes", std::move(list));
  if (device_ids.kind != Attribute::Kind::kUnit) SetAttribute(mesh.entries, "device_ids", std::move(device_ids));
  return mesh;
}

Result<DeviceMesh> ReadMesh(const Operation& operation, const Program& program, const Attribute& attribute,
                            std::string_view what) {
  const Attribute* mesh = &attribute;
  if (mesh->kind == Attribute::Kind::kSymbol || mesh->kind == Attribute::Kind::kString)
    VXLA_SET_OR_RETURN(mesh, MeshCalled(operation, program, attribute.text, what));
  const Attribute* const list = mesh->Find("axes");
  if (list == nullptr) return operation.Error("{}: {} is no mesh", what, PrintAttribute(*mesh));
  DeviceMesh read;
  for (const Attribute& axis : list->elements) {
    VXLA_ASSIGN_OR_RETURN(std::string name, NameOf(operation, axis, what));
    const Attribute* const size = axis.Find("size");
    if (size == nullptr) return operation.Error("{}: axis {} of the mesh has no size", what, name);
    read.axes.push_back({std::move(name), size->integer});
  }
  if (const Attribute* const stated = mesh->Find("device_ids"); stated != nullptr)
    VXLA_SET_OR_RETURN(read.ids, operation.IntsOf("device_ids", *stated));
  constexpr int64_t kMostDevices = 1 << 20;
  const Result<int64_t> devices = MeshDevices(read.axes);
  if (!devices.ok()) return operation.Error("{}: {}", what, devices.status().message());
  if (*devices > kMostDevices)
    return operation.Error("{}: a mesh of {} devices, {} at most", what, *devices, kMostDevices);
  return read;
}

Result<MeshPart> ReadMeshPart(const Operation& operation, const Attribute& axis, std::string_view what) {
  MeshPart part;
  VXLA_ASSIGN_OR_RETURN(part.name, NameOf(operation, axis, what));
  const Attribute* const sub = axis.Find("sub_axis_info");
  if (sub == nullptr) return part;
  const Attribute *const before = sub->Find("pre_size"), *const size = sub->Find("size");
  if (before == nullptr || size == nullptr || size->integer < 1)
    return operation.Error("{}: no part of axis {}: {}", what, part.name, PrintAttribute(*sub));
  part.before = before->integer;
  part.size = size->integer;
  return part;
}

Status ExpandMeshGroups(Program& program) { return MeshExpander(program).Expand(program.module); }

}  // namespace VXLA_NAMESPACE::mlir
