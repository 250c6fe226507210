// The tensor dialect on the reference: each example of its document, and what is refused.
#include "tests/mlir/mlir_test_support.h"
#include "tests/support/tensor_programs.h"

namespace VXLA_NAMESPACE {
namespace {

Result<Literal> RunText(const std::string& text, const std::vector<Literal>& arguments) {
  VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<Module> module, mlir::ParseStablehlo(text));
  std::vector<const Literal*> pointers;
  for (const Literal& argument : arguments) pointers.push_back(&argument);
  return Evaluate(*module, pointers);
}

TEST(TensorDialectTest, EachExampleOfTheDocumentGivesWhatItSays) {
  for (const tensor_programs::TensorProgram& program : tensor_programs::TensorPrograms()) {
    SCOPED_TRACE(program.name + "\n" + program.text());
    const Result<Literal> result = RunText(program.text(), program.arguments);
    if (!result.ok()) {
      ADD_FAILURE() << Place(result.status());
      continue;
    }
    EXPECT_EQ(tensor_programs::FirstWrong(program, *result), "");
  }
}

}  // namespace
}  // namespace VXLA_NAMESPACE
