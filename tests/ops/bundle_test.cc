// Bundles: what they give is what the program gives, bit for bit; damaged, foreign and hostile ones are refused.
#include "scheduler/bundle/bundle.h"

#include <gmock/gmock.h>

#include <cstring>
#include <random>

#include "backend/vulkan/device/target.h"
#include "backend/vulkan/shader/custom_shader.h"
#include "core/host/hash.h"
#include "scheduler/bundle/bundle_format.h"
#include "tests/support/device_test_support.h"
#include "tests/support/faulty_device.h"

namespace VXLA_NAMESPACE::testing {
namespace bundle_test {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct NamedProgram {
  const char* name;
  const char* text;
};

// One for each kind of step and of memory.
constexpr NamedProgram kPrograms[] = {
    {"FusionDotReduce",
     "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n"
     "ENTRY e { x = f32[37,41] parameter(0)  w = f32[41,43] parameter(1)  zero = f32[] constant(0)\n"
     "d = f32[37,43] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
     "t = f32[37,43] tanh(d)  ROOT s = f32[37] reduce(t, zero), dimensions={1}, to_apply=sum }"},
    {"LongEpilogue",
     "ENTRY e { x = f32[37,41] parameter(0)  w = f32[41,43] parameter(1)  b = f32[37,43] parameter(2)\n"
     "d = f32[37,43] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
     "s = f32[37,43] add(d, b)  ROOT t = f32[37,43] tanh(s) }"},
    {"Constants",
     "ENTRY e { x = f32[5] parameter(0)  c = f32[5] constant({1, -2, 3.5, nan, 0.25})\n"
     "k = f32[5] multiply(x, c)  z = f32[] constant(7)\n"
     "ROOT t = (f32[5], f32[5], f32[]) tuple(k, c, z) }"},
    {"CountedLoop",
     "body { s = (s32[], f32[7,7]) parameter(0)  i = s32[] get-tuple-element(s), index=0\n"
     "m = f32[7,7] get-tuple-element(s), index=1  one = s32[] constant(1)  n = s32[] add(i, one)\n"
     "p = f32[7,7] dot(m, m), lhs_contracting_dims={1}, rhs_contracting_dims={0}  f = f32[] constant(0.01)\n"
     "g = f32[7,7] broadcast(f), dimensions={}  k = f32[7,7] multiply(p, g)  q = f32[7,7] add(m, k)\n"
     "ROOT r = (s32[], f32[7,7]) tuple(n, q) }\n"
     "cond { s = (s32[], f32[7,7]) parameter(0)  i = s32[] get-tuple-element(s), index=0\n"
     "n = s32[] constant(11)  ROOT r = pred[] compare(i, n), direction=LT }\n"
     "ENTRY e { m = f32[7,7] parameter(0)  z = s32[] constant(0)  s = (s32[], f32[7,7]) tuple(z, m)\n"
     "ROOT w = (s32[], f32[7,7]) while(s), condition=cond, body=body }"},
    {"LoopThatEndsByItsData",
     "less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=LT }\n"
     "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n"
     "body { s = (s32[], f32[300]) parameter(0)  i = s32[] get-tuple-element(s), index=0\n"
     "m = f32[300] get-tuple-element(s), index=1  one = s32[] constant(1)  n = s32[] add(i, one)\n"
     "o = f32[] constant(1.5)  b = f32[300] broadcast(o), dimensions={}  a = f32[300] abs(m)\n"
     "k = f32[300] multiply(a, b)  l = f32[300] sort(k), dimensions={0}, to_apply=less\n"
     "ROOT r = (s32[], f32[300]) tuple(n, l) }\n"
     "cond { s = (s32[], f32[300]) parameter(0)  m = f32[300] get-tuple-element(s), index=1\n"
     "z = f32[] constant(0)  t = f32[] reduce(m, z), dimensions={0}, to_apply=sum  n = f32[] constant(9000)\n"
     "ROOT r = pred[] compare(t, n), direction=LT }\n"
     "ENTRY e { m = f32[300] parameter(0)  z = s32[] constant(0)  s = (s32[], f32[300]) tuple(z, m)\n"
     "ROOT w = (s32[], f32[300]) while(s), condition=cond, body=body }"},
    {"Branches",
     "less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=LT }\n"
     "up { x = f32[65] parameter(0)  ROOT r = f32[65] sort(x), dimensions={0}, to_apply=less }\n"
     "down { x = f32[65] parameter(0)  ROOT r = f32[65] negate(x) }\n"
     "ENTRY e { p = pred[] parameter(0)  x = f32[65] parameter(1)\n"
     "ROOT c = f32[65] conditional(p, x, x), true_computation=up, false_computation=down }"},
    {"InPlace",
     "HloModule m, input_output_alias={ {}: (0, {}, may-alias) }\n"
     "ENTRY e { x = f32[64,3] parameter(0)  u = f32[1,3] parameter(1)  i = s32[] parameter(2)  z = s32[] constant(0)\n"
     "ROOT r = f32[64,3] dynamic-update-slice(x, u, i, z) }"},
    {"TuplesAndNothing",
     "ENTRY e { t = (f32[3], (s32[], f32[0,4])) parameter(0)  a = f32[3] get-tuple-element(t), index=0\n"
     "n = (s32[], f32[0,4]) get-tuple-element(t), index=1  s = s32[] get-tuple-element(n), index=0\n"
     "v = f32[0,4] get-tuple-element(n), index=1  d = s32[] add(s, s)\n"
     "q = (f32[3], f32[0,4]) tuple(a, v)\n"
     "ROOT r = ((f32[3], f32[0,4]), s32[], f32[3]) tuple(q, d, a) }"},
    {"Types",
     "ENTRY e { a = s64[9] parameter(0)  b = f64[9] parameter(1)  c = u8[9] parameter(2)  d = pred[9] parameter(3)\n"
     "h = f16[9] parameter(4)  g = bf16[9] parameter(5)  w = c64[9] parameter(6)  n = s4[9] parameter(7)\n"
     "a2 = s64[9] multiply(a, a)  b2 = f64[9] add(b, b)  c2 = u8[9] add(c, c)  d2 = pred[9] not(d)\n"
     "h2 = f16[9] add(h, h)  g2 = bf16[9] multiply(g, g)  w2 = c64[9] multiply(w, w)  n2 = s4[9] add(n, n)\n"
     "ROOT r = (s64[9], f64[9], u8[9], pred[9], f16[9], bf16[9], c64[9], s4[9]) tuple(a2, b2, c2, d2, h2, g2, w2, n2) "
     "}"},
    {"ZerosThatFollow",
     "ENTRY e { s = s32[5] parameter(0)  x = f32[5] constant({1, -2, inf, nan, -inf})  d = s32[5] subtract(s, s)\n"
     "z = f32[5] convert(d)  m = f32[5] multiply(x, z)  q = f32[5] divide(x, z)  r = f32[5] divide(z, x)\n"
     "ROOT t = (f32[5], f32[5], f32[5]) tuple(m, q, r) }"},
    {"RandomState", "ENTRY e { s = u64[2] rng-get-and-update-state(), delta=1  ROOT r = (u64[2]) tuple(s) }"},
};

std::span<const std::byte> Bytes(const std::string& file) { return std::as_bytes(std::span(file)); }

std::vector<const Literal*> Pointers(const std::vector<Literal>& arguments) {
  std::vector<const Literal*> pointers;
  for (const Literal& argument : arguments) pointers.push_back(&argument);
  return pointers;
}

std::shared_ptr<Device> Generic(BindingMode mode) {
  vulkan::OpenOptions options;
  options.cache = false;
  return vulkan::MakeTarget(vulkan::GenericFacts(mode), mode, options);
}

// The text's bundle for the device that the client has, or for any.
Result<std::string> Bundled(const std::string& text, Client& client, bool generic) {
  const auto module = ParseModule(text);
  VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<Executable> executable, client.Compile(*module));
  BundleBuilder builder;
  VXLA_RETURN_IF_ERROR(builder.Add(*executable, client.device(), generic));
  return builder.Finish("a test");
}
std::string GenericBundle(const std::string& text, BindingMode mode = BindingMode::kDescriptors) {
  const Result<std::string> file = Bundled(text, *MakeTestClient(Generic(mode)), /*generic=*/true);
  VXLA_CHECK(file.ok(), file.status().message());
  return *file;
}

void ExpectSameBits(const Literal& a, const Literal& b) {
  const auto one = FlattenLiteral(a), other = FlattenLiteral(b);
  ASSERT_EQ(one.size(), other.size());
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i]->shape(), other[i]->shape());
    EXPECT_TRUE(std::ranges::equal(one[i]->bytes(), other[i]->bytes())) << "leaf " << i;
  }
}

// A size that does not fit is what the text's program says, but for the number itself, which no device keeps.
TEST(BundleFaultTest, SizesThatDoNotFitAreNamedAsTheTextNamesThem) {
  const auto module = ParseModule(R"(HloModule sizes
ENTRY e {
  x = f32[4] parameter(0)
  n = s32[] parameter(1)
  m = s32[] parameter(2)
  a = f32[<=4] set-dimension-size(x, n), dimensions={0}
  b = f32[<=4] set-dimension-size(x, m), dimensions={0}
  ROOT s = f32[<=4] add(a, b)
})");
  const Literal x = Literal::FromVector<float>(Shape(ElementType::kF32, {4}), std::vector<float>{1, 2, 3, 4});
  struct Case {
    int32_t n, m;
    std::string text, bundle;
  };
  const Case cases[] = {
      {8, 2, "size 8 is not in 0 to 4, the bound of dimension 0", "size ? is not in 0 to 4, the bound of dimension 0"},
      {2, 8, "size 8 is not in 0 to 4, the bound of dimension 0", "size ? is not in 0 to 4, the bound of dimension 0"},
      {2, 3, "dimension 0 of operand 0 has the live size 2, dimension 0 of operand 1 has 3",
       "dimension 0 of operand 0 has the live size ?, dimension 0 of operand 1 has ?"},
      {3, 3, "", ""}};
  for (const BindingMode mode : ModesToRun()) {
    Client* const client = DeviceClient(mode);
    CompileOptions options;
    options.sizes_on_device = true;
    const auto on_device = client->Compile(*module, options), by_size = client->Compile(*module);
    ASSERT_TRUE(on_device.ok() && by_size.ok()) << on_device.status().message() << by_size.status().message();
    BundleBuilder builder;
    ASSERT_TRUE(builder.Add(**on_device, client->device(), /*generic=*/false).ok());
    const std::string file = builder.Finish("a test");
    const auto loaded = client->Load(Bytes(file));
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    for (const Case& c : cases) {
      const Literal n = Literal::ScalarInt(ElementType::kS32, c.n), m = Literal::ScalarInt(ElementType::kS32, c.m);
      const std::vector<const Literal*> arguments = {&x, &n, &m};
      EXPECT_THAT((*by_size)->Run(arguments).status().message(), HasSubstr(c.text));
      EXPECT_THAT((*loaded)->Run(arguments).status().message(), HasSubstr(c.bundle));
      EXPECT_EQ((*loaded)->Run(arguments).ok(), c.bundle.empty());
    }
  }
}

