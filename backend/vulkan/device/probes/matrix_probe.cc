#include "backend/vulkan/device/probes/matrix_probe.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "backend/vulkan/device/probes/division.h"
#include "backend/vulkan/device/probes/group_probe.h"
#include "backend/vulkan/device/probes/quirks.h"
#include "core/data/float_formats.h"
#include "core/host/hash.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Changed with the operands or the judgement, so that old verdicts are not believed.
constexpr int kMatrixProbeVersion = 2;

bool IsInteger(const MatrixShape& shape) { return !IsFloating(shape.sum); }

uint32_t Next(uint64_t& state) { return static_cast<uint32_t>(SplitMix(state += kSplitMixStep) >> 32); }

// What the probe multiplies, words: of each trial lhs row by row, rhs column by column, and the sums row by row.
std::vector<uint32_t> MatrixOperands(const MatrixShape& shape) {
  const uint32_t per_word = static_cast<uint32_t>(4 / StorageBytes(shape.term)), bits = 32 / per_word;
  std::vector<uint32_t> words;
  const auto pack = [&](const std::vector<uint32_t>& terms) {
    for (size_t i = 0; i < terms.size(); i += per_word) {
      uint32_t word = 0;
      for (uint32_t j = 0; j < per_word; ++j) word |= terms[i + j] << (bits * j);
      words.push_back(word);
    }
  };
  for (const MatrixProduct& trial : MatrixTrials(shape)) {
    pack(trial.lhs);
    pack(trial.rhs);
    words.insert(words.end(), trial.sums.begin(), trial.sums.end());
  }
  return words;
}

}  // namespace

MatrixProduct::MatrixProduct(const MatrixShape& of, uint64_t& state) : shape(of) {
  const auto term = [&]() -> uint32_t {
    if (IsInteger(shape)) return Next(state) & 0xffu;
    const double significand = static_cast<double>(Next(state) % 4096) / 2048 - 1;
    return EncodeNarrowFloat(shape.term, std::ldexp(significand, static_cast<int>(Next(state) % 6) - 3));
  };
  for (uint32_t i = 0; i < shape.rows * shape.k; ++i) lhs.push_back(term());
  for (uint32_t i = 0; i < shape.columns * shape.k; ++i) rhs.push_back(term());
  for (uint32_t i = 0; i < shape.rows * shape.columns; ++i) {
    const float sum = static_cast<float>(static_cast<int32_t>(Next(state))) * 0x1p-30f;
    sums.push_back(IsInteger(shape) ? Next(state) : std::bit_cast<uint32_t>(sum));
  }
}

void MatrixProduct::ChooseTerms(uint32_t step) {
  if (IsInteger(shape)) return;
  std::fill_n(lhs.begin(), size_t{3} * shape.k, 0);
  std::fill_n(rhs.begin(), size_t{4} * shape.k, 0);
  std::fill_n(sums.begin(), size_t{3} * shape.columns, 0);
  const auto put = [&](std::vector<uint32_t>& terms, uint32_t at, uint32_t k, double value) {
    terms[at * shape.k + k] = EncodeNarrowFloat(shape.term, value);
  };
  for (const uint32_t column : {0u, 1u}) {
    const float one = column == 0 ? 1 : -1;
    put(rhs, column, step, one * 0x1p-12);
    step > 0 ? put(rhs, column, 0, one) : void(sums[column] = std::bit_cast<uint32_t>(one));
  }
  if (step > 0) put(lhs, 0, 0, 1);
  put(lhs, 0, step, 0x1.8p-12);
  const bool half = shape.term == ElementType::kF16;
  const double least = half ? 0x1p-24 : 0x1p-133, other = half ? 0x1p10 : 0x1p100;
  put(lhs, 1, 1, least);
  put(rhs, 2, 1, other);
  put(lhs, 2, 2, other);
  put(rhs, 3, 2, least);
}

MatrixProduct::Exact MatrixProduct::SumAt(uint32_t row, uint32_t column, bool flushes) const {
  Exact exact;
  exact.integer = sums[row * shape.columns + column];
  exact.sum = std::bit_cast<float>(exact.integer);
  exact.magnitudes = std::abs(exact.sum);
  for (uint32_t k = 0; k < shape.k; ++k) {
    const uint32_t a = lhs[row * shape.k + k], b = rhs[column * shape.k + k];
    const auto integer = [&](uint32_t bits) {
      return shape.term == ElementType::kS8 ? static_cast<uint32_t>(static_cast<int8_t>(bits)) : bits;
    };
    exact.integer += integer(a) * integer(b);
    if (IsInteger(shape)) continue;
    const auto number = [&](uint32_t bits) {
      const double value = DecodeNarrowFloat(shape.term, bits);
      const double normal = shape.term == ElementType::kF16 ? 0x1p-14 : 0x1p-126;
      return flushes && std::abs(value) < normal ? 0.0 : value;
    };
    const double product = number(a) * number(b);
    exact.sum += product;
    exact.magnitudes += std::abs(product);
  }
  return exact;
}

std::vector<MatrixProduct> MatrixTrials(const MatrixShape& shape) {
  uint64_t state = 1;
  std::vector<MatrixProduct> trials;
  while (trials.size() < kMatrixTrials) trials.emplace_back(shape, state);
  trials[0].ChooseTerms(0);
  return trials;
}

