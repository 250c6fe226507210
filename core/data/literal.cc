#include "core/data/literal.h"

#include <fmt/format.h>

#include <bit>
#include <new>

#include "core/data/float_formats.h"
#include "core/host/ranges.h"

namespace VXLA_NAMESPACE {
namespace {

template <typename T>
T Load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

template <typename T>
void Store(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof(T));
}

uint64_t LoadBits(const std::byte* at, int bytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, static_cast<size_t>(bytes));  // little-endian hosts only, as Vulkan's are
  return bits;
}

double LoadReal(ElementType type, const std::byte* at) {
  if (type == ElementType::kF32) return Load<float>(at);
  if (type == ElementType::kF64) return Load<double>(at);
  return DecodeNarrowFloat(type, static_cast<uint32_t>(LoadBits(at, StorageBytes(type))));
}

void StoreReal(ElementType type, std::byte* at, double value) {
  if (type == ElementType::kF32) return Store(at, static_cast<float>(value));
  if (type == ElementType::kF64) return Store(at, value);
  const uint32_t bits = EncodeNarrowFloat(type, value);
  std::memcpy(at, &bits, static_cast<size_t>(StorageBytes(type)));
}

}  // namespace

Literal::Literal() = default;
Literal::Literal(const Literal&) = default;
Literal::Literal(Literal&&) noexcept = default;
Literal& Literal::operator=(const Literal&) = default;
Literal& Literal::operator=(Literal&&) noexcept = default;
Literal::~Literal() = default;
Literal::Literal(const Shape& shape) : Literal(shape, true) {}

Literal Literal::Uninitialized(const Shape& shape) { return Literal(shape, false); }

Result<Literal> Literal::Make(const Shape& shape) {
  VXLA_RETURN_IF_ERROR(CheckShape(shape));
  try {
    return Literal(shape, true);
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("{}: {} bytes of host memory are not to be had", shape.ToString(), shape.SizeBytes());
  }
}

void Literal::CheckStorage(const Shape& shape, size_t bytes) {
  VXLA_CHECK(static_cast<int>(bytes) == StorageBytes(shape.element_type()),
             fmt::format("values of {} bytes for {}, which has {} an element", bytes, shape.ToString(),
                         StorageBytes(shape.element_type())));
}

void Literal::CheckCount(const Shape& shape, size_t bytes, size_t values) {
  const Status status = CheckValues(shape, static_cast<int>(bytes), static_cast<int64_t>(values));
  VXLA_CHECK(status.ok(), status.message());
}

size_t Literal::OffsetOf(int64_t i) const {
  const int bytes = StorageBytes(shape_.element_type());
  // Storage is a power of two; a negative position is a large unsigned one.
  VXLA_CHECK(
      shape_.IsArray() && static_cast<uint64_t>(i) < bytes_.size() >> std::countr_zero(static_cast<unsigned>(bytes)),
      fmt::format("element {} of the {} of {}", i, element_count(), shape_.ToString()));
  return static_cast<size_t>(i) * static_cast<size_t>(bytes);
}

const Literal& Literal::tuple_element(int64_t i) const {
  VXLA_CHECK(static_cast<uint64_t>(i) < tuple_elements_.size(),
             fmt::format("element {} of the {} of {}", i, tuple_elements_.size(), shape_.ToString()));
  return tuple_elements_[i];
}

Literal::Literal(const Shape& shape, bool zeros) : shape_(shape) {
  if (!shape.IsTuple()) {
    const Status status = CheckShape(shape);
    VXLA_CHECK(status.ok(), status.message());
  }
  for (const Shape& element : shape.tuple_elements()) tuple_elements_.push_back(Literal(element, zeros));
  const size_t size = static_cast<size_t>(shape.IsArray() ? shape.SizeBytes() : 0);
  bytes_ = zeros ? HostBytes::Zeros(size) : HostBytes(size);
  if (shape.IsArray() && shape.IsDynamic()) dynamic_sizes_.assign(shape.dimensions().begin(), shape.dimensions().end());
}

