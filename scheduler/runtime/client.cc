#include "scheduler/runtime/client.h"

#include "backend/device.h"
#include "core/host/guarded.h"
#include "scheduler/runtime/buffer_pool.h"
#include "scheduler/runtime/executor.h"
#include "scheduler/runtime/live_values.h"

namespace VXLA_NAMESPACE {

Client::Client(std::shared_ptr<Device> device, HostEvaluator evaluate, ClientOptions options)
    : state_(std::make_shared<ClientState>()) {
  state_->pool = std::make_shared<BufferPool>(device, options.poison);
  state_->device = std::move(device);
  state_->evaluate = std::move(evaluate);
  state_->options = options;
}

Client::~Client() = default;

Device& Client::device() const { return *state_->device; }
std::shared_ptr<Device> Client::shared_device() const { return state_->device; }

DeviceValue Client::Lend(const Shape& shape, std::shared_ptr<Buffer> buffer, const Moment& ready) {
  return DeviceValue(shape, state_->pool->Lend(std::move(buffer), shape.SizeBytes(), ready));
}

Result<std::vector<DeviceValue>> Client::Upload(const Literal& literal) {
  return Guarded([&]() -> Result<std::vector<DeviceValue>> {
    std::vector<DeviceValue> values;
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
