// rng and rng-get-and-update-state: random numbers that no operand seeds. They come from a state of the device, which
// begins with EvaluateOptions::seed and the device's number and which each execution of such an instruction advances: a
// program draws the same numbers on every run, different ones in each iteration of a loop and on each device.
#include <cmath>
#include <numbers>

#include "backend/cpu/reference/eval.h"
#include "backend/cpu/reference/ops/random.h"
#include "core/host/hash.h"

namespace VXLA_NAMESPACE {
namespace {

// A stream of 64-bit words for one element, four 32-bit words of Philox at a time.
class Words {
 public:
  Words(uint64_t key, uint64_t stream, uint64_t element) : key_(key), stream_(stream), element_(element) {}

  uint64_t Next() {
    if (used_ == 2) {
      // The block number takes the top 16 bits of the element's half of the counter; no array has 2^48 elements.
      const uint64_t high = element_ | uint64_t{block_++} << 48;
      words_ = Philox4x32({static_cast<uint32_t>(stream_), static_cast<uint32_t>(stream_ >> 32),
                           static_cast<uint32_t>(high), static_cast<uint32_t>(high >> 32)},
                          key_);
      used_ = 0;
    }
    const size_t at = 2 * static_cast<size_t>(used_++);
    return words_[at] | uint64_t{words_[at + 1]} << 32;
  }
  // Uniform in [0, 1), 53 bits.
  double NextUnit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

 private:
  uint64_t key_, stream_, element_;
  std::array<uint32_t, 4> words_{};
  uint16_t block_ = 0;
  int used_ = 2;
};

// Uniform in [low, high). A number that rounds up to `high` in the element type is drawn again; types of few bits may
// know no number between, which leaves `low`.
double UniformReal(ElementType type, double low, double high, Words& words) {
  constexpr int kMostDraws = 64;
  Literal rounded{Shape(type)};
  for (int draw = 0; draw < kMostDraws; ++draw) {
    const double u = words.NextUnit();
    rounded.SetDouble(0, low * (1 - u) + high * u);
    const double value = rounded.GetDouble(0);
    if (value < high || std::isnan(value)) return value;
  }
  return low;
}

// Uniform in [low, high) by the high word of a product; the bias is below 2^-64 of the span's size.
int64_t UniformInteger(uint64_t low, uint64_t high, Words& words) {
  const unsigned __int128 product = static_cast<unsigned __int128>(words.Next()) * (high - low);
  return static_cast<int64_t>(low + static_cast<uint64_t>(product >> 64));
}

// Box and Muller's transform.
double Normal(double mean, double deviation, Words& words) {
  const double radius = std::sqrt(-2 * std::log(1 - words.NextUnit()));
  return mean + deviation * (radius * std::cos(2 * std::numbers::pi * words.NextUnit()));
}

}  // namespace

// An empty interval (high <= low) gives `low`.
EvalResult EvalRng(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  VXLA_ASSIGN_OR_RETURN(DeviceState * state, context.DeviceFor(instruction));
  Literal result(instruction.shape());
  const ElementType type = instruction.shape().element_type();
  const bool normal = instruction.attributes<RngAttributes>().distribution == RngDistribution::kNormal;
  const bool real = IsFloating(type);
  if (IsComplex(type) || (normal && !real)) {
    return Unsupported("rng {}: not defined for {}", instruction.name(), ElementTypeName(type));
  }
  const uint64_t key = SplitMix(context.options().seed + kSplitMixStep * static_cast<uint64_t>(state->device));
  const uint64_t stream = state->rng_draws++;
  const Literal &a = operands[0].literal(), &b = operands[1].literal();
  const double real_a = real ? a.GetDouble(0) : 0, real_b = real ? b.GetDouble(0) : 0;
  const int64_t low = real ? 0 : a.GetInt(0), high = real ? 0 : b.GetInt(0);
  const bool empty = IsSigned(type) ? high <= low : static_cast<uint64_t>(high) <= static_cast<uint64_t>(low);
  context.For(result.element_count(), 1 << 12, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Words words(key, stream, static_cast<uint64_t>(i));
      if (normal) {
        result.SetDouble(i, Normal(real_a, real_b, words));
      } else if (real) {
        result.SetDouble(i, real_b <= real_a ? real_a : UniformReal(type, real_a, real_b, words));
      } else {
        result.SetInt(i, empty ? low : UniformInteger(static_cast<uint64_t>(low), static_cast<uint64_t>(high), words));
      }
    }
  });
  return result;
}

// The device's 128-bit counter, low word first, as it was before this adds delta to it. It starts with the seed and the
// device's number.
EvalResult EvalRngGetAndUpdateState(EvalContext& context, const Instruction& instruction, std::span<Value>) {
  VXLA_ASSIGN_OR_RETURN(DeviceState * state, context.DeviceFor(instruction));
  if (!Compatible(instruction.shape(), Shape(ElementType::kU64, {2}))) {
    return Unsupported("rng-get-and-update-state {}: {}, u64[2] needed", instruction.name(),
                       instruction.shape().ToString());
  }
  Literal old(instruction.shape());
  old.mutable_data<uint64_t>()[0] = state->rng_state_low;
  old.mutable_data<uint64_t>()[1] = state->rng_state_high;
  const auto delta = static_cast<uint64_t>(instruction.attributes<RngGetAndUpdateStateAttributes>().delta);
  state->rng_state_low += delta;
  if (state->rng_state_low < delta) ++state->rng_state_high;
  return old;
}

}  // namespace VXLA_NAMESPACE
