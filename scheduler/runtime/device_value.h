// DeviceValue: an array that stays in a device's memory between runs, with the moment from which it may be read.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/literal.h"
#include "core/shape.h"
#include "core/status.h"

#pragma GCC visibility push(default)
namespace VXLA_NAMESPACE {

class DeviceMemory;  // scheduler/runtime/buffer_pool.h

// Cheap to copy: copies share the memory. Immutable, but for donation: a run whose program donates the parameter takes
// the memory, and then every copy of the value is gone (its use is an error that says so).
class DeviceValue {
 public:
  DeviceValue() = default;
  // Of an array with bounded dynamic dimensions the memory says how much lives, behind the elements, or `live_sizes`.
  DeviceValue(Shape shape, std::shared_ptr<DeviceMemory> memory, std::vector<int64_t> live_sizes = {});

  const Shape& shape() const { return shape_; }
  bool IsReady() const;
  Status Wait() const;
  // Waits, then downloads.
  Result<Literal> ToLiteral() const;
  const std::shared_ptr<DeviceMemory>& memory() const { return memory_; }
  // How much lives of each dimension; waits where only the device's memory says it. Empty for what is no array.
  Result<std::vector<int64_t>> LiveSizes() const;
  bool knows_sizes() const { return !live_sizes_.empty(); }

 private:
  Shape shape_;
  std::shared_ptr<DeviceMemory> memory_;
  std::vector<int64_t> live_sizes_;
};

// An argument for one parameter: a literal of the host, which is uploaded, or leaves (depth first) from an earlier run.
struct Argument {
  Argument(const Literal& value) : literal(&value) {}  // borrowed until Execute returns
  Argument(DeviceValue value) : leaves{std::move(value)} {}
  Argument(std::vector<DeviceValue> values) : leaves(std::move(values)) {}

  const Literal* literal = nullptr;
  std::vector<DeviceValue> leaves;
  // The caller goes on using the value though the program donates the parameter: the run works on a copy.
  bool keep = false;
};

// What a run gave: the leaves of its result, depth first, readable once the device has finished.
struct Execution {
  Shape shape;
  std::vector<DeviceValue> leaves;

  bool IsReady() const;
  Status Wait() const;
  // Waits, downloads the leaves and rebuilds tuples.
  Result<Literal> ToLiteral() const;
};

}  // namespace VXLA_NAMESPACE
#pragma GCC visibility pop
