// Row programs of short rows: loops over tiles of rows with every element written out.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "backend/vulkan/lower/elementwise/fused_loop.h"
#include "backend/vulkan/lower/rows/row_program.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

constexpr int64_t kWideTile = 16;  // two groups of neighbours
constexpr int64_t kMostElements = 32, kMostMovingElements = 64;
// Below this, kernels cost their compilation.
constexpr int64_t kLargeWork = 1 << 18;

// How many elements an invocation's tile may have, and how many rows. What is written out takes time to compile: on
// lavapipe (AVX-512), max pooling 3 x 3 / 2 of 8 x 112 x 112 x 64 takes 9.6 ms with 2 x 4 rows of 8 channels, 10.6 with
// 4 x 4.
struct TileLimits {
  int64_t elements, rows;
};
TileLimits LimitsOf(const DeviceFacts& facts, int64_t work) {
  if (facts.quirks.slow_long_blocks) return {96, 8};
  if (!facts.costs.subgroups_in_turn) return {288, 8};  // what they read stays in registers
  if (work >= 1 << 23) return {640, 128};
  return {work >= 1 << 21 ? 288 : 96, 128};
}

class ShortRowWriter {
 public:
  ShortRowWriter(const LowerContext& context, const RowProgram& program, const RowTile& tile)
      : program_(program),
        tile_(tile),
        loop_(context, *program.body, *program.buffers, Units(), Tuning(context)),
        reduce_(program.reduces.at(0)) {
    // A GPU's scalar registers do not hold the parameters of every access, and lavapipe loads each of them lane by
    // lane.
    if (program.rows * program.row_size >= kLargeWork) loop_.kernel().InlineParams();
    loop_.writer().JoinPairs();
  }

  Step Write() {
    NumberUnits();
    loop_.kernel().Append(reduce_.combine("combine"));
    tile_.moves > 1 ? WriteMovingTile() : WriteTile(PlacesAt({}));
    Step step = loop_.Finish(program_.name);
    step.flop = program_.flop;
    StepAccumulation& accumulation = step.accumulations.emplace_back();
    if (reduce_.source != nullptr) accumulation.of.push_back(PathOf(*reduce_.source));
    accumulation.level.chunk = program_.row_size;
    return step;
  }

 private:
  int64_t Units() const {
    int64_t units = program_.rows;
    for (int64_t size : tile_.tile) units /= size;
    return units / tile_.moves;
  }
  LoopTuning Tuning(const LowerContext& context) const {
    LoopTuning tuning = TuneLoop(context.facts, context.bindings, Units(), program_.row_size * 64).OneByOne();
    // A unit is many elements, so a few of them are work enough for an invocation.
    tuning.workgroup_size = std::min(tuning.workgroup_size, 64u);
    tuning.items = tile_.moves > 1 ? 1u : std::min(tuning.items, 4u);
    return tuning;
  }

  // Which tile an invocation takes, and what counts the groups of neighbours that lie in it.
  void NumberUnits() {
    ValueWriter& writer = loop_.writer();
    IndexSpace& space = loop_.space();
    IntList units;
    for (size_t d = 0; d < tile_.tile.size(); ++d) units.push_back(tile_.dimensions[d] / tile_.tile[d]);
    units[tile_.along] /= tile_.moves;
    first_ = space.Delinearize(loop_.group(), units);
    const int64_t groups = tile_.tile.back() / Width();
    if (Width() == 4 || Width() == 8) writer.Vectorize(loop_.group_variable(), static_cast<int>(Width()));
    for (int64_t g = 0; g < groups && groups > 1; ++g) {
      const std::string name = fmt::format("group{}", g);
      writer.Line("uint {} = {} * {}u + {}u;", name, writer.Index(first_.back()), groups, g);
      groups_.push_back(space.Variable(writer.NewVariable(name, units.back() * groups, Width())));
    }
  }
  int64_t Width() const { return tile_.tile.back() == kWideTile ? kWideTile / 2 : tile_.tile.back(); }

  // Place `at` of the tile along the last dimension.
  IndexExpression LastPlace(int64_t at) {
    IndexSpace& space = loop_.space();
    const auto group = static_cast<size_t>(at / Width());
    return space.Add(space.Scale(groups_.empty() ? first_.back() : groups_[group], Width()), {{}, at % Width()});
  }

