// The traps and worked examples that need more than one device, the host, or sizes known at run time.
#include "core/builder/xla_names.h"
#include "core/ir/module.h"
#include "scheduler/replicas/feed_queues.h"
#include "tests/spec/spec_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

ReplicaGroups Groups(std::vector<IntList> lists) {
  ReplicaGroups groups;
  groups.groups = std::move(lists);
  return groups;
}

const ReplicaGroups kPairs = Groups({{0, 2}, {1, 3}});

// ---- trap 20 and the collectives' examples

TEST(TrapTest, Trap20_PermuteGivesZerosBroadcastTakesTheFirstAndScatterTheOwnBlock) {
  const std::vector<std::vector<std::string>> four{{"f32[2]{1,2}"}, {"f32[2]{3,4}"}, {"f32[2]{5,6}"}, {"f32[2]{7,8}"}};
  Program p;
  const XlaOp x = p.Arg("f32[2]{0,0}");
  EXPECT_THAT(p.RunOn({4, 1}, CollectivePermute(x, {{0, 1}, {1, 2}, {2, 0}}), four),
              ElementsAre("f32[2]{5,6}", "f32[2]{1,2}", "f32[2]{3,4}", "f32[2]{0,0}"));
  EXPECT_THAT(p.RunOn({4, 1}, CollectiveBroadcast(x, Groups({{2, 0}, {1}})), four),
              ElementsAre("f32[2]{5,6}", "f32[2]{3,4}", "f32[2]{5,6}", "f32[2]{0,0}"));
  EXPECT_THAT(p.RunOn({4, 1}, ReduceScatter(x, Scalar(F32), 0, 2, Groups({{2, 0}, {1, 3}})), four),
              ElementsAre("f32[1]{8}", "f32[1]{10}", "f32[1]{6}", "f32[1]{12}"));
  // Empty groups are all replicas in order; of a tuple each element is reduced.
  EXPECT_THAT(p.RunOn({4, 1}, AllReduce(Tuple(p.b(), {x, Neg(x)}), Scalar(F32)), four),
              Each("(f32[2]{16,20},f32[2]{-16,-20})"));
}

TEST(TrapTest, Trap20_ChannelAndGlobalIdsSelectFourModes) {
  // Two replicas of two partitions; device = 2 replica + partition holds 1, 2, 4, 8.
  const std::vector<std::vector<std::string>> bits{{"s32[]1"}, {"s32[]2"}, {"s32[]4"}, {"s32[]8"}};
  const ReplicaGroups both = Groups({{0, 1}}), apart = Groups({{0}, {1}});
  Program p;
  const XlaOp x = p.Arg("s32[]0");
  EXPECT_THAT(p.RunOn({2, 2}, AllReduce(x, Scalar(S32), both), bits),  // the replicas of one partition
              ElementsAre("s32[]5", "s32[]10", "s32[]5", "s32[]10"));
  EXPECT_THAT(p.RunOn({2, 2}, AllReduce(x, Scalar(S32), apart, 1), bits),  // each replica with all its partitions
              ElementsAre("s32[]3", "s32[]3", "s32[]12", "s32[]12"));
  EXPECT_THAT(p.RunOn({2, 2}, AllReduce(x, Scalar(S32), Groups({{0, 3}, {1, 2}}), 1, {}, true), bits),
              ElementsAre("s32[]9", "s32[]6", "s32[]6", "s32[]9"));        // devices
  EXPECT_THAT(p.RunOn({2, 2}, AllToAllTuple({x, Neg(x)}, both, 1), bits),  // the partitions of one replica
              ElementsAre("(s32[]1,s32[]2)", "(s32[]-1,s32[]-2)", "(s32[]4,s32[]8)", "(s32[]-4,s32[]-8)"));
}

TEST(AllGatherExampleTest, TwoReplicasAndGroups) {
  Program p;
  EXPECT_THAT(p.RunOn({2, 1}, AllGather(p.Arg("f32[2]{0,0}"), 0, 2), {{"f32[2]{1,2.5}"}, {"f32[2]{3,5.25}"}}),
              Each("f32[4]{1,2.5,3,5.25}"));
  Program q;  // a program of its own: two replicas and four would not fit in one
  EXPECT_THAT(q.RunOn({4, 1}, AllGather(q.Arg("f32[2]{0,0}"), 0, 2, kPairs),
                      {{"f32[2]{0,1}"}, {"f32[2]{2,3}"}, {"f32[2]{4,5}"}, {"f32[2]{6,7}"}}),
              ElementsAre("f32[4]{0,1,4,5}", "f32[4]{2,3,6,7}", "f32[4]{0,1,4,5}", "f32[4]{2,3,6,7}"));
}

