// Weights: what an executable's constants are bound to, and values that are replaced in place.
#include <algorithm>

#include "api/c/c_handles.h"

namespace VXLA_NAMESPACE {
namespace {

Result<CWeights*> WeightsOf(VxlaExecutable executable) {
  VXLA_RETURN_IF_ERROR(CheckHandle(executable, "executable"));
  static CWeights none;
  const std::shared_ptr<CWeights>& weights = executable->content->weights;
  return weights != nullptr ? weights.get() : &none;
}

Result<CWeights*> WithWeight(VxlaExecutable executable, uint32_t index) {
  VXLA_ASSIGN_OR_RETURN(CWeights* const weights, WeightsOf(executable));
  if (index >= weights->names.size()) return InvalidArgument("weight {}: there are {}", index, weights->names.size());
  return weights;
}

Status Bind(CWeights& weights, uint32_t index, VxlaValue value, VxlaDevice owner) {
  VXLA_RETURN_IF_ERROR(CheckHandle(value, "value"));
  VXLA_RETURN_IF_ERROR(CheckOwned(value, "value"));
  const DeviceBuffer& buffer = value->content->value;
  const Shape& wanted = weights.arrays[index].shape;
  if (buffer.shape() != wanted) {
    return InvalidArgument("weight {}: {} given, the program wants {}", index, buffer.shape().ToString(),
                           wanted.ToString());
  }
  if (value->owner->device != owner->device) return InvalidArgument("weight {}: the value is another device's", index);
  CWeights::Bound bound{buffer, buffer.Hold()};
  if (bound.hold == nullptr) return InvalidArgument("weight {}: the value was donated to a run", index);
  const std::lock_guard lock(weights.mutex);
  std::swap(weights.bound[index], bound);
  return OkStatus();
}

}  // namespace
}  // namespace VXLA_NAMESPACE

using namespace vxla;  // NOLINT: this file is the C side of that namespace

VxlaCode vxlaDescribeWeight(VxlaExecutable executable, uint32_t index, VxlaArray* array, const char** name,
                            VxlaMessage* message) {
  return Call(message, [&]() -> Status {
    if (name != nullptr) *name = nullptr;
    VXLA_ASSIGN_OR_RETURN(const CWeights* const weights, WithWeight(executable, index));
    if (array != nullptr) {
      VXLA_RETURN_IF_ERROR(
          WriteStruct(weights->arrays[index].Describe(), array, "array", offsetof(VxlaArray, dynamic)));
    }
    if (name != nullptr) *name = weights->names[index].c_str();
    return OkStatus();
  });
}

VxlaCode vxlaFindWeight(VxlaExecutable executable, const char* name, uint32_t* index, VxlaMessage* message) {
  return CallFor(index, "index", message, [&]() -> Result<uint32_t> {
    VXLA_RETURN_IF_ERROR(CheckNotNull(name, "name"));
    VXLA_ASSIGN_OR_RETURN(const CWeights* const weights, WeightsOf(executable));
    const auto found = std::ranges::find(weights->names, name);
    if (found == weights->names.end()) return NotFound("no weight is called '{}', of {}", name, weights->names.size());
    return static_cast<uint32_t>(found - weights->names.begin());
  });
}

VxlaCode vxlaGetWeight(VxlaExecutable executable, uint32_t index, VxlaValue* value, VxlaMessage* message) {
  return CallFor(value, "value", message, [&]() -> Result<VxlaValue> {
    VXLA_ASSIGN_OR_RETURN(CWeights* const weights, WithWeight(executable, index));
    DeviceBuffer bound;
    {
      const std::lock_guard lock(weights->mutex);
      bound = weights->bound[index].value;
    }
    return NewHandle<VxlaValue_T>(executable->owner, CValue{std::move(bound), weights->arrays[index]});
  });
}

VxlaCode vxlaBindWeight(VxlaExecutable executable, uint32_t index, VxlaValue value, VxlaMessage* message) {
  return Call(message, [&]() -> Status {
    VXLA_ASSIGN_OR_RETURN(CWeights* const weights, WithWeight(executable, index));
    return Bind(*weights, index, value, executable->owner);
  });
}

VxlaCode vxlaWriteValue(VxlaValue value, const void* data, uint64_t size_bytes, VxlaEvent* done, VxlaMessage* message) {
  return Call(message, [&]() -> Status {
    if (done != nullptr) *done = nullptr;
    VXLA_RETURN_IF_ERROR(CheckHandle(value, "value"));
    VXLA_RETURN_IF_ERROR(CheckOwned(value, "value"));
    const DeviceBuffer& buffer = value->content->value;
    if (const auto size = static_cast<uint64_t>(buffer.shape().SizeBytes()); size_bytes != size)
      return InvalidArgument("value: {} bytes given, it has {}", size_bytes, size);
    if (size_bytes != 0) VXLA_RETURN_IF_ERROR(CheckNotNull(data, "data"));
    const Event written = buffer.Write({static_cast<const std::byte*>(data), size_bytes});
    if (done == nullptr) return written.Await();
    GiveEvent(value->owner, written, done);
    return OkStatus();
  });
}
