// Specialisation: a program with bounded dynamic dimensions as the static program that it is at given live sizes.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/data/literal.h"
#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

// Whether any value of the program has a bounded dynamic dimension.
bool HasLiveSizes(const Module& module);

using FoldInstruction = std::function<Result<Literal>(const Instruction&, std::span<const Literal* const>)>;

// What the caller knows.
struct LiveFacts {
  std::vector<std::vector<int64_t>> parameter_sizes;  // by leaf of all parameters, and dimension
  std::vector<Literal> answers;                       // to the questions so far, in their order
};

struct SpecializedModule {
  // Its parameters and results are as wide as the bounds. All sizes are in its text.
  std::unique_ptr<Module> module;
  // If a size (or the branch that decides one) depends on data: the module's result is that scalar, for `answers`.
  bool is_question = false;
  int64_t parameter = -1;  // that is this scalar, if one is
  Literal likely_answer;   // the bound of that size, the first branch
  std::vector<std::vector<int64_t>> result_sizes;  // by leaf, and dimension
};

// Dense arrays of the live sizes take the place of padded ones: each instruction is what it is at exactly these sizes
// (core/sizes/live_instruction.h), arrays are cut where they are used, and loops' states keep their bounds. `fold`
// evaluates instructions on constants, which sizes are computed with. Starts and dones have been expanded before
// (core/passes/devices/one_device.h). An error where live sizes do not go together, as the reference's; Unsupported
// where sizes change within a loop or come from the host.
Result<SpecializedModule> SpecializeLiveSizes(const Module& module, const LiveFacts& facts,
                                              const FoldInstruction& fold);

// Sizes for LiveFacts.
std::vector<std::vector<int64_t>> BoundsOfParameters(const Module& module);

// At the first sizes, from the bounds down, that go together, questions answered by what is likely; null where none of
// those that are tried does.
Result<std::unique_ptr<Module>> SpecializeAtLikelySizes(const Module& module, const FoldInstruction& fold);

}  // namespace VXLA_NAMESPACE
