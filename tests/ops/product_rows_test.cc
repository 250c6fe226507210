// Rows of products that softmax, layer norm and rms norm read, as one kernel on GPUs.
#include <fmt/format.h>

#include "tests/support/gpu_client.h"

namespace VXLA_NAMESPACE::testing {
namespace product_rows_test {

constexpr const char* kReducers =
    "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n"
    "most { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }\n";

// Sums of products that cancel out are as exact as the products are: some 1e-6.
constexpr Tolerance kTolerance{.rtol = 1e-4, .atol = 1e-5};

struct Size {
  int m, k, n;
};

// x w + b (x w^T + b), and what a row program makes of it: `rows` names y of y0 = x w + b, by z and low.
std::string Program(const Size& size, const std::string& rows, const std::string& results,
                    const std::string& operands = "f32", bool rhs_along_k = false) {
  std::string text =
      fmt::format("{0}ENTRY e {{\nx = {1}[{2}, {3}] parameter(0)  w = {1}[{4}, {5}] parameter(1)\n", kReducers,
                  operands, size.m, size.k, rhs_along_k ? size.n : size.k, rhs_along_k ? size.k : size.n);
  text += fmt::format("d = f32[M,N] dot(x, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{{}}}\n",
                      rhs_along_k ? 1 : 0);
  text +=
      "b = f32[N] parameter(2)  g = f32[N] parameter(3)  z = f32[] constant(0)  low = f32[] constant(-inf)\n"
      "bb = f32[M,N] broadcast(b), dimensions={1}  gb = f32[M,N] broadcast(g), dimensions={1}\n" +
      rows + results;
  for (const auto& [name, value] : {std::pair("M", size.m), std::pair("N", size.n)}) {
    for (const char* place : {"[{}", ",{}]"}) {
      const std::string from = fmt::format(fmt::runtime(place), name), to = fmt::format(fmt::runtime(place), value);
      for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + 1))
        text.replace(at, from.size(), to);
    }
  }
  return text + "}\n";
}

const std::string kSoftmax =
    "m = f32[M] reduce(d, low), dimensions={1}, to_apply=most  mb = f32[M,N] broadcast(m), dimensions={0}\n"
    "s = f32[M,N] subtract(d, mb)  e = f32[M,N] exponential(s)  t = f32[M] reduce(e, z), dimensions={1}, to_apply=sum\n"
    "tb = f32[M,N] broadcast(t), dimensions={0}\n";

std::string LayerNorm(int n) {
  return fmt::format(
      "y = f32[M,N] add(d, bb)  c = f32[] constant({})  cb = f32[M] broadcast(c), dimensions={{}}\n"
      "t = f32[M] reduce(y, z), dimensions={{1}}, to_apply=sum  u = f32[M] divide(t, cb)\n"
      "ub = f32[M,N] broadcast(u), dimensions={{0}}  o = f32[M,N] subtract(y, ub)  q = f32[M,N] multiply(o, o)\n"
      "v = f32[M] reduce(q, z), dimensions={{1}}, to_apply=sum  a = f32[M] divide(v, cb)\n"
      "eps = f32[] constant(1e-5)  eb = f32[M] broadcast(eps), dimensions={{}}  p = f32[M] add(a, eb)\n"
      "i = f32[M] rsqrt(p)  ib = f32[M,N] broadcast(i), dimensions={{0}}  h = f32[M,N] multiply(o, ib)\n",
      n);
}

// SwiftShader's subgroups are of four lanes.
bool LanesShareRows(const Client& client) {
  const DeviceFacts& facts = client.device().facts();
  return facts.subgroup_shuffle && facts.subgroup_size >= 8;
}

