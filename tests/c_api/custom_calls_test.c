// Custom calls by what a C program registers: kernels in GLSL and SPIR-V, functions of its own and of XLA's signatures.
#include <stdlib.h>

#include "tests/c_api/c_values.h"

static const char kTwice[] =
    "HloModule m\n"
    "ENTRY e {\n"
    "  x = f32[8] parameter(0)\n"
    "  a = f32[8] negate(x)\n"
    "  b = f32[8] custom-call(a), custom_call_target=\"twice\"\n"
    "  ROOT r = f32[8] negate(b)\n"
    "}\n";

static const char kTwiceGlsl[] =
    "#pragma vxla shape(OUT0_DIM0 == IN0_DIM0, IN0_DIM0 <= 8)\n"
    "void vxla_element(uint i) { SET_OUT0(i, 2.0 * IN0(i)); }\n";

// b[i] = 3 a[i] of workgroups of four, i = gl_GlobalInvocationID.x; a at binding 1, b at binding 2.
static const uint32_t kThreeTimesSpirv[] = {
    0x7230203,  0x10000, 0x8000b, 0x24,    0,       0x20011, 1,       0x6000b, 1,          0x4c534c47, 0x6474732e,
    0x3035342e, 0,       0x3000e, 0,       1,       0x6000f, 5,       4,       0x6e69616d, 0,          0x10,
    0x60010,    4,       0x11,    4,       1,       1,       0x40047, 7,       6,          4,          0x40048,
    8,          0,       0x19,    0x50048, 8,       0,       0x23,    0,       0x30047,    8,          3,
    0x40047,    0xa,     0x22,    0,       0x40047, 0xa,     0x21,    2,       0x40047,    0x10,       0xb,
    0x1c,       0x40047, 0x16,    6,       4,       0x40048, 0x17,    0,       0x18,       0x50048,    0x17,
    0,          0x23,    0,       0x30047, 0x17,    3,       0x40047, 0x19,    0x22,       0,          0x40047,
    0x19,       0x21,    1,       0x40047, 0x23,    0xb,     0x19,    0x20013, 2,          0x30021,    3,
    2,          0x30016, 6,       0x20,    0x3001d, 7,       6,       0x3001e, 8,          7,          0x40020,
    9,          2,       8,       0x4003b, 9,       0xa,     2,       0x40015, 0xb,        0x20,       1,
    0x4002b,    0xb,     0xc,     0,       0x40015, 0xd,     0x20,    0,       0x40017,    0xe,        0xd,
    3,          0x40020, 0xf,     1,       0xe,     0x4003b, 0xf,     0x10,    1,          0x4002b,    0xd,
    0x11,       0,       0x40020, 0x12,    1,       0xd,     0x4002b, 6,       0x15,       0x40400000, 0x3001d,
    0x16,       6,       0x3001e, 0x17,    0x16,    0x40020, 0x18,    2,       0x17,       0x4003b,    0x18,
    0x19,       2,       0x40020, 0x1c,    2,       6,       0x4002b, 0xd,     0x21,       4,          0x4002b,
    0xd,        0x22,    1,       0x6002c, 0xe,     0x23,    0x21,    0x22,    0x22,       0x50036,    2,
    4,          0,       3,       0x200f8, 5,       0x50041, 0x12,    0x13,    0x10,       0x11,       0x4003d,
    0xd,        0x14,    0x13,    0x50041, 0x12,    0x1a,    0x10,    0x11,    0x4003d,    0xd,        0x1b,
    0x1a,       0x60041, 0x1c,    0x1d,    0x19,    0xc,     0x1b,    0x4003d, 6,          0x1e,       0x1d,
    0x50085,    6,       0x1f,    0x15,    0x1e,    0x60041, 0x1c,    0x20,    0xa,        0xc,        0x14,
    0x3003e,    0x20,    0x1f,    0x100fd, 0x10038};

static VxlaDevice Open(const char* bindings) {
  VxlaDeviceInfo info = {.struct_size = sizeof(info), .flags = VXLA_DEVICE_CHECK_HANDLES, .bindings = bindings};
  info.device = getenv("VXLA_TEST_DEVICE");
  info.validate = getenv("VXLA_TEST_VALIDATE");
  VxlaDevice device = NULL;
  EXPECT_OK(vxlaCreateDevice(&info, &device, &message));
  return device;
}

