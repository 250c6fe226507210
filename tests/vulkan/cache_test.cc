// The caches: files that are never trusted blindly, and pipelines that are built once.
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <future>
#include <thread>
#include <utility>

#include "tests/vulkan/vulkan_test_support.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::vector<std::byte> Bytes(size_t count, int seed = 1) {
  std::vector<std::byte> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 37 + seed);
  return bytes;
}

std::vector<fs::path> FilesIn(const std::string& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  return files;
}

TEST(DiskCacheTest, GivesBackWhatWasStored) {
  TemporaryFolder folder;
  const std::string a = "a", b = "b";
  DiskCache cache(folder.path(), true);
  EXPECT_FALSE(cache.Load(a).has_value());
  cache.Store(a, Bytes(1000));
  cache.Store(b, {});
  EXPECT_EQ(cache.Load(a), Bytes(1000));
  EXPECT_EQ(cache.Load(b), Bytes(0));
  cache.Store(a, Bytes(3, 9));
  DiskCache another(folder.path(), true);
  EXPECT_EQ(another.Load(a), Bytes(3, 9));
  EXPECT_EQ(cache.note(), "");
  EXPECT_EQ(FilesIn(folder.path()).size(), 2u);
}

TEST(DiskCacheTest, DamagedFilesAreMissesAndGo) {
  TemporaryFolder folder;
  const std::string key = "a";
  DiskCache cache(folder.path(), true);
  const auto damage = [&](auto change) {
    cache.Store(key, Bytes(500));
    change(cache.PathOf(key));
    EXPECT_FALSE(cache.Load(key).has_value());
    EXPECT_FALSE(fs::exists(cache.PathOf(key)));
  };
  for (size_t at : {0, 10, 20, 30, 32, 33, 532}) {
    damage([&](const fs::path& path) {
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      file.seekg(static_cast<std::streamoff>(at));
      const int byte = file.get();
      file.seekp(static_cast<std::streamoff>(at));
      file.put(static_cast<char>(byte ^ 0x40));
    });
  }
  for (size_t size : {0, 31, 32, 33, 532, 600}) damage([&](const fs::path& path) { fs::resize_file(path, size); });
}

TEST(DiskCacheTest, AnEntryMovedToAnothersNameIsNotBelieved) {
  TemporaryFolder folder;
  DiskCache cache(folder.path(), true);
  // Texts of one length and of two, of which one begins with the other.
  for (const auto& [mine, other] :
       {std::pair("kernel a", "kernel b"), std::pair("kernel a", "kernel"), std::pair("kernel", "kernel a")}) {
    cache.Store(other, Bytes(500));
    fs::rename(cache.PathOf(other), cache.PathOf(mine));
    EXPECT_FALSE(cache.Load(mine).has_value()) << mine << " " << other;
    EXPECT_FALSE(fs::exists(cache.PathOf(mine)));
    cache.Store(mine, Bytes(7));
    EXPECT_EQ(cache.Load(mine), Bytes(7));
  }
}

