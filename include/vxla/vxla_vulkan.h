// vxla inside a program that has a Vulkan device: what to enable on it, how vxla lives there, and how it records into
// the host's command buffers. vxla.h says what all functions have in common; docs/guides/embedding.md draws a frame.
#ifndef VXLA_VXLA_VULKAN_H_
#define VXLA_VXLA_VULKAN_H_

#include <vulkan/vulkan_core.h>

#include "include/vxla/vxla.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- before the device exists ----

// Features whose structs only newer headers have, in Vulkan's layout: VkPhysicalDeviceCooperativeMatrixFeaturesKHR,
// VkPhysicalDeviceShaderBfloat16FeaturesKHR and VkPhysicalDeviceShaderFloat8FeaturesEXT.
typedef struct VxlaCooperativeMatrixFeatures {
  VkStructureType sType;
  void* pNext;
  VkBool32 cooperativeMatrix;
  VkBool32 cooperativeMatrixRobustBufferAccess;
} VxlaCooperativeMatrixFeatures;
typedef struct VxlaBfloat16Features {
  VkStructureType sType;
  void* pNext;
  VkBool32 shaderBFloat16Type;
  VkBool32 shaderBFloat16DotProduct;
  VkBool32 shaderBFloat16CooperativeMatrix;
} VxlaBfloat16Features;
typedef struct VxlaFloat8Features {
  VkStructureType sType;
  void* pNext;
  VkBool32 shaderFloat8;
  VkBool32 shaderFloat8CooperativeMatrix;
} VxlaFloat8Features;

// What vulkan11 and vulkan12 say, as a device of Vulkan 1.1 knows it.
typedef struct VxlaOlderFeatures {
  VkPhysicalDevice16BitStorageFeatures storage16;
  VkPhysicalDevice8BitStorageFeatures storage8;
  VkPhysicalDeviceShaderFloat16Int8Features float16_int8;
  VkPhysicalDeviceTimelineSemaphoreFeatures timeline_semaphore;
  VkPhysicalDeviceBufferDeviceAddressFeatures buffer_device_address;
  VkPhysicalDeviceScalarBlockLayoutFeatures scalar_block_layout;
  VkPhysicalDeviceShaderSubgroupExtendedTypesFeatures subgroup_extended_types;
  VkPhysicalDeviceShaderAtomicInt64Features atomic_int64;
} VxlaOlderFeatures;

// Out, to be handed to vkCreateDevice: `features` heads a pNext chain of those below, whose structs lie in this one (do
// not move it), with everything that vxla would use and the device has. A host that has Vulkan's structs of the same
// features already (VkPhysicalDeviceVulkan13Features) sets their members instead. Less may be enabled: of the features
// only timelineSemaphore is needed, of the extensions the first needed_extension_count. At Vulkan 1.1 the chain has
// `older` and not vulkan11 and vulkan12, whose structs came with Vulkan 1.2.
typedef struct VxlaRequirements {
  uint32_t struct_size;
  uint32_t needed_extension_count;
  uint32_t extension_count;
  const char* extensions[32];  // of the library, for ever
  VkPhysicalDeviceFeatures2 features;
  VkPhysicalDeviceVulkan11Features vulkan11;
  VkPhysicalDeviceVulkan12Features vulkan12;
  VkPhysicalDeviceSynchronization2Features synchronization2;
  VkPhysicalDeviceMaintenance4Features maintenance4;
  VkPhysicalDeviceSubgroupSizeControlFeatures subgroup_size_control;
  VkPhysicalDeviceShaderIntegerDotProductFeatures integer_dot_product;
  VkPhysicalDeviceMemoryPriorityFeaturesEXT memory_priority;
  VkPhysicalDevicePageableDeviceLocalMemoryFeaturesEXT pageable_memory;
  VxlaCooperativeMatrixFeatures cooperative_matrix;  // matrix units
  VxlaBfloat16Features bfloat16;                     // and theirs for bf16
  VxlaOlderFeatures older;
  VxlaFloat8Features float8;  // matrix units for f8
} VxlaRequirements;

// api_version: VkApplicationInfo's, at least 1.1. VXLA_UNSUPPORTED with what the physical device lacks.
VXLA_API VxlaCode vxlaQueryRequirements(PFN_vkGetInstanceProcAddr get_instance_proc_addr, VkInstance instance,
                                        VkPhysicalDevice physical_device, uint32_t api_version,
                                        VxlaRequirements* requirements, VxlaMessage* message);

