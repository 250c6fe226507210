// Images as arguments and results of programs that are recorded into the host's command buffers, and recordings that
// are several times in one.
#include <math.h>

#include "tests/c_api/vulkan_host.h"

enum { kHeight = 3, kWidth = 5, kMostTexels = 2 * kHeight * kWidth };

// ---- texels in plain C: what the images hold ----

// What a channel's number stands for.
enum { kUnorm, kSrgb, kSnorm, kFloat, kInteger, kSigned };

typedef struct Format {
  VkFormat format;
  int channels, bytes;  // bytes: of a channel, or of the word that holds them all
  int numbers, bgr;
  int bits[4];  // of channels in a word, from the lowest one on; 0: a channel is a word
  VkImageAspectFlags aspects;
} Format;

#define COLOUR(NAME, FORMAT, CHANNELS, BYTES, NUMBERS, BGR) \
  static const Format NAME = {VK_FORMAT_##FORMAT, CHANNELS, BYTES, NUMBERS, BGR, {0}, VK_IMAGE_ASPECT_COLOR_BIT}
COLOUR(kR8, R8_UNORM, 1, 1, kUnorm, 0);
COLOUR(kRg8, R8G8_UNORM, 2, 1, kUnorm, 0);
COLOUR(kRgba8, R8G8B8A8_UNORM, 4, 1, kUnorm, 0);
COLOUR(kBgra8, B8G8R8A8_UNORM, 4, 1, kUnorm, 1);
COLOUR(kSrgb8, R8G8B8A8_SRGB, 4, 1, kSrgb, 0);
COLOUR(kBgrSrgb, B8G8R8A8_SRGB, 4, 1, kSrgb, 1);
COLOUR(kR16, R16_UNORM, 1, 2, kUnorm, 0);
COLOUR(kRgba16, R16G16B16A16_UNORM, 4, 2, kUnorm, 0);
COLOUR(kR16f, R16_SFLOAT, 1, 2, kFloat, 0);
COLOUR(kRgba16f, R16G16B16A16_SFLOAT, 4, 2, kFloat, 0);
COLOUR(kRg32f, R32G32_SFLOAT, 2, 4, kFloat, 0);
COLOUR(kRgba32f, R32G32B32A32_SFLOAT, 4, 4, kFloat, 0);
COLOUR(kR32f, R32_SFLOAT, 1, 4, kFloat, 0);
COLOUR(kRgbaSnorm8, R8G8B8A8_SNORM, 4, 1, kSnorm, 0);
COLOUR(kRgSnorm16, R16G16_SNORM, 2, 2, kSnorm, 0);
COLOUR(kR8u, R8_UINT, 1, 1, kInteger, 0);
COLOUR(kRg16i, R16G16_SINT, 2, 2, kSigned, 0);
COLOUR(kR32u, R32_UINT, 1, 4, kInteger, 0);
COLOUR(kRgba32i, R32G32B32A32_SINT, 4, 4, kSigned, 0);
#undef COLOUR
#define WORD(NAME, FORMAT, CHANNELS, BYTES, NUMBERS, BGR, ASPECTS, ...) \
  static const Format NAME = {VK_FORMAT_##FORMAT, CHANNELS, BYTES, NUMBERS, BGR, __VA_ARGS__, ASPECTS}
WORD(kA2b10, A2B10G10R10_UNORM_PACK32, 4, 4, kUnorm, 0, VK_IMAGE_ASPECT_COLOR_BIT, {10, 10, 10, 2});
WORD(kA2r10, A2R10G10B10_UNORM_PACK32, 4, 4, kUnorm, 1, VK_IMAGE_ASPECT_COLOR_BIT, {10, 10, 10, 2});
WORD(kB10g11, B10G11R11_UFLOAT_PACK32, 3, 4, kFloat, 0, VK_IMAGE_ASPECT_COLOR_BIT, {11, 11, 10});
WORD(kD16, D16_UNORM, 1, 2, kUnorm, 0, VK_IMAGE_ASPECT_DEPTH_BIT, {0});
WORD(kD32, D32_SFLOAT, 1, 4, kFloat, 0, VK_IMAGE_ASPECT_DEPTH_BIT, {0});
WORD(kD24, X8_D24_UNORM_PACK32, 1, 4, kUnorm, 0, VK_IMAGE_ASPECT_DEPTH_BIT, {24});
WORD(kD24s8, D24_UNORM_S8_UINT, 1, 4, kUnorm, 0, VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT, {24});
WORD(kD32s8, D32_SFLOAT_S8_UINT, 1, 4, kFloat, 0, VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT, {0});
#undef WORD

// Normal numbers.
static double FromHalf(uint16_t bits) {
  if ((bits & 0x7fff) == 0) return 0;
  return ldexp(1024 + (bits & 0x3ff), (bits >> 10 & 31) - 25) * ((bits & 0x8000) != 0 ? -1 : 1);
}

// Floats of 11 and 10 bits.
static double FromSmall(uint32_t bits, int mantissa) {
  const uint32_t fraction = bits & ((1u << mantissa) - 1), exponent = bits >> mantissa;
  if (exponent == 31) return fraction != 0 ? NAN : INFINITY;
  if (exponent == 0) return ldexp(fraction, -14 - mantissa);
  return ldexp((1u << mantissa) + fraction, (int)exponent - 15 - mantissa);
}

static int IsDepth(const Format* format) { return (format->aspects & VK_IMAGE_ASPECT_DEPTH_BIT) != 0; }
static int IsPacked(const Format* format) { return format->bits[0] != 0; }
static int TexelBytes(const Format* format) { return format->bytes * (IsPacked(format) ? 1 : format->channels); }

static uint32_t Number(const Format* format, const unsigned char* texels, int texel, int channel) {
  if (format->bgr && channel < 3) channel = 2 - channel;
  uint32_t number = 0;
  const unsigned char* at = texels + texel * TexelBytes(format) + (IsPacked(format) ? 0 : channel * format->bytes);
  memcpy(&number, at, (size_t)format->bytes);
  if (!IsPacked(format)) return number;
  for (int c = 0; c < channel; ++c) number >>= format->bits[c];
  return number & ((1u << format->bits[channel]) - 1);
}

// The number as that of so many bytes with a sign.
static int32_t Signed(uint32_t number, int bytes) {
  return bytes == 1 ? (int8_t)number : bytes == 2 ? (int16_t)number : (int32_t)number;
}

static double Most(const Format* format, int channel) {
  if (format->bgr && channel < 3) channel = 2 - channel;
  const int bits = IsPacked(format) ? format->bits[channel] : 8 * format->bytes;
  return ldexp(1, format->numbers == kSnorm ? bits - 1 : bits) - 1;
}

static double Value(const Format* format, const unsigned char* texels, int texel, int channel) {
  const uint32_t number = Number(format, texels, texel, channel);
  switch (format->numbers) {
    case kInteger:
      return number;
    case kSigned:
      return Signed(number, format->bytes);
    case kFloat: {
      if (IsPacked(format)) return FromSmall(number, format->bits[channel] - 5);
      float single;
      memcpy(&single, &number, sizeof(single));
      return format->bytes == 2 ? FromHalf((uint16_t)number) : (double)single;
    }
    case kSnorm: {
      const double x = Signed(number, format->bytes) / Most(format, channel);
      return x < -1 ? -1 : x;
    }
  }
  const double x = number / Most(format, channel);
  if (format->numbers != kSrgb || channel == 3) return x;
  return x <= 0.04045 ? x / 12.92 : pow((x + 0.055) / 1.055, 2.4);
}

// The texel's number that a value is written as, before rounding.
static double Written(const Format* format, double value, int channel) {
  const double least = format->numbers == kSnorm ? -1 : 0;
  value = isnan(value) ? 0 : value < least ? least : value > 1 ? 1 : value;
  if (format->numbers == kSrgb && channel < 3)
    value = value <= 0.0031308 ? value * 12.92 : 1.055 * pow(value, 1 / 2.4) - 0.055;
  return value * Most(format, channel);
}

// ---- images ----

static VkBufferImageCopy Whole(const HostImage* image, VkImageAspectFlags aspect) {
  if (image->type == VK_IMAGE_TYPE_3D) {
    return (VkBufferImageCopy){.imageSubresource = {aspect, 1, 0, 1},
                               .imageOffset = {0, 0, 1},
                               .imageExtent = {kWidth, kHeight, image->layers}};
  }
  return (VkBufferImageCopy){.imageSubresource = {aspect, 1, 1, image->layers}, .imageExtent = {kWidth, kHeight, 1}};
}

// Of what stands in an image besides its colours: stencil, behind the texels in the buffer.
enum { kStencilOffset = 512 };
static uint32_t Regions(const HostImage* image, VkImageAspectFlags aspects, VkBufferImageCopy* regions) {
  const int depth = (aspects & VK_IMAGE_ASPECT_DEPTH_BIT) != 0, stencil = (aspects & VK_IMAGE_ASPECT_STENCIL_BIT) != 0;
  regions[0] = Whole(image, depth ? VK_IMAGE_ASPECT_DEPTH_BIT : VK_IMAGE_ASPECT_COLOR_BIT);
  regions[1] = Whole(image, VK_IMAGE_ASPECT_STENCIL_BIT);
  regions[1].bufferOffset = kStencilOffset;
  return stencil ? 2 : 1;
}

static const VxlaImageState kCopiedTo = {VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_PIPELINE_STAGE_2_COPY_BIT,
                                         VK_ACCESS_2_TRANSFER_WRITE_BIT};
static const VxlaImageState kCopiedFrom = {VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, VK_PIPELINE_STAGE_2_COPY_BIT,
                                           VK_ACCESS_2_TRANSFER_READ_BIT};
static const VxlaImageState kNothing = {VK_IMAGE_LAYOUT_UNDEFINED, 0, 0};

// From the buffer into the image, for vxla to go on with.
static void Upload(Host* host, VkCommandBuffer commands, const HostBuffer* from, HostImage* to,
                   VkImageAspectFlags aspects) {
  VkImageMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                  .dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                  .newLayout = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                                  .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                  .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                  .image = to->image.image,
                                  .subresourceRange = {aspects, 1, 1, to->type == VK_IMAGE_TYPE_3D ? 0 : 1,
                                                       to->type == VK_IMAGE_TYPE_3D ? 1 : to->layers}};
  host->CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, NULL, 0,
                           NULL, 1, &barrier);
  VkBufferImageCopy regions[2];
  const uint32_t count = Regions(to, aspects, regions);
  host->CmdCopyBufferToImage(commands, from->buffer, to->image.image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, count,
                             regions);
}

