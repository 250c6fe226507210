// Sends and recvs that one iteration starts and another finishes.
#include "core/passes/expand/repairs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/text/hlo_printer.h"
#include "tests/cpu/replica_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

constexpr std::string_view kLine = "frontend_attributes={_xla_send_recv_source_target_pairs={{0,1},{1,2},{2,3}}}";

std::string Finished(const std::string& text) {
  const auto module = ParseHlo(text);
  if (!module.ok()) return module.status().message();
  EXPECT_TRUE(FinishCarriedTransfers(**module)) << text;
  const Status valid = Verify(**module);
  EXPECT_TRUE(valid.ok()) << valid.message();
  return PrintHlo(**module);
}

// Device d of four begins with 10 (d + 1), 10 (d + 1) + 1, 10 (d + 1) + 2.
std::vector<std::vector<int64_t>> RunOnFour(const std::string& text) {
  std::vector<std::vector<Literal>> arguments;
  for (int64_t d = 0; d < 4; ++d) {
    const auto first = static_cast<int32_t>(10 * (d + 1));
    arguments.push_back(
        {Literal::FromVector<int32_t>(Shape(ElementType::kS32, {3}), {{first, first + 1, first + 2}})});
  }
  std::vector<std::vector<int64_t>> values;
  for (const Literal& result : RunReplicas(text, {4, 1}, arguments)) values.push_back(Integers(result));
  return values;
}

// The contexts are the state of a loop of `trips`; the channels of sends and recvs are stated apart, as XLA's tests do.
std::string Pipeline(int trips) {
  constexpr std::string_view kContext = "(s32[3], u32[], token[])";
  return fmt::format(R"(
c {{ s = (s32[], {0}, {0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant({2})
  ROOT p = pred[] compare(i, n), direction=LT }}
b {{ s = (s32[], {0}, {0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  sent = {0} get-tuple-element(s), index=1
  came = {0} get-tuple-element(s), index=2
  sd = token[] send-done(sent), channel_id=5
  rd = (s32[3], token[]) recv-done(came), channel_id=6
  x = s32[3] get-tuple-element(rd), index=0
  t = token[] after-all(sd)
  rv = {0} recv(t), channel_id=6, {1}
  sn = {0} send(x, t), channel_id=5, {1}, control-predecessors={{rv}}
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT r = (s32[], {0}, {0}) tuple(j, sn, rv) }}
ENTRY e {{ x = s32[3] parameter(0)
  t = token[] after-all()
  sn = {0} send(x, t), channel_id=5, {1}
  rv = {0} recv(t), channel_id=6, {1}
  z = s32[] constant(0)
  init = (s32[], {0}, {0}) tuple(z, sn, rv)
  w = (s32[], {0}, {0}) while(init), condition=c, body=b
  sent = {0} get-tuple-element(w), index=1
  came = {0} get-tuple-element(w), index=2
  sd = token[] send-done(sent), channel_id=5
  rd = (s32[3], token[]) recv-done(came), channel_id=6
  ROOT y = s32[3] get-tuple-element(rd), index=0 }}
)",
                     kContext, kLine, trips);
}

TEST(CarriedTransfersTest, LoopsCarryContexts) {
  const std::vector<int64_t> none{0, 0, 0};
  using Values = std::vector<std::vector<int64_t>>;
  EXPECT_EQ(RunOnFour(Finished(Pipeline(0))), (Values{none, {10, 11, 12}, {20, 21, 22}, {30, 31, 32}}));
  EXPECT_EQ(RunOnFour(Finished(Pipeline(2))), (Values{none, none, none, {10, 11, 12}}));
}

TEST(CarriedTransfersTest, AsynchronousComputationsGiveContexts) {
  const std::string text = fmt::format(R"(
pair {{ x = s32[3] parameter(0)
  t = token[] parameter(1)
  rv = (s32[3], u32[], token[]) recv(t), {0}
  sn = (s32[3], u32[], token[]) send(x, t), {0}
  ROOT r = ((s32[3], u32[], token[]), (s32[3], u32[], token[])) tuple(sn, rv) }}
ENTRY e {{ x = s32[3] parameter(0)
  t = token[] after-all()
  s = ((s32[3], token[]), ((s32[3], u32[], token[]), (s32[3], u32[], token[])), s32[]) async-start(x, t), calls=pair
  d = ((s32[3], u32[], token[]), (s32[3], u32[], token[])) async-done(s)
  c = (s32[3], u32[], token[]) get-tuple-element(d), index=1
  ROOT y = s32[3] get-tuple-element(c), index=0 }}
)",
                                       kLine);
  EXPECT_EQ(RunOnFour(Finished(text)),
            (std::vector<std::vector<int64_t>>{{0, 0, 0}, {10, 11, 12}, {20, 21, 22}, {30, 31, 32}}));
}

TEST(CarriedTransfersTest, WhatIsFinishedWhereItStartsStays) {
  const auto module = ParseHlo(R"(
ENTRY e { x = s32[3] parameter(0)
  t = token[] after-all()
  s = (s32[3], u32[], token[]) send(x, t), channel_id=2
  r = (s32[3], u32[], token[]) recv(t), channel_id=2
  sd = token[] send-done(s), channel_id=2
  ROOT rd = (s32[3], token[]) recv-done(r), channel_id=2 }
)");
  ASSERT_TRUE(module.ok());
  EXPECT_FALSE(FinishCarriedTransfers(**module));
}

TEST(CarriedTransfersTest, DonesOfWhatNobodyStartsAreRefused) {
  const auto module = ParseHlo(R"(
ENTRY e { c = ((s32[3], u32[], token[]), s32[]) parameter(0)
  g = (s32[3], u32[], token[]) get-tuple-element(c), index=0
  ROOT rd = (s32[3], token[]) recv-done(g), channel_id=2 }
)");
  ASSERT_TRUE(module.ok());
  EXPECT_FALSE(FinishCarriedTransfers(**module));
  EXPECT_TRUE(Verify(**module).message().starts_with("recv-done: operand 0 is get-tuple-element, recv needed"));
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
