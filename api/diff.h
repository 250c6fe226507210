// Diff: one program on a device and on the CPU reference (or another device, or next to saved results): where the
// values differ, whether that is more than rounding, and whose fault it is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/diff_side.h"
#include "api/isolate.h"
#include "core/literal_compare.h"
#include "core/module.h"

namespace vxla {

struct LeafReport {
  size_t index = 0;
  std::string shape;
  Tolerance tolerance;
  Comparison comparison;                  // the device with the expected value
  std::optional<Comparison> shader_math;  // shader math with the expected value
  std::optional<Comparison> driver;       // the device with shader math, bit by bit
};

struct DiffOptions {
  DeviceOptions device;
  std::optional<DeviceOptions> against;  // a second device in the reference's place
  CompileOptions compile;
  EvaluateOptions evaluate;  // of the reference, host steps and shader math: seed, threads, custom calls ...
  std::optional<double> rtol, atol, ulp;
  std::optional<Tolerance> stated() const;  // by any of these
  bool shader_math = true;                  // also the shaders' arithmetic on the CPU; without it no fault is named
  bool isolate = false;                     // every instruction by itself
  bool bisect = false;                      // up to the first bad instruction, looking into loops
  std::function<void(const std::string& step)> progress;
};

struct DiffOutcome {
  std::string device, reference;     // in words
  std::optional<DeviceFacts> facts;  // of the device; none: it was the reference
  bool fusion = true;
  Literal actual, expected;
  std::optional<Literal> shader_math;
  std::vector<LeafReport> leaves;
  std::vector<InstructionReport> instructions;  // of --isolate, or up to the first bad one
  bool isolated = false;                        // `instructions` holds something
  std::vector<std::string> notes;
  std::string bound;                                 // of a program of one instruction; empty: rtol and atol
  int64_t bad_leaf = -1;                             // the first result outside its tolerance
  const InstructionReport* bad_instruction() const;  // the first one
  bool agrees() const { return bad_leaf < 0 && bad_instruction() == nullptr; }
  // "algorithm", "driver", "rounding" (each instruction within its bound, and yet the results differ) or empty.
  std::string fault, first_bad;
};

// OkStatus if both have the same bits; else a Mismatch that says where: "run 2 gives other bits than run 1: result_0 at
// [3] is 1.5 instead of 2".
Status CheckSameBits(const Literal& got, const Literal& wanted, const std::string& got_name,
                     const std::string& wanted_name);

// Opens what `options` names and compares. `arguments` by parameter number; `expected`: saved results to compare with,
// by leaf, in place of the reference's.
Result<DiffOutcome> Diff(const Module& module, std::span<const Literal* const> arguments, const DiffOptions& options,
                         std::optional<std::vector<Literal>> expected = std::nullopt);

// The same on devices that are open already: options.device, against, compile and evaluate are not looked at.
Result<DiffOutcome> RunDiff(const Module& module, std::span<const Literal* const> arguments, const DiffSide& device,
                            const DiffSide* other, std::optional<std::vector<Literal>> expected,
                            const DiffOptions& options);

}  // namespace vxla
