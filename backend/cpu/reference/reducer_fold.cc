#include "backend/cpu/reference/reducer_fold.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backend/cpu/reference/arithmetic/double_double.h"
#include "core/numerics/combiner_order.h"

namespace VXLA_NAMESPACE {
namespace {

void GatherOrInit(const Literal& array, const Literal& init, const int64_t* offsets, int64_t n, void* out) {
  const ElementType type = array.shape().element_type();
  int64_t safe[kBlockSize];
  bool any_outside = array.element_count() == 0;
  for (int64_t i = 0; i < n; ++i) {
    safe[i] = std::max<int64_t>(offsets[i], 0);
    any_outside = any_outside || offsets[i] < 0;
  }
  if (array.element_count() > 0) GatherElements(array, safe, n, out);
  if (!any_outside) return;
  const int64_t size = CarrierBytes(type);
  std::byte fill[sizeof(ComplexDouble)];
  LoadBlock(init, 0, 1, fill);
  for (int64_t i = 0; i < n; ++i) {
    if (offsets[i] < 0) std::memcpy(static_cast<std::byte*>(out) + i * size, fill, static_cast<size_t>(size));
  }
}

void CompactPairs(std::byte* lanes, int64_t size, int64_t n, std::byte* odd) {
  for (int64_t i = 0; 2 * i < n; ++i) {
    if (2 * i + 1 < n) std::memcpy(odd + i * size, lanes + (2 * i + 1) * size, static_cast<size_t>(size));
    std::memmove(lanes + i * size, lanes + 2 * i * size, static_cast<size_t>(size));
  }
}

void StoreStrided(const void* carriers, Literal& result, int64_t at, int64_t stride, int64_t n) {
  if (stride == 1) return StoreBlock(carriers, n, result, at);
  int64_t offsets[kBlockSize];
  for (int64_t i = 0; i < n; ++i) offsets[i] = at + i * stride;
  ScatterElements(carriers, offsets, n, result);
}

// Equal as numbers; NaN equals NaN.
bool SameValues(ElementType type, const void* a, const void* b, int64_t n) {
  if (!IsFloating(type) && !IsComplex(type)) return std::memcmp(a, b, static_cast<size_t>(n) * sizeof(uint64_t)) == 0;
  const double *x = static_cast<const double*>(a), *y = static_cast<const double*>(b);
  for (int64_t i = 0; i < n * (IsComplex(type) ? 2 : 1); ++i) {
    if (x[i] != y[i] && !(std::isnan(x[i]) && std::isnan(y[i]))) return false;
  }
  return true;
}

// A general reducer: the program's first inputs are the accumulators, the others the values.
class ProgramFold final : public ReducerFold {
 public:
  ProgramFold(const ScalarProgram& program, std::span<const Literal* const> arrays,
              std::span<const Literal* const> inits)
      : frame_(program), accumulators_(arrays.size()), arrays_(arrays), inits_(inits) {}