MatrixVerdict JudgeMatrices(std::span<const uint32_t> answers, std::span<const MatrixProduct> products) {
  MatrixVerdict verdict;
  const MatrixShape& shape = products[0].shape;
  if (!IsInteger(shape)) {
    const auto number = [&](uint32_t row, uint32_t column) {
      return std::bit_cast<float>(answers[row * shape.columns + column]);
    };
    const bool nearest = number(0, 0) == 0x1.000002p0f && number(0, 1) == -0x1.000002p0f;
    verdict.rounding = nearest ? MatrixRounding::kNearest : MatrixRounding::kCut;
    verdict.flushes = number(1, 2) == 0 || number(2, 3) == 0;
  }
  // k products and the first sum, each rounded; a cut errs by a whole unit.
  const double bound = (shape.k + 1) * 0x1p-24 * (verdict.rounding == MatrixRounding::kCut ? 2 : 1);
  size_t next = 0;
  for (const MatrixProduct& product : products) {
    for (uint32_t row = 0; row < shape.rows; ++row) {
      for (uint32_t column = 0; column < shape.columns; ++column) {
        const MatrixProduct::Exact exact = product.SumAt(row, column, verdict.flushes);
        const uint32_t got = answers[next++];
        const double error = std::abs(static_cast<double>(std::bit_cast<float>(got)) - exact.sum);
        verdict.wrong |= IsInteger(shape) ? got != exact.integer : !(error <= bound * exact.magnitudes);
      }
    }
  }
  return verdict;
}

void NoteMatrices(std::span<const MatrixVerdict> verdicts, std::vector<MatrixShape>& matrices,
                  std::vector<std::string>& notes) {
  std::vector<MatrixShape> kept;
  for (size_t i = 0; i < matrices.size(); ++i) {
    MatrixShape& shape = matrices[i];
    const MatrixVerdict& verdict = verdicts[i];
    const std::string name =
        fmt::format("matrix units of {} in {}x{}x{}{}", ElementTypeName(shape.term), shape.rows, shape.columns, shape.k,
                    shape.invocations == 0 ? "" : fmt::format(" by {} invocations", shape.invocations));
    if (verdict.wrong) {
      notes.push_back(name + " give wrong sums, or none: they are not used");
    } else if (verdict.flushes && shape.term == ElementType::kF16) {
      notes.push_back(name + " flush denormals to zero: they are not used");
    } else {
      if (verdict.flushes) notes.push_back(name + " flush denormals to zero");
      shape.rounding = verdict.rounding;
      kept.push_back(shape);
    }
  }
  matrices = std::move(kept);
}

namespace {

// What the product's module answers.
Result<MatrixVerdict> AskMatrices(const ProbeTools& tools, const DeviceFacts& facts, const MatrixShape& shape) {
  const bool group = shape.invocations != 0;
  const std::vector<uint32_t> operands = group ? GroupOperands(shape) : MatrixOperands(shape);
  std::vector<uint32_t> answer(group ? GroupAnswerWords(shape) : kMatrixTrials * shape.rows * shape.columns);
  const ProbeRun run = {group ? kGroupProbeTiles : kMatrixTrials, group ? shape.invocations : facts.matrix_lanes,
                        group};
  VXLA_RETURN_IF_ERROR(RunProbe(tools, {ProbeSubject::kMatrices, shape}, run, operands, answer));
  return group ? JudgeGroup(answer, shape) : JudgeMatrices(answer, MatrixTrials(shape));
}

}  // namespace

Status ProbeMatrices(const ProbeTools& tools, DiskCache& disk, DeviceFacts& facts,
                     std::vector<MatrixShape> DeviceFacts::*list) {
  std::vector<MatrixVerdict> verdicts;
  for (const MatrixShape& shape : facts.*list) {
    MatrixVerdict& verdict = verdicts.emplace_back();
    const ProbeSubject subject = {ProbeSubject::kMatrices, shape};
    if (tools.modules.identity(subject, facts).empty()) continue;  // what the driver lists is taken for right
    const std::string key = ProbeKey(tools, subject, kMatrixProbeVersion);
    using Kept = std::array<uint8_t, 3>;
    if (const auto kept = disk.LoadArray<Kept>(key)) {
      verdict = {static_cast<MatrixRounding>((*kept)[0]), (*kept)[1] != 0, (*kept)[2] != 0};
      continue;
    }
    const auto keep = [&](const MatrixVerdict& of) {
      const Kept kept = {static_cast<uint8_t>(of.rounding), of.flushes, of.wrong};
      disk.Store(key, std::as_bytes(std::span(kept)));
    };
    // Should a driver end the process, or lose the device, over a kernel of a whole workgroup, it is not asked again.
    verdict.wrong = true;
    if (shape.invocations != 0) keep(verdict);
    const Result<MatrixVerdict> found = AskMatrices(tools, facts, shape);
    VXLA_RETURN_IF_ERROR(tools.context->Alive());
    if (!found.ok()) continue;
    verdict = *found;
    keep(verdict);
  }
  NoteMatrices(verdicts, facts.*list, facts.quirks.notes);
  return OkStatus();
}

Status ProbeWhole(const ProbeTools& tools, DiskCache& disk, DeviceFacts& facts) {
  VXLA_RETURN_IF_ERROR(ProbeDevice(tools, disk, facts));
  if (facts.compile_only) return OkStatus();
  if (facts.division_f32 == DeviceFacts::Division::kUnmeasured) {
    VXLA_ASSIGN_OR_RETURN(const DivisionFacts division, MeasureDivision(tools, disk));
    facts.division_f32 = division.f32;
    facts.division_f64 = division.f64;
  }
  VXLA_RETURN_IF_ERROR(ProbeMatrices(tools, disk, facts, &DeviceFacts::matrices));
  return facts.matrices_stand_in ? OkStatus() : ProbeMatrices(tools, disk, facts, &DeviceFacts::group_matrices);
}

}  // namespace VXLA_NAMESPACE::vulkan
