#include "backend/vulkan/lower/rows/window_place.h"

#include <fmt/format.h>

#include <algorithm>

namespace VXLA_NAMESPACE::vulkan {

IndexExpression TapPosition(IndexSpace& space, const WindowDimension& w, const IndexExpression& output,
                            const IndexExpression& tap) {
  const IndexExpression reach = w.reversal ? space.Add({{}, w.size - 1}, space.Scale(tap, -1)) : tap;
  return space.Add(space.Add(space.Scale(output, w.stride), space.Scale(reach, w.rhs_dilate)), {{}, -w.pad_low});
}

IndexExpression ElementAt(ValueWriter& writer, const IndexExpression& position, int64_t size, int64_t dilate,
                          std::vector<std::string>* conditions, bool clamps) {
  IndexSpace& space = writer.space();
  const int64_t spread = (size - 1) * dilate + 1;
  const auto [low, high] = space.Range(position);
  const bool inside = low >= 0 && high < spread;
  if (inside && dilate == 1) return position;
  // Below zero the unsigned position wraps, so one comparison checks both edges, and the limit is a place that exists.
  if (!inside) conditions->push_back(writer.Below(position, spread));
  if (!clamps && dilate == 1) return position;
  if (spread == 1) return {};
  const IndexExpression place = writer.Clamped(position, spread);
  if (dilate == 1) return place;
  const int variable = place.terms.at(0).variable;
  conditions->push_back(fmt::format("{} == 0u", writer.Index({{{variable, 1, dilate, 1}}, 0})));
  return {{{variable, dilate, 0, 1}}, 0};
}

std::string ChosenText(const std::vector<std::string>& conditions, const std::string& value, const std::string& other) {
  if (conditions.empty()) return value;
  return fmt::format("(({}) ? {} : {})", fmt::join(conditions, " && "), value, other);
}

Status CheckWindow(const Instruction& instruction, const Window& window, std::span<const int64_t> sizes) {
  int64_t taps = 1;
  for (size_t d = 0; d < window.size(); ++d) {
    const WindowDimension& w = window[d];
    const int64_t reach = (sizes[d] > 0 ? (sizes[d] - 1) * w.lhs_dilate + 1 : 0) + std::abs(w.pad_low) +
                          std::abs(w.pad_high) + w.size * w.rhs_dilate;
    taps *= std::min(w.size, int64_t{1} << 31);
    if (reach < (int64_t{1} << 31) && taps < (int64_t{1} << 31)) continue;
    return Unsupported(
        "{}: dimension {} spans {} positions and the window {} taps, more than the {} that a kernel can index",
        OpcodeText(instruction.opcode()), d, reach, taps, (int64_t{1} << 31) - 1);
  }
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE::vulkan
