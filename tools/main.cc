// The command `vxla`: runs, compares and explains XLA programs on Vulkan devices and on the CPU reference.
#include "tools/terminal.h"
#include "tools/vxla.h"

int main(int argc, char** argv) {
  vxla::ExitOnInterrupt();
  vxla::EndOnClosedPipe();
  vxla::ReportFailedWrites();
  return vxla::Main(argc, argv);
}
