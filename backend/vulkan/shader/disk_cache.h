// DiskCache: small files under the user's cache folder, shared by processes; none is trusted without its checksum and
// the text that it was made from.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace VXLA_NAMESPACE::vulkan {

// The user's cache folder for vxla ($XDG_CACHE_HOME/vxla, ~/.cache/vxla, %LOCALAPPDATA%\vxla); empty if there is none.
std::string DefaultCacheFolder();

// Thread-safe, and safe against other processes: files appear by rename, whole or not at all. Every failure is a miss;
// the first failure to write is kept as a note.
class DiskCache {
 public:
  // An empty folder or enabled = false: nothing is kept.
  DiskCache(const std::string& folder, bool enabled, int64_t limit_bytes = int64_t{256} << 20);
  ~DiskCache();
  DiskCache(const DiskCache&) = delete;
  DiskCache& operator=(const DiskCache&) = delete;

  // `text` is all that the bytes were made from. What lies in its place and is not its entry is removed.
  std::optional<std::vector<std::byte>> Load(std::string_view text);
  void Store(std::string_view text, std::span<const std::byte> bytes);
  // An array of numbers of that size, as it was stored.
  template <typename Array>
  std::optional<Array> LoadArray(std::string_view text) {
    const auto bytes = Load(text);
    if (!bytes || bytes->size() != sizeof(Array)) return std::nullopt;
    Array array;
    std::memcpy(array.data(), bytes->data(), sizeof(array));
    return array;
  }
  // Why nothing is kept, for those who wonder; empty if all is well.
  std::string note() const;
  std::filesystem::path PathOf(std::string_view text) const;

 private:
  void Note(std::string note);
  void EvictOldest();

  std::filesystem::path folder_;  // empty: no cache
  int64_t limit_bytes_;
  mutable std::mutex mutex_;
  std::string note_;
  std::atomic<bool> stored_ = false;
};

}  // namespace VXLA_NAMESPACE::vulkan
