#include "core/library_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <vector>

namespace VXLA_NAMESPACE {
namespace {

struct NamedRoutine {
  std::string_view name;
  LibraryRoutine routine;
};

constexpr NamedRoutine kLapackRoutines[] = {
    {"potrf", LibraryRoutine::kCholesky},
    {"trsm", LibraryRoutine::kTriangularSolve},
    {"getrf", LibraryRoutine::kLu},
    {"geqrf", LibraryRoutine::kQr},
    {"geqp3", LibraryRoutine::kPivotedQr},
    {"orgqr", LibraryRoutine::kHouseholderProduct},
    {"ormqr", LibraryRoutine::kReflect},
    {"syevd", LibraryRoutine::kEigh},
    {"gesdd", LibraryRoutine::kSvd},
    {"gesvd", LibraryRoutine::kSvd},
    {"geev", LibraryRoutine::kEig},
    {"gees", LibraryRoutine::kSchur},
    {"gehrd", LibraryRoutine::kHessenberg},
    {"sytrd", LibraryRoutine::kTridiagonal},
    {"gtsv", LibraryRoutine::kTridiagonalSolve},
};
// Names that LAPACK gives to the routines of complex matrices.
constexpr std::pair<std::string_view, std::string_view> kComplexNames[] = {
    {"ungqr", "orgqr"}, {"unmqr", "ormqr"}, {"heevd", "syevd"}, {"hetrd", "sytrd"}};

constexpr NamedRoutine kXlaCalls[] = {
    {"Qr", LibraryRoutine::kQr},
    {"QrDecomposition", LibraryRoutine::kQr},
    {"ProductOfElementaryHouseholderReflectors", LibraryRoutine::kHouseholderProduct},
    {"Eigh", LibraryRoutine::kEigh},
    {"LuDecomposition", LibraryRoutine::kLu},
    {"tridiagonal_solve_perturbed_ffi", LibraryRoutine::kPerturbedSolve},
    {"TopK", LibraryRoutine::kTopK},
    {"ApproxTopK", LibraryRoutine::kApproxTopK},
    {"PartialReduce", LibraryRoutine::kApproxTopK},
    {"Sharding", LibraryRoutine::kIdentity},
    {"LayoutConstraint", LibraryRoutine::kIdentity},
    {"annotate_device_placement", LibraryRoutine::kIdentity},
    {"MoveToHost", LibraryRoutine::kIdentity},
    {"MoveToDevice", LibraryRoutine::kIdentity},
    {"__op$quantize", LibraryRoutine::kBlockQuantize},
    {"__op$dequantize", LibraryRoutine::kBlockDequantize},
    {"__op$block_scaled_dot", LibraryRoutine::kBlockScaledDot},
};

constexpr std::string_view kBeforeLetter = "lapack_";

struct Target {
  LibraryRoutine routine;
  char letter;  // LAPACK's of the element type; 0: XLA's own call
};

std::optional<Target> TargetOf(std::string_view name) {
  for (const auto& [text, routine] : kXlaCalls) {
    if (name == text) return Target{routine, 0};
  }
  constexpr std::string_view kBefore = kBeforeLetter, kAfter = "_ffi";
  if (!name.starts_with(kBefore) || !name.ends_with(kAfter) || name.size() < kBefore.size() + kAfter.size() + 2)
    return std::nullopt;
  const char letter = name[kBefore.size()];
  std::string_view routine = name.substr(kBefore.size() + 1, name.size() - kBefore.size() - kAfter.size() - 1);
  const bool complex = letter == 'c' || letter == 'z';
  if (!complex && letter != 's' && letter != 'd') return std::nullopt;
  for (const auto& [of_complex, of_real] : kComplexNames) {
    if (routine == of_real && complex) return std::nullopt;
    if (routine != of_complex) continue;
    if (!complex) return std::nullopt;
    routine = of_real;
    break;
  }
  for (const auto& [text, meant] : kLapackRoutines) {
    if (routine == text) return Target{meant, letter};
  }
  return std::nullopt;
}

ElementType TypeOfLetter(char letter) {
  switch (letter) {
    case 's':
      return ElementType::kF32;
    case 'd':
      return ElementType::kF64;
    case 'c':
      return ElementType::kC64;
    default:
      return ElementType::kC128;
  }
}

// Where the value of a name begins in a backend_config; npos: nowhere.
size_t ConfigValueAt(std::string_view config, std::string_view name) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t at = config.find(name); at != std::string_view::npos; at = config.find(name, at + 1)) {
    size_t next = at + name.size();
    if ((at > 0 && is_word(config[at - 1])) || (next < config.size() && is_word(config[next]))) continue;
    return config.find_first_not_of("\\\"=: ", next);
  }
  return std::string_view::npos;
}

