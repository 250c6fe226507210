// Infeed, outfeed, host sends and recvs, and custom calls.
#include <fmt/format.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "core/library/library_calls.h"
#include "scheduler/replicas/feed_queues.h"
#include "tests/cpu/replica_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using enum ElementType;

// ---- feeds

EvaluateOptions With(FeedQueues& queues) {
  EvaluateOptions options;
  options.host = queues.transfers();
  return options;
}

TEST(InfeedTest, ItemsComeInTheOrderOfExecution) {
  FeedQueues queues;
  queues.PushInfeed(0, Array(kF32, {2}, {1, 2}));
  queues.PushInfeed(0, Array(kF32, {2}, {3, 4}));
  const Literal r = RunText(
      Entry(
          "t = token[] after-all()\na = (f32[2], token[]) infeed(t)\nu = token[] get-tuple-element(a), index=1\n"
          "b = (f32[2], token[]) infeed(u)\nx = f32[2] get-tuple-element(a), index=0\n"
          "y = f32[2] get-tuple-element(b), index=0\ntwo = f32[] constant(2)\n"
          "twos = f32[2] broadcast(two), dimensions={}\nz = f32[2] multiply(y, twos)\nROOT r = f32[2] subtract(z, x)"),
      {}, With(queues));
  EXPECT_THAT(Doubles(r), ElementsAre(5, 6));
  EXPECT_EQ(queues.InfeedLeft(0), 0);
}

// The two loops of the document, the second of which depends on the first.
TEST(InfeedTest, LoopsThatDependOnEachOtherHaveATotalOrder) {
  const std::string loop =
      "below { s = (s32[], s32[], token[]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n n = s32[] "
      "constant(3)\n"
      " m = s32[] remainder(i, n)\n z = s32[] constant(2)\n ROOT r = pred[] compare(m, z), direction=NE }\n"
      "take { s = (s32[], s32[], token[]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n acc = s32[] "
      "get-tuple-element(s), index=1\n"
      " t = token[] get-tuple-element(s), index=2\n f = (s32[], token[]) infeed(t)\n x = s32[] get-tuple-element(f), "
      "index=0\n"
      " u = token[] get-tuple-element(f), index=1\n ten = s32[] constant(10)\n a = s32[] multiply(acc, ten)\n b = "
      "s32[] add(a, x)\n"
      " one = s32[] constant(1)\n j = s32[] add(i, one)\n ROOT r = (s32[], s32[], token[]) tuple(j, b, u) }\n"
      "next { s = (s32[], s32[], token[]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n one = s32[] "
      "constant(1)\n"
      " j = s32[] add(i, one)\n a = s32[] get-tuple-element(s), index=1\n t = token[] get-tuple-element(s), index=2\n"
      " ROOT r = (s32[], s32[], token[]) tuple(j, a, t) }\n";
  FeedQueues queues;
  for (int64_t i = 1; i <= 4; ++i) queues.PushInfeed(0, Ints(kS32, {}, {i}));
  const Literal r =
      RunText(Entry("z = s32[] constant(0)\nt = token[] after-all()\ns = (s32[], s32[], token[]) tuple(z, z, t)\n"
                    "w1 = (s32[], s32[], token[]) while(s), condition=below, body=take\n"
                    "n = (s32[], s32[], token[]) call(w1), to_apply=next\n"
                    "w2 = (s32[], s32[], token[]) while(n), condition=below, body=take\n"
                    "ROOT r = s32[] get-tuple-element(w2), index=1",
                    loop),
              {}, With(queues));
  EXPECT_EQ(r.GetInt(0), 1234);
}

TEST(InfeedTest, TuplesAreOneItemAndTheEmptyTupleReadsNothing) {
  FeedQueues queues;
  std::vector<Literal> pair;
  pair.push_back(Ints(kS32, {2}, {1, 2}));
  pair.push_back(Array(kF32, {}, {0.5}));
  queues.PushInfeed(0, Literal::Tuple(std::move(pair)));
  const Literal r =
      RunText(Entry("t = token[] after-all()\ne = ((), token[]) infeed(t)\nu = token[] get-tuple-element(e), index=1\n"
                    "a = ((s32[2], f32[]), token[]) infeed(u)\nROOT r = (s32[2], f32[]) get-tuple-element(a), index=0"),
              {}, With(queues));
  EXPECT_THAT(Integers(r.tuple_elements()[0]), ElementsAre(1, 2));
  EXPECT_EQ(r.tuple_elements()[1].GetDouble(0), 0.5);
}

