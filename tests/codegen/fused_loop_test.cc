// The text of fused loops: structure only, no device.
#include <fmt/format.h>

#include "backend/vulkan/device/plan/pretend.h"
#include "tests/codegen/codegen_test_support.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

std::string Fusion(const std::string& body, const std::string& entry) {
  return "HloModule m\n\nfused {\n" + body + "}\n\nENTRY main {\n" + entry + "}\n";
}

TEST(FusedLoopTest, AChainOfTwentyOperationsWithBroadcastsIsOneStep) {
  std::string body =
      "  p0 = f32[13,7]{1,0} parameter(0)\n  p1 = f32[7]{0} parameter(1)\n"
      "  b = f32[13,7]{1,0} broadcast(p1), dimensions={1}\n  x0 = f32[13,7]{1,0} add(p0, b)\n";
  for (int i = 1; i < 20; ++i) {
    body += fmt::format("  {}x{} = f32[13,7]{{1,0}} {}(x{}, b)\n", i == 19 ? "ROOT " : "", i,
                        i % 2 ? "multiply" : "subtract", i - 1);
  }
  const auto steps = LowerRoot(Fusion(body,
                                      "  a = f32[13,7]{1,0} parameter(0)\n  v = f32[7]{0} parameter(1)\n"
                                      "  ROOT f = f32[13,7]{1,0} fusion(a, v), kind=kLoop, calls=fused\n"));
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].bindings.size(), 3u);
  const std::string text = Compiled(steps[0]);
  EXPECT_EQ(Count(steps[0].kernel.generated, "LOAD(1, f32"), 1) << "the broadcast row is read once";
  EXPECT_EQ(Count(steps[0].kernel.generated, "multiply_f32("), 10);
}

TEST(FusedLoopTest, EqualStructuresOfOtherSizesShareAKernel) {
  auto key = [](int rows, int columns) {
    const auto steps =
        LowerRoot(fmt::format("HloModule m\nENTRY main {{\n  a = f32[{},{}] parameter(0)\n"
                              "  ROOT t = f32[{},{}] transpose(a), dimensions={{1,0}}\n}}\n",
                              rows, columns, columns, rows));
    return steps.at(0).kernel;
  };
  EXPECT_EQ(key(13, 7), key(11, 9));
}

// Rows of more elements than a core keeps lines and pages for go by strips of columns, where whole strips make a row:
// of 2,000, not of 8 * 251.
TEST(FusedLoopTest, LargeTransposesGoByStripsOnSoftwareDrivers) {
  const auto key = [](int rows, int columns, const char* order) {
    const bool turns = order[0] == '1';
    const auto steps =
        LowerRoot(fmt::format("HloModule m\nENTRY main {{\n  a = f32[{},{}] parameter(0)\n"
                              "  ROOT t = f32[{},{}] transpose(a), dimensions={{{}}}\n}}\n",
                              rows, columns, turns ? columns : rows, turns ? rows : columns, order));
    return steps.at(0).kernel;
  };
  EXPECT_NE(key(2000, 3000, "1,0"), key(2008, 3000, "1,0"));
  EXPECT_EQ(key(96, 90000, "1,0"), key(2008, 3000, "1,0")) << "the lines of 96 rows all stay";
  EXPECT_EQ(key(3000, 2000, "0,1"), key(3000, 2008, "0,1")) << "nothing lies across";
}

TEST(FusedLoopTest, APadLoadsInsideItsGuardOnly) {
  const auto steps = LowerRoot(
      "HloModule m\nENTRY main {\n  a = f32[5,3] parameter(0)\n  z = f32[] parameter(1)\n"
      "  ROOT p = f32[12,2] pad(a, z), padding=1_2_1x-1_0\n}\n");
  ASSERT_EQ(steps.size(), 1u);
  const std::string& text = steps[0].kernel.generated;
  EXPECT_EQ(Count(text, "if ("), 1);
  EXPECT_GT(text.find("LOAD(1, f32"), text.find("if ("));
  EXPECT_EQ(Count(text, "== 0u"), 1) << "the interior of one dimension";
  Compiled(steps[0]);
}

