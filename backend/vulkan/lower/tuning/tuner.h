// Tuner: what the functions of tuning.h ask where kinds of devices differ by more than numbers. One stands for GPUs of
// desktops and servers, one for those of phones and of Apple, each by tables of their vendors; one for drivers on the
// host's processor (drivers/software).
#pragma once

#include "backend/vulkan/lower/tuning/tuning.h"

namespace VXLA_NAMESPACE::vulkan {

// Of long rows that are sorted by digits.
struct RadixWork {
  int64_t rows = 1, length = 1, item_bytes = 4;
  int key_words = 1, bits = 32;
};

class Tuner {
 public:
  virtual ~Tuner() = default;
  // What its vendor's row says.
  virtual GpuTraits Table(const DeviceFacts&) const { return {}; }
  virtual LoopTuning Loop(const DeviceFacts& facts, BindingMode bindings, int64_t element_count,
                          int64_t cost) const = 0;
  virtual RowTraits Rows(const DeviceFacts& facts) const = 0;
  virtual DotShape Dot(const DeviceFacts& facts, const DotWork& work) const = 0;
  // Of a product in a loop's kernel by workgroups of `lanes`, of `all_lanes` together.
  virtual LoopTile LoopDot(const DeviceFacts& facts, const DotWork& work, uint32_t lanes, int64_t all_lanes) const = 0;
  virtual RadixShape Radix(const DeviceFacts& facts, const SortShape& merging, const RadixWork& work) const = 0;

  // Groups of `width` columns that a loop over `elements` takes of a row before it goes on to the next one, where an
  // operand lies across rows of `row` elements; 0: all of a row.
  virtual int64_t StripOfGroups(int64_t /*elements*/, int64_t /*row*/, int64_t /*width*/) const { return 0; }
  // For a loop that goes to rows all over an array: an invocation takes neighbours one after the other where that pays.
  // `group_bytes`: of a group of a result.
  virtual LoopTuning NeighboursInTurn(LoopTuning tuning, int64_t /*element_count*/, int64_t /*group_bytes*/) const {
    return tuning;
  }
  // Simple operations of a phase of a loop, on average, that one workgroup may be left with rather than dispatches of
  // all. `counted`: these need not ask whether it goes on.
  virtual int64_t MostOfAPhase(const DeviceFacts& facts, BindingMode bindings, bool counted) const = 0;
  // Elements of a loop that goes in chunks of trips (lower/whiles/chunks.h) rather than in one workgroup, which asks
  // after each trip whether it goes on, at least.
  virtual int64_t LeastInChunks() const = 0;
  // Neighbours that a lane of a while's kernel takes at a time at most.
  virtual int64_t MostNeighbours(const DeviceFacts&) const { return 1; }
  // Few long rows, of `steps`, each subgroup of a workgroup leaving a share of its own. False: shared out otherwise.
  virtual bool InterleaveShares(const DeviceFacts&, const RowWork&, int64_t /*steps*/, RowShape*) const {
    return false;
  }
  // A chunk of 0: not by this.
  virtual SelectShape Select(const DeviceFacts&, int64_t /*length*/, int64_t /*kept*/, int64_t /*item_bytes*/) const {
    return {};
  }
};
// The device's.
const Tuner& TunerOf(const DeviceFacts& facts);

class GpuTuner : public Tuner {
 public:
  GpuTraits Table(const DeviceFacts& facts) const override;
  LoopTuning Loop(const DeviceFacts& facts, BindingMode bindings, int64_t element_count, int64_t cost) const override;
  RowTraits Rows(const DeviceFacts& facts) const override;
  DotShape Dot(const DeviceFacts& facts, const DotWork& work) const override;
  LoopTile LoopDot(const DeviceFacts& facts, const DotWork& work, uint32_t lanes, int64_t all_lanes) const override;
  RadixShape Radix(const DeviceFacts& facts, const SortShape& merging, const RadixWork& work) const override;
  int64_t MostOfAPhase(const DeviceFacts& facts, BindingMode bindings, bool counted) const override;
  int64_t LeastInChunks() const override;
};

// Of GPUs that share the processor's memory and power: mobile_tuning.cc.
class MobileTuner final : public GpuTuner {
 public:
  static bool Knows(uint32_t vendor);
  GpuTraits Table(const DeviceFacts& facts) const override;
  RadixShape Radix(const DeviceFacts& facts, const SortShape& merging, const RadixWork& work) const override;
};

// Defined in drivers/software.
class SoftwareTuner final : public Tuner {
 public:
  LoopTuning Loop(const DeviceFacts& facts, BindingMode bindings, int64_t element_count, int64_t cost) const override;
  RowTraits Rows(const DeviceFacts& facts) const override;
  DotShape Dot(const DeviceFacts& facts, const DotWork& work) const override;
  LoopTile LoopDot(const DeviceFacts& facts, const DotWork& work, uint32_t lanes, int64_t all_lanes) const override;
  // An invocation walks over a chunk (software/radix_chunks.comp), as lanes do not count together.
  RadixShape Radix(const DeviceFacts& facts, const SortShape& merging, const RadixWork& work) const override;
  int64_t StripOfGroups(int64_t elements, int64_t row, int64_t width) const override;
  LoopTuning NeighboursInTurn(LoopTuning tuning, int64_t element_count, int64_t group_bytes) const override;
  int64_t MostOfAPhase(const DeviceFacts& facts, BindingMode bindings, bool counted) const override;
  int64_t LeastInChunks() const override { return int64_t{1} << 13; }
  int64_t MostNeighbours(const DeviceFacts& facts) const override { return facts.int64 ? 8 : 4; }
  // On lavapipe: subgroups of a workgroup that wait for each other at a barrier cost a quarter of a sum, so each leaves
  // a share of its own, and a second kernel joins some thousand. They still walk side by side: a lane that steps
  // through memory by a multiple of 4 KiB is three times as fast as one that goes through a page.
  bool InterleaveShares(const DeviceFacts& facts, const RowWork& work, int64_t steps, RowShape* shape) const override;
  SelectShape Select(const DeviceFacts& facts, int64_t length, int64_t kept, int64_t item_bytes) const override;
};

}  // namespace VXLA_NAMESPACE::vulkan
