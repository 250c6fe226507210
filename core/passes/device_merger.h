// One program for one device that does what the same program does on many.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/module.h"
#include "core/replica_groups.h"

namespace VXLA_NAMESPACE {

struct MergedProgram {
  // Its result is a tuple of the arrays (and tokens) that the devices' results are made of, once each.
  std::unique_ptr<Module> module;
  // By device, the leaves of its result, depth first, among them.
  std::vector<IntList> results;
  // What its parameters are: (device, number) of the program's own. A parameter that all devices share is device 0's.
  std::vector<std::pair<int64_t, int64_t>> parameters;
};

// Every instruction stands there once for each device; once for those that compute the same from the same values, so
// what devices share (a counter, weights after an all-reduce) is computed once. Collectives become operations on the
// values of all members, in the order of the group: an all-reduce is additions (pairs, then pairs of those; sums of 8
// and 16 bits in f32), which fuse with what makes and uses them. Loops and conditionals with collectives are
// one for the devices that go the same way, which they do if what decides is the same value.
//
// shared[p]: all devices' parameter p has one value. Errors: those of CheckCollectives; a collective that not all of
// its members reach (a deadlock: who waits for whom); kUnsupported: infeed, outfeed, host transfers, random numbers
// without a state operand, exchanges of arrays with dynamic dimensions, ragged-all-to-all, permuted slices, and a
// collective whose members may leave a loop, or take a branch, each on its own.
Result<MergedProgram> MergeDevices(const Module& module, const DeviceGrid& grid, const std::vector<bool>& shared);

// What each device's result is made of, in a result of the merged program.
std::vector<std::vector<const Literal*>> LeavesByDevice(const MergedProgram& program, const Literal& result);

}  // namespace VXLA_NAMESPACE
