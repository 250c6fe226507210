#include "backend/vulkan/device/probes/probe_text.h"

#include "backend/vulkan/device/probes/division.h"
#include "backend/vulkan/device/probes/group_probe.h"
#include "backend/vulkan/device/probes/matrix_probe.h"
#include "backend/vulkan/device/probes/quirks.h"
#include "backend/vulkan/shader/module_compiler.h"
#include "backend/vulkan/shader/shader_compiler.h"
#include "backend/vulkan/shader/shader_source.h"
#include "backend/vulkan/spirv/matrix_types.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

constexpr const char* kQuirksBody = R"(
layout(local_size_x = 1) in;
layout(set = 0, binding = 0, std430) readonly buffer Data { uint data[]; };
layout(set = 0, binding = 1, std430) writeonly buffer Answer { uint answer[]; };

void Loops() {
  uint step = data[2], state = step, single = 0u;
  for (uint i = 0u; i < data[0]; i += step) {
    state = state * 1664525u + i;
    single += step;
  }
  answer[kSingleLoop] = single;
  answer[kLoopsRan] = state;
}

void Nested() {
  uint step = data[2], state = step, nested = 0u;
  for (uint i = 0u; i < data[1]; i += step) {
    for (uint j = 0u; j < data[1]; j += step) {
      state = state * 1664525u + j;
      nested += step;
    }
  }
  answer[kNestedLoops] = nested;
  if (state == 0u) answer[kLoopsRan] = state;
}

void Narrowing() {
  float uneven = uintBitsToFloat(data[3]);
#ifdef HAS_FLOAT16
  answer[kNarrowedFloat16] = floatBitsToUint(float(float16_t(uneven)));
  uint hidden = packFloat2x16(f16vec2(float16_t(uneven), float16_t(0.0f))) ^ (gl_NumWorkGroups.x >> 31);
  answer[kNarrowedHidden] = floatBitsToUint(float(unpackFloat2x16(hidden).x));
  float16_t nan = float16_t(uintBitsToFloat(data[34]));
  answer[kHalfNan] = packFloat2x16(f16vec2(nan, nan)) & 0xffffu;
  uint wrong = 0u;
  for (uint i = 12u; i < 34u; i += 2u) {
    float16_t half_value = float16_t(uintBitsToFloat(data[i]));
    wrong += (packFloat2x16(f16vec2(half_value, half_value)) & 0xffffu) != data[i + 1u] ? 1u : 0u;
  }
  // A denormal and -0, and the denormal's negative, back again: no operation but the conversion sees them.
  for (uint i = 24u; i < 30u; i += 2u) {
    wrong += floatBitsToUint(float(unpackFloat2x16(data[i + 1u]).x)) != data[i] ? 1u : 0u;
  }
  for (uint i = 42u; i < 60u; i += 3u) {
    f16vec2 operands = unpackFloat2x16(data[i]);
    precise f16vec2 sums = f16vec2(operands.x + operands.y, operands.x - operands.y);
    precise f16vec2 products = operands * operands.yx;
    wrong += packFloat2x16(sums) != data[i + 1u] ? 1u : 0u;
    wrong += (packFloat2x16(products) & 0xffffu) != data[i + 2u] ? 1u : 0u;
  }
  answer[kWrongHalves] = wrong;
#endif
#ifdef HAS_FLOAT64
  double wide = packDouble2x32(uvec2(data[3], 0x3fb99999u));
  answer[kNarrowedDouble] = double(float(wide)) == wide ? 1u : 0u;
#endif
}

void Denormals() {
  float one = uintBitsToFloat(data[4]), denormal = uintBitsToFloat(data[7]);
  answer[kDenormal32] = floatBitsToUint(uintBitsToFloat(data[5]) * uintBitsToFloat(data[6]));
  answer[kDenormal32Times1] = floatBitsToUint(denormal * one);
  answer[kDenormal32Sum] = floatBitsToUint(denormal + denormal);
  answer[kDenormal32Fused] = floatBitsToUint(fma(denormal, one, denormal));
  answer[kDenormal32FusedSum] = floatBitsToUint(fma(uintBitsToFloat(data[5]), uintBitsToFloat(data[6]), denormal));
#ifdef HAS_FLOAT16
  f16vec2 half_denormal = unpackFloat2x16(data[2]);
  answer[kDenormal16] = packFloat2x16(half_denormal * f16vec2(float16_t(one)));
#endif
#ifdef HAS_FLOAT64
  double wide_denormal = packDouble2x32(uvec2(data[3], 0x1u)), small = packDouble2x32(uvec2(0u, data[4] & 0x3ff00000u));
  uvec2 bits = unpackDouble2x32(wide_denormal * small);
  answer[kDenormal64Low] = bits.x;
  answer[kDenormal64High] = bits.y;
#endif
}

