// Collectives on the devices of one process: every op, group mode, type and rank, the asynchronous forms.
#include <fmt/format.h>

#include <algorithm>

#include "tests/cpu/replica_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using enum ElementType;

const char kAdd[] = "add { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT s = f32[] add(x, y) }\n";

std::string Reducer(const std::string& op, ElementType type) {
  const std::string t(ElementTypeName(type));
  return fmt::format("f {{ x = {0}[] parameter(0)\n y = {0}[] parameter(1)\n ROOT s = {0}[] {1}(x, y) }}\n", t, op);
}

std::string ShapeText(ElementType type, const std::vector<int64_t>& dimensions) {
  return Shape(type, dimensions).ToString();
}

// The same array with another seed for each device.
std::vector<std::vector<Literal>> Different(ElementType type, const std::vector<int64_t>& dimensions, int64_t devices) {
  std::vector<std::vector<Literal>> arguments(static_cast<size_t>(devices));
  for (int64_t d = 0; d < devices; ++d) {
    arguments[static_cast<size_t>(d)].push_back(Random(type, dimensions, static_cast<uint32_t>(100 + d)));
  }
  return arguments;
}

// x + 10 * device, counting x up.
std::vector<std::vector<Literal>> Counted(const std::vector<int64_t>& dimensions, int64_t devices) {
  std::vector<std::vector<Literal>> arguments(static_cast<size_t>(devices));
  for (int64_t d = 0; d < devices; ++d) {
    Literal literal(Shape(kS32, dimensions));
    for (int64_t i = 0; i < literal.element_count(); ++i) literal.SetInt(i, i + 1000 * d);
    arguments[static_cast<size_t>(d)].push_back(std::move(literal));
  }
  return arguments;
}

// ---- the examples of the document

TEST(AllGatherTest, ConcatenatesAsInTheDocument) {
  const auto r =
      RunReplicas(Entry("p = f32[2] parameter(0)\nROOT r = f32[4] all-gather(p), replica_groups={}, dimensions={0}"),
                  {2, 1}, {{Array(kF32, {2}, {1, 2.5})}, {Array(kF32, {2}, {3, 5.25})}});
  for (const Literal& one : r) EXPECT_THAT(Doubles(one), ElementsAre(1, 2.5, 3, 5.25));
}

TEST(AllReduceTest, AddsAsInTheDocument) {
  const auto r = RunReplicas(
      Entry("p = f32[2] parameter(0)\nROOT r = f32[2] all-reduce(p), replica_groups={}, to_apply=add", kAdd), {2, 1},
      {{Array(kF32, {2}, {1, 2.5})}, {Array(kF32, {2}, {3, 5.25})}});
  for (const Literal& one : r) EXPECT_THAT(Doubles(one), ElementsAre(4, 7.75));
}

TEST(ReduceScatterTest, ScattersAsInTheDocument) {
  const auto r = RunReplicas(
      Entry(
          "p = f32[2] parameter(0)\nROOT r = f32[1] reduce-scatter(p), replica_groups={}, dimensions={0}, to_apply=add",
          kAdd),
      {2, 1}, {{Array(kF32, {2}, {1, 2.25})}, {Array(kF32, {2}, {3, 5.25})}});
  EXPECT_THAT(Doubles(r[0]), ElementsAre(4));
  EXPECT_THAT(Doubles(r[1]), ElementsAre(7.5));
}

// The document's f32[4,16] on 4 cores, split along dimension 1 and concatenated along 0, as the builder writes it in
// HLO.
TEST(AllToAllTest, SplitsAndConcatenatesAsInTheDocument) {
  const auto arguments = Counted({4, 16}, 4);
  const auto r = RunReplicas(
      Entry(
          "p = s32[4,16] parameter(0)\na = s32[4,16] all-to-all(p), replica_groups={}, dimensions={1}\n"
          "b = s32[4,4,4] reshape(a)\nt = s32[4,4,4] transpose(b), dimensions={1,0,2}\nROOT r = s32[16,4] reshape(t)"),
      {4, 1}, arguments);
  for (int64_t d = 0; d < 4; ++d) {
    for (int64_t row = 0; row < 16; ++row) {
      for (int64_t column = 0; column < 4; ++column) {
        const int64_t want = arguments[static_cast<size_t>(row / 4)][0].GetInt(row % 4 * 16 + d * 4 + column);
        ASSERT_EQ(r[static_cast<size_t>(d)].GetInt(row * 4 + column), want) << d << " " << row << " " << column;
      }
    }
  }
}

// {1,2,3}, {4,5,0}: blocks come in the order of the group.
TEST(AllToAllTest, KeepsTheOrderOfTheGroup) {
  const auto r = RunReplicas(
      Entry("p = s32[3] parameter(0)\nROOT r = s32[3] all-to-all(p), replica_groups={{1,2,3},{4,5,0}}, dimensions={0}"),
      {6, 1}, Counted({3}, 6));
  EXPECT_THAT(Integers(r[2]), ElementsAre(1001, 2001, 3001));
  EXPECT_THAT(Integers(r[4]), ElementsAre(4000, 5000, 0));
  EXPECT_THAT(Integers(r[0]), ElementsAre(4002, 5002, 2));
}

// ---- types, ranks, reducers

TEST(AllReduceTest, EveryTypeAndRankEqualsAReduceOfTheStackedArrays) {
  const std::vector<ElementType> types{kPred, kS4,  kS8,   kS16, kS32, kS64, kU2,   kU8,       kU16,   kU32,
                                       kU64,  kF16, kBF16, kF32, kF64, kC64, kC128, kF8E4M3FN, kF8E5M2};
  for (ElementType type : types) {
    const std::string op = type == kPred ? "or" : "add";
    for (const std::vector<int64_t>& dims :
         std::vector<std::vector<int64_t>>{{}, {7}, {0}, {3, 5}, {2, 0, 3}, {2, 3, 1, 5}}) {
      const auto arguments = Different(type, dims, 3);
      const std::string s = ShapeText(type, dims);
      const auto r = RunReplicas(
          Entry("p = " + s + " parameter(0)\nROOT r = " + s + " all-reduce(p), replica_groups={{2,0,1}}, to_apply=f",
                Reducer(op, type)),
          {3, 1}, arguments);
      std::vector<int64_t> one = dims;
      one.insert(one.begin(), 1);
      const std::string part = ShapeText(type, one);
      one[0] = 3;
      const std::string t(ElementTypeName(type));
      const Literal want = RunText(
          Entry(fmt::format(
                    "a = {0} parameter(0)\nb = {0} parameter(1)\nc = {0} parameter(2)\nra = {1} reshape(a)\n"
                    "rb = {1} reshape(b)\nrc = {1} reshape(c)\nall = {2} concatenate(ra, rb, rc), dimensions={{0}}\n"
                    "z = {3}[] constant({4})\nROOT r = {0} reduce(all, z), dimensions={{0}}, to_apply=f",
                    s, part, ShapeText(type, one), t,
                    type == kPred     ? "false"
                    : IsComplex(type) ? "(0,0)"
                                      : "0"),
                Reducer(op, type)),
          {arguments[2][0], arguments[0][0], arguments[1][0]});
      for (const Literal& got : r) EXPECT_TRUE(got == want) << s;
    }
  }
}

TEST(AllReduceTest, TheCommonReducers) {
  const auto arguments = Different(kS32, {5}, 3);
  // Of products and differences the lowest 32 bits are kept each time.
  const std::vector<std::pair<std::string, std::function<int32_t(int64_t, int64_t)>>> ops{
      {"maximum", [](int64_t a, int64_t b) { return std::max(a, b); }},
      {"minimum", [](int64_t a, int64_t b) { return std::min(a, b); }},
      {"multiply", [](int64_t a, int64_t b) { return a * b; }},
      {"xor", [](int64_t a, int64_t b) { return a ^ b; }},
      {"and", [](int64_t a, int64_t b) { return a & b; }},
      // Not a sum: the order of the group shows.
      {"subtract", [](int64_t a, int64_t b) { return a - b; }}};
  for (const auto& [op, f] : ops) {
    const auto r = RunReplicas(
        Entry("p = s32[5] parameter(0)\nROOT r = s32[5] all-reduce(p), replica_groups={{1,2,0}}, to_apply=f",
              Reducer(op, kS32)),
        {3, 1}, arguments);
    for (int64_t i = 0; i < 5; ++i) {
      EXPECT_EQ(r[0].GetInt(i), f(f(arguments[1][0].GetInt(i), arguments[2][0].GetInt(i)), arguments[0][0].GetInt(i)))
          << op;
    }
  }
}

TEST(AllReduceTest, SumsOfFloatsAreRoundedOnce) {
  // 1 + 2^-24 + 2^-24: in f32 each addition alone would give 1 again.
  std::vector<std::vector<Literal>> arguments;
  for (double x : {1.0, 0x1p-24, 0x1p-24}) arguments.push_back({Array(kF32, {}, {x})});
  const auto r =
      RunReplicas(Entry("p = f32[] parameter(0)\nROOT r = f32[] all-reduce(p), replica_groups={}, to_apply=add", kAdd),
                  {3, 1}, arguments);
  EXPECT_EQ(r[1].GetDouble(0), 1 + 0x1p-23);
}

