// Whiles in cooperative workgroups, with barriers of the whole grid (control_flow/grid_loop.comp).
#include <gmock/gmock.h>

#include "backend/vulkan/lower/whiles/groups.h"
#include "scheduler/plan/plan.h"
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
      "last {{ a = {4}[] parameter(0)  ROOT r = {4}[] parameter(1) }}\n"
      "most {{ a = {4}[] parameter(0)  b = {4}[] parameter(1)  ROOT r = {4}[] maximum(a, b) }}\n"
      "mix {{ a = {4}[] parameter(0)  b = {4}[] parameter(1)  c = {4}[] add(a, a)  ROOT r = {4}[] subtract(b, c) }}\n"
      "least {{ a = {4}[] parameter(0)  b = {4}[] parameter(1)  ROOT r = pred[] compare(a, b), direction=GE }}\n"
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

// Scatters whose updates, or elements, all workgroups share.
std::vector<GridProgram> Scatters() {
  // So many indices of rows: each a multiple of the factor, turned by i.
  const auto indices = [](int count, int rows, int factor) {
    return fmt::format(R"(
  n = s32[{0}] iota(), iota_dimension=0  f = s32[] constant({2})  fb = s32[{0}] broadcast(f), dimensions={{}}
  nf = s32[{0}] multiply(n, fb)  ib = s32[{0}] broadcast(i), dimensions={{}}  ni = s32[{0}] add(nf, ib)
  l = s32[] constant({1})  lb = s32[{0}] broadcast(l), dimensions={{}}  t1 = s32[{0}] remainder(ni, lb)
  at = s32[{0},1] reshape(t1)
)",
                       count, rows, factor);
  };
  const std::string
      one = "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1",
      row = "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1",
      column = "update_window_dims={1}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, index_vector_dim=1";
  // Atomics in any order, and windows that the program says are apart.
  const std::string atomic = indices(700, 700, 7) + fmt::format(R"(
  nx = s32[700] scatter(x, at, y), {0}, to_apply=add  ny = s32[700] scatter(y, at, x), {0}, to_apply=most
  th = s32[] constant(3)  tb = s32[700] broadcast(th), dimensions={{}}  nt = s32[700] multiply(n, tb)
  nti = s32[700] add(nt, ib)  t2 = s32[700] remainder(nti, lb)  at2 = s32[700,1] reshape(t2)
  b = s32[700,3] broadcast(x), dimensions={{0}}
  nm = s32[700,3] scatter(m, at2, b), {1}, unique_indices=true, to_apply=last
)",
                                                                one, row);
  // Sums of floats, as integers.
  const std::string sums = indices(3000, 150, 7) + fmt::format(R"(
  k = f32[] constant(0.01)  kb = f32[150,20] broadcast(k), dimensions={{}}  mk = f32[150,20] multiply(m, kb)
  u = f32[3000] reshape(mk)  nx = f32[150] scatter(x, at, u), {0}, to_apply=add  ny = f32[150] add(y, nx)
  nm = f32[150,20] negate(m)
)",
                                                               one);
  // Equal indices are neighbours: the last of a run, or a lane that goes through it; few windows, one after another.
  const std::string sorted = fmt::format(R"(
  n = s32[700] iota(), iota_dimension=0  h = s32[] constant(2)  hb = s32[700] broadcast(h), dimensions={{}}
  half = s32[700] divide(n, hb)  ib = s32[700] broadcast(i), dimensions={{}}  hi = s32[700] add(half, ib)
  at = s32[700,1] reshape(hi)  nx = f32[700] scatter(x, at, y), {0}, indices_are_sorted=true, to_apply=last
  ny = f32[700] scatter(y, at, x), {0}, indices_are_sorted=true, to_apply=mix
  c = s32[20,1] iota(), iota_dimension=0  th = s32[] constant(3)  tb = s32[20,1] broadcast(th), dimensions={{}}
  ct = s32[20,1] remainder(c, tb)  u = f32[20,700] broadcast(x), dimensions={{1}}
  nm = f32[700,3] scatter(m, ct, u), {1}, to_apply=mix
)",
                                         one, column);
  // Many for each element, which goes through its run, or adds up parts of it.
  const std::string places = fmt::format(R"(
  n = s32[5000] iota(), iota_dimension=0  h = s32[] constant(100)  hb = s32[5000] broadcast(h), dimensions={{}}
  hi = s32[5000] divide(n, hb)  at = s32[5000,1] reshape(hi)  u = f32[5000] reshape(m)
  k = f32[] constant(0.001)  kb = f32[5000] broadcast(k), dimensions={{}}  uk = f32[5000] multiply(u, kb)
  nx = f32[50] scatter(x, at, uk), {0}, indices_are_sorted=true, to_apply=add
  q = f32[500] slice(uk), slice={{[0:500]}}  a0 = s32[500,1] slice(at), slice={{[0:500], [0:1]}}
  ny = f32[50] scatter(y, a0, q), {0}, indices_are_sorted=true, to_apply=mix
  nm = f32[50,100] negate(m)
)",
                                         one);
  // Four elements are a word.
  const std::string narrow = indices(185, 37, 5) + fmt::format(R"(
  u = u8[185] reshape(m)  nx = u8[37] scatter(x, at, u), {0}, to_apply=add
  ny = u8[37] scatter(y, at, u), {0}, to_apply=most  nm = u8[37,5] not(m)
)",
                                                               one);
  return {{"ScatterAtomic", Counted("s32", 700, 3, 5, atomic)},
          {"ScatterSums", Counted("f32", 150, 20, 5, sums)},
          {"ScatterSorted", Counted("f32", 700, 3, 5, sorted)},
          {"ScatterPlaces", Counted("f32", 50, 100, 5, places)},
          {"ScatterNarrow", Counted("u8", 37, 5, 5, narrow)}};
}

