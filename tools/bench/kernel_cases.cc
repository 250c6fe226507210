// The cases that `vxla bench kernels` measures: sizes that fill a GPU.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "tools/bench/cases.h"

namespace VXLA_NAMESPACE {
namespace {

// The text with each word's value in its place: "$type", "$rows".
using Words = std::initializer_list<std::pair<std::string_view, std::string>>;
std::string With(std::string_view text, Words words) {
  std::string made(text);
  for (const auto& [word, value] : words) {
    for (size_t at = made.find(word); at != std::string::npos; at = made.find(word, at + value.size()))
      made.replace(at, word.size(), value);
  }
  return made;
}

std::string Elementwise(std::string_view body, std::string_view type = "f32") {
  return With(body, {{"$t", fmt::format("{}[16777216]", type)}});
}

// Of f32[4096,1024] p, or of another size.
std::string Rows(std::string_view body, std::string_view size = "4096,1024") {
  const std::string start = "ENTRY e { p = $s parameter(0)  z = f32[] constant(0)  i = f32[] constant(-inf)\n";
  return std::string(kReducers) + With(start + std::string(body), {{"$s", fmt::format("f32[{}]", size)}});
}

std::string Dot(std::string_view type, int64_t m, int64_t n, int64_t k, std::string_view result,
                bool transposed = false) {
  return fmt::format(
      "ENTRY e {{ a = {0}[{1},{3}] parameter(0)  b = {0}[{4}] parameter(1)\n"
      "ROOT r = {5}[{1},{2}] dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{{6}}}{7} }}",
      type, m, n, k, transposed ? fmt::format("{},{}", n, k) : fmt::format("{},{}", k, n), result, transposed ? 1 : 0,
      // Of XLA no tf32.
      type == "f32" ? ", operand_precision={highest,highest}" : "");
}

std::string Square(std::string_view type, int64_t size, std::string_view result) {
  return Dot(type, size, size, size, result);
}

constexpr std::string_view kAttention = R"(ENTRY e {
  q = $t[$q,64] parameter(0)  k = $t[$k,64] parameter(1)  v = $t[$k,64] parameter(2)
  a = $t[$s] dot(q, k), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}$highest
  w = f32[$s] convert(a)  n = f32[] constant(0.125)  nb = f32[$s] broadcast(n), dimensions={}
  x = f32[$s] multiply(w, nb)  o = f32[] constant(0)  i = f32[] constant(-inf)  ob = f32[$s] broadcast(o), dimensions={}
  row = s32[$p] iota(), iota_dimension=0  key = s32[$p] iota(), iota_dimension=1
  c = pred[$p] compare(row, key), direction=GE  cb = pred[$s] broadcast(c), dimensions={1,2}
  h = f32[] constant(-1e9)  hb = f32[$s] broadcast(h), dimensions={}  xm = f32[$s] select(cb, x, hb)
  m = f32[$q] reduce($x, i), dimensions={2}, to_apply=max  mb = f32[$s] broadcast(m), dimensions={0,1}
  y = f32[$s] subtract($x, mb)  z = f32[$s] exponential(y)  l = f32[$q] reduce(z, o), dimensions={2}, to_apply=sum
  lb = f32[$s] broadcast(l), dimensions={0,1}  f = f32[$s] divide(z, lb)  p = $t[$s] convert(f)
  r = $t[$q,64] dot(p, v), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}$highest
)";

// `logits`: x, or xm where later keys are hidden.
std::string Attention(std::string_view type, int64_t heads, int64_t queries, int64_t keys, std::string_view logits,
                      std::string_view end) {
  return With(std::string(kReducers) + std::string(kAttention) + std::string(end),
              {{"$t", std::string(type)},
               {"$q", fmt::format("{},{}", heads, queries)},
               {"$k", fmt::format("{},{}", heads, keys)},
               {"$s", fmt::format("{},{},{}", heads, queries, keys)},
               {"$p", fmt::format("{},{}", queries, keys)},
               {"$x", std::string(logits)},
               {"$highest", type == "f32" ? ", operand_precision={highest,highest}" : ""}});
}

std::string Forward(std::string_view type, int64_t heads, int64_t queries, int64_t keys) {
  return Attention(type, heads, queries, keys, "x", "ROOT e = $t[$q,64] copy(r) }");
}

