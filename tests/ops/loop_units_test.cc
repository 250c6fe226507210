// Sorts, factorizations, substitutions, windows and convolutions inside loops that one workgroup runs.
#include <gmock/gmock.h>

#include "scheduler/plan/plan.h"
#include "scheduler/plan/plan_printer.h"
#include "tests/support/device_test_support.h"
#include "tests/support/gpu_client.h"
#include "tests/support/loop_text.h"

namespace VXLA_NAMESPACE::testing {
namespace loop_units_test {

using loop_text::Loop;
using ::testing::HasSubstr;
using ::testing::Not;

RunOptions OneDispatch(Tolerance tolerance = {}) {
  RunOptions options;
  options.tolerance = tolerance;
  options.dispatches = 1;
  return options;
}

void Check(const std::string& text, const RunOptions& options = OneDispatch(), uint64_t seed = 3) {
  SCOPED_TRACE(text);
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  RunBoth(text, RandomArguments(*module, seed), options);
}

std::string Less(const std::string& type, const std::string& rest = "direction=LT") {
  return fmt::format("less {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT c = pred[] compare(a, b), {1} }}\n",
                     type, rest);
}

// x2 is x sorted, what was the last a little less, so that each trip has something to do.
std::string Sorted(const std::string& shape, int dimension) {
  return fmt::format(
      "  t = {0} sort(x), dimensions={{{1}}}, to_apply=less\n  x2 = {0} reverse(t), dimensions={{{1}}}\n"
      "  y2 = {0} sort(y), dimensions={{{1}}}, to_apply=less",
      shape, dimension);
}

TEST(LoopSortTest, RowsOfEveryLengthAndDimension) {
  for (const auto& [shape, dimension] :
       {std::pair{"f32[2]", 0}, std::pair{"f32[7]", 0}, std::pair{"f32[32]", 0}, std::pair{"f32[33]", 0},
        std::pair{"f32[128]", 0}, std::pair{"f32[201]", 0}, std::pair{"f32[5,19]", 1}, std::pair{"f32[40,3]", 0},
        std::pair{"f32[2,37,3]", 1}}) {
    Check(Loop(shape, shape, Sorted(shape, dimension), Less("f32")));
  }
}

TEST(LoopSortTest, EveryType) {
  for (const char* type : {"f16", "bf16", "f64", "s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64", "pred"}) {
    const std::string shape = fmt::format("{}[41]", type);
    Check(Loop(shape, shape, Sorted(shape, 0), Less(type)));
  }
}

TEST(LoopSortTest, SeveralOperandsKeepTheOrderOfEqualOnes) {
  for (const int count : {20, 90}) {
    const std::string body = fmt::format(
        R"(  few = f32[{0}] round-nearest-even(x)
  at = s32[{0}] iota(), iota_dimension=0
  t = (f32[{0}], s32[{0}], f32[{0}]) sort(few, at, y), dimensions={{0}}, is_stable=true, to_apply=by_key
  order = s32[{0}] get-tuple-element(t), index=1
  z = f32[{0}] convert(order)
  k = f32[{0}] get-tuple-element(t), index=0
  m = f32[{0}] get-tuple-element(t), index=2
  x2 = f32[{0}] add(m, k)
  y2 = f32[{0}] add(z, k))",
        count);
    const std::string functions =
        "by_key { a = f32[] parameter(0)  b = f32[] parameter(1)  c = s32[] parameter(2)  d = s32[] parameter(3)\n"
        "  e = f32[] parameter(4)  f = f32[] parameter(5)  ROOT r = pred[] compare(a, b), direction=GT, "
        "type=TOTALORDER }\n";
    Check(Loop(fmt::format("f32[{}]", count), fmt::format("f32[{}]", count), body, functions));
  }
}

TEST(LoopSortTest, AComparatorThatIsNoOrderOfKeys) {
  const std::string functions =
      "less { a = s32[] parameter(0)  b = s32[] parameter(1)  seven = s32[] constant(7)\n"
      "  p = s32[] remainder(a, seven)  q = s32[] remainder(b, seven)\n"
      "  not_less = pred[] compare(p, q), direction=GE  ROOT r = pred[] not(not_less) }\n";
  Check(Loop("s32[70]", "s32[70]", Sorted("s32[70]", 0), functions));
  const std::string complex =
      "less { a = c64[] parameter(0)  b = c64[] parameter(1)  c = f32[] real(a)  d = f32[] real(b)\n"
      "  not_less = pred[] compare(c, d), direction=GE  ROOT r = pred[] not(not_less) }\n";
  Check(Loop("c64[1,12]", "c64[1,12]", Sorted("c64[1,12]", 1), complex));
}

TEST(LoopSortTest, TopK) {
  for (const auto& [length, k] : {std::pair{12, 3}, std::pair{100, 7}, std::pair{64, 64}}) {
    const std::string body = fmt::format(
        R"(  t = (f32[3,{1}], s32[3,{1}]) topk(x), k={1}, largest=true
  v = f32[3,{1}] get-tuple-element(t), index=0
  p = s32[3,{1}] get-tuple-element(t), index=1
  q = f32[3,{1}] convert(p)
  y2 = f32[3,{1}] add(v, q)
  x2 = f32[3,{0}] negate(x))",
        length, k);
    Check(Loop(fmt::format("f32[3,{}]", length), fmt::format("f32[3,{}]", k), body));
  }
}

