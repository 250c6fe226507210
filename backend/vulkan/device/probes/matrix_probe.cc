#include "backend/vulkan/device/probes/matrix_probe.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "backend/vulkan/device/plan/device_plan.h"
#include "backend/vulkan/device/probes/group_probe.h"
#include "backend/vulkan/device/probes/quirks.h"
#include "core/data/float_formats.h"
#include "core/host/hash.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Changed with the operands or the judgement, so that old verdicts are not believed.
constexpr int kMatrixProbeVersion = 1;

bool IsInteger(const MatrixShape& shape) { return !IsFloating(shape.sum); }

uint32_t Next(uint64_t& state) { return static_cast<uint32_t>(SplitMix(state += kSplitMixStep) >> 32); }

// A trial's terms and sums.
struct Trial {
  std::vector<uint32_t> lhs, rhs;  // bits of each term
  std::vector<uint32_t> sums;
};

uint32_t TermBits(ElementType term, double value) { return EncodeNarrowFloat(term, value); }

// Sums of row 0: a tie and a half, which rounding and cutting tell apart, up and down. Row 1: the least denormal on
// either side.
Trial ChosenTrial(const MatrixShape& shape) {
  Trial trial{std::vector<uint32_t>(shape.rows * shape.k), std::vector<uint32_t>(shape.k * shape.columns),
              std::vector<uint32_t>(shape.rows * shape.columns)};
  if (IsInteger(shape)) return trial;
  const bool half = shape.term == ElementType::kF16;
  const double least = half ? 0x1p-24 : 0x1p-133, other = half ? 0x1p10 : 0x1p100;
  const auto lhs = [&](uint32_t row, uint32_t k, double value) {
    trial.lhs[row * shape.k + k] = TermBits(shape.term, value);
  };
  const auto rhs = [&](uint32_t k, uint32_t column, double value) {
    trial.rhs[column * shape.k + k] = TermBits(shape.term, value);
  };
  lhs(0, 0, 0x1.8p-12);
  rhs(0, 0, 0x1p-12);
  rhs(0, 1, -0x1p-12);
  trial.sums[0] = std::bit_cast<uint32_t>(1.0f);
  trial.sums[1] = std::bit_cast<uint32_t>(-1.0f);
  lhs(1, 1, least);
  rhs(1, 2, other);
  lhs(2, 2, other);
  rhs(2, 3, least);
  return trial;
}

// Numbers of a few binades, of either sign; any bytes.
Trial RandomTrial(const MatrixShape& shape, uint64_t& state) {
  Trial trial;
  const auto term = [&]() -> uint32_t {
    if (IsInteger(shape)) return Next(state) & 0xffu;
    const double significand = static_cast<double>(Next(state) % 4096) / 2048 - 1;
    return TermBits(shape.term, std::ldexp(significand, static_cast<int>(Next(state) % 6) - 3));
  };
  for (uint32_t i = 0; i < shape.rows * shape.k; ++i) trial.lhs.push_back(term());
  for (uint32_t i = 0; i < shape.columns * shape.k; ++i) trial.rhs.push_back(term());
  for (uint32_t i = 0; i < shape.rows * shape.columns; ++i) {
    const float sum = static_cast<float>(static_cast<int32_t>(Next(state))) * 0x1p-30f;
    trial.sums.push_back(IsInteger(shape) ? Next(state) : std::bit_cast<uint32_t>(sum));
  }
  return trial;
}

std::vector<Trial> TrialsOf(const MatrixShape& shape) {
  uint64_t state = 1;
  std::vector<Trial> trials{ChosenTrial(shape)};
  while (trials.size() < kMatrixTrials) trials.push_back(RandomTrial(shape, state));
  return trials;
}

// The exact sum, and the sum of the magnitudes. All products fit in a double, and its sums err far below f32's.
struct Exact {
  double sum = 0, magnitudes = 0;
  uint32_t integer = 0;
};
Exact ExactSum(const Trial& trial, const MatrixShape& shape, uint32_t row, uint32_t column, bool flushes) {
  Exact exact;
  const uint32_t start = trial.sums[row * shape.columns + column];
  exact.integer = start;
  exact.sum = std::bit_cast<float>(start);
  exact.magnitudes = std::abs(exact.sum);
  for (uint32_t k = 0; k < shape.k; ++k) {
    const uint32_t a = trial.lhs[row * shape.k + k], b = trial.rhs[column * shape.k + k];
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

}  // namespace

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
  for (const Trial& trial : TrialsOf(shape)) {
    pack(trial.lhs);
    pack(trial.rhs);
    words.insert(words.end(), trial.sums.begin(), trial.sums.end());
  }
  return words;
}