  // The rows of a tile that has moved so often.
  std::vector<RowPlace> PlacesAt(const IndexExpression& moved) {
    IndexSpace& space = loop_.space();
    MultiIndex first = first_;
    first[tile_.along] = space.Add(space.Scale(first[tile_.along], tile_.moves), moved);
    std::vector<RowPlace> places;
    IntList at(tile_.tile.size(), 0);
    for (bool more = true; more;) {
      MultiIndex index;
      for (size_t d = 0; d + 1 < at.size(); ++d)
        index.push_back(space.Add(space.Scale(first[d], tile_.tile[d]), {{}, at[d]}));
      index.push_back(LastPlace(at.back()));
      places.push_back({space.Linearize(index, tile_.dimensions), {}});
      more = false;
      for (size_t d = at.size(); d-- > 0 && !more;) {
        more = ++at[d] < tile_.tile[d];
        if (!more) at[d] = 0;
      }
    }
    return places;
  }

  void WriteTile(const std::vector<RowPlace>& places) {
    for (const RowPlace& place : places) program_.ComputeValues(loop_.writer(), place, 0);
    std::vector<std::vector<std::string>> values(program_.outputs.size(), std::vector<std::string>(places.size()));
    const auto write = [&](size_t row) {
      WriteRow(places[row], row);
      for (size_t i = 0; i < values.size(); ++i)
        values[i][row] = program_.outputs[i].value(loop_.writer(), places[row]);
    };
    // All loads first, then the rows of one place of the last dimension after those of another: lavapipe makes a loop
    // of each load, and between them would fetch what rows multiply by from the stack for each row.
    if (tile_.moves > 1) {
      for (size_t row = 0; row < places.size(); ++row) {
        for (int64_t element = 0; element < program_.row_size; ++element)
          Seen({places[row].row, {{}, element}}, row, element);
      }
    }
    const size_t apart = tile_.moves > 1 ? static_cast<size_t>(tile_.tile.back()) : 1;
    for (size_t first = 0; first < apart; ++first) {
      for (size_t row = first; row < places.size(); row += apart) write(row);
    }
    // Every value is computed before any is stored: a store would keep the compiler from moving loads.
    for (size_t i = 0; i < values.size(); ++i) Store(program_.outputs[i], values[i], places);
  }

  // What is seen in one move and again, elsewhere in the window, in the next: a local for each leaf, and where it comes
  // from.
  struct Kept {
    std::vector<std::string> names;
    size_t row;
    int64_t next;  // the element under which lies in this move what this will be in the next one
  };

  // The element under which what lies there comes to lie under this one, if it is in the window.
  std::optional<int64_t> Next(int64_t element) const {
    const RowWindow& window = tile_.window;
    const int64_t tap = element / window.apart % window.taps + window.step;
    return tap >= 0 && tap < window.taps ? std::optional(element + window.step * window.apart) : std::nullopt;
  }

  void WriteMovingTile() {
    ValueWriter& writer = loop_.writer();
    // Not a constant, so that equal texts below are equal in every move.
    const int first = writer.NewVariable("0u", tile_.moves), move = writer.NewVariable("move", tile_.moves);
    LoadFirst(PlacesAt(loop_.space().Variable(first)));
    writer.OpenBlock("for (uint move = 0u; move < {}u; ++move)", tile_.moves);
    const std::vector<RowPlace> places = PlacesAt(loop_.space().Variable(move));
    WriteTile(places);
    MoveOn(places);
    writer.CloseBlock();
  }

  // What the first tile sees that no later one loads, and what all of them multiply it by.
  void LoadFirst(const std::vector<RowPlace>& places) {
    ValueWriter& writer = loop_.writer();
    std::vector<std::string> zeros;
    for (ElementType type : reduce_.seen_types) zeros.push_back(ZeroText(type));
    std::unordered_map<std::string, size_t> known;
    kept_of_.assign(places.size(), std::vector<size_t>(static_cast<size_t>(program_.row_size)));
    for (size_t row = 0; row < places.size(); ++row) {
      for (int64_t element = 0; element < program_.row_size; ++element) {
        const RowPlace place{places[row].row, {{}, element}};
        reduce_.made_of(writer, place, zeros);
        const auto next = Next(element);
        if (!next) continue;
        const std::vector<std::string> seen = reduce_.seen(writer, place);
        const auto [at, added] = known.try_emplace(fmt::format("{}", fmt::join(seen, "; ")), kept_.size());
        kept_of_[row][static_cast<size_t>(element)] = at->second;
        if (!added) continue;
        kept_.push_back({{}, row, *next});
        for (size_t leaf = 0; leaf < seen.size(); ++leaf)
          kept_.back().names.push_back(writer.Assignable(reduce_.seen_types[leaf], seen[leaf]));
      }
    }
  }

