// vxla explain: what a program becomes: the fused module, kernels, buffers, barriers, and what stays on the CPU.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "backend/kernel_hash.h"
#include "core/text/hlo_printer.h"
#include "scheduler/plan_printer.h"
#include "tools/commands.h"
#include "tools/files.h"
#include "tools/session.h"

namespace VXLA_NAMESPACE {
namespace {

struct ExplainFlags {
  ProgramFlags program;
  DeviceFlags device;
  CompileFlags compile;
  std::string dump_folder;
  bool json = false;
};

Status DumpKernels(const Device& device, const Plan& plan, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return ResourceExhausted("{}: cannot be made: {}", folder, error.message());
  for (size_t k = 0; k < plan.kernels.size(); ++k) {
    VXLA_ASSIGN_OR_RETURN(std::string source, device.KernelSource(plan.bindings, plan.kernels[k]));
    const std::string stem = std::filesystem::path(plan.kernels[k].algorithm).stem().string();
    VXLA_RETURN_IF_ERROR(
        WriteText(fmt::format("{}/{:03}_{}_{:016x}.comp", folder, k, stem, HashOf(plan.kernels[k])), source));
  }
  return OkStatus();
}

Status Explain(const ExplainFlags& flags, nlohmann::ordered_json& json) {
  VXLA_ASSIGN_OR_RETURN(std::unique_ptr<Module> module, LoadRunnable(flags.program.file, flags.compile));
  if (IsCpu(flags.device.device))
    return InvalidArgument("--device cpu: the CPU reference has no plan; explain wants a Vulkan device");
  VXLA_ASSIGN_OR_RETURN(std::unique_ptr<Client> client, OpenClient(flags.device, flags.compile.evaluate_options(0)));
  VXLA_ASSIGN_OR_RETURN(std::shared_ptr<Executable> executable, client->Compile(*module, flags.compile.options()));
  if (!flags.dump_folder.empty())
    VXLA_RETURN_IF_ERROR(DumpKernels(client->device(), executable->plan(), flags.dump_folder));
  VXLA_RETURN_IF_ERROR(CheckValidation(client->device()));
  if (flags.json) {
    json = ToJson(executable->plan());
    return OkStatus();
  }
  return WriteText(
      "-", fmt::format("Fused module\n\n{}\nPlan\n\n{}", PrintHlo(executable->module()), ToText(executable->plan())));
}

}  // namespace

CommandBody AddExplain(CLI::App& app) {
  auto flags = std::make_shared<ExplainFlags>();
  app.add_option("FILE", flags->program.file, "the program as HLO or StableHLO text; - is standard input")
      ->required()
      ->type_name("");
  flags->device.AddTo(app);
  flags->compile.AddTo(app);
  app.add_option("--dump-kernels", flags->dump_folder, "write each kernel's GLSL into this folder")
      ->type_name("FOLDER");
  app.add_flag("--json", flags->json, "the plan as one JSON object");
  return [flags](nlohmann::ordered_json& json) { return AtPlace(Explain(*flags, json), flags->program.file); };
}

}  // namespace VXLA_NAMESPACE
