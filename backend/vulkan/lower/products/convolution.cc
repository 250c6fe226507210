// Convolutions as implicit matrix products: a term of the sum is a tap and an input feature, and reading the input at
// it is a load hook, so no copy of the windows is made. On one side are the output features (of a group), on the other
// the rest of the output: images and positions. Groups are the product's batches.

#include <algorithm>

#include "backend/vulkan/lower/products/product.h"
#include "backend/vulkan/lower/rows/window_place.h"
#include "core/numerics/accuracy.h"
#include "core/numerics/reducer_facts.h"

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

// Of an operand with holes, lhs_dilate - 1 after each element, output `period * q + phase` sees elements under every
// period-th tap alone: under reach first(phase) + period * n of the window lies element q + n + shift(phase).
struct Phases {
  int64_t period = 1, taps = 1;  // of a phase, at most
  int64_t slope = 0, first = 0;  // first(phase) = first + slope * phase, above -period
  int64_t shift = 0, shift_slope = 0;
};

// Nothing where the dimension has no holes or its outputs do not make up whole periods.
Phases PhasesOf(const WindowDimension& w, int64_t outputs) {
  const int64_t s = w.lhs_dilate;
  if (s == 1 || w.stride != 1 || w.rhs_dilate != 1 || outputs % s != 0) return {1, w.size};
  const int64_t rest = ((w.pad_low % s) + s) % s;
  Phases phases{.period = s};
  if (s == 2 && rest == 0) {
    phases.slope = phases.shift_slope = 1;
    phases.shift = -w.pad_low / s;
  } else {
    phases.slope = -1;
    phases.first = rest;
    phases.shift = (rest - w.pad_low) / s;
  }
  for (const int64_t phase : {int64_t{0}, s - 1}) {
    const int64_t first = phases.first + phases.slope * phase;
    phases.taps = std::max(phases.taps, (w.size - 1 - first) / s + 1);
  }
  return phases;
}

class ConvolutionReader final : public ProductReader {
 public:
  explicit ConvolutionReader(const FusionDescription& body)
      : ProductReader(body, body.hero->notes().wide_sum || IsShort(*body.hero)),
        a_(hero().attributes<ConvolutionAttributes>()),
        dims_(*a_.dim_labels),
        window_(WindowOf(hero())) {
    const Shape& output = hero().shape();
    for (int64_t d = 0; d < output.rank(); ++d) {
      if (d != dims_.output_feature) others_.push_back(d);
    }
    other_sizes_ = SizesOf(output, others_);
    groups_ = std::max(a_.feature_group_count, a_.batch_group_count);
    batch_sizes_ = {groups_};
    features_ = output.dimension(static_cast<int>(dims_.output_feature)) / groups_;
    kernel_features_ = kernel().shape().dimension(static_cast<int>(dims_.kernel_input_feature));
    for (const WindowDimension& w : window_) phases_.push_back({1, w.size});
    OrderTerms();
    // Columns are what neighbouring results differ in.
    int64_t minor = output.rank() - 1;
    while (minor > 0 && output.dimension(static_cast<int>(minor)) == 1) --minor;
    by_features_ = minor == dims_.output_feature;
    if (!by_features_) std::swap(lhs_, rhs_);
    CountWork();
    if (!IsNarrow()) SkipHoles();
  }

  std::string Value(ValueWriter& writer, bool lhs, const ProductPlace& at) const override {
    if (operand(lhs).shape().ElementCount() == 0) return ZeroText(sum_type);
    const Element element = ElementOf(writer, lhs, at);
    return ChosenText(element.conditions, Converted(operand(lhs), writer.Value(operand(lhs), element.index)),
                      ZeroText(sum_type));
  }
  // Of features of one tap, which are there together.
  std::vector<std::string> Words(ValueWriter& writer, bool lhs, const ProductPlace& at) const override {
    const int64_t most = 16 / StorageBytes(operand(lhs).shape().element_type());
    const bool together =
        AlongK(lhs) ? features_last_ && kernel_features_ % most == 0 : !IsInput(lhs) && features_ % most == 0;
    if (!together || operand(lhs).shape().ElementCount() == 0) return {};
    const Element element = ElementOf(writer, lhs, at);
    std::vector<std::string> words = writer.GroupWords(operand(lhs), element.index);
    for (std::string& word : words) word = ChosenText(element.conditions, word, "0u");
    return words;
  }
  bool AlongK(bool lhs) const override { return IsInput(lhs) ? InputAlongK() : KernelAlongK(); }

