#include "tests/vulkan/vulkan_test_support.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>

#include "tests/support/validation_environment.h"

namespace VXLA_NAMESPACE::vulkan {

TemporaryFolder::TemporaryFolder() {
  static std::atomic<int> counter = 0;
  path_ = std::filesystem::temp_directory_path() / fmt::format("vxla_test_{}_{}", getpid(), ++counter);
  std::filesystem::create_directories(path_);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  std::filesystem::permissions(path_, std::filesystem::perms::owner_all, error);
  std::filesystem::remove_all(path_, error);
}

DeviceHooks TextHooks() {
  DeviceHooks hooks;
  hooks.source = [](const KernelKey& key, const DeviceFacts&, BindingMode) -> Result<std::string> {
    return key.generated;
  };
  return hooks;
}

std::string SharedCacheFolder() {
  static TemporaryFolder folder;
  return folder.path();
}

void WatchedDelete::operator()(VulkanDevice* device) const {
  const std::shared_ptr<const Instance> instance = device->context().shared_instance();
  delete device;
  if (expect_silence) {
    EXPECT_THAT(instance->validation_messages(), ::testing::IsEmpty());
  }
}

TestDevice OpenForTest(OpenOptions options, int index) {
  // A test with layers of its own choice says itself what it expects of them.
  const bool own_layers = options.validate_core || options.validate_sync || options.validate_gpu;
  if (!own_layers) testing::ValidateAsAsked(options);
  if (options.cache_dir.empty()) options.cache_dir = SharedCacheFolder();
  auto device = OpenDeviceWith(index, options, TextHooks());
  EXPECT_TRUE(device.ok()) << device.status().message();
  if (!device.ok()) return nullptr;
  return TestDevice(static_cast<VulkanDevice*>(std::move(device).value().release()), WatchedDelete{!own_layers});
}

std::string KernelPrelude(BindingMode mode, uint32_t buffer_count, uint32_t param_count, bool in_parts) {
  std::string text = "#version 460\n#extension GL_EXT_buffer_reference : require\n";
  text += "#extension GL_EXT_buffer_reference_uvec2 : require\n";
  text += "layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;\n";
  const std::string block =
      fmt::format("  uvec2 address[{}];\n  uint param[{}];\n", std::max(1u, buffer_count), std::max(1u, param_count));
  const std::string first = in_parts ? " uint first_group;" : "";
  text += fmt::format("#define FIRST_INVOCATION {}\n", in_parts ? "first_group * gl_WorkGroupSize.x" : "0u");
  if (mode == BindingMode::kAddresses) {
    text += "layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words { uint word[]; };\n";
    text +=
        "layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Arguments {\n" + block + "};\n";
    text += "layout(push_constant) uniform Push { Arguments arguments;" + first + " };\n";
    text += "#define PARAM(i) arguments.param[i]\n";
    text += "#define LOAD(k, i) Words(arguments.address[k]).word[i]\n";
    text += "#define STORE(k, i, value) Words(arguments.address[k]).word[i] = (value)\n";
    return text;
  }
  if (in_parts) text += "layout(push_constant) uniform Push {" + first + " };\n";
  text += "layout(set = 0, binding = 0, std430) readonly buffer Arguments {\n" + block + "} arguments;\n";
  text += "#define PARAM(i) arguments.param[i]\n";
  for (uint32_t k = 0; k < buffer_count; ++k) {
    text += fmt::format("layout(set = 0, binding = {}, std430) buffer Words{} {{ uint word{}[]; }};\n", k + 1, k, k);
  }
  return text + "#define LOAD(k, i) word##k[i]\n#define STORE(k, i, value) word##k[i] = (value)\n";
}

KernelKey ScaleKernel(BindingMode mode, uint32_t workgroup, bool in_parts) {
  KernelKey key;
  key.algorithm = "test/scale.comp";
  key.generated = KernelPrelude(mode, 2, 3, in_parts) +
                  "void main() {\n"
                  "  uint i = FIRST_INVOCATION + gl_GlobalInvocationID.x;\n"
                  "  if (i < PARAM(0)) STORE(1, i, LOAD(0, i) * PARAM(1) + PARAM(2));\n"
                  "}\n";
  key.in_parts = in_parts;
  key.constants = {workgroup, 1, 1};
  key.buffer_count = 2;
  key.param_count = 3;
  return key;
}

std::shared_ptr<Buffer> MakeArguments(Device& device, const std::vector<BufferRange>& buffers,
                                      const std::vector<uint32_t>& params) {
  std::vector<std::byte> block(buffers.size() * 8 + params.size() * 4);
  for (size_t k = 0; k < buffers.size(); ++k) {
    const uint64_t address = buffers[k].buffer->device_address() + static_cast<uint64_t>(buffers[k].offset_bytes);
    std::memcpy(block.data() + k * 8, &address, 8);
  }
  if (!params.empty()) std::memcpy(block.data() + buffers.size() * 8, params.data(), params.size() * 4);
  auto buffer = device.Allocate(static_cast<int64_t>(block.size()), MemoryKind::kUpload);
  EXPECT_TRUE(buffer.ok()) << buffer.status().message();
  if (!buffer.ok()) return nullptr;
  EXPECT_TRUE(device.Upload(block, **buffer, 0).ok());
  return *buffer;
}

std::shared_ptr<Kernel> GetKernel(Device& device, const KernelKey& key, int* compiled) {
  const KernelKey* keys[] = {&key};
  auto kernels = device.GetKernels(device.binding_mode(), keys, compiled);
  EXPECT_TRUE(kernels.ok()) << kernels.status().message();
  return kernels.ok() ? kernels->front() : nullptr;
}

std::vector<DeviceCase> DeviceCases(std::initializer_list<BindingMode> modes) {
  const auto devices = ListDevices();
  const int count = devices.ok() ? static_cast<int>(devices->size()) : 1;
  std::vector<DeviceCase> cases;
  for (int index = 0; index < count; ++index) {
    for (BindingMode mode : modes) cases.push_back({index, mode});
  }
  return cases;
}

std::string CaseName(const ::testing::TestParamInfo<DeviceCase>& info) {
  return fmt::format("device{}_{}", info.param.index, ModeName(info.param.mode));
}

std::vector<uint32_t> Iota(size_t count) {
  std::vector<uint32_t> values(count);
  std::iota(values.begin(), values.end(), 0u);
  return values;
}

void RunAndWait(Device& device, CommandBuffer& commands) {
  const auto value = device.Submit(commands, {});
  ASSERT_TRUE(value.ok()) << value.status().message();
  const Status status = device.Wait(*value);
  ASSERT_TRUE(status.ok()) << status.message();
}

std::vector<uint32_t> RunScale(Device& device, const std::vector<uint32_t>& values, uint32_t factor, uint32_t summand) {
  const auto kernel = GetKernel(device, ScaleKernel(device.binding_mode()));
  const auto in = MakeBuffer(device, values);
  const auto out = MakeBuffer(device, std::vector<uint32_t>(values.size(), 7));
  const auto count = static_cast<uint32_t>(values.size());
  const std::vector<BufferRange> buffers = {Whole(in), Whole(out)};
  const auto arguments = MakeArguments(device, buffers, {count, factor, summand});
  auto commands = device.CreateCommandBuffer(0);
  EXPECT_TRUE(commands.ok()) << commands.status().message();
  EXPECT_TRUE((*commands)->Begin().ok());
  const Status status = (*commands)->Dispatch(*kernel, Whole(arguments), buffers, {(count + 63) / 64, 1, 1});
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE((*commands)->End().ok());
  RunAndWait(device, **commands);
  return ReadBuffer<uint32_t>(device, *out);
}

}  // namespace VXLA_NAMESPACE::vulkan
