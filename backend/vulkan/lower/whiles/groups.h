// Loops whose rows never meet, as the sequences of a recurrent network's batch, or whose elements do not: several
// workgroups share them out.
#pragma once

#include "backend/vulkan/lower/whiles/program.h"

namespace VXLA_NAMESPACE::vulkan {

// How many rows the loop has that never meet: a dimension of every array that it writes counts them, and an element
// depends on those of its own row, on what the loop only reads and on what all rows have in common. The rows of an
// array lie one after another, but for arrays of which the loop changes a slice a trip (stacked results). 1: it has
// none. Pure.
int64_t SeparateRows(const LoopProgram& program);

// How many workgroups have a lane for each element of the largest array that the loop writes, so that one that goes by
// elements alone could keep them all in registers; 1: one has, or dispatches of this loop stop within trips.
int64_t GroupsInRegisters(const DeviceFacts& facts, const LoopProgram& program);

// How many workgroups, each with as many neighbouring rows, have a lane for each element of the largest array; 1: one
// has, or none that leaves few lanes idle.
int64_t GroupsOfRows(const DeviceFacts& facts, const LoopProgram& program, int64_t rows);

// How many workgroups the device is taken to run at once.
int64_t GroupsAtOnce(const DeviceFacts& facts);

// The workgroups that should run a loop of one dispatch: each with as many neighbouring rows, or cooperative ones where
// the device lets workgroups wait for others (GpuTraits::look_back) and no rows are separate, or too few.
// `most_of_a_phase`: the operations that one workgroup may be left with.
LoopShare ShareOfLoop(const DeviceFacts& facts, const LoopProgram& program, int64_t most_of_a_phase);

// How cooperative workgroups should share out a unit whose lanes wait for each other within it.
LoopSharing SharingOf(const DeviceFacts& facts, const LoopUnitNeeds& needs);

// How many times as much as one workgroup those of a loop may be left with: a phase of cooperative ones takes as long
// as if some of them did all of it.
int64_t MostGroupsOfAPhase(LoopShare share);

}  // namespace VXLA_NAMESPACE::vulkan
