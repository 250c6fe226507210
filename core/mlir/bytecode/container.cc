#include "core/mlir/bytecode/container.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

constexpr std::array<std::string_view, kSectionCount> kSectionNames = {
    "String",   "Dialect",        "AttrType",        "AttrTypeOffset", "IR",
    "Resource", "ResourceOffset", "DialectVersions", "Properties"};

Status ReadSection(ByteReader& in, BytecodeContainer& out) {
  VXLA_ASSIGN_OR_RETURN(const BytecodeSection section, ReadBytecodeSection(in));
  const size_t id = static_cast<size_t>(section.id);
  if (section.id == SectionId::kDialectVersions) return in.Error("section {} does not belong there", id);
  if (out.sections[static_cast<size_t>(id)]) return in.Error("a second {} section", kSectionNames[id]);
  out.sections[static_cast<size_t>(id)] = section.bytes;
  return OkStatus();
}

Status CheckPresent(const BytecodeContainer& out) {
  for (const SectionId id : {SectionId::kString, SectionId::kDialect, SectionId::kAttrType, SectionId::kAttrTypeOffset,
                             SectionId::kIr, SectionId::kProperties}) {
    if (id == SectionId::kProperties && out.version < 5) continue;
    const size_t i = static_cast<size_t>(id);
    if (!out.sections[i]) return InvalidArgument("MLIR bytecode: no {} section", kSectionNames[i]);
  }
  return Status();
}

// The sizes come first and last string first, then the strings.
Status ReadStrings(std::string_view file, BytecodeContainer& out) {
  ByteReader in(file, *out.sections[static_cast<size_t>(SectionId::kString)]);
  VXLA_ASSIGN_OR_RETURN(const uint64_t count, in.Varint("the number of strings"));
  // A string takes two bytes or more: its size and its NUL. So memory is bounded by the file's size.
  if (count > in.left() / 2) return in.Error("{} strings in {} bytes", count, in.left());
  std::vector<uint64_t> sizes(count);
  for (size_t i = count; i-- > 0;) VXLA_SET_OR_RETURN(sizes[i], in.Varint("a string's size"));
  for (const uint64_t size : sizes) {
    VXLA_ASSIGN_OR_RETURN(const std::string_view text, in.Take(size, "a string"));
    if (!text.ends_with('\0')) return in.Error("a string does not end with NUL");
    out.strings.push_back(text.substr(0, size - 1));
  }
  return in.ExpectEnd("the last string");
}

}  // namespace

Result<BytecodeSection> ReadBytecodeSection(ByteReader& in) {
  VXLA_ASSIGN_OR_RETURN(const uint8_t head, in.Byte("a section"));
  const size_t id = head & 0x7f;
  if (id >= kSectionCount) return in.Error("section {} does not belong there", id);
  VXLA_ASSIGN_OR_RETURN(const uint64_t size, in.Varint("a section's size"));
  if ((head & 0x80) != 0) {
    VXLA_ASSIGN_OR_RETURN(const uint64_t alignment, in.Varint("a section's alignment"));
    VXLA_RETURN_IF_ERROR(in.Align(alignment));
  }
  VXLA_ASSIGN_OR_RETURN(const std::string_view bytes, in.Take(size, fmt::format("the {} section", kSectionNames[id])));
  return BytecodeSection{static_cast<SectionId>(id), bytes};
}

Result<BytecodeContainer> ReadContainer(std::string_view bytes) {
  ByteReader in(bytes);
  if (!bytes.starts_with(kBytecodeMagic)) return in.Error("the file does not begin with ML\\xefR");
  BytecodeContainer out;
  VXLA_RETURN_IF_ERROR(in.Take(kBytecodeMagic.size(), "the magic number").status());
  VXLA_ASSIGN_OR_RETURN(out.version, in.Varint("the version"));
  if (out.version > kNewestBytecodeVersion)
    return Unsupported("MLIR bytecode version {}: the newest known is {}", out.version, kNewestBytecodeVersion);
  VXLA_ASSIGN_OR_RETURN(out.producer, in.Terminated("the producer"));
  while (in.left() != 0) VXLA_RETURN_IF_ERROR(ReadSection(in, out));
  VXLA_RETURN_IF_ERROR(CheckPresent(out));
  VXLA_RETURN_IF_ERROR(ReadStrings(bytes, out));
  return out;
}

}  // namespace VXLA_NAMESPACE::mlir
