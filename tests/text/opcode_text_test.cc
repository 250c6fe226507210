// Every opcode of core/ir/opcode.def has text that parses, prints and parses back.
#include <set>

#include "core/ops/ops.h"
#include "tests/text/opcode_programs.h"
#include "tests/text/text_test_support.h"

namespace VXLA_NAMESPACE {
namespace {

TEST(OpcodeTextTest, EveryOpcodeRoundTrips) {
  std::set<Opcode> seen;
  for (const std::string& program : OpcodePrograms()) {
    const std::unique_ptr<Module> module = RoundTrip(program);
    if (module == nullptr) continue;
    for (const auto& instruction : module->entry()->instructions()) seen.insert(instruction->opcode());
  }
  for (int i = 0; i < OpcodeCount(); ++i) {
    EXPECT_TRUE(seen.contains(static_cast<Opcode>(i))) << "no text for " << OpcodeText(static_cast<Opcode>(i));
  }
}

TEST(OpcodeTextTest, EveryProgramHasTheShapesThatInferenceGives) {
  for (const std::string& program : OpcodePrograms()) {
    const Result<std::unique_ptr<Module>> module = ParseHlo(program);
    ASSERT_TRUE(module.ok()) << module.status().message();
    for (const auto& instruction : (*module)->entry()->instructions()) {
      const Result<Shape> shape = InferShape(*instruction);
      ASSERT_TRUE(shape.ok()) << program << instruction->name() << ": " << shape.status().message();
      EXPECT_TRUE(Compatible(*shape, instruction->shape()))
          << program << instruction->name() << ": " << shape->ToString();
    }
  }
}

// Leaving out the shapes gives the module that stating them gives, layouts apart.
TEST(OpcodeTextTest, LeftOutShapesAreInferred) {
  for (const std::string& program : OpcodePrograms()) {
    const Result<std::unique_ptr<Module>> module = ParseHlo(program);
    ASSERT_TRUE(module.ok()) << module.status().message();
    const Instruction* root = (*module)->entry()->root();
    if (Has(root->opcode(), Trait::kStatesShape)) continue;
    const size_t name = program.rfind("ROOT r = ") + 9;
    const size_t opcode = program.find(fmt::format(" {}(", OpcodeText(root->opcode())), name);
    ASSERT_NE(opcode, std::string::npos) << program;
    std::string shorter = program;
    shorter.erase(name, opcode - name);
    const Result<std::unique_ptr<Module>> inferred = ParseHlo(shorter);
    ASSERT_TRUE(inferred.ok()) << inferred.status().message() << "\n" << shorter;
    EXPECT_TRUE(Compatible((*inferred)->entry()->root()->shape(), root->shape())) << shorter;
  }
}

}  // namespace
}  // namespace VXLA_NAMESPACE
