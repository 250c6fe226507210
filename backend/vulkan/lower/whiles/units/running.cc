// Running windows inside a loop that one workgroup runs: lanes that would have no row of their own share one, each a
// stretch of it. A lane folds its stretch, takes over what the stretches before it come to, and walks its own again.
// Where all workgroups share rows, the stretches are known by their number alone, and what they come to lies in memory.
#include "backend/vulkan/lower/rows/running.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/vulkan/lower/rows/reducer.h"
#include "backend/vulkan/lower/whiles/units/units.h"
#include "core/numerics/reducer_facts.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Each lane folds the totals before its own by itself.
constexpr int64_t kMostLanesOfARow = 32, kLeastOfAStretch = 4;
// Stretches of a row that all workgroups share, and how many of these have a total of their own. Not measured yet.
constexpr int64_t kMostStretches = 1024, kStretchesOfABlock = 32;

struct RunningRows : RunningArray {
  using RunningArray::RunningArray;
  // `groups`: workgroups with rows of their own.
  RunningRows(const Instruction& hero, uint32_t workgroup_lanes, int64_t groups) : RunningArray(hero) {
    while (2 * lanes * CeilDivide(rows, groups) <= workgroup_lanes && 2 * lanes <= kMostLanesOfARow &&
           2 * lanes * kLeastOfAStretch <= length)
      lanes *= 2;
    stretch = CeilDivide(length, lanes);
  }
  // In stretches that any workgroup may take.
  static RunningRows InStretches(const Instruction& hero) {
    RunningRows rows(hero);
    while (2 * rows.lanes <= kMostStretches && 2 * rows.lanes * kLeastOfAStretch <= rows.length) rows.lanes *= 2;
    rows.stretch = CeilDivide(rows.length, rows.lanes);
    return rows;
  }
  int64_t stretches() const { return rows * lanes; }
  int64_t of_a_block() const { return std::min(lanes, kStretchesOfABlock); }
  int64_t blocks() const { return stretches() / of_a_block(); }

  int64_t lanes = 1, stretch = 0;  // of a row; elements of a lane's stretch
};

// Sums of f32 are kept in two floats: rows may be long, and a lane's sum has one term after another.
Reducer ReducerOf(const Instruction& hero) {
  const ReducerFacts facts = FactsOfReducer(*hero.called(0));
  return facts.adds_floats && facts.types[0] == ElementType::kF32 ? WideSum() : ReadReducer(hero);
}

class LoopRunningWriter {
 public:
  LoopRunningWriter(const FusionDescription& body, BufferMap& buffers, const LoopUnit& unit)
      : body_(body),
        unit_(unit),
        hero_(*body.hero),
        rows_(unit.waits_for_grid() ? RunningRows::InStretches(hero_)
                                    : RunningRows(hero_, unit.lanes, unit.has_own_rows() ? unit.share.groups : 1)),
        reducer_(ReducerOf(hero_)),
        combine_(fmt::format("combine_{}", unit.number)),
        row_(space_.AddVariable(rows_.rows)),
        at_(space_.AddVariable(rows_.length)),
        writer_(unit.kernel, body, buffers, space_) {
    for (const auto& [operand, name] : unit.held) writer_.Hold(*operand, name);
    writer_.Bind(row_, "row");
    writer_.Bind(at_, "at");
  }

  Code Write(std::span<const BufferSlice> scratch) {
    unit_.kernel.Append(reducer_.combine(combine_));
    if (unit_.waits_for_grid()) return WriteStretches(scratch);
    const int64_t at_once = unit_.lanes / rows_.lanes;
    const bool shared_out = unit_.has_own_rows(), whole = !shared_out && rows_.rows % at_once == 0;
    const std::string own = fmt::format("first + lane / {}u", rows_.lanes),
                      end = shared_out ? "end_row" : fmt::format("{}u", rows_.rows);
    writer_.OpenBlock("for (uint first = {}; first < {}; first += {}u)", shared_out ? "first_row" : "0u", end, at_once);
    writer_.Line(whole ? fmt::format("uint row = {};", own)
                       : fmt::format("uint row = min({}, {}u);", own, rows_.rows - 1));
    writer_.Line("uint part = lane % {}u;", rows_.lanes);
    WriteStart();
    if (rows_.lanes > 1) WriteTotals();
    OpenStretch();
    Fold(Elements());
    StoreResults(whole ? "" : own + fmt::format(" < {}", end));
    writer_.CloseBlock(2);
    return unit_.OwnRows(rows_.rows) + writer_.Take();
  }

