#include "core/passes/devices/reduction_form.h"

#include <gtest/gtest.h>

namespace VXLA_NAMESPACE {
namespace {

constexpr PlaceLink kLinks[] = {PlaceLink::kDeviceMemory, PlaceLink::kHostPages, PlaceLink::kStaging,
                                PlaceLink::kProcesses};

TEST(ReductionFormTest, LargeArraysOverThreeAndMorePlacesAreReducedInParts) {
  for (const PlaceLink link : kLinks) {
    for (const int64_t places : {3, 4, 8, 64}) {
      EXPECT_EQ(ChooseReductionForm({int64_t{64} << 20, places, link}), ReductionForm::kParts) << places;
      EXPECT_EQ(ChooseReductionForm({256, places, link}), ReductionForm::kWhole) << places;
    }
  }
}

TEST(ReductionFormTest, TwoPlacesMoveOneArrayEitherWay) {
  for (const PlaceLink link : kLinks)
    EXPECT_EQ(ChooseReductionForm({int64_t{64} << 20, 2, link}), ReductionForm::kWhole);
}

// What is spared grows with the number of places, and a meeting costs more between processes.
TEST(ReductionFormTest, TheSizeFromWhichPartsPayFallsWithThePlaces) {
  const auto first = [](int64_t places, PlaceLink link) {
    int64_t bytes = 1;
    while (ChooseReductionForm({bytes, places, link}) == ReductionForm::kWhole) bytes *= 2;
    return bytes;
  };
  EXPECT_EQ(first(3, PlaceLink::kHostPages), 64 << 10);
  EXPECT_EQ(first(4, PlaceLink::kHostPages), 32 << 10);
  EXPECT_EQ(first(8, PlaceLink::kHostPages), 8 << 10);
  EXPECT_EQ(first(8, PlaceLink::kProcesses), 16 << 10);
}

TEST(ReductionFormTest, PartsCoverAnArrayOnce) {
  for (const int64_t elements : {0, 1, 63, 64, 65, 1000, 12345}) {
    for (const int64_t parts : {1, 2, 3, 8, 64}) {
      int64_t at = 0;
      for (int64_t part = 0; part < parts; ++part) {
        const PartOfArray of = PartOf(elements, parts, part);
        EXPECT_EQ(of.begin, at) << elements << " in " << parts;
        EXPECT_LE(of.begin, of.end);
        EXPECT_TRUE(of.begin % 64 == 0 || of.begin == elements);
        at = of.end;
      }
      EXPECT_EQ(at, elements) << parts;
    }
  }
}

}  // namespace
}  // namespace VXLA_NAMESPACE