// The integer that a backend_config of the form {name = 76 : ui8, ...} or {"name": 76, ...} gives a name.
std::optional<int64_t> ConfigInteger(std::string_view config, std::string_view name) {
  const size_t next = ConfigValueAt(config, name);
  int64_t value = 0;
  if (next != std::string_view::npos &&
      std::from_chars(config.data() + next, config.data() + config.size(), value).ec == std::errc())
    return value;
  return std::nullopt;
}

// Whether a backend_config of the form {name = true, ...} or {"name": true, ...} says so; absent: not stated.
std::optional<bool> ConfigFlag(std::string_view config, std::string_view name) {
  const size_t next = ConfigValueAt(config, name);
  if (next == std::string_view::npos) return std::nullopt;
  for (const auto& [text, value] : {std::pair<std::string_view, bool>("true", true), {"false", false}}) {
    if (config.substr(next, text.size()) == text) return value;
  }
  return std::nullopt;
}

// lower, diagonal and upper come before the matrices.
bool TakesDiagonals(LibraryRoutine routine) {
  return routine == LibraryRoutine::kTridiagonalSolve || routine == LibraryRoutine::kPerturbedSolve;
}

// Reads the call's text and compares its shapes with what the routine takes and gives.
class Reader {
 public:
  Reader(const Instruction& instruction, Target target)
      : instruction_(instruction),
        name_(instruction.attributes<CustomCallAttributes>().custom_call_target),
        config_(instruction.common().backend_config.text),
        letter_(target.letter) {
    call_.routine = target.routine;
    call_.lapack = target.letter != 0;
  }

  Result<LibraryCall> Read() {
    VXLA_RETURN_IF_ERROR(CheckShapes());
    return call_;
  }

 private:
  template <typename... Args>
  Status Wrong(fmt::format_string<Args...> format, Args&&... args) const {
    return InvalidArgument("custom-call {}: {}: {}", instruction_.name(), name_,
                           fmt::format(format, std::forward<Args>(args)...))
        .At(instruction_.location());
  }

  // One of the letters that LAPACK would take as an argument.
  Result<char> Letter(std::string_view name, std::string_view choices) const {
    const std::optional<int64_t> value = ConfigInteger(config_, name);
    if (!value) return Wrong("backend_config {} states no {}", config_.empty() ? "(none)" : config_, name);
    if (*value <= 0 || *value > 127 || choices.find(static_cast<char>(*value)) == std::string_view::npos)
      return Wrong("{} is {}, one of \"{}\" expected", name, *value, choices);
    return static_cast<char>(*value);
  }

  Status ExpectOperands(int count) const {
    if (instruction_.operand_count() == count) return OkStatus();
    return Wrong("{} operands, {} expected", instruction_.operand_count(), count);
  }

  const Shape& Operand(int k) const { return instruction_.operand(k)->shape(); }

  // An operand that is a stack of matrices, in the order of memory that LAPACK takes.
  Status ExpectMatrices(int k, bool square) {
    const Shape& shape = Operand(k);
    if (!shape.IsArray() || shape.rank() < 2 || shape.IsDynamic())
      return Wrong("operand {} is {}, matrices of static sizes expected", k, shape.ToString());
    if (!IsComplex(shape.element_type()) && !IsFloating(shape.element_type()))
      return Wrong("operand {} is {}, floating-point or complex numbers expected", k, shape.ToString());
    if (letter_ != 0 && shape.element_type() != TypeOfLetter(letter_))
      return Wrong("operand {} is {}, elements of {} expected", k, shape.ToString(),
                   ElementTypeName(TypeOfLetter(letter_)));
    if (square && shape.dimension(shape.rank() - 1) != shape.dimension(shape.rank() - 2))
      return Wrong("operand {} is {}, square matrices expected", k, shape.ToString());
    return OkStatus();
  }

