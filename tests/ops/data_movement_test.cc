// Index operations on a device against the CPU reference: exact, at every rank, alone and inside fusions.
#include <fmt/format.h>

#include <numeric>

#include "tests/support/gpu_client.h"

namespace VXLA_NAMESPACE::testing {
namespace {

RunOptions Exact(int dispatches = -1) {
  RunOptions options;
  options.tolerance = Tolerance{};
  options.dispatches = dispatches;
  return options;
}

void RunExactly(const std::string& text, int dispatches = -1) {
  SCOPED_TRACE(text);
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  RunBoth(text, RandomArguments(*module), Exact(dispatches));
}

std::string Entry(const std::string& body) { return "HloModule m\nENTRY main {\n" + body + "}\n"; }

const std::vector<int64_t> kSizes = {3, 2, 5, 1, 7, 2};

std::vector<int64_t> Sizes(int rank) { return {kSizes.begin(), kSizes.begin() + rank}; }
std::string Type(const std::string& element, const std::vector<int64_t>& sizes) {
  return fmt::format("{}[{}]", element, JoinInts(sizes));
}
std::string List(const std::vector<int64_t>& values) { return "{" + JoinInts(values) + "}"; }

TEST(DataMovementTest, TransposeAtEveryRank) {
  for (int rank = 0; rank <= 6; ++rank) {
    const auto sizes = Sizes(rank);
    std::vector<int64_t> permutation(rank), result;
    for (int d = 0; d < rank; ++d) permutation[d] = (d * 5 + 2) % rank;  // 5 shares no factor with 2, 3, 4 and 6
    if (rank == 5) permutation = {3, 0, 4, 1, 2};
    for (int64_t d : permutation) result.push_back(sizes[d]);
    RunExactly(Entry(fmt::format("  a = {} parameter(0)\n  ROOT r = {} transpose(a), dimensions={}\n",
                                 Type("s32", sizes), Type("s32", result), List(permutation))));
  }
}

// Of 4M elements, which software drivers go through by strips of columns: some whose rows fall into strips, with
// dimensions around, and one whose do not (2,099 is prime).
TEST(DataMovementTest, VeryLargeTransposesGoByStrips) {
  RunExactly(Entry("  a = u8[2040,2072] parameter(0)\n  ROOT r = u8[2072,2040] transpose(a), dimensions={1,0}\n"));
  RunExactly(
      Entry("  a = bf16[3,1400,1000] parameter(0)\n  b = bf16[3,1000,1400] parameter(1)\n"
            "  t = bf16[3,1000,1400] transpose(a), dimensions={0,2,1}\n"
            "  ROOT r = bf16[3,1000,1400] subtract(t, b)\n"));
  RunExactly(
      Entry("  a = f32[2000,7,300] parameter(0)\n"
            "  ROOT r = f32[300,7,2000] transpose(a), dimensions={2,1,0}\n"));
  RunExactly(Entry("  a = f32[2099,2000] parameter(0)\n  ROOT r = f32[2000,2099] transpose(a), dimensions={1,0}\n"));
  // An update is no such loop.
  RunExactly(
      Entry("  a = u8[2200,2016] parameter(0)\n  u = u8[2016,2100] parameter(1)\n"
            "  t = u8[2100,2016] transpose(u), dimensions={1,0}\n  i = s32[] constant(3)\n  z = s32[] constant(0)\n"
            "  ROOT r = u8[2200,2016] dynamic-update-slice(a, t, i, z)\n"));
}

TEST(DataMovementTest, LargeTransposesOfEveryWidth) {
  for (const char* element : {"u8", "bf16", "f32", "f64", "c128"}) {
    RunExactly(Entry(fmt::format(
        "  a = {0}[131,257] parameter(0)\n  ROOT r = {0}[257,131] transpose(a), dimensions={{1,0}}\n", element)));
  }
  RunExactly(Entry("  a = f32[5,67,129] parameter(0)\n  ROOT r = f32[129,5,67] transpose(a), dimensions={2,0,1}\n"));
  RunExactly(Entry("  a = f32[5,67,129] parameter(0)\n  ROOT r = f32[5,129,67] transpose(a), dimensions={0,2,1}\n"));
  RunExactly(Entry("  a = f32[64,1,64] parameter(0)\n  ROOT r = f32[64,64,1] transpose(a), dimensions={2,0,1}\n"));
}

// Tiles that fit and tiles at the edges, groups of four and single elements, operands that lie across beside others
// that do not, and maps around the transpose.
TEST(DataMovementTest, GpusTransposeThroughSharedMemory) {
  const std::string text = Entry(
      "  a = f32[260,320] parameter(0)\n  b = f32[320,260] parameter(1)\n  c = bf16[3,129,257] parameter(2)\n"
      "  d = s8[4,64,8,64] parameter(3)\n  s = s64[256,257] parameter(4)\n"
      "  at = f32[320,260] transpose(a), dimensions={1,0}\n  ab = f32[320,260] subtract(at, b)\n"
      "  w = f16[320,260] convert(ab)\n"
      "  n = bf16[3,129,257] negate(c)\n  ct = bf16[257,3,129] transpose(n), dimensions={2,0,1}\n"
      "  dt = s8[4,8,64,64] transpose(d), dimensions={0,2,3,1}\n"
      "  r = s64[256,257] reverse(s), dimensions={0}\n  st = s64[257,256] transpose(r), dimensions={1,0}\n"
      "  v = s64[16448,4] reshape(st)\n"
      "  ROOT t = (f32[320,260], f16[320,260], bf16[257,3,129], s8[4,8,64,64], s64[16448,4]) tuple(ab, w, ct, dt, "
      "v)\n");
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  const std::vector<Literal> arguments = RandomArguments(*module);
  const auto expected = RunOnCpu(*module, arguments);
  ASSERT_TRUE(expected.has_value());
  for (BindingMode mode : {BindingMode::kAddresses, BindingMode::kDescriptors}) {
    const auto client = GpuClient(mode);
    ASSERT_NE(client, nullptr);
    ExpectOnGpu(*client, *module, arguments, {}, 4, *expected);
    const auto executable = client->Compile(*module);
    ASSERT_TRUE(executable.ok());
    for (const KernelKey& kernel : (*executable)->plan().kernels)
      EXPECT_EQ(kernel.algorithm, "elementwise/turned_loop.comp");
  }
}

TEST(DataMovementTest, ReverseAtEveryRank) {
  for (int rank = 0; rank <= 6; ++rank) {
    std::vector<int64_t> reversed;
    for (int64_t d = 0; d < rank; d += 2) reversed.push_back(d);
    RunExactly(Entry(fmt::format("  a = {0} parameter(0)\n  ROOT r = {0} reverse(a), dimensions={1}\n",
                                 Type("f32", Sizes(rank)), List(reversed))));
  }
}

TEST(DataMovementTest, BroadcastAtEveryRank) {
  for (int rank = 0; rank <= 6; ++rank) {
    std::vector<int64_t> mapped, sizes;
    for (int64_t d = 0; d < rank; d += 2) {
      mapped.push_back(d);
      sizes.push_back(kSizes[d]);
    }
    RunExactly(Entry(fmt::format("  a = {} parameter(0)\n  ROOT r = {} broadcast(a), dimensions={}\n",
                                 Type("u16", sizes), Type("u16", Sizes(rank)), List(mapped))));
  }
}

TEST(DataMovementTest, SliceWithStridesAtEveryRank) {
  for (int rank = 0; rank <= 6; ++rank) {
    std::string slices;
    std::vector<int64_t> result;
    for (int d = 0; d < rank; ++d) {
      const int64_t start = kSizes[d] > 2 ? 1 : 0, stride = d % 2 + 1;
      result.push_back((kSizes[d] - start + stride - 1) / stride);
      slices += fmt::format("{}[{}:{}:{}]", d > 0 ? ", " : "", start, kSizes[d], stride);
    }
    RunExactly(Entry(fmt::format("  a = {} parameter(0)\n  ROOT r = {} slice(a), slice={{{}}}\n",
                                 Type("s64", Sizes(rank)), Type("s64", result), slices)));
  }
}

TEST(DataMovementTest, IotaAtEveryRankAndType) {
  for (int rank = 1; rank <= 6; ++rank) {
    for (int d = 0; d < rank; ++d) {
      RunExactly(Entry(fmt::format("  ROOT r = {} iota(), iota_dimension={}\n", Type("s32", Sizes(rank)), d)));
    }
  }
  for (const char* element :
       {"s8", "u8", "s16", "u16", "u32", "s64", "u64", "f16", "bf16", "f32", "f64", "c64", "c128"}) {
    RunExactly(Entry(fmt::format("  ROOT r = {}[2,101] iota(), iota_dimension=1\n", element)));
  }
}

TEST(DataMovementTest, PadsWithNegativeEdgesAndInterior) {
  for (const auto& [padding, result] : std::vector<std::pair<std::string, std::string>>{{"0_0x0_0", "5,7"},
                                                                                        {"1_2x3_0", "8,10"},
                                                                                        {"-1_-2x0_-3", "2,4"},
                                                                                        {"0_0_2x0_0_1", "13,13"},
                                                                                        {"1_-3_2x-2_4_1", "11,15"},
                                                                                        {"-5_0x0_0", "0,7"},
                                                                                        {"-2_-1_1x5_-9_3", "6,21"},
                                                                                        {"-4_3x-6_2", "4,3"}}) {
    for (const char* element : {"f32", "pred", "bf16", "c64"}) {
      RunExactly(Entry(fmt::format(
          "  a = {0}[5,7] parameter(0)\n  z = {0}[] parameter(1)\n  ROOT r = {0}[{1}] pad(a, z), padding={2}\n",
          element, result, padding)));
    }
  }
}

TEST(DataMovementTest, PadsOfEmptyAndScalarArrays) {
  RunExactly(Entry(
      "  a = f32[0,3] parameter(0)\n  z = f32[] parameter(1)\n  ROOT r = f32[4,5] pad(a, z), padding=2_2_3x1_1\n"));
  RunExactly(
      Entry("  a = s32[1] parameter(0)\n  z = s32[] parameter(1)\n  ROOT r = s32[7] pad(a, z), padding=3_3_9\n"));
}

TEST(DataMovementTest, AReshapeBelowAPadReadsThroughATemporary) {
  RunExactly(Entry("  a = f32[6,5] parameter(0)\n  z = f32[] parameter(1)\n  n = f32[6,5] negate(a)\n  r = f32[2,15] "
                   "reshape(n)\n"
                   "  p = f32[3,20] pad(r, z), padding=0_1x2_3\n  q = f32[60] reshape(p)\n  ROOT v = f32[60] "
                   "reverse(q), dimensions={0}\n"),
             1);
}

// More of them than a kernel binds, too.
TEST(DataMovementTest, ConcatenatesOfManyOperands) {
  for (const int count : {24, 40, 120, 300}) {
    std::string body, names;
    int64_t total = 0;
    for (int i = 0; i < count; ++i) {
      const int64_t size = (i * 7) % 5;
      body += fmt::format("  a{0} = f32[3,{1},2] parameter({0})\n", i, size);
      names += fmt::format("{}a{}", i > 0 ? ", " : "", i);
      total += size;
    }
    RunExactly(Entry(body + fmt::format("  ROOT r = f32[3,{},2] concatenate({}), dimensions={{1}}\n", total, names)));
  }
  for (int d = 0; d < 3; ++d) {
    std::vector<int64_t> a{2, 3, 5}, b{2, 3, 5}, r{2, 3, 5};
    b[d] = 7;
    r[d] = a[d] + b[d];
    RunExactly(Entry(fmt::format(
        "  a = {} parameter(0)\n  b = {} parameter(1)\n  ROOT r = {} concatenate(a, b), dimensions={{{}}}\n",
        Type("s8", a), Type("s8", b), Type("s8", r), d)));
  }
}

// Operands one after another are a loop each, with what is computed for them; those that begin within 256 bytes are not
// bound apart.
// Parts that are results of one computation: computed together, at the place within the part.
TEST(DataMovementTest, ConcatenatesOfResultsOfOneComputation) {
  std::string body =
      "  a = u32[5,3] parameter(0)\n  i = u32[5,3] iota(), iota_dimension=0\n  j = u32[5,3] iota(), iota_dimension=1\n"
      "  x0 = u32[5,3] multiply(a, i)\n";
  for (int i = 1; i < 24; ++i)
    body += fmt::format("  x{0} = u32[5,3] {1}(x{2}, {3})\n", i, i % 2 ? "xor" : "add", i - 1, i % 3 ? "i" : "j");
  for (const int d : {0, 1}) {
    RunExactly(Entry(body + fmt::format("  ROOT r = u32[{}] concatenate(x23, x22, x21), dimensions={{{}}}\n",
                                        d == 0 ? "15,3" : "5,9", d)));
    RunExactly(Entry(body + fmt::format("  c = u32[{0}] concatenate(x23, x22, x21), dimensions={{{1}}}\n"
                                        "  s = u32[{2}] slice(c), slice={{{3}}}\n  ROOT r = u32[{2}] not(s)\n",
                                        d == 0 ? "15,3" : "5,9", d, d == 0 ? "6,3" : "5,4",
                                        d == 0 ? "[7:13], [0:3]" : "[0:5], [4:8]")));
  }
}

TEST(DataMovementTest, LargeConcatenatesAreALoopForEachOperand) {
  for (const char* type : {"f32", "u8", "pred", "f16", "s4", "c64", "f64"}) {
    for (const int64_t n : {int64_t{1} << 17, (int64_t{1} << 17) + 3}) {
      RunExactly(Entry(fmt::format("  a = {0}[1,{1}] parameter(0)\n  b = {0}[1,{1}] parameter(1)\n"
                                   "  c = {0}[1,{2}] slice(b), slice={{[0:1],[5:{3}]}}\n"
                                   "  ROOT r = {0}[1,{4}] concatenate(a, b, a, c), dimensions={{1}}\n",
                                   type, n, n - 5, n, 4 * n - 5)),
                 n - 5 < (1 << 17) ? 1 : 4);
    }
  }
  RunExactly(Entry("  a = s32[150000] parameter(0)\n  b = s32[150000] parameter(1)\n  c = s32[150000] add(a, b)\n"
                   "  d = s32[150000] multiply(a, b)\n  ROOT r = s32[300000] concatenate(c, d), dimensions={0}\n"),
             2);
  // Exchanged halves of an argument that dies here.
  RunExactly(
      "HloModule m, input_output_alias={ {}: (0, {}, may-alias) }\n"
      "ENTRY e { a = s32[2,131072] parameter(0)  u = s32[1,131072] slice(a), slice={[1:2],[0:131072]}\n"
      "v = s32[1,131072] slice(a), slice={[0:1],[0:131072]}\n"
      "ROOT r = s32[2,131072] concatenate(u, v), dimensions={0} }");
  RunExactly(
      "HloModule m, input_output_alias={ {}: (0, {}, may-alias) }\n"
      "ENTRY e { a = s32[2,131072] parameter(0)  u = s32[1,131072] slice(a), slice={[0:1],[0:131072]}\n"
      "v = s32[1,131072] slice(a), slice={[1:2],[0:131072]}  w = s32[1,131072] negate(v)\n"
      "ROOT r = s32[2,131072] concatenate(u, w), dimensions={0} }");
}

TEST(DataMovementTest, SlicesOfAConcatenateReadOneOperand) {
  RunExactly(Entry(
      "  a = f32[10] parameter(0)\n  b = f32[10] parameter(1)\n  na = f32[10] negate(a)\n  nb = f32[10] negate(b)\n"
      "  c = f32[20] concatenate(na, nb), dimensions={0}\n  s = f32[6] slice(c), slice={[12:18]}\n  ROOT r = f32[6] "
      "negate(s)\n"));
}

TEST(DataMovementTest, EmptyShapesOfEveryOperation) {
  RunExactly(Entry("  a = f32[0,3] parameter(0)\n  ROOT r = f32[3,0] transpose(a), dimensions={1,0}\n"));
  RunExactly(Entry("  a = f32[4,3] parameter(0)\n  ROOT r = f32[4,0] slice(a), slice={[0:4], [2:2]}\n"));
  RunExactly(Entry(
      "  a = f32[0] parameter(0)\n  b = f32[0] parameter(1)\n  ROOT r = f32[0] concatenate(a, b), dimensions={0}\n"));
  RunExactly(Entry("  a = f32[0,3] parameter(0)\n  ROOT r = f32[2,0,3] broadcast(a), dimensions={1,2}\n"));
}

TEST(DataMovementTest, ReshapesBetweenTransposesStayOneKernel) {
  RunExactly(Entry("  a = f32[4,6,5] parameter(0)\n  t = f32[6,4,5] transpose(a), dimensions={1,0,2}\n  r = "
                   "f32[3,2,20] reshape(t)\n"
                   "  u = f32[20,3,2] transpose(r), dimensions={2,0,1}\n  n = f32[20,3,2] negate(u)\n  ROOT q = "
                   "f32[120] reshape(n)\n"),
             1);
}

TEST(DataMovementTest, WhatIsOnlyMovedKeepsTheBitsOfItsNans) {
  const std::vector<std::pair<std::string, std::string>> types = {{"f16", "u16"},   {"bf16", "u16"},  {"f8e5m2", "u8"},
                                                                  {"f8e4m3", "u8"}, {"f8e3m4", "u8"}, {"f32", "u32"}};
  for (const auto& [type, bits] : types) {
    // Every encoding of 16 bits and fewer; of f32 those around +-infinity.
    const int64_t n = bits == "u8" ? 256 : 65536;
    const std::string shape = fmt::format("[{}]", n);
    std::string body = fmt::format(
        "u = {0}{1} parameter(0)\nk = {0}{1} iota(), iota_dimension=0\ni = {0}{1} xor(k, u)\n"
        "m = {0}{1} reverse(k), dimensions={{0}}\np = pred{1} compare(k, m), direction=LT\n",
        bits, shape);
    if (bits == "u32") {
      body += fmt::format("c = u32[] constant(2139062271)\ncs = u32{0} broadcast(c), dimensions={{}}\n", shape);
      body += fmt::format("j = u32{0} multiply(i, cs)\n", shape);
    }
    body += fmt::format(
        "a = {0}{1} bitcast-convert({3})\nb = {0}{1} reverse(a), dimensions={{0}}\ns = {0}{1} select(p, a, b)\n"
        "t = {2}{1} bitcast-convert(s)\no = pred{1} compare(a, b), direction=LT, type=TOTALORDER\n"
        "ROOT r = ({2}{1}, pred{1}) tuple(t, o)\n",
        type, shape, bits, bits == "u32" ? "j" : "i");
    RunExactly(Entry(body));
  }
}

TEST(DataMovementTest, BitcastConvertsOfTheSameWidthKeepEveryBit) {
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{{"s32", "f32"},
                                                                                 {"u64", "f64"},
                                                                                 {"s16", "bf16"},
                                                                                 {"u16", "f16"},
                                                                                 {"s8", "u8"},
                                                                                 {"u8", "f8e5m2"},
                                                                                 {"f32", "u32"}}) {
    RunExactly(Entry(fmt::format(
        "  a = {0}[67] parameter(0)\n  n = {0}[67] add(a, a)\n  ROOT r = {1}[67] bitcast-convert(n)\n", from, to)));
  }
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
