#include "api/c/c_vulkan.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "api/binding_overlap.h"
#include "api/c/c_compiler.h"
#include "api/c/c_image.h"
#include "backend/vulkan/device/ownership.h"
#include "core/limits.h"
#include "scheduler/plan/plan.h"
#include "scheduler/runtime/commands/recording.h"

namespace VXLA_NAMESPACE {

// A leaf's part of the host's memory, as it was bound last.
struct HostBinding {
  std::string name;
  int64_t size_bytes = 0;  // of the range that it needs; 0: it may be empty
  int argument = -1;       // whose memory a result lies in
  bool written = false;    // a result, or an argument that one lies in
  std::unique_ptr<vulkan::VulkanBuffer> buffer;
  vulkan::HostRange range;
  uint64_t number = 0;
};

// One of the uses that a recording may have in command buffers at a time: what its commands name is its own, and the
// scratch is all uses'.
struct RecordedUse {
  std::unique_ptr<Recording> recording;
  std::unique_ptr<vulkan::VulkanCommandBuffer> commands;
  std::vector<HostBinding> arguments, results;
  std::vector<BoundBuffer> bound_arguments, bound_results;
  bool recorded = false;                     // all of it, with the sets that it has
  std::unique_ptr<vulkan::FinishMark> mark;  // of a device made with VXLA_DEVICE_CHECK_HANDLES
  // Where loops say whether they ended; null: none does.
  std::unique_ptr<vulkan::VulkanBuffer> loops;
};

struct CRecording : CProgram {
  RecordedUse& use() { return uses[current]; }

  std::vector<RecordedUse> uses;  // in turn
  size_t current = 0, upcoming = 0;
  VkBufferUsageFlags argument_usage = 0, result_usage = 0;
  uint64_t alignment = 16;
  size_t loop_count = 0, step_count = 0;
  vulkan::HostRange loops;  // that were bound last
  // Of the bindings that are checked: by leaf, arguments before results. Made once, so that a frame allocates nothing.
  std::vector<vulkan::HostRange> ranges;
  std::vector<BoundSpan> spans;
  vulkan::HostRange scratch;               // that the host lends
  std::unique_ptr<RecordedImages> images;  // null: all are buffers
  size_t next = 0;                         // the first command of the next part
};

}  // namespace VXLA_NAMESPACE

struct VxlaRecording_T : vxla::CHandle<vxla::HandleKind::kRecording, vxla::CRecording> {};

