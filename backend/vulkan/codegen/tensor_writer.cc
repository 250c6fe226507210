#include "backend/vulkan/codegen/tensor_writer.h"

#include <fmt/format.h>

#include <algorithm>

namespace VXLA_NAMESPACE::vulkan {
namespace {

Expression Loaded(int k, std::string_view tag, int count, std::string index, std::optional<ElementType> decoded = {}) {
  return Expression(Elements{std::to_string(k), tag, count, std::move(index)}, decoded);
}

}  // namespace

int TensorWriter::NewVariable(std::string glsl_name, int64_t size, int64_t width) {
  const int variable = IndexWriter::NewVariable(std::move(glsl_name), size);
  if (width > 1) Vectorize(variable, static_cast<int>(width));
  return variable;
}

const std::string& TensorWriter::OfAnyNan(const std::string& local) const {
  const auto other = any_nan_of_.find(local);
  return other != any_nan_of_.end() ? other->second : local;
}

Code TensorWriter::Take() {
  rounded_.clear();
  any_nan_of_.clear();
  return IndexWriter::Take();
}

void TensorWriter::StoreValues(int k, std::string_view tag, const std::string& index, std::vector<Stored> values) {
  Add({.kind = Statement::Kind::kStore,
       .target = {std::to_string(k), tag, static_cast<int>(values.size()), index},
       .values = std::move(values)});
}

std::string TensorWriter::Load(int k, const IndexExpression& linear) {
  if (const auto group = FindGroup(k, linear)) return LoadFromGroup(k, *group);
  return Once(fmt::format("e{}:{}", k, KeyOf(linear)), [&] {
    const ElementType type = kernel_.buffer_type(k);
    return Local(CarrierType(type), Loaded(k, StorageTag(type), 1, Place(linear), type));
  });
}

void TensorWriter::Vectorize(int variable, int width) {
  VXLA_CHECK(width == 4 || width == 8 || width == 16, "width of a group");
  vector_variables_.push_back(variable);
  vector_width_ = width;
}

std::optional<TensorWriter::GroupPlace> TensorWriter::FindGroup(int k, const IndexExpression& linear,
                                                                bool along) const {
  const int bytes = StorageBytes(kernel_.buffer_type(k)), group_bytes = bytes * vector_width_;
  const bool words = kernel_.groups_are_words(k);
  if (vector_width_ == 1 || (words ? group_bytes % 4 != 0 : bytes != 4 || vector_width_ > 8)) return std::nullopt;
  if (kernel_.buffer_offset(k) % (words ? 4 : group_bytes) != 0) return std::nullopt;
  GroupPlace found;
  bool is_along = !along;
  for (IndexTerm term : linear.terms) {
    if (term.coefficient % vector_width_ != 0) return std::nullopt;
    is_along |= std::ranges::find(vector_variables_, term.variable) != vector_variables_.end() && term.divisor == 1 &&
                term.coefficient == vector_width_;
    term.coefficient /= vector_width_;
    found.group.terms.push_back(term);
  }
  if (!is_along) return std::nullopt;
  found.place = ((linear.constant % vector_width_) + vector_width_) % vector_width_;
  found.group.constant = (linear.constant - found.place) / vector_width_;
  const auto [low, high] = space_.Range(found.group);
  if (low < 0 || (high + 1) * group_bytes > kernel_.buffer_bytes(k)) return std::nullopt;
  return found;
}

std::optional<MultiIndex> TensorWriter::Existing(const MultiIndex& index, const Shape& shape,
                                                 std::span<const std::string> conditions) {
  IndexExpression linear = space_.Linearize(index, shape.dimensions());
  const int64_t elements = shape.ElementCount();
  const bool groups = elements % vector_width_ == 0 && std::ranges::all_of(linear.terms, [&](const IndexTerm& term) {
                        return term.coefficient % vector_width_ == 0;
                      });
  const int64_t width = groups ? vector_width_ : 1, place = ((linear.constant % width) + width) % width;
  linear.constant -= place;
  for (IndexTerm& term : linear.terms) term.coefficient /= width;
  linear.constant /= width;
  const auto [low, high] = space_.Range(linear);
  if (low < -(int64_t{1} << 31) || high >= int64_t{1} << 31) return std::nullopt;
  const std::string there = fmt::format("{}", fmt::join(conditions, " && "));
  const IndexExpression chosen = VariableOnce(there + ":" + KeyOf(linear), elements / width,
                                              [&] { return fmt::format("{} ? {} : 0u", there, Index(linear)); });
  const int variable = chosen.terms.empty() ? -1 : chosen.terms[0].variable;
  if (width > 1 && std::ranges::find(vector_variables_, variable) == vector_variables_.end())
    vector_variables_.push_back(variable);
  return space_.Delinearize(space_.Add(space_.Scale(chosen, width), {{}, place}), shape.dimensions());
}

// A group of packed elements is whole words.
IndexExpression TensorWriter::WordOf(int k, const GroupPlace& at) const {
  const int64_t bytes = StorageBytes(kernel_.buffer_type(k));
  return space_.Add(space_.Scale(at.group, bytes * vector_width_ / 4), {{}, at.place * bytes / 4});
}

bool TensorWriter::HasPairs(int k) const {
  const int64_t bytes = StorageBytes(kernel_.buffer_type(k)) * vector_width_;
  return kernel_.words_go_in_pairs() && bytes % 8 == 0 && kernel_.buffer_offset(k) % 8 == 0;
}

std::string TensorWriter::LoadWord(int k, const GroupPlace& at) {
  if (!HasPairs(k)) {
    kernel_.AddVectorView(k, vector_width_);
    return Local("uint", Loaded(k, "u32", 1, Place(WordOf(k, at))));
  }
  const int64_t bytes = StorageBytes(kernel_.buffer_type(k)), group = bytes * vector_width_;
  const int words = WordsOfAnAccess(k);
  const IndexExpression place =
      space_.Add(space_.Scale(at.group, group / (4 * words)), {{}, at.place * bytes / (4 * words)});
  const std::string several = Once(fmt::format("p{}:{}", k, KeyOf(place)), [&] {
    kernel_.AddWordsView(k, words);
    return Local(fmt::format("uvec{}", words), Loaded(k, "u32", words, Place(place)));
  });
  return fmt::format("{}.{}", several, "xyzw"[at.place * bytes / 4 % words]);
}

std::string TensorWriter::WordAt(int k, const GroupPlace& at) {
  return Once(fmt::format("w{}:{}", k, KeyOf(WordOf(k, at))), [&] { return LoadWord(k, at); });
}

std::string TensorWriter::LoadFromWord(int k, const GroupPlace& at) {
  const ElementType type = kernel_.buffer_type(k);
  return Once(fmt::format("w{}:{}:{}", k, KeyOf(WordOf(k, at)), at.place), [&] {
    const int width = 8 * StorageBytes(type);
    const auto shift = static_cast<int>(at.place * width % 32);
    const std::string word = WordAt(k, at), upper = shift == 16 ? "upper_" : "";
    // A function that takes one half of the word and ignores the other spares the instructions that cut it out.
    if (type == ElementType::kBF16) {
      return Local("float", fmt::format("decode_{}bf16({})", upper, word));
    }
    const std::string stored = fmt::format("(({} >> {}) & {}u)", word, shift, (1u << width) - 1);
    Expression value{FromStorage(type, stored)};
    if (type == ElementType::kF16) {
      value.by = shift == 16 ? MadeBy::kUpperHalf : MadeBy::kHalf;
      value.operands = {word};
    }
    const std::string local = Local(CarrierType(type), std::move(value));
    if (type == ElementType::kF16 && kernel_.has_native_f16()) {
      any_nan_of_[local] = Local("float", Expression{fmt::format("decode_{}any_nan_f16({})", upper, word),
                                                     shift == 16 ? MadeBy::kUpperHalfOfAnyNan : MadeBy::kHalfOfAnyNan,
                                                     {word}});
    }
    return local;
  });
}

std::string TensorWriter::LoadFromGroup(int k, const GroupPlace& at) {
  if (kernel_.groups_are_words(k)) return LoadFromWord(k, at);
  const std::string_view tag = StorageTag(kernel_.buffer_type(k));
  const std::string pair = Elements{"", tag, 2, ""}.type(), vector = Elements{"", tag, 4, ""}.type();
  const std::string known = Once(fmt::format("g{}:{}", k, KeyOf(at.group)), [&] {
    const std::string index = Place(at.group);
    const std::string name = NewName();
    const bool pairs = vector_width_ == 8 && kernel_.has_pairs();
    kernel_.AddVectorView(k, pairs ? 8 : 4);
    if (vector_width_ == 4) {
      Declare(vector, name, Loaded(k, tag, 4, index));
    } else if (!pairs) {
      for (int half = 0; half < 2; ++half) {
        const std::string four = fmt::format("{}_h{}", name, half);
        Declare(vector, four, Loaded(k, tag, 4, fmt::format("2u * {} + {}u", index, half)));
        Declare(pair, fmt::format("{}_{}", name, 2 * half), {four + ".xy"});
        Declare(pair, fmt::format("{}_{}", name, 2 * half + 1), {four + ".zw"});
      }
    } else {
      // Pairs of words: half the loads on drivers that load lane by lane.
      const std::string from = tag == "f32" ? "uintBitsToFloat" : pair;
      const std::string zero = hides_loads_ && !kernel_.stores_pairs() ? " ^ " + kernel_.Data(0) : "";
      Declare("u64vec4", name + "_8", Loaded(k, "u64", 4, index));
      for (int i = 0; i < 4; ++i) {
        Declare(pair, fmt::format("{}_{}", name, i),
                {fmt::format("{}(unpackUint2x32({}_8[{}]){})", from, name, i, zero)});
      }
    }
    return name;
  });
  const auto place = static_cast<size_t>(at.place);
  if (vector_width_ == 4) return fmt::format("{}.{}", known, "xyzw"[place]);
  return fmt::format("{}_{}.{}", known, place / 2, "xy"[place % 2]);
}

int TensorWriter::WordsOfAnAccess(int k) const {
  if (!HasPairs(k)) return 1;
  return StorageBytes(kernel_.buffer_type(k)) * vector_width_ % 16 == 0 && kernel_.buffer_offset(k) % 16 == 0 ? 4 : 2;
}

Stored TensorWriter::PackedWord(ElementType type, std::span<const std::string> parts) const {
  if ((type == ElementType::kF16 || type == ElementType::kBF16) && rounded_.contains(parts[0]) &&
      rounded_.contains(parts[1]))
    return Stored::Pair{type, parts[0], parts[1]};
  std::string word;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string stored = ToStorage(type, parts[i]);
    word += i == 0 ? stored : fmt::format(" | ({} << {})", stored, 32 / parts.size() * i);
  }
  return word;
}