void ExpectDispatches(const std::string& text, int least, int most) {
  SCOPED_TRACE(text);
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  const std::vector<Literal> arguments = RandomArguments(*module);
  const auto expected = RunOnCpu(*module, arguments);
  ASSERT_TRUE(expected.has_value());
  for (const BindingMode mode : {BindingMode::kAddresses, BindingMode::kDescriptors}) {
    const auto client = GpuClient(mode);
    ASSERT_NE(client, nullptr);
    if (!LanesShareRows(*client)) GTEST_SKIP() << "no full subgroups of eight lanes or more";
    ExpectOnGpu(*client, *module, arguments, {.tolerance = kTolerance}, most, *expected);
    const auto executable = client->Compile(*module);
    EXPECT_GE((*executable)->plan().dispatch_count(), least);
    EXPECT_TRUE((*executable)->plan().faults.empty());
  }
}

TEST(ProductRowsTest, SoftmaxOfAProductIsOneDispatch) {
  for (const Size& size : {Size{37, 20, 16}, {100, 4, 96}, {33, 60, 192}, {64, 64, 256}, {17, 36, 512}})
    ExpectDispatches(Program(size, kSoftmax, "ROOT r = f32[M,N] divide(e, tb)\n"), 1, 1);
}

TEST(ProductRowsTest, LayerNormOfAProductIsOneDispatch) {
  for (const Size& size : {Size{64, 64, 64}, {41, 92, 128}, {30, 32, 320}})
    ExpectDispatches(Program(size, LayerNorm(size.n), "hg = f32[M,N] multiply(h, gb)  ROOT r = f32[M,N] add(hg, bb)\n"),
                     1, 1);
}

TEST(ProductRowsTest, TheProductMayBeAResultToo) {
  ExpectDispatches(Program({50, 40, 64}, LayerNorm(64), "ROOT r = (f32[M,N], f32[M,N]) tuple(y, h)\n"), 1, 1);
}

TEST(ProductRowsTest, WhatFollowsTheProductIsOfItsKernel) {
  ExpectDispatches(Program({64, 48, 128},
                           "y = f32[M,N] add(d, bb)  l = f32[M,N] tanh(y)  q = f32[M,N] multiply(l, l)\n"
                           "t = f32[M] reduce(q, z), dimensions={1}, to_apply=sum  i = f32[M] rsqrt(t)\n"
                           "ib = f32[M,N] broadcast(i), dimensions={0}\n",
                           "ROOT r = f32[M,N] multiply(l, ib)\n"),
                   1, 1);
}

// A workgroup cannot hold the rows, their lanes do not take them evenly, or a kernel of products is worth more.
TEST(ProductRowsTest, OtherProductsKeepTheirKernel) {
  for (const Size& size : {Size{64, 64, 1024}, {64, 64, 100}, {64, 6, 64}})
    ExpectDispatches(Program(size, kSoftmax, "ROOT r = f32[M,N] divide(e, tb)\n"), 2, 3);
  const auto client = GpuClient(BindingMode::kAddresses);
  ASSERT_NE(client, nullptr);
  if (!LanesShareRows(*client)) GTEST_SKIP() << "no full subgroups of eight lanes or more";
  for (const auto& [k, least] : {std::pair{192, 1}, {1024, 2}}) {
    const auto module = ParseModule(Program({4096, k, 512}, kSoftmax, "ROOT r = f32[M,N] divide(e, tb)\n"));
    const auto executable = client->Compile(*module);
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    EXPECT_EQ((*executable)->plan().dispatch_count(), least) << k;
  }
}

// The reversed rows are read at other places than those where they are computed.
TEST(ProductRowsTest, AProductThatIsReadElsewhereKeepsItsKernel) {
  ExpectDispatches(Program({64, 64, 64}, "v = f32[M,N] reverse(d), dimensions={1}\n" + kSoftmax,
                           "y = f32[M,N] divide(e, tb)  ROOT r = f32[M,N] multiply(y, v)\n"),
                   2, 3);
}

// A product of batches of these types, and the softmax of its rows in f32.
struct TypedProduct {
  std::string operand = "f32", result = "f32";
  Size size = {64, 64, 64};
  bool rhs_along_k = true;
  int batches = 0;  // none
};

