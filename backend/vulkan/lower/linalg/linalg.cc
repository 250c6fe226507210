// Cholesky and triangular-solve: blocks of rows, from the left. A block of columns is what the matrix has there minus a
// product of what is known already: a fused dot, which does nearly all of the work. Then a small kernel factors the
// block's corner (shaders/linalg/factor_block.comp), and substitution solves the rest (linalg/solve_block.comp,
// on GPUs linalg/solve_held.comp). All of it happens in the result's own memory, but for one block of scratch; each
// step reads what the steps before it wrote.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <string>
#include <vector>

#include "backend/vulkan/lower/linalg/linalg_text.h"
#include "backend/vulkan/lower/lower.h"
#include "backend/vulkan/lower/products/dot.h"
#include "backend/vulkan/lower/tuning/tuning.h"
#include "core/ceil_divide.h"
#include "core/ir/module.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

constexpr int64_t kLargeMatrix = 1 << 17;  // elements

// A window of matrices [batch, rows, columns] in memory.
struct BlockWindow {
  BufferSlice slice;
  int64_t rows = 0, columns = 0;  // of the whole matrices
  int64_t first_row = 0, first_column = 0, row_count = 0, column_count = 0;
  bool contracts_rows = false, conjugated = false;  // of a factor

  BlockWindow Transposed() const {
    return {slice, columns, rows, first_column, first_row, column_count, row_count, !contracts_rows, conjugated};
  }
};

// target = minuend - lhs rhs, [batch, rows, columns] side by side: a dot with slices before it and a subtraction after
// it.
class BlockProduct {
 public:
  BlockProduct(ElementType type, int64_t batch)
      : type_(type),
        batch_(batch),
        module_("product"),
        entry_(*module_.AddComputation("entry")),
        fused_(*module_.AddComputation("fused")) {}

  Result<std::vector<Step>> Lower(const LowerContext& context, const std::string& name, const BlockWindow& minuend,
                                  const BlockWindow& lhs, const BlockWindow& rhs, const BufferSlice& target,
                                  BufferMap& buffers) {
    Instruction* const a = Factor(lhs);
    Instruction* const b = Factor(rhs);
    const Shape shape(type_, {batch_, minuend.row_count, minuend.column_count});
    DotAttributes dot;
    dot.lhs_batch_dims = dot.rhs_batch_dims = {0};
    dot.lhs_contracting_dims = {lhs.contracts_rows ? 1 : 2};
    dot.rhs_contracting_dims = {rhs.contracts_rows ? 1 : 2};
    Instruction* const product = fused_.Add(Opcode::kDot, shape, {a, b}, dot);
    fused_.set_root(fused_.Add(Opcode::kSubtract, shape, {Slice(minuend), product}));
    const Instruction* const fusion =
        entry_.Add(Opcode::kFusion, shape, operands_, FusionAttributes{FusionKind::kOutput, {}}, {&fused_});
    VXLA_ASSIGN_OR_RETURN(const FusionDescription body, DescribeFusion(*fusion));
    PlacedBuffers own(buffers, [&](const Instruction& instruction, int) {
      if (instruction.opcode() != Opcode::kParameter) return target;
      return slices_.at(static_cast<size_t>(instruction.parameter_number()));
    });
    VXLA_RETURN_IF_ERROR(CanLowerDot(context, body));
    // Large tiles are worth their compilation for large matrices, whose rows are read in groups.
    const bool large = batch_ * lhs.rows * lhs.columns >= kLargeMatrix && lhs.columns % 4 == 0 && rhs.columns % 4 == 0;
    VXLA_ASSIGN_OR_RETURN(std::vector<Step> steps, (large ? LowerRepeatedDot : LowerDot)(context, body, own));
    for (Step& step : steps) {
      step.name = name + " product";
      step.accumulations.clear();  // of no instruction that the program has
    }
    return steps;
  }

