// What single operations of a loop become: phases, with what they read, write and cost.
#pragma once

#include <functional>
#include <vector>

#include "backend/vulkan/lower/whiles/units/units.h"
#include "backend/vulkan/lower/whiles/updates.h"

namespace VXLA_NAMESPACE::vulkan {

class LoopUnitReader : public LoopUpdateReader {
 public:
  LoopUnitReader(const LowerContext& context, const Instruction& loop, uint32_t lanes, LoopShare share, bool notes,
                 const std::function<Status(const Instruction&)>& can_lower)
      : LoopUpdateReader(context, loop, lanes, share), notes_(notes), can_lower_(can_lower) {}

  // Unsupported: no workgroup's loop runs it.
  Result<LoopCost> ReadUnit(LoopScope& scope, const Instruction& instruction);

 private:
  // Each of these reads a unit of its kind, whose body is known.
  Result<LoopCost> ReadElements(LoopScope& scope, LoopUnitNode unit);
  Result<LoopCost> ReadRows(LoopScope& scope, LoopUnitNode unit);
  // Reductions whose values a trip may leave open until all trips of a dispatch have been made.
  bool MayBeNoted(const LoopScope& scope, const FusionDescription& body) const;
  Result<LoopCost> ReadNoted(LoopScope& scope, LoopUnitNode unit);
  // A Fourier transform after one of its kind is made at once with it, so that its text is there once and more lanes
  // have something to do between two barriers. Not where it reads what the other one writes, or the other way round.
  bool Joins(LoopBlock& block, const LoopUnitNode& unit);
  // What it reads, what it writes, what it alone uses.
  std::vector<int> PlacesOfTransform(const LoopUnitNode& unit);
  bool MayStandInRows(const std::vector<int>& places) const;
  // A unit whose lanes work together for longer than a row.
  Result<LoopCost> ReadWorkgroup(LoopScope& scope, LoopUnitNode unit);
  // Lanes read what others have written, and write what others read.
  Result<LoopCost> ReadTogether(LoopScope& scope, LoopUnitNode unit, const LoopUnitNeeds& needs);

  const bool notes_;
  const std::function<Status(const Instruction&)>& can_lower_;
};

}  // namespace VXLA_NAMESPACE::vulkan
