// Programs that check themselves: functions with check operations (check.expect_eq ..., or custom calls of these
// names), as modules that give the values which are compared.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/mlir/importer/importer.h"

namespace VXLA_NAMESPACE::mlir {

// One check operation of the text, or one that prints or keeps a value. Where it stands the program shows its values by
// an observation (core/ir/observation.h) of its number, and goes on with what the host answers: whether they agree.
struct Check {
  enum class Kind : uint8_t {
    kEqual,        // the same values; NaN is NaN
    kAlmostEqual,  // up to `tolerance`, absolute; integers exactly
    kClose,        // between min_ulp and max_ulp steps of the type apart
    kProbed,       // the same as what the probe `text` kept in its trip `iteration`, from 0
    kPrint,        // the value called `text` in the program
    kProbe,        // keeps a value for the probe `text`
  };
  Kind kind = Kind::kEqual;
  std::string operation;  // "check.expect_eq"
  SourceLocation location;
  double tolerance = 0;
  uint64_t min_ulp = 0, max_ulp = 0;
  std::string text;
  int64_t iteration = 0;
  std::shared_ptr<const Literal> expected;  // in place of a second value; a scalar stands for all elements
};

// interpreter.run_parallel: programs on a grid of devices.
struct ParallelRun {
  int64_t replicas = 1, partitions = 1;
  // What every device runs. Of one program on all devices: device d takes operands d * n to d * n + n - 1 and gives as
  // many results; of several, each device takes all operands, and the results of device d are those that are its own.
  std::unique_ptr<Module> module;
  bool shared = false;                           // several programs
  std::vector<ValueId> operands, results;        // operands: without tokens, which programs make themselves
  std::vector<int64_t> owners;                   // of the results: the device
  std::vector<std::unique_ptr<Module>> infeeds;  // what infeeds take, in order: programs without arguments
};

// A part of a function: values in, values out; then perhaps a run on several devices.
struct CheckStage {
  std::unique_ptr<Module> module;  // null: nothing is to be computed
  std::vector<ValueId> inputs, outputs;
  std::unique_ptr<ParallelRun> parallel;
};

struct CheckFunction {
  struct Constant {
    std::shared_ptr<const Literal> literal;  // a scalar stands for all elements
    Shape shape;
  };
  std::vector<CheckStage> stages;
  std::map<ValueId, Constant> constants;  // values that need no device
  std::vector<Check> checks;              // by their numbers
  std::unique_ptr<Module> question;       // has to be known first: a size depends on it
};

// The functions that are run by themselves: public ones, and private ones without arguments that nothing calls; but
// none that run_parallel names, and none that takes arguments and is called.
struct CheckEntry {
  std::string name;
  SourceLocation location;
  size_t arguments = 0;
};
std::vector<CheckEntry> CheckEntries(const Program& program);

// Errors as ParseStablehlo's. A function with arguments is imported only to be verified. `answers` to the questions so
// far and `fold` are for programs with sizes that are computed, as RefineMlir's.
Result<CheckFunction> ImportCheck(const Program& program, const std::string& function,
                                  const std::vector<Literal>& answers, const FoldInstruction& fold);

}  // namespace VXLA_NAMESPACE::mlir
