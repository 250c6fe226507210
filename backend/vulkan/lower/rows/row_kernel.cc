// The generated part of reduce/rows.comp.
#include <fmt/format.h>

#include <algorithm>

#include "backend/vulkan/codegen/hook.h"
#include "backend/vulkan/codegen/scalar_computation.h"
#include "backend/vulkan/lower/rows/row_program.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

constexpr int64_t kStepsAtOnce = 8;  // 4 to 32 KiB in flight on a SIMD, by the width of a load

// The units and steps of a kernel, what its functions know, and what they store.
class RowKernelParts {
 protected:
  RowKernelParts(const LowerContext& context, const RowProgram& program, const RowKernel& kernel)
      : context_(context),
        program_(program),
        shape_(kernel.shape),
        partial_(kernel.partial),
        carried_(kernel.carried),
        kernel_(context.facts) {}

  int slots() const { return shape_.along_rows ? static_cast<int>(shape_.width) : 1; }
  int width() const { return static_cast<int>(shape_.width); }
  int64_t units() const { return shape_.along_rows ? program_.rows / shape_.width : program_.rows; }
  int64_t steps() const { return shape_.along_rows ? program_.row_size : program_.row_size / shape_.width; }

  // A writer for one function over (unit, step) with everything published that is known at `level`.
  enum Parameter { kUnit, kStep, kShare };
  struct Function : Hook {
    Function(RowKernelParts& of, int level);
  };
  RowPlace PlaceOf(const Function& function, int slot) const { return PlaceOf(function, kStep, slot); }
  RowPlace PlaceOf(const Function& function, int step, int slot) const;
  void Publish(Function& function, int level);

  std::vector<const RowReduce*> ReducesOf(int pass) const;
  static std::string ResultName(size_t reduce, size_t leaf, int slot) {
    return fmt::format("result{}_{}_{}", reduce, leaf, slot);
  }
  // What an accumulator starts as where elements are taken in order; `reduce` within the pass.
  static std::string StartName(int pass, size_t reduce, size_t leaf, int slot) {
    return fmt::format("start{}_{}_{}_{}", pass, reduce, leaf, slot);
  }
  static std::string ValueName(size_t value, int slot) { return fmt::format("row_value{}_{}", value, slot); }

  void WriteGlobals();
  void ComputeValues(Function& function, int level);
  void ComputeStarts(Function& function, int pass);
  void StoreElements(Function& function, int level) { StoreElements(function, kStep, level); }
  void StoreElements(Function& function, int step, int level);
  void StoreRows(Function& function, int level);

  const LowerContext& context_;
  const RowProgram& program_;
  const RowShape& shape_;
  const std::vector<BufferSlice>&partial_, &carried_;
  KernelBuilder kernel_;
};

RowKernelParts::Function::Function(RowKernelParts& of, int level)
    : Hook(of.kernel_, *of.program_.body, *of.program_.buffers,
           {{"unit", of.units()}, {"step", of.steps()}, {"share", of.shape_.splits}}) {
  if (of.width() > 1) writer.Vectorize(of.shape_.along_rows ? kUnit : kStep, of.width());
  of.Publish(*this, level);
}

RowPlace RowKernelParts::PlaceOf(const Function& function, int step, int slot) const {
  RowPlace place{function.at(kUnit), function.space.Variable(step)};
  IndexExpression& along = shape_.along_rows ? place.row : place.element;
  along = function.space.Add(function.space.Scale(along, width()), {{}, slot});
  return place;
}

void RowKernelParts::Publish(Function& function, int level) {
  for (int slot = 0; slot < slots(); ++slot) {
    const RowPlace place = PlaceOf(function, slot);
    for (size_t i = 0; i < program_.reduces.size(); ++i) {
      const RowReduce& reduce = program_.reduces[i];
      if (reduce.pass > level) continue;
      std::vector<std::string> names;
      for (size_t leaf = 0; leaf < reduce.types.size(); ++leaf) names.push_back(ResultName(i, leaf, slot));
      reduce.publish(function.writer, place, names);
    }
    for (size_t v = 0; v < program_.values.size(); ++v) {
      if (program_.values[v].level <= level) program_.values[v].publish(function.writer, place, ValueName(v, slot));
    }
  }
}

