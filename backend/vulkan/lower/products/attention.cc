// Attention as one kernel (attention/forward.comp, attention/forward_quads.comp where registers allow, or
// attention/matrices.comp on matrix units).
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "backend/vulkan/codegen/hook.h"
#include "backend/vulkan/codegen/scalar_computation.h"
#include "backend/vulkan/lower/products/product.h"
#include "backend/vulkan/lower/products/quad_loads.h"
#include "backend/vulkan/spirv/matrix_types.h"
#include "core/maps/dot_sides.h"
#include "core/numerics/reducer_facts.h"
#include "core/passes/base/fusion_rules.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

class AttentionWriter {
 public:
  AttentionWriter(const LowerContext& context, const FusionDescription& body, BufferMap& buffers,
                  const AttentionShape& shape)
      : context_(context), body_(body), attention_(*body.attention), buffers_(buffers), shape_(shape) {}

  std::vector<Step> Write() {
    const Attention& a = attention_;
    const int64_t results = a.batches * a.rows * a.columns;
    if (shape_.parts > 1) {
      part_sums_ = buffers_.Scratch(4 * results * shape_.parts);
      part_statistics_ = buffers_.Scratch(8 * a.batches * a.rows * shape_.parts);
    }
    const int64_t row_tiles = CeilDivide(a.rows, shape_.rows()), groups = a.batches * row_tiles * shape_.parts;
    KernelBuilder kernel(context_.facts);
    kernel.Params({{"GROUP_COUNT", groups},
                   {"ROW_TILES", row_tiles},
                   {"ROW_COUNT", a.rows},
                   {"KEY_COUNT", a.keys},
                   {"KEY_PARTS", shape_.parts},
                   {"PART_KEYS", shape_.part_keys}});
    shape_.matrix ? WriteMatrixDefines(kernel) : WriteDefines(kernel);
    WriteLoads(kernel);
    WriteLogit(kernel);
    shape_.parts > 1 ? WritePartStores(kernel) : WriteStores(kernel, shape_.matrix.has_value() || shape_.quads);
    const char* algorithm = shape_.matrix  ? "attention/matrices.comp"
                            : shape_.quads ? "attention/forward_quads.comp"
                                           : "attention/forward.comp";
    const std::vector<uint32_t> lanes =
        shape_.matrix ? std::vector<uint32_t>{context_.facts.matrix_lanes * shape_.lanes_y, 1u, 1u}
                      : std::vector<uint32_t>{shape_.lanes, shape_.lanes_y, 1u};
    std::vector<Step> steps{kernel.Finish(StepName(body_), algorithm, lanes, groups)};
    steps[0].kernel.small_subgroups = true;
    steps[0].flop = 2 * a.batches * a.rows * a.keys * (a.depth + a.columns);
    if (shape_.parts > 1) steps.push_back(WriteJoin());
    return steps;
  }

 private:
  enum Parameter { kBatch, kRow, kKey, kDepthUnit, kColumnUnit, kColumn };
  struct Function : Hook {
    Function(const AttentionWriter& of, KernelBuilder& kernel) : Function(of, kernel, UnitsOf(of.attention_.depth)) {}
    Function(const AttentionWriter& of, KernelBuilder& kernel, int64_t depth_units)
        : Hook(kernel, of.body_, of.buffers_,
               {{"batch", of.attention_.batches},
                {"row", of.attention_.rows},
                {"key", of.attention_.keys},
                {"unit", depth_units},
                {"unit", UnitsOf(of.attention_.columns)},
                {"column", of.attention_.columns}}),
          place{at(kBatch), at(kRow), at(kKey), at(kDepthUnit), at(kColumn)} {}
    AttentionPlace place;
  };

