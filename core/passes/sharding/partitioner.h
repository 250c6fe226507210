// From a program of whole arrays to the one that each device runs on its tiles, with what devices exchange.
#pragma once

#include <memory>

#include "core/passes/sharding/sharding_graph.h"

namespace VXLA_NAMESPACE {

struct PartitionedModule {
  std::unique_ptr<Module> module;
  std::vector<Sharding> parameters, results;  // results by leaf
  std::vector<Sharding> answers;              // to the questions; whole inside of manual computations
  // Where it is asked for, a line for each array of the program: its name, its shape, how it lies and what a device
  // has.
  std::string arrays;
};

// Expects shardings that divide the arrays of the entry, a single replica, and calls of `stated.manual` that fit
// their tiles. An operation without a rule is given its operands whole, so that each device computes all of it.
Result<PartitionedModule> Partition(const Module& module, const StatedShardings& stated);

// The sharding of its own mesh, whatever the program's.
Sharding TilesOf(const ArraySharding& sharding);

}  // namespace VXLA_NAMESPACE
