// What the plugin needs of vxla's runtime: devices by their words, and programs compiled for one device or for several.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/custom_call_files.h"
#include "api/device_options.h"
#include "core/data/shape.h"
#include "core/ir/module.h"
#include "core/ir/sharding.h"
#include "core/status.h"
#include "scheduler/replicas/sockets/socket_group.h"
#include "scheduler/runtime/client.h"
#include "scheduler/runtime/stats.h"

namespace VXLA_NAMESPACE {
class PlacedExecutable;
class ReplicatedExecutable;
}  // namespace VXLA_NAMESPACE

namespace VXLA_NAMESPACE::pjrt {

// A logical device, and how it was opened.
struct OpenedDevice {
  std::shared_ptr<Client> client;
  DeviceOptions options;
};

// `words`: a number of logical devices that go round the machine's GPUs; "all",
// each physical device; or device words (DeviceOptions::device) with ',' between, where repeats are logical devices.
// Empty: each GPU, and where there is none the best software device. kDeviceFailure: there is no device.
Result<std::vector<OpenedDevice>> OpenDevices(const std::string& words, const DeviceOptions& options);

// The names of the memories, as JAX knows them.
inline constexpr int kMemoryKinds = 2;
inline constexpr const char* kMemoryKindNames[kMemoryKinds] = {"device", "pinned_host"};  // as BufferMemory

// Runs the Python function of a number: elements of its arguments in, of its results out; kInternal's message where it
// fails, which the caller frees. Python's side gives it (integrations/python); null: there are no callbacks.
using CallPython = void (*)(int64_t function, const void* const* in, void* const* out, char* message, size_t size);
// It is called first with kPythonEnds and the address of a void(), which Python calls before its interpreter ends: that
// waits for functions that run, and none runs afterwards.
void SetCallPython(CallPython function);
inline constexpr int64_t kPythonEnds = -1;

// A function of the user's, which the custom calls of this name run on the host, in programs that are compiled
// afterwards. `symbol`: their api_version says what the function is. The address is good as long as the process lives.
void RegisterCustomCall(const std::string& target, const FfiHandlers& handlers);
void RegisterCustomCall(const std::string& target, void* symbol);

// Where the devices of a program are.
struct DevicesOfJob {
  std::shared_ptr<Connections> connections;  // null: in this process
  IntList process_of;                        // by device
  std::chrono::milliseconds timeout{};       // of waits for other processes
};

// What an array is made of by elementwise operations and transposes alone: dimension i is dimension permutation[i] of
// the source, which is a parameter or (-1) another array.
struct ArraySource {
  int64_t parameter = -1;
  std::vector<int64_t> permutation;
};

// A program on the devices that it was compiled for.
class Program {
 public:
  // From StableHLO text or bytecode. The grid says how many devices there must be; those of other processes have no
  // client. All processes that have some compile the program, and run it equally often.
  static Result<Program> Compile(std::string_view text, std::span<const OpenedDevice> devices, int replicas,
                                 int partitions, const CompileOptions& options, const DevicesOfJob& job = {});
  Program() = default;

  const std::string& name() const { return name_; }
  // Of a program of several partitions, what one of them runs, as StableHLO; empty: the program is that already.
  const std::string& partition_text() const { return partition_text_; }
  const std::vector<Shape>& parameters() const { return parameters_; }
  const std::vector<Shape>& results() const { return results_; }  // by leaf
  // Of a program of several partitions: what the parameters and results are tiles of.
  const std::vector<Sharding>& parameter_shardings() const { return parameter_shardings_; }
  const std::vector<Sharding>& result_shardings() const { return result_shardings_; }
  // What calls of InspectSharding ask for, by their backend_config.
  const std::vector<std::pair<std::string, Sharding>>& answers() const { return answers_; }
  const std::vector<BufferMemory>& parameter_memories() const { return parameter_memories_; }
  const std::vector<BufferMemory>& result_memories() const { return result_memories_; }
  // As the program states them: PartitionedProgram of core/mlir/importer/importer.h.
  const std::vector<std::string>& parameter_layouts() const { return parameter_layouts_; }
  const std::vector<std::string>& result_layouts() const { return result_layouts_; }
  const std::vector<ArraySource>& result_sources() const { return result_sources_; }
  bool donates(size_t parameter) const { return donated_[parameter]; }

  // By device of this process: arguments by parameter, results by leaf. At once, unless data may part the devices of a
  // program, or they are several physical ones or of several processes: then what they exchange goes through the host,
  // and the caller waits.
  struct Execution {
    std::vector<DeviceBuffer> results;
    Event done;
  };
  // `statistics`: of all devices together; the caller waits for the host's part. Several physical ones give none, nor
  // do those of several processes.
  Result<std::vector<Execution>> Execute(std::vector<std::vector<Argument>> arguments,
                                         RunStatistics* statistics = nullptr) const;

  // Of one device's run.
  PlanCost cost() const;

 private:
  Status CompileInJob(const Module& module, std::span<const OpenedDevice> devices, const DeviceGrid& grid,
                      std::span<const std::vector<const Literal*>> arguments, const EvaluateOptions& host_steps,
                      const CompileOptions& options, const DevicesOfJob& job);
  Result<std::vector<Execution>> ExecuteOnPlaces(std::span<const std::vector<Argument>> arguments) const;
  Result<std::vector<Execution>> ExecuteInJob(std::span<const std::vector<Argument>> arguments) const;

  std::string name_, partition_text_;
  std::vector<Shape> parameters_, results_;
  std::vector<Sharding> parameter_shardings_, result_shardings_;
  std::vector<std::pair<std::string, Sharding>> answers_;
  std::vector<BufferMemory> parameter_memories_, result_memories_;
  std::vector<std::string> parameter_layouts_, result_layouts_;
  std::vector<ArraySource> result_sources_;
  std::vector<bool> donated_;
  std::vector<std::shared_ptr<Client>> devices_;      // of this process
  std::shared_ptr<ProcessGroup> group_;               // of those whose devices it has, where there are several
  IntList here_;                                      // then: which of the program's devices are of this process
  std::shared_ptr<Executable> executable_;            // for one device
  std::shared_ptr<ReplicatedExecutable> replicated_;  // for several, which run one run at a time
  std::shared_ptr<PlacedExecutable> placed_;          // for several physical ones or processes, likewise
  std::shared_ptr<std::mutex> running_ = std::make_shared<std::mutex>();
};

}  // namespace VXLA_NAMESPACE::pjrt
