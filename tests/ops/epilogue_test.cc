// Epilogues behind reshapes: element by element at the same linear index, whatever the dimensions.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "core/passes/fuse/fusion.h"
#include "scheduler/plan/plan_printer.h"
#include "tests/support/device_test_support.h"
#include "tests/support/faulty_device.h"

namespace VXLA_NAMESPACE::testing {
namespace epilogue_test {

constexpr char kReducers[] =
    "max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }\n"
    "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n";

void Expect(const std::string& text, int dispatches) {
  SCOPED_TRACE(text);
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  RunOptions options;
  options.dispatches = dispatches;
  Tolerance tolerance;
  tolerance.rtol = tolerance.atol = 1e-4;
  options.tolerance = tolerance;
  RunBoth(text, RandomArguments(*module), options);
}

TEST(EpilogueTest, OfAProductBehindAReshape) {
  for (const char* after : {"6,2", "12", "2,6", "2,3,2", "1,12,1", "3,4"}) {
    Expect(fmt::format("ENTRY e {{ x = f32[4,2] parameter(0)  y = f32[2,3] parameter(1)  b = f32[{0}] parameter(2)\n"
                       "d = f32[4,3] dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n"
                       "s = f32[{0}] reshape(d)  a = f32[{0}] add(s, b)  ROOT t = f32[{0}] tanh(a) }}",
                       after),
           1);
  }
}

// On a GPU the transpose moves ahead to the product.
TEST(EpilogueTest, OfAProductBehindATransposeOfWhatFollowsIt) {
  for (const char* type : {"f32", "f16", "bf16", "f64"}) {
    for (const char* sizes : {"5,7,3", "64,32,64", "130,17,67", "1,9,40"}) {
      int m = 0, k = 0, n = 0;
      ASSERT_EQ(std::sscanf(sizes, "%d,%d,%d", &m, &k, &n), 3);
      const std::string text = fmt::format(
          "ENTRY e {{ x = {0}[2,{1},{2}] parameter(0)  y = {0}[2,{2},{3}] parameter(1)  b = {0}[2,{3}] parameter(2)\n"
          "c = {0}[2,{3},{1}] parameter(3)  p = pred[{1}] parameter(4)  h = {0}[] parameter(5)\n"
          "d = {0}[2,{1},{3}] dot(x, y), lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, lhs_contracting_dims={{2}}, "
          "rhs_contracting_dims={{1}}  bb = {0}[2,{1},{3}] broadcast(b), dimensions={{0,2}}\n"
          "a = {0}[2,{1},{3}] add(d, bb)  w = f32[2,{1},{3}] convert(a)  e = f32[2,{1},{3}] tanh(w)\n"
          "u = {0}[2,{1},{3}] convert(e)  pb = pred[2,{1},{3}] broadcast(p), dimensions={{1}}\n"
          "hb = {0}[2,{1},{3}] broadcast(h), dimensions={{}}  s = {0}[2,{1},{3}] select(pb, u, hb)\n"
          "q = {0}[2,{1},{3}] multiply(s, s)  t = {0}[2,{3},{1}] transpose(q), dimensions={{0,2,1}}\n"
          "ROOT r = {0}[2,{3},{1}] add(t, c) }}",
          type, m, k, n);
      SCOPED_TRACE(text);
      const auto module = ParseModule(text);
      ASSERT_NE(module, nullptr);
      RunOptions options;
      Tolerance tolerance;
      tolerance.rtol = tolerance.atol = type[0] == 'b' ? 4e-2 : type[1] == '1' ? 4e-3 : 1e-4;
      options.tolerance = tolerance;
      RunBoth(text, RandomArguments(*module), options);
    }
  }
}

TEST(EpilogueTest, OfABatchedAndOfALargeProductBehindTwoReshapes) {
  Expect(
      "ENTRY e { x = f32[5,4,7] parameter(0)  y = f32[5,7,3] parameter(1)\n"
      "d = f32[5,4,3] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
      "rhs_contracting_dims={1}\n"
      "s = f32[6,10] reshape(d)  a = f32[6,10] negate(s)  u = f32[4,15] reshape(a)  ROOT t = f32[4,15] tanh(u) }",
      1);
  Expect(
      "ENTRY e { x = f32[130,64] parameter(0)  y = f32[64,36] parameter(1)  b = f32[60] parameter(2)\n"
      "d = f32[130,36] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "s = f32[78,60] reshape(d)  c = f32[78,60] broadcast(b), dimensions={1}  a = f32[78,60] add(s, c)\n"
      "u = f32[117,40] reshape(a)  ROOT t = f32[117,40] tanh(u) }",
      1);
}

TEST(EpilogueTest, OfAWindowBehindAReshape) {
  Expect(
      std::string(kReducers) +
          "ENTRY e { x = f32[9,8] parameter(0)  z = f32[] constant(0)  b = f32[4,14] parameter(1)\n"
          "w = f32[8,7] reduce-window(x, z), window={size=2x2}, to_apply=add\n"
          "s = f32[4,14] reshape(w)  a = f32[4,14] add(s, b)  u = f32[28,2] reshape(a)  ROOT t = f32[28,2] tanh(u) }",
      1);
}

TEST(EpilogueTest, OfARowProgramBehindAReshape) {
  Expect(
      std::string(kReducers) +
          "ENTRY e { x = f32[6,10,33] parameter(0)  z = f32[] constant(0)  b = f32[15,4] parameter(1)\n"
          "w = f32[6,10] reduce(x, z), dimensions={2}, to_apply=add\n"
          "s = f32[15,4] reshape(w)  a = f32[15,4] add(s, b)  u = f32[4,15] reshape(a)  ROOT t = f32[4,15] tanh(u) }",
      1);
}

// Softmax of [3,4,64] whose first half stands in [12,64]: the rows are the same.
TEST(RowProgramTest, RowsOfReshapedEqualSpacesAreOneKernel) {
  for (const char* dimensions : {"3,4,64", "12,1,64", "2,2,3,64"}) {
    const std::string d = dimensions, kept = d.substr(0, d.rfind(','));
    const auto rank = std::ranges::count(d, ',');
    std::string all;
    for (int64_t i = 0; i < rank; ++i) all += (i > 0 ? "," : "") + std::to_string(i);
    Expect(std::string(kReducers) +
               fmt::format("ENTRY e {{ x = f32[12,64] parameter(0)  b = f32[12,64] parameter(1)\n"
                           "lowest = f32[] constant(-inf)  zero = f32[] constant(0)  a = f32[12,64] add(x, b)\n"
                           "m = f32[12] reduce(a, lowest), dimensions={{1}}, to_apply=max\n"
                           "mb = f32[12,64] broadcast(m), dimensions={{0}}  s = f32[12,64] subtract(a, mb)\n"
                           "s3 = f32[{0}] reshape(s)  p = f32[{0}] exponential(s3)\n"
                           "z = f32[{1}] reduce(p, zero), dimensions={{{2}}}, to_apply=add\n"
                           "zb = f32[{0}] broadcast(z), dimensions={{{3}}}  ROOT y = f32[{0}] divide(p, zb) }}",
                           d, kept, rank, all),
           1);
  }
}

TEST(RowProgramTest, ABiasComputedOverTheReshapedRowsJoinsSoftmax) {
  Expect(std::string(kReducers) +
             R"(ENTRY e { x = f32[3,4,50] parameter(0)  b = f32[12,50] parameter(1)  c = f32[12,50] parameter(2)
    lowest = f32[] constant(-inf)  zero = f32[] constant(0)
    bc = f32[12,50] multiply(b, c)  bias = f32[3,4,50] reshape(bc)  a = f32[3,4,50] add(x, bias)
    m = f32[3,4] reduce(a, lowest), dimensions={2}, to_apply=max  m1 = f32[12] reshape(m)
    mb = f32[12,50] broadcast(m1), dimensions={0}  a1 = f32[12,50] reshape(a)  s = f32[12,50] subtract(a1, mb)
    p = f32[12,50] exponential(s)  z = f32[12] reduce(p, zero), dimensions={1}, to_apply=add
    zb = f32[12,50] broadcast(z), dimensions={0}  y = f32[12,50] divide(p, zb)  ROOT r = f32[3,4,50] reshape(y) })",
         1);
}

