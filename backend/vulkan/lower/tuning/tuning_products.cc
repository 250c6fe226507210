#include <algorithm>
#include <bit>

#include "backend/vulkan/lower/tuning/tuner.h"
#include "backend/vulkan/lower/tuning/tuning.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Two strips of each operand, in quads with a padded stride; every invocation takes as many whole quads of a strip.
void FitQuads(const DeviceFacts& facts, DotShape* shape) {
  const auto fits = [&](int64_t k_step) {
    const int64_t quads =
        2 * k_step * (shape->lanes_y * shape->tile_rows / 4 + shape->lanes * shape->tile_columns / 4 + 2);
    return 16 * quads < facts.max_shared_bytes && k_step * shape->tile_rows % (4 * shape->lanes) == 0 &&
           k_step * shape->tile_columns % (4 * shape->lanes_y) == 0;
  };
  // Small tiles need longer strips for that.
  while (shape->k_step < 16 && shape->k_step * shape->tile_rows % (4 * shape->lanes) != 0) shape->k_step *= 2;
  while (shape->k_step > 4 && !fits(shape->k_step)) shape->k_step /= 2;
  shape->quads = fits(shape->k_step);
  // Longer strips, written out, would be more code than GPUs keep close; rows of eight invocations are 4 x 8 as it is.
  const GpuTraits traits = TraitsOf(facts);
  shape->terms_ahead = traits.dot_terms_ahead && shape->k_step <= 16;
  shape->compact_lanes = traits.dot_compact_lanes && shape->lanes % 16 == 0 && shape->lanes_y % 4 == 0;
}

// Of a workgroup: two strips of each operand, rows padded by 16 bytes; every invocation takes as many whole loads, of
// 16 values or of 16 bytes. Sums take 64 registers of a lane at most, or 128 where a subgroup is to have 64 x 64 of
// them; a row of matrices of them takes the strips' place in the end.
bool FitsMatrices(const DeviceFacts& facts, const DotShape& shape) {
  const MatrixShape& matrix = *shape.matrix;
  const int64_t term_bytes = StorageBytes(matrix.term), row_bytes = shape.k_step * term_bytes + 16;
  const int64_t rows = shape.lanes_y * shape.tile_rows, columns = shape.lanes * shape.tile_columns;
  const int64_t subgroups = int64_t{shape.lanes} * shape.lanes_y, invocations = subgroups * facts.matrix_lanes;
  const int64_t rhs_bytes = shape.rhs_rows ? shape.k_step * (columns * term_bytes + 16) : columns * row_bytes;
  const int64_t shared = 2 * (row_bytes * rows + rhs_bytes),
                sums = subgroups * matrix.rows * (shape.tile_columns + 4) * 4;
  const auto loads = [&](int64_t extent) { return extent * shape.k_step % (16 * invocations) == 0; };
  const int64_t most_sums = 2 * TraitsOf(facts).matrix_columns;
  if (int64_t{shape.tile_rows} * shape.tile_columns > most_sums * facts.matrix_lanes) return false;
  return std::max(shared, sums) <= facts.max_shared_bytes && sums <= shared && loads(rows) && loads(columns) &&
         invocations <= std::min(facts.max_workgroup_invocations, facts.max_workgroup_size[0]) &&
         shape.tile_rows % matrix.rows == 0 && shape.tile_columns % matrix.columns == 0 && shape.k_step % matrix.k == 0;
}

// The largest tile that still gives every part of the device something to do, on the matrix units.
std::optional<DotShape> TuneMatrices(const DeviceFacts& facts, const DotWork& work) {
  const GpuTraits traits = TraitsOf(facts);
  if (!work.matrix || facts.same_bits || work.rows < 16 || work.columns < 16) return std::nullopt;
  std::optional<DotShape> fit;
  const auto term_bytes = static_cast<uint32_t>(StorageBytes(work.matrix->term));
  for (const auto& [lanes, lanes_y, rows, columns] :
       {std::array{2u, 2u, 64u, 64u}, std::array{4u, 2u, 64u, 32u}, std::array{2u, 2u, 64u, 32u},
        std::array{2u, 2u, 32u, 32u}, std::array{2u, 1u, 32u, 16u}}) {
    const bool wide = columns == 64;
    if (wide && traits.matrix_columns < columns) continue;
    DotShape shape;
    shape.tiled = true;
    shape.matrix = work.matrix;
    shape.lanes = lanes;
    shape.lanes_y = lanes_y;
    shape.tile_rows = rows;
    shape.tile_columns = columns;
    shape.k_step = 64 / term_bytes;
    // Twice the products of a strip hide its loads, and its sums leave no registers for another one.
    shape.ahead = wide ? 1 : traits.matrix_ahead;
    shape.terms_ahead = wide;
    shape.raster = traits.matrix_raster;
    shape.rhs_rows = traits.matrix_rhs_rows && !work.rhs_along_k && term_bytes == 2 && work.columns % 8 == 0 &&
                     work.matrix->columns % 8 == 0;
    if (!FitsMatrices(facts, shape)) continue;
    const int64_t tile_columns = int64_t{lanes} * columns;
    if (2 * work.columns <= tile_columns && tile_columns >= 128) continue;  // half of it would be idle
    const int64_t tiles = work.batches * CeilDivide(work.rows, lanes_y * rows) * CeilDivide(work.columns, tile_columns);
    const int64_t wanted = traits.busy_groups / 4;
    if (tiles < wanted && wide) continue;  // more subgroups share what there is
    fit = shape;
    if (tiles < wanted) fit->splits = std::clamp<int64_t>(work.k / 512, 1, CeilDivide(wanted, tiles));
    if (tiles >= wanted) break;
  }
  return fit;
}

