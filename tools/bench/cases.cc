#include "tools/bench/cases.h"

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

// A convolution of 3 x 3, or what JAX makes of its gradients, next to the product of as many multiplications.
BenchCase Convolution(const std::string& name, const std::string& kernel, const std::string& result,
                      const std::string& attributes, const std::string& product) {
  return {name,
          fmt::format("ENTRY f {{ x = f32[1,56,56,64] parameter(0)  w = f32[{}] parameter(1)\n"
                      "ROOT r = f32[{}] convolution(x, w), {} }}",
                      kernel, result, attributes),
          2.0 * 56 * 56 * 64 * 9 * 64,
          true,
          false,
          "",
          product,
          "the product of as many multiplications"};
}

// Copies as many bytes as it reads and writes.
std::string Negation(int64_t count) {
  return fmt::format("ENTRY f {{ x = f32[{0}] parameter(0)  ROOT r = f32[{0}] negate(x) }}", count);
}

std::string Product(const char* lhs, const char* rhs, const char* result, int lhs_k, int rhs_k) {
  return fmt::format(
      "ENTRY f {{ a = f32[{}] parameter(0)  b = f32[{}] parameter(1)\n"
      "ROOT d = f32[{}] dot(a, b), lhs_contracting_dims={{{}}}, rhs_contracting_dims={{{}}} }}",
      lhs, rhs, result, lhs_k, rhs_k);
}

std::vector<BenchCase> ConvolutionCases() {
  const std::string padded = "window={size=3x3 pad=1_1x1_1", image = "1,56,56,64";
  std::vector<BenchCase> cases = {
      Convolution("conv_3x3", "3,3,64,64", image, padded + "}, dim_labels=b01f_01io->b01f",
                  Product("3136,576", "576,64", "3136,64", 1, 0)),
      Convolution("conv_input_gradient", "3,3,64,64", image, padded + " rhs_reversal=1x1}, dim_labels=b01f_01oi->b01f",
                  Product("3136,576", "64,576", "3136,64", 1, 1)),
      Convolution("conv_filter_gradient", image, "3,3,64,64",
                  "window={size=56x56 pad=1_1x1_1}, dim_labels=f01b_i01o->01bf",
                  Product("3136,576", "3136,64", "576,64", 0, 0))};
  // Next to what copies as many bytes: the negation of half of what is read and written.
  constexpr int64_t kDepthwise = 8 * 56 * 56 * 128, kPooled = 8 * 56 * 56 * 64;
  cases.push_back({"depthwise_3x3",
                   "ENTRY f { x = f32[8,56,56,128] parameter(0)  w = f32[3,3,1,128] parameter(1)\n"
                   "ROOT r = f32[8,56,56,128] convolution(x, w), " +
                       padded + "}, dim_labels=b01f_01io->b01f, feature_group_count=128 }",
                   2.0 * 9 * kDepthwise, true, false, "", Negation(kDepthwise), "a negation of as many bytes"});
  cases.push_back({"max_pool",
                   std::string(kReducers) +
                       "ENTRY f { x = f32[8,112,112,64] parameter(0)  lowest = f32[] constant(-inf)\n"
                       "ROOT r = f32[8,56,56,64] reduce-window(x, lowest), "
                       "window={size=1x3x3x1 stride=1x2x2x1 pad=0_0x0_1x0_1x0_0}, to_apply=max }",
                   9.0 * kPooled, true, false, "", Negation(kPooled * 5 / 2), "a negation of as many bytes"});
  return cases;
}