void TensorWriter::StoreWords(int k, const IndexExpression& group, std::span<const std::string> values) {
  const ElementType type = kernel_.buffer_type(k);
  const int words = WordsOfAnAccess(k), bytes = StorageBytes(type), per_word = 4 / bytes;
  if (words == 1) {
    kernel_.AddVectorView(k, vector_width_);
  } else {
    kernel_.AddWordsView(k, words);
  }
  std::vector<Stored> access;
  for (int place = 0; place < vector_width_; place += per_word) {
    access.push_back(PackedWord(type, values.subspan(static_cast<size_t>(place), static_cast<size_t>(per_word))));
    if (static_cast<int>(access.size()) < words) continue;
    const int64_t accesses = bytes * vector_width_ / (4 * words);
    const IndexExpression at = space_.Add(space_.Scale(group, accesses), {{}, int64_t{place} * bytes / (4 * words)});
    StoreValues(k, "u32", Place(at), std::exchange(access, {}));
  }
}

void TensorWriter::StoreGroup(int k, const IndexExpression& first, std::span<const std::string> values) {
  StoreNeighbours(k, first, values);
  AfterStore(k, first, values);
}

void TensorWriter::StoreAt(int k, std::span<const IndexExpression> places, std::span<const std::string> values,
                           bool together, const std::function<std::string(size_t)>& exists) {
  for (size_t j = 1; j < places.size(); ++j)
    together &= places[j] == space_.Add(places[0], {{}, static_cast<int64_t>(j)});
  if (together) return StoreGroup(k, places[0], values);
  for (size_t j = 0; j < values.size(); ++j) {
    const std::string condition = exists ? exists(j) : "";
    if (!condition.empty()) OpenBlock("if ({})", condition);
    StoreValue(k, places[j], values[j]);
    if (!condition.empty()) CloseBlock();
  }
}

