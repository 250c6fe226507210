#include "backend/cpu/reference/library/library_calls.h"

#include <complex>
#include <limits>

#include "backend/cpu/reference/arithmetic/dense_matrix.h"
#include "backend/cpu/reference/library/lapack_library.h"
#include "core/programs/library_programs.h"

namespace VXLA_NAMESPACE {
namespace {

using dense::Matrix;

template <typename T>
T ElementAs(const Literal& literal, int64_t i) {
  if constexpr (dense::kComplex<T>) {
    return T(literal.GetComplex(i));
  } else {
    return static_cast<T>(literal.GetDouble(i));
  }
}
template <typename T>
void SetElement(Literal& literal, int64_t i, T value) {
  if (IsComplex(literal.shape().element_type())) {
    literal.SetComplex(i, {static_cast<double>(std::real(value)), static_cast<double>(std::imag(value))});
  } else {
    literal.SetDouble(i, static_cast<double>(std::real(value)));
  }
}

int64_t LastDimension(const Literal& literal, int from_behind) {
  return literal.shape().dimension(literal.shape().rank() - from_behind);
}

// What one matrix of a batch takes and gives: number b of each operand and result.
template <typename T>
class OneOfBatch {
 public:
  OneOfBatch(std::span<const Literal> operands, std::vector<Literal*> results, int64_t b)
      : operands_(operands), results_(std::move(results)), b_(b) {}

  Matrix<T> MatrixIn(size_t k) const {
    const Literal& from = operands_[k];
    Matrix<T> m(LastDimension(from, 2), LastDimension(from, 1));
    const auto count = static_cast<int64_t>(m.elements.size());
    for (int64_t i = 0; i < count; ++i) m.elements[static_cast<size_t>(i)] = ElementAs<T>(from, b_ * count + i);
    return m;
  }
  std::vector<T> VectorIn(size_t k) const {
    std::vector<T> v;
    const int64_t n = LastDimension(operands_[k], 1);
    for (int64_t i = 0; i < n; ++i) v.push_back(ElementAs<T>(operands_[k], b_ * n + i));
    return v;
  }
  std::vector<int64_t> IntegersIn(size_t k) const {
    std::vector<int64_t> v;
    const int64_t n = LastDimension(operands_[k], 1);
    for (int64_t i = 0; i < n; ++i) v.push_back(operands_[k].GetInt(b_ * n + i));
    return v;
  }

  template <typename V>
  void Out(size_t k, const std::vector<V>& values) {
    const auto n = static_cast<int64_t>(values.size());
    for (int64_t i = 0; i < n; ++i) {
      if constexpr (std::is_same_v<V, int64_t>) {
        results_[k]->SetInt(b_ * n + i, values[static_cast<size_t>(i)]);
      } else {
        SetElement(*results_[k], b_ * n + i, values[static_cast<size_t>(i)]);
      }
    }
  }
  void Out(size_t k, const Matrix<T>& matrix) { Out(k, matrix.elements); }
  void Out(size_t k, int64_t value) { Out(k, std::vector<int64_t>{value}); }
  // And `info`, the one integer.
  void AllNan() {
    for (Literal* result : results_) {
      if (result->shape().element_type() == ElementType::kS32) {
        result->SetInt(b_, kNotFiniteInfo);
        continue;
      }
      const int64_t count = result->element_count() / batch();
      for (int64_t i = 0; i < count; ++i) SetElement(*result, b_ * count + i, std::numeric_limits<double>::quiet_NaN());
    }
  }
  bool single() const {
    const ElementType type = operands_[0].shape().element_type();
    return type == ElementType::kF32 || type == ElementType::kC64;
  }
  int64_t batch() const {
    int64_t product = 1;
    const Shape& shape = operands_[0].shape();
    for (int d = 0; d < shape.rank() - 2; ++d) product *= shape.dimension(d);
    return product;
  }

