#include "scheduler/runtime/memory/host_array.h"

#include <cstring>
#include <vector>

#include "core/data/element_type.h"

namespace VXLA_NAMESPACE {
namespace {

// A loop over positions; the innermost one copies pieces that lie together in both arrays.
struct CopyLoop {
  int64_t count = 1, from = 0, to = 0;
};

std::vector<int64_t> DenseStrides(const Shape& shape) {
  std::vector<int64_t> strides = RowMajorStrides(shape.dimensions());
  for (int64_t& stride : strides) stride *= StorageBytes(shape.element_type());
  return strides;
}

void CopyPieces(std::span<const CopyLoop> loops, size_t piece_bytes, const std::byte* from, std::byte* to) {
  if (loops.empty()) {
    std::memcpy(to, from, piece_bytes);
    return;
  }
  const auto& [count, from_stride, to_stride] = loops.front();
  for (int64_t i = 0; i < count; ++i)
    CopyPieces(loops.subspan(1), piece_bytes, from + i * from_stride, to + i * to_stride);
}

}  // namespace

Status CheckStrides(const Shape& shape, ByteStrides strides) {
  if (strides.empty() || static_cast<int64_t>(strides.size()) == shape.rank()) return OkStatus();
  return InvalidArgument("{} strides given for a {}", strides.size(), shape.ToString());
}

bool IsDense(const Shape& shape, ByteStrides strides) {
  if (strides.empty() || shape.ElementCount() < 2) return true;
  const std::vector<int64_t> dense = DenseStrides(shape);
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape.dimension(d) != 1 && strides[d] != dense[d]) return false;
  }
  return true;
}

void CopyElements(const Shape& shape, const std::byte* from, ByteStrides from_strides, std::byte* to,
                  ByteStrides to_strides) {
  if (shape.ElementCount() == 0) return;
  const std::vector<int64_t> dense = DenseStrides(shape);
  if (from_strides.empty()) from_strides = dense;
  if (to_strides.empty()) to_strides = dense;
  std::vector<CopyLoop> loops;
  for (int d = 0; d < shape.rank(); ++d) {
    const auto k = static_cast<size_t>(d);
    if (shape.dimension(d) != 1) loops.push_back({shape.dimension(d), from_strides[k], to_strides[k]});
  }
  int64_t piece_bytes = StorageBytes(shape.element_type());
  while (!loops.empty() && loops.back().from == piece_bytes && loops.back().to == piece_bytes) {
    piece_bytes *= loops.back().count;
    loops.pop_back();
  }
  CopyPieces(loops, static_cast<size_t>(piece_bytes), from, to);
}

}  // namespace VXLA_NAMESPACE
