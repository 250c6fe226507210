// Sums of what is made of products as one kernel (attention/chain.comp, or attention/chain_matrices.comp on matrix
// units).
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "backend/vulkan/codegen/hook.h"
#include "backend/vulkan/codegen/scalar_computation.h"
#include "backend/vulkan/lower/products/product.h"
#include "backend/vulkan/lower/products/quad_loads.h"
#include "backend/vulkan/lower/rows/reducer.h"
#include "backend/vulkan/spirv/matrix_types.h"
#include "core/ceil_divide.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// The product of the device's matrix units that all of the chain's products are.
std::optional<MatrixShape> MatrixOfChain(const DeviceFacts& facts, const ProductChain& chain) {
  std::vector<const Instruction*> dots;
  for (const ChainProduct& product : chain.products) dots.push_back(product.dot);
  for (const ChainSum& sum : chain.sums) {
    if (sum.over_batches()) return std::nullopt;
    if (sum.is_product()) dots.push_back(sum.hero);
  }
  return MatrixOfDots(facts, dots);
}

ChainWork WorkOfChain(const DeviceFacts& facts, const ProductChain& chain) {
  ChainWork work;
  work.rows = chain.rows;
  work.keys = chain.keys;
  work.reduces = !chain.sums[0].is_product();
  work.parts = chain.sums[0].parts;
  for (const ChainProduct& product : chain.products) work.depths.push_back(product.depth);
  for (const ChainSum& sum : chain.sums) {
    if (sum.is_product()) work.columns.push_back(sum.columns);
  }
  work.matrix = MatrixOfChain(facts, chain);
  return work;
}

// The terms of a chain's products, and what says how many there are.
class ChainTerms {
 public:
  ChainTerms(const LowerContext& context, const FusionDescription& body, BufferMap& buffers, const ChainShape& shape)
      : context_(context), body_(body), chain_(*body.chain), buffers_(buffers), shape_(shape) {}
  void WriteAllTerms(KernelBuilder& kernel) const {
    for (size_t p = 0; p < chain_.products.size(); ++p) WriteTerms(kernel, p);
    WriteChoice(kernel, "void load_row(uint which, uint batch, uint row, uint unit, out float quad[4])", "load_row_",
                "(batch, row, unit, quad)", chain_.products.size());
    WriteChoice(kernel, "void load_key(uint which, uint batch, uint key, uint unit, out float quad[4])", "load_key_",
                "(batch, key, unit, quad)", chain_.products.size());
  }

  enum Parameter { kBatch, kRow, kKey, kDepth, kColumn };
  struct Function : Hook {
    // Depths and columns are counted in units, of four or what `depths` says.
    Function(const ChainTerms& chain, KernelBuilder& kernel, int64_t depth, int64_t columns, int64_t depths = 4)
        : Hook(kernel, chain.body_, chain.buffers_,
               {{"batch", chain.chain_.batches},
                {"row", chain.chain_.rows},
                {"key", chain.chain_.keys},
                {"unit", CeilDivide(depth, depths)},
                {"unit", UnitsOf(columns)}}),
          place{at(kBatch), at(kRow), at(kKey), at(kDepth), at(kColumn)} {}
    // The same of a term whose rows or keys are counted in units of four.
    struct Across {
      bool of_row;
      int64_t depth;
    };
    Function(const ChainTerms& chain, KernelBuilder& kernel, const Across& terms)
        : Hook(kernel, chain.body_, chain.buffers_,
               {{"batch", chain.chain_.batches},
                {"0u", 1},
                {"depth", terms.depth},
                {"unit", UnitsOf(terms.of_row ? chain.chain_.rows : chain.chain_.keys)}}),
          place{at(0), {}, {}, at(2), {}} {}
    AttentionPlace place;
  };

