// vxla diff as a user meets it: bounds, isolation, bisection, the report.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/command_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

constexpr char kAttention[] =
    "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n"
    "max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }\n"
    "ENTRY e { q = f32[37,16] parameter(0)  k = f32[41,16] parameter(1)  v = f32[41,16] parameter(2)  ninf = f32[] "
    "constant(-inf)  zero = f32[] constant(0)\n"
    "  s = f32[37,41] dot(q, k), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
    "  m = f32[37] reduce(s, ninf), dimensions={1}, to_apply=max  mb = f32[37,41] broadcast(m), dimensions={0}\n"
    "  c = f32[37,41] subtract(s, mb)  e = f32[37,41] exponential(c)  t = f32[37] reduce(e, zero), dimensions={1}, "
    "to_apply=add\n"
    "  tb = f32[37,41] broadcast(t), dimensions={0}  p = f32[37,41] divide(e, tb)\n"
    "  ROOT o = f32[37,16] dot(p, v), lhs_contracting_dims={1}, rhs_contracting_dims={0} }";

constexpr char kLoop[] =
    "condition { s = (s32[], f32[7]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(5)  "
    "ROOT c = pred[] compare(i, n), direction=LT }\n"
    "body { s = (s32[], f32[7]) parameter(0)  i = s32[] get-tuple-element(s), index=0  x = f32[7] "
    "get-tuple-element(s), index=1  one = s32[] constant(1)\n"
    "  next = s32[] add(i, one)  y = f32[7] cosine(x)  ROOT t = (s32[], f32[7]) tuple(next, y) }\n"
    "ENTRY e { zero = s32[] constant(0)  x = f32[7] parameter(0)  s = (s32[], f32[7]) tuple(zero, x)\n"
    "  w = (s32[], f32[7]) while(s), condition=condition, body=body  ROOT r = f32[7] get-tuple-element(w), index=1 }";

Json DiffJson(const std::string& arguments, int exit_code) {
  const CommandResult result = RunVxla("diff " + arguments + " --json");
  EXPECT_EQ(result.exit_code, exit_code) << result.err;
  return result.out.empty() ? Json() : Json::parse(result.out);
}

TEST(DiffTest, TheDeviceGivesTheBitsOfShaderMathInBothBindingModes) {
  const std::string program = WriteScratch("attention.hlo", kAttention);
  for (const char* bindings : {"addresses", "descriptors"}) {
    const Json json = DiffJson(program + " --bindings " + bindings, 0);
    EXPECT_EQ(json["same_bits_as_shader_math"], true);
    EXPECT_EQ(json["verdict"], "agree");
    EXPECT_TRUE(json["fault"].is_null());
    EXPECT_TRUE(json["first_bad"].is_null());
  }
}

TEST(DiffTest, ShaderMathFollowsSizesThatDataDecide) {
  const std::string program =
      "ENTRY e { x = f32[8] parameter(0)  n = s32[] parameter(1)  two = s32[] constant(2)  m = s32[] add(n, two)\n"
      "  a = f32[<=8] set-dimension-size(x, m), dimensions={0}  y = f32[8] parameter(2)\n"
      "  b = f32[<=8] set-dimension-size(y, m), dimensions={0}  ROOT r = f32[<=8] add(a, b) }";
  const CommandResult result = RunVxla("diff " + WriteScratch("sizes.hlo", program) + " --json");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(Json::parse(result.out)["same_bits_as_shader_math"], true);
  EXPECT_THAT(result.err, Not(HasSubstr("no shader arithmetic"))) << result.err;
}

TEST(DiffTest, IsolateListsEachInstructionWithItsBound) {
  const Json json = DiffJson(WriteScratch("attention.hlo", kAttention) + " --isolate", 0);
  ASSERT_EQ(json["instructions"].size(), 9u);
  for (const Json& instruction : json["instructions"]) {
    EXPECT_EQ(instruction["agrees"], true) << instruction;
    EXPECT_EQ(instruction["same_bits_as_shader_math"], true) << instruction;
  }
  EXPECT_EQ(json["instructions"][1]["bound"], "equal");                     // the maximum
  EXPECT_THAT(json["instructions"][0]["bound"], HasSubstr("of 16 terms"));  // the product
}

