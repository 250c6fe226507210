#include "core/live_dimensions.h"

#include <algorithm>

#include "core/ops/op_support.h"

namespace VXLA_NAMESPACE {
namespace {

struct Place {
  int operand;
  int64_t dimension;
};

class Agreement {
 public:
  Agreement(const Instruction& instruction, LiveDimensions& live) : instruction_(instruction), live_(live) {}

  void Pair(std::vector<Place> places) { groups_.push_back(std::move(places)); }
  void Pair(int a, const IntList& a_dims, int b, const IntList& b_dims) {
    for (size_t i = 0; i < a_dims.size(); ++i) Pair({{a, a_dims[i]}, {b, b_dims[i]}});
  }
  // Every dimension of these operands but one.
  void PairAll(int first, int count, int64_t except = -1) {
    const int64_t rank = static_cast<int64_t>(live_.sizes[first].size());
    for (int64_t d = 0; d < rank; ++d) {
      if (d == except) continue;
      std::vector<Place> places;
      for (int k = first; k < first + count; ++k) places.push_back({k, d});
      Pair(std::move(places));
    }
  }

  // Twice, because a size that one group settles may be in another.
  Status Settle() {
    for (int round = 0; round < 2; ++round) {
      for (const std::vector<Place>& group : groups_) VXLA_RETURN_IF_ERROR(Settle(group));
    }
    return OkStatus();
  }

 private:
  Status Settle(const std::vector<Place>& group) {
    const Place* first = nullptr;
    for (const Place& p : group) {
      if (!live_.dynamic[p.operand][p.dimension]) continue;
      if (first == nullptr) first = &p;
      const int64_t size = live_.sizes[p.operand][p.dimension], wanted = live_.sizes[first->operand][first->dimension];
      if (size != wanted) {
        return OpError(instruction_,
                       "dimension {} of operand {} has the live size {}, dimension {} of operand {} has {}",
                       first->dimension, first->operand, wanted, p.dimension, p.operand, size);
      }
    }
    if (first == nullptr) return OkStatus();
    const int64_t size = live_.sizes[first->operand][first->dimension];
    for (const Place& p : group) {
      live_.sizes[p.operand][p.dimension] = size;
      live_.dynamic[p.operand][p.dimension] = true;
    }
    return OkStatus();
  }

