// Dot with any batch and contracting dimensions: both operands are brought to [batch, free, contracting] and multiplied
// in panels.
#include <algorithm>
#include <cmath>

#include "backend/cpu/reference/arithmetic/gemm.h"
#include "backend/cpu/reference/ops/data_movement.h"
#include "core/ceil_divide.h"
#include "core/data/float_formats.h"
#include "core/numerics/dot_algorithm.h"

namespace VXLA_NAMESPACE {
namespace {

struct Side {
  Literal transposed;  // [batch..., free..., contracting...]; empty if the operand is in that order already
  const Literal* literal = nullptr;
  int64_t batch = 1, rows = 1, k = 1;
};

Side Prepare(const Value& operand, const IntList& batch_dims, const IntList& contracting_dims, int threads) {
  const Shape& shape = operand.shape();
  Side side;
  std::vector<int64_t> order(batch_dims);
  for (int64_t d : batch_dims) side.batch *= shape.dimension(static_cast<int>(d));
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (std::ranges::find(batch_dims, d) != batch_dims.end()) continue;
    if (std::ranges::find(contracting_dims, d) != contracting_dims.end()) continue;
    order.push_back(d);
    side.rows *= shape.dimension(static_cast<int>(d));
  }
  order.insert(order.end(), contracting_dims.begin(), contracting_dims.end());
  for (int64_t d : contracting_dims) side.k *= shape.dimension(static_cast<int>(d));
  if (std::ranges::is_sorted(order)) {
    side.literal = &operand.literal();
  } else {
    side.transposed = TransposeLiteral(operand.literal(), order, threads);
  }
  return side;
}

// All rows of all batches as panels; rows beyond the last are zeros.
template <typename T>
std::vector<T> Pack(const EvalContext& context, const Side& side) {
  const Literal& literal = side.literal ? *side.literal : side.transposed;
  const int64_t panels = PanelCount(side.rows), k = side.k;
  std::vector<T> packed(static_cast<size_t>(side.batch * panels * kPanel * k));
  const int64_t grain = std::max<int64_t>(1, (1 << 14) / (kPanel * std::max<int64_t>(k, 1)));
  context.For(side.batch * panels, grain, [&](int64_t begin, int64_t end) {
    std::vector<T> row(static_cast<size_t>(k));
    for (int64_t p = begin; p < end; ++p) {
      const int64_t batch = p / panels, first = p % panels * kPanel;
      for (int64_t lane = 0; lane < std::min(kPanel, side.rows - first); ++lane) {
        const int64_t at = (batch * side.rows + first + lane) * k;
        LoadPacked<T>(literal, at, k, row.data());
        PackRow(row.data(), k, lane, packed.data() + p * kPanel * k);
      }
    }
  });
  return packed;
}

template <typename T>
void Multiply(const EvalContext& context, const Side& lhs, const Side& rhs, Literal& result) {
  const std::vector<T> a = Pack<T>(context, lhs), b = Pack<T>(context, rhs);
  const int64_t k = lhs.k, rows = lhs.rows, columns = rhs.rows;
  constexpr int64_t kColumnsPerTask = 512;
  const int64_t block = RowsPerBlock<T>(k);
  const int64_t row_blocks = CeilDivide(rows, block), column_blocks = CeilDivide(columns, kColumnsPerTask);
  context.For(lhs.batch * row_blocks * column_blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t batch = task / (row_blocks * column_blocks);
      const int64_t row = task / column_blocks % row_blocks * block;
      const int64_t column = task % column_blocks * kColumnsPerTask;
      const T* a_at = a.data() + (batch * PanelCount(rows) * kPanel + row) * k;
      const T* b_at = b.data() + (batch * PanelCount(columns) * kPanel + column) * k;
      MultiplyBlock(a_at, std::min(block, rows - row), b_at, std::min(kColumnsPerTask, columns - column), k, result,
                    (batch * rows + row) * columns + column, columns);
    }
  });
}

