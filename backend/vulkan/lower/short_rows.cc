// Row programs of short rows: loops over tiles of rows with every element written out.
#include <fmt/format.h>

#include <algorithm>

#include "backend/vulkan/codegen/scalar_computation.h"
#include "backend/vulkan/lower/loop.h"
#include "backend/vulkan/lower/row_program.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

constexpr int64_t kMostElements = 32;
// Below this, kernels cost their compilation.
constexpr int64_t kLargeWork = 1 << 18;

// How many elements an invocation's tile may have, and how many rows. What is written out takes time to compile: on
// lavapipe (AVX-512), depthwise 3 x 3 of 8 x 56 x 56 x 128 f32 takes 10 ms with 2 x 4 or 4 x 4 rows of 8 channels (a
// negation of as many bytes: 2.4), max pooling 3 x 3 / 2 of 8 x 112 x 112 x 64 9.6 with 2 x 4, 10.6 with 4 x 4.
struct TileLimits {
  int64_t elements, rows;
};
TileLimits LimitsOf(const DeviceFacts& facts, int64_t work) {
  if (facts.quirks.slow_long_blocks) return {96, 8};
  if (!facts.is_software()) return {288, 8};  // what they read stays in registers
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
  }

  Step Write() {
    const int64_t width = tile_.tile.back();
    if (width == 4 || width == 8) loop_.writer().Vectorize(loop_.group_variable(), static_cast<int>(width));
    loop_.kernel().Append(reduce_.combine("combine"));
    ReadTiles();
    for (const RowPlace& place : places_) Publish(place, 0);
    std::vector<std::vector<std::string>> values(program_.outputs.size());
    for (const RowPlace& place : places_) {
      WriteRow(place);
      for (size_t i = 0; i < values.size(); ++i) values[i].push_back(program_.outputs[i].value(loop_.writer(), place));
    }
    // Every value is computed before any is stored: a store would keep the compiler from moving loads.
    for (size_t i = 0; i < values.size(); ++i) Store(program_.outputs[i], values[i]);
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
    return units;
  }
  LoopTuning Tuning(const LowerContext& context) const {
    LoopTuning tuning = TuneLoop(context.facts, context.bindings, Units(), program_.row_size * 64).OneByOne();
    // A unit is many elements, so a few of them are work enough for an invocation.
    tuning.workgroup_size = std::min(tuning.workgroup_size, 64u);
    tuning.items = std::min(tuning.items, 4u);
    return tuning;
  }

  void ReadTiles() {
    IndexSpace& space = loop_.space();
    IntList units;
    for (size_t d = 0; d < tile_.tile.size(); ++d) units.push_back(tile_.dimensions[d] / tile_.tile[d]);
    const MultiIndex unit = space.Delinearize(loop_.group(), units);
    IntList at(tile_.tile.size(), 0);
    for (bool more = true; more;) {
      MultiIndex index;
      for (size_t d = 0; d < at.size(); ++d)
        index.push_back(space.Add(space.Scale(unit[d], tile_.tile[d]), {{}, at[d]}));
      places_.push_back({space.Linearize(index, tile_.dimensions), {}});
      more = false;
      for (size_t d = at.size(); d-- > 0 && !more;) {
        more = ++at[d] < tile_.tile[d];
        if (!more) at[d] = 0;
      }
    }
  }

  // The row values of a level.
  void Publish(const RowPlace& place, int level) {
    ValueWriter& writer = loop_.writer();
    for (const RowValue& value : program_.values) {
      if (value.level == level) value.publish(writer, place, writer.Assignable(value.type, value.value(writer, place)));
    }
  }

  void WriteRow(const RowPlace& row) {
    ValueWriter& writer = loop_.writer();
    std::vector<std::string> sums;
    for (int64_t element = 0; element < program_.row_size; ++element) {
      std::vector<std::string> values = reduce_.element(writer, {row.row, {{}, element}});
      if (reduce_.widens && reduce_.widens_elements) values[0] = fmt::format("vec2({}, 0.0f)", values[0]);
      if (element > 0) {
        writer.Line(fmt::format("combine({}, {});", fmt::join(sums, ", "), fmt::join(values, ", ")));
        continue;
      }
      for (size_t leaf = 0; leaf < values.size(); ++leaf)
        sums.push_back(writer.Assignable(reduce_.types[leaf], values[leaf]));
    }
    if (reduce_.init) sums = WithInit(sums);
    std::vector<std::string> results;
    for (size_t leaf = 0; leaf < sums.size(); ++leaf) {
      const ElementType from = reduce_.types[leaf], to = reduce_.result_types[leaf];
      results.push_back(writer.Assignable(to, reduce_.widens ? ConvertedText(from, to, sums[leaf])
                                              : from == to   ? sums[leaf]
                                                             : Narrowed(to, sums[leaf])));
    }
    reduce_.publish(writer, row, results);
    Publish(row, 1);
  }

  std::vector<std::string> WithInit(const std::vector<std::string>& sums) {
    ValueWriter& writer = loop_.writer();
    std::vector<std::string> init = reduce_.init(writer), whole;
    if (reduce_.widens) init[0] = fmt::format("vec2({}, 0.0f)", init[0]);
    for (size_t leaf = 0; leaf < sums.size(); ++leaf)
      whole.push_back(writer.Assignable(reduce_.types[leaf], init[leaf]));
    writer.Line(fmt::format("combine({}, {});", fmt::join(whole, ", "), fmt::join(sums, ", ")));
    return whole;
  }

  void Store(const RowOutput& output, const std::vector<std::string>& values) {
    const int k = loop_.kernel().AddBuffer(output.type, Access::kWrite, output.slice);
    const auto width = static_cast<size_t>(tile_.tile.back());
    for (size_t i = 0; i < values.size(); i += width)
      loop_.writer().StoreGroup(k, places_[i].row, std::span(values).subspan(i, width));
  }

  const RowProgram& program_;
  const RowTile& tile_;
  LoopKernel loop_;
  const RowReduce& reduce_;
  std::vector<RowPlace> places_;
};

}  // namespace