  // Operand k has elements of operand 0's type and its batch, then these sizes.
  Status ExpectOperand(int k, ElementType type, const IntList& sizes) const {
    return Expect(Operand(k), fmt::format("operand {}", k), type, sizes);
  }

  Status Expect(const Shape& shape, const std::string& what, ElementType type, const IntList& sizes) const {
    IntList wanted = batch_;
    wanted.insert(wanted.end(), sizes.begin(), sizes.end());
    if (shape.IsArray() && !shape.IsDynamic() && shape.element_type() == type &&
        std::ranges::equal(shape.dimensions(), wanted))
      return OkStatus();
    return Wrong("{} is {}, {} expected for {}", what, shape.ToString(), Shape(type, wanted).ToString(),
                 Operand(TakesDiagonals(call_.routine) ? 3 : 0).ToString());
  }

  struct Leaf {
    ElementType type;
    IntList sizes;  // after the batch
  };
  Status ExpectResults(const std::vector<Leaf>& leaves) const {
    const Shape& shape = instruction_.shape();
    if (leaves.size() == 1 && shape.IsArray()) return Expect(shape, "the result", leaves[0].type, leaves[0].sizes);
    if (!shape.IsTuple() || shape.tuple_elements().size() != leaves.size())
      return Wrong("the result is {}, {} arrays expected", shape.ToString(), leaves.size());
    for (size_t k = 0; k < leaves.size(); ++k) {
      VXLA_RETURN_IF_ERROR(
          Expect(shape.tuple_elements()[k], fmt::format("result {}", k), leaves[k].type, leaves[k].sizes));
    }
    return OkStatus();
  }

  // LAPACK sees the memory: a matrix's columns one after the other, the matrices of a batch too.
  Status CheckLayout(const Shape& shape, const std::string& what) const {
    if (!shape.IsArray() || shape.rank() < 2 || shape.ElementCount() < 2) return OkStatus();
    std::vector<int64_t> order = shape.MinorToMajor();
    std::vector<int64_t> columns, rows;
    for (int64_t d = shape.rank() - 1; d >= 0; --d) rows.push_back(d);
    columns = rows;
    std::swap(columns[0], columns[1]);
    // Dimensions of size 1 may stand anywhere.
    const auto trivial = [&](int64_t d) { return shape.dimension(static_cast<int>(d)) == 1; };
    for (auto* list : {&order, &columns}) std::erase_if(*list, trivial);
    if (order == columns) return OkStatus();
    return Unsupported("custom-call {}: {}: {} is {}; JAX has matrices column by column (minor to major {})",
                       instruction_.name(), name_, what, shape.ToString(/*with_layout=*/true),
                       fmt::format("{}", fmt::join(ColumnMajor(shape.rank()), ",")))
        .At(instruction_.location());
  }
  static std::vector<int64_t> ColumnMajor(int64_t rank) {
    std::vector<int64_t> order{rank - 2, rank - 1};
    for (int64_t d = rank - 3; d >= 0; --d) order.push_back(d);
    return order;
  }

  Status CheckLayouts();
  Status CheckShapes();
  Status ReadSolve();
  Status ReadLu();
  Status ReadReflectors();
  Status ReadReflect();
  Status ReadEigh();
  Status ReadSvd();
  Status ReadGeneral();
  Status ReadTridiagonal();
  Status ReadTopK();
  Status ReadApproxTopK();
  Status ReadBlocks();
  Status ReadScales(const Shape& values, const Shape& scales);

  const Instruction& instruction_;
  const std::string& name_;
  const std::string& config_;
  const char letter_;
  LibraryCall call_;
  IntList batch_;
  ElementType type_ = ElementType::kF32, real_ = ElementType::kF32;
  int64_t rows_ = 0, columns_ = 0, least_ = 0;
};