TEST(InfeedTest, EachDeviceHasItsQueueAndItsOutfeed) {
  FeedQueues queues(3);
  for (int64_t d = 0; d < 3; ++d) queues.PushInfeed(d, Ints(kS32, {}, {d + 5}));
  const auto r = RunReplicas(
      Entry("t = token[] after-all()\na = (s32[], token[]) infeed(t)\nx = s32[] get-tuple-element(a), index=0\n"
            "u = token[] get-tuple-element(a), index=1\nn = s32[] negate(x)\no = token[] outfeed(n, u)\n"
            "o2 = token[] outfeed(x, o)\nROOT r = s32[] add-dependency(x, o2)"),
      {3, 1}, {{}}, With(queues));
  for (int64_t d = 0; d < 3; ++d) {
    EXPECT_EQ(r[static_cast<size_t>(d)].GetInt(0), d + 5);
    EXPECT_EQ(queues.OutfeedSize(d), 2);
    EXPECT_EQ(queues.PopOutfeed(d)->GetInt(0), -(d + 5));
    EXPECT_EQ(queues.PopOutfeed(d)->GetInt(0), d + 5);
    EXPECT_THAT(queues.PopOutfeed(d).status().message(), HasSubstr("is empty"));
  }
}

TEST(InfeedTest, WaitsForAnotherThreadToPush) {
  FeedQueues queues(1, std::chrono::seconds(30));
  std::thread pusher([&queues] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    queues.PushInfeed(0, Ints(kS32, {}, {8}));
  });
  const Literal r = RunText(
      Entry("t = token[] after-all()\na = (s32[], token[]) infeed(t)\nROOT x = s32[] get-tuple-element(a), index=0"),
      {}, With(queues));
  pusher.join();
  EXPECT_EQ(r.GetInt(0), 8);
}

TEST(InfeedTest, RejectsAMissingOrUnfitItem) {
  const std::string text =
      Entry("t = token[] after-all()\na = (s32[2], token[]) infeed(t)\nROOT x = s32[2] get-tuple-element(a), index=0");
  FeedQueues empty;
  EXPECT_THAT(TryRun(text, {}, With(empty)).status().message(),
              HasSubstr("infeed a: the infeed queue of device 0 is empty after 0 items; s32[2] wanted"));
  FeedQueues wrong;
  wrong.PushInfeed(0, Ints(kS32, {3}, {1, 2, 3}));
  EXPECT_THAT(TryRun(text, {}, With(wrong)).status().message(),
              HasSubstr("infeed a: the host gave s32[3], s32[2] needed"));
  EXPECT_THAT(TryRun(text, {}).status().message(), HasSubstr("infeed a: the run has no infeed"));
}

TEST(OutfeedTest, SendsTuplesWholeAndNothingForTheEmptyTuple) {
  FeedQueues queues;
  RunText(Entry("p = s32[2] parameter(0)\nt = token[] after-all()\ne = () tuple()\no1 = token[] outfeed(e, t)\n"
                "b = (s32[2], s32[2]) tuple(p, p)\nROOT o2 = token[] outfeed(b, o1), outfeed_shape=(s32[2], s32[2])"),
          {Ints(kS32, {2}, {4, 5})}, With(queues));
  ASSERT_EQ(queues.OutfeedSize(0), 1);
  EXPECT_THAT(Integers(queues.PopOutfeed(0)->tuple_elements()[1]), ElementsAre(4, 5));
}

TEST(HostTransferTest, SendsAndRecvsOfTheHostUseItsFunctions) {
  EvaluateOptions options;
  std::vector<int64_t> seen;
  options.host.send_to_host = [&](int64_t, int64_t channel, Literal value) {
    seen = {channel, value.GetInt(0)};
    return OkStatus();
  };
  options.host.recv_from_host = [](int64_t, int64_t channel, const Shape& shape) -> Result<Literal> {
    return Literal::ScalarInt(shape.element_type(), channel * 2);
  };
  const std::string text = Entry(
      "p = s32[] parameter(0)\nt = token[] after-all()\n"
      "s = (s32[], u32[], token[]) send(p, t), channel_id=15, is_host_transfer=true\n"
      "d = token[] send-done(s), channel_id=15, is_host_transfer=true\n"
      "r = (s32[], u32[], token[]) recv(d), channel_id=16, is_host_transfer=true\n"
      "e = (s32[], token[]) recv-done(r), channel_id=16, is_host_transfer=true\n"
      "ROOT x = s32[] get-tuple-element(e), index=0");
  EXPECT_EQ(RunText(text, {Ints(kS32, {}, {9})}, options).GetInt(0), 32);
  EXPECT_THAT(seen, ElementsAre(15, 9));
  EXPECT_THAT(TryRun(text, {Ints(kS32, {}, {9})}).status().message(),
              HasSubstr("send s: the run has no host to send to"));
}

// ---- custom calls

