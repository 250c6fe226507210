// Each production of HLO text that the opcode programs do not already hold.
#include <gmock/gmock.h>

#include <ctime>

#include "core/text/lexer.h"
#include "tests/text/text_test_support.h"

namespace VXLA_NAMESPACE {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string StatedShape(std::string_view shape) {
  const auto module = RoundTrip(Entry(fmt::format("ROOT r = {} parameter(0)", shape)));
  return module == nullptr ? "" : module->entry()->root()->shape().ToString(/*with_layout=*/true);
}

TEST(LexerTest, TokenKinds) {
  Lexer lexer("name %other label: attribute= -12 1.5e-3 -inf \"a\\\"b\" 'c' -> <= ... {");
  const std::pair<TokenKind, std::string_view> expected[] = {
      {TokenKind::kIdentifier, "name"}, {TokenKind::kName, "other"},
      {TokenKind::kLabel, "label"},     {TokenKind::kAttribute, "attribute"},
      {TokenKind::kInt, "-12"},         {TokenKind::kDecimal, "1.5e-3"},
      {TokenKind::kIdentifier, "-inf"}, {TokenKind::kString, "\"a\\\"b\""},
      {TokenKind::kString, "'c'"},      {TokenKind::kPunctuation, "->"},
      {TokenKind::kPunctuation, "<="},  {TokenKind::kPunctuation, "..."},
      {TokenKind::kPunctuation, "{"},   {TokenKind::kEnd, ""}};
  for (const auto& [kind, text] : expected) {
    EXPECT_EQ(lexer.token().kind, kind) << text;
    EXPECT_EQ(lexer.token().text, text);
    lexer.Next();
  }
}

TEST(LexerTest, CommentsAndLinesCount) {
  Lexer lexer("// first\n/* second\n */ a\n\t b");
  EXPECT_EQ(lexer.token().location, (SourceLocation{3, 5}));
  lexer.Next();
  EXPECT_EQ(lexer.token().location, (SourceLocation{4, 3}));
}

TEST(LexerTest, CommentsEndWithTheLinesOfAnySystem) {
  for (const std::string_view end : {"\n", "\r\n", "\r"}) {
    const std::string text = fmt::format("a // b{0}c", end);
    Lexer lexer(text);
    lexer.Next();
    EXPECT_EQ(lexer.token().text, "c") << text;
  }
}

TEST(LexerTest, QuotingRoundTrips) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  const Result<std::string> back = Unquote(Quote(all));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, all);
  EXPECT_EQ(*Unquote(R"('\x41\102\a')"), "AB\a");
}

TEST(ModuleTextTest, HeaderIsOptional) {
  const auto module = RoundTrip("ENTRY main { ROOT a = f32[] parameter(0) }");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->name(), "main");
  ASSERT_NE(RoundTrip("f { a = f32[] parameter(0) }\n%g { b = s32[] parameter(0) }"), nullptr);
}

TEST(ModuleTextTest, AColonMayFollowTheName) {
  const auto module = RoundTrip("HloModule some.name:\nENTRY main { ROOT a = f32[] parameter(0) }");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->name(), "some.name");
}

TEST(ModuleTextTest, LastComputationIsTheEntryAndLastInstructionTheRoot) {
  const auto module =
      RoundTrip("HloModule m\nf { a = f32[] parameter(0)\n b = f32[] negate(a) }\ng { c = f32[] parameter(0) }");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->entry()->name(), "g");
  EXPECT_EQ(module->computations()[0]->root()->name(), "b");
}

TEST(ModuleTextTest, RootNeedNotBeLast) {
  const auto module = RoundTrip("HloModule m\nENTRY g { ROOT a = f32[] parameter(0)\n b = f32[] negate(a) }");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->entry()->root()->name(), "a");
}

