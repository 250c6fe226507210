// Products whose rows a row program reads (reduce/product_rows.comp).
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "backend/vulkan/codegen/hook.h"
#include "backend/vulkan/lower/products/product.h"
#include "backend/vulkan/lower/rows/row_program.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

struct ProductOfRowsShape {
  uint32_t lanes = 4, rows = 64, turns = 1;  // of a row, of a workgroup, of a lane
  uint32_t strip = 8;                        // quads along k of what operands keep in shared memory
  uint32_t invocations() const { return lanes * rows / turns; }
  uint32_t wide(uint32_t column_quads) const { return std::min(column_quads, invocations()); }
};

// As declared in product_rows.comp.
uint32_t SharedBytes(const ProductOfRowsShape& shape, uint32_t column_quads, bool rhs_along_k) {
  const uint32_t product = shape.rows * column_quads;
  const uint32_t rhs = rhs_along_k ? 4 * shape.wide(column_quads) * shape.strip : 0;
  const bool one_turn = shape.wide(column_quads) == column_quads;
  return 16 * (2 * shape.rows * shape.strip + (one_turn ? std::max(product, rhs) : product + rhs));
}

// Eight rows of the product to an invocation, as there is shared memory for two workgroups, and fewer where they would
// not keep the device busy. A lane holds four groups of four columns of a row at a time, where so many lanes can share
// one: a softmax of twice as many is more code (35 KB) than a GPU's instruction cache holds (32).
ProductOfRowsShape TuneProductOfRows(const DeviceFacts& facts, const DotWork& work, bool rhs_along_k) {
  const auto column_quads = static_cast<uint32_t>(work.columns / 4);
  const uint32_t most = std::min({256u, facts.max_workgroup_invocations, facts.max_workgroup_size[0]});
  const uint32_t bytes = std::min(facts.max_shared_bytes, 40960u);
  ProductOfRowsShape shape;
  const auto divides = [&](uint32_t lanes) { return column_quads % lanes == 0 && lanes <= facts.subgroup_size; };
  while (divides(2 * shape.lanes) && column_quads / shape.lanes > 4) shape.lanes *= 2;
  shape.rows = std::min(64u, std::bit_floor(std::max(1u, 8 * most / column_quads)));
  // A strip of all columns takes up to four quads of an invocation's registers, and leaves memory for the rows.
  while (rhs_along_k && shape.strip > 1 && column_quads * shape.strip > std::min(most, bytes / 80)) shape.strip /= 2;
  const int64_t wanted =
      std::max<int64_t>(1, facts.compute_units > 0 ? facts.compute_units : facts.busy_workgroups / 8);
  const auto is_small = [&] { return work.batches * work.rows / shape.rows < wanted && shape.rows > 8; };
  const auto is_idle = [&] { return shape.rows / 2 >= work.rows; };
  const auto fits = [&] { return SharedBytes(shape, column_quads, rhs_along_k) <= bytes; };
  while (shape.rows > 1 && (!fits() || is_small() || is_idle())) shape.rows /= 2;
  while (shape.rows * shape.lanes < most && divides(2 * shape.lanes)) shape.lanes *= 2;
  shape.turns = std::max(1u, shape.rows * shape.lanes / most);
  return shape;
}

class ProductOfRows {
 public:
  ProductOfRows(const LowerContext& context, const FusionDescription& body)
      : context_(context),
        body_(WithHero(body)),
        reader_(ReadDot(body_)),
        shape_(TuneProductOfRows(context.facts, work(), RhsAlongK())) {}

  uint32_t column_quads() const { return static_cast<uint32_t>(reader_->work.columns / 4); }
  bool RhsAlongK() const { return reader_->AlongK(false); }
  const DotWork& work() const { return reader_->work; }
  const ProductOfRowsShape& shape() const { return shape_; }
  uint32_t shared_bytes() const { return SharedBytes(shape_, column_quads(), RhsAlongK()); }

