// A device without a GPU for tests of the scheduler: kernels are host functions, a worker thread plays the queue. It is
// strict where drivers are lenient: fresh memory holds garbage, writes beyond a buffer are found, and what no barrier
// separates runs in reverse order.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "backend/device.h"
#include "core/ir/module.h"
#include "tests/support/fake_math.h"

namespace VXLA_NAMESPACE::testing {

using HostKernel = std::function<void(std::span<std::byte* const> buffers, std::span<const uint32_t> params)>;

// The functions behind kernel keys; shared by the lowering that makes them and the device that runs them.
struct KernelRegistry {
  std::mutex mutex;
  std::map<std::string, HostKernel> kernels;  // by KernelKey::generated
};

// One dispatch for each instruction that FakeEvaluate knows, two through scratch for `reverse`; dynamic-update-slice of
// one dimension writes the update over its operand.
class FakeLowering : public Lowering {
 public:
  explicit FakeLowering(std::shared_ptr<KernelRegistry> registry) : registry_(std::move(registry)) {}

  Status CanLower(const Instruction& instruction) const override {
    if (Update(instruction).hero != nullptr) return OkStatus();
    if (instruction.shape().IsTuple() && instruction.opcode() != Opcode::kFusion) return Unsupported("a tuple");
    for (const Shape* leaf : FlattenTuple(instruction.shape())) {
      if (leaf->element_type() != ElementType::kF32) {
        return Unsupported("no {} on this device", ElementTypeName(leaf->element_type()));
      }
    }
    if (KindOf(instruction.opcode()) == OpcodeKind::kPending || instruction.opcode() == Opcode::kSort) {
      return Unsupported("no kernel for {} yet", OpcodeText(instruction.opcode()));
    }
    return OkStatus();
  }

  int64_t idle_scratch_bytes = 0;  // asked for beside what each step takes

  Result<std::vector<Step>> Lower(const Instruction& instruction, BufferMap& buffers) const override {
    VXLA_RETURN_IF_ERROR(CanLower(instruction));
    if (idle_scratch_bytes > 0) buffers.Scratch(idle_scratch_bytes);
    if (const FusionDescription update = Update(instruction); update.hero != nullptr)
      return std::vector<Step>{UpdateInPlace(update, buffers)};
    std::vector<Binding> inputs, outputs;
    for (const Instruction* operand : instruction.operands()) {
      inputs.push_back({buffers.SliceOf(*operand, 0), Access::kRead});
    }
    const int leaves = static_cast<int>(FlattenTuple(instruction.shape()).size());
    for (int leaf = 0; leaf < leaves; ++leaf) outputs.push_back({buffers.SliceOf(instruction, leaf), Access::kWrite});
    if (!HasReverse(instruction)) {
      Step step = MakeStep(instruction, inputs, outputs);
      if (const auto described = DescribeFusion(instruction); described.ok()) {
        step.in_place = PlacesOf(*described, buffers);
      }
      return std::vector<Step>{std::move(step)};
    }
    // Through scratch: the first step computes, the others copy.
    Register("copy", [](std::span<std::byte* const> memory, std::span<const uint32_t> params) {
      std::memcpy(memory[1], memory[0], params[0]);
    });
    std::vector<Binding> scratch;
    std::vector<Step> steps(1);
    for (const Binding& output : outputs) {
      const int64_t size = output.slice.size_bytes;
      scratch.push_back({buffers.Scratch(size), Access::kWrite});
      Step& copy = steps.emplace_back();
      copy.name = instruction.name() + " copy";
      copy.kernel = {"fake/copy.comp", "copy", {64, 1, 1}, 2, 1};
      copy.bindings = {{scratch.back().slice, Access::kRead}, output};
      copy.params = {static_cast<uint32_t>(size)};
    }
    steps[0] = MakeStep(instruction, inputs, scratch);
    return steps;
  }

