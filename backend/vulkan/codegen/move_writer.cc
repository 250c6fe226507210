#include "backend/vulkan/codegen/move_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <set>

#include "backend/vulkan/codegen/scalar_computation.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Parts that are told apart one after another, each in the else of the one before; more of them by halves of halves.
// Drivers keep few levels: beyond 80 lavapipe takes all branches.
constexpr size_t kMostInARow = 8;

}  // namespace

std::string KeyOf(const Instruction& instruction, const MultiIndex& index) {
  std::string key = fmt::format("{}", static_cast<const void*>(&instruction));
  for (const IndexExpression& e : index) key += "," + KeyOf(e);
  return key;
}

std::string MoveWriter::PadValue(const Instruction& instruction, const MultiIndex& index) {
  const Instruction& operand = *instruction.operand(0);
  const auto& padding = instruction.attributes<PadAttributes>().padding;
  std::vector<std::string> conditions;
  MultiIndex inner(index.size());
  const bool empty = operand.shape().ElementCount() == 0;
  for (size_t d = 0; d < index.size() && !empty; ++d) {
    const int64_t size = operand.shape().dimension(static_cast<int>(d)), step = padding[d].interior + 1;
    const int64_t spread = (size - 1) * step + 1;
    const IndexExpression shifted = space_.Add(index[d], {{}, -padding[d].low});
    const auto [low, high] = space_.Range(shifted);
    const bool inside = low >= 0 && high < spread;
    if (inside && step == 1) {
      inner[d] = shifted;
      continue;
    }
    // Below the low edge the unsigned index wraps, so one comparison checks both edges.
    if (!inside) conditions.push_back(Below(shifted, spread));
    const int variable = space_.AddTemporary(shifted, spread);
    if (step > 1 && size > 1) {
      const IndexTerm hole{variable, 1, step, 1};
      conditions.push_back(Digit(hole) + " == 0u");
      inner[d] = {{{variable, step, 0, 1}}, 0};
    } else {
      inner[d] = space_.Variable(variable);
    }
  }
  const std::string outside = Value(*instruction.operand(1), {});
  if (empty) return outside;
  if (conditions.empty()) return Value(operand, inner);
  const ElementType type = instruction.shape().element_type();
  const std::string result = Local(CarrierType(type), outside);
  OpenBlock("if ({})", fmt::join(conditions, " && "));
  Line("{} = {};", result, Value(operand, inner));
  CloseBlock();
  return result;
}

namespace {

struct Reach {
  std::set<const Instruction*> computed, read;
};

void FindReach(const FusionDescription& body, const Instruction& instruction, Reach* reach) {
  if (body.OperandOf(instruction) != nullptr) {
    reach->read.insert(&instruction);
  } else if (reach->computed.insert(&instruction).second) {
    for (const Instruction* operand : instruction.operands()) FindReach(body, *operand, reach);
  }
}

}  // namespace

// Whether the parts of a concatenate are different results of one computation of the same operands, as the two words of
// a random generator are: all of them together take little more than one, and lanes of several parts go through it once
// instead of once for each. Not where the algorithm gives values, which it does at places of its own.
bool MoveWriter::IsOneComputation(const Instruction& concatenate, std::span<const ConcatenatePart> parts) const {
  constexpr size_t kFewest = 16;  // instructions that are worth it
  const int64_t extent = parts[0].end - parts[0].begin;
  if (!std::ranges::all_of(parts, [&](const auto& part) { return part.end - part.begin == extent; })) return false;
  Reach all;
  FindReach(body_, concatenate, &all);
  const auto given = [&](const Instruction* instruction) { return IsGiven(*instruction); };
  if (std::ranges::any_of(all.computed, given) || std::ranges::any_of(all.read, given)) return false;
  return std::ranges::all_of(parts, [&](const ConcatenatePart& part) {
    Reach one;
    FindReach(body_, *part.operand, &one);
    return one.computed.size() >= kFewest && 4 * all.computed.size() <= 5 * one.computed.size() && one.read == all.read;
  });
}

