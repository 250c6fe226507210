// Types of cooperative matrices, which GLSL of glslang 12 can write but for their components.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/device_facts.h"

namespace VXLA_NAMESPACE::vulkan::spirv {

// What a kernel gives as a matrix type's component, where SPIR-V has the id of a type: a constant of bits + kind.
enum MatrixComponent : uint32_t {
  kUnsignedComponent = 0x000,
  kSignedComponent = 0x100,
  kFloatComponent = 0x200,
  kBrainComponent = 0x300,  // bfloat16
  kE4M3Component = 0x400,
  kE5M2Component = 0x500,
};

// What kernels and probes of matrix units call the types of a product: BYTES, LANES, M, N, K, BITS_OF, SUM_OF,
// STAND_IN, and TERM_OF, or TERM, SUM, SIGNS and MATRIX (shaders/dot/matmul_matrices.comp).
std::string MatrixDefines(const MatrixShape& matrix, const DeviceFacts& facts);

// The module with each OpTypeCooperativeMatrixKHR of such a constant as one of the type that the constant stands for;
// that type is declared in front of the first matrix type. `words` is a valid module but for this; one without matrices
// stays as it is.
std::vector<uint32_t> WithMatrixComponents(const std::vector<uint32_t>& words);

// The module with each OpCooperativeMatrixPerElementOpNV of a call as one of the function that is called, which GLSL of
// glslang 12 cannot name: its further arguments are those of the call behind the first three.
std::vector<uint32_t> WithElementFunctions(const std::vector<uint32_t>& words);

// What tools that know no matrices can read of such a module: types and variables, the matrices as vectors, of f8 as of
// f16.
std::vector<uint32_t> WithoutMatrixTypes(const std::vector<uint32_t>& words);

}  // namespace VXLA_NAMESPACE::vulkan::spirv
