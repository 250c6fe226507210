// What a verdict says: of the two values that were compared, of the elements that were the worst, and how to see it
// again.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/data/literal.h"
#include "tests/support/command_test_support.h"
#include "tools/numpy_file.h"

namespace VXLA_NAMESPACE::testing::verdict_command_test {
namespace {

using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;

std::string AddProgram() {
  return WriteScratch("verdict_add.hlo",
                      "ENTRY e { a = f32[2,3] parameter(0)  b = f32[2,3] parameter(1)  ROOT c = f32[2,3] add(a, b) }");
}

// A product, so that its sums round.
std::string ProductProgram() {
  return WriteScratch("verdict_dot.hlo",
                      "ENTRY e { a = f32[37,99] parameter(0)  b = f32[99,41] parameter(1)  c = f32[37,41] dot(a, b), "
                      "lhs_contracting_dims={1}, rhs_contracting_dims={0}  ROOT t = f32[37,41] tanh(c) }");
}

Json DiffJson(const std::string& arguments, int exit_code) {
  const CommandResult result = RunVxla("diff " + arguments + " --json");
  EXPECT_EQ(result.exit_code, exit_code) << result.err;
  return result.out.empty() ? Json() : Json::parse(result.out);
}

std::string LastLine(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

TEST(VerdictTest, StandsInTheFirstLineAndOneLineIsAllWhereThingsAgree) {
  const CommandResult agree = RunVxla("diff " + ProductProgram());
  EXPECT_EQ(agree.exit_code, 0);
  EXPECT_THAT(agree.out, StartsWith("AGREE: "));
  EXPECT_EQ(std::ranges::count(agree.out, '\n'), 1) << agree.out;
  EXPECT_THAT(agree.out, HasSubstr(" agree on the result; "));
  const CommandResult more = RunVxla("diff -v " + ProductProgram());
  EXPECT_THAT(more.out, StartsWith(agree.out));
  EXPECT_THAT(more.out, HasSubstr("\nresult_0 f32[37,41]: "));
}

TEST(VerdictTest, NamesADevicesVersionOnce) {
  const std::string out = RunVxla("diff " + AddProgram() + " --device lavapipe").out;
  EXPECT_EQ(out.find("LLVM"), out.rfind("LLVM")) << out;
  EXPECT_THAT(out, HasSubstr("Mesa "));
}

TEST(VerdictTest, ADifferenceIsAResultAndNoError) {
  const std::string file = ScratchFolder() + "/other.npz";
  ASSERT_EQ(RunVxla("run " + AddProgram() + " --device cpu --seed 1 -o " + file).exit_code, 0);
  const CommandResult result = RunVxla("diff " + AddProgram() + " --seed 2 --against " + file);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, StartsWith("DIFFER: "));
  EXPECT_THAT(result.out, HasSubstr("\nresult_0 f32[2,3]: 6 of 6 elements differ, worst "));
  EXPECT_THAT(result.err, Not(HasSubstr("error")));
}

// The device agrees with the reference, the file with neither: what is counted is the file's.
TEST(VerdictTest, AgainstAFileTheFilesOwnElementsAreCounted) {
  const std::string program = ProductProgram(), file = ScratchFolder() + "/wrong.npz",
                    page = ScratchFolder() + "/wrong.html";
  ASSERT_EQ(RunVxla("run " + program + " --device cpu --seed 1 -o " + file).exit_code, 0);
  const Json json = DiffJson(program + " --seed 2 --report " + page + " --against " + file, 1);
  const Json& result = json["results"][0];
  EXPECT_EQ(json["fault"], "expected file");
  EXPECT_EQ(result["beyond_rounding"], 0);
  EXPECT_GT(result["expected_beyond_rounding"], 1000);
  EXPECT_LE(result["expected_beyond_rounding"], result["elements"]);
  const std::string counts = fmt::format(": 0, of {}: {}", file, result["expected_beyond_rounding"].get<int>());
  EXPECT_THAT(RunVxla("diff " + program + " --seed 2 --against " + file).out, HasSubstr(counts));
  EXPECT_THAT(ReadScratch(page), HasSubstr(counts));
}

TEST(VerdictTest, EachWorstDifferenceNamesItsOwnElement) {
  // Of [1,0] the smallest value by so many ulp, of [0,2] the largest by its size.
  const std::string program =
      WriteScratch("verdict_worst.hlo", "ENTRY e { ROOT c = f32[2,3] constant({{1, 2, 1000000}, {1e-20, 3, 4}}) }");
  const std::string file = ScratchFolder() + "/worst.npz", page = ScratchFolder() + "/worst.html";
  const Literal expected =
      Literal::FromVector<float>(Shape(ElementType::kF32, {2, 3}), std::vector<float>{1, 2, 1000100, 2e-20f, 3, 4});
  ASSERT_TRUE(WriteNpz(file, "result", {&expected}).ok());
  const std::string command = program + " --device cpu --ulp 0 --against " + file;
  const Json result = DiffJson(command + " --report " + page, 1)["results"][0];
  EXPECT_EQ(result["max_ulp_where"], "1,0");
  EXPECT_EQ(result["max_abs_where"], "0,2");
  EXPECT_EQ(result["max_rel_where"], "1,0");
  EXPECT_EQ(result["max_abs"], 100);
  const std::string out = RunVxla("diff " + command).out;
  EXPECT_THAT(out, HasSubstr(" ulp at result_0[1,0], 100 absolute at result_0[0,2]\n"));
  EXPECT_THAT(out, HasSubstr(" ulp at [1,0], 100 absolute at [0,2], 0.5 relative at [1,0]: 2 OUTSIDE the tolerance"));
  EXPECT_THAT(ReadScratch(page), HasSubstr(" at [1,0]</td>"));
}

TEST(VerdictTest, WhatIsComparedWithItselfIsSaid) {
  const std::string program = ProductProgram(), file = ScratchFolder() + "/own.npz";
  const auto notes = [&](const std::string& options) {
    const CommandResult result = RunVxla("diff " + program + " " + options);
    EXPECT_EQ(result.exit_code, 0) << options << result.err;
    return result.err;
  };
  const auto itself = HasSubstr("is compared with itself");
  EXPECT_THAT(notes("--device cpu --against cpu"), itself);
  EXPECT_THAT(notes("--device CPU"), itself);
  EXPECT_THAT(notes("--device lavapipe --against llvmpipe"), itself);
  EXPECT_THAT(notes("--against vulkan"), itself);
  ASSERT_EQ(RunVxla("run " + program + " --device lavapipe -o " + file).exit_code, 0);
  EXPECT_THAT(notes("--device lavapipe --against " + file), HasSubstr("this compares it with itself"));
  // These are two things.
  EXPECT_THAT(notes(""), Not(HasSubstr("itself")));
  EXPECT_THAT(notes("--device lavapipe --against swiftshader"), Not(HasSubstr("itself")));
  EXPECT_THAT(notes("--bindings addresses --against vulkan --against-bindings descriptors"), Not(HasSubstr("itself")));
  EXPECT_THAT(notes("--against vulkan --against-emulate f16,i64"), Not(HasSubstr("itself")));
}

// The kernel doubles; the function beside it is to triple.
std::string CallProgram() {
  return WriteScratch("verdict_call.hlo",
                      "HloModule m\nENTRY e {\n  x = f32[5] parameter(0)\n  a = f32[5] negate(x)\n"
                      "  b = f32[5] custom-call(a), custom_call_target=\"twice\"\n  ROOT r = f32[5] negate(b)\n}");
}
std::string Quoted(std::string text) {
  for (size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 4) text.replace(at, 1, "'\\''");
  return text;
}

std::string WrongCall(const std::string& kernel_name) {
  const std::string kernel = WriteScratch(kernel_name, "void vxla_element(uint i) { SET_OUT0(i, 2.0 * IN0(i)); }");
  return fmt::format("{} --kernel twice='{}' --custom-call twice='{}:three_times'", CallProgram(), Quoted(kernel),
                     VXLA_TEST_CUSTOM_CALLS);
}

TEST(VerdictTest, BisectsLastLineShowsTheSameDifference) {
  const std::string call = WrongCall("what isn't plain.comp");
  const std::vector<std::string> others = {
      "--device lavapipe --seed 3",
      "--device lavapipe --bindings descriptors --emulate i64,f64 --fill full-range --no-cache",
      "--device swiftshader --rtol 1e-6 --atol 1e-3 --no-fusion --validate=core",
      "--device 0 --ulp 1e30"};  // every result is within it, and the instruction is not within its bound
  for (size_t i = 0; i < others.size(); ++i) {
    const std::string prefix = ScratchFolder() + fmt::format("/small one {}", i);
    const std::string command = fmt::format("diff {} {} --bisect --bisect-to '{}'", call, others[i], prefix);
    const CommandResult whole = RunVxla(command);
    ASSERT_EQ(whole.exit_code, 1) << whole.out << whole.err;
    const std::string line = LastLine(whole.out);
    ASSERT_THAT(line, StartsWith("bisect: b alone: vxla diff ")) << others[i];
    const std::string again = line.substr(std::string("bisect: b alone: vxla ").size());
    const CommandResult alone = RunVxla(again);
    EXPECT_EQ(alone.exit_code, 1) << again << "\n" << alone.out << alone.err;
    // The instruction's own difference, the same in both.
    const Json before = Json::parse(RunVxla(command + " --json").out),
               after = Json::parse(RunVxla(again + " --json").out);
    EXPECT_EQ(before["bisect"]["command"], "vxla " + again);
    const auto& instructions = before["instructions"];
    const auto found =
        std::ranges::find_if(instructions, [](const Json& i) { return i.contains("agrees") && !i["agrees"]; });
    ASSERT_NE(found, instructions.end()) << again;
    const Json& bad = *found;
    for (const char* key : {"max_ulp", "max_abs", "max_rel", "differing", "elements"})
      EXPECT_EQ(bad[key], after["results"][0][key]) << key << ": " << again;
    EXPECT_EQ(before["fault"], after["fault"]) << again;
  }
}

TEST(VerdictTest, BisectsLastLineIsOfTheDeviceThatFoundIt) {
  const CommandResult all =
      RunVxla("diff " + WrongCall("plain.comp") + " --device all --bisect --bisect-to " + ScratchFolder() + "/all");
  EXPECT_EQ(all.exit_code, 1);
  const std::string line = LastLine(all.out);
  EXPECT_THAT(line, HasSubstr(" --device vulkan:"));
  EXPECT_THAT(line, Not(HasSubstr("--device all")));
  EXPECT_EQ(RunVxla(line.substr(line.find("diff "))).exit_code, 1);
}

TEST(VerdictTest, AProgramOfSeveralDevicesIsNotBisected) {
  for (const char* option : {"--bisect", "--isolate"}) {
    const CommandResult result = RunVxla("diff " + AddProgram() + " --replicas 2 " + option);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err,
                HasSubstr(std::string(option) + ": a program of 2 replicas and 1 partitions is compared as a "
                                                "whole only"));
  }
}

TEST(FillTest, EveryCommandThatSeedsTakesIt) {
  const std::string program = ProductProgram();
  for (const std::string& command : std::vector<std::string>{"run", "diff --isolate", "diff --bisect", "explain",
                                                             "bench --num-runs 1 --device cpu"}) {
    for (const char* fill : {"small", "full-range", "special"}) {
      const CommandResult result = RunVxla(command + " " + program + " --fill " + fill);
      EXPECT_EQ(result.exit_code, 0) << command << " " << fill << "\n" << result.out << result.err;
    }
    const CommandResult wrong = RunVxla(command + " " + program + " --fill wide");
    EXPECT_EQ(wrong.exit_code, 2);
    EXPECT_THAT(wrong.err, HasSubstr("--fill: 'wide' is none of small, full-range, special"));
  }
}

TEST(FillTest, ArgumentsAreOfTheKindThatIsAsked) {
  const std::string program = WriteScratch(
      "filled.hlo",
      "ENTRY e { a = s8[1000] parameter(0)  b = f32[1000] parameter(1)  ROOT t = (s8[1000], f32[1000]) tuple(a, b) }");
  const auto saved = [&](const std::string& options) {
    const std::string file = ScratchFolder() + "/filled.npz";
    const CommandResult result = RunVxla("run " + program + " --device cpu -o " + file + " " + options);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const auto npz = NpzFile::Open(file);
    return std::pair(*ToLiteral(*(*npz)->Read("result_0"), "", "a"), *ToLiteral(*(*npz)->Read("result_1"), "", "b"));
  };
  const auto is_negative = [](const Literal& a) {
    return std::ranges::any_of(a.data<int8_t>(), [](int8_t x) { return x < 0; });
  };
  const auto is_nan = [](const Literal& b) {
    return std::ranges::any_of(b.data<float>(), [](float x) { return x != x; });
  };
  const auto small = saved(""), named = saved("--fill small"), full = saved("--fill full-range"),
             special = saved("--fill special"), again = saved("--fill special");
  EXPECT_TRUE(std::ranges::equal(small.first.bytes(), named.first.bytes()));
  EXPECT_FALSE(is_negative(small.first));
  EXPECT_TRUE(is_negative(full.first));
  EXPECT_FALSE(is_nan(full.second));
  EXPECT_TRUE(is_negative(special.first));
  EXPECT_TRUE(is_nan(special.second));
  EXPECT_TRUE(std::ranges::equal(special.second.bytes(), again.second.bytes()));
  EXPECT_THAT(RunVxla("run " + program + " --fill special --seed 4").err,
              HasSubstr("vxla: note: arguments: 2 seeded (seed 4, special)\n"));
}

// numpy.savez(file, x, y).
TEST(UnnamedArraysTest, AreTakenInTheirOrder) {
  const Literal one = Literal::FromVector<float>(Shape(ElementType::kF32, {2, 3}), std::vector<float>(6, 1)),
                two = Literal::FromVector<float>(Shape(ElementType::kF32, {2, 3}), std::vector<float>(6, 2)),
                sum = Literal::FromVector<float>(Shape(ElementType::kF32, {2, 3}), std::vector<float>(6, 3));
  const std::string arguments = ScratchFolder() + "/unnamed.npz", results = ScratchFolder() + "/unnamed_results.npz";
  ASSERT_TRUE(WriteNpz(arguments, "arr", {&one, &two}).ok());
  ASSERT_TRUE(WriteNpz(results, "arr", {&sum}).ok());
  const std::string options = AddProgram() + " --args " + arguments;
  const CommandResult run = RunVxla("run " + options + " --device cpu");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("[[3. 3. 3.]"));
  EXPECT_EQ(DiffJson(options + " --against " + results, 0)["verdict"], "agree");
  // Where there is an arg_0, they are what nobody wants.
  ASSERT_TRUE(WriteNpz(arguments, "arg", {&one, &two}).ok());
  ASSERT_EQ(RunShell("cd " + ScratchFolder() +
                     " && rm -rf u && mkdir u && cd u && python3 -m zipfile -e ../unnamed.npz . "
                     "&& cp arg_1.npy arr_0.npy && python3 -m zipfile -c ../unnamed.npz *.npy")
                .exit_code,
            0);
  const CommandResult both = RunVxla("run " + options + " --device cpu");
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_THAT(both.err, HasSubstr("arr_0: no parameter wants it"));
}

