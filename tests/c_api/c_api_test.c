// The C API as a C11 program sees it.
#include <stdlib.h>
#include <threads.h>

#include "tests/c_api/c_test.h"

static const char kHlo[] =
    "HloModule m\n"
    "ENTRY e {\n"
    "  x = f32[3] parameter(0)\n"
    "  y = (f32[3], s32[]) parameter(1)\n"
    "  a = f32[3] get-tuple-element(y), index=0\n"
    "  n = s32[] get-tuple-element(y), index=1\n"
    "  s = f32[3] add(x, a)\n"
    "  m = s32[] multiply(n, n)\n"
    "  ROOT r = (f32[3], s32[]) tuple(s, m)\n"
    "}\n";
static const char kStablehlo[] =
    "func.func @main(%arg0: tensor<3xf32>) -> tensor<3xf32> {\n"
    "  %0 = stablehlo.negate %arg0 : tensor<3xf32>\n"
    "  return %0 : tensor<3xf32>\n"
    "}\n";
static const char kDonating[] =
    "HloModule m, input_output_alias={ {}: (0, {}, may-alias) }\n"
    "ENTRY e {\n"
    "  x = f32[3] parameter(0)\n"
    "  ROOT r = f32[3] add(x, x)\n"
    "}\n";

static VxlaExecutable Compile(VxlaDevice device, const char* text) {
  VxlaCompileInfo info = {.struct_size = sizeof(info), .text = text};
  VxlaExecutable executable = NULL;
  EXPECT_OK(vxlaCompile(device, &info, &executable, &message));
  return executable;
}

static void TestDevices(void) {
  uint32_t count = 0;
  EXPECT(vxlaVersion() == VXLA_HEADER_VERSION);
  EXPECT_OK(vxlaCountDevices(&count, &message));
  EXPECT(count > 0);
  VxlaDeviceDescription description = {.struct_size = sizeof(description)};
  EXPECT_OK(vxlaDescribeDevice(0, &description, &message));
  EXPECT(description.name[0] != 0);
  EXPECT_CODE(vxlaDescribeDevice(count, &description, &message), VXLA_INVALID_ARGUMENT, "there are");
  VxlaDeviceInfo info = {.struct_size = sizeof(info), .device = "no such device"};
  VxlaDevice device = NULL;
  EXPECT_CODE(vxlaCreateDevice(&info, &device, &message), VXLA_NOT_FOUND, "no such device");
  EXPECT(device == NULL);
  EXPECT_CODE(vxlaCreateDevice(NULL, &device, &message), VXLA_INVALID_ARGUMENT, "info: NULL");
  info.flags = 0x10;
  EXPECT_CODE(vxlaCreateDevice(&info, &device, &message), VXLA_INVALID_ARGUMENT, "flags 0x10: 0x7 are possible here");
}

static void TestStructs(VxlaDevice device) {
  VxlaExecutable executable = NULL;
  VxlaCompileInfo info = {.struct_size = 4, .text = kHlo};
  EXPECT_CODE(vxlaCompile(device, &info, &executable, &message), VXLA_INVALID_ARGUMENT, "struct_size is 4");
  // A program of a newer header: what it adds may be there, but not be asked for.
  struct {
    VxlaCompileInfo info;
    uint64_t added;
  } newer = {.info = {.struct_size = sizeof(newer), .text = kHlo}, .added = 0};
  EXPECT_OK(vxlaCompile(device, &newer.info, &executable, &message));
  vxlaDestroyExecutable(executable);
  newer.info.flags = 1u << 30;
  EXPECT_CODE(vxlaCompile(device, &newer.info, &executable, &message), VXLA_INVALID_ARGUMENT,
              "flags 0x40000000: 0x7 are possible here");
  newer.info.flags = 0;
  newer.added = 1;
  EXPECT_CODE(vxlaCompile(device, &newer.info, &executable, &message), VXLA_UNSUPPORTED, "others are set");
}

