// Lowers HLO text with made-up facts: the entry's root is the instruction under test.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/vulkan/drivers/software/software_driver.h"
#include "backend/vulkan/lower/lower.h"
#include "backend/vulkan/shader/shader_compiler.h"
#include "backend/vulkan/shader/shader_source.h"
#include "core/text/hlo_parser.h"

namespace VXLA_NAMESPACE::vulkan {

inline DeviceFacts FullFacts() {
  DeviceFacts facts;
  facts.name = "made up";
  facts.kind = DeviceFacts::Kind::kSoftware;
  NoteSoftwareCosts(facts);
  facts.int64 = facts.float64 = facts.float16 = true;
  facts.storage16 = facts.storage8 = facts.buffer_addresses = true;
  facts.signed_zero_inf_nan_preserve_16 = facts.signed_zero_inf_nan_preserve_32 =
      facts.signed_zero_inf_nan_preserve_64 = true;
  facts.rounding_rte_16 = facts.rounding_rte_32 = facts.rounding_rte_64 = true;
  facts.spirv_1_6 = true;
  facts.max_workgroup_invocations = 1024;
  facts.max_workgroup_size = {1024, 1024, 64};
  facts.max_storage_buffers = 32;
  return facts;
}

// 32-bit integers and f32 only, no operations between lanes.
inline DeviceFacts BareFacts() {
  DeviceFacts facts = FullFacts();
  facts.int64 = facts.float64 = facts.float16 = false;
  facts.storage16 = facts.storage8 = facts.subgroup_shuffle = false;
  return facts;
}

// Each value is a buffer of its own.
class PlainBuffers : public BufferMap {
 public:
  BufferSlice SliceOf(const Instruction& instruction, int leaf) override {
    const auto [it, fresh] = slices_.emplace(std::pair(&instruction, leaf), static_cast<int>(slices_.size()));
    return {it->second, 0, FlattenTuple(instruction.shape()).at(leaf)->SizeBytes()};
  }
  BufferSlice Scratch(int64_t size_bytes) override { return {1000 + scratch_++, 0, size_bytes}; }
  BufferSlice Constant(std::vector<uint32_t> words) override { return Scratch(static_cast<int64_t>(4 * words.size())); }

 private:
  std::map<std::pair<const Instruction*, int>, int> slices_;
  int scratch_ = 0;
};

inline std::unique_ptr<Module> Parse(std::string_view text) {
  auto module = ParseHlo(text);
  EXPECT_TRUE(module.ok()) << module.status().message();
  return module.ok() ? std::move(module).value() : nullptr;
}

// The steps of the root of the entry.
inline std::vector<Step> LowerRoot(std::string_view text, const DeviceFacts& facts = FullFacts(),
                                   BindingMode bindings = BindingMode::kAddresses) {
  const auto module = Parse(text);
  if (module == nullptr) return {};
  PlainBuffers buffers;
  auto steps = MakeLowering(facts, bindings)->Lower(*module->entry()->root(), buffers);
  EXPECT_TRUE(steps.ok()) << steps.status().message();
  return steps.ok() ? std::move(steps).value() : std::vector<Step>();
}

inline std::string RefusalOf(std::string_view text, const DeviceFacts& facts,
                             BindingMode bindings = BindingMode::kAddresses) {
  const auto module = Parse(text);
  if (module == nullptr) return {};
  PlainBuffers buffers;
  const Status status = MakeLowering(facts, bindings)->Lower(*module->entry()->root(), buffers).status();
  EXPECT_TRUE(status.ok() || status.code() == StatusCode::kUnsupported);
  return status.message();
}

// The capabilities that a module declares which the facts do not have.
inline std::vector<std::string> Overreach(const std::vector<uint32_t>& words, const DeviceFacts& facts) {
  constexpr uint32_t kHeaderWords = 5, kCapability = 17;
  const std::map<uint32_t, std::pair<const char*, bool>> wanted = {
      {9, {"Float16", facts.float16}},
      {10, {"Float64", facts.float64}},
      {11, {"Int64", facts.int64}},
      {22, {"Int16", false}},
      {39, {"Int8", false}},
      {4433, {"StorageBuffer16BitAccess", facts.storage16}},
      {4434, {"UniformAndStorageBuffer16BitAccess", facts.storage16}},
      {4448, {"StorageBuffer8BitAccess", facts.storage8}},
      {61, {"GroupNonUniform", facts.subgroup_shuffle}},
      {65, {"GroupNonUniformShuffle", facts.subgroup_shuffle}},
      {64, {"GroupNonUniformBallot", facts.subgroup_shuffle}}};
  std::vector<std::string> beyond;
  for (size_t at = kHeaderWords; at < words.size() && (words[at] >> 16) > 0; at += words[at] >> 16) {
    if ((words[at] & 0xffffu) != kCapability) continue;
    const auto it = wanted.find(words[at + 1]);
    if (it != wanted.end() && !it->second.second) beyond.push_back(it->second.first);
  }
  return beyond;
}

// The kernel's whole text goes through shaderc, and uses what the facts have; returns the text.
inline std::string Compiled(const Step& step, const DeviceFacts& facts = FullFacts(),
                            BindingMode bindings = BindingMode::kAddresses) {
  auto text = AssembleShader(step.kernel, facts, bindings);
  EXPECT_TRUE(text.ok()) << text.status().message();
  if (!text.ok()) return {};
  const auto words = CompileGlsl(*text, step.name, CompileTarget{});
  EXPECT_TRUE(words.ok()) << words.status().message() << "\n" << step.kernel.generated;
  if (words.ok()) {
    EXPECT_EQ(Overreach(*words, facts), std::vector<std::string>()) << step.kernel.generated;
  }
  return *text;
}

inline int Count(std::string_view text, std::string_view piece) {
  int count = 0;
  for (size_t at = text.find(piece); at != text.npos; at = text.find(piece, at + piece.size())) ++count;
  return count;
}

}  // namespace VXLA_NAMESPACE::vulkan