 private:
  Instruction* Parameter(const BlockWindow& window) {
    for (size_t k = 0; k < slices_.size(); ++k) {
      if (slices_[k] == window.slice) return fused_.parameter(static_cast<int64_t>(k));
    }
    const ParameterAttributes number{static_cast<int64_t>(slices_.size())};
    const Shape shape(type_, {batch_, window.rows, window.columns});
    slices_.push_back(window.slice);
    operands_.push_back(entry_.Add(Opcode::kParameter, shape, {}, number));
    return fused_.Add(Opcode::kParameter, shape, {}, number);
  }
  Instruction* Slice(const BlockWindow& window) {
    SliceAttributes slice;
    slice.slice = {{0, batch_, 1},
                   {window.first_row, window.first_row + window.row_count, 1},
                   {window.first_column, window.first_column + window.column_count, 1}};
    return fused_.Add(Opcode::kSlice, Shape(type_, {batch_, window.row_count, window.column_count}),
                      {Parameter(window)}, slice);
  }
  Instruction* Factor(const BlockWindow& window) {
    Instruction* const value = Slice(window);
    if (!window.conjugated || !IsComplex(type_)) return value;
    Shape part = value->shape();
    part.set_element_type(RealPart(type_));
    Instruction* const imag = fused_.Add(Opcode::kImag, part, {value});
    return fused_.Add(Opcode::kComplex, value->shape(),
                      {fused_.Add(Opcode::kReal, part, {value}), fused_.Add(Opcode::kNegate, part, {imag})});
  }

  const ElementType type_;
  const int64_t batch_;
  Module module_;
  Computation &entry_, &fused_;
  std::vector<BufferSlice> slices_;
  std::vector<Instruction*> operands_;
};

class BlockKernels {
 public:
  BlockKernels(const LowerContext& context, const FusionDescription& body, ElementType type, int64_t batch)
      : context_(context),
        type_(type),
        text_(type),
        batch_(batch),
        in_pairs_(ComputesInPairs(context, body)),
        name_(StepName(body)) {}

  // Rows that a corner may have: a triangle of it lies in shared memory, where one workgroup factors it while the rest
  // of the device waits. (Cholesky 512 on lavapipe: 32 rows 27 ms, 64 rows 32, with dot 512 at 59.)
  int64_t MostRows() const {
    for (int64_t rows = context_.facts.costs.subgroups_in_turn ? 32 : 64; rows > 8; rows /= 2) {
      if (FactorBytes(rows, kFactorStep) <= context_.facts.max_shared_bytes) return rows;
    }
    return 8;
  }

  // result = the factor of source, n by n, zeros in the other triangle. Both lie row by row; `upper`: by transposes.
  Step Factor(const MatrixPlace& source, const MatrixPlace& result, int64_t n, bool upper) const;

  struct Solve {
    MatrixPlace matrix, known, solved;  // rows of the right-hand sides are unknowns
    const MatrixPlace* cleared = nullptr;
    int64_t unknowns = 0, sides = 0;
    bool conjugated = false, unit_diagonal = false, real_diagonal = false;
  };
  Step Substitute(const Solve& solve) const;

 private:
  static constexpr uint32_t kFactorStep = 4;
  int64_t FactorBytes(int64_t rows, int64_t step) const {
    return ((rows + step) * (rows + step + 1) / 2 + step * step) * std::max(StorageBytes(type_), 4);
  }
  // Elements of a triangle as linalg/solve_held.comp has it, columns in blocks of `step`.
  static int64_t HeldTriangle(int64_t rows, int64_t step) {
    const int64_t blocks = rows / step;
    return rows * (rows + 4) - step * step * blocks * (blocks - 1) / 2;
  }
  // Whether a workgroup holds the triangle and its right-hand sides in shared memory: not for few unknowns, of which
  // most lanes would load none.
  bool HoldsSolve(int64_t lanes, int64_t unknowns, int64_t rows, int64_t step) const {
    const int64_t elements = HeldTriangle(rows, step) + rows * (lanes + 1);
    return !context_.facts.costs.subgroups_in_turn && !in_pairs_ && unknowns >= 16 && unknowns <= lanes &&
           elements * std::max(StorageBytes(type_), 4) <= context_.facts.max_shared_bytes;
  }
  // Unknowns that a kernel solves for together; one where numbers are pairs of words, whose functions are long.
  uint32_t UnknownsAtATime(int64_t n, uint32_t most) const {
    if (in_pairs_) return 1;
    while (most > 1 && most > n) most /= 2;
    return most;
  }
  void Types(KernelBuilder& kernel) const;
  void ScaleAll(KernelBuilder& kernel, uint32_t count) const;
  void LoadFunction(KernelBuilder& kernel, std::string_view name, const BufferSlice& slice, bool conjugated) const;
  void StoreFunction(KernelBuilder& kernel, const BufferSlice& slice) const;

