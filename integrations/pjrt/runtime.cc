#include "integrations/pjrt/runtime.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <deque>
#include <map>
#include <numeric>
#include <set>

#include "api/devices.h"
#include "api/open_device.h"
#include "api/placed_replicas.h"
#include "api/program.h"
#include "api/replicas.h"
#include "backend/device.h"
#include "core/host/hash.h"
#include "core/mlir/importer/importer.h"
#include "core/mlir/printer/printer.h"
#include "core/text/hlo_printer.h"
#include "scheduler/plan/plan.h"

namespace VXLA_NAMESPACE::pjrt {
namespace {

std::vector<std::string> SplitWords(const std::string& text) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

// The machine's GPUs, or all devices; where there is no GPU the best of the others.
Result<std::vector<std::string>> PhysicalDevices(bool all, const DeviceOptions& options) {
  VXLA_ASSIGN_OR_RETURN(const std::vector<DeviceFacts> facts, ListDevices(options.loader_path));
  std::vector<std::string> words;
  for (size_t i = 0; i < facts.size(); ++i) {
    if (!facts[i].compile_only && (all || !facts[i].is_software())) words.push_back("vulkan:" + std::to_string(i));
  }
  if (words.empty()) words.push_back("vulkan");
  return words;
}

// Python's side, as long as its interpreter is there: a thread that calls into one that ends never comes back.
class Python {
 public:
  static Python& Get() {
    static auto* const python = new Python;
    return *python;
  }
  void Open(CallPython call) {
    const std::lock_guard lock(mutex_);
    call_ = call;
  }
  // False: it is not there.
  bool Call(int64_t function, const void* const* in, void* const* out, std::span<char> message) {
    std::unique_lock lock(mutex_);
    const CallPython call = call_;
    if (call == nullptr) return false;
    ++running_;
    lock.unlock();
    call(function, in, out, message.data(), message.size());
    lock.lock();
    if (--running_ == 0) idle_.notify_all();
    return true;
  }
  // Waits for calls that run; there are none afterwards.
  void Close() {
    std::unique_lock lock(mutex_);
    call_ = nullptr;
    idle_.wait(lock, [&] { return running_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable idle_;
  CallPython call_ = nullptr;
  int running_ = 0;
};
void ClosePython() { Python::Get().Close(); }

// The custom call that Python's side writes: its backend_config is the function's number and how many results it has.
void PythonCallback(void* out, const void** in, std::string_view opaque, CustomCallStatus& status) {
  int64_t function = 0;
  size_t results = 0;
  const char* const end = opaque.data() + opaque.size();
  const auto [next, error] = std::from_chars(opaque.data(), end, function);
  if (error != std::errc() || next == end || std::from_chars(next + 1, end, results).ec != std::errc())
    return status.SetFailure("a Python callback without its number");
  char message[2048] = "";
  // One result is an array, several are a tuple of them.
  void* const one[] = {out};
  if (!Python::Get().Call(function, in, results == 1 ? one : static_cast<void* const*>(out), message))
    return status.SetFailure("a Python callback, but Python has ended, or its side of the plugin is not there");
  if (message[0] != 0) status.SetFailure(message);
}

// What programs may call. A registry that a client has does not change, so each function that is added makes another
// one, and all are kept. The first has Python's callbacks only, and is that of the clients of devices.
class Registries {
 public:
  static Registries& Get() {
    static auto* const registries = new Registries;
    return *registries;
  }
  template <typename Add>
  void Extend(Add&& add) {
    const std::lock_guard lock(mutex_);
    add(registries_.emplace_back(registries_.back()));
  }
  EvaluateOptions first() {
    const std::lock_guard lock(mutex_);
    return OptionsOf(registries_.front());
  }
  EvaluateOptions latest() {
    const std::lock_guard lock(mutex_);
    return OptionsOf(registries_.back());
  }
  // A client of the same device, with that registry; the same one as long as a program has it.
  std::shared_ptr<Client> ClientWith(const std::shared_ptr<Client>& client, const EvaluateOptions& host_steps) {
    const std::lock_guard lock(mutex_);
    if (host_steps.custom_calls == &registries_.front()) return client;
    std::erase_if(clients_, [](const auto& known) { return known.second.expired(); });
    std::weak_ptr<Client>& known = clients_[{client.get(), host_steps.custom_calls}];
    std::shared_ptr<Client> own = known.lock();
    if (own == nullptr) known = own = MakeClient(client->shared_device(), host_steps);
    return own;
  }

 private:
  Registries() { registries_.emplace_back().Register("vxla_python_callback", PythonCallback); }
  static EvaluateOptions OptionsOf(const CustomCallRegistry& registry) {
    EvaluateOptions options;
    options.custom_calls = &registry;
    return options;
  }
  std::mutex mutex_;
  std::deque<CustomCallRegistry> registries_;
  std::map<std::pair<const Client*, const CustomCallRegistry*>, std::weak_ptr<Client>> clients_;
};

// Those that the program's calls need: the first ones where it calls no function of the user's.
EvaluateOptions HostStepsOf(const Module& module) {
  const EvaluateOptions first = Registries::Get().first(), latest = Registries::Get().latest();
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (instruction->opcode() != Opcode::kCustomCall) continue;
      const std::string& target = instruction->attributes<CustomCallAttributes>().custom_call_target;
      if (first.custom_calls->Find(target) == nullptr && latest.custom_calls->Find(target) != nullptr) return latest;
    }
  }
  return first;
}

Result<std::vector<std::string>> LogicalDevices(const std::string& words, const DeviceOptions& options) {
  int count = 0;
  const auto [end, error] = std::from_chars(words.data(), words.data() + words.size(), count);
  const bool is_count = error == std::errc() && end == words.data() + words.size();
  if (is_count && (count < 1 || count > 1024)) return InvalidArgument("devices '{}': 1 to 1024", words);
  if (!is_count && !words.empty() && !IsAllDevices(words)) {
    std::vector<std::string> list = SplitWords(words);
    for (std::string& word : list) word = DeviceOfPlace(word);
    return list;
  }
  VXLA_ASSIGN_OR_RETURN(std::vector<std::string> physical, PhysicalDevices(IsAllDevices(words), options));
  if (!is_count) return physical;
  std::vector<std::string> logical;
  for (int i = 0; i < count; ++i) logical.push_back(physical[static_cast<size_t>(i) % physical.size()]);
  return logical;
}

// The memory that the words name; nothing said: where kernels are fastest.
Result<std::vector<BufferMemory>> MemoriesOf(const std::vector<std::string>& words, size_t count) {
  std::vector<BufferMemory> memories(count, BufferMemory::kDevice);
  for (size_t i = 0; i < std::min(count, words.size()); ++i) {
    if (words[i].empty()) continue;
    const auto* const kind = std::ranges::find(kMemoryKindNames, words[i]);
    if (kind == std::end(kMemoryKindNames))
      return InvalidArgument("memory kind '{}': a device has {}", words[i], fmt::join(kMemoryKindNames, " and "));
    memories[i] = static_cast<BufferMemory>(kind - std::begin(kMemoryKindNames));
  }
  return memories;
}

ArraySource SourceOf(const Instruction* value) {
  ArraySource source;
  if (!value->shape().IsArray()) return source;  // a token
  source.permutation.resize(static_cast<size_t>(value->shape().rank()));
  std::iota(source.permutation.begin(), source.permutation.end(), 0);
  while (true) {
    if (value->opcode() == Opcode::kTranspose) {
      const auto& dimensions = value->attributes<DimensionsAttributes>().dimensions;
      for (int64_t& dimension : source.permutation) dimension = dimensions[static_cast<size_t>(dimension)];
    } else if (!IsElementwise(value->opcode()) || value->operand_count() == 0 ||
               !std::ranges::equal(value->operand(0)->shape().dimensions(), value->shape().dimensions())) {
      break;
    }
    value = value->operand(0);
  }
  if (value->opcode() == Opcode::kParameter) source.parameter = value->attributes<ParameterAttributes>().number;
  return source;
}

// By leaf.
std::vector<ArraySource> ResultSources(const Instruction& root) {
  const size_t leaves = FlattenTuple(root.shape()).size();
  if (root.opcode() != Opcode::kTuple) {
    if (leaves == 1) return {SourceOf(&root)};
    return std::vector<ArraySource>(leaves);
  }
  std::vector<ArraySource> sources;
  for (const Instruction* part : root.operands()) sources.push_back(SourceOf(part));
  sources.resize(leaves);  // StableHLO's tuples are in no tuple
  return sources;
}

}  // namespace

void SetCallPython(CallPython function) {
  const void* const close[] = {reinterpret_cast<const void*>(&ClosePython)};
  char message[256] = "";
  if (function != nullptr) function(kPythonEnds, close, nullptr, message, sizeof(message));
  Python::Get().Open(function);
}

void RegisterCustomCall(const std::string& target, const FfiHandlers& handlers) {
  Registries::Get().Extend([&](CustomCallRegistry& registry) { registry.RegisterFfi(target, handlers); });
}

void RegisterCustomCall(const std::string& target, void* symbol) {
  Registries::Get().Extend([&](CustomCallRegistry& registry) { registry.RegisterSymbol(target, symbol); });
}

Result<std::vector<OpenedDevice>> OpenDevices(const std::string& words, const DeviceOptions& options) {
  VXLA_ASSIGN_OR_RETURN(const std::vector<std::string> logical, LogicalDevices(words, options));
  if (logical.empty()) return InvalidArgument("devices '{}' names none", words);
  std::map<std::string, std::shared_ptr<Device>> opened;
  std::vector<OpenedDevice> devices;
  for (const std::string& word : logical) {
    DeviceOptions one = options;
    one.device = word;
    std::shared_ptr<Device>& device = opened[word];
    if (device == nullptr) {
      VXLA_ASSIGN_OR_RETURN(device, OpenDevice(one));
    }
    devices.push_back({MakeClient(device, Registries::Get().first()), std::move(one)});
  }
  return devices;
}

namespace {

// What each of the devices tells the host on its own.
Status CheckForPlaces(const Module& module) {
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (!instruction->notes().once) continue;
      return Unsupported("{}: an effect of whole arrays, in a program on several physical devices",
                         instruction->name());
    }
  }
  return OkStatus();
}

}  // namespace

