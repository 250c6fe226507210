#include "backend/vulkan/lower/whiles/units/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "backend/vulkan/lower/rows/reducer.h"
#include "backend/vulkan/lower/whiles/units/dot.h"
#include "core/ceil_divide.h"
#include "core/passes/base/fusion_rules.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Turns of a lane whose elements are read before any of them is added up, on GPUs: NVIDIA's compiler lets a load wait
// for the sum before it (a recurrent network of 128 steps of 16 x 256 on an H100: 1.78 ms without, 0.78 so). Where an
// element is more than loads and a product, its text stands once.
constexpr std::array<int64_t, 2> kTurnsTogether = {8, 4};
constexpr int64_t kMostOfAnElement = 4;

// A row's accumulators: locals that take elements, joined through shared memory as reduce/rows.comp joins them:
// neighbouring lanes first.
class LoopRowSums {
 public:
  LoopRowSums(const RowProgram& program, const LoopRowsShape& shape, const LoopUnit& unit)
      : program_(program),
        lanes_(shape.lanes),
        ordered_(shape.ordered),
        unit_(unit),
        row_(space_.AddVariable(program.rows)),
        step_(space_.AddVariable(std::max<int64_t>(program.row_size, 1))),
        writer_(unit.kernel, *program.body, *program.buffers, space_) {
    writer_.Bind(row_, "row");
    writer_.Bind(step_, "step");
    for (const auto& [operand, name] : unit.held) writer_.Hold(*operand, name);
  }
  RowPlace Place() { return {space_.Variable(row_), space_.Variable(step_)}; }
  std::string Member(size_t reduce, size_t leaf) const { return fmt::format("sum_{}_{}", reduce, leaf); }
  static std::string Holds(size_t reduce) { return fmt::format("holds_{}", reduce); }

  std::vector<std::string> Members(size_t i) const {
    std::vector<std::string> members;
    for (size_t leaf = 0; leaf < program_.reduces[i].types.size(); ++leaf) members.push_back(Member(i, leaf));
    return members;
  }

  std::vector<std::string> RunMembers(size_t i) const {
    std::vector<std::string> members = Members(i);
    for (std::string& member : members) member = "run_" + member;
    return members;
  }

  void TakeElement(size_t i, const std::vector<std::string>& into, std::vector<std::string> values) {
    const RowReduce& reduce = program_.reduces[i];
    if (!reduce.elements_taken) values[0] = reduce.Taken(values[0]);
    if (reduce.take) return writer_.Line(JoinText(take_[i], into, values));
    TakeValues(i, into, values, "true");
  }

  // Where a combination has no identity, the first value is taken as it is.
  void TakeValues(size_t i, const std::vector<std::string>& into, const std::vector<std::string>& values,
                  const std::string& there) {
    const bool knows = program_.reduces[i].holds_flag(), asks = knows && there != "true";
    if (asks) writer_.OpenBlock("if ({})", there);
    writer_.Line(JoinText(combine_[i], into, values, knows ? Holds(i) : ""));
    if (asks) writer_.CloseBlock();
  }

  // Each lane joins what it has with what another one has, twice as far away at each turn: all know the whole then,
  // and none waits. Written out, as distances that are constants need no instruction of their own, and as Mesa
  // optimises the whole kernel again for each of these loops (a transformer's decoding, RADV 25.0.7: 128 ms, 75 so).
  // But where several values go together, joining them is long text (its choice of a token: a sixth of the kernel).
  void JoinByShuffles(size_t i) {
    const RowReduce& reduce = program_.reduces[i];
    const bool knows = reduce.holds_flag();
    writer_.OpenBlock("[[{}]] for (uint m = 1u; m < {}u; m *= 2u)", reduce.types.size() == 1 ? "unroll" : "dont_unroll",
                      lanes_);
    std::vector<std::string> own = Members(i), others;
    writer_.kernel().NoteShuffles();
    for (size_t leaf = 0; leaf < own.size(); ++leaf)
      others.push_back(writer_.Assignable(reduce.types[leaf], fmt::format("subgroupShuffleXor({}, m)", own[leaf])));
    if (knows) writer_.Line("bool other_holds = subgroupShuffleXor({}, m);", Holds(i));
    if (ordered_) {
      writer_.OpenBlock("if ((part & m) != 0u)");
      const auto swap = [&](std::string_view type, const std::string& a, const std::string& b) {
        writer_.Line("{{ {0} kept = {1}; {1} = {2}; {2} = kept; }}", type, a, b);
      };
      for (size_t leaf = 0; leaf < own.size(); ++leaf) swap(CarrierType(reduce.types[leaf]), own[leaf], others[leaf]);
      if (knows) swap("bool", Holds(i), "other_holds");
      writer_.CloseBlock();
    }
    TakeValues(i, own, others, knows ? "other_holds" : "true");
    writer_.CloseBlock();
  }

