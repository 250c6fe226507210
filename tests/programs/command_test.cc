// The promises of the command: forms, exit codes, messages, files that are whole or absent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/support/command_test_support.h"
#include "tests/support/source_dir.h"

namespace VXLA_NAMESPACE::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kAdd[] = "ENTRY e { a = f32[2,3] parameter(0)  b = f32[2,3] parameter(1)  ROOT c = f32[2,3] add(a, b) }";
// Two kernels that wait for each other, so that there is something to record.
constexpr char kSoftSum[] =
    "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n"
    "ENTRY e { x = f32[37,41] parameter(0)  w = f32[41,43] parameter(1)  zero = f32[] constant(0)\n"
    "d = f32[37,43] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "ROOT s = f32[37] reduce(d, zero), dimensions={1}, to_apply=sum }";

std::string AddProgram() { return WriteScratch("add.hlo", kAdd); }

void ExpectError(const CommandResult& result, int exit_code, const std::string& message) {
  EXPECT_EQ(result.exit_code, exit_code) << result.err;
  EXPECT_THAT(result.err, HasSubstr("vxla: error: "));
  EXPECT_THAT(result.err, HasSubstr(message));
}

TEST(CommandTest, RunPrintsResultsAsNumpyDoes) {
  const std::string a = WriteScratch("a.npy", NpyF32({2, 3}, {1, 2, 3, 4, 5, 6}));
  const std::string b = WriteScratch("b.npy", NpyF32({2, 3}, {0.5, 0, 0, 0, 0, 10}));
  for (const char* device : {"cpu", "vulkan"}) {
    const CommandResult result = RunVxla("run " + AddProgram() + " --args " + a + " " + b + " --device " + device);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out, "result_0: f32[2,3]\n[[ 1.5  2.   3. ]\n [ 4.   5.  16. ]]\n");
  }
}

// The expected lines are numpy's own.
TEST(CommandTest, PrintedNumbersHaveTheDigitsThatTellThemApart) {
  for (const auto& [type, values, lines] : std::vector<std::array<std::string, 3>>{
           {"f32[3]", "{0.1, 123.456, -0}", "[ 1.00000e-01  1.23456e+02 -0.00000e+00]"},
           {"f32[2]", "{0.1, -12.34}", "[  0.1  -12.34]"},
           {"f64[3]", "{1.8446744073709552e19, -1, 0.1}", "[ 1.84467441e+19 -1.00000000e+00  1.00000000e-01]"},
           {"f32[4]", "{1e-5, nan, -inf, 0.3333333432674408}",
            "[9.9999997e-06           nan          -inf 3.3333334e-01]"},
           {"f64[3]", "{nan, -2.25, 333.3333333333333}", "[         nan  -2.25       333.33333333]"},
           {"f16[2]", "{0.1, -0.3333333333333}", "[ 0.1    -0.3333]"},
           {"c64[2]", "{(1, 2), (-3.5, -0.25)}", "[ 1. +2.j   -3.5-0.25j]"}}) {
    const std::string program =
        WriteScratch("numbers.hlo", "ENTRY e { ROOT r = " + type + " constant(" + values + ") }");
    const CommandResult result = RunVxla("run " + program + " --device cpu");
    EXPECT_EQ(result.out, "result_0: " + type + "\n" + lines + "\n") << result.err;
  }
}

TEST(CommandTest, SeededArgumentsAreTheSameOnEachRunAndSaid) {
  const CommandResult first = RunVxla("run " + AddProgram() + " --device cpu --seed 7");
  const CommandResult second = RunVxla("run " + AddProgram() + " --device cpu --seed 7");
  const CommandResult other = RunVxla("run " + AddProgram() + " --device cpu --seed 8");
  EXPECT_EQ(first.out, second.out);
  EXPECT_NE(first.out, other.out);
  EXPECT_THAT(first.err, HasSubstr("vxla: note: arguments: 2 seeded (seed 7)\n"));
}

// What a script's empty variable gives.
TEST(CommandTest, FilesToWriteHaveNames) {
  for (const char* option : {"run -o ''", "run --trace ''", "run --outfeed ''", "compile -o ''", "diff --report ''"}) {
    const CommandResult result = RunVxla(std::string(option) + " " + AddProgram());
    EXPECT_EQ(result.exit_code, 2) << option;
    EXPECT_THAT(result.err, HasSubstr("'' names no file")) << option;
  }
}

// The parser itself takes the next word, and writes to a file of that name.
TEST(CommandTest, AnEqualsSignHasAValueBehindIt) {
  const CommandResult result = RunVxla("run --output= --device cpu " + AddProgram());
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--output= has no value behind its '='"));
}

TEST(CommandTest, StandardInputIsAFile) {
  const CommandResult result =
      RunShell("echo 'ENTRY e { ROOT c = s32[3] constant({1, 2, 3}) }' | \"$VXLA\" run - --device cpu");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("[1 2 3]"));
}