TEST(AllReduceTest, InfinitiesAndNansPassThrough) {
  const auto r = RunReplicas(
      Entry("p = f32[3] parameter(0)\nROOT r = f32[3] all-reduce(p), replica_groups={}, to_apply=add", kAdd), {2, 1},
      {{Array(kF32, {3}, {kInf, kNan, kInf})}, {Array(kF32, {3}, {1, 2, -kInf})}});
  EXPECT_THAT(Doubles(r[0]), SameDoubles({kInf, kNan, kNan}));
}

TEST(AllReduceTest, ReducesEachOfSeveralOperands) {
  const auto r = RunReplicas(Entry("p = f32[2] parameter(0)\nq = f32[] constant(3)\n"
                                   "ROOT r = (f32[2], f32[]) all-reduce(p, q), replica_groups={}, to_apply=add",
                                   kAdd),
                             {2, 1}, {{Array(kF32, {2}, {1, 2})}, {Array(kF32, {2}, {10, 20})}});
  EXPECT_THAT(Doubles(r[1].tuple_elements()[0]), ElementsAre(11, 22));
  EXPECT_THAT(Doubles(r[1].tuple_elements()[1]), ElementsAre(6));
}

TEST(AllReduceTest, AReducerThatConvertsRunsAsWritten) {
  const std::string f =
      "f { x = bf16[] parameter(0)\n y = bf16[] parameter(1)\n a = f32[] convert(x)\n b = f32[] convert(y)\n"
      " s = f32[] add(a, b)\n ROOT r = bf16[] convert(s) }\n";
  const auto r =
      RunReplicas(Entry("p = bf16[2] parameter(0)\nROOT r = bf16[2] all-reduce(p), replica_groups={}, to_apply=f", f),
                  {2, 1}, {{Array(kBF16, {2}, {1, 2})}, {Array(kBF16, {2}, {3, 4})}});
  EXPECT_THAT(Doubles(r[0]), ElementsAre(4, 6));
}

// ---- moving data: every dimension, several types

TEST(AllGatherTest, EveryDimensionAndType) {
  for (ElementType type : {kPred, kS4, kU8, kBF16, kF32, kF64, kC128}) {
    for (int dimension = 0; dimension < 3; ++dimension) {
      std::vector<int64_t> dims{2, 3, 5}, gathered = dims;
      gathered[static_cast<size_t>(dimension)] *= 3;
      const auto arguments = Different(type, dims, 3);
      const auto r = RunReplicas(
          Entry(fmt::format(
              "p = {} parameter(0)\nROOT r = {} all-gather(p), replica_groups={{{{1,0,2}}}}, dimensions={{{}}}",
              ShapeText(type, dims), ShapeText(type, gathered), dimension)),
          {3, 1}, arguments);
      const Literal want = RunText(
          Entry(fmt::format(
              "a = {0} parameter(0)\nb = {0} parameter(1)\nc = {0} parameter(2)\nROOT r = {1} concatenate(a, b, c), "
              "dimensions={{{2}}}",
              ShapeText(type, dims), ShapeText(type, gathered), dimension)),
          {arguments[1][0], arguments[0][0], arguments[2][0]});
      for (const Literal& got : r) EXPECT_TRUE(got == want) << ShapeText(type, dims) << " " << dimension;
    }
  }
}

TEST(AllGatherTest, EmptyArraysAndSeveralOperands) {
  const auto r = RunReplicas(Entry("p = s32[2,0] parameter(0)\nq = s32[1] constant({7})\n"
                                   "ROOT r = (s32[6,0], s32[3]) all-gather(p, q), replica_groups={}, dimensions={0}"),
                             {3, 1}, {{Literal(Shape(kS32, {2, 0}))}});
  EXPECT_EQ(Text(r[2].tuple_elements()[0].shape()), "s32[6,0]");
  EXPECT_THAT(Integers(r[2].tuple_elements()[1]), ElementsAre(7, 7, 7));
}

TEST(ReduceScatterTest, IsAnAllReduceCutInBlocksByTheOrderOfTheGroup) {
  for (int dimension = 0; dimension < 2; ++dimension) {
    std::vector<int64_t> dims{6, 9}, block = dims;
    block[static_cast<size_t>(dimension)] /= 3;
    const auto arguments = Different(kF64, dims, 3);
    const std::string whole = ShapeText(kF64, dims), part = ShapeText(kF64, block);
    const std::string f = Reducer("add", kF64);
    const auto scattered = RunReplicas(Entry(fmt::format("p = {} parameter(0)\nROOT r = {} reduce-scatter(p), "
                                                         "replica_groups={{{{2,0,1}}}}, dimensions={{{}}}, to_apply=f",
                                                         whole, part, dimension),
                                             f),
                                       {3, 1}, arguments);
    const auto reduced = RunReplicas(
        Entry(fmt::format("p = {0} parameter(0)\nROOT r = {0} all-reduce(p), replica_groups={{{{2,0,1}}}}, to_apply=f",
                          whole),
              f),
        {3, 1}, arguments);
    const std::vector<size_t> group{2, 0, 1};
    for (int64_t place = 0; place < 3; ++place) {
      const Literal& got = scattered[group[static_cast<size_t>(place)]];
      for (int64_t i = 0; i < got.element_count(); ++i) {
        std::vector<int64_t> index = IndexOf(i, block);
        index[static_cast<size_t>(dimension)] += place * block[static_cast<size_t>(dimension)];
        ASSERT_EQ(got.GetDouble(i), reduced[0].GetDouble(PositionOf(index, dims)));
      }
    }
  }
}

