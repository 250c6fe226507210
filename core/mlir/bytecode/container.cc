#include "core/mlir/bytecode/container.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace VXLA_NAMESPACE::mlir {
namespace {

constexpr std::array<std::string_view, kSectionCount> kSectionNames = {
    "String",   "Dialect",        "AttrType",        "AttrTypeOffset", "IR",
    "Resource", "ResourceOffset", "DialectVersions", "Properties"};

// Reads bytes_[at_, end_); the whole file stays in view, because alignment counts from its beginning.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes), end_(bytes.size()) {}
  ByteReader(std::string_view file, std::string_view part)
      : bytes_(file), at_(part.data() - file.data()), end_(at_ + part.size()) {}

  size_t at() const { return at_; }
  size_t left() const { return end_ - at_; }

  Status Error(std::string_view what) const { return InvalidArgument("MLIR bytecode: byte {}: {}", at_, what); }

  Result<uint8_t> Byte(std::string_view what) {
    if (left() == 0) return Error(fmt::format("the file ends before {}", what));
    return static_cast<uint8_t>(bytes_[at_++]);
  }

  // The trailing zero bits of the first byte say how many bytes follow it.
  Result<uint64_t> Varint(std::string_view what) {
    VXLA_ASSIGN_OR_RETURN(const uint8_t first, Byte(what));
    const int more = first == 0 ? 8 : std::countr_zero(first);
    if (left() < static_cast<size_t>(more)) return Error(fmt::format("the file ends within {}", what));
    uint64_t rest = 0;
    for (int i = 0; i < more; ++i) rest |= uint64_t{static_cast<uint8_t>(bytes_[at_ + i])} << (8 * i);
    at_ += more;
    if (more == 8) return rest;
    if (more == 7) return rest;  // the first byte, 0x80, has no bit of the value
    return (rest << (7 - more)) | (uint64_t{first} >> (more + 1));
  }

  Result<std::string_view> Take(uint64_t size, std::string_view what) {
    if (size > left()) return Error(fmt::format("{} has {} bytes, {} are left", what, size, left()));
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }

  Result<std::string_view> Terminated(std::string_view what) {
    const size_t nul = bytes_.substr(0, end_).find('\0', at_);
    if (nul == std::string_view::npos) return Error(fmt::format("{} has no end", what));
    const std::string_view text = bytes_.substr(at_, nul - at_);
    at_ = nul + 1;
    return text;
  }

  Status Align(uint64_t alignment) {
    if (!std::has_single_bit(alignment) || alignment > (uint64_t{1} << 32))
      return Error(fmt::format("alignment {} is no power of two up to 2^32", alignment));
    while (at_ % alignment != 0) {
      VXLA_ASSIGN_OR_RETURN(const uint8_t padding, Byte("the padding's end"));
      if (padding != 0xCB) return Error(fmt::format("padding is {:#04x}, not 0xcb", padding));
    }
    return Status();
  }

 private:
  std::string_view bytes_;
  size_t at_ = 0, end_ = 0;
};

Status ReadSection(ByteReader& in, BytecodeContainer& out) {
  VXLA_ASSIGN_OR_RETURN(const uint8_t head, in.Byte("a section"));
  const size_t id = head & 0x7f;
  if (id >= kSectionCount || id == static_cast<size_t>(SectionId::kDialectVersions))
    return in.Error(fmt::format("section {} does not belong there", id));
  VXLA_ASSIGN_OR_RETURN(const uint64_t size, in.Varint("a section's size"));
  if ((head & 0x80) != 0) {
    VXLA_ASSIGN_OR_RETURN(const uint64_t alignment, in.Varint("a section's alignment"));
    VXLA_RETURN_IF_ERROR(in.Align(alignment));
  }
  if (out.sections[id]) return in.Error(fmt::format("a second {} section", kSectionNames[id]));
  VXLA_ASSIGN_OR_RETURN(out.sections[id], in.Take(size, fmt::format("the {} section", kSectionNames[id])));
  return Status();
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
  if (count > in.left() / 2) return in.Error(fmt::format("{} strings in {} bytes", count, in.left()));
  std::vector<uint64_t> sizes(count);
  for (size_t i = count; i-- > 0;) {
    VXLA_ASSIGN_OR_RETURN(sizes[i], in.Varint("a string's size"));
  }
  for (const uint64_t size : sizes) {
    VXLA_ASSIGN_OR_RETURN(const std::string_view text, in.Take(size, "a string"));
    if (!text.ends_with('\0')) return in.Error("a string does not end with NUL");
    out.strings.push_back(text.substr(0, size - 1));
  }
  if (in.left() != 0) return in.Error(fmt::format("{} bytes behind the last string", in.left()));
  return Status();
}

}  // namespace

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
