// DeviceBuffer: an array that stays in a device's memory between runs, with the event from which on it may be read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/data/literal.h"
#include "core/data/shape.h"
#include "core/status.h"
#include "scheduler/runtime/event.h"

#pragma GCC visibility push(default)
namespace VXLA_NAMESPACE {

class Client;        // scheduler/runtime/client.h
class DeviceMemory;  // scheduler/runtime/memory/buffer_pool.h

enum class BufferMemory : uint8_t {
  kDevice,      // where kernels are fastest
  kPinnedHost,  // the host's, which kernels can use too
};

// Cheap to copy: copies share the memory. Immutable, but for what takes the memory away from all copies, whose use is
// then an error that says so: a run whose program donates the parameter, and Delete.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  // Of an array with bounded dynamic dimensions the memory says how much lives, behind the elements, or `live_sizes`.
  DeviceBuffer(Shape shape, std::shared_ptr<DeviceMemory> memory, std::vector<int64_t> live_sizes = {});

  const Shape& shape() const { return shape_; }
  BufferMemory memory_kind() const;
  const std::shared_ptr<DeviceMemory>& memory() const { return memory_; }

  // When the contents may be read, or why they never will.
  Event ready() const;
  bool IsReady() const { return ready().IsReady(); }
  Status Wait() const { return ready().Await(); }
  // Waits, then downloads.
  Result<Literal> ToLiteral() const;
  // Copies the elements to the host and returns at once; they are there, and `target` is the caller's again, when the
  // event happens. Row-major; live elements and those up to the bounds alike. InvalidArgument: the live sizes that the
  // memory holds say that sizes did not agree.
  Event ToHost(std::span<std::byte> target) const;
  // The same to an array with strides (scheduler/runtime/memory/host_array.h), from its first element on.
  Event ToHost(std::byte* target, std::span<const int64_t> byte_strides) const;
  // Replaces the elements in the memory that all copies share: behind what was begun with them, before what is begun
  // from here on. Returns at once; `elements`, row-major, stay as they are until the event happens. InvalidArgument:
  // another size, or dynamic dimensions.
  Event Write(std::span<const std::byte> elements) const;
  // In memory of its own, of the client's device or of its host. Returns at once.
  Result<DeviceBuffer> CopyTo(Client& client, BufferMemory memory = BufferMemory::kDevice) const;

  // Lets go of the memory, which is free when what uses it has finished. Nothing waits.
  void Delete();
  // Whether it is: deleted, or donated to a run.
  bool IsDeleted() const;
  // Whoever holds it keeps the memory where it is: a run that would take it over works on a copy, and it is not free
  // when it is deleted. Null if it is
  // gone already.
  std::shared_ptr<const void> Hold() const;

  // How much lives of each dimension; waits where only the device's memory says it. Empty for what is no array.
  Result<std::vector<int64_t>> LiveSizes() const;
  bool knows_sizes() const { return !live_sizes_.empty(); }

 private:
  Status IsGone() const;
  Status CheckSize(size_t bytes) const;
  Status Download(std::span<std::byte> target) const;
  Shape shape_;
  std::shared_ptr<DeviceMemory> memory_;
  std::vector<int64_t> live_sizes_;
};

// An argument for one parameter: a literal of the host, which is uploaded, or leaves (depth first) from an earlier run.
struct Argument {
  Argument(const Literal& value) : literal(&value) {}  // borrowed until Execute returns
  Argument(DeviceBuffer value) : leaves{std::move(value)} {}
  Argument(std::vector<DeviceBuffer> values) : leaves(std::move(values)) {}

  const Literal* literal = nullptr;
  std::vector<DeviceBuffer> leaves;
  // The caller goes on using the value though the program donates the parameter: the run works on a copy.
  bool keep = false;
};

// What a run gives: the leaves of its result, depth first, readable once it is done.
struct Execution {
  Shape shape;
  std::vector<DeviceBuffer> leaves;
  Event done;  // with the run's error
  // Instead of leaves: what the CPU reference gave as one of several devices.
  std::shared_ptr<const Literal> on_host;

  bool IsReady() const { return done.IsReady(); }
  Status Wait() const { return done.Await(); }
  // Waits, downloads the leaves and rebuilds tuples.
  Result<Literal> ToLiteral() const;
};

}  // namespace VXLA_NAMESPACE
#pragma GCC visibility pop
