// StableHLO's words for the values of HLO's enums, in the order of these. VHLO's have a word more in places
// (core/mlir/bytecode/vhlo.cc).
#pragma once

#include <string_view>

namespace VXLA_NAMESPACE::mlir {

inline constexpr std::string_view kDirectionWords[] = {"EQ", "NE", "GE", "GT", "LE", "LT"};
inline constexpr std::string_view kCompareTypeWords[] = {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"};
inline constexpr std::string_view kFftWords[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
inline constexpr std::string_view kPrecisionWords[] = {"DEFAULT", "HIGH", "HIGHEST"};
inline constexpr std::string_view kTransposeWords[] = {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
inline constexpr std::string_view kAlgorithmWords[] = {"DEFAULT", "THREE_FRY", "PHILOX"};
inline constexpr std::string_view kDistributionWords[] = {"UNIFORM", "NORMAL"};

}  // namespace VXLA_NAMESPACE::mlir
