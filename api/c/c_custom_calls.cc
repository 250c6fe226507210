// What C programs register for custom calls.

#include <cstring>
#include <deque>
#include <utility>

#include "api/c/c_compiler.h"
#include "backend/cpu/reference/library/custom_call.h"
#include "core/ir/module.h"
#include "core/mlir/reader/config_dictionary.h"

namespace VXLA_NAMESPACE {
namespace {

Result<std::string> NameOf(const char* name, uint32_t flags) {
  VXLA_RETURN_IF_ERROR(CheckFlags(flags, 0));
  VXLA_RETURN_IF_ERROR(CheckNotNull(name, "name"));
  if (*name == '\0') return InvalidArgument("name: it is empty");
  return std::string(name);
}

// The registry of what is compiled from now on: the last one and what `add` adds.
void Extend(VxlaDevice device, auto&& add) {
  const std::lock_guard lock(device->mutex);
  auto registry = device->registries.empty() ? std::make_shared<CustomCallRegistry>()
                                             : std::make_shared<CustomCallRegistry>(*device->registries.back());
  add(*registry);
  device->client = ClientOf(device->device, registry.get());
  device->registries.push_back(std::move(registry));
}

// One side's arrays of a call. The shapes are the instruction's; bytes of dynamic arrays hold their live sizes, too.
struct SideOfCall {
  void Add(const Shape& shape) {
    for (const Shape* leaf : FlattenTuple(shape)) {
      VxlaArray described = arrays.emplace_back(*leaf).Describe();
      described.struct_size = sizeof(VxlaArray);
      structs.push_back(described);
    }
  }
  // When all are there.
  const VxlaArray* const* Pointers() {
    for (const VxlaArray& array : structs) pointers.push_back(&array);
    return pointers.data();
  }
  std::deque<CArray> arrays;
  std::deque<VxlaArray> structs;
  std::vector<const VxlaArray*> pointers;
};

void CallHostFunction(const VxlaFunctionInfo& info, const Instruction& instruction, std::span<const Literal> inputs,
                      Literal& result, CustomCallStatus& status) {
  SideOfCall operand_side, result_side;
  std::vector<VxlaConstBytes> operands;
  for (size_t k = 0; k < inputs.size(); ++k) {
    operand_side.Add(instruction.operand(k)->shape());
    for (const Literal* leaf : FlattenLiteral(inputs[k]))
      operands.push_back({leaf->bytes().data(), leaf->bytes().size()});
  }
  result_side.Add(instruction.shape());
  std::vector<VxlaBytes> results;
  for (const Literal* leaf : FlattenLiteral(result)) {
    // Of the result, which is the call's to write.
    const std::span<std::byte> bytes = const_cast<Literal*>(leaf)->mutable_bytes();
    results.push_back({bytes.data(), bytes.size()});
  }
  const std::string config = ConfigText(instruction.common().backend_config.text);
  VxlaHostCall call = {};
  call.struct_size = sizeof(call);
  call.operand_count = static_cast<uint32_t>(operands.size());
  call.result_count = static_cast<uint32_t>(results.size());
  call.operand_arrays = operand_side.Pointers();
  call.operands = operands.data();
  call.result_arrays = result_side.Pointers();
  call.results = results.data();
  call.backend_config = config.c_str();
  call.backend_config_size = config.size();
  if (const char* const why = info.function(info.user_data, &call); why != nullptr) status.SetFailure(why);
}

}  // namespace

Status RegisterKernel(VxlaDevice device, const VxlaKernelInfo& info) {
  VXLA_ASSIGN_OR_RETURN(const std::string name, NameOf(info.name, info.flags));
  VXLA_RETURN_IF_ERROR(CheckNotNull(info.code, "the kernel's code"));
  const auto* const code = static_cast<const char*>(info.code);
  CustomKernel kernel;
  kernel.file = info.file != nullptr ? info.file : name;
  kernel.text.assign(code, info.size_bytes != 0 ? info.size_bytes : std::strlen(code));
  if (info.rules != nullptr) kernel.rules = info.rules;
  constexpr uint32_t kMagic = 0x07230203;
  uint32_t first = 0;
  std::memcpy(&first, kernel.text.data(), std::min(kernel.text.size(), sizeof(first)));
  if (first == kMagic) kernel.language = CustomKernel::Language::kSpirv;
  Extend(device, [&](CustomCallRegistry& registry) { registry.RegisterKernel(name, std::move(kernel)); });
  return OkStatus();
}

Status RegisterFunction(VxlaDevice device, const VxlaFunctionInfo& info) {
  VXLA_ASSIGN_OR_RETURN(const std::string name, NameOf(info.name, info.flags));
  if ((info.function == nullptr) == (info.symbol == nullptr)) {
    return InvalidArgument("{}: one of function and symbol is needed, and {} there", name,
                           info.symbol == nullptr ? "none is" : "both are");
  }
  Extend(device, [&](CustomCallRegistry& registry) {
    if (info.symbol != nullptr) return registry.RegisterSymbol(name, reinterpret_cast<void*>(info.symbol));
    registry.RegisterEvaluator(
        name, [info](const Instruction& instruction, std::span<const Literal> inputs, Literal& result,
                     CustomCallStatus& status) { CallHostFunction(info, instruction, inputs, result, status); });
  });
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE
