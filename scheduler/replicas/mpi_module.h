// Joins the job that a launcher (mpirun) has started.
#pragma once

#include "core/status.h"
#include "scheduler/replicas/process_group.h"

namespace VXLA_NAMESPACE {

// Loads libvxla_mpi.so, which lies beside the program or in its library folder, and MPI with it. Once in a process,
// which keeps the group to its end. kUnsupported: there is no such module, MPI does not open, or the system has
// neither.
Result<ProcessGroup*> JoinProcessGroup();

}  // namespace VXLA_NAMESPACE
