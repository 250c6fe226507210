#include "backend/vulkan/shader/regular_file.h"

#ifdef _WIN32
#include <fstream>
#else
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#endif

namespace VXLA_NAMESPACE::vulkan {

#ifdef _WIN32

std::optional<std::vector<std::byte>> ReadRegularFile(const std::filesystem::path& path, uint64_t most_bytes) {
  std::error_code error;
  if (std::filesystem::symlink_status(path, error).type() != std::filesystem::file_type::regular) return std::nullopt;
  const uintmax_t size = std::filesystem::file_size(path, error);
  if (error || size > most_bytes) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  std::vector<std::byte> bytes(static_cast<size_t>(size));
  if (!file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size))) return std::nullopt;
  return bytes;
}

#else

namespace {

struct Descriptor {
  int number = -1;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
};

}  // namespace

std::optional<std::vector<std::byte>> ReadRegularFile(const std::filesystem::path& path, uint64_t most_bytes) {
  // Asked by name first, as opening a device may have effects, and again once it is open, as the name may have changed
  // hands; O_NONBLOCK for a pipe that took its place in between.
  struct stat status = {};
  if (lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const Descriptor file{open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC)};
  if (file.number < 0 || fstat(file.number, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  if (static_cast<uint64_t>(status.st_size) > most_bytes) return std::nullopt;
  std::vector<std::byte> bytes(static_cast<size_t>(status.st_size));
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t count = read(file.number, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    done += static_cast<size_t>(count);
  }
  return bytes;
}

#endif

}  // namespace VXLA_NAMESPACE::vulkan