// ---- adopting it ----

// Device memory from the host's allocator (VMA, an engine's). `allocate` is asked for a part of a VkDeviceMemory of
// memory_type, of requirements.size bytes at a multiple of requirements.alignment, allocated with flags
// (VkMemoryAllocateFlagsInfo), and mapped where `map` is 1; vxla binds one VkBuffer of its own to it. What it returns
// but VK_SUCCESS fails the call (VK_ERROR_OUT_OF_DEVICE_MEMORY: VXLA_RESOURCE_EXHAUSTED), and nothing of it is freed.
// `free` gets the part back when nothing in flight uses it. One thread at a time calls them.
typedef struct VxlaMemoryRequest {
  VkMemoryRequirements requirements;
  uint32_t memory_type;
  VkMemoryAllocateFlags flags;
  uint32_t map;
} VxlaMemoryRequest;
typedef struct VxlaAllocation {
  VkDeviceMemory memory;
  VkDeviceSize offset;
  void* mapped;      // of the part
  void* allocation;  // the host's own
} VxlaAllocation;
typedef struct VxlaMemoryCallbacks {
  void* user;
  VkResult (*allocate)(void* user, const VxlaMemoryRequest* request, VxlaAllocation* memory);
  void (*free)(void* user, const VxlaAllocation* memory);
} VxlaMemoryCallbacks;

enum {
  VXLA_QUEUE_COPIES = 1  // for copies only, though its family computes
};

// A further queue of the device. This struct never changes.
typedef struct VxlaQueue {
  VkQueue queue;
  uint32_t queue_family;
  uint32_t flags;  // VXLA_QUEUE_...
  // Around each submission to this queue, as VxlaAdoptInfo's; several queues may have the same ones. vxla never holds
  // the locks of two queues at once.
  void (*lock)(void* user);
  void (*unlock)(void* user);
  void* user;
} VxlaQueue;

// The host keeps all of this alive, and the functions callable, until vxlaDestroyDevice.
typedef struct VxlaAdoptInfo {
  uint32_t struct_size;
  uint32_t flags;        // VXLA_DEVICE_...
  uint32_t api_version;  // VkApplicationInfo's
  uint32_t queue_family;
  PFN_vkGetInstanceProcAddr get_instance_proc_addr;
  VkInstance instance;
  VkPhysicalDevice physical_device;
  VkDevice device;
  // For vxla's own submissions (compiling, uploads, vxlaRun, vxlaExecute), each between lock and unlock; both NULL: the
  // host uses the queue only while no function of vxla's runs.
  VkQueue queue;
  void (*lock_queue)(void* user);
  void (*unlock_queue)(void* user);
  void* user;
  // As vkCreateDevice had them, in any of Vulkan's structs: what is not enabled is emulated or refused, never assumed.
  // Not NULL: timelineSemaphore is among them.
  const VkPhysicalDeviceFeatures2* features;
  const char* const* extensions;
  uint32_t extension_count;
  const VkAllocationCallbacks* allocation;  // NULL: the driver's
  VkPipelineCache pipeline_cache;           // NULL: one of vxla's own, kept on disk
  const char* bindings;                     // NULL, "addresses", "descriptors"
  const char* emulate;
  const char* cache_folder;
  const VxlaMemoryCallbacks* memory;  // NULL: the driver's, in blocks of 64 MiB and more
  // Further queues, four at most; none by default. Independent work of vxlaRun and vxlaExecute goes to those that
  // compute, beside the first one's, uploads and downloads to the one that copies (of a family without compute, or
  // VXLA_QUEUE_COPIES). Where they are of several families vxla's buffers are shared by those
  // (VK_SHARING_MODE_CONCURRENT): what the host imports must be, too, and vxlaCmdExecute records for these families
  // alone.
  const VxlaQueue* queues;
  uint32_t queue_count;
} VxlaAdoptInfo;

