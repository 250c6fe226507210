// The outer layer of MLIR bytecode: header, sections and string table, of every version (0 to 6). Views of the bytes,
// which stay the caller's. What the sections hold (types, attributes, operations) is not read here.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace VXLA_NAMESPACE::mlir {

inline constexpr std::string_view kBytecodeMagic = "ML\xefR";
inline constexpr uint64_t kNewestBytecodeVersion = 6;

// The numbers of the format.
enum class SectionId : uint8_t {
  kString,
  kDialect,
  kAttrType,
  kAttrTypeOffset,
  kIr,
  kResource,
  kResourceOffset,
  kDialectVersions,
  kProperties
};
inline constexpr size_t kSectionCount = 9;

struct BytecodeContainer {
  uint64_t version = 0;
  std::string_view producer;                                            // such as StableHLO_v1.15.0
  std::array<std::optional<std::string_view>, kSectionCount> sections;  // by SectionId
  std::vector<std::string_view> strings;
};

// Errors: InvalidArgument with the byte and what is wrong there; Unsupported: a version newer than
// kNewestBytecodeVersion.
Result<BytecodeContainer> ReadContainer(std::string_view bytes);

}  // namespace VXLA_NAMESPACE::mlir
