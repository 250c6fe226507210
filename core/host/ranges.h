// What C++23's <ranges> and <algorithm> have: a vector of what a function makes of each element, one of numbers, and
// Contains.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <numeric>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/status.h"

namespace VXLA_NAMESPACE {

template <typename Range, typename Value>
bool Contains(const Range& range, const Value& value) {
  return std::ranges::find(range, value) != std::ranges::end(range);
}

// 0, 1 and so on: so many.
template <typename Number>
std::vector<Number> Counted(size_t count) {
  std::vector<Number> numbers(count);
  std::iota(numbers.begin(), numbers.end(), Number{0});
  return numbers;
}

// A range of ranges as one, forward; what it is made of stays where it is. (Clang before 16 does not compile the views
// of GCC's library.)
template <typename Range, typename Part>
class JoinedRange {
  using Outer = decltype(std::begin(std::declval<std::add_const_t<Range>&>()));
  using Inner = decltype(std::begin(std::declval<std::invoke_result_t<const Part&, std::iter_reference_t<Outer>>&>()));

 public:
  JoinedRange(Range range, Part part) : range_(std::forward<Range>(range)), part_(std::move(part)) {}

  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = std::iter_value_t<Inner>;
    using difference_type = std::ptrdiff_t;
    using reference = std::iter_reference_t<Inner>;
    using pointer = void;
    Iterator() = default;
    Iterator(const JoinedRange* of, Outer outer) : of_(of), outer_(outer) { Settle(); }
    reference operator*() const { return *inner_; }
    Iterator& operator++() {
      if (++inner_ == end_) ++outer_, Settle();
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) {
      return a.outer_ == b.outer_ && a.inner_ == b.inner_;
    }

   private:
    // To the first element from here on.
    void Settle() {
      for (inner_ = end_ = Inner(); outer_ != std::end(of_->range_); ++outer_) {
        auto&& part = std::invoke(of_->part_, *outer_);
        inner_ = std::begin(part), end_ = std::end(part);
        if (inner_ != end_) return;
        inner_ = end_ = Inner();
      }
    }

    const JoinedRange* of_ = nullptr;
    Outer outer_ = {};
    Inner inner_ = {}, end_ = {};
  };
  Iterator begin() const { return {this, std::begin(range_)}; }
  Iterator end() const { return {this, std::end(range_)}; }

 private:
  Range range_;
  Part part_;
};

// The elements of what `part` gives for each element of the range.
template <typename Range, typename Part>
JoinedRange<Range, Part> Joined(Range&& range, Part part) {
  return {std::forward<Range>(range), std::move(part)};
}

template <typename T>
struct ResultValue {
  using type = void;  // no Result
};
template <typename T>
struct ResultValue<Result<T>> {
  using type = T;
};

// In the order of the range; of Results, their values or the first error. The element type is the function's unless it
// is said.
template <typename Element = void, typename Range, typename Function>
auto Transformed(Range&& range, Function function) {
  using Made = std::remove_cvref_t<std::invoke_result_t<Function&, std::ranges::range_reference_t<Range>>>;
  using Value = typename ResultValue<Made>::type;
  constexpr bool kMayFail = !std::is_void_v<Value>;
  using Own = std::conditional_t<kMayFail, Value, Made>;
  std::vector<std::conditional_t<std::is_void_v<Element>, Own, Element>> all;
  if constexpr (std::ranges::sized_range<Range>) all.reserve(static_cast<size_t>(std::ranges::size(range)));
  for (auto&& each : range) {
    if constexpr (kMayFail) {
      Made made = std::invoke(function, std::forward<decltype(each)>(each));
      if (!made.ok()) return Result<decltype(all)>(made.status());
      all.push_back(*std::move(made));
    } else {
      all.push_back(std::invoke(function, std::forward<decltype(each)>(each)));
    }
  }
  if constexpr (kMayFail) {
    return Result<decltype(all)>(std::move(all));
  } else {
    return all;
  }
}

}  // namespace VXLA_NAMESPACE
