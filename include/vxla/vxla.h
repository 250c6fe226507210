// vxla in C11: devices, programs, runs, values in device memory. vxla_vulkan.h adds a host's own Vulkan device.
//
// Every function that can fail returns a VxlaCode and takes, last, the address of a message, which may be NULL. It is
// set to NULL, or on failure to text (what, where, value and limit) that vxlaFreeMessage frees. What a failing call
// would have made is NULL. No function throws, exits or prints.
//
// Handles are opaque. Functions check their kind: another kind or NULL is VXLA_INVALID_ARGUMENT, and so is a destroyed
// handle of a device made with VXLA_DEVICE_CHECK_HANDLES, that device's own included (otherwise its use is undefined).
// Destroying NULL does nothing.
//
// Structs begin with their size: set struct_size to sizeof before a call. A smaller one, of a program compiled against
// an older header, has zeros for what it lacks, and a larger one is refused unless the rest is zero. Within a major
// version (before 1.0: a minor one) functions and fields are added, never changed or removed. Flags that the library
// does not know are VXLA_INVALID_ARGUMENT.
//
// Threads: different handles may be used at the same time, those of one device included. One executable may be run by
// several threads, and one value read by several; events may be used by several threads. Only creating and destroying
// need the handle to themselves.
#ifndef VXLA_VXLA_H_
#define VXLA_VXLA_H_

#include <stddef.h>
#include <stdint.h>

// On Windows the functions come from a DLL, unless VXLA_STATIC is defined (vxla's CMake package does that where it is
// static).
#if defined(_WIN32) && defined(VXLA_BUILD)
#define VXLA_API __declspec(dllexport)
#elif defined(_WIN32) && defined(VXLA_STATIC)
#define VXLA_API
#elif defined(_WIN32)
#define VXLA_API __declspec(dllimport)
#else
#define VXLA_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct VxlaMessage_T* VxlaMessage;
typedef struct VxlaDevice_T* VxlaDevice;
typedef struct VxlaExecutable_T* VxlaExecutable;
typedef struct VxlaValue_T* VxlaValue;
typedef struct VxlaEvent_T* VxlaEvent;

typedef int32_t VxlaCode;
enum {
  VXLA_OK = 0,
  VXLA_MISMATCH = 1,            // it ran, and a loop reached its limit, or vxlaDiff's results disagree
  VXLA_INVALID_ARGUMENT = 2,    // handles, structs, sizes, the text of a program
  VXLA_UNSUPPORTED = 3,         // valid, but not done here
  VXLA_DEVICE_FAILURE = 4,      // no device, device lost, errors of the driver
  VXLA_RESOURCE_EXHAUSTED = 5,  // memory of the device or of the host
  VXLA_INTERNAL = 6,            // vxla's own fault: please report it
  VXLA_BUSY = 7,                // still in use: try again later
  VXLA_CANCELLED = 8,           // vxlaCancelCompile called it off
  VXLA_NOT_FOUND = 9,           // a name that is well formed, and nothing has it
  VXLA_DEADLINE_EXCEEDED = 10,  // not done in the time that was given; it may be yet
  VXLA_ABORTED = 11             // what would have done it ended before
};

// The numbers of XLA's PrimitiveType. In memory types of less than a byte take one byte an element; complex numbers are
// pairs, the real part first.
typedef int32_t VxlaElementType;
enum {
  VXLA_PRED = 1,
  VXLA_S8 = 2,
  VXLA_S16 = 3,
  VXLA_S32 = 4,
  VXLA_S64 = 5,
  VXLA_U8 = 6,
  VXLA_U16 = 7,
  VXLA_U32 = 8,
  VXLA_U64 = 9,
  VXLA_F16 = 10,
  VXLA_F32 = 11,
  VXLA_F64 = 12,
  VXLA_C64 = 15,
  VXLA_BF16 = 16,
  VXLA_TOKEN = 17,
  VXLA_C128 = 18,
  VXLA_F8E5M2 = 19,
  VXLA_F8E4M3FN = 20,
  VXLA_S4 = 21,
  VXLA_U4 = 22,
  VXLA_F8E4M3B11FNUZ = 23,
  VXLA_F8E5M2FNUZ = 24,
  VXLA_F8E4M3FNUZ = 25,
  VXLA_S2 = 26,
  VXLA_U2 = 27,
  VXLA_F8E4M3 = 28,
  VXLA_F8E3M4 = 29,
  VXLA_S1 = 30,
  VXLA_U1 = 31,
  VXLA_F4E2M1FN = 32,
  VXLA_F8E8M0FNU = 33,
  VXLA_F6E2M3FN = 1000,  // these two are StableHLO's only: XLA has no numbers for them
  VXLA_F6E3M2FN = 1001
};

