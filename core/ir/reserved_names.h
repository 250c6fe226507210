// Names that vxla gives to what its own passes tell one another in instructions. Readers and builders refuse them, so
// that no program can say them.
#pragma once

#include <string_view>

#include "core/status.h"

namespace VXLA_NAMESPACE {

inline constexpr std::string_view kReservedPrefix = "vxla.";

// `what` is where the name stands. Quotes around the name do not count.
inline Status CheckNotReserved(std::string_view what, std::string_view name) {
  if (name.starts_with('"')) name.remove_prefix(1);
  if (!name.starts_with(kReservedPrefix)) return OkStatus();
  name = name.substr(0, name.find_first_of("\"\n"));
  return InvalidArgument("{} \"{}\": names that begin with \"{}\" are vxla's own", what, name, kReservedPrefix);
}

}  // namespace VXLA_NAMESPACE
