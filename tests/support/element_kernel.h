// A kernel with one statement per element, written by hand: for tests of shader text and of single functions.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "backend/step.h"

namespace VXLA_NAMESPACE::vulkan {

// `types` are the tensors' as LOAD and STORE call them; `body` handles element i.
inline KernelKey ElementKernel(const std::vector<std::string>& types, const std::string& body, uint32_t items = 1) {
  KernelKey key;
  key.algorithm = "elementwise/fused_loop.comp";
  for (size_t k = 0; k < types.size(); ++k) key.generated += fmt::format("TENSOR({}, {})\n", k, types[k]);
  key.generated += "void element(uint i) {\n  " + body + "\n}\n";
  key.constants = {64, 1, 1, items};
  key.buffer_count = static_cast<uint32_t>(types.size());
  key.param_count = 1;
  return key;
}

}  // namespace VXLA_NAMESPACE::vulkan
