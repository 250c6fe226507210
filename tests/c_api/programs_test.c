// Programs as things: compiled in the background, serialised, of open sizes, with weights that a host replaces.
#include <stdatomic.h>
#include <stdlib.h>
#include <threads.h>

#include "tests/c_api/c_values.h"

static VxlaDevice Open(void) {
  VxlaDeviceInfo info = {.struct_size = sizeof(info), .flags = VXLA_DEVICE_CHECK_HANDLES};
  info.device = getenv("VXLA_TEST_DEVICE");
  info.validate = getenv("VXLA_TEST_VALIDATE");
  VxlaDevice device = NULL;
  EXPECT_OK(vxlaCreateDevice(&info, &device, &message));
  return device;
}

static VxlaExecutable CompileWith(VxlaDevice device, VxlaCompileInfo info) {
  info.struct_size = sizeof(info);
  VxlaExecutable executable = NULL;
  EXPECT_OK(vxlaCompile(device, &info, &executable, &message));
  return executable;
}

// y = 2 x, of three numbers.
static const char kTwice[] = "HloModule m\nENTRY e {\n  x = f32[3] parameter(0)\n  ROOT r = f32[3] add(x, x)\n}\n";
static const float kX[3] = {1, 2, 3}, kTwiceX[3] = {2, 4, 6};

static void ExpectTwice(VxlaExecutable executable) {
  float y[3] = {0};
  const VxlaConstBytes argument = {kX, sizeof(kX)};
  const VxlaBytes result = {y, sizeof(y)};
  EXPECT_OK(vxlaRun(executable, 1, &argument, 1, &result, &message));
  for (int i = 0; i < 3; ++i) EXPECT(y[i] == kTwiceX[i]);
}

// ---- in the background ----

// Holds the thread that makes programs until the test lets it go on.
typedef struct Hold {
  thrd_t main;
  atomic_int open, holds, calls;
} Hold;

static void HoldThread(void* user_data, VxlaCode code, const char* text) {
  Hold* hold = user_data;
  EXPECT(code == VXLA_OK && text[0] == 0);
  const int holds = !thrd_equal(thrd_current(), hold->main);  // else it was made before
  if (holds) atomic_store(&hold->holds, 1);
  atomic_fetch_add(&hold->calls, 1);
  if (!holds) return;
  while (!atomic_load(&hold->open)) thrd_yield();
}

static int StageOf(VxlaExecutable executable) {
  VxlaCompileProgress progress = {.struct_size = sizeof(progress)};
  EXPECT_OK(vxlaDescribeProgress(executable, &progress, &message));
  EXPECT(progress.kernels_made <= progress.kernel_count);
  return progress.stage;
}

