// Custom calls: the host functions that a program's custom-call instructions name. This header needs the standard
// library only.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)
namespace VXLA_NAMESPACE {

// How a custom call reports that it failed; untouched it succeeded.
class CustomCallStatus {
 public:
  void SetFailure(std::string message) {
    failed_ = true;
    message_ = std::move(message);
  }
  bool failed() const { return failed_; }
  const std::string& message() const { return message_; }

 private:
  bool failed_ = false;
  std::string message_;
};

// Functions by target name. Arrays are dense, row-major unless the instruction states operand_layout_constraints, pred
// and types below 8 bits one byte an element. `out` points to the result's elements, in[k] to operand k's; a tuple is
// an array of pointers to its elements. The functions must neither write to their operands nor have side effects, and
// are called from several threads if a program runs on several devices. The form of dynamic arrays:
// docs/dynamic_dimensions.md.
class CustomCallRegistry {
 public:
  // Accepts functions and function objects with one of these signatures:
  //   void(void* out, void** in)                                             as XLA's documentation has it
  //   void(void* out, const void** in)
  //   void(void* out, const void** in, CustomCallStatus& status)             a function that can fail
  //   void(void* out, const void** in, std::string_view opaque, CustomCallStatus& status)
  //   void(void* out, const void** in, const char* opaque, size_t opaque_size, CustomCallStatus& status)
  // `opaque` is the instruction's backend_config. A second registration of a name replaces the first.
  template <typename Function>
  void Register(std::string target, Function function);

  using Call = std::function<void(void* out, const void** in, std::string_view opaque, CustomCallStatus& status)>;
  // nullptr: no such target.
  const Call* Find(const std::string& target) const {
    const auto it = calls_.find(target);
    return it == calls_.end() ? nullptr : &it->second;
  }
  std::vector<std::string> targets() const {
    std::vector<std::string> names;
    for (const auto& [name, call] : calls_) names.push_back(name);
    return names;
  }

 private:
  std::map<std::string, Call> calls_;
};

template <typename Function>
void CustomCallRegistry::Register(std::string target, Function function) {
  Call call;
  if constexpr (std::is_invocable_v<Function, void*, const void**, std::string_view, CustomCallStatus&>) {
    call = std::move(function);
  } else if constexpr (std::is_invocable_v<Function, void*, const void**, const char*, size_t, CustomCallStatus&>) {
    call = [function](void* out, const void** in, std::string_view opaque, CustomCallStatus& status) {
      function(out, in, opaque.data(), opaque.size(), status);
    };
  } else if constexpr (std::is_invocable_v<Function, void*, const void**, CustomCallStatus&>) {
    call = [function](void* out, const void** in, std::string_view, CustomCallStatus& status) {
      function(out, in, status);
    };
  } else if constexpr (std::is_invocable_v<Function, void*, const void**>) {
    call = [function](void* out, const void** in, std::string_view, CustomCallStatus&) { function(out, in); };
  } else {
    call = [function](void* out, const void** in, std::string_view, CustomCallStatus&) {
      function(out, const_cast<void**>(in));
    };
  }
  calls_[std::move(target)] = std::move(call);
}

}  // namespace VXLA_NAMESPACE
#pragma GCC visibility pop