class BundleTest : public ::testing::TestWithParam<NamedProgram> {};
INSTANTIATE_TEST_SUITE_P(Programs, BundleTest, ::testing::ValuesIn(kPrograms),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(BundleTest, GivesTheBitsOfTheProgram) {
  const auto module = ParseModule(GetParam().text);
  const std::vector<Literal> arguments = RandomArguments(*module);
  for (const BindingMode mode : ModesToRun()) {
    Client* const client = DeviceClient(mode);
    ASSERT_NE(client, nullptr);
    const auto compiled = client->Compile(*module);
    ASSERT_TRUE(compiled.ok()) << compiled.status().message();
    const auto wanted = (*compiled)->Run(Pointers(arguments));
    ASSERT_TRUE(wanted.ok()) << wanted.status().message();
    Result<std::string> file = Bundled(GetParam().text, *client, /*generic=*/false);
    ASSERT_TRUE(file.ok()) << file.status().message();
    const auto loaded = client->Load(Bytes(*file));
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    std::ranges::fill(*file, '\xff');  // nothing refers to it any more
    EXPECT_THAT((*loaded)->bundle_variant(), StartsWith(client->device().facts().name + " under "));
    EXPECT_EQ((*loaded)->plan().dispatch_count(), (*compiled)->plan().dispatch_count());
    for (int run = 0; run < 2; ++run) {
      const auto result = (*loaded)->Run(Pointers(arguments));
      ASSERT_TRUE(result.ok()) << result.status().message();
      ExpectSameBits(*result, *wanted);
    }
  }
}

TEST_P(BundleTest, GenericKernelsRunHereToo) {
  const auto module = ParseModule(GetParam().text);
  const std::vector<Literal> arguments = RandomArguments(*module);
  const auto wanted = RunOnCpu(*module, arguments);
  ASSERT_TRUE(wanted.has_value());
  for (const BindingMode mode : ModesToRun()) {
    const auto loaded = DeviceClient(mode)->Load(Bytes(GenericBundle(GetParam().text, mode)));
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    EXPECT_THAT((*loaded)->bundle_variant(), StartsWith("generic under "));
    const auto result = (*loaded)->Run(Pointers(arguments));
    ASSERT_TRUE(result.ok()) << result.status().message();
    ExpectAgreement(*result, *wanted, {}, "generic");
  }
}

TEST(BundleFileTest, TheDevicesOwnVariantGoesBeforeTheGenericOne) {
  const BindingMode mode = ModesToRun().front();
  Client* const client = DeviceClient(mode);
  const auto module = ParseModule(kPrograms[0].text);
  const auto target = Generic(mode);
  const auto general = MakeTestClient(target)->Compile(*module), own = client->Compile(*module);
  ASSERT_TRUE(general.ok() && own.ok());
  BundleBuilder builder;
  ASSERT_TRUE(builder.Add(**general, *target, true).ok());
  ASSERT_TRUE(builder.Add(**own, client->device(), false).ok());
  const auto loaded = client->Load(Bytes(builder.Finish("a test")));
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_THAT((*loaded)->bundle_variant(), StartsWith(client->device().facts().name));
}

// A generic target with the features that a device has enabled.
std::string FeaturesOf(const DeviceFacts& facts) {
  std::string target = "generic";
  if (facts.int64) target += "+i64";
  if (facts.float64) target += "+f64";
  if (facts.native_f16) target += "+f16";
  if (facts.storage16) target += "+storage16";
  if (facts.storage8) target += "+storage8";
  if (facts.fused_multiply_add) target += "+fma";
  const auto native = [](DeviceFacts::Division division) { return division == DeviceFacts::Division::kNative; };
  if (native(facts.division_f32) && (!facts.float64 || native(facts.division_f64))) target += "+division";
  if (facts.subgroup_shuffle) target += fmt::format("+subgroups{}", facts.subgroup_size);
  return target;
}

// Variants of one program for these targets, under one way to bind.
std::string ManyVariants(const std::string& text, BindingMode mode, const std::vector<std::string>& targets) {
  const auto module = ParseModule(text);
  BundleBuilder builder;
  for (const std::string& target : targets) {
    const auto facts = vulkan::GenericFactsOf(mode, target);
    VXLA_CHECK(facts.ok(), facts.status().message());
    vulkan::OpenOptions options;
    options.cache = false;
    const std::shared_ptr<Device> device = vulkan::MakeTarget(*facts, mode, options);
    const auto executable = MakeTestClient(device)->Compile(*module);
    VXLA_CHECK(executable.ok(), executable.status().message());
    const Status added = builder.Add(**executable, *device, /*generic=*/true);
    VXLA_CHECK(added.ok(), added.message());
  }
  return builder.Finish("a test");
}

TEST_P(BundleTest, VariantsThatUseFeaturesRunWhereTheseAreEnabled) {
  const auto module = ParseModule(GetParam().text);
  const std::vector<Literal> arguments = RandomArguments(*module);
  const auto wanted = RunOnCpu(*module, arguments);
  ASSERT_TRUE(wanted.has_value());
  for (const BindingMode mode : ModesToRun()) {
    Client* const client = DeviceClient(mode);
    const std::string most = FeaturesOf(client->device().facts());
    const auto loaded = client->Load(Bytes(ManyVariants(GetParam().text, mode, {"generic", most, "generic+f16"})));
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    EXPECT_THAT((*loaded)->bundle_variant(), StartsWith(most + " under "));
    const auto result = (*loaded)->Run(Pointers(arguments));
    ASSERT_TRUE(result.ok()) << result.status().message();
    ExpectAgreement(*result, *wanted, {}, "with features");
  }
}

TEST(BundleFileTest, TakesTheMostFeaturesThatAreEnabled) {
  const std::vector<std::string> targets = {"generic", "generic+f64+i64", "generic+i64", "generic+f16+i64+storage16",
                                            "generic+subgroups32"};
  const std::string file = ManyVariants(kPrograms[0].text, BindingMode::kDescriptors, targets);
  const auto bundle = ReadBundle(Bytes(file));
  ASSERT_TRUE(bundle.ok()) << bundle.status().message();
  const BindingMode modes[] = {BindingMode::kDescriptors};
  const auto chosen = [&](const char* enabled) {
    const auto index = ChooseVariant(*bundle, *vulkan::GenericFactsOf(BindingMode::kDescriptors, enabled), modes);
    return index.ok() ? bundle->variants[*index].ToString() : index.status().message();
  };
  EXPECT_EQ(chosen("generic"), "generic under descriptors");
  EXPECT_EQ(chosen("generic+storage8"), "generic under descriptors");
  EXPECT_EQ(chosen("generic+i64"), "generic+i64 under descriptors");
  EXPECT_EQ(chosen("generic+f64+i64"), "generic+i64+f64 under descriptors");
  EXPECT_EQ(chosen("generic+f64+i64+f16+storage16"), "generic+i64+f16+storage16 under descriptors");
  EXPECT_EQ(chosen("generic+subgroups64"), "generic under descriptors");
  EXPECT_EQ(chosen("generic+subgroups32"), "generic+subgroups32 under descriptors");
  Bundle last = *bundle;
  last.variants.erase(last.variants.begin(), last.variants.end() - 1);
  EXPECT_THAT(ChooseVariant(last, *vulkan::GenericFactsOf(BindingMode::kDescriptors, "generic+subgroups8"), modes)
                  .status()
                  .message(),
              HasSubstr("generic+subgroups32 under descriptors: subgroups of 8, 32 needed"));
}

// A second variant costs its plan and the kernels that differ.
TEST(BundleFileTest, VariantsShareConstantsAndEqualKernels) {
  std::string numbers;
  for (int i = 0; i < 20000; ++i) numbers += fmt::format("{}{}", i == 0 ? "" : ", ", i * i);
  const std::string text =
      "ENTRY e { x = f32[20000] parameter(0)  h = f16[64] parameter(1)  c = f32[20000] constant({" + numbers +
      "})\ny = f32[20000] add(x, c)  g = f16[64] multiply(h, h)  ROOT t = (f32[20000], f16[64]) tuple(y, g) }";
  const std::string one = ManyVariants(text, BindingMode::kDescriptors, {"generic"});
  const std::string three = ManyVariants(text, BindingMode::kDescriptors, {"generic", "generic+f16", "generic+i64"});
  const auto first = ReadBundle(Bytes(one)), all = ReadBundle(Bytes(three));
  ASSERT_TRUE(first.ok() && all.ok());
  EXPECT_EQ(all->constants.size(), first->constants.size());
  EXPECT_GE(all->constants.size(), 80000u);
  EXPECT_EQ(all->variants[0].modules[0], all->variants[1].modules[0]);
  EXPECT_NE(all->variants[0].modules[1], all->variants[1].modules[1]);
  EXPECT_EQ(all->variants[0].modules, all->variants[2].modules);
  EXPECT_LT(three.size(), one.size() * 5 / 4);
}

class UploadCounter final : public FaultyDevice {
 public:
  explicit UploadCounter(Device& device) : FaultyDevice(device, [](const Instruction&) { return false; }) {}
  Status Upload(std::span<const std::byte> source, Buffer& target, int64_t offset_bytes) override {
    sizes.push_back(source.size());
    return FaultyDevice::Upload(source, target, offset_bytes);
  }
  std::vector<size_t> sizes;
};

TEST(BundleFileTest, SmallConstantsAreUploadedTogether) {
  std::string constants, values, types, large;
  for (int i = 0; i < 300000; ++i) large += fmt::format("{}{}", i == 0 ? "" : ", ", i % 97);
  for (int i = 0; i < 12; ++i) {
    constants += fmt::format("c{0} = f32[3] constant({{{0}, {1}, {2}}})\n", i, i * i, -i);
    values += fmt::format(", c{}", i);
    types += ", f32[3]";
  }
  const std::string text = "ENTRY e { x = f32[3] parameter(0)\n" + constants + "l = f32[300000] constant({" + large +
                           "})\nd = f32[3] constant({0.5, 0.25, 7})\nROOT t = (f32[3]" + types +
                           ", f32[300000], f32[3]) tuple(x" + values + ", l, d) }";
  const auto module = ParseModule(text);
  const std::vector<Literal> arguments = RandomArguments(*module);
  const auto wanted = RunOnCpu(*module, arguments);
  ASSERT_TRUE(wanted.has_value());
  const BindingMode mode = ModesToRun().front();
  const std::string file = GenericBundle(text, mode);
  const auto bundle = ReadBundle(Bytes(file));
  ASSERT_TRUE(bundle.ok());
  ASSERT_GE(bundle->variants[0].constants.size(), 14u);
  const auto device = std::make_shared<UploadCounter>(DeviceClient(mode)->device());
  const auto loaded = MakeTestClient(device)->Load(Bytes(file));
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_LE(device->sizes.size(), 3u);
  EXPECT_EQ(std::ranges::count(device->sizes, 1200000u), 1);
  const auto result = (*loaded)->Run(Pointers(arguments));
  ASSERT_TRUE(result.ok()) << result.status().message();
  ExpectAgreement(*result, *wanted, {}, "constants");
}

TEST(BundleFileTest, RejectsTargetsThatNameNoFeature) {
  const auto message = [](const char* target) {
    return vulkan::GenericFactsOf(BindingMode::kDescriptors, target).status().message();
  };
  EXPECT_EQ(
      message("generic+f17"),
      "target generic+f17: 'f17' is none of i64, f64, f16, storage16, storage8, fma, division, subgroupsN (N: 2, 4 "
      "... 128), matricesMxNxK");
  for (const char* target :
       {"generic+subgroups", "generic+subgroups3", "generic+subgroups32x", "generic+subgroups256", "generic+matrices",
        "generic+matrices16x16", "generic+matrices16x16x16x", "generic+matrices16x16x16+matrices8x8x8"})
    EXPECT_THAT(message(target), HasSubstr("is none of")) << target;
  EXPECT_THAT(message("generic+matrices16x16x16"), HasSubstr("it needs subgroupsN"));
  for (const char* target : {"generic+subgroups32+matrices16x16x4", "generic+subgroups32+matrices128x16x16",
                             "generic+matrices4x4x8+subgroups32", "generic+subgroups32+matrices0x16x16"})
    EXPECT_THAT(message(target), HasSubstr("subgroups of 32 take 64 at most")) << target;
}

TEST(BundleFileTest, EqualProgramsGiveEqualFiles) {
  EXPECT_EQ(GenericBundle(kPrograms[1].text), GenericBundle(kPrograms[1].text));
}

TEST(BundleFileTest, ConversionsOfImagesAreFoundByArrayAndFormat) {
  const std::string inner = GenericBundle(kPrograms[1].text);
  const auto module = ParseModule(kPrograms[1].text);
  BundleBuilder builder;
  const std::shared_ptr<Device> target =
      vulkan::MakeTarget(vulkan::GenericFacts(BindingMode::kDescriptors), BindingMode::kDescriptors, {});
  const auto executable = MakeTestClient(target)->Compile(*module);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  ASSERT_TRUE(builder.Add(**executable, *target, /*generic=*/true).ok());
  builder.AddConversion(/*argument=*/true, 0, 37, Bytes(inner));
  const auto loaded = DeviceClient(BindingMode::kDescriptors)->Load(Bytes(builder.Finish("a test")));
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_TRUE(std::ranges::equal((*loaded)->image_conversion(true, 0, 37), Bytes(inner)));
  EXPECT_TRUE((*loaded)->image_conversion(false, 0, 37).empty());
  EXPECT_TRUE((*loaded)->image_conversion(true, 1, 37).empty());
  EXPECT_TRUE((*loaded)->image_conversion(true, 0, 38).empty());
}

TEST(BundleFileTest, ConstantsBeginOnPages) {
  const std::string file = GenericBundle(kPrograms[1].text);
  const auto bundle = ReadBundle(Bytes(file));
  ASSERT_TRUE(bundle.ok()) << bundle.status().message();
  EXPECT_EQ((bundle->constants.data() - Bytes(file).data()) % 4096, 0);
  for (const BundlePart& part : bundle->variants[0].constants) EXPECT_EQ(part.offset % 64, 0u);
}

// Refusals.

void ExpectRefused(const std::string& file, StatusCode code, const std::string& message) {
  const Result<Bundle> bundle = ReadBundle(Bytes(file));
  ASSERT_FALSE(bundle.ok());
  EXPECT_EQ(bundle.status().code(), code);
  EXPECT_THAT(bundle.status().message(), HasSubstr(message));
}

constexpr size_t kVersionAt = 8, kSizeAt = 16, kChecksumAt = 24, kBodyAt = 40;

void Put(std::string& file, size_t at, uint64_t value, size_t size) {
  for (size_t i = 0; i < size; ++i) file[at + i] = static_cast<char>(value >> (8 * i) & 0xff);
}
// As an attacker would: the header agrees with what follows.
void Reseal(std::string& file) {
  if (file.size() < kBodyAt) return;
  const Hash128 checksum = HashBytes(Bytes(file).subspan(kBodyAt));
  Put(file, kSizeAt, file.size(), 8);
  Put(file, kChecksumAt, checksum.high, 8);
  Put(file, kChecksumAt + 8, checksum.low, 8);
}

TEST(BundleFileTest, RejectsDamage) {
  const std::string file = GenericBundle(kPrograms[0].text);
  ExpectRefused("ENTRY e", StatusCode::kInvalidArgument, "does not begin as one");
  ExpectRefused(file.substr(0, 20), StatusCode::kInvalidArgument, "the bundle is cut off: 20 bytes");
  ExpectRefused(file.substr(0, file.size() - 1), StatusCode::kInvalidArgument, "the bundle is cut off: ");
  ExpectRefused(file + "x", StatusCode::kInvalidArgument, "the bundle is too long: ");
  std::string damaged = file;
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 4);
  ExpectRefused(damaged, StatusCode::kInvalidArgument, "the bundle is damaged: its checksum is ");
}

