// The kernels of matrix products.
#include "backend/vulkan/lower/products/product.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/vulkan/codegen/scalar_computation.h"
#include "backend/vulkan/lower/products/product_parts.h"
#include "backend/vulkan/lower/products/quad_loads.h"
#include "backend/vulkan/lower/rows/reducer.h"
#include "backend/vulkan/lower/software_kernels.h"
#include "backend/vulkan/spirv/matrix_types.h"
#include "backend/vulkan/spirv/spirv_words.h"
#include "core/numerics/reducer_facts.h"
#include "core/passes/base/fusion_rules.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

std::string MultiplyAddText(ElementType type, bool fused) {
  if (type == ElementType::kF32 && fused) return "sum = fma(a, b, sum)";
  const std::string product = ProductText(type, "(a)", "(b)");
  if (type == ElementType::kPred) return "sum = sum || (a && b)";
  if (HasWideCarrier(type)) return fmt::format("sum = {}", SumText(type, "sum", product));
  if (!IsFloating(type) && !IsComplex(type)) return "sum += (a) * (b)";
  // Not contracted: a product and its sum round on every device as they do on the CPU.
  return fmt::format("{{ precise Sum product_ = {}; precise Sum next_ = sum + product_; sum = next_; }}", product);
}

constexpr std::string_view kLoadLhs = "load_lhs(uint batch, uint row, uint strip, uint k",
                           kLoadRhs = "load_rhs(uint batch, uint strip, uint k, uint column";

constexpr int64_t kMostBytes = int64_t{1} << 32;  // that layouts, whose places have 32 bits, reach

bool TakesQuads(ElementType sum) {
  return sum == ElementType::kF32 || sum == ElementType::kS32 || sum == ElementType::kU32;
}

// How matmul_quads.comp reads its operands: as values; as words of two 16-bit floats, which become values once what was
// computed meanwhile is done; or as words of four bytes, which are multiplied as such.
enum class QuadTerms : uint8_t { kValues, kHalves, kBytes };

// Four products of bytes at a time, by OpSDotKHR or OpUDotKHR of words in PackedVectorFormat4x8Bit; drivers make one
// instruction of product and sum.
std::string ByteSums(ElementType term) {
  const bool is_signed = term == ElementType::kS8;
  const auto product = [](char of) { return fmt::format("dot_bytes(a, (b).{}, 0)", of); };
  return fmt::format(
      "spirv_instruction(extensions = [\"SPV_KHR_integer_dot_product\"], capabilities = [6018, 6019], id = {})\n"
      "{} dot_bytes(uint a, uint b, spirv_literal int form);\n"
      "#define MULTIPLY_ADD(sum, a, b) sum += Quad({}, {}, {}, {})\n",
      static_cast<uint32_t>(is_signed ? spirv::OpSDot : spirv::OpUDot), is_signed ? "int" : "uint", product('x'),
      product('y'), product('z'), product('w'));
}

// FETCHED(next, p): the p-th quad of what was fetched.
std::string QuadTypes(QuadTerms terms, ElementType term, ElementType sum) {
  const std::string quad = sum == ElementType::kF32 ? "vec4" : sum == ElementType::kS32 ? "ivec4" : "uvec4";
  std::string text = fmt::format("#define Quad {}\n#define FOUR_BYTES {}\n", quad, terms == QuadTerms::kBytes ? 1 : 0);
  if (terms == QuadTerms::kHalves) {
    // One NaN is as good as another in a sum.
    const std::string name = term == ElementType::kF16 ? "any_nan_f16" : "bf16";
    return text + fmt::format(
                      "#define Held uint\n#define HELD 2u\n#define TermQuad Quad\n"
                      "#define FETCHED(next, p) quad_of(next[2u * (p)], next[2u * (p) + 1u])\n"
                      "Quad quad_of(uint a, uint b) {{\n"
                      "  return Quad(decode_{0}(a), decode_upper_{0}(a), decode_{0}(b), decode_upper_{0}(b));\n"
                      "}}\n",
                      name);
  }
  text += terms == QuadTerms::kBytes ? "#define Held uint\n#define TermQuad uvec4\n"
                                     : "#define Held Sum\n#define TermQuad Quad\n";
  return text +
         "#define HELD 4u\n#define FETCHED(next, p) TermQuad(next[4u * (p)], next[4u * (p) + 1u], next[4u * (p) + 2u], "
         "next[4u * (p) + 3u])\n";
}

