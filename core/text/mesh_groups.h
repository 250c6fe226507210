// replica_groups over the axes of a mesh, as today's dumps have them: mesh['x'=2,'y'=8] {'x','y':(2)2}. The devices 0,
// 1, ... fill the mesh row-major; a group is what one position of all other axes leaves, in the order of the axes
// named. 'y':(2)2 is a part of an axis: of y = 2 x 2 x 2 the middle factor. Other devices than 0, 1, ... follow the
// mesh: mesh['x'=8], device_ids=([2,4]T(1,0)) {'x'}. Printed as lists of devices.
#pragma once

#include "core/ir/attributes.h"
#include "core/text/lexer.h"

namespace VXLA_NAMESPACE {

// At the word `mesh`.
Status ParseMeshGroups(Lexer& lexer, ReplicaGroups& value);

}  // namespace VXLA_NAMESPACE