TEST(AllReduceExampleTest, TwoReplicasGroupsAndCrossReplicaSum) {
  Program p;
  const XlaOp x = p.Arg("f32[2]{0,0}");
  const std::vector<std::vector<std::string>> two{{"f32[2]{1,2.5}"}, {"f32[2]{3,5.25}"}};
  EXPECT_THAT(p.RunOn({2, 1}, AllReduce(x, Scalar(F32)), two), Each("f32[2]{4,7.75}"));
  EXPECT_THAT(p.RunOn({2, 1}, CrossReplicaSum(x), {{"f32[2]{1,2.5}"}, {"f32[2]{3,5.1}"}}), Each("f32[2]{4,7.6}"));
  EXPECT_THAT(p.RunOn({4, 1}, AllReduce(x, Scalar(F32, Max), kPairs),
                      {{"f32[2]{0,9}"}, {"f32[2]{2,3}"}, {"f32[2]{4,5}"}, {"f32[2]{1,7}"}}),
              ElementsAre("f32[2]{4,9}", "f32[2]{2,7}", "f32[2]{4,9}", "f32[2]{2,7}"));
}

TEST(ReduceScatterExampleTest, EachReplicaTakesItsShard) {
  Program p;
  const XlaOp x = p.Arg("f32[2]{0,0}");
  EXPECT_THAT(p.RunOn({2, 1}, ReduceScatter(x, Scalar(F32), 0, 2), {{"f32[2]{1,2.25}"}, {"f32[2]{3,5.25}"}}),
              ElementsAre("f32[1]{4}", "f32[1]{7.5}"));
}

TEST(AllToAllExampleTest, FourCoresSplitOneDimensionAndConcatenateAnother) {
  XlaBuilder b("alltoall");
  auto x = Parameter(&b, 0, ShapeUtil::MakeShape(F32, {4, 16}), "x");
  EXPECT_EQ(AllToAll(x, /*split_dimension=*/1, /*concat_dimension=*/0, /*split_count=*/4).shape(),
            ShapeUtil::MakeShape(F32, {16, 4}));
  // Core c holds 100 c + column, two rows of four: block i of the result of core c is column c of core i.
  Program p;
  const XlaOp small = p.Arg("s32[2,4]{{0,0,0,0},{0,0,0,0}}");
  std::vector<std::vector<std::string>> arguments;
  for (const char* c : {"0", "1", "2", "3"}) {
    const std::string row = std::string("{") + c + "00," + c + "01," + c + "02," + c + "03}";
    arguments.push_back({"s32[2,4]{" + row + "," + row + "}"});
  }
  EXPECT_THAT(p.RunOn({4, 1}, AllToAll(small, 1, 0, 4), arguments),
              ElementsAre("s32[8,1]{{0},{0},{100},{100},{200},{200},{300},{300}}",
                          "s32[8,1]{{1},{1},{101},{101},{201},{201},{301},{301}}",
                          "s32[8,1]{{2},{2},{102},{102},{202},{202},{302},{302}}",
                          "s32[8,1]{{3},{3},{103},{103},{203},{203},{303},{303}}"));
}

TEST(AllToAllExampleTest, SubgroupsInTheirOrder) {
  Program p;
  const XlaOp x = p.Arg("s32[3]{0,0,0}");
  std::vector<std::vector<std::string>> arguments;
  for (const char* c : {"0", "1", "2", "3", "4", "5"}) {
    arguments.push_back({std::string("s32[3]{") + c + "0," + c + "1," + c + "2}"});
  }
  EXPECT_THAT(p.RunOn({6, 1}, AllToAll(x, 0, 0, 3, Groups({{1, 2, 3}, {4, 5, 0}})), arguments),
              ElementsAre("s32[3]{42,52,2}", "s32[3]{10,20,30}", "s32[3]{11,21,31}", "s32[3]{12,22,32}",
                          "s32[3]{40,50,0}", "s32[3]{41,51,1}"));
}

