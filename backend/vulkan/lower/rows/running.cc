#include "backend/vulkan/lower/rows/running.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "backend/vulkan/codegen/hook.h"
#include "backend/vulkan/lower/rows/reducer.h"
#include "backend/vulkan/lower/tuning/tuning.h"
#include "core/ceil_divide.h"
#include "core/numerics/reducer_facts.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// A tile of rows: what its lanes read, fold and store, and what is carried from tile to tile.
class RunningTile {
 public:
  static constexpr std::string_view kTotal = "shared_totals[slot - lane + (LANES - 1u)]";
  RunningTile(const LowerContext& context, const FusionDescription& body, BufferMap& buffers)
      : context_(context),
        body_(body),
        buffers_(buffers),
        hero_(*body.hero),
        array_(hero_),
        reducer_(ReadReducer(hero_)),
        carries_wide_(!reducer_.widens && FactsOfReducer(*hero_.called(0)).adds_floats &&
                      reducer_.types[0] == ElementType::kF32) {
    carry_types_ = carries_wide_ ? std::vector{ElementType::kC64} : reducer_.types;
    shape_ = TuneRunning(context.facts, Work());
  }

  // Over units of rows, `o` of them.
  Hook Begin(KernelBuilder& kernel) const { return Hook(kernel, body_, buffers_, {{"o", array_.rows / columns()}}); }
  // An element of a tile: in column `column`, the `at`-th neighbour of group `group`.
  struct Place {
    int column, group, at;
    MultiIndex index;
    std::string acc;  // the reduction of the lane's elements up to it
  };

  int count() const { return hero_.operand_count() / 2; }
  int columns() const { return static_cast<int>(shape_.columns); }
  int width() const { return static_cast<int>(shape_.width); }
  int groups() const { return static_cast<int>(shape_.items / shape_.width); }
  bool shares() const { return shape_.lanes > 1; }
  int64_t group_count() const { return CeilDivide(array_.length, width()); }
  int64_t tile_groups() const { return int64_t{shape_.lanes} * groups(); }
  int64_t tiles() const { return CeilDivide(group_count(), tile_groups()); }
  // What is carried along is multiplied by one element after another, instead of by what a tile's come to.
  bool carries_through() const { return reducer_.take && !shares(); }
  bool ragged() const { return group_count() % tile_groups() != 0; }

  // 32-bit words of a value of these types; 0: it is not made of those.
  static int WordsOf(const std::vector<ElementType>& types) {
    int words = 0;
    for (const ElementType type : types) {
      if (HasWideCarrier(type)) return 0;
      words += type == ElementType::kC64 ? 2 : 1;
    }
    return words;
  }

  RunningWork Work() const {
    const int64_t inner = RowMajorStrides(array_.sizes)[static_cast<size_t>(array_.running.dimension)];
    RunningWork work{array_.rows, array_.length, inner};
    work.carry_words = WordsOf(carry_types_);
    work.in_pairs = ComputesInPairs(context_, body_);
    work.accumulator_bytes = 0;
    for (const ElementType type : reducer_.types) work.accumulator_bytes += std::max(StorageBytes(type), 4);
    for (const Instruction* i : body_.computed) work.values += IsElementwise(i->opcode()) ? 1 : 0;
    work.values += static_cast<int>(hero_.called(0)->instructions().size());
    return work;
  }

  static std::string Members(const std::vector<ElementType>& types) {
    std::string members;
    for (size_t i = 0; i < types.size(); ++i) members += fmt::format(" {} m{};", CarrierType(types[i]), i);
    return members;
  }
  std::vector<std::string> MembersOf(const std::string& name) const {
    std::vector<std::string> members;
    for (size_t i = 0; i < reducer_.types.size(); ++i) members.push_back(fmt::format("{}.m{}", name, i));
    return members;
  }

  void WriteTypes(KernelBuilder& kernel) const {
    kernel.Append("struct Acc {{{} }};\n", Members(reducer_.types));
    kernel.Append(reducer_.combine("combine"));
    if (reducer_.take) kernel.Append(reducer_.take("take") + reducer_.order("order"));
    const std::string first = array_.running.reverse ? "b" : "a", second = array_.running.reverse ? "a" : "b";
    kernel.Append("Acc running_join(Acc a, Acc b) {{\n  combine({}, {});\n  return {};\n}}\n",
                  fmt::join(MembersOf(first), ", "), fmt::join(MembersOf(second), ", "), first);
    if (carries_wide_) {
      kernel.Append(
          "struct Carry { vec2 m0; };\n"
          "Acc running_carried(Carry c, Acc x) {\n  precise float sum = c.m0.x + x.m0;\n  return Acc(sum);\n}\n"
          "Carry running_sum(Carry c, Carry x) { return Carry(add_wide_f32(c.m0, x.m0)); }\n"
          "Carry running_advanced(Carry c, Acc x) { return Carry(add_wide_f32(c.m0, vec2(x.m0, 0.0f))); }\n");
    } else {
      kernel.Append(
          "#define Carry Acc\n#define running_carried running_join\n#define running_sum running_join\n"
          "#define running_advanced running_join\n");
    }
  }

