// vxla devices: every Vulkan device, its types, limits and quirks.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "backend/vulkan/codegen/statements/carriers.h"
#include "backend/vulkan/device/open.h"
#include "tools/bench/tune.h"
#include "tools/commands.h"
#include "tools/files.h"
#include "tools/session.h"

namespace VXLA_NAMESPACE {
namespace {

using Json = nlohmann::ordered_json;

std::string ApiText(uint32_t version) {
  return fmt::format("{}.{}.{}", version >> 22 & 0x7f, version >> 12 & 0x3ff, version & 0xfff);
}

const char* KindText(DeviceFacts::Kind kind) {
  switch (kind) {
    case DeviceFacts::Kind::kIntegrated:
      return "integrated GPU";
    case DeviceFacts::Kind::kDiscrete:
      return "discrete GPU";
    case DeviceFacts::Kind::kVirtual:
      return "virtual GPU";
    case DeviceFacts::Kind::kSoftware:
      return "software";
    default:
      return "other";
  }
}

// Every element type: "native", or "emulated" where kernels do without a feature that it would use.
Json TypesJson(const DeviceFacts& facts) {
  Json types = Json::object();
  for (int t = 0; t < kElementTypeCount; ++t) {
    const auto type = static_cast<ElementType>(t);
    if (!IsArrayElement(type)) continue;
    types[std::string(ElementTypeName(type))] = vulkan::IsEmulated(type, facts) ? "emulated" : "native";
  }
  return types;
}

Json LimitsJson(const DeviceFacts& f) {
  return {{"memory_bytes", f.memory_bytes},
          {"arguments_over_bus", f.arguments_over_bus},
          {"max_allocation_bytes", f.max_allocation_bytes},
          {"max_storage_range_bytes", f.max_storage_range_bytes},
          {"max_shared_bytes", f.max_shared_bytes},
          {"max_workgroup_invocations", f.max_workgroup_invocations},
          {"max_group_count", f.max_group_count},
          {"subgroup_size", f.subgroup_size},
          {"max_storage_buffers", f.max_storage_buffers},
          {"buffer_addresses", f.buffer_addresses},
          {"timestamps", f.timestamp_period_ns > 0}};
}

const char* DivisionText(DeviceFacts::Division division) {
  return division == DeviceFacts::Division::kCorrected ? "corrected" : "native";
}

// Whether / and sqrt are the device's own, which round correctly there, or put right by integers. f16 and narrower are
// f32's.
Json DivisionJson(const DeviceFacts& facts) {
  return {{"f16", DivisionText(facts.division_f32)},
          {"f32", DivisionText(facts.division_f32)},
          {"f64", facts.float64 ? DivisionText(facts.division_f64) : "emulated"}};
}

// The products of matrix units, "f16 16x16x16 to f32, to nearest": rows x columns x terms, and how sums round; of whole
// workgroups "bf16 128x256x64 to f32 by 256 invocations, to nearest".
Json MatricesJson(const std::vector<MatrixShape>& matrices) {
  Json list = Json::array();
  for (const MatrixShape& m : matrices) {
    const char* rounding = m.rounding == MatrixRounding::kNearest ? ", to nearest"
                           : m.rounding == MatrixRounding::kCut   ? ", cut off"
                                                                  : "";
    const std::string by = m.invocations == 0 ? "" : fmt::format(" by {} invocations", m.invocations);
    list.push_back(fmt::format("{} {}x{}x{} to {}{}{}", ElementTypeName(m.term), m.rows, m.columns, m.k,
                               ElementTypeName(m.sum), by, rounding));
  }
  return list;
}

// "compute of family 0", "copies of family 1": each queue that is opened.
Json QueuesJson(const DeviceFacts& facts) {
  Json list = Json::array();
  for (const QueueFacts& queue : facts.queues)
    list.push_back(fmt::format("{} of family {}", queue.computes ? "compute" : "copies", queue.family));
  return list;
}

void PrintDevice(size_t index, const DeviceFacts& f) {
  fmt::print("vulkan:{}  {}  ({})\n", index, f.name, KindText(f.kind));
  fmt::print("  uuid      {}\n", vulkan::UuidText(f.device_uuid));
  fmt::print("  driver    {} {}, Vulkan {}\n", f.driver, f.driver_version, ApiText(f.api_version));
  fmt::print("  memory    {:.1f} GiB, at most {:.1f} GiB in one piece{}\n",
             static_cast<double>(f.memory_bytes) / (1 << 30), static_cast<double>(f.max_allocation_bytes) / (1 << 30),
             f.arguments_over_bus ? ", none that the host can write to" : "");
  fmt::print("  kernels   workgroups of up to {}, subgroups of {}, {} KiB shared, {}\n", f.max_workgroup_invocations,
             f.subgroup_size, f.max_shared_bytes / 1024, f.buffer_addresses ? "buffer addresses" : "descriptors only");
  if (f.compute_units != 0)
    fmt::print("  units     {}, of up to {} invocations at once\n", f.compute_units, f.unit_invocations);
  std::string native, emulated;
  const Json types = TypesJson(f);
  for (const auto& [name, text] : types.items()) (text == "native" ? native : emulated) += " " + name;
  fmt::print("  native   {}\n", native);
  if (!emulated.empty()) fmt::print("  emulated {}\n", emulated);
  std::string divisions;
  const Json division = DivisionJson(f);
  for (const auto& [type, text] : division.items())
    divisions += fmt::format("{}{} {}", divisions.empty() ? "" : ", ", type, text.get<std::string>());
  fmt::print("  division  {}\n", divisions);
  std::vector<std::string> matrices = MatricesJson(f.matrices);
  for (const Json& matrix : MatricesJson(f.group_matrices)) matrices.push_back(matrix);
  if (!matrices.empty()) fmt::print("  matrices  {}\n", fmt::join(matrices, "; "));
  std::string queues;
  for (const Json& queue : QueuesJson(f)) queues += (queues.empty() ? "" : ", ") + queue.get<std::string>();
  fmt::print("  queues    {}\n", queues);
  std::string tuned;
  const Json tuning = TuningJson(f.tuned);
  for (const auto& [name, value] : tuning.items())
    tuned += fmt::format("{}{} {}", tuned.empty() ? "" : ", ", name, value.get<uint32_t>());
  if (!tuned.empty()) fmt::print("  tuned     {}\n", tuned);
  for (const std::string& line : f.quirks.notes) fmt::print("  quirk     {}\n", line);
}

Status Devices(bool wants_json, Json& list) {
  VXLA_ASSIGN_OR_RETURN(std::vector<DeviceFacts> devices, vulkan::ListDevices());
  if (wants_json) list = Json::array();
  for (size_t i = 0; i < devices.size(); ++i) {
    // Quirks are known once a device is open.
    vulkan::OpenOptions options;
    Result<std::unique_ptr<Device>> device = vulkan::OpenDevice(static_cast<int>(i), options);
    const DeviceFacts facts = device.ok() ? (*device)->facts() : devices[i];
    if (!device.ok()) PrintNotes({fmt::format("vulkan:{} does not open: {}", i, device.status().message())});
    if (!wants_json) {
      PrintDevice(i, facts);
    } else {
      list.push_back({{"name", facts.name},
                      {"uuid", vulkan::UuidText(facts.device_uuid)},
                      {"driver", facts.driver + " " + facts.driver_version},
                      {"api", ApiText(facts.api_version)},
                      {"types", TypesJson(facts)},
                      {"division", DivisionJson(facts)},
                      {"matrices", MatricesJson(facts.matrices)},
                      {"group_matrices", MatricesJson(facts.group_matrices)},
                      {"queues", QueuesJson(facts)},
                      {"limits", LimitsJson(facts)},
                      {"tuned", TuningJson(facts.tuned)},
                      {"quirks", facts.quirks.notes}});
    }
  }
  return OkStatus();
}

}  // namespace

CommandBody AddDevices(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "the list as JSON");
  return [json](Json& list) { return Devices(*json, list); };
}

}  // namespace VXLA_NAMESPACE
