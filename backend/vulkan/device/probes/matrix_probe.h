// Matrix units: how they round, which Vulkan leaves to them. Asked once when a device that has units is opened; the
// answer is kept on disk per device and driver.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/vulkan/device/probes/probe.h"
#include "backend/vulkan/shader/disk_cache.h"

namespace VXLA_NAMESPACE::vulkan {

// What the answers of a shape say.
struct MatrixVerdict {
  MatrixRounding rounding = MatrixRounding::kUnmeasured;
  bool flushes = false;  // terms that are denormal count as zeros
  bool wrong = false;    // a sum lies beyond the bound of docs/reference/numerics.md, or is another integer
  friend bool operator==(const MatrixVerdict&, const MatrixVerdict&) = default;
};

// A product that a probe asks for, of the shape's types and sizes: the bits of lhs by row and k, of rhs by column and
// k, and of the sums that it is added to, by row. Random numbers of a few binades, of either sign, or any bytes; of f8
// every other row and column is any numbers of the type.
struct MatrixProduct {
  MatrixProduct(const MatrixShape& shape, uint64_t& state);
  // Of floats. Sums of row 0 meet a tie and a half, which rounding and cutting tell apart, up and down; what they were
  // before is in `sums`, or (`step` > 0) a product of another step. Rows 1 and 2: the least denormal on either side.
  void ChooseTerms(uint32_t step);
  // Of f8. Some rows and columns behind those have one term that is NaN or infinite, or zero where it meets these.
  void ChooseSpecials();
  struct Exact {
    double sum = 0, magnitudes = 0;
    uint32_t integer = 0;
  };
  // The exact sum, and the sum of the magnitudes. All products fit in a double, and its sums err far below f32's.
  Exact SumAt(uint32_t row, uint32_t column, bool flushes) const;

  MatrixShape shape;
  std::vector<uint32_t> lhs, rhs, sums;
};

// Pure. What the answers, one of each product, say of units; of floats the first product has chosen terms.
MatrixVerdict JudgeMatrices(std::span<const uint32_t> answers, std::span<const MatrixProduct> products);

// Products of the probe: one of chosen numbers, the others of random ones, of f8 one of these with what is no number.
inline constexpr uint32_t kMatrixTrials = 8;
std::vector<MatrixProduct> MatrixTrials(const MatrixShape& shape);
// Pure: the probe's GLSL for one shape of the facts.
std::string MatrixProbeText(const MatrixShape& shape, const DeviceFacts& facts);
// Pure: the products of a device of such units, of one list of its facts. One that is wrong is not used, nor one of f16
// or f8 that flushes denormals: these have many, and what they would have added is no rounding error.
void NoteMatrices(std::span<const MatrixVerdict> verdicts, std::vector<MatrixShape>& matrices,
                  std::vector<std::string>& notes);

// Asks the device, or the cache, about every product of one list of the facts that there is a module for; one that does
// not run is wrong.
Status ProbeMatrices(const ProbeTools& tools, DiskCache& disk, DeviceFacts& facts,
                     std::vector<MatrixShape> DeviceFacts::*list);
// ProbeDevice, division where nothing is known of it, and then both lists, but for plain code that stands in for whole
// workgroups' products.
Status ProbeWhole(const ProbeTools& tools, DiskCache& disk, DeviceFacts& facts);

}  // namespace VXLA_NAMESPACE::vulkan
