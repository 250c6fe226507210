#include "core/mlir/rewrite/block_control.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/host/ranges.h"
#include "core/mlir/rewrite/block_edges.h"
#include "core/mlir/rewrite/structured_control.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

// Sets of blocks are computed for each block, and what no join follows is written once for each way to it.
constexpr size_t kMaxBlocks = 256;
constexpr size_t kMaxWritten = size_t{1} << 20;

constexpr char kSeveralWays[] = "a loop is left or entered in more than one place";

// One function. Blocks keep the values that they define: a loop's results are the arguments of its first block, a
// branch's those of the block where its sides meet; every block stands once in a region.
class BlockLowering {
 public:
  BlockLowering(Program& program, Operation& function)
      : program_(program), function_(function), blocks_(function.regions[0].blocks), exit_(blocks_.size()) {}

  Status Run() {
    if (exit_ > kMaxBlocks) return function_.NotSupported("{} blocks, {} at most", exit_, kMaxBlocks);
    VXLA_RETURN_IF_ERROR(ReadEdges());
    FindLoops();
    VXLA_RETURN_IF_ERROR(FindJoins());
    if (HasLoopsOfSeveralHeads()) return WriteBlocksAsStates(program_, function_, edges_);
    Block body;
    body.arguments = blocks_[0].arguments;
    Result<std::vector<ValueId>> results = Write(0, exit_, body.operations);
    if (!results.ok() && results.status().code() == StatusCode::kUnsupported)
      return WriteBlocksAsStates(program_, function_, edges_);
    VXLA_RETURN_IF_ERROR(results.status());
    Operation back = Make("func.return", *std::move(results));
    body.operations.push_back(std::move(back));
    blocks_.clear();
    blocks_.push_back(std::move(body));
    return OkStatus();
  }

 private:
  using Set = std::vector<bool>;

  // ---- the graph; a return goes to exit_

  Status ReadEdges() {
    edges_.resize(exit_ + 1);
    for (size_t i = 0; i < exit_; ++i) {
      if (blocks_[i].operations.empty()) return function_.Error("block {} is empty", i);
      const Operation& last = blocks_[i].operations.back();
      if (last.name == "func.return") {
        edges_[i] = {{exit_, last.operands}};
        continue;
      }
      const size_t ways = last.name == "cf.br" ? 1 : last.name == "cf.cond_br" ? 2 : 0;
      if (ways == 0) return last.NotSupported("a block ends with cf.br, cf.cond_br or return");
      VXLA_ASSIGN_OR_RETURN(const IntList targets, last.Ints(kSuccessors));
      // The generic form counts the condition too; of cf.br, all operands are the block's.
      IntList counts{static_cast<int64_t>(last.operands.size())};
      if (ways == 2) {
        VXLA_ASSIGN_OR_RETURN(counts, last.Ints("operandSegmentSizes", {1, 0, 0}));
        if (counts.size() == 3) counts.erase(counts.begin());
      }
      VXLA_ASSIGN_OR_RETURN(counts, last.Ints(kSuccessorOperands, counts));
      size_t next = ways - 1;  // behind the condition
      if (targets.size() != ways || counts.size() != ways)
        return last.Error("{} successors, {} needed", targets.size(), ways);
      for (size_t way = 0; way < ways; ++way) {
        const auto target = static_cast<size_t>(targets[way]), count = static_cast<size_t>(counts[way]);
        if (targets[way] < 0 || target == 0 || target >= exit_)
          return last.Error("a branch to block {} of {}", targets[way], exit_);
        if (counts[way] < 0 || next + count > last.operands.size() || count != blocks_[target].arguments.size()) {
          return last.Error("{} operands for block {}, which takes {}", counts[way], targets[way],
                            blocks_[target].arguments.size());
        }
        BlockEdge& edge = edges_[i].emplace_back(BlockEdge{target, {}});
        for (size_t k = 0; k < count; ++k) edge.operands.push_back(last.operands[next++]);
      }
    }
    return OkStatus();
  }

