#include "core/devices/array_sharding.h"

#include <fmt/format.h>

#include <algorithm>

namespace VXLA_NAMESPACE {
namespace {

std::string ListText(const std::vector<MeshPart>& parts, bool is_open) {
  std::string text;
  for (const MeshPart& part : parts) text += (text.empty() ? "" : ", ") + PartText(part);
  if (is_open) text += text.empty() ? "?" : ", ?";
  return "{" + text + "}";
}

}  // namespace

bool ArraySharding::says_nothing() const {
  return unreduced.empty() &&
         std::ranges::all_of(dimensions, [](const DimensionSharding& each) { return each.axes.empty(); });
}

std::string PartText(const MeshPart& part) {
  return part.size == 0 ? part.name : fmt::format("{}:({}){}", part.name, part.before, part.size);
}

std::string ShardingText(const ArraySharding& sharding) {
  std::string text;
  for (const DimensionSharding& dimension : sharding.dimensions) {
    text += (text.empty() ? "" : ", ") + ListText(dimension.axes, dimension.is_open);
    if (dimension.priority != 0) text += fmt::format("p{}", dimension.priority);
  }
  text = "[" + text + "]";
  if (!sharding.replicated.empty()) text += ", replicated=" + ListText(sharding.replicated, false);
  if (!sharding.unreduced.empty()) text += ", unreduced=" + ListText(sharding.unreduced, false);
  return text;
}

}  // namespace VXLA_NAMESPACE