TEST(BundleFileTest, RejectsAnotherVersionOfTheFormat) {
  std::string file = GenericBundle(kPrograms[0].text);
  Put(file, kVersionAt, kBundleVersion + 1, 4);
  ExpectRefused(file, StatusCode::kUnsupported,
                fmt::format("the bundle has version {} of the format, this build reads version {}", kBundleVersion + 1,
                            kBundleVersion));
}

TEST(BundleFileTest, RejectsADeviceThatLacksWhatAVariantNeeds) {
  const std::string file = GenericBundle(kPrograms[0].text, BindingMode::kAddresses);
  const auto bundle = ReadBundle(Bytes(file));
  ASSERT_TRUE(bundle.ok());
  DeviceFacts device = vulkan::GenericFacts(BindingMode::kAddresses);
  device.name = "a device";
  const BindingMode addresses[] = {BindingMode::kAddresses}, descriptors[] = {BindingMode::kDescriptors};
  EXPECT_TRUE(ChooseVariant(*bundle, device, addresses).ok());
  EXPECT_THAT(ChooseVariant(*bundle, device, descriptors).status().message(),
              HasSubstr("generic under addresses: the device was not opened for this way to bind"));
  device.max_shared_bytes = 16;
  EXPECT_THAT(ChooseVariant(*bundle, device, addresses).status().message(),
              HasSubstr("bytes of shared memory: 16, 16384 needed"));
  device.buffer_addresses = false;
  EXPECT_EQ(ChooseVariant(*bundle, device, addresses).status().message(),
            "no variant of the bundle runs on a device: generic under addresses: it needs buffer addresses, which are "
            "not enabled");
  BundleVariant named = bundle->variants[0];
  named.generic = false;
  EXPECT_THAT(WhyNot(named, device), HasSubstr("it is for generic with the driver"));
}

