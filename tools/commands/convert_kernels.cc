#include "tools/commands/convert_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "backend/vulkan/shader/cross_compile.h"
#include "scheduler/bundle/bundle.h"
#include "tools/files.h"

namespace VXLA_NAMESPACE {
namespace {

using Json = nlohmann::ordered_json;

const char* SpaceOf(MemorySpace space) {
  constexpr const char* kNames[] = {"argument", "result", "constant", "scratch"};
  return kNames[static_cast<size_t>(space)];
}

const char* AccessOf(Access access) {
  constexpr const char* kNames[] = {"read", "write", "read and write"};
  return kNames[static_cast<size_t>(access)];
}

Json SliceJson(const BufferSlice& slice) {
  return {{"buffer", slice.buffer}, {"offset", slice.offset_bytes}, {"bytes", slice.size_bytes}};
}

// The kernel's content in the language.
Result<std::string> ContentOf(const Bundle& bundle, const BundleVariant& variant, size_t kernel,
                              const std::string& language) {
  const std::span<const std::byte> bytes = bundle.Module(variant.modules[kernel]);
  if (language == "spirv") return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::vector<uint32_t> words(bytes.size() / 4);
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
  const KernelKey& key = variant.plan.kernels[kernel];
  return vulkan::CrossCompile(words, key.constants, key.algorithm,
                              language == "hlsl" ? vulkan::ShadingLanguage::kHlsl : vulkan::ShadingLanguage::kMsl);
}

Json ArraysJson(const auto& leaves) {
  Json list = Json::array();
  for (const auto& leaf : leaves) list.push_back({{"shape", leaf.shape.ToString()}, {"buffer", leaf.buffer}});
  return list;
}

Json BuffersJson(const Plan& plan) {
  Json list = Json::array();
  for (const PlanBuffer& buffer : plan.buffers) {
    list.push_back({{"name", buffer.name},
                    {"bytes", buffer.size_bytes},
                    {"space", SpaceOf(buffer.placement.space)},
                    {"index", buffer.placement.index},
                    {"offset", buffer.placement.offset_bytes}});
  }
  return list;
}

// Binding 0 is the argument block: 8 bytes of zeros for each tensor, then the parameters.
Json StepsJson(const Plan& plan) {
  Json list = Json::array();
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    Json bindings = Json::array();
    for (size_t k = 0; k < step.bindings.size(); ++k) {
      Json& binding = bindings.emplace_back(Json{{"binding", k + 1}, {"access", AccessOf(step.bindings[k].access)}});
      binding.update(SliceJson(step.bindings[k].slice));
    }
    list.push_back({{"name", step.name},
                    {"kernel", plan.kernel_of_step[i]},
                    {"groups", step.groups},
                    {"parameters_offset", 8 * step.bindings.size()},
                    {"parameters", step.params},
                    {"bindings", std::move(bindings)}});
  }
  return list;
}

void AddCommand(const Dispatch& dispatch, Json& list) {
  if (dispatch.part > 0) return;  // the first part is listed as the whole
  Json& command = list.emplace_back(Json{{"dispatch", dispatch.step}});
  if (dispatch.groups_at.buffer >= 0) command["groups_at"] = SliceJson(dispatch.groups_at);
}
void AddCommand(const CopyBytes& copy, Json& list) {
  list.push_back({{"copy", {{"source", SliceJson(copy.source)}, {"target", SliceJson(copy.target)}}}});
}
void AddCommand(const Barrier&, Json& list) { list.push_back("barrier"); }

Json SegmentJson(const Segment& segment) {
  if (const auto* gpu = std::get_if<GpuCommands>(&segment)) {
    Json commands = Json::array();
    for (const GpuCommand& command : gpu->commands)
      std::visit([&](const auto& c) { AddCommand(c, commands); }, command);
    return {{"commands", std::move(commands)}};
  }
  const auto& decision = std::get<HostDecide>(segment);
  Json json = {{decision.kind == HostDecide::Kind::kWhile ? "while" : "conditional", decision.instruction},
               {"region_ends", decision.region_ends}};
  if (decision.trip_count >= 0) json["trip_count"] = decision.trip_count;
  if (decision.kind == HostDecide::Kind::kWhile) json["ends_itself"] = decision.ahead;
  if (decision.selector.buffer >= 0) json["selector"] = SliceJson(decision.selector);
  if (decision.selector.buffer >= 0) json["selector_type"] = decision.selector_is_pred ? "pred" : "s32";
  return json;
}

Json ProgramJson(const Bundle& bundle, const BundleVariant& variant) {
  const Plan& plan = variant.plan;
  Json constants = Json::array(), segments = Json::array();
  for (size_t i = 0; i < plan.constants.size(); ++i) {
    constants.push_back({{"buffer", plan.constants[i].buffer},
                         {"file_offset", variant.constants[i].offset},
                         {"bytes", variant.constants[i].size}});
  }
  for (const Segment& segment : plan.segments) segments.push_back(SegmentJson(segment));
  return {{"producer", bundle.producer},
          {"variant", variant.ToString()},
          {"arguments", ArraysJson(plan.parameters)},
          {"results", ArraysJson(plan.results)},
          {"constant_blocks", plan.constant_block_bytes},
          {"scratch_blocks", plan.scratch_block_bytes},
          {"buffers", BuffersJson(plan)},
          {"constants", std::move(constants)},
          {"steps", StepsJson(plan)},
          {"segments", std::move(segments)}};
}

Result<const BundleVariant*> UnderDescriptors(const Bundle& bundle) {
  const BundleVariant* found = nullptr;
  for (const BundleVariant& variant : bundle.variants) {
    if (variant.plan.bindings != BindingMode::kDescriptors) continue;
    if (found == nullptr || (variant.generic && !found->generic)) found = &variant;
  }
  if (found != nullptr) return found;
  return InvalidArgument(
      "the bundle has no variant under descriptors, which other languages need: vxla compile --bindings descriptors");
}

}  // namespace

