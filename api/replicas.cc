#include "api/replicas.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "api/device_options.h"
#include "api/placed_replicas.h"
#include "api/separate_replicas.h"
#include "backend/device.h"
#include "core/host/ranges.h"
#include "core/sizes/live_sizes.h"
#include "scheduler/runtime/programs/choose.h"

namespace VXLA_NAMESPACE {

Shape StackedShape(const Shape& shape, int64_t devices) {
  std::vector<int64_t> sizes{devices};
  sizes.insert(sizes.end(), shape.dimensions().begin(), shape.dimensions().end());
  Shape stacked(shape.element_type(), sizes);
  for (int i = 0; i < shape.rank(); ++i) stacked.set_dynamic_dimension(i + 1, shape.is_dynamic_dimension(i));
  return stacked;
}

Result<Literal> StackByDevice(const std::vector<const Literal*>& leaves, const std::string& name) {
  if (!leaves[0]->shape().IsArray()) return *leaves[0];
  std::vector<Literal> live;
  live.reserve(leaves.size());
  std::vector<const Literal*> pieces = leaves;
  for (const Literal*& piece : pieces) {
    if (piece->is_dynamic()) piece = &live.emplace_back(CutToLiveSizes(*piece));
  }
  const Shape& shape = pieces[0]->shape();
  for (const Literal* piece : pieces) {
    if (Compatible(piece->shape(), shape)) continue;
    return InvalidArgument("{}: devices differ: {} and {}", name, shape.ToString(), piece->shape().ToString());
  }
  Literal stacked(StackedShape(shape, static_cast<int64_t>(pieces.size())));
  std::byte* to = stacked.mutable_bytes().data();
  for (const Literal* piece : pieces) {
    if (piece->bytes().empty()) continue;
    std::memcpy(to, piece->bytes().data(), piece->bytes().size());
    to += piece->bytes().size();
  }
  return stacked;
}

Result<Literal> StackResults(const std::vector<std::vector<const Literal*>>& leaves, bool tuple) {
  std::vector<Literal> stacked;
  for (size_t k = 0; k < leaves[0].size(); ++k) {
    std::vector<const Literal*> pieces = Transformed(leaves, [&](const auto& of_device) { return of_device[k]; });
    VXLA_ASSIGN_OR_RETURN(stacked.emplace_back(), StackByDevice(pieces, fmt::format("result_{}", k)));
  }
  if (!tuple) return std::move(stacked[0]);
  return Literal::Tuple(std::move(stacked));
}

Result<Literal> RunReplicated(const Module& module, const DeviceGrid& grid,
                              std::span<const std::vector<const Literal*>> arguments, const EvaluateOptions& options) {
  VXLA_ASSIGN_OR_RETURN(std::vector<Literal> results, EvaluateReplicated(module, grid, arguments, options));
  if (grid.count() == 1) return std::move(results[0]);
  return StackResults(Transformed(results, FlattenLiteral), results[0].shape().IsTuple());
}

std::vector<bool> SharedParameters(std::span<const std::vector<const Literal*>> arguments) {
  std::vector<bool> shared;
  for (size_t p = 0; p < arguments[0].size(); ++p) {
    shared.push_back(std::ranges::all_of(arguments, [&](const auto& own) { return own[p] == arguments[0][p]; }));
  }
  return shared;
}

Result<std::unique_ptr<Program>> ProgramOnOneDevice(Client& client, const Module& module, const DeviceGrid& grid,
                                                    const std::vector<bool>& shared, const CompileOptions& options,
                                                    const EvaluateOptions& evaluate) {
  const MakeApart apart = [source = std::shared_ptr<const Module>(module.Clone()), device = client.shared_device(),
                           grid, evaluate, options](const Status&) -> Result<std::unique_ptr<Program>> {
    VXLA_ASSIGN_OR_RETURN(std::unique_ptr<Program> made,
                          CompileApart(*source, DeviceAssignment::OnOne(grid), {device}, evaluate, options));
    return made;
  };
  return ChooseOnOneDevice(client, module, grid, shared, options, apart);
}

Result<ReplicatedExecutable> ReplicatedExecutable::Compile(Client& client, const Module& module, const DeviceGrid& grid,
                                                           std::span<const std::vector<const Literal*>> arguments,
                                                           const CompileOptions& options,
                                                           const EvaluateOptions& evaluate) {
  ReplicatedExecutable replicated;
  replicated.gives_tuple_ = module.entry()->root()->shape().IsTuple();
  VXLA_ASSIGN_OR_RETURN(replicated.program_,
                        ProgramOnOneDevice(client, module, grid, SharedParameters(arguments), options, evaluate));
  return replicated;
}

Result<Literal> ReplicatedExecutable::Run(std::span<const std::vector<const Literal*>> arguments,
                                          RunStatistics* statistics) {
  VXLA_ASSIGN_OR_RETURN(const HostResults results, program_->Run(arguments, statistics));
  return StackResults(results.leaves, gives_tuple_);
}

Shape StackedResults(const Shape& result, const DeviceGrid& grid) {
  std::vector<Shape> stacked;
  for (const Shape* leaf : FlattenTuple(result)) {
    stacked.push_back(leaf->IsArray() ? StackedShape(*leaf, grid.count()) : *leaf);
  }
  return result.IsTuple() ? Shape::Tuple(std::move(stacked)) : stacked[0];
}

Result<DiffOutcome> RunReplicatedDiff(const Module& module, const DeviceGrid& grid,
                                      std::span<const std::vector<const Literal*>> arguments,
                                      const DiffOptions& options, std::optional<std::vector<Literal>> expected) {
  if (options.isolate || options.bisect) {
    return Unsupported(
        "--isolate and --bisect look at the instructions of one device; the program has {} replicas and {} partitions",
        grid.replicas, grid.partitions);
  }
  DiffOutcome outcome;
  const bool placed = !options.places.empty();
  const bool on_cpu = !placed && IsCpu(options.device.device);
  std::unique_ptr<Client> client;
  std::optional<PlacedExecutable> places;
  if (placed) {
    VXLA_ASSIGN_OR_RETURN(places, PlacedExecutable::Compile(module, grid, arguments, options.places, options.device,
                                                            options.evaluate, options.compile));
  } else if (!on_cpu) {
    VXLA_ASSIGN_OR_RETURN(client, OpenClient(options.device, options.evaluate));
  }
  outcome.device = fmt::format("{} ({} x {} devices)",
                               placed   ? fmt::format("{}", fmt::join(places->names(), " and "))
                               : on_cpu ? "the CPU reference"
                                        : client->device().facts().name,
                               grid.replicas, grid.partitions);
  outcome.reference = on_cpu ? "a second run" : "the CPU reference";
  if (on_cpu && !expected)
    outcome.notes.push_back(
        "the CPU reference is compared with itself: to agree says no more than that two runs give the same");
  if (options.progress) options.progress("running on " + outcome.device);
  if (placed) {
    VXLA_ASSIGN_OR_RETURN(outcome.actual, places->Run(arguments));
  } else if (on_cpu) {
    VXLA_ASSIGN_OR_RETURN(outcome.actual, RunReplicated(module, grid, arguments, options.evaluate));
  } else {
    VXLA_ASSIGN_OR_RETURN(
        ReplicatedExecutable executable,
        ReplicatedExecutable::Compile(*client, module, grid, arguments, options.compile, options.evaluate));
    VXLA_ASSIGN_OR_RETURN(outcome.actual, executable.Run(arguments));
  }
  const bool against_file = expected.has_value();
  if (expected) {
    for (Literal& leaf : *expected) leaf = CutToLiveSizes(leaf);  // as results are stacked
    outcome.expected = UnflattenLiteral(outcome.actual.shape(), *expected);
  } else {
    VXLA_ASSIGN_OR_RETURN(outcome.expected, RunReplicated(module, grid, arguments, options.evaluate));
  }
  if (options.progress) options.progress("");
  // The bound of one operation speaks of one device, so that tolerances are those of whole programs.
  const auto got = FlattenLiteral(outcome.actual), wanted = FlattenLiteral(outcome.expected);
  for (size_t k = 0; k < got.size(); ++k) {
    if (got[k]->shape().IsArray()) AddLeaf(k, *got[k], *wanted[k], ToleranceOf(module, *wanted[k], options), outcome);
  }
  if (outcome.bad_leaf >= 0) outcome.first_bad = fmt::format("result_{}", outcome.bad_leaf);
  // What ran is the reference.
  if (against_file && on_cpu && outcome.bad_leaf >= 0) outcome.fault = "expected file";
  return outcome;
}

}  // namespace VXLA_NAMESPACE