TEST(AllToAllTest, ATupleGivesEachMemberItsOperand) {
  const auto r = RunReplicas(Entry("p = s32[2] parameter(0)\nk = s32[2] constant({100, 200})\nq = s32[2] add(p, k)\n"
                                   "ROOT r = (s32[2], s32[2]) all-to-all(p, q), replica_groups={{1,0}}"),
                             {2, 1}, Counted({2}, 2));
  // Member 0 is replica 1: it gets the first operands, in the order of the group.
  EXPECT_THAT(Integers(r[1].tuple_elements()[0]), ElementsAre(1000, 1001));
  EXPECT_THAT(Integers(r[1].tuple_elements()[1]), ElementsAre(0, 1));
  EXPECT_THAT(Integers(r[0].tuple_elements()[0]), ElementsAre(1100, 1201));
  EXPECT_THAT(Integers(r[0].tuple_elements()[1]), ElementsAre(100, 201));
}

TEST(CollectiveBroadcastTest, TheFirstOfTheGroupSpeaksAndOthersGetZeros) {
  const auto r = RunReplicas(
      Entry("p = s32[2] parameter(0)\nROOT r = s32[2] collective-broadcast(p), replica_groups={{2,0},{3,4}}"), {6, 1},
      Counted({2}, 6));
  EXPECT_THAT(Integers(r[0]), ElementsAre(2000, 2001));
  EXPECT_THAT(Integers(r[2]), ElementsAre(2000, 2001));
  EXPECT_THAT(Integers(r[4]), ElementsAre(3000, 3001));
  EXPECT_THAT(Integers(r[1]), ElementsAre(0, 0));
  EXPECT_THAT(Integers(r[5]), ElementsAre(0, 0));
}

TEST(CollectivePermuteTest, ATargetWithoutASourceGetsZeros) {
  const auto r = RunReplicas(
      Entry("p = s32[2] parameter(0)\nROOT r = s32[2] collective-permute(p), source_target_pairs={{0,2},{2,1},{4,4}}"),
      {5, 1}, Counted({2}, 5));
  EXPECT_THAT(Integers(r[0]), ElementsAre(0, 0));
  EXPECT_THAT(Integers(r[1]), ElementsAre(2000, 2001));
  EXPECT_THAT(Integers(r[2]), ElementsAre(0, 1));
  EXPECT_THAT(Integers(r[3]), ElementsAre(0, 0));
  EXPECT_THAT(Integers(r[4]), ElementsAre(4000, 4001));
}

TEST(CollectivePermuteTest, SeveralOperandsTravelTogether) {
  const auto r =
      RunReplicas(Entry("p = s32[1] parameter(0)\nq = f32[2,0] constant({ {}, {} })\n"
                        "ROOT r = (s32[1], f32[2,0]) collective-permute(p, q), source_target_pairs={{0,1},{1,0}}"),
                  {2, 1}, Counted({1}, 2));
  EXPECT_EQ(r[0].tuple_elements()[0].GetInt(0), 1000);
  EXPECT_EQ(Text(r[0].tuple_elements()[1].shape()), "f32[2,0]");
}

// Device d's p is d * 1000 + 0 .. 5, its start d.
TEST(CollectivePermuteTest, TheFormWithSlicesWritesIntoTheTargetsOutput) {
  const auto r = RunReplicas(
      Entry("p = s32[6] parameter(0)\ni = u32[] replica-id()\nd = s32[] convert(i)\none = s32[] constant(1)\n"
            "big = s32[] constant(99)\ns = (s32[]) tuple(d)\nt = (s32[]) tuple(big)\nm = s32[] constant(-1)\n"
            "o = s32[4] broadcast(m), dimensions={}\n"
            "ROOT r = s32[4] collective-permute(p, o, s, t), source_target_pairs={{0,1},{1,0}}, slice_sizes={{3}}"),
      {3, 1}, Counted({6}, 3));
  EXPECT_THAT(Integers(r[0]), ElementsAre(-1, 1001, 1002, 1003));  // starts are clamped as dynamic-slice does it
  EXPECT_THAT(Integers(r[1]), ElementsAre(-1, 0, 1, 2));
  EXPECT_THAT(Integers(r[2]), ElementsAre(-1, -1, -1, -1));  // nobody's target: as it was
}