// In VxlaArray::dimensions of what a program takes and gives (vxlaDescribeArgument, vxlaDescribeResult): any size.
#define VXLA_OPEN_SIZE ((int64_t)-1)

// An array: dense, row-major. Tuples are taken apart everywhere, depth first.
typedef struct VxlaArray {
  uint32_t struct_size;
  VxlaElementType element_type;
  int32_t rank;
  const int64_t* dimensions;  // out: the handle's, as long as it lives
  uint64_t size_bytes;        // of the elements, 0 where sizes are open; out only
  // Bounded dynamic dimensions, one number for each dimension. `dynamic`: 1 where the dimension is a bound, of which as
  // much lives as each value says; NULL: nowhere. `live_sizes`, of vxlaCreateValue: how much; NULL: all. Elements lie
  // where they would if all of them lived; those beyond the live ones mean nothing.
  const uint8_t* dynamic;
  const int64_t* live_sizes;
  // Out only, of arrays with dynamic dimensions: where in a binding of vxlaCmdExecute an int64_t for each dimension
  // lies, its live size. Else 0.
  uint64_t live_sizes_offset;
} VxlaArray;

// Host memory. These two never change.
typedef struct VxlaBytes {
  void* data;
  uint64_t size_bytes;
} VxlaBytes;
typedef struct VxlaConstBytes {
  const void* data;
  uint64_t size_bytes;
} VxlaConstBytes;

// major << 22 | minor << 12 | patch: of this header, and of the library.
#define VXLA_HEADER_VERSION (0u << 22 | 1u << 12 | 0u)
VXLA_API uint32_t vxlaVersion(void);

// As long as the message is not freed; never NULL.
VXLA_API const char* vxlaMessageText(VxlaMessage message);
VXLA_API void vxlaFreeMessage(VxlaMessage message);

// ---- devices ----

typedef struct VxlaDeviceDescription {
  uint32_t struct_size;
  uint32_t api_version;  // Vulkan's
  uint32_t vendor_id, device_id;
  uint64_t memory_bytes;
  char name[256], driver[256];
  uint8_t uuid[16];
} VxlaDeviceDescription;

// This machine's devices. VXLA_DEVICE_FAILURE: no Vulkan loader, or no driver.
VXLA_API VxlaCode vxlaCountDevices(uint32_t* count, VxlaMessage* message);
VXLA_API VxlaCode vxlaDescribeDevice(uint32_t index, VxlaDeviceDescription* description, VxlaMessage* message);

enum {
  VXLA_DEVICE_NO_CACHE = 1,   // nothing is kept on disk
  VXLA_DEVICE_SAME_BITS = 2,  // the rounding that every device has (docs/reference/numerics.md)
  // Use after destroy is an error, for some lasting bytes a handle; so is a use of a recording beyond those that it
  // has. For debug builds.
  VXLA_DEVICE_CHECK_HANDLES = 4
};

typedef struct VxlaDeviceInfo {
  uint32_t struct_size;
  uint32_t flags;
  const char* device;        // NULL: the best; "vulkan:N", a UUID, a part of a name in any case
  const char* bindings;      // how kernels reach memory: NULL (what is faster), "addresses", "descriptors"
  const char* validate;      // validation layers: NULL, "core", "core,sync", ...
  const char* emulate;       // what kernels do without: NULL, "i64,f64", ...
  const char* cache_folder;  // NULL: the user's
} VxlaDeviceInfo;

// A device of vxla's own. VXLA_INVALID_ARGUMENT: a word that is none of those. VXLA_NOT_FOUND: no device of this
// machine answers to the word. VXLA_DEVICE_FAILURE: it does not open, or there is none at all.
VXLA_API VxlaCode vxlaCreateDevice(const VxlaDeviceInfo* info, VxlaDevice* device, VxlaMessage* message);
// VXLA_BUSY, and nothing happens, while handles of the device are alive (the message counts each kind), pipelines are
// being made in the background or, on a host's device, work of vxla's is in flight; it never waits.
VXLA_API VxlaCode vxlaDestroyDevice(VxlaDevice device, VxlaMessage* message);
// VXLA_DEVICE_FAILURE with the first message if the validation layers of a device of vxla's own said anything.
VXLA_API VxlaCode vxlaCheckValidation(VxlaDevice device, VxlaMessage* message);

