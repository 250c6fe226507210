#include "backend/vulkan/shader/user_module.h"

namespace VXLA_NAMESPACE::vulkan {

Result<std::vector<uint32_t>> CompileUserGlsl(std::string_view text, const std::string& name,
                                              const CompileTarget& target, std::string_view user) {
  Result<std::vector<uint32_t>> words = CompileGlsl(text, name, target, user);
  if (words.ok()) return words;
  return Status(StatusCode::kInvalidArgument, words.status().message());
}

Status CheckUserModule(const ModuleInterface& module, const std::string& name, uint32_t buffers, BindingMode mode) {
  if (!module.other_resources.empty()) {
    return InvalidArgument("kernel {}: it uses {}, and only storage buffers are bound", name,
                           module.other_resources.front());
  }
  const bool addresses = mode == BindingMode::kAddresses;
  if (addresses && !module.storage_buffers.empty()) {
    return InvalidArgument(
        "kernel {}: it declares storage buffers ({}), which --bindings=descriptors binds; under "
        "addresses it gets the address of its argument block as a push constant",
        name, module.storage_buffers.front().name);
  }
  if (!addresses && module.push_constant_blocks != 0) {
    return InvalidArgument(
        "kernel {}: it has push constants, which --bindings=addresses gives; under descriptors its "
        "tensors are storage buffers",
        name);
  }
  if (addresses && module.push_constant_blocks > 0 && module.push_constant_bytes != 8) {
    return InvalidArgument("kernel {}: its push constants take {} bytes; it gets the 8 of its argument block's address",
                           name, module.push_constant_bytes);
  }
  for (const ModuleInterface::StorageBuffer& buffer : module.storage_buffers) {
    if (buffer.set == 0 && buffer.binding <= buffers) continue;
    return InvalidArgument(
        "kernel {}: its buffer {} is set {} binding {}; set 0 has the argument block at binding 0 and "
        "operands and results at 1 to {}",
        name, buffer.name, buffer.set, buffer.binding, buffers);
  }
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE::vulkan