  void LoadInit(int64_t n) override {
    for (size_t k = 0; k < arrays_.size(); ++k) LoadSplat(*inits_[k], 0, n, accumulators_[k].bytes);
  }
  void LoadAccumulator(int64_t at, int64_t stride, int64_t n) override {
    for (size_t k = 0; k < arrays_.size(); ++k) Load(k, at, stride, n, accumulators_[k].bytes);
  }
  void LoadValue(int64_t at, int64_t stride, int64_t n) override {
    for (size_t k = 0; k < arrays_.size(); ++k) Load(k, at, stride, n, ValueOf(k));
  }
  void LoadValueAt(const int64_t* offsets, int64_t n) override {
    for (size_t k = 0; k < arrays_.size(); ++k) GatherOrInit(*arrays_[k], *inits_[k], offsets, n, ValueOf(k));
  }
  void Fold(int64_t n) override {
    for (size_t k = 0; k < arrays_.size(); ++k) {
      std::memcpy(frame_.input(static_cast<int>(k)), accumulators_[k].bytes, static_cast<size_t>(n * Size(k)));
    }
    Accumulate(n);
  }
  void FoldInFront(int64_t n) override {
    for (size_t k = 0; k < arrays_.size(); ++k) {
      std::memcpy(frame_.input(static_cast<int>(k)), ValueOf(k), static_cast<size_t>(n * Size(k)));
      std::memcpy(ValueOf(k), accumulators_[k].bytes, static_cast<size_t>(n * Size(k)));
    }
    Accumulate(n);
  }
  int64_t FoldPairs(int64_t n) override {
    for (size_t k = 0; k < arrays_.size(); ++k) {
      CompactPairs(accumulators_[k].bytes, Size(k), n, static_cast<std::byte*>(ValueOf(k)));
    }
    Fold(n / 2);
    return (n + 1) / 2;
  }
  void FoldOther(ReducerFold& other) override {
    auto& from = static_cast<ProgramFold&>(other);
    for (size_t k = 0; k < arrays_.size(); ++k)
      std::memcpy(ValueOf(k), from.accumulators_[k].bytes, static_cast<size_t>(Size(k)));
    Fold(1);
  }
  void Store(std::span<Literal> results, int64_t at, int64_t stride, int64_t n) override {
    for (size_t k = 0; k < arrays_.size(); ++k) StoreStrided(accumulators_[k].bytes, results[k], at, stride, n);
  }
  bool InitVanishes(int64_t at, int64_t n) override {
    LoadInit(n);
    LoadValue(at, 1, n);
    return FoldKeeps(n);
  }
  bool InitStays() override {
    LoadInit(1);
    for (size_t k = 0; k < arrays_.size(); ++k) LoadSplat(*inits_[k], 0, 1, ValueOf(k));
    return FoldKeeps(1);
  }
  bool Ordered() const override { return true; }

 private:
  // Folds the values, and says whether they are what comes out.
  bool FoldKeeps(int64_t n) {
    Fold(n);
    bool same = true;
    for (size_t k = 0; k < arrays_.size(); ++k) {
      same = same && SameValues(arrays_[k]->shape().element_type(), accumulators_[k].bytes, ValueOf(k), n);
    }
    return same;
  }
  // accumulator = the program's value of its inputs.
  void Accumulate(int64_t n) {
    frame_.Run(n);
    for (size_t k = 0; k < arrays_.size(); ++k) {
      std::memcpy(accumulators_[k].bytes, frame_.output(static_cast<int>(k)), static_cast<size_t>(n * Size(k)));
    }
  }
  int64_t Size(size_t k) const { return CarrierBytes(arrays_[k]->shape().element_type()); }
  void* ValueOf(size_t k) { return frame_.input(static_cast<int>(arrays_.size() + k)); }
  void Load(size_t k, int64_t at, int64_t stride, int64_t n, void* out) const {
    LoadStrided(*arrays_[k], at, stride, n, out);
  }

  ScalarProgram::Frame frame_;
  std::vector<Block> accumulators_;
  std::span<const Literal*const> arrays_, inits_;
};

// One commuting op on one array. T: the carrier, taken apart into doubles for complex sums. The fold works on `parts`
// values of T a lane.
template <typename T, typename F>
class SimpleFold final : public ReducerFold {
 public:
  SimpleFold(const Literal& array, const Literal& init, F fold)
      : array_(array),
        init_(init),
        type_(array.shape().element_type()),
        parts_(IsComplex(type_) ? 2 : 1),
        fold_(fold) {}