// Of doubles that hold an f32 (or what a type holds): to nearest even.
void RoundTo(const DotAlgorithm& algorithm, std::span<double> values) {
  if (!algorithm.is_tf32()) return RoundElements(algorithm.operand, values.data(), static_cast<int64_t>(values.size()));
  RoundElements(ElementType::kF32, values.data(), static_cast<int64_t>(values.size()));
  for (double& value : values) {
    if (!std::isfinite(value) || value == 0) continue;
    // The last place: of f32's smallest normal number where the number is below it.
    const double place = std::ldexp(1.0, std::max(std::ilogb(value), -126) - kTf32MantissaBits);
    value = std::nearbyint(value / place) * place;
    if (std::abs(value) > MaxFinite(ElementType::kF32)) value = std::copysign(HUGE_VAL, value);
  }
}

// Elements as doubles; integers as the f32 or f64 that the algorithm begins with.
void LoadNumbers(const DotAlgorithm& algorithm, const Literal& operand, int64_t at, std::span<double> numbers) {
  const ElementType type = operand.shape().element_type();
  const auto n = static_cast<int64_t>(numbers.size());
  if (!IsInteger(type)) return LoadAs<double>(operand, at, n, numbers.data());
  const auto load = [&]<typename T>(T) {
    std::vector<T> integers(numbers.size());
    LoadAs<T>(operand, at, n, integers.data());
    const bool f64 = algorithm.operand == ElementType::kF64;
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = f64 ? static_cast<double>(integers[i]) : static_cast<double>(static_cast<float>(integers[i]));
  };
  IsSigned(type) ? load(int64_t{}) : load(uint64_t{});
}

// Towards zero; what lies beyond the type's range becomes its end.
void StoreIntegers(std::span<const double> numbers, Literal& result) {
  const ElementType type = result.shape().element_type();
  for (size_t i = 0; i < numbers.size(); ++i) {
    const double x = numbers[i];
    if (std::isnan(x)) {
      result.SetInt(static_cast<int64_t>(i), 0);
    } else if (IsSigned(type)) {
      const double low = static_cast<double>(MinSigned(type)), high = static_cast<double>(MaxSigned(type));
      result.SetInt(static_cast<int64_t>(i), x <= low    ? MinSigned(type)
                                             : x >= high ? MaxSigned(type)
                                                         : static_cast<int64_t>(x));
    } else {
      const uint64_t high = MaxUnsigned(type);
      const uint64_t value = x <= 0 ? 0 : x >= static_cast<double>(high) ? high : static_cast<uint64_t>(x);
      result.SetInt(static_cast<int64_t>(i), static_cast<int64_t>(value));
    }
  }
}

// The parts of an operand, as f64.
std::vector<Value> PartsOf(const EvalContext& context, const Literal& operand, const DotAlgorithm& algorithm) {
  const Shape shape(ElementType::kF64, {operand.shape().dimensions().begin(), operand.shape().dimensions().end()});
  std::vector<Literal> parts;
  for (int p = 0; p < algorithm.parts(); ++p) parts.push_back(Literal::Uninitialized(shape));
  const bool splits = algorithm.parts() > 1;
  context.For(shape.ElementCount(), kBlockSize, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; at += kBlockSize) {
      const auto n = static_cast<size_t>(std::min<int64_t>(kBlockSize, end - at));
      std::vector<double> rest(n), part(n);
      LoadNumbers(algorithm, operand, at, rest);
      if (splits) RoundElements(ElementType::kF32, rest.data(), static_cast<int64_t>(n));
      for (size_t p = 0; p < parts.size(); ++p) {
        part = rest;
        if (!algorithm.takes_f8()) RoundTo(algorithm, part);
        for (size_t i = 0; i < n; ++i) {
          if (splits && std::isinf(part[i]) && std::isfinite(rest[i]))
            part[i] = std::copysign(LargestOf(algorithm), rest[i]);
          rest[i] -= part[i];
        }
        StoreBlock(part.data(), static_cast<int64_t>(n), parts[p], at);
      }
    }
  });
  return {std::make_move_iterator(parts.begin()), std::make_move_iterator(parts.end())};
}

