// What loading a bundle takes on a device that is open, as an engine's is.
#pragma once

#include <string>
#include <vector>

#include "tools/session.h"

namespace VXLA_NAMESPACE {

struct LoadTime {
  std::string what;
  double ms = 0;         // from the file to the executable
  double driver_ms = 0;  // vkCreateComputePipelines, on all threads together
};

// The best of so many loads, each on a device of its own: cold, without a cache of pipelines; warm, with what earlier
// loads left there; and in the background, until Load returns.
Result<std::vector<LoadTime>> MeasureLoading(const DeviceOptions& device, const std::string& bundle, int runs);

// A folder under a name of its own in the system's temporary one; gone with the object.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace VXLA_NAMESPACE
