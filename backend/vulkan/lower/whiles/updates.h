// Units of a loop's kernel that change arrays: dynamic-update-slices and scatters.
//
// A dynamic-update-slice whose elements a unit before it makes is no unit of its own: that one stores each where it
// belongs, too, so that no lane waits and nothing is loaded again. Scans stack their results so.
#pragma once

#include <functional>

#include "backend/vulkan/lower/whiles/places.h"

namespace VXLA_NAMESPACE::vulkan {

class LoopUpdateReader : public LoopPlaces {
 protected:
  LoopUpdateReader(const LowerContext& context, const Instruction& loop, uint32_t lanes, LoopShare share)
      : LoopPlaces(loop, lanes, share), context_(context) {}

  static int64_t OperationsOf(const FusionDescription& body);
  // What a unit reads; `own` tells of operands that each lane reads at its own elements only.
  void AddReads(const std::function<bool(int)>& own, LoopUnitNode* unit);
  Result<LoopCost> ReadScatter(LoopScope& scope, LoopUnitNode unit);
  // Lanes share `count` elements out, each of which takes so many turns.
  Result<LoopCost> ReadUpdate(LoopScope& scope, LoopUnitNode unit, int64_t count, int64_t turns);

  const LowerContext& context_;

 private:
  // A phase before a scatter, if that adds in parts: each lane reads what any of the phases before have written.
  void SumParts(LoopScope& scope, LoopUnitNode* scatter);
  // An array that is updated lies where it lay, or what it is at first is copied to where the result will lie, or is
  // computed there, as that of a result that nobody reads is too.
  void PlaceUpdated(LoopScope& scope, int number, LoopUnitNode* unit, LoopCost* cost);
  void AddFill(LoopBlock& block, const LoopUnitNode& unit, int number, int place, LoopCost* cost);
  void AddUpdates(const FusionDescription& body, int64_t count, int64_t turns, LoopCost* cost) const;
};

}  // namespace VXLA_NAMESPACE::vulkan
