#include "backend/vulkan/device/probes/group_probe.h"

#include <bit>
#include <cmath>

#include "core/data/float_formats.h"
#include "core/host/hash.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

bool OfIntegers(const MatrixShape& matrix) { return !IsFloating(matrix.sum); }
uint32_t BitsOfATerm(const MatrixShape& matrix) { return 8 * static_cast<uint32_t>(StorageBytes(matrix.term)); }

// The terms by row and k, and by column and k.
struct Terms {
  std::vector<uint32_t> lhs, rhs;
};

// Numbers of a few binades, of either sign, or any bytes; of floats the sums of row 0 begin with a tie and a half, up
// and down, and those of rows 1 and 2 have the least denormal on either side (matrix_probe.cc).
Terms TermsOf(const MatrixShape& matrix) {
  const GroupProbeShape shape(matrix);
  uint64_t state = 1;
  const auto term = [&]() -> uint32_t {
    const auto bits = static_cast<uint32_t>(SplitMix(state += kSplitMixStep) >> 32);
    if (OfIntegers(matrix)) return bits & 0xffu;
    const double significand = static_cast<double>(bits % 4096) / 2048 - 1;
    return EncodeNarrowFloat(matrix.term, std::ldexp(significand, static_cast<int>(bits >> 16 & 3u) - 2));
  };
  Terms terms;
  for (uint32_t i = 0; i < shape.rows * shape.k; ++i) terms.lhs.push_back(term());
  for (uint32_t i = 0; i < shape.columns * shape.k; ++i) terms.rhs.push_back(term());
  if (OfIntegers(matrix)) return terms;
  std::fill_n(terms.lhs.begin(), size_t{3} * shape.k, 0);
  std::fill_n(terms.rhs.begin(), size_t{4} * shape.k, 0);
  const auto lhs = [&](uint32_t row, uint32_t k, double value) {
    terms.lhs[row * shape.k + k] = EncodeNarrowFloat(matrix.term, value);
  };
  const auto rhs = [&](uint32_t k, uint32_t column, double value) {
    terms.rhs[column * shape.k + k] = EncodeNarrowFloat(matrix.term, value);
  };
  const bool half = matrix.term == ElementType::kF16;
  const double least = half ? 0x1p-24 : 0x1p-133, other = half ? 0x1p10 : 0x1p100;
  // The ones are a step of their own, so that the tie meets a sum.
  lhs(0, 0, 1);
  lhs(0, matrix.k, 0x1.8p-12);
  rhs(0, 0, 1);
  rhs(matrix.k, 0, 0x1p-12);
  rhs(0, 1, -1);
  rhs(matrix.k, 1, -0x1p-12);
  lhs(1, 1, least);
  rhs(1, 2, other);
  lhs(2, 2, other);
  rhs(2, 3, least);
  return terms;
}

struct Sums {
  std::vector<double> exact, magnitudes;
  std::vector<uint32_t> integers;
};

Sums SumsOf(const MatrixShape& matrix, bool flushes) {
  const GroupProbeShape shape(matrix);
  const Terms terms = TermsOf(matrix);
  const auto number = [&](uint32_t bits) -> double {
    if (matrix.term == ElementType::kS8) return static_cast<int8_t>(bits);
    if (OfIntegers(matrix)) return bits;
    const double value = DecodeNarrowFloat(matrix.term, bits);
    const double normal = matrix.term == ElementType::kF16 ? 0x1p-14 : 0x1p-126;
    return flushes && std::abs(value) < normal ? 0.0 : value;
  };
  std::vector<double> lhs, rhs;
  for (const uint32_t bits : terms.lhs) lhs.push_back(number(bits));
  for (const uint32_t bits : terms.rhs) rhs.push_back(number(bits));
  Sums sums;
  for (uint32_t row = 0; row < shape.rows; ++row) {
    for (uint32_t column = 0; column < shape.columns; ++column) {
      double sum = 0, magnitudes = 0;
      for (uint32_t k = 0; k < shape.k; ++k) {
        const double product = lhs[row * shape.k + k] * rhs[column * shape.k + k];
        sum += product;
        magnitudes += std::abs(product);
      }
      sums.exact.push_back(sum);
      sums.magnitudes.push_back(magnitudes);
      // Of bytes they are far below 2^31.
      sums.integers.push_back(OfIntegers(matrix) ? static_cast<uint32_t>(static_cast<int64_t>(sum)) : 0);
    }
  }
  return sums;
}