static void TestRun(VxlaDevice device) {
  VxlaExecutable executable = Compile(device, kHlo);
  VxlaExecutableDescription description = {.struct_size = sizeof(description)};
  EXPECT_OK(vxlaDescribeExecutable(executable, &description, &message));
  EXPECT(description.argument_count == 3 && description.result_count == 2 && description.host_step_count == 0);
  VxlaArray array = {.struct_size = sizeof(array)};
  EXPECT_OK(vxlaDescribeArgument(executable, 2, &array, &message));
  EXPECT(array.element_type == VXLA_S32 && array.rank == 0 && array.size_bytes == 4);
  EXPECT_OK(vxlaDescribeResult(executable, 0, &array, &message));
  EXPECT(array.element_type == VXLA_F32 && array.rank == 1 && array.dimensions[0] == 3 && array.size_bytes == 12);
  VxlaExecutableDescription older = {.struct_size = offsetof(VxlaExecutableDescription, lower_bound_bytes)};
  EXPECT_OK(vxlaDescribeExecutable(executable, &older, &message));
  EXPECT(older.peak_bytes == description.peak_bytes && older.lower_bound_bytes == 0);
  EXPECT_CODE(vxlaDescribeResult(executable, 2, &array, &message), VXLA_INVALID_ARGUMENT, "result 2: there are 2");

  const float x[3] = {1, 2, 3}, y[3] = {10, 20, 30};
  const int32_t n = -7;
  float sum[3] = {0};
  int32_t square = 0;
  VxlaConstBytes arguments[3] = {{x, sizeof(x)}, {y, sizeof(y)}, {&n, sizeof(n)}};
  VxlaBytes results[2] = {{sum, sizeof(sum)}, {&square, sizeof(square)}};
  EXPECT_OK(vxlaRun(executable, 3, arguments, 2, results, &message));
  EXPECT(sum[0] == 11 && sum[1] == 22 && sum[2] == 33 && square == 49);
  EXPECT_CODE(vxlaRun(executable, 2, arguments, 2, results, &message), VXLA_INVALID_ARGUMENT,
              "arguments: 2 given, the program has 3");
  arguments[1].size_bytes = 8;
  EXPECT_CODE(vxlaRun(executable, 3, arguments, 2, results, &message), VXLA_INVALID_ARGUMENT,
              "argument 1: 8 bytes given, f32[3] has 12");
  arguments[1].size_bytes = 12;
  results[0].size_bytes = 16;
  EXPECT_CODE(vxlaRun(executable, 3, arguments, 2, results, &message), VXLA_INVALID_ARGUMENT,
              "result 0: 16 bytes given, f32[3] has 12");
  results[0].data = NULL;
  results[0].size_bytes = 12;
  EXPECT_CODE(vxlaRun(executable, 3, arguments, 2, results, &message), VXLA_INVALID_ARGUMENT, "result 0: NULL");
  EXPECT_CODE(vxlaRun((VxlaExecutable)(void*)device, 0, NULL, 0, NULL, &message), VXLA_INVALID_ARGUMENT,
              "executable: the handle is a device");
  vxlaDestroyExecutable(executable);
  EXPECT_CODE(vxlaRun(executable, 0, NULL, 0, NULL, &message), VXLA_INVALID_ARGUMENT, "the handle was destroyed");
}