// Of positive definite matrices: x x^T / n + 2.
std::string Definite(const std::string& type, int batch, int n) {
  const std::string shape = fmt::format("{}[{},{},{}]", type, batch, n, n);
  const bool complex = type[0] == 'c';
  const std::string part = type == "c64" ? "f32" : "f64", parts = fmt::format("{}[{},{},{}]", part, batch, n, n);
  std::string text;
  if (complex) {
    text =
        fmt::format("  re = {1} real(x)\n  im = {1} imag(x)\n  back = {1} negate(im)\n  conj = {0} complex(re, back)\n",
                    shape, parts);
  }
  text += fmt::format(
      R"(  g = {0} dot(x, {1}), lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, lhs_contracting_dims={{2}}, rhs_contracting_dims={{2}}
  row = s32[{2},{3},{3}] iota(), iota_dimension=1
  column = s32[{2},{3},{3}] iota(), iota_dimension=2
  same = pred[{2},{3},{3}] compare(row, column), direction=EQ
  two = {4}[] constant({5})
  none = {4}[] constant({6})
  twos = {0} broadcast(two), dimensions={{}}
  nones = {0} broadcast(none), dimensions={{}}
  ridge = {0} select(same, twos, nones)
  size = {4}[] constant({7})
  sizes = {0} broadcast(size), dimensions={{}}
  h = {0} divide(g, sizes)
  a = {0} add(h, ridge)
)",
      shape, complex ? "conj" : "x", batch, n, type, complex ? "(2, 0)" : "2", complex ? "(0, 0)" : "0",
      complex ? fmt::format("({}, 0)", n) : std::to_string(n));
  return text;
}

TEST(LoopLinalgTest, CholeskyOfEverySizeAndType) {
  for (const auto& [type, batch, n] : {std::tuple{"f32", 1, 1}, std::tuple{"f32", 1, 2}, std::tuple{"f32", 3, 5},
                                       std::tuple{"f32", 1, 17}, std::tuple{"f64", 1, 6}, std::tuple{"c64", 2, 7},
                                       std::tuple{"c128", 1, 4}, std::tuple{"f16", 1, 9}, std::tuple{"bf16", 2, 4}}) {
    for (const bool lower : {true, false}) {
      const std::string shape = fmt::format("{}[{},{},{}]", type, batch, n, n);
      const std::string body = Definite(type, batch, n) +
                               fmt::format("  y2 = {0} cholesky(a), lower={1}\n  x2 = {0} add(x, y2)", shape, lower);
      const bool narrow = std::string(type) == "f16" || std::string(type) == "bf16";
      Check(Loop(shape, shape, body), OneDispatch({.rtol = narrow ? 3e-2 : 1e-4, .atol = narrow ? 3e-2 : 1e-4}));
    }
  }
}

