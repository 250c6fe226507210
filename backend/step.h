// Step: one dispatch of a plan, as a serialisable value without pointers or Vulkan handles.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/numerics/accumulation_order.h"

namespace VXLA_NAMESPACE {

// What a pipeline is made from. Two equal keys are the same pipeline.
struct KernelKey {
  std::string algorithm;            // a file below shaders/: "elementwise/fused_loop.comp"
  std::string generated;            // the hooks that codegen wrote, spliced in where the file includes "generated"
  std::vector<uint32_t> constants;  // specialisation constants by id; ids 0, 1, 2 are the workgroup size
  uint32_t buffer_count = 0;        // tensors bound (the argument block does not count)
  uint32_t param_count = 0;         // 32-bit words of parameters in the argument block
  // Under descriptors tensors of several pieces (backend/kernel_pieces.h) are bound as two arrays: of so many that are
  // written, then of the rest, and a piece has so many of them; 0: each is a binding of its own.
  uint32_t written_array = 0, piece_tensors = 0;
  std::vector<bool> written_tensors = {};  // which of its tensors are in the array of those that are written
  // Of a loop over elements: each invocation has all of its items, so many, and asks nothing (0: it asks of each
  // whether there is one); or it has one, if that.
  uint32_t whole_items = 0;
  bool one_item = false;
  bool in_parts = false;         // dispatches say at which workgroup they begin
  bool small_subgroups = false;  // runs best in the smallest subgroups that the device lets a pipeline ask for
  bool is_module = false;        // `generated` is a whole SPIR-V module, its words as bytes
  // Of a kernel of the user's: what messages call it, and the part of the text that they show.
  std::string user_file = {}, user_text = {};
  friend bool operator==(const KernelKey&, const KernelKey&) = default;
};

// A part of a virtual buffer of the plan.
struct BufferSlice {
  int buffer = -1;
  int64_t offset_bytes = 0, size_bytes = 0;
  friend bool operator==(const BufferSlice&, const BufferSlice&) = default;
};

enum class Access : uint8_t { kRead, kWrite, kReadWrite };

struct Binding {
  BufferSlice slice;
  Access access = Access::kRead;
  friend bool operator==(const Binding&, const Binding&) = default;
};

// A result that a step may write over an operand: every place is read before it is written. `must`: it has to lie
// there, for the step changes some of the operand's elements and leaves the rest as they are; its binding of the result
// is kReadWrite. The scheduler puts both into one place, or copies the operand to where the result lies first.
struct SharedPlace {
  BufferSlice operand, result;
  bool must = false;
  friend bool operator==(const SharedPlace&, const SharedPlace&) = default;
};

// The workgroups of a dispatch: so many along each axis, of which `first` is the number of the first one. Kernels
// number their workgroups x + y * groups[0], so that a part has whole lines.
struct GroupRange {
  std::array<uint32_t, 3> groups{1, 1, 1};
  uint32_t first = 0;
  friend bool operator==(const GroupRange&, const GroupRange&) = default;
};

// What is asked about a kernel beside what makes its pipeline, by what wrote it: for lowering and planning alone.
struct KernelTraits {
  bool beyond_reach = false;  // an index passes what the text can hold: lowering refuses it
  bool emulates = false;      // it calculates with types that the device has in pairs of words
  bool indivisible = false;   // it has to be dispatched at once: a kernel of a user's, who counts workgroups himself
  friend bool operator==(const KernelTraits&, const KernelTraits&) = default;
};

// What a step adds up: the instructions (by path, PathOf) and in which order.
struct StepAccumulation {
  std::vector<std::string> of;
  AccumulationLevel level;
  friend bool operator==(const StepAccumulation&, const StepAccumulation&) = default;
};

// The argument block of a step, in device memory, 16-byte aligned:
//   uint64 address[buffer_count]   (zero in descriptors mode)
//   uint32 param[param_count]
// Under addresses the kernel gets the block's address as a push constant (8 bytes); under descriptors the block is set
// 0 binding 0 and tensor k is set 0 binding k + 1; of a kernel with arrays, tensor k is element k of the array at
// binding 1 or element k - written_array of the one at binding written_array + 1. One that is dispatched in parts gets
// the number of its first workgroup as a push constant (4 bytes) behind that. (vkCmdDispatchBase gave wrong results
// under NVIDIA's driver, 580.159.)
struct Step {
  std::string name;  // readable: "fusion.3 (exp, subtract)"
  KernelKey kernel;
  std::vector<Binding> bindings;  // buffer_count of them
  std::vector<uint32_t> params;   // param_count words
  std::array<uint32_t, 3> groups{1, 1, 1};
  int64_t flop = 0;         // for --profile; 0 if it makes no sense
  int64_t part_bytes = -1;  // what it moves, where that is not all that it is bound to; MovedBytes()
  KernelTraits traits;
  std::vector<StepAccumulation> accumulations;  // in the order in which they happen; none if it adds nothing up
  std::vector<SharedPlace> in_place;
  // Where a step before it left how many workgroups there is something to do for, three words, at most `groups`; no
  // buffer: for all. Right, but slower, with all of them.
  BufferSlice groups_at = {};
  // What it reads and writes at most.
  int64_t MovedBytes() const {
    if (part_bytes >= 0) return part_bytes;
    int64_t bytes = 0;
    for (const Binding& binding : bindings)
      bytes += binding.slice.size_bytes * (binding.access == Access::kReadWrite ? 2 : 1);
    return bytes;
  }
  // Whether what the step reads at `operand` may lie where it writes `result`. Where it must, the step reads the
  // operand at the result: another binding of the same value is read for something else, and would be overwritten.
  bool MayShare(const BufferSlice& operand, const BufferSlice& result) const {
    return std::ranges::any_of(
        in_place, [&](const SharedPlace& p) { return !p.must && p.operand == operand && p.result == result; });
  }
  friend bool operator==(const Step&, const Step&) = default;
};

}  // namespace VXLA_NAMESPACE
