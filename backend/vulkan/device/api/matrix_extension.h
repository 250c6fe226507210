// VK_KHR_cooperative_matrix and VK_KHR_shader_bfloat16 for headers that are older than they are (Debian 12's): the
// structs and numbers of Vulkan's registry, by names of our own.
#pragma once

#include "backend/vulkan/device/api/vk.h"

namespace VXLA_NAMESPACE::vulkan {

inline constexpr const char* kCooperativeMatrixExtension = "VK_KHR_cooperative_matrix";
inline constexpr const char* kBfloat16Extension = "VK_KHR_shader_bfloat16";
inline constexpr auto kCooperativeMatrixFeaturesType = static_cast<VkStructureType>(1000506000);
inline constexpr auto kCooperativeMatrixPropertiesType = static_cast<VkStructureType>(1000506001);
inline constexpr auto kBfloat16FeaturesType = static_cast<VkStructureType>(1000141000);

struct CooperativeMatrixFeatures {
  VkStructureType sType = {};
  void* pNext = nullptr;
  VkBool32 cooperativeMatrix = VK_FALSE, cooperativeMatrixRobustBufferAccess = VK_FALSE;
};

struct Bfloat16Features {
  VkStructureType sType = {};
  void* pNext = nullptr;
  VkBool32 shaderBFloat16Type = VK_FALSE, shaderBFloat16DotProduct = VK_FALSE,
           shaderBFloat16CooperativeMatrix = VK_FALSE;
};

enum ComponentType : uint32_t {
  kComponentFloat16 = 0,
  kComponentFloat32 = 1,
  kComponentSint8 = 3,
  kComponentSint32 = 5,
  kComponentUint8 = 7,
  kComponentUint32 = 9,
  kComponentBfloat16 = 1000141000,
};
inline constexpr uint32_t kSubgroupScope = 3;

struct CooperativeMatrixProperties {
  VkStructureType sType = kCooperativeMatrixPropertiesType;
  void* pNext = nullptr;
  uint32_t m = 0, n = 0, k = 0;
  uint32_t a = 0, b = 0, c = 0, result = 0;  // ComponentType
  VkBool32 saturating = VK_FALSE;
  uint32_t scope = 0;
};
using GetCooperativeMatrixProperties = VkResult(VKAPI_PTR*)(VkPhysicalDevice, uint32_t*, CooperativeMatrixProperties*);

}  // namespace VXLA_NAMESPACE::vulkan
