#include "core/ops/paired_dimensions.h"

#include <algorithm>

#include "core/host/ranges.h"
#include "core/ops/op_support.h"

namespace VXLA_NAMESPACE {
namespace {

class Pairs {
 public:
  explicit Pairs(const Instruction& instruction) : instruction_(instruction) {}

  void Pair(std::vector<OperandDimension> places) { groups.push_back(std::move(places)); }
  void Pair(int a, const IntList& a_dims, int b, const IntList& b_dims) {
    for (size_t i = 0; i < a_dims.size(); ++i) Pair({{a, a_dims[i]}, {b, b_dims[i]}});
  }
  // Every dimension of these operands but one.
  void PairAll(int first, int count, int64_t except = -1) {
    for (int64_t d = 0; d < Rank(first); ++d) {
      if (d == except) continue;
      Pair(Transformed(Counted<int>(static_cast<size_t>(count)), [&](int k) {
        return OperandDimension{first + k, d};
      }));
    }
  }

  // Operands of the highest rank; scalars stand beside them.
  void Elementwise() {
    int64_t rank = 0;
    for (int k = 0; k < instruction_.operand_count(); ++k) rank = std::max(rank, Rank(k));
    for (int64_t d = 0; d < rank; ++d) {
      std::vector<OperandDimension> places;
      for (int k = 0; k < instruction_.operand_count(); ++k) {
        if (Rank(k) == rank) places.push_back({k, d});
      }
      Pair(std::move(places));
    }
  }
  void Dot();
  void RaggedDot();
  void Convolution();
  void Scatter();
  void Normalization();
  void Triangular();

  std::vector<std::vector<OperandDimension>> groups;

 private:
  int64_t Rank(int operand) const { return instruction_.operand(operand)->shape().rank(); }

  const Instruction& instruction_;
};

void Pairs::Dot() {
  const auto& a = instruction_.attributes<DotAttributes>();
  Pair(0, a.lhs_batch_dims, 1, a.rhs_batch_dims);
  Pair(0, a.lhs_contracting_dims, 1, a.rhs_contracting_dims);
}

void Pairs::RaggedDot() {
  Dot();
  for (int64_t d : instruction_.attributes<DotAttributes>().rhs_group_dims) Pair({{1, d}, {2, Rank(2) - 1}});
}

void Pairs::Convolution() {
  const auto& a = instruction_.attributes<ConvolutionAttributes>();
  if (a.feature_group_count != 1) return;
  Pair({{0, a.dim_labels->input_feature}, {1, a.dim_labels->kernel_input_feature}});
}

void Pairs::Scatter() {
  const auto& a = instruction_.attributes<ScatterAttributes>();
  const int n = instruction_.operand_count() / 2;
  PairAll(0, n);
  PairAll(n + 1, n);
  Pair(0, a.input_batching_dims, n, a.scatter_indices_batching_dims);
  // The indices' dimensions but the index vector, in order.
  IntList batch, scatter;
  for (int64_t d = 0; d < Rank(n); ++d) {
    if (d != a.index_vector_dim) batch.push_back(d);
  }
  for (int64_t d = 0; d < Rank(n + 1); ++d) {
    if (!Contains(a.update_window_dims, d)) scatter.push_back(d);
  }
  Pair(n, batch, n + 1, scatter);
}

void Pairs::Normalization() {
  const int64_t feature = instruction_.attributes<BatchNormAttributes>().feature_index;
  const bool grad = instruction_.opcode() == Opcode::kBatchNormGrad;
  const int vectors = grad ? 4 : instruction_.operand_count();
  std::vector<OperandDimension> places{{0, feature}};
  for (int k = 1; k < vectors; ++k) places.push_back({k, 0});
  Pair(std::move(places));
  for (int64_t d = 0; grad && d < Rank(0); ++d) Pair({{0, d}, {4, d}});
}

void Pairs::Triangular() {
  const int64_t rank = Rank(0);
  if (instruction_.opcode() == Opcode::kCholesky) return Pair({{0, rank - 2}, {0, rank - 1}});
  const bool left = instruction_.attributes<TriangularSolveAttributes>().left_side;
  Pair({{0, rank - 2}, {0, rank - 1}, {1, left ? rank - 2 : rank - 1}});
  for (int64_t d = 0; d < rank - 2; ++d) Pair({{0, d}, {1, d}});
}

}  // namespace

std::vector<std::vector<OperandDimension>> PairedDimensions(const Instruction& instruction) {
  Pairs pairs(instruction);
  switch (instruction.opcode()) {
    case Opcode::kConcatenate:
      pairs.PairAll(0, instruction.operand_count(), instruction.dimensions()[0]);
      break;
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
      pairs.PairAll(0, instruction.operand_count() / 2);
      break;
    case Opcode::kSort:
      pairs.PairAll(0, instruction.operand_count());
      break;
    case Opcode::kDot:
    case Opcode::kScaledDot:
      pairs.Dot();
      break;
    case Opcode::kRaggedDot:
      pairs.RaggedDot();
      break;
    case Opcode::kConvolution:
      pairs.Convolution();
      break;
    case Opcode::kGather: {
      const auto& a = instruction.attributes<GatherAttributes>();
      pairs.Pair(0, a.operand_batching_dims, 1, a.start_indices_batching_dims);
      break;
    }
    case Opcode::kScatter:
      pairs.Scatter();
      break;
    case Opcode::kBatchNormTraining:
    case Opcode::kBatchNormInference:
    case Opcode::kBatchNormGrad:
      pairs.Normalization();
      break;
    case Opcode::kCholesky:
    case Opcode::kTriangularSolve:
      pairs.Triangular();
      break;
    default:
      if (IsElementwise(instruction.opcode()) || instruction.opcode() == Opcode::kMap ||
          instruction.opcode() == Opcode::kStochasticConvert) {
        pairs.Elementwise();
      }
  }
  return std::move(pairs.groups);
}

}  // namespace VXLA_NAMESPACE