Status ConvertKernels(std::span<const std::byte> file, const std::string& folder, const std::string& language) {
  VXLA_ASSIGN_OR_RETURN(const Bundle bundle, ReadBundle(file));
  VXLA_ASSIGN_OR_RETURN(const BundleVariant* const variant, UnderDescriptors(bundle));
  VXLA_RETURN_IF_ERROR(MakeFolder(folder));
  const std::string extension = language == "hlsl" ? "hlsl" : language == "msl" ? "metal" : "spv";
  Json kernels = Json::array();
  for (size_t i = 0; i < variant->plan.kernels.size(); ++i) {
    VXLA_ASSIGN_OR_RETURN(const std::string content, ContentOf(bundle, *variant, i, language));
    const std::string name = fmt::format("kernel_{}.{}", i, extension);
    VXLA_RETURN_IF_ERROR(WriteText(folder + "/" + name, content));
    const KernelKey& key = variant->plan.kernels[i];
    Json& kernel = kernels.emplace_back(Json{{"file", name}, {"algorithm", key.algorithm}});
    kernel["entry_point"] = language == "msl" ? "main0" : "main";
    kernel["workgroup"] = {key.constants[0], key.constants[1], key.constants[2]};
    if (language == "spirv") kernel["specialisation_constants"] = key.constants;
    if (key.written_array > 0) kernel["tensor_arrays"] = {key.written_array, key.buffer_count - key.written_array};
  }
  Json program = ProgramJson(bundle, *variant);
  program["kernels"] = std::move(kernels);
  VXLA_RETURN_IF_ERROR(WriteText(folder + "/constants.bin",
                                 {reinterpret_cast<const char*>(bundle.constants.data()), bundle.constants.size()}));
  return WriteText(folder + "/program.json", program.dump(1) + "\n");
}

}  // namespace VXLA_NAMESPACE