Status Reader::CheckLayouts() {
  const auto& constraints = instruction_.attributes<CustomCallAttributes>().operand_layout_constraints;
  const bool vectors_first = TakesDiagonals(call_.routine);
  if ((letter_ == 0 && !vectors_first) || !constraints) return OkStatus();
  // Vectors and their batches are row by row, matrices are not: only the latter can be seen transposed.
  for (size_t k = 0; k < constraints->size(); ++k) {
    const bool all = call_.routine == LibraryRoutine::kTriangularSolve;
    const bool matrix = vectors_first ? k == 3 : k == 0 || all || (k == 2 && call_.routine == LibraryRoutine::kReflect);
    if (matrix) VXLA_RETURN_IF_ERROR(CheckLayout((*constraints)[k], fmt::format("operand {}", k)));
  }
  return OkStatus();
}

Status Reader::CheckShapes() {
  if (call_.routine == LibraryRoutine::kIdentity) {
    VXLA_RETURN_IF_ERROR(ExpectOperands(1));
    if (Compatible(Operand(0), instruction_.shape())) return OkStatus();
    return Wrong("the result is {}, {} expected", instruction_.shape().ToString(), Operand(0).ToString());
  }
  if (call_.routine == LibraryRoutine::kTopK) return ReadTopK();
  if (call_.routine == LibraryRoutine::kApproxTopK) return ReadApproxTopK();
  if (call_.routine == LibraryRoutine::kBlockQuantize || call_.routine == LibraryRoutine::kBlockDequantize ||
      call_.routine == LibraryRoutine::kBlockScaledDot) {
    return ReadBlocks();
  }
  if (instruction_.operand_count() < 1) return Wrong("no operands");
  const bool vectors_first = TakesDiagonals(call_.routine);
  if (vectors_first) VXLA_RETURN_IF_ERROR(ExpectOperands(4));
  VXLA_RETURN_IF_ERROR(ExpectMatrices(vectors_first ? 3 : 0, false));
  const Shape& a = Operand(vectors_first ? 3 : 0);
  type_ = a.element_type();
  real_ = IsComplex(type_) ? RealPart(type_) : type_;
  rows_ = a.dimension(a.rank() - 2), columns_ = a.dimension(a.rank() - 1), least_ = std::min(rows_, columns_);
  batch_.assign(a.dimensions().begin(), a.dimensions().end() - 2);
  VXLA_RETURN_IF_ERROR(CheckLayouts());
  switch (call_.routine) {
    case LibraryRoutine::kCholesky:
    case LibraryRoutine::kTriangularSolve:
      return ReadSolve();
    case LibraryRoutine::kLu:
      return ReadLu();
    case LibraryRoutine::kQr:
    case LibraryRoutine::kPivotedQr:
    case LibraryRoutine::kHouseholderProduct:
      return ReadReflectors();
    case LibraryRoutine::kReflect:
      return ReadReflect();
    case LibraryRoutine::kEigh:
      return ReadEigh();
    case LibraryRoutine::kSvd:
      return ReadSvd();
    case LibraryRoutine::kEig:
    case LibraryRoutine::kSchur:
    case LibraryRoutine::kHessenberg:
      return ReadGeneral();
    default:
      return ReadTridiagonal();
  }
}

Status Reader::ReadSolve() {
  VXLA_ASSIGN_OR_RETURN(const char uplo, Letter("uplo", "LU"));
  call_.lower = uplo == 'L';
  VXLA_RETURN_IF_ERROR(ExpectMatrices(0, true));
  if (call_.routine == LibraryRoutine::kCholesky) {
    VXLA_RETURN_IF_ERROR(ExpectOperands(1));
    return ExpectResults({{type_, {rows_, rows_}}, {ElementType::kS32, {}}});
  }
  VXLA_RETURN_IF_ERROR(ExpectOperands(2));
  VXLA_ASSIGN_OR_RETURN(const char side, Letter("side", "LR"));
  VXLA_ASSIGN_OR_RETURN(const char diagonal, Letter("diag", "UN"));
  VXLA_ASSIGN_OR_RETURN(const char transpose, Letter("trans_x", "NTC"));
  call_.left_side = side == 'L';
  call_.unit_diagonal = diagonal == 'U';
  call_.transpose = transpose == 'N'   ? TransposeKind::kNoTranspose
                    : transpose == 'T' ? TransposeKind::kTranspose
                                       : TransposeKind::kAdjoint;
  VXLA_RETURN_IF_ERROR(ExpectMatrices(1, false));
  const Shape& b = Operand(1);
  const int64_t rows = b.dimension(b.rank() - 2), columns = b.dimension(b.rank() - 1);
  VXLA_RETURN_IF_ERROR(call_.left_side ? ExpectOperand(1, type_, {rows_, columns})
                                       : ExpectOperand(1, type_, {rows, rows_}));
  return ExpectResults({{type_, {rows, columns}}});
}

