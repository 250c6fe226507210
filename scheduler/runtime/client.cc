#include "scheduler/runtime/client.h"

#include "backend/device.h"
#include "core/host/guarded.h"
#include "scheduler/runtime/buffer_pool.h"
#include "scheduler/runtime/executor.h"
#include "scheduler/runtime/host_array.h"
#include "scheduler/runtime/live_values.h"
#include "scheduler/runtime/transfers.h"

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

bool Client::IsIdle() const { return state_->runs.IsIdle(); }
const std::shared_ptr<BufferPool>& Client::pool() const { return state_->pool; }

Result<Client::FromHostResult> Client::FromHost(const HostArray& array, BufferMemory memory_kind) {
  return Guarded([&]() -> Result<FromHostResult> {
    const Shape& shape = array.shape;
    if (!shape.IsArray() || shape.IsDynamic())
      return InvalidArgument("a {} of the host's: an array of fixed sizes is wanted", shape.ToString());
    VXLA_RETURN_IF_ERROR(CheckShape(shape));
    VXLA_RETURN_IF_ERROR(CheckStrides(shape, array.byte_strides));
    const int64_t bytes = shape.SizeBytes();
    int64_t allocated_bytes = 0;
    VXLA_ASSIGN_OR_RETURN(
        auto memory, state_->pool->Take(bytes, BufferPool::Writer::kHost, allocated_bytes, 0, KindOf(memory_kind)));
    FromHostResult result{DeviceBuffer(shape, memory), {}};
    if (bytes == 0) return result;
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
    const auto upload = [memory, dense, copy] { return memory->device().Upload(dense, memory->buffer(), 0); };
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
