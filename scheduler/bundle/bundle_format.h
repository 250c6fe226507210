// The bytes of a bundle: a header, a table of sections, and numbers in little-endian order (docs/guides/bundle.md).
#pragma once

#include <array>
#include <bit>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/limits.h"
#include "scheduler/bundle/bundle_fields.h"

namespace VXLA_NAMESPACE {

inline constexpr std::string_view kBundleMagic{"vxla\r\n\x1a\0", 8};
inline constexpr uint32_t kBundleVersion = 7;
inline constexpr size_t kBundleHeaderBytes = 40;   // magic, version, sections, bytes of the file, checksum of the rest
inline constexpr size_t kBundleSectionBytes = 24;  // kind, zero, offset, bytes
inline constexpr uint32_t kMostSections = 64;
// Kinds of sections. A reader passes over those that it does not know.
inline constexpr uint32_t kProgramSection = 1, kModulesSection = 2, kConstantsSection = 3;
// Constants begin on a page, so that what maps the file can hand them on.
inline constexpr size_t kSectionAlignment = 4096;

struct BundleSection {
  uint32_t kind = 0, zero = 0;
  uint64_t offset = 0, size = 0;
};
void Fields(auto& a, BundleSection& v) { a(v.kind, v.zero, v.offset, v.size); }

struct BundleHeader {
  uint32_t version = kBundleVersion, sections = 0;
  uint64_t file_bytes = 0, checksum_high = 0, checksum_low = 0;
};
void Fields(auto& a, BundleHeader& v) { a(v.version, v.sections, v.file_bytes, v.checksum_high, v.checksum_low); }

inline std::span<const std::byte> BytesOf(std::string_view text) { return std::as_bytes(std::span(text)); }

template <typename Number>
requires std::is_arithmetic_v<Number>
constexpr auto BitsOf() {
  if constexpr (sizeof(Number) == 1) return uint8_t{};
  if constexpr (sizeof(Number) == 4) return uint32_t{};
  if constexpr (sizeof(Number) == 8) return uint64_t{};
}
template <typename Number>
using Bits = decltype(BitsOf<Number>());

class BundleWriter {
 public:
  template <typename... Values>
  void operator()(const Values&... values) {
    (Value(values), ...);
  }
  const std::string& bytes() const { return bytes_; }

  template <typename Number>
  requires std::is_arithmetic_v<Number>
  void Value(const Number& value) {
    auto bits = std::bit_cast<Bits<Number>>(value);
    for (size_t i = 0; i < sizeof(bits); ++i, bits = static_cast<decltype(bits)>(uint64_t{bits} >> 8))
      bytes_ += static_cast<char>(bits & 0xff);
  }
  void Raw(std::string_view bytes) { bytes_ += bytes; }

 private:
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void Value(const Enum& value) { Value(static_cast<uint8_t>(value)); }
  void Value(const std::string& text) {
    Value(static_cast<uint64_t>(text.size()));
    bytes_ += text;
  }
  template <typename T>
  void Value(const std::vector<T>& list) {
    Value(static_cast<uint64_t>(list.size()));
    for (const T& element : list) Value(element);
  }
  template <typename T, size_t kCount>
  void Value(const std::array<T, kCount>& list) {
    for (const T& element : list) Value(element);
  }
  template <typename... Kinds>
  void Value(const std::variant<Kinds...>& value) {
    Value(static_cast<uint8_t>(value.index()));
    std::visit([&](const auto& held) { Value(held); }, value);
  }
  void Value(const Shape& shape) {
    Value(shape.element_type());
    Value(std::vector<int64_t>(shape.dimensions().begin(), shape.dimensions().end()));
    std::vector<int> dynamic;
    for (int d = 0; d < shape.rank(); ++d) {
      if (shape.is_dynamic_dimension(d)) dynamic.push_back(d);
    }
    Value(dynamic);
    Value(shape.tuple_elements());
  }
  template <typename Struct>
  requires std::is_class_v<Struct>
  void Value(const Struct& value) {
    Fields(*this, const_cast<Struct&>(value));  // the list is for both directions; a writer changes nothing
  }

  std::string bytes_;
};

// Gives zeros once something was wrong, so that the lists of fields need no checks; memory grows with the bytes that
// are there, whatever counts they state.
class BundleReader {
 public:
  explicit BundleReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename... Values>
  void operator()(Values&... values) {
    (Value(values), ...);
  }
  // The first thing that was wrong, with its place; also if bytes are left.
  Status Finish() {
    if (status_.ok() && at_ != bytes_.size()) Fail("{} bytes are left over", bytes_.size() - at_);
    return status_;
  }
  const Status& status() const { return status_; }

