#include "integrations/pjrt/profiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <set>

#include "integrations/pjrt/plugin.h"
#include "integrations/pjrt/messages/wire_format.h"
#include "xla/pjrt/c/pjrt_c_api_profiler_extension.h"

struct PLUGIN_Profiler_Error {
  std::string message;
};

// The handle: what ran between Start and Stop.
struct PLUGIN_Profiler {
  bool is_on = false;
  std::vector<vxla::pjrt::ProfiledRun> runs;
  std::string bytes;  // the runs as an XSpace, once they are asked for
};

namespace VXLA_NAMESPACE::pjrt {
namespace {

// An event of a line; its metadata hold the name.
struct TimedEvent {
  std::string name;
  int64_t begin_ns = 0, end_ns = 0;
  std::string program, kernel;    // of a step
  int64_t bytes = -1, flop = -1;  // likewise
};

// One plane of an XSpace (tsl/profiler/protobuf/xplane.proto): a device's lines of events.
class PlaneWriter {
 public:
  PlaneWriter(uint64_t id, const std::string& name) {
    AddNumber(bytes_, 1, id);
    AddBytes(bytes_, 2, name);
  }

  void AddLine(const std::string& name, std::vector<TimedEvent> events) {
    if (events.empty()) return;
    std::ranges::stable_sort(events, {}, &TimedEvent::begin_ns);
    const int64_t start = events[0].begin_ns;
    std::string line;
    AddNumber(line, 1, ++lines_);
    AddBytes(line, 2, name);
    AddNumber(line, 3, static_cast<uint64_t>(start));
    for (const TimedEvent& event : events) AddBytes(line, 4, EventBytes(event, start));
    AddBytes(bytes_, 3, line);
  }

  std::string Finish() {
    for (const auto& [name, id] : events_) AddEntry(4, name, id);
    for (const auto& [name, id] : stats_) AddEntry(5, name, id);
    return std::move(bytes_);
  }

 private:
  static uint64_t IdOf(std::map<std::string, uint64_t>& ids, const std::string& name) {
    return ids.try_emplace(name, ids.size() + 1).first->second;
  }
  void AddEntry(int field, const std::string& name, uint64_t id) {
    std::string metadata, entry;
    AddNumber(metadata, 1, id);
    AddBytes(metadata, 2, name);
    AddNumber(entry, 1, id);
    AddBytes(entry, 2, metadata);
    AddBytes(bytes_, field, entry);
  }
  void AddStat(std::string& event, const char* name, const std::string& text) {
    if (text.empty()) return;
    std::string stat;
    AddNumber(stat, 1, IdOf(stats_, name));
    AddBytes(stat, 5, text);
    AddBytes(event, 4, stat);
  }
  void AddStat(std::string& event, const char* name, int64_t value) {
    if (value < 0) return;
    std::string stat;
    AddNumber(stat, 1, IdOf(stats_, name));
    AddNumber(stat, 4, static_cast<uint64_t>(value));
    AddBytes(event, 4, stat);
  }
  std::string EventBytes(const TimedEvent& event, int64_t start) {
    constexpr int64_t kPicoseconds = 1000;
    std::string bytes;
    AddNumber(bytes, 1, IdOf(events_, event.name));
    AddNumber(bytes, 2, static_cast<uint64_t>((event.begin_ns - start) * kPicoseconds));
    AddNumber(bytes, 3, static_cast<uint64_t>(std::max<int64_t>(event.end_ns - event.begin_ns, 0) * kPicoseconds));
    AddStat(bytes, "hlo_module", event.program);
    AddStat(bytes, "hlo_op", event.program.empty() ? "" : event.name);
    AddStat(bytes, "kernel", event.kernel);
    AddStat(bytes, "bytes_accessed", event.bytes);
    AddStat(bytes, "flops", event.flop);
    return bytes;
  }