 private:
  // An update of one dimension whose operands are all in memory; else no hero.
  static FusionDescription Update(const Instruction& instruction) {
    auto described = DescribeFusion(instruction);
    if (!described.ok() || described->hero == nullptr) return {};
    const Instruction& hero = *described->hero;
    const bool plain =
        hero.opcode() == Opcode::kDynamicUpdateSlice && hero.shape().rank() == 1 && described->computed.size() == 1;
    return plain ? std::move(*described) : FusionDescription();
  }

  Step UpdateInPlace(const FusionDescription& update, BufferMap& buffers) const {
    const Instruction& hero = *update.hero;
    const auto operand = [&](int k) { return buffers.SliceOf(*update.OperandOf(*hero.operand(k)), 0); };
    Step step;
    step.name = update.instruction->name();
    step.kernel = {"fake/update.comp", "update", {64, 1, 1}, 3, 2};
    step.bindings = {{operand(1), Access::kRead},
                     {operand(2), Access::kRead},
                     {buffers.SliceOf(*update.instruction, 0), Access::kReadWrite}};
    step.params = {static_cast<uint32_t>(hero.shape().ElementCount()),
                   static_cast<uint32_t>(hero.operand(1)->shape().ElementCount())};
    step.in_place = PlacesOf(update, buffers);
    Register("update", [](std::span<std::byte* const> memory, std::span<const uint32_t> params) {
      int32_t start = 0;
      std::memcpy(&start, memory[1], 4);
      start = std::clamp(start, 0, static_cast<int32_t>(params[0] - params[1]));
      std::memmove(memory[2] + 4 * start, memory[0], 4 * size_t{params[1]});
    });
    return step;
  }

  static bool HasReverse(const Instruction& instruction) {
    if (instruction.opcode() == Opcode::kReverse) return true;
    for (const Computation* called : instruction.called()) {
      for (const auto& inner : called->instructions()) {
        if (inner->opcode() == Opcode::kReverse) return true;
      }
    }
    return false;
  }

  void Register(const std::string& name, HostKernel kernel) const {
    std::lock_guard lock(registry_->mutex);
    registry_->kernels[name] = std::move(kernel);
  }

  Step MakeStep(const Instruction& instruction, std::vector<Binding> inputs,
                const std::vector<Binding>& outputs) const {
    const size_t input_count = inputs.size();
    Step step;
    step.name = instruction.name();
    step.bindings = std::move(inputs);
    step.bindings.insert(step.bindings.end(), outputs.begin(), outputs.end());
    const auto count = static_cast<uint32_t>(FlattenTuple(instruction.shape())[0]->ElementCount());
    step.params = {count};
    step.groups = {(count + 63) / 64, 1, 1};
    step.flop = count;
    // The kernel outlives the module that it was made for: it keeps one of its own.
    std::shared_ptr<Module> module = instruction.parent()->module()->Clone();
    const Instruction* copy = nullptr;
    for (const auto& candidate : module->entry()->instructions()) {
      if (candidate->name() == instruction.name()) copy = candidate.get();
    }
    step.kernel = {
        "fake/evaluate.comp", Describe(instruction), {64, 1, 1}, static_cast<uint32_t>(step.bindings.size()), 1};
    Register(step.kernel.generated, [module, copy, input_count](std::span<std::byte* const> memory, auto) {
      RunOnMemory(*copy, memory.first(input_count), memory.subspan(input_count));
    });
    return step;
  }

