// Check: programs with check operations, section by section and function by function, on the reference or on a device.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cpu/reference/evaluator.h"
#include "core/mlir/importer/check_program.h"
#include "scheduler/runtime/client.h"

namespace VXLA_NAMESPACE {

struct CheckVerdict {
  enum class Kind : uint8_t { kPassed, kFailed, kSkipped };
  size_t section = 0;  // from 1
  int line = 0;
  std::string function;  // empty: the section could not be read, or was expected to be rejected
  Kind kind = Kind::kPassed;
  std::string reason;                 // of the others
  StatusCode code = StatusCode::kOk;  // of a failure
  std::vector<std::string> printed;   // by interpreter.print
};

// Where functions run. `client` null: the CPU reference, which also runs what the device cannot do. It stands for all
// devices of run_parallel.
struct CheckTarget {
  Client* client = nullptr;
  CompileOptions compile;
  EvaluateOptions evaluate;
};

// One section of a file, from the line that it begins at: the verdicts of its functions, or one if it says
// `expected-error`: then it must be rejected on that line.
std::vector<CheckVerdict> CheckSection(std::string_view text, int first_line, size_t section,
                                       const CheckTarget& target);

}  // namespace VXLA_NAMESPACE
