// Dots: any batch and contracting dimensions as [B, M, K] x [B, K, N]. A product with a vector is a row program of
// multiply-adds.
#include "backend/vulkan/lower/products/dot.h"

#include "backend/vulkan/lower/products/product.h"
#include "core/maps/dot_sides.h"
#include "core/numerics/reducer_facts.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

class DotReader final : public ProductReader {
 public:
  explicit DotReader(const FusionDescription& body) : ProductReader(body, body.hero->notes().wide_sum) {
    work.batches = SideAt(true).batch.count;
    work.rows = SideAt(true).free.count;
    work.columns = SideAt(false).free.count;
    work.k = SideAt(true).contracting.count;
  }

  std::string Value(ValueWriter& writer, bool lhs, const ProductPlace& at) const override {
    return Converted(operand(lhs), writer.Value(operand(lhs), IndexAt(writer, lhs, at)));
  }
  std::vector<std::string> Words(ValueWriter& writer, bool lhs, const ProductPlace& at) const override {
    return writer.GroupWords(operand(lhs), IndexAt(writer, lhs, at));
  }
  std::optional<MatrixInMemory> InMemory(bool lhs) const override {
    IndexSpace space;
    const auto [variables, index] = Whole(space, lhs);
    return StridesOf(space, operand(lhs), index, variables);
  }
  bool AlongK(bool lhs) const override {
    IndexSpace space;
    const auto [variables, index] = Whole(space, lhs);
    return RunsAlong(space, operand(lhs), index, variables[2]);
  }

  IndexExpression Linear(IndexSpace& space, const ProductPlace& at) const override {
    return space.Add(space.Scale(space.Add(space.Scale(at.batch, work.rows), at.row), work.columns), at.column);
  }
  ProductPlace PlaceOf(IndexSpace& space, const IndexExpression& linear) const override {
    const MultiIndex at = space.Delinearize(linear, IntList{work.batches, work.rows, work.columns});
    return {at[0], at[1], {}, at[2]};
  }

 private:
  const DotSide& SideAt(bool lhs) const { return sides_[lhs ? 0 : 1]; }
  MultiIndex IndexAt(ValueWriter& writer, bool lhs, const ProductPlace& at) const {
    return SideAt(lhs).IndexOf(writer.space(), at.batch, at.k, lhs ? at.row : at.column);
  }
  // Variables of the batch, the free dimension and k, and the index of an operand that they make.
  std::pair<std::array<int, 3>, MultiIndex> Whole(IndexSpace& space, bool lhs) const {
    const DotSide& side = SideAt(lhs);
    const std::array<int, 3> v = {space.AddVariable(side.batch.count), space.AddVariable(side.free.count),
                                  space.AddVariable(side.contracting.count)};
    return {v, side.IndexOf(space, space.Variable(v[0]), space.Variable(v[2]), space.Variable(v[1]))};
  }

  const std::array<DotSide, 2> sides_ = {SideOf(hero(), 0), SideOf(hero(), 1)};
};

// Matrices of few elements, many of them: a workgroup for each would have nothing to do. An invocation takes a
// whole result, one of a GPU up to four neighbours of it.
std::optional<RowTile> TileSmallProducts(const LowerContext& context, const DotReader& reader) {
  constexpr int64_t kLeastBatches = 8, kMostSide = 8, kMostTerms = 128;
  const DotWork& work = reader.work;
  const bool small = work.rows <= kMostSide && work.columns <= kMostSide && work.k > 0 && work.k <= kMostSide &&
                     work.rows * work.columns * work.k <= kMostTerms;
  if (!small || work.batches < kLeastBatches || work.repeated || ComputesInPairs(context, reader.body()))
    return std::nullopt;
  RowTile tile{{work.batches, work.rows, work.columns}, {1, work.rows, work.columns}};
  if (!context.facts.costs.accesses_by_lane)
    tile.tile = {1, 1, work.columns % 4 == 0 ? 4 : work.columns < 4 ? work.columns : 1};
  return tile;
}

std::vector<Step> LowerReader(const LowerContext& context, const DotReader& reader, BufferMap& buffers) {
  if (const auto tile = TileSmallProducts(context, reader))
    return {WriteShortRows(context, ProductProgram(reader, buffers, {}), *tile)};
  if (reader.work.k > 0 && reader.work.rows > 1 && reader.work.columns > 1)
    return LowerProduct(context, reader, buffers);
  // Products with a vector, and products of nothing.
  const bool one_column = reader.work.columns == 1;
  return LowerProductRows(context, reader, buffers, {!reader.AlongK(/*lhs=*/one_column)});
}

}  // namespace

std::unique_ptr<ProductReader> ReadDot(const FusionDescription& body) { return std::make_unique<DotReader>(body); }

Status CanLowerDot(const LowerContext&, const FusionDescription& body) { return CheckProductRoots(body); }

Result<std::vector<Step>> LowerDot(const LowerContext& context, const FusionDescription& body, BufferMap& buffers) {
  return LowerReader(context, DotReader(body), buffers);
}

Result<std::vector<Step>> LowerRepeatedDot(const LowerContext& context, const FusionDescription& body,
                                           BufferMap& buffers) {
  DotReader reader(body);
  reader.work.repeated = true;
  return LowerReader(context, reader, buffers);
}

}  // namespace VXLA_NAMESPACE::vulkan
