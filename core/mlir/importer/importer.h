// From MLIR to a module: functions and regions become computations, values that a region takes from around it become
// parameters, several results become tuples. Nothing after it sees which language a program was written in.
#pragma once

#include <memory>
#include <string_view>

#include "core/ir/module.h"
#include "core/ir/sharding.h"
#include "core/mlir/ir.h"
#include "core/passes/sizes/live_specializer.h"

namespace VXLA_NAMESPACE::mlir {

// What decides the sizes of a program.
struct ProgramFacts {
  std::vector<Shape> arguments;  // of the entry, all sizes known
  std::vector<Literal> answers;  // to the questions so far, in their order
};

// A dimension `?`.
bool HasUnknownSize(const Shape& shape);
// Whether a value has a dimension of unknown size or no rank, or an operation computes with sizes.
bool NeedsRefinement(const Program& program);
// A program at given argument shapes, prepared (core/passes/base/pipeline.h): all sizes follow from them and are
// constants of the module. Where one depends on data, the module's result is what has to be known, for `answers`.
// `fold` evaluates instructions on constants, which sizes are computed with.
Result<SpecializedModule> RefineMlir(const Program& program, const ProgramFacts& facts, const FoldInstruction& fold);

// A program that devices run together, and of which arrays its arguments and results are a device's tiles.
struct PartitionedProgram {
  std::unique_ptr<Module> module;
  std::vector<Sharding> parameters, results;  // none: those of one partition, and of a program that IsDynamicProgram
  // In which of a device's memories they lie, "pinned_host"; empty: nothing is said.
  std::vector<std::string> parameter_memories, result_memories;
  // In which order of its dimensions each is to lie, "{0,1}" from the fastest on, or "auto"; empty: nothing is said.
  std::vector<std::string> parameter_layouts, result_layouts;
  // How an array lies that a call of InspectSharding asks for, and the call's backend_config.
  struct Answer {
    std::string asker;
    Sharding sharding;
  };
  std::vector<Answer> answers;
  std::string arrays;  // how each of them lies (core/passes/sharding); empty: nothing is said of any
};
// `partitions`: of a text that does not say how many there are. lists_arrays: PartitionedProgram::arrays is made.
Result<PartitionedProgram> ParsePartitioned(std::string_view text, int64_t partitions = 1, bool lists_arrays = false);

// Text or bytecode with one program, as it is read: a module, whose entry is the function main, or the only one that is
// public. Errors carry the place and the operation: kInvalidArgument: no valid program; kUnsupported: one that asks for
// what this build cannot do. A program whose sizes are known with its arguments only is one that IsDynamicProgram
// (core/mlir/importer/dynamic_program.h).
Result<std::unique_ptr<Module>> ParseStablehlo(std::string_view text);

}  // namespace VXLA_NAMESPACE::mlir
