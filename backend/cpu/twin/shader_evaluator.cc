#include "backend/cpu/twin/shader_evaluator.h"

#include <algorithm>
#include <cstring>

#include "backend/cpu/reference/arithmetic/parallel.h"
#include "backend/cpu/reference/ops/data_movement.h"
#include "backend/cpu/twin/shader_dot.h"
#include "backend/cpu/twin/shader_fold.h"
#include "core/maps/running_window.h"
#include "core/numerics/accuracy.h"
#include "core/numerics/dot_algorithm.h"

namespace VXLA_NAMESPACE {
namespace {

size_t CarrierBytesOf(ElementType type) { return static_cast<size_t>(ShaderCarrierBytes(ShaderCarrierOf(type))); }

int StorageOf(const Literal& literal) { return StorageBytes(literal.shape().element_type()); }

// Runs calls over whole arrays; scalar operands (of clamp and select) stand for every element.
Result<Literal> RunElementwise(const Instruction& instruction, std::span<const Literal* const> operands, int threads) {
  VXLA_ASSIGN_OR_RETURN(const std::vector<ShaderCall> calls, ShaderCallsOf(instruction));
  Literal result = Literal::Uninitialized(instruction.shape());
  const ElementType type = instruction.shape().element_type();
  if (calls.empty() && operands[0]->shape().element_type() == type) {
    std::memcpy(result.mutable_bytes().data(), operands[0]->bytes().data(), result.bytes().size());
    return result;
  }
  const int64_t count = result.element_count();
  ParallelFor(count, 64 * kShaderBlock, threads, [&](int64_t begin, int64_t end) {
    std::vector<ShaderBlock> inputs(operands.size() + 1);
    ShaderScratch scratch;
    const void* in[4];
    for (int64_t at = begin; at < end; at += kShaderBlock) {
      const int64_t n = std::min(kShaderBlock, end - at);
      for (size_t k = 0; k < operands.size(); ++k) {
        const Literal& operand = *operands[k];
        const ElementType from = operand.shape().element_type();
        in[k] = inputs[k].bytes;
        const bool splat = operand.shape().rank() == 0 && count > 1;
        if (!splat) {
          LoadShaderCarriers(from, operand.bytes().data() + at * StorageOf(operand), n, inputs[k].bytes);
          continue;
        }
        const size_t bytes = CarrierBytesOf(from);
        LoadShaderCarriers(from, operand.bytes().data(), 1, inputs[k].bytes);
        for (int64_t i = 1; i < n; ++i) {
          std::memcpy(inputs[k].bytes + static_cast<size_t>(i) * bytes, inputs[k].bytes, bytes);
        }
      }
      RunShaderCalls(calls, in, inputs.back().bytes, n, scratch);
      // Without a call the carrier is the result's already (f16 to f32, s8 to s32).
      StoreShaderCarriers(type, calls.empty() ? in[0] : inputs.back().bytes, n,
                          result.mutable_bytes().data() + at * StorageOf(result));
    }
  });
  return result;
}

AccumulationOrder OrderOf(const ShaderEvaluation& evaluation, const Instruction& instruction, int64_t row_size) {
  const auto it = evaluation.orders.find(PathOf(instruction));
  if (it != evaluation.orders.end()) return it->second;
  return {{.chunk = std::max<int64_t>(row_size, 1)}};
}

// Carriers of the initial values.
Result<std::vector<std::vector<std::byte>>> StartsOf(const ShaderReducer& reducer,
                                                     std::span<const Literal* const> inits) {
  std::vector<std::vector<std::byte>> starts;
  for (size_t v = 0; v < inits.size(); ++v) {
    VXLA_ASSIGN_OR_RETURN(starts.emplace_back(), ShaderCarriersOf(*inits[v], reducer.types()[v]));
  }
  return starts;
}

// Initial values are combined with each row's sum once, unless it began with them, and what comes out is brought into
// the results' types.
Result<Literal> FinishRows(const Instruction& instruction, const ShaderReducer& reducer, ShaderSums sums,
                           std::span<const Literal* const> inits) {
  const auto leaves = FlattenTuple(instruction.shape());
  const int64_t rows = leaves[0]->ElementCount();
  const size_t count = leaves.size();
  ShaderReducer::Runner runner(reducer);
  std::vector<Literal> results;
  std::vector<std::vector<ShaderCall>> narrowing(count);
  std::vector<ShaderBlock> start(count), whole(count);
  std::vector<void*> accumulators;
  for (size_t v = 0; v < count; ++v) {
    results.push_back(Literal::Uninitialized(*leaves[v]));
    const ElementType accumulator = reducer.types()[v];
    if (leaves[v]->element_type() != accumulator) {
      VXLA_ASSIGN_OR_RETURN(narrowing[v], ShaderConversion(accumulator, leaves[v]->element_type()));
    }
    VXLA_ASSIGN_OR_RETURN(const std::vector<std::byte> init, ShaderCarriersOf(*inits[v], accumulator));
    for (size_t i = 0; i < static_cast<size_t>(kShaderBlock); ++i) {
      std::memcpy(start[v].bytes + i * init.size(), init.data(), init.size());
    }
    accumulators.push_back(whole[v].bytes);
  }
  ShaderScratch scratch;
  for (int64_t at = 0; at < rows; at += kShaderBlock) {
    const int64_t n = std::min(kShaderBlock, rows - at);
    std::vector<const void*> values;
    for (size_t v = 0; v < count; ++v) {
      const size_t bytes = CarrierBytesOf(reducer.types()[v]);
      std::memcpy(whole[v].bytes, start[v].bytes, static_cast<size_t>(n) * bytes);
      values.push_back(sums.values[v].data() + static_cast<size_t>(at) * bytes);
    }
    if (!reducer.in_order()) runner.Combine(accumulators.data(), values.data(), n);
    for (size_t v = 0; v < count; ++v) {
      const size_t bytes = CarrierBytesOf(reducer.types()[v]);
      if (reducer.in_order()) std::memcpy(whole[v].bytes, values[v], static_cast<size_t>(n) * bytes);
      for (int64_t i = 0; i < n; ++i) {
        if (sums.holds[static_cast<size_t>(at + i)] != 0) continue;
        std::memcpy(whole[v].bytes + static_cast<size_t>(i) * bytes, start[v].bytes, bytes);
      }
      const void* in[] = {whole[v].bytes};
      if (!narrowing[v].empty()) RunShaderCalls(narrowing[v], in, whole[v].bytes, n, scratch);
      StoreShaderCarriers(leaves[v]->element_type(), whole[v].bytes, n,
                          results[v].mutable_bytes().data() + at * StorageOf(results[v]));
    }
  }
  if (!instruction.shape().IsTuple()) return std::move(results[0]);
  return Literal::Tuple(std::move(results));
}

Result<ShaderReducer> ReducerOf(const Instruction& instruction, std::span<const Literal* const> operands) {
  VXLA_ASSIGN_OR_RETURN(ShaderReducer reducer, ShaderReducer::Of(instruction));
  if (!reducer.in_order()) return reducer;
  VXLA_ASSIGN_OR_RETURN(auto starts, StartsOf(reducer, operands.subspan(operands.size() / 2)));
  reducer.StartFrom(std::move(starts));
  return reducer;
}

Result<Literal> RunReduce(const Instruction& instruction, std::span<const Literal* const> operands,
                          const ShaderEvaluation& evaluation) {
  const size_t count = operands.size() / 2;
  VXLA_ASSIGN_OR_RETURN(const ShaderReducer reducer, ReducerOf(instruction, operands));
  const Shape& shape = operands[0]->shape();
  std::vector<int64_t> permutation;
  int64_t rows = 1, row_size = 1;
  auto reduced = [&](int64_t d) {
    return std::ranges::find(instruction.dimensions(), d) != instruction.dimensions().end();
  };
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (!reduced(d)) permutation.push_back(d);
    (reduced(d) ? row_size : rows) *= shape.dimension(static_cast<int>(d));
  }
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (reduced(d)) permutation.push_back(d);
  }
  std::vector<std::vector<std::byte>> carriers;
  for (size_t i = 0; i < count; ++i) {
    const Literal moved = TransposeLiteral(*operands[i], permutation, evaluation.options.threads);
    VXLA_ASSIGN_OR_RETURN(carriers.emplace_back(), ShaderCarriersOf(moved, reducer.types()[i]));
  }
  const ShaderLoader load = [&](const int64_t* row, const int64_t* element, int64_t n, void* const* values) {
    for (size_t v = 0; v < count; ++v) {
      const size_t bytes = CarrierBytesOf(reducer.types()[v]);
      for (int64_t i = 0; i < n; ++i) {
        std::memcpy(static_cast<std::byte*>(values[v]) + static_cast<size_t>(i) * bytes,
                    carriers[v].data() + static_cast<size_t>(row[i] * row_size + element[i]) * bytes, bytes);
      }
    }
  };
  ShaderSums sums =
      FoldRows(rows, row_size, OrderOf(evaluation, instruction, row_size), reducer, load, evaluation.options.threads);
  return FinishRows(instruction, reducer, std::move(sums), operands.subspan(count));
}