  MultiIndex IndexAt(Hook& f, int column, const IndexExpression& element) const {
    return array_.IndexAt(f.space, f.Nth(0, columns(), column), element);
  }

  IndexExpression TotalAt(Hook& f, int chunk, int column) const {
    return f.space.Add(f.space.Scale(f.space.Variable(chunk), array_.rows), f.Nth(0, columns(), column));
  }

  // The places of a lane in a tile, in the order of the walk, with their groups' numbers bound.
  std::vector<Place> PlacesOf(KernelBuilder& kernel, Hook& f) {
    const std::string last = kernel.Param(group_count() - 1);
    std::vector<Place> places;
    f.writer.Line("uint first = (tile * LANES + lane) * {}u;", groups());
    for (int g = 0; g < groups(); ++g) {
      const std::string place = fmt::format("first + {}u", g);
      const std::string clamped = ragged() ? fmt::format("min({}, {})", place, last) : place;
      f.writer.Line(array_.running.reverse ? fmt::format("uint g{} = {} - ({});", g, last, clamped)
                                           : fmt::format("uint g{} = {};", g, clamped));
      const int variable = f.writer.NewVariable(fmt::format("g{}", g), group_count(), width());
      const IndexExpression start = f.space.Scale(f.space.Variable(variable), width());
      for (int i = 0; i < width(); ++i) {
        const int at = array_.running.reverse ? width() - 1 - i : i;
        for (int c = 0; c < columns(); ++c) {
          places.push_back({c, g, at, IndexAt(f, c, f.space.Add(start, {{}, at})), ""});
        }
      }
    }
    if (columns() > 1) f.writer.Vectorize(0, columns());
    return places;
  }

  // Each lane's elements, folded one after another.
  void FoldPlaces(Hook& f, std::vector<Place>& places) const {
    for (size_t n = 0; n < places.size(); ++n) {
      Place& place = places[n];
      std::vector<std::string> values;
      for (int i = 0; i < count(); ++i) {
        const std::string value = f.writer.Value(*hero_.operand(i), place.index);
        values.push_back(reducer_.Taken(value));
      }
      const std::string acc = fmt::format("Acc({})", fmt::join(values, ", "));
      place.acc = fmt::format("x{}", n);
      const size_t step = static_cast<size_t>(columns());
      if (reducer_.take) {
        const std::string before = n >= step           ? places[n - step].acc
                                   : carries_through() ? fmt::format("carry[{}]", place.column)
                                                       : acc;
        f.writer.Line("Acc {} = {};", place.acc, before);
        if (before != acc) f.writer.Line("take({}.m0, {}.m0);", place.acc, acc);
        continue;
      }
      f.writer.Line(n < step ? fmt::format("Acc {} = {};", place.acc, acc)
                             : fmt::format("Acc {} = running_join({}, {});", place.acc, places[n - step].acc, acc));
    }
  }

  void PublishResult(Hook& f, const Place& place, const std::string& before) const {
    const auto leaves = FlattenTuple(hero_.shape());
    const std::string whole = "w" + place.acc;
    f.writer.Line(carries_through() ? fmt::format("Acc {0} = {1};\n  order({0}.m0);", whole, place.acc)
                                    : fmt::format("Acc {} = running_carried({}, {});", whole, before, place.acc));
    for (size_t i = 0; i < leaves.size(); ++i) {
      const ElementType type = leaves[i]->element_type();
      const std::string result = reducer_.Result(i, type, fmt::format("{}.m{}", whole, i));
      f.writer.Override(hero_, place.index, f.writer.Assignable(type, result), static_cast<int>(i));
    }
  }

