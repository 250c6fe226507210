#include "backend/vulkan/lower/products/product_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/passes/base/fusion_rules.h"

namespace VXLA_NAMESPACE::vulkan {

std::vector<IndexExpression> ProductParts::Columns(Hook& f) const {
  std::vector<IndexExpression> columns;
  for (int64_t j = 0; j < shape_.tile_columns; ++j) {
    if (WholeColumns()) {
      columns.push_back(f.Nth(kColumn, shape_.tile_columns, j));
      continue;
    }
    const std::string name = fmt::format("column_{}", j);
    f.writer.Line("uint {} = min(column * {}u + {}u, {} - 1u);", name, shape_.tile_columns, j,
                  f.writer.kernel().Param(reader_.work.columns));
    columns.push_back(f.space.Variable(f.writer.NewVariable(name, reader_.work.columns)));
  }
  return columns;
}

int64_t ProductParts::WriteHead(KernelBuilder& kernel, const Tiles& tiles, int64_t units, int64_t steps,
                                int64_t share) const {
  const int64_t groups = reader_.work.batches * tiles.rows * tiles.columns * shape_.splits;
  kernel.Params({{"GROUP_COUNT", groups},
                 {"ROW_TILES", tiles.rows},
                 {"COLUMN_TILES", tiles.columns},
                 {"ROW_COUNT", reader_.work.rows},
                 {"UNIT_COUNT", units},
                 {"STEP_COUNT", steps},
                 {"SHARES", shape_.splits},
                 {"SHARE_STEPS", share}});
  kernel.Append(ProductTypes(reader_, FusesTerms(context_.facts)));
  kernel.Append("#define SPLIT {}\n", shape_.splits > 1 ? 1 : 0);
  return groups;
}

void ProductParts::StoreSums(Hook& f, const std::vector<IndexExpression>& columns,
                             const std::vector<std::string>& sums) const {
  const IndexExpression batch = f.at(kBatch), row = f.at(kRow);
  std::vector<IndexExpression> at;
  for (const IndexExpression& column : columns) at.push_back(reader_.Linear(f.space, {batch, row, {}, column}));
  KernelBuilder& kernel = f.writer.kernel();
  const auto exists = [&](size_t j) {
    return WholeColumns()
               ? ""
               : fmt::format("column * {}u + {}u < {}", shape_.tile_columns, j, kernel.Param(reader_.work.columns));
  };
  auto store = [&](int k, const std::vector<std::string>& values, const std::vector<IndexExpression>& places) {
    f.writer.StoreAt(k, places, values, WholeColumns(), exists);
  };
  if (shape_.splits > 1) {
    const int k = kernel.AddBuffer(reader_.sum_type, Access::kWrite, shares_);
    const int64_t results = reader_.results();
    for (IndexExpression& place : at) place = f.space.Add(f.space.Scale(f.at(kShare), results), place);
    return store(k, sums, at);
  }
  for (size_t j = 0; j < sums.size(); ++j) reader_.PublishSum(f.writer, at[j], sums[j]);
  std::vector<std::vector<std::string>> values;
  for (const Instruction* root : reader_.body().roots) {
    values.emplace_back();
    for (const IndexExpression& place : at) values.back().push_back(reader_.RootValue(f.writer, *root, place));
  }
  for (size_t leaf = 0; leaf < values.size(); ++leaf)
    store(f.writer.ResultTensor(static_cast<int>(leaf)), values[leaf], at);
}

void ProductParts::StateOrder(Step* step, int64_t block, int64_t share, bool fused) const {
  step->accumulations = {{{PathOf(reader_.hero())},
                          {.block = block,
                           .shares = shape_.splits,
                           .chunk = share,
                           .fused = fused && reader_.sum_type == ElementType::kF32 && !reader_.wide}}};
}

uint32_t ProductParts::BlockSteps() const {
  const DotWork& work = reader_.work;
  const bool large = work.batches * work.rows * work.columns * work.k >= int64_t{1} << 27;
  int64_t values = large ? 256 : 32;
  while (values * values < work.k && values < 256) values *= 2;
  return static_cast<uint32_t>(std::max<int64_t>(values / shape_.k_step, 1));
}

int64_t ProductParts::EpilogueOperations() const {
  int64_t operations = 0;
  TargetInfo target;
  target.emulates_i64 = !context_.facts.int64;
  target.emulates_f64 = !context_.facts.float64;
  for (const Instruction* i : reader_.body().computed) operations += ExpandedOperations(*i, target);
  return operations;
}

bool ProductParts::RollsColumns() const {
  constexpr int64_t kMostOperations = 12;
  const bool whole_words = std::ranges::all_of(
      reader_.body().roots, [](const Instruction* root) { return StorageBytes(root->shape().element_type()) >= 4; });
  return context_.facts.is_any_device() && whole_words && shape_.splits == 1 && EpilogueOperations() > kMostOperations;
}

void ProductParts::WriteUnitStore(KernelBuilder& kernel) const {
  const uint32_t width = shape_.tile_columns;
  Code body;
  if (RollsColumns()) {
    WriteColumnStore(kernel, "store_column");
    const std::string columns = kernel.Data(reader_.work.columns);
    body = fmt::format(
        "  [[dont_unroll]] for (uint j = 0u; j < {0}u; ++j) {{\n    if (column * {0}u + j < {1}) store_column("
        "batch, row, column * {0}u + j, share, sums[0]);\n",
        width, columns);
    for (uint32_t j = 1; j < width; ++j) body += fmt::format("    sums[{}] = sums[{}];\n", j - 1, j);
    body += "  }\n";
  } else {
    Hook f = Begin(kernel, reader_.work.rows, 1, WholeColumns() ? ColumnUnits() : reader_.work.columns);
    if (WholeColumns()) Vectorize(f, kColumn, width);
    std::vector<std::string> sums;
    for (uint32_t j = 0; j < width; ++j) sums.push_back(fmt::format("sums[{}]", j));
    StoreSums(f, Columns(f), sums);
    body = f.writer.Take();
  }
  kernel.Define(fmt::format("void store(uint batch, uint row, uint column, uint share, Sum sums[{}])", width),
                std::move(body));
}

void ProductParts::WriteColumnStore(KernelBuilder& kernel, std::string_view name) const {
  Hook f = Begin(kernel, reader_.work.rows, 1, reader_.work.columns);
  OfColumns(1).StoreSums(f, {f.at(kColumn)}, {"sum"});
  f.Define(fmt::format("void {}(uint batch, uint row, uint column, uint share, Sum sum)", name));
}

}  // namespace VXLA_NAMESPACE::vulkan