TEST(OutputTest, AnNpyHoldsTheOnlyResultAndComesBack) {
  const std::string file = ScratchFolder() + "/one.npy";
  const CommandResult run = RunVxla("run " + ProductProgram() + " --device cpu -o " + file);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(ReadScratch(file), StartsWith("\x93NUMPY"));
  EXPECT_THAT(run.err,
              HasSubstr(fmt::format("vxla: note: {}: {} bytes written\n", file, std::filesystem::file_size(file))));
  EXPECT_EQ(DiffJson(ProductProgram() + " --device cpu --against " + file, 0)["results"][0]["differing"], 0);
  // A type that numpy lacks keeps its bits, and an argument takes them.
  const std::string narrow =
      WriteScratch("narrow_one.hlo", "ENTRY e { x = bf16[3] parameter(0)  ROOT y = bf16[3] add(x, x) }");
  const std::string first = ScratchFolder() + "/bf16.npy";
  ASSERT_EQ(RunVxla("run " + narrow + " --device cpu -o " + first).exit_code, 0);
  EXPECT_EQ(RunVxla("run " + narrow + " --device cpu --args " + first).exit_code, 0);
  const std::string pair = WriteScratch(
      "pair.hlo", "ENTRY e { x = f32[3] parameter(0)  y = f32[3] negate(x)  ROOT t = (f32[3], f32[3]) tuple(x, y) }");
  std::filesystem::remove(file);
  for (const char* device : {"cpu", "vulkan"}) {
    const CommandResult refused = RunVxla("run " + pair + " -o " + file + " --device " + device);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.err, HasSubstr("an .npy holds one array, and the program gives 2: name an .npz"));
  }
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(OutputTest, AProgramIsNotOverwrittenByWhatIsMadeOfIt) {
  const std::string program = AddProgram(), text = ReadScratch(program), link = ScratchFolder() + "/link.hlo",
                    hard = ScratchFolder() + "/hard.hlo";
  std::filesystem::remove(link);
  std::filesystem::remove(hard);
  std::filesystem::create_symlink(program, link);
  std::filesystem::create_hard_link(program, hard);
  for (const std::string& other : {program, link, hard, ScratchFolder() + "/./verdict_add.hlo"}) {
    for (const std::string& command : std::vector<std::string>{
             "convert " + program + " " + other + " --to stablehlo", "convert " + other + " " + program,
             "compile " + program + " -o " + other, "run " + program + " -o " + other,
             "run " + program + " --trace " + other, "diff " + program + " --report " + other}) {
      const CommandResult result = RunVxla(command);
      EXPECT_EQ(result.exit_code, 2) << command;
      EXPECT_THAT(result.err, HasSubstr("is the file that is read")) << command;
    }
  }
  EXPECT_EQ(ReadScratch(program), text);
}

