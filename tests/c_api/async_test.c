// What returns before it is done: events, transfers, programs that are compiled in the background, runs on several
// devices; and what the device's memory is used for.
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>  // ThreadSanitizer knows nothing of C11's threads
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "tests/c_api/c_values.h"

static VxlaDevice Open(uint32_t flags) {
  VxlaDeviceInfo info = {.struct_size = sizeof(info), .flags = flags};
  info.device = getenv("VXLA_TEST_DEVICE");
  info.validate = getenv("VXLA_TEST_VALIDATE");
  VxlaDevice device = NULL;
  EXPECT_OK(vxlaCreateDevice(&info, &device, &message));
  return device;
}

// ---- events ----

// A step for the host that waits until the test lets it go on, and may fail.
typedef struct Gate {
  atomic_int open, fails;
} Gate;

static const char* PassGate(void* user_data, const VxlaHostCall* call) {
  Gate* gate = user_data;
  while (!atomic_load(&gate->open)) sched_yield();
  if (atomic_load(&gate->fails)) return "the gate failed";
  memcpy(call->results[0].data, call->operands[0].data, call->results[0].size_bytes);
  return NULL;
}

static const char kGated[] =
    "HloModule m\n"
    "ENTRY e {\n"
    "  x = f32[3] parameter(0)\n"
    "  g = f32[3] custom-call(x), custom_call_target=\"gate\"\n"
    "  ROOT r = f32[3] add(g, g)\n"
    "}\n";

static void* OpenSoon(void* user_data) {
  nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
  atomic_store(&((Gate*)user_data)->open, 1);
  return NULL;
}

// What a callback has been told; it destroys its event.
typedef struct Told {
  VxlaEvent event;
  atomic_int calls;
  VxlaCode code;
  char text[256];
} Told;

static void Note(void* user_data, VxlaCode code, const char* text) {
  Told* told = user_data;
  told->code = code;
  snprintf(told->text, sizeof(told->text), "%s", text);
  vxlaDestroyEvent(told->event);
  atomic_fetch_add(&told->calls, 1);
}

static void AwaitCalls(Told* told, int calls) {
  while (atomic_load(&told->calls) < calls) sched_yield();
}