  void LoadInit(int64_t n) override {
    LoadSplat(init_, 0, n, accumulator_.bytes);
    fold_.Clear(n * parts_);
  }
  void LoadAccumulator(int64_t at, int64_t stride, int64_t n) override {
    LoadStrided(array_, at, stride, n, accumulator_.bytes);
    fold_.Clear(n * parts_);
  }
  void LoadValue(int64_t at, int64_t stride, int64_t n) override { LoadStrided(array_, at, stride, n, value_.bytes); }
  void LoadValueAt(const int64_t* offsets, int64_t n) override {
    GatherOrInit(array_, init_, offsets, n, value_.bytes);
  }
  void Fold(int64_t n) override { fold_.Fold(accumulator_.as<T>(), value_.as<T>(), n * parts_); }
  int64_t FoldPairs(int64_t n) override {
    CompactPairs(accumulator_.bytes, CarrierBytes(type_), n, value_.bytes);
    fold_.CompactErrors(n, parts_);
    Fold(n / 2);
    return (n + 1) / 2;
  }
  void FoldOther(ReducerFold& other) override {
    auto& from = static_cast<SimpleFold&>(other);
    std::memcpy(value_.bytes, from.accumulator_.bytes, static_cast<size_t>(CarrierBytes(type_)));
    Fold(1);
    fold_.AddErrors(from.fold_, parts_);
  }
  void Store(std::span<Literal> results, int64_t at, int64_t stride, int64_t n) override {
    std::memcpy(value_.bytes, accumulator_.bytes, static_cast<size_t>(n * CarrierBytes(type_)));
    fold_.Finish(value_.as<T>(), n * parts_);
    StoreStrided(value_.bytes, results[0], at, stride, n);
  }
  bool InitVanishes(int64_t at, int64_t n) override {
    LoadInit(n);
    LoadValue(at, 1, n);
    Fold(n);
    return SameValues(type_, accumulator_.bytes, value_.bytes, n);
  }
  bool InitStays() override { return false; }  // not asked: such operations need no order
  bool Ordered() const override { return false; }

 private:
  const Literal& array_;
  const Literal& init_;
  ElementType type_;
  int64_t parts_;
  F fold_;
  Block accumulator_, value_;
};

// A fold without error terms.
template <typename T, typename Op>
struct PlainFold {
  Op op;
  void Clear(int64_t) {}
  void Fold(T* acc, const T* value, int64_t n) {
    for (int64_t i = 0; i < n; ++i) acc[i] = op(acc[i], value[i]);
  }
  void CompactErrors(int64_t, int64_t) {}
  void AddErrors(const PlainFold&, int64_t) {}
  void Finish(T*, int64_t) {}
};

// The errors of folds in double, kept by lane. Those of two partial results add up in that of both.
struct FoldErrors {
  double errors[2 * kBlockSize];
  void Clear(int64_t n) { std::fill_n(errors, n, 0.0); }
  void CompactErrors(int64_t n, int64_t parts) {
    for (int64_t i = 0; 2 * i < n; ++i) {
      for (int64_t p = 0; p < parts; ++p) {
        const double other = 2 * i + 1 < n ? errors[(2 * i + 1) * parts + p] : 0.0;
        errors[i * parts + p] = errors[2 * i * parts + p] + other;
      }
    }
  }
  void AddErrors(const FoldErrors& other, int64_t parts) {
    for (int64_t p = 0; p < parts; ++p) errors[p] += other.errors[p];
  }
};

// Neumaier's sum: the rounding error of each addition is kept and added at the end.
struct CompensatedSum : FoldErrors {
  void Fold(double* acc, const double* value, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const double sum = acc[i] + value[i];
      const double kept = sum - acc[i];
      errors[i] += (acc[i] - (sum - kept)) + (value[i] - kept);
      acc[i] = sum;
    }
  }
  // Past an infinity the error terms are NaN and mean nothing.
  void Finish(double* acc, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      if (std::isfinite(acc[i])) acc[i] = Rounded(acc[i], errors[i]);
    }
  }
};

// The relative rounding error of each multiplication is kept and put back at the end; below kLeast it is no double.
struct CompensatedProduct : FoldErrors {
  static constexpr double kLeast = 0x1p-969;
  void Fold(double* acc, const double* value, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const DoubleDouble product = ExactProduct(acc[i], value[i]);
      acc[i] = product.high;
      if (std::fabs(product.high) >= kLeast) errors[i] += product.low / product.high;
    }
  }
  void Finish(double* acc, int64_t n) {
    for (int64_t i = 0; i < n; ++i) acc[i] = Rounded(acc[i], acc[i] * errors[i]);
  }
};

