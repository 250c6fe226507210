#include "backend/vulkan/device/probes/quirks.h"

#include "backend/vulkan/device/plan/device_plan.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

constexpr int kProbeVersion = 11;  // changed with the probe, so that old answers are not believed

// The data that the probe works on; read from memory so that no compiler can know it.
constexpr std::array<uint32_t, 60> kProbeData = {
    kLoopIterations,
    kNestedIterations,
    1,            // a step
    kUnevenBits,  // 0.1f
    0x3f800000,   // 1.0f
    0x00800000,   // 2^-126, the smallest normal f32
    0x3f000000,   // 0.5f
    kDenormalBits,
    0x3e4ccccd,  // 0.2f
    0x40400000,  // 3.0f
    0x3f800800,  // 1 + 2^-12, whose square is 1 + 2^-11 + 2^-24: half a last place more than a f32
    0xbf801000,  // -(1 + 2^-11)
    // f32 and the f16 of each: ties, the least and the greatest, denormals, NaN.
    0x3f801000,
    0x3c00,
    0x3f803000,
    0x3c02,
    0x33000000,
    0x0,
    0x33000001,
    0x1,
    0x477ff000,
    0x7c00,
    0x477fefff,
    0x7bff,
    0x38200000,
    0x280,
    0x80000000,
    0x8000,
    0xb8200000,
    0x8280,
    0x38801000,
    0x400,
    0xc77fffff,
    0xfc00,
    0x7fc00000,  // the NaN that functions give
    0x7e00,
    // NaN: quiet, of the least payload, negative; infinity, its neighbour, a denormal.
    0x7fc00000,
    0x7f800001,
    0xffffffff,
    0x7f800000,
    0xff7fffff,
    0x00000001,
    // Pairs of f16; sum and difference; product: ties, cancellation, denormals, overflow.
    0x10003c00,
    0x3bff3c00,
    0x00001000,
    0x10003c01,
    0x3c003c02,
    0x00001001,
    0xbc003c01,
    0x40001400,
    0x0000bc01,
    0x02010001,
    0x82000202,
    0x00000000,
    0x4c007bff,
    0x7bfe7c00,
    0x00007c00,
    0x02033555,
    0x35553555,
    0x000000ac,
};

constexpr uint32_t kProbeGroups = 5;  // a function each: probe_text.cc

constexpr std::array<const char*, kProbeWords> kWordNames = {
    "kSingleLoop",         "kNestedLoops", "kLoopsRan",         "kNarrowedFloat16", "kNarrowedHidden",
    "kNarrowedDouble",     "kDenormal32",  "kDenormal32Times1", "kDenormal32Sum",   "kDenormal32Fused",
    "kDenormal32FusedSum", "kDenormal16",  "kDenormal64High",   "kDenormal64Low",   "kSumInteger",
    "kQuotient",           "kSumFloat",    "kProductFloat",     "kFusedRest",       "kNans",
    "kWrongHalves",        "kHalfNan"};

bool Folds(uint32_t bits) { return bits == kUnevenBits; }

void NoteQuirks(DeviceFacts::Quirks& quirks, bool folds_narrowing) {
  if (quirks.loop_iteration_limit != 0) {
    quirks.notes.push_back(
        fmt::format("loops stop silently after {} iterations per invocation", quirks.loop_iteration_limit));
  }
  if (quirks.loads_where_off)
    quirks.notes.push_back("loops read once more after their last turn, where addresses may lead anywhere");
  if (folds_narrowing) quirks.notes.push_back("conversions to a narrower float and back are treated as the identity");
  if (quirks.flushes_f32_denormals)
    quirks.notes.push_back("f32 denormals are flushed to zero by + - * / and sqrt; comparisons and signs see them");
  if (quirks.flushes_fused_denormals && !quirks.flushes_f32_denormals)
    quirks.notes.push_back(
        "f32 denormals are flushed to zero by multiply-adds, of which products and functions are made");
  if (quirks.flushes_f16_denormals) quirks.notes.push_back("f16 denormals are flushed to zero");
  if (quirks.flushes_f64_denormals) quirks.notes.push_back("f64 denormals are flushed to zero: f64 is emulated");
}

}  // namespace