static void TestText(VxlaDevice device) {
  VxlaExecutable executable = Compile(device, kStablehlo);
  const float x[3] = {1, -2, 3};
  float y[3] = {0};
  const VxlaConstBytes argument = {x, sizeof(x)};
  const VxlaBytes result = {y, sizeof(y)};
  EXPECT_OK(vxlaRun(executable, 1, &argument, 1, &result, &message));
  EXPECT(y[0] == -1 && y[1] == 2 && y[2] == -3);
  vxlaDestroyExecutable(executable);
  VxlaMessage report = NULL;
  VxlaCompileInfo info = {.struct_size = sizeof(info), .text = kStablehlo, .text_size = strlen(kStablehlo)};
  EXPECT_OK(vxlaDiff(device, &info, 1, &argument, &report, &message));
  EXPECT(strstr(vxlaMessageText(report), "agrees") != NULL);
  vxlaFreeMessage(report);
  info.text = "HloModule m\nENTRY e { x = f32[<=4] parameter(0)\n ROOT r = f32[<=4] negate(x) }";
  info.text_size = 0;
  info.flags = VXLA_COMPILE_RECORDABLE;
  EXPECT_OK(vxlaCompile(device, &info, &executable, &message));
  vxlaDestroyExecutable(executable);
  info.flags = 0;
  info.text = "func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {\n  return %a : tensor<?xf32>\n}\n";
  EXPECT_OK(vxlaCompile(device, &info, &executable, &message));
  vxlaDestroyExecutable(executable);
  info.text = kStablehlo;
  info.text_size = 20;
  EXPECT_CODE(vxlaCompile(device, &info, &executable, &message), VXLA_INVALID_ARGUMENT, "1:");
  EXPECT(executable == NULL);
}

// The file that argv[1] names: tests/c_api/bundle.hlo, compiled.
static void TestBundle(VxlaDevice device, const char* path) {
  static char bytes[1 << 20];
  FILE* file = fopen(path, "rb");
  EXPECT(file != NULL);
  if (file == NULL) return;
  VxlaBundleInfo info = {.struct_size = sizeof(info), .flags = VXLA_COMPILE_RECORDABLE, .data = bytes};
  info.size_bytes = fread(bytes, 1, sizeof(bytes), file);
  fclose(file);
  VxlaExecutable executable = NULL;
  EXPECT_OK(vxlaLoadBundle(device, &info, &executable, &message));
  const char* variant = NULL;
  EXPECT_OK(vxlaDescribeVariant(executable, &variant, &message));
  EXPECT(variant != NULL && strstr(variant, "generic under ") == variant);
  const float x[3] = {1, -2, 3};
  float y[3] = {0};
  int32_t n = 0;
  const VxlaConstBytes argument = {x, sizeof(x)};
  const VxlaBytes results[2] = {{y, sizeof(y)}, {&n, sizeof(n)}};
  bytes[info.size_bytes / 2] ^= 1;  // not needed any more
  EXPECT_OK(vxlaRun(executable, 1, &argument, 2, results, &message));
  EXPECT(y[0] == 11 && y[1] == -40 && y[2] == 90 && n == 7);
  int32_t ready = 0;
  EXPECT_OK(vxlaExecutableIsReady(executable, &ready, &message));
  EXPECT(ready == 1);
  vxlaDestroyExecutable(executable);

  bytes[info.size_bytes / 2] ^= 1;
  info.flags |= VXLA_LOAD_IN_BACKGROUND;
  VxlaExecutable waiting[3] = {NULL, NULL, NULL};
  for (int i = 0; i < 3; ++i) EXPECT_OK(vxlaLoadBundle(device, &info, &waiting[i], &message));
  memset(y, 0, sizeof(y));
  EXPECT_OK(vxlaRun(waiting[2], 1, &argument, 2, results, &message));  // waits
  EXPECT(y[0] == 11 && y[1] == -40 && y[2] == 90 && n == 7);
  EXPECT_OK(vxlaExecutableIsReady(waiting[2], &ready, &message));
  EXPECT(ready == 1);
  for (ready = 0; ready == 0; thrd_yield()) EXPECT_OK(vxlaExecutableIsReady(waiting[0], &ready, &message));
  for (int i = 0; i < 3; ++i) vxlaDestroyExecutable(waiting[i]);  // at any time; the device, when all are ready
  EXPECT_CODE(vxlaExecutableIsReady(NULL, &ready, &message), VXLA_INVALID_ARGUMENT, "executable: NULL");
  bytes[info.size_bytes / 2] ^= 1;
  info.flags = 0;

  EXPECT_CODE(vxlaLoadBundle(device, &info, &executable, &message), VXLA_INVALID_ARGUMENT, "the bundle is damaged");
  EXPECT(executable == NULL);
  info.size_bytes -= 1;
  EXPECT_CODE(vxlaLoadBundle(device, &info, &executable, &message), VXLA_INVALID_ARGUMENT, "the bundle is cut off");
  info.flags = VXLA_COMPILE_REQUIRE_GPU;
  EXPECT_CODE(vxlaLoadBundle(device, &info, &executable, &message), VXLA_INVALID_ARGUMENT,
              "flags 0x1: 0x6 are possible here");
  info.data = NULL;
  EXPECT_CODE(vxlaLoadBundle(device, &info, &executable, &message), VXLA_INVALID_ARGUMENT, "the bundle's data: NULL");
  executable = Compile(device, kHlo);
  EXPECT_CODE(vxlaDescribeVariant(executable, &variant, &message), VXLA_INVALID_ARGUMENT, "compiled from text");
  vxlaDestroyExecutable(executable);
}