TEST(ModuleTextTest, EveryHeaderAttribute) {
  const auto module = RoundTrip(R"(HloModule jit_f.1, is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias),
      {1}: (1, {2,0}, must-alias) }, buffer_donor={ (1, {}), (0, {3}) }, alias_passthrough_params=true,
      entry_computation_layout={(f32[2]{0}, /*index=1*/ (s32[], (f32[3]{0:T(128)})))->f32[2]{0}},
      allow_spmd_sharding_propagation_to_parameters={true,false}, allow_spmd_sharding_propagation_to_output=true,
      frontend_attributes={a="x=1",b={"k": [1, 2]}}, origin_recovery_table={{"a"} : {"b"}}, replica_count=3, num_partitions=5

ENTRY main { p = f32[2]{0} parameter(0)
  q = (s32[], (f32[3]{0})) parameter(1)
  ROOT r = f32[2]{0} copy(p) })");
  ASSERT_NE(module, nullptr);
  const ModuleAttributes& a = module->attributes();
  EXPECT_EQ(module->name(), "jit_f.1");
  EXPECT_TRUE(a.is_scheduled);
  EXPECT_EQ(a.replica_count, 3);
  EXPECT_EQ(a.num_partitions, 5);
  ASSERT_EQ(a.input_output_alias.size(), 2u);
  EXPECT_EQ(a.input_output_alias[1].kind, "must-alias");
  EXPECT_EQ(a.input_output_alias[1].operand_index, (IntList{2, 0}));
  ASSERT_EQ(a.buffer_donor.size(), 2u);
  EXPECT_EQ(a.buffer_donor[1].second, (IntList{3}));
  EXPECT_EQ(a.frontend_attributes.text, R"({a="x=1",b={"k": [1, 2]}})");
  EXPECT_EQ(a.others.size(), 4u);
  ASSERT_TRUE(a.entry_computation_layout.has_value());
  EXPECT_EQ(a.entry_computation_layout->first[1].ToString(true), "(s32[], (f32[3]{0:T(128)}))");
}

TEST(ModuleTextTest, StackFrameTables) {
  const auto module = RoundTrip(R"(HloModule m

FileNames
1 "/home/a.py"
2 "b\"c.py"

FunctionNames
1 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=3 end_line=3 column=5 end_column=8}

StackFrames
1 {file_location_id=1 parent_frame_id=1}

ENTRY main { ROOT a = f32[] parameter(0), metadata={op_name="x" stack_frame_id=1} })");
  ASSERT_NE(module, nullptr);
  EXPECT_THAT(module->attributes().stack_frames.text, HasSubstr("2 \"b\\\"c.py\"\n\nFunctionNames\n1 \"f\""));
}

TEST(ModuleTextTest, ExecutionThread) {
  const auto module = RoundTrip(
      "HloModule m\nf { a = f32[] parameter(0) }, execution_thread=\"side\"\nENTRY g { b = f32[] parameter(0) }");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->computations()[0]->execution_thread(), "side");
}

TEST(ModuleTextTest, PrintedFormWithPercentSignsSignaturesAndOperandShapes) {
  const auto module = RoundTrip(R"(HloModule %m
%add (x: f32[], y.1: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y.1 = f32[] parameter(1)
  ROOT %sum = f32[] add(f32[] %x, f32[] %y.1)
}
ENTRY %main (%p: (f32[2,3]{1,0}, s32[])) -> f32[2] {
  %p = (f32[2,3]{1,0}, s32[]) parameter(0)
  %g = f32[2,3]{1,0} get-tuple-element((f32[2,3]{1,0}, /*index=1*/s32[]) %p), index=0
  %z = f32[]constant(0)
  ROOT %r=f32[2]{0} reduce(f32[2,3]{1,0} %g, f32[] %z), dimensions={1}, to_apply=%add
})");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->entry()->root()->called(0)->name(), "add");
}

TEST(ModuleTextTest, NamesThatLookLikeWordsKeepThePercentSign) {
  const auto module = RoundTrip(
      "HloModule m\nENTRY %ENTRY { %f32 = f32[] parameter(0)\n %ROOT = f32[] negate(%f32)\n"
      " %b = f32[] negate(%ROOT)\n %0 = f32[] negate(%b)\n ROOT %tuple = (f32[]) tuple(%0) }");
  ASSERT_NE(module, nullptr);
  EXPECT_THAT(PrintHlo(*module), HasSubstr("%f32 = f32[] parameter(0)"));
  EXPECT_THAT(PrintHlo(*module), HasSubstr("ROOT tuple = (f32[]) tuple(%0)"));
}

