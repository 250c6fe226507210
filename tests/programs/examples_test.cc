// The programs of examples/, small versions of those that make pictures, and their scripts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/command_test_support.h"
#include "tests/support/source_dir.h"

namespace VXLA_NAMESPACE::testing {
namespace examples_test {

using ::testing::HasSubstr;

std::string Example(const std::string& name) { return std::string(SourceDir()) + "/examples/" + name; }

// f32[height, width, 3] by a long way round: a loop with an early end, gathers, FFTs.
TEST(ExamplesTest, PicturesAreTheReferences) {
  for (const char* picture : {"mandelbrot", "fluid"}) {
    const CommandResult result = RunVxla("diff " + Example(picture) + "/small.hlo --require-gpu --json");
    ASSERT_EQ(result.exit_code, 0) << picture << ": " << result.out << result.err;
    EXPECT_EQ(nlohmann::json::parse(result.out)["verdict"], "agree") << picture;
  }
}

TEST(ExamplesTest, EachProgramOfTheCorpusSaysWhatItIsFor) {
  size_t programs = 0;
  std::set<std::string> purposes;
  for (const auto& entry : std::filesystem::directory_iterator(Example("corpus"))) {
    if (entry.path().extension() != ".hlo" && entry.path().extension() != ".mlir") continue;
    ++programs;
    const std::string text = ReadScratch(entry.path());
    EXPECT_TRUE(text.starts_with("// ")) << entry.path();
    EXPECT_TRUE(purposes.insert(text.substr(0, text.find('\n'))).second) << entry.path() << ": the purpose of another one";
  }
  EXPECT_GE(programs, 60u);
}

TEST(ExamplesTest, AResultBecomesAPng) {
  const std::string result = ScratchFolder() + "/small.npz", picture = ScratchFolder() + "/small.png";
  ASSERT_EQ(RunVxla("run " + Example("mandelbrot/small.hlo") + " -o " + result).exit_code, 0);
  // The interpreter that the packages' numpy belongs to; another one may stand first in the path.
  const CommandResult drawn =
      RunShell("python=python3; $python -c 'import numpy' 2>/dev/null || python=/usr/bin/python3; $python " +
               Example("picture.py ") + result + " " + picture + " 2");
  ASSERT_EQ(drawn.exit_code, 0) << drawn.err;
  const std::string png = ReadScratch(picture);
  EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  EXPECT_EQ(png.substr(16, 8), std::string("\0\0\0\x20\0\0\0\x18", 8)) << "half of 64 x 48";
}

// A loop of training steps that slices its batches; 60 steps of the 300.
TEST(ExamplesTest, TrainingOnTheDigitsEndsAtItsAccuracy) {
  std::string text = ReadScratch(Example("digits_mlp/train.hlo"));
  const size_t steps = text.find("constant(300)");
  ASSERT_NE(steps, std::string::npos);
  const std::string program = WriteScratch("train.hlo", text.replace(steps, 13, "constant(60)"));
  const CommandResult run =
      RunVxla("run " + program + " --args " + Example("digits_mlp/digits.npz") + " --require-gpu");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("0.9222"));  // JAX on its CPU: 332 of 360, 0.9222222
}

TEST(ExamplesTest, AWorkBudgetCutsDispatchesAndChangesNoResult) {
  const std::string program = Example("mandelbrot/small.hlo"), whole = ScratchFolder() + "/whole.npz";
  const CommandResult explained =
      RunVxla("explain " + Example("mandelbrot/mandelbrot.hlo") + " --work-budget 0.1 --plan");
  ASSERT_EQ(explained.exit_code, 0) << explained.err;
  EXPECT_THAT(explained.out, HasSubstr(" part 1 of "));
  ASSERT_EQ(RunVxla("run " + program + " -o " + whole).exit_code, 0);
  const CommandResult cut =
      RunVxla("diff " + program + " --work-budget 0.01 --rtol 0 --atol 0 --json --against " + whole);
  EXPECT_EQ(cut.exit_code, 0) << cut.out << cut.err;
  const CommandResult refused = RunVxla("run " + program + " --work-budget -1");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--work-budget"));
}

}  // namespace examples_test
}  // namespace VXLA_NAMESPACE::testing
