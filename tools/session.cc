#include "tools/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "backend/cpu/reference/evaluator.h"
#include "backend/vulkan/device/open.h"
#include "core/passes/cancel_constants.h"
#include "core/passes/verifier.h"
#include "core/text/hlo_parser.h"
#include "tools/files.h"
#include "tools/terminal.h"

namespace vxla {

void DeviceFlags::AddTo(CLI::App& app) {
  app.add_option("--device", device, "cpu (the reference), vulkan (the best), vulkan:N, or a part of a device's name")
      ->capture_default_str();
  app.add_option("--bindings", bindings, "how kernels reach memory; auto: the faster one on the device")
      ->check(CLI::IsMember({"auto", "addresses", "descriptors"}))
      ->capture_default_str();
  app.add_flag("--validate{core+sync}", validate,
               "run under the validation layers: --validate=core,sync,gpu; alone it is core,sync");
  app.add_option("--emulate", emulate,
                 "do without what the device may have: i64,f64,f16,narrow,subgroups,division or some of them");
  app.add_flag("--no-cache", no_cache, "neither read nor write the cache of compiled kernels");
}

void ProgramFlags::AddTo(CLI::App& app, bool file_required) {
  app.add_option("FILE", file, "the program as HLO text; - is standard input")->required(file_required);
  app.add_option("--args", args, "one .npz with arg_0, arg_1 ... or .npy files in order; the rest come from the seed")
      ->expected(1, 1 << 20);
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
  return options;
}

namespace {

// What MLIR's printer and its bytecode writer begin with.
bool LooksLikeMlir(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  for (const std::string_view start : {"module @", "module attributes", "module {", "func.func", "#loc", "ML\xefR"}) {
    if (text.starts_with(start)) return true;
  }
  return false;
}

}  // namespace

Result<std::unique_ptr<Module>> LoadProgram(const std::string& file) {
  VXLA_ASSIGN_OR_RETURN(std::string text, ReadFile(file));
  auto at_file = [&](const Status& status) {
    const SourceLocation at = status.location();
    const std::string place = at.line > 0 ? fmt::format("{}:{}:{}: ", file, at.line, at.column) : file + ": ";
    return Status(status.code(), place + status.message());
  };
  Result<std::unique_ptr<Module>> module = ParseHlo(text);
  if (!module.ok() && LooksLikeMlir(text)) return Unsupported("{}: MLIR (StableHLO) is not read; HLO text is", file);
  if (!module.ok()) return at_file(module.status());
  if (Status status = Verify(**module); !status.ok()) return at_file(status);
  return module;
}

namespace {

Status CheckEvaluable(const Module& module, const std::string& file) {
  for (const auto& computation : module.computations()) {
    for (const auto& i : computation->instructions()) {
      if (HasEvaluation(i->opcode())) continue;
      return Unsupported("{}:{}:{}: {}: the op {} is read and printed, but no document says what it computes", file,
                         i->location().line, i->location().column, i->name(), OpcodeText(i->opcode()));
    }
  }
  return OkStatus();
}

}  // namespace

Result<std::unique_ptr<Module>> LoadRunnable(const std::string& file) {
  VXLA_ASSIGN_OR_RETURN(std::unique_ptr<Module> module, LoadProgram(file));
  VXLA_RETURN_IF_ERROR(CheckEvaluable(*module, file));
  VXLA_ASSIGN_OR_RETURN(std::unique_ptr<Module> cancelled, CancelAddedConstants(*module));
  return cancelled != nullptr ? std::move(cancelled) : std::move(module);
}

Status AtPlace(const Status& status, const std::string& file) {
  const SourceLocation at = status.location();
  if (at.line == 0) return status;
  return Status(status.code(), fmt::format("{}:{}:{}: {}", file, at.line, at.column, status.message()));
}

bool IsCpu(const std::string& device) { return device == "cpu"; }

Result<std::shared_ptr<Device>> OpenDevice(const DeviceFlags& flags, const std::string& wanted) {
  VXLA_ASSIGN_OR_RETURN(std::vector<DeviceFacts> devices, vulkan::ListDevices());
  VXLA_ASSIGN_OR_RETURN(int index, vulkan::ChooseDevice(devices, wanted));
  vulkan::OpenOptions options;
  if (flags.bindings != "auto")
    options.bindings = flags.bindings == "descriptors" ? BindingMode::kDescriptors : BindingMode::kAddresses;
  for (size_t begin = 0; begin < flags.validate.size();) {
    const size_t end = std::min(flags.validate.find_first_of(",+", begin), flags.validate.size());
    const std::string kind = flags.validate.substr(begin, end - begin);
    if (kind != "core" && kind != "sync" && kind != "gpu")
      return InvalidArgument("--validate: '{}' is none of core, sync, gpu", kind);
    options.validate_core |= kind == "core";
    options.validate_sync |= kind == "sync";
    options.validate_gpu |= kind == "gpu";
    begin = end + 1;
  }
  VXLA_ASSIGN_OR_RETURN(options.emulate, vulkan::ParseEmulation(flags.emulate));
  options.cache = !flags.no_cache;
  VXLA_ASSIGN_OR_RETURN(std::unique_ptr<Device> device, vulkan::OpenDevice(index, options));
  return std::shared_ptr<Device>(std::move(device));
}

std::unique_ptr<Client> MakeClient(std::shared_ptr<Device> device, const EvaluateOptions& host_steps) {
  const auto evaluator = [host_steps]() -> HostEvaluator {
    auto run = std::make_shared<InstructionEvaluator>(host_steps);
    return [run](const Instruction& instruction, std::span<const Literal* const> operands) {
      return run->Evaluate(instruction, operands);
    };
  };
  ClientOptions options;
  options.evaluator_of_run = evaluator;
  return std::make_unique<Client>(std::move(device), evaluator(), options);
}

void PrintNotes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) fmt::print(stderr, "vxla: note: {}\n", note);
}

void PrintFallbacks(const Executable& executable) {
  for (const Fallback& f : executable.fallbacks()) {
    fmt::print(stderr, "vxla: note: {} ({}) runs on the CPU: {}\n", f.instruction, f.opcode, f.reason);
  }
}

Status CheckValidation(const Device& device) {
  const std::vector<std::string> messages = device.validation_messages();
  if (messages.empty()) return OkStatus();
  return DeviceFailure("the validation layers report {} message(s); the first: {}", messages.size(), messages.front());
}

int Report(const Status& status) {
  if (status.ok()) return 0;
  Progress("");
  fmt::print(stderr, "vxla: error: {}\n", status.message());
  switch (status.code()) {
    case StatusCode::kMismatch:
      return 1;
    case StatusCode::kInvalidArgument:
    case StatusCode::kUnsupported:
      return 2;
    default:
      return 3;
  }
}

void Progress(const std::string& text) {
  static bool shown = false;
  if (!StderrIsTerminal() || (text.empty() && !shown)) return;
  fmt::print(stderr, "\r\x1b[K{}", text);
  std::fflush(stderr);
  shown = !text.empty();
}

}  // namespace vxla
