// Live sizes of bounded dynamic dimensions. In device memory they follow the elements (core/sizes/live_layout.h), so
// both kernels see an array as 32-bit words: its elements, then two words per dimension.
#include <fmt/format.h>

#include <algorithm>

#include "backend/vulkan/lower/elementwise/fused_loop.h"
#include "core/sizes/live_layout.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

Status CheckWords(const LowerContext& context, const Shape& shape) {
  const int64_t bytes = DeviceBytes(shape);
  if (bytes / 4 > kMaxElements) {
    return Unsupported("{} has {} words, more than the {} that a kernel can index", shape.ToString(), bytes / 4,
                       kMaxElements);
  }
  if (context.bindings == BindingMode::kDescriptors &&
      static_cast<uint64_t>(bytes) > context.facts.max_storage_range_bytes) {
    return Unsupported("{} with its live sizes takes {} bytes, more than this device's storage-buffer range of {}",
                       shape.ToString(), bytes, context.facts.max_storage_range_bytes);
  }
  return OkStatus();
}

uint32_t FirstSizeWord(const Shape& shape) { return static_cast<uint32_t>(LiveSizesOffset(shape) / 4); }

}  // namespace

Status CanLowerGetDimensionSize(const LowerContext& context, const FusionDescription& body) {
  const Shape& shape = body.instruction->operand(0)->shape();
  return shape.IsDynamic() ? CheckWords(context, shape) : OkStatus();
}

Result<std::vector<Step>> LowerGetDimensionSize(const LowerContext& context, const FusionDescription& body,
                                                BufferMap& buffers) {
  const Instruction& instruction = *body.instruction;
  const Instruction& array = *instruction.operand(0);
  const int dimension = static_cast<int>(instruction.dimensions()[0]);
  KernelBuilder kernel(context.facts);
  kernel.Param(1);  // P(0) of fused_loop.comp
  std::string size;
  if (array.shape().IsDynamic()) {
    const int k = kernel.AddBuffer(ElementType::kU32, Access::kRead, buffers.SliceOf(array, 0));
    const uint32_t word = FirstSizeWord(array.shape()) + 2 * static_cast<uint32_t>(dimension);
    // Who wrote it may be a host whose memory the array lies in: whatever it is, nothing outside of the array is
    // touched.
    size = fmt::format("clamp(int({}), 0, int({}))", kernel.Load(k, kernel.Param(word)),
                       kernel.Param(array.shape().dimension(dimension)));
  } else {
    size = fmt::format("int({})", kernel.Param(array.shape().dimension(dimension)));
  }
  const int result = kernel.AddBuffer(ElementType::kS32, Access::kWrite, buffers.SliceOf(instruction, 0));
  kernel.Append("void element(uint i) {{\n  {}\n}}\n", kernel.Store(result, "i", size));
  return std::vector<Step>{
      FinishLoop(context, kernel, TuneLoop(context.facts, context.bindings, 1), 1, StepName(body))};
}

Status CanLowerSetDimensionSize(const LowerContext& context, const FusionDescription& body) {
  const Instruction& instruction = *body.instruction;
  // A kernel cannot report a size out of range.
  if (!instruction.notes().sizes_in_range && instruction.operand_count() > 1) {
    return Unsupported("the host checks that size {} is in range", instruction.operand(1)->name());
  }
  VXLA_RETURN_IF_ERROR(CheckWords(context, instruction.operand(0)->shape()));
  return CheckWords(context, instruction.shape());
}

