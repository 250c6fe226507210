// The number that stands for a kernel in plans, file names and tables.
#pragma once

#include <fmt/core.h>

#include "backend/step.h"
#include "core/host/hash.h"

namespace VXLA_NAMESPACE {

// 64 bits that differ for different kernels with near certainty; the same on every machine.
inline uint64_t HashOf(const KernelKey& key) {
  std::string bytes =
      fmt::format("{}|{}|{}|{}|", key.algorithm.size(), key.generated.size(), key.buffer_count, key.param_count);
  if (key.written_array > 0) bytes += fmt::format("{} of {}|", key.written_array, key.piece_tensors);
  for (const bool written : key.written_tensors) bytes += written ? "written|" : "read|";
  if (key.whole_items > 0) bytes += fmt::format("whole {}|", key.whole_items);
  if (key.one_item) bytes += "one|";
  if (key.in_parts) bytes += "parts|";
  if (key.small_subgroups) bytes += "small|";
  if (key.is_module) bytes += "module|";
  for (const uint32_t constant : key.constants) bytes += fmt::format("{}|", constant);
  return HashText(bytes + key.algorithm + key.generated).low;
}

}  // namespace VXLA_NAMESPACE