std::string SoftmaxOf(const TypedProduct& product) {
  const auto [m, k, n] = product.size;
  const bool batched = product.batches > 0;
  const std::string b = batched ? fmt::format("{},", product.batches) : "", all = fmt::format("[{}{},{}]", b, m, n),
                    row = fmt::format("[{}{}]", b, m), last = batched ? "2" : "1", each = batched ? "0,1" : "0";
  return fmt::format(
      "{reducers}ENTRY e {{\nx = {type}[{b}{m},{k}] parameter(0)  w = {type}[{b}{rhs}] parameter(1)\n"
      "z = f32[] constant(0)  low = f32[] constant(-inf)\n"
      "p = {result}{all} dot(x, w), {batch}lhs_contracting_dims={{{last}}}, rhs_contracting_dims={{{of_rhs}}}\n"
      "d = f32{all} convert(p)  m = f32{row} reduce(d, low), dimensions={{{last}}}, to_apply=most\n"
      "mb = f32{all} broadcast(m), dimensions={{{each}}}  s = f32{all} subtract(d, mb)  e = f32{all} exponential(s)\n"
      "t = f32{row} reduce(e, z), dimensions={{{last}}}, to_apply=sum\n"
      "tb = f32{all} broadcast(t), dimensions={{{each}}}  ROOT r = f32{all} divide(e, tb)\n}}\n",
      fmt::arg("reducers", kReducers), fmt::arg("type", product.operand), fmt::arg("result", product.result),
      fmt::arg("b", b), fmt::arg("m", m), fmt::arg("k", k), fmt::arg("all", all), fmt::arg("row", row),
      fmt::arg("rhs", product.rhs_along_k ? fmt::format("{},{}", n, k) : fmt::format("{},{}", k, n)),
      fmt::arg("batch", batched ? "lhs_batch_dims={0}, rhs_batch_dims={0}, " : ""), fmt::arg("last", last),
      fmt::arg("each", each), fmt::arg("of_rhs", (batched ? 1 : 0) + (product.rhs_along_k ? 1 : 0)));
}

TEST(ProductRowsTest, TheRightOperandMayLieAlongItsTerms) {
  for (const Size& size : {Size{37, 20, 16}, {100, 4, 96}, {33, 60, 192}, {64, 64, 256}, {17, 36, 512}, {200, 68, 48}})
    ExpectDispatches(SoftmaxOf({.size = size}), 1, 1);
}

TEST(ProductRowsTest, OperandsOf16BitsAreAddedUpInF32) {
  for (const char* type : {"bf16", "f16"}) {
    for (const bool along_k : {false, true}) {
      ExpectDispatches(SoftmaxOf({type, "f32", {50, 36, 64}, along_k}), 1, 1);
      ExpectDispatches(SoftmaxOf({type, "f32", {33, 100, 320}, along_k}), 1, 1);
    }
  }
}

// Operands of whole numbers, so that each sum is exact and its rounding to the program's type is the only one. The rows
// with products that round away from what they were differ by far more than the bound if it is left out.
TEST(ProductRowsTest, ResultsAreRoundedAsTheProgramSays) {
  for (const char* type : {"bf16", "f16"}) {
    const auto module = ParseModule(SoftmaxOf({type, type, {40, 32, 64}, true}));
    ASSERT_NE(module, nullptr);
    std::vector<Literal> arguments = RandomArguments(*module);
    const int64_t count = arguments[0].shape().ElementCount();
    for (int64_t i = 0; i < count; ++i) arguments[0].SetDouble(i, static_cast<double>((i * 37) % 61));
    for (int64_t i = 0; i < arguments[1].shape().ElementCount(); ++i)
      arguments[1].SetDouble(i, i % 32 == 0 ? 31.0 : static_cast<double>((i * 29) % 2));
    const auto expected = RunOnCpu(*module, arguments);
    ASSERT_TRUE(expected.has_value());
    const auto client = GpuClient(BindingMode::kAddresses);
    ASSERT_NE(client, nullptr);
    if (!LanesShareRows(*client)) GTEST_SKIP() << "no full subgroups of eight lanes or more";
    constexpr Tolerance kFewRoundings{.rtol = 1e-5, .atol = 1e-7};
    ExpectOnGpu(*client, *module, arguments, {.tolerance = kFewRoundings}, 1, *expected);
  }
}