Status Reader::ReadLu() {
  VXLA_RETURN_IF_ERROR(ExpectOperands(1));
  if (call_.lapack)
    return ExpectResults({{type_, {rows_, columns_}}, {ElementType::kS32, {least_}}, {ElementType::kS32, {}}});
  return ExpectResults({{type_, {rows_, columns_}}, {ElementType::kS32, {least_}}, {ElementType::kS32, {rows_}}});
}

Status Reader::ReadReflectors() {
  if (call_.routine == LibraryRoutine::kQr) {
    VXLA_RETURN_IF_ERROR(ExpectOperands(1));
    return ExpectResults({{type_, {rows_, columns_}}, {type_, {least_}}});
  }
  VXLA_RETURN_IF_ERROR(ExpectOperands(2));
  if (call_.routine == LibraryRoutine::kPivotedQr) {
    VXLA_RETURN_IF_ERROR(ExpectOperand(1, ElementType::kS32, {columns_}));
    return ExpectResults({{type_, {rows_, columns_}}, {ElementType::kS32, {columns_}}, {type_, {least_}}});
  }
  const Shape& taus = Operand(1);
  const int64_t count = taus.IsArray() && taus.rank() > 0 ? taus.dimension(taus.rank() - 1) : 0;
  VXLA_RETURN_IF_ERROR(ExpectOperand(1, type_, {count}));
  if (count > columns_ || columns_ > rows_)
    return Wrong("{} taus of {}: no more than columns, and no more columns than rows expected", count,
                 Operand(0).ToString());
  return ExpectResults({{type_, {rows_, columns_}}});
}

Status Reader::ReadReflect() {
  VXLA_RETURN_IF_ERROR(ExpectOperands(3));
  for (const auto& [name, flag] : {std::pair("left", &call_.left_side), std::pair("transpose", &call_.adjoint)}) {
    const std::optional<bool> stated = ConfigFlag(config_, name);
    if (!stated)
      return Wrong("backend_config {} states no {} (true or false)", config_.empty() ? "(none)" : config_, name);
    *flag = *stated;
  }
  const Shape& taus = Operand(1);
  const int64_t count = taus.IsArray() && taus.rank() > 0 ? taus.dimension(taus.rank() - 1) : 0;
  VXLA_RETURN_IF_ERROR(ExpectOperand(1, type_, {count}));
  if (count > least_)
    return Wrong("{} taus of {}: no more than rows and columns expected", count, Operand(0).ToString());
  VXLA_RETURN_IF_ERROR(ExpectMatrices(2, false));
  const Shape& c = Operand(2);
  const int64_t rows = c.dimension(c.rank() - 2), columns = c.dimension(c.rank() - 1);
  VXLA_RETURN_IF_ERROR(call_.left_side ? ExpectOperand(2, type_, {rows_, columns})
                                       : ExpectOperand(2, type_, {rows, rows_}));
  return ExpectResults({{type_, {rows, columns}}});
}

Status Reader::ReadEigh() {
  VXLA_RETURN_IF_ERROR(ExpectOperands(1));
  VXLA_RETURN_IF_ERROR(ExpectMatrices(0, true));
  if (call_.lapack) {
    VXLA_ASSIGN_OR_RETURN(const char mode, Letter("mode", "NV"));
    VXLA_ASSIGN_OR_RETURN(const char uplo, Letter("uplo", "LU"));
    call_.vectors = mode == 'V';
    call_.lower = uplo == 'L';
    return ExpectResults({{type_, {rows_, rows_}}, {real_, {rows_}}, {ElementType::kS32, {}}});
  }
  // "lower,sort,sweeps,tolerance"; the last two are the algorithm's own affair.
  std::string flags = config_;
  std::erase_if(flags, [](char c) { return c == '"' || c == ' '; });
  if (flags.size() < 3 || flags[1] != ',')
    return Wrong("backend_config {} is not \"lower,sort,sweeps,tolerance\"", config_.empty() ? "(none)" : config_);
  call_.lower = flags[0] != '0';
  call_.sorted = flags[2] != '0';
  return ExpectResults({{type_, {rows_, rows_}}, {real_, {rows_}}});
}

