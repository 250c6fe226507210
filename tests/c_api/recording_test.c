// What a recording tells and takes beside its bindings: loops with a stated number of iterations, timestamps, steps
// with their estimates, and when each part of the scratch is in use; and open sizes with bounds, which make a program
// recordable.
#include <stdlib.h>

#include "tests/c_api/vulkan_host.h"

enum { kCount = 5, kIterations = 4 };

// So many times as the argument k says: negated, turned round, and the largest of 65,536 of which each is one less.
// Lavapipe ends loops in a kernel before that, so an iteration is several dispatches there.
#define BODY(COLUMNS)                                                                          \
  "HloModule m\n"                                                                              \
  "most { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] maximum(a, b) }\n"  \
  "body { s = (s32[], s32[], f32[5]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n" \
  "  k = s32[] get-tuple-element(s), index=1\n v = f32[5] get-tuple-element(s), index=2\n"     \
  "  one = s32[] constant(1)\n j = s32[] add(i, one)\n n = f32[5] negate(v)\n"                 \
  "  r = f32[5] reverse(n), dimensions={0}\n f = f32[5," COLUMNS                               \
  "] broadcast(r), dimensions={0}\n"                                                           \
  "  h = f32[5," COLUMNS "] iota(), iota_dimension=1\n g = f32[5," COLUMNS                     \
  "] subtract(f, h)\n"                                                                         \
  "  u = f32[] constant(-inf)\n d = f32[5] reduce(g, u), dimensions={1}, to_apply=most\n"      \
  "  ROOT t = (s32[], s32[], f32[5]) tuple(j, k, d) }\n"                                       \
  "cond { s = (s32[], s32[], f32[5]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n" \
  "  k = s32[] get-tuple-element(s), index=1\n ROOT p = pred[] compare(i, k), direction=LT }\n"
#define WHILE(NAME, X)                                   \
  "  " NAME ".t = (s32[], s32[], f32[5]) tuple(z, k, " X \
  ")\n"                                                  \
  "  " NAME ".w = (s32[], s32[], f32[5]) while(" NAME    \
  ".t), condition=cond, body=body\n"                     \
  "  " NAME " = f32[5] get-tuple-element(" NAME ".w), index=2\n"
#define ENTRY(LOOPS)                                                                           \
  "ENTRY e { x = f32[5] parameter(0)\n k = s32[] parameter(1)\n z = s32[] constant(0)\n" LOOPS \
  "  ROOT r = f32[5] negate(y) }\n"

static const char kLoop[] = BODY("65536") ENTRY(WHILE("y", "x"));
// An iteration is a share of one workgroup's.
static const char kSmallLoop[] = BODY("8") ENTRY(WHILE("y", "x"));
static const char kTwoLoops[] = BODY("65536") ENTRY(WHILE("q", "x") WHILE("y", "q"));
// The loop as the body of another one, which ends after kOuter iterations, or after so many as k says.
#define NEST(LIMIT) \
  BODY("65536")     \
  "outer { s = (s32[], s32[], f32[5]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n"  \
  "  k = s32[] get-tuple-element(s), index=1\n v = f32[5] get-tuple-element(s), index=2\n"       \
  "  z = s32[] constant(0)\n"                                                                    \
  WHILE("inner", "v")                                                                            \
  "  one = s32[] constant(1)\n j = s32[] add(i, one)\n"                                          \
  "  ROOT t = (s32[], s32[], f32[5]) tuple(j, k, inner) }\n"                                     \
  "again { s = (s32[], s32[], f32[5]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n"  \
  "  k = s32[] get-tuple-element(s), index=1\n three = s32[] constant(3)\n"                      \
  "  ROOT p = pred[] compare(i, " LIMIT "), direction=LT }\n"                                    \
  "ENTRY e { x = f32[5] parameter(0)\n k = s32[] parameter(1)\n z = s32[] constant(0)\n"         \
  "  n.t = (s32[], s32[], f32[5]) tuple(z, k, x)\n"                                              \
  "  n.w = (s32[], s32[], f32[5]) while(n.t), condition=again, body=outer\n"                     \
  "  y = f32[5] get-tuple-element(n.w), index=2\n  ROOT r = f32[5] negate(y) }\n"