TEST(DiffTest, IsolateLooksIntoALoopsBodyAtItsFirstIteration) {
  const Json json = DiffJson(WriteScratch("loop.hlo", kLoop) + " --isolate", 0);
  std::vector<std::string> names;
  for (const Json& instruction : json["instructions"]) names.push_back(instruction["name"]);
  EXPECT_THAT(names, ::testing::ElementsAre("w", "w iteration 0: next", "w iteration 0: y"));
}

TEST(DiffTest, BisectOfASoundProgramFindsNothing) {
  const CommandResult result = RunVxla("diff " + WriteScratch("loop.hlo", kLoop) + " --bisect");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("bisect: no instruction by itself leaves its bound"));
}

TEST(DiffTest, AProgramOfOneOperationIsJudgedByItsOwnBound) {
  const std::string program =
      WriteScratch("sine.hlo", "ENTRY e { x = f32[1009] parameter(0)  ROOT s = f32[1009] sine(x) }");
  const CommandResult result = RunVxla("diff -v " + program);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("bound of this one operation: 1 ulp"));
}

// gamma is no operation of which the combiner's order is asked with numbers.
constexpr char kNotShownToAssociate[] =
    "f { a = f32[] parameter(0)  b = f32[] parameter(1)  l = f32[] lgamma(b)  ROOT r = f32[] subtract(a, l) }\n"
    "ENTRY e { x = f32[1009] parameter(0)  z = f32[] constant(0)  ROOT s = f32[] reduce(x, z), dimensions={0}, "
    "to_apply=f }";

TEST(DiffTest, WhereTheOrderDecidesNobodyIsAtFaultAndBothValuesAreSaid) {
  const std::string program = WriteScratch("order.hlo", kNotShownToAssociate);
  const CommandResult result = RunVxla("diff " + program + " --json");
  EXPECT_EQ(result.exit_code, 1) << result.err;
  const Json json = Json::parse(result.out);
  EXPECT_EQ(json["fault"], "order");
  EXPECT_EQ(json["first_bad"], "s");
  EXPECT_THAT(result.err,
              HasSubstr("the order of the elements decides the result of s: its combiner cannot be shown to "
                        "associate"));
  EXPECT_THAT(result.err, HasSubstr("the reference, which folds from the left, initial value first, "));
}

// NaN or an infinity in one part says nothing of the other one, whose sum has its bound.
TEST(DiffTest, PartsOfComplexSumsAreJudgedApart) {
  const std::string program =
      WriteScratch("parts.hlo",
                   "c { a = c64[] parameter(0)  b = c64[] parameter(1)  ROOT r = c64[] add(a, b) }\n"
                   "ENTRY e { x = c64[3,500] parameter(0)  i = c64[] constant((0, 0))\n"
                   "ROOT r = c64[500] reduce(x, i), dimensions={0}, to_apply=c }");
  for (const char* device : {"swiftshader", "llvmpipe"})
    DiffJson(program + " --fill special --device " + std::string(device), 0);
}

// Beside NaN less-than is no strict weak order, and the totally ordered one is; a wrong result is not excused by ties.
TEST(DiffTest, WhereTheComparatorIsNoOrderNobodyIsAtFault) {
  const auto sort = [](const std::string& more) {
    return WriteScratch(
        "nan_sort.hlo",
        "less { a = f32[] parameter(0)  b = f32[] parameter(1)  i = s32[] parameter(2)  j = s32[] "
        "parameter(3)  ROOT r = pred[] compare(a, b), direction=LT" +
            more +
            " }\nENTRY e { x = f32[100] parameter(0)  y = s32[100] iota(), iota_dimension=0\n"
            "ROOT s = (f32[100], s32[100]) sort(x, y), dimensions={0}, is_stable=true, to_apply=less }");
  };
  const CommandResult result = RunVxla("diff " + sort("") + " --fill special --json");
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_EQ(Json::parse(result.out)["fault"], "order");
  EXPECT_THAT(result.err, HasSubstr("its comparator is no strict weak order on them"));
  DiffJson(sort(", type=TOTALORDER") + " --fill special", 0);
}

TEST(DiffTest, ACombinerThatIsKnownNotToAssociateAgrees) {
  for (const char* operation : {"subtract(a, b)", "subtract(b, a)", "divide(b, a)", "power(a, b)"}) {
    const std::string program = fmt::format(
        "f {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] {} }}\n"
        "ENTRY e {{ x = f32[3,7] parameter(0)  z = f32[] constant(2)  ROOT s = f32[3] reduce(x, z), dimensions={{1}}, "
        "to_apply=f }}",
        operation);
    EXPECT_EQ(DiffJson(WriteScratch("in_order.hlo", program), 0)["same_bits_as_shader_math"], true) << operation;
  }
}

