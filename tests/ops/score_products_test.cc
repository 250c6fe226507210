// Attentions whose scores are a sum of two products, of parts with and without positions for one: the scores stay in
// the kernel, whatever the layouts of the operands.
#include <fmt/format.h>

#include "tests/support/gpu_client.h"

namespace VXLA_NAMESPACE::testing {
namespace score_products_test {

struct SumCase {
  const char* name;
  const char* parameters;  // q, k of the first product, r, s of the second; X is their type
  const char* products;    // to a and b, X[2,3,T,S]
  bool joins = true;
  const char* type = "f32";
};

constexpr int kRows = 161, kKeys = 139;

std::string ProgramOf(const SumCase& c) {
  std::string text = fmt::format(
      "max {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }}\n"
      "add {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }}\n"
      "ENTRY e {{ {}\n v = X[2,3,S,12] parameter(4)\n{}\n"
      "ab = X[2,3,T,S] add(a, b)  w = f32[2,3,T,S] convert(ab)  n = f32[] constant(0.4)\n"
      "nb = f32[2,3,T,S] broadcast(n), dimensions={{}}  x = f32[2,3,T,S] multiply(w, nb)\n"
      "row = s32[T,S] iota(), iota_dimension=0  key = s32[T,S] iota(), iota_dimension=1\n"
      "c = pred[T,S] compare(row, key), direction=GE  cb = pred[2,3,T,S] broadcast(c), dimensions={{2,3}}\n"
      "h = f32[] constant(-1e9)  hb = f32[2,3,T,S] broadcast(h), dimensions={{}}  xm = f32[2,3,T,S] select(cb, x, hb)\n"
      "o = f32[] constant(0)  i = f32[] constant(-inf)\n"
      "m = f32[2,3,T] reduce(xm, i), dimensions={{3}}, to_apply=max  mb = f32[2,3,T,S] broadcast(m), "
      "dimensions={{0,1,2}}\n"
      "y = f32[2,3,T,S] subtract(xm, mb)  z = f32[2,3,T,S] exponential(y)\n"
      "l = f32[2,3,T] reduce(z, o), dimensions={{3}}, to_apply=add  lb = f32[2,3,T,S] broadcast(l), "
      "dimensions={{0,1,2}}\n"
      "f = f32[2,3,T,S] divide(z, lb)  p = X[2,3,T,S] convert(f)\n"
      "ROOT r0 = X[2,3,T,12] dot(p, v), lhs_batch_dims={{0,1}}, rhs_batch_dims={{0,1}}, lhs_contracting_dims={{3}}, "
      "rhs_contracting_dims={{2}} }}",
      c.parameters, c.products);
  const auto replace = [&](const std::string& what, const std::string& with) {
    for (size_t at; (at = text.find(what)) != std::string::npos;) text.replace(at, what.size(), with);
  };
  replace("X[", std::string(c.type) + "[");
  for (const char* before : {",", "["}) {
    replace(std::string(before) + "T", before + std::to_string(kRows));
    replace(std::string(before) + "S", before + std::to_string(kKeys));
  }
  return text;
}

class ScoreProductsTest : public ::testing::TestWithParam<SumCase> {};

TEST_P(ScoreProductsTest, StayInTheKernel) {
  const SumCase& c = GetParam();
  const std::string text = ProgramOf(c);
  SCOPED_TRACE(text);
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  const std::vector<Literal> arguments = RandomArguments(*module);
  const auto expected = RunOnCpu(*module, arguments);
  ASSERT_TRUE(expected.has_value());
  RunOptions options;
  options.tolerance = Tolerance{};
  // Of the narrow types the reference rounds scores of up to 30 three times, the kernel once: in f16 by 0.4 * 3 / 128.
  options.tolerance->rtol = options.tolerance->atol = c.type == std::string("f32") ? 3e-5 : 3e-2;
  for (const BindingMode mode : {BindingMode::kAddresses, BindingMode::kDescriptors}) {
    const auto client = GpuClient(mode);
    ASSERT_NE(client, nullptr);
    ExpectOnGpu(*client, *module, arguments, options, c.joins ? 3 : 2, *expected);
    const auto executable = client->Compile(*module);
    ASSERT_TRUE(executable.ok());
    bool writes_scores = false;
    for (const PlanBuffer& buffer : (*executable)->plan().buffers) {
      const bool scratch = buffer.placement.space == MemorySpace::kScratch;
      writes_scores |= scratch && buffer.size_bytes >= 2 * 6 * kRows * kKeys;
    }
    EXPECT_EQ(writes_scores, !c.joins);
  }
}

// The second key has no heads.
#define POSITIONS                                                \
  "q = X[2,3,T,20] parameter(0)  k = X[2,3,S,20] parameter(1)\n" \
  "r = X[2,3,T,8] parameter(2)  s = X[2,S,8] parameter(3)"
#define FIRST                                                                                        \
  "a = X[2,3,T,S] dot(q, k), lhs_batch_dims={0,1}, rhs_batch_dims={0,1}, lhs_contracting_dims={3}, " \
  "rhs_contracting_dims={3}\n"

INSTANTIATE_TEST_SUITE_P(
    Cases, ScoreProductsTest,
    ::testing::Values(SumCase{.name = "KeysWithoutHeads",
                              .parameters = POSITIONS,
                              .products = FIRST "b = X[2,3,T,S] dot(r, s), lhs_batch_dims={0}, rhs_batch_dims={0}, "
                                                "lhs_contracting_dims={3}, rhs_contracting_dims={2}"},
                      SumCase{.name = "KeysWithoutHeadsF16",
                              .parameters = POSITIONS,
                              .products = FIRST "b = X[2,3,T,S] dot(r, s), lhs_batch_dims={0}, rhs_batch_dims={0}, "
                                                "lhs_contracting_dims={3}, rhs_contracting_dims={2}",
                              .type = "f16"},
                      SumCase{.name = "HeadsBehindRowsBf16",
                              .parameters = "q = X[2,T,3,20] parameter(0)  k = X[2,S,3,20] parameter(1)\n"
                                            "r = X[2,T,3,8] parameter(2)  s = X[2,S,8] parameter(3)",
                              .products = "a = X[2,3,T,S] dot(q, k), lhs_batch_dims={0,2}, rhs_batch_dims={0,2}, "
                                          "lhs_contracting_dims={3}, rhs_contracting_dims={3}\n"
                                          "b0 = X[2,T,3,S] dot(r, s), lhs_batch_dims={0}, rhs_batch_dims={0}, "
                                          "lhs_contracting_dims={3}, rhs_contracting_dims={2}\n"
                                          "b = X[2,3,T,S] transpose(b0), dimensions={0,2,1,3}",
                              .type = "bf16"},
                      SumCase{.name = "KeysLeftAndTwoSummedDimensions",
                              .parameters = "q = X[2,3,T,20] parameter(0)  k = X[2,3,S,20] parameter(1)\n"
                                            "r = X[4,2,T,3,2] parameter(2)  s = X[2,2,4,S] parameter(3)",
                              .products = FIRST "b0 = X[2,S,T,3] dot(s, r), lhs_batch_dims={0}, rhs_batch_dims={1}, "
                                                "lhs_contracting_dims={1,2}, rhs_contracting_dims={4,0}\n"
                                                "b = X[2,3,T,S] transpose(b0), dimensions={0,3,2,1}"},
                      SumCase{.name = "TheFirstIsTheSmallerOne",
                              .parameters = "q = X[T,20] parameter(0)  k = X[S,20] parameter(1)\n"
                                            "r = X[2,3,T,8] parameter(2)  s = X[2,3,S,8] parameter(3)",
                              .products = "a0 = X[T,S] dot(q, k), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
                                          "a1 = X[1,T,1,S] reshape(a0)  a2 = X[T,S] reshape(a1)\n"
                                          "a = X[2,3,T,S] broadcast(a2), dimensions={2,3}\n"
                                          "b = X[2,3,T,S] dot(r, s), lhs_batch_dims={0,1}, rhs_batch_dims={0,1}, "
                                          "lhs_contracting_dims={3}, rhs_contracting_dims={3}"},
                      // Of a row and a key both: such terms are as many as scores.
                      SumCase{.name = "TermsOfRowAndKey",
                              .parameters = "q = X[2,3,T,20] parameter(0)  k = X[2,3,S,20] parameter(1)\n"
                                            "r = X[2,3,T,4] parameter(2)  s = X[T,S,4] parameter(3)",
                              .products = FIRST "b0 = X[T,2,3,S] dot(r, s), lhs_batch_dims={2}, rhs_batch_dims={0}, "
                                                "lhs_contracting_dims={3}, rhs_contracting_dims={2}\n"
                                                "b = X[2,3,T,S] transpose(b0), dimensions={1,2,0,3}",
                              .joins = false},
                      // Copies of the operands would be larger than the scores.
                      SumCase{.name = "LongTerms",
                              .parameters = "q = X[2,3,T,20] parameter(0)  k = X[2,3,S,20] parameter(1)\n"
                                            "r = X[2,3,T,80] parameter(2)  s = X[2,S,80] parameter(3)",
                              .products = FIRST "b = X[2,3,T,S] dot(r, s), lhs_batch_dims={0}, rhs_batch_dims={0}, "
                                                "lhs_contracting_dims={3}, rhs_contracting_dims={2}",
                              .joins = false}),
    [](const auto& info) { return std::string(info.param.name); });

#undef POSITIONS
#undef FIRST

}  // namespace score_products_test
}  // namespace VXLA_NAMESPACE::testing
