// What C++23's <ranges> and <algorithm> have: a vector of what a function makes of each element, one of numbers, and
// Contains.
#pragma once

#include <algorithm>
#include <functional>
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