std::vector<const RowReduce*> RowKernelParts::ReducesOf(int pass) const {
  std::vector<const RowReduce*> reduces;
  for (const size_t i : program_.ReducesOf(pass)) reduces.push_back(&program_.reduces[i]);
  return reduces;
}

void RowKernelParts::WriteGlobals() {
  for (int slot = 0; slot < slots(); ++slot) {
    for (size_t i = 0; i < program_.reduces.size(); ++i) {
      for (size_t leaf = 0; leaf < program_.reduces[i].result_types.size(); ++leaf) {
        kernel_.Append("{} {};\n", CarrierType(program_.reduces[i].result_types[leaf]), ResultName(i, leaf, slot));
      }
    }
    for (size_t v = 0; v < program_.values.size(); ++v) {
      kernel_.Append("{} {};\n", CarrierType(program_.values[v].type), ValueName(v, slot));
    }
    for (int pass = 1; program_.in_order() && pass <= program_.passes(); ++pass) {
      const auto reduces = ReducesOf(pass);
      for (size_t i = 0; i < reduces.size(); ++i) {
        for (size_t leaf = 0; leaf < reduces[i]->types.size(); ++leaf) {
          kernel_.Append("{} {};\n", CarrierType(reduces[i]->types[leaf]), StartName(pass, i, leaf, slot));
        }
      }
    }
  }
}

// Statements that compute the row values of `level` and put them into their globals.
void RowKernelParts::ComputeValues(Function& function, int level) {
  for (int slot = 0; slot < slots(); ++slot) {
    const RowPlace place = PlaceOf(function, slot);
    for (size_t v = 0; v < program_.values.size(); ++v) {
      const RowValue& value = program_.values[v];
      if (value.level != level) continue;
      function.writer.Line("{} = {};", ValueName(v, slot), value.value(function.writer, place));
      value.publish(function.writer, place, ValueName(v, slot));
    }
  }
}

// What accumulators of a pass start as, where elements are taken in order.
void RowKernelParts::ComputeStarts(Function& function, int pass) {
  if (!program_.in_order()) return;
  const auto reduces = ReducesOf(pass);
  for (int slot = 0; slot < slots(); ++slot) {
    size_t next = 0;
    for (size_t i = 0; i < reduces.size(); ++i) {
      std::vector<std::string> values;
      if (carried_.empty()) values = reduces[i]->init(function.writer);
      for (size_t leaf = 0; leaf < reduces[i]->types.size(); ++leaf) {
        if (!carried_.empty()) {
          const int k = kernel_.AddBuffer(reduces[i]->types[leaf], Access::kRead, carried_.at(next++));
          values.push_back(function.writer.Load(k, PlaceOf(function, slot).row));
        }
        function.writer.Line("{} = {};", StartName(pass, i, leaf, slot), values[leaf]);
      }
    }
  }
}

void RowKernelParts::StoreElements(Function& function, int step, int level) {
  if (!partial_.empty() && level > 0) return;
  for (const RowOutput& output : program_.outputs) {
    if (!output.per_element || output.level != level) continue;
    std::vector<std::string> values;
    std::vector<IndexExpression> places;
    for (int j = 0; j < width(); ++j) {
      const RowPlace place = PlaceOf(function, step, j);
      values.push_back(output.value(function.writer, place));
      places.push_back(output.linear(function.writer, place));
    }
    const int k = kernel_.AddBuffer(output.type, Access::kWrite, output.slice);
    function.writer.StoreAt(k, places, values);
  }
}

void RowKernelParts::StoreRows(Function& function, int level) {
  bool any = false;
  for (const RowOutput& output : program_.outputs) {
    if (output.per_element || std::max(output.level, 1) != level) continue;
    if (!any) function.writer.OpenBlock("if (leader)");
    any = true;
    std::vector<std::string> values;
    for (int s = 0; s < slots(); ++s) values.push_back(output.value(function.writer, PlaceOf(function, s)));
    const int k = kernel_.AddBuffer(output.type, Access::kWrite, output.slice);
    function.writer.StoreGroup(k, PlaceOf(function, 0).row, values);
  }
  if (any) function.writer.CloseBlock();
}

// What a pass makes of elements, and of its lanes' accumulators.
class RowAccumulators : protected RowKernelParts {
 protected:
  using RowKernelParts::RowKernelParts;

