// Collectives of arrays that live in part: on one device, over several places, and against the reference, with sizes
// that come with the arguments and sizes that data decide.
#include "tests/support/replica_runs.h"

namespace VXLA_NAMESPACE::testing {
namespace live_collectives_test {

const char kSum[] =
    "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n"
    "body { s = (s32[], f32[<=8,3]) parameter(0)  i = s32[] get-tuple-element(s), index=0\n"
    "x = f32[<=8,3] get-tuple-element(s), index=1  o = s32[] constant(1)  j = s32[] add(i, o)\n"
    "y = f32[<=8,3] collective-permute(x), source_target_pairs={{0,1},{1,2},{2,0}}\n"
    "ROOT t = (s32[], f32[<=8,3]) tuple(j, y) }\n"
    "cond { s = (s32[], f32[<=8,3]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(4)\n"
    "ROOT p = pred[] compare(i, n), direction=LT }\n";

struct LiveCase {
  std::string lines;  // of x = f32[<=8,3], with the result r
  std::string result = "f32[<=8,3]";
  std::vector<int64_t> sizes{6, 6, 6};  // that live, by device
};

// r, its sum and its live size: these are alike in shape whatever lives.
std::string TextOf(const LiveCase& c, bool decided) {
  const std::string x = decided ? "p = f32[8,3] parameter(0)  n = s32[] parameter(1)\n"
                                  "x = f32[<=8,3] set-dimension-size(p, n), dimensions={0}"
                                : "x = f32[<=8,3] parameter(0)";
  return fmt::format(
      "{}ENTRY e {{ {}\n{}\nzero = f32[] constant(0)  total = f32[] reduce(r, zero), dimensions={{0,1}}, to_apply=sum\n"
      "rows = s32[] get-dimension-size(r), dimensions={{0}}\n"
      "ROOT all = ({}f32[], s32[]) tuple({}total, rows) }}",
      kSum, x, c.lines, decided ? "" : c.result + ", ", decided ? "" : "r, ");
}

void ExpectLiveAgree(const LiveCase& c, bool decided, bool equal_results = true) {
  const auto module = ParseModule(TextOf(c, decided));
  ASSERT_NE(module, nullptr);
  std::vector<Literal> arrays, sizes;
  for (size_t d = 0; d < c.sizes.size(); ++d) {
    arrays.push_back(RandomLiteral(Shape(ElementType::kF32, {decided ? 8 : c.sizes[d], 3}), d + 1));
    if (!decided) arrays.back() = PadToBounds(arrays.back(), module->entry()->parameter(0)->shape());
    sizes.push_back(Literal::ScalarInt(ElementType::kS32, c.sizes[d]));
  }
  Pointers pointers;
  for (size_t d = 0; d < c.sizes.size(); ++d) {
    pointers.push_back({&arrays[d]});
    if (decided) pointers.back().push_back(&sizes[d]);
  }
  ExpectArgumentsAgree(*module, {static_cast<int64_t>(c.sizes.size()), 1}, pointers, 0, equal_results || decided);
}

std::vector<LiveCase> LiveCases() {
  const std::string any = "f32[<=8,3]";
  const std::string pairs = "frontend_attributes={_xla_send_recv_source_target_pairs={{0,1},{1,2}}}";
  return {
      {"r = f32[<=8,3] all-reduce(x), replica_groups={}, to_apply=sum"},
      {"r = f32[<=8,3] all-reduce(x), replica_groups={{0,2},{1}}, to_apply=sum", any, {5, 7, 5}},
      {"g = f32[<=24,3] all-gather(x), replica_groups={}, dimensions={0}  r = f32[<=24,3] negate(g)",
       "f32[<=24,3]",
       {3, 8, 1}},
      {"r = f32[<=8,9] all-gather(x), replica_groups={}, dimensions={1}", "f32[<=8,9]"},
      {"s = (f32[<=8,3], f32[<=16,3]) all-gather-start(x), replica_groups={{1,0}}, dimensions={0}\n"
       "r = f32[<=16,3] all-gather-done(s)",
       "f32[<=16,3]",
       {4, 2}},
      {"r = f32[<=4,3] reduce-scatter(x), replica_groups={{1,0}}, dimensions={0}, to_apply=sum", "f32[<=4,3]", {6, 6}},
      {"r = f32[<=8,1] reduce-scatter(x), replica_groups={}, dimensions={1}, to_apply=sum", "f32[<=8,1]"},
      {"r = f32[<=8,3] all-to-all(x), replica_groups={{0,1}}, dimensions={0}", any, {4, 6}},
      {"r = f32[<=8,3] all-to-all(x), replica_groups={}, dimensions={1}"},
      {"y = f32[<=8,3] negate(x)  a = (f32[<=8,3], f32[<=8,3]) all-to-all(x, y), replica_groups={{1,0}}\n"
       "r = f32[<=8,3] get-tuple-element(a), index=1",
       any,
       {4, 0}},
      {"r = f32[<=8,3] collective-broadcast(x), replica_groups={{2,0}}", any, {2, 5, 8}},
      {"r = f32[<=8,3] collective-permute(x), source_target_pairs={{0,1},{1,2}}", any, {3, 5, 8}},
      {"s = (f32[<=8,3], f32[<=8,3]) collective-permute-start(x), source_target_pairs={{2,0},{1,1}}\n"
       "r = f32[<=8,3] collective-permute-done(s)",
       any,
       {1, 5, 8}},
      {"r = f32[<=8,3] collective-reduce(x), replica_groups={}, to_apply=sum"},
      // Slices that the live sizes clamp, and one as wide as another dimension.
      {"i = u32[] replica-id()  two = u32[] constant(2)  j = u32[] multiply(i, two)  w = s32[] convert(j)\n"
       "z = s32[] constant(0)  u = (s32[], s32[]) tuple(w, z)  v = (s32[], s32[]) tuple(w, w)\n"
       "r = f32[<=8,3] collective-permute(x, x, v, u), source_target_pairs={{0,1},{1,2}}, slice_sizes={{2,3}}",
       any,
       {3, 4, 5}},
      {"k = f32[<=8,3] negate(x)  i = s32[3] constant({0,1,2})  c = s32[3] constant({1,1,1})  d = u32[] replica-id()\n"
       "m = s32[] convert(d)  at = s32[3] broadcast(m), dimensions={}\n"
       "r = f32[<=8,3] ragged-all-to-all(x, k, i, c, at, c), replica_groups={}",
       any,
       {3, 5, 7}},
      // Lists that live in part: one entry for each of two members, of room for three.
      {"k = f32[<=8,3] negate(x)  i = s32[6] constant({0,1,7,7,7,7})  c = s32[6] constant({1,1,7,7,7,7})\n"
       "two = s32[] constant(2)  li = s32[<=6] set-dimension-size(i, two), dimensions={0}\n"
       "lc = s32[<=6] set-dimension-size(c, two), dimensions={0}  d = u32[] replica-id()  m = s32[] convert(d)\n"
       "at = s32[<=6] broadcast(m), dimensions={}  lat = s32[<=6] set-dimension-size(at, two), dimensions={0}\n"
       "r = f32[<=8,3] ragged-all-to-all(x, k, li, lc, lat, lc), replica_groups={}",
       any,
       {4, 3}},
      {"b = token[] after-all()  s = (f32[<=8,3], u32[], token[]) send(x, b), channel_id=3, " + pairs +
           "\n"
           "q = (f32[<=8,3], u32[], token[]) recv(b), channel_id=3, " +
           pairs +
           "\n"
           "f = (f32[<=8,3], token[]) recv-done(q), channel_id=3, " +
           pairs +
           "\n"
           "h = token[] send-done(s), channel_id=3, " +
           pairs +
           "\n"
           "r = f32[<=8,3] get-tuple-element(f), index=0",
       any,
       {3, 5, 7}},
      // In a loop, and in a branch that all take.
      {"i = s32[] constant(0)  st = (s32[], f32[<=8,3]) tuple(i, x)\n"
       "w = (s32[], f32[<=8,3]) while(st), condition=cond, body=body  r = f32[<=8,3] get-tuple-element(w), index=1",
       any,
       {2, 5, 8}},
  };
}

TEST(LiveCollectivesTest, SizesThatComeWithArguments) {
  for (const LiveCase& c : LiveCases()) {
    SCOPED_TRACE(c.lines);
    const bool equal = std::ranges::all_of(c.sizes, [&](int64_t size) { return size == c.sizes[0]; });
    ExpectLiveAgree(c, false, equal);
  }
}

TEST(LiveCollectivesTest, SizesThatDataDecide) {
  for (const LiveCase& c : LiveCases()) {
    SCOPED_TRACE(c.lines);
    ExpectLiveAgree(c, true);
  }
}

// What the reference refuses, a device refuses at the end of its run.
std::string FailureOnDevice(const std::string& lines, const std::vector<int64_t>& sizes) {
  const auto module = ParseModule(TextOf({lines}, true));
  if (module == nullptr) return {};
  std::vector<Literal> arrays, given;
  for (size_t d = 0; d < sizes.size(); ++d) arrays.push_back(RandomLiteral(Shape(ElementType::kF32, {8, 3}), d));
  for (const int64_t size : sizes) given.push_back(Literal::ScalarInt(ElementType::kS32, size));
  Pointers pointers;
  for (size_t d = 0; d < sizes.size(); ++d) pointers.push_back({&arrays[d], &given[d]});
  const DeviceGrid grid{static_cast<int64_t>(sizes.size()), 1};
  EXPECT_EQ(EvaluateReplicated(*module, grid, pointers).status().code(), StatusCode::kInvalidArgument);
  Client* const client = DeviceClient(ModesToRun()[0]);
  if (client == nullptr) return {};
  auto executable = ReplicatedExecutable::Compile(*client, *module, grid, pointers);
  EXPECT_TRUE(executable.ok()) << executable.status().message();
  if (!executable.ok()) return {};
  const auto result = executable->Run(pointers);
  EXPECT_EQ(result.status().code(), StatusCode::kInvalidArgument);
  return std::string(result.status().message());
}

TEST(LiveCollectivesTest, ReductionsNeedOneLiveSize) {
  EXPECT_THAT(FailureOnDevice("r = f32[<=8,3] all-reduce(x), replica_groups={}, to_apply=sum", {3, 5}),
              ::testing::HasSubstr("dimension 0 of operand 0 has the live size 3, dimension 0 of operand 1 has 5"));
}

// Room for three entries of each of two members, of which one lives.
TEST(LiveCollectivesTest, RaggedListsThatLiveInPartAreChecked) {
  const auto failure = [](const std::string& starts, const std::string& expected, const std::string& live) {
    return FailureOnDevice(
        fmt::format(
            "k = f32[<=8,3] negate(x)  i = s32[6] constant({{{}}})  c = s32[6] constant({{1,1,7,7,7,7}})\n"
            "e = s32[6] constant({{{}}})  two = s32[] constant(2)  d = u32[] replica-id()  m = s32[] convert(d)\n"
            "{}  li = s32[<=6] set-dimension-size(i, l), dimensions={{0}}\n"
            "lc = s32[<=6] set-dimension-size(c, l), dimensions={{0}}\n"
            "le = s32[<=6] set-dimension-size(e, l), dimensions={{0}}  at = s32[<=6] broadcast(m), dimensions={{}}\n"
            "lat = s32[<=6] set-dimension-size(at, l), dimensions={{0}}\n"
            "r = f32[<=8,3] ragged-all-to-all(x, k, li, lc, lat, le), replica_groups={{}}",
            starts, expected, live),
        {4, 3});
  };
  EXPECT_EQ(failure("0,1,7,7,7,7", "1,2,7,7,7,7", "l = s32[] copy(two)"),
            "ragged-all-to-all r: member 1 sends 1 rows to member 0, which expects 2");
  EXPECT_EQ(failure("0,3,7,7,7,7", "1,1,7,7,7,7", "l = s32[] copy(two)"),
            "ragged-all-to-all r: 1 rows from 3 of f32[3,3] to 1 of f32[3,3] do not fit");
  EXPECT_THAT(failure("0,1,7,7,7,7", "1,1,7,7,7,7", "w = s32[] multiply(m, two)  l = s32[] add(w, two)"),
              ::testing::HasSubstr("the live size"));
}

TEST(LiveCollectivesTest, WhatLivesMustSplit) {
  EXPECT_THAT(FailureOnDevice("r = f32[<=8,3] all-to-all(x), replica_groups={}, dimensions={0}", {4, 3}),
              ::testing::HasSubstr("3 live elements of f32[<=8,3] do not fill f32[2,<=4,3]"));
}

TEST(LiveCollectivesTest, SlicesAsWideAsADimensionNeedAllOfIt) {
  const std::string lines =
      "z = s32[] constant(0)  u = (s32[], s32[]) tuple(z, z)\n"
      "r = f32[<=8,3] collective-permute(x, x, u, u), source_target_pairs={{0,1}}, slice_sizes={{8,1}}";
  EXPECT_THAT(FailureOnDevice(lines, {7, 8}),
              ::testing::HasSubstr("collective-permute r: a slice of 8 exceeds the 7 live elements of dimension 0 of "
                                   "f32[<=8,3]"));
  ExpectLiveAgree({lines, "f32[<=8,3]", {8, 8}}, true);
}

}  // namespace live_collectives_test
}  // namespace VXLA_NAMESPACE::testing