static void TestBackground(VxlaDevice device) {
  static Hold hold;
  hold.main = thrd_current();
  VxlaEvent made = NULL;
  for (int calls = 1; !atomic_load(&hold.holds); ++calls) {
    VxlaExecutable first = Compile(device, kTwice, VXLA_COMPILE_IN_BACKGROUND);
    EXPECT_OK(vxlaGetExecutableEvent(first, &made, &message));
    EXPECT_OK(vxlaOnEvent(made, HoldThread, &hold, &message));
    EXPECT_OK(vxlaAwaitEvent(made, UINT64_MAX, &message));
    while (atomic_load(&hold.calls) < calls) thrd_yield();
    ExpectTwice(first);
    EXPECT(StageOf(first) == VXLA_STAGE_DONE);
    vxlaDestroyEvent(made);
    vxlaDestroyExecutable(first);
  }
  VxlaExecutable waits = Compile(device, kTwice, VXLA_COMPILE_IN_BACKGROUND);
  VxlaExecutable cancelled = Compile(device, kTwice, VXLA_COMPILE_IN_BACKGROUND);
  VxlaExecutable destroyed = Compile(device, kTwice, VXLA_COMPILE_IN_BACKGROUND);
  EXPECT(StageOf(waits) == VXLA_STAGE_WAITS && StageOf(cancelled) == VXLA_STAGE_WAITS);
  int32_t ready = 1;
  EXPECT_OK(vxlaExecutableIsReady(waits, &ready, &message));
  EXPECT(ready == 0);
  VxlaArray array = {.struct_size = sizeof(array)};
  EXPECT_OK(vxlaDescribeResult(waits, 0, &array, &message));  // known at once
  EXPECT(array.rank == 1 && array.dimensions[0] == 3);
  EXPECT_OK(vxlaCancelCompile(cancelled, &message));
  EXPECT_OK(vxlaGetExecutableEvent(cancelled, &made, &message));
  EXPECT_CODE(vxlaAwaitEvent(made, 0, &message), VXLA_DEADLINE_EXCEEDED, "event: ");
  vxlaDestroyExecutable(destroyed);
  EXPECT_CODE(vxlaDestroyDevice(device, &message), VXLA_BUSY, "2 executables, 1 event");
  atomic_store(&hold.open, 1);
  EXPECT_CODE(vxlaAwaitEvent(made, UINT64_MAX, &message), VXLA_CANCELLED, "the compilation was cancelled");
  EXPECT_CODE(vxlaExecutableIsReady(cancelled, &ready, &message), VXLA_CANCELLED, "cancelled");
  EXPECT_CODE(vxlaRun(cancelled, 0, NULL, 0, NULL, &message), VXLA_CANCELLED, "cancelled");
  VxlaExecutableDescription description = {.struct_size = sizeof(description)};
  EXPECT_CODE(vxlaDescribeExecutable(cancelled, &description, &message), VXLA_CANCELLED, "cancelled");
  EXPECT(StageOf(cancelled) == VXLA_STAGE_DONE);
  ExpectTwice(waits);
  EXPECT_OK(vxlaCancelCompile(waits, &message));  // it is done
  ExpectTwice(waits);
  vxlaDestroyEvent(made);
  vxlaDestroyExecutable(waits);
  vxlaDestroyExecutable(cancelled);

  // What is wrong with the text is said at once, what is wrong with the program by the event.
  VxlaCompileInfo info = {.struct_size = sizeof(info), .flags = VXLA_COMPILE_IN_BACKGROUND, .text = "HloModule"};
  VxlaExecutable none = NULL;
  EXPECT_CODE(vxlaCompile(device, &info, &none, &message), VXLA_INVALID_ARGUMENT, "1:");
  VxlaExecutable failing = Compile(device,
                                   "HloModule m\nENTRY e {\n  x = f32[3] parameter(0)\n"
                                   "  ROOT r = f32[3] custom-call(x), custom_call_target=\"nobody_knows_it\"\n}\n",
                                   VXLA_COMPILE_IN_BACKGROUND);
  EXPECT_OK(vxlaGetExecutableEvent(failing, &made, &message));
  EXPECT_CODE(vxlaAwaitEvent(made, UINT64_MAX, &message), VXLA_UNSUPPORTED, "nobody_knows_it");
  EXPECT_CODE(vxlaRun(failing, 0, NULL, 0, NULL, &message), VXLA_UNSUPPORTED, "nobody_knows_it");
  vxlaDestroyEvent(made);
  vxlaDestroyExecutable(failing);

  VxlaExecutable at_once = Compile(device, kTwice, 0);
  VxlaCompileProgress progress = {.struct_size = sizeof(progress)};
  EXPECT_CODE(vxlaDescribeProgress(at_once, &progress, &message), VXLA_INVALID_ARGUMENT,
              "not compiled in the background");
  EXPECT_CODE(vxlaCancelCompile(at_once, &message), VXLA_INVALID_ARGUMENT, "not compiled in the background");
  EXPECT_CODE(vxlaDescribeProgress(NULL, &progress, &message), VXLA_INVALID_ARGUMENT, "executable: NULL");
  EXPECT_CODE(vxlaCancelCompile(NULL, &message), VXLA_INVALID_ARGUMENT, "executable: NULL");
  EXPECT_OK(vxlaGetExecutableEvent(at_once, &made, &message));
  EXPECT_OK(vxlaAwaitEvent(made, 0, &message));
  vxlaDestroyEvent(made);
  vxlaDestroyExecutable(at_once);
  VxlaExecutable last = Compile(device, kTwice, VXLA_COMPILE_IN_BACKGROUND);
  progress.struct_size = 4;
  EXPECT_CODE(vxlaDescribeProgress(last, &progress, &message), VXLA_INVALID_ARGUMENT, "struct_size is 4");
  vxlaDestroyExecutable(last);
}