  void WriteDefines(KernelBuilder& kernel) const {
    const int64_t lanes = shape_.lanes;
    kernel.Append("#define X {}u\n#define Y {}u\n#define TM {}u\n#define TC {}u\n", lanes, shape_.lanes_y,
                  shape_.tile_rows, shape_.tile_keys);
    // A driver takes most of a load for what is long.
    const bool any = context_.facts.is_any_device();
    if (shape_.quads) {
      constexpr int64_t kMostOperations = 1024;
      const bool rolled = LogitOperations() * shape_.tile_rows * shape_.tile_keys > kMostOperations;
      kernel.Append("#define ROLLED {}\n#define MULTIPLY_ADD_QUAD(sum, a, b) {}\n", rolled ? 1 : 0,
                    FloatMultiplyAdd("vec4", FusesTerms(context_.facts)));
    } else {
      kernel.Append("#define TN {}u\n#define TOGETHER {}u\n#define KEYS_TOGETHER {}u\n",
                    CeilDivide(attention_.columns, lanes), any ? 1 : shape_.tile_rows,
                    any || shape_.keys() % 4 != 0 ? 1 : 4);
    }
    kernel.Append("#define DEPTH {}u\n#define COLUMNS {}u\n#define CAUSAL {}\n#define PARTS {}\n", attention_.depth,
                  attention_.columns, attention_.causal ? 1 : 0, shape_.parts > 1 ? 1 : 0);
    kernel.Append("#define MULTIPLY_ADD(sum, a, b) {}\n", FloatMultiplyAdd("float", FusesTerms(context_.facts)));
  }

  // What is computed of a score for its logit.
  int64_t LogitOperations() const {
    TargetInfo target;
    target.emulates_i64 = !context_.facts.int64;
    target.emulates_f64 = !context_.facts.float64;
    std::vector<const Instruction*> seen = {attention_.scores}, open = {attention_.logits};
    int64_t operations = 0;
    while (!open.empty()) {
      const Instruction* i = open.back();
      open.pop_back();
      const bool computed = std::ranges::find(body_.computed, i) != body_.computed.end();
      if (!computed || std::ranges::find(seen, i) != seen.end()) continue;
      seen.push_back(i);
      operations += ExpandedOperations(*i, target);
      open.insert(open.end(), i->operands().begin(), i->operands().end());
    }
    return operations;
  }

  // void <head>, uint unit, out ...) of an operand's values: four of them, or as many words as matrix units take.
  void WriteLoad(KernelBuilder& kernel, std::string_view head, const Instruction& operand, bool of_depths,
                 MultiIndex AttentionIndices::*index) const {
    Function f(*this, kernel, shape_.matrix ? attention_.depth / 8 : UnitsOf(attention_.depth));
    const auto index_at = [&](const IndexExpression& place) {
      (of_depths ? f.place.depth : f.place.column) = place;
      return IndicesOf(attention_, f.space, f.place).*index;
    };
    const std::string counted = fmt::format("{}, uint unit", head);
    const Parameter unit = of_depths ? kDepthUnit : kColumnUnit;
    if (shape_.matrix) return DefineWords(f, counted, operand, unit, of_depths ? 8 : 4, shape_.matrix->term, index_at);
    WriteQuad(f.writer, unit, of_depths ? attention_.depth : attention_.columns,
              [&](const IndexExpression& place) { return ToF32(operand, f.writer.Value(operand, index_at(place))); });
    f.Define(fmt::format("void {}, out float quad[4])", counted));
  }
  void WriteLoads(KernelBuilder& kernel) const {
    const Instruction &scores = *attention_.scores, &product = *attention_.product;
    WriteLoad(kernel, "load_query(uint batch, uint row", *scores.operand(attention_.queries), true,
              &AttentionIndices::query);
    WriteLoad(kernel, "load_key(uint batch, uint key", *scores.operand(1 - attention_.queries), true,
              &AttentionIndices::key);
    WriteLoad(kernel, "load_value(uint batch, uint key", *product.operand(1 - attention_.weights), false,
              &AttentionIndices::value);
  }

  void WriteMatrixDefines(KernelBuilder& kernel) const {
    kernel.Append("#undef Sum\n#define Sum float\n" + spirv::MatrixDefines(*shape_.matrix, context_.facts));
    kernel.Append(
        "#define SUBGROUPS {}u\n#define KEYS {}u\n#define KEY_TAIL {}\n#define DEPTH {}u\n#define COLUMNS {}u\n"
        "#define CAUSAL {}\n"
        "#define PARTS {}\n#define WEIGHT_PAIR(low, high) encode_number_pair_{}(low, high)\n",
        shape_.lanes_y, shape_.lanes, attention_.keys % shape_.lanes == 0 ? 0 : 1, attention_.depth, attention_.columns,
        attention_.causal ? 1 : 0, shape_.parts > 1 ? 1 : 0, ElementTypeName(shape_.matrix->term));
  }

