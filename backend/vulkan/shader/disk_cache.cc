#include "backend/vulkan/shader/disk_cache.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>

namespace vxla::vulkan {
namespace {

namespace fs = std::filesystem;

// Changed with the layout of the files.
constexpr std::array<char, 8> kMagic = {'v', 'x', 'l', 'a', 'c', '0', '0', '1'};
constexpr auto kTouchAfter = std::chrono::hours(24);     // how stale a file's time may be; it orders eviction
constexpr auto kAbandonedAfter = std::chrono::hours(1);  // unfinished files of processes that died
constexpr const char* kSuffix = ".bin";
constexpr const char* kUnfinished = ".tmp";

struct Header {
  std::array<char, 8> magic = kMagic;
  Hash128 key;
  uint64_t size = 0;
  Hash128 checksum;
};
static_assert(sizeof(Header) == 48);

uint64_t Mix(uint64_t x) {
  x ^= x >> 29;
  x *= 0xd1b54a32d192ed03ull;
  x ^= x >> 32;
  x *= 0xaef17502108ef2d9ull;
  return x ^ (x >> 31);
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

}  // namespace

Hash128 HashBytes(std::span<const std::byte> bytes) {
  // Two lanes with different constants, each word stirred into both; the finish mixes the length and the lanes.
  uint64_t a = 0x9e3779b97f4a7c15ull, b = 0xc2b2ae3d27d4eb4full;
  const size_t whole = bytes.size() / 8 * 8;
  auto stir = [&](uint64_t word) {
    a = std::rotl(a ^ word, 29) * 0xd6e8feb86659fd93ull;
    b = std::rotl(b + word * 0xa0761d6478bd642full, 37) * 0xe7037ed1a0b428dbull ^ (a >> 17);
  };
  for (size_t i = 0; i < whole; i += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + i, 8);
    stir(word);
  }
  uint64_t rest = 0;
  if (whole < bytes.size()) std::memcpy(&rest, bytes.data() + whole, bytes.size() - whole);
  stir(rest);
  stir(bytes.size());
  return {Mix(a ^ std::rotl(b, 23)), Mix(b + a * 3)};
}

Hash128 HashText(std::string_view text) { return HashBytes(std::as_bytes(std::span(text.data(), text.size()))); }

std::string Hash128::Hex() const { return fmt::format("{:016x}{:016x}", high, low); }

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

fs::path DiskCache::PathOf(const Hash128& key) const { return folder_ / (key.Hex() + kSuffix); }

std::string DiskCache::note() const {
  std::lock_guard lock(mutex_);
  return note_;
}

void DiskCache::Note(std::string note) {
  std::lock_guard lock(mutex_);
  if (note_.empty()) note_ = std::move(note);
}

std::optional<std::vector<std::byte>> DiskCache::Load(const Hash128& key) {
  if (folder_.empty()) return std::nullopt;
  const fs::path path = PathOf(key);
  File file(std::fopen(path.string().c_str(), "rb"));
  if (file == nullptr) return std::nullopt;
  std::error_code error;
  Header header;
  std::vector<std::byte> bytes;
  const uintmax_t file_size = fs::file_size(path, error);
  bool good = !error && std::fread(&header, sizeof(header), 1, file.get()) == 1 && header.magic == kMagic &&
              header.key == key && file_size == sizeof(header) + header.size;
  if (good) {
    bytes.resize(header.size);
    good = (bytes.empty() || std::fread(bytes.data(), bytes.size(), 1, file.get()) == 1) &&
           HashBytes(bytes) == header.checksum;
  }
  if (!good) {
    fs::remove(path, error);
    return std::nullopt;
  }
  const auto now = fs::file_time_type::clock::now();
  if (const auto written = fs::last_write_time(path, error); !error && now - written > kTouchAfter) {
    fs::last_write_time(path, now, error);
  }
  return bytes;
}

void DiskCache::Store(const Hash128& key, std::span<const std::byte> bytes) {
  if (folder_.empty()) return;
  // The name must differ between the threads and processes that write the same key at once, forked ones included: so it
  // is drawn afresh each time.
  std::random_device random;
  const uint64_t unique = uint64_t{random()} << 32 | random();
  const fs::path target = PathOf(key);
  const fs::path unfinished = folder_ / fmt::format("{}.{:x}{}", key.Hex(), unique, kUnfinished);
  const Header header = {kMagic, key, bytes.size(), HashBytes(bytes)};
  std::error_code error;
  std::FILE* file = std::fopen(unfinished.string().c_str(), "wbx");
  if (file == nullptr) {
    return Note(fmt::format("the cache folder {} cannot be written: {}", folder_.string(), std::strerror(errno)));
  }
  bool written = std::fwrite(&header, sizeof(header), 1, file) == 1 &&
                 (bytes.empty() || std::fwrite(bytes.data(), bytes.size(), 1, file) == 1);
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

}  // namespace vxla::vulkan