TEST(FusedLoopTest, APadThatOnlyCutsHasNoGuard) {
  const auto steps = LowerRoot(
      "HloModule m\nENTRY main {\n  a = f32[5,3] parameter(0)\n  z = f32[] parameter(1)\n"
      "  ROOT p = f32[3,2] pad(a, z), padding=-1_-1x-1_0\n}\n");
  EXPECT_EQ(Count(steps.at(0).kernel.generated, "if ("), 0);
}

// What a random generator's two words are: two results of one computation, which is written once.
TEST(FusedLoopTest, PartsOfAConcatenateThatAreMostlyOneComputationShareIt) {
  const auto text = [](std::string_view second) {
    std::string body = "  p = u32[8] parameter(0)\n  i = u32[8] iota(), iota_dimension=0\n  x0 = u32[8] add(p, i)\n";
    for (int i = 1; i < 20; ++i) body += fmt::format("  x{0} = u32[8] {1}(x{2}, i)\n", i, i % 2 ? "xor" : "add", i - 1);
    body +=
        fmt::format("  y = u32[8] multiply({}, i)\n  ROOT c = u32[16] concatenate(x19, y), dimensions={{0}}\n", second);
    const auto steps =
        LowerRoot(Fusion(body, "  a = u32[8] parameter(0)\n  ROOT f = u32[16] fusion(a), kind=kLoop, calls=fused\n"));
    EXPECT_EQ(steps.size(), 1u);
    Compiled(steps.at(0));
    return steps.at(0).kernel.generated;
  };
  const std::string shared = text("x18");
  EXPECT_EQ(Count(shared, "if ("), 0) << shared;
  EXPECT_EQ(Count(shared, "xor_u32("), 10) << shared;
  // Little of one part is of use to the other.
  EXPECT_GT(Count(text("x2"), "if ("), 0);
}

TEST(FusedLoopTest, AConcatenateReadsOneOperandPerElement) {
  const auto steps = LowerRoot(
      "HloModule m\nENTRY main {\n  a = s32[2] parameter(0)\n  b = s32[0] parameter(1)\n"
      "  c = s32[3] parameter(2)\n  ROOT p = s32[7] concatenate(a, b, c, a), dimensions={0}\n}\n");
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(Count(steps[0].kernel.generated, "if ("), 2);
  EXPECT_EQ(Count(steps[0].kernel.generated, "LOAD("), 3) << "the empty operand is never read";
  Compiled(steps[0]);
}

TEST(FusedLoopTest, EveryResultOfATupleIsStored) {
  const auto steps = LowerRoot(
      Fusion("  p = f32[6] parameter(0)\n  e = f32[6] exponential(p)\n  n = f32[6] negate(e)\n  c = pred[6] compare(e, "
             "n), direction=LT\n"
             "  r = f32[2,3] reshape(n)\n  ROOT t = (f32[6], f32[2,3], pred[6]) tuple(e, r, c)\n",
             "  a = f32[6] parameter(0)\n  ROOT f = (f32[6], f32[2,3], pred[6]) fusion(a), kind=kLoop, calls=fused\n"));
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].bindings.size(), 4u);
  EXPECT_EQ(Count(steps[0].kernel.generated, "STORE("), 3);
  EXPECT_EQ(Count(steps[0].kernel.generated, "exponential_f32("), 1);
  Compiled(steps[0]);
}

TEST(FusedLoopTest, ReshapesThatUndoEachOtherLeaveNoIndexArithmetic) {
  const auto steps =
      LowerRoot(Fusion("  p = f32[4,6] parameter(0)\n  r = f32[2,12] reshape(p)\n  n = f32[2,12] negate(r)\n  ROOT q = "
                       "f32[24] reshape(n)\n",
                       "  a = f32[4,6] parameter(0)\n  ROOT f = f32[24] fusion(a), kind=kLoop, calls=fused\n"));
  EXPECT_EQ(Count(steps.at(0).kernel.generated, "divide_index"), 0);
  EXPECT_EQ(Count(steps.at(0).kernel.generated, "LOAD(0, f32, i)"), 1);
}

