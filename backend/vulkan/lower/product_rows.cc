// Products whose rows a row program reads (reduce/product_rows.comp).
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "backend/vulkan/lower/product.h"
#include "backend/vulkan/lower/row_program.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

constexpr uint32_t kStrip = 8;  // quads along k of a strip of the left operand

struct ProductOfRowsShape {
  uint32_t lanes = 4, rows = 64, turns = 1;  // of a row, of a workgroup, of a lane
  uint32_t invocations() const { return lanes * rows / turns; }
  uint32_t wide(uint32_t column_quads) const { return std::min(column_quads, invocations()); }
};

uint32_t SharedBytes(uint32_t rows, uint32_t column_quads) { return 16 * rows * (column_quads + 2 * kStrip); }

// Eight rows of the product to an invocation, as there is shared memory for two workgroups, and fewer where they would
// not keep the device busy. A lane holds four groups of four columns of a row at a time, where so many lanes can share
// one: a softmax of twice as many is more code (35 KB) than a GPU's instruction cache holds (32).
ProductOfRowsShape TuneProductOfRows(const DeviceFacts& facts, int64_t rows, uint32_t column_quads) {
  const uint32_t most = std::min({256u, facts.max_workgroup_invocations, facts.max_workgroup_size[0]});
  const uint32_t bytes = std::min(facts.max_shared_bytes, 40960u);
  ProductOfRowsShape shape;
  const auto divides = [&](uint32_t lanes) { return column_quads % lanes == 0 && lanes <= facts.subgroup_size; };
  while (divides(2 * shape.lanes) && column_quads / shape.lanes > 4) shape.lanes *= 2;
  shape.rows = std::min(64u, std::bit_floor(std::max(1u, 8 * most / column_quads)));
  const int64_t wanted =
      std::max<int64_t>(1, facts.compute_units > 0 ? facts.compute_units : facts.busy_workgroups / 8);
  const auto is_small = [&] { return rows / shape.rows < wanted && shape.rows > 8; };
  while (shape.rows > 1 && (SharedBytes(shape.rows, column_quads) > bytes || is_small())) shape.rows /= 2;
  while (shape.rows * shape.lanes < most && divides(2 * shape.lanes)) shape.lanes *= 2;
  shape.turns = std::max(1u, shape.rows * shape.lanes / most);
  return shape;
}

class ProductOfRows {
 public:
  ProductOfRows(const LowerContext& context, const FusionDescription& body, BufferMap& buffers)
      : context_(context), buffers_(buffers), body_(WithHero(body)), reader_(ReadDot(body_)) {}

  uint32_t column_quads() const { return static_cast<uint32_t>(reader_->work.columns / 4); }
  const DotWork& work() const { return reader_->work; }

  void Write(KernelBuilder& kernel, const ProductOfRowsShape& shape) const {
    const uint32_t groups = shape.invocations() / shape.wide(column_quads());
    kernel.Append(QuadSums(ElementType::kF32, context_.facts.fused_multiply_add));
    kernel.Append("#define Quad vec4\n");
    kernel.Append(fmt::format(
        "#define ROWS {}u\n#define INVOCATIONS {}u\n#define TERM_QUADS {}\n#define COLUMN_QUADS {}u\n#define ROWS_OWN "
        "{}u\n#define WIDE {}u\n#define STRIP {}u\n",
        shape.rows, shape.invocations(), kernel.Data(static_cast<uint32_t>(work().k / 4)), column_quads(),
        (shape.rows + groups - 1) / groups, shape.wide(column_quads()), kStrip));
    WriteLoad(kernel, true);
    WriteLoad(kernel, false);
  }

 private:
  static FusionDescription WithHero(const FusionDescription& body) {
    FusionDescription product = body;
    product.hero = body.product;
    return product;
  }

  // Four neighbours along k, or four columns.
  void WriteLoad(KernelBuilder& kernel, bool lhs) const {
    IndexSpace space;
    const int row = space.AddVariable(work().rows), k = space.AddVariable(lhs ? work().k / 4 : work().k);
    const int column = space.AddVariable(work().columns / 4);
    ValueWriter writer(kernel, body_, buffers_, space);
    writer.Bind(row, "row");
    writer.Bind(k, "k");
    writer.Bind(column, "column");
    writer.Vectorize(lhs ? k : column, 4);
    std::vector<std::string> values;
    for (int64_t j = 0; j < 4; ++j) {
      const auto nth = [&](int variable) { return space.Add(space.Scale(space.Variable(variable), 4), {{}, j}); };
      const ProductPlace at = {{}, space.Variable(row), lhs ? nth(k) : space.Variable(k), nth(column)};
      values.push_back(lhs ? reader_->LhsValue(writer, at) : reader_->RhsValue(writer, at));
    }
    writer.Line(fmt::format("return vec4({});", fmt::join(values, ", ")));
    kernel.Append(fmt::format("vec4 {} {{\n{}}}\n",
                              lhs ? "load_lhs(uint row, uint k)" : "load_rhs(uint k, uint column)", writer.Take()));
  }

  const LowerContext& context_;
  BufferMap& buffers_;
  const FusionDescription body_;  // whose hero is the product
  const std::unique_ptr<ProductReader> reader_;
};

}  // namespace

Status CanLowerProductOfRows(const LowerContext& context, const FusionDescription& body) {
  const DeviceFacts& facts = context.facts;
  const auto column_quads = static_cast<uint32_t>(body.rows->row_size / 4);
  const ProductOfRowsShape tile = TuneProductOfRows(facts, body.rows->rows, column_quads);
  const bool shares = facts.subgroup_shuffle && tile.lanes <= facts.subgroup_size && column_quads % tile.lanes == 0 &&
                      tile.invocations() % facts.subgroup_size == 0;
  if (shares && SharedBytes(tile.rows, column_quads) <= facts.max_shared_bytes) return OkStatus();
  return Unsupported("{}: {} cannot hold rows of {} columns for the lanes of a subgroup", body.instruction->name(),
                     facts.name, body.rows->row_size);
}

Step LowerProductOfRows(const LowerContext& context, const FusionDescription& body, RowProgram program) {
  const ProductOfRows product(context, body, *program.buffers);
  const uint32_t steps = product.column_quads();
  const ProductOfRowsShape tile = TuneProductOfRows(context.facts, program.rows, steps);
  RowShape shape;
  shape.lanes = tile.lanes;
  shape.rows_per_group = tile.rows;
  shape.width = 4;
  shape.chunk = steps;
  shape.held = steps / tile.lanes;
  program.live_rows = program.live_elements = {};  // all of it: no lane leaves the others
  program.product = body.product;
  program.turns = tile.turns;
  program.write_product = [&](KernelBuilder& kernel) { product.Write(kernel, tile); };
  program.flop += 2 * program.rows * program.row_size * product.work().k;
  Step step = WriteRowKernel(context, program, {shape, {}});
  step.accumulations.insert(step.accumulations.begin(), {{PathOf(*body.product)}, {.chunk = product.work().k}});
  return step;
}

}  // namespace VXLA_NAMESPACE::vulkan
