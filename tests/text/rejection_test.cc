// What must not parse, with the place and the message of each error.
#include <gmock/gmock.h>

#include "tests/text/text_test_support.h"

namespace VXLA_NAMESPACE {
namespace {

using ::testing::HasSubstr;

// Entry's body starts at line 3, column 3.
std::string BodyError(std::string_view body) { return ParseError(Entry(body)); }
// The attributes of an instruction with two f32[2,3] operands a and b.
std::string AttributeError(std::string_view opcode_and_operands, std::string_view attributes) {
  const std::string error =
      BodyError(fmt::format("a = f32[2,3] parameter(0)\nb = f32[2,3] parameter(1)\nROOT r = f32[2,3] {}, {}",
                            opcode_and_operands, attributes));
  return error.substr(error.find(' ') + 1);
}

TEST(RejectionTest, BinariesAreNotText) {
  EXPECT_EQ(ParseError(std::string_view("HloModule\0m", 11)), "0:0: not HLO text: byte 0x00 at offset 9");
  EXPECT_EQ(ParseError("\x0a\x04main\x12\x03"), "0:0: not HLO text: byte 0x04 at offset 1");
  EXPECT_EQ(ParseError("PK\x03\x04"), "0:0: not HLO text: byte 0x03 at offset 2");
  EXPECT_EQ(ParseError("HloModule m\n\xc3\xa9 {"), "2:1: unexpected byte 0xc3");
}

TEST(RejectionTest, TextsWithoutComputations) {
  EXPECT_EQ(ParseError(""), "1:1: no computation in the text");
  EXPECT_EQ(ParseError(" // nothing\n"), "2:1: no computation in the text");
  EXPECT_EQ(ParseError("HloModule m, replica_count=2\n"), "2:1: no computation in the text");
  EXPECT_EQ(ParseError("HloModule"), "1:10: expected the module's name, found the end of the text");
  EXPECT_EQ(ParseError("ENTRY f {}"), "1:10: a computation without instructions");
  EXPECT_EQ(ParseError("module @m { }"), "1:8: unexpected character '@'");
}

TEST(RejectionTest, HeaderAttributes) {
  EXPECT_EQ(ParseError("HloModule m, foo=1"), "1:14: unknown attribute 'foo' of HloModule");
  EXPECT_EQ(ParseError("HloModule m, replica_count=1, replica_count=1"),
            "1:31: duplicate attribute 'replica_count' of HloModule");
  EXPECT_EQ(ParseError("HloModule m, replica_count=0"), "1:14: replica_count: 0 is below 1");
  EXPECT_EQ(ParseError("HloModule m, is_scheduled=maybe"), "1:27: expected true or false, found 'maybe'");
  EXPECT_EQ(ParseError("HloModule m, input_output_alias={ {0}: (0, {}, may) }"),
            "1:48: expected may-alias or must-alias, found 'may'");
  EXPECT_EQ(ParseError("HloModule m, buffer_donor={ (0) }"), "1:31: expected ',', found ')'");
  EXPECT_EQ(ParseError("HloModule m, frontend_attributes={a=\"b}"), "1:37: unterminated string");
  EXPECT_EQ(ParseError("HloModule m, entry_computation_layout={f32[]->f32[]}"),
            "1:45: entry_computation_layout: expected (parameter shapes)->result shape");
}

TEST(RejectionTest, EntryLayoutsThatDoNotFit) {
  const std::string_view entry = "ENTRY f { a = f32[2] parameter(0)\n ROOT b = f32[2] negate(a) }";
  EXPECT_EQ(ParseError(fmt::format("HloModule m, entry_computation_layout={{()->f32[2]}}\n{}", entry)),
            "1:1: entry_computation_layout: 0 parameters, but f has 1");
  EXPECT_EQ(ParseError(fmt::format("HloModule m, entry_computation_layout={{(f32[3])->f32[2]}}\n{}", entry)),
            "1:1: entry_computation_layout: parameter 0 is f32[3], but f has f32[2]");
  EXPECT_EQ(ParseError(fmt::format("HloModule m, entry_computation_layout={{(f32[2])->s32[2]}}\n{}", entry)),
            "1:1: entry_computation_layout: the result is s32[2], but f has f32[2]");
}

TEST(RejectionTest, StackFrameTables) {
  EXPECT_EQ(ParseError("HloModule m\nFileNames\n1 a"), "3:3: expected a string, found 'a'");
  EXPECT_EQ(ParseError("HloModule m\nStackFrames\n1 {line=3}"), "3:4: unknown field 'line' of a stack-frame table");
}

TEST(RejectionTest, Computations) {
  EXPECT_EQ(ParseError("ENTRY f { a = f32[] parameter(0) }\nENTRY g { a = f32[] parameter(0) }"),
            "2:1: a second ENTRY computation");
  EXPECT_EQ(ParseError("f { a = f32[] parameter(0) }\nf { a = f32[] parameter(0) }"), "2:1: duplicate computation 'f'");
  EXPECT_EQ(ParseError("f { ROOT a = f32[] parameter(0)\n ROOT b = f32[] negate(a) }"),
            "2:2: a second ROOT instruction");
  EXPECT_EQ(ParseError("f { a = f32[] parameter(0)"),
            "1:27: expected an instruction or '}', found the end of the text");
  EXPECT_EQ(ParseError("f { a = f32[] parameter(0) }, thread=\"a\""),
            "1:31: expected 'execution_thread=', found 'thread='");
  EXPECT_EQ(ParseError("f { a = f32[] parameter(0) } }"), "1:30: expected a computation, found '}'");
  EXPECT_EQ(ParseError("f (a: f32[3]) -> f32[] { a = f32[] parameter(0) }"),
            "1:3: f: parameter 0 is f32[3] in the signature and f32[] in the body");
  EXPECT_EQ(ParseError("f () -> f32[] { a = f32[] parameter(0) }"),
            "1:3: f: the signature has 0 parameters, the body 1");
  EXPECT_EQ(ParseError("f (a: f32[]) -> s32[] { a = f32[] parameter(0) }"),
            "1:3: f: the result is s32[] in the signature and f32[] in the body");
  EXPECT_EQ(ParseError("f { a = f32[] call(), to_apply=g }"), "1:32: computation 'g' is not defined before its use");
}

TEST(RejectionTest, NamesAndOperands) {
  EXPECT_EQ(BodyError("a = f32[] parameter(0)\na = f32[] negate(a)"), "4:1: duplicate name 'a' in the computation");
  EXPECT_EQ(BodyError("a = f32[] negate(x)"), "3:20: 'x' is not defined before its use");
  EXPECT_EQ(BodyError("a = f32[] negate(%a)"), "3:20: 'a' is not defined before its use");
  EXPECT_EQ(BodyError("a = f32[] parameter(0)\nb = f32[] negate(a), control-predecessors={b}"),
            "4:44: 'b' is not defined before its use");
  EXPECT_EQ(BodyError("a = f32[] parameter(0)\nb = f32[] add(a)"), "4:16: add: 1 operands, expected 2");
  EXPECT_EQ(BodyError("a = f32[] parameter(0)\nb = f32[] negate(a, a)"), "4:22: negate: 2 operands, expected 1");
  EXPECT_EQ(BodyError("a = f32[] parameter(0)\nb = f32[] negate(f32[2] a)"),
            "4:18: operand 'a' is stated as f32[2], but is f32[]");
  EXPECT_EQ(BodyError("a = f32[] parameter(0)\nb = f32[] negate(a"), "5:1: expected ')', found '}'");
  EXPECT_EQ(BodyError("% = f32[] parameter(0)"), "3:3: a name must follow '%'");
  EXPECT_EQ(BodyError("a = f32[] frobnicate()"), "3:13: unknown opcode 'frobnicate'");
  EXPECT_EQ(BodyError("a = f32[] negate(frobnicate())"), "3:20: unknown opcode 'frobnicate'");
  EXPECT_EQ(BodyError("a = f32[] constant-start(1)"), "3:13: unknown opcode 'constant-start'");
  EXPECT_EQ(BodyError("a = f32[] 3"), "3:13: expected an opcode, found '3'");
  EXPECT_EQ(BodyError("a f32[] parameter(0)"), "3:5: expected '=', found 'f32'");
}

TEST(RejectionTest, Parameters) {
  EXPECT_EQ(BodyError("a = f32[] parameter(0)\nb = f32[] parameter(0)"),
            "4:22: duplicate parameter(0): a has that number");
  EXPECT_EQ(BodyError("a = f32[] parameter(1)"), "2:12: parameter(0) is missing, parameter(1) is there");
  EXPECT_EQ(BodyError("a = f32[] parameter(-1)"), "3:25: parameter(-1) is not a number that this text can reach");
  EXPECT_EQ(BodyError("a = f32[] parameter(999999999999)"),
            "3:35: parameter(999999999999) is not a number that this text can reach");
  EXPECT_EQ(BodyError("a = f32[] parameter(99999999999999999999)"),
            "3:23: the parameter's number: 99999999999999999999 exceeds 64 bits");
}

TEST(RejectionTest, Shapes) {
  EXPECT_EQ(BodyError("a = f33[] parameter(0)"), "3:7: unknown opcode 'f33'");
  EXPECT_EQ(BodyError("a = (f33[]) parameter(0)"), "3:8: expected a shape, found 'f33'");
  EXPECT_EQ(BodyError("a = f32[-1] parameter(0)"), "3:7: size -1 of dimension 0 is negative");
  EXPECT_EQ(BodyError("a = f32[2,-9223372036854775808] parameter(0)"),
            "3:7: size -9223372036854775808 of dimension 1 is negative");
  EXPECT_EQ(BodyError("a = f32[4294967296,4294967296,0] parameter(0)"),
            "3:7: the product of the sizes above 0 of f32[4294967296,4294967296,0] exceeds the limit of 2^63-1");
  EXPECT_EQ(BodyError("a = f64[2199023255553] parameter(0)"),
            "3:7: f64[2199023255553] takes more than 17592186044416 bytes, the limit of an array");
  EXPECT_EQ(BodyError("a = f64[2199023255552] parameter(0)"), "(parsed)");
  EXPECT_EQ(BodyError("a = token[2] parameter(0)"), "3:7: token has no dimensions, found 1");
  EXPECT_EQ(BodyError("a = f32[2 parameter(0)"), "3:13: expected ']', found 'parameter'");
  EXPECT_EQ(BodyError("a = f32[2]{1} parameter(0)"),
            "3:15: the layout {1} is not a permutation of the dimensions of f32[2]");
  EXPECT_EQ(BodyError("a = f32[2,2]{0,0} parameter(0)"),
            "3:19: the layout {0,0} is not a permutation of the dimensions of f32[2,2]");
  EXPECT_EQ(BodyError("a = f32[2,2]{0} parameter(0)"),
            "3:17: the layout {0} names 1 dimensions of f32[2,2], which has 2");
  EXPECT_EQ(BodyError("a = f32[2]{0:Q(1)} parameter(0)"), "3:20: unknown layout annotation 'Q'");
  EXPECT_EQ(BodyError("a = f32[2]{0:T(1 parameter(0)"), "4:1: expected ')', found '}'");
  EXPECT_EQ(BodyError("a = b(token[]) parameter(0)"), "3:16: a buffer holds an array, not token[]");
  EXPECT_EQ(BodyError("a = constant(1)"), "3:16: constant: the shape must be stated");
  EXPECT_EQ(BodyError("a = parameter(0)"), "3:3: parameter: the shape must be stated");
}

TEST(RejectionTest, InferenceErrorsOfLeftOutShapesHaveAPlace) {
  const std::string error = BodyError("a = f32[2] parameter(0)\nb = f32[3] parameter(1)\n ROOT c = add(a, b)");
  EXPECT_THAT(error, HasSubstr("5:7: "));
  EXPECT_THAT(error, HasSubstr("f32[3]"));
}

TEST(RejectionTest, Attributes) {
  EXPECT_EQ(AttributeError("add(a, b)", "dimensions={0}"), "unknown attribute 'dimensions' of add");
  EXPECT_EQ(AttributeError("add(a, b)", "metadata={}, metadata={}"), "duplicate attribute 'metadata'");
  EXPECT_EQ(AttributeError("add(a, b)", "metadata"), "expected an attribute, found 'metadata'");
  EXPECT_EQ(AttributeError("abs(a)", "result_accuracy={mode=highest}"), "unknown attribute 'result_accuracy' of abs");
  for (const std::string_view wrong : {"{mode=high}", "{0.5}", "{ulps=2}", "{tolerance={rtol=x}}", "{}"}) {
    EXPECT_EQ(
        AttributeError("tanh(a)", fmt::format("result_accuracy={}", wrong)),
        fmt::format("result_accuracy is {}, expected {{mode=default}}, {{mode=highest}} or {{tolerance={{rtol=0.5, "
                    "atol=1.0, ulps=2}}}}",
                    wrong));
  }
  for (const std::string_view right : {"{mode=default}", "{tolerance={rtol=0.5, atol=1e-3, ulps=2}}"})
    EXPECT_EQ(AttributeError("tanh(a)", fmt::format("result_accuracy={}", right)), "(parsed)");
  EXPECT_EQ(AttributeError("compare(a, b)", "direction=EX"), "expected one of EQ, NE, GE, GT, LE, LT, found 'EX'");
  EXPECT_EQ(AttributeError("compare(a, b)", "type=FLOAT"), "compare: the attribute direction is missing");
  EXPECT_EQ(AttributeError("transpose(a)", "dimensions={0,x}"), "expected an integer, found 'x'");
  EXPECT_EQ(AttributeError("transpose(a)", "dimensions={0 1}"), "expected '}', found '1'");
  EXPECT_EQ(AttributeError("broadcast(a)", "metadata={}"), "broadcast: the attribute dimensions is missing");
  EXPECT_EQ(AttributeError("reduce(a, b)", "dimensions={0}"), "reduce: the attribute to_apply is missing");
  EXPECT_EQ(AttributeError("slice(a)", "slice={[0:2:1:1]}"), "expected ']', found ':'");
  EXPECT_EQ(AttributeError("slice(a)", "slice={[0]}"), "expected ':', found ']'");
  EXPECT_EQ(AttributeError("pad(a, b)", "padding=1x2"), "1 numbers in a dimension of '1x2', expected 2 to 3");
  EXPECT_EQ(AttributeError("pad(a, b)", "padding=1_a"), "expected integers separated by '_', found '1_a'");
  EXPECT_EQ(AttributeError("reduce-window(a, b)", "window={size=2x2 pad=1_1}"),
            "window: pad has 1 dimensions, size has 2");
  EXPECT_EQ(AttributeError("reduce-window(a, b)", "window={size=2x2 size=2x2}"),
            "duplicate attribute 'size' of a window");
  EXPECT_EQ(AttributeError("reduce-window(a, b)", "window={shape=2x2}"), "unknown attribute 'shape' of a window");
  EXPECT_EQ(AttributeError("convolution(a, b)", "dim_labels=bf01"),
            "dim_labels: expected input_kernel->output as in bf01_oi01->bf01, found 'bf01'");
  EXPECT_EQ(AttributeError("convolution(a, b)", "dim_labels=bf0_oi01->bf0"),
            "dim_labels: 'bf0_oi01->bf0' names 1, 2 and 1 spatial dimensions");
  EXPECT_EQ(AttributeError("convolution(a, b)", "dim_labels=bb0_oi0->bf0"),
            "dim_labels: 'bb0' of 'bb0_oi0->bf0' names 'b' twice");
  EXPECT_EQ(AttributeError("convolution(a, b)", "dim_labels=b0_oi0->bf0"),
            "dim_labels: 'b0' of 'b0_oi0->bf0' lacks 'f'");
  EXPECT_EQ(AttributeError("convolution(a, b)", "dim_labels=bf1_oi1->bf1"),
            "dim_labels: 'bf1' of 'bf1_oi1->bf1' skips a spatial dimension");
  EXPECT_EQ(AttributeError("convolution(a, b)", "window={}"), "convolution: the attribute dim_labels is missing");
  EXPECT_EQ(AttributeError("fft(a)", "fft_type=DCT, fft_length={3}"),
            "expected one of FFT, IFFT, RFFT, IRFFT, found 'DCT'");
  EXPECT_EQ(AttributeError("dot(a, b)", "lhs_ragged_dims={0}"), "unknown attribute 'lhs_ragged_dims' of dot");
  EXPECT_EQ(AttributeError("dot(a, b)", "operand_precision={low}"),
            "expected one of default, high, highest, found 'low'");
  EXPECT_EQ(AttributeError("all-reduce(a)", "dimensions={0}"), "unknown attribute 'dimensions' of all-reduce");
  EXPECT_EQ(AttributeError("all-gather(a)", "replica_groups={}"), "all-gather: the attribute dimensions is missing");
  EXPECT_EQ(AttributeError("collective-permute(a)", "source_target_pairs={{0,1,2}}"),
            "expected pairs {source,target}, found 3 numbers");
  EXPECT_EQ(AttributeError("custom-call(a)", "api_version=X"),
            "custom-call: the attribute custom_call_target is missing");
  EXPECT_EQ(AttributeError("custom-call(a)", "custom_call_target=foo"), "expected a string, found 'foo'");
  EXPECT_EQ(AttributeError("custom-call(a)", "custom_call_target=\"\\9\""), "bad escape '\\9' in a string");
}

TEST(RejectionTest, UnterminatedGroups) {
  EXPECT_EQ(ParseError("f { a = f32[] parameter(0), metadata={x=\"y\""), "1:38: no '}' closes the group");
  EXPECT_EQ(ParseError("f { a = f32[] parameter(0), metadata={x=[1}}"), "1:43: expected ']', found '}'");
  EXPECT_EQ(ParseError("f { a = f32[] parameter(0), metadata="), "1:38: expected a value");
  EXPECT_EQ(ParseError("f { a = f32[] parameter(0), metadata=\"x"), "1:38: unterminated string");
  EXPECT_EQ(ParseError("f { /* a = f32[] parameter(0)"), "1:5: unterminated comment");
}

TEST(RejectionTest, CommasBehindTheLast) {
  EXPECT_EQ(ParseError("f { a = f32[2] parameter(0)  ROOT b = f32[2] add(a, a,) }"),
            "1:55: nothing between ',' and ')'");
  EXPECT_EQ(ParseError("f { a = f32[2,] parameter(0) }"), "1:15: nothing between ',' and ']'");
  EXPECT_EQ(ParseError("f { a = f32[2]{0,} parameter(0) }"), "1:18: nothing between ',' and '}'");
  EXPECT_EQ(ParseError("f { ROOT a = s32[2] constant({1, }) }"), "1:34: nothing between ',' and '}'");
}

TEST(RejectionTest, ReplicaGroups) {
  auto error = [](std::string_view groups) {
    return AttributeError("all-to-all(a)", fmt::format("replica_groups={}", groups));
  };
  EXPECT_EQ(error("[2,2]<=[2,2]"), "replica_groups: T(...) must follow [2,2]");
  EXPECT_EQ(error("[2,2]<=[5]"), "replica_groups: [2,2] has 4 devices, [5] has 5");
  EXPECT_EQ(error("[2,2]<=[2,2]T(0,0)"), "replica_groups: T(0,0) is not a permutation of the dimensions of [2,2]");
  EXPECT_EQ(error("[2,2]<=[2,2]T(0)"), "replica_groups: T(0) is not a permutation of the dimensions of [2,2]");
  EXPECT_EQ(error("[4]<=[4]"), "replica_groups: [4]<=[4] must be [groups,size]<=[positive sizes]");
  EXPECT_EQ(error("[0,4]<=[0]"), "replica_groups: [0,4]<=[0] must be [groups,size]<=[positive sizes]");
  EXPECT_EQ(error("[1000000,1000000]<=[1000000000000]"),
            "replica_groups: 1000000000000 devices are too many for this text");
}

TEST(RejectionTest, CalledComputations) {
  const std::string_view f = "f { a = f32[] parameter(0) }\n";
  auto error = [&](std::string_view body) {
    return ParseError(fmt::format("{}ENTRY g {{ a = f32[] parameter(0)\n {} }}", f, body));
  };
  EXPECT_EQ(error("b = f32[] while(a), body=f"), "3:2: while: the attribute condition is missing");
  EXPECT_EQ(error("b = f32[] conditional(a, a), true_computation=f"),
            "3:2: conditional: the attribute false_computation is missing");
  EXPECT_EQ(error("b = f32[] conditional(a, a), branch_computations={f}, true_computation=f"),
            "3:56: true_computation beside other called computations");
  EXPECT_EQ(error("b = f32[] conditional(a, a), true_computation=f, branch_computations={f}"),
            "3:51: branch_computations beside other called computations");
  EXPECT_EQ(error("b = f32[] call(a), calls=f"), "3:21: unknown attribute 'calls' of call");
  EXPECT_EQ(error("b = f32[] fusion(a), kind=kLoop"), "3:2: fusion: the attribute calls is missing");
}

TEST(RejectionTest, AsyncSugar) {
  EXPECT_EQ(BodyError("a = f32[] parameter(0)\nb = f32[] negate-start(a)"),
            "4:1: negate-start: the shape ((operands), result, ...) must be stated");
  EXPECT_EQ(BodyError("a = f32[] parameter(0)\nb = f32[] negate-done(a)"),
            "4:1: async-done: the operand is no asynchronous negate");
  EXPECT_EQ(BodyError("a = f32[] parameter(0)\nb = ((f32[]), f32[], u32[]) negate-start(a)\nc = f32[] abs-done(b)"),
            "5:1: async-done: the operand is no asynchronous abs");
  EXPECT_EQ(BodyError("a = f32[] parameter(0)\nb = ((f32[]), f32[], u32[]) transpose-start(a)"),
            "4:1: transpose: the attribute dimensions is missing");
}

std::string Repeat(std::string_view text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

TEST(RejectionTest, NestingTooDeep) {
  const int deep = 100000;
  EXPECT_THAT(BodyError("a = " + Repeat("(", deep)), HasSubstr("shapes nest more than 64 levels deep"));
  EXPECT_THAT(BodyError("a = " + Repeat("b(", deep)), HasSubstr("expected a shape, found 'b'"));
  EXPECT_THAT(BodyError("a = f32[] negate(" + Repeat("negate(", deep)),
              HasSubstr("operands and bodies nest more than 200 levels deep"));
  EXPECT_THAT(BodyError("a = f32[] call(), to_apply={" + Repeat("a = f32[] call(), to_apply={", deep)),
              HasSubstr("operands and bodies nest more than 200 levels deep"));
  EXPECT_THAT(BodyError("a = f32[1,1] constant(" + Repeat("{", deep)),
              HasSubstr("expected a number of f32, found '{'"));
  EXPECT_THAT(BodyError("a = f32[] parameter(0)\nb = f32[] slice(a), slice=" + Repeat("{", deep)),
              HasSubstr("expected '[', found '{'"));
  EXPECT_THAT(BodyError("a = f32[" + Repeat("1,", 60000) + "1] parameter(0)"),
              HasSubstr("arrays have at most 64 dimensions"));
  EXPECT_EQ(BodyError("a = f32[" + Repeat("1,", 63) + "1] constant(" + Repeat("{", 64) + "1" + Repeat("}", 64) + ")"),
            "(parsed)");
  EXPECT_EQ(BodyError("a = " + Repeat("(", 64) + "f32[]" + Repeat(")", 64) + " parameter(0)"), "(parsed)");
  EXPECT_THAT(BodyError("a = f32[] parameter(0), metadata=" + Repeat("{", deep)), HasSubstr("no '}' closes the group"));
}

TEST(RejectionTest, ConstantsLargerThanTheirText) {
  EXPECT_EQ(BodyError("a = f32[1000000000] constant({1})"),
            "3:32: literal: f32[1000000000] has 1000000000 elements, more than the text holds");
  EXPECT_EQ(BodyError("a = f32[<=1000000000] constant({1})"),
            "3:34: literal: f32[<=1000000000] has 1000000000 elements, more than the text holds");
  EXPECT_EQ(BodyError("a = f32[?] constant({1})"),
            "3:23: literal: f32[?] has an unbounded dimension, which cannot be compiled");
}

// They were taken for what passes write: "std::get: wrong index for variant", and sizes that nobody had checked.
TEST(RejectionTest, NamesOfVxlasOwn) {
  const auto judged = [](std::string_view call) {
    return ParseError(fmt::format("HloModule m\nENTRY e {{ p = f32[2] parameter(0)\n  ROOT r = {} }}", call));
  };
  EXPECT_EQ(judged("f32[2] custom-call(p), custom_call_target=\"vxla.dynamic_program\""),
            "3:8: custom_call_target \"vxla.dynamic_program\": names that begin with \"vxla.\" are vxla's own");
  EXPECT_EQ(judged("f32[2] negate(p), backend_config=\"vxla.sizes_in_range\""),
            "3:8: backend_config \"vxla.sizes_in_range\": names that begin with \"vxla.\" are vxla's own");
  EXPECT_EQ(judged("f32[2] custom-call(p), custom_call_target=\"vxla_of_mine\""), "(parsed)");
  EXPECT_EQ(judged("f32[2] custom-call(p), custom_call_target=\"f\", kind=program"),
            "3:59: kind: no program says that of itself");
  EXPECT_EQ(judged("f32[2] custom-call(p), custom_call_target=\"f\", number=1"),
            "3:59: number: no program says that of itself");
}

TEST(RejectionTest, NotesThatAreOfPasses) {
  const auto judged = [](std::string_view notes) {
    return ParseError(Entry(fmt::format("ROOT p = f32[2] parameter(0), frontend_attributes={{vxla={}}}", notes)));
  };
  const auto of_passes = [](std::string_view note) {
    return fmt::format("3:33: {}: no program says that of itself", note);
  };
  for (const std::string_view note : {"wide_sum", "sizes_in_range", "run_starts", "draws_of_rng", "live_come_first"})
    EXPECT_EQ(judged(fmt::format("\"{}=true\"", note)), of_passes(note));
  for (const std::string_view note : {"trip_count", "live_rows", "device"})
    EXPECT_EQ(judged(fmt::format("\"{}=3\"", note)), of_passes(note));
  EXPECT_EQ(judged("\"size_messages={}\""), of_passes("size_messages"));
  EXPECT_EQ(judged("\"wide=true\""), "3:33: vxla: there is no note 'wide'");
  EXPECT_EQ(judged("\"unique=3\""), "3:33: expected true or false, found '3'");
  EXPECT_EQ(judged("\"unique=true unique\""), "3:33: expected the end of vxla's notes, found 'unique'");
  EXPECT_EQ(judged("{}"), "3:33: expected notes in quotes, found '{'");
  EXPECT_EQ(judged("\"unique=true\""), "(parsed)");
}

}  // namespace
}  // namespace VXLA_NAMESPACE