  void WriteDefines(KernelBuilder& kernel) const {
    const auto choice = [](const std::vector<int64_t>& values) {
      return values.size() == 1 ? fmt::format("{}u", values[0])
                                : fmt::format("((which) == 0u ? {}u : {}u)", values[0], values[1]);
    };
    std::vector<int64_t> depths, units, of_rows, of_keys;
    for (const ChainProduct& product : chain_.products) {
      depths.push_back(product.depth);
      of_rows.push_back(AlongDepth(product, true) ? 1 : 0);
      of_keys.push_back(AlongDepth(product, false) ? 1 : 0);
    }
    for (const ChainSum& sum : chain_.sums) units.push_back(UnitsOf(sum.columns));
    kernel.Append("#define X {}u\n#define Y {}u\n#define CHUNK {}u\n#define PRODUCTS {}\n#define SUMS {}\n",
                  shape_.lanes, shape_.lanes_y, shape_.chunk, chain_.products.size(), chain_.sums.size());
    kernel.Append("#define DEPTHS {}u\n", context_.facts.is_any_device() ? 1 : 4);
    kernel.Append("#define DEPTH(which) {}\n#define REDUCES {}\n", choice(depths),
                  chain_.sums[0].is_product()     ? 0
                  : chain_.sums[0].over_batches() ? 2
                                                  : 1);
    kernel.Append("#define ROW_ALONG_DEPTH(which) ({} == 1u)\n#define KEY_ALONG_DEPTH(which) ({} == 1u)\n",
                  choice(of_rows), choice(of_keys));
    kernel.Append("#define MULTIPLY_ADD(sum, a, b) {}\n", FloatMultiplyAdd("vec4", FusesTerms(context_.facts)));
    if (!chain_.sums[0].is_product()) return;
    kernel.Append("#define TN {}u\n#define COLUMN_UNITS(which) {}\n#define VALUE_KEYS {}u\n", shape_.column_units,
                  choice(units), shape_.value_keys);
  }

  void WriteMatrixDefines(KernelBuilder& kernel) const {
    kernel.Append("#undef Sum\n#define Sum float\n" + spirv::MatrixDefines(*shape_.matrix, context_.facts));
    kernel.Append(
        "#define SUBGROUPS {}u\n#define KEYS {}u\n#define PRODUCTS {}\n#define SUMS {}\n#define REDUCES {}\n"
        "#define KEY_TAIL {}\n#define HOLDS_ROWS {}\n#define WEIGHT_PAIR(low, high) encode_rounded_pair_{}(low, "
        "high)\n",
        shape_.lanes_y, shape_.lanes, chain_.products.size(), chain_.sums.size(), chain_.sums[0].is_product() ? 0 : 1,
        chain_.keys % shape_.lanes == 0 ? 0 : 1, shape_.holds_rows ? 1 : 0, ElementTypeName(shape_.matrix->term));
    for (size_t p = 0; p < chain_.products.size(); ++p)
      kernel.Append("#define DEPTH_{} {}u\n", p, chain_.products[p].depth);
    for (size_t s = 0; s < chain_.sums.size(); ++s)
      kernel.Append("#define COLUMNS_{} {}u\n", s, chain_.sums[s].columns);
  }

  void WriteMatrixTerms(KernelBuilder& kernel) const {
    for (size_t p = 0; p < chain_.products.size(); ++p) {
      const ChainProduct& product = chain_.products[p];
      for (bool of_row : {true, false}) {
        const int operand = of_row ? product.rows : 1 - product.rows;
        const char* name = of_row ? "row" : "key";
        Function f(*this, kernel, product.depth, 1, 8);
        DefineWords(f, fmt::format("load_{0}_{1}(uint batch, uint {0}, uint unit", name, p),
                    *product.dot->operand(operand), kDepth, 8, shape_.matrix->term, [&](const IndexExpression& depth) {
                      f.place.depth = depth;
                      return TermIndex(chain_, product, operand, f.space, f.place);
                    });
      }
    }
  }

  // <head> { if (which == 0u) <call>0<arguments>; else ... }; the compiler knows which.
  static void WriteChoice(KernelBuilder& kernel, const char* head, const char* call, const char* arguments,
                          size_t count) {
    std::string text = fmt::format("{} {{\n", head);
    for (size_t k = 0; k + 1 < count; ++k)
      text += fmt::format("  if (which == {}u) {{ {}{}{}; }} else\n", k, call, k, arguments);
    kernel.Append(text + fmt::format("  {{ {}{}{}; }}\n}}\n", call, count - 1, arguments));
  }

  // Whether depths of the term lie side by side in memory, or nothing that could be loaded four at a time does.
  bool AlongDepth(const ChainProduct& product, bool of_row) const {
    const int operand = of_row ? product.rows : 1 - product.rows;
    const Instruction& term = *product.dot->operand(operand);
    const auto runs_along = [&](int variable) {
      IndexSpace space;
      for (int64_t size : {chain_.batches, chain_.rows, chain_.keys, product.depth, int64_t{1}})
        space.AddVariable(size);
      const AttentionPlace at{space.Variable(0), space.Variable(1), space.Variable(2), space.Variable(3), {}};
      return RunsAlong(body_, space, term, TermIndex(chain_, product, operand, space, at), variable);
    };
    return runs_along(3) || !runs_along(of_row ? 1 : 2);
  }

