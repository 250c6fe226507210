#include "core/ir/module.h"

#include <gtest/gtest.h>

#include "tests/support/module_equal.h"

namespace VXLA_NAMESPACE {
namespace {

const Shape kVector(ElementType::kF32, {3});

// main(p) = p + -p, with f(x) = |x| beside it.
struct SmallModule {
  Module module{"m"};
  Computation* callee = module.AddComputation("f");
  Computation* entry = module.AddComputation("main");
  Instruction* p;
  Instruction* negative;
  Instruction* sum;

  SmallModule() {
    Instruction* x = callee->Add(Opcode::kParameter, kVector, {}, ParameterAttributes{0}, {}, "x");
    callee->Add(Opcode::kAbs, kVector, {x});
    p = entry->Add(Opcode::kParameter, kVector, {}, ParameterAttributes{0}, {}, "p");
    negative = entry->Add(Opcode::kNegate, kVector, {p}, {}, {}, "negative");
    sum = entry->Add(Opcode::kAdd, kVector, {p, negative}, {}, {}, "sum");
    module.set_entry(entry);
  }
};

TEST(OpcodeTest, TextsRoundTrip) {
  for (int i = 0; i < OpcodeCount(); ++i) {
    const auto opcode = static_cast<Opcode>(i);
    EXPECT_EQ(ParseOpcode(OpcodeText(opcode)), opcode);
    EXPECT_EQ(Attributes(DefaultAttributes(opcode)), DefaultAttributes(opcode));
  }
  EXPECT_EQ(ParseOpcode("frobnicate"), std::nullopt);
}

// What may call says so; what has effects is of devices or hosts.
TEST(OpcodeTest, TraitsAgree) {
  int effects = 0;
  for (int i = 0; i < OpcodeCount(); ++i) {
    const auto opcode = static_cast<Opcode>(i);
    const OpcodeFacts& facts = FactsOf(opcode);
    const bool elementwise = IsElementwise(opcode);
    EXPECT_TRUE(elementwise || !Has(opcode, Trait::kAssociates, Trait::kCostly, Trait::kDear)) << facts.name;
    EXPECT_FALSE(Has(opcode, Trait::kCostly) && Has(opcode, Trait::kDear)) << facts.name;
    EXPECT_FALSE(Has(opcode, Trait::kOnScalars) && Has(opcode, Trait::kCalls)) << facts.name;
    EXPECT_EQ(Has(opcode, Trait::kTransfers), facts.family == "host_transfer" && opcode != Opcode::kCustomCall);
    EXPECT_TRUE(facts.family == "collectives" || !Has(opcode, Trait::kMeets, Trait::kTellsPlace)) << facts.name;
    effects += HasSideEffect(Instruction(opcode, kVector));
  }
  EXPECT_EQ(effects, 19);  // 11 collectives, 6 transfers, 2 states of random numbers
}

TEST(ComputationTest, UsersAreListedOnceEach) {
  SmallModule m;
  Instruction* square = m.entry->Add(Opcode::kMultiply, kVector, {m.p, m.p});
  EXPECT_EQ(m.p->users().size(), 3u);
  EXPECT_EQ(m.p->users().back(), square);
  EXPECT_EQ(m.entry->root(), square);
}

TEST(ComputationTest, NamesAreMadeUnique) {
  SmallModule m;
  EXPECT_EQ(m.entry->Add(Opcode::kNegate, kVector, {m.p})->name(), "negate");
  EXPECT_EQ(m.entry->Add(Opcode::kNegate, kVector, {m.p})->name(), "negate.1");
  EXPECT_EQ(m.entry->Add(Opcode::kAbs, kVector, {m.p}, {}, {}, "sum")->name(), "sum.1");
  EXPECT_EQ(m.module.AddComputation("f")->name(), "f.1");
  m.entry->Rename(m.sum, "p");
  EXPECT_EQ(m.sum->name(), "p.1");
  m.entry->Rename(m.negative, "sum");
  EXPECT_EQ(m.negative->name(), "sum");
}

TEST(ComputationTest, ReplaceAllUsesMovesTheRootToo) {
  SmallModule m;
  Instruction* zero =
      m.entry->InsertBefore(m.negative, std::make_unique<Instruction>(Opcode::kAbs, kVector, std::vector{m.p}));
  m.entry->set_root(m.negative);
  m.entry->ReplaceAllUses(m.negative, zero);
  EXPECT_EQ(m.sum->operand(1), zero);
  EXPECT_EQ(m.entry->root(), zero);
  EXPECT_TRUE(m.negative->users().empty());
  m.entry->Remove(m.negative);
  EXPECT_EQ(m.entry->instructions().size(), 3u);
}

TEST(ComputationTest, RemovingWhatIsUsedIsOurBug) {
  SmallModule m;
  EXPECT_THROW(m.entry->Remove(m.p), InternalError);
  EXPECT_THROW(m.entry->Remove(m.sum), InternalError);
}

TEST(ComputationTest, RemoveDeadKeepsParametersAndSideEffects) {
  SmallModule m;
  m.entry->Add(Opcode::kAbs, kVector, {m.p});
  CustomCallAttributes call;
  call.custom_call_has_side_effect = true;
  m.entry->Add(Opcode::kCustomCall, kVector, {m.p}, call);
  m.entry->set_root(m.negative);
  EXPECT_EQ(m.entry->RemoveDead(), 2);  // the sum and the abs
  EXPECT_EQ(m.entry->instructions().size(), 3u);
}

TEST(ComputationTest, SortTopologicallyHeedsControlPredecessors) {
  SmallModule m;
  Instruction* late = m.entry->Add(Opcode::kAbs, kVector, {m.p}, {}, {}, "late");
  m.entry->set_root(m.sum);
  m.negative->AddControlPredecessor(late);
  m.entry->SortTopologically();
  std::vector<std::string> names;
  for (const auto& instruction : m.entry->instructions()) names.push_back(instruction->name());
  EXPECT_EQ(names, (std::vector<std::string>{"p", "late", "negative", "sum"}));
}

TEST(ModuleTest, ClonesAreEqualUntilTheyAreChanged) {
  SmallModule m;
  m.sum->mutable_common().metadata.text = "{op_name=\"x\"}";
  const std::unique_ptr<Module> clone = m.module.Clone();
  std::string difference;
  EXPECT_TRUE(Equal(m.module, *clone, &difference)) << difference;
  EXPECT_NE(clone->entry(), m.entry);
  clone->entry()->root()->mutable_common().metadata.text.clear();
  EXPECT_FALSE(Equal(m.module, *clone, &difference));
  EXPECT_EQ(difference, "common attributes of sum in main");
}

TEST(ModuleTest, EqualSeesLayoutsAndNames) {
  SmallModule m;
  std::unique_ptr<Module> other = m.module.Clone();
  other->entry()->root()->mutable_shape().set_layout(Layout{{0}, ""});
  std::string difference;
  EXPECT_FALSE(Equal(m.module, *other, &difference));
  EXPECT_EQ(difference, "layouts of sum in main");
  other = m.module.Clone();
  other->Rename(other->computations()[0].get(), "g");
  EXPECT_FALSE(Equal(m.module, *other, &difference));
  EXPECT_EQ(difference, "computations f and g");
}

TEST(ModuleTest, UnusedComputationsGo) {
  SmallModule m;
  m.module.RemoveUnusedComputations();
  ASSERT_EQ(m.module.computations().size(), 1u);
  EXPECT_EQ(m.module.AddComputation("f")->name(), "f");
}

TEST(ModuleTest, CloneIntoReplacesParameters) {
  SmallModule m;
  Instruction* inlined =
      CloneInto(*m.callee, *m.entry, std::vector<Instruction*>{m.sum}, [](Computation* c) { return c; });
  EXPECT_EQ(inlined->opcode(), Opcode::kAbs);
  EXPECT_EQ(inlined->operand(0), m.sum);
}

TEST(ModuleTest, ComputationsBuiltApartKeepTheirInstructions) {
  Module module("m");
  auto computation = std::make_unique<Computation>("f");
  computation->Add(Opcode::kParameter, kVector, {}, ParameterAttributes{0});
  Computation* added = module.AddComputation(std::move(computation));
  EXPECT_EQ(added->module(), &module);
  EXPECT_EQ(added->root()->parent(), added);
}

TEST(InstructionTest, AttributesOfAnotherOpcodeAreOurBug) {
  EXPECT_THROW(Instruction(Opcode::kAdd, kVector, {}, IotaAttributes{0}), InternalError);
  EXPECT_TRUE(std::holds_alternative<IotaAttributes>(Instruction(Opcode::kIota, kVector).attributes()));
}

}  // namespace
}  // namespace VXLA_NAMESPACE
