// Pass: a named rewriting of a module.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "core/module.h"

namespace vxla {

struct Pass {
  std::string_view name;
  std::function<Result<bool>(Module&)> run;  // whether it changed the module
};

// Runs them in order, up to `max_rounds` times while any of them changes something. Errors carry the pass's name.
Result<bool> RunPasses(Module& module, std::span<const Pass> passes, int max_rounds = 1);

}  // namespace vxla