typedef struct VxlaMemoryStatistics {
  uint32_t struct_size;
  uint32_t flags;             // out: 0
  uint64_t limit_bytes;       // VxlaDeviceDescription::memory_bytes
  uint64_t allocated_bytes;   // from the driver or the host's allocator, now
  uint64_t used_bytes;        // of these, what values, executables and runs have, and what is kept for the next ones
  uint64_t peak_used_bytes;   // the most that it was
  uint64_t allocation_count;  // that the driver or the host's allocator was asked for so far
} VxlaMemoryStatistics;

// Memory that vxla has of the device, by this handle; bytes. Never waits.
VXLA_API VxlaCode vxlaDescribeMemory(VxlaDevice device, VxlaMemoryStatistics* statistics, VxlaMessage* message);

// ---- events ----
// What will have happened: a run, a transfer, a program that is made. The calls that begin these give them; they are
// the caller's to destroy, at any time: what an event stands for goes on.

// *ready: 1 if the event has happened, or never will as what it stands for failed, else 0. vxlaAwaitEvent says which.
VXLA_API VxlaCode vxlaEventIsReady(VxlaEvent event, int32_t* ready, VxlaMessage* message);
// Waits, `timeout_ns` nanoseconds at most: 0 not at all, UINT64_MAX without a limit. Fails as what the event stands for
// did. VXLA_DEADLINE_EXCEEDED: the time is over, and the event may be awaited again.
VXLA_API VxlaCode vxlaAwaitEvent(VxlaEvent event, uint64_t timeout_ns, VxlaMessage* message);
// `code` and `text` are what vxlaAwaitEvent would say; `text` is "" where all is well, and lives until the function
// returns.
typedef void (*VxlaEventFunction)(void* user_data, VxlaCode code, const char* text);
// Calls the function once: at once, on this thread, if the event is ready, else when it has happened. Then the thread
// is one of vxla's, which waits for the device or does the host's part of a run or of a transfer. The function may
// destroy the event and begin runs and transfers; it must neither wait for anything of the device's, nor destroy the
// device, nor throw, and what comes behind it waits until it returns. It is called, too, after the event is destroyed:
// at the latest while vxlaDestroyDevice runs.
VXLA_API VxlaCode vxlaOnEvent(VxlaEvent event, VxlaEventFunction function, void* user_data, VxlaMessage* message);
VXLA_API void vxlaDestroyEvent(VxlaEvent event);

// ---- custom calls (docs/guides/custom_calls.md) ----

typedef struct VxlaKernelInfo {
  uint32_t struct_size;
  uint32_t flags;       // none is known
  const char* name;     // the custom_call_target
  const void* code;     // GLSL, or SPIR-V: told apart by SPIR-V's magic number
  uint64_t size_bytes;  // 0, of GLSL: up to the terminating zero
  const char* file;     // in messages; NULL: the name
  // What "#pragma vxla" would say, a line each, for SPIR-V: "groups(ceil(n / 64))\nshape(IN0_RANK == 2)". May be NULL.
  const char* rules;
} VxlaKernelInfo;

// Programs that are compiled for the device from now on run the kernel for custom calls of its name. A name may have a
// kernel and a function: the device runs the kernel, and the CPU reference of vxlaDiff calls the function. What was
// registered before under the name is replaced, for these programs. The code is copied; what is wrong with it
// vxlaCompile says, with its line. VXLA_UNSUPPORTED, as vxlaRegisterFunction, in libvxla_runtime: a bundle has its
// kernels.
VXLA_API VxlaCode vxlaRegisterKernel(VxlaDevice device, const VxlaKernelInfo* info, VxlaMessage* message);

// A custom call that a function computes. Everything lives until the function returns.
typedef struct VxlaHostCall {
  uint32_t struct_size;                  // vxla's own, which may be larger than the caller's
  uint32_t operand_count, result_count;  // arrays; tuples are taken apart
  const VxlaArray* const* operand_arrays;
  const VxlaConstBytes* operands;  // elements as the call's operand_layout_constraints say, else row-major
  const VxlaArray* const* result_arrays;
  const VxlaBytes* results;
  const char* backend_config;  // ends in a zero
  uint64_t backend_config_size;
} VxlaHostCall;

