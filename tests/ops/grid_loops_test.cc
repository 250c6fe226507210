// Whiles in cooperative workgroups, with barriers of the whole grid (control_flow/grid_loop.comp).
#include <gmock/gmock.h>

#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace grid_loops_test {

struct GridProgram {
  std::string name, text;
};

// Bodies of a counted loop over three arrays, x, y and m, with its counter i and its next one j.
std::string Counted(const std::string& type, int rows, int columns, int trips, const std::string& body) {
  const std::string row = fmt::format("{}[{}]", type, rows), matrix = fmt::format("{}[{},{}]", type, rows, columns),
                    state = fmt::format("(s32[], {}, {}, {})", row, row, matrix);
  return fmt::format(
      "HloModule loop\n"
      "add {{ a = {4}[] parameter(0)  b = {4}[] parameter(1)  ROOT r = {4}[] add(a, b) }}\n"
      "less {{ a = {4}[] parameter(0)  b = {4}[] parameter(1)  ROOT r = pred[] compare(a, b), direction=LT }}\n"
      "go {{ s = {0} parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant({5})\n"
      "  ROOT r = pred[] compare(i, n), direction=LT }}\n"
      "step {{ s = {0} parameter(0)  i = s32[] get-tuple-element(s), index=0  x = {1} get-tuple-element(s), index=1\n"
      "  y = {1} get-tuple-element(s), index=2  m = {2} get-tuple-element(s), index=3  one = s32[] constant(1)\n"
      "  j = s32[] add(i, one)  none = {4}[] constant(0)\n{3}  ROOT r = {0} tuple(j, nx, ny, nm) }}\n"
      "ENTRY e {{ x = {1} parameter(0)  y = {1} parameter(1)  m = {2} parameter(2)  z = s32[] constant(0)\n"
      "  s = {0} tuple(z, x, y, m)  ROOT w = {0} while(s), condition=go, body=step }}\n",
      state, row, matrix, body, type, trips);
}