TEST(LoopLinalgTest, WhatIsNotPositiveSpreads) {
  const std::string shape = "f32[2,3,3]";
  Check(Loop(shape, shape, "  y2 = f32[2,3,3] cholesky(x), lower=true\n  x2 = f32[2,3,3] negate(x)"),
        OneDispatch({.rtol = 1e-5, .atol = 1e-5}));
}

TEST(LoopLinalgTest, TriangularSolvesOfEveryFlagTypeAndNumberOfSides) {
  for (const char* transpose : {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"}) {
    for (const bool left : {true, false}) {
      for (const bool lower : {true, false}) {
        for (const auto& [type, batch, n, sides] :
             {std::tuple{"f32", 1, 1, 1}, std::tuple{"f32", 1, 9, 1}, std::tuple{"f32", 2, 4, 11},
              std::tuple{"c64", 2, 5, 1}, std::tuple{"bf16", 1, 6, 1}, std::tuple{"f16", 1, 5, 9}}) {
          const std::string shape = fmt::format("{}[{},{},{}]", type, batch, n, n);
          const std::string side = fmt::format("{}[{},{},{}]", type, batch, left ? n : sides, left ? sides : n);
          const std::string body =
              Definite(type, batch, n) +
              fmt::format(
                  "  y2 = {0} triangular-solve(a, y), left_side={1}, lower={2}, unit_diagonal={3}, transpose_a={4}\n"
                  "  x2 = {5} negate(x)",
                  side, left, lower, n == 9, transpose, shape);
          const bool narrow = std::string(type) == "f16" || std::string(type) == "bf16";
          Check(Loop(shape, side, body), OneDispatch({.rtol = narrow ? 5e-2 : 1e-4, .atol = narrow ? 5e-2 : 1e-4}));
        }
      }
    }
  }
}

std::string Adds(const std::string& type, const std::string& name = "sum", const std::string& operation = "add") {
  return fmt::format("{1} {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT c = {0}[] {2}(a, b) }}\n", type, name,
                     operation);
}

TEST(LoopWindowTest, RunningSumsOfEveryLengthAndDirection) {
  for (const auto& [rows, length] : {std::pair{1, 5}, std::pair{1, 131}, std::pair{3, 64}, std::pair{50, 7}}) {
    for (const bool reverse : {false, true}) {
      for (const char* type : {"f32", "s32", "f16", "f64"}) {
        const std::string shape = fmt::format("{}[{},{}]", type, rows, length);
        const std::string window =
            fmt::format("{{size=1x{0} pad=0_0x{1}}}", length,
                        reverse ? fmt::format("0_{}", length - 1) : fmt::format("{}_0", length - 1));
        const std::string body = fmt::format(
            "  zero = {1}[] constant(0)\n  t = {0} reduce-window(x, zero), window={2}, to_apply=sum\n"
            "  half = {1}[] constant({3})\n  halves = {0} broadcast(half), dimensions={{}}\n"
            "  x2 = {0} multiply(t, halves)\n  y2 = {0} add(y, t)",
            shape, type, window, std::string(type) == "s32" ? "3" : "0.125");
        const bool narrow = std::string(type) == "f16";
        Check(Loop(shape, shape, body, Adds(type)),
              OneDispatch({.rtol = narrow ? 2e-2 : 1e-5, .atol = narrow ? 2e-2 : 1e-5}));
      }
    }
  }
}

TEST(LoopWindowTest, SlidingAndRunningMaxima) {
  Check(Loop("f32[9,11]", "f32[4,5]",
             "  least = f32[] constant(-inf)\n"
             "  m = f32[9,11] reduce-window(x, least), window={size=3x2 pad=1_1x0_1}, to_apply=most\n"
             "  y2 = f32[4,5] reduce-window(x, least), window={size=3x3 stride=2x2}, to_apply=most\n"
             "  t = f32[9,11] reduce-window(m, least), window={size=9x1 pad=8_0x0_0}, to_apply=most\n"
             "  n = f32[9,11] negate(t)\n  x2 = f32[9,11] add(n, x)",
             Adds("f32", "most", "maximum")));
}

TEST(LoopWindowTest, RunningPairsWhoseOrderCounts) {
  // Maps t -> a t + b, one after another.
  const std::string functions =
      "then { a = f32[] parameter(0)  b = f32[] parameter(1)  c = f32[] parameter(2)  d = f32[] parameter(3)\n"
      "  p = f32[] multiply(a, c)  q = f32[] multiply(b, c)  r = f32[] add(q, d)  ROOT t = (f32[], f32[]) tuple(p, r) "
      "}\n";
  for (const char* pad : {"36_0", "0_36"}) {
    Check(Loop("f32[37]", "f32[37]",
               fmt::format("  one_ = f32[] constant(1)\n  zero = f32[] constant(0)\n"
                           "  t = (f32[37], f32[37]) reduce-window(x, y, one_, zero), window={{size=37 pad={}}}, "
                           "to_apply=then\n"
                           "  x2 = f32[37] get-tuple-element(t), index=0\n  y2 = f32[37] get-tuple-element(t), index=1",
                           pad),
               functions),
          OneDispatch({.rtol = 1e-4, .atol = 1e-5}));
  }
}

TEST(LoopConvolutionTest, OfEveryForm) {
  const Tolerance close{.rtol = 1e-4, .atol = 1e-4};
  Check(Loop("f32[2,8,8,3]", "f32[3,3,3,3]",
             "  c = f32[2,8,8,3] convolution(x, y), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f\n"
             "  x2 = f32[2,8,8,3] tanh(c)\n  y2 = f32[3,3,3,3] negate(y)"),
        OneDispatch(close));
  Check(Loop("f32[1,9,4]", "f32[3,1,4]",
             "  c = f32[1,9,4] convolution(x, y), window={size=3 pad=2_2 rhs_dilate=2}, dim_labels=b0f_0io->b0f, "
             "feature_group_count=4\n"
             "  x2 = f32[1,9,4] tanh(c)\n  y2 = f32[3,1,4] cosine(y)"),
        OneDispatch(close));
  Check(Loop("f16[1,2,5,5]", "f16[2,2,2,2]",
             "  c = f16[1,2,5,5] convolution(x, y), window={size=2x2 pad=-3_0x-3_0 lhs_dilate=2x2 rhs_reversal=1x1}, "
             "dim_labels=bf01_oi01->bf01\n"
             "  h = f16[1,2,5,5] tanh(c)\n  x2 = f16[1,2,5,5] add(h, x)\n  y2 = f16[2,2,2,2] cosine(y)"),
        OneDispatch({.rtol = 2e-2, .atol = 2e-2}));
}

// Where `count` rows go: places -1 to 5, other ones in each trip.
std::string RowsAt(int count) {
  return fmt::format(R"(  row = s32[{0}] iota(), iota_dimension=0
  three = s32[] constant(3)
  threes = s32[{0}] broadcast(three), dimensions={{}}
  seven = s32[] constant(7)
  sevens = s32[{0}] broadcast(seven), dimensions={{}}
  trip = s32[{0}] broadcast(i), dimensions={{}}
  p = s32[{0}] multiply(row, threes)
  m = s32[{0}] add(p, trip)
  modulo = s32[{0}] remainder(m, sevens)
  ones = s32[{0}] broadcast(one), dimensions={{}}
  at = s32[{0}] subtract(modulo, ones)
)",
                     count);
}
const std::string kRowsOf =
    ", update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1";