  std::string bytes_;
  uint64_t lines_ = 0;
  std::map<std::string, uint64_t> events_, stats_;  // ids by name
};

void AddSteps(const ProfiledRun& run, std::vector<TimedEvent>& kernels, std::vector<TimedEvent>& host) {
  const auto at = [&](double ms) { return run.begin_ns + std::llround(ms * 1e6); };
  for (const RunSpan& span : run.statistics.spans) {
    if (span.step < 0) {
      host.push_back({span.on_host, at(span.begin_ms), at(span.end_ms), run.program, {}});
      continue;
    }
    const StepTime& step = run.statistics.steps.at(static_cast<size_t>(span.step));
    const int64_t runs = std::max<int64_t>(step.runs, 1);
    kernels.push_back(
        {step.name, at(span.begin_ms), at(span.end_ms), run.program, step.kernel, step.bytes / runs, step.flop / runs});
  }
}

std::string SpaceOf(const std::vector<ProfiledRun>& runs) {
  std::map<int, std::vector<const ProfiledRun*>> by_device;
  for (const ProfiledRun& run : runs) by_device[run.device].push_back(&run);
  std::string space;
  for (const auto& [device, own] : by_device) {
    std::vector<TimedEvent> modules, kernels, host;
    for (const ProfiledRun* run : own) {
      modules.push_back({run->program, run->begin_ns, run->end_ns, {}, {}});
      AddSteps(*run, kernels, host);
    }
    // The prefix by which readers of profiles know devices.
    PlaneWriter plane(static_cast<uint64_t>(device) + 1, fmt::format("/device:GPU:{}", device));
    plane.AddLine("XLA Modules", std::move(modules));
    plane.AddLine("XLA Ops", std::move(kernels));
    plane.AddLine("Host steps of " + own[0]->device_kind, std::move(host));
    AddBytes(space, 1, plane.Finish());
  }
  return space;
}

std::mutex& Mutex() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}
std::set<PLUGIN_Profiler*>& Taking() {  // under the mutex
  static std::set<PLUGIN_Profiler*>& taking = *new std::set<PLUGIN_Profiler*>;
  return taking;
}
std::atomic<int> taking_count = 0;

PLUGIN_Profiler_Error* ErrorOf(const Status& status) noexcept {
  if (status.ok()) return nullptr;
  return new (std::nothrow) PLUGIN_Profiler_Error{status.message()};
}

// jaxlib leaves struct_size as it happens to be, so that it says nothing here.
template <typename Args, Status (*function)(Args&)>
PLUGIN_Profiler_Error* ProfilerSlot(Args* args) noexcept {
  return ErrorOf(Guarded([&] {
    return args != nullptr ? function(*args) : InvalidArgument("a call of the profiler without its arguments");
  }));
}

Status Create(PLUGIN_Profiler_Create_Args& args) {
  args.profiler = new PLUGIN_Profiler;
  return OkStatus();
}

void SetOn(PLUGIN_Profiler* profiler, bool on) {
  const std::lock_guard lock(Mutex());
  profiler->is_on = on;
  if (on) {
    Taking().insert(profiler);
  } else {
    Taking().erase(profiler);
  }
  taking_count = static_cast<int>(Taking().size());
}

template <typename Args>
Status CheckProfiler(const Args& args) {
  return args.profiler != nullptr ? OkStatus() : InvalidArgument("a call of the profiler without one");
}

Status Destroy(PLUGIN_Profiler_Destroy_Args& args) {
  if (args.profiler == nullptr) return OkStatus();
  SetOn(args.profiler, false);
  delete args.profiler;
  return OkStatus();
}

Status Start(PLUGIN_Profiler_Start_Args& args) {
  VXLA_RETURN_IF_ERROR(CheckProfiler(args));
  SetOn(args.profiler, true);
  return OkStatus();
}

Status Stop(PLUGIN_Profiler_Stop_Args& args) {
  VXLA_RETURN_IF_ERROR(CheckProfiler(args));
  SetOn(args.profiler, false);
  return OkStatus();
}

const std::string& BytesOf(PLUGIN_Profiler& profiler) {
  const std::lock_guard lock(Mutex());
  if (profiler.bytes.empty()) profiler.bytes = SpaceOf(profiler.runs);
  return profiler.bytes;
}

Status CollectData(PLUGIN_Profiler_CollectData_Args& args) {
  VXLA_RETURN_IF_ERROR(CheckProfiler(args));
  if (args.profiler->is_on) return InvalidArgument("a profile is read after its profiler was stopped");
  const std::string& bytes = BytesOf(*args.profiler);
  args.buffer_size_in_bytes = bytes.size();
  // The header has callers ask for the size and bring memory for the bytes; jaxlib brings none and reads them here.
  if (args.buffer != nullptr) {
    std::memcpy(args.buffer, bytes.data(), bytes.size());
  } else {
    args.buffer = const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(bytes.data()));
  }
  return OkStatus();
}

