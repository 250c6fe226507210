// Client: compiles modules for one device and runs them.
//
//   Client client(device, [](const Instruction& i, auto operands) { return EvaluateInstruction(i, operands); });
//   auto executable = client.Compile(module);
//   auto result = (*executable)->Run(arguments);
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/custom_kernel.h"
#include "core/data/literal.h"
#include "core/status.h"
#include "scheduler/plan/statistics.h"
#include "scheduler/runtime/buffer.h"

#pragma GCC visibility push(default)
namespace VXLA_NAMESPACE {

class Buffer;
class BufferPool;
class Device;
class Instruction;
class Module;
class Moment;
struct PassRun;
struct Plan;
enum class BindingMode : uint8_t;
struct DeviceStep;   // scheduler/replicas/device_step.h
struct ClientState;  // scheduler/runtime/executor.h
struct ExecutableState;

// Evaluates one instruction on the host: constant folding and whatever the device cannot run. Must be thread-safe.
using HostEvaluator = std::function<Result<Literal>(const Instruction&, std::span<const Literal* const>)>;

// Where a long call stands, for whoever shows it.
struct CallProgress {
  enum class Stage : uint8_t { kPasses, kKernels, kUpload, kRun, kHostStep, kDownload };
  Stage stage = Stage::kRun;
  size_t done = 0, total = 0;  // kernels, or arrays that are copied
  std::string_view name = {};  // of the instruction that the host evaluates, or of the pass that has run
};
// Asked between the steps of a compilation, from the threads that work: what is not ok ends it, and is its error.
using Proceed = std::function<Status(const CallProgress&)>;

struct ClientOptions {
  bool poison = false;  // fill fresh device memory with a pattern (tests: nothing may rely on zeros)
  // Makes the evaluator of one run's host instructions, where these have something in common (random numbers,
  // channels). Empty: the client's evaluator serves all runs.
  std::function<HostEvaluator()> evaluator_of_run;
  // Asked before a program is compiled: what the evaluator cannot run, custom calls that nobody registered, is refused
  // there and not in the middle of a run. Empty: nothing is asked.
  std::function<Status(const Module&)> check_program;
  uint64_t seed = 0;      // of rng and rng-get-and-update-state: each run begins with it
  CustomKernels kernels;  // the user's, which run the custom calls of their names on the device
  // Targets of custom calls that the evaluator has functions of the caller's for: core/passes/expand/expanders.h.
  std::set<std::string> host_functions;
  // Memory of an executable's runs in flight, beside arguments and results; a further run waits for the oldest one.
  // -1: a quarter of the device's memory. At least one run is, and at most 32 are.
  int64_t max_bytes_in_flight = -1;
  int least_runs_in_flight = 1;  // whatever they take
  // Called from the threads that work, several at a time; must not call the client.
  std::function<void(const CallProgress&)> progress;
};

struct CompileOptions {
  bool fusion = true;
  bool require_gpu = false;        // an instruction that would run on the host is an error (kDeviceFailure)
  bool wide_accumulation = false;  // f32 sums of reductions and products in two floats (about 45 bits)
  bool optimized = false;          // the module is what Optimize gave: plan it as it is
  // Bounded dynamic dimensions: one program for all live sizes, which it finds in device memory and leaves there,
  // rather than one for each choice of them. Results whose live sizes are negative say that sizes did not agree.
  bool sizes_on_device = false;
  bool loop_kernels = true;          // whiles that a workgroup can run are one kernel, short ones written out
  bool profile = false;              // time each step; steps then run one at a time
  int64_t max_loop_iterations = -1;  // of each while; -1: no limit. Beyond it a run is a Mismatch that names the loop
  // After each pass of the optimizer: AfterPass of core/passes/base/pipeline.h.
  std::function<Status(const PassRun&, const Module&)> after_pass = {};
  Proceed proceed = {};
};

// Of one run, which goes with others that the caller knows of.
struct ExecuteOptions {
  // Until the host has done its part; filled by then.
  RunStatistics* statistics = nullptr;
  bool waits_for_host = false;  // as with statistics
  // Instead of the client's. Where sizes are asked for by running parts of the program, those parts have their own too.
  std::function<HostEvaluator()> evaluator_of_run;
  // Runs an instruction of the host's on the device's memory instead, if it is one of its own (true).
  std::function<Result<bool>(const Instruction&, DeviceStep&)> device_step;
};

struct LoadOptions {
  // Load returns before the driver has made the kernels, which a thread of the client's sees to, as of compilations in
  // the background: of one program after the other, each on all cores. Whatever uses them waits.
  bool background = false;
};

class Compilation;  // scheduler/runtime/compilation.h
class Executable;
class Recording;  // scheduler/runtime/commands/recording.h

// What runs for a program with bounded dynamic dimensions: the same program at the live sizes of its arguments.
struct StaticProgram {
  std::shared_ptr<Executable> executable;
  std::vector<Literal> arguments;                  // at their bounds
  std::vector<std::vector<int64_t>> result_sizes;  // by leaf; none where results say their sizes

