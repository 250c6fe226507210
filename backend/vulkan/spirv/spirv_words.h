// A SPIR-V module as a list of instructions, for the passes that rewrite kernels before drivers see them.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <vector>

namespace VXLA_NAMESPACE::vulkan::spirv {

constexpr size_t kHeaderWords = 5, kVersionWord = 1, kBoundWord = 3;
constexpr uint32_t kVersion14 = 0x10400;

enum Op : uint32_t {
  kNop = 0,
  kUndef = 1,
  kName = 5,
  kLine = 8,
  kExtension = 10,
  kExtInstImport = 11,
  kExtInst = 12,
  kEntryPoint = 15,
  kExecutionMode = 16,
  kCapability = 17,
  kFirstType = 19,
  kTypeBool = 20,
  kTypeInt = 21,
  kTypeFloat = 22,
  kTypeVector = 23,
  kTypeMatrix = 24,
  kTypeArray = 28,
  kTypeStruct = 30,
  kTypePointer = 32,
  kLastType = 39,
  kFirstConstant = 41,
  kConstantTrue = 41,
  kConstantFalse = 42,
  kConstant = 43,
  kSpecConstantTrue = 48,
  kSpecConstantFalse = 49,
  kSpecConstant = 50,
  kSpecConstantOp = 52,
  kLastConstant = 52,
  kFunction = 54,
  kFunctionParameter = 55,
  kFunctionEnd = 56,
  kFunctionCall = 57,
  kVariable = 59,
  kLoad = 61,
  kStore = 62,
  kCopyMemory = 63,
  kCopyMemorySized = 64,
  kAccessChain = 65,
  kInBoundsAccessChain = 66,
  kArrayLength = 68,
  kDecorate = 71,
  // OpVectorExtractDynamic ... OpDPdyCoarse are pure but for derivatives, which compute kernels lack.
  kFirstArithmetic = 77,
  kVectorShuffle = 79,
  kCompositeConstruct = 80,
  kCompositeExtract = 81,
  kCompositeInsert = 82,
  kFirstImage = 86,  // OpSampledImage ... OpImageQuerySamples
  kLastImage = 107,
  kBitcast = 124,
  kIAdd = 128,
  kFAdd = 129,
  kISub = 130,
  kFSub = 131,
  kIMul = 132,
  kFMul = 133,
  kUDiv = 134,
  kFDiv = 136,
  kUMod = 137,
  kFRem = 140,
  kFMod = 141,
  kVectorTimesScalar = 142,
  kDot = 148,
  kLogicalOr = 166,
  kLogicalAnd = 167,
  kLogicalNot = 168,
  kSelect = 169,
  kIEqual = 170,
  kINotEqual = 171,
  kUGreaterThan = 172,
  kSGreaterThan = 173,
  kUGreaterThanEqual = 174,
  kSGreaterThanEqual = 175,
  kULessThan = 176,
  kSLessThan = 177,
  kULessThanEqual = 178,
  kSLessThanEqual = 179,
  kShiftRightLogical = 194,
  kShiftLeftLogical = 196,
  kBitwiseOr = 197,
  kBitwiseAnd = 199,
  kLastArithmetic = 205,
  kControlBarrier = 224,
  kMemoryBarrier = 225,
  kFirstAtomic = 227,
  kAtomicStore = 228,
  kLastAtomic = 242,
  kPhi = 245,
  kLoopMerge = 246,
  kSelectionMerge = 247,
  kLabel = 248,
  kBranch = 249,
  kBranchConditional = 250,
  kSwitch = 251,
  kKill = 252,
  kReturn = 253,
  kReturnValue = 254,
  kUnreachable = 255,
  kExecutionModeId = 331,
  kFirstGroup = 333,  // OpGroupNonUniformElect ... OpGroupNonUniformQuadSwap
  kGroupBallotBitCount = 342,
  kFirstGroupArithmetic = 349,
  kLastGroupArithmetic = 364,
  kLastGroup = 366,
  kCopyLogical = 400,
  kSDot = 4450,
  kUDot = 4451,
  kSUDot = 4452,
  kTypeCooperativeMatrix = 4456,
  kCooperativeMatrixLoad = 4457,
  kCooperativeMatrixStore = 4458,
  kCooperativeMatrixMulAdd = 4459,
  kCooperativeMatrixLength = 4460,
  // Of SPV_NV_cooperative_matrix2 and SPV_NV_tensor_addressing.
  kCooperativeMatrixLoadTensor = 5367,
  kCooperativeMatrixStoreTensor = 5368,
  kCooperativeMatrixPerElementOp = 5369,
  kTypeTensorLayout = 5370,
  kTypeTensorView = 5371,
  kFirstTensor = 5372,  // OpCreateTensorLayoutNV ... OpTensorLayoutSetBlockSizeNV: of tensor layouts and views
  kLastTensor = 5384,
};
enum Capability : uint32_t { kFloat16 = 9, kInt16 = 22, kGroupNonUniform = 61, kStorageBuffer16BitAccess = 4433 };
enum ExecutionMode : uint32_t { kDenormPreserve = 4459, kSignedZeroInfNanPreserve = 4461, kRoundingModeRTE = 4462 };
enum FloatCapability : uint32_t {
  kDenormPreserveCapability = 4464,
  kSignedZeroInfNanPreserveCapability = 4466,
  kRoundingModeRTECapability = 4467
};
enum Decoration : uint32_t { kSpecId = 1, kBuiltIn = 11, kNoContraction = 42 };
enum BuiltIn : uint32_t { kWorkgroupId = 26, kLocalInvocationId = 27, kGlobalInvocationId = 28 };
enum LoopControl : uint32_t { kNoHint = 0, kUnroll = 1, kDontUnroll = 2 };
enum Glsl : uint32_t { kUMax = 41, kFma = 50 };  // of GLSL.std.450, the only set that kernels import
enum StorageClass : uint32_t {
  kInputClass = 1,
  kWorkgroupClass = 4,
  kPrivateClass = 6,
  kFunctionClass = 7,
  kPushConstantClass = 9,
  kStorageBufferClass = 12
};

using Words = std::vector<uint32_t>;
struct Instruction {
  Words words;
  uint32_t op() const { return words[0] & 0xffffu; }
};
using Instructions = std::vector<Instruction>;

struct Block {
  uint32_t label = 0;
  Instructions body;  // the label left out
};

// Whether the words begin as a module does, are instructions to the last word, and end with a function. Not more:
// nothing here checks what the instructions say.
bool IsWholeModule(const Words& words);
// Whether the module asks for a capability (these instructions come first).
bool Declares(const Words& words, Capability capability);
Instruction Make(Op op, std::initializer_list<uint32_t> operands);
Instructions Read(const Words& words);
// The blocks of the function whose first label stands at `*at`, which moves on to the function's end.
std::vector<Block> TakeBlocks(const Instructions& instructions, size_t* at);
void Append(const Instruction& instruction, Words* words);
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