TEST(DiffTest, TheAbsoluteValueOfAComplexNumberHasTheBoundOfHypot) {
  const std::string program =
      WriteScratch("abs.hlo", "ENTRY e { x = c128[200000] parameter(0)  ROOT r = f64[200000] abs(x) }");
  const CommandResult result = RunVxla("diff -v " + program);
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_THAT(result.out, HasSubstr("bound of this one operation: 2 ulp"));
}

TEST(DiffTest, ASumOfAMillionStaysWithinTheBoundOfItsLength) {
  const std::string program =
      WriteScratch("sum.hlo",
                   "f { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n"
                   "ENTRY e { x = f32[1000003] parameter(0)  z = f32[] constant(0)  ROOT s = f32[] reduce(x, z), "
                   "dimensions={0}, to_apply=f }");
  const Json json = DiffJson(program, 0);
  EXPECT_EQ(json["same_bits_as_shader_math"], true);
}

TEST(DiffTest, WideSumsAreRightToTheLastBit) {
  const std::string program =
      WriteScratch("dot.hlo",
                   "ENTRY e { a = f32[37,4099] parameter(0)  b = f32[4099,41] parameter(1)\n"
                   "  ROOT d = f32[37,41] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0} }");
  const Json json = DiffJson(program + " --accumulation wide --ulp 1", 0);
  EXPECT_EQ(json["same_bits_as_shader_math"], true);
  DiffJson(program + " --ulp 1", 1);
}

// One has 64-bit types and narrow storage, the other emulates all of them.
TEST(DiffTest, TwoDevicesAreComparedWithEachOtherAndHaveTheSameBits) {
  const std::string program =
      WriteScratch("wide_and_narrow.hlo",
                   "ENTRY e { a = f32[37,99] parameter(0)  b = f64[37,99] parameter(1)  n = s4[37,99] parameter(2)\n"
                   "  c = f32[37,99] exponential(a)  d = f64[37,99] divide(b, b)  e = f64[37,99] convert(c)\n"
                   "  m = s4[37,99] multiply(n, n)  f = f64[37,99] add(d, e)\n"
                   "  ROOT r = (f64[37,99], s4[37,99]) tuple(f, m) }");
  const Json json = DiffJson(program + " --device llvmpipe --against swiftshader --rtol 0 --isolate", 0);
  EXPECT_EQ(json["verdict"], "agree");
  EXPECT_THAT(json["device"].get<std::string>(), HasSubstr("llvmpipe"));
  EXPECT_THAT(json["reference"].get<std::string>(), HasSubstr("SwiftShader"));
  ASSERT_EQ(json["results"].size(), 2u);
  for (const Json& result : json["results"]) EXPECT_EQ(result["differing"], 0);
}

TEST(DiffTest, BothBindingModesAreComparedWithEachOther) {
  const Json json =
      DiffJson(WriteScratch("attention.hlo", kAttention) +
                   " --bindings addresses --against vulkan --against-bindings descriptors --rtol 0 --isolate",
               0);
  EXPECT_EQ(json["verdict"], "agree");
  EXPECT_NE(json["reference"], "the CPU reference");
}

TEST(DiffTest, AllDevicesGiveOneJsonObjectAndAReportEach) {
  const std::string report = ScratchFolder() + "/all.html";
  const Json json = DiffJson(WriteScratch("attention.hlo", kAttention) + " --device all --report " + report, 0);
  EXPECT_EQ(json["verdict"], "agree");
  ASSERT_GE(json["devices"].size(), 1u);
  EXPECT_EQ(json["devices"][0]["verdict"], "agree");
  EXPECT_TRUE(std::filesystem::exists(report.substr(0, report.size() - 4) + "0.html"));
  EXPECT_FALSE(std::filesystem::exists(report));
}

TEST(DiffTest, TheReportIsOneWholePage) {
  const std::string report = ScratchFolder() + "/report.html";
  const std::string program = WriteScratch("attention.hlo", kAttention);
  ASSERT_EQ(RunVxla("diff " + program + " --isolate --seed 4 --report " + report).exit_code, 0);
  const std::string page = ReadScratch(report);
  EXPECT_THAT(page, HasSubstr("<!doctype html>"));
  EXPECT_THAT(page, HasSubstr("</html>"));
  EXPECT_THAT(page, HasSubstr("AGREE"));
  EXPECT_THAT(page, HasSubstr("<svg"));
  EXPECT_THAT(page, HasSubstr("vxla diff " + program + " --seed 4 --isolate --report "));
  EXPECT_THAT(page, HasSubstr("denormals"));
  EXPECT_THAT(page, HasSubstr("exponential"));
  // Nothing is fetched from elsewhere.
  for (const char* outside : {"http://", "https://", "src=", "@import", "<script"})
    EXPECT_THAT(page, Not(HasSubstr(outside)));
}