// Units whose lanes wait for each other: their rows are shared out, or all workgroups wait.
std::vector<GridProgram> Families() {
  const std::string sorts = R"(
  o = f32[64,40] sort(m), dimensions={1}, to_apply=less  nm = f32[64,40] reverse(o), dimensions={0,1}
  v = f32[64] sort(x), dimensions={0}, to_apply=less  p = (f32[64,8], s32[64,8]) topk(m), k=8, largest=true
  p0 = f32[64,8] get-tuple-element(p), index=0  p1 = s32[64,8] get-tuple-element(p), index=1
  pf = f32[64,8] convert(p1)  q = f32[64,8] add(p0, pf)  ny = f32[64] reduce(q, none), dimensions={1}, to_apply=add
  k = f32[] constant(0.1)  kb = f32[64] broadcast(k), dimensions={}  yk = f32[64] multiply(y, kb)  nx = f32[64] add(v, yk)
)";
  const std::string columns = R"(
  k = f32[] constant(0.01)  kb = f32[128,16] broadcast(k), dimensions={}  mk = f32[128,16] multiply(m, kb)
  b = f32[8,16,16] reshape(mk)
  g = f32[8,16,16] dot(b, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}
  ri = s32[16,16] iota(), iota_dimension=0  c = s32[16,16] iota(), iota_dimension=1  d = pred[16,16] compare(ri, c), direction=EQ
  df = f32[16,16] convert(d)  db = f32[8,16,16] broadcast(df), dimensions={1,2}  a = f32[8,16,16] add(g, db)
  l = f32[8,16,16] cholesky(a), lower=true  h = f32[8,16,1] reshape(x)
  w = f32[8,16,1] triangular-solve(l, h), left_side=true, lower=true, unit_diagonal=false, transpose_a=NO_TRANSPOSE
  nx = f32[128] reshape(w)  a1 = f32[1,16,16] slice(a), slice={[0:1], [0:16], [0:16]}  a2 = f32[16,16] reshape(a1)
  l2 = f32[16,16] cholesky(a2), lower=false  y1 = f32[16,8] reshape(y)
  w2 = f32[16,8] triangular-solve(l2, y1), left_side=true, lower=false, unit_diagonal=false, transpose_a=NO_TRANSPOSE
  ny = f32[128] reshape(w2)  nm = f32[128,16] reshape(l)
)";
  const std::string transforms = R"(
  z = c64[67,24] complex(m, m)  o = c64[67,24] fft(z), fft_type=FFT, fft_length={24}
  t = c64[67,24] fft(o), fft_type=IFFT, fft_length={67,24}  re = f32[67,24] real(t)  im = f32[67,24] imag(o)
  k = f32[] constant(0.01)  kb = f32[67,24] broadcast(k), dimensions={}  ik = f32[67,24] multiply(im, kb)
  nm = f32[67,24] add(re, ik)  e = c64[34] fft(x), fft_type=RFFT, fft_length={67}
  f = c64[34] negate(e)  nx = f32[67] fft(f), fft_type=IRFFT, fft_length={67}  ny = f32[67] add(y, nx)
)";
  // From the end, and of a row so long that blocks of its stretches have totals.
  const std::string running = R"(
  u = f32[6000] reshape(m)  o = f32[6000] reduce-window(u, none), window={size=6000 pad=0_5999}, to_apply=add
  p = f32[6000] reduce-window(u, none), window={size=6000 pad=5999_0}, to_apply=most  q = f32[6000] add(o, p)
  k = f32[] constant(0.01)  kb = f32[6000] broadcast(k), dimensions={}  qk = f32[6000] multiply(q, kb)
  nm = f32[60,100] reshape(qk)  nx = f32[60] reduce-window(x, none), window={size=60 pad=59_0}, to_apply=add
  ny = f32[60] add(y, nx)
)";
  const std::string windows = R"(
  o = f32[64,40] reduce-window(m, none), window={size=1x40 pad=0_0x39_0}, to_apply=add
  k = f32[] constant(0.1)  kb = f32[64,40] broadcast(k), dimensions={}  nm = f32[64,40] multiply(o, kb)
  h = f32[32] slice(x), slice={[0:32]}
  ny = f32[64] select-and-scatter(y, h, none), window={size=2 stride=2}, select=least, scatter=add
  nx = f32[64] negate(x)
)";
  return {{"Sorts", Counted("f32", 64, 40, 3, sorts)},
          {"Columns", Counted("f32", 128, 16, 3, columns)},
          {"Transforms", Counted("f32", 67, 24, 3, transforms)},
          {"Running", Counted("f32", 60, 100, 3, running)},
          {"Windows", Counted("f32", 64, 40, 3, windows)}};
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
  // A sorted row, running sums of one row, and a sum of all that every lane needs.
  const std::string row = R"(
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
                                       {"OneRow", Counted("f32", 700, 3, 3, row)},
                                       {"Narrow", Counted("u8", 37, 5, 20, narrow)},
                                       {"Words", Counted("s64", 129, 2, 18, words)}};
  for (GridProgram& more : Scatters()) programs.push_back(std::move(more));
  for (GridProgram& more : Families()) programs.push_back(std::move(more));
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
  // The step tells which units one workgroup does: none.
  EXPECT_TRUE(std::ranges::any_of((*executable)->plan().steps, [](const Step& step) {
    return step.name.find(" shared out)") != std::string::npos;
  }));
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