static void TestEvents(VxlaDevice device) {
  static Gate gate;
  const VxlaFunctionInfo function = {
      .struct_size = sizeof(function), .name = "gate", .function = PassGate, .user_data = &gate};
  EXPECT_OK(vxlaRegisterFunction(device, &function, &message));
  VxlaExecutable executable = Compile(device, kGated, 0);
  const float x[3] = {1, 2, 3}, twice[3] = {2, 4, 6};
  VxlaValue argument = Make(device, 3, x);
  for (int fails = 0; fails < 2; ++fails) {
    atomic_store(&gate.open, 0);
    atomic_store(&gate.fails, fails);
    VxlaEvent done = NULL, there = NULL;
    VxlaValue result = Execute(executable, argument, &done);
    int32_t ready = 1;
    EXPECT_OK(vxlaEventIsReady(done, &ready, &message));
    EXPECT(ready == 0);
    EXPECT_CODE(vxlaAwaitEvent(done, 0, &message), VXLA_DEADLINE_EXCEEDED, "it has not happened within 0 ns");
    EXPECT_CODE(vxlaAwaitEvent(done, 1000000, &message), VXLA_DEADLINE_EXCEEDED, "within 1000000 ns");
    Told told = {0};
    EXPECT_OK(vxlaGetValueEvent(result, &told.event, &message));
    EXPECT_OK(vxlaOnEvent(told.event, Note, &told, &message));
    EXPECT(atomic_load(&told.calls) == 0);
    float got[3] = {0};
    VxlaDownloadInfo download = {.struct_size = sizeof(download), .data = got, .size_bytes = sizeof(got)};
    EXPECT_OK(vxlaDownload(result, &download, &there, &message));
    EXPECT_CODE(vxlaAwaitEvent(there, 0, &message), VXLA_DEADLINE_EXCEEDED, "event: ");
    vxlaDestroyValue(result);  // what is under way goes on
    EXPECT_CODE(vxlaDestroyDevice(device, &message), VXLA_BUSY, "1 executable, 1 value, 3 events");
    atomic_store(&gate.open, 1);
    const VxlaCode wanted = fails ? VXLA_INVALID_ARGUMENT : VXLA_OK;
    const char* says = fails ? "the gate failed" : "";
    EXPECT_CODE(vxlaAwaitEvent(done, UINT64_MAX, &message), wanted, says);
    EXPECT_CODE(vxlaAwaitEvent(there, UINT64_MAX - 1, &message), wanted, says);
    AwaitCalls(&told, 1);
    EXPECT(told.code == wanted && strstr(told.text, says) != NULL && (fails || told.text[0] == 0));
    for (int i = 0; i < 3 && !fails; ++i) EXPECT(got[i] == twice[i]);
    EXPECT_OK(vxlaEventIsReady(done, &ready, &message));
    EXPECT(ready == 1);
    // Of an event that has happened: at once, on this thread.
    told.event = done;
    EXPECT_OK(vxlaOnEvent(done, Note, &told, &message));
    EXPECT(atomic_load(&told.calls) == 2 && told.code == wanted);
    EXPECT_CODE(vxlaAwaitEvent(done, 0, &message), VXLA_INVALID_ARGUMENT, "event: the handle was destroyed");
    vxlaDestroyEvent(there);
  }
  VxlaEvent event = NULL;
  int32_t ready = 0;
  EXPECT_OK(vxlaGetValueEvent(argument, &event, &message));
  EXPECT_OK(vxlaAwaitEvent(event, 0, &message));
  EXPECT_CODE(vxlaEventIsReady(event, NULL, &message), VXLA_INVALID_ARGUMENT, "ready: NULL");
  EXPECT_CODE(vxlaOnEvent(event, NULL, NULL, &message), VXLA_INVALID_ARGUMENT, "function: NULL");
  EXPECT_CODE(vxlaGetValueEvent(argument, NULL, &message), VXLA_INVALID_ARGUMENT, "event: NULL");
  EXPECT_CODE(vxlaGetExecutableEvent(executable, NULL, &message), VXLA_INVALID_ARGUMENT, "event: NULL");
  VxlaEvent none = (VxlaEvent)(void*)argument;
  EXPECT_CODE(vxlaEventIsReady(none, &ready, &message), VXLA_INVALID_ARGUMENT, "event: the handle is a value");
  EXPECT_CODE(vxlaAwaitEvent(NULL, 0, &message), VXLA_INVALID_ARGUMENT, "event: NULL");
  EXPECT_CODE(vxlaOnEvent(none, Note, NULL, &message), VXLA_INVALID_ARGUMENT, "event: the handle is a value");
  EXPECT_CODE(vxlaGetValueEvent((VxlaValue)(void*)event, &none, &message), VXLA_INVALID_ARGUMENT, "is an event");
  EXPECT(none == NULL);
  EXPECT_CODE(vxlaGetExecutableEvent((VxlaExecutable)(void*)event, &none, &message), VXLA_INVALID_ARGUMENT,
              "executable: the handle is an event");
  // A program of an older header has no place for an event.
  VxlaEvent untouched = (VxlaEvent)(void*)argument;
  VxlaValue result = NULL;
  const VxlaExecuteInfo older = {.struct_size = offsetof(VxlaExecuteInfo, done),
                                 .argument_count = 1,
                                 .arguments = &argument,
                                 .result_count = 1,
                                 .results = &result,
                                 .done = &untouched};
  atomic_store(&gate.fails, 0);
  EXPECT_OK(vxlaExecute(executable, &older, &message));
  EXPECT(untouched == (VxlaEvent)(void*)argument);
  ExpectFloats(result, 3, twice);
  vxlaDestroyValue(result);
  vxlaDestroyEvent((VxlaEvent)(void*)argument);  // nothing
  vxlaDestroyEvent(NULL);
  vxlaDestroyEvent(event);
  vxlaDestroyValue(argument);
  vxlaDestroyExecutable(executable);
}

