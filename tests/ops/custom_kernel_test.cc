// Custom calls by the user's kernels, on every driver and under both ways to bind.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "backend/cpu/reference/evaluator.h"
#include "backend/vulkan/shader/custom_shader.h"
#include "backend/vulkan/shader/shader_compiler.h"
#include "core/passes/base/verifier.h"
#include "core/text/hlo_parser.h"
#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing::custom_kernel_test {
namespace {

using ::testing::HasSubstr;

CustomKernels Kernels(std::initializer_list<std::pair<const char*, std::string>> texts) {
  CustomKernels kernels;
  for (const auto& [name, text] : texts)
    kernels[name] = {CustomKernel::Language::kGlsl, text, std::string(name) + ".comp"};
  return kernels;
}

Result<Literal> RunWith(BindingMode mode, const std::string& hlo, const CustomKernels& kernels,
                        const std::vector<Literal>& arguments, int runs = 1) {
  const auto module = ParseModule(hlo);
  if (module == nullptr) return Internal("no module");
  const std::shared_ptr<Device> device(&DeviceClient(mode)->device(), [](Device*) {});
  ClientOptions options;
  options.kernels = kernels;
  options.poison = true;
  const HostEvaluator evaluate = [](const Instruction& i, std::span<const Literal* const> operands) {
    return EvaluateInstruction(i, operands);
  };
  Client client(device, evaluate, options);
  CompileOptions compile;
  compile.require_gpu = true;
  VXLA_ASSIGN_OR_RETURN(const auto executable, client.Compile(*module, compile));
  std::vector<const Literal*> pointers;
  for (const Literal& argument : arguments) pointers.push_back(&argument);
  Result<Literal> result = executable->Run(pointers);
  for (int run = 1; run < runs && result.ok(); ++run) {
    Result<Literal> again = executable->Run(pointers);
    EXPECT_TRUE(again.ok() && *again == *result);
  }
  for (const std::string& message : device->validation_messages()) ADD_FAILURE() << message;
  return result;
}

std::string Message(const std::string& hlo, const CustomKernels& kernels, const std::vector<Literal>& arguments,
                    BindingMode mode = BindingMode::kAddresses) {
  return RunWith(mode, hlo, kernels, arguments).status().message();
}

Literal Floats(std::vector<int64_t> sizes, std::vector<float> values) {
  return Literal::FromVector<float>(Shape(ElementType::kF32, std::move(sizes)), std::span<const float>(values));
}
Literal Counted(int64_t count) {
  Literal literal(Shape(ElementType::kF32, {count}));
  for (int64_t i = 0; i < count; ++i)
    literal.mutable_data<float>()[static_cast<size_t>(i)] = static_cast<float>(i % 1000);
  return literal;
}

constexpr char kCopy[] = "void vxla_element(uint i) { SET_OUT0(i, IN0(i)); }\n";

void ExpectCopied(BindingMode mode, const Shape& shape) {
  const Literal x = RandomLiteral(shape, 5);
  const std::string text = fmt::format(
      "HloModule m\nENTRY e {{ x = {0} parameter(0)\nROOT r = {0} custom-call(x), custom_call_target=\"copy\" }}",
      shape.ToString());
  const auto result = RunWith(mode, text, Kernels({{"copy", kCopy}}), {x});
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_TRUE(*result == x) << shape.ToString();
}

// Every type in its own storage, packed or emulated where the device lacks it; scalars, primes, nothing at all.
TEST(CustomKernelTest, EveryElementTypeAndShapeIsCopied) {
  const std::vector<BindingMode> modes = ModesToRun();
  for (int t = 0; t < kElementTypeCount; ++t) {
    const auto type = static_cast<ElementType>(t);
    if (IsArrayElement(type)) ExpectCopied(modes[static_cast<size_t>(t) % modes.size()], Shape(type, {7, 3}));
  }
  const std::vector<std::vector<int64_t>> shapes{{}, {0, 4}, {1}, {2, 1, 3, 1, 2, 5}, {70001}};
  for (const auto& sizes : shapes) {
    for (const BindingMode mode : modes) ExpectCopied(mode, Shape(ElementType::kF32, sizes));
  }
}

// More elements than 65,535 groups of one invocation have.
TEST(CustomKernelTest, ManyGroupsAreAGrid) {
  const Literal x = Counted(200003);
  const auto result = RunWith(BindingMode::kAddresses,
                              "HloModule m\nENTRY e { x = f32[200003] parameter(0)\n"
                              "ROOT r = f32[200003] custom-call(x), custom_call_target=\"copy\" }",
                              Kernels({{"copy", std::string("#pragma vxla local_size(1)\n") + kCopy}}), {x});
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_TRUE(*result == x);
}

// main(), shared memory, groups from the sizes, functions with the names of the library's, attributes, tuples in and
// out, neighbours before and behind that fuse among themselves.
TEST(CustomKernelTest, AMainWithGroupsOfItsOwn) {
  const CustomKernels kernels = Kernels({{"rows", R"(// sums and maxima of rows, times a scale
#pragma vxla local_size(32)
#pragma vxla groups(IN0_DIM0)
shared float partial[32];
float add_f32(float a, float b) { return a + b; }
float F = 0.0;
void main() {
  uint row = gl_WorkGroupID.x, lane = gl_LocalInvocationID.x;
  float sum = F;
  for (uint c = lane; c < IN0_DIM1; c += 32u) sum = add_f32(sum, IN0(row * IN0_DIM1 + c));
  partial[lane] = sum;
  barrier();
  if (lane != 0u) return;
  for (uint k = 1u; k < 32u; ++k) sum = add_f32(sum, partial[k]);
  SET_OUT0(row, ATTR_scale * sum + float(ATTR_shifts[1]));
  SET_OUT1(row, int(IN0_DIM1) + int(IN1(0)) + OUT1_RANK + ATTR_shifts_SIZE + (ATTR_on ? 100 : 0));
}
)"}});
  const std::string text = R"(HloModule m
ENTRY e {
  x = f32[3,70] parameter(0)
  k = s64[2] parameter(1)
  a = f32[3,70] negate(x)
  b = f32[3,70] multiply(a, x)
  t = (f32[3,70], s64[2]) tuple(b, k)
  r = (f32[3], s32[3]) custom-call(t), custom_call_target="rows", backend_config={scale = 2.0 : f32, shifts = array<i32: 1, 5>, on = true}
  s = f32[3] get-tuple-element(r), index=0
  n = s32[3] get-tuple-element(r), index=1
  u = f32[3] negate(s)
  ROOT q = (f32[3], s32[3], f32[3]) tuple(u, n, s)
})";
  std::vector<float> values(210);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7);
  float sums[3] = {};
  for (size_t i = 0; i < values.size(); ++i) sums[i / 70] -= values[i] * values[i];
  Literal k(Shape(ElementType::kS64, {2}));
  k.SetInt(0, 4);
  for (const BindingMode mode : ModesToRun()) {
    // An s64 is a pair of words where the device has none, so the text takes its low one.
    CustomKernels own = kernels;
    if (!DeviceClient(mode)->device().facts().int64) {
      std::string& source = own["rows"].text;
      source.replace(source.find("int(IN1(0))"), 11, "int(IN1(0).x)");
    }
    const auto result = RunWith(mode, text, own, {Floats({3, 70}, values), k}, 2);
    ASSERT_TRUE(result.ok()) << result.status().message();
    for (int64_t row = 0; row < 3; ++row) {
      EXPECT_EQ(result->tuple_elements()[0].GetDouble(row), -(2 * sums[row] + 5));
      EXPECT_EQ(result->tuple_elements()[1].GetInt(row), 70 + 4 + 1 + 2 + 100);
    }
  }
}

constexpr char kBuffers[] = R"(#version 450
layout(local_size_x = 16) in;
layout(constant_id = 48) const uint count = 1u;  // of tensor 2, the result
layout(std430, set = 0, binding = 1) readonly buffer A { float a[]; };
layout(std430, set = 0, binding = 2) readonly buffer B { float b[]; };
layout(std430, set = 0, binding = 3) writeonly buffer C { float c[]; };
void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < count) c[i] = a[i] - b[i];
}
)";
constexpr char kAddressed[] = R"(#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
layout(local_size_x = 16) in;
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats { float v[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Block { uvec2 address[3]; };
layout(push_constant) uniform Push { Block block; };
layout(constant_id = 48) const uint count = 1u;
void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < count) Floats(block.address[2]).v[i] = Floats(block.address[0]).v[i] - Floats(block.address[1]).v[i];
}
)";
constexpr char kDifference[] =
    "HloModule m\nENTRY e { x = f32[37] parameter(0)  y = f32[37] parameter(1)\n"
    "ROOT r = f32[37] custom-call(x, y), custom_call_target=\"difference\" }";

