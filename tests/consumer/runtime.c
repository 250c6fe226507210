// A program in C that only loads bundles.
#include <stdio.h>
#include <vxla/vxla.h>

int main(void) {
  uint32_t count = 0;
  VxlaMessage message = NULL;
  if (vxlaVersion() != VXLA_HEADER_VERSION) return 1;
  if (vxlaCountDevices(&count, &message) != VXLA_OK) return printf("%s\n", vxlaMessageText(message)), 3;
  VxlaDeviceInfo info = {.struct_size = sizeof(info), .flags = VXLA_DEVICE_NO_CACHE};
  VxlaDevice device = NULL;
  if (vxlaCreateDevice(&info, &device, &message) != VXLA_OK) return printf("%s\n", vxlaMessageText(message)), 3;
  VxlaBundleInfo bundle = {.struct_size = sizeof(bundle), .data = "no bundle", .size_bytes = 9};
  VxlaExecutable executable = NULL;
  if (vxlaLoadBundle(device, &bundle, &executable, &message) != VXLA_INVALID_ARGUMENT) return 1;
  puts(vxlaMessageText(message));
  vxlaFreeMessage(message);
  return vxlaDestroyDevice(device, NULL) != VXLA_OK;
}
