// XLA's older way to say how an array lies on devices, as StableHLO's mhlo.sharding has it:
// {devices=[2,1,2]<=[4] last_tile_dim_replicate}.
#pragma once

#include <optional>
#include <string_view>

#include "core/devices/array_sharding.h"
#include "core/status.h"

namespace VXLA_NAMESPACE {

// Of an array of this rank in a program of so many devices; nothing: the text cuts nothing ({replicated}, {maximal
// device=0}, {manual}, {unknown}).
// The mesh that it gets has an axis for each dimension that is cut, and one for the copies of tiles.
Result<std::optional<ArraySharding>> ReadOpSharding(std::string_view text, int rank, int64_t devices);

// Devices as "<=[2,2]T(1,0)" states them: 0, 1, ... laid out in these sizes, in the order of their dimensions
// transposed.
IntList IotaDevices(const IntList& sizes, const IntList& order);

}  // namespace VXLA_NAMESPACE
