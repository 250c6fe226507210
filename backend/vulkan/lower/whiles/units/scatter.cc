#include "backend/vulkan/lower/whiles/units/scatter.h"

#include <fmt/format.h>

#include "backend/vulkan/lower/indexing/scatter_windows.h"
#include "backend/vulkan/lower/whiles/units/unit.h"

namespace VXLA_NAMESPACE::vulkan {

void WriteLoopScatter(const FusionDescription& body, std::span<const BufferSlice> arrays,
                      std::span<const BufferSlice> parts, ValueWriter& writer, uint32_t lanes, LoopShare share,
                      int number) {
  using Stage = ScatterWindows::Stage;
  const Instruction& updates = *body.hero->operand(body.hero->operand_count() - 1);
  if (updates.shape().ElementCount() == 0) return;
  const Stage stage = parts.empty() ? Stage::kWhole : arrays.empty() ? Stage::kParts : Stage::kJoin;
  ScatterWindows scatter(body, writer, fmt::format("combine_{}", number), stage);
  scatter.Bind(arrays, parts);
  const int loop = writer.NewVariable("i", scatter.count());
  OpenElements(writer, "i", scatter.count(), lanes, share);
  // One at a time: each has a condition of its own, so neighbours would share no load.
  scatter.Write(writer.space().Variable(loop), 1);
  writer.CloseBlock();
}

}  // namespace VXLA_NAMESPACE::vulkan
