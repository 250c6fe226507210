// Programs of whole arrays that say how these lie on devices (StableHLO's sdy and mhlo.sharding): what each device
// runs.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/ir/module.h"
#include "core/ir/sharding.h"

namespace VXLA_NAMESPACE {

struct ShardedProgram {
  std::unique_ptr<Module> module;             // as ParseProgram has it
  std::vector<Sharding> parameters, results;  // of the entry, results by leaf; none: no array is cut
  std::string arrays;                         // how each lies, a line for each; empty where the program says nothing
};

// As ParseProgram. `partitions`: of a program that does not say how many there are. lists_arrays:
// ShardedProgram::arrays is made.
Result<ShardedProgram> ParseShardedProgram(std::string_view text, const std::string& name = {}, int64_t partitions = 1,
                                           bool lists_arrays = false);

}  // namespace VXLA_NAMESPACE