static void Download(Host* host, VkCommandBuffer commands, const HostImage* from, const HostBuffer* to,
                     VkImageAspectFlags aspects) {
  VkBufferImageCopy regions[2];
  const uint32_t count = Regions(from, aspects, regions);
  host->CmdCopyImageToBuffer(commands, from->image.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, to->buffer, count,
                             regions);
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
  int off_by;                 // the texel's numbers may be
  VkImageType type_of_image;  // 0: 2D
} Case;

static const Case kCases[] = {
    {&kRgba8, &kRgba8, "f32", "[3,5,4]", 1, 0, 0},
    {&kR8, &kR8, "f32", "[3,5]", 1, 0, 0},
    {&kRg8, &kRg8, "f16", "[3,5,2]", 1, 0, 0},
    {&kBgra8, &kRgba8, "f32", "[3,5,4]", 1, 0, 0},
    {&kRgba8, &kBgra8, "f32", "[3,5,3]", 1, 0, 0},
    {&kSrgb8, &kRgba32f, "f32", "[3,5,4]", 1, 0, 0},
    {&kSrgb8, &kRgba16, "f32", "[3,5,4]", 1, 1, 0},
    {&kRgba16, &kBgrSrgb, "f32", "[3,5,4]", 1, 1, 0},
    {&kRgba16, &kRgba16, "f32", "[2,3,5,4]", 2, 0, 0},
    {&kR16, &kR16f, "f32", "[3,5,1]", 1, 0, 0},
    {&kRgba16f, &kRgba16f, "f16", "[3,5,4]", 1, 0, 0},
    {&kRgba16f, &kRgba8, "bf16", "[3,5,4]", 1, 1, 0},
    {&kRg32f, &kRg32f, "f32", "[3,5,2]", 1, 0, 0},
    {&kRgba32f, &kRgba8, "f32", "[3,5,4]", 1, 0, 0},
    {&kRgba8, &kRgba8, "f64", "[1,3,5,4]", 1, 0, 0},
    {&kRgba8, &kBgra8, "u8", "[3,5,4]", 1, 0, 0},
    {&kBgra8, &kRgba8, "u8", "[3,5,3]", 1, 0, 0},
    {&kR8, &kR8, "u8", "[3,5]", 1, 0, 0},
    {&kR16, &kR16, "u16", "[3,5]", 1, 0, 0},
    {&kBgra8, &kBgra8, "u8", "[3,5,4]", 1, 0, 0},
    {&kBgrSrgb, &kRgba8, "u8", "[3,5,4]", 1, 0, 0},
    {&kRgbaSnorm8, &kRgbaSnorm8, "f32", "[3,5,3]", 1, 0, 0},
    {&kRgSnorm16, &kRgSnorm16, "f32", "[3,5,2]", 1, 0, 0},
    {&kRgbaSnorm8, &kRgbaSnorm8, "s8", "[3,5,4]", 1, 0, 0},
    {&kR8u, &kR8u, "u8", "[3,5]", 1, 0, 0},
    {&kRg16i, &kRg16i, "s16", "[3,5,2]", 1, 0, 0},
    {&kR32u, &kR32u, "u32", "[3,5]", 1, 0, 0},
    {&kRgba32i, &kRgba32i, "s32", "[3,5,3]", 1, 0, 0},
    {&kA2b10, &kA2r10, "f32", "[3,5,4]", 1, 0, 0},
    {&kA2r10, &kRgba8, "f32", "[3,5,3]", 1, 0, 0},
    {&kRgba8, &kA2b10, "f32", "[3,5,3]", 1, 0, 0},
    {&kB10g11, &kB10g11, "f32", "[3,5,3]", 1, 0, 0},
    {&kD16, &kD16, "f32", "[3,5]", 1, 0, 0},
    {&kD16, &kD16, "u16", "[3,5]", 1, 0, 0},
    {&kD32, &kD32, "f32", "[3,5]", 1, 0, 0},
    {&kD24, &kD24, "f32", "[3,5,1]", 1, 1, 0},
    {&kD24s8, &kR32f, "f32", "[3,5]", 1, 0, 0},
    {&kD32s8, &kD24s8, "f32", "[3,5]", 1, 1, 0},
    {&kRgba8, &kRgba8, "f32", "[2,3,5,4]", 2, 0, VK_IMAGE_TYPE_3D},
    {&kR8u, &kR8u, "u8", "[2,3,5,1]", 2, 0, VK_IMAGE_TYPE_3D},
};

