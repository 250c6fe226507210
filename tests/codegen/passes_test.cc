// That what ValueWriter writes is what each pass looks for: whole fusions, lowered for devices on which passes run.
#include "backend/vulkan/codegen/passes/passes.h"

#include "backend/gpu_vendors.h"
#include "backend/vulkan/codegen/value_writer.h"
#include "backend/vulkan/device/plan/pretend.h"
#include "tests/codegen/codegen_test_support.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

DeviceFacts Gpu() {
  DeviceFacts facts = FullFacts();
  PretendGpu(facts);
  facts.division_f32 = DeviceFacts::Division::kCorrected;
  facts.fused_multiply_add = facts.native_f16 = facts.byte_offsets = true;
  return facts;
}

std::string TextOf(std::string_view program, const DeviceFacts& facts = Gpu()) {
  const std::vector<Step> steps = LowerRoot(program, facts);
  EXPECT_EQ(steps.size(), 1u);
  if (steps.size() != 1) return {};
  Compiled(steps[0], facts);
  return steps[0].kernel.generated;
}

// What a loop's limits ask of the code.
TEST(CodeTest, KnowsItsBarriersAndAccesses) {
  DeviceFacts facts = Gpu();
  KernelBuilder kernel(facts);
  const int k = kernel.AddBuffer(ElementType::kF32, Access::kReadWrite, {0, 0, 64});
  FusionDescription nothing;
  PlainBuffers buffers;
  IndexSpace space;
  ValueWriter writer(kernel, nothing, buffers, space);
  writer.Barrier();
  const int i = space.AddVariable(4);
  writer.Bind(i, "i");
  writer.Vectorize(i, 4);
  std::vector<std::string> values;
  const IndexExpression first = space.Scale(space.Variable(i), 4);
  for (int64_t j = 0; j < 4; ++j) values.push_back(writer.Load(k, space.Add(first, {{}, j})));
  writer.StoreGroup(k, first, values);
  writer.Assign("a", kernel.Loaded(k, "1u"));
  writer.Add(
      {.kind = Statement::Kind::kStore, .target = kernel.ElementAt(k, "0u"), .values = {kernel.ElementAt(k, "b")}});
  writer.Line("atomicAdd(", kernel.ElementAt(k, "c"), ", 1u);");
  writer.Line("a = LOAD(0, f32, 2u);");  // says of no tensor that it reads it
  const Code code = writer.Take() + Barrier(2);
  EXPECT_EQ(code.barriers(), 2);
  EXPECT_EQ(code.accesses(), 4 + 4 + 1 + 2) << code.Print();
  EXPECT_EQ(Count(code.Print(),
                  "  a = LOAD(0, f32, 1u);\n  STORE(0, f32, 0u, LOAD(0, f32, b));\n"
                  "  atomicAdd(ELEMENT(0, f32, c), 1u);\n"),
            1);
  EXPECT_EQ(Count(code.Print(), "    PHASE\n"), 1);
}

TEST(PassesTest, QuotientsAreGroups) {
  const char* program = R"(
    f { a = f32[64] parameter(0)  b = f32[64] parameter(1)  q = f32[64] divide(a, b)  r = f32[64] divide(b, a)
        ROOT s = f32[64] add(q, r) }
    ENTRY e { a = f32[64] parameter(0)  b = f32[64] parameter(1)
              ROOT x = f32[64] fusion(a, b), kind=kLoop, calls=f })";
  const std::string grouped = TextOf(program);
  EXPECT_GE(Count(grouped, " = divide_middle_f32("), 2) << grouped;
  EXPECT_EQ(Count(grouped, " = divide_f32("), 0) << grouped;
  EXPECT_EQ(Count(grouped, "quotient_by_integers_f32("), 1) << grouped;
  DeviceFacts rolled = Gpu();
  rolled.fused_multiply_add = false;
  rolled.compile_only = true;
  rolled.kind = DeviceFacts::Kind::kOther;
  EXPECT_EQ(Count(TextOf(program, rolled), "= corrected_divide_f32("), 1);
  DeviceFacts native = Gpu();
  native.division_f32 = DeviceFacts::Division::kNative;
  EXPECT_GE(Count(TextOf(program, native), " = divide_f32("), 2);
}

// A sum of emulated f64 is the call of a long function, which a driver may not move a load over.
TEST(PassesTest, LoadsComeBeforeWhatIsCalculatedMeanwhile) {
  DeviceFacts facts = Gpu();
  facts.float64 = false;
  const char* kSum = R"(
    f { a = f64[4096] parameter(0)  b = f64[4096] parameter(1)  c = f64[4096] parameter(2)  s = f64[4096] add(a, b)
        ROOT t = f64[4096] multiply(s, c) }
    ENTRY e { a = f64[4096] parameter(0)  b = f64[4096] parameter(1)  c = f64[4096] parameter(2)
              ROOT x = f64[4096] fusion(a, b, c), kind=kLoop, calls=f })";
  const std::string text = TextOf(kSum, facts);
  EXPECT_GE(Count(text, " = LOAD("), 3) << text;
  EXPECT_LT(text.rfind(" = LOAD("), text.find(" = add_f64(")) << text;
  facts.vendor_id = kAmd;
  EXPECT_NE(TextOf(kSum, facts), text) << "its compiler does so itself";
}