// Rows are the results of the product.
RowProgram SumProgram(const ProductReader& reader, BufferMap& buffers) {
  RowProgram program;
  program.body = &reader.body();
  program.buffers = &buffers;
  program.rows = reader.results();
  RowReduce& reduce = program.reduces.emplace_back();
  reduce.source = &reader.hero();
  reduce.types = reduce.result_types = {reader.sum_type};
  reduce.identity = {ZeroText(reader.sum_type)};
  reduce.combine = [type = reader.sum_type](const std::string& name) { return AddFunction(type, name); };
  if (reader.wide) reduce.combine = WideAddFunction;
  reduce.publish = [&reader](ValueWriter& writer, const RowPlace& place, const std::vector<std::string>& results) {
    reader.PublishSum(writer, place.row, results[0]);
  };
  program.outputs = RowOutputsOf(reader.body(), buffers);
  return program;
}

// matmul_quads.comp.
class QuadWriter : ProductParts {
 public:
  using ProductParts::ProductParts;

  Step Write() const {
    std::optional<Step> of_words = WriteWith(WordsOfQuads());
    return of_words.has_value() ? *std::move(of_words) : *WriteWith(QuadTerms::kValues);
  }

 private:
  // None if the operands are no such words in memory.
  std::optional<Step> WriteWith(QuadTerms terms) const {
    const DotWork& work = reader_.work;
    const bool bytes = terms == QuadTerms::kBytes;
    const int64_t steps = bytes ? work.k / 4 : work.k, share = ShareOfQuads(steps);
    const ProductParts units = OfColumns(4);
    KernelBuilder kernel(context_.facts);
    const int64_t groups = WriteHead(kernel, TilesOfLanes(), units.ColumnUnits(), steps, share);
    const ElementType term = reader_.operand(true).shape().element_type();
    kernel.Append("#undef MULTIPLY_ADD\n");
    kernel.Append(QuadTypes(terms, term, reader_.sum_type));
    kernel.Append(bytes ? ByteSums(term) : QuadSums(reader_.sum_type, FusesTerms(context_.facts)));
    kernel.Append(
        "#define X {}u\n#define Y {}u\n#define TM {}u\n#define TN {}u\n#define TK {}u\n#define LHS_ALONG_K {}\n"
        "#define RHS_ALONG_K {}\n#define K_TAIL {}\n#define COLUMNS {}\n",
        shape_.lanes, shape_.lanes_y, shape_.tile_rows, shape_.tile_columns, shape_.k_step,
        reader_.AlongK(true) ? 1 : 0, reader_.AlongK(false) ? 1 : 0, HasTail(steps) ? 1 : 0, kernel.Data(work.columns));
    const int64_t block = IsFloating(reader_.sum_type) ? BlockStrips(share) : 0;
    // Most of what a driver makes of a kernel when it loads it would be copies of the products. Integers leave no
    // registers for terms read ahead: by RADV's code bytes spilled on RDNA 3, and single ones took 256 of them on GCN.
    kernel.Append(
        "#define ROLLED {}\n#define BLOCK {}\n#define K_LOOP {}\n#define TERMS_AHEAD {}\n#define COMPACT_LANES {}\n",
        RollsStores() ? 1 : 0, block, context_.facts.is_any_device() ? "[[dont_unroll]]" : "",
        shape_.terms_ahead && IsFloating(reader_.sum_type) ? 1 : 0, shape_.compact_lanes ? 1 : 0);
    for (const bool lhs : {true, false}) {
      if (!WriteQuadLoad(kernel, lhs, terms)) return std::nullopt;
    }
    units.WriteUnitStore(kernel);
    Step step =
        kernel.Finish(StepName(reader_.body()), "dot/matmul_quads.comp", {shape_.lanes, shape_.lanes_y, 1}, groups);
    step.kernel.small_subgroups = true;
    StateOrder(&step, block * shape_.k_step, bytes ? 4 * share : share, FusesTerms(context_.facts));
    return step;
  }

  // Words, where both operands have one narrow type and all of k is in whole groups of memory.
  QuadTerms WordsOfQuads() const {
    const ElementType term = reader_.operand(true).shape().element_type();
    if (reader_.operand(false).shape().element_type() != term) return QuadTerms::kValues;
    if ((term == ElementType::kF16 && context_.facts.native_f16) || term == ElementType::kBF16)
      return QuadTerms::kHalves;
    const bool bytes = (term == ElementType::kS8 || term == ElementType::kU8) && !IsFloating(reader_.sum_type);
    const int64_t group = AlongK(true) || AlongK(false) ? 16 : 4;
    return bytes && context_.facts.integer_dot_product && reader_.work.k % group == 0 ? QuadTerms::kBytes
                                                                                      : QuadTerms::kValues;
  }

