// rng-get-and-update-state: one invocation adds to the 128-bit counter that random numbers come from.
#include "backend/vulkan/codegen/kernel_builder.h"
#include "backend/vulkan/lower/lower.h"

namespace VXLA_NAMESPACE::vulkan {

Status CanLowerRngGetAndUpdateState(const LowerContext&, const FusionDescription& body) {
  if (Compatible(body.instruction->shape(), Shape(ElementType::kU64, {2}))) return OkStatus();
  return Unsupported("rng-get-and-update-state {}: {}, u64[2] needed", body.instruction->name(),
                     body.instruction->shape().ToString());
}

Result<std::vector<Step>> LowerRngGetAndUpdateState(const LowerContext& context, const FusionDescription& body,
                                                    BufferMap& buffers) {
  const Instruction& instruction = *body.hero;
  const auto delta = static_cast<uint64_t>(instruction.attributes<RngGetAndUpdateStateAttributes>().delta);
  KernelBuilder kernel(context.facts);
  kernel.Param(1);  // P(0) of the algorithm: elements
  // Words, for a device need not have integers of 64 bits.
  const int state = kernel.AddBuffer(ElementType::kU32, Access::kReadWrite, buffers.RandomState(instruction));
  const int old = kernel.AddBuffer(ElementType::kU32, Access::kWrite, buffers.SliceOf(*body.instruction, 0));
  const std::string add[2] = {kernel.Param(delta), kernel.Param(delta >> 32)};
  std::string text = "void element(uint u) {\nuint carry = 0u;\n";
  for (int word = 0; word < 4; ++word) {
    const std::string at = fmt::format("{}u", word), added = word < 2 ? add[word] : "0u";
    text += fmt::format("{{\nuint was = {};\n{}\n", kernel.Load(state, at), kernel.Store(old, at, "was"));
    // At most one of the two sums carries.
    text += fmt::format(
        "uint sum = was + {};\nuint next = sum + carry;\ncarry = (sum < was ? 1u : 0u) + (next < sum ? 1u : 0u);\n",
        added);
    text += kernel.Store(state, at, "next") + "\n}\n";
  }
  kernel.Append(text + "}\n");
  Step step = kernel.Finish(StepName(body), "elementwise/fused_loop.comp", {1, 1, 1, 1}, 1);
  step.kernel.whole_items = 1;
  return std::vector{std::move(step)};
}

}  // namespace VXLA_NAMESPACE::vulkan