// Probes the driver with a few dispatches and waits for them (answers are kept on disk). Later few functions wait for
// the device, each for its own work: vxlaRun, vxlaDiff and vxlaAwaitEvent. So do vxlaReadValue, vxlaDownload and
// vxlaWriteValue where they are given no event to fill in, and vxlaCreateValue and vxlaCreateSharedValue. vxlaCompile
// and vxlaLoadBundle wait for constants, vxlaExecute for host steps and a fifth run in flight. VXLA_INVALID_ARGUMENT: a
// handle is NULL, or one of two functions that belong together is. The first queue's family does not run compute, or a
// further one's neither compute nor copies. A queue comes twice, a family has fewer queues, two are for copies, there
// are too many. VXLA_UNSUPPORTED: what is needed is not enabled.
VXLA_API VxlaCode vxlaAdoptDevice(const VxlaAdoptInfo* info, VxlaDevice* device, VxlaMessage* message);

// A part of a VkBuffer. This struct never changes.
typedef struct VxlaBinding {
  VkBuffer buffer;
  VkDeviceSize offset, size;
  VkDeviceAddress address;   // of the part; 0: asked of Vulkan where it is needed
  VkBufferUsageFlags usage;  // that the buffer was made with
} VxlaBinding;

// ---- the host's buffers and semaphores for vxlaExecute ----

// A point in the host's order of things; `value` is for timeline semaphores. This struct never changes.
typedef struct VxlaSemaphore {
  VkSemaphore semaphore;
  uint64_t value;
  VkPipelineStageFlags2 stages;  // that wait, or are waited for; 0: all
} VxlaSemaphore;

typedef struct VxlaImportInfo {
  uint32_t struct_size;
  uint32_t flags;  // 0
  const VxlaArray* array;
  // Storage and both transfers, and device addresses where they are enabled. The range is the array's bytes rounded up
  // to 16, all of which may be overwritten; the offset is a multiple of 16 and of minStorageBufferOffsetAlignment.
  VxlaBinding binding;
  const VxlaSemaphore* wait;  // before the contents are read; NULL: they are there
} VxlaImportInfo;

// A value in memory of the host's, who keeps it until what vxlaSignalValue signals. Donated, it holds the result; of
// the arguments of one vxlaExecute none overlaps one that is donated, or it is VXLA_INVALID_ARGUMENT as far as their
// VkBuffers and addresses tell. Between runs values that overlap are the host's to order, by semaphores.
VXLA_API VxlaCode vxlaImportValue(VxlaDevice device, const VxlaImportInfo* info, VxlaValue* value,
                                  VxlaMessage* message);
// Where a value lies, imported or of vxla's own, until it is destroyed or donated.
VXLA_API VxlaCode vxlaExportValue(VxlaValue value, VxlaBinding* binding, VxlaMessage* message);
// Signals when the value has been written and each run that was submitted with it so far has finished. Does not wait.
VXLA_API VxlaCode vxlaSignalValue(VxlaValue value, const VxlaSemaphore* signal, VxlaMessage* message);

// Hands a value's part of its VkBuffer, which queue families own one at a time (VK_SHARING_MODE_EXCLUSIVE), to another
// family of the device or to VK_QUEUE_FAMILY_EXTERNAL, with its contents. That happens when it has been written and
// each run that was submitted with it so far has finished; then `signal`, unless it is NULL, is signalled. The other
// side records its own half. Until vxlaAcquireValue the value's use is VXLA_INVALID_ARGUMENT, and so is a family that
// the device has not, or that a queue of vxla's is of. VXLA_UNSUPPORTED: a family of the device where vxla's queues are
// of several families, whose buffers are shared. Neither of the two waits; both need the value's handle to themselves.
VXLA_API VxlaCode vxlaReleaseValue(VxlaValue value, uint32_t queue_family, const VxlaSemaphore* signal,
                                   VxlaMessage* message);
// Takes over what that family released, after `wait` (NULL: it has done so), before the value is used next: also the
// memory of a value that vxlaImportValue or vxlaImportMemory just made.
VXLA_API VxlaCode vxlaAcquireValue(VxlaValue value, uint32_t queue_family, const VxlaSemaphore* wait,
                                   VxlaMessage* message);

// ---- memory shared with other devices, APIs and processes ----

// An allocation, as a handle of the operating system stands for it. POSIX: a file descriptor, with
// VK_KHR_external_memory_fd, and for DMA_BUF with VK_EXT_external_memory_dma_buf, enabled on the device. Windows: a
// HANDLE, with VK_KHR_external_memory_win32. Vulkan lets opaque ones go from and to the same driver and device
// (deviceUUID) alone.
typedef struct VxlaMemory {
  uint32_t struct_size;
  // OPAQUE_FD, DMA_BUF; OPAQUE_WIN32, D3D12_HEAP, D3D12_RESOURCE.
  VkExternalMemoryHandleTypeFlagBits handle_type;
  int32_t descriptor;    // POSIX
  uint32_t memory_type;  // of opaque ones: the index that the allocation was made with
  uint64_t size;         // of all of it, as allocated
  uint64_t offset;       // of the array: a multiple of 16 and of minStorageBufferOffsetAlignment
  void* handle;          // Windows
} VxlaMemory;

