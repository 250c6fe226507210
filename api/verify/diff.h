// Diff: one program on a device and on the CPU reference (or another device, or next to saved results): where the
// values differ, whether that is more than rounding, and whose fault it is.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/device_options.h"
#include "api/verify/conditioning_result.h"
#include "api/verify/isolate.h"
#include "core/numerics/literal_compare.h"

#pragma GCC visibility push(default)
namespace VXLA_NAMESPACE {

class DiffSide;
struct DeviceFacts;

struct LeafReport {
  size_t index = 0;
  std::string shape;
  Tolerance tolerance;
  Comparison comparison;                  // the device with the expected value
  std::optional<Comparison> shader_math;  // shader math with the expected value
  std::optional<Comparison> driver;       // the device with shader math, bit by bit
  // What the program's conditioning says of a result outside its tolerance; none: it was not asked. `conditioning` is
  // of the device's value, `expected_conditioning` of what it is compared with, where that is not the reference itself:
  // rounding must explain both.
  std::optional<Conditioning> conditioning, expected_conditioning;
  bool agrees() const {
    return comparison.agrees() ||
           (conditioning && conditioning->explains && (!expected_conditioning || expected_conditioning->explains));
  }
  // "tolerance" (stated, or the default of whole programs), "operation" (the bound of a program of one operation) or
  // "conditioning".
  std::string judged_by;
};

struct DiffOptions {
  DeviceOptions device;
  std::optional<DeviceOptions> against;  // a second device in the reference's place
  std::vector<std::string> places;       // of a program on several devices: as PlacedExecutable; none: all on `device`
  CompileOptions compile;
  EvaluateOptions evaluate;  // of the reference, host steps and shader math: seed, threads, custom calls ...
  // Either of the first two leaves the other's default; ulp alone leaves nothing else. With any of them nothing but the
  // tolerance decides.
  std::optional<double> rtol, atol, ulp;
  bool stated() const { return rtol || atol || ulp; }
  bool shader_math = true;  // also the shaders' arithmetic on the CPU; without it no fault is named
  bool isolate = false;     // every instruction by itself
  bool bisect = false;      // up to the first bad instruction, looking into loops
  std::function<void(const std::string& step)> progress;
};

struct DiffOutcome {
  std::string device, reference;             // in words
  std::shared_ptr<const DeviceFacts> facts;  // of the device, for the library's own tools; null: it was the reference
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
  // How much the program makes rounding errors grow, where that was asked: the largest of all results.
  std::optional<double> amplification() const;
  // Of a difference: "algorithm", "driver", "order" (of a combiner that cannot be shown to associate), "rounding" (a
  // stated tolerance is too small for what each instruction's own bound leads to), "overflow" (partial results may
  // leave the range in one order and not in another), "expected file" (the reference gives
  // other values than the file too) or "other device" (the device agrees with the reference, the one in the reference's
  // place does not); empty: not known, or none.
  std::string fault, first_bad;
};

// What an element of a whole program's result may be off by: what is stated, else rtol 1e-5 and atol 1e-6 of the
// largest expected magnitude (more after long sums).
Tolerance ToleranceOf(const Module& module, const Literal& expected, const DiffOptions& options);

// Result k beside what is expected of it; the first outside its tolerance is the outcome's bad one.
LeafReport& AddLeaf(size_t k, const Literal& got, const Literal& wanted, const Tolerance& tolerance,
                    DiffOutcome& outcome);

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

}  // namespace VXLA_NAMESPACE
#pragma GCC visibility pop