Result<Program> Program::Compile(std::string_view text, std::span<const OpenedDevice> devices, int replicas,
                                 int partitions, const CompileOptions& options, const DevicesOfJob& job) {
  VXLA_ASSIGN_OR_RETURN(const mlir::PartitionedProgram parsed, mlir::ParsePartitioned(text));
  const std::unique_ptr<Module>& module = parsed.module;
  const EvaluateOptions host_steps = HostStepsOf(*module);
  VXLA_RETURN_IF_ERROR(CheckRunnable(*module, {}, host_steps.custom_calls));
  Program program;
  if (partitions > 1) {
    if (Result<std::string> text_of_one = mlir::PrintStablehlo(*module); text_of_one.ok())
      program.partition_text_ = *std::move(text_of_one);
  }
  program.parameter_shardings_ = parsed.parameters;
  program.result_shardings_ = parsed.results;
  for (const auto& [asker, sharding] : parsed.answers) program.answers_.push_back({asker, sharding});
  program.name_ = module->name();
  for (const OpenedDevice& device : devices) {
    if (device.client != nullptr) program.devices_.push_back(Registries::Get().ClientWith(device.client, host_steps));
  }
  for (const Instruction* parameter : module->entry()->parameters()) program.parameters_.push_back(parameter->shape());
  for (const Shape* leaf : FlattenTuple(module->entry()->root()->shape())) program.results_.push_back(*leaf);
  VXLA_ASSIGN_OR_RETURN(program.parameter_memories_, MemoriesOf(parsed.parameter_memories, program.parameters_.size()));
  VXLA_ASSIGN_OR_RETURN(program.result_memories_, MemoriesOf(parsed.result_memories, program.results_.size()));
  program.parameter_layouts_ = parsed.parameter_layouts;
  program.result_layouts_ = parsed.result_layouts;
  program.result_sources_ = ResultSources(*module->entry()->root());
  program.donated_.resize(program.parameters_.size());
  for (const Aliasing& alias : module->attributes().input_output_alias)
    program.donated_[static_cast<size_t>(alias.operand)] = true;
  for (const auto& [number, index] : module->attributes().buffer_donor)
    program.donated_[static_cast<size_t>(number)] = true;
  if (devices.size() == 1) {
    VXLA_ASSIGN_OR_RETURN(program.executable_, program.devices_[0]->Compile(*module, options));
    return program;
  }
  // Each device has arrays of its own: none is one array for all.
  const std::vector<Literal> own(devices.size() * program.parameters_.size());
  std::vector<std::vector<const Literal*>> arguments(devices.size());
  for (size_t i = 0; i < own.size(); ++i) arguments[i / program.parameters_.size()].push_back(&own[i]);
  const DeviceGrid grid{replicas, partitions};
  if (program.devices_.size() < devices.size()) {
    VXLA_RETURN_IF_ERROR(program.CompileInJob(*module, devices, grid, arguments, host_steps, options, job));
    return program;
  }
  const bool one_physical = std::ranges::all_of(
      devices, [&](const OpenedDevice& device) { return &device.client->device() == &devices[0].client->device(); });
  if (!one_physical) {
    VXLA_RETURN_IF_ERROR(CheckForPlaces(*module));
    std::vector<std::string> places;
    for (const OpenedDevice& device : devices) places.push_back(device.options.device);
    VXLA_ASSIGN_OR_RETURN(PlacedExecutable placed, PlacedExecutable::Compile(*module, grid, arguments, places,
                                                                             devices[0].options, host_steps, options));
    program.placed_ = std::make_shared<PlacedExecutable>(std::move(placed));
    return program;
  }
  VXLA_ASSIGN_OR_RETURN(
      ReplicatedExecutable replicated,
      ReplicatedExecutable::Compile(*program.devices_[0], *module, grid, arguments, options, host_steps));
  program.replicated_ = std::make_shared<ReplicatedExecutable>(std::move(replicated));
  return program;
}

