// Values with bounded dynamic dimensions in device memory: the elements laid out for the bounds, then the live size of
// each dimension as an int64. Kernels have static shapes, so whatever such values touch is evaluated on the host, which
// reads and writes both parts.
#pragma once

#include "backend/device.h"
#include "core/instruction.h"
#include "core/literal.h"

namespace VXLA_NAMESPACE {

// The bytes that a leaf takes on a device.
int64_t DeviceBytes(const Shape& leaf);

Status UploadLiteral(Device& device, const Literal& leaf, Buffer& target, int64_t offset_bytes);
Result<Literal> DownloadLiteral(Device& device, const Shape& leaf, Buffer& source, int64_t offset_bytes);

}  // namespace VXLA_NAMESPACE
