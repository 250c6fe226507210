// Images as arguments and results of programs that are recorded into the host's command buffers, and recordings that
// are several times in one.
#include <math.h>

#include "tests/c_api/vulkan_host.h"

enum { kHeight = 3, kWidth = 5, kMostTexels = 2 * kHeight * kWidth };

// ---- texels in plain C: what the images hold ----

typedef struct Format {
  VkFormat format;
  int channels, bytes;  // bytes: of a channel
  int unorm, srgb, bgr;
} Format;

static const Format kR8 = {VK_FORMAT_R8_UNORM, 1, 1, 1, 0, 0};
static const Format kRg8 = {VK_FORMAT_R8G8_UNORM, 2, 1, 1, 0, 0};
static const Format kRgba8 = {VK_FORMAT_R8G8B8A8_UNORM, 4, 1, 1, 0, 0};
static const Format kBgra8 = {VK_FORMAT_B8G8R8A8_UNORM, 4, 1, 1, 0, 1};
static const Format kSrgb = {VK_FORMAT_R8G8B8A8_SRGB, 4, 1, 1, 1, 0};
static const Format kBgrSrgb = {VK_FORMAT_B8G8R8A8_SRGB, 4, 1, 1, 1, 1};
static const Format kR16 = {VK_FORMAT_R16_UNORM, 1, 2, 1, 0, 0};
static const Format kRgba16 = {VK_FORMAT_R16G16B16A16_UNORM, 4, 2, 1, 0, 0};
static const Format kR16f = {VK_FORMAT_R16_SFLOAT, 1, 2, 0, 0, 0};
static const Format kRgba16f = {VK_FORMAT_R16G16B16A16_SFLOAT, 4, 2, 0, 0, 0};
static const Format kRg32f = {VK_FORMAT_R32G32_SFLOAT, 2, 4, 0, 0, 0};
static const Format kRgba32f = {VK_FORMAT_R32G32B32A32_SFLOAT, 4, 4, 0, 0, 0};

// Normal numbers.
static double FromHalf(uint16_t bits) {
  if ((bits & 0x7fff) == 0) return 0;
  return ldexp(1024 + (bits & 0x3ff), (bits >> 10 & 31) - 25) * ((bits & 0x8000) != 0 ? -1 : 1);
}

static uint32_t Number(const Format* format, const unsigned char* texels, int texel, int channel) {
  if (format->bgr && channel < 3) channel = 2 - channel;
  uint32_t number = 0;
  memcpy(&number, texels + (texel * format->channels + channel) * format->bytes, (size_t)format->bytes);
  return number;
}

static double Most(const Format* format) { return format->bytes == 1 ? 255 : 65535; }

static double Value(const Format* format, const unsigned char* texels, int texel, int channel) {
  const uint32_t number = Number(format, texels, texel, channel);
  if (!format->unorm) {
    float single;
    memcpy(&single, &number, sizeof(single));
    return format->bytes == 2 ? FromHalf((uint16_t)number) : (double)single;
  }
  const double x = number / Most(format);
  if (!format->srgb || channel == 3) return x;
  return x <= 0.04045 ? x / 12.92 : pow((x + 0.055) / 1.055, 2.4);
}

// The texel's number that a value is written as, before rounding.
static double Written(const Format* format, double value, int channel) {
  value = value > 0 ? (value < 1 ? value : 1) : 0;  // NaN too
  if (format->srgb && channel < 3) value = value <= 0.0031308 ? value * 12.92 : 1.055 * pow(value, 1 / 2.4) - 0.055;
  return value * Most(format);
}

// ---- images ----

static VkBufferImageCopy Whole(const HostImage* image) {
  return (VkBufferImageCopy){.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 1, 1, image->layers},
                             .imageExtent = {kWidth, kHeight, 1}};
}

static const VxlaImageState kCopiedTo = {VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_PIPELINE_STAGE_2_COPY_BIT,
                                         VK_ACCESS_2_TRANSFER_WRITE_BIT};
static const VxlaImageState kCopiedFrom = {VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, VK_PIPELINE_STAGE_2_COPY_BIT,
                                           VK_ACCESS_2_TRANSFER_READ_BIT};
static const VxlaImageState kNothing = {VK_IMAGE_LAYOUT_UNDEFINED, 0, 0};

// From the buffer into the image, for vxla to go on with.
static void Upload(Host* host, VkCommandBuffer commands, const HostBuffer* from, HostImage* to) {
  VkImageMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                  .dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                  .newLayout = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                                  .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                  .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                  .image = to->image.image,
                                  .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 1, 1, 1, to->layers}};
  host->CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, NULL, 0,
                           NULL, 1, &barrier);
  const VkBufferImageCopy region = Whole(to);
  host->CmdCopyBufferToImage(commands, from->buffer, to->image.image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
}

