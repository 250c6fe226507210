// Executor: runs a sealed plan: contexts, arguments, host segments, submission.
#pragma once

#include <chrono>
#include <memory>
#include <unordered_map>
#include <vector>

#include "backend/device.h"
#include "core/ir/module.h"
#include "scheduler/bundle/bundle.h"
#include "scheduler/runtime/client.h"
#include "scheduler/runtime/commands/context_pool.h"
#include "scheduler/runtime/commands/recorder.h"
#include "scheduler/runtime/programs/size_dependent.h"

namespace VXLA_NAMESPACE {

class Stopwatch {
 public:
  double Ms() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

struct ClientState {
  std::shared_ptr<Device> device;
  HostEvaluator evaluate;
  ClientOptions options;
  std::shared_ptr<BufferPool> pool;
  Worker runs;        // of the host's part in runs, one after the other
  Worker background;  // of programs that are made in the background, likewise

  void Report(const CallProgress& call) const {
    if (options.progress) options.progress(call);
  }
};

struct ExecutableState {
  std::shared_ptr<ClientState> client;
  std::unique_ptr<SizeDependent> sized;  // then nothing else, but a module for whoever looks before the first run
  std::unique_ptr<Module> module;
  std::unordered_map<std::string, const Instruction*> instructions;  // by PlanName
  int64_t max_loop_iterations = -1;
  CompiledPlan program;
  bool waits_on_host = false;  // the plan has host steps or decisions
  struct Conversion {
    BundleConversion of;
    std::vector<std::byte> file;
  };
  std::vector<Conversion> conversions;  // that its bundle holds
  std::string bundle_variant;
  CompileStatistics statistics;
  std::unique_ptr<ContextPool> contexts;
  Event made;  // of a load in the background: its kernels are there
};

// The steps from a plan to an executable: its pipelines, its constants in blocks of device memory, its contexts.
Status MakeKernels(ExecutableState& state, const Proceed& proceed = {});
void MakeKernelsInBackground(const std::shared_ptr<ExecutableState>& state);
int64_t BlockAlignment(const DeviceFacts& facts, BindingMode bindings);
Status AllocateConstantBlocks(ExecutableState& state);
Status UploadConstants(ExecutableState& state);
void MakeContexts(ExecutableState& state);

}  // namespace VXLA_NAMESPACE