// The document's example.
extern "C" void TestMyfunc(void* out, void** in) {
  float(&x)[2] = *static_cast<float(*)[2]>(in[0]);
  float(&y)[2][3] = *static_cast<float(*)[2][3]>(in[1]);
  EXPECT_EQ(1, x[0]);
  EXPECT_EQ(2, x[1]);
  EXPECT_EQ(10, y[0][0]);
  EXPECT_EQ(60, y[1][2]);
  float(&z)[3][3] = *static_cast<float(*)[3][3]>(out);
  z[0][0] = x[1] + y[1][0];
  z[2][2] = 7;
}

EvaluateOptions With(const CustomCallRegistry& registry) {
  EvaluateOptions options;
  options.custom_calls = &registry;
  return options;
}

TEST(CustomCallTest, MyfuncOfTheDocument) {
  CustomCallRegistry registry;
  registry.Register("myfunc", &TestMyfunc);
  const Literal r = RunText(Entry("x = f32[2] constant({1, 2})\ny = f32[2,3] constant({ {10, 20, 30}, {40, 50, 60} })\n"
                                  "ROOT z = f32[3,3] custom-call(x, y), custom_call_target=\"myfunc\""),
                            {}, With(registry));
  EXPECT_EQ(r.GetDouble(0), 42);
  EXPECT_EQ(r.GetDouble(8), 7);
}

TEST(CustomCallTest, EverySignatureIsAccepted) {
  CustomCallRegistry registry;
  registry.Register(
      "a", +[](void* out, const void** in) { *static_cast<int32_t*>(out) = *static_cast<const int32_t*>(in[0]) + 1; });
  registry.Register("b", [](void* out, const void**, CustomCallStatus&) { *static_cast<int32_t*>(out) = 2; });
  registry.Register("c", [](void* out, const void**, std::string_view opaque, CustomCallStatus&) {
    *static_cast<int32_t*>(out) = static_cast<int32_t>(opaque.size());
  });
  int32_t calls = 0;
  registry.Register("d", [&calls](void* out, const void**, const char* opaque, size_t size, CustomCallStatus&) {
    *static_cast<int32_t*>(out) = ++calls + static_cast<int32_t>(opaque[size - 1]);
  });
  auto run = [&](const std::string& target) {
    return RunText(Entry("p = s32[] parameter(0)\nROOT r = s32[] custom-call(p), custom_call_target=\"" + target +
                         "\", backend_config=\"x\\\"yz\""),
                   {Ints(kS32, {}, {10})}, With(registry))
        .GetInt(0);
  };
  EXPECT_EQ(run("a"), 11);
  EXPECT_EQ(run("b"), 2);
  EXPECT_EQ(run("c"), 4);
  EXPECT_EQ(run("d"), 1 + 'z');
}

TEST(CustomCallTest, TuplesAreArraysOfPointers) {
  CustomCallRegistry registry;
  registry.Register("swap", [](void* out, const void** in) {
    const auto* pair = static_cast<const void* const*>(in[0]);
    void** results = static_cast<void**>(out);
    *static_cast<float*>(results[0]) = *static_cast<const float*>(pair[1]);
    *static_cast<int32_t*>(results[1]) = *static_cast<const int32_t*>(pair[0]);
  });
  const Literal r = RunText(Entry("a = s32[] constant(3)\nb = f32[] constant(0.5)\nt = (s32[], f32[]) tuple(a, b)\n"
                                  "ROOT r = (f32[], s32[]) custom-call(t), custom_call_target=\"swap\""),
                            {}, With(registry));
  EXPECT_EQ(r.tuple_elements()[0].GetDouble(0), 0.5);
  EXPECT_EQ(r.tuple_elements()[1].GetInt(0), 3);
}