// A bundle of another version, and one for a feature that no device of these tests has.
static void TestOtherBundles(VxlaDevice device, const char* path, const char* other) {
  for (int i = 0; i < 2; ++i) {
    static char bytes[1 << 20];
    FILE* file = fopen(i == 0 ? path : other, "rb");
    EXPECT(file != NULL);
    if (file == NULL) return;
    VxlaBundleInfo info = {
        .struct_size = sizeof(info), .data = bytes, .size_bytes = fread(bytes, 1, sizeof(bytes), file)};
    fclose(file);
    if (i == 0) bytes[8] = 99;
    VxlaExecutable executable = NULL;
    EXPECT_CODE(vxlaLoadBundle(device, &info, &executable, &message), VXLA_UNSUPPORTED,
                i == 0 ? "the bundle has version 99 of the format, this build reads version 7"
                       : "generic+subgroups128 under descriptors: ");
    EXPECT(executable == NULL);
  }
}

// Each function is given a handle of another kind, and none.
static void TestWrongHandles(VxlaDevice device) {
  VxlaExecutable executable = Compile(device, kDonating);
  const int64_t dimensions[1] = {3};
  const VxlaArray array = {.struct_size = sizeof(array), .element_type = VXLA_F32, .rank = 1, .dimensions = dimensions};
  const float x[3] = {1, 2, 3};
  VxlaValue value = NULL, none = NULL;
  EXPECT_OK(vxlaCreateValue(device, &array, x, &value, &message));
  for (int kind = 0; kind < 2; ++kind) {
    const char* says = kind == 0 ? ": NULL" : ": the handle is a";
    VxlaDevice no_device = kind == 0 ? NULL : (VxlaDevice)(void*)value;
    VxlaExecutable no_executable = kind == 0 ? NULL : (VxlaExecutable)(void*)value;
    VxlaValue no_value = kind == 0 ? NULL : (VxlaValue)(void*)executable;
    VxlaCompileInfo compile = {.struct_size = sizeof(compile), .text = kHlo};
    VxlaBundleInfo bundle = {.struct_size = sizeof(bundle), .data = x, .size_bytes = sizeof(x)};
    VxlaExecutableDescription description = {.struct_size = sizeof(description)};
    VxlaArray described = {.struct_size = sizeof(described)};
    VxlaExecuteInfo execute = {.struct_size = sizeof(execute)};
    VxlaExecutable made = NULL;
    const char* variant = NULL;
    int32_t ready = 0;
    float read[3];
#define REFUSED(CALL) EXPECT_CODE(CALL, VXLA_INVALID_ARGUMENT, says)
    if (kind != 0) REFUSED(vxlaDestroyDevice(no_device, &message));
    REFUSED(vxlaCheckValidation(no_device, &message));
    REFUSED(vxlaCompile(no_device, &compile, &made, &message));
    REFUSED(vxlaLoadBundle(no_device, &bundle, &made, &message));
    REFUSED(vxlaDiff(no_device, &compile, 0, NULL, NULL, &message));
    REFUSED(vxlaCreateValue(no_device, &array, x, &none, &message));
    REFUSED(vxlaExecutableIsReady(no_executable, &ready, &message));
    REFUSED(vxlaDescribeVariant(no_executable, &variant, &message));
    REFUSED(vxlaDescribeExecutable(no_executable, &description, &message));
    REFUSED(vxlaDescribeArgument(no_executable, 0, &described, &message));
    REFUSED(vxlaDescribeResult(no_executable, 0, &described, &message));
    REFUSED(vxlaRun(no_executable, 0, NULL, 0, NULL, &message));
    REFUSED(vxlaExecute(no_executable, &execute, &message));
    REFUSED(vxlaDescribeValue(no_value, &described, &message));
    REFUSED(vxlaReadValue(no_value, read, sizeof(read), &message));
    REFUSED(vxlaValueIsReady(no_value, &ready, &message));
    REFUSED(vxlaReadLiveSizes(no_value, 1, NULL, &message));
    // What a failing call would have made is NULL.
    VxlaValue result = (VxlaValue)(void*)&execute;
    execute.result_count = 1;
    execute.results = &result;
    REFUSED(vxlaExecute(no_executable, &execute, &message));
    EXPECT(result == NULL);
    execute.argument_count = 1;
    execute.arguments = &no_value;
    execute.results = &none;
    REFUSED(vxlaExecute(executable, &execute, &message));
    EXPECT(made == NULL && none == NULL);
    // These do nothing to such handles.
    vxlaDestroyExecutable(no_executable);
    vxlaDestroyValue(no_value);
    vxlaFreeMessage((VxlaMessage)(void*)no_value);
    EXPECT(strcmp(vxlaMessageText((VxlaMessage)(void*)no_value), "") == 0);
  }
#undef REFUSED
  float read[3];
  EXPECT_OK(vxlaReadValue(value, read, sizeof(read), &message));
  vxlaDestroyValue(value);
  EXPECT_CODE(vxlaReadValue(value, read, sizeof(read), &message), VXLA_INVALID_ARGUMENT,
              "value: the handle was destroyed");
  vxlaDestroyValue(value);  // a second time
  vxlaDestroyExecutable(executable);
}

