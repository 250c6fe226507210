// HLO text: what is read and verified is printed, and reads back.
#include "core/passes/base/verifier.h"
#include "core/text/hlo_parser.h"
#include "core/text/hlo_printer.h"
#include "tests/fuzz/fuzz_support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace vxla;
  const auto module = ParseHlo(testing::TextOf(data, size));
  if (!testing::Holds(module.status()) || !testing::Holds(Verify(**module))) return 0;
  const std::string printed = PrintHlo(**module);
  const auto again = ParseHlo(printed);
  if (again.ok()) return 0;
  std::fprintf(stderr, "printed, but not read again: %s\n%s\n", again.status().message().c_str(), printed.c_str());
  std::abort();
}