// Where the taps of a window lie.
class WindowPlaces {
 public:
  WindowPlaces(const Window& window, const Shape& operand, const Shape& result)
      : window_(window),
        operand_(operand),
        results_(RowMajorStrides(result.dimensions())),
        inputs_(RowMajorStrides(operand.dimensions())) {
    for (const WindowDimension& w : window) sizes_.push_back(w.size);
    const std::vector<int64_t> strides = RowMajorStrides(sizes_);
    // Every tap is looked at for every result, so their reaches are worked out once.
    for (int64_t tap = 0; tap < tap_count(); ++tap) {
      for (size_t d = 0; d < sizes_.size(); ++d) {
        const int64_t t = tap / strides[d] % sizes_[d];
        reaches_.push_back((window[d].reversal ? sizes_[d] - 1 - t : t) * window[d].rhs_dilate - window[d].pad_low);
      }
    }
  }
  int64_t tap_count() const { return ElementCountOf(sizes_); }
  // The operand's element under a tap of a result; -1 in the padding and in holes.
  int64_t At(int64_t result, int64_t tap) const {
    int64_t at = 0;
    const int64_t* reach = reaches_.data() + tap * static_cast<int64_t>(sizes_.size());
    for (size_t d = 0; d < sizes_.size(); ++d) {
      const WindowDimension& w = window_[d];
      const int64_t r = result / results_[d];
      result -= r * results_[d];
      int64_t place = r * w.stride + reach[d];
      if (place < 0) return -1;
      if (w.lhs_dilate != 1) {
        if (place % w.lhs_dilate != 0) return -1;
        place /= w.lhs_dilate;
      }
      if (place >= operand_.dimension(static_cast<int>(d))) return -1;
      at += place * inputs_[d];
    }
    return at;
  }

