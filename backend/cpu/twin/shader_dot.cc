#include "backend/cpu/twin/shader_dot.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "backend/cpu/reference/arithmetic/parallel.h"
#include "backend/cpu/reference/ops/data_movement.h"
#include "backend/cpu/twin/shader_fold.h"
#include "backend/cpu/twin/shader_math.h"
#include "core/numerics/reducer_facts.h"

namespace VXLA_NAMESPACE {
namespace {

using glm::dvec2;
using glm::vec2;

// A product as kernels write it, before it is rounded into the sum.
template <typename T>
T Product(T a, T b) {
  return a * b;
}
template <>
vec2 Product(vec2 a, vec2 b) {
  return shader_math::multiply_c64(a, b);
}
template <>
dvec2 Product(dvec2 a, dvec2 b) {
  return shader_math::multiply_c128(a, b);
}
struct Truth {
  bool value;
};
// A sum in two floats (--accumulation wide).
struct WideFloat {
  vec2 value;
};
template <>
Truth Product(Truth a, Truth b) {
  return {a.value && b.value};
}
Truth operator+(Truth a, Truth b) { return {a.value || b.value}; }
// Signed overflow wraps.
template <>
int32_t Product(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b));
}
template <>
int64_t Product(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
template <>
WideFloat Product(WideFloat a, WideFloat b) {
  return {shader_math::multiply_wide_f32(a.value, b.value)};
}
template <typename T>
T Add(T a, T b) {
  return a + b;
}
template <>
WideFloat Add(WideFloat a, WideFloat b) {
  return {shader_math::add_wide_f32(a.value, b.value)};
}
template <>
int32_t Add(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}
template <>
int64_t Add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

// sum + a * b, rounded as the kernel does it.
template <typename T>
T MultiplyAdd(T sum, T a, T b, bool fused) {
  if constexpr (std::is_same_v<T, float>) {
    if (fused) return std::fma(a, b, sum);
  }
  return Add(sum, Product(a, b));
}

struct Sizes {
  int64_t batches = 1, rows = 1, columns = 1, k = 1;
};

// [batch, row, k] and [batch, k, column] in the carriers of the sum.
struct Operands {
  Sizes sizes;
  ElementType type;
  bool wide = false;  // the type is c64, in which two floats travel
  std::vector<std::byte> lhs, rhs;
};

Result<std::vector<std::byte>> Canonical(const Literal& literal, std::span<const int64_t> permutation, ElementType type,
                                         int threads) {
  return ShaderCarriersOf(TransposeLiteral(literal, permutation, threads), type);
}

Result<Operands> ReadOperands(const Instruction& dot, const Literal& lhs, const Literal& rhs, int threads) {
  const auto& attributes = dot.attributes<DotAttributes>();
  Operands operands;
  operands.type = DotSumType(lhs.shape().element_type(), rhs.shape().element_type(), dot.shape().element_type());
  operands.wide = dot.notes().wide_sum;
  if (operands.wide) operands.type = ElementType::kC64;
  auto free = [](const Shape& shape, const IntList& batch, const IntList& contracting) {
    std::vector<int64_t> dimensions;
    for (int64_t d = 0; d < shape.rank(); ++d) {
      const bool taken =
          std::ranges::find(batch, d) != batch.end() || std::ranges::find(contracting, d) != contracting.end();
      if (!taken) dimensions.push_back(d);
    }
    return dimensions;
  };
  auto count = [](const Shape& shape, const auto& dimensions) {
    int64_t product = 1;
    for (int64_t d : dimensions) product *= shape.dimension(static_cast<int>(d));
    return product;
  };
  const auto lhs_free = free(lhs.shape(), attributes.lhs_batch_dims, attributes.lhs_contracting_dims);
  const auto rhs_free = free(rhs.shape(), attributes.rhs_batch_dims, attributes.rhs_contracting_dims);
  operands.sizes = {count(lhs.shape(), attributes.lhs_batch_dims), count(lhs.shape(), lhs_free),
                    count(rhs.shape(), rhs_free), count(lhs.shape(), attributes.lhs_contracting_dims)};
  std::vector<int64_t> left(attributes.lhs_batch_dims.begin(), attributes.lhs_batch_dims.end()),
      right(attributes.rhs_batch_dims.begin(), attributes.rhs_batch_dims.end());
  left.insert(left.end(), lhs_free.begin(), lhs_free.end());
  left.insert(left.end(), attributes.lhs_contracting_dims.begin(), attributes.lhs_contracting_dims.end());
  right.insert(right.end(), attributes.rhs_contracting_dims.begin(), attributes.rhs_contracting_dims.end());
  right.insert(right.end(), rhs_free.begin(), rhs_free.end());
  VXLA_ASSIGN_OR_RETURN(operands.lhs, Canonical(lhs, left, operands.type, threads));
  VXLA_ASSIGN_OR_RETURN(operands.rhs, Canonical(rhs, right, operands.type, threads));
  return operands;
}

// One chain along k for each share of each result: sums of `block` values go into totals.
template <typename T>
void SumChains(const Operands& operands, const AccumulationLevel& level, std::byte* out, int threads) {
  // No structured binding: clang before 16 cannot capture one.
  const int64_t batches = operands.sizes.batches, rows = operands.sizes.rows, columns = operands.sizes.columns,
                k = operands.sizes.k;
  const bool fused = level.fused;
  const T* lhs = reinterpret_cast<const T*>(operands.lhs.data());
  const T* rhs = reinterpret_cast<const T*>(operands.rhs.data());
  T* results = reinterpret_cast<T*>(out);
  const int64_t grain = std::max<int64_t>(1, (1 << 18) / std::max<int64_t>(1, columns * k));
  ParallelFor(batches * rows, grain, threads, [&](int64_t begin, int64_t end) {
    std::vector<T> sums(static_cast<size_t>(columns)), totals(static_cast<size_t>(columns));
    for (int64_t row = begin; row < end; ++row) {
      const T* a = lhs + row * k;
      const T* b = rhs + row / rows * k * columns;
      for (int64_t share = 0; share < level.shares; ++share) {
        const int64_t first = share * level.chunk, last = std::min(k, first + level.chunk);
        std::ranges::fill(sums, T{});
        std::ranges::fill(totals, T{});
        for (int64_t at = first; at < last; ++at) {
          for (int64_t c = 0; c < columns; ++c) sums[c] = MultiplyAdd(sums[c], a[at], b[at * columns + c], fused);
          if (level.block == 0 || ((at - first + 1) % level.block != 0 && at + 1 != last)) continue;
          for (int64_t c = 0; c < columns; ++c) totals[c] = Add(totals[c], sums[c]);
          std::ranges::fill(sums, T{});
        }
        const std::vector<T>& whole = level.block == 0 ? sums : totals;
        for (int64_t c = 0; c < columns; ++c) results[(row * columns + c) * level.shares + share] = whole[c];
      }
    }
  });
}

template <typename F>
void VisitCarrier(const Operands& operands, F&& f) {
  if (operands.wide) return f(WideFloat{});
  switch (ShaderCarrierOf(operands.type)) {
    case ShaderCarrier::kPred:
      return f(Truth{});
    case ShaderCarrier::kI32:
      return f(int32_t{});
    case ShaderCarrier::kU32:
      return f(uint32_t{});
    case ShaderCarrier::kI64:
      return f(int64_t{});
    case ShaderCarrier::kU64:
      return f(uint64_t{});
    case ShaderCarrier::kF32:
      return f(float{});
    case ShaderCarrier::kF64:
      return f(double{});
    case ShaderCarrier::kC64:
      return f(vec2(0.0f));
    case ShaderCarrier::kC128:
      return f(dvec2(0.0));
  }
}

// Elements are products; their sum is a row program's.
ShaderLoader ProductLoader(const Operands& operands) {
  return [&operands](const int64_t* row, const int64_t* element, int64_t n, void* const* values) {
    const Sizes& sizes = operands.sizes;
    VisitCarrier(operands, [&](auto zero) {
      using T = decltype(zero);
      const T* lhs = reinterpret_cast<const T*>(operands.lhs.data());
      const T* rhs = reinterpret_cast<const T*>(operands.rhs.data());
      for (int64_t i = 0; i < n; ++i) {
        const int64_t line = row[i] / sizes.columns, column = row[i] % sizes.columns;
        const int64_t right = (line / sizes.rows * sizes.k + element[i]) * sizes.columns + column;
        static_cast<T*>(values[0])[i] = Product(lhs[line * sizes.k + element[i]], rhs[right]);
      }
    });
  };
}

bool IsChain(const AccumulationLevel& level) { return level.width == 1 && level.lanes == 1 && level.interleaved == 1; }

}  // namespace

