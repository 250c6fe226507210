// A host that hands over several queues, of several families, each with its lock. Software drivers have one queue, so
// the host puts functions between that make a card of it: three families, and memory that the host does not see.
#include "tests/c_api/vulkan_host.h"

enum { kGraphics, kCompute, kCopies, kFamilies };
static const VkQueueFamilyProperties kFamily[kFamilies] = {
    {.queueFlags = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT,
     .queueCount = 2,
     .timestampValidBits = 64},
    {.queueFlags = VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT, .queueCount = 2, .timestampValidBits = 48},
    {.queueFlags = VK_QUEUE_TRANSFER_BIT, .queueCount = 1}};

// A queue of the card: its handle is its address.
typedef struct CardQueue {
  uint32_t family;
  int locked, locks, submissions, with_commands;
} CardQueue;
static CardQueue graphics = {.family = kGraphics}, compute = {.family = kCompute}, compute_too = {.family = kCompute},
                 copies = {.family = kCopies};
static CardQueue* const all_queues[] = {&graphics, &compute, &compute_too, &copies};
static VkQueue QueueOf(CardQueue* queue) { return (VkQueue)(void*)queue; }

static Host* card_host;
static int shared_lock;              // one for all queues
static int whole_lock, whole_locks;  // that one
static int shared_buffers;
static uint32_t visible_type;  // of the driver

static void Lock(void* user) {
  if (user == &whole_lock) {
    EXPECT(!whole_lock);
    whole_lock = 1;
    ++whole_locks;
    return;
  }
  CardQueue* queue = user;
  for (size_t i = 0; i < sizeof(all_queues) / sizeof(all_queues[0]); ++i) EXPECT(!all_queues[i]->locked);
  queue->locked = 1;
  ++queue->locks;
}
static void Unlock(void* user) {
  if (user == &whole_lock) {
    whole_lock = 0;
  } else {
    ((CardQueue*)user)->locked = 0;
  }
}

// ---- the card's functions ----

enum { kMostKnown = 4096 };
static struct {
  uint64_t handle;
  uint32_t family;
} known[kMostKnown];  // pools and command buffers
static int known_count;

static void Know(uint64_t handle, uint32_t family) {
  for (int i = 0; i < known_count; ++i) {
    if (known[i].handle == handle) known[i].handle = 0;  // what it was is destroyed
  }
  EXPECT(known_count < kMostKnown);
  if (known_count < kMostKnown) known[known_count].handle = handle, known[known_count++].family = family;
}
static uint32_t FamilyOf(uint64_t handle) {
  for (int i = known_count - 1; i >= 0; --i) {
    if (known[i].handle == handle) return known[i].family;
  }
  return kFamilies;
}

