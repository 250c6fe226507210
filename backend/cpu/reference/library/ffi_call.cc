#include "backend/cpu/reference/library/ffi_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <new>

#include "backend/cpu/reference/library/ffi_abi.h"
#include "core/data/type_number.h"
#include "core/ir/module.h"
#include "core/mlir/reader/config_dictionary.h"

namespace VXLA_NAMESPACE {
namespace ffi {

struct Error {
  std::string message;
  int32_t code = 0;
};

struct Future {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::unique_ptr<Error> error;
};

// What a stage left for the stages after it.
struct State {
  int64_t type = 0;
  void* object = nullptr;
};

// (Windows has no std::aligned_alloc.)
struct AlignedDelete {
  std::align_val_t alignment;
  void operator()(void* data) const { ::operator delete(data, alignment); }
};

struct Context {
  std::array<State, 4> states;
  std::vector<std::unique_ptr<void, AlignedDelete>> memory;  // freed at the end of the call
};

namespace {

// XLA_FFI_Error_Code.
constexpr int32_t kCancelledCode = 1, kInvalidArgumentCode = 3, kDeadlineCode = 4, kNotFoundCode = 5,
                  kExhaustedCode = 8, kAbortedCode = 10, kUnimplementedCode = 12;

Error* Fail(int32_t code, std::string message) { return new Error{std::move(message), code}; }

// The types of states and of user contexts, by name; a number is a place in the list, from 1.
struct Types {
  struct Entry {
    std::string name;
    void (*deleter)(void*) = nullptr;
  };
  std::mutex mutex;
  std::deque<Entry> entries;
};
Types& AllTypes() {
  static auto* types = new Types;
  return *types;
}

Error* RegisterType(TypeRegister* call) {
  *call->type = CustomCallRegistry::RegisterFfiType(std::string(call->name.data, call->name.size),
                                                    call->info == nullptr ? nullptr : call->info->deleter);
  return nullptr;
}

void Delete(const State& state) {
  if (state.object == nullptr) return;
  Types& types = AllTypes();
  void (*deleter)(void*) = nullptr;
  {
    std::lock_guard lock(types.mutex);
    if (state.type >= 1 && state.type <= static_cast<int64_t>(types.entries.size()))
      deleter = types.entries[static_cast<size_t>(state.type - 1)].deleter;
  }
  if (deleter != nullptr) deleter(state.object);
}

Error* SetState(StateAccess* call) {
  State& state = call->context->states.at(static_cast<size_t>(call->stage));
  if (state.object != nullptr) return Fail(kInvalidArgumentCode, "the state of this stage is set already");
  state = {*call->type, call->state};
  return nullptr;
}

Error* GetState(StateAccess* call) {
  const State& state = call->context->states.at(static_cast<size_t>(call->stage));
  if (state.object == nullptr) return Fail(kNotFoundCode, "no state was set");
  if (state.type != *call->type) return Fail(kInvalidArgumentCode, "the state is of another type");
  call->state = state.object;
  return nullptr;
}

Error* Allocate(MemoryAllocate* call) {
  const size_t bytes = std::max<size_t>(call->alignment, 64);
  if (!std::has_single_bit(bytes))
    return Fail(kInvalidArgumentCode, fmt::format("scratch aligned to {} bytes, no power of two", bytes));
  const auto alignment = static_cast<std::align_val_t>(bytes);
  call->data = ::operator new(std::max<size_t>(call->size, 1), alignment, std::nothrow);
  if (call->data == nullptr) return Fail(kExhaustedCode, fmt::format("no memory for {} bytes of scratch", call->size));
  call->context->memory.emplace_back(call->data, AlignedDelete{alignment});
  return nullptr;
}

Error* Free(MemoryFree* call) {
  const auto at = std::ranges::find(call->context->memory, call->data, [](const auto& block) { return block.get(); });
  if (at == call->context->memory.end()) return Fail(kInvalidArgumentCode, "freed memory that was not allocated here");
  call->context->memory.erase(at);
  return nullptr;
}

void Settle(Future& future, Error* error) {
  std::lock_guard lock(future.mutex);
  future.done = true;
  future.error.reset(error);
  future.changed.notify_all();
}

// One thread: tasks run at once.
const Api& TheApi() {
  static const Api api = [] {
    Api a{};
    a.header = {sizeof(Api), nullptr};
    a.version = {{sizeof(Version), nullptr}, kMajorVersion, kMinorVersion};
    a.error_create = MakeError;
    a.error_get_message = [](ErrorGetMessage* call) { call->message = call->error->message.c_str(); };
    a.error_destroy = [](ErrorDestroy* call) { delete call->error; };
    a.handler_register = [](Header*) {
      return Fail(kUnimplementedCode, "handlers are registered by name with vxla (CustomCallRegistry, --custom-call)");
    };
    a.stream_get = [](StreamGet*) {
      return Fail(kUnimplementedCode, "the handler runs on the host: there is no stream");
    };
    a.type_register = RegisterType;
    a.context_get = [](ContextGet*) { return Fail(kNotFoundCode, "the run has no user context"); };
    a.state_set = SetState;
    a.state_get = GetState;
    a.memory_allocate = Allocate;
    a.memory_free = Free;
    a.schedule = [](Schedule* call) -> Error* {
      call->task(call->data);
      return nullptr;
    };
    a.thread_count = [](ThreadCount* call) -> Error* {
      *call->count = 1;
      return nullptr;
    };
    a.future_create = [](FutureCreate* call) -> Error* {
      call->future = new Future;
      return nullptr;
    };
    a.future_set_available = [](FutureSetAvailable* call) -> Error* {
      Settle(*call->future, nullptr);
      return nullptr;
    };
    a.future_set_error = [](FutureSetError* call) -> Error* {
      Settle(*call->future, call->error);
      return nullptr;
    };
    a.run_id_get = [](RunIdGet* call) -> Error* {
      call->run_id = 0;
      return nullptr;
    };
    a.device_ordinal_get = [](DeviceOrdinalGet* call) -> Error* {
      call->ordinal = 0;
      return nullptr;
    };
    return a;
  }();
  return api;
}

// The leaves of operands or of the result.
class BufferList {
 public:
  void Add(const Shape& shape, const void* data) {
    auto& dimensions = dimensions_.emplace_back();
    for (int d = 0; d < shape.rank(); ++d) dimensions.push_back(shape.dimension(d));
    buffers_.push_back({{sizeof(Buffer), nullptr},
                        TypeNumber(shape.element_type()),
                        const_cast<void*>(data),
                        shape.rank(),
                        dimensions.data()});
    kinds_.push_back(kBuffer);
    pointers_.push_back(&buffers_.back());
  }
  // `shape` is the instruction's, the bytes are the literal's.
  void AddLeaves(const Shape& shape, const Literal& value) {
    const auto shapes = FlattenTuple(shape);
    const auto leaves = FlattenLiteral(value);
    for (size_t i = 0; i < leaves.size(); ++i) Add(*shapes[i], leaves[i]->bytes().data());
  }
  Values values() {
    return {{sizeof(Values), nullptr}, static_cast<int64_t>(kinds_.size()), kinds_.data(), pointers_.data()};
  }

