#include "tools/session.h"

#include <fmt/format.h>

#include <cstdio>

#include "scheduler/plan_printer.h"
#include "tools/files.h"

namespace VXLA_NAMESPACE {

void DeviceFlags::AddTo(CLI::App& app) {
  app.add_option("--device", device,
                 "cpu (the reference), vulkan (the best), vulkan:N, a UUID, or a part of a device's name")
      ->type_name("DEVICE")
      ->capture_default_str();
  app.add_option("--bindings", bindings, "how kernels reach memory; auto: the faster one on the device")
      ->check(CLI::IsMember({"auto", "addresses", "descriptors"}))
      ->capture_default_str();
  app.add_flag("--validate{core+sync}", validate,
               "run under the validation layers: --validate=core,sync,gpu; alone it is core,sync");
  app.add_option("--emulate", emulate,
                 "do without what the device may have: i64,f64,f16,narrow,subgroups,division or some of them");
  app.add_option("--work-budget", work_budget_ms,
                 "milliseconds: cut what is estimated to keep the device busy for longer at once; 0: nothing (default: "
                 "200, and 0 on software drivers)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("MS");
  app.add_flag("--no-cache", no_cache, "neither read nor write the cache of compiled kernels");
}

void ProgramFlags::AddTo(CLI::App& app, bool file_required) {
  app.add_option("FILE", file, "the program as HLO text; - is standard input")->required(file_required)->type_name("");
  app.add_option("--args", args, "one .npz with arg_0, arg_1 ... or .npy files in order; the rest come from the seed")
      ->expected(1, 1 << 20)
      ->type_name("FILE");
  app.add_option(
         "--seed", seed,
         "of the arguments that no file gives, and of the state that rng and rng-get-and-update-state draw from")
      ->capture_default_str();
}

void CompileFlags::AddTo(CLI::App& app) {
  app.add_flag("--require-gpu", require_gpu, "an instruction that would run on the CPU is an error");
  app.add_flag("--no-fusion", no_fusion, "one kernel per instruction");
  app.add_option("--accumulation", accumulation,
                 "f32 sums of reductions and products: default, or wide: kept in two floats, rounded once")
      ->check(CLI::IsMember({"default", "wide"}))
      ->capture_default_str();
  app.add_option("--max-loop-iterations", max_loop_iterations,
                 "a while that wants more iterations ends the run with exit code 1")
      ->check(CLI::NonNegativeNumber);
}

namespace {

void ShowProgress(const CallProgress& call) {
  switch (call.stage) {
    case CallProgress::Stage::kKernels:
      return Progress(fmt::format("compiling kernels: {} of {}", call.done, call.total));
    case CallProgress::Stage::kUpload:
      return Progress(fmt::format("uploading: array {} of {}", call.done + 1, call.total));
    case CallProgress::Stage::kRun:
      return Progress("running");
    case CallProgress::Stage::kHostStep:
      return Progress(fmt::format("running on the CPU: {}", call.name));
    case CallProgress::Stage::kDownload:
      return Progress(fmt::format("downloading {} arrays", call.total));
  }
}

}  // namespace

DeviceOptions DeviceFlags::options() const {
  DeviceOptions options;
  options.device = device;
  options.bindings = bindings;
  options.validate = validate;
  options.emulate = emulate;
  options.cache = !no_cache;
  options.work_budget_ms = work_budget_ms;
  if (ShowsProgress()) options.progress = ShowProgress;
  return options;
}

CompileOptions CompileFlags::options() const {
  CompileOptions options;
  options.fusion = !no_fusion;
  options.require_gpu = require_gpu;
  options.wide_accumulation = accumulation == "wide";
  options.max_loop_iterations = max_loop_iterations;
  return options;
}

EvaluateOptions CompileFlags::evaluate_options(uint64_t seed) const {
  EvaluateOptions options;
  options.seed = seed;
  options.max_loop_iterations = max_loop_iterations;
  if (ShowsProgress()) {
    options.starting = [](const Instruction& i, size_t number, size_t count) {
      Progress(
          fmt::format("instruction {} of {} on the CPU: {} ({})", number + 1, count, i.name(), OpcodeText(i.opcode())));
    };
  }
  return options;
}

Result<std::unique_ptr<Module>> LoadProgram(const std::string& file) {
  VXLA_ASSIGN_OR_RETURN(const std::string text, ReadFile(file));
  return ParseProgram(text, file);
}

Result<std::unique_ptr<Module>> LoadRunnable(const std::string& file) {
  VXLA_ASSIGN_OR_RETURN(std::unique_ptr<Module> module, LoadProgram(file));
  VXLA_RETURN_IF_ERROR(CheckRunnable(*module, file));
  return module;
}

Result<std::unique_ptr<Client>> OpenClient(const DeviceFlags& flags, const EvaluateOptions& host_steps) {
  Progress("opening " + flags.device);
  return OpenClient(flags.options(), host_steps);
}

void PrintFallbacks(const Executable& executable) {
  std::vector<std::string> notes;
  for (const Fallback& f : executable.fallbacks())
    notes.push_back(fmt::format("{} ({}) runs on the CPU: {}", f.instruction, f.opcode, f.reason));
  for (const PlanFault& fault : executable.plan().faults) notes.push_back(ToText(fault));
  PrintNotes(notes);
}

}  // namespace VXLA_NAMESPACE
