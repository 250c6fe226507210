// The one hash, and what it promises.
#include "core/host/hash.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace VXLA_NAMESPACE {
namespace {

TEST(HashTest, IsXxh3OnEveryMachine) {
  EXPECT_EQ(HashText("").Hex(), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(HashText("abc").Hex(), "06b05ab6733a618578af5f94892f3950");
}

TEST(HashTest, DiffersByEveryByteAndByLength) {
  std::set<Hash128> seen;
  for (size_t length = 0; length < 40; ++length) seen.insert(HashBytes(std::vector<std::byte>(length)));
  std::vector<std::byte> bytes(40);
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      bytes[i] = static_cast<std::byte>(1 << bit);
      seen.insert(HashBytes(bytes));
    }
    bytes[i] = std::byte{0};
  }
  EXPECT_EQ(seen.size(), 40u + 40 * 8);
}

}  // namespace
}  // namespace VXLA_NAMESPACE
