// The caches: files that are never trusted blindly, and pipelines that are built once.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "tests/vulkan/vulkan_test_support.h"

namespace vxla::vulkan {
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

TEST(HashTest, DiffersByEveryByteAndByLength) {
  std::set<Hash128> seen;
  for (size_t length = 0; length < 40; ++length) seen.insert(HashBytes(std::vector<std::byte>(length)));
  std::vector<std::byte> bytes(40);
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      bytes[i] = static_cast<std::byte>(1 << bit);
      seen.insert(HashBytes(bytes));
    }
    bytes[i] = std::byte{0};
  }
  EXPECT_EQ(seen.size(), 40u + 40 * 8);
  EXPECT_EQ(HashText("abc").Hex().size(), 32u);
}

TEST(DiskCacheTest, GivesBackWhatWasStored) {
  TemporaryFolder folder;
  const Hash128 a = HashText("a"), b = HashText("b");
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
  const Hash128 key = HashText("a");
  DiskCache cache(folder.path(), true);
  const auto damage = [&](auto change) {
    cache.Store(key, Bytes(500));
    change(cache.PathOf(key));
    EXPECT_FALSE(cache.Load(key).has_value());
    EXPECT_FALSE(fs::exists(cache.PathOf(key)));
  };
  for (size_t at : {0, 10, 20, 30, 47, 48, 547}) {
    damage([&](const fs::path& path) {
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      file.seekg(static_cast<std::streamoff>(at));
      const int byte = file.get();
      file.seekp(static_cast<std::streamoff>(at));
      file.put(static_cast<char>(byte ^ 0x40));
    });
  }
  for (size_t size : {0, 30, 48, 547, 600}) damage([&](const fs::path& path) { fs::resize_file(path, size); });
  // Another key's file under this key's name.
  damage([&](const fs::path& path) {
    cache.Store(HashText("b"), Bytes(500));
    fs::rename(cache.PathOf(HashText("b")), path);
  });
}

TEST(DiskCacheTest, EvictsTheOldestFirst) {
  TemporaryFolder folder;
  {
    DiskCache cache(folder.path(), true, 10'000);
    for (int i = 0; i < 20; ++i) {
      const Hash128 key = HashText(std::to_string(i));
      cache.Store(key, Bytes(1000));
      // File 3 is the youngest by its time, though it was written early.
      const auto age = std::chrono::minutes(i == 3 ? 0 : 100 - i);
      fs::last_write_time(cache.PathOf(key), fs::file_time_type::clock::now() - age);
    }
  }
  DiskCache cache(folder.path(), true, 10'000);
  EXPECT_TRUE(cache.Load(HashText("3")).has_value());
  EXPECT_TRUE(cache.Load(HashText("19")).has_value());
  EXPECT_FALSE(cache.Load(HashText("0")).has_value());
  EXPECT_LE(FilesIn(folder.path()).size(), 7u);
}

TEST(DiskCacheTest, FoldersThatCannotBeWrittenAreNoted) {
  TemporaryFolder folder;
  const std::string file = folder.path() + "/file";
  std::ofstream(file) << "in the way";
  DiskCache cache(file, true);
  EXPECT_THAT(cache.note(), HasSubstr("cannot be made"));
  cache.Store(HashText("a"), Bytes(10));
  EXPECT_FALSE(cache.Load(HashText("a")).has_value());
  DiskCache nowhere("", true);
  EXPECT_THAT(nowhere.note(), HasSubstr("no cache folder"));
  DiskCache off(folder.path(), false);
  EXPECT_EQ(off.note(), "");
  off.Store(HashText("a"), Bytes(10));
  EXPECT_FALSE(off.Load(HashText("a")).has_value());
}

TEST(DiskCacheTest, AFolderThatVanishesIsNoted) {
  TemporaryFolder folder;
  DiskCache cache(folder.path(), true);
  fs::remove_all(folder.path() + "/kernels");
  cache.Store(HashText("a"), Bytes(10));
  EXPECT_THAT(cache.note(), HasSubstr("cannot be written"));
  EXPECT_FALSE(cache.Load(HashText("a")).has_value());
}

TEST(DiskCacheTest, TwoProcessesWriteAtOnce) {
  TemporaryFolder folder;
  const auto work = [&] {
    DiskCache cache(folder.path(), true);
    for (int round = 0; round < 50; ++round) {
      const Hash128 key = HashText(std::to_string(round % 5));
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
    });
    EXPECT_EQ(calls, 8u);  // the start, then one for each kernel
    EXPECT_EQ(most, 7u);
    ASSERT_TRUE(kernels.ok()) << kernels.status().message();
    EXPECT_EQ(compiled, process == 0 ? 7 : 0);
    EXPECT_EQ((*kernels)[2], (*kernels)[7]);
    EXPECT_NE((*kernels)[0], (*kernels)[1]);
    std::vector<size_t> made;  // nothing is to be made, so nothing is told
    auto again = device->GetKernels(device->binding_mode(), wanted, &compiled,
                                    [&](size_t count, size_t) { made.push_back(count); });
    EXPECT_TRUE(made.empty());
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(compiled, 0);
    EXPECT_EQ(*again, *kernels);
    EXPECT_EQ(device->cache_note(), "");
  }
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
}  // namespace vxla::vulkan
