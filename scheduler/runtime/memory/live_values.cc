#include "scheduler/runtime/memory/live_values.h"

#include <cstring>

#include "core/sizes/live_sizes.h"
#include "scheduler/runtime/memory/buffer_pool.h"

namespace VXLA_NAMESPACE {

Status UploadLiteral(Device& device, const Literal& leaf, Buffer& target, int64_t offset_bytes) {
  if (!leaf.shape().IsDynamic()) return device.Upload(leaf.bytes(), target, offset_bytes);
  std::vector<std::byte> bytes(static_cast<size_t>(DeviceBytes(leaf.shape())));
  if (!leaf.bytes().empty()) std::memcpy(bytes.data(), leaf.bytes().data(), leaf.bytes().size());
  const std::vector<int64_t> sizes = LiveSizes(leaf);
  std::memcpy(bytes.data() + LiveSizesOffset(leaf.shape()), sizes.data(), 8 * sizes.size());
  return device.Upload(bytes, target, offset_bytes);
}

namespace {

// The message without the two sizes that it names, which the device does not keep.
Status SizeFault(const Shape& leaf, int64_t size, std::span<const std::string> messages) {
  const uint64_t number = uint64_t{0} - static_cast<uint64_t>(size);
  if (number > messages.size())
    return InvalidArgument("live sizes that should agree do not: those of the {} are {}", leaf.ToString(), size);
  std::string message = messages[number - 1];
  for (const std::string_view mark : {"{0}", "{1}"}) {
    for (size_t at = message.find(mark); at != std::string::npos; at = message.find(mark))
      message.replace(at, mark.size(), "?");
  }
  return InvalidArgument("{}", message);
}

}  // namespace

Result<std::vector<int64_t>> DownloadSizes(Device& device, const Shape& leaf, Buffer& source, int64_t offset_bytes,
                                           const Moment& after, std::span<const std::string> messages) {
  std::vector<int64_t> sizes(static_cast<size_t>(leaf.rank()));
  VXLA_RETURN_IF_ERROR(
      device.Download(source, offset_bytes + LiveSizesOffset(leaf), std::as_writable_bytes(std::span(sizes)), after));
  for (int d = 0; d < leaf.rank(); ++d) {
    const int64_t size = sizes[d];
    if (size < 0) return SizeFault(leaf, size, messages);
    if (size > leaf.dimension(d)) {
      return Internal("dimension {} of a {} on the device has the live size {}", d, leaf.ToString(), size);
    }
  }
  return sizes;
}

Result<Literal> DownloadLiteral(Device& device, const Shape& leaf, Buffer& source, int64_t offset_bytes,
                                const Moment& after, std::vector<int64_t> sizes,
                                std::span<const std::string> messages) {
  Literal literal = Literal::Uninitialized(leaf);
  VXLA_RETURN_IF_ERROR(device.Download(source, offset_bytes, literal.mutable_bytes(), after));
  if (!leaf.IsDynamic()) return literal;
  if (sizes.empty()) VXLA_SET_OR_RETURN(sizes, DownloadSizes(device, leaf, source, offset_bytes, after, messages));
  for (int d = 0; d < leaf.rank(); ++d) {
    if (leaf.is_dynamic_dimension(d)) literal.set_dynamic_size(d, sizes[d]);
  }
  return literal;
}

}  // namespace VXLA_NAMESPACE