std::string Gradient(std::string_view type) {
  return Attention(type, 64, 1024, 1024, "xm", R"(  do = $t[$q,64] parameter(3)
  g = $t[$s] dot(do, v), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}$highest
  gw = f32[$s] convert(g)  gp = f32[$s] divide(gw, lb)  one = f32[] constant(1)
  ones = f32[$q] broadcast(one), dimensions={}  l2 = f32[$q] multiply(l, l)  il = f32[$q] divide(ones, l2)
  ib = f32[$s] broadcast(il), dimensions={0,1}  t = f32[$s] multiply(gw, ib)
  tz = f32[$s] multiply(t, z)  d = f32[$q] reduce(tz, o), dimensions={2}, to_apply=sum
  dm = f32[$q] negate(d)  db = f32[$s] broadcast(dm), dimensions={0,1}  u = f32[$s] add(gp, db)
  dz = f32[$s] multiply(u, z)  dx = f32[$s] select(cb, dz, ob)
  ds = f32[$s] multiply(dx, nb)  dn = $t[$s] convert(ds)
  dq = $t[$q,64] dot(dn, k), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}$highest
  dk = $t[$q,64] dot(dn, q), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_contracting_dims={1}$highest
  dv = $t[$q,64] dot(p, do), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_contracting_dims={1}$highest
  ROOT e = ($t[$q,64], $t[$q,64], $t[$q,64], $t[$q,64]) tuple(r, dq, dk, dv) })");
}

// gelu(p), of $s; the erf's form.
constexpr std::string_view kGelu = R"(h = f32[] constant(0.5)  hb = $s broadcast(h), dimensions={}
  k = f32[] constant(0.70710678)  kb = $s broadcast(k), dimensions={}  l = $s multiply(p, kb)
  f = $s erf(l)  o = f32[] constant(1)  ob = $s broadcast(o), dimensions={}
  g = $s add(f, ob)  j = $s multiply(p, hb)  ROOT r = $s multiply(j, g) })";

std::string DenseGelu() {
  return With(
      "ENTRY e { a = $s parameter(0)  b = $s parameter(1)  c = f32[4096] parameter(2)\n"
      "d = $s dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}, operand_precision={highest,highest}\n"
      "cb = $s broadcast(c), dimensions={1}  p = $s add(d, cb)\n" +
          std::string(kGelu),
      {{"$s", "f32[4096,4096]"}});
}

std::string Convolution(std::string_view type, int64_t images) {
  return fmt::format(
      "ENTRY e {{ x = {0}[{1},56,56,64] parameter(0)  w = {0}[3,3,64,64] parameter(1)\n"
      "ROOT r = {0}[{1},56,56,64] convolution(x, w), window={{size=3x3 pad=1_1x1_1}}, dim_labels=b01f_01io->b01f{2} }}",
      type, images, type == "f32" ? ", operand_precision={highest,highest}" : "");
}

void AddRows(std::vector<BenchCase>& cases) {
  constexpr std::string_view kSoftmax =
      "m = f32[4096] reduce(p, i), dimensions={1}, to_apply=max  mb = $s broadcast(m), dimensions={0}\n"
      "d = $s subtract(p, mb)  x = $s exponential(d)\n"
      "s = f32[4096] reduce(x, z), dimensions={1}, to_apply=sum  sb = $s broadcast(s), dimensions={0}\n"
      "ROOT r = $s divide(x, sb) }";
  constexpr std::string_view kLayerNorm =
      "n = f32[] constant(1024)  n1 = f32[4096] broadcast(n), dimensions={}\n"
      "s = f32[4096] reduce(p, z), dimensions={1}, to_apply=sum  m = f32[4096] divide(s, n1)\n"
      "mb = $s broadcast(m), dimensions={0}  d = $s subtract(p, mb)\n"
      "q = $s multiply(d, d)  v = f32[4096] reduce(q, z), dimensions={1}, to_apply=sum\n"
      "w = f32[4096] divide(v, n1)  e = f32[] constant(1e-5)  eb = f32[4096] broadcast(e), dimensions={}\n"
      "u = f32[4096] add(w, eb)  t = f32[4096] rsqrt(u)  tb = $s broadcast(t), dimensions={0}\n"
      "ROOT r = $s multiply(d, tb) }";
  const auto sum = [](const char* dimensions, const char* size) {
    return Rows(fmt::format("ROOT r = f32[{}] reduce(p, z), dimensions={{{}}}, to_apply=sum }}", size, dimensions),
                "4096,4096");
  };
  cases.push_back({"sum_16M", sum("0,1", "")});
  cases.push_back({"column_sum_4096", sum("0", "4096")});
  cases.push_back({"row_sum_4096", sum("1", "4096")});
  cases.push_back({"softmax_4096", Rows(kSoftmax, "4096,4096")});
  cases.push_back({"layer_norm_4096", Rows(kLayerNorm)});
  cases.push_back({"gelu_4096", Rows(kGelu)});
  cases.push_back({"cumsum_4096", Rows("ROOT r = $s reduce-window(p, z), window={size=1x1024 pad=0_0x1023_0}, "
                                       "to_apply=sum }")});
  cases.push_back({"transpose_4096", Rows("ROOT r = $s transpose(p), dimensions={1,0} }", "4096,4096")});
}