  // The results of neighbouring places, `neighbours` at a time.
  void StorePlaces(Hook& f, std::vector<Place> places) const {
    const auto order = [](const Place& p) { return std::tuple(p.group, p.at, p.column); };
    std::ranges::sort(places, [&](const Place& a, const Place& b) { return order(a) < order(b); });
    const size_t neighbours = static_cast<size_t>(std::max(columns(), width()));
    int leaf = 0;
    for (const ResultLeaf& result : ResultLeaves(body_)) {
      const int k = f.writer.ResultTensor(leaf++);
      for (size_t n = 0; n < places.size(); n += neighbours)
        StoreNeighbours(f, k, result, {places.data() + n, neighbours});
    }
  }

  void StoreNeighbours(Hook& f, int k, const ResultLeaf& result, std::span<const Place> places) const {
    std::vector<std::string> values;
    for (const Place& place : places) {
      const MultiIndex index = array_.IndexIn(*result.shape, f.space, place.index);
      values.push_back(f.writer.LeafValue(*result.root, result.element, index));
    }
    if (ragged()) f.writer.OpenBlock("if (first + {}u <= last_group)", places[0].group);
    f.writer.StoreGroup(k, f.space.Linearize(places[0].index, array_.sizes), values);
    if (ragged()) f.writer.CloseBlock();
  }

  // What the lanes' elements of a tile come to, and of several lanes what those up to each do.
  std::vector<Place> ScanTile(KernelBuilder& kernel, Hook& f) {
    if (ragged()) {
      f.writer.Line("uint last_group = {};", kernel.Param(group_count() - 1));
    }
    std::vector<Place> places = PlacesOf(kernel, f);
    FoldPlaces(f, places);
    if (shares()) {
      f.writer.Line("uint slot = gl_LocalInvocationID.y * LANES + lane;");
      f.writer.Line("Acc own = {};", places.back().acc);
      f.writer.Line("SCAN_LANES(own)");
    }
    return places;
  }

  void WriteTile(KernelBuilder& kernel, bool totals) {
    Hook f = Begin(kernel);
    const std::vector<Place> places = ScanTile(kernel, f);
    const size_t last = places.size() - static_cast<size_t>(columns());
    if (shape_.one_pass) {
      f.writer.Line("carry[0] = running_look_back(o, tile, lane, {}, carry[0]);", kTotal);
      // A total that was missing has been scanned in the same memory.
      f.writer.Line("barrier();\n  shared_totals[slot] = own;\n  barrier();");
    }
    if (!totals) {
      for (int c = 0; c < columns(); ++c) {
        f.writer.Line("Carry before{0} = carry[{0}];", c);
        if (shares()) {
          f.writer.Line("if (lane > 0u) before0 = running_advanced(before0, shared_totals[slot - 1u]);");
        }
      }
      for (const Place& place : places) PublishResult(f, place, fmt::format("before{}", place.column));
      StorePlaces(f, places);
    }
    for (int c = 0; c < columns(); ++c) {
      if (carries_through()) {
        f.writer.Line("carry[{0}] = {1};\n  order(carry[{0}].m0);", c, places[last + c].acc);
        continue;
      }
      const std::string total = shares() ? std::string(kTotal) : places[last + c].acc;
      f.writer.Line("carry[{0}] = running_advanced(carry[{0}], {1});", c, total);
    }
    f.Define("void running_tile(uint o, uint tile, uint lane, inout Carry carry[COLUMNS])");
  }

  const LowerContext& context_;
  const FusionDescription& body_;
  BufferMap& buffers_;
  const Instruction& hero_;
  const RunningArray array_;
  const Reducer reducer_;
  const bool carries_wide_;  // only what is carried is two floats
  std::vector<ElementType> carry_types_;
  RunningShape shape_;
};

// The kernels: tile after tile, chunks and the totals before them, or one pass that looks back.
class RunningWriter : RunningTile {
 public:
  using RunningTile::RunningTile;

  std::vector<Step> Write() {
    std::vector<Step> steps;
    if (shape_.one_pass) {
      const int64_t blocks = CeilDivide(tiles(), kBlock), sums = blocks + CeilDivide(blocks, kBlock);
      const int64_t flags = 1 + (tiles() + sums) * array_.rows;
      state_ = buffers_.Scratch(
          4 * (flags + tiles() * array_.rows * WordsOf(reducer_.types) + sums * array_.rows * WordsOf(carry_types_)));
      // Flags and the ticket.
      return {ClearStep(context_, StepName(body_), state_, flags), WriteKernel(false)};
    }
    if (shape_.chunks > 1) {
      for (const ElementType type : carry_types_) {
        totals_.push_back(buffers_.Scratch((shape_.chunks - 1) * array_.rows * std::max(StorageBytes(type), 4)));
      }
      steps.push_back(WriteKernel(true));
    }
    steps.push_back(WriteKernel(false));
    return steps;
  }