  // load_lhs or load_rhs of matmul_quads.comp: four neighbours, along k or across it; of words of four bytes so many
  // words, along k or of one k each. False if the operand is no such words in memory.
  bool WriteQuadLoad(KernelBuilder& kernel, bool lhs, QuadTerms terms) const {
    const bool along_k = AlongK(lhs), bytes = terms == QuadTerms::kBytes;
    const DotWork& work = reader_.work;
    const int64_t per_term = bytes ? 4 : 1;
    Hook f = BeginLoad(kernel, work.rows / (lhs && !along_k ? 4 : 1), work.k / per_term, along_k ? 4 : 1,
                       work.columns / (!lhs && !along_k ? 4 : 1));
    const Parameter along = along_k ? kK : lhs ? kRow : kColumn;
    Vectorize(f, along, 4);
    std::vector<std::string> part;
    for (int64_t j = 0; j < 4 && part.size() < 4; ++j) {
      ProductPlace at = PlaceOf(f);
      at.k = TermOf(f, (along_k ? 4 : 1) * per_term, along_k ? j * per_term : bytes ? j : 0, per_term);
      if (!along_k) (lhs ? at.row : at.column) = f.Nth(along, 4, bytes ? 0 : j);
      if (terms == QuadTerms::kValues) {
        part.push_back(reader_.Value(f.writer, lhs, at));
        continue;
      }
      const std::vector<std::string> words = reader_.Words(f.writer, lhs, at);
      if (words.empty()) return false;
      part.insert(part.end(), words.begin(), words.end());
      if (!bytes) break;  // the whole group
    }
    for (size_t j = 0; j < part.size(); ++j) f.writer.Line("part[{}] = {};", j, part[j]);
    f.Define(fmt::format("void {}, out Held part[HELD])", lhs ? kLoadLhs : kLoadRhs));
    return true;
  }

  // Strips of k that are added up before they join a total; 0: one sum. Where a workgroup's few results leave
  // registers.
  int64_t BlockStrips(int64_t share) const {
    constexpr int64_t kBlock = 32, kFewest = 128;
    const bool small = shape_.lanes * shape_.lanes_y <= 64 && shape_.tile_rows * shape_.tile_columns <= 16;
    return small && share >= kFewest ? std::max<int64_t>(kBlock / shape_.k_step, 1) : 0;
  }
};

// matmul_tensors.comp.
class GroupWriter : ProductParts {
 public:
  using ProductParts::ProductParts;

  Step Write() const {
    const DotWork& work = reader_.work;
    const MatrixShape& matrix = *shape_.matrix;
    const int64_t share = ShareOfQuads(work.k);
    const bool whole = work.rows % matrix.rows == 0 && work.columns % matrix.columns == 0 && work.k % matrix.k == 0;
    KernelBuilder kernel(context_.facts);
    const int64_t groups = WriteHead(kernel, TilesOf(matrix.rows, matrix.columns), work.columns, work.k, share);
    kernel.Append(spirv::MatrixDefines(matrix, context_.facts));
    kernel.Append("#define X {}u\n#define RASTER {}\n#define EDGES {}\n#define COLUMNS UNIT_COUNT\n",
                  matrix.invocations, shape_.raster, whole ? 0 : 1);
    kernel.Append("#define TERM_ELEMENT TYPE_{}\n", StorageTag(matrix.term));
    for (const bool lhs : {true, false}) WriteOperand(kernel, lhs);
    const bool by_layout = WriteResult(kernel);
    if (!by_layout) WriteColumnStore(kernel, "store");
    kernel.Append("#define STORES {}\n", by_layout ? 0 : 1);
    Step step = kernel.Finish(StepName(reader_.body()), "dot/matmul_tensors.comp", {matrix.invocations, 1, 1}, groups);
    step.kernel.small_subgroups = true;
    StateOrder(&step, 0, share, /*fused=*/false);
    return step;
  }

 private:
  // Of tensor k the first element of the i-th sixteen bytes, where layouts begin; the i-th word for plain code.
  std::string SixteenBytes(KernelBuilder& kernel, int k) const {
    const ElementType type = kernel.buffer_type(k);
    if (!context_.facts.matrices_stand_in)
      return fmt::format("ELEMENT({}, {}, {}u * (i))", k, StorageTag(type), 16 / StorageBytes(type));
    kernel.AddWordsView(k, 1);
    return fmt::format("LOAD({}, u32, i)", k);
  }

  void WriteOperand(KernelBuilder& kernel, bool lhs) const {
    const ElementType term = shape_.matrix->term;
    const MatrixInMemory at = *reader_.InMemory(lhs);
    const int k = kernel.AddBuffer(term, Access::kRead, buffers_.SliceOf(*at.operand, 0));
    const int64_t along = 16 / StorageBytes(term);
    // That rows begin with whole sixteen bytes compilers cannot know.
    kernel.Append(
        "#define {0}(i) {1}\n#define {0}_ALONG_K {2}\n#define {0}_STRIDE ({3} & ~{4}u)\n"
        "#define {0}_FIRST(batch) ({5} + (batch) * {6})\n",
        lhs ? "LHS" : "RHS", SixteenBytes(kernel, k), at.k == 1 ? 1 : 0, kernel.Param(at.k == 1 ? at.free : at.k),
        along - 1, kernel.Param(at.first / along), kernel.Param(at.batch / along));
  }

