#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "core/host/hash.h"
#include "integrations/pjrt/messages/compile_options.h"
#include "integrations/pjrt/layouts.h"
#include "integrations/pjrt/plugin.h"

namespace VXLA_NAMESPACE::pjrt {
namespace {

Result<bool> TruthOf(const std::string& name, const std::string& text) {
  if (text == "true" || text == "True" || text == "1") return true;
  if (text == "false" || text == "False" || text == "0") return false;
  return InvalidArgument("compiler option {}='{}': true or false is wanted", name, text);
}

// compiler_options={"vxla_fusion": False}
Result<CompileOptions> OptionsOf(const CompileOptionsProto& proto) {
  CompileOptions options;
  const std::pair<const char*, bool*> known[] = {{"vxla_fusion", &options.fusion},
                                                 {"vxla_require_gpu", &options.require_gpu},
                                                 {"vxla_wide_accumulation", &options.wide_accumulation}};
  for (const auto& [name, text] : proto.overrides) {
    if (name.starts_with("xla_")) continue;  // how XLA is to compile
    const auto* const option = std::ranges::find_if(known, [&](const auto& each) { return name == each.first; });
    if (option == std::end(known)) {
      return InvalidArgument(
          "No such compile option: '{}'; there are vxla_fusion, vxla_require_gpu, vxla_wide_accumulation", name);
    }
    VXLA_ASSIGN_OR_RETURN(*option->second, TruthOf(name, text));
  }
  return options;
}

// Device ids by partition and replica.
Result<std::vector<std::vector<int64_t>>> AssignmentOf(const PJRT_Client& client, const CompileOptionsProto& options) {
  const auto partitions = static_cast<size_t>(options.num_partitions);
  const auto replicas = static_cast<size_t>(options.num_replicas);
  const size_t devices = client.device_list.size();
  if (partitions > devices || replicas > devices / partitions) {
    return InvalidArgument("{} replicas of {} partitions want more than the {} devices there are", replicas, partitions,
                           devices);
  }
  std::vector<std::vector<int64_t>> assignment = options.assignment;
  if (assignment.empty()) {
    const int64_t first = std::max<int64_t>(options.device_ordinal, 0);
    for (size_t p = 0; p < partitions; ++p) {
      assignment.emplace_back();
      for (size_t r = 0; r < replicas; ++r)
        assignment.back().push_back(first + static_cast<int64_t>(r * partitions + p));
    }
  }
  if (assignment.size() != partitions)
    return InvalidArgument("{} partitions, but devices for {}", partitions, assignment.size());
  for (const auto& partition : assignment) {
    if (partition.size() != replicas)
      return InvalidArgument("{} replicas, but devices for {}", replicas, partition.size());
    for (const int64_t id : partition) {
      if (id < 0 || id >= static_cast<int64_t>(devices)) return InvalidArgument("device {}: there are {}", id, devices);
    }
  }
  return assignment;
}

// A program of open sizes says nothing.
std::string_view TextAt(const std::vector<std::string>& texts, size_t i) {
  return i < texts.size() ? texts[i] : std::string_view();
}

// Tokens have no dimensions.
int RankOf(const Shape& shape) { return shape.IsArray() ? shape.rank() : 0; }

// An automatic layout: the result lies as what it is made of does, so that a transpose moves nothing.
std::vector<int64_t> AutomaticOrder(const ArraySource& source, std::span<const std::vector<int64_t>> parameter_orders) {
  std::vector<int64_t> order = source.parameter >= 0 ? parameter_orders[static_cast<size_t>(source.parameter)]
                                                     : RowMajor(static_cast<int>(source.permutation.size()));
  for (int64_t& dimension : order)
    dimension = std::ranges::find(source.permutation, dimension) - source.permutation.begin();
  return order;
}

Status DescribeOutputs(CompiledProgram& compiled) {
  std::vector<std::vector<int64_t>> parameter_orders;
  for (size_t i = 0; i < compiled.program.parameters().size(); ++i) {
    const int rank = RankOf(compiled.program.parameters()[i]);
    VXLA_ASSIGN_OR_RETURN(std::vector<int64_t> order, OrderOf(TextAt(compiled.program.parameter_layouts(), i), rank));
    compiled.layouts.push_back(MakeLayout(order));
    compiled.parameter_layouts.push_back(compiled.layouts.back().get());
    parameter_orders.push_back(std::move(order));
  }
  for (size_t i = 0; i < compiled.program.results().size(); ++i) {
    const Shape& shape = compiled.program.results()[i];
    const std::string_view text = TextAt(compiled.program.result_layouts(), i);
    VXLA_ASSIGN_OR_RETURN(std::vector<int64_t> order, OrderOf(text, RankOf(shape)));
    if (text == "auto") order = AutomaticOrder(compiled.program.result_sources()[i], parameter_orders);
    compiled.output_types.push_back(TypeOf(shape.element_type()));
    compiled.output_dims.insert(compiled.output_dims.end(), shape.dimensions().begin(), shape.dimensions().end());
    compiled.output_ranks.push_back(static_cast<size_t>(shape.rank()));
    compiled.layouts.push_back(MakeLayout(order));
    compiled.output_layouts.push_back(compiled.layouts.back().get());
    compiled.output_orders.push_back(std::move(order));
  }
  const auto name = [](const std::vector<BufferMemory>& memories, auto& names, auto& sizes) {
    for (const BufferMemory memory : memories) {
      names.push_back(kMemoryKindNames[static_cast<size_t>(memory)]);
      sizes.push_back(std::strlen(names.back()));
    }
  };
  name(compiled.program.result_memories(), compiled.output_memory_kinds, compiled.output_memory_kind_sizes);
  name(compiled.program.parameter_memories(), compiled.parameter_memory_kinds, compiled.parameter_memory_kind_sizes);
  return OkStatus();
}

ShardingTexts TextsOf(const std::vector<Sharding>& shardings) {
  ShardingTexts made;
  for (const Sharding& sharding : shardings) made.texts.push_back(WriteSharding(sharding));
  for (const std::string& text : made.texts) {
    made.data.push_back(text.data());
    made.sizes.push_back(text.size());
  }
  return made;
}

Status CheckTypes(const CompiledProgram& compiled) {
  for (const Shape& shape : compiled.program.results()) {
    if (TypeOf(shape.element_type()) == PJRT_Buffer_Type_INVALID || shape.IsDynamic())
      return Unsupported("a result of {}", shape.ToString());
  }
  return OkStatus();
}

// On its devices.
Result<Program> ProgramOf(const CompiledProgram& compiled, const CompileOptions& options) {
  std::vector<OpenedDevice> opened;
  IntList process_of;
  for (const PJRT_Device* device : compiled.all_devices) {
    opened.push_back({device->runtime, device->opened_with});
    process_of.push_back(device->description.process);
  }
  const PJRT_Client& client = *compiled.all_devices[0]->client;
  return Program::Compile(compiled.code, opened, compiled.replicas, compiled.partitions, options,
                          {client.connections, std::move(process_of), client.timeout});
}

Result<std::unique_ptr<PJRT_LoadedExecutable>> Compile(const PJRT_Client& client, std::string_view format,
                                                       std::string_view code, std::string_view options_bytes) {
  if (format != "mlir") return Unsupported("a program in the format '{}': mlir is read, as text or bytecode", format);
  VXLA_ASSIGN_OR_RETURN(const CompileOptionsProto proto, ReadCompileOptions(options_bytes));
  if (proto.tupled_arguments) return Unsupported("a program whose arguments are one tuple");
  VXLA_ASSIGN_OR_RETURN(const CompileOptions options, OptionsOf(proto));
  VXLA_ASSIGN_OR_RETURN(const auto assignment, AssignmentOf(client, proto));
  auto compiled = std::make_shared<CompiledProgram>();
  compiled->replicas = static_cast<int>(proto.num_replicas);
  compiled->partitions = static_cast<int>(proto.num_partitions);
  for (int r = 0; r < compiled->replicas; ++r) {
    for (int p = 0; p < compiled->partitions; ++p) {
      const auto id = static_cast<size_t>(assignment[static_cast<size_t>(p)][static_cast<size_t>(r)]);
      compiled->all_devices.push_back(client.device_list[id]);
      if (client.device_list[id]->runtime == nullptr) continue;
      compiled->devices.push_back(client.device_list[id]);
      compiled->logical_ids.push_back({r, p});
    }
  }
  if (compiled->devices.empty()) return CheckOwn(*compiled->all_devices[0]);
  compiled->code = code;
  VXLA_ASSIGN_OR_RETURN(compiled->program, ProgramOf(*compiled, options));
  VXLA_RETURN_IF_ERROR(CheckTypes(*compiled));
  compiled->name = compiled->program.name();
  compiled->format = format;
  compiled->compile_options = options_bytes;
  compiled->assignment = WriteDeviceAssignment(assignment);
  compiled->fingerprint =
      HashText(client.topology.version + HashText(compiled->code).Hex() + HashText(compiled->compile_options).Hex())
          .Hex();
  VXLA_RETURN_IF_ERROR(DescribeOutputs(*compiled));
  compiled->parameter_shardings = TextsOf(compiled->program.parameter_shardings());
  compiled->output_shardings = TextsOf(compiled->program.result_shardings());
  const PlanCost cost = compiled->program.cost();
  compiled->costs = {Named("flops", static_cast<float>(cost.flop)),
                     Named("bytes accessed", static_cast<float>(cost.bytes))};
  auto loaded = std::make_unique<PJRT_LoadedExecutable>();
  loaded->compiled = std::move(compiled);
  return loaded;
}

// What jaxlib writes into the backend_config of a call of InspectSharding (xla/python/inspect_sharding.h): whom to tell
// how the operand lies. The addresses are good until the program is compiled, so that one read from disk tells nobody.
struct InspectShardingArgs {
  const char* sharding;  // an OpSharding
  size_t sharding_size;
  const char* error;  // out
  void* error_data;
  void (*free_error)(InspectShardingArgs*);
};
struct InspectShardingCallback {
  void (*call)(void* data, InspectShardingArgs* args);
  void* data;
};

Status TellShardings(const vxla::pjrt::Program& program) {
  for (const auto& [asker, sharding] : program.answers()) {
    InspectShardingCallback callback;
    if (asker.size() != sizeof(callback))
      return InvalidArgument("InspectSharding: a backend_config of {} bytes, {} needed", asker.size(), sizeof(callback));
    std::memcpy(&callback, asker.data(), sizeof(callback));
    const std::string text = WriteSharding(sharding);
    InspectShardingArgs args{text.data(), text.size(), nullptr, nullptr, nullptr};
    callback.call(callback.data, &args);
    if (args.error == nullptr) continue;
    Status status = InvalidArgument("inspect_array_sharding: {}", args.error);
    if (args.free_error != nullptr) args.free_error(&args);
    return status;
  }
  return OkStatus();
}

Status Client_Compile(PJRT_Client_Compile_Args& args) {
  const auto program = Known(args.program);
  VXLA_ASSIGN_OR_RETURN(auto loaded,
                        Compile(*args.client, {program.format, program.format_size}, {program.code, program.code_size},
                                {args.compile_options, args.compile_options_size}));
  VXLA_RETURN_IF_ERROR(TellShardings(loaded->compiled->program));
  args.executable = loaded.release();
  return OkStatus();
}

// A serialised program is what it was compiled from, behind a line that says whose it is: kernels are kept on disk by
// the runtime, so that compiling it again makes none.
constexpr std::string_view kMagic = "vxla pjrt program 1\n";

void AddPart(std::string& bytes, std::string_view part) {
  bytes += fmt::format("{}\n", part.size());
  bytes += part;
}

Result<std::string_view> TakePart(std::string_view& bytes) {
  size_t size = 0;
  const auto [end, error] = std::from_chars(bytes.data(), bytes.data() + bytes.size(), size);
  const size_t digits = static_cast<size_t>(end - bytes.data());
  if (error != std::errc() || digits >= bytes.size() || bytes[digits] != '\n' || size > bytes.size() - digits - 1)
    return InvalidArgument("a serialised program that is damaged");
  const std::string_view part = bytes.substr(digits + 1, size);
  bytes.remove_prefix(digits + 1 + size);
  return part;
}

Status Executable_Serialize(PJRT_Executable_Serialize_Args& args) {
  const CompiledProgram& compiled = *args.executable->compiled;
  auto bytes = std::make_unique<std::string>(kMagic);
  for (const std::string* part : {&compiled.format, &compiled.code, &compiled.compile_options}) AddPart(*bytes, *part);
  args.serialized_bytes = bytes->data();
  args.serialized_bytes_size = bytes->size();
  args.serialized_executable = reinterpret_cast<PJRT_SerializedExecutable*>(bytes.release());
  args.serialized_executable_deleter = [](PJRT_SerializedExecutable* text) {
    delete reinterpret_cast<std::string*>(text);
  };
  return OkStatus();
}

Status Executable_DeserializeAndLoad(PJRT_Executable_DeserializeAndLoad_Args& args) {
  std::string_view bytes(args.serialized_executable, args.serialized_executable_size);
  if (!bytes.starts_with(kMagic)) return InvalidArgument("a serialised program that is not this version's of vxla");
  bytes.remove_prefix(kMagic.size());
  VXLA_ASSIGN_OR_RETURN(const std::string_view format, TakePart(bytes));
  VXLA_ASSIGN_OR_RETURN(const std::string_view code, TakePart(bytes));
  VXLA_ASSIGN_OR_RETURN(std::string_view options, TakePart(bytes));
  if (args.overridden_serialized_compile_options != nullptr)
    options = {args.overridden_serialized_compile_options, args.overridden_serialized_compile_options_size};
  VXLA_ASSIGN_OR_RETURN(auto loaded, Compile(*args.client, format, code, options));
  args.loaded_executable = loaded.release();
  return OkStatus();
}

Status Executable_GetCompileOptions(PJRT_Executable_GetCompileOptions_Args& args) {
  const std::string& options = args.executable->compiled->compile_options;
  args.serialized_bytes = options.data();
  args.serialized_bytes_size = options.size();
  args.serialized_compile_options = nullptr;
  args.serialized_compile_options_deleter = [](PJRT_SerializedCompileOptions*) {};
  return OkStatus();
}

}  // namespace

Result<const Program*> Profiled(const CompiledProgram& compiled) {
  const std::lock_guard lock(compiled.profiled_mutex);
  if (!compiled.profiled.has_value()) {
    VXLA_ASSIGN_OR_RETURN(const CompileOptionsProto proto, ReadCompileOptions(compiled.compile_options));
    VXLA_ASSIGN_OR_RETURN(CompileOptions options, OptionsOf(proto));
    options.profile = true;
    VXLA_ASSIGN_OR_RETURN(compiled.profiled, ProgramOf(compiled, options));
  }
  return &*compiled.profiled;
}

void AddCompileSlots(PJRT_Api& api) {
  VXLA_PJRT_WORK_SLOT(api, Client_Compile);
  VXLA_PJRT_SLOT(api, Executable_Serialize);
  VXLA_PJRT_WORK_SLOT(api, Executable_DeserializeAndLoad);
  VXLA_PJRT_SLOT(api, Executable_GetCompileOptions);
}

}  // namespace VXLA_NAMESPACE::pjrt
