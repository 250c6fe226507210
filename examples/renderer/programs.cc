#include "programs.h"

#include "picture.h"

namespace {

VxlaExecutable Compile(VxlaDevice device, const std::string& text, uint32_t flags) {
  VxlaCompileInfo info = {};
  info.struct_size = sizeof(info);
  info.flags = flags;
  info.text = text.data();
  info.text_size = text.size();
  VxlaExecutable executable = nullptr;
  VxlaMessage message = nullptr;
  Check(vxlaCompile(device, &info, &executable, &message), message, "vxlaCompile");
  return executable;
}

void DestroyDevice(VxlaDevice device) {
  VxlaMessage message = nullptr;
  vxlaDestroyDevice(device, &message);
  vxlaFreeMessage(message);
}

VxlaImage Bound(const Image& image, const VxlaImageState& before, const VxlaImageState& after) {
  VxlaImage bound = {};
  bound.image = image.image;
  bound.usage = image.usage;
  bound.width = bound.height = image.size;
  bound.before = before;
  bound.after = after;
  return bound;
}

}  // namespace

AdoptedPrograms::AdoptedPrograms(const Gpu& gpu, const ProgramTexts& texts, const Image& state, const Image& drawn,
                                 const Image& shown) {
  VxlaAdoptInfo info = {};
  info.struct_size = sizeof(info);
  info.api_version = gpu.api_version;
  info.queue_family = gpu.family;
  info.get_instance_proc_addr = vkGetInstanceProcAddr;
  info.instance = gpu.instance;
  info.physical_device = gpu.physical;
  info.device = gpu.device;
  info.queue = gpu.queue;  // one thread: nobody else uses it while vxla submits, so there is no lock
  info.features = &gpu.asked.features;
  info.extensions = gpu.extensions.data();
  info.extension_count = static_cast<uint32_t>(gpu.extensions.size());
  VxlaMessage message = nullptr;
  Check(vxlaAdoptDevice(&info, &device_, &message), message, "vxlaAdoptDevice");
  // The simulation reads and writes one image, which the pass samples in between.
  react_ =
      Make(texts.react, Bound(state, kSampled, kCopied), state.format, Bound(state, kCopied, kSampled), state.format);
  denoise_ =
      Make(texts.denoise, Bound(drawn, kDrawn, kDrawn), drawn.format, Bound(shown, kUnused, kCopied), shown.format);
}

AdoptedPrograms::~AdoptedPrograms() {
  Destroy(react_);
  Destroy(denoise_);
  DestroyDevice(device_);
}

AdoptedPrograms::Program AdoptedPrograms::Make(const std::string& text, const VxlaImage& in, VkFormat in_format,
                                               const VxlaImage& out, VkFormat out_format) {
  Program made;
  made.in = in;
  made.out = out;
  made.executable = Compile(device_, text, VXLA_COMPILE_RECORDABLE | VXLA_COMPILE_REQUIRE_GPU);
  VxlaRecordingInfo info = {};
  info.struct_size = sizeof(info);
  info.argument_count = info.result_count = 1;
  info.argument_formats = &in_format;
  info.result_formats = &out_format;
  VxlaMessage message = nullptr;
  for (VxlaRecording& recording : made.recordings)
    Check(vxlaCreateRecording(made.executable, &info, &recording, &message), message, "vxlaCreateRecording");
  return made;
}

void AdoptedPrograms::Execute(VkCommandBuffer commands, Program& program, int slot) {
  const VxlaImage *in = &program.in, *out = &program.out;
  VxlaBindings bindings = {};
  bindings.struct_size = sizeof(bindings);
  bindings.argument_count = bindings.result_count = 1;
  bindings.argument_images = &in;
  bindings.result_images = &out;
  VxlaMessage message = nullptr;
  Check(vxlaCmdExecute(commands, program.recordings[slot], &bindings, &message), message, "vxlaCmdExecute");
}

void AdoptedPrograms::Destroy(Program& program) {
  for (VxlaRecording recording : program.recordings) vxlaDestroyRecording(recording);
  vxlaDestroyExecutable(program.executable);
}

void AdoptedPrograms::React(VkCommandBuffer commands, int slot) { Execute(commands, react_, slot); }
void AdoptedPrograms::Denoise(VkCommandBuffer commands, int slot) { Execute(commands, denoise_, slot); }

namespace {

VxlaValue CreateValue(VxlaDevice device, std::vector<int64_t> dimensions, const float* data) {
  VxlaArray array = {};
  array.struct_size = sizeof(array);
  array.element_type = VXLA_F32;
  array.rank = static_cast<int32_t>(dimensions.size());
  array.dimensions = dimensions.data();
  VxlaValue value = nullptr;
  VxlaMessage message = nullptr;
  Check(vxlaCreateValue(device, &array, data, &value, &message), message, "vxlaCreateValue");
  return value;
}

void Read(VxlaValue value, void* data, uint64_t size_bytes) {
  VxlaMessage message = nullptr;
  Check(vxlaReadValue(value, data, size_bytes, &message), message, "vxlaReadValue");
}

}  // namespace

ApartPrograms::ApartPrograms(const std::string& device, const ProgramTexts& texts, uint32_t points,
                             const std::vector<float>& state)
    : points_(points), picture_(size_t{16} * points * points) {
  VxlaDeviceInfo info = {};
  info.struct_size = sizeof(info);
  info.device = device.c_str();
  VxlaMessage message = nullptr;
  Check(vxlaCreateDevice(&info, &device_, &message), message, "vxlaCreateDevice");
  react_ = Compile(device_, texts.react, VXLA_COMPILE_REQUIRE_GPU);
  denoise_ = Compile(device_, texts.denoise, VXLA_COMPILE_REQUIRE_GPU);
  state_ = CreateValue(device_, {points, points, 2}, state.data());
}

ApartPrograms::~ApartPrograms() {
  vxlaDestroyValue(state_);
  vxlaDestroyExecutable(react_);
  vxlaDestroyExecutable(denoise_);
  DestroyDevice(device_);
}

VxlaValue ApartPrograms::Execute(VxlaExecutable executable, VxlaValue argument) {
  VxlaValue result = nullptr;
  VxlaExecuteInfo info = {};
  info.struct_size = sizeof(info);
  info.argument_count = info.result_count = 1;
  info.arguments = &argument;
  info.results = &result;
  VxlaMessage message = nullptr;
  Check(vxlaExecute(executable, &info, &message), message, "vxlaExecute");
  vxlaDestroyValue(argument);
  return result;
}

void ApartPrograms::React(void* state) {
  state_ = Execute(react_, state_);
  const uint64_t size_bytes = uint64_t{8} * points_ * points_;
  Read(state_, state, size_bytes);
  bytes_copied_ += 2 * size_bytes;  // from vxla's device, and to the renderer's
}

void ApartPrograms::Denoise(const uint16_t* drawn, std::vector<float>& shown) {
  for (size_t i = 0; i < picture_.size(); ++i) picture_[i] = FromHalf(drawn[i]);
  VxlaValue result = Execute(denoise_, CreateValue(device_, {2 * points_, 2 * points_, 4}, picture_.data()));
  shown.resize(picture_.size() / 4 * 3);
  Read(result, shown.data(), shown.size() * sizeof(float));
  vxlaDestroyValue(result);
  // What was drawn in f16 from the renderer's, in f32 to vxla's; the result in f32 back, in bytes to the renderer's.
  bytes_copied_ += picture_.size() * (2 + 4) + shown.size() * 4 + picture_.size();
}
