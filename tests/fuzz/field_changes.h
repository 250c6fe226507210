// Changes of a bundle that leave it well-formed: numbers, kinds and the lengths of lists in its program, so that what
// is read goes on to the checks of what they mean.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/host/hash.h"
#include "scheduler/bundle/bundle.h"
#include "scheduler/bundle/bundle_format.h"

namespace VXLA_NAMESPACE::testing {

// Visits the fields of a struct as a reader of it does, counts them, and changes those whose turn it is.
class FieldChanger {
 public:
  explicit FieldChanger(unsigned seed) : random_(seed) {}

  // Of as many fields as there are some are changed: one to three.
  template <typename Struct>
  void Change(Struct& value) {
    const uint64_t fields = std::max<uint64_t>(Count(value), 1);
    for (uint64_t left = 1 + Below(3); left > 0; --left) {
      target_ = Below(fields);
      at_ = 0;
      Fields(*this, value);
    }
  }

  template <typename... Values>
  void operator()(Values&... values) {
    (Value(values), ...);
  }

 private:
  template <typename Struct>
  uint64_t Count(Struct& value) {
    target_ = std::numeric_limits<uint64_t>::max();
    at_ = 0;
    Fields(*this, value);
    return at_;
  }
  uint64_t Below(uint64_t limit) { return random_() % limit; }
  bool IsTurn() { return at_++ == target_; }

  template <typename Number>
  requires std::is_arithmetic_v<Number>
  void Value(Number& value) {
    if (!IsTurn()) return;
    if constexpr (std::is_same_v<Number, bool>) {
      value = !value;
    } else {
      const uint64_t edges[] = {0, 1, 2, 7, 64, 255, 256, 65535, 1u << 31, ~uint64_t{0}, uint64_t{1} << 63, random_()};
      const auto old = static_cast<uint64_t>(std::bit_cast<Bits<Number>>(value));
      const uint64_t next = Below(3) == 0   ? old + Below(9) - 4
                            : Below(6) == 0 ? old * 2
                                            : edges[Below(std::size(edges))];
      value = std::bit_cast<Number>(static_cast<Bits<Number>>(next));
    }
  }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void Value(Enum& value) {
    if (IsTurn()) value = static_cast<Enum>(Below(kEnumCount<Enum>));
  }
  void Value(std::string&) {}
  void Value(Shape& shape) {
    if (IsTurn()) shape = Shape(shape.IsTuple() ? ElementType::kF32 : shape.element_type(), {int64_t(Below(100))});
  }
  template <typename T>
  void Value(std::vector<T>& list) {
    if (IsTurn()) {
      if (list.empty()) {
        list.emplace_back();
      } else if (const auto at = list.begin() + static_cast<std::ptrdiff_t>(Below(list.size())); Below(2) == 0) {
        list.erase(at);
      } else {
        list.push_back(T(*at));
      }
    }
    for (auto&& element : list) {
      if constexpr (std::is_same_v<T, bool>) {
        if (IsTurn()) element = !element;
      } else {
        Value(element);
      }
    }
  }
  template <typename T, size_t kCount>
  void Value(std::array<T, kCount>& list) {
    for (T& element : list) Value(element);
  }
  template <typename... Kinds>
  void Value(std::variant<Kinds...>& value) {
    std::visit([&](auto& held) { Value(held); }, value);
  }
  template <typename Struct>
  requires std::is_class_v<Struct>
  void Value(Struct& value) { Fields(*this, value); }

  std::minstd_rand random_;
  uint64_t at_ = 0, target_ = 0;
};

// The size and the checksum that a file should state.
inline void Reseal(std::string& file) {
  constexpr size_t kSizeAt = 16;
  if (file.size() < kBundleHeaderBytes) return;
  const Hash128 checksum = HashBytes(BytesOf(file).subspan(kBundleHeaderBytes));
  BundleWriter header;
  header(uint64_t{file.size()}, checksum.high, checksum.low);
  file.replace(kSizeAt, header.bytes().size(), header.bytes());
}

// A readable bundle with some fields of its program changed; empty: it is not readable.
inline std::string WithFieldsChanged(std::string file, unsigned seed) {
  Reseal(file);
  Result<Bundle> bundle = ReadBundle(BytesOf(file));
  if (!bundle.ok()) return {};
  FieldChanger(seed).Change(*bundle);
  BundleWriter program;
  Fields(program, *bundle);
  // The program goes to the end, where an earlier change may have put it, and its section is told so.
  size_t entry = kBundleHeaderBytes;
  while (file.compare(entry, 4, std::string("\1\0\0\0", 4)) != 0) entry += kBundleSectionBytes;
  BundleSection section;
  BundleReader old(BytesOf(file).subspan(entry, kBundleSectionBytes));
  Fields(old, section);
  if (section.offset + section.size == file.size()) file.resize(section.offset);
  file.resize((file.size() + kSectionAlignment - 1) / kSectionAlignment * kSectionAlignment, '\0');
  section.offset = file.size();
  section.size = program.bytes().size();
  BundleWriter table;
  Fields(table, section);
  file.replace(entry, kBundleSectionBytes, table.bytes());
  file += program.bytes();
  Reseal(file);
  return file;
}

}  // namespace VXLA_NAMESPACE::testing
