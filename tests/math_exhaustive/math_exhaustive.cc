// math_exhaustive [function ...] [--stride N] [--pairs N]: the f32 functions of the shader math at all 2^32 arguments
// (two-argument ones at N random pairs, 10^8 by default) against the C library's double, and MPFR at what that cannot
// decide. The shader text is compiled here once more so that loops vectorise (minutes, not hours); samples of each
// block are compared with the library's build, bit for bit. Prints one row of docs/reference/accuracy.md for each
// function; fails if one leaves its bound of core/numerics/accuracy.h.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "backend/cpu/twin/shader_math.h"
#include "core/numerics/accuracy.h"
#include "tests/math/exact.h"
#include "tests/math_exhaustive/batches.h"

namespace VXLA_NAMESPACE {
namespace {

using exhaustive::Batch;
using exhaustive::kBlock;

// What the oracle itself may be off by, in units of f32: a result closer to its bound than this is decided by MPFR.
constexpr double kDoubt = 1e-3;

struct Worst {
  double ulp = 0;
  float x = 0, y = 0;
  double absolute = 0;  // largest where only the absolute bound holds
  uint64_t wrong = 0, inexact = 0;
};

// The error in units of f32, by MPFR.
double Decide(const Batch& f, float x, float y, float got) {
  Number a(24), b(24), exact(160);
  mpfr_set_flt(a.value, x, MPFR_RNDN);
  mpfr_set_flt(b.value, y, MPFR_RNDN);
  if (f.exact2 != nullptr) {
    f.exact2(exact.value, a.value, b.value, MPFR_RNDN);
  } else {
    f.exact(exact.value, a.value, MPFR_RNDN);
  }
  return Distance(got, exact);
}

struct Block {
  alignas(64) float x[kBlock], y[kBlock], got[kBlock];
  alignas(64) double exact[kBlock];
  alignas(64) uint64_t error[kBlock];  // the bits of a double, for integer maxima
};

void Examine(const Batch& f, const UlpBound& bound, Block& block, Worst& worst) {
  uint64_t most = 0;
  worst.inexact += exhaustive::Errors(block.got, block.exact, block.error, &most);
  const double decided = std::max(worst.ulp, 0.0);
  const double threshold = std::min(decided, bound.ulp - kDoubt);
  if (std::bit_cast<double>(most) <= threshold) return;
  for (int i = 0; i < kBlock; ++i) {
    double error = std::bit_cast<double>(block.error[i]);
    if (error <= threshold) continue;
    if (error > bound.ulp - kDoubt) {
      error = Decide(f, block.x[i], block.y[i], block.got[i]);
      const bool within = error <= bound.ulp || std::fabs(block.got[i] - block.exact[i]) <= bound.absolute;
      if (!within && worst.wrong++ < 5) {
        std::printf("  %s of %.9g (%08x), %.9g is %.9g (%08x), exactly %.17g: %.4f ulp\n", f.name, block.x[i],
                    std::bit_cast<uint32_t>(block.x[i]), block.y[i], block.got[i],
                    std::bit_cast<uint32_t>(block.got[i]), block.exact[i], error);
      }
      if (within && error > bound.ulp) {  // by the absolute bound
        worst.absolute = std::max(worst.absolute, std::fabs(block.got[i] - block.exact[i]));
        continue;
      }
    }
    if (error > worst.ulp) worst.ulp = error, worst.x = block.x[i], worst.y = block.y[i];
  }
}

void CompareWithTheLibrary(const Batch& f, const Block& block, uint64_t seed) {
  for (int i = static_cast<int>(seed % 61); i < kBlock; i += 61) {
    const float want = f.library2 != nullptr ? f.library2(block.x[i], block.y[i]) : f.library(block.x[i]);
    if (std::bit_cast<uint32_t>(want) == std::bit_cast<uint32_t>(block.got[i])) continue;
    std::printf("%s: the vectorised build differs from the library's at %.9g, %.9g\n", f.name, block.x[i], block.y[i]);
    std::exit(1);
  }
}

// got(-x) must be got(x), with its sign turned for odd functions; so half of the oracle's work is enough.
void CheckMirror(const Batch& f, Block& block, Worst& worst) {
  static Block mirror;
  for (int i = 0; i < kBlock; ++i) mirror.x[i] = -block.x[i];
  f.ours(mirror.x, mirror.y, mirror.got);
  const uint32_t turn = f.symmetry == exhaustive::Symmetry::kOdd ? 0x80000000u : 0u;
  uint32_t differing = 0;
  for (int i = 0; i < kBlock; ++i) {
    const uint32_t a = std::bit_cast<uint32_t>(block.got[i]), b = std::bit_cast<uint32_t>(mirror.got[i]);
    const bool nan = (a & 0x7fffffffu) > 0x7f800000u && (b & 0x7fffffffu) > 0x7f800000u;
    differing |= nan ? 0u : a ^ b ^ turn;
  }
  if (differing == 0) return;
  if (worst.wrong++ < 5) std::printf("  %s is not symmetric near %.9g\n", f.name, block.x[0]);
}

class Progress {
 public:
  Progress(const char* name, uint64_t total) : name_(name), total_(total), begin_(Now()) {}
  void Report(uint64_t done, const Worst& worst) {
    const double now = Now();
    if (now - last_ < 5 && done < total_) return;
    last_ = now;
    std::fprintf(stderr, "%-24s %5.1f %%  worst %.4f ulp  %.0f s\n", name_,
                 100.0 * static_cast<double>(done) / static_cast<double>(total_), worst.ulp, now - begin_);
  }
  double Seconds() const { return Now() - begin_; }