TEST(OutputTest, ConvertAndCompileNameTheFileAndItsBytes) {
  for (const std::string& command :
       std::vector<std::string>{"convert " + AddProgram() + " ", "compile " + AddProgram() + " -o "}) {
    const std::string file = ScratchFolder() + "/said.mlir";
    const CommandResult result = RunVxla(command + file);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, fmt::format("vxla: note: {}: {} bytes written\n", file, std::filesystem::file_size(file)));
  }
}

TEST(DeviceWordsTest, HaveAnyCaseAndOtherNames) {
  const std::string run = "run " + AddProgram() + " --json --device ";
  EXPECT_EQ(Json::parse(RunVxla(run + "CPU").out)["device"], "cpu");
  for (const char* word : {"lavapipe", "LLVMpipe", "Lavapipe"})
    EXPECT_THAT(Json::parse(RunVxla(run + word).out)["device"].get<std::string>(), StartsWith("llvmpipe")) << word;
  const std::string best = RunVxla("run " + AddProgram() + " --json --device vulkan").out;
  for (const char* word : {"gpu", "Vulkan", "GPU"})
    EXPECT_EQ(Json::parse(RunVxla(run + word).out)["device"], Json::parse(best)["device"]) << word;
  EXPECT_EQ(Json::parse(RunVxla(run + "1").out)["device"], Json::parse(RunVxla(run + "vulkan:1").out)["device"]);
  EXPECT_EQ(RunVxla("diff " + AddProgram() + " --device ALL").exit_code, 0);
}

