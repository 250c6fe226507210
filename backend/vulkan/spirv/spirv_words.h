// A SPIR-V module as a list of instructions, for the passes that rewrite kernels before drivers see them.
#pragma once

#define SPV_ENABLE_UTILITY_CODE  // of spirv.hpp: HasResultAndType

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <spirv/unified1/spirv.hpp>
#include <string_view>
#include <vector>

#include "core/host/ranges.h"

namespace VXLA_NAMESPACE::vulkan::spirv {

constexpr size_t kHeaderWords = 5, kVersionWord = 1, kBoundWord = 3;
constexpr uint32_t kVersion14 = 0x10400;

// The standard's own names: OpLoad, DecorationBuiltIn, StorageClassFunction.
using namespace spv;

// What it numbers one after another.
enum : uint32_t {
  kFirstType = OpTypeVoid,
  kLastType = OpTypeForwardPointer,
  kFirstConstant = OpConstantTrue,
  kLastConstant = OpSpecConstantOp,
  // Pure but for derivatives, which compute kernels lack.
  kFirstArithmetic = OpVectorExtractDynamic,
  kLastArithmetic = OpBitCount,
  kFirstImage = OpSampledImage,
  kLastImage = OpImageQuerySamples,
  kFirstAtomic = OpAtomicLoad,
  kLastAtomic = OpAtomicXor,
  kFirstGroup = OpGroupNonUniformElect,
  kFirstGroupArithmetic = OpGroupNonUniformIAdd,
  kLastGroupArithmetic = OpGroupNonUniformLogicalXor,
  kLastGroup = OpGroupNonUniformQuadSwap,
};

// Newer than Debian 12's header: of SPV_KHR_cooperative_matrix, SPV_NV_cooperative_matrix2, SPV_NV_tensor_addressing.
enum : uint32_t {
  kTypeCooperativeMatrix = 4456,
  kCooperativeMatrixLoad = 4457,
  kCooperativeMatrixStore = 4458,
  kCooperativeMatrixMulAdd = 4459,
  kCooperativeMatrixLength = 4460,
  kCooperativeMatrixLoadTensor = 5367,
  kCooperativeMatrixStoreTensor = 5368,
  kCooperativeMatrixPerElementOp = 5369,
  kTypeTensorLayout = 5370,
  kTypeTensorView = 5371,
  kFirstTensor = 5372,  // OpCreateTensorLayoutNV ... OpTensorLayoutSetBlockSizeNV: of tensor layouts and views
  kLastTensor = 5384,
};

using Words = std::vector<uint32_t>;
struct Instruction {
  Words words;
  uint32_t op() const { return words[0] & 0xffffu; }
  friend bool operator==(const Instruction&, const Instruction&) = default;
};
using Instructions = std::vector<Instruction>;

struct Block {
  uint32_t label = 0;
  Instructions body;  // the label left out
};
// Of all blocks, one after the other.
template <typename Blocks>
auto InstructionsOf(Blocks& blocks) {
  return Joined(blocks, &Block::body);
}

// Whether the words begin as a module does, are instructions to the last word, and end with a function. Not more:
// nothing here checks what the instructions say.
bool IsWholeModule(const Words& words);
// Whether the module asks for a capability (these instructions come first).
bool Declares(const Words& words, Capability capability);
Instruction Make(uint32_t op, std::initializer_list<uint32_t> operands);
// OpExtension of that name.
Instruction ExtensionNamed(std::string_view name);
constexpr uint32_t kOneWord = 1u << 16;  // of an instruction's length, in its first word
void AddOperand(Instruction& instruction, uint32_t operand);
inline bool IsType(uint32_t op) { return op >= kFirstType && op <= kLastType; }
Instructions Read(const Words& words);
// The blocks of the function whose first label stands at `*at`, which moves on to the function's end.
std::vector<Block> TakeBlocks(const Instructions& instructions, size_t* at);
void Append(const Instruction& instruction, Words* words);
// A module of these instructions, under the header of `words`.
Words ModuleOf(const Words& words, const Instructions& instructions);
// Whether words[2] names the instruction's value and words[1] its type, for what stands in functions.
bool HasResult(uint32_t op);
// Calls `visit` with each id of a value that the instruction reads (pointers too; no types, labels and literals). False
// for an instruction whose operands are not known here, before any call.
bool VisitOperands(Instruction& instruction, const std::function<void(uint32_t&)>& visit);
// Of a phi, with the label of each block that a value comes from.
void VisitOrigins(Instruction& instruction, const std::function<void(uint32_t&)>& visit);
// With each label of a branch or merge, but for OpSwitch.
void VisitLabels(Instruction& instruction, const std::function<void(uint32_t&)>& visit);

// What an instruction on integers of 32 bits gives, or on truths, which are 0 and 1 as the results of comparisons are.
std::optional<uint32_t> Calculated(uint32_t op, uint32_t a, uint32_t b);

}  // namespace VXLA_NAMESPACE::vulkan::spirv