// ---- serialised ----

static void TestSerialised(VxlaDevice device) {
  VxlaExecutable executable = Compile(device, kTwice, 0), loaded = NULL;
  VxlaBytes bytes = {0};
  EXPECT_OK(vxlaSerializeExecutable(executable, &bytes, &message));
  vxlaDestroyExecutable(executable);
  const VxlaBundleInfo info = {.struct_size = sizeof(info), .data = bytes.data, .size_bytes = bytes.size_bytes};
  EXPECT_OK(vxlaLoadBundle(device, &info, &loaded, &message));
  vxlaFreeBytes(&bytes);
  EXPECT(bytes.data == NULL && bytes.size_bytes == 0);
  vxlaFreeBytes(&bytes);
  vxlaFreeBytes(NULL);
  const char* variant = NULL;
  EXPECT_OK(vxlaDescribeVariant(loaded, &variant, &message));
  EXPECT(variant != NULL && strstr(variant, "generic") == NULL);
  ExpectTwice(loaded);
  EXPECT_CODE(vxlaSerializeExecutable(loaded, &bytes, &message), VXLA_INVALID_ARGUMENT, "it is from a bundle");
  EXPECT_CODE(vxlaSerializeExecutable(loaded, NULL, &message), VXLA_INVALID_ARGUMENT, "bytes: NULL");
  EXPECT_CODE(vxlaSerializeExecutable(NULL, &bytes, &message), VXLA_INVALID_ARGUMENT, "executable: NULL");
  vxlaDestroyExecutable(loaded);
  executable = Compile(device, "HloModule m\nENTRY e { x = f32[<=4] parameter(0)\n ROOT r = f32[<=4] negate(x) }", 0);
  EXPECT_CODE(vxlaSerializeExecutable(executable, &bytes, &message), VXLA_UNSUPPORTED, "");
  EXPECT(bytes.data == NULL && bytes.size_bytes == 0);
  vxlaDestroyExecutable(executable);
}

// ---- open sizes ----

