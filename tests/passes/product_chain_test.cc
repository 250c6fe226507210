#include "core/passes/products/product_chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/passes/base/pipeline.h"
#include "core/passes/fuse/fusion_description.h"
#include "core/text/hlo_parser.h"

namespace VXLA_NAMESPACE {
namespace product_chain_test {

constexpr char kReducers[] = R"(
max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
)";

// The module, optimised for a GPU.
std::unique_ptr<Module> OptimizedForGpu(const std::string& text, int64_t min_scores = 1 << 16) {
  auto module = ParseHlo(kReducers + text);
  VXLA_CHECK(module.ok(), module.status().message());
  TargetInfo target;
  target.cheap_dispatches = false;
  target.attention_min_scores = min_scores;
  auto optimized = Optimize(**module, target);
  VXLA_CHECK(optimized.ok(), optimized.status().message());
  return std::move(*optimized);
}

// Of the fusions that are product chains how many sums each makes; those that are attentions count -1.
std::vector<int> ChainsOf(const Module& module) {
  std::vector<int> sums;
  for (const auto& i : module.entry()->instructions()) {
    if (i->opcode() != Opcode::kFusion) continue;
    const auto description = DescribeFusion(*i);
    VXLA_CHECK(description.ok(), description.status().message());
    if (description->chain) sums.push_back(static_cast<int>(description->chain->sums.size()));
    if (description->attention) sums.push_back(-1);
  }
  return sums;
}

// softmax(q k) v of [8, 128, 32] and its gradient; `end` follows.
std::string Gradient(const std::string& end) {
  std::string text = R"(
ENTRY e { q = f32[8,128,32] parameter(0)  k = f32[8,128,32] parameter(1)  v = f32[8,128,32] parameter(2)
  do = f32[8,128,32] parameter(3)
  x = f32[8,128,128] dot(q, k), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}
  i = f32[] constant(-inf)  o = f32[] constant(0)
  m = f32[8,128] reduce(x, i), dimensions={2}, to_apply=max  mb = f32[8,128,128] broadcast(m), dimensions={0,1}
  y = f32[8,128,128] subtract(x, mb)  z = f32[8,128,128] exponential(y)
  l = f32[8,128] reduce(z, o), dimensions={2}, to_apply=add  lb = f32[8,128,128] broadcast(l), dimensions={0,1}
  p = f32[8,128,128] divide(z, lb)
  r = f32[8,128,32] dot(p, v), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
  g = f32[8,128,128] dot(do, v), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}
  pg = f32[8,128,128] multiply(p, g)  d = f32[8,128] reduce(pg, o), dimensions={2}, to_apply=add
  db = f32[8,128,128] broadcast(d), dimensions={0,1}  u = f32[8,128,128] subtract(g, db)
  s = f32[8,128,128] multiply(u, p)
  dq = f32[8,128,32] dot(s, k), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
  dk = f32[8,128,32] dot(s, q), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_contracting_dims={1}
  dv = f32[8,128,32] dot(p, do), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_contracting_dims={1}
)";
  return text + end + " }";
}
constexpr char kResults[] =
    "ROOT t = (f32[8,128,32], f32[8,128,32], f32[8,128,32], f32[8,128,32]) tuple(r, dq, dk, dv)";

TEST(ProductChainTest, TheGradientOfAttentionIsThreeOfThem) {
  EXPECT_THAT(ChainsOf(*OptimizedForGpu(Gradient(kResults))), ::testing::UnorderedElementsAre(-1, 1, 1, 2));
}

// A projection's gradient is a product too, and not what probabilities are chained to.
TEST(ProductChainTest, TheGradientBehindAProjectionIsThreeToo) {
  std::string text = Gradient(kResults);
  const std::string given = "do = f32[8,128,32] parameter(3)";
  text.replace(text.find(given), given.size(), R"(dy = f32[8,128,48] parameter(3)  w = f32[32,48] parameter(4)
  do = f32[8,128,32] dot(dy, w), lhs_contracting_dims={2}, rhs_contracting_dims={1})");
  const std::string product = "dot(p, do)";
  text.replace(text.find(product), product.size(), "dot(do, p)");
  text.replace(text.find("dv = f32[8,128,32]"), 18, "dt = f32[8,32,128]");
  text.insert(text.find("ROOT"), "dv = f32[8,128,32] transpose(dt), dimensions={0,2,1}\n");
  EXPECT_THAT(ChainsOf(*OptimizedForGpu(text)), ::testing::UnorderedElementsAre(-1, 1, 1, 2));
}

