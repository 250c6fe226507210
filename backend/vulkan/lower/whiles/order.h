// In which order a workgroup goes through a computation of a loop.
#pragma once

#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "backend/vulkan/lower/whiles/program.h"

namespace VXLA_NAMESPACE::vulkan {

// A leaf of an instruction, where it was made.
using LoopKey = std::pair<const Instruction*, int>;
inline LoopKey KeyOf(const LeafOrigin& origin) { return {origin.instruction, origin.leaf}; }

// How long values are needed in one computation, by the positions of what reads them.
struct LoopOrder {
  std::vector<const Instruction*> order;
  std::map<LoopKey, int> last;
};
// Of what reads a value after all others: the computation's own result.
inline constexpr int kAtRoot = std::numeric_limits<int>::max();

// Pure.
LoopOrder OrderOf(const LoopProgram& program, const Computation& computation);

// Whether one text makes both Fourier transforms.
bool AreOneTransform(const Instruction& a, const Instruction& b);

}  // namespace VXLA_NAMESPACE::vulkan
