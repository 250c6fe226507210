// TargetInfo: what the passes need to know of the device that a module is compiled for. Pure data, so passes run without one.
#pragma once

#include <cstdint>

namespace vxla {

struct TargetInfo {
  bool is_software = true;       // a CPU driver: threads are dear, shared memory and barriers too
  int max_fusion_buffers = 24;   // tensors that one kernel may read and write (descriptor limits, register pressure)
  int max_fusion_instructions = 256;  // instructions in one fused computation: compile time grows with them
  bool fusion = true;            // --no-fusion: every instruction is a fusion of its own
};

}  // namespace vxla
