#include "backend/vulkan/lower/whiles/units/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "backend/vulkan/codegen/scalar_computation.h"
#include "backend/vulkan/lower/rows/reducer.h"
#include "backend/vulkan/lower/whiles/units/dot.h"
#include "core/ceil_divide.h"
#include "core/passes/base/fusion_rules.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// A lane that walks far adds up its elements in runs, and the runs: the rounding errors of a sum of n are then those of
// about 2 sqrt(n), as where more lanes share a row.
constexpr int64_t kLeastTurnsInRuns = 32;
int64_t TurnsOfARun(int64_t turns) { return int64_t{1} << (std::bit_width(static_cast<uint64_t>(turns)) / 2); }

// Of workgroups that meet: neighbours that lanes of one take side by side.
constexpr int64_t kLeastNeighbours = 32;
// So many at a time, that all of them get something to do: a power of two.
int64_t NeighboursOfAGroup(int64_t count, int64_t most, int64_t groups, int64_t least) {
  const auto share = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(CeilDivide(count, groups))));
  return std::clamp(share, std::min(least, most), most);
}

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
        workgroup_(unit.lanes),
        share_(unit.share),
        subgroup_(unit.subgroup),
        kernel_(unit.kernel),
        shared_(unit.shared),
        row_(space_.AddVariable(program.rows)),
        step_(space_.AddVariable(std::max<int64_t>(program.row_size, 1))),
        writer_(kernel_, *program.body, *program.buffers, space_) {
    writer_.Bind(row_, "row");
    writer_.Bind(step_, "step");
    for (const auto& [operand, name] : unit.held) writer_.Hold(*operand, name);
  }
  RowPlace Place() { return {space_.Variable(row_), space_.Variable(step_)}; }
  std::string Member(size_t reduce, size_t leaf) const { return fmt::format("sum_{}_{}", reduce, leaf); }
  static std::string Holds(size_t reduce) { return fmt::format("holds_{}", reduce); }

  // The row's values that elements read, computed once.
  void Values(int level) {
    for (size_t v = 0; v < program_.values.size(); ++v) {
      const RowValue& value = program_.values[v];
      if (value.level != level) continue;
      const std::string name = writer_.Assignable(value.type, value.value(writer_, Place()));
      value.publish(writer_, Place(), name);
    }
  }

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

  // A statement that combines values, which hold something, into what `into` names.
  std::string Combine(size_t i, const std::vector<std::string>& into, const std::vector<std::string>& values) const {
    return fmt::format("{}({}, {});", combine_[i], fmt::join(into, ", "), fmt::join(values, ", "));
  }

  void TakeElement(size_t i, const std::vector<std::string>& into, std::vector<std::string> values) {
    const RowReduce& reduce = program_.reduces[i];
    if (!reduce.elements_taken) values[0] = reduce.Taken(values[0]);
    if (reduce.take) return writer_.Line(fmt::format("{}({}, {});", take_[i], into[0], values[0]));
    TakeValues(i, into, values, "true");
  }

  // Where a combination has no identity, the first value is taken as it is.
  void TakeValues(size_t i, const std::vector<std::string>& into, const std::vector<std::string>& values,
                  const std::string& there) {
    const std::string combine = Combine(i, into, values);
    if (!program_.reduces[i].holds_flag()) return writer_.Line(combine);
    std::string copy;
    for (size_t leaf = 0; leaf < into.size(); ++leaf) copy += fmt::format("{} = {}; ", into[leaf], values[leaf]);
    if (there != "true") writer_.OpenBlock(fmt::format("if ({})", there));
    writer_.Line(fmt::format("if ({0}) {{ {1} }} else {{ {2}{0} = true; }}", Holds(i), combine, copy));
    if (there != "true") writer_.CloseBlock();
  }

  // A shared array, one element a lane.
  std::string Shared(std::string_view type, size_t slot) {
    const std::string name = fmt::format("shared_{}_{}", type, slot);
    if (shared_.insert(name).second) kernel_.Append(fmt::format("shared {} {}[{}];\n", type, name, workgroup_));
    return name;
  }

  // Each lane joins what it has with what another one has, twice as far away at each turn: all know the whole then,
  // and none waits. Written out, as distances that are constants need no instruction of their own, and as Mesa
  // optimises the whole kernel again for each of these loops (a transformer's decoding, RADV 25.0.7: 128 ms, 75 so).
  // But where several values go together, joining them is long text (its choice of a token: a sixth of the kernel).
  void JoinByShuffles(size_t i) {
    const RowReduce& reduce = program_.reduces[i];
    const bool knows = reduce.holds_flag();
    writer_.OpenBlock(fmt::format("[[{}]] for (uint m = 1u; m < {}u; m *= 2u)",
                                  reduce.types.size() == 1 ? "unroll" : "dont_unroll", lanes_));
    std::vector<std::string> own = Members(i), others;
    writer_.kernel().NoteShuffles();
    for (size_t leaf = 0; leaf < own.size(); ++leaf)
      others.push_back(writer_.Assignable(reduce.types[leaf], fmt::format("subgroupShuffleXor({}, m)", own[leaf])));
    if (knows) writer_.Line(fmt::format("bool other_holds = subgroupShuffleXor({}, m);", Holds(i)));
    if (ordered_) {
      writer_.OpenBlock("if ((part & m) != 0u)");
      const auto swap = [&](std::string_view type, const std::string& a, const std::string& b) {
        writer_.Line(fmt::format("{{ {0} kept = {1}; {1} = {2}; {2} = kept; }}", type, a, b));
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
    if (lanes_ <= subgroup_ && std::ranges::all_of(reduce.types, ShuffleTakes)) return JoinByShuffles(i);
    const bool knows = reduce.holds_flag();
    std::vector<std::string> arrays, others;
    for (size_t leaf = 0; leaf < reduce.types.size(); ++leaf)
      arrays.push_back(Shared(CarrierType(reduce.types[leaf]), leaf));
    const std::string flags = knows ? Shared("uint", reduce.types.size()) : "";
    writer_.Barrier();
    auto publish = [&] {
      for (size_t leaf = 0; leaf < arrays.size(); ++leaf)
        writer_.Line(fmt::format("{}[lane] = {};", arrays[leaf], Member(i, leaf)));
      if (knows) writer_.Line(fmt::format("{}[lane] = {} ? 1u : 0u;", flags, Holds(i)));
    };
    publish();
    writer_.Barrier();
    writer_.OpenBlock(fmt::format("for (uint m = 1u; m < {}u; m *= 2u)", lanes_));
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
      writer_.Line(fmt::format("{} = {}[lane - part];", Member(i, leaf), arrays[leaf]));
    if (knows) writer_.Line(fmt::format("{} = {}[lane - part] != 0u;", Holds(i), flags));
  }

  void Finish(size_t i) {
    const RowReduce& reduce = program_.reduces[i];
    reduce.publish(writer_, Place(),
                   reduce.Finish(writer_, combine_[i], Members(i), reduce.holds_flag() ? Holds(i) : ""));
  }

  const RowProgram& program_;
  const uint32_t lanes_;
  const bool ordered_;
  const uint32_t workgroup_;
  const LoopShare share_;
  const uint32_t subgroup_;
  std::vector<std::string> combine_, take_;  // functions, by reduce
  KernelBuilder& kernel_;
  std::set<std::string>& shared_;
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
      combine_.push_back(kernel_.Function("join", reduce.combine));
      take_.push_back(reduce.take ? kernel_.Function("take", reduce.take) : "");
    }
    OpenRows();
    writer_.Line(fmt::format("uint part = lane % {}u;", lanes_));
    Values(0);
    const int passes = program_.passes();
    for (int pass = 1; pass <= passes; ++pass) WritePass(pass);
    const bool elements = std::ranges::any_of(
        program_.outputs, [&](const RowOutput& output) { return output.per_element && output.level >= passes; });
    if (elements) {
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
    const int64_t at_once = workgroup_ / lanes_;
    if (share_.meets) {
      const int64_t rows = program_.rows, each = NeighboursOfAGroup(rows, at_once, share_.groups, 1);
      writer_.OpenBlock(
          fmt::format("for (uint first = grid_group * {0}u; first < {1}u; first += grid_groups * {0}u)", each, rows));
      const std::string own = each == at_once ? fmt::format("first + lane / {}u", lanes_)
                                              : fmt::format("first + min(lane / {}u, {}u)", lanes_, each - 1);
      writer_.Line(rows % each == 0 ? fmt::format("uint row = {};", own)
                                    : fmt::format("uint row = min({}, {}u);", own, rows - 1));
      if (each != at_once) owns_ = fmt::format("lane < {}u", each * lanes_);
      if (rows % each != 0)
        owns_ += fmt::format("{}first + lane / {}u < {}u", owns_.empty() ? "" : " && ", lanes_, rows);
      return;
    }
    const int64_t rows = program_.rows / share_.groups;
    writer_.OpenBlock(rows > at_once ? fmt::format("for (uint first = 0u; first < {}u; first += {}u)", rows, at_once)
                                     : "");
    const std::string own_row = fmt::format("lane / {}u{}", lanes_, rows > at_once ? " + first" : "");
    const bool whole = rows % at_once == 0;
    const std::string base = OwnBase(program_.rows, share_.groups);
    writer_.Line(whole ? fmt::format("uint row = {}{};", base, own_row)
                       : fmt::format("uint row = {}min({}, {}u);", base, own_row, rows - 1));
    owns_ = whole ? "" : fmt::format("{} < {}u", own_row, rows);
  }

  // Lanes take turns, or neighbouring steps where the order of the elements counts.
  void OpenSteps(int64_t together = 1) {
    if (ordered_) {
      const int64_t each = CeilDivide(program_.row_size, lanes_);
      return writer_.OpenBlock(fmt::format(
          "for (uint step = part * {0}u; step < min(part * {0}u + {0}u, {1}u); ++step)", each, program_.row_size));
    }
    writer_.OpenBlock(
        fmt::format("for (uint step = part; step < {}u; step += {}u)", program_.row_size, lanes_ * together));
  }

  // How many elements a run has; 0: there are none.
  int64_t RunOf(int pass) const {
    const int64_t turns = CeilDivide(program_.row_size, lanes_);
    if (turns < kLeastTurnsInRuns) return 0;
    for (const RowReduce& reduce : program_.reduces) {
      if (reduce.pass != pass) continue;
      const bool rounds =
          std::ranges::any_of(reduce.types, [](ElementType type) { return IsFloating(type) || IsComplex(type); });
      if (reduce.identity.empty() || reduce.widens || !rounds) return 0;  // none of those in order
    }
    return TurnsOfARun(turns);
  }
  // How many turns of each run, or of the row, are taken at once.
  int64_t TurnsTogether(int pass, int64_t run) const {
    const bool stores = std::ranges::any_of(
        program_.outputs, [&](const RowOutput& output) { return output.per_element && output.level == pass - 1; });
    int64_t each = 0;
    for (const Instruction* instruction : program_.body->prologue) each += ElementCost(*instruction);
    bool plain = kernel_.keeps_loops() && !ordered_ && !stores && each <= kMostOfAnElement;
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
    std::vector<std::vector<std::vector<std::string>>> values;  // by turn and reduce
    for (int64_t turn = 0; turn < turns; ++turn) {
      const int step = space_.AddVariable(program_.row_size);
      const std::string name = fmt::format("step_{}", turn);
      writer_.Line(fmt::format("uint {} = step + {}u;", name, turn * lanes_));
      writer_.Bind(step, name);
      values.emplace_back();
      for (const RowReduce& reduce : program_.reduces) {
        const bool taken = reduce.pass == pass;
        values.back().push_back(taken ? reduce.element(writer_, {space_.Variable(row_), space_.Variable(step)})
                                      : std::vector<std::string>());
      }
    }
    for (const auto& of_turn : values) {
      for (size_t i = 0; i < program_.reduces.size(); ++i) {
        if (program_.reduces[i].pass == pass) TakeElement(i, in_run ? RunMembers(i) : Members(i), of_turn[i]);
      }
    }
  }

  void OpenRun(int pass, int64_t run, int64_t together) {
    const int64_t size = program_.row_size, length = run * lanes_;
    writer_.OpenBlock(fmt::format("for (uint run = part; run < {}u; run += {}u)", size, length));
    for (size_t i = 0; i < program_.reduces.size(); ++i) {
      const RowReduce& reduce = program_.reduces[i];
      for (size_t leaf = 0; reduce.pass == pass && leaf < reduce.types.size(); ++leaf)
        writer_.Line(
            fmt::format("{} {} = {};", CarrierType(reduce.types[leaf]), RunMembers(i)[leaf], reduce.identity[leaf]));
    }
    const std::string end = fmt::format("run + {}u", length);
    writer_.OpenBlock(fmt::format("for (uint step = run; step < {}; step += {}u)",
                                  size % length == 0 ? end : fmt::format("min({}, {}u)", end, size),
                                  lanes_ * together));
  }

  void CloseRun(int pass) {
    for (size_t i = 0; i < program_.reduces.size(); ++i) {
      if (program_.reduces[i].pass == pass) writer_.Line(Combine(i, Members(i), RunMembers(i)));
    }
    writer_.CloseBlock();
  }

  void WritePass(int pass) {
    for (size_t i = 0; i < program_.reduces.size(); ++i) {
      const RowReduce& reduce = program_.reduces[i];
      if (reduce.pass != pass) continue;
      std::vector<std::string> starts = reduce.identity;
      if (reduce.in_order) starts = reduce.init(writer_);
      for (size_t leaf = 0; leaf < reduce.types.size(); ++leaf) {
        writer_.Line(fmt::format("{} {} = {};", CarrierType(reduce.types[leaf]), Member(i, leaf),
                                 starts.empty() ? ZeroText(reduce.types[leaf]) : starts[leaf]));
      }
      if (reduce.holds_flag()) writer_.Line(fmt::format("bool {} = false;", Holds(i)));
    }
    const int64_t run = RunOf(pass);
    const int64_t together = TurnsTogether(pass, run);
    run > 0 ? OpenRun(pass, run, together) : OpenSteps(together);
    if (together > 1) {
      TakeTogether(pass, together, run > 0);
    } else {
      for (size_t i = 0; i < program_.reduces.size(); ++i) {
        if (program_.reduces[i].pass == pass) {
          TakeElement(i, run > 0 ? RunMembers(i) : Members(i), program_.reduces[i].element(writer_, Place()));
        }
      }
      StoreElements(pass - 1);
    }
    writer_.CloseBlock();
    if (run > 0) CloseRun(pass);
    for (size_t i = 0; i < program_.reduces.size(); ++i) {
      if (program_.reduces[i].pass == pass && lanes_ > 1) Join(i);
    }
    for (size_t i = 0; i < program_.reduces.size(); ++i) {
      if (program_.reduces[i].pass == pass) Finish(i);
    }
    Values(pass);
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
    const int k = kernel_.AddBuffer(output.type, Access::kWrite, output.slice);
    if (!condition.empty()) writer_.OpenBlock(fmt::format("if ({})", condition));
    writer_.StoreGroup(k, at, {&value, 1});
    if (!condition.empty()) writer_.CloseBlock();
  }
  std::string owns_;  // the condition that a row is a lane's own; empty: each is
};

}  // namespace