enum { kOuter = 3 };
static const char kNest[] = NEST("three");
static const char kOpenNest[] = NEST("k");
// Its steps have other arrays in between.
static const char kSteps[] =
    "HloModule m\n"
    "more { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = pred[] compare(a, b), direction=GT }\n"
    "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }\n"
    "ENTRY e { x = f32[300] parameter(0)\n s = f32[300] sort(x), dimensions={0}, to_apply=more\n"
    "  w = f32[300,300] dot(s, x), lhs_contracting_dims={}, rhs_contracting_dims={}\n z = f32[] constant(0)\n"
    "  n = f32[300] reduce(w, z), dimensions={1}, to_apply=add\n"
    "  ROOT r = f32[300] sort(n), dimensions={0}, to_apply=more }\n";

static VxlaExecutable Compile(VxlaDevice device, const char* text, uint64_t loop_iterations) {
  VxlaCompileInfo info = {
      .struct_size = sizeof(info), .flags = VXLA_COMPILE_RECORDABLE, .text = text, .loop_iterations = loop_iterations};
  VxlaExecutable executable = NULL;
  EXPECT_OK(vxlaCompile(device, &info, &executable, &message));
  return executable;
}

static void ExpectTurned(const float* y, int trips) {
  for (int i = 0; i < kCount; ++i) {
    const float x = (float)(trips % 2 == 0 ? i : kCount - 1 - i);
    EXPECT(y[i] == (trips % 2 == 0 ? -x : x));
  }
}

// x, k, y and what loops say, in one buffer.
enum { kX = 0, kK = 256, kY = 512, kLoops = 768, kBytes = 1024 };

static void SetLoop(HostBuffer* buffer, int32_t k) {
  char* at = buffer->mapped;
  memset(at, 0xfb, kBytes);
  for (int i = 0; i < kCount; ++i) ((float*)at)[i] = (float)i;
  memcpy(at + kK, &k, sizeof(k));
}

