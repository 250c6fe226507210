// The outer layer of MLIR bytecode: header, sections and string table, of every version (0 to 6). Views of the bytes,
// which stay the caller's. What the sections hold (types, attributes, operations): core/mlir/bytecode/reader.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/mlir/bytecode/byte_reader.h"

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

// The parts that an operation may have, as bits of its mask.
inline constexpr uint8_t kHasAttributes = 0x01, kHasResults = 0x02, kHasOperands = 0x04, kHasSuccessors = 0x08,
                         kHasRegions = 0x10, kHasUseLists = 0x20, kHasProperties = 0x40;

struct BytecodeContainer {
  uint64_t version = 0;
  std::string_view producer;                                            // such as StableHLO_v1.15.0
  std::array<std::optional<std::string_view>, kSectionCount> sections;  // by SectionId
  std::vector<std::string_view> strings;
};

struct BytecodeSection {
  SectionId id;
  std::string_view bytes;
};
Result<BytecodeSection> ReadBytecodeSection(ByteReader& in);

// Errors: InvalidArgument with the byte and what is wrong there; Unsupported: a version newer than
// kNewestBytecodeVersion.
Result<BytecodeContainer> ReadContainer(std::string_view bytes);

}  // namespace VXLA_NAMESPACE::mlir
