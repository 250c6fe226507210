#include "core/host/guarded.h"

#include <exception>
#include <stdexcept>
#include <system_error>

#include "core/check.h"

namespace VXLA_NAMESPACE {

HostMemoryExhausted::HostMemoryExhausted(size_t bytes) {
  *fmt::format_to_n(text_, sizeof(text_) - 1, "out of host memory: {} bytes asked for", bytes).out = '\0';
}

Status StatusOfException() noexcept {
  StatusCode code = StatusCode::kInternal;
  try {
    try {
      throw;
    } catch (const HostMemoryExhausted& error) {
      code = StatusCode::kResourceExhausted;
      return Status(code, error.what());
    } catch (const std::bad_alloc&) {
      code = StatusCode::kResourceExhausted;
      return Status(code, "out of host memory");
    } catch (const std::length_error& error) {
      code = StatusCode::kResourceExhausted;
      return ResourceExhausted("out of host memory: {}", error.what());
    } catch (const std::system_error& error) {
      code = StatusCode::kResourceExhausted;
      return ResourceExhausted("the system refuses: {}", error.what());
    } catch (const std::exception& error) {
      return Internal("{}", error.what());
    } catch (...) {
      return Internal("an exception of an unknown type");  // of the caller's functions
    }
  } catch (...) {
    return Status(code, {});
  }
}

}  // namespace VXLA_NAMESPACE
