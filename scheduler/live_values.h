// Values with bounded dynamic dimensions in device memory: the elements laid out for the bounds, then the live size of
// each dimension as an int64. Kernels have static shapes, so whatever such values touch is evaluated on the host, which
// reads and writes both parts; but a kernel reads and sets a live size.
#pragma once

#include "backend/device.h"
#include "core/instruction.h"
#include "core/literal.h"
#include "core/live_layout.h"

namespace VXLA_NAMESPACE {

Status UploadLiteral(Device& device, const Literal& leaf, Buffer& target, int64_t offset_bytes);
Result<Literal> DownloadLiteral(Device& device, const Shape& leaf, Buffer& source, int64_t offset_bytes);

// Reads or sets a live size where it lies, which a kernel can do.
bool IsLiveSizeAccess(const Instruction& instruction);

}  // namespace VXLA_NAMESPACE