static const float kArgument[8] = {0, 1, 2, 3, 4, 5, 6, 7};

// The program gives `factor` times its argument.
static void ExpectTimes(VxlaExecutable executable, float factor) {
  float y[8] = {0};
  const VxlaConstBytes argument = {kArgument, sizeof(kArgument)};
  const VxlaBytes result = {y, sizeof(y)};
  EXPECT_OK(vxlaRun(executable, 1, &argument, 1, &result, &message));
  for (int i = 0; i < 8; ++i) EXPECT(y[i] == factor * kArgument[i]);
}

static VxlaCode Diff(VxlaDevice device, const char* text, const char* report_part) {
  VxlaCompileInfo info = {.struct_size = sizeof(info), .text = text};
  const VxlaConstBytes argument = {kArgument, sizeof(kArgument)};
  VxlaMessage report = NULL;
  const VxlaCode code = vxlaDiff(device, &info, 1, &argument, &report, NULL);
  EXPECT(strstr(vxlaMessageText(report), report_part) != NULL);
  vxlaFreeMessage(report);
  return code;
}

// Of the user's data: how much it multiplies by, and how often it was called.
typedef struct Scale {
  float factor;
  int calls;
} Scale;

static const char* ScaleOnHost(void* user_data, const VxlaHostCall* call) {
  Scale* scale = user_data;
  ++scale->calls;
  EXPECT(call->struct_size >= sizeof(VxlaHostCall) && call->operand_count == 1 && call->result_count == 1);
  const VxlaArray* array = call->operand_arrays[0];
  EXPECT(array->struct_size >= sizeof(VxlaArray) && array->element_type == VXLA_F32 && array->rank == 1);
  EXPECT(array->dimensions[0] == 8 && array->size_bytes == 32 && call->operands[0].size_bytes == 32);
  EXPECT(call->result_arrays[0]->dimensions[0] == 8 && call->results[0].size_bytes == 32);
  EXPECT(call->backend_config_size == strlen(call->backend_config));
  if (strcmp(call->backend_config, "fail") == 0) return "as it was told";
  for (int i = 0; i < 8; ++i)
    ((float*)call->results[0].data)[i] = scale->factor * ((const float*)call->operands[0].data)[i];
  return NULL;
}

// (s32[], f32[2,3]) of ((s32[], f32[2,3])): leaves in their order.
static const char* Leaves(void* user_data, const VxlaHostCall* call) {
  (void)user_data;
  EXPECT(call->operand_count == 2 && call->result_count == 2);
  EXPECT(call->operand_arrays[0]->rank == 0 && call->operand_arrays[0]->element_type == VXLA_S32);
  EXPECT(call->operand_arrays[1]->rank == 2 && call->operand_arrays[1]->dimensions[1] == 3);
  EXPECT(strcmp(call->backend_config, "ab") == 0);
  for (int k = 0; k < 2; ++k) memcpy(call->results[k].data, call->operands[k].data, call->results[k].size_bytes);
  *(int32_t*)call->results[0].data += 1;
  return NULL;
}

// One of XLA's own signatures.
static void FourTimes(void* out, const void** in) {
  for (int i = 0; i < 8; ++i) ((float*)out)[i] = 4 * ((const float*)in[0])[i];
}