// What may lie where an entry belongs. None is read, waited for or followed; all but a full folder go and are rebuilt.
struct Intruder {
  const char* name;
  void (*put)(const fs::path& path);
};
const Intruder kIntruders[] = {
    {"Pipe", [](const fs::path& path) { ASSERT_EQ(mkfifo(path.c_str(), 0600), 0); }},
    {"EmptyFolder", [](const fs::path& path) { fs::create_directory(path); }},
    {"EmptyFile", [](const fs::path& path) { std::ofstream(path).close(); }},
    {"HugeFile",
     [](const fs::path& path) {
       std::ofstream(path).close();
       fs::resize_file(path, uintmax_t{1} << 40);  // of holes
     }},
    {"LinkToItself", [](const fs::path& path) { fs::create_symlink(path, path); }},
    {"LinkToNothing", [](const fs::path& path) { fs::create_symlink("nowhere", path); }},
    {"LinkToADevice", [](const fs::path& path) { fs::create_symlink("/dev/zero", path); }},
    {"Socket",
     [](const fs::path& path) {
       // A name for bind() is short; the entry's is not.
       const std::string name = path.parent_path() / "s";
       sockaddr_un address = {};
       address.sun_family = AF_UNIX;
       name.copy(address.sun_path, sizeof(address.sun_path) - 1);
       const int made = socket(AF_UNIX, SOCK_STREAM, 0);
       ASSERT_EQ(bind(made, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
       close(made);
       fs::rename(name, path);
     }},
    // Only root makes device nodes; for others a link to one, once more.
    {"Device",
     [](const fs::path& path) {
       if (mknod(path.c_str(), S_IFCHR | 0600, makedev(1, 5)) != 0) fs::create_symlink("/dev/null", path);
     }},
    {"UnreadableFile",
     [](const fs::path& path) {
       std::ofstream(path) << "anything";
       fs::permissions(path, fs::perms::none);  // root reads it all the same, and it is no entry
     }},
};

class IntruderTest : public ::testing::TestWithParam<Intruder> {};
INSTANTIATE_TEST_SUITE_P(All, IntruderTest, ::testing::ValuesIn(kIntruders),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(IntruderTest, GoesAndTheEntryIsRebuilt) {
  TemporaryFolder folder;
  DiskCache cache(folder.path(), true);
  const fs::path path = cache.PathOf("a");
  GetParam().put(path);
  if (HasFatalFailure()) return;
  EXPECT_FALSE(cache.Load("a").has_value());
  cache.Store("a", Bytes(10));
  EXPECT_EQ(cache.Load("a"), Bytes(10));
  EXPECT_EQ(cache.note(), "");
}

TEST_P(IntruderTest, IsReplacedByAnEntryThatNobodyAskedFor) {
  if (std::string(GetParam().name) == "EmptyFolder") return;  // no file takes a folder's place
  TemporaryFolder folder;
  DiskCache cache(folder.path(), true);
  GetParam().put(cache.PathOf("a"));
  if (HasFatalFailure()) return;
  cache.Store("a", Bytes(10));
  EXPECT_EQ(cache.Load("a"), Bytes(10));
}

TEST_P(IntruderTest, DoesNotDisturbEviction) {
  TemporaryFolder folder;
  const int64_t limit = 10'000;
  {
    DiskCache cache(folder.path(), true, limit);
    GetParam().put(cache.PathOf("a"));
    if (HasFatalFailure()) return;
    for (int i = 0; i < 20; ++i) cache.Store(std::to_string(i), Bytes(1000));
  }
  int64_t total = 0;
  for (const fs::path& file : FilesIn(folder.path())) total += static_cast<int64_t>(fs::file_size(file));
  EXPECT_LE(total, limit);
}

TEST(DiskCacheTest, AFullFolderInAnEntrysPlaceIsLeftAloneAndNoted) {
  TemporaryFolder folder;
  DiskCache cache(folder.path(), true);
  const fs::path path = cache.PathOf("a");
  fs::create_directory(path);
  std::ofstream(path / "someone's") << "file";
  EXPECT_FALSE(cache.Load("a").has_value());
  cache.Store("a", Bytes(10));
  EXPECT_FALSE(cache.Load("a").has_value());
  EXPECT_THAT(cache.note(), HasSubstr("cannot be written"));
  EXPECT_TRUE(fs::exists(path / "someone's"));
}

TEST(DiskCacheTest, EvictsTheOldestFirst) {
  TemporaryFolder folder;
  {
    DiskCache cache(folder.path(), true, 10'000);
    for (int i = 0; i < 20; ++i) {
      const std::string key = std::to_string(i);
      cache.Store(key, Bytes(1000));
      // File 3 is the youngest by its time, though it was written early.
      const auto age = std::chrono::minutes(i == 3 ? 0 : 100 - i);
      fs::last_write_time(cache.PathOf(key), fs::file_time_type::clock::now() - age);
    }
  }
  DiskCache cache(folder.path(), true, 10'000);
  EXPECT_TRUE(cache.Load("3").has_value());
  EXPECT_TRUE(cache.Load("19").has_value());
  EXPECT_FALSE(cache.Load("0").has_value());
  EXPECT_LE(FilesIn(folder.path()).size(), 7u);
}

TEST(DiskCacheTest, FoldersThatCannotBeWrittenAreNoted) {
  TemporaryFolder folder;
  const std::string file = folder.path() + "/file";
  std::ofstream(file) << "in the way";
  DiskCache cache(file, true);
  EXPECT_THAT(cache.note(), HasSubstr("cannot be made"));
  cache.Store("a", Bytes(10));
  EXPECT_FALSE(cache.Load("a").has_value());
  DiskCache nowhere("", true);
  EXPECT_THAT(nowhere.note(), HasSubstr("no cache folder"));
  DiskCache off(folder.path(), false);
  EXPECT_EQ(off.note(), "");
  off.Store("a", Bytes(10));
  EXPECT_FALSE(off.Load("a").has_value());
}

TEST(DiskCacheTest, AFolderThatVanishesIsNoted) {
  TemporaryFolder folder;
  DiskCache cache(folder.path(), true);
  fs::remove_all(folder.path() + "/kernels");
  cache.Store("a", Bytes(10));
  EXPECT_THAT(cache.note(), HasSubstr("cannot be written"));
  EXPECT_FALSE(cache.Load("a").has_value());
}

TEST(DiskCacheTest, TwoProcessesWriteAtOnce) {
  TemporaryFolder folder;
  const auto work = [&] {
    DiskCache cache(folder.path(), true);
    for (int round = 0; round < 50; ++round) {
      const std::string key = std::to_string(round % 5);
      cache.Store(key, Bytes(20'000, round % 5));
      const auto got = cache.Load(key);
      if (got.has_value() && *got != Bytes(20'000, round % 5)) return 1;
    }
    return cache.note().empty() ? 0 : 2;
  };
  const pid_t child = fork();
  if (child == 0) _exit(work());
  EXPECT_EQ(work(), 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(FilesIn(folder.path()).size(), 5u);
}

class PipelineCacheTest : public DeviceTest {
 protected:
  TestDevice OpenIn(const std::string& folder) {
    OpenOptions options = Options();
    options.cache_dir = folder;
    return Open(options);
  }
};
INSTANTIATE_TEST_SUITE_P(All, PipelineCacheTest, ::testing::ValuesIn(DeviceCases()), CaseName);

// Different texts, so different modules.
KernelKey Variant(BindingMode mode, int number) {
  KernelKey key = ScaleKernel(mode);
  key.generated += fmt::format("// {}\n", number);
  return key;
}

TEST_P(PipelineCacheTest, CountsWhatWasNeitherInMemoryNorOnDisk) {
  TemporaryFolder folder;
  std::vector<KernelKey> keys;
  for (int i = 0; i < 7; ++i) keys.push_back(Variant(GetParam().mode, i));
  std::vector<const KernelKey*> wanted;
  for (const KernelKey& key : keys) wanted.push_back(&key);
  wanted.push_back(&keys[2]);
  for (int process = 0; process < 2; ++process) {
    const auto device = OpenIn(folder.path());
    ASSERT_NE(device, nullptr);
    int compiled = -1;
    std::atomic<size_t> calls = 0, most = 0;
    auto kernels = device->GetKernels(device->binding_mode(), wanted, &compiled, [&](size_t made, size_t all) {
      EXPECT_EQ(all, 7u);
      ++calls;
      if (made == all) most = made;
      return OkStatus();
    });
    EXPECT_EQ(calls, 8u);  // the start, then one for each kernel
    EXPECT_EQ(most, 7u);
    ASSERT_TRUE(kernels.ok()) << kernels.status().message();
    EXPECT_EQ(compiled, process == 0 ? 7 : 0);
    EXPECT_EQ((*kernels)[2], (*kernels)[7]);
    EXPECT_NE((*kernels)[0], (*kernels)[1]);
    std::vector<size_t> made;  // nothing is to be made, so nothing is told
    auto again = device->GetKernels(device->binding_mode(), wanted, &compiled,
                                    [&](size_t count, size_t) { return made.push_back(count), OkStatus(); });
    EXPECT_TRUE(made.empty());
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(compiled, 0);
    EXPECT_EQ(*again, *kernels);
    EXPECT_EQ(device->cache_note(), "");
  }
}

// What one call was to make, and was told not to, another call that waits for it makes.
TEST_P(PipelineCacheTest, ACallThatIsCalledOffTakesNothingFromOthers) {
  TemporaryFolder folder;
  std::vector<KernelKey> keys;
  for (int i = 0; i < 7; ++i) keys.push_back(Variant(GetParam().mode, i));
  std::vector<const KernelKey*> wanted;
  for (const KernelKey& key : keys) wanted.push_back(&key);
  const auto device = OpenIn(folder.path());
  ASSERT_NE(device, nullptr);
  std::promise<void> begun;
  auto other = std::async(std::launch::async, [&] {
    begun.get_future().wait();
    return device->GetKernels(device->binding_mode(), wanted, nullptr);
  });
  bool first = true;
  const auto none = device->GetKernels(device->binding_mode(), wanted, nullptr, [&](size_t made, size_t) {
    EXPECT_EQ(made, 0u);  // nothing is begun afterwards
    if (std::exchange(first, false)) begun.set_value();
    return Cancelled("not wanted");
  });
  EXPECT_EQ(none.status().code(), StatusCode::kCancelled) << none.status().message();
  const auto kernels = other.get();
  ASSERT_TRUE(kernels.ok()) << kernels.status().message();
  EXPECT_EQ(kernels->size(), 7u);
}

TEST_P(PipelineCacheTest, WorkgroupSizesShareAModule) {
  TemporaryFolder folder;
  const auto device = OpenIn(folder.path());
  ASSERT_NE(device, nullptr);
  int compiled = -1;
  const auto a = GetKernel(*device, ScaleKernel(GetParam().mode, 64), &compiled);
  EXPECT_EQ(compiled, 1);
  const auto b = GetKernel(*device, ScaleKernel(GetParam().mode, 32), &compiled);
  EXPECT_EQ(compiled, 0);
  EXPECT_NE(a, b);
}

TEST_P(PipelineCacheTest, DamagedFilesAreRebuilt) {
  TemporaryFolder folder;
  for (int process = 0; process < 3; ++process) {
    const auto device = OpenIn(folder.path());
    ASSERT_NE(device, nullptr);
    int compiled = -1;
    GetKernel(*device, ScaleKernel(GetParam().mode), &compiled);
    EXPECT_EQ(compiled, process == 2 ? 0 : 1);
    EXPECT_EQ(RunScale(*device, Iota(100), 2, 1).back(), 199u);
    if (process != 0) continue;
    for (const fs::path& file : FilesIn(folder.path())) fs::resize_file(file, fs::file_size(file) - 1);
  }
}

// What every entry of the folder is turned into between two openings of a device.
void ForEachEntry(const std::string& folder, void (*change)(const fs::path& path)) {
  for (const fs::path& file : FilesIn(folder)) change(file);
}

TEST_P(PipelineCacheTest, PipesInPlaceOfEntriesKeepNobodyWaiting) {
  TemporaryFolder folder;
  for (int process = 0; process < 3; ++process) {
    const auto device = OpenIn(folder.path());
    ASSERT_NE(device, nullptr);
    int compiled = -1;
    GetKernel(*device, ScaleKernel(GetParam().mode), &compiled);
    EXPECT_EQ(compiled, process == 2 ? 0 : 1);
    EXPECT_EQ(RunScale(*device, Iota(100), 2, 1).back(), 199u);
    if (process != 0) continue;
    ForEachEntry(folder.path(), [](const fs::path& path) {
      fs::remove(path);
      ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    });
  }
}

TEST_P(PipelineCacheTest, EntriesThatChangedNamesAreRebuilt) {
  TemporaryFolder folder;
  const KernelKey a = ScaleKernel(GetParam().mode);
  KernelKey b = a;
  b.generated.replace(b.generated.find("* PARAM(1)"), 10, "+ PARAM(1)");
  for (int process = 0; process < 2; ++process) {
    const auto device = OpenIn(folder.path());
    ASSERT_NE(device, nullptr);
    int compiled = -1;
    GetKernel(*device, a, &compiled);
    EXPECT_EQ(compiled, 1) << process;
    GetKernel(*device, b, &compiled);
    EXPECT_EQ(compiled, 1) << process;
    EXPECT_EQ(RunScale(*device, Iota(100), 2, 1).back(), 199u);
    if (process != 0) continue;
    // Every entry takes the name of the next one.
    std::vector<fs::path> files = FilesIn(folder.path());
    const fs::path aside = files.front().parent_path() / "aside";
    fs::rename(files.front(), aside);
    for (size_t i = 1; i < files.size(); ++i) fs::rename(files[i], files[i - 1]);
    fs::rename(aside, files.back());
  }
}

// Entries whose checksum is right and whose module is not whole, as a program that died or lied might leave.
TEST_P(PipelineCacheTest, ModulesThatAreNotWholeAreRebuilt) {
  TemporaryFolder folder;
  const KernelKey key = ScaleKernel(GetParam().mode);
  const auto device = OpenForTest(Options(), GetParam().index);
  ASSERT_NE(device, nullptr);
  const auto disk_cache = std::make_shared<DiskCache>(folder.path(), true);
  const auto fresh = [&] { return SpirvCache(disk_cache, device->facts(), GetParam().mode, ShadercCompiler()); };
  const std::string identity = fresh().Identity(key, key.generated);
  const auto built = fresh().Get(key, key.generated);
  ASSERT_TRUE(built.ok()) << built.status().message();
  EXPECT_TRUE(built->compiled);
  const std::span<const std::byte> whole = std::as_bytes(std::span<const uint32_t>(*built->words));
  for (const size_t bytes :
       {size_t{0}, size_t{4}, size_t{20}, whole.size() / 8 * 4, whole.size() - 4, whole.size() - 1}) {
    disk_cache->Store(identity, whole.first(bytes));
    const auto again = fresh().Get(key, key.generated);
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_TRUE(again->compiled) << bytes;
    EXPECT_EQ(*again->words, *built->words);
    EXPECT_FALSE(fresh().Get(key, key.generated)->compiled) << "the rebuilt module is kept";
  }
}

TEST_P(PipelineCacheTest, ThreadsWaitForOneBuild) {
  TemporaryFolder folder;
  const auto device = OpenIn(folder.path());
  ASSERT_NE(device, nullptr);
  std::vector<KernelKey> keys;
  for (int i = 0; i < 5; ++i) keys.push_back(Variant(GetParam().mode, i));
  std::vector<const KernelKey*> wanted;
  for (const KernelKey& key : keys) wanted.push_back(&key);
  std::atomic<int> total = 0;
  std::vector<std::vector<std::shared_ptr<Kernel>>> kernels(4);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      int compiled = 0;
      auto got = device->GetKernels(device->binding_mode(), wanted, &compiled);
      total += compiled;
      if (got.ok()) kernels[t] = *got;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(total, 5);
  for (int t = 0; t < 4; ++t) {
    EXPECT_EQ(kernels[t].size(), 5u);
    EXPECT_EQ(kernels[t], kernels[0]);
  }
}

TEST_P(PipelineCacheTest, FailedKernelsAreReportedEachTime) {
  const auto device = Open();
  ASSERT_NE(device, nullptr);
  const KernelKey good = ScaleKernel(GetParam().mode);
  KernelKey bad = good;
  bad.algorithm = "test/bad.comp";
  bad.generated += "void broken() { return 1; }\n";
  const KernelKey* keys[] = {&good, &bad};
  for (int i = 0; i < 2; ++i) {
    const auto kernels = device->GetKernels(device->binding_mode(), keys, nullptr);
    EXPECT_EQ(kernels.status().code(), StatusCode::kInternal);
    EXPECT_THAT(kernels.status().message(), HasSubstr("kernel test/bad.comp does not compile"));
  }
  KernelKey mismatched = good;
  mismatched.constants.push_back(1);
  const KernelKey* mismatch[] = {&mismatched};
  EXPECT_THAT(device->GetKernels(device->binding_mode(), mismatch, nullptr).status().message(),
              HasSubstr("specialisation constant 3"));
  KernelKey large = good;
  large.constants[0] = device->facts().max_workgroup_size[0] + 1;
  const KernelKey* too_large[] = {&large};
  EXPECT_THAT(device->GetKernels(device->binding_mode(), too_large, nullptr).status().message(),
              HasSubstr("workgroup size"));
}

TEST_P(PipelineCacheTest, AnUnwritableFolderOnlyCostsTime) {
  TemporaryFolder folder;
  const std::string file = folder.path() + "/file";
  std::ofstream(file) << "in the way";
  const auto device = OpenIn(file);
  ASSERT_NE(device, nullptr);
  EXPECT_THAT(device->cache_note(), HasSubstr("cannot be made"));
  EXPECT_EQ(RunScale(*device, Iota(100), 2, 1).back(), 199u);
}

}  // namespace
}  // namespace VXLA_NAMESPACE::vulkan