 private:
  std::span<const Literal> operands_;
  std::vector<Literal*> results_;
  int64_t b_;
};

template <typename T>
void ComputeLu(const LibraryCall& call, OneOfBatch<T>& one) {
  Matrix<T> a = one.MatrixIn(0);
  dense::Lu<T> lu = dense::FactorLu(a);
  one.Out(0, a);
  if (call.lapack) {
    for (int64_t& pivot : lu.pivots) ++pivot;
  }
  one.Out(1, lu.pivots);
  if (call.lapack) {
    one.Out(2, lu.info);
  } else {
    one.Out(2, lu.permutation);
  }
}

template <typename T>
void ComputeReflectors(const LibraryCall& call, OneOfBatch<T>& one) {
  Matrix<T> a = one.MatrixIn(0);
  if (call.routine == LibraryRoutine::kHouseholderProduct)
    return one.Out(0, dense::HouseholderProduct(a, one.VectorIn(1)));
  if (call.routine == LibraryRoutine::kReflect) {
    Matrix<T> c = one.MatrixIn(2);
    dense::Reflect(a, one.VectorIn(1), c, call.left_side, call.adjoint);
    return one.Out(0, c);
  }
  if (call.routine == LibraryRoutine::kQr) {
    one.Out(1, dense::FactorQr(a));
  } else if (call.routine == LibraryRoutine::kPivotedQr) {
    std::vector<int64_t> columns = one.IntegersIn(1);
    one.Out(2, dense::FactorPivotedQr(a, columns));
    one.Out(1, columns);
  } else {
    one.Out(1, dense::ReduceToHessenberg(a, call.low - 1, call.high));
  }
  one.Out(0, a);
}

template <typename T>
void ComputeEigh(const LibraryCall& call, OneOfBatch<T>& one) {
  const Matrix<T> a = dense::Hermitian(one.MatrixIn(0), call.lower);
  if (!a.IsFinite()) return one.AllNan();
  const dense::Eigen<T> eigen = dense::EigenOfHermitian(a);
  one.Out(0, eigen.vectors);
  one.Out(1, eigen.values);
}

template <typename T>
void ComputeSvd(const LibraryCall& call, OneOfBatch<T>& one) {
  const Matrix<T> a = one.MatrixIn(0);
  const bool finite = a.IsFinite();
  if (!finite) one.AllNan();
  one.Out(0, a);
  if (!finite) return;
  const int64_t least = std::min(a.rows, a.columns);
  dense::Svd<T> svd = dense::SvdOf(a, call.all_columns ? a.rows : least, call.all_columns ? a.columns : least);
  one.Out(1, svd.values);
  if (!call.vectors) return;
  one.Out(2, svd.u);
  one.Out(3, svd.v.Adjoint());
}

template <typename T>
void ComputeTridiagonal(const LibraryCall& call, OneOfBatch<T>& one) {
  Matrix<T> a = one.MatrixIn(0);
  const dense::Tridiagonal<T> parts = dense::ReduceToTridiagonal(a, call.lower);
  one.Out(0, a);
  one.Out(1, parts.diagonal);
  one.Out(2, parts.beside);
  one.Out(3, parts.taus);
}

template <typename T>
void ComputeTridiagonalSolve(OneOfBatch<T>& one) {
  // LAPACK's arrays beside the diagonal begin with the first element there; JAX's have one more in front or behind.
  std::vector<T> lower = one.VectorIn(0), diagonal = one.VectorIn(1), upper = one.VectorIn(2);
  Matrix<T> b = one.MatrixIn(3);
  std::vector<T> below(lower.begin() + (lower.empty() ? 0 : 1), lower.end());
  if (!lower.empty()) below.push_back(T(0));
  one.Out(4, dense::SolveTridiagonal(below, diagonal, upper, b));
  one.Out(0, below);
  one.Out(1, diagonal);
  one.Out(2, upper);
  one.Out(3, b);
}

template <typename T>
void ComputePerturbedSolve(OneOfBatch<T>& one) {
  const std::vector<T> lower = one.VectorIn(0), upper = one.VectorIn(2);
  Matrix<T> b = one.MatrixIn(3);
  // A pivot is next to zero for the numbers that the call has, not for the wider ones here.
  const bool narrow = one.single();
  dense::SolvePerturbed(lower, one.VectorIn(1), upper, b,
                        narrow ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon(),
                        narrow ? std::numeric_limits<float>::min() : std::numeric_limits<double>::min());
  one.Out(0, b);
}

template <typename T>
void Compute(const LibraryCall& call, OneOfBatch<T> one) {
  switch (call.routine) {
    case LibraryRoutine::kLu:
      return ComputeLu(call, one);
    case LibraryRoutine::kEigh:
      return ComputeEigh(call, one);
    case LibraryRoutine::kSvd:
      return ComputeSvd(call, one);
    case LibraryRoutine::kTridiagonal:
      return ComputeTridiagonal(call, one);
    case LibraryRoutine::kTridiagonalSolve:
      return ComputeTridiagonalSolve(one);
    case LibraryRoutine::kPerturbedSolve:
      return ComputePerturbedSolve(one);
    default:
      return ComputeReflectors(call, one);
  }
}

bool NeedsLapack(LibraryRoutine routine) {
  return routine == LibraryRoutine::kEig || routine == LibraryRoutine::kSchur;
}

// Calls f with a number of the type to compute in: twice as wide as the elements' where the machine has one.
template <typename F>
void VisitWide(ElementType type, F&& f) {
  switch (type) {
    case ElementType::kF64:
      return f(static_cast<long double>(0));
    case ElementType::kC64:
      return f(std::complex<double>());
    case ElementType::kC128:
      return f(std::complex<long double>());
    default:
      return f(static_cast<double>(0));
  }
}

}  // namespace

Status CheckLibraryCall(const Instruction& instruction) {
  VXLA_ASSIGN_OR_RETURN(const LibraryCall call, LibraryCallOf(instruction));
  if (!NeedsLapack(call.routine) || HasLapack()) return OkStatus();
  return Unsupported("custom-call {}: {} is LAPACK's, and this machine has none that vxla can open: {}",
                     instruction.name(), instruction.attributes<CustomCallAttributes>().custom_call_target,
                     WhyNoLapack())
      .At(instruction.location());
}

EvalResult EvalLibraryCall(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  VXLA_RETURN_IF_ERROR(CheckLibraryCall(instruction));
  VXLA_ASSIGN_OR_RETURN(const LibraryCall call, LibraryCallOf(instruction));
  VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<const Module> definition, matrix_ops::DefinitionOf(call, instruction));
  if (definition != nullptr) {
    // A context of its own: schedules are kept by the address of a computation.
    EvalContext own(context.options());
    return own.Run(*definition->entry(), operands);
  }
  std::vector<Literal> inputs;
  for (Value& operand : operands) inputs.push_back(std::move(operand).ToLiteral());
  Literal result(instruction.shape());
  std::vector<Literal*> results;
  if (instruction.shape().IsTuple()) {
    for (Literal& element : result.mutable_tuple_elements()) results.push_back(&element);
  } else {
    results.push_back(&result);
  }
  if (NeedsLapack(call.routine)) {
    EvalByLapack(context, call, inputs[0], result);
    return result;
  }
  const bool diagonals_first =
      call.routine == LibraryRoutine::kTridiagonalSolve || call.routine == LibraryRoutine::kPerturbedSolve;
  const Literal& matrices = inputs[diagonals_first ? 3 : 0];
  int64_t batch = 1;
  for (int d = 0; d < matrices.shape().rank() - 2; ++d) batch *= matrices.shape().dimension(d);
  context.For(batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      VisitWide(matrices.shape().element_type(),
                [&]<typename T>(T) { Compute<T>(call, OneOfBatch<T>(inputs, results, b)); });
    }
  });
  return result;
}

}  // namespace VXLA_NAMESPACE
