#include "backend/vulkan/lower/whiles/units/dot.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/vulkan/lower/tuning/tuner.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// One lane's tiles, one after another. Sums walk along k in order.
class LoopDotWriter {
 public:
  LoopDotWriter(const ProductReader& reader, BufferMap& buffers, const LoopTile& tile, const LoopUnit& unit)
      : reader_(reader),
        buffers_(buffers),
        tile_(tile),
        unit_(unit),
        writer_(unit.kernel, reader.body(), buffers, space_) {
    for (const auto& [operand, name] : unit.held) writer_.Hold(*operand, name);
  }

  Code Write() {
    const int64_t columns = reader_.work.columns / tile_.columns, rows = reader_.work.rows / tile_.rows;
    const int64_t tiles = reader_.work.batches * rows * columns;
    Code text = ProductTypes(reader_, FusesTerms(unit_.kernel.facts()));
    const int tile = writer_.NewVariable("tile", tiles);
    OpenTurns(writer_, "tile", tiles, unit_.lanes, unit_.share);
    const MultiIndex at = space_.Delinearize(space_.Variable(tile), IntList{reader_.work.batches, rows, columns});
    batch_ = Named(at[0], reader_.work.batches, "batch");
    first_row_ = Named(at[1], rows, "row_tile");
    column_ = Named(at[2], columns, "column_tile", tile_.columns);
    for (int64_t i = 0; i < tile_.rows * tile_.columns; ++i) writer_.Line("Sum sum_{} = CLEAR;", i);
    WriteSums();
    const bool apart = StoresSumsFirst(reader_.body());
    apart ? StoreSums() : Store();
    writer_.CloseBlock();
    text += writer_.Take();
    return apart ? text + Barrier(0, unit_.share.cooperative) + Epilogue() : text;
  }

 private:
  // An expression as a variable of its own.
  IndexExpression Named(const IndexExpression& value, int64_t size, const std::string& name, int64_t width = 1) {
    writer_.Line("uint {} = {};", name, writer_.Index(value));
    return space_.Variable(writer_.NewVariable(name, size, width));
  }
  IndexExpression Row(int64_t i) { return space_.Add(space_.Scale(first_row_, tile_.rows), {{}, i}); }
  IndexExpression Column(int64_t j) { return space_.Add(space_.Scale(column_, tile_.columns), {{}, j}); }
  std::string Sum(int64_t i, int64_t j) const { return fmt::format("sum_{}", i * tile_.columns + j); }

  void WriteSums() {
    const int64_t steps = reader_.work.k / tile_.k_step;
    const int step = writer_.NewVariable("step", steps, tile_.k_step);
    // A GPU's driver would write 128 values of k out, for every product of the loop.
    constexpr int64_t kMostWritten = 8;
    const std::string_view kept = steps > kMostWritten && unit_.kernel.keeps_loops() ? "[[dont_unroll]] " : "";
    writer_.OpenBlock("{}for (uint step = 0u; step < {}u; ++step)", kept, steps);
    const IndexExpression first = space_.Scale(space_.Variable(step), tile_.k_step);
    std::vector<std::string> lhs;  // by row and value of k; shared: of the lane's own row
    IndexExpression own;
    const int64_t lanes = tile_.shares ? unit_.lanes : 1;
    if (tile_.shares) {
      writer_.Line("uint own = gl_SubgroupInvocationID;");
      own = space_.Variable(writer_.NewVariable("own", lanes));
    }
    const auto load_lhs = [&] {
      for (int64_t i = 0; i < tile_.rows; i += lanes) {
        for (int64_t kk = 0; kk < tile_.k_step; ++kk) {
          const IndexExpression k = space_.Add(first, {{}, kk});
          lhs.push_back(reader_.Value(writer_, true, {batch_, space_.Add(Row(i), own), k, {}}));
        }
      }
    };
    // In turn the right side's values are more than a processor's registers: what is loaded last stays in them.
    if (!tile_.in_turn) load_lhs();
    const int64_t at_once = tile_.in_turn ? tile_.k_step : 1;
    for (int64_t kk = 0; kk < tile_.k_step; kk += at_once) {
      const std::vector<std::string> rhs = LoadRhs(first, kk, kk + at_once);
      if (tile_.in_turn) load_lhs();
      AddProducts(lhs, rhs, lanes, kk, kk + at_once);
    }
    writer_.CloseBlock();
  }

  // The right side's values for some values of k of a step, the columns of one value side by side.
  std::vector<std::string> LoadRhs(const IndexExpression& first, int64_t begin, int64_t end) {
    std::vector<std::string> rhs;
    for (int64_t kk = begin; kk < end; ++kk) {
      const IndexExpression k = space_.Add(first, {{}, kk});
      for (int64_t j = 0; j < tile_.columns; ++j)
        rhs.push_back(reader_.Value(writer_, false, {batch_, {}, k, Column(j)}));
    }
    return rhs;
  }

