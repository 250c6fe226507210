#include "core/sizes/live_sizes.h"

#include <algorithm>

#include "core/host/ranges.h"

namespace VXLA_NAMESPACE {
namespace {

// Copies the elements within `sizes` from one row-major array to another, row by row.
void CopyCorner(std::span<const int64_t> sizes, int bytes, const std::byte* from, std::span<const int64_t> from_strides,
                std::byte* to, std::span<const int64_t> to_strides) {
  if (sizes.empty()) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
  } else if (sizes.size() == 1) {
    std::memcpy(to, from, static_cast<size_t>(sizes[0] * bytes));
  } else {
    for (int64_t i = 0; i < sizes[0]; ++i) {
      CopyCorner(sizes.subspan(1), bytes, from + i * from_strides[0] * bytes, from_strides.subspan(1),
                 to + i * to_strides[0] * bytes, to_strides.subspan(1));
    }
  }
}

void CopyCorner(std::span<const int64_t> sizes, const Literal& from, Literal& to) {
  if (Contains(sizes, 0)) return;
  CopyCorner(sizes, StorageBytes(from.shape().element_type()), from.bytes().data(),
             RowMajorStrides(from.shape().dimensions()), to.mutable_bytes().data(),
             RowMajorStrides(to.shape().dimensions()));
}

}  // namespace

std::vector<int64_t> LiveSizes(const Literal& literal) {
  return Transformed(Counted<int>(static_cast<size_t>(literal.shape().rank())),
                     [&](int i) { return literal.dynamic_size(i); });
}

Shape LiveShape(const Literal& literal) {
  if (!literal.shape().IsTuple()) return Shape(literal.shape().element_type(), LiveSizes(literal));
  return Shape::Tuple(Transformed(literal.tuple_elements(), LiveShape));
}

Literal CutTo(const Literal& literal, std::span<const int64_t> sizes) {
  Literal result = Literal::Uninitialized(Shape(literal.shape().element_type(), {sizes.begin(), sizes.end()}));
  CopyCorner(sizes, literal, result);
  return result;
}

Literal CutToLiveSizes(const Literal& literal) {
  if (!literal.shape().IsTuple()) return literal.is_dynamic() ? CutTo(literal, LiveSizes(literal)) : literal;
  return Literal::Tuple(Transformed(literal.tuple_elements(), CutToLiveSizes));
}

Literal PadToBounds(const Literal& dense, const Shape& bounded) {
  Literal result(bounded);
  CopyCorner(dense.shape().dimensions(), dense, result);
  for (int i = 0; i < bounded.rank(); ++i) {
    if (bounded.is_dynamic_dimension(i)) result.set_dynamic_size(i, dense.shape().dimension(i));
  }
  return result;
}

void PutCorner(const Literal& corner, Literal& whole) { CopyCorner(corner.shape().dimensions(), corner, whole); }

bool FitsWithin(const Shape& given, const Shape& wanted) {
  if (given.element_type() != wanted.element_type() || given.rank() != wanted.rank()) return false;
  for (int i = 0; i < wanted.rank(); ++i) {
    const bool smaller = wanted.is_dynamic_dimension(i) && given.dimension(i) < wanted.dimension(i);
    if (given.dimension(i) != wanted.dimension(i) && !smaller) return false;
  }
  const auto fits = [](const Shape& a, const Shape& b) { return FitsWithin(a, b); };
  return std::ranges::equal(given.tuple_elements(), wanted.tuple_elements(), fits);
}

bool FitsWithin(const Literal& given, const Shape& wanted) {
  if (given.shape().IsTuple() && wanted.IsTuple()) {
    const auto fits = [](const Literal& a, const Shape& b) { return FitsWithin(a, b); };
    return std::ranges::equal(given.tuple_elements(), wanted.tuple_elements(), fits);
  }
  if (!FitsWithin(given.shape(), wanted)) return false;
  for (int i = 0; i < wanted.rank(); ++i) {
    if (!wanted.is_dynamic_dimension(i) && given.dynamic_size(i) != wanted.dimension(i)) return false;
  }
  return true;
}

Literal ConformTo(const Literal& given, const Shape& wanted) {
  if (wanted.IsTuple()) {
    std::vector<Literal> elements;
    for (size_t i = 0; i < given.tuple_elements().size(); ++i) {
      elements.push_back(ConformTo(given.tuple_elements()[i], wanted.tuple_elements()[i]));
    }
    return Literal::Tuple(std::move(elements));
  }
  if (given.shape() == wanted) return given;
  if (SameDimensions(given.shape(), wanted)) return given.Reshaped(wanted);
  return PadToBounds(CutToLiveSizes(given), wanted);
}

std::vector<DimensionGroup> DimensionGroups(const Shape& from, const Shape& to) {
  std::vector<DimensionGroup> groups;
  if (from.ElementCount() == 0) return groups;
  int i = 0, j = 0;
  while (i < from.rank() || j < to.rank()) {
    DimensionGroup group{i, i, j, j};
    int64_t a = i < from.rank() ? from.dimension(i++) : 1, b = j < to.rank() ? to.dimension(j++) : 1;
    while (a != b) {
      if (a < b) {
        a *= from.dimension(i++);
      } else {
        b *= to.dimension(j++);
      }
    }
    group.from_end = i, group.to_end = j;
    groups.push_back(group);
  }
  return groups;
}

Shape WithReshapedFlags(Shape to, const Shape& from) {
  for (const DimensionGroup& group : DimensionGroups(from, to)) {
    bool dynamic = false;
    for (int d = group.from_begin; d < group.from_end; ++d) dynamic = dynamic || from.is_dynamic_dimension(d);
    int d = group.to_begin;
    while (d + 1 < group.to_end && to.dimension(d) == 1) ++d;
    if (dynamic && d < group.to_end) to.set_dynamic_dimension(d, true);
  }
  return to;
}

}  // namespace VXLA_NAMESPACE