// Each process's devices are one place.
Status Program::CompileInJob(const Module& module, std::span<const OpenedDevice> devices, const DeviceGrid& grid,
                             std::span<const std::vector<const Literal*>> arguments, const EvaluateOptions& host_steps,
                             const CompileOptions& options, const DevicesOfJob& job) {
  VXLA_RETURN_IF_ERROR(CheckForPlaces(module));
  const OpenedDevice* own = nullptr;
  for (size_t d = 0; d < devices.size(); ++d) {
    if (devices[d].client == nullptr) continue;
    here_.push_back(static_cast<int64_t>(d));
    if (own == nullptr) own = &devices[d];
    if (&own->client->device() == &devices[d].client->device()) continue;
    return Unsupported("a program over several processes, of which process {} has devices on {} and on {}",
                       job.connections->self().rank, own->client->device().facts().name,
                       devices[d].client->device().facts().name);
  }
  IntList processes = job.process_of;
  std::ranges::sort(processes);
  processes.erase(std::ranges::unique(processes).begin(), processes.end());
  IntList ranks;  // in the group, by device
  for (const int64_t process : job.process_of)
    ranks.push_back(std::ranges::lower_bound(processes, process) - processes.begin());
  const Hash128 name = HashText(
      fmt::format("{} {} {} {}", PrintHlo(module), grid.replicas, grid.partitions, fmt::join(job.process_of, ",")));
  group_ = job.connections->Group(std::vector<int64_t>(processes.begin(), processes.end()), name);
  EvaluateOptions evaluate = host_steps;
  evaluate.collective_timeout = job.timeout;
  std::vector<std::string> names;
  for (const int64_t process : processes) names.push_back(fmt::format("process {}", process));
  const JobMembership member{group_.get(),     {job.timeout, nullptr}, own->options, own->client->shared_device(),
                             std::move(ranks), std::move(names)};
  VXLA_ASSIGN_OR_RETURN(PlacedExecutable placed,
                        PlacedExecutable::CompileInJob(module, grid, arguments, member, evaluate, options));
  placed_ = std::make_shared<PlacedExecutable>(std::move(placed));
  return OkStatus();
}

