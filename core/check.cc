#include "core/check.h"

#include <fmt/core.h>

namespace VXLA_NAMESPACE {

void FailCheck(const char* file, int line, const char* condition, const std::string& message) {
  throw InternalError(
      fmt::format("internal error: {}:{}: {}{}{}", file, line, condition, message.empty() ? "" : ": ", message));
}

}  // namespace VXLA_NAMESPACE
