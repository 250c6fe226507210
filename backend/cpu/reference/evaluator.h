// The CPU reference: evaluates modules and single instructions on the host, for every element type and rank. It is what
// other devices are compared with: plain loops, libm, accumulators wider than the result, and the same bits whatever
// the thread count.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backend/cpu/reference/library/custom_call.h"
#include "backend/host_transfer.h"
#include "core/data/literal.h"
#include "core/status.h"

#pragma GCC visibility push(default)
namespace VXLA_NAMESPACE {

class Instruction;
class Module;
class ReplicaLink;
struct DeviceGrid;
enum class Opcode : uint8_t;

struct EvaluateOptions {
  int threads = 0;                   // 0: one per processor
  int64_t max_loop_iterations = -1;  // of each while; -1: no limit. Beyond it: Mismatch
  // Called before each instruction of the entry computation with its number, from 0, and how many there are: progress.
  std::function<void(const Instruction&, size_t number, size_t count)> starting;
  // Called with the value of each instruction of the entry computation, in order; not for nested computations.
  std::function<void(const Instruction&, const Literal&)> observe;
  // Asked before each instruction whose operands and result are arrays, in nested computations too (but not in scalar
  // regions such as reducers): a value here stands for the reference's own.
  std::function<std::optional<Result<Literal>>(const Instruction&, std::span<const Literal* const>)> replace;
  // Sums of f64 products without compensation, ten times as fast: for whoever rounds them to fewer bits.
  bool plain_f64_products = false;
  uint64_t seed = 0;  // of rng and rng-get-and-update-state: the same program, seed and device draw the same numbers
  HostTransfers host;
  const CustomCallRegistry* custom_calls = nullptr;
  // How long a device waits for others in a collective before the run ends with a deadlock report; zero: forever. A
  // deadlock in which no device can go on is reported at once.
  std::chrono::milliseconds collective_timeout = std::chrono::minutes(5);
};

// Every custom call of the module has its function, or where kernels will do its kernel; kUnsupported names the first
// one that has none (`registry` may be null: there are none). Running a program asks this first, so an unknown call is
// no surprise in the middle of a run.
Status CheckCustomCalls(const Module& module, const CustomCallRegistry* registry, bool kernels_will_do = false);

// Runs the entry computation on one device; `arguments` by its parameter numbers. The result is the root's value.
Result<Literal> Evaluate(const Module& module, std::span<const Literal* const> arguments,
                         const EvaluateOptions& options = {});

// Of a program whose sizes its arguments decide (core/mlir/importer/dynamic_program.h), the module for these.
Result<std::unique_ptr<Module>> RefineOnCpu(const Module& module, std::span<const Literal* const> arguments,
                                            const EvaluateOptions& options = {});

// Runs it on every device of the grid, each on a thread of its own: arguments[d] are those of device d (replica-major),
// and so are the results. Collectives reduce in the order of their groups, so results do not depend on the threads.
// `observe` sees device 0. The first device that fails, or a deadlock (kDeviceFailure), ends the run.
Result<std::vector<Literal>> EvaluateReplicated(const Module& module, const DeviceGrid& grid,
                                                std::span<const std::vector<const Literal*>> arguments,
                                                const EvaluateOptions& options = {});

// One device's part of that, on the caller's thread. The module's collectives have been checked for the link's grid.
Result<Literal> EvaluateDevice(const Module& module, std::span<const Literal* const> arguments,
                               const EvaluateOptions& options, ReplicaLink& link, int64_t device);

// One instruction, with the computations it calls. `operands` in the order of instruction.operands().
Result<Literal> EvaluateInstruction(const Instruction& instruction, std::span<const Literal* const> operands,
                                    const EvaluateOptions& options = {});

// Evaluates instructions one after another as one run of a program on one device does: random numbers and channels go
// on from one to the next. Not thread-safe.
class InstructionEvaluator {
 public:
  explicit InstructionEvaluator(EvaluateOptions options);
  // Of one of several devices; the link outlives the evaluator's work.
  InstructionEvaluator(EvaluateOptions options, ReplicaLink& link, int64_t device);
  ~InstructionEvaluator();
  Result<Literal> Evaluate(const Instruction& instruction, std::span<const Literal* const> operands);
  // Of a collective that meets a group: what its members give, member by member, and which of them the device is
  // (u32[]), as a tuple. What the collective makes of it is left to the caller; all members do it in this way.
  Result<Literal> Gather(const Instruction& collective, std::span<const Literal* const> operands);

 private:
  Result<Literal> Run(const Instruction& instruction, std::span<const Literal* const> operands, bool gathers);
  struct State;
  std::unique_ptr<State> state_;
};

// False for the rows of core/ir/opcode.def that are UNEVALUATED.
bool HasEvaluation(Opcode opcode);

}  // namespace VXLA_NAMESPACE
#pragma GCC visibility pop