template <typename T, typename Op>
std::unique_ptr<ReducerFold> Plain(const Literal& array, const Literal& init, Op op) {
  return std::make_unique<SimpleFold<T, PlainFold<T, Op>>>(array, init, PlainFold<T, Op>{op});
}

double PropagatingMax(double a, double b) { return std::isnan(a) || a > b || (a == b && !std::signbit(a)) ? a : b; }
double PropagatingMin(double a, double b) { return std::isnan(a) || a < b || (a == b && std::signbit(a)) ? a : b; }

// The fold of a single commuting op, or null if the op or type has none.
std::unique_ptr<ReducerFold> SimpleFoldFor(Opcode opcode, const Literal& array, const Literal& init) {
  const ElementType type = array.shape().element_type();
  const bool wide = RealPart(type) == ElementType::kF64;
  const bool real = IsFloating(type), complex = IsComplex(type), is_signed = IsSigned(type);
  switch (opcode) {
    case Opcode::kAdd:
      if ((real || complex) && wide)
        return std::make_unique<SimpleFold<double, CompensatedSum>>(array, init, CompensatedSum{});
      if (real || complex) return Plain<double>(array, init, [](double a, double b) { return a + b; });
      return Plain<uint64_t>(array, init, [](uint64_t a, uint64_t b) { return a + b; });
    case Opcode::kMultiply:
      if (complex) return nullptr;
      if (real && wide)
        return std::make_unique<SimpleFold<double, CompensatedProduct>>(array, init, CompensatedProduct{});
      if (real) return Plain<double>(array, init, [](double a, double b) { return a * b; });
      return Plain<uint64_t>(array, init, [](uint64_t a, uint64_t b) { return a * b; });
    case Opcode::kMaximum:
      if (complex) return nullptr;
      if (real) return Plain<double>(array, init, PropagatingMax);
      if (is_signed) return Plain<int64_t>(array, init, [](int64_t a, int64_t b) { return a > b ? a : b; });
      return Plain<uint64_t>(array, init, [](uint64_t a, uint64_t b) { return a > b ? a : b; });
    case Opcode::kMinimum:
      if (complex) return nullptr;
      if (real) return Plain<double>(array, init, PropagatingMin);
      if (is_signed) return Plain<int64_t>(array, init, [](int64_t a, int64_t b) { return a < b ? a : b; });
      return Plain<uint64_t>(array, init, [](uint64_t a, uint64_t b) { return a < b ? a : b; });
    case Opcode::kAnd:
      return Plain<uint64_t>(array, init, [](uint64_t a, uint64_t b) { return a & b; });
    case Opcode::kOr:
      return Plain<uint64_t>(array, init, [](uint64_t a, uint64_t b) { return a | b; });
    case Opcode::kXor:
      return Plain<uint64_t>(array, init, [](uint64_t a, uint64_t b) { return a ^ b; });
    default:
      return nullptr;
  }
}

// Several arrays that the reducer folds apart from each other, such as sums of values and of their squares: each in its
// own fold.
class SeparateFolds final : public ReducerFold {
 public:
  explicit SeparateFolds(std::vector<std::unique_ptr<ReducerFold>> folds) : folders_(std::move(folds)) {}

  void LoadInit(int64_t n) override {
    for (auto& fold : folders_) fold->LoadInit(n);
  }
  void LoadAccumulator(int64_t at, int64_t stride, int64_t n) override {
    for (auto& fold : folders_) fold->LoadAccumulator(at, stride, n);
  }
  void LoadValue(int64_t at, int64_t stride, int64_t n) override {
    for (auto& fold : folders_) fold->LoadValue(at, stride, n);
  }
  void LoadValueAt(const int64_t* offsets, int64_t n) override {
    for (auto& fold : folders_) fold->LoadValueAt(offsets, n);
  }
  void Fold(int64_t n) override {
    for (auto& fold : folders_) fold->Fold(n);
  }
  int64_t FoldPairs(int64_t n) override {
    for (auto& fold : folders_) fold->FoldPairs(n);
    return (n + 1) / 2;
  }
  void FoldOther(ReducerFold& other) override {
    auto& from = static_cast<SeparateFolds&>(other);
    for (size_t k = 0; k < folders_.size(); ++k) folders_[k]->FoldOther(*from.folders_[k]);
  }
  void Store(std::span<Literal> results, int64_t at, int64_t stride, int64_t n) override {
    for (size_t k = 0; k < folders_.size(); ++k) folders_[k]->Store(results.subspan(k, 1), at, stride, n);
  }
  bool InitVanishes(int64_t at, int64_t n) override {
    return std::ranges::all_of(folders_, [&](const auto& fold) { return fold->InitVanishes(at, n); });
  }
  bool InitStays() override { return false; }
  bool Ordered() const override { return false; }

