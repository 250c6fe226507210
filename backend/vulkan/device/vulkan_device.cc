#include "backend/vulkan/device/vulkan_device.h"

#include "backend/vulkan/device/external_memory.h"
#include "backend/vulkan/device/handles/executables.h"
#include "backend/vulkan/device/plan/pretend.h"
#include "backend/vulkan/device/probes/kept_tuning.h"
#include "backend/vulkan/device/probes/matrix_probe.h"
#include "backend/vulkan/device/probes/quirks.h"
#include "backend/vulkan/drivers/known_faults.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

bool Probes(const OpenOptions& options, const DeviceFacts& facts) {
  return options.probe && !EnvironmentForbidsProbes() && !facts.compile_only;
}

struct Usable {
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  PhysicalSupport support;
  DevicePlan plan;
};

constexpr uint32_t kAnyApi = ~uint32_t{0};

// In some binding mode, as a device of Vulkan `most_api`; kUnsupported with what is missing.
Result<Usable> Use(const Instance& instance, VkPhysicalDevice physical, uint32_t most_api) {
  VXLA_ASSIGN_OR_RETURN(PhysicalSupport support, QuerySupport(instance.vk(), physical, most_api));
  Result<DevicePlan> plan = PlanDevice(support, {});
  if (!plan.ok()) plan = PlanDevice(support, {BindingMode::kDescriptors});
  if (!plan.ok()) return plan.status();
  return Usable{physical, std::move(support), std::move(*plan)};
}

// The devices that can be opened in some binding mode, in the loader's order: what indices count.
Result<std::vector<Usable>> UsableDevices(const Instance& instance) {
  VXLA_ASSIGN_OR_RETURN(const std::vector<VkPhysicalDevice> devices, instance.PhysicalDevices());
  std::vector<Usable> usable;
  std::string refusals;
  for (VkPhysicalDevice physical : devices) {
    Result<Usable> device = Use(instance, physical, kAnyApi);
    if (device.ok()) {
      usable.push_back(std::move(*device));
    } else if (device.status().code() == StatusCode::kUnsupported) {
      refusals += (refusals.empty() ? "" : "; ") + device.status().message();
    } else {
      return device.status();
    }
  }
  if (usable.empty()) return DeviceFailure("no usable Vulkan device: {}", refusals);
  return usable;
}

size_t Slot(BindingMode mode) { return static_cast<size_t>(mode); }

}  // namespace

DeviceHooks WithProbes(ProbeModules probes) {
  DeviceHooks hooks;
  hooks.probes = std::move(probes);
  hooks.probe = ProbeWhole;
  return hooks;
}

std::vector<BindingMode> BindingModesFor(const DeviceFacts& facts, const OpenOptions& options) {
  if (options.bindings.has_value()) return {*options.bindings};
  if (!facts.buffer_addresses) return {BindingMode::kDescriptors};
  // What runs GPUs' kernels binds as GPUs do, however slow it is on a software driver.
  const bool slow = SplitsAddresses(facts, BindingMode::kAddresses) && !options.emulate.gpu;
  if (!slow && !facts.quirks.loads_where_off) return {BindingMode::kAddresses};
  return {BindingMode::kDescriptors, BindingMode::kAddresses};
}

Result<std::vector<DeviceFacts>> ListDevices(const std::string& loader_path) {
  VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<Instance> instance,
                        loader_path.empty() ? Instance::Shared() : Instance::Create({{}, loader_path}));
  VXLA_ASSIGN_OR_RETURN(const std::vector<Usable> usable, UsableDevices(*instance));
  std::vector<DeviceFacts> facts;
  for (const Usable& device : usable) facts.push_back(device.plan.facts);
  return facts;
}

