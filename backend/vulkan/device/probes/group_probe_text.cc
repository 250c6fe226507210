// The probe of products of whole workgroups as a kernel.
#include <fmt/format.h>

#include "backend/vulkan/device/probes/group_probe.h"
#include "backend/vulkan/spirv/matrix_types.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Of parameters, so that compilers know no more than those of other kernels do.
constexpr const char* kSizes = R"(TENSOR(1, u32)
#define GROUP_COUNT 4u
#define ROW_TILES 2u
#define COLUMN_TILES 2u
#define ROW_COUNT P(0)
#define COLUMNS P(1)
#define STEP_COUNT P(2)
#define SHARES 1u
#define SHARE_STEPS STEP_COUNT
#define SPLIT 0
#define RASTER 1
#define EDGES 1
#define STORES 1
void store(uint batch, uint row, uint column, uint share, Sum sum) {
  STORE(1, u32, row * COLUMNS + column, BITS_OF(sum));
}
)";

}  // namespace

KernelKey GroupProbeKey(const MatrixShape& matrix, const DeviceFacts& facts) {
  const GroupProbeShape shape(matrix);
  const bool floats = IsFloating(matrix.sum), halves = IsOfHalves(matrix);
  const std::string type(ElementTypeName(matrix.term)), tag = shape.per_word == 2 ? "u16" : "u8";
  // Of a tensor the first element of sixteen bytes, where layouts begin; a word for plain code.
  const auto sixteen = [&](int k, const std::string& of) {
    return facts.matrices_stand_in ? fmt::format("LOAD({}, u32, i)", k)
                                   : fmt::format("ELEMENT({}, {}, {}u * (i))", k, of,
                                                 of == "u32"   ? 4
                                                 : of == "u16" ? 8
                                                               : 16);
  };
  std::string text = fmt::format("#define Sum {}\n#define X {}u\n",
                                 floats                            ? "float"
                                 : matrix.sum == ElementType::kS32 ? "int"
                                                                   : "uint",
                                 matrix.invocations);
  text += spirv::MatrixDefines(matrix, facts) + kSizes;
  text += fmt::format("TENSOR(0, {0})\n#define TERM_ELEMENT TYPE_{0}\n", facts.matrices_stand_in ? "u32" : tag);
  const auto operand = [&](const char* name, bool along_k, const std::string& across, uint32_t first) {
    text += fmt::format(
        "#define {0}(i) {1}\n#define {0}_FIRST(batch) {2}u\n#define {0}_ALONG_K {3}\n"
        "#define {0}_STRIDE ({4} & ~{5}u)\n",
        name, sixteen(0, tag), first / 4, along_k ? 1 : 0, along_k ? "STEP_COUNT" : across, 4 * shape.per_word - 1);
  };
  operand("LHS", shape.lhs_along_k, "ROW_COUNT", kGroupProbeArguments);
  operand("RHS", shape.rhs_along_k, "COLUMNS", kGroupProbeArguments + shape.lhs_words());
  const uint32_t sums = shape.rows * shape.columns;
  text += fmt::format(
      "#define RESULT(i) {}\n#define RESULT_ELEMENT TYPE_{}\n#define RESULT_FIRST(batch, share) {}u\n"
      "#define RESULT_ALONG {}u\n#define RESULT_TYPE {}\n#define FINISHES {}\n",
      sixteen(1, halves ? "u16" : "u32"), halves ? "u16" : "u32", sums / 4, halves ? 8 : 4, halves ? 2 : 1,
      halves ? 1 : 0);
  if (halves) {
    text += fmt::format(
        "TENSOR(1, u16)\n#define PUT_RESULT(i, value) STORE(1, u16, i, encode_{0}(value))\n"
        "float finish(uint batch, uint row, uint column, uint share, float sum) {{ return round_{0}(sum); }}\n",
        type);
  } else {
    text += "#define PUT_RESULT(i, value) STORE(1, u32, i, BITS_OF(value))\n";
  }
  KernelKey key;
  key.algorithm = "dot/matmul_tensors.comp";
  key.generated = text;
  key.constants = {matrix.invocations, 1, 1};
  key.buffer_count = 2;
  key.param_count = 3;
  key.small_subgroups = true;
  return key;
}

}  // namespace VXLA_NAMESPACE::vulkan
