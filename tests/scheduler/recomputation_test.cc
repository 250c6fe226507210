// What a program computes again for want of memory (jax.checkpoint) is computed again, and the memory is saved.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/passes/base/pipeline.h"
#include "core/text/hlo_parser.h"
#include "scheduler/compile.h"
#include "tests/support/fake_device.h"

namespace VXLA_NAMESPACE {
namespace {

using namespace vxla::testing;

constexpr int kBlocks = 4, kLayers = 4;

// The gradient of 16 layers tanh(x @ w), with the layers of each block computed again in the backward pass, behind a
// barrier that jax.checkpoint puts round the block's input and the gradient that comes in; or without the barrier.
std::string Gradient(bool barrier) {
  const std::string f = "f32[64,64]";
  std::string text = fmt::format("ENTRY e {{\nx0 = {0} parameter(0)\nw = {0} parameter(1)\n", f);
  text += fmt::format("one = f32[] constant(1)\nones = {0} broadcast(one), dimensions={{}}\n", f);
  auto layers = [&](const std::string& from, const std::string& to, int block) {
    std::string x = from;
    for (int l = 0; l < kLayers; ++l) {
      const std::string name = fmt::format("{}{}_{}", to, block, l + 1);
      text +=
          fmt::format("d_{0} = {1} dot({2}, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n", name, f, x);
      text += fmt::format("{0} = {1} tanh(d_{0})\n", name, f);
      x = name;
    }
    return x;
  };
  std::vector<std::string> inputs{"x0"};
  for (int b = 0; b < kBlocks; ++b) inputs.push_back(layers(inputs.back(), "h", b));
  std::string g = inputs.back();
  for (int b = kBlocks - 1; b >= 0; --b) {
    std::string x = inputs[static_cast<size_t>(b)];
    if (barrier) {
      text += fmt::format("t{0} = ({1}, {1}) tuple({2}, {3})\no{0} = ({1}, {1}) opt-barrier(t{0})\n", b, f, x, g);
      text += fmt::format(
          "x_{0} = {1} get-tuple-element(o{0}), index=0\ng_{0} = {1} get-tuple-element(o{0}), index=1\n", b, f);
      x = fmt::format("x_{}", b);
      g = fmt::format("g_{}", b);
    }
    layers(x, "again", b);
    for (int l = kLayers; l > 0; --l) {
      const std::string name = fmt::format("{}_{}", b, l);
      text += fmt::format("s{0} = {1} multiply(again{0}, again{0})\nm{0} = {1} subtract(ones, s{0})\n", name, f);
      text += fmt::format("q{0} = {1} multiply({2}, m{0})\n", name, f, g);
      text += fmt::format("p{0} = {1} dot(q{0}, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}\n", name, f);
      g = "p" + name;
    }
  }
  return text + fmt::format("ROOT r = {0} copy({1})\n}}\n", f, g);
}

Plan PlanOf(const std::string& text) {
  auto module = ParseHlo(text);
  VXLA_CHECK(module.ok(), module.status().message());
  auto optimized = Optimize(**module, {});
  VXLA_CHECK(optimized.ok(), optimized.status().message());
  const FakeLowering lowering{std::make_shared<KernelRegistry>()};
  auto plan = MakePlan(**optimized, lowering, FakeFacts({}), {});
  VXLA_CHECK(plan.ok(), plan.status().message());
  return std::move(*plan);
}

TEST(RecomputationTest, ABarrierSavesTheMemoryOfWhatIsComputedAgain) {
  const Plan kept = PlanOf(Gradient(false)), again = PlanOf(Gradient(true));
  const int64_t array = 64 * 64 * 4;
  EXPECT_EQ(again.dispatch_count(), kept.dispatch_count() + kBlocks * kLayers);  // less what the last block shares
  EXPECT_LE(again.peak_bytes, kept.peak_bytes - 5 * array);
  fmt::print("peak: {} bytes kept, {} bytes computed again\n", kept.peak_bytes, again.peak_bytes);
}

}  // namespace
}  // namespace VXLA_NAMESPACE
