// Status and Result: how every failure that the caller or the machine can cause is reported. No exception crosses a
// public function.
#pragma once

#include <fmt/core.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/check.h"

#pragma GCC visibility push(default)
namespace VXLA_NAMESPACE {

// The codes decide the exit code of the command (tools/): kMismatch 1; kInvalidArgument, kUnsupported and kNotFound 2;
// the rest 3.
enum class StatusCode {
  kOk,
  kMismatch,           // it ran, and results differ or a loop limit was hit
  kInvalidArgument,    // text, shapes, attributes, files, options
  kUnsupported,        // a valid program that asks for what this build cannot do
  kDeviceFailure,      // no device, device lost, driver errors, validation messages
  kResourceExhausted,  // out of device or host memory, disk full
  kInternal,           // our own bug
  kCancelled,          // whoever asked for it has called it off
  kNotFound,           // a name that is well formed, and nothing has it
  kDeadlineExceeded,   // it was not done in the time that was given; it may be yet
  kAborted,            // whoever would have done it ended before
};

// A place in a text, 1-based; line 0 means "no place known".
struct SourceLocation {
  int line = 0;
  int column = 0;
  friend bool operator==(const SourceLocation&, const SourceLocation&) = default;
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message, SourceLocation location = {})
      : code_(code), message_(std::move(message)), location_(location) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }
  SourceLocation location() const { return location_; }
  // Keeps the first location: the innermost one is the precise one.
  Status At(SourceLocation location) && {
    if (location_.line == 0) location_ = location;
    return std::move(*this);
  }
  Status WithPrefix(std::string_view prefix) && {
    message_.insert(0, prefix);
    return std::move(*this);
  }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
  SourceLocation location_;
};

inline Status OkStatus() { return {}; }

#define VXLA_DEFINE_STATUS(NAME)                                                          \
  template <typename... Args>                                                             \
  Status NAME(fmt::format_string<Args...> format, Args&&... args) {                       \
    return Status(StatusCode::k##NAME, fmt::format(format, std::forward<Args>(args)...)); \
  }
VXLA_DEFINE_STATUS(Mismatch)
VXLA_DEFINE_STATUS(InvalidArgument)
VXLA_DEFINE_STATUS(Unsupported)
VXLA_DEFINE_STATUS(DeviceFailure)
VXLA_DEFINE_STATUS(ResourceExhausted)
VXLA_DEFINE_STATUS(Internal)
VXLA_DEFINE_STATUS(Cancelled)
VXLA_DEFINE_STATUS(NotFound)
VXLA_DEFINE_STATUS(DeadlineExceeded)
VXLA_DEFINE_STATUS(Aborted)
#undef VXLA_DEFINE_STATUS

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(std::move(status)) { VXLA_CHECK(!status_.ok(), "Result from an OK status"); }

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() & {
    VXLA_CHECK(ok(), status_.message());
    return *value_;
  }
  const T& value() const& {
    VXLA_CHECK(ok(), status_.message());
    return *value_;
  }
  T&& value() && {
    VXLA_CHECK(ok(), status_.message());
    return std::move(*value_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace VXLA_NAMESPACE
#pragma GCC visibility pop

#define VXLA_CONCAT_INNER(a, b) a##b
#define VXLA_CONCAT(a, b) VXLA_CONCAT_INNER(a, b)
#define VXLA_RETURN_IF_ERROR(expression)                                      \
  do {                                                                        \
    if (::vxla::Status status_ = (expression); !status_.ok()) return status_; \
  } while (false)
#define VXLA_ASSIGN_OR_RETURN(declaration, expression) \
  VXLA_ASSIGN_OR_RETURN_IMPL(VXLA_CONCAT(result_, __LINE__), declaration, expression)
#define VXLA_ASSIGN_OR_RETURN_IMPL(result, declaration, expression) \
  auto result = (expression);                                       \
  if (!result.ok()) return result.status();                         \
  declaration = std::move(result).value()
// The same of a variable that is there already, as one statement.
#define VXLA_SET_OR_RETURN(variable, expression)  \
  do {                                            \
    auto outcome_ = (expression);                 \
    if (!outcome_.ok()) return outcome_.status(); \
    variable = std::move(outcome_).value();       \
  } while (false)