TEST(CollectivePermuteTest, SeveralSlicesOfSeveralArraysStartedAndDone) {
  const auto r = RunReplicas(
      Entry("p = s32[2,3] parameter(0)\nq = s32[4] parameter(1)\nz = s32[] constant(0)\none = u8[] constant(1)\n"
            "pq = (s32[2,3], s32[4]) tuple(p, q)\na = (s32[], u8[]) tuple(z, one)\nb = (u8[], s32[]) tuple(one, z)\n"
            "c = (s32[]) tuple(z)\nab = ((s32[], u8[]), (u8[], s32[])) tuple(a, b)\n"
            "s = (((s32[], u8[]), (u8[], s32[])), (s32[])) tuple(ab, c)\n"
            "x = ((s32[2,3], s32[4]), (s32[2,3], s32[4]), u32[], u32[]) collective-permute-start(pq, pq, s, s), "
            "channel_id=3, source_target_pairs={{0,1},{1,0}}, slice_sizes={{1,2},{1,1},{2}}\n"
            "ROOT r = (s32[2,3], s32[4]) collective-permute-done(x)"),
      {1, 2},
      {{Ints(kS32, {2, 3}, {0, 1, 2, 3, 4, 5}), Ints(kS32, {4}, {6, 7, 8, 9})},
       {Ints(kS32, {2, 3}, {10, 11, 12, 13, 14, 15}), Ints(kS32, {4}, {16, 17, 18, 19})}});
  EXPECT_THAT(Integers(r[0].tuple_elements()[0]), ElementsAre(0, 11, 12, 13, 4, 5));
  EXPECT_THAT(Integers(r[0].tuple_elements()[1]), ElementsAre(16, 17, 8, 9));
  EXPECT_THAT(Integers(r[1].tuple_elements()[0]), ElementsAre(10, 1, 2, 3, 14, 15));
  EXPECT_THAT(Integers(r[1].tuple_elements()[1]), ElementsAre(6, 7, 18, 19));
}

TEST(CollectiveReduceTest, TheFirstOfTheGroupGetsTheSum) {
  const auto r = RunReplicas(
      Entry("p = s32[2] parameter(0)\nROOT r = s32[2] collective-reduce(p), replica_groups={{1,0,2}}, to_apply=f",
            Reducer("add", kS32)),
      {3, 1}, Counted({2}, 3));
  EXPECT_THAT(Integers(r[1]), ElementsAre(3000, 3003));
  EXPECT_THAT(Integers(r[0]), ElementsAre(0, 0));
}

// ---- ragged-all-to-all

const char kRagged[] =
    "i = s32[4,2] parameter(0)\no = s32[5,2] parameter(1)\nio = s32[2] parameter(2)\nss = s32[2] parameter(3)\noo = "
    "s32[2] parameter(4)\n"
    "rs = s32[2] parameter(5)\nROOT r = s32[5,2] ragged-all-to-all(i, o, io, ss, oo, rs), replica_groups={{0,1}}";

std::vector<std::vector<Literal>> RaggedArguments(const std::vector<int64_t>& receive_sizes_of_1) {
  const Literal minus(Ints(kS32, {5, 2}, {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1}));
  // Replica 0 keeps row 0 and sends rows 1..3; replica 1 sends row 3 and keeps rows 0..1.
  return {{Ints(kS32, {4, 2}, {0, 1, 2, 3, 4, 5, 6, 7}), minus, Ints(kS32, {2}, {0, 1}), Ints(kS32, {2}, {1, 3}),
           Ints(kS32, {2}, {0, 2}), Ints(kS32, {2}, {1, 1})},
          {Ints(kS32, {4, 2}, {10, 11, 12, 13, 14, 15, 16, 17}), minus, Ints(kS32, {2}, {3, 0}),
           Ints(kS32, {2}, {1, 2}), Ints(kS32, {2}, {4, 0}), Ints(kS32, {2}, receive_sizes_of_1)}};
}

TEST(RaggedAllToAllTest, RowsGoWhereTheSenderSaysAndTheRestStays) {
  const auto r = RunReplicas(Entry(kRagged), {2, 1}, RaggedArguments({3, 2}));
  EXPECT_THAT(Integers(r[0]), ElementsAre(0, 1, -1, -1, -1, -1, -1, -1, 16, 17));
  EXPECT_THAT(Integers(r[1]), ElementsAre(10, 11, 12, 13, 2, 3, 4, 5, 6, 7));
}