static void Download(Host* host, VkCommandBuffer commands, const HostImage* from, const HostBuffer* to) {
  const VkBufferImageCopy region = Whole(from);
  host->CmdCopyImageToBuffer(commands, from->image.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, to->buffer, 1, &region);
  HostBarrier(host, commands, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
}

// ---- programs ----

static VxlaExecutable Compile(VxlaDevice device, const char* text) {
  VxlaCompileInfo info = {.struct_size = sizeof(info), .flags = VXLA_COMPILE_RECORDABLE, .text = text};
  VxlaExecutable executable = NULL;
  EXPECT_OK(vxlaCompile(device, &info, &executable, &message));
  return executable;
}

// most - x.
static VxlaExecutable Complement(VxlaDevice device, const char* type, const char* dimensions, const char* most) {
  char text[512];
  snprintf(text, sizeof(text),
           "HloModule m\nENTRY e { x = %s%s parameter(0)\n k = %s[] constant(%s)\n b = %s%s broadcast(k), "
           "dimensions={}\n ROOT r = %s%s subtract(b, x) }\n",
           type, dimensions, type, most, type, dimensions, type, dimensions);
  return Compile(device, text);
}

static VxlaRecordingInfo Formats(const VkFormat* argument, const VkFormat* result) {
  return (VxlaRecordingInfo){.struct_size = sizeof(VxlaRecordingInfo),
                             .argument_count = 1,
                             .result_count = 1,
                             .argument_formats = argument,
                             .result_formats = result};
}

typedef struct Case {
  const Format *in, *out;
  const char *type, *dimensions;
  uint32_t layers;
  int off_by;  // the texel's numbers may be
} Case;

static const Case kCases[] = {
    {&kRgba8, &kRgba8, "f32", "[3,5,4]", 1, 0},     {&kR8, &kR8, "f32", "[3,5]", 1, 0},
    {&kRg8, &kRg8, "f16", "[3,5,2]", 1, 0},         {&kBgra8, &kRgba8, "f32", "[3,5,4]", 1, 0},
    {&kRgba8, &kBgra8, "f32", "[3,5,3]", 1, 0},     {&kSrgb, &kRgba32f, "f32", "[3,5,4]", 1, 0},
    {&kSrgb, &kRgba16, "f32", "[3,5,4]", 1, 1},     {&kRgba16, &kBgrSrgb, "f32", "[3,5,4]", 1, 1},
    {&kRgba16, &kRgba16, "f32", "[2,3,5,4]", 2, 0}, {&kR16, &kR16f, "f32", "[3,5,1]", 1, 0},
    {&kRgba16f, &kRgba16f, "f16", "[3,5,4]", 1, 0}, {&kRgba16f, &kRgba8, "bf16", "[3,5,4]", 1, 1},
    {&kRg32f, &kRg32f, "f32", "[3,5,2]", 1, 0},     {&kRgba32f, &kRgba8, "f32", "[3,5,4]", 1, 0},
    {&kRgba8, &kRgba8, "f64", "[1,3,5,4]", 1, 0},   {&kRgba8, &kBgra8, "u8", "[3,5,4]", 1, 0},
    {&kBgra8, &kRgba8, "u8", "[3,5,3]", 1, 0},      {&kR8, &kR8, "u8", "[3,5]", 1, 0},
    {&kR16, &kR16, "u16", "[3,5]", 1, 0},           {&kBgra8, &kBgra8, "u8", "[3,5,4]", 1, 0},
    {&kBgrSrgb, &kRgba8, "u8", "[3,5,4]", 1, 0},
};

// Numbers that are well spread; floats that are exact in f16, the first ones beyond 0 to 1 and one NaN.
static void FillTexels(const Format* format, unsigned char* texels, int count) {
  for (int i = 0; i < count * format->channels; ++i) {
    if (format->unorm) {
      const uint32_t number = format->bytes == 1 ? (uint32_t)(i * 37) % 256 : (uint32_t)(i * 7919) % 65536;
      memcpy(texels + i * format->bytes, &number, (size_t)format->bytes);
    } else if (format->bytes == 2) {
      const uint16_t half = (uint16_t)(i == 0 ? 0xbc00 : i == 1 ? 0x4000 : 0x3400 + 16 * (i % 60));
      memcpy(texels + i * 2, &half, 2);
    } else {
      const float single = i == 0 ? -1.0f : i == 1 ? 2.0f : i == 2 ? NAN : (float)i / 128;
      memcpy(texels + i * 4, &single, 4);
    }
  }
}

static void ExpectTexel(const Case* tried, const unsigned char* in, const unsigned char* out, int texel, int channel) {
  const Format *from = tried->in, *to = tried->out;
  const int three = strstr(tried->dimensions, ",3]") != NULL;
  const int integers = tried->type[0] == 'u';
  const double most = integers ? Most(from) : 1;
  const double value = three && channel == 3 ? most
                       : integers            ? most - Number(from, in, texel, channel)
                                             : most - Value(from, in, texel, channel);
  double got, wanted, off_by = tried->off_by;
  if (to->unorm) {
    got = Number(to, out, texel, channel);
    wanted = integers ? value : Written(to, value, channel);
    off_by += integers ? 0 : 0.5 + 1e-3;
  } else {
    got = Value(to, out, texel, channel);
    wanted = value;
    off_by = to->bytes == 2 ? 0x1p-11 * fabs(wanted) : 2e-7;
  }
  if (isnan(value) && !to->unorm ? isnan(got) : fabs(got - wanted) <= off_by) return;
  ++failures;
  fprintf(stderr, "VkFormat %d to %d over %s%s: texel %d channel %d is %g, expected %g\n", (int)from->format,
          (int)to->format, tried->type, tried->dimensions, texel, channel, got, wanted);
}

static void TestCase(Host* host, VxlaDevice device, const Case* tried) {
  const int count = (int)tried->layers * kHeight * kWidth;
  const char* most = strcmp(tried->type, "u8") == 0 ? "255" : strcmp(tried->type, "u16") == 0 ? "65535" : "1";
  VxlaExecutable executable = Complement(device, tried->type, tried->dimensions, most);
  const VxlaRecordingInfo info = Formats(&tried->in->format, &tried->out->format);
  VxlaRecording recording = NULL;
  EXPECT_OK(vxlaCreateRecording(executable, &info, &recording, &message));
  HostBuffer from = HostMakeBuffer(host, 1024, VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
  HostBuffer to = HostMakeBuffer(host, 1024, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  const VkImageUsageFlags usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
  HostImage in = HostMakeImage(host, tried->in->format, kWidth, kHeight, tried->layers, usage);
  HostImage out = HostMakeImage(host, tried->out->format, kWidth, kHeight, tried->layers, usage);
  in.image.before = kCopiedTo;
  in.image.after = (VxlaImageState){VK_IMAGE_LAYOUT_GENERAL, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, 0};
  out.image.before = kNothing;
  out.image.after = kCopiedFrom;
  const VxlaImage *argument = &in.image, *result = &out.image;
  const VxlaBindings bindings = {.struct_size = sizeof(bindings),
                                 .argument_count = 1,
                                 .result_count = 1,
                                 .argument_images = &argument,
                                 .result_images = &result};
  VkCommandBuffer commands = HostCommands(host, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  FillTexels(tried->in, from.mapped, count);
  int allocations = 0;
  for (int frame = 0; frame < 3; ++frame) {
    memset(to.mapped, 0xfb, 1024);
    HostBegin(host, commands);
    Upload(host, commands, &from, &in);
    if (frame < 2) {
      EXPECT_OK(vxlaCmdExecute(commands, recording, &bindings, &message));
    } else {
      for (int32_t finished = 0; !finished && failures == 0;)
        EXPECT_OK(vxlaCmdExecutePart(commands, recording, &bindings, 0, &finished, &message));
    }
    Download(host, commands, &out, &to);
    host->EndCommandBuffer(commands);
    HostSubmit(host, commands);
    for (int texel = 0; texel < count; ++texel) {
      for (int channel = 0; channel < tried->out->channels; ++channel)
        ExpectTexel(tried, from.mapped, to.mapped, texel, channel);
    }
    if (frame == 0) allocations = host->allocations;
  }
  EXPECT(host->allocations == allocations);
  EXPECT_CODE(vxlaRebind(recording, &bindings, &message), VXLA_UNSUPPORTED, "record it");
  vxlaDestroyRecording(recording);
  vxlaDestroyExecutable(executable);
  HostFreeImage(host, &in);
  HostFreeImage(host, &out);
  HostFreeBuffer(host, &from);
  HostFreeBuffer(host, &to);
}

// One image is read and written, in the memory of a donated argument; the other argument is a buffer.
static void TestInPlace(Host* host, VxlaDevice device) {
  VxlaExecutable executable =
      Compile(device,
              "HloModule m, input_output_alias={ {}: (0, {}, may-alias) }\n"
              "ENTRY e { x = f32[3,5,2] parameter(0)\n y = f32[2] parameter(1)\n"
              "  b = f32[3,5,2] broadcast(y), dimensions={2}\n ROOT r = f32[3,5,2] add(x, b) }\n");
  VkFormat formats[2] = {VK_FORMAT_R8G8_UNORM, VK_FORMAT_UNDEFINED};
  VxlaRecordingInfo info = Formats(formats, formats);
  info.argument_count = 2;
  VxlaRecording recording = NULL;
  EXPECT_OK(vxlaCreateRecording(executable, &info, &recording, &message));
  VxlaRecordingNeeds needs = {.struct_size = sizeof(needs)};
  EXPECT_OK(vxlaDescribeRecording(executable, &needs, &message));
  HostBuffer texels = HostMakeBuffer(host, 1024, VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  HostBuffer y = HostMakeBuffer(host, 1024, needs.argument_usage);
  HostImage image = HostMakeImage(host, VK_FORMAT_R8G8_UNORM, kWidth, kHeight, 1,
                                  VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT);
  VxlaImage read = image.image, written = image.image;
  read.before = kCopiedTo;
  read.after = written.before = (VxlaImageState){VK_IMAGE_LAYOUT_GENERAL, VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT, 0};
  written.after = kCopiedFrom;
  const VxlaImage *arguments[2] = {&read, NULL}, *result = &written;
  const VxlaBinding buffers[2] = {{0}, HostBind(&y, 256, 16)};
  const VxlaBindings bindings = {.struct_size = sizeof(bindings),
                                 .argument_count = 2,
                                 .arguments = buffers,
                                 .result_count = 1,
                                 .argument_images = arguments,
                                 .result_images = &result};
  for (int i = 0; i < 30; ++i) ((unsigned char*)texels.mapped)[i] = (unsigned char)i;
  ((float*)y.mapped)[64] = 1 / 255.0f, ((float*)y.mapped)[65] = 100 / 255.0f;
  VkCommandBuffer commands = HostCommands(host, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  HostBegin(host, commands);
  Upload(host, commands, &texels, &image);
  EXPECT_OK(vxlaCmdExecute(commands, recording, &bindings, &message));
  Download(host, commands, &image, &texels);
  host->EndCommandBuffer(commands);
  HostSubmit(host, commands);
  for (int i = 0; i < 30; ++i) EXPECT(((unsigned char*)texels.mapped)[i] == i + (i % 2 == 0 ? 1 : 100));
  vxlaDestroyRecording(recording);
  info.result_formats = NULL;
  EXPECT_CODE(vxlaCreateRecording(executable, &info, &recording, &message), VXLA_INVALID_ARGUMENT,
              "result 0: the program puts it into argument 0, and one of the two only is an image");
  vxlaDestroyExecutable(executable);
  HostFreeImage(host, &image);
  HostFreeBuffer(host, &texels);
  HostFreeBuffer(host, &y);
}

static void TestFormats(VxlaDevice device) {
  static const struct {
    const char *type, *dimensions;
    VkFormat format;
    const char* says;
  } kRefused[] = {
      {"f32", "[3,5,4]", VK_FORMAT_D32_SFLOAT, "argument 0: VkFormat 126 is none that an array can have"},
      {"f32", "[3]", VK_FORMAT_R8_UNORM, "argument 0: f32[3] is no image: [height, width]"},
      {"f32", "[3,0,4]", VK_FORMAT_R8G8B8A8_UNORM, "argument 0: f32[3,0,4] is no image"},
      {"f32", "[3,5,2]", VK_FORMAT_R8G8B8A8_UNORM, "argument 0: f32[3,5,2] has 2 channels, VkFormat 37 has 4"},
      {"f32", "[3,5,3]", VK_FORMAT_R8G8_UNORM, "argument 0: f32[3,5,3] has 3 channels, VkFormat 16 has 2"},
      {"u16", "[3,5,4]", VK_FORMAT_R8G8B8A8_UNORM, "argument 0: u16[3,5,4] cannot hold texels of VkFormat 37"},
      {"s32", "[3,5,4]", VK_FORMAT_R16G16B16A16_SFLOAT, "a floating-point type or f16"},
  };
  for (size_t i = 0; i < sizeof(kRefused) / sizeof(kRefused[0]); ++i) {
    VxlaExecutable executable = Complement(device, kRefused[i].type, kRefused[i].dimensions, "1");
    VxlaRecordingInfo info = Formats(&kRefused[i].format, NULL);
    VxlaRecording recording = NULL;
    EXPECT_CODE(vxlaCreateRecording(executable, &info, &recording, &message), VXLA_INVALID_ARGUMENT, kRefused[i].says);
    EXPECT(recording == NULL);
    info.argument_count = 2;
    EXPECT_CODE(vxlaCreateRecording(executable, &info, &recording, &message), VXLA_INVALID_ARGUMENT,
                "argument formats: 2 given, the program has 1");
    vxlaDestroyExecutable(executable);
  }
}

static void TestRefusals(Host* host, VxlaDevice device) {
  VxlaExecutable executable = Complement(device, "f32", "[3,5,4]", "1");
  const VkFormat format = VK_FORMAT_R8G8B8A8_UNORM;
  VxlaRecordingInfo info = Formats(&format, &format);
  VxlaRecording recording = NULL, buffers = NULL;
  EXPECT_OK(vxlaCreateRecording(executable, &info, &recording, &message));
  info.struct_size = offsetof(VxlaRecordingInfo, argument_count);  // as of a header without images
  EXPECT_OK(vxlaCreateRecording(executable, &info, &buffers, &message));
  const VkImageUsageFlags usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
  HostImage image = HostMakeImage(host, format, kWidth, kHeight, 1, usage);
  image.image.before = kCopiedTo;
  image.image.after = kCopiedFrom;
  const VxlaImage good = image.image;
  VxlaImage in = good, out = good;
  const VxlaImage *argument = &in, *result = &out;
  VxlaBindings bindings = {.struct_size = sizeof(bindings),
                           .argument_count = 1,
                           .result_count = 1,
                           .argument_images = &argument,
                           .result_images = &result};
  VkCommandBuffer commands = HostCommands(host, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  HostBegin(host, commands);
#define REFUSED(TEXT) EXPECT_CODE(vxlaCmdExecute(commands, recording, &bindings, &message), VXLA_INVALID_ARGUMENT, TEXT)
  in.image = VK_NULL_HANDLE;
  REFUSED("argument 0: its VkImage is NULL");
  in = good, in.width = 4;
  REFUSED("argument 0: the image is 4 wide and 3 high, f32[3,5,4] is 5 wide and 3 high");
  in = good, in.usage = VK_IMAGE_USAGE_SAMPLED_BIT;
  REFUSED("argument 0: its image's usage 0x4 lacks 0x1");
  in = good, in.before.layout = VK_IMAGE_LAYOUT_UNDEFINED;
  REFUSED("argument 0: its image comes from the layout UNDEFINED");
  in = good, in.after.layout = VK_IMAGE_LAYOUT_PREINITIALIZED;
  REFUSED("argument 0: its image goes to the layout PREINITIALIZED");
  in = good, out.after.layout = VK_IMAGE_LAYOUT_UNDEFINED;
  REFUSED("result 0: its image goes to the layout UNDEFINED");
  out = good, out.usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
  REFUSED("result 0: its image's usage 0x1 lacks 0x2");
  out = good, bindings.argument_images = NULL;
  REFUSED("argument 0: no image is bound");
  bindings.argument_images = &argument, bindings.argument_count = 2;
  REFUSED("arguments: 2 given, the program has 1");
  // Of a program compiled against a header without images.
  bindings.argument_count = 1, bindings.struct_size = offsetof(VxlaBindings, argument_images);
  REFUSED("argument 0: no image is bound");
#undef REFUSED
  bindings.struct_size = sizeof(bindings);
  const VxlaBinding none = {0};
  bindings.arguments = bindings.results = &none;
  EXPECT_CODE(vxlaCmdExecute(commands, buffers, &bindings, &message), VXLA_INVALID_ARGUMENT,
              "argument 0: an image is bound, and its recording states no format");
  argument = NULL;
  EXPECT_CODE(vxlaCmdExecute(commands, buffers, &bindings, &message), VXLA_INVALID_ARGUMENT,
              "result 0: an image is bound, and its recording states no format");
  host->EndCommandBuffer(commands);
  HostSubmit(host, commands);  // nothing was recorded
  vxlaDestroyRecording(recording);
  vxlaDestroyRecording(buffers);
  vxlaDestroyExecutable(executable);
  HostFreeImage(host, &image);
}

// An image is that of one result: of two, one would be lost.
static void TestTwoResultsInOneImage(Host* host, VxlaDevice device) {
  VxlaCompileInfo compile = {.struct_size = sizeof(compile),
                             .flags = VXLA_COMPILE_RECORDABLE,
                             .text =
                                 "HloModule m\nENTRY e { x = u8[4,4] parameter(0)\n n = u8[4,4] not(x)\n"
                                 "  ROOT t = (u8[4,4], u8[4,4]) tuple(n, x) }"};
  VxlaExecutable executable = NULL;
  EXPECT_OK(vxlaCompile(device, &compile, &executable, &message));
  const VkFormat formats[2] = {VK_FORMAT_R8_UNORM, VK_FORMAT_R8_UNORM};
  const VxlaRecordingInfo info = {
      .struct_size = sizeof(info), .argument_count = 1, .result_count = 2, .result_formats = formats};
  VxlaRecording recording = NULL;
  EXPECT_OK(vxlaCreateRecording(executable, &info, &recording, &message));
  HostImage image =
      HostMakeImage(host, formats[0], 4, 4, 2, VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT);
  VxlaRecordingNeeds needs = {.struct_size = sizeof(needs)};
  EXPECT_OK(vxlaDescribeRecording(executable, &needs, &message));
  HostBuffer x = HostMakeBuffer(host, 256, needs.argument_usage);
  VxlaImage first = image.image;
  first.after = kCopiedFrom;
  VxlaImage second = first;
  const VxlaImage* results[2] = {&first, &second};
  const VxlaBinding argument = HostBind(&x, 0, 16);
  const VxlaBindings bindings = {.struct_size = sizeof(bindings),
                                 .argument_count = 1,
                                 .arguments = &argument,
                                 .result_count = 2,
                                 .result_images = results};
  VkCommandBuffer commands = HostCommands(host, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  HostBegin(host, commands);
  EXPECT_CODE(vxlaCmdExecute(commands, recording, &bindings, &message), VXLA_INVALID_ARGUMENT,
              "result 1: its image is that of result 0, too");
  ++second.first_layer;
  EXPECT_OK(vxlaCmdExecute(commands, recording, &bindings, &message));
  host->EndCommandBuffer(commands);
  HostSubmit(host, commands);
  vxlaDestroyRecording(recording);
  vxlaDestroyExecutable(executable);
  HostFreeBuffer(host, &x);
  HostFreeImage(host, &image);
}

// ---- several uses of a recording in one command buffer ----

enum { kStates = 6, kState = 256 };

// A state's elements, the largest first, are added to it: two kernels with scratch between them.
static const char kStep[] =
    "HloModule m\n"
    "more { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = pred[] compare(a, b), direction=GT }\n"
    "ENTRY e { x = f32[5] parameter(0)\n s = f32[5] sort(x), dimensions={0}, to_apply=more\n"
    "  ROOT r = f32[5] add(s, x) }\n";

static void Step(float* x) {
  float sorted[5];
  memcpy(sorted, x, sizeof(sorted));
  for (int i = 0; i < 5; ++i) {
    for (int k = i; k > 0 && sorted[k] > sorted[k - 1]; --k) {
      const float below = sorted[k];
      sorted[k] = sorted[k - 1];
      sorted[k - 1] = below;
    }
  }
  for (int i = 0; i < 5; ++i) x[i] += sorted[i];
}

static void ExpectState(const HostBuffer* states, int state, const float* first, int steps) {
  float wanted[5];
  memcpy(wanted, first, sizeof(wanted));
  for (int step = 0; step < steps; ++step) Step(wanted);
  EXPECT(memcmp((const char*)states->mapped + state * kState, wanted, sizeof(wanted)) == 0);
}

// From one state to another; `part` of it at a time.
static void RecordStep(VkCommandBuffer commands, VxlaRecording recording, const HostBuffer* states, int from, int to,
                       int part) {
  const VxlaBinding x = HostBind(states, (VkDeviceSize)(from * kState), 32);
  const VxlaBinding y = HostBind(states, (VkDeviceSize)(to * kState), 32);
  const VxlaBindings bindings = {
      .struct_size = sizeof(bindings), .argument_count = 1, .arguments = &x, .result_count = 1, .results = &y};
  if (!part) {
    EXPECT_OK(vxlaCmdExecute(commands, recording, &bindings, &message));
    return;
  }
  for (int32_t finished = 0; !finished && failures == 0;)
    EXPECT_OK(vxlaCmdExecutePart(commands, recording, &bindings, 0, &finished, &message));
}

static void TestSubsteps(Host* host, VxlaDevice device) {
  VxlaExecutable executable = Compile(device, kStep);
  VxlaRecordingNeeds needs = {.struct_size = sizeof(needs)};
  EXPECT_OK(vxlaDescribeRecording(executable, &needs, &message));
  EXPECT(needs.scratch_size != 0);
  HostBuffer states = HostMakeBuffer(host, kStates * kState, needs.argument_usage | needs.result_usage);
  HostBuffer scratch = HostMakeBuffer(host, needs.scratch_size, needs.scratch_usage);
  const VxlaBinding lent = HostBind(&scratch, 0, needs.scratch_size);
  VkCommandBuffer commands = HostCommands(host, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  for (int with_scratch = 0; with_scratch < 2; ++with_scratch) {
    const VxlaRecordingInfo info = {
        .struct_size = sizeof(info), .scratch = with_scratch ? &lent : NULL, .uses = kStates - 1};
    VxlaRecording recording = NULL;
    EXPECT_OK(vxlaCreateRecording(executable, &info, &recording, &message));
    int allocations = 0;
    for (int frame = 0; frame < 5; ++frame) {
      const float first[5] = {(float)frame, 1, 0, -2, 3};
      const int steps = frame % 2 == 0 ? kStates - 1 : kStates - 3;  // so that uses do not begin where the last did
      memcpy(states.mapped, first, sizeof(first));
      HostBegin(host, commands);
      for (int step = 0; step < steps; ++step) {
        // The barrier before each use is behind the last one's results, too.
        RecordStep(commands, recording, &states, step, step + 1, frame == 4 || step == 1);
      }
      HostBarrier(host, commands, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
      host->EndCommandBuffer(commands);
      HostSubmit(host, commands);
      for (int step = 1; step <= steps; ++step) ExpectState(&states, step, first, step);
      if (frame == 0) allocations = host->allocations;
      if (frame == 1) EXPECT(host->allocations == allocations);
    }
    const VxlaBindings none = {.struct_size = sizeof(none)};
    EXPECT_CODE(vxlaRebind(recording, &none, &message), VXLA_UNSUPPORTED, "cannot be bound again: record it");
    vxlaDestroyRecording(recording);
  }
  VxlaRecordingInfo info = {.struct_size = sizeof(info), .uses = 1025};
  VxlaRecording recording = NULL;
  EXPECT_CODE(vxlaCreateRecording(executable, &info, &recording, &message), VXLA_INVALID_ARGUMENT,
              "uses 1025: a recording has at most 1024");
  // Of a program compiled against a header without uses: one.
  info.struct_size = offsetof(VxlaRecordingInfo, uses);
  EXPECT_OK(vxlaCreateRecording(executable, &info, &recording, &message));
  const float first[5] = {1, 2, 3, 4, 5};
  for (int frame = 0; frame < 2; ++frame) {
    memcpy((char*)states.mapped + frame * kState, first, sizeof(first));
    HostBegin(host, commands);
    RecordStep(commands, recording, &states, frame, frame + 1, 0);
    HostBarrier(host, commands, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    host->EndCommandBuffer(commands);
    HostSubmit(host, commands);
    ExpectState(&states, frame + 1, first, 1);
  }
  vxlaDestroyRecording(recording);
  vxlaDestroyExecutable(executable);
  HostFreeBuffer(host, &states);
  HostFreeBuffer(host, &scratch);
}

// An image goes back and forth: its texels and arrays are the same memory in each use.
static void TestSubstepsOfImages(Host* host, VxlaDevice device) {
  VxlaExecutable executable = Complement(device, "f32", "[3,5,4]", "1");
  VxlaRecordingInfo info = Formats(&kBgra8.format, &kRgba8.format);
  info.uses = 3;
  VxlaRecording recording = NULL;
  EXPECT_OK(vxlaCreateRecording(executable, &info, &recording, &message));
  HostBuffer texels = HostMakeBuffer(host, 1024, VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  const VkImageUsageFlags usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
  HostImage images[4];
  for (int i = 0; i < 4; ++i) images[i] = HostMakeImage(host, kRgba8.format, kWidth, kHeight, 1, usage);
  VkCommandBuffer commands = HostCommands(host, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  for (int i = 0; i < 60; ++i) ((unsigned char*)texels.mapped)[i] = (unsigned char)(4 * i);
  HostBegin(host, commands);
  Upload(host, commands, &texels, &images[0]);
  VxlaImageState state = kCopiedTo;
  for (int i = 0; i < 3; ++i) {
    VxlaImage from = images[i].image, to = images[i + 1].image;
    from.before = state, from.after = kCopiedFrom;
    to.before = kNothing, to.after = state = kCopiedFrom;
    const VxlaImage *argument = &from, *result = &to;
    const VxlaBindings bindings = {.struct_size = sizeof(bindings),
                                   .argument_count = 1,
                                   .result_count = 1,
                                   .argument_images = &argument,
                                   .result_images = &result};
    EXPECT_OK(vxlaCmdExecute(commands, recording, &bindings, &message));
  }
  Download(host, commands, &images[3], &texels);
  host->EndCommandBuffer(commands);
  HostSubmit(host, commands);
  for (int i = 0; i < 60; ++i) {
    const int channel = i % 4, read = channel < 3 ? i - channel + 2 - channel : i;  // exchanged three times
    EXPECT(((unsigned char*)texels.mapped)[i] == 255 - 4 * read);
  }
  vxlaDestroyRecording(recording);
  vxlaDestroyExecutable(executable);
  for (int i = 0; i < 4; ++i) HostFreeImage(host, &images[i]);
  HostFreeBuffer(host, &texels);
}

// An older instance is asked for nothing that it does not have: the layer would say so.
static void TestOldInstance(uint32_t api_version, const char* says) {
  static Host host;
  if (!HostOpenInstance(&host, api_version)) return;
  VxlaRequirements asked = {.struct_size = sizeof(asked)};
  EXPECT_CODE(vxlaQueryRequirements(host.get, host.instance, host.physical, api_version, &asked, &message),
              VXLA_UNSUPPORTED, says);
  const VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
  VxlaAdoptInfo info = HostAdoptInfo(&host, api_version, NULL);
  info.device = (VkDevice)(void*)&host;  // nothing gets so far
  info.queue = (VkQueue)(void*)&host;
  info.features = &features;
  VxlaDevice device = NULL;
  EXPECT_CODE(vxlaAdoptDevice(&info, &device, &message), VXLA_UNSUPPORTED, says);
  HostClose(&host);
}

// Of a device made with VXLA_DEVICE_CHECK_HANDLES: it, and what was made with it.
static void TestDestroyedTwice(Host* host) {
  HostMakeDevice(host, NULL);
  VxlaAdoptInfo adopt = HostAdoptInfo(host, VK_API_VERSION_1_2, NULL);
  VxlaDevice devices[2] = {NULL, NULL};
  for (int i = 0; i < 2; ++i) EXPECT_OK(vxlaAdoptDevice(&adopt, &devices[i], &message));
  VxlaDevice device = devices[0];
  VxlaExecutable executable = Compile(device, kStep);
  const VxlaRecordingInfo info = {.struct_size = sizeof(info)};
  VxlaRecording recordings[2] = {NULL, NULL};
  for (int i = 0; i < 2; ++i) EXPECT_OK(vxlaCreateRecording(executable, &info, &recordings[i], &message));
  EXPECT_CODE(vxlaDestroyDevice(device, &message), VXLA_BUSY, "3 of its handles are alive: 1 executable, 2 recordings");
  for (int i = 0; i < 2; ++i) vxlaDestroyRecording(recordings[i]);
  EXPECT_CODE(vxlaDestroyDevice(device, &message), VXLA_BUSY, "1 of its handles is alive: 1 executable");
  vxlaDestroyExecutable(executable);
  for (int i = 0; i < 2; ++i) EXPECT_OK(vxlaDestroyDevice(devices[i], &message));
  VxlaCompileInfo compile = {.struct_size = sizeof(compile), .text = kStep};
  VxlaExecutable none = NULL;
  for (int i = 0; i < 2; ++i) {
    EXPECT_CODE(vxlaDestroyDevice(devices[i], &message), VXLA_INVALID_ARGUMENT, "device: the handle was destroyed");
    EXPECT_CODE(vxlaCompile(devices[i], &compile, &none, &message), VXLA_INVALID_ARGUMENT, "was destroyed");
  }
  EXPECT_CODE(vxlaCreateRecording(executable, &info, &recordings[0], &message), VXLA_INVALID_ARGUMENT,
              "executable: the handle was destroyed");
  vxlaDestroyExecutable(executable);
  vxlaDestroyRecording(recordings[1]);
  HostCloseDevice(host);
}

static void TestOn(Host* host, uint32_t api_version, const char* bindings) {
  HostMakeDevice(host, NULL);
  VxlaAdoptInfo info = HostAdoptInfo(host, api_version, bindings);
  VxlaDevice device = NULL;
  EXPECT_OK(vxlaAdoptDevice(&info, &device, &message));
  if (device != NULL) {
    for (size_t i = 0; i < sizeof(kCases) / sizeof(kCases[0]); ++i) TestCase(host, device, &kCases[i]);
    TestInPlace(host, device);
    TestFormats(device);
    TestRefusals(host, device);
    TestTwoResultsInOneImage(host, device);
    TestSubsteps(host, device);
    TestSubstepsOfImages(host, device);
    EXPECT_OK(vxlaDestroyDevice(device, &message));
  }
  HostCloseDevice(host);
}

int main(void) {
  static Host host;
  if (!HostOpen(&host, VK_API_VERSION_1_2)) return 1;
  TestOn(&host, VK_API_VERSION_1_2, "addresses");
  TestOn(&host, VK_API_VERSION_1_2, "descriptors");
  TestDestroyedTwice(&host);
  // With sets from pools.
  uint32_t kept = 0;
  for (uint32_t i = 0; i < host.asked.extension_count; ++i) {
    if (strcmp(host.asked.extensions[i], VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME) != 0)
      host.asked.extensions[kept++] = host.asked.extensions[i];
  }
  if (kept != host.asked.extension_count) {  // SwiftShader pushes none
    host.asked.extension_count = kept;
    TestOn(&host, VK_API_VERSION_1_2, "descriptors");
  }
  HostClose(&host);
  TestOldInstance(VK_API_VERSION_1_1, "the host's instance: Vulkan 1.1 is older than 1.2");
  TestOldInstance(VK_API_VERSION_1_0, "the host's instance: Vulkan 1.0 is older than 1.2");
  return failures != 0;
}