Result<std::vector<Program::Execution>> Program::Execute(std::vector<std::vector<Argument>> arguments,
                                                         RunStatistics* statistics) const {
  std::vector<Execution> executions(arguments.size());
  if (group_ != nullptr) {
    VXLA_ASSIGN_OR_RETURN(executions, ExecuteInJob(arguments));
  } else if (placed_ != nullptr) {
    VXLA_ASSIGN_OR_RETURN(executions, ExecuteOnPlaces(arguments));
  } else if (executable_ != nullptr) {
    VXLA_ASSIGN_OR_RETURN(vxla::Execution own, executable_->Execute(arguments[0], statistics));
    executions[0] = {std::move(own.leaves), std::move(own.done)};
  } else {
    const std::lock_guard lock(*running_);
    VXLA_ASSIGN_OR_RETURN(Launch launch, replicated_->program().Execute(arguments, statistics));
    for (size_t device = 0; device < executions.size(); ++device) {
      vxla::Execution& own = launch.by_device[device];
      executions[device] = {std::move(own.leaves), std::move(own.done)};
    }
  }
  // Results that are the same may share memory, but what becomes of one array is nothing to the others.
  std::set<const void*> given;
  for (size_t device = 0; device < executions.size(); ++device) {
    for (size_t i = 0; i < results_.size(); ++i) {
      DeviceBuffer& leaf = executions[device].results[i];
      if (leaf.memory() == nullptr) continue;
      const bool shared = !given.insert(leaf.memory().get()).second;
      if (!shared && leaf.memory_kind() == result_memories_[i]) continue;
      VXLA_ASSIGN_OR_RETURN(leaf, leaf.CopyTo(*devices_[device], result_memories_[i]));
    }
    for (size_t i = 0; i < arguments[device].size(); ++i) {
      if (donated_[i] && !arguments[device][i].keep && !arguments[device][i].leaves.empty())
        arguments[device][i].leaves[0].Delete();
    }
  }
  return executions;
}