// A value in someone else's allocation, of vxla's devices or a host's; the array's bytes rounded up to 16 may be
// overwritten. On success a descriptor is the driver's, to be closed by nobody; a HANDLE stays the caller's. `wait`: as
// VxlaImportInfo's, NULL on a device of vxla's own. Donated, the memory holds the result. VXLA_UNSUPPORTED: the
// extension is not enabled, or the device does not import such memory. VXLA_INVALID_ARGUMENT: no such memory, or the
// array lies outside of it.
VXLA_API VxlaCode vxlaImportMemory(VxlaDevice device, const VxlaMemory* memory, const VxlaArray* array,
                                   const VxlaSemaphore* wait, VxlaValue* value, VxlaMessage* message);
// A value with an allocation of its own that others may import; data: NULL leaves it undefined.
VXLA_API VxlaCode vxlaCreateSharedValue(VxlaDevice device, VkExternalMemoryHandleTypeFlagBits handle_type,
                                        const VxlaArray* array, const void* data, VxlaValue* value,
                                        VxlaMessage* message);
// A new handle of such a value's memory, the caller's to close or to hand on. It is read and written by others only
// while no run of vxla's does (vxlaReadValue, vxlaValueIsReady, vxlaSignalValue). VXLA_INVALID_ARGUMENT: the value was
// not made by vxlaCreateSharedValue, or donated.
VXLA_API VxlaCode vxlaExportMemory(VxlaValue value, VxlaMemory* memory, VxlaMessage* message);

// ---- recording into the host's command buffers ----

typedef struct VxlaRecording_T* VxlaRecording;

// Of an executable compiled with VXLA_COMPILE_RECORDABLE.
typedef struct VxlaRecordingNeeds {
  uint32_t struct_size;
  // Usage that each argument's, result's and the scratch's VkBuffer needs.
  VkBufferUsageFlags argument_usage, result_usage, scratch_usage;
  uint64_t scratch_size, scratch_alignment;
  // Of a binding's offset in its VkBuffer and of its address. An array of n bytes needs a range of n rounded up to
  // binding_unit: what follows the array within it is overwritten. An array with dynamic dimensions ends behind its
  // live sizes (VxlaArray::live_sizes_offset).
  uint64_t binding_alignment, binding_unit;
  // Where the recorded commands read and write. The host's barriers make arguments visible to these and results free
  // for these before, and wait for these after. None is recorded at the end, and one at the beginning for recordings of
  // several uses alone.
  VkPipelineStageFlags2 stages;
  VkAccessFlags2 reads, writes;
  // Loops of VxlaCompileInfo::loop_iterations, each time that they are recorded: VxlaBindings::loops.
  uint32_t loop_count;
  // Dispatches and copies that are recorded, loops unrolled: vxlaDescribeStep, VxlaBindings::first_query.
  uint32_t step_count;
  uint32_t scratch_range_count;  // vxlaDescribeScratch
  uint32_t flags;                // out: 0
  // What the program takes on the device, by the low estimate of its speed that vxlaCmdExecutePart uses.
  double microseconds;
} VxlaRecordingNeeds;
VXLA_API VxlaCode vxlaDescribeRecording(VxlaExecutable executable, VxlaRecordingNeeds* needs, VxlaMessage* message);

typedef struct VxlaStep {
  uint32_t struct_size;
  uint32_t flags;       // out: 0
  const char* name;     // of the instruction, or of what is copied; lives as long as the executable
  double microseconds;  // by the same estimate
} VxlaStep;
// In the order in which they are recorded. VXLA_INVALID_ARGUMENT: index is not below VxlaRecordingNeeds::step_count.
VXLA_API VxlaCode vxlaDescribeStep(VxlaExecutable executable, uint32_t index, VxlaStep* step, VxlaMessage* message);