  const Instruction& instruction_;
  LiveDimensions& live_;
  std::vector<std::vector<Place>> groups_;
};

// Operands of the highest rank; scalars stand beside them.
void PairElementwise(const LiveDimensions& live, Agreement& agreement) {
  size_t rank = 0;
  for (const auto& sizes : live.sizes) rank = std::max(rank, sizes.size());
  for (size_t d = 0; d < rank; ++d) {
    std::vector<Place> places;
    for (size_t k = 0; k < live.sizes.size(); ++k) {
      if (live.sizes[k].size() == rank) places.push_back({static_cast<int>(k), static_cast<int64_t>(d)});
    }
    agreement.Pair(std::move(places));
  }
}

// The indices' dimensions but the index vector, in order.
IntList BatchDimensions(size_t rank, int64_t index_vector_dim) {
  IntList dims;
  for (int64_t d = 0; d < static_cast<int64_t>(rank); ++d) {
    if (d != index_vector_dim) dims.push_back(d);
  }
  return dims;
}

void PairScatter(const Instruction& instruction, const LiveDimensions& live, Agreement& agreement) {
  const auto& a = instruction.attributes<ScatterAttributes>();
  const int n = instruction.operand_count() / 2;
  agreement.PairAll(0, n);
  agreement.PairAll(n + 1, n);
  agreement.Pair(0, a.input_batching_dims, n, a.scatter_indices_batching_dims);
  const IntList batch = BatchDimensions(live.sizes[n].size(), a.index_vector_dim);
  IntList scatter;
  for (int64_t d = 0; d < static_cast<int64_t>(live.sizes[n + 1].size()); ++d) {
    if (!Contains(a.update_window_dims, d)) scatter.push_back(d);
  }
  agreement.Pair(n, batch, n + 1, scatter);
}

void PairNormalization(const Instruction& instruction, Agreement& agreement) {
  const int64_t feature = instruction.attributes<BatchNormAttributes>().feature_index;
  const bool grad = instruction.opcode() == Opcode::kBatchNormGrad;
  const int vectors = grad ? 4 : instruction.operand_count();
  std::vector<Place> places{{0, feature}};
  for (int k = 1; k < vectors; ++k) places.push_back({k, 0});
  agreement.Pair(std::move(places));
  if (!grad) return;
  for (int64_t d = 0; d < instruction.operand(0)->shape().rank(); ++d) agreement.Pair({{0, d}, {4, d}});
}

void PairTriangular(const Instruction& instruction, Agreement& agreement) {
  const int64_t rank = instruction.operand(0)->shape().rank();
  if (instruction.opcode() == Opcode::kCholesky) return agreement.Pair({{0, rank - 2}, {0, rank - 1}});
  const bool left = instruction.attributes<TriangularSolveAttributes>().left_side;
  agreement.Pair({{0, rank - 2}, {0, rank - 1}, {1, left ? rank - 2 : rank - 1}});
  for (int64_t d = 0; d < rank - 2; ++d) agreement.Pair({{0, d}, {1, d}});
}

// The source of a select-and-scatter has one element for each window of the operand.
Status CutSource(const Instruction& instruction, LiveDimensions& live) {
  const Window& window = instruction.attributes<WindowAttributes>().window;
  for (size_t d = 0; d < window.size(); ++d) {
    if (!live.dynamic[0][d] || live.dynamic[1][d]) continue;
    VXLA_ASSIGN_OR_RETURN(const int64_t positions,
                          WindowPositions(instruction, static_cast<int>(d), live.sizes[0][d], window[d]));
    live.sizes[1][d] = std::min(positions, live.sizes[1][d]);
  }
  return OkStatus();
}

// Scales stand for blocks of the array along each dimension: as many blocks live as the live elements fill.
Status AgreeOnBlocks(const Instruction& instruction, LiveDimensions& live, int array, int scales) {
  const Shape& shape = instruction.operand(array)->shape();
  const Shape& by = instruction.operand(scales)->shape();
  for (int d = 0; d < shape.rank(); ++d) {
    if (by.dimension(d) <= 1) continue;  // one scale for all
    const int64_t block = shape.dimension(d) / by.dimension(d);
    int64_t &elements = live.sizes[array][d], &blocks = live.sizes[scales][d];
    if (!live.dynamic[array][d]) elements = blocks * block;
    if (!live.dynamic[scales][d]) blocks = elements / block;
    if (blocks * block == elements) continue;
    return OpError(
        instruction,
        "dimension {} of operand {} has the live size {}, dimension {} of operand {} has {} scales for {} each", d,
        array, elements, d, scales, blocks, block);
  }
  return OkStatus();
}

void PairDot(const Instruction& instruction, Agreement& agreement) {
  const auto& a = instruction.attributes<DotAttributes>();
  agreement.Pair(0, a.lhs_batch_dims, 1, a.rhs_batch_dims);
  agreement.Pair(0, a.lhs_contracting_dims, 1, a.rhs_contracting_dims);
}

}  // namespace

void LiveDimensions::Add(const Shape& shape, std::vector<int64_t> live) {
  std::vector<bool> flags;
  for (size_t d = 0; d < live.size(); ++d) {
    const int dimension = static_cast<int>(d);
    flags.push_back(shape.is_dynamic_dimension(dimension) || live[d] != shape.dimension(dimension));
  }
  sizes.push_back(std::move(live));
  dynamic.push_back(std::move(flags));
}

Status AgreeOnSizes(const Instruction& instruction, LiveDimensions& live) {
  Agreement agreement(instruction, live);
  switch (instruction.opcode()) {
    case Opcode::kConcatenate:
      agreement.PairAll(0, instruction.operand_count(), instruction.dimensions()[0]);
      break;
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
      agreement.PairAll(0, instruction.operand_count() / 2);
      break;
    case Opcode::kSort:
      agreement.PairAll(0, instruction.operand_count());
      break;
    case Opcode::kDot:
      PairDot(instruction, agreement);
      break;
    case Opcode::kRaggedDot:
      PairDot(instruction, agreement);
      for (int64_t d : instruction.attributes<DotAttributes>().rhs_group_dims) {
        agreement.Pair({{1, d}, {2, instruction.operand(2)->shape().rank() - 1}});
      }
      break;
    case Opcode::kScaledDot: {
      for (int side : {0, 1}) VXLA_RETURN_IF_ERROR(AgreeOnBlocks(instruction, live, side, side + 2));
      PairDot(instruction, agreement);
      VXLA_RETURN_IF_ERROR(agreement.Settle());
      for (int side : {0, 1}) VXLA_RETURN_IF_ERROR(AgreeOnBlocks(instruction, live, side, side + 2));
      return OkStatus();
    }
    case Opcode::kConvolution: {
      const auto& a = instruction.attributes<ConvolutionAttributes>();
      if (a.feature_group_count == 1) {
        agreement.Pair({{0, a.dim_labels->input_feature}, {1, a.dim_labels->kernel_input_feature}});
      }
      break;
    }
    case Opcode::kGather: {
      const auto& a = instruction.attributes<GatherAttributes>();
      agreement.Pair(0, a.operand_batching_dims, 1, a.start_indices_batching_dims);
      break;
    }
    case Opcode::kScatter:
      PairScatter(instruction, live, agreement);
      break;
    case Opcode::kSelectAndScatter:
      return CutSource(instruction, live);
    case Opcode::kBatchNormTraining:
    case Opcode::kBatchNormInference:
    case Opcode::kBatchNormGrad:
      PairNormalization(instruction, agreement);
      break;
    case Opcode::kCholesky:
    case Opcode::kTriangularSolve:
      PairTriangular(instruction, agreement);
      break;
    default:
      if (IsElementwise(instruction.opcode()) || instruction.opcode() == Opcode::kMap ||
          instruction.opcode() == Opcode::kStochasticConvert) {
        PairElementwise(live, agreement);
      }
  }
  return agreement.Settle();
}

}  // namespace VXLA_NAMESPACE
