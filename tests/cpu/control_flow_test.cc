// The evaluator itself: loops, branches, calls, tuples, observation, and what it refuses.
#include <map>

#include "core/text/hlo_parser.h"
#include "tests/cpu/cpu_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using enum ElementType;

const char kCountdown[] = R"(
below { s = (s32[], f32[2]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(10)
  ROOT r = pred[] compare(i, n), direction=LT }
step { s = (s32[], f32[2]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[2] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[2] add(x, x)
  ROOT r = (s32[], f32[2]) tuple(j, y) }
)";
const char kLoop[] =
    "i = s32[] parameter(0)\nx = f32[2] parameter(1)\ns = (s32[], f32[2]) tuple(i, x)\n"
    "ROOT w = (s32[], f32[2]) while(s), condition=below, body=step";

TEST(WhileTest, RunsUntilTheConditionFails) {
  const Literal r = RunText(Entry(kLoop, kCountdown), {Ints(kS32, {}, {0}), Array(kF32, {2}, {1, 3})});
  EXPECT_EQ(r.tuple_elements()[0].GetInt(0), 10);
  EXPECT_THAT(Doubles(r.tuple_elements()[1]), ElementsAre(1024, 3072));
  EXPECT_EQ(
      RunText(Entry(kLoop, kCountdown), {Ints(kS32, {}, {99}), Array(kF32, {2}, {1, 3})}).tuple_elements()[0].GetInt(0),
      99);
}

TEST(WhileTest, StopsAtTheIterationLimit) {
  EvaluateOptions options;
  options.max_loop_iterations = 10;
  EXPECT_TRUE(TryRun(Entry(kLoop, kCountdown), {Ints(kS32, {}, {0}), Array(kF32, {2}, {1, 3})}, options).ok());
  options.max_loop_iterations = 9;
  const Result<Literal> r = TryRun(Entry(kLoop, kCountdown), {Ints(kS32, {}, {0}), Array(kF32, {2}, {1, 3})}, options);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.status().code(), StatusCode::kMismatch);
  EXPECT_THAT(r.status().message(), HasSubstr("while: iteration limit 9 reached by w"));
}

TEST(ConditionalTest, AnIndexOutOfRangeTakesTheLastBranch) {
  const std::string branches =
      "a { p = s32[] parameter(0)\n ROOT r = s32[] negate(p) }\n"
      "b { p = s32[] parameter(0)\n ROOT r = s32[] add(p, p) }\n"
      "c { p = s32[] parameter(0)\n ROOT r = s32[] multiply(p, p) }\n";
  const std::string text = Entry(
      "i = s32[] parameter(0)\nx = s32[] constant(5)\nROOT r = s32[] conditional(i, x, x, x), "
      "branch_computations={a, b, c}",
      branches);
  for (const auto& [index, want] : std::map<int64_t, int64_t>{{0, -5}, {1, 10}, {2, 25}, {-1, 25}, {3, 25}}) {
    EXPECT_EQ(RunText(text, {Ints(kS32, {}, {index})}).GetInt(0), want) << index;
  }
  const std::string pred = Entry(
      "p = pred[] parameter(0)\nx = s32[] constant(5)\nROOT r = s32[] conditional(p, x, x), "
      "true_computation=a, false_computation=b",
      branches);
  EXPECT_EQ(RunText(pred, {Ints(kPred, {}, {1})}).GetInt(0), -5);
  EXPECT_EQ(RunText(pred, {Ints(kPred, {}, {0})}).GetInt(0), 10);
}

