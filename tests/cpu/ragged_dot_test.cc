// ragged-dot in its three kinds and scaled-dot, against sums written out.
#include <cmath>

#include "tests/cpu/cpu_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using enum ElementType;

double At(const Literal& literal, const std::vector<int64_t>& index) {
  const auto dims = literal.shape().dimensions();
  return literal.GetDouble(PositionOf(index, {dims.begin(), dims.end()}));
}

TEST(RaggedDotTest, RowsOfAGroupMeetItsMatrix) {
  const Literal a = Random(kF32, {11, 3}, 1), b = Random(kF32, {4, 3, 5}, 2);
  const std::vector<int64_t> sizes{3, 0, 5, 1};  // two rows are left over
  const Literal r =
      RunText(Entry("a = f32[11,3] parameter(0)\nb = f32[4,3,5] parameter(1)\ng = s32[4] parameter(2)\n"
                    "ROOT r = f32[11,5] ragged-dot(a, b, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
                    "lhs_ragged_dims={0}, rhs_group_dims={0}"),
              {a, b, Ints(kS32, {4}, sizes)});
  int64_t row = 0;
  for (int64_t g = 0; g < 4; ++g) {
    for (int64_t n = 0; n < sizes[static_cast<size_t>(g)]; ++n, ++row) {
      for (int64_t j = 0; j < 5; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < 3; ++k) sum += At(a, {row, k}) * At(b, {g, k, j});
        EXPECT_NEAR(At(r, {row, j}), sum, 1e-6);
      }
    }
  }
  for (; row < 11; ++row) {
    for (int64_t j = 0; j < 5; ++j) EXPECT_EQ(At(r, {row, j}), 0);
  }
}

// A row's product must not see the rows of other groups: 0 times infinity would be NaN.
TEST(RaggedDotTest, OtherGroupsDoNotLeakIn) {
  Literal b(Shape(kF32, {2, 1, 1}));
  b.SetDouble(0, 2);
  b.SetDouble(1, kInf);
  const Literal r =
      RunText(Entry("a = f32[2,1] constant({ {1}, {0} })\nb = f32[2,1,1] parameter(0)\ng = s32[2] constant({1, 1})\n"
                    "ROOT r = f32[2,1] ragged-dot(a, b, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
                    "lhs_ragged_dims={0}, rhs_group_dims={0}"),
              {b});
  EXPECT_THAT(Doubles(r), SameDoubles({2, kNan}));
}

TEST(RaggedDotTest, BatchesHaveTheirOwnGroupsOrShareThem) {
  const Literal a = Random(kF64, {2, 5, 3}, 1), b = Random(kF64, {2, 2, 3, 4}, 2);
  for (bool shared : {false, true}) {
    const std::vector<int64_t> first{4, 1}, second = shared ? first : std::vector<int64_t>{0, 3};
    const std::string groups = shared ? "s64[2]" : "s64[2,2]";
    const Literal g = shared ? Ints(kS64, {2}, first) : Ints(kS64, {2, 2}, {4, 1, 0, 3});
    const Literal r =
        RunText(Entry("a = f64[2,5,3] parameter(0)\nb = f64[2,2,3,4] parameter(1)\ng = " + groups +
                      " parameter(2)\n"
                      "ROOT r = f64[2,5,4] ragged-dot(a, b, g), lhs_batch_dims={0}, lhs_contracting_dims={2}, "
                      "rhs_batch_dims={1}, rhs_contracting_dims={2}, lhs_ragged_dims={1}, rhs_group_dims={0}"),
                {a, b, g});
    for (int64_t batch = 0; batch < 2; ++batch) {
      const std::vector<int64_t>& sizes = batch == 0 ? first : second;
      for (int64_t row = 0; row < 5; ++row) {
        const int64_t group = row < sizes[0] ? 0 : row < sizes[0] + sizes[1] ? 1 : -1;
        for (int64_t j = 0; j < 4; ++j) {
          double sum = 0;
          for (int64_t k = 0; group >= 0 && k < 3; ++k) sum += At(a, {batch, row, k}) * At(b, {group, batch, k, j});
          EXPECT_NEAR(At(r, {batch, row, j}), sum, 1e-14) << shared;
        }
      }
    }
  }
}

TEST(RaggedDotTest, ARaggedContractionGivesAMatrixForEachGroup) {
  const Literal a = Random(kF32, {3, 7}, 1), b = Random(kF32, {7, 2}, 2);
  const std::vector<int64_t> sizes{2, 0, 4};
  const Literal r =
      RunText(Entry("a = f32[3,7] parameter(0)\nb = f32[7,2] parameter(1)\ng = s32[3] parameter(2)\n"
                    "ROOT r = f32[3,3,2] ragged-dot(a, b, g), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
                    "lhs_ragged_dims={1}"),
              {a, b, Ints(kS32, {3}, sizes)});
  int64_t start = 0;
  for (int64_t g = 0; g < 3; start += sizes[static_cast<size_t>(g++)]) {
    for (int64_t i = 0; i < 3; ++i) {
      for (int64_t j = 0; j < 2; ++j) {
        double sum = 0;
        for (int64_t k = start; k < start + sizes[static_cast<size_t>(g)]; ++k) sum += At(a, {i, k}) * At(b, {k, j});
        EXPECT_NEAR(At(r, {g, i, j}), sum, 1e-6);
      }
    }
  }
}