TEST(PassesTest, ExponentialsAreGroups) {
  const std::string grouped = TextOf(R"(
    f { a = f32[64] parameter(0)  b = f32[64] parameter(1)  p = f32[64] exponential(a)  q = f32[64] exponential(b)
        ROOT s = f32[64] subtract(p, q) }
    ENTRY e { a = f32[64] parameter(0)  b = f32[64] parameter(1)
              ROOT x = f32[64] fusion(a, b), kind=kLoop, calls=f })");
  EXPECT_GE(Count(grouped, " = exponential_middle_f32("), 2) << grouped;
  EXPECT_EQ(Count(grouped, " = exponential_f32("), 1) << grouped;
}

TEST(PassesTest, QuotientsOfAFactorsColumnsAreAGroup) {
  const auto steps =
      LowerRoot("ENTRY e { a = f32[64,64] parameter(0)  ROOT l = f32[64,64] cholesky(a), lower=true }", Gpu());
  int grouped = 0;
  for (const Step& step : steps) {
    if (step.kernel.algorithm != "linalg/factor_block.comp") continue;
    ++grouped;
    EXPECT_GE(Count(step.kernel.generated, " = divide_middle_f32("), 2) << step.kernel.generated;
    EXPECT_EQ(Count(step.kernel.generated, "quotient_by_integers_f32("), 1) << step.kernel.generated;
  }
  EXPECT_GT(grouped, 0);
}

TEST(PassesTest, HalvesAreComputedInPairs) {
  const std::string packed = TextOf(R"(
    f { a = f16[4194304] parameter(0)  b = f16[4194304] parameter(1)  m = f16[4194304] multiply(a, b)
        ROOT s = f16[4194304] add(m, a) }
    ENTRY e { a = f16[4194304] parameter(0)  b = f16[4194304] parameter(1)
              ROOT x = f16[4194304] fusion(a, b), kind=kLoop, calls=f })");
  EXPECT_GE(Count(packed, "precise f16vec2 half_"), 4) << packed;
  EXPECT_GE(Count(packed, "canonical_nans_f16("), 1) << packed;
  EXPECT_EQ(Count(packed, "encode_rounded_pair_f16("), 0) << packed;
}

TEST(PassesTest, RoundingsArePartOfPacking) {
  for (const std::string type : {"bf16", "f16"}) {
    const std::string packed = TextOf(fmt::format(R"(
      f {{ a = {0}[4194304] parameter(0)  ROOT s = {0}[4194304] tanh(a) }}
      ENTRY e {{ a = {0}[4194304] parameter(0)  ROOT x = {0}[4194304] fusion(a), kind=kLoop, calls=f }})",
                                                  type));
    EXPECT_GE(Count(packed, "encode_number_pair_" + type), 1) << packed;
  }
}

// What the scheduler asks of a kernel is noted as it is written.
TEST(PassesTest, AStepSaysWhetherItEmulatesAndWhetherItsItemsAreWhole) {
  const char* sum = "ENTRY e { a = f64[64] parameter(0)  ROOT s = f64[64] add(a, a) }";
  const char* inside = R"(
    f { a = f32[64] parameter(0)  w = f64[64] convert(a)  s = f64[64] add(w, w)  ROOT r = f32[64] convert(s) }
    ENTRY e { a = f32[64] parameter(0)  ROOT x = f32[64] fusion(a), kind=kLoop, calls=f })";
  for (const char* program : {sum, inside}) {
    EXPECT_TRUE(LowerRoot(program, BareFacts()).at(0).traits.emulates);
    EXPECT_FALSE(LowerRoot(program, FullFacts()).at(0).traits.emulates);
  }
  EXPECT_FALSE(
      LowerRoot("ENTRY e { a = f32[64] parameter(0)  ROOT s = f32[64] add(a, a) }", BareFacts()).at(0).traits.emulates);
  const auto key = [](int64_t count) {
    return LowerRoot(fmt::format("ENTRY e {{ a = f32[{0}] parameter(0)  ROOT s = f32[{0}] negate(a) }}", count), Gpu())
        .at(0)
        .kernel;
  };
  const KernelKey whole = key(4194304), tested = key(37);
  EXPECT_EQ(whole.whole_items, whole.constants.at(3));
  EXPECT_TRUE(tested.one_item);
  EXPECT_EQ(tested.whole_items, 0u);
  EXPECT_EQ(Count(*AssembleShader(whole, Gpu(), BindingMode::kAddresses), "#define WHOLE_ITEMS "), 1);
  EXPECT_EQ(Count(*AssembleShader(tested, Gpu(), BindingMode::kAddresses), "#define ONE_ITEM 1\n"), 1);
}

// A driver that takes long over text gets it as it is.
TEST(PassesTest, SoftwareDriversHavePlainText) {
  DeviceFacts facts = FullFacts();
  facts.division_f32 = DeviceFacts::Division::kCorrected;
  const std::string plain =
      TextOf("ENTRY e { a = f32[64] parameter(0)  b = f32[64] parameter(1)  ROOT q = f32[64] divide(a, b) }", facts);
  EXPECT_EQ(Count(plain, "divide_middle_f32("), 0);
  EXPECT_GE(Count(plain, " = divide_f32("), 1);
}

}  // namespace
}  // namespace VXLA_NAMESPACE::vulkan