void AddProducts(std::vector<BenchCase>& cases) {
  for (const int64_t size : {512, 1024, 4096})
    cases.push_back({fmt::format("dot_{}_f32", size), Square("f32", size, "f32"), 2.0 * size * size * size});
  constexpr double kFlop = 2.0 * 4096 * 4096 * 4096;
  constexpr std::pair<const char*, const char*> kTypes[] = {{"f16", "f16"}, {"bf16", "bf16"}, {"s8", "s32"}};
  for (const auto& [type, result] : kTypes)
    cases.push_back({fmt::format("dot_4096_{}", type), Square(type, 4096, result), kFlop});
  cases.push_back({"dot_4096_f8", Square("f8e4m3fn", 4096, "f32"), kFlop});
  cases.push_back({"dot_4096_bf16_transposed", Dot("bf16", 4096, 4096, 4096, "bf16", true), kFlop});
  for (const char* type : {"f32", "bf16"})
    cases.push_back({fmt::format("row_by_matrix_{}", type), Dot(type, 1, 4096, 4096, type), 2.0 * 4096 * 4096});
  cases.push_back({"dense_gelu_4096", DenseGelu(), kFlop});
  cases.push_back({"batch_dot_64_f32",
                   "ENTRY e { a = f32[64,1024,64] parameter(0)  b = f32[64,1024,64] parameter(1)\n"
                   "ROOT r = f32[64,1024,1024] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, "
                   "lhs_contracting_dims={2}, rhs_contracting_dims={2}, operand_precision={highest,highest} }",
                   2.0 * 64 * 1024 * 1024 * 64});
  cases.push_back({"product_row_max",
                   std::string(kReducers) +
                       "ENTRY e { a = f32[8192,128] parameter(0)  b = f32[128,8192] parameter(1)\n"
                       "d = f32[8192,8192] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
                       "operand_precision={highest,highest}  i = f32[] constant(-inf)\n"
                       "ROOT r = f32[8192] reduce(d, i), dimensions={1}, to_apply=max }",
                   2.0 * 8192 * 8192 * 128});
  for (const char* type : {"f32", "bf16"}) {
    cases.push_back({fmt::format("conv_3x3_32_{}", type), Convolution(type, 32), 2.0 * 32 * 56 * 56 * 64 * 9 * 64});
  }
}

void AddAttention(std::vector<BenchCase>& cases) {
  // Two products, which the gradient does again beside five more of its own.
  constexpr double kProduct = 2.0 * 64 * 1024 * 1024 * 64;
  for (const char* type : {"f32", "f16", "bf16"}) {
    cases.push_back({fmt::format("attention_{}", type), Forward(type, 64, 1024, 1024), 2 * kProduct});
    cases.push_back({fmt::format("attention_gradient_{}", type), Gradient(type), 6 * kProduct});
  }
  cases.push_back({"decoding_f32", Forward("f32", 16, 4, 4096), 4.0 * 16 * 4 * 4096 * 64});
}

}  // namespace

std::vector<BenchCase> KernelCases() {
  std::vector<BenchCase> cases;
  for (const char* type : {"f32", "f16", "bf16"}) {
    cases.push_back({fmt::format("add_{}_16M", type),
                     Elementwise("ENTRY e { a = $t parameter(0)  b = $t parameter(1)  ROOT r = $t add(a, b) }", type)});
  }
  constexpr std::string_view kTanh =
      "ENTRY e { a = $t parameter(0)  b = $t parameter(1)  c = $t parameter(2)\n"
      "m = $t multiply(a, b)  s = $t add(m, c)  ROOT r = $t tanh(s) }";
  cases.push_back({"tanh_ab_c_16M", Elementwise(kTanh)});
  cases.push_back({"tanh_ab_c_f16_16M", Elementwise(kTanh, "f16")});
  AddRows(cases);
  AddProducts(cases);
  AddAttention(cases);
  cases.push_back({"max_pool_112", std::string(kReducers) +
                                       "ENTRY e { a = f32[32,112,112,64] parameter(0)  i = f32[] constant(-inf)\n"
                                       "ROOT r = f32[32,56,56,64] reduce-window(a, i), "
                                       "window={size=1x3x3x1 stride=1x2x2x1 pad=0_0x0_1x0_1x0_0}, to_apply=max }"});
  cases.push_back({"sort_16M",
                   "lt { a = f32[] parameter(0)  b = f32[] parameter(1)\n"
                   "ROOT r = pred[] compare(a, b), direction=LT, type=TOTALORDER }\n"
                   "ENTRY e { a = f32[16777216] parameter(0)  ROOT r = f32[16777216] sort(a), "
                   "dimensions={0}, to_apply=lt }"});
  cases.push_back({"fft_64x4096",
                   "ENTRY e { a = c64[64,4096] parameter(0)\n"
                   "ROOT r = c64[64,4096] fft(a), fft_type=FFT, fft_length={4096} }"});
  return cases;
}

}  // namespace VXLA_NAMESPACE
