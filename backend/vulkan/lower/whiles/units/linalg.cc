// Cholesky and triangular-solve inside a loop that one workgroup runs: column by column, each element taking off its
// products in the order of k, as the kernels of these ops do.
#include <fmt/format.h>

#include <algorithm>

#include "backend/vulkan/codegen/scalar_computation.h"
#include "backend/vulkan/lower/linalg/linalg_text.h"
#include "backend/vulkan/lower/whiles/units/units.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Types narrower than f32 are computed in f32, in memory of the unit's own, and rounded once.
ElementType ComputedIn(ElementType type) { return IsNarrowFloat(type) ? ElementType::kF32 : type; }

// With fewer right-hand sides for each of the lanes, lanes share the unknowns of one out.
constexpr int64_t kLanesOfASide = 8, kFewUnknowns = 4;
bool SharesUnknowns(const TriangularForm& form, uint32_t lanes) {
  return form.unknowns > kFewUnknowns && form.batch * form.sides * kLanesOfASide <= lanes;
}

// What both have in common: statements over matrices that are operands, results or scratch.
class LoopMatrixWriter {
 public:
  LoopMatrixWriter(const FusionDescription& body, BufferMap& buffers, const LoopUnit& unit)
      : stored_(body.hero->shape().element_type()),
        type_(ComputedIn(stored_)),
        math_(type_),
        body_(body),
        buffers_(buffers),
        unit_(unit),
        kernel_(unit.kernel),
        subtract_(fmt::format("subtract_product_{}", unit.number)) {}

 protected:
  void Line(const std::string& statement) {
    text_ += std::string(2 * static_cast<size_t>(depth_), ' ') + statement + "\n";
  }
  void Open(const std::string& head) {
    Line(head + " {");
    ++depth_;
  }
  void Close() {
    --depth_;
    Line("}");
  }
  void OpenTurns(int64_t count) {
    Open(fmt::format("[[dont_unroll]] for (uint p = lane; p < {}u; p += {}u)", count, unit_.lanes));
  }

  std::string Operand(int k, const std::string& index) {
    const Instruction& operand = *body_.OperandOf(*body_.hero->operand(k));
    const auto held = std::ranges::find(unit_.held, &operand, &std::pair<const Instruction*, std::string>::first);
    if (held != unit_.held.end()) return ConvertedText(stored_, type_, held->second);
    return ConvertedText(stored_, type_,
                         kernel_.Load(kernel_.AddBuffer(stored_, Access::kRead, buffers_.SliceOf(operand, 0)), index));
  }
  // What is computed on, `narrow` the scratch of types that are computed in another.
  int Work(std::span<const BufferSlice> narrow) {
    return kernel_.AddBuffer(type_, Access::kReadWrite, type_ == stored_ ? Result() : narrow[0]);
  }
  BufferSlice Result() { return buffers_.SliceOf(*body_.instruction, 0); }
  std::string RoundedStore(int work, const std::string& index) {
    const int k = kernel_.AddBuffer(stored_, Access::kWrite, Result());
    return kernel_.Store(k, index, ConvertedText(type_, stored_, kernel_.Load(work, index)));
  }

  const ElementType stored_, type_;
  const LinalgText math_;
  const FusionDescription& body_;
  BufferMap& buffers_;
  const LoopUnit& unit_;
  KernelBuilder& kernel_;
  const std::string subtract_;
  Code text_;
  int depth_ = 1;
};

class LoopCholeskyWriter : public LoopMatrixWriter {
 public:
  using LoopMatrixWriter::LoopMatrixWriter;

