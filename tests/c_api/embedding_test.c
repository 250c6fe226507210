// A host with a Vulkan device of its own: vxla lives on it and records into its command buffers.
#include "tests/c_api/vulkan_host.h"

enum { kCount = 5 };  // not a multiple of anything

// Two kernels with a barrier between, a constant, and scratch.
static const char kProgram[] =
    "HloModule m\n"
    "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }\n"
    "ENTRY e {\n"
    "  x = f32[5] parameter(0)\n"
    "  y = f32[5] parameter(1)\n"
    "  z = f32[] constant(0)\n"
    "  c = f32[5] constant({1, 2, 3, 4, 5})\n"
    "  p = f32[5] multiply(x, y)\n"
    "  s = f32[] reduce(p, z), dimensions={0}, to_apply=add\n"
    "  b = f32[5] broadcast(s), dimensions={}\n"
    "  q = f32[5] add(b, c)\n"
    "  ROOT t = (f32[5], f32[]) tuple(q, s)\n"
    "}\n";
static const char kCopies[] =
    "HloModule m\n"
    "ENTRY e {\n"
    "  x = f32[5] parameter(0)\n"
    "  ROOT t = (f32[5], f32[5]) tuple(x, x)\n"
    "}\n";
static const char kDonates[] =
    "HloModule m, input_output_alias={ {}: (0, {}, may-alias) }\n"
    "ENTRY e { x = f32[5] parameter(0)\n ROOT r = f32[5] add(x, x) }\n";
// So many times: negated, turned round and the largest of so many that a loop of one workgroup would take too long.
#define LOOP(TRIPS)                                                                                 \
  "HloModule m\n"                                                                                   \
  "most { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] maximum(a, b) }\n"       \
  "body { s = (s32[], f32[5]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n"             \
  "  v = f32[5] get-tuple-element(s), index=1\n one = s32[] constant(1)\n j = s32[] add(i, one)\n"  \
  "  n = f32[5] negate(v)\n r = f32[5] reverse(n), dimensions={0}\n"                                \
  "  f = f32[5,524288] broadcast(r), dimensions={0}\n h = f32[5,524288] iota(), iota_dimension=1\n" \
  "  g = f32[5,524288] subtract(f, h)\n u = f32[] constant(-inf)\n"                                 \
  "  d = f32[5] reduce(g, u), dimensions={1}, to_apply=most\n"                                      \
  "  ROOT t = (s32[], f32[5]) tuple(j, d) }\n"                                                      \
  "cond { s = (s32[], f32[5]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n"             \
  "  k = s32[] constant(" TRIPS                                                                     \
  ")\n ROOT p = pred[] compare(i, k), direction=LT }\n"                                             \
  "ENTRY e { x = f32[5] parameter(0)\n z = s32[] constant(0)\n t = (s32[], f32[5]) tuple(z, x)\n"   \
  "  w = (s32[], f32[5]) while(t), condition=cond, body=body\n"                                     \
  "  ROOT r = f32[5] get-tuple-element(w), index=1 }\n"
static const char kHostStep[] =
    "HloModule m\n"
    "ENTRY e { x = f32[4] parameter(0)\n t = token[] after-all()\n"
    "  o = token[] outfeed(x, t), outfeed_shape=f32[4]\n ROOT r = f32[4] add(x, x) }\n";
static const char kUnknownLoop[] =
    "HloModule m\n"
    "body { s = (f32[], f32[5]) parameter(0)\n a = f32[] get-tuple-element(s), index=0\n"
    "  v = f32[5] get-tuple-element(s), index=1\n w = f32[5] sine(v)\n b = f32[] multiply(a, a)\n"
    "  ROOT t = (f32[], f32[5]) tuple(b, w) }\n"
    "cond { s = (f32[], f32[5]) parameter(0)\n a = f32[] get-tuple-element(s), index=0\n"
    "  k = f32[] constant(100)\n ROOT p = pred[] compare(a, k), direction=LT }\n"
    "ENTRY e { i = (f32[], f32[5]) parameter(0)\n"
    "  ROOT w = (f32[], f32[5]) while(i), condition=cond, body=body }\n";

static VxlaExecutable Compile(VxlaDevice device, const char* text, uint32_t flags) {
  VxlaCompileInfo info = {.struct_size = sizeof(info), .flags = flags, .text = text};
  VxlaExecutable executable = NULL;
  EXPECT_OK(vxlaCompile(device, &info, &executable, &message));
  return executable;
}

static VxlaRecording Recording(VxlaExecutable executable, const VxlaBinding* scratch) {
  VxlaRecordingInfo info = {.struct_size = sizeof(info), .scratch = scratch};
  VxlaRecording recording = NULL;
  EXPECT_OK(vxlaCreateRecording(executable, &info, &recording, &message));
  return recording;
}

static void Fill(void* mapped, float first) {
  for (int i = 0; i < kCount; ++i) ((float*)mapped)[i] = first + (float)i;
}

// x and y in one buffer of the host's, the results in another.
typedef struct Frame {
  HostBuffer in, out;
  VxlaBinding arguments[2], results[2];
  VxlaBindings bindings;
} Frame;

static void MakeFrame(Host* host, const VxlaRecordingNeeds* needs, Frame* frame) {
  frame->in = HostMakeBuffer(host, 1024, needs->argument_usage);
  frame->out = HostMakeBuffer(host, 1024, needs->result_usage);
  frame->arguments[0] = HostBind(&frame->in, 256, 32);
  frame->arguments[1] = HostBind(&frame->in, 512, 32);
  frame->results[0] = HostBind(&frame->out, 0, 32);
  frame->results[1] = HostBind(&frame->out, 768, 256);
  frame->bindings = (VxlaBindings){.struct_size = sizeof(VxlaBindings),
                                   .argument_count = 2,
                                   .arguments = frame->arguments,
                                   .result_count = 2,
                                   .results = frame->results};
}

static void FillFrame(Frame* frame, float x, float y) {
  Fill((char*)frame->in.mapped + 256, x);
  Fill((char*)frame->in.mapped + 512, y);
  memset(frame->out.mapped, 0xfb, 1024);
}

static void ExpectFrame(const Frame* frame, float x, float y) {
  float sum = 0;
  for (int i = 0; i < kCount; ++i) sum += (x + (float)i) * (y + (float)i);
  for (int i = 0; i < kCount; ++i) EXPECT(((const float*)frame->out.mapped)[i] == sum + (float)(i + 1));
  EXPECT(((const float*)frame->out.mapped)[768 / 4] == sum);
  EXPECT(((const unsigned char*)frame->out.mapped)[32] == 0xfb);  // behind the binding
}

static void FreeFrame(Host* host, Frame* frame) {
  HostFreeBuffer(host, &frame->in);
  HostFreeBuffer(host, &frame->out);
}

