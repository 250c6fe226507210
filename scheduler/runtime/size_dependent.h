// A program that is compiled anew for the sizes that its arguments come with.
#pragma once

#include <span>

#include "scheduler/runtime/client.h"

namespace VXLA_NAMESPACE {

class SizeDependent {
 public:
  virtual ~SizeDependent() = default;

  // For whoever looks at plans.
  virtual Executable& shown() const = 0;
  virtual Result<Execution> Execute(const Device& device, std::span<const Argument> arguments,
                                    RunStatistics* statistics) = 0;
  virtual Result<StaticProgram> ProgramFor(const Device& device, std::span<const Argument> arguments) = 0;
};

}  // namespace VXLA_NAMESPACE