TEST(BundleFileTest, WithoutProbesTakesThemFromAVariantOfTheSameDriver) {
  const std::string file = GenericBundle(kPrograms[0].text);
  auto bundle = ReadBundle(Bytes(file));
  ASSERT_TRUE(bundle.ok());
  BundleVariant variant = bundle->variants[0];
  variant.generic = false;
  DeviceFacts& made_for = variant.made_for;
  made_for.fused_multiply_add = true;
  DeviceFacts device = made_for;
  device.fused_multiply_add = false;
  EXPECT_EQ(WhyNot(variant, device), "it needs fused multiply-add, which no probe of the driver confirmed");
  device.probed = false;
  EXPECT_EQ(WhyNot(variant, device), "");
  device.driver_version = "another";
  EXPECT_THAT(WhyNot(variant, device), HasSubstr("it is for generic with the driver"));
  variant.generic = true;
  EXPECT_EQ(WhyNot(variant, device), "it needs fused multiply-add, which no probe of the driver confirmed");
}

// Not everything that is missing could have been enabled.
TEST(BundleFileTest, SaysWhoseWordIsMissing) {
  auto bundle = ReadBundle(Bytes(GenericBundle(kPrograms[0].text)));
  ASSERT_TRUE(bundle.ok());
  BundleVariant variant = bundle->variants[0];
  const auto why = [&](bool DeviceFacts::*fact) {
    DeviceFacts device = variant.made_for;
    variant.made_for.*fact = true;
    device.*fact = false;
    const std::string text = WhyNot(variant, device);
    variant.made_for.*fact = false;
    return text;
  };
  EXPECT_EQ(why(&DeviceFacts::float64), "it needs 64-bit floats, which are not enabled");
  EXPECT_EQ(why(&DeviceFacts::storage16), "it needs 16-bit storage, which is not enabled");
  EXPECT_EQ(why(&DeviceFacts::denorm_preserve_16), "it needs denormals of f16, which the driver does not promise");
  EXPECT_EQ(why(&DeviceFacts::native_f16), "it needs exact conversions of f16, which no probe of the driver confirmed");
  EXPECT_EQ(why(&DeviceFacts::spirv_1_6), "it needs SPIR-V 1.6, which takes Vulkan 1.3 with maintenance4 enabled");
}

