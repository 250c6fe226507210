#include "backend/vulkan/device/plan/queue_plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace VXLA_NAMESPACE::vulkan {
namespace {

constexpr VkQueueFlags kRunsCopies = VK_QUEUE_TRANSFER_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_GRAPHICS_BIT;

// How the host's queue number `index`, with those before it, is of use.
Result<QueueFacts> CheckLent(std::span<const VkQueueFamilyProperties> families, std::span<const LentQueue> lent,
                             size_t index) {
  const LentQueue& queue = lent[index];
  const std::string name = index == 0 ? "" : fmt::format("queue {}: ", index);
  if (queue.family >= families.size())
    return InvalidArgument("{}queue family {}: there are {}", name, queue.family, families.size());
  const VkQueueFamilyProperties& family = families[queue.family];
  const bool computes = (family.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0;
  if (!computes && index == 0) return InvalidArgument("{}queue family {} runs no compute", name, queue.family);
  if ((family.queueFlags & kRunsCopies) == 0)
    return InvalidArgument("{}queue family {} runs neither compute nor copies", name, queue.family);
  const auto before = static_cast<uint32_t>(std::ranges::count(lent.first(index), queue.family, &LentQueue::family));
  if (before >= family.queueCount)
    return InvalidArgument("{}queue family {} has {}, and all of them were given before", name, queue.family,
                           family.queueCount);
  return QueueFacts{computes && !queue.copies, queue.family, static_cast<uint32_t>(index)};
}

// Engines for video and optical flow copy as well, but are no faster than a queue that computes.
bool IsForCopies(const VkQueueFamilyProperties& family) {
  constexpr VkQueueFlags kCopyEngine = VK_QUEUE_TRANSFER_BIT | VK_QUEUE_SPARSE_BINDING_BIT | VK_QUEUE_PROTECTED_BIT;
  return (family.queueFlags & VK_QUEUE_TRANSFER_BIT) != 0 && (family.queueFlags & ~kCopyEngine) == 0 &&
         family.queueCount > 0;
}

}  // namespace

std::optional<uint32_t> ChooseQueueFamily(std::span<const VkQueueFamilyProperties> families) {
  std::optional<uint32_t> best;
  for (uint32_t i = 0; i < families.size(); ++i) {
    const VkQueueFamilyProperties& family = families[i];
    if (family.queueCount == 0 || (family.queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) continue;
    if (!best || (family.timestampValidBits > 0 && families[*best].timestampValidBits == 0)) best = i;
  }
  return best;
}

std::vector<QueueFacts> PlanQueues(std::span<const VkQueueFamilyProperties> families, uint32_t main_family, int most,
                                   bool emulated) {
  const size_t compute = static_cast<size_t>(std::clamp(most - 1, 1, kMostQueues - 1));
  const bool copies = most > 1;
  std::vector<QueueFacts> queues = {{true, main_family, 0}};
  if (emulated) {
    queues.resize(compute, queues.front());
    if (copies) queues.push_back({false, main_family, 0});
    return queues;
  }
  std::vector<uint32_t> used(families.size(), 0);  // queues of each family
  used[main_family] = 1;
  const auto add = [&](uint32_t family, bool computes) { queues.push_back({computes, family, used[family]++}); };
  const auto is_left = [&](uint32_t family) {
    return (families[family].queueFlags & VK_QUEUE_COMPUTE_BIT) != 0 && used[family] < families[family].queueCount &&
           (families[family].timestampValidBits > 0 || families[main_family].timestampValidBits == 0);
  };
  for (const bool other : {true, false}) {
    for (uint32_t family = 0; family < families.size(); ++family) {
      while ((family != main_family) == other && queues.size() < compute && is_left(family)) add(family, true);
    }
  }
  if (!copies) return queues;
  for (uint32_t family = 0; family < families.size(); ++family) {
    if (!IsForCopies(families[family])) continue;
    add(family, false);
    return queues;
  }
  for (uint32_t family = 0; family < families.size(); ++family) {
    if (!is_left(family)) continue;
    add(family, false);
    return queues;
  }
  // Of three or more, copies that wait for nothing else gain more than one more queue that computes.
  if (queues.size() > 2) queues.back().computes = false;
  return queues;
}

Result<std::vector<QueueFacts>> PlanLentQueues(std::span<const VkQueueFamilyProperties> families,
                                               std::span<const LentQueue> lent, bool emulated) {
  if (lent.size() > kMostQueues) return InvalidArgument("{} queues: vxla uses at most {}", lent.size(), kMostQueues);
  std::vector<QueueFacts> queues;
  std::optional<QueueFacts> copies;
  for (size_t i = 0; i < lent.size(); ++i) {
    VXLA_ASSIGN_OR_RETURN(const QueueFacts queue, CheckLent(families, lent, i));
    if (queue.computes) {
      queues.push_back(queue);
    } else if (copies) {
      return InvalidArgument("queue {}: queue {} is for copies already", i, copies->index);
    } else {
      copies = queue;
    }
  }
  if (emulated && lent.size() == 1) return PlanQueues(families, lent.front().family, kMostQueues, true);
  if (copies) queues.push_back(*copies);
  return queues;
}

std::vector<uint32_t> FamiliesOf(std::span<const QueueFacts> queues) {
  std::vector<uint32_t> families;
  for (const QueueFacts& queue : queues) families.push_back(queue.family);
  std::ranges::sort(families);
  families.erase(std::unique(families.begin(), families.end()), families.end());
  return families;
}

}  // namespace VXLA_NAMESPACE::vulkan
