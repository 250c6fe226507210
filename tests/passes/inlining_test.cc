#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/builder/builder.h"
#include "core/ir/module_edits.h"
#include "core/passes/base/call_inliner.h"
#include "core/passes/base/control_flow.h"
#include "core/passes/base/cse.h"
#include "core/passes/base/pipeline.h"
#include "core/passes/base/verifier.h"

namespace VXLA_NAMESPACE {
namespace {

using enum ElementType;
using ::testing::ElementsAre;

std::vector<std::string> Ops(const Module& module) {
  std::vector<std::string> ops;
  for (const auto& instruction : module.entry()->instructions()) {
    ops.push_back(std::string(OpcodeText(instruction->opcode())) + " " + instruction->shape().ToString());
  }
  return ops;
}

void ExpectValid(const Module& module) {
  const Status status = Verify(module);
  EXPECT_TRUE(status.ok()) << status.message();
}

XlaComputation Square() {
  XlaBuilder builder("square");
  const XlaOp x = Parameter(&builder, 0, Shape(kF32, {3}));
  return *builder.Build(Mul(x, x));
}

TEST(InlineCallsTest, PutsTheBodyInPlaceOfTheCall) {
  XlaBuilder builder("main");
  const XlaOp x = Parameter(&builder, 0, Shape(kF32, {3}));
  Neg(Call(&builder, Square(), {Exp(x)}));
  auto module = builder.Build()->CloneModule();
  ASSERT_TRUE(*InlineCalls(*module));
  ExpectValid(*module);
  EXPECT_THAT(Ops(*module), ElementsAre("parameter f32[3]", "exponential f32[3]", "multiply f32[3]", "negate f32[3]"));
  EXPECT_EQ(module->computations().size(), 1u);
  EXPECT_FALSE(*InlineCalls(*module));
}

TEST(InlineCallsTest, InlinesCallsWithinCalls) {
  XlaBuilder inner("inner");
  Call(&inner, Square(), {Call(&inner, Square(), {Parameter(&inner, 0, Shape(kF32, {3}))})});
  XlaBuilder builder("main");
  Call(&builder, *inner.Build(), {Parameter(&builder, 0, Shape(kF32, {3}))});
  auto module = builder.Build()->CloneModule();
  ASSERT_TRUE(*InlineCalls(*module));
  ExpectValid(*module);
  EXPECT_THAT(Ops(*module), ElementsAre("parameter f32[3]", "multiply f32[3]", "multiply f32[3]"));
}

TEST(InlineCallsTest, ACallThatReturnsItsArgumentVanishes) {
  XlaBuilder identity("identity");
  Parameter(&identity, 0, Shape(kF32, {3}));
  XlaBuilder builder("main");
  Neg(Call(&builder, *identity.Build(), {Parameter(&builder, 0, Shape(kF32, {3}))}));
  auto module = builder.Build()->CloneModule();
  ASSERT_TRUE(*InlineCalls(*module));
  ExpectValid(*module);
  EXPECT_THAT(Ops(*module), ElementsAre("parameter f32[3]", "negate f32[3]"));
}

TEST(InlineCallsTest, ResolvesTheTuplesOfMultiOutputFusions) {
  Module module("fused");
  Computation* body = module.AddComputation("body");
  Instruction* p = body->Add(Opcode::kParameter, Shape(kF32, {5}));
  Instruction* a = body->Add(Opcode::kNegate, Shape(kF32, {5}), {p});
  Instruction* b = body->Add(Opcode::kExp, Shape(kF32, {5}), {p});
  const Shape both = Shape::Tuple({Shape(kF32, {5}), Shape(kF32, {5})});
  body->Add(Opcode::kTuple, both, {a, b});
  Computation* entry = module.AddComputation("main");
  Instruction* x = entry->Add(Opcode::kParameter, Shape(kF32, {5}));
  Instruction* fusion = entry->Add(Opcode::kFusion, both, {x}, FusionAttributes{}, {body});
  Instruction* first = entry->Add(Opcode::kGetTupleElement, Shape(kF32, {5}), {fusion}, GetTupleElementAttributes{0});
  Instruction* second = entry->Add(Opcode::kGetTupleElement, Shape(kF32, {5}), {fusion}, GetTupleElementAttributes{1});
  entry->Add(Opcode::kSubtract, Shape(kF32, {5}), {first, second});
  module.set_entry(entry);
  ExpectValid(module);
  ASSERT_TRUE(*InlineCalls(module));
  ExpectValid(module);
  EXPECT_THAT(Ops(module), ElementsAre("parameter f32[5]", "negate f32[5]", "exponential f32[5]", "subtract f32[5]"));
}

TEST(InlineCallsTest, MapBecomesOperationsOverArraysWithConstantsBroadcast) {
  XlaBuilder scalar("scalar");
  const XlaOp v = Parameter(&scalar, 0, Shape(kF32));
  Select(Gt(v, ConstantR0<float>(&scalar, 0)), v, Mul(v, Neg(ConstantR0<float>(&scalar, 2))));
  XlaBuilder builder("main");
  Map(&builder, {Parameter(&builder, 0, Shape(kF32, {2, 7}))}, *scalar.Build(), {0, 1});
  auto module = builder.Build()->CloneModule();
  ExpectValid(*module);
  ASSERT_TRUE(*InlineCalls(*module));
  ExpectValid(*module);
  for (const auto& instruction : module->entry()->instructions()) EXPECT_NE(instruction->opcode(), Opcode::kMap);
  EXPECT_EQ(module->entry()->root()->shape().ToString(), "f32[2,7]");
  EXPECT_EQ(module->entry()->root()->opcode(), Opcode::kSelect);
}

TEST(InlineCallsTest, MapOfAConstantBroadcastsIt) {
  XlaBuilder scalar("scalar");
  Parameter(&scalar, 0, Shape(kF32));
  ConstantR0<int32_t>(&scalar, 7);
  XlaBuilder builder("main");
  Map(&builder, {Parameter(&builder, 0, Shape(kF32, {0, 7}))}, *scalar.Build(), {0, 1});
  auto module = builder.Build()->CloneModule();
  ASSERT_TRUE(*InlineCalls(*module));
  ExpectValid(*module);
  EXPECT_THAT(Ops(*module), ElementsAre("parameter f32[0,7]", "constant s32[]", "broadcast s32[0,7]"));
}

TEST(InlineCallsTest, AMapThatNeedsArraysPerElementStays) {
  XlaBuilder add("add");
  Add(Parameter(&add, 0, Shape(kF32)), Parameter(&add, 1, Shape(kF32)));
  XlaBuilder scalar("scalar");
  const XlaOp many = Broadcast(Parameter(&scalar, 0, Shape(kF32)), {5});
  Reduce(many, ConstantR0<float>(&scalar, 0), *add.Build(), {0});
  XlaBuilder builder("main");
  Map(&builder, {Parameter(&builder, 0, Shape(kF32, {3}))}, *scalar.Build(), {0});
  auto module = builder.Build()->CloneModule();
  EXPECT_FALSE(*InlineCalls(*module));
  EXPECT_EQ(module->entry()->root()->opcode(), Opcode::kMap);
}

TEST(InlineCallsTest, KeepsTheLayoutThatABitcastOfAnArgumentReads) {
  Module module("layouts");
  Shape row_major(kF32, {2, 3}), column_major(kF32, {2, 3});
  row_major.set_layout(Layout{{1, 0}, {}});
  column_major.set_layout(Layout{{0, 1}, {}});
  Computation* body = module.AddComputation("body");
  body->Add(Opcode::kBitcast, Shape(kF32, {6}), {body->Add(Opcode::kParameter, column_major)});
  Computation* entry = module.AddComputation("main");
  entry->Add(Opcode::kCall, Shape(kF32, {6}), {entry->Add(Opcode::kParameter, row_major)}, CallAttributes{}, {body});
  module.set_entry(entry);
  ASSERT_TRUE(*InlineCalls(module));
  ExpectValid(module);
  EXPECT_THAT(Ops(module), ElementsAre("parameter f32[2,3]", "copy f32[2,3]", "bitcast f32[6]"));
  EXPECT_THAT(entry->root()->operand(0)->shape().MinorToMajor(), ElementsAre(0, 1));
}

TEST(InlineCallsTest, StopsAProgramThatDoublesItselfAtEachLevel) {
  Module module("bomb");
  Computation* previous = module.AddComputation("c");
  Instruction* p = previous->Add(Opcode::kParameter, Shape(kF32));
  previous->Add(Opcode::kNegate, Shape(kF32), {p});
  for (int i = 0; i < 40; ++i) {
    Computation* next = module.AddComputation("c");
    Instruction* x = next->Add(Opcode::kParameter, Shape(kF32));
    for (int k = 0; k < 8; ++k) x = next->Add(Opcode::kCall, Shape(kF32), {x}, CallAttributes{}, {previous});
    previous = next;
  }
  module.set_entry(previous);
  const Result<bool> result = InlineCalls(module);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), StatusCode::kResourceExhausted);
}