 private:
  std::vector<std::unique_ptr<ReducerFold>> folders_;
};

// The op of each array where the root is a tuple of op(accumulator k, value k); else none.
std::vector<const Instruction*> SeparateOps(const Computation& reducer, size_t arrays) {
  const Instruction* root = reducer.root();
  if (arrays < 2 || root->opcode() != Opcode::kTuple || root->operand_count() != static_cast<int>(arrays)) return {};
  std::vector<const Instruction*> ops;
  for (size_t k = 0; k < arrays; ++k) {
    const Instruction* op = root->operand(static_cast<int>(k));
    if (op->operand_count() != 2) return {};
    const Instruction *a = op->operand(0), *b = op->operand(1);
    if (a->opcode() != Opcode::kParameter || b->opcode() != Opcode::kParameter) return {};
    const auto [first, second] = std::minmax({a->parameter_number(), b->parameter_number()});
    if (first != static_cast<int64_t>(k) || second != static_cast<int64_t>(k + arrays)) return {};
    ops.push_back(op);
  }
  return ops;
}

}  // namespace

Result<ReducerFoldMaker> ReducerFoldMaker::Make(const Computation& reducer, std::span<const Value> arrays,
                                                std::span<const Value> inits) {
  ReducerFoldMaker factory;
  factory.in_order_ = OrderOf(reducer) == CombinerOrder::kInOrder;
  const auto rounding = factory.in_order_ ? ScalarProgram::Rounding::kEach : ScalarProgram::Rounding::kWide;
  VXLA_ASSIGN_OR_RETURN(factory.program_, ScalarProgram::Compile(reducer, rounding));
  if (factory.program_.inputs().size() != 2 * arrays.size() || factory.program_.outputs().size() != arrays.size()) {
    return InvalidArgument("reducer {}: {} parameters and {} results for {} arrays", reducer.name(),
                           factory.program_.inputs().size(), factory.program_.outputs().size(), arrays.size());
  }
  factory.separate_ = SeparateOps(reducer, arrays.size());
  if (arrays.size() == 1 && factory.program_.single_op() != nullptr) factory.separate_ = {factory.program_.single_op()};
  for (const Value& array : arrays) factory.arrays_.push_back(&array.literal());
  for (const Value& init : inits) factory.inits_.push_back(&init.literal());
  return factory;
}

std::unique_ptr<ReducerFold> ReducerFoldMaker::New() const {
  std::vector<std::unique_ptr<ReducerFold>> folds;
  for (size_t k = 0; k < separate_.size() && !in_order_; ++k) {
    // The wide paths are for a reducer of the array's own type; one that converts on the way runs as written.
    const ElementType type = arrays_[k]->shape().element_type();
    if (separate_[k]->shape().element_type() != type || inits_[k]->shape().element_type() != type) break;
    auto fold = SimpleFoldFor(separate_[k]->opcode(), *arrays_[k], *inits_[k]);
    if (fold == nullptr) break;
    folds.push_back(std::move(fold));
  }
  if (folds.size() != arrays_.size()) return std::make_unique<ProgramFold>(program_, arrays_, inits_);
  if (folds.size() == 1) return std::move(folds[0]);
  return std::make_unique<SeparateFolds>(std::move(folds));
}

}  // namespace VXLA_NAMESPACE