TEST(CommandTest, AReplayedRunRecordsCompilesAndAllocatesNothing) {
  const std::string program = WriteScratch("softsum.hlo", kSoftSum);
  const CommandResult result = RunVxla("run " + program + " --num-runs 3 --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["recorded"], 0);
  EXPECT_EQ(json["compiled"], 0);
  EXPECT_EQ(json["allocated_bytes"], 0);
  EXPECT_EQ(json["runs_ms"].size(), 3u);
  EXPECT_TRUE(json["fallbacks"].empty());
}

TEST(CommandTest, ATraceHoldsEachDispatchOfEachRun) {
  const std::string program = WriteScratch("softsum.hlo", kSoftSum), file = ScratchFolder() + "/trace.json";
  const CommandResult result = RunVxla("run " + program + " --num-runs 2 --trace " + file);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto events = nlohmann::json::parse(std::ifstream(file))["traceEvents"];
  std::vector<std::string> on_host, kernels;
  double last = 0;
  for (const auto& event : events) {
    if (event["ph"] != "X") continue;
    EXPECT_GE(event["dur"], 0);
    if (event["tid"] == 1) on_host.push_back(event["name"]);
    if (event["tid"] != 2) continue;
    kernels.push_back(event["args"]["kernel"]);
    EXPECT_GE(event["ts"], last);  // one at a time
    last = event["ts"];
  }
  EXPECT_THAT(on_host, ::testing::ElementsAre("plan", "make kernels", "run 1", "run 2"));
  EXPECT_THAT(kernels, ::testing::ElementsAre(HasSubstr("matmul"), HasSubstr("reduce/"), HasSubstr("matmul"),
                                              HasSubstr("reduce/")));
  ExpectError(RunVxla("run " + program + " --device cpu --trace " + file), 2,
              "--trace shows a Vulkan device's timeline: --device cpu has none");
  ExpectError(RunVxla("run " + program + " --trace /no/such/folder/t.json"), 2,
              "/no/such/folder/t.json: cannot be written: there is no folder /no/such/folder");
  ExpectError(RunVxla("run " + program + " --device cpu --profile"), 2,
              "--profile shows a Vulkan device's kernels: --device cpu has none");
}

TEST(CommandTest, AProfileComparesKernelsWithTheDevicesOwnRates) {
  const CommandResult result = RunVxla("run " + WriteScratch("softsum.hlo", kSoftSum) + " --profile");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, ::testing::ContainsRegex("of copy +GFLOP/s +of peak +kernel"));
  EXPECT_THAT(result.err,
              ::testing::ContainsRegex("2 dispatches; measured here: (the driver's|a kernel's) copy [0-9.]+ GB/s, f32 "
                                       "multiplications and additions [0-9.]+ GFLOP/s"));
}

TEST(CommandTest, AProfileCountsADispatchInPartsOnce) {
  const std::string program =
      WriteScratch("parts.hlo", "ENTRY e { x = f32[300007] parameter(0)  ROOT r = f32[300007] exponential(x) }");
  const std::string parts = " --work-budget 0.1";
  EXPECT_THAT(RunVxla("explain " + program + parts + " --plan").out, HasSubstr("part 2 of "));
  const CommandResult result = RunVxla("run " + program + " --profile" + parts);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, ::testing::ContainsRegex("100\\.0% +2\\.400 .*\\[elementwise/fused_loop\\.comp\\]\n"));
}

TEST(CommandTest, ExplainCountsTheDispatchesThatTheRecorderRecords) {
  const std::string program = WriteScratch("softsum.hlo", kSoftSum);
  const CommandResult explained = RunVxla("explain " + program + " --json");
  const CommandResult run = RunVxla("run " + program + " --json");
  ASSERT_EQ(explained.exit_code, 0) << explained.err;
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(nlohmann::json::parse(explained.out)["dispatches"], nlohmann::json::parse(run.out)["recorded"]);
}

TEST(CommandTest, DiffOfTheExampleAgrees) {
  const std::string example = std::string(SourceDir()) + "/examples/digits_mlp/";
  for (const char* bindings : {"addresses", "descriptors"}) {
    const CommandResult result =
        RunVxla("diff " + example + "train_step.hlo --args " + example + "args.npz --json --bindings " + bindings);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(nlohmann::json::parse(result.out)["verdict"], "agree");
  }
}

TEST(CommandTest, DiffAgainstOtherResultsDiffers) {
  const std::string out = ScratchFolder() + "/out.npz";
  ASSERT_EQ(RunVxla("run " + AddProgram() + " --device cpu --seed 1 -o " + out).exit_code, 0);
  EXPECT_EQ(RunVxla("diff " + AddProgram() + " --seed 1 --against " + out).exit_code, 0);
  const CommandResult result = RunVxla("diff " + AddProgram() + " --seed 2 --against " + out);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, HasSubstr("DIFFER"));
  EXPECT_THAT(result.out, HasSubstr("OUTSIDE the tolerance"));
}