 private:
  static double Now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  const char* name_;
  uint64_t total_;
  double begin_, last_ = 0;
};

bool Finish(const Batch& f, const UlpBound& bound, const Worst& worst, uint64_t points, const Progress& progress) {
  std::printf("| %s | %g | %.4f | %.9g%s | %.4f %% | %llu | %.0f s |\n", f.name, bound.ulp, worst.ulp, worst.x,
              f.exact2 != nullptr ? (", " + std::to_string(worst.y)).c_str() : "",
              100.0 * static_cast<double>(worst.inexact) / static_cast<double>(points),
              static_cast<unsigned long long>(points), progress.Seconds());
  if (worst.absolute > 0)
    std::printf("%s, beyond %g ulp: at most %.3g = 2^%.1f absolute\n", f.name, bound.ulp, worst.absolute,
                std::log2(worst.absolute));
  std::fflush(stdout);
  return worst.wrong == 0;
}

bool RunUnary(const Batch& f, uint64_t stride) {
  const UlpBound bound = AccuracyOfFunction(f.row, ElementType::kF32);
  static Block block;
  Worst worst;
  const bool mirrored = f.symmetry != exhaustive::Symmetry::kNone;
  const uint64_t total = mirrored ? uint64_t{1} << 31 : uint64_t{1} << 32;
  Progress progress(f.name, total);
  uint64_t points = 0;
  for (uint64_t first = 0; first < total; first += kBlock * stride) {
    for (int i = 0; i < kBlock; ++i)
      block.x[i] = std::bit_cast<float>(static_cast<uint32_t>(first + static_cast<uint64_t>(i) * stride));
    f.ours(block.x, block.y, block.got);
    f.oracle(block.x, block.y, block.exact);
    Examine(f, bound, block, worst);
    CompareWithTheLibrary(f, block, first / kBlock);
    if (mirrored) CheckMirror(f, block, worst);
    points += mirrored ? 2 * kBlock : kBlock;
    progress.Report(first + kBlock * stride, worst);
  }
  if (mirrored) worst.inexact *= 2;
  return Finish(f, bound, worst, points, progress);
}

bool RunBinary(const Batch& f, uint64_t pairs) {
  const UlpBound bound = AccuracyOfFunction(f.row, ElementType::kF32);
  static Block block;
  Worst worst;
  Progress progress(f.name, pairs);
  Points<float> xs(101), ys(103);
  std::mt19937_64 random(107);
  uint64_t done = 0;
  for (; done < pairs; done += kBlock) {
    for (int i = 0; i < kBlock; ++i) block.x[i] = xs.Next(), block.y[i] = ys.Next();
    // Half of the pairs where powers neither vanish nor overflow, and bases next to 1 with large exponents.
    for (int i = 0; i < kBlock / 2 && std::strcmp(f.name, "power") == 0; ++i) {
      const float spread = std::ldexp(1.0f, -static_cast<int>(random() % 20));
      block.x[i] = 1 + (static_cast<float>(random() >> 40) * 0x1p-24f - 0.5f) * spread;
      block.y[i] = (static_cast<float>(random() >> 40) * 0x1p-23f - 1.0f) * 90 /
                   std::max(std::fabs(std::log(block.x[i])), 1e-9f);
    }
    f.ours(block.x, block.y, block.got);
    f.oracle(block.x, block.y, block.exact);
    Examine(f, bound, block, worst);
    CompareWithTheLibrary(f, block, done / kBlock);
    progress.Report(done + kBlock, worst);
  }
  return Finish(f, bound, worst, done, progress);
}

int Main(int argc, char** argv) {
  uint64_t stride = 1, pairs = 100000000;
  std::vector<std::string> names;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if ((argument == "--stride" || argument == "--pairs") && i + 1 < argc) {
      (argument == "--stride" ? stride : pairs) = std::strtoull(argv[++i], nullptr, 10);
    } else {
      names.push_back(argument);
    }
  }
  if (stride == 0) return 2;
  bool good = true;
  size_t found = 0;
  std::printf(
      "| function | bound | worst ulp | at | not correctly rounded | points | time |\n|---|---|---|---|---|---|---|\n");
  for (const Batch& f : exhaustive::Batches()) {
    if (!names.empty() && std::ranges::find(names, f.name) == names.end()) continue;
    ++found;
    good = (f.exact2 != nullptr ? RunBinary(f, pairs) : RunUnary(f, stride)) && good;
  }
  if (found < names.size())
    std::fprintf(stderr, "math_exhaustive: unknown function among the %zu named\n", names.size());
  return good && found >= names.size() ? 0 : 1;
}

}  // namespace
}  // namespace VXLA_NAMESPACE

int main(int argc, char** argv) { return vxla::Main(argc, argv); }