TEST(RaggedDotTest, ARaggedBatchIsADotOfTheBatchesThatAre) {
  const Literal a = Random(kF32, {4, 2, 3}, 1), b = Random(kF32, {4, 3, 2}, 2);
  const Literal r =
      RunText(Entry("a = f32[4,2,3] parameter(0)\nb = f32[4,3,2] parameter(1)\ng = s32[2] constant({1, 2})\n"
                    "ROOT r = f32[4,2,2] ragged-dot(a, b, g), lhs_batch_dims={0}, lhs_contracting_dims={2}, "
                    "rhs_batch_dims={0}, rhs_contracting_dims={1}, lhs_ragged_dims={0}"),
              {a, b});
  for (int64_t i = 0; i < r.element_count(); ++i) {
    const std::vector<int64_t> at = IndexOf(i, {4, 2, 2});
    double sum = 0;
    for (int64_t k = 0; at[0] < 3 && k < 3; ++k) sum += At(a, {at[0], at[1], k}) * At(b, {at[0], k, at[2]});
    EXPECT_NEAR(r.GetDouble(i), sum, 1e-6);
  }
}

TEST(RaggedDotTest, RejectsGroupsBeyondTheRows) {
  const std::string text = Entry(
      "a = f32[3,1] parameter(0)\nb = f32[2,1,1] parameter(1)\ng = s32[2] parameter(2)\n"
      "ROOT r = f32[3,1] ragged-dot(a, b, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
      "lhs_ragged_dims={0}, rhs_group_dims={0}");
  const Literal a = Random(kF32, {3, 1}, 1), b = Random(kF32, {2, 1, 1}, 1);
  EXPECT_THAT(TryRun(text, {a, b, Ints(kS32, {2}, {2, 2})}).status().message(),
              HasSubstr("ragged-dot r: group 1 of 2 rows from row 2 exceeds the 3 rows of f32[3,1]"));
  EXPECT_FALSE(TryRun(text, {a, b, Ints(kS32, {2}, {-1, 2})}).ok());
}

TEST(ScaledDotTest, BlocksAreMultipliedByTheirScales) {
  const Literal a = Random(kF8E4M3FN, {3, 8}, 1), b = Random(kF8E5M2, {5, 8}, 2);
  const Literal s = Array(kF8E8M0FNU, {3, 2}, {1, 2, 4, 0.5, 0x1p-100, 0x1p100}),
                t = Array(kF8E8M0FNU, {5, 1}, {1, 2, 4, 8, 0x1p20});
  const Literal r = RunText(
      Entry("a = f8e4m3fn[3,8] parameter(0)\nb = f8e5m2[5,8] parameter(1)\ns = f8e8m0fnu[3,2] parameter(2)\n"
            "t = f8e8m0fnu[5,1] parameter(3)\nROOT r = f32[3,5] scaled-dot(a, b, s, t), lhs_contracting_dims={1}, "
            "rhs_contracting_dims={1}"),
      {a, b, s, t});
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t j = 0; j < 5; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < 8; ++k) sum += At(a, {i, k}) * At(s, {i, k / 4}) * At(b, {j, k}) * At(t, {j, 0});
      EXPECT_NEAR(At(r, {i, j}), sum, std::abs(sum) * 1e-6);
    }
  }
}

TEST(ScaledDotTest, RejectsScalesThatDoNotCutTheArray) {
  EXPECT_THAT(
      TryRun(Entry("a = f32[2,6] parameter(0)\ns = f32[2,4] parameter(1)\nu = f32[2,1] parameter(2)\n"
                   "ROOT r = f32[2,2] scaled-dot(a, a, s, u), lhs_contracting_dims={1}, rhs_contracting_dims={1}"),
             {Random(kF32, {2, 6}, 1), Random(kF32, {2, 4}, 1), Random(kF32, {2, 1}, 1)})
          .status()
          .message(),
      HasSubstr("scales f32[2,4] do not cut f32[2,6] into blocks"));
  EXPECT_THAT(
      TryRun(Entry("a = f32[2,6] parameter(0)\nu = f32[2,1] parameter(1)\n"
                   "ROOT r = f32[2,3] scaled-dot(a, a, u, u), lhs_contracting_dims={1}, rhs_contracting_dims={1}"),
             {Random(kF32, {2, 6}, 1), Random(kF32, {2, 1}, 1)})
          .status()
          .message(),
      HasSubstr("scaled-dot: the stated shape f32[2,3] should be f32[2,2]"));
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