  // The one root that leaves by a layout, or the shares; false: none can.
  bool WriteResult(KernelBuilder& kernel) const {
    const std::vector<const Instruction*>& roots = reader_.body().roots;
    const bool shared = shape_.splits > 1;
    const ElementType sum = reader_.sum_type, type = shared ? sum : roots[0]->shape().element_type();
    const bool converts = type == shape_.matrix->term && StorageBytes(type) == 2;
    const int64_t of_batch = reader_.work.rows * reader_.work.columns * StorageBytes(type),
                  parts = reader_.work.batches * shape_.splits;
    const BufferSlice slice = shared ? shares_ : buffers_.SliceOf(*reader_.body().instruction, 0);
    const bool fits = (shared || roots.size() == 1) && (type == sum || converts) && slice.offset_bytes % 16 == 0 &&
                      (parts == 1 || of_batch % 16 == 0) && of_batch * parts < kMostBytes;
    const bool finishes = fits && !shared && (roots[0] != &reader_.hero() || type != sum);
    kernel.Append("#define FINISHES {}\n#define RESULT_TYPE {}\n", finishes ? 1 : 0, !fits ? 0 : converts ? 2 : 1);
    if (!fits) return false;
    const int k = kernel.AddBuffer(type, Access::kWrite, slice);
    kernel.Append(
        "#define RESULT(i) {}\n#define RESULT_FIRST(batch, share) (((share) * {} + (batch)) * {})\n"
        "#define RESULT_ELEMENT TYPE_{}\n#define RESULT_ALONG {}u\n#define PUT_RESULT(i, value) {}\n",
        SixteenBytes(kernel, k), kernel.Param(reader_.work.batches), kernel.Param(of_batch / 16), StorageTag(type),
        16 / StorageBytes(type), kernel.Store(k, "i", "value"));
    if (finishes) WriteFinish(kernel);
    return true;
  }

  void WriteFinish(KernelBuilder& kernel) const {
    Hook f = Begin(kernel, reader_.work.rows, 1, reader_.work.columns);
    const IndexExpression place = reader_.Linear(f.space, {f.at(kBatch), f.at(kRow), {}, f.at(kColumn)});
    reader_.PublishSum(f.writer, place, "sum");
    f.Return("Sum finish(uint batch, uint row, uint column, uint share, Sum sum)",
             reader_.RootValue(f.writer, *reader_.body().roots[0], place));
  }
};

// A schedule for each file of shaders/dot, and the one of software drivers.
class ProductWriter : ProductParts {
 public:
  using ProductParts::ProductParts;

  std::vector<Step> Write() {
    if (shape_.splits > 1) {
      const int64_t results = reader_.results();
      shares_ = buffers_.Scratch(results * shape_.splits * StorageBytes(reader_.sum_type));
    }
    const bool of_groups = shape_.matrix && shape_.matrix->invocations != 0;
    std::vector<Step> steps{of_groups       ? GroupWriter(context_, reader_, buffers_, shape_, shares_).Write()
                            : shape_.matrix ? WriteMatrices()
                            : shape_.quads  ? QuadWriter(context_, reader_, buffers_, shape_, shares_).Write()
                            : shape_.tiled  ? WriteTiled()
                                            : WriteRegisterProduct(context_, reader_, buffers_, shape_, shares_)};
    steps[0].flop = 2 * reader_.results() * reader_.work.k;
    if (shape_.splits > 1) JoinShares(&steps);
    return steps;
  }

  // Of a shape of matrix units: whether both operands lie in memory as words of the units' terms.
  bool TakesWords() const {
    KernelBuilder kernel(context_.facts);  // which is thrown away
    return WriteMatrixLoad(kernel, true) && WriteMatrixLoad(kernel, false);
  }

 private:
  Step WriteTiled() const {
    const int64_t share = CeilDivide(reader_.work.k, shape_.splits);
    KernelBuilder kernel(context_.facts);
    const int64_t groups = WriteHead(kernel, TilesOfLanes(), reader_.work.columns, reader_.work.k, share);
    kernel.Append(
        "#define X {}u\n#define Y {}u\n#define TM {}u\n#define TN {}u\n#define TK {}u\n#define LHS_ALONG_K {}\n"
        "#define RHS_ALONG_K {}\n#define ROLLED {}\n",
        shape_.lanes, shape_.lanes_y, shape_.tile_rows, shape_.tile_columns, shape_.k_step,
        reader_.AlongK(true) ? 1 : 0, reader_.AlongK(false) ? 1 : 0, RollsStores() ? 1 : 0);
    for (const bool lhs : {true, false}) {
      Hook f = Begin(kernel, reader_.work.rows, reader_.work.k, reader_.work.columns);
      f.Return(lhs ? "Sum load_lhs(uint batch, uint row, uint k)" : "Sum load_rhs(uint batch, uint k, uint column)",
               reader_.Value(f.writer, lhs, PlaceOf(f)));
    }
    WriteColumnStore(kernel, "store");
    const uint32_t block = BlockSteps();
    Step step = kernel.Finish(StepName(reader_.body()), "dot/matmul_tiled.comp",
                              {shape_.lanes, shape_.lanes_y, 1, block}, groups);
    StateOrder(&step, int64_t{shape_.k_step} * block, share, FusesTerms(context_.facts));
    return step;
  }