  IndexExpression Linear(IndexSpace& space, const ProductPlace& at) const override {
    const IndexExpression& feature = by_features_ ? at.column : at.row;
    const MultiIndex others = space.Delinearize(by_features_ ? at.row : at.column, other_sizes_);
    const Batch batch = BatchOf(space, at.batch);
    MultiIndex index(others_.size() + 1);
    for (size_t i = 0; i < others_.size(); ++i) index[static_cast<size_t>(others_[i])] = others[i];
    for (size_t d = 0; d < window_.size(); ++d) {
      IndexExpression& position = index[static_cast<size_t>(dims_.output_spatial[d])];
      position = space.Add(space.Scale(position, phases_[d].period), batch.phases[d]);
    }
    index[static_cast<size_t>(dims_.output_feature)] = space.Add(space.Scale(batch.group, features_), feature);
    return space.Linearize(index, hero().shape().dimensions());
  }
  ProductPlace PlaceOf(IndexSpace& space, const IndexExpression& linear) const override {
    MultiIndex index = space.Delinearize(linear, hero().shape().dimensions());
    MultiIndex others, batch(1);
    for (size_t d = 0; d < window_.size(); ++d) {
      if (phases_[d].period == 1) continue;
      IndexExpression& position = index[static_cast<size_t>(dims_.output_spatial[d])];
      const int64_t outputs = hero().shape().dimension(static_cast<int>(dims_.output_spatial[d]));
      MultiIndex digits = space.Delinearize(position, IntList{outputs / phases_[d].period, phases_[d].period});
      position = digits[0];
      batch.push_back(digits[1]);
    }
    for (int64_t d : others_) others.push_back(index[static_cast<size_t>(d)]);
    const MultiIndex feature =
        space.Delinearize(index[static_cast<size_t>(dims_.output_feature)], IntList{groups_, features_});
    const IndexExpression other = space.Linearize(others, other_sizes_);
    batch[0] = feature[0];
    const IndexExpression whole = space.Linearize(batch, batch_sizes_);
    return by_features_ ? ProductPlace{whole, other, {}, feature[1]} : ProductPlace{whole, feature[1], {}, other};
  }

  // A workgroup of lanes has too little to do with a few columns: each result is a sum of its own.
  bool IsNarrow() const { return work.k == 0 || work.rows == 1 || work.columns < 4; }
  ProductRows Rows() const {
    const bool contiguous = ElementCountOf(other_sizes_) == 1 ? !KernelAlongK() : !InputAlongK();
    const auto dimensions = hero().shape().dimensions();
    const int64_t run = contiguous ? LastRun(IntList(dimensions.begin(), dimensions.end())) : work.k_run;
    std::vector<RowWindow> windows(dimensions.size());
    int64_t apart = features_last_ ? kernel_features_ : 1;
    for (size_t d = window_.size(); d-- > 0; apart *= window_[d].size)
      windows[static_cast<size_t>(dims_.output_spatial[d])] = RowWindowOf(window_[d], apart);
    return {contiguous, run % 8 == 0 ? 8u : run % 4 == 0 ? 4u : 1u, std::move(windows), by_features_};
  }

 private:
  void CountWork() {
    const int64_t others = ElementCountOf(other_sizes_);
    work.batches = ElementCountOf(batch_sizes_);
    work.rows = by_features_ ? others : features_;
    work.columns = by_features_ ? features_ : others;
    work.k = ElementCountOf(term_sizes_);
    work.k_run = LastRun(term_sizes_);
    work.along_k = AlongK(true) || AlongK(false);
  }