// What Consume gives is the profiler itself: there is one reading of it.
Status Consume(PLUGIN_Profiler_Consume_Args& args) {
  VXLA_RETURN_IF_ERROR(CheckProfiler(args));
  if (args.profiler->is_on) return InvalidArgument("a profile is read after its profiler was stopped");
  args.result = reinterpret_cast<PLUGIN_Profiler_ConsumeResult*>(args.profiler);
  return OkStatus();
}

Status Serialize(PLUGIN_Profiler_Serialize_Args& args) {
  VXLA_RETURN_IF_ERROR(CheckProfiler(args));
  const std::string& bytes = BytesOf(*args.profiler);
  args.serialized_bytes = reinterpret_cast<const uint8_t*>(bytes.data());
  args.serialized_size = bytes.size();
  return OkStatus();
}

void ErrorDestroy(PLUGIN_Profiler_Error_Destroy_Args* args) { delete args->error; }

void ErrorMessage(PLUGIN_Profiler_Error_Message_Args* args) {
  args->message = args->error->message.data();
  args->message_size = args->error->message.size();
}

PLUGIN_Profiler_Error* ErrorCode(PLUGIN_Profiler_Error_GetCode_Args* args) {
  args->code = PJRT_Error_Code_INVALID_ARGUMENT;
  return nullptr;
}

}  // namespace

int64_t NowNs() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

bool IsProfiling() { return taking_count.load(std::memory_order_relaxed) > 0; }

void AddProfiledRun(const ProfiledRun& run) {
  const std::lock_guard lock(Mutex());
  for (PLUGIN_Profiler* profiler : Taking()) profiler->runs.push_back(run);
}

namespace {

// How many entries of the table the framework takes, which the plugin's Python side says; 0: nobody has said. jaxlib
// 0.10 takes a table of its own size alone, and ends the process at another one.
size_t EntriesTaken() {
  const char* const text = std::getenv("VXLA_PJRT_PROFILER_ENTRIES");
  size_t entries = 0;
  if (text != nullptr) std::from_chars(text, text + std::strlen(text), entries);
  constexpr size_t kLeast = offsetof(PLUGIN_Profiler_Api, consume) / sizeof(void*);
  return entries < kLeast ? 0 : std::min(entries, size_t{PLUGIN_Profiler_Api_STRUCT_SIZE} / sizeof(void*));
}

}  // namespace

PJRT_Extension_Base* ProfilerExtension(PJRT_Extension_Base* next) {
  static PLUGIN_Profiler_Api api = {
      EntriesTaken() * sizeof(void*),
      nullptr,
      &ErrorDestroy,
      &ErrorMessage,
      &ErrorCode,
      &ProfilerSlot<PLUGIN_Profiler_Create_Args, Create>,
      &ProfilerSlot<PLUGIN_Profiler_Destroy_Args, Destroy>,
      &ProfilerSlot<PLUGIN_Profiler_Start_Args, Start>,
      &ProfilerSlot<PLUGIN_Profiler_Stop_Args, Stop>,
      &ProfilerSlot<PLUGIN_Profiler_CollectData_Args, CollectData>,
      &ProfilerSlot<PLUGIN_Profiler_Consume_Args, Consume>,
      [](PLUGIN_Profiler_ConsumeResult_Destroy_Args*) {},
      &ProfilerSlot<PLUGIN_Profiler_Serialize_Args, Serialize>,
  };
  static PJRT_Profiler_Extension extension = {
      {sizeof(PJRT_Profiler_Extension), PJRT_Extension_Type_Profiler, next}, &api, 0};
  return api.struct_size == 0 ? next : &extension.base;
}

}  // namespace VXLA_NAMESPACE::pjrt
