// FeatureChain::Of: Vulkan says one feature in several structs, and a host may have used any of them.
#include <type_traits>

#include "backend/vulkan/device/api/matrix_extension.h"
#include "backend/vulkan/device/plan/device_plan.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

template <typename T>
const T& As(const VkBaseInStructure& in) {
  return reinterpret_cast<const T&>(in);
}

// The structs that a version of Vulkan took together.
bool NoteVersion(const VkBaseInStructure& in, FeatureChain& chain) {
  switch (in.sType) {
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2:
      chain.base = As<VkPhysicalDeviceFeatures2>(in);
      return true;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES:
      chain.vulkan11 = As<VkPhysicalDeviceVulkan11Features>(in);
      return true;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES:
      chain.vulkan12 = As<VkPhysicalDeviceVulkan12Features>(in);
      return true;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES: {
      const auto& features = As<VkPhysicalDeviceVulkan13Features>(in);
      chain.synchronization2.synchronization2 = features.synchronization2;
      chain.maintenance4.maintenance4 = features.maintenance4;
      chain.subgroup_size_control.subgroupSizeControl = features.subgroupSizeControl;
      chain.subgroup_size_control.computeFullSubgroups = features.computeFullSubgroups;
      chain.integer_dot_product.shaderIntegerDotProduct = features.shaderIntegerDotProduct;
      return true;
    }
    default:
      return false;
  }
}

// Structs that the enumeration of older headers does not have.
void NoteMatrices(const VkBaseInStructure& in, FeatureChain& chain) {
  if (in.sType == kCooperativeMatrixFeaturesType)
    chain.cooperative_matrix.cooperativeMatrix = As<CooperativeMatrixFeatures>(in).cooperativeMatrix;
  if (in.sType != kBfloat16FeaturesType) return;
  chain.bfloat16.shaderBFloat16Type = As<Bfloat16Features>(in).shaderBFloat16Type;
  chain.bfloat16.shaderBFloat16CooperativeMatrix = As<Bfloat16Features>(in).shaderBFloat16CooperativeMatrix;
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

void NoteExtension(const VkBaseInStructure& in, FeatureChain& chain) {
  VkPhysicalDeviceVulkan12Features& vulkan12 = chain.vulkan12;
  switch (in.sType) {
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES:
      chain.synchronization2.synchronization2 = As<VkPhysicalDeviceSynchronization2Features>(in).synchronization2;
      return;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_FEATURES:
      chain.maintenance4.maintenance4 = As<VkPhysicalDeviceMaintenance4Features>(in).maintenance4;
      return;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES:
      chain.subgroup_size_control = As<VkPhysicalDeviceSubgroupSizeControlFeatures>(in);
      return;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES:
      chain.integer_dot_product.shaderIntegerDotProduct =
          As<VkPhysicalDeviceShaderIntegerDotProductFeatures>(in).shaderIntegerDotProduct;
      return;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PRIORITY_FEATURES_EXT:
      chain.memory_priority.memoryPriority = As<VkPhysicalDeviceMemoryPriorityFeaturesEXT>(in).memoryPriority;
      return;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES:
      vulkan12.vulkanMemoryModel = As<VkPhysicalDeviceVulkanMemoryModelFeatures>(in).vulkanMemoryModel;
      vulkan12.vulkanMemoryModelDeviceScope =
          As<VkPhysicalDeviceVulkanMemoryModelFeatures>(in).vulkanMemoryModelDeviceScope;
      return;
    default:
      return;
  }
}

}  // namespace

FeatureChain FeatureChain::Of(const VkPhysicalDeviceFeatures2& enabled) {
  FeatureChain chain;
  const auto* in = reinterpret_cast<const VkBaseInStructure*>(&enabled);
  for (; in != nullptr; in = in->pNext) {
    if (!NoteVersion(*in, chain)) NoteExtension(*in, chain);
    NoteOlder(*in, chain);
    NoteMatrices(*in, chain);
  }
  return chain;
}

}  // namespace VXLA_NAMESPACE::vulkan
