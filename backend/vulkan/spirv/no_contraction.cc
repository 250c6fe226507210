#include "backend/vulkan/spirv/no_contraction.h"

#include <spirv/unified1/GLSL.std.450.h>

#include <algorithm>
#include <cstddef>
#include <unordered_set>

#include "backend/vulkan/spirv/spirv_words.h"

namespace VXLA_NAMESPACE::vulkan::spirv {
namespace {

constexpr uint32_t kGlslName = 0x4c534c47;  // "GLSL", as the first word of a name

bool Rounds(uint32_t op) {
  return op == OpFAdd || op == OpFSub || op == OpFMul || op == OpFDiv || op == OpFRem || op == OpFMod ||
         op == OpVectorTimesScalar || op == OpDot;
}

// Undecorated, a fused multiply-add may be rounded once or twice, in each place otherwise (GLSL.std.450, Fma). `set`:
// the id of GLSL.std.450.
bool IsFusedMultiplyAdd(const std::vector<uint32_t>& words, size_t at, uint32_t set) {
  return (words[at] & 0xffffu) == OpExtInst && words[at + 3] == set && words[at + 4] == GLSLstd450Fma;
}

// The first instruction behind the decorations.
bool FollowsDecorations(uint32_t op) {
  return op == OpUndef || IsType(op) || (op >= kFirstConstant && op <= kLastConstant) || op == OpFunction ||
         op == OpVariable;
}

}  // namespace

std::vector<uint32_t> WithoutContraction(std::vector<uint32_t> words) {
  std::unordered_set<uint32_t> decorated;
  std::vector<uint32_t> decorations;
  size_t place = 0;
  uint32_t set = 0;
  for (size_t at = kHeaderWords; at < words.size(); at += std::max<size_t>(1, words[at] >> 16)) {
    const uint32_t op = words[at] & 0xffffu;
    if (op == OpExtInstImport && words[at + 2] == kGlslName) set = words[at + 1];
    if (place == 0 && FollowsDecorations(op)) place = at;
    if (op == OpDecorate && words[at + 2] == DecorationNoContraction) decorated.insert(words[at + 1]);
    // The type, then the result.
    if ((Rounds(op) || IsFusedMultiplyAdd(words, at, set)) && decorated.insert(words[at + 2]).second) {
      decorations.insert(decorations.end(), {3u << 16 | OpDecorate, words[at + 2], DecorationNoContraction});
    }
  }
  words.insert(words.begin() + static_cast<std::ptrdiff_t>(place), decorations.begin(), decorations.end());
  return words;
}

}  // namespace VXLA_NAMESPACE::vulkan::spirv