  // Words of neighbours from there on, along k or across it, as they lie in memory. None: they are no such words.
  std::vector<std::string> WordsInMemory(Hook& f, bool lhs, const ProductPlace& first) const {
    const ElementType term = shape_.matrix->term, type = reader_.operand(lhs).shape().element_type();
    const bool widens = term == ElementType::kF16 && (type == ElementType::kF8E5M2 || type == ElementType::kF8E4M3FN);
    std::vector<std::string> words;
    if (type == term || widens) words = reader_.Words(f.writer, lhs, first);
    if (!words.empty() && widens) {
      std::vector<std::string> pairs;
      for (const std::string& word : words) {
        for (const std::string& two : {word, fmt::format("{} >> 16", word)})
          pairs.push_back(fmt::format("pair_f16_of_{}({})", ElementTypeName(type), two));
      }
      return pairs;
    }
    return words;
  }

  // The same of `count` of them, packed here. An operand's values are of the unit's type already, or of a narrower one,
  // so that packing changes none.
  std::vector<std::string> PackedWords(Hook& f, bool lhs, const ProductPlace& first, int64_t count) const {
    const ElementType term = shape_.matrix->term;
    std::vector<std::string> words;
    const size_t per_word = 4 / static_cast<size_t>(StorageBytes(term));
    std::vector<std::string> values;
    for (int64_t j = 0; j < count; ++j) {
      ProductPlace at = first;
      IndexExpression& moved = AlongK(lhs) ? at.k : lhs ? at.row : at.column;
      moved = f.space.Add(moved, {{}, j});
      values.push_back(reader_.Value(f.writer, lhs, at));
    }
    for (size_t j = 0; j < values.size(); j += per_word) {
      if (per_word == 2) {
        words.push_back(fmt::format("encode_rounded_pair_{}({}, {})", ElementTypeName(term), values[j], values[j + 1]));
        continue;
      }
      words.push_back(ToStorage(term, values[j]));
      for (size_t i = 1; i < 4; ++i) words.back() += fmt::format(" | {} << {}", ToStorage(term, values[j + i]), 8 * i);
    }
    return words;
  }

  // load_lhs or load_rhs of matmul_matrices.comp: 16 bytes along k or, for strips that lie so too, across it, or else
  // four neighbours of four k each. Returns whether nothing had to be packed.
  bool WriteMatrixLoad(KernelBuilder& kernel, bool lhs) const {
    const DotWork& work = reader_.work;
    const bool along_k = AlongK(lhs), turns = !along_k && (lhs || !shape_.rhs_rows);
    const int64_t per_load = turns ? 4 : 16 / StorageBytes(shape_.matrix->term), steps = turns     ? 4
                                                                                         : along_k ? per_load
                                                                                                   : 1;
    Hook f = BeginLoad(kernel, work.rows / (lhs && !along_k ? per_load : 1), work.k, steps,
                       work.columns / (!lhs && !along_k ? per_load : 1));
    f.writer.Vectorize(along_k ? kK : lhs ? kRow : kColumn, static_cast<int>(per_load));
    std::vector<std::string> part;
    bool in_memory = true;
    for (int64_t k = 0; k < (turns ? 4 : 1); ++k) {
      ProductPlace at = PlaceOf(f);
      at.k = TermOf(f, steps, k);
      if (!along_k) (lhs ? at.row : at.column) = f.Nth(lhs ? kRow : kColumn, per_load, 0);
      std::vector<std::string> words = WordsInMemory(f, lhs, at);
      in_memory &= !words.empty();
      if (words.empty()) words = PackedWords(f, lhs, at, per_load);
      part.insert(part.end(), words.begin(), words.end());
    }
    for (size_t j = 0; j < part.size(); ++j) f.writer.Line("part[{}] = {};", j, part[j]);
    kernel.Append("#define {}_WORDS {}u\n", lhs ? "LHS" : "RHS", part.size());
    f.Define(fmt::format("void {}, out uint part[{}])", lhs ? kLoadLhs : kLoadRhs, part.size()));
    return in_memory;
  }

