// The plugin as a client of XLA's C API uses it from eight threads: transfers, runs that take their arguments over, copies between
// devices, programs of two replicas, deletion with work in flight, events whose callbacks destroy them. ThreadSanitizer sees all of it,
// as no Python and no jaxlib is between. `threads_test PLUGIN`: 0 where every number and every error is right.
#include <dlfcn.h>
#include <xla/pjrt/c/pjrt_c_api.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr int kThreads = 8, kTurns = 12, kElements = 1000;

const PJRT_Api* api = nullptr;
std::atomic<int> failures{0}, events_made{0}, events_called{0};

void Expect(bool holds, const char* what, int line) {
  if (holds) return;
  ++failures;
  std::fprintf(stderr, "line %d: expected %s\n", line, what);
}
#define EXPECT(holds) Expect((holds), #holds, __LINE__)

template <class Args>
Args Make() {
  Args args{};
  args.struct_size = sizeof(Args);
  return args;
}

// "" of no error; the error is destroyed.
std::string MessageOf(PJRT_Error* error) {
  if (error == nullptr) return "";
  auto message = Make<PJRT_Error_Message_Args>();
  message.error = error;
  api->PJRT_Error_Message(&message);
  std::string text(message.message, message.message_size);
  auto destroy = Make<PJRT_Error_Destroy_Args>();
  destroy.error = error;
  api->PJRT_Error_Destroy(&destroy);
  return text.empty() ? "an error without a message" : text;
}

void ExpectOk(PJRT_Error* error, int line) {
  const std::string message = MessageOf(error);
  if (message.empty()) return;
  ++failures;
  std::fprintf(stderr, "line %d: %s\n", line, message.c_str());
}
#define EXPECT_OK(call) ExpectOk((call), __LINE__)

void Destroy(PJRT_Event* event) {
  auto args = Make<PJRT_Event_Destroy_Args>();
  args.event = event;
  EXPECT_OK(api->PJRT_Event_Destroy(&args));
}

std::string Await(PJRT_Event* event) {
  auto args = Make<PJRT_Event_Await_Args>();
  args.event = event;
  const std::string message = MessageOf(api->PJRT_Event_Await(&args));
  Destroy(event);
  return message;
}

// The callback destroys the event that called it, and takes its time.
void DestroyWhenReady(PJRT_Event* event) {
  ++events_made;
  auto args = Make<PJRT_Event_OnReady_Args>();
  args.event = event;
  args.user_arg = event;
  args.callback = [](PJRT_Error* error, void* itself) {
    MessageOf(error);
    Destroy(static_cast<PJRT_Event*>(itself));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    ++events_called;
  };
  EXPECT_OK(api->PJRT_Event_OnReady(&args));
}

class Buffer {
 public:
  explicit Buffer(PJRT_Buffer* buffer = nullptr) : buffer_(buffer) {}
  Buffer(Buffer&& other) noexcept : buffer_(std::exchange(other.buffer_, nullptr)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(buffer_, other.buffer_);
    return *this;
  }
  ~Buffer() {
    if (buffer_ == nullptr) return;
    auto args = Make<PJRT_Buffer_Destroy_Args>();
    args.buffer = buffer_;
    EXPECT_OK(api->PJRT_Buffer_Destroy(&args));
  }
  PJRT_Buffer* get() const { return buffer_; }

  PJRT_Event* Read(std::vector<float>* values) const {
    values->assign(kElements, -1);
    auto args = Make<PJRT_Buffer_ToHostBuffer_Args>();
    args.src = buffer_;
    args.dst = values->data();
    args.dst_size = values->size() * sizeof(float);
    EXPECT_OK(api->PJRT_Buffer_ToHostBuffer(&args));
    return args.event;
  }
  void Delete() const {
    auto args = Make<PJRT_Buffer_Delete_Args>();
    args.buffer = buffer_;
    EXPECT_OK(api->PJRT_Buffer_Delete(&args));
  }

 private:
  PJRT_Buffer* buffer_;
};