TEST(CommandTest, ConvertWritesWhatParsesBack) {
  const std::string once = ScratchFolder() + "/once.hlo", twice = ScratchFolder() + "/twice.hlo";
  ASSERT_EQ(RunVxla("convert " + AddProgram() + " " + once).exit_code, 0);
  ASSERT_EQ(RunVxla("convert " + once + " " + twice).exit_code, 0);
  EXPECT_EQ(ReadScratch(once), ReadScratch(twice));
  EXPECT_THAT(ReadScratch(once), HasSubstr("ROOT"));
}

// Commands that only say what IREE's would: the program and its arguments reach them, and their best time comes back.
TEST(CommandTest, BenchEmbedHasARowOfIreesWhereItsCommandsAre) {
  const std::string folder = ScratchFolder() + "/iree";
  std::filesystem::create_directories(folder);
  const auto write = [&](const std::string& name, const std::string& does) {
    WriteScratch("iree/" + name, "#!/bin/sh\n" + does);
    std::filesystem::permissions(folder + "/" + name, std::filesystem::perms::owner_all);
  };
  write("iree-compile", "grep -q stablehlo.tanh \"$1\" && cp \"$1\" \"$5\"\n");
  const std::string bench = "bench embed --bindings descriptors --num-runs 2 --json --iree " + folder;
  EXPECT_THAT(RunVxla(bench).err, HasSubstr("embed: no row of IREE's: --iree " + folder + ": no iree-compile and"));
  write("iree-benchmark-module",
        "case \"$*\" in *--input=32x32xf32=0*--input=32x32xf32=0*--input=32x32xf32=0*) ;; *) exit 1;; esac\n"
        "echo '{\"benchmarks\": [{\"run_type\": \"iteration\", \"real_time\": 0.75},"
        " {\"run_type\": \"iteration\", \"real_time\": 0.5}, {\"run_type\": \"aggregate\", \"real_time\": 0.1}]}'\n");
  const CommandResult result = RunVxla(bench);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto rows = nlohmann::json::parse(result.out);
  EXPECT_EQ(rows.back()["name"], "embed in IREE, submitting and waiting");
  EXPECT_EQ(rows.back()["ms"], 0.5);
  write("iree-compile", "echo no such thing >&2\nexit 3\n");
  EXPECT_THAT(RunVxla(bench).err, HasSubstr("iree-compile fails: no such thing"));
}

// A Python that only says what JAX would: programs, arguments and runs reach it, and its times come back, also in a
// table.
TEST(CommandTest, BenchAgainstXlaPutsItsTimesBesideOurs) {
  const std::string python = ScratchFolder() + "/as_python", table = ScratchFolder() + "/beside_xla.json";
  const auto write = [&](const std::string& does) {
    WriteScratch("as_python", "#!/bin/sh\n[ \"$1\" = -c ] || exit 1\n" + does);
    std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  };
  write(
      "grep -q stablehlo.add \"$3/0.mlir\" && [ -s \"$3/0.npz\" ] && [ \"$4\" = 2 ] || exit 2\n"
      "grep -q stablehlo.exponential \"$3/1.mlir\" || exit 3\n"
      "echo '{\"xla\": \"jax 9\", \"programs\": [{\"call_ms\": 1e6, \"device_ms\": 0}, {\"error\": \"no room\"}]}'\n");
  WriteScratch("exp.hlo", "ENTRY e { x = bf16[3] parameter(0)  ROOT r = bf16[3] exponential(x) }");
  const std::string bench = "bench " + AddProgram() + " " + ScratchFolder() +
                            "/exp.hlo --bindings descriptors --num-runs 2 " + "--against xla --python " + python;
  const CommandResult result = RunVxla(bench + " --json -o " + table);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto rows = nlohmann::json::parse(result.out);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["xla_ms"], 1e6);
  EXPECT_GT(rows[0]["ms"], 0);
  EXPECT_GT(rows[0]["device_ms"], 0);
  EXPECT_EQ(rows[1]["error"], "no room");
  const auto written = nlohmann::json::parse(ReadScratch(table));
  EXPECT_EQ(written["name"], "beside_xla");
  EXPECT_EQ(written["peer"], "XLA (jax 9)");
  ASSERT_EQ(written["rows"].size(), 1u);
  EXPECT_EQ(written["rows"][0]["case"], AddProgram());
  EXPECT_THAT(RunVxla(bench).out, HasSubstr("XLA: no room"));

  write("echo first >&2\necho No module named jax >&2\nexit 1\n");
  ExpectError(RunVxla(bench), 2, python + ": No module named jax");
  write("echo nothing\n");
  ExpectError(RunVxla(bench), 3, "printed no times of 2 programs");
  ExpectError(RunVxla("bench --against xla --python " + ScratchFolder() + "/nosuch"), 2, "no program that can be run");
  ExpectError(RunVxla("bench --against xla sharded --python " + python), 2, "programs of one device");
  ExpectError(RunVxla("bench --against iree"), 2, "'iree' is none of xla");
  ExpectError(RunVxla("bench add -o " + table), 2, "only --against makes a table");
  ExpectError(RunVxla("bench " + AddProgram() + " --args {folder}/absent.npz"), 2,
              std::filesystem::path(AddProgram()).parent_path().string() + "/absent.npz");
}

