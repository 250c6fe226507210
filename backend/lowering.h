// Lowering: from an instruction of an optimised module to steps. Pure: facts in, steps out; buffers are still virtual.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backend/device_facts.h"
#include "backend/step.h"
#include "core/ir/instruction.h"
#include "core/passes/fuse/fusion_description.h"

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
  // The 128 bits, low word first, that an rng-get-and-update-state's random numbers come from: what steps leave there
  // stays until the run ends. A run begins with the seed and the device's number, or, of what counts the draws of rng,
  // with no draw and a key of both as the high half.
  virtual BufferSlice RandomState(const Instruction&) { return Scratch(16); }
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

// A while as steps that run it, condition and body.
struct LoopLowering {
  std::vector<Step> steps;
  // How often the steps run, each time going on where the state was left. -1: until `goes_on`, an s32, is 0 after them.
  int64_t runs = 1;
  BufferSlice goes_on;
};

// A step that decides on the device which dispatches do something: gate g, four words of `gates`, says whether it is
// open and then how many workgroups run, which is what `table`'s four words say or none. With branches, gate g is open
// if the selector takes branch table[4 g] and the gate that the whole lies in is open; of a loop, which has no
// branches, gates that were open stay open as long as the selector is not 0.
//
// With a change, gates belong to modes, as table[4 g] says: those of the mode at hand are open. The first gate holds
// two words, whether the mode is not 0 and which it is, and the gates behind it up to `counters` count trips. If the
// mode is `here`, the step changes it to `first`, or where its question is answered otherwise, to `others`: the
// selector takes another branch than 0 (`others` + branch - 1), a loop's condition is 0, a loop has made `trips`.
struct ModeChange {
  enum class Kind : uint8_t { kStart, kAlways, kCondition, kBranch, kCount } kind = Kind::kAlways;
  uint32_t here = 0, first = 0, others = 0;
  int counters = 0, counter = 0;
  int64_t trips = 0;
};
struct GateRequest {
  std::string name;
  BufferSlice selector;
  bool selector_is_pred = true;  // a byte; else an s32, and one out of range takes the last branch
  int branches = 0;
  BufferSlice parent;  // the gates that the whole lies in; no buffer: none
  int parent_gate = 0;
  BufferSlice table, gates;
  std::optional<ModeChange> change = {};
};

// What a backend offers the scheduler. backend/vulkan/lower implements it.
class Lowering {
 public:
  virtual ~Lowering() = default;
  // Whether Lower would take this instruction (a fusion or a KERNEL op), by what it is and how large; of what no index
  // of 31 bits reaches, Lower alone knows.
  virtual Status CanLower(const Instruction& instruction) const = 0;
  // The steps, in order; a step sees what the steps before it wrote. Unsupported, with the reason that `vxla explain`
  // shows, where the device cannot run the instruction.
  virtual Result<std::vector<Step>> Lower(const Instruction& instruction, BufferMap& buffers) const = 0;
  // A while that the device runs by itself; Unsupported with the reason where its condition and body are better
  // separate steps. The loop's leaves are its state, in memory that begins as the operand is where a step says that
  // the result must lie there; leaves that the body hands on are the operand's own.
  virtual Result<LoopLowering> LowerLoop(const Instruction& loop, BufferMap& buffers) const {
    (void)buffers;
    return Unsupported("{}: this device runs no loops by itself", loop.name());
  }
  // Whether LowerGates and LowerCopy can be asked; else the host decides.
  virtual bool HasGates() const { return false; }
  virtual Result<Step> LowerGates(const GateRequest& request) const {
    return Unsupported("{}: this device does not decide", request.name);
  }
  // A copy as a dispatch, of whole groups of 16 bytes: up to 15 bytes behind the slices are copied too.
  virtual Result<Step> LowerCopy(std::string name, const BufferSlice&, const BufferSlice&) const {
    return Unsupported("{}: this device copies by commands only", name);
  }
};

}  // namespace VXLA_NAMESPACE
