#include "backend/vulkan/spirv/matrix_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "backend/vulkan/spirv/spirv_words.h"

namespace VXLA_NAMESPACE::vulkan::spirv {
namespace {

constexpr uint32_t kMatrixComponentWord = 2;

// What multiplies terms of a type.
struct TermForm {
  ElementType type;
  uint32_t component;                    // of a matrix
  const char *extension, *capabilities;  // of SPIR-V
  const char* stand_in;                  // of a word's i-th term
};
constexpr TermForm kTermForms[] = {
    {ElementType::kF16, 16 + kFloatComponent, "", "9", "decode_f16((word) >> (16u * (i)) & 0xffffu)"},
    {ElementType::kBF16, 16 + kBrainComponent, ", \"SPV_KHR_bfloat16\"", "5116, 5118",
     "decode_bf16((word) >> (16u * (i)) & 0xffffu)"},
    {ElementType::kF8E4M3FN, 8 + kE4M3Component, ", \"SPV_EXT_float8\"", "4212, 4213",
     "decode_f8e4m3fn((word) >> (8u * (i)) & 0xffu)"},
    {ElementType::kF8E5M2, 8 + kE5M2Component, ", \"SPV_EXT_float8\"", "4212, 4213",
     "decode_f8e5m2((word) >> (8u * (i)) & 0xffu)"},
    {ElementType::kS8, 8 + kSignedComponent, "", "39", "bitfieldExtract(int(word), int(8u * (i)), 8)"},
    {ElementType::kU8, 8 + kUnsignedComponent, "", "39", "bitfieldExtract(uint(word), int(8u * (i)), 8)"}};

// The type that a component's constant stands for, without its id.
Words ScalarOf(uint32_t component) {
  const uint32_t bits = component & 0xffu;
  switch (component & ~0xffu) {
    case kFloatComponent:
      return Make(OpTypeFloat, {0, bits}).words;
    case kBrainComponent:
      return Make(OpTypeFloat, {0, bits, 0}).words;  // the encoding BFloat16KHR
    case kE4M3Component:
      return Make(OpTypeFloat, {0, bits, 4214}).words;  // Float8E4M3EXT
    case kE5M2Component:
      return Make(OpTypeFloat, {0, bits, 4215}).words;  // Float8E5M2EXT
    default:
      return Make(OpTypeInt, {0, bits, (component & ~0xffu) == kSignedComponent ? 1u : 0u}).words;
  }
}

bool HasMatrices(const Words& words) {
  for (size_t at = kHeaderWords; at < words.size(); at += std::max<size_t>(1, words[at] >> 16)) {
    if ((words[at] & 0xffffu) == kTypeCooperativeMatrix) return true;
  }
  return false;
}

}  // namespace

std::string MatrixDefines(const MatrixShape& matrix, const DeviceFacts& facts) {
  const auto* const term = std::ranges::find(kTermForms, matrix.term, &TermForm::type);
  VXLA_CHECK(term != std::end(kTermForms), "matrix units of no type that kernels have");
  const bool floats = IsFloating(matrix.sum);
  const std::string_view sum = floats ? "float" : matrix.sum == ElementType::kS32 ? "int" : "uint";
  std::string text = fmt::format(
      "#define BYTES {}\n#define LANES {}u\n#define M {}u\n#define N {}u\n#define K {}u\n"
      "#define BITS_OF(value) {}(value)\n#define SUM_OF(bits) {}(bits)\n#define STAND_IN {}\n",
      StorageBytes(matrix.term) == 1 ? 1 : 0, facts.matrix_lanes, matrix.rows, matrix.columns, matrix.k,
      floats ? "floatBitsToUint" : "uint", floats ? "uintBitsToFloat" : sum, facts.matrices_stand_in ? 1 : 0);
  if (facts.matrices_stand_in) return text + fmt::format("#define TERM_OF(word, i) {}\n", term->stand_in);
  const bool signed_sum = matrix.sum == ElementType::kS32;
  const uint32_t of_sum = 32 + (floats ? kFloatComponent : signed_sum ? kSignedComponent : kUnsignedComponent);
  // The operands of OpCooperativeMatrixMulAddKHR that are signed: both terms, the sum and the result.
  const int signs = (matrix.term == ElementType::kS8 ? 3 : 0) + (signed_sum ? 12 : 0);
  return text + fmt::format(
                    "#define TERM {}u\n#define SUM {}u\n#define SIGNS {}\n#define MATRIX extensions = "
                    "[\"SPV_KHR_cooperative_matrix\"{}], capabilities = [6022, {}]\n",
                    term->component, of_sum, signs, term->extension, term->capabilities);
}

std::vector<uint32_t> WithMatrixComponents(const std::vector<uint32_t>& words) {
  if (!HasMatrices(words)) return words;
  Instructions instructions = Read(words);
  std::unordered_map<uint32_t, uint32_t> constants;
  std::map<Words, uint32_t> scalars;  // what is needed, and the ids of what the module declares
  for (const Instruction& instruction : instructions) {
    if (instruction.op() == OpConstant) constants[instruction.words[2]] = instruction.words[3];
    if (instruction.op() == kTypeCooperativeMatrix)
      scalars.try_emplace(ScalarOf(constants[instruction.words[kMatrixComponentWord]]), 0);
  }
  const auto wanted = [&](const Instruction& instruction) {
    if (instruction.op() != OpTypeInt && instruction.op() != OpTypeFloat) return scalars.end();
    Words type = instruction.words;
    type[1] = 0;
    return scalars.find(type);
  };
  // No type may be declared twice, so those that stand further down move up.
  std::erase_if(instructions, [&](const Instruction& instruction) {
    const auto scalar = wanted(instruction);
    if (scalar != scalars.end()) scalar->second = instruction.words[1];
    return scalar != scalars.end();
  });
  Words header(words.begin(), words.begin() + kHeaderWords);
  Instructions declarations;
  for (auto& [type, id] : scalars) {
    if (id == 0) id = header[kBoundWord]++;
    declarations.push_back({type});
    declarations.back().words[1] = id;
  }
  for (Instruction& instruction : instructions) {
    if (instruction.op() != kTypeCooperativeMatrix) continue;
    uint32_t& component = instruction.words[kMatrixComponentWord];
    component = scalars[ScalarOf(constants[component])];
  }
  const auto first_type = std::ranges::find_if(instructions, [](const Instruction& each) { return IsType(each.op()); });
  instructions.insert(first_type, declarations.begin(), declarations.end());
  return ModuleOf(header, instructions);
}

std::vector<uint32_t> WithoutMatrixTypes(const std::vector<uint32_t>& words) {
  if (!HasMatrices(words)) return words;
  Instructions instructions = Read(words);
  for (Instruction& instruction : instructions) {
    if (instruction.op() == kTypeCooperativeMatrix)
      instruction = Make(OpTypeVector, {instruction.words[1], instruction.words[kMatrixComponentWord], 4});
    if (instruction.op() == kTypeTensorLayout || instruction.op() == kTypeTensorView)
      instruction = Make(OpTypeBool, {instruction.words[1]});
    if (instruction.op() == OpTypeFloat && instruction.words[2] == 8)
      instruction = Make(OpTypeFloat, {instruction.words[1], 16});
  }
  return ModuleOf(words, instructions);
}

std::vector<uint32_t> WithElementFunctions(const std::vector<uint32_t>& words) {
  Instructions instructions = Read(words);
  const auto applies = [](const Instruction& each) { return each.op() == kCooperativeMatrixPerElementOp; };
  if (std::ranges::none_of(instructions, applies)) return words;
  std::unordered_map<uint32_t, Instruction> calls;
  for (const Instruction& instruction : instructions) {
    if (instruction.op() == OpFunctionCall) calls.emplace(instruction.words[2], instruction);
  }
  // The function, and behind an element's row, column and value what is the same for all of them.
  constexpr size_t kFunctionWord = 4, kCalledWord = 3, kFirstArgument = 4, kOfElement = 3;
  std::unordered_set<uint32_t> replaced;
  for (Instruction& instruction : instructions) {
    if (!applies(instruction)) continue;
    const uint32_t called = instruction.words.at(kFunctionWord);
    const Words& call = calls.at(called).words;
    replaced.insert(called);
    instruction.words[kFunctionWord] = call[kCalledWord];
    for (size_t i = kFirstArgument + kOfElement; i < call.size(); ++i) AddOperand(instruction, call[i]);
  }
  std::erase_if(instructions, [&](const Instruction& instruction) {
    return instruction.op() == OpFunctionCall && replaced.contains(instruction.words[2]);
  });
  return ModuleOf(words, instructions);
}

}  // namespace VXLA_NAMESPACE::vulkan::spirv
