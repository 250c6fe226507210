#include "tools/commands/replicas.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "api/replicas.h"
#include "tools/command_line.h"

namespace VXLA_NAMESPACE {
namespace {

Result<int64_t> CountOf(const char* option, int64_t given, int64_t stated, const char* attribute) {
  if (given == 0) return stated;
  if (stated > 1 && given != stated)
    return InvalidArgument("{} {}: the program says {}={}", option, given, attribute, stated);
  return given;
}

}  // namespace

void ReplicaFlags::AddTo(CLI::App& app, bool feeds) {
  app.option_defaults()->group(kReplicaOptions);
  app.add_option("--replicas", replicas,
                 "replicas to run; default: the program's replica_count. One Vulkan device stands for all of them")
      ->check(WholeNumber(1, INT64_MAX))
      ->type_name("N");
  app.add_option("--partitions", partitions,
                 "partitions of each replica; default: the program's num_partitions. Arrays have a leading "
                 "axis of replicas * partitions, replica-major, or go to all")
      ->check(WholeNumber(1, INT64_MAX))
      ->type_name("N");
  CLI::Option* const places = app.add_option(
      "--devices", devices,
      "the devices that replicas and partitions are spread over: numbers, or as --device takes them. One twice is two "
      "logical devices. all: every one of this machine. run and explain: one number from 2 on is so many logical "
      "devices, which go round the GPUs. Default: all on --device");
  places->delimiter(',')->type_name("LIST");
  if (CLI::Option* const device = app.get_option_no_throw("--device")) places->excludes(device);
  app.add_option("--collective-timeout", collective_timeout_s,
                 "seconds that a device waits for others before the deadlock report; 0: forever")
      ->check(NumberFromZero(1e9))
      ->type_name("S")
      ->capture_default_str();
  if (!feeds) return;
  app.add_option("--infeed", infeed, "an .npz with infeed_0, infeed_1 ... in the order in which infeeds take them")
      ->type_name("FILE");
  app.add_option("--outfeed", outfeed, "save what outfeeds send as an .npz with outfeed_0, outfeed_1 ...")
      ->check(FileToWrite())
      ->type_name("FILE");
}

Status ReplicaFlags::ReadCount(const DeviceOptions& options) {
  if (devices.size() != 1) return OkStatus();
  const std::string word = devices[0];
  int64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size() || number < 2) return OkStatus();
  if (number > DeviceGrid::kMost)
    return InvalidArgument("--devices {}: {} logical devices at most", number, DeviceGrid::kMost);
  count = number;
  devices.clear();
  VXLA_ASSIGN_OR_RETURN(const std::vector<DeviceFacts> facts, ListDevices(options.loader_path));
  std::vector<std::string> gpus;
  for (size_t i = 0; i < facts.size(); ++i) {
    if (!facts[i].compile_only && !facts[i].is_software()) gpus.push_back(std::to_string(i));
  }
  if (gpus.size() < 2) return OkStatus();
  for (int64_t i = 0; i < number; ++i) devices.push_back(gpus[static_cast<size_t>(i) % gpus.size()]);
  return OkStatus();
}

Result<DeviceGrid> ReplicaFlags::GridOf(const Module& module) const {
  DeviceGrid grid;
  VXLA_ASSIGN_OR_RETURN(grid.replicas,
                        CountOf("--replicas", replicas, module.attributes().replica_count, "replica_count"));
  VXLA_ASSIGN_OR_RETURN(grid.partitions,
                        CountOf("--partitions", partitions, module.attributes().num_partitions, "num_partitions"));
  if (grid.replicas > DeviceGrid::kMost || grid.partitions > DeviceGrid::kMost / grid.replicas) {
    return InvalidArgument("{} replicas times {} partitions exceed the limit of {} devices", grid.replicas,
                           grid.partitions, DeviceGrid::kMost);
  }
  if (count > 0 && grid.count() == 1) grid.partitions = count;
  if (count > 0 && grid.count() != count)
    return InvalidArgument("--devices {}: the program runs on {} devices", count, grid.count());
  return grid;
}

FeedFiles::FeedFiles(const ReplicaFlags& flags, int64_t devices)
    : infeed_(flags.infeed),
      outfeed_(flags.outfeed),
      devices_(devices),
      taken_(static_cast<size_t>(devices)),
      sent_(static_cast<size_t>(devices)) {}

Status FeedFiles::Open() {
  if (infeed_.empty()) return OkStatus();
  VXLA_ASSIGN_OR_RETURN(file_, NpzFile::Open(infeed_));
  file_->TakeUnnamedAs("infeed");
  return OkStatus();
}

void FeedFiles::Rewind() {
  std::ranges::fill(taken_, 0);
  for (auto& of_device : sent_) of_device.clear();
}

Result<const NumpyArray*> FeedFiles::ArrayOf(const std::string& name, const Shape& wanted) {
  const std::lock_guard lock(mutex_);
  const auto known = arrays_.find(name);
  if (known != arrays_.end()) return &known->second;
  if (!file_->Contains(name))
    return InvalidArgument("{}: has no {}, which must be {}", infeed_, name, wanted.ToString());
  VXLA_ASSIGN_OR_RETURN(NumpyArray array, file_->Read(name));
  return &arrays_.emplace(name, std::move(array)).first->second;
}

Result<Literal> FeedFiles::Next(int64_t device, const Shape& shape) {
  std::vector<Literal> leaves;
  for (const Shape* leaf : FlattenTuple(shape)) {
    const std::string name = fmt::format("infeed_{}", taken_[static_cast<size_t>(device)]++);
    VXLA_ASSIGN_OR_RETURN(const NumpyArray* array, ArrayOf(name, *leaf));
    VXLA_ASSIGN_OR_RETURN(const std::string type_name, file_->TypeName(name));
    VXLA_ASSIGN_OR_RETURN(std::vector<Literal> pieces, ToLiterals(*array, *leaf, type_name, name, devices_));
    leaves.push_back(std::move(pieces[pieces.size() == 1 ? 0 : static_cast<size_t>(device)]));
  }
  return UnflattenLiteral(shape, leaves);
}

HostTransfers FeedFiles::transfers() {
  HostTransfers host;
  if (!infeed_.empty()) host.infeed = [this](int64_t device, const Shape& shape) { return Next(device, shape); };
  if (!outfeed_.empty()) {
    host.outfeed = [this](int64_t device, Literal value) {
      // A device touches its own list only.
      for (const Literal* leaf : FlattenLiteral(value)) sent_[static_cast<size_t>(device)].push_back(*leaf);
      return OkStatus();
    };
  }
  return host;
}

Status FeedFiles::Save() const {
  if (outfeed_.empty()) return OkStatus();
  std::vector<Literal> stacked;
  for (size_t k = 0; k < sent_[0].size(); ++k) {
    std::vector<const Literal*> pieces;
    for (const auto& of_device : sent_) {
      if (of_device.size() != sent_[0].size()) {
        return InvalidArgument("{}: devices have sent {} and {} arrays, which one file cannot stack", outfeed_,
                               sent_[0].size(), of_device.size());
      }
      pieces.push_back(&of_device[k]);
    }
    if (devices_ == 1) {
      stacked.push_back(*pieces[0]);
      continue;
    }
    VXLA_ASSIGN_OR_RETURN(Literal one, StackByDevice(pieces, fmt::format("outfeed_{}", k)));
    stacked.push_back(std::move(one));
  }
  std::vector<const Literal*> leaves;
  for (const Literal& literal : stacked) leaves.push_back(&literal);
  return WriteNpz(outfeed_, "outfeed", leaves);
}

}  // namespace VXLA_NAMESPACE
