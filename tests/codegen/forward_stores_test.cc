#include "backend/vulkan/spirv/forward_stores.h"

#include "backend/vulkan/spirv/inline_functions.h"
#include "tests/codegen/spirv_test_support.h"

namespace VXLA_NAMESPACE::vulkan {
namespace forward_stores_test {

constexpr uint32_t kVariable = 59, kLoad = 61, kStore = 62, kIMul = 132, kDecorate = 71;

std::vector<uint32_t> Forwarded(const std::string& body, const std::string& functions = "") {
  auto forwarded = spirv::ForwardStores(spirv::InlineFunctions(CompileMain(body, functions)));
  ExpectValid(forwarded);
  return forwarded;
}

// The buffer is the one variable left.
TEST(ForwardStoresTest, ParametersAndResultsOfCallsAreValues) {
  const auto words = Forwarded("uint r;\nuint q = f(data[0], r);\ndata[1] = q + r;",
                               "uint f(uint a, out uint rest) { a += 2u; rest = a * 5u; return a; }");
  EXPECT_EQ(CountOf(words, kVariable), 1);
  EXPECT_EQ(CountOf(words, kLoad), 1);
  EXPECT_EQ(CountOf(words, kStore), 1);
}

TEST(ForwardStoresTest, TheOnlyStoreIsWhatLaterBlocksLoad) {
  const auto words =
      Forwarded("uint a = data[0];\nif (data[1] > a) { data[2] = a; } else { data[3] = a; }\ndata[4] = a;");
  EXPECT_EQ(CountOf(words, kVariable), 1);
  EXPECT_EQ(CountOf(words, kLoad), 2);
}

// A store in a branch comes before what follows it on one path only; one in a loop's turn before the next turn's load.
TEST(ForwardStoresTest, StoresThatMayNotComeFirstStay) {
  EXPECT_EQ(CountOf(Forwarded("uint a = 1u;\nif (data[1] > 2u) a = data[0];\ndata[4] = a;"), kVariable), 2);
  EXPECT_EQ(CountOf(Forwarded("uint a;\nif (data[1] > 2u) a = data[0];\ndata[4] = a;"), kVariable), 2);
  // The loop's counter and `last`.
  EXPECT_EQ(CountOf(Forwarded("uint last;\nfor (uint i = 0u; i < data[9]; ++i) { if (i > 0u) data[i] = last;\n"
                              "last = data[i]; }"),
                    kVariable),
            3);
}

TEST(ForwardStoresTest, ALoadAfterAnotherStoreHasTheLaterValue) {
  const auto words = Forwarded("uint a = data[0];\ndata[1] = a;\na = data[2];\ndata[3] = a * a;\na = 6u;");
  EXPECT_EQ(CountOf(words, kVariable), 1);
  EXPECT_EQ(CountOf(words, kLoad), 2);
  EXPECT_EQ(CountOf(words, kStore), 2);
}

TEST(ForwardStoresTest, WhatOnlyUnreadStoresNeedGoes) {
  const auto words = Forwarded(
      "precise float x = uintBitsToFloat(data[0]);\nfloat y = x * x;\nuint z = data[3] * 7u;\n"
      "uint k = z * z;\ndata[1] = 1u;");
  EXPECT_EQ(CountOf(words, kIMul), 0);
  EXPECT_EQ(CountOf(words, kLoad), 0);
  EXPECT_EQ(CountOf(words, kDecorate), CountOf(Forwarded("data[1] = 1u;"), kDecorate))
      << "no decoration names what is gone";
}

TEST(ForwardStoresTest, VariablesOfWhichPartsAreReadOrWrittenStay) {
  EXPECT_EQ(CountOf(Forwarded("uint a[4];\nfor (uint i = 0u; i < 4u; ++i) a[i] = data[i];\ndata[9] = a[data[8] & 3u];"),
                    kVariable),
            3);
  EXPECT_EQ(CountOf(Forwarded("uvec4 a = uvec4(data[0]);\na[data[1] & 3u] = 7u;\ndata[9] = a.x + a.y;"), kVariable), 2);
}

}  // namespace forward_stores_test
}  // namespace VXLA_NAMESPACE::vulkan
