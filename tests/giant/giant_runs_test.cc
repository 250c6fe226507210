// Products, convolutions, windows, sorts and scatters whose arrays have 2^31 elements and more: minutes, and 5 GB of a
// device with addresses. Built and run on demand; ops_tests take the same ways on small arrays, under a lowered limit.
#include <gtest/gtest.h>

#include "tests/support/giant_results.h"

namespace VXLA_NAMESPACE::testing {
namespace {

// Operands and results of 2^31 elements and more, in parts of 1 GB.
TEST(GiantRunsTest, Windows) {
  const auto pooled = Results(BindingMode::kAddresses,
                              R"(most { a = u8[] parameter(0)  b = u8[] parameter(1)  ROOT r = u8[] maximum(a, b) }
ENTRY e { i = u8[46342,46342] iota(), iota_dimension=0  z = u8[] constant(0)
  w = u8[232,232] reduce-window(i, z), window={size=3x2 stride=200x200}, to_apply=most
  ROOT s = u8[232,1] slice(w), slice={[0:232],[231:232]} })",
                              {});
  std::vector<int64_t> most;
  for (int64_t i = 0; i < 232; ++i) {
    const int64_t first = (200 * i) & 255;
    most.push_back(first >= 254 ? 255 : first + 2);
  }
  EXPECT_EQ(pooled, (std::vector<std::vector<int64_t>>{most}));
}

TEST(GiantRunsTest, Convolutions) {
  const auto convolved = Results(BindingMode::kAddresses,
                                 R"(ENTRY e { i = s8[1,46342,46342,1] iota(), iota_dimension=1  o = s8[] constant(1)
  k = s8[2,1,1,1] broadcast(o), dimensions={}
  c = s8[1,232,232,1] convolution(i, k), window={size=2x1 stride=200x200}, dim_labels=b01f_01io->b01f
  ROOT s = s8[1,232,1,1] slice(c), slice={[0:1],[0:232],[231:232],[0:1]} })",
                                 {});
  std::vector<int64_t> sums;
  for (int64_t i = 0; i < 232; ++i) sums.push_back(static_cast<int8_t>(400 * i + 1));
  EXPECT_EQ(convolved, (std::vector<std::vector<int64_t>>{sums}));
}

TEST(GiantRunsTest, Scatters) {
  const auto scattered =
      Results(BindingMode::kAddresses, R"(put { a = u8[] parameter(0)  ROOT b = u8[] parameter(1) }
ENTRY e { x = u8[] parameter(0)  at = s32[2,1] parameter(1)  b = u8[46342,46342] broadcast(x), dimensions={}
  u = u8[2,46342] iota(), iota_dimension=1
  y = u8[46342,46342] scatter(b, at, u), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=put
  ROOT s = u8[2,3] slice(y), slice={[46340:46342],[46339:46342]} })",
              {Byte(77), Literal::FromVector<int32_t>(Shape(ElementType::kS32, {2, 1}), {{5, 46341}})});
  std::vector<int64_t> cells = {77, 77, 77};
  for (int64_t i = 46339; i < 46342; ++i) cells.push_back(i & 255);
  EXPECT_EQ(scattered, (std::vector<std::vector<int64_t>>{cells}));
}

TEST(GiantRunsTest, Sorts) {
  const auto sorted = Results(BindingMode::kAddresses, R"(less { a = u8[] parameter(0)  b = u8[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=LT }
ENTRY e { i = u8[1073741825,2] iota(), iota_dimension=1  h = u8[] constant(200)  c = u8[1073741825,2] broadcast(h), dimensions={}
  x = u8[1073741825,2] subtract(c, i)  y = u8[1073741825,2] sort(x), dimensions={1}, to_apply=less
  ROOT s = u8[2,2] slice(y), slice={[1073741823:1073741825],[0:2]} })",
                              {});
  EXPECT_EQ(sorted, (std::vector<std::vector<int64_t>>{{199, 200, 199, 200}}));
}

// One row: 8,388,609 of each of 0 to 4, 8,388,608 of each other byte.
TEST(GiantRunsTest, OneSortedRow) {
  const auto sorted = Results(BindingMode::kAddresses, R"(less { a = u8[] parameter(0)  b = u8[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=LT }
ENTRY e { x = u8[2147483653] iota(), iota_dimension=0  y = u8[2147483653] sort(x), dimensions={0}, to_apply=less
  a = u8[2] slice(y), slice={[8388608:8388610]}  b = u8[2] slice(y), slice={[41943044:41943046]}
  c = u8[2] slice(y), slice={[1073741828:1073741830]}  d = u8[2] slice(y), slice={[2147483651:2147483653]}
  ROOT r = u8[8] concatenate(a, b, c, d), dimensions={0} })",
                              {});
  EXPECT_EQ(sorted, (std::vector<std::vector<int64_t>>{{0, 1, 4, 5, 127, 128, 255, 255}}));
}

// Positions in the second part count from the row's begin.
TEST(GiantRunsTest, TheBestOfOneRow) {
  const auto best =
      Results(BindingMode::kAddresses, R"(ENTRY e { i = u8[2147483653] iota(), iota_dimension=0  m = u8[] constant(127)
  h = u8[2147483653] broadcast(m), dimensions={}  x = u8[2147483653] and(i, h)  at = s64[] constant(1500000001)
  new = u8[2] constant({200, 201})  y = u8[2147483653] dynamic-update-slice(x, new, at)
  ROOT k = (u8[4], s32[4]) topk(y), k=4, largest=true })",
              {});
  EXPECT_EQ(best, (std::vector<std::vector<int64_t>>{{201, 200, 127, 127}, {1500000002, 1500000001, 127, 255}}));
}

TEST(GiantRunsTest, Products) {
  const auto product =
      Results(BindingMode::kAddresses,
              R"(ENTRY e { i = s8[46342,2] iota(), iota_dimension=0  j = s8[2,46342] iota(), iota_dimension=1
  d = s8[46342,46342] dot(i, j), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT s = s8[1,4] slice(d), slice={[46341:46342],[46338:46342]} })",
              {});
  std::vector<int64_t> last;
  for (int64_t j = 46338; j < 46342; ++j) last.push_back(static_cast<int8_t>(2 * 46341 * j));
  EXPECT_EQ(product, (std::vector<std::vector<int64_t>>{last}));
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