// A part of the scratch, which the program needs from the first step to the last one: before and behind these its bytes
// are free, so a frame that runs the program in parts may use them between two parts. What iterations of a loop use
// lasts for all of them.
typedef struct VxlaScratchRange {
  uint32_t struct_size;
  uint32_t first_step, last_step;
  uint32_t flags;  // out: 0
  uint64_t offset, size;
} VxlaScratchRange;
// VXLA_INVALID_ARGUMENT: index is not below VxlaRecordingNeeds::scratch_range_count.
VXLA_API VxlaCode vxlaDescribeScratch(VxlaExecutable executable, uint32_t index, VxlaScratchRange* range,
                                      VxlaMessage* message);

typedef struct VxlaRecordingInfo {
  uint32_t struct_size;
  uint32_t flags;              // 0
  const VxlaBinding* scratch;  // NULL: the recording's own
  // The arguments and results that are images, by number: VK_FORMAT_UNDEFINED for a buffer. NULL: all are buffers.
  uint32_t argument_count, result_count;
  const VkFormat *argument_formats, *result_formats;
  // How many times it is in command buffers at once that the device has not finished with, each with bindings of its
  // own: substeps of a frame. 0: once; 1024 at most. With several a barrier is before each, and all are submitted
  // to one queue, or to several with semaphores between.
  uint64_t uses;
  // Of the arguments and results that are images: VK_IMAGE_TYPE_2D or 3D. NULL: all are 2D.
  const VkImageType *argument_types, *result_types;
} VxlaRecordingInfo;

// What a program needs for being recorded: for each use a block of addresses, for all of them scratch and for each
// image its texels and its array. One for each frame in flight: use n is not recorded before the device has finished
// with use n - `uses` (of a single one: with its last use), and the host destroys it after all. Where
// that is missed the earlier use runs with the later one's bindings; a device made with VXLA_DEVICE_CHECK_HANDLES
// refuses the later one with VXLA_INVALID_ARGUMENT, by an event behind each use, so what was never submitted counts
// too. It keeps what it needs of the executable, whose handle may go first.
//
// An image is an array [height, width], [height, width, channels] or [layers, height, width, channels]. Its format, or
// one that its bytes may be taken for, is one of these.
//   R8, R8G8, R8G8B8A8 as UNORM, SRGB, SNORM, UINT or SINT; B8G8R8A8 as UNORM or SRGB
//   R16, R16G16, R16G16B16A16 as UNORM, SNORM, SFLOAT, UINT or SINT; R32, R32G32, R32G32B32A32 as SFLOAT, UINT or SINT
//   A2B10G10R10 and A2R10G10B10 as UNORM_PACK32, B10G11R11 as UFLOAT_PACK32
//   D16_UNORM, D32_SFLOAT; the depth of X8_D24_UNORM_PACK32, D24_UNORM_S8_UINT and D32_SFLOAT_S8_UINT
// An array of three channels takes a format of four, whose last is not read, and written 1. Of an image of
// VK_IMAGE_TYPE_3D the layers are its slices. Elements of floating point have the values of sampled texels: UNORM and
// depth lie from 0 to 1, SNORM from -1 to 1, SRGB is decoded and encoded (not its fourth channel), in f32. What is
// written is cut off there, NaN becomes 0, and halves go to the even number. Of B10G11R11 negative numbers become 0,
// what is beyond 65,024 (blue: 64,512) that number, and NaN stays. Elements of u8, u16, s8 and s16 have the numbers of
// UNORM, SRGB, SNORM and D16 as they are; those of UINT and SINT have the format's own type alone. Channels come as
// red, green, blue and alpha, of B8G8R8A8 and A2R10G10B10 too. Where nothing is converted (element type, channels and
// their order are the format's) only a copy is recorded. VXLA_INVALID_ARGUMENT: another format, a shape or an element
// type that it does not fit, a donated argument of which and of whose result one is an image only, more uses than are
// possible.
VXLA_API VxlaCode vxlaCreateRecording(VxlaExecutable executable, const VxlaRecordingInfo* info,
                                      VxlaRecording* recording, VxlaMessage* message);
VXLA_API void vxlaDestroyRecording(VxlaRecording recording);

// The state of an image: its layout, and who used it last or uses it next. This struct never changes.
typedef struct VxlaImageState {
  VkImageLayout layout;
  VkPipelineStageFlags2 stages;
  VkAccessFlags2 accesses;
} VxlaImageState;