TEST(FusedLoopTest, ZerosAreUnknownAndOtherConstantsInline) {
  const auto steps = LowerRoot(
      Fusion("  p = f32[4] parameter(0)\n  z = f32[] constant(0)\n  b = f32[4] broadcast(z), dimensions={}\n"
             "  o = f32[] constant(1.5)\n  c = f32[4] broadcast(o), dimensions={}\n  s = f32[4] subtract(b, p)\n"
             "  ROOT m = f32[4] multiply(s, c)\n",
             "  a = f32[4] parameter(0)\n  ROOT f = f32[4] fusion(a), kind=kLoop, calls=fused\n"));
  EXPECT_EQ(Count(steps.at(0).kernel.generated, "uintBitsToFloat(0x3fc00000u)"), 1);
  EXPECT_EQ(Count(steps.at(0).kernel.generated, "uintBitsToFloat(unknown_u32(0u))"), 1);
}

// Of a loop, a sum, a product, a sort and a transform: the same costs make the same kernels, whatever kind the device
// is.
TEST(FusedLoopTest, CostsShapeKernelsAndNotTheKindOfDevice) {
  const std::string sum = "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = f32[] add(a, b)\n}\n";
  const std::string less =
      "less {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = pred[] compare(a, b), direction=LT\n}\n";
  const std::string a = "ENTRY main {\n  a = f32[512,512] parameter(0)\n";
  const std::string texts[] = {
      a + "  ROOT r = f32[512,512] tanh(a)\n}\n",
      sum + a + "  z = f32[] constant(0)\n  ROOT r = f32[512] reduce(a, z), dimensions={1}, to_apply=add\n}\n",
      a + "  ROOT r = f32[512,512] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n",
      less + a + "  ROOT r = f32[512,512] sort(a), dimensions={1}, to_apply=less\n}\n",
      "ENTRY main {\n  a = c64[64,4096] parameter(0)\n  ROOT r = c64[64,4096] fft(a), fft_type=FFT, "
      "fft_length={4096}\n}\n"};
  const auto same = [](const Step& one, const Step& other) {
    return one.kernel == other.kernel && one.groups == other.groups;
  };
  for (const std::string& text : texts) {
    const auto steps = [&](DeviceFacts::Kind kind, const DeviceFacts::Costs& costs) {
      DeviceFacts facts = FullFacts();
      facts.kind = kind;
      facts.costs = costs;
      return LowerRoot("HloModule m\n" + text, facts);
    };
    using enum DeviceFacts::Kind;
    const DeviceFacts::Costs host = FullFacts().costs, gpu = {};
    EXPECT_TRUE(std::ranges::equal(steps(kSoftware, host), steps(kOther, host), same)) << text;
    EXPECT_TRUE(std::ranges::equal(steps(kSoftware, gpu), steps(kOther, gpu), same)) << text;
    EXPECT_FALSE(std::ranges::equal(steps(kOther, host), steps(kOther, gpu), same)) << text;
  }
}

TEST(FusedLoopTest, MoreThanOneRowOfGroupsCoversEveryElement) {
  DeviceFacts facts = FullFacts();
  PretendGpu(facts);
  facts.max_group_count = {65535, 65535, 65535};
  const int64_t count = int64_t{300} << 20;
  const auto steps =
      LowerRoot(fmt::format("HloModule m\nENTRY main {{\n  a = u8[{}] parameter(0)\n  ROOT n = u8[{}] not(a)\n}}\n",
                            count, count),
                facts);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_GT(steps[0].groups[1], 1u);
  EXPECT_LE(steps[0].groups[0], 65535u);
  const auto& constants = steps[0].kernel.constants;
  const int64_t items = steps[0].params.at(0);  // of up to four neighbouring elements each
  EXPECT_TRUE(items == count || items * 2 == count || items * 4 == count) << items;
  EXPECT_GE(int64_t{steps[0].groups[0]} * steps[0].groups[1] * constants[0] * constants[3], items);
}