Status Reader::ReadSvd() {
  VXLA_RETURN_IF_ERROR(ExpectOperands(1));
  VXLA_ASSIGN_OR_RETURN(const char mode, Letter("mode", "ASN"));
  call_.vectors = mode != 'N';
  call_.all_columns = mode != 'S';
  const Shape& result = instruction_.shape();
  if (mode == 'N' && result.IsTuple() && result.tuple_elements().size() == 5) {
    // Without vectors JAX leaves their arrays as thin or as full as the caller asked for.
    const auto is_square = [](const Shape& shape) {
      return shape.IsArray() && shape.rank() >= 2 &&
             shape.dimension(shape.rank() - 1) == shape.dimension(shape.rank() - 2);
    };
    call_.all_columns = is_square(result.tuple_elements()[2]) && is_square(result.tuple_elements()[3]);
  }
  const int64_t u = call_.all_columns ? rows_ : least_, v = call_.all_columns ? columns_ : least_;
  return ExpectResults({{type_, {rows_, columns_}},
                        {real_, {least_}},
                        {type_, {rows_, u}},
                        {type_, {v, columns_}},
                        {ElementType::kS32, {}}});
}

Status Reader::ReadGeneral() {
  VXLA_RETURN_IF_ERROR(ExpectOperands(1));
  VXLA_RETURN_IF_ERROR(ExpectMatrices(0, true));
  const int64_t n = rows_;
  if (call_.routine == LibraryRoutine::kHessenberg) {
    call_.low = ConfigInteger(config_, "low").value_or(1);
    call_.high = ConfigInteger(config_, "high").value_or(n);
    if (n > 0 && (call_.low < 1 || call_.low > call_.high || call_.high > n))
      return Wrong("low {} and high {} of {}: 1 <= low <= high <= {} expected", call_.low, call_.high,
                   Operand(0).ToString(), n);
    return ExpectResults({{type_, {n, n}}, {type_, {std::max<int64_t>(n - 1, 0)}}, {ElementType::kS32, {}}});
  }
  std::vector<Leaf> values(IsComplex(type_) ? 1 : 2, Leaf{type_, {n}}), leaves;
  if (call_.routine == LibraryRoutine::kEig) {
    VXLA_ASSIGN_OR_RETURN(const char left, Letter("compute_left", "NV"));
    VXLA_ASSIGN_OR_RETURN(const char right, Letter("compute_right", "NV"));
    call_.left_vectors = left == 'V';
    call_.vectors = right == 'V';
    const ElementType complex = real_ == ElementType::kF64 ? ElementType::kC128 : ElementType::kC64;
    leaves = values;
    leaves.insert(leaves.end(), {{complex, {n, n}}, {complex, {n, n}}, {ElementType::kS32, {}}});
    return ExpectResults(leaves);
  }
  VXLA_ASSIGN_OR_RETURN(const char mode, Letter("mode", "NV"));
  VXLA_ASSIGN_OR_RETURN(const char sort, Letter("sort", "NS"));
  if (sort == 'S') {
    return Unsupported("custom-call {}: {}: eigenvalues in an order of the caller's choice (sort = 83)",
                       instruction_.name(), name_)
        .At(instruction_.location());
  }
  call_.vectors = mode == 'V';
  leaves = {{type_, {n, n}}, {type_, {n, n}}};
  leaves.insert(leaves.end(), values.begin(), values.end());
  leaves.insert(leaves.end(), {{ElementType::kS32, {}}, {ElementType::kS32, {}}});
  return ExpectResults(leaves);
}