static void Count(void* user_data, VxlaCode code, const char* text) {
  EXPECT(code == VXLA_OK && text[0] == 0);
  atomic_fetch_add((atomic_int*)user_data, 1);
}

// What is called back after its event and all else is destroyed is called before the device is gone.
static void TestLateCallbacks(void) {
  VxlaDevice device = Open(0);
  static Gate gate;
  atomic_int calls = 0;
  const VxlaFunctionInfo function = {
      .struct_size = sizeof(function), .name = "gate", .function = PassGate, .user_data = &gate};
  EXPECT_OK(vxlaRegisterFunction(device, &function, &message));
  VxlaExecutable executable = Compile(device, kGated, 0);
  const float x[3] = {1, 2, 3};
  VxlaValue argument = Make(device, 3, x);
  VxlaEvent done = NULL;
  VxlaValue result = Execute(executable, argument, &done);
  for (int i = 0; i < 3; ++i) EXPECT_OK(vxlaOnEvent(done, Count, &calls, &message));
  vxlaDestroyEvent(done);
  vxlaDestroyValue(result);
  vxlaDestroyValue(argument);
  vxlaDestroyExecutable(executable);
  EXPECT(atomic_load(&calls) == 0);
  pthread_t opens;
  EXPECT(pthread_create(&opens, NULL, OpenSoon, &gate) == 0);
  EXPECT_OK(vxlaDestroyDevice(device, &message));
  EXPECT(atomic_load(&calls) == 3);
  pthread_join(opens, NULL);
}

// ---- transfers ----

