#include "scheduler/replicas/shared_exchange.h"

#include <algorithm>
#include <new>

#include "core/limits.h"

namespace VXLA_NAMESPACE {
namespace {

int64_t BoxBytes(int64_t bytes, int64_t unit) { return RoundUp(std::max<int64_t>(bytes, 1), unit); }

// Where each array that a place posts lies in its box, and behind them the size of the box.
std::vector<int64_t> BoxOffsets(const std::vector<Shape>& posted) {
  std::vector<int64_t> offsets{0};
  for (const Shape& shape : posted) offsets.push_back(offsets.back() + BoxBytes(shape.SizeBytes(), kBlockAlignment));
  return offsets;
}

void CopyPart(CommandBuffer& commands, const BufferRange& source, const BufferRange& target) {
  const int64_t size = std::min(source.size_bytes, target.size_bytes);
  const bool same = source.buffer == target.buffer && source.offset_bytes == target.offset_bytes;
  if (size > 0 && !same)
    commands.Copy({source.buffer, source.offset_bytes, size}, {target.buffer, target.offset_bytes, size});
}

}  // namespace

struct SharedExchange::HostPages {
  HostPages(int64_t alignment, int64_t size_bytes)
      : alignment(static_cast<std::align_val_t>(alignment)),
        memory(static_cast<std::byte*>(::operator new(static_cast<size_t>(size_bytes), this->alignment))) {}
  ~HostPages() { ::operator delete(memory, alignment); }
  HostPages(const HostPages&) = delete;
  const std::align_val_t alignment;
  std::byte* const memory;
};

Result<std::unique_ptr<SharedExchange>> SharedExchange::Create(const PlaceExchange& exchange, SharingWay way,
                                                               TellingWay telling, std::span<Device* const> devices) {
  if (way == SharingWay::kStaging) return Unsupported("{}: its places share no memory", exchange.what);
  std::unique_ptr<SharedExchange> shared(new SharedExchange());
  shared->way_ = way;
  shared->telling_ = telling;
  shared->sides_.resize(devices.size());
  for (const int64_t place : exchange.places) {
    Side& side = shared->SideOf(place);
    side.device = devices[place];
    side.boxes.resize(devices.size());
  }
  for (const int64_t place : exchange.places) {
    const int64_t bytes = BoxOffsets(exchange.posted[place]).back();
    for (size_t box = 0; box < kBoxes; ++box) VXLA_RETURN_IF_ERROR(shared->MakeBox(place, box, bytes, devices));
  }
  VXLA_RETURN_IF_ERROR(shared->MakeLines());
  return shared;
}

Status SharedExchange::MakeBox(int64_t place, size_t box, int64_t size_bytes, std::span<Device* const> devices) {
  const auto p = static_cast<size_t>(place);
  if (way_ == SharingWay::kExternalMemory) {
    const int64_t size = BoxBytes(size_bytes, kBlockAlignment);
    VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<Buffer> own, devices[p]->AllocateShared(size));
    for (Side& side : sides_) {
      if (side.device == nullptr) continue;
      if (side.device == devices[p]) {
        side.boxes[p][box] = own;
      } else {
        VXLA_ASSIGN_OR_RETURN(side.boxes[p][box], side.device->OpenShared(*own));
      }
    }
    return OkStatus();
  }
  int64_t alignment = kBlockAlignment;
  for (const Side& side : sides_) {
    if (side.device != nullptr)
      alignment = std::max(alignment, static_cast<int64_t>(side.device->facts().host_pointer_alignment));
  }
  const int64_t size = BoxBytes(size_bytes, alignment);
  HostPages& pages = *pages_.emplace_back(std::make_unique<HostPages>(alignment, size));
  for (Side& side : sides_) {
    if (side.device == nullptr) continue;
    VXLA_ASSIGN_OR_RETURN(side.boxes[p][box], side.device->ImportHostMemory(pages.memory, size));
  }
  return OkStatus();
}

Status SharedExchange::MakeLines() {
  lines_.clear();
  for (int64_t from = 0; telling_ != TellingWay::kHost && from < std::ssize(sides_); ++from) {
    for (int64_t to = 0; to < std::ssize(sides_); ++to) {
      if (from == to || SideOf(from).device == nullptr || SideOf(to).device == nullptr) continue;
      for (const bool full : {true, false}) {
        for (size_t box = 0; box < kBoxes; ++box) {
          Line line;
          VXLA_ASSIGN_OR_RETURN(line.given, SideOf(from).device->MakeSignal());
          VXLA_ASSIGN_OR_RETURN(line.awaited, SideOf(to).device->OpenSignal(*line.given));
          lines_.emplace(LineKey(from, to, full, box), std::move(line));
        }
      }
    }
  }
  return OkStatus();
}

SharedExchange::~SharedExchange() { (void)Finish(); }

Status SharedExchange::Finish() {
  Status status;
  for (Side& side : sides_) {
    if (side.device == nullptr) continue;
    for (const auto& [point, commands] : side.submitted) {
      Status waited = side.device->Wait(point);
      if (!waited.ok() && status.ok()) status = std::move(waited);
    }
    side.submitted.clear();
    side.received = {};
  }
  return status;
}

Status SharedExchange::Rewind() {
  const bool lost = !Finish().ok();
  if (lost && telling_ == TellingWay::kHost) return OkStatus();  // who comes next says so
  const Side* first = nullptr;
  bool alike = !lost;
  for (const Side& side : sides_) {
    if (side.device == nullptr) continue;
    if (first == nullptr) first = &side;
    alike = alike && !side.inside && side.round == first->round;
  }
  if (alike) return OkStatus();
  for (Side& side : sides_) {
    side.inside = false;
    side.round = 0;
  }
  // Some were given that nobody has waited for.
  return MakeLines();
}

std::vector<SignalPoint> SharedExchange::Points(int64_t place, bool full, size_t round, bool awaited) const {
  std::vector<SignalPoint> points;
  for (const auto& [key, line] : lines_) {
    const auto& [from, to, of_full, box] = key;
    if ((awaited ? to : from) == place && of_full == full && box == round % kBoxes)
      points.push_back({(awaited ? line.awaited : line.given).get(), round / kBoxes + 1});
  }
  return points;
}

Result<TimePoint> SharedExchange::Submit(Side& side, std::unique_ptr<CommandBuffer> commands, const Moment& after,
                                         const std::vector<SignalPoint>& waits,
                                         const std::vector<SignalPoint>& signals) {
  VXLA_RETURN_IF_ERROR(commands->End());
  while (!side.submitted.empty() && side.device->IsDone(side.submitted.front().first)) side.submitted.pop_front();
  side.submitted.emplace_back();  // room first: what is submitted must not be lost
  const Result<TimePoint> point = side.device->SubmitAcross(*commands, after, waits, signals);
  if (!point.ok()) {
    side.submitted.pop_back();
    return point;
  }
  side.submitted.back() = {*point, std::move(commands)};
  return point;
}

Result<Buffer*> SharedExchange::ConstantBuffer(Side& side, size_t operand, const Literal& value) {
  auto& [known, buffer] = side.constants[operand];
  const int64_t bytes = BoxBytes(value.shape().SizeBytes(), kBlockAlignment);
  if (known == &value) return buffer.get();
  VXLA_ASSIGN_OR_RETURN(buffer, side.device->Allocate(bytes, MemoryKind::kDevice));
  VXLA_RETURN_IF_ERROR(side.device->Upload(value.bytes(), *buffer, 0));
  known = &value;
  return buffer.get();
}

// Gives when the box is full.
Result<TimePoint> SharedExchange::Post(int64_t place, Buffer& box, const std::vector<int64_t>& offsets,
                                       const DeviceStep& step) {
  Side& side = SideOf(place);
  Device& device = *side.device;
  VXLA_ASSIGN_OR_RETURN(auto commands, device.CreateCommandBuffer(0, device.facts().transfer_queue()));
  VXLA_RETURN_IF_ERROR(commands->Begin());
  for (size_t i = 0; i < step.operands.size(); ++i) {
    const DeviceStep::Operand& operand = step.operands[i];
    BufferRange source = operand.range;
    if (operand.constant != nullptr) {
      VXLA_ASSIGN_OR_RETURN(Buffer* const buffer, ConstantBuffer(side, i, *operand.constant));
      source = {buffer, 0, operand.constant->shape().SizeBytes()};
    }
    CopyPart(*commands, source, {&box, offsets[i], offsets[i + 1] - offsets[i]});
  }
  if (way_ == SharingWay::kExternalMemory) commands->Release({&box, 0, box.size_bytes()});
  std::vector<SignalPoint> waits;
  if (side.round >= kBoxes) waits = Awaited(place, /*full=*/false, side.round - kBoxes);
  return Submit(side, std::move(commands), Later(step.after, side.received), waits,
                Given(place, /*full=*/true, side.round));
}

Status SharedExchange::Receive(const PlaceExchange& exchange, int64_t place, DeviceStep& step, const Moment& after) {
  Side& side = SideOf(place);
  Device& device = *side.device;
  const size_t box = side.round % kBoxes;
  VXLA_ASSIGN_OR_RETURN(auto commands, device.CreateCommandBuffer(0, device.facts().transfer_queue()));
  VXLA_RETURN_IF_ERROR(commands->Begin());
  std::vector<std::vector<int64_t>> offsets;
  for (const std::vector<Shape>& posted : exchange.posted) offsets.push_back(BoxOffsets(posted));
  for (const int64_t from : exchange.places) {
    Buffer& taken = *side.boxes[from][box];
    if (from != place && way_ == SharingWay::kExternalMemory) commands->Acquire({&taken, 0, taken.size_bytes()});
  }
  for (const PlaceExchange::Piece& piece : exchange.takes[place]) {
    const auto from = static_cast<size_t>(piece.place), which = static_cast<size_t>(piece.which);
    const DeviceStep::Operand* const mine = piece.place == place ? &step.operands[which] : nullptr;
    const BufferRange array = mine != nullptr && mine->constant == nullptr
                                  ? mine->range
                                  : BufferRange{side.boxes[from][box].get(), offsets[from][which], 0};
    const BufferRange& result = step.results[piece.result];
    const int64_t size = exchange.SizeOf(piece);
    CopyPart(*commands, {array.buffer, array.offset_bytes + piece.begin_bytes, size},
             {result.buffer, result.offset_bytes + piece.at_bytes, size});
  }
  VXLA_ASSIGN_OR_RETURN(step.finished,
                        Submit(side, std::move(commands), after, Awaited(place, /*full=*/true, side.round),
                               Given(place, /*full=*/false, side.round)));
  side.received = step.finished;
  return OkStatus();
}

Status SharedExchange::Run(const PlaceExchange& exchange, int64_t place, DeviceStep& step, LocalTransport& transport) {
  Side& side = SideOf(place);
  Device& device = *side.device;
  const auto own = static_cast<size_t>(place);
  const bool host_tells = telling_ == TellingWay::kHost;
  side.inside = true;
  // The others may fill the boxes of the meeting before again once this place has come.
  if (host_tells) VXLA_RETURN_IF_ERROR(device.Wait(side.received));
  VXLA_ASSIGN_OR_RETURN(const TimePoint full,
                        Post(place, *side.boxes[own][side.round % kBoxes], BoxOffsets(exchange.posted[own]), step));
  if (host_tells) VXLA_RETURN_IF_ERROR(device.Wait(full));
  VXLA_RETURN_IF_ERROR(transport.Exchange(exchange, place, {}).status());
  VXLA_RETURN_IF_ERROR(Receive(exchange, place, step, Later(step.after, full)));
  ++side.round;
  side.inside = false;
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE
