#include "tools/bench/xla.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/mlir/printer/printer.h"
#include "core/passes/expand/expanders.h"
#include "generated/bench_xla_script.h"
#include "generated/vxla_build_info.h"
#include "tools/files.h"
#include "tools/numpy_file.h"
#include "tools/process.h"

namespace VXLA_NAMESPACE {
namespace {

using Json = nlohmann::ordered_json;

// Four digits: what a time is worth.
double Rounded(double value) { return std::stod(fmt::format("{:.4g}", value)); }

}  // namespace

Result<XlaPeer> XlaPeer::Create(const std::string& python) {
  XlaPeer peer;
  VXLA_ASSIGN_OR_RETURN(peer.python_, FindProgram(python));
  peer.folder_ = std::make_unique<ScratchFolder>();
  return peer;
}

Status XlaPeer::Add(const Module& module, const std::vector<Literal>& arguments) {
  VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<Module> forms, WithStablehloForms(module, ChloForms::kExpanded));
  forms->mutable_attributes().input_output_alias.clear();  // every run takes the same arguments
  forms->mutable_attributes().buffer_donor.clear();
  VXLA_ASSIGN_OR_RETURN(const std::string text, mlir::PrintStablehlo(*forms));
  std::vector<const Literal*> leaves;
  for (const Literal& argument : arguments) std::ranges::copy(FlattenLiteral(argument), std::back_inserter(leaves));
  const std::string stem = fmt::format("{}/{}", folder_->path(), count_);
  VXLA_RETURN_IF_ERROR(WriteText(stem + ".mlir", text));
  if (!leaves.empty()) VXLA_RETURN_IF_ERROR(WriteNpz(stem + ".npz", "arg", leaves));
  ++count_;
  return OkStatus();
}

Result<XlaTimes> XlaPeer::Measure(int runs) const {
  VXLA_ASSIGN_OR_RETURN(const ProcessEnd end, RunProcess({python_, "-c", kBenchXlaScript, folder_->path(),
                                                          fmt::format("{}", runs), fmt::format("{}", kSettleSeconds)}));
  if (!end.succeeded()) {
    const std::string_view said = std::string_view(end.err).substr(0, end.err.find_last_not_of('\n') + 1);
    return Unsupported("{}: {}", python_, said.substr(said.rfind('\n') + 1));
  }
  const auto json = nlohmann::json::parse(end.out, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("programs") || static_cast<int>(json["programs"].size()) != count_)
    return Internal("{}: tools/bench/xla.py printed no times of {} programs", python_, count_);
  XlaTimes times{.name = fmt::format("XLA ({})", json.value("xla", "")), .programs = {}};
  for (const auto& program : json["programs"]) {
    XlaTime& time = times.programs.emplace_back();
    time.error = program.value("error", "");
    if (!time.error.empty()) continue;
    time.call_ms = program.value("call_ms", 0.0);
    if (program.contains("device_ms") && program["device_ms"].is_number()) time.device_ms = program["device_ms"];
  }
  return times;
}

double XlaComparison::ratio() const {
  if (!xla.error.empty()) return 0;
  if (by_events()) return *xla.device_ms / *device_ms;
  return xla.call_ms / call_ms;
}

Status WriteXlaTable(const std::string& file, const DeviceFacts& device, const std::string& xla,
                     std::vector<XlaComparison> rows, const std::string& command) {
  std::erase_if(rows, [](const XlaComparison& row) { return row.ratio() == 0; });
  std::ranges::stable_sort(rows, std::greater<>(), &XlaComparison::ratio);
  const bool by_events = std::ranges::all_of(rows, &XlaComparison::by_events);
  const std::string_view commit = VXLA_COMMIT;
  const Json head = {
      {"name", std::filesystem::path(file).stem().string()},
      {"title", fmt::format("Programs on {}: how many times as fast as XLA", device.name)},
      {"device", device.name},
      {"driver", device.driver_version},
      {"day", fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)))},
      {"commit", commit.empty() ? Json() : Json(commit)},
      {"peer", xla},
      {"command", command},
      {"note", by_events ? "Both by the device's own events, after half a second of the same program."
                         : "Calls that wait for their results, XLA's from Python, after half a second each."}};
  std::string text = "{\n";
  for (const auto& [key, value] : head.items()) text += fmt::format(" \"{}\": {},\n", key, value.dump());
  text += " \"rows\": [";
  for (const XlaComparison& row : rows) {
    const double ours = by_events ? *row.device_ms : row.call_ms;
    const double theirs = by_events ? *row.xla.device_ms : row.xla.call_ms;
    const Json cells = {{"case", row.name},
                        {"vxla_ms", Rounded(ours)},
                        {"peer_ms", Rounded(theirs)},
                        {"ratio", Rounded(theirs / ours)}};
    text += fmt::format("{}\n  {}", &row == rows.data() ? "" : ",", cells.dump());
  }
  return WriteText(file, text + "\n ]\n}\n");
}

}  // namespace VXLA_NAMESPACE