  void WriteTerms(KernelBuilder& kernel, size_t p) const {
    const ChainProduct& product = chain_.products[p];
    for (bool of_row : {true, false}) {
      const int operand = of_row ? product.rows : 1 - product.rows;
      const Instruction& term = *product.dot->operand(operand);
      const char* name = of_row ? "row" : "key";
      const bool along_depth = AlongDepth(product, of_row);
      const auto write = [&](Function&& f, int64_t count, const char* counted) {
        WriteQuad(f.writer, 3, count, [&](const IndexExpression& place) {
          (along_depth ? f.place.depth : of_row ? f.place.row : f.place.key) = place;
          return ToF32(term, f.writer.Value(term, TermIndex(chain_, product, operand, f.space, f.place)));
        });
        f.Define(fmt::format("void load_{}_{}(uint batch, uint {}, uint unit, out float quad[4])", name, p, counted));
      };
      if (along_depth) {
        write(Function(*this, kernel, product.depth, 1), product.depth, name);
      } else {
        write(Function(*this, kernel, Function::Across{of_row, product.depth}), of_row ? chain_.rows : chain_.keys,
              "depth");
      }
    }
  }

  const LowerContext& context_;
  const FusionDescription& body_;
  const ProductChain& chain_;
  BufferMap& buffers_;
  const ChainShape shape_;
};

class ChainWriter : ChainTerms {
 public:
  using ChainTerms::ChainTerms;

  Step Write() const {
    const int64_t row_tiles = CeilDivide(chain_.rows, shape_.rows()), parts = chain_.sums[0].parts;
    const int64_t key_tiles = parts > 0 ? CeilDivide(chain_.keys, shape_.keys()) : 1;
    const int64_t groups = chain_.batches / std::max<int64_t>(parts, 1) * row_tiles * key_tiles;
    KernelBuilder kernel(context_.facts);
    kernel.Params(
        {{"GROUP_COUNT", groups}, {"ROW_TILES", row_tiles}, {"ROW_COUNT", chain_.rows}, {"KEY_COUNT", chain_.keys}});
    if (parts > 0) kernel.Params({{"KEY_TILES", key_tiles}, {"BATCH_PARTS", parts}});
    shape_.matrix ? WriteMatrixDefines(kernel) : WriteDefines(kernel);
    shape_.matrix ? WriteMatrixTerms(kernel) : WriteAllTerms(kernel);
    WriteWeights(kernel);
    WriteMask(kernel);
    chain_.sums[0].is_product() ? WriteProducts(kernel) : WriteReduction(kernel);
    const uint32_t lanes = shape_.matrix ? context_.facts.matrix_lanes * shape_.lanes_y : shape_.lanes;
    Step step = kernel.Finish(StepName(body_), shape_.matrix ? "attention/chain_matrices.comp" : "attention/chain.comp",
                              {lanes, shape_.matrix ? 1u : shape_.lanes_y, 1}, groups);
    step.kernel.small_subgroups = true;
    int64_t a_score = 0;
    for (const ChainProduct& product : chain_.products) a_score += product.depth;
    for (const ChainSum& sum : chain_.sums) a_score += sum.is_product() ? sum.columns : 1;
    step.flop = 2 * chain_.batches * chain_.rows * chain_.keys * a_score;
    return step;
  }