// A whole shader of the user's, as GLSL and as SPIR-V, with buffers or with addresses.
TEST(CustomKernelTest, WholeShadersAndModules) {
  const Literal x = Counted(37), y = RandomLiteral(Shape(ElementType::kF32, {37}), 3);
  for (const BindingMode mode : ModesToRun()) {
    const char* const text = mode == BindingMode::kAddresses ? kAddressed : kBuffers;
    CustomKernels kernels = Kernels({{"difference", text}});
    const auto glsl = RunWith(mode, kDifference, kernels, {x, y}, 2);
    ASSERT_TRUE(glsl.ok()) << glsl.status().message();
    for (int64_t i = 0; i < 37; ++i) EXPECT_EQ(glsl->GetDouble(i), static_cast<float>(x.GetDouble(i) - y.GetDouble(i)));
    const auto words = vulkan::CompileGlsl(text, "difference", {});
    ASSERT_TRUE(words.ok()) << words.status().message();
    kernels["difference"] = {CustomKernel::Language::kSpirv, vulkan::ModuleBytes(*words), "difference.spv"};
    const auto spirv = RunWith(mode, kDifference, kernels, {x, y});
    ASSERT_TRUE(spirv.ok()) << spirv.status().message();
    EXPECT_TRUE(*spirv == *glsl);
  }
}

