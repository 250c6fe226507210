#include "core/passes/pass.h"

#include <fmt/format.h>

namespace vxla {

Result<bool> RunPasses(Module& module, std::span<const Pass> passes, int max_rounds) {
  bool changed_ever = false;
  for (int round = 0; round < max_rounds; ++round) {
    bool changed = false;
    for (const Pass& pass : passes) {
      Result<bool> result = pass.run(module);
      if (!result.ok()) return Status(result.status()).WithPrefix(fmt::format("{}: ", pass.name));
      changed |= *result;
    }
    changed_ever |= changed;
    if (!changed) break;
  }
  return changed_ever;
}

}  // namespace vxla