static void TestFrames(Host* host, VxlaDevice device) {
  VxlaExecutable executable = Compile(device, kProgram, VXLA_COMPILE_RECORDABLE);
  const VxlaRecordingNeeds needs = Needs(executable);
  VxlaExecutableDescription description = {.struct_size = sizeof(description)};
  EXPECT_OK(vxlaDescribeExecutable(executable, &description, &message));
  EXPECT(description.peak_bytes == description.lower_bound_bytes && description.peak_bytes > needs.scratch_size);
  HostBuffer scratch = HostMakeBuffer(host, needs.scratch_size + needs.scratch_alignment, needs.scratch_usage);
  VxlaBinding lent = HostBind(&scratch, needs.scratch_alignment, needs.scratch_size);
  for (int with_scratch = 0; with_scratch < 2; ++with_scratch) {
    VxlaRecording recording = Recording(executable, with_scratch ? &lent : NULL);
    Frame frame;
    MakeFrame(host, &needs, &frame);
    VkCommandBuffer commands = HostCommands(host, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    const int locks = host->locks;
    int allocations = 0;
    for (int i = 0; i < 3; ++i) {
      FillFrame(&frame, (float)i, 2);
      HostBegin(host, commands);
      EXPECT_OK(vxlaCmdExecute(commands, recording, &frame.bindings, &message));
      HostBarrier(host, commands, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
      host->EndCommandBuffer(commands);
      HostSubmit(host, commands);
      ExpectFrame(&frame, (float)i, 2);
      if (i == 0) allocations = host->allocations;
    }
    EXPECT(host->locks == locks);              // nothing was submitted
    EXPECT(host->allocations == allocations);  // nor made
    vxlaDestroyRecording(recording);
    EXPECT_CODE(vxlaCmdExecute(commands, recording, &frame.bindings, &message), VXLA_INVALID_ARGUMENT,
                "the handle was destroyed");
    FreeFrame(host, &frame);
  }
  HostFreeBuffer(host, &scratch);
  vxlaDestroyExecutable(executable);
}

// One secondary buffer, recorded once, with other bindings each frame.
static void TestRebind(Host* host, VxlaDevice device, int addresses) {
  VxlaExecutable executable = Compile(device, kProgram, VXLA_COMPILE_RECORDABLE);
  const VxlaRecordingNeeds needs = Needs(executable);
  VxlaRecording recording = Recording(executable, NULL);
  Frame frames[2];
  for (int i = 0; i < 2; ++i) MakeFrame(host, &needs, &frames[i]);
  VkCommandBuffer secondary = HostCommands(host, VK_COMMAND_BUFFER_LEVEL_SECONDARY);
  VkCommandBuffer primary = HostCommands(host, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  HostBegin(host, secondary);
  EXPECT_OK(vxlaCmdExecute(secondary, recording, &frames[0].bindings, &message));
  HostBarrier(host, secondary, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
  host->EndCommandBuffer(secondary);
  for (int i = 0; i < 4; ++i) {
    Frame* frame = &frames[addresses ? i % 2 : 0];
    FillFrame(frame, (float)i, 7);
    if (addresses) {
      EXPECT_OK(vxlaRebind(recording, &frame->bindings, &message));
    } else {
      EXPECT_CODE(vxlaRebind(recording, &frame->bindings, &message), VXLA_UNSUPPORTED, "under descriptors");
    }
    HostBegin(host, primary);
    host->CmdExecuteCommands(primary, 1, &secondary);
    host->EndCommandBuffer(primary);
    HostSubmit(host, primary);
    ExpectFrame(frame, (float)i, 7);
  }
  if (addresses) {
    // The buffer itself is not needed where its address is known.
    VkBufferDeviceAddressInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                      .buffer = frames[1].in.buffer};
    frames[1].arguments[0].buffer = VK_NULL_HANDLE;
    frames[1].arguments[0].address = host->GetBufferDeviceAddress(host->device, &info) + 256;
    EXPECT_OK(vxlaRebind(recording, &frames[1].bindings, &message));
    frames[1].arguments[0].address += 4;
    EXPECT_CODE(vxlaRebind(recording, &frames[1].bindings, &message), VXLA_INVALID_ARGUMENT, "is no multiple of 16");
  }
  vxlaDestroyExecutable(executable);  // the recording keeps what it needs
  vxlaDestroyRecording(recording);
  for (int i = 0; i < 2; ++i) FreeFrame(host, &frames[i]);
}

// Two programs in one command buffer, the second in place, the third a copy.
static void TestChain(Host* host, VxlaDevice device) {
  VxlaExecutable donates = Compile(device, kDonates, VXLA_COMPILE_RECORDABLE);
  VxlaExecutable copies = Compile(device, kCopies, VXLA_COMPILE_RECORDABLE);
  VxlaRecording twice = Recording(donates, NULL), again = Recording(donates, NULL), copy = Recording(copies, NULL);
  const VxlaRecordingNeeds needs = Needs(copies);
  HostBuffer buffer = HostMakeBuffer(host, 1024, Needs(donates).argument_usage | needs.argument_usage);
  HostBuffer out = HostMakeBuffer(host, 1024, needs.result_usage);
  Fill(buffer.mapped, 1);
  VxlaBinding x = HostBind(&buffer, 0, 32), other = HostBind(&buffer, 256, 32), none = {0};
  const VxlaBinding results[2] = {HostBind(&out, 0, 32), HostBind(&out, 256, 32)};
  VxlaBindings in_place = {
      .struct_size = sizeof(in_place), .argument_count = 1, .arguments = &x, .result_count = 1, .results = &none};
  const VxlaBindings copied = {
      .struct_size = sizeof(copied), .argument_count = 1, .arguments = &x, .result_count = 2, .results = results};
  VkCommandBuffer commands = HostCommands(host, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  HostBegin(host, commands);
  EXPECT_OK(vxlaCmdExecute(commands, twice, &in_place, &message));
  const VkPipelineStageFlags stages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
  const VkAccessFlags accesses = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT |
                                 VK_ACCESS_TRANSFER_WRITE_BIT;
  HostBarrier(host, commands, stages, accesses);
  in_place.results = &other;
  EXPECT_CODE(vxlaCmdExecute(commands, again, &in_place, &message), VXLA_INVALID_ARGUMENT,
              "result 0: the program puts it into argument 0");
  in_place.results = &x;
  EXPECT_OK(vxlaCmdExecute(commands, again, &in_place, &message));
  HostBarrier(host, commands, stages, accesses);
  EXPECT_OK(vxlaCmdExecute(commands, copy, &copied, &message));
  HostBarrier(host, commands, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
  host->EndCommandBuffer(commands);
  HostSubmit(host, commands);
  for (int i = 0; i < kCount; ++i) {
    EXPECT(((float*)out.mapped)[i] == 4 * (float)(i + 1));
    EXPECT(((float*)out.mapped)[64 + i] == 4 * (float)(i + 1));
  }
  vxlaDestroyRecording(twice);
  vxlaDestroyRecording(again);
  vxlaDestroyRecording(copy);
  vxlaDestroyExecutable(donates);
  vxlaDestroyExecutable(copies);
  HostFreeBuffer(host, &buffer);
  HostFreeBuffer(host, &out);
}

// A use more than a recording has, in one command buffer and in two; a use that the device has finished with is free.
static void TestMoreUsesThanStated(Host* host, VxlaDevice device) {
  VxlaExecutable executable = Compile(device, kDonates, VXLA_COMPILE_RECORDABLE);
  HostBuffer buffer = HostMakeBuffer(host, 1024, Needs(executable).argument_usage);
  const VxlaBinding x = HostBind(&buffer, 0, 32);
  const VxlaBindings bindings = {
      .struct_size = sizeof(bindings), .argument_count = 1, .arguments = &x, .result_count = 1, .results = &x};
  for (uint64_t uses = 0; uses < 3; ++uses) {
    const uint64_t most = uses == 0 ? 1 : uses;
    const VxlaRecordingInfo info = {.struct_size = sizeof(info), .uses = uses};
    VxlaRecording recording = NULL;
    EXPECT_OK(vxlaCreateRecording(executable, &info, &recording, &message));
    VkCommandBuffer commands = HostCommands(host, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    VkCommandBuffer other = HostCommands(host, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    Fill(buffer.mapped, 1);
    for (int round = 0; round < 2; ++round) {
      HostBegin(host, commands);
      for (uint64_t i = 0; i < most; ++i) EXPECT_OK(vxlaCmdExecute(commands, recording, &bindings, &message));
      EXPECT_CODE(vxlaCmdExecute(commands, recording, &bindings, &message), VXLA_INVALID_ARGUMENT,
                  most == 1 ? "recording: more than 1 of its uses" : "recording: more than 2 of its uses");
      HostBarrier(host, commands, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
      host->EndCommandBuffer(commands);
      HostBegin(host, other);
      EXPECT_CODE(vxlaCmdExecute(other, recording, &bindings, &message), VXLA_INVALID_ARGUMENT, "of its uses");
      host->EndCommandBuffer(other);
      HostSubmit(host, commands);
    }
    const float times = most == 1 ? 4 : 16;
    for (int i = 0; i < kCount; ++i) EXPECT(((float*)buffer.mapped)[i] == times * (float)(i + 1));
    vxlaDestroyRecording(recording);
  }
  vxlaDestroyExecutable(executable);
  HostFreeBuffer(host, &buffer);
}

// The segments of a loop are written out, one behind the other.
static void TestLoop(Host* host, VxlaDevice device) {
  VxlaExecutable executable = Compile(device, LOOP("41"), VXLA_COMPILE_RECORDABLE);
  const VxlaRecordingNeeds needs = Needs(executable);
  HostBuffer buffer = HostMakeBuffer(host, 1024, needs.argument_usage | needs.result_usage);
  const VxlaBinding x = HostBind(&buffer, 0, 32), y = HostBind(&buffer, 256, 32);
  const VxlaBindings bindings = {
      .struct_size = sizeof(bindings), .argument_count = 1, .arguments = &x, .result_count = 1, .results = &y};
  VxlaRecording recording = Recording(executable, NULL);
  VkCommandBuffer commands = HostCommands(host, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  Fill(buffer.mapped, 1);
  HostBegin(host, commands);
  EXPECT_OK(vxlaCmdExecute(commands, recording, &bindings, &message));
  HostBarrier(host, commands, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
  host->EndCommandBuffer(commands);
  HostSubmit(host, commands);
  for (int i = 0; i < kCount; ++i) EXPECT(((float*)buffer.mapped)[64 + i] == (float)(i - kCount));
  for (int round = 0; round < 2; ++round) {
    // A command a frame, then all in one.
    memset((char*)buffer.mapped + 256, 0xfb, 32);
    int parts = 0;
    for (int32_t finished = 0; !finished; ++parts) {
      HostBegin(host, commands);
      EXPECT_OK(vxlaCmdExecutePart(commands, recording, &bindings, round == 0 ? 0 : 1e6, &finished, &message));
      HostBarrier(host, commands, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
      host->EndCommandBuffer(commands);
      HostSubmit(host, commands);
    }
    EXPECT(round == 0 ? parts > 82 : parts == 1);
    for (int i = 0; i < kCount; ++i) EXPECT(((float*)buffer.mapped)[64 + i] == (float)(i - kCount));
  }
  int32_t never = 0;
  EXPECT_CODE(vxlaCmdExecutePart(commands, recording, &bindings, strtod("nan", NULL), &never, &message),
              VXLA_INVALID_ARGUMENT, "microseconds: not a number");
  // Elsewhere in the middle of a program: it ends there, and the next one is whole.
  const VxlaBinding elsewhere = HostBind(&buffer, 512, 32);
  VxlaBindings moved = bindings;
  moved.results = &elsewhere;
  int32_t finished = 1;
  HostBegin(host, commands);
  EXPECT_OK(vxlaCmdExecutePart(commands, recording, &bindings, 0, &finished, &message));
  EXPECT(finished == 0);
  EXPECT_CODE(vxlaCmdExecutePart(commands, recording, &moved, 0, &finished, &message), VXLA_INVALID_ARGUMENT,
              "they changed between two parts");
  host->EndCommandBuffer(commands);
  HostBegin(host, commands);
  EXPECT_OK(vxlaCmdExecute(commands, recording, &moved, &message));
  HostBarrier(host, commands, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
  host->EndCommandBuffer(commands);
  HostSubmit(host, commands);
  for (int i = 0; i < kCount; ++i) EXPECT(((float*)buffer.mapped)[128 + i] == (float)(i - kCount));
  EXPECT_CODE(vxlaRebind(recording, &bindings, &message), VXLA_UNSUPPORTED, "record it");
  vxlaDestroyRecording(recording);
  vxlaDestroyExecutable(executable);
  HostFreeBuffer(host, &buffer);
}

static void TestRefusals(Host* host, VxlaDevice device) {
  VxlaExecutable executable = NULL;
  VxlaCompileInfo info = {.struct_size = sizeof(info), .flags = VXLA_COMPILE_RECORDABLE, .text = kHostStep};
  EXPECT_CODE(vxlaCompile(device, &info, &executable, &message), VXLA_UNSUPPORTED, "o runs on the host");
  info.text = kUnknownLoop;
  EXPECT_CODE(vxlaCompile(device, &info, &executable, &message), VXLA_UNSUPPORTED, "when w ends");
  info.text = LOOP("1000000");
  EXPECT_CODE(vxlaCompile(device, &info, &executable, &message), VXLA_UNSUPPORTED, "more than 65536 commands");
  executable = Compile(device, kProgram, 0);
  const VxlaRecordingNeeds needs = Needs(executable);
  Frame frame;
  MakeFrame(host, &needs, &frame);
  VxlaRecording recording = Recording(executable, NULL);
  VkCommandBuffer commands = HostCommands(host, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  EXPECT_CODE(vxlaCmdExecute(NULL, recording, &frame.bindings, &message), VXLA_INVALID_ARGUMENT, "commands: NULL");
  EXPECT_CODE(vxlaCmdExecute(commands, (VxlaRecording)(void*)executable, &frame.bindings, &message),
              VXLA_INVALID_ARGUMENT, "recording: the handle is an executable");
  frame.bindings.argument_count = 1;
  EXPECT_CODE(vxlaCmdExecute(commands, recording, &frame.bindings, &message), VXLA_INVALID_ARGUMENT,
              "arguments: 1 given, the program has 2");
  frame.bindings.argument_count = 2;
  frame.arguments[1].size = 20;
  EXPECT_CODE(vxlaCmdExecute(commands, recording, &frame.bindings, &message), VXLA_INVALID_ARGUMENT,
              "argument 1: 20 bytes are bound, it needs 32");
  frame.arguments[1].size = 32;
  frame.arguments[1].offset = 8;
  EXPECT_CODE(vxlaCmdExecute(commands, recording, &frame.bindings, &message), VXLA_INVALID_ARGUMENT,
              "argument 1: its offset 8 is no multiple of");
  // The binding says that there is room, and the buffer has none.
  frame.arguments[1].offset = 1 << 20;
  EXPECT_CODE(vxlaCmdExecute(commands, recording, &frame.bindings, &message), VXLA_INVALID_ARGUMENT,
              "argument 1: 32 bytes from 1048576 on lie outside its VkBuffer, whose memory has 1024");
  frame.arguments[1].offset = 512;
  frame.arguments[1].size = UINT64_MAX;
  EXPECT_CODE(vxlaCmdExecute(commands, recording, &frame.bindings, &message), VXLA_INVALID_ARGUMENT,
              "argument 1: 18446744073709551615 bytes from 512 on lie outside");
  frame.arguments[1].size = 32;
  frame.results[0].usage = VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT;
  EXPECT_CODE(vxlaCmdExecute(commands, recording, &frame.bindings, &message), VXLA_INVALID_ARGUMENT,
              "result 0: its buffer's usage 0x10 lacks");
  frame.results[0].buffer = VK_NULL_HANDLE;
  EXPECT_CODE(vxlaCmdExecute(commands, recording, &frame.bindings, &message), VXLA_INVALID_ARGUMENT,
              "result 0: its VkBuffer is NULL");
  if (needs.scratch_size > 0) {
    VxlaBinding scratch = HostBind(&frame.in, 0, needs.scratch_size - 1);
    scratch.usage = needs.scratch_usage;
    VxlaRecordingInfo lent = {.struct_size = sizeof(lent), .scratch = &scratch};
    VxlaRecording refused = NULL;
    EXPECT_CODE(vxlaCreateRecording(executable, &lent, &refused, &message), VXLA_INVALID_ARGUMENT, "scratch: ");
    scratch.size = needs.scratch_size;
    scratch.offset = 1024;
    EXPECT_CODE(vxlaCreateRecording(executable, &lent, &refused, &message), VXLA_INVALID_ARGUMENT,
                "from 1024 on lie outside its VkBuffer");
    lent.flags = 1;
    EXPECT_CODE(vxlaCreateRecording(executable, &lent, &refused, &message), VXLA_INVALID_ARGUMENT, "flags 0x1");
  }
  vxlaDestroyRecording(recording);
  vxlaDestroyExecutable(executable);
  FreeFrame(host, &frame);
}

// What is written lies over nothing else: by place in a VkBuffer, by address, in lent scratch.
static void TestOverlaps(Host* host, VxlaDevice device, int addresses) {
  VxlaExecutable executable = Compile(device, kProgram, VXLA_COMPILE_RECORDABLE);
  VxlaExecutable in_place = Compile(device, kDonates, VXLA_COMPILE_RECORDABLE);
  const VxlaRecordingNeeds needs = Needs(executable);
  const VkBufferUsageFlags usage = needs.argument_usage | needs.result_usage | needs.scratch_usage;
  HostBuffer buffer = HostMakeBuffer(host, 8192, usage);
  VxlaBinding arguments[2] = {HostBind(&buffer, 0, 32), HostBind(&buffer, 256, 32)};
  VxlaBinding results[2] = {HostBind(&buffer, 512, 32), HostBind(&buffer, 768, 32)};
  const VxlaBindings bindings = {.struct_size = sizeof(bindings),
                                 .argument_count = 2,
                                 .arguments = arguments,
                                 .result_count = 2,
                                 .results = results};
  const VxlaBinding scratch = HostBind(&buffer, 4096, needs.scratch_size);
  VxlaRecording recording = Recording(executable, &scratch);
  VkCommandBuffer commands = HostCommands(host, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  HostBegin(host, commands);
  arguments[1].offset = 0;  // both are read
  EXPECT_OK(vxlaCmdExecute(commands, recording, &bindings, &message));
  results[1].offset = 512;
  EXPECT_CODE(vxlaCmdExecute(commands, recording, &bindings, &message), VXLA_INVALID_ARGUMENT,
              "result 0: its memory overlaps that of result 1, and one of them is written");
  results[1].offset = 0;
  EXPECT_CODE(vxlaCmdExecute(commands, recording, &bindings, &message), VXLA_INVALID_ARGUMENT, "that of result 1");
  arguments[1].offset = 256;
  EXPECT_CODE(vxlaCmdExecute(commands, recording, &bindings, &message), VXLA_INVALID_ARGUMENT,
              "argument 0: its memory overlaps that of result 1, and one of them is written");
  results[1].offset = 4096;
  if (needs.scratch_size != 0) {
    EXPECT_CODE(vxlaCmdExecute(commands, recording, &bindings, &message), VXLA_INVALID_ARGUMENT,
                "result 1: its memory overlaps that of the lent scratch");
  }
  if (addresses) {
    VkBufferDeviceAddressInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, .buffer = buffer.buffer};
    results[1] = (VxlaBinding){
        .address = host->GetBufferDeviceAddress(host->device, &info) + 256 + 16, .size = 32, .usage = buffer.usage};
    EXPECT_CODE(vxlaRebind(recording, &bindings, &message), VXLA_INVALID_ARGUMENT,
                "argument 1: its memory overlaps that of result 1");
    results[1].address += 16;
    EXPECT_OK(vxlaRebind(recording, &bindings, &message));
  }
  // Side by side they may lie, and a donated argument lies where its result does.
  results[0].offset = 512;
  results[1] = HostBind(&buffer, needs.binding_alignment <= 32 ? 544 : 768, 32);
  host->EndCommandBuffer(commands);
  HostBegin(host, commands);
  vxlaDestroyRecording(recording);  // what was never submitted is not over
  recording = Recording(executable, &scratch);
  EXPECT_OK(vxlaCmdExecute(commands, recording, &bindings, &message));
  host->EndCommandBuffer(commands);
  HostBegin(host, commands);
  VxlaRecording donated = Recording(in_place, NULL);
  const VxlaBindings same = {.struct_size = sizeof(same),
                             .argument_count = 1,
                             .arguments = arguments,
                             .result_count = 1,
                             .results = arguments};
  EXPECT_OK(vxlaCmdExecute(commands, donated, &same, &message));
  host->EndCommandBuffer(commands);  // for looking at: never submitted
  vxlaDestroyRecording(recording);
  vxlaDestroyRecording(donated);
  vxlaDestroyExecutable(executable);
  vxlaDestroyExecutable(in_place);
  HostFreeBuffer(host, &buffer);
}

// Live sizes lie behind the elements, where the program reads and leaves them.
static void TestDynamic(Host* host, VxlaDevice device) {
  VxlaExecutable executable =
      Compile(device,
              "HloModule m\nENTRY e { x = f32[<=100] parameter(0)\n y = f32[<=100] parameter(1)\n"
              "  ROOT p = f32[<=100] multiply(x, y) }",
              VXLA_COMPILE_RECORDABLE);
  VxlaArray array = {.struct_size = sizeof(array)};
  EXPECT_OK(vxlaDescribeResult(executable, 0, &array, &message));
  EXPECT(array.size_bytes == 400 && array.live_sizes_offset == 400 && array.dynamic[0] == 1);
  const VxlaRecordingNeeds needs = Needs(executable);
  HostBuffer buffer = HostMakeBuffer(host, 4096, needs.argument_usage | needs.result_usage);
  VxlaBinding arguments[2] = {HostBind(&buffer, 0, 400), HostBind(&buffer, 1024, 416)};
  const VxlaBinding result = HostBind(&buffer, 2048, 416);
  const VxlaBindings bindings = {.struct_size = sizeof(bindings),
                                 .argument_count = 2,
                                 .arguments = arguments,
                                 .result_count = 1,
                                 .results = &result};
  VxlaRecording recording = Recording(executable, NULL);
  VkCommandBuffer commands = HostCommands(host, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  EXPECT_CODE(vxlaCmdExecute(commands, recording, &bindings, &message), VXLA_INVALID_ARGUMENT,
              "argument 0: 400 bytes are bound, it needs 416");
  arguments[0].size = 416;
  HostBegin(host, commands);
  EXPECT_OK(vxlaCmdExecute(commands, recording, &bindings, &message));
  HostBarrier(host, commands, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
  host->EndCommandBuffer(commands);
  char* bytes = buffer.mapped;
  for (int i = 0; i < 100; ++i) ((float*)bytes)[i] = (float)i, ((float*)(bytes + 1024))[i] = 3;
  // Sizes of the arguments, and of the result: also of nothing, of what does not agree, and of what nobody should
  // write.
  const int64_t cases[5][3] = {{17, 17, 17}, {100, 100, 100}, {0, 0, 0}, {17, 16, -1}, {1 << 20, 1 << 20, 100}};
  for (int i = 0; i < 5; ++i) {
    int64_t live = 0;
    memcpy(bytes + 400, &cases[i][0], 8);
    memcpy(bytes + 1024 + 400, &cases[i][1], 8);
    memset(bytes + 2048, 0xfb, 1024);
    HostSubmit(host, commands);
    memcpy(&live, bytes + 2048 + 400, 8);
    EXPECT(live == cases[i][2]);
    for (int k = 0; k < live; ++k) EXPECT(((float*)(bytes + 2048))[k] == 3 * (float)k);
    EXPECT((unsigned char)bytes[2048 + 416] == 0xfb);
  }
  vxlaDestroyRecording(recording);
  vxlaDestroyExecutable(executable);
  HostFreeBuffer(host, &buffer);
  // Nothing could say that sizes do not agree.
  VxlaCompileInfo info = {
      .struct_size = sizeof(info),
      .flags = VXLA_COMPILE_RECORDABLE,
      .text =
          "HloModule m\nadd { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
          "  ROOT r = f32[] add(a, b) }\n"
          "ENTRY e { x = f32[<=9] parameter(0)\n y = f32[<=9] parameter(1)\n z = f32[] constant(0)\n"
          "  p = f32[<=9] multiply(x, y)\n"
          "  ROOT s = f32[] reduce(p, z), dimensions={0}, to_apply=add }"};
  EXPECT_CODE(vxlaCompile(device, &info, &executable, &message), VXLA_UNSUPPORTED,
              "live sizes are compared, and no result has dynamic dimensions");
}

// Whether a command buffer is being recorded Vulkan does not tell: the host's layer does, and nothing breaks.
static void TestNotRecording(Host* host, VxlaDevice device) {
  VxlaExecutable executable = Compile(device, kProgram, VXLA_COMPILE_RECORDABLE);
  const VxlaRecordingNeeds needs = Needs(executable);
  Frame frame;
  MakeFrame(host, &needs, &frame);
  VxlaRecording recording = Recording(executable, NULL);
  VkCommandBuffer commands = HostCommands(host, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  HostBegin(host, commands);
  host->EndCommandBuffer(commands);
  host_expects = "commandBuffer-recording";
  host_heard = 0;
  EXPECT_OK(vxlaCmdExecute(commands, recording, &frame.bindings, &message));
  EXPECT(host->messenger == VK_NULL_HANDLE || host_heard > 0);
  host_expects = NULL;
  vxlaDestroyRecording(recording);  // its use waits for a submission that cannot come
  recording = Recording(executable, NULL);
  HostBegin(host, commands);
  EXPECT_OK(vxlaCmdExecute(commands, recording, &frame.bindings, &message));
  HostBarrier(host, commands, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
  host->EndCommandBuffer(commands);
  FillFrame(&frame, 3, 2);
  HostSubmit(host, commands);
  ExpectFrame(&frame, 3, 2);
  vxlaDestroyRecording(recording);
  vxlaDestroyExecutable(executable);
  FreeFrame(host, &frame);
}

// Each function is given a handle of another kind, and none.
static void TestWrongHandles(VxlaDevice device) {
  VxlaExecutable executable = Compile(device, kDonates, VXLA_COMPILE_RECORDABLE);
  for (int kind = 0; kind < 2; ++kind) {
    const char* says = kind == 0 ? ": NULL" : ": the handle is a";
    void* wrong = kind == 0 ? NULL : (void*)executable;
    VxlaExecutable no_executable = kind == 0 ? NULL : (VxlaExecutable)(void*)device;
    const VkExternalMemoryHandleTypeFlagBits type = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    const int64_t dimensions[1] = {kCount};
    const VxlaArray array = {
        .struct_size = sizeof(array), .element_type = VXLA_F32, .rank = 1, .dimensions = dimensions};
    const VxlaImportInfo import = {.struct_size = sizeof(import), .array = &array};
    VxlaMemory memory = {.struct_size = sizeof(memory), .handle_type = type, .descriptor = -1};
    VxlaBinding binding = {0};
    const VxlaSemaphore semaphore = {0};
    const VxlaRecordingInfo info = {.struct_size = sizeof(info)};
    VxlaRecordingNeeds needs = {.struct_size = sizeof(needs)};
    const VxlaBindings bindings = {.struct_size = sizeof(bindings)};
    VkCommandBuffer commands = (VkCommandBuffer)(void*)&memory;  // nothing gets so far
    VxlaValue value = NULL;
    VxlaRecording recording = NULL;
    int32_t finished = 0;
#define REFUSED(CALL) EXPECT_CODE(CALL, VXLA_INVALID_ARGUMENT, says)
    REFUSED(vxlaImportValue(wrong, &import, &value, &message));
    REFUSED(vxlaCreateSharedValue(wrong, type, &array, NULL, &value, &message));
    REFUSED(vxlaImportMemory(wrong, &memory, &array, NULL, &value, &message));
    REFUSED(vxlaExportValue(wrong, &binding, &message));
    REFUSED(vxlaExportMemory(wrong, &memory, &message));
    REFUSED(vxlaSignalValue(wrong, &semaphore, &message));
    REFUSED(vxlaReleaseValue(wrong, VK_QUEUE_FAMILY_EXTERNAL, NULL, &message));
    REFUSED(vxlaAcquireValue(wrong, VK_QUEUE_FAMILY_EXTERNAL, NULL, &message));
    REFUSED(vxlaDescribeRecording(no_executable, &needs, &message));
    REFUSED(vxlaCreateRecording(no_executable, &info, &recording, &message));
    REFUSED(vxlaCmdExecute(commands, wrong, &bindings, &message));
    REFUSED(vxlaCmdExecutePart(commands, wrong, &bindings, 1, &finished, &message));
    REFUSED(vxlaRebind(wrong, &bindings, &message));
#undef REFUSED
    EXPECT(value == NULL && recording == NULL);
    vxlaDestroyRecording(wrong);  // does nothing to it
  }
  vxlaDestroyExecutable(executable);
}

// vxla's own submissions go through the host's queue, under its lock.
static void TestRun(Host* host, VxlaDevice device) {
  VxlaExecutable executable = Compile(device, kDonates, 0);
  const float x[kCount] = {1, 2, 3, 4, 5};
  float y[kCount] = {0};
  const VxlaConstBytes argument = {x, sizeof(x)};
  const VxlaBytes result = {y, sizeof(y)};
  const int locks = host->locks;
  EXPECT_OK(vxlaRun(executable, 1, &argument, 1, &result, &message));
  EXPECT(y[4] == 10 && host->locks > locks && !host->locked);
  EXPECT_CODE(vxlaDestroyDevice(device, &message), VXLA_BUSY, "1 of its handles");
  vxlaDestroyExecutable(executable);
}

// A run that waits for the host, in the host's memory, and tells the host when it is done.
static void TestImport(Host* host, VxlaDevice device) {
  const VkBufferUsageFlags usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                   VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  HostBuffer buffer = HostMakeBuffer(host, 1024, usage);
  VkSemaphore written = HostMakeTimeline(host), done = HostMakeTimeline(host);
  const VxlaSemaphore wait = {.semaphore = written, .value = 5}, signal = {.semaphore = done, .value = 9};
  const int64_t dimensions[1] = {kCount};
  const VxlaArray array = {.struct_size = sizeof(array), .element_type = VXLA_F32, .rank = 1, .dimensions = dimensions};
  VxlaImportInfo import = {
      .struct_size = sizeof(import), .array = &array, .binding = HostBind(&buffer, 512, 32), .wait = &wait};
  VxlaValue x = NULL, y = NULL;
  import.binding.size = 20;
  EXPECT_CODE(vxlaImportValue(device, &import, &x, &message), VXLA_INVALID_ARGUMENT,
              "value: 20 bytes are bound, it needs 32");
  import.binding.size = 32;
  import.binding.offset = 1024;
  EXPECT_CODE(vxlaImportValue(device, &import, &x, &message), VXLA_INVALID_ARGUMENT,
              "value: 32 bytes from 1024 on lie outside its VkBuffer, whose memory has 1024");
  import.binding.offset = 512;
  import.flags = 2;
  EXPECT_CODE(vxlaImportValue(device, &import, &x, &message), VXLA_INVALID_ARGUMENT, "flags 0x2");
  import.flags = 0;
  import.binding.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
  EXPECT_CODE(vxlaImportValue(device, &import, &x, &message), VXLA_INVALID_ARGUMENT, "lacks");
  import.binding.usage = usage;
  EXPECT_OK(vxlaImportValue(device, &import, &x, &message));
  VxlaExecutable executable = Compile(device, kDonates, 0);
  VxlaExecuteInfo info = {
      .struct_size = sizeof(info), .argument_count = 1, .arguments = &x, .result_count = 1, .results = &y};
  EXPECT_OK(vxlaExecute(executable, &info, &message));
  EXPECT_OK(vxlaSignalValue(y, &signal, &message));
  int32_t ready = 1;
  EXPECT_OK(vxlaValueIsReady(y, &ready, &message));
  EXPECT(ready == 0);
  float read[kCount] = {0};
  // Waiting for the run would be for ever: it waits for this thread.
  EXPECT_CODE(vxlaReadValue(x, read, sizeof(read), &message), VXLA_INVALID_ARGUMENT, "donated");
  vxlaDestroyExecutable(executable);  // its run goes on, and nothing waits
  Fill((char*)buffer.mapped + 512, 1);
  VkSemaphoreSignalInfo write = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = written, .value = 5};
  EXPECT(host->SignalSemaphore(host->device, &write) == VK_SUCCESS);
  VkSemaphoreWaitInfo finished = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                  .semaphoreCount = 1,
                                  .pSemaphores = &done,
                                  .pValues = &signal.value};
  EXPECT(host->WaitSemaphores(host->device, &finished, 10000000000u) == VK_SUCCESS);
  for (int i = 0; i < kCount; ++i) EXPECT(((float*)((char*)buffer.mapped + 512))[i] == 2 * (float)(i + 1));
  VxlaBinding where = {0};
  EXPECT_CODE(vxlaExportValue(x, &where, &message), VXLA_INVALID_ARGUMENT, "donated");
  EXPECT_OK(vxlaExportValue(y, &where, &message));
  EXPECT(where.buffer == buffer.buffer && where.offset == 512 && where.size == 32);
  EXPECT_OK(vxlaReadValue(y, read, sizeof(read), &message));
  EXPECT(read[4] == 10);
  vxlaDestroyValue(x);
  vxlaDestroyValue(y);
  host->DestroySemaphore(host->device, written, NULL);
  host->DestroySemaphore(host->device, done, NULL);
  HostFreeBuffer(host, &buffer);
}

// What is donated is written while the other argument is read.
static void TestOverlappingValues(Host* host, VxlaDevice device) {
  HostBuffer buffer = HostMakeBuffer(host, 1024,
                                     VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                         VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT);
  const int64_t dimension = 64;
  VxlaArray array = {.struct_size = sizeof(array), .element_type = VXLA_F32, .rank = 1, .dimensions = &dimension};
  const uint64_t align = 256, size = 256;
  VxlaExecutable executable = Compile(device,
                                      "HloModule m, input_output_alias={ {}: (1, {}, may-alias) }\n"
                                      "ENTRY e { x = f32[64] parameter(0)\n y = f32[64] parameter(1)\n"
                                      "  ROOT r = f32[64] add(x, y) }\n",
                                      0);
  VxlaBinding bindings[2] = {{.buffer = buffer.buffer, .size = size, .usage = buffer.usage},
                             {.buffer = buffer.buffer, .size = size, .usage = buffer.usage}};
  for (uint64_t offset = 0; offset <= 2 * align; offset += align) {
    bindings[0].offset = align;
    bindings[1].offset = offset;
    VxlaValue values[2], result = NULL;
    for (int i = 0; i < 2; ++i) {
      VxlaImportInfo import = {.struct_size = sizeof(import), .array = &array, .binding = bindings[i]};
      EXPECT_OK(vxlaImportValue(device, &import, &values[i], &message));
    }
    uint8_t keep[2] = {0, 1};
    VxlaExecuteInfo info = {.struct_size = sizeof(info),
                            .argument_count = 2,
                            .arguments = values,
                            .keep = keep,
                            .result_count = 1,
                            .results = &result};
    EXPECT_OK(vxlaExecute(executable, &info, &message));  // a copy is written
    vxlaDestroyValue(result);
    info.keep = NULL;
    if (offset == align) {
      EXPECT_CODE(vxlaExecute(executable, &info, &message), VXLA_INVALID_ARGUMENT,
                  "argument 1: its memory overlaps that of argument 0, and one of them is donated to a result");
      EXPECT(result == NULL);
    } else {
      EXPECT_OK(vxlaExecute(executable, &info, &message));
      float read[64];
      EXPECT_OK(vxlaReadValue(result, read, sizeof(read), &message));
      vxlaDestroyValue(result);
    }
    for (int i = 0; i < 2; ++i) vxlaDestroyValue(values[i]);
  }
  vxlaDestroyExecutable(executable);
  EXPECT(host->QueueWaitIdle(host->queue) == VK_SUCCESS);
  HostFreeBuffer(host, &buffer);
}

// The same with binary semaphores, which submissions before and after signal and wait for.
static void TestBinarySemaphores(Host* host, VxlaDevice device) {
  HostBuffer buffer = HostMakeBuffer(host, 1024,
                                     VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                         VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT);
  VkSemaphoreCreateInfo binary = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
  VkSemaphore semaphores[2];
  for (int i = 0; i < 2; ++i) EXPECT(host->CreateSemaphore(host->device, &binary, NULL, &semaphores[i]) == VK_SUCCESS);
  VkCommandBuffer commands = HostCommands(host, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  HostBegin(host, commands);
  const float three = 3;
  uint32_t word;
  memcpy(&word, &three, sizeof(word));
  host->CmdFillBuffer(commands, buffer.buffer, 0, 32, word);
  host->EndCommandBuffer(commands);
  VkSubmitInfo before = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .commandBufferCount = 1,
                         .pCommandBuffers = &commands,
                         .signalSemaphoreCount = 1,
                         .pSignalSemaphores = &semaphores[0]};
  EXPECT(host->QueueSubmit(host->queue, 1, &before, VK_NULL_HANDLE) == VK_SUCCESS);
  const int64_t dimensions[1] = {kCount};
  const VxlaArray array = {.struct_size = sizeof(array), .element_type = VXLA_F32, .rank = 1, .dimensions = dimensions};
  const VxlaSemaphore wait = {.semaphore = semaphores[0], .stages = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT};
  const VxlaSemaphore signal = {.semaphore = semaphores[1], .stages = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT};
  const VxlaImportInfo import = {
      .struct_size = sizeof(import), .array = &array, .binding = HostBind(&buffer, 0, 32), .wait = &wait};
  VxlaValue x = NULL, y = NULL;
  EXPECT_OK(vxlaImportValue(device, &import, &x, &message));
  VxlaExecutable executable = Compile(device, kDonates, 0);
  VxlaExecuteInfo info = {
      .struct_size = sizeof(info), .argument_count = 1, .arguments = &x, .result_count = 1, .results = &y};
  EXPECT_OK(vxlaExecute(executable, &info, &message));
  EXPECT_OK(vxlaSignalValue(y, &signal, &message));
  const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
  VkSubmitInfo after = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                        .waitSemaphoreCount = 1,
                        .pWaitSemaphores = &semaphores[1],
                        .pWaitDstStageMask = &stage};
  EXPECT(host->QueueSubmit(host->queue, 1, &after, VK_NULL_HANDLE) == VK_SUCCESS);
  EXPECT(host->QueueWaitIdle(host->queue) == VK_SUCCESS);
  for (int i = 0; i < kCount; ++i) EXPECT(((float*)buffer.mapped)[i] == 6);
  vxlaDestroyValue(x);
  vxlaDestroyValue(y);
  vxlaDestroyExecutable(executable);
  for (int i = 0; i < 2; ++i) host->DestroySemaphore(host->device, semaphores[i], NULL);
  HostFreeBuffer(host, &buffer);
}

static void TestOn(Host* host, uint32_t api_version, const char* bindings, const char* emulate) {
  HostMakeDevice(host, NULL);
  VxlaAdoptInfo info = HostAdoptInfo(host, api_version, bindings);
  info.emulate = emulate;
  VxlaDevice device = NULL;
  EXPECT_OK(vxlaAdoptDevice(&info, &device, &message));
  if (device != NULL) {
    TestRun(host, device);
    TestFrames(host, device);
    TestRebind(host, device, strcmp(bindings, "addresses") == 0);
    TestChain(host, device);
    TestMoreUsesThanStated(host, device);
    TestLoop(host, device);
    TestRefusals(host, device);
    TestOverlaps(host, device, strcmp(bindings, "addresses") == 0);
    TestDynamic(host, device);
    TestNotRecording(host, device);
    TestWrongHandles(device);
    TestImport(host, device);
    TestOverlappingValues(host, device);
    TestBinarySemaphores(host, device);
    EXPECT_OK(vxlaDestroyDevice(device, &message));
  }
  EXPECT(host->allocations > 0 && host->live == 0);  // all objects are freed as they were made
  HostCloseDevice(host);
}

// The host's allocator: parts that do not begin where their memory does.
typedef struct HostHeap {
  Host* host;
  int live, made;
  VkResult refuses;
} HostHeap;

static VkResult HeapAllocate(void* user, const VxlaMemoryRequest* request, VxlaAllocation* memory) {
  HostHeap* heap = user;
  Host* host = heap->host;
  if (heap->refuses != VK_SUCCESS) return heap->refuses;
  EXPECT((request->requirements.memoryTypeBits >> request->memory_type & 1) == 1);
  VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO, .flags = request->flags};
  VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                               .pNext = &flags,
                               .allocationSize = request->requirements.size + request->requirements.alignment,
                               .memoryTypeIndex = request->memory_type};
  EXPECT(host->AllocateMemory(host->device, &info, NULL, &memory->memory) == VK_SUCCESS);
  memory->offset = request->requirements.alignment;
  memory->allocation = heap;
  if (request->map) {
    EXPECT(host->MapMemory(host->device, memory->memory, 0, VK_WHOLE_SIZE, 0, &memory->mapped) == VK_SUCCESS);
    memory->mapped = (char*)memory->mapped + memory->offset;
  }
  ++heap->live;
  ++heap->made;
  return VK_SUCCESS;
}

static void HeapFree(void* user, const VxlaAllocation* memory) {
  HostHeap* heap = user;
  EXPECT(memory->allocation == heap && memory->offset != 0);
  heap->host->FreeMemory(heap->host->device, memory->memory, NULL);
  --heap->live;
}

static void TestMemory(Host* host, uint32_t api_version) {
  HostHeap heap = {.host = host};
  VxlaMemoryCallbacks callbacks = {.user = &heap, .allocate = HeapAllocate};
  HostMakeDevice(host, NULL);
  VxlaAdoptInfo info = HostAdoptInfo(host, api_version, NULL);
  info.memory = &callbacks;
  VxlaDevice device = NULL;
  EXPECT_CODE(vxlaAdoptDevice(&info, &device, &message), VXLA_INVALID_ARGUMENT, "one of allocate and free");
  callbacks.free = HeapFree;
  EXPECT_OK(vxlaAdoptDevice(&info, &device, &message));
  TestRun(host, device);
  TestFrames(host, device);
  EXPECT(heap.made > 2);
  VxlaExecutable executable = Compile(device, kDonates, 0);
  const float x[kCount] = {1, 2, 3, 4, 5};
  float y[kCount] = {0};
  const VxlaConstBytes argument = {x, sizeof(x)};
  const VxlaBytes result = {y, sizeof(y)};
  heap.refuses = VK_ERROR_OUT_OF_DEVICE_MEMORY;
  EXPECT_CODE(vxlaRun(executable, 1, &argument, 1, &result, &message), VXLA_RESOURCE_EXHAUSTED,
              "the host's allocator of memory");
  heap.refuses = VK_SUCCESS;
  EXPECT_OK(vxlaRun(executable, 1, &argument, 1, &result, &message));
  EXPECT(y[0] == 2 && y[4] == 10);
  vxlaDestroyExecutable(executable);
  EXPECT_OK(vxlaDestroyDevice(device, &message));
  EXPECT(heap.live == 0);
  HostCloseDevice(host);
}

// Each with what the other does without: callbacks, or a cache of pipelines.
static void TestTwoDevices(Host* host, uint32_t api_version) {
  Host second = *host;
  HostMakeDevice(host, NULL);
  HostMakeDevice(&second, NULL);
  VxlaAdoptInfo info = HostAdoptInfo(host, api_version, NULL);
  VxlaDevice devices[2] = {NULL, NULL};
  EXPECT_OK(vxlaAdoptDevice(&info, &devices[0], &message));
  info = HostAdoptInfo(&second, api_version, NULL);
  info.allocation = NULL;
  info.unlock_queue = NULL;
  EXPECT_CODE(vxlaAdoptDevice(&info, &devices[1], &message), VXLA_INVALID_ARGUMENT, "one of lock and unlock");
  info.lock_queue = NULL;
  VkPipelineCacheCreateInfo cache = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
  EXPECT(second.CreatePipelineCache(second.device, &cache, NULL, &info.pipeline_cache) == VK_SUCCESS);
  EXPECT_OK(vxlaAdoptDevice(&info, &devices[1], &message));
  VxlaExecutable executables[2];
  for (int i = 0; i < 2; ++i) executables[i] = Compile(devices[i], kDonates, 0);
  for (int i = 0; i < 2; ++i) {
    const float x[kCount] = {(float)i, 0, 0, 0, 5};
    float y[kCount] = {0};
    const VxlaConstBytes argument = {x, sizeof(x)};
    const VxlaBytes result = {y, sizeof(y)};
    EXPECT_OK(vxlaRun(executables[i], 1, &argument, 1, &result, &message));
    EXPECT(y[0] == 2 * (float)i && y[4] == 10);
  }
  const int64_t dimensions[1] = {kCount};
  const VxlaArray array = {.struct_size = sizeof(array), .element_type = VXLA_F32, .rank = 1, .dimensions = dimensions};
  const float zeros[kCount] = {0};
  VxlaValue of_the_first = NULL, result = NULL;
  EXPECT_OK(vxlaCreateValue(devices[0], &array, zeros, &of_the_first, &message));
  VxlaExecuteInfo execute = {.struct_size = sizeof(execute),
                             .argument_count = 1,
                             .arguments = &of_the_first,
                             .result_count = 1,
                             .results = &result};
  EXPECT_CODE(vxlaExecute(executables[1], &execute, &message), VXLA_INVALID_ARGUMENT,
              "argument 0: the value lives on another device");
  vxlaDestroyValue(of_the_first);
  for (int i = 0; i < 2; ++i) {
    vxlaDestroyExecutable(executables[i]);
    EXPECT_OK(vxlaDestroyDevice(devices[i], &message));
  }
  second.DestroyPipelineCache(second.device, info.pipeline_cache, NULL);
  HostCloseDevice(&second);
  HostCloseDevice(host);
}

// Only what is needed is enabled: the rest is emulated, however much the device supports.
static void TestFewFeatures(Host* host, uint32_t api_version) {
  VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES, .timelineSemaphore = VK_TRUE};
  VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &timeline};
  const uint32_t extensions = host->asked.extension_count;
  host->asked.extension_count = host->asked.needed_extension_count;
  HostMakeDevice(host, &features);
  VxlaAdoptInfo info = HostAdoptInfo(host, api_version, NULL);
  info.features = &features;
  VxlaDevice device = NULL;
  EXPECT_OK(vxlaAdoptDevice(&info, &device, &message));
  VxlaExecutable executable = Compile(
      device, "HloModule m\nENTRY e { x = f64[2] parameter(0)\n ROOT r = f64[2] add(x, x) }", VXLA_COMPILE_REQUIRE_GPU);
  const double x[2] = {0.1, 1e300};
  double y[2] = {0};
  const VxlaConstBytes argument = {x, sizeof(x)};
  const VxlaBytes result = {y, sizeof(y)};
  EXPECT_OK(vxlaRun(executable, 1, &argument, 1, &result, &message));
  EXPECT(y[0] == 0.2 && y[1] == 2e300);
  vxlaDestroyExecutable(executable);
  EXPECT_OK(vxlaDestroyDevice(device, &message));

  info.bindings = "addresses";
  EXPECT_CODE(vxlaAdoptDevice(&info, &device, &message), VXLA_UNSUPPORTED, "no bufferDeviceAddress");
  info.bindings = "by post";
  EXPECT_CODE(vxlaAdoptDevice(&info, &device, &message), VXLA_INVALID_ARGUMENT, "'by post'");
  info.bindings = NULL;
  timeline.timelineSemaphore = VK_FALSE;
  EXPECT_CODE(
      vxlaAdoptDevice(&info, &device, &message), VXLA_UNSUPPORTED,
      api_version == VK_API_VERSION_1_1 ? "no timelineSemaphore (VK_KHR_timeline_semaphore)" : "no timelineSemaphore");
  timeline.timelineSemaphore = VK_TRUE;
  info.api_version = VK_API_VERSION_1_0;
  EXPECT_CODE(vxlaAdoptDevice(&info, &device, &message), VXLA_UNSUPPORTED, "Vulkan 1.0 is older than 1.1");
  info.api_version = api_version;
  info.queue_family = 99;
  EXPECT_CODE(vxlaAdoptDevice(&info, &device, &message), VXLA_INVALID_ARGUMENT, "queue family 99");
  info.queue_family = host->family;
  info.flags = 0x80;
  EXPECT_CODE(vxlaAdoptDevice(&info, &device, &message), VXLA_INVALID_ARGUMENT, "flags 0x80: 0x7 are possible here");
  info.flags = 0;
  const char* names[2] = {VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME, NULL};
  info.extensions = names;
  info.extension_count = 2;
  EXPECT_CODE(vxlaAdoptDevice(&info, &device, &message), VXLA_INVALID_ARGUMENT, "extension 1: NULL");
  info.extension_count = 1;
  const VkAllocationCallbacks none = {0};
  info.allocation = &none;
  EXPECT_CODE(vxlaAdoptDevice(&info, &device, &message), VXLA_INVALID_ARGUMENT,
              "one of the functions of VkAllocationCallbacks is NULL");
  info.allocation = NULL;
  info.device = NULL;
  EXPECT_CODE(vxlaAdoptDevice(&info, &device, &message), VXLA_INVALID_ARGUMENT, "the device: NULL");
  EXPECT(device == NULL);
  host->asked.extension_count = extensions;
  HostCloseDevice(host);
}

int main(void) {
  const uint32_t versions[3] = {VK_API_VERSION_1_3, VK_API_VERSION_1_2, VK_API_VERSION_1_1};
  for (int i = 0; i < 3; ++i) {
    static Host host;
    if (!HostOpen(&host, versions[i])) return 1;
    const int older = versions[i] == VK_API_VERSION_1_1;
    if (older) host.asked.synchronization2.synchronization2 = VK_FALSE;
    // SwiftShader has none at 1.1: what image_test.c does there under descriptors is enough.
    const int addresses = older ? host.asked.older.buffer_device_address.bufferDeviceAddress : VK_TRUE;
    if (addresses) TestOn(&host, versions[i], "addresses", NULL);
    if (i == 0) TestOn(&host, versions[i], "descriptors", NULL);
    if (i == 0) TestOn(&host, versions[i], "addresses", "queues");  // as if there were several
    TestFewFeatures(&host, versions[i]);
    if (i == 0) TestTwoDevices(&host, versions[i]);
    if (!older) TestMemory(&host, versions[i]);
    HostClose(&host);
  }
  return failures != 0;
}
