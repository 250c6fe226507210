// The container of MLIR bytecode, byte by byte.
#include <gmock/gmock.h>

#include "core/mlir/bytecode/container.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

// Version 4 and the producer "x", sections 1, 3, 2 and 4 without a byte, then section 0 with "a" and "bc".
std::string SmallBytecode() {
  const std::string head("ML\xefR\x09x\0", 7), sections("\x01\x01\x03\x01\x02\x01\x04\x01", 8);
  return head + sections + std::string("\x00\x11\x05\x07\x05", 5) + std::string("a\0bc\0", 5);
}

std::string BytecodeMessage(std::string_view bytes) {
  const Result<BytecodeContainer> file = ReadContainer(bytes);
  return file.ok() ? "" : std::string(file.status().message());
}

TEST(BytecodeContainerTest, ReadsSectionsAndStrings) {
  const std::string bytes = SmallBytecode();
  const Result<BytecodeContainer> file = ReadContainer(bytes);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->version, 4);
  EXPECT_EQ(file->producer, "x");
  EXPECT_THAT(file->strings, testing::ElementsAre("a", "bc"));
}

TEST(BytecodeContainerTest, EveryTruncationHasAMessage) {
  const std::string bytes = SmallBytecode();
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_NE(BytecodeMessage(bytes.substr(0, size)), "") << size;
}

TEST(BytecodeContainerTest, EveryChangedByteIsReadOrRefused) {
  const std::string bytes = SmallBytecode();
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(value);
      BytecodeMessage(changed);
    }
  }
}

TEST(BytecodeContainerTest, NamesWhatIsWrong) {
  std::string bytes = SmallBytecode();
  bytes[4] = 0x0f;
  EXPECT_EQ(BytecodeMessage(bytes), "MLIR bytecode version 7: the newest known is 6");
  bytes[4] = 0x0b;
  EXPECT_EQ(BytecodeMessage(bytes), "MLIR bytecode: no Properties section");
  bytes = SmallBytecode();
  bytes[17] = 0x7f;
  EXPECT_EQ(BytecodeMessage(bytes), "MLIR bytecode: byte 18: 63 strings in 7 bytes");
  bytes = SmallBytecode();
  bytes[9] = 0x01;
  EXPECT_EQ(BytecodeMessage(bytes), "MLIR bytecode: byte 11: a second Dialect section");
}

}  // namespace
}  // namespace VXLA_NAMESPACE::mlir
