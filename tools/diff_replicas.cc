#include "tools/diff_replicas.h"

#include <fmt/format.h>

#include "core/live_sizes.h"

namespace vxla {

Shape StackedResults(const Shape& result, const DeviceGrid& grid) {
  std::vector<Shape> stacked;
  for (const Shape* leaf : FlattenTuple(result)) {
    stacked.push_back(leaf->IsArray() ? StackedShape(*leaf, grid.count()) : *leaf);
  }
  return result.IsTuple() ? Shape::Tuple(std::move(stacked)) : stacked[0];
}

Result<DiffOutcome> RunReplicatedDiff(const Module& module, const DeviceGrid& grid,
                                      const ReplicatedArguments& arguments, const EvaluateOptions& evaluate,
                                      std::optional<std::vector<Literal>> expected, const DiffOptions& options) {
  if (options.isolate || options.bisect) {
    return Unsupported(
        "--isolate and --bisect compare devices with the reference; {} replicas and {} partitions run on the "
        "reference only",
        grid.replicas, grid.partitions);
  }
  DiffOutcome outcome;
  outcome.device = fmt::format("the CPU reference ({} x {} devices)", grid.replicas, grid.partitions);
  outcome.reference = "a second run";
  if (options.progress) options.progress("running on " + outcome.device);
  VXLA_ASSIGN_OR_RETURN(outcome.actual, RunReplicated(module, grid, arguments, evaluate));
  if (expected) {
    for (Literal& leaf : *expected) leaf = CutToLiveSizes(leaf);  // as results are stacked
    outcome.expected = UnflattenLiteral(outcome.actual.shape(), *expected);
  } else {
    VXLA_ASSIGN_OR_RETURN(outcome.expected, RunReplicated(module, grid, arguments, evaluate));
  }
  if (options.progress) options.progress("");
  const std::optional<Tolerance> stated = options.stated();
  const auto got = FlattenLiteral(outcome.actual), want = FlattenLiteral(outcome.expected);
  for (size_t k = 0; k < got.size(); ++k) {
    if (!got[k]->shape().IsArray()) continue;
    LeafReport leaf;
    leaf.index = k;
    leaf.shape = want[k]->shape().ToString();
    // The bound of one operation speaks of one device, so that tolerances are those of whole programs.
    leaf.tolerance = stated ? *stated : Tolerance::DefaultFor(*want[k]);
    leaf.comparison = Compare(*got[k], *want[k], leaf.tolerance);
    if (outcome.bad_leaf < 0 && !leaf.comparison.agrees()) {
      outcome.bad_leaf = static_cast<int64_t>(k);
      outcome.first_bad = fmt::format("result_{}", k);
    }
    outcome.leaves.push_back(std::move(leaf));
  }
  return outcome;
}

}  // namespace vxla
