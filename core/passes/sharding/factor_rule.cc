#include "core/passes/sharding/factor_rule.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "core/ceil_divide.h"
#include "core/host/ranges.h"
#include "core/library/library_calls.h"
#include "core/numerics/reducer_facts.h"

namespace VXLA_NAMESPACE {
namespace {

using ArrayFactors = FactorRule::ArrayFactors;

ArrayFactors Undivided(const Shape& shape) { return ArrayFactors(static_cast<size_t>(shape.rank())); }

// A rule under construction: every array of the instruction begins without factors.
class RuleBuilder {
 public:
  explicit RuleBuilder(const Instruction& instruction) : instruction_(instruction) {
    for (const Instruction* operand : instruction.operands()) rule_.operands.push_back(Undivided(operand->shape()));
    for (const Shape* leaf : FlattenTuple(instruction.shape())) rule_.results.push_back(Undivided(*leaf));
  }

  const Shape& operand(size_t i) const { return instruction_.operand(i)->shape(); }
  FactorRule Take() { return std::move(rule_); }
  FactorRule& rule() { return rule_; }

  int Factor(int64_t size, bool is_reduced = false) { return rule_.AddFactor(size, is_reduced); }
  int WholeFactor(int64_t size) {
    const int factor = Factor(size);
    rule_.factors.back().is_whole = true;
    return factor;
  }
  void Operand(size_t i, int64_t dimension, int factor) { rule_.operands[i][dimension].push_back(factor); }
  void Result(size_t i, int64_t dimension, int factor) { rule_.results[i][dimension].push_back(factor); }
  // The dimension of an operand is one of the (only) result.
  void Along(size_t operand, int64_t from, int64_t to) {
    const int factor = Factor(this->operand(operand).dimension(from));
    Operand(operand, from, factor);
    Result(0, to, factor);
  }