Literal Literal::Tuple(std::vector<Literal> elements) {
  Literal literal;
  literal.shape_ = Shape::Tuple(Transformed(elements, &Literal::shape));
  literal.tuple_elements_ = std::move(elements);
  return literal;
}

Literal Literal::Scalar(ElementType type, double value) {
  Literal literal{Shape(type)};
  switch (CarrierOf(type)) {
    case Carrier::kDouble:
      literal.SetDouble(0, value);
      break;
    case Carrier::kComplexDouble:
      literal.SetComplex(0, value);
      break;
    default:
      literal.SetInt(0, static_cast<int64_t>(value));
  }
  return literal;
}

Status Literal::CheckValues(const Shape& shape, int value_bytes, int64_t count) {
  if (!shape.IsArray() || value_bytes != StorageBytes(shape.element_type())) {
    return InvalidArgument("values of {} bytes for {}, which has {} an element", value_bytes, shape.ToString(),
                           StorageBytes(shape.element_type()));
  }
  if (count != shape.ElementCount()) {
    return InvalidArgument("{} values for the {} elements of {}", count, shape.ElementCount(), shape.ToString());
  }
  return OkStatus();
}

Literal Literal::ScalarInt(ElementType type, int64_t value) {
  if (!IsInteger(type) && type != ElementType::kPred) return Scalar(type, static_cast<double>(value));
  Literal literal{Shape(type)};
  literal.SetInt(0, value);
  return literal;
}

namespace {

void ExpectInteger(ElementType type) {
  VXLA_CHECK(IsInteger(type) || type == ElementType::kPred,
             fmt::format("{} is neither an integer type nor pred", ElementTypeName(type)));
}
void ExpectReal(ElementType type) {
  VXLA_CHECK(IsFloating(type), fmt::format("{} is no real floating-point type", ElementTypeName(type)));
}
void ExpectRealOrComplex(ElementType type) {
  VXLA_CHECK(IsFloating(type) || IsComplex(type),
             fmt::format("{} is neither a floating-point nor a complex type", ElementTypeName(type)));
}

}  // namespace

int64_t Literal::GetInt(int64_t i) const {
  const ElementType type = shape_.element_type();
  ExpectInteger(type);
  const uint64_t bits = LoadBits(bytes_.data() + OffsetOf(i), StorageBytes(type));
  const int unused = 64 - BitWidth(type);
  if (IsSigned(type)) return static_cast<int64_t>(bits << unused) >> unused;
  if (type == ElementType::kPred) return bits != 0;
  return static_cast<int64_t>(bits << unused >> unused);
}

double Literal::GetDouble(int64_t i) const {
  const ElementType type = shape_.element_type();
  ExpectReal(type);
  return LoadReal(type, bytes_.data() + OffsetOf(i));
}

std::complex<double> Literal::GetComplex(int64_t i) const {
  const ElementType type = shape_.element_type();
  ExpectRealOrComplex(type);
  const std::byte* at = bytes_.data() + OffsetOf(i);
  if (!IsComplex(type)) return LoadReal(type, at);
  const ElementType part = RealPart(type);
  return {LoadReal(part, at), LoadReal(part, at + StorageBytes(part))};
}

void Literal::SetInt(int64_t i, int64_t value) {
  const ElementType type = shape_.element_type();
  ExpectInteger(type);
  uint64_t bits = static_cast<uint64_t>(value);
  if (type == ElementType::kPred) {
    bits = value != 0;
  } else if (BitWidth(type) < 8) {
    // Sub-byte values are kept as numpy stand-ins are: the value's low bits, zeros above.
    bits &= MaxUnsigned(type);
  }
  std::memcpy(bytes_.data() + OffsetOf(i), &bits, static_cast<size_t>(StorageBytes(type)));
}

void Literal::SetDouble(int64_t i, double value) {
  const ElementType type = shape_.element_type();
  ExpectReal(type);
  StoreReal(type, bytes_.data() + OffsetOf(i), value);
}

void Literal::SetComplex(int64_t i, std::complex<double> value) {
  const ElementType type = shape_.element_type();
  ExpectRealOrComplex(type);
  std::byte* at = bytes_.data() + OffsetOf(i);
  if (!IsComplex(type)) return StoreReal(type, at, value.real());
  const ElementType part = RealPart(type);
  StoreReal(part, at, value.real());
  StoreReal(part, at + StorageBytes(part), value.imag());
}

int64_t Literal::dynamic_size(int64_t dimension) const {
  const int64_t bound = shape_.dimension(dimension);
  return dynamic_sizes_.empty() ? bound : dynamic_sizes_[dimension];
}

void Literal::set_dynamic_size(int64_t dimension, int64_t size) {
  const int64_t bound = shape_.dimension(dimension);
  VXLA_CHECK(
      shape_.IsArray() && size >= 0 && size <= bound,
      fmt::format("live size {} of dimension {} of {}, whose bound is {}", size, dimension, shape_.ToString(), bound));
  if (dynamic_sizes_.empty()) dynamic_sizes_.assign(shape_.dimensions().begin(), shape_.dimensions().end());
  dynamic_sizes_[dimension] = size;
}

Literal Literal::Reshaped(const Shape& shape) && {
  VXLA_CHECK(
      shape.SizeBytes() == static_cast<int64_t>(bytes_.size()),
      fmt::format("{} of {} bytes as {} of {}", shape_.ToString(), bytes_.size(), shape.ToString(), shape.SizeBytes()));
  Literal literal = std::move(*this);
  const bool keeps_sizes = shape.IsDynamic() && literal.is_dynamic() && SameDimensions(shape, literal.shape_);
  literal.shape_ = shape;
  if (!keeps_sizes) literal.dynamic_sizes_.clear();
  if (!keeps_sizes && shape.IsDynamic())
    literal.dynamic_sizes_.assign(shape.dimensions().begin(), shape.dimensions().end());
  return literal;
}

Literal Literal::Reshaped(const Shape& shape) const& { return Literal(*this).Reshaped(shape); }

std::optional<Literal> Literal::OnlyNumber() const {
  if (!shape_.IsArray() || is_dynamic() || element_count() == 0) return std::nullopt;
  Literal one(Shape(shape_.element_type()));
  const std::span<const std::byte> all = bytes();
  const size_t width = one.bytes().size();
  const bool same = std::ranges::equal(all.subspan(width), all.first(all.size() - width));
  if (!same || all.size() != width * static_cast<size_t>(element_count())) return std::nullopt;
  std::ranges::copy(all.first(width), one.mutable_bytes().begin());
  return one;
}

bool operator==(const Literal& a, const Literal& b) {
  return a.shape_ == b.shape_ && a.bytes_ == b.bytes_ && a.dynamic_sizes_ == b.dynamic_sizes_ &&
         a.tuple_elements_ == b.tuple_elements_;
}

std::vector<const Literal*> FlattenLiteral(const Literal& literal) {
  std::vector<const Literal*> leaves;
  auto visit = [&](auto&& self, const Literal& l) -> void {
    if (!l.shape().IsTuple()) return leaves.push_back(&l);
    for (const Literal& element : l.tuple_elements()) self(self, element);
  };
  visit(visit, literal);
  return leaves;
}

Literal UnflattenLiteral(const Shape& shape, std::span<Literal> leaves) {
  size_t next = 0;
  auto build = [&](auto&& self, const Shape& s) -> Literal {
    if (!s.IsTuple()) return std::move(leaves[next++]);
    return Literal::Tuple(Transformed(s.tuple_elements(), [&](const Shape& element) { return self(self, element); }));
  };
  return build(build, shape);
}

}  // namespace VXLA_NAMESPACE
