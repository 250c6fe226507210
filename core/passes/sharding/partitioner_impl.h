// The partitioner's parts (partitioner.cc: the entry and values; tile_programs.cc: the operations).
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/passes/sharding/partitioner.h"
#include "core/passes/sharding/tile_exchange.h"

namespace VXLA_NAMESPACE {

Instruction* NestedTuple(Expansion into, const Shape& shape, std::span<Instruction* const> leaves);
// The arrays and tokens of a value, depth first.
std::vector<Instruction*> Leaves(Expansion into, Instruction* value);

// Fewer exchanges that bring the same (exchange_merging.cc): sums over the same devices that are added to one another
// become one, devices add what they have first. `sums`: all-reduces and reduce-scatters of the module that add; others
// stay apart.
void JoinSums(Module& module, std::unordered_set<const Instruction*> sums);

// One class, because every operation's rule asks for its operands in tilings of its own, which are made once and kept
// beside those that other rules have asked for.
class Partitioner {
 public:
  Partitioner(const Module& source, const StatedShardings& stated, const ShardingGraph& graph)
      : source_(source), stated_(stated), graph_(graph) {}
  Result<PartitionedModule> Run();

 private:
  // One array, in the tilings in which it was made or wanted so far.
  struct Value {
    Shape whole;
    std::vector<std::pair<Tiling, Instruction*>> tiles;
    const Instruction* free = nullptr;  // what makes any tile of it, with this operand
    std::shared_ptr<Value> scalar;
    // Of a reversed array, whose first tile is made when it is wanted (null until then): of what, divided how.
    const Instruction* reversal = nullptr;
    std::shared_ptr<Value> reversed;
    std::vector<Atoms> atoms;
    const Tiling* tiling() const { return tiles.empty() ? nullptr : &tiles.front().first; }
  };
  using ValuePtr = std::shared_ptr<Value>;
  struct Frame {
    const ShardingScope& scope;
    Expansion into;
    std::unordered_map<const Instruction*, std::vector<ValuePtr>> values;  // by leaf
  };

  const ShardingNode& Node(int node) const { return graph_.nodes[node]; }
  void EnterParameter(Frame& frame, const Instruction& parameter);
  void Leave(Frame& frame, const Instruction& root);
  ValuePtr Made(Instruction* tile, Shape whole, Tiling tiling) const;
  // Cut in the parts in which others want it, where it is made cut at once.
  ValuePtr InWantedParts(Frame& frame, ValuePtr value, const Tiling& wanted);
  Instruction* Whole(Frame& frame, Value& value);
  Instruction* Get(Frame& frame, Value& value, const Tiling& tiling);
  Instruction* MakeFree(Frame& frame, Value& value, const Tiling& tiling);
  Instruction* FirstTile(Frame& frame, Value& value);
  Instruction* MakeReversed(Frame& frame, const Value& value, const Tiling& tiling);
  Computation* Copied(const Computation* computation);

  // The operations (tile_programs.cc).
  Status Walk(Frame& frame);
  Result<std::vector<ValuePtr>> ValuesOf(Frame& frame, const Instruction& instruction);
  std::vector<ValuePtr> BarrierValues(Frame& frame, const Instruction& barrier);
  std::vector<ValuePtr> WholeValues(Frame& frame, const Instruction& instruction);
  std::vector<ValuePtr> PlainValues(Frame& frame, const Instruction& instruction);
  std::vector<ValuePtr> TileValues(Frame& frame, const Instruction& instruction, const FactorRule& rule,
                                   const std::vector<Atoms>& atoms);
  std::vector<ValuePtr> JoinedValues(Frame& frame, const Instruction& instruction, const FactorRule& rule,
                                     const std::vector<Atoms>& atoms);
  void FillUp(Frame& frame, const Instruction& instruction, const FactorRule& rule, const std::vector<Atoms>& atoms,
              std::vector<Instruction*>& operands);
  // Of a gather, of whose rows the device has a tile: the places of its rows, and which of the results they are.
  struct OwnRows {
    Instruction *indices, *is_own;
  };
  OwnRows RowsOfDevice(Frame& frame, const Instruction& gather, Instruction* indices, const Atoms& atoms);
  static Instruction* OnlyOwn(Expansion into, const Instruction& gather, Instruction* rows, Instruction* is_own);
  std::vector<ValuePtr> BoundaryValues(Frame& frame, const Instruction& copy);
  std::vector<ValuePtr> ConstrainedValues(Frame& frame, const Instruction& copy, const ArraySharding& said);
  // By factor; empty where it stays whole.
  std::vector<Atoms> ChooseAtoms(const Frame& frame, const Instruction& instruction, const FactorRule& rule);
  // What devices send to have the operands and results so, and how often; what other users want too counts in part.
  int64_t CostOf(const Frame& frame, const Instruction& instruction, const FactorRule& rule,
                 const std::vector<Atoms>& atoms);
  int64_t CostOf(const Shape& whole, const Tiling& from, const Tiling& to);
  int64_t SharersOf(const Frame& frame, const Instruction& array, const Tiling& wanted);
  Tiling JoinedTiling(const FactorRule& rule, const std::vector<Atoms>& atoms, const ShardingNode& node,
                      Tiling& made) const;
  bool KeepsGroups(const Instruction& collective, const std::vector<Atoms>& atoms) const;
  std::vector<Instruction*> TileOperands(Frame& frame, const Instruction& instruction, const FactorRule& rule,
                                         const std::vector<Atoms>& atoms, size_t first);
  Instruction* EmitTile(Frame& frame, const Instruction& instruction, std::vector<Instruction*> operands, Shape shape);
  // Of slices, pads and concatenates along divided dimensions: operands as on one device that has the elements of its
  // tile of the result.
  void ShiftOperands(Frame& frame, const Instruction& instruction, const FactorRule& rule,
                     const std::vector<Atoms>& atoms, std::vector<Instruction*>& operands, const Shape& tile,
                     Attributes& attributes);
  // With the attributes that it has on tiles, and windows over the edges of these.
  Instruction* EmitOnTiles(Frame& frame, const Instruction& instruction, const FactorRule& rule,
                           const std::vector<Atoms>& atoms, std::vector<Instruction*> operands, Shape shape);
  Result<std::vector<ValuePtr>> CallValues(Frame& frame, const Instruction& call);
  Result<std::vector<ValuePtr>> ManualValues(Frame& frame, const Instruction& call);
  Result<std::vector<ValuePtr>> LoopValues(Frame& frame, const Instruction& loop);
  Result<std::vector<ValuePtr>> BranchValues(Frame& frame, const Instruction& conditional);
  // The tiles of nodes as one value: the only one of them, or a tuple.
  Instruction* State(Frame& frame, const std::vector<ValuePtr>& values, const std::vector<int>& nodes);
  std::vector<ValuePtr> FromState(Expansion into, Instruction* state, const std::vector<int>& nodes) const;
  Result<Computation*> Body(const ShardingScope& scope, const std::vector<int>& state, const std::vector<int>* results);

  const Module& source_;
  const StatedShardings& stated_;
  const ShardingGraph& graph_;
  std::unique_ptr<Module> module_;
  std::optional<TileExchange> exchange_;
  std::unordered_map<const Computation*, Computation*> copies_;
  std::unordered_set<const Instruction*> sums_;  // exchanges that add up what devices have
  PartitionedModule made_;
};

}  // namespace VXLA_NAMESPACE