 private:
  const Instruction& instruction_;
  FactorRule rule_;
};

// Scalars go with arrays of any shape.
FactorRule Elementwise(const Instruction& instruction) {
  RuleBuilder builder(instruction);
  const Shape& shape = *FlattenTuple(instruction.shape())[0];
  for (int d = 0; d < shape.rank(); ++d) {
    const int factor = builder.Factor(shape.dimension(d));
    for (size_t i = 0; i < builder.rule().operands.size(); ++i) {
      if (builder.operand(i).rank() == shape.rank()) builder.Operand(i, d, factor);
    }
    for (size_t i = 0; i < builder.rule().results.size(); ++i) builder.Result(i, d, factor);
  }
  builder.rule().is_elementwise = true;
  return builder.Take();
}

// Elementwise but for some dimensions. All arrays have one rank; scalars go along.
FactorRule ElementwiseWhere(const Instruction& instruction, auto passes) {
  FactorRule rule = Elementwise(instruction);
  const auto drop = [&](ArrayFactors& array) {
    for (size_t d = 0; d < array.size(); ++d) {
      if (!passes(static_cast<int>(d))) array[d].clear();
    }
  };
  for (ArrayFactors& array : rule.operands) drop(array);
  for (ArrayFactors& array : rule.results) drop(array);
  rule.is_elementwise = false;
  return rule;
}

FactorRule BroadcastRule(const Instruction& instruction) {
  RuleBuilder builder(instruction);
  const IntList& dimensions = instruction.dimensions();
  for (size_t d = 0; d < dimensions.size(); ++d) builder.Along(0, static_cast<int64_t>(d), dimensions[d]);
  for (int64_t d = 0; d < instruction.shape().rank(); ++d) {
    if (!Contains(dimensions, d)) builder.Result(0, d, builder.Factor(instruction.shape().dimension(d)));
  }
  return builder.Take();
}

FactorRule IotaRule(const Instruction& instruction) {
  RuleBuilder builder(instruction);
  for (int64_t d = 0; d < instruction.shape().rank(); ++d)
    builder.Result(0, d, builder.Factor(instruction.shape().dimension(d)));
  return builder.Take();
}

FactorRule TransposeRule(const Instruction& instruction) {
  RuleBuilder builder(instruction);
  const IntList& permutation = instruction.dimensions();
  for (size_t d = 0; d < permutation.size(); ++d) builder.Along(0, permutation[d], static_cast<int64_t>(d));
  return builder.Take();
}

// [8,4] -> [32]: 32 is 8 times 4; [6] -> [2,3]. Where sizes share only a part of each other, that part is the factor of
// both in front, and what is left stays whole.
std::optional<FactorRule> ReshapeRule(const Instruction& instruction) {
  const Shape &from = instruction.operand(0)->shape(), &to = instruction.shape();
  if (from.ElementCount() == 0) return std::nullopt;
  RuleBuilder builder(instruction);
  int i = 0, j = 0;
  int64_t left = from.rank() > 0 ? from.dimension(0) : 1, right = to.rank() > 0 ? to.dimension(0) : 1;
  while (i < from.rank() && j < to.rank()) {
    const int64_t size = std::gcd(left, right);
    if (size > 1) {
      const int factor = builder.Factor(size);
      builder.Operand(0, i, factor);
      builder.Result(0, j, factor);
    }
    left /= size;
    right /= size;
    if (left != 1 && right != 1) {
      builder.Operand(0, i, builder.WholeFactor(left));
      builder.Result(0, j, builder.WholeFactor(right));
      return builder.Take();
    }
    if (left == 1 && ++i < from.rank()) left = from.dimension(i);
    if (right == 1 && ++j < to.rank()) right = to.dimension(j);
  }
  return builder.Take();
}

FactorRule BitcastConvertRule(const Instruction& instruction) {
  RuleBuilder builder(instruction);
  const int rank = std::min(instruction.operand(0)->shape().rank(), instruction.shape().rank());
  for (int64_t d = 0; d < rank; ++d) builder.Along(0, d, d);
  return builder.Take();
}

bool IsWholeSlice(const SliceDimension& slice, int64_t size) {
  return slice.start == 0 && slice.limit == size && slice.stride == 1;
}

std::optional<FactorRule> ReduceRule(const Instruction& instruction) {
  RuleBuilder builder(instruction);
  const size_t arrays = static_cast<size_t>(instruction.operand_count()) / 2;
  const std::optional<Opcode> operation = arrays == 1 ? SingleOperation(*instruction.called(0)) : std::nullopt;
  const bool joins = operation && FactsOfReducer(*instruction.called(0)).identity.has_value();
  if (joins) builder.rule().joins = *operation;
  int64_t to = 0;
  for (int64_t d = 0; d < builder.operand(0).rank(); ++d) {
    const bool reduced = Contains(instruction.dimensions(), d);
    if (reduced && !joins) continue;
    const int factor = builder.Factor(builder.operand(0).dimension(d), reduced);
    for (size_t i = 0; i < arrays; ++i) {
      builder.Operand(i, d, factor);
      if (!reduced) builder.Result(i, to, factor);
    }
    if (!reduced) ++to;
  }
  return builder.Take();
}

FactorRule DotRule(const Instruction& instruction) {
  RuleBuilder builder(instruction);
  const auto& dot = instruction.attributes<DotAttributes>();
  int64_t to = 0;
  for (size_t b = 0; b < dot.lhs_batch_dims.size(); ++b) {
    const int factor = builder.Factor(builder.operand(0).dimension(dot.lhs_batch_dims[b]));
    builder.Operand(0, dot.lhs_batch_dims[b], factor);
    builder.Operand(1, dot.rhs_batch_dims[b], factor);
    builder.Result(0, to++, factor);
  }
  for (size_t side = 0; side < 2; ++side) {
    const IntList& batch = side == 0 ? dot.lhs_batch_dims : dot.rhs_batch_dims;
    const IntList& contracting = side == 0 ? dot.lhs_contracting_dims : dot.rhs_contracting_dims;
    for (int64_t d = 0; d < builder.operand(side).rank(); ++d) {
      if (!Contains(batch, d) && !Contains(contracting, d)) builder.Along(side, d, to++);
    }
  }
  for (size_t c = 0; c < dot.lhs_contracting_dims.size(); ++c) {
    const int factor = builder.Factor(builder.operand(0).dimension(dot.lhs_contracting_dims[c]), true);
    builder.Operand(0, dot.lhs_contracting_dims[c], factor);
    builder.Operand(1, dot.rhs_contracting_dims[c], factor);
  }
  return builder.Take();
}

// A dimension of the operand of which each `step` elements are one of the result.
void InSteps(FactorRule& rule, size_t operand, int64_t from, int64_t to, int64_t results, int64_t step) {
  const int factor = rule.AddFactor(results);
  std::vector<int>& factors = rule.operands[operand][from];
  factors = {factor};
  rule.results[0][to] = {factor};
  if (step == 1) return;
  factors.push_back(rule.AddFactor(step));
  rule.factors.back().is_whole = true;
}

// Whether places between elements, if there are any, lie in front of the first one as padding.
bool CanShift(const WindowDimension& w) { return w.lhs_dilate == 1 || w.pad_low >= 0; }

// Windows that lie beside one another and take all elements.
bool IsTile(const WindowDimension& w, int64_t size, int64_t results) {
  WindowDimension tile;
  tile.size = tile.stride = w.size;
  return w == tile && size == results * w.size;
}

// Of a slice, pad or concatenate: what its arrays have of the dimension that has all of the elements.
void NoteRuns(FactorRule& rule, const Instruction& instruction, int dimension, int factor) {
  const int64_t results = instruction.shape().dimension(dimension);
  const size_t at = static_cast<size_t>(dimension);
  int64_t whole = results;
  const auto note = [&](FactorRule::ArrayFactors& array, int64_t start, int64_t size) {
    array.runs.push_back({at, factor, start, size});
  };
  switch (instruction.opcode()) {
    case Opcode::kSlice: {
      const SliceDimension& slice = instruction.attributes<SliceAttributes>().slice[at];
      if (slice.stride != 1) return;
      whole = instruction.operand(0)->shape().dimension(dimension);
      note(rule.operands[0], 0, whole);
      note(rule.results[0], slice.start, results);
      break;
    }
    case Opcode::kPad: {
      const PaddingDimension& padding = instruction.attributes<PadAttributes>().padding[at];
      if (padding.low < 0 || padding.high < 0) return;
      note(rule.operands[0], padding.low, results - padding.low - padding.high);
      note(rule.results[0], 0, whole);
      break;
    }
    case Opcode::kConcatenate: {
      int64_t start = 0;
      for (size_t i = 0; i < rule.operands.size(); ++i) {
        const int64_t size = instruction.operand(i)->shape().dimension(dimension);
        note(rule.operands[i], start, size);
        start += size;
      }
      note(rule.results[0], 0, whole);
      break;
    }
    default:
      return;
  }
  std::set<int64_t> ends{whole};
  for (const auto* arrays : {&rule.operands, &rule.results}) {
    for (const FactorRule::ArrayFactors& array : *arrays) {
      for (const FactorRule::ArrayFactors::Run& run : array.runs) {
        if (run.factor == factor) ends.insert({run.start, run.start + run.size});
      }
    }
  }
  int64_t start = 0;
  for (const int64_t end : ends) {
    if (end > start) rule.factors[factor].parts.push_back(end - start);
    start = end;
  }
}

// Of dimensions of these operands results take elements at other places.
void Shift(FactorRule& rule, const Instruction& instruction, int from, int to, const std::vector<size_t>& operands) {
  int64_t least = instruction.shape().dimension(to);
  for (const size_t i : operands) least = std::min(least, instruction.operand(i)->shape().dimension(from));
  if (operands.empty() || least < 2) return;
  const int factor = rule.AddFactor(least);
  rule.factors.back().is_shifted = true;
  for (const size_t i : operands) rule.operands[i][from] = {factor};
  rule.results[0][to] = {factor};
  if (from == to) NoteRuns(rule, instruction, from, factor);
}

FactorRule ConvolutionRule(const Instruction& instruction) {
  RuleBuilder builder(instruction);
  const auto& a = instruction.attributes<ConvolutionAttributes>();
  const ConvolutionDimensions& labels = *a.dim_labels;
  if (a.batch_group_count == 1) builder.Along(0, labels.input_batch, labels.output_batch);
  if (a.batch_group_count == 1 && a.feature_group_count == 1) {
    builder.Along(1, labels.kernel_output_feature, labels.output_feature);
    const int factor = builder.Factor(builder.operand(0).dimension(labels.input_feature), true);
    builder.Operand(0, labels.input_feature, factor);
    builder.Operand(1, labels.kernel_input_feature, factor);
  }
  for (size_t i = 0; i < labels.input_spatial.size() && i < a.window.size(); ++i) {
    const int64_t from = labels.input_spatial[i], to = labels.output_spatial[i];
    const int64_t size = builder.operand(0).dimension(from), results = instruction.shape().dimension(to);
    const WindowDimension& w = a.window[i];
    if (IsTile(w, size, results)) {
      InSteps(builder.rule(), 0, from, to, results, w.size);
    } else if (CanShift(w)) {
      Shift(builder.rule(), instruction, static_cast<int>(from), static_cast<int>(to), {0});
    }
  }
  return builder.Take();
}

// Rows of one dimension, of a table that is larger than what is taken of it.
bool TakesRows(const Instruction& instruction) {
  const auto& a = instruction.attributes<GatherAttributes>();
  const Shape& table = instruction.operand(0)->shape();
  if (a.start_index_map.size() != 1 || a.collapsed_slice_dims != a.start_index_map) return false;
  return table.element_type() != ElementType::kPred && table.ElementCount() > instruction.shape().ElementCount() &&
         table.dimension(a.start_index_map[0]) <= INT32_MAX;
}

std::optional<FactorRule> GatherRule(const Instruction& instruction) {
  RuleBuilder builder(instruction);
  const auto& a = instruction.attributes<GatherAttributes>();
  IntList batch_of_result;
  for (int64_t d = 0; d < instruction.shape().rank(); ++d) {
    if (!Contains(a.offset_dims, d)) batch_of_result.push_back(d);
  }
  size_t at = 0;
  for (int64_t d = 0; d < builder.operand(1).rank(); ++d) {
    if (d == a.index_vector_dim) continue;
    const int factor = builder.Factor(builder.operand(1).dimension(d));
    builder.Operand(1, d, factor);
    builder.Result(0, batch_of_result[at++], factor);
    const auto paired = std::ranges::find(a.start_indices_batching_dims, d);
    if (paired == a.start_indices_batching_dims.end()) continue;
    builder.Operand(0, a.operand_batching_dims[paired - a.start_indices_batching_dims.begin()], factor);
  }
  if (TakesRows(instruction)) {
    const int64_t rows = a.start_index_map[0];
    const int factor = builder.Factor(builder.operand(0).dimension(rows), true);
    builder.rule().factors[factor].is_indexed = true;
    builder.Operand(0, rows, factor);
  }
  size_t offset = 0;
  for (int64_t d = 0; d < builder.operand(0).rank(); ++d) {
    if (Contains(a.collapsed_slice_dims, d) || Contains(a.operand_batching_dims, d)) continue;
    const int64_t to = a.offset_dims[offset++];
    if (a.slice_sizes[d] == builder.operand(0).dimension(d)) builder.Along(0, d, to);
  }
  return builder.Take();
}

// One array that is added to: its updates may lie on any device.
std::optional<FactorRule> ScatterRule(const Instruction& instruction) {
  if (instruction.operand_count() != 3) return std::nullopt;
  RuleBuilder builder(instruction);
  const auto& a = instruction.attributes<ScatterAttributes>();
  const bool adds = SingleOperation(*instruction.called(0)) == Opcode::kAdd &&
                    builder.operand(0).element_type() != ElementType::kPred;
  IntList scattered;
  for (int64_t d = 0; d < builder.operand(2).rank(); ++d) {
    if (!Contains(a.update_window_dims, d)) scattered.push_back(d);
  }
  size_t at = 0;
  for (int64_t d = 0; d < builder.operand(1).rank(); ++d) {
    if (d == a.index_vector_dim) continue;
    const int64_t of_updates = scattered[at++];
    const auto paired = std::ranges::find(a.scatter_indices_batching_dims, d);
    const bool is_batch = paired != a.scatter_indices_batching_dims.end();
    if (!is_batch && !adds) continue;
    const int factor = builder.Factor(builder.operand(1).dimension(d), !is_batch);
    builder.Operand(1, d, factor);
    builder.Operand(2, of_updates, factor);
    if (!is_batch) continue;
    const int64_t of_array = a.input_batching_dims[paired - a.scatter_indices_batching_dims.begin()];
    builder.Operand(0, of_array, factor);
    builder.Result(0, of_array, factor);
  }
  size_t window = 0;
  for (int64_t d = 0; d < builder.operand(0).rank(); ++d) {
    if (Contains(a.inserted_window_dims, d) || Contains(a.input_batching_dims, d)) continue;
    const int64_t of_updates = a.update_window_dims[window++];
    const int64_t size = builder.operand(0).dimension(d);
    if (builder.operand(2).dimension(of_updates) != size) continue;
    const int factor = builder.Factor(size);
    builder.Operand(0, d, factor);
    builder.Operand(2, of_updates, factor);
    builder.Result(0, d, factor);
  }
  return builder.Take();
}

bool IsPoint(const WindowDimension& w) { return w == WindowDimension(); }

// Collectives of devices that differ in other axes only: what they exchange lies along `dimension`.
std::optional<FactorRule> CollectiveRule(const Instruction& instruction) {
  const auto* const a = std::get_if<CollectiveAttributes>(&instruction.attributes());
  if (instruction.operand_count() != 1 || !instruction.shape().IsArray()) return std::nullopt;
  if (a == nullptr) return Elementwise(instruction);
  if (instruction.opcode() == Opcode::kAllToAll && a->dimensions.empty()) return std::nullopt;
  return ElementwiseWhere(instruction, [a](int d) { return !Contains(a->dimensions, d); });
}

std::optional<FactorRule> WindowRule(const Instruction& instruction) {
  const Window& window = instruction.attributes<WindowAttributes>().window;
  FactorRule rule = ElementwiseWhere(
      instruction, [&](int d) { return static_cast<size_t>(d) >= window.size() || IsPoint(window[d]); });
  if (instruction.opcode() != Opcode::kReduceWindow || instruction.operand_count() != 2) return rule;
  for (size_t d = 0; d < window.size(); ++d) {
    const int at = static_cast<int>(d);
    const int64_t size = instruction.operand(0)->shape().dimension(at), results = instruction.shape().dimension(at);
    if (IsPoint(window[d])) continue;
    if (IsTile(window[d], size, results)) {
      InSteps(rule, 0, at, at, results, window[d].size);
    } else if (CanShift(window[d])) {
      Shift(rule, instruction, at, at, {0});
    }
  }
  return rule;
}

// The last `count` dimensions stay whole.
FactorRule BatchRule(const Instruction& instruction, int count) {
  const int rank = FlattenTuple(instruction.shape())[0]->rank();
  return ElementwiseWhere(instruction, [=](int d) { return d < rank - count; });
}

FactorRule SliceRule(const Instruction& instruction) {
  const Shape& shape = instruction.operand(0)->shape();
  const std::vector<SliceDimension>& slices = instruction.attributes<SliceAttributes>().slice;
  FactorRule rule = ElementwiseWhere(instruction, [&](int d) { return IsWholeSlice(slices[d], shape.dimension(d)); });
  for (size_t d = 0; d < slices.size(); ++d) {
    const int at = static_cast<int>(d);
    const int64_t results = instruction.shape().dimension(at), step = slices[d].stride;
    if (step > 1 && slices[d].start < step && results * step == shape.dimension(at)) {
      InSteps(rule, 0, at, at, results, step);
    } else if (!IsWholeSlice(slices[d], shape.dimension(at))) {
      Shift(rule, instruction, at, at, {0});
    }
  }
  return rule;
}

FactorRule PadRule(const Instruction& instruction) {
  const std::vector<PaddingDimension>& padding = instruction.attributes<PadAttributes>().padding;
  FactorRule rule = ElementwiseWhere(instruction, [&](int d) { return padding[d] == PaddingDimension(); });
  for (size_t d = 0; d < padding.size(); ++d) {
    if (padding[d] != PaddingDimension() && padding[d].interior == 0)
      Shift(rule, instruction, static_cast<int>(d), static_cast<int>(d), {0});
  }
  return rule;
}

// Operands that are a small part of the result are whole on each device.
FactorRule ConcatenateRule(const Instruction& instruction) {
  const int along = static_cast<int>(instruction.dimensions()[0]);
  FactorRule rule = ElementwiseWhere(instruction, [along](int d) { return d != along; });
  constexpr int64_t kSmall = 4;
  std::vector<size_t> large;
  for (size_t i = 0; i < rule.operands.size(); ++i) {
    const Shape& shape = instruction.operand(i)->shape();
    if (shape.dimension(along) * kSmall >= instruction.shape().dimension(along)) large.push_back(i);
  }
  Shift(rule, instruction, along, along, large);
  return rule;
}

FactorRule ReverseRule(const Instruction& instruction) {
  FactorRule rule = ElementwiseWhere(instruction, [](int) { return true; });
  for (const int64_t d : instruction.dimensions()) rule.factors[rule.results[0][d][0]].is_reversed = true;
  return rule;
}

std::optional<FactorRule> MovementRule(const Instruction& instruction) {
  const Shape& shape = instruction.operand(0)->shape();
  const auto size = [&](int d) { return shape.dimension(d); };
  switch (instruction.opcode()) {
    case Opcode::kReverse:
      return ReverseRule(instruction);
    case Opcode::kSort:
      return ElementwiseWhere(instruction,
                              [&](int d) { return !Contains(instruction.attributes<SortAttributes>().dimensions, d); });
    case Opcode::kSlice:
      return SliceRule(instruction);
    case Opcode::kPad:
      return PadRule(instruction);
    case Opcode::kConcatenate:
      return ConcatenateRule(instruction);
    case Opcode::kDynamicSlice:
      return ElementwiseWhere(instruction, [&](int d) { return instruction.shape().dimension(d) == size(d); });
    case Opcode::kDynamicUpdateSlice:
      return ElementwiseWhere(instruction,
                              [&](int d) { return instruction.operand(1)->shape().dimension(d) == size(d); });
    default:
      return std::nullopt;
  }
}

// Routines of linear algebra do one matrix after the other: all arrays begin with the dimensions of the batch.
std::optional<FactorRule> LinearAlgebraRule(const Instruction& instruction) {
  if (!IsLinearAlgebraCall(instruction)) return std::nullopt;
  const Result<LibraryCall> call = LibraryCallOf(instruction);
  if (!call.ok() || call->routine > LibraryRoutine::kPerturbedSolve) return std::nullopt;
  const bool on_vectors =
      call->routine == LibraryRoutine::kTridiagonalSolve || call->routine == LibraryRoutine::kPerturbedSolve;
  const Shape& first = instruction.operand(0)->shape();
  const int batch = first.rank() - (on_vectors ? 1 : 2);
  FactorRule rule;
  for (int d = 0; d < batch; ++d) rule.AddFactor(first.dimension(d));
  const auto follow = [&](const Shape& shape, std::vector<FactorRule::ArrayFactors>& arrays) {
    FactorRule::ArrayFactors& factors = arrays.emplace_back(static_cast<size_t>(shape.rank()));
    for (int d = 0; d < batch; ++d) {
      if (d >= shape.rank() || shape.dimension(d) != first.dimension(d)) return false;
      factors[d] = {d};
    }
    return true;
  };
  for (const Instruction* operand : instruction.operands()) {
    if (!follow(operand->shape(), rule.operands)) return std::nullopt;
  }
  for (const Shape* leaf : FlattenTuple(instruction.shape())) {
    if (!follow(*leaf, rule.results)) return std::nullopt;
  }
  return rule;
}

std::optional<FactorRule> RuleByOpcode(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kCopy:
    case Opcode::kMap:
      return Elementwise(instruction);
    case Opcode::kBroadcast:
      return BroadcastRule(instruction);
    case Opcode::kIota:
      return IotaRule(instruction);
    case Opcode::kTranspose:
      return TransposeRule(instruction);
    case Opcode::kReshape:
      return ReshapeRule(instruction);
    case Opcode::kBitcastConvert:
      return BitcastConvertRule(instruction);
    case Opcode::kReduce:
      return ReduceRule(instruction);
    case Opcode::kDot:
      return DotRule(instruction);
    case Opcode::kConvolution:
      return ConvolutionRule(instruction);
    case Opcode::kGather:
      return GatherRule(instruction);
    case Opcode::kScatter:
      return ScatterRule(instruction);
    case Opcode::kReduceWindow:
    case Opcode::kSelectAndScatter:
      return WindowRule(instruction);
    case Opcode::kTopK:
      return BatchRule(instruction, 1);
    case Opcode::kFft:
      return BatchRule(instruction, static_cast<int>(instruction.attributes<FftAttributes>().fft_length.size()));
    case Opcode::kCholesky:
    case Opcode::kTriangularSolve:
      return BatchRule(instruction, 2);
    case Opcode::kCustomCall:
      return LinearAlgebraRule(instruction);
    case Opcode::kAllReduce:
    case Opcode::kAllGather:
    case Opcode::kReduceScatter:
    case Opcode::kAllToAll:
    case Opcode::kCollectivePermute:
      return CollectiveRule(instruction);
    default:
      return IsElementwise(instruction.opcode()) ? std::optional(Elementwise(instruction)) : MovementRule(instruction);
  }
}

// Of what the rules read only arrays of known sizes, all of one rank where a rule pairs dimensions by number.
bool HasPlainShapes(const Instruction& instruction) {
  const auto plain = [](const Shape& shape) { return shape.IsArray() && !shape.IsDynamic(); };
  for (const Instruction* operand : instruction.operands()) {
    if (!plain(operand->shape())) return false;
  }
  const std::vector<const Shape*> leaves = FlattenTuple(instruction.shape());
  return !leaves.empty() && std::ranges::all_of(leaves, [&](const Shape* leaf) { return plain(*leaf); });
}

// What is alone in its dimensions, and they are no larger, may be divided as if it were larger.
void LetPad(FactorRule& rule, const Instruction& instruction) {
  for (FactorRule::Factor& factor : rule.factors) factor.may_pad = !factor.is_whole;
  const auto look = [&](const ArrayFactors& array, const Shape& shape) {
    for (size_t d = 0; d < array.size(); ++d) {
      for (const int number : array[d]) {
        FactorRule::Factor& factor = rule.factors[number];
        const bool is_all = factor.is_shifted || factor.size == shape.dimension(d);
        if (array[d].size() > 1 || !is_all) factor.may_pad = false;
      }
    }
  };
  for (size_t i = 0; i < rule.operands.size(); ++i) look(rule.operands[i], instruction.operand(i)->shape());
  const std::vector<const Shape*> leaves = FlattenTuple(instruction.shape());
  for (size_t i = 0; i < rule.results.size(); ++i) look(rule.results[i], *leaves[i]);
}

}  // namespace