// Records it whole, or its next part; whether it is finished.
static int RecordLoop(Host* host, VxlaRecording recording, VkCommandBuffer commands, HostBuffer* buffer, uint32_t loops,
                      int parts) {
  const VxlaBinding arguments[2] = {HostBind(buffer, kX, 32), HostBind(buffer, kK, 16)};
  const VxlaBinding result = HostBind(buffer, kY, 32), told = HostBind(buffer, kLoops + 4, 4 * (VkDeviceSize)loops);
  const VxlaBindings bindings = {.struct_size = sizeof(bindings),
                                 .argument_count = 2,
                                 .arguments = arguments,
                                 .result_count = 1,
                                 .results = &result,
                                 .loops = &told};
  int32_t finished = 1;
  HostBegin(host, commands);
  if (parts) {
    EXPECT_OK(vxlaCmdExecutePart(commands, recording, &bindings, 0, &finished, &message));
  } else {
    EXPECT_OK(vxlaCmdExecute(commands, recording, &bindings, &message));
  }
  HostBarrier(host, commands, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
  host->EndCommandBuffer(commands);
  return finished;
}

// Records it, whole or in parts, and runs it for k. The loops' words stand in the buffer then.
static void RunLoop(Host* host, VxlaRecording recording, VkCommandBuffer commands, HostBuffer* buffer, int32_t k,
                    uint32_t loops, int parts) {
  SetLoop(buffer, k);
  for (int finished = 0; !finished && failures == 0;) {
    finished = RecordLoop(host, recording, commands, buffer, loops, parts);
    HostSubmit(host, commands);
  }
}

static int32_t Told(const HostBuffer* buffer, int loop) {
  int32_t word;
  memcpy(&word, (const char*)buffer->mapped + kLoops + 4 * (1 + loop), sizeof(word));
  return word;
}

static void TestLoop(Host* host, VxlaExecutable executable, uint32_t loops, int32_t iterations) {
  const VxlaRecordingNeeds needs = Needs(executable);
  EXPECT(needs.loop_count == loops);
  // A driver whose loops may be long has the whole loop in one kernel: what is recorded as an iteration may be several.
  const int share = needs.step_count < 5 * loops * (uint32_t)(iterations + 1);
  const VxlaRecordingInfo info = {.struct_size = sizeof(info)};
  VxlaRecording recording = NULL;
  EXPECT_OK(vxlaCreateRecording(executable, &info, &recording, &message));
  HostBuffer buffer =
      HostMakeBuffer(host, kBytes, needs.argument_usage | needs.result_usage | VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  VkCommandBuffer commands = HostCommands(host, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  int allocations = 0;
  for (int32_t k = -1; k <= iterations + 2; ++k) {
    RunLoop(host, recording, commands, &buffer, k, loops, k == 1);
    const int ended = k <= iterations || (share && Told(&buffer, 0) == 0);
    for (uint32_t loop = 0; loop < loops; ++loop) EXPECT((Told(&buffer, (int)loop) == 0) == ended);
    if (ended) ExpectTurned((const float*)((char*)buffer.mapped + kY), (k < 0 ? 0 : k) * (int)loops);
    EXPECT(Told(&buffer, -1) == (int32_t)0xfbfbfbfb && Told(&buffer, (int)loops) == (int32_t)0xfbfbfbfb);
    if (k == 0) allocations = host->allocations;
  }
  EXPECT(host->allocations == allocations);
  const VxlaBinding none = {0};
  VxlaBinding arguments[2] = {HostBind(&buffer, kX, 32), HostBind(&buffer, kK, 16)};
  VxlaBinding result = HostBind(&buffer, kY, 32), told = HostBind(&buffer, kLoops, 4 * (VkDeviceSize)loops);
  VxlaBindings bindings = {.struct_size = sizeof(bindings),
                           .argument_count = 2,
                           .arguments = arguments,
                           .result_count = 1,
                           .results = &result};
#define REFUSED(TEXT) EXPECT_CODE(vxlaCmdExecute(commands, recording, &bindings, &message), VXLA_INVALID_ARGUMENT, TEXT)
  HostBegin(host, commands);
  REFUSED("loops: NULL, and ");
  bindings.struct_size = offsetof(VxlaBindings, loops);  // of a program compiled against a header without loops
  REFUSED("loops: NULL, and ");
  bindings.struct_size = sizeof(bindings);
  bindings.loops = &none;
  REFUSED("loops: its VkBuffer is NULL");
  bindings.loops = &told;
  told.size = 3;
  REFUSED("loops: 3 bytes are bound, it needs ");
  told = HostBind(&buffer, kLoops + 2, 16);
  REFUSED("loops: its offset 770 is no multiple of 4");
  told = HostBind(&buffer, kLoops, 16), told.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
  REFUSED("loops: its buffer's usage 0x20 lacks 0x2");
  told = HostBind(&buffer, kBytes - 4, 1 << 20);
  REFUSED("loops: 1048576 bytes from 1020 on lie outside its VkBuffer");
  told = HostBind(&buffer, kY + 4, 16);
  REFUSED("result 0: its memory overlaps that of loops, and one of them is written");
#undef REFUSED
  host->EndCommandBuffer(commands);
  told = HostBind(&buffer, kLoops, 16);
  EXPECT_CODE(vxlaRebind(recording, &bindings, &message), VXLA_UNSUPPORTED, "record it");
  vxlaDestroyRecording(recording);
  HostFreeBuffer(host, &buffer);
}

// Loops in loops are recorded as one, which shares the stated iterations. Its word tells whether it was cut off, and
// what ended has the right result.
static void TestNest(Host* host, VxlaDevice device, const char* text, int open) {
  VxlaExecutable executable = Compile(device, text, kIterations);
  const VxlaRecordingNeeds needs = Needs(executable);
  EXPECT(needs.loop_count == 1);
  const VxlaRecordingInfo info = {.struct_size = sizeof(info)};
  VxlaRecording recording = NULL;
  EXPECT_OK(vxlaCreateRecording(executable, &info, &recording, &message));
  HostBuffer buffer =
      HostMakeBuffer(host, kBytes, needs.argument_usage | needs.result_usage | VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  VkCommandBuffer commands = HostCommands(host, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  for (int32_t k = -1; k <= 4; ++k) {
    RunLoop(host, recording, commands, &buffer, k, needs.loop_count, k == 1);
    const int ended = Told(&buffer, 0) == 0;
    EXPECT(ended || k > 2);
    const int trips = k < 0 ? 0 : k;
    if (ended) ExpectTurned((const float*)((char*)buffer.mapped + kY), trips * (open ? trips : kOuter));
  }
  vxlaDestroyRecording(recording);
  vxlaDestroyExecutable(executable);
  HostFreeBuffer(host, &buffer);
}

// Two recordings of one executable in flight, each with loops of its own length, submitted again and again.
static void TestInFlight(Host* host, VxlaDevice device) {
  VxlaExecutable executable = Compile(device, kTwoLoops, kIterations);
  const VxlaRecordingNeeds needs = Needs(executable);
  const VxlaRecordingInfo info = {.struct_size = sizeof(info)};
  VxlaRecording recordings[2] = {NULL, NULL};
  HostBuffer buffers[2];
  VkCommandBuffer commands[2];
  for (int i = 0; i < 2; ++i) {
    EXPECT_OK(vxlaCreateRecording(executable, &info, &recordings[i], &message));
    buffers[i] =
        HostMakeBuffer(host, kBytes, needs.argument_usage | needs.result_usage | VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    commands[i] = HostCommands(host, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    EXPECT(RecordLoop(host, recordings[i], commands[i], &buffers[i], needs.loop_count, 0));
  }
  const VkSubmitInfo submit = {
      .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 2, .pCommandBuffers = commands};
  for (int32_t round = 0; round < 3; ++round) {
    const int32_t k[2] = {round, kIterations - round};
    for (int i = 0; i < 2; ++i) SetLoop(&buffers[i], k[i]);
    EXPECT(host->QueueSubmit(host->queue, 1, &submit, VK_NULL_HANDLE) == VK_SUCCESS);
    EXPECT(host->QueueWaitIdle(host->queue) == VK_SUCCESS);
    for (int i = 0; i < 2; ++i) {
      EXPECT(Told(&buffers[i], 0) == 0 && Told(&buffers[i], 1) == 0);
      ExpectTurned((const float*)((char*)buffers[i].mapped + kY), 2 * k[i]);
    }
  }
  for (int i = 0; i < 2; ++i) {
    vxlaDestroyRecording(recordings[i]);
    HostFreeBuffer(host, &buffers[i]);
  }
  vxlaDestroyExecutable(executable);
}

static void TestLoops(Host* host, VxlaDevice device) {
  VxlaExecutable executable = Compile(device, kLoop, kIterations);
  TestLoop(host, executable, 1, kIterations);
  // From a bundle that says nothing of it.
  VxlaBytes bytes = {0};
  EXPECT_OK(vxlaSerializeExecutable(executable, &bytes, &message));
  vxlaDestroyExecutable(executable);
  VxlaBundleInfo bundle = {.struct_size = offsetof(VxlaBundleInfo, loop_iterations),
                           .flags = VXLA_COMPILE_RECORDABLE,
                           .data = bytes.data,
                           .size_bytes = bytes.size_bytes,
                           .loop_iterations = kIterations};
  EXPECT_CODE(vxlaLoadBundle(device, &bundle, &executable, &message), VXLA_UNSUPPORTED,
              "no loop_iterations are stated");
  bundle.struct_size = sizeof(bundle);
  EXPECT_OK(vxlaLoadBundle(device, &bundle, &executable, &message));
  TestLoop(host, executable, 1, kIterations);
  vxlaDestroyExecutable(executable);
  vxlaFreeBytes(&bytes);

  executable = Compile(device, kSmallLoop, 1);
  TestLoop(host, executable, 1, 1);
  vxlaDestroyExecutable(executable);
  executable = Compile(device, kTwoLoops, kIterations);
  TestLoop(host, executable, 2, kIterations);
  vxlaDestroyExecutable(executable);
  TestNest(host, device, kNest, 0);
  TestNest(host, device, kOpenNest, 1);
  TestInFlight(host, device);

  VxlaCompileInfo info = {.struct_size = sizeof(info), .flags = VXLA_COMPILE_RECORDABLE, .text = kLoop};
  EXPECT_CODE(vxlaCompile(device, &info, &executable, &message), VXLA_UNSUPPORTED,
              "the host asks the device when y.w ends, and no loop_iterations are stated");
  info.loop_iterations = UINT64_MAX;
  EXPECT_CODE(vxlaCompile(device, &info, &executable, &message), VXLA_UNSUPPORTED, "more than 65536 commands");
}

// ---- steps, scratch, timestamps ----

static void TestDescriptions(VxlaExecutable executable, const VxlaRecordingNeeds* needs) {
  EXPECT(needs->step_count >= 3 && needs->microseconds > 0 && needs->flags == 0 && needs->loop_count == 0);
  double sum = 0;
  int sorts = 0;
  for (uint32_t i = 0; i < needs->step_count; ++i) {
    VxlaStep step = {.struct_size = sizeof(step)};
    EXPECT_OK(vxlaDescribeStep(executable, i, &step, &message));
    EXPECT(step.name != NULL && step.microseconds > 0);
    sorts += step.name != NULL && strstr(step.name, "sort") != NULL;
    sum += step.microseconds;
  }
  EXPECT(sorts >= 2);
  const double off_by = sum - needs->microseconds;
  EXPECT(off_by < 1e-9 * sum && off_by > -1e-9 * sum);
  VxlaStep none = {.struct_size = sizeof(none)};
  EXPECT_CODE(vxlaDescribeStep(executable, needs->step_count, &none, &message), VXLA_INVALID_ARGUMENT,
              ": the program has ");
  EXPECT(needs->scratch_range_count >= 1);
  uint64_t bytes = 0;
  uint32_t first_before = 0;
  for (uint32_t i = 0; i < needs->scratch_range_count; ++i) {
    VxlaScratchRange range = {.struct_size = sizeof(range)};
    EXPECT_OK(vxlaDescribeScratch(executable, i, &range, &message));
    EXPECT(range.first_step >= first_before && range.first_step <= range.last_step);
    EXPECT(range.last_step < needs->step_count);
    EXPECT(range.size != 0 && range.offset + range.size <= needs->scratch_size);
    first_before = range.first_step;
    bytes += range.size;
    // Without loops no two that are alive at the same step share bytes.
    for (uint32_t k = 0; k < i; ++k) {
      VxlaScratchRange other = {.struct_size = sizeof(other)};
      EXPECT_OK(vxlaDescribeScratch(executable, k, &other, &message));
      const int apart = other.last_step < range.first_step || range.last_step < other.first_step;
      EXPECT(apart || other.offset + other.size <= range.offset || range.offset + range.size <= other.offset);
    }
  }
  EXPECT(bytes >= 1200);  // of s
  VxlaScratchRange nothing = {.struct_size = sizeof(nothing)};
  EXPECT_CODE(vxlaDescribeScratch(executable, needs->scratch_range_count, &nothing, &message), VXLA_INVALID_ARGUMENT,
              "scratch range ");
}

static void TestTimestamps(Host* host, VxlaDevice device) {
  VxlaExecutable executable = Compile(device, kSteps, 0);
  const VxlaRecordingNeeds needs = Needs(executable);
  TestDescriptions(executable, &needs);
  // Of a program compiled against an older header.
  VxlaRecordingNeeds old = {.struct_size = offsetof(VxlaRecordingNeeds, loop_count), .step_count = 77};
  EXPECT_OK(vxlaDescribeRecording(executable, &old, &message));
  EXPECT(old.step_count == 77 && old.scratch_size == needs.scratch_size);
  const VxlaRecordingInfo info = {.struct_size = sizeof(info)};
  VxlaRecording recording = NULL;
  EXPECT_OK(vxlaCreateRecording(executable, &info, &recording, &message));
  HostBuffer buffer = HostMakeBuffer(host, 4096, needs.argument_usage | needs.result_usage);
  for (int i = 0; i < 300; ++i) ((float*)buffer.mapped)[i] = (float)(i * 7919 % 300);
  const VxlaBinding x = HostBind(&buffer, 0, 1200), y = HostBind(&buffer, 2048, 1200);
  VxlaBindings bindings = {
      .struct_size = sizeof(bindings), .argument_count = 1, .arguments = &x, .result_count = 1, .results = &y};
  enum { kFirst = 3, kQueries = 64 };
  EXPECT(needs.step_count + 1 + kFirst <= kQueries);
  VkQueryPoolCreateInfo queries = {
      .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryType = VK_QUERY_TYPE_TIMESTAMP, .queryCount = kQueries};
  VkQueryPool pool = VK_NULL_HANDLE;
  EXPECT(host->CreateQueryPool(host->device, &queries, NULL, &pool) == VK_SUCCESS);
  VkCommandBuffer commands = HostCommands(host, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  for (int round = 0; round < 4; ++round) {
    const uint32_t count = round % 2 == 0 ? 2 : needs.step_count + 1;
    uint64_t times[kQueries] = {0};
    bindings.timestamps = pool, bindings.first_query = kFirst, bindings.query_count = count;
    HostBegin(host, commands);
    host->CmdResetQueryPool(commands, pool, 0, kQueries);
    for (int32_t finished = round < 2; !finished;)
      EXPECT_OK(vxlaCmdExecutePart(commands, recording, &bindings, 0, &finished, &message));
    if (round < 2) EXPECT_OK(vxlaCmdExecute(commands, recording, &bindings, &message));
    HostBarrier(host, commands, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    host->EndCommandBuffer(commands);
    HostSubmit(host, commands);
    EXPECT(host->GetQueryPoolResults(host->device, pool, kFirst, count, sizeof(times), times, sizeof(times[0]),
                                     VK_QUERY_RESULT_64_BIT) == VK_SUCCESS);
    for (uint32_t i = 1; i < count; ++i) EXPECT(times[i] != 0 && times[i] >= times[i - 1]);
    // And no other query.
    uint64_t other[2] = {0};
    EXPECT(host->GetQueryPoolResults(host->device, pool, kFirst - 1, 1, sizeof(other), other, sizeof(other[0]),
                                     VK_QUERY_RESULT_64_BIT) == VK_NOT_READY);
    EXPECT(host->GetQueryPoolResults(host->device, pool, kFirst + count, 1, sizeof(other), other, sizeof(other[0]),
                                     VK_QUERY_RESULT_64_BIT) == VK_NOT_READY);
  }
  for (int i = 1; i < 300; ++i) EXPECT(((float*)buffer.mapped)[512 + i] <= ((float*)buffer.mapped)[511 + i]);
  HostBegin(host, commands);
  bindings.query_count = 3 + needs.step_count;
  EXPECT_CODE(vxlaCmdExecute(commands, recording, &bindings, &message), VXLA_INVALID_ARGUMENT,
              "for the program's steps");
  bindings.query_count = 2, bindings.timestamps = VK_NULL_HANDLE;
  EXPECT_CODE(vxlaCmdExecute(commands, recording, &bindings, &message), VXLA_INVALID_ARGUMENT,
              "timestamps: the VkQueryPool is NULL");
  host->EndCommandBuffer(commands);
  host->DestroyQueryPool(host->device, pool, NULL);
  vxlaDestroyRecording(recording);
  vxlaDestroyExecutable(executable);
  HostFreeBuffer(host, &buffer);
}

// ---- sizes that a text leaves open, with bounds ----

static const char kOpen[] =
    "func.func @main(%x: tensor<?x2xf32>, %c: tensor<2xf32>) -> tensor<?x2xf32> {\n"
    "  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x2xf32>) -> tensor<i32>\n"
    "  %most = stablehlo.constant dense<6> : tensor<i32>\n  %two = stablehlo.constant dense<2> : tensor<1xi32>\n"
    "  %fits = stablehlo.compare LE, %n, %most, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "  stablehlo.custom_call @shape_assertion(%fits, %n) {error_message = \"{0} is more than 6\"} : (tensor<i1>, "
    "tensor<i32>) -> ()\n"
    "  %size = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>\n"
    "  %sizes = stablehlo.concatenate %size, %two, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>\n"
    "  %rows = stablehlo.dynamic_broadcast_in_dim %c, %sizes, dims = [1] : (tensor<2xf32>, tensor<2xi32>) -> "
    "tensor<?x2xf32>\n"
    "  %r = stablehlo.add %x, %rows : tensor<?x2xf32>\n  return %r : tensor<?x2xf32>\n}\n";

static void TestBounds(VxlaDevice device) {
  VxlaCompileInfo info = {
      .struct_size = sizeof(info), .flags = VXLA_COMPILE_RECORDABLE, .text = kOpen, .bounds = "0.0=5"};
  VxlaExecutable executable = NULL;
  EXPECT_OK(vxlaCompile(device, &info, &executable, &message));
  VxlaArray argument = {.struct_size = sizeof(argument)};
  EXPECT_OK(vxlaDescribeArgument(executable, 0, &argument, &message));
  EXPECT(argument.rank == 2 && argument.dimensions[0] == 5 && argument.dynamic != NULL && argument.dynamic[0] == 1);
  EXPECT(Needs(executable).step_count != 0);
  const float c[2] = {10, 20};
  const int64_t two = 2;
  const VxlaArray row = {.struct_size = sizeof(row), .element_type = VXLA_F32, .rank = 1, .dimensions = &two};
  VxlaValue arguments[2] = {NULL, NULL}, result = NULL;
  EXPECT_OK(vxlaCreateValue(device, &row, c, &arguments[1], &message));
  for (int64_t size = 1; size <= 5; size += 2) {
    const float x[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    const int64_t sizes[2] = {size, 2};
    argument.live_sizes = sizes;
    EXPECT_OK(vxlaCreateValue(device, &argument, x, &arguments[0], &message));
    const VxlaExecuteInfo run = {
        .struct_size = sizeof(run), .argument_count = 2, .arguments = arguments, .result_count = 1, .results = &result};
    EXPECT_OK(vxlaExecute(executable, &run, &message));
    int64_t live[2] = {0, 0};
    EXPECT_OK(vxlaReadLiveSizes(result, 2, live, &message));
    EXPECT(live[0] == size && live[1] == 2);
    float got[10] = {0};
    EXPECT_OK(vxlaReadValue(result, got, sizeof(got), &message));
    for (int i = 0; i < 2 * size; ++i) EXPECT(got[i] == (float)i + c[i % 2]);
    vxlaDestroyValue(result);
    vxlaDestroyValue(arguments[0]);
  }
  vxlaDestroyValue(arguments[1]);
  vxlaDestroyExecutable(executable);
  info.bounds = "0.0=7";
  EXPECT_CODE(vxlaCompile(device, &info, &executable, &message), VXLA_INVALID_ARGUMENT, "7 is more than 6");
  info.bounds = "n=5";
  EXPECT_CODE(vxlaCompile(device, &info, &executable, &message), VXLA_NOT_FOUND,
              "bound of 'n': no size of the program is called so");
  info.text = kLoop;
  EXPECT_CODE(vxlaCompile(device, &info, &executable, &message), VXLA_INVALID_ARGUMENT,
              "bound of 'n': the program leaves no size open");
}

int main(void) {
  static Host host;
  if (!HostOpen(&host, VK_API_VERSION_1_2)) return 1;
  static const char* const kBindings[] = {"addresses", "descriptors"};
  for (int i = 0; i < 2; ++i) {
    HostMakeDevice(&host, NULL);
    VxlaAdoptInfo info = HostAdoptInfo(&host, VK_API_VERSION_1_2, kBindings[i]);
    VxlaDevice device = NULL;
    EXPECT_OK(vxlaAdoptDevice(&info, &device, &message));
    if (device != NULL) {
      TestLoops(&host, device);
      TestTimestamps(&host, device);
      TestBounds(device);
      EXPECT_OK(vxlaDestroyDevice(device, &message));
    }
    HostCloseDevice(&host);
  }
  HostClose(&host);
  return failures != 0;
}
