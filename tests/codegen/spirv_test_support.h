// Small kernels as SPIR-V, what is in them, and whether they are valid.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "backend/vulkan/shader/shader_compiler.h"
#include "tests/support/spirv_validity.h"

namespace VXLA_NAMESPACE::vulkan {

inline int CountOf(const std::vector<uint32_t>& words, uint32_t op) {
  int count = 0;
  for (size_t at = 5; at < words.size() && (words[at] >> 16) > 0; at += words[at] >> 16)
    count += (words[at] & 0xffffu) == op;
  return count;
}

inline std::vector<uint32_t> CompileMain(const std::string& main_body, const std::string& functions = "",
                                         const CompileTarget& target = {}) {
  const auto words = CompileGlsl(
      "#version 460\nlayout(local_size_x = 1) in;\nlayout(set = 0, binding = 0, std430) buffer Data { uint data[]; "
      "};\n" +
          functions + "\nvoid main() {\n" + main_body + "\n}\n",
      "test", target);
  EXPECT_TRUE(words.ok()) << words.status().message();
  return words.ok() ? *words : std::vector<uint32_t>();
}

inline void ExpectValid(const std::vector<uint32_t>& words, const std::string& label = "") {
  EXPECT_EQ(ComplaintsOf(words), "") << label;
}

}  // namespace VXLA_NAMESPACE::vulkan
