// Device step: an instruction of the host's that the client's owner runs on the device's memory itself, instead of the
// evaluator on what was downloaded.
#pragma once

#include <vector>

#include "backend/device.h"
#include "core/data/literal.h"

namespace VXLA_NAMESPACE {

struct DeviceStep {
  struct Operand {
    BufferRange range;
    const Literal* constant = nullptr;  // instead of a range
  };
  std::vector<Operand> operands;  // arrays, tuples flattened
  std::vector<BufferRange> results;
  // From when on operands may be read and results written.
  Moment after;
  // Set by who runs it: from when on results may be read and operands written.
  TimePoint finished;
};

}  // namespace VXLA_NAMESPACE
