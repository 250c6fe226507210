// Arguments of a program: from .npz or .npy files, the rest from a seeded generator.
#pragma once

#include <string>
#include <vector>

#include "api/verify/seeded_arguments.h"
#include "backend/cpu/reference/evaluator.h"
#include "core/data/literal.h"
#include "core/ir/module.h"
#include "core/ir/sharding.h"
#include "tools/numpy_file.h"

namespace VXLA_NAMESPACE {

// Where a program's arguments come from: one .npz (arg_0, arg_1 ... flattened depth first, or numpy.savez's arr_0,
// arr_1
// ...) or .npy files in that order; the rest are made from a seed.
struct ArgumentSource {
  std::vector<std::string> files;
  uint64_t seed = 0;
  ArgumentFill fill = ArgumentFill::kSmall;
};

struct ProgramArguments {
  std::vector<Literal> values;     // one per entry parameter, tuples rebuilt
  std::vector<std::string> notes;  // "arguments: 12 seeded (seed 0), 3 from args.npz"; empty if files gave all
  std::vector<const Literal*> pointers() const;
};

// The same for several devices.
struct ReplicatedArguments {
  std::vector<std::vector<Literal>> values;  // by parameter: one for every device, or one for each
  std::vector<std::string> notes;
  std::vector<std::vector<const Literal*>> pointers(int64_t devices) const;  // by device
};

// What is given must fit, and a name that no parameter wants is an error.
Result<ProgramArguments> LoadArguments(const Module& module, const ArgumentSource& source);

// Where the arguments decide sizes, the module for these arguments; else it stays as it is.
Status RefineForArguments(std::unique_ptr<Module>& module, const ArgumentSource& source, const EvaluateOptions& options,
                          int64_t devices = 1);

// Arrays with one more axis, of `devices`, are dealt out; others go to all. Missing ones differ from device to device.
Result<ReplicatedArguments> LoadReplicatedArguments(const Module& module, const ArgumentSource& source,
                                                    int64_t devices);
// Whole arrays, of which each device gets the tiles that it has; `parameters` by parameter of the module.
Result<ReplicatedArguments> LoadWholeArguments(const Module& module, const std::vector<Sharding>& parameters,
                                               const ArgumentSource& source, int64_t devices);
// From results stacked by device: what lies in tiles is put together, of the rest the first device's is taken.
Result<Literal> WholeResults(const Literal& stacked, const std::vector<Sharding>& results, int64_t devices);
// An array for every device (one literal), or one for each. Whether it fits is seen without its data.
Status CheckArrayOf(const NumpyArray& array, const Shape& wanted, const std::string& type_name, const std::string& name,
                    int64_t devices);
Result<std::vector<Literal>> ToLiterals(const NumpyArray& array, const Shape& wanted, const std::string& type_name,
                                        const std::string& name, int64_t devices);

}  // namespace VXLA_NAMESPACE
