// GetPjrtApi: the one function that the plugin exports.
#include "integrations/pjrt/plugin.h"

namespace VXLA_NAMESPACE::pjrt {
namespace {

Status Plugin_Initialize(PJRT_Plugin_Initialize_Args&) { return OkStatus(); }

Status Plugin_Attributes(PJRT_Plugin_Attributes_Args& args) {
  // Clients write no newer StableHLO than the reader reads.
  static constexpr int64_t kCurrent[] = {1, 20, 0}, kMinimum[] = {0, 9, 0};
  static const auto attributes = [] {
    std::vector<PJRT_NamedValue> made = {Named("xla_version", int64_t{2}),
                                         Named("stablehlo_current_version", int64_t{0}),
                                         Named("stablehlo_minimum_version", int64_t{0})};
    made[1].int64_array_value = kCurrent;
    made[2].int64_array_value = kMinimum;
    for (size_t i : {1, 2}) {
      made[i].type = PJRT_NamedValue_kInt64List;
      made[i].value_size = 3;
    }
    return made;
  }();
  args.attributes = attributes.data();
  args.num_attributes = attributes.size();
  return OkStatus();
}

PJRT_Error* RefuseUnknown(void*) {
  return MakeError(PJRT_Error_Code_UNIMPLEMENTED, "a function of PJRT's C API that is newer than vxla's plugin");
}

// api.PJRT_Buffer_Bitcast says that there is no such thing.
#define VXLA_PJRT_REFUSED(NAME)                                                                      \
  api.PJRT_##NAME = [](PJRT_##NAME##_Args*) -> PJRT_Error* {                                         \
    return MakeError(PJRT_Error_Code_UNIMPLEMENTED, "vxla's plugin does not implement PJRT_" #NAME); \
  }

void RefuseTheRest(PJRT_Api& api) {
  VXLA_PJRT_REFUSED(Buffer_Bitcast);
  VXLA_PJRT_REFUSED(Buffer_CopyRawToHostFuture);
  VXLA_PJRT_REFUSED(Buffer_DonateWithControlDependency);
  VXLA_PJRT_REFUSED(CopyToDeviceStream_Destroy);
  VXLA_PJRT_REFUSED(CopyToDeviceStream_AddChunk);
  VXLA_PJRT_REFUSED(CopyToDeviceStream_TotalBytes);
  VXLA_PJRT_REFUSED(CopyToDeviceStream_GranuleSize);
  VXLA_PJRT_REFUSED(CopyToDeviceStream_CurrentBytes);
  VXLA_PJRT_REFUSED(TopologyDescription_Create);
  VXLA_PJRT_REFUSED(TopologyDescription_Destroy);
  VXLA_PJRT_REFUSED(TopologyDescription_Serialize);
  VXLA_PJRT_REFUSED(TopologyDescription_Deserialize);
  VXLA_PJRT_REFUSED(TopologyDescription_MakeCanonicalShapeForMemorySpace);
  VXLA_PJRT_REFUSED(Compile);
  VXLA_PJRT_REFUSED(Client_CreateViewOfDeviceBuffer);
  VXLA_PJRT_REFUSED(Client_CreateBuffersForAsyncHostToDevice);
  VXLA_PJRT_REFUSED(Client_CreateAliasBuffer);
  VXLA_PJRT_REFUSED(Client_FulfillAliasBuffer);
  VXLA_PJRT_REFUSED(Client_CreateErrorBuffer);
  VXLA_PJRT_REFUSED(Client_DmaMap);
  VXLA_PJRT_REFUSED(Client_DmaUnmap);
  VXLA_PJRT_REFUSED(Client_Load);
  VXLA_PJRT_REFUSED(AsyncHostToDeviceTransferManager_Destroy);
  VXLA_PJRT_REFUSED(AsyncHostToDeviceTransferManager_TransferData);
  VXLA_PJRT_REFUSED(AsyncHostToDeviceTransferManager_TransferLiteral);
  VXLA_PJRT_REFUSED(AsyncHostToDeviceTransferManager_RetrieveBuffer);
  VXLA_PJRT_REFUSED(AsyncHostToDeviceTransferManager_Device);
  VXLA_PJRT_REFUSED(AsyncHostToDeviceTransferManager_BufferCount);
  VXLA_PJRT_REFUSED(AsyncHostToDeviceTransferManager_BufferSize);
  VXLA_PJRT_REFUSED(AsyncHostToDeviceTransferManager_SetBufferError);
  VXLA_PJRT_REFUSED(AsyncHostToDeviceTransferManager_AddMetadata);
  VXLA_PJRT_REFUSED(Device_PoisonExecution);
  VXLA_PJRT_REFUSED(Device_ClearMemoryStats);
}
#undef VXLA_PJRT_REFUSED

PJRT_Api MakeApi() {
  PJRT_Api api{};
  // A null slot is a crash of whoever calls it, also one that a later header has.
  constexpr size_t kFirst = offsetof(PJRT_Api, PJRT_Error_Destroy);
  auto* const refuse = &RefuseUnknown;
  for (size_t offset = kFirst; offset + sizeof(refuse) <= sizeof(PJRT_Api); offset += sizeof(refuse))
    std::memcpy(reinterpret_cast<std::byte*>(&api) + offset, &refuse, sizeof(refuse));
  api.struct_size = PJRT_Api_STRUCT_SIZE;
  api.extension_start = ProfilerExtension(CustomCallExtensions(ShardingsExtension(LayoutsExtension())));
  api.pjrt_api_version.struct_size = sizeof(PJRT_Api_Version);
  api.pjrt_api_version.major_version = PJRT_API_MAJOR;
  api.pjrt_api_version.minor_version = PJRT_API_MINOR;
  VXLA_PJRT_SLOT(api, Plugin_Initialize);
  VXLA_PJRT_SLOT(api, Plugin_Attributes);
  AddErrorSlots(api);
  AddEventSlots(api);
  AddClientSlots(api);
  AddDeviceSlots(api);
  AddTopologySlots(api);
  AddBufferSlots(api);
  AddTransferSlots(api);
  AddCompileSlots(api);
  AddExecutableSlots(api);
  AddExecuteSlots(api);
  RefuseTheRest(api);
  return api;
}

}  // namespace
}  // namespace VXLA_NAMESPACE::pjrt

// Cheap: no device is touched before a client is created.
extern "C" __attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi() {
  static const PJRT_Api api = vxla::pjrt::MakeApi();
  return &api;
}
