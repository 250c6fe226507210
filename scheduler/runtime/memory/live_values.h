// Values with bounded dynamic dimensions in device memory: the elements laid out for the bounds, then the live size of
// each dimension as an int64.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backend/device.h"
#include "core/data/literal.h"
#include "core/sizes/live_layout.h"

namespace VXLA_NAMESPACE {

Status UploadLiteral(Device& device, const Literal& leaf, Buffer& target, int64_t offset_bytes);
// Once `after` has passed. The live sizes are read from behind the elements where they are not given; `messages` say
// what negative ones mean (Plan::size_messages).
Result<Literal> DownloadLiteral(Device& device, const Shape& leaf, Buffer& source, int64_t offset_bytes,
                                const Moment& after, std::vector<int64_t> sizes = {},
                                std::span<const std::string> messages = {});
Result<std::vector<int64_t>> DownloadSizes(Device& device, const Shape& leaf, Buffer& source, int64_t offset_bytes,
                                           const Moment& after, std::span<const std::string> messages = {});

}  // namespace VXLA_NAMESPACE
