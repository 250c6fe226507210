#include "backend/vulkan/device/api/instance.h"

#include <algorithm>
#include <mutex>

#include "backend/vulkan/device/api/loader.h"
#include "backend/vulkan/device/api/vk_status.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";

// VkLayerSettingEXT and VkLayerSettingsCreateInfoEXT, which headers before Vulkan 1.3.272 lack. Newer validation layers
// follow what shaders access only when told to, and older ones pass the struct by.
struct LayerSetting {
  const char* layer = kValidationLayer;
  const char* name = "syncval_shader_accesses_heuristic";
  int32_t type = 0;  // VK_LAYER_SETTING_TYPE_BOOL32_EXT
  uint32_t value_count = 1;
  const void* values = nullptr;
};
struct LayerSettings {
  VkStructureType type = static_cast<VkStructureType>(1000496000);  // VK_STRUCTURE_TYPE_LAYER_SETTINGS_CREATE_INFO_EXT
  const void* next = nullptr;
  uint32_t count = 1;
  const LayerSetting* settings = nullptr;
};

bool HasValidationLayer(const GlobalTable& global) {
  const auto layers =
      ListOf<VkLayerProperties>("vkEnumerateInstanceLayerProperties", global.EnumerateInstanceLayerProperties);
  return layers.ok() && std::ranges::any_of(*layers, [](const VkLayerProperties& layer) {
           return std::string_view(layer.layerName) == kValidationLayer;
         });
}

std::vector<const char*> Present(const GlobalTable& global, const std::vector<const char*>& wanted) {
  const auto present = ListOf<VkExtensionProperties>(
      "vkEnumerateInstanceExtensionProperties", [&](uint32_t* count, VkExtensionProperties* found) {
        return global.EnumerateInstanceExtensionProperties(nullptr, count, found);
      });
  std::vector<const char*> names;
  for (const char* name : wanted) {
    const auto is_it = [name](const VkExtensionProperties& each) {
      return std::string_view(each.extensionName) == name;
    };
    if (present.ok() && std::ranges::any_of(*present, is_it)) names.push_back(name);
  }
  return names;
}

}  // namespace

Result<std::shared_ptr<Instance>> Instance::Create(const InstanceOptions& options) {
  VXLA_ASSIGN_OR_RETURN(const GlobalTable global, OpenLoader(options.loader_path));
  std::shared_ptr<Instance> instance(new Instance());
  VXLA_RETURN_IF_ERROR(instance->Make(global, options));
  return instance;
}

Result<std::shared_ptr<Instance>> Instance::Shared() {
  static std::mutex mutex;
  // Never destroyed: drivers run exit handlers of their own, in an order that nobody promises.
  static auto* shared = new std::shared_ptr<Instance>();
  std::lock_guard lock(mutex);
  if (*shared == nullptr) {
    VXLA_ASSIGN_OR_RETURN(*shared, Create({}));
  }
  return *shared;
}

Result<std::shared_ptr<Instance>> Instance::Adopt(VkInstance handle, PFN_vkGetInstanceProcAddr get) {
  std::shared_ptr<Instance> instance(new Instance());
  instance->handle_ = handle;
  instance->adopted_ = true;
  VXLA_ASSIGN_OR_RETURN(instance->vk_, LoadInstanceTable(get, handle));
  return instance;
}

