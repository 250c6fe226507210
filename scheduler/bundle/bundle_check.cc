// What a bundle's tables must agree on before anything is done with them: whoever wrote the file, a run that follows
// them stays within the memory that the plan states.
#include <algorithm>

#include "core/limits.h"
#include "core/sizes/live_layout.h"
#include "scheduler/bundle/bundle.h"

namespace VXLA_NAMESPACE {
namespace {

// As many as a batch of iterations may record.
constexpr int64_t kMostBatchCommands = int64_t{1} << 20;
constexpr int64_t kMostBlockBytes = kMaxArrayBytes;

class Checker {
 public:
  Checker(const Bundle& bundle, const BundleVariant& variant)
      : bundle_(bundle), variant_(variant), plan_(variant.plan) {}

  Status Check() const {
    VXLA_RETURN_IF_ERROR(CheckBlocks());
    VXLA_RETURN_IF_ERROR(CheckSignature());
    VXLA_RETURN_IF_ERROR(CheckBuffers());
    VXLA_RETURN_IF_ERROR(CheckConstants());
    VXLA_RETURN_IF_ERROR(CheckKernels());
    VXLA_RETURN_IF_ERROR(CheckSteps());
    return CheckSegments(0, Count(plan_.segments), 0);
  }

 private:
  template <typename T>
  static int Count(const std::vector<T>& list) {
    return static_cast<int>(list.size());
  }
  template <typename T>
  static Status CheckIndex(int index, const std::vector<T>& list, const char* what) {
    if (index >= 0 && index < Count(list)) return OkStatus();
    return InvalidArgument("{} {}: there are {}", what, index, list.size());
  }
  static Status CheckWithin(int64_t offset, int64_t size, int64_t limit, const std::string& what) {
    if (offset >= 0 && size >= 0 && offset <= limit && size <= limit - offset) return OkStatus();
    return InvalidArgument("{}: {} bytes at {}, {} are there", what, size, offset, limit);
  }
  static Status CheckPart(const BundlePart& part, std::span<const std::byte> bytes, const char* what) {
    if (part.offset <= bytes.size() && part.size <= bytes.size() - part.offset) return OkStatus();
    return InvalidArgument("{}: {} bytes at {}, {} are there", what, part.size, part.offset, bytes.size());
  }

  Status CheckBlocks() const {
    for (const auto* blocks : {&plan_.constant_block_bytes, &plan_.scratch_block_bytes}) {
      for (const int64_t bytes : *blocks) {
        if (bytes < 0 || bytes > kMostBlockBytes)
          return InvalidArgument("a block of {} bytes, {} is the most", bytes, kMostBlockBytes);
      }
    }
    return OkStatus();
  }

  Status CheckSignature() const {
    std::vector<std::pair<int, const Shape*>> wanted;
    for (int number = 0; number < Count(bundle_.parameters); ++number) {
      for (const Shape* leaf : FlattenTuple(bundle_.parameters[number])) wanted.emplace_back(number, leaf);
    }
    if (wanted.size() != plan_.parameters.size())
      return InvalidArgument("{} arrays of parameters, the program has {}", plan_.parameters.size(), wanted.size());
    for (size_t leaf = 0; leaf < wanted.size(); ++leaf) {
      const PlanParameter& parameter = plan_.parameters[leaf];
      if (parameter.number != wanted[leaf].first || parameter.shape != *wanted[leaf].second)
        return InvalidArgument("array {} of the parameters is not the program's", leaf);
      VXLA_RETURN_IF_ERROR(CheckIndex(parameter.buffer, plan_.buffers, "a parameter's buffer"));
      VXLA_RETURN_IF_ERROR(CheckOwn(plan_.buffers[parameter.buffer], MemorySpace::kParameter, leaf, parameter.shape));
      if (parameter.donated_to != -1)
        VXLA_RETURN_IF_ERROR(CheckIndex(parameter.donated_to, plan_.results, "a donated parameter's result"));
    }
    const std::vector<const Shape*> results = FlattenTuple(bundle_.result);
    if (plan_.result_shape != bundle_.result || results.size() != plan_.results.size())
      return InvalidArgument("{} results, the program has {}", plan_.results.size(), results.size());
    for (size_t leaf = 0; leaf < results.size(); ++leaf) VXLA_RETURN_IF_ERROR(CheckResult(leaf, *results[leaf]));
    return OkStatus();
  }

