// SortKernels: writes the steps that sort rows; lower/sort/sort.cc reads the instructions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backend/lowering.h"
#include "backend/vulkan/lower/lower.h"
#include "backend/vulkan/lower/sort/sort_order.h"

namespace VXLA_NAMESPACE::vulkan {

// What is sorted: `rows` rows of `length` elements, `stride` apart in operands and results, of several operands.
struct SortWork {
  std::string name;
  int64_t rows = 1, length = 0, stride = 1;
  std::vector<ElementType> types;
  std::vector<BufferSlice> operands, results;
  SortOrder order;
  // Of each sorted row the first `kept` elements are results, side by side (stride is 1 then), and where they stood in
  // the row goes to `positions`.
  int64_t kept = 0;
  std::optional<BufferSlice> positions;
};

// Of a sort or a topk, all but where the tensors lie; and that (lower/sort/sort.cc).
SortWork SortWorkOf(const FusionDescription& body);
void PlaceSortTensors(const FusionDescription& body, BufferMap& buffers, SortWork* work);

std::vector<Step> LowerSortWork(const LowerContext& context, const SortWork& work, BufferMap& buffers);

// Whether every binding of those steps is within the device's limits.
Status CheckSortWork(const LowerContext& context, const Instruction& instruction, const SortWork& work);

}  // namespace VXLA_NAMESPACE::vulkan
