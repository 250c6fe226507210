// Files of a folder that others write to: a name may stand for a pipe, a device, a link or a folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace VXLA_NAMESPACE::vulkan {

// A regular file's bytes; nothing if it is something else, cannot be read or is larger than `most_bytes`. Never waits.
std::optional<std::vector<std::byte>> ReadRegularFile(const std::filesystem::path& path, uint64_t most_bytes);

}  // namespace VXLA_NAMESPACE::vulkan
