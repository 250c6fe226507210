// Executor: runs a sealed plan: contexts, arguments, host segments, submission.
#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "backend/device.h"
#include "core/module.h"
#include "scheduler/bundle/bundle.h"
#include "scheduler/runtime/client.h"
#include "scheduler/runtime/context_pool.h"
#include "scheduler/runtime/recorder.h"
#include "scheduler/runtime/size_dependent.h"

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
  Worker runs;            // of the host's part in runs, one after the other
  std::mutex background;  // held by the load in the background whose kernels are being made

  void Report(const CallProgress& call) const {
    if (options.progress) options.progress(call);
  }
};

struct ExecutableState {
  std::shared_ptr<ClientState> client;
  std::unique_ptr<SizeDependent> specializations;  // then nothing else
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
  // Of a load in the background, else invalid: the end of MakeKernels. It goes first, and that waits for its thread.
  std::shared_future<Status> kernels_made;

  // Before the kernels are used.
  Status WaitForKernels() const { return kernels_made.valid() ? kernels_made.get() : OkStatus(); }
};

// The steps from a plan to an executable: its pipelines, its constants in blocks of device memory, its contexts.
Status MakeKernels(ExecutableState& state);
void MakeKernelsInBackground(ExecutableState& state);
int64_t BlockAlignment(const DeviceFacts& facts, BindingMode bindings);
Status AllocateConstantBlocks(ExecutableState& state);
Status UploadConstants(ExecutableState& state);
void MakeContexts(ExecutableState& state);

}  // namespace VXLA_NAMESPACE