// NULL, or why it failed: a text that lives until the function's next call on this thread. It ends the run with
// VXLA_INVALID_ARGUMENT. Called on threads that run programs, several at a time if several run; it must not call vxla
// with handles of the same device, nor throw.
typedef const char* (*VxlaHostFunction)(void* user_data, const VxlaHostCall* call);

typedef struct VxlaFunctionInfo {
  uint32_t struct_size;
  uint32_t flags;    // none is known
  const char* name;  // the custom_call_target
  VxlaHostFunction function;
  void* user_data;  // the function's first argument; both stay until the device is destroyed
  // Instead of `function`: one of XLA's own signatures, of which the call's api_version says which it is.
  void (*symbol)(void);
} VxlaFunctionInfo;

// Programs that are compiled for the device from now on call the function on the host for custom calls of its name,
// beside the device's work that does not depend on them. VXLA_INVALID_ARGUMENT: neither or both functions are there.
VXLA_API VxlaCode vxlaRegisterFunction(VxlaDevice device, const VxlaFunctionInfo* info, VxlaMessage* message);

// ---- programs ----

enum {
  VXLA_COMPILE_REQUIRE_GPU = 1,  // VXLA_DEVICE_FAILURE where an instruction would run on the host
  // VXLA_UNSUPPORTED, with the first reason, where vxlaCmdExecute cannot record it. With dynamic dimensions one program
  // serves all live sizes: those that should agree and do not make all of the results' negative, by the check that
  // failed. vxlaReadLiveSizes and vxlaReadValue say which.
  VXLA_COMPILE_RECORDABLE = 2,
  // vxlaCompile returns when the text is read and checked. A thread of vxla's makes the program, of several one after
  // the other, kernels on all cores. What needs it waits, and gives its error. Of one device alone.
  VXLA_COMPILE_IN_BACKGROUND = 4
};

typedef struct VxlaCompileInfo {
  uint32_t struct_size;
  uint32_t flags;
  const char* text;    // HLO or StableHLO text, told apart by how it begins
  uint64_t text_size;  // 0: up to the terminating zero
  // On several devices: so many replicas of so many partitions, 0: 1 (docs/guides/several_devices.md).
  uint32_t replica_count, partition_count;
  // Where they run, each replica's partitions one after the other; handles may come several times. NULL: all on
  // vxlaCompile's device. Those of one handle run as one program; those of several meet through the host's memory.
  // Custom calls are those of the first one.
  const VxlaDevice* devices;
  // Constants of at least so many bytes are weights (vxlaBindWeight), in loops too; 0: none is. One device, not
  // recorded.
  uint64_t weight_bytes;
  // With VXLA_COMPILE_RECORDABLE: a loop whose end the device finds out is recorded with so many iterations, of which
  // those beyond its end do nothing, and VxlaBindings::loops says which loop did not end within them. Of loops inside
  // of such a loop one iteration may be several. 0: a program with such a loop is not recordable.
  uint64_t loop_iterations;
  // Of a StableHLO text that leaves sizes open: "b=1024,0.1=16" bounds JAX's dimension variable b and dimension 1 of
  // argument 0, and with them what the program computes from these. Arguments and results have dynamic dimensions then.
  // NULL: sizes stay open, and the program is neither recordable nor serialised.
  const char* bounds;
} VxlaCompileInfo;

typedef struct VxlaExecutableDescription {
  uint32_t struct_size;
  uint32_t argument_count, result_count;  // arrays
  uint32_t dispatch_count;
  uint32_t host_step_count;  // instructions that run on the host
  uint64_t peak_bytes;       // arguments, results, constants and scratch
  // What the same order of operations needs at least: with the most scratch that is alive at once.
  uint64_t lower_bound_bytes;
  uint32_t weight_count;  // VxlaCompileInfo::weight_bytes
} VxlaExecutableDescription;

// VXLA_INVALID_ARGUMENT: the text, with line:column. VXLA_NOT_FOUND: a bound of what the program does not have.
// Compiles its kernels, on all cores. VXLA_UNSUPPORTED, as vxlaDiff, in libvxla_runtime: it loads bundles. An
// executable of several devices is a handle of each of them, and runs by vxlaExecuteOnDevices alone.
VXLA_API VxlaCode vxlaCompile(VxlaDevice device, const VxlaCompileInfo* info, VxlaExecutable* executable,
                              VxlaMessage* message);