static void TestOpenSizes(VxlaDevice device) {
  static const char kText[] =
      "func.func @main(%a: tensor<?x3xf32>) -> (tensor<?x3xf32>, tensor<?xf32>) {\n"
      "  %n = stablehlo.negate %a : tensor<?x3xf32>\n"
      "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "  %s = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1]\n"
      "    : (tensor<?x3xf32>, tensor<f32>) -> tensor<?xf32>\n"
      "  return %n, %s : tensor<?x3xf32>, tensor<?xf32>\n"
      "}\n";
  VxlaExecutable executable = Compile(device, kText, 0);
  VxlaArray array = {.struct_size = sizeof(array)};
  EXPECT_OK(vxlaDescribeArgument(executable, 0, &array, &message));
  EXPECT(array.rank == 2 && array.dimensions[0] == VXLA_OPEN_SIZE && array.dimensions[1] == 3);
  EXPECT(array.size_bytes == 0 && array.dynamic == NULL);
  EXPECT_OK(vxlaDescribeResult(executable, 1, &array, &message));
  EXPECT(array.rank == 1 && array.dimensions[0] == VXLA_OPEN_SIZE);
  const float x[15] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  float minus[15], sums[5];
  for (int i = 0; i < 15; ++i) minus[i] = -x[i];
  for (int i = 0; i < 5; ++i) sums[i] = x[3 * i] + x[3 * i + 1] + x[3 * i + 2];
  const int64_t rows[4] = {2, 5, 2, 0};
  for (int run = 0; run < 4; ++run) {
    const int64_t sizes[2] = {rows[run], 3};
    const VxlaArray given = {.struct_size = sizeof(given), .element_type = VXLA_F32, .rank = 2, .dimensions = sizes};
    VxlaValue value = NULL, results[2] = {NULL, NULL};
    EXPECT_OK(vxlaCreateValue(device, &given, x, &value, &message));
    const VxlaExecuteInfo info = {
        .struct_size = sizeof(info), .argument_count = 1, .arguments = &value, .result_count = 2, .results = results};
    EXPECT_OK(vxlaExecute(executable, &info, &message));
    EXPECT_OK(vxlaDescribeValue(results[0], &array, &message));
    EXPECT(array.rank == 2 && array.dimensions[0] == rows[run] && array.dimensions[1] == 3);
    EXPECT(array.size_bytes == 12 * (uint64_t)rows[run]);
    int64_t live[2] = {-1, -1};
    EXPECT_OK(vxlaReadLiveSizes(results[0], 2, live, &message));
    EXPECT(live[0] == rows[run] && live[1] == 3);
    ExpectFloats(results[0], 3 * rows[run], minus);
    ExpectFloats(results[1], rows[run], sums);
    vxlaDestroyValue(value);
    for (int i = 0; i < 2; ++i) vxlaDestroyValue(results[i]);
  }
  // Two columns.
  const int64_t narrow[2] = {3, 2};
  const VxlaArray wrong = {.struct_size = sizeof(wrong), .element_type = VXLA_F32, .rank = 2, .dimensions = narrow};
  VxlaValue value = NULL, results[2] = {NULL, NULL};
  EXPECT_OK(vxlaCreateValue(device, &wrong, x, &value, &message));
  const VxlaExecuteInfo info = {
      .struct_size = sizeof(info), .argument_count = 1, .arguments = &value, .result_count = 2, .results = results};
  EXPECT_CODE(vxlaExecute(executable, &info, &message), VXLA_INVALID_ARGUMENT, "tensor<3x2xf32>");
  EXPECT(results[0] == NULL && results[1] == NULL);
  vxlaDestroyValue(value);
  const VxlaConstBytes argument = {x, sizeof(x)};
  const VxlaBytes bytes[2] = {{minus, sizeof(minus)}, {sums, sizeof(sums)}};
  EXPECT_CODE(vxlaRun(executable, 1, &argument, 2, bytes, &message), VXLA_UNSUPPORTED, "vxlaExecute");
  VxlaCompileInfo compile = {.struct_size = sizeof(compile), .flags = VXLA_COMPILE_RECORDABLE, .text = kText};
  VxlaExecutable none = NULL;
  EXPECT_CODE(vxlaCompile(device, &compile, &none, &message), VXLA_UNSUPPORTED, "cannot be recorded");
  compile.flags = 0;
  EXPECT_CODE(vxlaDiff(device, &compile, 1, &argument, NULL, &message), VXLA_UNSUPPORTED, "open sizes");
  compile.replica_count = 2;
  EXPECT_CODE(vxlaCompile(device, &compile, &none, &message), VXLA_UNSUPPORTED, "has arguments of known sizes");
  compile.replica_count = 0;
  compile.weight_bytes = 1;
  EXPECT_CODE(vxlaCompile(device, &compile, &none, &message), VXLA_UNSUPPORTED, "open sizes has no weights");
  VxlaBytes file = {0};
  EXPECT_CODE(vxlaSerializeExecutable(executable, &file, &message), VXLA_UNSUPPORTED, "");
  vxlaDestroyExecutable(executable);
}