constexpr int64_t kMostUnrolled = 4;  // turns whose loads may go on together

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
  if (share.meets) {
    // An element is the same lane's in every phase that goes by as many elements.
    const int64_t each = NeighboursOfAGroup(count, lanes, groups, kLeastNeighbours);
    const std::string first = each == lanes ? fmt::format("grid_group * {}u + lane", each)
                                            : fmt::format("lane < {0}u ? grid_group * {0}u + lane : {1}u", each, count);
    return writer.OpenBlock(
        fmt::format("for (uint {0} = {1}; {0} < {2}u; {0} += grid_groups * {3}u)", name, first, count, each));
  }
  const std::string base = OwnBase(count, groups);
  if (count % groups != 0) {
    const std::string end = fmt::format("min({}{}u, {}u)", base, CeilDivide(count, groups), count);
    writer.OpenBlock(fmt::format("for (uint {0} = {1}lane; {0} < {2}; {0} += {3}u)", name, base, end, lanes));
    return;
  }
  count /= groups;
  if (count % lanes != 0) {
    writer.OpenBlock(fmt::format("for (uint {0} = {1}lane; {0} < {1}{2}u; {0} += {3}u)", name, base, count, lanes));
    return;
  }
  const int64_t turns = count / lanes;
  if (turns > kMostUnrolled) {
    // A driver would write all of them out. A GPU's keeps every turn's addresses then, from trip to trip, and registers
    // spill; of some twenty phases lavapipe compiles four times as long, and runs no faster.
    const bool some = turns % kMostUnrolled == 0 && writer.kernel().keeps_loops();
    const int64_t together = some ? kMostUnrolled : 1;
    const std::string inner = together == 1 ? "" : fmt::format(" for (uint step = 0u; step < {}u; ++step)", together);
    writer.OpenBlock(
        fmt::format("[[dont_unroll]] for (uint turns = 0u; turns < {}u; ++turns){}", turns / together, inner));
    writer.Line(fmt::format("uint turn = {};", together == 1 ? "turns" : fmt::format("turns * {}u + step", together)));
  } else {
    writer.OpenBlock(fmt::format("for (uint turn = 0u; turn < {}u; ++turn)", turns));
  }
  writer.Line(fmt::format("uint {} = {}turn * {}u + lane;", name, base, lanes));
}