TEST(CommandTest, BenchMeasuresAProgramInBothBindingModes) {
  const CommandResult result = RunVxla("bench " + AddProgram() + " --num-runs 2 --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto rows = nlohmann::json::parse(result.out);
  ASSERT_EQ(rows.size(), 2u);
  for (const auto& row : rows) {
    EXPECT_GT(row["ms"], 0);
    EXPECT_EQ(row["bytes"], 72);
    EXPECT_EQ(row["flop"], 6);
    EXPECT_GT(row["cpu_ms"], 0);
    EXPECT_GT(row["ratio"], 0);
  }
  EXPECT_NE(rows[0]["bindings"], rows[1]["bindings"]);
  ExpectError(RunVxla("bench nosuch"), 2, "neither a file nor one of add");
}

// What it takes is in the report of the tests: some 10 us, and 0.3 us for each dispatch.
TEST(CommandTest, WhatAReplayTakesOfTheCallingThreadIsMeasured) {
  const CommandResult result = RunVxla("bench replay_1000 --num-runs 30 --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const auto& row : nlohmann::json::parse(result.out)) {
    if (!row.contains("caller_ms")) GTEST_SKIP() << "the system does not say what a thread takes";
    EXPECT_GT(row["caller_ms"], 0);
    RecordProperty("caller_ms_" + row["bindings"].get<std::string>(), row["caller_ms"].dump());
  }
}

TEST(CommandTest, BenchTunesTheDeviceAndForgets) {
  const CommandResult tuned = RunVxla("bench --tune dot_512 --emulate gpu --num-runs 1 --json");
  ASSERT_EQ(tuned.exit_code, 0) << tuned.err;
  const auto json = nlohmann::json::parse(tuned.out);
  EXPECT_EQ(json["kept"], true);
  EXPECT_GT(json["measured"].size(), 8u);
  std::map<std::string, int> alike;
  for (const auto& row : json["measured"]) {
    if (row["note"] == "the same kernels") {
      EXPECT_TRUE(row["ms"].is_null() || row["ms"].empty());
      ++alike[row["value_of"]];
    } else {
      EXPECT_GT(row["ms"]["dot_512"], 0);
    }
  }
  // Whichever value is taken or the table's, it is among those that are tried.
  EXPECT_EQ(alike.size(), 3u) << json;
  // Values that change the order of sums are measured only where that is allowed.
  for (const auto& [name, value] : json["tuning"].items()) EXPECT_THAT(name, ::testing::StartsWith("dot_"));
  const CommandResult forgotten = RunVxla("bench --tune=forget --emulate gpu");
  EXPECT_EQ(forgotten.exit_code, 0) << forgotten.err;
  EXPECT_THAT(forgotten.out, HasSubstr("the table's values: nothing else is kept for this device"));
  EXPECT_THAT(RunVxla("bench --tune=forget --no-cache").out, HasSubstr("not kept (--no-cache)"));
  ExpectError(RunVxla("bench --tune=fast"), 2, "--tune=fast: none of keep-bits, any-bits, forget");
  ExpectError(RunVxla("bench --tune sort"), 2,
              "--tune: sort is none of add, dot_1024, dot_512, softmax, sum, tanh_mul_add");
  ExpectError(RunVxla("bench --tune --device cpu"), 2, "--tune: --device cpu has nothing to tune");
}

TEST(CommandTest, TheSeedDrivesStatefulRandomNumbersOnEveryDevice) {
  const std::string program =
      WriteScratch("draws.hlo",
                   "HloModule m\ndraw { z = f32[] constant(0)\n o = f32[] constant(1)\n"
                   " ROOT u = f32[5] rng(z, o), distribution=rng_normal }\n"
                   "ENTRY e { a = f32[5] call(), to_apply=draw\n b = f32[5] call(), to_apply=draw\n"
                   " c = f32[5] subtract(a, b)\n s = u64[2] rng-get-and-update-state(), delta=1\n"
                   " ROOT t = (f32[5], u64[2]) tuple(c, s) }");
  auto drawn = [&](const std::string& options) {
    const CommandResult result = RunVxla("run " + program + " " + options);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  };
  EXPECT_EQ(drawn("--device cpu"), drawn("--device vulkan --seed 0"));
  EXPECT_EQ(drawn("--device cpu --seed 9"), drawn("--device vulkan --seed 9 --num-runs 2 --check-same"));
  EXPECT_NE(drawn("--device cpu"), drawn("--device cpu --seed 9"));
  EXPECT_NE(drawn("--device cpu --replicas 2"), drawn("--device cpu --replicas 2 --seed 9"));
  EXPECT_EQ(RunVxla("diff " + program + " --seed 9").exit_code, 0);
  EXPECT_EQ(RunVxla("diff " + program + " --seed 9 --isolate").exit_code, 0);
}

TEST(CommandTest, DiffOnAllDevicesGivesAVerdictForEach) {
  const CommandResult result = RunVxla("diff " + AddProgram() + " --device all");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto devices = nlohmann::json::parse(RunVxla("devices --json").out);
  size_t at = 0;
  for (size_t i = 0; i < devices.size(); ++i) {
    const size_t head = result.out.find("vulkan:" + std::to_string(i) + "  " + devices[i]["name"].get<std::string>());
    ASSERT_NE(head, std::string::npos) << result.out;
    EXPECT_GE(head, at);
    at = result.out.find("AGREE: ", head);
    ASSERT_NE(at, std::string::npos) << result.out;
  }
  const auto json = nlohmann::json::parse(RunVxla("diff " + AddProgram() + " --device all --json").out);
  EXPECT_EQ(json["devices"].size(), devices.size());
}

TEST(CommandTest, TheDocumentedTableIsWhatOpsPrints) {
  const std::string page = ReadScratch(std::string(SourceDir()) + "/docs/reference/operations.md");
  const size_t begin = page.find("<!-- ops -->\n") + 13, end = page.find("<!-- /ops -->");
  ASSERT_LT(begin, end);
  EXPECT_EQ(page.substr(begin, end - begin), RunVxla("ops").out) << "paste the output of `vxla ops` between the marks";
}

TEST(CommandTest, DevicesNamesEachDevicesTypesLimitsAndQuirks) {
  const CommandResult result = RunVxla("devices --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  ASSERT_FALSE(json.empty());
  for (const char* key : {"name", "uuid", "driver", "api", "types", "division", "matrices", "group_matrices", "queues",
                          "limits", "quirks"})
    EXPECT_TRUE(json[0].contains(key)) << key;
  EXPECT_EQ(json[0]["types"]["f32"], "native");
  for (const auto& device : json) {
    for (const auto& [type, how] : device["types"].items())
      EXPECT_TRUE(how == "native" || how == "emulated") << type << ": " << how;
    for (const auto& [type, how] : device["division"].items()) {
      EXPECT_TRUE(how == "native" || how == "corrected" || (type == "f64" && how == "emulated")) << type << ": " << how;
    }
  }
  const std::string text = RunVxla("devices").out;
  EXPECT_THAT(text, HasSubstr("  division  f16 "));
  // What --device takes.
  const std::string uuid = json[0]["uuid"];
  EXPECT_THAT(text, HasSubstr("  uuid      " + uuid));
  EXPECT_EQ(RunVxla("explain " + AddProgram() + " --device " + uuid).exit_code, 0);
}

// RADV comes with lavapipe's package: AMD's real compiler, without a GPU.
TEST(CommandTest, ExplainShowsWhatADriverCompiledForNullHardware) {
  const std::string radv =
      "VK_DRIVER_FILES=/usr/share/vulkan/icd.d/radeon_icd.x86_64.json RADV_FORCE_FAMILY=navi21 "
      "MESA_SHADER_CACHE_DISABLE=true";
  const std::string folder = WriteScratch("isa_place", "") + "_folder";
  const CommandResult devices = RunVxla("devices", radv);
  ASSERT_THAT(devices.out, HasSubstr("Null hardware")) << "RADV is in mesa-vulkan-drivers, as lavapipe is";
  const CommandResult shown = RunVxla("explain " + AddProgram() + " --json --isa " + folder, radv);
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.err, HasSubstr("null hardware: kernels are compiled for it, nothing can run on it"));
  const auto kernel = nlohmann::json::parse(shown.out)["isa"][0];
  EXPECT_EQ(kernel["statistics"]["Spilled VGPRs"], "0");
  std::ifstream file(folder + "/" + kernel["file"].get<std::string>());
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(text, HasSubstr("; VGPRs = "));
  EXPECT_THAT(text, HasSubstr("v_add_f32"));
  ExpectError(RunVxla("run " + AddProgram(), radv), 3, "null hardware");
  ExpectError(RunVxla("explain " + AddProgram() + " --device llvmpipe --isa " + folder), 3,
              "its driver shows no compiled kernels (no VK_KHR_pipeline_executable_properties)");
}

TEST(CommandTest, EmulateDoesWithoutFeaturesAndGivesTheSameResult) {
  const std::string add = AddProgram();
  const CommandResult with = RunVxla("run " + add),
                      without = RunVxla("run " + add + " --emulate i64,f64,f16,narrow,subgroups");
  EXPECT_EQ(without.exit_code, 0) << without.err;
  EXPECT_EQ(with.out, without.out);
  ExpectError(RunVxla("run " + add + " --emulate i64,f80"), 2,
              "--emulate: 'f80' is none of i64, f64, f16, narrow, subgroups, division");
}

TEST(CommandTest, ConvertWritesStableHloThatRunsTheSame) {
  const std::string add = AddProgram(), mlir = WriteScratch("add.mlir", "");
  EXPECT_EQ(RunVxla("convert " + add + " " + mlir).exit_code, 0);
  EXPECT_EQ(RunVxla("run " + mlir + " --device cpu").out, RunVxla("run " + add + " --device cpu").out);
  const std::string bytecode = WriteScratch("add.mlirbc", ""), again = WriteScratch("again.hlo", "");
  EXPECT_EQ(RunVxla("convert " + mlir + " " + bytecode + " --target-version 1.0.0").exit_code, 0);
  EXPECT_EQ(RunVxla("run " + bytecode + " --device cpu").out, RunVxla("run " + add + " --device cpu").out);
  EXPECT_EQ(RunVxla("convert " + bytecode + " " + again).exit_code, 0);
  EXPECT_EQ(RunVxla("run " + again + " --device cpu").out, RunVxla("run " + add + " --device cpu").out);
  ExpectError(RunVxla("convert " + add + " " + bytecode + " --target-version 2.1"), 2,
              "--target-version 2.1: no version of VHLO from 0.9.0 to 1.20.0");
}

TEST(CommandErrorTest, MalformedTextNamesFileLineAndColumn) {
  const std::string program =
      WriteScratch("bad.hlo", "ENTRY e {\n  a = f32[2] parameter(0)\n  ROOT b = f32[2] nosuchop(a)\n}");
  ExpectError(RunVxla("run " + program), 2, program + ":3:");
}

TEST(CommandErrorTest, WrongStatedShapeIsFoundBeforeRunning) {
  const std::string program =
      WriteScratch("shape.hlo", "ENTRY e { a = f32[2] parameter(0)  ROOT b = f32[3] negate(a) }");
  ExpectError(RunVxla("run " + program), 2, "f32[3]");
}

TEST(CommandErrorTest, FormsAreToldApartByContent) {
  const std::string program = WriteScratch("f.mlir", "module @jit_f attributes {mhlo.num_replicas = 1 : i32} {\n}\n");
  ExpectError(RunVxla("run " + program), 2, program + ":1:1: the module has no function @main");
  const std::string bytecode = WriteScratch("f.mlirbc", std::string("ML\xefR\x0d", 5));
  ExpectError(RunVxla("run " + bytecode), 2, "MLIR bytecode: byte 5: the producer has no end");
  const std::string hlo = WriteScratch("module.hlo", "module { ROOT r = f32[] constant(2) }");
  EXPECT_EQ(RunVxla("run " + hlo + " --device cpu").exit_code, 0);
}

TEST(CommandErrorTest, BinaryWhereTextIsExpected) {
  const std::string program = WriteScratch("module.pb", std::string("\x0a\x05\x00\x01\x02\xff\xfe", 7));
  ExpectError(RunVxla("run " + program), 2, "not HLO text");
}

TEST(CommandErrorTest, ArgumentOfAnotherShape) {
  const std::string a = WriteScratch("wrong.npy", NpyF32({3}, {1, 2, 3}));
  ExpectError(RunVxla("run " + AddProgram() + " --args " + a), 2, "arg_0: f32[3] given, the program wants f32[2,3]");
}

TEST(CommandErrorTest, ArgumentOfAnotherType) {
  const std::string program = WriteScratch("int.hlo", "ENTRY e { ROOT a = s32[2] parameter(0) }");
  const std::string a = WriteScratch("float.npy", NpyF32({2}, {1, 2}));
  ExpectError(RunVxla("run " + program + " --args " + a), 2, "arg_0: f32[2] given, the program wants s32[2]");
}

TEST(CommandErrorTest, MoreArgumentsThanParameters) {
  const std::string a = WriteScratch("a6.npy", NpyF32({2, 3}, {1, 2, 3, 4, 5, 6}));
  ExpectError(RunVxla("run " + AddProgram() + " --args " + a + " " + a + " " + a), 2, "arg_2: no parameter wants it");
}

TEST(CommandErrorTest, MissingFiles) {
  ExpectError(RunVxla("run nosuch.hlo"), 2, "nosuch.hlo: cannot be read");
  ExpectError(RunVxla("run " + AddProgram() + " --args nosuch.npz"), 2, "nosuch.npz: cannot be read: No such file");
  ExpectError(RunVxla("run " + AddProgram() + " --args nosuch.npy"), 2, "nosuch.npy: cannot be read");
  ExpectError(RunVxla("run " + ScratchFolder()), 2, "is a folder");
}

TEST(CommandErrorTest, CorruptNpy) {
  const std::string whole = NpyF32({2, 3}, {1, 2, 3, 4, 5, 6});
  ExpectError(RunVxla("run " + AddProgram() + " --args " + WriteScratch("c.npy", "no array at all")), 2,
              "not a .npy array");
  ExpectError(RunVxla("run " + AddProgram() + " --args " + WriteScratch("c.npy", whole.substr(0, 40))), 2,
              "header is cut short");
  ExpectError(RunVxla("run " + AddProgram() + " --args " + WriteScratch("c.npy", whole.substr(0, whole.size() - 1))), 2,
              "data is cut short");
  std::string huge = whole;
  huge.replace(huge.find("(2,3,)"), 6, "(99999");
  ExpectError(RunVxla("run " + AddProgram() + " --args " + WriteScratch("c.npy", huge)), 2, "header is cut short");
}

TEST(CommandErrorTest, CorruptNpz) {
  const std::string out = ScratchFolder() + "/good.npz";
  ASSERT_EQ(RunVxla("run " + AddProgram() + " --device cpu -o " + out).exit_code, 0);
  const std::string whole = ReadScratch(out);
  ExpectError(RunVxla("run " + AddProgram() + " --args " + WriteScratch("t.npz", whole.substr(0, whole.size() / 2))), 2,
              "not a readable .npz");
  std::string flipped = whole;
  flipped[whole.find("NUMPY") + 130] ^= 0x40;
  ExpectError(RunVxla("run " + AddProgram() + " --args " + WriteScratch("f.npz", flipped)), 2, "f.npz");
}

TEST(CommandErrorTest, UnknownOptionsAndSubcommands) {
  ExpectError(RunVxla("run " + AddProgram() + " --frobnicate"), 2, "--frobnicate");
  ExpectError(RunVxla("frobnicate"), 2, "");
  ExpectError(RunVxla("run " + AddProgram() + " --validate=everything"), 2, "'everything' is none of core, sync, gpu");
  EXPECT_EQ(RunVxla("run --help").exit_code, 0);
  EXPECT_THAT(RunVxla("--version").out, StartsWith("vxla "));
}

TEST(CommandErrorTest, AnOpThatNothingEvaluatesIsNamed) {
  const std::string program = WriteScratch("op.hlo", "ENTRY e { p = f32[4] parameter(0) ROOT r = f32[4] shuffle(p) }");
  for (const char* device : {"cpu", "vulkan"})
    ExpectError(RunVxla("run " + program + " --device " + device), 2,
                "the op shuffle is read and printed, but no document says what it computes");
}

TEST(CommandErrorTest, ADeviceThatDoesNotExist) {
  ExpectError(RunVxla("run " + AddProgram() + " --device nosuchdevice"), 2, "no device is named like 'nosuchdevice'");
  ExpectError(RunVxla("run " + AddProgram() + " --device vulkan:99"), 2, "vulkan:99");
  for (const char* command : {"run ", "explain ", "bench "})
    ExpectError(RunVxla(command + AddProgram() + " --device All"), 2,
                "--device all: one device at a time runs a program");
}

TEST(CommandErrorTest, WithoutAnyDriverTheCpuStillWorks) {
  const std::string none = "VK_DRIVER_FILES=/nonexistent VK_ICD_FILENAMES=/nonexistent";
  ExpectError(RunVxla("run " + AddProgram(), none), 3, "Vulkan");
  EXPECT_EQ(RunVxla("run " + AddProgram() + " --device cpu", none).exit_code, 0);
}

TEST(CommandErrorTest, AShapeOverTheDevicesMemory) {
  const std::string program = WriteScratch(
      "huge.hlo", "ENTRY e { a = f32[] parameter(0)  ROOT b = f32[3000000,3000000] broadcast(a), dimensions={} }");
  const CommandResult result = RunVxla("run " + program);
  EXPECT_THAT(result.exit_code, ::testing::AnyOf(2, 3)) << result.err;
  EXPECT_THAT(result.err, HasSubstr("vxla: error: "));
  const std::string big = WriteScratch(
      "big.hlo", "ENTRY e { a = f32[] parameter(0)  ROOT b = f32[2000000000] broadcast(a), dimensions={} }");
  ExpectError(RunVxla("run " + big), 3, "bytes");
}

TEST(CommandErrorTest, ACacheFolderThatCannotBeWritten) {
  EXPECT_EQ(RunVxla("run " + AddProgram(), "XDG_CACHE_HOME=/proc/nowhere").exit_code, 0);
}

TEST(CommandErrorTest, CorruptCacheFilesAreRebuilt) {
  const std::string cache = ScratchFolder() + "/spoilt_cache";
  const std::string environment = "XDG_CACHE_HOME=" + cache;
  const CommandResult before = RunVxla("run " + AddProgram() + " --seed 3", environment);
  ASSERT_EQ(before.exit_code, 0) << before.err;
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(cache)) {
    if (!entry.is_regular_file()) continue;
    std::string content = ReadScratch(entry.path().string());
    for (size_t i = 0; i < content.size(); i += 7) content[i] = static_cast<char>(content[i] ^ 0x5a);
    RunShell("rm -f '" + entry.path().string() + "'");
    WriteScratch(std::filesystem::relative(entry.path(), ScratchFolder()).string(), content);
    ++files;
  }
  EXPECT_GT(files, 0);
  const CommandResult after = RunVxla("run " + AddProgram() + " --seed 3", environment);
  EXPECT_EQ(after.exit_code, 0) << after.err;
  EXPECT_EQ(after.out, before.out);
}

