// Replica groups over the axes of a mesh (#stablehlo.replica_group_mesh_axes) as the matrices of device ids that they
// stand for.
#pragma once

#include "core/devices/array_sharding.h"
#include "core/mlir/ir.h"

namespace VXLA_NAMESPACE::mlir {

// A mesh, whichever dialect it was read from: #stablehlo.mesh<axes = [<name = "x", size = 2>], device_ids = [..]>.
Attribute MeshAttribute(std::vector<Attribute> axes, Attribute device_ids);
Attribute MeshAxisAttribute(std::string_view name, int64_t size);
// An axis, or a part of one where `part` is no unit: #stablehlo.axis_ref<name = "x", sub_axis_info = (1)2>.
Attribute AxisAttribute(std::string_view name, Attribute part);
// How an array lies on a mesh: its axes by dimension, where more may come (is_open), when they spread (priority); axes
// that cut nothing, and those over which it is still to be summed.
Attribute ShardingAttribute(Attribute mesh, Attribute dimensions, Attribute replicated, Attribute unreduced);

// Of an attribute that is a mesh or names one. `what` is for the messages.
Result<DeviceMesh> ReadMesh(const Operation& operation, const Program& program, const Attribute& mesh,
                            std::string_view what);
Result<MeshPart> ReadMeshPart(const Operation& operation, const Attribute& axis, std::string_view what);

// Meshes by symbol are sdy.mesh operations of the module.
Status ExpandMeshGroups(Program& program);

}  // namespace VXLA_NAMESPACE::mlir
