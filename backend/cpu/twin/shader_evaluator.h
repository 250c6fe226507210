// Shader math on the CPU: evaluates a module with the arithmetic of the shaders (compiled as C++) and adds up in the
// order of a plan, so that it gives the bits that a faithful device gives. Data movement and what has no kernel are the
// reference's.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "backend/cpu/reference/evaluator.h"
#include "core/ir/module.h"
#include "core/numerics/accumulation_order.h"

namespace VXLA_NAMESPACE {

struct ShaderEvaluation {
  // Of each reduce, reduce-window and dot, by path (PathOf). One that is missing is summed in one chain.
  std::unordered_map<std::string, AccumulationOrder> orders;
  // Instructions (and computations below them) that the plan evaluates on the host, by path.
  std::unordered_set<std::string> on_host;
  EvaluateOptions options;  // observe, threads, max_loop_iterations
};

// `module` is the one that the plan was made of (the optimised one).
Result<Literal> EvaluateAsShaders(const Module& module, std::span<const Literal* const> arguments,
                                  const ShaderEvaluation& evaluation);

}  // namespace VXLA_NAMESPACE