TEST(DiffTest, AReportThatCannotBeWrittenIsAnError) {
  const CommandResult result =
      RunVxla("diff " + WriteScratch("attention.hlo", kAttention) + " --report /nosuchfolder/report.html");
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("/nosuchfolder/report.html"));
}

TEST(DiffTest, AFileThatTheReferenceContradictsTooIsTheFault) {
  const std::string program = WriteScratch("attention.hlo", kAttention), out = ScratchFolder() + "/expected.npz";
  ASSERT_EQ(RunVxla("run " + program + " --device cpu --seed 1 -o " + out).exit_code, 0);
  const Json json = DiffJson(program + " --seed 2 --against " + out, 1);
  EXPECT_EQ(json["verdict"], "differ");
  EXPECT_EQ(json["first_bad"], "result_0");
  EXPECT_EQ(json["fault"], "expected file");
}

TEST(DiffTest, RoundingThatAProgramMakesGrowIsCalledSo) {
  // (1 + x) - 1 of small x keeps few bits, and the tolerance asks for all of them; each operation is exact to its
  // rounding.
  const std::string program = WriteScratch("grow.hlo",
                                           "ENTRY e { x = f32[101] parameter(0)  y = f32[101] sine(x)  z = f32[101] "
                                           "cosine(x)  yy = f32[101] multiply(y, y)  zz = f32[101] multiply(z, z)\n"
                                           "  s = f32[101] add(yy, zz)  one = f32[] constant(1)  ones = f32[101] "
                                           "broadcast(one), dimensions={}  ROOT d = f32[101] subtract(s, ones) }");
  const Json json = DiffJson(program + " --ulp 0", 1);
  EXPECT_EQ(json["fault"], "rounding");
  EXPECT_EQ(json["same_bits_as_shader_math"], true);
}

TEST(DiffTest, WithoutATolerancesTheAmplificationIsNamed) {
  const std::string program = WriteScratch("grown.hlo",
                                           "ENTRY e { x = f32[1000] parameter(0)  y = f32[1000] sine(x)  z = f32[1000] "
                                           "cosine(x)  yy = f32[1000] multiply(y, y)  zz = f32[1000] multiply(z, z)\n"
                                           "  s = f32[1000] add(yy, zz)  one = f32[] constant(1)  ones = f32[1000] "
                                           "broadcast(one), dimensions={}  ROOT d = f32[1000] subtract(s, ones) }");
  const CommandResult result = RunVxla("diff " + program);
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_THAT(result.out, HasSubstr("; the program amplifies rounding errors: by "));
  EXPECT_THAT(result.out, HasSubstr("x at result_0"));
  const Json json = DiffJson(program, 0);
  EXPECT_EQ(json["results"][0]["judged_by"], "conditioning");
  EXPECT_EQ(json["results"][0]["amplification"], json["amplification"]);
  const Json plain = DiffJson(WriteScratch("attention.hlo", kAttention), 0);
  EXPECT_EQ(plain["results"][0]["judged_by"], "tolerance");
  EXPECT_TRUE(plain["amplification"].is_null());
}

TEST(DiffTest, RtolAloneLeavesTheDefaultAtolAndAtolAloneTheDefaultRtol) {
  // Elements far below the largest are within the absolute tolerance only, others within the relative one.
  const std::string program =
      WriteScratch("both.hlo",
                   "ENTRY e { x = f32[4000] parameter(0)  y = f32[4000] sine(x)  ROOT z = f32[4000] "
                   "exponential(y) }");
  EXPECT_EQ(DiffJson(program + " --rtol 0", 0)["verdict"], "agree");
  EXPECT_EQ(DiffJson(program + " --atol 0", 0)["verdict"], "agree");
  EXPECT_EQ(DiffJson(program + " --rtol 0 --atol 0", 1)["verdict"], "differ");
}