void TensorWriter::StoreValue(int k, const IndexExpression& place, const std::string& value) {
  const ElementType type = kernel_.buffer_type(k);
  StoreValues(k, StorageTag(type), Place(place), {ToStorage(type, value)});
}

void TensorWriter::StoreNeighbours(int k, const IndexExpression& first, std::span<const std::string> values) {
  const auto group = FindGroup(k, first);
  if (!group || group->place != 0 || static_cast<int>(values.size()) != vector_width_) {
    for (size_t i = 0; i < values.size(); ++i) {
      StoreValue(k, space_.Add(first, {{}, static_cast<int64_t>(i)}), values[i]);
    }
    return;
  }
  const bool joined = joins_pairs_ && vector_width_ == 8 && kernel_.has_pairs();
  const bool pairs = joined || (only_moves_ && vector_width_ == 8 && kernel_.stores_pairs());
  if (kernel_.groups_are_words(k)) return StoreWords(k, group->group, values);
  kernel_.AddVectorView(k, pairs ? 8 : 4);
  const std::string_view tag = StorageTag(kernel_.buffer_type(k));
  const std::string index = Place(group->group);
  if (!pairs) {
    const int count = vector_width_ / 4;
    for (int i = 0; i < count; ++i) {
      const std::string at = count == 1 ? index : fmt::format("{}u * {} + {}u", count, index, i);
      const auto four = values.subspan(static_cast<size_t>(4 * i), 4);
      StoreValues(k, tag, at, {four.begin(), four.end()});
    }
    return;
  }
  std::vector<Stored> words;
  for (int i = 0; i < 8; i += 2) {
    const std::string pair = fmt::format("{}, {}", values[i], values[i + 1]);
    if (joined) {
      const char* bits = tag == "f32" ? "floatBitsToUint" : "uint";
      words.push_back(fmt::format("JOINED({0}({1}), {0}({2}))", bits, values[i], values[i + 1]));
      continue;
    }
    words.push_back(tag == "f32"   ? fmt::format("packUint2x32(floatBitsToUint(vec2({})))", pair)
                    : tag == "u32" ? fmt::format("packUint2x32(uvec2({}))", pair)
                                   : fmt::format("packUint2x32(uvec2(ivec2({})))", pair));
  }
  StoreValues(k, "u64", index, std::move(words));
}

}  // namespace VXLA_NAMESPACE::vulkan
