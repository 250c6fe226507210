// Tiles of one tiling from tiles of another: what devices cut on their own, and what they exchange for it.
#pragma once

#include <map>
#include <optional>

#include "core/passes/base/expansion.h"
#include "core/passes/sharding/factor_rule.h"
#include "core/passes/sharding/tiling.h"

namespace VXLA_NAMESPACE {

// One class, because each exchange leaves a tiling from which another one goes on, and all share the mesh's numbers.
class TileExchange {
 public:
  TileExchange(Module& module, const MeshAtoms& mesh) : module_(module), mesh_(mesh) {}

  // Emits into `into`. Of what `joins` joins where `from` has addends that `to` has not: reduce-scatter and all-reduce.
  // Then what is there already is cut, collective-permute, all-to-all and all-gather bring what is not.
  // A dimension that its atoms do not divide goes to another tiling as a whole one. One that is cut in parts changes
  // places by collective-permute, unless all its parts come or go at once.
  Instruction* Reshard(Expansion into, Instruction* tile, const Shape& whole, Tiling from, const Tiling& to,
                       Opcode joins = Opcode::kAdd);
  // Of tilings that are none of the mesh's.
  Instruction* Gather(Expansion into, Instruction* tile, const Sharding& sharding);
  Instruction* Cut(Expansion into, Instruction* whole, const Sharding& sharding);
  // What devices need of a dimension of `whole` elements; zeros beyond the ends of what the tiles have. Expects what
  // ReachesNext takes.
  Instruction* Shifted(Expansion into, Instruction* tile, int dimension, const Atoms& atoms, int64_t whole,
                       const TileSource& source);
  // What devices need of a dimension of `whole` elements to have, once they reverse it, their tile of the reversed one.
  Instruction* Mirrored(Expansion into, Instruction* tile, int dimension, const Atoms& atoms, int64_t whole);
  static bool ReachesNext(int64_t tile, int64_t count, int64_t whole, const TileSource& source);
  // The same of an array of which each device has all.
  Instruction* ShiftedWhole(Expansion into, Instruction* array, int dimension, const Atoms& atoms, int64_t size,
                            int64_t low);
  // With a scalar, zero (null), or what another array has there, in place of the elements of the whole dimension that
  // are not in [first, end). source: where the device's are; by itself a tile's.
  Instruction* Masked(Expansion into, Instruction* tile, int dimension, const Atoms& atoms, int64_t first, int64_t end,
                      Instruction* outside);
  Instruction* Masked(Expansion into, Instruction* array, int dimension, const Atoms& atoms, int64_t first, int64_t end,
                      Instruction* outside, const TileSource& source);
  // The devices' numbers of `values`, by device; a scalar of S32.
  Instruction* OfDevice(Expansion into, const IntList& values);
  // Of two scalars.
  Computation* ReducerOf(Opcode operation, ElementType type);

 private:
  // part_exchange.cc. Of a dimension that is to be cut along `atoms` in parts and is so along `has` in front of these:
  // in the order in which it is cut at once for that; or back.
  Instruction* InTileOrder(Expansion into, Instruction* value, int dimension, const Atoms& has, const Atoms& atoms,
                           bool back);
  Instruction* BetweenParts(Expansion into, Instruction* tile, int dimension, int64_t whole, const Atoms& from,
                            const Atoms& to);
  Instruction* PartAt(Expansion into, Instruction* value, int dimension, int64_t size, IntList numbers);
  Instruction* ReshardPlain(Expansion into, Instruction* tile, const Shape& whole, Tiling from, const Tiling& to,
                            Opcode joins);
  Instruction* AllGather(Expansion into, Instruction* tile, int dimension, std::vector<IntList> groups);
  Instruction* Join(Expansion into, Instruction* tile, const Shape& whole, Tiling& from, const Tiling& to,
                    Opcode joins);
  Instruction* AllReduce(Expansion into, Instruction* tile, std::vector<IntList> groups, Opcode joins);
  Instruction* Spread(Expansion into, Instruction* tile, const Shape& whole, Tiling& from, const Tiling& to);
  Instruction* Permute(Expansion into, Instruction* tile, Tiling& from, const Tiling& to);
  bool IsEven(const Shape& whole, const Tiling& tiling, size_t dimension) const;
  size_t Kept(const Shape& whole, const Tiling& from, const Tiling& to, size_t dimension) const;
  std::optional<size_t> LeastToGather(const Shape& whole, const Tiling& from, const Tiling& to) const;
  Tiling WantedFirst(const Shape& whole, const Tiling& from, const Tiling& to) const;
  Instruction* Exchange(Expansion into, Instruction* tile, const Shape& whole, Tiling& from, const Tiling& to);
  Instruction* AllToAll(Expansion into, Instruction* tile, int joined, int split, const Atoms& atoms);
  Instruction* CutAlong(Expansion into, Instruction* tile, const Shape& whole, Tiling& from, const Tiling& to);
  Instruction* CutAt(Expansion into, Instruction* whole, const Shape& tile, const std::vector<IntList>& starts);
  Instruction* WithEdges(Expansion into, Instruction* tile, int dimension, const Atoms& atoms, int64_t low,
                         int64_t high);
  Instruction* Edge(Expansion into, Instruction* tile, int dimension, const Atoms& atoms, int64_t size, bool is_low);
  // On devices whose number is 1 there, the other array elsewhere; a scalar of it.
  Instruction* OnlyOn(Expansion into, const IntList& is_there, Instruction* tile, Instruction* elsewhere);

  Module& module_;
  const MeshAtoms& mesh_;
  std::map<std::pair<Opcode, ElementType>, Computation*> reducers_;
};

}  // namespace VXLA_NAMESPACE