 private:
  std::deque<std::vector<int64_t>> dimensions_;
  std::deque<Buffer> buffers_;
  std::vector<int32_t> kinds_;
  std::vector<void*> pointers_;
};

class AttributeList {
 public:
  explicit AttributeList(const ConfigDictionary& entries) {
    for (const auto& [name, value] : entries) {
      names_.push_back({name.data(), name.size()});
      name_pointers_.push_back(&names_.back());
      Add(value);
    }
  }
  Attributes attributes() {
    return {{sizeof(Attributes), nullptr},
            static_cast<int64_t>(kinds_.size()),
            kinds_.data(),
            name_pointers_.data(),
            values_.data()};
  }

 private:
  void Add(const ConfigValue& value) {
    void* const data = const_cast<std::byte*>(value.numbers.bytes().data());
    const auto type = [&] { return TypeNumber(value.numbers.shape().element_type()); };
    switch (value.kind) {
      case ConfigValue::Kind::kScalar:
        scalars_.push_back({type(), data});
        return Put(AttributeKind::kScalar, &scalars_.back());
      case ConfigValue::Kind::kArray:
        arrays_.push_back({type(), static_cast<size_t>(value.numbers.element_count()), data});
        return Put(AttributeKind::kArray, &arrays_.back());
      case ConfigValue::Kind::kString:
        strings_.push_back({value.text.data(), value.text.size()});
        return Put(AttributeKind::kString, &strings_.back());
      case ConfigValue::Kind::kDictionary:
        inner_.emplace_back(value.entries);
        dictionaries_.push_back(inner_.back().attributes());
        return Put(AttributeKind::kDictionary, &dictionaries_.back());
    }
  }
  void Put(AttributeKind kind, void* value) {
    kinds_.push_back(kind);
    values_.push_back(value);
  }