TEST(LoopScatterTest, UpdatesThatMeet) {
  // Sums and what comes last of rows that go to a few places, some of them outside.
  const std::string functions =
      "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
      "last { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] copy(b) }\n";
  for (const int count : {70, 200}) {
    Check(Loop("f32[5,3]", fmt::format("f32[{},3]", count),
               RowsAt(count) + "  t = f32[5,3] scatter(x, at, y)" + kRowsOf + ", to_apply=sum\n" +
                   "  small = f32[] constant(0.01)\n  smalls = f32[5,3] broadcast(small), dimensions={}\n"
                   "  u = f32[5,3] multiply(t, smalls)\n  x2 = f32[5,3] scatter(u, at, y)" +
                   kRowsOf + ", to_apply=last\n" + fmt::format("  y2 = f32[{0},3] negate(y)", count),
               functions),
          OneDispatch({.rtol = 1e-4, .atol = 1e-4}));
  }
}

// Indices that stay the same are sorted once, before the loop. In it each element goes through its run, of an array
// that the trip makes and of one that changes where it lies; long runs by the sums of parts.
TEST(LoopScatterTest, TheOrderOfUpdatesIsThereBeforeTheLoop) {
  const std::unique_ptr<Client> gpu = GpuClient(BindingMode::kAddresses);
  ASSERT_NE(gpu, nullptr);
  for (const int count : {200, 4500}) {
    std::string rows = RowsAt(count);
    rows.replace(rows.find("broadcast(i)"), 12, "broadcast(one)");
    const std::string y = fmt::format("f32[{},3]", count);
    const std::string text = Loop(
        "f32[5,3]", y,
        rows +
            "  zero = f32[] constant(0)  zeros = f32[5,3] broadcast(zero), dimensions={}\n"
            "  fresh = f32[5,3] scatter(zeros, at, y)" +
            kRowsOf + ", to_apply=sum\n  more = " + y + " cosine(y)\n  t = f32[5,3] scatter(x, at, more)" + kRowsOf +
            ", to_apply=sum\n  both = f32[5,3] add(fresh, t)  small = f32[] constant(0.01)\n"
            "  smalls = f32[5,3] broadcast(small), dimensions={}  x2 = f32[5,3] multiply(both, smalls)\n  y2 = " +
            y + " negate(y)",
        "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n");
    const RunOptions options{.tolerance = Tolerance{.rtol = 1e-4, .atol = 1e-4}};
    Check(text, options);
    const auto module = ParseModule(text);
    ASSERT_NE(module, nullptr);
    for (Client* const client : {DeviceClient(BindingMode::kDescriptors), gpu.get()}) {
      const auto executable = client->Compile(*module);
      ASSERT_TRUE(executable.ok()) << executable.status().message();
      const std::string plan = ToText((*executable)->plan());
      EXPECT_THAT(plan, Not(HasSubstr("not one dispatch")));
      EXPECT_GT(plan.rfind("while"), plan.rfind("(sort)"));
    }
    const std::vector<Literal> arguments = RandomArguments(*module, 3);
    const auto on_gpu = RunOnClient(*gpu, *module, arguments), expected = RunOnCpu(*module, arguments);
    ASSERT_TRUE(on_gpu.has_value() && expected.has_value());
    ExpectAgreement(*on_gpu, *expected, options, "GPU");
  }
}

