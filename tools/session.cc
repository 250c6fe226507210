#include "tools/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <set>

#include "api/custom_call_files.h"
#include "scheduler/plan/plan_printer.h"
#include "tools/command_line.h"
#include "tools/files.h"

namespace VXLA_NAMESPACE {

void DeviceFlags::AddTo(CLI::App& app) {
  app.option_defaults()->group(kDeviceOptions);
  app.add_option("--device", device,
                 "cpu (the reference), vulkan or gpu (the best), vulkan:N or N, lavapipe, a UUID, or a part of a "
                 "device's name, in any case")
      ->type_name("DEVICE")
      ->capture_default_str();
  app.add_option("--bindings", bindings, "how kernels reach memory; auto: the faster one on the device")
      ->check(OneOf({"auto", "addresses", "descriptors"}))
      ->capture_default_str();
  app.add_flag("--validate{core+sync}", validate,
               "run under the validation layers: --validate=core,sync,gpu; alone it is core,sync");
  app.add_option(
         "--emulate", emulate,
         "do without what the device may have: i64,f64,f16,narrow,subgroups,division or some of them. gpu: a software "
         "driver runs the kernels of GPUs, with matrices also those of matrix units. gcn, rdna2, rdna3, nvidia, intel, "
         "apple, adreno, mali, mobile: of such a GPU. grid: loops have barriers of the whole grid wherever they can. "
         "queues: its one queue stands for several. vulkan1.1: a device of that version. synchronization2: one without "
         "it")
      ->type_name("LIST");
  app.add_option("--queues", queues, "open so many of the device's queues at most (default: all that are of use)")
      ->check(WholeNumber(1, INT32_MAX))
      ->type_name("N");
  app.add_option("--work-budget", work_budget_ms,
                 "milliseconds: cut what is estimated to keep the device busy for longer at once; 0: nothing (default: "
                 "200, and 0 on software drivers)")
      ->check(NumberFromZero(1e9))
      ->type_name("MS");
  app.add_flag("--same-bits", same_bits,
               "products and sums round as on every other device, instead of by what this one does fastest");
  app.add_flag("--no-cache", no_cache, "neither read nor write the cache of compiled kernels");
}

void AddArgumentOptions(CLI::App& app, ArgumentSource& arguments) {
  app.option_defaults()->group(kArgumentOptions);
  app.add_option("--args", arguments.files,
                 "one .npz with arg_0, arg_1 ... (or numpy.savez's arr_0, arr_1 ...), or .npy files in order; the rest "
                 "come from the seed")
      ->expected(1, 1 << 20)
      ->type_name("FILE");
  app.add_option(
         "--seed", arguments.seed,
         "of the arguments that no file gives, and of the state that rng and rng-get-and-update-state draw from")
      ->check(WholeNumber(0, UINT64_MAX))
      ->type_name("N")
      ->capture_default_str();
  app.add_option_function<std::string>(
         "--fill", [&arguments](const std::string& name) { arguments.fill = *ParseFill(name); },
         "what seeded arguments hold. small: floats normal, integers from 0 to 7. full-range: integers over their "
         "type, finite floats of every magnitude. special: infinities, NaN, zeros of both signs, largest, smallest "
         "and subnormal numbers, extremes of integers, among ordinary values (default: small)")
      ->check(OneOf({"small", "full-range", "special"}));
}

void ProgramFlags::AddTo(CLI::App& app) {
  app.add_option("FILE", file, "the program as HLO text, StableHLO text or bytecode; - is standard input")
      ->required()
      ->type_name("");
  AddArgumentOptions(app, arguments);
}

void CompileFlags::AddTo(CLI::App& app) {
  app.option_defaults()->group(kCompileOptions);
  app.add_flag("--require-gpu", require_gpu, "an instruction that would run on the CPU is an error");
  app.add_flag("--no-fusion", no_fusion, "one kernel per instruction");
  app.add_option("--accumulation", accumulation,
                 "f32 sums of reductions and products: default, or wide: kept in two floats, rounded once")
      ->check(OneOf({"default", "wide"}))
      ->capture_default_str();
  app.add_option("--max-loop-iterations", max_loop_iterations,
                 "a while that wants more iterations ends the run with exit code 1")
      ->check(WholeNumber(0, INT64_MAX))
      ->type_name("N");
  app.add_option("--kernel", kernels,
                 "run custom calls of NAME by a compute shader: NAME=FILE.comp (GLSL) or NAME=FILE.spv; repeatable")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("NAME=FILE");
  app.add_option("--custom-call", custom_calls,
                 "run custom calls of NAME by a function of a shared library, of the signature that the instruction's "
                 "api_version says (XLA's typed FFI among them): NAME=LIB.so:symbol; repeatable")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("NAME=LIB:SYMBOL");
}

Status CompileFlags::Register() const {
  for (const std::string& word : kernels) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == word.size())
      return InvalidArgument("--kernel {}: NAME=FILE.comp or NAME=FILE.spv is needed", word);
    const std::string name = word.substr(0, equals);
    if (registry->kernels().contains(name)) return InvalidArgument("--kernel {}: {} is given twice", word, name);
    Status status = RegisterKernelFile(*registry, name, word.substr(equals + 1));
    if (!status.ok()) return std::move(status).WithPrefix(fmt::format("--kernel {}: ", name));
  }
  for (const std::string& word : custom_calls) {
    const size_t equals = word.find('='), colon = word.rfind(':');
    const bool whole = equals != std::string::npos && colon != std::string::npos && equals > 0 && equals + 1 < colon &&
                       colon + 1 < word.size();
    if (!whole) return InvalidArgument("--custom-call {}: NAME=LIB.so:symbol is needed", word);
    const std::string name = word.substr(0, equals);
    if (registry->Find(name) != nullptr) return InvalidArgument("--custom-call {}: {} is given twice", word, name);
    Status status =
        RegisterLibraryFunction(*registry, name, word.substr(equals + 1, colon - equals - 1), word.substr(colon + 1));
    if (!status.ok()) return std::move(status).WithPrefix(fmt::format("--custom-call {}: ", name));
  }
  return OkStatus();
}

