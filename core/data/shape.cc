#include "core/data/shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/host/ranges.h"
#include "core/limits.h"

namespace VXLA_NAMESPACE {
namespace {

Status CheckArray(const Shape& shape) {
  if (shape.rank() > kMaxRank) {  // shape_c5
    return InvalidArgument("an array of {} dimensions, at most {} are possible", shape.rank(), kMaxRank);
  }
  std::vector<int64_t> sizes(shape.dimensions().begin(), shape.dimensions().end());
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == kUnboundedSize) {  // shape_c1
      return Unsupported("{} has an unbounded dimension, which cannot be compiled", shape.ToString());
    }
    // shape_c2
    if (sizes[i] < 0) return InvalidArgument("size {} of dimension {} is negative", sizes[i], i);
  }
  // Of an empty array the other sizes count too: strides are products of some of them.
  std::ranges::replace(sizes, 0, 1);
  const Result<int64_t> count = CheckedElementCount(sizes);
  if (!count.ok()) {  // shape_c3
    return InvalidArgument("the product of the sizes above 0 of {} exceeds the limit of 2^63-1", shape.ToString());
  }
  if (shape.IsArray() && *count > kMaxArrayBytes / StorageBytes(shape.element_type())) {  // shape_c4
    return InvalidArgument("{} takes more than {} bytes, the limit of an array", shape.ToString(), kMaxArrayBytes);
  }
  return OkStatus();
}

}  // namespace

int TupleDepth(const Shape& shape, int64_t& nodes) {
  ++nodes;
  int depth = 0;
  for (const Shape& element : shape.tuple_elements()) depth = std::max(depth, TupleDepth(element, nodes));
  return shape.IsTuple() ? depth + 1 : 0;
}

Status CheckShape(const Shape& shape) {
  if (!shape.IsTuple()) return CheckArray(shape);
  int64_t nodes = 0;
  const int depth = TupleDepth(shape, nodes);
  if (nodes > kMaxTupleNodes || depth > kMaxTupleDepth) {  // tuple_c1
    return InvalidArgument("a tuple of {} elements and {} levels, at most {} and {} are possible", nodes, depth,
                           kMaxTupleNodes, kMaxTupleDepth);
  }
  for (const Shape* leaf : FlattenTuple(shape)) VXLA_RETURN_IF_ERROR(CheckArray(*leaf));
  return OkStatus();
}

void Shape::FailDimension(int64_t i) const {
  VXLA_CHECK(false, fmt::format("dimension {} of the {} of {}", i, rank(), ToString()));
}

Shape::Shape() : Shape(ElementType::kTuple) {}
Shape::Shape(ElementType type, std::vector<int64_t> dimensions)
    : element_type_(type), dimensions_(std::move(dimensions)), dynamic_(dimensions_.size(), false) {}
Shape::Shape(const Shape&) = default;
Shape::Shape(Shape&&) noexcept = default;
Shape& Shape::operator=(const Shape&) = default;
Shape& Shape::operator=(Shape&&) noexcept = default;
Shape::~Shape() = default;

Shape Shape::Tuple(std::vector<Shape> elements) {
  int64_t nodes = 0;
  for (const Shape& element : elements) {
    // Copying and destroying recurse, so no shape may become deeper, wherever it is made.
    const int depth = TupleDepth(element, nodes);
    VXLA_CHECK(depth < kMaxTupleDepth,
               fmt::format("a tuple of {} levels, at most {} are possible", depth + 1, kMaxTupleDepth));
  }
  Shape shape;
  shape.tuple_elements_ = std::move(elements);
  return shape;
}

void Shape::AddDimension(int64_t size, bool dynamic) {
  dimensions_.push_back(size);
  dynamic_.push_back(dynamic);
}

Shape Shape::WithoutLayout() const {
  Shape shape = *this;
  shape.layout_.reset();
  return shape;
}

bool Shape::IsDynamic() const {
  return Contains(dynamic_, true) || std::ranges::any_of(tuple_elements_, [](const Shape& s) { return s.IsDynamic(); });
}

std::vector<int64_t> Shape::MinorToMajor() const {
  if (layout_) return layout_->minor_to_major;
  std::vector<int64_t> order(dimensions_.size());
  std::iota(order.rbegin(), order.rend(), 0);
  return order;
}

