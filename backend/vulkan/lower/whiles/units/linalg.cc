// Cholesky and triangular-solve inside a loop that one workgroup runs: column by column, each element taking off its
// products in the order of k, as the kernels of these ops do.
#include <fmt/format.h>

#include <algorithm>

#include "backend/vulkan/lower/linalg/linalg_text.h"
#include "backend/vulkan/lower/whiles/units/units.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// With fewer right-hand sides for each of the lanes, lanes share the unknowns of one out.
constexpr int64_t kLanesOfASide = 8, kFewUnknowns = 4;
bool SharesUnknowns(const TriangularForm& form, uint32_t lanes) {
  return form.unknowns > kFewUnknowns && form.batch * form.sides * kLanesOfASide <= lanes;
}

// What both have in common: statements over matrices that are operands or results.
class LoopMatrixWriter : protected CodeWriter {
 public:
  LoopMatrixWriter(const FusionDescription& body, BufferMap& buffers, const LoopUnit& unit)
      : type_(body.hero->shape().element_type()),
        math_(type_),
        body_(body),
        buffers_(buffers),
        unit_(unit),
        kernel_(unit.kernel),
        work_(kernel_.AddBuffer(type_, Access::kReadWrite, buffers.SliceOf(*body.instruction, 0))),
        subtract_(fmt::format("subtract_product_{}", unit.number)),
        batch_(BatchOf(body.hero->shape())) {
    Add(unit.OwnRows(batch_));
  }

 protected:
  // Of all matrices of the batch.
  void OpenTurns(int64_t count) { OpenBlock(unit_.Turns("p", count, batch_)); }
  void Wait() { Barrier(unit_.waits_for_grid()); }

  Expression Operand(int k, const std::string& index) {
    const Instruction& operand = *body_.OperandOf(*body_.hero->operand(k));
    const auto held = std::ranges::find(unit_.held, &operand, &std::pair<const Instruction*, std::string>::first);
    if (held != unit_.held.end()) return held->second;
    return kernel_.Loaded(kernel_.AddBuffer(type_, Access::kRead, buffers_.SliceOf(operand, 0)), index);
  }

  const ElementType type_;
  const LinalgText math_;
  const FusionDescription& body_;
  BufferMap& buffers_;
  const LoopUnit& unit_;
  KernelBuilder& kernel_;
  const int work_;  // the result
  const std::string subtract_;
  const int64_t batch_;  // matrices
};

class LoopCholeskyWriter : public LoopMatrixWriter {
 public:
  using LoopMatrixWriter::LoopMatrixWriter;

  // A lane has an element of the column for each of its rows: it takes the columns before off that and, for itself, off
  // the diagonal's, so that nobody waits for the lane that has the diagonal.
  Code Write() {
    const Shape& shape = body_.hero->shape();
    const int64_t n = shape.dimension(shape.rank() - 1);
    const bool upper = !body_.hero->attributes<CholeskyAttributes>().lower;
    const MatrixPlace lower = RowMajor({}, n, n), place = upper ? lower.Transposed() : lower;
    const auto factor = [&](const std::string& i, const std::string& j) {
      return kernel_.Loaded(work_, place.Index("matrix", i, j));
    };
    const std::string value(CarrierType(type_)), own = place.Index("matrix", "row", "column");
    kernel_.Append(math_.SubtractProduct(subtract_, math_.Conjugated("b")));
    OpenBlock("[[dont_unroll]] for (uint column = 0u; column < {}u; ++column)", n);
    Wait();
    OpenTurns(batch_ * n);
    Line("uint matrix = p / {0}u, row = p % {0}u;", n);
    OpenBlock("if (row < column)");
    Add(kernel_.Storing(work_, own, ZeroText(type_)));
    CloseBlock();
    OpenBlock("else");
    Declare(value, "rest", Operand(0, own));
    Declare(value, "diagonal", Operand(0, place.Index("matrix", "column", "column")));
    OpenBlock("[[dont_unroll]] for (uint k = 0u; k < column; ++k)");
    Declare(value, "above", factor("column", "k"));
    Declare(value, "left", factor("row", "k"));
    Line("rest = {}(rest, left, above);", subtract_);
    Line("diagonal = {}(diagonal, above, above);", subtract_);
    CloseBlock();
    Line("{} pivot = {};", CarrierType(RealPart(type_)), math_.Root("diagonal"));
    Line("{} result = {};", value, math_.OfReal("pivot"));
    Line("if (row > column) result = {};", math_.OverReal("rest", "pivot"));
    Add(kernel_.Storing(work_, own, "result"));
    CloseBlock(3);
    return Take();
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
    SharesUnknowns(form_, unit_.lanes) ? WriteShared(kernel_.AddBuffer(type_, Access::kReadWrite, scratch[0]))
                                       : WriteSides();
    return Take();
  }

