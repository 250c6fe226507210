// Loads of four neighbours at a time, for kernels that take the terms of products so.
#pragma once

#include <functional>
#include <string>

#include "backend/vulkan/codegen/hook.h"
#include "core/ceil_divide.h"

namespace VXLA_NAMESPACE::vulkan {

// How many groups of four hold so many neighbours.
inline int64_t UnitsOf(int64_t count) { return CeilDivide(count, 4); }

// The place of neighbour j of the group that `variable`, bound to "unit", counts, where there are `count` in all;
// beyond the end it is the last. `exists`: the test for that, or empty where whole groups of four exist.
IndexExpression PlaceInUnit(ValueWriter& writer, int variable, int64_t count, int j, std::string* exists);

// quad[0..3] = value(place), those beyond the end 0.0f. Values are f32.
void WriteQuad(ValueWriter& writer, int variable, int64_t count,
               const std::function<std::string(const IndexExpression& place)>& value);

// Defines void <head>, out uint words[...]): the operand's neighbours of a group of `count` that `variable` counts, in
// words as they lie in memory or packed here as values of `term`.
void DefineWords(Hook& hook, const std::string& head, const Instruction& operand, int variable, int count,
                 ElementType term, const std::function<MultiIndex(const IndexExpression& place)>& index);

// Looks through what moves elements to the operand in memory: whether `variable` is the one along which its last
// dimension runs. `index` is where the value is read.
bool RunsAlong(const FusionDescription& body, IndexSpace& space, const Instruction& value, MultiIndex index,
               int variable);

// A carrier value of the instruction's type as f32, and the other way round.
std::string ToF32(const Instruction& instruction, const std::string& value);
std::string FromF32(const Instruction& instruction, const std::string& value);

}  // namespace VXLA_NAMESPACE::vulkan
