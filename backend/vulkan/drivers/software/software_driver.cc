#include "backend/vulkan/drivers/software/software_driver.h"

#include <algorithm>
#include <cstdlib>
#include <thread>

#ifdef __linux__
#include <sched.h>
#endif

namespace VXLA_NAMESPACE::vulkan {
namespace {

// The threads that this process may run on: what a software driver has at most.
int UsableThreads() {
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return std::max(1u, std::thread::hardware_concurrency());
}

bool HostHasAvx512() {
#if defined(__x86_64__) && defined(__GNUC__)
  return __builtin_cpu_supports("avx512f") != 0;
#else
  return false;
#endif
}

}  // namespace

void NoteHostProcessor(DeviceFacts& facts) {
  facts.flop_per_second = facts.bytes_per_second = 2e9;
  facts.work_budget_seconds = 0;  // nobody stops them
  facts.hardware_threads = UsableThreads();
  facts.host_avx512 = HostHasAvx512();
  // lavapipe: 0 means that the submitting queue thread runs the kernels alone.
  if (const char* threads = std::getenv("LP_NUM_THREADS"); threads != nullptr && facts.driver == "llvmpipe") {
    facts.hardware_threads = std::clamp(std::atoi(threads), 1, facts.hardware_threads);
  }
}

void NoteSoftwareCosts(DeviceFacts& facts) {
  facts.costs = {.accesses_by_lane = true, .subgroups_in_turn = true, .plain_arithmetic = true, .dear_text = true};
  facts.byte_offsets = false;  // there are no scalar registers to keep addresses in
}

}  // namespace VXLA_NAMESPACE::vulkan