// Sums of products of these operands in `result`, whose type rounds them.
Status Multiply(const EvalContext& context, const Value& left, const Value& right, const DotAttributes& a,
                Accumulator accumulator, Literal& result) {
  const Side lhs = Prepare(left, a.lhs_batch_dims, a.lhs_contracting_dims, context.options().threads);
  const Side rhs = Prepare(right, a.rhs_batch_dims, a.rhs_contracting_dims, context.options().threads);
  if (lhs.k != rhs.k || lhs.batch != rhs.batch) {
    return InvalidArgument("dot: {} and {} contract {} and {} elements in {} and {} batches", left.shape().ToString(),
                           right.shape().ToString(), lhs.k, rhs.k, lhs.batch, rhs.batch);
  }
  VisitAccumulator(accumulator, [&]<typename T>(T) { Multiply<T>(context, lhs, rhs, result); });
  return OkStatus();
}

// As core/numerics/dot_algorithm.h says; the sums themselves are as accurate as any dot's here.
EvalResult MultiplyBy(const DotAlgorithm& algorithm, const EvalContext& context, const Instruction& instruction,
                      std::span<Value> operands) {
  const auto& a = instruction.attributes<DotAttributes>();
  const std::vector<Value> lhs = PartsOf(context, operands[0].literal(), algorithm);
  const std::vector<Value> rhs = PartsOf(context, operands[1].literal(), algorithm);
  const Shape& shape = instruction.shape();
  const Shape sums(ElementType::kF64, {shape.dimensions().begin(), shape.dimensions().end()});
  const Accumulator accumulator = algorithm.operand == ElementType::kF64 && !context.options().plain_f64_products
                                      ? Accumulator::kCompensated
                                      : Accumulator::kDouble;
  std::vector<double> rest(static_cast<size_t>(sums.ElementCount()), 0.0), sum(rest.size());
  auto load = [&](const Literal& product, std::vector<double>& into) {
    LoadAs<double>(product, 0, static_cast<int64_t>(into.size()), into.data());
  };
  Literal product = Literal::Uninitialized(sums);
  for (int i = 0; i < algorithm.parts(); ++i) {
    for (int j = i == 0 ? 1 : 0; j < algorithm.parts(); ++j) {
      if (!algorithm.Multiplies(i, j)) continue;
      VXLA_RETURN_IF_ERROR(
          Multiply(context, lhs[static_cast<size_t>(i)], rhs[static_cast<size_t>(j)], a, accumulator, product));
      load(product, sum);
      for (size_t e = 0; e < rest.size(); ++e) rest[e] += sum[e];
    }
  }
  VXLA_RETURN_IF_ERROR(Multiply(context, lhs[0], rhs[0], a, accumulator, product));
  load(product, sum);
  for (size_t e = 0; e < rest.size(); ++e) sum[e] += std::isnan(rest[e]) ? 0.0 : rest[e];
  const auto count = static_cast<int64_t>(sum.size());
  const bool floating = IsFloating(shape.element_type());
  if (!floating || BitWidth(shape.element_type()) >= BitWidth(algorithm.sum))
    RoundElements(algorithm.sum, sum.data(), count);
  Literal result = Literal::Uninitialized(shape);
  if (floating) {
    StoreBlock(sum.data(), count, result, 0);
  } else {
    StoreIntegers(sum, result);
  }
  return result;
}

}  // namespace

EvalResult EvalDot(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  const auto& a = instruction.attributes<DotAttributes>();
  if (const DotAlgorithm* algorithm = FindDotAlgorithm(a.algorithm))
    return MultiplyBy(*algorithm, context, instruction, operands);
  Literal result = Literal::Uninitialized(instruction.shape());
  const Accumulator accumulator =
      AccumulatorFor(operands[0].shape().element_type(), operands[1].shape().element_type(),
                     instruction.shape().element_type(), context.options().plain_f64_products);
  VXLA_RETURN_IF_ERROR(Multiply(context, operands[0], operands[1], a, accumulator, result));
  return result;
}

}  // namespace VXLA_NAMESPACE