  // A buffer that is all of an argument or a result.
  static Status CheckOwn(const PlanBuffer& buffer, MemorySpace space, size_t leaf, const Shape& shape) {
    const Placement wanted = {space, static_cast<int>(leaf), 0};
    if (buffer.placement == wanted && buffer.size_bytes == DeviceBytes(shape)) return OkStatus();
    return InvalidArgument("buffer {} of {} bytes is not {} {}, {}", buffer.name, buffer.size_bytes,
                           space == MemorySpace::kParameter ? "argument" : "result", leaf, shape.ToString());
  }

  Status CheckResult(size_t leaf, const Shape& shape) const {
    const PlanResult& result = plan_.results[leaf];
    if (result.shape != shape) return InvalidArgument("result {} is not the program's", leaf);
    VXLA_RETURN_IF_ERROR(CheckIndex(result.buffer, plan_.buffers, "a result's buffer"));
    const PlanBuffer& buffer = plan_.buffers[result.buffer];
    if (buffer.placement.space != MemorySpace::kParameter) return CheckOwn(buffer, MemorySpace::kResult, leaf, shape);
    VXLA_RETURN_IF_ERROR(CheckIndex(buffer.placement.index, plan_.parameters, "the argument that a result lies in"));
    const PlanParameter& donor = plan_.parameters[buffer.placement.index];
    if (donor.donated_to != static_cast<int>(leaf) || DeviceBytes(donor.shape) != DeviceBytes(shape) ||
        buffer.placement.offset_bytes != 0 || buffer.size_bytes != DeviceBytes(shape)) {
      return InvalidArgument("result {} lies in argument {}, which is not donated to it", leaf, buffer.placement.index);
    }
    return OkStatus();
  }

  Status CheckBuffers() const {
    for (const PlanBuffer& buffer : plan_.buffers) {
      const Placement& place = buffer.placement;
      int64_t limit = 0;
      switch (place.space) {
        case MemorySpace::kParameter:
          VXLA_RETURN_IF_ERROR(CheckIndex(place.index, plan_.parameters, "argument"));
          limit = DeviceBytes(plan_.parameters[place.index].shape);
          break;
        case MemorySpace::kResult:
          VXLA_RETURN_IF_ERROR(CheckIndex(place.index, plan_.results, "result"));
          limit = DeviceBytes(plan_.results[place.index].shape);
          break;
        case MemorySpace::kConstant:
          VXLA_RETURN_IF_ERROR(CheckIndex(place.index, plan_.constant_block_bytes, "block of constants"));
          limit = plan_.constant_block_bytes[place.index];
          break;
        case MemorySpace::kScratch:
          VXLA_RETURN_IF_ERROR(CheckIndex(place.index, plan_.scratch_block_bytes, "block of scratch"));
          limit = plan_.scratch_block_bytes[place.index];
          break;
      }
      VXLA_RETURN_IF_ERROR(CheckWithin(place.offset_bytes, buffer.size_bytes, limit, "buffer " + buffer.name));
    }
    return OkStatus();
  }

  Status CheckConstants() const {
    if (variant_.constants.size() != plan_.constants.size())
      return InvalidArgument("{} constants of {}", variant_.constants.size(), plan_.constants.size());
    for (size_t i = 0; i < plan_.constants.size(); ++i) {
      VXLA_RETURN_IF_ERROR(CheckPart(variant_.constants[i], bundle_.constants, "a constant"));
      VXLA_RETURN_IF_ERROR(CheckIndex(plan_.constants[i].buffer, plan_.buffers, "a constant's buffer"));
      const PlanBuffer& buffer = plan_.buffers[plan_.constants[i].buffer];
      const bool fits = buffer.placement.space == MemorySpace::kConstant &&
                        variant_.constants[i].size <= static_cast<uint64_t>(buffer.size_bytes);
      if (!fits) return InvalidArgument("constant {} does not fit its buffer {}", i, buffer.name);
    }
    return OkStatus();
  }

  Status CheckKernels() const {
    if (variant_.modules.size() != plan_.kernels.size())
      return InvalidArgument("{} modules of {} kernels", variant_.modules.size(), plan_.kernels.size());
    for (size_t i = 0; i < plan_.kernels.size(); ++i) {
      VXLA_RETURN_IF_ERROR(CheckPart(variant_.modules[i], bundle_.modules, "a module"));
      VXLA_RETURN_IF_ERROR(CheckArrays(plan_.kernels[i], i));
      if (variant_.modules[i].size % 4 != 0 || plan_.kernels[i].constants.size() < 3) {
        return InvalidArgument("kernel {}: a module of {} bytes with {} specialisation constants", i,
                               variant_.modules[i].size, plan_.kernels[i].constants.size());
      }
    }
    return OkStatus();
  }