TEST(LoopScatterTest, UpdatesWhoseOrderDoesNotMatter) {
  for (const std::string type : {"s8", "u16", "pred", "bf16", "s64", "f64", "s4"}) {
    const bool whole = type != "bf16" && type != "f64";
    for (const std::string operation : {"add", "maximum", "multiply", "xor"}) {
      if (!whole && operation != "maximum") continue;
      Check(Loop(type + "[5,3]", type + "[70,3]",
                 RowsAt(70) + "  x2 = " + type + "[5,3] scatter(x, at, y)" + kRowsOf + ", to_apply=f\n" +
                     "  y2 = " + type + "[70,3] reverse(y), dimensions={0}",
                 fmt::format("f {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT c = {0}[] {1}(a, b) }}", type,
                             operation)));
    }
  }
}

// A value and where it is from: few windows, which each place goes through, and windows that are sorted; arrays that
// change where they lie, that nobody reads afterwards, and that the trip makes.
TEST(LoopScatterTest, SeveralArrays) {
  const std::string better =
      "f { a = f32[] parameter(0)  i = s32[] parameter(1)  b = f32[] parameter(2)  j = s32[] parameter(3)\n"
      "  g = pred[] compare(b, a), direction=GT  c = f32[] select(g, b, a)  k = s32[] select(g, j, i)\n"
      "  ROOT t = (f32[], s32[]) tuple(c, k) }";
  const std::string apart =
      "f { a = f32[] parameter(0)  i = s32[] parameter(1)  b = f32[] parameter(2)  j = s32[] parameter(3)\n"
      "  c = f32[] maximum(a, b)  k = s32[] add(i, j)  ROOT t = (f32[], s32[]) tuple(c, k) }";
  for (const std::string& functions : {better, apart}) {
    for (const int count : {7, 70}) {
      const std::string updates = fmt::format(
          "  u0 = f32[{0},3] broadcast(i0), dimensions={{0}}\n  u1 = f32[{0},3] cosine(u0)\n"
          "  v = s32[{0},3] iota(), iota_dimension=0\n",
          count);
      const std::string rows = RowsAt(count) + fmt::format("  i0 = f32[{}] convert(m)\n", count) + updates;
      const std::string shape = "(f32[5,3], s32[5,3])";
      Check(Loop("f32[5,3]", "s32[5,3]",
                 rows + "  t = " + shape + " scatter(x, y, at, u1, v)" + kRowsOf + ", to_apply=f\n" +
                     "  x2 = f32[5,3] get-tuple-element(t), index=0\n  y2 = s32[5,3] get-tuple-element(t), index=1",
                 functions),
            OneDispatch({.rtol = 1e-5, .atol = 1e-6}));
      Check(Loop("f32[5,3]", "s32[5,3]",
                 rows + "  t = " + shape + " scatter(x, y, at, u1, v)" + kRowsOf + ", to_apply=f\n" +
                     "  x2 = f32[5,3] sine(x)\n  y2 = s32[5,3] get-tuple-element(t), index=1",
                 functions),
            OneDispatch({.rtol = 1e-5, .atol = 1e-6}));
      Check(Loop("f32[5,3]", "s32[5,3]",
                 rows + "  none = s32[] constant(-1)\n  fresh = s32[5,3] broadcast(none), dimensions={}\n  t = " +
                     shape + " scatter(x, fresh, at, u1, v)" + kRowsOf + ", to_apply=f\n" +
                     "  x2 = f32[5,3] get-tuple-element(t), index=0\n  k = s32[5,3] get-tuple-element(t), index=1\n"
                     "  y2 = s32[5,3] add(k, y)",
                 functions),
            OneDispatch({.rtol = 1e-5, .atol = 1e-6}));
    }
  }
}

