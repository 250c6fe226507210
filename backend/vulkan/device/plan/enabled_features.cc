// FeatureChain::Of: Vulkan says one feature in several structs, and a host may have used any of them.
#include <type_traits>

#include "backend/vulkan/device/plan/device_plan.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

template <typename T>
const T& As(const VkBaseInStructure& in) {
  return reinterpret_cast<const T&>(in);
}

// The structs that a version of Vulkan took together, and one whose members vulkan12 has.
void NoteTogether(const VkBaseInStructure& in, FeatureChain& chain) {
  switch (in.sType) {
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2:
      chain.base = As<VkPhysicalDeviceFeatures2>(in);
      break;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES:
      chain.vulkan11 = As<VkPhysicalDeviceVulkan11Features>(in);
      break;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES:
      chain.vulkan12 = As<VkPhysicalDeviceVulkan12Features>(in);
      break;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES: {
      const auto& features = As<VkPhysicalDeviceVulkan13Features>(in);
      chain.synchronization2.synchronization2 = features.synchronization2;
      chain.maintenance4.maintenance4 = features.maintenance4;
      chain.subgroup_size_control.subgroupSizeControl = features.subgroupSizeControl;
      chain.subgroup_size_control.computeFullSubgroups = features.computeFullSubgroups;
      chain.integer_dot_product.shaderIntegerDotProduct = features.shaderIntegerDotProduct;
      break;
    }
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES: {
      const auto& features = As<VkPhysicalDeviceVulkanMemoryModelFeatures>(in);
      chain.vulkan12.vulkanMemoryModel = features.vulkanMemoryModel;
      chain.vulkan12.vulkanMemoryModelDeviceScope = features.vulkanMemoryModelDeviceScope;
      break;
    }
    default:
      break;
  }
}

// Structs that Vulkan 1.1 has in the place of its newer ones.
void NoteOlder(const VkBaseInStructure& in, FeatureChain& chain) {
  VisitOlder(chain.older, chain.vulkan11, chain.vulkan12,
             [&](auto& feature, VkStructureType type, const char*, auto... said) {
               if (in.sType != type) return;
               feature = As<std::remove_reference_t<decltype(feature)>>(in);
               ((said.second = said.first), ...);
             });
}

void NoteSingle(const VkBaseInStructure& in, FeatureChain& chain) {
  VisitSingle(chain, [&](auto& feature, VkStructureType type, const char*, bool) {
    if (in.sType == type) feature = As<std::remove_reference_t<decltype(feature)>>(in);
  });
}

}  // namespace

FeatureChain FeatureChain::Of(const VkPhysicalDeviceFeatures2& enabled) {
  FeatureChain chain;
  const auto* in = reinterpret_cast<const VkBaseInStructure*>(&enabled);
  for (; in != nullptr; in = in->pNext) {
    NoteTogether(*in, chain);
    NoteOlder(*in, chain);
    NoteSingle(*in, chain);
  }
  return chain;
}

}  // namespace VXLA_NAMESPACE::vulkan