VkResult Instance::TryCreate(const GlobalTable& global, const InstanceOptions& options, uint32_t api_version,
                             const std::vector<const char*>& extensions) {
  auto application = MakeVk<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
  application.pApplicationName = "vxla";
  application.pEngineName = "vxla";
  application.apiVersion = api_version;
  auto info = MakeVk<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
  info.pApplicationInfo = &application;
  info.ppEnabledExtensionNames = extensions.data();
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  if (std::ranges::count(extensions, std::string_view(VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME)) != 0) {
    info.flags |= VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;  // MoltenVK
  }
  constexpr VkBool32 kTrue = VK_TRUE;
  const LayerSetting setting = {.values = &kTrue};
  const LayerSettings settings = {.settings = &setting};
  std::vector<VkValidationFeatureEnableEXT> enables;
  std::vector<VkValidationFeatureDisableEXT> disables;
  auto features = MakeVk<VkValidationFeaturesEXT>(VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT);
  if (options.validation.any()) {
    if (options.validation.sync) enables.push_back(VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT);
    if (options.validation.gpu) {
      enables.push_back(VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_EXT);
      enables.push_back(VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_RESERVE_BINDING_SLOT_EXT);
    }
    // GPU-assisted checks lean on the state that the core checks keep.
    if (!options.validation.core && !options.validation.gpu) {
      disables.push_back(VK_VALIDATION_FEATURE_DISABLE_CORE_CHECKS_EXT);
    }
    features.enabledValidationFeatureCount = static_cast<uint32_t>(enables.size());
    features.pEnabledValidationFeatures = enables.data();
    features.disabledValidationFeatureCount = static_cast<uint32_t>(disables.size());
    features.pDisabledValidationFeatures = disables.data();
    if (options.validation.sync) features.pNext = &settings;
    info.pNext = &features;
    info.ppEnabledLayerNames = &kValidationLayer;
    info.enabledLayerCount = 1;
  }
  return global.CreateInstance(&info, nullptr, &handle_);
}

Status Instance::Make(const GlobalTable& global, const InstanceOptions& options) {
  if (options.validation.any() && !HasValidationLayer(global)) {
    return DeviceFailure("the layer {} is not installed (Debian: apt install vulkan-validationlayers)",
                         kValidationLayer);
  }
  uint32_t loader_version = VK_API_VERSION_1_0;
  VXLA_RETURN_IF_VK_ERROR(global.EnumerateInstanceVersion(&loader_version), "vkEnumerateInstanceVersion");
  if (loader_version < VK_API_VERSION_1_1) return DeviceFailure("the Vulkan loader is older than Vulkan 1.1");
  // Asked for blindly first: enumerating extensions loads and unloads every driver once more.
  std::vector<const char*> extensions = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME,
                                         VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME};
  VkResult result = TryCreate(global, options, VK_API_VERSION_1_3, extensions);
  if (result == VK_ERROR_EXTENSION_NOT_PRESENT) {
    extensions = Present(global, extensions);
    result = TryCreate(global, options, VK_API_VERSION_1_3, extensions);
  }
  if (result == VK_ERROR_INCOMPATIBLE_DRIVER) {
    return DeviceFailure(
        "no Vulkan driver found by the loader (Debian: apt install mesa-vulkan-drivers): vkCreateInstance: {}",
        ResultName(result));
  }
  VXLA_RETURN_IF_VK_ERROR(result, "vkCreateInstance");
  VXLA_ASSIGN_OR_RETURN(vk_, LoadInstanceTable(global.GetInstanceProcAddr, handle_));
  validates_gpu_ = options.validation.gpu;
  if (options.validation.any()) {
    if (vk_.CreateDebugUtilsMessengerEXT == nullptr) {
      return DeviceFailure("validation needs VK_EXT_debug_utils, which the loader lacks");
    }
    // A messenger only in the instance's create info hears nothing later.
    const VkDebugUtilsMessengerCreateInfoEXT info = log_.MessengerInfo();
    VXLA_RETURN_IF_VK_ERROR(vk_.CreateDebugUtilsMessengerEXT(handle_, &info, nullptr, &messenger_),
                            "vkCreateDebugUtilsMessengerEXT");
  }
  return OkStatus();
}

Instance::~Instance() {
  if (adopted_) return;
  if (messenger_ != VK_NULL_HANDLE) vk_.DestroyDebugUtilsMessengerEXT(handle_, messenger_, nullptr);
  if (handle_ != VK_NULL_HANDLE && vk_.DestroyInstance != nullptr) vk_.DestroyInstance(handle_, nullptr);
}

Result<std::vector<VkPhysicalDevice>> Instance::PhysicalDevices() const {
  VXLA_ASSIGN_OR_RETURN(
      std::vector<VkPhysicalDevice> devices,
      ListOf<VkPhysicalDevice>("vkEnumeratePhysicalDevices", [this](uint32_t* count, VkPhysicalDevice* found) {
        return vk_.EnumeratePhysicalDevices(handle_, count, found);
      }));
  if (devices.empty()) {
    return DeviceFailure(
        "no Vulkan device: the loader found no usable driver (Debian: apt install mesa-vulkan-drivers)");
  }
  return devices;
}

}  // namespace VXLA_NAMESPACE::vulkan