static void TestValues(VxlaDevice device) {
  const int64_t dimensions[1] = {3};
  VxlaArray array = {.struct_size = sizeof(array), .element_type = VXLA_F32, .rank = 1, .dimensions = dimensions};
  const float x[3] = {1, 2, 3};
  float y[3] = {0};
  VxlaValue value = NULL, sum = NULL, again = NULL;
  EXPECT_OK(vxlaCreateValue(device, &array, x, &value, &message));
  VxlaExecutable executable = Compile(device, kDonating);
  const uint8_t keep = 1;
  VxlaExecuteInfo info = {.struct_size = sizeof(info),
                          .argument_count = 1,
                          .arguments = &value,
                          .keep = &keep,
                          .result_count = 1,
                          .results = &sum};
  EXPECT_OK(vxlaExecute(executable, &info, &message));
  EXPECT_OK(vxlaReadValue(sum, y, sizeof(y), &message));
  EXPECT(y[0] == 2 && y[1] == 4 && y[2] == 6);
  int32_t ready = 0;
  EXPECT_OK(vxlaValueIsReady(sum, &ready, &message));
  EXPECT(ready == 1);
  info.keep = NULL;
  info.results = &again;
  EXPECT_OK(vxlaExecute(executable, &info, &message));
  EXPECT_CODE(vxlaReadValue(value, y, sizeof(y), &message), VXLA_INVALID_ARGUMENT, "donated");
  EXPECT_OK(vxlaReadValue(again, y, sizeof(y), &message));
  EXPECT(y[2] == 6);
  EXPECT_CODE(vxlaReadValue(again, y, 4, &message), VXLA_INVALID_ARGUMENT, "4 bytes given, it has 12");
  EXPECT_CODE(vxlaDestroyDevice(device, &message), VXLA_BUSY, "4 of its handles are alive: 1 executable, 3 values");
  const VxlaValue donated = value;
  array.element_type = 13;
  EXPECT_CODE(vxlaCreateValue(device, &array, x, &value, &message), VXLA_INVALID_ARGUMENT, "element type 13");
  array.element_type = VXLA_F32;
  array.rank = 1 << 20;  // nothing is read from there on
  EXPECT_CODE(vxlaCreateValue(device, &array, x, &value, &message), VXLA_INVALID_ARGUMENT,
              "rank 1048576: from 0 to 64 are possible");
  EXPECT(value == NULL);
  vxlaDestroyValue(donated);
  vxlaDestroyValue(sum);
  vxlaDestroyValue(again);
  vxlaDestroyExecutable(executable);
}