  void WriteLogit(KernelBuilder& kernel) const {
    Function f(*this, kernel);
    const AttentionIndices indices = IndicesOf(attention_, f.space, f.place);
    f.writer.Override(*attention_.scores, indices.scores, ElementType::kF32, "score");
    const std::string value = f.writer.Value(*attention_.logits, indices.logits);
    f.Return("float logit(uint batch, uint row, uint key, float score)", ToF32(*attention_.logits, value));
    if (attention_.causal) WriteMask(kernel);
    kernel.Append("#define SCALED {}\n", attention_.scaled ? 1 : 0);
    if (attention_.scaled) WriteScale(kernel);
  }

  // A weight as the product takes it.
  void WriteScale(KernelBuilder& kernel) const {
    Function f(*this, kernel);
    const Instruction &quotient = *attention_.quotient, &product = *attention_.product;
    const Instruction& weights = *product.operand(attention_.weights);
    f.writer.Override(quotient, QuotientIndex(attention_, f.space, f.place), ElementType::kF32, "weight");
    const MultiIndex index =
        SideOf(product, attention_.weights).IndexOf(f.space, f.place.batch, f.place.key, f.place.row);
    f.Return("float scaled(uint batch, uint row, uint key, float weight)",
             ToF32(weights, f.writer.Value(weights, index)));
  }

  void WriteMask(KernelBuilder& kernel) const {
    Function f(*this, kernel);
    const CausalMask& mask = *attention_.causal;
    f.Return("bool sees(uint batch, uint row, uint key)",
             f.writer.Value(*mask.compare, CausalIndexOf(attention_, f.space, f.place)));
    const auto hidden = static_cast<float>(mask.hidden);
    kernel.Append("#define HIDDEN {}\n", ConstantText(ElementType::kF32, &hidden));
  }

  void WriteStores(KernelBuilder& kernel, bool in_quads = false) const {
    WriteStore(kernel, in_quads ? 4 : 1);
    WriteStatistics(kernel);
  }

  void WritePartStores(KernelBuilder& kernel) const {
    const int sums = kernel.AddBuffer(ElementType::kF32, Access::kWrite, part_sums_);
    const int statistics = kernel.AddBuffer(ElementType::kF32, Access::kWrite, part_statistics_);
    kernel.Append("void store_part(uint i, float value) {{ {} }}\n", kernel.Store(sums, "i", "value"));
    kernel.Append("void store_part_statistics(uint i, float largest, float total) {{ {} {} }}\n",
                  kernel.Store(statistics, "2u * i", "largest"), kernel.Store(statistics, "2u * i + 1u", "total"));
  }

  Step WriteJoin() const {
    constexpr uint32_t kJoinLanes = 64;
    const int64_t rows = attention_.batches * attention_.rows, results = rows * attention_.columns;
    KernelBuilder kernel(context_.facts);
    kernel.Params(
        {{"RESULT_COUNT", results}, {"ALL_ROWS", rows}, {"ROW_COUNT", attention_.rows}, {"KEY_PARTS", shape_.parts}});
    const int sums = kernel.AddBuffer(ElementType::kF32, Access::kRead, part_sums_);
    const int statistics = kernel.AddBuffer(ElementType::kF32, Access::kRead, part_statistics_);
    kernel.Append("#define COLUMNS {}u\n", attention_.columns);
    kernel.Append("float part_sum(uint i) {{ return {}; }}\n", kernel.Load(sums, "i"));
    kernel.Append("float part_largest(uint i) {{ return {}; }}\n", kernel.Load(statistics, "2u * i"));
    kernel.Append("float part_total(uint i) {{ return {}; }}\n", kernel.Load(statistics, "2u * i + 1u"));
    WriteStores(kernel);
    return kernel.Finish(StepName(body_) + " join", "attention/join.comp", {kJoinLanes, 1, 1},
                         CeilDivide(results, kJoinLanes));
  }

