#include "tools/bench/iree.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/mlir/printer/printer.h"
#include "core/passes/expand/expanders.h"
#include "tools/bench/load.h"
#include "tools/files.h"
#include "tools/process.h"

namespace VXLA_NAMESPACE {
namespace {

constexpr const char* kCompile = "iree-compile";
constexpr const char* kBenchmark = "iree-benchmark-module";

bool HoldsTools(const std::filesystem::path& folder) {
  const auto runs = [&](const char* name) { return IsProgram((folder / name).string()); };
  return runs(kCompile) && runs(kBenchmark);
}

Result<std::filesystem::path> FindTools(const std::string& folder) {
  if (!folder.empty()) {
    if (HoldsTools(folder)) return std::filesystem::path(folder);
    return Unsupported("--iree {}: no {} and {} there", folder, kCompile, kBenchmark);
  }
  if (const Result<std::string> compiler = FindProgram(kCompile); compiler.ok()) {
    const std::filesystem::path folder_of_it = std::filesystem::path(*compiler).parent_path();
    if (HoldsTools(folder_of_it)) return folder_of_it;
  }
  if (const Result<std::string> own = OwnProgram(); own.ok()) {
    const std::filesystem::path beside = std::filesystem::path(*own).parent_path() / "iree_venv" / "bin";
    if (HoldsTools(beside)) return beside;
  }
  return Unsupported("no {} and {} on the PATH (pip install iree-base-compiler iree-base-runtime, or --iree FOLDER)",
                     kCompile, kBenchmark);
}

// The command's standard output; what it says on stderr is in the message of a failure.
Result<std::string> OutputOf(const std::vector<std::string>& command) {
  VXLA_ASSIGN_OR_RETURN(ProcessEnd end, RunProcess(command));
  if (!end.succeeded()) return Unsupported("{} fails: {}", command[0], end.err.substr(0, end.err.find('\n')));
  return std::move(end.out);
}

Result<std::vector<std::string>> InputsOf(const Module& module) {
  std::vector<std::string> inputs;
  for (const Instruction* parameter : module.entry()->parameters()) {
    const Shape& shape = parameter->shape();
    if (!shape.IsArray() || shape.IsDynamic() || shape.element_type() != ElementType::kF32)
      return Unsupported("parameter {}: {}: IREE is given arrays of f32", parameter->name(), shape.ToString());
    std::string text = "--input=";
    for (const int64_t size : shape.dimensions()) text += fmt::format("{}x", size);
    inputs.push_back(text + "f32=0");  // times hardly depend on the values
  }
  return inputs;
}

Result<double> BestIn(const std::string& report) {
  const auto json = nlohmann::json::parse(report, nullptr, /*allow_exceptions=*/false);
  double best = -1;
  if (json.is_object() && json.contains("benchmarks")) {
    for (const auto& run : json["benchmarks"]) {
      if (run.value("run_type", "") != "iteration") continue;
      const double ms = run.value("real_time", -1.0);
      best = best < 0 ? ms : std::min(best, ms);
    }
  }
  if (best < 0) return Unsupported("{} printed no times", kBenchmark);
  return best;
}

}  // namespace

Result<double> MeasureIree(const Module& module, const std::string& device_uuid, const std::string& folder, int runs) {
  VXLA_ASSIGN_OR_RETURN(const std::filesystem::path tools, FindTools(folder));
  VXLA_ASSIGN_OR_RETURN(const std::vector<std::string> inputs, InputsOf(module));
  VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<Module> forms, WithStablehloForms(module, ChloForms::kExpanded));
  VXLA_ASSIGN_OR_RETURN(const std::string text, mlir::PrintStablehlo(*forms));
  const ScratchFolder scratch;
  const std::string source = scratch.path() + "/program.mlir", compiled = scratch.path() + "/program.vmfb";
  VXLA_RETURN_IF_ERROR(WriteText(source, text));
  VXLA_RETURN_IF_ERROR(OutputOf({(tools / kCompile).string(), source, "--iree-input-type=stablehlo",
                                 "--iree-hal-target-device=vulkan", "-o", compiled})
                           .status());
  std::string id = device_uuid;
  std::erase(id, '-');
  std::vector<std::string> command = {(tools / kBenchmark).string(),
                                      "--module=" + compiled,
                                      "--device=vulkan://GPU-" + id,
                                      "--function=main",
                                      "--benchmark_min_warmup_time=0.5",
                                      "--benchmark_min_time=1x",
                                      fmt::format("--benchmark_repetitions={}", runs),
                                      "--benchmark_format=json"};
  command.insert(command.end(), inputs.begin(), inputs.end());
  VXLA_ASSIGN_OR_RETURN(const std::string report, OutputOf(command));
  return BestIn(report);
}

}  // namespace VXLA_NAMESPACE
