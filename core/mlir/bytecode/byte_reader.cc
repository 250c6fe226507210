#include "core/mlir/bytecode/byte_reader.h"

#include <bit>

namespace VXLA_NAMESPACE::mlir {

Status ByteReader::Failure(std::string_view what) const {
  return InvalidArgument("MLIR bytecode: byte {}: {}", at_, what);
}

Result<uint8_t> ByteReader::Byte(std::string_view what) {
  if (left() == 0) return Error("the file ends before {}", what);
  return static_cast<uint8_t>(bytes_[at_++]);
}

Result<uint64_t> ByteReader::Varint(std::string_view what) {
  VXLA_ASSIGN_OR_RETURN(const uint8_t first, Byte(what));
  const int more = first == 0 ? 8 : std::countr_zero(first);
  if (left() < static_cast<size_t>(more)) return Error("the file ends within {}", what);
  uint64_t rest = 0;
  for (int i = 0; i < more; ++i)
    rest |= uint64_t{static_cast<uint8_t>(bytes_[at_ + static_cast<size_t>(i)])} << (8 * i);
  at_ += static_cast<size_t>(more);
  if (more >= 7) return rest;  // the first byte, 0x80 or 0, has no bit of the value
  return (rest << (7 - more)) | (uint64_t{first} >> (more + 1));
}

Result<int64_t> ByteReader::SignedVarint(std::string_view what) {
  VXLA_ASSIGN_OR_RETURN(const uint64_t zigzag, Varint(what));
  return static_cast<int64_t>((zigzag >> 1) ^ (uint64_t{0} - (zigzag & 1)));
}

Result<uint64_t> ByteReader::Count(std::string_view what) {
  VXLA_ASSIGN_OR_RETURN(const uint64_t count, Varint(what));
  if (count > left()) return Error("{} is {}, {} bytes are left", what, count, left());
  return count;
}

Result<uint64_t> ByteReader::Index(std::string_view what, size_t size) {
  VXLA_ASSIGN_OR_RETURN(const uint64_t index, Varint(what));
  if (index >= size) return Error("{} is number {} of {}", what, index, size);
  return index;
}

Result<std::string_view> ByteReader::Take(uint64_t size, std::string_view what) {
  if (size > left()) return Error("{} has {} bytes, {} are left", what, size, left());
  at_ += size;
  return bytes_.substr(at_ - size, size);
}

Result<std::string_view> ByteReader::Blob(std::string_view what) {
  VXLA_ASSIGN_OR_RETURN(const uint64_t size, Varint(what));
  return Take(size, what);
}

Result<std::string_view> ByteReader::Terminated(std::string_view what) {
  const size_t nul = bytes_.substr(0, end_).find('\0', at_);
  if (nul == std::string_view::npos) return Error("{} has no end", what);
  const std::string_view text = bytes_.substr(at_, nul - at_);
  at_ = nul + 1;
  return text;
}

Status ByteReader::Align(uint64_t alignment) {
  if (!std::has_single_bit(alignment) || alignment > (uint64_t{1} << 32))
    return Error("alignment {} is no power of two up to 2^32", alignment);
  while (at_ % alignment != 0) {
    VXLA_ASSIGN_OR_RETURN(const uint8_t padding, Byte("the padding's end"));
    if (padding != 0xCB) return Error("padding is {:#04x}, not 0xcb", padding);
  }
  return OkStatus();
}

Status ByteReader::ExpectEnd(std::string_view what) const {
  if (left() == 0) return OkStatus();
  return Error("{} bytes behind {}", left(), what);
}

}  // namespace VXLA_NAMESPACE::mlir