// A million elements to 65,536 places, sixteen to each, far from each other.
std::vector<BenchCase> MeetingCases() {
  const std::string indices =
      "n = u32[1048576] iota(), iota_dimension=0  a = u32[] constant(40503)  as = u32[1048576] broadcast(a), "
      "dimensions={}\n"
      "m = u32[1048576] multiply(n, as)  k = u32[] constant(65535)  ks = u32[1048576] broadcast(k), dimensions={}\n"
      "i = u32[1048576] and(m, ks)\n";
  const auto scatter = [&](const std::string& combiner, const std::string& more) {
    return std::string(kReducers) +
           "last { a = f32[] parameter(0)  ROOT b = f32[] parameter(1) }\n"
           "ENTRY f { t = f32[65536] parameter(0)  u = f32[1048576] parameter(1)\n" +
           indices +
           "ROOT r = f32[65536] scatter(t, i, u), update_window_dims={}, inserted_window_dims={0}, "
           "scatter_dims_to_operand_dims={0}, index_vector_dim=1" +
           more + ", to_apply=" + combiner + " }";
  };
  const std::string sort =
      "less { a = u32[] parameter(0)  b = u32[] parameter(1)  c = s32[] parameter(2)  d = s32[] parameter(3)\n"
      "ROOT l = pred[] compare(a, b), direction=LT }\n"
      "ENTRY f {\n" +
      indices +
      "j = s32[1048576] iota(), iota_dimension=0\n"
      "ROOT s = (u32[1048576], s32[1048576]) sort(i, j), dimensions={0}, is_stable=true, to_apply=less }";
  return {{"scatter_add_elements", scatter("sum", ""), 1 << 20, true, false, "", sort, "a sort of as many pairs"},
          {"scatter_set_elements", scatter("last", ""), 0, true, false, "", scatter("last", ", unique_indices=true"),
           "the same declared unique"}};
}

// Rows of an array in the order of a permutation, and half of an array over the other half of another.
std::vector<BenchCase> IndexingCases() {
  constexpr int64_t kRows = 65536, kWidth = 256;
  const std::string permutation =
      "n = u32[65536] iota(), iota_dimension=0  a = u32[] constant(40503)  as = u32[65536] broadcast(a), "
      "dimensions={}\n"
      "m = u32[65536] multiply(n, as)  k = u32[] constant(65535)  ks = u32[65536] broadcast(k), dimensions={}\n"
      "i = u32[65536] and(m, ks)\n";
  const char* peer = "a negation of as many bytes";
  return {{"gather_rows",
           "ENTRY f { t = f32[65536,256] parameter(0)\n" + permutation +
               "ROOT r = f32[65536,256] gather(t, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
               "index_vector_dim=1, slice_sizes={1,256} }",
           0, true, false, "", Negation(kRows * kWidth), peer},
          {"scatter_add_rows",
           std::string(kReducers) + "ENTRY f { t = f32[65536,256] parameter(0)  u = f32[65536,256] parameter(1)\n" +
               permutation +
               "ROOT r = f32[65536,256] scatter(t, i, u), update_window_dims={1}, inserted_window_dims={0}, "
               "scatter_dims_to_operand_dims={0}, index_vector_dim=1, unique_indices=true, to_apply=sum }",
           static_cast<double>(kRows * kWidth), true, false, "", Negation(2 * kRows * kWidth), peer},
          {"update_slice",
           "ENTRY f { t = f32[65536,256] parameter(0)  u = f32[32768,256] parameter(1)  i = s32[] parameter(2)\n"
           "ROOT r = f32[65536,256] dynamic-update-slice(t, u, i, i) }",
           0, true, false, "", Negation(kRows * kWidth * 3 / 2), peer}};
}

// Running sums, and sums of a thousand neighbours.
std::vector<BenchCase> RunningCases() {
  constexpr int64_t kCount = 16 * 65536;
  const char* peer = "a negation of as many bytes";
  const auto window = [](const std::string& sizes, const std::string& result, const std::string& window) {
    return fmt::format(
        "{}ENTRY f {{ x = f32[{}] parameter(0)  z = f32[] constant(0)\n"
        "ROOT r = f32[{}] reduce-window(x, z), window={{{}}}, to_apply=sum }}",
        kReducers, sizes, result, window);
  };
  return {
      {"cumsum", window("16,65536", "16,65536", "size=1x65536 pad=0_0x65535_0"), kCount, true, false, "",
       Negation(kCount), peer},
      {"cumsum_one_row", window("1048576", "1048576", "size=1048576 pad=1048575_0"), kCount, true, false, "",
       Negation(kCount), peer},
      {"cumsum_columns", window("1024,1024", "1024,1024", "size=1024x1 pad=1023_0x0_0"), kCount, true, false, "",
       Negation(kCount), peer},
      {"moving_sum", window("1048576", "1047577", "size=1000"), 3.0 * kCount, true, false, "", Negation(kCount), peer}};
}