std::vector<uint32_t> MatrixAnswers(const MatrixShape& shape, MatrixRounding rounding, bool flushes) {
  std::vector<uint32_t> answer;
  for (const Trial& trial : TrialsOf(shape)) {
    for (uint32_t row = 0; row < shape.rows; ++row) {
      for (uint32_t column = 0; column < shape.columns; ++column) {
        const Exact exact = ExactSum(trial, shape, row, column, flushes);
        auto sum = static_cast<float>(exact.sum);
        if (rounding == MatrixRounding::kCut && std::abs(sum) > std::abs(exact.sum)) sum = std::nextafter(sum, 0.0f);
        answer.push_back(IsInteger(shape) ? exact.integer : std::bit_cast<uint32_t>(sum));
      }
    }
  }
  return answer;
}

MatrixVerdict JudgeMatrices(std::span<const uint32_t> answer, const MatrixShape& shape) {
  MatrixVerdict verdict;
  const std::vector<Trial> trials = TrialsOf(shape);
  const auto sum = [&](size_t trial, uint32_t row, uint32_t column) {
    return answer[(trial * shape.rows + row) * shape.columns + column];
  };
  const auto number = [&](uint32_t row, uint32_t column) { return std::bit_cast<float>(sum(0, row, column)); };
  if (!IsInteger(shape)) {
    const float up = number(0, 0), down = number(0, 1);
    const bool nearest = up == 0x1.000002p0f && down == -0x1.000002p0f;
    verdict.rounding = nearest ? MatrixRounding::kNearest : MatrixRounding::kCut;
    verdict.flushes = number(1, 2) == 0 || number(2, 3) == 0;
  }
  // k products and the first sum, each rounded; a cut errs by a whole unit.
  const double bound = (shape.k + 1) * 0x1p-24 * (verdict.rounding == MatrixRounding::kCut ? 2 : 1);
  for (size_t trial = 0; trial < trials.size(); ++trial) {
    for (uint32_t row = 0; row < shape.rows; ++row) {
      for (uint32_t column = 0; column < shape.columns; ++column) {
        const Exact exact = ExactSum(trials[trial], shape, row, column, verdict.flushes);
        const uint32_t got = sum(trial, row, column);
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
  VXLA_ASSIGN_OR_RETURN(std::vector<uint32_t> spirv, tools.modules.matrices(shape, facts));
  const Probe probe = {"probe/matrices", std::move(spirv), group ? kGroupProbeTiles : kMatrixTrials,
                       group ? shape.invocations : facts.matrix_lanes, group};
  VXLA_RETURN_IF_ERROR(
      RunProbe(tools, probe, std::as_bytes(std::span(operands)), std::as_writable_bytes(std::span(answer))));
  return group ? JudgeGroup(answer, shape) : JudgeMatrices(answer, shape);
}

}  // namespace

Status ProbeMatrices(const ProbeTools& tools, DiskCache& disk, DeviceFacts& facts,
                     std::vector<MatrixShape> DeviceFacts::*list) {
  std::vector<MatrixVerdict> verdicts;
  for (const MatrixShape& shape : facts.*list) {
    MatrixVerdict& verdict = verdicts.emplace_back();
    const std::string module = tools.modules.matrices_identity(shape, facts);
    if (module.empty()) continue;  // nothing asks: what the driver lists is taken for right
    const std::string key = fmt::format("matrices|{}|{}|{}", kMatrixProbeVersion, DeviceIdentity(facts), module);
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
  VXLA_RETURN_IF_ERROR(ProbeMatrices(tools, disk, facts, &DeviceFacts::matrices));
  return facts.matrices_stand_in ? OkStatus() : ProbeMatrices(tools, disk, facts, &DeviceFacts::group_matrices);
}

}  // namespace VXLA_NAMESPACE::vulkan
