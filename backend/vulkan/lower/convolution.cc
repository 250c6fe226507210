// Convolutions as implicit matrix products: a term of the sum is a tap and an input feature, and reading the input at
// it is a load hook, so no copy of the windows is made. On one side are the output features (of a group), on the other
// the rest of the output: images and positions. Groups are the product's batches.
#include <fmt/format.h>

#include <algorithm>

#include "backend/vulkan/lower/product.h"
#include "backend/vulkan/lower/window_place.h"
#include "core/accuracy.h"
#include "core/reducer_facts.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Text may leave the window out: then it has the kernel's sizes.
Window WindowOf(const Instruction& convolution) {
  const auto& a = convolution.attributes<ConvolutionAttributes>();
  Window window = a.window;
  if (window.empty()) {
    for (int64_t d : a.dim_labels->kernel_spatial)
      window.push_back({.size = convolution.operand(1)->shape().dimension(static_cast<int>(d))});
  }
  return window;
}

IntList SizesOf(const Shape& shape, const IntList& dimensions) {
  IntList sizes;
  for (int64_t d : dimensions) sizes.push_back(shape.dimension(static_cast<int>(d)));
  return sizes;
}

int64_t ProductOfSizes(const IntList& sizes) {
  int64_t product = 1;
  for (int64_t size : sizes) product *= size;
  return product;
}

// The last size above 1.
int64_t LastRun(const IntList& sizes) {
  const auto last = std::find_if(sizes.rbegin(), sizes.rend(), [](int64_t size) { return size != 1; });
  return last == sizes.rend() ? 1 : *last;
}

// So few terms leave a kernel waiting for memory, and rounded one after the other they can miss the last bits of a sum
// that cancels: they are kept in two floats.
constexpr int64_t kShortSum = 32;

bool IsShort(const Instruction& convolution) {
  const auto& a = convolution.attributes<ConvolutionAttributes>();
  if (a.feature_group_count != 1 || a.batch_group_count != 1) return false;  // depthwise ones have rows of their own
  for (const Instruction* operand : convolution.operands()) {
    if (operand->shape().element_type() != ElementType::kF32) return false;
  }
  return convolution.shape().element_type() == ElementType::kF32 && AccumulationLength(convolution) <= kShortSum;
}

class ConvolutionReader final : public ProductReader {
 public:
  explicit ConvolutionReader(const FusionDescription& body)
      : ProductReader(body, AccumulatesWide(*body.hero) || IsShort(*body.hero)),
        a_(hero().attributes<ConvolutionAttributes>()),
        dims_(*a_.dim_labels),
        window_(WindowOf(hero())) {
    const Shape& output = hero().shape();
    for (int64_t d = 0; d < output.rank(); ++d) {
      if (d != dims_.output_feature) others_.push_back(d);
    }
    other_sizes_ = SizesOf(output, others_);
    groups_ = std::max(a_.feature_group_count, a_.batch_group_count);
    features_ = output.dimension(static_cast<int>(dims_.output_feature)) / groups_;
    kernel_features_ = kernel().shape().dimension(static_cast<int>(dims_.kernel_input_feature));
    OrderTerms();
    // Columns are what neighbouring results differ in.
    int64_t minor = output.rank() - 1;
    while (minor > 0 && output.dimension(static_cast<int>(minor)) == 1) --minor;
    by_features_ = minor == dims_.output_feature;
    if (!by_features_) std::swap(lhs_, rhs_);
    const int64_t others = ProductOfSizes(other_sizes_);
    work.batches = groups_;
    work.rows = by_features_ ? others : features_;
    work.columns = by_features_ ? features_ : others;
    work.k = ProductOfSizes(term_sizes_);
    work.k_run = LastRun(term_sizes_);
    work.along_k = LhsAlongK() || RhsAlongK();
  }

  std::string LhsValue(ValueWriter& writer, const ProductPlace& at) const override {
    return by_features_ ? InputValue(writer, at.batch, at.row, at.k) : KernelValue(writer, at.batch, at.row, at.k);
  }
  std::string RhsValue(ValueWriter& writer, const ProductPlace& at) const override {
    return by_features_ ? KernelValue(writer, at.batch, at.column, at.k)
                        : InputValue(writer, at.batch, at.column, at.k);
  }
  bool LhsAlongK() const override { return by_features_ ? InputAlongK() : KernelAlongK(); }
  bool RhsAlongK() const override { return by_features_ ? KernelAlongK() : InputAlongK(); }