Result<std::vector<Program::Execution>> Program::ExecuteOnPlaces(
    std::span<const std::vector<Argument>> arguments) const {
  std::deque<Literal> values;
  std::vector<std::vector<const Literal*>> pointers(arguments.size());
  for (size_t device = 0; device < arguments.size(); ++device) {
    for (const Argument& argument : arguments[device]) {
      if (argument.leaves.empty()) {
        pointers[device].push_back(argument.literal);
        continue;
      }
      VXLA_ASSIGN_OR_RETURN(Literal value, argument.leaves[0].ToLiteral());
      pointers[device].push_back(&values.emplace_back(std::move(value)));
    }
  }
  const std::lock_guard lock(*running_);
  VXLA_ASSIGN_OR_RETURN(const Literal stacked, placed_->Run(pointers));
  const std::vector<const Literal*> leaves = FlattenLiteral(stacked);
  std::vector<Execution> executions(arguments.size());
  for (size_t device = 0; device < arguments.size(); ++device) {
    for (size_t leaf = 0; leaf < results_.size(); ++leaf) {
      const auto bytes = static_cast<size_t>(results_[leaf].SizeBytes());
      const Client::HostArray part{leaves[leaf]->bytes().data() + device * bytes, results_[leaf], {}, {}};
      VXLA_ASSIGN_OR_RETURN(Client::FromHostResult uploaded, devices_[device]->FromHost(part, result_memories_[leaf]));
      executions[device].results.push_back(std::move(uploaded.buffer));
    }
  }
  return executions;
}

Result<std::vector<Program::Execution>> Program::ExecuteInJob(std::span<const std::vector<Argument>> arguments) const {
  std::vector<std::vector<Argument>> of_all(static_cast<size_t>(placed_->devices()));
  for (size_t own = 0; own < here_.size(); ++own) of_all[static_cast<size_t>(here_[own])] = arguments[own];
  const std::lock_guard lock(*running_);
  VXLA_ASSIGN_OR_RETURN(Launch launch, placed_->ExecuteInJob(of_all));
  std::vector<Execution> executions;
  for (const int64_t device : here_) {
    vxla::Execution& own = launch.by_device[static_cast<size_t>(device)];
    executions.push_back({std::move(own.leaves), std::move(own.done)});
  }
  return executions;
}

PlanCost Program::cost() const {
  if (placed_ != nullptr) return {};  // each place has a plan of its own
  const Plan& plan = executable_ != nullptr ? executable_->plan() : replicated_->executable().plan();
  return CostOf(plan);
}

}  // namespace VXLA_NAMESPACE::pjrt