  std::deque<Bytes> names_, strings_;
  std::deque<Scalar> scalars_;
  std::deque<Array> arrays_;
  std::deque<AttributeList> inner_;
  std::deque<Attributes> dictionaries_;
  std::vector<AttributeKind> kinds_;
  std::vector<Bytes*> name_pointers_;
  std::vector<void*> values_;
};

CallFrame FrameOf(Context* context) {
  CallFrame frame{};
  frame.header.struct_size = offsetof(CallFrame, future);
  frame.api = &TheApi();
  frame.context = context;
  frame.stage = Stage::kExecute;
  frame.arguments.header.struct_size = frame.results.header.struct_size = sizeof(Values);
  frame.attributes.header.struct_size = sizeof(Attributes);
  return frame;
}

// Asks a handler for its version. Empty: it is one that we know.
std::string RefusalOf(void* handler) {
  Metadata metadata{};
  metadata.struct_size = sizeof(Metadata);
  metadata.version.header.struct_size = sizeof(Version);
  MetadataExtension extension{{sizeof(MetadataExtension), kMetadataExtension, nullptr}, &metadata};
  CallFrame frame = FrameOf(nullptr);
  frame.header.extension = &extension.base;
  const std::unique_ptr<Error> error(reinterpret_cast<Handler*>(handler)(&frame));
  if (error != nullptr) return error->message;
  if (metadata.version.major_version == kMajorVersion && metadata.version.minor_version <= kMinorVersion) return "";
  return fmt::format("the handler was compiled for version {}.{} of the FFI; {}.0 to {}.{} are known",
                     metadata.version.major_version, metadata.version.minor_version, kMajorVersion, kMajorVersion,
                     kMinorVersion);
}

}  // namespace

Error* MakeError(ErrorCreate* call) { return Fail(call->code, call->message == nullptr ? "" : call->message); }
void FreeError(Error* error) { delete error; }

}  // namespace ffi

struct FfiInstances {
  std::mutex mutex;
  bool asked = false;
  std::string refusal;
  std::map<std::string, ffi::State> states;  // of instantiate, by what the instruction states
  ~FfiInstances() {
    for (const auto& [config, state] : states) ffi::Delete(state);
  }
};

namespace {

// What a handler's error stands for. Whatever it calls an internal one is no bug of this library's.
StatusCode CodeOf(const ffi::Error& error) {
  switch (error.code) {
    case ffi::kCancelledCode:
      return StatusCode::kCancelled;
    case ffi::kDeadlineCode:
      return StatusCode::kDeadlineExceeded;
    case ffi::kNotFoundCode:
      return StatusCode::kNotFound;
    case ffi::kExhaustedCode:
      return StatusCode::kResourceExhausted;
    case ffi::kAbortedCode:
      return StatusCode::kAborted;
    case ffi::kUnimplementedCode:
      return StatusCode::kUnsupported;
    default:
      return StatusCode::kInvalidArgument;
  }
}

class FfiCall {
 public:
  FfiCall(const Instruction& instruction, const CustomCallRegistry::Target& function)
      : instruction_(instruction), function_(function), frame_(ffi::FrameOf(&context_)) {}

  ~FfiCall() {
    for (const ffi::Stage stage : {ffi::Stage::kPrepare, ffi::Stage::kInitialize, ffi::Stage::kExecute})
      ffi::Delete(context_.states[static_cast<size_t>(stage)]);
  }

