// Lowering: from an instruction of an optimised module to steps. Pure: facts in, steps out; buffers are still virtual.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/device_facts.h"
#include "backend/step.h"
#include "core/instruction.h"
#include "core/passes/fusion_description.h"

namespace VXLA_NAMESPACE {

// Where values live while a plan is made; given by the scheduler.
class BufferMap {
 public:
  virtual ~BufferMap() = default;
  // The slice that holds leaf `leaf` (depth first) of an instruction's value.
  virtual BufferSlice SliceOf(const Instruction& instruction, int leaf) = 0;
  // A fresh scratch buffer that lives for this instruction's steps only.
  virtual BufferSlice Scratch(int64_t size_bytes) = 0;
  // A buffer that holds these words whenever the steps run: tables that lowering computes. Equal tables are one buffer.
  virtual BufferSlice Constant(std::vector<uint32_t> words) = 0;
  // The 128 bits, low word first, that random numbers come from: what steps leave there stays until the run ends. A run
  // begins with the seed, or, of `draws`, with no draw and the seed as the high half.
  virtual BufferSlice RandomState([[maybe_unused]] bool draws) { return Scratch(16); }
};

// A description's in-place pairs as places. An operand that lies where another one lies shares a place only if both
// may, or if it must.
inline std::vector<SharedPlace> PlacesOf(const FusionDescription& description, BufferMap& buffers) {
  const Instruction& instruction = *description.instruction;
  std::vector<SharedPlace> places;
  for (const InPlacePair& pair : description.in_place) {
    const BufferSlice operand = buffers.SliceOf(*instruction.operand(pair.operand), 0);
    bool all = true;
    for (int k = 0; k < instruction.operand_count(); ++k) {
      all &= !instruction.operand(k)->shape().IsArray() || buffers.SliceOf(*instruction.operand(k), 0) != operand ||
             description.MayLieAt(k, pair.leaf);
    }
    if (all || pair.must) places.push_back({operand, buffers.SliceOf(instruction, pair.leaf), pair.must});
  }
  return places;
}

struct LoweringOptions {
  BindingMode bindings = BindingMode::kAddresses;
};

// What a backend offers the scheduler. backend/vulkan/lower implements it.
class Lowering {
 public:
  virtual ~Lowering() = default;
  // OK if the device can run this instruction (a fusion or a KERNEL op); else kUnsupported with the reason that
  // `vxla explain` shows. Decides without making steps.
  virtual Status CanLower(const Instruction& instruction) const = 0;
  // The steps, in order; a step sees what the steps before it wrote.
  virtual Result<std::vector<Step>> Lower(const Instruction& instruction, BufferMap& buffers) const = 0;
};

}  // namespace VXLA_NAMESPACE