// A recurrent network of 128 steps, and a loop of fifty trips that the device itself ends.
std::vector<BenchCase> LoopCases() {
  constexpr int64_t kCount = 1 << 20, kTrips = 50;
  const char* network = R"(
body { s = (s32[], f32[16,256], f32[128,16,256], f32[128,16,256], f32[256,256]) parameter(0)
  i = s32[] get-tuple-element(s), index=0  h = f32[16,256] get-tuple-element(s), index=1
  y = f32[128,16,256] get-tuple-element(s), index=2  x = f32[128,16,256] get-tuple-element(s), index=3
  u = f32[256,256] get-tuple-element(s), index=4
  zero = s32[] constant(0)  one = s32[] constant(1)  next = s32[] add(i, one)
  xs = f32[1,16,256] dynamic-slice(x, i, zero, zero), dynamic_slice_sizes={1,16,256}  xt = f32[16,256] reshape(xs)
  d = f32[16,256] dot(h, u), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  a = f32[16,256] add(xt, d)  t = f32[16,256] tanh(a)  ts = f32[1,16,256] reshape(t)
  z = f32[128,16,256] dynamic-update-slice(y, ts, i, zero, zero)
  ROOT r = (s32[], f32[16,256], f32[128,16,256], f32[128,16,256], f32[256,256]) tuple(next, t, z, x, u) }
condition { s = (s32[], f32[16,256], f32[128,16,256], f32[128,16,256], f32[256,256]) parameter(0)
  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(128)  ROOT c = pred[] compare(i, n), direction=LT }
ENTRY f { h = f32[16,256] parameter(0)  y = f32[128,16,256] parameter(1)  x = f32[128,16,256] parameter(2)
  u = f32[256,256] parameter(3)  zero = s32[] constant(0)
  s = (s32[], f32[16,256], f32[128,16,256], f32[128,16,256], f32[256,256]) tuple(zero, h, y, x, u)
  l = (s32[], f32[16,256], f32[128,16,256], f32[128,16,256], f32[256,256]) while(s), condition=condition, body=body
  ROOT r = f32[128,16,256] get-tuple-element(l), index=2 })";
  const char* product = R"(ENTRY f { x = f32[2048,256] parameter(0)  u = f32[256,256] parameter(1)
  ROOT d = f32[2048,256] dot(x, u), lhs_contracting_dims={1}, rhs_contracting_dims={0} })";
  const auto trips = [&](const char* limit) {
    return fmt::format(R"(
body {{ s = (s32[], f32[{0}], f32[{0}], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0  x = f32[{0}] get-tuple-element(s), index=1
  w = f32[{0}] get-tuple-element(s), index=2  n = s32[] get-tuple-element(s), index=3
  one = s32[] constant(1)  next = s32[] add(i, one)  y = f32[{0}] multiply(x, w)
  ROOT r = (s32[], f32[{0}], f32[{0}], s32[]) tuple(next, y, w, n) }}
condition {{ s = (s32[], f32[{0}], f32[{0}], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0  n = s32[] get-tuple-element(s), index=3
  ROOT c = pred[] compare(i, n), direction=LT }}
ENTRY f {{ x = f32[{0}] parameter(0)  w = f32[{0}] parameter(1)  data = s32[] parameter(2)
  trips = s32[] constant({1})  zero = s32[] constant(0)  clamped = s32[] clamp(trips, data, trips)
  s = (s32[], f32[{0}], f32[{0}], s32[]) tuple(zero, x, w, {2})
  l = (s32[], f32[{0}], f32[{0}], s32[]) while(s), condition=condition, body=body
  ROOT r = f32[{0}] get-tuple-element(l), index=1 }})",
                       kCount, kTrips, limit);
  };
  return {
      {"rnn_128", network, 2.0 * 2048 * 256 * 256, true, false, "", product, "one product of as many multiplications"},
      {"predicated_loop", trips("clamped"), 1.0 * kCount * kTrips, true, false, "", trips("trips"),
       "the same loop with a known count"}};
}

