// Where the values of a loop's program lie in memory while its kernel runs.
#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "backend/vulkan/lower/whiles/program.h"

namespace VXLA_NAMESPACE::vulkan {

class LoopMemory {
 public:
  LoopMemory(const LowerContext& context, const LoopProgram& program, BufferMap& buffers);

  BufferSlice SliceOf(int place);
  BufferSlice SliceOfRow(int number);
  // Where something of the program around lies while the loop runs.
  BufferSlice Inside(const BufferSlice& outside) const;

  // Operands or state are moved, by steps before the loop and after it.
  bool moves() const { return !packed_.empty(); }
  std::vector<Step> MovePacked(bool in) const;

 private:
  void PlaceScratch();
  void Pack();

  // Something that lies in a buffer of its own outside, and in one with others while the loop runs.
  struct Packed {
    BufferSlice outside, inside;
    ElementType type = ElementType::kPred;
    int64_t count = 0;
    bool state = false;
  };
  static std::tuple<int, int64_t, int64_t> KeyOf(const BufferSlice& slice) {
    return {slice.buffer, slice.offset_bytes, slice.size_bytes};
  }

  const LowerContext& context_;
  const LoopProgram& program_;
  BufferMap& buffers_;
  std::vector<std::optional<BufferSlice>> slices_;
  std::vector<int64_t> scratch_first_;  // by place
  std::vector<Packed> packed_;
  std::map<std::tuple<int, int64_t, int64_t>, size_t> packed_at_;  // by the slice outside
  int64_t scratch_bytes_ = 0;
  BufferSlice scratch_;
};

}  // namespace VXLA_NAMESPACE::vulkan