namespace VXLA_NAMESPACE {
namespace {

VxlaRequirements Describe(const vulkan::DeviceRequirements& asked) {
  VxlaRequirements described = {};
  described.needed_extension_count = static_cast<uint32_t>(asked.needed_extensions);
  described.extension_count = static_cast<uint32_t>(asked.extensions.size());
  VXLA_CHECK(asked.extensions.size() <= std::size(described.extensions), "more extensions than the struct holds");
  std::ranges::copy(asked.extensions, described.extensions);
  described.features = asked.features.base;
  described.vulkan11 = asked.features.vulkan11;
  described.vulkan12 = asked.features.vulkan12;
  described.synchronization2 = asked.features.synchronization2;
  described.maintenance4 = asked.features.maintenance4;
  described.subgroup_size_control = asked.features.subgroup_size_control;
  described.integer_dot_product = asked.features.integer_dot_product;
  described.memory_priority = asked.features.memory_priority;
  described.pageable_memory = asked.features.pageable_memory;
  described.cooperative_matrix.cooperativeMatrix = asked.features.cooperative_matrix.cooperativeMatrix;
  described.bfloat16.shaderBFloat16Type = asked.features.bfloat16.shaderBFloat16Type;
  described.bfloat16.shaderBFloat16CooperativeMatrix = asked.features.bfloat16.shaderBFloat16CooperativeMatrix;
  described.float8.shaderFloat8 = asked.features.float8.shaderFloat8;
  described.float8.shaderFloat8CooperativeMatrix = asked.features.float8.shaderFloat8CooperativeMatrix;
  return described;
}

// The chain, in the struct where it stays, which may be of an older header.
void Link(VxlaRequirements& requirements, uint32_t api_version) {
  const auto lists = [&](const char* name) {
    const auto end = requirements.extensions + requirements.extension_count;
    return std::find_if(requirements.extensions, end, [&](const char* each) { return std::strcmp(each, name) == 0; }) !=
           end;
  };
  const bool older = api_version < VK_API_VERSION_1_2;
  void** tail = nullptr;
  const auto add = [&](auto& features, VkStructureType type, bool there) {
    if (const auto* end = reinterpret_cast<const char*>(&features + 1);
        end > reinterpret_cast<const char*>(&requirements) + requirements.struct_size)
      return;
    features.sType = type;
    features.pNext = nullptr;
    if (!there) return;
    if (tail != nullptr) *tail = &features;
    tail = &features.pNext;
  };
  add(requirements.features, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, true);
  add(requirements.vulkan11, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, !older);
  add(requirements.vulkan12, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, !older);
  vulkan::VisitOlder(requirements.older, requirements.vulkan11, requirements.vulkan12,
                     [&](auto& features, VkStructureType type, const char* extension, auto... said) {
                       features = {};
                       ((said.first = said.second), ...);
                       add(features, type, older && (extension == nullptr || lists(extension)));
                     });
  vulkan::VisitSingle(requirements, [&](auto& features, VkStructureType type, const char* extension, bool since_13) {
    add(features, type, lists(extension) || (since_13 && api_version >= VK_API_VERSION_1_3));
  });
}

Result<vulkan::HostMemoryCalls> MemoryCallsOf(const VxlaMemoryCallbacks* callbacks) {
  if (callbacks == nullptr) return vulkan::HostMemoryCalls{};
  const VxlaMemoryCallbacks calls = *callbacks;
  if (calls.allocate == nullptr || calls.free == nullptr)
    return InvalidArgument("adopting a device: one of allocate and free of the memory is NULL");
  const auto allocate = [calls](const vulkan::HostMemoryRequest& request, vulkan::HostMemory& memory) {
    const VxlaMemoryRequest asked = {
        request.requirements, request.type,
        request.addresses ? VkMemoryAllocateFlags{VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT} : 0, request.map ? 1u : 0u};
    VxlaAllocation made = {};
    const VkResult result = calls.allocate(calls.user, &asked, &made);
    if (result == VK_SUCCESS) memory = {made.memory, made.offset, made.mapped, made.allocation};
    return result;
  };
  const auto free = [calls](const vulkan::HostMemory& memory) {
    const VxlaAllocation given = {memory.memory, memory.offset_bytes, memory.mapped, memory.allocation};
    calls.free(calls.user, &given);
  };
  return vulkan::HostMemoryCalls{allocate, free};
}

Status CheckExtensions(const VxlaAdoptInfo& info) {
  if (info.extension_count != 0) VXLA_RETURN_IF_ERROR(CheckNotNull(info.extensions, "extensions"));
  for (uint32_t i = 0; i < info.extension_count; ++i)
    VXLA_RETURN_IF_ERROR(CheckNotNull(info.extensions[i], fmt::format("extension {}", i).c_str()));
  return OkStatus();
}

Status ReadQueues(const VxlaAdoptInfo& info, vulkan::AdoptedDevice& adopted) {
  adopted.queues.push_back({info.queue_family, false});
  adopted.host.queues.push_back({info.queue, info.lock_queue, info.unlock_queue, info.user});
  if (info.queue_count != 0) VXLA_RETURN_IF_ERROR(CheckNotNull(info.queues, "queues"));
  if (info.queue_count >= kMostQueues)  // before they are read
    return InvalidArgument("queue_count {}: vxla uses at most {} beside the first queue", info.queue_count,
                           kMostQueues - 1);
  for (const VxlaQueue& queue : std::span(info.queues, info.queue_count)) {
    VXLA_RETURN_IF_ERROR(CheckFlags(queue.flags, VXLA_QUEUE_COPIES));
    adopted.queues.push_back({queue.queue_family, (queue.flags & VXLA_QUEUE_COPIES) != 0});
    adopted.host.queues.push_back({queue.queue, queue.lock, queue.unlock, queue.user});
  }
  return OkStatus();
}

Result<VxlaDevice> Adopt(const VxlaAdoptInfo& info) {
  VXLA_RETURN_IF_ERROR(CheckFlags(info.flags, kDeviceFlags));
  vulkan::AdoptedDevice adopted;
  adopted.get_instance_proc_addr = info.get_instance_proc_addr;
  adopted.instance = info.instance;
  adopted.physical = info.physical_device;
  adopted.device = info.device;
  adopted.api_version = info.api_version;
  adopted.features = info.features;
  VXLA_RETURN_IF_ERROR(CheckExtensions(info));
  adopted.extensions = {info.extensions, info.extension_count};
  adopted.host = {{}, info.allocation, info.pipeline_cache, {}};
  VXLA_RETURN_IF_ERROR(ReadQueues(info, adopted));
  VXLA_ASSIGN_OR_RETURN(adopted.host.memory, MemoryCallsOf(info.memory));
  vulkan::OpenOptions options;
  if (const std::string_view words = TextOr(info.bindings, "auto"); words != "auto") {
    if (words != "addresses" && words != "descriptors")
      return InvalidArgument("bindings '{}': none of auto, addresses, descriptors", words);
    options.bindings = words == "addresses" ? BindingMode::kAddresses : BindingMode::kDescriptors;
  }
  VXLA_ASSIGN_OR_RETURN(options.emulate, vulkan::ParseEmulation(TextOr(info.emulate, "")));
  options.cache = (info.flags & VXLA_DEVICE_NO_CACHE) == 0;
  options.same_bits = (info.flags & VXLA_DEVICE_SAME_BITS) != 0;
  options.cache_dir = TextOr(info.cache_folder, "");
  VXLA_ASSIGN_OR_RETURN(std::unique_ptr<Device> device, vulkan::AdoptDevice(adopted, options, HooksOfLibrary()));
  return NewDevice(std::move(device), info.flags, /*adopted=*/true);
}

uint64_t BindingAlignment(const Device& device, const Plan& plan) {
  constexpr uint64_t kUnit = RecordingNeeds::kUnitBytes;
  if (plan.bindings == BindingMode::kAddresses) return kUnit;
  return std::max<uint64_t>(kUnit, device.facts().storage_offset_alignment);
}

// Of an executable's handle, made the first time that it is asked for.
std::shared_ptr<const RecordedSteps> StepsOf(VxlaExecutable executable, const Plan& plan) {
  const std::lock_guard lock(executable->owner->mutex);
  CExecutable& content = *executable->content;
  if (content.steps == nullptr) {
    content.steps = std::make_shared<const RecordedSteps>(
        StepsOf(plan, content.loop_iterations, executable->owner->device->facts()));
  }
  return content.steps;
}

VxlaRecordingNeeds Describe(const Device& device, const Plan& plan, const RecordedSteps& steps) {
  const RecordingNeeds needs = NeedsOf(plan);
  VkBufferUsageFlags usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
  if (plan.bindings == BindingMode::kAddresses) usage |= VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  constexpr VkBufferUsageFlags kTransfers = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  VxlaRecordingNeeds described = {};
  described.argument_usage = usage | (needs.copies_arguments ? kTransfers : 0);
  described.result_usage = usage | (needs.copies_results ? kTransfers : 0);
  described.scratch_usage = usage | kTransfers | (needs.indirect ? VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT : 0);
  described.scratch_size = static_cast<uint64_t>(needs.scratch_bytes);
  described.scratch_alignment = kBlockAlignment;
  described.binding_alignment = BindingAlignment(device, plan);
  described.binding_unit = RecordingNeeds::kUnitBytes;
  described.stages = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT;
  described.reads = VK_ACCESS_2_SHADER_READ_BIT | VK_ACCESS_2_TRANSFER_READ_BIT;
  described.writes = VK_ACCESS_2_SHADER_WRITE_BIT | VK_ACCESS_2_TRANSFER_WRITE_BIT;
  described.loop_count = static_cast<uint32_t>(steps.loops);
  described.step_count = static_cast<uint32_t>(steps.steps.size());
  described.scratch_range_count = static_cast<uint32_t>(steps.scratch.size());
  described.microseconds = steps.seconds() * 1e6;
  return described;
}

// What Vulkan says of the buffer: its memory is at least as large as itself, and hardly larger.
Status CheckWithin(Device& device, const std::string& name, const VxlaBinding& binding) {
  if (binding.buffer == VK_NULL_HANDLE) return OkStatus();
  const uint64_t whole = vulkan::MemorySizeOf(device, binding.buffer);
  if (binding.offset <= whole && binding.size <= whole - binding.offset) return OkStatus();
  return InvalidArgument("{}: {} bytes from {} on lie outside its VkBuffer, whose memory has {}", name, binding.size,
                         binding.offset, whole);
}

Status CheckBinding(const std::string& name, const VxlaBinding& binding, const BindingRules& rules) {
  const bool transfers = (rules.usage & VK_BUFFER_USAGE_TRANSFER_SRC_BIT) != 0;
  const bool addresses = (rules.usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT) != 0;
  if (binding.buffer == VK_NULL_HANDLE && (!addresses || transfers || binding.address == 0))
    return InvalidArgument("{}: its VkBuffer is NULL", name);
  if (binding.size < static_cast<uint64_t>(rules.size_bytes))
    return InvalidArgument("{}: {} bytes are bound, it needs {}", name, binding.size, rules.size_bytes);
  if (binding.offset % rules.alignment != 0)
    return InvalidArgument("{}: its offset {} is no multiple of {}", name, binding.offset, rules.alignment);
  if (binding.address % rules.alignment != 0)
    return InvalidArgument("{}: its address {:#x} is no multiple of {}", name, binding.address, rules.alignment);
  if (const VkBufferUsageFlags missing = rules.usage & ~binding.usage; missing != 0)
    return InvalidArgument("{}: its buffer's usage {:#x} lacks {:#x}", name, binding.usage, missing);
  return OkStatus();
}

bool IsBound(const HostBinding& leaf, const VxlaBinding& binding) {
  const vulkan::HostRange& range = leaf.range;
  return leaf.number != 0 && range.buffer == binding.buffer && range.offset_bytes == binding.offset &&
         range.size_bytes == binding.size;
}

// A buffer has an address where the usage that it needs says so.
vulkan::HostRange RangeOf(Device& device, const VxlaBinding& binding, VkBufferUsageFlags usage) {
  const vulkan::HostRange range = {binding.buffer, binding.offset, binding.size, binding.address};
  return (usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT) != 0 ? vulkan::WithAddress(device, range) : range;
}

Result<vulkan::HostRange> CheckLeaf(Device& device, const CRecording& recording, const HostBinding& leaf,
                                    const VxlaBinding& binding, VkBufferUsageFlags usage) {
  if (leaf.size_bytes == 0) return vulkan::HostRange();
  VXLA_RETURN_IF_ERROR(CheckBinding(leaf.name, binding, {leaf.size_bytes, recording.alignment, usage}));
  if (!IsBound(leaf, binding)) VXLA_RETURN_IF_ERROR(CheckWithin(device, leaf.name, binding));
  return RangeOf(device, binding, usage);
}

Status CheckDonated(const HostBinding& leaf, const VxlaBinding& given, const VxlaBinding& argument) {
  const bool empty = given.buffer == VK_NULL_HANDLE && given.address == 0;
  const bool elsewhere = given.address != 0 && argument.address != 0 && given.address != argument.address;
  if (empty || (given.buffer == argument.buffer && given.offset == argument.offset && !elsewhere)) return OkStatus();
  return InvalidArgument("{}: the program puts it into argument {}, whose binding is another", leaf.name,
                         leaf.argument);
}

const HostBinding& LeafOf(const RecordedUse& use, size_t i) {
  const size_t arguments = use.arguments.size();
  return i < arguments ? use.arguments[i] : use.results[i - arguments];
}

bool Moves(const HostBinding& leaf, const vulkan::HostRange& range) { return leaf.number == 0 || range != leaf.range; }

BoundSpan SpanOf(const vulkan::HostRange& range, uint64_t size_bytes, size_t leaf, bool written) {
  const bool addresses = range.address != 0;
  const uint64_t begin = addresses ? range.address : range.offset_bytes;
  return {addresses ? 0 : reinterpret_cast<uint64_t>(range.buffer), begin, begin + size_bytes,
          static_cast<uint32_t>(leaf), written};
}

// Of recording.ranges and where loops say whether they ended; where none has moved they were looked at before.
Status CheckOverlaps(CRecording& recording, const vulkan::HostRange& loops) {
  const RecordedUse& use = recording.use();
  const size_t count = recording.ranges.size();
  bool moves = loops != recording.loops;
  recording.spans.clear();
  for (size_t i = 0; i < count; ++i) {
    const HostBinding& leaf = LeafOf(use, i);
    if (leaf.size_bytes == 0 || leaf.argument >= 0) continue;
    moves |= Moves(leaf, recording.ranges[i]);
    recording.spans.push_back(SpanOf(recording.ranges[i], static_cast<uint64_t>(leaf.size_bytes), i, leaf.written));
  }
  if (!moves) return OkStatus();
  if (recording.scratch.size_bytes != 0)
    recording.spans.push_back(SpanOf(recording.scratch, recording.scratch.size_bytes, count, true));
  if (recording.loop_count != 0) recording.spans.push_back(SpanOf(loops, loops.size_bytes, count + 1, true));
  const auto found = FindOverlap(recording.spans);
  if (!found) return OkStatus();
  const auto name = [&](size_t i) {
    return i < count ? LeafOf(use, i).name : i == count ? std::string("the lent scratch") : std::string("loops");
  };
  return InvalidArgument("{}: its memory overlaps that of {}, and one of them is written", name(found->first),
                         name(found->second));
}

// An s32 for each loop.
Result<vulkan::HostRange> CheckLoops(Device& device, const CRecording& recording, const VxlaBinding* loops) {
  if (recording.loop_count == 0) return vulkan::HostRange();
  constexpr uint64_t kFlagBytes = sizeof(int32_t);
  const uint64_t size_bytes = kFlagBytes * recording.loop_count;
  if (loops == nullptr) {
    return InvalidArgument("loops: NULL, and {} bytes are needed: whether each of {} loops ended", size_bytes,
                           recording.loop_count);
  }
  VXLA_RETURN_IF_ERROR(
      CheckBinding("loops", *loops, {static_cast<int64_t>(size_bytes), kFlagBytes, VK_BUFFER_USAGE_TRANSFER_DST_BIT}));
  VXLA_RETURN_IF_ERROR(CheckWithin(device, "loops", *loops));
  // Others are told apart by addresses where they have them.
  vulkan::HostRange range = RangeOf(device, *loops, loops->usage & recording.argument_usage);
  range.size_bytes = size_bytes;
  return range;
}

Status CheckTimestamps(Device& device, const CRecording& recording, const VxlaBindings& bindings) {
  if (bindings.query_count == 0) return OkStatus();
  if (bindings.timestamps == VK_NULL_HANDLE) return InvalidArgument("timestamps: the VkQueryPool is NULL");
  if (bindings.query_count != 2 && bindings.query_count != recording.step_count + 1) {
    return InvalidArgument("query_count {}: 2, or {} for the program's steps", bindings.query_count,
                           recording.step_count + 1);
  }
  if (device.facts().timestamp_period_ns == 0) return Unsupported("timestamps: the device's queues have none");
  return OkStatus();
}

// Nothing of what is bound changes unless all of them fit.
Status CheckBindings(Device& device, CRecording& recording, const VxlaBindings& bindings) {
  const RecordedUse& use = recording.use();
  VXLA_RETURN_IF_ERROR(CheckCount("arguments", bindings.argument_count, use.arguments.size()));
  VXLA_RETURN_IF_ERROR(CheckCount("results", bindings.result_count, use.results.size()));
  if (bindings.argument_count != 0) VXLA_RETURN_IF_ERROR(CheckNotNull(bindings.arguments, "arguments"));
  if (bindings.result_count != 0) VXLA_RETURN_IF_ERROR(CheckNotNull(bindings.results, "results"));
  for (size_t i = 0; i < use.arguments.size(); ++i)
    VXLA_SET_OR_RETURN(recording.ranges[i],
                       CheckLeaf(device, recording, use.arguments[i], bindings.arguments[i], recording.argument_usage));
  for (size_t i = 0; i < use.results.size(); ++i) {
    const HostBinding& leaf = use.results[i];
    if (leaf.argument >= 0) {
      VXLA_RETURN_IF_ERROR(CheckDonated(leaf, bindings.results[i], bindings.arguments[leaf.argument]));
      continue;
    }
    VXLA_ASSIGN_OR_RETURN(recording.ranges[use.arguments.size() + i],
                          CheckLeaf(device, recording, leaf, bindings.results[i], recording.result_usage));
  }
  VXLA_ASSIGN_OR_RETURN(const vulkan::HostRange loops, CheckLoops(device, recording, bindings.loops));
  VXLA_RETURN_IF_ERROR(CheckOverlaps(recording, loops));
  recording.loops = loops;
  return CheckTimestamps(device, recording, bindings);
}

void Retarget(HostBinding& leaf, const vulkan::HostRange& range, BoundBuffer& bound) {
  if (leaf.size_bytes == 0) return;
  if (Moves(leaf, range)) {
    leaf.range = range;
    leaf.buffer->Retarget(range.buffer, static_cast<int64_t>(range.offset_bytes),
                          static_cast<int64_t>(range.size_bytes), range.address);
    ++leaf.number;
  }
  bound = {leaf.buffer.get(), leaf.number};
}

// To what CheckBindings found. Whether anything moved.
bool Bind(RecordedUse& use, std::span<const vulkan::HostRange> ranges) {
  const size_t arguments = use.arguments.size();
  for (size_t i = 0; i < arguments; ++i) Retarget(use.arguments[i], ranges[i], use.bound_arguments[i]);
  for (size_t i = 0; i < use.results.size(); ++i) {
    HostBinding& leaf = use.results[i];
    if (leaf.argument >= 0) {
      use.bound_results[i] = use.bound_arguments[leaf.argument];
    } else {
      Retarget(leaf, ranges[arguments + i], use.bound_results[i]);
    }
  }
  return use.recording->Bind(use.bound_arguments, use.bound_results);
}

Result<std::vector<std::shared_ptr<Buffer>>> ScratchOf(Device& device, const Plan& plan, const VxlaBinding* scratch,
                                                       VkBufferUsageFlags usage) {
  std::vector<std::shared_ptr<Buffer>> blocks;
  const RecordingNeeds needs = NeedsOf(plan);
  if (scratch == nullptr || needs.scratch_bytes == 0) return blocks;
  VXLA_RETURN_IF_ERROR(
      CheckBinding("scratch", *scratch, {needs.scratch_bytes, static_cast<uint64_t>(kBlockAlignment), usage}));
  VXLA_RETURN_IF_ERROR(CheckWithin(device, "scratch", *scratch));
  const vulkan::HostRange whole = RangeOf(device, *scratch, usage);
  const std::vector<int64_t> offsets = ScratchOffsets(plan);
  for (size_t i = 0; i < offsets.size(); ++i) {
    const auto offset = static_cast<uint64_t>(offsets[i]);
    const auto end = i + 1 < offsets.size() ? static_cast<uint64_t>(offsets[i + 1]) : whole.size_bytes;
    blocks.push_back(vulkan::WrapBuffer(
        {whole.buffer, whole.offset_bytes + offset, end - offset, whole.address == 0 ? 0 : whole.address + offset}));
  }
  return blocks;
}

}  // namespace

vulkan::HostSemaphore PointOf(const VxlaSemaphore& semaphore) {
  return {semaphore.semaphore, semaphore.value,
          semaphore.stages != 0 ? semaphore.stages : VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
}

Result<Moment> ReadyAfter(Device& device, const VxlaSemaphore* wait) {
  if (wait == nullptr) return Moment();
  if (wait->semaphore == VK_NULL_HANDLE) return InvalidArgument("wait: its VkSemaphore is NULL");
  const vulkan::HostSemaphore point = PointOf(*wait);
  VXLA_ASSIGN_OR_RETURN(const TimePoint ready, vulkan::Link(device, {}, &point, nullptr));
  return Moment(ready);
}

VkBufferUsageFlags ImportUsage(const Device& device) {
  constexpr VkBufferUsageFlags kUsage =
      VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  return kUsage | (device.facts().buffer_addresses ? VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT : 0);
}

BindingRules RulesOf(const Device& device, const Shape& shape) {
  constexpr int64_t kUnit = RecordingNeeds::kUnitBytes;
  return {std::max(kUnit, RoundUp(shape.SizeBytes(), kUnit)),
          std::max<uint64_t>(kUnit, device.facts().storage_offset_alignment), ImportUsage(device)};
}

Result<DeviceMemory*> MemoryOf(VxlaValue value) {
  VXLA_RETURN_IF_ERROR(CheckHandle(value, "value"));
  DeviceMemory& memory = *value->content->value.memory();
  if (!memory.Pin()) return InvalidArgument("the value was donated to a run");
  memory.Unpin();
  return &memory;
}

Status CheckDonationsApart(const Executable& program, std::span<const Argument> arguments) {
  if (program.depends_on_sizes()) return OkStatus();  // imported values have fixed sizes
  const std::vector<PlanParameter>& parameters = program.plan().parameters;
  const auto donates = [&](const PlanParameter& parameter) {
    return parameter.donated_to >= 0 && !arguments[parameter.number].keep;
  };
  if (std::ranges::none_of(parameters, donates)) return OkStatus();
  std::vector<BoundSpan> spans;
  std::vector<const DeviceMemory*> seen;
  uint32_t leaf = 0;
  for (const Argument& argument : arguments) {
    for (const DeviceBuffer& value : argument.leaves) {
      DeviceMemory& memory = *value.memory();
      const uint32_t number = leaf++;
      // One value twice, and one that is gone, the run itself tells.
      if (std::ranges::find(seen, &memory) != seen.end() || !memory.Pin()) continue;
      seen.push_back(&memory);
      const vulkan::HostRange range = vulkan::RangeOf(memory.buffer());
      memory.Unpin();
      const uint64_t size_bytes = value.shape().SizeBytes() == 0 ? 0 : range.size_bytes;
      spans.push_back(SpanOf(range, size_bytes, number, donates(parameters[number])));
    }
  }
  const auto found = FindOverlap(spans);
  if (!found) return OkStatus();
  return InvalidArgument("argument {}: its memory overlaps that of argument {}, and one of them is donated to a result",
                         found->second, found->first);
}

namespace {

Result<CValue> Import(VxlaDevice device, const VxlaImportInfo& info) {
  VXLA_RETURN_IF_ERROR(CheckFlags(info.flags, 0));
  VXLA_ASSIGN_OR_RETURN(const VxlaArray array, ReadArray(info.array));
  VXLA_ASSIGN_OR_RETURN(const Shape shape, ShapeOf(array));
  VXLA_RETURN_IF_ERROR(CheckShape(shape));
  VXLA_RETURN_IF_ERROR(CheckStatic(shape));
  Device& on = *device->device;
  const BindingRules rules = RulesOf(on, shape);
  VXLA_RETURN_IF_ERROR(CheckBinding("value", info.binding, rules));
  VXLA_RETURN_IF_ERROR(CheckWithin(on, "value", info.binding));
  VXLA_ASSIGN_OR_RETURN(const Moment ready, ReadyAfter(on, info.wait));
  return CValue{ClientNow(device)->Lend(shape, vulkan::WrapBuffer(RangeOf(on, info.binding, rules.usage)), ready),
                CArray(shape)};
}

Result<vulkan::HostSemaphore> PointFor(VxlaValue value, const VxlaSemaphore& semaphore, const char* what) {
  if (!value->owner->adopted)
    return InvalidArgument("value: its device is vxla's own, and no VkSemaphore of the host's lives on it");
  if (semaphore.semaphore == VK_NULL_HANDLE) return InvalidArgument("{}: its VkSemaphore is NULL", what);
  return PointOf(semaphore);
}

Status Transfer(VxlaValue value, vulkan::Ownership half, uint32_t family, const VxlaSemaphore* semaphore) {
  VXLA_ASSIGN_OR_RETURN(DeviceMemory * memory, MemoryOf(value));
  const bool release = half == vulkan::Ownership::kRelease;
  if (release) VXLA_RETURN_IF_ERROR(CheckOwned(value, "value"));
  vulkan::HostSemaphore point;
  if (semaphore != nullptr) VXLA_SET_OR_RETURN(point, PointFor(value, *semaphore, release ? "signal" : "wait"));
  VXLA_ASSIGN_OR_RETURN(const Moment after, memory->AwaitUses());
  VXLA_ASSIGN_OR_RETURN(const TimePoint done,
                        vulkan::TransferOwnership(memory->device(), memory->buffer(), half, family, after,
                                                  semaphore == nullptr ? nullptr : &point));
  memory->NoteUse(done);
  if (!release) memory->set_ready(Event(memory->pool().waiter(), done));
  value->content->released = release;
  return OkStatus();
}

HostBinding BindingFor(const char* kind, size_t index, const Plan& plan, int buffer) {
  HostBinding leaf;
  leaf.name = fmt::format("{} {}", kind, index);
  const PlanBuffer& planned = plan.buffers[buffer];
  if (planned.first_use >= 0) leaf.size_bytes = RoundUp(planned.size_bytes, RecordingNeeds::kUnitBytes);
  leaf.buffer = vulkan::WrapBuffer({});
  return leaf;
}

// `scratch`: of all uses, by block; none: the first use's own.
Result<RecordedUse> MakeUse(VxlaDevice device, const CExecutable& program, const RecordedSteps& steps,
                            std::vector<std::shared_ptr<Buffer>> scratch) {
  RecordedUse made;
  const Plan& plan = program.executable->plan();
  for (size_t i = 0; i < plan.parameters.size(); ++i)
    made.arguments.push_back(BindingFor("argument", i, plan, plan.parameters[i].buffer));
  for (size_t i = 0; i < plan.results.size(); ++i) {
    HostBinding& leaf = made.results.emplace_back(BindingFor("result", i, plan, plan.results[i].buffer));
    const Placement& placement = plan.buffers[plan.results[i].buffer].placement;
    leaf.written = true;
    if (placement.space != MemorySpace::kParameter) continue;
    leaf.argument = placement.index;
    made.arguments[leaf.argument].written = true;
  }
  made.bound_arguments.resize(made.arguments.size());
  made.bound_results.resize(made.results.size());
  VXLA_ASSIGN_OR_RETURN(made.recording,
                        Recording::Create(program.executable, std::move(scratch), program.loop_iterations));
  if (steps.loops != 0) made.loops = vulkan::WrapBuffer({});
  made.commands = vulkan::WrapCommands(*device->device);
#ifndef __APPLE__  // Metal has no events
  if (device->keeps_destroyed) VXLA_SET_OR_RETURN(made.mark, vulkan::FinishMark::Create(*device->device));
#endif
  return made;
}

Result<CRecording> MakeRecording(VxlaDevice device, const CExecutable& program, const RecordedSteps& steps,
                                 const VxlaRecordingInfo& info) {
  VXLA_RETURN_IF_ERROR(CheckFlags(info.flags, 0));
  constexpr uint64_t kMostUses = 1024;
  if (info.uses > kMostUses)
    return InvalidArgument("uses {}: a recording has at most {} in command buffers at a time", info.uses, kMostUses);
  CRecording made;
  made.executable = program.executable;
  const Plan& plan = program.executable->plan();
  const VxlaRecordingNeeds needs = Describe(*device->device, plan, steps);
  made.loop_count = needs.loop_count;
  made.step_count = needs.step_count;
  made.argument_usage = needs.argument_usage;
  made.result_usage = needs.result_usage;
  made.alignment = needs.binding_alignment;
  made.ranges.resize(plan.parameters.size() + plan.results.size());
  made.spans.reserve(made.ranges.size() + 1);
  VXLA_ASSIGN_OR_RETURN(auto scratch, ScratchOf(*device->device, plan, info.scratch, needs.scratch_usage));
  if (!scratch.empty()) {
    made.scratch = RangeOf(*device->device, *info.scratch, needs.scratch_usage);
    made.scratch.size_bytes = needs.scratch_size;
  }
  for (uint64_t i = 0; i < std::max<uint64_t>(info.uses, 1); ++i) {
    VXLA_ASSIGN_OR_RETURN(RecordedUse use, MakeUse(device, program, steps, scratch));
    if (i == 0) scratch = use.recording->scratch();
    made.uses.push_back(std::move(use));
  }
  VXLA_ASSIGN_OR_RETURN(made.images, RecordedImages::Create(device, program, info, ImportUsage(*device->device)));
  return made;
}

// Scratch, and the memory of images' arrays, are those of the use before this one.
Status OrderUses(VkCommandBuffer commands, RecordedUse& use) {
  use.commands->Attach(commands, false, false);
  use.recording->OrderBehind(*use.commands);
  return use.commands->Detach();
}

// Those of the host's that a part writes.
class PartTimestamps {
 public:
  PartTimestamps(Device& device, VkCommandBuffer commands, const VxlaBindings& bindings, size_t step_count)
      : device_(device), commands_(commands), bindings_(bindings), steps_(bindings.query_count == step_count + 1) {}
  bool of_steps() const { return steps_; }
  void Write(size_t query) const {
    vulkan::WriteTimestamp(device_, commands_, bindings_.timestamps,
                           bindings_.first_query + static_cast<uint32_t>(query));
  }
  void WriteOfProgram(size_t query) const {
    if (!steps_ && bindings_.query_count != 0) Write(query);
  }

 private:
  Device& device_;
  VkCommandBuffer commands_;
  const VxlaBindings& bindings_;
  bool steps_;
};

// From `begin` to `end`, with a timestamp behind each step where the host asks for these.
Status RecordSteps(RecordedUse& use, size_t begin, size_t end, const PartTimestamps& times) {
  if (!times.of_steps()) return use.recording->Record(begin, end, *use.commands);
  size_t query = use.recording->StepsBefore(begin);
  if (begin == 0) times.Write(query);
  return use.recording->Record(begin, end, *use.commands, [&] { times.Write(++query); });
}

// The part that takes so long, from where the last one ended; without a limit all of it.
Status RecordPart(VkCommandBuffer commands, VxlaRecording handle, VxlaBindings bindings,
                  std::optional<double> seconds) {
  CRecording& recording = *handle->content;
  if (recording.images != nullptr) {
    VXLA_ASSIGN_OR_RETURN(bindings, recording.images->Bind(bindings));
  } else {
    VXLA_RETURN_IF_ERROR(CheckNoImages(bindings));
  }
  const size_t begin = recording.next;
  if (begin == 0) recording.current = recording.upcoming;
  VXLA_RETURN_IF_ERROR(CheckBindings(*handle->owner->device, recording, bindings));
  if (begin == 0 && recording.use().mark != nullptr && recording.use().mark->IsPending()) {
    return InvalidArgument(
        "recording: more than {} of its uses would be in command buffers that the device has not finished with "
        "(VxlaRecordingInfo::uses)",
        recording.uses.size());
  }
  recording.next = 0;  // a part that fails ends the program
  recording.upcoming = (recording.current + 1) % recording.uses.size();
  RecordedUse& use = recording.use();
  const bool moved = Bind(use, recording.ranges);
  use.recorded &= !moved;  // until all of it has gone well
  if (moved && begin != 0) return InvalidArgument("bindings: they changed between two parts of a program");
  if (use.loops != nullptr) {
    const vulkan::HostRange& loops = recording.loops;
    use.loops->Retarget(loops.buffer, static_cast<int64_t>(loops.offset_bytes), static_cast<int64_t>(loops.size_bytes),
                        loops.address);
    use.recording->BindLoops({use.loops.get(), 0, static_cast<int64_t>(loops.size_bytes)});
  }
  const size_t end = seconds ? use.recording->EndWithin(begin, *seconds) : use.recording->size();
  const PartTimestamps times(*handle->owner->device, commands, bindings, recording.step_count);
  if (begin == 0) times.WriteOfProgram(0);
  if (begin == 0 && recording.uses.size() > 1) VXLA_RETURN_IF_ERROR(OrderUses(commands, use));
  if (recording.images != nullptr && begin == 0) VXLA_RETURN_IF_ERROR(recording.images->RecordArguments(commands));
  use.commands->Attach(commands, !use.recorded, begin != 0);
  const Status status = RecordSteps(use, begin, end, times);
  VXLA_RETURN_IF_ERROR(use.commands->Detach());
  VXLA_RETURN_IF_ERROR(status);
  recording.next = end == use.recording->size() ? 0 : end;
  use.recorded |= recording.next == 0;
  if (recording.next != 0) return OkStatus();
  if (recording.images != nullptr) VXLA_RETURN_IF_ERROR(recording.images->RecordResults(commands));
  times.WriteOfProgram(1);
  return use.mark == nullptr ? OkStatus() : use.mark->Record(commands);
}

// An executable that can be recorded, made.
struct RecordableProgram {
  std::shared_ptr<Executable> made;
  std::shared_ptr<const RecordedSteps> steps;
};
Result<RecordableProgram> RecordableOf(VxlaExecutable executable) {
  RecordableProgram program;
  VXLA_ASSIGN_OR_RETURN(program.made, ExecutableOf(executable));
  VXLA_RETURN_IF_ERROR(CheckRecordable(*program.made, executable->content->loop_iterations));
  program.steps = StepsOf(executable, program.made->plan());
  return program;
}

Status CheckIndex(const char* what, uint32_t index, size_t count) {
  if (index < count) return OkStatus();
  return InvalidArgument("{} {}: the program has {}", what, index, count);
}

Result<VxlaBindings> ReadBindings(const VxlaBindings* bindings) {
  return ReadStruct(bindings, "bindings", offsetof(VxlaBindings, argument_images));
}

Status Rebind(VxlaRecording handle, const VxlaBindings& bindings) {
  CRecording& recording = *handle->content;
  const Plan& plan = recording.use().recording->plan();
  if (plan.bindings == BindingMode::kDescriptors)
    return Unsupported("a recording under descriptors cannot be bound again: record it");
  if (const RecordingNeeds needs = NeedsOf(plan); needs.copies_arguments || needs.copies_results)
    return Unsupported("a program that copies its arguments or results cannot be bound again: record it");
  if (recording.images != nullptr) return Unsupported("a recording with images cannot be bound again: record it");
  if (recording.uses.size() > 1) return Unsupported("a recording of several uses cannot be bound again: record it");
  if (recording.loop_count != 0)
    return Unsupported("a recording of loops with a stated number of iterations cannot be bound again: record it");
  VXLA_RETURN_IF_ERROR(CheckNoImages(bindings));
  VXLA_RETURN_IF_ERROR(CheckBindings(*handle->owner->device, recording, bindings));
  Bind(recording.use(), recording.ranges);
  return OkStatus();
}

}  // namespace
}  // namespace VXLA_NAMESPACE

using namespace vxla;  // NOLINT: this file is the C side of that namespace

VxlaCode vxlaQueryRequirements(PFN_vkGetInstanceProcAddr get_instance_proc_addr, VkInstance instance,
                               VkPhysicalDevice physical_device, uint32_t api_version, VxlaRequirements* requirements,
                               VxlaMessage* message) {
  return Call(message, [&]() -> Status {
    if (get_instance_proc_addr == nullptr) return InvalidArgument("vkGetInstanceProcAddr: NULL");
    VXLA_RETURN_IF_ERROR(CheckNotNull(instance, "instance"));
    VXLA_RETURN_IF_ERROR(CheckNotNull(physical_device, "physical_device"));
    VXLA_ASSIGN_OR_RETURN(const vulkan::DeviceRequirements asked,
                          vulkan::QueryRequirements(get_instance_proc_addr, instance, physical_device, api_version));
    VXLA_RETURN_IF_ERROR(
        WriteStruct(Describe(asked), requirements, "requirements", offsetof(VxlaRequirements, float8)));
    Link(*requirements, asked.api_version);
    return OkStatus();
  });
}

VxlaCode vxlaAdoptDevice(const VxlaAdoptInfo* info, VxlaDevice* device, VxlaMessage* message) {
  return CallFor(device, "device", message, [&]() -> Result<VxlaDevice> {
    VXLA_ASSIGN_OR_RETURN(const VxlaAdoptInfo read, ReadStruct(info, "info", offsetof(VxlaAdoptInfo, queues)));
    return Adopt(read);
  });
}

VxlaCode vxlaImportValue(VxlaDevice device, const VxlaImportInfo* info, VxlaValue* value, VxlaMessage* message) {
  return CallFor(value, "value", message, [&]() -> Result<VxlaValue> {
    VXLA_RETURN_IF_ERROR(CheckHandle(device, "device"));
    if (!device->adopted) return InvalidArgument("device: it is vxla's own, and no VkBuffer of the host's lives on it");
    VXLA_ASSIGN_OR_RETURN(const VxlaImportInfo read, ReadStruct(info, "info"));
    VXLA_ASSIGN_OR_RETURN(CValue imported, Import(device, read));
    return NewHandle<VxlaValue_T>(device, std::move(imported));
  });
}

VxlaCode vxlaExportValue(VxlaValue value, VxlaBinding* binding, VxlaMessage* message) {
  return Call(message, [&]() -> Status {
    VXLA_RETURN_IF_ERROR(CheckNotNull(binding, "binding"));
    VXLA_ASSIGN_OR_RETURN(const DeviceMemory* memory, MemoryOf(value));
    const vulkan::HostRange range = vulkan::RangeOf(memory->buffer());
    *binding = {range.buffer, range.offset_bytes, range.size_bytes, range.address, ImportUsage(memory->device())};
    return OkStatus();
  });
}

VxlaCode vxlaSignalValue(VxlaValue value, const VxlaSemaphore* signal, VxlaMessage* message) {
  return Call(message, [&]() -> Status {
    VXLA_ASSIGN_OR_RETURN(const DeviceMemory* memory, MemoryOf(value));
    VXLA_RETURN_IF_ERROR(CheckNotNull(signal, "signal"));
    VXLA_ASSIGN_OR_RETURN(const vulkan::HostSemaphore point, PointFor(value, *signal, "signal"));
    VXLA_ASSIGN_OR_RETURN(const Moment after, memory->AwaitUses());
    return vulkan::Link(memory->device(), after, nullptr, &point).status();
  });
}

VxlaCode vxlaReleaseValue(VxlaValue value, uint32_t queue_family, const VxlaSemaphore* signal, VxlaMessage* message) {
  return Call(message, [&] { return Transfer(value, vulkan::Ownership::kRelease, queue_family, signal); });
}

VxlaCode vxlaAcquireValue(VxlaValue value, uint32_t queue_family, const VxlaSemaphore* wait, VxlaMessage* message) {
  return Call(message, [&] { return Transfer(value, vulkan::Ownership::kAcquire, queue_family, wait); });
}

VxlaCode vxlaDescribeRecording(VxlaExecutable executable, VxlaRecordingNeeds* needs, VxlaMessage* message) {
  return Call(message, [&]() -> Status {
    VXLA_ASSIGN_OR_RETURN(const RecordableProgram program, RecordableOf(executable));
    return WriteStruct(Describe(*executable->owner->device, program.made->plan(), *program.steps), needs, "needs",
                       offsetof(VxlaRecordingNeeds, loop_count));
  });
}

VxlaCode vxlaDescribeStep(VxlaExecutable executable, uint32_t index, VxlaStep* step, VxlaMessage* message) {
  return Call(message, [&]() -> Status {
    VXLA_ASSIGN_OR_RETURN(const RecordableProgram program, RecordableOf(executable));
    VXLA_RETURN_IF_ERROR(CheckIndex("step", index, program.steps->steps.size()));
    const RecordedSteps::Step& found = program.steps->steps[index];
    return WriteStruct(VxlaStep{0, 0, found.name.c_str(), found.seconds * 1e6}, step, "step");
  });
}

VxlaCode vxlaDescribeScratch(VxlaExecutable executable, uint32_t index, VxlaScratchRange* range, VxlaMessage* message) {
  return Call(message, [&]() -> Status {
    VXLA_ASSIGN_OR_RETURN(const RecordableProgram program, RecordableOf(executable));
    VXLA_RETURN_IF_ERROR(CheckIndex("scratch range", index, program.steps->scratch.size()));
    const RecordedSteps::Scratch& found = program.steps->scratch[index];
    return WriteStruct(
        VxlaScratchRange{0, static_cast<uint32_t>(found.first_step), static_cast<uint32_t>(found.last_step), 0,
                         static_cast<uint64_t>(found.offset_bytes), static_cast<uint64_t>(found.size_bytes)},
        range, "range");
  });
}

VxlaCode vxlaCreateRecording(VxlaExecutable executable, const VxlaRecordingInfo* info, VxlaRecording* recording,
                             VxlaMessage* message) {
  return CallFor(recording, "recording", message, [&]() -> Result<VxlaRecording> {
    VXLA_ASSIGN_OR_RETURN(RecordableProgram there, RecordableOf(executable));
    VXLA_ASSIGN_OR_RETURN(const VxlaRecordingInfo read,
                          ReadStruct(info, "info", offsetof(VxlaRecordingInfo, argument_count)));
    CExecutable program = *executable->content;
    static_cast<CProgram&>(program) = {std::move(there.made), nullptr};
    VXLA_ASSIGN_OR_RETURN(CRecording made, MakeRecording(executable->owner, program, *there.steps, read));
    return NewHandle<VxlaRecording_T>(executable->owner, std::move(made));
  });
}

void vxlaDestroyRecording(VxlaRecording recording) { DestroyUser(recording); }

VxlaCode vxlaCmdExecute(VkCommandBuffer commands, VxlaRecording recording, const VxlaBindings* bindings,
                        VxlaMessage* message) {
  return Call(message, [&]() -> Status {
    VXLA_RETURN_IF_ERROR(CheckNotNull(commands, "commands"));
    VXLA_RETURN_IF_ERROR(CheckHandle(recording, "recording"));
    VXLA_ASSIGN_OR_RETURN(const VxlaBindings read, ReadBindings(bindings));
    recording->content->next = 0;
    return RecordPart(commands, recording, read, std::nullopt);
  });
}

VxlaCode vxlaCmdExecutePart(VkCommandBuffer commands, VxlaRecording recording, const VxlaBindings* bindings,
                            double microseconds, int32_t* finished, VxlaMessage* message) {
  return Call(message, [&]() -> Status {
    VXLA_RETURN_IF_ERROR(CheckNotNull(commands, "commands"));
    VXLA_RETURN_IF_ERROR(CheckNotNull(finished, "finished"));
    VXLA_RETURN_IF_ERROR(CheckHandle(recording, "recording"));
    VXLA_ASSIGN_OR_RETURN(const VxlaBindings read, ReadBindings(bindings));
    if (std::isnan(microseconds)) return InvalidArgument("microseconds: not a number");
    VXLA_RETURN_IF_ERROR(RecordPart(commands, recording, read, microseconds * 1e-6));
    *finished = recording->content->next == 0 ? 1 : 0;
    return OkStatus();
  });
}

VxlaCode vxlaRebind(VxlaRecording recording, const VxlaBindings* bindings, VxlaMessage* message) {
  return CallOn(recording, "recording", message, [&]() -> Status {
    VXLA_ASSIGN_OR_RETURN(const VxlaBindings read, ReadBindings(bindings));
    return Rebind(recording, read);
  });
}