// ---- weights ----

static const char kWeighed[] =
    "HloModule m\nENTRY e {\n"
    "  x = f32[3] parameter(0)\n"
    "  two = f32[] constant(2)\n"
    "  twos = f32[3] broadcast(two), dimensions={}\n"
    "  scale = f32[3] constant({1, 10, 100})\n"
    "  shift = f32[3] constant({1, 1, 1})\n"
    "  a = f32[3] multiply(x, scale)\n"
    "  b = f32[3] multiply(a, twos)\n"
    "  ROOT r = f32[3] add(b, shift)\n}\n";

static void ExpectWeighed(VxlaDevice device, VxlaExecutable executable, const float* wanted) {
  VxlaValue argument = Make(device, 3, kX), result = Execute(executable, argument, NULL);
  ExpectFloats(result, 3, wanted);
  vxlaDestroyValue(argument);
  vxlaDestroyValue(result);
  float y[3] = {0};
  const VxlaConstBytes given = {kX, sizeof(kX)};
  const VxlaBytes got = {y, sizeof(y)};
  EXPECT_OK(vxlaRun(executable, 1, &given, 1, &got, &message));
  for (int i = 0; i < 3; ++i) EXPECT(y[i] == wanted[i]);
}

static void TestWeights(VxlaDevice device) {
  VxlaExecutable one = CompileWith(device, (VxlaCompileInfo){.text = kWeighed, .weight_bytes = 12});
  VxlaExecutable two =
      CompileWith(device, (VxlaCompileInfo){.text = kWeighed, .weight_bytes = 12, .flags = VXLA_COMPILE_IN_BACKGROUND});
  VxlaExecutableDescription description = {.struct_size = sizeof(description)};
  EXPECT_OK(vxlaDescribeExecutable(one, &description, &message));
  EXPECT(description.argument_count == 1 && description.weight_count == 2);
  VxlaArray array = {.struct_size = sizeof(array)};
  const char* name = NULL;
  EXPECT_OK(vxlaDescribeWeight(one, 0, &array, &name, &message));
  EXPECT(array.rank == 1 && array.dimensions[0] == 3 && name != NULL && strcmp(name, "scale") == 0);
  EXPECT_OK(vxlaDescribeWeight(one, 1, NULL, NULL, &message));
  uint32_t index = 7;
  EXPECT_OK(vxlaFindWeight(one, "shift", &index, &message));
  EXPECT(index == 1);
  const float at_first[3] = {3, 41, 601}, rebound[3] = {7, 41, 601}, shifted[3] = {2, 4, 6};
  ExpectWeighed(device, one, at_first);
  ExpectWeighed(device, two, at_first);

  // One value for both, of which neither handle stays.
  VxlaValue scale = NULL;
  EXPECT_OK(vxlaGetWeight(one, 0, &scale, &message));
  EXPECT_OK(vxlaBindWeight(two, 0, scale, &message));
  const float threes[3] = {3, 10, 100};
  EXPECT_OK(vxlaWriteValue(scale, threes, sizeof(threes), NULL, &message));
  ExpectWeighed(device, one, rebound);
  ExpectWeighed(device, two, rebound);
  // No run takes it over.
  VxlaExecutable donating = Compile(device,
                                    "HloModule m, input_output_alias={ {}: (0, {}, may-alias) }\n"
                                    "ENTRY e {\n  x = f32[3] parameter(0)\n  ROOT r = f32[3] negate(x)\n}\n",
                                    0);
  const float minus[3] = {-3, -10, -100};
  VxlaValue negated = Execute(donating, scale, NULL);
  ExpectFloats(negated, 3, minus);
  ExpectFloats(scale, 3, threes);
  vxlaDestroyValue(scale);
  ExpectWeighed(device, one, rebound);
  // Runs that were begun keep what they were begun with, and what is written is for those behind.
  EXPECT_OK(vxlaBindWeight(two, 0, negated, &message));
  VxlaValue argument = Make(device, 3, kX), results[8];
  for (int i = 0; i < 8; ++i) {
    VxlaEvent written = NULL;
    const float next[3] = {(float)i, 0, 1};
    EXPECT_OK(vxlaWriteValue(negated, next, sizeof(next), &written, &message));
    results[i] = Execute(two, argument, NULL);
    EXPECT_OK(vxlaAwaitEvent(written, UINT64_MAX, &message));
    vxlaDestroyEvent(written);
  }
  for (int i = 0; i < 8; ++i) {
    const float wanted[3] = {2 * (float)i + 1, 1, 7};
    ExpectFloats(results[i], 3, wanted);
    vxlaDestroyValue(results[i]);
  }
  ExpectWeighed(device, one, rebound);
  vxlaDestroyValue(argument);

  EXPECT_CODE(vxlaFindWeight(one, "x", &index, &message), VXLA_NOT_FOUND, "no weight is called 'x', of 2");
  EXPECT_CODE(vxlaFindWeight(donating, "scale", &index, &message), VXLA_NOT_FOUND, "of 0");
  EXPECT_CODE(vxlaFindWeight(one, NULL, &index, &message), VXLA_INVALID_ARGUMENT, "name: NULL");
  EXPECT_CODE(vxlaFindWeight(one, "x", NULL, &message), VXLA_INVALID_ARGUMENT, "index: NULL");
  EXPECT_CODE(vxlaFindWeight(NULL, "x", &index, &message), VXLA_INVALID_ARGUMENT, "executable: NULL");
  EXPECT_CODE(vxlaDescribeWeight(one, 2, &array, &name, &message), VXLA_INVALID_ARGUMENT, "weight 2: there are 2");
  EXPECT_CODE(vxlaDescribeWeight(donating, 0, &array, &name, &message), VXLA_INVALID_ARGUMENT, "there are 0");
  EXPECT_CODE(vxlaDescribeWeight(NULL, 0, &array, &name, &message), VXLA_INVALID_ARGUMENT, "executable: NULL");
  EXPECT_CODE(vxlaGetWeight(one, 2, &scale, &message), VXLA_INVALID_ARGUMENT, "weight 2: there are 2");
  EXPECT_CODE(vxlaGetWeight(one, 0, NULL, &message), VXLA_INVALID_ARGUMENT, "value: NULL");
  EXPECT_CODE(vxlaGetWeight(NULL, 0, &scale, &message), VXLA_INVALID_ARGUMENT, "executable: NULL");
  EXPECT_CODE(vxlaBindWeight(one, 2, negated, &message), VXLA_INVALID_ARGUMENT, "weight 2: there are 2");
  EXPECT_CODE(vxlaBindWeight(one, 0, NULL, &message), VXLA_INVALID_ARGUMENT, "value: NULL");
  EXPECT_CODE(vxlaBindWeight(NULL, 0, negated, &message), VXLA_INVALID_ARGUMENT, "executable: NULL");
  VxlaValue longer = Make(device, 2, kX), gone = Make(device, 3, kX), taken = Execute(donating, gone, NULL);
  EXPECT_CODE(vxlaBindWeight(one, 0, longer, &message), VXLA_INVALID_ARGUMENT,
              "weight 0: f32[2] given, the program wants f32[3]");
  EXPECT_CODE(vxlaBindWeight(one, 0, gone, &message), VXLA_INVALID_ARGUMENT, "was donated");
  VxlaDevice elsewhere = Open();
  VxlaValue foreign = Make(elsewhere, 3, kX);
  EXPECT_CODE(vxlaBindWeight(one, 0, foreign, &message), VXLA_INVALID_ARGUMENT, "the value is another device's");
  vxlaDestroyValue(foreign);
  EXPECT_OK(vxlaDestroyDevice(elsewhere, &message));
  EXPECT_CODE(vxlaWriteValue(gone, kX, sizeof(kX), NULL, &message), VXLA_INVALID_ARGUMENT, "donated");
  EXPECT_CODE(vxlaWriteValue(longer, kX, 4, NULL, &message), VXLA_INVALID_ARGUMENT, "4 bytes given, it has 8");
  EXPECT_CODE(vxlaWriteValue(longer, NULL, 8, NULL, &message), VXLA_INVALID_ARGUMENT, "data: NULL");
  EXPECT_CODE(vxlaWriteValue(NULL, kX, 4, NULL, &message), VXLA_INVALID_ARGUMENT, "value: NULL");
  vxlaDestroyValue(longer);
  vxlaDestroyValue(gone);
  vxlaDestroyValue(taken);
  vxlaDestroyValue(negated);
  vxlaDestroyExecutable(donating);
  VxlaCompileInfo info = {
      .struct_size = sizeof(info), .flags = VXLA_COMPILE_RECORDABLE, .text = kWeighed, .weight_bytes = 12};
  VxlaExecutable none = NULL;
  EXPECT_CODE(vxlaCompile(device, &info, &none, &message), VXLA_UNSUPPORTED, "weights of a program that is recorded");
  info.flags = 0;
  info.replica_count = 2;
  EXPECT_CODE(vxlaCompile(device, &info, &none, &message), VXLA_UNSUPPORTED, "a program on 2 devices has no weights");
  // A program of an older header asks for none.
  info.struct_size = offsetof(VxlaCompileInfo, replica_count);
  EXPECT_OK(vxlaCompile(device, &info, &none, &message));
  EXPECT_OK(vxlaDescribeExecutable(none, &description, &message));
  EXPECT(description.weight_count == 0);
  vxlaDestroyExecutable(none);
  // Those of the text alone: a large limit finds none, and there is nothing to ask for.
  VxlaExecutable folded = CompileWith(device, (VxlaCompileInfo){.text = kWeighed, .weight_bytes = UINT64_MAX});
  EXPECT_OK(vxlaDescribeExecutable(folded, &description, &message));
  EXPECT(description.weight_count == 0);
  ExpectWeighed(device, folded, at_first);
  vxlaDestroyExecutable(folded);
  // Serialised, they are arguments.
  VxlaBytes bytes = {0};
  VxlaExecutable loaded = NULL;
  EXPECT_OK(vxlaSerializeExecutable(one, &bytes, &message));
  const VxlaBundleInfo bundle = {.struct_size = sizeof(bundle), .data = bytes.data, .size_bytes = bytes.size_bytes};
  EXPECT_OK(vxlaLoadBundle(device, &bundle, &loaded, &message));
  vxlaFreeBytes(&bytes);
  float y[3] = {0};
  const float ones[3] = {1, 1, 1}, none_of_it[3] = {0, 0, 0};
  const VxlaConstBytes arguments[3] = {{kX, sizeof(kX)}, {ones, sizeof(ones)}, {none_of_it, sizeof(none_of_it)}};
  const VxlaBytes result = {y, sizeof(y)};
  EXPECT_OK(vxlaRun(loaded, 3, arguments, 1, &result, &message));
  for (int i = 0; i < 3; ++i) EXPECT(y[i] == shifted[i]);
  vxlaDestroyExecutable(loaded);
  vxlaDestroyExecutable(one);
  vxlaDestroyExecutable(two);
}