// The gradient of max pooling: windows that overlap and reach into the padding; such as are walked through by a loop;
// of fewer elements than lanes, and of more.
TEST(LoopSelectAndScatterTest, GradientsOfPooling) {
  for (const std::string type : {"f32", "bf16", "s32"}) {
    const auto run = [&](const std::string& x, const std::string& y, const std::string& window) {
      const std::string of_x = type + x, of_y = type + y;
      Check(Loop(of_x, of_y,
                 "  zero = " + type + "[] constant(0)\n  t = " + of_x + " select-and-scatter(x, y, zero), window={" +
                     window + "}, select=ge, scatter=sum\n  x2 = " + of_x + " subtract(x, t)\n  y2 = " + of_y +
                     " negate(y)",
                 fmt::format("ge {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT c = pred[] compare(a, b), "
                             "direction=GE }}\n"
                             "sum {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT c = {0}[] add(a, b) }}",
                             type)),
            OneDispatch({.rtol = 1e-5, .atol = 1e-5}));
    };
    run("[1,9,9,2]", "[1,4,4,2]", "size=1x3x3x1 stride=1x2x2x1");
    run("[7]", "[3]", "size=3 stride=3 pad=1_1");
    run("[40,11]", "[40,11]", "size=7x7 pad=3_3x3_3");
    run("[90,40]", "[45,20]", "size=2x2 stride=2x2");
  }
}

