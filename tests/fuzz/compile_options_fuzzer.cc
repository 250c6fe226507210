// What JAX hands the PJRT plugin beside a program, in protobuf's wire format.
#include "integrations/pjrt/messages/compile_options.h"
#include "tests/fuzz/fuzz_support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace vxla;
  (void)testing::Holds(pjrt::ReadCompileOptions(testing::TextOf(data, size)).status());
  return 0;
}