  // Tensors bound as two arrays are so many that are written, at least one, and the rest.
  static Status CheckArrays(const KernelKey& kernel, size_t number) {
    const uint32_t written = kernel.written_array;
    if (written <= kernel.buffer_count && (written > 0 || kernel.piece_tensors == 0)) return OkStatus();
    return InvalidArgument("kernel {}: an array of {} tensors that are written, of {}", number, written,
                           kernel.buffer_count);
  }

  Status CheckSteps() const {
    if (plan_.kernel_of_step.size() != plan_.steps.size())
      return InvalidArgument("{} kernels of {} steps", plan_.kernel_of_step.size(), plan_.steps.size());
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      VXLA_RETURN_IF_ERROR(CheckIndex(plan_.kernel_of_step[i], plan_.kernels, "a step's kernel"));
      const KernelKey& kernel = plan_.kernels[plan_.kernel_of_step[i]];
      const Step& step = plan_.steps[i];
      if (step.bindings.size() != kernel.buffer_count || step.params.size() != kernel.param_count) {
        return InvalidArgument("step {}: {} bindings and {} parameters, its kernel takes {} and {}", i,
                               step.bindings.size(), step.params.size(), kernel.buffer_count, kernel.param_count);
      }
      for (const Binding& binding : step.bindings) VXLA_RETURN_IF_ERROR(CheckBound(binding.slice));
      for (size_t axis = 0; axis < 3; ++axis) {
        const uint32_t most = variant_.made_for.max_group_count[axis];
        if (step.groups[axis] == 0 || step.groups[axis] > most)
          return InvalidArgument("step {}: {} workgroups, 1 to {} are allowed", i, step.groups[axis], most);
      }
    }
    return OkStatus();
  }

  // A kernel's: it may touch whole units of 16 bytes, for which memory has room.
  Status CheckBound(const BufferSlice& slice) const {
    VXLA_RETURN_IF_ERROR(CheckSlice(slice, 0));
    const bool descriptors = plan_.bindings == BindingMode::kDescriptors;
    const int64_t alignment = descriptors ? std::max<int64_t>(1, variant_.made_for.storage_offset_alignment) : 1;
    const int64_t begin = plan_.buffers[slice.buffer].placement.offset_bytes + slice.offset_bytes;
    if (slice.size_bytes == 0 || begin % alignment == 0) return OkStatus();
    return InvalidArgument("a part of buffer {} begins at {}, no multiple of {}", plan_.buffers[slice.buffer].name,
                           begin, alignment);
  }

  // Of a buffer that has memory when the plan runs, with so many bytes at least.
  Status CheckSlice(const BufferSlice& slice, int64_t least) const {
    VXLA_RETURN_IF_ERROR(CheckIndex(slice.buffer, plan_.buffers, "buffer"));
    const PlanBuffer& buffer = plan_.buffers[slice.buffer];
    VXLA_RETURN_IF_ERROR(
        CheckWithin(slice.offset_bytes, slice.size_bytes, buffer.size_bytes, "a part of buffer " + buffer.name));
    if (slice.size_bytes < least)
      return InvalidArgument("a part of buffer {}: {} bytes, {} are needed", buffer.name, slice.size_bytes, least);
    const Placement& place = buffer.placement;
    if (place.space == MemorySpace::kParameter) {
      const PlanParameter& parameter = plan_.parameters[place.index];
      if (plan_.buffers[parameter.buffer].first_use < 0 && parameter.donated_to < 0)
        return InvalidArgument("argument {} is used and said not to be", place.index);
    }
    const bool no_result = place.space == MemorySpace::kResult &&
                           plan_.buffers[plan_.results[place.index].buffer].placement.space != MemorySpace::kResult;
    if (no_result) return InvalidArgument("buffer {} is result {}, which lies elsewhere", buffer.name, place.index);
    return OkStatus();
  }