 private:
  // The weights of all sums at four places, rows of a key or, on matrix units, keys of a row.
  void WriteWeights(KernelBuilder& kernel) const {
    // Together what they have in common is computed once, and divisions of all places share their integers
    // (codegen/passes/group_divisions.h): 144 registers and 15 KB instead of 192 and 24 of an attention's gradient on
    // RDNA 3. Text that is long for one place (gelu's derivative) takes drivers up to twice as long then.
    constexpr int64_t kMostLines = 64;
    Code text = WeightsText(kernel, {"[i]"});
    const bool together = text.lines() <= kMostLines;
    if (together) {
      text = WeightsText(kernel, {".x", ".y", ".z", ".w"});
    } else if (context_.facts.is_any_device()) {
      // The next place's after a place's, which is the first one: the text is there once, as it takes drivers time to
      // load.
      text = WeightsText(kernel, {".x"});
      const char* places = shape_.matrix ? "keys" : "rows";
      text = Code(
                 "  [[unroll]] for (uint s = 0u; s < SUMS; ++s) of_sums[s] = vec4(0.0f);\n"
                 "  [[dont_unroll]] for (uint i = 0u; i < 4u; ++i) {\n") +
             std::move(text) +
             fmt::format(
                 "    {} = {}.yzwx;\n"
                 "    [[unroll]] for (uint p = 0u; p < PRODUCTS; ++p) scores[p] = scores[p].yzwx;\n"
                 "    [[unroll]] for (uint s = 0u; s < SUMS; ++s) of_sums[s] = of_sums[s].yzwx;\n  }}\n",
                 places, places);
    } else {
      text = Code("  [[unroll]] for (uint i = 0u; i < 4u; ++i) {\n") + std::move(text) + "  }\n";
    }
    // Of four rows of which the text counts one after the other nothing is known before.
    text = WriteRowPart(kernel, std::move(text), shape_.matrix || together);
    kernel.Define(fmt::format("void weigh(uint batch, {}, vec4 scores[PRODUCTS], out vec4 of_sums[SUMS])",
                              shape_.matrix ? "uint row, uint unit, uvec4 keys" : "uvec4 rows, uint key"),
                  std::move(text));
  }

  // know_row(): what the weights take of the row, or four rows, alone, which is loaded and calculated once; nothing
  // where none `is_known`. Returns the rest of them.
  Code WriteRowPart(KernelBuilder& kernel, Code weights, bool is_known) const {
    std::set<std::string, std::less<>> of_key = {"scores"}, of_row = {"batch", shape_.matrix ? "row" : "rows"};
    shape_.matrix ? of_key.insert({"unit", "keys"}) : of_key.insert({"key"});
    Code row_part, rest;
    for (Statement& statement : weights.TakeStatements()) {
      const bool varies = !is_known || !statement.Declares() || statement.MentionsAnyOf(of_key);
      if (varies && statement.kind == Statement::Kind::kDeclare) of_key.insert(statement.name);
      if (varies || !statement.MentionsAnyOf(of_row)) {
        if (!varies) row_part.Add(statement);  // a constant
        rest.Add(std::move(statement));
        continue;
      }
      of_row.insert(statement.name);
      // Not precise: glslang 11 takes such a global for a local of the function that names it first. Nothing is
      // contracted in any case (spirv/no_contraction.h).
      kernel.Append("{} {};\n", statement.type, statement.name);
      statement.kind = Statement::Kind::kAssign;
      row_part.Add(std::move(statement));
    }
    kernel.Define(fmt::format("void know_row(uint batch, {})", shape_.matrix ? "uint row" : "uvec4 rows"),
                  std::move(row_part));
    return rest;
  }

  // At these components of rows or keys, scores and sums.
  Code WeightsText(KernelBuilder& kernel, const std::vector<std::string>& places) const {
    Function f(*this, kernel, 1, 1);
    std::string results;
    // Four keys of a unit lie side by side.
    const bool of_unit = shape_.matrix && chain_.keys % 4 == 0 && places.size() == 4;
    const int unit = of_unit ? f.writer.NewVariable("unit", chain_.keys / 4, 4) : 0;
    for (size_t j = 0; j < places.size(); ++j) {
      const std::string& place = places[j];
      const int64_t items = shape_.matrix ? chain_.keys : chain_.rows;
      (shape_.matrix ? f.place.key : f.place.row) =
          of_unit ? f.Nth(unit, 4, static_cast<int64_t>(j))
                  : f.space.Variable(f.writer.NewVariable((shape_.matrix ? "keys" : "rows") + place, items));
      for (size_t p = 0; p < chain_.products.size(); ++p) {
        const Instruction& dot = *chain_.products[p].dot;
        const std::string score = fmt::format("score_{}_{}", p, place[1]);
        f.writer.Declare(CarrierType(dot.shape().element_type()), score,
                         {FromF32(dot, fmt::format("scores[{}]{}", p, place))}, true);
        f.writer.Override(dot, ScoreIndex(chain_, chain_.products[p], f.space, f.place), score);
      }
      for (size_t s = 0; s < chain_.sums.size(); ++s) {
        const Instruction& weights = chain_.sums[s].weights();
        const std::string value = f.writer.Value(weights, WeightsIndex(chain_.sums[s], f.space, f.place));
        results += fmt::format("  of_sums[{}]{} = {};\n", s, place, ToF32(weights, value));
      }
    }
    return f.writer.Take() + results;
  }