static VKAPI_ATTR void VKAPI_CALL Families(VkPhysicalDevice device, uint32_t* count,
                                           VkQueueFamilyProperties* families) {
  (void)device;
  if (families == NULL) {
    *count = kFamilies;
    return;
  }
  for (uint32_t i = 0; i < *count && i < kFamilies; ++i) families[i] = kFamily[i];
}
static VKAPI_ATTR void VKAPI_CALL MemoryOf(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties* properties) {
  (void)device;
  *properties = (VkPhysicalDeviceMemoryProperties){.memoryTypeCount = 2, .memoryHeapCount = 2};
  properties->memoryTypes[0].propertyFlags = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  properties->memoryTypes[1] = (VkMemoryType){
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT,
      1};
  properties->memoryHeaps[0] = (VkMemoryHeap){1 << 30, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
  properties->memoryHeaps[1] = (VkMemoryHeap){1 << 30, 0};
}
static VKAPI_ATTR void VKAPI_CALL RequirementsOf(VkDevice device, VkBuffer buffer, VkMemoryRequirements* needs) {
  card_host->GetBufferMemoryRequirements(device, buffer, needs);
  needs->memoryTypeBits = 3;
}
static VKAPI_ATTR VkResult VKAPI_CALL Allocate(VkDevice device, const VkMemoryAllocateInfo* info,
                                               const VkAllocationCallbacks* allocation, VkDeviceMemory* memory) {
  VkMemoryAllocateInfo real = *info;
  real.memoryTypeIndex = visible_type;
  return card_host->AllocateMemory(device, &real, allocation, memory);
}
// One queue stands behind all of them, so what several families share is its own.
static VKAPI_ATTR VkResult VKAPI_CALL MakeBuffer(VkDevice device, const VkBufferCreateInfo* info,
                                                 const VkAllocationCallbacks* allocation, VkBuffer* buffer) {
  VkBufferCreateInfo real = *info;
  if (real.sharingMode == VK_SHARING_MODE_CONCURRENT) {
    ++shared_buffers;
    EXPECT(real.queueFamilyIndexCount == kFamilies);
    for (uint32_t i = 0; i < real.queueFamilyIndexCount; ++i) EXPECT(real.pQueueFamilyIndices[i] == i);
  }
  real.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
  real.queueFamilyIndexCount = 0;
  return card_host->CreateBuffer(device, &real, allocation, buffer);
}
static VKAPI_ATTR VkResult VKAPI_CALL MakePool(VkDevice device, const VkCommandPoolCreateInfo* info,
                                               const VkAllocationCallbacks* allocation, VkCommandPool* pool) {
  VkCommandPoolCreateInfo real = *info;
  real.queueFamilyIndex = card_host->family;
  const VkResult made = card_host->CreateCommandPool(device, &real, allocation, pool);
  Know((uint64_t)(uintptr_t)*pool, info->queueFamilyIndex);
  return made;
}
static VKAPI_ATTR VkResult VKAPI_CALL MakeCommands(VkDevice device, const VkCommandBufferAllocateInfo* info,
                                                   VkCommandBuffer* commands) {
  const VkResult made = card_host->AllocateCommandBuffers(device, info, commands);
  const uint32_t family = FamilyOf((uint64_t)(uintptr_t)info->commandPool);
  for (uint32_t i = 0; i < info->commandBufferCount; ++i) Know((uint64_t)(uintptr_t)commands[i], family);
  return made;
}
static PFN_vkQueueSubmit2 real_submit;
static VKAPI_ATTR VkResult VKAPI_CALL Submit(VkQueue queue, uint32_t count, const VkSubmitInfo2* infos, VkFence fence) {
  CardQueue* to = (CardQueue*)(void*)queue;
  EXPECT(shared_lock ? whole_lock : to->locked);
  for (uint32_t i = 0; i < count; ++i) {
    ++to->submissions;
    for (uint32_t k = 0; k < infos[i].commandBufferInfoCount; ++k) {
      ++to->with_commands;
      EXPECT(FamilyOf((uint64_t)(uintptr_t)infos[i].pCommandBufferInfos[k].commandBuffer) == to->family);
    }
  }
  return real_submit(card_host->queue, count, infos, fence);
}
static PFN_vkCmdDispatch real_dispatch;
static VKAPI_ATTR void VKAPI_CALL RunKernel(VkCommandBuffer commands, uint32_t x, uint32_t y, uint32_t z) {
  EXPECT(FamilyOf((uint64_t)(uintptr_t)commands) != kCopies);
  real_dispatch(commands, x, y, z);
}

static PFN_vkGetDeviceProcAddr real_device;
static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL OfDevice(VkDevice device, const char* name) {
  const PFN_vkVoidFunction real = real_device(device, name);
  const struct {
    const char* name;
    PFN_vkVoidFunction function;
  } card[] = {{"vkGetBufferMemoryRequirements", (PFN_vkVoidFunction)RequirementsOf},
              {"vkAllocateMemory", (PFN_vkVoidFunction)Allocate},
              {"vkCreateBuffer", (PFN_vkVoidFunction)MakeBuffer},
              {"vkCreateCommandPool", (PFN_vkVoidFunction)MakePool},
              {"vkAllocateCommandBuffers", (PFN_vkVoidFunction)MakeCommands},
              {"vkQueueSubmit2", (PFN_vkVoidFunction)Submit},
              {"vkQueueSubmit2KHR", (PFN_vkVoidFunction)Submit},
              {"vkCmdDispatch", (PFN_vkVoidFunction)RunKernel}};
  if (strncmp(name, "vkQueueSubmit2", 14) == 0 && real != NULL) real_submit = (PFN_vkQueueSubmit2)real;
  if (strcmp(name, "vkCmdDispatch") == 0) real_dispatch = (PFN_vkCmdDispatch)real;
  for (size_t i = 0; real != NULL && i < sizeof(card) / sizeof(card[0]); ++i) {
    if (strcmp(card[i].name, name) == 0) return card[i].function;
  }
  return real;
}
static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL OfInstance(VkInstance instance, const char* name) {
  const PFN_vkVoidFunction real = card_host->get(instance, name);
  if (strcmp(name, "vkGetPhysicalDeviceQueueFamilyProperties") == 0) return (PFN_vkVoidFunction)Families;
  if (strcmp(name, "vkGetPhysicalDeviceMemoryProperties") == 0) return (PFN_vkVoidFunction)MemoryOf;
  if (strcmp(name, "vkGetDeviceProcAddr") != 0) return real;
  real_device = (PFN_vkGetDeviceProcAddr)real;
  return (PFN_vkVoidFunction)OfDevice;
}

// ---- what vxla does on it ----

enum { kSide = 192 };
// Four products that depend on nothing in one another.
static const char kProgram[] =
    "HloModule m\n"
    "ENTRY e {\n"
    "  x = f32[192,192] parameter(0)\n  y = f32[192,192] parameter(1)\n"
    "  a = f32[192,192] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  b = f32[192,192] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  c = f32[192,192] dot(y, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  d = f32[192,192] dot(y, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  ROOT r = (f32[192,192], f32[192,192], f32[192,192], f32[192,192]) tuple(a, b, c, d)\n}\n";

static VxlaQueue Lend(CardQueue* queue) {
  return (VxlaQueue){.queue = QueueOf(queue),
                     .queue_family = queue->family,
                     .lock = Lock,
                     .unlock = Unlock,
                     .user = shared_lock ? (void*)&whole_lock : (void*)queue};
}

static VxlaAdoptInfo AdoptInfo(Host* host, const char* bindings, const VxlaQueue* queues, uint32_t count) {
  VxlaAdoptInfo info = HostAdoptInfo(host, VK_API_VERSION_1_3, bindings);
  const VxlaQueue first = Lend(&graphics);
  info.get_instance_proc_addr = OfInstance;
  info.queue = first.queue;
  info.queue_family = first.queue_family;
  info.lock_queue = first.lock;
  info.unlock_queue = first.unlock;
  info.user = first.user;
  info.queues = queues;
  info.queue_count = count;
  return info;
}

static void Forget(void) {
  for (size_t i = 0; i < sizeof(all_queues) / sizeof(all_queues[0]); ++i)
    all_queues[i]->locks = all_queues[i]->submissions = all_queues[i]->with_commands = 0;
  whole_locks = shared_buffers = 0;
}

static void Run(VxlaDevice device) {
  VxlaCompileInfo info = {.struct_size = sizeof(info), .text = kProgram};
  VxlaExecutable executable = NULL;
  EXPECT_OK(vxlaCompile(device, &info, &executable, &message));
  static float x[kSide * kSide], y[kSide * kSide], r[4][kSide * kSide];
  for (int run = 1; run < 4; ++run) {
    for (int i = 0; i < kSide * kSide; ++i) x[i] = (float)run, y[i] = 2;
    memset(r, 0, sizeof(r));
    const VxlaConstBytes arguments[2] = {{x, sizeof(x)}, {y, sizeof(y)}};
    VxlaBytes results[4];
    for (int k = 0; k < 4; ++k) results[k] = (VxlaBytes){r[k], sizeof(r[k])};
    EXPECT_OK(vxlaRun(executable, 2, arguments, 4, results, &message));
    const int wanted[4] = {kSide * run * run, kSide * run * 2, kSide * 2 * run, kSide * 4};
    int wrong = 0;
    for (int k = 0; k < 4; ++k) {
      for (int i = 0; i < kSide * kSide; ++i) wrong += r[k][i] != (float)wanted[k];
    }
    EXPECT(wrong == 0);
  }
  vxlaDestroyExecutable(executable);
}

// Products on all queues that compute, copies on the one for them, each submission under its own queue's lock.
static void TestQueuesOfThreeFamilies(Host* host, const char* bindings) {
  const VxlaQueue queues[3] = {Lend(&compute), Lend(&copies), Lend(&compute_too)};
  VxlaAdoptInfo info = AdoptInfo(host, bindings, queues, 3);
  info.emulate = "queues";  // of so little work, too
  Forget();
  VxlaDevice device = NULL;
  EXPECT_OK(vxlaAdoptDevice(&info, &device, &message));
  Run(device);
  EXPECT(graphics.with_commands > 0 && compute.with_commands > 0 && compute_too.with_commands > 0);
  EXPECT(copies.with_commands >= 9);  // uploads and downloads of each run
  EXPECT(shared_buffers > 0);
  for (size_t i = 0; i < sizeof(all_queues) / sizeof(all_queues[0]); ++i) {
    if (!shared_lock) EXPECT(all_queues[i]->locks == all_queues[i]->submissions);
  }
  if (shared_lock) {
    EXPECT(whole_locks == graphics.submissions + compute.submissions + compute_too.submissions + copies.submissions);
  }
  EXPECT_OK(vxlaDestroyDevice(device, &message));
}

// A family that computes, whose second queue is for copies alone: all of one family, so nothing is shared.
static void TestAQueueForCopies(Host* host) {
  CardQueue second = {.family = kGraphics};
  VxlaQueue queue = Lend(&second);
  queue.flags = VXLA_QUEUE_COPIES;
  const VxlaAdoptInfo info = AdoptInfo(host, NULL, &queue, 1);
  Forget();
  VxlaDevice device = NULL;
  EXPECT_OK(vxlaAdoptDevice(&info, &device, &message));
  Run(device);
  EXPECT(graphics.with_commands > 0 && second.with_commands >= 9 && shared_buffers == 0);
  EXPECT_OK(vxlaDestroyDevice(device, &message));
}

// What is between families of several that vxla has is shared; between them and others it cannot be handed over.
static void TestOwnership(Host* host) {
  const VxlaQueue queues[2] = {Lend(&compute), Lend(&copies)};
  VxlaAdoptInfo info = AdoptInfo(host, NULL, queues, 2);
  VxlaDevice device = NULL;
  EXPECT_OK(vxlaAdoptDevice(&info, &device, &message));
  const int64_t dimension = 4;
  const VxlaArray array = {.struct_size = sizeof(array), .element_type = VXLA_F32, .rank = 1, .dimensions = &dimension};
  const float ones[4] = {1, 1, 1, 1};
  VxlaValue value = NULL;
  EXPECT_OK(vxlaCreateValue(device, &array, ones, &value, &message));
  EXPECT_CODE(vxlaReleaseValue(value, kCopies, NULL, &message), VXLA_INVALID_ARGUMENT,
              "queue family 2: it is one that vxla's queues have");
  EXPECT_CODE(vxlaReleaseValue(value, 3, NULL, &message), VXLA_INVALID_ARGUMENT, "queue family 3: ");
  float read[4] = {0};
  EXPECT_OK(vxlaReadValue(value, read, sizeof(read), &message));
  EXPECT(read[0] == 1 && read[3] == 1);
  vxlaDestroyValue(value);
  EXPECT_OK(vxlaDestroyDevice(device, &message));
}

static void Refused(Host* host, VxlaQueue* queues, uint32_t count, const char* text) {
  const VxlaAdoptInfo info = AdoptInfo(host, NULL, queues, count);
  VxlaDevice device = NULL;
  EXPECT_CODE(vxlaAdoptDevice(&info, &device, &message), VXLA_INVALID_ARGUMENT, text);
  EXPECT(device == NULL);
}

static void TestRefusals(Host* host) {
  Refused(host, NULL, 1, "queues: NULL");
  VxlaQueue queues[5] = {Lend(&compute), Lend(&compute_too), Lend(&copies)};
  Refused(host, queues, 5, "queue_count 5: vxla uses at most 4 beside the first queue");
  VxlaQueue queue = Lend(&compute);
  queue.queue = NULL;
  Refused(host, &queue, 1, "queue 1: NULL");
  queue = Lend(&compute);
  queue.unlock = NULL;
  Refused(host, &queue, 1, "one of lock and unlock of queue 1 is NULL");
  queue = Lend(&compute);
  queue.queue_family = 7;
  Refused(host, &queue, 1, "queue 1: queue family 7: there are 3");
  queue.queue_family = kCompute;
  queue.flags = 2;
  Refused(host, &queue, 1, "flags 0x2: 0x1 are possible here");
  queue = Lend(&graphics);
  Refused(host, &queue, 1, "queue 1: its VkQueue is the first one's, too");
  queues[1] = queues[0];
  Refused(host, queues, 3, "queue 2: its VkQueue is queue 1's, too");
  CardQueue third = {.family = kCompute}, other = {.family = kCopies};
  queues[1] = Lend(&compute_too);
  queues[2] = Lend(&third);
  Refused(host, queues, 3, "queue 3: queue family 1 has 2, and all of them were given before");
  queues[1] = Lend(&copies);
  queues[2].flags = VXLA_QUEUE_COPIES;
  queues[2].queue = QueueOf(&compute_too);
  Refused(host, queues, 3, "queue 3: queue 2 is for copies already");
  queues[2] = Lend(&other);
  Refused(host, queues, 3, "queue 3: queue family 2 has 1, and all of them were given before");
  VxlaAdoptInfo info = AdoptInfo(host, NULL, NULL, 0);
  info.queue_family = kCopies;
  VxlaDevice device = NULL;
  EXPECT_CODE(vxlaAdoptDevice(&info, &device, &message), VXLA_INVALID_ARGUMENT, "queue family 2 runs no compute");
}

// A program compiled against the header before there were more queues, and the word that makes one queue many.
static void TestOlderStructAndEmulation(Host* host) {
  const VxlaQueue garbage = {.queue_family = 99};
  VxlaAdoptInfo info = AdoptInfo(host, NULL, &garbage, 77);
  info.struct_size = (uint32_t)offsetof(VxlaAdoptInfo, queues);
  VxlaDevice device = NULL;
  Forget();
  EXPECT_OK(vxlaAdoptDevice(&info, &device, &message));
  Run(device);
  EXPECT(graphics.submissions == graphics.locks && compute.submissions == 0 && shared_buffers == 0);
  EXPECT_OK(vxlaDestroyDevice(device, &message));
  info = AdoptInfo(host, NULL, NULL, 0);
  info.emulate = "queues";
  EXPECT_OK(vxlaAdoptDevice(&info, &device, &message));
  const int before = graphics.submissions;
  Run(device);
  EXPECT(graphics.submissions - before > 12 && compute.submissions == 0);
  EXPECT_OK(vxlaDestroyDevice(device, &message));
}

int main(void) {
  static Host host;
  card_host = &host;
  if (!HostOpen(&host, VK_API_VERSION_1_3)) return 1;
  HostMakeDevice(&host, NULL);
  const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  while ((host.memory.memoryTypes[visible_type].propertyFlags & wanted) != wanted) ++visible_type;
  for (shared_lock = 0; shared_lock < 2; ++shared_lock) {
    TestQueuesOfThreeFamilies(&host, "addresses");
    TestQueuesOfThreeFamilies(&host, "descriptors");
  }
  shared_lock = 0;
  TestAQueueForCopies(&host);
  TestOwnership(&host);
  TestRefusals(&host);
  TestOlderStructAndEmulation(&host);
  EXPECT(host.live == 0);
  HostCloseDevice(&host);
  HostClose(&host);
  return failures != 0;
}