TEST(FusedLoopTest, EmptyResultsNeedNoSteps) {
  EXPECT_TRUE(
      LowerRoot("HloModule m\nENTRY main {\n  a = f32[0,3] parameter(0)\n  ROOT n = f32[0,3] negate(a)\n}\n").empty());
}

TEST(FusedLoopTest, ScalarsAreOneElement) {
  const auto steps = LowerRoot("HloModule m\nENTRY main {\n  a = c64[] parameter(0)\n  ROOT n = f32[] abs(a)\n}\n");
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].params.at(0), 1u);
}

// A device that has everything, and one with 32-bit types only.
class OnDeviceTest : public testing::TestWithParam<bool> {
 protected:
  const DeviceFacts facts_ = GetParam() ? BareFacts() : FullFacts();
};
INSTANTIATE_TEST_SUITE_P(Facts, OnDeviceTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Bare" : "Full"; });

TEST(PackedStorageTest, WholeWordsAreStoredWhereAnInvocationOwnsThem) {
  const char* text = "HloModule m\nENTRY main {\n  a = s8[12] parameter(0)\n  ROOT n = s8[12] negate(a)\n}\n";
  const auto steps = LowerRoot(text, BareFacts());
  EXPECT_EQ(Count(steps.at(0).kernel.generated, "LOAD(0, u32, "), 1);
  EXPECT_EQ(Count(steps.at(0).kernel.generated, "STORE(1, u32, "), 1);
  EXPECT_EQ(Count(steps.at(0).kernel.generated, "u8, i"), 0);
  EXPECT_EQ(steps[0].params.at(0), 3u) << "groups of four";
}

TEST(PackedStorageTest, ElementsOfSharedWordsAreStoredOneByOne) {
  const char* text = "HloModule m\nENTRY main {\n  a = bf16[13] parameter(0)\n  ROOT n = bf16[13] negate(a)\n}\n";
  const auto steps = LowerRoot(text, BareFacts());
  EXPECT_EQ(Count(steps.at(0).kernel.generated, "STORE(1, u16, i, "), 1);
  const std::string whole = Compiled(steps[0], BareFacts());
  EXPECT_EQ(Count(whole, "#define PACKED_u16 1"), 1);
  EXPECT_EQ(Count(Compiled(LowerRoot(text).at(0)), "#define PACKED_u16 1"), 0);
}

// A byte takes lavapipe as long as a word, so a loop that read bytes one by one took four to six times as long.
TEST(FusedLoopTest, NarrowElementsGoByWordsOnSoftwareDrivers) {
  const auto text = [](const char* type) {
    return fmt::format(
        "HloModule m\nENTRY main {{\n  a = {0}[1048576] parameter(0)\n  ROOT n = {0}[1048576] abs(a)\n}}\n", type);
  };
  const std::string halves = LowerRoot(text("bf16"), FullFacts()).at(0).kernel.generated;
  EXPECT_EQ(Count(halves, "LOAD(0, u32x4"), 1);
  EXPECT_EQ(Count(halves, "STORE(1, u32x4"), 1);
  EXPECT_EQ(Count(LowerRoot(text("s8"), FullFacts()).at(0).kernel.generated, "LOAD(0, u32x2"), 1);
}

// LLVM stored what was only moved by a look at a 64-byte vector on the stack for each lane.
TEST(FusedLoopTest, PairsAreStoredByWordsWhereTheHostHasAvx512) {
  const char* text =
      "HloModule m\nENTRY main {\n  a = f32[1048576] parameter(0)\n  ROOT n = f32[1048576] negate(a)\n}\n";
  DeviceFacts facts = FullFacts();
  const std::string pairs = LowerRoot(text, facts).at(0).kernel.generated;
  EXPECT_EQ(Count(pairs, "STORE(1, u64x4"), 1);
  EXPECT_EQ(Count(pairs, " ^ P("), 0);
  facts.host_avx512 = true;
  const std::string words = LowerRoot(text, facts).at(0).kernel.generated;
  EXPECT_EQ(Count(words, "LOAD(0, u64x4"), 1);
  EXPECT_EQ(Count(words, "STORE(1, f32x4"), 2);
  EXPECT_EQ(Count(words, " ^ P("), 4);
}

TEST(FusedLoopTest, RefusesTensorsThatAnIndexCannotReach) {
  constexpr std::string_view kRefusal =
      "f32[65536,65536] has 4294967296 elements, more than the 2147483647 that a kernel can index";
  const std::string loop =
      "HloModule m\nENTRY main {\n  a = f32[65536,65536] parameter(0)\n  ROOT n = f32[65536,65536] reverse(a), "
      "dimensions={0,1}\n}\n";
  EXPECT_EQ(RefusalOf(loop, FullFacts()), "");
  EXPECT_EQ(RefusalOf(loop, BareFacts()), kRefusal);  // no 64-bit integers
  EXPECT_EQ(RefusalOf("HloModule m\nlt {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n"
                      "  ROOT l = pred[] compare(x, y), direction=LT\n}\n\n"
                      "ENTRY main {\n  a = f32[65536,65536] parameter(0)\n"
                      "  ROOT s = f32[65536,65536] sort(a), dimensions={1}, to_apply=lt\n}\n",
                      FullFacts()),
            kRefusal);
}

TEST(FusedLoopTest, LoopsOverMoreElementsThanAVariableCountsAreParts) {
  const auto steps = LowerRoot(Fusion(
      "  p = s8[3,65536,65536] parameter(0)\n  t = s8[65536,65536,3] transpose(p), dimensions={1,2,0}\n"
      "  ROOT n = s8[65536,65536,3] negate(t)\n",
      "  a = s8[3,65536,65536] parameter(0)\n  ROOT f = s8[65536,65536,3] fusion(a), kind=kLoop, calls=fused\n"));
  int64_t groups = 0;
  for (const Step& step : steps) {
    groups += step.params.at(0);
    EXPECT_FALSE(step.traits.beyond_reach);
  }
  EXPECT_GE(steps.size(), 12u);
  EXPECT_TRUE(4 * groups == int64_t{3} << 32 || 8 * groups == int64_t{3} << 32) << groups;
  EXPECT_EQ(Count(steps.front().kernel.generated, "FAR_ELEMENTS"), 1);  // what it reads lies far apart
}

TEST(FusedLoopTest, RefusesTensorsBeyondTheDescriptorRange) {
  const char* text =
      "HloModule m\nENTRY main {\n  a = f32[40000000] parameter(0)\n  ROOT n = f32[40000000] negate(a)\n}\n";
  EXPECT_EQ(RefusalOf(text, FullFacts()), "");
  EXPECT_EQ(RefusalOf(text, FullFacts(), BindingMode::kDescriptors),
            "f32[40000000] takes 160000000 bytes, more than this device's storage-buffer range of 134217728 "
            "(--bindings=addresses has no such limit)");
}

// Each operation of each type it takes: the functions that codegen names exist and take these arguments.
struct OperationTypes {
  const char* operation;
  int operands;
  std::vector<const char*> types;
};

TEST_P(OnDeviceTest, EveryOperationCompilesForEveryType) {
  const std::vector<const char*> floats = {"f32",      "f64",       "f16",      "bf16",    "f8e5m2",
                                           "f8e4m3fn", "f8e8m0fnu", "f4e2m1fn", "f6e3m2fn"};
  const std::vector<const char*> complexes = {"c64", "c128"};
  const std::vector<const char*> integers = {"s32", "u32", "s64", "u64", "s8", "u8", "s16",
                                             "u16", "s4",  "u4",  "s2",  "u2", "s1", "u1"};
  auto join = [](std::initializer_list<std::vector<const char*>> lists) {
    std::vector<const char*> all;
    for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
    return all;
  };
  const auto numbers = join({floats, complexes, integers});
  const std::vector<OperationTypes> operations = {
      {"abs", 1, join({floats, integers})},
      {"negate", 1, numbers},
      {"sign", 1, numbers},
      {"ceil", 1, floats},
      {"floor", 1, floats},
      {"round-nearest-afz", 1, floats},
      {"round-nearest-even", 1, floats},
      {"exponential", 1, join({floats, complexes})},
      {"exponential-minus-one", 1, join({floats, complexes})},
      {"log", 1, join({floats, complexes})},
      {"log-plus-one", 1, join({floats, complexes})},
      {"logistic", 1, join({floats, complexes})},
      {"tanh", 1, join({floats, complexes})},
      {"tan", 1, join({floats, complexes})},
      {"sine", 1, join({floats, complexes})},
      {"cosine", 1, join({floats, complexes})},
      {"sqrt", 1, join({floats, complexes})},
      {"rsqrt", 1, join({floats, complexes})},
      {"cbrt", 1, join({floats, complexes})},
      {"erf", 1, floats},
      {"erfc", 1, floats},
      {"erf-inv", 1, floats},
      {"lgamma", 1, floats},
      {"digamma", 1, floats},
      {"acos", 1, join({floats, complexes})},
      {"acosh", 1, join({floats, complexes})},
      {"asin", 1, join({floats, complexes})},
      {"asinh", 1, join({floats, complexes})},
      {"atan", 1, join({floats, complexes})},
      {"atanh", 1, join({floats, complexes})},
      {"sinh", 1, join({floats, complexes})},
      {"cosh", 1, join({floats, complexes})},
      {"count-leading-zeros", 1, integers},
      {"popcnt", 1, integers},
      {"not", 1, join({integers, {"pred"}})},
      {"add", 2, join({numbers, {"pred"}})},
      {"subtract", 2, numbers},
      {"multiply", 2, join({numbers, {"pred"}})},
      {"divide", 2, numbers},
      {"remainder", 2, join({floats, integers})},
      {"power", 2, numbers},
      {"atan2", 2, join({floats, complexes})},
      {"maximum", 2, join({floats, integers, {"pred"}})},
      {"minimum", 2, join({floats, integers, {"pred"}})},
      {"and", 2, join({integers, {"pred"}})},
      {"or", 2, join({integers, {"pred"}})},
      {"xor", 2, join({integers, {"pred"}})},
      {"mulhi", 2, integers},
      {"shift-left", 2, integers},
      {"shift-right-arithmetic", 2, integers},
      {"shift-right-logical", 2, integers},
      {"clamp", 3, join({floats, integers})},
  };
  for (const OperationTypes& operation : operations) {
    for (const char* type : operation.types) {
      SCOPED_TRACE(std::string(operation.operation) + " of " + type);
      std::string arguments, parameters;
      for (int i = 0; i < operation.operands; ++i) {
        parameters += fmt::format("  a{} = {}[3] parameter({})\n", i, type, i);
        arguments += fmt::format("{}a{}", i > 0 ? ", " : "", i);
      }
      Compiled(LowerRoot(fmt::format("HloModule m\nENTRY main {{\n{}  ROOT r = {}[3] {}({})\n}}\n", parameters, type,
                                     operation.operation, arguments),
                         facts_)
                   .at(0),
               facts_);
    }
  }
}

TEST_P(OnDeviceTest, EveryConversionCompiles) {
  const std::vector<const char*> types = {"pred", "s8",  "u8",  "s4",   "u2",       "s16", "u16", "s32", "u32",
                                          "s64",  "u64", "f16", "bf16", "f8e4m3fn", "f32", "f64", "c64", "c128"};
  // One fusion per source type that converts to all others: many conversions, few compilations.
  for (const char* from : types) {
    SCOPED_TRACE(from);
    std::string body = fmt::format("  p = {}[3] parameter(0)\n", from), names, shapes;
    for (const char* to : types) {
      body += fmt::format("  c_{} = {}[3] convert(p)\n", to, to);
      names += fmt::format("{}c_{}", names.empty() ? "" : ", ", to);
      shapes += fmt::format("{}{}[3]", shapes.empty() ? "" : ", ", to);
    }
    body += fmt::format("  ROOT t = ({}) tuple({})\n", shapes, names);
    Compiled(
        LowerRoot(
            Fusion(body, fmt::format("  a = {}[3] parameter(0)\n  ROOT f = ({}) fusion(a), kind=kLoop, calls=fused\n",
                                     from, shapes)),
            facts_)
            .at(0),
        facts_);
  }
}

TEST_P(OnDeviceTest, ComparisonsSelectsAndBitcastsCompile) {
  for (const char* type : {"pred", "s8", "u16", "s32", "u64", "f16", "bf16", "f32", "f64", "c64", "c128"}) {
    SCOPED_TRACE(type);
    Compiled(
        LowerRoot(
            Fusion(
                fmt::format(
                    "  p = {0}[3] parameter(0)\n  q = {0}[3] parameter(1)\n  e = pred[3] compare(p, q), direction=EQ\n"
                    "  n = pred[3] compare(p, q), direction=NE\n  x = pred[3] xor(e, n)\n  ROOT s = {0}[3] select(x, "
                    "p, q)\n",
                    type),
                fmt::format("  a = {0}[3] parameter(0)\n  b = {0}[3] parameter(1)\n  ROOT f = {0}[3] fusion(a, b), "
                            "kind=kLoop, calls=fused\n",
                            type)),
            facts_)
            .at(0),
        facts_);
  }
  for (const auto& [from, to] : std::vector<std::pair<const char*, const char*>>{{"f32", "s32"},
                                                                                 {"u32", "f32"},
                                                                                 {"f64", "u64"},
                                                                                 {"s64", "f64"},
                                                                                 {"bf16", "u16"},
                                                                                 {"s16", "f16"},
                                                                                 {"f16", "bf16"},
                                                                                 {"f8e4m3fn", "s8"},
                                                                                 {"s8", "u8"},
                                                                                 {"u64", "s64"},
                                                                                 {"s32", "u32"}}) {
    SCOPED_TRACE(std::string(from) + " as " + to);
    Compiled(
        LowerRoot(fmt::format(
                      "HloModule m\nENTRY main {{\n  a = {}[3] parameter(0)\n  ROOT r = {}[3] bitcast-convert(a)\n}}\n",
                      from, to),
                  facts_)
            .at(0),
        facts_);
  }
}

// Ten results, each its own constant added.
std::string SmallResults(int first_constant) {
  std::string text = "loop { p = f32[3] parameter(0)\n", shapes, names;
  for (int i = 0; i < 10; ++i) {
    const std::string n = std::to_string(i);
    text += "c" + n + " = f32[] constant(" + std::to_string(first_constant + i) + ")  b" + n + " = f32[3] broadcast(c" +
            n + "), dimensions={}  a" + n + " = f32[3] add(p, b" + n + ")\n";
    shapes += (i > 0 ? ", f32[3]" : "f32[3]");
    names += (i > 0 ? ", a" : "a") + n;
  }
  return text + "ROOT t = (" + shapes + ") tuple(" + names + ") }\nENTRY e { x = f32[3] parameter(0)  ROOT f = (" +
         shapes + ") fusion(x), kind=kLoop, calls=loop }";
}

TEST(FusedLoopTest, KernelsOfManySmallResultsDifferInTheirConstantsOnly) {
  const std::vector<Step> a = LowerRoot(SmallResults(1)), b = LowerRoot(SmallResults(100));
  ASSERT_EQ(a.size(), 1u);
  ASSERT_EQ(b.size(), 1u);
  EXPECT_EQ(a[0].kernel, b[0].kernel);
  EXPECT_NE(a[0].params, b[0].params);
}

}  // namespace
}  // namespace VXLA_NAMESPACE::vulkan
