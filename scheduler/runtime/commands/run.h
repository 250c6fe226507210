// Run: one run of a plan, from its arguments to its submitted work.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "scheduler/replicas/device_step.h"
#include "scheduler/runtime/executor.h"

namespace VXLA_NAMESPACE {

// Begin takes arguments and memory; Submit does the work of the host and submits that of the device, when the promises
// that it waits for are kept, on whatever thread. In between, results and donated arguments are promises. It is one
// class because whichever thread ends it, and whatever failed, has to give back all that it holds.
class Run {
 public:
  Run(std::shared_ptr<ExecutableState> state, const ExecuteOptions& options);
  ~Run();
  Run(const Run&) = delete;

  Status Begin(std::span<const Argument> arguments, RunStatistics& statistics);
  // Whether the host has to wait for anything before all is submitted.
  bool WaitsOnHost() const { return state_->waits_on_host || !contents_.empty() || !uses_.empty(); }
  // Afterwards the results are those of work that is submitted.
  Result<Execution> Submit(RunStatistics& statistics);
  // Afterwards somebody else calls Keep, once.
  Execution Defer();
  void Keep(RunStatistics& statistics);
  // Of a run that was deferred: happens with the run.
  const Event& promised() const { return promise_->event(); }

 private:
  Status TakeParameters(std::span<const Argument> arguments, int64_t& allocated_bytes);
  Status UploadParameter(int leaf, const Literal& value, int64_t& allocated_bytes);
  Status BorrowParameter(int leaf, const Argument& argument, const DeviceBuffer& value, int64_t& allocated_bytes);
  Status AwaitContents(const Event& ready);
  Status TakeResults(int64_t& allocated_bytes);
  Status Bind(RunStatistics& statistics);
  Status SubmitAll(RunStatistics& statistics);
  Status AwaitPromises();
  Status CopyParameter(int leaf, DeviceMemory& source);
  Status RunSegments(int begin, int end);
  Status RunSegment(int segment);
  Status Submit(int segment, CommandBuffer& commands);
  Status SubmitBeside(int segment, int overlap, CommandBuffer& commands);
  Status SubmitCommands(int segment);
  Result<std::vector<double>> ReadShares(const GpuCommands& commands);
  Status SubmitIterations(int segment, int64_t count);
  Status RunAhead(int segment);
  Status RunWhile(int segment);
  Status RunConditional(int segment);
  Result<int64_t> ReadSelector(const HostDecide& decision);
  Status EvaluateOnHost(const HostEvaluate& evaluation);
  Result<bool> RunDeviceStep(const Instruction& instruction, const HostEvaluate& evaluation, const Moment& needed);
  Result<Literal> DownloadOperand(const HostEvaluate::Operand& operand, const Moment& needed);
  Execution Results(const Event& done) const;
  void Abandon();
  void Unpin();

  bool IsTouched(const PlanParameter& parameter) const { return plan_.buffers[parameter.buffer].first_use >= 0; }
  // The result is the parameter's own value.
  bool IsPassedThrough(const PlanParameter& parameter) const {
    return parameter.donated_to >= 0 && plan_.results[parameter.donated_to].buffer == parameter.buffer;
  }
  void After(const Moment& moment) { after_.Join(moment); }

  const std::shared_ptr<ExecutableState> state_;
  const Plan& plan_;
  BufferPool& pool_;
  Device& device_;
  HostEvaluator evaluate_;
  const std::function<Result<bool>(const Instruction&, DeviceStep&)> device_step_;
  std::unique_ptr<ExecutionContext> context_;
  std::vector<std::shared_ptr<DeviceMemory>> parameters_, results_;  // by leaf
  std::vector<std::shared_ptr<DeviceMemory>> borrowed_;              // the callers'
  bool pins_ = false;                                                // what is borrowed
  std::vector<std::pair<int, DeviceMemory*>> copies_;                // parameters that are copies of what is borrowed
  std::vector<Event> contents_, uses_;  // promises: what arguments will hold, and who else uses those that are donated
  std::shared_ptr<Promise> promise_;    // of a run that is deferred
  Moment after_;                        // what the next piece of work waits for
  Moment arguments_ready_;              // what the first one waited for
  std::vector<Moment> submitted_;       // by segment, what its last submission reaches
  Moment device_steps_;                 // what host steps that ran on the device have submitted
  // The overlap that is being submitted: its last segment so far, what it waits for, and all of it so far.
  struct Beside {
    int overlap = 0, segment = -1;
    Moment begin, finished;
  } beside_;
  int64_t read_backs_ = 0, uploaded_bytes_ = 0, downloaded_bytes_ = 0;
  RunStatistics profile_;  // of a profiling run: steps and spans
  const Stopwatch clock_;
};

}  // namespace VXLA_NAMESPACE