TEST(CommandErrorTest, AFullDiskLeavesNoHalfWrittenFile) {
  ExpectError(RunVxla("run " + AddProgram() + " -o /dev/full"), 3, "/dev/full: cannot be written");
  const std::string out = ScratchFolder() + "/half.npz";
  const std::string program = WriteScratch("wide.hlo", "ENTRY e { ROOT a = f32[100000] parameter(0) }");
  // A limit on file sizes stops the write in its middle, as a full disk does.
  const CommandResult result = RunShell("ulimit -f 16; \"$VXLA\" run " + program + " --device cpu -o " + out);
  ExpectError(result, 3, "cannot be written");
  EXPECT_FALSE(std::filesystem::exists(out));
  for (const auto& entry : std::filesystem::directory_iterator(ScratchFolder()))
    EXPECT_FALSE(entry.path().string().ends_with(".tmp")) << entry.path();
  ExpectError(RunVxla("run " + AddProgram() + " -o /nonexistent/out.npz"), 2, "cannot be written");
  ExpectError(RunVxla("convert " + AddProgram() + " /nonexistent/out.mlir"), 2, "cannot be written: No such file");
}

TEST(CommandErrorTest, NumbersOutOfBoundsAreNoOtherNumbers) {
  const std::string run = "run " + AddProgram() + " --device cpu ";
  for (const char* seed : {"-1", "18446744073709551616", "1.5", "''"})
    ExpectError(RunVxla(run + "--seed " + seed), 2, "is not a whole number from 0 to 18446744073709551615");
  EXPECT_EQ(RunVxla(run + "--seed 18446744073709551615").exit_code, 0);
  ExpectError(RunVxla(run + "--queues 0"), 2, "--queues: 0 is not a whole number from 1 to 2147483647");
  ExpectError(RunVxla(run + "--num-runs 0"), 2, "--num-runs: 0 is not a whole number from 1 to 1000000");
  ExpectError(RunVxla(run + "--max-loop-iterations 9223372036854775808"), 2, "from 0 to 9223372036854775807");
  for (const char* option : {"--work-budget", "--collective-timeout"}) {
    for (const char* value : {"nan", "inf", "-1", "soon"})
      ExpectError(RunVxla(run + option + " " + value), 2, "is not a number from 0 to 1000000000");
  }
}

