// Which devices of a run talk to each other in a collective: N replicas times M partitions, numbered replica-major
// (device = replica * M + partition), and the groups that replica_groups, channel_id and use_global_device_ids make of
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

struct DeviceGrid {
  // Each device of the reference is a thread with a stack of its own.
  static constexpr int64_t kMost = 4096;
  int64_t replicas = 1, partitions = 1;
  int64_t count() const { return replicas * partitions; }
  int64_t replica(int64_t device) const { return device / partitions; }
  int64_t partition(int64_t device) const { return device % partitions; }
  int64_t device(int64_t replica, int64_t partition) const { return replica * partitions + partition; }
  // "replica 3", "partition 3" or "replica 1 partition 1", whichever tells the device in this grid.
  std::string Name(int64_t device) const;
  // "replica 0, replica 3", the first kMostListed of them and how many more; "any device" of none.
  static constexpr int64_t kMostListed = 16;
  std::string Names(const IntList& devices) const;
};

// Of a collective, a send or a recv; nullopt: it states none, or is something else.
std::optional<int64_t> ChannelOf(const Instruction& instruction);
// "all-reduce ar.1 (channel_id 1)": an instruction in a report of who waits for whom.
std::string TextWithChannel(const Instruction& instruction);

// What the ids in replica_groups mean.
//   no channel_id                                          replicas; each partition has groups of its own
//   channel_id, op without use_global_device_ids           partitions; each replica has groups of its own
//   channel_id, op with it, false                          replicas, each with all its partitions
//   channel_id, true                                       devices
// The ops without the attribute are all-to-all, ragged-all-to-all, collective-broadcast and collective-permute.
enum class GroupMode : uint8_t { kCrossReplica, kCrossPartition, kCrossReplicaAndPartition, kFlattenedIds };
Result<GroupMode> GroupModeOf(const Instruction& instruction);

// The devices of the group that `device` belongs to, in the group's order; empty if it is in none, which only
// collective-broadcast allows. Replicas with all their partitions come replica by replica, as XLA has it for HLO, and
// partition by partition (Notes::by_partition) where the text was StableHLO, whose specification has it so. Empty
// replica_groups are one group of all, in order. Errors: an id beyond the run's, a device left out.
Result<IntList> GroupOf(const Instruction& instruction, const DeviceGrid& grid, int64_t device);

// From which device a collective-permute, or a send and recv with source_target_pairs, brings data to this one, and to
// which device this one's data goes.
struct Partners {
  std::optional<int64_t> source, target;
};
Result<Partners> PartnersOf(const Instruction& instruction, const DeviceGrid& grid, int64_t device);

// The pairs that a send or recv states in its frontend attribute _xla_send_recv_source_target_pairs; nullopt: none
// stated.
Result<std::optional<std::vector<std::pair<int64_t, int64_t>>>> StatedPairs(const Instruction& instruction);

// Every collective that the entry reaches fits the grid: kInvalidArgument with its place if not. Runs check this before
// they start.
Status CheckCollectives(const Module& module, const DeviceGrid& grid);

}  // namespace VXLA_NAMESPACE