  std::shared_ptr<KernelRegistry> registry_;
};

class FakeKernel : public Kernel {
 public:
  FakeKernel(HostKernel run, uint32_t buffers, uint32_t params)
      : run(std::move(run)), buffer_count(buffers), param_count(params) {}
  HostKernel run;
  uint32_t buffer_count, param_count;
};

class FakeBuffer : public Buffer {
 public:
  FakeBuffer(int64_t size, bool visible, std::shared_ptr<std::atomic<int64_t>> used)
      : bytes_(size + kGuard, std::byte{0xFB}), size_(size), visible_(visible), used_(std::move(used)) {
    *used_ += size_;
  }
  ~FakeBuffer() override {
    VXLA_CHECK(GuardIntact(), "a kernel wrote beyond its buffer");
    *used_ -= size_;
  }
  int64_t size_bytes() const override { return size_; }
  uint64_t device_address() const override { return reinterpret_cast<uint64_t>(bytes_.data()); }
  std::byte* mapped() override { return visible_ ? bytes_.data() : nullptr; }
  std::byte* memory() { return bytes_.data(); }
  bool GuardIntact() const {
    return std::all_of(bytes_.begin() + size_, bytes_.end(), [](std::byte b) { return b == std::byte{0xFB}; });
  }

 private:
  static constexpr int64_t kGuard = 64;
  std::vector<std::byte> bytes_;
  int64_t size_;
  bool visible_;
  std::shared_ptr<std::atomic<int64_t>> used_;
};

class FakeCommandBuffer : public CommandBuffer {
 public:
  FakeCommandBuffer(BindingMode mode, int timestamps, int queue) : queue(queue), mode_(mode), timestamps_(timestamps) {}
  const int queue;

  Status Begin(bool resubmitted = false) override {
    VXLA_CHECK(in_flight == 0, "recorded while in flight");
    resubmitted_ = resubmitted;
    groups_.assign(1, {});
    return OkStatus();
  }
  Status Dispatch(const Kernel& kernel, BufferRange arguments, std::span<const BufferRange> buffers,
                  const GroupRange&) override {
    const auto& fake = static_cast<const FakeKernel&>(kernel);
    std::vector<std::byte*> bound;
    for (const BufferRange& range : buffers) bound.push_back(Memory(range));
    VXLA_CHECK(mode_ == BindingMode::kAddresses || bound.size() == fake.buffer_count, "descriptors of a dispatch");
    std::byte* block = Memory(arguments);
    groups_.back().push_back([&fake, bound, block, addresses = mode_ == BindingMode::kAddresses] {
      std::vector<std::byte*> memory = bound;
      if (addresses) {
        memory.resize(fake.buffer_count);
        std::memcpy(memory.data(), block, 8 * memory.size());
      }
      std::vector<uint32_t> params(fake.param_count);
      std::memcpy(params.data(), block + 8 * fake.buffer_count, 4 * params.size());
      fake.run(memory, params);
    });
    return OkStatus();
  }
  Status DispatchIndirect(const Kernel&, BufferRange, std::span<const BufferRange>, BufferRange) override {
    return Internal("the fake device has no gates");
  }
  void Barrier(bool = false) override { groups_.emplace_back(); }
  void Copy(BufferRange source, BufferRange target) override {
    VXLA_CHECK(source.size_bytes == target.size_bytes && source.size_bytes > 0, "sizes of a copy");
    groups_.back().push_back(
        [from = Memory(source), to = Memory(target), size = source.size_bytes] { std::memmove(to, from, size); });
  }
  void Fill(BufferRange, uint32_t) override {}
  void WriteTimestamp(int index) override {
    VXLA_CHECK(index < timestamps_, "timestamp index");
    written_ = std::max(written_, index + 1);
  }
  void BeginLabel(const char*) override {}
  void EndLabel() override {}
  Status End() override { return OkStatus(); }
  Result<std::vector<double>> Timestamps() override {
    std::vector<double> times;
    for (int i = 0; i < written_; ++i) times.push_back(1e6 * i);  // a millisecond a step
    return times;
  }

  void Run() {
    for (const auto& group : groups_) {
      for (auto command = group.rbegin(); command != group.rend(); ++command) (*command)();
    }
  }
  // False if it is in flight already and was not recorded for that.
  bool Enter() { return in_flight++ == 0 || resubmitted_; }
  std::atomic<int> in_flight = 0;

 private:
  static std::byte* Memory(const BufferRange& range) {
    auto* buffer = static_cast<FakeBuffer*>(range.buffer);
    VXLA_CHECK(range.offset_bytes >= 0 && range.offset_bytes + range.size_bytes <= buffer->size_bytes(),
               "range of a buffer");
    return buffer->memory() + range.offset_bytes;
  }

  BindingMode mode_;
  int timestamps_ = 0, written_ = 0;
  bool resubmitted_ = false;
  std::vector<std::vector<std::function<void()>>> groups_;
};

struct FakeDeviceOptions {
  BindingMode mode = BindingMode::kAddresses;
  bool host_visible = true;
  int64_t memory_bytes = int64_t{1} << 30;
  std::chrono::microseconds delay{0};  // before each submission runs
  bool signals_count = true;           // those that it shares with other devices
  int compute_queues = 1;              // above 1: and one for copies; whatever can run beside something else does
};

inline DeviceFacts FakeFacts(const FakeDeviceOptions& options) {
  DeviceFacts facts;
  facts.name = "fake";
  facts.buffer_addresses = true;
  facts.memory_bytes = static_cast<uint64_t>(options.memory_bytes);
  facts.max_allocation_bytes = static_cast<uint64_t>(options.memory_bytes);
  facts.max_storage_buffers = 32;
  facts.storage_offset_alignment = 64;
  facts.timestamp_period_ns = 1;
  facts.queues.resize(static_cast<size_t>(options.compute_queues));
  if (options.compute_queues > 1) {
    facts.queues.push_back({false});
    facts.queue_switch_seconds = -1;
  }
  return facts;
}

// As both devices see it: a semaphore that is given and awaited in turn, or one that counts.
class FakeSignal : public Signal {
 public:
  explicit FakeSignal(bool counts) : counts_(counts) {}
  void Give(uint64_t value) {
    const std::lock_guard lock(mutex_);
    VXLA_CHECK(counts_ ? value > value_ : value_ == 0, "a signal that nobody has waited for is given again");
    value_ = counts_ ? value : 1;
    changed_.notify_all();
  }
  void Await(uint64_t value) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return value_ >= (counts_ ? value : 1); });
    if (!counts_) value_ = 0;
  }

 private:
  const bool counts_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t value_ = 0;
};

class FakeDevice : public Device {
 public:
  explicit FakeDevice(const FakeDeviceOptions& options = {})
      : options_(options),
        facts_(FakeFacts(options)),
        registry_(std::make_shared<KernelRegistry>()),
        lowering_(registry_) {
    lines_.resize(facts_.queues.size());  // before the threads look at them
    for (size_t queue = 0; queue < lines_.size(); ++queue) {
      lines_[queue].worker = std::thread([this, queue] { Work(static_cast<int>(queue)); });
    }
  }
  ~FakeDevice() override {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    for (Line& line : lines_) line.worker.join();
  }

  const DeviceFacts& facts() const override { return facts_; }
  std::span<const BindingMode> binding_modes() const override { return {&options_.mode, 1}; }
  const Lowering& lowering(BindingMode) const override { return lowering_; }

  Result<std::shared_ptr<Buffer>> Allocate(int64_t size_bytes, MemoryKind kind) override {
    std::lock_guard lock(mutex_);
    if (*used_ + size_bytes > options_.memory_bytes) {
      return ResourceExhausted("{} bytes asked for, {} of {} in use", size_bytes, used_->load(), options_.memory_bytes);
    }
    const bool visible = kind != MemoryKind::kDevice || options_.host_visible;
    auto buffer = std::make_shared<FakeBuffer>(size_bytes, visible, used_);
    ++allocations_;
    cumulative_ += size_bytes;
    return std::shared_ptr<Buffer>(std::move(buffer));
  }
  MemoryStatistics memory_statistics() const override {
    std::lock_guard lock(mutex_);
    MemoryStatistics statistics;
    statistics.used_bytes = *used_;
    statistics.allocation_count = allocations_;
    statistics.cumulative_allocated_bytes = cumulative_;
    return statistics;
  }

