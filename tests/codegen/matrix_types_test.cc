// The modules of products on matrix units, which no driver for tests takes: their types, and what they declare.
#include "backend/vulkan/spirv/matrix_types.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/vulkan/device/plan/pretend.h"
#include "backend/vulkan/shader/module_compiler.h"
#include "backend/vulkan/spirv/spirv_words.h"
#include "tests/codegen/codegen_test_support.h"

namespace VXLA_NAMESPACE::vulkan {
namespace matrix_types_test {

// A GPU with units for every type: the shapes are AMD's of RDNA3, but for bytes, which are NVIDIA's.
DeviceFacts Units() {
  using enum ElementType;
  DeviceFacts facts = FullFacts();
  PretendGpu(facts);
  facts.vendor_id = 0x1002;
  facts.byte_offsets = facts.subgroup_shuffle = true;
  facts.subgroup_size = facts.matrix_lanes = 32;
  facts.max_shared_bytes = 49152;
  facts.matrices = {{kF16, kF32},    {kBF16, kF32},          {kF8E4M3FN, kF32},
                    {kF8E5M2, kF32}, {kS8, kS32, 16, 8, 32}, {kU8, kU32, 16, 8, 32}};
  return facts;
}

std::vector<uint32_t> ModuleOf(const std::string& type, const std::string& result) {
  const DeviceFacts facts = Units();
  const auto steps =
      LowerRoot(fmt::format("ENTRY e {{ a = {0}[2048,1024] parameter(0)  b = {0}[1024,2048] parameter(1)\n"
                            "  ROOT r = {1}[2048,2048] dot(a, b), lhs_contracting_dims={{1}}, "
                            "rhs_contracting_dims={{0}} }}",
                            type, result),
                facts);
  EXPECT_EQ(steps.at(0).kernel.algorithm, "dot/matmul_matrices.comp");
  const auto text = AssembleShader(steps[0].kernel, facts, BindingMode::kAddresses);
  EXPECT_TRUE(text.ok()) << text.status().message();
  const auto words = ShadercCompiler().compile(steps[0].kernel, *text, ModuleTarget(facts, BindingMode::kAddresses));
  EXPECT_TRUE(words.ok()) << words.status().message();
  return words.ok() ? *words : std::vector<uint32_t>();
}

// The declarations of the components of the matrix types, without ids; each stands before its matrices, once.
std::vector<std::vector<uint32_t>> ComponentsOf(const std::vector<uint32_t>& words) {
  std::vector<std::vector<uint32_t>> components;
  const spirv::Instructions instructions = spirv::Read(words);
  for (auto at = instructions.begin(); at != instructions.end(); ++at) {
    if (at->op() != spirv::kTypeCooperativeMatrix) continue;
    const auto declares = [&](const spirv::Instruction& i) {
      return (i.op() == spirv::OpTypeInt || i.op() == spirv::OpTypeFloat) && i.words[1] == at->words[2];
    };
    const auto component = std::find_if(instructions.begin(), at, declares);
    EXPECT_NE(component, at);
    if (component == at) continue;
    std::vector<uint32_t> type = component->words;
    type[1] = 0;
    EXPECT_EQ(std::ranges::count_if(instructions,
                                    [&](spirv::Instruction i) {
                                      if (i.words.size() > 1) i.words[1] = 0;
                                      return i.words == type;
                                    }),
              1);
    components.push_back(type);
  }
  return components;
}

TEST(MatrixTypesTest, ComponentsAreTypes) {
  using spirv::Make;
  using spirv::OpTypeFloat;
  using spirv::OpTypeInt;
  struct Case {
    const char *type, *result;
    std::vector<uint32_t> term, sum;
    std::vector<uint32_t> capabilities;
  };
  for (const Case& c : std::vector<Case>{
           {"f16", "f16", Make(OpTypeFloat, {0, 16}).words, Make(OpTypeFloat, {0, 32}).words, {6022, 9}},
           {"bf16", "f32", Make(OpTypeFloat, {0, 16, 0}).words, Make(OpTypeFloat, {0, 32}).words, {6022, 5116, 5118}},
           {"f8e4m3fn", "f32", Make(OpTypeFloat, {0, 8, 4214}).words, Make(OpTypeFloat, {0, 32}).words, {4212, 4213}},
           {"f8e5m2", "bf16", Make(OpTypeFloat, {0, 8, 4215}).words, Make(OpTypeFloat, {0, 32}).words, {4212, 4213}},
           {"s8", "s32", Make(OpTypeInt, {0, 8, 1}).words, Make(OpTypeInt, {0, 32, 1}).words, {6022, 39}},
           {"u8", "u32", Make(OpTypeInt, {0, 8, 0}).words, Make(OpTypeInt, {0, 32, 0}).words, {6022, 39}}}) {
    const std::vector<uint32_t> words = ModuleOf(c.type, c.result);
    const auto components = ComponentsOf(words);
    EXPECT_EQ(components.size(), 3u) << c.type;  // of both terms and of sums
    EXPECT_EQ(std::ranges::count(components, c.term), 2) << c.type;
    EXPECT_EQ(std::ranges::count(components, c.sum), 1) << c.type;
    for (const uint32_t capability : c.capabilities)
      EXPECT_TRUE(spirv::Declares(words, static_cast<spirv::Capability>(capability))) << c.type << capability;
    EXPECT_EQ(spirv::WithMatrixComponents(spirv::WithoutMatrixTypes(words)), spirv::WithoutMatrixTypes(words));
    EXPECT_TRUE(ComponentsOf(spirv::WithoutMatrixTypes(words)).empty());
    for (const spirv::Instruction& each : spirv::Read(spirv::WithoutMatrixTypes(words)))
      EXPECT_FALSE(each.op() == OpTypeFloat && each.words[2] == 8) << c.type << ": tools know no such floats";
  }
}

DeviceFacts GroupUnits() {
  DeviceFacts facts = Units();
  facts.vendor_id = 0x10de;
  for (MatrixShape matrix : facts.matrices) {
    matrix.rows = matrix.columns = matrix.k = 64;
    matrix.invocations = 128;
    facts.group_matrices.push_back(matrix);
  }
  return facts;
}

std::vector<uint32_t> GroupModuleOf(const std::string& text, BindingMode mode) {
  const DeviceFacts facts = GroupUnits();
  const auto steps = LowerRoot(text, facts, mode);
  EXPECT_EQ(steps.at(0).kernel.algorithm, "dot/matmul_tensors.comp") << text;
  const auto source = AssembleShader(steps[0].kernel, facts, mode);
  EXPECT_TRUE(source.ok()) << source.status().message();
  const auto compiled = ShadercCompiler().compile(steps[0].kernel, *source, ModuleTarget(facts, mode));
  EXPECT_TRUE(compiled.ok()) << text << compiled.status().message();
  return compiled.ok() ? *compiled : std::vector<uint32_t>();
}

size_t CountOf(const std::vector<uint32_t>& words, uint32_t op) {
  return static_cast<size_t>(
      std::ranges::count_if(spirv::Read(words), [op](const spirv::Instruction& each) { return each.op() == op; }));
}

// Every type and way that operands lie, whole tiles and such at the edges, in shares; results that are stored one by
// one.
TEST(MatrixTypesTest, EveryModuleOfWorkgroupsCompiles) {
  struct Case {
    const char *type, *result;
    int lhs, rhs, rows, k, columns;
    size_t layouts, functions;
  };
  for (const Case& c : std::vector<Case>{{"f16", "f32", 1, 0, 2048, 2048, 2048, 1, 0},
                                         {"f16", "f16", 0, 1, 2048, 2048, 2048, 1, 1},
                                         {"bf16", "bf16", 1, 1, 80, 96, 73, 2, 1},
                                         {"bf16", "f32", 0, 0, 128, 4096, 64, 1, 0},
                                         {"f8e4m3fn", "f32", 1, 0, 80, 112, 80, 2, 0},
                                         {"f8e5m2", "f32", 0, 1, 80, 112, 80, 2, 0},
                                         {"s8", "s32", 1, 0, 80, 112, 80, 2, 0},
                                         {"u8", "u32", 0, 1, 80, 112, 80, 2, 0}}) {
    const auto operand = [&](int contracted, int free) {
      return contracted == 1 ? fmt::format("{}[{},{}]", c.type, free, c.k)
                             : fmt::format("{}[{},{}]", c.type, c.k, free);
    };
    const std::string text = fmt::format(
        "ENTRY e {{ a = {} parameter(0)  b = {} parameter(1)\n"
        "  ROOT r = {}[{},{}] dot(a, b), lhs_contracting_dims={{{}}}, rhs_contracting_dims={{{}}} }}",
        operand(c.lhs, c.rows), operand(c.rhs, c.columns), c.result, c.rows, c.columns, c.lhs, c.rhs);
    for (const BindingMode mode : {BindingMode::kAddresses, BindingMode::kDescriptors}) {
      const std::vector<uint32_t> words = GroupModuleOf(text, mode);
      EXPECT_EQ(CountOf(words, spirv::kTypeTensorLayout), c.layouts) << text;
      EXPECT_EQ(CountOf(words, spirv::kTypeTensorView), c.lhs == 0 || c.rhs == 1 ? 1u : 0u) << text;
      EXPECT_EQ(CountOf(words, spirv::kCooperativeMatrixPerElementOp), c.functions) << text;
      EXPECT_EQ(CountOf(words, spirv::kCooperativeMatrixStoreTensor), 1u) << text;
    }
  }
  const std::vector<uint32_t> two = GroupModuleOf(R"(
f { p = bf16[80,96] parameter(0)  q = bf16[96,72] parameter(1)
  d = f32[80,72] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  n = f32[80,72] negate(d)  c = bf16[80,72] convert(d)  ROOT r = (f32[80,72], bf16[80,72]) tuple(n, c) }
ENTRY e { a = bf16[80,96] parameter(0)  b = bf16[96,72] parameter(1)
  ROOT r = (f32[80,72], bf16[80,72]) fusion(a, b), kind=kOutput, calls=f })",
                                                  BindingMode::kAddresses);
  EXPECT_EQ(CountOf(two, spirv::kCooperativeMatrixPerElementOp), 1u);
  EXPECT_EQ(CountOf(two, spirv::kCooperativeMatrixStoreTensor), 0u);
}

// Of whole workgroups: types behind the workgroup's size, the element's function by its id, layouts and views that
// tools without them can do without.
TEST(MatrixTypesTest, WorkgroupsApplyAFunction) {
  constexpr const char* kText = R"(
f { p = bf16[80,96] parameter(0)  q = bf16[72,96] parameter(1)
  d = bf16[80,72] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={1}  ROOT r = bf16[80,72] tanh(d) }
ENTRY e { a = bf16[80,96] parameter(0)  b = bf16[72,96] parameter(1)
  ROOT r = bf16[80,72] fusion(a, b), kind=kOutput, calls=f })";
  for (const BindingMode mode : {BindingMode::kAddresses, BindingMode::kDescriptors}) {
    const std::vector<uint32_t> compiled = GroupModuleOf(kText, mode);
    ASSERT_FALSE(compiled.empty());
    EXPECT_EQ(compiled[spirv::kVersionWord], 0x10600u);
    for (const uint32_t capability : {6022u, 5439u, 5433u, 5432u, 5431u, 5116u, 5118u, 5345u})
      EXPECT_TRUE(spirv::Declares(compiled, static_cast<spirv::Capability>(capability))) << capability;
    std::vector<uint32_t> functions, sizes, applied;
    size_t at = 0, first_matrix = 0, last_size = 0;
    for (const spirv::Instruction& each : spirv::Read(compiled)) {
      ++at;
      if (each.op() == spirv::OpFunction) functions.push_back(each.words[2]);
      if (each.op() == spirv::OpExecutionModeId) sizes.assign(each.words.begin() + 3, each.words.end());
      if (each.op() == spirv::OpSpecConstant && std::ranges::find(sizes, each.words[2]) != sizes.end()) last_size = at;
      if (each.op() == spirv::kTypeCooperativeMatrix && first_matrix == 0) first_matrix = at;
      if (each.op() == spirv::kCooperativeMatrixPerElementOp) applied = each.words;
    }
    EXPECT_GT(last_size, 0u);
    EXPECT_LT(last_size, first_matrix);
    ASSERT_EQ(applied.size(), 9u);  // a type, a result, sums and a function; a batch, two places, a share
    EXPECT_NE(std::ranges::find(functions, applied[4]), functions.end());
    EXPECT_EQ(CountOf(compiled, spirv::kTypeTensorLayout), 2u);  // inside, and at the edges
    EXPECT_EQ(CountOf(compiled, spirv::kTypeTensorView), 1u);
    EXPECT_EQ(CountOf(compiled, spirv::kCooperativeMatrixLoadTensor), 4u);
    EXPECT_EQ(CountOf(compiled, spirv::kCooperativeMatrixStoreTensor), 1u);
    EXPECT_EQ(CountOf(compiled, spirv::kTypeCooperativeMatrix), 3u);  // results are matrices as lhs is
  }
}

}  // namespace matrix_types_test
}  // namespace VXLA_NAMESPACE::vulkan