// The result lies where the operand lay: a cell changes, the rest stays; in a loop without a copy.
TEST(CustomKernelTest, AnAliasedResultIsWrittenInPlace) {
  const CustomKernels kernels = Kernels({{"mark",
                                          "#pragma vxla groups(1)\n#pragma vxla local_size(1)\n"
                                          "void main() { SET_OUT0(uint(IN1(0)), OUT0(uint(IN1(0))) + 10.0); }\n"}});
  const std::string text = R"(HloModule m
c { s = (s32[], f32[6]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(4)  ROOT p = pred[] compare(i, n), direction=LT }
b { s = (s32[], f32[6]) parameter(0)  i = s32[] get-tuple-element(s), index=0  x = f32[6] get-tuple-element(s), index=1
    y = f32[6] custom-call(x, i), custom_call_target="mark", output_to_operand_aliasing={{}: (0, {})}
    one = s32[] constant(1)  j = s32[] add(i, one)  ROOT t = (s32[], f32[6]) tuple(j, y) }
ENTRY e { x = f32[6] parameter(0)  z = s32[] constant(0)  s = (s32[], f32[6]) tuple(z, x)
  w = (s32[], f32[6]) while(s), condition=c, body=b  r = f32[6] get-tuple-element(w), index=1  ROOT t = (f32[6], f32[6]) tuple(r, x) })";
  for (const BindingMode mode : ModesToRun()) {
    const auto result = RunWith(mode, text, kernels, {Floats({6}, {1, 2, 3, 4, 5, 6})}, 2);
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_TRUE(result->tuple_elements()[0] == Floats({6}, {11, 12, 13, 14, 5, 6}));
    EXPECT_TRUE(result->tuple_elements()[1] == Floats({6}, {1, 2, 3, 4, 5, 6}));
  }
}