// In a loop within a loop, its condition, and the branches of a conditional in it; two loops run one body.
static const char kInLoops[] =
    "HloModule m\n"
    "taken { a = f32[3] parameter(0)  up = f32[3] constant({1, 2, 3})  ROOT r = f32[3] add(a, up) }\n"
    "other { ROOT a = f32[3] parameter(0) }\n"
    "inner { s = (f32[3], s32[]) parameter(0)  x = f32[3] get-tuple-element(s), index=0\n"
    "  scale = f32[3] constant({2, 1, 1})  y = f32[3] multiply(x, scale)\n"
    "  n = s32[] get-tuple-element(s), index=1  one = s32[] constant(1)  k = s32[] add(n, one)\n"
    "  even = s32[] and(n, one)  p = pred[] compare(even, one), direction=NE\n"
    "  z = f32[3] conditional(p, y, y), true_computation=taken, false_computation=other\n"
    "  ROOT t = (f32[3], s32[]) tuple(z, k) }\n"
    "inner_goes_on { s = (f32[3], s32[]) parameter(0)  n = s32[] get-tuple-element(s), index=1\n"
    "  limits = s32[3] constant({2, 0, 0})  first = s32[1] slice(limits), slice={[0:1]}  limit = s32[] reshape(first)\n"
    "  ROOT p = pred[] compare(n, limit), direction=LT }\n"
    "outer { x = f32[3] parameter(0)  zero = s32[] constant(0)  s = (f32[3], s32[]) tuple(x, zero)\n"
    "  t = (f32[3], s32[]) while(s), condition=inner_goes_on, body=inner\n"
    "  ROOT y = f32[3] get-tuple-element(t), index=0 }\n"
    "outer_goes_on { x = f32[3] parameter(0)  f = f32[1] slice(x), slice={[0:1]}  g = f32[] reshape(f)\n"
    "  limit = f32[] constant(20)  ROOT p = pred[] compare(g, limit), direction=LT }\n"
    "ENTRY e {\n"
    "  x = f32[3] parameter(0)\n"
    "  a = f32[3] while(x), condition=outer_goes_on, body=outer\n"
    "  ROOT b = f32[3] while(a), condition=outer_goes_on, body=outer\n}\n";