  const LowerContext& context_;
  const ElementType type_;
  const LinalgText text_;
  const int64_t batch_;
  const bool in_pairs_;
  const std::string name_;
};

void BlockKernels::Types(KernelBuilder& kernel) const {
  kernel.Append("#define Value {}\n#define Real {}\n#define ZERO {}\n", CarrierType(type_),
                CarrierType(RealPart(type_)), ZeroText(type_));
}

void BlockKernels::LoadFunction(KernelBuilder& kernel, std::string_view name, const BufferSlice& slice,
                                bool conjugated) const {
  const int k = kernel.AddBuffer(type_, Access::kRead, slice);
  const std::string value = kernel.Load(k, "i");
  kernel.Append("Value {}(uint i) {{ return {}; }}\n", name, conjugated ? text_.Conjugated(value) : value);
}

void BlockKernels::StoreFunction(KernelBuilder& kernel, const BufferSlice& slice) const {
  const int k = kernel.AddBuffer(type_, Access::kWrite, slice);
  kernel.Append("void store(uint i, Value value) {{ {} }}\n", kernel.Store(k, "i", "value"));
}

// Quotients side by side, so that they are a group (codegen/passes/group_divisions.h).
void BlockKernels::ScaleAll(KernelBuilder& kernel, uint32_t count) const {
  std::string columns, given, stored;
  Code quotients;
  const bool is_float = CarrierSuffix(type_) == "f32";
  for (uint32_t i = 0; i < count; ++i) {
    columns += fmt::format(" f({}u)", i);
    given += fmt::format("  Value x{0} = x[{0}];\n", i);
    const std::string x = fmt::format("x{}", i);
    quotients.Add(
        {.kind = Statement::Kind::kDeclare,
         .depth = 1,
         .precise = is_float,
         .type = is_float ? "float" : "Value",
         .name = fmt::format("q{}", i),
         .value = Expression{text_.OverReal(x, "by"), is_float ? MadeBy::kDivide : MadeBy::kOther, {x, "by"}}});
    stored += fmt::format("  x[{0}] = q{0};\n", i);
  }
  kernel.Append("#define EACH_COLUMN(f){}\n", columns);
  kernel.Define(fmt::format("void scale_all(inout Value x[{}], Real by)", count),
                Code(given) + std::move(quotients) + stored);
}