static int Supports(Host* host, const Format* format) {
  VkFormatProperties properties;
  host->GetPhysicalDeviceFormatProperties(host->physical, format->format, &properties);
  const VkFormatFeatureFlags wanted = VK_FORMAT_FEATURE_TRANSFER_SRC_BIT | VK_FORMAT_FEATURE_TRANSFER_DST_BIT;
  if ((properties.optimalTilingFeatures & wanted) == wanted) return 1;
  printf("not tested: the driver has no images of VkFormat %d\n", (int)format->format);
  return 0;
}

// Numbers that are well spread; floats that are exact in f16, the first ones beyond 0 to 1 and one NaN. Depth lies from
// 0 to 1.
static void FillTexels(const Format* format, unsigned char* texels, int count) {
  const int values = count * TexelBytes(format) / format->bytes;
  for (int i = 0; i < values; ++i) {
    uint32_t word = (uint32_t)i * (format->bytes == 1 ? 37u : format->bytes == 2 ? 7919u : 0x9e3779b1u);
    const int beyond = !IsDepth(format);
    if (format->numbers == kFloat && format->bytes == 2) {
      word = (uint32_t)(i == 0 && beyond ? 0xbc00 : i == 1 && beyond ? 0x4000 : 0x3400 + 16 * (i % 60));
    } else if (format->numbers == kFloat && !IsPacked(format)) {
      const float single = !beyond || i > 2 ? (float)i / 128 : i == 0 ? -1.0f : i == 1 ? 2.0f : NAN;
      memcpy(&word, &single, 4);
    } else if (format->numbers == kFloat && i % 2 == 0) {
      word &= 0x1c071c3;  // small ones, denormal ones too
    }
    memcpy(texels + i * format->bytes, &word, (size_t)format->bytes);
  }
}