// Each level maps the one below, once or twice over the same value.
std::unique_ptr<Module> NestedMaps(int depth, bool twice) {
  auto module = std::make_unique<Module>("maps");
  const Shape scalar(kF32), array(kF32, {5});
  Computation* below = module->AddComputation("m");
  below->Add(Opcode::kNegate, scalar, {below->Add(Opcode::kParameter, scalar)});
  for (int level = 0; level < depth; ++level) {
    Computation* next = module->AddComputation("m");
    Instruction* x = next->Add(Opcode::kParameter, scalar);
    Instruction* a = next->Add(Opcode::kMap, scalar, {x}, DimensionsAttributes{}, {below});
    Instruction* b = twice ? next->Add(Opcode::kMap, scalar, {x}, DimensionsAttributes{}, {below}) : x;
    next->Add(Opcode::kAdd, scalar, {a, b});
    below = next;
  }
  Computation* entry = module->AddComputation("main");
  entry->Add(Opcode::kMap, array, {entry->Add(Opcode::kParameter, array)}, DimensionsAttributes{{0}}, {below});
  module->set_entry(entry);
  return module;
}

TEST(InlineCallsTest, NestedMapsTakeTimeThatGrowsWithTheResult) {
  auto module = NestedMaps(20'000, false);  // all levels together: 200 million instructions
  ASSERT_TRUE(*InlineCalls(*module));
  EXPECT_EQ(module->entry()->instructions().size(), 20'002u);
  EXPECT_EQ(module->entry()->root()->shape().ToString(), "f32[5]");
}

TEST(InlineCallsTest, MapsThatApplyEachOtherTwiceToOneValueDoNotDouble) {
  const auto module = NestedMaps(60, true);
  ExpectValid(*module);
  const auto optimized = Optimize(*module, {});
  ASSERT_TRUE(optimized.ok()) << optimized.status().message();
  ASSERT_EQ((*optimized)->entry()->root()->opcode(), Opcode::kFusion);
  EXPECT_EQ((*optimized)->entry()->root()->called(0)->instructions().size(), 62u);
}

TEST(MergeEqualBranchesTest, ConditionalsThatRunOneComputationEitherWayDoNotDouble) {
  Module module("conditionals");
  const Shape array(kF32, {5}), pred(kPred);
  Computation* below = module.AddComputation("c");
  below->Add(Opcode::kNegate, array, {below->Add(Opcode::kParameter, array)});
  for (int level = 0; level < 60; ++level) {
    Computation* next = module.AddComputation("c");
    Instruction* x = next->Add(Opcode::kParameter, array);
    Instruction* yes = next->Add(Opcode::kConstant, pred, {}, ConstantAttributes{std::make_shared<Literal>(pred)});
    Instruction* r =
        next->Add(Opcode::kConditional, array, {yes, x, x}, NoAttributes{}, std::vector<Computation*>{below, below});
    next->Add(Opcode::kExp, array, {r});
    below = next;
  }
  module.set_entry(below);
  ExpectValid(module);
  const auto optimized = Optimize(module, {});
  ASSERT_TRUE(optimized.ok()) << optimized.status().message();
  EXPECT_EQ((*optimized)->computations().size(), 2u);
  EXPECT_EQ((*optimized)->entry()->root()->called(0)->instructions().size(), 62u);
}

TEST(RemoveDeadCodeTest, KeepsParametersAndSideEffects) {
  XlaBuilder builder("main");
  const XlaOp x = Parameter(&builder, 0, Shape(kF32, {3}));
  Parameter(&builder, 1, Shape(kF32));
  CustomCall(&builder, "print", {x}, Shape::Tuple({}), "", /*has_side_effect=*/true);
  CustomCall(&builder, "pure", {x}, Shape::Tuple({}));
  Exp(x);
  auto module = builder.Build(Neg(x))->CloneModule();
  EXPECT_TRUE(RemoveDeadCode(*module));
  ExpectValid(*module);
  EXPECT_THAT(Ops(*module), ElementsAre("parameter f32[3]", "parameter f32[]", "custom-call ()", "negate f32[3]"));
  EXPECT_FALSE(RemoveDeadCode(*module));
}

TEST(CseTest, MergesEqualChainsAndConstantsByValue) {
  XlaBuilder builder("main");
  const XlaOp x = Parameter(&builder, 0, Shape(kF32, {3}));
  auto scaled_exp = [&](float scale) {
    const XlaOp power = Exp(x);
    return Mul(power, ConstantR0<float>(&builder, scale));
  };
  const XlaOp a = scaled_exp(2), b = scaled_exp(2), c = scaled_exp(3);
  Add(Add(a, b), c);
  auto module = builder.Build()->CloneModule();
  EXPECT_TRUE(EliminateCommonSubexpressions(*module));
  ExpectValid(*module);
  EXPECT_THAT(Ops(*module), ElementsAre("parameter f32[3]", "exponential f32[3]", "constant f32[]", "broadcast f32[3]",
                                        "multiply f32[3]", "constant f32[]", "broadcast f32[3]", "multiply f32[3]",
                                        "add f32[3]", "add f32[3]"));
  EXPECT_FALSE(EliminateCommonSubexpressions(*module));
}

TEST(CseTest, KeepsZeroOfEitherSignApart) {
  XlaBuilder builder("main");
  Div(ConstantR0<float>(&builder, 0.0f), ConstantR0<float>(&builder, -0.0f));
  auto module = builder.Build()->CloneModule();
  EXPECT_FALSE(EliminateCommonSubexpressions(*module));
}

TEST(CseTest, KeepsDifferentAttributesApart) {
  XlaBuilder builder("main");
  const XlaOp x = Parameter(&builder, 0, Shape(kF32, {3, 3}));
  Add(Rev(x, {0}), Rev(x, {1}));
  auto module = builder.Build()->CloneModule();
  EXPECT_FALSE(EliminateCommonSubexpressions(*module));
}

TEST(CseTest, MergesReductionsWithEqualComputationsOfOtherNames) {
  auto add = [](const char* name) {
    XlaBuilder builder(name);
    return *builder.Build(Add(Parameter(&builder, 0, Shape(kF32)), Parameter(&builder, 1, Shape(kF32))));
  };
  XlaBuilder builder("main");
  const XlaOp x = Parameter(&builder, 0, Shape(kF32, {3}));
  const XlaOp zero = ConstantR0<float>(&builder, 0);
  Mul(Reduce(x, zero, add("first"), {0}), Reduce(x, zero, add("second"), {0}));
  auto module = builder.Build()->CloneModule();
  EXPECT_TRUE(EliminateCommonSubexpressions(*module));
  ExpectValid(*module);
  EXPECT_THAT(Ops(*module), ElementsAre("parameter f32[3]", "constant f32[]", "reduce f32[]", "multiply f32[]"));
  EXPECT_EQ(module->computations().size(), 2u);
}

TEST(CseTest, NeverMergesRandomNumbersOrBarriers) {
  XlaBuilder builder("main");
  const XlaOp zero = ConstantR0<float>(&builder, 0);
  const XlaOp one = ConstantR0<float>(&builder, 1);
  const Shape shape(kF32, {5});
  const XlaOp x = Parameter(&builder, 0, shape);
  const XlaOp noise = Add(RngUniform(zero, one, shape), RngUniform(zero, one, shape));
  Add(noise, Sub(OptimizationBarrier(x), OptimizationBarrier(x)));
  auto module = builder.Build()->CloneModule();
  EXPECT_FALSE(EliminateCommonSubexpressions(*module));
}

TEST(SideEffectTest, OfNestedCallsIsFoundInLinearTime) {
  Module module("deep");
  Computation* previous = module.AddComputation("c");
  previous->Add(Opcode::kParameter, Shape(kF32));
  for (int i = 0; i < 100; ++i) {
    Computation* next = module.AddComputation("c");
    Instruction* x = next->Add(Opcode::kParameter, Shape(kF32));
    for (int k = 0; k < 2; ++k) x = next->Add(Opcode::kCall, Shape(kF32), {x}, CallAttributes{}, {previous});
    previous = next;
  }
  EXPECT_FALSE(HasSideEffect(*previous->root()));
}

}  // namespace
}  // namespace VXLA_NAMESPACE
