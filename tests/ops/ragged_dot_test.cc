// ragged-dot and scaled-dot on the device against the CPU reference.
#include <fmt/format.h>

#include <cmath>

#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace ragged_dot_test {

struct RaggedCase {
  std::string name, lhs, rhs, groups, result, attributes;
  std::vector<int64_t> sizes;
};

const RaggedCase kCases[] = {
    {"Rows",
     "[11,3]",
     "[4,3,5]",
     "s32[4]",
     "[11,5]",
     "lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}",
     {3, 0, 5, 1}},
    // The groups' dimension in the middle, a free dimension before the rows.
    {"RowsBehind",
     "[2,7,3]",
     "[3,4,5]",
     "s64[4]",
     "[2,7,5]",
     "lhs_contracting_dims={2}, rhs_contracting_dims={0}, lhs_ragged_dims={1}, rhs_group_dims={1}",
     {2, 2, 0, 3}},
    {"BatchesWithTheirOwnGroups",
     "[2,5,3]",
     "[2,2,3,4]",
     "s64[2,2]",
     "[2,5,4]",
     "lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={1}, rhs_contracting_dims={2}, "
     "lhs_ragged_dims={1}, rhs_group_dims={0}",
     {4, 1, 0, 3}},
    {"BatchesThatShareGroups",
     "[2,5,3]",
     "[2,2,3,4]",
     "u8[2]",
     "[2,5,4]",
     "lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={1}, rhs_contracting_dims={2}, "
     "lhs_ragged_dims={1}, rhs_group_dims={0}",
     {4, 1}},
    {"Contracting",
     "[3,7]",
     "[7,2]",
     "s32[3]",
     "[3,3,2]",
     "lhs_contracting_dims={1}, rhs_contracting_dims={0}, lhs_ragged_dims={1}",
     {2, 0, 4}},
    {"ContractingInBatches",
     "[2,3,7]",
     "[2,7,2]",
     "s32[2,3]",
     "[3,2,3,2]",
     "lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}, lhs_ragged_dims={2}",
     {2, 0, 4, 1, 1, 5}},
    {"Batch",
     "[4,2,3]",
     "[4,3,2]",
     "s32[2]",
     "[4,2,2]",
     "lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}, lhs_ragged_dims={0}",
     {1, 2}},
    {"NoRows",
     "[0,3]",
     "[4,3,5]",
     "s32[4]",
     "[0,5]",
     "lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}",
     {0, 0, 0, 0}},
    {"NoGroups",
     "[3,3]",
     "[0,3,5]",
     "s32[0]",
     "[3,5]",
     "lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}",
     {}},
};

void Check(const RaggedCase& c, const std::string& type) {
  SCOPED_TRACE(c.name + " " + type);
  const std::string text = fmt::format(
      "ENTRY e {{ a = {0}{1} parameter(0)  b = {0}{2} parameter(1)  g = {3} parameter(2)\n"
      "ROOT r = {0}{4} ragged-dot(a, b, g), {5} }}",
      type, c.lhs, c.rhs, c.groups, c.result, c.attributes);
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  std::vector<Literal> arguments = RandomArguments(*module, 7);
  for (size_t i = 0; i < c.sizes.size(); ++i) arguments[2].SetInt(static_cast<int64_t>(i), c.sizes[i]);
  RunBoth(text, arguments);
}

class RaggedDotTest : public ::testing::TestWithParam<RaggedCase> {};

TEST_P(RaggedDotTest, AgreesWithTheReference) {
  for (const std::string type : {"f32", "bf16", "s32"}) Check(GetParam(), type);
}

INSTANTIATE_TEST_SUITE_P(Cases, RaggedDotTest, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

TEST(RaggedDotTypesTest, EveryTypeOfTheFirst) {
  for (const std::string type : {"f64", "f16", "f8e4m3fn", "c64", "c128", "u8", "s64"}) Check(kCases[0], type);
}

// 0 times infinity would be NaN: a row's product does not see the other groups.
TEST(RaggedDotTypesTest, OtherGroupsDoNotLeakIn) {
  Literal infinite(Shape(ElementType::kF32, {2, 1, 1})), groups(Shape(ElementType::kS32, {2}));
  infinite.SetDouble(0, 2);
  infinite.SetDouble(1, std::numeric_limits<double>::infinity());
  groups.SetInt(0, 1);
  groups.SetInt(1, 1);
  Literal ones(Shape(ElementType::kF32, {2, 1}));
  ones.SetDouble(0, 1);
  ones.SetDouble(1, 1);
  RunBoth(
      "ENTRY e { a = f32[2,1] parameter(0)  b = f32[2,1,1] parameter(1)  g = s32[2] parameter(2)\n"
      "ROOT r = f32[2,1] ragged-dot(a, b, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
      "lhs_ragged_dims={0}, rhs_group_dims={0} }",
      {ones, infinite, groups});
  RunBoth(
      "ENTRY e { a = f32[2,1] parameter(0)  b = f32[2,1,1] parameter(1)  g = s32[2] parameter(2)\n"
      "x = f32[1,2] reshape(b)  ROOT r = f32[2,1,1] ragged-dot(x, a, g), lhs_contracting_dims={1}, "
      "rhs_contracting_dims={0}, lhs_ragged_dims={1} }",
      {ones, infinite, groups});
}

TEST(ScaledDotTest, BlocksOfEveryType) {
  const auto run = [](const std::string& type, const std::string& scales, const std::string& result) {
    const std::string text = fmt::format(
        "ENTRY e {{ a = {0}[3,8] parameter(0)  b = {0}[8,5] parameter(1)  s = {1}[3,2] parameter(2)\n"
        "t = {1}[1,5] parameter(3)\n"
        "ROOT r = {2}[3,5] scaled-dot(a, b, s, t), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}} }}",
        type, scales, result);
    const auto module = ParseModule(text);
    ASSERT_NE(module, nullptr);
    std::vector<Literal> arguments = RandomArguments(*module, 7);
    for (Literal* scale : {&arguments[2], &arguments[3]}) {
      for (int64_t i = 0; i < scale->element_count(); ++i) scale->SetDouble(i, std::exp2(static_cast<double>(i % 5)));
    }
    RunBoth(text, arguments);
  };
  run("f8e4m3fn", "f8e8m0fnu", "f32");
  run("f8e5m2", "f8e8m0fnu", "bf16");
  run("f4e2m1fn", "f8e8m0fnu", "f32");
  run("f6e2m3fn", "f8e8m0fnu", "f32");
  run("bf16", "bf16", "bf16");
  run("f32", "f32", "f32");
  run("f64", "f32", "f64");
}

}  // namespace ragged_dot_test
}  // namespace VXLA_NAMESPACE::testing
