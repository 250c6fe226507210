#include "backend/vulkan/lower/indexing/scatter_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/vulkan/codegen/scalar_computation.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// The value of an integer type as the two's complement bits of an s32, those beyond its range at its ends: a uint.
std::string Saturated(ElementType type, const std::string& value) {
  constexpr int64_t kMost = (int64_t{1} << 31) - 1, kLeast = -kMost - 1;
  if (BitWidth(type) < 32) return fmt::format("uint({})", value);
  if (type == ElementType::kS32) return fmt::format("uint({})", value);
  if (type == ElementType::kU32) return fmt::format("min({}, 0x7fffffffu)", value);
  const std::string most = ConstantText(type, &kMost);
  if (type == ElementType::kU64) return fmt::format("convert_u64_u32(minimum_u64({}, {}))", value, most);
  return fmt::format("convert_i64_u32(clamp_i64({}, {}, {}))", ConstantText(type, &kLeast), value, most);
}

}  // namespace

ScatterText::ScatterText(const Instruction& scatter, KernelBuilder& kernel, IndexSpace& space, ValueWriter& writer,
                         std::string combine)
    : scatter_(scatter),
      form_(scatter),
      way_(WayOf(scatter, ScatterTargetOf(kernel.facts()))),
      reducer_(ReadReducer(*scatter.called(0))),
      kernel_(kernel),
      space_(space),
      writer_(writer),
      window_count_(ElementCountOf(form_.window_sizes)),
      combine_(std::move(combine)) {}

void ScatterText::Declare(std::span<const BufferSlice> places) {
  for (int k = 0; k < form_.arrays; ++k) {
    tensors_.push_back(kernel_.AddBuffer(scatter_.operand(k)->shape().element_type(), Access::kReadWrite,
                                         places[static_cast<size_t>(k)]));
  }
  if (way_ == ScatterWay::kAtomic) {
    for (int k = 0; k < form_.arrays; ++k)
      kernel_.Append(ScalarFunction(*scatter_.called(0), ResultOf(scatter_, k), fmt::format("{}_{}", combine_, k)));
    return;
  }
  kernel_.Append(reducer_.combine(combine_));
  // Updates that the program says are apart may be of one value instead (ExpandScatters).
  const bool packed = std::ranges::any_of(tensors_, [&](int k) { return kernel_.is_packed(k); });
  if (packed && way_ == ScatterWay::kApart && Replaces(scatter_))
    kernel_.Append("#undef CHANGE_PART\n#define CHANGE_PART REPLACE_PART\n");
}

ScatterText::Place ScatterText::PlaceOfUpdate(const IndexExpression& linear) {
  const Shape& updates = scatter_.operand(form_.arrays + 1)->shape();
  const MultiIndex index = space_.Delinearize(linear, updates.dimensions());
  Place place;
  for (const int64_t d : form_.batch_dims) place.batch.push_back(index[static_cast<size_t>(d)]);
  for (const int64_t d : form_.window_dims) place.window.push_back(index[static_cast<size_t>(d)]);
  return place;
}

ScatterText::Place ScatterText::PlaceOf(const IndexExpression& n, const IndexExpression& in_window) {
  return {space_.Delinearize(n, form_.batch_sizes), space_.Delinearize(in_window, form_.window_sizes)};
}

std::string ScatterText::UpdateAs(ElementType type, int k, const Place& place) {
  const Instruction& update = *scatter_.operand(form_.arrays + 1 + k);
  MultiIndex index(static_cast<size_t>(update.shape().rank()));
  for (size_t i = 0; i < place.batch.size(); ++i) index[static_cast<size_t>(form_.batch_dims[i])] = place.batch[i];
  for (size_t i = 0; i < place.window.size(); ++i) index[static_cast<size_t>(form_.window_dims[i])] = place.window[i];
  return ConvertedText(update.shape().element_type(), type, writer_.Value(update, index));
}

std::string ScatterText::Start(const MultiIndex& batch, int64_t d) {
  const Instruction& indices = *scatter_.operand(form_.arrays);
  MultiIndex at(static_cast<size_t>(indices.shape().rank()));
  for (size_t i = 0; i < batch.size(); ++i) at[static_cast<size_t>(form_.indices_dims[i])] = batch[i];
  const int64_t vector_dim = scatter_.attributes<ScatterAttributes>().index_vector_dim;
  if (vector_dim < indices.shape().rank()) {
    at[static_cast<size_t>(vector_dim)] = {{}, form_.index_of[static_cast<size_t>(d)]};
  }
  return Saturated(indices.shape().element_type(), writer_.Value(indices, at));
}