namespace {

DimensionShift ShiftOfWindow(const WindowDimension& w, int64_t results) {
  return {results, w.pad_low, w.stride, (w.size - 1) * w.rhs_dilate + 1, w.lhs_dilate};
}

}  // namespace

DimensionShift ShiftOf(const Instruction& instruction, size_t operand, int dimension) {
  const size_t at = static_cast<size_t>(dimension);
  const auto results = [&](int64_t d) { return instruction.shape().dimension(d); };
  switch (instruction.opcode()) {
    case Opcode::kSlice: {
      const SliceDimension& slice = instruction.attributes<SliceAttributes>().slice[at];
      return {results(dimension), -slice.start, slice.stride, slice.stride};
    }
    case Opcode::kPad:
      return {results(dimension), instruction.attributes<PadAttributes>().padding[at].low};
    case Opcode::kReduceWindow:
      return ShiftOfWindow(instruction.attributes<WindowAttributes>().window[at], results(dimension));
    case Opcode::kConvolution: {
      const auto& a = instruction.attributes<ConvolutionAttributes>();
      const auto spatial =
          std::ranges::find(a.dim_labels->input_spatial, dimension) - a.dim_labels->input_spatial.begin();
      const size_t i = static_cast<size_t>(spatial);
      return ShiftOfWindow(a.window[i], results(a.dim_labels->output_spatial[i]));
    }
    default: {
      DimensionShift shift{results(dimension)};
      for (size_t i = 0; i < operand; ++i) shift.low += instruction.operand(i)->shape().dimension(dimension);
      return shift;
    }
  }
}