Step BlockKernels::Factor(const MatrixPlace& source, const MatrixPlace& result, int64_t n, bool upper) const {
  const DeviceFacts& facts = context_.facts;
  const uint32_t step = UnknownsAtATime(n, kFactorStep);
  // Small matrices share a workgroup.
  const uint32_t most_lanes = std::min(
      {facts.costs.subgroups_in_turn ? 8u : 64u, facts.max_workgroup_invocations, facts.max_workgroup_size[0]});
  const uint32_t lanes = std::min(std::bit_ceil(static_cast<uint32_t>(n)), std::bit_floor(most_lanes));
  uint32_t matrices = most_lanes / lanes;
  while (matrices > 1 && (matrices * FactorBytes(n, step) > facts.max_shared_bytes / 2 || matrices / 2 >= batch_)) {
    matrices /= 2;
  }
  const int64_t groups = CeilDivide(batch_, matrices);
  const bool ahead = !facts.costs.subgroups_in_turn && lanes >= n;
  // Lanes of a row, where rows fill subgroups.
  uint32_t phases = ahead && lanes >= 32 ? 4 : 1;
  while (lanes * matrices * phases > std::min(facts.max_workgroup_invocations, facts.max_workgroup_size[0]))
    phases /= 2;

  KernelBuilder kernel(facts);
  kernel.Params({{"GROUP_COUNT", groups},
                 {"MATRIX_COUNT", batch_},
                 {"UNKNOWNS", n},
                 {"SOURCE_FIRST", source.first},
                 {"SOURCE_MATRIX", source.matrix},
                 {"SOURCE_ROW", source.row},
                 {"RESULT_FIRST", result.first},
                 {"RESULT_MATRIX", result.matrix},
                 {"RESULT_ROW", result.row}});
  Types(kernel);
  // Room for the largest block, so that blocks of all sizes share a text where only one matrix is in the group.
  const int64_t rows = matrices > 1 ? n : MostRows();
  kernel.Append(
      "#define T {}u\n#define LANES {}u\n#define AHEAD {}\n#define PHASES {}u\n#define MATRICES {}u\n#define SIZE {}u\n"
      "#define UPPER {}\n#define WHOLE {}\n",
      step, lanes, ahead ? 1 : 0, phases, matrices, (rows + step) * (rows + step + 1) / 2, upper ? 1 : 0,
      n % step == 0 ? 1 : 0);
  LoadFunction(kernel, "load", source.slice, false);
  StoreFunction(kernel, result.slice);
  kernel.Append(text_.SubtractProduct("subtract_product", text_.Conjugated("b")));
  kernel.Append("Real root(Value x) {{ return {}; }}\n", text_.Root("x"));
  if (ahead) {
    ScaleAll(kernel, step);
  } else {
    kernel.Append("Value scale_down(Value x, Real by) {{ return {}; }}\n", text_.OverReal("x", "by"));
  }
  kernel.Append("Value as_value(Real x) {{ return {}; }}\n", text_.OfReal("x"));
  Step made = kernel.Finish(name_ + " corner", "linalg/factor_block.comp", {lanes * phases * matrices, 1, 1}, groups);
  made.flop = batch_ * n * n * n / 3;
  return made;
}