  // store() of a result, or of four neighbouring columns.
  void WriteStore(KernelBuilder& kernel, int count) const {
    const Instruction& product = *attention_.product;
    Function f(*this, kernel);
    if (count > 1) f.writer.Vectorize(4, count);
    const std::vector<const Instruction*> moves = MovesBehind(attention_);
    const Shape& last = moves.empty() ? product.shape() : moves.back()->shape();
    std::vector<IndexExpression> places;
    std::vector<std::vector<std::string>> values(body_.roots.size());
    for (int j = 0; j < count; ++j) {
      if (count > 1) f.place.column = f.space.Add(f.space.Scale(f.space.Variable(4), count), {{}, j});
      const MultiIndex index =
          f.space.Delinearize(ResultIndex(attention_, f.space, f.place), product.shape().dimensions());
      places.push_back(f.space.Linearize(IndexBehind(moves, f.space, index), last.dimensions()));
      f.writer.Override(product, index, ElementType::kF32, count > 1 ? fmt::format("quad[{}]", j) : "value");
      for (size_t leaf = 0; leaf < values.size(); ++leaf) {
        const Instruction& root = *body_.roots[leaf];
        if (IsStatistic(root)) continue;
        values[leaf].push_back(f.writer.Value(root, f.space.Delinearize(places.back(), root.shape().dimensions())));
      }
    }
    for (size_t leaf = 0; leaf < values.size(); ++leaf) {
      if (!values[leaf].empty()) f.writer.StoreAt(f.writer.ResultTensor(static_cast<int>(leaf)), places, values[leaf]);
    }
    f.Define(fmt::format("void store(uint batch, uint row, uint {})",
                         count > 1 ? "unit, float quad[4]" : "column, float value"));
  }

  bool IsStatistic(const Instruction& root) const { return &root == attention_.largest || &root == attention_.total; }

  // Of rows' largest logits and totals, those that others read.
  void WriteStatistics(KernelBuilder& kernel) const {
    const bool any = std::ranges::any_of(body_.roots, [&](const Instruction* root) { return IsStatistic(*root); });
    kernel.Append("#define STATISTICS {}\n", any ? 1 : 0);
    if (!any) return;
    // What every logit of -inf adds is NaN to the separate operations, but for those that subtract 0 then.
    kernel.Append("float row_total(float largest, float total) {{ return {}; }}\n",
                  attention_.guards.empty()
                      ? "largest == -inf_f32() ? nan_f32() : total"
                      : "largest == -inf_f32() ? 0.0f : largest == inf_f32() ? inf_f32() : total");
    Function f(*this, kernel);
    for (size_t leaf = 0; leaf < body_.roots.size(); ++leaf) {
      const Instruction& root = *body_.roots[leaf];
      if (!IsStatistic(root)) continue;
      const bool of_total = &root == attention_.total;
      const MultiIndex index = StatisticIndex(attention_, f.space, f.place, of_total);
      const int k = f.writer.ResultTensor(static_cast<int>(leaf));
      f.writer.Line(kernel.Store(k, f.writer.Index(f.space.Linearize(index, root.shape().dimensions())),
                                 FromF32(root, of_total ? "total" : "largest")));
    }
    f.Define("void store_statistics(uint batch, uint row, float largest, float total)");
  }

  const LowerContext& context_;
  const FusionDescription& body_;
  const Attention& attention_;
  BufferMap& buffers_;
  const AttentionShape shape_;
  BufferSlice part_sums_, part_statistics_;
};

AttentionWork WorkOf(const DeviceFacts& facts, const Attention& a) {
  return {a.batches,
          a.rows,
          a.keys,
          a.depth,
          a.columns,
          a.causal.has_value(),
          MatrixOfDots(facts, std::array<const Instruction*, 2>{a.scores, a.product})};
}

}  // namespace

Status CanLowerAttention(const LowerContext& context, const FusionDescription& body) {
  const Attention& a = *body.attention;
  for (const Instruction* root : body.roots) {
    const bool statistic = root == a.largest || root == a.total;
    if (!statistic) VXLA_RETURN_IF_ERROR(CheckProductRoot(body, *root));
  }
  if (TuneAttention(context.facts, WorkOf(context.facts, a)).lanes > 0) return OkStatus();
  return Unsupported("{}: attention over {} and {} dimensions needs more than this device's {} bytes of shared memory",
                     body.instruction->name(), a.depth, a.columns, context.facts.max_shared_bytes);
}

Result<std::vector<Step>> LowerAttention(const LowerContext& context, const FusionDescription& body,
                                         BufferMap& buffers) {
  const Attention& a = *body.attention;
  const AttentionShape shape = TuneAttention(context.facts, WorkOf(context.facts, a));
  return AttentionWriter(context, body, buffers, shape).Write();
}

}  // namespace VXLA_NAMESPACE::vulkan
