#include "backend/vulkan/device/handles/executables.h"

#include <fmt/format.h>

#include <utility>

namespace VXLA_NAMESPACE::vulkan {
namespace {

std::string ValueText(const VkPipelineExecutableStatisticKHR& statistic) {
  switch (statistic.format) {
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR:
      return statistic.value.b32 ? "yes" : "no";
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR:
      return fmt::format("{}", statistic.value.i64);
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR:
      return fmt::format("{}", statistic.value.u64);
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR:
      return fmt::format("{}", statistic.value.f64);
    default:
      return "";
  }
}

Status ReadStatistics(DeviceContext& context, const VkPipelineExecutableInfoKHR& info, KernelExecutable& executable) {
  using Statistic = VkPipelineExecutableStatisticKHR;
  VXLA_ASSIGN_OR_RETURN(const std::vector<Statistic> list,
                        ListOf(
                            "vkGetPipelineExecutableStatisticsKHR",
                            [&](uint32_t* count, Statistic* out) {
                              return context.vk().GetPipelineExecutableStatisticsKHR(context.handle(), &info, count,
                                                                                     out);
                            },
                            MakeVk<Statistic>(VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR)));
  for (const Statistic& statistic : list)
    executable.statistics.push_back({statistic.name, ValueText(statistic), statistic.description});
  return OkStatus();
}

Status ReadForms(DeviceContext& context, const VkPipelineExecutableInfoKHR& info, KernelExecutable& executable) {
  using Form = VkPipelineExecutableInternalRepresentationKHR;
  constexpr const char* kWhat = "vkGetPipelineExecutableInternalRepresentationsKHR";
  const auto call = [&](uint32_t* count, Form* out) {
    return context.vk().GetPipelineExecutableInternalRepresentationsKHR(context.handle(), &info, count, out);
  };
  VXLA_ASSIGN_OR_RETURN(
      std::vector<Form> list,
      ListOf(kWhat, call, MakeVk<Form>(VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INTERNAL_REPRESENTATION_KHR)));
  // The first answer tells the sizes, the next one fills them.
  std::vector<std::string> texts;
  for (Form& form : list) texts.emplace_back(form.dataSize, '\0');
  for (size_t i = 0; i < list.size(); ++i) list[i].pData = texts[i].data();
  uint32_t count = static_cast<uint32_t>(list.size());
  VXLA_RETURN_IF_ERROR(context.Check(call(&count, list.data()), kWhat));
  for (size_t i = 0; i < count; ++i) {
    if (!list[i].isText) continue;
    texts[i].resize(list[i].dataSize);
    while (!texts[i].empty() && texts[i].back() == '\0') texts[i].pop_back();
    executable.forms.push_back({list[i].name, std::move(texts[i])});
  }
  return OkStatus();
}

}  // namespace

Result<std::vector<KernelExecutable>> ExecutablesOf(DeviceContext& context, VkPipeline pipeline) {
  using Properties = VkPipelineExecutablePropertiesKHR;
  auto whole = MakeVk<VkPipelineInfoKHR>(VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR);
  whole.pipeline = pipeline;
  VXLA_ASSIGN_OR_RETURN(const std::vector<Properties> list,
                        ListOf(
                            "vkGetPipelineExecutablePropertiesKHR",
                            [&](uint32_t* count, Properties* out) {
                              return context.vk().GetPipelineExecutablePropertiesKHR(context.handle(), &whole, count,
                                                                                     out);
                            },
                            MakeVk<Properties>(VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR)));
  std::vector<KernelExecutable> executables;
  for (uint32_t i = 0; i < list.size(); ++i) {
    KernelExecutable& executable = executables.emplace_back();
    executable.name = list[i].name;
    executable.subgroup_size = list[i].subgroupSize;
    auto info = MakeVk<VkPipelineExecutableInfoKHR>(VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR);
    info.pipeline = pipeline;
    info.executableIndex = i;
    VXLA_RETURN_IF_ERROR(ReadStatistics(context, info, executable));
    VXLA_RETURN_IF_ERROR(ReadForms(context, info, executable));
  }
  return executables;
}

}  // namespace VXLA_NAMESPACE::vulkan