TEST(VerdictTest, AnOverflowThatTheOrderDecidesIsNoFaultOfADriver) {
  const std::string program =
      WriteScratch("verdict_overflow.hlo",
                   "ENTRY e { x = f32[3,97] parameter(0)  y = c64[3,49] fft(x), fft_type=RFFT, fft_length={97}\n"
                   "  ROOT z = f32[3,97] fft(y), fft_type=IRFFT, fft_length={97} }");
  const Json overflow = DiffJson(program + " --device lavapipe --fill full-range", 1);
  EXPECT_EQ(overflow["fault"], "overflow");
  EXPECT_EQ(overflow["first_bad"], "y");
  EXPECT_EQ(DiffJson(program + " --device lavapipe", 0)["verdict"], "agree");
}

// A sort brings the infinities to other places, so that numbers differ beside them.
TEST(VerdictTest, AnOverflowBehindASortIsOne) {
  const std::string program =
      WriteScratch("verdict_overflow_sorted.hlo",
                   "less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), "
                   "direction=GT, type=TOTALORDER }\n"
                   "ENTRY e { x = f32[70,90] parameter(0)  y = c64[70,46] fft(x), fft_type=RFFT, fft_length={90}\n"
                   "  z = f32[70,90] fft(y), fft_type=IRFFT, fft_length={90}\n"
                   "  ROOT s = f32[70,90] sort(z), dimensions={0}, is_stable=true, to_apply=less }");
  const Json overflow = DiffJson(program + " --device lavapipe --fill full-range", 1);
  EXPECT_EQ(overflow["fault"], "overflow");
  EXPECT_EQ(overflow["first_bad"], "y");
}