  Status CheckCommand(const Dispatch& dispatch) const {
    VXLA_RETURN_IF_ERROR(CheckIndex(dispatch.step, plan_.steps, "step"));
    const KernelKey& kernel = plan_.kernels[plan_.kernel_of_step[dispatch.step]];
    const auto& groups = plan_.steps[dispatch.step].groups;
    const bool parts = dispatch.parts >= 1 && dispatch.part >= 0 && dispatch.part < dispatch.parts &&
                       (dispatch.parts == 1 || kernel.in_parts) &&
                       static_cast<uint32_t>(dispatch.parts) <= std::max(1u, std::ranges::max(groups));
    if (!parts) return InvalidArgument("part {} of {} of step {}", dispatch.part, dispatch.parts, dispatch.step);
    if (dispatch.groups_at.buffer < 0) return OkStatus();
    VXLA_RETURN_IF_ERROR(CheckSlice(dispatch.groups_at, 12));
    if ((plan_.buffers[dispatch.groups_at.buffer].placement.offset_bytes + dispatch.groups_at.offset_bytes) % 4 != 0)
      return InvalidArgument("step {}: counts of workgroups that are not at a multiple of 4", dispatch.step);
    return OkStatus();
  }
  Status CheckCommand(const CopyBytes& copy) const {
    VXLA_RETURN_IF_ERROR(CheckSlice(copy.source, 0));
    VXLA_RETURN_IF_ERROR(CheckSlice(copy.target, 0));
    if (copy.source.size_bytes == copy.target.size_bytes) return OkStatus();
    return InvalidArgument("a copy of {} bytes to {}", copy.source.size_bytes, copy.target.size_bytes);
  }
  Status CheckCommand(const Barrier&) const { return OkStatus(); }

  Status CheckSegments(int begin, int end, int depth) const {
    if (depth > kMaxCallDepth) return InvalidArgument("loops and branches nest deeper than {}", kMaxCallDepth);
    for (int i = begin; i < end; i = plan_.SegmentEnd(i)) {
      if (const auto* gpu = std::get_if<GpuCommands>(&plan_.segments[i])) {
        if (gpu->queue != 0) return InvalidArgument("segment {}: queue {}, not 0", i, gpu->queue);
        for (const GpuCommand& command : gpu->commands)
          VXLA_RETURN_IF_ERROR(std::visit([&](const auto& c) { return CheckCommand(c); }, command));
        continue;
      }
      const auto* decision = std::get_if<HostDecide>(&plan_.segments[i]);
      if (decision == nullptr) return InvalidArgument("segment {}: a step for the host", i);
      VXLA_RETURN_IF_ERROR(CheckDecision(*decision, i, end));
      for (int region = 0; region < Count(decision->region_ends); ++region) {
        const auto [first, last] = plan_.Region(i, region);
        VXLA_RETURN_IF_ERROR(CheckSegments(first, last, depth + 1));
      }
    }
    return OkStatus();
  }

  Status CheckDecision(const HostDecide& decision, int place, int end) const {
    const bool loop = decision.kind == HostDecide::Kind::kWhile;
    int last = place + 1;
    for (const int region_end : decision.region_ends) {
      if (region_end < last || region_end > end)
        return InvalidArgument("segment {}: a region that ends at {}, not in {} to {}", place, region_end, last, end);
      last = region_end;
    }
    if (decision.region_ends.empty() || (loop && decision.region_ends.size() != 2))
      return InvalidArgument("segment {}: {} regions", place, decision.region_ends.size());
    const bool asks = !loop || decision.trip_count < 0 || decision.ahead;
    if (asks) VXLA_RETURN_IF_ERROR(CheckSlice(decision.selector, decision.selector_is_pred ? 1 : 4));
    if (decision.trip_count < -1 || (!loop && (decision.ahead || decision.batch != 1)))
      return InvalidArgument("segment {}: {} trips in batches of {}", place, decision.trip_count, decision.batch);
    if (decision.batch == 1) return OkStatus();
    const auto [first, body_end] = plan_.Region(place, 1);
    const auto* body = body_end == first + 1 ? std::get_if<GpuCommands>(&plan_.segments[first]) : nullptr;
    const bool small = body != nullptr && decision.batch > 1 &&
                       decision.batch <= kMostBatchCommands / std::max(1, Count(body->commands));
    return small ? OkStatus() : InvalidArgument("segment {}: batches of {}", place, decision.batch);
  }

  const Bundle& bundle_;
  const BundleVariant& variant_;
  const Plan& plan_;
};

}  // namespace

Status CheckVariant(const Bundle& bundle, const BundleVariant& variant) { return Checker(bundle, variant).Check(); }

}  // namespace VXLA_NAMESPACE