TEST(CustomCallTest, LayoutsAreThoseOfTheConstraints) {
  CustomCallRegistry registry;
  registry.Register("copy6", [](void* out, const void** in) {
    for (int i = 0; i < 6; ++i) static_cast<int32_t*>(out)[i] = static_cast<const int32_t*>(in[0])[i];
  });
  const std::vector<Literal> p{Ints(kS32, {2, 3}, {0, 1, 2, 3, 4, 5})};
  // Column-major in, row-major out: the call sees 0 3 1 4 2 5.
  EXPECT_THAT(
      Integers(RunText(
          Entry("p = s32[2,3]{1,0} parameter(0)\nROOT r = s32[6]{0} custom-call(p), custom_call_target=\"copy6\", "
                "operand_layout_constraints={s32[2,3]{0,1}}"),
          p, With(registry))),
      ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(
      Integers(RunText(
          Entry("p = s32[2,3]{1,0} parameter(0)\nROOT r = s32[2,3]{0,1} custom-call(p), custom_call_target=\"copy6\", "
                "operand_layout_constraints={s32[2,3]{1,0}}"),
          p, With(registry))),
      ElementsAre(0, 2, 4, 1, 3, 5));
  EXPECT_THAT(
      Integers(RunText(
          Entry("p = s32[2,3]{0,1} parameter(0)\nROOT r = s32[2,3]{0,1} custom-call(p), custom_call_target=\"copy6\""),
          p, With(registry))),
      ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(CustomCallTest, EmptyArraysAndRepeatedUse) {
  CustomCallRegistry registry;
  std::atomic<int> calls{0};
  registry.Register("count", [&calls](void*, const void**) { ++calls; });
  const auto r =
      RunReplicas(Entry("p = f32[0,3] parameter(0)\nROOT r = f32[0] custom-call(p), custom_call_target=\"count\""),
                  {5, 1}, {{Literal(Shape(kF32, {0, 3}))}}, With(registry));
  EXPECT_EQ(calls, 5);
  EXPECT_EQ(Text(r[4].shape()), "f32[0]");
}

TEST(CustomCallTest, AFailureIsReportedWithItsMessage) {
  CustomCallRegistry registry;
  registry.Register("fails", [](void*, const void**, CustomCallStatus& status) { status.SetFailure("no such table"); });
  const Result<Literal> r =
      TryRun(Entry("ROOT r = f32[] custom-call(), custom_call_target=\"fails\""), {}, With(registry));
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(r.status().message(), "custom-call r: fails failed: no such table");
}

TEST(CustomCallTest, AnExceptionDoesNotLeaveTheRun) {
  CustomCallRegistry registry;
  registry.Register("throws", [](void*, const void**) { throw std::runtime_error("out of tea"); });
  EXPECT_EQ(
      FailureOf(Entry("ROOT r = f32[] custom-call(), custom_call_target=\"throws\""), {3, 1}, {{}}, With(registry)),
      "custom-call r: throws threw an exception: out of tea");
}

TEST(CustomCallTest, AnUnknownTargetListsTheRegisteredOnes) {
  CustomCallRegistry registry;
  const std::string text = Entry("ROOT r = f32[] custom-call(), custom_call_target=\"mine\"");
  EXPECT_THAT(TryRun(text, {}).status().message(),
              HasSubstr("custom-call r: no function is registered for \"mine\"; none are registered"));
  registry.Register("yours", [](void*, const void**) {});
  registry.Register("ours", [](void*, const void**) {});
  const Result<Literal> r = TryRun(text, {}, With(registry));
  EXPECT_EQ(r.status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(r.status().message(),
            "custom-call r: no function is registered for \"mine\"; registered: ours, yours; known without one: " +
                LibraryCallNames());
}

// Nothing runs: the infeed before the call keeps its item.
TEST(CustomCallTest, AnUnknownTargetIsRefusedBeforeTheRun) {
  FeedQueues queues;
  queues.PushInfeed(0, Array(kF32, {2}, {1, 2}));
  const std::string text = Entry(
      "t = token[] after-all()\na = (f32[2], token[]) infeed(t)\nx = f32[2] get-tuple-element(a), index=0\n"
      "ROOT r = f32[2] custom-call(x), custom_call_target=\"lapack_sgetrf_ffi\"");
  const Result<Literal> r = TryRun(text, {}, With(queues));
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(queues.InfeedLeft(0), 1);
  EXPECT_EQ(r.status().location().line, 8);
}

// A branch that is not taken counts: whether it is, the arguments say.
TEST(CustomCallTest, UnknownCallsOfLibrariesNameTheWayOut) {
  auto message = [](std::string_view target) {
    const auto module = ParseHlo(
        fmt::format("g {{ x = f32[] parameter(0)  ROOT r = f32[] custom-call(x), custom_call_target=\"{}\" }}\n"
                    "k {{ ROOT x = f32[] parameter(0) }}\nENTRY e {{ p = pred[] parameter(0)  x = f32[] parameter(1)\n"
                    "ROOT r = f32[] conditional(p, x, x), true_computation=g, false_computation=k }}",
                    target));
    return CheckCustomCalls(**module, nullptr).message();
  };
  const std::string refused =
      "custom-call r: no function is registered for \"{}\"; none are registered (--custom-call and --kernel, or "
      "CustomCallRegistry, "
      "EvaluateOptions::custom_calls); known without one: {}";
  for (const char* target :
       {"lapack_dpotrf", "blas_ztrsm", "lapack_sggev_ffi", "lapack_cpotrf", "cusolver_potrf_ffi"}) {
    EXPECT_EQ(message(target),
              fmt::format(fmt::runtime(refused), target, LibraryCallNames()) +
                  " (lowered for another platform the program holds what is known here: "
                  "jax.jit(f).trace(*args).lower(lowering_platforms=(\"cpu\",)).as_text(dialect=\"hlo\") of a JAX from "
                  "2025 on)");
  }
  EXPECT_EQ(message("other"), fmt::format(fmt::runtime(refused), "other", LibraryCallNames()));
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
