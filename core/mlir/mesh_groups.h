// Replica groups over the axes of a mesh (#stablehlo.replica_group_mesh_axes) as the matrices of device ids that they
// stand for.
#pragma once

#include "core/mlir/ir.h"

namespace VXLA_NAMESPACE::mlir {

// A mesh, whichever dialect it was read from: #stablehlo.mesh<axes = [<name = "x", size = 2>], device_ids = [..]>.
Attribute MeshAttribute(std::vector<Attribute> axes, Attribute device_ids);
Attribute MeshAxisAttribute(std::string_view name, int64_t size);

// Meshes by symbol are sdy.mesh operations of the module.
Status ExpandMeshGroups(Program& program);

}  // namespace VXLA_NAMESPACE::mlir