std::optional<RowTile> TileShortRows(const LowerContext& context, const RowProgram& program,
                                     std::span<const int64_t> dimensions, const std::vector<bool>& shares) {
  const bool elements =
      std::ranges::any_of(program.outputs, [](const RowOutput& output) { return output.per_element; });
  if (program.row_size == 0 || program.row_size > kMostElements || program.reduces.size() != 1 || elements ||
      dimensions.empty() || ComputesInPairs(context, *program.body))
    return std::nullopt;
  RowTile tile{IntList(dimensions.begin(), dimensions.end()), IntList(dimensions.size(), 1)};
  if (program.rows * program.row_size < kLargeWork) return program.row_size <= 16 ? std::optional(tile) : std::nullopt;
  const TileLimits limits = LimitsOf(context.facts, program.rows * program.row_size);
  int64_t rows = 1;
  auto widen = [&](size_t d, std::initializer_list<int64_t> sizes) {
    for (int64_t size : sizes) {
      if (dimensions[d] % size != 0 || rows * size > limits.rows || rows * size * program.row_size > limits.elements)
        continue;
      rows *= tile.tile[d] = size;
      return;
    }
  };
  // Neighbours in memory first, then neighbours that share, the inner ones before the outer ones.
  const bool software = context.facts.is_software();
  software ? widen(dimensions.size() - 1, {8, 4}) : widen(dimensions.size() - 1, {4});
  for (size_t d = dimensions.size() - 1; d-- > 0;) {
    if (shares[d]) widen(d, {4, 3, 2});
  }
  return tile;
}

Step WriteShortRows(const LowerContext& context, const RowProgram& program, const RowTile& tile) {
  return ShortRowWriter(context, program, tile).Write();
}

}  // namespace VXLA_NAMESPACE::vulkan
