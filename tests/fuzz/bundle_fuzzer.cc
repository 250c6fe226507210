// Bundles: what is read holds together. The checksum is made right first: else all that a fuzzer finds is it.
#include <cstring>
#include <string>

#include "scheduler/bundle/bundle.h"
#include "tests/fuzz/field_changes.h"
#include "tests/fuzz/fuzz_support.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

// Bytes, or fields where the bundle can be read.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  using namespace vxla::testing;
  if (seed % 4 == 0) return LLVMFuzzerMutate(data, size, most);
  const std::string changed = WithFieldsChanged(std::string(TextOf(data, size)), seed);
  if (changed.empty() || changed.size() > most) return LLVMFuzzerMutate(data, size, most);
  std::memcpy(data, changed.data(), changed.size());
  return changed.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace vxla;
  std::string file(testing::TextOf(data, size));
  testing::Reseal(file);
  (void)testing::Holds(ReadBundle(BytesOf(file)).status());
  return 0;
}