  // Where the weights of hidden keys are nothing, blocks of them are left out: the test whether a place is seen, and
  // the one whether what hidden weights are multiplied by is zero.
  void WriteMask(KernelBuilder& kernel) const {
    const bool causal = HidesBlocks(chain_);
    kernel.Append("#define CAUSAL {}\n", causal ? 1 : 0);
    if (!causal) return;
    const ChainMask& mask = *chain_.sums[0].mask;
    Function f(*this, kernel, 1, 1);
    f.Return("bool sees(uint batch, uint row, uint key)",
             f.writer.Value(*mask.compare, MaskIndex(chain_.sums[0], mask.path, f.space, f.place)));
    std::vector<std::string> factors;
    bool of_rows = false, of_keys = false;
    for (const ChainSum& sum : chain_.sums) {
      if (sum.mask->factor != nullptr) factors.push_back(WriteFactor(kernel, sum, &of_rows, &of_keys));
    }
    kernel.Append("#define LATER_KEYS {}\n#define FACTORS {}\n#define FACTOR_ROWS {}u\n#define FACTOR_KEYS {}u\n",
                  mask.later_keys ? 1 : 0, factors.empty() ? 0 : 1, of_rows ? 4 : 1, of_keys ? 4 : 1);
    if (factors.empty()) return;
    kernel.Append("bool vanishes(uint batch, uint row, uint key) {{\n  return {};\n}}\n", fmt::join(factors, " && "));
  }

  // The test whether the factor of a sum's hidden weights is zero.
  std::string WriteFactor(KernelBuilder& kernel, const ChainSum& sum, bool* of_rows, bool* of_keys) const {
    const ChainMask& mask = *sum.mask;
    const auto name = fmt::format("hidden_factor_{}", &sum - chain_.sums.data());
    Function f(*this, kernel, 1, 1);
    const auto hidden = static_cast<float>(mask.hidden_value);
    f.writer.Override(*mask.hidden, MaskIndex(sum, mask.to_hidden, f.space, f.place), ElementType::kF32,
                      ConstantText(ElementType::kF32, &hidden));
    const std::string value = f.writer.Value(*mask.factor, MaskIndex(sum, mask.to_factor, f.space, f.place));
    f.Return(fmt::format("float {}(uint batch, uint row, uint key)", name), ToF32(*mask.factor, value));
    const MultiIndex statistic = MaskIndex(sum, mask.to_statistic, f.space, f.place);
    *of_rows |= Mentions(statistic, 1);
    *of_keys |= Mentions(statistic, 2);
    return name + "(batch, row, key) == 0.0f";
  }

  // Which result is the sum, as what follows it moves it.
  int LeafOf(const ChainSum& sum) const {
    const auto at = std::ranges::find_if(body_.roots, [&](const Instruction* root) {
      OperandPath moves;
      return Follow(root, &moves) == sum.hero;
    });
    VXLA_CHECK(at != body_.roots.end(), "a sum that is no result");
    return static_cast<int>(at - body_.roots.begin());
  }

  void WriteProducts(KernelBuilder& kernel) const {
    for (size_t s = 0; s < chain_.sums.size(); ++s) {
      WriteValue(kernel, s);
      WriteStore(kernel, s);
    }
    if (shape_.matrix) return;
    WriteChoice(kernel, "void load_value(uint which, uint batch, uint key, uint unit, out float quad[4])",
                "load_value_", "(batch, key, unit, quad)", chain_.sums.size());
    WriteChoice(kernel, "void store(uint which, uint batch, uint row, uint unit, float quad[4])", "store_",
                "(batch, row, unit, quad)", chain_.sums.size());
  }

  void WriteValue(KernelBuilder& kernel, size_t s) const {
    const ChainSum& sum = chain_.sums[s];
    const Instruction& operand = *sum.hero->operand(1 - sum.chained);
    Function f(*this, kernel, 1, sum.columns);
    const auto index = [&](const IndexExpression& column) {
      f.place.column = column;
      return ValueIndex(sum, f.space, f.place);
    };
    if (shape_.matrix) {
      return DefineWords(f, fmt::format("load_value_{}(uint batch, uint key, uint unit", s), operand, kColumn, 4,
                         shape_.matrix->term, index);
    }
    WriteQuad(f.writer, kColumn, sum.columns,
              [&](const IndexExpression& column) { return ToF32(operand, f.writer.Value(operand, index(column))); });
    f.Define(fmt::format("void load_value_{}(uint batch, uint key, uint unit, out float quad[4])", s));
  }