  Result<std::vector<std::shared_ptr<Kernel>>> GetKernels(BindingMode, std::span<const KernelKey* const> keys,
                                                          int* compiled, const KernelProgress& progress) override {
    std::lock_guard lock(registry_->mutex);
    std::vector<std::shared_ptr<Kernel>> kernels;
    for (const KernelKey* key : keys) {
      const auto found = registry_->kernels.find(key->generated);
      VXLA_CHECK(found != registry_->kernels.end(), "unknown kernel");
      kernels.push_back(std::make_shared<FakeKernel>(found->second, key->buffer_count, key->param_count));
    }
    *compiled = static_cast<int>(keys.size());
    if (progress) VXLA_RETURN_IF_ERROR(progress(keys.size(), keys.size()));
    return kernels;
  }
  Result<std::string> KernelSource(BindingMode, const KernelKey& key) const override { return key.generated; }

  Result<std::unique_ptr<CommandBuffer>> CreateCommandBuffer(int timestamp_count, int queue = 0) override {
    VXLA_CHECK(static_cast<size_t>(queue) < facts_.queues.size(), "a queue that is not there");
    return std::unique_ptr<CommandBuffer>(std::make_unique<FakeCommandBuffer>(options_.mode, timestamp_count, queue));
  }
  Result<TimePoint> Submit(CommandBuffer& commands, const Moment& after) override {
    std::lock_guard lock(mutex_);
    auto& fake = static_cast<FakeCommandBuffer&>(commands);
    Line& line = lines_[static_cast<size_t>(fake.queue)];
    VXLA_CHECK(fake.Enter(), "submitted while in flight");
    VXLA_CHECK(IsSubmitted(after), "waits for what nobody has submitted");
    if (fail_submit) {
      --fake.in_flight;
      return DeviceFailure("the device is lost");
    }
    try {
      line.submitted.push_back({&fake, {fake.queue, line.next_value + 1}, after, across_});
    } catch (...) {
      --fake.in_flight;
      throw;
    }
    ++line.next_value;
    changed_.notify_all();
    ++submissions_;
    return TimePoint{fake.queue, line.next_value};
  }
  // Other devices that open it see the same bytes, and the same signals.
  Result<std::shared_ptr<Buffer>> AllocateShared(int64_t size_bytes) override {
    return Allocate(size_bytes, MemoryKind::kDevice);
  }
  Result<std::shared_ptr<Buffer>> OpenShared(const Buffer& buffer) override {
    return std::shared_ptr<Buffer>(const_cast<Buffer*>(&buffer), [](Buffer*) {});
  }
  Result<std::shared_ptr<Signal>> MakeSignal() override {
    return std::shared_ptr<Signal>(std::make_shared<FakeSignal>(options_.signals_count));
  }
  Result<std::shared_ptr<Signal>> OpenSignal(const Signal& signal) override {
    return std::shared_ptr<Signal>(const_cast<Signal*>(&signal), [](Signal*) {});
  }
  Result<TimePoint> SubmitAcross(CommandBuffer& commands, const Moment& after, std::span<const SignalPoint> waits,
                                 std::span<const SignalPoint> signals) override {
    const std::lock_guard lock(across_mutex_);
    across_ = {{waits.begin(), waits.end()}, {signals.begin(), signals.end()}};
    const Result<TimePoint> point = Submit(commands, after);
    across_ = {};
    return point;
  }
  Status Wait(const Moment& moment) override {
    std::unique_lock lock(mutex_);
    VXLA_CHECK(IsSubmitted(moment), "waits for what nobody has submitted");
    changed_.wait(lock, [&] { return HasPassed(moment); });
    return OkStatus();
  }
  bool IsDone(const Moment& moment) override {
    std::lock_guard lock(mutex_);
    return HasPassed(moment);
  }
  Result<bool> WaitUntil(const Moment& moment, std::chrono::steady_clock::time_point deadline) override {
    std::unique_lock lock(mutex_);
    VXLA_CHECK(IsSubmitted(moment), "waits for what nobody has submitted");
    if (fail_waits) return DeviceFailure("the device is lost");
    return changed_.wait_until(lock, deadline, [&] { return HasPassed(moment); });
  }