// Its logarithm is -inf or NaN where the device takes the denormal as zero, and -92.1 where it does not.
TEST(DiffTest, WholeProgramsTakeAFlushedDenormalForZero) {
  const std::string program = WriteScratch(
      "denormal.hlo",
      "HloModule m\nENTRY e { a = f32[3] constant({1e-40, -3e-39, 2})  b = f32[3] parameter(0)\n"
      "  c = f32[3] multiply(a, b)  l = f32[3] log(a)  d = f32[3] add(c, a)  ROOT t = (f32[3], f32[3]) tuple(l, d) }");
  EXPECT_EQ(DiffJson(program, 0)["verdict"], "agree");
}

// The second angle lies on the logarithm's cut, so that each side may give either half turn.
TEST(DiffTest, AnglesOnACutMayTurnInAProgramOfMore) {
  const std::string program = WriteScratch(
      "angles.hlo",
      "HloModule m\nENTRY e { y = c64[3] constant({(1,1e-30), (-2,-0), (1e-38,-1e-38)})  x = c64[3] "
      "constant({(1e7,3e7), "
      "(2.5,0), (-0.5,2)})\n  a = c64[3] atan2(y, x)  p = c64[3] power(x, y)  ROOT t = (c64[3], c64[3]) tuple(a, p) }");
  EXPECT_EQ(DiffJson(program, 0)["verdict"], "agree");
}

// A power that vanishes lies in any quadrant where its angle is not known: what is divided by it is an infinity of any
// sign. And a product of narrow floats may vanish on the way, whatever comes after it.
TEST(DiffTest, WhatVanishesLeavesSignsAndProductsOpen) {
  const std::string powers = WriteScratch("powers.hlo",
                                          "HloModule m\nENTRY e { z = c128[4] constant({(-1.4e-6,-2.2e214), "
                                          "(2.2e-308,-7.8e150), (-3e276,0), (7e110,-5.4e193)})\n"
                                          "  o = c128[4] constant({(-2,-0.2), (-0.3,-0.7), (-1,0), (1,2)})  p = "
                                          "c128[4] power(z, z)  ROOT r = c128[4] divide(o, p) }");
  EXPECT_EQ(DiffJson(powers, 0)["verdict"], "agree");
  const std::string product = WriteScratch(
      "narrow_product.hlo",
      "HloModule m\nf { x = f16[] parameter(0)  y = f16[] parameter(1)  ROOT r = f16[] multiply(x, y) }\n"
      "ENTRY e { a = f16[3,4] constant({{-1e-4, 1e-4, 1e4, 3}, {1e4, -1e-4, 2, 1e-4}, {3, 1e3, 2e-4, 1e-6}})  i = "
      "f16[] constant(1)\n"
      "  p = f16[3] reduce(a, i), dimensions={1}, to_apply=f  b = f16[3,2] broadcast(p), dimensions={0}\n"
      "  c = f16[3,2] ceil(b)  d = f16[3,2] power(c, b)  ROOT t = (f16[3], f16[3,2], f16[3,2]) tuple(p, c, d) }");
  EXPECT_EQ(DiffJson(product, 0)["verdict"], "agree");
}

// A root of the same device may see the denormal, whose root is NaN where that of -0 is -0.
TEST(DiffTest, WhatADeviceMayFlushItMayKeep) {
  const std::string root = WriteScratch(
      "root.hlo", "HloModule m\nENTRY e { a = f32[4] constant({-1e-40, -3e-39, 2e-39, 2})  ROOT r = f32[4] sqrt(a) }");
  EXPECT_EQ(DiffJson(root, 0)["verdict"], "agree");
  // A partial product of 1e-39 is lost, or is not.
  const std::string product = WriteScratch(
      "product.hlo",
      "HloModule m\nf { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT r = f32[] multiply(x, y) }\n"
      "ENTRY e { a = f32[2,4] constant({{1e-20, 1e-19, 1e30, 3}, {1e-15, 1e-15, 1e10, 1}})  i = f32[] constant(1)\n"
      "  ROOT r = f32[2] reduce(a, i), dimensions={1}, to_apply=f }");
  EXPECT_EQ(DiffJson(product, 0)["verdict"], "agree");
  // SwiftShader flushes them in whatever is made of sums and products, and compares them for what they are.
  const std::pair<const char*, const char*> programs[] = {
      {"conv",
       "ENTRY e { x = f32[2,40,4] parameter(0)  k = f32[3,4,5] parameter(1)\n"
       "ROOT r = f32[2,38,5] convolution(x, k), window={size=3}, dim_labels=b0f_0io->b0f }"},
      {"dot",
       "ENTRY e { x = f32[30,4] parameter(0)  y = f32[4,30] parameter(1)\n"
       "ROOT r = f32[30,30] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }"},
      {"solve",
       "ENTRY e { x = f32[6,6] parameter(0)  y = f32[6,3] parameter(1)\n"
       "ROOT r = f32[6,3] triangular-solve(x, y), left_side=true, lower=true, transpose_a=NO_TRANSPOSE }"},
      {"select",
       "g { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=GE }\n"
       "c { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n"
       "ENTRY e { x = f32[2001] parameter(0)  s = f32[1000] parameter(1)  i = f32[] constant(0)\n"
       "ROOT r = f32[2001] select-and-scatter(x, s, i), window={size=3 stride=2 pad=0_0}, select=g, "
       "scatter=c }"}};
  std::string files;
  for (const auto& [name, text] : programs) files += WriteScratch(fmt::format("flushed_{}.hlo", name), text) + " ";
  // Nor are parts of a factor lost that the other factor makes large, or infinities that meet holes alone wrong.
  const CommandResult flushed = RunVxla("diff " + files + "--device swiftshader --fill special --seed 1 -j 1");
  EXPECT_EQ(flushed.exit_code, 0) << flushed.out;
}