  // What lies under an element, in the loop over moves.
  std::vector<std::string> Seen(const RowPlace& place, size_t row, int64_t element) {
    if (Next(element)) return kept_[kept_of_[row][static_cast<size_t>(element)]].names;
    ValueWriter& writer = loop_.writer();
    std::vector<std::string> seen = reduce_.seen(writer, place);
    const auto [at, added] = loaded_.try_emplace(fmt::format("{}", fmt::join(seen, "; ")));
    if (added) {
      for (size_t leaf = 0; leaf < seen.size(); ++leaf)
        at->second.push_back(writer.Assignable(reduce_.seen_types[leaf], seen[leaf]));
    }
    return at->second;
  }

  void MoveOn(const std::vector<RowPlace>& places) {
    // What lies nearest to the end that is left behind comes first, as it takes the place of nothing that is to come.
    const RowWindow& window = tile_.window;
    std::vector<size_t> order(kept_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, {}, [&](size_t i) {
      const int64_t tap = kept_[i].next / window.apart % window.taps;
      return window.step > 0 ? tap : -tap;
    });
    for (size_t i : order) {
      const Kept& kept = kept_[i];
      const std::vector<std::string> seen = Seen({places[kept.row].row, {{}, kept.next}}, kept.row, kept.next);
      for (size_t leaf = 0; leaf < seen.size(); ++leaf) loop_.writer().Line("{} = {};", kept.names[leaf], seen[leaf]);
    }
  }

  std::vector<std::string> Element(const RowPlace& place, size_t row, int64_t element) {
    if (tile_.moves == 1) return reduce_.element(loop_.writer(), place);
    return reduce_.made_of(loop_.writer(), place, Seen(place, row, element));
  }

  void WriteRow(const RowPlace& row, size_t number) {
    ValueWriter& writer = loop_.writer();
    std::vector<std::string> sums;
    if (reduce_.in_order) sums = reduce_.Starts(writer);
    for (int64_t element = 0; element < program_.row_size; ++element) {
      std::vector<std::string> values = Element({row.row, {{}, element}}, number, element);
      if (!reduce_.elements_taken) values[0] = reduce_.Taken(values[0]);
      if (!sums.empty()) {
        writer.Line(JoinText("combine", sums, values));
        continue;
      }
      for (size_t leaf = 0; leaf < values.size(); ++leaf)
        sums.push_back(writer.Assignable(reduce_.types[leaf], values[leaf]));
    }
    reduce_.publish(writer, row, reduce_.Finish(writer, "combine", std::move(sums)));
    program_.ComputeValues(writer, row, 1);
  }

  void Store(const RowOutput& output, const std::vector<std::string>& values, const std::vector<RowPlace>& places) {
    const int k = loop_.kernel().AddBuffer(output.type, Access::kWrite, output.slice);
    const auto width = static_cast<size_t>(Width());
    for (size_t i = 0; i < values.size(); i += width)
      loop_.writer().StoreGroup(k, places[i].row, std::span(values).subspan(i, width));
  }

  const RowProgram& program_;
  const RowTile& tile_;
  LoopKernel loop_;
  const RowReduce& reduce_;
  MultiIndex first_;                     // the invocation's tile
  std::vector<IndexExpression> groups_;  // its groups of neighbours, where there are several
  std::vector<Kept> kept_;
  std::vector<std::vector<size_t>> kept_of_;  // by row of the tile and element; of those that have a next one
  std::unordered_map<std::string, std::vector<std::string>> loaded_;
};

// Neighbours in memory first, then neighbours that share, the inner ones before the outer ones, but for those that the
// tile moves along.
IntList WidenedTile(const LowerContext& context, const RowProgram& program, std::span<const int64_t> dimensions,
                    const std::vector<RowWindow>& windows, const TileLimits& limits, std::optional<size_t> along) {
  IntList tile(dimensions.size(), 1);
  int64_t rows = 1;
  auto widen = [&](size_t d, std::initializer_list<int64_t> sizes) {
    for (int64_t size : sizes) {
      if (dimensions[d] % size != 0 || rows * size > limits.rows || rows * size * program.row_size > limits.elements)
        continue;
      rows *= tile[d] = size;
      return;
    }
  };
  const bool by_lane = context.facts.costs.accesses_by_lane;
  // Lavapipe's eight lanes then read whole lines side by side, which the processor's prefetchers foresee, and not a
  // part of each row: depthwise 3 x 3 of 8 x 56 x 56 x 128 f32 takes 7 ms so, and 12.5 by eight elements.
  if (along && by_lane && dimensions.back() > kWideTile / 2 * 8) widen(dimensions.size() - 1, {kWideTile});
  if (tile.back() == 1) by_lane ? widen(dimensions.size() - 1, {8, 4}) : widen(dimensions.size() - 1, {4});
  for (size_t d = dimensions.size() - 1; d-- > 0;) {
    if (windows[d].shares && d != along) widen(d, {4, 3, 2});
  }
  return tile;
}