class Client {
 public:
  Client() {
    auto args = Make<PJRT_Client_Create_Args>();
    EXPECT_OK(api->PJRT_Client_Create(&args));
    client_ = args.client;
    if (client_ == nullptr) return;
    auto devices = Make<PJRT_Client_AddressableDevices_Args>();
    devices.client = client_;
    EXPECT_OK(api->PJRT_Client_AddressableDevices(&devices));
    devices_.assign(devices.addressable_devices, devices.addressable_devices + devices.num_addressable_devices);
  }
  ~Client() {
    auto args = Make<PJRT_Client_Destroy_Args>();
    args.client = client_;
    if (client_ != nullptr) EXPECT_OK(api->PJRT_Client_Destroy(&args));
  }
  const std::vector<PJRT_Device*>& devices() const { return devices_; }

  PJRT_LoadedExecutable* Compile(std::string text, const std::string& options = "") const {
    auto program = Make<PJRT_Program>();
    program.code = text.data();
    program.code_size = text.size();
    program.format = "mlir";
    program.format_size = 4;
    auto args = Make<PJRT_Client_Compile_Args>();
    args.client = client_;
    args.program = &program;
    args.compile_options = options.data();
    args.compile_options_size = options.size();
    EXPECT_OK(api->PJRT_Client_Compile(&args));
    return args.executable;
  }

  // `values` stay as they are until the event.
  Buffer Put(const std::vector<float>& values, PJRT_Device* device, PJRT_Event** done) const {
    const int64_t size = static_cast<int64_t>(values.size());
    auto args = Make<PJRT_Client_BufferFromHostBuffer_Args>();
    args.client = client_;
    args.data = values.data();
    args.type = PJRT_Buffer_Type_F32;
    args.dims = &size;
    args.num_dims = 1;
    args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes;
    args.device = device;
    EXPECT_OK(api->PJRT_Client_BufferFromHostBuffer(&args));
    *done = args.done_with_host_buffer;
    return Buffer(args.buffer);
  }

  void MemoryStatsAreRead() const {
    for (PJRT_Device* device : devices_) {
      auto args = Make<PJRT_Device_MemoryStats_Args>();
      args.device = device;
      EXPECT_OK(api->PJRT_Device_MemoryStats(&args));
      EXPECT(args.bytes_in_use >= 0);
    }
  }

 private:
  PJRT_Client* client_ = nullptr;
  std::vector<PJRT_Device*> devices_;
};

void Delete(PJRT_LoadedExecutable* executable) {
  auto args = Make<PJRT_LoadedExecutable_Destroy_Args>();
  args.executable = executable;
  EXPECT_OK(api->PJRT_LoadedExecutable_Destroy(&args));
}

// Of each device its arguments; its results follow, and an event for each device.
struct Run {
  std::vector<std::vector<Buffer>> results;
  std::vector<PJRT_Event*> events;
};
Run Execute(PJRT_LoadedExecutable* executable, const std::vector<std::vector<PJRT_Buffer*>>& arguments, size_t results) {
  auto options = Make<PJRT_ExecuteOptions>();
  std::vector<PJRT_Buffer* const*> lists;
  std::vector<std::vector<PJRT_Buffer*>> outputs(arguments.size(), std::vector<PJRT_Buffer*>(results));
  std::vector<PJRT_Buffer**> output_lists;
  for (size_t d = 0; d < arguments.size(); ++d) {
    lists.push_back(arguments[d].data());
    output_lists.push_back(outputs[d].data());
  }
  Run run;
  run.events.resize(arguments.size());
  auto args = Make<PJRT_LoadedExecutable_Execute_Args>();
  args.executable = executable;
  args.options = &options;
  args.argument_lists = lists.data();
  args.num_devices = lists.size();
  args.num_args = arguments[0].size();
  args.output_lists = output_lists.data();
  args.device_complete_events = run.events.data();
  EXPECT_OK(api->PJRT_LoadedExecutable_Execute(&args));
  for (const auto& of_device : outputs) {
    run.results.emplace_back();
    for (PJRT_Buffer* each : of_device) run.results.back().emplace_back(each);
  }
  return run;
}