TEST(CallTest, CallsFusionsMapsAndBarriers) {
  const std::string computations =
      "f { a = f32[600] parameter(0)\n b = f32[600] parameter(1)\n s = f32[600] add(a, b)\n"
      " ROOT r = (f32[600], f32[600]) tuple(s, a) }\n"
      "m { a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = f32[] constant(2)\n d = f32[] multiply(a, c)\n"
      " ROOT r = f32[] subtract(d, b) }\n";
  const Literal a = Random(kF32, {600}, 1), b = Random(kF32, {600}, 2);
  const Literal r =
      RunText(Entry("a = f32[600] parameter(0)\nb = f32[600] parameter(1)\n"
                    "f = (f32[600], f32[600]) fusion(a, b), kind=kLoop, calls=f\n"
                    "s = f32[600] get-tuple-element(f), index=0\n"
                    "o = (f32[600], f32[600]) opt-barrier(f)\nt = f32[600] get-tuple-element(o), index=1\n"
                    "ROOT m = f32[600] map(s, t), dimensions={0}, to_apply=m",
                    computations),
              {a, b});
  for (int64_t i = 0; i < 600; ++i) {
    const float sum = static_cast<float>(a.GetDouble(i)) + static_cast<float>(b.GetDouble(i));
    EXPECT_EQ(r.GetDouble(i), 2 * sum - static_cast<float>(a.GetDouble(i)));
  }
}

TEST(EvaluatorTest, ObservesEveryInstructionOfTheEntry) {
  std::vector<std::string> names;
  EvaluateOptions options;
  options.observe = [&](const Instruction& instruction, const Literal& value) {
    EXPECT_TRUE(Compatible(instruction.shape(), value.shape()));
    names.push_back(instruction.name());
  };
  std::vector<std::string> started;
  options.starting = [&](const Instruction& instruction, size_t number, size_t count) {
    EXPECT_EQ(number, started.size());
    EXPECT_EQ(number, names.size());  // before its value is seen
    EXPECT_EQ(count, 4u);
    started.push_back(instruction.name());
  };
  RunText(Entry(kLoop, kCountdown), {Ints(kS32, {}, {0}), Array(kF32, {2}, {1, 3})}, options);
  EXPECT_THAT(names, ElementsAre("i", "x", "s", "w"));
  EXPECT_EQ(started, names);
}

TEST(EvaluatorTest, RefusesWrongArguments) {
  const std::string text = Entry("p = f32[2] parameter(0)\nROOT r = f32[2] negate(p)");
  EXPECT_THAT(TryRun(text, {}).status().message(), HasSubstr("0 arguments given to e, which takes 1"));
  EXPECT_THAT(TryRun(text, {Ints(kS32, {3}, {1, 2, 3})}).status().message(),
              HasSubstr("argument 0 is s32[3], but parameter 0 of e is f32[2]"));
}

TEST(EvaluatorTest, NamesTheOpItCannotEvaluate) {
  const Result<Literal> r =
      TryRun(Entry("p = f32[2] parameter(0)\nROOT r = f32[2] shuffle(p)"), {Random(kF32, {2}, 1)});
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(r.status().message(), HasSubstr("shuffle r: the CPU reference does not evaluate this op"));
  EXPECT_FALSE(HasEvaluation(Opcode::kShuffle));
  EXPECT_TRUE(HasEvaluation(Opcode::kScatter));
}

TEST(EvaluatorTest, RefusesElidedConstants) {
  const Result<Literal> r = TryRun(Entry("ROOT c = f32[3] constant({...})"), {});
  ASSERT_FALSE(r.ok());
  EXPECT_THAT(r.status().message(), HasSubstr("elided as {...}"));
}

TEST(EvaluatorTest, EvaluatesOneInstructionWithItsComputations) {
  const auto module = ParseHlo(
      Entry("p = f32[3] parameter(0)\nz = f32[] constant(0)\nROOT r = f32[] reduce(p, z), dimensions={0}, to_apply=f",
            "f { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT r = f32[] add(x, y) }\n"));
  ASSERT_TRUE(module.ok());
  const Literal x = Array(kF32, {3}, {1, 2, 3}), zero = Array(kF32, {}, {0});
  const Literal* operands[] = {&x, &zero};
  const Result<Literal> r = EvaluateInstruction(*(*module)->entry()->root(), operands);
  ASSERT_TRUE(r.ok());
  EXPECT_THAT(Doubles(*r), ElementsAre(6));
  EXPECT_FALSE(EvaluateInstruction(*(*module)->entry()->root(), {operands, 1}).ok());
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
