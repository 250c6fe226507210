// Programs on several devices: --replicas, --partitions, infeed and outfeed files, arrays stacked
// by device.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/devices.h"
#include "backend/cpu/reference/evaluator.h"
#include "core/devices/replica_groups.h"
#include "core/ir/module.h"
#include "tools/arguments.h"
#include "tools/numpy_file.h"

namespace VXLA_NAMESPACE {

struct ReplicaFlags {
  int64_t replicas = 0, partitions = 0;  // 0: as many as the program says
  double collective_timeout_s = 300;
  std::string infeed, outfeed;
  std::vector<std::string> devices;  // places; none: all on --device
  int64_t count = 0;                 // of logical devices, where --devices is a number of them
  void AddTo(CLI::App& app, bool feeds = true);
  // Makes a list of a number of logical devices, which go round the GPUs; of one or no GPU they are partitions.
  Status ReadCount(const DeviceOptions& options);
  // Of a program that does not say how many there are.
  int64_t partitions_to_make() const { return partitions > 0 ? partitions : std::max<int64_t>(1, count); }
  // Against the program's own counts, which bind where they are above 1.
  Result<DeviceGrid> GridOf(const Module& module) const;
  std::chrono::milliseconds collective_timeout() const {
    return std::chrono::milliseconds(static_cast<int64_t>(collective_timeout_s * 1000));
  }
};

// The arrays of an .npz named infeed_0, infeed_1 ..., in the order in which each device takes them (tuples flattened),
// and what outfeeds send, to be saved as outfeed_0, outfeed_1 ...; several devices have a leading axis or share an
// array.
class FeedFiles {
 public:
  FeedFiles(const ReplicaFlags& flags, int64_t devices);
  Status Open();
  // Every run reads from the beginning, and what the run before has sent is forgotten.
  void Rewind();
  HostTransfers transfers();
  // Writes what the last run has sent. Devices must have sent the same number of arrays of the same shapes.
  Status Save() const;

 private:
  Result<Literal> Next(int64_t device, const Shape& shape);
  Result<const NumpyArray*> ArrayOf(const std::string& name, const Shape& wanted);
  std::string infeed_, outfeed_;
  int64_t devices_;
  std::unique_ptr<NpzFile> file_;
  std::mutex mutex_;                          // devices take their arrays at the same time
  std::map<std::string, NumpyArray> arrays_;  // those that were asked for
  std::vector<int64_t> taken_;                // by device
  std::vector<std::vector<Literal>> sent_;    // by device
};

}  // namespace VXLA_NAMESPACE