// Of at most four numbers so many as live: their sum, and as many results.
static void TestDynamicDimensions(VxlaDevice device) {
  VxlaExecutable executable = Compile(device,
                                      "HloModule m\n"
                                      "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
                                      "  ROOT r = f32[] add(a, b) }\n"
                                      "ENTRY e { x = f32[<=4] parameter(0)\n z = f32[] constant(0)\n"
                                      "  n = f32[<=4] negate(x)\n"
                                      "  s = f32[] reduce(x, z), dimensions={0}, to_apply=add\n"
                                      "  ROOT t = (f32[<=4], f32[]) tuple(n, s) }\n");
  VxlaArray array = {.struct_size = sizeof(array)};
  EXPECT_OK(vxlaDescribeArgument(executable, 0, &array, &message));
  EXPECT(array.dimensions[0] == 4 && array.size_bytes == 16 && array.dynamic != NULL && array.dynamic[0] == 1);
  EXPECT_OK(vxlaDescribeResult(executable, 1, &array, &message));
  EXPECT(array.dynamic == NULL);
  const int64_t bound = 4;
  const uint8_t dynamic = 1;
  const float x[4] = {1, 2, 3, 1000};
  for (int64_t live = 4; live >= 0; --live) {
    array = (VxlaArray){.struct_size = sizeof(array),
                        .element_type = VXLA_F32,
                        .rank = 1,
                        .dimensions = &bound,
                        .dynamic = &dynamic,
                        .live_sizes = &live};
    VxlaValue value = NULL, results[2] = {NULL, NULL};
    EXPECT_OK(vxlaCreateValue(device, &array, x, &value, &message));
    const VxlaExecuteInfo info = {
        .struct_size = sizeof(info), .argument_count = 1, .arguments = &value, .result_count = 2, .results = results};
    EXPECT_OK(vxlaExecute(executable, &info, &message));
    int64_t size = -1;
    EXPECT_OK(vxlaReadLiveSizes(value, 1, &size, &message));
    EXPECT(size == live);
    EXPECT_OK(vxlaReadLiveSizes(results[0], 1, &size, &message));
    EXPECT(size == live);
    EXPECT_OK(vxlaReadLiveSizes(results[1], 0, NULL, &message));
    EXPECT_CODE(vxlaReadLiveSizes(results[0], 2, &size, &message), VXLA_INVALID_ARGUMENT,
                "rank 2: the value is a f32[<=4]");
    EXPECT_CODE(vxlaReadLiveSizes(results[0], 1, NULL, &message), VXLA_INVALID_ARGUMENT, "sizes: NULL");
    float negated[4] = {0}, sum = -1, wanted = 0;
    EXPECT_OK(vxlaReadValue(results[0], negated, sizeof(negated), &message));
    EXPECT_OK(vxlaReadValue(results[1], &sum, sizeof(sum), &message));
    for (int64_t i = 0; i < live; ++i) {
      wanted += x[i];
      EXPECT(negated[i] == -x[i]);
    }
    EXPECT(sum == wanted);
    vxlaDestroyValue(value);
    for (int i = 0; i < 2; ++i) vxlaDestroyValue(results[i]);
  }
  VxlaValue refused = NULL;
  const int64_t beyond = 5;
  array.live_sizes = &beyond;
  EXPECT_CODE(vxlaCreateValue(device, &array, x, &refused, &message), VXLA_INVALID_ARGUMENT,
              "live size 5 of dimension 0: f32[<=4] allows 0 to 4");
  array.dynamic = NULL;
  const int64_t less = 3;
  array.live_sizes = &less;
  EXPECT_CODE(vxlaCreateValue(device, &array, x, &refused, &message), VXLA_INVALID_ARGUMENT,
              "live size 3 of dimension 0: f32[4] allows 4 to 4");
  // An array of the first version of the header has no dynamic dimensions, whatever lies behind it.
  VxlaArray older = {.struct_size = offsetof(VxlaArray, dynamic),
                     .element_type = VXLA_F32,
                     .rank = 1,
                     .dimensions = &bound,
                     .dynamic = &dynamic,
                     .live_sizes = &beyond};
  VxlaValue whole = NULL, results[2] = {NULL, NULL};
  EXPECT_OK(vxlaCreateValue(device, &older, x, &whole, &message));
  const VxlaExecuteInfo info = {
      .struct_size = sizeof(info), .argument_count = 1, .arguments = &whole, .result_count = 2, .results = results};
  EXPECT_CODE(vxlaExecute(executable, &info, &message), VXLA_INVALID_ARGUMENT,
              "argument 0: f32[4] given, the program wants f32[<=4]");
  EXPECT(results[0] == NULL && results[1] == NULL);
  vxlaDestroyValue(whole);
  float negated[4], sum;
  const VxlaConstBytes argument = {x, sizeof(x)};
  const VxlaBytes bytes[2] = {{negated, sizeof(negated)}, {&sum, sizeof(sum)}};
  EXPECT_CODE(vxlaRun(executable, 1, &argument, 2, bytes, &message), VXLA_UNSUPPORTED,
              "f32[<=4]: what lives of dynamic dimensions goes with values: vxlaExecute");
  vxlaDestroyExecutable(executable);
}