  // Blocks that every path from `start` to a block goes through, with paths along `next` backwards.
  std::vector<Set> OnEveryPath(size_t start, const std::vector<std::vector<size_t>>& before) const {
    const size_t count = exit_ + 1;
    std::vector<Set> sets(count, Set(count, true));
    sets[start].assign(count, false);
    sets[start][start] = true;
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i < count; ++i) {
        if (i == start) continue;
        Set common(count, true);
        for (const size_t other : before[i]) {
          for (size_t k = 0; k < count; ++k) common[k] = common[k] && sets[other][k];
        }
        common[i] = true;
        if (common == sets[i]) continue;
        sets[i] = std::move(common);
        changed = true;
      }
    }
    return sets;
  }

  void FindLoops() {
    std::vector<std::vector<size_t>> before(exit_ + 1), after(exit_ + 1);
    for (size_t i = 0; i < exit_; ++i) {
      for (const BlockEdge& edge : edges_[i]) {
        before[edge.block].push_back(i);
        after[i].push_back(edge.block);
      }
    }
    dominators_ = OnEveryPath(0, before);
    followers_ = OnEveryPath(exit_, after);
    // The loop of a block: what reaches an edge back to it without passing it.
    loops_.resize(exit_);
    for (size_t i = 0; i < exit_; ++i) {
      for (const BlockEdge& edge : edges_[i]) {
        const bool reached = !dominators_[i][exit_];  // nothing follows the exit, so it dominates what is not reached
        if (edge.block == exit_ || !reached || !dominators_[i][edge.block]) continue;
        Set& loop = loops_[edge.block];
        loop.resize(exit_);
        loop[edge.block] = true;
        std::vector<size_t> open{i};
        while (!open.empty()) {
          const size_t at = open.back();
          open.pop_back();
          if (loop[at]) continue;
          loop[at] = true;
          open.insert(open.end(), before[at].begin(), before[at].end());
        }
      }
    }
  }

  // Whether a circle of blocks remains without the edges that go back to the one head of a loop.
  bool HasLoopsOfSeveralHeads() const {
    std::vector<int> before(exit_ + 1, 0);
    const auto forward = [&](size_t from, const BlockEdge& edge) { return !dominators_[from][edge.block]; };
    for (size_t i = 0; i < exit_; ++i) {
      for (const BlockEdge& edge : edges_[i]) before[edge.block] += forward(i, edge) ? 1 : 0;
    }
    std::vector<size_t> open;
    for (size_t i = 0; i <= exit_; ++i) {
      if (before[i] == 0) open.push_back(i);
    }
    size_t sorted = 0;
    for (; !open.empty(); ++sorted) {
      const size_t at = open.back();
      open.pop_back();
      if (at == exit_) continue;
      for (const BlockEdge& edge : edges_[at]) {
        if (forward(at, edge) && --before[edge.block] == 0) open.push_back(edge.block);
      }
    }
    return sorted <= exit_;
  }

  // Where the ways from a block meet again: of those that all go through, the one that the others follow.
  Status FindJoins() {
    joins_.assign(exit_, exit_);
    for (size_t i = 0; i < exit_; ++i) {
      // Nothing comes before block 0, so it follows only what no path to a return goes through.
      if (i != 0 && !dominators_[i][exit_] && followers_[i][0])
        return blocks_[i].operations.back().Error("no return is reached from here");
      size_t most = 0;
      for (size_t k = 0; k <= exit_; ++k) {
        if (k == i || !followers_[i][k]) continue;
        const auto size = static_cast<size_t>(std::ranges::count(followers_[k], true));
        if (size > most) {
          most = size;
          joins_[i] = k;
        }
      }
    }
    return OkStatus();
  }

  // ---- what is written

  Operation Make(std::string name, std::vector<ValueId> operands) const {
    return {std::move(name), std::move(operands), {}, {}, {}, location_};
  }

  ValueId Latest(ValueId value) const {
    const auto found = latest_.find(value);
    return found == latest_.end() ? value : found->second;
  }

  std::vector<ValueId> Latest(const std::vector<ValueId>& values) const {
    return Transformed(values, [&](ValueId value) { return Latest(value); });
  }

  // The arguments of the edge's block are its operands from here on.
  void Enter(const BlockEdge& edge) {
    const std::vector<ValueId> values = Latest(edge.operands);
    const std::vector<ValueId>& arguments = blocks_[edge.block].arguments;
    for (const ValueId argument : arguments) latest_.erase(argument);
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] != arguments[i]) latest_[arguments[i]] = values[i];
    }
  }

  Status WriteOperations(size_t block, std::vector<Operation>& out) {
    const std::vector<Operation>& operations = blocks_[block].operations;
    written_ += operations.size();
    location_ = operations.back().location;
    if (written_ > kMaxWritten) {
      return operations.back().NotSupported("blocks that are reached in many ways stand for more than {} operations",
                                            kMaxWritten);
    }
    for (size_t i = 0; i + 1 < operations.size(); ++i) {
      out.push_back(operations[i]);
      ForEachOperand(out.back(), [&](ValueId& operand) { operand = Latest(operand); });
    }
    return OkStatus();
  }

  // From a block on to `until`, and what that takes.
  Result<std::vector<ValueId>> Write(size_t block, size_t until, std::vector<Operation>& out) {
    while (true) {
      const bool loops = !loops_[block].empty();
      if (loops) VXLA_RETURN_IF_ERROR(WriteLoop(block, out));
      VXLA_RETURN_IF_ERROR(WriteOperations(block, out));
      const std::vector<BlockEdge>& edges = edges_[block];
      const bool branches = !loops && edges.size() == 2;
      const BlockEdge& edge = loops ? Leaving(block) : edges[0];
      const size_t next = branches ? joins_[block] : edge.block;
      if (next == exit_ && until != exit_) return blocks_[block].operations.back().NotSupported(kSeveralWays);
      if (branches) {
        VXLA_ASSIGN_OR_RETURN(std::vector<ValueId> values, WriteBranches(block, next, out));
        if (next == until) return values;
      } else {
        if (next == until) return Latest(edge.operands);
        Enter(edge);
      }
      block = next;
    }
  }

  const BlockEdge& Leaving(size_t block) const {
    return loops_[block][edges_[block][0].block] ? edges_[block][1] : edges_[block][0];
  }

  Result<std::vector<ValueId>> WriteBranches(size_t block, size_t join, std::vector<Operation>& out) {
    const Operation& last = blocks_[block].operations.back();
    Operation branches = Make("stablehlo.if", {Latest(last.operands.at(0))});
    branches.location = last.location;
    const auto outside = latest_;
    std::vector<ValueId> given;
    for (const BlockEdge& edge : edges_[block]) {
      latest_ = outside;
      Block side;
      if (edge.block == join) {
        given = Latest(edge.operands);
      } else {
        Enter(edge);
        VXLA_ASSIGN_OR_RETURN(given, Write(edge.block, join, side.operations));
      }
      side.operations.push_back(Make("stablehlo.return", given));
      branches.regions.emplace_back().blocks.push_back(std::move(side));
    }
    latest_ = outside;
    if (join < exit_) {
      for (const ValueId argument : blocks_[join].arguments) latest_.erase(argument);
      branches.results = blocks_[join].arguments;
    } else {
      for (const ValueId value : given) branches.results.push_back(program_.NewValue(program_.values[value].type));
    }
    std::vector<ValueId> results = branches.results;
    if (results.empty() && HasEffect(branches))
      return last.NotSupported("branches that give nothing, with operations that have effects");
    if (!results.empty()) out.push_back(std::move(branches));
    return results;
  }

  // What the first block computes decides whether the loop goes on: it stands in the condition, in the body, and,
  // with the last values of its arguments, behind the loop.
  Status WriteLoop(size_t head, std::vector<Operation>& out) {
    const Operation& last = blocks_[head].operations.back();
    const Set& loop = loops_[head];
    if (open_.contains(head)) return last.NotSupported(kSeveralWays);
    const auto inside = [&](size_t way) { return edges_[head][way].block < exit_ && loop[edges_[head][way].block]; };
    if (edges_[head].size() != 2 || inside(0) == inside(1))
      return last.NotSupported("a loop whose first block does not decide whether it goes on");
    for (const Operation& operation : blocks_[head].operations) {
      if (HasEffect(operation)) return operation.NotSupported("in the block that decides whether a loop goes on");
    }
    const std::vector<ValueId>& carried = blocks_[head].arguments;
    Operation made = Make("stablehlo.while", Latest(carried));
    made.location = last.location;
    made.results = carried;
    const auto outside = latest_;
    for (const ValueId argument : carried) latest_.erase(argument);
    const auto within = latest_;
    open_.insert(head);

    Block test;
    test.arguments = carried;
    VXLA_RETURN_IF_ERROR(WriteOperations(head, test.operations));
    ValueId decision = Latest(last.operands.at(0));
    if (!inside(0)) {
      Operation opposite = Make("stablehlo.not", {decision});
      decision = program_.NewValue(program_.values[decision].type);
      opposite.results = {decision};
      test.operations.push_back(std::move(opposite));
    }
    test.operations.push_back(Make("stablehlo.return", {decision}));

    Block body;
    body.arguments = carried;
    latest_ = within;
    VXLA_RETURN_IF_ERROR(WriteOperations(head, body.operations));
    const BlockEdge& next = edges_[head][inside(0) ? 0 : 1];
    std::vector<ValueId> values = Latest(next.operands);
    if (next.block != head) {
      Enter(next);
      VXLA_ASSIGN_OR_RETURN(values, Write(next.block, head, body.operations));
    }
    body.operations.push_back(Make("stablehlo.return", std::move(values)));

    made.regions.emplace_back().blocks.push_back(std::move(test));
    made.regions.emplace_back().blocks.push_back(std::move(body));
    open_.erase(head);
    latest_ = within;
    out.push_back(std::move(made));
    return OkStatus();
  }

  Program& program_;
  Operation& function_;
  std::vector<Block>& blocks_;
  const size_t exit_;  // a block behind all returns
  std::vector<std::vector<BlockEdge>> edges_;
  std::vector<Set> dominators_, followers_, loops_;
  std::vector<size_t> joins_;
  std::unordered_map<ValueId, ValueId> latest_;  // of arguments of blocks: what they are here
  std::unordered_set<size_t> open_;              // loops that are being written
  SourceLocation location_;
  size_t written_ = 0;
};

}  // namespace

Status LowerBlocks(Program& program) {
  for (Operation& function : Inside(program.module)) {
    if (function.name != "func.func" || function.regions.size() != 1 || function.regions[0].blocks.size() < 2) continue;
    VXLA_RETURN_IF_ERROR(BlockLowering(program, function).Run());
  }
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE::mlir