// The largest product of a workgroup that still gives every unit one. Not measured yet: a unit holds one of 128 x 256
// results, whose sums take all registers of 256 invocations, and the smaller ones leave room for two or four, which
// would hide each other's loads.
std::optional<DotShape> TuneGroupMatrices(const DeviceFacts& facts, const DotWork& work) {
  const GpuTraits traits = TraitsOf(facts);
  if (facts.same_bits) return std::nullopt;
  const int64_t wanted = facts.compute_units != 0 ? facts.compute_units : traits.busy_groups / 8;
  std::optional<DotShape> fit;
  for (const MatrixShape& matrix : work.group_matrices) {
    // Half of it would be idle.
    if (2 * work.rows <= matrix.rows || 2 * work.columns <= matrix.columns) continue;
    DotShape shape;
    shape.tiled = true;
    shape.matrix = matrix;
    shape.lanes = 1;
    shape.tile_rows = matrix.rows;
    shape.tile_columns = matrix.columns;
    shape.k_step = matrix.k;
    shape.raster = std::max(traits.matrix_raster, 1u);
    const int64_t tiles = work.batches * CeilDivide(work.rows, matrix.rows) * CeilDivide(work.columns, matrix.columns);
    fit = shape;
    if (tiles >= wanted) break;
    fit->splits = std::clamp<int64_t>(work.k / 512, 1, CeilDivide(wanted, tiles));
  }
  return fit;
}

DotShape TuneTiles(const DeviceFacts& facts, const GpuTraits& traits, const DotWork& work) {
  DotShape shape;
  shape.tiled = true;
  shape.lanes = shape.lanes_y =
      facts.max_workgroup_invocations >= traits.dot_lanes * traits.dot_lanes ? traits.dot_lanes : 8;
  // The largest tile that still gives every part of the device something to do; wide sums take twice the registers.
  const uint32_t most = work.sum_bytes > 4 ? std::min(traits.dot_tile, 4u) : traits.dot_tile;
  const bool quads = work.quads && !facts.same_bits && most >= 4;
  for (uint32_t tile = work.in_pairs ? 1 : most;; tile /= 2) {
    shape.tile_rows = shape.tile_columns = tile;
    const int64_t extent = int64_t{shape.lanes} * tile;
    const int64_t groups = work.batches * CeilDivide(work.rows, extent) * CeilDivide(work.columns, extent);
    // Half of it would be idle.
    const bool too_wide = tile > 4 && (2 * work.rows <= extent || 2 * work.columns <= extent);
    if (tile <= 2 || (groups >= traits.busy_groups / 4 && !too_wide)) break;
    // Results in groups of four are worth more than workgroups of many invocations: a quarter as many have as many
    // tiles.
    if (quads && tile == 4) {
      if (groups < traits.busy_groups / traits.small_below) shape.lanes = shape.lanes_y = std::min(shape.lanes, 8u);
      break;
    }
  }
  shape.k_step = shape.lanes < traits.dot_lanes ? traits.small_k_step : traits.dot_k_step;
  auto shared_bytes = [&] {
    return int64_t{shape.k_step} * (shape.lanes_y * shape.tile_rows + shape.lanes * shape.tile_columns + 2) *
           work.sum_bytes;
  };
  while (shape.k_step > 1 && shared_bytes() > std::min(facts.max_shared_bytes, 32768u)) shape.k_step /= 2;
  const int64_t tiles = work.batches * CeilDivide(work.rows, shape.lanes_y * shape.tile_rows) *
                        CeilDivide(work.columns, shape.lanes * shape.tile_columns);
  shape.quads = quads && shape.tile_rows >= 4 && shape.k_step % 4 == 0;
  if (shape.quads) FitQuads(facts, &shape);
  const int64_t wanted = traits.busy_groups / 4;
  if (tiles < wanted) shape.splits = std::clamp<int64_t>(work.k / 512, 1, CeilDivide(wanted, tiles));
  return shape;
}

}  // namespace

