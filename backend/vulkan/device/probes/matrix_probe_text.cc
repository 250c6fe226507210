// The probe of matrix units as GLSL.
#include <fmt/format.h>

#include "backend/vulkan/device/probes/matrix_probe.h"
#include "backend/vulkan/device/probes/probe_text.h"
#include "backend/vulkan/spirv/matrix_types.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// LANES lanes of one subgroup multiply what lies in shared memory; words are 32 bits.
constexpr const char* kProbeText = R"(
layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;
layout(set = 0, binding = 0, std430) readonly buffer Data { uint data[]; };
layout(set = 0, binding = 1, std430) writeonly buffer Answer { uint answer[]; };
#if BYTES
#define ROW (K / 4u)
#else
#define ROW (K / 2u)
#endif
#define LHS (M * ROW)
#define RHS (N * ROW)
#define SUMS (M * N)
shared uvec4 words[(LHS + RHS + SUMS + 3u) / 4u];

#if STAND_IN
#define BARRIER() barrier()
#define PUT(at, value) words[(at) / 4u][(at) % 4u] = value
void multiply() {
  for (uint place = gl_LocalInvocationIndex; place < SUMS; place += LANES) {
    uint sum_at = LHS + RHS + place;
    precise Sum sum = SUM_OF(words[sum_at / 4u][sum_at % 4u]);
    for (uint k = 0u; k < K; ++k) {
      uint a_at = place / N * ROW + k * ROW / K, b_at = LHS + place % N * ROW + k * ROW / K, i = k % (K / ROW);
      precise Sum product = Sum(PROBE_TERM(words[a_at / 4u][a_at % 4u], i)) * Sum(PROBE_TERM(words[b_at / 4u][b_at % 4u], i));
      sum = sum + product;
    }
    words[sum_at / 4u][sum_at % 4u] = BITS_OF(sum);
  }
}
#else
#pragma use_vulkan_memory_model
const uint kComponent = TERM, kSums = SUM, kSubgroup = 3u, kWorkgroup = 2u, kRows = M, kColumns = N, kTerms = K;
const uint kA = 0u, kB = 1u, kC = 2u, kRowMajor = 0u, kColumnMajor = 1u;
const uint kStride = ROW / 4u, kSumsStride = N / 4u, kSemantics = 0x6108u;
#define MATRIX_A spirv_type(MATRIX, id = 4456, kComponent, kSubgroup, kRows, kTerms, kA)
#define MATRIX_B spirv_type(MATRIX, id = 4456, kComponent, kSubgroup, kTerms, kColumns, kB)
#define MATRIX_C spirv_type(MATRIX, id = 4456, kSums, kSubgroup, kRows, kColumns, kC)
#define NOT_PRIVATE 0x20
spirv_instruction(id = 224)
void control_barrier(uint execution, uint memory, uint semantics);
#define BARRIER() control_barrier(kWorkgroup, kWorkgroup, kSemantics)
spirv_instruction(id = 62)
void store_word(spirv_by_reference uint at, uint value, spirv_literal int operands);
#define PUT(at, value) store_word(words[(at) / 4u][(at) % 4u], value, NOT_PRIVATE)
spirv_instruction(id = 4457)
MATRIX_A load_matrix_a(spirv_by_reference uvec4 at, uint order, uint stride, spirv_literal int operands);
spirv_instruction(id = 4457)
MATRIX_B load_matrix_b(spirv_by_reference uvec4 at, uint order, uint stride, spirv_literal int operands);
spirv_instruction(id = 4457)
MATRIX_C load_matrix_c(spirv_by_reference uvec4 at, uint order, uint stride, spirv_literal int operands);
spirv_instruction(id = 4458)
void store_matrix_c(spirv_by_reference uvec4 at, MATRIX_C c, uint order, uint stride, spirv_literal int operands);
spirv_instruction(id = 4459)
MATRIX_C multiply_add(MATRIX_A a, MATRIX_B b, MATRIX_C c, spirv_literal int signs);
void multiply() {
  MATRIX_A a = load_matrix_a(words[0], kRowMajor, kStride, NOT_PRIVATE);
  MATRIX_B b = load_matrix_b(words[LHS / 4u], kColumnMajor, kStride, NOT_PRIVATE);
  MATRIX_C c = load_matrix_c(words[(LHS + RHS) / 4u], kRowMajor, kSumsStride, NOT_PRIVATE);
  MATRIX_C sums = multiply_add(a, b, c, SIGNS);
  store_matrix_c(words[(LHS + RHS) / 4u], sums, kRowMajor, kSumsStride, NOT_PRIVATE);
}
#endif

void main() {
  uint trial = gl_WorkGroupID.x;
  for (uint i = LANE; i < LHS + RHS + SUMS; i += LANES) PUT(i, data[trial * (LHS + RHS + SUMS) + i]);
  BARRIER();
  multiply();
  BARRIER();
  for (uint i = LANE; i < SUMS; i += LANES)
    answer[trial * SUMS + i] = words[(LHS + RHS + i) / 4u][(LHS + RHS + i) % 4u];
}
)";

}  // namespace

std::string MatrixProbeText(const MatrixShape& shape, const DeviceFacts& facts) {
  std::string text = ProbePrelude(facts) + "#extension GL_KHR_shader_subgroup_basic : require\n";
  if (!facts.matrices_stand_in) text += "#pragma use_vulkan_memory_model\n";
  const bool floats = IsFloating(shape.sum);
  text += spirv::MatrixDefines(shape, facts);
  text += fmt::format("#define Sum {}\n", floats ? "float" : shape.sum == ElementType::kS32 ? "int" : "uint");
  text +=
      shape.term == ElementType::kF16    ? "#define PROBE_TERM(word, i) unpackHalf2x16(word)[i]\n"
      : shape.term == ElementType::kBF16 ? "#define PROBE_TERM(word, i) uintBitsToFloat((word) >> 16u * (i) << 16)\n"
      // Of f16's exponent, or, 2^-8 of it, of one bit less; all ones are NaN there.
      : shape.term == ElementType::kF8E5M2
          ? "#define PROBE_TERM(word, i) unpackHalf2x16(bitfieldExtract(word, int(8u * (i)), 8) << 8).x\n"
      : shape.term == ElementType::kF8E4M3FN
          ? "float probe_term(uint bits) {\n"
            "  float value = 256.0 * unpackHalf2x16((bits & 0x80u) << 8 | (bits & 0x7fu) << 7).x;\n"
            "  return (bits & 0x7fu) == 0x7fu ? uintBitsToFloat(0x7fc00000u) : value;\n"
            "}\n"
            "#define PROBE_TERM(word, i) probe_term(bitfieldExtract(word, int(8u * (i)), 8))\n"
      : shape.term == ElementType::kS8 ? "#define PROBE_TERM(word, i) bitfieldExtract(int(word), int(8u * (i)), 8)\n"
                                       : "#define PROBE_TERM(word, i) bitfieldExtract(word, int(8u * (i)), 8)\n";
  text += facts.matrices_stand_in ? "#define LANE gl_LocalInvocationIndex\n" : "#define LANE gl_SubgroupInvocationID\n";
  return text + kProbeText;
}

}  // namespace VXLA_NAMESPACE::vulkan