  void WriteStore(KernelBuilder& kernel, size_t s) const {
    const ChainSum& sum = chain_.sums[s];
    const int leaf = LeafOf(sum);
    const Instruction& root = *body_.roots[static_cast<size_t>(leaf)];
    OperandPath path;
    Follow(&root, &path);
    std::vector<const Instruction*> moves;
    for (auto link = path.rbegin(); link != path.rend(); ++link) moves.push_back(link->first);
    const int64_t columns = sum.over_batches() ? chain_.keys : sum.columns;
    Function f(*this, kernel, 1, columns);
    const int k = f.writer.ResultTensor(leaf);
    if (columns % 4 == 0) f.writer.Vectorize(4, 4);
    std::vector<std::string> values, exist(4);
    std::vector<IndexExpression> places;
    for (int j = 0; j < 4; ++j) {
      (sum.over_batches() ? f.place.key : f.place.column) =
          PlaceInUnit(f.writer, 4, columns, j, &exist[static_cast<size_t>(j)]);
      const IndexExpression result = ResultIndex(chain_, sum, f.space, f.place);
      const MultiIndex index = f.space.Delinearize(result, sum.hero->shape().dimensions());
      places.push_back(f.space.Linearize(IndexBehind(moves, f.space, index), root.shape().dimensions()));
      f.writer.Override(*sum.hero, index, ElementType::kF32, fmt::format("quad[{}]", j));
      values.push_back(f.writer.Value(root, f.space.Delinearize(places.back(), root.shape().dimensions())));
    }
    f.writer.StoreAt(k, places, values, columns % 4 == 0, [&](size_t j) { return exist[j]; });
    f.Define(fmt::format("void store_{}(uint batch, uint row, uint unit, float quad[4])", s));
  }

  void WriteReduction(KernelBuilder& kernel) const {
    const ChainSum& sum = chain_.sums[0];
    const Reducer reducer = ReadReducer(*sum.hero->called(0));
    kernel.Append("#define IDENTITY {}\n{}", reducer.identity[0], reducer.combine("combine"));
    if (sum.over_batches()) return WriteStore(kernel, 0);
    Function f(*this, kernel, 1, 1);
    const IndexExpression result = ResultIndex(chain_, sum, f.space, f.place);
    f.writer.Override(*sum.hero, f.space.Delinearize(result, sum.hero->shape().dimensions()), ElementType::kF32,
                      "value");
    for (size_t leaf = 0; leaf < body_.roots.size(); ++leaf) {
      const Instruction& root = *body_.roots[leaf];
      const std::string value = f.writer.Value(root, f.space.Delinearize(result, root.shape().dimensions()));
      const int k = f.writer.ResultTensor(static_cast<int>(leaf));
      f.writer.Line(kernel.Store(k, f.writer.Index(result), value));
    }
    f.Define("void store(uint batch, uint row, float value)");
  }
};

}  // namespace

Status CanLowerChain(const LowerContext& context, const FusionDescription& body) {
  const ChainWork work = WorkOfChain(context.facts, *body.chain);
  const ChainShape shape = TuneChain(context.facts, work);
  if (shape.lanes > 0) {
    const int64_t steps = ChainSteps(shape, work), most = MostSteps(context.facts, 1);
    if (steps <= most) return OkStatus();
    return Unsupported(
        "{}: a product of products over {} keys takes {} steps of an invocation's loops, {} are possible",
        body.instruction->name(), work.keys, steps, most);
  }
  return Unsupported(
      "{}: {} columns of a product of products are more than 256, or than {} bytes of shared memory hold",
      body.instruction->name(), work.most_columns(), context.facts.max_shared_bytes);
}

Result<std::vector<Step>> LowerChain(const LowerContext& context, const FusionDescription& body, BufferMap& buffers) {
  const ChainShape shape = TuneChain(context.facts, WorkOfChain(context.facts, *body.chain));
  return std::vector{ChainWriter(context, body, buffers, shape).Write()};
}

}  // namespace VXLA_NAMESPACE::vulkan