DotShape GpuTuner::Dot(const DeviceFacts& facts, const DotWork& work) const {
  if (const auto groups = TuneGroupMatrices(facts, work)) return *groups;
  if (const auto matrices = TuneMatrices(facts, work)) return *matrices;
  const GpuTraits traits = TraitsOf(facts), table = TableTraits(facts);
  GpuTraits plain = traits;
  plain.dot_lanes = table.dot_lanes;
  plain.dot_tile = table.dot_tile;
  plain.dot_k_step = table.dot_k_step;
  const DotShape shape = TuneTiles(facts, plain, work), measured = TuneTiles(facts, traits, work);
  // Only where each sum is one sum in ascending k does the tile leave the bits alone.
  const auto sums_alone = [](const DotShape& s) { return s.quads && s.splits == 1; };
  return sums_alone(shape) && sums_alone(measured) ? measured : shape;
}

// Neighbouring lanes have neighbouring columns, and all of them get something to do first.
LoopTile GpuTuner::LoopDot(const DeviceFacts&, const DotWork& work, uint32_t, int64_t all_lanes) const {
  LoopTile tile{.k_step = work.k % 4 == 0 ? 4 : 1};
  for (const int64_t rows : {8, 4, 2}) {
    if (work.rows % rows != 0 || work.batches * work.rows / rows * work.columns < all_lanes) continue;
    tile.rows = rows;
    break;
  }
  return tile;
}

DotShape TuneDot(const DeviceFacts& facts, const DotWork& work) { return TunerOf(facts).Dot(facts, work); }