std::vector<GridProgram> Programs() {
  // Rows of m, of as many elements as x, sum up; x turns round, so that every lane reads others' elements.
  const std::string sums = R"(
  b = f32[300,300] broadcast(x), dimensions={1}  p = f32[300,300] multiply(m, b)
  q = f32[300] reduce(p, none), dimensions={1}, to_apply=add  k = f32[] constant(0.01)
  kb = f32[300] broadcast(k), dimensions={}  h = f32[300] multiply(q, kb)  nx = f32[300] tanh(h)
  ny = f32[300] reverse(nx), dimensions={0}  nm = f32[300,300] transpose(m), dimensions={1,0}
)";
  // A product, whose sums follow what is joined to them, and a stacked row.
  const std::string product = R"(
  d = f32[64] dot(m, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}  k = f32[] constant(0.03)
  kb = f32[64] broadcast(k), dimensions={}  h = f32[64] multiply(d, kb)  g = f32[64] add(h, x)  nx = f32[64] tanh(g)
  ny = f32[64] add(nx, y)  u = f32[1,64] reshape(nx)  zero = s32[] constant(0)
  nm = f32[64,64] dynamic-update-slice(m, u, i, zero)
)";
  // What one workgroup does: sorted rows and running sums; a sum of all that every lane needs.
  const std::string alone = R"(
  o = f32[700] sort(x), dimensions={0}, to_apply=less  t = f32[] reduce(o, none), dimensions={0}, to_apply=add
  tb = f32[700] broadcast(t), dimensions={}  k = f32[] constant(0.001)  kb = f32[700] broadcast(k), dimensions={}
  c = f32[700] multiply(tb, kb)  v = f32[700] subtract(o, c)  nx = f32[700] reverse(v), dimensions={0}
  ny = f32[700] reduce-window(y, none), window={size=700 pad=699_0}, to_apply=add
  nm = f32[700,3] negate(m)
)";
  // Elements of which four are a word, and a table that indices choose from.
  const std::string narrow = R"(
  f = u8[37] reverse(x), dimensions={0}  g = u8[37] add(f, y)  b = u8[37,5] broadcast(g), dimensions={0}
  nm = u8[37,5] xor(m, b)  q = u8[37] reduce(nm, none), dimensions={1}, to_apply=add  nx = u8[37] add(q, g)
  w = u32[37] convert(q)  l = u32[] constant(37)  lb = u32[37] broadcast(l), dimensions={}  at = u32[37] remainder(w, lb)
  a2 = u32[37,1] reshape(at)
  ny = u8[37] gather(nx, a2), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}
)";
  const std::string words = R"(
  f = s64[129] reverse(x), dimensions={0}  b = s64[129,2] broadcast(f), dimensions={0}  nm = s64[129,2] add(m, b)
  q = s64[129] reduce(nm, none), dimensions={1}, to_apply=add  nx = s64[129] xor(q, y)  ny = s64[129] subtract(y, f)
)";
  std::vector<GridProgram> programs = {{"Sums", Counted("f32", 300, 300, 20, sums)},
                                       {"Product", Counted("f32", 64, 64, 20, product)},
                                       {"OfOneGroup", Counted("f32", 700, 3, 3, alone)},
                                       {"Narrow", Counted("u8", 37, 5, 5, narrow)},
                                       {"Words", Counted("s64", 129, 2, 3, words)}};
  // An end that depends on all elements, an inner loop, and branches.
  programs.push_back({"Data", R"(HloModule data
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
go { s = (s32[], f32[1500]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  x = f32[1500] get-tuple-element(s), index=1  z = f32[] constant(0)  a = f32[1500] abs(x)
  t = f32[] reduce(a, z), dimensions={0}, to_apply=add  k = f32[] constant(40)  more = pred[] compare(t, k), direction=GT
  n = s32[] constant(50)  few = pred[] compare(i, n), direction=LT  ROOT r = pred[] and(more, few) }
within { s = (s32[], f32[1500]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(3)
  ROOT r = pred[] compare(i, n), direction=LT }
turn { s = (s32[], f32[1500]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  x = f32[1500] get-tuple-element(s), index=1  one = s32[] constant(1)  j = s32[] add(i, one)
  v = f32[1500] reverse(x), dimensions={0}  k = f32[] constant(0.9)  kb = f32[1500] broadcast(k), dimensions={}
  y = f32[1500] multiply(v, kb)  ROOT r = (s32[], f32[1500]) tuple(j, y) }
even { x = f32[1500] parameter(0)  v = f32[1500] reverse(x), dimensions={0}  ROOT r = f32[1500] negate(v) }
odd { x = f32[1500] parameter(0)  ROOT r = f32[1500] abs(x) }
step { s = (s32[], f32[1500]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  x = f32[1500] get-tuple-element(s), index=1  z = s32[] constant(0)  one = s32[] constant(1)  j = s32[] add(i, one)
  inner = (s32[], f32[1500]) tuple(z, x)  t = (s32[], f32[1500]) while(inner), condition=within, body=turn
  y = f32[1500] get-tuple-element(t), index=1  bit = s32[] and(i, one)
  c = f32[1500] conditional(bit, y, y), branch_computations={even, odd}  ROOT r = (s32[], f32[1500]) tuple(j, c) }
ENTRY e { x = f32[1500] parameter(0)  z = s32[] constant(0)  s = (s32[], f32[1500]) tuple(z, x)
  ROOT w = (s32[], f32[1500]) while(s), condition=go, body=step }
)"});
  return programs;
}

class GridLoopsTest : public ::testing::TestWithParam<std::tuple<GridProgram, BindingMode>> {
 protected:
  // Of a GPU that lets workgroups wait for each other; kept, as drivers may be unloaded before static objects go.
  static Client* ClientOf(BindingMode mode) {
    static auto* clients = new std::map<BindingMode, std::unique_ptr<Client>>;
    std::unique_ptr<Client>& client = (*clients)[mode];
    if (client != nullptr) return client.get();
    vulkan::OpenOptions options = TestOptions(mode);
    options.emulate.gpu = options.emulate.grid = true;
    options.emulate.family = GpuFamily::kNvidia;
    auto device = OpenTestDevice(options);
    EXPECT_TRUE(device.ok()) << device.status().message();
    if (device.ok()) client = MakeTestClient(*device);
    return client.get();
  }
};

TEST_P(GridLoopsTest, HasTheSameResultsHoweverManyTakePart) {
  const auto& [program, mode] = GetParam();
  Client* const client = ClientOf(mode);
  ASSERT_NE(client, nullptr);
  const DeviceFacts& facts = client->device().facts();
  if (facts.quirks.loop_iteration_limit != 0) GTEST_SKIP() << facts.name << " ends loops that wait";
  const auto module = ParseModule(program.text);
  ASSERT_NE(module, nullptr);
  const std::vector<Literal> arguments = RandomArguments(*module, 0, Fill::kSmall);
  std::vector<const Literal*> pointers;
  for (const Literal& argument : arguments) pointers.push_back(&argument);
  const auto executable = client->Compile(*module);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  const auto& kernels = (*executable)->plan().kernels;
  EXPECT_TRUE(std::ranges::any_of(
      kernels, [](const KernelKey& kernel) { return kernel.algorithm == "control_flow/grid_loop.comp"; }));
  const auto expected = RunOnCpu(*module, arguments);
  ASSERT_TRUE(expected);
  const auto first = (*executable)->Run(pointers);
  ASSERT_TRUE(first.ok()) << first.status().message();
  ExpectAgreement(*first, *expected, {}, program.name);
  // Which workgroups come in time differs from run to run.
  for (int run = 0; run < 3; ++run) {
    const auto again = (*executable)->Run(pointers);
    ASSERT_TRUE(again.ok()) << again.status().message();
    ExpectAgreement(*again, *first, {.tolerance = Tolerance{}}, program.name);
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, GridLoopsTest,
                         ::testing::Combine(::testing::ValuesIn(Programs()),
                                            ::testing::Values(BindingMode::kAddresses, BindingMode::kDescriptors)),
                         [](const auto& info) {
                           return std::get<0>(info.param).name +
                                  (std::get<1>(info.param) == BindingMode::kAddresses ? "Addresses" : "Descriptors");
                         });

}  // namespace grid_loops_test
}  // namespace VXLA_NAMESPACE::testing