TEST(RaggedAllToAllTest, RejectsSizesThatDisagreeOrDoNotFit) {
  EXPECT_THAT(FailureOf(Entry(kRagged), {2, 1}, RaggedArguments({2, 2})),
              HasSubstr("ragged-all-to-all r: member 0 sends 3 rows to member 1, which expects 2"));
  auto arguments = RaggedArguments({3, 2});
  arguments[0][4] = Ints(kS32, {2}, {0, 3});
  EXPECT_THAT(FailureOf(Entry(kRagged), {2, 1}, arguments),
              HasSubstr("3 rows from 1 of s32[4,2] to 3 of s32[5,2] do not fit"));
}

// ---- modes

// The sum that each device of a 2 x 3 grid sees; device d holds 10^d.
std::vector<int64_t> SumsOf(const std::string& attributes) {
  std::vector<std::vector<Literal>> arguments;
  int64_t power = 1;
  for (int d = 0; d < 6; ++d, power *= 10) arguments.push_back({Ints(kS64, {}, {power})});
  std::vector<int64_t> sums;
  for (const Literal& one :
       RunReplicas(Entry("p = s64[] parameter(0)\nROOT r = s64[] all-reduce(p), to_apply=f, " + attributes,
                         Reducer("add", kS64)),
                   {2, 3}, arguments)) {
    sums.push_back(one.GetInt(0));
  }
  return sums;
}

TEST(GroupModesTest, AllReduceInFourModes) {
  EXPECT_THAT(SumsOf("replica_groups={{0,1}}"), ElementsAre(1001, 10010, 100100, 1001, 10010, 100100));
  EXPECT_THAT(SumsOf("replica_groups={{0},{1}}"), ElementsAre(1, 10, 100, 1000, 10000, 100000));
  EXPECT_THAT(SumsOf("channel_id=1, replica_groups={{0},{1}}"), ElementsAre(111, 111, 111, 111000, 111000, 111000));
  EXPECT_THAT(SumsOf("channel_id=1, replica_groups={{1,0}}"),
              ElementsAre(111111, 111111, 111111, 111111, 111111, 111111));
  EXPECT_THAT(SumsOf("channel_id=1, use_global_device_ids=true, replica_groups={{0,5},{1,4},{2,3}}"),
              ElementsAre(100001, 10010, 1100, 1100, 10010, 100001));
  EXPECT_THAT(SumsOf("channel_id=1, use_global_device_ids=true, replica_groups=[2,3]<=[3,2]T(1,0)"),
              ElementsAre(10101, 101010, 10101, 101010, 10101, 101010));
}

TEST(GroupModesTest, CrossPartitionOps) {
  const auto r =
      RunReplicas(Entry("p = s32[1] parameter(0)\n"
                        "ROOT r = s32[1] collective-permute(p), channel_id=1, source_target_pairs={{0,1},{1,2},{2,0}}"),
                  {2, 3}, Counted({1}, 6));
  std::vector<int64_t> got;
  for (const Literal& one : r) got.push_back(one.GetInt(0));
  EXPECT_THAT(got, ElementsAre(2000, 0, 1000, 5000, 3000, 4000));
}

// Replicas with all their partitions come replica by replica.
TEST(GroupModesTest, GathersReplicasWithTheirPartitions) {
  const auto r =
      RunReplicas(Entry("p = s32[1] parameter(0)\n"
                        "ROOT r = s32[6] all-gather(p), channel_id=1, replica_groups={{1,0}}, dimensions={0}"),
                  {2, 3}, Counted({1}, 6));
  EXPECT_THAT(Integers(r[4]), ElementsAre(3000, 4000, 5000, 0, 1000, 2000));
}

TEST(IdsTest, EachDeviceKnowsItsPlace) {
  const auto r = RunReplicas(
      Entry("a = u32[] replica-id()\nb = u32[] partition-id()\nROOT r = (u32[], u32[]) tuple(a, b)"), {2, 3}, {{}});
  for (int64_t d = 0; d < 6; ++d) {
    EXPECT_EQ(r[static_cast<size_t>(d)].tuple_elements()[0].GetInt(0), d / 3);
    EXPECT_EQ(r[static_cast<size_t>(d)].tuple_elements()[1].GetInt(0), d % 3);
  }
}

TEST(IdsTest, RefusedInsideAScalarRegion) {
  EXPECT_THAT(FailureOf(Entry("p = u32[3] parameter(0)\nROOT r = u32[3] map(p), dimensions={0}, to_apply=m",
                              "m { x = u32[] parameter(0)\n i = u32[] replica-id()\n ROOT s = u32[] add(x, i) }\n"),
                        {2, 1}, {{Ints(kU32, {3}, {1, 2, 3})}}),
              HasSubstr("replica-id i: not inside a computation that is applied element by element"));
}

// ---- asynchronous forms

