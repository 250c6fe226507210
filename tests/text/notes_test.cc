// Notes and calls of vxla's own in HLO text.
#include <gmock/gmock.h>

#include "tests/text/text_test_support.h"

namespace VXLA_NAMESPACE {
namespace {

using ::testing::HasSubstr;

// What passes say of the one instruction, printed and read again.
std::string PrintedAndRead(const Module& module) {
  const std::string printed = PrintHlo(module);
  const auto again = ParseHlo(printed, TextOf::kPasses);
  if (!again.ok()) return again.status().message();
  std::string difference;
  EXPECT_TRUE(Equal(module, **again, &difference)) << difference << "\n" << printed;
  return printed;
}

TEST(NotesTest, AreTheFirstFrontendAttribute) {
  auto module = std::move(*ParseHlo(Entry("ROOT p = f32[2] parameter(0), frontend_attributes={a=\"b\"}")));
  Instruction& p = *module->entry()->root();
  EXPECT_THAT(PrintHlo(*module), HasSubstr("frontend_attributes={a=\"b\"}"));
  p.mutable_notes().trip_count = 0;
  p.mutable_notes().wide_sum = true;
  EXPECT_THAT(PrintedAndRead(*module), HasSubstr("frontend_attributes={vxla=\"wide_sum=true, trip_count=0\",a=\"b\"}"));
  p.mutable_notes() = {};
  p.mutable_notes().size_messages = {"a \"size\" {0}, {1}", "line\nline"};
  p.mutable_common() = {};
  PrintedAndRead(*module);
  p.mutable_notes() = {.checked = "tensor.insert_slice",
                       .unique = true,
                       .forall = 3,
                       .result = 1,
                       .strides = {1, 2},
                       .begins = true,
                       .by_partition = true,
                       .once = true,
                       .device = 2,
                       .draws_of_rng = true,
                       .wide_sum = true,
                       .sizes_in_range = true,
                       .run_starts = true,
                       .size_messages = {"m"},
                       .live_come_first = true,
                       .live_rows = 1,
                       .trip_count = 7};
  PrintedAndRead(*module);
}

TEST(NotesTest, OfAProgramStayInItsText) {
  const auto module =
      RoundTrip(Entry("ROOT p = f32[2] parameter(0), frontend_attributes={vxla=\"checked=\\\"tensor.extract\\\", "
                      "unique=true, strides={1,2}, by_partition=true\",a=\"b\"}"));
  const Notes& notes = module->entry()->root()->notes();
  EXPECT_EQ(notes.checked, "tensor.extract");
  EXPECT_TRUE(notes.unique && notes.by_partition);
  EXPECT_EQ(notes.strides, (IntList{1, 2}));
  EXPECT_EQ(module->entry()->root()->common().frontend_attributes.text, "{a=\"b\"}");
}

TEST(NotesTest, CallsOfVxlasOwnHaveAKind) {
  auto module = std::move(*ParseHlo(Entry("ROOT r = f32[2] custom-call(), custom_call_target=\"f\"")));
  Instruction& call = *module->entry()->root();
  EXPECT_EQ(call.call_kind(), CallKind::kNamed);
  call.mutable_attributes() = OwnCall(CallKind::kExchange, 12);
  EXPECT_EQ(call.call_kind(), CallKind::kExchange);
  EXPECT_THAT(PrintedAndRead(*module), HasSubstr("custom_call_target=\"vxla.exchange.12\", kind=exchange, number=12"));
  EXPECT_EQ(ParseError(PrintHlo(*module)).substr(0, 2), "4:");
}

TEST(NotesTest, CopiesKeepThem) {
  auto module = std::move(*ParseHlo(
      Entry("p = f32[2] parameter(0)  n = f32[2] negate(p), metadata={op_name=\"n\"}  ROOT r = f32[2] negate(n)")));
  Instruction& n = *module->entry()->root()->operand(0);
  n.mutable_notes().wide_sum = true;
  const auto copy = n.CloneWith({&n}, Shape(ElementType::kF32, {3}));
  EXPECT_EQ(copy->opcode(), Opcode::kNegate);
  EXPECT_EQ(copy->operand(0), &n);
  EXPECT_EQ(copy->shape(), Shape(ElementType::kF32, {3}));
  EXPECT_EQ(copy->common(), n.common());
  EXPECT_EQ(copy->notes(), n.notes());
  EXPECT_EQ(copy->name(), "n");
  EXPECT_EQ(copy->location().line, n.location().line);
  EXPECT_FALSE(n.HasUser(copy.get()));  // until it stands in the computation
}

}  // namespace
}  // namespace VXLA_NAMESPACE