namespace {

// Of few workgroups each takes a part of the keys, at least so many of them; and of so many keys that an invocation's
// loops would come to the device's limit, whatever the workgroups, whole blocks below it.
void ShareOutKeys(const DeviceFacts& facts, const AttentionWork& work, int64_t least, AttentionShape* shape) {
  const int64_t groups = work.batches * CeilDivide(work.rows, shape->rows()),
                blocks = CeilDivide(work.keys, shape->keys());
  const int64_t wanted = TraitsOf(facts).busy_groups;
  if (groups < wanted / 4 && !work.causal) {
    shape->parts = std::clamp<int64_t>(CeilDivide(wanted, groups), 1, std::max<int64_t>(1, work.keys / least));
  }
  // Of a block: itself, its loads, a step for each depth, three for each key, its weights and their exponentials.
  const int64_t loads = CeilDivide(shape->keys() * (work.depth + work.columns), 4 * shape->lanes * shape->lanes_y),
                steps = 4 + loads + work.depth + 3 * shape->keys() + shape->tile_keys * (shape->tile_rows + 1);
  const int64_t most_blocks = std::max<int64_t>(1, MostSteps(facts, 1) / steps);
  shape->part_keys = std::min(CeilDivide(blocks, shape->parts), most_blocks) * shape->keys();
  shape->parts = CeilDivide(work.keys, shape->part_keys);
}

// Whether subgroups can work on rows of one product each, `keys` of a row at a time, with one to four lanes a row.
bool FitsMatrixTiles(const DeviceFacts& facts, const MatrixShape& matrix, int64_t keys, uint32_t subgroups) {
  const uint32_t partners = facts.matrix_lanes / matrix.rows, invocations = facts.matrix_lanes * subgroups;
  return partners >= 1 && partners <= 4 && partners * matrix.rows == facts.matrix_lanes && keys % (4 * partners) == 0 &&
         keys % matrix.columns == 0 && keys % matrix.k == 0 && keys >= 2 * matrix.columns && keys % 8 == 0 &&
         matrix.k % 8 == 0 && matrix.columns % 4 == 0 &&
         invocations <= std::min(facts.max_workgroup_invocations, facts.max_workgroup_size[0]);
}

// Of a workgroup that multiplies rows by a block of keys and sums up values: the rows and keys of each product, the
// values of each sum, rows padded by 16 bytes, and tiles of each subgroup, in shared memory, where tiles may lie where
// rows did; of a subgroup: its results in registers, so many of a lane at most. `shape`: of attention or of a chain.
template <typename Shape>
bool FitsMatrixKernel(const DeviceFacts& facts, const Shape& shape, const std::vector<int64_t>& depths,
                      const std::vector<int64_t>& sums, int64_t most_results, bool holds_rows = false) {
  const MatrixShape& matrix = *shape.matrix;
  const int64_t keys = shape.lanes,
                tiles = static_cast<int64_t>(std::max(depths.size(), sums.size())) * shape.rows() * (4 * keys + 16);
  int64_t item = 0, columns = 0;  // of an item: all depths, bytes
  for (int64_t depth : depths) item += 2 * CeilDivide(depth, matrix.k) * matrix.k + 16;
  int64_t shared = keys * item + 16;
  shared += holds_rows ? std::max(tiles, shape.rows() * item) : tiles + shape.rows() * item;
  for (int64_t sum : sums) columns += CeilDivide(sum, matrix.columns) * matrix.columns;
  shared += columns * (2 * keys + 16);
  return FitsMatrixTiles(facts, matrix, keys, shape.lanes_y) &&
         columns * matrix.rows <= most_results * facts.matrix_lanes && shared <= facts.max_shared_bytes;
}

// Rows of a product's matrices at least, where they are not mostly idle.
std::optional<AttentionShape> TuneAttentionMatrices(const DeviceFacts& facts, const AttentionWork& work) {
  if (!work.matrix || facts.same_bits || work.depth % 8 != 0 || work.columns % 4 != 0) return std::nullopt;
  if (2 * work.rows <= work.matrix->rows) return std::nullopt;
  for (const uint32_t subgroups : {4u, 2u, 1u}) {
    AttentionShape shape;
    shape.lanes = 32;
    shape.lanes_y = subgroups;
    shape.matrix = work.matrix;
    if (subgroups > 1 && shape.rows() / 2 >= work.rows) continue;  // half of it would be idle
    if (!FitsMatrixKernel(facts, shape, {work.depth}, {work.columns}, 64)) continue;
    ShareOutKeys(facts, work, 512, &shape);
    return shape;
  }
  return std::nullopt;
}

// Of a workgroup of forward_quads.comp: queries, keys or values, weights and what the lanes of a row find, rows of an
// odd number of quads, in shared memory; of an invocation: 64 results in registers at most, beside as many other
// values.
std::optional<AttentionShape> TuneAttentionQuads(const DeviceFacts& facts, const AttentionWork& work) {
  if (!TraitsOf(facts).attention_quads || facts.same_bits || work.columns % 4 != 0) return std::nullopt;
  const int64_t depth_units = CeilDivide(work.depth, 4) | 1, column_units = work.columns / 4;
  for (const uint32_t lanes_y : {8u, 4u}) {
    AttentionShape shape{16, lanes_y, 8, 2};
    shape.quads = true;
    if (shape.rows() / 2 >= work.rows) continue;  // half of it would be idle
    const int64_t quads = shape.rows() * (depth_units + (shape.keys() / 4 | 1) + (shape.lanes / 4 | 1)) +
                          shape.keys() * std::max(depth_units, column_units);
    const int64_t bytes = 16 * quads + 4 * shape.rows() + 16;
    if (bytes > facts.max_shared_bytes || shape.lanes * lanes_y > facts.max_workgroup_invocations) continue;
    if (CeilDivide(column_units, shape.lanes) * 4 * shape.tile_rows > 64) continue;
    ShareOutKeys(facts, work, 512, &shape);
    return shape;
  }
  return std::nullopt;
}

}  // namespace

AttentionShape TuneAttention(const DeviceFacts& facts, const AttentionWork& work) {
  if (const auto matrices = TuneAttentionMatrices(facts, work)) return *matrices;
  if (const auto quads = TuneAttentionQuads(facts, work)) return *quads;
  // Few rows, as of one query a head and group: a row has a subgroup's lanes, and each its own key.
  constexpr int64_t kFewRows = 8;
  const auto few = static_cast<uint32_t>(std::bit_ceil(static_cast<uint64_t>(std::min(work.rows, kFewRows))));
  std::vector<AttentionShape> shapes;
  if (work.rows < kFewRows) shapes = {{64, few, 1, 1}, {32, few, 1, 1}, {16, few, 1, 1}};
  shapes.insert(shapes.end(),
                {{16, 16, 4, 2}, {16, 8, 4, 2}, {16, 8, 4, 1}, {16, 4, 4, 1}, {8, 8, 2, 1}, {8, 4, 1, 1}});
  for (AttentionShape shape : shapes) {
    if (shape.rows() > 16 && shape.rows() / 2 >= work.rows) continue;  // half of it would be idle
    const int64_t depth = CeilDivide(work.depth, 4) * 4 + 1, columns = CeilDivide(work.columns, 4) * 4 + 1;
    const int64_t words =
        shape.rows() * depth + shape.keys() * std::max(depth, columns) + shape.rows() * (shape.keys() + 1) + 1;
    if (shape.lanes * shape.lanes_y > facts.max_workgroup_invocations || 4 * words > facts.max_shared_bytes) continue;
    ShareOutKeys(facts, work, work.rows < kFewRows ? 128 : 512, &shape);
    return shape;
  }
  return {};
}

