#include "integrations/pjrt/messages/wire_format.h"

namespace VXLA_NAMESPACE::pjrt {

void AddVarint(std::string& bytes, uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7f) | 0x80);
  bytes += static_cast<char>(value);
}

void AddNumber(std::string& bytes, int field, uint64_t value) {
  AddVarint(bytes, static_cast<uint64_t>(field) << 3);
  AddVarint(bytes, value);
}

void AddBytes(std::string& bytes, int field, std::string_view value) {
  AddVarint(bytes, static_cast<uint64_t>(field) << 3 | 2);
  AddVarint(bytes, value.size());
  bytes += value;
}

}  // namespace VXLA_NAMESPACE::pjrt