TEST(AsyncTest, StartsAndDonesEqualThePlainForms) {
  const std::string text = Entry(
      "p = s32[4] parameter(0)\n"
      "gs = (s32[4], s32[8]) all-gather-start(p), replica_groups={}, dimensions={0}\n"
      "rs = s32[4] all-reduce-start(p), replica_groups={}, to_apply=f\n"
      "ps = (s32[4], s32[4], u32[], u32[]) collective-permute-start(p), source_target_pairs={{0,1},{1,0}}\n"
      "g = s32[8] all-gather-done(gs)\nr = s32[4] all-reduce-done(rs)\nq = s32[4] collective-permute-done(ps)\n"
      "ROOT t = (s32[8], s32[4], s32[4]) tuple(g, r, q)",
      Reducer("add", kS32));
  const auto r = RunReplicas(text, {2, 1}, Counted({4}, 2));
  EXPECT_THAT(Integers(r[1].tuple_elements()[0]), ElementsAre(0, 1, 2, 3, 1000, 1001, 1002, 1003));
  EXPECT_THAT(Integers(r[1].tuple_elements()[1]), ElementsAre(1000, 1002, 1004, 1006));
  EXPECT_THAT(Integers(r[1].tuple_elements()[2]), ElementsAre(0, 1, 2, 3));
}

TEST(AsyncTest, AnyComputationRunsBetweenStartAndDone) {
  const std::string f = Reducer("add", kS32) +
                        "g { x = s32[2] parameter(0)\n y = s32[2] parameter(1)\n s = s32[2] subtract(x, y)\n"
                        " ROOT a = s32[2] all-reduce(s), replica_groups={}, to_apply=f }\n";
  const auto r =
      RunReplicas(Entry("p = s32[2] parameter(0)\nc = s32[2] constant({1, 1})\n"
                        "s = ((s32[2], s32[2]), s32[2], s32[]) async-start(p, c), calls=g\n"
                        "u = ((s32[2], s32[2]), s32[2], s32[]) async-update(s)\nROOT d = s32[2] async-done(u)",
                        f),
                  {2, 1}, Counted({2}, 2));
  EXPECT_THAT(Integers(r[0]), ElementsAre(998, 1000));
}

TEST(AsyncTest, TokensDomainsCopiesAndDependenciesPassValuesOn) {
  const Literal r =
      RunText(Entry("p = f32[3] parameter(0)\nt = token[] after-all()\nu = token[] after-all(t, t)\n"
                    "a = f32[3] add-dependency(p, u)\n"
                    "d = f32[3] domain(a), domain={kind=\"sharding\", entry={replicated}, exit={replicated}}\n"
                    "s = (f32[3], f32[3], u32[]) copy-start(d)\nc = f32[3] copy-done(s)\n"
                    "ROOT o = f32[3] opt-barrier(c)"),
              {Array(kF32, {3}, {1, 2, 3})});
  EXPECT_THAT(Doubles(r), ElementsAre(1, 2, 3));
}

// ---- repeated and nested

TEST(CollectivesTest, MeetAgainInEachIterationOfALoop) {
  const std::string f =
      Reducer("add", kS32) +
      "c { s = (s32[], s32[]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n n = s32[] constant(20)\n"
      " ROOT r = pred[] compare(i, n), direction=LT }\n"
      "b { s = (s32[], s32[]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n x = s32[] get-tuple-element(s), "
      "index=1\n"
      " one = s32[] constant(1)\n j = s32[] add(i, one)\n y = s32[] all-reduce(x), replica_groups={}, to_apply=f\n"
      " seven = s32[] constant(1007)\n z = s32[] remainder(y, seven)\n ROOT r = (s32[], s32[]) tuple(j, z) }\n";
  const auto r = RunReplicas(Entry("p = s32[] parameter(0)\nz = s32[] constant(0)\ns = (s32[], s32[]) tuple(z, p)\n"
                                   "ROOT w = (s32[], s32[]) while(s), condition=c, body=b",
                                   f),
                             {3, 1}, Counted({}, 3));
  int64_t want = 3000 % 1007;
  for (int i = 1; i < 20; ++i) want = want * 3 % 1007;
  for (const Literal& one : r) EXPECT_EQ(one.tuple_elements()[1].GetInt(0), want);
}

TEST(CollectivesTest, ManyDevicesGiveTheSameBitsEveryTime) {
  const auto arguments = Different(kF32, {1031}, 24);
  const std::string text = Entry(
      "p = f32[1031] parameter(0)\nROOT r = f32[1031] all-reduce(p), channel_id=1, replica_groups={{0,2},{1,3}}, "
      "to_apply=add",
      kAdd);
  const auto first = RunReplicas(text, {4, 6}, arguments);
  for (int run = 0; run < 3; ++run) {
    const auto again = RunReplicas(text, {4, 6}, arguments);
    for (size_t d = 0; d < 24; ++d) EXPECT_TRUE(again[d] == first[d]);
  }
}