  // A lane has an element of the column for each of its rows: it takes the columns before off that and, for itself, off
  // the diagonal's, so that nobody waits for the lane that has the diagonal.
  Code Write(std::span<const BufferSlice> scratch) {
    const Shape& shape = body_.hero->shape();
    const int64_t n = shape.dimension(shape.rank() - 1), batch = BatchOf(shape);
    const bool upper = !body_.hero->attributes<CholeskyAttributes>().lower;
    const int work = Work(scratch);
    const MatrixPlace lower = RowMajor({}, n, n), place = upper ? lower.Transposed() : lower;
    const auto factor = [&](const std::string& i, const std::string& j) {
      return kernel_.Load(work, place.Index("matrix", i, j));
    };
    const std::string value(CarrierType(type_)), own = place.Index("matrix", "row", "column");
    kernel_.Append(math_.SubtractProduct(subtract_, math_.Conjugated("b")));
    Open(fmt::format("[[dont_unroll]] for (uint column = 0u; column < {}u; ++column)", n));
    text_ += Barrier(depth_);
    OpenTurns(batch * n);
    Line(fmt::format("uint matrix = p / {0}u, row = p % {0}u;", n));
    Open("if (row < column)");
    Line(kernel_.Store(work, own, ZeroText(type_)));
    Close();
    Open("else");
    Line(fmt::format("{} rest = {};", value, Operand(0, own)));
    Line(fmt::format("{} diagonal = {};", value, Operand(0, place.Index("matrix", "column", "column"))));
    Open("[[dont_unroll]] for (uint k = 0u; k < column; ++k)");
    Line(fmt::format("{} above = {};", value, factor("column", "k")));
    Line(fmt::format("rest = {}(rest, {}, above);", subtract_, factor("row", "k")));
    Line(fmt::format("diagonal = {}(diagonal, above, above);", subtract_));
    Close();
    Line(fmt::format("{} pivot = {};", CarrierType(RealPart(type_)), math_.Root("diagonal")));
    Line(fmt::format("{} result = {};", value, math_.OfReal("pivot")));
    Line(fmt::format("if (row > column) result = {};", math_.OverReal("rest", "pivot")));
    Line(kernel_.Store(work, own, "result"));
    Close();
    Close();
    Close();
    if (type_ != stored_) {
      text_ += Barrier(depth_);
      OpenTurns(batch * n * n);
      Line(RoundedStore(work, "p"));
      Close();
    }
    return std::move(text_);
  }
};

class LoopSolveWriter : public LoopMatrixWriter {
 public:
  LoopSolveWriter(const FusionDescription& body, BufferMap& buffers, const LoopUnit& unit)
      : LoopMatrixWriter(body, buffers, unit), form_(*body.hero) {
    const int64_t n = form_.unknowns;
    matrix_ = form_.Matrix({}, 0, n);
    sides_ = form_.Sides({}, n, 0, n);
    kernel_.Append(math_.SubtractProduct(subtract_, "b"));
  }

  Code Write(std::span<const BufferSlice> scratch) {
    const bool shares = SharesUnknowns(form_, unit_.lanes);
    const int work = Work(scratch.subspan(shares ? 1 : 0));
    shares ? WriteShared(work, kernel_.AddBuffer(type_, Access::kReadWrite, scratch[0])) : WriteSides(work);
    return std::move(text_);
  }

 private:
  std::string Matrix(const std::string& i, const std::string& j) {
    const std::string value = Operand(0, matrix_.Index("matrix", i, j));
    return form_.conjugated ? math_.Conjugated(value) : value;
  }
  std::string Side(const std::string& i) const { return sides_.Index("matrix", i, "side"); }
  // A statement that divides `value` by M's diagonal.
  void Divide(const std::string& value, const std::string& i) {
    if (!form_.unit_diagonal) Line(fmt::format("{} = {};", value, math_.Over(value, Matrix(i, i))));
  }

  // Each lane its own right-hand sides.
  void WriteSides(int work) {
    OpenTurns(form_.batch * form_.sides);
    Line(fmt::format("uint matrix = p / {0}u, side = p % {0}u;", form_.sides));
    Open(fmt::format("[[dont_unroll]] for (uint row = 0u; row < {}u; ++row)", form_.unknowns));
    Line(fmt::format("{} rest = {};", CarrierType(type_), Operand(1, Side("row"))));
    Open("[[dont_unroll]] for (uint k = 0u; k < row; ++k)");
    Line(fmt::format("rest = {}(rest, {}, {});", subtract_, Matrix("row", "k"), kernel_.Load(work, Side("k"))));
    Close();
    Divide("rest", "row");
    Line(kernel_.Store(work, Side("row"), "rest"));
    Close();
    if (type_ != stored_) {
      Open(fmt::format("for (uint row = 0u; row < {}u; ++row)", form_.unknowns));
      Line(RoundedStore(work, Side("row")));
      Close();
    }
    Close();
  }