enum {
  VXLA_STAGE_WAITS = 0,    // for programs before it
  VXLA_STAGE_PASSES = 1,   // it is optimised and planned
  VXLA_STAGE_KERNELS = 2,  // kernels are compiled
  VXLA_STAGE_DONE = 3      // or failed
};
typedef struct VxlaCompileProgress {
  uint32_t struct_size;
  int32_t stage;                        // VXLA_STAGE_...
  uint64_t kernels_made, kernel_count;  // in VXLA_STAGE_KERNELS, of those that no cache of the process has
} VxlaCompileProgress;

// How far VXLA_COMPILE_IN_BACKGROUND is. Never waits. VXLA_INVALID_ARGUMENT, as vxlaCancelCompile: the executable was
// made otherwise.
VXLA_API VxlaCode vxlaDescribeProgress(VxlaExecutable executable, VxlaCompileProgress* progress, VxlaMessage* message);
// Calls it off: the compilation ends with its next step (a pass, a kernel), and the executable's use is VXLA_CANCELLED.
// What is done stays as it is. Returns at once. Destroying the executable calls it off, too.
VXLA_API VxlaCode vxlaCancelCompile(VxlaExecutable executable, VxlaMessage* message);
// An event that happens when the executable's pipelines are there, or fails as making them did
// (VXLA_COMPILE_IN_BACKGROUND, VXLA_LOAD_IN_BACKGROUND).
VXLA_API VxlaCode vxlaGetExecutableEvent(VxlaExecutable executable, VxlaEvent* event, VxlaMessage* message);

// Bytes that vxlaLoadBundle takes: a bundle with the one variant that this device runs (docs/guides/bundle.md): its
// plan, the SPIR-V of its kernels, its constants. Loading it on a device like this one compiles nothing but what the
// driver does, and the runs have the same bits; other devices refuse it. `bytes` is filled in; vxlaFreeBytes frees it.
// VXLA_UNSUPPORTED: steps for the host, sizes that arguments decide, several devices. VXLA_INVALID_ARGUMENT: the
// executable is from a bundle.
VXLA_API VxlaCode vxlaSerializeExecutable(VxlaExecutable executable, VxlaBytes* bytes, VxlaMessage* message);
// Does nothing to an empty one; leaves it empty.
VXLA_API void vxlaFreeBytes(VxlaBytes* bytes);

enum {
  // vxlaLoadBundle returns before the driver has made the pipelines. vxla's threads go on with that, of several bundles
  // one after the other, each on all cores. What needs the pipelines waits, and gives their error: vxlaRun,
  // vxlaExecute, vxlaCreateRecording.
  VXLA_LOAD_IN_BACKGROUND = 4
};

typedef struct VxlaBundleInfo {
  uint32_t struct_size;
  uint32_t flags;    // VXLA_COMPILE_RECORDABLE, VXLA_LOAD_IN_BACKGROUND
  const void* data;  // what `vxla compile` wrote: the bytes of the file, mapped or read
  uint64_t size_bytes;
  uint64_t loop_iterations;  // as VxlaCompileInfo's
} VxlaBundleInfo;

// A program that was compiled before: only the driver compiles. Of the bundle's variants the one that runs best on the
// device; `data` is not needed afterwards. VXLA_INVALID_ARGUMENT: the bundle is damaged or cut off. VXLA_UNSUPPORTED:
// another version of the format, or no variant for this device, with each one's reason.
VXLA_API VxlaCode vxlaLoadBundle(VxlaDevice device, const VxlaBundleInfo* info, VxlaExecutable* executable,
                                 VxlaMessage* message);
// *ready: 1 if what needs the executable's pipelines would not wait for them, else 0 (VXLA_LOAD_IN_BACKGROUND,
// VXLA_COMPILE_IN_BACKGROUND). Fails as making them did.
VXLA_API VxlaCode vxlaExecutableIsReady(VxlaExecutable executable, int32_t* ready, VxlaMessage* message);
// Which variant an executable from a bundle is: "generic under descriptors". Lives as long as the executable.
// VXLA_INVALID_ARGUMENT: it was compiled from text.
VXLA_API VxlaCode vxlaDescribeVariant(VxlaExecutable executable, const char** variant, VxlaMessage* message);

// Runs that are in flight go on; what they use is freed by a later call on the device.
VXLA_API void vxlaDestroyExecutable(VxlaExecutable executable);
VXLA_API VxlaCode vxlaDescribeExecutable(VxlaExecutable executable, VxlaExecutableDescription* description,
                                         VxlaMessage* message);
VXLA_API VxlaCode vxlaDescribeArgument(VxlaExecutable executable, uint32_t index, VxlaArray* array,
                                       VxlaMessage* message);
VXLA_API VxlaCode vxlaDescribeResult(VxlaExecutable executable, uint32_t index, VxlaArray* array, VxlaMessage* message);

// Uploads, runs, waits and downloads. VXLA_UNSUPPORTED: an argument or a result has dynamic dimensions (vxlaExecute).
// VXLA_INVALID_ARGUMENT names the argument or the result whose count or size is wrong, and nothing has run.
VXLA_API VxlaCode vxlaRun(VxlaExecutable executable, uint32_t argument_count, const VxlaConstBytes* arguments,
                          uint32_t result_count, const VxlaBytes* results, VxlaMessage* message);

// Runs on the device and on the CPU reference. VXLA_OK if they agree within the default tolerance, VXLA_MISMATCH if
// not; either way `report`, unless it is NULL, gets a line for each result, and then "note: ..." lines. `arguments` as
// vxlaRun's.
VXLA_API VxlaCode vxlaDiff(VxlaDevice device, const VxlaCompileInfo* info, uint32_t argument_count,
                           const VxlaConstBytes* arguments, VxlaMessage* report, VxlaMessage* message);

// ---- values in device memory ----

// `array` says type, rank and dimensions; `data` has all its bytes and is copied.
VXLA_API VxlaCode vxlaCreateValue(VxlaDevice device, const VxlaArray* array, const void* data, VxlaValue* value,
                                  VxlaMessage* message);
// At any time: memory that the device still uses is handed on when it has finished.
VXLA_API void vxlaDestroyValue(VxlaValue value);
VXLA_API VxlaCode vxlaDescribeValue(VxlaValue value, VxlaArray* array, VxlaMessage* message);
// Waits for the run that writes the value. VXLA_INVALID_ARGUMENT: another size, or the value was donated.
VXLA_API VxlaCode vxlaReadValue(VxlaValue value, void* data, uint64_t size_bytes, VxlaMessage* message);
// How much of each dimension lives: all of it but for dynamic ones. Waits for the run that writes the value, unless the
// sizes are known before. VXLA_INVALID_ARGUMENT: `rank` is another, the value was donated, or sizes did not agree.
VXLA_API VxlaCode vxlaReadLiveSizes(VxlaValue value, int32_t rank, int64_t* sizes, VxlaMessage* message);
// *ready: 1 if vxlaReadValue would not wait, else 0.
VXLA_API VxlaCode vxlaValueIsReady(VxlaValue value, int32_t* ready, VxlaMessage* message);
// An event that happens when the value may be read, or fails as what writes it did.
VXLA_API VxlaCode vxlaGetValueEvent(VxlaValue value, VxlaEvent* event, VxlaMessage* message);

enum {
  VXLA_UPLOAD_PINNED_HOST = 1  // the value lies in the host's memory, where the device reaches it
};
typedef struct VxlaUploadInfo {
  uint32_t struct_size;
  uint32_t flags;          // VXLA_UPLOAD_...
  const VxlaArray* array;  // as vxlaCreateValue's
  const void* data;        // its first element
  // From one element to the next in each dimension, in bytes; 0 and negative ones are fine. NULL: row-major, dense.
  const int64_t* byte_strides;
} VxlaUploadInfo;
// As vxlaCreateValue, but returns at once, or when up to 64 KiB are copied. `done`: where an event goes that happens
// when `data` is the caller's again; dense data are then copied once, to where the device reads them. NULL: `data` may
// change as soon as the call returns.
VXLA_API VxlaCode vxlaUpload(VxlaDevice device, const VxlaUploadInfo* info, VxlaValue* value, VxlaEvent* done,
                             VxlaMessage* message);

