// Bundles: what is read holds together. The checksum is made right first: else all that a fuzzer finds is it.
#include <cstring>
#include <string>

#include "core/hash.h"
#include "scheduler/bundle.h"
#include "tests/fuzz/fuzz_support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace vxla;
  constexpr size_t kSizeAt = 16, kHeaderBytes = 40;
  std::string file(testing::TextOf(data, size));
  const auto bytes = std::as_bytes(std::span(file));
  if (size >= kHeaderBytes) {
    const Hash128 checksum = HashBytes(bytes.subspan(kHeaderBytes));
    const uint64_t header[] = {size, checksum.high, checksum.low};  // little-endian, as this machine is
    std::memcpy(file.data() + kSizeAt, header, sizeof(header));
  }
  (void)testing::Holds(ReadBundle(bytes).status());
  return 0;
}