 private:
  const Window& window_;
  const Shape& operand_;
  const std::vector<int64_t> results_, inputs_;
  std::vector<int64_t> sizes_, reaches_;
};

Result<Literal> RunReduceWindow(const Instruction& instruction, std::span<const Literal* const> operands,
                                const ShaderEvaluation& evaluation) {
  const size_t count = operands.size() / 2;
  VXLA_ASSIGN_OR_RETURN(const ShaderReducer reducer, ReducerOf(instruction, operands));
  const Shape& result = *FlattenTuple(instruction.shape())[0];
  const WindowPlaces places(instruction.attributes<WindowAttributes>().window, operands[0]->shape(), result);
  std::vector<std::vector<std::byte>> carriers, inits;
  for (size_t i = 0; i < count; ++i) {
    VXLA_ASSIGN_OR_RETURN(carriers.emplace_back(), ShaderCarriersOf(*operands[i], reducer.types()[i]));
    VXLA_ASSIGN_OR_RETURN(inits.emplace_back(), ShaderCarriersOf(*operands[count + i], reducer.types()[i]));
  }
  const ShaderLoader load = [&](const int64_t* row, const int64_t* element, int64_t n, void* const* values) {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = places.At(row[i], element[i]);
      for (size_t v = 0; v < count; ++v) {
        const size_t bytes = CarrierBytesOf(reducer.types()[v]);
        std::memcpy(static_cast<std::byte*>(values[v]) + static_cast<size_t>(i) * bytes,
                    at < 0 ? inits[v].data() : carriers[v].data() + static_cast<size_t>(at) * bytes, bytes);
      }
    }
  };
  const int64_t taps = places.tap_count();
  ShaderSums sums = FoldRows(result.ElementCount(), taps, OrderOf(evaluation, instruction, taps), reducer, load,
                             evaluation.options.threads);
  return FinishRows(instruction, reducer, std::move(sums), operands.subspan(count));
}