static int RunOften(void* executable) {
  int wrong = 0;
  for (int i = 0; i < 20; ++i) {
    const float x[3] = {(float)i, 1, 2};
    float y[3] = {0};
    const VxlaConstBytes argument = {x, sizeof(x)};
    const VxlaBytes result = {y, sizeof(y)};
    wrong += vxlaRun(executable, 1, &argument, 1, &result, NULL) != VXLA_OK || y[0] != 2 * (float)i || y[2] != 4;
  }
  return wrong;
}

static void TestThreads(VxlaDevice device) {
  VxlaExecutable executable = Compile(device, kDonating);
  thrd_t threads[2];
  for (int i = 0; i < 2; ++i) EXPECT(thrd_create(&threads[i], RunOften, executable) == thrd_success);
  for (int i = 0; i < 2; ++i) {
    int wrong = -1;
    thrd_join(threads[i], &wrong);
    EXPECT(wrong == 0);
  }
  vxlaDestroyExecutable(executable);
}

int main(int argc, char** argv) {
  VxlaDeviceInfo info = {.struct_size = sizeof(info), .flags = VXLA_DEVICE_CHECK_HANDLES};
  info.device = getenv("VXLA_TEST_DEVICE");
  info.validate = getenv("VXLA_TEST_VALIDATE");
  VxlaDevice device = NULL;
  TestDevices();
  EXPECT_OK(vxlaCreateDevice(&info, &device, &message));
  if (device == NULL) return 1;
  TestStructs(device);
  TestRun(device);
  TestText(device);
  TestBundle(device, argc > 1 ? argv[1] : "");
  TestOtherBundles(device, argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "");
  TestWrongHandles(device);
  TestValues(device);
  TestDynamicDimensions(device);
  TestThreads(device);
  EXPECT_OK(vxlaCheckValidation(device, &message));
  while (vxlaDestroyDevice(device, NULL) == VXLA_BUSY) thrd_yield();  // pipelines of TestBundle
  EXPECT_CODE(vxlaDestroyDevice(device, &message), VXLA_INVALID_ARGUMENT, "device: the handle was destroyed");
  EXPECT_CODE(vxlaCheckValidation(device, &message), VXLA_INVALID_ARGUMENT, "device: the handle was destroyed");
  return failures != 0;
}