  // To all sums, what some values of k of a step give them; in turn: four sums of a row at a time.
  void AddProducts(const std::vector<std::string>& lhs, const std::vector<std::string>& rhs, int64_t lanes,
                   int64_t begin, int64_t end) {
    const int64_t at_once = tile_.in_turn ? 4 : tile_.columns;
    for (int64_t i = 0; i < tile_.rows; ++i) {
      std::vector<std::string> row;
      for (int64_t column = 0; column < tile_.columns; column += at_once) {
        for (int64_t kk = begin; kk < end; ++kk) {
          if (column == 0) {
            const std::string& value = lhs[static_cast<size_t>(i / lanes * tile_.k_step + kk)];
            row.push_back(writer_.Assignable(
                reader_.sum_type, tile_.shares ? fmt::format("subgroupShuffle({}, {}u)", value, i % lanes) : value));
          }
          for (int64_t j = column; j < std::min(tile_.columns, column + at_once); ++j)
            writer_.Line("MULTIPLY_ADD({}, {}, {});", Sum(i, j), row[static_cast<size_t>(kk - begin)],
                         rhs[static_cast<size_t>((kk - begin) * tile_.columns + j)]);
        }
      }
    }
  }

  void StoreSums() {
    writer_.JoinPairs();
    sums_ = unit_.kernel.AddBuffer(reader_.sum_type, Access::kWrite,
                                   buffers_.Scratch(reader_.results() * std::max(StorageBytes(reader_.sum_type), 4)));
    for (int64_t i = 0; i < tile_.rows; ++i) {
      std::vector<std::string> values;
      for (int64_t j = 0; j < tile_.columns; ++j) values.push_back(Sum(i, j));
      writer_.StoreGroup(sums_, reader_.Linear(space_, {batch_, Row(i), {}, Column(0)}), values);
    }
  }

  Code Epilogue() {
    IndexSpace space;
    ValueWriter writer(unit_.kernel, reader_.body(), buffers_, space);
    for (const auto& [operand, name] : unit_.held) writer.Hold(*operand, name);
    const int64_t width = unit_.width(reader_.results()), groups = reader_.results() / width;
    const int loop = writer.NewVariable("i", groups, width);
    writer.JoinPairs();
    OpenTurns(writer, "i", groups, unit_.lanes, unit_.share);
    const IndexExpression first = space.Scale(space.Variable(loop), width);
    const auto& roots = reader_.body().roots;
    std::vector<std::vector<std::string>> values(roots.size());
    for (int64_t j = 0; j < width; ++j) {
      const IndexExpression linear = space.Add(first, {{}, j});
      reader_.PublishSum(writer, linear, writer.Load(sums_, linear));
    }
    for (int64_t j = 0; j < width; ++j) {
      for (size_t leaf = 0; leaf < roots.size(); ++leaf)
        values[leaf].push_back(reader_.RootValue(writer, *roots[leaf], space.Add(first, {{}, j})));
    }
    for (size_t leaf = 0; leaf < roots.size(); ++leaf)
      writer.StoreGroup(writer.ResultTensor(static_cast<int>(leaf)), first, values[leaf]);
    writer.CloseBlock();
    return writer.Take();
  }

  void Store() {
    for (int64_t i = 0; i < tile_.rows; ++i) {
      std::vector<IndexExpression> at;
      for (int64_t j = 0; j < tile_.columns; ++j) {
        at.push_back(reader_.Linear(space_, {batch_, Row(i), {}, Column(j)}));
        reader_.PublishSum(writer_, at.back(), Sum(i, j));
      }
      const auto& roots = reader_.body().roots;
      for (size_t leaf = 0; leaf < roots.size(); ++leaf) {
        std::vector<std::string> values;
        for (const IndexExpression& place : at) values.push_back(reader_.RootValue(writer_, *roots[leaf], place));
        writer_.StoreGroup(writer_.ResultTensor(static_cast<int>(leaf)), at[0], values);
      }
    }
  }

  const ProductReader& reader_;
  BufferMap& buffers_;
  const LoopTile tile_;
  const LoopUnit& unit_;
  IndexSpace space_;
  ValueWriter writer_;
  IndexExpression batch_, first_row_, column_;
  int sums_ = -1;
};

}  // namespace

std::optional<LoopTile> TileLoopDot(const LowerContext& context, const ProductReader& reader, uint32_t lanes,
                                    LoopShare share) {
  DotWork work = reader.work;  // of a workgroup, or of all cooperative ones
  (work.batches > 1 ? work.batches : work.rows) /= share.parts();
  const int64_t all_lanes = share.cooperative ? share.groups * lanes : lanes;
  const bool emulated = ComputesInPairs(context, reader.body());
  if (emulated || work.sum_bytes > 4 || work.k < 8 || reader.wide || work.rows * work.columns < 2 * all_lanes)
    return std::nullopt;
  return TunerOf(context.facts).LoopDot(context.facts, work, lanes, all_lanes);
}

int64_t IterationsOf(const LoopTile& tile, const ProductReader& reader, uint32_t lanes, int64_t parts) {
  const int64_t results = reader.results() / parts;
  return CeilDivide(results / (tile.rows * tile.columns), lanes) * (reader.work.k / tile.k_step + 2) +
         CeilDivide(results, lanes) + 2;
}

Code WriteLoopDot(const ProductReader& reader, BufferMap& buffers, const LoopTile& tile, const LoopUnit& unit) {
  return LoopDotWriter(reader, buffers, tile, unit).Write();
}

}  // namespace VXLA_NAMESPACE::vulkan