std::string SumAndProduct(float factor) {
  const std::string type = "tensor<" + std::to_string(kElements) + "xf32>";
  return "func.func @main(%x: " + type + " {tf.aliasing_output = 0 : i32}, %y: " + type + ") -> (" + type + ", " + type +
         ") {\n  %c = stablehlo.constant dense<" + std::to_string(factor) + "> : " + type +
         "\n  %s = stablehlo.add %x, %y : " + type + "\n  %p = stablehlo.multiply %s, %c : " + type +
         "\n  return %s, %p : " + type + ", " + type + "\n}\n";
}

std::string SumOverReplicas() {
  const std::string type = "tensor<" + std::to_string(kElements) + "xf32>";
  return "module attributes {mhlo.num_replicas = 2 : i32} {\nfunc.func @main(%x: " + type + ") -> " + type +
         " {\n  %r = \"stablehlo.all_reduce\"(%x) ({\n  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n    %s = stablehlo.add %a, %b : "
         "tensor<f32>\n    stablehlo.return %s : tensor<f32>\n  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (" +
         type + ") -> " + type + "\n  return %r : " + type + "\n}\n}\n";
}
// CompileOptionsProto: executable_build_options { num_replicas: 2 }.
const std::string kTwoReplicas = {0x1a, 0x02, 0x20, 0x02};

class Worker {
 public:
  Worker(const Client& client, int number, PJRT_LoadedExecutable* shared, PJRT_LoadedExecutable* replicas)
      : client_(client), number_(number), shared_(shared), replicas_(replicas) {}

  void Work() {
    for (int turn = 0; turn < kTurns; ++turn) {
      const float base = static_cast<float>(number_ * 100 + turn);
      Alone(base, turn);
      if ((turn + number_) % 3 == 0) OverReplicas(base);
      if ((turn + number_) % 4 == 1) OwnProgram(base);
      if (turn % 4 == 3) client_.MemoryStatsAreRead();
    }
  }

  void LeavesCallbacks() const {
    for (int i = 0; i < kThreads; ++i) {
      const Buffer x = Put(Values(1)), y = Put(Values(2));
      DestroyWhenReady(Execute(shared_, {{x.get(), y.get()}}, 2).events[0]);
    }
  }

 private:
  std::vector<float> Values(float base) const { return std::vector<float>(kElements, base); }
  Buffer Put(const std::vector<float>& values, size_t device = 0) const {
    PJRT_Event* done = nullptr;
    Buffer buffer = client_.Put(values, client_.devices()[device], &done);
    EXPECT(Await(done).empty());
    return buffer;
  }
  static void ExpectAll(const std::vector<float>& values, float wanted, int line) {
    for (float each : values) {
      if (each == wanted) continue;
      ++failures;
      std::fprintf(stderr, "line %d: %g, wanted %g\n", line, each, wanted);
      return;
    }
  }

  void Alone(float base, int turn) const {
    const std::vector<float> first = Values(base), second = Values(2);
    PJRT_Event* done = nullptr;
    Buffer x = client_.Put(first, client_.devices()[0], &done), y = Put(second);
    Run run = Execute(shared_, {{x.get(), y.get()}}, 2);
    DestroyWhenReady(run.events[0]);
    // x was taken over.
    auto is_deleted = Make<PJRT_Buffer_IsDeleted_Args>();
    is_deleted.buffer = x.get();
    EXPECT_OK(api->PJRT_Buffer_IsDeleted(&is_deleted));
    EXPECT(is_deleted.is_deleted);
    std::vector<float> values;
    auto read = Make<PJRT_Buffer_ToHostBuffer_Args>();
    read.src = x.get();
    values.resize(kElements);
    read.dst = values.data();
    read.dst_size = values.size() * sizeof(float);
    EXPECT(!MessageOf(api->PJRT_Buffer_ToHostBuffer(&read)).empty());
    Buffer &sum = run.results[0][0], &product = run.results[0][1];
    if (turn % 3 == 1) {
      auto copy = Make<PJRT_Buffer_CopyToDevice_Args>();
      copy.buffer = product.get();
      copy.dst_device = client_.devices()[1];
      EXPECT_OK(api->PJRT_Buffer_CopyToDevice(&copy));
      product = Buffer(copy.dst_buffer);
    }
    if (turn % 4 == 2) {
      // Deleted while it is read, or before: the bytes that were asked for come all the same.
      PJRT_Event* event = sum.Read(&values);
      sum.Delete();
      y.Delete();
      EXPECT(Await(event).empty());
      ExpectAll(values, base + 2, __LINE__);
    }
    EXPECT(Await(product.Read(&values)).empty());
    ExpectAll(values, (base + 2) * 3, __LINE__);
    EXPECT(Await(done).empty());
  }

  void OverReplicas(float base) const {
    const std::vector<float> first = Values(base), second = Values(1);
    const Buffer x = Put(first), y = Put(second, 1);
    Run run = Execute(replicas_, {{x.get()}, {y.get()}}, 1);
    for (PJRT_Event* event : run.events) DestroyWhenReady(event);
    std::vector<float> values;
    for (const auto& results : run.results) {
      EXPECT(Await(results[0].Read(&values)).empty());
      ExpectAll(values, base + 1, __LINE__);
    }
  }

  // Its executable goes while it runs, the argument with it.
  void OwnProgram(float base) const {
    PJRT_LoadedExecutable* executable = client_.Compile(SumAndProduct(static_cast<float>(number_ + 1)));
    if (executable == nullptr) return;
    std::vector<float> values;
    Buffer product;
    {
      const Buffer x = Put(Values(base)), y = Put(Values(1));
      Run run = Execute(executable, {{x.get(), y.get()}}, 2);
      DestroyWhenReady(run.events[0]);
      product = std::move(run.results[0][1]);
    }
    Delete(executable);
    EXPECT(Await(product.Read(&values)).empty());
    ExpectAll(values, (base + 1) * static_cast<float>(number_ + 1), __LINE__);
  }

  const Client& client_;
  const int number_;
  PJRT_LoadedExecutable* const shared_;
  PJRT_LoadedExecutable* const replicas_;
};

void RunAll() {
  const Client client;
  EXPECT(client.devices().size() >= 2);
  if (failures != 0) return;
  PJRT_LoadedExecutable* shared = client.Compile(SumAndProduct(3));
  PJRT_LoadedExecutable* replicas = client.Compile(SumOverReplicas(), kTwoReplicas);
  if (failures != 0) return;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] { Worker(client, i, shared, replicas).Work(); });
  }
  for (std::thread& thread : threads) thread.join();
  // The client goes while callbacks are due.
  Worker(client, 0, shared, replicas).LeavesCallbacks();
  Delete(shared);
  Delete(replicas);
}

}  // namespace

int main(int count, char** values) {
  if (count != 2) {
    std::fprintf(stderr, "usage: threads_test PLUGIN\n");
    return 2;
  }
  void* plugin = dlopen(values[1], RTLD_NOW | RTLD_LOCAL);
  auto get = plugin == nullptr ? nullptr : reinterpret_cast<const PJRT_Api* (*)()>(dlsym(plugin, "GetPjrtApi"));
  if (get == nullptr) {
    std::fprintf(stderr, "%s: %s\n", values[1], dlerror());
    return 1;
  }
  api = get();
  auto initialize = Make<PJRT_Plugin_Initialize_Args>();
  EXPECT_OK(api->PJRT_Plugin_Initialize(&initialize));
  RunAll();
  // The client is gone, and every event has called.
  EXPECT(events_called == events_made);
  std::printf("%d events, %d failures\n", events_made.load(), failures.load());
  return failures == 0 ? 0 : 1;
}