  Step WriteMatrices() const {
    const DotWork& work = reader_.work;
    const int64_t share = ShareOfQuads(work.k);
    const ProductParts units = OfColumns(4);
    KernelBuilder kernel(context_.facts);
    const int64_t groups = WriteHead(kernel, TilesOfLanes(), units.ColumnUnits(), work.k, share);
    kernel.Append(spirv::MatrixDefines(*shape_.matrix, context_.facts));
    kernel.Append(
        "#define SUBGROUPS_X {}u\n#define SUBGROUPS_Y {}u\n#define TM {}u\n#define TN {}u\n#define TK {}u\n"
        "#define LHS_ALONG_K {}\n#define RHS_ALONG_K {}\n#define RHS_ROWS {}\n#define K_TAIL {}\n#define AHEAD {}\n"
        "#define TERMS_AHEAD {}\n#define RASTER {}\n#define COLUMNS {}\n",
        shape_.lanes, shape_.lanes_y, shape_.tile_rows, shape_.tile_columns, shape_.k_step, AlongK(true) ? 1 : 0,
        AlongK(false) ? 1 : 0, shape_.rhs_rows ? 1 : 0, HasTail(work.k) ? 1 : 0, shape_.ahead,
        shape_.terms_ahead ? 1 : 0, shape_.raster, kernel.Data(work.columns));
    kernel.Append("#define EACH_ROW(f)");
    for (uint32_t i = 0; i < shape_.tile_rows / shape_.matrix->rows; ++i) kernel.Append(" f({}u)", i);
    kernel.Append("\n");
    for (const bool lhs : {true, false}) WriteMatrixLoad(kernel, lhs);
    units.WriteUnitStore(kernel);
    Step step = kernel.Finish(StepName(reader_.body()), "dot/matmul_matrices.comp",
                              {context_.facts.matrix_lanes * shape_.lanes * shape_.lanes_y, 1, 1}, groups);
    step.kernel.small_subgroups = true;
    StateOrder(&step, 0, share, /*fused=*/false);
    return step;
  }

  // Adds the shares of each result, then the epilogue.
  void JoinShares(std::vector<Step>* steps) const {
    RowProgram program = SumProgram(reader_, buffers_);
    program.name = StepName(reader_.body()) + " join";
    program.row_size = shape_.splits;
    program.rows_contiguous = true;
    program.reduces[0].element = [this, rows = program.rows](ValueWriter& writer, const RowPlace& place) {
      const int k = writer.kernel().AddBuffer(reader_.sum_type, Access::kRead, shares_);
      return std::vector{writer.Load(k, writer.space().Add(writer.space().Scale(place.element, rows), place.row))};
    };
    for (Step& step : LowerRowProgram(context_, program)) steps->push_back(std::move(step));
  }
};

// The type whose units take an operand's values: f16 holds each value of f8 and narrower floats, but for the powers of
// two of f8e8m0fnu.
ElementType UnitTerm(ElementType type) {
  return IsFloating(type) && StorageBytes(type) == 1 && type != ElementType::kF8E8M0FNU ? ElementType::kF16 : type;
}

// The product of the device's matrix units that a product's terms and sums are: of units of their type, or of those
// that take their values.
std::optional<MatrixShape> MatrixFor(const LowerContext& context, const ProductReader& reader, bool of_their_type) {
  const DotWork& work = reader.work;
  const ElementType lhs = reader.operand(true).shape().element_type(),
                    rhs = reader.operand(false).shape().element_type();
  if (reader.wide || (!reader.AlongK(true) && work.rows % 4 != 0) || (!reader.AlongK(false) && work.columns % 4 != 0))
    return std::nullopt;
  const auto of = [&](ElementType term) {
    return work.k % (16 / StorageBytes(term)) == 0 ? MatrixOf(context.facts, term, reader.sum_type) : std::nullopt;
  };
  if (of_their_type) return lhs == rhs ? of(lhs) : std::nullopt;
  return UnitTerm(lhs) == UnitTerm(rhs) ? of(UnitTerm(lhs)) : std::nullopt;
}

// Whether the operand is matrices of sixteen bytes and more a row, each beginning with such.
bool IsOfSixteens(const std::optional<MatrixInMemory>& at, BufferMap& buffers) {
  if (!at || (at->k != 1 && at->free != 1)) return false;
  const BufferSlice slice = buffers.SliceOf(*at->operand, 0);
  const int64_t along = 16 / StorageBytes(at->operand->shape().element_type()), row = at->k == 1 ? at->free : at->k;
  const auto whole = [along](int64_t elements) { return elements % along == 0; };
  return row > 0 && whole(row) && whole(at->batch) && whole(at->first) && slice.offset_bytes % 16 == 0 &&
         slice.size_bytes < kMostBytes;
}

