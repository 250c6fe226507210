// ShaderFunctions: the shader arithmetic (backend/cpu/twin/shader_math.h) by name, as loops over arrays of carriers,
// and the calls that a kernel makes for one element-wise instruction.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/ir/instruction.h"

namespace VXLA_NAMESPACE {

// How kernels hold a value: bool, int32_t, uint32_t, int64_t, uint64_t, float, double, or two floats or doubles. Narrow
// integers sit extended in 32 bits, narrow floats in float.
enum class ShaderCarrier : uint8_t { kPred, kI32, kU32, kI64, kU64, kF32, kF64, kC64, kC128 };
ShaderCarrier ShaderCarrierOf(ElementType type);
int ShaderCarrierBytes(ShaderCarrier carrier);
std::string_view ShaderSuffix(ElementType type);  // "f32", as in the functions' names

// in: an array of carriers per operand; out may be one of them if the carriers have the same size.
using ShaderLoop = void (*)(const void* const* in, void* out, int64_t n, const int* immediates);
struct ShaderFunction {
  ShaderLoop run = nullptr;
  int operands = 0, immediates = 0;
};
// Null `run` if there is none of this name.
ShaderFunction FindShaderFunction(std::string_view name);

// One call; the first one of a chain takes the instruction's operands, each later one the result before.
struct ShaderCall {
  std::string name;
  ShaderFunction function;
  std::array<int, 2> immediates{};
};

// The calls of an element-wise instruction (or a bitcast-convert of equal widths), in order; empty: the value as it is.
// Unsupported if kernels have no such function. Select is `select`, which every carrier has.
Result<std::vector<ShaderCall>> ShaderCallsOf(const Instruction& instruction);
Result<std::vector<ShaderCall>> ShaderConversion(ElementType from, ElementType to);

// n contiguous elements in storage <-> carriers, as kernels load and store them.
void LoadShaderCarriers(ElementType type, const std::byte* source, int64_t n, void* carriers);
void StoreShaderCarriers(ElementType type, const void* carriers, int64_t n, std::byte* target);

// A whole array's elements as carriers of `type`.
Result<std::vector<std::byte>> ShaderCarriersOf(const Literal& literal, ElementType type);

// For tests: from now on `name` is another function of the same form; null: itself again. Not thread-safe.
void ReplaceShaderFunctionForTest(std::string_view name, ShaderLoop replacement);

}  // namespace VXLA_NAMESPACE
