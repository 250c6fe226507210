#include "backend/vulkan/shader/pipeline_cache.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>

#include "backend/vulkan/shader/custom_shader.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

constexpr size_t kMostDriverCacheBytes = size_t{64} << 20;

}  // namespace

PipelineCache::PipelineCache(std::shared_ptr<DeviceContext> context, std::shared_ptr<KernelLayouts> layouts,
                             std::shared_ptr<DiskCache> disk, ShaderSource source, BindingMode mode,
                             ModuleCompiler compiler)
    : context_(std::move(context)),
      layouts_(std::move(layouts)),
      disk_(std::move(disk)),
      source_(std::move(source)),
      mode_(mode),
      spirv_(disk_, context_->facts(), mode, std::move(compiler)) {
  LoadDriverCache();
}

PipelineCache::~PipelineCache() {
  if (context_->host() && context_->host()->pipeline_cache != VK_NULL_HANDLE) return;
  SaveDriverCache();
  context_->Destroy(context_->vk().DestroyPipelineCache, driver_cache_);
}

Result<std::vector<std::shared_ptr<Kernel>>> PipelineCache::Get(std::span<const KernelKey* const> keys, int* compiled,
                                                                const KernelProgress& progress) {
  VXLA_RETURN_IF_ERROR(context_->Alive());
  std::vector<std::shared_future<Built>> futures;
  std::vector<Job> jobs;
  futures.reserve(keys.size());
  {
    std::lock_guard lock(mutex_);
    for (const KernelKey* key : keys) {
      auto it = kernels_.find(*key);
      if (it == kernels_.end()) {
        Job& job = jobs.emplace_back();
        job.key = *key;
        it = kernels_.emplace(*key, job.promise.get_future().share()).first;
      }
      futures.push_back(it->second);
    }
  }
  // Our own jobs are done before we wait for those of other threads, so no two calls wait for each other.
  const Status ended = Run(jobs, progress);
  if (compiled != nullptr) {
    *compiled = static_cast<int>(std::count_if(jobs.begin(), jobs.end(), [](const Job& job) { return job.compiled; }));
  }
  VXLA_RETURN_IF_ERROR(ended);
  std::vector<std::shared_ptr<Kernel>> kernels;
  kernels.reserve(keys.size());
  for (const std::shared_future<Built>& future : futures) {
    const Built& built = future.get();
    // Another call was to make it, and was called off.
    if (built.status().code() == StatusCode::kAborted) return Get(keys, compiled, progress);
    if (!built.ok()) return built.status();
    kernels.push_back(*built);
  }
  return kernels;
}

Status PipelineCache::Run(std::vector<Job>& jobs, const KernelProgress& progress) {
  // The longest first, so that no thread is left with it alone at the end.
  std::ranges::stable_sort(jobs, std::greater(), [](const Job& job) { return job.key.generated.size(); });
  const size_t threads = std::min<size_t>(jobs.size(), std::max(1u, std::thread::hardware_concurrency()));
  std::atomic<size_t> next = 0, made = 0;
  std::mutex mutex;
  Status ended;  // guarded by it
  const auto tell = [&](size_t count) {
    if (!progress || jobs.empty()) return;
    Status status = progress(count, jobs.size());
    const std::lock_guard lock(mutex);
    if (ended.ok()) ended = std::move(status);
  };
  const auto goes_on = [&] {
    const std::lock_guard lock(mutex);
    return ended.ok();
  };
  auto work = [&] {
    for (size_t i = next++; i < jobs.size(); i = next++) {
      if (!goes_on()) {
        Give(jobs[i], Aborted("kernel {}: the call that was to make it was called off", jobs[i].key.algorithm));
        continue;
      }
      RunOne(jobs[i]);
      tell(++made);
    }
  };
  tell(0);
  std::vector<std::thread> helpers;
  try {
    helpers.reserve(threads);
    for (size_t i = 1; i < threads; ++i) helpers.emplace_back(work);
  } catch (const std::exception&) {
    // No memory or no thread for more helpers: those there are, and this one, do it.
  }
  work();
  for (std::thread& helper : helpers) helper.join();
  return ended;
}

