// libvxla_runtime: what runs without the compiler, on a device of its own and on the host's. Arguments:
// tests/c_api/bundle.hlo compiled for any device, also for one device itself, and also for devices with features that
// probes find; image.hlo with conversions of images; matrices.hlo also for matrix units that the one device stands in
// for; dynamic.hlo for any device; a part of the one device's name.
#pragma GCC diagnostic ignored "-Wunused-function"  // of the host, a part is needed
#include "tests/c_api/vulkan_host.h"

static char bytes[1 << 20];

static VxlaExecutable Load(VxlaDevice device, const char* path, uint32_t flags) {
  FILE* file = fopen(path, "rb");
  EXPECT(file != NULL);
  if (file == NULL) return NULL;
  VxlaBundleInfo info = {.struct_size = sizeof(info), .flags = VXLA_COMPILE_RECORDABLE | flags, .data = bytes};
  info.size_bytes = fread(bytes, 1, sizeof(bytes), file);
  fclose(file);
  VxlaExecutable executable = NULL;
  EXPECT_OK(vxlaLoadBundle(device, &info, &executable, &message));
  return executable;
}

static const float kArgument[3] = {1, -2, 3};

static void ExpectResults(const float* y, int32_t n) { EXPECT(y[0] == 11 && y[1] == -40 && y[2] == 90 && n == 7); }

static void TestRun(VxlaDevice device, VxlaExecutable executable, int generic) {
  const char* variant = NULL;
  EXPECT_OK(vxlaDescribeVariant(executable, &variant, &message));
  EXPECT(variant != NULL && (strstr(variant, "generic") == variant) == generic);
  float y[3] = {0};
  int32_t n = 0;
  const VxlaConstBytes argument = {kArgument, sizeof(kArgument)};
  const VxlaBytes results[2] = {{y, sizeof(y)}, {&n, sizeof(n)}};
  EXPECT_OK(vxlaRun(executable, 1, &argument, 2, results, &message));
  ExpectResults(y, n);
  // By values, and nothing waits before the end.
  const int64_t size = 3;
  const VxlaArray array = {.struct_size = sizeof(array), .element_type = VXLA_F32, .rank = 1, .dimensions = &size};
  const VxlaUploadInfo upload = {.struct_size = sizeof(upload), .array = &array, .data = kArgument};
  VxlaValue value = NULL, made[2] = {NULL, NULL};
  VxlaEvent sent = NULL, done = NULL, there[2] = {NULL, NULL};
  EXPECT_OK(vxlaUpload(device, &upload, &value, &sent, &message));
  const VxlaExecuteInfo run = {.struct_size = sizeof(run),
                               .argument_count = 1,
                               .arguments = &value,
                               .result_count = 2,
                               .results = made,
                               .done = &done};
  EXPECT_OK(vxlaExecute(executable, &run, &message));
  memset(y, 0, sizeof(y));
  n = 0;
  const VxlaDownloadInfo back[2] = {{.struct_size = sizeof(back[0]), .data = y, .size_bytes = sizeof(y)},
                                    {.struct_size = sizeof(back[0]), .data = &n, .size_bytes = sizeof(n)}};
  for (int i = 0; i < 2; ++i) EXPECT_OK(vxlaDownload(made[i], &back[i], &there[i], &message));
  for (int i = 0; i < 2; ++i) EXPECT_OK(vxlaAwaitEvent(there[i], UINT64_MAX, &message));
  EXPECT_OK(vxlaAwaitEvent(sent, UINT64_MAX, &message));
  EXPECT_OK(vxlaAwaitEvent(done, UINT64_MAX, &message));
  ExpectResults(y, n);
  VxlaBytes file = {0};
  EXPECT_CODE(vxlaSerializeExecutable(executable, &file, &message), VXLA_INVALID_ARGUMENT, "it is from a bundle");
  for (int i = 0; i < 2; ++i) vxlaDestroyValue(made[i]), vxlaDestroyEvent(there[i]);
  vxlaDestroyValue(value);
  vxlaDestroyEvent(sent);
  vxlaDestroyEvent(done);
  vxlaDestroyExecutable(executable);
}