// A value that a collective hands out may be written in place by what follows; the others' must not change.
TEST(CollectivesTest, ResultsAreNotShared) {
  const auto r =
      RunReplicas(Entry("p = f32[700] parameter(0)\na = f32[700] all-reduce(p), replica_groups={}, to_apply=add\n"
                        "i = u32[] replica-id()\nj = f32[] convert(i)\nb = f32[700] broadcast(j), dimensions={}\n"
                        "ROOT r = f32[700] add(a, b)",
                        kAdd),
                  {4, 1}, {{Random(kF32, {700}, 3)}});
  for (int64_t i = 0; i < 700; ++i) {
    for (size_t d = 1; d < 4; ++d) {
      ASSERT_EQ(static_cast<float>(r[d].GetDouble(i)),
                static_cast<float>(Random(kF32, {700}, 3).GetDouble(i) * 4 + static_cast<double>(d)));
    }
  }
}

// ---- what does not fit

TEST(CollectivesTest, RejectsSizesThatDoNotFitTheGroups) {
  EXPECT_THAT(
      FailureOf(Entry("p = f32[2] parameter(0)\nROOT r = f32[4] all-gather(p), replica_groups={}, dimensions={0}"),
                {3, 1}, {{Random(kF32, {2}, 1)}}),
      HasSubstr("all-gather r: f32[2] to f32[4]: dimension 0 does not fit groups of 3"));
  EXPECT_THAT(FailureOf(Entry("p = f32[4] parameter(0)\nROOT r = f32[2] reduce-scatter(p), replica_groups={}, "
                              "dimensions={0}, to_apply=add",
                              kAdd),
                        {4, 1}, {{Random(kF32, {4}, 1)}}),
              HasSubstr("reduce-scatter r: f32[4] to f32[2]: dimension 0 does not fit groups of 4"));
  EXPECT_THAT(
      FailureOf(Entry("p = f32[4] parameter(0)\nROOT r = f32[4] all-to-all(p), replica_groups={}, dimensions={0}"),
                {3, 1}, {{Random(kF32, {4}, 1)}}),
      HasSubstr("all-to-all r: f32[4] to f32[4]: dimension 0 does not fit groups of 3"));
  EXPECT_THAT(FailureOf(Entry("p = f32[4] parameter(0)\nROOT r = (f32[4], f32[4]) all-to-all(p, p), replica_groups={}"),
                        {3, 1}, {{Random(kF32, {4}, 1)}}),
              HasSubstr("all-to-all r: 2 operands for groups of 3"));
}

TEST(CollectivesTest, UnevenGroupsReduceButDoNotGather) {
  const Result<std::vector<Literal>> sums = TryRunReplicas(
      Entry("p = f32[2] parameter(0)\nROOT r = f32[2] all-reduce(p), replica_groups={{0,1},{2}}, to_apply=add", kAdd),
      {3, 1}, {{Array(kF32, {2}, {1, 2})}});
  ASSERT_TRUE(sums.ok()) << sums.status().message();
  EXPECT_THAT(Doubles((*sums)[0]), ElementsAre(2, 4));
  EXPECT_THAT(Doubles((*sums)[2]), ElementsAre(1, 2));
  const Result<std::vector<Literal>> gathered = TryRunReplicas(
      Entry("p = f32[2] parameter(0)\nROOT r = f32[4] all-gather(p), replica_groups={{0,1},{2}}, dimensions={0}"),
      {3, 1}, {{Random(kF32, {2}, 1)}});
  ASSERT_FALSE(gathered.ok());
  EXPECT_EQ(gathered.status().code(), StatusCode::kInvalidArgument);
}

TEST(CollectivesTest, RejectsGridsAndArgumentsThatDoNotFit) {
  const std::string text = Entry("p = f32[2] parameter(0)\nROOT r = f32[2] negate(p)");
  EXPECT_THAT(FailureOf(text, {0, 1}, {{Random(kF32, {2}, 1)}}),
              HasSubstr("0 replicas times 1 partitions: 1 to 4096 devices are possible"));
  EXPECT_THAT(FailureOf(text, {2, 1}, {{Random(kF32, {2}, 1)}, {Random(kF32, {3}, 1)}}),
              HasSubstr("argument 0 is f32[3]"));
}

TEST(CollectivesTest, OneDeviceIsAGroupOfItsOwn) {
  const Literal r = RunText(Entry("p = f32[2] parameter(0)\na = f32[2] all-reduce(p), replica_groups={}, to_apply=add\n"
                                  "g = f32[2] all-gather(a), replica_groups={{0}}, dimensions={0}\n"
                                  "ROOT q = f32[2] collective-permute(g), source_target_pairs={{0,0}}",
                                  kAdd),
                            {Array(kF32, {2}, {1, 2})});
  EXPECT_THAT(Doubles(r), ElementsAre(1, 2));
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
