// Stopwatch: milliseconds of the host's clock since its begin.
#pragma once

#include <chrono>

namespace VXLA_NAMESPACE {

class Stopwatch {
 public:
  double Ms() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace VXLA_NAMESPACE