 private:
  // An element of M, of which `name` becomes what A has.
  std::string Matrix(const std::string& name, const std::string& i, const std::string& j) {
    Declare(CarrierType(type_), name, Operand(0, matrix_.Index("matrix", i, j)));
    return form_.conjugated ? math_.Conjugated(name) : name;
  }
  std::string Side(const std::string& i) const { return sides_.Index("matrix", i, "side"); }
  // A statement that divides `value` by M's diagonal.
  void Divide(const std::string& value, const std::string& i) {
    if (!form_.unit_diagonal) Line("{} = {};", value, math_.Over(value, Matrix("pivot", i, i)));
  }

  // Each lane its own right-hand sides.
  void WriteSides() {
    OpenTurns(form_.batch * form_.sides);
    Line("uint matrix = p / {0}u, side = p % {0}u;", form_.sides);
    OpenBlock("[[dont_unroll]] for (uint row = 0u; row < {}u; ++row)", form_.unknowns);
    Declare(CarrierType(type_), "rest", Operand(1, Side("row")));
    OpenBlock("[[dont_unroll]] for (uint k = 0u; k < row; ++k)");
    const std::string factor = Matrix("factor", "row", "k");
    Declare(CarrierType(type_), "known", kernel_.Loaded(work_, Side("k")));
    Line("rest = {}(rest, {}, known);", subtract_, factor);
    CloseBlock();
    Divide("rest", "row");
    Add(kernel_.Storing(work_, Side("row"), "rest"));
    CloseBlock(2);
  }

  // Once an unknown is known, it is taken off all later rows. `rest` keeps what is left of each row, and does not
  // change for an unknown that is known, so that every lane may divide it for itself.
  void WriteShared(int rest) {
    const int64_t n = form_.unknowns, count = form_.batch * n * form_.sides;
    const auto open_places = [&] {
      OpenTurns(count);
      Line("uint matrix = p / {}u, row = p / {}u % {}u, side = p % {}u;", n * form_.sides, form_.sides, n, form_.sides);
    };
    open_places();
    Declare(CarrierType(type_), "right", Operand(1, Side("row")));
    Add(kernel_.Storing(rest, Side("row"), "right"));
    CloseBlock();
    OpenBlock("[[dont_unroll]] for (uint column = 0u; column < {}u; ++column)", n);
    Wait();
    open_places();
    OpenBlock("if (row >= column)");
    Declare(CarrierType(type_), "known", kernel_.Loaded(rest, Side("column")));
    Divide("known", "column");
    OpenBlock("if (row == column)");
    Add(kernel_.Storing(work_, Side("row"), "known"));
    CloseBlock();
    OpenBlock("else");
    Declare(CarrierType(type_), "left", kernel_.Loaded(rest, Side("row")));
    const std::string factor = Matrix("factor", "row", "column");
    Add(kernel_.Storing(rest, Side("row"), fmt::format("{}(left, {}, known)", subtract_, factor)));
    CloseBlock(4);
  }

  const TriangularForm form_;
  MatrixPlace matrix_, sides_;
};

int64_t CostOfProduct(ElementType type) { return HasWideCarrier(type) || IsComplex(type) ? 16 : 4; }

}  // namespace

LoopUnitNeeds NeedsOfLoopCholesky(const LowerContext&, const FusionDescription& body, uint32_t lanes) {
  const Shape& shape = body.hero->shape();
  const int64_t n = shape.dimension(shape.rank() - 1), batch = BatchOf(shape);
  LoopUnitNeeds needs;
  needs.rows = batch;
  needs.waits = n;
  needs.operations = batch * n * n * (n + 16) / 2 * CostOfProduct(shape.element_type());
  needs.iterations = n * (2 + CeilDivide(batch * n, lanes) * (2 + n / 2)) + CeilDivide(batch * n * n, lanes) + 2;
  return needs;
}

Code WriteLoopCholesky(const LowerContext&, const FusionDescription& body, BufferMap& buffers,
                       std::span<const BufferSlice>, const LoopUnit& unit) {
  return LoopCholeskyWriter(body, buffers, unit).Write();
}

LoopUnitNeeds NeedsOfLoopSolve(const LowerContext&, const FusionDescription& body, uint32_t lanes) {
  const TriangularForm form(*body.hero);
  const ElementType type = body.hero->shape().element_type();
  const int64_t n = form.unknowns, count = form.batch * form.sides * n;
  LoopUnitNeeds needs;
  const bool shares = SharesUnknowns(form, lanes);
  if (shares) needs.scratch.emplace_back(type, IntList{count});
  // Right-hand sides of a lane's own wait for nobody.
  needs.rows = shares ? form.batch : 1;
  needs.waits = shares ? n : 0;
  needs.operations = count * (n + 8) * CostOfProduct(type);
  needs.iterations = shares ? (n + 1) * (2 + CeilDivide(count, lanes))
                            : CeilDivide(form.batch * form.sides, lanes) * (n * (4 + n / 2) + 3) + 1;
  return needs;
}

Code WriteLoopSolve(const LowerContext&, const FusionDescription& body, BufferMap& buffers,
                    std::span<const BufferSlice> scratch, const LoopUnit& unit) {
  return LoopSolveWriter(body, buffers, unit).Write(scratch);
}

}  // namespace VXLA_NAMESPACE::vulkan