 private:
  int count() const { return hero_.operand_count() / 2; }
  static std::string Member(size_t i) { return fmt::format("held_{}", i); }
  std::vector<std::string> Members() const {
    std::vector<std::string> members;
    for (size_t i = 0; i < reducer_.types.size(); ++i) members.push_back(Member(i));
    return members;
  }

  void WriteStart() {
    initial_.clear();
    for (int i = 0; i < count(); ++i) {
      initial_.push_back(writer_.Assignable(reducer_.types[static_cast<size_t>(i)],
                                            reducer_.Taken(writer_.Value(*hero_.operand(count() + i), {}))));
    }
    for (size_t i = 0; i < initial_.size(); ++i)
      writer_.Line("{} {} = {};", CarrierType(reducer_.types[i]), Member(i), initial_[i]);
  }

  // The lane's stretch of its row, in the order of the walk.
  void OpenStretch() {
    writer_.OpenBlock("for (uint step = part * {0}u; step < min(part * {0}u + {0}u, {1}u); ++step)", rows_.stretch,
                      rows_.length);
    writer_.Line(rows_.running.reverse ? fmt::format("uint at = {}u - step;", rows_.length - 1) : "uint at = step;");
  }
  MultiIndex Index() { return rows_.IndexAt(space_, space_.Variable(row_), space_.Variable(at_)); }
  std::vector<std::string> Elements() {
    std::vector<std::string> values;
    for (int i = 0; i < count(); ++i) values.push_back(reducer_.Taken(writer_.Value(*hero_.operand(i), Index())));
    return values;
  }
  // Appends values to what is held; a walk from the end has them on the left.
  void Fold(const std::vector<std::string>& values) {
    if (!rows_.running.reverse) {
      writer_.Line(JoinText(combine_, Members(), values));
      return;
    }
    std::vector<std::string> joined;
    for (size_t i = 0; i < values.size(); ++i) joined.push_back(writer_.Assignable(reducer_.types[i], values[i]));
    writer_.Line(JoinText(combine_, joined, Members()));
    for (size_t i = 0; i < joined.size(); ++i) writer_.Line("{} = {};", Member(i), joined[i]);
  }

  // Totals of all stretches, of blocks of them, and then the walks.
  Code WriteStretches(std::span<const BufferSlice> scratch) {
    for (size_t i = 0; i < reducer_.types.size(); ++i)
      totals_.push_back(unit_.kernel.AddBuffer(reducer_.types[i], Access::kReadWrite, scratch[i]));
    const std::string each = fmt::format("{}u", rows_.of_a_block()), behind = fmt::format("{}u", rows_.stretches());
    const int64_t blocks = rows_.blocks() / rows_.rows;
    OpenStretches();
    OpenStretch();
    Fold(Elements());
    writer_.CloseBlock();
    StoreTotals("own");
    writer_.CloseBlock();
    writer_.Barrier(true);
    if (blocks > 1) {
      writer_.OpenBlock(unit_.Turns("own", rows_.blocks(), 1));
      WriteStart();
      FoldTotals(fmt::format("own * {}", each), fmt::format("own * {0} + {0}", each));
      StoreTotals(fmt::format("{} + own", behind));
      writer_.CloseBlock();
      writer_.Barrier(true);
    }
    OpenStretches();
    if (blocks > 1)
      FoldTotals(fmt::format("{} + row * {}u", behind, blocks), fmt::format("{} + own / {}", behind, each));
    FoldTotals(fmt::format("own / {0} * {0}", each), "own");
    OpenStretch();
    Fold(Elements());
    StoreResults("");
    writer_.CloseBlock(2);
    return writer_.Take();
  }
  void OpenStretches() {
    writer_.OpenBlock(unit_.Turns("own", rows_.stretches(), 1));
    writer_.Line("uint row = own / {}u, part = own - row * {}u;", rows_.lanes, rows_.lanes);
    WriteStart();
  }
  void FoldTotals(const std::string& first, const std::string& end) {
    writer_.OpenBlock("[[dont_unroll]] for (uint at_total = {}; at_total < {}; ++at_total)", first, end);
    std::vector<std::string> totals;
    for (size_t i = 0; i < totals_.size(); ++i) {
      totals.push_back(fmt::format("total_{}", i));
      writer_.Declare(CarrierType(reducer_.types[i]), totals.back(), unit_.kernel.Loaded(totals_[i], "at_total"));
    }
    Fold(totals);
    writer_.CloseBlock();
  }
  void StoreTotals(const std::string& at) {
    for (size_t i = 0; i < totals_.size(); ++i) writer_.Add(unit_.kernel.Storing(totals_[i], at, Member(i)));
  }

