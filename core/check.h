// CHECK macros: for our own bugs only. A failed check throws InternalError, which every public function turns into an
// Internal status; the host program is never aborted.
#pragma once

#include <stdexcept>
#include <string>

#pragma GCC visibility push(default)
namespace VXLA_NAMESPACE {

class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void FailCheck(const char* file, int line, const char* condition, const std::string& message = {});

}  // namespace VXLA_NAMESPACE
#pragma GCC visibility pop

#define VXLA_CHECK(condition, ...)                                                                  \
  do {                                                                                              \
    if (!(condition)) ::vxla::FailCheck(__FILE__, __LINE__, #condition __VA_OPT__(, ) __VA_ARGS__); \
  } while (false)
