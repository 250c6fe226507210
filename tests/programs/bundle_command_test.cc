// Bundles as a user meets them: compiled, run, shown, translated, refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/command_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace bundle_command_test {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kProgram[] =
    "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n"
    "ENTRY e { x = f32[37,41] parameter(0)  w = f32[41,43] parameter(1)  zero = f32[] constant(0)\n"
    "d = f32[37,43] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "ROOT s = f32[37] reduce(d, zero), dimensions={1}, to_apply=sum }";

std::string Program() { return WriteScratch("bundled.hlo", kProgram); }

// The bundle of the program; the arguments are more options of vxla compile.
std::string Compiled(const std::string& name, const std::string& options = "") {
  const std::string path = ScratchFolder() + "/" + name;
  const CommandResult result = RunVxla("compile " + Program() + " -o " + path + " " + options);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return path;
}

void ExpectRefused(const std::string& command, const std::string& message) {
  const CommandResult result = RunVxla(command);
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_THAT(result.err, HasSubstr(message));
}

TEST(BundleCommandTest, RunsAsTheProgramDoes) {
  const std::string bundle = Compiled("own.vxla", "--target vulkan generic");
  const CommandResult from_program = RunVxla("run " + Program()), from_bundle = RunVxla("run " + bundle);
  EXPECT_EQ(from_bundle.exit_code, 0) << from_bundle.err;
  EXPECT_THAT(from_program.out, StartsWith("result_0: f32[37]\n"));
  EXPECT_EQ(from_bundle.out, from_program.out);  // with the digits that tell numbers apart
  const CommandResult result = RunVxla("run " + bundle + " --json --num-runs 2 --check-same");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto report = nlohmann::json::parse(result.out);
  EXPECT_THAT(report["variant"].get<std::string>(), StartsWith(report["device"].get<std::string>() + " under "));
}

// A generic variant, one of the device, and the program itself: sums of 20,000 products, which devices share out.
TEST(BundleCommandTest, SameBitsAreThoseOfTheProgram) {
  const std::string program =
      WriteScratch("long_sums.hlo",
                   "ENTRY e { a = f32[3,20000] parameter(0)  b = f32[20000,5] parameter(1)\n"
                   "ROOT d = f32[3,5] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0} }");
  const CommandResult from_program = RunVxla("run " + program + " --same-bits");
  EXPECT_THAT(from_program.out, StartsWith("result_0: f32[3,5]\n"));
  for (const std::string target : {"vulkan", "generic"}) {
    const std::string bundle = ScratchFolder() + "/same_bits_" + target + ".vxla";
    EXPECT_EQ(RunVxla("compile " + program + " -o " + bundle + " --same-bits --target " + target).exit_code, 0);
    const CommandResult from_bundle = RunVxla("run " + bundle);
    EXPECT_EQ(from_bundle.exit_code, 0) << from_bundle.err;
    EXPECT_EQ(from_bundle.out, from_program.out) << target;
  }
}

TEST(BundleCommandTest, SizesThatAreLeftOpenGetABound) {
  const std::string program =
      WriteScratch("open.mlir",
                   "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
                   "  %r = stablehlo.negate %x : tensor<?xf32>\n  return %r : tensor<?xf32>\n}\n");
  const std::string bundle = ScratchFolder() + "/open.vxla", compile = "compile " + program + " -o " + bundle;
  ExpectRefused(compile, "decide sizes without bounds");
  ExpectRefused(compile + " --bound n=4", "bound of 'n': no size of the program is called so");
  ASSERT_EQ(RunVxla(compile + " --bound 0.0=4").exit_code, 0);
  const CommandResult three = RunVxla("run " + bundle + " --args " + WriteScratch("three.npy", NpyF32({3}, {1, 2, 3})));
  EXPECT_EQ(three.exit_code, 0) << three.err;
  EXPECT_THAT(three.out, HasSubstr("[-1. -2. -3.]"));
  ExpectRefused("run " + bundle + " --args " + WriteScratch("five.npy", NpyF32({5}, {1, 2, 3, 4, 5})), "f32[<=4]");
}

// SwiftShader's compiler walks every path through a kernel: with a division that is corrected in the loop of a running
// sum it took minutes and gigabytes.
TEST(BundleCommandTest, GenericKernelsHaveFewPaths) {
  const std::string program =
      WriteScratch("paths.hlo",
                   "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n"
                   "ENTRY e { x = f32[129] parameter(0)  zero = f32[] constant(0)  ten = f32[] constant(10)\n"
                   "s = f32[129] reduce-window(x, zero), window={size=129 pad=128_0}, to_apply=sum\n"
                   "t = f32[129] broadcast(ten), dimensions={}  ROOT q = f32[129] divide(s, t) }");
  const std::string bundle = ScratchFolder() + "/paths.vxla";
  ASSERT_EQ(RunVxla("compile " + program + " -o " + bundle).exit_code, 0);
  const CommandResult result = RunShell("timeout 60 \"$VXLA\" run " + bundle + " --device swiftshader");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("result_0: f32[129]\n"));
}

TEST(BundleCommandTest, LoadingIsMeasuredAlone) {
  const CommandResult result = RunVxla("bench " + Compiled("loaded.vxla", "--bindings descriptors") +
                                       " --loading --num-runs 1 --bindings descriptors --json --device llvmpipe");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto rows = nlohmann::json::parse(result.out);
  EXPECT_EQ(rows.size(), 3u);
  for (const auto& row : rows) EXPECT_THAT(row["name"].get<std::string>(), HasSubstr(", loaded ")) << row;
}

