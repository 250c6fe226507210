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

// Products of the probe: one of chosen numbers, the others of random ones.
inline constexpr uint32_t kMatrixTrials = 8;

// What the probe multiplies, words: of each trial the terms of lhs row by row, of rhs column by column, and the sums
// that they are added to row by row.
std::vector<uint32_t> MatrixOperands(const MatrixShape& shape);
// What exact units that round (cut, or flush denormal terms) at the end write: of each trial the sums row by row.
std::vector<uint32_t> MatrixAnswers(const MatrixShape& shape, MatrixRounding rounding, bool flushes);
// Pure.
MatrixVerdict JudgeMatrices(std::span<const uint32_t> answer, const MatrixShape& shape);
// Pure: the probe's GLSL for one shape of the facts.
std::string MatrixProbeText(const MatrixShape& shape, const DeviceFacts& facts);
// Pure: the products of a device of such units, of one list of its facts. One that is wrong is not used, nor one of f16
// that flushes denormals: f16 has many, and what they would have added is no rounding error.
void NoteMatrices(std::span<const MatrixVerdict> verdicts, std::vector<MatrixShape>& matrices,
                  std::vector<std::string>& notes);

// Asks the device, or the cache, about every product of one list of the facts that there is a module for; one that does
// not run is wrong.
Status ProbeMatrices(const ProbeTools& tools, DiskCache& disk, DeviceFacts& facts,
                     std::vector<MatrixShape> DeviceFacts::*list);
// ProbeDevice, and then both lists, but for plain code that stands in for whole workgroups' products.
Status ProbeWhole(const ProbeTools& tools, DiskCache& disk, DeviceFacts& facts);

}  // namespace VXLA_NAMESPACE::vulkan
