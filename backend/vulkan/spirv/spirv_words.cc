#include "backend/vulkan/spirv/spirv_words.h"

#include <algorithm>

namespace VXLA_NAMESPACE::vulkan::spirv {
namespace {

struct Range {
  size_t begin, end;  // of the words that are ids of values
};

bool IsTensor(uint32_t op) { return op >= kFirstTensor && op <= kLastTensor; }

// Of operations that are numbered together.
std::optional<Range> OperandsOfKind(uint32_t op, size_t count) {
  // OpGroupNonUniformBallotBitCount and the arithmetic ones have a literal in front of their value.
  if (op == OpGroupNonUniformBallotBitCount || (op >= kFirstGroupArithmetic && op <= kLastGroupArithmetic))
    return Range{5, count};
  const bool atomic = op >= kFirstAtomic && op <= kLastAtomic, group = op >= kFirstGroup && op <= kLastGroup;
  const bool images = op >= kFirstImage && op <= kLastImage;
  const bool pure = op >= kFirstArithmetic && op <= kLastArithmetic && !images, tensor = IsTensor(op);
  if (pure || tensor || atomic || group || op == OpAccessChain || op == OpInBoundsAccessChain || op == OpCopyLogical)
    return Range{3, count};
  return std::nullopt;
}

std::optional<Range> OperandsOf(const Instruction& instruction) {
  const uint32_t op = instruction.op();
  const size_t count = instruction.words.size();
  switch (op) {
    case OpNop:
    case OpUndef:
    case OpVariable:  // without its initialiser, a constant of the module
    case OpFunctionParameter:
    case OpLabel:
    case OpBranch:
    case OpSelectionMerge:
    case OpLoopMerge:
    case OpReturn:
    case OpKill:
    case OpUnreachable:
    case kCooperativeMatrixLength:  // of a type
      return Range{0, 0};
    case OpReturnValue:
    case OpSwitch:
    case OpBranchConditional:
      return Range{1, 2};
    case OpStore:
    case OpCopyMemory:
      return Range{1, 3};
    case OpControlBarrier:
    case OpMemoryBarrier:
    case OpAtomicStore:
      return Range{1, count};
    case OpLoad:
    case OpArrayLength:
    case OpCompositeExtract:
      return Range{3, 4};
    case OpVectorShuffle:
    case OpCompositeInsert:
    case OpSDot:
    case OpUDot:
    case OpSUDot:
      return Range{3, 5};
    case kCooperativeMatrixLoad:  // followed, as in a store, by what the memory's access is like
      return Range{3, std::min<size_t>(count, 6)};
    case kCooperativeMatrixStore:
      return Range{1, std::min<size_t>(count, 5)};
    case kCooperativeMatrixMulAdd:
      return Range{3, 6};
    case kCooperativeMatrixPerElementOp:  // the function among them is no value: no map of values has it
      return Range{3, count};
    case OpFunctionCall:
      return Range{4, count};
    case OpExtInst:
      return Range{5, count};
    case OpPhi:
      return Range{3, count};  // the labels among them are no values: no map of values has them
    default:
      return OperandsOfKind(op, count);
  }
}

}  // namespace

bool IsWholeModule(const Words& words) {
  if (words.size() <= kHeaderWords || words[0] != MagicNumber) return false;
  uint32_t last = OpNop;
  for (size_t at = kHeaderWords; at < words.size(); at += words[at] >> 16) {
    const size_t length = words[at] >> 16;
    if (length == 0 || length > words.size() - at) return false;
    last = words[at] & 0xffffu;
  }
  return last == OpFunctionEnd;
}

bool Declares(const Words& words, Capability capability) {
  for (size_t at = kHeaderWords; at + 1 < words.size() && words[at] == (2u << 16 | OpCapability); at += 2) {
    if (words[at + 1] == capability) return true;
  }
  return false;
}

Instruction Make(uint32_t op, std::initializer_list<uint32_t> operands) {
  Instruction instruction;
  instruction.words.push_back(static_cast<uint32_t>(operands.size() + 1) << 16 | op);
  instruction.words.insert(instruction.words.end(), operands.begin(), operands.end());
  return instruction;
}

Instruction ExtensionNamed(std::string_view name) {
  Instruction extension = Make(OpExtension, {});
  for (size_t i = 0; i <= name.size(); i += 4) {
    uint32_t word = 0;
    for (size_t j = i; j < std::min(i + 4, name.size()); ++j)
      word |= static_cast<uint32_t>(static_cast<uint8_t>(name[j])) << 8 * (j - i);
    AddOperand(extension, word);
  }
  return extension;
}

void AddOperand(Instruction& instruction, uint32_t operand) {
  instruction.words.push_back(operand);
  instruction.words[0] += kOneWord;
}

Instructions Read(const Words& words) {
  Instructions instructions;
  for (size_t at = kHeaderWords; at < words.size();) {
    const size_t count = std::max<size_t>(1, words[at] >> 16);
    instructions.push_back({Words(words.begin() + static_cast<std::ptrdiff_t>(at),
                                  words.begin() + static_cast<std::ptrdiff_t>(std::min(at + count, words.size())))});
    at += count;
  }
  return instructions;
}

std::vector<Block> TakeBlocks(const Instructions& instructions, size_t* at) {
  std::vector<Block> blocks;
  for (; *at < instructions.size() && instructions[*at].op() != OpFunctionEnd; ++*at) {
    const Instruction& instruction = instructions[*at];
    if (instruction.op() == OpLabel) {
      blocks.push_back({instruction.words[1], {}});
    } else {
      blocks.back().body.push_back(instruction);
    }
  }
  return blocks;
}

void Append(const Instruction& instruction, Words* words) {
  words->insert(words->end(), instruction.words.begin(), instruction.words.end());
}

Words ModuleOf(const Words& words, const Instructions& instructions) {
  Words out(words.begin(), words.begin() + kHeaderWords);
  for (const Instruction& instruction : instructions) Append(instruction, &out);
  return out;
}

bool HasResult(uint32_t op) {
  switch (op) {
    case kCooperativeMatrixStore:
    case kCooperativeMatrixStoreTensor:
      return false;
    case kCooperativeMatrixLoad:
    case kCooperativeMatrixMulAdd:
    case kCooperativeMatrixLength:
    case kCooperativeMatrixLoadTensor:
    case kCooperativeMatrixPerElementOp:
      return true;
    default:
      bool result = IsTensor(op), type = result;
      if (!result) HasResultAndType(static_cast<Op>(op), &result, &type);
      return result && type;
  }
}

namespace {

// The tensor's view, behind what the memory's access is like: a mask, an alignment if that says so, and a mask again.
// False for accesses and operands that no kernel has.
bool VisitTensorAccess(Instruction& instruction, size_t first, const std::function<void(uint32_t&)>& visit) {
  constexpr uint32_t kAligned = 2, kView = 1;
  Words& words = instruction.words;
  const size_t access = first + 3;
  if (words.size() <= access || (words[access] & ~kAligned) != 0) return false;
  const size_t operands = access + ((words[access] & kAligned) != 0 ? 2 : 1);
  if (words.size() <= operands || (words[operands] & ~kView) != 0) return false;
  for (size_t i = first; i < access; ++i) visit(words[i]);
  for (size_t i = operands + 1; i < words.size(); ++i) visit(words[i]);
  return true;
}

}  // namespace

bool VisitOperands(Instruction& instruction, const std::function<void(uint32_t&)>& visit) {
  // A pointer, a matrix and a layout.
  if (instruction.op() == kCooperativeMatrixLoadTensor) return VisitTensorAccess(instruction, 3, visit);
  if (instruction.op() == kCooperativeMatrixStoreTensor) return VisitTensorAccess(instruction, 1, visit);
  const auto range = OperandsOf(instruction);
  if (!range) return false;
  for (size_t i = range->begin; i < std::min(range->end, instruction.words.size()); ++i) visit(instruction.words[i]);
  return true;
}

void VisitOrigins(Instruction& instruction, const std::function<void(uint32_t&)>& visit) {
  for (size_t w = 4; instruction.op() == OpPhi && w < instruction.words.size(); w += 2) visit(instruction.words[w]);
}

void VisitLabels(Instruction& instruction, const std::function<void(uint32_t&)>& visit) {
  switch (instruction.op()) {
    case OpBranch:
    case OpSelectionMerge:
      return visit(instruction.words[1]);
    case OpLoopMerge:
      visit(instruction.words[1]);
      return visit(instruction.words[2]);
    case OpBranchConditional:
      visit(instruction.words[2]);
      return visit(instruction.words[3]);
    default:
      return;
  }
}

std::optional<uint32_t> Calculated(uint32_t op, uint32_t a, uint32_t b) {
  const auto sa = static_cast<int32_t>(a), sb = static_cast<int32_t>(b);
  switch (op) {
    case OpIAdd:
      return a + b;
    case OpISub:
      return a - b;
    case OpIMul:
      return a * b;
    case OpUDiv:
      return b != 0 ? std::optional(a / b) : std::nullopt;
    case OpUMod:
      return b != 0 ? std::optional(a % b) : std::nullopt;
    case OpShiftRightLogical:
      return b < 32 ? std::optional(a >> b) : std::nullopt;
    case OpShiftLeftLogical:
      return b < 32 ? std::optional(a << b) : std::nullopt;
    case OpBitwiseOr:
    case OpLogicalOr:
      return a | b;
    case OpBitwiseAnd:
    case OpLogicalAnd:
      return a & b;
    case OpIEqual:
      return a == b;
    case OpINotEqual:
      return a != b;
    case OpUGreaterThan:
      return a > b;
    case OpSGreaterThan:
      return sa > sb;
    case OpUGreaterThanEqual:
      return a >= b;
    case OpSGreaterThanEqual:
      return sa >= sb;
    case OpULessThan:
      return a < b;
    case OpSLessThan:
      return sa < sb;
    case OpULessThanEqual:
      return a <= b;
    case OpSLessThanEqual:
      return sa <= sb;
    default:
      return std::nullopt;
  }
}

}  // namespace VXLA_NAMESPACE::vulkan::spirv
