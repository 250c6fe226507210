// Types of cooperative matrices, which GLSL of glslang 12 can write but for their components.
#pragma once

#include <cstdint>
#include <vector>

namespace VXLA_NAMESPACE::vulkan {

// What a kernel gives as a matrix type's component, where SPIR-V has the id of a type: a constant of bits + kind.
enum MatrixComponent : uint32_t {
  kUnsignedComponent = 0x000,
  kSignedComponent = 0x100,
  kFloatComponent = 0x200,
  kBrainComponent = 0x300,  // bfloat16
};

// The module with each OpTypeCooperativeMatrixKHR of such a constant as one of the type that the constant stands for;
// that type is declared in front of the first matrix type. `words` is a valid module but for this; one without matrices
// stays as it is.
std::vector<uint32_t> WithMatrixComponents(const std::vector<uint32_t>& words);

// What tools that know no matrices can read of such a module: types and variables, the matrices as vectors.
std::vector<uint32_t> WithoutMatrixTypes(const std::vector<uint32_t>& words);

}  // namespace VXLA_NAMESPACE::vulkan