  Status Run(std::span<const Literal> inputs, Literal& result) {
    const std::string& config = instruction_.common().backend_config.text;
    Result<ConfigDictionary> dictionary = ParseConfigDictionary(ConfigText(config));
    if (!dictionary.ok()) return Failed(dictionary.status().message());
    ffi::AttributeList attributes(*dictionary);
    frame_.attributes = attributes.attributes();
    VXLA_RETURN_IF_ERROR(AskVersion());
    VXLA_RETURN_IF_ERROR(Instantiate(config));
    ffi::BufferList arguments, results;
    for (size_t k = 0; k < inputs.size(); ++k)
      arguments.AddLeaves(instruction_.operand(static_cast<int>(k))->shape(), inputs[k]);
    results.AddLeaves(instruction_.shape(), result);
    frame_.arguments = arguments.values();
    frame_.results = results.values();
    VXLA_RETURN_IF_ERROR(Call(ffi::Stage::kPrepare, function_.handlers.prepare));
    VXLA_RETURN_IF_ERROR(Call(ffi::Stage::kInitialize, function_.handlers.initialize));
    return Call(ffi::Stage::kExecute, function_.handlers.execute);
  }

 private:
  Status Failed(std::string_view why, StatusCode code = StatusCode::kInvalidArgument) const {
    const std::string& target = instruction_.attributes<CustomCallAttributes>().custom_call_target;
    return {code, fmt::format("custom-call {}: {} failed: {}", instruction_.name(), target, why)};
  }

  Status AskVersion() const {
    FfiInstances& instances = *function_.instances;
    std::lock_guard lock(instances.mutex);
    if (!instances.asked) instances.refusal = ffi::RefusalOf(function_.handlers.execute);
    instances.asked = true;
    return instances.refusal.empty() ? OkStatus() : Failed(instances.refusal);
  }

  // Once for all calls that state the same.
  Status Instantiate(const std::string& config) {
    if (function_.handlers.instantiate == nullptr) return OkStatus();
    FfiInstances& instances = *function_.instances;
    std::lock_guard lock(instances.mutex);
    ffi::State& own = context_.states[static_cast<size_t>(ffi::Stage::kInstantiate)];
    if (const auto known = instances.states.find(config); known != instances.states.end()) {
      own = known->second;
      return OkStatus();
    }
    const Status status = Call(ffi::Stage::kInstantiate, function_.handlers.instantiate);
    if (status.ok()) instances.states.emplace(config, own);
    if (!status.ok()) ffi::Delete(own);
    return status;
  }

  Status Call(ffi::Stage stage, void* handler) {
    if (handler == nullptr) return OkStatus();
    frame_.stage = stage;
    frame_.future = nullptr;
    std::unique_ptr<ffi::Error> error(reinterpret_cast<ffi::Handler*>(handler)(&frame_));
    if (error == nullptr && frame_.future != nullptr) {
      std::unique_ptr<ffi::Future> future(frame_.future);
      std::unique_lock lock(future->mutex);
      future->changed.wait(lock, [&] { return future->done; });
      error = std::move(future->error);
    }
    return error == nullptr ? OkStatus() : Failed(error->message, CodeOf(*error));
  }

  const Instruction& instruction_;
  const CustomCallRegistry::Target& function_;
  ffi::Context context_;
  ffi::CallFrame frame_;
};

}  // namespace

int64_t CustomCallRegistry::RegisterFfiType(const std::string& name, void (*deleter)(void*)) {
  ffi::Types& types = ffi::AllTypes();
  const std::lock_guard lock(types.mutex);
  auto at = std::ranges::find(types.entries, name, &ffi::Types::Entry::name);
  if (at == types.entries.end()) {
    types.entries.push_back({name, deleter});
    at = std::prev(types.entries.end());
  }
  return at - types.entries.begin() + 1;
}

std::shared_ptr<FfiInstances> MakeFfiInstances() { return std::make_shared<FfiInstances>(); }

Status CallFfi(const Instruction& instruction, const CustomCallRegistry::Target& function,
               std::span<const Literal> inputs, Literal& result) {
  return FfiCall(instruction, function).Run(inputs, result);
}

}  // namespace VXLA_NAMESPACE