TEST(BenchCommandTest, ListsItsCasesAndMeasuresNone) {
  const CommandResult text = RunVxla("bench --list");
  EXPECT_EQ(text.exit_code, 0);
  const Json list = Json::parse(RunVxla("bench --list --json").out);
  EXPECT_GT(list.size(), 40u);
  for (const Json& one : list)
    EXPECT_THAT("\n" + text.out, HasSubstr("\n" + one["name"].get<std::string>() + " ")) << one;
}

TEST(BenchCommandTest, SaysTheMedianAndTheSpreadInRowsUnderEachOther) {
  const std::string names = "cpu_add " + AddProgram() + " --device cpu --num-runs 5 --warmup 0";
  for (const Json& row : Json::parse(RunVxla("bench " + names + " --json").out)) {
    EXPECT_LE(row["ms"], row["median_ms"]);
    EXPECT_LE(row["median_ms"], row["worst_ms"]);
    EXPECT_GE(row["spread"], 0);
  }
  const CommandResult text = RunVxla("bench " + names);
  EXPECT_THAT(text.err, HasSubstr("vxla: note: case 1 of 2: cpu_add\n"));
  std::istringstream lines(text.out);
  std::string head, first, second;
  std::getline(lines, head), std::getline(lines, first), std::getline(lines, second);
  EXPECT_THAT(head, StartsWith("case"));
  for (const std::string& row : {first, second}) {  // the percent sign stands under the end of its title
    const size_t end = head.find("spread") + 5;
    ASSERT_GT(row.size(), end);
    EXPECT_EQ(row[end], '%') << head << "\n" << row;
  }
}

