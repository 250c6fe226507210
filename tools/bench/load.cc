#include "tools/bench/load.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <random>

#include "tools/bench/peers.h"
#include "tools/files.h"

namespace VXLA_NAMESPACE {
namespace {

// Opening a device is not part of it: its probes' answers are kept in the folder, too.
Result<LoadTime> LoadOnce(const DeviceOptions& options, const std::string& bundle, const LoadOptions& load) {
  VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, OpenClient(options));
  const auto start = Clock::now();
  std::shared_ptr<Executable> executable;
  {
    VXLA_ASSIGN_OR_RETURN(const FileBytes bytes, FileBytes::Open(bundle));
    VXLA_ASSIGN_OR_RETURN(executable, client->Load(std::as_bytes(std::span(bytes.view())), load));
  }
  LoadTime time;
  time.ms = MsSince(start);
  time.driver_ms = executable->compile_statistics().driver_ms;
  return time;
}

}  // namespace

Result<std::vector<LoadTime>> MeasureLoading(const DeviceOptions& device, const std::string& bundle, int runs) {
  struct Way {
    const char* what;
    bool cache, background;
  };
  constexpr Way kWays[] = {{"cold", false, false}, {"warm", true, false}, {"in the background", true, true}};
  const ScratchFolder folder;
  std::vector<LoadTime> times;
  for (const Way& way : kWays) {
    DeviceOptions options = device;
    options.cache = way.cache;
    options.cache_folder = folder.path();
    if (way.cache) VXLA_RETURN_IF_ERROR(LoadOnce(options, bundle, {}).status());
    std::optional<LoadTime> best;
    for (int run = 0; run < runs; ++run) {
      VXLA_ASSIGN_OR_RETURN(const LoadTime time, LoadOnce(options, bundle, {way.background}));
      if (!best || time.ms < best->ms) best = time;
    }
    best->what = way.what;
    times.push_back(*best);
  }
  return times;
}

ScratchFolder::ScratchFolder() {
  std::random_device random;
  path_ = (std::filesystem::temp_directory_path() / fmt::format("vxla_{:08x}{:08x}", random(), random())).string();
  std::filesystem::create_directories(path_);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace VXLA_NAMESPACE