 private:
  static constexpr int64_t kBlock = 32;  // tiles, and blocks of these, that are added up one by one

  // The initial values, then the totals of the chunks before.
  void WriteStart(KernelBuilder& kernel, bool totals) {
    Hook f = Begin(kernel);
    std::vector<std::string> values;
    for (int i = 0; i < count(); ++i) {
      const std::string value = f.writer.Value(*hero_.operand(count() + i), {});
      values.push_back(reducer_.widens || carries_wide_ ? Widened(carry_types_[0], value) : value);
    }
    for (int c = 0; c < columns(); ++c) f.writer.Line("carry[{}] = Carry({});", c, fmt::join(values, ", "));
    if (!totals && shape_.chunks > 1 && !shape_.one_pass) {
      const int before = f.writer.NewVariable("before", shape_.chunks - 1);
      f.writer.OpenBlock("for (uint before = 0u; before < chunk; ++before)");
      for (int c = 0; c < columns(); ++c) {
        std::vector<std::string> loaded;
        for (size_t i = 0; i < carry_types_.size(); ++i) {
          const int k = kernel.AddBuffer(carry_types_[i], Access::kRead, totals_[i]);
          loaded.push_back(f.writer.Load(k, TotalAt(f, before, c)));
        }
        f.writer.Line("carry[{0}] = running_sum(carry[{0}], Carry({1}));", c, fmt::join(loaded, ", "));
      }
      f.writer.CloseBlock();
    }
    f.Define("void running_start(uint o, uint chunk, inout Carry carry[COLUMNS])");
  }

  void WriteEnd(KernelBuilder& kernel, bool totals) {
    Hook f = Begin(kernel);
    if (totals) {
      const int chunk = f.writer.NewVariable("chunk", shape_.chunks - 1);
      f.writer.OpenBlock("if (lane == 0u)");
      for (int c = 0; c < columns(); ++c) {
        for (size_t i = 0; i < carry_types_.size(); ++i) {
          const int k = kernel.AddBuffer(carry_types_[i], Access::kWrite, totals_[i]);
          const std::string at = f.writer.Index(TotalAt(f, chunk, c));
          f.writer.Line(kernel.Store(k, at, fmt::format("carry[{}].m{}", c, i)));
        }
      }
      f.writer.CloseBlock();
    }
    f.Define("void running_end(uint o, uint chunk, uint lane, Carry carry[COLUMNS])");
  }

  static std::string ToWord(ElementType type, const std::string& value) {
    if (type == ElementType::kPred) return fmt::format("({} ? 1u : 0u)", value);
    if (IsFloating(type) || IsComplex(type)) return fmt::format("floatBitsToUint({})", value);
    return fmt::format("uint({})", value);
  }
  static std::string FromWord(ElementType type, const std::string& word) {
    if (type == ElementType::kPred) return fmt::format("{} != 0u", word);
    if (IsFloating(type) || IsComplex(type)) return fmt::format("uintBitsToFloat({})", word);
    return fmt::format("{}({})", CarrierType(type), word);
  }

  // put_NAME(at, x) and get_NAME(at): a value of the struct in words of the state, past every cache that workgroups do
  // not share.
  static void WriteExchange(KernelBuilder& kernel, const std::string& element, std::string_view name,
                            std::string_view type, const std::vector<ElementType>& members) {
    std::string put;
    std::vector<std::string> values;
    int word = 0;
    for (size_t i = 0; i < members.size(); ++i) {
      const bool pair = members[i] == ElementType::kC64;
      std::vector<std::string> parts;
      for (const char* part : {".x", ".y"}) {
        if (!pair && part[1] == 'y') continue;
        const std::string at = fmt::format(fmt::runtime(element), fmt::format("at + {}u", word++));
        put += fmt::format("  atomicExchange({}, {});\n", at,
                           ToWord(members[i], fmt::format("x.m{}{}", i, pair ? part : "")));
        parts.push_back(FromWord(members[i], fmt::format("atomicOr({}, 0u)", at)));
      }
      values.push_back(pair ? fmt::format("vec2({})", fmt::join(parts, ", ")) : parts[0]);
    }
    kernel.Append("void put_{0}(uint at, {1} x) {{\n{2}}}\n{1} get_{0}(uint at) {{\n  return {1}({3});\n}}\n", name,
                  type, put, fmt::join(values, ", "));
  }

