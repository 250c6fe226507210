#include "backend/vulkan/shader/disk_cache.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "backend/vulkan/shader/regular_file.h"
#include "core/host/hash.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

namespace fs = std::filesystem;

// Changed with the layout of the files.
constexpr std::array<char, 8> kMagic = {'v', 'x', 'l', 'a', 'c', '0', '0', '2'};
constexpr auto kTouchAfter = std::chrono::hours(24);     // how stale a file's time may be; it orders eviction
constexpr auto kAbandonedAfter = std::chrono::hours(1);  // unfinished files of processes that died
constexpr const char* kSuffix = ".bin";
constexpr const char* kUnfinished = ".tmp";

// Then the text, then the bytes; the checksum is of both.
struct Header {
  std::array<char, 8> magic = kMagic;
  uint64_t text_bytes = 0;
  Hash128 checksum;
};
static_assert(sizeof(Header) == 32);

// The bytes of an entry's file, if it is whole and the text's.
std::optional<std::vector<std::byte>> BytesOf(std::span<const std::byte> file, std::string_view text) {
  Header header;
  if (file.size() < sizeof(header) + text.size()) return std::nullopt;
  std::memcpy(&header, file.data(), sizeof(header));
  const std::span<const std::byte> content = file.subspan(sizeof(header)), bytes = content.subspan(text.size());
  const bool good = header.magic == kMagic && header.text_bytes == text.size() &&
                    std::memcmp(content.data(), text.data(), text.size()) == 0 && HashBytes(content) == header.checksum;
  if (!good) return std::nullopt;
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

}  // namespace

std::string DefaultCacheFolder() {
  auto variable = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
#ifdef _WIN32
  if (const std::string local = variable("LOCALAPPDATA"); !local.empty()) return local + "\\vxla";
#else
  // The specification of XDG_CACHE_HOME says that a relative path is to be ignored.
  if (const std::string cache = variable("XDG_CACHE_HOME"); cache.starts_with("/")) return cache + "/vxla";
  if (const std::string home = variable("HOME"); !home.empty()) return home + "/.cache/vxla";
#endif
  return "";
}

DiskCache::DiskCache(const std::string& folder, bool enabled, int64_t limit_bytes) : limit_bytes_(limit_bytes) {
  if (!enabled) return;
  if (folder.empty()) {
    Note("no cache folder: neither XDG_CACHE_HOME nor HOME is set");
    return;
  }
  std::error_code error;
  const fs::path path = fs::path(folder) / "kernels";
  fs::create_directories(path, error);
  if (fs::is_directory(path, error)) {
    folder_ = path;
  } else {
    Note(fmt::format("the cache folder {} cannot be made", path.string()));
  }
}

DiskCache::~DiskCache() {
  if (stored_) EvictOldest();
}

fs::path DiskCache::PathOf(std::string_view text) const { return folder_ / (HashText(text).Hex() + kSuffix); }

std::string DiskCache::note() const {
  std::lock_guard lock(mutex_);
  return note_;
}

void DiskCache::Note(std::string note) {
  std::lock_guard lock(mutex_);
  if (note_.empty()) note_ = std::move(note);
}

std::optional<std::vector<std::byte>> DiskCache::Load(std::string_view text) {
  if (folder_.empty()) return std::nullopt;
  const fs::path path = PathOf(text);
  std::optional<std::vector<std::byte>> bytes;
  if (const auto file = ReadRegularFile(path, static_cast<uint64_t>(limit_bytes_))) bytes = BytesOf(*file, text);
  std::error_code error;
  if (!bytes.has_value()) {
    fs::remove(path, error);
    return std::nullopt;
  }
  const auto now = fs::file_time_type::clock::now();
  if (const auto written = fs::last_write_time(path, error); !error && now - written > kTouchAfter) {
    fs::last_write_time(path, now, error);
  }
  return bytes;
}

void DiskCache::Store(std::string_view text, std::span<const std::byte> bytes) {
  if (folder_.empty()) return;
  std::vector<std::byte> content(text.size() + bytes.size());
  std::memcpy(content.data(), text.data(), text.size());
  if (!bytes.empty()) std::memcpy(content.data() + text.size(), bytes.data(), bytes.size());
  const Header header = {kMagic, text.size(), HashBytes(content)};
  // The name must differ between the threads and processes that write the same key at once, forked ones included: so it
  // is drawn afresh each time.
  std::random_device random;
  const uint64_t unique = uint64_t{random()} << 32 | random();
  const fs::path target = PathOf(text);
  const fs::path unfinished = fs::path(target).replace_extension(fmt::format("{:x}{}", unique, kUnfinished));
  std::error_code error;
  std::FILE* file = std::fopen(unfinished.string().c_str(), "wbx");
  if (file == nullptr) {
    return Note(fmt::format("the cache folder {} cannot be written: {}", folder_.string(), std::strerror(errno)));
  }
  bool written = std::fwrite(&header, sizeof(header), 1, file) == 1 &&
                 (content.empty() || std::fwrite(content.data(), content.size(), 1, file) == 1);
  written = std::fclose(file) == 0 && written;
  if (written) fs::rename(unfinished, target, error);
  if (!written || error) {
    Note(fmt::format("the cache file {} cannot be written: {}", target.string(),
                     error ? error.message() : std::strerror(errno)));
    fs::remove(unfinished, error);
    return;
  }
  stored_ = true;
}

void DiskCache::EvictOldest() {
  struct Entry {
    fs::path path;
    fs::file_time_type time;
    int64_t size;
  };
  std::vector<Entry> entries;
  int64_t total = 0;
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    std::error_code vanished;  // another process may evict at the same time
    if (it->symlink_status(vanished).type() != fs::file_type::regular) {
      // A pipe or a link under an entry's name; a folder stays unless it is empty.
      if (it->path().extension() == kSuffix) fs::remove(it->path(), vanished);
      continue;
    }
    const auto time = it->last_write_time(vanished);
    const auto size = it->file_size(vanished);
    if (vanished) continue;
    if (it->path().extension() == kUnfinished) {
      if (now - time > kAbandonedAfter) fs::remove(it->path(), vanished);
      continue;
    }
    if (it->path().extension() != kSuffix) continue;
    entries.push_back({it->path(), time, static_cast<int64_t>(size)});
    total += entries.back().size;
  }
  if (total <= limit_bytes_) return;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.time < b.time; });
  for (const Entry& entry : entries) {
    if (total <= limit_bytes_ / 4 * 3) break;  // with some room, so that not every run evicts
    fs::remove(entry.path, error);
    total -= entry.size;
  }
}

}  // namespace VXLA_NAMESPACE::vulkan
