// Files: reading whole ones, and writing them so that they are whole or absent.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/status.h"

namespace VXLA_NAMESPACE {

// "-" is standard input. InvalidArgument if it cannot be read.
Result<std::string> ReadFile(const std::string& path);
// The bytes of a file: large ones are mapped, not copied.
class FileBytes {
 public:
  static Result<FileBytes> Open(const std::string& path);
  FileBytes(FileBytes&& other) noexcept;
  FileBytes& operator=(FileBytes&&) = delete;
  ~FileBytes();

  std::string_view view() const { return mapped_ != nullptr ? std::string_view(mapped_, size_) : read_; }

 private:
  explicit FileBytes(std::string read) : read_(std::move(read)) {}
  FileBytes(const char* mapped, size_t size) : mapped_(mapped), size_(size) {}

  std::string read_;
  const char* mapped_ = nullptr;
  size_t size_ = 0;
};
// Whether the path can be a file's to write: kInvalidArgument where its folder is missing or it is a folder itself.
Status CheckWritable(const std::string& path);
// The folder and those above it, where they are not there yet.
Status MakeFolder(const std::string& folder);
// kInvalidArgument where both are the same file, by whatever links: what is read would be overwritten.
Status CheckNotInput(const std::string& output, const std::string& input);
// "out.npz: 1064 bytes written"; empty for what is no regular file (a pipe, standard output).
std::string WrittenText(const std::string& path);
// Calls `write` with a temporary name beside `path` and renames that on success; removes it on failure.
Status WriteWhole(const std::string& path, const std::function<Status(const std::string& temporary)>& write);
// A text in one piece; "-" is standard output.
Status WriteText(const std::string& path, std::string_view text);

}  // namespace VXLA_NAMESPACE