  void Join(size_t i) {
    const RowReduce& reduce = program_.reduces[i];
    if (lanes_ <= unit_.subgroup && std::ranges::all_of(reduce.types, ShuffleTakes)) return JoinByShuffles(i);
    const bool knows = reduce.holds_flag();
    std::vector<std::string> arrays, others;
    for (size_t leaf = 0; leaf < reduce.types.size(); ++leaf)
      arrays.push_back(unit_.Shared(CarrierType(reduce.types[leaf]), leaf));
    const std::string flags = knows ? unit_.Shared("uint", reduce.types.size()) : "";
    writer_.Barrier();
    auto publish = [&] {
      for (size_t leaf = 0; leaf < arrays.size(); ++leaf) writer_.Line("{}[lane] = {};", arrays[leaf], Member(i, leaf));
      if (knows) writer_.Line("{}[lane] = {} ? 1u : 0u;", flags, Holds(i));
    };
    publish();
    writer_.Barrier();
    writer_.OpenBlock("for (uint m = 1u; m < {}u; m *= 2u)", lanes_);
    writer_.OpenBlock("if ((part & (2u * m - 1u)) == 0u)");
    for (const std::string& array : arrays) others.push_back(array + "[lane + m]");
    std::vector<std::string> names;
    for (size_t leaf = 0; leaf < others.size(); ++leaf)
      names.push_back(writer_.Assignable(reduce.types[leaf], others[leaf]));
    TakeValues(i, Members(i), names, knows ? flags + "[lane + m] != 0u" : "true");
    publish();
    writer_.CloseBlock();
    writer_.Barrier();
    writer_.CloseBlock();
    for (size_t leaf = 0; leaf < arrays.size(); ++leaf)
      writer_.Line("{} = {}[lane - part];", Member(i, leaf), arrays[leaf]);
    if (knows) writer_.Line("{} = {}[lane - part] != 0u;", Holds(i), flags);
  }

  void Finish(size_t i) {
    const RowReduce& reduce = program_.reduces[i];
    reduce.publish(writer_, Place(),
                   reduce.Finish(writer_, combine_[i], Members(i), reduce.holds_flag() ? Holds(i) : ""));
  }

  const RowProgram& program_;
  const uint32_t lanes_;
  const bool ordered_;
  const LoopUnit& unit_;
  std::vector<std::string> combine_, take_;  // functions, by reduce
  IndexSpace space_;
  const int row_, step_;
  ValueWriter writer_;
};

// The statements of one unit.
class LoopRowsWriter : LoopRowSums {
 public:
  using LoopRowSums::LoopRowSums;

  Code Write() {
    for (const RowReduce& reduce : program_.reduces) {
      combine_.push_back(unit_.kernel.Function("join", reduce.combine));
      take_.push_back(reduce.take ? unit_.kernel.Function("take", reduce.take) : "");
    }
    OpenRows();
    writer_.Line("uint part = lane % {}u;", lanes_);
    program_.ComputeValues(writer_, Place(), 0);
    const int passes = program_.passes();
    for (int pass = 1; pass <= passes; ++pass) WritePass(pass);
    if (program_.stores_elements()) {
      OpenSteps();
      StoreElements(passes);
      writer_.CloseBlock();
    }
    writer_.CloseBlock();
    return writer_.Take();
  }