TEST(DiffTest, RejectsAToleranceThatIsNoNumberOrBelowZero) {
  const std::string program = WriteScratch("attention.hlo", kAttention);
  for (const char* option : {"--rtol=-1", "--rtol=nan", "--atol=-1e-9", "--ulp=-2", "--ulp=few"}) {
    const CommandResult result = RunVxla("diff " + program + " " + option);
    EXPECT_EQ(result.exit_code, 2) << option;
    EXPECT_THAT(result.err, HasSubstr("is not a number from 0 to inf")) << option;
  }
}

TEST(RunTest, AnInstructionWithMoreBuffersThanADescriptorSetRunsOnTheDevice) {
  // A sort of forty arrays by the first.
  std::string compared, entry, names, types;
  for (int i = 0; i < 40; ++i) {
    compared += fmt::format("  a{0} = f32[] parameter({1})\n  b{0} = f32[] parameter({2})\n", i, 2 * i, 2 * i + 1);
    entry += fmt::format("  p{0} = f32[4] parameter({0})\n", i);
    names += fmt::format("{}p{}", i > 0 ? ", " : "", i);
    types += fmt::format("{}f32[4]", i > 0 ? ", " : "");
  }
  const std::string program = WriteScratch(
      "many_buffers.hlo", fmt::format("less {{\n{}  ROOT r = pred[] compare(a0, b0), direction=LT\n}}\nENTRY e {{\n{}"
                                      "  ROOT s = ({}) sort({}), dimensions={{0}}, to_apply=less\n}}\n",
                                      compared, entry, types, names));
  EXPECT_EQ(RunVxla("run " + program + " --require-gpu --json").exit_code, 0);
  const CommandResult descriptors = RunVxla("run " + program + " --require-gpu --bindings descriptors");
  EXPECT_EQ(descriptors.exit_code, 3);
  EXPECT_THAT(descriptors.err, HasSubstr("81 storage buffers"));
}

TEST(RunTest, EveryCommandSaysWhereAProgramCannotBeRun) {
  const std::string program = WriteScratch(
      "elided.hlo", "ENTRY e { a = f32[4] parameter(0)\n  k = f32[4] constant({...})\n  ROOT c = f32[4] add(a, k) }");
  for (const char* command : {"run ", "explain ", "diff ", "diff --isolate ", "bench "}) {
    const CommandResult result = RunVxla(command + program);
    EXPECT_EQ(result.exit_code, 2) << command;
    EXPECT_THAT(result.err, HasSubstr("vxla: error: " + program + ":2:3: constant k")) << command;
  }
}

TEST(RunTest, CheckSameFindsEveryRunEqual) {
  const std::string program = WriteScratch("attention.hlo", kAttention);
  const CommandResult same = RunVxla("run " + program + " --num-runs 5 --check-same --json");
  EXPECT_EQ(same.exit_code, 0);
  EXPECT_THAT(same.err, HasSubstr("vxla: note: 5 runs gave the same bits\n"));
  EXPECT_EQ(Json::parse(same.out)["same_bits"], true);
  const CommandResult alone = RunVxla("run " + program + " --check-same");
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_THAT(alone.err, HasSubstr("--num-runs 2"));
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
