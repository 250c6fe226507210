// Runs bundles with arguments of a fixed pattern on the device that a part of a name chooses, and prints a hash of each
// result's bytes: two systems, drivers or builds that print the same have the same bits.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <vxla/vxla.h>

static int Fails(VxlaCode code, const char* what, VxlaMessage message) {
  if (code == VXLA_OK) return 0;
  fprintf(stderr, "%s: code %d: %s\n", what, (int)code, vxlaMessageText(message));
  return 1;
}

// Floats between -2 and 2 by a linear congruence; the bytes of other types from 0 to 7.
static void Fill(void* data, const VxlaArray* array, uint32_t seed) {
  uint32_t state = seed * 2654435761u + 1;
  if (array->element_type == VXLA_F32) {
    float* elements = data;
    for (uint64_t i = 0; i < array->size_bytes / sizeof(float); ++i) {
      state = state * 1664525u + 1013904223u;
      elements[i] = (float)(int32_t)(state >> 8) / 4194304.0f - 2.0f;
    }
    return;
  }
  for (uint64_t i = 0; i < array->size_bytes; ++i) {
    state = state * 1664525u + 1013904223u;
    ((unsigned char*)data)[i] = (unsigned char)(state >> 29);
  }
}

static uint64_t HashOf(const void* data, uint64_t size) {  // FNV-1a
  uint64_t hash = 14695981039346656037u;
  for (uint64_t i = 0; i < size; ++i) hash = (hash ^ ((const unsigned char*)data)[i]) * 1099511628211u;
  return hash;
}

enum { kMost = 16 };

static int RunBundle(VxlaDevice device, const char* path) {
  static char file_bytes[1 << 22];
  VxlaMessage message = NULL;
  FILE* file = fopen(path, "rb");
  if (file == NULL) return fprintf(stderr, "%s: cannot be read\n", path), 1;
  VxlaBundleInfo info = {.struct_size = sizeof(info), .data = file_bytes};
  info.size_bytes = fread(file_bytes, 1, sizeof(file_bytes), file);
  fclose(file);
  VxlaExecutable executable = NULL;
  if (Fails(vxlaLoadBundle(device, &info, &executable, &message), path, message)) return 1;
  VxlaExecutableDescription about = {.struct_size = sizeof(about)};
  if (Fails(vxlaDescribeExecutable(executable, &about, &message), path, message)) return 1;
  if (about.argument_count > kMost || about.result_count > kMost) return fprintf(stderr, "%s: too many arrays\n", path), 1;
  VxlaConstBytes arguments[kMost];
  VxlaBytes results[kMost];
  for (uint32_t i = 0; i < about.argument_count; ++i) {
    VxlaArray array = {.struct_size = sizeof(array)};
    if (Fails(vxlaDescribeArgument(executable, i, &array, &message), path, message)) return 1;
    void* data = calloc(1, array.size_bytes + 1);
    Fill(data, &array, i + 1);
    arguments[i] = (VxlaConstBytes){data, array.size_bytes};
  }
  for (uint32_t i = 0; i < about.result_count; ++i) {
    VxlaArray array = {.struct_size = sizeof(array)};
    if (Fails(vxlaDescribeResult(executable, i, &array, &message), path, message)) return 1;
    results[i] = (VxlaBytes){calloc(1, array.size_bytes + 1), array.size_bytes};
  }
  if (Fails(vxlaRun(executable, about.argument_count, arguments, about.result_count, results, &message), path, message))
    return 1;
  const char* name = path;
  for (const char* at = path; *at != 0; ++at) name = *at == '/' || *at == '\\' ? at + 1 : name;
  for (uint32_t i = 0; i < about.result_count; ++i)
    printf("%s result_%u %016" PRIx64 "\n", name, (unsigned)i, HashOf(results[i].data, results[i].size_bytes));
  for (uint32_t i = 0; i < about.argument_count; ++i) free((void*)arguments[i].data);
  for (uint32_t i = 0; i < about.result_count; ++i) free(results[i].data);
  vxlaDestroyExecutable(executable);
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 3) return fprintf(stderr, "a part of a device's name and bundles are wanted\n"), 2;
  VxlaMessage message = NULL;
  VxlaDevice device = NULL;
  const VxlaDeviceInfo info = {.struct_size = sizeof(info), .flags = VXLA_DEVICE_NO_CACHE, .device = argv[1]};
  if (Fails(vxlaCreateDevice(&info, &device, &message), argv[1], message)) return 1;
  int failed = 0;
  for (int i = 2; i < argc; ++i) failed |= RunBundle(device, argv[i]);
  vxlaDestroyDevice(device, &message);
  return failed;
}
