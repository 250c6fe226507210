// Convolution as a matrix product: a row per output position (its window of the input, laid out tap by tap), a column
// per output feature.
#include <algorithm>

#include "backend/cpu/reference/arithmetic/gemm.h"
#include "backend/cpu/reference/ops/data_movement.h"
#include "core/ceil_divide.h"

namespace VXLA_NAMESPACE {
namespace {

// Sizes after bringing the operands to [batch, spatial..., feature] and [output feature, spatial..., input feature].
struct Problem {
  Window window;
  std::vector<int64_t> input_spatial, kernel_spatial, output_spatial;
  int64_t batch = 0, input_features = 0, kernel_features = 0, output_features = 0, output_batch = 0;
  int64_t feature_groups = 1, batch_groups = 1;
  int64_t taps = 1, positions = 1;  // of the kernel; of one output image

  int64_t groups() const { return std::max(feature_groups, batch_groups); }
  int64_t k() const { return taps * kernel_features; }
};

// For each spatial dimension and each (output position, kernel position): the input position, or -1 outside and in the
// holes of the base dilation. Negative padding cuts because no window reaches what it removed.
std::vector<std::vector<int64_t>> InputPositions(const Problem& p) {
  std::vector<std::vector<int64_t>> tables;
  for (size_t d = 0; d < p.window.size(); ++d) {
    const WindowDimension& w = p.window[d];
    std::vector<int64_t> table;
    for (int64_t o = 0; o < p.output_spatial[d]; ++o) {
      for (int64_t t = 0; t < p.kernel_spatial[d]; ++t) {
        const int64_t tap = w.reversal ? p.kernel_spatial[d] - 1 - t : t;
        const int64_t dilated = o * w.stride - w.pad_low + tap * w.rhs_dilate;
        const bool inside = dilated >= 0 && dilated % w.lhs_dilate == 0 && dilated / w.lhs_dilate < p.input_spatial[d];
        table.push_back(inside ? dilated / w.lhs_dilate : -1);
      }
    }
    tables.push_back(std::move(table));
  }
  return tables;
}

// The window of one output position, k() values: `features` contiguous ones per tap, zeros where it leaves the input.
template <typename T>
class WindowReader {
 public:
  WindowReader(const Problem& p, const std::vector<T>& input) : p_(p), input_(input), tables_(InputPositions(p)) {}

  void Read(int64_t batch, int64_t position, int64_t first_feature, T* row) const {
    const size_t rank = p_.window.size();
    std::vector<int64_t> output(rank), tap(rank, 0);
    for (size_t d = rank; d-- > 0;) {
      output[d] = position % p_.output_spatial[d];
      position /= p_.output_spatial[d];
    }
    for (int64_t t = 0; t < p_.taps; ++t, row += p_.kernel_features) {
      int64_t at = batch;
      for (size_t d = 0; d < rank && at >= 0; ++d) {
        const int64_t x = tables_[d][static_cast<size_t>(output[d] * p_.kernel_spatial[d] + tap[d])];
        at = x < 0 ? -1 : at * p_.input_spatial[d] + x;
      }
      if (at < 0) {
        std::fill_n(row, p_.kernel_features, T{});
      } else {
        const auto from = static_cast<size_t>(at * p_.input_features + first_feature);
        std::ranges::copy(std::span(input_).subspan(from, static_cast<size_t>(p_.kernel_features)), row);
      }
      for (size_t d = rank; d-- > 0;) {
        if (++tap[d] < p_.kernel_spatial[d]) break;
        tap[d] = 0;
      }
    }
  }

