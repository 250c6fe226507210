// What `vxla diff` finds out: results compared three ways, instructions one by one, and whose fault a difference is.
// Without any printing, so that tests can ask for it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/literal_compare.h"
#include "core/module.h"
#include "tools/diff_isolate.h"
#include "tools/diff_side.h"

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
  std::optional<double> rtol, atol, ulp;
  std::optional<Tolerance> stated() const;  // by any of these
  bool shader_math = true;
  bool isolate = false, bisect = false;
  std::function<void(const std::string&)> progress;
};

struct DiffOutcome {
  std::string device, reference;  // in words
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

// `expected`: what to compare with if not the reference or `other`, by leaf.
Result<DiffOutcome> RunDiff(const Module& module, std::span<const Literal* const> arguments, const DiffSide& device,
                            const DiffSide* other, std::optional<std::vector<Literal>> expected,
                            const DiffOptions& options);

}  // namespace vxla