TEST(ExplainCommandTest, BeginsWithItsSummary) {
  const CommandResult brief = RunVxla("explain " + ProductProgram());
  EXPECT_EQ(brief.exit_code, 0) << brief.err;
  const Json json = Json::parse(RunVxla("explain " + ProductProgram() + " --json").out);
  EXPECT_THAT(brief.out, StartsWith(fmt::format("{} dispatch", json["dispatches"].get<int>())));
  EXPECT_THAT(brief.out,
              HasSubstr(fmt::format("0 instructions on the CPU, peak {} bytes", json["peak_bytes"].get<int>())));
  EXPECT_LT(std::ranges::count(brief.out, '\n'), 10) << brief.out;
  const CommandResult whole = RunVxla("explain " + ProductProgram() + " --module --plan");
  EXPECT_THAT(whole.out, StartsWith(brief.out));
  EXPECT_THAT(whole.out, HasSubstr("\nFused module\n"));
  EXPECT_THAT(whole.out, HasSubstr("\nPlan\n"));
}

TEST(ExplainCommandTest, NamesThePassesAndShowsTheModuleAfterOne) {
  const CommandResult listed = RunVxla("explain " + ProductProgram() + " --passes --verify-after");
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr("\nPasses\n"));
  EXPECT_THAT(listed.out, ContainsRegex("simplify-algebra +[0-9]+ runs? +[0-9]+ changes? +[0-9.]+ ms"));
  const CommandResult dumped = RunVxla("explain " + ProductProgram() + " --dump-after expand-dots --dump-after fuse");
  EXPECT_EQ(dumped.exit_code, 0) << dumped.err;
  EXPECT_THAT(dumped.out, HasSubstr("\nAfter expand-dots\n\nHloModule"));
  EXPECT_THAT(dumped.out, HasSubstr("\nAfter fuse\n\nHloModule"));
  const Json json = Json::parse(RunVxla("explain " + ProductProgram() + " --json --dump-after fuse").out);
  EXPECT_EQ(json["passes"][0]["name"], "drop-order-of-copies");
  EXPECT_EQ(json["after"][0]["pass"], "fuse");
  const CommandResult unknown = RunVxla("explain " + ProductProgram() + " --dump-after nonsense");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("no pass has this name"));
}

TEST(CheckCommandInputTest, WhatHoldsNoChecksIsTheWrongFile) {
  const std::string bundle = ScratchFolder() + "/check.vxla";
  ASSERT_EQ(RunVxla("compile " + AddProgram() + " -o " + bundle).exit_code, 0);
  const std::vector<std::pair<std::string, std::string>> cases = {
      {AddProgram(), "HLO text, which has no check operations"},
      {WriteScratch("broken.hlo", "HloModule m\nENTRY e { nonsense"), "HLO text, which has no check operations"},
      {bundle, "a bundle, which is compiled already"},
      {WriteScratch("empty.mlir", ""), "holds no program"},
      {WriteScratch("blank.mlir", "\n  // nothing\n"), "holds no program"},
      {WriteScratch("prose.mlir", "This is no program.\n"), "nothing of it can be read"},
      {WriteScratch("halves.mlir", "func.func @f( {\n// -----\nfunc.func @g( {\n"), "nothing of it can be read"},
  };
  for (const auto& [file, message] : cases) {
    const CommandResult result = RunVxla("check --device cpu " + file);
    EXPECT_EQ(result.exit_code, 2) << file << result.out << result.err;
    EXPECT_THAT(result.err, HasSubstr(file + ": " + message)) << file;
  }
  // One that can be read, and fails, is a failed check.
  const std::string mixed = WriteScratch("mixed_read.mlir", "func.func @f() { return }\n// -----\nfunc.func @g( {\n");
  EXPECT_EQ(RunVxla("check --device cpu " + mixed).exit_code, 1);
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing::verdict_command_test
