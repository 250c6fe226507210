// Fused loops: elementwise operations and index maps, one element of every result per loop step.
#include <fmt/format.h>

#include <algorithm>

#include "backend/vulkan/lower/loop_kernel.h"
#include "core/passes/fusion_rules.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Kernels of so few elements and so many results cost their compilation, not their arithmetic.
constexpr int64_t kSmallLoop = 1024;
constexpr size_t kManyResults = 8;

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

Result<std::vector<Step>> LowerFusion(const LowerContext& context, const FusionDescription& body, BufferMap& buffers) {
  const int64_t count = body.roots[0]->shape().ElementCount();
  int64_t cost = 0;
  for (const Instruction* instruction : body.computed) cost += ElementCost(*instruction);
  const bool pairs = ComputesInPairs(context, body);
  if (pairs) cost += 1 << 10;
  LoopTuning tuning = TuneLoop(context.facts, context.bindings, count, cost);
  // An invocation that owns whole words of a packed result stores them without atomics.
  const bool packed = std::ranges::any_of(
      body.roots, [&](const Instruction* root) { return IsPacked(root->shape().element_type(), context.facts); });
  if (packed && tuning.width == 1 && count % 4 == 0 && cost <= 256) {
    tuning.width = 4;
    tuning.items = std::max(1u, tuning.items / 4);
  }
  const int64_t width = tuning.width;
  LoopKernel loop(context, body, buffers, count, tuning);
  KernelBuilder& kernel = loop.kernel();
  ValueWriter& writer = loop.writer();
  IndexSpace& space = loop.space();
  // Thousands of small results in kernels like this one: few texts, or compiling them takes longer than all else.
  if (count <= kSmallLoop && body.roots.size() >= kManyResults) kernel.ConstantsAsParams();
  int64_t flop = 0;
  for (const Instruction* instruction : body.computed) flop += IsElementwise(instruction->opcode()) ? count : 0;

  // Every value is computed before any is stored: a result may lie where an operand lay.
  const IndexExpression first = space.Scale(loop.group(), width);
  std::vector<std::vector<std::string>> values(body.roots.size());
  for (int64_t j = 0; j < width; ++j) {
    const IndexExpression linear = space.Add(first, {{}, j});
    for (size_t leaf = 0; leaf < values.size(); ++leaf) {
      const Instruction& root = *body.roots[leaf];
      values[leaf].push_back(writer.Value(root, space.Delinearize(linear, root.shape().dimensions())));
    }
  }
  for (size_t leaf = 0; leaf < values.size(); ++leaf) {
    const ElementType type = body.roots[leaf]->shape().element_type();
    const int k = kernel.AddBuffer(type, Access::kWrite, buffers.SliceOf(*body.instruction, static_cast<int>(leaf)));
    writer.StoreGroup(k, first, values[leaf]);
  }
  Step step = loop.Finish(StepName(body));
  step.flop = flop;
  step.in_place = PlacesOf(body, buffers);
  return std::vector<Step>{std::move(step)};
}

}  // namespace VXLA_NAMESPACE::vulkan
