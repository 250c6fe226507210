// What StableHLO calls the fields of instructions' attributes (core/ir/attributes.h) and the values of their enums,
// which stand in the order of these. VHLO's have a word more in places (core/mlir/bytecode/vhlo.cc).
#pragma once

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "core/ir/attributes.h"

namespace VXLA_NAMESPACE::mlir {

inline constexpr std::string_view kDirectionWords[] = {"EQ", "NE", "GE", "GT", "LE", "LT"};
inline constexpr std::string_view kCompareTypeWords[] = {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"};
inline constexpr std::string_view kFftWords[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
inline constexpr std::string_view kPrecisionWords[] = {"DEFAULT", "HIGH", "HIGHEST"};
inline constexpr std::string_view kTransposeWords[] = {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
inline constexpr std::string_view kAlgorithmWords[] = {"DEFAULT", "THREE_FRY", "PHILOX"};
inline constexpr std::string_view kDistributionWords[] = {"UNIFORM", "NORMAL"};

struct Keywords {
  std::string_view kind;
  std::span<const std::string_view> words;
};
constexpr Keywords KeywordsOf(ComparisonDirection) { return {"comparison_direction", kDirectionWords}; }
constexpr Keywords KeywordsOf(ComparisonType) { return {"comparison_type", kCompareTypeWords}; }
constexpr Keywords KeywordsOf(FftType) { return {"fft_type", kFftWords}; }
constexpr Keywords KeywordsOf(PrecisionLevel) { return {"precision", kPrecisionWords}; }
constexpr Keywords KeywordsOf(TransposeKind) { return {"transpose", kTransposeWords}; }
constexpr Keywords KeywordsOf(RngAlgorithm) { return {"rng_algorithm", kAlgorithmWords}; }
constexpr Keywords KeywordsOf(RngDistribution) { return {"rng_distribution", kDistributionWords}; }

constexpr std::string_view PropertyName(std::string_view field) {
  constexpr std::pair<std::string_view, std::string_view> kOthers[] = {{"direction", "comparison_direction"},
                                                                       {"type", "compare_type"},
                                                                       {"dynamic_slice_sizes", "slice_sizes"},
                                                                       {"algorithm", "rng_algorithm"},
                                                                       {"distribution", "rng_distribution"}};
  const auto found = std::ranges::find(kOthers, field, [](const auto& row) { return row.first; });
  return found == std::end(kOthers) ? field : found->second;
}

}  // namespace VXLA_NAMESPACE::mlir
