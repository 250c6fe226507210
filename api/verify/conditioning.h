// Conditioning: how far rounding alone can move what a program computes, seen from runs of the reference whose
// roundings are perturbed (api/verify/perturbation.h), and whether a value that differs lies within that.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "api/verify/conditioning_result.h"
#include "api/verify/perturbation.h"
#include "core/ir/module.h"
#include "core/numerics/literal_compare.h"

namespace VXLA_NAMESPACE {

// Values of one result gathered run by run, in memory that does not grow with the runs.
class Spread {
 public:
  // The reference's own value, which must outlive this.
  explicit Spread(const Literal& reference);
  void Add(const Literal& perturbed);
  int runs() const { return runs_; }
  // An element may be off by `tolerance` or by four times the root mean square of what the runs are off by; NaN and
  // infinities are fine where a run has them. A rare flip (of a comparison, a rounding) need not have shown at this
  // very element: by Good and Turing's estimate the runs say how many such elements one more run would have.
  Conditioning Judge(const Literal& value, const Tolerance& tolerance) const;

 private:
  struct Element {
    double squares = 0, largest = 0;    // of the finite differences; `largest` squared
    std::array<uint16_t, 4> runs = {};  // by class: finite, NaN, either infinity
  };
  const Literal& reference_;
  std::vector<Element> elements_;
  int runs_ = 0;
};

struct ConditioningOptions {
  PerturbationOptions perturbation;
  std::function<void(const std::string& step)> progress;
};

// Whether values can come from rounding. `values`: one or more of them, by leaf; `suspects`: the leaves to judge, with
// `tolerances` by leaf. Runs the program eight times, up to 32 times while these leave a doubt. By value and suspect.
Result<std::vector<std::vector<Conditioning>>> JudgeByConditioning(
    const Module& module, std::span<const Literal* const> arguments, const Literal& reference,
    const std::vector<std::vector<const Literal*>>& values, std::span<const size_t> suspects,
    std::span<const Tolerance> tolerances, const ConditioningOptions& options);

// The same of one instruction by itself, given operands; every array of its result is a suspect.
Result<std::vector<Conditioning>> JudgeInstruction(const Instruction& instruction,
                                                   std::span<const Literal* const> operands, const Literal& reference,
                                                   const Literal& value, std::span<const Tolerance> tolerances,
                                                   const ConditioningOptions& options);

}  // namespace VXLA_NAMESPACE
