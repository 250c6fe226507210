// Reducer: a reduction computation as kernels use it: what it accumulates in, what leaves it alone, its GLSL text.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backend/device_facts.h"
#include "core/module.h"

namespace VXLA_NAMESPACE::vulkan {

struct Reducer {
  // Accumulators (core/reducer_facts.h).
  std::vector<ElementType> types;
  // Carrier constants that leave every accumulator unchanged; empty if none is known.
  std::vector<std::string> identity;
  bool commutes = true;  // else elements keep their order
  // The text of void <name>(inout T0 a0, ..., T0 b0, ...), a = computation(a, b).
  std::function<std::string(const std::string& name)> combine;
};
// `wide`: a sum of f32 in two floats: one accumulator of the type c64, whose real part is the result.
Reducer ReadReducer(const Computation& computation, bool wide = false);
// a0 = a0 + b0 of such accumulators.
std::string WideAddFunction(const std::string& name);

Status CheckReducer(const Computation& computation);

}  // namespace VXLA_NAMESPACE::vulkan
