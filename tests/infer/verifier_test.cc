#include "core/passes/base/verifier.h"

#include "core/limits.h"
#include "core/text/hlo_parser.h"
#include "tests/infer/infer_test_support.h"

namespace VXLA_NAMESPACE {
namespace verifier_test {

const Shape kV = Shape(kF32, {3});

struct Program {
  Program() : module("program") {
    main = module.AddComputation("main");
    x = main->Add(Opcode::kParameter, kV, {}, ParameterAttributes{0}, {}, "x");
    module.set_entry(main);
  }
  std::string Check() {
    const Status status = Verify(module);
    return status.ok() ? "ok" : status.message();
  }
  Module module;
  Computation* main;
  Instruction* x;
};

TEST(VerifierTest, AcceptsAValidProgramWithLayoutsAndDynamicFlags) {
  Program p;
  Shape stated = kV;
  stated.set_layout(Layout{{0}, {}});
  stated.set_dynamic_dimension(0, true);
  p.main->Add(Opcode::kNegate, stated, {p.x});
  EXPECT_EQ(p.Check(), "ok");
}

TEST(VerifierTest, RejectsAStatedShapeThatIsNotTheInferredOneWithPlaceAndText) {
  Program p;
  Instruction* bad = p.main->Add(Opcode::kNegate, Shape(kF32, {5}), {p.x}, NoAttributes{}, {}, "bad");
  bad->set_location({7, 3});
  const Status status = Verify(p.module);
  EXPECT_EQ(status.message(),
            "negate: the stated shape f32[5] should be f32[3] (in f32[5] %bad = negate(%x), computation main)");
  EXPECT_EQ(status.location(), (SourceLocation{7, 3}));
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
}

TEST(VerifierTest, RejectsStartsOfRunsThatDoNotCountAllPlaces) {
  const auto parsed = ParseHlo(R"(HloModule m
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
ENTRY e { x = f32[4] parameter(0)  i = s32[4,1] parameter(1)  u = f32[4] parameter(2)
ROOT r = f32[4] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0},
  index_vector_dim=1, to_apply=add })");
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  Module& module = **parsed;
  module.entry()->root()->mutable_notes().run_starts = true;
  EXPECT_THAT(Verify(module).message(), HasSubstr("run_starts of s32[4,1], s32 of more than 4 needed"));  // runs_c1
}

TEST(VerifierTest, RejectsLayoutsThatAreNoPermutation) {
  Program p;
  Shape stated = kV;
  stated.set_layout(Layout{{1}, {}});
  p.main->Add(Opcode::kNegate, stated, {p.x});
  EXPECT_THAT(p.Check(), HasSubstr("layout {1} does not order the dimensions of f32[3]"));  // layout_c1
}

TEST(VerifierTest, RejectsParameterNumbersWithGaps) {
  Program p;
  p.main->Add(Opcode::kParameter, kV, {}, ParameterAttributes{2});
  EXPECT_EQ(p.Check(), "computation main has 2 parameters, and none has number 1");
}

TEST(VerifierTest, RejectsParameterNumbersThatOccurTwice) {
  Program p;
  p.main->Add(Opcode::kParameter, kV, {}, ParameterAttributes{0});
  EXPECT_THAT(p.Check(), HasSubstr("parameter: number 0 occurs twice"));
}

TEST(VerifierTest, RejectsUsesBeforeDefinitions) {
  Program p;
  Instruction* a = p.main->Add(Opcode::kNegate, kV, {p.x}, NoAttributes{}, {}, "a");
  Instruction* b = p.main->Add(Opcode::kNegate, kV, {a}, NoAttributes{}, {}, "b");
  a->ReplaceOperand(0, b);
  EXPECT_THAT(p.Check(), HasSubstr("negate: operand b does not come first"));  // order_c2
}

TEST(VerifierTest, RejectsControlPredecessorsThatComeLater) {
  Program p;
  Instruction* a = p.main->Add(Opcode::kNegate, kV, {p.x}, NoAttributes{}, {}, "a");
  Instruction* b = p.main->Add(Opcode::kNegate, kV, {p.x}, NoAttributes{}, {}, "b");
  b->AddControlPredecessor(a);
  EXPECT_EQ(p.Check(), "ok");
  a->AddControlPredecessor(b);
  EXPECT_THAT(p.Check(), HasSubstr("negate: control predecessor b does not come first"));
}

TEST(VerifierTest, RejectsOperandsOfAnotherComputation) {
  Program p;
  Computation* other = p.module.AddComputation("other");
  other->Add(Opcode::kNegate, kV, {p.x});
  EXPECT_THAT(p.Check(), HasSubstr("negate: operand x is of another computation"));  // order_c1
}

TEST(VerifierTest, RejectsCallsOfComputationsThatComeLater) {
  Program p;
  Computation* later = p.module.AddComputation("later");
  later->Add(Opcode::kParameter, kV);
  p.main->Add(Opcode::kCall, kV, {p.x}, CallAttributes{}, {later});
  EXPECT_THAT(p.Check(), HasSubstr("call: computation later is not defined before its caller"));  // order_c3
}

TEST(VerifierTest, RejectsACallOfItself) {
  Program p;
  p.main->Add(Opcode::kCall, kV, {p.x}, CallAttributes{}, {p.main});
  EXPECT_THAT(p.Check(), HasSubstr("call: computation main is not defined before its caller"));
}

// order_c4
TEST(VerifierTest, RejectsCallsThatNestTooDeep) {
  for (const int levels : {kMaxCallDepth, kMaxCallDepth + 1, 20000}) {
    Module module("m");
    Computation* callee = nullptr;
    for (int level = 0; level <= levels; ++level) {
      Computation* caller = module.AddComputation("c");
      Instruction* x = caller->Add(Opcode::kParameter, kV, {}, ParameterAttributes{0});
      caller->set_root(callee == nullptr ? x : caller->Add(Opcode::kCall, kV, {x}, CallAttributes{}, {callee}));
      callee = caller;
    }
    module.set_entry(callee);
    const std::string message = Verify(module).message();
    EXPECT_EQ(message,
              levels == kMaxCallDepth ? "" : "call call: computations call one another more than 500 levels deep");
  }
}

TEST(VerifierTest, RejectsCalledComputationsOfOpsThatCallNone) {
  Module module("m");
  Computation* callee = module.AddComputation("callee");
  callee->Add(Opcode::kParameter, kV);
  Computation* main = module.AddComputation("main");
  Instruction* x = main->Add(Opcode::kParameter, kV);
  main->Add(Opcode::kNegate, kV, {x}, NoAttributes{}, {callee});
  module.set_entry(main);
  EXPECT_THAT(Verify(module).message(), HasSubstr("negate: calls computation callee, and may call none"));  // called_c2
}

// called_c3. Fused and mapped computations alike, and computations that those call.
TEST(VerifierTest, RejectsEffectsAndPlacesInComputationsAppliedToElements) {
  const char* bodies[] = {
      "ROOT s = f32[] rng(a, b), distribution=rng_uniform",
      "i = u32[] replica-id()\n ROOT s = f32[] convert(i)",
      "i = u32[] partition-id()\n ROOT s = f32[] convert(i)",
      "ROOT s = f32[] custom-call(a, b), custom_call_target=\"f\"",
      "ROOT s = f32[] all-reduce(a), replica_groups={}, to_apply=add",
      "t = token[] after-all()\n i = (f32[], token[]) infeed(t)\n ROOT s = f32[] get-tuple-element(i), index=0",
      "ROOT s = f32[] call(a, b), to_apply=deep",
  };
  const char* calls[] = {
      "f32[3] map(x, x), dimensions={0}, to_apply=f",
      "f32[] reduce(x, z), dimensions={0}, to_apply=f",
      "f32[2] reduce-window(x, z), window={size=2}, to_apply=f",
      "f32[3] select-and-scatter(x, y, z), window={size=2}, select=ge, scatter=f",
      "f32[3] all-reduce(x), replica_groups={}, to_apply=f",
      ("f32[3] scatter(x, k, w), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
       "index_vector_dim=1, to_apply=f"),
  };
  for (const std::string body : bodies) {
    for (const std::string call : calls) {
      const auto module = ParseHlo(
          "HloModule m\nadd { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b) }\n"
          "ge { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = pred[] compare(a, b), direction=GE }\n"
          "deep { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] rng(a, b), distribution=rng_uniform "
          "}\n"
          "f { a = f32[] parameter(0)\n b = f32[] parameter(1)\n " +
          body +
          " }\n"
          "ENTRY e { x = f32[3] parameter(0)\n y = f32[2] parameter(1)\n z = f32[] parameter(2)\n k = s32[1] "
          "parameter(3)\n"
          " w = f32[1] parameter(4)\n ROOT r = " +
          call + " }");
      ASSERT_TRUE(module.ok()) << module.status().message();
      const Status status = Verify(**module);
      EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << body << call;
      EXPECT_THAT(status.message(), HasSubstr(": not inside a computation that is applied element by element (in "))
          << body << call;
      EXPECT_THAT(status.message(), HasSubstr("%r = ")) << body << call;
    }
  }
}

TEST(VerifierTest, RejectsModulesWithoutEntryOrRoot) {
  Module module("m");
  EXPECT_EQ(Verify(module).message(), "module m has no entry computation");  // module_c2
  module.set_entry(module.AddComputation("main"));
  EXPECT_EQ(Verify(module).message(), "computation main has no root");  // module_c3
}

TEST(VerifierTest, RejectsReplicaCountsBelowOne) {
  Program p;
  p.module.mutable_attributes().replica_count = 0;
  EXPECT_EQ(p.Check(), "replica_count 0 and num_partitions 1 must be positive");  // module_c1
}

TEST(VerifierTest, ChecksTheEntryLayout) {
  Program p;
  auto& layout = p.module.mutable_attributes().entry_computation_layout;
  layout = {{kV}, kV};
  EXPECT_EQ(p.Check(), "ok");
  layout = {{}, kV};
  EXPECT_EQ(p.Check(), "entry_computation_layout has 0 parameters, main has 1");  // entry_layout_c1
  layout = {{Shape(kF32)}, kV};
  EXPECT_EQ(p.Check(), "entry_computation_layout: parameter 0 is f32[], main has f32[3]");  // entry_layout_c2
  layout = {{kV}, Shape(kF32)};
  EXPECT_EQ(p.Check(), "entry_computation_layout: the result is f32[], main returns f32[3]");  // entry_layout_c3
}

TEST(VerifierTest, ChecksAliases) {
  Program p;
  p.main->Add(Opcode::kTuple, Shape::Tuple({kV, kV}), {p.x, p.x});
  auto& aliases = p.module.mutable_attributes().input_output_alias;
  auto set = [&](std::vector<Aliasing> value) { aliases = std::move(value); };
  set({{.output_index = {0}, .operand = 0, .operand_index = {}, .kind = "may-alias"}});
  EXPECT_EQ(p.Check(), "ok");
  set({{.output_index = {2}, .operand = 0, .operand_index = {}, .kind = {}}});
  EXPECT_EQ(p.Check(), "input_output_alias: result (f32[3], f32[3]) has no part {2}");  // input_output_alias_c3
  set({{.output_index = {0}, .operand = 1, .operand_index = {}, .kind = {}}});
  EXPECT_EQ(p.Check(), "input_output_alias: parameter 1 of 1");  // input_output_alias_c1
  set({{.output_index = {0}, .operand = 0, .operand_index = {0}, .kind = {}}});
  EXPECT_EQ(p.Check(), "input_output_alias: parameter 0 f32[3] has no part {0}");  // input_output_alias_c2
  set({{.output_index = {}, .operand = 0, .operand_index = {}, .kind = {}}});
  EXPECT_EQ(p.Check(),
            "input_output_alias: result {} is (f32[3], f32[3]), parameter 0 is f32[3]");  // input_output_alias_c4
  set({{.output_index = {0}, .operand = 0, .operand_index = {}, .kind = {}},
       {.output_index = {0}, .operand = 0, .operand_index = {}, .kind = {}}});
  EXPECT_EQ(p.Check(), "input_output_alias: result {0} occurs twice");  // input_output_alias_c5
  set({{.output_index = {0}, .operand = 0, .operand_index = {}, .kind = {}},
       {.output_index = {1}, .operand = 0, .operand_index = {}, .kind = {}}});
  EXPECT_EQ(p.Check(), "input_output_alias: parameter 0 {} occurs twice");  // input_output_alias_c6
  set({});
  p.module.mutable_attributes().buffer_donor = {{3, {}}};
  EXPECT_EQ(p.Check(), "buffer_donor: parameter 3 of 1");
}

TEST(BuilderTest, KeepsTheFirstErrorAndReturnsItFromBuild) {
  XlaBuilder builder("broken");
  const XlaOp x = Parameter(&builder, 0, kV);
  const XlaOp bad = Slice(x, {0}, {4});
  EXPECT_FALSE(bad.valid());
  EXPECT_FALSE(Neg(bad).valid());
  Exp(Parameter(&builder, 0, kV));
  EXPECT_EQ(builder.Build().status().message(), "slice: limit 4 exceeds dimension 0 of f32[3]");
}

TEST(BuilderTest, RejectsOpsOfOtherBuildersAndEmptyOps) {
  XlaBuilder a("a"), b("b");
  const XlaOp x = Parameter(&a, 0, kV);
  const XlaOp y = Parameter(&b, 0, kV);
  EXPECT_EQ(ShapeOrError(Add(x, y)), "operand 1 is no op of builder a");
  EXPECT_EQ(ShapeOrError(Add(y, XlaOp())), "operand 1 is no op of builder b");
  EXPECT_FALSE(Neg(XlaOp()).valid());
}

TEST(BuilderTest, RejectsParameterNumbersTwiceOrOutOfRange) {
  XlaBuilder a("a"), b("b"), c("c");
  Parameter(&a, 0, kV);
  EXPECT_EQ(ShapeOrError(Parameter(&a, 0, kV)), "parameter: number 0 occurs twice");
  EXPECT_EQ(ShapeOrError(Parameter(&b, -1, kV)), "parameter: number -1 is not in 0 to 1048575");
  Parameter(&c, 1, kV);
  EXPECT_EQ(c.Build().status().message(), "c: no parameter has number 0");
}

TEST(BuilderTest, RejectsAnEmptyComputation) {
  XlaBuilder builder("empty");
  EXPECT_EQ(builder.Build().status().message(), "empty: a computation without ops");
}

TEST(BuilderTest, ImportsAComputationOnceAndPutsCalleesFirst) {
  XlaBuilder builder("main");
  const XlaComputation add = ScalarComputation(kF32);
  const XlaOp x = Parameter(&builder, 0, Shape(kF32, {2, 3}));
  const XlaOp zero = ConstantR0<float>(&builder, 0);
  const XlaOp rows = Reduce(x, zero, add, {1});
  Add(rows, Reduce(Transpose(x, {1, 0}), zero, add, {0}));
  const XlaComputation built = *builder.Build();
  EXPECT_EQ(built.module().computations().size(), 2u);
  EXPECT_EQ(built.module().entry(), built.module().computations().back().get());
  EXPECT_TRUE(Verify(built.module()).ok());
}

TEST(BuilderTest, ImportsComputationsThatCallOthers) {
  XlaBuilder inner("inner");
  const XlaOp v = Parameter(&inner, 0, Shape(kF32, {5}));
  Reduce(v, ConstantR0<float>(&inner, 0), ScalarComputation(kF32), {0});
  XlaBuilder builder("main");
  const XlaOp x = Parameter(&builder, 0, Shape(kF32, {5}));
  Call(&builder, *inner.Build(), {x});
  const XlaComputation built = *builder.Build();
  EXPECT_TRUE(Verify(built.module()).ok());
  EXPECT_EQ(built.module().computations().size(), 3u);
}

TEST(BuilderTest, TakesAnyOpAsTheRoot) {
  XlaBuilder builder("main");
  const XlaOp x = Parameter(&builder, 0, kV);
  const XlaOp y = Neg(x);
  Exp(y);
  EXPECT_EQ(builder.Build(y)->module().entry()->root()->opcode(), Opcode::kNegate);
}

}  // namespace verifier_test
}  // namespace VXLA_NAMESPACE