static void TestTransfers(VxlaDevice device) {
  // [2, 3] out of every second element of each row of a [4, 3], from the last row upwards; and a column repeated.
  const float x[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const float rows[6] = {9, 10, 11, 3, 4, 5}, repeated[6] = {0, 0, 0, 3, 3, 3};
  const int64_t sizes[2] = {2, 3}, up[2] = {-24, 4}, same[2] = {12, 0};
  const VxlaArray array = {.struct_size = sizeof(array), .element_type = VXLA_F32, .rank = 2, .dimensions = sizes};
  for (int pinned = 0; pinned < 2; ++pinned) {
    for (int lent = 0; lent < 2; ++lent) {
      VxlaUploadInfo info = {.struct_size = sizeof(info),
                             .flags = pinned ? VXLA_UPLOAD_PINNED_HOST : 0,
                             .array = &array,
                             .data = x + 9,
                             .byte_strides = up};
      VxlaValue value = NULL;
      VxlaEvent done = NULL;
      EXPECT_OK(vxlaUpload(device, &info, &value, lent ? &done : NULL, &message));
      if (lent) EXPECT_OK(vxlaAwaitEvent(done, UINT64_MAX, &message));
      ExpectFloats(value, 6, rows);
      // Back to the columns of a [3, 2].
      float columns[6] = {0};
      const int64_t down[2] = {4, 8};
      VxlaDownloadInfo back = {.struct_size = sizeof(back), .data = columns, .byte_strides = down};
      EXPECT_OK(vxlaDownload(value, &back, NULL, &message));
      for (int i = 0; i < 2; ++i)
        for (int k = 0; k < 3; ++k) EXPECT(columns[2 * k + i] == rows[3 * i + k]);
      vxlaDestroyValue(value);
      vxlaDestroyEvent(done);
      info.data = x;
      info.byte_strides = same;
      EXPECT_OK(vxlaUpload(device, &info, &value, NULL, &message));
      ExpectFloats(value, 6, repeated);
      vxlaDestroyValue(value);
    }
  }
  // A large array: `data` may change at once where no event is asked for, else with the event.
  enum { kMany = 300000 };
  float* many = malloc(sizeof(float) * kMany);
  float* got = malloc(sizeof(float) * kMany);
  const int64_t count = kMany;
  const VxlaArray large = {.struct_size = sizeof(large), .element_type = VXLA_F32, .rank = 1, .dimensions = &count};
  for (int lent = 0; lent < 2; ++lent) {
    for (int i = 0; i < kMany; ++i) many[i] = (float)(i + lent);
    const VxlaUploadInfo info = {.struct_size = sizeof(info), .array = &large, .data = many};
    VxlaValue value = NULL;
    VxlaEvent done = NULL, there = NULL;
    EXPECT_OK(vxlaUpload(device, &info, &value, lent ? &done : NULL, &message));
    if (lent) EXPECT_OK(vxlaAwaitEvent(done, UINT64_MAX, &message));
    memset(many, 0, sizeof(float) * kMany);
    const VxlaDownloadInfo back = {.struct_size = sizeof(back), .data = got, .size_bytes = sizeof(float) * kMany};
    EXPECT_OK(vxlaDownload(value, &back, &there, &message));
    vxlaDestroyValue(value);
    EXPECT_OK(vxlaAwaitEvent(there, UINT64_MAX, &message));
    int wrong = 0;
    for (int i = 0; i < kMany; ++i) wrong += got[i] != (float)(i + lent);
    EXPECT(wrong == 0);
    vxlaDestroyEvent(done);
    vxlaDestroyEvent(there);
  }
  free(many);
  free(got);
  // Live sizes.
  const int64_t bound = 4, live = 3;
  const uint8_t dynamic = 1;
  const VxlaArray open = {.struct_size = sizeof(open),
                          .element_type = VXLA_F32,
                          .rank = 1,
                          .dimensions = &bound,
                          .dynamic = &dynamic,
                          .live_sizes = &live};
  VxlaUploadInfo info = {.struct_size = sizeof(info), .array = &open, .data = x};
  VxlaValue value = NULL;
  EXPECT_OK(vxlaUpload(device, &info, &value, NULL, &message));
  int64_t size = 0;
  EXPECT_OK(vxlaReadLiveSizes(value, 1, &size, &message));
  EXPECT(size == 3);
  ExpectFloats(value, 4, x);

  const int64_t any = VXLA_OPEN_SIZE;
  const VxlaArray unknown = {.struct_size = sizeof(unknown), .element_type = VXLA_F32, .rank = 1, .dimensions = &any};
  VxlaUploadInfo endless = {.struct_size = sizeof(endless), .array = &unknown, .data = x};
  VxlaValue refused = value;
  EXPECT_CODE(vxlaUpload(device, &endless, &refused, NULL, &message), VXLA_INVALID_ARGUMENT, "-1");
  refused = value;
  VxlaEvent event = (VxlaEvent)(void*)value;
  EXPECT_CODE(vxlaUpload(NULL, &info, &refused, &event, &message), VXLA_INVALID_ARGUMENT, "device: NULL");
  EXPECT(refused == NULL && event == NULL);
  EXPECT_CODE(vxlaUpload(device, &info, NULL, NULL, &message), VXLA_INVALID_ARGUMENT, "value: NULL");
  EXPECT_CODE(vxlaUpload(device, NULL, &refused, NULL, &message), VXLA_INVALID_ARGUMENT, "info: NULL");
  info.flags = 2;
  EXPECT_CODE(vxlaUpload(device, &info, &refused, NULL, &message), VXLA_INVALID_ARGUMENT, "flags 0x2");
  info.flags = 0;
  info.data = NULL;
  EXPECT_CODE(vxlaUpload(device, &info, &refused, NULL, &message), VXLA_INVALID_ARGUMENT, "data: NULL");
  info.array = NULL;
  EXPECT_CODE(vxlaUpload(device, &info, &refused, NULL, &message), VXLA_INVALID_ARGUMENT, "array: NULL");
  info.struct_size = 8;
  EXPECT_CODE(vxlaUpload(device, &info, &refused, NULL, &message), VXLA_INVALID_ARGUMENT, "struct_size is 8");
  EXPECT_CODE(vxlaWriteValue(value, x, 16, NULL, &message), VXLA_INVALID_ARGUMENT,
              "the f32[<=4]: elements of known sizes alone are replaced");
  float back[4];
  VxlaDownloadInfo download = {.struct_size = sizeof(download), .data = back, .size_bytes = 12};
  EXPECT_CODE(vxlaDownload(value, &download, &event, &message), VXLA_INVALID_ARGUMENT, "12 bytes given, it has 16");
  EXPECT(event == NULL);
  download.size_bytes = 16;
  download.flags = 1;
  EXPECT_CODE(vxlaDownload(value, &download, &event, &message), VXLA_INVALID_ARGUMENT, "flags 0x1: 0x0 are possible");
  download.flags = 0;
  download.data = NULL;
  EXPECT_CODE(vxlaDownload(value, &download, &event, &message), VXLA_INVALID_ARGUMENT, "data: NULL");
  EXPECT_CODE(vxlaDownload(NULL, &download, &event, &message), VXLA_INVALID_ARGUMENT, "value: NULL");
  EXPECT_CODE(vxlaDownload(value, NULL, &event, &message), VXLA_INVALID_ARGUMENT, "info: NULL");
  download.struct_size = 16;
  EXPECT_CODE(vxlaDownload(value, &download, &event, &message), VXLA_INVALID_ARGUMENT, "struct_size is 16");
  vxlaDestroyValue(value);
}

// A value that a run has taken over.
static void TestDonated(VxlaDevice device) {
  VxlaExecutable executable = Compile(device,
                                      "HloModule m, input_output_alias={ {}: (0, {}, may-alias) }\n"
                                      "ENTRY e {\n  x = f32[3] parameter(0)\n  ROOT r = f32[3] add(x, x)\n}\n",
                                      0);
  const float x[3] = {1, 2, 3}, twice[3] = {2, 4, 6};
  VxlaValue value = Make(device, 3, x), result = Execute(executable, value, NULL);
  float got[3];
  const VxlaDownloadInfo back = {.struct_size = sizeof(back), .data = got, .size_bytes = sizeof(got)};
  VxlaEvent event = NULL;
  EXPECT_OK(vxlaDownload(value, &back, &event, &message));
  EXPECT_CODE(vxlaAwaitEvent(event, UINT64_MAX, &message), VXLA_INVALID_ARGUMENT, "has been donated to a run");
  EXPECT_CODE(vxlaDownload(value, &back, NULL, &message), VXLA_INVALID_ARGUMENT, "has been donated to a run");
  ExpectFloats(result, 3, twice);
  vxlaDestroyEvent(event);
  vxlaDestroyValue(value);
  vxlaDestroyValue(result);
  vxlaDestroyExecutable(executable);
}

// ---- memory ----

static void TestMemory(VxlaDevice device) {
  VxlaMemoryStatistics before = {.struct_size = sizeof(before)}, with = before, after = before;
  EXPECT_OK(vxlaDescribeMemory(device, &before, &message));
  EXPECT(before.limit_bytes > 0 && before.used_bytes <= before.allocated_bytes);
  enum { kMany = 1 << 20 };
  float* zeros = calloc(kMany, sizeof(float));
  VxlaValue value = Make(device, kMany, zeros);
  free(zeros);
  EXPECT_OK(vxlaDescribeMemory(device, &with, &message));
  EXPECT(with.used_bytes >= before.used_bytes + 4 * kMany && with.peak_used_bytes >= with.used_bytes);
  EXPECT(with.allocation_count >= before.allocation_count && with.limit_bytes == before.limit_bytes);
  vxlaDestroyValue(value);
  EXPECT_OK(vxlaDescribeMemory(device, &after, &message));
  EXPECT(after.peak_used_bytes >= with.used_bytes);
  EXPECT_CODE(vxlaDescribeMemory(NULL, &after, &message), VXLA_INVALID_ARGUMENT, "device: NULL");
  EXPECT_CODE(vxlaDescribeMemory(device, NULL, &message), VXLA_INVALID_ARGUMENT, "statistics: NULL");
  after.struct_size = 4;
  EXPECT_CODE(vxlaDescribeMemory(device, &after, &message), VXLA_INVALID_ARGUMENT, "struct_size is 4");
}

// ---- several devices ----

static const char kSumOverReplicas[] =
    "HloModule m, replica_count=2\n"
    "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }\n"
    "ENTRY e {\n"
    "  x = f32[3] parameter(0)\n"
    "  s = f32[3] all-reduce(x), replica_groups={{0,1}}, to_apply=add\n"
    "  i = u32[] replica-id()\n"
    "  f = f32[] convert(i)\n"
    "  b = f32[3] broadcast(f), dimensions={}\n"
    "  ROOT r = f32[3] add(s, b)\n"
    "}\n";

// One run of several at the same time, on arguments that all of them read.
typedef struct Runs {
  VxlaExecutable executable;
  const VxlaValue* arguments;
  const float (*sums)[3];
  int wrong;
} Runs;

static void* RunOften(void* user_data) {
  Runs* runs = user_data;
  for (int i = 0; i < 5; ++i) {
    VxlaValue results[2] = {NULL, NULL};
    VxlaExecuteInfo infos[2];
    const VxlaExecuteInfo* pointers[2] = {&infos[0], &infos[1]};
    for (int d = 0; d < 2; ++d) {
      infos[d] = (VxlaExecuteInfo){.struct_size = sizeof(infos[d]),
                                   .argument_count = 1,
                                   .arguments = &runs->arguments[d],
                                   .result_count = 1,
                                   .results = &results[d]};
    }
    runs->wrong += vxlaExecuteOnDevices(runs->executable, 2, pointers, NULL) != VXLA_OK;
    for (int d = 0; d < 2; ++d) {
      float got[3] = {0};
      runs->wrong += vxlaReadValue(results[d], got, sizeof(got), NULL) != VXLA_OK;
      runs->wrong += memcmp(got, runs->sums[d], sizeof(got)) != 0;
      vxlaDestroyValue(results[d]);
    }
  }
  return NULL;
}

// Devices of one handle, and of two.
static void TestSeveralDevices(VxlaDevice device) {
  VxlaDevice other = Open(VXLA_DEVICE_CHECK_HANDLES);
  for (int apart = 0; apart < 2; ++apart) {
    const VxlaDevice devices[2] = {device, apart ? other : device};
    VxlaCompileInfo info = {
        .struct_size = sizeof(info), .text = kSumOverReplicas, .replica_count = 2, .devices = devices};
    VxlaExecutable executable = NULL;
    EXPECT_OK(vxlaCompile(device, &info, &executable, &message));
    if (apart) EXPECT_CODE(vxlaDestroyDevice(other, &message), VXLA_BUSY, "1 executable");
    const float x[2][3] = {{1, 2, 3}, {10, 20, 30}}, sums[2][3] = {{11, 22, 33}, {12, 23, 34}};
    VxlaValue arguments[2] = {Make(devices[0], 3, x[0]), Make(devices[1], 3, x[1])}, results[2] = {NULL, NULL};
    VxlaEvent done[2] = {NULL, NULL};
    VxlaExecuteInfo runs[2];
    const VxlaExecuteInfo* infos[2] = {&runs[0], &runs[1]};
    for (int d = 0; d < 2; ++d) {
      runs[d] = (VxlaExecuteInfo){.struct_size = sizeof(runs[d]),
                                  .argument_count = 1,
                                  .arguments = &arguments[d],
                                  .result_count = 1,
                                  .results = &results[d],
                                  .done = &done[d]};
    }
    EXPECT_OK(vxlaExecuteOnDevices(executable, 2, infos, &message));
    for (int d = 0; d < 2; ++d) {
      EXPECT_OK(vxlaAwaitEvent(done[d], UINT64_MAX, &message));
      ExpectFloats(results[d], 3, sums[d]);
      vxlaDestroyValue(results[d]);
      vxlaDestroyEvent(done[d]);
    }
    pthread_t threads[3];
    Runs of_thread[3];
    for (int i = 0; i < 3; ++i) {
      of_thread[i] = (Runs){executable, arguments, sums, 0};
      EXPECT(pthread_create(&threads[i], NULL, RunOften, &of_thread[i]) == 0);
    }
    for (int i = 0; i < 3; ++i) {
      pthread_join(threads[i], NULL);
      EXPECT(of_thread[i].wrong == 0);
    }
    VxlaExecutableDescription description = {.struct_size = sizeof(description)};
    EXPECT_OK(vxlaDescribeExecutable(executable, &description, &message));
    EXPECT(description.argument_count == 1 && description.result_count == 1);
    EXPECT_CODE(vxlaExecute(executable, &runs[0], &message), VXLA_INVALID_ARGUMENT,
                "it runs on 2 devices, by vxlaExecuteOnDevices alone");
    EXPECT(results[0] == NULL && done[0] == NULL);
    EXPECT_CODE(vxlaExecuteOnDevices(executable, 1, infos, &message), VXLA_INVALID_ARGUMENT,
                "devices: 1 given, the program has 2");
    EXPECT_CODE(vxlaExecuteOnDevices(executable, 2, NULL, &message), VXLA_INVALID_ARGUMENT, "infos: NULL");
    EXPECT_CODE(vxlaExecuteOnDevices(NULL, 2, infos, &message), VXLA_INVALID_ARGUMENT, "executable: NULL");
    runs[1].argument_count = 0;
    EXPECT_CODE(vxlaExecuteOnDevices(executable, 2, infos, &message), VXLA_INVALID_ARGUMENT,
                "device 1: arguments: 0 given, the program has 1");
    runs[1].argument_count = 1;
    const VxlaExecuteInfo* one[2] = {&runs[0], NULL};
    EXPECT_CODE(vxlaExecuteOnDevices(executable, 2, one, &message), VXLA_INVALID_ARGUMENT, "info: NULL");
    if (apart) {
      runs[1].arguments = &arguments[0];
      EXPECT_CODE(vxlaExecuteOnDevices(executable, 2, infos, &message), VXLA_INVALID_ARGUMENT,
                  "device 1: argument 0 is another device's");
    }
    VxlaBytes bytes = {0};
    EXPECT_CODE(vxlaSerializeExecutable(executable, &bytes, &message), VXLA_INVALID_ARGUMENT, "it runs on 2 devices");
    for (int d = 0; d < 2; ++d) vxlaDestroyValue(arguments[d]);
    vxlaDestroyExecutable(executable);
    vxlaDestroyExecutable(executable);  // a second time changes no count
    info.flags = VXLA_COMPILE_RECORDABLE;
    EXPECT_CODE(vxlaCompile(device, &info, &executable, &message), VXLA_UNSUPPORTED, "a program on 2 devices");
    info.flags = VXLA_COMPILE_IN_BACKGROUND;
    EXPECT_CODE(vxlaCompile(device, &info, &executable, &message), VXLA_UNSUPPORTED, "a program on 2 devices");
    info.flags = 0;
    const VxlaDevice wrong[2] = {device, NULL};
    info.devices = wrong;
    EXPECT_CODE(vxlaCompile(device, &info, &executable, &message), VXLA_INVALID_ARGUMENT, "device 1: NULL");
    info.replica_count = 65536;
    EXPECT_CODE(vxlaCompile(device, &info, &executable, &message), VXLA_INVALID_ARGUMENT,
                "65536 replicas of 0 partitions: 4096 devices are possible");
  }
  EXPECT_OK(vxlaDestroyDevice(other, &message));
}

int main(void) {
  VxlaDevice device = Open(VXLA_DEVICE_CHECK_HANDLES);
  if (device == NULL) return 1;
  TestEvents(device);
  TestLateCallbacks();
  TestTransfers(device);
  TestDonated(device);
  TestMemory(device);
  TestSeveralDevices(device);
  EXPECT_OK(vxlaCheckValidation(device, &message));
  EXPECT_OK(vxlaDestroyDevice(device, &message));
  return failures != 0;
}