TEST(ModuleTextTest, PrintsWhatXlaPrints) {
  const std::string text =
      R"(HloModule jit_f, is_scheduled=true, entry_computation_layout={(f32[2,3]{1,0}, s32[])->f32[2]{0}}, num_partitions=2

region_0 {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT max = f32[] maximum(a, b)
}

ENTRY main.1 {
  x = f32[2,3]{1,0} parameter(0), sharding={devices=[2,1]<=[2]}
  n = s32[] parameter(1)
  lowest = f32[] constant(-inf)
  ROOT r = f32[2]{0} reduce(x, lowest), dimensions={1}, to_apply=region_0, control-predecessors={n}, metadata={op_name="jit(f)/max"}
}

)";
  const auto module = RoundTrip(text);
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(PrintHlo(*module), text);
}

TEST(ModuleTextTest, CalleesArePrintedFirst) {
  Module module("m");
  Computation* entry = module.AddComputation("main");
  module.set_entry(entry);
  Computation* callee = module.AddComputation("f");
  callee->Add(Opcode::kParameter, Shape(ElementType::kF32), {}, ParameterAttributes{0}, {}, "a");
  Instruction* p = entry->Add(Opcode::kParameter, Shape(ElementType::kF32), {}, ParameterAttributes{0}, {}, "p");
  entry->Add(Opcode::kCall, Shape(ElementType::kF32), {p}, CallAttributes{}, {callee}, "c");
  const auto parsed = ParseHlo(PrintHlo(module));
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ((*parsed)->computations()[0]->name(), "f");
  EXPECT_EQ((*parsed)->entry()->name(), "main");
}

TEST(ShapeTextTest, EveryElementType) {
  for (int i = 0; i < kElementTypeCount; ++i) {
    const auto type = static_cast<ElementType>(i);
    if (type == ElementType::kTuple) continue;
    const std::string shape = fmt::format("{}[{}]", ElementTypeName(type), IsArrayElement(type) ? "2,0" : "");
    EXPECT_EQ(StatedShape(shape), shape);
  }
}

TEST(ShapeTextTest, TuplesBuffersAndDynamicDimensions) {
  EXPECT_EQ(StatedShape("()"), "()");
  EXPECT_EQ(StatedShape("(f32[2], (s32[], /*index=1*/ token[]))"), "(f32[2], (s32[], token[]))");
  EXPECT_EQ(StatedShape("f32[<=5, 3, ?]"), "f32[<=5,3,?]");
  EXPECT_EQ(StatedShape("b(f32[2,3]{1,0})"), "b(f32[2,3]{1,0})");
  EXPECT_EQ(StatedShape("(b(s8[4]), u32[])"), "(b(s8[4]), u32[])");
}

TEST(ShapeTextTest, TiledLayouts) {
  EXPECT_EQ(StatedShape("bf16[7,16]{0, 1:T(8,128)(2,1)S(1)}"), "bf16[7,16]{0,1:T(8,128)(2,1)S(1)}");
  EXPECT_EQ(StatedShape("s4[8]{0:E(4)}"), "s4[8]{0:E(4)}");
  EXPECT_EQ(StatedShape("f32[]{:T(128)}"), "f32[]{:T(128)}");
  EXPECT_EQ(StatedShape("f32[4]{0:D(C)T(128)L(2)#(u8)*(u32)E(32)S(5)SC(0:64)(1:4,5)P((u32[1], f32[2]{0}))M(16)}"),
            "f32[4]{0:D(C)T(128)L(2)#(u8)*(u32)E(32)S(5)SC(0:64)(1:4,5)P((u32[1],f32[2]{0}))M(16)}");
}

TEST(ShapeTextTest, LongTuplesCountTheirElements) {
  const auto module = RoundTrip(
      Entry("ROOT r = (f32[], f32[], f32[], f32[], f32[], f32[], f32[], f32[], f32[], f32[], s8[]) parameter(0)"));
  ASSERT_NE(module, nullptr);
  EXPECT_THAT(PrintHlo(*module), HasSubstr("f32[], /*index=5*/f32[], f32[], f32[], f32[], f32[], /*index=10*/s8[])"));
}

