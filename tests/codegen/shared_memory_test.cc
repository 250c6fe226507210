#include "backend/vulkan/spirv/shared_memory.h"

#include <gmock/gmock.h>

#include "backend/vulkan/device/handles/kernel.h"
#include "tests/codegen/spirv_test_support.h"

namespace VXLA_NAMESPACE::vulkan {
namespace shared_memory_test {

std::vector<uint32_t> Module(const std::string& shared) {
  return CompileMain("held[data[0]].x = data[1]; barrier(); data[2] = held[data[3]].x;",
                     "layout(constant_id = 0) const uint LANES = 64u;\nlayout(constant_id = 3) const uint STEP = 2u;\n"
                     "layout(constant_id = 4) const bool TWICE = false;\n" +
                         shared);
}

uint64_t Bytes(const std::string& shared, const std::vector<uint32_t>& constants) {
  return spirv::SharedBytes(Module(shared), constants).value_or(0);
}

TEST(SharedMemoryTest, ArraysAreAsLongAsTheConstantsSay) {
  EXPECT_EQ(Bytes("shared uvec4 held[10];", {}), 160u);
  EXPECT_EQ(Bytes("shared uvec4 held[LANES];", {}), 1024u);
  EXPECT_EQ(Bytes("shared uvec4 held[LANES];", {32}), 512u);
  const std::string text = "shared uvec2 held[(TWICE ? 2u : 1u) * (LANES / STEP + 1u) << (LANES > 16u ? 1u : 0u)];";
  EXPECT_EQ(Bytes(text, {32, 1, 1, 4, 0}), 8u * 18);
  EXPECT_EQ(Bytes(text, {16, 1, 1, 4, 1}), 8u * 10);
}

// As members of a storage buffer.
TEST(SharedMemoryTest, VariablesAreAlignedAsTheirTypesAre) {
  EXPECT_EQ(Bytes("struct P { uint x; uvec3 v; };\nshared P held[2];", {}), 64u);
  EXPECT_EQ(Bytes("shared uvec3 held[3];", {}), 48u);
}

TEST(SharedMemoryTest, MoreThanTheDeviceHasIsRefused) {
  DeviceFacts facts;
  facts.name = "Fake";
  facts.max_shared_bytes = 16384;
  KernelKey key;
  key.algorithm = "k";
  key.constants = {1024, 1, 1};
  const std::vector<uint32_t> module = Module("shared uvec4 held[LANES];");
  EXPECT_TRUE(CheckShared(module, key, facts).ok());
  key.constants[0] = 1025;
  const Status refused = CheckShared(module, key, facts);
  EXPECT_EQ(refused.code(), StatusCode::kInternal);
  EXPECT_EQ(refused.message(), "kernel k: a workgroup of 16400 bytes of shared memory, Fake allows 16384");
}

}  // namespace shared_memory_test
}  // namespace VXLA_NAMESPACE::vulkan