  Status Upload(std::span<const std::byte> source, Buffer& target, int64_t offset_bytes) override {
    std::copy(source.begin(), source.end(), static_cast<FakeBuffer&>(target).memory() + offset_bytes);
    ++transfers_;
    return OkStatus();
  }
  Status Download(Buffer& source, int64_t offset_bytes, std::span<std::byte> target,
                  const Moment& after = {}) override {
    VXLA_RETURN_IF_ERROR(Wait(after));
    std::copy_n(static_cast<FakeBuffer&>(source).memory() + offset_bytes, target.size(), target.data());
    ++transfers_;
    return OkStatus();
  }
  std::vector<std::string> validation_messages() const override { return {}; }

  int submissions() const { return submissions_; }
  int transfers() const { return transfers_; }
  std::atomic<bool> fail_submit = false, fail_waits = false;
  // On the worker's thread of the queue; set before anything is submitted.
  std::function<void(TimePoint point)> before_submission_runs;

 private:
  struct Across {
    std::vector<SignalPoint> waits, signals;
  };
  struct Submitted {
    FakeCommandBuffer* commands = nullptr;
    TimePoint point;
    Moment after;
    Across across;
  };
  struct Line {
    std::deque<Submitted> submitted;
    uint64_t next_value = 0, done = 0;
    std::thread worker;
  };

  bool IsSubmitted(const Moment& moment) const {
    for (int i = 0; i < kMostQueues; ++i) {
      const auto q = static_cast<size_t>(i);
      if (moment.at(i) > (q < lines_.size() ? lines_[q].next_value : 0)) return false;
    }
    return true;
  }
  bool HasPassed(const Moment& moment) const {
    for (size_t i = 0; i < lines_.size(); ++i) {
      if (moment.at(static_cast<int>(i)) > lines_[i].done) return false;
    }
    return true;
  }

  void Work(int queue) {
    std::unique_lock lock(mutex_);
    Line& line = lines_[static_cast<size_t>(queue)];
    while (true) {
      changed_.wait(lock, [&] { return stop_ || !line.submitted.empty(); });
      if (line.submitted.empty()) return;
      const auto [commands, point, after, across] = line.submitted.front();
      line.submitted.pop_front();
      changed_.wait(lock, [&after = after, this] { return HasPassed(after); });
      lock.unlock();
      for (const auto& [signal, value] : across.waits) static_cast<FakeSignal*>(signal)->Await(value);
      if (options_.delay.count() > 0) std::this_thread::sleep_for(options_.delay);
      if (before_submission_runs) before_submission_runs(point);
      commands->Run();
      --commands->in_flight;
      for (const auto& [signal, value] : across.signals) static_cast<FakeSignal*>(signal)->Give(value);
      lock.lock();
      line.done = point.value;
      changed_.notify_all();
    }
  }

  FakeDeviceOptions options_;
  DeviceFacts facts_;
  std::shared_ptr<KernelRegistry> registry_;
  FakeLowering lowering_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Line> lines_;  // by queue
  std::mutex across_mutex_;
  Across across_;  // of what is being submitted
  std::shared_ptr<std::atomic<int64_t>> used_ = std::make_shared<std::atomic<int64_t>>(0);
  int64_t allocations_ = 0, cumulative_ = 0;
  std::atomic<int> submissions_ = 0, transfers_ = 0;
  bool stop_ = false;
};

}  // namespace VXLA_NAMESPACE::testing