TEST(InstructionTextTest, CommonAttributesAreKeptAsWritten) {
  const auto module = RoundTrip(Entry(
      "a = f32[] parameter(0), sharding={devices=[2,2]<=[4] last_tile_dim_replicate}, "
      "frontend_attributes={xla.sdy.x=\"{}\",y={\"z\":1}},\n"
      "   statistics={visualizing_index=0,stat-1=33}, parameter_replication={true,false}, origin={{\"a\" {0}}}\n"
      "b = f32[] negate(a), metadata={op_type=\"neg\" op_name=\"it's } fine\", source_file=\"a.py\" source_line=3},\n"
      "   backend_config=\"{\\\"k\\\": 1}\", control-predecessors={a}\n"
      "ROOT c = f32[] negate(b), backend_config={\"known\":{\"n\":\"7\"}, \n  \"s\":[]}, control-predecessors={%a, "
      "b}"));
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(Find(*module, "a")->common().frontend_attributes.text, "{xla.sdy.x=\"{}\",y={\"z\":1}}");
  EXPECT_EQ(Find(*module, "b")->common().metadata.text,
            "{op_type=\"neg\" op_name=\"it's } fine\", source_file=\"a.py\" source_line=3}");
  EXPECT_EQ(Find(*module, "b")->common().backend_config.text, "\"{\\\"k\\\": 1}\"");
  EXPECT_EQ(Find(*module, "c")->common().backend_config.text, "{\"known\":{\"n\":\"7\"}, \"s\":[]}");
  EXPECT_THAT(Find(*module, "c")->control_predecessors(), ElementsAre(Find(*module, "a"), Find(*module, "b")));
}

TEST(InstructionTextTest, EveryKindOfSharding) {
  for (const std::string_view sharding :
       {"{replicated}", "{maximal device=0}", "{manual}", "{unknown}", "{unreduced}", "{devices=[2,1]0,1}",
        "{devices=[2,2]<=[4] last_tile_dims={manual, replicated}}", "{devices=[2,1]<=[2] shard_as 1}",
        "{{replicated}, {devices=[2]<=[2]}}", "{mesh['x'=2], [{x},{}]}"}) {
    const auto module = RoundTrip(Entry(fmt::format("ROOT a = f32[] parameter(0), sharding={}", sharding)));
    ASSERT_NE(module, nullptr);
    EXPECT_EQ(module->entry()->root()->common().sharding.text, sharding);
  }
}

TEST(InstructionTextTest, NestedOperands) {
  const auto module =
      RoundTrip(Entry("ROOT add = f32[2] add(f32[2] multiply(f32[2] parameter(0), f32[2] constant({1, 2})),\n"
                      " negate(f32[2] parameter(1)))"));
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->entry()->instructions().size(), 6u);
  EXPECT_EQ(module->entry()->root()->operand(0)->name(), "multiply");
  EXPECT_EQ(module->entry()->root()->operand(1)->shape().ToString(), "f32[2]");
}

TEST(InstructionTextTest, ElementsByNumber) {
  const std::unique_ptr<Module> module =
      RoundTrip(Entry("p = (f32[2], (s32[], f32[3])) parameter(0)\n q = f32[2] parameter(1)\n"
                      " get-tuple-element = f32[2] multiply(%p#0, f32[2] q), control-predecessors={%p#1}\n"
                      " n = f32[2] add(f32[2] p#0, negate(get-tuple-element))\n"
                      " ROOT r = (f32[3], f32[2]) tuple(%p#1#1, n)"));
  ASSERT_NE(module, nullptr);
  const Instruction& root = *module->entry()->root();
  EXPECT_EQ(root.operand(0)->shape().ToString(), "f32[3]");
  const Instruction& add = *root.operand(1);
  const Instruction& product = *add.operand(1)->operand(0);
  EXPECT_EQ(add.operand(0), product.operand(0)) << "one get-tuple-element for each element";
  EXPECT_EQ(add.operand(0)->opcode(), Opcode::kGetTupleElement);
  EXPECT_EQ(product.name(), "get-tuple-element");
  EXPECT_EQ(product.control_predecessors()[0], root.operand(0)->operand(0));

  EXPECT_EQ(ParseError(Entry("p = (f32[2], s32[]) parameter(0)\n ROOT r = s32[] negate(p#2)")),
            "4:25: get-tuple-element: index 2 is not in 0 to 1 of (f32[2], s32[])");
  EXPECT_EQ(ParseError(Entry("p = f32[2] parameter(0)\n ROOT r = f32[] negate(p#0)")),
            "4:25: get-tuple-element: operand 0 is f32[2], not a tuple");
  EXPECT_EQ(ParseError(Entry("p = (f32[2]) parameter(0)\n ROOT r = f32[2] negate(p#x)")),
            "4:27: expected the index of an element, found 'x'");
}

