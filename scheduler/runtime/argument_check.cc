#include "scheduler/runtime/argument_check.h"

#include <fmt/format.h>

#include "core/sizes/live_sizes.h"
#include "scheduler/runtime/memory/buffer_pool.h"

namespace VXLA_NAMESPACE {
namespace {

Status CheckArgument(const Device& device, int number, const Shape& wanted, const Argument& argument) {
  const auto mismatch = [&](const std::string& given) {
    return InvalidArgument("argument {}: {} given, the program wants {}", number, given, wanted.ToString());
  };
  if (argument.literal != nullptr) {
    return FitsWithin(*argument.literal, wanted) ? OkStatus() : mismatch(argument.literal->shape().ToString());
  }
  const auto leaves = FlattenTuple(wanted);
  if (leaves.size() != argument.leaves.size()) return mismatch(fmt::format("{} device values", argument.leaves.size()));
  for (size_t i = 0; i < leaves.size(); ++i) {
    const DeviceBuffer& value = argument.leaves[i];
    if (value.memory() == nullptr) return InvalidArgument("argument {}: the device value holds nothing", number);
    if (&value.memory()->device() != &device)
      return InvalidArgument("argument {}: the value lives on another device", number);
    if (value.shape() == *leaves[i]) continue;
    if (!wanted.IsTuple()) return mismatch(value.shape().ToString());
    return InvalidArgument("argument {}, leaf {}: {} given, the program wants {}", number, i, value.shape().ToString(),
                           leaves[i]->ToString());
  }
  return OkStatus();
}

}  // namespace

Status CheckArguments(const Module& module, const Device& device, std::span<const Argument> arguments) {
  const Computation& entry = *module.entry();
  if (arguments.size() != entry.parameters().size()) {
    return InvalidArgument("{} arguments given, the program wants {}", arguments.size(), entry.parameters().size());
  }
  for (int i = 0; i < static_cast<int>(arguments.size()); ++i) {
    VXLA_RETURN_IF_ERROR(CheckArgument(device, i, entry.parameter(i)->shape(), arguments[i]));
  }
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE
