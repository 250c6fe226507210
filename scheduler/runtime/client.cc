#include "scheduler/runtime/client.h"

#include <algorithm>

#include "backend/device.h"
#include "core/host/guarded.h"
#include "scheduler/runtime/compilation.h"
#include "scheduler/runtime/executor.h"
#include "scheduler/runtime/memory/buffer_pool.h"
#include "scheduler/runtime/memory/host_array.h"
#include "scheduler/runtime/memory/live_values.h"
#include "scheduler/runtime/memory/transfers.h"

namespace VXLA_NAMESPACE {

Client::Client(std::shared_ptr<Device> device, HostEvaluator evaluate, ClientOptions options)
    : state_(std::make_shared<ClientState>()) {
  state_->pool = std::make_shared<BufferPool>(device, options.poison);
  state_->device = std::move(device);
  state_->evaluate = std::move(evaluate);
  state_->options = options;
}

// What the host does for runs may need what the caller has lent.
Client::~Client() { state_->runs.Drain(); }

Device& Client::device() const { return *state_->device; }
std::shared_ptr<Device> Client::shared_device() const { return state_->device; }

DeviceBuffer Client::Lend(const Shape& shape, std::shared_ptr<Buffer> buffer, const Moment& ready) {
  return DeviceBuffer(shape,
                      state_->pool->Lend(std::move(buffer), shape.SizeBytes(), Event(state_->pool->waiter(), ready)));
}

std::shared_ptr<Compilation> Client::CompileInBackground(CompileTask compile) {
  auto compilation = std::make_shared<Compilation>();
  state_->background.Add([compilation, compile = std::move(compile)]() mutable {
    Compilation::Run(std::exchange(compilation, nullptr), std::exchange(compile, nullptr));
  });
  return compilation;
}

bool Client::IsIdle() const { return state_->runs.IsIdle(); }

bool Client::AwaitCallbacks() const {
  Worker* const workers[] = {&state_->runs, &state_->pool->transfers(), &state_->pool->waiter()->worker()};
  if (std::ranges::any_of(workers, &Worker::IsCurrent)) return false;
  bool waited = false;
  // What one of them does may be for another to go on with.
  while (!std::ranges::all_of(workers, &Worker::IsIdle)) {
    for (Worker* const worker : workers) worker->Drain();
    waited = true;
  }
  return waited;
}
const std::shared_ptr<BufferPool>& Client::pool() const { return state_->pool; }

namespace {

Status CheckHostArray(const Client::HostArray& array) {
  const Shape& shape = array.shape;
  if (!shape.IsArray() || std::ranges::find(shape.dimensions(), kUnboundedSize) != shape.dimensions().end())
    return InvalidArgument("a {} of the host's: an array of known sizes is wanted", shape.ToString());
  VXLA_RETURN_IF_ERROR(CheckShape(shape));
  VXLA_RETURN_IF_ERROR(CheckStrides(shape, array.byte_strides));
  if (!array.live_sizes.empty() && static_cast<int64_t>(array.live_sizes.size()) != shape.rank())
    return InvalidArgument("{} live sizes given for a {}", array.live_sizes.size(), shape.ToString());
  for (size_t i = 0; i < array.live_sizes.size(); ++i) {
    const int d = static_cast<int>(i);
    const int64_t least = shape.is_dynamic_dimension(d) ? 0 : shape.dimension(d), size = array.live_sizes[i];
    if (size < least || size > shape.dimension(d)) {
      return InvalidArgument("live size {} of dimension {}: {} allows {} to {}", size, d, shape.ToString(), least,
                             shape.dimension(d));
    }
  }
  return OkStatus();
}

// What lies behind the elements; nothing, if no dimension is dynamic.
std::vector<int64_t> SizesToUpload(const Client::HostArray& array) {
  const Shape& shape = array.shape;
  if (!shape.IsDynamic() || !array.live_sizes.empty())
    return shape.IsDynamic() ? array.live_sizes : std::vector<int64_t>();
  return {shape.dimensions().begin(), shape.dimensions().end()};
}

}  // namespace

Result<Client::FromHostResult> Client::FromHost(const HostArray& array, BufferMemory memory_kind) {
  return Guarded([&]() -> Result<FromHostResult> {
    VXLA_RETURN_IF_ERROR(CheckHostArray(array));
    const Shape& shape = array.shape;
    const int64_t bytes = shape.SizeBytes();
    const std::vector<int64_t> sizes = SizesToUpload(array);
    int64_t allocated_bytes = 0;
    VXLA_ASSIGN_OR_RETURN(auto memory, state_->pool->Take(DeviceBytes(shape), BufferPool::Writer::kHost,
                                                          allocated_bytes, 0, KindOf(memory_kind)));
    FromHostResult result{DeviceBuffer(shape, memory), {}};
    if (DeviceBytes(shape) == 0) return result;
    // What the host can write to itself is written at once.
    const bool at_once = memory->buffer().mapped() != nullptr;
    std::span<const std::byte> dense(array.data, static_cast<size_t>(bytes));
    std::shared_ptr<std::vector<std::byte>> copy;
    const bool copies = array.lent == HostArray::Lent::kDuringCall && !at_once && bytes > kFewBytes;
    if (copies || !IsDense(shape, array.byte_strides)) {
      copy = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(bytes));
      CopyElements(shape, array.data, array.byte_strides, copy->data(), {});
      dense = *copy;
    }
    const auto upload = [memory, dense, copy, sizes, shape]() -> Status {
      if (!dense.empty()) VXLA_RETURN_IF_ERROR(memory->device().Upload(dense, memory->buffer(), 0));
      if (sizes.empty()) return OkStatus();
      return memory->device().Upload(std::as_bytes(std::span(sizes)), memory->buffer(), LiveSizesOffset(shape));
    };
    if (at_once) {
      VXLA_RETURN_IF_ERROR(upload());
      return result;
    }
    memory->set_ready(WhenReady(state_->pool, Event(), bytes, upload));
    if (copy == nullptr) result.done = memory->ready();
    return result;
  });
}

Result<std::vector<DeviceBuffer>> Client::Upload(const Literal& literal) {
  return Guarded([&]() -> Result<std::vector<DeviceBuffer>> {
    std::vector<DeviceBuffer> values;
    int64_t allocated_bytes = 0;
    const std::vector<const Literal*> leaves = FlattenLiteral(literal);
    for (const Literal* leaf : leaves) {
      state_->Report({CallProgress::Stage::kUpload, values.size(), leaves.size()});
      VXLA_ASSIGN_OR_RETURN(auto memory,
                            state_->pool->Take(DeviceBytes(leaf->shape()), BufferPool::Writer::kHost, allocated_bytes));
      VXLA_RETURN_IF_ERROR(UploadLiteral(*state_->device, *leaf, memory->buffer(), 0));
      values.emplace_back(leaf->shape(), std::move(memory));
    }
    return values;
  });
}

}  // namespace VXLA_NAMESPACE