Result<Literal> DotAsShaders(const Instruction& dot, const Literal& lhs, const Literal& rhs,
                             const AccumulationOrder& order, int threads) {
  VXLA_ASSIGN_OR_RETURN(const Operands operands, ReadOperands(dot, lhs, rhs, threads));
  const Sizes& sizes = operands.sizes;
  const int64_t results = sizes.batches * sizes.rows * sizes.columns;
  VXLA_ASSIGN_OR_RETURN(const ShaderReducer sum, ShaderReducer::Sum(operands.type, operands.wide));
  ShaderSums sums;
  if (!IsChain(order[0])) {
    sums = FoldRows(results, sizes.k, order, sum, ProductLoader(operands), threads);
  } else {
    const size_t bytes = static_cast<size_t>(ShaderCarrierBytes(ShaderCarrierOf(operands.type)));
    std::vector<std::byte> shares(static_cast<size_t>(results * order[0].shares) * bytes);
    VisitCarrier(operands, [&](auto zero) { SumChains<decltype(zero)>(operands, order[0], shares.data(), threads); });
    sums.values = {std::move(shares)};
    sums = FoldShares(results, order[0].shares, std::move(sums), std::span(order).subspan(1), sum, threads);
  }
  VXLA_ASSIGN_OR_RETURN(const std::vector<ShaderCall> calls,
                        ShaderConversion(operands.type, dot.shape().element_type()));
  Literal literal = Literal::Uninitialized(dot.shape());
  const ElementType type = dot.shape().element_type();
  const size_t bytes = static_cast<size_t>(ShaderCarrierBytes(ShaderCarrierOf(operands.type)));
  ShaderBlock block;
  ShaderScratch scratch;
  for (int64_t at = 0; at < results; at += kShaderBlock) {
    const int64_t n = std::min(kShaderBlock, results - at);
    const void* in[] = {sums.values[0].data() + static_cast<size_t>(at) * bytes};
    if (!calls.empty()) RunShaderCalls(calls, in, block.bytes, n, scratch);
    StoreShaderCarriers(type, calls.empty() ? in[0] : block.bytes, n,
                        literal.mutable_bytes().data() + at * StorageBytes(type));
  }
  return literal;
}

}  // namespace VXLA_NAMESPACE
