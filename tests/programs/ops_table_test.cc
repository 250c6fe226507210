// The table of `vxla ops`: its functions exist, its types follow from the checks and the kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "tests/support/command_test_support.h"
#include "tests/support/source_dir.h"
#include "tools/commands/ops_samples.h"

namespace VXLA_NAMESPACE::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

std::set<std::string> FunctionsOfTheBuilder() {
  std::stringstream text;
  for (const char* const file : {"builder.h", "elementwise_functions.def"})
    text << std::ifstream(std::string(SourceDir()) + "/core/builder/" + file).rdbuf();
  const std::string header = text.str();
  std::set<std::string> names;
  const std::regex declaration(R"((?:\nXlaOp |\nVXLA_UNARY\(|\nVXLA_BINARY\(|\nVXLA_(COMPARE)\()([A-Z]\w*))");
  for (std::sregex_iterator at(header.begin(), header.end(), declaration), end; at != end; ++at) {
    names.insert((*at)[2]);
    if ((*at)[1].matched) names.insert((*at)[2].str() + "TotalOrder");
  }
  return names;
}

nlohmann::json Op(const std::string& hlo) {
  const auto table = nlohmann::json::parse(RunVxla("ops --json").out);
  for (const auto& op : table) {
    if (op["hlo"] == hlo) return op;
  }
  ADD_FAILURE() << "no row " << hlo;
  return {};
}

TEST(OpsTableTest, NamesFunctionsThatTheBuilderHas) {
  const std::set<std::string> declared = FunctionsOfTheBuilder();
  std::set<std::string> named;
  for (int i = 0; i < OpcodeCount(); ++i) {
    std::istringstream functions{std::string(BuilderFunctions(static_cast<Opcode>(i)))};
    for (std::string name; functions >> name;) {
      EXPECT_TRUE(declared.contains(name)) << name;
      named.insert(name);
    }
  }
  for (const std::string& name : declared) EXPECT_TRUE(named.contains(name)) << name << " stands in no row";
}

TEST(OpsTableTest, TypesFollowFromTheChecks) {
  EXPECT_THAT(Op("complex")["types"], ElementsAre("f32", "f64"));
  EXPECT_THAT(Op("complex")["native"], ElementsAre("f32", "f64"));
  EXPECT_THAT(Op("fft")["types"], ElementsAre("c64", "c128"));
  EXPECT_THAT(Op("floor")["types"], Not(Contains("s32")));
  EXPECT_THAT(Op("add")["builder"], ElementsAre("Add"));
  EXPECT_EQ(Op("tuple").count("types"), 0u);
}

TEST(OpsTableTest, KernelsTakeNoTypeThatTheChecksRefuse) {
  for (int i = 0; i < OpcodeCount(); ++i) {
    const OpTypes types = TypesOf(static_cast<Opcode>(i));
    for (const ElementType type : types.native)
      EXPECT_THAT(types.accepted, Contains(type)) << OpcodeText(static_cast<Opcode>(i));
    EXPECT_EQ(types.typed, !types.accepted.empty()) << OpcodeText(static_cast<Opcode>(i));
  }
}

TEST(OpsTableTest, ClassesOfTypesHaveNames) {
  using enum ElementType;
  EXPECT_EQ(TypesText({kPred, kF32, kF64}), "pred f32 f64");
  EXPECT_EQ(TypesText(TypesOf(Opcode::kAdd).accepted), "any");
  EXPECT_EQ(TypesText(TypesOf(Opcode::kPower).accepted), "integer float complex");
  EXPECT_EQ(TypesText({}), "-");
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