Result<std::unique_ptr<Device>> OpenDevice(int index, const OpenOptions& options, const DeviceHooks& hooks) {
  std::shared_ptr<Instance> instance;
  const ValidationWants validation = {options.validate_core, options.validate_sync, options.validate_gpu};
  if (validation.any() || !options.loader_path.empty()) {
    VXLA_ASSIGN_OR_RETURN(instance, Instance::Create({validation, options.loader_path}));
  } else {
    VXLA_ASSIGN_OR_RETURN(instance, Instance::Shared());
  }
  VXLA_ASSIGN_OR_RETURN(std::vector<Usable> usable, UsableDevices(*instance));
  if (index < 0 || index >= static_cast<int>(usable.size())) {
    return InvalidArgument("device {}: there are {} Vulkan devices", index, usable.size());
  }
  Usable& chosen = usable[index];
  if (options.emulate.vulkan11) {
    VXLA_ASSIGN_OR_RETURN(chosen, Use(*instance, chosen.physical, VK_API_VERSION_1_1));
  }
  if (!options.compile_only) VXLA_RETURN_IF_ERROR(CheckRuns(chosen.plan.facts));
  std::vector<BindingMode> modes = BindingModesFor(chosen.plan.facts, options);
  VXLA_ASSIGN_OR_RETURN(DevicePlan plan, PlanDevice(chosen.support, {modes.front(),
                                                                     options.pretend,
                                                                     options.memory_limit_bytes,
                                                                     options.work_budget_seconds,
                                                                     options.capture_executables,
                                                                     options.emulate,
                                                                     {},
                                                                     options.most_queues}));
  if (options.capture_executables && !plan.capture_executables) {
    return DeviceFailure("device {}: its driver shows no compiled kernels (no {})", plan.facts.name,
                         VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
  }
  VXLA_ASSIGN_OR_RETURN(std::shared_ptr<DeviceContext> context,
                        DeviceContext::Create(instance, chosen.physical, std::move(plan), chosen.support));
  VXLA_ASSIGN_OR_RETURN(std::unique_ptr<VulkanDevice> device,
                        VulkanDevice::Create(std::move(context), std::move(modes), options, hooks));
  if (!options.compile_only) VXLA_RETURN_IF_ERROR(CheckRuns(device->facts()));
  return std::unique_ptr<Device>(std::move(device));
}

Result<std::unique_ptr<VulkanDevice>> VulkanDevice::Create(std::shared_ptr<DeviceContext> context,
                                                           std::vector<BindingMode> modes, const OpenOptions& options,
                                                           const DeviceHooks& hooks) {
  std::unique_ptr<VulkanDevice> device(new VulkanDevice());
  device->context_ = std::move(context);
  device->hooks_ = hooks;
  device->modes_ = std::move(modes);
  device->poison_ = options.poison || EnvironmentPoisons();
  device->disk_ =
      std::make_shared<DiskCache>(options.cache_dir.empty() ? DefaultCacheFolder() : options.cache_dir, options.cache);
  MemoryAllocator::Options memory;
  const auto& host = device->context_->host();
  memory.dedicated = options.validate_gpu || (host && host->memory.allocate);
  device->allocator_ = std::make_shared<MemoryAllocator>(device->context_, memory);
  VXLA_ASSIGN_OR_RETURN(device->queues_, Queues::Create(device->context_));
  device->layouts_ = std::make_shared<KernelLayouts>(device->context_);
  device->transfer_ = std::make_unique<Transfer>(device->context_, device->allocator_, *device->queues_);
  DeviceFacts& found = device->context_->mutable_facts();
  if (hooks.probe && Probes(options, found)) {
    const ProbeTools tools = {device->context_, device->allocator_, device->layouts_, *device->queues_,
                              device->hooks_.probes};
    VXLA_RETURN_IF_ERROR(hooks.probe(tools, *device->disk_, found));
  } else if (!hooks.probe) {
    found.probed = false;
    // What a probe must confirm is not relied on.
    found.fused_multiply_add = found.native_f16 = false;
  }
  found.max_elements = options.max_elements;
  if (hooks.lowering) found.tuned = options.tuning ? *options.tuning : LoadTuning(*device->disk_, found);
  if (options.same_bits) PretendLeastDevice(found);
  const DeviceFacts& facts = device->context_->facts();
  for (const BindingMode mode : device->modes_) {
    ShaderSource source = [device = device.get(), mode](const KernelKey& key) {
      return device->KernelSource(mode, key);
    };
    device->pipelines_[Slot(mode)] = std::make_unique<PipelineCache>(device->context_, device->layouts_, device->disk_,
                                                                     std::move(source), mode, hooks.compiler);
    if (hooks.lowering) device->lowerings_[Slot(mode)] = hooks.lowering(facts, mode, {});
  }
  return device;
}

// A transfer that failed half-way may still be in flight when its staging buffers go.
VulkanDevice::~VulkanDevice() { context_->WaitIdle(); }

const Lowering& VulkanDevice::lowering(BindingMode mode) const {
  VXLA_CHECK(lowerings_[Slot(mode)] != nullptr, "the device was opened without a lowering for this binding mode");
  return *lowerings_[Slot(mode)];
}

std::unique_ptr<Lowering> VulkanDevice::LoweringWith(BindingMode mode, const CustomKernels& kernels) const {
  return hooks_.lowering ? hooks_.lowering(facts(), mode, kernels) : nullptr;
}

Result<std::shared_ptr<Buffer>> VulkanDevice::Allocate(int64_t size_bytes, MemoryKind kind) {
  VXLA_ASSIGN_OR_RETURN(std::shared_ptr<VulkanBuffer> buffer, allocator_->Allocate(size_bytes, kind));
  if (poison_) VXLA_RETURN_IF_ERROR(transfer_->Fill(*buffer, kPoisonWord));
  return std::shared_ptr<Buffer>(std::move(buffer));
}

Result<std::shared_ptr<Buffer>> VulkanDevice::AllocateShared(int64_t size_bytes) {
  return AllocateExportable(*this, OpaqueHandleType(), static_cast<uint64_t>(size_bytes));
}

Result<std::shared_ptr<Buffer>> VulkanDevice::OpenShared(const Buffer& buffer) {
  VXLA_ASSIGN_OR_RETURN(const ExternalMemory memory, ExportMemory(buffer));
  return ImportMemory(*this, memory, static_cast<uint64_t>(buffer.size_bytes()));
}

Result<std::shared_ptr<Buffer>> VulkanDevice::ImportHostMemory(std::byte* memory, int64_t size_bytes) {
  return ImportHostPointer(*this, memory, static_cast<uint64_t>(size_bytes));
}

Result<std::vector<std::shared_ptr<Kernel>>> VulkanDevice::GetKernels(BindingMode mode,
                                                                      std::span<const KernelKey* const> keys,
                                                                      int* compiled, const KernelProgress& progress) {
  VXLA_CHECK(pipelines_[Slot(mode)] != nullptr, "the device was not opened for this binding mode");
  return pipelines_[Slot(mode)]->Get(keys, compiled, progress);
}

Result<std::string> VulkanDevice::KernelSource(BindingMode mode, const KernelKey& key) const {
  if (!hooks_.source && key.is_module) return std::string();
  if (!hooks_.source) return Unsupported("kernel {}: this library has no compiler", key.algorithm);
  return hooks_.source(key, context_->facts(), mode);
}

Result<std::vector<uint32_t>> VulkanDevice::KernelModule(BindingMode mode, const KernelKey& key) {
  VXLA_CHECK(pipelines_[Slot(mode)] != nullptr, "the device was not opened for this binding mode");
  return pipelines_[Slot(mode)]->OptimizedModule(key);
}

Result<std::vector<KernelExecutable>> VulkanDevice::KernelExecutables(BindingMode mode, const KernelKey& key) {
  if (!context_->plan().capture_executables)
    return Internal("device {}: it was opened without capturing executables", facts().name);
  const KernelKey* const keys[] = {&key};
  VXLA_ASSIGN_OR_RETURN(const std::vector<std::shared_ptr<Kernel>> kernels, GetKernels(mode, keys, nullptr));
  return ExecutablesOf(*context_, static_cast<const VulkanKernel&>(*kernels[0]).pipeline);
}

Result<std::unique_ptr<CommandBuffer>> VulkanDevice::CreateCommandBuffer(int timestamp_count, int queue) {
  VXLA_ASSIGN_OR_RETURN(auto commands, VulkanCommandBuffer::Create(context_, timestamp_count, queue));
  return std::unique_ptr<CommandBuffer>(std::move(commands));
}

Result<TimePoint> VulkanDevice::Submit(CommandBuffer& commands, const Moment& after) {
  auto& recorded = static_cast<VulkanCommandBuffer&>(commands);
  VXLA_RETURN_IF_ERROR(recorded.Submittable());
  return queues_->Submit(recorded.queue(), recorded.handle(), Later(transfer_->written(), after));
}

Result<TimePoint> VulkanDevice::SubmitAcross(CommandBuffer& commands, const Moment& after,
                                             std::span<const SignalPoint> waits, std::span<const SignalPoint> signals) {
  const auto semaphores = [](std::span<const SignalPoint> points) {
    std::vector<HostSemaphore> semaphores;
    for (const auto& [signal, value] : points)
      semaphores.push_back({static_cast<const SharedSignal&>(*signal).semaphore(), value});
    return semaphores;
  };
  auto& recorded = static_cast<VulkanCommandBuffer&>(commands);
  VXLA_RETURN_IF_ERROR(recorded.Submittable());
  return queues_->Submit(recorded.queue(), recorded.handle(), Later(transfer_->written(), after), semaphores(waits),
                         semaphores(signals));
}

Result<TimePoint> VulkanDevice::SubmitOnce(std::unique_ptr<VulkanCommandBuffer> commands, const Moment& after,
                                           const HostSemaphore* wait, const HostSemaphore* signal) {
  VXLA_RETURN_IF_ERROR(commands->Submittable());
  const std::lock_guard lock(submitted_mutex_);
  std::erase_if(submitted_, [&](const Submitted& earlier) { return queues_->IsDone(earlier.done); });
  Submitted& submitted = submitted_.emplace_back();  // room first: what is submitted must not be lost
  const Result<TimePoint> done = queues_->Submit(
      commands->queue(), commands->handle(), Later(transfer_->written(), after), AtMostOne(wait), AtMostOne(signal));
  if (!done.ok()) {
    submitted_.pop_back();
    return done.status();
  }
  submitted = {*done, std::move(commands)};
  return done;
}

Status VulkanDevice::Upload(std::span<const std::byte> source, Buffer& target, int64_t offset_bytes) {
  return transfer_->Upload(source, static_cast<VulkanBuffer&>(target), offset_bytes);
}

Status VulkanDevice::Download(Buffer& source, int64_t offset_bytes, std::span<std::byte> target, const Moment& after) {
  return transfer_->Download(static_cast<VulkanBuffer&>(source), offset_bytes, target, after);
}

}  // namespace VXLA_NAMESPACE::vulkan
