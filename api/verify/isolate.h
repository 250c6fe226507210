// Isolation: each instruction of a program by itself, on the reference's operands, on the reference, on the device and
// in shader math.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/verify/conditioning_result.h"
#include "core/numerics/literal_compare.h"

#pragma GCC visibility push(default)
namespace VXLA_NAMESPACE {

class DiffSide;
class Instruction;
class Module;

// Whose fault a difference is. Algorithm: shader math on the CPU leaves the bound too. Driver: the device's bits are
// not those of shader math in the order of its plan. Order: nobody's; the combiner of a reduce or reduce-window cannot
// be shown to associate, and of these elements other groups give other results. Other device: of two devices the first
// one agrees with the reference.
enum class Fault : uint8_t { kNone, kAlgorithm, kDriver, kOrder, kOtherDevice };
std::string_view FaultName(Fault fault);  // "algorithm", "driver", "order", "other device", ""

// A program of one instruction, and its arguments.
struct SmallProgram {
  std::unique_ptr<Module> module;
  std::vector<std::shared_ptr<const Literal>> arguments;
  std::vector<const Literal*> pointers() const;
};

// Of this instruction, its operands in order.
SmallProgram ProgramOf(const Instruction& instruction, std::span<const std::shared_ptr<const Literal>> operands);

struct InstructionReport {
  std::string name;  // "add.3"; of a loop's body "while.1 iteration 0: add.3"
  std::string opcode, shape, bound;
  Comparison device;                      // with the expected value, the worst leaf
  std::optional<Comparison> shader_math;  // shader math with the expected value
  std::optional<Comparison> driver;       // the device with shader math, bit by bit
  bool overflows = false;                 // it differs, and a partial result may leave the range in one order alone
  bool on_host = false;                   // the plan evaluates it on the host
  std::string not_run;                    // why it was not compared
  // Of one whose bound is not known, where the default tolerance does not do: the worst result's.
  std::optional<Conditioning> conditioning;
  Fault fault = Fault::kNone;
  std::shared_ptr<SmallProgram> program;  // of a bad one
  bool agrees() const { return device.agrees() || (conditioning && conditioning->explains); }
  bool bad() const { return not_run.empty() && !agrees(); }
};

struct IsolationOptions {
  bool stop_at_first = false;   // at the first bad instruction
  int64_t loop_iterations = 1;  // of each while whose body is looked into
  bool with_shader_math = true;
  std::function<void(size_t done, size_t total, const std::string& name)> progress;
};

// `device` against the reference, or against `other` (a second device, given the reference's operands too) if there is
// one.
Result<std::vector<InstructionReport>> Isolate(const Module& module, std::span<const Literal* const> arguments,
                                               const DiffSide& device, const DiffSide* other,
                                               const IsolationOptions& options);

}  // namespace VXLA_NAMESPACE
#pragma GCC visibility pop
