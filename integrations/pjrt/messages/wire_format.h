// Protobuf's wire format, as far as the plugin writes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace VXLA_NAMESPACE::pjrt {

void AddVarint(std::string& bytes, uint64_t value);
// A field that is a number; negative ones as their 64 bits, as int64 has them.
void AddNumber(std::string& bytes, int field, uint64_t value);
// A field that is text, bytes or a message.
void AddBytes(std::string& bytes, int field, std::string_view value);

}  // namespace VXLA_NAMESPACE::pjrt
