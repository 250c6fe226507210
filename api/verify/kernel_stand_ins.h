// Stand-ins: where a program's custom call has a kernel and no function, the kernel's own result stands for the call on
// the reference too, so that a comparison can look at everything else. In shader math it stands for every kernel: what
// differs there is not the kernel's doing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/cpu/reference/library/custom_call.h"
#include "core/ir/module.h"
#include "scheduler/runtime/client.h"

namespace VXLA_NAMESPACE {

class KernelStandIns {
 public:
  enum class For : uint8_t { kReference, kShaderMath };
  // `given` may be null.
  KernelStandIns(const CustomCallRegistry* given, const Module& module, For what);
  // The registry with stand-ins; the given one if nothing needs any.
  const CustomCallRegistry* registry() const { return client_ == nullptr ? given_ : &registry_; }
  // The device whose kernels stand in; before anything runs.
  void Use(std::shared_ptr<Client> client) const {
    if (client_ != nullptr) *client_ = std::move(client);
  }
  // What nothing checks, a line for each.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  const CustomCallRegistry* given_;
  CustomCallRegistry registry_;
  std::shared_ptr<std::shared_ptr<Client>> client_;  // null: no stand-ins
  std::vector<std::string> notes_;
};

}  // namespace VXLA_NAMESPACE