  // Each phase is a product of its own, of the terms that are no holes; not where its rows would be too few for a tile.
  void SkipHoles() {
    constexpr int64_t kLeastOthers = 32;
    std::vector<Phases> phases;
    int64_t taps = 1, all_taps = 1, count = 1;
    for (size_t d = 0; d < window_.size(); ++d) {
      const int64_t outputs = hero().shape().dimension(static_cast<int>(dims_.output_spatial[d]));
      phases.push_back(PhasesOf(window_[d], outputs));
      taps *= phases[d].taps;
      all_taps *= window_[d].size;
      count *= phases[d].period;
    }
    if (taps >= all_taps || ElementCountOf(other_sizes_) / count < kLeastOthers) return;
    phases_ = std::move(phases);
    for (size_t d = 0; d < window_.size(); ++d) {
      const auto at = std::ranges::find(others_, dims_.output_spatial[d]);
      other_sizes_[static_cast<size_t>(at - others_.begin())] /= phases_[d].period;
      term_sizes_[d + (features_last_ ? 0 : 1)] = phases_[d].taps;
      if (phases_[d].period > 1) batch_sizes_.push_back(phases_[d].period);
    }
    CountWork();
  }

  // Which group, and of each spatial dimension which phase.
  struct Batch {
    IndexExpression group;
    MultiIndex phases;
  };
  Batch BatchOf(IndexSpace& space, const IndexExpression& batch) const {
    if (batch_sizes_.size() == 1) return {batch, MultiIndex(window_.size())};
    const MultiIndex digits = space.Delinearize(batch, batch_sizes_);
    Batch parts{digits[0], {}};
    size_t next = 1;
    for (const Phases& phases : phases_) parts.phases.push_back(phases.period > 1 ? digits[next++] : IndexExpression());
    return parts;
  }

  // How far into the window a tap of a phase reaches; outside of it where the phase has fewer taps than others.
  IndexExpression ReachOf(IndexSpace& space, size_t d, const IndexExpression& phase, const IndexExpression& tap) const {
    const Phases& phases = phases_[d];
    return space.Add(space.Add(space.Scale(tap, phases.period), space.Scale(phase, phases.slope)), {{}, phases.first});
  }

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
  MultiIndex InputIndex(IndexSpace& space, const Batch& batch, const IndexExpression& other, const IndexExpression& k,
                        Element&& element) const {
    const MultiIndex others = space.Delinearize(other, other_sizes_);
    MultiIndex output(others.size() + 1), index(output.size());
    for (size_t i = 0; i < others.size(); ++i) output[static_cast<size_t>(others_[i])] = others[i];
    const Term term = TermOf(space, k);
    for (size_t d = 0; d < window_.size(); ++d) {
      const IndexExpression& at = output[static_cast<size_t>(dims_.output_spatial[d])];
      IndexExpression position;
      if (phases_[d].period == 1) {
        position = TapPosition(space, window_[d], at, term.taps[d]);
      } else {
        position = space.Add(space.Add(at, term.taps[d]), space.Scale(batch.phases[d], phases_[d].shift_slope));
        position = space.Add(position, {{}, phases_[d].shift});
      }
      index[static_cast<size_t>(dims_.input_spatial[d])] = element(d, position, term.taps[d]);
    }
    const int64_t images = hero().shape().dimension(static_cast<int>(dims_.output_batch));
    index[static_cast<size_t>(dims_.input_batch)] =
        space.Add(output[static_cast<size_t>(dims_.output_batch)],
                  a_.batch_group_count > 1 ? space.Scale(batch.group, images) : IndexExpression());
    index[static_cast<size_t>(dims_.input_feature)] = space.Add(
        term.feature, a_.feature_group_count > 1 ? space.Scale(batch.group, kernel_features_) : IndexExpression());
    return index;
  }

  // `inside` makes the reach of a tap one that exists.
  template <typename Inside>
  MultiIndex KernelIndex(IndexSpace& space, const Batch& batch, const IndexExpression& feature,
                         const IndexExpression& k, Inside&& inside) const {
    const Term term = TermOf(space, k);
    MultiIndex index(static_cast<size_t>(kernel().shape().rank()));
    for (size_t d = 0; d < window_.size(); ++d) {
      IndexExpression& tap = index[static_cast<size_t>(dims_.kernel_spatial[d])];
      tap = term.taps[d];
      if (phases_[d].period == 1) continue;
      tap = inside(d, ReachOf(space, d, batch.phases[d], tap));
      if (window_[d].reversal) tap = space.Add({{}, window_[d].size - 1}, space.Scale(tap, -1));
    }
    index[static_cast<size_t>(dims_.kernel_input_feature)] = term.feature;
    index[static_cast<size_t>(dims_.kernel_output_feature)] = space.Add(space.Scale(batch.group, features_), feature);
    return index;
  }