Step BlockKernels::Substitute(const Solve& solve) const {
  const DeviceFacts& facts = context_.facts;
  const bool by_lane = facts.costs.accesses_by_lane;
  const uint32_t lanes = std::min(
      {facts.costs.subgroups_in_turn ? 8u : 64u, facts.max_workgroup_invocations, facts.max_workgroup_size[0]});
  uint32_t step = UnknownsAtATime(solve.unknowns, CarrierSuffix(type_) == "f32" ? 8 : 4);
  // Where memory is read lane by lane, lanes hand elements of the matrix round, and each serves several right-hand
  // sides. (Those of cholesky 512 on lavapipe: 8.4 ms without broadcasts, 5.5 with.)
  const bool share = by_lane && !in_pairs_ && ShuffleTakes(type_) && facts.subgroup_shuffle && step > 1 &&
                     lanes % facts.subgroup_size == 0;
  if (share) step = std::min(step, std::bit_floor(facts.subgroup_size));
  const bool dear_divisions = facts.division_f32 == DeviceFacts::Division::kCorrected || IsComplex(type_);
  const uint32_t sides = by_lane && !in_pairs_ && !dear_divisions && solve.sides >= 4 * lanes ? 4 : 1;
  const int64_t shares = CeilDivide(solve.sides, lanes * sides), groups = batch_ * shares;

  KernelBuilder kernel(facts);
  kernel.Params({{"GROUP_COUNT", groups}, {"SHARES", shares}, {"UNKNOWNS", solve.unknowns}, {"SIDES", solve.sides}});
  const auto place = [&](const std::string& of, const MatrixPlace& at) {
    kernel.Params(
        {{of + "_FIRST", at.first}, {of + "_MATRIX", at.matrix}, {of + "_ROW", at.row}, {of + "_COLUMN", at.column}});
  };
  place("FACTOR", solve.matrix);
  place("KNOWN", solve.known);
  place("SOLVED", solve.solved);
  if (solve.cleared != nullptr) place("CLEARED", *solve.cleared);
  Types(kernel);
  const int64_t rows = CeilDivide(solve.unknowns, step) * step;
  const bool held = HoldsSolve(lanes, solve.unknowns, rows, step);
  const auto neighbours = [](int64_t stride) { return stride == 1 || stride == -1 ? 1 : 0; };
  if (held)
    kernel.Append(
        "#define ROWS {}u\n#define TRIANGLE {}u\n#define MATRIX_ACROSS {}\n#define KNOWN_ALONG {}\n#define "
        "SOLVED_ALONG {}\n",
        rows, HeldTriangle(rows, step), neighbours(solve.matrix.row), neighbours(solve.known.row),
        neighbours(solve.solved.row));
  kernel.Append(
      "#define T {}u\n#define R {}u\n#define LANES {}u\n#define WHOLE {}\n#define UNIT_DIAGONAL {}\n#define ZEROS {}\n"
      "#define SHARE {}\n"
      "#define BY_SHARES(g) {}\n",
      step, sides, lanes, solve.unknowns % step == 0 ? 1 : 0, solve.unit_diagonal ? 1 : 0,
      solve.cleared != nullptr ? 1 : 0, share ? 1 : 0, kernel.Divide("(g)", shares));
  LoadFunction(kernel, "load_matrix", solve.matrix.slice, solve.conjugated);
  LoadFunction(kernel, "load_known", solve.known.slice, false);
  if (!held) LoadFunction(kernel, "load_solved", solve.solved.slice, false);
  StoreFunction(kernel, solve.solved.slice);
  if (solve.cleared != nullptr) kernel.Append("void store_zero(uint i) { store(i, ZERO); }\n");
  kernel.Append(text_.SubtractProduct("subtract_product", "b"));
  kernel.Append("Value divide(Value x, Value by) {{ return {}; }}\n",
                solve.real_diagonal ? text_.OverReal("x", text_.RealOf("by")) : text_.Over("x", "by"));
  Step made = kernel.Finish(name_ + " substitution", held ? "linalg/solve_held.comp" : "linalg/solve_block.comp",
                            {lanes, 1, 1}, groups);
  made.flop = batch_ * solve.unknowns * solve.unknowns * solve.sides;
  return made;
}

// Places are those of the lower factor; the upper one is its transpose. Columns come in panels, which take off what all
// the columns before them make of them at once, and in blocks of a panel, which take off what its blocks before them
// do: so the large products have more columns than a corner has.
class CholeskyLowering {
 public:
  CholeskyLowering(const LowerContext& context, const FusionDescription& body, BufferMap& buffers)
      : context_(context),
        body_(body),
        buffers_(buffers),
        type_(body.hero->shape().element_type()),
        upper_(!body.hero->attributes<CholeskyAttributes>().lower),
        n_(body.hero->shape().dimension(body.hero->shape().rank() - 1)),
        batch_(BatchOf(body.hero->shape())),
        kernels_(context, body, type_, batch_),
        block_(std::min(n_, kernels_.MostRows())),
        panel_(n_ < 8 * block_ ? block_ : (context.facts.costs.subgroups_in_turn ? 2 : 4) * block_),
        a_(buffers.SliceOf(*body.OperandOf(*body.hero->operand(0)), 0)),
        l_(buffers.SliceOf(*body.instruction, 0)) {}

  Result<std::vector<Step>> Lower() {
    if (panel_ < n_) panel_scratch_ = Scratch(n_ - panel_, panel_);
    if (block_ < panel_) block_scratch_ = Scratch(n_ - block_, block_);
    for (int64_t first = 0; first < n_; first += panel_) {
      const int64_t columns = std::min(panel_, n_ - first);
      Source panel{a_, n_, n_, 0};
      if (first > 0) VXLA_RETURN_IF_ERROR(TakeOff(0, first, columns, panel_scratch_, &panel));
      for (int64_t start = first; start < first + columns; start += block_) {
        const int64_t size = std::min(block_, first + columns - start);
        Source block = panel;
        if (start > first) VXLA_RETURN_IF_ERROR(TakeOff(first, start, size, block_scratch_, &block));
        const MatrixPlace source = PlaceOf(block).At(start - block.first, start - block.first);
        const MatrixPlace corner = PlaceOf({l_, n_, n_, 0}).At(start, start);
        steps_.push_back(kernels_.Factor(Facing(source), Facing(corner), size, upper_));
        if (start + size < n_) steps_.push_back(SolveBelow(source, corner, size, n_ - start - size));
      }
    }
    return std::move(steps_);
  }

