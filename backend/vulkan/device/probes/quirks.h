// Quirks: driver faults that give silent wrong results, found by running a small kernel when the device is opened. The
// answer is kept on disk per device and driver.
#pragma once

#include <array>

#include "backend/vulkan/device/probes/probe.h"
#include "backend/vulkan/shader/disk_cache.h"

namespace VXLA_NAMESPACE::vulkan {

// What the probe kernel wrote, by ProbeWord.
enum ProbeWord {
  kSingleLoop,       // iterations counted by one loop of kLoopIterations
  kNestedLoops,      // the same by two nested loops of kNestedIterations each
  kLoopsRan,         // a checksum, so that loops are not replaced by their sum
  kNarrowedFloat16,  // bits of kUnevenBits after f32 -> float16_t -> f32
  kNarrowedHidden,   // the same with a zero between them that the driver cannot see
  kNarrowedDouble,   // 1 if f64 -> f32 -> f64 gave the f64 back
  kDenormal32,       // bits: 2^-126 * 0.5, a denormal times 1, a denormal plus a denormal
  kDenormal32Times1,
  kDenormal32Sum,
  kDenormal32Fused,     // bits of fma(a denormal, 1, the same)
  kDenormal32FusedSum,  // bits of fma(2^-126, 0.5, that denormal)
  kDenormal16,          // bits of a f16 denormal times 1
  kDenormal64High,      // bits of a f64 denormal times 1
  kDenormal64Low,
  kSumInteger,    // 0xffffffff + 2
  kQuotient,      // 1000003 / 7
  kSumFloat,      // bits of 0.1f + 0.2f
  kProductFloat,  // bits of 0.1f * 3.0f
  kFusedRest,     // bits of fma(1 + 2^-12, 1 + 2^-12, -(1 + 2^-11)): 2^-24 where it rounds once, else 0
  kNans,          // which of six numbers isnan says are NaN, a bit each: kEveryNan where it is right
  kWrongHalves,   // how many f32 became another f16 than the nearest, or came back as another f32
  kHalfNan,       // bits of the f16 that the NaN of functions becomes: kFunctionNan where its quiet bit alone is kept
  kProbeWords,
};
using ProbeAnswer = std::array<uint32_t, kProbeWords>;

inline constexpr uint32_t kLoopIterations = 100'000, kNestedIterations = 400;
inline constexpr uint32_t kDenormalBits = 0x000116c2;  // about 1e-40
inline constexpr uint32_t kUnevenBits = 0x3dcccccd;    // 0.1f: has no f16
inline constexpr uint32_t kTwoToMinus24 = 0x33800000;
inline constexpr uint32_t kFunctionNan = 0x7e00;
inline constexpr uint32_t kEveryNan = 0x7;  // the first three are

// Pure: what the words of the probe mean for a device with these features.
Result<DeviceFacts::Quirks> Diagnose(const ProbeAnswer& answer, const DeviceFacts& facts);

// Pure: makes the facts those of a device with these quirks. f64 that flushes denormals is emulated, as there is no
// other way to compare it.
void ApplyQuirks(DeviceFacts::Quirks quirks, DeviceFacts& facts);

// Finds the quirks, applies them, and sets the facts that follow from the answer. Hardware that leaves the answer as it
// was ran nothing: it is null hardware then.
Status ProbeDevice(const ProbeTools& tools, DiskCache& disk, DeviceFacts& facts);

// "kSingleLoop": what the probe's text calls a ProbeWord.
const char* ProbeWordName(int word);

}  // namespace VXLA_NAMESPACE::vulkan
