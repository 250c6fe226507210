#include "tools/numpy_print.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/data/float_formats.h"
#include "core/numerics/literal_compare.h"
#include "core/sizes/live_sizes.h"

namespace VXLA_NAMESPACE {
namespace {

constexpr int64_t kThreshold = 1000;
constexpr int64_t kEdge = 3;

double RoundTo(ElementType type, double x) {
  Literal slot{Shape(type)};
  slot.SetDouble(0, x);
  return slot.GetDouble(0);
}

// One number of an array: the fewest digits that tell it from its neighbours, at most 8 after the point.
class Digits {
 public:
  Digits(ElementType type, double x) : x_(x) {
    for (int digits = 0; digits < 17; ++digits) {
      shortest_ = std::strtod(fmt::format("{:.{}e}", x, digits).c_str(), nullptr);
      if (RoundTo(type, shortest_) != x || std::fabs(shortest_) > MaxFinite(type)) continue;
      exponent_decimals_ = std::min(digits, kDecimals);
      break;
    }
  }

  int exponent_decimals() const { return exponent_decimals_; }
  // "2.", "0.25"
  std::string Positional() const {
    std::string text = fmt::format("{}", shortest_);
    const size_t point = text.find('.');
    if (point == std::string::npos) return text + ".";
    if (text.size() - point - 1 <= kDecimals) return text;
    text = fmt::format("{:.{}f}", x_, kDecimals);
    return text.substr(0, text.find_last_not_of('0') + 1);
  }

 private:
  static constexpr int kDecimals = 8;
  double x_, shortest_ = 0;
  int exponent_decimals_ = kDecimals;
};

// What the floats of one array (or their real or imaginary parts) look like: points aligned, all with exponents or
// none.
class FloatFormat {
 public:
  FloatFormat() = default;
  FloatFormat(ElementType type, const std::vector<double>& values, bool plus) : type_(type), plus_(plus) {
    double smallest = INFINITY, largest = 0;
    for (double x : values) {
      if (!std::isfinite(x) || x == 0) continue;
      smallest = std::min(smallest, std::fabs(x));
      largest = std::max(largest, std::fabs(x));
    }
    scientific_ = largest >= 1e8 || (largest > 0 && (smallest < 1e-4 || RoundTo(type, largest / smallest) > 1000));
    for (double x : values) {
      if (std::isfinite(x)) decimals_ = std::max(decimals_, Digits(type, x).exponent_decimals());
    }
    for (double x : values) {
      if (!std::isfinite(x)) continue;
      const std::string text = Number(x);
      const size_t point = text.find('.');
      left_ = std::max(left_, point);
      right_ = std::max(right_, text.size() - point);
    }
    for (double x : values) {
      if (const size_t size = Number(x).size(); !std::isfinite(x) && size > left_ + right_) left_ = size - right_;
    }
  }

  // All of one width.
  std::string Text(double x) const {
    const std::string text = Number(x);
    if (!std::isfinite(x)) return fmt::format("{:>{}}", text, left_ + right_);
    return fmt::format("{:<{}}", std::string(left_ - text.find('.'), ' ') + text, left_ + right_);
  }

 private:
  std::string Number(double x) const {
    const std::string sign = plus_ && (std::isnan(x) || !std::signbit(x)) ? "+" : "";
    if (std::isnan(x)) return sign + "nan";
    if (std::isinf(x)) return sign + fmt::format("{}", x);
    if (!scientific_) return sign + Digits(type_, x).Positional();
    std::string text = fmt::format("{:.{}e}", x, decimals_);
    if (decimals_ == 0) text.insert(text.find('e'), ".");
    return sign + text;
  }

  ElementType type_ = ElementType::kF32;
  bool plus_ = false, scientific_ = false;
  int decimals_ = 0;
  size_t left_ = 0, right_ = 0;  // before the point; from it on
};

class Printer {
 public:
  explicit Printer(const Literal& array) : array_(array), shorten_(array.element_count() > kThreshold) {
    strides_ = RowMajorStrides(array.shape().dimensions());
    Visit(0, 0, [&](int64_t i) { shown_.push_back(i); });
    ChooseFormat();
    for (int64_t i : shown_) width_ = std::max(width_, Element(i).size());
  }

  std::string Text(int dimension = 0, int64_t offset = 0) const {
    if (dimension == array_.shape().rank()) return fmt::format("{:>{}}", Element(offset), width_);
    const int64_t size = array_.shape().dimension(dimension);
    const bool last = dimension + 1 == array_.shape().rank();
    const std::string separator =
        last ? " " : std::string(array_.shape().rank() - dimension - 1, '\n') + std::string(dimension + 1, ' ');
    std::string text = "[";
    for (int64_t i = 0; i < size; ++i) {
      if (i > 0) text += separator;
      if (Skips(size, i)) {
        text += "...";
        i = size - kEdge - 1;
        continue;
      }
      text += Text(dimension + 1, offset + i * strides_[dimension]);
    }
    return text + "]";
  }

 private:
  bool Skips(int64_t size, int64_t i) const { return shorten_ && size > 2 * kEdge && i == kEdge; }

  template <typename F>
  void Visit(int dimension, int64_t offset, const F& f) const {
    if (dimension == array_.shape().rank()) return f(offset);
    const int64_t size = array_.shape().dimension(dimension);
    for (int64_t i = 0; i < size; ++i) {
      if (Skips(size, i)) i = size - kEdge;
      Visit(dimension + 1, offset + i * strides_[dimension], f);
    }
  }

  void ChooseFormat() {
    const ElementType type = array_.shape().element_type();
    if (!IsFloating(type) && !IsComplex(type)) return;
    std::vector<double> real, imaginary;
    for (int64_t i : shown_) {
      const std::complex<double> value = array_.GetComplex(i);
      real.push_back(value.real());
      imaginary.push_back(value.imag());
    }
    real_ = FloatFormat(RealPart(type), real, false);
    if (IsComplex(type)) imaginary_ = FloatFormat(RealPart(type), imaginary, true);
  }

  std::string Element(int64_t i) const {
    const ElementType type = array_.shape().element_type();
    if (type == ElementType::kPred) return array_.GetInt(i) != 0 ? "True" : "False";
    if (!IsFloating(type) && !IsComplex(type)) return ElementToString(array_, i);
    const std::complex<double> value = array_.GetComplex(i);
    std::string text = real_.Text(value.real());
    if (!IsComplex(type)) return text;
    text += imaginary_.Text(value.imag());
    return text.insert(text.find_last_not_of(' ') + 1, "j");
  }

  const Literal& array_;
  bool shorten_;
  std::vector<int64_t> strides_;
  std::vector<int64_t> shown_;
  FloatFormat real_, imaginary_;
  size_t width_ = 0;
};

}  // namespace

std::string PrintLikeNumpy(const Literal& array) {
  if (array.is_dynamic()) return PrintLikeNumpy(CutToLiveSizes(array));
  if (array.element_count() == 0 && array.shape().rank() > 0) return "[]";
  return Printer(array).Text();
}

}  // namespace VXLA_NAMESPACE