// A loop whose product is for many workgroups, and a sort that takes one of them less time than they would wait.
TEST(LoopSharingTest, TellsWhatIsTooShort) {
  vulkan::OpenOptions options = TestOptions(ModesToRun().back());
  options.emulate.gpu = true;
  options.emulate.family = GpuFamily::kNvidia;
  auto device = OpenTestDevice(options);
  ASSERT_TRUE(device.ok()) << device.status().message();
  const auto client = MakeTestClient(*device);
  const DeviceFacts& facts = client->device().facts();
  if (facts.quirks.loop_iteration_limit != 0) GTEST_SKIP() << facts.name << " ends loops that wait";
  const auto module = ParseModule(Counted("f32", 600, 600, 5, R"(
  d = f32[600] dot(m, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}  nx = f32[600] tanh(d)
  h = f32[40] slice(nx), slice={[0:40]}  o = f32[40] sort(h), dimensions={0}, to_apply=less
  z = s32[] constant(0)  ny = f32[600] dynamic-update-slice(nx, o, z)  nm = f32[600,600] negate(m)
)"));
  ASSERT_NE(module, nullptr);
  const auto executable = client->Compile(*module);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  EXPECT_TRUE(std::ranges::any_of((*executable)->plan().steps, [](const Step& step) {
    return step.name.find(" shared out, 1 too short to be: o)") != std::string::npos;
  }));
}

// As GPUs have it, which offset addresses by bytes; compiled only, as lavapipe 22 ends loops that wait.
TEST(LoopSharingTest, CompilesWithOffsetsInBytes) {
  vulkan::OpenOptions options = TestOptions(BindingMode::kAddresses);
  options.emulate.gpu = options.emulate.grid = true;
  options.emulate.family = GpuFamily::kNvidia;
  const auto device = OpenTestDevice(options, {}, [](DeviceFacts& facts) {
    facts.quirks.vectors_of_addresses = false;
    facts.quirks.loop_iteration_limit = 0;
  });
  ASSERT_TRUE(device.ok()) << device.status().message();
  const auto client = MakeTestClient(*device);
  if (!client->device().facts().int64) GTEST_SKIP() << "its addresses are pairs of words";
  const auto module = ParseModule(Programs().front().text);
  ASSERT_NE(module, nullptr);
  const auto executable = client->Compile(*module);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  EXPECT_TRUE(std::ranges::any_of((*executable)->plan().kernels, [](const KernelKey& kernel) {
    return kernel.algorithm == "control_flow/grid_loop.comp";
  }));
}

// Of 100 workgroups: rows where there are many, all elements where waiting for all takes less than one would.
TEST(LoopSharingTest, SharesOutWhatPays) {
  DeviceFacts facts;
  facts.compute_units = 100;
  const auto sharing = [&](int64_t operations, int64_t waits, int64_t rows) {
    vulkan::LoopUnitNeeds needs;
    needs.operations = operations;
    needs.waits = waits;
    needs.rows = rows;
    return vulkan::SharingOf(facts, needs);
  };
  EXPECT_EQ(sharing(1000, 0, 1), vulkan::LoopSharing::kElements);
  EXPECT_EQ(sharing(1000, 10, 1), vulkan::LoopSharing::kAlone);
  EXPECT_EQ(sharing(1'000'000, 10, 1), vulkan::LoopSharing::kElements);
  EXPECT_EQ(sharing(1'000'000, 10, 2), vulkan::LoopSharing::kElements);
  EXPECT_EQ(sharing(1'000'000, 10, 100), vulkan::LoopSharing::kRows);
  EXPECT_EQ(sharing(1000, 10, 2), vulkan::LoopSharing::kRows);
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