 private:
  // Rows and columns of A from `first` on, less products.
  struct Source {
    BufferSlice slice;
    int64_t rows, columns, first;
  };

  MatrixPlace Facing(const MatrixPlace& place) const { return upper_ ? place.Transposed() : place; }
  BlockWindow Facing(const BlockWindow& window) const { return upper_ ? window.Transposed() : window; }
  MatrixPlace PlaceOf(const Source& source) const {
    return Facing(upper_ ? RowMajor(source.slice, source.columns, source.rows)
                         : RowMajor(source.slice, source.rows, source.columns));
  }
  BufferSlice Scratch(int64_t rows, int64_t columns) {
    return buffers_.Scratch(batch_ * rows * columns * StorageBytes(type_));
  }

  // `size` columns of the source from `start` on, less what columns [known, start) of L make of them, in scratch
  // memory.
  Status TakeOff(int64_t known, int64_t start, int64_t size, BufferSlice scratch, Source* source) {
    const int64_t left = n_ - start, count = start - known, at = start - source->first;
    scratch.size_bytes = batch_ * left * size * StorageBytes(type_);
    const BlockWindow rows = Facing({l_, n_, n_, start, known, left, count, false, false}),
                      columns = Facing({l_, n_, n_, start, known, size, count, false, true}),
                      minuend = Facing({source->slice, source->rows, source->columns, at, at, left, size});
    VXLA_ASSIGN_OR_RETURN(std::vector<Step> made,
                          BlockProduct(type_, batch_)
                              .Lower(context_, StepName(body_), minuend, upper_ ? columns : rows,
                                     upper_ ? rows : columns, scratch, buffers_));
    std::ranges::move(made, std::back_inserter(steps_));
    *source = {scratch, left, size, start};
    return OkStatus();
  }

  // The rows of a block below its corner: those of X L^H = source.
  Step SolveBelow(const MatrixPlace& source, const MatrixPlace& corner, int64_t size, int64_t below) const {
    const MatrixPlace mirrored = corner.At(0, size);
    BlockKernels::Solve solve;
    solve.matrix = corner;
    solve.known = source.At(size, 0).Transposed();
    solve.solved = corner.At(size, 0).Transposed();
    solve.cleared = &mirrored;
    solve.unknowns = size;
    solve.sides = below;
    solve.conjugated = solve.real_diagonal = true;
    return kernels_.Substitute(solve);
  }

  const LowerContext& context_;
  const FusionDescription& body_;
  BufferMap& buffers_;
  const ElementType type_;
  const bool upper_;
  const int64_t n_, batch_;
  const BlockKernels kernels_;
  const int64_t block_, panel_;
  const BufferSlice a_, l_;
  BufferSlice panel_scratch_, block_scratch_;
  std::vector<Step> steps_;
};

// Solves of this many unknowns are one substitution; longer ones go in blocks.
constexpr int64_t kMostUnknowns = 128, kUnknownsOfBlock = 64;

// M x = b for right-hand sides that lie as columns, x M^T = b for rows: M is op(A) or its transpose.
class SolveLowering {
 public:
  SolveLowering(const LowerContext& context, const FusionDescription& body, BufferMap& buffers)
      : context_(context),
        body_(body),
        buffers_(buffers),
        form_(*body.hero),
        type_(body.hero->shape().element_type()),
        a_(buffers.SliceOf(*body.OperandOf(*body.hero->operand(0)), 0)),
        b_(buffers.SliceOf(*body.OperandOf(*body.hero->operand(1)), 0)),
        x_(buffers.SliceOf(*body.instruction, 0)) {}

