#include "core/passes/expand/scatter_windows.h"

#include <algorithm>

namespace VXLA_NAMESPACE {

using enum ElementType;

ScatterWindows::ScatterWindows(Computation& computation, Instruction* scatter)
    : Expansion(computation, scatter), form_(*scatter) {
  sizes_ = SizesOf(scatter->operand(0)->shape());
  for (size_t d = 0; d < sizes_.size(); ++d) {
    if (form_.index_of[d] >= 0 || form_.batch_of[d] >= 0) started_.push_back(static_cast<int64_t>(d));
  }
  window_ = form_.window_sizes;
  count_ = form_.count;
}

Instruction* ScatterWindows::Saturated(Instruction* value) {
  const ElementType type = value->shape().element_type();
  constexpr int64_t kMost = (int64_t{1} << 31) - 1;
  if (BitWidth(type) >= 32 && type != kS32) value = Binary(Opcode::kMinimum, value, Number(kMost, value));
  if (type == kS64) value = Binary(Opcode::kMaximum, value, Number(-kMost - 1, value));
  return Converted(value, kS32);
}

void ScatterWindows::ReadStarts() {
  Instruction* indices = instruction().operand(form_.arrays);
  const int64_t vector_dim = instruction().attributes<ScatterAttributes>().index_vector_dim;
  const bool vectors = vector_dim < indices->shape().rank();
  if (vectors) {
    IntList order = form_.indices_dims;
    order.push_back(vector_dim);
    indices = Transposed(indices, order);
  }
  const int64_t length =
      vectors ? instruction().operand(form_.arrays)->shape().dimension(static_cast<int>(vector_dim)) : 1;
  indices = Saturated(Reshaped(indices, {count_, length}));
  for (const int64_t d : started_) {
    const int64_t k = form_.index_of[static_cast<size_t>(d)], batch = form_.batch_of[static_cast<size_t>(d)];
    starts_.push_back(k >= 0 ? Slice(indices, 1, k, k + 1)
                             : Reshaped(Iota(kS32, form_.batch_sizes, batch), {count_, 1}));
  }
}

void ScatterWindows::ReadUpdates() {
  IntList order = form_.batch_dims, sizes{count_};
  order.insert(order.end(), form_.window_dims.begin(), form_.window_dims.end());
  sizes.insert(sizes.end(), window_.begin(), window_.end());
  for (int k = 0; k < form_.arrays; ++k) {
    updates_.push_back(Reshaped(Transposed(instruction().operand(form_.arrays + 1 + k), order), sizes));
  }
}

void ScatterWindows::TakeWindowsApart() {
  IntList all{count_};
  all.insert(all.end(), window_.begin(), window_.end());
  const int64_t total = ElementCountOf(all);
  std::vector<Instruction*> starts;
  IntList started;
  size_t next = 0;
  for (int64_t d = 0; d < static_cast<int64_t>(sizes_.size()); ++d) {
    Instruction* place = nullptr;
    if (next < started_.size() && started_[next] == d) {
      Instruction* const start = Reshaped(starts_[next++], {count_});
      place = Broadcast(start, all, {0});
    }
    if (const int64_t w = form_.window_of[static_cast<size_t>(d)]; w >= 0) {
      Instruction* const inside = Iota(kS32, all, w + 1);
      place = place == nullptr ? inside : Binary(Opcode::kAdd, place, inside);
    }
    if (place == nullptr) continue;  // a dropped dimension of size 1 that no index names
    starts.push_back(Reshaped(place, {total, 1}));
    started.push_back(d);
  }
  starts_ = std::move(starts);
  started_ = std::move(started);
  for (Instruction*& update : updates_) update = Reshaped(update, {total});
  window_.clear();
  count_ = total;
}

int64_t ScatterWindows::Places() const {
  int64_t places = 1;
  for (const int64_t d : started_) places *= sizes_[static_cast<size_t>(d)];
  return places;
}
Instruction* ScatterWindows::Keys() {
  Instruction *key = nullptr, *inside = nullptr;
  int64_t places = 1;
  for (size_t i = started_.size(); i-- > 0;) {
    const int64_t size = sizes_[static_cast<size_t>(started_[i])];
    Instruction* const start = Reshaped(starts_[i], {count_});
    Instruction* const valid = Binary(Opcode::kAnd, Compare(ComparisonDirection::kGe, start, Number(0, start)),
                                      Compare(ComparisonDirection::kLt, start, Number(size, start)));
    Instruction* const part = Binary(Opcode::kMultiply, start, Number(places, start));
    key = key == nullptr ? part : Binary(Opcode::kAdd, key, part);
    inside = inside == nullptr ? valid : Binary(Opcode::kAnd, inside, valid);
    places *= size;
  }
  return Add(Opcode::kSelect, key->shape(), {inside, key, Number(places, key)});
}

}  // namespace VXLA_NAMESPACE