// How many words what lives along dimension 0, or along the only dimension that gets a size, takes; no size: all of
// them, or it cannot be counted.
LiveCount LiveWords(const Instruction& set) {
  const Shape& from = set.operand(0)->shape();
  const IntList& dimensions = set.dimensions();
  auto at = std::ranges::find(dimensions, 0);
  if (at == dimensions.end() && dimensions.size() == 1) at = dimensions.begin();
  if (at == dimensions.end() || from.ElementCount() == 0) return {};
  const int64_t times = ElementCountOf(from.dimensions().first(static_cast<size_t>(*at)));
  const int64_t rows = from.dimension(static_cast<int>(*at));
  if (from.SizeBytes() % (times * rows) != 0) return {};
  const int64_t row_bytes = from.SizeBytes() / (times * rows);
  const Instruction* const size = set.operand(1 + static_cast<int>(at - dimensions.begin()));
  if (times > 1) {
    if (row_bytes % 4 != 0) return {};
    return {.size = size, .rows = rows, .stride = row_bytes / 4, .times = times};
  }
  if (row_bytes % 4 == 0) return {size, rows, row_bytes / 4, 1};
  return {row_bytes * rows <= kMaxElements ? size : nullptr, rows, row_bytes, 4};
}

// The operand's words, as far as they live, and behind them the sizes.
Result<std::vector<Step>> LowerSetDimensionSize(const LowerContext& context, const FusionDescription& body,
                                                BufferMap& buffers) {
  const Instruction& instruction = *body.instruction;
  const Shape &from = instruction.operand(0)->shape(), &to = instruction.shape();
  const int64_t count = CeilDivide(DeviceBytes(to), 4);
  KernelBuilder kernel(context.facts);
  kernel.Param(count);  // P(0) of fused_loop.comp
  const int source = kernel.AddBuffer(ElementType::kU32, Access::kRead, buffers.SliceOf(*instruction.operand(0), 0));
  std::vector<std::string> sizes(static_cast<size_t>(to.rank()));
  for (size_t k = 0; k < instruction.dimensions().size(); ++k) {
    const BufferSlice size = buffers.SliceOf(*instruction.operand(static_cast<int>(k) + 1), 0);
    const int buffer = kernel.AddBuffer(ElementType::kS32, Access::kRead, size);
    sizes[static_cast<size_t>(instruction.dimensions()[k])] = fmt::format("uint({})", kernel.Load(buffer, "0u"));
  }
  const int target = kernel.AddBuffer(ElementType::kU32, Access::kWrite, buffers.SliceOf(instruction, 0));
  const uint32_t first_size = FirstSizeWord(to);
  LiveCount live = to.IsDynamic() ? LiveWords(instruction) : LiveCount{};
  live.more = live.size == nullptr ? 0 : count - first_size;
  std::string text = "  uint at = i;\n";
  if (live.size != nullptr) {
    AppendLiveCount(kernel, body, buffers, live, "live_words");
    kernel.Append("#define LIVE_END live_words()\n");
    // Sizes follow what lives at once.
    text += fmt::format("  uint live = live_words() - {0}u;\n  if (i >= live) at = i - live + {1};\n", live.more,
                        kernel.Param(first_size));
    if (live.times > 1) text += "  else at = live_words_place(i);\n";
  }
  const std::string words = kernel.Param(CeilDivide(from.SizeBytes(), 4));
  text += fmt::format("  uint word = 0u;\n  if (at < {}) word = {};\n", words, kernel.Load(source, "at"));
  for (int d = 0; to.IsDynamic() && d < to.rank(); ++d) {
    std::string& size = sizes[static_cast<size_t>(d)];
    const bool computed = !size.empty();
    if (!computed) size = kernel.Param(to.dimension(d));
    const std::string place = kernel.Param(first_size + 2 * static_cast<uint32_t>(d));
    text += fmt::format("  if (at == {}) word = {};\n", place, size);
    // The upper half of -1, which says that sizes did not agree.
    if (computed) text += fmt::format("  if (at == {} + 1u) word = uint(int({}) >> 31);\n", place, size);
  }
  kernel.Append("void element(uint i) {{\n{}  {}\n}}\n", text, kernel.Store(target, "at", "word"));
  const LoopTuning tuning = TuneLoop(context.facts, context.bindings, count).OneByOne();
  Step step = FinishLoop(context, kernel, tuning, count, StepName(body));
  if (live.size == nullptr) return std::vector<Step>{std::move(step)};
  return WithLiveGroups(context, body, buffers, live, std::move(step), int64_t{tuning.workgroup_size} * tuning.items,
                        1);
}

}  // namespace VXLA_NAMESPACE::vulkan