TEST(LoopUnitsTest, AllInOneLoopThatEndsByItsData) {
  // The inner loop sorts until the sum of its last differences is small; a branch takes the running sum.
  const std::string text = R"(HloModule units
less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = pred[] compare(a, b), direction=LT }
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
asks {
  s = (f32[], f32[24]) parameter(0)
  d = f32[] get-tuple-element(s), index=0
  e = f32[] constant(0.5)
  ROOT c = pred[] compare(d, e), direction=GT
}
goes {
  s = (f32[], f32[24]) parameter(0)
  x = f32[24] get-tuple-element(s), index=1
  zero = f32[] constant(0)
  t = f32[24] sort(x), dimensions={0}, to_apply=less
  r = f32[24] reduce-window(t, zero), window={size=24 pad=23_0}, to_apply=sum
  k = f32[] constant(0.05)
  ks = f32[24] broadcast(k), dimensions={}
  y = f32[24] multiply(r, ks)
  a = f32[24] abs(y)
  d = f32[] reduce(a, zero), dimensions={0}, to_apply=sum
  ROOT n = (f32[], f32[24]) tuple(d, y)
}
condition {
  s = (s32[], f32[24], f32[4,4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(6)
  ROOT c = pred[] compare(i, n), direction=LT
}
yes {
  x = f32[24] parameter(0)
  ROOT s = f32[24] sort(x), dimensions={0}, to_apply=less
}
no {
  x = f32[24] parameter(0)
  ROOT c = f32[24] cosine(x)
}
body {
  s = (s32[], f32[24], f32[4,4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[24] get-tuple-element(s), index=1
  l = f32[4,4] get-tuple-element(s), index=2
  many = f32[] constant(9)
  start = (f32[], f32[24]) tuple(many, x)
  w = (f32[], f32[24]) while(start), condition=asks, body=goes
  y = f32[24] get-tuple-element(w), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  bit = s32[] and(i, one)
  odd = pred[] compare(bit, one), direction=EQ
  z = f32[24] conditional(odd, y, y), true_computation=yes, false_computation=no
  part = f32[16] slice(z), slice={[0:16]}
  b = f32[4,4] reshape(part)
  m = f32[4,4] triangular-solve(l, b), left_side=true, lower=true, unit_diagonal=true, transpose_a=NO_TRANSPOSE
  h = f32[4,4] tanh(m)
  ROOT r = (s32[], f32[24], f32[4,4]) tuple(next, z, h)
}
ENTRY main {
  x = f32[24] parameter(0)
  l = f32[4,4] parameter(1)
  i = s32[] constant(0)
  start = (s32[], f32[24], f32[4,4]) tuple(i, x, l)
  ROOT loop = (s32[], f32[24], f32[4,4]) while(start), condition=condition, body=body
}
)";
  Check(text, OneDispatch({.rtol = 1e-4, .atol = 1e-4}));
}

// A driver may stop after 65,535 iterations of an invocation, without a word.
TEST(LoopSortTest, ManyTripsStayBelowADriversLimitOfIterations) {
  for (const auto& [length, trips] : {std::pair(64, 2000), {64, 1360}, {200, 1000}, {333, 300}}) {
    const std::string x = fmt::format("s32[{}]", length);
    std::string text = Loop(x, "s32[]",
                            fmt::format("  m = s32[] constant(1103515245)\n  ms = {0} broadcast(m), dimensions={{}}\n"
                                        "  is = {0} broadcast(i), dimensions={{}}\n  p = {0} multiply(x, ms)\n"
                                        "  a = {0} add(p, is)\n  y2 = s32[] copy(y)\n"
                                        "  x2 = {0} sort(a), dimensions={{0}}, to_apply=less\n",
                                        x),
                            Less("s32"));
    text.replace(text.find("constant(3)"), 11, fmt::format("constant({})", trips));
    Check(text, {});
  }
}

}  // namespace loop_units_test
}  // namespace VXLA_NAMESPACE::testing