static void TestKernels(VxlaDevice device) {
  VxlaExecutable executable = NULL;
  VxlaCompileInfo program = {.struct_size = sizeof(program), .text = kTwice};
  EXPECT_CODE(vxlaCompile(device, &program, &executable, &message), VXLA_UNSUPPORTED,
              "no function is registered for \"twice\"");
  VxlaKernelInfo info = {.struct_size = sizeof(info), .name = "twice", .code = kTwiceGlsl, .file = "twice.comp"};
  EXPECT_OK(vxlaRegisterKernel(device, &info, &message));
  executable = Compile(device, kTwice, VXLA_COMPILE_REQUIRE_GPU | VXLA_COMPILE_RECORDABLE);
  ExpectTimes(executable, 2);
  EXPECT(Diff(device, kTwice, "nothing checks b") == VXLA_OK);
  // What is compiled keeps its kernel when another one takes the name.
  info.code = kThreeTimesSpirv;
  info.size_bytes = sizeof(kThreeTimesSpirv);
  info.file = NULL;
  info.rules = "groups(ceil(n / 4))\nshape(n == 4 * floor(n / 4))";
  EXPECT_OK(vxlaRegisterKernel(device, &info, &message));
  ExpectTimes(executable, 2);
  VxlaExecutable second = Compile(device, kTwice, VXLA_COMPILE_REQUIRE_GPU);
  ExpectTimes(second, 3);
  vxlaDestroyExecutable(executable);
  vxlaDestroyExecutable(second);
  program.text =
      "HloModule m\nENTRY e {\n  x = f32[7] parameter(0)\n"
      "  ROOT r = f32[7] custom-call(x), custom_call_target=\"twice\"\n}\n";
  EXPECT_CODE(vxlaCompile(device, &program, &executable, &message), VXLA_INVALID_ARGUMENT,
              "custom-call r, kernel twice: it takes shapes with n == 4 * floor(n / 4), and here that is 7 == 4");
}

static void TestFunctions(VxlaDevice device) {
  static Scale scale = {.factor = 3};
  VxlaFunctionInfo info = {.struct_size = sizeof(info), .name = "twice", .function = ScaleOnHost, .user_data = &scale};
  EXPECT_OK(vxlaRegisterFunction(device, &info, &message));
  // The kernel of the name runs on the device, and agrees with the function on the reference.
  VxlaExecutable executable = Compile(device, kTwice, VXLA_COMPILE_REQUIRE_GPU);
  ExpectTimes(executable, 3);
  vxlaDestroyExecutable(executable);
  EXPECT(scale.calls == 0);
  EXPECT(Diff(device, kTwice, "agrees") == VXLA_OK);
  EXPECT(scale.calls > 0);
  scale.factor = 5;
  EXPECT(Diff(device, kTwice, "differs") == VXLA_MISMATCH);

  info.name = "scale";
  EXPECT_OK(vxlaRegisterFunction(device, &info, &message));
  static const char kScale[] =
      "HloModule m\nENTRY e { x = f32[8] parameter(0)\n"
      "ROOT r = f32[8] custom-call(x), custom_call_target=\"scale\" }\n";
  VxlaCompileInfo program = {.struct_size = sizeof(program), .flags = VXLA_COMPILE_REQUIRE_GPU, .text = kScale};
  EXPECT_CODE(vxlaCompile(device, &program, &executable, &message), VXLA_DEVICE_FAILURE,
              "custom-call r would run on the host");
  executable = Compile(device, kScale, 0);
  VxlaExecutableDescription description = {.struct_size = sizeof(description)};
  EXPECT_OK(vxlaDescribeExecutable(executable, &description, &message));
  EXPECT(description.host_step_count == 1);
  ExpectTimes(executable, 5);
  vxlaDestroyExecutable(executable);
  executable = Compile(device,
                       "HloModule m\nENTRY e { x = f32[8] parameter(0)\n"
                       "ROOT r = f32[8] custom-call(x), custom_call_target=\"scale\", backend_config=\"fail\" }\n",
                       0);
  float y[8];
  const VxlaConstBytes argument = {kArgument, sizeof(kArgument)};
  const VxlaBytes result = {y, sizeof(y)};
  EXPECT_CODE(vxlaRun(executable, 1, &argument, 1, &result, &message), VXLA_INVALID_ARGUMENT,
              "custom-call r: scale failed: as it was told");
  vxlaDestroyExecutable(executable);

  info = (VxlaFunctionInfo){.struct_size = sizeof(info), .name = "scale", .symbol = (void (*)(void))FourTimes};
  EXPECT_OK(vxlaRegisterFunction(device, &info, &message));
  executable = Compile(device, kScale, 0);
  ExpectTimes(executable, 4);
  vxlaDestroyExecutable(executable);
}