const char* ProbeWordName(int word) { return kWordNames[static_cast<size_t>(word)]; }

Result<DeviceFacts::Quirks> Diagnose(const ProbeAnswer& answer, const DeviceFacts& facts) {
  constexpr uint32_t kNestedTotal = kNestedIterations * kNestedIterations;
  // 0.1f + 0.2f and 0.1f * 3 are both 0x3e99999a to nearest; devices may round otherwise, so a last bit is forgiven.
  const std::array<std::pair<ProbeWord, uint32_t>, 4> sane = {
      {{kSumInteger, 1}, {kQuotient, 142857}, {kSumFloat, 0x3e99999a}, {kProductFloat, 0x3e99999a}}};
  for (const auto& [word, expected] : sane) {
    const uint32_t forgiven = word == kSumFloat || word == kProductFloat ? 1 : 0;
    if (answer[word] - expected + forgiven <= 2 * forgiven) continue;
    return DeviceFailure("device {} ({}) computes wrongly: probe {} gave {:#x}, {:#x} is right", facts.name,
                         facts.driver_version, kWordNames[word] + 1, answer[word], expected);
  }
  DeviceFacts::Quirks quirks = facts.quirks;  // what is known of the driver already
  if (answer[kSingleLoop] != kLoopIterations) {
    quirks.loop_iteration_limit = std::max(1u, answer[kSingleLoop]);
  } else if (answer[kNestedLoops] != kNestedTotal) {
    quirks.loop_iteration_limit = std::max(1u, answer[kNestedLoops]);
  }
  const bool folds_f16 = facts.float16 && Folds(answer[kNarrowedFloat16]);
  quirks.flushes_f32_denormals =
      answer[kDenormal32] == 0 || answer[kDenormal32Times1] == 0 || answer[kDenormal32Sum] == 0;
  quirks.flushes_fused_denormals =
      answer[kDenormal32Fused] != 2 * kDenormalBits || answer[kDenormal32FusedSum] != 0x00400000 + kDenormalBits;
  quirks.flushes_f16_denormals = facts.float16 && (answer[kDenormal16] & 0xffff) == 0;
  quirks.flushes_f64_denormals = facts.float64 && answer[kDenormal64High] == 0 && answer[kDenormal64Low] == 0;
  quirks.folds_f16 = folds_f16;
  quirks.inexact_f16 = facts.float16 && (Folds(answer[kNarrowedHidden]) || answer[kWrongHalves] != 0);
  quirks.other_f16_nan = facts.float16 && answer[kHalfNan] != kFunctionNan;
  quirks.loses_nan |= answer[kNans] != kEveryNan;
  quirks.unfused_multiply_add = answer[kFusedRest] != kTwoToMinus24;
  NoteQuirks(quirks, folds_f16 || (facts.float64 && answer[kNarrowedDouble] != 0));
  return quirks;
}

void ApplyQuirks(DeviceFacts::Quirks quirks, DeviceFacts& facts) {
  facts.quirks = std::move(quirks);
  if (facts.quirks.flushes_f64_denormals) facts.float64 = false;
}

Status ProbeDevice(const ProbeTools& tools, DiskCache& disk, DeviceFacts& facts) {
  constexpr ProbeSubject kSubject = {ProbeSubject::kQuirks};
  const std::string key = ProbeKey(tools, kSubject, kProbeVersion);
  const auto kept = disk.LoadArray<ProbeAnswer>(key);
  ProbeAnswer answer = kept.value_or(ProbeAnswer());
  if (!kept) VXLA_RETURN_IF_ERROR(RunProbe(tools, kSubject, {kProbeGroups}, kProbeData, answer));
  if (answer == ProbeAnswer()) {
    NoteNullHardware(facts);
    return OkStatus();
  }
  VXLA_ASSIGN_OR_RETURN(DeviceFacts::Quirks quirks, Diagnose(answer, facts));
  if (!kept) disk.Store(key, std::as_bytes(std::span(answer)));
  ApplyQuirks(std::move(quirks), facts);
  facts.fused_multiply_add = !facts.quirks.unfused_multiply_add;
  facts.native_f16 = ConvertsF16(facts) && !facts.quirks.inexact_f16;
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE::vulkan
