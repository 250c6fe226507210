#include "backend/vulkan/device/probes/group_probe.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/data/float_formats.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

uint32_t BitsOfATerm(const MatrixShape& matrix) { return 8 * static_cast<uint32_t>(StorageBytes(matrix.term)); }

// The places of terms in memory.
std::vector<uint32_t> InMemory(const std::vector<uint32_t>& by_free, uint32_t free, uint32_t k, bool along_k,
                               uint32_t per_word) {
  std::vector<uint32_t> words(by_free.size() / per_word, 0);
  for (uint32_t f = 0; f < free; ++f) {
    for (uint32_t i = 0; i < k; ++i) {
      const uint32_t at = along_k ? f * k + i : i * free + f;
      words[at / per_word] |= by_free[f * k + i] << (32 / per_word * (at % per_word));
    }
  }
  return words;
}

}  // namespace

GroupProbeShape::GroupProbeShape(const MatrixShape& matrix) {
  const uint32_t sixteen_bytes = 128 / BitsOfATerm(matrix);
  rows = matrix.rows + sixteen_bytes;
  columns = matrix.columns + sixteen_bytes;
  k = 2 * matrix.k + sixteen_bytes;
  per_word = 32 / BitsOfATerm(matrix);
  lhs_along_k = matrix.rows == 64 || matrix.columns == 256;
  rhs_along_k = matrix.columns <= 128;
}

bool IsOfHalves(const MatrixShape& matrix) { return StorageBytes(matrix.term) == 2; }

uint32_t StoredBits(const MatrixShape& matrix, uint32_t sum) {
  return IsOfHalves(matrix) ? EncodeNarrowFloat(matrix.term, std::bit_cast<float>(sum)) : sum;
}

MatrixProduct GroupProduct(const MatrixShape& matrix) {
  const GroupProbeShape shape(matrix);
  MatrixShape whole = matrix;
  whole.rows = shape.rows;
  whole.columns = shape.columns;
  whole.k = shape.k;
  uint64_t state = 1;
  MatrixProduct product(whole, state);
  std::ranges::fill(product.sums, 0);
  product.ChooseTerms(matrix.k);
  product.ChooseSpecials();
  return product;
}

std::vector<uint32_t> GroupOperands(const MatrixShape& matrix) {
  const GroupProbeShape shape(matrix);
  const MatrixProduct product = GroupProduct(matrix);
  std::vector<uint32_t> words = {0, 0, 0, 0, shape.rows, shape.columns, shape.k};
  words.resize(kGroupProbeArguments);
  for (const bool lhs : {true, false}) {
    const std::vector<uint32_t> operand =
        InMemory(lhs ? product.lhs : product.rhs, lhs ? shape.rows : shape.columns, shape.k,
                 lhs ? shape.lhs_along_k : shape.rhs_along_k, shape.per_word);
    words.insert(words.end(), operand.begin(), operand.end());
  }
  return words;
}

uint32_t GroupAnswerWords(const MatrixShape& matrix) {
  const GroupProbeShape shape(matrix);
  return shape.rows * shape.columns / 2 * (IsOfHalves(matrix) ? 3 : 4);
}

MatrixVerdict JudgeGroup(std::span<const uint32_t> answer, const MatrixShape& matrix) {
  const MatrixProduct product = GroupProduct(matrix);
  const size_t count = product.sums.size();
  MatrixVerdict verdict = JudgeMatrices(answer.first(count), {&product, 1});
  for (size_t i = 0; i < count; ++i) {
    const uint32_t stored = IsOfHalves(matrix) ? answer[count + i / 2] >> (16 * (i % 2)) & 0xffffu : answer[count + i];
    // One NaN is as good as another.
    const bool no_number = IsFloating(matrix.sum) && std::isnan(std::bit_cast<float>(answer[i])) &&
                           !IsOfHalves(matrix) && std::isnan(std::bit_cast<float>(stored));
    verdict.wrong |= !no_number && stored != StoredBits(matrix, answer[i]);
  }
  return verdict;
}

}  // namespace VXLA_NAMESPACE::vulkan
