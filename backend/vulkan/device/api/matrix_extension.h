// VK_KHR_cooperative_matrix, VK_NV_cooperative_matrix2, VK_KHR_shader_bfloat16 and VK_EXT_shader_float8 for headers
// that are older than they are (Debian 12's): the structs and numbers of Vulkan's registry, by names of our own.
#pragma once

#include "backend/vulkan/device/api/vk.h"

namespace VXLA_NAMESPACE::vulkan {

inline constexpr const char* kCooperativeMatrixExtension = "VK_KHR_cooperative_matrix";
inline constexpr const char* kCooperativeMatrix2Extension = "VK_NV_cooperative_matrix2";
inline constexpr const char* kBfloat16Extension = "VK_KHR_shader_bfloat16";
inline constexpr const char* kFloat8Extension = "VK_EXT_shader_float8";
inline constexpr auto kCooperativeMatrixFeaturesType = static_cast<VkStructureType>(1000506000);
inline constexpr auto kCooperativeMatrixPropertiesType = static_cast<VkStructureType>(1000506001);
inline constexpr auto kCooperativeMatrix2FeaturesType = static_cast<VkStructureType>(1000593000);
inline constexpr auto kFlexibleDimensionsType = static_cast<VkStructureType>(1000593001);
inline constexpr auto kCooperativeMatrix2PropertiesType = static_cast<VkStructureType>(1000593002);
inline constexpr auto kBfloat16FeaturesType = static_cast<VkStructureType>(1000141000);
inline constexpr auto kFloat8FeaturesType = static_cast<VkStructureType>(1000567000);

struct CooperativeMatrixFeatures {
  VkStructureType sType = {};
  void* pNext = nullptr;
  VkBool32 cooperativeMatrix = VK_FALSE, cooperativeMatrixRobustBufferAccess = VK_FALSE;
};

struct CooperativeMatrix2Features {
  VkStructureType sType = {};
  void* pNext = nullptr;
  VkBool32 workgroupScope = VK_FALSE, flexibleDimensions = VK_FALSE, reductions = VK_FALSE, conversions = VK_FALSE,
           perElementOperations = VK_FALSE, tensorAddressing = VK_FALSE, blockLoads = VK_FALSE;
};

struct CooperativeMatrix2Properties {
  VkStructureType sType = {};
  void* pNext = nullptr;
  uint32_t most_invocations = 0, most_extent = 0, reserved_shared_bytes = 0;
};

struct Bfloat16Features {
  VkStructureType sType = {};
  void* pNext = nullptr;
  VkBool32 shaderBFloat16Type = VK_FALSE, shaderBFloat16DotProduct = VK_FALSE,
           shaderBFloat16CooperativeMatrix = VK_FALSE;
};

struct Float8Features {
  VkStructureType sType = {};
  void* pNext = nullptr;
  VkBool32 shaderFloat8 = VK_FALSE, shaderFloat8CooperativeMatrix = VK_FALSE;
};

enum ComponentType : uint32_t {
  kComponentFloat16 = 0,
  kComponentFloat32 = 1,
  kComponentSint8 = 3,
  kComponentSint32 = 5,
  kComponentUint8 = 7,
  kComponentUint32 = 9,
  kComponentBfloat16 = 1000141000,
  kComponentFloat8E4M3 = 1000491002,
  kComponentFloat8E5M2 = 1000491003,
};
inline constexpr uint32_t kWorkgroupScope = 2, kSubgroupScope = 3;

struct CooperativeMatrixProperties {
  VkStructureType sType = kCooperativeMatrixPropertiesType;
  void* pNext = nullptr;
  uint32_t m = 0, n = 0, k = 0;
  uint32_t a = 0, b = 0, c = 0, result = 0;  // ComponentType
  VkBool32 saturating = VK_FALSE;
  uint32_t scope = 0;
};
using GetCooperativeMatrixProperties = VkResult(VKAPI_PTR*)(VkPhysicalDevice, uint32_t*, CooperativeMatrixProperties*);

// Rows, columns and terms of a product are multiples of m, n and k.
struct FlexibleDimensions {
  VkStructureType sType = kFlexibleDimensionsType;
  void* pNext = nullptr;
  uint32_t m = 0, n = 0, k = 0;
  uint32_t a = 0, b = 0, c = 0, result = 0;  // ComponentType
  VkBool32 saturating = VK_FALSE;
  uint32_t scope = 0, invocations = 0;
};
using GetFlexibleDimensions = VkResult(VKAPI_PTR*)(VkPhysicalDevice, uint32_t*, FlexibleDimensions*);

}  // namespace VXLA_NAMESPACE::vulkan