 private:
  // A lane's row, in a loop if a workgroup takes more than its lanes have at once. Lanes without one share the last.
  void OpenRows() {
    const int64_t at_once = unit_.lanes / lanes_;
    if (unit_.share.cooperative) {
      const int64_t rows = program_.rows, each = NeighboursOfAGroup(rows, at_once, unit_.share.groups, 1);
      writer_.OpenBlock("for (uint first = grid_group * {0}u; first < {1}u; first += grid_groups * {0}u)", each, rows);
      const std::string own = each == at_once ? fmt::format("first + lane / {}u", lanes_)
                                              : fmt::format("first + min(lane / {}u, {}u)", lanes_, each - 1);
      writer_.Line(rows % each == 0 ? fmt::format("uint row = {};", own)
                                    : fmt::format("uint row = min({}, {}u);", own, rows - 1));
      if (each != at_once) owns_ = fmt::format("lane < {}u", each * lanes_);
      if (rows % each != 0)
        owns_ += fmt::format("{}first + lane / {}u < {}u", owns_.empty() ? "" : " && ", lanes_, rows);
      return;
    }
    const int64_t rows = program_.rows / unit_.share.groups;
    writer_.OpenBlock(rows > at_once ? fmt::format("for (uint first = 0u; first < {}u; first += {}u)", rows, at_once)
                                     : "");
    const std::string own_row = fmt::format("lane / {}u{}", lanes_, rows > at_once ? " + first" : "");
    const bool whole = rows % at_once == 0;
    const std::string base = OwnBase(program_.rows, unit_.share.groups);
    writer_.Line(whole ? fmt::format("uint row = {}{};", base, own_row)
                       : fmt::format("uint row = {}min({}, {}u);", base, own_row, rows - 1));
    owns_ = whole ? "" : fmt::format("{} < {}u", own_row, rows);
  }

  // Lanes take turns, or neighbouring steps where the order of the elements counts.
  void OpenSteps(int64_t together = 1) {
    if (ordered_) {
      const int64_t each = CeilDivide(program_.row_size, lanes_);
      return writer_.OpenBlock("for (uint step = part * {0}u; step < min(part * {0}u + {0}u, {1}u); ++step)", each,
                               program_.row_size);
    }
    writer_.OpenBlock("for (uint step = part; step < {}u; step += {}u)", program_.row_size, lanes_ * together);
  }

  // How many elements a run has; 0: there are none.
  int64_t RunOf(int pass) const {
    for (const RowReduce& reduce : program_.reduces) {
      if (reduce.pass != pass) continue;
      const bool rounds =
          std::ranges::any_of(reduce.types, [](ElementType type) { return IsFloating(type) || IsComplex(type); });
      if (reduce.identity.empty() || reduce.widens || !rounds) return 0;  // none of those in order
    }
    return TurnsOfARun(CeilDivide(program_.row_size, lanes_));
  }
  // How many turns of each run, or of the row, are taken at once.
  int64_t TurnsTogether(int pass, int64_t run) const {
    const bool stores = std::ranges::any_of(
        program_.outputs, [&](const RowOutput& output) { return output.per_element && output.level == pass - 1; });
    bool plain =
        unit_.kernel.keeps_loops() && !ordered_ && !stores && ElementCosts(program_.body->prologue) <= kMostOfAnElement;
    for (const RowReduce& reduce : program_.reduces) {
      if (reduce.pass == pass) plain &= !reduce.holds_flag() && std::ranges::none_of(reduce.types, HasWideCarrier);
    }
    const int64_t whole = run > 0 ? run * lanes_ : program_.row_size;
    if (!plain || whole == 0 || program_.row_size % whole != 0) return 1;
    for (const int64_t turns : kTurnsTogether) {
      if (whole % (turns * lanes_) == 0) return turns;
    }
    return 1;
  }

  // The elements of some turns, all of them, before any is combined.
  void TakeTogether(int pass, int64_t turns, bool in_run) {
    const std::vector<size_t> reduces = program_.ReducesOf(pass);
    std::vector<std::vector<std::vector<std::string>>> values;  // by turn and reduce
    for (int64_t turn = 0; turn < turns; ++turn) {
      const std::string name = fmt::format("step_{}", turn);
      writer_.Line("uint {} = step + {}u;", name, turn * lanes_);
      const int step = writer_.NewVariable(name, program_.row_size);
      values.emplace_back();
      for (const size_t i : reduces)
        values.back().push_back(program_.reduces[i].element(writer_, {space_.Variable(row_), space_.Variable(step)}));
    }
    for (const auto& of_turn : values) {
      for (size_t n = 0; n < reduces.size(); ++n)
        TakeElement(reduces[n], in_run ? RunMembers(reduces[n]) : Members(reduces[n]), of_turn[n]);
    }
  }

