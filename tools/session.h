// Session: what every subcommand that runs programs shares: options, the program and the device.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "api/devices.h"
#include "api/program.h"
#include "backend/device.h"
#include "core/ir/module.h"
#include "tools/arguments.h"
#include "tools/messages.h"

namespace VXLA_NAMESPACE {

struct DeviceFlags {
  std::string device = "vulkan";
  std::string bindings = "auto";
  std::string validate;  // "core,sync,gpu" or a part of it
  std::string emulate;   // "i64,f64,f16,narrow,subgroups,division,gpu,matrices,queues" or a part of it
  int queues = 0;
  bool same_bits = false, no_cache = false;
  double work_budget_ms = -1;  // as DeviceOptions
  void AddTo(CLI::App& app);
  DeviceOptions options() const;
};

struct ProgramFlags {
  std::string file;
  ArgumentSource arguments;
  void AddTo(CLI::App& app);
};
// --args, --seed and --fill.
void AddArgumentOptions(CLI::App& app, ArgumentSource& arguments);

struct CompileFlags {
  bool require_gpu = false, no_fusion = false;
  std::string accumulation = "default";
  int64_t max_loop_iterations = -1;
  std::vector<std::string> kernels, custom_calls;  // NAME=FILE, NAME=LIB:symbol
  std::shared_ptr<CustomCallRegistry> registry = std::make_shared<CustomCallRegistry>();
  void AddTo(CLI::App& app);
  // Reads the files that kernels and custom_calls name into the registry.
  Status Register() const;
  CompileOptions options() const;
  EvaluateOptions evaluate_options(uint64_t seed) const;
};

// A program that has been read, parsed and verified; failures carry FILE:LINE:COLUMN.
Result<std::unique_ptr<Module>> LoadProgram(const std::string& file);
// A program to run: as above, with every op evaluable somewhere (else kUnsupported naming the op and its place) and its
// custom calls registered.
Result<std::unique_ptr<Module>> LoadRunnable(const std::string& file, const CompileFlags& flags);
// The same of the file's content.
Result<std::unique_ptr<Module>> RunnableOf(std::string_view text, const std::string& file, const CompileFlags& flags);
// The same of one that is read already.
Status CheckRunnableWith(const Module& module, const std::string& file, const CompileFlags& flags);

// kInvalidArgument: "all", where the command wants one device.
Status CheckOneDevice(const DeviceFlags& flags);
Result<std::unique_ptr<Client>> OpenClient(const DeviceFlags& flags, const EvaluateOptions& host_steps = {});
// A note on stderr that names a file and its bytes.
void PrintWritten(const std::string& file);
// A note where --device gpu found none.
void PrintIfNoGpu(const DeviceFlags& flags, const DeviceFacts& facts);
// Notes on stderr which instructions run on the host, and why.
void PrintFallbacks(const Executable& executable);

}  // namespace VXLA_NAMESPACE