TEST(BundleFileTest, MatrixUnitsAreThoseThatItWasMadeFor) {
  auto bundle = ReadBundle(Bytes(GenericBundle(kPrograms[0].text)));
  ASSERT_TRUE(bundle.ok());
  BundleVariant variant = bundle->variants[0];
  DeviceFacts device = variant.made_for;
  variant.made_for.matrices = {MatrixShape{}};
  variant.made_for.matrix_lanes = 32;
  EXPECT_EQ(WhyNot(variant, device), "it needs matrix units, which the device lacks or has not enabled");
  device.matrices = variant.made_for.matrices;
  device.matrix_lanes = 64;
  EXPECT_EQ(WhyNot(variant, device), "its matrix units are others");
  device.matrix_lanes = 32;
  EXPECT_EQ(WhyNot(variant, device), "");
}

TEST(BundleFileTest, AVariantForMatrixUnitsRunsWhereTheseAreAmongTheDevices) {
  const auto module = ParseModule(
      "ENTRY e { a = f16[512,512] parameter(0)  b = f16[512,512] parameter(1)\n"
      "ROOT r = f32[512,512] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0} }");
  const auto facts =
      vulkan::GenericFactsOf(BindingMode::kAddresses, "generic+f16+storage16+subgroups32+matrices16x16x16");
  ASSERT_TRUE(facts.ok()) << facts.status().message();
  EXPECT_EQ(facts->name, "generic+f16+storage16+subgroups32+matrices16x16x16");
  vulkan::OpenOptions options;
  options.cache = false;
  const std::shared_ptr<Device> target = vulkan::MakeTarget(*facts, BindingMode::kAddresses, options);
  const auto client = MakeTestClient(target);
  const auto executable = client->Compile(*module);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  EXPECT_EQ((*executable)->plan().kernels.at(0).algorithm, "dot/matmul_matrices.comp");
  BundleBuilder builder;
  ASSERT_TRUE(builder.Add(**executable, *target, /*generic=*/true).ok());
  const std::string file = builder.Finish("a test");
  const auto bundle = ReadBundle(Bytes(file));
  ASSERT_TRUE(bundle.ok()) << bundle.status().message();
  const BundleVariant& variant = bundle->variants.at(0);
  DeviceFacts device = *facts;
  device.matrices.insert(device.matrices.begin(), {ElementType::kBF16, ElementType::kF32, 16, 16, 16});
  EXPECT_EQ(WhyNot(variant, device), "");
  const auto words = vulkan::ModuleWords(
      {reinterpret_cast<const char*>(bundle->Module(variant.modules[0]).data()), variant.modules[0].size});
  EXPECT_TRUE(vulkan::CheckCapabilities(words, "a kernel", device).ok());
  device.matrices.pop_back();
  EXPECT_EQ(WhyNot(variant, device), "its matrix units are others");
  device.matrices.clear();
  EXPECT_EQ(WhyNot(variant, device), "it needs matrix units, which the device lacks or has not enabled");
  EXPECT_THAT(vulkan::CheckCapabilities(words, "a kernel", device).message(),
              HasSubstr("declares the capability VulkanMemoryModel, which is not enabled"));
}