// The products of workgroups that take a product's terms as they lie in memory.
std::vector<MatrixShape> GroupMatricesFor(const LowerContext& context, const ProductReader& reader,
                                          BufferMap& buffers) {
  std::vector<MatrixShape> taken;
  const ElementType term = reader.operand(true).shape().element_type();
  if (reader.wide || reader.operand(false).shape().element_type() != term) return taken;
  std::ranges::copy_if(context.facts.group_matrices, std::back_inserter(taken),
                       [&](const MatrixShape& matrix) { return matrix.term == term && matrix.sum == reader.sum_type; });
  const bool plain =
      !taken.empty() && IsOfSixteens(reader.InMemory(true), buffers) && IsOfSixteens(reader.InMemory(false), buffers);
  return plain ? taken : std::vector<MatrixShape>();
}

}  // namespace

std::optional<MatrixShape> MatrixOf(const DeviceFacts& facts, ElementType term, ElementType sum) {
  const auto matrix = std::ranges::find_if(
      facts.matrices, [&](const MatrixShape& shape) { return shape.term == term && shape.sum == sum; });
  return matrix == facts.matrices.end() ? std::nullopt : std::optional(*matrix);
}

std::optional<MatrixShape> MatrixOfDots(const DeviceFacts& facts, std::span<const Instruction* const> dots) {
  const ElementType term = dots[0]->operand(0)->shape().element_type();
  for (const Instruction* dot : dots) {
    if (dot->notes().wide_sum || DotSumType(*dot) != ElementType::kF32) return std::nullopt;
    for (const Instruction* operand : dot->operands()) {
      if (operand->shape().element_type() != term) return std::nullopt;
    }
  }
  return StorageBytes(term) == 2 ? MatrixOf(facts, term, ElementType::kF32) : std::nullopt;
}

ProductReader::ProductReader(const FusionDescription& body, bool wide_sums)
    : wide(wide_sums), body_(body), lhs_(body.hero->operand(0)), rhs_(body.hero->operand(1)) {
  sum_type = DotSumType(*body.hero);
  if (wide) sum_type = ElementType::kC64;
  work.sum_bytes = std::max(StorageBytes(sum_type), 4);
  work.lanes_can_share = ShuffleTakes(sum_type);
}

void ProductReader::PublishSum(ValueWriter& writer, const IndexExpression& linear, const std::string& sum) const {
  writer.Override(hero(), writer.space().Delinearize(linear, hero().shape().dimensions()), sum_type, sum);
}

std::string ProductReader::RootValue(ValueWriter& writer, const Instruction& root,
                                     const IndexExpression& linear) const {
  return writer.Value(root, writer.space().Delinearize(linear, root.shape().dimensions()));
}

std::string ProductReader::Converted(const Instruction& operand, const std::string& value) const {
  const ElementType type = operand.shape().element_type();
  return type == sum_type ? value : ConvertedText(type, sum_type, value);
}

std::optional<MatrixInMemory> ProductReader::StridesOf(IndexSpace& space, const Instruction& operand, MultiIndex index,
                                                       const std::array<int, 3>& variables) const {
  const Instruction* at = &operand;
  while (body_.OperandOf(*at) == nullptr) {
    if (at->operand_count() != 1 || !IsPlainMap(*at) || IsElementwise(at->opcode())) return std::nullopt;
    index = OperandIndex(space, *at, 0, index);
    at = at->operand(0);
  }
  const IndexExpression place = space.Linearize(index, at->shape().dimensions());
  MatrixInMemory found;
  found.operand = body_.OperandOf(*at);
  found.first = place.constant;
  int64_t* const strides[] = {&found.batch, &found.free, &found.k};
  for (const IndexTerm& term : place.terms) {
    const auto variable = std::ranges::find(variables, term.variable);
    if (variable == variables.end() || term.divisor != 1 || term.modulus != 0 || term.coefficient < 0)
      return std::nullopt;
    *strides[variable - variables.begin()] = term.coefficient;
  }
  const bool same = at->shape().element_type() == operand.shape().element_type();
  return same ? std::optional(found) : std::nullopt;
}

bool ProductReader::RunsAlong(IndexSpace& space, const Instruction& operand, MultiIndex index, int k) const {
  return vulkan::RunsAlong(body_, space, operand, std::move(index), k);
}

std::string FloatMultiplyAdd(const std::string& type, bool fused) {
  const bool scalar = type == "float";
  if (fused) return fmt::format("sum = fma({}, b, sum)", scalar ? "a" : type + "(a)");
  return fmt::format("{{ precise {0} product_ = {1}(a) * (b); precise {0} next_ = sum + product_; sum = next_; }}",
                     type, scalar ? "" : type);
}

// What matmul_quads.comp adds up in.
std::string QuadSums(ElementType sum, bool fused) {
  return fmt::format("#define MULTIPLY_ADD(sum, a, b) {}\n",
                     sum == ElementType::kF32 ? FloatMultiplyAdd("Quad", fused) : "sum += Quad(a) * (b)");
}

