// Tables of programs that a constraint refuses, each row with the labels that stand beside the checks in core/, a
// program of one instruction, and the message.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace VXLA_NAMESPACE {

// Rows of two lines or more:
//   label label: x=f32[2]; y=s32[2] => add(x, y)
//     continued here if it is long
//   ! add: operand 0 is of f32, operand 1 of s32
// The label `text` stands for what the parser itself refuses. Computations add, lt and both (of two f32), neg,
// finite and pair (of one) may be called; also lt2 (of two f32, two s32), of f32[4] four, go_on (gives pred[]) and
// shrink (gives f32[<=4]), of slices step and widen.
void ExpectRefusals(std::string_view rows);

}  // namespace VXLA_NAMESPACE
