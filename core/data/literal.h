// Literal: a value on the host. Arrays are dense and row-major whatever the shape's layout says; tuples own their
// elements.
#pragma once

#include <complex>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "core/data/shape.h"
#include "core/host/host_bytes.h"

#pragma GCC visibility push(default)
namespace VXLA_NAMESPACE {

// What a caller can get wrong is CHECKed, with a message that holds both numbers: shapes that CheckShape refuses,
// counts that differ, positions and tuple elements that are not there, accessors of another type. Make asks first and
// gives a Result.
class Literal {
 public:
  Literal();                             // the empty tuple
  explicit Literal(const Shape& shape);  // all zero bits; dynamic dimensions at their bounds
  Literal(const Literal&);
  Literal(Literal&&) noexcept;
  Literal& operator=(const Literal&);
  Literal& operator=(Literal&&) noexcept;
  ~Literal();
  // As the constructor, with an error where the shape cannot be a value's or memory does not suffice.
  static Result<Literal> Make(const Shape& shape);
  // An array of a type whose storage T is, from as many values as it has elements.
  template <typename T>
  static Result<Literal> Make(const Shape& shape, std::span<const T> values);
  // The bits are unspecified: only for whoever writes every element before anybody reads one.
  static Literal Uninitialized(const Shape& shape);
  static Literal Tuple(std::vector<Literal> elements);
  // A scalar or an array filled with one value, converted to the element type as ConvertElementType does.
  static Literal Scalar(ElementType type, double value);
  static Literal ScalarInt(ElementType type, int64_t value);
  // An array of a type whose storage T is: FromVector<float>(Shape(kF32, {2}), {1, 2}).
  template <typename T>
  static Literal FromVector(const Shape& shape, std::span<const T> values) {
    CheckCount(shape, sizeof(T), values.size());
    Literal literal = Uninitialized(shape);
    if (!values.empty()) std::memcpy(literal.bytes_.data(), values.data(), literal.bytes_.size());
    return literal;
  }

  const Shape& shape() const { return shape_; }
  int64_t element_count() const { return shape_.ElementCount(); }

  std::span<const std::byte> bytes() const { return bytes_; }
  std::span<std::byte> mutable_bytes() { return bytes_; }
  // Typed views; CHECK that T has the storage size. bool is not a storage type: use uint8_t.
  template <typename T>
  std::span<const T> data() const {
    CheckStorage(shape_, sizeof(T));
    return {reinterpret_cast<const T*>(bytes_.data()), bytes_.size() / sizeof(T)};
  }
  template <typename T>
  std::span<T> mutable_data() {
    CheckStorage(shape_, sizeof(T));
    return {reinterpret_cast<T*>(bytes_.data()), bytes_.size() / sizeof(T)};
  }

  // One element by its row-major position, through its carrier. Setting wraps integers and rounds floats.
  // GetInt works for integers and pred (u64 as its bits), GetDouble for real floats, GetComplex for both kinds of
  // floats.
  int64_t GetInt(int64_t i) const;
  double GetDouble(int64_t i) const;
  std::complex<double> GetComplex(int64_t i) const;
  void SetInt(int64_t i, int64_t value);
  void SetDouble(int64_t i, double value);
  void SetComplex(int64_t i, std::complex<double> value);

  const std::vector<Literal>& tuple_elements() const { return tuple_elements_; }
  std::vector<Literal>& mutable_tuple_elements() { return tuple_elements_; }
  const Literal& tuple_element(int64_t i) const;

  // A dimension is dynamic: its live size may be below its bound (core/sizes/live_sizes.h).
  bool is_dynamic() const { return !dynamic_sizes_.empty(); }
  // The live size of a dynamic dimension; the static size otherwise. Setting CHECKs that it is in 0 to the bound.
  int64_t dynamic_size(int64_t dimension) const;
  void set_dynamic_size(int64_t dimension, int64_t size);

  // The same bytes under another shape of the same size in bytes. Live sizes stay if the dimensions do, and are the
  // bounds otherwise.
  Literal Reshaped(const Shape& shape) &&;
  Literal Reshaped(const Shape& shape) const&;

  // Of an array of one number, live in all places: it as a scalar.
  std::optional<Literal> OnlyNumber() const;

  // Same shape and the same bits.
  friend bool operator==(const Literal& a, const Literal& b);

 private:
  Literal(const Shape& shape, bool zeros);
  static void CheckStorage(const Shape& shape, size_t bytes);
  static void CheckCount(const Shape& shape, size_t bytes, size_t values);
  // Whether so many values of so many bytes are the elements of an array of this shape.
  static Status CheckValues(const Shape& shape, int value_bytes, int64_t count);
  // Where element i lies.
  size_t OffsetOf(int64_t i) const;

  Shape shape_;
  HostBytes bytes_;
  std::vector<Literal> tuple_elements_;
  std::vector<int64_t> dynamic_sizes_;  // empty unless a dimension is dynamic
};

template <typename T>
Result<Literal> Literal::Make(const Shape& shape, std::span<const T> values) {
  VXLA_ASSIGN_OR_RETURN(Literal literal, Make(shape));
  VXLA_RETURN_IF_ERROR(CheckValues(shape, static_cast<int>(sizeof(T)), static_cast<int64_t>(values.size())));
  if (!values.empty()) std::memcpy(literal.bytes_.data(), values.data(), literal.bytes_.size());
  return literal;
}

// The leaves depth first; pointers into `literal`.
std::vector<const Literal*> FlattenLiteral(const Literal& literal);
// Rebuilds a value of `shape` from its leaves in depth-first order.
Literal UnflattenLiteral(const Shape& shape, std::span<Literal> leaves);

}  // namespace VXLA_NAMESPACE
#pragma GCC visibility pop