// Words of registers that a moving tile takes: what it sees, what it multiplies that by, and its sums.
int64_t WordsOf(const RowProgram& program, const RowTile& tile, const std::vector<RowWindow>& windows) {
  const RowReduce& reduce = program.reduces[0];
  int64_t seen = 1, rows = 1, words = 0;
  for (size_t d = 0; d < windows.size(); ++d) {
    const RowWindow& w = windows[d];
    seen *= w.step == 0 ? tile.tile[d] * w.taps : (tile.tile[d] - 1) * std::abs(w.step) + w.taps;
    rows *= tile.tile[d];
  }
  for (ElementType type : reduce.seen_types) words += std::max(StorageBytes(type), 4) / 4;
  return words * (seen + tile.tile.back() * program.row_size + rows);
}

// The tile that moves along the dimension where it sees most again, the innermost of them, so that what it reads next
// lies near. None where it would move too little.
std::optional<RowTile> MovingTile(const LowerContext& context, const RowProgram& program,
                                  std::span<const int64_t> dimensions, const std::vector<RowWindow>& windows,
                                  const TileLimits& limits) {
  // GPUs' caches have at hand what neighbours read, so that a tile must gain more there: their compilers write out few
  // turns, and registers are shared by the subgroups that hide latency.
  const DeviceFacts::Costs& costs = context.facts.costs;
  const int64_t least_moves = costs.accesses_by_lane ? 4 : 8, most_moves = 4096, most_words = 112;
  const double least_again = costs.accesses_by_lane ? 0.25 : 0.5;
  const int64_t wanted =
      costs.subgroups_in_turn ? 512 * context.facts.hardware_threads : context.facts.busy_workgroups * 256;
  if (program.reduces[0].seen == nullptr) return std::nullopt;
  std::optional<size_t> along;
  double most = least_again;
  for (size_t d = 0; d + 1 < dimensions.size(); ++d) {
    const RowWindow& w = windows[d];
    const double again = w.step == 0 ? 0 : 1 - static_cast<double>(std::abs(w.step)) / static_cast<double>(w.taps);
    if (again < most) continue;
    most = again;
    along = d;
  }
  if (!along) return std::nullopt;
  RowTile tile{IntList(dimensions.begin(), dimensions.end()), {}, *along, 1, windows[*along]};
  tile.tile = WidenedTile(context, program, dimensions, windows, limits, along);
  const int64_t rows_of_tile = ElementCountOf(tile.tile);
  const bool held = costs.subgroups_in_turn || WordsOf(program, tile, windows) <= most_words;
  if (rows_of_tile * program.row_size > limits.elements || !held) return std::nullopt;
  const int64_t units = program.rows / rows_of_tile;
  for (int64_t moves = std::min(dimensions[*along], most_moves); moves >= least_moves; --moves) {
    if (dimensions[*along] % moves != 0 || units / moves < wanted) continue;
    tile.moves = moves;
    return tile;
  }
  return std::nullopt;
}

}  // namespace

RowWindow RowWindowOf(const WindowDimension& window, int64_t apart) {
  RowWindow row{window.size > window.stride, window.size, apart, 0};
  if (window.stride % window.rhs_dilate == 0) row.step = window.stride / window.rhs_dilate * (window.reversal ? -1 : 1);
  return row;
}

std::optional<RowTile> TileShortRows(const LowerContext& context, const RowProgram& program,
                                     std::span<const int64_t> dimensions, const std::vector<RowWindow>& windows) {
  const bool elements =
      std::ranges::any_of(program.outputs, [](const RowOutput& output) { return output.per_element; });
  if (program.row_size == 0 || program.row_size > kMostMovingElements || program.reduces.size() != 1 || elements ||
      dimensions.empty() || ComputesInPairs(context, *program.body))
    return std::nullopt;
  const int64_t work = program.rows * program.row_size;
  const TileLimits limits = LimitsOf(context.facts, work);
  if (work >= kLargeWork) {
    if (auto moving = MovingTile(context, program, dimensions, windows, limits)) return moving;
  }
  if (program.row_size > (work < kLargeWork ? 16 : kMostElements)) return std::nullopt;
  RowTile tile{IntList(dimensions.begin(), dimensions.end()), IntList(dimensions.size(), 1)};
  if (work >= kLargeWork) tile.tile = WidenedTile(context, program, dimensions, windows, limits, std::nullopt);
  return tile;
}

Step WriteShortRows(const LowerContext& context, const RowProgram& program, const RowTile& tile) {
  return ShortRowWriter(context, program, tile).Write();
}

}  // namespace VXLA_NAMESPACE::vulkan