// A mip level of an image with one sample a texel; as many layers (slices of a 3D image) as the array has. It belongs
// to the family of the command buffer, which draws where depth is written (Vulkan wants that). Of a format with
// stencil, layouts and barriers are those of both, and the stencil stays. This struct never changes.
typedef struct VxlaImage {
  VkImage image;
  VkImageUsageFlags usage;          // that it was made with: TRANSFER_SRC for arguments, TRANSFER_DST for results
  uint32_t width, height;           // of the level
  uint32_t mip_level, first_layer;  // of a 3D image: its first slice
  // The commands wait for `before`, and what is in `after` waits for them: all barriers for the image are recorded, the
  // arguments' before the program and the results' behind it. A result may come from VK_IMAGE_LAYOUT_UNDEFINED. An
  // image that is both argument and result goes through both pairs.
  VxlaImageState before, after;
} VxlaImage;

// One for each argument and result; the VkBuffer may be NULL under addresses where the address is given and the usage
// asks for no transfer. What a VkBuffer is bound for must lie within its memory (vkGetBufferMemoryRequirements), and
// its usage is what the host states: Vulkan does not tell more. None of them, the lent scratch included, overlaps
// another that is written, as far as their VkBuffers and addresses tell. A result that the program puts into a donated
// argument's memory (docs/guides/embedding.md) has the argument's binding or an empty one; arrays without elements, and
// arguments that nothing reads, may be empty.
typedef struct VxlaBindings {
  uint32_t struct_size;
  uint32_t argument_count;
  const VxlaBinding* arguments;  // NULL where all are images; so are results
  uint32_t result_count;
  const VxlaBinding* results;
  // By number; NULL where VxlaRecordingInfo states no format. NULL: none is an image.
  const VxlaImage *const *argument_images, *const *result_images;
  // Where VxlaRecordingNeeds::loop_count is not 0: an int32_t for each of these loops, at a multiple of 4 of a buffer
  // with VK_BUFFER_USAGE_TRANSFER_DST_BIT. Behind the program it is 0 where the loop ended within the iterations that
  // were recorded; elsewhere results are not those of the program. It is copied there as the stages and writes of
  // VxlaRecordingNeeds say.
  const VxlaBinding* loops;
  // Timestamps, of a pool of VK_QUERY_TYPE_TIMESTAMP whose queries the host resets before. None is written where
  // query_count is 0. 2: before the program and behind it, images included. step_count + 1: before the first step, then
  // behind each. A timestamp waits for all that is before it in the queue, so what runs side by side is told by the
  // last of it.
  VkQueryPool timestamps;
  uint32_t first_query, query_count;
} VxlaBindings;

// Records the program into a command buffer that is being recorded, primary or secondary, outside of a render pass;
// neither submits nor waits, takes no lock, and allocates nothing from the second time on. Afterwards the compute bind
// point's pipeline, descriptor set 0 and push constants are vxla's. VXLA_INVALID_ARGUMENT names the binding that is too
// small, is not aligned, lacks a usage or overlaps another, the image that has another size, lacks a usage or a layout
// or is that of two results, and nothing has been recorded.
VXLA_API VxlaCode vxlaCmdExecute(VkCommandBuffer commands, VxlaRecording recording, const VxlaBindings* bindings,
                                 VxlaMessage* message);
// Records as much of the program as takes so long on the device, by a low estimate of its speed (a dispatch at least,
// for 0 and less, too), from where the last part ended: a frame's share. *finished: 1 with the last part, after which a
// call begins anew. All parts have the same bindings, and run in order on one queue; the first one reads the arguments'
// images, the last one writes the results'. A failure ends the program.
VXLA_API VxlaCode vxlaCmdExecutePart(VkCommandBuffer commands, VxlaRecording recording, const VxlaBindings* bindings,
                                     double microseconds, int32_t* finished, VxlaMessage* message);
// Makes command buffers recorded with vxlaCmdExecute run with other bindings from their next submission on, without
// being recorded again. VXLA_UNSUPPORTED under descriptors, and for a program that copies its arguments or results
// (VxlaRecordingNeeds asks for transfers of their buffers), that has images or loops of a stated number of iterations,
// and for a recording of several uses. Timestamps stay as they are.
VXLA_API VxlaCode vxlaRebind(VxlaRecording recording, const VxlaBindings* bindings, VxlaMessage* message);

#ifdef __cplusplus
}
#endif
#endif