  void Write(KernelBuilder& kernel, BufferMap& buffers) const {
    const uint32_t wide = shape_.wide(column_quads()), groups = shape_.invocations() / wide;
    kernel.Append(QuadSums(ElementType::kF32, FusesTerms(context_.facts)));
    kernel.Append("#define Quad vec4\n");
    kernel.Append(
        "#define ROWS {}u\n#define INVOCATIONS {}u\n#define TERM_QUADS {}\n#define COLUMN_QUADS {}u\n#define ROWS_OWN "
        "{}u\n#define WIDE {}u\n#define STRIP {}u\n#define RHS_ALONG_K {}\n",
        shape_.rows, shape_.invocations(), kernel.Data(work().k / 4), column_quads(), CeilDivide(shape_.rows, groups),
        wide, shape_.strip, RhsAlongK() ? 1 : 0);
    WriteBatches(kernel);
    WriteLoad(kernel, buffers, true);
    WriteLoad(kernel, buffers, false);
  }

 private:
  static FusionDescription WithHero(const FusionDescription& body) {
    FusionDescription product = body;
    product.hero = body.product;
    return product;
  }

  void WriteBatches(KernelBuilder& kernel) const {
    if (work().batches == 1) return kernel.Append("#define BATCHED 0\n#define BATCH_ROWS UNIT_COUNT\n");
    const int64_t row_groups = CeilDivide(work().rows, shape_.rows);
    kernel.Append("#define BATCHED 1\n#define BATCH_ROWS {}\n#define ROW_GROUPS {}\n#define BATCH_OF(group) {}\n",
                  kernel.Data(work().rows), kernel.Data(row_groups), kernel.Divide("(group)", row_groups));
  }

  // Four neighbours along k, or four columns.
  void WriteLoad(KernelBuilder& kernel, BufferMap& buffers, bool lhs) const {
    const bool along_k = lhs || RhsAlongK();
    Hook f(kernel, body_, buffers,
           {{"product_batch", work().batches},
            {"row", work().rows},
            {"k", along_k ? work().k / 4 : work().k},
            {"column", along_k ? work().columns : work().columns / 4}});
    f.writer.Vectorize(along_k ? 2 : 3, 4);
    std::vector<std::string> values;
    for (int64_t j = 0; j < 4; ++j) {
      ProductPlace at = {f.at(0), f.at(1), f.at(2), f.at(3)};
      (along_k ? at.k : at.column) = f.Nth(along_k ? 2 : 3, 4, j);
      values.push_back(reader_->Value(f.writer, lhs, at));
    }
    f.writer.Line("return vec4({});", fmt::join(values, ", "));
    f.Define(fmt::format("vec4 {}", lhs ? "load_lhs(uint row, uint k)" : "load_rhs(uint k, uint column)"));
  }

  const LowerContext& context_;
  const FusionDescription body_;  // whose hero is the product
  const std::unique_ptr<ProductReader> reader_;
  const ProductOfRowsShape shape_;
};

}  // namespace

Status CanLowerProductOfRows(const LowerContext& context, const FusionDescription& body) {
  const DeviceFacts& facts = context.facts;
  const ProductOfRows product(context, body);
  const ProductOfRowsShape& tile = product.shape();
  const bool shares = facts.subgroup_shuffle && tile.lanes <= facts.subgroup_size &&
                      product.column_quads() % tile.lanes == 0 && tile.invocations() % facts.subgroup_size == 0;
  if (shares && product.shared_bytes() <= facts.max_shared_bytes) return OkStatus();
  return Unsupported("{}: {} cannot hold rows of {} columns for the lanes of a subgroup", body.instruction->name(),
                     facts.name, body.rows->row_size);
}

Step LowerProductOfRows(const LowerContext& context, const FusionDescription& body, RowProgram program) {
  const ProductOfRows product(context, body);
  const uint32_t steps = product.column_quads();
  const ProductOfRowsShape& tile = product.shape();
  RowShape shape;
  shape.lanes = tile.lanes;
  shape.rows_per_group = tile.rows;
  shape.width = 4;
  shape.chunk = steps;
  shape.held = steps / tile.lanes;
  program.live_rows = program.live_elements = {};  // all of it: no lane leaves the others
  program.product = body.product;
  program.turns = tile.turns;
  program.batches = product.work().batches;
  program.write_product = [&](KernelBuilder& kernel) { product.Write(kernel, *program.buffers); };
  program.flop += 2 * program.rows * program.row_size * product.work().k;
  Step step = WriteRowKernel(context, program, {shape, {}});
  step.accumulations.insert(step.accumulations.begin(),
                            {{PathOf(*body.product)}, {.chunk = product.work().k, .fused = FusesTerms(context.facts)}});
  return step;
}

}  // namespace VXLA_NAMESPACE::vulkan