void PipelineCache::RunOne(Job& job) {
  Built built = [&]() -> Built {
    try {
      return Build(job.key, &job.compiled);
    } catch (const std::exception& error) {
      return Internal("kernel {}: {}", job.key.algorithm, error.what());
    }
  }();
  // What is wrong with a kernel that was given is no error of ours.
  if (built.status().code() == StatusCode::kInternal && (job.key.is_module || IsCustomShader(job.key)))
    built = Status(StatusCode::kInvalidArgument, built.status().message());
  Give(job, std::move(built));
}

void PipelineCache::Give(Job& job, Built built) {
  if (!built.ok()) {
    std::lock_guard lock(mutex_);
    kernels_.erase(job.key);
  }
  job.promise.set_value(std::move(built));
}

Result<SpirvCache::Found> PipelineCache::Module(const KernelKey& key) {
  VXLA_ASSIGN_OR_RETURN(const std::string text, source_(key));
  return spirv_.Get(key, text);
}

Result<std::vector<uint32_t>> PipelineCache::OptimizedModule(const KernelKey& key) {
  VXLA_ASSIGN_OR_RETURN(const std::string text, source_(key));
  return spirv_.GetOptimized(key, text);
}

PipelineCache::Built PipelineCache::Build(const KernelKey& key, bool* compiled) {
  VXLA_RETURN_IF_ERROR(CheckWorkgroup(key, context_->facts()));
  VXLA_ASSIGN_OR_RETURN(const SpirvCache::Found found, Module(key));
  VXLA_RETURN_IF_ERROR(CheckShared(*found.words, key, context_->facts()));
  const std::string name = key.algorithm.substr(key.algorithm.find('/') + 1);
  if (key.is_module || IsCustomShader(key))
    VXLA_RETURN_IF_ERROR(CheckCapabilities(*found.words, name, context_->facts()));
  if (key.is_module) VXLA_RETURN_IF_ERROR(CheckLayout(*found.words, name, key, mode_));
  *compiled = found.compiled;
  PipelineRequest request;
  request.mode = mode_;
  request.key = &key;
  request.spirv = found.words.get();
  request.cache = driver_cache_;
  return MakeKernel(context_, layouts_, request);
}

std::string PipelineCache::DriverCacheIdentity() const { return "pipelines|" + DeviceIdentity(context_->facts()); }

void PipelineCache::LoadDriverCache() {
  if (context_->host() && context_->host()->pipeline_cache != VK_NULL_HANDLE) {
    driver_cache_ = context_->host()->pipeline_cache;
    return;
  }
  std::vector<std::byte> bytes = disk_->Load(DriverCacheIdentity()).value_or(std::vector<std::byte>());
  auto info = MakeVk<VkPipelineCacheCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO);
  info.initialDataSize = bytes.size();
  info.pInitialData = bytes.data();
  loaded_bytes_ = bytes.size();
  // Without a driver cache pipelines are only slower to make.
  if (context_->vk().CreatePipelineCache(context_->handle(), &info, context_->allocation(), &driver_cache_) ==
      VK_SUCCESS)
    return;
  info.initialDataSize = loaded_bytes_ = 0;
  info.pInitialData = nullptr;
  if (context_->vk().CreatePipelineCache(context_->handle(), &info, context_->allocation(), &driver_cache_) !=
      VK_SUCCESS) {
    driver_cache_ = VK_NULL_HANDLE;
  }
}

void PipelineCache::SaveDriverCache() {
  if (driver_cache_ == VK_NULL_HANDLE || !context_->Alive().ok()) return;
  size_t size = 0;
  const DeviceTable& vk = context_->vk();
  if (vk.GetPipelineCacheData(context_->handle(), driver_cache_, &size, nullptr) != VK_SUCCESS) return;
  if (size <= loaded_bytes_ || size > kMostDriverCacheBytes) return;
  std::vector<std::byte> bytes(size);
  if (vk.GetPipelineCacheData(context_->handle(), driver_cache_, &size, bytes.data()) != VK_SUCCESS) return;
  bytes.resize(size);
  disk_->Store(DriverCacheIdentity(), bytes);
}

}  // namespace VXLA_NAMESPACE::vulkan