// 37 and 11 rows of a batch are no whole workgroups.
TEST(ProductRowsTest, BatchesKeepToWorkgroupsOfTheirOwn) {
  for (const bool along_k : {false, true}) {
    ExpectDispatches(SoftmaxOf({"f32", "f32", {37, 32, 64}, along_k, 5}), 1, 1);
    ExpectDispatches(SoftmaxOf({"f32", "f32", {11, 24, 192}, along_k, 3}), 1, 1);
    ExpectDispatches(SoftmaxOf({"bf16", "bf16", {70, 64, 48}, along_k, 2}), 1, 1);
  }
  ExpectDispatches(SoftmaxOf({"f32", "f32", {4, 32, 64}, true, 20}), 2, 3);
}

TEST(ProductRowsTest, LayerNormOfANarrowProductIsOneDispatch) {
  ExpectDispatches(Program({41, 92, 128}, LayerNorm(128), "ROOT r = f32[M,N] add(h, bb)\n", "bf16", true), 1, 1);
}

// Units make such a product many times as quickly as the kernel of its rows would; a small one is worth a dispatch
// less.
TEST(ProductRowsTest, LargeProductsOfMatrixUnitsKeepTheirKernel) {
  for (const bool matrices : {false, true}) {
    const auto client = GpuClient(BindingMode::kAddresses, matrices ? MatrixUnits::kStoodInFor : MatrixUnits::kNone);
    ASSERT_NE(client, nullptr);
    if (!LanesShareRows(*client)) GTEST_SKIP() << "no full subgroups of eight lanes or more";
    for (const auto& [m, own] : {std::pair{16384, true}, {64, false}}) {
      const auto module = ParseModule(SoftmaxOf({"f16", "f32", {m, 128, 256}}));
      const auto executable = client->Compile(*module);
      ASSERT_TRUE(executable.ok()) << executable.status().message();
      EXPECT_EQ((*executable)->plan().dispatch_count(), matrices && own ? 2 : 1) << m;
    }
  }
}

// The loop is one kernel, which computes products by units of its own.
TEST(ProductRowsTest, LoopsOfSuchRowsAreOneDispatch) {
  const std::string text = fmt::format(
      "{}body {{ s = (s32[], f32[8,64], f32[64,64]) parameter(0)  i = s32[] get-tuple-element(s), index=0\n"
      "one = s32[] constant(1)  j = s32[] add(i, one)  x = f32[8,64] get-tuple-element(s), index=1\n"
      "w = f32[64,64] get-tuple-element(s), index=2  z = f32[] constant(0)  low = f32[] constant(-inf)\n"
      "d = f32[8,64] dot(x, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n"
      "m = f32[8] reduce(d, low), dimensions={{1}}, to_apply=most  mb = f32[8,64] broadcast(m), dimensions={{0}}\n"
      "q = f32[8,64] subtract(d, mb)  e = f32[8,64] exponential(q)\n"
      "t = f32[8] reduce(e, z), dimensions={{1}}, to_apply=sum  tb = f32[8,64] broadcast(t), dimensions={{0}}\n"
      "y = f32[8,64] divide(e, tb)  ROOT n = (s32[], f32[8,64], f32[64,64]) tuple(j, y, w) }}\n"
      "cond {{ s = (s32[], f32[8,64], f32[64,64]) parameter(0)  i = s32[] get-tuple-element(s), index=0\n"
      "c = s32[] constant(5)  ROOT p = pred[] compare(i, c), direction=LT }}\n"
      "ENTRY e {{ x = f32[8,64] parameter(0)  w = f32[64,64] parameter(1)  o = s32[] constant(0)\n"
      "t = (s32[], f32[8,64], f32[64,64]) tuple(o, x, w)\n"
      "l = (s32[], f32[8,64], f32[64,64]) while(t), condition=cond, body=body\n"
      "ROOT r = f32[8,64] get-tuple-element(l), index=1 }}\n",
      kReducers);
  ExpectDispatches(text, 1, 1);
}

}  // namespace product_rows_test
}  // namespace VXLA_NAMESPACE::testing