  IndexExpression Linear(IndexSpace& space, const ProductPlace& at) const override {
    const IndexExpression& feature = by_features_ ? at.column : at.row;
    const MultiIndex others = space.Delinearize(by_features_ ? at.row : at.column, other_sizes_);
    MultiIndex index(others_.size() + 1);
    for (size_t i = 0; i < others_.size(); ++i) index[static_cast<size_t>(others_[i])] = others[i];
    index[static_cast<size_t>(dims_.output_feature)] = space.Add(space.Scale(at.batch, features_), feature);
    return space.Linearize(index, hero().shape().dimensions());
  }
  ProductPlace PlaceOf(IndexSpace& space, const IndexExpression& linear) const override {
    const MultiIndex index = space.Delinearize(linear, hero().shape().dimensions());
    MultiIndex others;
    for (int64_t d : others_) others.push_back(index[static_cast<size_t>(d)]);
    const MultiIndex feature =
        space.Delinearize(index[static_cast<size_t>(dims_.output_feature)], IntList{groups_, features_});
    const IndexExpression other = space.Linearize(others, other_sizes_);
    return by_features_ ? ProductPlace{feature[0], other, {}, feature[1]}
                        : ProductPlace{feature[0], feature[1], {}, other};
  }

  // A workgroup of lanes has too little to do with a few columns: each result is a sum of its own.
  bool IsNarrow() const { return work.k == 0 || work.rows == 1 || work.columns < 4; }
  ProductRows Rows() const {
    const bool contiguous = ProductOfSizes(other_sizes_) == 1 ? !KernelAlongK() : !InputAlongK();
    const auto dimensions = hero().shape().dimensions();
    const int64_t run = contiguous ? LastRun(IntList(dimensions.begin(), dimensions.end())) : work.k_run;
    std::vector<bool> shares(dimensions.size(), false);
    for (size_t d = 0; d < window_.size(); ++d)
      shares[static_cast<size_t>(dims_.output_spatial[d])] = window_[d].size > window_[d].stride;
    return {contiguous, run % 8 == 0 ? 8u : run % 4 == 0 ? 4u : 1u, std::move(shares)};
  }

 private:
  const Instruction& input() const { return *hero().operand(0); }
  const Instruction& kernel() const { return *hero().operand(1); }

  // Terms are numbered tap by tap, or feature by feature: as the input lies in memory, but for features that fill
  // steps of several terms, which then are of one tap.
  void OrderTerms() {
    const bool features_inside = std::ranges::all_of(dims_.input_spatial, [&](int64_t d) {
      return d < dims_.input_feature || input().shape().dimension(static_cast<int>(d)) == 1;
    });
    const bool images_inside = dims_.input_batch == input().shape().rank() - 1;
    features_last_ = features_inside || (!images_inside && kernel_features_ % 4 == 0);
    term_sizes_ = SizesOf(kernel().shape(), dims_.kernel_spatial);
    term_sizes_.insert(features_last_ ? term_sizes_.end() : term_sizes_.begin(), kernel_features_);
  }

  struct Term {
    MultiIndex taps;
    IndexExpression feature;
  };
  Term TermOf(IndexSpace& space, const IndexExpression& k) const {
    MultiIndex index = space.Delinearize(k, term_sizes_);
    const auto at = features_last_ ? index.end() - 1 : index.begin();
    const IndexExpression feature = *at;
    index.erase(at);
    return {std::move(index), feature};
  }

  // The input's index of a term; `element` makes that of a spatial dimension from a position.
  template <typename Element>
  MultiIndex InputIndex(IndexSpace& space, const IndexExpression& group, const IndexExpression& other,
                        const IndexExpression& k, Element&& element) const {
    const MultiIndex others = space.Delinearize(other, other_sizes_);
    MultiIndex output(others.size() + 1), index(output.size());
    for (size_t i = 0; i < others.size(); ++i) output[static_cast<size_t>(others_[i])] = others[i];
    const Term term = TermOf(space, k);
    for (size_t d = 0; d < window_.size(); ++d) {
      const IndexExpression position =
          TapPosition(space, window_[d], output[static_cast<size_t>(dims_.output_spatial[d])], term.taps[d]);
      index[static_cast<size_t>(dims_.input_spatial[d])] = element(d, position);
    }
    const int64_t batch = hero().shape().dimension(static_cast<int>(dims_.output_batch));
    index[static_cast<size_t>(dims_.input_batch)] =
        space.Add(output[static_cast<size_t>(dims_.output_batch)],
                  a_.batch_group_count > 1 ? space.Scale(group, batch) : IndexExpression());
    index[static_cast<size_t>(dims_.input_feature)] =
        space.Add(term.feature, a_.feature_group_count > 1 ? space.Scale(group, kernel_features_) : IndexExpression());
    return index;
  }

