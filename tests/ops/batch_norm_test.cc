// batch-norm-inference, -training and -grad on the device against the CPU reference.
#include <fmt/format.h>

#include <cmath>

#include "scheduler/plan/plan.h"
#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace batch_norm_test {

struct NormCase {
  std::string name, type, sizes;
  int feature;
  std::string features;
};

const NormCase kCases[] = {
    {"Images", "f32", "4,7,5,6", 3, "6"},
    {"FeaturesFirst", "f32", "6,4,9", 0, "6"},
    {"FeaturesInTheMiddle", "f32", "3,5,11", 1, "5"},
    {"OneDimension", "f32", "13", 0, "13"},
    {"ManyElements", "f32", "40,33,31,2", 3, "2"},
    {"OneFeature", "f32", "1021,1", 1, "1"},
    {"Rank6", "f32", "2,3,2,3,2,3", 2, "2"},
    {"NoElements", "f32", "0,3", 1, "3"},
    {"NoFeatures", "f32", "5,0", 1, "0"},
    {"F64", "f64", "6,10,3", 2, "3"},
    {"F16", "f16", "8,9,4", 2, "4"},
    {"BF16", "bf16", "8,9,4", 1, "9"},
    {"F8", "f8e5m2", "8,4", 1, "4"},
};

class BatchNormTest : public ::testing::TestWithParam<NormCase> {
 protected:
  std::string Array() const { return fmt::format("{}[{}]", GetParam().type, GetParam().sizes); }
  std::string Features() const { return fmt::format("{}[{}]", GetParam().type, GetParam().features); }
  std::string Attributes() const { return fmt::format("epsilon=0.001, feature_index={}", GetParam().feature); }
  // Arguments far from zero mean: the variance must not lose its digits. `positive`: an argument that is a variance.
  std::vector<Literal> Arguments(const Module& module, int positive) const {
    std::vector<Literal> arguments = RandomArguments(module, 5);
    for (int64_t i = 0; i < arguments[0].element_count(); ++i) {
      arguments[0].SetDouble(i, 3 + 0.5 * arguments[0].GetDouble(i));
    }
    if (positive < 0) return arguments;
    Literal& variance = arguments[static_cast<size_t>(positive)];
    for (int64_t i = 0; i < variance.element_count(); ++i) {
      variance.SetDouble(i, 0.5 + std::fabs(variance.GetDouble(i)));
    }
    return arguments;
  }
  void Run(const std::string& text, int positive = -1) {
    const auto module = ParseModule(text);
    ASSERT_NE(module, nullptr);
    RunBoth(text, Arguments(*module, positive));
    RunOptions unfused;
    unfused.fusion = false;
    RunBoth(text, Arguments(*module, positive), unfused);
  }
};

TEST_P(BatchNormTest, Inference) {
  Run(fmt::format(
          "ENTRY e {{ x = {0} parameter(0)\n s = {1} parameter(1)\n o = {1} parameter(2)\n m = {1} parameter(3)\n"
          "v = {1} parameter(4)\n ROOT r = {0} batch-norm-inference(x, s, o, m, v), {2} }}",
          Array(), Features(), Attributes()),
      4);
}

TEST_P(BatchNormTest, Training) {
  Run(
      fmt::format("ENTRY e {{ x = {0} parameter(0)\n s = {1} parameter(1)\n o = {1} parameter(2)\n"
                  "ROOT r = ({0}, {1}, {1}) batch-norm-training(x, s, o), {2} }}",
                  Array(), Features(), Attributes()));
}

TEST_P(BatchNormTest, Gradient) {
  Run(fmt::format(
          "ENTRY e {{ x = {0} parameter(0)\n s = {1} parameter(1)\n m = {1} parameter(2)\n v = {1} parameter(3)\n"
          "d = {0} parameter(4)\n ROOT r = ({0}, {1}, {1}) batch-norm-grad(x, s, m, v, d), {2} }}",
          Array(), Features(), Attributes()),
      3);
}

INSTANTIATE_TEST_SUITE_P(Shapes, BatchNormTest, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

constexpr char kMany[] =
    "ENTRY e { x = f32[16384,8] parameter(0)  s = f32[8] parameter(1)  o = f32[8] parameter(2)\n"
    "ROOT r = (f32[16384,8], f32[8], f32[8]) batch-norm-training(x, s, o), epsilon=0.001, feature_index=1 }";

// Features of many elements: far from zero, all alike, with one far from the others among the first and among the last
// ones, huge, infinite in both places, not a number.
TEST(BatchNormTrainingTest, FeaturesOfEveryKind) {
  std::vector<Literal> arguments = RandomArguments(*ParseModule(kMany), 5);
  Literal& x = arguments[0];
  for (int64_t row = 0; row < 16384; ++row) {
    const auto at = [row](int64_t feature) { return 8 * row + feature; };
    x.SetDouble(at(0), 1e4 + x.GetDouble(at(0)));
    x.SetDouble(at(1), 3.25);
    if (row == 5) x.SetDouble(at(2), 1e6);
    if (row == 16000) x.SetDouble(at(3), -1e6);
    x.SetDouble(at(4), 1e17 * x.GetDouble(at(4)));
    if (row == 7) x.SetDouble(at(5), INFINITY);
    if (row == 16001) x.SetDouble(at(6), -INFINITY);
    if (row == 9000) x.SetDouble(at(7), NAN);
  }
  RunOptions options;
  options.tolerance = Tolerance{.rtol = 2e-5, .atol = 2e-4};
  RunBoth(kMany, arguments, options);
}

TEST(BatchNormTrainingTest, ReadsManyElementsTwice) {
  const auto module = ParseModule(kMany);
  ASSERT_NE(module, nullptr);
  auto executable = DeviceClient(BindingMode::kDescriptors)->Compile(*module);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  int64_t bytes = 0;
  for (const Step& step : (*executable)->plan().steps) bytes += step.MovedBytes();
  constexpr int64_t kAll = 16384 * 8 * 4;
  EXPECT_GE(bytes, 3 * kAll);  // read twice, written once
  EXPECT_LT(bytes, 3 * kAll + kAll / 4);
}

// What follows and what comes before joins the normalisation's own kernel.
TEST(BatchNormFusionTest, InferenceIsOneDispatchWithItsNeighbours) {
  RunOptions options;
  options.dispatches = 1;
  RunBoth(R"(ENTRY e { x = f32[8,9,4] parameter(0)
  s = f32[4] parameter(1)  o = f32[4] parameter(2)  m = f32[4] parameter(3)  w = f32[4] parameter(4)  v = f32[4] multiply(w, w)
  a = f32[8,9,4] tanh(x)  n = f32[8,9,4] batch-norm-inference(a, s, o, m, v), epsilon=0.01, feature_index=2
  z = f32[] constant(0)  zs = f32[8,9,4] broadcast(z), dimensions={}  ROOT r = f32[8,9,4] maximum(n, zs) })",
          RandomArguments(*ParseModule("ENTRY e { x = f32[8,9,4] parameter(0)  s = f32[4] parameter(1)  o = f32[4] "
                                       "parameter(2)  m = f32[4] parameter(3)  w = f32[4] parameter(4)  ROOT t = "
                                       "(f32[4]) tuple(w) }"),
                          7),
          options);
}

}  // namespace batch_norm_test
}  // namespace VXLA_NAMESPACE::testing