  // A result of the executable, in the shape that the program states.
  Literal WithSizes(const Literal& result, const Shape& stated) const;
};

// A compiled program: an immutable plan and a pool of contexts to run it in. Thread-safe. Runs go on without it.
class Executable {
 public:
  explicit Executable(std::shared_ptr<ExecutableState> state);
  ~Executable();
  Executable(const Executable&) = delete;

  // One argument per parameter. Returns at once; the result's leaves are ready later, and say what failed by then. Host
  // steps and decisions of the plan run on a thread of the client's, those of its runs one after the other. Waits for
  // these where `statistics` are asked for, and a program with dynamic dimensions for the sizes. InvalidArgument names
  // the argument that does not fit.
  Result<Execution> Execute(std::span<const Argument> arguments, RunStatistics* statistics = nullptr);
  Result<Execution> Execute(std::span<const Argument> arguments, const ExecuteOptions& options);
  // Uploads, runs, waits and downloads.
  Result<Literal> Run(std::span<const Literal* const> arguments, RunStatistics* statistics = nullptr);

  // Of a program with bounded dynamic dimensions, the plan at the bounds.
  const Plan& plan() const;
  // The optimised module that the plan runs; of a program from a bundle, its parameters and one call that stands for
  // all it does.
  const Module& module() const;
  // Of a program from a bundle, the variant that was taken: "generic under descriptors". Else empty.
  const std::string& bundle_variant() const;
  // The bundle that converts between an argument's (a result's) array and an image of the VkFormat; empty: the
  // executable's own holds none.
  std::span<const std::byte> image_conversion(bool argument, uint32_t leaf, uint32_t format) const;
  // Whether each choice of live sizes has an executable of its own, and the one for these arguments.
  bool depends_on_sizes() const;
  Result<StaticProgram> ProgramFor(std::span<const Literal* const> arguments) const;
  const std::vector<Fallback>& fallbacks() const;
  const CompileStatistics& compile_statistics() const;
  // Of a program that is loaded in the background: when its kernels are there, or why they cannot be made.
  Event made() const;
  // Whether all of its runs have finished and its kernels are there, so that nothing waits when it goes.
  bool IsIdle() const;

 private:
  friend class Client;
  friend class Recording;
  std::shared_ptr<ExecutableState> state_;
};

class Client {
 public:
  Client(std::shared_ptr<Device> device, HostEvaluator evaluate, ClientOptions options = {});
  ~Client();

  Device& device() const;
  // For further clients of it.
  std::shared_ptr<Device> shared_device() const;
  // `module` has been verified. Executables and values may outlive the client.
  Result<std::shared_ptr<Executable>> Compile(const Module& module, const CompileOptions& options = {});
  // On a thread of the client's, which makes one program after the other: what `compile` gives, whose CompileOptions
  // have the Proceed. Returns at once.
  using CompileTask = std::function<Result<std::shared_ptr<Executable>>(const Proceed&)>;
  std::shared_ptr<Compilation> CompileInBackground(CompileTask compile);
  // A compiled program from a file of `vxla compile`, whose bytes are not needed afterwards: no kernel is compiled but
  // by the driver. Of its variants the one that runs best here. kInvalidArgument: the file is damaged; kUnsupported:
  // none of its variants runs on this device (scheduler/bundle/bundle.h).
  Result<std::shared_ptr<Executable>> Load(std::span<const std::byte> bundle, const LoadOptions& options = {});
  // An array of the host's in memory of the device's, and when its elements are the caller's again. Returns at once.
  struct HostArray {
    const std::byte* data = nullptr;  // the first element
    Shape shape;
    std::vector<int64_t> byte_strides;  // none: row-major
    enum class Lent : uint8_t {
      kDuringCall,
      kUntilTransferred,  // the array stays as it is until `done` happens
    } lent = Lent::kDuringCall;
    std::vector<int64_t> live_sizes = {};  // by dimension; none: all of it lives
  };
  struct FromHostResult {
    DeviceBuffer buffer;
    Event done;
  };
  Result<FromHostResult> FromHost(const HostArray& array, BufferMemory memory = BufferMemory::kDevice);
  // Puts a host value's leaves into device memory, to be used as arguments.
  Result<std::vector<DeviceBuffer>> Upload(const Literal& literal);
  // An array in memory of the caller's, as large as DeviceBytes in whole units of 16 bytes, which may be read once the
  // device's timeline has reached `ready`. The caller keeps the memory until the value and the runs that use it are
  // done.
  DeviceBuffer Lend(const Shape& shape, std::shared_ptr<Buffer> buffer, const Moment& ready);
  const std::shared_ptr<BufferPool>& pool() const;
  // Whether the host has done its part of all runs, so that nothing waits when the client goes.
  bool IsIdle() const;
  // Waits for the host's part of runs and transfers, and until every callback has returned that was given for this
  // device's events. False: there was nothing to wait for, or this is one of the threads that do it.
  bool AwaitCallbacks() const;

 private:
  std::shared_ptr<ClientState> state_;
};

}  // namespace VXLA_NAMESPACE
#pragma GCC visibility pop