TEST(InstructionTextTest, OneInstructionIsAModuleWhoseOperandsAreParameters) {
  auto module =
      RoundTrip("ROOT %m = f32[2,3]{1,0} multiply(f32[2,3]{1,0} %x, f32[2,3]{1,0} %y.1), metadata={op_name=\"m\"}");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->entry()->root()->name(), "m");
  EXPECT_THAT(module->entry()->parameters(), ElementsAre(Find(*module, "x"), Find(*module, "y.1")));
  module = RoundTrip("m = f32[2] multiply(f32[2] x, f32[2] x)");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->entry()->parameters().size(), 1u);
  module = RoundTrip(
      "f32[4] reduce(f32[4,5], f32[] constant(0)), dimensions={1}, to_apply={\n"
      " a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->entry()->root()->opcode(), Opcode::kReduce);
  EXPECT_EQ(module->entry()->parameters().size(), 1u);
  module = RoundTrip("(s32[], f32[2]) tuple(s32[], f32[2])");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->entry()->parameters().size(), 2u);

  EXPECT_EQ(ParseError("m = f32[2] negate(x)"),
            "1:19: 'x' is not defined before its use: operands of one instruction alone state their shapes");
  EXPECT_EQ(ParseError("m = f32[2] negate(f32[2] x)\nn = f32[2] negate(m)"),
            "2:1: expected the end of the one instruction, found 'n'");
  EXPECT_EQ(ParseError("f32[2] call(f32[2] x), to_apply={ ROOT r = f32[2] negate(f32[2] y) }"),
            "1:65: 'y' is not defined before its use");
}

TEST(InstructionTextTest, NestedOperandsGiveWayToWrittenNames) {
  const auto module =
      RoundTrip(Entry("a = f32[] parameter(0)\n b = f32[] negate(f32[] abs(a))\n ROOT abs = f32[] abs(b)"));
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->entry()->root()->name(), "abs");
  EXPECT_EQ(Find(*module, "b")->operand(0)->name(), "abs.1");
}

TEST(InstructionTextTest, InlineBodies) {
  const auto module = RoundTrip(Entry(
      "a = f32[3] parameter(0)\n z = f32[] constant(0)\n ROOT r = f32[] reduce(a, z), dimensions={0}, to_apply={\n"
      " z = f32[] parameter(1)\n y = f32[] parameter(0)\n ROOT s = f32[] add(y, z) }"));
  ASSERT_NE(module, nullptr);
  ASSERT_EQ(module->computations().size(), 2u);
  EXPECT_EQ(module->computations()[0]->name(), "region");
  EXPECT_EQ(module->entry()->root()->called(0), module->computations()[0].get());
}

TEST(InstructionTextTest, BranchesOfAnIndexOrAPred) {
  const std::string_view computations =
      "HloModule m\nf { a = f32[] parameter(0) }\ng { a = f32[] parameter(0) }\nENTRY main {\n";
  const auto listed =
      RoundTrip(fmt::format("{}p = pred[] parameter(0)\n a = f32[] parameter(1)\n ROOT c = f32[] "
                            "conditional(p, a, a), branch_computations={{f, %g}}\n}}",
                            computations));
  ASSERT_NE(listed, nullptr);
  EXPECT_THAT(PrintHlo(*listed), HasSubstr("true_computation=f, false_computation=g"));
  const auto indexed =
      RoundTrip(fmt::format("{}p = s32[] parameter(0)\n a = f32[] parameter(1)\n ROOT c = f32[] "
                            "conditional(p, a), branch_computations={{g}}\n}}",
                            computations));
  ASSERT_NE(indexed, nullptr);
  EXPECT_EQ(indexed->entry()->root()->called(0)->name(), "g");
}

TEST(InstructionTextTest, DimensionsOfMapAndOfScalarBroadcastMayBeLeftOut) {
  const auto module = RoundTrip(
      "HloModule m\nf { a = f32[] parameter(0) }\nENTRY g { a = f32[] parameter(0)\n"
      " b = f32[2,3] broadcast(a)\n ROOT c = f32[2,3] map(b), to_apply=f }");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(Find(*module, "c")->dimensions(), (IntList{0, 1}));
}

TEST(InstructionTextTest, ReplicaGroupsInIotaForm) {
  const auto module =
      RoundTrip(Entry("a = f32[4] parameter(0)\n ROOT b = f32[4] all-to-all(a), dimensions={0},\n"
                      " replica_groups=[2,4]<=[4,2]T(1,0)"));
  ASSERT_NE(module, nullptr);
  const auto& groups = module->entry()->root()->attributes<CollectiveAttributes>().replica_groups;
  EXPECT_THAT(groups.groups, ElementsAre(IntList{0, 2, 4, 6}, IntList{1, 3, 5, 7}));
  const auto deep =
      RoundTrip(Entry("a = f32[4] parameter(0)\n ROOT b = f32[4] all-to-all(a), dimensions={0},\n"
                      " replica_groups=[3,4]<=[2,3,2]T(1,2,0)"));
  ASSERT_NE(deep, nullptr);
  EXPECT_THAT(deep->entry()->root()->attributes<CollectiveAttributes>().replica_groups.groups,
              ElementsAre(IntList{0, 6, 1, 7}, IntList{2, 8, 3, 9}, IntList{4, 10, 5, 11}));
}

std::vector<IntList> GroupsOf(const std::string& groups) {
  const auto module =
      RoundTrip(Entry("a = f32[4] parameter(0)\n ROOT b = f32[4] collective-broadcast(a), replica_groups=" + groups));
  return module == nullptr ? std::vector<IntList>()
                           : module->entry()->root()->attributes<CollectiveAttributes>().replica_groups.groups;
}

TEST(InstructionTextTest, ReplicaGroupsOverTheAxesOfAMesh) {
  EXPECT_THAT(GroupsOf("mesh['x'=4] {'x'}"), ElementsAre(IntList{0, 1, 2, 3}));
  EXPECT_THAT(GroupsOf("mesh['axis_0'=2,'axis_1'=3] {'axis_1'}"), ElementsAre(IntList{0, 1, 2}, IntList{3, 4, 5}));
  EXPECT_THAT(GroupsOf("mesh['axis_0'=2,'axis_1'=3] {'axis_0'}"),
              ElementsAre(IntList{0, 3}, IntList{1, 4}, IntList{2, 5}));
  EXPECT_THAT(GroupsOf("mesh['a'=2,'b'=2,'c'=2] {'c','a'}"), ElementsAre(IntList{0, 4, 1, 5}, IntList{2, 6, 3, 7}));
  EXPECT_THAT(GroupsOf("mesh['a'=2,'b'=1] {}"), ElementsAre(IntList{0}, IntList{1}));
}

TEST(InstructionTextTest, DevicesOfAMeshInAnOrderOfTheirOwn) {
  EXPECT_THAT(GroupsOf("mesh['a'=2,'b'=1,'c'=2], device_ids=([2,2]T(1,0)) {'a'}"),
              ElementsAre(IntList{0, 1}, IntList{2, 3}));
  EXPECT_THAT(GroupsOf("mesh['a'=2,'b'=4], device_ids=([2,2,2]T(1,0,2)) {'b':(2)2}"),
              ElementsAre(IntList{0, 1}, IntList{4, 5}, IntList{2, 3}, IntList{6, 7}));
  EXPECT_THAT(GroupsOf("mesh['a'=2,'b'=2], device_ids=([4]) {'b'}"), ElementsAre(IntList{0, 1}, IntList{2, 3}));
  EXPECT_THAT(GroupsOf("mesh['a'=2,'b'=2], device_ids=(3,0,1,2) {'b'}"), ElementsAre(IntList{3, 0}, IntList{1, 2}));
}

TEST(InstructionTextTest, PartsOfTheAxesOfAMesh) {
  // 8 = 2 x 2 x 2.
  EXPECT_THAT(GroupsOf("mesh['a'=8] {'a':(1)2}"),
              ElementsAre(IntList{0, 4}, IntList{1, 5}, IntList{2, 6}, IntList{3, 7}));
  EXPECT_THAT(GroupsOf("mesh['a'=8] {'a':(2)2}"),
              ElementsAre(IntList{0, 2}, IntList{1, 3}, IntList{4, 6}, IntList{5, 7}));
  EXPECT_THAT(GroupsOf("mesh['a'=8] {'a':(4)2,'a':(1)2}"), ElementsAre(IntList{0, 4, 1, 5}, IntList{2, 6, 3, 7}));
  EXPECT_THAT(GroupsOf("mesh['a'=2,'b'=4] {'a','b':(2)2}"), ElementsAre(IntList{0, 1, 4, 5}, IntList{2, 3, 6, 7}));
}

TEST(InstructionTextTest, RejectsMeshesThatDoNotFit) {
  const std::string op = "a = f32[4] parameter(0)\n ROOT b = f32[4] collective-broadcast(a), replica_groups=";
  for (const auto& [groups, message] : std::vector<std::pair<std::string, std::string>>{
           {"mesh['a'=8] {'b'}", "the mesh has no axis 'b'"},
           {"mesh['a'=8,'a'=2] {'a'}", "axis 'a' occurs twice"},
           {"mesh['a'=0] {'a'}", "axis 'a' of size 0"},
           {"mesh['a'=8] {'a':(3)2}", "'a':(3)2 is no part of 'a'=8"},
           {"mesh['a'=8] {'a':(1)4,'a':(2)2}", "parts of axis 'a' overlap"},
           {"mesh['a'=8] {'a','a'}", "parts of axis 'a' overlap"},
           {"mesh['a'=4], device_ids=(0,1,2) {'a'}", "device_ids (0,1,2) must be 4 different devices"},
           {"mesh['a'=4], device_ids=(0,1,2,2) {'a'}", "device_ids (0,1,2,2) must be 4 different devices"},
           {"mesh['a'=2], device_ids=(0,-1) {'a'}", "device_ids (0,-1) must be 2 different devices"},
           {"mesh['a'=4], device_ids=([2,3]T(1,0)) {'a'}", "[1,4] has 4 devices, [2,3] has 6"},
           {"mesh['a'=4], ids=([2,2]T(1,0)) {'a'}", "expected device_ids=(...)"},
           {"mesh['a'=1000000000,'b'=1000000000] {'a'}", "too many"},
           {"mesh[x=8] {'x'}", "expected an axis of the mesh in quotes"}}) {
    const auto module = ParseHlo(Entry(op + groups));
    ASSERT_FALSE(module.ok()) << groups;
    EXPECT_THAT(module.status().message(), ::testing::HasSubstr(message));
  }
}

TEST(InstructionTextTest, WindowPartsInAnyOrder) {
  const auto module =
      RoundTrip(Entry("a = f32[9,9] parameter(0)\n k = f32[1,1,3,5] parameter(1)\n ROOT c = f32[1] convolution(a, k), "
                      "dim_labels=01bf_oi01->bf01?,\n"
                      " window={pad=-1_2x0_0 rhs_reversal=1x0, lhs_dilate=2x1 size=3x5 stride=1x7}"));
  ASSERT_NE(module, nullptr);
  const auto& attributes = module->entry()->root()->attributes<ConvolutionAttributes>();
  EXPECT_EQ(attributes.window[0], (WindowDimension{3, 1, -1, 2, 2, 1, true}));
  EXPECT_EQ(attributes.window[1], (WindowDimension{5, 7, 0, 0, 1, 1, false}));
  EXPECT_EQ(attributes.dim_labels->input_batch, 2);
  EXPECT_EQ(attributes.dim_labels->input_spatial, (IntList{0, 1}));
  EXPECT_EQ(attributes.dim_labels->kernel_input_feature, 1);
}

TEST(InstructionTextTest, UnknownDimensionsOfLabelsKeepTheirPlaces) {
  const auto module =
      RoundTrip(Entry("a = f32[9,9,9] parameter(0)\n ROOT c = f32[1] convolution(a, a), dim_labels=?bf_o?i->f?b"));
  ASSERT_NE(module, nullptr);
  EXPECT_THAT(PrintHlo(*module), HasSubstr("dim_labels=?bf_o?i->f?b"));
}

