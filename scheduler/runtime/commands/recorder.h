// Recorder: an execution context (command buffers, argument blocks, scratch) and how a plan gets into it.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "backend/device.h"
#include "scheduler/plan/plan.h"
#include "scheduler/runtime/commands/argument_block.h"
#include "scheduler/runtime/memory/buffer_pool.h"

namespace VXLA_NAMESPACE {

// What all contexts of an executable share.
struct CompiledPlan {
  Plan plan;
  ArgumentLayout layout;
  std::vector<std::shared_ptr<Kernel>> kernels;          // as Plan::kernels
  std::vector<std::shared_ptr<Buffer>> constant_blocks;  // as Plan::constant_block_bytes
  bool profile = false;
};

// A leaf's memory for one run; a null buffer: nothing touches the leaf.
struct BoundBuffer {
  Buffer* buffer = nullptr;
  uint64_t number = 0;  // of DeviceMemory
};

struct RecordCounts {
  int dispatches = 0, copies = 0;
};

// One run at a time; the command buffers are replayed as long as what they name does not move.
class ExecutionContext {
 public:
  static Result<std::unique_ptr<ExecutionContext>> Create(const CompiledPlan& program, BufferPool& pool,
                                                          int64_t& allocated_bytes);
  // Of a plan that the caller's command buffers run (scheduler/runtime/commands/recording.h): it has none of its own,
  // and its scratch may be the caller's, by block; none: its own.
  static Result<std::unique_ptr<ExecutionContext>> CreateForRecording(const CompiledPlan& program, BufferPool& pool,
                                                                      std::vector<std::shared_ptr<Buffer>> scratch);

  // Makes the next submissions use these buffers, by leaf. Under addresses the argument
  // blocks are rewritten where an address changed; only segments that name a moved buffer itself (copies of results,
  // anything under descriptors) are recorded again. Not while a run is in flight.
  Result<RecordCounts> Bind(std::span<const BoundBuffer> parameters, std::span<const BoundBuffer> results);

  // Brings what the host wrote into the argument blocks to where kernels read it, before the segments; null where they
  // read it already. Submitted once, then there is nothing to bring until Bind moves something.
  CommandBuffer* stale_blocks() const { return blocks_are_stale_ ? update_.get() : nullptr; }
  void NoteBlocksUpdated() { blocks_are_stale_ = false; }
  // The same into a command buffer that is being recorded.
  void RecordBlocks(CommandBuffer& commands) const;

  // The first half of Bind: the argument blocks alone. Whether anything moved.
  bool Rebind(std::span<const BoundBuffer> parameters, std::span<const BoundBuffer> results);
  // Into a command buffer that is being recorded. `indirect`: as CommandBuffer::Barrier.
  Status RecordCommand(const GpuCommand& command, bool indirect, CommandBuffer& commands);

  // The number of the buffer that the last run used for a leaf; 0 if there was none. Taking it again spares recording.
  uint64_t LastParameter(int leaf) const { return NumberOf(parameters_, leaf); }
  uint64_t LastResult(int leaf) const { return NumberOf(results_, leaf); }

  const std::vector<std::shared_ptr<Buffer>>& scratch() const { return scratch_blocks_; }
  CommandBuffer& commands(int segment) { return *commands_.at(segment); }
  int queue(int segment) const { return QueueOf(std::get<GpuCommands>(program_.plan.segments.at(segment))); }
  // The segment as often as its loop's batch says; only where that is more than once.
  CommandBuffer& batch(int segment) { return *batches_.at(segment); }
  // Where a slice lies.
  BufferRange Locate(const BufferSlice& slice) const;

  // When all that was submitted of it has finished.
  const Moment& finished() const { return finished_; }
  void NoteSubmitted(TimePoint point) { finished_.Join(point); }
  // Kept until the next run: what this run needs on top (copies of donated arguments).
  std::vector<std::unique_ptr<CommandBuffer>>& extra_commands() { return extra_commands_; }

 private:
  explicit ExecutionContext(const CompiledPlan& program) : program_(program) {}
  Status Allocate(BufferPool& pool, std::vector<std::shared_ptr<Buffer>> scratch, int64_t& allocated_bytes);
  Status Record(int segment, RecordCounts& counts);
  Status Record(int segment, int repeats, CommandBuffer& commands, RecordCounts& counts);
  Status RecordDispatch(CommandBuffer& commands, const Dispatch& dispatch);
  // Whether a command names a buffer that the last Rebind moved, so that rewritten argument blocks are not enough.
  bool NamesMovedBuffer(const GpuCommands& segment) const;
  Buffer* BufferOf(MemorySpace space, int index) const;
  // The device may have fewer than the plan was made for.
  int QueueOf(const GpuCommands& segment) const { return std::min(segment.queue, compute_queues_ - 1); }
  static uint64_t NumberOf(const std::vector<BoundBuffer>& bound, int leaf) {
    return leaf < static_cast<int>(bound.size()) ? bound[leaf].number : 0;
  }
  std::span<std::byte> blocks() const;

  const CompiledPlan& program_;
  // What kernels read, and what the host writes: one buffer, or, where kernels would read each block over the bus, two.
  std::shared_ptr<Buffer> argument_blocks_, written_blocks_;
  std::unique_ptr<CommandBuffer> update_;
  bool blocks_are_stale_ = true;
  std::vector<std::shared_ptr<Buffer>> scratch_blocks_;
  std::vector<std::unique_ptr<CommandBuffer>> commands_;  // by segment; null for host segments
  std::vector<std::unique_ptr<CommandBuffer>> batches_;   // by segment; null where its batch is one
  std::vector<int> repeats_;                              // by segment: its batch
  std::vector<bool> resubmitted_;                         // by segment: recorded to be submitted while in flight
  std::vector<std::unique_ptr<CommandBuffer>> extra_commands_;
  std::vector<BoundBuffer> parameters_, results_;
  std::vector<bool> parameter_moved_, result_moved_;  // by the last Rebind
  std::vector<BufferRange> bindings_;                 // of a dispatch; here, so that recording again allocates nothing
  int compute_queues_ = 1;
  bool recorded_ = false;
  Moment finished_;
};

}  // namespace VXLA_NAMESPACE