Status Reader::ReadTridiagonal() {
  if (call_.routine == LibraryRoutine::kTridiagonal) {
    VXLA_RETURN_IF_ERROR(ExpectOperands(1));
    VXLA_RETURN_IF_ERROR(ExpectMatrices(0, true));
    VXLA_ASSIGN_OR_RETURN(const char uplo, Letter("uplo", "LU"));
    call_.lower = uplo == 'L';
    const int64_t beside = std::max<int64_t>(rows_ - 1, 0);
    return ExpectResults(
        {{type_, {rows_, rows_}}, {real_, {rows_}}, {real_, {beside}}, {type_, {beside}}, {ElementType::kS32, {}}});
  }
  for (int k = 0; k < 3; ++k) VXLA_RETURN_IF_ERROR(ExpectOperand(k, type_, {rows_}));
  if (call_.routine == LibraryRoutine::kPerturbedSolve) return ExpectResults({{type_, {rows_, columns_}}});
  return ExpectResults(
      {{type_, {rows_}}, {type_, {rows_}}, {type_, {rows_}}, {type_, {rows_, columns_}}, {ElementType::kS32, {}}});
}

Status Reader::ReadTopK() {
  VXLA_RETURN_IF_ERROR(ExpectOperands(1));
  const Shape& a = Operand(0);
  const Shape& result = instruction_.shape();
  if (!a.IsArray() || a.rank() < 1 || a.IsDynamic()) return Wrong("operand 0 is {}, an array expected", a.ToString());
  const int64_t length = a.dimension(a.rank() - 1);
  int64_t k = length;
  if (result.IsTuple() && !result.tuple_elements().empty() && result.tuple_elements()[0].rank() == a.rank())
    k = result.tuple_elements()[0].dimension(a.rank() - 1);
  if (k > length) return Wrong("{} results of {} elements", k, length);
  batch_.assign(a.dimensions().begin(), a.dimensions().end() - 1);
  return ExpectResults({{a.element_type(), {k}}, {ElementType::kS32, {k}}});
}

Status Reader::ReadApproxTopK() {
  const int count = instruction_.operand_count() / 2;
  if (count < 1 || instruction_.operand_count() != 2 * count || instruction_.called().size() != 1)
    return Wrong("{} operands and {} computations, arrays, as many initial values and one comparator expected",
                 instruction_.operand_count(), instruction_.called().size());
  const Shape& first = Operand(0);
  call_.dimension = ConfigInteger(config_, "reduction_dim").value_or(first.rank() - 1);
  if (call_.dimension < 0 || call_.dimension >= first.rank())
    return Wrong("reduction_dim is {} of {}", call_.dimension, first.ToString());
  const std::vector<Shape> results =
      instruction_.shape().IsTuple() ? instruction_.shape().tuple_elements() : std::vector{instruction_.shape()};
  if (static_cast<int>(results.size()) != count) return Wrong("{} results of {} arrays", results.size(), count);
  for (int k = 0; k < count; ++k) {
    IntList sizes(first.dimensions().begin(), first.dimensions().end());
    VXLA_RETURN_IF_ERROR(ExpectOperand(k, Operand(k).element_type(), sizes));
    const auto d = static_cast<size_t>(call_.dimension);
    const Shape& result = results[static_cast<size_t>(k)];
    if (result.rank() == first.rank()) sizes[d] = std::min(sizes[d], result.dimension(static_cast<int>(d)));
    VXLA_RETURN_IF_ERROR(Expect(result, fmt::format("result {}", k), Operand(k).element_type(), sizes));
  }
  return OkStatus();
}

IntList SizesOf(const Shape& shape) { return {shape.dimensions().begin(), shape.dimensions().end()}; }

// Scales of blocks along the values' last dimension. A stated block size may leave scales over.
Status Reader::ReadScales(const Shape& values, const Shape& scales) {
  const auto is_floating = [](const Shape& s) {
    return s.IsArray() && !s.IsDynamic() && s.rank() > 0 && IsFloating(s.element_type());
  };
  const auto lead = [](const Shape& s) { return std::span(s.dimensions()).first(static_cast<size_t>(s.rank() - 1)); };
  if (is_floating(values) && is_floating(scales) && std::ranges::equal(lead(values), lead(scales))) {
    const int64_t length = values.dimension(values.rank() - 1), count = scales.dimension(scales.rank() - 1);
    int64_t block = ConfigInteger(config_, "block_size").value_or(0);
    if (block <= 0 && count > 0) block = length / count;
    if (block > 0 && length % block == 0 && length / block <= count && (call_.block == 0 || call_.block == block)) {
      call_.block = block;
      return OkStatus();
    }
  }
  return Wrong("{} are no scales of equal blocks of {}", scales.ToString(), values.ToString());
}