static void SetWeight(VxlaExecutable executable, const char* name, const void* data) {
  uint32_t index = 0;
  VxlaValue value = NULL;
  EXPECT_OK(vxlaFindWeight(executable, name, &index, &message));
  EXPECT_OK(vxlaGetWeight(executable, index, &value, &message));
  EXPECT_OK(vxlaWriteValue(value, data, 12, NULL, &message));
  vxlaDestroyValue(value);
}

static void TestWeightsInLoops(VxlaDevice device) {
  VxlaExecutable program = CompileWith(device, (VxlaCompileInfo){.text = kInLoops, .weight_bytes = 12});
  VxlaExecutableDescription description = {.struct_size = sizeof(description)};
  EXPECT_OK(vxlaDescribeExecutable(program, &description, &message));
  EXPECT(description.argument_count == 1 && description.weight_count == 3);
  // Each trip of the outer loop makes x -> scale (scale x + up), until the first reaches 20.
  const float at_first[3] = {26, 6, 9};
  ExpectWeighed(device, program, at_first);
  const float scale[3] = {3, 1, 2}, up[3] = {0, 1, -1};
  SetWeight(program, "scale", scale);
  SetWeight(program, "up", up);
  const float scaled[3] = {81, 4, 38};
  ExpectWeighed(device, program, scaled);
  const int32_t once[3] = {1, 0, 0};
  SetWeight(program, "limits", once);
  const float shorter[3] = {27, 5, 17};
  ExpectWeighed(device, program, shorter);
  vxlaDestroyExecutable(program);
}

int main(void) {
  VxlaDevice device = Open();
  if (device == NULL) return 1;
  TestBackground(device);
  TestSerialised(device);
  TestOpenSizes(device);
  TestWeights(device);
  TestWeightsInLoops(device);
  EXPECT_OK(vxlaCheckValidation(device, &message));
  while (vxlaDestroyDevice(device, NULL) == VXLA_BUSY) thrd_yield();  // a program of TestBackground is on its way
  return failures != 0;
}
