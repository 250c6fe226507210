// Products of whole workgroups: the probe is their kernel itself (shaders/dot/matmul_tensors.comp) on a product whose
// last tiles and steps are not whole.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/step.h"
#include "backend/vulkan/device/probes/matrix_probe.h"

namespace VXLA_NAMESPACE::vulkan {

// What it multiplies: two tiles each way, two steps along k and a part of one. Operands lie along k or across it, by
// views or without, as it comes for the form.
struct GroupProbeShape {
  explicit GroupProbeShape(const MatrixShape& matrix);
  uint32_t rows, columns, k;
  bool lhs_along_k, rhs_along_k;
  uint32_t lhs_words() const { return rows * k / per_word; }
  uint32_t per_word;
};
inline constexpr uint32_t kGroupProbeTiles = 4;
// Of the argument block (backend/step.h): two addresses, which nothing reads, and parameters.
inline constexpr uint32_t kGroupProbeArguments = 8;

// Whether its terms have 16 bits, so that a layout may store sums as such.
bool IsOfHalves(const MatrixShape& matrix);
// It, sums that begin as zeros.
MatrixProduct GroupProduct(const MatrixShape& matrix);
// The argument block, the terms of lhs and of rhs as they lie in memory.
std::vector<uint32_t> GroupOperands(const MatrixShape& matrix);
// What the kernel writes: sums row by row by its elements, then again by a layout, those of 16-bit terms rounded to
// such, in pairs.
uint32_t GroupAnswerWords(const MatrixShape& matrix);
// The sum that a layout stores, as 32 or 16 bits.
uint32_t StoredBits(const MatrixShape& matrix, uint32_t sum);
// Pure.
MatrixVerdict JudgeGroup(std::span<const uint32_t> answer, const MatrixShape& matrix);
// Pure: the kernel, of which tensor 0 is the operands and tensor 1 the answer.
KernelKey GroupProbeKey(const MatrixShape& matrix, const DeviceFacts& facts);

}  // namespace VXLA_NAMESPACE::vulkan