  template <typename Number>
  requires std::is_arithmetic_v<Number>
  void Value(Number& value) {
    Bits<Number> bits{};
    if (Takes(sizeof(bits))) {
      for (size_t i = 0; i < sizeof(bits); ++i)
        bits = static_cast<Bits<Number>>(bits | uint64_t{std::to_integer<uint8_t>(bytes_[at_ + i])} << (8 * i));
      at_ += sizeof(bits);
    }
    if constexpr (std::is_same_v<Number, bool>) {
      if (bits > 1) Fail("{} stands where 0 or 1 must", bits);
      value = bits == 1;
    } else {
      value = std::bit_cast<Number>(bits);
    }
  }

 private:
  template <typename... Arguments>
  void Fail(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    if (!status_.ok()) return;
    status_ =
        InvalidArgument("byte {} of the program: {}", at_, fmt::format(text, std::forward<Arguments>(arguments)...));
  }
  bool Takes(uint64_t size) {
    if (status_.ok() && size > bytes_.size() - at_)
      Fail("{} bytes are wanted, {} are there", size, bytes_.size() - at_);
    return status_.ok();
  }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void Value(Enum& value) {
    uint8_t number = 0;
    Value(number);
    static_assert(kEnumCount<Enum> > 0);
    if (number >= kEnumCount<Enum>) Fail("{} is none of {} kinds", number, kEnumCount<Enum>);
    value = status_.ok() ? static_cast<Enum>(number) : Enum{};
  }
  void Value(std::string& text) {
    uint64_t size = 0;
    Value(size);
    if (!Takes(size)) return;
    text.assign(reinterpret_cast<const char*>(bytes_.data()) + at_, size);
    at_ += size;
  }
  template <typename T>
  void Value(std::vector<T>& list) {
    uint64_t size = 0;
    Value(size);
    if (size > bytes_.size() - at_) Fail("a list of {}, {} bytes are there", size, bytes_.size() - at_);
    for (uint64_t i = 0; i < size && status_.ok(); ++i) {
      const size_t before = at_;
      Value(list.emplace_back());
      if (status_.ok() && at_ == before) Fail("a list of nothing");
    }
  }
  template <typename T, size_t kCount>
  void Value(std::array<T, kCount>& list) {
    for (T& element : list) Value(element);
  }
  template <size_t kIndex = 0, typename... Kinds>
  void Held(std::variant<Kinds...>& value, size_t index) {
    if constexpr (kIndex < sizeof...(Kinds)) {
      if (index == kIndex) return Value(value.template emplace<kIndex>());
      Held<kIndex + 1>(value, index);
    }
  }
  template <typename... Kinds>
  void Value(std::variant<Kinds...>& value) {
    uint8_t index = 0;
    Value(index);
    if (index >= sizeof...(Kinds)) Fail("{} is none of {} kinds", index, sizeof...(Kinds));
    if (status_.ok()) Held(value, index);
  }
  void Value(Shape& shape) {
    ElementType type{};
    std::vector<int64_t> dimensions;
    std::vector<int> dynamic;
    std::vector<Shape> elements;
    if (++depth_ > kMaxTupleDepth + 1) Fail("tuples nest deeper than {}", kMaxTupleDepth);
    if (status_.ok()) operator()(type, dimensions, dynamic, elements);
    --depth_;
    if (!status_.ok()) return;
    const bool tuple = type == ElementType::kTuple;
    if ((tuple && !dimensions.empty()) || (!tuple && !elements.empty())) return Fail("an array that is a tuple");
    if (!tuple && !IsArrayElement(type) && !dimensions.empty()) return Fail("dimensions of what is no array");
    shape = tuple ? Shape::Tuple(std::move(elements)) : Shape(type, std::move(dimensions));
    if (const Status checked = CheckShape(shape); !checked.ok()) return Fail("{}", checked.message());
    for (const int dimension : dynamic) {
      if (dimension < 0 || dimension >= shape.rank())
        return Fail("dynamic dimension {} of {}", dimension, shape.ToString());
      shape.set_dynamic_dimension(dimension, true);
    }
  }
  template <typename Struct>
  requires std::is_class_v<Struct>
  void Value(Struct& value) { Fields(*this, value); }

  std::span<const std::byte> bytes_;
  size_t at_ = 0;
  int depth_ = 0;
  Status status_;
};

}  // namespace VXLA_NAMESPACE