int64_t Shape::ElementCount() const {
  if (!IsArray()) return 0;
  int64_t count = 1;
  bool empty = false, exceeds = false;
  for (int64_t size : dimensions_) {
    if (size < 0) return INT64_MAX;
    empty = empty || size == 0;
    exceeds = __builtin_mul_overflow(count, size, &count) || exceeds;
  }
  return empty ? 0 : exceeds ? INT64_MAX : count;
}

int64_t Shape::SizeBytes() const {
  int64_t bytes = 0;
  if (__builtin_mul_overflow(ElementCount(), int64_t{StorageBytes(element_type_)}, &bytes)) return INT64_MAX;
  for (const Shape& element : tuple_elements_) {
    if (__builtin_add_overflow(bytes, element.SizeBytes(), &bytes)) return INT64_MAX;
  }
  return bytes;
}

std::string Shape::ToString(bool with_layout) const {
  if (is_buffer_) {
    Shape contents = *this;
    contents.is_buffer_ = false;
    return "b(" + contents.ToString(with_layout) + ")";
  }
  if (IsTuple()) {
    std::string text = "(";
    for (size_t i = 0; i < tuple_elements_.size(); ++i) {
      if (i > 0) text += ", ";
      text += tuple_elements_[i].ToString(with_layout);
    }
    return text + ")";
  }
  std::string text = std::string(ElementTypeName(element_type_)) + "[";
  for (int i = 0; i < rank(); ++i) {
    if (i > 0) text += ",";
    if (dimensions_[i] == kUnboundedSize) {
      text += "?";
    } else {
      if (dynamic_[i]) text += "<=";
      text += std::to_string(dimensions_[i]);
    }
  }
  text += "]";
  if (with_layout && layout_ && (rank() > 0 || !layout_->annotations.empty())) {
    text += "{" + JoinInts(layout_->minor_to_major);
    if (!layout_->annotations.empty()) text += ":" + layout_->annotations;
    text += "}";
  }
  return text;
}

bool operator==(const Shape& a, const Shape& b) {
  return a.element_type_ == b.element_type_ && a.dimensions_ == b.dimensions_ && a.dynamic_ == b.dynamic_ &&
         a.tuple_elements_ == b.tuple_elements_ && a.is_buffer_ == b.is_buffer_;
}

bool Compatible(const Shape& a, const Shape& b) {
  return a.element_type() == b.element_type() && SameDimensions(a, b) &&
         std::ranges::equal(a.tuple_elements(), b.tuple_elements(), Compatible);
}

bool SameDimensions(const Shape& a, const Shape& b) { return std::ranges::equal(a.dimensions(), b.dimensions()); }

std::vector<int64_t> RowMajorStrides(std::span<const int64_t> dimensions) {
  std::vector<int64_t> strides(dimensions.size(), 1);
  for (int i = static_cast<int>(dimensions.size()) - 2; i >= 0; --i) strides[i] = strides[i + 1] * dimensions[i + 1];
  return strides;
}

int64_t ElementCountOf(std::span<const int64_t> dimensions) {
  int64_t count = 1;
  for (const int64_t size : dimensions) count *= size;
  return count;
}

Result<int64_t> CheckedElementCount(std::span<const int64_t> dimensions) {
  const bool empty = Contains(dimensions, 0);
  int64_t count = 1;
  for (int64_t size : dimensions) {
    // count_c1
    if (size < 0) return InvalidArgument("dimension {} of [{}] is negative", size, JoinInts(dimensions));
    if (empty) continue;
    if (count > INT64_MAX / size) {  // count_c2
      return InvalidArgument("the element count of [{}] exceeds the limit of 2^63-1", JoinInts(dimensions));
    }
    count *= size;
  }
  return empty ? 0 : count;
}

std::vector<Shape> Parts(const Shape& shape) {
  return shape.IsTuple() ? shape.tuple_elements() : std::vector<Shape>{shape};
}

std::vector<const Shape*> FlattenTuple(const Shape& shape) {
  std::vector<const Shape*> leaves;
  auto visit = [&](auto&& self, const Shape& s) -> void {
    if (!s.IsTuple()) return leaves.push_back(&s);
    for (const Shape& element : s.tuple_elements()) self(self, element);
  };
  visit(visit, shape);
  return leaves;
}

std::string JoinInts(std::span<const int64_t> values, std::string_view separator) {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += separator;
    text += std::to_string(values[i]);
  }
  return text;
}

}  // namespace VXLA_NAMESPACE