TEST(BundleFileTest, RejectsProgramsThatNeedTheHost) {
  const auto refused = [](const std::string& text) {
    return Bundled(text, *MakeTestClient(Generic(BindingMode::kDescriptors)), true).status();
  };
  const Status feed = refused("ENTRY e { t = token[] after-all()  ROOT f = (f32[3], token[]) infeed(t) }");
  EXPECT_EQ(feed.code(), StatusCode::kUnsupported);
  EXPECT_THAT(feed.message(), HasSubstr("infeed f runs on the CPU, which a bundle has no program for"));
  const Status dynamic = refused("ENTRY e { x = f32[<=5] parameter(0)  ROOT y = f32[<=5] negate(x) }");
  EXPECT_EQ(dynamic.code(), StatusCode::kUnsupported);
  EXPECT_THAT(dynamic.message(), HasSubstr("it is compiled for each choice when it runs; a bundle holds"));
  CompileOptions options;
  options.sizes_on_device = true;
  const std::unique_ptr<Client> generic = MakeTestClient(Generic(BindingMode::kDescriptors));
  const auto module = ParseModule(
      "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n"
      "ENTRY e { x = f32[<=9] parameter(0)  y = f32[<=9] parameter(1)  p = f32[<=9] multiply(x, y)\n"
      "z = f32[] constant(0)  ROOT s = f32[] reduce(p, z), dimensions={0}, to_apply=add }");
  const auto compared = generic->Compile(*module, options);
  ASSERT_TRUE(compared.ok()) << compared.status().message();
  EXPECT_THAT(BundleBuilder().Add(**compared, generic->device(), true).message(), HasSubstr("live sizes are compared"));
}

TEST(BundleFileTest, HoldsProgramsThatFindLiveSizesInMemory) {
  const auto module = ParseModule("ENTRY e { x = f32[<=70] parameter(0)  ROOT y = f32[<=70] multiply(x, x) }");
  const std::unique_ptr<Client> generic = MakeTestClient(Generic(BindingMode::kDescriptors));
  CompileOptions options;
  options.sizes_on_device = true;
  const auto executable = generic->Compile(*module, options);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  BundleBuilder builder;
  const Status added = builder.Add(**executable, generic->device(), true);
  ASSERT_TRUE(added.ok()) << added.message();
  const std::string file = builder.Finish("a test");
  const Result<Bundle> read = ReadBundle(Bytes(file));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_TRUE(read->parameters[0].is_dynamic_dimension(0) && read->result.is_dynamic_dimension(0));
  Client* const client = DeviceClient(BindingMode::kDescriptors);
  ASSERT_NE(client, nullptr);
  const auto loaded = client->Load(Bytes(file));
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  for (const int64_t live : {70, 17, 0}) {
    Literal x = Literal::Uninitialized(module->entry()->parameter(0)->shape());
    for (int64_t i = 0; i < 70; ++i) x.mutable_data<float>()[static_cast<size_t>(i)] = static_cast<float>(i);
    x.set_dynamic_size(0, live);
    const Literal* const arguments[] = {&x};
    const auto result = (*loaded)->Run(arguments);
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(result->dynamic_size(0), live);
    for (int64_t i = 0; i < live; ++i)
      EXPECT_EQ(result->data<float>()[static_cast<size_t>(i)], static_cast<float>(i * i));
  }
}

// What CheckVariant is asked: a bundle with one thing wrong.
Status Wrong(const std::function<void(BundleVariant&)>& change, const char* text = kPrograms[0].text) {
  const std::string file = GenericBundle(text);
  Result<Bundle> bundle = ReadBundle(Bytes(file));
  VXLA_CHECK(bundle.ok(), bundle.status().message());
  change(bundle->variants[0]);
  return CheckVariant(*bundle, bundle->variants[0]);
}