  MultiIndex KernelIndex(IndexSpace& space, const IndexExpression& group, const IndexExpression& feature,
                         const IndexExpression& k) const {
    const Term term = TermOf(space, k);
    MultiIndex index(static_cast<size_t>(kernel().shape().rank()));
    for (size_t d = 0; d < window_.size(); ++d) index[static_cast<size_t>(dims_.kernel_spatial[d])] = term.taps[d];
    index[static_cast<size_t>(dims_.kernel_input_feature)] = term.feature;
    index[static_cast<size_t>(dims_.kernel_output_feature)] = space.Add(space.Scale(group, features_), feature);
    return index;
  }

  // Zero in the padding and in the holes of the base dilation: it takes part in the sum like any element.
  std::string InputValue(ValueWriter& writer, const IndexExpression& group, const IndexExpression& other,
                         const IndexExpression& k) const {
    if (input().shape().ElementCount() == 0) return ZeroText(sum_type);
    std::vector<std::string> conditions;
    const MultiIndex index =
        InputIndex(writer.space(), group, other, k, [&](size_t d, const IndexExpression& position) {
          const int64_t size = input().shape().dimension(static_cast<int>(dims_.input_spatial[d]));
          return ElementAt(writer, position, size, window_[d].lhs_dilate, &conditions);
        });
    return ChosenText(conditions, Converted(input(), writer.Value(input(), index)), ZeroText(sum_type));
  }

  std::string KernelValue(ValueWriter& writer, const IndexExpression& group, const IndexExpression& feature,
                          const IndexExpression& k) const {
    return Converted(kernel(), writer.Value(kernel(), KernelIndex(writer.space(), group, feature, k)));
  }

  bool InputAlongK() const {
    IndexSpace space;
    const IndexExpression group = space.Variable(space.AddVariable(groups_)),
                          other = space.Variable(space.AddVariable(ProductOfSizes(other_sizes_)));
    const int k = space.AddVariable(ProductOfSizes(term_sizes_));
    return RunsAlong(space, input(),
                     InputIndex(space, group, other, space.Variable(k),
                                [](size_t, const IndexExpression& position) { return position; }),
                     k);
  }
  bool KernelAlongK() const {
    IndexSpace space;
    const IndexExpression group = space.Variable(space.AddVariable(groups_)),
                          feature = space.Variable(space.AddVariable(features_));
    const int k = space.AddVariable(ProductOfSizes(term_sizes_));
    return RunsAlong(space, kernel(), KernelIndex(space, group, feature, space.Variable(k)), k);
  }

  const ConvolutionAttributes& a_;
  const ConvolutionDimensions& dims_;
  const Window window_;
  IntList others_, other_sizes_;  // dimensions of the output but for the features
  IntList term_sizes_;
  bool features_last_ = true, by_features_ = true;
  int64_t groups_ = 1, features_ = 1, kernel_features_ = 1;  // features of the output and of the kernel, a group's
};

}  // namespace

Status CanLowerConvolution(const LowerContext&, const FusionDescription& body) {
  const Instruction& hero = *body.hero;
  const IntList& spatial = hero.attributes<ConvolutionAttributes>().dim_labels->input_spatial;
  VXLA_RETURN_IF_ERROR(CheckWindow(hero, WindowOf(hero), SizesOf(hero.operand(0)->shape(), spatial)));
  return CheckProductRoots(body);
}

Result<std::vector<Step>> LowerConvolution(const LowerContext& context, const FusionDescription& body,
                                           BufferMap& buffers) {
  const ConvolutionReader reader(body);
  if (reader.IsNarrow()) return LowerProductRows(context, reader, buffers, reader.Rows());
  return LowerProduct(context, reader, buffers);
}

}  // namespace VXLA_NAMESPACE::vulkan