// One instruction that kernels compute; nullopt: the reference's value is as good.
std::optional<Result<Literal>> EvaluateOne(const Instruction& instruction, std::span<const Literal* const> operands,
                                           const ShaderEvaluation& evaluation) {
  if (instruction.opcode() == Opcode::kBitcastConvert) return std::nullopt;
  if (IsElementwise(instruction.opcode())) return RunElementwise(instruction, operands, evaluation.options.threads);
  switch (instruction.opcode()) {
    case Opcode::kReduce:
      return RunReduce(instruction, operands, evaluation);
    case Opcode::kReduceWindow:
      // The twin has no loops of that kernel, and plans state no order of it.
      if (RunningWindowOf(instruction) && !evaluation.orders.contains(PathOf(instruction))) return std::nullopt;
      return RunReduceWindow(instruction, operands, evaluation);
    case Opcode::kDot:
      if (FindDotAlgorithm(instruction.attributes<DotAttributes>().algorithm) != nullptr) return std::nullopt;
      return DotAsShaders(instruction, *operands[0], *operands[1],
                          OrderOf(evaluation, instruction, AccumulationLength(instruction)),
                          evaluation.options.threads);
    default:
      return std::nullopt;
  }
}

}  // namespace

Result<Literal> EvaluateAsShaders(const Module& module, std::span<const Literal* const> arguments,
                                  const ShaderEvaluation& evaluation) {
  // What runs on the host runs there with everything below it.
  std::unordered_set<const Computation*> host_computations;
  const std::function<void(const Instruction&)> mark = [&](const Instruction& instruction) {
    for (const Computation* called : instruction.called()) {
      if (!host_computations.insert(called).second) continue;
      for (const auto& inner : called->instructions()) mark(*inner);
    }
  };
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (evaluation.on_host.contains(PathOf(*instruction))) mark(*instruction);
    }
  }
  EvaluateOptions options = evaluation.options;
  options.replace = [&](const Instruction& instruction,
                        std::span<const Literal* const> operands) -> std::optional<Result<Literal>> {
    if (host_computations.contains(instruction.parent())) return std::nullopt;
    const bool live = instruction.shape().IsDynamic() ||
                      std::ranges::any_of(operands, [](const Literal* operand) { return operand->is_dynamic(); });
    if (live) return std::nullopt;
    if (!evaluation.on_host.empty() && evaluation.on_host.contains(PathOf(instruction))) return std::nullopt;
    return EvaluateOne(instruction, operands, evaluation);
  };
  return Evaluate(module, arguments, options);
}

}  // namespace VXLA_NAMESPACE