std::optional<TileSource> SourceOf(const DimensionShift& shift, int64_t results) {
  const int64_t every = shift.every, places = (results - 1) * shift.stride + shift.reach;
  if (results * shift.stride % every != 0) return std::nullopt;
  TileSource source;
  source.step = results * shift.stride / every;
  source.low = every == 1 ? shift.low : CeilDivide(shift.low, every);
  source.pad_low = shift.low - source.low * every;  // below 0: places of the first element that are cut off
  source.size = (places - 1 - source.pad_low) / every + 1;
  source.pad_high = places - source.pad_low - (source.size - 1) * every - 1;
  return source;
}

std::optional<FactorRule> RuleOf(const Instruction& instruction) {
  if (!HasPlainShapes(instruction)) return std::nullopt;
  if (IsIdentityCall(instruction)) return Elementwise(instruction);
  if (!Has(instruction.opcode(), Trait::kMeets) && HasSideEffect(instruction)) return std::nullopt;
  const bool moves = instruction.operand_count() > 0 || instruction.opcode() == Opcode::kIota;
  std::optional<FactorRule> rule = moves ? RuleByOpcode(instruction) : std::nullopt;
  if (rule) LetPad(*rule, instruction);
  return rule;
}

Attributes TileAttributes(const Instruction& instruction, const std::vector<Shape>& operands, const Shape& result) {
  Attributes attributes = instruction.attributes();
  if (auto* const slice = std::get_if<SliceAttributes>(&attributes)) {
    for (int d = 0; d < result.rank(); ++d) {
      if (operands[0].dimension(d) != instruction.operand(0)->shape().dimension(d))
        slice->slice[d].limit = operands[0].dimension(d);
    }
  } else if (auto* const call = std::get_if<CustomCallAttributes>(&attributes)) {
    for (size_t i = 0; call->operand_layout_constraints && i < operands.size(); ++i) {
      Shape& constraint = call->operand_layout_constraints->at(i);
      for (int d = 0; d < operands[i].rank(); ++d) constraint.set_dimension(d, operands[i].dimension(d));
    }
  } else if (auto* const moving = std::get_if<DynamicSliceAttributes>(&attributes)) {
    moving->dynamic_slice_sizes.assign(result.dimensions().begin(), result.dimensions().end());
  } else if (auto* const gather = std::get_if<GatherAttributes>(&attributes)) {
    for (int d = 0; d < operands[0].rank(); ++d) {
      int64_t& size = gather->slice_sizes[d];
      if (operands[0].dimension(d) == instruction.operand(0)->shape().dimension(d)) continue;
      const bool is_one = Contains(gather->operand_batching_dims, d) || Contains(gather->collapsed_slice_dims, d);
      if (!is_one) size = operands[0].dimension(d);
    }
  }
  return attributes;
}

}  // namespace VXLA_NAMESPACE
