// What a user's GLSL says of itself.
#include "backend/vulkan/lower/custom/user_glsl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace VXLA_NAMESPACE::vulkan::user_glsl_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

UserGlsl Read(std::string_view text) {
  Result<UserGlsl> glsl = ReadUserGlsl(text);
  EXPECT_TRUE(glsl.ok()) << glsl.status().message();
  return glsl.ok() ? *glsl : UserGlsl();
}

TEST(UserGlslTest, FindsPragmasFunctionsAndLayouts) {
  const std::string text = R"(// #version 450, #pragma vxla groups(9), vxla_element
#extension GL_KHR_shader_subgroup_basic : require
  # pragma vxla groups( max(1, IN0_DIM0), 2 )
layout(local_size_x = 8,
       local_size_y = 4) in;  /* float hidden() { */
layout(constant_id = 7) const uint seven = 7u;
struct Pair { float a, b; };
float add(float a, vec2 b) {
  if (a > 0.0) { return a; }
  return a + b.x;
}
void main() { for (;;) { break; } }
)";
  const UserGlsl glsl = Read(text);
  EXPECT_FALSE(glsl.whole);
  EXPECT_FALSE(glsl.by_element);
  EXPECT_THAT(glsl.groups, ElementsAre("max(1, IN0_DIM0)", "2"));
  EXPECT_THAT(glsl.functions, ElementsAre("add"));
  EXPECT_EQ(glsl.extensions, "#extension GL_KHR_shader_subgroup_basic : require\n");
  ASSERT_TRUE(glsl.local_size.has_value());
  EXPECT_THAT(*glsl.local_size, ElementsAre("8", "4", "1"));
  EXPECT_THAT(glsl.text, Not(HasSubstr("local_size_x")));
  EXPECT_THAT(glsl.text, HasSubstr("layout(constant_id = 7) const"));
  EXPECT_EQ(std::ranges::count(glsl.text, '\n'), std::ranges::count(text, '\n'));
  EXPECT_TRUE(Read("#version 450\nvoid main() {}").whole);
  EXPECT_TRUE(Read("void vxla_element(uint i) {}").by_element);
  EXPECT_THAT(*Read("#pragma vxla local_size(3)").local_size, ElementsAre("3", "1", "1"));
}

TEST(UserGlslTest, AnyTextIsRead) {
  for (const std::string piece :
       {"(", ")", "{", "}", "/*", "//", "#", "#pragma", "layout", "layout(", "\n", "a", ";", "in"}) {
    std::string text;
    for (int i = 0; i < 20000; ++i) text += piece;
    EXPECT_TRUE(ReadUserGlsl(text).ok());
  }
  EXPECT_EQ(ReadUserGlsl("#pragma vxla groups").status().message(),
            "#pragma vxla groups: local_size(x, y, z), groups(x, y, z) or shape(a == b, ...) is needed");
  EXPECT_EQ(ReadUserGlsl("#pragma vxla groups(1,2,3,4)").status().message(),
            "#pragma vxla groups(1,2,3,4): 4 values, 1 to 3 are needed");
}

}  // namespace
}  // namespace VXLA_NAMESPACE::vulkan::user_glsl_test
