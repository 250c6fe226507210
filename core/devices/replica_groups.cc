#include "core/devices/replica_groups.h"

#include <fmt/format.h>

#include <charconv>
#include <unordered_set>

#include "core/host/ranges.h"

namespace VXLA_NAMESPACE {
namespace {

constexpr std::string_view kPairsAttribute = "_xla_send_recv_source_target_pairs";

template <typename... Args>
Status CollectiveError(const Instruction& instruction, fmt::format_string<Args...> format, Args&&... args) {
  return InvalidArgument("{} {}: {}", OpcodeText(instruction.opcode()), instruction.name(),
                         fmt::format(format, std::forward<Args>(args)...))
      .At(instruction.location());
}

bool KnowsGlobalIds(Opcode opcode) {
  return opcode != Opcode::kAllToAll && opcode != Opcode::kRaggedAllToAll && opcode != Opcode::kCollectiveBroadcast;
}

bool HasPairs(Opcode opcode) {
  return IsAnyOf(opcode, Opcode::kCollectivePermute, Opcode::kCollectivePermuteStart, Opcode::kSend, Opcode::kRecv);
}

// How many ids there are, and what one is called.
struct Ids {
  int64_t count;
  const char* what;
};
Ids IdsOf(GroupMode mode, const DeviceGrid& grid) {
  if (mode == GroupMode::kCrossPartition) return {grid.partitions, "partition"};
  if (mode == GroupMode::kFlattenedIds) return {grid.count(), "device"};
  return {grid.replicas, "replica"};
}

int64_t IdOf(GroupMode mode, const DeviceGrid& grid, int64_t device) {
  if (mode == GroupMode::kCrossPartition) return grid.partition(device);
  return mode == GroupMode::kFlattenedIds ? device : grid.replica(device);
}

// The device that an id stands for in the group of `device`; of a replica with all its partitions one of them.
int64_t DeviceOf(GroupMode mode, const DeviceGrid& grid, int64_t device, int64_t id) {
  if (mode == GroupMode::kCrossPartition) return grid.device(grid.replica(device), id);
  return mode == GroupMode::kFlattenedIds ? id : grid.device(id, grid.partition(device));
}

// The devices that a group of ids stands for, as `device` sees it.
IntList DevicesOf(const Instruction& instruction, GroupMode mode, const DeviceGrid& grid, int64_t device,
                  const IntList& ids) {
  IntList devices;
  const int64_t partitions = mode == GroupMode::kCrossReplicaAndPartition ? grid.partitions : 1;
  const auto count = static_cast<int64_t>(ids.size());
  const bool by_partition = instruction.notes().by_partition;
  for (int64_t i = 0; i < count * partitions; ++i) {
    const int64_t id = ids[by_partition ? i % count : i / partitions];
    const int64_t partition = by_partition ? i / count : i % partitions;
    devices.push_back(partitions > 1 ? grid.device(id, partition) : DeviceOf(mode, grid, device, id));
  }
  return devices;
}

Status CheckId(const Instruction& instruction, const char* attribute, int64_t id, const Ids& ids) {
  if (id >= 0 && id < ids.count) return OkStatus();
  return CollectiveError(instruction, "{} name {}, but the run has {} {}{} (--replicas, --partitions)", attribute, id,
                         ids.count, ids.what, ids.count == 1 ? "" : "s");
}

// "{{0,1},{1,2}}" from its first brace on.
std::optional<std::vector<std::pair<int64_t, int64_t>>> ParsePairs(std::string_view text) {
  std::vector<int64_t> numbers;
  int depth = 0;
  for (const char* at = text.data(); at != text.data() + text.size();) {
    if (*at == '{') ++depth;
    if (*at == '}' && --depth == 0) break;
    if (*at >= '0' && *at <= '9') {
      const auto [end, error] = std::from_chars(at, text.data() + text.size(), numbers.emplace_back());
      if (error != std::errc()) return std::nullopt;
      at = end;
    } else {
      ++at;
    }
  }
  if (depth != 0 || numbers.size() % 2 != 0) return std::nullopt;
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (size_t i = 0; i < numbers.size(); i += 2) pairs.emplace_back(numbers[i], numbers[i + 1]);
  return pairs;
}

}  // namespace

std::string DeviceGrid::Name(int64_t device) const {
  if (partitions == 1) return fmt::format("replica {}", device);
  if (replicas == 1) return fmt::format("partition {}", device);
  return fmt::format("replica {} partition {}", replica(device), partition(device));
}

std::string DeviceGrid::Names(const IntList& devices) const {
  std::string text;
  for (size_t i = 0; i < devices.size(); ++i) {
    if (static_cast<int64_t>(i) == kMostListed) return text + fmt::format(" and {} more", devices.size() - i);
    text += (i == 0 ? "" : ", ") + Name(devices[i]);
  }
  return text.empty() ? "any device" : text;
}

std::optional<int64_t> ChannelOf(const Instruction& instruction) {
  return std::visit(
      []<typename T>(const T& attributes) -> std::optional<int64_t> {
        if constexpr (requires { attributes.channel_id; }) {
          return attributes.channel_id;
        } else {
          return std::nullopt;
        }
      },
      instruction.attributes());
}

std::string TextWithChannel(const Instruction& instruction) {
  const std::optional<int64_t> channel = ChannelOf(instruction);
  return fmt::format("{} {}{}", OpcodeText(instruction.opcode()), instruction.name(),
                     channel ? fmt::format(" (channel_id {})", *channel) : "");
}

Result<GroupMode> GroupModeOf(const Instruction& instruction) {
  const auto& a = instruction.attributes<CollectiveAttributes>();
  if (!a.channel_id) {
    if (!a.use_global_device_ids) return GroupMode::kCrossReplica;
    return CollectiveError(instruction, "use_global_device_ids without a channel_id");  // all_reduce_c4
  }
  if (a.use_global_device_ids) return GroupMode::kFlattenedIds;
  return KnowsGlobalIds(instruction.opcode()) ? GroupMode::kCrossReplicaAndPartition : GroupMode::kCrossPartition;
}

Result<IntList> GroupOf(const Instruction& instruction, const DeviceGrid& grid, int64_t device) {
  VXLA_ASSIGN_OR_RETURN(const GroupMode mode, GroupModeOf(instruction));
  const Ids ids = IdsOf(mode, grid);
  const std::vector<IntList>& groups = instruction.attributes<CollectiveAttributes>().replica_groups.groups;
  const bool one_group = groups.empty() || (groups.size() == 1 && groups[0].empty());
  if (one_group) {
    IntList all;
    for (int64_t id = 0; id < ids.count; ++id) all.push_back(id);
    return DevicesOf(instruction, mode, grid, device, all);
  }
  const int64_t mine = IdOf(mode, grid, device);
  const IntList* own = nullptr;
  for (const IntList& group : groups) {
    for (int64_t id : group) VXLA_RETURN_IF_ERROR(CheckId(instruction, "replica_groups", id, ids));
    if (Contains(group, mine)) own = &group;
  }
  if (own != nullptr) return DevicesOf(instruction, mode, grid, device, *own);
  if (instruction.opcode() == Opcode::kCollectiveBroadcast) return IntList();
  return CollectiveError(instruction, "{} {} is in none of the replica_groups", ids.what, mine);
}

Result<std::optional<std::vector<std::pair<int64_t, int64_t>>>> StatedPairs(const Instruction& instruction) {
  std::optional<std::vector<std::pair<int64_t, int64_t>>> pairs;
  const std::string& text = instruction.common().frontend_attributes.text;
  const size_t at = text.find(kPairsAttribute);
  if (at == std::string::npos) return pairs;
  const size_t brace = text.find('{', at);
  if (brace != std::string::npos) pairs = ParsePairs(std::string_view(text).substr(brace));
  if (!pairs) return CollectiveError(instruction, "{} is not a list of pairs: {}", kPairsAttribute, text);
  return pairs;
}

Result<Partners> PartnersOf(const Instruction& instruction, const DeviceGrid& grid, int64_t device) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  bool across_partitions = grid.replicas == 1 && grid.partitions > 1;
  if (instruction.opcode() == Opcode::kSend || instruction.opcode() == Opcode::kRecv) {
    VXLA_ASSIGN_OR_RETURN(auto stated, StatedPairs(instruction));
    pairs = stated.value_or(std::vector<std::pair<int64_t, int64_t>>());
    across_partitions = grid.partitions > 1;
  } else {
    const auto& a = instruction.attributes<CollectivePermuteAttributes>();
    pairs = a.source_target_pairs;
    across_partitions = a.channel_id.has_value();
  }
  const GroupMode mode = across_partitions ? GroupMode::kCrossPartition : GroupMode::kCrossReplica;
  const Ids ids = IdsOf(mode, grid);
  const int64_t mine = IdOf(mode, grid, device);
  Partners partners;
  for (const auto& [source, target] : pairs) {
    VXLA_RETURN_IF_ERROR(CheckId(instruction, "source_target_pairs", source, ids));
    VXLA_RETURN_IF_ERROR(CheckId(instruction, "source_target_pairs", target, ids));
    if (source == mine) partners.target = DeviceOf(mode, grid, device, target);
    if (target == mine) partners.source = DeviceOf(mode, grid, device, source);
  }
  return partners;
}

Status CheckCollectives(const Module& module, const DeviceGrid& grid) {
  std::vector<const Computation*> work{module.entry()};
  std::unordered_set<const Computation*> reached{module.entry()};
  while (!work.empty()) {
    const Computation* computation = work.back();
    work.pop_back();
    for (const auto& instruction : computation->instructions()) {
      for (const Computation* called : instruction->called()) {
        if (reached.insert(called).second) work.push_back(called);
      }
      const bool groups = std::holds_alternative<CollectiveAttributes>(instruction->attributes());
      const bool pairs = HasPairs(instruction->opcode());
      for (int64_t device = 0; (groups || pairs) && device < grid.count(); ++device) {
        if (groups) VXLA_RETURN_IF_ERROR(GroupOf(*instruction, grid, device).status());
        if (pairs) VXLA_RETURN_IF_ERROR(PartnersOf(*instruction, grid, device).status());
      }
    }
  }
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE
