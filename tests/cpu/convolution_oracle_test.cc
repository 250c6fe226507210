// Convolutions of random forms against the definition: 0 to 3 spatial dimensions, every order of the labels, groups of
// features and of batches, strides, dilations, reversal, padding below zero, empty results, every kind of type.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "tests/cpu/cpu_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

using enum ElementType;
using Sizes = std::vector<int64_t>;
using Wide = std::complex<long double>;

struct Dim {
  int64_t size = 1, stride = 1, low = 0, high = 0, base = 1, window = 1;
  bool reversed = false;

  int64_t Positions(int64_t input) const {
    const int64_t padded = (input == 0 ? 0 : (input - 1) * base + 1) + low + high, reach = (size - 1) * window + 1;
    return padded <= 0 || padded < reach ? 0 : (padded - reach) / stride + 1;
  }
};

struct Form {
  std::vector<Dim> dims;
  int64_t batch = 1, features = 1, outputs = 1, feature_groups = 1, batch_groups = 1;
  Sizes spatial;
  // Places of [batch, feature, spatial...], [input feature, output feature, spatial...] and [batch, feature,
  // spatial...].
  Sizes input_order, kernel_order, output_order;
};

Sizes Shuffled(size_t n, std::mt19937& engine) {
  Sizes order(n);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), engine);
  return order;
}

Form RandomForm(std::mt19937& engine) {
  auto below = [&](uint32_t n) { return static_cast<int64_t>(engine() % n); };
  Form f;
  const size_t rank = engine() % 4;
  for (size_t d = 0; d < rank; ++d) {
    Dim dim;
    dim.size = 1 + below(3), dim.stride = 1 + below(2), dim.base = 1 + below(3), dim.window = 1 + below(2);
    dim.low = below(5) - 2, dim.high = below(5) - 2, dim.reversed = below(4) == 0;
    f.dims.push_back(dim);
    f.spatial.push_back(1 + below(6));
  }
  const int64_t groups = 1 + below(3);
  const int64_t kind = below(3);
  f.feature_groups = kind == 1 ? groups : 1, f.batch_groups = kind == 2 ? groups : 1;
  f.batch = (1 + below(3)) * f.batch_groups;
  f.features = (1 + below(4)) * f.feature_groups;
  f.outputs = (1 + below(5)) * groups;
  f.input_order = Shuffled(rank + 2, engine), f.kernel_order = Shuffled(rank + 2, engine);
  f.output_order = Shuffled(rank + 2, engine);
  return f;
}

// Sizes (or an index) given as [first, second, spatial...] in the order of the labels.
Sizes Placed(const Sizes& order, const Sizes& values) {
  Sizes placed(order.size());
  for (size_t i = 0; i < order.size(); ++i) placed[static_cast<size_t>(order[i])] = values[i];
  return placed;
}

Sizes Values(int64_t first, int64_t second, const Sizes& spatial) {
  Sizes values{first, second};
  values.insert(values.end(), spatial.begin(), spatial.end());
  return values;
}

std::string Labels(const Sizes& order, char first, char second) {
  std::string text(order.size(), ' ');
  for (size_t i = 0; i < order.size(); ++i) {
    text[static_cast<size_t>(order[i])] = i == 0 ? first : i == 1 ? second : static_cast<char>('0' + i - 2);
  }
  return text;
}

std::string WindowText(const std::vector<Dim>& dims) {
  if (dims.empty()) return "";
  std::string text = "window={";
  auto list = [&](const char* name, auto&& part) {
    text += std::string(name) + "=";
    for (size_t d = 0; d < dims.size(); ++d) text += (d ? "x" : "") + part(dims[d]);
    text += " ";
  };
  auto number = [](int64_t Dim::*field) { return [field](const Dim& d) { return std::to_string(d.*field); }; };
  list("size", number(&Dim::size));
  list("stride", number(&Dim::stride));
  list("pad", [](const Dim& d) { return std::to_string(d.low) + "_" + std::to_string(d.high); });
  list("lhs_dilate", number(&Dim::base));
  list("rhs_dilate", number(&Dim::window));
  list("rhs_reversal", [](const Dim& d) { return std::string(d.reversed ? "1" : "0"); });
  text.back() = '}';
  return text + ", ";
}

struct Sum {
  Wide value = 0;
  long double magnitude = 0;
};

