// Library calls of linear algebra: LAPACK's routines and XLA's own expanders of the same.
#include <algorithm>

#include "core/library/library_call_reader.h"

namespace VXLA_NAMESPACE {

Status LibraryCallReader::ReadMatrices() {
  if (instruction_.operand_count() < 1) return Wrong("no operands");
  const bool vectors_first = TakesDiagonals();
  if (vectors_first) VXLA_RETURN_IF_ERROR(ExpectOperands(4));
  VXLA_RETURN_IF_ERROR(ExpectMatrices(vectors_first ? 3 : 0, false));
  const Shape& a = Operand(vectors_first ? 3 : 0);
  type_ = a.element_type();
  real_ = RealPart(type_);
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

Status LibraryCallReader::ReadSolve() {
  VXLA_RETURN_IF_ERROR(Choose("uplo", "LU", 'L', call_.lower));
  VXLA_RETURN_IF_ERROR(ExpectMatrices(0, true));
  if (call_.routine == LibraryRoutine::kCholesky) {
    VXLA_RETURN_IF_ERROR(ExpectOperands(1));
    return ExpectResults({{type_, {rows_, rows_}}, {ElementType::kS32, {}}});
  }
  VXLA_RETURN_IF_ERROR(ExpectOperands(2));
  VXLA_RETURN_IF_ERROR(Choose("side", "LR", 'L', call_.left_side));
  VXLA_RETURN_IF_ERROR(Choose("diag", "UN", 'U', call_.unit_diagonal));
  VXLA_ASSIGN_OR_RETURN(const char transpose, Letter("trans_x", "NTC"));
  call_.transpose = transpose == 'N'   ? TransposeKind::kNoTranspose
                    : transpose == 'T' ? TransposeKind::kTranspose
                                       : TransposeKind::kAdjoint;
  return ReadOtherSide(1);
}

Status LibraryCallReader::ReadOtherSide(int k) {
  VXLA_RETURN_IF_ERROR(ExpectMatrices(k, false));
  const Shape& b = Operand(k);
  const int64_t rows = b.dimension(b.rank() - 2), columns = b.dimension(b.rank() - 1);
  VXLA_RETURN_IF_ERROR(call_.left_side ? ExpectOperand(k, type_, {rows_, columns})
                                       : ExpectOperand(k, type_, {rows, rows_}));
  return ExpectResults({{type_, {rows, columns}}});
}

Status LibraryCallReader::ReadLu() {
  VXLA_RETURN_IF_ERROR(ExpectOperands(1));
  if (call_.lapack)
    return ExpectResults({{type_, {rows_, columns_}}, {ElementType::kS32, {least_}}, {ElementType::kS32, {}}});
  return ExpectResults({{type_, {rows_, columns_}}, {ElementType::kS32, {least_}}, {ElementType::kS32, {rows_}}});
}

Status LibraryCallReader::ReadReflectors() {
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

Status LibraryCallReader::ReadReflect() {
  VXLA_RETURN_IF_ERROR(ExpectOperands(3));
  for (const auto& [name, flag] : {std::pair("left", &call_.left_side), std::pair("transpose", &call_.adjoint)}) {
    const std::optional<bool> stated = Flag(name);
    if (!stated)
      return Wrong("backend_config {} states no {} (true or false)", config_.empty() ? "(none)" : config_, name);
    *flag = *stated;
  }
  const Shape& taus = Operand(1);
  const int64_t count = taus.IsArray() && taus.rank() > 0 ? taus.dimension(taus.rank() - 1) : 0;
  VXLA_RETURN_IF_ERROR(ExpectOperand(1, type_, {count}));
  if (count > least_)
    return Wrong("{} taus of {}: no more than rows and columns expected", count, Operand(0).ToString());
  return ReadOtherSide(2);
}

Status LibraryCallReader::ReadEigh() {
  VXLA_RETURN_IF_ERROR(ExpectOperands(1));
  VXLA_RETURN_IF_ERROR(ExpectMatrices(0, true));
  if (call_.lapack) {
    VXLA_RETURN_IF_ERROR(Choose("mode", "NV", 'V', call_.vectors));
    VXLA_RETURN_IF_ERROR(Choose("uplo", "LU", 'L', call_.lower));
    return ExpectResults({{type_, {rows_, rows_}}, {real_, {rows_}}, {ElementType::kS32, {}}});
  }
  // "lower,sort,sweeps,tolerance"; the last two are the algorithm's own affair, and values are always sorted.
  std::string flags = config_;
  std::erase_if(flags, [](char c) { return c == '"' || c == ' '; });
  if (flags.size() < 3 || flags[1] != ',')
    return Wrong("backend_config {} is not \"lower,sort,sweeps,tolerance\"", config_.empty() ? "(none)" : config_);
  call_.lower = flags[0] != '0';
  return ExpectResults({{type_, {rows_, rows_}}, {real_, {rows_}}});
}

Status LibraryCallReader::ReadSvd() {
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

Status LibraryCallReader::ReadGeneral() {
  VXLA_RETURN_IF_ERROR(ExpectOperands(1));
  VXLA_RETURN_IF_ERROR(ExpectMatrices(0, true));
  const int64_t n = rows_;
  if (call_.routine == LibraryRoutine::kHessenberg) {
    call_.low = Integer("low").value_or(1);
    call_.high = Integer("high").value_or(n);
    if (n > 0 && (call_.low < 1 || call_.low > call_.high || call_.high > n))
      return Wrong("low {} and high {} of {}: 1 <= low <= high <= {} expected", call_.low, call_.high,
                   Operand(0).ToString(), n);
    return ExpectResults({{type_, {n, n}}, {type_, {std::max<int64_t>(n - 1, 0)}}, {ElementType::kS32, {}}});
  }
  std::vector<Leaf> values(IsComplex(type_) ? 1 : 2, Leaf{type_, {n}}), leaves;
  if (call_.routine == LibraryRoutine::kEig) {
    VXLA_RETURN_IF_ERROR(Choose("compute_left", "NV", 'V', call_.left_vectors));
    VXLA_RETURN_IF_ERROR(Choose("compute_right", "NV", 'V', call_.vectors));
    const ElementType complex = real_ == ElementType::kF64 ? ElementType::kC128 : ElementType::kC64;
    leaves = values;
    leaves.insert(leaves.end(), {{complex, {n, n}}, {complex, {n, n}}, {ElementType::kS32, {}}});
    return ExpectResults(leaves);
  }
  VXLA_RETURN_IF_ERROR(Choose("mode", "NV", 'V', call_.vectors));
  VXLA_ASSIGN_OR_RETURN(const char sort, Letter("sort", "NS"));
  if (sort == 'S') {
    return Unsupported("custom-call {}: {}: eigenvalues in an order of the caller's choice (sort = 83)",
                       instruction_.name(), name_)
        .At(instruction_.location());
  }
  leaves = {{type_, {n, n}}, {type_, {n, n}}};
  leaves.insert(leaves.end(), values.begin(), values.end());
  leaves.insert(leaves.end(), {{ElementType::kS32, {}}, {ElementType::kS32, {}}});
  return ExpectResults(leaves);
}

Status LibraryCallReader::ReadTridiagonal() {
  if (call_.routine == LibraryRoutine::kTridiagonal) {
    VXLA_RETURN_IF_ERROR(ExpectOperands(1));
    VXLA_RETURN_IF_ERROR(ExpectMatrices(0, true));
    VXLA_RETURN_IF_ERROR(Choose("uplo", "LU", 'L', call_.lower));
    const int64_t beside = std::max<int64_t>(rows_ - 1, 0);
    return ExpectResults(
        {{type_, {rows_, rows_}}, {real_, {rows_}}, {real_, {beside}}, {type_, {beside}}, {ElementType::kS32, {}}});
  }
  for (int k = 0; k < 3; ++k) VXLA_RETURN_IF_ERROR(ExpectOperand(k, type_, {rows_}));
  if (call_.routine == LibraryRoutine::kPerturbedSolve) return ExpectResults({{type_, {rows_, columns_}}});
  return ExpectResults(
      {{type_, {rows_}}, {type_, {rows_}}, {type_, {rows_}}, {type_, {rows_, columns_}}, {ElementType::kS32, {}}});
}

}  // namespace VXLA_NAMESPACE
