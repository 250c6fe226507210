// TwofoldSum: a sum kept as a value and its rounding errors, as exact as one of twice the precision that is rounded at
// the end (T. Ogita, S. M. Rump, S. Oishi, "Accurate sum and dot product", SIAM J. Sci. Comput. 26(6), 2005). Needs no
// type wider than double, which not every compiler has. WideSums: many such sums side by side.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace VXLA_NAMESPACE {

// V: a floating type, or a vector of doubles.
template <typename V>
struct TwofoldSum {
  V sum{}, error{};

  void Add(V x) {
    const V total = sum + x;
    const V kept = total - sum;
    error += (sum - (total - kept)) + (x - kept);
    sum = total;
  }
  void Add(const TwofoldSum& other) {
    Add(other.sum);
    error += other.error;
  }
};

// A double in two halves of 26 bits, whose products are exact. Beyond 2^996 the halves are NaN.
template <typename V>
struct Halves {
  V whole, high, low;
  explicit Halves(V x) : whole(x) {
    const V spread = x * 134217729.0;  // 2^27 + 1
    high = spread - (spread - x);
    low = x - high;
  }
};

template <typename V>
inline void AddProduct(TwofoldSum<V>& s, const Halves<V>& a, const Halves<V>& b) {
  const V product = a.whole * b.whole;
  s.error += ((a.high * b.high - product) + a.high * b.low + a.low * b.high) + a.low * b.low;
  s.Add(product);
}

// Where the error terms have no meaning (past an infinity or close to overflow) the plain sum is the result, and where
// there is no error: -0 + 0 would be 0.
template <typename T>
inline T Rounded(T sum, T error) {
  const T total = error == 0 ? sum : sum + error;
  return std::isfinite(total) ? total : sum;
}
template <typename T>
inline T Rounded(const TwofoldSum<T>& s) {
  return Rounded(s.sum, s.error);
}

// Sums by index in double, with their errors where the result is as wide as double itself.
class WideSums {
 public:
  WideSums(std::vector<double> initial, bool compensated)
      : sums_(std::move(initial)), errors_(compensated ? sums_.size() : 0) {}

  void Add(size_t i, double x) {
    if (errors_.empty()) {
      sums_[i] += x;
      return;
    }
    TwofoldSum<double> s{sums_[i], errors_[i]};
    s.Add(x);
    sums_[i] = s.sum;
    errors_[i] = s.error;
  }
  std::vector<double> Finish() && {
    for (size_t i = 0; i < errors_.size(); ++i) sums_[i] = Rounded(sums_[i], errors_[i]);
    return std::move(sums_);
  }

 private:
  std::vector<double> sums_, errors_;
};

}  // namespace VXLA_NAMESPACE