ScatterText::Target ScatterText::TargetOf(const Place& place) {
  const Shape& operand = scatter_.operand(0)->shape();
  MultiIndex index(static_cast<size_t>(operand.rank()));
  Target target;
  for (size_t d = 0; d < index.size(); ++d) {
    const int64_t w = form_.window_of[d], b = form_.batch_of[d];
    if (b >= 0) index[d] = place.batch[static_cast<size_t>(b)];
    if (w >= 0) index[d] = place.window[static_cast<size_t>(w)];
    if (form_.index_of[d] < 0) continue;
    std::string at = Start(place.batch, static_cast<int64_t>(d));
    if (w >= 0) at += " + " + writer_.Index(index[d]);
    // Lanes of a group go to the same row: one variable.
    const auto [known, fresh] = positions_.try_emplace(at);
    if (fresh) {
      const int64_t size = operand.dimension(static_cast<int>(d));
      const std::string name = writer_.Assignable(ElementType::kU32, at);
      const int variable = writer_.NewVariable(name, size);
      known->second = {variable, fmt::format("{} < {}", name, kernel_.Param(size))};
    }
    index[d] = space_.Variable(known->second.variable);
    target.conditions.push_back(known->second.inside);
  }
  target.linear = space_.Linearize(index, operand.dimensions());
  return target;
}

void ScatterText::OpenIf(const std::vector<std::string>& conditions) {
  writer_.OpenBlock(conditions.empty() ? "" : fmt::format("if ({})", fmt::join(conditions, " && ")));
}

std::vector<std::string> ScatterText::Held(const IndexExpression& linear) {
  std::vector<std::string> held;
  for (size_t k = 0; k < tensors_.size(); ++k) {
    const ElementType type = kernel_.buffer_type(tensors_[k]), sum = reducer_.types[k];
    const std::string value =
        Replaces(scatter_) ? ZeroText(sum) : ConvertedText(type, sum, writer_.Load(tensors_[k], linear));
    held.push_back(writer_.Assignable(sum, value));
  }
  return held;
}
std::vector<std::vector<std::string>> ScatterText::Accumulators(size_t lanes) {
  std::vector<std::vector<std::string>> held(lanes);
  for (auto& lane : held) {
    for (const ElementType type : reducer_.types) lane.push_back(writer_.Assignable(type, ZeroText(type)));
  }
  return held;
}
void ScatterText::Combine(const std::vector<std::string>& held, const Place& place) {
  std::vector<std::string> values;
  for (int k = 0; k < form_.arrays; ++k) values.push_back(Update(k, place));
  writer_.Line(JoinText(combine_, held, values));
}
void ScatterText::Store(const IndexExpression& linear, const std::vector<std::vector<std::string>>& held) {
  for (size_t k = 0; k < tensors_.size(); ++k) {
    const ElementType type = kernel_.buffer_type(tensors_[k]);
    std::vector<std::string> values;
    for (const auto& lane : held) {
      const std::string rounded = ConvertedText(reducer_.types[k], type, lane[k]);
      values.push_back(rounded == lane[k] ? rounded : writer_.Assignable(type, rounded));
    }
    writer_.StoreGroup(tensors_[k], linear, values);
  }
}

void ScatterText::StoreParts(std::span<const int> parts, const IndexExpression& linear,
                             const std::vector<std::vector<std::string>>& held) {
  for (size_t k = 0; k < parts.size(); ++k) {
    std::vector<std::string> values;
    for (const auto& lane : held) values.push_back(lane[k]);
    writer_.StoreGroup(parts[k], linear, values);
  }
}

void ScatterText::Apply(const IndexExpression& linear, const std::vector<Place>& lanes) {
  std::vector<std::vector<std::string>> held;
  for (size_t j = 0; j < lanes.size(); ++j) {
    held.push_back(Held(space_.Add(linear, {{}, static_cast<int64_t>(j)})));
    Combine(held.back(), lanes[j]);
  }
  Store(linear, held);
}

std::vector<std::string> ScatterText::StartsOf(const IndexExpression& n) {
  const MultiIndex batch = space_.Delinearize(n, form_.batch_sizes);
  std::vector<std::string> starts;
  for (size_t d = 0; d < form_.index_of.size(); ++d) {
    if (form_.index_of[d] >= 0) {
      starts.push_back(writer_.Assignable(ElementType::kU32, Start(batch, static_cast<int64_t>(d))));
    } else if (form_.batch_of[d] >= 0) {
      starts.push_back(writer_.Index(batch[static_cast<size_t>(form_.batch_of[d])]));
    }
  }
  return starts;
}
std::string ScatterText::EqualText(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::string text = "true";
  for (size_t i = 0; i < a.size(); ++i) text += fmt::format(" && {} == {}", a[i], b[i]);
  return text;
}

}  // namespace VXLA_NAMESPACE::vulkan
