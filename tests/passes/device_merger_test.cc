// Several devices as one program: what is shared, and what is refused.
#include "core/passes/devices/device_merger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/devices/replica_groups.h"
#include "core/passes/base/verifier.h"
#include "core/passes/devices/exchanges.h"
#include "core/text/hlo_parser.h"
#include "core/text/hlo_printer.h"

namespace VXLA_NAMESPACE {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const char kSum[] = "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n";

Result<MergedProgram> Merge(const std::string& text, const DeviceGrid& grid, const std::vector<bool>& shared = {}) {
  auto module = ParseHlo(text);
  EXPECT_TRUE(module.ok()) << module.status().message();
  VXLA_ASSIGN_OR_RETURN(MergedProgram program, MergeDevices(**module, grid, shared));
  EXPECT_TRUE(Verify(*program.module).ok());
  return program;
}

std::string RefusalOf(const std::string& text, const DeviceGrid& grid, StatusCode code) {
  const auto program = Merge(text, grid);
  EXPECT_EQ(program.status().code(), code) << program.status().message();
  return program.ok() ? "" : program.status().message();
}

int64_t CountOf(const Computation& computation, Opcode opcode) {
  return std::ranges::count_if(computation.instructions(),
                               [&](const auto& instruction) { return instruction->opcode() == opcode; });
}

TEST(DeviceMergerTest, WhatDevicesShareIsComputedOnce) {
  const auto program =
      Merge(std::string(kSum) +
                "ENTRY e { w = f32[4] parameter(0)  x = f32[4] parameter(1)  n = f32[4] negate(w)  "
                "y = f32[4] multiply(n, x)  r = f32[4] all-reduce(y), replica_groups={}, to_apply=sum  "
                "ROOT t = f32[4] tanh(r) }",
            {4, 1}, {true, false});
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_EQ(program->parameters, (std::vector<std::pair<int64_t, int64_t>>{{0, 0}, {0, 1}, {1, 1}, {2, 1}, {3, 1}}));
  const Computation& entry = *program->module->entry();
  EXPECT_EQ(CountOf(entry, Opcode::kNegate), 1);
  EXPECT_EQ(CountOf(entry, Opcode::kMultiply), 4);
  EXPECT_EQ(CountOf(entry, Opcode::kAdd), 3);
  EXPECT_EQ(CountOf(entry, Opcode::kTanh), 1);
  EXPECT_EQ(program->results, (std::vector<IntList>{{0}, {0}, {0}, {0}}));
}

TEST(DeviceMergerTest, NarrowSumsAreRoundedOnce) {
  const auto program = Merge(
      "sum { a = bf16[] parameter(0)  b = bf16[] parameter(1)  ROOT r = bf16[] add(a, b) }\n"
      "ENTRY e { x = bf16[4] parameter(0)  ROOT r = bf16[4] all-reduce(x), replica_groups={}, "
      "to_apply=sum }",
      {3, 1});
  ASSERT_TRUE(program.ok());
  for (const auto& instruction : program->module->entry()->instructions()) {
    if (instruction->opcode() != Opcode::kAdd) continue;
    EXPECT_EQ(instruction->shape().element_type(), ElementType::kF32);
  }
}

TEST(DeviceMergerTest, SaysWhoWaitsWhere) {
  const std::string text =
      "ENTRY e { x = f32[2] parameter(0)  k = token[] after-all()\n"
      "v = (f32[2], u32[], token[]) recv(k), channel_id=3, "
      "frontend_attributes={_xla_send_recv_source_target_pairs={{0,1}}}\n"
      "ROOT d = (f32[2], token[]) recv-done(v), channel_id=3 }";
  EXPECT_EQ(RefusalOf(text, {2, 1}, StatusCode::kDeviceFailure),
            "deadlock: recv-done d (channel_id 3): replica 1 waits for replica 0; replica 0 has ended");
}

TEST(DeviceMergerTest, SaysWhichChannelEachDeviceWaitsOn) {
  const std::string text =
      std::string(kSum) +
      "ENTRY e { x = f32[2] parameter(0)  k = token[] after-all()\n"
      "v = (f32[2], u32[], token[]) recv(k), channel_id=3, "
      "frontend_attributes={_xla_send_recv_source_target_pairs={{2,1}}}\n"
      "d = (f32[2], token[]) recv-done(v), channel_id=3\n"
      "ROOT r = f32[2] all-reduce(x), channel_id=7, replica_groups={{0,1},{2}}, use_global_device_ids=true, "
      "to_apply=sum }";
  EXPECT_EQ(RefusalOf(text, {3, 1}, StatusCode::kDeviceFailure),
            "deadlock: all-reduce r (channel_id 7): replica 0 waits for replica 1; "
            "replica 1 waits at recv-done d (channel_id 3) for replica 2; replica 2 has ended");
}

TEST(DeviceMergerTest, AReportListsSixteenMoreDevicesAtMost) {
  const std::string text =
      std::string(kSum) +
      "ENTRY e { x = f32[2] parameter(0)  k = token[] after-all()\n"
      "v = (f32[2], u32[], token[]) recv(k), channel_id=3, "
      "frontend_attributes={_xla_send_recv_source_target_pairs={{0,1}}}\n"
      "d = (f32[2], token[]) recv-done(v), channel_id=3\n"
      "ROOT r = f32[2] all-reduce(x), channel_id=7, replica_groups={}, use_global_device_ids=false, to_apply=sum }";
  const std::string report = RefusalOf(text, {40, 1}, StatusCode::kDeviceFailure);
  EXPECT_THAT(report, StartsWith("deadlock: all-reduce r (channel_id 7): replica 0 waits for replica 1; replica 1 "
                                 "waits at recv-done d (channel_id 3) for replica 0; replica 2 waits at all-reduce r"));
  EXPECT_THAT(report, EndsWith("; replica 16 waits at all-reduce r (channel_id 7) for replica 1; and 23 more devices"));
}

TEST(DeviceMergerTest, AReportOfManyThatAreMissingSaysHowMany) {
  EXPECT_EQ((DeviceGrid{2, 2}.Names({1, 2})), "replica 0 partition 1, replica 1 partition 0");
  EXPECT_EQ((DeviceGrid{2, 1}.Names({})), "any device");
  const IntList most(18, 0);
  EXPECT_THAT((DeviceGrid{32, 1}.Names(most)), EndsWith("replica 0 and 2 more"));
}

TEST(DeviceMergerTest, ASendThatNobodyTakes) {
  const std::string text =
      "ENTRY e { x = f32[2] parameter(0)  k = token[] after-all()\n"
      "s = (f32[2], u32[], token[]) send(x, k), channel_id=3, "
      "frontend_attributes={_xla_send_recv_source_target_pairs={{0,1}}}\n"
      "ROOT d = token[] send-done(s), channel_id=3 }";
  EXPECT_EQ(RefusalOf(text, {2, 1}, StatusCode::kDeviceFailure),
            "deadlock: send s (channel_id 3): replica 0 has sent data that replica 1 never took");
}

TEST(DeviceMergerTest, SaysWhichDeviceTalksToItsHost) {
  const auto program =
      Merge("ENTRY e { k = token[] after-all()  ROOT i = (f32[2], token[]) infeed(k), frontend_attributes={a=\"b\"} }",
            {2, 1});
  ASSERT_TRUE(program.ok()) << program.status().message();
  IntList devices;
  for (const auto& instruction : program->module->entry()->instructions()) {
    if (instruction->opcode() == Opcode::kInfeed) devices.push_back(instruction->notes().device);
  }
  EXPECT_EQ(devices, (IntList{0, 1}));
  EXPECT_THAT(PrintHlo(*program->module), HasSubstr("frontend_attributes={vxla=\"device=1\",a=\"b\"}"));
}

TEST(DeviceMergerTest, NeighboursOfOnePlaceAreReducedThere) {
  EXPECT_EQ(ReductionBlock({0, 0, 0, 0, 1, 1, 1, 1}), 4);
  EXPECT_EQ(ReductionBlock({0, 0, 1, 1, 2, 2, 3, 3}), 2);
  EXPECT_EQ(ReductionBlock({0, 0, 0, 1, 1, 1}), 1);  // pairs that are of two places
  EXPECT_EQ(ReductionBlock({0, 0, 1, 1, 2}), 2);     // the last one has no neighbour
  EXPECT_EQ(ReductionBlock({0, 1, 0, 1}), 1);
  EXPECT_EQ(ReductionBlock({0, 0, 0}), 4);
  EXPECT_EQ(ReductionBlock({0}), 1);
  const auto module = ParseHlo(
      "sum { a = bf16[] parameter(0)  b = bf16[] parameter(1)  ROOT r = bf16[] add(a, b) }\n"
      "ENTRY e { x = bf16[4] parameter(0)  ROOT r = bf16[4] all-reduce(x), replica_groups={}, to_apply=sum }");
  ASSERT_TRUE(module.ok());
  for (const int64_t here : {0, 1}) {
    const auto program = MergeDevices(**module, {8, 1}, {false}, DevicePlaces{{0, 0, 0, 0, 1, 1, 1, 1}, here});
    ASSERT_TRUE(program.ok()) << program.status().message();
    ASSERT_EQ(program->exchanges.size(), 1u);
    for (const auto& posted : program->exchanges[0].posted) {
      ASSERT_EQ(posted.size(), 1u);  // not four
      EXPECT_EQ(posted[0].ToString(), "f32[4]");
    }
  }
  // What all have needs no exchange.
  const auto shared = MergeDevices(**module, {8, 1}, {true}, DevicePlaces{{0, 0, 0, 0, 1, 1, 1, 1}, 0});
  ASSERT_TRUE(shared.ok()) << shared.status().message();
  EXPECT_TRUE(shared->exchanges.empty());
}

// A place receives what its devices take, and nothing else.
TEST(DeviceMergerTest, PlacesReceiveWhatTheyTake) {
  const auto received = [](const std::string& collective, std::optional<ReductionForm> form = {}) {
    const auto module =
        ParseHlo(kSum + std::string("ENTRY e { x = f32[1024] parameter(0)  ROOT r = ") + collective + " }");
    EXPECT_TRUE(module.ok()) << module.status().message();
    const auto program =
        MergeDevices(**module, {4, 1}, {false}, DevicePlaces{{0, 1, 2, 3}, 1, PlaceLink::kStaging, form});
    EXPECT_TRUE(program.ok()) << program.status().message();
    std::vector<int64_t> bytes;
    for (const PlaceExchange& exchange : program->exchanges) {
      for (int64_t place = 0; place < 4; ++place) bytes.push_back(exchange.BytesReceived(place));
    }
    return bytes;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(received("f32[1024] collective-permute(x), source_target_pairs={{0,1},{1,2}}"),
              ElementsAre(0, 4096, 4096, 0));
  EXPECT_THAT(received("f32[1024] all-to-all(x), replica_groups={}, dimensions={0}"),
              ElementsAre(3072, 3072, 3072, 3072));
  EXPECT_THAT(received("f32[256] reduce-scatter(x), replica_groups={}, dimensions={0}, to_apply=sum"),
              ElementsAre(3072, 3072, 3072, 3072));
  EXPECT_THAT(received("f32[1024] collective-broadcast(x), replica_groups={{2,0,1}}"), ElementsAre(4096, 4096, 0, 0));
  EXPECT_THAT(received("f32[1024] collective-reduce(x), replica_groups={}, to_apply=sum"), ElementsAre(12288, 0, 0, 0));
  EXPECT_THAT(received("f32[1024] all-reduce(x), replica_groups={}, to_apply=sum"),
              ElementsAre(12288, 12288, 12288, 12288));
  EXPECT_THAT(received("f32[1024] all-reduce(x), replica_groups={}, to_apply=sum", ReductionForm::kParts),
              ElementsAre(3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072));
}

TEST(DeviceMergerTest, RefusesRowsThatDoNotDivide) {
  EXPECT_THAT(RefusalOf("ENTRY e { x = f32[4] parameter(0)  o = s32[3] constant({0, 0, 0})  ROOT r = f32[4] "
                        "ragged-all-to-all(x, x, o, o, o, o), replica_groups={} }",
                        {2, 1}, StatusCode::kInvalidArgument),
              HasSubstr("ragged-all-to-all r: 3 offsets for 2 members"));
}

// A member's part does not grow with the entries that may reach it, but for the lists that it is told of: those of 64
// members are 4,096.
TEST(DeviceMergerTest, RaggedRowsAreFoundByOneReduction) {
  const auto program = Merge(
      "ENTRY e { x = f32[64] parameter(0)  o = s32[64] parameter(1)  ROOT r = f32[64] "
      "ragged-all-to-all(x, x, o, o, o, o), replica_groups={} }",
      {64, 1});
  ASSERT_TRUE(program.ok()) << program.status().message();
  const Computation& entry = *program->module->entry();
  EXPECT_LE(CountOf(entry, Opcode::kSelect), 64 * 5);
  EXPECT_LE(CountOf(entry, Opcode::kReshape), 64 * 5);
}

TEST(DeviceMergerTest, DevicesThatMeetInABranchTakeItTogether) {
  const std::string text =
      std::string(kSum) +
      "yes { x = f32[] parameter(0)  ROOT r = f32[] all-reduce(x), replica_groups={}, to_apply=sum }\n"
      "no { x = f32[] parameter(0)  ROOT r = f32[] negate(x) }\n"
      "ENTRY e { p = pred[] parameter(0)  x = f32[] parameter(1)  i = u32[] replica-id()  z = u32[] constant(0)\n"
      "q = pred[] compare(i, z), direction=EQ  ROOT c = f32[] conditional(SELECTOR, x, x), true_computation=yes, "
      "false_computation=no }";
  const auto by = [&](const std::string& selector) {
    std::string program = text;
    return program.replace(program.find("SELECTOR"), 8, selector);
  };
  const auto apart = Merge(by("p"), {2, 1});
  ASSERT_TRUE(apart.ok()) << apart.status().message();
  ASSERT_EQ(apart->partings.size(), 1u);
  EXPECT_EQ(apart->partings[0].message(),
            "deadlock: conditional c: replica 0, replica 1 go different ways, and all-reduce r inside waits for all of "
            "them");
  const auto alike = Merge(by("p"), {2, 1}, {true, false});
  ASSERT_TRUE(alike.ok());
  EXPECT_TRUE(alike->partings.empty());
  EXPECT_EQ(RefusalOf(by("q"), {2, 1}, StatusCode::kDeviceFailure),
            "deadlock: all-reduce r: replica 0 waits for replica 1; replica 1 has ended");
}

// Replica 1 waits before the loop for what replica 0 sends in it, as in a pipeline that fills.
TEST(DeviceMergerTest, DataThatALoopFurtherOnSendsNeedDevicesApart) {
  const std::string transfers = R"(
  t = token[] after-all()
  sn = (f32[3], u32[], token[]) send(x, t), PAIRS
  sd = token[] send-done(sn)
  rv = (f32[3], u32[], token[]) recv(t), PAIRS
  rd = (f32[3], token[]) recv-done(rv)
  y = f32[3] get-tuple-element(rd), index=0)";
  const auto text = [&](const std::string& in_loop) {
    std::string program = R"(
c { s = (s32[], f32[3]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(2)
  ROOT p = pred[] compare(i, n), direction=LT }
b { s = (s32[], f32[3]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  x = f32[3] get-tuple-element(s), index=1  one = s32[] constant(1)  j = s32[] add(i, one))" +
                          in_loop + R"(
  ROOT r = (s32[], f32[3]) tuple(j, y) }
ENTRY e { x = f32[3] parameter(0)  u = token[] after-all()
  fv = (f32[3], u32[], token[]) recv(u), PAIRS
  fd = (f32[3], token[]) recv-done(fv)
  f = f32[3] get-tuple-element(fd), index=0  a = f32[3] add(x, f)  z = s32[] constant(0)
  i = (s32[], f32[3]) tuple(z, a)  w = (s32[], f32[3]) while(i), condition=c, body=b
  ROOT r = f32[3] get-tuple-element(w), index=1 }
)";
    for (size_t at; (at = program.find("PAIRS")) != std::string::npos;)
      program.replace(at, 5, "frontend_attributes={_xla_send_recv_source_target_pairs={{0,1}}}");
    return program;
  };
  EXPECT_THAT(RefusalOf(text(transfers), {2, 1}, StatusCode::kUnsupported),
              HasSubstr("replica 1 waits at recv-done fd for replica 0: only devices that run apart find out"));
  EXPECT_THAT(RefusalOf(text("  y = f32[3] negate(x)"), {2, 1}, StatusCode::kDeviceFailure), HasSubstr("recv-done fd"));
}

TEST(DeviceMergerTest, RefusesSizesThatDoNotDivide) {
  EXPECT_THAT(RefusalOf("ENTRY e { x = f32[5] parameter(0)  ROOT r = f32[5] all-to-all(x), replica_groups={}, "
                        "dimensions={0} }",
                        {2, 1}, StatusCode::kInvalidArgument),
              HasSubstr("all-to-all r: dimension 0 of f32[5] does not fit groups of 2"));
  EXPECT_THAT(RefusalOf("ENTRY e { x = f32[5] parameter(0)  ROOT r = f32[15] all-gather(x), replica_groups={}, "
                        "dimensions={0} }",
                        {2, 1}, StatusCode::kInvalidArgument),
              HasSubstr("all-gather r: f32[15] comes to f32[10] in groups of 2"));
}

}  // namespace
}  // namespace VXLA_NAMESPACE
