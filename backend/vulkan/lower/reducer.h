// Reducer: a reduction computation as kernels use it: what it accumulates in, what leaves it alone, its GLSL text.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backend/device_facts.h"
#include "core/module.h"

namespace vxla::vulkan {

struct Reducer {
  // Accumulators. Additions of narrow floats accumulate in f32 and round once, at the end: HLO lets the steps round,
  // XLA's own backends do not, and a sum in bf16 stops growing at 256 times its addend.
  std::vector<ElementType> types;
  // Carrier constants that leave every accumulator unchanged; empty if none is known.
  std::vector<std::string> identity;
  // The text of void <name>(inout T0 a0, ..., T0 b0, ...), a = computation(a, b).
  std::function<std::string(const std::string& name)> combine;
};
Reducer ReadReducer(const Computation& computation);

Status CheckReducer(const Computation& computation, const DeviceFacts& facts);

}  // namespace vxla::vulkan
