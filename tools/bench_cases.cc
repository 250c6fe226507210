#include "tools/bench_cases.h"

#include <fmt/format.h>

namespace VXLA_NAMESPACE {
namespace {

constexpr int64_t kLarge = 16 << 20;

std::string Dot(int n) {
  return fmt::format(
      "ENTRY dot {{ a = f32[{0},{0}] parameter(0)  b = f32[{0},{0}] parameter(1)\n"
      "ROOT d = f32[{0},{0}] dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}} }}",
      n);
}

std::string Add(const char* type = "f32", int64_t count = kLarge) {
  return fmt::format(
      "ENTRY add {{ a = {0}[{1}] parameter(0)  b = {0}[{1}] parameter(1)  ROOT c = {0}[{1}] add(a, b) }}", type, count);
}

// An add of emulated elements next to the f32 add of as many: how many times slower an element is.
BenchCase EmulatedAdd(const std::string& name, const char* type, const char* feature) {
  constexpr int64_t kCount = 4 << 20;
  return {name, Add(type, kCount), kCount, true, false, feature, Add("f32", kCount)};
}

constexpr char kReducers[] =
    "max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }\n"
    "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n";

// Of any numbers: those that make no factor take as long.
std::string Cholesky(int n) {
  return fmt::format(
      "ENTRY cholesky {{ a = f32[{0},{0}] parameter(0)  ROOT l = f32[{0},{0}] cholesky(a), lower=true }}", n);
}

std::string Sum() {
  return std::string(kReducers) + fmt::format(
                                      "ENTRY f {{ a = f32[{}] parameter(0)  zero = f32[] constant(0)\n"
                                      "ROOT s = f32[] reduce(a, zero), dimensions={{0}}, to_apply=sum }}",
                                      kLarge);
}

// One of our functions next to the driver's own of this GLSL name.
BenchCase AgainstBuiltin(const char* builtin, const char* op) {
  return {std::string(builtin) + "_vs_builtin",
          fmt::format("ENTRY f {{ a = f32[{0}] parameter(0)  ROOT r = f32[{0}] {1}(a) }}", kLarge, op), kLarge};
}

// Each multiplication waits for the one before it; without fusion each is a dispatch.
std::string Chain(int length) {
  std::string text = "ENTRY chain { v0 = f32[64] parameter(0)  x = f32[64] parameter(1)\n";
  for (int k = 1; k <= length; ++k)
    text += fmt::format("{}v{} = f32[64] add(v{}, x)\n", k == length ? "ROOT " : "", k, k - 1);
  return text + "}";
}

}  // namespace

std::vector<BenchCase> BenchCases() {
  const double n = kLarge;
  return {
      {"add", Add(), n},
      {"tanh_mul_add",
       fmt::format("ENTRY f {{ a = f32[{0}] parameter(0)  b = f32[{0}] parameter(1)  c = f32[{0}] parameter(2)\n"
                   "m = f32[{0}] multiply(a, b)  s = f32[{0}] add(m, c)  ROOT t = f32[{0}] tanh(s) }}",
                   kLarge),
       3 * n},
      {"sum", Sum(), n},
      {"softmax",
       std::string(kReducers) +
           R"(ENTRY f { x = f32[4096,4096] parameter(0)  lowest = f32[] constant(-inf)  zero = f32[] constant(0)
  m = f32[4096] reduce(x, lowest), dimensions={1}, to_apply=max
  mb = f32[4096,4096] broadcast(m), dimensions={0}
  s = f32[4096,4096] subtract(x, mb)
  p = f32[4096,4096] exponential(s)
  z = f32[4096] reduce(p, zero), dimensions={1}, to_apply=sum
  zb = f32[4096,4096] broadcast(z), dimensions={0}
  ROOT y = f32[4096,4096] divide(p, zb) })",
       5 * n},
      {"transpose",
       "ENTRY f { x = f32[4096,4096] parameter(0)  ROOT t = f32[4096,4096] transpose(x), dimensions={1,0} }", 0},
      {"dot_512", Dot(512), 2.0 * 512 * 512 * 512},
      {"dot_1024", Dot(1024), 2.0 * 1024 * 1024 * 1024},
      {"fft_64x4096",
       "ENTRY f { x = c64[64,4096] parameter(0)  ROOT y = c64[64,4096] fft(x), fft_type=FFT, fft_length={4096} }",
       5.0 * 64 * 4096 * 12},
      {"cholesky_512", Cholesky(512), 512.0 * 512 * 512 / 3, true, false, "", Dot(512), "dot_512, six times the work"},
      {"replay_1000", Chain(1000), 64000, false},
      AgainstBuiltin("exp", "exponential"),
      AgainstBuiltin("log", "log"),
      AgainstBuiltin("sin", "sine"),
      AgainstBuiltin("tanh", "tanh"),
      EmulatedAdd("emulated_i64_add", "s64", "i64"),
      EmulatedAdd("emulated_f64_add", "f64", "f64"),
      {"wide_sum", Sum(), n, true, false, "", Sum(), "the sum in f32", true},
      {"wide_dot_512", Dot(512), 2.0 * 512 * 512 * 512, true, false, "", Dot(512), "the product in f32", true},
      {"sort",
       "less { a = f32[] parameter(0)  b = f32[] parameter(1)\n"
       "ROOT l = pred[] compare(a, b), direction=LT, type=TOTALORDER }\n"
       "ENTRY f { x = f32[1048576] parameter(0)  ROOT s = f32[1048576] sort(x), dimensions={0}, to_apply=less }",
       0},
      {"cpu_add", Add(), n, true, true},
      {"cpu_dot_512", Dot(512), 2.0 * 512 * 512 * 512, true, true},
  };
}

}  // namespace VXLA_NAMESPACE
