// A scatter's windows as lists: where each starts, and its updates.
#pragma once

#include <vector>

#include "core/passes/base/expansion.h"
#include "core/passes/expand/scatter_form.h"

namespace VXLA_NAMESPACE {

class ScatterWindows : protected Expansion {
 protected:
  ScatterWindows(Computation& computation, Instruction* scatter);

  // Fills starts_.
  void ReadStarts();
  // Fills updates_.
  void ReadUpdates();
  // Each element of a window becomes a window of its own: windows that overlap have elements that meet.
  void TakeWindowsApart();
  // How many places windows can start at.
  int64_t Places() const;
  // The number of each start among all that lie in the array; one beyond for those outside.
  Instruction* Keys();

  const ScatterForm form_;
  // Of the array; the dimensions in which windows start anywhere but at 0; a window's sizes.
  IntList sizes_, started_, window_;
  int64_t count_ = 1;
  // s32[count,1] for each of started_; by array, [count, window sizes ...].
  std::vector<Instruction*> starts_, updates_;

 private:
  // s32, so that what is out of reach stays so: no dimension is longer.
  Instruction* Saturated(Instruction* value);
};

}  // namespace VXLA_NAMESPACE
