// What the members of a group receive, as operations on what they give.
#pragma once

#include <functional>
#include <vector>

#include "core/devices/replica_groups.h"
#include "core/passes/base/expansion.h"
#include "core/passes/devices/reduction_form.h"

namespace VXLA_NAMESPACE {

// A -start form does what the plain one does.
Opcode KindOfCollective(const Instruction& instruction);
struct DeviceAt {
  int64_t device = 0;
  const Instruction& instruction;
};
// Two instructions of one kind at one meeting must do the same, or what one device gets would depend on who comes last.
Status CheckSameMeeting(const DeviceGrid& grid, const DeviceAt& one, const DeviceAt& other);

// How many neighbours in a group, a power of two, always stand at one place: what an all-reduce makes of them is one
// value, which their place can make before it gives it to others, in the order in which Exchanged does. Pure.
int64_t ReductionBlock(const IntList& place_of_member);
// Such a part of an all-reduce, to be given to Exchanged in their stead, and its shape.
Instruction* ReducedPart(Expansion& make, const std::vector<Instruction*>& values,
                         const std::function<Computation*(Computation*)>& copy_of);
Shape PartOfReduction(const Instruction& reduction, const Shape& operand);

// All of them, or all such parts of them, in that order and of that type; `make` is at the reduction. copy_of: as
// below.
Instruction* Reduced(Expansion& make, std::vector<Instruction*> values, ElementType type,
                     const std::function<Computation*(Computation*)>& copy_of, MemberOrder order);

// Whether each member gets a block of each operand, and given[m] as the blocks of member m's operands, in their order.
bool GoesInBlocks(const Instruction& instruction);
std::vector<std::vector<Instruction*>> InBlocks(Expansion& make, const std::vector<std::vector<Instruction*>>& given);

// A ragged-all-to-all's result for one member: given[m] are member m's operands (input, output, input offsets, sizes
// sent, output offsets, sizes received). A row of the output is that of the last entry that reaches it, member by
// member; what a member expects is taken to be what the others send.
Instruction* RaggedReceived(Expansion& make, const std::vector<std::vector<Instruction*>>& given, size_t member);
// pred[]: whether the member expects other sizes than are sent to it, rows lie outside of an input or its output, or
// lists that live in part do not live alike. Null: the lists are empty.
Instruction* RaggedMisfit(Expansion& make, const std::vector<std::vector<Instruction*>>& given, size_t member);

// Zeros in that shape, as many as live in `like`, arrays whose shapes are the result's; else up to the bounds.
Instruction* ZerosLike(Expansion& make, const Shape& shape, const std::vector<Instruction*>& like);

// The value with the dynamic dimensions that are stated; those that it has static live to their bounds.
Instruction* UnderFlags(Expansion& make, Instruction* value, const Shape& stated);

// Whether a slice of a collective-permute is as wide as a dynamic dimension of its input: all of it has to live.
bool SlicesNeedWholeDimensions(const Instruction& instruction);

// The result of a collective-permute of slices (core/devices/permute_slices.h) for a device that has a source: the
// output of its own operands with the slices of the source's input in it. Where SlicesNeedWholeDimensions, nobody
// checks it.
Instruction* SlicesReceived(Expansion& make, const std::vector<Instruction*>& source,
                            const std::vector<Instruction*>& own);

// What each member of a group gets of an exchange that is not a collective-permute: given[m] are member m's operands
// (of a reduction, or the parts of so many neighbours; in_blocks: as InBlocks gives them), `shape` is what the
// instruction gives (of a start, its second element). copy_of: a reducer in the module that the result is for.
using CopyOfComputation = std::function<Computation*(Computation*)>;
std::vector<Instruction*> Exchanged(Expansion& make, const std::vector<std::vector<Instruction*>>& given,
                                    const Shape& shape, bool in_blocks, const CopyOfComputation& copy_of,
                                    MemberOrder order);

}  // namespace VXLA_NAMESPACE