std::string MoveWriter::ConcatenateValue(const Instruction& instruction, const MultiIndex& index) {
  const auto d = static_cast<size_t>(instruction.dimensions().at(0));
  const auto [low, high] = space_.Range(index[d]);
  std::vector<ConcatenatePart> parts;  // that the index can reach
  int64_t begin = 0;
  for (const Instruction* operand : instruction.operands()) {
    const int64_t end = begin + operand->shape().dimension(static_cast<int>(d));
    if (begin < end && begin <= high && low < end) parts.push_back({operand, begin, end});
    begin = end;
  }
  // Nobody reads it: what has no elements, too, is written for each of them.
  if (instruction.shape().ElementCount() == 0) return ZeroText(instruction.shape().element_type());
  VXLA_CHECK(!parts.empty(), "a concatenate without elements");
  auto read = [&](const ConcatenatePart& part, bool whole) {
    MultiIndex inner = index;
    inner[d] = space_.Add(index[d], {{}, -part.begin});
    if (!whole) inner[d] = space_.Variable(space_.AddTemporary(inner[d], part.end - part.begin));
    return Value(*part.operand, inner);
  };
  if (parts.size() == 1) return read(parts[0], low >= parts[0].begin && high < parts[0].end);
  const std::string at = Index(index[d]);
  const auto below = [&](const ConcatenatePart& part) { return fmt::format("{} < {}", at, kernel_.Param(part.end)); };
  if (IsOneComputation(instruction, parts)) {
    MultiIndex inner = index;
    const IndexExpression place = space_.Add(index[d], {{}, -parts[0].begin});
    const int variable = space_.AddTemporary(place, parts.back().end - parts[0].begin);
    inner[d] = {{{variable, 1, parts[0].end - parts[0].begin, 1}}, 0};
    std::string chosen = Value(*parts.back().operand, inner);
    for (size_t i = parts.size() - 1; i-- > 0;)
      chosen = fmt::format("({} ? {} : {})", below(parts[i]), Value(*parts[i].operand, inner), chosen);
    return Local(CarrierType(instruction.shape().element_type()), chosen);
  }
  const std::string result = Declare(instruction.shape().element_type());
  const std::function<void(size_t, size_t)> choose = [&](size_t first, size_t count) {
    if (count > kMostInARow) {
      OpenBlock("if ({})", below(parts[first + count / 2 - 1]));
      choose(first, count / 2);
      CloseBlock();
      OpenBlock("else");
      choose(first + count / 2, count - count / 2);
      CloseBlock();
      return;
    }
    for (size_t i = first; i < first + count; ++i) {
      std::string head = i + 1 < first + count ? fmt::format("if ({})", below(parts[i])) : "";
      if (i > first) head = head.empty() ? "else" : "else " + head;
      OpenBlock(head);
      Line("{} = {};", result, read(parts[i], false));
      CloseBlock();
    }
  };
  choose(0, parts.size());
  return result;
}

IndexExpression MoveWriter::ClampedStart(const Instruction& indices, const MultiIndex& at, int64_t most) {
  if (most <= 0) return {};
  const ElementType type = indices.shape().element_type();
  if (indices.opcode() == Opcode::kConstant && indices.shape().IsScalar()) {
    const int64_t start = indices.literal().GetInt(0);
    return {{}, start < 0 && IsUnsigned(type) ? most : std::clamp<int64_t>(start, 0, most)};
  }
  return VariableOnce(fmt::format("s{}:{}", KeyOf(indices, at), most), most + 1,
                      [&] { return ClampedText(type, Value(indices, at), most); });
}

// A uint: the value of an integer type clamped to [0, most].
std::string MoveWriter::ClampedText(ElementType type, const std::string& value, int64_t most) {
  const std::string limit = kernel_.Param(most);
  if (BitWidth(type) < 64) {
    if (!IsSigned(type)) return fmt::format("min({}, {})", value, limit);
    if (most > std::numeric_limits<int32_t>::max()) return fmt::format("uint(max({}, 0))", value);
    return fmt::format("uint(clamp({}, 0, int({})))", value, limit);
  }
  const std::string_view carrier = CarrierSuffix(type);
  return fmt::format("convert_{0}_u32(clamp_{0}({1}, {2}, {3}))", carrier, ZeroText(type), value,
                     ConvertedText(ElementType::kU32, type, limit));
}

MultiIndex MoveWriter::WindowStart(const Instruction& instruction, int first, const Shape& whole, const Shape& window) {
  MultiIndex start(static_cast<size_t>(whole.rank()));
  // One scalar per dimension, or one array of all.
  const bool one_array = instruction.operand_count() == first + 1 && instruction.operand(first)->shape().rank() == 1;
  for (int d = 0; d < whole.rank(); ++d) {
    const Instruction& indices = *instruction.operand(one_array ? first : first + d);
    const MultiIndex at = one_array ? MultiIndex{{{}, d}} : MultiIndex{};
    start[static_cast<size_t>(d)] = ClampedStart(indices, at, whole.dimension(d) - window.dimension(d));
  }
  return start;
}

void MoveWriter::StoreUpdate(int k, const Instruction& update, const IndexExpression& first, int64_t width) {
  const Shape &whole = update.shape(), &part = update.operand(1)->shape();
  const MultiIndex start = WindowStart(update, 2, whole, part);
  std::vector<IndexExpression> targets;
  std::vector<std::string> values;
  for (int64_t j = 0; j < width; ++j) {
    MultiIndex index = space_.Delinearize(space_.Add(first, {{}, j}), part.dimensions());
    values.push_back(Value(*update.operand(1), index));
    for (size_t d = 0; d < index.size(); ++d) index[d] = space_.Add(index[d], start[d]);
    targets.push_back(space_.Linearize(index, whole.dimensions()));
  }
  StoreAt(k, targets, values);
}

std::string MoveWriter::DynamicSliceValue(const Instruction& instruction, const MultiIndex& index) {
  const Instruction& operand = *instruction.operand(0);
  MultiIndex inner = WindowStart(instruction, 1, operand.shape(), instruction.shape());
  for (size_t d = 0; d < inner.size(); ++d) inner[d] = space_.Add(inner[d], index[d]);
  return Value(operand, inner);
}

std::string MoveWriter::GatherValue(const Instruction& instruction, const MultiIndex& index) {
  const auto& a = instruction.attributes<GatherAttributes>();
  const Instruction& operand = *instruction.operand(0);
  const Instruction& indices = *instruction.operand(1);
  auto contains = [](const IntList& list, int64_t d) { return std::ranges::find(list, d) != list.end(); };
  MultiIndex batch;
  for (size_t d = 0; d < index.size(); ++d) {
    if (!contains(a.offset_dims, static_cast<int64_t>(d))) batch.push_back(index[d]);
  }
  // The place of index vector element k, and the batch index that a dimension of the indices is.
  MultiIndex at;
  std::vector<IndexExpression> batch_of(static_cast<size_t>(indices.shape().rank()));
  for (int64_t d = 0, next = 0; d < indices.shape().rank(); ++d) {
    at.push_back(d == a.index_vector_dim ? IndexExpression() : batch.at(static_cast<size_t>(next++)));
    batch_of[static_cast<size_t>(d)] = at.back();
  }
  MultiIndex inner(static_cast<size_t>(operand.shape().rank()));
  size_t next_offset = 0;
  for (size_t d = 0; d < inner.size(); ++d) {
    const auto dimension = static_cast<int64_t>(d);
    if (contains(a.collapsed_slice_dims, dimension) || contains(a.operand_batching_dims, dimension)) continue;
    inner[d] = index[static_cast<size_t>(a.offset_dims[next_offset++])];
  }
  for (size_t k = 0; k < a.start_index_map.size(); ++k) {
    const auto d = static_cast<size_t>(a.start_index_map[k]);
    if (a.index_vector_dim < indices.shape().rank()) {
      at[static_cast<size_t>(a.index_vector_dim)] = {{}, static_cast<int64_t>(k)};
    }
    const int64_t most = operand.shape().dimension(static_cast<int>(d)) - a.slice_sizes[d];
    inner[d] = space_.Add(inner[d], ClampedStart(indices, at, most));
  }
  for (size_t k = 0; k < a.operand_batching_dims.size(); ++k) {
    inner[static_cast<size_t>(a.operand_batching_dims[k])] =
        batch_of[static_cast<size_t>(a.start_indices_batching_dims[k])];
  }
  return Value(operand, inner);
}

}  // namespace VXLA_NAMESPACE::vulkan