typedef struct VxlaDownloadInfo {
  uint32_t struct_size;
  uint32_t flags;               // none is known
  void* data;                   // of the first element
  uint64_t size_bytes;          // dense: the array's; with strides of no account
  const int64_t* byte_strides;  // as VxlaUploadInfo's, and no two elements at one address
} VxlaDownloadInfo;
// As vxlaReadValue, but returns at once, or when up to 64 KiB that may be read are copied. `done`: where an event goes
// that happens when the elements are there, with the error of the run that writes the value. Until then the memory is
// vxla's; the value may be destroyed, and a donation of it works on a copy. NULL: waits.
VXLA_API VxlaCode vxlaDownload(VxlaValue value, const VxlaDownloadInfo* info, VxlaEvent* done, VxlaMessage* message);

typedef struct VxlaExecuteInfo {
  uint32_t struct_size;
  uint32_t argument_count;
  const VxlaValue* arguments;
  // By argument; NULL: all 0. 1: the value stays whole though the program donates the parameter (a copy is made). 0: a
  // donated value is gone, and its use is VXLA_INVALID_ARGUMENT; its handle is still to be destroyed.
  const uint8_t* keep;
  uint32_t result_count;
  VxlaValue* results;
  VxlaEvent* done;  // where an event goes that happens when the run has, with its error; NULL: none
} VxlaExecuteInfo;

// Returns before the device has finished. Steps of the program for the host run on a thread of the device's handle, one
// run after the other; what fails there fails the results, and vxlaReadValue says so. A program with dynamic dimensions
// is compiled for the live sizes of its arguments when these come for the first time, unless it is from a bundle or was
// compiled with VXLA_COMPILE_RECORDABLE. One with open sizes is compiled for the sizes themselves, and
// vxlaDescribeValue tells those of the results. 256 choices of sizes are kept for each program. Runs of an executable
// that are in flight have up to a quarter of the device's memory beside arguments and results, and are 32 at most: a
// further call waits for the first of them.
VXLA_API VxlaCode vxlaExecute(VxlaExecutable executable, const VxlaExecuteInfo* info, VxlaMessage* message);
// A run of a program on several devices. infos[d] is of device d of VxlaCompileInfo::devices, whose handle the values
// belong to; results stay there. Returns at once where all devices are one handle and the data do not decide who meets
// whom, else when they are done. What devices compute alike may be one array in memory.
VXLA_API VxlaCode vxlaExecuteOnDevices(VxlaExecutable executable, uint32_t device_count,
                                       const VxlaExecuteInfo* const* infos, VxlaMessage* message);

// ---- weights ----
// Constants of a program's entry computation, and of what it calls, that lie in values beside the executable: several
// executables can have them in common, and a host can replace them while all else stays compiled. They are numbered in
// the order of the text. A serialised executable takes them as arguments behind its own.

// `array` and `name`, which is the constant's in the text, live as long as the executable. Each may be NULL.
VXLA_API VxlaCode vxlaDescribeWeight(VxlaExecutable executable, uint32_t index, VxlaArray* array, const char** name,
                                     VxlaMessage* message);
// VXLA_NOT_FOUND: no weight has the name.
VXLA_API VxlaCode vxlaFindWeight(VxlaExecutable executable, const char* name, uint32_t* index, VxlaMessage* message);
// Another handle of the value that the weight is bound to; at first it has the elements of the text.
VXLA_API VxlaCode vxlaGetWeight(VxlaExecutable executable, uint32_t index, VxlaValue* value, VxlaMessage* message);
// Runs that begin from now on use the value, in its own memory, which the executable keeps; its handle may be
// destroyed. No run takes it over as a donation. Several executables, and threads that run them, may do so at the same
// time.
VXLA_API VxlaCode vxlaBindWeight(VxlaExecutable executable, uint32_t index, VxlaValue value, VxlaMessage* message);
// Replaces the elements of a value, dense, for all that share its memory: behind the runs that were begun with it,
// before those that begin afterwards. Returns at once. `done`: where an event goes that happens when `data` is the
// caller's again and the elements are there; NULL: waits. The host keeps runs that begin in other threads apart.
// VXLA_INVALID_ARGUMENT: another size, dynamic dimensions, or the value was donated.
VXLA_API VxlaCode vxlaWriteValue(VxlaValue value, const void* data, uint64_t size_bytes, VxlaEvent* done,
                                 VxlaMessage* message);

#ifdef __cplusplus
}
#endif
#endif
