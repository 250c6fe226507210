// Queue plan: which of a device's queues vxla opens. Pure: tested with made-up families.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "backend/device_facts.h"
#include "backend/vulkan/device/api/vk.h"
#include "core/status.h"

namespace VXLA_NAMESPACE::vulkan {

// The family with the most to offer: compute at all, timestamps, then the lowest number (the main one). Nothing: none
// of them computes.
std::optional<uint32_t> ChooseQueueFamily(std::span<const VkQueueFamilyProperties> families);

// First a queue of the main family; then queues that compute as well, of other families first (they are other engines
// or have other priorities), with timestamps if the main one has them; last one for copies: of a family that does
// nothing else, else a queue that is left, else the last of three or more. At most `most` altogether. With `emulated`,
// a device's first queue stands for as many as that.
std::vector<QueueFacts> PlanQueues(std::span<const VkQueueFamilyProperties> families, uint32_t main_family, int most,
                                   bool emulated);

// A queue of a host's device. `copies`: only, though its family computes.
struct LentQueue {
  uint32_t family = 0;
  bool copies = false;
};

// The same of the queues that a host lends, numbered (QueueFacts::index) as it lends them: the first, then the others
// that compute, then the one for copies. kInvalidArgument: no such family or not so many queues of it, one that runs
// neither compute nor copies, a first one that computes nothing, two for copies, more than kMostQueues. With `emulated`
// a single one stands for as many.
Result<std::vector<QueueFacts>> PlanLentQueues(std::span<const VkQueueFamilyProperties> families,
                                               std::span<const LentQueue> lent, bool emulated);

// The families of such queues, each once, in ascending order.
std::vector<uint32_t> FamiliesOf(std::span<const QueueFacts> queues);

}  // namespace VXLA_NAMESPACE::vulkan