  // What the stretches before the lane's own come to. Initial values may be folded again.
  void WriteTotals() {
    OpenStretch();
    Fold(Elements());
    writer_.CloseBlock();
    std::vector<std::string> arrays, totals;
    for (size_t i = 0; i < reducer_.types.size(); ++i) {
      arrays.push_back(unit_.Shared(CarrierType(reducer_.types[i]), i));
    }
    writer_.Barrier();
    for (size_t i = 0; i < arrays.size(); ++i) {
      writer_.Line("{}[lane] = {};", arrays[i], Member(i));
      writer_.Line("{} = {};", Member(i), initial_[i]);
      totals.push_back(arrays[i] + "[lane - part + before]");
    }
    writer_.Barrier();
    writer_.OpenBlock("for (uint before = 0u; before < part; ++before)");
    Fold(totals);
    writer_.CloseBlock();
  }

  void StoreResults(const std::string& owns) {
    const auto leaves = FlattenTuple(hero_.shape());
    const MultiIndex index = Index();
    for (size_t i = 0; i < leaves.size(); ++i) {
      const ElementType type = leaves[i]->element_type();
      writer_.Override(hero_, index, writer_.Assignable(type, reducer_.Result(i, type, Member(i))),
                       static_cast<int>(i));
    }
    const IndexExpression linear = space_.Linearize(index, rows_.sizes);
    int leaf = 0;
    for (const ResultLeaf& result : ResultLeaves(body_)) {
      const MultiIndex place = rows_.IndexIn(*result.shape, space_, index);
      const std::string value = writer_.LeafValue(*result.root, result.element, place);
      writer_.StoreAt(writer_.ResultTensor(leaf++), {&linear, 1}, {&value, 1}, false, [&](size_t) { return owns; });
    }
  }

  const FusionDescription& body_;
  const LoopUnit& unit_;
  const Instruction& hero_;
  const RunningRows rows_;
  const Reducer reducer_;
  const std::string combine_;
  IndexSpace space_;
  const int row_, at_;
  ValueWriter writer_;
  std::vector<std::string> initial_;
  std::vector<int> totals_;  // in memory, of stretches and of blocks behind them
};

}  // namespace

LoopUnitNeeds NeedsOfLoopRunning(const LowerContext&, const FusionDescription& body, uint32_t lanes) {
  const RunningRows rows(*body.hero, lanes, 1);
  int64_t each = 2 + ElementCosts(body.computed) + ElementCosts(body.hero->called(0)->instructions());
  if (ReducerOf(*body.hero).widens) each += 8;
  const int64_t walks = rows.lanes > 1 ? 2 : 1;
  LoopUnitNeeds needs;
  needs.rows = rows.rows;
  needs.waits = 2;
  const RunningRows shared = RunningRows::InStretches(*body.hero);
  for (const ElementType type : ReducerOf(*body.hero).types)
    needs.grid_scratch.emplace_back(type, IntList{shared.stretches() + shared.blocks()});
  needs.operations = rows.rows * rows.length * each * walks;
  needs.iterations = CeilDivide(rows.rows * rows.lanes, lanes) * (1 + walks * (rows.stretch + 1) + rows.lanes) + 1;
  return needs;
}

Code WriteLoopRunning(const LowerContext&, const FusionDescription& body, BufferMap& buffers,
                      std::span<const BufferSlice> scratch, const LoopUnit& unit) {
  return LoopRunningWriter(body, buffers, unit).Write(scratch);
}

}  // namespace VXLA_NAMESPACE::vulkan