  Result<std::vector<Step>> Lower() {
    const BlockKernels kernels(context_, body_, type_, form_.batch);
    const int64_t block = form_.unknowns <= kMostUnknowns ? form_.unknowns : kUnknownsOfBlock;
    if (block < form_.unknowns) scratch_ = buffers_.Scratch(form_.batch * block * form_.sides * StorageBytes(type_));
    BlockKernels::Solve solve;
    solve.conjugated = form_.conjugated;
    solve.unit_diagonal = form_.unit_diagonal;
    solve.sides = form_.sides;
    std::vector<Step> steps;
    for (int64_t done = 0; done < form_.unknowns; done += block) {
      const int64_t size = solve.unknowns = std::min(block, form_.unknowns - done);
      const int64_t first = form_.backwards ? form_.unknowns - done - size : done;  // in memory
      solve.known = form_.Sides(b_, form_.unknowns, first, size);
      if (done > 0) {
        VXLA_ASSIGN_OR_RETURN(std::vector<Step> made, Product(first, size, done));
        for (Step& step : made) steps.push_back(std::move(step));
        solve.known = form_.Sides(Target(size), size, 0, size);
      }
      solve.matrix = form_.Matrix(a_, first, size);
      solve.solved = form_.Sides(x_, form_.unknowns, first, size);
      steps.push_back(kernels.Substitute(solve));
    }
    return steps;
  }

 private:
  BufferSlice Target(int64_t size) const {
    BufferSlice target = scratch_;
    target.size_bytes = form_.batch * size * form_.sides * StorageBytes(type_);
    return target;
  }
  BlockWindow SidesWindow(const BufferSlice& slice, int64_t first, int64_t size) const {
    return form_.left ? BlockWindow{slice, form_.unknowns, form_.sides, first, 0, size, form_.sides, true}
                      : BlockWindow{slice, form_.sides, form_.unknowns, 0, first, form_.sides, size, false};
  }
  // What b has at a block less what the unknowns before it make of it.
  Result<std::vector<Step>> Product(int64_t first, int64_t size, int64_t done) {
    const int64_t known = form_.backwards ? first + size : 0;
    BlockWindow a = form_.transposed ? BlockWindow{a_, form_.unknowns, form_.unknowns, known, first, done, size, true}
                                     : BlockWindow{a_, form_.unknowns, form_.unknowns, first, known, size, done, false};
    a.conjugated = form_.conjugated;
    const BlockWindow x = SidesWindow(x_, known, done);
    return BlockProduct(type_, form_.batch)
        .Lower(context_, StepName(body_), SidesWindow(b_, first, size), form_.left ? a : x, form_.left ? x : a,
               Target(size), buffers_);
  }

  const LowerContext& context_;
  const FusionDescription& body_;
  BufferMap& buffers_;
  const TriangularForm form_;
  const ElementType type_;
  const BufferSlice a_, b_, x_;
  BufferSlice scratch_;
};

}  // namespace

Status CanLowerCholesky(const LowerContext&, const FusionDescription& body) {
  const ElementType type = body.hero->shape().element_type();
  if (!IsNarrowFloat(type)) return OkStatus();
  return Unsupported("{} of {}: WidenLinearAlgebra makes it one of f32", OpcodeText(body.hero->opcode()),
                     ElementTypeName(type));
}

Result<std::vector<Step>> LowerCholesky(const LowerContext& context, const FusionDescription& body,
                                        BufferMap& buffers) {
  return CholeskyLowering(context, body, buffers).Lower();
}

Status CanLowerTriangularSolve(const LowerContext& context, const FusionDescription& body) {
  return CanLowerCholesky(context, body);
}

Result<std::vector<Step>> LowerTriangularSolve(const LowerContext& context, const FusionDescription& body,
                                               BufferMap& buffers) {
  return SolveLowering(context, body, buffers).Lower();
}

}  // namespace VXLA_NAMESPACE::vulkan