 private:
  const Problem& p_;
  const std::vector<T>& input_;
  const std::vector<std::vector<int64_t>> tables_;
};

template <typename T>
std::vector<T> LoadAll(const EvalContext& context, const Literal& literal) {
  std::vector<T> values(static_cast<size_t>(literal.element_count()));
  context.For(literal.element_count(), 1 << 16,
              [&](int64_t begin, int64_t end) { LoadPacked<T>(literal, begin, end - begin, values.data() + begin); });
  return values;
}

// Kernel panels of each group, a group's panels together.
template <typename T>
std::vector<T> PackKernel(const Problem& p, const std::vector<T>& kernel) {
  const int64_t columns = p.output_features / p.groups(), panels = PanelCount(columns), k = p.k();
  std::vector<T> packed(static_cast<size_t>(p.groups() * panels * kPanel * k));
  for (int64_t f = 0; f < p.output_features; ++f) {
    const int64_t group = f / columns, column = f % columns;
    T* panel = packed.data() + (group * panels + column / kPanel) * kPanel * k;
    PackRow(kernel.data() + f * k, k, column % kPanel, panel);
  }
  return packed;
}

// result: [output batch, spatial..., output feature]
template <typename T>
void Convolve(const EvalContext& context, const Problem& p, const Literal& input, const Literal& kernel,
              Literal& result) {
  const std::vector<T> values = LoadAll<T>(context, input);
  const std::vector<T> panels = PackKernel(p, LoadAll<T>(context, kernel));
  const WindowReader<T> reader(p, values);
  const int64_t k = p.k(), columns = p.output_features / p.groups(), rows = p.output_batch * p.positions;
  const int64_t block = RowsPerBlock<T>(k), blocks = CeilDivide(rows, block);
  context.For(p.groups() * blocks, 1, [&](int64_t begin, int64_t end) {
    std::vector<T> row(static_cast<size_t>(k)), packed(static_cast<size_t>(block * k));
    for (int64_t task = begin; task < end; ++task) {
      const int64_t group = task / blocks, first = task % blocks * block, count = std::min(block, rows - first);
      for (int64_t r = 0; r < count; ++r) {
        const int64_t output_batch = (first + r) / p.positions;
        const int64_t batch = p.batch_groups > 1 ? group * p.output_batch + output_batch : output_batch;
        const int64_t first_feature = p.feature_groups > 1 ? group * p.kernel_features : 0;
        reader.Read(batch, (first + r) % p.positions, first_feature, row.data());
        PackRow(row.data(), k, r % kPanel, packed.data() + r / kPanel * kPanel * k);
      }
      MultiplyBlock(packed.data(), count, panels.data() + group * PanelCount(columns) * kPanel * k, columns, k, result,
                    first * p.output_features + group * columns, p.output_features);
    }
  });
}

std::vector<int64_t> Order(int64_t first, const IntList& spatial, int64_t last) {
  std::vector<int64_t> order{first};
  order.insert(order.end(), spatial.begin(), spatial.end());
  order.push_back(last);
  return order;
}

Problem Describe(const ConvolutionAttributes& a, const Shape& lhs, const Shape& rhs, const Shape& result) {
  const ConvolutionDimensions& dims = *a.dim_labels;
  auto size = [](const Shape& shape, int64_t d) { return shape.dimension(static_cast<int>(d)); };
  Problem p;
  p.window = a.window;
  for (size_t d = 0; d < p.window.size(); ++d) {
    p.input_spatial.push_back(size(lhs, dims.input_spatial[d]));
    p.kernel_spatial.push_back(size(rhs, dims.kernel_spatial[d]));
    p.output_spatial.push_back(size(result, dims.output_spatial[d]));
    p.taps *= p.kernel_spatial.back();
    p.positions *= p.output_spatial.back();
  }
  p.batch = size(lhs, dims.input_batch);
  p.input_features = size(lhs, dims.input_feature);
  p.kernel_features = size(rhs, dims.kernel_input_feature);
  p.output_features = size(rhs, dims.kernel_output_feature);
  p.output_batch = size(result, dims.output_batch);
  p.feature_groups = a.feature_group_count;
  p.batch_groups = a.batch_group_count;
  return p;
}

}  // namespace

EvalResult EvalConvolution(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  const auto& a = instruction.attributes<ConvolutionAttributes>();
  const ConvolutionDimensions& dims = *a.dim_labels;
  const Shape& shape = instruction.shape();
  const int threads = context.options().threads;
  const Problem problem = Describe(a, operands[0].shape(), operands[1].shape(), shape);
  const Literal input =
      TransposeLiteral(operands[0].literal(), Order(dims.input_batch, dims.input_spatial, dims.input_feature), threads);
  const Literal kernel =
      TransposeLiteral(operands[1].literal(),
                       Order(dims.kernel_output_feature, dims.kernel_spatial, dims.kernel_input_feature), threads);
  const std::vector<int64_t> order = Order(dims.output_batch, dims.output_spatial, dims.output_feature);
  std::vector<int64_t> sizes, back(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    sizes.push_back(shape.dimension(static_cast<int>(order[i])));
    back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  }
  Literal result = Literal::Uninitialized(Shape(shape.element_type(), sizes));
  if (result.element_count() > 0) {
    const Accumulator accumulator = AccumulatorFor(input.shape().element_type(), kernel.shape().element_type(),
                                                   shape.element_type(), context.options().plain_f64_products);
    VisitAccumulator(accumulator, [&]<typename T>(T) { Convolve<T>(context, problem, input, kernel, result); });
  }
  if (std::ranges::is_sorted(order)) return std::move(result).Reshaped(shape);
  return TransposeLiteral(result, back, threads).Reshaped(shape);
}

}  // namespace VXLA_NAMESPACE
