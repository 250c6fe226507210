// scatter on the device against the CPU reference.
#include <fmt/format.h>

#include <limits>

#include "scheduler/plan/plan.h"
#include "scheduler/plan/plan_printer.h"
#include "tests/support/device_test_support.h"
#include "tests/support/gpu_client.h"
#include "tests/support/index_arguments.h"

namespace VXLA_NAMESPACE::testing {
namespace scatter_test {

using enum ElementType;

struct ScatterCase {
  std::string name, operand, indices, updates, attributes;
  int64_t low, count;  // of the indices
};

const ScatterCase kScatters[] = {
    {"Rows", "[11,6]", "[40]", "[40,6]",
     "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1", -2, 15},
    {"WideRows", "[11,256]", "[70]", "[70,256]",
     "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1", -2, 15},
    {"FewRows", "[11,6]", "[7]", "[7,6]",
     "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1", -2, 15},
    {"Elements", "[5,9]", "[50,2]", "[50]",
     "update_window_dims={}, inserted_window_dims={0,1}, scatter_dims_to_operand_dims={1,0}, index_vector_dim=1", -1,
     10},
    {"Overlapping", "[13,5]", "[9,2]", "[4,9,3]",
     "update_window_dims={0,2}, inserted_window_dims={}, scatter_dims_to_operand_dims={0,1}, index_vector_dim=1", -5,
     20},
    {"OneWindow", "[13,5]", "[2]", "[4,3]",
     "update_window_dims={0,1}, inserted_window_dims={}, scatter_dims_to_operand_dims={0,1}, index_vector_dim=0", -3,
     15},
    {"Batches", "[4,9,3]", "[50,4]", "[50,4,3]",
     "update_window_dims={2}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, input_batching_dims={0}, "
     "scatter_indices_batching_dims={1}, index_vector_dim=2",
     -1, 12},
    {"NoUpdates", "[4,9]", "[0,1]", "[0,9]",
     "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1", 0, 2},
    {"NoIndices", "[4,3]", "[50,0]", "[50,4,3]",
     "update_window_dims={1,2}, inserted_window_dims={}, scatter_dims_to_operand_dims={}, index_vector_dim=1", 0, 1},
    {"IndicesInTheMiddle", "[6,7]", "[5,2,9]", "[5,9]",
     "update_window_dims={}, inserted_window_dims={0,1}, scatter_dims_to_operand_dims={0,1}, index_vector_dim=1", -1,
     9},
};

std::string ScatterText(const ScatterCase& c, const std::string& type, const std::string& index_type,
                        const std::string& operation, const std::string& more = "") {
  return fmt::format(
      "f {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT c = {0}[] {5} }}\n"
      "ENTRY e {{ p = {0}{1} parameter(0)  i = {2}{3} parameter(1)  u = {0}{4} parameter(2)\n"
      "ROOT r = {0}{1} scatter(p, i, u), {6}{7}, to_apply=f }}",
      type, c.operand, index_type, c.indices, c.updates, operation, c.attributes, more);
}

void RunScatter(const ScatterCase& c, ElementType type, ElementType index_type, const std::string& operation,
                RunOptions options = {}, const std::string& more = "") {
  SCOPED_TRACE(fmt::format("{} {} {} {}", c.name, ElementTypeName(type), ElementTypeName(index_type), operation));
  const std::string text =
      ScatterText(c, std::string(ElementTypeName(type)), std::string(ElementTypeName(index_type)), operation, more);
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  std::vector<Literal> arguments = RandomArguments(*module, 5);
  arguments[1] = Indices(arguments[1].shape(), c.low, c.count);
  RunBoth(text, arguments, options);
}

class ScatterTest : public ::testing::TestWithParam<ScatterCase> {};

TEST_P(ScatterTest, EveryKindOfComputation) {
  RunScatter(GetParam(), kF32, kS32, "add(a, b)");
  RunScatter(GetParam(), kS32, kS32, "add(a, b)", Exactly());
  RunScatter(GetParam(), kF32, kS32, "copy(b)", Exactly());
  RunScatter(GetParam(), kF32, kS32, "subtract(b, a)");
  RunScatter(GetParam(), kU8, kS64, "maximum(a, b)", Exactly());
}

INSTANTIATE_TEST_SUITE_P(Shapes, ScatterTest, ::testing::ValuesIn(kScatters),
                         [](const auto& info) { return info.param.name; });

TEST(ScatterTypesTest, EveryType) {
  for (const ElementType type : ArrayTypes()) {
    const bool number = type != kPred;
    RunScatter(kScatters[2], type, kS32, number ? "add(a, b)" : "or(a, b)");
    RunScatter(kScatters[3], type, kS32, "copy(b)", Exactly());
  }
}

TEST(ScatterTypesTest, EveryTypeOfIndices) {
  for (const ElementType type : kIndexTypes) {
    RunScatter(kScatters[5], kF32, type, "add(a, b)");
    RunScatter(kScatters[3], kS32, type, "add(a, b)", Exactly());
  }
}

// Thousands of windows, in runs longer and shorter than the parts that a device takes them in.
ScatterCase ManyWindows(const std::string& operand, int windows, const std::string& window, int64_t places) {
  const bool rows = !window.empty();
  return {fmt::format("{} windows", windows),
          operand,
          fmt::format("[{}]", windows),
          fmt::format("[{}{}]", windows, rows ? "," + window : ""),
          fmt::format("update_window_dims={{{}}}, inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{0}}, "
                      "index_vector_dim=1",
                      rows ? "1" : ""),
          -1,
          places};
}

// ---- updates whose order does not matter ---------------------------------------------------------------------------

bool IsWhole(ElementType type) { return IsInteger(type) || type == kPred; }

// Whether a device applies updates of the type so, which may take atomics of 64 bits.
int OneDispatch(ElementType type, const std::string& operation) {
  const bool exchanged = BitWidth(type) == 64 && (operation.starts_with("m"));  // maximum, minimum, multiply
  const bool has = DeviceClient(BindingMode::kDescriptors)->device().facts().wide_atomics;
  return exchanged && !has ? -1 : 1;
}

// Numbers all over the type's range.
Literal AllOver(const Shape& shape, uint64_t seed) {
  Literal values = RandomLiteral(shape, seed);
  if (!IsInteger(shape.element_type())) return values;
  const Literal bits = Indices(Shape(kS64, {2 * values.element_count()}), 0, int64_t{1} << 31, seed);
  for (int64_t i = 0; i < values.element_count(); ++i) {
    const uint64_t drawn =
        static_cast<uint64_t>(bits.GetInt(2 * i)) << 33 ^ static_cast<uint64_t>(bits.GetInt(2 * i + 1)) << 2;
    const int unused = 64 - BitWidth(shape.element_type());
    const bool is_signed = IsSigned(shape.element_type());
    values.SetInt(i, is_signed ? static_cast<int64_t>(drawn) >> unused : static_cast<int64_t>(drawn >> unused));
  }
  return values;
}

void RunOrderFree(const ScatterCase& c, ElementType type, const std::string& operation, int dispatches = 1) {
  SCOPED_TRACE(fmt::format("{} {} {}", c.name, ElementTypeName(type), operation));
  const std::string text = ScatterText(c, std::string(ElementTypeName(type)), "s32", operation);
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  std::vector<Literal> arguments = RandomArguments(*module);
  for (const int k : {0, 2})
    arguments[static_cast<size_t>(k)] = AllOver(arguments[static_cast<size_t>(k)].shape(), 7 + k);
  arguments[1] = Indices(arguments[1].shape(), c.low, c.count);
  RunBoth(text, arguments, Exactly(dispatches == 1 ? OneDispatch(type, operation) : dispatches));
}

const ScatterCase& CaseNamed(const std::string& name) {
  return *std::ranges::find(kScatters, name, &ScatterCase::name);
}

TEST(OrderFreeScatterTest, EveryTypeAndOperationIsOneDispatch) {
  for (const ElementType type : ArrayTypes()) {
    if (IsComplex(type)) continue;
    std::vector<std::string> operations = {"maximum(a, b)", "minimum(b, a)"};
    for (const std::string name : {"add", "multiply", "and", "or", "xor"}) {
      if (IsWhole(type)) operations.push_back(name + (name.size() > 2 ? "(a, b)" : "(b, a)"));
    }
    for (const std::string& operation : operations) RunOrderFree(CaseNamed("Elements"), type, operation);
  }
}

// Rows of whole words, and of parts of some; windows that overlap; batches; more dimensions of indices; no updates.
TEST(OrderFreeScatterTest, EveryShape) {
  for (const ScatterCase& c : kScatters) {
    // Long windows are sorted sooner where an atomic operation takes long.
    const bool any = c.name == "NoUpdates" || c.name == "OneWindow" || (c.name == "WideRows" && HasSoftwareKernels());
    for (const ElementType type : {kPred, kS8, kU16, kS64}) {
      for (const std::string operation : {"add(b, a)", "and(a, b)", "maximum(a, b)", "multiply(a, b)"})
        RunOrderFree(c, type, operation, any ? -1 : 1);
    }
    for (const ElementType type : {kBF16, kF8E5M2, kF64}) RunOrderFree(c, type, "minimum(a, b)", any ? -1 : 1);
  }
}

// What an addition carries out of an element must not stay in the next one, nor what was taken back too often.
TEST(OrderFreeScatterTest, NeighboursInAWordKeepTheirOwn) {
  for (const ElementType type : {kS8, kU8, kS16, kU16, kS64, kBF16, kS4}) {
    for (const int64_t places : {1, 2, 3, 5, 7}) {  // the last word is not whole
      const ScatterCase c = ManyWindows(fmt::format("[{}]", places), 30'000, "", places + 2);
      for (const std::string operation : {"add(a, b)", "maximum(a, b)", "xor(a, b)"}) {
        const bool exchanged = type == kS4 && operation[0] == 'a';  // too often: they are sorted
        if (!IsWhole(type) && operation[0] != 'm') continue;
        RunOrderFree(c, type, operation, exchanged ? -1 : 1);
      }
    }
  }
}

TEST(OrderFreeScatterTest, ManyUpdatesOfOneElement) {
  const ScatterCase c = ManyWindows("[1]", 300'000, "", 2), rows = ManyWindows("[2,8]", 40'000, "8", 3);
  for (const ElementType type : {kS8, kU16, kS64, kU64}) RunOrderFree(c, type, "add(a, b)");
  for (const ElementType type : {kF16, kS8, kU64, kF64}) RunOrderFree(c, type, "maximum(a, b)");
  for (const ElementType type : {kS8, kU16}) RunOrderFree(rows, type, "add(a, b)");
  // Products would wait for each other.
  for (const ElementType type : {kS8, kS32, kU64}) RunOrderFree(c, type, "multiply(a, b)", -1);
}

// Hundreds of updates meet in each place: numbers, zeros of both signs, infinities, NaNs of both signs among numbers,
// and the smallest numbers.
TEST(OrderFreeScatterTest, ExtremesOfFloatsAreOneDispatchWhateverMeets) {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const auto value = [&](int64_t i, double least) {
    const double sign = i % 16 < 8 ? 1 : -1, number = static_cast<double>(i % 101 - 50);
    const double kinds[] = {number, 0 * sign, infinity * sign, i % 48 == 3 ? nan * sign : number, least * sign};
    return kinds[i % 8 % 5];
  };
  for (const ElementType type : {kF32, kF16, kBF16, kF64, kF8E5M2, kF8E4M3FN, kF8E4M3FNUZ}) {
    const double least = type == kF32 ? 1e-45 : type == kF64 ? 5e-324 : type == kBF16 ? 9.2e-41 : 6e-8;
    for (const std::string operation : {"maximum(a, b)", "minimum(b, a)"}) {
      for (const int64_t wide : {1, 8}) {
        SCOPED_TRACE(fmt::format("{} {} {}", ElementTypeName(type), operation, wide));
        const std::string window = wide > 1 ? std::to_string(wide) : "";
        const std::string operand = wide > 1 ? "[9," + window + "]" : "[9]";
        const std::string name(ElementTypeName(type));
        const std::string text = ScatterText(ManyWindows(operand, 5000, window, 3), name, "s32", operation);
        const auto module = ParseModule(text);
        ASSERT_NE(module, nullptr);
        std::vector<Literal> arguments = RandomArguments(*module, 5);
        for (int64_t i = 0; i < 5000; ++i) {
          arguments[1].SetInt(i, i % 8);
          for (int64_t j = 0; j < wide; ++j) arguments[2].SetDouble(i * wide + j, value(i, least));
        }
        arguments[0].SetDouble(5 * wide, -nan);  // and one that was there
        RunBoth(text, arguments, Exactly(OneDispatch(type, operation)));
      }
    }
  }
}

constexpr std::string_view kOfPairs =
    "f {{ a = {0}[] parameter(0)  i = {1}[] parameter(1)  b = {0}[] parameter(2)  j = {1}[] parameter(3)\n"
    "c = {0}[] {2}  k = {1}[] {3}  ROOT t = ({0}[], {1}[]) tuple(c, k) }}\n"
    "ENTRY e {{ p = {0}[6,3] parameter(0)  q = {1}[6,3] parameter(1)  i = s32[900] parameter(2)\n"
    "u = {0}[900,3] parameter(3)  v = {1}[900,3] parameter(4)\n"
    "ROOT s = ({0}[6,3], {1}[6,3]) scatter(p, q, i, u, v), update_window_dims={{1}}, inserted_window_dims={{0}}, "
    "scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=f }}";

TEST(OrderFreeScatterTest, ArraysThatDoNotMeetEachOther) {
  const auto run = [](const std::string& first, const std::string& second, const std::string& of_first,
                      const std::string& of_second, int dispatches) {
    SCOPED_TRACE(first + of_first + second + of_second);
    const std::string text = fmt::format(kOfPairs, first, second, of_first, of_second);
    const auto module = ParseModule(text);
    ASSERT_NE(module, nullptr);
    std::vector<Literal> arguments = RandomArguments(*module, 5);
    arguments[2] = Indices(arguments[2].shape(), -1, 8);
    for (const size_t k : {3, 4}) arguments[k] = AllOver(arguments[k].shape(), k);
    RunBoth(text, arguments, Exactly(dispatches));
  };
  run("s8", "f32", "add(a, b)", "maximum(i, j)", 1);
  run("u64", "bf16", "xor(b, a)", "minimum(j, i)", 1);
  // One of them takes its order from the other, or needs it.
  run("s8", "s32", "add(a, b)", "subtract(i, j)", -1);
  run("s32", "s32", "add(a, j)", "add(i, j)", -1);
}

TEST(OrderFreeScatterTest, WhatTheArrayHeldLivesOn) {
  RunBoth(
      "f { a = u8[] parameter(0)  b = u8[] parameter(1)  ROOT c = u8[] add(a, b) }\n"
      "ENTRY e { p = u8[11] parameter(0)  i = s32[500] parameter(1)  x = f32[500] parameter(2)  q = u8[11] negate(p)\n"
      "u = u8[500] convert(x)  w = u8[500] gather(q, i), offset_dims={}, collapsed_slice_dims={0}, "
      "start_index_map={0}, "
      "index_vector_dim=1, slice_sizes={1}  y = u8[500] xor(u, w)\n"
      "r = u8[11] scatter(q, i, y), update_window_dims={}, inserted_window_dims={0}, "
      "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=f\n"
      "ROOT s = u8[11] subtract(r, q) }",
      {AllOver(Shape(kU8, {11}), 1), Indices(Shape(kS32, {500}), -2, 15), RandomLiteral(Shape(kF32, {500}), 2)},
      Exactly());
}

// Counts and what was converted from integers, as large as the type holds exactly and larger, onto these and others.
TEST(OrderFreeScatterTest, WholeNumbersAreNotSorted) {
  const auto run = [](const std::string& type, int64_t updates, const std::string& operand, const std::string& update,
                      bool rounds) {
    SCOPED_TRACE(fmt::format("{} {} {} {}", type, updates, operand, update));
    const std::string text = fmt::format(
        "f {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT c = {0}[] add(a, b) }}\n"
        "ENTRY e {{ i = s32[{1}] parameter(0)  s = s8[{1}] parameter(1)  h = s16[{1}] parameter(2)\n"
        "q = u8[11,2] parameter(3)  g = {0}[11,2] parameter(4)\n"
        "n = {0}[] constant({2})  few = {0}[11,2] broadcast(n), dimensions={{}}  whole = {0}[11,2] convert(q)\n"
        "one = {0}[] constant(1)  ones = {0}[{1}] broadcast(one), dimensions={{}}  bytes = {0}[{1}] convert(s)\n"
        "zero = s8[] constant(0)  zeros = s8[{1}] broadcast(zero), dimensions={{}}  long = {0}[{1}] convert(h)\n"
        "p = pred[{1}] compare(s, zeros), direction=GT  some = {0}[{1}] select(p, ones, bytes)\n"
        "far = {0}[{1}] add(some, bytes)  less = {0}[{1}] multiply(some, bytes)  b = {0}[{1},2] broadcast({4}), "
        "dimensions={{0}}\n"
        "ROOT r = {0}[11,2] scatter({3}, i, b), update_window_dims={{1}}, inserted_window_dims={{0}}, "
        "scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=f }}",
        type, updates, operand == "below zero" ? "-0" : "3", operand == "below zero" ? "few" : operand, update);
    const auto module = ParseModule(text);
    ASSERT_NE(module, nullptr);
    std::vector<Literal> arguments = RandomArguments(*module, 5);
    arguments[0] = Indices(arguments[0].shape(), -2, 14);
    for (const size_t k : {1, 2, 3}) arguments[k] = AllOver(arguments[k].shape(), 7 + k);
    RunBoth(text, arguments, rounds ? RunOptions{} : Exactly());
    const auto executable = DeviceClient(BindingMode::kDescriptors)->Compile(*module);
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    EXPECT_EQ(ToText((*executable)->plan()).find("sort/"), std::string::npos);
  };
  run("f32", 3000, "few", "ones", false);
  run("f32", 3000, "whole", "far", false);
  run("f32", 900, "few", "long", true);  // 900 x 32,768
  run("f32", 900, "few", "less", true);  // 0 x -1 is -0
  run("f32", 900, "g", "ones", true);
  run("f32", 900, "below zero", "ones", true);
  run("f16", 1700, "whole", "ones", false);
  run("f16", 1900, "whole", "ones", true);
  run("bf16", 200, "few", "ones", false);
  run("f64", 900, "whole", "long", false);
}

TEST(ScatterTypesTest, OneValueInManyPlacesIsOneDispatch) {
  for (const ElementType type : {kF32, kPred, kU8, kBF16, kS64, kF64}) {
    const std::string name(ElementTypeName(type));
    for (const std::string update : {"broadcast(v), dimensions={}", "constant"}) {
      const std::string value = update == "constant"
                                    ? "w = NAME[] constant(1)  u = NAME[900] broadcast(w), dimensions={}"
                                    : "u = NAME[900] " + update;
      std::string text =
          "f { a = NAME[] parameter(0)  b = NAME[] parameter(1)  ROOT c = NAME[] copy(b) }\n"
          "ENTRY e { p = NAME[101] parameter(0)  i = s32[900] parameter(1)  v = NAME[] parameter(2)\n" +
          value +
          "\nROOT r = NAME[101] scatter(p, i, u), update_window_dims={}, inserted_window_dims={0}, "
          "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=f }";
      for (size_t at = text.find("NAME"); at != std::string::npos; at = text.find("NAME")) text.replace(at, 4, name);
      const auto module = ParseModule(text);
      ASSERT_NE(module, nullptr);
      std::vector<Literal> arguments = RandomArguments(*module, 5);
      arguments[1] = Indices(arguments[1].shape(), -3, 70);
      RunBoth(text, arguments, Exactly(1));
    }
  }
}

TEST(ScatterTypesTest, IndicesThatAreUniqueOrSorted) {
  const ScatterCase rows = kScatters[0];
  const std::string text = ScatterText(rows, "f32", "s32", "add(a, b)", ", unique_indices=true");
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  std::vector<Literal> arguments = RandomArguments(*module, 5);
  for (int i = 0; i < 40; ++i) arguments[1].SetInt(i, (i * 7) % 40);
  RunBoth(text, arguments);
  const std::string sorted = ScatterText(rows, "bf16", "s32", "add(a, b)", ", indices_are_sorted=true");
  arguments = RandomArguments(*ParseModule(sorted), 5);
  for (int i = 0; i < 40; ++i) arguments[1].SetInt(i, i / 6 - 1);
  RunBoth(sorted, arguments);
}

TEST(ScatterTypesTest, RunsLieInSeveralParts) {
  const ScatterCase few = ManyWindows("[3]", 9001, "", 5), many = ManyWindows("[3000]", 5000, "", 3100);
  for (const ScatterCase& c : {few, many}) {
    for (const ElementType type : {kF32, kF16, kBF16, kF64, kC64}) RunScatter(c, type, kS32, "add(a, b)");
    for (const ElementType type : {kS8, kU16, kS64}) {
      RunScatter(c, type, kS32, "add(a, b)", Exactly());
      RunScatter(c, type, kS32, "multiply(b, a)", Exactly());
    }
    RunScatter(c, kBF16, kS32, "minimum(a, b)", Exactly());
    RunScatter(c, kPred, kS64, "xor(a, b)", Exactly());
    RunScatter(c, kF32, kS32, "subtract(b, a)");  // one after the other
  }
  RunScatter(ManyWindows("[1]", 4096, "", 3), kS64, kS32, "add(a, b)", Exactly());
  for (const std::string width : {"3", "8"}) {
    RunScatter(ManyWindows("[5," + width + "]", 4100, width, 7), kF32, kS32, "add(a, b)");
    RunScatter(ManyWindows("[5," + width + "]", 4100, width, 7), kU8, kS32, "maximum(a, b)", Exactly());
  }
}

// The same updates to a few places and to 40,000, twice: an element of the few goes through its run, of what it is to
// begin with and of what lies in memory; the runs of the many are taken in parts, as all were at one time.
TEST(ScatterTypesTest, ElementsThatGoThroughTheirRunsGiveTheBitsOfParts) {
  struct Case {
    ElementType type;
    int places;
    std::string window;
    bool gpu;
  };
  const Case cases[] = {{kF32, 3, "", false},    {kBF16, 150, "16", false}, {kF64, 3, "", false},
                        {kC64, 150, "3", false}, {kF32, 600, "8", true},    {kF16, 3, "", true},
                        {kBF16, 3, "8", true}};
  const std::unique_ptr<Client> gpu = GpuClient(BindingMode::kAddresses);
  ASSERT_NE(gpu, nullptr);
  for (const auto& [type, places, window, on_gpu] : cases) {
    const std::string name(ElementTypeName(type)), rest = window.empty() ? "" : "," + window;
    SCOPED_TRACE(fmt::format("{} {} {} {}", name, places, window, on_gpu));
    const std::string few = fmt::format("{}[{}{}]", name, places, rest), many = fmt::format("{}[40000{}]", name, rest);
    const std::string from = fmt::format("slice={{[0:{}]{}}}", places, rest.empty() ? "" : ", [0:" + window + "]");
    const std::string how = fmt::format(
        "update_window_dims={{{}}}, inserted_window_dims={{0}}, "
        "scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=f\n",
        rest.empty() ? "" : "1");
    const auto module = ParseModule(
        fmt::format("f {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT c = {0}[] add(a, b) }}\n"
                    "ENTRY e {{ p = {2} parameter(0)  i = s32[5000] parameter(1)  u = {0}[5000{3}] parameter(2)\n"
                    "q = {1} slice(p), {4}  a = {1} scatter(q, i, u), {5}  c = {1} scatter(a, i, u), {5}"
                    "b = {2} scatter(p, i, u), {5}  d = {2} scatter(b, i, u), {5}"
                    "x = {1} slice(b), {4}  y = {1} slice(d), {4}  ROOT t = ({1}, {1}, {1}, {1}) tuple(a, x, c, y) }}",
                    name, few, many, rest, from, how));
    ASSERT_NE(module, nullptr);
    std::vector<Literal> arguments = RandomArguments(*module, 5);
    arguments[1] = Indices(arguments[1].shape(), -1, places + 3);
    for (const BindingMode mode : on_gpu ? std::vector{BindingMode::kAddresses} : ModesToRun()) {
      const auto value = RunOnClient(on_gpu ? *gpu : *DeviceClient(mode), *module, arguments);
      ASSERT_TRUE(value.has_value());
      const auto leaves = FlattenLiteral(*value);
      for (const size_t k : {0, 2}) EXPECT_EQ(Compare(*leaves[k], *leaves[k + 1], Tolerance{}).differing, 0) << k;
    }
  }
}

// Of a sum of zeros and its updates nothing is filled before or joined behind: parts of long runs alone are added up
// first. Places outside come first and last.
TEST(ScatterTypesTest, AnElementGoesThroughTheRunOfItsPlace) {
  for (const auto& [count, dispatches] : {std::pair(400, 1), {5000, 2}}) {
    for (const bool pairs : {false, true}) {
      const std::string text = fmt::format(
          "f {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }}\n"
          "ENTRY e {{ i = s32[{0},{1}] parameter(0)  u = f32[{0}] parameter(1)  z = f32[] constant(0)\n"
          "p = f32[{2}] broadcast(z), dimensions={{}}\n"
          "ROOT r = f32[{2}] scatter(p, i, u), update_window_dims={{}}, inserted_window_dims={{{3}}}, "
          "scatter_dims_to_operand_dims={{{4}}}, index_vector_dim=1, indices_are_sorted=true, to_apply=f }}",
          count, pairs ? 2 : 1, pairs ? "4,3" : "5", pairs ? "0,1" : "0", pairs ? "1,0" : "0");
      const auto module = ParseModule(text);
      ASSERT_NE(module, nullptr);
      std::vector<Literal> arguments = RandomArguments(*module, 5);
      const int part = count / 5;  // of one first element; the second goes from -1 to 3 in it
      for (int n = 0; n < count; ++n) {
        if (pairs) arguments[0].SetInt(2 * n + 1, n % part * 5 / part - 1);
        arguments[0].SetInt(pairs ? 2 * n : n, pairs ? n / part - 1 : n * 8 / count - 1);
      }
      RunOptions options;
      options.dispatches = dispatches;
      RunBoth(text, arguments, options);
    }
  }
}

TEST(ScatterTypesTest, TheLastOfTheWindowsThatReplaceStays) {
  for (const int places : {40, 300'000}) {  // few: found by their numbers; many: windows are sorted
    const ScatterCase elements = ManyWindows(fmt::format("[{}]", places), 500, "", 43);
    for (const ElementType type : {kF32, kBF16, kU8, kS64, kPred})
      RunScatter(elements, type, kS32, "copy(b)", Exactly());
    const ScatterCase rows = ManyWindows(fmt::format("[{},4]", places), 500, "4", 43);
    for (const ElementType type : {kF32, kS8}) RunScatter(rows, type, kS64, "copy(b)", Exactly());
  }
  RunBoth(
      "f { a = f32[] parameter(0)  i = s32[] parameter(1)  b = f32[] parameter(2)  j = s32[] parameter(3)\n"
      "ROOT t = (f32[], s32[]) tuple(b, j) }\n"
      "ENTRY e { p = f32[6,3] parameter(0)  q = s32[6,3] parameter(1)  i = s32[50,1] parameter(2)\n"
      "u = f32[50,2] parameter(3)  v = s32[50,2] parameter(4)\n"
      "ROOT s = (f32[6,3], s32[6,3]) scatter(p, q, i, u, v), update_window_dims={1}, inserted_window_dims={0}, "
      "scatter_dims_to_operand_dims={1}, index_vector_dim=1, to_apply=f }",
      {RandomLiteral(Shape(kF32, {6, 3}), 1), RandomLiteral(Shape(kS32, {6, 3}), 2),
       Indices(Shape(kS32, {50, 1}), -1, 5), RandomLiteral(Shape(kF32, {50, 2}), 3),
       RandomLiteral(Shape(kS32, {50, 2}), 4)},
      Exactly());
}

TEST(ScatterTypesTest, SeveralArrays) {
  for (const int count : {7, 50}) {
    RunBoth(fmt::format("f {{ a = f32[] parameter(0)  i = s32[] parameter(1)  b = f32[] parameter(2)  j = s32[] "
                        "parameter(3)\n"
                        "g = pred[] compare(b, a), direction=GT  c = f32[] select(g, b, a)  k = s32[] select(g, j, i)\n"
                        "ROOT t = (f32[], s32[]) tuple(c, k) }}\n"
                        "ENTRY e {{ p = f32[6,3] parameter(0)  q = s32[6,3] parameter(1)  i = s32[{0}] parameter(2)\n"
                        "u = f32[{0},3] parameter(3)  v = s32[{0},3] parameter(4)\n"
                        "s = (f32[6,3], s32[6,3]) scatter(p, q, i, u, v), update_window_dims={{1}}, "
                        "inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, "
                        "to_apply=f\n"
                        "ROOT w = s32[6,3] get-tuple-element(s), index=1 }}",
                        count),
            {RandomLiteral(Shape(kF32, {6, 3}), 1), RandomLiteral(Shape(kS32, {6, 3}), 2),
             Indices(Shape(kS32, {count}), -1, 8), RandomLiteral(Shape(kF32, {count, 3}), 3),
             RandomLiteral(Shape(kS32, {count, 3}), 4)},
            Exactly());
  }
}

TEST(ScatterTypesTest, FusesWithItsUpdatesAndIndices) {
  RunOptions options;
  options.dispatches = 1;
  RunBoth(
      "f { a = s32[] parameter(0)  b = s32[] parameter(1)  ROOT c = s32[] add(a, b) }\n"
      "ENTRY e { p = s32[11] parameter(0)  x = f32[500] parameter(1)\n"
      "half = f32[] constant(2.5)  h = f32[500] broadcast(half), dimensions={}  y = f32[500] multiply(x, h)\n"
      "i = s32[500] convert(y)  one = s32[] constant(1)  u = s32[500] broadcast(one), dimensions={}\n"
      "ROOT r = s32[11] scatter(p, i, u), update_window_dims={}, inserted_window_dims={0}, "
      "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=f }",
      {RandomLiteral(Shape(kS32, {11}), 1), RandomLiteral(Shape(kF32, {500}), 2)}, options);
}

}  // namespace scatter_test
}  // namespace VXLA_NAMESPACE::testing
