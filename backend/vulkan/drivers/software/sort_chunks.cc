// The kernels of sorts in which each invocation walks over a chunk of a row on its own.
#include "backend/vulkan/lower/software_kernels.h"
#include "backend/vulkan/lower/sort/sort_text.h"

namespace VXLA_NAMESPACE::vulkan {

Step WriteSelectChunks(const SortText& text, const SelectShape& select, const SortItems& from, const SortItems& to) {
  const DeviceFacts& facts = text.context_.facts;
  KernelBuilder kernel(facts);
  const int64_t chunks = text.WriteHead(kernel, from.length, select.chunk);
  kernel.Append("#define CHUNK {}u\n#define KEPT {}u\n#define LANES {}u\n#define BY_CHUNKS(g) {}\n", select.chunk,
                text.work_.kept, select.lanes, kernel.Divide("(g)", chunks));
  text.WriteItems(kernel, from, to);
  text.WriteReadGroup(kernel, from);
  text.WriteShared(kernel, text.work_.kept * select.lanes);
  return kernel.Finish(text.work_.name + " select", "software/select.comp", {select.lanes, 1, 1},
                       CeilDivide(text.work_.rows * chunks, select.lanes));
}

Step WriteRadixChunks(const SortText& text, const RadixPass& pass) {
  const DeviceFacts& facts = text.context_.facts;
  KernelBuilder kernel(facts);
  const bool scans = pass.phase == 1;
  const int64_t units = scans ? text.work_.rows : text.PartsOf(pass);
  const uint32_t lanes = scans ? pass.radix.scan_lanes() : pass.radix.lanes;
  text.WriteRadixHead(kernel, pass, units, "BY_CHUNKS");
  kernel.Append("#define CHUNK {}u\n#define LANES {}u\n", pass.radix.chunk, lanes);
  if (!scans) text.WriteReadGroup(kernel, pass.from);
  return kernel.Finish(text.NameOf(pass), "software/radix_chunks.comp", {lanes, 1, 1},
                       scans ? units : CeilDivide(units, lanes));
}

}  // namespace VXLA_NAMESPACE::vulkan