Status Reader::ReadBlocks() {
  const Shape& result = instruction_.shape();
  if (call_.routine == LibraryRoutine::kBlockQuantize) {
    VXLA_RETURN_IF_ERROR(ExpectOperands(1));
    if (!result.IsTuple() || result.tuple_elements().size() != 2)
      return Wrong("the result is {}, values and scales expected", result.ToString());
    const Shape& values = result.tuple_elements()[0];
    VXLA_RETURN_IF_ERROR(ReadScales(Operand(0), result.tuple_elements()[1]));
    return Expect(values, "result 0", values.element_type(), SizesOf(Operand(0)));
  }
  if (call_.routine == LibraryRoutine::kBlockDequantize) {
    VXLA_RETURN_IF_ERROR(ExpectOperands(2));
    VXLA_RETURN_IF_ERROR(ReadScales(Operand(0), Operand(1)));
    return Expect(result, "the result", result.element_type(), SizesOf(Operand(0)));
  }
  const int count = instruction_.operand_count();
  if (count < 3 || count > 5) return Wrong("{} operands, 3 to 5 expected", count);
  const Shape &a = Operand(0), &b = Operand(1);
  VXLA_RETURN_IF_ERROR(ReadScales(a, Operand(2)));
  if (count > 3) VXLA_RETURN_IF_ERROR(ReadScales(b, Operand(3)));
  if (count > 4 && !Operand(4).IsScalar()) return Wrong("operand 4 is {}, a scalar expected", Operand(4).ToString());
  const int rank = a.rank();
  if ((rank != 2 && rank != 3) || !b.IsArray() || b.rank() != rank || b.dimension(rank - 1) != a.dimension(rank - 1) ||
      (rank == 3 && b.dimension(0) != a.dimension(0))) {
    return Wrong("operands 0 and 1 are {} and {}, [batch,] rows and equal columns expected", a.ToString(),
                 b.ToString());
  }
  IntList sizes = SizesOf(a);
  sizes.back() = b.dimension(rank - 2);
  return Expect(result, "the result", result.element_type(), sizes);
}

}  // namespace

bool IsLibraryCall(std::string_view target) { return TargetOf(target).has_value(); }

bool IsLinearAlgebraCall(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kCustomCall) return false;
  const auto target = TargetOf(instruction.attributes<CustomCallAttributes>().custom_call_target);
  return target && target->routine != LibraryRoutine::kTopK && target->routine != LibraryRoutine::kApproxTopK &&
         target->routine != LibraryRoutine::kIdentity;
}

std::string WidestTarget(std::string target) {
  const std::optional<Target> known = TargetOf(target);
  if (!known || known->letter == 0) return target;
  const bool complex = known->letter == 'c' || known->letter == 'z';
  target[kBeforeLetter.size()] = complex ? 'z' : 'd';
  return target;
}

std::string LibraryCallNames() {
  std::vector<std::string> lapack;
  for (const auto& routine : kLapackRoutines) {
    lapack.emplace_back(routine.name);
    for (const auto& [of_complex, of_real] : kComplexNames) {
      if (of_real == routine.name) lapack.back() += fmt::format("/{}", of_complex);
    }
  }
  std::vector<std::string_view> own;
  for (const auto& call : kXlaCalls) own.push_back(call.name);
  return fmt::format("lapack_{{s,d,c,z}}{{{}}}_ffi, {}", fmt::join(lapack, ","), fmt::join(own, ", "));
}

Result<LibraryCall> LibraryCallOf(const Instruction& instruction) {
  const std::optional<Target> target = TargetOf(instruction.attributes<CustomCallAttributes>().custom_call_target);
  VXLA_CHECK(target.has_value(), "a library call has a name that IsLibraryCall knows");
  return Reader(instruction, *target).Read();
}

}  // namespace VXLA_NAMESPACE
