// Dots: any batch and contracting dimensions as [B, M, K] x [B, K, N]. A product with a vector is a row program of
// multiply-adds.
#include "backend/vulkan/lower/dot.h"

#include <algorithm>

#include "backend/vulkan/lower/product.h"
#include "core/reducer_facts.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

class DotReader final : public ProductReader {
 public:
  explicit DotReader(const FusionDescription& body) : ProductReader(body, AccumulatesWide(*body.hero)) {
    const auto& attributes = hero().attributes<DotAttributes>();
    ReadSide(lhs(), attributes.lhs_batch_dims, attributes.lhs_contracting_dims, &lhs_side_);
    ReadSide(rhs(), attributes.rhs_batch_dims, attributes.rhs_contracting_dims, &rhs_side_);
    work.batches = lhs_side_.batch.count;
    work.rows = lhs_side_.free.count;
    work.columns = rhs_side_.free.count;
    work.k = lhs_side_.contracting.count;
  }

  std::string LhsValue(ValueWriter& writer, const ProductPlace& at) const override {
    return Converted(lhs(), writer.Value(lhs(), IndexOf(writer.space(), lhs_side_, at.batch, at.k, at.row)));
  }
  std::string RhsValue(ValueWriter& writer, const ProductPlace& at) const override {
    return Converted(rhs(), writer.Value(rhs(), IndexOf(writer.space(), rhs_side_, at.batch, at.k, at.column)));
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
  struct Group {
    IntList dimensions, sizes;
    int64_t count = 1;
  };
  struct Side {
    Group batch, contracting, free;
  };

  static void ReadSide(const Instruction& operand, const IntList& batch, const IntList& contracting, Side* side) {
    auto add = [&](Group& group, int64_t d) {
      group.dimensions.push_back(d);
      group.sizes.push_back(operand.shape().dimension(static_cast<int>(d)));
      group.count *= group.sizes.back();
    };
    for (int64_t d : batch) add(side->batch, d);
    for (int64_t d : contracting) add(side->contracting, d);
    for (int64_t d = 0; d < operand.shape().rank(); ++d) {
      if (std::ranges::find(batch, d) == batch.end() && std::ranges::find(contracting, d) == contracting.end())
        add(side->free, d);
    }
  }

  static MultiIndex IndexOf(IndexSpace& space, const Side& side, const IndexExpression& batch, const IndexExpression& k,
                            const IndexExpression& free) {
    MultiIndex index(side.batch.sizes.size() + side.contracting.sizes.size() + side.free.sizes.size());
    auto place = [&](const Group& group, const IndexExpression& linear) {
      const MultiIndex part = space.Delinearize(linear, group.sizes);
      for (size_t i = 0; i < part.size(); ++i) index[static_cast<size_t>(group.dimensions[i])] = part[i];
    };
    place(side.batch, batch);
    place(side.contracting, k);
    place(side.free, free);
    return index;
  }

  bool AlongK(const Instruction& operand, const Side& side) const {
    IndexSpace space;
    const IndexExpression batch = space.Variable(space.AddVariable(side.batch.count));
    const int k = space.AddVariable(side.contracting.count);
    const IndexExpression free = space.Variable(space.AddVariable(side.free.count));
    return RunsAlong(space, operand, IndexOf(space, side, batch, space.Variable(k), free), k);
  }

  Side lhs_side_, rhs_side_;
};

std::vector<Step> LowerReader(const LowerContext& context, const DotReader& reader, BufferMap& buffers) {
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

Result<std::vector<Step>> LowerDotAs(const LowerContext& context, const FusionDescription& body, BufferMap& buffers,
                                     const DotShape& shape) {
  const DotReader reader(body);
  return LowerProductAs(context, reader, buffers, shape);
}

}  // namespace VXLA_NAMESPACE::vulkan
