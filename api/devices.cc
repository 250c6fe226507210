#include "api/devices.h"

#include "backend/vulkan/device/plan/pretend.h"
#include "backend/vulkan/device/target.h"
#include "backend/vulkan/device/vulkan_device.h"
#include "core/host/guarded.h"
#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

Result<std::shared_ptr<Device>> OpenDevice(const DeviceOptions& wanted, const std::optional<DeviceTuning>& tuning) {
  return OpenDevice(wanted, vulkan::AllHooks(), tuning);
}

bool IsGeneric(std::string_view target) { return target == "generic" || target.starts_with("generic+"); }

Result<std::shared_ptr<Device>> OpenTarget(const DeviceOptions& wanted) {
  if (!IsGeneric(wanted.device)) {
    DeviceOptions options = wanted;
    options.compile_only = true;
    return OpenDevice(options);
  }
  if (wanted.bindings != "addresses" && wanted.bindings != "descriptors")
    return InvalidArgument("bindings '{}' of the target {}: addresses or descriptors", wanted.bindings, wanted.device);
  const BindingMode mode = wanted.bindings == "addresses" ? BindingMode::kAddresses : BindingMode::kDescriptors;
  vulkan::OpenOptions options;
  options.cache = wanted.cache;
  options.cache_dir = wanted.cache_folder;
  VXLA_ASSIGN_OR_RETURN(DeviceFacts facts, vulkan::GenericFactsOf(mode, wanted.device));
  if (wanted.same_bits) vulkan::PretendLeastDevice(facts);
  return std::shared_ptr<Device>(vulkan::MakeTarget(facts, mode, options));
}

ClientOptions ClientOptionsFor(const EvaluateOptions& host_steps) {
  ClientOptions options;
  options.evaluator_of_run = [host_steps]() -> HostEvaluator {
    auto run = std::make_shared<InstructionEvaluator>(host_steps);
    return [run](const Instruction& instruction, std::span<const Literal* const> operands) {
      return run->Evaluate(instruction, operands);
    };
  };
  if (host_steps.custom_calls != nullptr) options.kernels = host_steps.custom_calls->kernels();
  options.check_program = [host_steps](const Module& module) {
    return CheckCustomCalls(module, host_steps.custom_calls, /*kernels_will_do=*/true);
  };
  options.seed = host_steps.seed;
  if (host_steps.custom_calls != nullptr) {
    const std::vector<std::string> targets = host_steps.custom_calls->targets();
    options.host_functions = {targets.begin(), targets.end()};
    for (const auto& [name, kernel] : options.kernels) options.host_functions.insert(name);
  }
  return options;
}

std::unique_ptr<Client> MakeClient(std::shared_ptr<Device> device, const EvaluateOptions& host_steps,
                                   std::function<void(const CallProgress&)> progress) {
  ClientOptions options = ClientOptionsFor(host_steps);
  options.progress = std::move(progress);
  return std::make_unique<Client>(std::move(device), options.evaluator_of_run(), options);
}

Result<std::unique_ptr<Client>> OpenClient(const DeviceOptions& options, const EvaluateOptions& host_steps) {
  return Guarded([&]() -> Result<std::unique_ptr<Client>> {
    VXLA_ASSIGN_OR_RETURN(std::shared_ptr<Device> device, OpenDevice(options));
    return MakeClient(std::move(device), host_steps, options.progress);
  });
}

}  // namespace VXLA_NAMESPACE
