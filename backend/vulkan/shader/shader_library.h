// What kernels are put together from: the sources of shaders/, cut and varied when the library is built (tools/embed)
// and carried inside it, so that the program needs no files beside it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "backend/device_facts.h"

namespace VXLA_NAMESPACE::vulkan {

// A file below shaders/: "elementwise/fused_loop.comp". The generated hooks stand between its pieces.
struct ShaderAlgorithm {
  std::string_view name;
  std::span<const std::string_view> pieces;
};

// A function or a table of shaders/include.
struct ShaderDefinition {
  std::string_view name, text;
  std::span<const std::string_view> uses;  // names of definitions, in this variant or another
};

// The choices of shaders/include: which 64-bit types the device lacks or is told to lack (VXLA_EMULATE_I64 and _F64),
// and whose division integers put right (VXLA_CORRECT_F32 and _F64).
struct ShaderVariant {
  bool emulate_i64 = false, emulate_f64 = false, correct_f32 = false, correct_f64 = false;
  int number() const { return emulate_i64 + 2 * emulate_f64 + 4 * correct_f32 + 8 * correct_f64; }
};

inline ShaderVariant VariantFor(const DeviceFacts& facts) {
  constexpr auto kCorrected = DeviceFacts::Division::kCorrected;
  return {!facts.int64, !facts.float64, facts.division_f32 == kCorrected,
          facts.float64 && facts.division_f64 == kCorrected};
}

struct ShaderLibrary {
  std::string_view head;  // before every kernel: prelude.glsl, types64.glsl, access.glsl without their comments
  std::span<const ShaderAlgorithm> algorithms;
  std::span<const ShaderDefinition> definitions;
  // By ShaderVariant::number(): its definitions, in an order in which each uses only earlier ones.
  std::span<const std::span<const uint16_t>> variants;
};
extern const ShaderLibrary kShaderLibrary;

}  // namespace VXLA_NAMESPACE::vulkan
