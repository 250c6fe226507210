// A program that is compiled anew for the sizes that its arguments come with.
#pragma once

#include <span>

#include "scheduler/runtime/client.h"

namespace VXLA_NAMESPACE {

// For the parts of a program that say a size, which run before it.
inline ExecuteOptions AsQuestion(ExecuteOptions options) {
  options.statistics = nullptr;
  return options;
}

class SizeDependent {
 public:
  virtual ~SizeDependent() = default;

  // For whoever looks at plans.
  virtual Executable& shown() const = 0;
  virtual Result<Execution> Execute(const Device& device, std::span<const Argument> arguments,
                                    const ExecuteOptions& options) = 0;
  virtual Result<StaticProgram> ProgramFor(const Device& device, std::span<const Argument> arguments) = 0;
};

}  // namespace VXLA_NAMESPACE
