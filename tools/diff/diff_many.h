// Several programs compared, each by a `vxla diff` in a process of its own: one that crashes or never ends takes no other
// with it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/diff/diff_cases.h"

namespace VXLA_NAMESPACE {

struct DiffTask {
  std::string program, device, command;
  std::vector<std::string> words;  // behind `vxla`
};

// So many at a time; what takes longer than `most_seconds` (0: nothing) is stopped. `told` gets each in their order, as
// soon as those before it are done.
Result<std::vector<DiffCase>> RunDiffTasks(const std::vector<DiffTask>& tasks, int jobs, double most_seconds,
                                           const std::function<void(DiffCase&)>& told);

}  // namespace VXLA_NAMESPACE