  // Once an unknown is known, it is taken off all later rows. `rest` keeps what is left of each row, and does not
  // change for an unknown that is known, so that every lane may divide it for itself.
  void WriteShared(int work, int rest) {
    const int64_t n = form_.unknowns, count = form_.batch * n * form_.sides;
    const auto open_places = [&] {
      OpenTurns(count);
      Line(fmt::format("uint matrix = p / {}u, row = p / {}u % {}u, side = p % {}u;", n * form_.sides, form_.sides, n,
                       form_.sides));
    };
    open_places();
    Line(kernel_.Store(rest, Side("row"), Operand(1, Side("row"))));
    Close();
    Open(fmt::format("[[dont_unroll]] for (uint column = 0u; column < {}u; ++column)", n));
    text_ += Barrier(depth_);
    open_places();
    Open("if (row >= column)");
    Line(fmt::format("{} known = {};", CarrierType(type_), kernel_.Load(rest, Side("column"))));
    Divide("known", "column");
    Open("if (row == column)");
    Line(kernel_.Store(work, Side("row"), "known"));
    if (type_ != stored_) Line(RoundedStore(work, Side("row")));
    Close();
    Open("else");
    const std::string taken =
        fmt::format("{}({}, {}, known)", subtract_, kernel_.Load(rest, Side("row")), Matrix("row", "column"));
    Line(kernel_.Store(rest, Side("row"), taken));
    Close();
    Close();
    Close();
    Close();
  }

  const TriangularForm form_;
  MatrixPlace matrix_, sides_;
};

int64_t CostOfProduct(ElementType type) { return HasWideCarrier(type) || IsComplex(type) ? 16 : 4; }

}  // namespace

LoopUnitNeeds NeedsOfLoopCholesky(const FusionDescription& body, uint32_t lanes) {
  const Shape& shape = body.hero->shape();
  const ElementType type = shape.element_type(), computed = ComputedIn(type);
  const int64_t n = shape.dimension(shape.rank() - 1), batch = BatchOf(shape);
  LoopUnitNeeds needs;
  if (computed != type) needs.scratch.emplace_back(computed, IntList{shape.ElementCount()});
  needs.operations = batch * n * n * (n + 16) / 2 * CostOfProduct(type);
  needs.iterations = n * (2 + CeilDivide(batch * n, lanes) * (2 + n / 2)) + CeilDivide(batch * n * n, lanes) + 2;
  return needs;
}

Code WriteLoopCholesky(const FusionDescription& body, BufferMap& buffers, std::span<const BufferSlice> scratch,
                       const LoopUnit& unit) {
  return LoopCholeskyWriter(body, buffers, unit).Write(scratch);
}

LoopUnitNeeds NeedsOfLoopSolve(const FusionDescription& body, uint32_t lanes) {
  const TriangularForm form(*body.hero);
  const ElementType type = body.hero->shape().element_type(), computed = ComputedIn(type);
  const int64_t n = form.unknowns, count = form.batch * form.sides * n;
  LoopUnitNeeds needs;
  const bool shares = SharesUnknowns(form, lanes);
  if (shares) needs.scratch.emplace_back(computed, IntList{count});
  if (computed != type) needs.scratch.emplace_back(computed, IntList{count});
  needs.operations = count * (n + 8) * CostOfProduct(type);
  needs.iterations = shares ? (n + 1) * (2 + CeilDivide(count, lanes))
                            : CeilDivide(form.batch * form.sides, lanes) * (n * (4 + n / 2) + 3) + 1;
  return needs;
}

Code WriteLoopSolve(const FusionDescription& body, BufferMap& buffers, std::span<const BufferSlice> scratch,
                    const LoopUnit& unit) {
  return LoopSolveWriter(body, buffers, unit).Write(scratch);
}

}  // namespace VXLA_NAMESPACE::vulkan
