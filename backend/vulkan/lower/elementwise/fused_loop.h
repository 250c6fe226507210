// Loops over elements (elementwise/fused_loop.comp), for kernels of several families.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/vulkan/lower/lower.h"
#include "backend/vulkan/lower/tuning/tuning.h"

namespace VXLA_NAMESPACE::vulkan {

// Computes values of the body, of equally many elements, into places.
Step LowerLoop(const LowerContext& context, const FusionDescription& body, BufferMap& buffers,
               std::span<const Instruction* const> results, std::span<const BufferSlice> places);

// A loop over elements some of whose operands lie across: along dimension x of the results, the last, their elements
// are far apart, and along t side by side (elementwise/turned_loop.comp).
struct Turn {
  size_t x = 0, t = 0;
  std::vector<size_t> reads;  // which of the body's reads do, in the order of a walk from its roots
  TurnShape shape;
};
// The elements of a row of the results, if an operand lies across their last two dimensions of more than one element;
// else 0.
int64_t AcrossRowOf(const FusionDescription& body);
// None: no operand does, or it does not pay.
std::optional<Turn> TurnOf(const LowerContext& context, const FusionDescription& body);
Step LowerTurnedLoop(const LowerContext& context, const FusionDescription& body, BufferMap& buffers, const Turn& turn);

// The step of a kernel that has its element(i), for i below P(0) = count / tuning.width.
Step FinishLoop(const LowerContext& context, KernelBuilder& kernel, const LoopTuning& tuning, int64_t count,
                std::string name);

// The size that each of some results of a fusion says of its rows (core/passes/sizes/live_rows.h); null: they do not
// say the same.
const Instruction* LiveRowsOf(std::span<const Instruction* const> results, int64_t d = 0);
// How much of something there is to do, known on the device only: `size` of `rows` rows of `stride` elements, in groups
// of `width`; that `times` over.
struct LiveCount {
  const Instruction* size = nullptr;  // an s32 scalar of the body
  int64_t rows = 1, stride = 1, width = 1, more = 0, times = 1;
};
// Appends `uint name()`, which is that count, rounded up, and with `times` also `uint name_place(uint i)`: where the
// i-th of them lies among all.
void AppendLiveCount(KernelBuilder& kernel, const FusionDescription& body, BufferMap& buffers, const LiveCount& count,
                     const std::string& name);
// The step, whose workgroups do `per_group` of the count each, `times` for each of them; before it, where that is worth
// it, a step that counts the workgroups that are needed.
std::vector<Step> WithLiveGroups(const LowerContext& context, const FusionDescription& body, BufferMap& buffers,
                                 const LiveCount& count, Step step, int64_t per_group, int64_t times);

// A loop over `count` elements, `width` neighbours of them at a time, whose body the caller writes.
class LoopKernel {
 public:
  LoopKernel(const LowerContext& context, const FusionDescription& body, BufferMap& buffers, int64_t count,
             const LoopTuning& tuning);

  KernelBuilder& kernel() { return kernel_; }
  ValueWriter& writer() { return writer_; }
  IndexSpace& space() { return space_; }
  // Counts the groups of `width` elements.
  IndexExpression group() const { return space_.Variable(loop_); }
  int group_variable() const { return loop_; }
  // Elements behind those that live are left alone.
  void StopBehind(const LiveCount& live);
  // What the writer has written is the body.
  Step Finish(std::string name);

 private:
  const LowerContext& context_;
  const FusionDescription& body_;
  BufferMap& buffers_;
  const int64_t count_;
  const LoopTuning tuning_;
  KernelBuilder kernel_;
  IndexSpace space_;
  const int loop_;
  ValueWriter writer_;
  bool apart_ = false;  // what lives does not lie in one piece
};

}  // namespace VXLA_NAMESPACE::vulkan
