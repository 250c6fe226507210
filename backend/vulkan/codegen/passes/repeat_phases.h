// Phases of a loop's kernel that do the same as earlier ones, with other arrays.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/vulkan/codegen/statements/statement.h"

namespace VXLA_NAMESPACE::vulkan {

// The code of a phase, which is a block of its own, and whether a barrier comes first.
struct LoopPhase {
  Code code;
  bool waits = false;
};

constexpr int64_t kMostTurns = 32;  // bits of a word

// Phases one after the other. The text of a round of them that repeats, as the layers of a network do, stands once, in
// a loop over its turns (kMostTurns at most), if that spares a third of the text, and not little: a driver compiles
// half of a transformer of two layers. What a phase reads and writes there, where it is not the same in each turn, is
// chosen by the turn: tensors are reached by addresses. A phase of the round that is another one in some turns stands
// there once for each kind. `name` begins the names of the loop's own variables. `of_grid`: phases wait for all
// workgroups, and what they choose from is written by any. Pure.
Code RepeatPhases(const std::vector<LoopPhase>& phases, const std::string& name, bool of_grid = false);

}  // namespace VXLA_NAMESPACE::vulkan