TEST(InstructionTextTest, LiteralOfACustomCallWithAndWithoutLayout) {
  const auto module =
      RoundTrip(Entry("a = s32[] custom-call(), custom_call_target=\"f\", literal=s32[2] {3, 4}\n"
                      "b = s32[] custom-call(), custom_call_target=\"f\", literal=s32[2]{0} {3, 4}\n"
                      "c = s32[] custom-call(), custom_call_target=\"f\", literal=(s32[], f32[1]{0}) (3, {4})\n"
                      "d = s32[] custom-call(), custom_call_target=\"f\", literal=f32[1000]{0} {...}"));
  ASSERT_NE(module, nullptr);
  auto literal = [&](std::string_view name) {
    return *Find(*module, name)->attributes<CustomCallAttributes>().literal;
  };
  EXPECT_FALSE(literal("a").shape.layout().has_value());
  EXPECT_TRUE(literal("b").shape.layout().has_value());
  EXPECT_EQ(literal("a").literal->GetInt(1), 4);
  EXPECT_EQ(literal("d").literal, nullptr);
}

TEST(AsyncTextTest, SugarWrapsTheOperation) {
  const auto module = RoundTrip(R"(HloModule m
ENTRY main {
  p = f32[10]{0} parameter(0)
  s = ((f32[10]{0}), f32[20]{0}, s32[]) custom-call-start(p), custom_call_target="foo", async_execution_thread="t",
      metadata={op_name="n"}
  u = ((f32[10]{0}), f32[20]{0}, s32[]) custom-call-update(s), custom_call_target="foo"
  ROOT d = f32[20]{0} custom-call-done(u)
})");
  ASSERT_NE(module, nullptr);
  const Instruction* start = Find(*module, "s");
  EXPECT_EQ(start->opcode(), Opcode::kAsyncStart);
  EXPECT_EQ(start->common().metadata.text, "{op_name=\"n\"}");
  const Instruction* wrapped = start->called(0)->root();
  EXPECT_EQ(wrapped->opcode(), Opcode::kCustomCall);
  EXPECT_EQ(wrapped->attributes<CustomCallAttributes>().custom_call_target, "foo");
  EXPECT_EQ(wrapped->shape().ToString(), "f32[20]");
  EXPECT_EQ(start->called(0)->execution_thread(), "t");
  EXPECT_EQ(Find(*module, "u")->opcode(), Opcode::kAsyncUpdate);
  EXPECT_EQ(module->entry()->root()->opcode(), Opcode::kAsyncDone);
}

TEST(AsyncTextTest, SugarTakesCalledComputations) {
  const auto module = RoundTrip(R"(HloModule m
add { x = f32[] parameter(0)
  y = f32[] parameter(1)
  sum = f32[] add(x, y) }
ENTRY main {
  p = f32[10]{0} parameter(0)
  z = f32[] constant(0)
  s = ((f32[10]{0}, f32[]), f32[], u32[]) reduce-start(p, z), dimensions={0}, to_apply=add
  ROOT d = f32[] reduce-done(s)
})");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(Find(*module, "s")->called(0)->root()->called(0)->name(), "add");
}

TEST(AsyncTextTest, LaterStepsMayRepeatTheCall) {
  const auto module = RoundTrip(R"(HloModule m
f { x = f32[] parameter(0) }
ENTRY main {
  p = f32[] parameter(0)
  s = ((f32[]), f32[], u32[]) async-start(p), calls=f
  u = ((f32[]), f32[], u32[]) async-update(s), calls=f
  ROOT d = f32[] async-done(u), async_execution_thread="main", calls=f
})");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->entry()->root()->called(0)->name(), "f");
}

// The seconds of processor time that a chain of `lines` instructions takes, each of them a user of the parameter.
double SecondsToParse(int lines) {
  std::string text = "HloModule m\nENTRY main {\n  p = f32[4,4]{1,0} parameter(0)\n  op.0 = f32[4,4]{1,0} negate(p)\n";
  for (int i = 1; i < lines; ++i)
    text += fmt::format("  op.{} = f32[4,4]{{1,0}} add(op.{}, p), metadata={{op_name=\"n\"}}\n", i, i - 1);
  text += "}\n";
  const std::clock_t start = std::clock();
  const auto module = ParseHlo(text);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_TRUE(module.ok());
  return seconds;
}

TEST(SpeedTest, ParsingTakesLinearTime) {
  SecondsToParse(2000);
  const double few = SecondsToParse(4000);
  const double many = SecondsToParse(40000);
  EXPECT_LT(many, 40 * few + 0.05) << few << " s for 4,000 lines";
}

}  // namespace
}  // namespace VXLA_NAMESPACE