  // What the look-back needs.
  void WriteLookBack(KernelBuilder& kernel) {
    const int k = kernel.AddBuffer(ElementType::kU32, Access::kReadWrite, state_);
    const std::string element = fmt::format("ELEMENT({}, {}, {{}})", k, StorageTag(ElementType::kU32));
    kernel.Append("#define BLOCK {}u\n#define POLLS {}u\n#define ACC_WORDS {}u\n#define CARRY_WORDS {}u\n", kBlock,
                  context_.facts.look_back_polls, WordsOf(reducer_.types), WordsOf(carry_types_));
    kernel.Append("uint add_state(uint at, uint n) {{ return atomicAdd({}, n); }}\n",
                  fmt::format(fmt::runtime(element), "at"));
    WriteExchange(kernel, element, "acc", "Acc", reducer_.types);
    WriteExchange(kernel, element, "carry", "Carry", carry_types_);
    kernel.Append(carries_wide_ ? "Carry first_carry(Acc x) { return Carry(vec2(x.m0, 0.0f)); }\n"
                                : "Carry first_carry(Acc x) { return x; }\n");
    kernel.Append("Carry running_look_back(uint o, uint tile, uint lane, Acc total, Carry initial);\n");
    Hook f = Begin(kernel);
    ScanTile(kernel, f);
    f.Return("Acc running_total(uint o, uint tile, uint lane)", std::string(kTotal));
  }

  Step WriteKernel(bool totals) {
    KernelBuilder kernel(context_.facts);
    const int64_t row_units = array_.rows / columns();
    const int64_t units = row_units * (totals ? shape_.chunks - 1 : shape_.chunks);
    const int64_t groups = CeilDivide(units, shape_.units);
    kernel.Params({{"GROUP_COUNT", groups},
                   {"UNIT_COUNT", units},
                   {"CHUNK_UNITS", row_units},
                   {"CHUNK_TILES", shape_.chunk},
                   {"ROW_TILES", tiles()}});
    kernel.Append("#define LANES {}u\n#define UNITS {}u\n#define COLUMNS {}\n#define CHUNKS {}\n#define ONE_PASS {}\n",
                  shape_.lanes, shape_.units, columns(), shape_.chunks > 1 ? 1 : 0, shape_.one_pass ? 1 : 0);
    kernel.Append("#define SURPLUS_GROUPS {}\n#define SURPLUS_UNITS {}\n",
                  HasSurplusGroups(context_.facts, groups) ? 1 : 0, units % shape_.units != 0 ? 1 : 0);
    kernel.Append("#define UNIT_CHUNK(u) {}\n", shape_.chunks == 1 ? "0u" : kernel.Divide("(u)", row_units));
    WriteTypes(kernel);
    if (shares()) kernel.Append("shared Acc shared_totals[{}];\n", shape_.lanes * shape_.units);
    if (shape_.one_pass) WriteLookBack(kernel);
    WriteStart(kernel, totals);
    WriteTile(kernel, totals);
    WriteEnd(kernel, totals);
    kernel.Append("#define UNITS_ALONG_X {}\n", shares() ? 0 : 1);
    Step step = kernel.Finish(StepName(body_) + (totals ? " totals" : ""), "reduce/running.comp",
                              {shares() ? shape_.lanes : shape_.units, shares() ? shape_.units : 1, 1}, groups);
    step.flop = array_.rows * array_.length;
    return step;
  }
  std::vector<BufferSlice> totals_;  // chunk-major
  BufferSlice state_;                // of one pass
};

}  // namespace

RunningArray::RunningArray(const Instruction& hero) : running(*RunningWindowOf(hero)) {
  const auto dimensions = FlattenTuple(hero.shape())[0]->dimensions();
  sizes.assign(dimensions.begin(), dimensions.end());
  length = sizes[static_cast<size_t>(running.dimension)];
  others = sizes;
  others.erase(others.begin() + running.dimension);
  rows = ElementCountOf(others);
}

MultiIndex RunningArray::IndexAt(IndexSpace& space, const IndexExpression& row, const IndexExpression& element) const {
  MultiIndex index = space.Delinearize(row, others);
  index.insert(index.begin() + running.dimension, element);
  return index;
}

MultiIndex RunningArray::IndexIn(const Shape& result, IndexSpace& space, const MultiIndex& index) const {
  if (std::ranges::equal(result.dimensions(), sizes)) return index;
  return space.Delinearize(space.Linearize(index, sizes), result.dimensions());
}

std::vector<Step> LowerRunningWindow(const LowerContext& context, const FusionDescription& body, BufferMap& buffers) {
  return RunningWriter(context, body, buffers).Write();
}

}  // namespace VXLA_NAMESPACE::vulkan