  // An element of an operand, and when it is there; else the index is one that exists.
  struct Element {
    MultiIndex index;
    std::vector<std::string> conditions;
  };
  bool IsInput(bool lhs) const { return lhs == by_features_; }
  // None in the padding and in the holes of the base dilation: zero takes part in the sum like any element. So it does
  // where a phase has no tap, as the kernel is there.
  Element ElementOf(ValueWriter& writer, bool lhs, const ProductPlace& at) const {
    if (!writer.IsComputed(operand(lhs))) {
      Element element = ElementOf(writer, lhs, at, /*clamps=*/false);
      if (element.conditions.empty()) return element;
      std::optional<MultiIndex> index = writer.Existing(element.index, operand(lhs).shape(), element.conditions);
      if (index.has_value()) return {*std::move(index), std::move(element.conditions)};
    }
    return ElementOf(writer, lhs, at, /*clamps=*/true);
  }
  Element ElementOf(ValueWriter& writer, bool lhs, const ProductPlace& at, bool clamps) const {
    const IndexExpression& free = lhs ? at.row : at.column;
    IndexSpace& space = writer.space();
    const Batch batch = BatchOf(space, at.batch);
    Element element;
    const auto exists = [&](size_t d, const IndexExpression& reach) {
      return ElementAt(writer, reach, window_[d].size, 1, &element.conditions, clamps);
    };
    if (!IsInput(lhs)) {
      element.index = KernelIndex(space, batch, free, at.k, exists);
      return element;
    }
    element.index = InputIndex(
        space, batch, free, at.k, [&](size_t d, const IndexExpression& position, const IndexExpression& tap) {
          const int64_t size = input().shape().dimension(static_cast<int>(dims_.input_spatial[d]));
          const bool phased = phases_[d].period > 1;
          if (phased) exists(d, ReachOf(space, d, batch.phases[d], tap));
          return ElementAt(writer, position, size, phased ? 1 : window_[d].lhs_dilate, &element.conditions, clamps);
        });
    return element;
  }

  bool InputAlongK() const {
    IndexSpace space;
    const IndexExpression batch = space.Variable(space.AddVariable(ElementCountOf(batch_sizes_))),
                          other = space.Variable(space.AddVariable(ElementCountOf(other_sizes_)));
    const int k = space.AddVariable(ElementCountOf(term_sizes_));
    const auto there = [](size_t, const IndexExpression& position, const IndexExpression&) { return position; };
    return RunsAlong(space, input(), InputIndex(space, BatchOf(space, batch), other, space.Variable(k), there), k);
  }
  bool KernelAlongK() const {
    IndexSpace space;
    const IndexExpression batch = space.Variable(space.AddVariable(ElementCountOf(batch_sizes_))),
                          feature = space.Variable(space.AddVariable(features_));
    const int k = space.AddVariable(ElementCountOf(term_sizes_));
    const auto there = [](size_t, const IndexExpression& reach) { return reach; };
    return RunsAlong(space, kernel(), KernelIndex(space, BatchOf(space, batch), feature, space.Variable(k), there), k);
  }

  const ConvolutionAttributes& a_;
  const ConvolutionDimensions& dims_;
  const Window window_;
  IntList others_, other_sizes_;      // dimensions of the output but for the features
  IntList term_sizes_, batch_sizes_;  // of batches: groups, and phases of dimensions that have several
  std::vector<Phases> phases_;        // by spatial dimension
  bool features_last_ = true, by_features_ = true;
  int64_t groups_ = 1, features_ = 1, kernel_features_ = 1;  // features of the output and of the kernel, a group's
};

}  // namespace

std::unique_ptr<ProductReader> ReadConvolution(const FusionDescription& body) {
  return std::make_unique<ConvolutionReader>(body);
}

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