// The queries' gradient and the attention's own product have all their products in common, but one waits for the other:
// as one kernel, which they were taken for, neither was a kernel at all.
TEST(ProductChainTest, AGradientThatDependsOnTheResultIsNoKernelWithIt) {
  std::string text = Gradient(kResults);
  const auto replace = [&](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace("p = f32[8,128,128] divide(z, lb)", "p = f32[8,128,128] multiply(z, lb)");
  replace("dot(do, v)", "dot(c, v)");
  replace("dot(p, do)", "dot(p, c)");
  replace("g = f32", "c0 = f32[8,128,32] cosine(r)  c = f32[8,128,32] multiply(c0, do)  g = f32");
  EXPECT_THAT(ChainsOf(*OptimizedForGpu(text)), ::testing::UnorderedElementsAre(1, 1, 1, 1, 1, 2));
}

// Softmax by its logarithm, with and without the largest's guard, and by a factor: attention all the same.
TEST(ProductChainTest, OtherFormsOfSoftmaxAreAttention) {
  const char* const forms[] = {
      "n = f32[8,128] log(l)  nb = f32[8,128,128] broadcast(n), dimensions={0,1}\n"
      "yn = f32[8,128,128] subtract(y, nb)  p = f32[8,128,128] exponential(yn)",
      "la = f32[8,128] abs(l)  n = f32[8,128] log(la)  lse = f32[8,128] add(n, m)\n"
      "nb = f32[8,128,128] broadcast(lse), dimensions={0,1}\n"
      "yn = f32[8,128,128] subtract(x, nb)  p = f32[8,128,128] exponential(yn)",
      "one = f32[] constant(1)  ones = f32[8,128] broadcast(one), dimensions={}  li = f32[8,128] divide(ones, l)\n"
      "lib = f32[8,128,128] broadcast(li), dimensions={0,1}  p = f32[8,128,128] multiply(z, lib)"};
  for (const std::string form : forms) {
    for (const bool guarded : {false, true}) {
      std::string text = Gradient(kResults);
      const std::string plain = "p = f32[8,128,128] divide(z, lb)", largest = "mb = f32[8,128,128] broadcast(m)";
      text.replace(text.find(plain), plain.size(), form);
      if (guarded) {
        text.replace(text.find(largest), largest.size(),
                     "fi = pred[8,128] is-finite(m)  os = f32[8,128] broadcast(o), dimensions={}\n"
                     "mg = f32[8,128] select(fi, m, os)  mb = f32[8,128,128] broadcast(mg)");
        if (const size_t at = text.find("add(n, m)"); at != std::string::npos) text.replace(at, 9, "add(n, mg)");
      }
      EXPECT_THAT(ChainsOf(*OptimizedForGpu(text)), ::testing::UnorderedElementsAre(-1, 1, 1, 2)) << text;
    }
  }
}

// A factor that is made of another product is the gradient's, not dropout's: a chain of both.
TEST(ProductChainTest, WeightsTimesAProductAreNoAttention) {
  EXPECT_THAT(ChainsOf(*OptimizedForGpu(Gradient("ROOT t = f32[8,128,32] copy(dq)"))),
              ::testing::Not(::testing::Contains(-1)));
}

// As the gradient of queries that are brought to one length does: a reduction of a chain's result, which others read
// too, is no kernel that the chain would have to be copied for.
TEST(ProductChainTest, AReductionOfTheQueriesGradientLeavesItAKernel) {
  const auto module = OptimizedForGpu(
      Gradient("w = f32[8,128,32] multiply(dq, q)  w1 = f32[8,128] reduce(w, o), dimensions={2}, to_apply=add\n"
               "wb = f32[8,128,32] broadcast(w1), dimensions={0,1}  dn = f32[8,128,32] subtract(dq, wb)\n"
               "ROOT t = (f32[8,128,32], f32[8,128,32], f32[8,128,32], f32[8,128,32]) tuple(r, dn, dk, dv)"),
      1 << 15);
  EXPECT_THAT(ChainsOf(*module), ::testing::UnorderedElementsAre(-1, 1, 1, 2));
}

// Of a bias that all batches have in common: the kernel adds them up.
TEST(ProductChainTest, TheGradientOfABiasIsOneMore) {
  const auto module =
      OptimizedForGpu(Gradient("bias = f32[128,128] reduce(s, o), dimensions={0}, to_apply=add\n"
                               "ROOT t = (f32[8,128,32], f32[8,128,32], f32[8,128,32], f32[8,128,32], f32[128,128]) "
                               "tuple(r, dq, dk, dv, bias)"));
  EXPECT_THAT(ChainsOf(*module), ::testing::UnorderedElementsAre(-1, 1, 1, 1, 2));
}

TEST(ProductChainTest, WithoutTheAttentionItsStatisticsAreTwoMore) {
  const auto module =
      OptimizedForGpu(Gradient("ROOT t = (f32[8,128,32], f32[8,128,32], f32[8,128,32]) tuple(dq, dk, dv)"));
  EXPECT_THAT(ChainsOf(*module), ::testing::UnorderedElementsAre(1, 1, 1, 1, 2));
}

// The gradient and one of the values of the scores' size that it is made of.
std::string GradientAnd(const std::string& read) {
  return Gradient(
      "ROOT t = (f32[8,128,32], f32[8,128,32], f32[8,128,32], f32[8,128,32], f32[8,128,128]) tuple(r, dq, dk, dv, " +
      read + ")");
}

// The gradient of a bias of the scores' own size, and probabilities that are wanted themselves, in another order too.
TEST(ProductChainTest, WhatIsReadElsewhereIsWrittenByOneMore) {
  for (const char* read : {"p", "s"}) {
    EXPECT_THAT(ChainsOf(*OptimizedForGpu(GradientAnd(read))), ::testing::UnorderedElementsAre(-1, 1, 1, 1, 2)) << read;
  }
  const auto module = OptimizedForGpu(
      Gradient("st = f32[8,128,128] transpose(s), dimensions={0,2,1}  sc = bf16[8,128,128] convert(st)\n"
               "ROOT t = (f32[8,128,32], f32[8,128,32], f32[8,128,32], f32[8,128,32], bf16[8,128,128]) "
               "tuple(r, dq, dk, dv, sc)"));
  EXPECT_THAT(ChainsOf(*module), ::testing::UnorderedElementsAre(-1, 1, 1, 1, 2));
  EXPECT_EQ(std::ranges::count_if(module->entry()->instructions(),
                                  [](const auto& i) { return i->opcode() == Opcode::kFusion; }),
            5);
}

// Of a bias for each key, and of a factor of each batch: summed up over rows or keys by the kernel.
TEST(ProductChainTest, SumsOverMoreThanRowsGoByTwo) {
  for (const char* sum : {"f32[128] reduce(s, o), dimensions={0,1}", "f32[8] reduce(s, o), dimensions={1,2}"}) {
    const std::string text = sum, type = text.substr(0, text.find(' '));
    const auto module =
        OptimizedForGpu(Gradient("b = " + text +
                                 ", to_apply=add\n"
                                 "ROOT t = (f32[8,128,32], f32[8,128,32], f32[8,128,32], f32[8,128,32], " +
                                 type + ") tuple(r, dq, dk, dv, b)"));
    EXPECT_THAT(ChainsOf(*module), ::testing::UnorderedElementsAre(-1, 1, 1, 1, 2)) << sum;
  }
}

TEST(ProductChainTest, KeepsApartWhatIsReadElsewhere) {
  for (const char* read : {"x", "g"}) {
    const auto module = OptimizedForGpu(GradientAnd(read));
    const std::vector<int> chains = ChainsOf(*module);
    EXPECT_THAT(chains, ::testing::Not(::testing::Contains(2))) << read;
    EXPECT_THAT(chains, ::testing::Not(::testing::Contains(1))) << read;
  }
}

TEST(ProductChainTest, HasStatisticsAsResultsOfTheAttention) {
  const auto module =
      OptimizedForGpu(Gradient("n = f32[8,128] log(l)  lse = f32[8,128] add(n, m)\n"
                               "ROOT t = (f32[8,128,32], f32[8,128]) tuple(r, lse)"));
  EXPECT_THAT(ChainsOf(*module), ::testing::ElementsAre(-1));
}

// Each result goes over keys of two rows of the product.
TEST(ProductChainTest, KeepsApartRowsThatAreMixed) {
  const auto module = OptimizedForGpu(R"(
ENTRY e { x = f32[1024,32] parameter(0)  w = f32[32,130] parameter(1)  i = f32[] constant(-inf)
  d = f32[1024,130] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  s = f32[512,2,130] reshape(d)  ROOT r = f32[512] reduce(s, i), dimensions={1,2}, to_apply=max })");
  EXPECT_TRUE(ChainsOf(*module).empty());
}

// One place of the product for itself and another for its mirror image.
TEST(ProductChainTest, KeepsApartWhatIsReadAtTwoPlaces) {
  const auto module = OptimizedForGpu(R"(
ENTRY e { x = f32[300,32] parameter(0)  w = f32[32,300] parameter(1)  i = f32[] constant(-inf)
  d = f32[300,300] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[300,300] transpose(d), dimensions={1,0}  s = f32[300,300] add(d, t)
  ROOT r = f32[300] reduce(s, i), dimensions={1}, to_apply=max })");
  EXPECT_TRUE(ChainsOf(*module).empty());
}

// A layer of products without an exponential is as fast as two kernels.
TEST(ProductChainTest, KeepsLayersOfProductsApart) {
  const auto module = OptimizedForGpu(R"(
ENTRY e { x = f32[1024,32] parameter(0)  w = f32[32,130] parameter(1)  u = f32[130,32] parameter(2)
  d = f32[1024,130] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  s = f32[1024,130] multiply(d, d)
  ROOT r = f32[1024,32] dot(s, u), lhs_contracting_dims={1}, rhs_contracting_dims={0} })");
  EXPECT_TRUE(ChainsOf(*module).empty());
}

}  // namespace product_chain_test
}  // namespace VXLA_NAMESPACE