namespace {

std::optional<ChainShape> TuneChainMatrices(const DeviceFacts& facts, const ChainWork& work) {
  const auto is_whole = [](int64_t unit) { return [unit](int64_t size) { return size % unit == 0; }; };
  if (!work.matrix || facts.same_bits || 2 * work.rows <= work.matrix->rows) return std::nullopt;
  if (!std::ranges::all_of(work.depths, is_whole(8)) || !std::ranges::all_of(work.columns, is_whole(4)))
    return std::nullopt;
  // Up to 32 registers, 64 on RDNA 3; what stands in for matrices are places in shared memory.
  constexpr int64_t kMostHeld = 8;
  int64_t held = 0;
  for (int64_t depth : work.depths) held += CeilDivide(depth, work.matrix->k);
  for (const uint32_t subgroups : {4u, 2u, 1u}) {
    ChainShape shape;
    shape.lanes = 32;
    shape.lanes_y = subgroups;
    shape.matrix = work.matrix;
    shape.holds_rows = held <= kMostHeld && !facts.matrices_stand_in;
    if (subgroups > 1 && shape.rows() / 2 >= work.rows) continue;  // half of it would be idle
    if (FitsMatrixKernel(facts, shape, work.depths, work.columns, 128, shape.holds_rows)) return shape;
  }
  return std::nullopt;
}

}  // namespace

ChainShape TuneChain(const DeviceFacts& facts, const ChainWork& work) {
  if (const auto matrices = TuneChainMatrices(facts, work)) return *matrices;
  constexpr int64_t kMostUnits = 2;  // of four rows each, for two sums: 64 registers
  // Wide results take more lanes a row.
  // In little shared memory, as all devices have, fewer depths at a time leave room for them.
  // Two wide sums at once, two units each, leave 256 invocations no registers on RDNA 3 by older drivers: one unit
  // each.
  const ChainShape shapes[] = {{16, 16}, {32, 8}, {64, 4}, {16, 8}, {8, 8},    {16, 4},
                               {32, 4},  {8, 4},  {16, 2}, {32, 2}, {8, 4, 4}, {32, 2, 4}};
  for (ChainShape shape : shapes) {
    const int64_t invocations = int64_t{shape.lanes} * shape.lanes_y;
    if (shape.rows() > 16 && shape.rows() / 2 >= work.rows) continue;  // half of it would be idle
    int64_t quads = shape.chunk * (shape.lanes + shape.lanes_y + 2);
    if (!work.reduces) {
      shape.column_units = CeilDivide(CeilDivide(work.most_columns(), 4), shape.lanes);
      const int64_t row = shape.lanes * shape.column_units;
      shape.value_keys = std::clamp<int64_t>(shape.lanes * shape.lanes_y / row, 4, shape.keys());
      quads += shape.keys() * (shape.lanes_y + 1) + shape.value_keys * row;
    } else {
      quads += shape.rows() * shape.lanes / 4;
    }
    const bool crowded = invocations > 128 && static_cast<int64_t>(work.columns.size()) * shape.column_units > 2;
    const bool fits = invocations <= facts.max_workgroup_invocations && 16 * quads < facts.max_shared_bytes &&
                      shape.column_units <= kMostUnits && !crowded;
    if (fits) return shape;
  }
  return {};
}

int64_t ChainSteps(const ChainShape& shape, const ChainWork& work) {
  const int64_t invocations = int64_t{shape.lanes} * shape.lanes_y, sums = std::ssize(work.columns);
  constexpr int64_t kOfWeights = 20;  // four keys, each of them with a step for four rows where their text is long
  int64_t products = kOfWeights;
  for (int64_t depth : work.depths) products += CeilDivide(depth, shape.chunk) * (1 + shape.chunk / 4);
  if (work.parts > 0) return work.parts * (1 + products);
  const int64_t loads = CeilDivide(shape.value_keys * shape.lanes * shape.column_units, invocations),
                values = CeilDivide(shape.keys(), shape.value_keys) * (1 + loads) + shape.keys();
  return CeilDivide(work.keys, shape.keys()) * (1 + products + sums * values);
}

}  // namespace VXLA_NAMESPACE::vulkan