static void ExpectTexel(const Case* tried, const unsigned char* in, const unsigned char* out, int texel, int channel) {
  const Format *from = tried->in, *to = tried->out;
  const int three = strstr(tried->dimensions, ",3]") != NULL && to->channels == 4;
  const int integers = tried->type[0] == 'u' || tried->type[0] == 's';
  const double most = strcmp(tried->type, "u8") == 0    ? 255
                      : strcmp(tried->type, "u16") == 0 ? 65535
                      : strcmp(tried->type, "s8") == 0  ? 127
                                                        : 1;
  const uint32_t number = Number(from, in, texel, channel), written = Number(to, out, texel, channel);
  const int lacks = three && channel == 3;
  double got, wanted, off_by = tried->off_by;
  if (integers) {  // as they are, around the type's end
    const uint32_t one = to->numbers == kInteger || to->numbers == kSigned ? 1 : (uint32_t)Most(to, channel);
    const uint32_t mask = to->bytes == 4 ? ~0u : (1u << 8 * to->bytes) - 1;
    got = written, wanted = lacks ? one : ((uint32_t)most - number) & mask, off_by = 0;
  } else {
    const double value = lacks ? 1 : most - Value(from, in, texel, channel);
    if (to->numbers != kFloat) {
      got = to->numbers == kSnorm ? Signed(written, to->bytes) : (double)written;
      wanted = Written(to, value, channel);
      off_by += 0.5 + 1e-3;
    } else {
      got = Value(to, out, texel, channel);
      wanted = IsDepth(to) && !(value > 0) ? 0 : IsDepth(to) && value > 1 ? 1 : value;
      off_by = to->bytes == 2 ? 0x1p-11 * fabs(wanted) : 2e-7;
      if (IsPacked(to)) {
        const int mantissa = to->bits[channel] - 5;
        const double largest = ldexp(2 - ldexp(1, -mantissa), 15);
        wanted = value < 0 ? 0 : value > largest && !isinf(value) ? largest : value;
        off_by = fmax(ldexp(wanted, -mantissa - 1), ldexp(1, -15 - mantissa)) * (1 + 1e-6);
        if (isinf(wanted) && got == wanted) return;
      }
    }
    if (to->numbers == kFloat && isnan(wanted) && isnan(got)) return;
  }
  if (fabs(got - wanted) <= off_by) return;
  ++failures;
  fprintf(stderr, "VkFormat %d to %d over %s%s: texel %d channel %d is %g, expected %g\n", (int)from->format,
          (int)to->format, tried->type, tried->dimensions, texel, channel, got, wanted);
}

