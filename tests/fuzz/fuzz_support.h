// What the libFuzzer targets share. Each reads its bytes as one kind of input: refused with a message, or read.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "core/status.h"

namespace VXLA_NAMESPACE::testing {

inline std::string_view TextOf(const uint8_t* data, size_t size) { return {reinterpret_cast<const char*>(data), size}; }

// Whether all is well; an error that is no fault of the input ends the run, and so does one without a message.
inline bool Holds(const Status& status) {
  if (status.ok()) return true;
  if (status.code() != StatusCode::kInternal && !status.message().empty()) return false;
  std::fprintf(stderr, "%d:%d: %s\n", status.location().line, status.location().column, status.message().c_str());
  std::abort();
}

}  // namespace VXLA_NAMESPACE::testing
