// Eight threads that run one program with changing shapes, read, drop, compile and cancel; events whose callbacks
// destroy them. What ThreadSanitizer watches (tools/test.sh --full), which knows nothing of C11's threads.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "tests/c_api/c_test.h"

enum { kThreads = 8, kRuns = 12, kMost = 5 };

static const char kText[] =
    "func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {\n"
    "  %n = stablehlo.add %a, %a : tensor<?xf32>\n"
    "  return %n : tensor<?xf32>\n"
    "}\n";
static const char kOther[] = "HloModule m\nENTRY e {\n  x = f32[3] parameter(0)\n  ROOT r = f32[3] negate(x)\n}\n";

static VxlaDevice device;
static VxlaExecutable executable;
static atomic_int wrong, called;

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition)) {                                                        \
      atomic_fetch_add(&wrong, 1);                                             \
      fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #condition); \
    }                                                                          \
  } while (0)

static void Destroy(void* user_data, VxlaCode code, const char* text) {
  VxlaEvent* event = user_data;
  CHECK((code == VXLA_OK || code == VXLA_CANCELLED) && text != NULL);
  vxlaDestroyEvent(*event);
  free(event);
  atomic_fetch_add(&called, 1);
}

// The callback owns the event from here on.
static void DestroyWhenReady(VxlaEvent event) {
  VxlaEvent* owned = malloc(sizeof(VxlaEvent));
  *owned = event;
  CHECK(vxlaOnEvent(event, Destroy, owned, NULL) == VXLA_OK);
}

static void RunOnce(int64_t size) {
  float x[kMost], y[kMost] = {0};
  for (int64_t i = 0; i < size; ++i) x[i] = (float)(size + i);
  const VxlaArray array = {.struct_size = sizeof(array), .element_type = VXLA_F32, .rank = 1, .dimensions = &size};
  const VxlaUploadInfo upload = {.struct_size = sizeof(upload), .array = &array, .data = x};
  VxlaValue argument = NULL, result = NULL;
  VxlaEvent done = NULL, there = NULL;
  CHECK(vxlaUpload(device, &upload, &argument, NULL, NULL) == VXLA_OK);
  const VxlaExecuteInfo run = {.struct_size = sizeof(run),
                               .argument_count = 1,
                               .arguments = &argument,
                               .result_count = 1,
                               .results = &result,
                               .done = &done};
  CHECK(vxlaExecute(executable, &run, NULL) == VXLA_OK);
  DestroyWhenReady(done);
  const VxlaDownloadInfo download = {
      .struct_size = sizeof(download), .data = y, .size_bytes = sizeof(float) * (size_t)size};
  CHECK(vxlaDownload(result, &download, &there, NULL) == VXLA_OK);
  vxlaDestroyValue(argument);
  vxlaDestroyValue(result);
  VxlaCode code = VXLA_DEADLINE_EXCEEDED;
  while (code == VXLA_DEADLINE_EXCEEDED) code = vxlaAwaitEvent(there, 100000, NULL);
  CHECK(code == VXLA_OK);
  for (int64_t i = 0; i < size; ++i) CHECK(y[i] == 2 * x[i]);
  DestroyWhenReady(there);
}

static void CompileAndCancel(void) {
  VxlaCompileInfo info = {.struct_size = sizeof(info), .flags = VXLA_COMPILE_IN_BACKGROUND, .text = kOther};
  VxlaExecutable made = NULL;
  VxlaEvent event = NULL;
  CHECK(vxlaCompile(device, &info, &made, NULL) == VXLA_OK);
  CHECK(vxlaGetExecutableEvent(made, &event, NULL) == VXLA_OK);
  DestroyWhenReady(event);
  CHECK(vxlaCancelCompile(made, NULL) == VXLA_OK);
  vxlaDestroyExecutable(made);
}

static void* Work(void* number) {
  const int of = *(const int*)number;
  for (int k = 0; k < kRuns; ++k) {
    RunOnce((of + k) % kMost + 1);
    if (k % 4 == of % 4) CompileAndCancel();
    VxlaMemoryStatistics statistics = {.struct_size = sizeof(statistics)};
    CHECK(vxlaDescribeMemory(device, &statistics, NULL) == VXLA_OK);
  }
  return NULL;
}

int main(void) {
  VxlaDeviceInfo info = {.struct_size = sizeof(info)};
  info.device = getenv("VXLA_TEST_DEVICE");
  EXPECT_OK(vxlaCreateDevice(&info, &device, &message));
  if (device == NULL) return 1;
  VxlaCompileInfo compile = {.struct_size = sizeof(compile), .text = kText};
  EXPECT_OK(vxlaCompile(device, &compile, &executable, &message));
  pthread_t threads[kThreads];
  int numbers[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    numbers[i] = i;
    EXPECT(pthread_create(&threads[i], NULL, Work, &numbers[i]) == 0);
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  const int wanted = kThreads * (2 * kRuns + kRuns / 4);
  while (atomic_load(&called) < wanted) sched_yield();
  EXPECT(atomic_load(&called) == wanted && atomic_load(&wrong) == 0);
  vxlaDestroyExecutable(executable);
  while (vxlaDestroyDevice(device, NULL) == VXLA_BUSY) sched_yield();  // programs that were cancelled end
  return failures != 0;
}