TEST(BundleFileTest, RejectsTablesThatDoNotAgree) {
  const std::pair<std::function<void(BundleVariant&)>, const char*> cases[] = {
      {[](BundleVariant& v) { v.plan.scratch_block_bytes.assign(1, -1); }, "a block of -1 bytes"},
      {[](BundleVariant& v) { v.plan.parameters.pop_back(); }, "1 arrays of parameters, the program has 2"},
      {[](BundleVariant& v) { v.plan.parameters[0].buffer = 99; }, "a parameter's buffer 99: there are"},
      {[](BundleVariant& v) { v.plan.parameters[0].donated_to = 7; }, "a donated parameter's result 7: there are 1"},
      {[](BundleVariant& v) { v.plan.results.clear(); }, "0 results, the program has 1"},
      {[](BundleVariant& v) { v.plan.buffers[0].placement.offset_bytes = 1 << 20; }, "is not argument 0"},
      {[](BundleVariant& v) { v.plan.buffers.back().size_bytes = int64_t{1} << 40; }, "bytes"},
      {[](BundleVariant& v) { v.modules[0].size += 1u << 30; }, "a module: "},
      {[](BundleVariant& v) { v.modules.pop_back(); }, "modules of"},
      {[](BundleVariant& v) { v.plan.kernel_of_step[0] = -1; }, "a step's kernel -1"},
      {[](BundleVariant& v) { v.plan.kernels[0].written_array = 99; }, "an array of 99 tensors that are written, of "},
      {[](BundleVariant& v) { v.plan.steps[0].bindings.pop_back(); }, "bindings and"},
      {[](BundleVariant& v) { v.plan.steps[0].groups[1] = 0; }, "0 workgroups"},
      {[](BundleVariant& v) { v.plan.steps[0].bindings[0].slice.offset_bytes = 4; }, "a part of buffer"},
      {[](BundleVariant& v) {
         v.plan.segments = {GpuCommands{0, {Dispatch{77}}}};
       },
       "step 77: there are"},
      {[](BundleVariant& v) {
         v.plan.segments = {GpuCommands{0, {Dispatch{0, 1, 2}}}};
       },
       "part 1 of 2 of step 0"},
      {[](BundleVariant& v) {
         v.plan.segments = {GpuCommands{0, {CopyBytes{{0, 0, 8}, {0, 8, 4}}}}};
       },
       "a copy of 8 bytes to 4"},
      {[](BundleVariant& v) { v.plan.segments = {HostEvaluate{}}; }, "a step for the host"},
      {[](BundleVariant& v) { v.plan.segments = {HostDecide{}}; }, "segment 0: 0 regions"},
  };
  for (const auto& [change, message] : cases) {
    const Status status = Wrong(change);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << message;
    EXPECT_THAT(status.message(), HasSubstr(message));
  }
  HostDecide loop;
  loop.trip_count = 3;
  loop.region_ends = {1, 9};
  EXPECT_THAT(Wrong([&](BundleVariant& v) { v.plan.segments = {loop}; }).message(),
              HasSubstr("a region that ends at 9"));
  loop.region_ends = {1, 2};
  loop.batch = 1 << 30;
  EXPECT_THAT(Wrong([&](BundleVariant& v) {
                v.plan.segments = {loop, GpuCommands{}};
              }).message(),
              HasSubstr("batches of 1073741824"));
}

// Each byte of the tables may be anything: refused with a message, or within bounds (under AddressSanitizer).
TEST(BundleFileTest, TwentyThousandChangesCrashNothing) {
  std::vector<std::string> files;
  for (const size_t k : {1u, 2u, 5u}) files.push_back(GenericBundle(kPrograms[k].text));
  std::mt19937 random(1);  // NOLINT: the same changes each time
  const auto below = [&](size_t limit) { return random() % limit; };
  int read = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string file = files[below(files.size())];
    for (size_t change = 1 + below(3); change > 0; --change) {
      // The table of sections and the program, which is behind the first page.
      const size_t at = below(8) == 0 ? below(200) : 4096 + below(std::min<size_t>(file.size() - 4096, 3000));
      constexpr char kEdges[] = {0, 1, 2, '\x7f', '\x80', '\xff'};
      file[at] = below(2) == 0 ? kEdges[below(sizeof(kEdges))] : static_cast<char>(random() & 0xff);
    }
    if (below(20) == 0) file.resize(below(file.size()));
    Reseal(file);
    const Result<Bundle> bundle = ReadBundle(Bytes(file));
    read += bundle.ok();
    if (!bundle.ok()) {
      ASSERT_NE(bundle.status().code(), StatusCode::kInternal) << bundle.status().message();
      ASSERT_FALSE(bundle.status().message().empty());
    }
  }
  EXPECT_GT(read, 100);  // else nothing but the outermost checks was reached
}

// A module in a bundle is not believed to be one.
TEST(BundleFileTest, RejectsAModuleThatIsNoSpirv) {
  std::string file = GenericBundle(kPrograms[0].text, ModesToRun().front());
  const auto bundle = ReadBundle(Bytes(file));
  ASSERT_TRUE(bundle.ok());
  const auto at = static_cast<size_t>(bundle->modules.data() - Bytes(file).data());
  std::memset(file.data() + at, 0, bundle->modules.size());
  Reseal(file);
  const auto loaded = DeviceClient(ModesToRun().front())->Load(Bytes(file));
  EXPECT_EQ(loaded.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(loaded.status().message(), HasSubstr("the SPIR-V module is cut off or broken"));
}

// Lavapipe gave zeros for a descriptor that the pipeline's layout has not, and crashed on kernels for another way to
// bind.
TEST(BundleFileTest, RejectsAModuleOfAnotherLayout) {
  std::string file = GenericBundle(kPrograms[0].text, BindingMode::kDescriptors);
  const auto bundle = ReadBundle(Bytes(file));
  ASSERT_TRUE(bundle.ok());
  const auto begin = static_cast<size_t>(bundle->modules.data() - Bytes(file).data());
  constexpr uint32_t kDecorate = 4u << 16 | 71, kBinding = 33, kOther = 200;
  for (size_t at = begin; at + 16 <= begin + bundle->modules.size(); at += 4) {
    std::array<uint32_t, 4> words{};
    std::memcpy(words.data(), file.data() + at, sizeof(words));
    if (words[0] == kDecorate && words[2] == kBinding && words[3] == 1)
      std::memcpy(file.data() + at + 12, &kOther, sizeof(kOther));
  }
  Reseal(file);
  const auto loaded = DeviceClient(BindingMode::kDescriptors)->Load(Bytes(file));
  EXPECT_EQ(loaded.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(loaded.status().message(), HasSubstr("its module has descriptor binding 200"));
}

}  // namespace bundle_test
}  // namespace VXLA_NAMESPACE::testing