std::string ProductTypes(const ProductReader& reader, bool fused) {
  return fmt::format(
      "#undef Sum\n#undef CLEAR\n#undef MULTIPLY_ADD\n#undef ADD\n#define Sum {}\n#define CLEAR {}\n"
      "#define MULTIPLY_ADD(sum, a, b) {}\n#define ADD(sum, a) {}\n",
      CarrierType(reader.sum_type), ZeroText(reader.sum_type),
      reader.wide ? "sum = add_wide_f32(sum, multiply_wide_f32(a, b))" : MultiplyAddText(reader.sum_type, fused),
      reader.wide ? "sum = add_wide_f32(sum, a)" : "sum = " + SumText(reader.sum_type, "sum", "a"));
}

RowProgram ProductProgram(const ProductReader& reader, BufferMap& buffers, const ProductRows& rows) {
  RowProgram program = SumProgram(reader, buffers);
  program.name = StepName(reader.body());
  program.row_size = reader.work.k;
  program.rows_contiguous = rows.contiguous;
  program.most_width = rows.most_width;
  program.flop = 2 * program.rows * program.row_size;
  const auto value = [&reader](ValueWriter& writer, const RowPlace& place, bool lhs) {
    ProductPlace at = reader.PlaceOf(writer.space(), place.row);
    at.k = place.element;
    return reader.Value(writer, lhs, at);
  };
  RowReduce& reduce = program.reduces[0];
  reduce.seen_types = {reader.wide ? ElementType::kF32 : reader.sum_type};
  reduce.seen = [value, lhs = rows.sees_lhs](ValueWriter& writer, const RowPlace& place) {
    return std::vector{value(writer, place, lhs)};
  };
  reduce.made_of = [value, lhs = rows.sees_lhs, &reader](ValueWriter& writer, const RowPlace& place,
                                                         const std::vector<std::string>& seen) {
    const std::string other = value(writer, place, !lhs), &a = lhs ? seen[0] : other, &b = lhs ? other : seen[0];
    return std::vector{reader.wide ? fmt::format("multiply_wide_f32({}, {})", a, b)
                                   : ProductText(reader.sum_type, a, b)};
  };
  reduce.element = [seen = reduce.seen, made_of = reduce.made_of](ValueWriter& writer, const RowPlace& place) {
    return made_of(writer, place, seen(writer, place));
  };
  return program;
}

std::vector<Step> LowerProductRows(const LowerContext& context, const ProductReader& reader, BufferMap& buffers,
                                   const ProductRows& rows) {
  const RowProgram program = ProductProgram(reader, buffers, rows);
  if (!rows.windows.empty()) {
    const auto tile = TileShortRows(context, program, reader.hero().shape().dimensions(), rows.windows);
    if (tile) return {WriteShortRows(context, program, *tile)};
  }
  return LowerRowProgram(context, program);
}

std::vector<Step> LowerProduct(const LowerContext& context, const ProductReader& reader, BufferMap& buffers) {
  DotWork work = reader.work;
  work.in_pairs = ComputesInPairs(context, reader.body());
  work.quads = TakesQuads(reader.sum_type) && !reader.wide && !work.in_pairs && work.k % 4 == 0 &&
               (reader.AlongK(true) || work.rows % 4 == 0) && (reader.AlongK(false) || work.columns % 4 == 0);
  work.group_matrices = GroupMatricesFor(context, reader, buffers);
  work.rhs_along_k = reader.AlongK(false);
  const std::optional<MatrixShape> wider = MatrixFor(context, reader, /*of_their_type=*/false);
  work.matrix = MatrixFor(context, reader, /*of_their_type=*/true);
  if (work.matrix && wider && wider->term != work.matrix->term) {
    // Words of f8 are for its own units; to pack values takes more than these save.
    const DotShape shape = TuneDot(context.facts, work);
    const bool of_groups = shape.matrix && shape.matrix->invocations != 0;
    if (of_groups || (shape.matrix && ProductWriter(context, reader, buffers, shape).TakesWords()))
      return LowerProductAs(context, reader, buffers, shape);
  }
  if (wider) work.matrix = wider;
  return LowerProductAs(context, reader, buffers, TuneDot(context.facts, work));
}

std::vector<Step> LowerProductAs(const LowerContext& context, const ProductReader& reader, BufferMap& buffers,
                                 const DotShape& shape) {
  return ProductWriter(context, reader, buffers, shape).Write();
}

Status CheckProductRoot(const FusionDescription& body, const Instruction& root) {
  const int64_t count = body.hero->shape().ElementCount();
  if (root.shape().ElementCount() == count) return OkStatus();
  return Internal("{}: a result has {} elements, the {} has {}", body.instruction->name(), root.shape().ElementCount(),
                  OpcodeText(body.hero->opcode()), count);
}

Status CheckProductRoots(const FusionDescription& body) {
  for (const Instruction* root : body.roots) VXLA_RETURN_IF_ERROR(CheckProductRoot(body, *root));
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE::vulkan
