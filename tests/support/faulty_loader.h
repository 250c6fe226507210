// A Vulkan loader in front of the platform's (faulty_loader.cc) that counts what is created and fails the call that a
// test names. Tests open it by OpenOptions::loader_path; FaultyLoader steers it.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace VXLA_NAMESPACE::testing {

class FaultyLoader {
 public:
  // Beside the test program.
  static std::string Path() {
    return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libfaulty_loader.so").string();
  }
  FaultyLoader() : library_(dlopen(Path().c_str(), RTLD_NOW | RTLD_LOCAL)) {}
  bool open() const { return library_ != nullptr; }
  // Counts calls that return a VkResult from now on, from 0. The one that gets number `call` fails with result number
  // `variant` of those that Vulkan lets it return (taken round and round); -1: none fails. `for_good`: so do all later
  // calls of the same function.
  void FailAt(int64_t call, int variant = 0, bool for_good = false) const {
    Function<void(int64_t, int, bool)>("FaultyLoaderArmAt")(call, variant, for_good);
  }
  // The device that was opened as number `device` since the last FailAt is lost after so many more submissions to it;
  // others are not. False: there is none.
  bool LoseDevice(int64_t device, int64_t submissions) const {
    return Function<bool(int64_t, int64_t)>("FaultyLoaderLose")(device, submissions);
  }
  // Whether dispatches of what is recorded from now on are left out, as null hardware does.
  void RunNothing(bool nothing) const { Function<void(bool)>("FaultyLoaderRunNothing")(nothing); }
  int64_t calls() const { return Function<int64_t()>("FaultyLoaderCallCount")(); }
  // The function that failed, "" if none did, and the VkResult that it failed with.
  std::string failed(int32_t& result) const {
    return Function<const char*(int32_t*)>("FaultyLoaderLastFault")(&result);
  }
  // What was created and not destroyed, as "Buffer x 2, ", and what was destroyed though it did not exist; "" if all is
  // well.
  std::string leaks() const { return Function<const char*()>("FaultyLoaderLeakList")(); }

 private:
  template <typename Signature>
  Signature* Function(const char* name) const {
    return reinterpret_cast<Signature*>(dlsym(library_, name));
  }
  void* library_;
};

}  // namespace VXLA_NAMESPACE::testing