// The fusions of a program with a loop, each failing: every kernel is of one instruction, and the numbers are right.
TEST(EpilogueTest, AFaultInLoweringUnfusesAndTheNumbersAreRight) {
  const std::string text = std::string(kReducers) + R"(
body { p = (s32[], f32[5,7]) parameter(0)  i = s32[] get-tuple-element(p), index=0  x = f32[5,7] get-tuple-element(p), index=1
  one = s32[] constant(1)  j = s32[] add(i, one)  lowest = f32[] constant(-inf)  m = f32[5] reduce(x, lowest), dimensions={1}, to_apply=max
  b = f32[5,7] broadcast(m), dimensions={0}  s = f32[5,7] subtract(x, b)  t = f32[5,7] tanh(s)  ROOT r = (s32[], f32[5,7]) tuple(j, t) }
until { p = (s32[], f32[5,7]) parameter(0)  i = s32[] get-tuple-element(p), index=0  n = s32[] constant(3)  ROOT c = pred[] compare(i, n), direction=LT }
ENTRY e { x = f32[5,4] parameter(0)  y = f32[4,7] parameter(1)
  d = f32[5,7] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}  n = f32[5,7] negate(d)  z = s32[] constant(0)
  t = (s32[], f32[5,7]) tuple(z, n)  w = (s32[], f32[5,7]) while(t), condition=until, body=body  o = f32[5,7] get-tuple-element(w), index=1
  ROOT r = (f32[5,7], f32[5,7]) tuple(o, d) })";
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  const std::vector<Literal> arguments = RandomArguments(*module);
  const auto expected = RunOnCpu(*module, arguments);
  std::vector<const Literal*> pointers;
  for (const Literal& argument : arguments) pointers.push_back(&argument);
  for (const BindingMode mode : ModesToRun()) {
    Client* client = DeviceClient(mode);
    ASSERT_NE(client, nullptr);
    const auto device = std::make_shared<FaultyDevice>(
        client->device(), [](const Instruction& i) { return i.opcode() == Opcode::kFusion && HoldsSeveral(i); });
    Client faulty(device, [](const Instruction&, std::span<const Literal* const>) -> Result<Literal> {
      return Unsupported("nothing runs on the host");
    });
    const auto executable = faulty.Compile(*module);
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    EXPECT_EQ((*executable)->plan().faults.size(), 2u) << ToText((*executable)->plan());
    const auto actual = (*executable)->Run(pointers);
    ASSERT_TRUE(actual.ok()) << actual.status().message();
    ExpectAgreement(*actual, *expected, {}, "unfused");
  }
}

}  // namespace epilogue_test
}  // namespace VXLA_NAMESPACE::testing
