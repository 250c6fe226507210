#include "tools/files.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <sstream>

#ifndef _WIN32
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace VXLA_NAMESPACE {
namespace {

// The bytes of a large regular file where the system lends them; null where it is to be read.
#ifdef _WIN32
std::string_view Map(const std::string&) { return {}; }
void Unmap(std::string_view) {}
#else
std::string_view Map(const std::string& path) {
  constexpr size_t kLarge = size_t{1} << 20;
  struct stat facts {};
  const int file = path == "-" ? -1 : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  void* mapped = MAP_FAILED;
  if (file >= 0 && fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && static_cast<size_t>(facts.st_size) >= kLarge)
    mapped = mmap(nullptr, static_cast<size_t>(facts.st_size), PROT_READ, MAP_PRIVATE, file, 0);
  if (file >= 0) close(file);
  if (mapped == MAP_FAILED) return {};
  return {static_cast<const char*>(mapped), static_cast<size_t>(facts.st_size)};
}
void Unmap(std::string_view mapped) { munmap(const_cast<char*>(mapped.data()), mapped.size()); }
#endif

}  // namespace

Result<std::string> ReadFile(const std::string& path) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return InvalidArgument("{}: is a folder", path);
  std::ifstream file(path, std::ios::binary);
  if (!file) return InvalidArgument("{}: cannot be read: {}", path, std::strerror(errno));
  std::ostringstream text;
  text << file.rdbuf();
  if (file.bad()) return InvalidArgument("{}: cannot be read: {}", path, std::strerror(errno));
  return std::move(text).str();
}

Result<FileBytes> FileBytes::Open(const std::string& path) {
  if (const std::string_view mapped = Map(path); mapped.data() != nullptr)
    return FileBytes(mapped.data(), mapped.size());
  VXLA_ASSIGN_OR_RETURN(std::string read, ReadFile(path));
  return FileBytes(std::move(read));
}

FileBytes::FileBytes(FileBytes&& other) noexcept
    : read_(std::move(other.read_)), mapped_(std::exchange(other.mapped_, nullptr)), size_(other.size_) {}

FileBytes::~FileBytes() {
  if (mapped_ != nullptr) Unmap({mapped_, size_});
}

namespace {

// What the user can mend (a path that cannot be) and what the machine lacks (space) are told apart.
Status CannotBeWritten(const std::string& path, int reason) {
  const std::string text = fmt::format("{}: cannot be written: {}", path, std::strerror(reason));
  switch (reason) {
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case EACCES:
    case EPERM:
    case EROFS:
    case ENAMETOOLONG:
      return InvalidArgument("{}", text);
    default:
      return ResourceExhausted("{}", text);
  }
}

}  // namespace

Status CheckWritable(const std::string& path) {
  if (path == "-") return OkStatus();
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder, error))
    return InvalidArgument("{}: cannot be written: there is no folder {}", path, folder.string());
  if (std::filesystem::is_directory(path, error)) return InvalidArgument("{}: cannot be written: is a folder", path);
  return OkStatus();
}

Status MakeFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  return error ? CannotBeWritten(folder, error.value()) : OkStatus();
}

Status CheckNotInput(const std::string& output, const std::string& input) {
  std::error_code error;
  if (output == "-" || input == "-" || !std::filesystem::is_regular_file(output, error) ||
      !std::filesystem::equivalent(output, input, error))
    return OkStatus();
  return InvalidArgument("{}: is the file that is read{}: name another one to write", output,
                         output == input ? "" : fmt::format(", {}", input));
}

std::string WrittenText(const std::string& path) {
  std::error_code error;
  if (path == "-" || !std::filesystem::is_regular_file(path, error)) return "";
  return fmt::format("{}: {} bytes written", path, std::filesystem::file_size(path, error));
}

Status WriteWhole(const std::string& path, const std::function<Status(const std::string& temporary)>& write) {
  std::error_code kind_error;
  const auto kind = std::filesystem::status(path, kind_error).type();
  using std::filesystem::file_type;
  // A pipe or a device is written to, never replaced.
  if (kind != file_type::regular && kind != file_type::not_found && kind != file_type::none) return write(path);
  const std::string temporary = fmt::format("{}.{:08x}.tmp", path, std::random_device()());
  std::error_code error;
  if (Status status = write(temporary); !status.ok()) {
    std::filesystem::remove(temporary, error);
    return status;
  }
  std::filesystem::rename(temporary, path, error);
  if (!error) return OkStatus();
  const int reason = error.value();
  std::filesystem::remove(temporary, error);
  return CannotBeWritten(path, reason);
}

Status WriteText(const std::string& path, std::string_view text) {
  if (path == "-") {
    std::cout << text << std::flush;
    return std::cout ? OkStatus() : ResourceExhausted("standard output: cannot be written: {}", std::strerror(errno));
  }
  return WriteWhole(path, [&](const std::string& temporary) -> Status {
    std::ofstream file(temporary, std::ios::binary);
    if (!file) return CannotBeWritten(path, errno);
    file << text;
    file.close();
    return file ? OkStatus() : ResourceExhausted("{}: cannot be written: {}", path, std::strerror(errno));
  });
}

}  // namespace VXLA_NAMESPACE