static void TestNoCompiler(VxlaDevice device) {
  VxlaCompileInfo info = {.struct_size = sizeof(info), .text = "HloModule m\nENTRY e { ROOT c = f32[] constant(1) }\n"};
  VxlaExecutable executable = NULL;
  EXPECT_CODE(vxlaCompile(device, &info, &executable, &message), VXLA_UNSUPPORTED,
              "vxlaCompile: libvxla_runtime loads");
  EXPECT(executable == NULL);
  EXPECT_CODE(vxlaDiff(device, &info, 0, NULL, NULL, &message), VXLA_UNSUPPORTED, "vxlaDiff: libvxla_runtime loads");
  VxlaKernelInfo kernel = {.struct_size = sizeof(kernel), .name = "k", .code = ""};
  EXPECT_CODE(vxlaRegisterKernel(device, &kernel, &message), VXLA_UNSUPPORTED,
              "vxlaRegisterKernel: libvxla_runtime loads");
  VxlaFunctionInfo function = {.struct_size = sizeof(function), .name = "f"};
  EXPECT_CODE(vxlaRegisterFunction(device, &function, &message), VXLA_UNSUPPORTED,
              "vxlaRegisterFunction: libvxla_runtime loads");
  VxlaBundleInfo damaged = {.struct_size = sizeof(damaged), .data = info.text, .size_bytes = 10};
  EXPECT_CODE(vxlaLoadBundle(device, &damaged, &executable, &message), VXLA_INVALID_ARGUMENT, "no bundle");
}