namespace {

// A name that no instruction of the program has is likely misspelt.
std::vector<std::string> UnusedNames(const Module& module, const CustomCallRegistry& registry) {
  std::set<std::string> wanted;
  for (const auto& computation : module.computations()) {
    for (const auto& i : computation->instructions()) {
      if (i->opcode() == Opcode::kCustomCall) wanted.insert(i->attributes<CustomCallAttributes>().custom_call_target);
    }
  }
  std::vector<std::string> notes;
  const auto note = [&](const char* option, const std::string& name) {
    if (!wanted.contains(name))
      notes.push_back(fmt::format("{} {}: the program has no such custom-call", option, name));
  };
  for (const auto& [name, kernel] : registry.kernels()) note("--kernel", name);
  for (const std::string& name : registry.targets()) note("--custom-call", name);
  return notes;
}

void ShowProgress(const CallProgress& call) {
  switch (call.stage) {
    case CallProgress::Stage::kPasses:  // nobody is told
      break;
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
  options.queues = queues;
  options.same_bits = same_bits;
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
  options.custom_calls = registry.get();
  if (ShowsProgress()) {
    options.starting = [](const Instruction& i, size_t number, size_t count) {
      Progress(
          fmt::format("instruction {} of {} on the CPU: {} ({})", number + 1, count, i.name(), OpcodeText(i.opcode())));
    };
  }
  return options;
}

Result<std::unique_ptr<Module>> LoadProgram(const std::string& file) {
  VXLA_ASSIGN_OR_RETURN(const FileBytes bytes, FileBytes::Open(file));
  return ParseProgram(bytes.view(), file);
}

Result<std::unique_ptr<Module>> LoadRunnable(const std::string& file, const CompileFlags& flags) {
  VXLA_ASSIGN_OR_RETURN(const FileBytes bytes, FileBytes::Open(file));
  return RunnableOf(bytes.view(), file, flags);
}

Result<std::unique_ptr<Module>> RunnableOf(std::string_view text, const std::string& file, const CompileFlags& flags) {
  VXLA_ASSIGN_OR_RETURN(std::unique_ptr<Module> module, ParseProgram(text, file));
  VXLA_RETURN_IF_ERROR(CheckRunnableWith(*module, file, flags));
  return module;
}

Status CheckRunnableWith(const Module& module, const std::string& file, const CompileFlags& flags) {
  VXLA_RETURN_IF_ERROR(flags.Register());
  VXLA_RETURN_IF_ERROR(CheckRunnable(module, file, flags.registry.get()));
  PrintNotes(UnusedNames(module, *flags.registry));
  return OkStatus();
}

Status CheckOneDevice(const DeviceFlags& flags) {
  if (!IsAllDevices(flags.device)) return OkStatus();
  return InvalidArgument(
      "--device all: one device at a time runs a program; vxla diff and vxla check take all, and vxla devices lists "
      "them");
}

Result<std::unique_ptr<Client>> OpenClient(const DeviceFlags& flags, const EvaluateOptions& host_steps) {
  Progress("opening " + flags.device);
  VXLA_RETURN_IF_ERROR(CheckOneDevice(flags));
  VXLA_ASSIGN_OR_RETURN(std::unique_ptr<Client> client, OpenClient(flags.options(), host_steps));
  PrintIfNoGpu(flags, client->device().facts());
  return client;
}

void PrintIfNoGpu(const DeviceFlags& flags, const DeviceFacts& facts) {
  const bool gpu = std::ranges::equal(flags.device, std::string_view("gpu"),
                                      [](unsigned char a, unsigned char b) { return std::tolower(a) == b; });
  if (gpu && facts.is_software())
    PrintNotes({fmt::format("--device gpu: this machine has none; {}, which is software, runs instead", facts.name)});
}

void PrintWritten(const std::string& file) {
  if (const std::string text = WrittenText(file); !text.empty()) PrintNotes({text});
}

void PrintFallbacks(const Executable& executable) {
  std::vector<std::string> notes;
  for (const Fallback& f : executable.fallbacks())
    notes.push_back(fmt::format("{} ({}) runs on the CPU: {}", f.instruction, f.opcode, f.reason));
  for (const PlanFault& fault : executable.plan().faults) notes.push_back(ToText(fault));
  PrintNotes(notes);
}

}  // namespace VXLA_NAMESPACE