Sum At(const Form& f, const Literal& x, const Literal& k, int64_t batch, int64_t output, const Sizes& position) {
  const int64_t groups = std::max(f.feature_groups, f.batch_groups), group = output / (f.outputs / groups);
  const int64_t per_group = f.features / f.feature_groups;
  Sizes taps;
  for (const Dim& d : f.dims) taps.push_back(d.size);
  const Sizes x_sizes(x.shape().dimensions().begin(), x.shape().dimensions().end());
  const Sizes k_sizes(k.shape().dimensions().begin(), k.shape().dimensions().end());
  Sum sum;
  for (int64_t t = 0; t < CountOf(taps); ++t) {
    const Sizes tap = IndexOf(t, taps);
    Sizes reads;
    for (size_t d = 0; d < f.dims.size(); ++d) {
      const Dim& dim = f.dims[d];
      const int64_t at = position[d] * dim.stride + tap[d] * dim.window - dim.low;
      if (at >= 0 && at % dim.base == 0 && at / dim.base < f.spatial[d]) reads.push_back(at / dim.base);
    }
    if (reads.size() != f.dims.size()) continue;
    Sizes kernel_tap = tap;
    for (size_t d = 0; d < f.dims.size(); ++d) {
      if (f.dims[d].reversed) kernel_tap[d] = f.dims[d].size - 1 - tap[d];
    }
    const int64_t image = f.batch_groups > 1 ? group * (f.batch / f.batch_groups) + batch : batch;
    for (int64_t c = 0; c < per_group; ++c) {
      const int64_t feature = f.feature_groups > 1 ? group * per_group + c : c;
      const Wide a(x.GetComplex(PositionOf(Placed(f.input_order, Values(image, feature, reads)), x_sizes)));
      const Wide b(k.GetComplex(PositionOf(Placed(f.kernel_order, Values(c, output, kernel_tap)), k_sizes)));
      sum.value += a * b, sum.magnitude += std::abs(a * b);
    }
  }
  return sum;
}

void Check(const Form& f, ElementType type) {
  Sizes kernel_spatial, out_spatial;
  for (size_t d = 0; d < f.dims.size(); ++d) {
    kernel_spatial.push_back(f.dims[d].size);
    out_spatial.push_back(f.dims[d].Positions(f.spatial[d]));
  }
  const Literal x = Random(type, Placed(f.input_order, Values(f.batch, f.features, f.spatial)), 1);
  const Literal k =
      Random(type, Placed(f.kernel_order, Values(f.features / f.feature_groups, f.outputs, kernel_spatial)), 2);
  const Sizes out = Placed(f.output_order, Values(f.batch / f.batch_groups, f.outputs, out_spatial));
  const std::string text =
      Entry("x = " + Text(x.shape()) + " parameter(0)\nk = " + Text(k.shape()) +
            " parameter(1)\nROOT r = " + Text(Shape(type, out)) + " convolution(x, k), " + WindowText(f.dims) +
            "dim_labels=" + Labels(f.input_order, 'b', 'f') + "_" + Labels(f.kernel_order, 'i', 'o') + "->" +
            Labels(f.output_order, 'b', 'f') + ", feature_group_count=" + std::to_string(f.feature_groups) +
            ", batch_group_count=" + std::to_string(f.batch_groups));
  const Literal y = RunText(text, {x, k});
  ASSERT_EQ(y.element_count(), CountOf(out)) << text;
  const long double unit = RealPart(type) == kF32 ? 0x1p-24L : 0x1p-53L;
  for (int64_t i = 0; i < y.element_count(); ++i) {
    const Sizes at = IndexOf(i, out);
    Sizes position;
    for (size_t d = 0; d < f.dims.size(); ++d) position.push_back(at[static_cast<size_t>(f.output_order[d + 2])]);
    const Sum want =
        At(f, x, k, at[static_cast<size_t>(f.output_order[0])], at[static_cast<size_t>(f.output_order[1])], position);
    ASSERT_LE(std::abs(Wide(y.GetComplex(i)) - want.value),
              1.01L * unit * std::abs(want.value) + 0x1p-60L * want.magnitude)
        << text << " at " << i;
  }
}

TEST(ConvolutionOracleTest, RandomForms) {
  std::mt19937 engine(31);
  const ElementType types[] = {kF32, kF64, kC64, kC128};
  for (int round = 0; round < 300; ++round) Check(RandomForm(engine), types[round % 4]);
}

TEST(ConvolutionOracleTest, MoreThanOneBlockOfRowsAndColumns) {
  Form f;
  f.dims = {{.size = 3, .low = 1, .high = 1}, {.size = 5, .stride = 2, .low = 2, .high = 2}};
  f.spatial = {19, 23};
  f.batch = 3, f.features = 7, f.outputs = 131;
  f.input_order = {0, 3, 1, 2}, f.kernel_order = {2, 3, 0, 1}, f.output_order = {0, 3, 1, 2};
  for (ElementType type : {kF32, kF64}) Check(f, type);
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