// Each multiplication waits for the one before it; without fusion each is a dispatch.
std::string Chain(int length) {
  std::string text = "ENTRY chain { v0 = f32[64] parameter(0)  x = f32[64] parameter(1)\n";
  for (int k = 1; k <= length; ++k)
    text += fmt::format("{}v{} = f32[64] add(v{}, x)\n", k == length ? "ROOT " : "", k, k - 1);
  return text + "}";
}

// A network that runs each frame: so many layers, each of which is one dispatch.
std::string Layers(int count) {
  std::string text =
      "ENTRY layers { t0 = f32[32,32] parameter(0)  w = f32[32,32] parameter(1)\n"
      "b = f32[32,32] parameter(2)\n";
  for (int k = 1; k <= count; ++k) {
    text += fmt::format(
        "d{0} = f32[32,32] dot(t{1}, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n"
        "a{0} = f32[32,32] add(d{0}, b)\n{2}t{0} = f32[32,32] tanh(a{0})\n",
        k, k - 1, k == count ? "ROOT " : "");
  }
  return text + "}";
}

}  // namespace

std::vector<BenchCase> BenchCases() {
  const double n = kLarge;
  std::vector<BenchCase> cases = {
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
      {.name = "embed", .hlo = Layers(30), .records = true},
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
      {"top_k", "ENTRY f { x = f32[1048576] parameter(0)  ROOT r = (f32[5000], s32[5000]) topk(x), k=5000 }", 0},
      {"cpu_add", Add(), n, true, true},
      {"cpu_dot_512", Dot(512), 2.0 * 512 * 512 * 512, true, true},
  };
  for (BenchCase& convolution : ConvolutionCases()) cases.push_back(std::move(convolution));
  for (BenchCase& indexing : IndexingCases()) cases.push_back(std::move(indexing));
  for (BenchCase& meeting : MeetingCases()) cases.push_back(std::move(meeting));
  for (BenchCase& running : RunningCases()) cases.push_back(std::move(running));
  for (BenchCase& loop : LoopCases()) cases.push_back(std::move(loop));
  return cases;
}

std::vector<BenchCase> CollectiveCases() {
  constexpr int64_t kElements = int64_t{1} << 24;
  std::vector<BenchCase> cases;
  for (const int64_t n : {2, 4, 8}) {
    const auto add = [&](const char* name, const std::string& hlo) {
      cases.push_back({.name = fmt::format("{}_{}", name, n), .hlo = hlo, .replicas = n});
    };
    add("all_reduce", fmt::format("sum {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }}\n"
                                  "ENTRY f {{ x = f32[{0}] parameter(0)  ROOT r = f32[{0}] all-reduce(x), "
                                  "replica_groups={{}}, to_apply=sum }}",
                                  kElements));
    add("all_gather", fmt::format("ENTRY f {{ x = f32[{}] parameter(0)  ROOT r = f32[{}] all-gather(x), "
                                  "replica_groups={{}}, dimensions={{0}} }}",
                                  kElements / n, kElements));
    add("all_to_all", fmt::format("ENTRY f {{ x = f32[{0}] parameter(0)  ROOT r = f32[{0}] all-to-all(x), "
                                  "replica_groups={{}}, dimensions={{0}} }}",
                                  kElements));
  }
  return cases;
}

}  // namespace VXLA_NAMESPACE
