// Shape: an array of an element type, a tuple of shapes, a token or an opaque value; with a layout where the text gave
// one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/data/element_type.h"
#include "core/status.h"

#pragma GCC visibility push(default)
namespace VXLA_NAMESPACE {

inline constexpr int64_t kUnboundedSize = INT64_MIN;

// Values are logical everywhere in vxla: memory is row-major whatever the layout says. A layout matters for `bitcast`
// and for printing only.
struct Layout {
  std::vector<int64_t> minor_to_major;
  std::string annotations;  // what follows ':' (tiles, memory space, element size ...), canonical text, may be empty
  friend bool operator==(const Layout&, const Layout&) = default;
};

class Shape {
 public:
  Shape();  // the empty tuple
  // Any sizes: what holds or computes with a shape checks it first (CheckShape).
  explicit Shape(ElementType type, std::vector<int64_t> dimensions = {});
  Shape(const Shape&);
  Shape(Shape&&) noexcept;
  Shape& operator=(const Shape&);
  Shape& operator=(Shape&&) noexcept;
  ~Shape();
  // CHECKs that the tuple nests no deeper than kMaxTupleDepth (core/limits.h).
  static Shape Tuple(std::vector<Shape> elements);
  static Shape Token() { return Shape(ElementType::kToken); }

  ElementType element_type() const { return element_type_; }
  bool IsTuple() const { return element_type_ == ElementType::kTuple; }
  bool IsToken() const { return element_type_ == ElementType::kToken; }
  bool IsArray() const { return IsArrayElement(element_type_); }
  bool IsScalar() const { return IsArray() && dimensions_.empty(); }

  int rank() const { return static_cast<int>(dimensions_.size()); }
  std::span<const int64_t> dimensions() const { return dimensions_; }
  // Here and below a dimension i must be in 0 to rank() - 1: CHECKed.
  int64_t dimension(int64_t i) const { return dimensions_[Checked(i)]; }
  void set_dimension(int64_t i, int64_t size) { dimensions_[Checked(i)] = size; }
  // Behind the others; the second one as another shape's dimension i.
  void AddDimension(int64_t size, bool dynamic = false);
  void AddDimension(const Shape& of, int64_t i) { AddDimension(of.dimension(i), of.is_dynamic_dimension(i)); }
  void set_element_type(ElementType type) { element_type_ = type; }

  // Bounded dynamic dimensions: the size above is the bound. kUnboundedSize with the flag is `?`.
  bool is_dynamic_dimension(int64_t i) const { return dynamic_[Checked(i)]; }
  void set_dynamic_dimension(int64_t i, bool dynamic) { dynamic_[Checked(i)] = dynamic; }
  bool IsDynamic() const;  // also true if an element of a tuple is

  const std::vector<Shape>& tuple_elements() const { return tuple_elements_; }
  std::vector<Shape>& mutable_tuple_elements() { return tuple_elements_; }

  const std::optional<Layout>& layout() const { return layout_; }
  void set_layout(std::optional<Layout> layout) { layout_ = std::move(layout); }
  Shape WithoutLayout() const;
  // The stated layout's order or the default one, {rank-1, ..., 0}.
  std::vector<int64_t> MinorToMajor() const;

  // A buffer shape, b(f32[2]) in text: it names memory to be written in place. Only kept for printing.
  bool is_buffer() const { return is_buffer_; }
  void set_is_buffer(bool is_buffer) { is_buffer_ = is_buffer; }

  // Elements of an array (bounds count as sizes); 1 for a scalar. 0 for others. INT64_MAX where the product exceeds
  // that or a size is negative or unbounded.
  int64_t ElementCount() const;
  // ElementCount times StorageBytes; the sum over a tuple's leaves. INT64_MAX where that is exceeded.
  int64_t SizeBytes() const;

  // "f32[2,3]", "(f32[], s32[<=4])"; with layouts "f32[2,3]{1,0}" where one is stated.
  std::string ToString(bool with_layout = false) const;

  // Equality of types and sizes; layouts do not count.
  friend bool operator==(const Shape& a, const Shape& b);

 private:
  size_t Checked(int64_t i) const {
    if (i < 0 || i >= rank()) FailDimension(i);
    return static_cast<size_t>(i);
  }
  [[noreturn]] void FailDimension(int64_t i) const;

  ElementType element_type_;
  std::vector<int64_t> dimensions_;
  std::vector<bool> dynamic_;
  std::vector<Shape> tuple_elements_;
  std::optional<Layout> layout_;
  bool is_buffer_ = false;
};

// What a value may have as its shape: sizes from 0, products and bytes that fit, no more dimensions and tuple elements
// than core/limits.h allows. Every later computation on sizes relies on it.
Status CheckShape(const Shape& shape);
// Levels of tuples, 0 for an array; adds the arrays, tokens and tuples to `nodes`.
int TupleDepth(const Shape& shape, int64_t& nodes);

// Equal but for bounded dynamic flags; layouts do not count.
bool Compatible(const Shape& a, const Shape& b);
// Equal dimensions whatever the element types.
bool SameDimensions(const Shape& a, const Shape& b);
// Row-major strides in elements.
std::vector<int64_t> RowMajorStrides(std::span<const int64_t> dimensions);
// The product of dimensions that are known to fit.
int64_t ElementCountOf(std::span<const int64_t> dimensions);
// The product, or an error if it exceeds int64 or a dimension is negative.
Result<int64_t> CheckedElementCount(std::span<const int64_t> dimensions);
// The elements of a tuple, or the one shape.
std::vector<Shape> Parts(const Shape& shape);
// The leaves (arrays, tokens) depth first.
std::vector<const Shape*> FlattenTuple(const Shape& shape);
// "1,2,3"
std::string JoinInts(std::span<const int64_t> values, std::string_view separator = ",");

}  // namespace VXLA_NAMESPACE
#pragma GCC visibility pop