void Sanity() {
  answer[kSumInteger] = 0xffffffffu + data[2] + data[2];
  answer[kQuotient] = (1000002u + data[2]) / (6u + data[2]);
  answer[kSumFloat] = floatBitsToUint(uintBitsToFloat(data[3]) + uintBitsToFloat(data[8]));
  answer[kProductFloat] = floatBitsToUint(uintBitsToFloat(data[3]) * uintBitsToFloat(data[9]));
  float even = uintBitsToFloat(data[10]);
  answer[kFusedRest] = floatBitsToUint(fma(even, even, uintBitsToFloat(data[11])));
  uint nans = 0u;
  for (uint i = 0u; i < 6u; ++i) nans |= isnan(uintBitsToFloat(data[36u + i])) ? 1u << i : 0u;
  answer[kNans] = nans;
}

)";

// One function per dispatch: where a driver's loops share a budget, each group of one invocation has its own.
constexpr const char* kQuirksMain = R"(
void main() {
  if (gl_WorkGroupID.x == 0u) Loops();
  else if (gl_WorkGroupID.x == 1u) Nested();
  else if (gl_WorkGroupID.x == 2u) Narrowing();
  else if (gl_WorkGroupID.x == 3u) Denormals();
  else Sanity();
}
)";
constexpr const char* kDivisionText = R"(
layout(local_size_x = 64) in;
layout(set = 0, binding = 0, std430) readonly buffer Data { uint data[]; };
layout(set = 0, binding = 1, std430) writeonly buffer Answer { uint answer[]; };

void Single(uint i) {
  float a = uintBitsToFloat(data[2u * i]), b = uintBitsToFloat(data[2u * i + 1u]);
  precise float quotient = a / b, inverse = 1.0f / b, third = a / 3.0f, root = sqrt(a);
  answer[4u * i] = floatBitsToUint(quotient);
  answer[4u * i + 1u] = floatBitsToUint(inverse);
  answer[4u * i + 2u] = floatBitsToUint(third);
  answer[4u * i + 3u] = floatBitsToUint(root);
}

#ifdef HAS_FLOAT64
void Write(uint at, double value) {
  uvec2 words = unpackDouble2x32(value);
  answer[at] = words.x;
  answer[at + 1u] = words.y;
}

void Double(uint i) {
  uint from = 2u * SINGLES + 4u * i, at = 4u * SINGLES + 8u * i;
  double a = packDouble2x32(uvec2(data[from], data[from + 1u])), b = packDouble2x32(uvec2(data[from + 2u], data[from + 3u]));
  precise double quotient = a / b, inverse = 1.0lf / b, third = a / 3.0lf, root = sqrt(a);
  Write(at, quotient);
  Write(at + 2u, inverse);
  Write(at + 4u, third);
  Write(at + 6u, root);
}
#endif

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < SINGLES) Single(i);
#ifdef HAS_FLOAT64
  else Double(i - SINGLES);
#endif
}
)";

}  // namespace

std::string ProbePrelude(const DeviceFacts& facts) {
  std::string text = "#version 460\n#extension GL_EXT_spirv_intrinsics : require\n";
  if (facts.float16) {
    text += "#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require\n#define HAS_FLOAT16\n";
  }
  if (facts.float64) text += "#define HAS_FLOAT64\n";
  return text + FloatModes(facts, {facts.float16, facts.float64});
}

std::string ProbeText(ProbeSubject::Kind kind, const DeviceFacts& facts) {
  std::string text = ProbePrelude(facts);
  if (kind == ProbeSubject::kDivision)
    return text + fmt::format("#define SINGLES {}u\n", kDivisionSingles) + kDivisionText;
  for (int i = 0; i < kProbeWords; ++i) text += fmt::format("#define {} {}\n", ProbeWordName(i), i);
  return text + kQuirksBody + kQuirksMain;
}

ProbeModules CompiledProbes() {
  const auto text = [](const ProbeSubject& of, const DeviceFacts& facts) -> Result<std::string> {
    if (of.kind != ProbeSubject::kMatrices) return ProbeText(of.kind, facts);
    if (of.shape.invocations == 0) return MatrixProbeText(of.shape, facts);
    return AssembleShader(GroupProbeKey(of.shape, facts), facts, BindingMode::kDescriptors);
  };
  const auto get = [text](const ProbeSubject& of, const DeviceFacts& facts) -> Result<std::vector<uint32_t>> {
    VXLA_ASSIGN_OR_RETURN(const std::string glsl, text(of, facts));
    if (of.shape.invocations != 0)
      return ShadercCompiler().compile(GroupProbeKey(of.shape, facts), glsl,
                                       ModuleTarget(facts, BindingMode::kDescriptors));
    VXLA_ASSIGN_OR_RETURN(const std::vector<uint32_t> words, CompileGlsl(glsl, "probe", {facts.spirv_1_6}));
    return spirv::WithMatrixComponents(words);
  };
  const auto identity = [text](const ProbeSubject& of, const DeviceFacts& facts) {
    const Result<std::string> glsl = text(of, facts);
    return glsl.ok() ? CompilerIdentity() + *glsl : std::string();
  };
  return {get, identity};
}

}  // namespace VXLA_NAMESPACE::vulkan
