// MLIR bytecode out: portable artifacts of StableHLO, which every reader of that format takes.
#pragma once

#include <string>

#include "core/mlir/bytecode/vhlo.h"

namespace VXLA_NAMESPACE::mlir {

// What jax.export of 2026 aims at: readers of the months before know it.
inline constexpr VhloVersion kDefaultVhlo = VhloVersion::Of(1, 15);

// Operations of CHLO become custom calls of the name that XLA has for them ("mhlo.erf"); attributes of dialects other
// than StableHLO's go. Unsupported: what `target` lacks, with the version that has it.
Result<std::string> WriteBytecode(const Program& program, VhloVersion target = kDefaultVhlo);

}  // namespace VXLA_NAMESPACE::mlir