void OpenElements(ValueWriter& writer, const std::string& name, int64_t count, int64_t lanes, LoopShare share) {
  const int64_t groups = share.groups;
  if (share.meets || CeilDivide(count, groups) > lanes) return OpenTurns(writer, name, count, lanes, share);
  writer.Line(fmt::format("uint {} = {}lane;", name, OwnBase(count, groups)));
  const std::string owns = OwnsElement(count, lanes, groups);
  writer.OpenBlock(owns.empty() ? "" : fmt::format("if ({})", owns));
}

LoopRowsShape ShapeOfLoopRows(const LowerContext& context, const FusionDescription& body, uint32_t workgroup_lanes,
                              LoopShare share) {
  int64_t rows = 1, row_size = 1, passes = 1, cost = 2;
  bool commutes = true, in_order = false;
  const bool dot = !body.rows && body.hero->opcode() == Opcode::kDot;
  std::unique_ptr<ProductReader> product;
  LoopRowsShape shape;
  const auto see = [&](const Instruction& reduce) {
    const Reducer reducer = ReadReducer(*reduce.called(0));
    commutes &= reducer.commutes;
    in_order |= reducer.in_order;
  };
  if (body.rows) {
    rows = body.rows->rows;
    row_size = body.rows->row_size;
    passes = body.phases + 1;
    for (const Instruction* reduce : body.heroes) see(*reduce);
    for (const Instruction* instruction : body.computed) cost += ElementCost(*instruction);
  } else if (body.hero->opcode() == Opcode::kReduceWindow) {
    rows = FlattenTuple(body.hero->shape())[0]->ElementCount();
    for (const WindowDimension& w : body.hero->attributes<WindowAttributes>().window) row_size *= w.size;
    see(*body.hero);
    for (const Instruction* instruction : body.computed) cost += ElementCost(*instruction);
  } else {
    product = dot ? ReadDot(body) : ReadConvolution(body);
    rows = product->results();
    row_size = product->work.k;
    cost = dot ? 1 : 4;
  }
  // Lanes that would have no row of their own share one, a few elements each at least.
  const int64_t of_a_group = CeilDivide(rows, share.groups);
  while (!in_order && 2 * shape.lanes * of_a_group <= workgroup_lanes && int64_t{8} * shape.lanes <= row_size)
    shape.lanes *= 2;
  rows = CeilDivide(rows, share.parts());
  shape.ordered = !commutes && shape.lanes > 1;
  shape.operations = rows * std::max<int64_t>(row_size, 1) * cost;
  if (const auto tile = dot ? TileLoopDot(context, *product, workgroup_lanes, share) : std::nullopt) {
    shape.iterations = IterationsOf(*tile, *product, workgroup_lanes, share.parts());
    return shape;
  }
  const int64_t turns = CeilDivide(rows, workgroup_lanes / shape.lanes), steps = CeilDivide(row_size, shape.lanes);
  // A run is an iteration of the loop over them, and the end of its own.
  const int64_t runs = steps < kLeastTurnsInRuns ? 0 : 2 * CeilDivide(steps, TurnsOfARun(steps)) + 1;
  shape.iterations = turns * (1 + passes * (steps + runs + 2 + std::bit_width(shape.lanes))) + 1;
  return shape;
}

Code WriteLoopRows(const RowProgram& program, const LoopRowsShape& shape, const LoopUnit& unit) {
  return LoopRowsWriter(program, shape, unit).Write();
}

}  // namespace VXLA_NAMESPACE::vulkan
