#include "backend/cpu/reference/arithmetic/strided_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "backend/cpu/reference/arithmetic/parallel.h"

namespace VXLA_NAMESPACE {
namespace {

// The first and the last element that the strides reach from `base` are the literal's.
void CheckReach(const StridedCopySpec& spec, std::span<const int64_t> strides, int64_t base, const Literal& literal) {
  const std::vector<int64_t>& sizes = spec.dimensions;
  const auto count = static_cast<int64_t>(literal.bytes().size()) / spec.element_bytes;
  __int128 least = base, most = base;
  for (size_t i = 0; i < sizes.size(); ++i) {
    (strides[i] < 0 ? least : most) += static_cast<__int128>(sizes[i] - 1) * strides[i];
  }
  VXLA_CHECK(least >= 0 && most < count, fmt::format("elements {} to {} of the {} of {}", static_cast<int64_t>(least),
                                                     static_cast<int64_t>(most), count, literal.shape().ToString()));
}

struct Axis {
  int64_t size, source, target;
};

// Drops axes of size 1, merges neighbours that are contiguous on both sides. The target's order is kept, so the last
// axis has the smallest target stride for row-major targets.
std::vector<Axis> Canonical(const StridedCopySpec& spec) {
  std::vector<Axis> axes;
  for (size_t i = 0; i < spec.dimensions.size(); ++i) {
    const Axis axis{spec.dimensions[i], spec.source_strides[i], spec.target_strides[i]};
    if (axis.size == 1) continue;
    if (!axes.empty() && axes.back().source == axis.source * axis.size &&
        axes.back().target == axis.target * axis.size) {
      axes.back() = {axes.back().size * axis.size, axis.source, axis.target};
    } else {
      axes.push_back(axis);
    }
  }
  return axes;
}

template <typename T>
void CopyLine(const T* source, T* target, const Axis& axis) {
  if (axis.source == 1 && axis.target == 1) {
    std::memcpy(target, source, static_cast<size_t>(axis.size) * sizeof(T));
  } else if (axis.source == 0 && axis.target == 1) {
    std::fill_n(target, axis.size, *source);
  } else {
    for (int64_t i = 0; i < axis.size; ++i) target[i * axis.target] = source[i * axis.source];
  }
}

// Two axes of which the source is contiguous along the outer and the target along the inner: in tiles, so that both
// sides use whole cache lines.
template <typename T>
void CopyTiled(const T* source, T* target, const Axis& outer, const Axis& inner) {
  constexpr int64_t kTile = 32;
  for (int64_t i0 = 0; i0 < outer.size; i0 += kTile) {
    const int64_t i1 = std::min(outer.size, i0 + kTile);
    for (int64_t j0 = 0; j0 < inner.size; j0 += kTile) {
      const int64_t j1 = std::min(inner.size, j0 + kTile);
      for (int64_t i = i0; i < i1; ++i) {
        for (int64_t j = j0; j < j1; ++j) {
          target[i * outer.target + j * inner.target] = source[i * outer.source + j * inner.source];
        }
      }
    }
  }
}

// Places [begin, end) of the axes outside the last one (or the last two, if those are tiled).
template <typename T>
void CopyOuter(const std::vector<Axis>& order, bool tiled, const T* source, T* target, int64_t begin, int64_t end) {
  const size_t outer_axes = order.size() - (tiled ? 2 : 1);
  std::vector<int64_t> index(outer_axes);
  int64_t from = 0, to = 0, rest = begin;
  for (size_t i = outer_axes; i-- > 0;) {
    index[i] = rest % order[i].size;
    rest /= order[i].size;
    from += index[i] * order[i].source;
    to += index[i] * order[i].target;
  }
  for (int64_t n = begin; n < end; ++n) {
    if (tiled) {
      CopyTiled(source + from, target + to, order[order.size() - 2], order.back());
    } else {
      CopyLine(source + from, target + to, order.back());
    }
    for (size_t i = outer_axes; i-- > 0;) {
      from += order[i].source;
      to += order[i].target;
      if (++index[i] < order[i].size) break;
      from -= order[i].size * order[i].source;
      to -= order[i].size * order[i].target;
      index[i] = 0;
    }
  }
}

template <typename T>
void CopyAll(const std::vector<Axis>& axes, const T* source, T* target, int threads) {
  if (axes.empty()) {
    *target = *source;
    return;
  }
  // The axis along which the source is contiguous moves next to the last one, for tiling.
  std::vector<Axis> order = axes;
  bool tiled = false;
  if (order.back().source != 1 && order.back().source != 0) {
    auto contiguous = std::ranges::find(order, 1, &Axis::source);
    if (contiguous != order.end()) {
      std::rotate(contiguous, contiguous + 1, order.end() - 1);
      tiled = true;
    }
  }
  const size_t outer_axes = order.size() - (tiled ? 2 : 1);
  int64_t outer_count = 1, inner_count = 1;
  for (size_t i = 0; i < order.size(); ++i) (i < outer_axes ? outer_count : inner_count) *= order[i].size;
  if (tiled && outer_count == 1 && order[0].size >= 64) {
    // A plain matrix transpose: split its rows among the threads.
    ParallelFor(order[0].size, 32, threads, [&](int64_t begin, int64_t end) {
      const Axis rows{end - begin, order[0].source, order[0].target};
      CopyTiled(source + begin * rows.source, target + begin * rows.target, rows, order[1]);
    });
    return;
  }
  if (!tiled && outer_count == 1) {
    const Axis line = order.back();
    ParallelFor(line.size, 1 << 18, threads, [&](int64_t begin, int64_t end) {
      CopyLine(source + begin * line.source, target + begin * line.target, {end - begin, line.source, line.target});
    });
    return;
  }
  const int64_t grain = std::max<int64_t>(1, (1 << 16) / std::max<int64_t>(1, inner_count));
  ParallelFor(outer_count, grain, threads,
              [&](int64_t begin, int64_t end) { CopyOuter(order, tiled, source, target, begin, end); });
}

}  // namespace

void StridedCopy(const StridedCopySpec& spec, const Literal& source, int64_t from, Literal& target, int64_t to,
                 int threads) {
  if (std::ranges::find(spec.dimensions, 0) != spec.dimensions.end()) return;
  CheckReach(spec, spec.source_strides, from, source);
  CheckReach(spec, spec.target_strides, to, target);
  const std::vector<Axis> axes = Canonical(spec);
  auto copy = [&]<typename T>(T) {
    CopyAll<T>(axes, reinterpret_cast<const T*>(source.bytes().data()) + from,
               reinterpret_cast<T*>(target.mutable_bytes().data()) + to, threads);
  };
  switch (spec.element_bytes) {
    case 1:
      return copy(uint8_t{});
    case 2:
      return copy(uint16_t{});
    case 4:
      return copy(uint32_t{});
    case 8:
      return copy(uint64_t{});
    default:
      return copy(std::array<uint64_t, 2>{});
  }
}

}  // namespace VXLA_NAMESPACE