TEST(BundleCommandTest, CompileSaysWhatItWrote) {
  const std::string path = ScratchFolder() + "/listed.vxla";
  const CommandResult result =
      RunVxla("compile " + Program() + " -o " + path + " --bindings descriptors --target generic generic+i64 --json");
  const auto report = nlohmann::json::parse(result.out);
  EXPECT_EQ(report["bytes"], std::filesystem::file_size(path));
  EXPECT_EQ(report["variants"].dump(), R"([{"bindings":"descriptors","target":"generic"},)"
                                       R"({"bindings":"descriptors","target":"generic+i64"}])");
}

TEST(BundleCommandTest, ExplainShowsEachVariant) {
  const CommandResult result = RunVxla("explain " + Compiled("explained.vxla"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("Variant: generic under addresses"));
  EXPECT_THAT(result.out, HasSubstr("Variant: generic under descriptors"));
  EXPECT_THAT(result.out, HasSubstr("kernel 0: dot/"));
}

TEST(BundleCommandTest, ExplainSaysWhichVariantADeviceTakes) {
  const std::string bundle =
      Compiled("chosen.vxla", "--bindings descriptors --target generic generic+subgroups128 generic+i64");
  const std::string command = "explain " + bundle + " --device llvmpipe --bindings descriptors";
  const CommandResult result = RunVxla(command + " --emulate i64");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\ngeneric under descriptors: it is taken\n"));
  EXPECT_THAT(result.out, HasSubstr("\ngeneric+subgroups128 under descriptors: subgroups of 8, 128 needed\n"));
  EXPECT_THAT(result.out,
              HasSubstr("\ngeneric+i64 under descriptors: it needs 64-bit integers, which are not enabled\n"));
  EXPECT_THAT(RunVxla(command).out, HasSubstr("\ngeneric under descriptors: it could run, another one runs better\n"));
  const auto report = nlohmann::json::parse(RunVxla(command + " --json").out);
  EXPECT_EQ(report["taken"]["variant"], 2);
}

TEST(BundleCommandTest, BenchLoadsAndRuns) {
  const std::string bundle = Compiled("timed.vxla", "--bindings descriptors");
  const CommandResult result = RunVxla("bench " + bundle + " --num-runs 1 --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto rows = nlohmann::json::parse(result.out);
  ASSERT_EQ(rows.size(), 4u);  // under addresses there is no variant
  EXPECT_EQ(rows[0]["name"], bundle);
  EXPECT_FALSE(rows[0].contains("driver_ms"));
  const char* const loads[] = {"cold", "warm", "in the background"};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(rows[i + 1]["name"], bundle + ", loaded " + loads[i]);
    EXPECT_GT(rows[i + 1]["driver_ms"], 0);
    EXPECT_GT(rows[i + 1]["ms"], 0);
  }
}

TEST(BundleCommandTest, RefusesWhatACompiledProgramCannotDo) {
  const std::string bundle = Compiled("refusing.vxla");
  ExpectRefused("run " + bundle + " --device cpu", "a bundle, which is compiled already: --device cpu is for programs");
  ExpectRefused("run " + bundle + " --no-fusion", "--no-fusion is for programs");
  ExpectRefused("run " + bundle + " --partitions 2", "--partitions is for programs");
  ExpectRefused("diff " + bundle, "a bundle, which is compiled already");
  ExpectRefused(
      "compile " + Program() + " -o " + ScratchFolder() + "/x.vxla --target generic+half",
      "target generic+half: 'half' is none of i64, f64, f16, storage16, storage8, fma, division, subgroupsN (N: 2, 4 ");
  ExpectRefused("bench " + bundle + " --device cpu", bundle + ": a bundle, which is compiled already: --device cpu");
  ExpectRefused("explain " + bundle + " --dump-kernels " + ScratchFolder(), "holds neither GLSL nor");
  ExpectRefused("convert " + bundle + " " + ScratchFolder() + "/x.mlir", "a bundle, which is compiled already");
  std::string bytes = ReadScratch(bundle);
  bytes[bytes.size() / 2] ^= 1;
  ExpectRefused("run " + WriteScratch("damaged.vxla", bytes), "damaged.vxla: the bundle is damaged: its checksum is");
}

TEST(BundleCommandTest, RefusesProgramsThatNeedTheHost) {
  const std::string feed =
      WriteScratch("feed.hlo", "ENTRY e { t = token[] after-all()  ROOT f = (f32[3], token[]) infeed(t) }");
  const std::string out = ScratchFolder() + "/never.vxla";
  ExpectRefused("compile " + feed + " -o " + out, "infeed f runs on the CPU, which a bundle has no program for");
  const std::string several = WriteScratch(
      "several.hlo", "HloModule m, replica_count=2\nENTRY e { x = f32[3] parameter(0)  ROOT y = f32[3] negate(x) }");
  ExpectRefused("compile " + several + " -o " + out, "a bundle holds programs of one device");
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(BundleCommandTest, OtherLanguagesNeedDescriptors) {
  ExpectRefused("convert " + Compiled("far.vxla", "--bindings addresses") + " " + ScratchFolder() + "/far --to hlsl",
                "the bundle has no variant under descriptors");
  ExpectRefused("convert " + Program() + " " + ScratchFolder() + "/text --to msl",
                "no bundle: --to msl takes what vxla compile wrote");
}

}  // namespace bundle_command_test
}  // namespace VXLA_NAMESPACE::testing
