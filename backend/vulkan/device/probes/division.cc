#include "backend/vulkan/device/probes/division.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/host/hash.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Changed with the operands or the judgement, so that old verdicts are not believed.
constexpr int kDivisionVersion = 2;
constexpr uint32_t kGroupSize = 64;
constexpr int kAnswers = 4;  // of each pair

class Random {
 public:
  uint64_t Next() { return SplitMix(state_ += kSplitMixStep); }
  uint64_t Below(uint64_t limit) { return Next() % limit; }

 private:
  uint64_t state_ = 1;
};

template <typename T>
using BitsOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

template <typename T>
struct Pair {
  T a, b;
};

// Any significand, an exponent within [low, high].
template <typename T>
T Number(Random& random, int low, int high) {
  const T m = 1 + std::ldexp(static_cast<T>(random.Next() >> (65 - std::numeric_limits<T>::digits)),
                             1 - std::numeric_limits<T>::digits);
  return std::ldexp(m, low + static_cast<int>(random.Below(static_cast<uint64_t>(high - low + 1))));
}

// One pair of each kind: plain ones, quotients and roots next to a tie, denormal quotients, denormal operands,
// overflow, any encodings, special values.
template <typename T>
Pair<T> MakePair(uint32_t kind, Random& random) {
  using Limits = std::numeric_limits<T>;
  const T unit = Limits::epsilon(), j = static_cast<T>(random.Below(1024)), k = static_cast<T>(random.Below(1024));
  const int shift = static_cast<int>(random.Below(40)) - 20;
  switch (kind) {
    case 0:
      return {Number<T>(random, 0, 0), Number<T>(random, 0, 0)};
    case 1:
      return {Number<T>(random, -30, 30), -Number<T>(random, -30, 30)};
    case 2:  // (1 + j u) / (1 - (k + 1/2) u) = 1 + (j + k + 1/2) u and a little more
      return {std::ldexp(1 + j * unit, shift), 1 - (k + T(0.5)) * unit};
    case 3:  // the root of 1 + (2j + 1) u is 1 + (j + 1/2) u and a little less
      return {std::ldexp(1 + (2 * j + 1) * unit, 2 * shift), 2 - k * unit};
    case 4:
      return {Number<T>(random, Limits::min_exponent, 0), Number<T>(random, 0, -Limits::min_exponent)};
    case 5:
      return {std::ldexp(Number<T>(random, -Limits::digits, 0), Limits::min_exponent - 1), Number<T>(random, -20, 20)};
    case 6:
      return {std::bit_cast<T>(static_cast<BitsOf<T>>(random.Next())),
              std::bit_cast<T>(static_cast<BitsOf<T>>(random.Next()))};
    default: {
      constexpr std::array<T, 8> kSpecial = {
          0, 1, Limits::infinity(), Limits::quiet_NaN(), Limits::min(), Limits::max(), Limits::denorm_min(), 3};
      const uint64_t bits = random.Next();
      const T a = kSpecial[bits % 8], b = kSpecial[bits / 8 % 8];
      return {bits & 64 ? -a : a, bits & 128 ? -b : b};
    }
  }
}

template <typename T>
std::vector<Pair<T>> MakePairs(uint32_t count) {
  Random random;
  std::vector<Pair<T>> pairs(count);
  for (uint32_t i = 0; i < count; ++i) pairs[i] = MakePair<T>(i % 8, random);
  return pairs;
}

template <typename T>
std::array<T, kAnswers> Correct(const Pair<T>& pair) {
  return {pair.a / pair.b, 1 / pair.b, pair.a / 3, std::sqrt(pair.a)};
}

template <typename T>
void AppendWords(std::vector<uint32_t>& words, T value) {
  uint32_t parts[sizeof(T) / 4];
  std::memcpy(parts, &value, sizeof(T));
  words.insert(words.end(), std::begin(parts), std::end(parts));
}

template <typename T>
void AppendOperands(std::vector<uint32_t>& words, uint32_t count) {
  for (const Pair<T>& pair : MakePairs<T>(count)) AppendWords(words, pair.a), AppendWords(words, pair.b);
}

// Zero to a device that flushes denormals: those, and what rounds up to the least normal number.
template <typename T>
bool MayFlush(T x) {
  return x != 0 && std::fabs(x) <= std::numeric_limits<T>::min();
}

template <typename T>
DeviceFacts::Division Judge(const uint32_t* words, uint32_t count, bool flushes) {
  for (const Pair<T>& pair : MakePairs<T>(count)) {
    for (const T expected : Correct(pair)) {
      T got;
      std::memcpy(&got, words, sizeof(T));
      words += sizeof(T) / 4;
      if (std::bit_cast<BitsOf<T>>(got) == std::bit_cast<BitsOf<T>>(expected) ||
          (std::isnan(got) && std::isnan(expected)))
        continue;
      if (flushes && (MayFlush(pair.a) || MayFlush(pair.b) || MayFlush(expected))) continue;
      return DeviceFacts::Division::kCorrected;
    }
  }
  return DeviceFacts::Division::kNative;
}

}  // namespace

std::vector<uint32_t> DivisionOperands() {
  std::vector<uint32_t> words;
  words.reserve(2 * kDivisionSingles + 4 * kDivisionDoubles);
  AppendOperands<float>(words, kDivisionSingles);
  AppendOperands<double>(words, kDivisionDoubles);
  return words;
}

DivisionFacts JudgeDivision(std::span<const uint32_t> answer, const DeviceFacts& facts) {
  DivisionFacts division;
  division.f32 = Judge<float>(answer.data(), kDivisionSingles, facts.quirks.flushes_f32_denormals);
  if (facts.float64) {
    division.f64 = Judge<double>(answer.data() + kAnswers * kDivisionSingles, kDivisionDoubles,
                                 facts.quirks.flushes_f64_denormals);
  }
  return division;
}

Result<DivisionFacts> MeasureDivision(const ProbeTools& tools, DiskCache& disk) {
  const DeviceFacts& facts = tools.context->facts();
  const uint32_t groups = (kDivisionSingles + (facts.float64 ? kDivisionDoubles : 0)) / kGroupSize;
  constexpr ProbeSubject kSubject = {ProbeSubject::kDivision};
  const std::string key = ProbeKey(tools, kSubject, kDivisionVersion);
  using Kept = std::array<DeviceFacts::Division, 2>;
  if (const auto found = disk.LoadArray<Kept>(key)) return DivisionFacts{(*found)[0], (*found)[1]};
  const std::vector<uint32_t> operands = DivisionOperands();
  std::vector<uint32_t> answer(kAnswers * (kDivisionSingles + 2 * kDivisionDoubles));
  VXLA_RETURN_IF_ERROR(RunProbe(tools, kSubject, {groups}, operands, answer));
  const DivisionFacts division = JudgeDivision(answer, facts);
  const Kept kept{division.f32, division.f64};
  disk.Store(key, std::as_bytes(std::span(kept)));
  return division;
}

}  // namespace VXLA_NAMESPACE::vulkan
