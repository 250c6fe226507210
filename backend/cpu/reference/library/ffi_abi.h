// The C ABI of XLA's typed FFI (version 0.1 to 0.3), as handlers compiled against XLA's own headers know it: the order,
// the sizes and the numbers of everything here are fixed. Handlers get a call frame, give null or an error that they
// made with the frame's functions, and answer a frame with a metadata extension by their version.
#pragma once

#include <cstddef>
#include <cstdint>

namespace VXLA_NAMESPACE::ffi {

inline constexpr int kMajorVersion = 0, kMinorVersion = 3;

struct Extension {
  size_t struct_size;
  int32_t type;  // kMetadataExtension
  Extension* next;
};
inline constexpr int32_t kMetadataExtension = 1;

// What every struct of the ABI begins with; struct_size does not count padding behind the last member.
struct Header {
  size_t struct_size;
  Extension* extension;
};

struct Version {
  Header header;
  int32_t major_version, minor_version;
};

struct Error;  // ours: ffi_call.cc
struct Context;
struct Future;

enum class Stage : int32_t { kInstantiate = 0, kPrepare = 1, kInitialize = 2, kExecute = 3 };
enum class AttributeKind : int32_t { kArray = 1, kDictionary = 2, kScalar = 3, kString = 4 };
inline constexpr int32_t kBuffer = 1;  // the kind of every argument and result

struct Buffer {
  Header header;
  int32_t type;  // the numbers of XLA's PrimitiveType
  void* data;
  int64_t rank;
  int64_t* dimensions;
};

struct Bytes {
  const char* data;
  size_t size;
};
struct Scalar {
  int32_t type;
  void* value;
};
struct Array {
  int32_t type;
  size_t size;
  void* data;
};

struct Values {  // arguments; results
  Header header;
  int64_t size;
  int32_t* kinds;
  void** values;  // Buffer
};
struct Attributes {
  Header header;
  int64_t size;
  AttributeKind* kinds;
  Bytes** names;  // sorted
  void** values;  // Array, Attributes, Scalar, Bytes
};

struct Api;
struct CallFrame {
  Header header;  // struct_size: up to `future`, which came later
  const Api* api;
  Context* context;
  Stage stage;
  Values arguments, results;
  Attributes attributes;
  Future* future;
};
using Handler = Error*(CallFrame*);

struct Metadata {
  size_t struct_size;
  Version version;
  uint32_t traits;
  int64_t state_type;
};
struct MetadataExtension {
  Extension base;
  Metadata* metadata;
};

struct ErrorCreate {
  Header header;
  const char* message;
  int32_t code;
};
struct ErrorGetMessage {
  Header header;
  Error* error;
  const char* message;  // out
};
struct ErrorDestroy {
  Header header;
  Error* error;
};
struct StreamGet {
  Header header;
  Context* context;
  void* stream;  // out
};
struct TypeInfo {
  Header header;
  void (*deleter)(void* object);
};
struct TypeRegister {
  Header header;
  Bytes name;
  int64_t* type;  // in and out; 0: none yet
  const TypeInfo* info;
};
struct ContextGet {
  Header header;
  Context* context;
  int64_t* type;
  void* data;  // out
};
struct StateAccess {  // set: in; get: out
  Header header;
  Context* context;
  Stage stage;
  int64_t* type;
  void* state;
};
struct MemoryAllocate {
  Header header;
  Context* context;
  size_t size, alignment;
  void* data;  // out
};
struct MemoryFree {
  Header header;
  Context* context;
  size_t size;
  void* data;
};
struct Schedule {
  Header header;
  Context* context;
  void (*task)(void* data);
  void* data;
};
struct ThreadCount {
  Header header;
  Context* context;
  int64_t* count;  // out
};
struct FutureCreate {
  Header header;
  Future* future;  // out
};
struct FutureSetAvailable {
  Header header;
  Future* future;
};
struct FutureSetError {
  Header header;
  Future* future;
  Error* error;  // the future owns it then
};
struct RunIdGet {
  Header header;
  Context* context;
  int64_t run_id;  // out
};
struct DeviceOrdinalGet {
  Header header;
  Context* context;
  int32_t ordinal;  // out
};

struct Api {
  Header header;
  Version version;
  const void* internal;
  Error* (*error_create)(ErrorCreate*);
  void (*error_get_message)(ErrorGetMessage*);
  void (*error_destroy)(ErrorDestroy*);
  Error* (*handler_register)(Header*);
  Error* (*stream_get)(StreamGet*);
  Error* (*type_register)(TypeRegister*);
  Error* (*context_get)(ContextGet*);
  Error* (*state_set)(StateAccess*);
  Error* (*state_get)(StateAccess*);
  Error* (*memory_allocate)(MemoryAllocate*);
  Error* (*memory_free)(MemoryFree*);
  Error* (*schedule)(Schedule*);
  Error* (*thread_count)(ThreadCount*);
  Error* (*future_create)(FutureCreate*);
  Error* (*future_set_available)(FutureSetAvailable*);
  Error* (*future_set_error)(FutureSetError*);
  Error* (*run_id_get)(RunIdGet*);
  Error* (*device_ordinal_get)(DeviceOrdinalGet*);
};

}  // namespace VXLA_NAMESPACE::ffi