  uint32_t units_per_group() const { return std::max(shape_.rows_per_group / program_.turns, shape_.interleaved); }
  uint32_t invocations() const { return shape_.lanes * units_per_group(); }
  int JoinKind() const;
  void WriteAccumulator(int pass);
  void CombineElement(Function& function, int pass, const RowPlace& place, int slot,
                      const std::string& accumulators) const;
  void WriteAccumulate(int pass);
  void WriteFinish(int pass);
  void WritePartial(int pass);

 private:
  static std::string Member(size_t reduce, size_t leaf) { return fmt::format("m{}_{}", reduce, leaf); }
  void WriteSlots(int pass);
};

int RowAccumulators::JoinKind() const {
  if (shape_.lanes == 1) return 0;
  const DeviceFacts& facts = context_.facts;
  const bool shuffles = facts.subgroup_shuffle && invocations() % facts.subgroup_size == 0 &&
                        std::ranges::all_of(program_.reduces, [](const RowReduce& reduce) {
                          return std::ranges::all_of(reduce.types, ShuffleTakes);
                        });
  if (!shuffles) return 3;
  return shape_.lanes <= facts.subgroup_size ? 1 : 2;
}

// struct Acc_p and what is done with whole accumulators.
void RowAccumulators::WriteAccumulator(int pass) {
  const auto reduces = ReducesOf(pass);
  std::string members, reset, merge, join, shuffle;
  for (size_t i = 0; i < reduces.size(); ++i) {
    const RowReduce& reduce = *reduces[i];
    const bool knows = reduce.holds_flag();
    std::vector<std::string> a, b;
    for (size_t leaf = 0; leaf < reduce.types.size(); ++leaf) {
      const std::string name = Member(i, leaf);
      members += fmt::format("  {} {};\n", CarrierType(reduce.types[leaf]), name);
      reset += fmt::format("  a.{} = {};\n", name,
                           reduce.identity.empty() ? ZeroText(reduce.types[leaf]) : reduce.identity[leaf]);
      a.push_back("a." + name);
      b.push_back("b." + name);
      shuffle += fmt::format("  b.{0} = subgroupShuffleXor(a.{0}, mask);\n", name);
    }
    const std::string combine = fmt::format("combine{}_{}", pass, i);
    kernel_.Append(reduce.combine(combine));
    if (reduce.take) kernel_.Append(reduce.take(fmt::format("take{}_{}", pass, i)));
    if (knows) {
      members += fmt::format("  bool holds{};\n", i);
      reset += fmt::format("  a.holds{} = false;\n", i);
      merge +=
          fmt::format("  if (b.holds{}) {{\n    {}\n  }}\n", i, JoinText(combine, a, b, fmt::format("a.holds{}", i)));
      shuffle += fmt::format("  b.holds{0} = subgroupShuffleXor(a.holds{0}, mask);\n", i);
    } else {
      merge += "  " + JoinText(combine, a, b) + "\n";
    }
  }
  const std::string p = std::to_string(pass), acc = "Acc_" + p;
  kernel_.Append("struct {} {{\n{}}};\n", acc, members);
  kernel_.Append("void clear_{}(out {} a) {{\n{}}}\n", p, acc, reset);
  kernel_.Append("void add_{0}(inout {1} a, {1} b) {{\n{2}}}\n", p, acc, merge);
  kernel_.Append(
      "void join_{0}(inout {1} a, {1} b, bool swap) {{\n  if (swap) {{\n    {1} first = b;\n    add_{0}(first, a);\n"
      "    a = first;\n  }} else {{\n    add_{0}(a, b);\n  }}\n}}\n",
      p, acc);
  WriteSlots(pass);
  const int join_kind = JoinKind();
  if (join_kind == 1 || join_kind == 2) {
    kernel_.Append("{1} shuffle_{0}({1} a, uint mask) {{\n  {1} b;\n{2}  return b;\n}}\n", p, acc, shuffle);
  }
  if (join_kind >= 2) kernel_.Append("shared {} shared_{}[{}];\n", acc, p, int64_t{shape_.lanes} * shape_.interleaved);
}

// The same of all that a step has.
void RowAccumulators::WriteSlots(int pass) {
  const auto reduces = ReducesOf(pass);
  const std::string p = std::to_string(pass), acc = "Acc_" + p;
  std::string each_reset, each_merge;
  for (int j = 0; j < width(); ++j) {
    each_reset += fmt::format("  clear_{}(a[{}]);\n", p, j);
    for (size_t i = 0; i < reduces.size() && program_.in_order(); ++i) {
      for (size_t leaf = 0; leaf < reduces[i]->types.size(); ++leaf) {
        each_reset += fmt::format("  a[{}].{} = {};\n", j, Member(i, leaf), StartName(pass, i, leaf, j));
      }
    }
    each_merge += fmt::format("  add_{}(a[{}], b[{}]);\n", p, j, j);
  }
  kernel_.Append("void reset_{}(out {} a[WIDTH]) {{\n{}}}\n", p, acc, each_reset);
  kernel_.Append("void merge_{0}(inout {1} a[WIDTH], {1} b[WIDTH]) {{\n{2}}}\n", p, acc, each_merge);
  std::string fold;
  for (int m = 1; m < width() && slots() == 1; m *= 2) {
    for (int j = 0; j + m < width(); j += 2 * m) fold += fmt::format("  add_{}(a[{}], a[{}]);\n", p, j, j + m);
  }
  for (int s = 0; s < slots(); ++s) fold += fmt::format("  total[{0}] = a[{0}];\n", s);
  kernel_.Append("void fold_{0}({1} a[WIDTH], out {1} total[SLOTS]) {{\n{2}}}\n", p, acc, fold);
}

// Statements that combine the element at a place into accumulator `slot` of every reduce of a pass.
void RowAccumulators::CombineElement(Function& function, int pass, const RowPlace& place, int slot,
                                     const std::string& accumulators) const {
  const auto reduces = ReducesOf(pass);
  for (size_t i = 0; i < reduces.size(); ++i) {
    std::vector<std::string> values = reduces[i]->element(function.writer, place);
    if (!reduces[i]->elements_taken) values[0] = reduces[i]->Taken(values[0]);
    const std::string accumulator = fmt::format("{}[{}]", accumulators, slot);
    std::vector<std::string> a;
    for (size_t leaf = 0; leaf < values.size(); ++leaf) a.push_back(fmt::format("{}.{}", accumulator, Member(i, leaf)));
    const std::string function_name = fmt::format("{}{}_{}", reduces[i]->take ? "take" : "combine", pass, i);
    const std::string holds = reduces[i]->holds_flag() ? fmt::format("{}.holds{}", accumulator, i) : "";
    function.writer.Line(JoinText(function_name, a, values, holds));
  }
}

void RowAccumulators::WriteAccumulate(int pass) {
  Function function(*this, pass - 1);
  for (int j = 0; j < width(); ++j) CombineElement(function, pass, PlaceOf(function, j), j, "a");
  StoreElements(function, pass - 1);
  function.Define(fmt::format("void accumulate_{0}(inout Acc_{0} a[WIDTH], uint unit, uint step)", pass));
}

void RowAccumulators::WriteFinish(int pass) {
  Function function(*this, pass - 1);
  size_t i = 0;  // within the pass
  for (const size_t n : program_.ReducesOf(pass)) {
    const RowReduce& reduce = program_.reduces[n];
    for (int s = 0; s < slots(); ++s) {
      const std::string total = fmt::format("total[{}]", s);
      std::vector<std::string> sums;
      for (size_t leaf = 0; leaf < reduce.types.size(); ++leaf)
        sums.push_back(fmt::format("{}.{}", total, Member(i, leaf)));
      std::vector<std::string> results =
          reduce.Results(function.writer, fmt::format("combine{}_{}", pass, i), std::move(sums),
                         reduce.holds_flag() ? fmt::format("{}.holds{}", total, i) : "");
      for (size_t leaf = 0; leaf < results.size(); ++leaf) {
        const std::string name = ResultName(n, leaf, s);
        function.writer.Line("{} = {};", name, std::exchange(results[leaf], name));
      }
      reduce.publish(function.writer, PlaceOf(function, s), results);
    }
    ++i;
  }
  ComputeValues(function, pass);
  ComputeStarts(function, pass + 1);
  StoreRows(function, pass);
  function.Define(fmt::format("void finish_{0}(uint unit, uint share, bool leader, Acc_{0} total[SLOTS])", pass));
}

void RowAccumulators::WritePartial(int pass) {
  Function function(*this, 0);
  function.writer.OpenBlock("if (leader)");
  size_t next = 0, i = 0;
  for (const RowReduce* reduce : ReducesOf(pass)) {
    for (size_t leaf = 0; leaf < reduce->types.size(); ++leaf) {
      const int k = kernel_.AddBuffer(reduce->types[leaf], Access::kWrite, partial_.at(next++));
      std::vector<std::string> values;
      for (int s = 0; s < slots(); ++s) values.push_back(fmt::format("total[{}].{}", s, Member(i, leaf)));
      IndexSpace& space = function.space;
      const IndexExpression row = PlaceOf(function, 0).row, share = function.at(kShare);
      function.writer.StoreGroup(k,
                                 shape_.along_rows ? space.Add(space.Scale(share, program_.rows), row)
                                                   : space.Add(space.Scale(row, shape_.splits), share),
                                 values);
    }
    ++i;
  }
  function.writer.CloseBlock();
  function.Define(fmt::format("void finish_{0}(uint unit, uint share, bool leader, Acc_{0} total[SLOTS])", pass));
}

class RowKernelWriter : RowAccumulators {
 public:
  RowKernelWriter(const LowerContext& context, const RowProgram& program, const RowKernel& kernel)
      : RowAccumulators(context, program, kernel), first_step_(kernel.first_step) {}

  Step Write();

 private:
  int64_t steps_per_lane() const { return CeilDivide(std::min(steps(), shape_.chunk), shape_.lanes); }
  // About the square root of the steps makes both chains of additions equally short, which keeps their rounding errors
  // small.
  int64_t block() const {
    int64_t block = 8;
    while (block * block < steps_per_lane() && block < 256) block *= 2;
    return block;
  }
  bool in_blocks() const { return (steps_per_lane() > block() && !program_.in_order()) || shape_.alike; }
  bool NeedsElements() const { return partial_.empty() && program_.stores_elements(); }

  void WriteLiveEnds();
  void WritePrepare();
  void WriteShape(int64_t groups);
  void WritePasses();
  StepAccumulation Accumulation() const;
  void WriteElements();
  void WriteHeld();
  void HoldProduct(Function& function, int step, const std::string& name) const;
  int64_t UnrolledTurns() const;
  bool LoadsAhead(int64_t steps_per_lane) const;

  const int64_t first_step_;
};

// Where the units and the steps end that there is something to do for.
void RowKernelWriter::WriteLiveEnds() {
  LiveCount units = program_.live_rows, steps = program_.live_elements;
  if (units.size != nullptr) {
    units.width = slots();
    AppendLiveCount(kernel_, *program_.body, *program_.buffers, units, "live_units");
    kernel_.Append("#define LIVE_UNITS live_units()\n");
  }
  if (steps.size != nullptr && shape_.held == 0 && UnrolledTurns() == 0) {
    steps.width = shape_.along_rows ? 1 : width();
    AppendLiveCount(kernel_, *program_.body, *program_.buffers, steps, "live_steps");
    kernel_.Append("#define LIVE_STEPS live_steps()\n");
  }
}

void RowKernelWriter::WritePrepare() {
  Function function(*this, -1);
  ComputeValues(function, 0);
  ComputeStarts(function, 1);
  function.Define("void prepare(uint unit)");
}

// The product's values at a step: four columns, which lie in shared memory.
void RowKernelWriter::HoldProduct(Function& function, int step, const std::string& name) const {
  const auto dimensions = program_.product->shape().dimensions();
  function.writer.Line("vec4 product_{0} = product_at({0});", name);
  for (int j = 0; j < width(); ++j) {
    const RowPlace place = PlaceOf(function, step, j);
    const IndexExpression linear =
        function.space.Add(function.space.Scale(place.row, program_.row_size), place.element);
    function.writer.Override(*program_.product, function.space.Delinearize(linear, dimensions), ElementType::kF32,
                             fmt::format("product_{}.{}", name, "xyzw"[j]));
  }
}

// All passes in one function: its locals hold what the passes share.
void RowKernelWriter::WriteHeld() {
  Function function(*this, 0);
  std::vector<int> steps_of_lane;
  for (uint32_t n = 0; n < shape_.held; ++n) {
    const std::string name = fmt::format("step_{}", n);
    function.writer.Line("uint {} = lane + {}u * LANES;", name, n);
    const int step = function.writer.NewVariable(name, steps(), width());
    if (program_.product != nullptr) HoldProduct(function, step, name);
    steps_of_lane.push_back(step);
  }
  for (int pass = 1; pass <= program_.passes(); ++pass) {
    const std::string running = fmt::format("running_{}", pass);
    function.writer.Line("Acc_{0} {1}[WIDTH];", pass, running);
    function.writer.Line("reset_{0}({1});", pass, running);
    for (int step : steps_of_lane) {
      for (int j = 0; j < width(); ++j) CombineElement(function, pass, PlaceOf(function, step, j), j, running);
      StoreElements(function, step, pass - 1);
    }
    function.writer.Line("{");
    function.writer.Line("  Acc_{0} total[SLOTS];", pass);
    function.writer.Line("  fold_{0}({1}, total);", pass, running);
    function.writer.Line("  JOIN_LANES({0})", pass);
    function.writer.Line("  finish_{0}(unit, 0u, lane == 0u, total);", pass);
    function.writer.Line("}");
    Publish(function, pass);
  }
  for (int step : steps_of_lane) StoreElements(function, step, program_.passes());
  function.Define("void held(uint unit, uint lane)");
}

void RowKernelWriter::WriteElements() {
  Function function(*this, program_.passes());
  StoreElements(function, program_.passes());
  function.Define("void elements(uint unit, uint step)");
}

// On lavapipe a loop step costs a third of a load of eight elements, so long plain sums have theirs written out. That
// takes every lane to have the same few turns, and 0.2 s of compilation.
int64_t RowKernelWriter::UnrolledTurns() const {
  const int64_t elements = program_.rows * program_.row_size, turns = shape_.chunk / shape_.lanes;
  const bool exact = steps() % shape_.chunk == 0 && shape_.chunk % shape_.lanes == 0;
  const bool plain = program_.passes() == 1 && program_.flop <= 2 * elements && !NeedsElements();
  if (shape_.interleaved > 1) return turns;
  if (shape_.ordered) return 0;
  if (ComputesInPairs(context_, *program_.body)) return 0;
  return context_.facts.costs.subgroups_in_turn && exact && plain && turns <= 32 && elements >= (1 << 22) ? turns : 0;
}

// Into registers, of reductions that do little else than load.
bool RowKernelWriter::LoadsAhead(int64_t steps_per_lane) const {
  const bool plain = program_.flop <= 4 * program_.rows * program_.row_size;
  return !context_.facts.costs.subgroups_in_turn && plain && (steps_per_lane >= kStepsAtOnce || shape_.alike) &&
         !ComputesInPairs(context_, *program_.body);
}

// What rows.comp is told.
void RowKernelWriter::WriteShape(int64_t groups) {
  kernel_.Params({{"GROUP_COUNT", groups},
                  {"UNIT_COUNT", units()},
                  {"STEP_COUNT", steps()},
                  {"SHARE_STEPS", shape_.chunk},
                  {"SHARES", shape_.splits}});
  if (program_.in_order()) kernel_.Params({{"FIRST_STEP", first_step_}});
  const int passes = program_.passes();
  std::string list;
  for (int p = 1; p <= passes; ++p) list += fmt::format(" X({})", p);
  kernel_.Append(
      "#define WIDTH {}\n#define SLOTS {}\n#define JOIN_LANES(p) JOIN_LANES_{}(p)\n#define HELD {}\n"
      "#define BLOCKED {}\n#define SPLIT {}\n#define ORDERED {}\n#define IN_ORDER {}\n#define EACH_SLOT {}\n",
      width(), slots(), JoinKind(), shape_.held, in_blocks() ? 1 : 0, shape_.splits > 1 ? 1 : 0, shape_.ordered ? 1 : 0,
      program_.in_order() ? 1 : 0, slots() == 1 ? "const uint s = 0u;" : "for (uint s = 0u; s < SLOTS; ++s)");
  kernel_.Append("#define SURPLUS_GROUPS {}\n#define SURPLUS_UNITS {}\n",
                 HasSurplusGroups(context_.facts, groups) ? 1 : 0,
                 units() / program_.batches % shape_.rows_per_group != 0 ? 1 : 0);
  // A division by a variable is slow everywhere, and on lavapipe as slow as hundreds of additions.
  kernel_.Append("#define UNIT_GROUP(g) {}\n",
                 units() == 1 ? "0u" : kernel_.Divide("(g)", shape_.splits / shape_.interleaved));
  kernel_.Append("#define LAST_SHARED {}\n", NeedsElements() ? passes + 1 : passes);
  if (UnrolledTurns() > 0) {
    kernel_.Append("#define TURNS {}u\n#define EACH_TURN {}\n", UnrolledTurns(),
                   program_.flop <= 2 * program_.rows * program_.row_size ? "[[unroll]]" : "");
  }
  if (LoadsAhead(steps_per_lane())) kernel_.Append("#define STEPS_AT_ONCE {}u\n", kStepsAtOnce);
  kernel_.Append("#define INTERLEAVED {}\n", shape_.interleaved);
  kernel_.Append("#define PASSES(X){}\n#define STORES_ELEMENTS {}\n", list, NeedsElements() ? 1 : 0);
}

// What it calls.
void RowKernelWriter::WritePasses() {
  WriteLiveEnds();
  WriteGlobals();
  if (program_.product != nullptr) program_.write_product(kernel_);
  WritePrepare();
  for (int p = 1; p <= program_.passes(); ++p) {
    WriteAccumulator(p);
    if (shape_.held == 0) WriteAccumulate(p);
    partial_.empty() ? WriteFinish(p) : WritePartial(p);
  }
  if (shape_.held > 0) {
    WriteHeld();
  } else if (NeedsElements()) {
    WriteElements();
  }
}

StepAccumulation RowKernelWriter::Accumulation() const {
  StepAccumulation accumulation;
  for (const RowReduce& reduce : program_.reduces) {
    if (reduce.source != nullptr) accumulation.of.push_back(PathOf(*reduce.source));
  }
  accumulation.level = {shape_.along_rows ? 1 : int64_t{shape_.width},
                        shape_.lanes,
                        shape_.held == 0 && UnrolledTurns() == 0 && in_blocks() ? block() : 0,
                        shape_.splits,
                        shape_.chunk,
                        shape_.interleaved,
                        shape_.ordered};
  return accumulation;
}

Step RowKernelWriter::Write() {
  const int64_t groups = program_.batches * CeilDivide(units() / program_.batches, shape_.rows_per_group) *
                         (shape_.splits / shape_.interleaved);
  WriteShape(groups);
  WritePasses();
  const bool by_subgroup = JoinKind() == 1 || JoinKind() == 2;
  // Lavapipe fills its vectors along x alone.
  const bool along_x = shape_.lanes == 1 && shape_.interleaved == 1;
  kernel_.Append("#define BY_SUBGROUP {}\n#define UNITS_ALONG_X {}\n", by_subgroup ? 1 : 0, along_x ? 1 : 0);
  const uint32_t x = by_subgroup || along_x ? invocations() : shape_.lanes;
  const char* const algorithm = program_.product != nullptr ? "reduce/product_rows.comp" : "reduce/rows.comp";
  Step step = kernel_.Finish(program_.name, algorithm,
                             {x, invocations() / x, 1, static_cast<uint32_t>(block()), shape_.lanes, units_per_group()},
                             groups);
  step.flop = program_.flop;
  step.accumulations = program_.joins;
  step.accumulations.push_back(Accumulation());
  return step;
}

}  // namespace

int RowProgram::passes() const {
  int most = 0;
  for (const RowReduce& reduce : reduces) most = std::max(most, reduce.pass);
  return most;
}

std::vector<size_t> RowProgram::ReducesOf(int pass) const {
  std::vector<size_t> numbers;
  for (size_t i = 0; i < reduces.size(); ++i) {
    if (reduces[i].pass == pass) numbers.push_back(i);
  }
  return numbers;
}

bool RowProgram::stores_elements() const {
  return std::ranges::any_of(outputs,
                             [&](const RowOutput& output) { return output.per_element && output.level >= passes(); });
}

void RowProgram::ComputeValues(ValueWriter& writer, const RowPlace& place, int level) const {
  for (const RowValue& value : values) {
    if (value.level == level) value.publish(writer, place, writer.Assignable(value.type, value.value(writer, place)));
  }
}

Step WriteRowKernel(const LowerContext& context, const RowProgram& program, const RowKernel& kernel) {
  return RowKernelWriter(context, program, kernel).Write();
}

}  // namespace VXLA_NAMESPACE::vulkan
