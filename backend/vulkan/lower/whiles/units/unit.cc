#include "backend/vulkan/lower/whiles/units/unit.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "core/ceil_divide.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

constexpr int64_t kMostUnrolled = 4;  // turns whose loads may go on together

}  // namespace

std::string LoopUnit::Shared(std::string_view type, size_t number) const {
  const std::string name = fmt::format("shared_{}_{}", type, number);
  if (shared.insert(name).second) kernel.Append("shared {} {}[{}];\n", type, name, lanes);
  return name;
}

namespace {

// An element is the same lane's in every phase that goes by as many elements.
std::string TurnsOfGrid(std::string_view name, int64_t count, int64_t lanes, int64_t groups) {
  constexpr int64_t kLeastNeighbours = 32;
  const int64_t each = NeighboursOfAGroup(count, lanes, groups, kLeastNeighbours);
  const std::string first = each == lanes ? fmt::format("grid_group * {}u + lane", each)
                                          : fmt::format("lane < {0}u ? grid_group * {0}u + lane : {1}u", each, count);
  return fmt::format("for (uint {0} = {1}; {0} < {2}u; {0} += grid_groups * {3}u)", name, first, count, each);
}

}  // namespace

Code LoopUnit::OwnRows(int64_t rows) const {
  if (!has_own_rows()) return {};
  return Code(fmt::format(
      "  uint own_rows = ({0}u + grid_groups - 1u) / grid_groups, first_row = min(grid_group * own_rows, {0}u),\n"
      "       end_row = min(first_row + own_rows, {0}u);\n",
      rows));
}

std::string LoopUnit::Turns(std::string_view name, int64_t count, int64_t rows) const {
  constexpr std::string_view kHead = "[[dont_unroll]] ";
  if (waits_for_grid()) return fmt::format("{}{}", kHead, TurnsOfGrid(name, count, lanes, share.groups));
  if (!has_own_rows())
    return fmt::format("{0}for (uint {1} = lane; {1} < {2}u; {1} += {3}u)", kHead, name, count, lanes);
  return fmt::format("{0}for (uint {1} = first_row * {2}u + lane; {1} < end_row * {2}u; {1} += {3}u)", kHead, name,
                     count / rows, lanes);
}

std::string OwnBase(int64_t count, int64_t groups) {
  return groups == 1 ? "" : fmt::format("WORKGROUP * {}u + ", CeilDivide(count, groups));
}

std::string OwnsElement(int64_t count, int64_t lanes, int64_t groups) {
  const int64_t own = CeilDivide(count, groups);
  std::string text = own < lanes ? fmt::format("lane < {}u", own) : "";
  if (count % groups == 0) return text;
  return fmt::format("{}{}{}lane < {}u", text, text.empty() ? "" : " && ", OwnBase(count, groups), count);
}

void OpenTurns(ValueWriter& writer, const std::string& name, int64_t count, int64_t lanes, LoopShare share) {
  const int64_t groups = share.groups;
  if (share.cooperative) return writer.OpenBlock(TurnsOfGrid(name, count, lanes, groups));
  const std::string base = OwnBase(count, groups);
  if (count % groups != 0) {
    const std::string end = fmt::format("min({}{}u, {}u)", base, CeilDivide(count, groups), count);
    writer.OpenBlock("for (uint {0} = {1}lane; {0} < {2}; {0} += {3}u)", name, base, end, lanes);
    return;
  }
  count /= groups;
  if (count % lanes != 0) {
    writer.OpenBlock("for (uint {0} = {1}lane; {0} < {1}{2}u; {0} += {3}u)", name, base, count, lanes);
    return;
  }
  const int64_t turns = count / lanes;
  if (turns > kMostUnrolled) {
    // A driver would write all of them out. A GPU's keeps every turn's addresses then, from trip to trip, and registers
    // spill; of some twenty phases lavapipe compiles four times as long, and runs no faster.
    const bool some = turns % kMostUnrolled == 0 && writer.kernel().keeps_loops();
    const int64_t together = some ? kMostUnrolled : 1;
    const std::string inner = together == 1 ? "" : fmt::format(" for (uint step = 0u; step < {}u; ++step)", together);
    writer.OpenBlock("[[dont_unroll]] for (uint turns = 0u; turns < {}u; ++turns){}", turns / together, inner);
    writer.Line("uint turn = {};", together == 1 ? "turns" : fmt::format("turns * {}u + step", together));
  } else {
    writer.OpenBlock("for (uint turn = 0u; turn < {}u; ++turn)", turns);
  }
  writer.Line("uint {} = {}turn * {}u + lane;", name, base, lanes);
}

void OpenElements(ValueWriter& writer, const std::string& name, int64_t count, int64_t lanes, LoopShare share) {
  const int64_t groups = share.groups;
  if (share.cooperative || CeilDivide(count, groups) > lanes) return OpenTurns(writer, name, count, lanes, share);
  writer.Line("uint {} = {}lane;", name, OwnBase(count, groups));
  const std::string owns = OwnsElement(count, lanes, groups);
  writer.OpenBlock(owns.empty() ? "" : fmt::format("if ({})", owns));
}

int64_t NeighboursOfAGroup(int64_t count, int64_t most, int64_t groups, int64_t least) {
  const auto share = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(CeilDivide(count, groups))));
  return std::clamp(share, std::min(least, most), most);
}

}  // namespace VXLA_NAMESPACE::vulkan