static void TestCase(Host* host, VxlaDevice device, const Case* tried) {
  const int count = (int)tried->layers * kHeight * kWidth;
  const char* most = strcmp(tried->type, "u8") == 0    ? "255"
                     : strcmp(tried->type, "u16") == 0 ? "65535"
                     : strcmp(tried->type, "s8") == 0  ? "127"
                                                       : "1";
  if (!Supports(host, tried->in) || !Supports(host, tried->out)) return;
  VxlaExecutable executable = Complement(device, tried->type, tried->dimensions, most);
  VxlaRecordingInfo info = Formats(&tried->in->format, &tried->out->format);
  const VkImageType type = tried->type_of_image != 0 ? tried->type_of_image : VK_IMAGE_TYPE_2D;
  info.argument_types = info.result_types = &type;
  VxlaRecording recording = NULL;
  EXPECT_OK(vxlaCreateRecording(executable, &info, &recording, &message));
  HostBuffer from = HostMakeBuffer(host, 1024, VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
  HostBuffer to = HostMakeBuffer(host, 1024, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  const VkImageUsageFlags usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
  HostImage in = HostMakeImageOf(host, type, tried->in->format, kWidth, kHeight, tried->layers, usage);
  HostImage out = HostMakeImageOf(host, type, tried->out->format, kWidth, kHeight, tried->layers, usage);
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
    Upload(host, commands, &from, &in, tried->in->aspects);
    if (frame < 2) {
      EXPECT_OK(vxlaCmdExecute(commands, recording, &bindings, &message));
    } else {
      for (int32_t finished = 0; !finished && failures == 0;)
        EXPECT_OK(vxlaCmdExecutePart(commands, recording, &bindings, 0, &finished, &message));
    }
    Download(host, commands, &out, &to, tried->out->aspects);
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
  Upload(host, commands, &texels, &image, VK_IMAGE_ASPECT_COLOR_BIT);
  EXPECT_OK(vxlaCmdExecute(commands, recording, &bindings, &message));
  Download(host, commands, &image, &texels, VK_IMAGE_ASPECT_COLOR_BIT);
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
      {"f32", "[3,5,4]", VK_FORMAT_S8_UINT, "argument 0: VkFormat 127 is none that an array can have"},
      {"f32", "[3,5]", VK_FORMAT_R32_UINT, "argument 0: f32[3,5] cannot hold texels of VkFormat 98: u32"},
      {"u32", "[3,5,4]", VK_FORMAT_A2B10G10R10_UNORM_PACK32,
       "cannot hold texels of VkFormat 64: a floating-point type"},
      {"f32", "[3,5,4]", VK_FORMAT_B10G11R11_UFLOAT_PACK32, "f32[3,5,4] has 4 channels, VkFormat 122 has 3"},
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
  const VkImageType line = VK_IMAGE_TYPE_1D;
  info.result_types = &line;
  EXPECT_CODE(vxlaCreateRecording(executable, &info, &buffers, &message), VXLA_INVALID_ARGUMENT,
              "result 0: VkImageType 0 is neither 2D nor 3D");
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
  Upload(host, commands, &texels, &images[0], VK_IMAGE_ASPECT_COLOR_BIT);
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
  Download(host, commands, &images[3], &texels, VK_IMAGE_ASPECT_COLOR_BIT);
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

// A program compiled against a header without f8 gets a chain within its struct.
static void TestRequirementsOfAnOlderHeader(const Host* host) {
  VxlaRequirements asked, filled;
  memset(&asked, 0x5a, sizeof(asked));
  filled = asked;
  asked.struct_size = (uint32_t)offsetof(VxlaRequirements, float8);
  EXPECT_OK(vxlaQueryRequirements(host->get, host->instance, host->physical, VK_API_VERSION_1_2, &asked, &message));
  EXPECT(memcmp(&asked.float8, &filled.float8, sizeof(asked.float8)) == 0);
  for (const VkBaseInStructure* in = (const VkBaseInStructure*)&asked.features; in != NULL; in = in->pNext)
    EXPECT((const char*)in < (const char*)&asked.float8);
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
  TestRequirementsOfAnOlderHeader(&host);
  TestOn(&host, VK_API_VERSION_1_2, "addresses");
  TestOn(&host, VK_API_VERSION_1_2, "descriptors");
  TestDestroyedTwice(&host);
  // With sets from pools, and the barriers of Vulkan 1.0.
  host.asked.synchronization2.synchronization2 = VK_FALSE;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < host.asked.extension_count; ++i) {
    if (strcmp(host.asked.extensions[i], VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME) != 0)
      host.asked.extensions[kept++] = host.asked.extensions[i];
  }
  host.asked.extension_count = kept;
  TestOn(&host, VK_API_VERSION_1_2, "descriptors");
  HostClose(&host);
  TestOldInstance(VK_API_VERSION_1_0, "the host's instance: Vulkan 1.0 is older than 1.1");
  return failures != 0;
}
