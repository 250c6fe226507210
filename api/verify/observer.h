// Observer: the host's side of a function's check operations: judges, prints and keeps what a run shows.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backend/cpu/reference/library/custom_call.h"
#include "core/devices/replica_groups.h"
#include "core/mlir/importer/check_program.h"

namespace VXLA_NAMESPACE {

class Observer {
 public:
  // `function` outlives it.
  explicit Observer(const mlir::CheckFunction& function) : function_(function) {}

  // Each run begins, shows its values on threads of its own, and ends: then what its devices showed counts, device
  // after device. A run that begins anew has shown nothing.
  void Begin(const DeviceGrid& grid);
  void See(const Instruction& observation, std::span<const Literal> inputs, Literal& agrees, CustomCallStatus& status);
  void End();

  const std::vector<std::string>& printed() const { return printed_; }
  // The first check that failed.
  const Status& verdict() const { return verdict_; }

 private:
  struct Seen {
    size_t number = 0;
    Status judged;
    std::optional<Literal> value;  // of what is printed, kept or compared with what was kept
  };
  Status Count(Seen seen, const std::string& device);

  const mlir::CheckFunction& function_;
  DeviceGrid grid_;
  std::mutex mutex_;
  std::vector<std::vector<Seen>> seen_;  // by device
  std::map<std::string, std::vector<Literal>> probes_;
  std::vector<std::string> printed_;
  Status verdict_;
};

// A scalar that stands for an array of many.
Literal Filled(const Literal& value, const Shape& shape);

}  // namespace VXLA_NAMESPACE