TEST(CommandErrorTest, ArgumentsThatNoHostHoldsAreTheirBytes) {
  const std::string program = WriteScratch("huge.hlo", "ENTRY e { ROOT x = f32[1000000,1000000] parameter(0) }");
  ExpectError(RunVxla("run " + program + " --device cpu"), 3, "out of host memory: 4000000000000 bytes asked for");
}

TEST(CommandErrorTest, RequireGpuRefusesFallbacks) {
  const std::string program =
      WriteScratch("sort.hlo",
                   "yes { a = f32[] parameter(0)  ROOT r = pred[] constant(true) }\n"
                   "no { a = f32[] parameter(0)  ROOT r = pred[] constant(false) }\n"
                   "less { a = f32[] parameter(0)  b = f32[] parameter(1)  c = pred[] compare(a, b), direction=LT\n"
                   "ROOT r = pred[] conditional(c, a, b), true_computation=yes, false_computation=no }\n"
                   "ENTRY e { x = f32[9] parameter(0)  ROOT s = f32[9] sort(x), dimensions={0}, to_apply=less }");
  const CommandResult fallback = RunVxla("run " + program);
  EXPECT_EQ(fallback.exit_code, 0) << fallback.err;
  EXPECT_THAT(fallback.err, HasSubstr("sort) runs on the CPU"));
  ExpectError(RunVxla("run " + program + " --require-gpu"), 3, "sort");
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