// The sum that a layout stores, as 32 or 16 bits.
uint32_t StoredBits(const MatrixShape& matrix, uint32_t sum) {
  return OfIntegers(matrix) ? sum : EncodeNarrowFloat(matrix.term, std::bit_cast<float>(sum));
}

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

std::vector<uint32_t> GroupOperands(const MatrixShape& matrix) {
  const GroupProbeShape shape(matrix);
  const Terms terms = TermsOf(matrix);
  std::vector<uint32_t> words = {0, 0, 0, 0, shape.rows, shape.columns, shape.k};
  words.resize(kGroupProbeArguments);
  for (const bool lhs : {true, false}) {
    const std::vector<uint32_t> operand =
        InMemory(lhs ? terms.lhs : terms.rhs, lhs ? shape.rows : shape.columns, shape.k,
                 lhs ? shape.lhs_along_k : shape.rhs_along_k, shape.per_word);
    words.insert(words.end(), operand.begin(), operand.end());
  }
  return words;
}

uint32_t GroupAnswerWords(const MatrixShape& matrix) {
  const GroupProbeShape shape(matrix);
  return shape.rows * shape.columns / 2 * (OfIntegers(matrix) ? 4 : 3);
}

std::vector<uint32_t> GroupAnswer(const MatrixShape& matrix, MatrixRounding rounding) {
  const Sums sums = SumsOf(matrix, false);
  std::vector<uint32_t> answer;
  for (size_t i = 0; i < sums.exact.size(); ++i) {
    auto sum = static_cast<float>(sums.exact[i]);
    if (rounding == MatrixRounding::kCut && std::abs(sum) > std::abs(sums.exact[i])) sum = std::nextafter(sum, 0.0f);
    answer.push_back(OfIntegers(matrix) ? sums.integers[i] : std::bit_cast<uint32_t>(sum));
  }
  const size_t count = answer.size(), step = OfIntegers(matrix) ? 1 : 2;
  for (size_t i = 0; i < count; i += step) {
    const uint32_t low = StoredBits(matrix, answer[i]);
    answer.push_back(step == 1 ? low : low | StoredBits(matrix, answer[i + 1]) << 16);
  }
  return answer;
}

MatrixVerdict JudgeGroup(std::span<const uint32_t> answer, const MatrixShape& matrix) {
  const GroupProbeShape shape(matrix);
  MatrixVerdict verdict;
  const auto sum = [&](uint32_t row, uint32_t column) {
    return std::bit_cast<float>(answer[row * shape.columns + column]);
  };
  if (!OfIntegers(matrix)) {
    const bool nearest = sum(0, 0) == 0x1.000002p0f && sum(0, 1) == -0x1.000002p0f;
    verdict.rounding = nearest ? MatrixRounding::kNearest : MatrixRounding::kCut;
    verdict.flushes = sum(1, 2) == 0 || sum(2, 3) == 0;
  }
  const Sums sums = SumsOf(matrix, verdict.flushes);
  const size_t count = sums.exact.size();
  const double bound = (shape.k + 1) * 0x1p-24 * (verdict.rounding == MatrixRounding::kCut ? 2 : 1);
  for (size_t i = 0; i < count; ++i) {
    const uint32_t got = answer[i];
    const double error = std::abs(static_cast<double>(std::bit_cast<float>(got)) - sums.exact[i]);
    verdict.wrong |= OfIntegers(matrix) ? got != sums.integers[i] : !(error <= bound * sums.magnitudes[i]);
    const uint32_t stored = OfIntegers(matrix) ? answer[count + i] : answer[count + i / 2] >> (16 * (i % 2)) & 0xffffu;
    verdict.wrong |= stored != StoredBits(matrix, got);
  }
  return verdict;
}

}  // namespace VXLA_NAMESPACE::vulkan