static void TestHost(const char* path) {
  static Host host;
  if (!HostOpen(&host, VK_API_VERSION_1_3)) {
    EXPECT(!"a Vulkan device");
    return;
  }
  HostMakeDevice(&host, &host.asked.features);
  VxlaAdoptInfo info = HostAdoptInfo(&host, VK_API_VERSION_1_3, NULL);
  VxlaDevice device = NULL;
  EXPECT_OK(vxlaAdoptDevice(&info, &device, &message));
  VxlaExecutable executable = Load(device, path, 0);
  VxlaRecordingNeeds needs = {.struct_size = sizeof(needs)};
  EXPECT_OK(vxlaDescribeRecording(executable, &needs, &message));
  HostBuffer in = HostMakeBuffer(&host, 1024, needs.argument_usage);
  HostBuffer out = HostMakeBuffer(&host, 1024, needs.result_usage);
  const VxlaBinding argument = HostBind(&in, 0, 256), results[2] = {HostBind(&out, 0, 256), HostBind(&out, 256, 256)};
  VxlaBindings bindings = {.struct_size = sizeof(bindings),
                           .argument_count = 1,
                           .arguments = &argument,
                           .result_count = 2,
                           .results = results};
  memcpy(in.mapped, kArgument, sizeof(kArgument));
  VxlaRecordingInfo recording_info = {.struct_size = sizeof(recording_info)};
  VxlaRecording recording = NULL;
  EXPECT_OK(vxlaCreateRecording(executable, &recording_info, &recording, &message));
  VkCommandBuffer commands = HostCommands(&host, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  HostBegin(&host, commands);
  EXPECT_OK(vxlaCmdExecute(commands, recording, &bindings, &message));
  HostBarrier(&host, commands, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
  host.EndCommandBuffer(commands);
  HostSubmit(&host, commands);
  ExpectResults(out.mapped, *(const int32_t*)((const char*)out.mapped + 256));
  vxlaDestroyRecording(recording);
  vxlaDestroyExecutable(executable);
  EXPECT_OK(vxlaDestroyDevice(device, &message));
  HostFreeBuffer(&host, &in);
  HostFreeBuffer(&host, &out);
  HostCloseDevice(&host);
  HostClose(&host);
}

// tests/c_api/matrices.hlo: the device that it was compiled for runs the kernel for matrix units, others the generic
// one. Small integers, so that no sum rounds.
static void TestMatrices(VxlaDeviceInfo info, const char* path, int generic) {
  info.emulate = "gpu,matrices";
  VxlaDevice device = NULL;
  EXPECT_OK(vxlaCreateDevice(&info, &device, &message));
  if (device == NULL) return;
  VxlaExecutable executable = Load(device, path, 0);
  const char* variant = NULL;
  EXPECT_OK(vxlaDescribeVariant(executable, &variant, &message));
  EXPECT(variant != NULL && (strstr(variant, "generic") == variant) == generic);
  static const uint16_t kHalves[4] = {0, 0x3c00, 0x4000, 0xc200};  // 0, 1, 2, -3
  static const int kNumbers[4] = {0, 1, 2, -3};
  static uint16_t x[64][48], y[48][32];
  static float sums[64][32];
  for (int i = 0; i < 64; ++i)
    for (int k = 0; k < 48; ++k) x[i][k] = kHalves[(5 * i + 3 * k) % 4];
  for (int k = 0; k < 48; ++k)
    for (int j = 0; j < 32; ++j) y[k][j] = kHalves[(k * k + j) % 4];
  const VxlaConstBytes arguments[2] = {{x, sizeof(x)}, {y, sizeof(y)}};
  const VxlaBytes result = {sums, sizeof(sums)};
  EXPECT_OK(vxlaRun(executable, 2, arguments, 1, &result, &message));
  int wrong = 0;
  for (int i = 0; i < 64; ++i) {
    for (int j = 0; j < 32; ++j) {
      int sum = 0;
      for (int k = 0; k < 48; ++k) sum += kNumbers[(5 * i + 3 * k) % 4] * kNumbers[(k * k + j) % 4];
      wrong += sums[i][j] != (float)sum;
    }
  }
  EXPECT(wrong == 0);
  vxlaDestroyExecutable(executable);
  EXPECT_OK(vxlaDestroyDevice(device, &message));
}

// tests/c_api/image.hlo with conversions for UNORM: half of a colour.
static void TestImages(const char* path) {
  static Host host;
  if (!HostOpen(&host, VK_API_VERSION_1_3)) return;
  HostMakeDevice(&host, NULL);
  VxlaAdoptInfo info = HostAdoptInfo(&host, VK_API_VERSION_1_3, NULL);
  VxlaDevice device = NULL;
  EXPECT_OK(vxlaAdoptDevice(&info, &device, &message));
  VxlaExecutable executable = Load(device, path, 0);
  VkFormat from = VK_FORMAT_B8G8R8A8_UNORM, to = VK_FORMAT_R8G8B8A8_UNORM;
  const VxlaRecordingInfo recording_info = {.struct_size = sizeof(recording_info),
                                            .argument_count = 1,
                                            .result_count = 1,
                                            .argument_formats = &from,
                                            .result_formats = &to};
  VxlaRecording recording = NULL;
  EXPECT_CODE(vxlaCreateRecording(executable, &recording_info, &recording, &message), VXLA_UNSUPPORTED,
              "none of B8G8R8A8_UNORM to f32[4,6,3] (vxla compile --argument-image N=B8G8R8A8_UNORM)");
  from = VK_FORMAT_R8G8B8A8_UNORM;
  EXPECT_OK(vxlaCreateRecording(executable, &recording_info, &recording, &message));
  const VkImageUsageFlags usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
  const HostImage in = HostMakeImage(&host, from, 6, 4, 1, usage), out = HostMakeImage(&host, to, 6, 4, 1, usage);
  HostBuffer texels = HostMakeBuffer(&host, 96, VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
  HostBuffer written = HostMakeBuffer(&host, 96, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  for (int i = 0; i < 24; ++i) memcpy((char*)texels.mapped + 4 * i, "\xbc\x40\xff\x07", 4);
  VkImageMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                  .dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                  .newLayout = VK_IMAGE_LAYOUT_GENERAL,
                                  .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                  .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                  .image = in.image.image,
                                  .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 1, 1, 1, 1}};
  const VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 1, 1, 1}, .imageExtent = {6, 4, 1}};
  const VxlaImageState copied = {VK_IMAGE_LAYOUT_GENERAL, VK_PIPELINE_STAGE_2_COPY_BIT,
                                 VK_ACCESS_2_TRANSFER_WRITE_BIT | VK_ACCESS_2_TRANSFER_READ_BIT};
  VxlaImage argument = in.image, result = out.image;
  argument.before = argument.after = result.after = copied;
  const VxlaImage *arguments = &argument, *results = &result;
  const VxlaBindings bindings = {.struct_size = sizeof(bindings),
                                 .argument_count = 1,
                                 .result_count = 1,
                                 .argument_images = &arguments,
                                 .result_images = &results};
  VkCommandBuffer commands = HostCommands(&host, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  HostBegin(&host, commands);
  host.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, NULL, 0,
                          NULL, 1, &barrier);
  host.CmdCopyBufferToImage(commands, texels.buffer, in.image.image, VK_IMAGE_LAYOUT_GENERAL, 1, &region);
  EXPECT_OK(vxlaCmdExecute(commands, recording, &bindings, &message));
  host.CmdCopyImageToBuffer(commands, out.image.image, VK_IMAGE_LAYOUT_GENERAL, written.buffer, 1, &region);
  HostBarrier(&host, commands, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
  host.EndCommandBuffer(commands);
  HostSubmit(&host, commands);
  // Halved; an alpha that the array lacks.
  for (int i = 0; i < 24; ++i) EXPECT(memcmp((char*)written.mapped + 4 * i, "\x5e\x20\x80\xff", 4) == 0);
  vxlaDestroyRecording(recording);
  vxlaDestroyExecutable(executable);
  EXPECT_OK(vxlaDestroyDevice(device, &message));
  HostFreeImage(&host, &in);
  HostFreeImage(&host, &out);
  HostFreeBuffer(&host, &texels);
  HostFreeBuffer(&host, &written);
  HostCloseDevice(&host);
  HostClose(&host);
}

// tests/c_api/dynamic.hlo, recorded once for all live sizes, `n` of x and `m` of w; small integers, so that no sum
// rounds.
enum { kRows = 1500, kColumns = 24, kSorted = 33000, kGap = 256 };

static void ExpectDynamic(const char* product, const char* sorted, int64_t n, int64_t m, const int64_t live_at[2]) {
  int64_t live[3] = {0};
  memcpy(live, product + live_at[0], 16);
  memcpy(live + 2, sorted + live_at[1], 8);
  EXPECT(live[0] == n && live[1] == 2 && live[2] == m);
  int wrong = 0;
  for (int i = 0; i < n; ++i) {
    int sums[2] = {0};
    for (int k = 0; k < kColumns; ++k) sums[0] += (i + k) % 7 * k, sums[1] += (i + k) % 7 * (k + 1);
    for (int j = 0; j < 2; ++j) wrong += ((const float*)product)[2 * i + j] != (float)sums[j];
  }
  for (int i = 0; i < m; ++i) wrong += ((const float*)sorted)[i] != (float)(i - (int)m);
  EXPECT(wrong == 0);
}

static void FillDynamic(char* x, char* w, char* c) {
  for (int i = 0; i < kRows; ++i)
    for (int k = 0; k < kColumns; ++k) ((float*)x)[i * kColumns + k] = (float)((i + k) % 7);
  for (int k = 0; k < kColumns; ++k) ((float*)c)[2 * k] = (float)k, ((float*)c)[2 * k + 1] = (float)(k + 1);
  for (int i = 0; i < kSorted; ++i) ((float*)w)[i] = (float)(-1 - i);
}

typedef struct Dynamic {
  HostBuffer buffer;  // of all arguments and results
  VxlaArray arrays[6];
  VxlaBinding bound[6];
  VxlaBindings bindings;
} Dynamic;

static void MakeDynamic(Host* host, VxlaExecutable executable, Dynamic* made) {
  VxlaRecordingNeeds needs = {.struct_size = sizeof(needs)};
  EXPECT_OK(vxlaDescribeRecording(executable, &needs, &message));
  made->buffer = HostMakeBuffer(host, 1 << 19, needs.argument_usage | needs.result_usage);
  uint64_t at = 0;
  for (uint32_t i = 0; i < 6; ++i) {
    VxlaArray* array = &made->arrays[i];
    *array = (VxlaArray){.struct_size = sizeof(*array)};
    EXPECT_OK(i < 4 ? vxlaDescribeArgument(executable, i, array, &message)
                    : vxlaDescribeResult(executable, i - 4, array, &message));
    EXPECT((array->dynamic != NULL) == (i == 2 || i >= 4));
    uint64_t size = array->size_bytes;
    if (array->live_sizes_offset != 0) size = array->live_sizes_offset + 8 * (uint64_t)array->rank;
    made->bound[i] = HostBind(&made->buffer, at, (size + 15) / 16 * 16);
    at += (size + 2 * kGap - 1) / kGap * kGap;
  }
  EXPECT(at <= made->buffer.size);
  made->bindings = (VxlaBindings){.struct_size = sizeof(made->bindings),
                                  .argument_count = 4,
                                  .arguments = made->bound,
                                  .result_count = 2,
                                  .results = made->bound + 4};
  char* const bytes = made->buffer.mapped;
  FillDynamic(bytes, bytes + made->bound[2].offset, bytes + made->bound[3].offset);
}

static void RecordDynamic(Host* host, VxlaRecording recording, const Dynamic* made, VkCommandBuffer commands,
                          int32_t* finished) {
  HostBegin(host, commands);
  if (finished == NULL) {
    EXPECT_OK(vxlaCmdExecute(commands, recording, &made->bindings, &message));
  } else {
    *finished = 1;
    EXPECT_OK(vxlaCmdExecutePart(commands, recording, &made->bindings, 1, finished, &message));
  }
  HostBarrier(host, commands, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
  host->EndCommandBuffer(commands);
}

static void RunDynamic(Host* host, VxlaRecording recording, Dynamic* made) {
  VkCommandBuffer whole = HostCommands(host, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  RecordDynamic(host, recording, made, whole, NULL);
  VkCommandBuffer part = HostCommands(host, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  char* const bytes = made->buffer.mapped;
  const VkDeviceSize results = made->bound[4].offset;
  const int64_t live_at[2] = {(int64_t)made->arrays[4].live_sizes_offset, (int64_t)made->arrays[5].live_sizes_offset};
  const int64_t cases[5][2] = {{0, 0}, {1, kSorted}, {100, 4128}, {kRows, 1}, {192, 100}};
  for (int i = 0; i < 10; ++i) {
    const int64_t n = cases[i / 2][0], m = cases[i / 2][1];
    const int32_t number = (int32_t)n;
    memcpy(bytes + made->bound[1].offset, &number, 4);
    memcpy(bytes + made->bound[2].offset + made->arrays[2].live_sizes_offset, &m, 8);
    memset(bytes + results, 0xfb, made->buffer.size - results);
    // Whole, and a dispatch at a time.
    int32_t finished = i % 2 == 0;
    if (finished) HostSubmit(host, whole);
    while (!finished) {
      RecordDynamic(host, recording, made, part, &finished);
      HostSubmit(host, part);
    }
    ExpectDynamic(bytes + results, bytes + made->bound[5].offset, n, m, live_at);
  }
}

static void TestDynamic(const char* path) {
  static Host host;
  if (!HostOpen(&host, VK_API_VERSION_1_1)) return;
  HostMakeDevice(&host, NULL);
  VxlaAdoptInfo info = HostAdoptInfo(&host, VK_API_VERSION_1_1, NULL);
  VxlaDevice device = NULL;
  EXPECT_OK(vxlaAdoptDevice(&info, &device, &message));
  VxlaExecutable executable = Load(device, path, VXLA_LOAD_IN_BACKGROUND);
  Dynamic made;
  MakeDynamic(&host, executable, &made);
  VxlaRecordingInfo recording_info = {.struct_size = sizeof(recording_info)};
  VxlaRecording recording = NULL;
  EXPECT_OK(vxlaCreateRecording(executable, &recording_info, &recording, &message));
  RunDynamic(&host, recording, &made);
  vxlaDestroyRecording(recording);
  vxlaDestroyExecutable(executable);
  EXPECT_OK(vxlaDestroyDevice(device, &message));
  HostFreeBuffer(&host, &made.buffer);
  HostCloseDevice(&host);
  HostClose(&host);
}

int main(int argc, char** argv) {
  if (argc != 8) return fprintf(stderr, "six bundles and a device's name are wanted\n"), 1;
  EXPECT(vxlaVersion() == VXLA_HEADER_VERSION);
  VxlaDeviceInfo info = {.struct_size = sizeof(info), .flags = VXLA_DEVICE_NO_CACHE};
  // By its whole name: which of several devices "the best one" is, is not this test's business.
  static Host host;
  if (!HostOpen(&host, VK_API_VERSION_1_3)) return 1;
  VkPhysicalDeviceProperties properties;
  host.GetPhysicalDeviceProperties(host.physical, &properties);
  HostClose(&host);
  info.device = properties.deviceName;
  const int generic = !HostNames(properties.deviceName, argv[7]);
  VxlaDevice device = NULL;
  EXPECT_OK(vxlaCreateDevice(&info, &device, &message));
  if (device == NULL) return 1;
  TestNoCompiler(device);
  TestRun(device, Load(device, argv[1], 0), 1);
  TestRun(device, Load(device, argv[2], VXLA_LOAD_IN_BACKGROUND), generic);
  TestRun(device, Load(device, argv[3], 0), 1);
  EXPECT_OK(vxlaDestroyDevice(device, &message));
  TestMatrices(info, argv[5], generic);
  TestHost(argv[1]);
  TestHost(argv[3]);
  TestImages(argv[4]);
  TestDynamic(argv[6]);
  return failures != 0;
}
