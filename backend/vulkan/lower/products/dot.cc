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
    lhs_side_ = SideOf(hero(), 0);
    rhs_side_ = SideOf(hero(), 1);
    work.batches = lhs_side_.batch.count;
    work.rows = lhs_side_.free.count;
    work.columns = rhs_side_.free.count;
    work.k = lhs_side_.contracting.count;
  }

  std::string LhsValue(ValueWriter& writer, const ProductPlace& at) const override {
    return Converted(lhs(), writer.Value(lhs(), lhs_side_.IndexOf(writer.space(), at.batch, at.k, at.row)));
  }
  std::string RhsValue(ValueWriter& writer, const ProductPlace& at) const override {
    return Converted(rhs(), writer.Value(rhs(), rhs_side_.IndexOf(writer.space(), at.batch, at.k, at.column)));
  }
  std::vector<std::string> Words(ValueWriter& writer, bool is_lhs, const ProductPlace& at) const override {
    const MultiIndex index = is_lhs ? lhs_side_.IndexOf(writer.space(), at.batch, at.k, at.row)
                                    : rhs_side_.IndexOf(writer.space(), at.batch, at.k, at.column);
    return writer.GroupWords(is_lhs ? lhs() : rhs(), index);
  }
  std::optional<MatrixInMemory> InMemory(bool is_lhs) const override {
    const DotSide& side = is_lhs ? lhs_side_ : rhs_side_;
    IndexSpace space;
    const std::array<int, 3> variables = {space.AddVariable(side.batch.count), space.AddVariable(side.free.count),
                                          space.AddVariable(side.contracting.count)};
    const MultiIndex index =
        side.IndexOf(space, space.Variable(variables[0]), space.Variable(variables[2]), space.Variable(variables[1]));
    return StridesOf(space, is_lhs ? lhs() : rhs(), index, variables);
  }
  bool LhsAlongK() const override { return AlongK(lhs(), lhs_side_); }
  bool RhsAlongK() const override { return AlongK(rhs(), rhs_side_); }

  IndexExpression Linear(IndexSpace& space, const ProductPlace& at) const override {
    return space.Add(space.Scale(space.Add(space.Scale(at.batch, work.rows), at.row), work.columns), at.column);
  }
  ProductPlace PlaceOf(IndexSpace& space, const IndexExpression& linear) const override {
    const MultiIndex at = space.Delinearize(linear, IntList{work.batches, work.rows, work.columns});
    return {at[0], at[1], {}, at[2]};
  }

 private:
  bool AlongK(const Instruction& operand, const DotSide& side) const {
    IndexSpace space;
    const IndexExpression batch = space.Variable(space.AddVariable(side.batch.count));
    const int k = space.AddVariable(side.contracting.count);
    const IndexExpression free = space.Variable(space.AddVariable(side.free.count));
    return RunsAlong(space, operand, side.IndexOf(space, batch, space.Variable(k), free), k);
  }

  DotSide lhs_side_, rhs_side_;
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
  return LowerProductRows(context, reader, buffers, {one_column ? !reader.LhsAlongK() : !reader.RhsAlongK()});
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
