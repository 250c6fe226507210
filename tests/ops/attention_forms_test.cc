// Forms of attention and their gradients that are no softmax between two products to the letter: softmax by its
// logarithm, dropout, factors of heads, division behind the product, sinks, as JAX writes them. None keeps scores in
// memory.
#include <fmt/format.h>

#include "tests/support/gpu_client.h"

namespace VXLA_NAMESPACE::testing {
namespace attention_forms_test {

// q, k, v [4, T, 32], do; scores x [4, T, S]; from `weights` to `softmax` the gradient gw of the weights w becomes
// that of the scores, gx. `extra`: what is a result besides.
struct FormCase {
  const char* name;
  const char* parameters = "";
  const char* weights;
  const char* gradient;
  const char* extra = "";        // operands of the root
  const char* extra_types = "";  // and their types
  int dispatches = 0;
  const char* behind = "r = f32[4,T,32] add(r0, zr)\n";  // what follows the product; zr is 0
  BindingMode mode = BindingMode::kAddresses;
};

constexpr int kRows = 160, kKeys = 136;

std::string ProgramOf(const FormCase& c) {
  std::string text = fmt::format(
      "max {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }}\n"
      "add {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }}\n"
      "ENTRY e {{\n"
      "q = f32[4,T,32] parameter(0)  k = f32[4,S,32] parameter(1)  v = f32[4,S,32] parameter(2)\n"
      "do = f32[4,T,32] parameter(3)  {}\n"
      "d = f32[4,T,S] dot(q, k), lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, lhs_contracting_dims={{2}}, "
      "rhs_contracting_dims={{2}}\n"
      "c = f32[] constant(0.17)  cs = f32[4,T,S] broadcast(c), dimensions={{}}  x = f32[4,T,S] multiply(d, cs)\n"
      "o = f32[] constant(0)  i = f32[] constant(-inf)  zr = f32[4,T,32] broadcast(o), dimensions={{}}\n"
      "{}\n"
      "r0 = f32[4,T,32] dot(w, v), lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, lhs_contracting_dims={{2}}, "
      "rhs_contracting_dims={{1}}\n"
      "{}"
      "cos = f32[4,T,32] cosine(r)  g = f32[4,T,32] multiply(cos, do)\n"
      "gw = f32[4,T,S] dot(g, v), lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, lhs_contracting_dims={{2}}, "
      "rhs_contracting_dims={{2}}\n"
      "{}\n"
      "gd = f32[4,T,S] multiply(gx, cs)\n"
      "dq = f32[4,T,32] dot(gd, k), lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, lhs_contracting_dims={{2}}, "
      "rhs_contracting_dims={{1}}\n"
      "dk = f32[4,S,32] dot(gd, q), lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, lhs_contracting_dims={{1}}, "
      "rhs_contracting_dims={{1}}\n"
      "dv = f32[4,S,32] dot(w, g), lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, lhs_contracting_dims={{1}}, "
      "rhs_contracting_dims={{1}}\n"
      "ROOT t = (f32[4,T,32], f32[4,T,32], f32[4,S,32], f32[4,S,32]{}) tuple(r, dq, dk, dv{}) }}",
      c.parameters, c.weights, c.behind, c.gradient, c.extra_types, c.extra);
  for (size_t at; (at = text.find(",T")) != std::string::npos;) text.replace(at, 2, fmt::format(",{}", kRows));
  for (size_t at; (at = text.find(",S")) != std::string::npos;) text.replace(at, 2, fmt::format(",{}", kKeys));
  for (size_t at; (at = text.find(",U")) != std::string::npos;) text.replace(at, 2, fmt::format(",{}", kKeys + 1));
  return text;
}

class AttentionFormsTest : public ::testing::TestWithParam<FormCase> {};

TEST_P(AttentionFormsTest, KeepNoScores) {
  const FormCase& c = GetParam();
  const std::string text = ProgramOf(c);
  SCOPED_TRACE(text);
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  const std::vector<Literal> arguments = RandomArguments(*module);
  const auto expected = RunOnCpu(*module, arguments);
  ASSERT_TRUE(expected.has_value());
  RunOptions options;
  options.tolerance = Tolerance{};
  options.tolerance->rtol = options.tolerance->atol = 3e-5;
  const auto client = GpuClient(c.mode);
  ASSERT_NE(client, nullptr);
  ExpectOnGpu(*client, *module, arguments, options, c.dispatches, *expected);
  const auto executable = client->Compile(*module);
  ASSERT_TRUE(executable.ok());
  for (const PlanBuffer& buffer : (*executable)->plan().buffers) {
    if (buffer.placement.space != MemorySpace::kScratch) continue;
    // A mask that is computed is kept in bytes.
    EXPECT_LE(buffer.size_bytes, 4 * kRows * kKeys) << buffer.name;
  }
}

// m, l: largest and total of x, or of what `logits` is.
#define LARGEST \
  "m = f32[4,T] reduce(x, i), dimensions={2}, to_apply=max  mb = f32[4,T,S] broadcast(m), dimensions={0,1}\n"
#define SOFTMAX                                                     \
  LARGEST                                                           \
  "y = f32[4,T,S] subtract(x, mb)  z = f32[4,T,S] exponential(y)\n" \
  "l = f32[4,T] reduce(z, o), dimensions={2}, to_apply=add  lb = f32[4,T,S] broadcast(l), dimensions={0,1}\n"
// Of p = softmax(x) whose gradient is gp.
#define SOFTMAX_GRADIENT                                                                        \
  "pg = f32[4,T,S] multiply(p, gp)  s = f32[4,T] reduce(pg, o), dimensions={2}, to_apply=add\n" \
  "sb = f32[4,T,S] broadcast(s), dimensions={0,1}  u = f32[4,T,S] subtract(gp, sb)\n"           \
  "gx = f32[4,T,S] multiply(u, p)\n"

INSTANTIATE_TEST_SUITE_P(
    Cases, AttentionFormsTest,
    ::testing::Values(
        FormCase{
            .name = "ByLogSoftmax",
            .weights = SOFTMAX "n = f32[4,T] log(l)  nb = f32[4,T,S] broadcast(n), dimensions={0,1}\n"
                               "yn = f32[4,T,S] subtract(y, nb)  w = f32[4,T,S] exponential(yn)",
            .gradient = "gy = f32[4,T,S] multiply(gw, w)  s = f32[4,T] reduce(gy, o), dimensions={2}, to_apply=add\n"
                        "sl = f32[4,T] divide(s, l)  sb = f32[4,T,S] broadcast(sl), dimensions={0,1}\n"
                        "sz = f32[4,T,S] multiply(sb, z)  gx = f32[4,T,S] subtract(gy, sz)",
            .dispatches = 9},
        FormCase{
            .name = "ByLogsumexpWhichIsAResult",
            .weights = SOFTMAX "n = f32[4,T] log(l)  lse = f32[4,T] add(n, m)\n"
                               "nb = f32[4,T,S] broadcast(lse), dimensions={0,1}\n"
                               "yn = f32[4,T,S] subtract(x, nb)  w = f32[4,T,S] exponential(yn)",
            .gradient = "gy = f32[4,T,S] multiply(gw, w)  s = f32[4,T] reduce(gy, o), dimensions={2}, to_apply=add\n"
                        "sb = f32[4,T,S] broadcast(s), dimensions={0,1}\n"
                        "sz = f32[4,T,S] multiply(sb, w)  gx = f32[4,T,S] subtract(gy, sz)",
            .extra = ", lse",
            .extra_types = ", f32[4,T]",
            .dispatches = 9,
            .mode = BindingMode::kDescriptors},
        FormCase{.name = "WithDropout",
                 .parameters = "keep = pred[4,T,S] parameter(4)",
                 .weights = SOFTMAX "p = f32[4,T,S] divide(z, lb)  k9 = f32[] constant(0.9)\n"
                                    "kb = f32[4,T,S] broadcast(k9), dimensions={}  pk = f32[4,T,S] divide(p, kb)\n"
                                    "ob = f32[4,T,S] broadcast(o), dimensions={}  w = f32[4,T,S] select(keep, pk, ob)",
                 .gradient = "gs = f32[4,T,S] select(keep, gw, ob)  gp = f32[4,T,S] divide(gs, kb)\n" SOFTMAX_GRADIENT,
                 .dispatches = 8},
        // A mask of numbers, computed from bits, as flax has it.
        FormCase{.name = "WithDropoutFromBits",
                 .parameters = "bits = u32[4,T,S] parameter(4)",
                 .weights = SOFTMAX
                 "p = f32[4,T,S] divide(z, lb)  k9 = f32[] constant(0.9)\n"
                 "kb = f32[4,T,S] broadcast(k9), dimensions={}  low = u32[] constant(1234567)\n"
                 "lows = u32[4,T,S] broadcast(low), dimensions={}\n"
                 "mixed = u32[4,T,S] multiply(bits, lows)  more = u32[4,T,S] xor(mixed, lows)\n"
                 "bound = u32[] constant(3865470566)  bounds = u32[4,T,S] broadcast(bound), dimensions={}\n"
                 "keep = pred[4,T,S] compare(more, bounds), direction=LT\n"
                 "kept = f32[4,T,S] convert(keep)  factor = f32[4,T,S] divide(kept, kb)\n"
                 "w = f32[4,T,S] multiply(p, factor)",
                 .gradient = "gp = f32[4,T,S] multiply(gw, factor)\n" SOFTMAX_GRADIENT,
                 .dispatches = 9,
                 .mode = BindingMode::kDescriptors},
        FormCase{.name = "WithAFactorOfEachHead",
                 .parameters = "h = f32[4] parameter(4)",
                 .weights = SOFTMAX "p = f32[4,T,S] divide(z, lb)  hb = f32[4,T,S] broadcast(h), dimensions={0}\n"
                                    "w = f32[4,T,S] multiply(p, hb)",
                 .gradient = "gp = f32[4,T,S] multiply(gw, hb)  gh0 = f32[4,T,S] multiply(gw, p)\n"
                             "gh = f32[4] reduce(gh0, o), dimensions={1,2}, to_apply=add\n" SOFTMAX_GRADIENT,
                 .extra = ", gh",
                 .extra_types = ", f32[4]",
                 .dispatches = 10},
        FormCase{
            .name = "DividedBehindTheProduct",
            .weights = LARGEST "y = f32[4,T,S] subtract(x, mb)  w = f32[4,T,S] exponential(y)\n"
                               "l = f32[4,T] reduce(w, o), dimensions={2}, to_apply=add",
            .gradient = "rg = f32[4,T,32] multiply(r, g)  s = f32[4,T] reduce(rg, o), dimensions={2}, to_apply=add\n"
                        "sb = f32[4,T,S] broadcast(s), dimensions={0,1}  u = f32[4,T,S] subtract(gw, sb)\n"
                        "gx = f32[4,T,S] multiply(u, w)",
            .dispatches = 9,
            .behind = "lr = f32[4,T,32] broadcast(l), dimensions={0,1}  r = f32[4,T,32] divide(r0, lr)\n"},
        // A column more in the softmax, which no value belongs to.
        FormCase{
            .name = "WithSinks",
            .parameters = "h = f32[4] parameter(4)",
            .weights = "h1 = f32[4,T,1] broadcast(h), dimensions={0}\n"
                       "xs = f32[4,T,U] concatenate(x, h1), dimensions={2}\n"
                       "m = f32[4,T] reduce(xs, i), dimensions={2}, to_apply=max\n"
                       "mb = f32[4,T,U] broadcast(m), dimensions={0,1}  y = f32[4,T,U] subtract(xs, mb)\n"
                       "z = f32[4,T,U] exponential(y)  l = f32[4,T] reduce(z, o), dimensions={2}, to_apply=add\n"
                       "lb = f32[4,T,U] broadcast(l), dimensions={0,1}  p = f32[4,T,U] divide(z, lb)\n"
                       "w = f32[4,T,S] slice(p), slice={[0:4], [0:160], [0:136]}",
            .gradient = "gp = f32[4,T,U] pad(gw, o), padding=0_0x0_0x0_1\n"
                        "pg = f32[4,T,U] multiply(p, gp)  s = f32[4,T] reduce(pg, o), dimensions={2}, to_apply=add\n"
                        "sb = f32[4,T,U] broadcast(s), dimensions={0,1}  u = f32[4,T,U] subtract(gp, sb)\n"
                        "gc = f32[4,T,U] multiply(u, p)\n"
                        "gx = f32[4,T,S] slice(gc), slice={[0:4], [0:160], [0:136]}\n"
                        "g1 = f32[4,T,1] slice(gc), slice={[0:4], [0:160], [136:137]}\n"
                        "gh = f32[4] reduce(g1, o), dimensions={1,2}, to_apply=add",
            .extra = ", gh",
            .extra_types = ", f32[4]",
            .dispatches = 12}),
    [](const auto& info) { return info.param.name; });

}  // namespace attention_forms_test
}  // namespace VXLA_NAMESPACE::testing