static void TestTuples(VxlaDevice device) {
  VxlaFunctionInfo info = {.struct_size = sizeof(info), .name = "leaves", .function = Leaves};
  EXPECT_OK(vxlaRegisterFunction(device, &info, &message));
  VxlaExecutable executable =
      Compile(device,
              "HloModule m\nENTRY e {\n  p = (s32[], f32[2,3]) parameter(0)\n"
              "  ROOT r = (s32[], f32[2,3]) custom-call(p), custom_call_target=\"leaves\", backend_config=\"ab\"\n}\n",
              0);
  const int32_t n = 41;
  const float x[6] = {1, 2, 3, 4, 5, 6};
  int32_t m = 0;
  float y[6] = {0};
  const VxlaConstBytes arguments[2] = {{&n, sizeof(n)}, {x, sizeof(x)}};
  const VxlaBytes results[2] = {{&m, sizeof(m)}, {y, sizeof(y)}};
  EXPECT_OK(vxlaRun(executable, 2, arguments, 2, results, &message));
  EXPECT(m == 42 && memcmp(x, y, sizeof(x)) == 0);
  vxlaDestroyExecutable(executable);
}

static void TestRefusals(VxlaDevice device) {
  VxlaKernelInfo kernel = {.struct_size = sizeof(kernel), .name = "k"};
  EXPECT_CODE(vxlaRegisterKernel(device, &kernel, &message), VXLA_INVALID_ARGUMENT, "the kernel's code: NULL");
  EXPECT_CODE(vxlaRegisterKernel(device, NULL, &message), VXLA_INVALID_ARGUMENT, "info: NULL");
  EXPECT_CODE(vxlaRegisterKernel(NULL, &kernel, &message), VXLA_INVALID_ARGUMENT, "device: NULL");
  kernel.name = "";
  EXPECT_CODE(vxlaRegisterKernel(device, &kernel, &message), VXLA_INVALID_ARGUMENT, "name: it is empty");
  kernel.flags = 1;
  EXPECT_CODE(vxlaRegisterKernel(device, &kernel, &message), VXLA_INVALID_ARGUMENT, "flags 0x1: 0x0 are possible here");
  kernel.struct_size = 8;
  EXPECT_CODE(vxlaRegisterKernel(device, &kernel, &message), VXLA_INVALID_ARGUMENT, "struct_size is 8");
  VxlaFunctionInfo function = {.struct_size = sizeof(function), .name = "f"};
  EXPECT_CODE(vxlaRegisterFunction(device, &function, &message), VXLA_INVALID_ARGUMENT,
              "f: one of function and symbol is needed, and none is there");
  function.function = Leaves;
  function.symbol = (void (*)(void))FourTimes;
  EXPECT_CODE(vxlaRegisterFunction(device, &function, &message), VXLA_INVALID_ARGUMENT, "and both are there");
  function.name = NULL;
  EXPECT_CODE(vxlaRegisterFunction(device, &function, &message), VXLA_INVALID_ARGUMENT, "name: NULL");
  kernel =
      (VxlaKernelInfo){.struct_size = sizeof(kernel), .name = "twice", .code = "void vxla_element(uint i) { no; }\n"};
  EXPECT_OK(vxlaRegisterKernel(device, &kernel, &message));
  VxlaCompileInfo program = {.struct_size = sizeof(program), .text = kTwice};
  VxlaExecutable executable = NULL;
  EXPECT_CODE(vxlaCompile(device, &program, &executable, &message), VXLA_INVALID_ARGUMENT,
              "twice:1: error: 'no' : undeclared identifier");
}

int main(void) {
  // The module declares its buffers as descriptors bind them.
  VxlaDevice device = Open("descriptors");
  if (device == NULL) return 1;
  TestKernels(device);
  TestFunctions(device);
  TestTuples(device);
  TestRefusals(device);
  EXPECT_OK(vxlaCheckValidation(device, &message));
  EXPECT_OK(vxlaDestroyDevice(device, &message));
  device = Open(NULL);
  if (device == NULL) return 1;
  VxlaKernelInfo info = {.struct_size = sizeof(info), .name = "twice", .code = kTwiceGlsl};
  EXPECT_OK(vxlaRegisterKernel(device, &info, &message));
  VxlaExecutable executable = Compile(device, kTwice, VXLA_COMPILE_REQUIRE_GPU);
  ExpectTimes(executable, 2);
  vxlaDestroyExecutable(executable);
  EXPECT_OK(vxlaCheckValidation(device, &message));
  EXPECT_OK(vxlaDestroyDevice(device, &message));
  return failures != 0;
}
