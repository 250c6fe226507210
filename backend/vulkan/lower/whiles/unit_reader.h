// What single operations of a loop become: phases, with what they read, write and cost.
#pragma once

#include <functional>
#include <set>
#include <vector>

#include "backend/vulkan/lower/whiles/places.h"
#include "backend/vulkan/lower/whiles/units/units.h"

namespace VXLA_NAMESPACE::vulkan {

class LoopUnitReader : public LoopPlaces {
 public:
  LoopUnitReader(const LowerContext& context, const Instruction& loop, uint32_t lanes, LoopShare share, bool notes,
                 const std::function<Status(const Instruction&)>& can_lower)
      : LoopPlaces(loop, lanes, share), context_(context), notes_(notes), can_lower_(can_lower) {}

  // Unsupported: no workgroup's loop runs it.
  Result<LoopCost> ReadUnit(LoopScope& scope, const Instruction& instruction);

 protected:
  const LowerContext& context_;

 private:
  static int64_t OperationsOf(const FusionDescription& body);
  // What a unit reads; `own` tells of operands that each lane reads at its own elements only.
  void AddReads(const std::function<bool(int)>& own, LoopUnitNode* unit);
  // Each of these reads a unit of its kind, whose body is known.
  Result<LoopCost> ReadElements(LoopScope& scope, LoopUnitNode unit);
  static bool ReadsOwnElements(const FusionDescription& body, int k, int64_t count);
  Result<LoopCost> ReadScatter(LoopScope& scope, LoopUnitNode unit);
  // Beside its updates, of one whose elements go through their runs.
  LoopCost CostOfPlaces(const Instruction& scatter) const;
  // A phase before a scatter, if that adds in parts: each lane reads what any of the phases before have written.
  void SumParts(LoopScope& scope, LoopUnitNode* scatter);
  // Lanes share `count` elements out, each of which takes so many turns.
  Result<LoopCost> ReadUpdate(LoopScope& scope, LoopUnitNode unit, int64_t count, int64_t turns);
  // An array that is updated lies where it lay, or what it is at first is copied to where the result will lie, or is
  // computed there, as that of a result that nobody reads is too.
  void PlaceUpdated(LoopScope& scope, int number, LoopUnitNode* unit, LoopCost* cost);
  void AddFill(LoopBlock& block, const LoopUnitNode& unit, int number, int place, LoopCost* cost);
  // Whether two windows are the same or have no element in common, wherever they start: each lane goes to the same
  // places of any of them.
  static bool HasSeparateWindows(const Instruction& update);
  void AddUpdates(const FusionDescription& body, int64_t count, int64_t turns, LoopCost* cost) const;
  // Operands that are read before any result is written: by a product in tiles whose sums are all stored before its
  // epilogue begins, and by nothing in that.
  static std::set<int> OperandsReadFirst(const LoopUnitNode& unit);
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
