// What is known of how the arrays of a program of whole arrays lie: each array is a node, and operations relate nodes.
// Computations that calls, loops and branches run are walked where they are run, so that each use may lie its own way.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/ir/module.h"
#include "core/passes/sharding/factor_rule.h"
#include "core/passes/sharding/tiling.h"

namespace VXLA_NAMESPACE {

// What a program's text says. The instructions are of the module as it was read.
struct StatedShardings {
  // A call whose callee is written for one place of some axes: it sees tiles.
  struct Manual {
    std::vector<ArraySharding> in, out;
    std::shared_ptr<const DeviceMesh> mesh;  // null: nothing is said
    std::vector<std::string> axes;
  };
  std::vector<std::optional<ArraySharding>> parameters, results;      // of the entry; results by leaf
  std::unordered_map<const Instruction*, ArraySharding> constraints;  // of copies
  std::unordered_map<const Instruction*, Manual> manual;
  // Copies from arrays to tiles that lie so, and back (SPMDFullToShardShape, SPMDShardToFullShape).
  std::unordered_map<const Instruction*, ArraySharding> to_tiles, from_tiles;
  // Arrays whose shardings are asked for, and the bytes that say by whom.
  struct Question {
    const Instruction* array;
    std::string asker;
  };
  std::vector<Question> questions;
  bool lists_arrays = false;                                            // PartitionedModule::arrays is asked for
  std::unordered_map<const Instruction*, std::vector<int64_t>> groups;  // numbers of groups whose arrays lie alike
  // What the arrays are cut along: the first mesh of the most axes. Null: nothing is said.
  std::shared_ptr<const DeviceMesh> mesh;
};

struct ShardingNode {
  Shape shape;
  Tiling tiling;
  std::vector<bool> is_open;  // by dimension
  Atoms kept_out;             // of atoms that cut nothing here: replicated, or of a manual computation around it
  bool must_divide = false;   // what devices are given or give, and what they cut themselves: tiles of one size
  bool is_outer = false;      // an argument or result of the program
  Tiling said;                // by the program
  bool is_free = false;       // devices make any tile of it without work: constants, iotas, copies of a scalar
  // Dimensions that are said to wait for those of smaller priorities.
  struct Later {
    size_t dimension;
    int64_t priority;
    Atoms atoms;
    bool is_open;
  };
  std::vector<Later> later;

  bool MayTake(int atom) const;
};

struct ShardingRelation {
  FactorRule rule;
  std::vector<int> operands, results;  // nodes; -1: one that tells nothing

  struct Array {
    int node;
    const FactorRule::ArrayFactors* array;
  };
  // Those that tell something.
  std::vector<Array> arrays() const;
};

struct ShardingScope {
  const Computation* computation = nullptr;
  Atoms manual;                                                    // of the manual computations around it
  std::unordered_map<const Instruction*, std::vector<int>> nodes;  // by leaf
  std::unordered_map<const Instruction*, std::vector<std::unique_ptr<ShardingScope>>> inner;
  // Of a manual call: its operands and results as nodes of whole arrays.
  std::unordered_map<const Instruction*, std::vector<int>> entering, leaving;

  const std::vector<int>& of(const Instruction* instruction) const { return nodes.at(instruction); }
};

struct ShardingGraph {
  MeshAtoms mesh;
  std::vector<ShardingNode> nodes;
  std::vector<ShardingRelation> relations;  // in the order of the program
  std::unique_ptr<ShardingScope> entry;
  std::vector<int> results;  // of the entry, by leaf
};

// kResourceExhausted: more than kMaxInlinedInstructions instructions, those of calls counted for each call.
Result<ShardingGraph> MakeShardingGraph(const Module& module, const StatedShardings& stated);

// What is said of each leaf of a tuple, of the leaves that a get-tuple-element takes.
template <typename T>
std::vector<T> OfElement(const Instruction& element, const std::vector<T>& all) {
  const std::vector<Shape>& elements = element.operand(0)->shape().tuple_elements();
  auto first = all.begin();
  for (int64_t i = 0; i < element.attributes<GetTupleElementAttributes>().index; ++i)
    first += std::ssize(FlattenTuple(elements[i]));
  return {first, first + std::ssize(FlattenTuple(element.shape()))};
}

}  // namespace VXLA_NAMESPACE
