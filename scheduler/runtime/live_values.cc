#include "scheduler/runtime/live_values.h"

#include <algorithm>
#include <cstring>

#include "core/sizes/live_sizes.h"
#include "scheduler/runtime/buffer_pool.h"

namespace VXLA_NAMESPACE {

Status UploadLiteral(Device& device, const Literal& leaf, Buffer& target, int64_t offset_bytes) {
  if (!leaf.shape().IsDynamic()) return device.Upload(leaf.bytes(), target, offset_bytes);
  std::vector<std::byte> bytes(static_cast<size_t>(DeviceBytes(leaf.shape())));
  if (!leaf.bytes().empty()) std::memcpy(bytes.data(), leaf.bytes().data(), leaf.bytes().size());
  const std::vector<int64_t> sizes = LiveSizes(leaf);
  std::memcpy(bytes.data() + LiveSizesOffset(leaf.shape()), sizes.data(), 8 * sizes.size());
  return device.Upload(bytes, target, offset_bytes);
}

Result<std::vector<int64_t>> DownloadSizes(Device& device, const Shape& leaf, Buffer& source, int64_t offset_bytes,
                                           const Moment& after) {
  std::vector<int64_t> sizes(static_cast<size_t>(leaf.rank()));
  VXLA_RETURN_IF_ERROR(
      device.Download(source, offset_bytes + LiveSizesOffset(leaf), std::as_writable_bytes(std::span(sizes)), after));
  for (int d = 0; d < leaf.rank(); ++d) {
    const int64_t size = sizes[static_cast<size_t>(d)];
    if (size == -1)
      return InvalidArgument("live sizes that should agree do not: those of the {} are -1", leaf.ToString());
    if (size < 0 || size > leaf.dimension(d)) {
      return Internal("dimension {} of a {} on the device has the live size {}", d, leaf.ToString(), size);
    }
  }
  return sizes;
}

Result<Literal> DownloadLiteral(Device& device, const Shape& leaf, Buffer& source, int64_t offset_bytes,
                                const Moment& after, std::vector<int64_t> sizes) {
  Literal literal = Literal::Uninitialized(leaf);
  VXLA_RETURN_IF_ERROR(device.Download(source, offset_bytes, literal.mutable_bytes(), after));
  if (!leaf.IsDynamic()) return literal;
  if (sizes.empty()) {
    VXLA_ASSIGN_OR_RETURN(sizes, DownloadSizes(device, leaf, source, offset_bytes, after));
  }
  for (int d = 0; d < leaf.rank(); ++d) {
    if (leaf.is_dynamic_dimension(d)) literal.set_dynamic_size(d, sizes[static_cast<size_t>(d)]);
  }
  return literal;
}

}  // namespace VXLA_NAMESPACE