TEST(ReplicaIdExampleTest, EachReplicaAndPartitionHasItsOwn) {
  Program p;
  EXPECT_THAT(p.RunOn({2, 2}, Tuple(p.b(), {ReplicaId(p.b()), PartitionId(p.b())})),
              ElementsAre("(u32[]0,u32[]0)", "(u32[]0,u32[]1)", "(u32[]1,u32[]0)", "(u32[]1,u32[]1)"));
}

// ---- the host: infeed, outfeed, send, recv, custom calls

TEST(TrapTest, Trap21_InfeedTakesItemsInOrderAndNothingForAnEmptyTuple) {
  FeedQueues queues;
  Program p;
  p.options().host = queues.transfers();
  queues.PushInfeed(0, Value("f32[2]{1,2}"));
  queues.PushInfeed(0, Value("(s32[], pred[])(7, true)"));
  const XlaOp first = Infeed(p.b(), Shape(F32, {2}));
  const XlaOp nothing = Infeed(p.b(), Shape::Tuple({}));
  const XlaOp second = Infeed(p.b(), Shape::Tuple({Shape(S32), Shape(PRED)}));
  EXPECT_THAT(p.RunOn({1, 1}, Tuple(p.b(), {first, nothing, second})),
              ElementsAre("(f32[2]{1,2},(),(s32[]7,pred[]true))"));
  EXPECT_EQ(queues.InfeedLeft(0), 0);
  Program q;
  EXPECT_EQ(ErrorOf(Infeed(q.b(), Shape::Tuple({Shape::Tuple({Shape(F32)})}))),
            "infeed: ((f32[])) holds a nested tuple");
  // In text it takes a token and returns one.
  EXPECT_EQ(Refusal("t = token[] after-all()\n ROOT r = f32[2] infeed(t)"),
            "infeed: the stated shape f32[2] is not (data, token[])");
}

// The document's two loops: the infeeds are in a total order, since the second loop needs the first one's result.
TEST(InfeedExampleTest, TwoLoopsInOrder) {
  const Shape state = Shape::Tuple({Shape(S32), Shape(S32)});
  auto condition = [&](int32_t limit) {
    XlaBuilder b("condition");
    Lt(GetTupleElement(Parameter(&b, 0, state), 0), ConstantR0<int32_t>(&b, limit));
    return *b.Build();
  };
  XlaBuilder body("body");
  const XlaOp s = Parameter(&body, 0, state);
  const XlaOp read = Add(Mul(GetTupleElement(s, 1), ConstantR0<int32_t>(&body, 10)), Infeed(&body, Shape(S32)));
  Tuple(&body, {Add(GetTupleElement(s, 0), ConstantR0<int32_t>(&body, 1)), read});
  FeedQueues queues;
  for (const char* item : {"s32[]1", "s32[]2", "s32[]3"}) queues.PushInfeed(0, Value(item));
  Program p;
  p.options().host = queues.transfers();
  const XlaOp zero = ConstantR0<int32_t>(p.b(), 0);
  const XlaOp result1 = While(condition(2), *body.Build(), Tuple(p.b(), {zero, zero}));
  const XlaOp result2 = While(condition(3), *body.Build(), result1);
  EXPECT_THAT(p.RunOn({1, 1}, GetTupleElement(result2, 1)), ElementsAre("s32[]123"));
}

TEST(OutfeedExampleTest, TheHostReceivesTheValue) {
  FeedQueues queues;
  Program p;
  p.options().host = queues.transfers();
  const XlaOp x = p.Arg("f32[2]{3,4}");
  EXPECT_THAT(p.RunOn({1, 1}, AddDependency(x, Outfeed(x, x.shape(), ""))), ElementsAre("f32[2]{3,4}"));
  const Result<Literal> out = queues.PopOutfeed(0);
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(Show(*out), "f32[2]{3,4}");
}

extern "C" void myfunc(void* out, void** in) {
  float(&x)[2] = *static_cast<float(*)[2]>(in[0]);
  float(&y)[2][3] = *static_cast<float(*)[2][3]>(in[1]);
  EXPECT_EQ(1, x[0]);
  EXPECT_EQ(2, x[1]);
  EXPECT_EQ(10, y[0][0]);
  EXPECT_EQ(20, y[0][1]);
  EXPECT_EQ(30, y[0][2]);
  EXPECT_EQ(40, y[1][0]);
  EXPECT_EQ(50, y[1][1]);
  EXPECT_EQ(60, y[1][2]);
  float(&z)[3][3] = *static_cast<float(*)[3][3]>(out);
  for (auto& row : z) {
    for (float& value : row) value = 0;
  }
  z[0][0] = x[1] + y[1][0];
}

TEST(CustomCallExampleTest, Myfunc) {
  CustomCallRegistry registry;
  registry.Register("myfunc", myfunc);
  Program p;
  p.options().custom_calls = &registry;
  const XlaOp x = p.Arg("f32[2]{1,2}"), y = p.Arg("f32[2,3]{{10,20,30},{40,50,60}}");
  EXPECT_THAT(p.RunOn({1, 1}, CustomCall(p.b(), "myfunc", {x, y}, ShapeUtil::MakeShape(F32, {3, 3}))),
              ElementsAre("f32[3,3]{{42,0,0},{0,0,0},{0,0,0}}"));
}

TEST(CustomCallExampleTest, AnUnknownTargetNamesTheRegisteredOnes) {
  CustomCallRegistry registry;
  registry.Register("myfunc", myfunc);
  Program p;
  p.options().custom_calls = &registry;
  EXPECT_THAT(p.RunOn({1, 1}, CustomCall(p.b(), "other", {}, Shape(F32)))[0],
              ::testing::AllOf(::testing::HasSubstr("other"), ::testing::HasSubstr("myfunc")));
}

TEST(AsyncExampleTest, StartUpdateAndDoneGiveTheComputationsResult) {
  XlaBuilder body("body");
  Neg(Parameter(&body, 0, Shape(F32, {2})));
  Program p;
  const XlaOp x = p.Arg("f32[2]{3,4}");
  EXPECT_EQ(p.Run(AsyncDone(AsyncUpdate(AsyncStart(p.b(), {x}, *body.Build())))), "f32[2]{-3,-4}");
  EXPECT_EQ(p.Run(CopyDone(CopyStart(x))), "f32[2]{3,4}");
  EXPECT_EQ(p.Run(AddDependency(x, CreateToken(p.b()))), "f32[2]{3,4}");
  EXPECT_EQ(p.Run(Domain(x, "sharding", "{replicated}", "{manual}")), "f32[2]{3,4}");
}

TEST(RngExampleTest, DistributionsStayInTheirRanges) {
  Program p;
  const Literal uniform = p.RunLiteral(RngUniform(p.Arg("f32[]-2"), p.Arg("f32[]3"), Shape(F32, {1000})));
  for (int64_t i = 0; i < 1000; ++i) {
    EXPECT_GE(uniform.GetDouble(i), -2);
    EXPECT_LT(uniform.GetDouble(i), 3);
  }
  const Literal bernoulli = p.RunLiteral(RngBernoulli(p.Arg("f32[]0.25"), Shape(U32, {1000})));
  int64_t ones = 0;
  for (int64_t i = 0; i < 1000; ++i) ones += bernoulli.GetInt(i);
  EXPECT_GT(ones, 190);
  EXPECT_LT(ones, 310);
}

// ---- trap 22: sizes known at run time

TEST(TrapTest, Trap22_SetDimensionSizeMakesReductionsIgnoreThePadding) {
  Program p;
  const XlaOp v = p.Arg("f32[10]{1,2,3,4,5,6,7,8,9,10}"), five = p.Arg("s32[]5"), six = p.Arg("s32[]6");
  const XlaOp padded_v_five = SetDimensionSize(v, five, /*dimension=*/0), padded_v_six = SetDimensionSize(v, six, 0);
  EXPECT_EQ(padded_v_five.shape().ToString(), "f32[<=10]");
  const XlaOp zero = ConstantR0<float>(p.b(), 0), one = ConstantR0<float>(p.b(), 1);
  EXPECT_EQ(p.Run(Reduce(padded_v_five, zero, Scalar(F32), {0})), "f32[]15");
  EXPECT_EQ(p.Run(Reduce(padded_v_five, one, Scalar(F32, Mul), {0})), "f32[]120");
  EXPECT_EQ(p.Run(Reduce(padded_v_six, zero, Scalar(F32), {0})), "f32[]21");
  EXPECT_EQ(p.Run(GetDimensionSize(padded_v_six, 0)), "s32[]6");
  EXPECT_EQ(p.Run(GetDimensionSize(v, 0)), "s32[]10");
  // Through an element-wise op.
  EXPECT_EQ(p.Run(Reduce(Neg(padded_v_five), zero, Scalar(F32), {0})), "f32[]-15");
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
