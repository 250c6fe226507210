// Fused loops: elementwise operations and index maps, one element of every result per loop step.
#include <fmt/format.h>

#include <algorithm>

#include "backend/vulkan/lower/loop.h"
#include "core/passes/fusion_rules.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Kernels of so few elements and so many results cost their compilation, not their arithmetic.
constexpr int64_t kSmallLoop = 1024;
constexpr size_t kManyResults = 8;

// How a loop that computes these values goes through them.
LoopTuning TuningOf(const LowerContext& context, const FusionDescription& body,
                    std::span<const Instruction* const> values, int64_t count) {
  int64_t cost = 0;
  for (const Instruction* instruction : body.computed) cost += ElementCost(*instruction);
  if (ComputesInPairs(context, body)) cost += 1 << 10;
  LoopTuning tuning = TuneLoop(context.facts, context.bindings, count, cost);
  // An invocation that owns whole words of a packed result stores them without atomics.
  const bool packed = std::ranges::any_of(
      values, [&](const Instruction* value) { return IsPacked(value->shape().element_type(), context.facts); });
  if (packed && tuning.width == 1 && count % 4 == 0 && cost <= 256) {
    tuning.width = 4;
    tuning.items = std::max(1u, tuning.items / 4);
  }
  return tuning;
}

}  // namespace

Status CanLowerFusion(const LowerContext&, const FusionDescription& body) {
  const int64_t count = body.roots.at(0)->shape().ElementCount();
  for (const Instruction* root : body.roots) {
    if (root->shape().ElementCount() != count) {
      return Internal("{}: the results of a loop fusion have {} and {} elements", body.instruction->name(), count,
                      root->shape().ElementCount());
    }
  }
  return OkStatus();
}

Step LowerLoop(const LowerContext& context, const FusionDescription& body, BufferMap& buffers,
               std::span<const Instruction* const> results, std::span<const BufferSlice> places) {
  const int64_t count = results[0]->shape().ElementCount();
  const LoopTuning tuning = TuningOf(context, body, results, count);
  const int64_t width = tuning.width;
  KernelBuilder kernel(context.facts);
  kernel.Param(static_cast<uint32_t>(count / width));  // P(0) of fused_loop.comp
  // Thousands of small results in kernels like this one: few texts, or compiling them takes longer than all else.
  if (count <= kSmallLoop && results.size() >= kManyResults) kernel.ConstantsAsParams();
  IndexSpace space;
  const int loop = space.AddVariable(count / width);
  ValueWriter writer(kernel, body, buffers, space);
  writer.Bind(loop, "i");
  if (width > 1) writer.Vectorize(loop, static_cast<int>(width));

  // Every value is computed before any is stored: a result may lie where an operand lay.
  const IndexExpression first = space.Scale(space.Variable(loop), width);
  std::vector<std::vector<std::string>> values(results.size());
  for (int64_t j = 0; j < width; ++j) {
    const IndexExpression linear = space.Add(first, {{}, j});
    for (size_t leaf = 0; leaf < values.size(); ++leaf) {
      const Instruction& result = *results[leaf];
      values[leaf].push_back(writer.Value(result, space.Delinearize(linear, result.shape().dimensions())));
    }
  }
  for (size_t leaf = 0; leaf < values.size(); ++leaf) {
    const int k = kernel.AddBuffer(results[leaf]->shape().element_type(), Access::kWrite, places[leaf]);
    writer.StoreGroup(k, first, values[leaf]);
  }
  kernel.Append("void element(uint i) {\n" + writer.Take() + "}\n");
  return FinishLoop(context, kernel, tuning, count, StepName(body));
}

Step FinishLoop(const LowerContext& context, KernelBuilder& kernel, const LoopTuning& tuning, int64_t count,
                std::string name) {
  const int64_t chunk = int64_t{tuning.workgroup_size} * tuning.items;
  const std::array<uint32_t, 3> groups = GroupGrid(context.facts, (count / tuning.width + chunk - 1) / chunk);
  // The driver then unrolls the loop, which the split addresses of access.glsl do not survive.
  const bool unrolls = context.bindings == BindingMode::kDescriptors;
  if (unrolls && tuning.items > 1 && int64_t{groups[0]} * groups[1] * chunk * tuning.width == count) {
    kernel.Append(fmt::format("#define WHOLE_ITEMS {}u\n", tuning.items));
  }
  return kernel.Finish(std::move(name), "elementwise/fused_loop.comp", {tuning.workgroup_size, 1, 1, tuning.items},
                       groups);
}

Result<std::vector<Step>> LowerFusion(const LowerContext& context, const FusionDescription& body, BufferMap& buffers) {
  std::vector<BufferSlice> places;
  for (size_t leaf = 0; leaf < body.roots.size(); ++leaf) {
    places.push_back(buffers.SliceOf(*body.instruction, static_cast<int>(leaf)));
  }
  Step step = LowerLoop(context, body, buffers, body.roots, places);
  const int64_t count = body.roots[0]->shape().ElementCount();
  for (const Instruction* instruction : body.computed) step.flop += IsElementwise(instruction->opcode()) ? count : 0;
  step.in_place = PlacesOf(body, buffers);
  return std::vector<Step>{std::move(step)};
}

}  // namespace VXLA_NAMESPACE::vulkan