// Elements count in the order of the layouts that the call states, here columns first.
TEST(CustomKernelTest, LayoutsAreThoseOfTheConstraints) {
  const CustomKernels kernels = Kernels({{"k", R"(#extension GL_EXT_control_flow_attributes : require
/* void unused() { */
float from_first(uint i) { return IN0(i) - IN0(0u); }  // 0 2 4 ... when columns come first
void vxla_element(uint i) { SET_OUT0(i, from_first(i) + 100.0 * float(i)); }
)"}});
  const std::string text =
      "HloModule m\nENTRY e { x = f32[3,2] parameter(0)\nROOT r = f32[3,2]{0,1} custom-call(x), "
      "custom_call_target=\"k\", "
      "operand_layout_constraints={f32[3,2]{0,1}} }";
  for (const BindingMode mode : ModesToRun()) {
    const auto result = RunWith(mode, text, kernels, {Floats({3, 2}, {1, 2, 3, 4, 5, 6})});
    ASSERT_TRUE(result.ok()) << result.status().message();
    std::vector<double> values;
    for (int64_t i = 0; i < 6; ++i) values.push_back(result->GetDouble(i));
    EXPECT_THAT(values, ::testing::ElementsAre(0, 301, 102, 403, 204, 505));
  }
  EXPECT_THAT(RunWith(BindingMode::kDescriptors, text, Kernels({{"k", kBuffers}}), {Floats({3, 2}, {1, 2, 3, 4, 5, 6})})
                  .status()
                  .message(),
              HasSubstr("is not row-major: only kernels without #version reach its elements"));
}

std::string Call(const std::string& tail = "", const std::string& shape = "f32[37]") {
  return fmt::format(
      "HloModule m\nENTRY e {{ x = {0} parameter(0)\nROOT r = {0} custom-call(x), custom_call_target=\"k\"{1} }}",
      shape, tail);
}

TEST(CustomKernelTest, GlslThatDoesNotCompileShowsTheUsersLine) {
  const std::string message = Message(
      Call(), Kernels({{"k", "\nvoid vxla_element(uint i) {\n  SET_OUT0(i, IN0(i) * nothing);\n}\n"}}), {Counted(37)});
  EXPECT_THAT(message,
              HasSubstr("kernel k.comp does not compile:\nk.comp:3: error: 'nothing' : undeclared identifier"));
  EXPECT_THAT(message, HasSubstr(">    3   SET_OUT0(i, IN0(i) * nothing);\n"));
  EXPECT_THAT(
      Message(Call(), Kernels({{"k", "#version 450\nlayout(local_size_x = 8) in;\nvoid main() { missing(); }\n"}}),
              {Counted(37)}),
      HasSubstr("k.comp:3: error: 'missing' : no matching overloaded function found\n     1 #version 450\n"
                "     2 layout(local_size_x = 8) in;\n>    3 void main() { missing(); }\n"));
}

// A kernel states the shapes that it takes, in its text or, where it is SPIR-V, beside it.
TEST(CustomKernelTest, AShapeRuleRefusesOtherShapes) {
  CustomKernels kernels =
      Kernels({{"k", std::string("#pragma vxla shape(IN0_RANK == 1, OUT0_DIM0 == IN0_DIM0)\n") + kCopy}});
  EXPECT_TRUE(RunWith(BindingMode::kAddresses, Call(), kernels, {Counted(37)}).ok());
  kernels["k"].rules = "\n shape(n <= 37) \n";
  EXPECT_TRUE(RunWith(BindingMode::kAddresses, Call(), kernels, {Counted(37)}).ok());
  kernels["k"].rules += "shape(n - 2 * floor(n / 2) == 0)";
  EXPECT_EQ(Message(Call(), kernels, {Counted(37)}),
            "custom-call r, kernel k.comp: it takes shapes with n - 2 * floor(n / 2) == 0, and here that is 1 == 0");
  kernels["k"].rules = "shape(LOCAL_X == 1)";
  EXPECT_EQ(Message(Call(), kernels, {Counted(37)}),
            "custom-call r, kernel k.comp: shape \"LOCAL_X \": there is no LOCAL_X here");
  kernels["k"].rules = "shapes(n == 1)";
  EXPECT_EQ(Message(Call(), kernels, {Counted(37)}),
            "custom-call r, kernel k.comp: #pragma vxla shapes(n == 1): local_size(x, y, z), groups(x, y, z) or "
            "shape(a == b, ...) is needed");
}

TEST(CustomKernelTest, WhatDoesNotFitTheCallIsRefused) {
  const auto message = [](const std::string& glsl, const std::string& hlo = Call(),
                          BindingMode mode = BindingMode::kAddresses) {
    return Message(hlo, Kernels({{"k", glsl}}), {Counted(37)}, mode);
  };
  const std::string head = "custom-call r, kernel k.comp: ";
  EXPECT_EQ(message("#pragma vxla grups(2)\nvoid main() {}\n"),
            head + "#pragma vxla grups(2): local_size(x, y, z), groups(x, y, z) or shape(a == b, ...) is needed");
  EXPECT_EQ(message("float helper(float x) { return x; }\n"),
            head + "it defines neither void vxla_element(uint i) nor void main()");
  EXPECT_EQ(message("#pragma vxla groups(m)\nvoid main() {}\n"), head + "groups \"m\": there is no m here");
  EXPECT_THAT(message("#pragma vxla groups(n / 2)\nvoid main() {}\n"),
              HasSubstr("groups \"n / 2\" along x are 18.5, and "));
  EXPECT_THAT(message("#pragma vxla groups(1, 0)\nvoid main() {}\n"), HasSubstr("groups \"0\" along y are 0, and "));
  EXPECT_THAT(message("#pragma vxla local_size(99999)\nvoid main() {}\n"),
              HasSubstr("local_size along x: \"99999\" is no size of a workgroup"));
  EXPECT_THAT(message("#pragma vxla local_size(1, 1, 9999)\nvoid main() {}\n"),
              HasSubstr("a workgroup of 9999 along z, and "));
  EXPECT_EQ(message(kCopy, Call(", backend_config={groups = \"3\"}")),
            head + "vxla_element runs once for each element of the result: groups are for main()");
  EXPECT_THAT(message(kCopy, Call(", backend_config={a = 1 : q}")), HasSubstr("\"q\" is no type of numbers"));
  EXPECT_THAT(message(kBuffers), HasSubstr("which --bindings=descriptors binds"));
  EXPECT_THAT(message(kAddressed, Call(), BindingMode::kDescriptors), HasSubstr("which --bindings=addresses gives"));
  EXPECT_THAT(
      message(kBuffers, Call(), BindingMode::kDescriptors),
      HasSubstr("its buffer C is set 0 binding 3; set 0 has the argument block at binding 0 and operands and results "
                "at 1 to 2"));
}

TEST(CustomKernelTest, WordsThatAreNoModuleAreRefused) {
  const auto message = [](const std::string& bytes) {
    CustomKernels kernels;
    kernels["k"] = {CustomKernel::Language::kSpirv, bytes, "k.spv"};
    return Message(Call(), kernels, {Counted(37)});
  };
  EXPECT_EQ(message("abc"),
            "custom-call r, kernel k.spv: no SPIR-V module: it begins with 3 bytes, 0x07230203 is needed");
  EXPECT_EQ(message("abcdefgh"),
            "custom-call r, kernel k.spv: no SPIR-V module: it begins with 0x64636261, 0x07230203 is needed");
  const auto words = vulkan::CompileGlsl("#version 450\nvoid main() {}\n", "k", {});
  EXPECT_EQ(message(vulkan::ModuleBytes(*words).substr(0, 60)),
            "custom-call r, kernel k.spv: the SPIR-V module is cut off or broken");
  const auto image = vulkan::CompileGlsl(
      "#version 450\nlayout(set = 0, binding = 1, r32f) uniform image2D picture;\n"
      "void main() { imageStore(picture, ivec2(0), vec4(1)); }\n",
      "k", {});
  EXPECT_EQ(message(vulkan::ModuleBytes(*image)), "kernel k.spv: it uses picture, and only storage buffers are bound");
}

// 64-bit floats of GLSL's own are the device's or nothing.
TEST(CustomKernelTest, WhatTheDeviceLacksIsNamed) {
  const std::string text = "void vxla_element(uint i) { double d = double(IN0(i)); SET_OUT0(i, float(d * d)); }\n";
  const auto result = RunWith(BindingMode::kAddresses, Call(), Kernels({{"k", text}}), {Counted(37)});
  if (DeviceClient(BindingMode::kAddresses)->device().facts().float64) {
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(result->GetDouble(5), 25);
  } else {
    EXPECT_EQ(result.status().code(), StatusCode::kUnsupported);
    EXPECT_THAT(result.status().message(), HasSubstr("it declares the capability Float64, which is not enabled on "));
  }
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing::custom_kernel_test