  void OpenRun(int pass, int64_t run, int64_t together) {
    const int64_t size = program_.row_size, length = run * lanes_;
    writer_.OpenBlock("for (uint run = part; run < {}u; run += {}u)", size, length);
    for (const size_t i : program_.ReducesOf(pass)) {
      const RowReduce& reduce = program_.reduces[i];
      for (size_t leaf = 0; leaf < reduce.types.size(); ++leaf)
        writer_.Line("{} {} = {};", CarrierType(reduce.types[leaf]), RunMembers(i)[leaf], reduce.identity[leaf]);
    }
    const std::string end = fmt::format("run + {}u", length);
    writer_.OpenBlock("for (uint step = run; step < {}; step += {}u)",
                      size % length == 0 ? end : fmt::format("min({}, {}u)", end, size), lanes_ * together);
  }

  void CloseRun(int pass) {
    for (const size_t i : program_.ReducesOf(pass)) writer_.Line(JoinText(combine_[i], Members(i), RunMembers(i)));
    writer_.CloseBlock();
  }

  void WritePass(int pass) {
    const std::vector<size_t> reduces = program_.ReducesOf(pass);
    for (const size_t i : reduces) {
      const RowReduce& reduce = program_.reduces[i];
      std::vector<std::string> starts = reduce.identity;
      if (reduce.in_order) starts = reduce.init(writer_);
      for (size_t leaf = 0; leaf < reduce.types.size(); ++leaf) {
        writer_.Line("{} {} = {};", CarrierType(reduce.types[leaf]), Member(i, leaf),
                     starts.empty() ? ZeroText(reduce.types[leaf]) : starts[leaf]);
      }
      if (reduce.holds_flag()) writer_.Line("bool {} = false;", Holds(i));
    }
    const int64_t run = RunOf(pass);
    const int64_t together = TurnsTogether(pass, run);
    run > 0 ? OpenRun(pass, run, together) : OpenSteps(together);
    if (together > 1) {
      TakeTogether(pass, together, run > 0);
    } else {
      for (const size_t i : reduces)
        TakeElement(i, run > 0 ? RunMembers(i) : Members(i), program_.reduces[i].element(writer_, Place()));
      StoreElements(pass - 1);
    }
    writer_.CloseBlock();
    if (run > 0) CloseRun(pass);
    for (const size_t i : reduces) {
      if (lanes_ > 1) Join(i);
    }
    for (const size_t i : reduces) Finish(i);
    program_.ComputeValues(writer_, Place(), pass);
    StoreRows(pass);
  }

  void StoreElements(int level) {
    for (const RowOutput& output : program_.outputs) {
      if (!output.per_element || output.level != level) continue;
      const std::string value = output.value(writer_, Place());
      StoreIf(owns_, output, output.linear(writer_, Place()), value);
    }
  }

  void StoreRows(int level) {
    const std::string leads = lanes_ == 1 ? owns_ : owns_.empty() ? "part == 0u" : "part == 0u && " + owns_;
    for (const RowOutput& output : program_.outputs) {
      if (output.per_element || std::max(output.level, 1) != level) continue;
      const std::string value = output.value(writer_, Place());
      StoreIf(leads, output, Place().row, value);
    }
  }

  void StoreIf(const std::string& condition, const RowOutput& output, const IndexExpression& at,
               const std::string& value) {
    const int k = unit_.kernel.AddBuffer(output.type, Access::kWrite, output.slice);
    if (!condition.empty()) writer_.OpenBlock("if ({})", condition);
    writer_.StoreGroup(k, at, {&value, 1});
    if (!condition.empty()) writer_.CloseBlock();
  }
  std::string owns_;  // the condition that a row is a lane's own; empty: each is
};

}  // namespace

Code WriteLoopRows(const RowProgram& program, const LoopRowsShape& shape, const LoopUnit& unit) {
  return LoopRowsWriter(program, shape, unit).Write();
}

}  // namespace VXLA_NAMESPACE::vulkan
